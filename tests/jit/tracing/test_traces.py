"""`jit.trace`: warnings, modules, other shapes, copies, files, traces within traces and transforms, arguments by name."""
import copy
import io
import warnings
from typing import NamedTuple

import pytest
from tracedgraphs import tensors
from tracedprograms import by_users_op, wobble

import numtorch as torch
from numtorch.jit import Interpreter, parse
from numtorch.jit.tracing.traces import trace_graph


def test_a_trace_re_executes_what_was_recorded_and_warns_of_branches():
    def f(x):
        return x * 2 if x.sum() > 0 else -x
    with pytest.warns(torch.jit.TracerWarning, match="Python boolean"):
        traced = torch.jit.trace(f, torch.ones(3))
    assert torch.equal(traced(torch.ones(3)), torch.full((3,), 2.0))
    assert torch.equal(traced(-torch.ones(3)), torch.full((3,), -2.0))
    for asks, kind in ((lambda x: x * x.sum().item(), "number"), (lambda x: x * int(x[0]), "number|integer"), (lambda x: x + x.tolist()[0], "list"),
                        (lambda x: x * float(x.numpy().sum()), "NumPy array"), (lambda x: x + torch.tensor([x[0], x[1], 2.0]), "Python values"),
                        (lambda x: x + torch.tensor(x), "Python values")):
        with pytest.warns(torch.jit.TracerWarning, match=kind) as seen:
            torch.jit.trace(asks, torch.ones(3))
        assert seen[0].filename == __file__


def test_check_trace_warns_of_what_differs():
    calls = []

    def f(x):
        calls.append(1)
        return x + len(calls)
    with pytest.warns(torch.jit.TracerWarning, match="does not match"):
        torch.jit.trace(f, torch.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.jit.trace(f, torch.ones(3), check_trace=False)
    assert not torch.jit.is_tracing()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4 * 4 * 4, 3)

    def forward(self, x, scale):
        assert torch.jit.is_tracing() in (True, False)
        h = wobble(self.norm(self.conv(x)), 0.1)
        return {"logits": self.fc(h.flatten(1)) * scale, "hidden": h}


def _normed():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double().eval()


@pytest.mark.parametrize("transform", ["vmap", "gradients", "hessian", "grad"])
def test_transforms_of_traces(transform):
    """`vmap` has a trace for one sample, whatever it was made with, and grad goes through it."""
    net = _normed()
    traced, x = torch.jit.trace(net, torch.randn(5, 3, dtype=torch.float64)), torch.randn(4, 2, 3, dtype=torch.float64)
    with_transform = {
        "vmap": lambda f: torch.func.vmap(f)(x), "grad": lambda f: torch.func.grad(lambda z: f(z).sin().sum())(x[0]),
        "gradients": lambda f: torch.func.vmap(torch.func.grad(lambda z: f(z).sin().sum()))(x),
        "hessian": lambda f: torch.func.hessian(lambda z: f(z).sin().sum())(x[0])}[transform]
    torch.testing.assert_close(with_transform(traced), with_transform(net))
    torch.testing.assert_close(traced(x[0]), net(x[0]))


def test_a_traced_module_that_moved_is_traced_again_where_it_is():
    """Its buffers are others then than those of the module that was traced."""
    net = _normed()
    traced = torch.jit.trace(net, torch.randn(5, 3, dtype=torch.float64))
    half = copy.deepcopy(net).float()
    x = torch.randn(6, 3)
    torch.testing.assert_close(traced.float()(x), half(x))
    result = traced.to("meta")(torch.empty(7, 3, device="meta"))
    assert result.shape == (7, 2) and result.device.type == "meta"
    assert net[1].running_mean.device.type == "cpu"


