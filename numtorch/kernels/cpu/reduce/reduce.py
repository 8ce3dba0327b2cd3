"""Reductions to one number an output: sum, prod, max, min, any, all, mean, norms and counts, over any axes and strides.

Rows are reduced one number at a time, columns many abreast (traversal.py says which is used when), each by one of a few kernels:
a program compiles those that its shapes need. What a reduction means is five small functions that the compiler puts in by name:
`load` (a stored word as a number), `lift` (what is accumulated), `combine`, `finish` and `store` (see families/reductions.py).
Accumulation is in `T` over blocks and in `W` across them: float32 over 2048 elements and float64 across loses nothing that shows in
float32, and runs at the speed of memory.

Variance is in moments.py, the index of an extreme in argreduce.py.
"""
from __future__ import annotations

import functools
import math
from types import FunctionType

import numpy as np
from numpy import float32, float64, int32

from ...binding import ScalarBody, outlined
from ...compiler import compile_kernel
from ...elementtypes import CONVERSIONS, CONVERTED, accumulate_type, compute_type, is_small_integer, itemsize, real_type, same
from ...families.reductions import (
    KINDS,
    NORMS,
    add,
    larger,
    magnitude,
    modulus,
    modulus_of_halves,
    multiply,
    nonzero,
    nonzero_half,
    nonzero_halves,
    real_half,
    real_part,
    smaller,
    squared,
    total,
    unchanged,
)
from ...intrinsics import float_of, fmax, fmin, local_array, offset, select
from ...threads import Prepared
from ..shared.elements import VECTOR_LANES, from_order, order_of, padded, whole
from .moments import BLOCK, WRITES, moments_kernels
from .row_fold import LOADS, ROWS, fold_columns, fold_rows
from .traversal import (
    BLOCK_COLUMNS,
    COLUMNS,
    COUNT,
    FOLD,
    HEADER,
    KEPT,
    KEPT_DIMS,
    LENGTH,
    OUT_STEP,
    PARAMETER,
    REDUCED,
    REDUCED_DIMS,
    STEP,
    X_STEP,
    nest,
    plan_stages,
    position,
)

T = float32
W = OUT = float64
IDENTITY = COMBINE = LIFT = 0
load = store = same
SHORT_ROW = 512                  # the longest row that is taken in whole vectors only
FEW_COLUMNS = 128                # of CARRY_ROWS at most that are reduced in registers: of more the rows are better read as they lie
STRIP, HALF_STRIP = 64, 32       # columns: four vectors of them, and two
CARRY_ROWS = 128                 # and rows; four at a time, 32 additions follow one another, as in a block of vectors
lift, combine, finish = unchanged, add, total
_FLOATING = {larger: fmax, smaller: fmin}                # NaN propagates
_VECTOR_FORMS = {form: i for forms in ((add, multiply, larger, smaller), (unchanged, magnitude, squared))
                 for i, form in enumerate(forms)}        # as row_fold.COMBINES and LIFTS number them
_TESTS = ("any", "all", "not_all", "count_nonzero")


# ---------------------------------------------------------------- kernels
def value(word, exponent):
    return T(lift(T(load(word)), T(exponent)))


def reduce_block(x, n, step, exponent):
    result = T(IDENTITY)
    if step == 1:
        for i in range(n):
            result = T(combine(result, value(x[i], exponent)))
    else:
        for i in range(n):
            result = T(combine(result, value(x[i * step], exponent)))
    return result


def reduce_short(x, n, exponent):
    """A short row of neighbours, in whole vectors of which the last is under a mask."""
    result = T(IDENTITY)
    count, done = int32(n), whole(n)
    for i in range(done):
        result = T(combine(result, value(x[i], exponent)))
    if done > 0:
        last = offset(x, n - padded(n - done))
        fresh = int32(done - n + padded(n - done))
        for i in range(padded(n - done)):
            result = T(combine(result, select(int32(i) >= fresh, value(last[i], exponent), T(IDENTITY))))
        return result
    for i in range(padded(n)):
        v = T(IDENTITY)
        if int32(i) < count:
            v = value(x[i], exponent)
        result = T(combine(result, v))
    return result


