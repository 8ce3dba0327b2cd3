"""Derivatives of functions forward: `jvp`, `linearize`; and Jacobians and Hessians from both sides."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.modes import enable_grad, modes
from ..ops.creation.fill import eye, ones_like, zeros_like
from ..ops.memory.detach import detach
from ..tensor import Tensor
from ..tree import flatten, shown, unflatten
from . import pushing  # noqa: F401
from .dual import check_known, dual_of, parts_at
from .mapping import vmap
from .reverse import check_results, chosen, replaced, vjp_of
from .tangents import DualLevel, fitting_tangent
from .variables import gradients, places, variable, without_graph


def jvp(func: Callable, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """The value of `func` and its derivative in a direction: its Jacobian times a vector, in one run forward.

    Args:
        func: a function of tensors that returns a tensor, or a structure of them.
        primals: a tuple of its arguments.
        tangents: the direction, shaped as `primals`.
        strict: raise where a result does not depend on the arguments, instead of giving zeros.
        has_aux: whether `func` returns a pair, of which the second is passed on.

    Returns:
        (value, derivative), with `has_aux` (value, derivative, rest).

    Raises:
        RuntimeError: `tangents` is not shaped as `primals`, or `func` returns what is no tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.tensor([1., 2.]),))
        (tensor([0., 0.]), tensor([1., 2.]))
    """
    return jvp_of(func, primals, tangents, None, strict, has_aux)


def jvp_of(func, primals, tangents, argnums, strict, has_aux):
    """`jvp` for some of the arguments."""
    title = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{title}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    wanted = primals if argnums is None else chosen(primals, argnums)
    leaves, form = flatten(wanted)
    directions, directions_form = flatten(tangents)
    if form != directions_form:
        raise RuntimeError(f"{title}: Expected primals and tangents to have the same python structure. For example, if primals "
                           f"is a tuple "
                           f"of 3 tensors, tangents also must be. Got primals with structure {shown(form)} and tangents with "
                           f"structure "
                           f"{shown(directions_form)}")
    for name, each in (("primals", leaves), ("tangents", directions)):
        if not each:
            raise RuntimeError(f"{title}: Expected {name} to contain at least one Tensor.")
        for leaf in each:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(f"{title}: Expected {name} to only contain Tensors, got {type(leaf)}")
    outer = modes.grad                                   # inside, views are followed: what is written through one has a tangent
    with DualLevel() as level, enable_grad():
        duals = unflatten([_dual(p, t, level) for p, t in zip(leaves, directions)], form)
        returned = func(*(duals if argnums is None else replaced(primals, argnums, duals)))
        aux = None
        if has_aux:
            if not (isinstance(returned, tuple) and len(returned) == 2):
                raise RuntimeError(f"{title}: output of function f should be a tuple: (output, aux) if has_aux is True")
            returned, aux = returned
        results, results_form = flatten(returned)
        check_results(results, title)
        values, moved = zip(*[[t if outer else without_graph(t) for t in _unpacked(r, level, strict)] for r in results])
    result = unflatten(values, results_form), unflatten(moved, results_form)
    if not has_aux:
        return result
    rest, rest_form = flatten(aux)
    return *result, unflatten([parts_at(r, level)[0] if isinstance(r, Tensor) else r for r in rest], rest_form)


def _dual(x, tangent, level):
    return dual_of(x, fitting_tangent(x, tangent), level)


def _unpacked(result, level, strict):
    check_known(result)
    value, tangent = parts_at(result, level)
    if tangent is None:
        if strict:
            raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is "
                               "not allowed "
                               "with strict=True.")
        tangent = zeros_like(detach(value))
    return value, tangent


def linearize(func: Callable, *primals: Any) -> tuple:
    """The value of `func` and its derivative as a function of the direction, for as many directions as wanted: `func` is run once.

    Args:
        func: a function of tensors that returns a tensor, or a structure of them.
        primals: its arguments.

    Returns:
        (value, jvp_fn), where `jvp_fn(*tangents)` is the derivative in a direction that is shaped as `primals`.

    Raises:
        RuntimeError: tangents of other shapes than the arguments.

    Example:
        >>> import numtorch as torch
        >>> value, jvp_fn = torch.func.linearize(torch.sin, torch.zeros(2))
        >>> jvp_fn(torch.tensor([1., 2.]))
        tensor([1., 2.])
    """
    value, vjp_fn, _ = vjp_of(func, primals, tuple(range(len(primals))), False)
    results, results_form = flatten(value)
    leaves, form = flatten(primals)
    outer = modes.grad
    with enable_grad():                                  # the gradient is linear in what it starts with, and is turned around
        starts = [variable(ones_like(detach(r)), False) for r in results]
        pulled = flatten(vjp_fn(unflatten(starts, results_form)))[0]

    def jvp_fn(*tangents):
        directions, directions_form = flatten(tangents)
        if directions_form != form:
            raise RuntimeError(f"Expected the tangents {shown(directions_form)} to have the same argspec as the primals "
                               f"{shown(form)}")
        for place, (t, p) in enumerate(zip(directions, leaves)):
            for what, have, want in (("shape", t.shape, p.shape), ("dtype", t.dtype, p.dtype), ("device", t.device, p.device)):
                if have != want:
                    raise RuntimeError(f"tangent:{place} with {what} {have} in flattened pytree doesn't match the {what} {want} "
                                       f"of the "
                                       f"corresponding primal.")
        create = outer and bool(places([*directions, *leaves]))
        return unflatten(gradients(pulled, starts, directions, create), results_form)
    return value, jvp_fn


# ---------------------------------------------------------------- Jacobians
def jacrev(func: Callable, argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Callable:
    """A function that computes the Jacobian of `func` backward: a row for each element of a result, all rows at once.

    Args:
        func: a function of tensors that returns a tensor, or a structure of them.
        argnums: the place of the argument the Jacobian is by, or a tuple of places.
        has_aux: whether `func` returns a pair, of which the second is passed on.
        chunk_size: how many rows at once; None for all.

    Returns:
        The function. Each result's place holds the argument's structure, of tensors (*result's shape, *argument's shape).

    Example:
        >>> import numtorch as torch
        >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def jacobian(*args):
        _check_real("jacrev", flatten(args)[0], True)
        value, vjp_fn, aux = vjp_of(func, args, argnums, has_aux)
        results, form = flatten(value)
        _check_real("jacrev", results, False)
        sizes = [r.layout.numel for r in results]
        if sum(sizes) == 1:                              # of a single number: its gradient
            gradients = [g.unsqueeze(0) for g in flatten(vjp_fn(unflatten([ones_like(detach(r)) for r in results], form)))[0]]
        else:
            rows = unflatten(_basis(results, sizes), form)
            gradients = flatten(vmap(vjp_fn, chunk_size=chunk_size)(rows))[0]
        wanted = chosen(args, argnums)
        leaves, wanted_form = flatten(wanted)
        columns = [[part.reshape(*r.layout.shape, *leaf.layout.shape) for part, r in zip(g.split(sizes), results)]
                   for g, leaf in zip(gradients, leaves)]
        jacobians = unflatten([unflatten([column[i] for column in columns], wanted_form) for i in range(len(results))], form)
        return (jacobians, aux) if has_aux else jacobians
    return jacobian