@pytest.mark.parametrize("training", (True, False))
def test_modules_are_traced_saved_and_loaded(training, tmp_path):
    """Parameters train, buffers move on, other layouts are traced again; a file needs no source."""
    torch.manual_seed(0)
    net = Net().train(training)
    x = torch.randn(2, 2, 6, 6)
    traced = torch.jit.trace(net, (x, torch.tensor(2.0)))
    before = net.norm.running_mean.clone()
    traced(x, torch.tensor(2.0))
    assert torch.equal(before, net.norm.running_mean) != training
    assert list(traced.state_dict()) == list(net.state_dict())
    traced(x, torch.tensor(3.0))["logits"].sum().backward()
    assert net.conv.weight.grad is not None and traced.conv.weight is net.conv.weight
    traced.save(tmp_path / "net.pt")
    loaded = torch.jit.load(tmp_path / "net.pt")
    assert "wobble" not in str(loaded.graph) and loaded.training == training and loaded.original_name == "Net"
    expected, found = traced(x, torch.tensor(0.5)), loaded(x, torch.tensor(0.5))
    for key in expected:
        torch.testing.assert_close(found[key], expected[key])
    assert traced(torch.randn(5, 2, 6, 6), torch.tensor(1.0))["logits"].shape == (5, 3)
    with pytest.raises(RuntimeError, match="traced for"):
        loaded(torch.randn(2, 2, 7, 7), torch.tensor(1.0))


def test_users_ops_of_one_name_stay_apart():
    """Of two libraries, or defined again in a session; and one that is named as an op of ours."""
    def made(k):
        @torch.pointwise(methods=False)
        def gelu(x):
            return x * k

        @torch.pointwise(methods=False)
        def sway(x):
            return x + k
        return lambda x: gelu(sway(x))
    x = torch.arange(3.0)
    functions = [made(2.0), made(3.0)]
    traces = [torch.jit.trace(f, x) for f in functions]
    for f, k, traced in zip(functions, (2.0, 3.0), traces):
        assert traced(x).tolist() == f(x).tolist() == [(i + k) * k for i in range(3)]
    graph = trace_graph(functions[1], (x,))
    assert Interpreter(parse(str(graph))).run(x).tolist() == functions[1](x).tolist()


def test_a_file_is_read_where_the_source_is_absent(tmp_path):
    import subprocess
    import sys
    torch.jit.save(torch.jit.trace(by_users_op, torch.arange(12.0).reshape(3, 4)), tmp_path / "f.pt")
    text = f"import numtorch as torch; f = torch.jit.load({str(tmp_path / 'f.pt')!r}); print(f(torch.arange(12.).reshape(3, 4))[1].tolist())"
    out = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == str(by_users_op(torch.arange(12.0).reshape(3, 4))[1].tolist())


class Point(NamedTuple):
    x: torch.Tensor
    scale: int


@pytest.mark.parametrize("function", [lambda p: p.x.max(1), lambda p: Point(p.x * p.scale, 3), lambda p: {"a": torch.linalg.qr(p.x), "b": [p.x.sort()]}])
def test_named_tuples_have_their_fields_in_texts_and_files(function):
    """As arguments and results, where the class is known and where a file has it alone."""
    traced, other = torch.jit.trace(function, (Point(torch.rand(3, 3), 2),)), Point(torch.rand(3, 3), 2)
    assert str(parse(str(traced.graph))) == str(traced.graph)
    file = io.BytesIO()
    traced.save(file)
    assert b"Point" not in file.getvalue().replace(b"return Point(", b"")
    file.seek(0)
    loaded, more = torch.jit.load(file), Point(torch.rand(4, 3), 2)
    for each, given in ((traced, other), (loaded, other), (loaded, more)):
        found, wanted = each(given), function(given)
        assert getattr(found, "_fields", None) == getattr(wanted, "_fields", None)
        for a, b in zip(tensors(found), tensors(wanted), strict=True):
            torch.testing.assert_close(a, b)
    for bad in ("return os.system(a=1)", "return system(a=lambda: 0)", "return a(b=1, b=2)", "return if_(__class__=1)"):
        with pytest.raises(ValueError):
            parse(f"graph(%x: float32[2]):\n  {bad}")


def test_other_files_are_refused(tmp_path):
    torch.save({"weight": torch.zeros(2)}, tmp_path / "plain.pt")
    with pytest.raises(RuntimeError, match=r"plain\.pt: jit.load: the file was not written by jit"):
        torch.jit.load(tmp_path / "plain.pt")
    file = io.BytesIO()
    torch.jit.trace(torch.sin, torch.zeros(2)).save(file)
    content = torch.load(io.BytesIO(file.getvalue()))
    content["graph"] = content["graph"].replace("sin(", "__import__('os').system(")
    torch.save(content, tmp_path / "bad.pt")
    with pytest.raises(RuntimeError, match=r"bad\.pt: jit.load: the file is damaged"):
        torch.jit.load(tmp_path / "bad.pt")