def extreme_short(x, n, exponent):
    """The same for extremes of float32, by integers in their order; NaN, which has no place in it, by itself.

    float64 gains nothing: rows of 100 take 1.2 times as long.
    """
    best = order_of(T(IDENTITY))
    undefined = False
    count = int32(n)
    for i in range(whole(n)):
        v = value(x[i], exponent)
        best = winner_of(best, order_of(v))
        undefined |= v != v
    if whole(n) > 0:
        last = offset(x, n - padded(n - whole(n)))
        for i in range(padded(n - whole(n))):
            v = value(last[i], exponent)
            best = winner_of(best, order_of(v))
            undefined |= v != v
        return select(undefined, T(math.nan), from_order(best))
    for i in range(padded(n)):
        v = T(IDENTITY)
        if int32(i) < count:
            v = value(x[i], exponent)
        best = winner_of(best, order_of(v))
        undefined |= v != v
    return select(undefined, T(math.nan), from_order(best))


short_row, winner_of = reduce_short, max


def reduce_each(x, step, n, rows, results, exponent):
    for r in range(rows):
        results[r] = short_row(offset(x, r * step), n, exponent)


def reduce_abreast(x, step, n, rows, results, exponent):
    """The same eight rows at a time: 32768 rows of 100 in 0.75 of the time, in the cache in half."""
    alone = (VECTOR_LANES - min(n, VECTOR_LANES) + step - 1) // max(step, 1)     # their last vectors begin before the first row
    if step < 1 or rows - alone < ROWS:
        alone = rows
    reduce_each(x, step, n, alone, results, exponent)
    for r in range(alone, rows, ROWS):
        first = min(r, rows - ROWS)
        fold_rows(offset(x, first * step), step, n, offset(results, first), VECTOR_LANES, COMBINE, LIFT, T(IDENTITY))


short_rows = reduce_abreast


def reduce_strips(block, x, rows, step, width):
    """Columns of a few rows, in registers, into the block. The last strip of them reaches back into the one before."""
    if width >= STRIP:
        for j in range(0, width, STRIP):
            at = min(j, width - STRIP)
            fold_columns(offset(x, at), step, rows, offset(block, at), STRIP, VECTOR_LANES, COMBINE, LIFT, T(IDENTITY))
    elif width >= HALF_STRIP:                            # one or two strips; of a loop over two numbers LLVM would make two copies
        for j in range(0, width, HALF_STRIP):
            at = min(j, width - HALF_STRIP)
            fold_columns(offset(x, at), step, rows, offset(block, at), HALF_STRIP, VECTOR_LANES, COMBINE, LIFT, T(IDENTITY))
    else:
        for j in range(0, width, VECTOR_LANES):
            at = min(j, width - VECTOR_LANES)
            fold_columns(offset(x, at), step, rows, offset(block, at), VECTOR_LANES, VECTOR_LANES, COMBINE, LIFT, T(IDENTITY))


@outlined
def add_rows(block, x, rows, step, width, x_step, exponent):
    """Accumulate rows, four at a time: the accumulators are loaded and stored a quarter as often."""
    fours = rows // 4 * 4
    if x_step == 1:
        for r in range(0, fours, 4):
            a, b, c, d = (offset(x, r * step), offset(x, (r + 1) * step), offset(x, (r + 2) * step),
                          offset(x, (r + 3) * step))
            for j in range(width):
                block[j] = T(combine(block[j], T(combine(
                    T(combine(value(a[j], exponent), value(b[j], exponent))),
                    T(combine(value(c[j], exponent), value(d[j], exponent)))))))
        pairs = rows // 2 * 2
        for r in range(fours, pairs, 2):
            a, b = offset(x, r * step), offset(x, (r + 1) * step)
            for j in range(width):
                block[j] = T(combine(block[j], T(combine(value(a[j], exponent), value(b[j], exponent)))))
        for r in range(pairs, rows):
            a = offset(x, r * step)
            for j in range(width):
                block[j] = T(combine(block[j], value(a[j], exponent)))
    else:
        for r in range(rows):
            a = offset(x, r * step)
            for j in range(width):
                block[j] = T(combine(block[j], value(a[j * x_step], exponent)))


