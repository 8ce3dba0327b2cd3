"""Graphs of torch.fx and programs of jit: scripts of a graph's code, and scripts and traces among the modules of a graph."""
import io
import warnings

import pytest

import numtorch as torch
from numtorch import fx

try:
    import torch as reference
except ImportError:
    reference = None


def library(torch):
    """A network of one library, and a module that decides by a value."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 4))])
            self.scale = nn.Parameter(torch.ones(4))
            self.register_buffer("shift", torch.ones(4))

        def forward(self, x):
            y = self.layers[1](self.layers[0](x)) * self.scale + self.shift
            first, second = y.chunk(2, 1)
            return torch.cat([second, first], dim=1), y.size(0)

    class Decides(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            if bool(x.sum() > 0):
                return self.inner(x)
            return -x

    return Net(), Decides(), nn.Sequential(nn.Linear(2, 3), nn.ReLU())


def _both(place):
    """A module of each library, with the same numbers."""
    ours, theirs = library(torch)[place], library(reference)[place]
    theirs.load_state_dict({name: reference.tensor(value.tolist()) for name, value in ours.state_dict().items()})
    return ours, theirs


needs_reference = pytest.mark.skipif(reference is None, reason="PyTorch is not installed")


@needs_reference
@pytest.mark.parametrize("place", [0, 2])
def test_a_graph_becomes_a_script(place):
    """Its code names submodules by `getattr(self, "0")`, and lets arguments go by `x = None`."""
    ours, theirs = _both(place)
    x = torch.rand(3, 2)
    traced = fx.symbolic_trace(ours)
    script, their_script = torch.jit.script(traced), reference.jit.script(reference.fx.symbolic_trace(theirs))
    file = io.BytesIO()
    torch.jit.save(script, file)
    file.seek(0)
    wanted = their_script(reference.tensor(x.tolist()))
    for each in (script, torch.jit.load(file)):
        found = each(x)
        if place == 0:
            assert found[1] == wanted[1] == 3
        for a, b, c in ((found[0], ours(x)[0], wanted[0]) if place == 0 else (found, ours(x), wanted),):
            assert torch.equal(a, b) and torch.tensor(c.tolist()).allclose(a, rtol=1e-5, atol=1e-6)
    assert 'prim::GetAttr[name="0"]' in str(script.graph)


@needs_reference
@pytest.mark.parametrize("prepare", ["script", "trace", "script of a layer"])
def test_scripts_and_traces_are_modules_of_a_graph(prepare):
    def build(library, module, x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inner = library.jit.trace(module, x) if prepare == "trace" else library.jit.script(
                module.inner if prepare == "script of a layer" else module)
        return library.fx.symbolic_trace(library.nn.Sequential(inner, library.nn.Tanh()))
    ours, theirs = _both(1)
    for x in (torch.rand(3, 2), -torch.rand(3, 2)):
        y = reference.tensor(x.tolist())
        traced = build(torch, ours, x)
        assert [(n.op, n.target) for n in traced.graph.nodes][1:3] == [("call_module", "0"), ("call_module", "1")]
        found, wanted = traced(x), build(reference, theirs, y)(y)
        assert torch.tensor(wanted.tolist()).allclose(found, rtol=1e-5, atol=1e-6)
        assert torch.equal(fx.Interpreter(traced).run(x), found)
        assert torch.equal(torch.jit.trace(traced, x)(x), found)
    assert all(any(a is b for b in ours.parameters()) for a in traced.parameters())
