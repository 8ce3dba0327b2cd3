"""Random numbers from Philox4x32-10, a counter-based generator (Salmon et al., "Parallel random numbers: as easy as
1, 2, 3", SC 2011): four 32-bit words are a function of a key (the seed) and a counter, so any element can be drawn alone.

A fill works in chunks of 32 counters, from the generator's offset on: counter `offset + 32 * chunk + lane`, lane < 32,
gives words `4 * 32` of the chunk in the order word 0 of all lanes, word 1 of all lanes, and so on. Element e of a fill
therefore depends on seed, offset and e alone, not on threads. `counters_used` says how far a fill moves the offset.

Seed and offset come at call time: `state` is the address of int64 [seed, offset, status]. Kernels only read the first two; a
kernel that finds bad probabilities sets the third.
"""
from __future__ import annotations

import numpy as np
from numpy import float32, int64, uint32, uint64

from ...elementtypes import compute_type, itemsize, same
from ...intrinsics import float_of, local_array, offset
from ...vectormath import cos, log, sin, sqrt
from ..shared.elements import bits, part_offsets, prepare_parts, shares, typed

T = V = float32                  # V: what a chunk's values are before they are stored
load = store = same
PHILOX_LANES = 32
WORDS = 128                      # 32-bit words a chunk gives
GRAIN = 16_000
LOW = uint64(0xFFFFFFFF)
TWO_PI = 6.283185307179586

# descriptors: of a fill the elements, and the number of the first chunk (of draws whose elements have streams of their own, of the
# first element), then a distribution's parameters, float64 as their bits or integers; of the bare generator; of draws from weights
ELEMENTS, FIRST = range(2)
LEAST, END = MEAN, DEVIATION = range(FIRST + 1, FIRST + 3)
RATE = LIMIT = FIRST + 1
SPAN = LEAST + 1
CHUNKS = 0
ROWS, CLASSES, DRAWS = range(3)


# ---------------------------------------------------------------- the generator
def block(key, counter, attempt):
    """Philox4x32-10 of one counter: four words, each in the low half of a uint64."""
    c0 = uint64(counter) & LOW
    c1 = uint64(counter) >> uint64(32)
    c2 = uint64(attempt)
    c3 = uint64(0)
    k0 = uint64(key) & LOW
    k1 = uint64(key) >> uint64(32)
    for _ in range(10):
        p0 = uint64(0xD2511F53) * c0
        p1 = uint64(0xCD9E8D57) * c2
        c0 = (p1 >> uint64(32)) ^ c1 ^ k0
        c1 = p1 & LOW
        c2 = (p0 >> uint64(32)) ^ c3 ^ k1
        c3 = p0 & LOW
        k0 = (k0 + uint64(0x9E3779B9)) & LOW
        k1 = (k1 + uint64(0xBB67AE85)) & LOW
    return c0, c1, c2, c3


def philox(words, key, first):
    """words[0..127]: the blocks of the counters first .. first + 31."""
    for lane in range(PHILOX_LANES):
        c0, c1, c2, c3 = block(key, uint64(first) + uint64(lane), 0)
        words[lane] = c0
        words[32 + lane] = c1
        words[64 + lane] = c2
        words[96 + lane] = c3


def philox_words(out, state, descriptor):
    """The bare generator."""
    for chunk in range(descriptor[CHUNKS]):
        philox(offset(out, chunk * WORDS), state[0], state[1] + chunk * PHILOX_LANES)


def fractions32(values, words):
    """128 multiples of 2^-24 in [0, 1)."""
    for i in range(128):
        values[i] = T(uint32(words[i] >> uint64(8))) * T(5.9604644775390625e-08)


def fractions64(values, words):
    """64 multiples of 2^-53 in [0, 1), from two words each."""
    for i in range(64):
        word = (words[i] << uint64(21)) ^ (words[64 + i] >> uint64(11))
        values[i] = T(word) * T(1.1102230246251565e-16)


def radius32(words, i):
    """A uniform number in (0, 1], down to 2^-32 so that normals reach 6.6 standard deviations."""
    return (T(uint32(words[i])) + T(1)) * T(2.3283064365386963e-10)


# ---------------------------------------------------------------- a chunk's values, by distribution
def uniform32(values, words, descriptor):
    fractions32(values, words)
    low = T(float_of(descriptor[LEAST]))
    width = T(float_of(descriptor[END])) - low
    for i in range(128):
        values[i] = low + values[i] * width


def uniform64(values, words, descriptor):
    fractions64(values, words)
    low = T(float_of(descriptor[LEAST]))
    width = T(float_of(descriptor[END])) - low
    for i in range(64):
        values[i] = low + values[i] * width


def normal32(values, words, descriptor):
    """Box and Muller (1958): element i of the first half takes the cosine, its partner the sine."""
    mean = T(float_of(descriptor[MEAN]))
    deviation = T(float_of(descriptor[DEVIATION]))
    for i in range(64):
        radius = deviation * sqrt(T(-2) * log(radius32(words, i)))
        angle = T(uint32(words[64 + i])) * T(TWO_PI * 2.3283064365386963e-10)
        values[i] = mean + radius * cos(angle)
        values[64 + i] = mean + radius * sin(angle)


