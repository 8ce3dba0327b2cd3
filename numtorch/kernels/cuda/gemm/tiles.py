"""Tiles of a product on a GPU, for products and for convolutions, which differ in where elements are.

A block makes a tile of C: for each slice of the depth it brings a tile of A and one of B to shared memory, where a step of the
depth is a line, and each thread adds `rows * columns` products a step in registers. The lanes of a warp are eight by four. Of its
rows, and of its columns, a thread has neighbours for 16 bytes, which it loads at once, then those of like places in the next lanes'
share. Lanes are numbered so that both loads of a warp take two passes of shared memory, which is the fewest: in each half of a warp
either lane i and lane i ^ 1 or lane i and lane i ^ 2 ask for the same. What a step multiplies is loaded while the step before is
multiplied.

The next slice is loaded to registers while this one is multiplied, and the two slices of shared memory take turns: one barrier a
slice. The first slice is the one that may lack steps, so that the others look at no ends; in the place of rows and columns outside
of C its last are loaded, and not written.

Kernels are compiled for a `Tile` and for what brings slices of A and of B: `Strided`, or those that conv/operands.py has. Where C
allows it, a thread writes 16 bytes at once; else sums go through shared memory, a row of each thread's at a time, so that
neighbouring threads write neighbouring columns.
"""
from __future__ import annotations

import functools
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy import float32, int32, int64, uint32, uint64

from ...elementtypes import bindings, compute_type, is_small_integer, itemsize, same
from ...intrinsics import divide, float_of, offset
from ...sources import compile_source
from ..compiler import compile_kernel, cuda
from ..environment import SMALL
from ..warps import add_outer_product, barrier, neighbours, put_neighbours, rectified

# The descriptor: sizes, tiles along rows and columns and in all; the epilogue; and then what the operands read.
SIZE_M, SIZE_N, SIZE_K, TILES_N, TILES, ALL_TILES, EPILOGUE, ALPHA, BETA, BIAS_STEP, ELEMENTS = 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 12
SCALED, ADDED, COLUMN_BIAS, ROW_BIAS, RECTIFIED = 1, 2, 4, 8, 16

W = T = float32
INT = INDEX = int32
NUMBER = uint32                                          # of columns and steps, where they are divided
read = load = store = same
NAMED = dict(int64=int64, uint32=uint32, cuda=cuda, divide=divide, offset=offset, add_outer_product=add_outer_product,
             neighbours=neighbours, put_neighbours=put_neighbours, rectified=rectified)    # what statements name besides
THREADS, TILE_M, TILE_N, DEPTH = 256, 128, 128, 8
SLOTS, SUMS_PITCH, GROUP, WARP_ROWS = 16, 136, 4, 64


def float_scalar(descriptor, at):
    return float_of(INT(descriptor[at]))


def integer_scalar(descriptor, at):
    return W(descriptor[at])


def complex_scalar(descriptor, at):
    return W(complex(float_of(INT(descriptor[at])), float_of(INT(descriptor[at + 1]))))


def bits(value, kind):
    """A scalar as two words of the descriptor: of its real and its imaginary part the bits in the dtype that sums have."""
    work = np.dtype(kind)
    if work.kind in "iu":
        return [int(value), 0]
    part = {"float32": np.float32, "complex64": np.float32}.get(work.name, np.float64)
    parts = np.array([complex(value).real, complex(value).imag], part)
    return parts.view(np.int32 if part is np.float32 else np.int64).tolist()


def above_zero(x):
    return W(0) if x < W(0) else x


scalar, rectify = float_scalar, above_zero


# ---------------------------------------------------------------- how a block divides its tile
BYTES = 16                                               # that a thread loads or writes at once
LANES_DOWN, LANES_ACROSS = (2, 2) if SMALL else (8, 4)   # of a warp


