"""torch.fx: graphs of calls, traced, written as Python, run, changed; against PyTorch's where it is installed."""
import copy
import operator
import pickle

import pytest
from fxprograms import library, lines_of

import numtorch as torch
from numtorch import fx

try:
    import torch as reference
    import torch.fx as reference_fx
except ImportError:
    reference = reference_fx = None


@pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", ["net", "arithmetic", "calls", "names", "attention", "constants"])
def test_nodes_and_code_are_those_of_pytorch(name):
    ours = fx.symbolic_trace(library(torch)[name])
    theirs = reference_fx.symbolic_trace(library(reference)[name])
    assert [(n.op, n.name, len(n.users)) for n in ours.graph.nodes] == [(n.op, n.name, len(n.users)) for n in theirs.graph.nodes]
    assert [str(n.args) for n in ours.graph.nodes] == [str(n.args) for n in theirs.graph.nodes]
    assert [n.target for n in ours.graph.nodes if isinstance(n.target, str)] == [n.target for n in theirs.graph.nodes if isinstance(n.target, str)]
    if name != "calls":                                  # whose functions' arguments PyTorch completes
        assert str(ours.graph) == str(theirs.graph).replace("torch._C._nn.gelu", "torch.nn.functional.gelu").replace("_operator", "operator")
    assert lines_of(ours.code) == lines_of(theirs.code.replace("torch._C._nn.gelu", "torch.nn.functional.gelu").replace("_operator", "operator"))


def test_a_traced_module_computes_the_same_and_trains():
    net = library(torch)["net"]
    traced = fx.symbolic_trace(net)
    x = torch.randn(3, 4)
    assert torch.equal(traced(x)["out"], net(x)["out"]) and torch.equal(traced(x, factor=3.0)["out"], net(x, 3.0)["out"])
    assert dict(traced.named_parameters()).keys() == dict(net.named_parameters()).keys() and traced.scale is net.scale
    traced(x)["out"].sum().backward()
    assert net.layers[0].weight.grad is not None
    for other in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        assert other.code == traced.code and torch.equal(other(x)["out"], net(x)["out"]) and other.scale is not net.scale


FUNCTIONAL = {
    "split": (2,), "cdist": ("x",), "tensordot": ("x",), "transpose": (0, 1), "mm": ("x",), "clamp": (0, 1),
    "group_norm": (2,), "rms_norm": ((4,),), "instance_norm": (), "alpha_dropout": (), "embedding_bag": ("x",), "kl_div": ("x",),
    "celu": (), "rrelu": (), "triplet_margin_loss": ("x", "x"), "max_pool1d": (2,), "poisson_nll_loss": ("x",),
    "relu": (), "softmax": (1,), "dropout": (0.3,), "max_pool2d": (2,), "batch_norm": ("x", "x"), "layer_norm": ((4,),),
    "interpolate": (2,), "cross_entropy": ("x",), "mse_loss": ("x",), "leaky_relu": (0.1,), "hardtanh": (), "pad": ((1, 1),), "glu": (),
    "normalize": (), "grid_sample": ("x",), "huber_loss": ("x",), "unfold": (3,), "gelu": (), "linear": ("x",), "avg_pool2d": (2,),
    "conv2d": ("x",), "relu_": (), "softplus": (), "one_hot": (), "matmul": ("x",), "scaled_dot_product_attention": ("x", "x")}


@pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functions_have_the_arguments_that_those_of_pytorch_have(name):
    """All of them, where PyTorch writes the function in Python, and its name there."""
    def lines(library):
        function = getattr(library.nn.functional, name) if hasattr(reference.nn.functional, name) else getattr(library, name)
        code = library.fx.symbolic_trace(lambda x: function(x, *[x if each == "x" else each for each in FUNCTIONAL[name]])).code
        return lines_of(code.replace("torch._C._nn.", "torch.nn.functional.").replace("torch.relu_", "torch.nn.functional.relu_"))
    assert lines(torch) == lines(reference)


def specialised(x, flag, n: int = 3, *, scale=1.5, other=None):
    return x * n if flag else x + scale


@pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("concrete", [{"flag": True, "n": 5}, {"flag": False, "scale": 2.5}, {"n": 4, "flag": 0}])
def test_a_graph_is_called_with_what_it_was_specialised_for(concrete):
    """`concrete_args` are asserted, by nodes as PyTorch has them."""
    ours, theirs = (fx_of.symbolic_trace(specialised, concrete_args=concrete) for fx_of in (fx, reference_fx))
    assert lines_of(ours.code) == lines_of(theirs.code)
    assert [(n.op, n.name, str(n.args)) for n in ours.graph.nodes] == [(n.op, n.name, str(n.args)) for n in theirs.graph.nodes]
    for args in [(True, 5), (False, 3, 2.5), (False, 4), (True, 3), (False, 5), (1, 5), (0, 4)]:
        found = []
        for ones, traced in ((torch.ones, ours), (reference.ones, theirs)):
            try:
                found.append(traced(ones(2), *args).tolist())
            except AssertionError as error:
                found.append(str(error))
        assert found[0] == found[1]
    for other in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        with pytest.raises(AssertionError, match="specialized"):
            other(torch.ones(2), "neither")


def of_structures(x, y=2.0, *, z=None):
    pair = (x["a"] * y, x["b"][0] if z is None else z[0] + y)
    return {"sum": pair[0] + pair[1], "pair": [pair]}


def concrete_structures(PH):
    """What is decided of the arguments of the function above, and calls: those that fit and those that do not."""
    both = {"a": PH, "b": (PH,)}
    return {
        "placeholders": ({"x": both}, [({"a": 2, "b": (3,)}, 4, None), ({"a": 2, "b": [3], "c": 1}, 4, None), ({"a": 2}, 4, None)]),
        "constants": ({"x": {"a": PH, "b": (5,)}, "z": None}, [({"a": 2, "b": (5,)}, 4, None), ({"a": 2, "b": (6,)}, 4, None),
                                                               ({"a": 2, "b": (5,)}, 4, 1)]),
        "several": ({"x": both, "z": [PH, 1]}, [({"a": 2, "b": (3,)}, 4, [5, 1]), ({"a": 2, "b": (3,)}, 4, [5, 2])]),
        "constants alone": ({"z": (1, 2)}, [({"a": 2, "b": (3,)}, 4, (1, 2)), ({"a": 2, "b": (3,)}, 4, (2, 2))]),
        "no structure": ({"z": None, "y": PH}, [({"a": 2, "b": (3,)}, 4, None), ({"a": 2, "b": (3,)}, 4, 5)]),
    }


@pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", concrete_structures(None))
def test_structures_of_arguments_are_given_as_pytorch_takes_them(name):
    """Each leaf is an argument of the graph, which the code takes out of the structures, and results are put together again."""
    concrete, calls = concrete_structures(fx.PH)[name]
    ours = fx.symbolic_trace(of_structures, concrete_args=concrete)
    theirs = reference_fx.symbolic_trace(_without_defaults(reference_fx), concrete_args=concrete_structures(reference_fx.PH)[name][0])
    assert [(n.op, n.name, str(n.args)) for n in ours.graph.nodes if n.op != "placeholder"] == [
        (n.op, n.name, str(n.args)) for n in theirs.graph.nodes if n.op != "placeholder"]
    mine, other = (lines_of(code.replace("numtorch_fx_tracer_", "torch.fx._symbolic_trace.").replace(" = 2.0", "").replace(" = None)", ")"))
                   for code in (ours.code, theirs.code))
    assert mine == other

    def answer(function, args):
        try:
            return function(*args)
        except (AssertionError, KeyError, TypeError, AttributeError) as error:
            return type(error), str(error)
    for args in calls:
        found = answer(theirs, args)
        assert found == answer(ours, args)
        for each in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), fx.Transformer(ours).transform(), fx.Interpreter(ours).run):
            assert answer(each, args) == found


def _without_defaults(library):
    def of_structures(x, y, z):
        pair = (x["a"] * y, x["b"][0] if z is None else z[0] + y)
        return {"sum": pair[0] + pair[1], "pair": [pair]}
    return of_structures


def test_structures_have_defaults_and_hold_tensors_and_modules():
    net = library(torch)["net"]

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, given, factor: float = 2.0):
            return self.net(given["x"][0], factor)
    traced, x = fx.symbolic_trace(Net(), concrete_args={"given": {"x": [fx.PH]}}), torch.randn(3, 4)
    assert "def forward(self, given, factor = 2.0):" in traced.code
    for each in (traced, torch.jit.trace(traced, ({"x": [x]},))):
        assert torch.equal(each({"x": [x]})["out"], net(x)["out"])
    assert torch.equal(traced({"x": [x]}, factor=3.0)["rest"][0], net(x, 3.0)["rest"][0])
    assert fx.symbolic_trace(lambda x, *more, **named: x[0] + more[0] - named["z"], concrete_args={"x": [fx.PH]})([1], 2, z=5) == -2
    with pytest.warns(UserWarning, match="Was not able to add assertion"):
        fx.symbolic_trace(lambda x, other: x, concrete_args={"other": torch.float32})