def normal64(values, words, descriptor):
    mean = T(float_of(descriptor[MEAN]))
    deviation = T(float_of(descriptor[DEVIATION]))
    fractions64(values, words)
    for i in range(32):
        radius = deviation * sqrt(T(-2) * log(T(1) - values[i]))
        angle = T(TWO_PI) * values[32 + i]
        values[i] = mean + radius * cos(angle)
        values[32 + i] = mean + radius * sin(angle)


def exponential32(values, words, descriptor):
    scale = T(-1) / T(float_of(descriptor[RATE]))
    for i in range(128):
        values[i] = scale * log(radius32(words, i))


def exponential64(values, words, descriptor):
    scale = T(-1) / T(float_of(descriptor[RATE]))
    fractions64(values, words)
    for i in range(64):
        values[i] = scale * log(T(1) - values[i])


def bernoulli32(values, words, descriptor):
    """1 where 32 random bits are below p * 2^32, which descriptor[LIMIT] holds."""
    limit = uint64(descriptor[LIMIT])
    for i in range(128):
        values[i] = int64(words[i] < limit)


def high_product(high, low, span):
    """floor(word * span / 2^64) for a word of 64 random bits in two halves: a number below span, off uniform by at most span /
    2^64."""
    span_high = span >> uint64(32)
    span_low = span & LOW
    a = high * span_low
    b = low * span_high
    middle = (a & LOW) + (b & LOW) + ((low * span_low) >> uint64(32))
    return high * span_high + (a >> uint64(32)) + (b >> uint64(32)) + (middle >> uint64(32))


def integers64(values, words, descriptor):
    span = uint64(descriptor[SPAN])
    for i in range(64):
        values[i] = descriptor[LEAST] + int64(high_product(words[i], words[64 + i], span))


# ---------------------------------------------------------------- kernels
chunk_values, WIDTH, BELOW = uniform32, 128, False


def fill(out, state, descriptor):
    """BELOW: the result must stay below descriptor[END] even after it is rounded to the element's type."""
    words = local_array(uint64, WORDS)
    values = local_array(V, WORDS)
    n = descriptor[ELEMENTS]
    counter = state[1] + descriptor[FIRST] * PHILOX_LANES
    for first in range(0, n, WIDTH):
        philox(words, state[0], counter)
        chunk_values(values, words, descriptor)
        part = offset(out, first)
        for i in range(min(int64(WIDTH), n - first)):
            part[i] = store(T(values[i]))
        if BELOW:
            low = store(T(float_of(descriptor[LEAST])))
            high = T(float_of(descriptor[END]))
            for i in range(min(int64(WIDTH), n - first)):
                if load(part[i]) >= high:
                    part[i] = low
        counter += PHILOX_LANES


def bernoulli_each(probabilities, out, state, descriptor):
    """out[i] = 1 with probability probabilities[i]; status 1 where one is not in [0, 1]."""
    words = local_array(uint64, WORDS)
    n = descriptor[ELEMENTS]
    bad = int64(0)
    for i in range(n):
        bad += int64(not ((probabilities[i] >= 0) & (probabilities[i] <= 1)))
    if bad != 0:
        state[2] = 1
    counter = state[1] + descriptor[FIRST] * PHILOX_LANES
    for first in range(0, n, 128):
        philox(words, state[0], counter)
        p = offset(probabilities, first)
        part = offset(out, first)
        for i in range(min(int64(128), n - first)):
            part[i] = store(T(V(words[i]) * V(2.3283064365386963e-10) < V(p[i])))
        counter += PHILOX_LANES


def shuffle(out, state, descriptor):
    """Fisher and Yates's shuffle of 0 .. n-1, in Durstenfeld's form."""
    words = local_array(uint64, WORDS)
    n = descriptor[ELEMENTS]
    counter = state[1]
    for i in range(n):
        out[i] = i
    used = int64(64)
    for left in range(n, 1, -1):
        if used == 64:
            philox(words, state[0], counter)
            counter += PHILOX_LANES
            used = int64(0)
        j = int64(high_product(words[used], words[64 + used], uint64(left)))
        used += 1
        kept = out[left - 1]
        out[left - 1] = out[j]
        out[j] = kept


def first_above(sums, target, last):
    """The first place whose running sum is above the target, `last` at most."""
    low = int64(0)
    while low < last:
        middle = (low + last) // 2
        if sums[middle] > target:
            last = middle
        else:
            low = middle + 1
    return low


