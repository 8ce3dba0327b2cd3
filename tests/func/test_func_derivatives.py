"""grad, vjp, jvp, Jacobians and Hessians, nested and mapped, beside PyTorch's."""
from __future__ import annotations

import functools
import warnings
from math import prod

import numpy as np
import pytest

import numtorch
from numtorch.layout import Layout
from numtorch.ops.memory.copies import clone

theirs = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
BOTH = (numtorch, theirs)


def arrays(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def equal(found, wanted, tolerance=2e-5):
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        found, wanted = list(found.values()), list(wanted.values())
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for f, w in zip(found, wanted):
            equal(f, w, tolerance)
        return
    assert tuple(found.shape) == tuple(wanted.shape) and found.requires_grad == wanted.requires_grad
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=tolerance, atol=tolerance)


def same(call, *shapes, tolerance=2e-5):
    """A program of (library, *tensors) gives the same on both."""
    given = arrays(*shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        equal(*[call(torch, *map(torch.tensor, given)) for torch in BOTH], tolerance)


def cubes(x):
    return (x ** 3).sum()


def net(torch, p, x):
    return torch.nn.functional.linear(torch.tanh(torch.nn.functional.linear(x, p["a"], p["b"])), p["c"])


def loss(torch, p, x, y):
    return ((net(torch, p, x) - y) ** 2).mean()


PARAMETERS = ((4, 3), (4,), (2, 4))


def named(parameters):
    return dict(zip("abc", parameters))


PROGRAMS = {
    "grad": (lambda torch, x: torch.func.grad(cubes)(x), (3,)),
    "grad of grad": (lambda torch, x: torch.func.grad(lambda y: torch.func.grad(cubes)(y).sin().sum())(x), (3,)),
    "third": (lambda torch, x: torch.func.grad(torch.func.grad(torch.func.grad(lambda y: y.sin() * y)))(x), ()),
    "argnums": (lambda torch, x, y: torch.func.grad(lambda a, b: (a * b.exp()).sum(), (1, 0))(x, y), (3,), (3,)),
    "negative argnums": (lambda torch, x, y: torch.func.grad(lambda a, b: (a * b.exp()).sum(), -1)(x, y), (3,), (3,)),
    "aux": (lambda torch, x: torch.func.grad(lambda a: (cubes(a), a * 2), has_aux=True)(x), (3,)),
    "value": (lambda torch, x: torch.func.grad_and_value(lambda a: (cubes(a), {"k": a}), has_aux=True)(x), (3,)),
    "parameters": (lambda torch, a, b, c, x, y: torch.func.grad(lambda p: loss(torch, p, x, y))(named((a, b, c))), *PARAMETERS, (5, 3), (5, 2)),
    "unused": (lambda torch, x, y: torch.func.grad(lambda a, b: cubes(a), (0, 1))(x, y), (3,), (2,)),
    "a constant": (lambda torch, x: torch.func.grad(lambda a: torch.ones(()))(x), (3,)),
    "vjp": (lambda torch, x, y: (lambda r: (r[0], r[1]({"s": y, "c": y})))(torch.func.vjp(lambda a: {"s": a.sin(), "c": a.cos()}, x)), (3,), (3,)),
    "vjp twice": (lambda torch, x, y: (lambda f: (f(y), f(2 * y)))(torch.func.vjp(torch.matmul, x, x.T)[1]), (3, 3), (3, 3)),
    "vjp aux": (lambda torch, x: (lambda r: (r[0], r[1](r[0]), r[2]))(torch.func.vjp(lambda a: (a.exp(), a + 1), x, has_aux=True)), (3,)),
    "jvp": (lambda torch, x, t: torch.func.jvp(lambda a: (a.sin() * a, a.sum()), (x,), (t,)), (3,), (3,)),
    "jvp of two": (lambda torch, x, y, t, u: torch.func.jvp(lambda a, b: a @ b, (x, y), (t, u)), (2, 3), (3, 2), (2, 3), (3, 2)),
    "jvp aux": (lambda torch, x, t: torch.func.jvp(lambda a: (a.exp(), a * 2), (x,), (t,), has_aux=True), (3,), (3,)),
    "jvp unused": (lambda torch, x, t: torch.func.jvp(lambda a: torch.ones(2), (x,), (t,)), (3,), (3,)),
    "jvp of jvp": (lambda torch, x, t: torch.func.jvp(lambda a: torch.func.jvp(lambda b: b.exp() * b, (a,), (t,))[1], (x,), (t * 2,)), (3,), (3,)),
    "jvp of jvp's value": (lambda torch, x, t: torch.func.jvp(lambda a: torch.func.jvp(lambda b: _angle(torch, b), (a,), (t,))[0] ** 2, (x,), (t,)), (3,), (3,)),
    "jvp of jvp by gradients": (lambda torch, x, t: torch.func.jvp(lambda a: torch.func.jvp(lambda b: _angle(torch, b), (a,), (t,))[1], (x,), (t,)), (3,), (3,)),
    "jvp of vjp's value": (lambda torch, x, t: torch.func.jvp(lambda a: torch.func.vjp(lambda b: b.exp() * b, a)[0], (x,), (t,)), (3,), (3,)),
    "jvp of a gradient's value": (lambda torch, x, t: torch.func.jvp(torch.func.grad_and_value(lambda b: (b.exp() * b).sum()), (x,), (t,)), (3,), (3,)),
    "jvp of aux": (lambda torch, x, t: torch.func.jvp(torch.func.grad(lambda b: (b.exp().sum(), b * b), has_aux=True), (x,), (t,)), (3,), (3,)),
    "jacfwd of aux": (lambda torch, x: torch.func.jacfwd(torch.func.jacrev(lambda b: (b.exp() * b, b * b), has_aux=True))(x), (3,)),
    "jvp in no_grad in jvp": (lambda torch, x, t: torch.func.jvp(lambda a: _jvp_in_no_grad(torch, a, t), (x,), (t,)), (3,), (3,)),
    "norms where there are zeros": (lambda torch, x: [f(torch.stack((x, x * 0))) for f in (torch.func.grad(lambda a: _norms(torch, a)), lambda a: torch.func.jvp(
        lambda b: _norms(torch, b), (a,), (torch.ones(2, 2),))[1])], (2,)),
    "hessian of a power": (lambda torch, x: torch.func.hessian(lambda a: (torch.pow(a.abs(), 2.5) + torch.pow(2.0, a) + torch.xlogy(2.0, a.abs())).sum())(x), (3,)),
    "hessian of a checked loss": (lambda torch, x, v: torch.func.hessian(torch.nn.functional.gaussian_nll_loss, 2)(x, x * 2, v.abs() + 1), (3,), (3,)),
    "jvp of grad": (lambda torch, x, t: torch.func.jvp(torch.func.grad(lambda a: (a.sin() * a).sum()), (x,), (t,)), (3,), (3,)),
    "grad of jvp": (lambda torch, x, t: torch.func.grad(lambda a: torch.func.jvp(lambda b: (b.sin() * b).sum(), (a,), (t,))[1])(x), (3,), (3,)),
    "no perturbation confusion": (lambda torch, x: torch.func.jvp(
        lambda a: a * torch.func.jvp(lambda b: a + b, (torch.ones(()),), (torch.ones(()),))[1], (x,), (torch.ones(()),)), ()),
    "jacrev": (lambda torch, x: torch.func.jacrev(lambda a: a.sin() @ a)(x), (3, 3)),
    "jacfwd": (lambda torch, x: torch.func.jacfwd(lambda a: a.sin() @ a)(x), (3, 3)),
    "jacrev of several": (lambda torch, x, y: torch.func.jacrev(lambda a, b: (a @ b, b.sum()), (0, 1))(x, y), (2, 3), (3,)),
    "jacfwd of several": (lambda torch, x, y: torch.func.jacfwd(lambda a, b: (a @ b, b.sum()), (0, 1))(x, y), (2, 3), (3,)),
    "jacrev in chunks": (lambda torch, x: torch.func.jacrev(lambda a: a.cumsum(0), chunk_size=2)(x), (5,)),
    "jacrev of parameters": (lambda torch, a, b, c, x: torch.func.jacrev(lambda p: net(torch, p, x))(named((a, b, c))), *PARAMETERS, (3,)),
    "jacrev aux": (lambda torch, x: torch.func.jacrev(lambda a: (a.exp(), a + 1), has_aux=True)(x), (3,)),
    "jacfwd aux": (lambda torch, x: torch.func.jacfwd(lambda a: (a.exp(), a.detach() + 1), has_aux=True)(x), (3,)),
    "hessian": (lambda torch, x: torch.func.hessian(lambda a: (a.sin() * a.sum()).prod())(x), (4,)),
    "hessian of several": (lambda torch, x, y: torch.func.hessian(lambda a, b: (a * b).sin().sum(), (0, 1))(x, y), (3,), (3,)),
    "jacrev of jacrev": (lambda torch, x: torch.func.jacrev(torch.func.jacrev(lambda a: (a ** 3).sum()))(x), (3,)),
    "jacrev of jacfwd": (lambda torch, x: torch.func.jacrev(torch.func.jacfwd(lambda a: (a ** 3).cumsum(0)))(x), (3,)),
    "jacfwd of jacfwd": (lambda torch, x: torch.func.jacfwd(torch.func.jacfwd(lambda a: (a ** 3).cumsum(0)))(x), (3,)),
    "jacfwd of jacrev": (lambda torch, x: torch.func.jacfwd(torch.func.jacrev(lambda a: a.exp() * a.flip(0)))(x), (3,)),
    "jvp of jacrev": (lambda torch, x, t: torch.func.jvp(torch.func.jacrev(lambda a: a.exp() * a.flip(0)), (x,), (t,)), (3,), (3,)),
    "jacfwd of jacrev of jacrev": (lambda torch, x: torch.func.jacfwd(torch.func.jacrev(torch.func.jacrev(lambda a: a.exp() * a)))(x), (2,)),
    "jacrev of jacfwd of jacrev": (lambda torch, x: torch.func.jacrev(torch.func.jacfwd(torch.func.jacrev(lambda a: a.exp() * a)))(x), (2,)),
    "jacfwd of jacfwd of jacrev": (lambda torch, x: torch.func.jacfwd(torch.func.jacfwd(torch.func.jacrev(lambda a: a.exp() * a)))(x), (2,)),
    "Jacobian of writes into zeros": (lambda torch, x: torch.func.jacfwd(lambda a: torch.zeros(4).scatter(0, torch.tensor([2, 0]), a) + torch.zeros(4).index_add(
        0, torch.tensor([1, 1]), a ** 2) + _written(torch.zeros(4, 2), a).sum(1))(x), (2,)),
    "mapped jvp of writes into views": (lambda torch, x, t: torch.func.vmap(lambda a, b: torch.func.jvp(lambda s: _written_into(torch, a * 1, s), (a.sum(),), (b,)))(
        x, t), (3, 2), (3,)),
    "the same of samples behind": (lambda torch, x, t: torch.func.vmap(lambda a, b: torch.func.jvp(lambda s: _written_into(torch, a * 1, s), (a.sum(),), (b,)), (1, 0))(
        x, t), (2, 3), (3,)),
    "jvp of jvp of writes into views": (lambda torch, x, t: torch.func.jvp(lambda a: torch.func.jvp(lambda s: _written_into(torch, torch.ones(2), s * s), (a,), (t,)),
                                                                           (x,), (t,)), (), ()),
    "written in no_grad": (lambda torch, x, t: torch.func.jvp(lambda a: _written_in_no_grad(torch, a), (x,), (t,)), (2,), (2,)),
    "Jacobian of writes into views of zeros": (lambda torch, x: torch.func.jacfwd(torch.func.jacfwd(lambda a: _written_around(torch, a)))(x), (2,)),
    "linearize": (lambda torch, x, t: (lambda r: (r[0], r[1](t), r[1](2 * t)))(torch.func.linearize(lambda a: a.sin() @ a, x)), (3, 3), (3, 3)),
    "per-sample gradients": (lambda torch, a, b, c, x, y: torch.func.vmap(torch.func.grad(lambda p, x, y: loss(torch, p, x, y)), (None, 0, 0))(
        named((a, b, c)), x, y), *PARAMETERS, (6, 3), (6, 2)),
    "gradient of mapped": (lambda torch, w, x: torch.func.grad(lambda v: torch.func.vmap(lambda s: (v @ s).sin().sum())(x).sum())(w), (2, 3), (5, 3)),
    "mapped jvp": (lambda torch, x, t: torch.func.vmap(lambda a, b: torch.func.jvp(torch.sin, (a,), (b,)))(x, t), (4, 3), (4, 3)),
    "mapped hessian": (lambda torch, x: torch.func.vmap(torch.func.hessian(lambda a: (a.sin() * a.sum()).sum()))(x), (4, 3)),
    "jvp of mapped": (lambda torch, x, t: torch.func.jvp(torch.func.vmap(lambda a: a.softmax(0) @ a), (x,), (t,)), (4, 3), (4, 3)),
    "mapped gradient of mapped": (lambda torch, w, x: torch.func.vmap(torch.func.grad(lambda v, s: torch.func.vmap(
        lambda e: (v * e).exp())(s).sum()), (0, None))(w, x), (4, 3), (5, 3)),
    "gradient of per-sample gradients": (lambda torch, w, x: torch.func.grad(lambda v: torch.func.vmap(torch.func.grad(
        lambda u, s: (u @ s).sin()), (None, 0))(v, x).pow(2).sum())(w), (3,), (5, 3)),
    "a constant of the samples": (lambda torch, w, x: torch.func.vmap(lambda s: torch.func.grad(lambda v: (v * s).sum() ** 2)(w))(x), (3,), (4, 3)),
    "gradient of mapped gradients at a constant": (lambda torch, w, x: torch.func.grad(lambda v: torch.func.vmap(torch.func.grad(
        lambda a: (a ** 3 * v).sum()))(x).sum())(w), (3,), (4, 3)),
    "gradient of a Jacobian at a constant": (lambda torch, w, x: torch.func.grad(lambda v: torch.func.vjp(
        lambda a: (a ** 3 * v).sin(), x)[1](v)[0].sum())(w), (3,), (3,)),
    "an index of each sample": (lambda torch, x: torch.func.grad(lambda x: torch.func.vmap(
        lambda a, j: (a[j] * a[-1]).sum() + a[0, j] ** 2 + a[j, j])(x, torch.tensor([0, 2, -1])).sum())(x), (3, 3, 4)),
    "written at an index of each sample": (lambda torch, x: torch.func.grad(lambda x: torch.func.vmap(
        lambda a, j: _written_at(a.clone(), j))(x, torch.tensor([0, 2, -1])).sum())(x), (3, 3, 4)),
    "mapped writes": (lambda torch, x, s: torch.func.vmap(torch.func.grad(lambda a, b: (a.index_fill(0, torch.tensor([1, 1]), b[0]).index_add(
        0, torch.tensor([0, 0]), b[:2]) ** 2).sum(), (0, 1)))(x, s), (4, 3), (4, 3)),
    "recorded outside": (lambda torch, x: torch.func.grad(cubes)(x.requires_grad_()), (3,)),
    "recorded in a closure": (lambda torch, x, w: (lambda v: torch.autograd.grad(torch.func.grad(lambda a: (a * v).exp().sum())(x).sum(), v))(
        w.requires_grad_()), (3,), (3,)),
    "inside no_grad": (lambda torch, x: _inside_no_grad(torch, x), (3,)),
    "inner no_grad": (lambda torch, x: torch.func.grad(lambda a: _with_no_grad(torch, a))(x), (3,)),
    "detached": (lambda torch, x: torch.func.grad(lambda a: (a * a.detach()).sum())(x), (3,)),
    "detached forward": (lambda torch, x, t: torch.func.jvp(lambda a: a * a.detach(), (x,), (t,)), (3,), (3,)),
    "in place": (lambda torch, x: torch.func.grad(lambda a: a.clone().mul_(a).sin_().sum())(x), (3,)),
    "in place forward": (lambda torch, x, t: torch.func.jvp(lambda a: a.clone().mul_(a).sin_(), (x,), (t,)), (3,), (3,)),
    "written forward": (lambda torch, x, t: torch.func.jvp(lambda a: _written(torch.zeros(4, 2), a), (x,), (t,)), (2,), (2,)),
    "written in a map": (lambda torch, x: torch.func.vmap(lambda a: _written(torch.stack([a] * 4), a * 2))(x), (3, 2)),
}


def _written_at(a, j):
    a[j] = a[1] * 2
    a[0, j] = 3.0
    return a.square().sum()


def _written_into(torch, target, value):
    first = target[:1]
    target[0] = value * value
    target[1:].mul_(value)
    return target.sin(), first * 2


def _written_in_no_grad(torch, x):
    with torch.no_grad():
        constant = torch.zeros(3).scatter(0, torch.tensor([2, 0]), x)
    return constant.exp()


def _written_around(torch, x):
    zeros = torch.zeros(3, 2)
    row, column = zeros[1], zeros.t()[1]
    row.copy_(x ** 3)
    column[2:].mul_(2).add_(x[0] ** 2)
    return zeros.exp() + column[:2]


def _norms(torch, x):
    return sum([torch.linalg.vector_norm(x, p, dim).sum() for p in (0.5, -1, 1.5) for dim in (0, 1)])


def _angle(torch, x):
    return torch.complex(x, x * x).angle()


def _jvp_in_no_grad(torch, x, tangent):
    with torch.no_grad():
        return torch.func.jvp(lambda a: a.exp() * a, (x,), (tangent,))


def _inside_no_grad(torch, x):
    with torch.no_grad():
        return torch.func.grad(cubes)(x.requires_grad_())


def _with_no_grad(torch, x):
    with torch.no_grad():
        constant = x ** 2
    return (x - constant).sum()


def _written(target, value):
    target[1] = value
    target[2:].copy_(value * 3)
    return target * 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    same(*PROGRAMS[name])


def test_copies_with_gaps_have_memory_for_them():
    """What `vmap` copies to where a sample lies as its strides say."""
    layout = Layout.of(numtorch.float32, (3, 2), (1000, 7))
    found = clone(numtorch.ones(3, 2), memory_format=layout)
    assert found.layout is layout and found.untyped_storage().nbytes() >= 4 * 2008


# ---------------------------------------------------------------- writes through views, and views of any strides
def _written_through_views(torch, x):
    y = x * 2
    y.t()[1:, ::2].mul_(x.t()[1:, ::2])
    y.diagonal().copy_(x[0])
    return y.sin()


def _half_written(torch, x):
    y = (x * 3).clone()
    y[:, 1::2].add_(x[:, 1::2] * x[:, ::2])
    return y.exp()


STRIDED = {
    "written through views": _written_through_views, "half of it written": _half_written,
    "as_strided of a transposed": lambda torch, x: x.t().as_strided((3, 2), (1, 2), 1) ** 2,
    "as_strided of an expanded": lambda torch, x: x[0].expand(4, 4).as_strided((4, 2), (0, 1)) ** 3,
    "overlapping windows": lambda torch, x: x.as_strided((5, 2, 2), (3, 1, 2)).prod(2),
    "sorted": lambda torch, x: x.sort(1)[0] ** 2 * torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=x.dtype),
    "parts that are no views": lambda torch, x: sum([part ** (i + 1) for i, part in enumerate(torch.unsafe_split(x, 2))]) + torch.unsafe_chunk(x, 2)[1],
    "selected": lambda torch, x: x.masked_select(torch.eye(4) > 0) ** 3,
}


