"""Gradients through views whose elements share memory, and through Python numbers in recorded backward passes."""
from __future__ import annotations

import numpy as np
import pytest

import numtorch as torch


@pytest.mark.parametrize("view, expected", [
    (lambda x: x.expand(3, 4)[:2], [2, 2, 2, 2]),
    (lambda x: x.expand(3, 4).select(0, 1), [1, 1, 1, 1]),
    (lambda x: x.expand(3, 4).narrow(1, 1, 2), [0, 3, 3, 0]),
    (lambda x: x[0].unfold(0, 2, 1)[1:], [0, 1, 2, 1]),
    (lambda x: x.expand(4, 4).diagonal(), [1, 1, 1, 1]),
])
def test_part_of_an_overlapping_view(view, expected):
    x = torch.ones(1, 4).requires_grad_()
    view(x).sum().backward()
    assert x.grad.tolist() == [expected]


def test_numbers_keep_their_digits_when_backward_is_recorded():
    x = torch.rand(3, dtype=torch.float64).requires_grad_()
    grad, = torch.autograd.grad((x * 0.02).sum(), x, create_graph=True)
    assert grad.dtype is torch.float64
    np.testing.assert_array_equal(grad.detach().numpy(), 0.02)