def rows_total(block, x, rows, step, n, exponent):
    """Of rows of a few neighbours, added up as vectors first: row by row, sums of 64 rows of 50 take 1.4 times as long."""
    result = W(IDENTITY)
    for r in range(0, rows, CARRY_ROWS):
        for j in range(n):
            block[j] = T(IDENTITY)
        add_rows(block, offset(x, r * step), min(rows - r, CARRY_ROWS), step, n, 1, exponent)
        part = T(IDENTITY)
        for j in range(n):
            part = T(combine(part, block[j]))
        result = W(combine(result, W(part)))
    return result


def reduce_rows(x, out, descriptor):
    """Any rows."""
    n, step, columns, x_step = descriptor[LENGTH], descriptor[STEP], descriptor[COLUMNS], descriptor[X_STEP]
    out_step, kept, kept_dims = descriptor[OUT_STEP], descriptor[KEPT], descriptor[KEPT_DIMS]
    reduced, reduced_dims = descriptor[REDUCED], descriptor[REDUCED_DIMS]
    exponent, count = float_of(descriptor[PARAMETER]), float_of(descriptor[COUNT])
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for j in range(columns):
            result = W(IDENTITY)
            for r in range(reduced):
                a = offset(x, first + j * x_step + position(r, descriptor, HEADER + 3 * kept_dims, reduced_dims, 2, 1))
                for i in range(0, n, BLOCK):
                    result = W(combine(result, W(reduce_block(offset(a, i * step), min(n - i, BLOCK), step, exponent))))
            out[target + j * out_step] = store(OUT(finish(result, exponent, count)))


def reduce_short_rows(x, out, descriptor):
    """Rows of at most SHORT_ROW neighbours."""
    n, columns, x_step = descriptor[LENGTH], descriptor[COLUMNS], descriptor[X_STEP]
    out_step, kept, kept_dims = descriptor[OUT_STEP], descriptor[KEPT], descriptor[KEPT_DIMS]
    exponent, count = float_of(descriptor[PARAMETER]), float_of(descriptor[COUNT])
    block = local_array(T, SHORT_ROW)
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for c in range(0, columns, SHORT_ROW):
            rows = min(columns - c, SHORT_ROW)
            short_rows(offset(x, first + c * x_step), x_step, n, rows, block, exponent)
            y = offset(out, target + c * out_step)
            for j in range(rows):
                y[j * out_step] = store(OUT(finish(W(block[j]), exponent, count)))


def reduce_many_short_rows(x, out, descriptor):
    """Several rows of at most SHORT_ROW neighbours to one number."""
    n, columns, x_step = descriptor[LENGTH], descriptor[COLUMNS], descriptor[X_STEP]
    out_step, kept, kept_dims = descriptor[OUT_STEP], descriptor[KEPT], descriptor[KEPT_DIMS]
    exponent, count = float_of(descriptor[PARAMETER]), float_of(descriptor[COUNT])
    reduced, row_step = descriptor[REDUCED], descriptor[HEADER + 3 * kept_dims + 1]
    block = local_array(T, SHORT_ROW)
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for j in range(columns):
            result = W(rows_total(block, offset(x, first + j * x_step), reduced, row_step, n, exponent))
            out[target + j * out_step] = store(OUT(finish(result, exponent, count)))


@outlined
def carry(block, wide, lanes):
    for j in range(lanes):
        wide[j] = W(combine(wide[j], W(block[j])))
        block[j] = T(IDENTITY)


def write_columns(y, results, width, descriptor, exponent, count):
    out_step = descriptor[OUT_STEP]
    for j in range(width):
        y[j * out_step] = store(OUT(finish(W(results[j]), exponent, count)))


