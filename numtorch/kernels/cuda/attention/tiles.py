"""The kernels of attention and its gradients for every dtype (attention.py says what they make): products of tiles, as
../gemm/tiles.py makes them.

A block has `TILE` lines, which are queries, or keys in the gradients of keys and values, and goes through the other side's
columns as many at a time. A thread has `EACH` neighbours of either, and their scores in registers. What a product multiplies comes
to shared memory in slices, each step of the depth a line there, so that any depth goes; what scores become is written there too, as
the next product's depth is the columns. All that belongs to a line is in one half of a warp, whose lanes find its maximum and its
sum together.

    forward                 lines are queries, columns keys     sums of probability * V
    gradient of Q           lines are queries, columns keys     sums of slope * K
    gradients of K and V    lines are keys, columns queries     sums of slope * Q and of probability * grad

where a score's slope is probability * (grad . V - grad . out). The second number is of a query: the second kernel leaves it to the
third. Sums of more columns than registers hold are a pass of their own.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy import float32, inf, int32, int64, uint64

from ...elementtypes import bindings, compute_type, same
from ...intrinsics import float_of, fmax, offset, select
from ...sources import compile_source
from ...vectormath import exp, log
from ..compiler import compile_kernel, cuda
from ..environment import SMALL, THREADS
from ..gemm.tiles import BYTES, integer_of
from ..warps import add_outer_product, barrier, lane_across, neighbours, put_neighbours
from . import descriptor as places

T = float32                                              # the compute type
INT = np.int32
load = store = same
NAMED = dict(inf=inf, int32=int32, int64=int64, uint64=uint64, float_of=float_of, fmax=fmax, offset=offset, select=select,
             exp=exp, log=log, cuda=cuda, add_outer_product=add_outer_product, barrier=barrier, lane_across=lane_across,
             neighbours=neighbours, put_neighbours=put_neighbours)     # what statements name, besides places
SIDE = 2 if SMALL else 16                                # threads along either side of a tile
EACH = 4                                                 # of its lines, and of its columns, that a thread has
TILE = SIDE * EACH
DEEP = 2 if SMALL else 8                                 # neighbouring threads that bring neighbours along a line
ABREAST = min(TILE, THREADS)                             # the same where lines stay lines in shared memory
STEPS = {4: 4, 8: 2} if SMALL else {4: 16, 8: 8}         # of a slice, by bytes of an element: 48 KB hold all
UNROLLED = 8                                             # steps that are written out
SUMS = {4: 2, 8: 1}                                      # tiles of columns whose sums a thread has at a time, at most
RESIDENT = {4: 2, 8: 1}                                  # blocks that a multiprocessor is to have room for; of those with masks one


class Shape(NamedTuple):
    """Bytes of an element in shared memory, tiles of columns that are summed at a time, and whether there is a mask."""
    nbytes: int
    sums: int
    masked: bool

    @property
    def steps(self):
        return STEPS[self.nbytes]

    @property
    def pitch(self):
        """From step to step: in other banks, and at multiples of 16 bytes."""
        return TILE + BYTES // self.nbytes


# ---------------------------------------------------------------- what a thread does
def of_query(values, descriptor, number, query, otherwise):
    """A number of each query of each head, of which `number` is the first's."""
    return values[number + query] if query < descriptor[places.QUERIES] else T(otherwise)


# ---------------------------------------------------------------- the source
class Rows(NamedTuple):
    """Rows of a head that a block takes by tiles: their name, the place of their strides and that of their length, and the place
    of how many there are."""
    name: str
    place: str
    length: str
    count: str


ROWS = {name: Rows(name, name.upper(), length, count) for name, length, count in (
    ("q", "DEPTH", "QUERIES"), ("k", "DEPTH", "KEYS"), ("v", "WIDTH", "KEYS"), ("grad", "WIDTH", "QUERIES"))}
CELLS = [(r, s) for r in range(EACH) for s in range(EACH)]


def indented(lines, by=4):
    return [" " * by + line for line in lines]


def _tuple(items):
    return f"({', '.join(items)},)"


def _cells(text):
    """A tuple of the thread's cells, of which `@` is the line, `$` the column and `#` the number."""
    return _tuple(text.replace("@", str(r)).replace("$", str(s)).replace("#", str(r * EACH + s)) for r, s in CELLS)


