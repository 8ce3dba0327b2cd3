"""Sums and products of 16-bit floats at indices, made in float32 and rounded once, as PyTorch does on the CPU: a sum of bfloat16
stops growing at 256 terms of one size."""
from __future__ import annotations

from ...dtypes import float32
from ...tensor import empty
from ..memory.copies import copy_elements
from .index_op import run_indexed


def is_needed(layout, how) -> bool:
    """Whether what is combined with elements of a layout is to be combined in float32."""
    return how in ("add", "multiply") and layout.dtype.category == 2 and layout.dtype.itemsize == 2


def layouts(layout, source, how):
    """Whether that is so, and the layouts of what is written and read: of copies in float32, or as they are."""
    return (True, layout.dense(float32), source.dense(float32)) if is_needed(layout, how) else (False, layout, source)


def run(prepared, x, indices, source, *rest) -> None:
    """`run_indexed` of a kernel that was prepared for such copies."""
    total, added = [empty(t.layout.dense(float32)) for t in (x, source)]
    copy_elements(x, total)
    copy_elements(source, added)
    run_indexed(prepared, total, indices, added, *rest)
    copy_elements(total, x)