def many_columns(block, wide, x, y, width, descriptor, exponent, count):
    """Any number of rows, by way of a block of accumulators. Rows that lie in one by `fold` are joined."""
    n, step, x_step = descriptor[LENGTH], descriptor[STEP], descriptor[X_STEP]
    fold, entry = descriptor[FOLD], HEADER + 3 * descriptor[KEPT_DIMS]
    lanes = width * fold
    for j in range(lanes):
        block[j] = T(IDENTITY)
        wide[j] = W(IDENTITY)
    pending = 0
    for r in range(descriptor[REDUCED]):
        a = offset(x, position(r, descriptor, entry, descriptor[REDUCED_DIMS], 2, 1))
        whole = n // fold
        i = 0
        while i < whole:
            rows = min(whole - i, CARRY_ROWS - pending)
            add_rows(block, offset(a, i * fold * step), rows, fold * step, lanes, x_step, exponent)
            i += rows
            pending += rows
            if pending == CARRY_ROWS:
                carry(block, wide, lanes)
                pending = 0
        add_rows(block, offset(a, whole * fold * step), n - whole * fold, step, width, x_step, exponent)
    carry(block, wide, lanes)
    for f in range(1, fold):
        part = offset(wide, f * width)
        for j in range(width):
            wide[j] = W(combine(wide[j], part[j]))
    write_columns(y, wide, width, descriptor, exponent, count)


def columns_alone(block, wide, x, y, width, descriptor, exponent, count):
    """A single row: nothing is combined."""
    x_step, out_step = descriptor[X_STEP], descriptor[OUT_STEP]
    for j in range(width):
        y[j * out_step] = store(OUT(finish(W(value(x[j * x_step], exponent)), exponent, count)))


def columns_in_registers(block, wide, x, y, width, descriptor, exponent, count):
    """A few rows of neighbours."""
    reduce_strips(block, x, descriptor[LENGTH], descriptor[STEP], width)
    write_columns(y, block, width, descriptor, exponent, count)


def columns_in_block(block, wide, x, y, width, descriptor, exponent, count):
    """At most CARRY_ROWS rows: nothing is carried."""
    entry = HEADER + 3 * descriptor[KEPT_DIMS]
    for j in range(width):
        block[j] = T(IDENTITY)
    for r in range(descriptor[REDUCED]):
        b = offset(x, position(r, descriptor, entry, descriptor[REDUCED_DIMS], 2, 1))
        add_rows(block, b, descriptor[LENGTH], descriptor[STEP], width, descriptor[X_STEP], exponent)
    write_columns(y, block, width, descriptor, exponent, count)


some_columns = many_columns


def reduce_columns(x, out, descriptor):
    columns, x_step, out_step = descriptor[COLUMNS], descriptor[X_STEP], descriptor[OUT_STEP]
    kept, kept_dims = descriptor[KEPT], descriptor[KEPT_DIMS]
    exponent, count = float_of(descriptor[PARAMETER]), float_of(descriptor[COUNT])
    block, wide = local_array(T, BLOCK_COLUMNS), local_array(W, BLOCK_COLUMNS)
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for c in range(0, columns, BLOCK_COLUMNS):
            a, y = offset(x, first + c * x_step), offset(out, target + c * out_step)
            some_columns(block, wide, a, y, min(columns - c, BLOCK_COLUMNS), descriptor, exponent, count)


# ---------------------------------------------------------------- planners
def _identity(what, compute):
    if not isinstance(what, str):
        return what
    dtype = np.dtype(compute)
    if dtype.kind == "f":
        return float("-inf") if what == "lowest" else float("inf")
    return int(np.iinfo(dtype).min if what == "lowest" else np.iinfo(dtype).max)


