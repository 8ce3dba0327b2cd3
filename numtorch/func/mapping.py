"""`vmap`: a function of one sample as a function of many, whose ops are made on all samples at once."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..ops.core.generator import get_rng_state, set_rng_state
from ..ops.shape.join import cat
from ..tensor import Tensor
from ..tree import flatten, shown, spread, unflatten
from . import rules  # noqa: F401
from .batching import Batched, BatchLevel, batched


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable:
    """A function that applies `func` to each sample of its arguments, all at once: products become batched products, nothing is a
    loop.

    Args:
        func: a function of tensors, in any structure of tuples, lists and dicts, that returns such a structure.
        in_dims: which dimension of each argument counts the samples, None for an argument that is the same for all: an int for
            all arguments, or a tuple shaped as the arguments.
        out_dims: which dimension of each result is to count them.
        randomness: what random numbers in `func` are: `"error"`, `"different"` for each sample, or the `"same"`.
        chunk_size: how many samples at once; None for all.

    Returns:
        The function, which takes keyword arguments too: their first dimension counts no samples.

    Raises:
        ValueError: arguments, `in_dims` or `out_dims` that do not fit each other.
        RuntimeError: `func` does what depends on the values of one sample, or writes samples into a tensor of none.

    Example:
        >>> import numtorch as torch
        >>> torch.func.vmap(torch.dot)(torch.tensor([[1., 2.], [3., 4.]]), torch.ones(2, 2))
        tensor([3., 7.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def mapped(*args, **kwargs):
        for dim in [out_dims] if isinstance(out_dims, int) else flatten(out_dims)[0]:
            if dim is not None and not isinstance(dim, int):
                raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                                 f"collection of "
                                 f"ints representing where in the outputs the vmapped dimension should appear.")
        leaves, form = flatten(args)
        dims = _in_dims(func, in_dims, args, leaves, form)
        size = _batch_size(leaves, dims)
        if chunk_size is None:
            return _run(func, BatchLevel(size, randomness), leaves, dims, form, out_dims, kwargs)
        return _in_chunks(func, size, chunk_size, randomness, leaves, dims, form, out_dims, kwargs)
    return mapped


def _name(func):
    if isinstance(func, functools.partial):
        return f"functools.partial({_name(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


# ---------------------------------------------------------------- arguments
def _in_dims(func, in_dims, args, leaves, form):
    """The dimension of each leaf that counts samples, or None, all checked."""
    title = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"{title}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
                         f"inputs, got: "
                         f"{type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
                         f"vmap over a "
                         f"function with no inputs. The latter is unsupported.")
    dims = spread(in_dims, form)
    if dims is None:
        raise ValueError(f"{title}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{shown(flatten(in_dims)[1])} but inputs has structure {shown(form)}.")
    for place, (leaf, dim) in enumerate(zip(leaves, dims)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(f"{title}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(leaf, Tensor):
            raise ValueError(f"{title}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                             f"non-Tensor "
                             f"arguments, please use None as the respective in_dim")
        if leaf.layout.kind not in ("strided", "sparse_coo"):
            raise NotImplementedError(f"{title}: Got in_dim={dim} for a {leaf.layout.kind} tensor, which has no samples. Please "
                                      f"use to_dense(), to_sparse_coo(), or None as the respective in_dim")
        ndim = leaf.layout.ndim
        if not -ndim <= dim < ndim:
            raise ValueError(f"{title}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} so "
                             f"expected "
                             f"in_dim to satisfy -{ndim} <= in_dim < {ndim}.")
        dims[place] = dim % ndim
    return dims


def _batch_size(leaves, dims):
    sizes = [leaf.layout.shape[dim] for leaf, dim in zip(leaves, dims) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
                         f"mapped "
                         f"dimension")
    return sizes[0]


# ---------------------------------------------------------------- running
def _run(func, level, leaves, dims, form, out_dims, kwargs):
    with level:
        inside = [leaf if dim is None else batched(leaf.movedim(dim, 0) if dim else leaf, level) for leaf, dim in zip(leaves, dims)]
        result = func(*unflatten(inside, form), **kwargs)
    results, out_form = flatten(result)
    out_dims = _out_dims(func, out_dims, result, out_form)
    return unflatten([_taken_out(func, level, r, d) for r, d in zip(results, out_dims)], out_form)


def _out_dims(func, out_dims, returned, form):
    """The dimension of each result that is to count the samples, or None."""
    if isinstance(returned, Tensor):
        if out_dims is None or isinstance(out_dims, int):
            return [out_dims]
        dims = list(out_dims) if isinstance(out_dims, tuple) and len(out_dims) == 1 else None
    else:
        dims = spread(out_dims, form)
    if dims is None:
        raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
                         f"structure of "
                         f"`outputs`. out_dims has structure {shown(flatten(out_dims)[1])} but outputs has structure "
                         f"{shown(form)}.")
    return dims


def _taken_out(func, level, result, dim):
    """A result of one sample as that of all."""
    name = _name(func)
    if dim is None:
        if isinstance(result, Tensor) and isinstance(result.layout, Batched) and result.layout.handler is level:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return result
    if not isinstance(result, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)}. Did you mean to set "
                         f"out_dims= to "
                         f"None for output?")
    value = level.all_samples(result)
    ndim = value.layout.ndim
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return value.movedim(0, dim) if dim % ndim else value


def _in_chunks(func, size, chunk, randomness, leaves, dims, form, out_dims, kwargs):
    """The results of one chunk of samples after another, put together."""
    state = get_rng_state() if randomness == "same" else None
    each = []
    for start in range(0, max(size, 1), chunk):
        count = min(chunk, size - start)
        if state is not None:
            set_rng_state(state)
        part = [leaf if dim is None else leaf.narrow(dim, start, count) for leaf, dim in zip(leaves, dims)]
        each.append(_run(func, BatchLevel(count, randomness), part, dims, form, out_dims, kwargs))
    results, out_form = flatten(each[0])
    columns = zip(*[flatten(e)[0] for e in each])
    return unflatten([column[0] if dim is None else cat(list(column), dim)
                      for column, dim in zip(columns, _out_dims(func, out_dims, each[0], out_form))], out_form)
