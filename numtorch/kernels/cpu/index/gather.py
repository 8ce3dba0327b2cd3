"""Reading and writing by index: gather, scatter, index_select, embedding, advanced indexing. Masks are in mask.py.

All are one traversal (traversal.py), in one of four forms, each a kernel of its own, so that a program compiles what it uses.
With a single index array and runs of one element, which gather and scatter are, it goes in one pass along the last dim
(`elements`); where all rows share their indices, as in `x[:, index]`, these become offsets once, for 1024 columns at a time
(`columns`); whole rows by one list of indices, as of an embedding, are copied one after another (`rows`); all else is `runs`. Where
indices pick rows, a tile of columns is done for all of them before the next: what it touches of each row stays near.

Every index is compared with the dim's size before it is used, a block at a time: to look at all of them first would read a large
index array from memory twice. Only a write to few positions does that. At a bad index a call
stops, and `status`, which the caller has set to 0, is 1 + its position; where several threads write, in the part of the positions
that one of them has. Repeated indices are written in order, by one thread.

Elements are copied as words of their size; a 16-byte element is two words.
"""
from __future__ import annotations

from numpy import float32, int64

from ...elementtypes import is_complex, itemsize, real_type, same
from ...intrinsics import local_array, offset
from ..move.rows import move_alone, vectors
from ..shared.elements import WORDS, part_offsets, prepare_parts, shares, typed
from .traversal import (
    BLOCK,
    DIMS,
    FIRST,
    HEADER,
    LEAST,
    OTHER_STEP,
    RUN,
    SIZE,
    STEP,
    STOP,
    STRIDES,
    X_STEP,
    block_starts,
    merged,
    other_starts,
    plan_traversal,
)

T = float32
load = store = same
TILE = 128                       # columns; few of them, of rows a power of two apart, would all fall into a few sets of the cache
COLUMNS = 1024                   # whose offsets are at hand for all rows
SPAN = 2048                      # indices that are looked at and then used: half of L1


# ---------------------------------------------------------------- one index array, runs of one element
def row_start(row, dims, sizes, strides):
    """The element offset of a row: a position in all dims but the last. The first dim needs no division, which of a row of 64
    would be a third of the time."""
    base = int64(0)
    for back in range(1, dims - 1):
        d = dims - 1 - back
        base += row % sizes[d] * strides[d]
        row = row // sizes[d]
    return base + row * strides[0] if dims > 1 else base


def first_bad(index, count, stride, entry):
    for i in range(count):
        value = int64(index[i * stride])
        if value < entry[LEAST] or value >= entry[SIZE]:
            return int64(i)
    return int64(count)


def number_bad(index, count, stride, entry):
    size, least = entry[SIZE], entry[LEAST]
    wrong = int64(0)
    if stride == 1:
        for i in range(count):
            value = int64(index[i])
            wrong += int64((value < least) | (value >= size))
    else:
        for i in range(count if stride != 0 else min(count, int64(1))):
            value = int64(index[i * stride])
            wrong += int64((value < least) | (value >= size))
    return wrong


def shared_indices_good(index, status, descriptor):
    """Whether the indices that all rows share are in range; the first position that is not goes to `status`."""
    dims = descriptor[DIMS]
    sizes = offset(descriptor, HEADER)
    entry = offset(sizes, 3 * dims)
    last, stride = sizes[dims - 1], entry[STRIDES + dims - 1]
    if number_bad(index, last, stride, entry) == 0:
        return True
    status[0] = descriptor[FIRST] + first_bad(index, last, stride, entry) + 1
    return False


def block_good(c, rows, span, index_row, stride, entry):
    """Whether all indices of a block are; rows of them that lie one behind another are one row."""
    if stride == 1 and index_row == span:
        return number_bad(c, rows * span, stride, entry) == 0
    wrong = int64(0)
    for r in range(rows):
        wrong += number_bad(offset(c, r * index_row), span, stride, entry)
    return wrong == 0


