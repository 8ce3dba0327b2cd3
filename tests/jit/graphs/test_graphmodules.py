"""Traced graphs as graphs of torch.fx, and back: the same values, gradients, draws and writes, to be changed by what fx has."""
import copy
import pickle

import pytest
from fxprograms import PROGRAMS
from tracedgraphs import ops, traced

import numtorch as torch
from numtorch import fx
from numtorch.jit import Interpreter
from numtorch.jit.passes import optimized

F = torch.nn.functional


def made(name):
    program, shapes = PROGRAMS[name]
    torch.manual_seed(1)
    return program, [torch.randn(*shape) for shape in shapes]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_of_fx_computes_what_the_graph_does(name):
    program, given = made(name)
    graph = traced(program, *given)
    for each in (graph, optimized(graph)[0]):
        module = torch.jit.to_fx(each)
        module.graph.lint()
        back = torch.jit.trace(module, tuple(given), check_trace=False)
        others = [lambda t: t.clone(), lambda t: t.flip(0).contiguous().flip(0)]
        for change in others:
            wanted = None
            for run in (Interpreter(each).run, module, fx.Interpreter(module).run, copy.deepcopy(module),
                        pickle.loads(pickle.dumps(module)), fx.Transformer(module).transform(), back):
                inputs = [change(t) for t in given]
                torch.manual_seed(3)
                found = [run(*inputs), inputs, torch.rand(1)]
                wanted = wanted or found
                torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_names_of_nodes_and_targets():
    module = torch.jit.to_fx(torch.jit.trace(lambda x, w, b: torch.tanh(F.linear(x.t(), w, b)) + 1, tuple(torch.ones(2, 2) for _ in range(2)) + (torch.ones(2),)))
    assert [(n.op, n.name, getattr(n.target, "__name__", n.target)) for n in module.graph.nodes] == [
        ("placeholder", "x", "x"), ("placeholder", "w", "w"), ("placeholder", "b", "b"), ("call_method", "transpose", "transpose"),
        ("call_function", "linear", "linear"), ("call_function", "tanh", "tanh"), ("call_function", "add", "add"),
        ("output", "output", "output")]
    assert [n.target for n in module.graph.nodes][4:7] == [F.linear, torch.tanh, torch.add]
    assert "torch.tanh(linear)" in module.code


def test_a_traced_module_is_changed_by_fx_and_trained():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Sigmoid(), torch.nn.Linear(4, 1))
    x = torch.randn(5, 3)
    module = torch.jit.to_fx(torch.jit.trace(net, x, check_trace=False))
    assert dict(module.named_parameters()).keys() == dict(net.named_parameters()).keys() and module.training
    assert all(a is b for a, b in zip(module.parameters(), net.parameters()))
    before = net[1].num_batches_tracked.item()
    assert torch.equal(module(x), net(x)) and net[1].num_batches_tracked.item() == before + 2
    fx.replace_pattern(module, lambda v: torch.sigmoid(v), lambda v: torch.tanh(v) * 2)
    wanted = net[3](net[1](net[0](x)).tanh() * 2)
    torch.testing.assert_close(module(x), wanted)
    grads = torch.autograd.grad(module(x).sum(), list(net.parameters()))
    for a, b in zip(grads, torch.autograd.grad(wanted.sum(), list(net.parameters()))):
        torch.testing.assert_close(a, b)
    module.graph.eliminate_dead_code()
    again = torch.jit.trace(module, x, check_trace=False)
    assert "tanh" in ops(again.graph) and "sigmoid" not in ops(again.graph)
    torch.testing.assert_close(again(x), module(x))
    with pytest.raises(TypeError, match=r"what jit\.trace returned"):
        torch.jit.to_fx(net)
