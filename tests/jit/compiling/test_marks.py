"""What a program says to `torch.compile` through `torch.compiler`: functions that are not compiled, breaks, programs let go."""
from __future__ import annotations

import pickle
import warnings

import pytest

import numtorch as torch
from numtorch import nn
from numtorch.jit.capturing import guards
from numtorch.kernels import compiler, debugmemory

captured_only = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                   reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
log: list = []
weight = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()


@torch.compiler.disable(reason="it counts")
def _counting(x):
    log.append(x.sum().item())
    return x * 3


@torch.compiler.disable()
def _pure(x):
    return x.exp()


def _calls_one(x):
    y = (x @ weight).tanh()
    z = _counting(y)
    return (z + y).sum()


def _calls_a_pure_one(x):
    y = (x @ weight).tanh()
    z = _pure(y)
    return (z + y).sum()


def _breaks(x):
    y = (x @ weight).tanh()
    torch._dynamo.graph_break()
    return (y * y).sum()


class _Inner(nn.Module):
    def forward(self, x):
        log.append(tuple(x.shape))
        return x * weight.sum()


_inner = torch.compiler.disable(_Inner())


def _calls_a_module(x):
    y = (x @ weight).tanh()
    z = _inner(y)
    return (z + y).sum()


@captured_only
@pytest.mark.parametrize("function, words, calls", [
    (_calls_one, "_counting is not to be compiled: it counts", 1), (_calls_a_pure_one, "_pure is not to be compiled", 0),
    (_breaks, "a break that the program asks for", 0), (_calls_a_module, "_Inner is not to be compiled", 1)])
def test_marks_split_a_function(function, words, calls):
    """Marked functions run at each call, with gradients through them; what is around them is replayed, and they are the only break."""
    compiled, x = torch.compile(function, mode="replay"), torch.linspace(0, 1, 6).reshape(2, 3)
    for step in range(12):
        given = x + step
        log.clear()
        loss = compiled(given)
        assert len(log) == calls
        (mine,) = torch.autograd.grad(loss, weight)
        wanted = function(given)
        assert torch.equal(loss, wanted)
        torch.testing.assert_close(mine, torch.autograd.grad(wanted, weight)[0])
    explanation = torch._dynamo.explain(compiled)(x)
    assert [each.what for each in explanation.breaks] == [words]
    assert len(explanation.pieces) == 2 and all(each.launches > 0 for each in explanation.pieces)
    with pytest.raises(RuntimeError, match=words):
        whole = torch.compile(function, fullgraph=True)
        for _ in range(8):
            whole(x)


def test_disabled_functions_and_modules_are_what_they_were():
    assert _counting.__name__ == "_counting" and torch.equal(_pure(torch.zeros(2)), torch.ones(2))
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    same = torch.compiler.disable(net)
    x = torch.randn(4, 3)
    assert torch.equal(same(x), net(x)) and [id(each) for each in same.parameters()] == [id(each) for each in net.parameters()]
    assert torch.equal(pickle.loads(pickle.dumps(same))(x), net(x))
    assert same.eval() is same and not net.training
    for wrong in (3, None):
        with pytest.raises(TypeError, match="something to call"):
            torch.compiler.disable(wrong)(4)
    with pytest.raises(TypeError, match="something to call"):
        torch.compiler.allow_in_graph([_pure, 3])
    assert torch.compiler.allow_in_graph(_pure) is _pure


@captured_only
def test_reset_lets_programs_go():
    @torch.compile(mode="replay")
    def f(x):
        return x * 2 + 1

    x = torch.ones(3)
    for _ in range(4):
        f(x)
    assert f._kinds and (f._quick is not None or not guards.is_known())
    torch.compiler.reset()
    assert not f._kinds and f._quick is None and torch.equal(f(x), x * 3)


@pytest.mark.parametrize("library", ["numtorch", "torch"])
def test_questions(library):
    """The questions that libraries ask, in a program that is not compiled."""
    library = torch if library == "numtorch" else pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        place = library.compiler
        assert not place.is_compiling() and not place.is_dynamo_compiling() and not place.is_exporting()
        assert not library._dynamo.is_compiling()
        assert "inductor" in place.list_backends() and "eager" in place.list_backends(None) and "eager" not in place.list_backends()
        assert place.get_default_backend() == "inductor" and place.cudagraph_mark_step_begin() is None