TRANSFORMS = {
    "jacrev": lambda torch, f: torch.func.jacrev(f), "jacfwd": lambda torch, f: torch.func.jacfwd(f),
    "hessian": lambda torch, f: torch.func.hessian(lambda x: f(x).sum()),
    "jacrev of jacrev": lambda torch, f: torch.func.jacrev(torch.func.jacrev(f)),
    "vmap of grad": lambda torch, f: lambda x: torch.func.vmap(torch.func.grad(lambda x: f(x).sum()))(torch.stack((x, x * 2, x - 1))),
}


def _transformed(torch, transform, name):
    x = torch.tensor(np.random.default_rng(0).normal(size=(4, 4)))
    return TRANSFORMS[transform](torch, lambda x: STRIDED[name](torch, x))(x).numpy()


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", STRIDED)
def test_views_and_writes(name, transform):
    try:
        wanted = _transformed(theirs, transform, name)
    except RuntimeError:                                 # vmap cannot tell how many are selected
        with pytest.raises(RuntimeError):
            _transformed(numtorch, transform, name)
    else:
        np.testing.assert_allclose(_transformed(numtorch, transform, name), wanted, 1e-9, 1e-9)


# ---------------------------------------------------------------- as_strided outside of its tensor, and tangents that lie otherwise
def _view_written(x):
    """Through views of every kind; what was not written keeps its tangent."""
    y = x.clone()
    y.view(-1)[1:5].mul_(3)
    y.as_strided((2, 2), (4, 1), 1).mul_(y[2:, 2:].sum())
    y[1:].view(-1)[::2].add_(x.sum())
    return y, y.t(), y.view(4, -1)