@pytest.mark.parametrize("made", ["traced", "frozen", "loaded"])
def test_a_deep_copy_has_tensors_of_its_own(made):
    offset = torch.ones(3)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = net

        def forward(self, x):
            return self.inner(x) * 2 + offset
    x = torch.randn(4, 2)
    first = torch.jit.trace(Net().eval(), x)
    if made == "frozen":
        first = torch.jit.freeze(first)
    if made == "loaded":
        file = io.BytesIO()
        first.save(file)
        file.seek(0)
        first = torch.jit.load(file)
    wanted = first(x).detach()
    second = copy.deepcopy(torch.nn.Sequential(first))[0]
    assert torch.equal(second(x), wanted) and [n for n, _ in second.named_parameters()] == [n for n, _ in first.named_parameters()]
    for tensor in (*second.graph.constants.values(), *second.state_dict().values()):
        with torch.no_grad():
            tensor.zero_()
    assert torch.equal(first(x), wanted) and not second(x).any()
    if made == "traced":
        assert second(torch.randn(2, 2)).shape == (2, 3) and not second(torch.randn(3, 2)).any()
        second(x).sum().backward()
        assert all(p.grad is not None for p in second.parameters()) and all(p.grad is None for p in first.parameters())


@pytest.mark.parametrize("optimised", [False, True])
def test_what_is_made_of_constants_is_new_in_each_call(optimised):
    """Callers may write to it, as to what the function itself returns. Parameters are returned themselves."""
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            ones, state = torch.ones(3), torch.zeros(3)
            state.add_(x)
            return x * self.weight[0], ones, ones, ones[1:], torch.arange(3) * 2, state, self.weight
    model, x = Model().eval(), torch.tensor([1., 2., 3.])
    run = torch.jit.trace(model, x)
    if optimised:
        run = torch.jit.optimize_for_inference(run)
    with torch.no_grad():
        wanted = [each.clone() for each in model(x)]
        for _ in range(3):
            found = run(x)
            assert all(map(torch.equal, found, wanted)) and found[1] is found[2]
            for each in found[:-1]:
                each.fill_(7)
    if not optimised:
        found[-1].data.fill_(2)
        assert torch.equal(run(x)[0], x * 2)


def test_a_program_from_a_file_takes_another_order_in_memory_within_a_trace_and_other_transforms():
    def regions(x):
        return x.view(12)[1:5] * 2, x.t().contiguous().view(12)[2:6], x[1:].sum(0)
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(regions, torch.randn(3, 4)), file)
    file.seek(0)
    program = torch.jit.load(file)
    x = torch.empty_strided((3, 4), (1, 3)).copy_(torch.randn(3, 4))
    both = torch.stack([x, x]).transpose(1, 2).contiguous().transpose(1, 2)
    calls = {"itself": lambda: program(x), "trace": lambda: torch.jit.trace(lambda v: program(v), x, check_trace=False)(x),
             "vmap": lambda: [each[0] for each in torch.func.vmap(lambda v: program(v))(both)],
             "jvp": lambda: torch.func.jvp(lambda v: program(v), (x,), (x,))[1]}
    for name, call in calls.items():
        torch.testing.assert_close(list(call()), list(regions(x.contiguous())), rtol=0, atol=0, msg=name)


def test_a_program_from_a_file_takes_any_order_beside_the_ones_it_was_traced_for():
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(lambda x, y: x.t().reshape(-1)[1:5] * y, (torch.randn(4, 3).t(), torch.ones(4))), file)
    file.seek(0)
    program = torch.jit.load(file)
    for x in (torch.randn(3, 4), torch.randn(4, 3).t(), torch.randn(3, 8)[:, ::2]):
        for y in (torch.randn(4), torch.randn(8)[::2]):
            assert torch.equal(program(x, y), x.t().reshape(-1)[1:5] * y)


class Counting(torch.nn.Module):
    """Numbers that depend on the shape become constants; statistics and draws are those of the calls."""

    def __init__(self):
        super().__init__()
        self.norm, self.drop = torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5)

    def forward(self, x):
        n = x.size(0)
        return self.drop(self.norm(x)) * torch.tensor([float(n)]) + torch.arange(n)[:, None]


