"""Reading and writing by index: gather, scatter, index_select, embedding, advanced indexing. Masks are in mask.py.

All of them are one walk. A *position* is a point of an index space of any rank; each position has one run of elements in
the indexed array x and one in the other array. Where a run starts in x is the sum of the position times x's strides,
and of index * step for each index array (wrapped when negative). A planner says which strides those are:

    gather along dim         every dim is a position; x has stride 0 in `dim`, whose index has that stride as its step
    index_select, embedding  the dims up to and with the indexed one are positions, the rest is the run
    x[i, j]                  two index arrays, broadcast over the same positions

Positions are worked off in blocks of 256 whose starts are on the stack; with a single index array and runs of one element,
which gather, scatter and `x[:, index]` are, in one pass along the last dim. Every index is compared with the dim's size
before it is used. A write looks at all indices first, so that a bad one leaves memory untouched; `status`, which the
caller has set to 0, is then 1 + the position of a bad index. Repeated indices are written in order, in one thread.

Elements are copied as words of their size; a 16-byte element is two words.
"""
from __future__ import annotations

from numpy import float32, int64

from ..intrinsics import as_pointer, local_array, offset
from .elements import WORDS, itemsize, prepare_parts, same, shares, typed

T = float32
load = store = same
BLOCK = 256
HEADER = 7                       # first, stop, dims, index arrays, run: length, stride in x, stride in the other
GRAIN = 20_000                   # elements that make a thread worth waking


# ---------------------------------------------------------------- positions
# walk: the header, then sizes[dims], x_strides[dims], other_strides[dims],
# then for each index array: size, step, strides[dims].
def add_starts(starts, first, count, dims, sizes, strides):
    """starts[i] += the element offset of position first + i in an array of these strides."""
    last = sizes[dims - 1]
    stride = strides[dims - 1]
    done = int64(0)
    while done < count:
        position = first + done
        column = position % last
        row = position // last
        base = int64(0)
        for back in range(1, dims):
            d = dims - 1 - back
            base += row % sizes[d] * strides[d]
            row = row // sizes[d]
        span = min(count - done, last - column)
        part = offset(starts, done)
        for i in range(span):
            part[i] += base + (column + i) * stride
        done += span


def add_indices(starts, places, index, first, count, dims, sizes, entry):
    """starts[i] += step * index of position first + i. Returns how many are good before the first bad one."""
    size = entry[0]
    step = entry[1]
    for i in range(count):
        places[i] = 0
    add_starts(places, first, count, dims, sizes, offset(entry, 2))
    for i in range(count):
        value = int64(index[places[i]])
        if value < 0:
            value += size
        if value < 0 or value >= size:
            return int64(i)
        starts[i] += value * step
    return int64(count)


def block_starts(starts, places, index, more, first, count, walk):
    """Where each position's run starts in x. Returns how many positions are good before the first bad one."""
    dims = walk[2]
    sizes = offset(walk, HEADER)
    for i in range(count):
        starts[i] = 0
    add_starts(starts, first, count, dims, sizes, offset(sizes, dims))
    entry = offset(sizes, 3 * dims)
    good = add_indices(starts, places, index, first, count, dims, sizes, entry)
    for k in range(1, walk[3]):
        entry = offset(entry, 2 + dims)
        also = add_indices(starts, places, as_pointer(more[k - 1], more), first, count, dims, sizes, entry)
        good = min(good, also)
    return good


def other_starts(starts, first, count, walk):
    dims = walk[2]
    sizes = offset(walk, HEADER)
    for i in range(count):
        starts[i] = 0
    add_starts(starts, first, count, dims, sizes, offset(sizes, 2 * dims))


def all_good(index, more, status, walk):
    """Whether every index is in range; the first position that is not goes to `status`."""
    starts = local_array(int64, 256)
    places = local_array(int64, 256)
    for first in range(walk[0], walk[1], BLOCK):
        count = min(int64(BLOCK), walk[1] - first)
        good = block_starts(starts, places, index, more, first, count, walk)
        if good < count:
            status[0] = first + good + 1
            return False
    return True


# ---------------------------------------------------------------- one index array, runs of one element
def row_start(row, dims, sizes, strides):
    """The element offset of a row: a position in all dims but the last."""
    base = int64(0)
    for back in range(1, dims):
        d = dims - 1 - back
        base += row % sizes[d] * strides[d]
        row = row // sizes[d]
    return base