REACHING = {                                             # functions of a part (3, 4) of a tensor (6, 5), one row and one column from its start
    "before": lambda t, x: x.as_strided((4, 3), (5, 1), 0) ** 2, "behind": lambda t, x: x.as_strided((4, 5), (5, 1), 6).sin(), "from a part": lambda t, x: x[1:, 1:].as_strided((3, 4), (5, 1), 6) * 2,
    "around a part": lambda t, x: x[1:2].as_strided((6, 5), (5, 1), 0) ** 3, "inside": lambda t, x: x.as_strided((2, 2), (10, 2), 6) * x[:2, :2], "twice": lambda t, x: x[1:].as_strided((20,), (1,), 3).as_strided((10,), (2,), 5) ** 2,
    "of a transpose": lambda t, x: x.t().as_strided((3, 4), (5, 1), 6).exp(), "of what is expanded": lambda t, x: (x[0] * 1).expand(3, 4).as_strided((2, 2), (1, 2), 0) ** 2,
    "written": lambda t, x: _view_written(x.as_strided((3, 4), (5, 1), 6) * 1), "written where the tangent lies otherwise": lambda t, x: _view_written(x),
}
LYING = {"in order": lambda t: t, "transposed": lambda t: t.mT.contiguous().mT, "a part": lambda t: t.repeat(2, 3)[3:, ::3].clone().repeat(1, 2)[:, ::2]}


