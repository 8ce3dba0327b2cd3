"""`torch.cond`: as it is, differentiated, compiled, and in traces, whose graphs keep both branches."""
import copy
import warnings

import pytest
from scriptruns import through_file

import numtorch as torch

try:
    import torch as reference
except ImportError:
    reference = None


def _sum(x, y):
    return {"a": x.sin() + y, "b": [x * y]}


def _product(x, y):
    return {"a": (x * y).cos(), "b": [y - x]}


def _looped(x, rounds: int = 2):
    for _ in range(rounds):
        x = x * x
    return x


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = torch.nn.Linear(3, 3), torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.one, self.other, (x + 1,)) * 2


PROGRAMS = {
    "structures": lambda x: torch.cond(x.sum() > 0, _sum, _product, (x, x * 2)),
    "functions of the package": lambda x: torch.cond((x > 0).all(), torch.neg, torch.nn.functional.gelu, (x,)),
    "one of a script": lambda x: torch.cond(x.mean() > 0, _looped, torch.sin, [x]),
    "numbers": lambda x: torch.cond(x.sum(0, keepdim=True), _looped, torch.cos, (x,)),
    "within": lambda x: torch.cond(x.sum() > 0, _looped, torch.cos, (torch.cond(x[0] > 0, torch.sin, torch.abs, (x,)),)),
    "modules": Branches().eval(),
}
POINTS = [torch.tensor([0.5, 1.5, 0.25]), torch.tensor([0.5, -1.5, 0.25]), torch.tensor([-0.5, 1.5, 0.25]), torch.tensor([0.0, -0.5, 0.5])]


def outcomes(f):
    results = []
    for point in POINTS:
        x = point.clone().requires_grad_()
        result = f(x)
        leaves = [result["a"], *result["b"]] if isinstance(result, dict) else [result]
        grad, = torch.autograd.grad(sum((i + 2) * leaf.square().sum() for i, leaf in enumerate(leaves)), x)
        results.append([*leaves, grad])
    return results


WAYS = {"as it is": lambda t: t, "from a file": through_file, "copied": copy.deepcopy, "compiled": torch.compile,
        "traced again": lambda t: torch.jit.trace(torch.nn.Sequential(t) if isinstance(t, torch.nn.Module) else lambda x: t(x), POINTS[0])}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_trace_goes_the_way_of_each_call(name, way):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = WAYS[way](torch.jit.trace(PROGRAMS[name], POINTS[1]))
    torch.testing.assert_close(outcomes(traced), outcomes(PROGRAMS[name]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_calls_go_their_way(name):
    compiled = torch.compile(PROGRAMS[name], mode="replay")
    for _ in range(5):
        torch.testing.assert_close(outcomes(compiled), outcomes(PROGRAMS[name]), rtol=0, atol=0)


def test_branches_that_are_no_scripts_are_frozen_with_a_warning():
    def shifted(x):
        return x + offset
    offset = torch.ones(3)
    for one in (lambda x: x + 1, shifted, torch.nn.ReLU().forward):
        with pytest.warns(torch.jit.TracerWarning, match="boolean"):
            traced = torch.jit.trace(lambda x, one=one: torch.cond(x.sum() > 0, one, torch.neg, (x,)), torch.ones(3), check_trace=False)
        assert not any(node.op == "script" for node in traced.graph.nodes)


def test_samples_go_their_own_ways():
    f, points = PROGRAMS["structures"], torch.stack(POINTS)
    wanted = [f(point) for point in POINTS]
    found = torch.func.vmap(f)(points)
    torch.testing.assert_close(found["a"], torch.stack([each["a"] for each in wanted]))
    torch.testing.assert_close(found["b"][0], torch.stack([each["b"][0] for each in wanted]))
    slopes = torch.func.vmap(torch.func.grad(lambda x: f(x)["a"].sum()))(points)
    torch.testing.assert_close(slopes, torch.stack([torch.func.jacrev(lambda x: f(x)["a"].sum())(point) for point in POINTS]))
    with pytest.raises(RuntimeError, match="same structure"):
        torch.func.vmap(lambda x: torch.cond(x.sum() > 0, torch.sin, lambda x: (x,), (x,)))(points)


@pytest.mark.skipif(reference is None, reason="needs PyTorch")
@pytest.mark.parametrize("given", [
    lambda t: ("yes", t.sin, t.cos, (t.ones(2),)), lambda t: (t.ones(2) > 0, t.sin, t.cos, (t.ones(2),)), lambda t: (t.tensor(True), 3, t.cos, ()),
    lambda t: (t.tensor(True), t.sin, t.cos, (3,)), lambda t: (t.tensor(True), t.sin, t.cos, t.ones(2)), lambda t: (None, t.sin, t.cos),
    lambda t: (t.tensor(1.0), t.sin, t.cos, (t.ones(2),)), lambda t: (0, t.sin, t.cos, (t.ones(2),)), lambda t: (2.5, lambda: 7, lambda: 8)])
def test_it_takes_what_pytorch_takes(given):
    said = []
    for library in (torch, reference):
        try:
            result = library.cond(*given(library))
            said.append(result.tolist() if isinstance(result, library.Tensor) else result)
        except RuntimeError as error:
            said.append(str(error))
    assert said[0] == (pytest.approx(said[1]) if isinstance(said[1], list) else said[1])
