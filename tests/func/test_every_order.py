"""Transforms in any order: each of each, and of three, is what the same derivatives by autograd and loops give in PyTorch.

A transform takes a function of a vector and gives one, so that all of them follow each other. What `linearize` and maps do not mix with in
PyTorch is checked as well: the oracle has no transforms, only `autograd.grad` and loops.
"""
import itertools

import numpy as np
import pytest

import numtorch

theirs = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
SIZE = 3


def constants(torch):
    """A direction, and a vector from the left."""
    return torch.tensor([0.7, -0.4, 1.1], dtype=torch.float64), torch.tensor([1.0, 0.5, -0.3], dtype=torch.float64)


def function(torch):
    """Every element depends on every other, by products, reductions and an order."""
    matrix = torch.tensor([[0.3, -0.2, 0.5], [0.1, 0.4, -0.6], [-0.5, 0.2, 0.1]], dtype=torch.float64)
    return lambda x: (matrix @ x).sin() * x.logsumexp(0) + x * x.flip(0)


def ours():
    f, (direction, left) = numtorch.func, constants(numtorch)
    net = numtorch.nn.Linear(SIZE, SIZE, bias=False).double()
    return {
        "grad": lambda g: f.grad(lambda x: g(x).sum()), "grad_and_value": lambda g: lambda x: sum(f.grad_and_value(lambda x: g(x).sum())(x)),
        "vjp": lambda g: lambda x: f.vjp(g, x)[1](left)[0], "jvp": lambda g: lambda x: f.jvp(g, (x,), (direction,))[1],
        "linearize": lambda g: lambda x: f.linearize(g, x)[1](direction), "vmap": lambda g: lambda x: f.vmap(g)(numtorch.stack([x, x * 2])).sum(0),
        "vmap behind": lambda g: lambda x: f.vmap(g, 1, 1)(numtorch.stack([x, x * 2], 1)).sum(1), "jacrev": lambda g: lambda x: f.jacrev(g)(x).sum(0),
        "jacfwd": lambda g: lambda x: f.jacfwd(g)(x).sum(0), "hessian": lambda g: lambda x: f.hessian(lambda x: g(x).sum())(x).sum(0),
        "functional_call": lambda g: lambda x: g(f.functional_call(net, {"weight": numtorch.diag(x)}, (direction,))),
        "forward_ad": lambda g: lambda x: dual(g, x, direction),
    }


def dual(g, x, direction):
    forward_ad = numtorch.autograd.forward_ad
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(g(forward_ad.make_dual(x, direction))).tangent


def plainly():
    """The same by `autograd.grad` and loops."""
    direction, left = constants(theirs)

    def pulled(g, x, vector):
        if not x.requires_grad:
            x = x.detach().requires_grad_()
        found, = theirs.autograd.grad(g(x), x, vector, create_graph=True, allow_unused=True, materialize_grads=True)
        return found

    def rows(g, x):
        return theirs.stack([pulled(g, x, row) for row in theirs.eye(SIZE, dtype=theirs.float64)])
    return {
        "grad": lambda g: lambda x: pulled(g, x, theirs.ones_like(x)), "grad_and_value": lambda g: lambda x: pulled(g, x, theirs.ones_like(x)) + g(x).sum(),
        "vjp": lambda g: lambda x: pulled(g, x, left), "jvp": lambda g: lambda x: rows(g, x) @ direction, "linearize": lambda g: lambda x: rows(g, x) @ direction,
        "vmap": lambda g: lambda x: g(x) + g(x * 2), "vmap behind": lambda g: lambda x: g(x) + g(x * 2), "jacrev": lambda g: lambda x: rows(g, x).sum(0),
        "jacfwd": lambda g: lambda x: rows(g, x).sum(0), "hessian": lambda g: lambda x: rows(lambda x: pulled(g, x, theirs.ones_like(x)), x).sum(0),
        "functional_call": lambda g: lambda x: g(x * direction), "forward_ad": lambda g: lambda x: rows(g, x) @ direction,
    }


OURS, PLAINLY = ours(), plainly()
CORE = ("grad", "jvp", "vmap", "vjp", "linearize")
ORDERS = [*[(name,) for name in OURS], *itertools.product(OURS, repeat=2), *itertools.permutations(CORE, 3)]
LEVEL = "forward_ad"                                     # of which there is one at a time, as in PyTorch


@pytest.mark.filterwarnings("error:There is a performance drop")
@pytest.mark.parametrize("first", OURS)
def test_transforms_of_transforms(first):
    """All orders in which a transform is the outermost."""
    x = np.array([0.4, 0.9, -0.3])
    for order in [o for o in ORDERS if o[0] == first]:
        mine, wanted = function(numtorch), function(theirs)
        for name in reversed(order):
            mine, wanted = OURS[name](mine), PLAINLY[name](wanted)
        if order.count(LEVEL) > 1:
            with pytest.raises(RuntimeError, match="Nested forward mode"):
                mine(numtorch.from_numpy(x))
            continue
        found = mine(numtorch.from_numpy(x))
        expected = wanted(theirs.from_numpy(x).requires_grad_())
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), 1e-9, 1e-9, err_msg=" of ".join(order))
        assert not found.requires_grad, order
