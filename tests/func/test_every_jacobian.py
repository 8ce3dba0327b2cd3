"""Jacobians and Hessians of every public function that has a gradient: all ways to them agree, wherever the operands lie in memory.

The functions are those of tests/gradientrows.py, which tests/autograd/test_every_gradient.py compares with finite differences. Here the
rows of a Jacobian, one after another without a transform, are what `jacrev` (vmap of vjp) and `jacfwd` (vmap of jvp) are compared with,
and so for the Hessian, of each over each. A part of the functions is tried each day, all of them in all places with NUMTORCH_TEST_ALL=1.
"""
from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from daily import in_turn, todays
from gradientrows import ROWS, SPARSE, points

import numtorch as torch
from numtorch import func
from numtorch.autograd.functional import jacobian
from numtorch.func import batching, jacrev

PARTS = 8

# Where the operands lie, as functions of dense ones: gradients of the elements that share memory add up.
PLACEMENTS = {
    "dense": lambda x: x,
    "stretched in front": lambda x: (x * 1.0)[-1:].expand(x.shape) if x.ndim and x.shape[0] > 1 else x,
    "stretched behind": lambda x: (x * 1.0)[..., -1:].expand(x.shape) if x.ndim and x.shape[-1] > 1 else x,
    "with an offset and strides": lambda x: torch.stack((x * 2, x), -1)[..., 1],
    "in another order": lambda x: x.movedim(-1, 0).contiguous().movedim(0, -1) if x.ndim > 1 else x,
}
jacfwd = functools.partial(func.jacfwd, randomness="same")      # what is random draws the same numbers at each call
WAYS = {
    "jacrev of jacrev": lambda f, of: jacrev(jacrev(f, of), of), "jacfwd of jacrev": lambda f, of: jacfwd(jacrev(f, of), of),
    "jacrev of jacfwd": lambda f, of: jacrev(jacfwd(f, of), of), "jacfwd of jacfwd": lambda f, of: jacfwd(jacfwd(f, of), of),
}
LOOPS = {"lobpcg"}                                       # without a batching rule, see docs/func.md
OUTSIDE = ("as_strided", "as_strided_copy", "as_strided_scatter")        # of what has gaps they read the gaps
SINGULAR = tuple("btrifact btrisolve btriunpack corrcoef inverse logdet lu lu_solve lu_unpack nuclear_norm pca_lowrank qr slogdet svd "
                 "svd_lowrank".split())                  # of equal columns
ROWS_IN_PART = todays(sorted(set(ROWS) - SPARSE), PARTS)


def as_real_results(name, placement):
    """A row as a function of dense operands that gives a tuple of tensors of real numbers."""
    function, place = ROWS[name][0], PLACEMENTS[placement]

    def run(*inputs):
        torch.manual_seed(0)
        result = function(*[place(x) for x in inputs])
        results = [torch.view_as_real(t) if t.dtype.is_complex else t for t in (result if isinstance(result, (tuple, list)) else (result,))]
        return tuple([t for t in results if t.dtype.is_floating_point])
    return run


def refused(run, inputs):
    """Whether an op takes no operands that lie so, as `view` does."""
    try:
        run(*inputs)
    except RuntimeError:
        return True
    return False


def totals(run):
    """Its results as two numbers, to which each element adds with weights of its own."""
    def weighted(*inputs):
        found = run(*inputs)
        return torch.stack([sum([(t * torch.linspace(0.5, last, t.numel(), dtype=t.dtype).reshape(t.shape)).sum() for t in found])
                            for last in (1.5, -1.0)])
    return weighted


def slopes(function):
    """The gradients of two numbers by each argument, as a function."""
    def run(*inputs):
        columns = zip(*[torch.autograd.grad(number, inputs, create_graph=True, allow_unused=True) for number in function(*inputs)])
        return tuple([torch.stack([torch.zeros_like(x) if g is None else g for g in column]) for x, column in zip(inputs, columns)])
    return run


def blocks(jacobians):
    return [block.detach().numpy() for row in jacobians for block in row]


def agree(found, wanted, what):
    for one, other in zip(blocks(found), wanted, strict=True):
        np.testing.assert_allclose(one, other, 1e-7, 1e-9, err_msg=what)


@pytest.mark.filterwarnings("ignore:.nn.functional.upsample", "error:There is a performance drop")
@pytest.mark.parametrize("name", ROWS_IN_PART)
def test_ways_to_jacobians(name, monkeypatch):
    monkeypatch.setattr(batching, "_warned", set(LOOPS))
    inputs = tuple([p.detach() for p in points(ROWS[name][1])])
    numbers, others = tuple(range(len(inputs))), list(PLACEMENTS)[1:]
    others = [placement for placement in others if name not in OUTSIDE and not (name in SINGULAR and placement.startswith("stretched"))]
    for placement in ("dense", *(in_turn(others, name) if others else ())):
        run = as_real_results(name, placement)
        if placement != "dense" and refused(run, inputs):
            continue
        wanted = blocks(jacobian(run, inputs))
        agree(jacrev(run, numbers)(*inputs), wanted, f"jacrev, {placement}")
        agree(jacfwd(run, numbers)(*inputs), wanted, f"jacfwd, {placement}")
        if ROWS[name][2] and name not in LOOPS:
            two = totals(run)
            wanted = blocks(jacobian(slopes(two), inputs))
            for way in itertools.chain(*in_turn([list(WAYS)[::2], list(WAYS)[1::2]], f"{name} {placement}")):
                agree(WAYS[way](two, numbers)(*inputs), wanted, f"{way}, {placement}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ROWS_IN_PART)
def test_maps_of_gradients_of_what_was_recorded_outside(name):
    """`vmap` of `autograd.grad`, as PyTorch's page of vmap has Jacobians: what one after another gives, and not recorded."""
    inputs = points(ROWS[name][1])
    outputs = [t for t in as_real_results(name, "dense")(*inputs) if t.requires_grad]
    vectors = [torch.linspace(-1, 2, 3 * t.numel(), dtype=t.dtype).reshape(3, *t.shape) for t in outputs]

    def ask(*grads):
        return torch.autograd.grad(outputs, inputs, grads, retain_graph=True, materialize_grads=True)

    each = [ask(*[v[i] for v in vectors]) for i in range(3)]
    for found, wanted in zip(func.vmap(ask)(*vectors), zip(*each), strict=True):
        assert not found.requires_grad
        np.testing.assert_allclose(found.numpy(), torch.stack(wanted).numpy(), 1e-7, 1e-9)
