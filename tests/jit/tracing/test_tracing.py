"""The graph of a call: every op with its gradient, programs, steps; what is said of a tensor that is traced, and what stays of it."""
import copy
import io
import pickle

import gradientrows as gradients
import pytest
from tracedgraphs import tensors
from tracedprograms import PROGRAMS

import numtorch as torch
from numtorch.jit import Interpreter, parse
from numtorch.jit.graphs.checking import check_calls
from numtorch.jit.tracing.traces import trace_graph
from numtorch.tree import flatten

F = torch.nn.functional


def run(graph, *args):
    return Interpreter(graph).run(*args)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(gradients.ROWS) - gradients.SPARSE))
def test_every_op_is_traced_with_its_gradient(name):
    """The graph gives the op's results and gradients for other inputs than those it was traced with, and reads back from its text."""
    function, shapes, _ = gradients.ROWS[name]
    points = gradients.points(shapes)

    def program(*inputs):
        result = function(*inputs)
        outputs = [t for t in tensors(result) if t.requires_grad and t.dtype.is_floating_point]
        slopes = torch.autograd.grad([o.sum() for o in outputs], inputs, allow_unused=True) if outputs else ()
        return tensors(result), [s for s in slopes if s is not None]
    torch.manual_seed(0)
    expected = tensors(program(*points))
    graph = trace_graph(program, tuple(points))
    text = str(graph)
    assert str(parse(text)) == text
    check_calls(graph, graph.constants)                  # as a file's are
    torch.manual_seed(0)
    found = tensors(run(parse(text, graph.constants), *points))
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_are_traced(program):
    graph = trace_graph(program, (torch.randn(3, 4),))
    assert str(parse(str(graph))) == str(graph)
    check_calls(graph, graph.constants)
    for seed in range(3):
        torch.manual_seed(seed)
        x = torch.randn(3, 4)
        a, b = x.clone(), x.clone()
        expected, found = program(a), run(graph, b)
        assert flatten(expected)[1] == flatten(found)[1]
        for e, f in zip(tensors(expected), tensors(found)):
            torch.testing.assert_close(f, e, rtol=1e-6, atol=1e-6)
        assert torch.equal(a, b)


def test_a_traced_training_step_leaves_the_gradients_of_the_step():
    """Backward's ops are in the graph, and nothing of the trace stays in the parameters."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3))

    def step(x, y):
        net.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss
    graph = trace_graph(step, (torch.randn(5, 6), torch.randint(0, 3, (5,))), dict(net.named_parameters()))
    assert len(graph.gradients) == 6
    x, y = torch.randn(5, 6), torch.randint(0, 3, (5,))
    loss = step(x, y)
    expected = [p.grad for p in net.parameters()]
    net.zero_grad()
    torch.testing.assert_close(run(graph, x, y), loss.detach())
    for p, grad in zip(net.parameters(), expected):
        assert p.layout.handler is None and p.address
        torch.testing.assert_close(p.grad, grad)


def test_nothing_of_a_trace_stays_when_the_function_fails():
    layer = torch.nn.Linear(2, 2)

    def f(x):
        raise KeyError("x")
    layer.forward = lambda x: f(x)
    with pytest.raises(KeyError):
        torch.jit.trace(layer, torch.zeros(1, 2))
    assert layer.weight.layout.handler is None and not torch.jit.is_tracing()
    assert torch.equal(layer.weight @ torch.zeros(2, 1), torch.zeros(2, 1))


@pytest.mark.parametrize("ask", [lambda x: x.data_ptr(), lambda x: torch.save(x, io.BytesIO()), copy.deepcopy, pickle.dumps,
                                 lambda x: x.untyped_storage()], ids=["data_ptr", "save", "deepcopy", "pickle", "storage"])
def test_what_asks_a_traced_tensor_for_memory_is_told_what_to_do(ask):
    with pytest.raises(RuntimeError, match=r"tensor that is traced has no memory of its own.*outside of the traced function.*clone") as caught:
        torch.jit.trace(lambda x: (ask(x), x)[1], torch.ones(2))
    assert "transform" not in str(caught.value)
    with pytest.raises(RuntimeError, match="transform"):
        torch.func.vmap(lambda x: (ask(x), x)[1])(torch.ones(2))


def test_a_traced_tensor_that_escapes_is_an_ordinary_one():
    kept = []

    def f(x):
        kept.append(x * 2)
        return kept[0] + 1
    trace_graph(f, (torch.ones(2),))
    assert (kept[0] + 1).tolist() == [3.0, 3.0] and kept[0].tolist() == [2.0, 2.0]


def test_a_step_of_an_optimizer_is_in_the_graph():
    net = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss
    x = torch.randn(4, 3)
    with pytest.raises(NotImplementedError, match="the first step of an optimiser makes its states"):
        trace_graph(step, (x,), dict(net.named_parameters()))
    net.zero_grad()
    optimizer._prepared = [None]
    step(x)
    held = {**dict(net.named_parameters()), "weight.m": optimizer.state[net.weight]["exp_avg"]}
    before = [p.detach().clone() for p in (*net.parameters(), held["weight.m"])]
    graph = trace_graph(step, (x,), held)
    after = [p.detach().clone() for p in (*net.parameters(), held["weight.m"])]
    for p, value in zip((*net.parameters(), held["weight.m"]), before):
        p.detach().copy_(value)
    assert [node.op for node in graph.nodes].count("update") == 2
    again = parse(str(graph), graph.constants)
    Interpreter(again).run(x)
    torch.testing.assert_close(net.weight.detach(), after[0])
    torch.testing.assert_close(held["weight.m"], after[2])


TRANSFORMS = {
    "grad": lambda x, y: torch.func.grad(lambda v: (v.exp() * y).sum())(x),
    "grad of samples": lambda x, y: torch.func.vmap(torch.func.grad(lambda v, w: (v.exp() * w).sum()), (0, None))(x, y),
    "jvp": lambda x, y: torch.func.jvp(lambda v: v.exp() * y, (x,), (x,))[1],
    "vjp": lambda x, y: torch.func.vjp(lambda v: v.exp() * y, x)[1](x)[0],
    "hessian": lambda x, y: torch.func.hessian(lambda v: (v.exp() * y).sum())(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_functions_are_traced(name):
    x, y = torch.randn(3, 4), torch.randn(4)
    traced = torch.jit.trace(TRANSFORMS[name], (x, y))
    x, y = torch.randn(3, 4), torch.randn(4)
    torch.testing.assert_close(traced(x, y), TRANSFORMS[name](x, y))