def few_good(index, more, status, descriptor):
    """Whether the indices of few positions are in range, which saves a call that looks at them before anything is written; of many
    positions it says yes. The first that is not goes to `status`."""
    if descriptor[STOP] - descriptor[FIRST] > 2 * BLOCK:
        return True
    starts = local_array(int64, BLOCK)
    places = local_array(int64, BLOCK)
    for first in range(descriptor[FIRST], descriptor[STOP], BLOCK):
        count = min(int64(BLOCK), descriptor[STOP] - first)
        good = block_starts(starts, places, index, more, first, count, descriptor)
        if good < count:
            status[0] = first + good + 1
            return False
    return True


def take_block(a, b, c, rows, span, x_row, out_row, index_row, x_stride, out_stride, stride, entry):
    """b[r, i] = a[index r, i], where all indices are good. Returns whether they are; they are still in L1 when they are used."""
    if not block_good(c, rows, span, index_row, stride, entry):
        return False
    size, step = entry[SIZE], entry[STEP]
    if out_stride == 1 and stride == 1 and x_stride == 0 and step == 1 and entry[LEAST] == 0:
        for r in range(rows):
            for i in range(span):
                b[r * out_row + i] = a[r * x_row + int64(c[r * index_row + i])]
    elif out_stride == 1 and stride == 1:
        for r in range(rows):
            for i in range(span):
                value = int64(c[r * index_row + i])
                b[r * out_row + i] = a[r * x_row + i * x_stride + (value + ((value >> 63) & size)) * step]
    else:
        for r in range(rows):
            for i in range(span):
                value = int64(c[r * index_row + i * stride])
                b[r * out_row + i * out_stride] = a[r * x_row + i * x_stride + (value + ((value >> 63) & size)) * step]
    return True


def put_block(a, b, c, rows, span, x_row, value_row, index_row, x_stride, value_stride, stride, entry):
    """a[index r, i] = put_one(a[index r, i], b[r, i]), where all indices are good. Returns whether they are."""
    if not block_good(c, rows, span, index_row, stride, entry):
        return False
    size, step = entry[SIZE], entry[STEP]
    if stride == 1 and value_stride == 1 and x_stride == 0 and step == 1 and entry[LEAST] == 0:
        for r in range(rows):
            for i in range(span):
                target = offset(a, r * x_row + int64(c[r * index_row + i]))
                target[0] = put_one(target[0], b[r * value_row + i])
    elif stride == 1 and value_stride == 1:
        for r in range(rows):
            for i in range(span):
                value = int64(c[r * index_row + i])
                target = offset(a, r * x_row + i * x_stride + (value + ((value >> 63) & size)) * step)
                target[0] = put_one(target[0], b[r * value_row + i])
    else:
        for r in range(rows):
            for i in range(span):
                value = int64(c[r * index_row + i * stride])
                target = offset(a, r * x_row + i * x_stride + (value + ((value >> 63) & size)) * step)
                target[0] = put_one(target[0], b[r * value_row + i * value_stride])
    return True