def _copied_and_moved(traced):
    return copy.deepcopy(copy.deepcopy(traced)).double().float()


@pytest.mark.parametrize("make", [lambda traced: traced, copy.deepcopy, _copied_and_moved], ids=["itself", "copied", "moved"])
def test_calls_with_other_shapes_are_those_of_the_module(make):
    """Each has a graph with constants of its own, and moves statistics and draws on once, the first time too."""
    net = Counting()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        traced = make(torch.jit.trace(copy.deepcopy(net), torch.rand(3, 3), check_trace=False))
    traced.load_state_dict(net.state_dict())
    for step, n in enumerate((3, 5, 3, 4, 5, 3)):
        x = torch.rand(n, 3)
        results = []
        for each in (net, traced):
            torch.manual_seed(step)
            results.append([each(x), torch.rand(2), *[b.clone() for b in each.buffers()]])
        torch.testing.assert_close(results[1], results[0])


@pytest.mark.parametrize("prepare", [torch.jit.freeze, torch.jit.optimize_for_inference])
def test_a_frozen_module_has_constants_for_each_shape(prepare):
    net = Counting().eval()
    frozen = prepare(torch.jit.trace(net, torch.rand(3, 3)))
    for n in (3, 5, 3, 4, 5):
        x = torch.rand(n, 3)
        torch.testing.assert_close(frozen(x), net(x).detach())


def test_a_traced_module_within_a_trace_of_other_shapes():
    """It is traced again for the values, and that graph is part of the other."""
    inner = torch.jit.trace(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)), torch.rand(2, 4))
    outer = torch.nn.Sequential(torch.nn.Linear(4, 4), inner)
    before = copy.deepcopy(outer.state_dict())
    traced, x = torch.jit.trace(outer, torch.rand(3, 4), check_trace=False), torch.rand(3, 4)
    results = []
    for each in (outer, traced):
        outer.load_state_dict(before)
        outer.zero_grad()
        result = each(x)
        result.square().sum().backward()
        results.append([result, *[p.grad for p in outer.parameters()], *[b.clone() for b in outer.buffers()]])
    torch.testing.assert_close(results[1], results[0])


def test_a_trace_that_was_made_of_what_another_one_reaches():
    """A function's trace has a layer of its own, also where it is traced again within the trace of a module that has the layer."""
    layer = torch.nn.Linear(4, 4).requires_grad_(False)
    function = torch.jit.trace(lambda x: layer(x).relu(), torch.rand(2, 4))

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return function(self.layer(x))
    module, x = Outer(), torch.rand(3, 4)
    assert torch.equal(torch.jit.trace(module, torch.rand(3, 4))(x), module(x))
    with pytest.raises(RuntimeError, match="Tracing can't be nested"):
        torch.jit.trace(lambda x: torch.jit.trace(lambda y: y * x, x)(x), x)
    assert not torch.jit.is_tracing()


@pytest.mark.parametrize("made", ["function", "module"])
def test_arguments_are_given_by_name(made):
    """By those of the function, in any order, also in a file's program."""
    function = torch.nn.Bilinear(2, 2, 3) if made == "module" else lambda input1, input2: input1 - input2.sum(1, keepdim=True)
    traced, x, y = torch.jit.trace(function, (torch.rand(4, 2), torch.rand(4, 2))), torch.rand(4, 2), torch.rand(4, 2)
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    for each in (traced, torch.jit.load(file)):
        for found in (each(x, input2=y), each(input2=y, input1=x)):
            assert torch.equal(found, function(x, y))
        for wrong in ({"input2": y, "other": x}, {"input2": y}, {"input1": x, "input2": y, "more": y}):
            with pytest.raises(RuntimeError, match="expected the arguments input1, input2 by name, got"):
                each(**wrong)
        with pytest.raises(RuntimeError, match="expected the argument input2 by name, got input1"):
            each(x, input1=y)


class Model(torch.nn.Module):
    """With many arguments, of which few are given."""

    def forward(self, ids=None, mask=None, labels=None, scale=None, doubled=True):
        return ids * 2 + scale if doubled else mask


