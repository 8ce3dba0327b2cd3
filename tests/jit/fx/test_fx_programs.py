"""What programs meet when they are traced: each row has nodes and code as PyTorch's, and computes what the program does."""
import copy
import dataclasses
import enum
import functools
import math
import operator
import pickle
import typing
from typing import NamedTuple

import pytest
from fxprograms import lines_of

import numtorch
from numtorch import fx

try:
    import torch as reference
except ImportError:
    reference = None


class Pair(NamedTuple):
    x: numtorch.Tensor
    y: numtorch.Tensor


class Mode(enum.IntEnum):
    ADD = 1


@dataclasses.dataclass
class Answer:
    value: object
    count: int = 3


def scaled(q):
    return q / math.sqrt(q.size(-1))


def with_mode(x, mode):
    return x + 1 if mode is Mode.ADD and float(x.sum()) > -1e9 else x


fx.wrap("with_mode")
if reference is not None:
    reference.fx.wrap("with_mode")


def doubled(function):
    @functools.wraps(function)
    def both(*args, **kwargs):
        return 2 * function(*args, **kwargs)
    return both


def programs(torch):
    """(module or function, arguments) by name."""
    class Root(torch.nn.Module):
        def forward(self, q):
            torch._assert(q.shape[1] > 1, "too narrow")
            return q * math.sqrt(q.size(0)) + scaled(q)

    class Decorated(torch.nn.Module):
        @doubled
        def forward(self, x, w):
            return torch.matmul(x, w)

    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)
            torch.nn.init.ones_(self.linear.weight)
            torch.nn.init.zeros_(self.linear.bias)

        def forward(self, x):
            return self.linear(x) + 1

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(self.inner(x)).relu()

    def typed(p: Pair, n: int, names: typing.List[str], sizes: typing.Dict[str, int],           # noqa: UP006  as programs have them
              other: int | None = None) -> list[torch.Tensor]:
        return [p.x + p.y * n]

    def returned(x):
        return Answer(value=x + 1)

    def placed(x, where=torch.device("cpu")):            # noqa: B008
        return x.to(device=torch.device("cpu")).to(where)

    x = torch.ones(2, 2)
    return {"devices": (placed, (x,)), "math": (Root(), (x,)), "decorated": (Decorated(), (x, x)), "modules": (Outer(), (x,)),
            "types": (typed, (Pair(x, x), 2, ["a"], {"b": 1})), "dataclass": (returned, (x,)),
            "enumeration": (lambda x: with_mode(x, Mode.ADD), (x,))}


ROWS = ["devices", "math", "decorated", "modules", "types", "dataclass", "enumeration"]


def plain(value):
    if isinstance(value, Answer):
        return plain(value.value), value.count
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value.tolist()


@pytest.mark.parametrize("name", ROWS)
def test_a_program_is_traced_as_it_is(name):
    program, args = programs(numtorch)[name]
    traced = fx.symbolic_trace(program)
    again = fx.symbolic_trace(traced)                    # of whose code names stand for wrapped functions too
    others = [pickle.loads(pickle.dumps(traced))] if name != "decorated" else []
    for each in [traced, copy.deepcopy(traced), again, fx.Transformer(traced).transform(), *others]:
        assert plain(each(*args)) == plain(program(*args)) and each.code == traced.code
    assert plain(fx.Interpreter(traced).run(*args)) == plain(program(*args))


@pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", ROWS)
def test_nodes_and_code_are_those_of_pytorch(name):
    ours, theirs = (library.fx.symbolic_trace(programs(library)[name][0]) for library in (numtorch, reference))
    assert str(ours.graph) == str(theirs.graph).replace("_operator", "operator")
    assert lines_of(ours.code) == [line for line in lines_of(theirs.code) if ".wrap(" not in line]

    def stacks(graph):
        return [(path, where, kind.__name__) for node in graph.nodes for path, (where, kind) in node.meta.get("nn_module_stack", {}).items()]
    assert stacks(ours.graph) == stacks(theirs.graph)


def test_assertions_and_writes_stay():
    """They return nothing that is used."""
    def checked(x):
        numtorch._assert(x.shape[0] == 2, "not two")
        return x
    traced = fx.symbolic_trace(checked)
    x = traced.graph.nodes[0]
    with traced.graph.inserting_before(traced.graph.output_node()):
        traced.graph.call_function(operator.setitem, (x, 0, 5.0))
        opened = traced.graph.call_function(numtorch.ops.profiler._record_function_enter, ("part",))
        traced.graph.call_function(numtorch.ops.profiler._record_function_exit, (opened,))
    assert not traced.graph.eliminate_dead_code()
    traced.recompile()
    assert traced(numtorch.zeros(2)).tolist() == [5.0, 0.0]
    with pytest.raises(AssertionError, match="not two"):
        traced(numtorch.zeros(3))


