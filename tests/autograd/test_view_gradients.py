"""Gradients through views of tensors in every memory order: elements that share memory, negative strides, regions outside of their
base. Gradients of Python numbers in recorded backward passes."""
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


# (what a base is made of, a part of it): of windows and of expanded tensors, by every way to name a part
PARTS = {
    "select": lambda x: x.select(0, 2), "narrow": lambda x: x.narrow(1, 1, 2), "item": lambda x: x[1], "rows": lambda x: x[1:3],
    "mixed": lambda x: x[1:, None, 1], "gathered": lambda x: x[[0, 2], 1:], "unfold": lambda x: x.unfold(1, 2, 1),
    "diagonal": lambda x: x.diagonal(1), "split": lambda x: x.split(2)[0], "unbind": lambda x: x.unbind(1)[1],
    "chunk": lambda x: x.chunk(2, 1)[1], "tensor_split": lambda x: x.tensor_split(2)[1], "iterated": lambda x: list(x)[3],
    "transposed": lambda x: x.t()[1], "flattened": lambda x: x.reshape(-1)[3:7], "sum_to_size": lambda x: x.sum_to_size(1, 3)}
SHARED = {"expanded": lambda x: x[:3].expand(4, 3), "expanded columns": lambda x: x[:4, None].expand(4, 3),
          "windows": lambda x: x[:6].unfold(0, 3, 1)}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("base", SHARED)
def test_parts_of_what_shares_memory(base, part):
    """Each element of the base gets its own gradient, as in a copy of it; and the gradient of that is right too."""
    source = torch.tensor(np.random.default_rng(0).uniform(0.5, 1.5, 8))
    results = []
    for alike in (lambda x: x, torch.clone):
        x = source.clone().requires_grad_()
        shared = alike(SHARED[base](x))
        shared.retain_grad()
        y = PARTS[part](shared)
        weights = torch.arange(1.0, y.numel() + 1, dtype=torch.float64).view(y.shape)
        first, = torch.autograd.grad((y ** 3 * weights).sum(), x, create_graph=True)
        (first * torch.arange(8.0)).sum().backward()
        results.append((first.detach().numpy(), shared.grad.numpy(), x.grad.numpy()))
    for got, wanted in zip(*results):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_a_leaf_that_shares_memory_has_a_gradient_for_each_element():
    x = torch.ones(1, 3).expand(2, 3).requires_grad_()
    (x[1] * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [1, 2, 3]]


@pytest.mark.parametrize("view, expected", [              # as PyTorch gives them
    (lambda x: x[:5].expand(4, 5).as_strided((2, 3), (1, 1)), [1, 2, 2, 1, 0, 0, 0, 0]),
    (lambda x: x.unfold(0, 3, 1).as_strided((2, 3), (2, 1)), [1, 1, 2, 1, 1, 0, 0, 0]),
    (lambda x: x[2:4].as_strided((8,), (1,), 0), [0, 0, 1, 1, 0, 0, 0, 0]),
    (lambda x: x[2:4].as_strided((7, 2), (1, 1), 0), [0, 0, 2, 2, 0, 0, 0, 0]),
    (lambda x: x[::2].as_strided((3,), (1,), 1), [0, 0, 1, 0, 0, 0, 0, 0])])
def test_any_strides_of_what_shares_memory_or_reach_outside(view, expected):
    """An element of memory is shared equally among those of the base that lie there; what is outside of the base has no gradient."""
    x = torch.ones(8).requires_grad_()
    view(x).sum().backward()
    assert x.grad.tolist() == expected
    reference = pytest.importorskip("torch").ones(8).requires_grad_()
    view(reference).sum().backward()
    assert reference.grad.tolist() == expected


BACKWARD = {"rows": lambda x: x[1:], "row": lambda x: x.select(0, 2), "column": lambda x: x[:, 1], "diagonal": lambda x: x.diagonal(),
            "windows": lambda x: x.unfold(0, 3, 2), "narrow": lambda x: x.narrow(1, 1, 2), "strided": lambda x: x.as_strided((2,), (1,), 5)}


@pytest.mark.parametrize("rows", [5, 50_000])
@pytest.mark.parametrize("flip", [np.s_[::-1], np.s_[:, ::-1], np.s_[::-1, ::-1], np.s_[::-2]])
@pytest.mark.parametrize("part", BACKWARD)
def test_parts_of_negative_strides(part, flip, rows):
    """The gradient of a part lies in a block with the base's negative strides: it begins inside of that block, not at its end."""
    array = np.arange(rows * 2 * 4, dtype=np.float32).reshape(rows * 2, 4)
    x = torch.from_numpy(array[flip]).requires_grad_()
    part, expected = BACKWARD[part], np.zeros_like(array)
    view = part(torch.from_numpy(expected[flip]))
    if part is not BACKWARD["windows"]:
        view.fill_(3.0)
    else:
        for i in range(view.shape[0]):
            view[i].add_(3.0)
    (part(x) * 3).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected[flip])


def test_writes_and_saved_tensors_of_negative_strides():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    factor = torch.tensor(2.0, requires_grad=True)
    x = torch.from_numpy(array.copy()[::-1, ::-1])
    x[1:, 1:].mul_(factor)
    (x * x).sum().backward()
    assert factor.grad.item() == 4 * (array[:2, :3] ** 2).sum()
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda x: x):
        x = torch.from_numpy(array[::-1]).requires_grad_()
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == (2 * array[::-1]).tolist()
    assert (-x).stride() == (4, 1)                       # strides are ordered by their size


def test_numbers_keep_their_digits_when_backward_is_recorded():
    x = torch.rand(3, dtype=torch.float64).requires_grad_()
    grad, = torch.autograd.grad((x * 0.02).sum(), x, create_graph=True)
    assert grad.dtype is torch.float64
    np.testing.assert_array_equal(grad.detach().numpy(), 0.02)
