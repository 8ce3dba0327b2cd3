"""The op that elementwise calls become when they are put together (passes/fusion.py), with sums and softmax along the last
dimension among them (passes/rowfusion.py).

Its attributes are the calls in order, each with the name of its op and its operands: `("x", i)` is the i-th tensor, `("v", i)` what
the i-th call gave, and numbers are themselves; then which of them are results, and how these lie.
"""
from __future__ import annotations

import functools
from collections.abc import Iterable

from ...autograd.api import grad as gradients_of
from ...autograd.graph import GraphNode, attach_outputs
from ...autograd.modes import enable_grad, modes, no_grad
from ...dtypes import bfloat16, float16, float32, float64
from ...kernels.binding import ScalarBody
from ...layout import Layout, broadcast_shapes, broadcast_strides
from ...ops.core.backends import kernels
from ...ops.core.primitive import Plan, Primitive, registry
from ...ops.memory.detach import detach
from ...ops.pointwise.pointwise import PointwiseOp
from ...tensor import empty
from .rowwise import ALONG, formula, plan_rows, row_step

NARROW = (float16, bfloat16)                             # dtypes whose every number is rounded to them, though none is in memory
FUSED = Primitive("fused", "Elementwise ops in one kernel.", ("tensors", "calls", "results", "layouts"))


@functools.cache
def formula_of(calls: tuple, results: tuple, count: int, narrow: str = ""):
    """The formula: a function of scalars.

    Args:
        calls, results: the op's attributes.
        count: how many tensors it takes.
        narrow: the dtype of 16 bits that what each call gives is rounded to.
    """
    return formula([(i, *call) for i, call in enumerate(calls)], [("x", i) for i in range(count)], [("v", i) for i in results],
                   narrow)


def check(calls: tuple, results: tuple, outs: tuple, count: int) -> None:
    """Raise ValueError where attributes, which a file may have said, are none of this op.

    Args:
        calls, results, outs: them.
        count: how many tensors there are.
    """
    dtypes = (float32, float64) if any(op in ALONG for op, *_ in calls) else (float32, float64, *NARROW)
    if not outs or len(outs) != len(results) or any(
            not isinstance(out, Layout) or out.dtype is not outs[0].dtype or out.dtype not in dtypes for out in outs):
        raise ValueError(f"fused: expected a layout of one floating-point dtype for each of the results {results!r}, got {outs!r}")
    check_calls(calls, count)
    if any(type(i) is not int or not 0 <= i < len(calls) for i in results):
        raise ValueError(f"fused: there is no result among {results!r}")


def check_calls(calls: tuple, count: int) -> None:
    """Raise ValueError where calls, which a file may have said, are none that can be put together.

    Args:
        calls: as the op's attributes have them.
        count: how many tensors there are.
    """
    for number, (op, *operands) in enumerate(calls):
        for operand in operands:
            known = isinstance(operand, (int, float)) or (
                isinstance(operand, tuple) and len(operand) == 2 and operand[0] in ("x", "v") and type(operand[1]) is int
                and 0 <= operand[1] < (count if operand[0] == "x" else number))
            if not known or not (op in ALONG or isinstance(registry.get(op), PointwiseOp)):
                raise ValueError(f"fused: {(op, *operands)!r} is no call that can be fused")


@FUSED.planned
def _plan(*key):
    *layouts, calls, results, outs = key
    check(calls, results, outs, len(layouts))
    compute, shape = outs[0].dtype, broadcast_shapes(*[l.shape for l in layouts])
    if any(op in ALONG for op, *_ in calls):
        return _plan_rows(layouts, calls, results, outs, shape)
    if any(tuple(out.shape) != shape or not out.non_overlapping_and_dense() for out in outs):
        raise ValueError(f"fused: a result of {tuple(shape)} is not {', '.join(str(tuple(out.shape)) for out in outs)}")
    body = ScalarBody(formula_of(calls, results, len(layouts), compute.name if compute in NARROW else ""), compute.compute)
    strides = [broadcast_strides(l, shape) for l in layouts] + [out.strides for out in outs]
    computes = tuple(["bool" if l.dtype.name == "bool" else compute.compute for l in layouts])
    prepared = kernels(outs[0].device, "pointwise.pointwise").plan_pointwise(
        body, tuple([l.dtype.kernel for l in layouts]), tuple([out.dtype.kernel for out in outs]), shape, strides, compute=computes,
        results=tuple(range(len(outs))) if len(outs) > 1 else None, cost=sum([registry[op].cost for op, *_ in calls]))
    return Plan(FUSED, layouts, outs[0], prepared, ())


def _plan_rows(layouts, calls, results, outs, shape):
    """A plan, which copies the operands that lie in another order than those that the program was made for, where rows cannot be
    walked along: these are no neighbours, or rows of one number where the program needs more."""
    copied = {i for i, l in enumerate(layouts) if row_step(l, shape) is None}
    stretched = {i for i, l in enumerate(layouts) if l.ndim and l.shape[-1] != 1 and not l.strides[-1]}
    for places in (copied, copied | stretched):
        walked = [l.dense() if i in places else l for i, l in enumerate(layouts)]
        try:
            return Plan(FUSED, layouts, outs[0], plan_rows(calls, results, walked, outs, shape), tuple(places))
        except ValueError as error:
            refused = error
    raise refused


def _execute(plan, *arguments):
    *tensors, calls, results, outs = arguments
    made = [empty(layout) for layout in outs]
    read = tensors
    if plan.extra:
        with no_grad():
            read = [t.contiguous() if i in plan.extra else t for i, t in enumerate(tensors)]
    plan.call(*[t.address for t in read], *[t.address for t in made], plan.descriptor)
    if modes.grad and any(t.node is not None for t in tensors):
        node = GraphNode(FUSED, tuple([t.node for t in tensors]), tuple(tensors), (calls, results), outputs=len(made))
        if len(made) == 1:
            made[0].node = node
        else:
            attach_outputs(node, made)
    return made[0] if len(made) == 1 else tuple(made)


FUSED.execute = _execute


def run_calls(calls: tuple, operands: list, before: Iterable = ()) -> list:
    """What each of the calls gives, by its op.

    Args:
        calls: as the op's attributes have them.
        operands: tensors.
        before: what calls before these gave, with which the result begins.
    """
    values = list(before)
    for op, *inputs in calls:
        given = [(operands if i[0] == "x" else values)[i[1]] if isinstance(i, tuple) else i for i in inputs]
        values.append((ALONG.get(op) or registry[op].function)(*given))
    return values


@FUSED.derivative
def _vjp(node, grad, *tensors):
    """The gradients by the ops that were put together."""
    calls, results = node.attributes
    grads = grad if isinstance(grad, list) else [grad]
    create = modes.grad
    with enable_grad():
        operands = tensors if create else [detach(t).requires_grad_(node.needs(i)) for i, t in enumerate(tensors)]
        values = run_calls(calls, operands)
        wanted = [t for i, t in enumerate(operands) if node.needs(i)]
        pairs = [(values[i], g) for i, g in zip(results, grads) if g is not None and values[i].node is not None]
        slopes = iter(gradients_of([o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph=create, allow_unused=True))
    return [next(slopes) if node.needs(i) else None for i in range(len(tensors))]