IN_PLACE = {"iadd": (7, 2), "isub": (7, 2), "imul": (7, 2), "itruediv": (7, 2), "ifloordiv": (7, 2), "imod": (7, 2), "ipow": (7, 2),
            "ilshift": (7, 2), "irshift": (7, 2), "iand": (7, 2), "ior": (8, 2), "ixor": (7, 2)}


@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place_write_to_their_operand(name):
    """The operand's node is what was written afterwards, as in PyTorch, for values that nothing can be written to either."""
    graph = fx.Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    result = graph.call_function(getattr(operator, name), (a, b))
    graph.output((a, result))
    wanted = getattr(operator, name)(*IN_PLACE[name])
    assert fx.GraphModule({}, graph)(*IN_PLACE[name]) == (wanted, wanted)


def test_no_node_hides_a_name_of_the_text():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.create_node("call_function", operator.add, (x, math.inf), name="inf")
    z = graph.create_node("call_function", operator.sub, (y, math.nan), name="nan")
    graph.output((z, graph.call_function(operator.add, (x, math.inf), name="torch")))
    assert [node.name for node in graph.nodes][1:4] == ["inf_1", "nan_1", "torch_1"]
    assert str(fx.GraphModule({}, graph)(1.0)) == "(nan, inf)"


class OfAList(fx.CodeGen):
    """A `forward` that takes a list, and returns a dict."""

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        return f"def forward(self, given: Given){maybe_return_annotation}:\n    {', '.join(free_vars)} = given"

    def generate_output(self, output_args):
        return f"return {{'out': {output_args!r}}}"

    def process_inputs(self, *args):
        return args[0]

    def process_outputs(self, outputs):
        return {"out": outputs}

    def additional_globals(self):
        return [("Given", list)]


def test_code_is_written_as_one_says():
    traced = fx.symbolic_trace(lambda a, b: a - b)
    traced.graph.set_codegen(OfAList())
    traced.recompile()
    for each in (traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced)), fx.Transformer(traced).transform()):
        assert each([5, 3]) == {"out": 2} and fx.Interpreter(each).run([5, 3]) == {"out": 2}
    assert fx.Interpreter(traced).run(5, 3, enable_io_processing=False) == 2


def test_sizes_of_parameters_decide_where_they_are_constant():
    class Chooses(numtorch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = numtorch.nn.Parameter(numtorch.ones(2, 3))

        def forward(self, x):
            p = self.p
            return x + p if (p.shape[0], p.size(1), tuple(p.size()), p.dim(), p.ndim, p.numel(), p.nelement()) == (2, 3, (2, 3), 2, 2, 6, 6) else x
    with pytest.raises(fx.proxy.TraceError, match="control flow"):
        fx.Tracer().trace(Chooses())
    tracer = fx.Tracer(param_shapes_constant=True)
    for each in (tracer, copy.deepcopy(tracer)):
        assert [node.op for node in each.trace(Chooses()).nodes] == ["placeholder", "get_attr", "call_function", "output"]


def test_nodes_know_the_line_they_come_from():
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(scaled)
    assert all("return q / math.sqrt(q.size(-1))" in node.stack_trace for node in graph.nodes if node.op.startswith("call"))
    assert fx.symbolic_trace(scaled).graph.nodes[1].stack_trace is None


def test_a_decorated_function_of_any_arguments_is_refused():
    class Any(numtorch.nn.Module):
        @doubled
        def forward(self, *args):
            return args[0]

    class Unnamed(numtorch.nn.Module):
        def forward(*args):
            return args[1]
    with pytest.raises(fx.proxy.TraceError, match=r"decorated, and takes \*args"):
        fx.symbolic_trace(Any())
    with pytest.raises(RuntimeError, match="cannot be part of"):
        fx.symbolic_trace(Unnamed())


def test_copies_keep_notes_and_the_text_says_what_runs():
    traced = fx.symbolic_trace(numtorch.relu)
    traced.meta["itself"] = traced
    copied = copy.deepcopy(traced)
    assert copied.meta["itself"] is copied and copy.copy(traced).meta["itself"] is traced and "torch.relu" in str(traced)
    for add in (traced.graph.get_attr, traced.graph.call_module):
        with pytest.warns(UserWarning, match="no underlying reference"):
            add("nowhere")
