"""Elementwise functions that are not records themselves, and NumPy's names for reductions' arguments."""
import numpy as np
import pytest

import numtorch as torch


@pytest.mark.parametrize("found, wanted", [
    (lambda: torch.round(torch.tensor([2.5, 1.255, -0.5]), decimals=1), [2.5, 1.3, -0.5]),
    (lambda: torch.tensor([1255.0, -14.0]).round(decimals=-1), [1260, -10]),
    (lambda: torch.tensor([2.5, -1.5]).round(), [2, -2]),
    (lambda: torch.tensor([float("nan"), float("inf"), -float("inf"), 2.0]).nan_to_num(),
     [0, np.finfo(np.float32).max, np.finfo(np.float32).min, 2]),
    (lambda: torch.tensor([float("inf")]).nan_to_num(posinf=7.0), [7]),
    (lambda: torch.tensor([complex(float("nan"), 1), complex(2, float("inf"))]).nan_to_num(posinf=7.0), [1j, 2 + 7j]),
    (lambda: torch.heaviside(torch.tensor([-1.0, float("nan"), -0.0, 2.0]), torch.tensor(0.5)), [0, 0, 0.5, 1]),
    (lambda: torch.signbit(torch.angle(torch.tensor([-0.0]))), [False]),
    (lambda: torch.logit(torch.tensor([-1.0, 0.5]), eps=0.25), [np.log(1 / 3), 0]),
    (lambda: torch.float_power(torch.tensor([2, 3]), 2), [4, 9]),
    (lambda: torch.stack([torch.tensor([True, False]) ** n for n in (0, 1, 2, 3)]), [[1, 1], [1, 0], [1, 0], [1, 0]]),
    (lambda: torch.rsub(torch.tensor([1.0]), 5, alpha=2), [3]),
    (lambda: torch.tensor([-1.0, 3.0]).clamp_min(0).clamp_max_(2), [0, 2]),
    (lambda: torch.hypot(torch.tensor([3e30, float("inf")]), torch.tensor([4e30, 1.0])), [5e30, np.inf]),
    (lambda: torch.logaddexp(torch.tensor([1000.0, -float("inf")]), torch.tensor([1000.0, -float("inf")])),
     [1000.6931, -np.inf]),
    (lambda: torch.xlogy(torch.tensor([0.0, 0.0]), torch.tensor([0.0, float("nan")])), [0, np.nan]),
    (lambda: torch.ones(2).multiply_(3).divide_(2).subtract_(1).negative_().absolute_(), [0.5, 0.5]),
])
def test_values(found, wanted):
    np.testing.assert_allclose(found().numpy(), wanted, rtol=1e-6)


def test_float_power_is_double():
    assert torch.float_power(torch.tensor([2.0]), 3).dtype is torch.float64
    assert torch.float_power(torch.tensor([2.0]), 1j).dtype is torch.complex128


@pytest.mark.parametrize("name", "sum nansum mean nanmean prod amax amin any all argmax argmin max min var std".split())
def test_reductions_take_numpys_names(name):
    x = torch.tensor([[1.0, 2.0, 4.0], [0.0, 3.0, 5.0]])
    reduce = getattr(torch, name)
    ours, theirs = reduce(x, dim=1, keepdim=True), reduce(x, axis=1, keepdims=True)
    ours, theirs = (ours[0], theirs[0]) if isinstance(ours, tuple) else (ours, theirs)
    assert theirs.shape == (2, 1) and torch.equal(ours, theirs)


@pytest.mark.parametrize("call, error, message", [
    (lambda: torch.where(torch.ones(2), 1.0, 2.0), RuntimeError, "expected condition to be a boolean"),
    (lambda: torch.ones(2).masked_fill(torch.ones(2), 1.0), RuntimeError, "boolean"),
    (lambda: torch.tensor([True]) - torch.tensor([True]), RuntimeError, "Subtraction"),
    (lambda: torch.sub(torch.tensor([True]), torch.tensor([True]), alpha=2), RuntimeError, "Subtraction"),
    (lambda: torch.sub(torch.ones(1), torch.tensor([True]), alpha=2), RuntimeError, "Subtraction"),
    (lambda: torch.sub(torch.ones(1), True, alpha=2), RuntimeError, "Subtraction"),
    (lambda: torch.ones(1).sub_(torch.tensor([True]), alpha=2), RuntimeError, "Subtraction"),
    (lambda: torch.rsub(torch.ones(1), torch.tensor([True]), alpha=2), RuntimeError, "Subtraction"),
    (lambda: torch.rsub(torch.tensor([1]), 2, alpha=0.5), RuntimeError, "alpha must not be a floating point number"),
    (lambda: torch.ones(2).masked_fill_(torch.ones(2, dtype=torch.uint8), 1.0), RuntimeError, "only supports boolean masks"),
    (lambda: torch.ones(2).masked_fill(torch.ones(2) > 0, torch.ones(2)), RuntimeError, "0-dimensional value tensor"),
    (lambda: torch.polar(torch.ones(2), torch.ones(2, dtype=torch.float64)), RuntimeError, "second argument"),
    (lambda: torch.ones(2).mT, RuntimeError, "only supported on matrices"),
    (lambda: torch.unravel_index(torch.ones(1), (2,)), TypeError, "integer dtype"),
    (lambda: -torch.tensor([True]), RuntimeError, "Negation"),
    (lambda: torch.ones(2) & torch.ones(2), NotImplementedError, "bitwise_and"),
    (lambda: torch.gcd(torch.ones(2), torch.ones(2)), NotImplementedError, "gcd"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