def _each(text):
    """Statements for each line or column of a thread, `@`."""
    return [text.replace("@", str(r)) for r in range(EACH)]


def _together(name, combine):
    """Statements that combine a number of the lanes of each line."""
    for k in range(SIDE.bit_length() - 1):
        yield from _each(f"{name}@ = {combine.format(f'{name}@', f'lane_across({name}@, {1 << k})')}")


def _taken(shape, tile, place):
    """A thread's neighbours of a step in shared memory."""
    group = BYTES // shape.nbytes
    return " + ".join(f"neighbours({tile}, {place} + {k})" for k in range(0, EACH, group))


def _steps(shape, body):
    """Statements for each step of a slice; `body` takes the number of a step from `slice_step` on."""
    count = min(UNROLLED, shape.steps)
    return ["slice_step = int32(0)", f"while slice_step < {shape.steps}:",
            *(f"    {line}" for step in range(count) for line in body(step)),
            f"    slice_step = int32(slice_step + {count})"]


def _fetched(shape, rows, side, first):
    """Elements of a slice along the depth, to registers: 0 where there are none."""
    yield f"{side}_left = int32(min(descriptor[{rows.count}] - {first}, int64({TILE}))) - fetch_line"
    yield (f"{side}_from = offset({rows.name}_head, ({first} + fetch_line) * descriptor[{rows.place} + {places.ROW}] + "
           f"(step + fetch_step))")
    for j in range(0, TILE, THREADS // DEEP):
        if j:
            yield f"{side}_from = offset({side}_from, {THREADS // DEEP} * descriptor[{rows.place} + {places.ROW}])"
        for i in range(0, shape.steps, DEEP):
            yield f"{side}{j}_{i} = T(load({side}_from[{i}])) if {side}_left > {j} and deep > {i} else T(0)"


def _staged(shape, side):
    for j in range(0, TILE, THREADS // DEEP):
        for i in range(0, shape.steps, DEEP):
            yield f"{side}_tile[uint64(fetch_step * {shape.pitch} + fetch_line + {i * shape.pitch + j})] = {side}{j}_{i}"


def _scores(shape, cells, lines, columns):
    """Products of each line and each column, whose first are `first` and `start`."""
    def body(step):
        at = f"(slice_step + {step}) * {shape.pitch}"
        taken = [_taken(shape, tile, f"{at} + {place}") for tile, place in (("a_tile", "down"), ("b_tile", "across"))]
        yield f"{cells} = add_outer_product({cells}, {', '.join(taken)})"

    yield f"{cells} = ZEROS"
    yield "step = int32(0)"
    yield f"while step < int32(descriptor[{lines.length}]):"
    yield f"    deep = int32(descriptor[{lines.length}]) - step - fetch_step"
    yield from indented([*_fetched(shape, lines, "a", "first"), *_fetched(shape, columns, "b", "start"), "barrier()",
                         *_staged(shape, "a"), *_staged(shape, "b"), "barrier()", *_steps(shape, body)])
    yield f"    step = int32(step + {shape.steps})"


def _kept(shape, name):
    """Write cells to shared memory, a column a line there. What was there all have done with: slices of scores came since."""
    group = BYTES // shape.nbytes
    for s in range(EACH):
        for r in range(0, EACH, group):
            values = _tuple(f"{name}[{(r + q) * EACH + s}]" for q in range(group))
            yield f"put_neighbours(p_tile, (across + {s}) * {shape.pitch} + down + {r}, {values})"


def _added(shape, sums, columns):
    """Products of the cells in shared memory and the columns' rows, of which those from `begin` on are summed."""
    tiles = "ba"[:shape.sums]

    def body(step):
        yield f"factors = {_taken(shape, 'p_tile', f'(step + slice_step + {step}) * {shape.pitch} + down')}"
        for c, side in enumerate(tiles):
            row = _taken(shape, f"{side}_tile", f"(slice_step + {step}) * {shape.pitch} + across")
            yield f"{sums}{c} = add_outer_product({sums}{c}, factors, {row})"

    rows = range(0, shape.steps, THREADS // ABREAST)
    cells = [(j, i, c) for c in range(shape.sums) for j in rows for i in range(0, TILE, ABREAST)]
    yield "step = int32(0)"
    yield f"count = int32(min(descriptor[{columns.count}] - start, int64({TILE})))"
    yield f"wide = int32(min(descriptor[{columns.length}] - begin, int64({shape.sums * TILE}))) - abreast"
    yield "while step < count:"
    yield "    deep = int32(count - step) - fetch_row"
    for j in rows:
        row = f"(start + step + fetch_row + {j}) * descriptor[{columns.place} + {places.ROW}]"
        yield f"    from{j} = offset({columns.name}_head, {row} + begin + abreast)"
    for j, i, c in cells:
        yield f"    {tiles[c]}{j}_{i} = T(load(from{j}[{c * TILE + i}])) if deep > {j} and wide > {c * TILE + i} else T(0)"
    yield "    barrier()"
    for j, i, c in cells:
        yield f"    {tiles[c]}_tile[uint64(fetch_row * {shape.pitch} + abreast + {j * shape.pitch + i})] = {tiles[c]}{j}_{i}"
    yield "    barrier()"
    yield from indented(_steps(shape, body))
    yield f"    step = int32(step + {shape.steps})"


def _seen(shape, lines, columns):
    """The scale and the mask of scores; -inf where a query does not see a key. How far a line is before a column is a small number
    near the diagonal, and elsewhere as good as the tile's size."""
    keys_are_lines = lines.count == "KEYS"
    bound = f"max(first - start, int64({-TILE}))" if keys_are_lines else f"min(first - start, int64({TILE}))"
    yield f"left = int32(min(descriptor[{columns.count}] - start, int64({TILE}))) - across"
    yield f"apart = int32({bound}) + down - across if descriptor[CAUSAL] else int32({-2 * TILE if keys_are_lines else 2 * TILE})"
    cell = "T(cells[#] * scale)"
    if shape.masked:
        yield from _each(f"line@ = min(first + down + @, descriptor[{lines.count}] - 1)")
        pair = "start + across + $, line@" if keys_are_lines else "line@, start + across + $"
        cell = f"T({cell} + masked(mask, q, descriptor, batch, head, {pair}))"
    order = ">=" if keys_are_lines else "<="
    yield f"cells = {_cells(f'{cell} if $ < left and $ - @ {order} apart else T(-inf)')}"


def _slopes(shape, lines, columns, numbers):
    """From probabilities to slopes; probabilities wait in shared memory, each where its own thread reads it."""
    yield from _scores(shape, "slopes", lines, columns)
    parts = [_taken(shape, "p_tile", f"(across + {s}) * {shape.pitch} + down") for s in range(EACH)]
    yield f"cells = {' + '.join(parts)}"
    cells = [f"select(cells[{s * EACH + r}] == T(0), T(0), T(cells[{s * EACH + r}] * "
             f"T(slopes[{r * EACH + s}] - {numbers.replace('@', str(r)).replace('$', str(s))})))" for r, s in CELLS]
    yield f"slopes = {_tuple(cells)}"
    yield from _kept(shape, "slopes")


def _written(shape, sums, lines, to, place, factor):
    """Write sums of the columns from `begin` on."""
    length = "WIDTH" if place in ("OUT", "GRAD_V") else "DEPTH"
    for r in range(EACH):
        yield f"if first + down + {r} < descriptor[{lines.count}]:"
        yield f"    row = offset(line_of({to}, descriptor, {place}, batch, at_head, first + down + {r}), begin + across)"
        yield f"    wide = int32(min(descriptor[{length}] - begin, int64({shape.sums * TILE}))) - across"
        for c in range(shape.sums):
            for s in range(EACH):
                yield f"    if wide > {c * TILE + s}:"
                yield f"        row[{c * TILE + s}] = store(T({sums}{c}[{r * EACH + s}] * {factor.replace('@', str(r))}))"


def _dots():
    """grad . out of each line, by its lanes."""
    yield from _each("dots@ = T(0)")
    for r in range(EACH):
        yield f"if first + down + {r} < descriptor[QUERIES]:"
        yield f"    one = line_of(out, descriptor, OUT, batch, head, first + down + {r})"
        yield f"    other = line_of(grad, descriptor, GRAD, batch, head, first + down + {r})"
        yield f"    for c in range(across // {EACH}, descriptor[WIDTH], {SIDE}):"
        yield f"        dots{r} = T(dots{r} + T(load(one[c])) * T(load(other[c])))"
    yield from _together("dots", "T({} + {})")


def _heads(*names):
    """Where the first row of a head is, and how far rows are apart."""
    for name in names:
        head = "head" if name in ("q", "grad") else "source"
        yield f"{name}_head = line_of({name}, descriptor, {name.upper()}, batch, {head}, 0)"


def _forward(shape):
    q, k, v = ROWS["q"], ROWS["k"], ROWS["v"]
    lines = _each("best@, total@ = T(-inf), T(0)")
    highest = []
    for r in range(EACH):
        text = f"best{r}"
        for s in range(EACH):
            text = f"fmax({text}, cells[{r * EACH + s}])"
        highest.append(f"highest{r} = {text}")
    scaled = [f"sums{c} = {_cells(f'T(sums{c}[#] * shrink@)')}" for c in range(shape.sums)]
    lines += [f"sums{c} = ZEROS" for c in range(shape.sums)]
    lines += ["start = int64(0)", "while start < last:"]
    lines += indented([
        *_scores(shape, "cells", q, k), *_seen(shape, q, k), *highest, *_together("highest", "fmax({}, {})"),
        *_each("shift@ = select(highest@ == T(-inf), T(0), highest@)"),              # -inf - -inf would be NaN
        *_each("shrink@ = exp(T(best@ - shift@))"), *_each("best@ = highest@"),
        f"cells = {_cells('exp(T(cells[#] - shift@))')}",
        *_each(f"total@ = T(total@ * shrink@ + ({' + '.join(f'cells[@ * {EACH} + {s}]' for s in range(EACH))}))"),
        *scaled, *_kept(shape, "cells"), *_added(shape, "sums", v), f"start += {TILE}"])
    lines += [*_together("total", "T({} + {})"), *_each("inverse@ = select(total@ == T(0), T(0), T(T(1) / total@))"),
              *_written(shape, "sums", q, "out", "OUT", "inverse@"), "if begin == 0 and across == 0:"]
    for r in range(EACH):
        lines += [f"    if first + down + {r} < descriptor[QUERIES]:",
                  f"        lse[number + first + down + {r}] = select(total{r} == T(0), T(inf), T(best{r} + log(total{r})))"]
    return lines


def _grad_q(shape):
    q, k, v, grad = ROWS["q"], ROWS["k"], ROWS["v"], ROWS["grad"]
    lines = [*_each("lse@ = of_query(lse, descriptor, number, first + down + @, inf)"), *_dots(), "if begin == 0 and across == 0:"]
    for r in range(EACH):
        lines += [f"    if first + down + {r} < descriptor[QUERIES]:", f"        dots[number + first + down + {r}] = dots{r}"]
    lines += [f"sums{c} = ZEROS" for c in range(shape.sums)]
    return [*lines, "start = int64(0)", "while start < last:", *indented([
        *_scores(shape, "cells", q, k), *_seen(shape, q, k),
        f"cells = {_cells('select(cells[#] == T(-inf), T(0), exp(T(cells[#] - lse@)))')}",
        *_kept(shape, "cells"), *_slopes(shape, grad, v, "dots@"), *_added(shape, "sums", k), f"start += {TILE}"]),
        *_written(shape, "sums", q, "grad_q", "GRAD_Q", "scale")]


def _grad_kv(shape):
    q, k, v, grad = ROWS["q"], ROWS["k"], ROWS["v"], ROWS["grad"]
    lines = [f"{name}{c} = ZEROS" for name in ("for_k", "for_v") for c in range(shape.sums)]
    return [*lines, "for head in range(source * group, (source + 1) * group):", *indented([
        *_heads("q", "grad"), "number = (batch * descriptor[HEADS] + head) * descriptor[QUERIES]",
        "start = first if descriptor[CAUSAL] else int64(0)", "while start < descriptor[QUERIES]:", *indented([
            *_scores(shape, "cells", k, q), *_seen(shape, k, q),
            *_each("lse@ = of_query(lse, descriptor, number, start + across + @, inf)"),
            f"cells = {_cells('select(cells[#] == T(-inf), T(0), exp(T(cells[#] - lse$)))')}",
            *_kept(shape, "cells"), *_added(shape, "for_v", grad),
            *_slopes(shape, v, grad, "of_query(dots, descriptor, number, start + across + $, 0)"), *_added(shape, "for_k", q),
            f"start += {TILE}"])]),
        *_written(shape, "for_k", k, "grad_k", "GRAD_K", "scale"), *_written(shape, "for_v", k, "grad_v", "GRAD_V", "T(1)")]


BODIES = dict(attention=_forward, attention_grad_q=_grad_q, attention_grad_kv=_grad_kv)
ARGUMENTS = dict(attention=("q, k, v, mask, out, lse", "xxxbxc"),
                 attention_grad_q=("q, k, v, mask, out, lse, grad, dots, grad_q", "xxxbxcxcx"),
                 attention_grad_kv=("q, k, v, mask, lse, grad, dots, grad_k, grad_v", "xxxbcxcxx"))


def _source(name, shape):
    keys_are_lines = name == "attention_grad_kv"
    columns = {"attention": "WIDTH", "attention_grad_q": "DEPTH"}.get(name)
    end = f"descriptor[{columns}]" if columns else "max(descriptor[DEPTH], descriptor[WIDTH])"
    if keys_are_lines:
        place = ["group = descriptor[GROUP]", "sources = descriptor[HEADS] // group",
                 f"blocks = (descriptor[KEYS] + {TILE - 1}) // {TILE}", "items = descriptor[BATCH] * sources * blocks"]
        begun = ["batch, source = place // sources, place - place // sources * sources", "at_head = source", *_heads("k", "v")]
    else:
        place = ["heads, queries = descriptor[HEADS], descriptor[QUERIES]", f"blocks = (queries + {TILE - 1}) // {TILE}",
                 "items = descriptor[BATCH] * heads * blocks"]
        begun = ["batch, head = place // heads, place - place // heads * heads",
                 "at_head, source = head, head // descriptor[GROUP]",
                 "number = place * queries",
                 f"last = min(descriptor[KEYS], first + {TILE}) if descriptor[CAUSAL] else descriptor[KEYS]",
                 *_heads("q", "k", "v", *(["grad"] if name == "attention_grad_q" else []))]
    return "\n".join([
        f"def {name}({ARGUMENTS[name][0]}, descriptor):",
        *indented([
            f"a_tile = cuda.shared.array({shape.steps * shape.pitch}, T, 16)",
            f"b_tile = cuda.shared.array({shape.steps * shape.pitch}, T, 16)",
            f"p_tile = cuda.shared.array({TILE * shape.pitch}, T, 16)",
            "me = int32(cuda.threadIdx.x)",
            f"down, across = int32(me // {SIDE} * {EACH}), int32(me % {SIDE} * {EACH})",
            f"fetch_line, fetch_step = int32(me // {DEEP}), int32(me % {DEEP})",
            f"fetch_row, abreast = int32(me // {ABREAST}), int32(me % {ABREAST})",
            "scale = T(float_of(INT(descriptor[SCALE])))",
            *place, "item = int64(cuda.blockIdx.x)", "while item < items:", *indented([
                "place = item // blocks", f"first = (item - place * blocks) * {TILE}", *begun,
                "begin = int64(0)", f"while begin < {end}:", *indented(BODIES[name](shape)),
                f"    begin += {shape.sums * TILE}", "item += cuda.gridDim.x"])])]) + "\n"


@functools.cache
def attention_kernel(name, dtype, size, has_mask):
    """One of `BODIES`, for a dtype.

    Args:
        size: the largest of the sizes that are summed up.
        has_mask: whether something is added to scores.
    """
    compute = compute_type(dtype)
    nbytes = np.dtype(compute).itemsize
    sums = 1 if name == "attention_grad_kv" else min(-(-size // TILE), SUMS[nbytes])
    arguments, words = ARGUMENTS[name]
    kinds = {"x": dtype + "*", "c": compute + "*", "b": "uint8*"}
    names = dict(bindings(dtype), INT=integer_of(compute), ZEROS=(np.dtype(compute).type(0),) * len(CELLS))
    scope = {**vars(places), **globals(), **NAMED, "ZEROS": names["ZEROS"]}
    text = _source(name, Shape(nbytes, sums, has_mask))
    compile_source(text, f"{name} in tiles", scope)
    resident = 1 if has_mask else RESIDENT[nbytes]
    return compile_kernel(scope[name], (*(kinds[w] for w in words), "int64*"), names, compute, resident=resident)
