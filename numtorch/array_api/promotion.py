"""How the standard finds the dtype of a result: by the dtypes alone, where PyTorch also looks at the dimensions."""
from __future__ import annotations

from ..dtypes import (
    bool_,
    complex64,
    complex128,
    dtype,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ..ops.creation.fill import full
from ..ops.memory.conversion import to_dtype
from ..tensor import Tensor

SIGNED, UNSIGNED = (int8, int16, int32, int64), (uint8, uint16, uint32, uint64)
REAL, COMPLEX = (float32, float64), (complex64, complex128)
KINDS = {"bool": (bool_,), "signed integer": SIGNED, "unsigned integer": UNSIGNED, "integral": SIGNED + UNSIGNED,
         "real floating": REAL, "complex floating": COMPLEX, "numeric": SIGNED + UNSIGNED + REAL + COMPLEX}


def isdtype(dtype, kind) -> bool:
    """Whether a dtype is of a kind.

    Args:
        dtype: a dtype.
        kind: one of "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"; a
            dtype; or a tuple of such.

    Raises:
        ValueError: an unknown kind.

    Example:
        >>> from numtorch import array_api as xp
        >>> xp.isdtype(xp.float32, "real floating")
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: unknown kind {kind!r}, expected one of {sorted(KINDS)}")
        return dtype in KINDS[kind]
    return dtype is kind


def promoted_dtype(*kinds) -> dtype:
    """The dtype that several have in common.

    Raises:
        TypeError: dtypes of different kinds, which the standard leaves undefined, but for floats and complex numbers.
    """
    result = kinds[0]
    for kind in kinds[1:]:
        if kind is result:
            continue
        if result.category != kind.category and {result.category, kind.category} != {2, 3}:
            raise TypeError(f"promotion: {result} and {kind} are of different kinds; convert one with astype")
        result = _unsigned(result, kind) or promote_types(result, kind)
    return result


def _unsigned(one, other):
    """The common dtype where one of two is unsigned; None where neither is, or both are."""
    if one in UNSIGNED and other in UNSIGNED:
        return max(one, other, key=lambda kind: kind.itemsize)
    if (one in UNSIGNED) == (other in UNSIGNED):
        return None
    unsigned, signed = (one, other) if one in UNSIGNED else (other, one)
    if unsigned is uint64:
        raise TypeError("promotion: uint64 and a signed dtype have none in common")
    return signed if signed.itemsize > unsigned.itemsize else {1: int16, 2: int32, 4: int64}[unsigned.itemsize]


def of_scalar(value, kind) -> dtype:
    """The dtype that a Python number takes beside an array of a dtype.

    Raises:
        TypeError: a number of a higher kind than the array's.
    """
    if isinstance(value, bool):
        if kind is bool_:
            return kind
    elif isinstance(value, int):
        if kind.category >= 1:
            return kind
    elif isinstance(value, float):
        if kind.category >= 2:
            return kind
    elif isinstance(value, complex) and kind.category >= 2:
        return kind if kind.category == 3 else kind.to_complex()
    raise TypeError(f"promotion: a Python {type(value).__name__} does not go with an array of {kind}")


def arrays(*operands) -> list:
    """Operands as arrays of the dtype that they have in common.

    Raises:
        TypeError: no array among them, or kinds that do not go together.
    """
    given = [x for x in operands if isinstance(x, Tensor)]
    if not given:
        raise TypeError(f"expected an array among the operands, got {', '.join(type(x).__name__ for x in operands)}")
    kind = promoted_dtype(*[x.dtype for x in given])
    for x in operands:
        if not isinstance(x, Tensor):
            kind = promoted_dtype(kind, of_scalar(x, kind))
    return [to_dtype(x, kind) if isinstance(x, Tensor) else full((), x, dtype=kind, device=given[0].device) for x in operands]


def result_type(*arrays_and_dtypes) -> dtype:
    """The dtype that arithmetic on these has.

    Args:
        arrays_and_dtypes: arrays, dtypes and Python numbers, one of them no number.

    Example:
        >>> from numtorch import array_api as xp
        >>> xp.result_type(xp.int8, xp.uint8)
        torch.int16
    """
    kinds = [x.dtype if isinstance(x, Tensor) else x for x in arrays_and_dtypes if isinstance(x, (Tensor, dtype))]
    if not kinds:
        raise TypeError("result_type: expected an array or a dtype among the arguments")
    result = promoted_dtype(*kinds)
    for x in arrays_and_dtypes:
        if not isinstance(x, (Tensor, dtype)):
            result = promoted_dtype(result, of_scalar(x, result))
    return result


def default_of(kind: dtype) -> dtype:
    """The dtype that a sum of a dtype has."""
    if kind.category == 1:
        return uint64 if kind in UNSIGNED else int64
    return kind