@pytest.mark.parametrize("lying", LYING)
@pytest.mark.parametrize("name", REACHING)
def test_tangents_of_views_that_reach_outside(name, lying):
    """What a tensor does not reach has no tangent: zeros; and what is written through a view reaches all of a tensor's views."""
    whole = np.random.default_rng(0).normal(size=(6, 5))
    found = []
    for torch in BOTH:
        x, tangent = torch.tensor(whole)[1:4, 1:], LYING[lying](torch.tensor(whole[:3, :4] * 2))
        value, moved = torch.func.jvp(functools.partial(REACHING[name], torch), (x,), (tangent,))
        found.append([r.numpy() for r in (*(value if isinstance(value, tuple) else (value,)), *(moved if isinstance(moved, tuple) else (moved,)))])
    for ours, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(ours, wanted, 1e-9, 1e-9)


OUTSIDE = {"behind": ((3,), (1,), 2), "before": ((2,), (1,), 0), "long steps": ((2, 2), (9, 1), None), "inside": ((2, 2), (1, 1), None), "nothing": ((0, 7), (9, 1), 30),
           "gaps": ((2, 2), (1, 2), 0)}


@pytest.mark.parametrize("shared", [False, True, "gaps", "interleaved"])
@pytest.mark.parametrize("name", OUTSIDE)
def test_a_sample_has_no_memory_but_its_own(name, shared):
    """vmap refuses a view of memory that is not the sample's, in PyTorch's words."""
    found = []
    for torch in BOTH:
        whole = torch.arange(24.0).reshape(4, 6)
        x = whole[0, :6:2].expand(3, 3) if shared == "gaps" else whole[0, 1:5].expand(3, 4) if shared else whole[:3, 1:5]
        x = whole[:4:2, :4].t() if shared == "interleaved" else x
        try:
            found.append(torch.func.vmap(lambda x: x.as_strided(*OUTSIDE[name]) * 2)(x).numpy())
        except RuntimeError as error:
            found.append(str(error)[:60])
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("pool", [numtorch.nn.functional.avg_pool2d, numtorch.nn.functional.max_pool2d])
@pytest.mark.parametrize("shape", [(1, 1, 4, 4), (2, 3, 4, 6), (3, 4, 4)])
def test_jacobians_of_jacobians_through_windows(pool, shape):
    """Backward of backward for the samples of two levels at once."""
    def two_numbers(x):
        y = pool(x, 2) ** 3
        return numtorch.stack([y.sum(), (y * y).mean()])
    x = numtorch.linspace(0.5, 2.0, prod(shape), dtype=numtorch.float64).reshape(shape)
    np.testing.assert_allclose(numtorch.func.jacrev(numtorch.func.jacrev(two_numbers))(x).numpy(), numtorch.func.jacfwd(numtorch.func.jacrev(two_numbers))(x).numpy(), 1e-9)
