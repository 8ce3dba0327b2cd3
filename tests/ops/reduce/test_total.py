"""Sums and means of elementwise ops in one pass: the same numbers and gradients as the op and then the reduction."""
import numpy as np
import pytest

import numtorch as torch
from numtorch.ops.loss import elementwise_losses
from numtorch.ops.reduce.total import TotalNode, total

OPS = [("squared_error", None), ("absolute_error", None), ("smooth_absolute_error", 0.5), ("huber_error", 0.7),
       ("logistic_terms", None), ("soft_margin_terms", None)]


def _operands(dtype, shape, offset=0.25):
    rng = np.random.default_rng(3)
    return [torch.tensor(rng.standard_normal(shape) + offset * k, dtype=dtype) for k in range(2)]


def _in_two(function, x, y, option, mean):
    terms = function(x, y) if option is None else function(x, y, option)
    return terms.mean() if mean else terms.sum()


@pytest.mark.parametrize("mean", [True, False], ids=["mean", "sum"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name, option", OPS)
def test_values_and_gradients(name, option, dtype, mean):
    function = getattr(elementwise_losses, name)
    x, y = (t.requires_grad_() for t in _operands(dtype, (7, 11)))
    fused, composed = total(function, x, y, option, mean=mean), _in_two(function, x, y, option, mean)
    assert isinstance(fused.grad_fn, TotalNode) and not isinstance(composed.grad_fn, TotalNode)
    tolerance = dict(rtol=1e-5 if dtype is torch.float32 else 1e-13)
    np.testing.assert_allclose(fused.item(), composed.item(), **tolerance)
    for found, expected in zip(torch.autograd.grad(fused, (x, y)), torch.autograd.grad(composed, (x, y))):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-7, **tolerance)


@pytest.mark.parametrize("needs", [(True, False), (False, True)], ids=["first", "second"])
def test_only_the_wanted_gradient_is_computed(needs):
    x, y = (t.requires_grad_(need) for t, need in zip(_operands(torch.float64, (3, 4)), needs))
    total(elementwise_losses.squared_error, x, y, mean=True).backward()
    slope = 2 * (x.detach() - y.detach()).numpy() / 12
    for tensor, need, expected in ((x, needs[0], slope), (y, needs[1], -slope)):
        assert (tensor.grad is not None) == need
        if need:
            np.testing.assert_allclose(tensor.grad.numpy(), expected)


@pytest.mark.parametrize("name, option", [o for o in OPS if o[0] not in ("absolute_error", "huber_error")])
def test_derivatives_of_second_order(name, option):
    x, y = (t.requires_grad_() for t in _operands(torch.float64, (2, 3)))
    assert torch.autograd.gradgradcheck(lambda a, b: total(getattr(elementwise_losses, name), a, b, option, mean=True), (x, y))


@pytest.mark.parametrize("count", [1, 2047, 2049, 300_007])
def test_threads_and_block_edges(count):
    before = torch.get_num_threads()
    x, y = _operands(torch.float32, (count,))
    exact = np.mean((x.double() - y.double()).numpy() ** 2)
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            assert total(elementwise_losses.squared_error, x, y, mean=True).item() == pytest.approx(exact, rel=2e-6)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("make", [
    lambda x: (x.t(), x.t()), lambda x: (x[:, ::2], x[:, ::2]), lambda x: (x.half(), x.half()), lambda x: (x, x.double()),
    lambda x: (x, x[0]), lambda x: (x[:0], x[:0])],
    ids=["transposed", "strided", "half", "mixed", "broadcast", "empty"])
def test_other_operands_take_two_ops(make):
    x, y = make(torch.randn(4, 6))
    y = y + 1
    np.testing.assert_allclose(total(elementwise_losses.squared_error, x, y, mean=False).item(), ((x - y) * (x - y)).sum().item(), rtol=1e-3)


def test_a_changed_operand_and_a_second_backward_are_errors():
    x, y = _operands(torch.float32, (3,))
    result = total(elementwise_losses.squared_error, x.requires_grad_(), y, mean=True)
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*MseLossBackward0"):
        result.backward()
    result = total(elementwise_losses.squared_error, x, y, mean=True)
    result.backward()
    with pytest.raises(RuntimeError, match="second time"):
        result.backward()


def test_saved_tensor_hooks_see_both_operands():
    x, y = _operands(torch.float64, (5,))
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or len(packed) - 1, lambda i: packed[i]):
        result = total(elementwise_losses.squared_error, x.requires_grad_(), y, mean=False)
    assert len(packed) == 2
    result.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * (x.detach() - y).numpy())
