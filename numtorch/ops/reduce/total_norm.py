"""The norm of many tensors' elements together, and their scaling by it: each one call of a kernel with a table of addresses."""
from __future__ import annotations

import numpy as np

from ...autograd.writes import mark_written
from ...dtypes import uint8
from ...layout import Layout
from ...tensor import Tensor, empty
from ..core.arguments import expect_layout
from ..core.backends import kernels
from ..core.primitive import Primitive, miss, new_plan_table

TOTAL_NORM = Primitive("total_norm", "The norm of many tensors' elements together.", ("tensors", "order"),
                       samples="T[2, 3], T[4]; 2.0")
SCALE_DOWN = Primitive("scale_down_", "Many tensors times bound / (norm + 1e-6) in place, where that is below 1.",
                       ("norm", "tensors", "bound"), samples="T.real[()], T[2, 3], T[4]; 1.0")

_fitting: dict = new_plan_table()                        # by layout, whether the kernels take such tensors
_DTYPES = frozenset(("float32", "float64", "float16", "bfloat16", "complex64", "complex128"))


def fits(layout) -> bool:
    """Whether the kernels take tensors of a layout: their elements lie side by side, in whatever order."""
    known = _fitting.get(layout)
    if known is not None:
        return known
    found = (layout.dtype.name in _DTYPES and not layout.transformed and layout.kind == "strided"
             and (layout.contiguous or layout.non_overlapping_and_dense()))
    return found if layout.handler is not None else _fitting.keep(layout, found)         # special ones hold tensors, and end


class Plan:
    """The kernels, and how many real numbers each tensor has."""

    __slots__ = ("numels", "out", "parts", "kernels")

    def __init__(self, name, layouts, planner, *more):
        first = layouts[0]
        for layout in layouts:
            expect_layout(name, "tensors", layout, None, first.dtype)
            if not fits(layout):
                raise RuntimeError(f"{name}: expected tensors whose elements lie side by side, got {layout}")
        self.numels = [layout.numel * (2 if first.dtype.is_complex else 1) for layout in layouts]
        planner = getattr(kernels(first.device, "optim.total_norm"), planner)
        self.kernels = planner(first.dtype.to_real().kernel, tuple(self.numels), *more)
        self.out, self.parts = Layout.of(first.dtype.to_real(), (), None, first.device), None

    def table(self, tensors):
        """Their addresses and how many numbers each has."""
        return np.array([[t.address for t in tensors], self.numels], np.int64).T.copy()


@TOTAL_NORM.planned
def _plan_norm(*call):
    *layouts, order = call
    plan = Plan("total_norm", layouts, "plan_total_norm", order)
    plan.parts = Layout.of(uint8, (plan.kernels[0].workspace,), None, layouts[0].device)
    return plan


def _norm(plan, *call):
    *tensors, order = call
    (first, last), table, options = plan.kernels, plan.table(tensors), np.array([order])
    parts, out = empty(plan.parts), empty(plan.out)
    first.call(table.ctypes.data, options.ctypes.data, parts.address, first.descriptor)
    last.call(parts.address, options.ctypes.data, out.address, last.descriptor)
    return out


@SCALE_DOWN.planned
def _plan_scale(norm, *call):
    *layouts, _ = call
    plan = Plan("scale_down_", layouts, "plan_scale_all")
    expect_layout("scale_down_", "norm", norm, (), plan.out.dtype)
    return plan


def _scale(plan, norm, *call):
    *tensors, bound = call
    table, bound = plan.table(tensors), np.array([bound], np.float64)
    plan.kernels.call(table.ctypes.data, norm.address, bound.ctypes.data, plan.kernels.descriptor)
    for tensor in tensors:
        mark_written(tensor.memory, "mul_")              # also where the factor was 1, as PyTorch counts


TOTAL_NORM.execute, SCALE_DOWN.execute = _norm, _scale


def total_norm(tensors, order: float) -> Tensor:
    """The norm of tensors of one dtype and device that fit, of order 1 or above, or of an infinite one."""
    plan = TOTAL_NORM.plans.get((*[t.layout for t in tensors], order))
    return miss(TOTAL_NORM, tuple(tensors), (order,)) if plan is None else _norm(plan, *tensors, order)


def scale_down_(tensors, norm: Tensor, bound: float) -> None:
    """Tensors of one dtype and device that fit, times bound / (norm + 1e-6) where that is below 1; `norm` has their real dtype."""
    plan = SCALE_DOWN.plans.get((norm.layout, *[t.layout for t in tensors], bound))
    miss(SCALE_DOWN, (norm, *tensors), (bound,)) if plan is None else _scale(plan, norm, *tensors, bound)