class Tile(NamedTuple):
    """Elements of C that a thread has down and across, warps down and across, and the depth of a slice."""
    rows: int
    columns: int
    warps_down: int
    warps_across: int
    depth: int

    @property
    def row_threads(self):
        return LANES_DOWN * self.warps_down

    @property
    def column_threads(self):
        return LANES_ACROSS * self.warps_across

    @property
    def tall(self):
        return self.rows * self.row_threads

    @property
    def wide(self):
        return self.columns * self.column_threads

    @property
    def threads(self):
        return self.row_threads * self.column_threads

    def resident(self, nbytes, addresses):
        """How many blocks a multiprocessor is to have room for, whose 65536 registers they share: of threads with sums of so many
        bytes, what a step multiplies twice, and addresses."""
        registers = (self.rows * self.columns + 2 * (self.rows + self.columns)) * nbytes // 4 + addresses
        warps = self.threads // (LANES_DOWN * LANES_ACROSS)
        return max(1, min(65536 // (registers * self.threads), 2 * WARPS // warps))

    def share(self, nbytes, cost):
        """Of the arithmetic that it asks for what a tile reaches: by instructions that a thread has for a step, or by passes of
        shared memory for all four warps that multiply at a time, of which three of four are as many as go by without waiting."""
        work, loads = self.rows * self.columns, (self.tall + self.wide) / self.threads
        read = (self.rows + self.columns) * nbytes / BYTES
        return work / max(work + read + cost * loads, (8 * read + 4 * loads) / 0.75)

    def cycles(self, m, n, batch, nbytes=4, cost=2):
        """Of a step of the depth, of the multiprocessor that has most tiles.

        Args:
            nbytes: of a sum.
            cost: instructions for an element that a thread brings.
        """
        tiles = -(-(-(-m // self.tall) * -(-n // self.wide) * batch) // PROCESSORS)
        busy = min(1.0, (tiles * self.threads // (LANES_DOWN * LANES_ACROSS) + WARPS) / (2 * WARPS))
        return tiles * self.tall * self.wide / 128 / self.share(nbytes, cost) / busy


# In the simulator with the few threads that it has.
LARGE, SMALLEST = (Tile(8, 4, 1, 1, 4), Tile(4, 4, 1, 1, 4)) if SMALL else (Tile(8, 8, 2, 4, 8), Tile(4, 4, 1, 2, 16))
TILES_OF = [LARGE, SMALLEST] if SMALL else [LARGE, Tile(8, 8, 1, 4, 8), Tile(4, 8, 2, 2, 8), SMALLEST]
NARROW = 8 if SMALL else 64                              # columns of tiles that are narrow and none the smallest
PROCESSORS, WARPS = (1, 1) if SMALL else (132, 8)        # of a large GPU; warps that keep one of them at work
SUMS_BYTES = 512                                         # of a thread's registers, at most


def tile_for(m, n, batch, nbytes=4, cost=2):
    """The tile that takes least time; arguments as for `Tile.cycles`."""
    fit = (tile for tile in TILES_OF if tile.rows * tile.columns * nbytes <= SUMS_BYTES)
    return min(fit, key=lambda tile: tile.cycles(m, n, batch, nbytes, cost))


class Side(NamedTuple):
    """A or B in a tile: its name, rows or columns of the tile, the depth of a slice and the threads that bring it; whether
    neighbouring threads bring neighbours along the depth; elements that each brings at once; the fewest parts of a line that a
    thread has; and bytes of an element in shared memory."""
    name: str
    extent: int
    depth: int
    threads: int
    along: bool
    width: int
    parts: int
    nbytes: int

    @property
    def pitch(self):
        """Elements of shared memory from step to step: lines are at multiples of 16 bytes, and steps that neighbouring threads
        write in other banks."""
        return self.extent + max(1, BYTES // self.nbytes)

    @property
    def words(self):
        """Of a slice."""
        return self.depth * self.pitch

    @property
    def line(self):
        """How many neighbouring threads bring a line, or a part of it."""
        length = (self.depth if self.along else self.extent) // self.width
        return length // max(self.parts, length // self.threads)

    @property
    def loads(self):
        """What a thread brings of a slice."""
        return range(self.extent * self.depth // self.width // self.threads)

    def apart(self, e):
        """How many rows or columns, and steps, its load number `e` is from its first."""
        parts = (self.depth if self.along else self.extent) // self.width // self.line
        lines, within = e // parts * (self.threads // self.line), e % parts * self.line * self.width
        return (lines, within) if self.along else (within, lines)

    def begin(self, edge, size):
        """Statements: `_row` and `_step` are a thread's first row or column in the tile and its step, `_edge` the last that it
        may bring."""
        first, other = f"me % {self.line} * {self.width}", f"me // {self.line}"
        row, step = (other, first) if self.along else (first, other)
        last = 1 if self.along else self.width           # elements that are brought at once are all inside or all outside
        return [f"{self.name}_row, {self.name}_step = int32({row}), int32({step})",
                f"{self.name}_edge = int32(min(descriptor[{size}] - int64({last}) - {edge}, int64({self.extent - last})))"]

    def stage(self, turn):
        """Statements that write what was loaded to shared memory."""
        lines = [f"{self.name}_put = int32({turn} * {self.words} + {self.name}_step * {self.pitch} + {self.name}_row)"]
        for e in self.loads:
            rows, steps = self.apart(e)
            place = f"{self.name}_put + {steps * self.pitch + rows}"
            if self.width == 1:
                lines.append(f"{self.name}_tile[uint64({place})] = {self.name}{e}")
            elif self.along:
                lines += [f"{self.name}_tile[uint64({place} + {q * self.pitch})] = {self.name}{e}[{q}]" for q in range(self.width)]
            else:
                lines.append(f"put_neighbours({self.name}_tile, {place}, {self.name}{e})")
        return lines


# ---------------------------------------------------------------- operands
class Strided(NamedTuple):
    """Brings slices of a matrix by its strides, which are at these places of the descriptor: of its rows or columns, along the
    depth and of the batch. With `width` beyond 1, elements that are neighbours and whole 16 bytes."""
    places: tuple
    along: bool
    width: int = 1

    registers, parts = 0, 1                              # for addresses, beyond the fewest; see Side

    def names(self):
        return {}

    def begin(self, side, edge):
        n, outer, deep, step = side.name, *(f"descriptor[{place}]" for place in self.places)
        lines = [f"{n}_from = offset({n}, image * {step} + {edge} * {outer} - missing * {deep})",
                 f"{n}_next = {side.depth} * {deep}"]
        for e in side.loads:
            rows, steps = side.apart(e)
            lines.append(f"{n}_at{e} = INDEX(INDEX(min(int32({n}_row + {rows}), {n}_edge)) * INDEX({outer}) + "
                         f"INDEX({n}_step + {steps}) * INDEX({deep}))")
        return lines

    def fetch(self, side, first):
        """Statements that load a slice, the first of which has no steps before number `missing`."""
        n, lines = side.name, []
        for e in side.loads:
            value = f"neighbours({n}_from, {n}_at{e})" if self.width > 1 else f"W(read({n}_from[{n}_at{e}]))"
            if first:
                zero = f"({'W(0), ' * self.width})" if self.width > 1 else "W(0)"
                value += f" if {n}_step + {side.apart(e)[1]} >= missing else {zero}"
            lines.append(f"{n}{e} = {value}")
        return lines

    def advance(self, side):
        return [f"{side.name}_from = offset({side.name}_from, {side.name}_next)"]


def await_slice():
    """Wait until a slice is in shared memory, and the one before multiplied."""
    barrier()


def depth_of(image, descriptor):
    """The depth of a batch's number."""
    return descriptor[SIZE_K]


def column_of(image, j, descriptor):
    """Where column j of C begins."""
    return j


def row_of(descriptor):
    """How far rows of C are apart."""
    return descriptor[SIZE_N]


def place_c(image, i, j, descriptor):
    return column_of(image, j, descriptor) + i * row_of(descriptor)


def bias_row(image, i, descriptor):
    """Which row of the bias is added to row i of a batch's number."""
    return i


def finish(total, c, at, bias, image, i, j, descriptor):
    """What is written for a sum: alpha * sum + beta * C + bias, rectified."""
    flags = descriptor[EPILOGUE]
    x = total
    if flags & SCALED:
        x = W(x * scalar(descriptor, ALPHA))
    if flags & ADDED:
        x = W(x + W(scalar(descriptor, BETA) * load(c[at])))
    if flags & COLUMN_BIAS:
        x = W(x + load(bias[j * descriptor[BIAS_STEP]]))
    if flags & ROW_BIAS:
        x = W(x + load(bias[bias_row(image, i, descriptor) * descriptor[BIAS_STEP]]))
    if flags & RECTIFIED:
        x = rectify(x)
    return x


def put(total, c, bias, image, i, j, descriptor):
    """Write an element of C, if it is one."""
    if i < descriptor[SIZE_M] and j < descriptor[SIZE_N]:
        at = place_c(image, i, j, descriptor)
        c[at] = store(T(finish(total, c, at, bias, image, i, j, descriptor)))


def bias_of_column(bias, j, descriptor):
    return W(load(bias[min(j, descriptor[SIZE_N] - 1) * descriptor[BIAS_STEP]]))


def bias_of_row(bias, image, i, descriptor):
    return W(load(bias[bias_row(image, min(i, descriptor[SIZE_M] - 1), descriptor) * descriptor[BIAS_STEP]]))


def write_rows(sums, c, bias, image, top, left, row, me, descriptor):
    """Write the rows of a tile whose sums are in shared memory, of which each thread had one: of its lane's rows it is number
    `row`."""
    barrier()
    j = left + me % min(THREADS, TILE_N)
    while j < min(left + TILE_N, descriptor[SIZE_N]):
        column, apart = column_of(image, j, descriptor), row_of(descriptor)
        slot = me // min(THREADS, TILE_N)
        while slot < SLOTS:
            i = top + slot // LANES_DOWN * WARP_ROWS + slot % LANES_DOWN * GROUP + row
            if i < descriptor[SIZE_M]:
                at = column + i * apart
                total = sums[uint64(slot * SUMS_PITCH + j - left)]
                c[at] = store(T(finish(total, c, at, bias, image, i, j, descriptor)))
            slot += max(THREADS // TILE_N, 1)
        j += THREADS
    barrier()                                            # before the next rows are where these are


class Elements(NamedTuple):
    """What brings slices of A and of B, and where C is; `wide`: whether threads write 16 bytes of it at once, and neither scale
    sums nor add to what is there."""
    a: Any
    b: Any
    wide: bool = False
    column_of: Any = column_of
    row_of: Any = row_of
    bias_row: Any = bias_row
    depth_of: Any = depth_of


def _source(tile, a, b, elements, group):
    """The kernel of a tile. Its sums are variables, and what is done for each of them is written out: an array would be indexed in
    a loop, which the compiler leaves rolled from some size on, and lie in memory. Places in shared memory are unsigned: signed ones
    may count from the end, and would be compared with 0 before each load.

    Args:
        a, b: a `Side` each.
        group: neighbours among a thread's rows, and among its columns.
    """
    rows, columns = range(tile.rows), range(tile.columns)
    down = [r // group * group * LANES_DOWN + r % group for r in rows]
    across = [s // group * group * LANES_ACROSS + s % group for s in columns]

    def fetched(first):
        return elements.a.fetch(a, first) + elements.b.fetch(b, first)

    def taken(step):
        """A step's rows and columns from shared memory, to variables that two steps take turns with."""
        for side, places, name in ((a, down, "rows"), (b, across, "columns")):
            for k in range(0, len(places), group):
                place = f"{side.name}_get + {step * side.pitch + places[k]}"
                source = f"({side.name}_tile[uint64({place})],)" if group == 1 else f"neighbours({side.name}_tile, {place})"
                yield f"{name}{step % 2}_{k // group} = {source}"

    def reading(turn):
        return [f"a_get, b_get = int32({turn} * {a.words} + down), int32({turn} * {b.words} + across)"]

    def multiplied(step):
        taken = (" + ".join(f"{name}{step % 2}_{k}" for k in range(count // group))
                 for name, count in (("rows", tile.rows), ("columns", tile.columns)))
        return [f"sums = add_outer_product(sums, {', '.join(taken)})"]

    def kept(r):
        for s in range(0, tile.columns, group):
            place, at = f"slot * SUMS_PITCH + across + {across[s]}", r * tile.columns + s
            if group == 1:
                yield f"a_tile[uint64({place})] = sums[{at}]"
            else:
                yield f"put_neighbours(a_tile, {place}, ({', '.join(f'sums[{at + q}]' for q in range(group))}))"
        yield f"write_rows(a_tile, c, bias, image, top, left, {down[r]}, me, descriptor)"

    def at_once():
        """A thread's sums straight to C."""
        lines = ["flags = descriptor[EPILOGUE]",
                 "if flags & COLUMN_BIAS:",
                 f"    biases = ({', '.join(f'bias_of_column(bias, left + across + {s}, descriptor)' for s in across)},)",
                 f"    sums = add_outer_product(sums, ONES[:{tile.rows}], biases)",
                 "if flags & ROW_BIAS:",
                 f"    biases = ({', '.join(f'bias_of_row(bias, image, top + down + {r}, descriptor)' for r in down)},)",
                 f"    sums = add_outer_product(sums, biases, ONES[:{tile.columns}])",
                 "if flags & RECTIFIED:",
                 "    sums = rectified(sums)",
                 "size_m, size_n, apart = descriptor[SIZE_M], descriptor[SIZE_N], row_of(descriptor)"]
        firsts = range(0, tile.columns, group)
        lines += [f"column{s} = column_of(image, left + across + {across[s]}, descriptor)" for s in firsts]
        for r in rows:
            lines += [f"i = top + down + {down[r]}", "if i < size_m:"]
            for s in firsts:
                values = ", ".join(f"sums[{r * tile.columns + s + q}]" for q in range(group))
                lines += [f"    if left + across + {across[s]} < size_n:",
                          f"        put_neighbours(c, column{s} + i * apart, ({values}))"]
        return lines

    indented = lambda lines, by: [" " * by + line for line in lines]
    last = tile.depth - 1
    written = at_once() if elements.wide else [line for r in rows for line in kept(r)]
    return "\n".join([
        "def product_tiles(a, b, c, bias, descriptor):",
        "    a_tile = cuda.shared.array(A_WORDS, W, 16)",
        "    b_tile = cuda.shared.array(B_WORDS, W, 16)",
        "    me = int32(cuda.threadIdx.x)",
        f"    lane, warp = int32(me % {LANES_DOWN * LANES_ACROSS}), int32(me // {LANES_DOWN * LANES_ACROSS})",
        f"    slot = int32(warp // {tile.warps_across} * {LANES_DOWN} + (lane >> 1) % {LANES_DOWN})",
        f"    down = int32(slot // {LANES_DOWN} * WARP_ROWS + slot % {LANES_DOWN} * {group})",
        f"    across = int32(warp % {tile.warps_across} * {tile.columns * LANES_ACROSS} + "
        f"((lane & 1) + lane // {2 * LANES_DOWN} * 2) * {group})",
        "    tile = int64(cuda.blockIdx.x)",
        "    while tile < descriptor[ALL_TILES]:",
        "        number = divide(uint32(tile), uint32(descriptor[TILES]))",
        "        place = uint32(tile - number * descriptor[TILES])",
        "        line = divide(place, uint32(descriptor[TILES_N]))",
        "        image, top = int64(number), int64(line) * TILE_M",
        "        left = (place - int64(line) * descriptor[TILES_N]) * TILE_N",
        "        sums = ZEROS",
        "        depth = depth_of(image, descriptor)",
        f"        slices = int32((depth + {last}) // {tile.depth})",
        f"        missing = int32(int64(slices) * {tile.depth} - depth)",
        "        if slices > 0:",
        *indented(a.begin("top", "SIZE_M") + b.begin("left", "SIZE_N"), 12),
        *indented(elements.a.begin(a, "top") + elements.b.begin(b, "left"), 12),
        *indented(fetched(True) + a.stage("0") + b.stage("0"), 12),
        "            await_slice()",
        *indented([*reading("0"), *taken(0)], 12),
        "            turn = int32(0)",
        "            while slices > 0:",
        "                slices = int32(slices - 1)",
        "                if slices > 0:",
        *indented(elements.a.advance(a) + elements.b.advance(b) + fetched(False), 20),
        *[line for step in range(last) for line in indented([*taken(step + 1), *multiplied(step)], 16)],
        "                turn = int32(1 - turn)",
        "                if slices > 0:",
        *indented(a.stage("turn") + b.stage("turn"), 20),
        "                await_slice()",
        *indented([*reading("turn"), *taken(0), *multiplied(last)], 16),     # of the last slice what is not read
        *indented(written, 8),
        "        tile += cuda.gridDim.x"]) + "\n"


INTEGERS = {"float32": np.int32, "complex64": np.int32}     # of the size of the parts


def accumulator(dtype):
    """The dtype that a product of `dtype` is summed in."""
    return "int32" if is_small_integer(dtype) and dtype != "uint16" else compute_type(dtype)


def integer_of(work):
    """What the bits of a sum's parts are kept as."""
    return INTEGERS.get(work, np.int64)


def neighbours_of(work):
    """How many elements of a dtype of sums are loaded from shared memory at once."""
    return 1 if np.dtype(work).kind == "c" else BYTES // itemsize(work)


def width_of(dtype):
    """How many elements of a dtype can be brought at once: where they are not converted."""
    return neighbours_of(dtype) if accumulator(dtype) == dtype else 1


@functools.cache
def tile_kernel(dtype, tile, elements, out=None, index=int32):
    """The kernel of a dtype, a tile and an `Elements`.

    Args:
        out: the dtype of C, where it is another.
        index: of places within a tile; int64 also where there are so many columns or steps of the depth.
    """
    work = np.dtype(accumulator(dtype))
    group = neighbours_of(work.name)
    a, b = (Side(name, extent, tile.depth, tile.threads, operand.along, operand.width, operand.parts, work.itemsize)
            for name, extent, operand in (("a", tile.tall, elements.a), ("b", tile.wide, elements.b)))
    pitch, slots = tile.wide + 2 * max(1, BYTES // work.itemsize), tile.row_threads
    names = dict(bindings(out or dtype), read=bindings(dtype)["load"], W=work.type, INT=integer_of(work.name), INDEX=index,
                 NUMBER=uint32 if index is int32 else int64,
                 THREADS=tile.threads, TILE_M=tile.tall, TILE_N=tile.wide, A_WORDS=max(2 * a.words, slots * pitch),
                 B_WORDS=2 * b.words, SLOTS=slots, SUMS_PITCH=pitch, GROUP=group, WARP_ROWS=tile.rows * LANES_DOWN,
                 scalar={"f": float_scalar, "c": complex_scalar}.get(work.kind, integer_scalar), column_of=elements.column_of,
                 row_of=elements.row_of, bias_row=elements.bias_row, depth_of=elements.depth_of, **elements.a.names(),
                 **elements.b.names())
    if work.kind == "c":
        names["rectify"] = same
    scope = {}
    for operand in (elements.a, elements.b):
        scope.update(vars(sys.modules[type(operand).__module__]))        # what its statements name
    ones = (work.type(1),) * max(tile.rows, tile.columns)
    scope.update(globals(), **NAMED, ZEROS=(work.type(0),) * (tile.rows * tile.columns), ONES=ones)
    compile_source(_source(tile, a, b, elements, group), "product in tiles", scope)
    kinds = (dtype + "*",) * 2 + ((out or dtype) + "*",) * 2 + ("int64*",)
    return compile_kernel(scope["product_tiles"], kinds, names, work.name, threads=tile.threads,
                          resident=tile.resident(work.itemsize, 30 + elements.a.registers + elements.b.registers))


def header(m, n, k, batch, tile, epilogue=0, alpha=(0, 0), beta=(0, 0), bias_step=1):
    """The descriptor as far as `ELEMENTS`, and how many tiles there are."""
    across = -(-n // (tile.columns * tile.column_threads))
    tiles = -(-m // (tile.rows * tile.row_threads)) * across
    return [m, n, k, across, tiles, tiles * batch, epilogue, *alpha, *beta, bias_step], tiles * batch
