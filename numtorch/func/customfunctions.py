"""`autograd.Function` in transforms: its `jvp`, its `vmap`, and what is made of its backward inside of `vmap`."""
from __future__ import annotations

import itertools
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from ..autograd.function import Function, FunctionCtx
from ..ops.creation.fill import zeros_like
from ..ops.memory.detach import detach
from ..tensor import Tensor
from .batching import BatchLevel, batched
from .levels import innermost, running, written
from .tangents import DualLevel


class VmapInfo(NamedTuple):
    """What a `vmap` of an `autograd.Function` is told."""

    batch_size: int
    randomness: str


@contextmanager
def _outside(level):
    """Outside of a level: what is done is done to the tensors inside."""
    levels = running()
    place = levels.index(level) if level in levels else None
    if place is not None:
        levels.remove(level)
    try:
        yield
    finally:
        if place is not None:
            levels.insert(place, level)


def _as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


# ---------------------------------------------------------------- forward mode
def _pushed(level, custom, args):
    """A call with tangents. Without a `jvp`, forward's ops say what they are."""
    primals, tangents = level.split(args)
    if custom.jvp is Function.jvp or level.over or all(tangent is None for tangent in tangents):
        return custom._call(args)[1]
    with _outside(level):
        ctx, result = custom._call(tuple(primals)) if not any(_takes_part(p) for p in primals) else _through(custom, primals)
        if ctx.materialize_grads:
            tangents = [zeros_like(detach(p)) if t is None and isinstance(p, Tensor) and p.layout.dtype.category >= 2 else t
                        for p, t in zip(primals, tangents)]
        kept = ctx.saved, ctx.versions
        ctx.saved, ctx.versions = ctx.saved_for_forward or (), ()
        try:
            moved = _as_tuple(custom.jvp(ctx, *tangents))
        finally:
            ctx.saved, ctx.versions = kept
    results = _as_tuple(result)
    if len(moved) != len(results):
        raise RuntimeError(f"function {custom.__name__} returned an incorrect number of tangents from jvp (expected "
                           f"{len(results)}, got {len(moved)})")
    outs = []
    for out, tangent in zip(results, moved):
        place = next((i for i, p in enumerate(primals) if p is out), None)
        if place is not None and tangent is not None:    # written in place, and so is its tangent
            if tangents[place] is not tangent:
                raise RuntimeError(f"{custom.__name__}: an inplace custom Function is not modifying the forward mode gradients "
                                   "inplace: its jvp function must modify the corresponding gradient inplace, and return it.")
            outs.append(written(args[place]) if args[place] is not out else out)
        else:
            silent = any(out is each for each in ctx.silent)
            if silent and tangent is not None:
                raise RuntimeError(f"{custom.__name__}: a tangent was returned for an output that is marked as non differentiable. "
                                   "You should return None at that position instead.")
            outs.append(level.made(out, tangent))
    return tuple(outs) if isinstance(result, tuple) else outs[0]


def _takes_part(x):
    return isinstance(x, Tensor) and innermost(x) is not x


def _through(custom, primals):
    """A call whose primals take part in other transforms, and a context for its `jvp`."""
    result, ctx = custom.apply(*primals), custom._backward_cls()
    ctx.function, ctx.saved, ctx.saved_for_forward, ctx.versions, ctx.dirty, ctx.silent = custom, (), None, (), (), ()
    ctx.materialize_grads, ctx.extras = True, None
    ctx.needs_input_grad = tuple(isinstance(p, Tensor) and p.node is not None for p in primals)
    if custom._signature is None:
        custom.forward(ctx, *primals)
    else:
        custom.setup_context(ctx, tuple(primals), result)
    return ctx, result


# ---------------------------------------------------------------- samples
def _mapped(level, custom, args):
    """A call with samples: its own `vmap`, or one made of forward and backward."""
    values, has = zip(*[level.inside(a) if isinstance(a, Tensor) else (a, False) for a in args])
    if level.over:
        raise RuntimeError(f"{custom.__name__}: a tensor of a vmap that has ended cannot be used")
    if custom.vmap is not Function.vmap:
        with _outside(level):
            answer = custom.vmap(VmapInfo(level.size, level.randomness), tuple(0 if each else None for each in has), *values)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise RuntimeError(f"Expected the vmap staticmethod of {custom.__name__} to have two returns, an output and out_dims "
                               f"with pytree structure compatible with the output, got {type(answer).__name__}")
        return _as_samples(level, custom, *answer)
    if not any(isinstance(value, Tensor) and innermost(value).node is not None for value in values):
        return custom._call(args)[1]                     # nothing to record: forward's ops know samples
    with _outside(level):
        outs = _of_samples(custom, level, has).apply(*values)
    wrapped = [batched(out, level) if isinstance(out, Tensor) else out for out in _as_tuple(outs)]
    return tuple(wrapped) if isinstance(outs, tuple) else wrapped[0]