def test_the_lines_of_the_text_are_changed_as_it_is_written():
    def f(x):
        return torch.relu(x) + 1
    x = torch.tensor([-1.0, 2.0])
    traced = fx.symbolic_trace(f)
    with traced.graph.on_generate_code(lambda before: lambda lines: [line.replace("relu", "sigmoid") for line in lines]):
        with traced.graph.on_generate_code(lambda before: lambda lines: [*before(lines)[:1], "return sigmoid\n"]):
            traced.recompile()
            assert torch.equal(traced(x), torch.sigmoid(x)) and torch.equal(torch.jit.trace(traced, x)(x), torch.sigmoid(x))
        other = copy.deepcopy(traced)
    traced.recompile()
    assert torch.equal(traced(x), f(x)) and torch.equal(other(x), torch.sigmoid(x) + 1)
    traced.graph.on_generate_code(lambda before: lambda lines: ["x = x * 0\n", *lines])
    traced.recompile()
    assert torch.equal(traced(x), torch.ones(2))


def test_buffers_are_nodes_where_they_are_looked_up():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("shift", torch.ones(2))

        def forward(self, x):
            return x + self.shift.sum()
    tracer = fx.Tracer()
    assert [node.op for node in tracer.trace(Net()).nodes] == ["placeholder", "get_attr", "call_function", "output"]
    tracer.proxy_buffer_attributes = True
    graph = tracer.trace(Net())
    assert [str(node.target) for node in graph.nodes][1:3] == ["shift", "sum"]
    assert tracer.get_fresh_qualname("shift") == "shift0" and tracer.get_fresh_qualname("") == "0"


def test_what_python_unpacks_is_that_many_nodes():
    """As many names as there are say how often a proxy is iterated over; the arguments are called as the function calls them."""
    net = library(torch)["attention"]
    traced, x = fx.symbolic_trace(net), torch.randn(2, 3, 4)
    for each in (traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced)), fx.Transformer(traced).transform()):
        assert all(map(torch.equal, each(input=x, scale=3.0), net(x, 3.0)))
    assert all(map(torch.equal, fx.Interpreter(traced).run(x, 3.0), net(x, 3.0)))
    with pytest.raises(fx.proxy.TraceError, match="iterated"):
        fx.symbolic_trace(lambda x: (lambda a, *rest: a)(*x))


def test_control_flow_on_values_is_refused():
    with pytest.raises(fx.proxy.TraceError, match="control flow"):
        fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(fx.proxy.TraceError, match="iterated"):
        fx.symbolic_trace(lambda x: [y + 1 for y in x])
    with pytest.raises(RuntimeError, match="'len' is not supported"):
        fx.symbolic_trace(lambda x: x.__len__())
    assert "call_method[target=add]" not in str(fx.symbolic_trace(lambda x, flag: x + 1 if flag else x, {"flag": False}).graph)
    assert torch.relu(torch.tensor([-1.0])).tolist() == [0.0]                # nothing stays patched
    assert torch.nn.ReLU()(torch.tensor([-1.0])).tolist() == [0.0]


@fx.wrap
def twice_where_positive(x):
    return x * 2 if float(x.sum()) > 0 else x


fx.wrap("len")


