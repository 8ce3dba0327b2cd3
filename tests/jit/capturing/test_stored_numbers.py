"""Tensors that a captured call makes of Python's numbers: they hold them in every replay, whatever was written to them in the last."""
from __future__ import annotations

import pytest
from replays import is_replayed, same, why

import numtorch as torch
from numtorch.jit.capturing import capture
from numtorch.kernels import compiler, debugmemory

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
MATRIX, ROWS = [[1.5, -2.0, 3.0], [float("inf"), -0.0, 1e-42]], (2, 0)


def _written(x):
    total = torch.tensor([1.0, 2.0, 3.0])
    total.add_(x).mul_(x)
    return total * 2, total


CALLS = {
    "number": lambda x: x * torch.tensor(2.5), "matrix": lambda x: x + torch.tensor(MATRIX), "double": lambda x: x + torch.tensor([0.1, 1, 2]).double(),
    "of a dtype": lambda x: x + torch.tensor([0.1, 1, 2], dtype=torch.float64), "integers": lambda x: x.long() + torch.tensor([-1, 2**40, 3]),
    "conditions": lambda x: torch.where(torch.tensor([True, False, True]), x, -x), "as_tensor": lambda x: x - torch.as_tensor([1, 2, 3]),
    "new_tensor": lambda x: x.new_tensor([4.0, 5.0, 6.0]) - x, "list as index": lambda x: x[[2, 0, -1]], "tuple as index": lambda x: x[list(ROWS)],
    "write to rows": lambda x: torch.zeros(3).index_put_((torch.tensor([2, 0]),), x[:2] * 2), "returned": lambda x: (torch.tensor(7.0), x * 2),
    "three bytes": lambda x: (torch.tensor([True, False, True]), x + 1), "written": _written, "empty": lambda x: (torch.tensor([]), x * 2),
    "gathered": lambda x: x.gather(0, torch.tensor([1, 1, 0])), "chosen": lambda x: torch.index_select(x * 2, 0, torch.tensor([1, 1])),
}


@pytest.mark.parametrize("mode", ["replay", None])
@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_stored_in_every_replay(name, mode):
    function = torch.compile(CALLS[name], mode=mode)
    for _ in range(8):
        x = torch.randn(3)
        wanted, found = CALLS[name](x), function(x)
        kept = found if isinstance(found, tuple) else (found,)
        assert all(map(same, kept, wanted if isinstance(wanted, tuple) else (wanted,)))
        for each in kept:
            each.zero_()                                 # the caller may write to what it is given
    assert is_replayed(function), why(function)


def test_numbers_that_change_are_other_numbers():
    class Schedule:
        scale, weights = 1.0, [1.0, 2.0]
    function = torch.compile(lambda x, power=2: x * torch.tensor(Schedule.scale) + torch.tensor(Schedule.weights)[0] + torch.tensor(float(power)))
    x = torch.ones(3)
    for scale in (1.0, 2.0, 3.0):
        Schedule.scale = Schedule.weights[0] = scale
        for power in (2, 3):
            for _ in range(5):
                assert function(x, power).tolist() == [2 * scale + power] * 3
    assert all(kind.replays for kind in function._kinds.values())


def test_gradients_with_numbers():
    def f(x):
        return (x * torch.tensor([1.0, 2.0, 3.0]))[[0, 2]]
    function = torch.compile(f, mode="replay")
    for _ in range(6):
        x = torch.randn(3, requires_grad=True)
        function(x).sum().backward()
        assert x.grad.tolist() == [1.0, 0.0, 3.0]


def test_numbers_of_an_overflow_and_too_many(monkeypatch):
    monkeypatch.setattr(capture, "MOST_WORDS", 2)
    function = torch.compile(lambda x: x[[0, 1, 2]])
    for _ in range(6):
        assert same(function(torch.arange(3.0)), torch.arange(3.0))
    assert not is_replayed(function) and "from_plain" in why(function)
    function = torch.compile(lambda x: x * torch.tensor(1e300))
    for _ in range(6):
        assert function(torch.ones(1)).item() == float("inf")