class _Kernels:
    """The kernels of one reduction of one dtype, compiled when asked for."""

    def __init__(self, kind, dtype, out_dtype):
        self.reduction, self.dtype, self.out_dtype = KINDS[kind], dtype, out_dtype
        extreme = self.reduction.combine in (larger, smaller)
        follows = dtype if extreme and not dtype.startswith("complex") else out_dtype
        self.compute = self.reduction.compute or compute_type(follows)
        if self.compute == "bool":
            self.compute = "uint8"
        if self.compute == "int64" and is_small_integer(dtype) and self.reduction.combine is add:
            self.compute = "int32"                       # 2048 of them cannot overflow
        self.wide = self.compute if extreme else accumulate_type(self.compute)
        self.load = nonzero if dtype == "bool" else CONVERSIONS[dtype][0]
        if kind in _TESTS:
            self.load = nonzero_halves if dtype == "complex32" else nonzero_half if dtype in CONVERTED else nonzero
        elif dtype.startswith("complex") and not self.compute.startswith("complex"):
            magnitudes = kind.startswith("norm") or kind == "sum_squares"
            if dtype in CONVERTED:
                self.load = modulus_of_halves if magnitudes else real_half
            else:
                self.load = modulus if magnitudes else real_part
        self.partial = itemsize(self.wide)
        self.compiled = {}

    def __call__(self, stage, columns_form, descriptors):
        """The kernel of a stage for all these descriptors."""
        forms = {self._form(stage, columns_form, descriptor) for descriptor in descriptors}
        form = forms.pop() if len(forms) == 1 else (reduce_columns, many_columns) if columns_form else (reduce_rows, None)
        kernel = self.compiled.get((stage, form))
        if kernel is None:
            kernel = self.compiled[stage, form] = self._compile(stage, *form)
        return kernel

    def _form(self, stage, columns_form, descriptor):
        """The kernel for a descriptor, and how it reduces columns."""
        n, reduced, few = descriptor[LENGTH], descriptor[REDUCED], self.lanes(stage) <= descriptor[COLUMNS] <= FEW_COLUMNS
        if not columns_form:
            short = descriptor[STEP] == 1 and n <= SHORT_ROW
            return (reduce_short_rows if short and reduced == 1 else
                    reduce_many_short_rows if short and descriptor[REDUCED_DIMS] == 1 and reduced >= 4 else reduce_rows), None
        if n * reduced == 1:
            return reduce_columns, columns_alone
        if self.abreast(stage) and descriptor[X_STEP] == 1 and few and reduced == 1 and n <= CARRY_ROWS:
            return reduce_columns, columns_in_registers
        return reduce_columns, columns_in_block if descriptor[FOLD] == 1 and n * reduced <= CARRY_ROWS else many_columns

    def meaning(self, stage):
        """What the names in a kernel of this stage stand for, the type it computes in, and its signature."""
        meaning, last = self.reduction, stage == "last"
        compute, out_dtype = self.computes(stage), (self.wide if stage == "first" else self.out_dtype)
        floating = compute.startswith("float")
        result = "uint8" if out_dtype == "bool" else compute_type(out_dtype)
        abreast = self.abreast(stage)
        lanes = self.lanes(stage)
        names = dict(T=_scalar(compute), VECTOR_LANES=lanes, W=_scalar(self.wide), OUT=_scalar(result),
                     IDENTITY=_IDENTITIES[meaning.identity, compute],
                     load=_scalar_body(same if last else self.load, compute),
                     lift=_scalar_body(unchanged if last else meaning.lift, compute),
                     combine=_FLOATING.get(meaning.combine, meaning.combine) if floating else meaning.combine,
                     short_row=extreme_short if compute == "float32" and meaning.combine in _FLOATING else reduce_short,
                     short_rows=reduce_abreast if abreast else reduce_each, STRIP=4 * lanes, HALF_STRIP=2 * lanes,
                     COMBINE=_VECTOR_FORMS[meaning.combine] if abreast else 0,
                     LIFT=_VECTOR_FORMS[meaning.lift] + 3 * LOADS.index(self.load) if abreast and not last else 0,
                     winner_of=min if meaning.combine is smaller else max,
                     finish=_scalar_body(total if stage == "first" else meaning.finish, self.wide),
                     store=_scalar_body(nonzero if out_dtype == "bool" else CONVERSIONS[out_dtype][1], self.wide))
        signature = ((self.wide if last else self.dtype) + "*", out_dtype + "*", "int64*")
        return names, compute, signature

    def computes(self, stage):
        """The type that a stage computes in."""
        return self.wide if stage == "last" else self.compute

    def lanes(self, stage):
        """How many numbers of it a vector has."""
        compute = self.computes(stage)
        return 1 if compute.startswith("complex") else 64 // itemsize(compute)

    def abreast(self, stage):
        """Whether rows and columns are reduced by vectors of what is stored."""
        stored, compute, load = (self.wide, self.wide, same) if stage == "last" else (self.dtype, self.compute, self.load)
        alike = compute_type(stored) == compute if "float" in stored else "int" in stored and "int" in compute
        return alike and load in LOADS and self.reduction.combine in _VECTOR_FORMS and self.reduction.lift in _VECTOR_FORMS

    def _compile(self, stage, kernel, columns):
        names, compute, signature = self.meaning(stage)
        return compile_kernel(kernel, signature, names if columns is None else {**names, "some_columns": columns}, compute)