def first_bad(index, count, stride, size):
    for i in range(count):
        value = int64(index[i * stride])
        if value < -size or value >= size:
            return int64(i)
    return int64(count)


def indices_good(index, status, walk):
    """Whether every index is in range; the first position that is not goes to `status`."""
    dims = walk[2]
    sizes = offset(walk, HEADER)
    last = sizes[dims - 1]
    entry = offset(sizes, 3 * dims)
    size = entry[0]
    stride = entry[1 + dims]
    position = walk[0]
    while position < walk[1]:
        column = position % last
        span = min(last - column, walk[1] - position)
        part = offset(index, row_start(position // last, dims, sizes, offset(entry, 2)) + column * stride)
        wrong = int64(0)
        if stride == 1:
            for i in range(span):
                value = int64(part[i])
                wrong |= int64(value < -size) | int64(value >= size)
        elif stride == 0:
            wrong = int64(part[0] < -size) | int64(part[0] >= size)
        else:
            for i in range(span):
                value = int64(part[i * stride])
                wrong |= int64(value < -size) | int64(value >= size)
        if wrong != 0:
            status[0] = position + first_bad(part, span, stride, size) + 1
            return False
        position += span
    return True


def take_elements(x, index, out, walk):
    dims = walk[2]
    sizes = offset(walk, HEADER)
    last = sizes[dims - 1]
    entry = offset(sizes, 3 * dims)
    size, step = entry[0], entry[1]
    x_stride, out_stride, stride = sizes[2 * dims - 1], sizes[3 * dims - 1], entry[1 + dims]
    position = walk[0]
    while position < walk[1]:
        column = position % last
        row = position // last
        span = min(last - column, walk[1] - position)
        a = offset(x, row_start(row, dims, sizes, offset(sizes, dims)) + column * x_stride)
        b = offset(out, row_start(row, dims, sizes, offset(sizes, 2 * dims)) + column * out_stride)
        c = offset(index, row_start(row, dims, sizes, offset(entry, 2)) + column * stride)
        for i in range(span):
            value = int64(c[i * stride])
            value += (value >> 63) & size
            b[i * out_stride] = a[i * x_stride + value * step]
        position += span


def put_elements(x, index, values, walk):
    """x[...] = put_one(x[...], values[...])"""
    dims = walk[2]
    sizes = offset(walk, HEADER)
    last = sizes[dims - 1]
    entry = offset(sizes, 3 * dims)
    size, step = entry[0], entry[1]
    x_stride, value_stride, stride = sizes[2 * dims - 1], sizes[3 * dims - 1], entry[1 + dims]
    position = walk[0]
    while position < walk[1]:
        column = position % last
        row = position // last
        span = min(last - column, walk[1] - position)
        a = offset(x, row_start(row, dims, sizes, offset(sizes, dims)) + column * x_stride)
        b = offset(values, row_start(row, dims, sizes, offset(sizes, 2 * dims)) + column * value_stride)
        c = offset(index, row_start(row, dims, sizes, offset(entry, 2)) + column * stride)
        for i in range(span):
            value = int64(c[i * stride])
            value += (value >> 63) & size
            target = offset(a, i * x_stride + value * step)
            target[0] = put_one(target[0], b[i * value_stride])
        position += span


def combine(old, new):
    return old + new


def overwrite(old, new):
    return new


def combine_stored(old, new):
    return store(combine(load(old), load(new)))


put_one = overwrite


# ---------------------------------------------------------------- kernels
def take(x, index, more, out, status, walk):
    if walk[3] == 1 and walk[4] == 1:
        if indices_good(index, status, walk):
            take_elements(x, index, out, walk)
        return
    starts = local_array(int64, 256)
    places = local_array(int64, 256)
    run, x_stride, out_stride = walk[4], walk[5], walk[6]
    for first in range(walk[0], walk[1], BLOCK):
        count = min(int64(BLOCK), walk[1] - first)
        good = block_starts(starts, places, index, more, first, count, walk)
        if good < count:
            status[0] = first + good + 1
            return
        other_starts(places, first, count, walk)
        if run == 1:
            for i in range(count):
                out[places[i]] = x[starts[i]]
        elif x_stride == 1 and out_stride == 1:
            for i in range(count):
                a = offset(x, starts[i])
                b = offset(out, places[i])
                for j in range(run):
                    b[j] = a[j]
        else:
            for i in range(count):
                a = offset(x, starts[i])
                b = offset(out, places[i])
                for j in range(run):
                    b[j * out_stride] = a[j * x_stride]


def put(x, index, more, values, status, walk):
    if walk[3] == 1 and walk[4] == 1:
        if indices_good(index, status, walk):
            put_elements(x, index, values, walk)
        return
    starts = local_array(int64, 256)
    places = local_array(int64, 256)
    run, x_stride, value_stride = walk[4], walk[5], walk[6]
    if not all_good(index, more, status, walk):
        return
    for first in range(walk[0], walk[1], BLOCK):
        count = min(int64(BLOCK), walk[1] - first)
        block_starts(starts, places, index, more, first, count, walk)
        other_starts(places, first, count, walk)
        for i in range(count):
            a = offset(x, starts[i])
            b = offset(values, places[i])
            if x_stride == 1 and value_stride == 1:
                for j in range(run):
                    a[j] = b[j]
            else:
                for j in range(run):
                    a[j * x_stride] = b[j * value_stride]


def put_reduce(x, index, more, values, status, walk):
    """x[...] = combine(x[...], values[...])"""
    if walk[3] == 1 and walk[4] == 1:
        if indices_good(index, status, walk):
            put_elements(x, index, values, walk)
        return
    starts = local_array(int64, 256)
    places = local_array(int64, 256)
    run, x_stride, value_stride = walk[4], walk[5], walk[6]
    if not all_good(index, more, status, walk):
        return
    for first in range(walk[0], walk[1], BLOCK):
        count = min(int64(BLOCK), walk[1] - first)
        block_starts(starts, places, index, more, first, count, walk)
        other_starts(places, first, count, walk)
        for i in range(count):
            a = offset(x, starts[i])
            b = offset(values, places[i])
            if x_stride == 1 and value_stride == 1:
                for j in range(run):
                    a[j] = store(combine(load(a[j]), load(b[j])))
            else:
                for j in range(run):
                    a[j * x_stride] = store(combine(load(a[j * x_stride]), load(b[j * value_stride])))


def multiply(old, new):
    return old * new


def larger(old, new):
    """The larger; NaN if either is."""
    return old if old >= new or old != old else new


def smaller(old, new):
    return old if old <= new or old != old else new


REDUCTIONS = {"add": combine, "multiply": multiply, "maximum": larger, "minimum": smaller}
PARTS = {"complex64": "float32", "complex128": "float64"}


# ---------------------------------------------------------------- planning the walk
def _merged(sizes, columns):
    """Dims of size 1 dropped and neighbours joined where every array steps through them as through one."""
    kept = [(n, strides) for n, strides in zip(sizes, zip(*columns)) if n != 1]
    merged = []
    for n, strides in kept:
        if merged and all(outer == inner * n for outer, inner in zip(merged[-1][1], strides)):
            merged[-1] = (merged[-1][0] * n, strides)
        else:
            merged.append((n, strides))
    merged = merged or [(1, (0,) * len(columns))]
    return [n for n, _ in merged], [list(column) for column in zip(*(strides for _, strides in merged))]


def _plan(kernel, writes, sizes, x_strides, other_strides, run, indices, words):
    """indices: (size, step, strides over `sizes`) an index array. run: (length, stride in x, stride in other)."""
    sizes, x_strides, other_strides = list(sizes), list(x_strides), list(other_strides)
    if words == 2:                                       # the two words of an element are a dim of positions or the run
        x_strides, other_strides = [2 * s for s in x_strides], [2 * s for s in other_strides]
        indices = [(size, 2 * step, strides) for size, step, strides in indices]
        if run[1:] == (1, 1):
            run = (2 * run[0], 1, 1)
        else:
            sizes, x_strides = [*sizes, run[0]], [*x_strides, 2 * run[1]]
            other_strides, run = [*other_strides, 2 * run[2]], (2, 1, 1)
            indices = [(size, step, [*strides, 0]) for size, step, strides in indices]
    total = 1
    for n in sizes:
        total *= n
    columns = [x_strides, other_strides, *(strides for _, _, strides in indices)]
    sizes, columns = _merged(sizes, columns) if total else ([1], [[0]] * len(columns))
    tail = [len(sizes), len(indices), *run, *sizes, *columns[0], *columns[1]]
    for (size, step, _), strides in zip(indices, columns[2:]):
        tail += [size, step, *strides]
    if writes or total * run[0] < 2 * GRAIN:
        return prepare_parts(kernel, [[0, total, *tail]], None, total * run[0])
    parts = shares(total, total * run[0], GRAIN)
    return prepare_parts(kernel, [[start, stop, *tail] for start, stop in parts], [(0,) * 5] * len(parts), total * run[0])


def _kernel(function, element, index_dtype, **names):
    return typed(function, element, ("element*", index_dtype + "*", "int64*", "element*", "int64*", "int64*"), **names)


def _copying(function, size, index_dtype):
    return _kernel(function, WORDS[min(size, 8)], index_dtype), (2 if size == 16 else 1)


def _reducing(dtype, reduce, index_dtype):
    if dtype in PARTS and reduce != "add":
        raise ValueError(f"expected reduce='add' for {dtype}, got {reduce!r}")
    kernel = _kernel(put_reduce, PARTS.get(dtype, dtype), index_dtype, combine=REDUCTIONS[reduce], put_one=combine_stored)
    return kernel, (2 if dtype in PARTS else 1)


def _writer(dtype_or_size, reduce, index_dtype):
    if reduce is None:
        size = dtype_or_size if isinstance(dtype_or_size, int) else itemsize(dtype_or_size)
        return _copying(put, size, index_dtype)
    return _reducing(dtype_or_size, reduce, index_dtype)


# ---------------------------------------------------------------- planners
# The addresses of all of these: x, index, more, other, status. `more` is the address of an int64 table with the addresses
# of the second and later index arrays (int64 too), or 0.
def plan_index(size: int, index_shape, index_strides, sizes, steps, rest_shape, rest_strides, out_index_strides,
               out_rest_strides, index_dtype: str = "int64"):
    """Advanced indexing, read: out[i..., r...] = x[index_0[i], index_1[i], ..., r...].

    Args:
        size: bytes an element takes.
        index_shape, index_strides: the broadcast shape of the index arrays, and each array's strides over it.
        sizes, steps: of each indexed dim of x, its size and stride.
        rest_shape, rest_strides: of x's other dims, in order.
        out_index_strides, out_rest_strides: out's strides over the two.
    """
    kernel, words = _copying(take, size, index_dtype)
    return _advanced(kernel, False, words, index_shape, index_strides, sizes, steps, rest_shape, rest_strides,
                     out_index_strides, out_rest_strides)


def plan_index_put(dtype: str, index_shape, index_strides, sizes, steps, rest_shape, rest_strides, value_index_strides,
                   value_rest_strides, reduce: str | None = None, index_dtype: str = "int64"):
    """Advanced indexing, written: x[index..., r...] = values[i..., r...], or combined with what is there.

    Args: as for `plan_index`, with the values' strides (0 where they are broadcast) in place of out's.
        reduce: None, "add", "multiply", "maximum" or "minimum".
    """
    kernel, words = _writer(dtype, reduce, index_dtype)
    return _advanced(kernel, True, words, index_shape, index_strides, sizes, steps, rest_shape, rest_strides,
                     value_index_strides, value_rest_strides)


def _advanced(kernel, writes, words, index_shape, index_strides, sizes, steps, rest_shape, rest_strides, other_index,
              other_rest):
    rest, (rest_x, rest_other) = _merged(rest_shape, [rest_strides, other_rest])
    if 0 in rest_shape:
        rest, rest_x, rest_other = [0], [0], [0]
    if rest_other[-1] != 1 and rest[-1] > 1 and index_shape and other_index[-1] == 1:
        inner = len(index_shape)                         # the index's dims are the inner ones of the other array
        indices = [(n, step, [*[0] * len(rest), *strides]) for n, step, strides in zip(sizes, steps, index_strides)]
        return _plan(kernel, writes, [*rest, *index_shape], [*rest_x, *[0] * inner], [*rest_other, *other_index], (1, 1, 1),
                     indices, words)
    run = (rest[-1], rest_x[-1], rest_other[-1]) if rest[-1] != 1 else (1, 1, 1)
    extra = len(rest) - 1
    positions = [*index_shape, *rest[:-1]]
    indices = [(n, step, [*strides, *[0] * extra]) for n, step, strides in zip(sizes, steps, index_strides)]
    return _plan(kernel, writes, positions, [*[0] * len(index_shape), *rest_x[:-1]], [*other_index, *rest_other[:-1]], run,
                 indices, words)


def _along(kernel, writes, words, dim, x_shape, x_strides, count, index_stride, other_strides):
    """One 1-d index array along `dim`: the dims after it that can be joined are the run."""
    after, (after_x, after_other) = _merged(x_shape[dim + 1:], [x_strides[dim + 1:], other_strides[dim + 1:]])
    if 0 in x_shape[dim + 1:]:
        after, after_x, after_other = [0], [0], [0]
    run = (after[-1], after_x[-1], after_other[-1]) if after[-1] != 1 else (1, 1, 1)
    positions = [*x_shape[:dim], count, *after[:-1]]
    index = (x_shape[dim], x_strides[dim], [*[0] * dim, index_stride, *[0] * (len(after) - 1)])
    return _plan(kernel, writes, positions, [*x_strides[:dim], 0, *after_x[:-1]],
                 [*other_strides[:dim + 1], *after_other[:-1]], run, [index], words)


def plan_index_select(size: int, dim: int, x_shape, x_strides, count: int, index_stride: int, out_strides,
                      index_dtype: str = "int64"):
    """out = x with `dim` replaced by x[..., index[i], ...] for `count` indices."""
    kernel, words = _copying(take, size, index_dtype)
    return _along(kernel, False, words, dim, x_shape, x_strides, count, index_stride, out_strides)


def plan_index_write(dtype: str, dim: int, x_shape, x_strides, count: int, index_stride: int, value_strides,
                     reduce: str | None = None, index_dtype: str = "int64"):
    """index_copy, index_add, index_fill (all strides 0): x[..., index[i], ...] = or combined with values[..., i, ...]."""
    kernel, words = _writer(dtype, reduce, index_dtype)
    return _along(kernel, True, words, dim, x_shape, x_strides, count, index_stride, value_strides)


def plan_embedding(size: int, rows: int, width: int, count: int, index_dtype: str = "int64"):
    """out (count, width) = weight (rows, width)[index], all contiguous. Addresses: weight, index, 0, out, status."""
    return plan_index_select(size, 0, (rows, width), (width, 1), count, 1, (width, 1), index_dtype)


def plan_embedding_grad(dtype: str, rows: int, width: int, count: int, index_dtype: str = "int64"):
    """grad_weight[index[i]] += grad[i]; in order of i, so the result is the same for any thread count.

    Addresses: grad_weight, index, 0, grad, status. The caller zeroes grad_weight first, and a padding row afterwards.
    """
    kernel = _kernel(put_reduce, dtype, index_dtype, combine=combine, put_one=combine_stored)
    size, work = itemsize(dtype), count * width
    parts = shares(width, work, GRAIN, multiple=32)      # columns: each thread sees all the indices
    header = [0, count, 1, 1]
    rows_of_walk = [[*header, stop - start, 1, 1, max(1, count), 0, width, rows, width, 1] for start, stop in parts]
    return prepare_parts(kernel, rows_of_walk, [(start * size, 0, 0, start * size, 0) for start, _ in parts], work)


def plan_gather(size: int, dim: int, x_shape, x_strides, index_shape, index_strides, out_strides, index_dtype="int64"):
    """out[i][j][k] = x[index[i][j][k]][j][k] for dim 0, and so on. 0-dim tensors come as shape (1,)."""
    kernel, words = _copying(take, size, index_dtype)
    return _gathered(kernel, False, words, dim, x_shape, x_strides, index_shape, index_strides, out_strides)


def plan_scatter(dtype: str, dim: int, x_shape, x_strides, index_shape, index_strides, source_strides,
                 reduce: str | None = None, index_dtype: str = "int64"):
    """x[index[i][j][k]][j][k] = source[i][j][k] for dim 0, and so on; a scalar source has all strides 0.

    Args:
        reduce: None, "add", "multiply", "maximum" or "minimum".
    """
    kernel, words = _writer(dtype, reduce, index_dtype)
    return _gathered(kernel, True, words, dim, x_shape, x_strides, index_shape, index_strides, source_strides)


def _gathered(kernel, writes, words, dim, x_shape, x_strides, index_shape, index_strides, other_strides):
    base = [0 if d == dim else stride for d, stride in enumerate(x_strides)]
    index = (x_shape[dim], x_strides[dim], list(index_strides))
    return _plan(kernel, writes, index_shape, base, other_strides, (1, 1, 1), [index], words)