def _as_samples(level, custom, result, dims):
    results = _as_tuple(result)
    dims = dims if isinstance(dims, tuple) and isinstance(result, tuple) else (dims,) * len(results)
    if len(dims) != len(results) or not all(d is None or isinstance(d, int) for d in dims):
        raise RuntimeError(f"The vmap staticmethod of {custom.__name__} returned an incompatible (output, out_dims): "
                           f"{len(results)} outputs and out_dims={dims}")
    outs = [r if d is None or not isinstance(r, Tensor) else batched(r.movedim(d, 0) if d else r, level)
            for r, d in zip(results, dims)]
    return tuple(outs) if isinstance(result, tuple) else outs[0]


class _SampleCtx:
    """What forward and backward of one sample share: the context of all samples, whose tensors it shows as one sample's."""

    def __init__(self, ctx: FunctionCtx) -> None:
        self.needs_input_grad = ctx.needs_input_grad
        self._ctx, self._level, self._kept, self._silent, self._dirty = ctx, None, (), (), ()

    def save_for_backward(self, *tensors) -> None:
        pairs = [(None, False) if t is None else self._level.inside(t) for t in tensors]
        self._kept = tuple(inside for _, inside in pairs)
        self._ctx.save_for_backward(*[value for value, _ in pairs])

    def save_for_forward(self, *tensors) -> None:
        pass

    def mark_dirty(self, *tensors) -> None:
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors) -> None:
        self._silent = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self._ctx.set_materialize_grads(value)

    @property
    def saved_tensors(self):
        return tuple([batched(t, self._level) if inside else t for t, inside in zip(self._ctx.saved_tensors, self._kept)])


def _of_samples(custom, level, has):
    """The Function of all samples of one that is written for one sample."""

    def forward(ctx, *values):
        ctx.each = each = _SampleCtx(ctx)
        with BatchLevel(level.size, level.randomness) as inner:
            each._level = inner
            args = [batched(v, inner) if inside else v for v, inside in zip(values, has)]
            each.shapes = [a.layout.shape if isinstance(a, Tensor) else None for a in args]
            if custom._signature is None:
                result = custom.forward(each, *args)
            else:
                result = custom.forward(*args)
                custom.setup_context(each, tuple(args), result)
            outs: list[Any] = []
            for out in _as_tuple(result):
                whole = next((v for v, a in zip(values, args) if a is out), None)      # an input, as it is or written
                outs.append(whole if whole is not None else inner.all_samples(out) if isinstance(out, Tensor) else out)
            originals = _as_tuple(result)
            ctx.mark_non_differentiable(*[o for o, out in zip(outs, originals) if any(out is s for s in each._silent)])
            ctx.mark_dirty(*[o for o, out in zip(outs, originals) if any(out is d for d in each._dirty)])
        return tuple(outs) if isinstance(result, tuple) else outs[0]

    def backward(ctx, *grads):
        each = ctx.each
        rule = custom.backward if custom.backward is not Function.backward else custom.vjp
        with BatchLevel(level.size, level.randomness) as inner:
            each._level = inner
            found = _as_tuple(rule(each, *[None if g is None else batched(g, inner) for g in grads]))
            places = itertools.chain(zip(has, each.shapes), itertools.repeat((True, None)))
            return tuple([_gathered(inner, g, inside, shape) for g, (inside, shape) in zip(found, places)])

    return type(custom.__name__, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def _gathered(level, grad, inside, shape):
    """The gradient of all samples of what has samples, and its sum over them of what has not. In each sample broadcasting is
    undone; a shape that does not fit is refused where the graph looks at it."""
    if grad is None:
        return None
    if shape is not None and grad.layout.shape != shape:
        with suppress(RuntimeError):
            grad = grad.sum_to_size(*shape)
    whole = level.all_samples(grad)
    return whole if inside else whole.sum(0)


DualLevel.custom_function = _pushed                      # type: ignore[method-assign]
BatchLevel.custom_function = _mapped                     # type: ignore[method-assign]