def test_wrapped_functions_are_nodes():
    traced = fx.symbolic_trace(lambda x: twice_where_positive(x) + len(x))
    assert [n.op for n in traced.graph.nodes] == ["placeholder", "call_function", "call_function", "call_function", "output"]
    assert traced(torch.ones(2)).tolist() == [4.0, 4.0] and traced(-torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert len([1]) == 1


def test_graphs_are_changed_and_checked():
    traced = fx.symbolic_trace(lambda x, y: torch.add(x, y))
    for node in traced.graph.nodes:
        if node.target is torch.add:
            with traced.graph.inserting_after(node):
                new = traced.graph.call_function(torch.mul, node.args, node.kwargs)
                node.replace_all_uses_with(new)
            with pytest.raises(RuntimeError, match="still had"):
                traced.graph.erase_node(next(iter(traced.graph.nodes)))
            traced.graph.erase_node(node)
    traced.graph.lint()
    traced.recompile()
    assert traced(torch.tensor([2.0]), torch.tensor([3.0])).tolist() == [6.0]
    with traced.graph.inserting_before(traced.graph.output_node()):
        unused = traced.graph.call_method("neg", (new,))
    assert traced.graph.eliminate_dead_code() and unused not in list(traced.graph.nodes)
    new.append(traced.graph.nodes[0])
    with pytest.raises(RuntimeError, match="before it has been defined"):
        traced.graph.lint()
    with pytest.raises(RuntimeError, match="not provided"):
        graph = fx.Graph()
        graph.output(graph.get_attr("missing"))
        fx.GraphModule({}, graph)


PATTERNS = {
    "one": (lambda x, w: torch.relu(x + w) * (x + w), lambda a, b: torch.relu(a + b), lambda a, b: torch.sigmoid(a + b)),
    "twice": (lambda x, w: torch.add(torch.add(x, w), w), lambda a, b: torch.add(a, b), lambda a, b: torch.sub(a, b)),
    "numbers": (lambda x, w: x.clamp(0, 6) / 6 + w, lambda a: a.clamp(0, 6) / 6, lambda a: torch.nn.functional.hardsigmoid(a - 3)),
    "used elsewhere": (lambda x, w: (torch.neg(x) + w, torch.neg(x)), lambda a, b: torch.neg(a) + b, lambda a, b: b - a),
    "none": (lambda x, w: x * w, lambda a: torch.exp(a), lambda a: a),
    "several results": (lambda x, w: torch.sigmoid(x) + torch.relu(x), lambda a: (torch.sigmoid(a), torch.relu(a)),
                        lambda a: (torch.exp(a), torch.abs(a))),
    "results twice": (lambda x, w: (lambda d: torch.sigmoid(d) + torch.relu(d))(x - w),
                      lambda a, b: (lambda d: (torch.sigmoid(d), torch.relu(d), d))(a - b), lambda a, b: (lambda y: (y, y, a.exp()))(b.abs())),
    "an argument too": (lambda x, w: torch.relu(x) + x, lambda a: (torch.relu(a), a), lambda a: (torch.sigmoid(a), torch.neg(a))),
    "used too early": (lambda x, w: (lambda a: (a + torch.sigmoid(a + w), a + w))(torch.relu(x)),
                       lambda a, b: (torch.relu(a), torch.sigmoid(b)), lambda a, b: (torch.neg(a), torch.exp(b))),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_replaced(name):
    function, pattern, replacement = PATTERNS[name]
    traced = fx.symbolic_trace(function)
    matches = fx.replace_pattern(traced, pattern, replacement)
    traced.graph.lint()
    x, w = torch.randn(5), torch.randn(5)
    wanted = {"one": lambda: torch.sigmoid(x + w) * (x + w), "twice": lambda: x - w - w, "numbers": lambda: x.clamp(0, 6) / 6 + w,
              "used elsewhere": lambda: w - x, "none": lambda: x * w, "several results": lambda: x.exp() + x.abs(), "results twice": lambda: w.abs() * 2,
              "an argument too": lambda: torch.sigmoid(x) - x, "used too early": lambda: x.relu() + torch.sigmoid(x.relu() + w)}[name]()
    found = traced(x, w)
    torch.testing.assert_close(found[0] if isinstance(found, tuple) else found, wanted)
    assert len(matches) == {"twice": 2, "none": 0, "used too early": 0}.get(name, 1)


@pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("options", [{}, {"ignore_literals": True}, {"match_filters": ["first"]}, {"match_filters": ["first"], "ignore_literals": True},
                                     {"match_filters": ["first", "none"]}, {"replacement_callback": "by_number", "ignore_literals": True}])
def test_filters_say_which_occurrences_are_replaced(options):
    """And what takes their place may depend on each: as in PyTorch."""
    found, wanted = _filtered(torch, fx, options), _filtered(reference, reference_fx, options)
    assert found[:2] == wanted[:2] and found[2] == pytest.approx(wanted[2])


def _filtered(torch, fx, options):
    """The code of a program after replacements, where these are, and what it computes."""
    def f(x):
        return torch.relu(x + 2) * torch.relu(x - x + 3) + torch.relu(x + 2.0)

    def by_number(match, graph, pattern):
        number = next(node.args[1] for node in match.nodes_map.values() if node.name.startswith("add"))
        assert isinstance(graph, fx.Graph) and [node.op for node in pattern.nodes].count("placeholder") == 1
        return fx.symbolic_trace(lambda a: torch.sigmoid(a * number)).graph
    ways = {"first": lambda match, graph, pattern: match.placeholder_nodes[0].op == "placeholder", "none": lambda *given: False}
    given = {**options, "match_filters": [ways[each] for each in options.get("match_filters", [])]}
    if "replacement_callback" in options:
        given["replacement_callback"] = by_number
    traced, rewriter = fx.symbolic_trace(f), fx.subgraph_rewriter
    replaced = rewriter.replace_pattern_with_filters(traced, lambda a: torch.relu(a + 2), lambda a: torch.exp(a).neg(), **given)
    with pytest.raises(AssertionError, match="Must provide either"):
        rewriter.replace_pattern_with_filters(traced, f)
    return lines_of(traced.code), [[node.name for node in each.replacements] for each in replaced], traced(torch.ones(2)).tolist()


def test_a_replacement_leaves_the_modules_that_are_there():
    """Of its own it brings what the module has under no such path, tensors too."""
    class Net(torch.nn.Module):
        def __init__(self, after):
            super().__init__()
            self.linear, self.after = torch.nn.Linear(2, 2), after

        def forward(self, x):
            return self.after(self.linear(x))

    class Other(Net):
        def __init__(self):
            super().__init__(torch.nn.Tanh())
            self.tanh, self.shift = self.after, torch.tensor([3.0])
            del self.after

        def forward(self, x):
            return self.tanh(self.linear(x)) + self.shift
    net, other = Net(torch.nn.ReLU()), Other()
    traced, x = fx.symbolic_trace(net), torch.randn(3, 2)
    assert len(fx.replace_pattern(traced, Net(torch.nn.ReLU()), other)) == 1
    assert torch.equal(traced(x), torch.tanh(net.linear(x)) + 3) and traced.linear is net.linear and traced.tanh is not other.tanh
    assert [name for name, _ in traced.named_modules()] == ["", "linear", "tanh"]
    with pytest.raises(ValueError, match="returns 1 values, and the replacement 2"):
        fx.replace_pattern(fx.symbolic_trace(torch.neg), torch.neg, lambda a: (a, a + 1))


def test_interpreters_and_transformers():
    net = library(torch)["net"]
    traced = fx.symbolic_trace(net)
    x = torch.randn(3, 4)
    assert torch.equal(fx.Interpreter(traced).run(x)["out"], net(x)["out"])

    class Shapes(fx.Interpreter):
        def run_node(self, n):
            result = super().run_node(n)
            n.meta["shape"] = getattr(result, "shape", None)
            return result
    Shapes(traced).run(x)
    assert [tuple(n.meta["shape"]) for n in traced.graph.nodes if n.name == "out"] == [(3, 2)]

    class Subtract(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(operator.sub if target is operator.add else target, args, kwargs)
    changed = Subtract(traced).transform()
    assert changed.out is traced.out and " - " in changed.code and " + " not in changed.code
    assert changed(x)["out"].shape == (3, 2)


def test_a_graph_is_made_by_hand():
    graph = fx.Graph()
    x, y = fx.Proxy(graph.placeholder("x")), fx.Proxy(graph.placeholder("y"))
    z = torch.cat([x, y]).tanh()
    graph.output(z.node)
    module = fx.GraphModule(torch.nn.Module(), graph)
    assert torch.equal(module(torch.ones(1), torch.zeros(1)), torch.tensor([1.0, 0.0]).tanh())
    assert "cat = torch.cat([x, y]);  x = y = None" in module.code


class Inline(fx.Tracer):
    def is_leaf_module(self, m, name):
        return not isinstance(m, torch.nn.ReLU) and super().is_leaf_module(m, name)


def test_a_tracer_says_what_a_leaf_is():
    net = library(torch)["net"]
    assert "layers_1" in [n.name for n in fx.Tracer().trace(net).nodes]
    graph = Inline().trace(net)
    assert "layers_1" not in [n.name for n in graph.nodes] and "layers_0" in [n.name for n in graph.nodes]
    x = torch.randn(2, 4)
    assert torch.equal(fx.GraphModule(net, graph)(x)["out"], net(x)["out"])


def test_arguments_of_any_kind():
    def f(a, *args, b=1.0, **kwargs):
        return a + args[0] * b + kwargs["c"]
    traced = fx.symbolic_trace(f)
    assert traced(torch.tensor(1.0), torch.tensor(2.0), b=3.0, c=4.0).item() == 11.0


def test_ranges_of_a_profile_are_nodes():
    """`torch.ops.profiler` has the ends of a range as functions, for tracers that put them into graphs."""
    ops = torch.ops.profiler
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    opened = fx.Proxy(graph.create_node("call_function", ops._record_function_enter, ("mine",)))
    y = x.relu()
    ops._record_function_exit(opened)
    graph.output(y.node)
    module = fx.GraphModule(torch.nn.Module(), graph)
    given = torch.ones(2)
    with torch.profiler.profile() as profile:
        module(given)
    assert [event.name for event in profile.events() if event.cpu_parent is None] == ["mine"]
