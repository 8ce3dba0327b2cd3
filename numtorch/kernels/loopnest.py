"""How a loop nest walks several operands at once: dimensions ordered, merged, split among threads, and written down.

Plain geometry on shapes and strides, done once per plan.
"""
from __future__ import annotations

from .threads import get_num_threads


def merge(shape, strides) -> tuple[list, list]:
    """Dimensions ordered by the last operand (the output), largest stride first, and merged where every operand allows it.

    Args:
        shape: the extents.
        strides: for each operand, its stride along each dimension.

    Returns:
        The extents, and for each dimension every operand's stride, outermost first.
    """
    dims = [(n, tuple(s[i] for s in strides)) for i, n in enumerate(shape)]
    dims.sort(key=lambda d: tuple(-abs(s) for s in reversed(d[1])))
    merged = merge_neighbours(dims)
    return [d[0] for d in merged], [d[1] for d in merged]


def merge_neighbours(dims) -> list:
    """Dimensions (extent, every operand's stride), in their order, merged where every operand allows it; none of extent 1."""
    merged: list = []
    for extent, steps in dims:
        if extent == 1:
            continue
        if merged and all(above == step * extent for above, step in zip(merged[-1][1], steps)):
            merged[-1] = (merged[-1][0] * extent, steps)
        else:
            merged.append((extent, steps))
    return merged


def pattern_of(steps, output) -> str:
    """The innermost dimension's pattern: `c`, `b` for each operand, or `s` for all when one (or a still output) steps
    otherwise."""
    letters = "".join("c" if s == 1 else "b" if s == 0 else "s" for s in steps)
    return "s" * len(letters) if "s" in letters or letters[output] == "b" else letters


def transposed(extents, steps, output, least) -> tuple | None:
    """The loop nest with the dimension along which some operands are contiguous, and the output is not, second to last.

    Returns:
        The extents, the strides and the pattern, with `t` for those operands; None where some operand steps otherwise along both
        dimensions, or either is shorter than `least`.
    """
    last = steps[-1]
    for axis in range(len(extents) - 1):
        letters = "".join("c" if s == 1 else "b" if s == 0 else "t" if a == 1 else "s" for s, a in zip(last, steps[axis]))
        if "t" in letters and "s" not in letters and letters[output] == "c" and min(extents[axis], extents[-1]) >= least:
            order = [i for i in range(len(extents) - 1) if i != axis] + [axis, len(extents) - 1]
            return [extents[i] for i in order], [steps[i] for i in order], letters
    return None


LEAST_REPEATED = 2048            # elements, which make good that a row is written over and over


def repeated(extents, steps, output, longest) -> str:
    """The pattern of two dimensions that are walked as one, of many short rows, because an operand is one row for all (`r`).

    Empty where rows are longer than `longest`, another operand does not have them one behind the other, or none is repeated.
    """
    if len(extents) != 2 or extents[1] > longest or extents[0] * extents[1] < LEAST_REPEATED:
        return ""
    kind = lambda row, element: ("b" if (row, element) == (0, 0) else "r" if row == 0 else
                                 "c" if (row, element) == (extents[1], 1) else "s")
    pattern = "".join(map(kind, *steps))
    return pattern if "r" in pattern and "s" not in pattern and pattern[output] == "c" else ""


SHORT = 8                        # the innermost dimension below which each of its rows costs more than its elements
LONGEST_BLOCK = 256              # of elements that may each be on a cache line of their own


def lengthened(extents, steps) -> tuple[list, list]:
    """The loop nest with blocks of another dimension innermost, where the innermost one is short: 200,000 rows of 2 elements take 5
    times as long to copy one by one. A block's cache lines stay near while all of a short row's elements are at their turn.

    The dimension is the one with the smallest steps of those that are long.
    """
    long = [i for i, n in enumerate(extents) if n >= 4 * SHORT]
    if not long or extents[-1] >= SHORT:
        return extents, steps
    axis = min(long, key=lambda i: sum(abs(s) for s in steps[i]))
    block = next(b for b in range(min(LONGEST_BLOCK, extents[axis]), 0, -1) if extents[axis] % b == 0)
    if block < 2 * SHORT:                                # its extent is as good as prime
        return extents, steps
    count, step = extents[axis] // block, steps[axis]
    descriptor = [(extents[i], steps[i]) for i in range(len(extents) - 1) if i != axis]
    descriptor += [(count, tuple(s * block for s in step))] * (count > 1) + [(extents[-1], steps[-1]), (block, step)]
    return [n for n, _ in descriptor], [s for _, s in descriptor]


# the descriptor: counts of the three levels, outer dimensions; then per operand its inner stride, per operand its middle stride,
# and per outer dimension (innermost first) its extent and per operand its stride; all in elements
INNER, MIDDLE, OUTER, OUTER_DIMS, HEADER = range(5)


def descriptor(extents, strides, operands) -> list:
    """The pointwise kernels' descriptor of a merged loop nest."""
    extents, strides = list(extents), list(strides)
    inner, inner_steps = (extents.pop(), strides.pop()) if extents else (1, (0,) * operands)
    middle, middle_steps = (extents.pop(), strides.pop()) if extents else (1, (0,) * operands)
    outer = 1
    tail = []
    for extent, steps in zip(reversed(extents), reversed(strides)):
        outer *= extent
        tail += [extent, *steps]
    return [inner, middle, outer, len(extents), *inner_steps, *middle_steps, *tail]


LEAST_BYTES = 250_000            # moved by each part: with half as much a call gains nothing of a second thread
LEAST_WORK = 165_000             # or computed by each, cost times bytes of an element: what stays in a core gains early


def split(extents, strides, itemsizes, cost, keep=None) -> tuple[list, list | None]:
    """Descriptors of the parts of a loop nest, and the byte offsets each part adds to each address (None for one part).

    Args:
        cost: the work of an element relative to an addition.
        keep: the dimension that is not split.
    """
    operands = len(itemsizes)
    total = 1
    for extent in extents:
        total *= extent
    parts = min(get_num_threads(), int(max(total * sum(itemsizes) / LEAST_BYTES, total * cost * max(itemsizes) / LEAST_WORK)))
    if parts < 2:
        return [descriptor(extents, strides, operands)], None
    axes = range(len(extents)) if keep is None else [i for i in range(len(extents)) if i != keep]
    even = lambda n: n % parts == 0 or n >= 8 * parts    # of 3 rows, one of two threads has 2: rather parts of the next dimension
    axis = next((i for fits in (even, lambda n: n >= parts) for i in axes if fits(extents[i])), None)
    if axis is None:
        return [descriptor(extents, strides, operands)], None
    grain = 64 if axis == len(extents) - 1 else 1        # whole cache lines along the innermost dimension
    units = -(-extents[axis] // grain)
    rows, offsets = [], []
    for part in range(parts):
        start = min(extents[axis], units * part // parts * grain)
        stop = min(extents[axis], units * (part + 1) // parts * grain)
        rows.append(descriptor([*extents[:axis], stop - start, *extents[axis + 1:]], strides, operands))
        offsets.append([start * step * size for step, size in zip(strides[axis], itemsizes)])
    return rows, offsets