def jacfwd(func: Callable, argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """A function that computes the Jacobian of `func` forward: a column for each element of an argument, all columns at once.

    Args:
        func: a function of tensors that returns a tensor, or a structure of them.
        argnums: the place of the argument the Jacobian is by, or a tuple of places.
        has_aux: whether `func` returns a pair, of which the second is passed on.
        randomness: what random numbers in `func` are for the columns, as for `vmap`.

    Returns:
        The function. Each result's place holds the argument's structure, of tensors (*result's shape, *argument's shape).

    Example:
        >>> import numtorch as torch
        >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    @functools.wraps(func, updated=())
    def jacobian(*args):
        _check_real("jacfwd", flatten(args)[0], True)
        leaves, form = flatten(chosen(args, argnums))
        sizes = [leaf.layout.numel for leaf in leaves]

        def push(basis):
            value, *moved = jvp_of(func, args, basis, argnums, False, has_aux)
            _check_real("jacfwd", flatten(value)[0], False)
            return tuple(moved) if has_aux else moved[0]
        pushed = vmap(push, randomness=randomness)(unflatten(_basis(leaves, sizes), form))
        pushed, aux = pushed if has_aux else (pushed, None)
        results, results_form = flatten(pushed)
        jacobians = unflatten([unflatten([part.reshape(*r.layout.shape[1:], *leaf.layout.shape) for part, leaf in
                                          zip(r.movedim(0, -1).split(sizes, -1), leaves)], form) for r in results], results_form)
        if not has_aux:
            return jacobians
        rest, rest_form = flatten(aux)
        return jacobians, unflatten([r[0] for r in rest], rest_form)
    return jacobian


def hessian(func: Callable, argnums: Any = 0) -> Callable:
    """A function that computes the Hessian of `func`, forward over backward.

    Args:
        func: a function of tensors that returns a tensor, or a structure of them.
        argnums: the place of the argument the Hessian is by, or a tuple of places.

    Returns:
        The function. Each result's place holds tensors (*result's shape, *argument's shape, *argument's shape).

    Example:
        >>> import numtorch as torch
        >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _basis(tensors, sizes):
    """The unit vectors of the space of several tensors' elements: of each tensor (all elements, *its shape)."""
    count, start, basis = sum(sizes), 0, []
    for t, size in zip(tensors, sizes):
        whole = eye(count, dtype=t.layout.dtype, device=t.layout.device)
        part = whole if size == count else whole.narrow(1, start, size)
        basis.append(part.reshape(count, *t.layout.shape))
        start += size
    return basis


def _check_real(name, leaves, is_input):
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and leaf.layout.dtype.is_complex:
            raise RuntimeError(f"{name}: Expected all {'inputs' if is_input else 'outputs'} to be real but received complex "
                               f"tensor at "
                               f"flattened input idx: {place}")