def _scalar_body(function, compute):
    """The function so that all kernels share its compiled form (only `combine` needs the kernels' fast-math)."""
    return ScalarBody(function, compute, "float") if type(function) is FunctionType else function


def _scalar(name):
    return np.dtype(name).type


class _Identities(dict):
    """Identities by meaning and type, kept: the compiler tells the values that names stand for apart by identity."""

    def __missing__(self, key):
        self[key] = result = _identity(*key)
        return result


_IDENTITIES = _Identities()
_kernels = functools.cache(_Kernels)
_COSTS = {"norm": 10.0}


def _zero_as(dtype):
    """The element type that stands for all whose words are zero alike."""
    return "uint8" if itemsize(dtype) == 1 else "float16" if itemsize(dtype) == 2 and dtype in CONVERTED else dtype


def plan_reduce(kind: str, dtype: str, out_dtype: str, shape: tuple, strides: tuple, axes: tuple, out_strides: tuple, *,
                correction: float = 1, exponent: float = 2.0) -> Prepared:
    """Prepare a reduction, called with the addresses of the input and the output.

    Args:
        kind: "sum", "nansum", "prod", "mean", "max", "min" (a NaN wins), "any", "all", "not_all", "count_nonzero",
            "sum_squares", "norm", "var" or "std" (of a real dtype).
        dtype, out_dtype: dtype names. Sums, products and means are taken in `out_dtype`, or wider.
        shape, strides: the input's, in elements.
        axes: the reduced dimensions, not negative; with none of them every element is an output.
        out_strides: the output's strides along `shape` (those of reduced dimensions are not looked at).
        correction: for "var" and "std", what is taken from the number of elements to give the divisor (no less than 0).
        exponent: for "norm", its order; 0, 1, 2 and the infinities have forms of their own.
    """
    if kind == "norm":
        kind = NORMS.get(float(exponent), kind)
    if kind in ("sum", "mean") and dtype == out_dtype and dtype.startswith("complex"):
        part = real_type(dtype)                          # a complex sum is two sums of reals
        return plan_reduce(kind, part, part, (*shape, 2), (*[2 * s for s in strides], 1), axes,
                           (*[2 * s for s in out_strides], 1))
    if out_dtype == "bool":
        kind = {"sum": "any", "max": "any", "prod": "all", "min": "all"}.get(kind, kind)
    if (kind, dtype, out_dtype) == ("sum", "bool", "int64"):
        kind = "count_nonzero"
    if kind in _TESTS:                                   # an answer is 0 or 1 as it is
        dtype, out_dtype = _zero_as(dtype), _zero_as(out_dtype)
    count = float(math.prod(shape[a] for a in axes))
    if count == 1 and kind in ("norm", "norm1", "norm2", "norm-inf"):
        kind = "norminf"                                 # the magnitude of a single element
    descriptor = nest(shape, strides, axes, out_strides)
    if kind in WRITES:
        return plan_stages(descriptor, 2.0, itemsize(dtype), itemsize(out_dtype), moments_kernels(kind, dtype, out_dtype),
                           (float(correction), count))
    return plan_stages(descriptor, _COSTS.get(kind, 1.0), itemsize(dtype), itemsize(out_dtype),
                       _kernels(kind, dtype, out_dtype), (float(exponent), count))
