"""How an indexing kernel walks two arrays by the numbers in index arrays.

A *position* is a point of an index space of any rank; each position has one run of elements in the indexed array x and one
in the other array. Where a run starts in x is the sum of the position times x's strides, and of index * step for each index
array. A planner says which strides those are, and whether negative indices count from the end or are bad:

    gather along dim         every dim is a position; x has stride 0 in `dim`, whose index has that stride as its step
    index_select, embedding  the dims up to and with the indexed one are positions, the rest is the run
    x[i, j]                  two index arrays, broadcast over the same positions

Positions are worked off in blocks of 256 whose starts are on the stack.

Threads share the positions of a read in their order. Those of a write they share along a dim in which x has a stride of its own, or
along the run: there no two threads meet in an element of x, each is written in the same order for any number of threads, and so
repeated indices give the same bits.

Descriptor, in elements: a part's positions, dims, index arrays, run (length, stride in x, stride in the other); from HEADER on
sizes[dims], x_strides[dims], other_strides[dims]; then for each index array its dim's size, the least good index, its step and
strides[dims].
"""
from __future__ import annotations

from math import prod

from numpy import int64

from ...elementtypes import itemsize
from ...intrinsics import as_pointer, offset
from ...loopnest import merge_neighbours
from ...threads import get_num_threads
from ..shared.elements import part_offsets, prepare_parts, shares

FIRST, STOP, DIMS, ARRAYS, RUN, X_STEP, OTHER_STEP, HEADER = range(8)
SIZE, LEAST, STEP, STRIDES = range(4)                    # of an index array's words
BLOCK = 256
LINES = 32                       # elements: a part of the columns begins with a cache line where rows do
GRAIN = 12_000                   # work that makes a thread worth waking, in copied elements
ALONE = 8                        # what a position costs besides its run, in copied elements


# ---------------------------------------------------------------- positions
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
    size, least, step = entry[SIZE], entry[LEAST], entry[STEP]
    for i in range(count):
        places[i] = 0
    add_starts(places, first, count, dims, sizes, offset(entry, STRIDES))
    for i in range(count):
        value = int64(index[places[i]])
        if value < least or value >= size:
            return int64(i)
        starts[i] += (value + ((value >> 63) & size)) * step
    return int64(count)


def block_starts(starts, places, index, more, first, count, descriptor):
    """Where each position's run starts in x. Returns how many positions are good before the first bad one."""
    dims = descriptor[DIMS]
    sizes = offset(descriptor, HEADER)
    for i in range(count):
        starts[i] = 0
    add_starts(starts, first, count, dims, sizes, offset(sizes, dims))
    entry = offset(sizes, 3 * dims)
    good = add_indices(starts, places, index, first, count, dims, sizes, entry)
    for k in range(1, descriptor[ARRAYS]):
        entry = offset(entry, STRIDES + dims)
        also = add_indices(starts, places, as_pointer(more[k - 1], more), first, count, dims, sizes, entry)
        good = min(good, also)
    return good


def other_starts(starts, first, count, descriptor):
    dims = descriptor[DIMS]
    sizes = offset(descriptor, HEADER)
    for i in range(count):
        starts[i] = 0
    add_starts(starts, first, count, dims, sizes, offset(sizes, 2 * dims))


# ---------------------------------------------------------------- planning the traversal
def merged(sizes, columns):
    """Dims merged where every array steps through neighbours as through one; at least one. columns: the strides of each array."""
    dims = merge_neighbours(zip(sizes, zip(*columns))) or [(1, (0,) * len(columns))]
    return [n for n, _ in dims], [list(column) for column in zip(*(strides for _, strides in dims))]


def plan_traversal(kernel_of, writes, sizes, x_strides, other_strides, run, indices, words, wrap=True):
    """kernel_of: gives the kernel of a form. indices: (size, step, strides over `sizes`) an index array.
    run: (length, stride in x, stride in other). wrap: whether negative indices count from the end."""
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
    total = prod(sizes)
    columns = [x_strides, other_strides, *(strides for _, _, strides in indices)]
    sizes, columns = merged(sizes, columns) if total else ([1], [[0]] * len(columns))
    kernel = kernel_of(_form(sizes, run, columns[2:]))
    entries = []
    for (size, step, _), strides in zip(indices, columns[2:]):
        entries += [size, -size if wrap else 0, step, *strides]

    def descriptor(start, stop, sizes, run):
        return [start, stop, len(sizes), len(indices), *run, *sizes, *columns[0], *columns[1], *entries]

    work = total * (run[0] + ALONE)
    if work < 2 * GRAIN:
        return prepare_parts(kernel, [descriptor(0, total, sizes, run)], work)
    if not writes:
        parts = shares(total, work, GRAIN, multiple=sizes[-1] if len(sizes) > 1 else 1)
        return prepare_parts(kernel, [descriptor(start, stop, sizes, run) for start, stop in parts], work)
    element, index = (itemsize(pointer.rstrip("*")) for pointer in kernel.signature[:2])
    axes = [*zip(sizes, *columns[:3]), (*run, 0)]
    axis, parts = _axis_to_share(axes, work)
    extent, x_stride, other_stride, index_stride = axes[axis]
    rows = []
    for start, stop in parts:
        of_sizes, of_run = list(sizes), list(run)
        if axis == len(sizes):
            of_run[0] = stop - start
        else:
            of_sizes[axis] = stop - start
        rows.append(descriptor(0, prod(of_sizes), of_sizes, of_run))
    # what `more` points to is left as it is: of several index arrays, none steps along an axis in which x has a stride
    offsets = part_offsets(parts, x_stride * element, index_stride * index, 0, other_stride * element, 0)
    return prepare_parts(kernel, rows, work, offsets)


def _form(sizes, run, index_strides):
    """How the positions are walked: see gather.py."""
    if len(index_strides) == 1 and run[0] == 1:
        shared = len(sizes) > 1 and not any(index_strides[0][:-1])
        return "columns" if shared else "elements"
    return "rows" if len(index_strides) == len(sizes) == 1 and run[1:] == (1, 1) else "runs"


def _axis_to_share(axes, work):
    """The outermost axis that threads can share about evenly, of those in which x has a stride, and its ranges."""
    best = 0, [(0, axes[0][0])]
    least = 2.0 * get_num_threads()
    for axis, (extent, x_stride, *_) in enumerate(axes):
        if x_stride != 0:
            parts = shares(extent, work, GRAIN, LINES if x_stride == 1 else 1)
            largest = max(stop - start for start, stop in parts) / extent * get_num_threads()
            if largest < least - 0.1:
                least, best = largest, (axis, parts)
    return best
