"""Products by tensor cores, of 16-bit floats and of float32 rounded to tf32: `mma.sync` on matrices that `ldmatrix` takes from
shared memory, to where `cp.async` brings slices of the depth that come later.

A block makes a tile of C by warps, each a part of it in registers: up to 64 x 64 elements, as matrices of 16 x 8. Its words of one
step of the depth are loaded while those of the step before are multiplied, and `STAGES` slices of the depth take turns in shared
memory, so that two are on their way while one is multiplied. Tiles that run at the same time are near each other in both
directions, so that the second-level cache holds what they share.

In shared memory a slice of A or B is lines of 128 bytes, eight chunks of 16: where an operand lies along the depth, a line is a row
(a column of B) and all of the slice's depth; else it is a step of the depth and 128 bytes of rows, a panel, and panels follow each
other. Chunk c of line l is at the place c ^ (l & 7), so that neither the copies nor `ldmatrix`, which takes eight lines at a time,
go to a bank twice; this is the swizzle of 128 bytes that Hopper's instructions have too (warpgroups.py). Words of tf32 that lie
across the depth are gathered from four lines at once, and swizzled by 2 (l & 3). The copies fill what is outside of A or B with
zeros. A step of the depth is eight words of 32 bits in every dtype, so their places are the same ones.

Sums go to C through shared memory, 16 rows of a warp at a time, so that lanes write 16 bytes each of neighbouring columns.

Strides across lines, and the addresses themselves, must be multiples of 16 bytes: `gemm.py` asks before it chooses this.
"""
from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy import float32, int32, int64, uint32

from ...elementtypes import bindings, itemsize, same
from ...intrinsics import address_of, bits_of, float_of, offset
from ...sources import compile_source
from ..compiler import compile_kernel, cuda
from ..environment import SMALL
from ..warps import (
    add_products_bfloat16,
    add_products_float16,
    add_products_tf32,
    await_groups,
    bytes_within,
    commit_copies,
    copy_async,
    further,
    load_matrices,
    load_matrices_transposed,
    packed_bfloat16,
    packed_float16,
    put_rows,
    rounded_to_tf32,
    shared_address,
    shared_word,
    shared_words,
    store_words,
    warp_barrier,
)
from .tiles import (
    ADDED,
    ALL_TILES,
    ALPHA,
    BIAS_STEP,
    COLUMN_BIAS,
    EPILOGUE,
    RECTIFIED,
    ROW_BIAS,
    SIZE_K,
    SIZE_M,
    SIZE_N,
    TILES,
    TILES_N,
    above_zero,
    float_scalar,
    header,
    put,
)

LINE, CHUNK = 128, 16                                    # bytes of a line in shared memory, and of what one copy brings
STEPS, STEP = 4, 8                                       # steps of the depth in a slice, and words of 32 bits in a step
STAGES = 3                                               # slices in shared memory
GROUPED = 16                                             # rows of tiles that are gone through together, column by column
ALIGNMENT = 1024                                         # bytes: eight lines, after which the swizzle repeats
MOST = 1 << 30                                           # what counts of elements are clipped to, so that they have 32 bits


class Form(NamedTuple):
    """How a dtype is multiplied: bytes of an element, the instruction, and whether operands are rounded before."""
    itemsize: int
    multiply: Any
    rounded: bool = False


FORMS = dict(bfloat16=Form(2, add_products_bfloat16), float16=Form(2, add_products_float16),
             float32=Form(4, add_products_tf32, True))


class Warps(NamedTuple):
    """How a block divides its tile: warps down and across, and matrices of 16 x 8 that each has down and across. `cost`: how
    much longer an element of its tile takes than of the largest. `grouped`: whether four warps multiply
    together (warpgroups.py)."""
    down: int
    across: int
    rows: int
    columns: int
    cost: float = 1.0
    grouped: bool = False

    @property
    def tall(self):
        return self.down * self.rows * 16

    @property
    def wide(self):
        return self.across * self.columns * 8

    @property
    def threads(self):
        return 32 * self.down * self.across


TILES_OF = [Warps(2, 1, 2, 8)] if SMALL else [Warps(2, 4, 4, 8), Warps(2, 2, 4, 8, 1.1), Warps(2, 2, 2, 4, 1.5)]
LARGEST = TILES_OF[0]
PROCESSORS = 132                                         # multiprocessors of a large GPU


