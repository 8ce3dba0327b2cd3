"""Lines of numbers that some threads of a block share: which line a thread has, and what they join in shared memory.

A line has `LANES` threads, each with every LANES-th of its elements: all of a block where it is long, a part of one where it is
short. Lines that are side by side in memory have one thread each, so that neighbouring threads read neighbours.
"""
from __future__ import annotations

from numpy import float32, int32

from ...elementtypes import compute_type, itemsize, same
from ...families.reductions import add
from ...intrinsics import address_of, float_of, fmax, local_like, offset, select
from ..environment import SMALL, THREADS
from ..warps import WARP as FULL_WARP
from ..warps import barrier, lane_across
from .atomics import add_at
from .vectors import load_vector, store_vector, vectors_of

T, INT = float32, int32
load = store = same
LANES = 1
FEW = THREADS // 2 if SMALL else 16                      # threads of a short line
LONG = 4 if SMALL else 256                               # elements from which a line has a block
WARP = THREADS // 2 if SMALL else FULL_WARP              # threads that join numbers without shared memory


def lanes_for(n: int, inner: int) -> int:
    """How many threads have a line of n elements that are `inner` apart."""
    return 1 if inner > 1 else THREADS if n >= LONG else FEW


def scalar(descriptor, at):
    """A float of a descriptor, which holds its bits."""
    return T(float_of(INT(descriptor[at])))


def joining(combine):
    """What combines a value over the threads of a line, after which the cells are free again."""
    def join(cells, value, me, lane):
        mask = min(LANES, WARP) // 2
        while mask > 0:
            value = combine(value, lane_across(value, mask))
            mask //= 2
        if LANES > WARP:                                 # of each warp one
            if me % WARP == 0:
                cells[me // WARP] = value
            barrier()
            first = (me - lane) // WARP
            value = cells[first]
            for warp in range(1, LANES // WARP):
                value = combine(value, cells[first + warp])
            barrier()
        return value
    return join


joined, joined_highest = joining(add), joining(fmax)     # the sum, the largest


def add_total_at(target, cells, value, me):
    """Add the sum of a value over the threads of a block, which is the line, to a word of memory."""
    total = joined(cells, value, me, me)
    if me == 0:
        add_at(target, total)


def begin_of(line, n, inner):
    """Where a line's first element is."""
    place = line // inner
    return place * n * inner + (line - place * inner)


# ---------------------------------------------------------------- lines in registers
WIDTH, SIZE, HELD = 4, 4, 16                             # neighbours that a thread loads at once, bytes of one, all that it has
LOADS, WORDS = 4, 16                                     # vectors that are loaded together of lines that are not held; elements
MOST_HELD = 8 if SMALL else 32


def aligned(x):
    """Whether vectors begin at x."""
    return address_of(x) % (WIDTH * SIZE) == 0


def fetch(words, at, x, whole):
    """Neighbours from x on to `words` from place `at` on."""
    if WIDTH > 1 and whole:
        loaded = load_vector(x, WIDTH)
        for j in range(WIDTH):
            words[at + j] = loaded[j]
    else:
        for j in range(WIDTH):
            words[at + j] = x[j]


def one(words):
    return (words[0],)


def two(words):
    return words[0], words[1]


def four(words):
    return words[0], words[1], words[2], words[3]


def eight(words):
    return words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7]


packed, PACKED = four, {1: one, 2: two, 4: four, 8: eight}


def put(words, x, whole):
    """A vector of neighbours to x."""
    if WIDTH > 1 and whole:
        store_vector(x, packed(words))
    else:
        for j in range(WIDTH):
            x[j] = words[j]


def place_held(k, lane):
    """The number of the first element of a thread's vector number k."""
    return (k * LANES + lane) * WIDTH


def hold(held, x, n, lane, beyond):
    """A line of n elements, whole vectors, to the registers of its threads; in the place of those beyond its end `beyond`."""
    words, whole = local_like(x, HELD), aligned(x)
    for k in range(HELD // WIDTH):
        fetch(words, k * WIDTH, offset(x, min(place_held(k, lane), n - WIDTH)), whole)
    for k in range(HELD // WIDTH):
        for j in range(WIDTH):
            held[k * WIDTH + j] = select(place_held(k, lane) < n, load(words[k * WIDTH + j]), beyond)


def release(held, x, n, lane):
    """The line to x."""
    words, whole = local_like(x, WIDTH), aligned(x)
    for k in range(HELD // WIDTH):
        if place_held(k, lane) < n:
            for j in range(WIDTH):
                words[j] = store(held[k * WIDTH + j])
            put(words, offset(x, place_held(k, lane)), whole)


def width_of(dtype: str, n: int) -> int:
    """How many elements of lines of n contiguous ones a thread loads at once."""
    width = vectors_of(itemsize(dtype))
    while n % width:
        width //= 2
    return width


def streamed(dtype: str, n: int, inner: int = 1) -> dict:
    """What kernels bind for lines that are not held."""
    width = width_of(dtype, n) if inner == 1 and n and compute_type(dtype)[:5] == "float" else 1
    return dict(LANES=lanes_for(n, inner), WIDTH=width, SIZE=itemsize(dtype), HELD=0, WORDS=LOADS * width, packed=PACKED[width])


def shape_of(dtype: str, n: int, inner: int = 1) -> dict:
    """What kernels bind for lines: how many threads a line has, and how much of it each; HELD is 0 where it is too long to be
    held."""
    shape = streamed(dtype, n, inner)
    lanes = FEW if n <= 4 * FEW else WARP if n <= MOST_HELD * WARP else THREADS
    held = max(shape["WIDTH"], 1 << (-(-n // lanes) - 1).bit_length())
    if inner > 1 or not n or held > MOST_HELD * (2 if itemsize(dtype) == 2 else 1) or compute_type(dtype)[:5] != "float":
        return shape
    return dict(shape, LANES=lanes, HELD=held)


# ---------------------------------------------------------------- columns
COLUMNS = 1                                              # side by side, one for each of as many neighbouring threads
WIDE = 2 if SMALL else 32                                # of them where neighbouring threads are to read neighbouring columns


def column_total(cells, value, me):
    """The sum of a value over the threads of a column, after which the cells are free again."""
    cells[me] = value
    half = THREADS // 2
    while half >= COLUMNS:
        barrier()
        if me < half:
            cells[me] += cells[me + half]
        half //= 2
    barrier()
    total = cells[me % COLUMNS]
    barrier()
    return total
