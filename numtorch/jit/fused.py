"""The op that elementwise calls become when they are put together (passes/fusion.py).

Its attributes are the calls in order, each with the name of its op and its operands: `("x", i)` is the i-th tensor, `("v", i)` what
the i-th call gave, and numbers are themselves; then which of them are results, and how these lie.
"""
from __future__ import annotations

import functools

from ..autograd.api import grad as gradients_of
from ..autograd.graph import GraphNode, attach_outputs
from ..autograd.modes import enable_grad, modes
from ..kernels.binding import ScalarBody
from ..layout import broadcast_strides
from ..ops.core.backends import kernels
from ..ops.core.generate import make
from ..ops.core.primitive import Plan, Primitive, registry
from ..ops.memory.detach import detach
from ..ops.pointwise.pointwise import PointwiseOp
from ..tensor import empty

FUSED = Primitive("fused", "Elementwise ops in one kernel.", ("tensors", "calls", "results", "layouts"))


def _named(operand):
    if isinstance(operand, tuple):
        return f"{operand[0]}{operand[1]}"
    return repr(operand) if operand - operand == 0 else f"float({str(operand)!r})"


@functools.cache
def formula_of(calls: tuple, results: tuple, count: int):
    """The formula: a function of scalars.

    Args:
        calls, results: the op's attributes.
        count: how many tensors it takes.
    """
    for number, (op, *operands) in enumerate(calls):     # a file may have said so
        for operand in operands:
            known = isinstance(operand, (int, float)) or (
                isinstance(operand, tuple) and len(operand) == 2 and operand[0] in ("x", "v") and type(operand[1]) is int
                and 0 <= operand[1] < (count if operand[0] == "x" else number))
            if not known or not isinstance(registry.get(op), PointwiseOp):
                raise ValueError(f"fused: {(op, *operands)!r} is no elementwise call")
    if any(type(i) is not int or not 0 <= i < len(calls) for i in results):
        raise ValueError(f"fused: there is no result among {results!r}")
    lines = [f"    v{i} = op_{op}({', '.join(map(_named, operands))})" for i, (op, *operands) in enumerate(calls)]
    shown = ", ".join(f"v{i}" for i in results)
    arguments = ", ".join(f"x{i}" for i in range(count))
    scope = {f"op_{op}": registry[op].function for op, *_ in calls}
    scope["__name__"] = __name__
    return make("\n".join([f"def fused({arguments}):", *lines, f"    return {shown}", ""]), scope, "fused")


@FUSED.planned
def _plan(*key):
    *layouts, calls, results, outs = key
    compute, shape = outs[0].dtype, outs[0].shape
    body = ScalarBody(formula_of(calls, results, len(layouts)), compute.compute)
    strides = [broadcast_strides(l, shape) for l in layouts] + [out.strides for out in outs]
    computes = tuple(["bool" if l.dtype.name == "bool" else compute.compute for l in layouts])
    prepared = kernels(outs[0].device, "pointwise.pointwise").plan_pointwise(
        body, tuple([l.dtype.kernel for l in layouts]), tuple([out.dtype.kernel for out in outs]), shape, strides, compute=computes,
        results=tuple(range(len(outs))) if len(outs) > 1 else None, cost=sum([registry[op].cost for op, *_ in calls]))
    return Plan(FUSED, layouts, outs[0], prepared, outs)


def _execute(plan, *arguments):
    *tensors, calls, results, outs = arguments
    made = [empty(layout) for layout in outs]
    plan.call(*[t.address for t in tensors], *[t.address for t in made], plan.descriptor)
    if modes.grad and any(t.node is not None for t in tensors):
        node = GraphNode(FUSED, tuple([t.node for t in tensors]), tuple(tensors), (calls, results), outputs=len(made))
        if len(made) == 1:
            made[0].node = node
        else:
            attach_outputs(node, made)
    return made[0] if len(made) == 1 else tuple(made)


FUSED.execute = _execute


@FUSED.derivative
def _vjp(node, grad):
    """The gradients by the ops that were put together."""
    tensors = node.tensors()
    calls, results = node.attributes
    grads = grad if isinstance(grad, list) else [grad]
    create = modes.grad
    with enable_grad():
        operands = tensors if create else [detach(t).requires_grad_(node.needs(i)) for i, t in enumerate(tensors)]
        found: list = []
        for op, *inputs in calls:
            given = [(operands if i[0] == "x" else found)[i[1]] if isinstance(i, tuple) else i for i in inputs]
            found.append(registry[op].function(*given))
        wanted = [t for i, t in enumerate(operands) if node.needs(i)]
        pairs = [(found[i], g) for i, g in zip(results, grads) if g is not None and found[i].node is not None]
        slopes = iter(gradients_of([o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph=create, allow_unused=True))
    return [next(slopes) if node.needs(i) else None for i in range(len(tensors))]