def test_arguments_that_are_no_tensors_stay_what_they_were():
    x, y = torch.rand(3), torch.rand(3)
    traced = torch.jit.trace(Model(), example_kwarg_inputs={"scale": x, "ids": y})
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    for each in (traced, torch.jit.load(file)):
        for found in (each(ids=x, scale=y), each(x, scale=y), each(x, None, scale=y), each(scale=y, ids=x)):
            assert torch.equal(found, x * 2 + y)
        with pytest.raises(RuntimeError, match="expected the arguments ids, scale by name, got ids, mask"):
            each(ids=x, mask=y)
    pair = torch.jit.trace(lambda pair, x: pair[0] + pair[1] * x, ((x, y), x))
    assert torch.equal(pair((x, y), x=y), x + y * y)
    with pytest.raises(RuntimeError, match="takes these by place"):
        pair(pair=(x, y), x=y)


def test_dicts_are_taken_in_any_order():
    """Also by a program from a file, which knows no source, for the rows that were traced and for others."""
    def function(pair, scale):
        return pair["a"] * scale[0] - pair["b"]["c"]
    traced = torch.jit.trace(function, ({"a": torch.rand(3, 2), "b": {"c": torch.rand(3, 2), "d": 1}}, [torch.rand(2)]))
    file = io.BytesIO()
    traced.save(file)
    file.seek(0)
    loaded = torch.jit.load(file)
    for rows in (3, 5):
        a, c, scale = torch.rand(rows, 2), torch.rand(rows, 2), torch.rand(2)
        for each in (traced, loaded):
            assert torch.equal(each({"b": {"d": 1, "c": c}, "a": a}, [scale]), a * scale - c)
    with pytest.raises(RuntimeError, match="traced for"):
        loaded({"b": {"d": 2, "c": c}, "a": a}, [scale])


def _swap():
    class Swap(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return y, x

        @staticmethod
        def backward(ctx, a, b):
            return b, a
    return lambda x, y: Swap.apply(x.relu(), y.relu())


def _detached(x, y):
    z = x * y
    z.detach_()
    return z + x, z.mul_(2)


def _unrecorded(x, y):
    with torch.no_grad():
        z = x * 3
        w = (y * z)[1:]
    return x * z + y, w, w * x[1:] + z.sum()


def _gradient(x, y):
    slope, = torch.autograd.grad((x**3 * y).sum(), x) if x.requires_grad else (x * y,)
    return x * slope, y * 2


def _written_without_recording(x, y):
    z, new = x * y, torch.zeros(2)
    with torch.no_grad():
        z[:1] = torch.zeros(1)
        new[:1] = x[2]
    return z[1:] * x[1:], z[1:], new * x[:2]


@pytest.mark.parametrize("example", [False, True], ids=["without", "with"])
@pytest.mark.parametrize("program", [_swap(), _detached, _unrecorded, _gradient, _written_without_recording], ids=[
    "a function that returns its arguments", "detach_", "no_grad", "grad", "written"])
def test_gradients_of_a_trace_go_where_the_functions_do(program, example):
    """Whether the example requires grad or not; a trace under no_grad is one of a function that can be trained."""
    arguments = torch.rand(3, requires_grad=example), torch.rand(3, requires_grad=example)
    with warnings.catch_warnings():
        warnings.simplefilter("error")                   # what is compared takes part in gradients as the example does
        traced = [torch.jit.trace(program, arguments)]
    if program is _detached:
        with torch.no_grad():
            traced += [torch.jit.trace(program, arguments, check_trace=False)]
    found = []
    for function in (program, *(traced if example or program is not _gradient else ())):
        x, y = torch.tensor([1.0, -2.0, 3.0], requires_grad=True), torch.tensor([2.0, 3.0, -1.0], requires_grad=True)
        results = function(x, y)
        sum((i + 2) * result.sum() for i, result in enumerate(results)).backward()
        found.append([*results, *[each.requires_grad for each in results], x.grad, y.grad])
    for each in found[1:]:
        torch.testing.assert_close(each, found[0])


def test_a_shallow_copy_has_the_same_tensors():
    traced = torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2))
    copied = copy.copy(traced)
    assert copied is not traced and copied.weight is traced.weight and torch.equal(copied(torch.ones(3, 2)), traced(torch.ones(3, 2)))
