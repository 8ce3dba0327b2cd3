"""Which dtypes `dtype=` of a reduction may be."""
from __future__ import annotations

from ...dtypes import as_dtype, promote_types
from ..memory.copies import to_dtype


def float_dtype(name, dtype, have):
    """The dtype of a mean: what is asked for, or that of the input. Raises RuntimeError for integers."""
    kind = have if dtype is None else as_dtype(dtype)
    if kind.category < 2:
        raise RuntimeError(f"{name}(): could not infer output dtype. Optional dtype must be either a floating point or complex "
                           f"dtype. Got: {kind.title}")
    return kind


def in_norms_dtype(input, have, dtype):
    """What a norm is taken of: the input, or the input in a wider dtype of its kind. Raises RuntimeError for others, as PyTorch."""
    if have.category < 2:
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {have.title}")
    if dtype is None:
        return input
    want = as_dtype(dtype)
    if want.is_complex != have.is_complex or promote_types(want, have) is not want:
        raise RuntimeError(f"linalg.vector_norm: the dtype of the input ({have.title}) should be convertible without narrowing to "
                           f"the specified dtype ({want.title})")
    return to_dtype(input, want)