def categorical(weights, out, state, cumulative, descriptor):
    """Draws with replacement: the first class whose cumulative weight is above u * total."""
    rows, classes, draws = descriptor[ROWS], descriptor[CLASSES], descriptor[DRAWS]
    words = local_array(uint64, WORDS)
    values = local_array(T, WORDS)
    counter = state[1]
    for row in range(rows):
        total = T(0)
        last = int64(-1)
        for c in range(classes):
            weight = T(load(weights[row * classes + c]))
            if not (weight >= T(0) and weight < T(np.inf)):
                state[2] = row + 1
                return
            if weight > T(0):
                last = int64(c)
            total += weight
            cumulative[c] = total
        if last < 0:
            state[2] = row + 1
            return
        for first in range(0, draws, 64):
            philox(words, state[0], counter)
            counter += PHILOX_LANES
            fractions64(values, words)
            for i in range(min(int64(64), draws - first)):
                out[row * draws + first + i] = first_above(cumulative, values[i] * total, last)


# ---------------------------------------------------------------- planners
def counters_used(n: int, dtype: str = "float32") -> int:
    """How far a fill of n elements moves the offset: 32 counters for 128 elements, or for 64 of a type of 64 bits."""
    return -(-n // (64 if compute_type(dtype) in ("float64", "int64") else 128)) * PHILOX_LANES


def _plan_fill(dtype, n, width, parameters, **names):
    kernel = typed(fill, dtype, ("element*", "int64*", "int64*"), WIDTH=width, **names)
    parts = shares(n, n, GRAIN, multiple=width)
    rows = [(stop - start, start // width, *parameters) for start, stop in parts]
    return prepare_parts(kernel, rows, n, part_offsets(parts, itemsize(dtype), 0))


def _plan_floats(forms, dtype, n, first, second, below=False):
    wide = compute_type(dtype) == "float64"
    return _plan_fill(dtype, n, 64 if wide else 128, (bits(first), bits(second)), chunk_values=forms[wide], BELOW=below,
                      V=np.float64 if wide else np.float32)


def plan_uniform(dtype: str, n: int, low: float = 0.0, high: float = 1.0):
    """Uniform in [low, high). Addresses: out (n), state. Moves the offset by `counters_used(n, dtype)`."""
    return _plan_floats((uniform32, uniform64), dtype, n, low, high, below=high > low)


def plan_normal(dtype: str, n: int, mean: float = 0.0, std: float = 1.0):
    """Normal, of this `mean` and standard deviation `std`. Addresses: out (n), state. Moves the offset by `counters_used(n,
    dtype)`.
    """
    return _plan_floats((normal32, normal64), dtype, n, mean, std)


def plan_exponential(dtype: str, n: int, rate: float = 1.0):
    """Exponential of mean 1 / rate. Addresses: out (n), state. Moves the offset by `counters_used(n, dtype)`."""
    return _plan_floats((exponential32, exponential64), dtype, n, rate, 0.0)


def plan_bernoulli(dtype: str, n: int, p: float):
    """Ones with probability p, to 2^-32. Addresses: out (n), state. Moves the offset by `counters_used(n)`."""
    return _plan_fill(dtype, n, 128, (round(p * 2**32), 0), chunk_values=bernoulli32, BELOW=False, V=np.int64)


def plan_bernoulli_each(probability_dtype: str, dtype: str, n: int):
    """out[i] = 1 with probability probabilities[i], else 0; the state's status becomes 1 where one is not in [0, 1].

    Addresses: probabilities (n) of `probability_dtype`, float32 or float64, out (n), state. Moves the offset by `counters_used(n)`.
    """
    kernel = typed(bernoulli_each, dtype, (probability_dtype + "*", "element*", "int64*", "int64*"), V=np.float64)
    parts = shares(n, n, GRAIN, multiple=128)
    sizes = itemsize(probability_dtype), itemsize(dtype)
    return prepare_parts(kernel, [(stop - start, start // 128) for start, stop in parts], n,
                         part_offsets(parts, *sizes, 0))


def plan_randint(dtype: str, n: int, low: int, high: int):
    """Integers in [low, high). Addresses: out (n), state. Moves the offset by `counters_used(n, "int64")`."""
    span = high - low
    return _plan_fill(dtype, n, 64, (low, span - 2**64 if span >= 2**63 else span), chunk_values=integers64, BELOW=False,
                      V=np.int64)


def plan_randperm(n: int):
    """A permutation of 0 .. n-1. Addresses: out (n) int64, state. Moves the offset by `counters_used(n, "int64")`."""
    return prepare_parts(typed(shuffle, "int64", ("element*", "int64*", "int64*")), [(n,)], n)


def plan_multinomial(dtype: str, rows: int, classes: int, draws: int):
    """Class indices drawn with replacement, in proportion to weights of float32 or float64.

    Addresses: weights (rows, classes), out (rows, draws) int64, state, workspace of `8 * classes` bytes. A row with a
    negative or non-finite weight or without a positive one sets the status to 1 + its number. Moves the offset by
    `rows * counters_used(draws, "float64")`.
    """
    kernel = typed(categorical, "float64", (dtype + "*", "int64*", "int64*", "float64*", "int64*"))
    return prepare_parts(kernel, [(rows, classes, draws)], rows * (classes + draws), workspace=8 * classes)


def plan_philox(chunks: int):
    """The bare generator. Addresses: out (128 * chunks) uint64, state."""
    return prepare_parts(typed(philox_words, "uint64", ("element*", "int64*", "int64*")), [(chunks,)], 128 * chunks)