def walk_elements(x, index, other, status, descriptor):
    """`on_block` over the positions of this part, in blocks whose indices stay in L1; stops at the first that has a bad one.
    Short rows are taken many at once."""
    dims = descriptor[DIMS]
    sizes = offset(descriptor, HEADER)
    last = sizes[dims - 1]
    entry = offset(sizes, 3 * dims)
    x_stride, other_stride, stride = sizes[2 * dims - 1], sizes[3 * dims - 1], entry[STRIDES + dims - 1]
    if dims == 1:
        for first in range(descriptor[FIRST], descriptor[STOP], SPAN):
            span = min(int64(SPAN), descriptor[STOP] - first)
            part = offset(index, first * stride)
            if not on_block(offset(x, first * x_stride), offset(other, first * other_stride), part, int64(1), span,
                            int64(0), int64(0), int64(0), x_stride, other_stride, stride, entry):
                status[0] = first + first_bad(part, span, stride, entry) + 1
                return
        return
    x_row, other_row, index_row, row_count = sizes[2 * dims - 2], sizes[3 * dims - 2], entry[STRIDES + dims - 2], sizes[dims - 2]
    tile = min(last, int64(TILE if x_stride == 1 and entry[STEP] != 1 else SPAN))
    block = SPAN // tile
    row = descriptor[FIRST] // last
    while row < descriptor[STOP] // last:
        count = min(descriptor[STOP] // last - row, row_count - row % row_count)
        a = offset(x, row_start(row, dims, sizes, offset(sizes, dims)))
        b = offset(other, row_start(row, dims, sizes, offset(sizes, 2 * dims)))
        c = offset(index, row_start(row, dims, sizes, offset(entry, STRIDES)))
        for first in range(0, last, tile):
            span = min(last - first, tile)
            for r in range(0, count, block):
                rows = min(count - r, block)
                part = offset(c, r * index_row + first * stride)
                if not on_block(offset(a, r * x_row + first * x_stride), offset(b, r * other_row + first * other_stride), part,
                                rows, span, x_row, other_row, index_row, x_stride, other_stride, stride, entry):
                    bad = first_bad(part, span, stride, entry)
                    while bad == span:
                        r += 1
                        part = offset(part, index_row)
                        bad = first_bad(part, span, stride, entry)
                    status[0] = (row + r) * last + first + bad + 1
                    return
        row += count


def column_offsets(places, index, first, width, descriptor):
    """Where in x each of `width` columns from `first` on is read or written, for the indices that all rows share."""
    dims = descriptor[DIMS]
    sizes = offset(descriptor, HEADER)
    entry = offset(sizes, 3 * dims)
    size, step, x_stride, stride = entry[SIZE], entry[STEP], sizes[2 * dims - 1], entry[STRIDES + dims - 1]
    for i in range(width):
        value = int64(index[(first + i) * stride])
        value += (value >> 63) & size
        places[i] = (first + i) * x_stride + value * step


def take_columns(x, index, more, out, status, descriptor):
    """The rows that this part covers are whole."""
    if not shared_indices_good(index, status, descriptor):
        return
    dims = descriptor[DIMS]
    sizes = offset(descriptor, HEADER)
    last = sizes[dims - 1]
    out_stride = sizes[3 * dims - 1]
    places = local_array(int64, COLUMNS)
    for first in range(0, last, COLUMNS):
        width = min(last - first, int64(COLUMNS))
        column_offsets(places, index, first, width, descriptor)
        for row in range(descriptor[FIRST] // last, descriptor[STOP] // last):
            a = offset(x, row_start(row, dims, sizes, offset(sizes, dims)))
            b = offset(out, row_start(row, dims, sizes, offset(sizes, 2 * dims)) + first * out_stride)
            if out_stride == 1:
                for i in range(width):
                    b[i] = a[places[i]]
            else:
                for i in range(width):
                    b[i * out_stride] = a[places[i]]


def take_rows(x, index, more, out, status, descriptor):
    """Whole rows by one list of indices, each looked at where it is used."""
    run, x_step, out_step = descriptor[RUN], descriptor[HEADER + 1], descriptor[HEADER + 2]
    entry = offset(descriptor, HEADER + 3)
    size, least, step, stride = entry[SIZE], entry[LEAST], entry[STEP], entry[STRIDES]
    for i in range(descriptor[FIRST], descriptor[STOP]):
        value = int64(index[i * stride])
        if value < least or value >= size:
            status[0] = i + 1
            return
        a = offset(x, i * x_step + (value + ((value >> 63) & size)) * step)
        move_alone(a, offset(out, i * out_step), run)


def put_columns(x, index, more, values, status, descriptor):
    if not shared_indices_good(index, status, descriptor):
        return
    dims = descriptor[DIMS]
    sizes = offset(descriptor, HEADER)
    last = sizes[dims - 1]
    stride = sizes[3 * dims - 1]
    places = local_array(int64, COLUMNS)
    for first in range(0, last, COLUMNS):
        width = min(last - first, int64(COLUMNS))
        column_offsets(places, index, first, width, descriptor)
        for row in range(descriptor[FIRST] // last, descriptor[STOP] // last):
            a = offset(x, row_start(row, dims, sizes, offset(sizes, dims)))
            b = offset(values, row_start(row, dims, sizes, offset(sizes, 2 * dims)) + first * stride)
            for i in range(width):
                a[places[i]] = put_one(a[places[i]], b[i * stride])


# ---------------------------------------------------------------- what a write does
def overwrite(old, new):
    return new


def combine_stored(old, new):
    return store(combine(load(old), load(new)))


def add(old, new):
    return old + new


def multiply(old, new):
    return old * new


def larger(old, new):
    """The larger; NaN if either is."""
    return old if old >= new or old != old else new


def smaller(old, new):
    return old if old <= new or old != old else new


put_one, combine, on_block = overwrite, add, take_block
REDUCTIONS = {"add": add, "multiply": multiply, "maximum": larger, "minimum": smaller}


# ---------------------------------------------------------------- any number of index arrays, runs of any length
def take_elements(x, index, more, out, status, descriptor):
    walk_elements(x, index, out, status, descriptor)


def put_elements(x, index, more, values, status, descriptor):
    if few_good(index, more, status, descriptor):
        walk_elements(x, index, values, status, descriptor)


def take_runs(x, index, more, out, status, descriptor):
    starts = local_array(int64, BLOCK)
    places = local_array(int64, BLOCK)
    run, x_stride, out_stride = descriptor[RUN], descriptor[X_STEP], descriptor[OTHER_STEP]
    for first in range(descriptor[FIRST], descriptor[STOP], BLOCK):
        count = min(int64(BLOCK), descriptor[STOP] - first)
        good = block_starts(starts, places, index, more, first, count, descriptor)
        if good < count:
            status[0] = first + good + 1
            return
        other_starts(places, first, count, descriptor)
        if run == 1:
            for i in range(count):
                out[places[i]] = x[starts[i]]
        elif x_stride == 1 and out_stride == 1:
            for i in range(count):
                move_alone(offset(x, starts[i]), offset(out, places[i]), run)
        else:
            for i in range(count):
                a = offset(x, starts[i])
                b = offset(out, places[i])
                for j in range(run):
                    b[j * out_stride] = a[j * x_stride]


def put_runs(x, index, more, values, status, descriptor):
    """x[...] = put_one(x[...], values[...])."""
    if not few_good(index, more, status, descriptor):
        return
    starts = local_array(int64, BLOCK)
    places = local_array(int64, BLOCK)
    run, x_stride, value_stride = descriptor[RUN], descriptor[X_STEP], descriptor[OTHER_STEP]
    for first in range(descriptor[FIRST], descriptor[STOP], BLOCK):
        count = min(int64(BLOCK), descriptor[STOP] - first)
        good = block_starts(starts, places, index, more, first, count, descriptor)
        if good < count:
            status[0] = first + good + 1
            return
        other_starts(places, first, count, descriptor)
        for i in range(count):
            a = offset(x, starts[i])
            b = offset(values, places[i])
            if x_stride == 1 and value_stride == 1:
                for j in range(run):
                    a[j] = put_one(a[j], b[j])
            else:
                for j in range(run):
                    a[j * x_stride] = put_one(a[j * x_stride], b[j * value_stride])


READERS = {"elements": take_elements, "columns": take_columns, "rows": take_rows, "runs": take_runs}
WRITERS = {"elements": put_elements, "columns": put_columns, "rows": put_runs, "runs": put_runs}


def _kernels(functions, element, index_dtype, **names):
    """What gives the kernel of a form."""
    signature = ("element*", index_dtype + "*", "int64*", "element*", "int64*", "int64*")
    return lambda form: typed(functions[form], element, signature, **names)


def _reader(size, index_dtype):
    return _kernels(READERS, WORDS[min(size, 8)], index_dtype, on_block=take_block, **vectors(size)), (2 if size == 16 else 1)


def _writer(dtype_or_size, reduce, index_dtype):
    if reduce is None:
        size = dtype_or_size if isinstance(dtype_or_size, int) else itemsize(dtype_or_size)
        return _kernels(WRITERS, WORDS[min(size, 8)], index_dtype, on_block=put_block), (2 if size == 16 else 1)
    parts = is_complex(dtype_or_size)
    if parts and reduce != "add":
        raise ValueError(f"expected reduce='add' for {dtype_or_size}, got {reduce!r}")
    return _reducers(real_type(dtype_or_size), reduce, index_dtype), (2 if parts else 1)


def _reducers(dtype, reduce, index_dtype):
    return _kernels(WRITERS, dtype, index_dtype, combine=REDUCTIONS[reduce], put_one=combine_stored, on_block=put_block)


# ---------------------------------------------------------------- planners
# The addresses of all of these: x, index, more, other (out, or what is written), status. `more` is an int64 table of the addresses
# of the second and later index arrays (int64 too), or 0. `status`, 0 before the call, is 1 + the position of a bad index after it:
# one that is not in [0, size), or in [-size, size) where negative ones count from the end. What is written then is not determined.
def plan_index(size: int, index_shape, index_strides, sizes, steps, rest_shape, rest_strides, out_index_strides,
               out_rest_strides, index_dtype: str = "int64", wrap: bool = True):
    """Advanced indexing, read: out[i..., r...] = x[index_0[i], index_1[i], ..., r...]. Addresses and status: see above.

    Args:
        size: bytes an element takes.
        index_shape, index_strides: the broadcast shape of the index arrays, and each array's strides over it.
        sizes, steps: of each indexed dim of x, its size and stride.
        rest_shape, rest_strides: of x's other dims, in order.
        out_index_strides, out_rest_strides: out's strides over the two.
        index_dtype: of the first index array.
        wrap: whether negative indices count from the end; else they are bad.
    """
    kernel_of, words = _reader(size, index_dtype)
    return _advanced(kernel_of, False, words, index_shape, index_strides, sizes, steps, rest_shape, rest_strides,
                     out_index_strides, out_rest_strides, wrap)


def plan_index_put(dtype: str, index_shape, index_strides, sizes, steps, rest_shape, rest_strides, value_index_strides,
                   value_rest_strides, reduce: str | None = None, index_dtype: str = "int64", wrap: bool = True):
    """Advanced indexing, written: x[index..., r...] = values[i..., r...], or combined with what is there. Where indices meet, the
    last one's value stays, or all are combined. Addresses and status: see above.

    Args:
        index_shape, index_strides, sizes, steps, rest_shape, rest_strides, index_dtype, wrap: as for `plan_index`.
        value_index_strides, value_rest_strides: the values' strides over the two shapes, 0 where they are broadcast.
        reduce: None, "add", "multiply", "maximum" or "minimum".
    """
    kernel_of, words = _writer(dtype, reduce, index_dtype)
    return _advanced(kernel_of, True, words, index_shape, index_strides, sizes, steps, rest_shape, rest_strides,
                     value_index_strides, value_rest_strides, wrap)


def _advanced(kernel_of, writes, words, index_shape, index_strides, sizes, steps, rest_shape, rest_strides, other_index,
              other_rest, wrap):
    rest, (rest_x, rest_other) = merged(rest_shape, [rest_strides, other_rest])
    if 0 in rest_shape:
        rest, rest_x, rest_other = [0], [0], [0]
    if rest_other[-1] != 1 and rest[-1] > 1 and index_shape and (other_index[-1] == 1 or other_index[-1] == 0 != rest_x[-1] - 1):
        inner = len(index_shape)                         # the index's dims are the inner ones of the other array, or it is a number
        indices = [(n, step, [*[0] * len(rest), *strides]) for n, step, strides in zip(sizes, steps, index_strides)]
        return plan_traversal(kernel_of, writes, [*rest, *index_shape], [*rest_x, *[0] * inner], [*rest_other, *other_index],
                              (1, 1, 1), indices, words, wrap)
    run = (rest[-1], rest_x[-1], rest_other[-1]) if rest[-1] != 1 else (1, 1, 1)
    # In the order of x's memory: a row of all matrices before the next takes half as long again.
    before = [d for d in range(len(rest) - 1) if abs(rest_x[d]) > max(map(abs, steps))]
    behind = [d for d in range(len(rest) - 1) if d not in before]

    def nested(over_rest, over_index):
        return [*[over_rest[d] for d in before], *over_index, *[over_rest[d] for d in behind]]

    still = [0] * len(index_shape)
    indices = [(n, step, nested([0] * len(rest), strides)) for n, step, strides in zip(sizes, steps, index_strides)]
    return plan_traversal(kernel_of, writes, nested(rest, index_shape), nested(rest_x, still), nested(rest_other, other_index), run,
                          indices, words, wrap)


def plan_embedding_grad(dtype: str, rows: int, width: int, count: int, index_dtype: str = "int64", wrap: bool = True):
    """grad_weight[index[i]] += grad[i] for i in range(count), in order of i, so the result is the same for any thread count.

    Addresses: grad_weight (rows, width), index (count), 0, grad (count, width), status as above. The caller zeroes grad_weight
    first, and a padding row afterwards.

    Args:
        index_dtype, wrap: as for `plan_index`.
    """
    kernel = _reducers(dtype, "add", index_dtype)("runs")
    size, work = itemsize(dtype), count * width
    parts = shares(width, work, 20_000, multiple=32)      # columns: each thread sees all the indices
    header = [0, count, 1, 1]
    entry = rows, -rows if wrap else 0, width, 1
    descriptors = [[*header, stop - start, 1, 1, max(1, count), 0, width, *entry] for start, stop in parts]
    return prepare_parts(kernel, descriptors, work, part_offsets(parts, size, 0, 0, size, 0))


def plan_gather(size: int, dim: int, x_shape, x_strides, index_shape, index_strides, out_strides, index_dtype="int64"):
    """out[i][j][k] = x[index[i][j][k]][j][k] for dim 0, and so on. 0-dim tensors come as shape (1,). Negative indices are bad.
    Addresses and status: see above.

    Args:
        size: bytes an element takes.
        dim: of x, which the indices are of.
        x_shape, x_strides, index_shape, index_strides, out_strides: in elements; `out_strides` over `index_shape`.
        index_dtype: of the indices.
    """
    kernel_of, words = _reader(size, index_dtype)
    return _gathered(kernel_of, False, words, dim, x_shape, x_strides, index_shape, index_strides, out_strides)


def plan_scatter(dtype: str, dim: int, x_shape, x_strides, index_shape, index_strides, source_strides,
                 reduce: str | None = None, index_dtype: str = "int64"):
    """x[index[i][j][k]][j][k] = source[i][j][k] for dim 0, and so on, or combined with what is there. Negative indices are bad.
    Addresses and status: see above.

    Args:
        dim, x_shape, x_strides, index_shape, index_strides, index_dtype: as for `plan_gather`.
        source_strides: over `index_shape`; of a scalar all 0.
        reduce: None, "add", "multiply", "maximum" or "minimum".
    """
    kernel_of, words = _writer(dtype, reduce, index_dtype)
    return _gathered(kernel_of, True, words, dim, x_shape, x_strides, index_shape, index_strides, source_strides)


def _gathered(kernel_of, writes, words, dim, x_shape, x_strides, index_shape, index_strides, other_strides):
    base = [0 if d == dim else stride for d, stride in enumerate(x_strides)]
    index = (x_shape[dim], x_strides[dim], list(index_strides))
    return plan_traversal(kernel_of, writes, index_shape, base, other_strides, (1, 1, 1), [index], words, wrap=False)