class Operand(NamedTuple):
    """A or B in shared memory: its name, whether it lies along the depth, rows or columns of a tile and of a warp, bytes of an
    element, and where its slice begins in a stage."""
    name: str
    along: bool
    extent: int
    part: int
    itemsize: int
    start: int = 0

    @property
    def depth(self):
        """Elements of a line, and of a slice's depth."""
        return LINE // self.itemsize

    @property
    def nbytes(self):
        return self.extent * LINE

    @property
    def end(self):
        return "SIZE_M" if self.name == "a" else "SIZE_N"

    @property
    def gathered(self):
        return self.itemsize == 4 and not self.along

    def swizzle(self, line):
        return f"(({line} & 3) << 1)" if self.gathered else f"({line} & 7)"

    # ------------------------------------------------------------ copies
    def first_copies(self):
        """The statements by which a thread finds out what it copies of a tile: a chunk of every `apart`-th line."""
        name, edge, step = self.name, "top" if self.name == "a" else "left", f"descriptor[{self.name.upper()}_STEP]"
        size = f"descriptor[{self.end}] - {edge}"
        outer, inner = (f"({edge} + line)", "chunk * PER_CHUNK") if self.along else ("line", f"({edge} + chunk * PER_CHUNK)")
        yield f"{name}_step = {step}"
        yield f"{name}_from = offset({name}, image * descriptor[{name.upper()}_BATCH] + {outer} * {name}_step + {inner})"
        if self.along:
            yield f"{name}_lines = int32(min({size}, MOST)) - line"
        else:
            yield f"{name}_bytes = int32(min({size}, MOST) - chunk * PER_CHUNK) * {self.itemsize}"

    def copies(self, threads):
        """The statements by which it copies its chunks of the next slice, of which `near` steps of the depth are inside."""
        name, apart = self.name, threads // 8
        yield f"into = further({name}_into, fill)"
        if self.along:
            yield f"some = bytes_within((near - chunk * PER_CHUNK) * {self.itemsize})"
        for i in range(self.extent // apart):
            panel, steps = divmod(i * apart, self.depth)
            if self.along:
                place, size = f"{i * apart} * a_step", f"some if {name}_lines > {i * apart} else int32(0)"
                place = place.replace("a_step", f"{name}_step")
            else:
                place = f"{panel * self.depth} + {steps} * {name}_step"
                size = f"bytes_within({name}_bytes - {panel * LINE}) if near > line + {steps} else int32(0)"
            yield f"copy_async(further(into, {i * apart * LINE}), offset({name}_from, {place}), {size})"
        yield f"{name}_from = offset({name}_from, {self.depth if self.along else f'{self.depth} * {name}_step'})"

    # ------------------------------------------------------------ matrices
    def places(self):
        """The statements by which a lane finds the places of what it loads of a slice, one of those a fixed distance apart."""
        first, edge = self.name == "a", "down" if self.name == "a" else "across"
        outer, deep = ("(matrix & 1)", "(matrix >> 1)") if first else ("(matrix >> 1)", "(matrix & 1)")
        for j in range(self.several):
            if self.along:
                place = f"({edge} + {outer} * 8 + eight) * {LINE} + (((2 * {j} + {deep}) ^ eight) << 4)"
            elif self.gathered:
                panel = f"({edge} // {self.depth}) * {self.depth * LINE}"
                place = f"{panel} + word * {LINE} + (((2 * {j} + (group >> 2)) ^ (word << 1)) << 4) + (group & 3) * 4"
            else:
                chunk = f"(({edge} >> 3) + 2 * {j} + {outer})"
                place = f"({chunk} >> 3) * {self.depth * LINE} + ({deep} * 8 + eight) * {LINE} + ((({chunk} & 7) ^ eight) << 4)"
            yield f"{self.name}_place{j} = further(base, {self.start} + {place})"

    @property
    def several(self):
        return 4 if self.along or self.gathered else max(self.part // 16, 1)

    def moved(self):
        """The same places in the stage that begins at `now`."""
        yield from (f"{self.name}_now{j} = further({self.name}_place{j}, now)" for j in range(self.several))

    def matrices(self, at, step):
        """Four matrices of 8 x 8 words, of rows or columns `at` and 8 further, and of `step` and half a step further: of A those of
        one step come first, of B those of the same columns."""
        if self.along:
            return f"load_matrices(further({self.name}_now{step}, {at * LINE}))"
        if not self.gathered:
            return f"load_matrices_transposed(further({self.name}_now{at // 16}, {2 * STEP * LINE * step}))"
        words = [f"shared_word(further({self.name}_now{q % 4}, {q // 4 * self.depth * LINE + (STEP * step + deep) * LINE}))"
                 for q in (at // 8, at // 8 + 1) for deep in (0, 4)]
        return "({})".format(", ".join(words[k] for k in ((0, 2, 1, 3) if self.name == "a" else range(4))))


# ---------------------------------------------------------------- the source
def _loaded(warps, a, b, step, turn, rounded):
    """The words of a step, into the registers that take turns."""
    load = "rounded_to_tf32({})" if rounded else "{}"
    for r in range(warps.rows):
        yield f"a{turn}_{r} = " + load.format(a.matrices(16 * r, step))
    for s in range(0, warps.columns, 2):
        yield f"b{turn}_{s} = " + load.format(b.matrices(8 * s, step))


def _multiplied(warps, turn):
    """The products of a step."""
    a = "".join(f"a{turn}_{r}, " for r in range(warps.rows))
    b = "".join(f"b{turn}_{s}, " for s in range(0, warps.columns, 2))
    yield f"sums = add_products(({a}), ({b}), sums)"


def _slices(warps, a, b, rounded):
    """All slices of a tile."""
    copies = [line for each in (a, b) for line in each.copies(warps.threads)]
    moved = [*a.moved(), *b.moved()]
    yield "fill, ahead = int32(0), int32(0)"
    yield f"for _ in range({STAGES - 1}):"
    yield from indented(next_slice(copies), 4)
    yield from ("now = int32(0)", f"await_groups({STAGES - 2})", "cuda.syncthreads()", *moved, *_loaded(warps, a, b, 0, 0, rounded))
    yield "for _ in range(slices):"
    yield from indented(next_slice(copies), 4)
    for step in range(STEPS):
        if step < STEPS - 1:
            yield from indented(_loaded(warps, a, b, step + 1, (step + 1) % 2, rounded), 4)
        else:                                            # of the next slice, which has to be there by then
            yield from indented([f"await_groups({STAGES - 2})", "cuda.syncthreads()", *next_stage("now"), *moved,
                                 *_loaded(warps, a, b, 0, 0, rounded)], 4)
        yield from indented(_multiplied(warps, step % 2), 4)


def next_slice(copies):
    """The copies of slice number `ahead`, if there is one, to the stage that begins at `fill`."""
    yield "if ahead < slices:"
    yield from indented(["near = int32(DEPTH) if ahead < slices - 1 else rest", *copies], 4)
    yield from ("commit_copies()", "ahead = int32(ahead + 1)", *next_stage("fill"))


def next_stage(name):
    yield f"{name} = int32({name} + STAGE) if {name} < LAST_STAGE else int32(0)"


def indented(lines, by):
    return [" " * by + line for line in lines]


def pitch(columns):
    """Words from row to row of a warp's sums on their way to C: eight lanes with two words each in banks of their own."""
    return 8 * columns + 8


def _put(warps, itemsize):
    """The statements by which a warp writes its sums to C, 16 rows at a time."""
    columns, row = 8 * warps.columns, pitch(warps.columns)
    each = CHUNK // itemsize                             # elements that a lane writes at once
    lanes = columns // each
    together = max(32 // lanes, 1)
    yield from ("flags, alpha = descriptor[EPILOGUE], float_scalar(descriptor, ALPHA)",
                f"column = left + across + lane % {lanes} * {each}",
                f"biases = ({', '.join(f'bias_of(bias, column + {k}, descriptor)' for k in range(each))})")
    for r in range(warps.rows):
        yield f"put_rows(mine, sums[{r * columns // 2}:{(r + 1) * columns // 2}], {row})"
        yield f"edge = top + down + {16 * r}"
        yield from ("warp_barrier()", "if lean:",
                    f"    for row in range(lane // {lanes}, 16, {together}):",
                    "        inside = edge + row < descriptor[SIZE_M]",
                    f"        put_chunk(c_from, further(theirs, row * {4 * row}), inside, c_left, flags, alpha, biases)",
                    "        c_from = offset(c_from, c_step)",
                    "else:",
                    "    for row in range(16):",
                    f"        for column in range(lane, {columns}, 32):",
                    f"            word = shared_word(further(staged, (row * {row} + column) * 4))",
                    "            put(float_of(INT(word)), c, bias, image, edge + row, left + across + column, descriptor)",
                    "warp_barrier()")


def put_chunk(c, address, inside, count, flags, alpha, biases):
    """Write the 16 bytes of C that are at a place of a row, as far as they are inside: `count` elements are."""
    if inside and count > 0:
        if PER_STORE == 8:
            a = finished_four(shared_words(address), flags, alpha, biases[:4])
            b = finished_four(shared_words(further(address, 16)), flags, alpha, biases[4:])
            words = pair_of(a[0], a[1]), pair_of(a[2], a[3]), pair_of(b[0], b[1]), pair_of(b[2], b[3])
            totals = a + b
        else:
            totals = finished_four(shared_words(address), flags, alpha, biases)
            words = as_word(totals[0]), as_word(totals[1]), as_word(totals[2]), as_word(totals[3])
        if count >= PER_STORE:
            store_words(c, words)
        else:
            for k in range(count):
                c[k] = store(T(totals[k]))


def finished_four(words, flags, alpha, biases):
    """Four sums as C has them, where nothing of C is added to them."""
    return (finished(words[0], flags, alpha, biases[0]), finished(words[1], flags, alpha, biases[1]),
            finished(words[2], flags, alpha, biases[2]), finished(words[3], flags, alpha, biases[3]))


def finished(word, flags, alpha, bias):
    x = float_of(INT(word))
    if flags:
        x = W(W(x * alpha) + bias)
        if flags & RECTIFIED:
            x = rectify(x)
    return x


def bias_of(bias, j, descriptor):
    """The bias of a column; 0 without one."""
    if descriptor[EPILOGUE] & COLUMN_BIAS and j < descriptor[SIZE_N]:
        return W(load(bias[j * descriptor[BIAS_STEP]]))
    return W(0)


def as_word(x):
    return uint32(bits_of(x))


W = float32
load, rectify = same, above_zero
INT, T, PER_STORE, pair_of, store = int32, float32, 8, packed_bfloat16, same


def source(warps, a, b, itemsize, places, slices, name="product_warps"):
    """The kernel of two operands, which `slices` multiply by `places`, until all threads have read them; sums are written in
    elements of `itemsize` bytes."""
    columns = 8 * warps.columns
    each = CHUNK // itemsize
    lanes, row = columns // each, pitch(warps.columns)
    together = max(32 // lanes, 1)
    return "\n".join([
        f"def {name}(a, b, c, bias, descriptor):",
        f"    base = shared_address(cuda.shared.array(0, uint32, {ALIGNMENT}), 0)",
        "    me = int32(cuda.threadIdx.x)",
        "    lane, warp = int32(me & 31), int32(me >> 5)",
        f"    down, across = int32(warp // {warps.across} * {16 * warps.rows}), int32(warp % {warps.across} * {columns})",
        "    eight, matrix, group, word = int32(lane & 7), int32(lane >> 3), int32(lane >> 2), int32(lane & 3)",
        "    line, chunk = int32(me >> 3), int32(me & 7)",
        *indented((f"{each.name}_into = further(base, {each.start} + line * {LINE} + ((chunk ^ {each.swizzle('line')}) << 4))"
                   for each in (a, b)), 4),
        f"    staged = further(base, warp * {64 * row})",
        f"    mine = further(staged, (group * {row} + 2 * word) * 4)",
        f"    theirs = further(staged, lane % {lanes} * {4 * each})",
        "    slices = int32((descriptor[SIZE_K] + (DEPTH - 1)) // DEPTH)",
        "    rest = int32(descriptor[SIZE_K] - (int64(slices) - 1) * DEPTH)",        # steps of the last slice
        *indented(places, 4),
        "    tile = int64(cuda.blockIdx.x)",
        "    while tile < descriptor[ALL_TILES]:",
        *indented(_place_of_tile(warps), 8),
        *indented((text for each in (a, b) for text in each.first_copies()), 8),
        "        sums = ZEROS",
        *indented(slices, 8),
        *indented(_place_of_tile(warps), 8),             # again: it would take registers meanwhile
        f"        lean = (descriptor[EPILOGUE] & {ADDED | ROW_BIAS} == 0 and descriptor[C_COLUMN] == 1 "
        f"and descriptor[C_ROW] % {each} == 0 and descriptor[C_BATCH] % {each} == 0 and address_of(c) % {CHUNK} == 0)",
        f"        c_step = {together} * descriptor[C_ROW]",
        f"        c_from = offset(c, image * descriptor[C_BATCH] + (top + down + lane // {lanes}) * descriptor[C_ROW] "
        f"+ (left + across + lane % {lanes} * {each}) * descriptor[C_COLUMN])",
        f"        c_left = int32(min(descriptor[SIZE_N] - left, MOST)) - across - lane % {lanes} * {each}",
        *indented(_put(warps, itemsize), 8),
        "        cuda.syncthreads()",                    # before the next tile's slices go where sums were
        "        tile += cuda.gridDim.x"]) + "\n"


def _place_of_tile(warps):
    yield from ("tiles, across_tiles = uint32(descriptor[TILES]), uint32(descriptor[TILES_N])",
                "image = int64(uint32(tile) // tiles)",
                "tile_row, tile_column = place_of_tile(uint32(uint32(tile) - uint32(image) * tiles), tiles, across_tiles)",
                f"top, left = int64(tile_row) * {warps.tall}, int64(tile_column) * {warps.wide}")


def place_of_tile(place, tiles, across):
    """The row and the column of a tile among `tiles`, of which `across` are a row of tiles: column by column in groups of rows."""
    group = uint32(place // uint32(GROUPED * across))
    first, inside = uint32(group * GROUPED), uint32(place - group * GROUPED * across)
    rows = uint32(min(uint32(tiles // across) - first, uint32(GROUPED)))
    column = uint32(inside // rows)
    return uint32(first + inside - column * rows), column


@functools.cache
def warp_kernel(dtype, out, warps, along, place_c, places):
    """The kernel of a dtype and a tile; `out`: the dtype of C; `along`: whether A and B lie along the depth. `places`: where in the
    descriptor the strides between lines and matrices of A and B are, and those of C."""
    form = FORMS[dtype]
    a = Operand("a", along[0], warps.tall, 16 * warps.rows, form.itemsize)
    b = Operand("b", along[1], warps.wide, 8 * warps.columns, form.itemsize, a.nbytes)
    text = source(warps, a, b, itemsize(out), [*a.places(), *b.places()], list(_slices(warps, a, b, form.rounded)))
    return assembled(text, "product_warps", warps, a, b, STAGES, dtype, out, place_c, places, add_products=form.multiply)


def assembled(text, name, warps, a, b, stages, dtype, out, place_c, places, variant="", **more):
    """A kernel of `source`, with the names that it takes."""
    stage = a.nbytes + b.nbytes
    names = dict(bindings(out), W=float32, INT=np.int32, scalar=float_scalar, place_c=place_c, PER_CHUNK=CHUNK // a.itemsize,
                 DEPTH=a.depth, STAGE=stage, LAST_STAGE=stage * (stages - 1), PER_STORE=CHUNK // itemsize(out),
                 pair_of=packed_float16 if out == "float16" else packed_bfloat16, **more)
    scope = dict(globals(), ALL_TILES=ALL_TILES, ALPHA=ALPHA, EPILOGUE=EPILOGUE, float_scalar=float_scalar,
                 TILES=TILES, TILES_N=TILES_N, SIZE_K=SIZE_K, SIZE_M=SIZE_M,
                 SIZE_N=SIZE_N, cuda=cuda, put=put, int64=int64, load_matrices=load_matrices, await_groups=await_groups,
                 load_matrices_transposed=load_matrices_transposed, bits_of=bits_of, commit_copies=commit_copies,
                 bytes_within=bytes_within,
                 copy_async=copy_async, put_rows=put_rows, warp_barrier=warp_barrier, address_of=address_of, offset=offset,
                 rounded_to_tf32=rounded_to_tf32, shared_address=shared_address, shared_word=shared_word, store_words=store_words)
    scope.update(names, ZEROS=(float32(0),) * (4 * warps.rows * warps.columns),
                 **dict(zip(("A_STEP", "A_BATCH", "B_STEP", "B_BATCH", "C_ROW", "C_COLUMN", "C_BATCH"), places)))
    compile_source(text, "product by warps", scope)
    kinds = dtype, dtype, out, out
    shared = max(stages * stage, warps.threads // 32 * 64 * pitch(warps.columns))
    return compile_kernel(scope[name], tuple(kind + "*" for kind in kinds) + ("int64*",), names, "float32",
                          threads=warps.threads, shared=shared, variant=variant)


def tile_of(tiles, m, n, batch):
    """The tile with which a large GPU is done first: rounds of its multiprocessors, each as long as a tile is large."""
    def cost(tile):
        count = -(-m // tile.tall) * -(-n // tile.wide) * batch
        return -(-count // PROCESSORS) * tile.tall * tile.wide * tile.cost
    return min(tiles, key=cost)


def describe(m, n, k, batch, warps, *epilogue):
    """The descriptor's header for a tile, and how many there are."""
    class _Tile(NamedTuple):
        rows: int
        columns: int
        row_threads: int = 1
        column_threads: int = 1
    return header(m, n, k, batch, _Tile(warps.tall, warps.wide), *epilogue)


def takes(dtype, problem):
    """Whether a product's operands lie so that 16 bytes can be copied at once, and it is large enough to fill matrices."""
    if dtype not in FORMS or min(problem.m, problem.n, problem.k) < 16:
        return False
    lines = []
    for (outer, inner), step in zip((problem.a, problem.b), problem.batch_strides):
        if 1 not in (outer, inner):
            return False
        lines += [inner if outer == 1 else outer, step]
    return all(each * FORMS[dtype].itemsize % 16 == 0 for each in lines)
