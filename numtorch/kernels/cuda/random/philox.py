"""Random draws on a GPU: a thread for each counter of the stream, which gives four words, and so four elements or two of 64 bits.

The streams are the host's (kernels/cpu/random/philox.py): element e of a fill has the words that it has there, so the numbers are
the same. Permutations and draws in proportion to weights are in choice.py.
"""
from __future__ import annotations

from numpy import float32, int32, int64, uint32, uint64

from ...cpu.random import philox as host
from ...cpu.random.philox import (
    DEVIATION,
    ELEMENTS,
    END,
    LEAST,
    LIMIT,
    MEAN,
    PHILOX_LANES,
    RATE,
    SPAN,
    TWO_PI,
    block,
    high_product,
)
from ...elementtypes import same
from ...intrinsics import bits_of, ceil, fma, local_like, select
from ...pointers import element_type
from ...vectormath import log, sqrt
from ...vectormath.elementary import ROUND_MAGIC
from ...vectormath.trigonometric import ONE_OVER_PI, sin_beside
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..serial import STATE, on_device, staged
from ..shared.elements import launch, typed
from ..shared.lines import scalar
from . import choice

T, INT = float32, int32
P = float32                                              # of probabilities
load = store = same


# ---------------------------------------------------------------- the values of one counter's words, in the order of their elements
def fraction32(word):
    """A multiple of 2^-24 in [0, 1)."""
    return T(uint32(word >> uint64(8))) * T(5.9604644775390625e-08)


def fraction64(high, low):
    """A multiple of 2^-53 in [0, 1)."""
    return T((high << uint64(21)) ^ (low >> uint64(11))) * T(1.1102230246251565e-16)


def positive32(word):
    """A uniform number in (0, 1], down to 2^-32."""
    return (T(uint32(word)) + T(1)) * T(2.3283064365386963e-10)


def uniform32(a, b, c, d, descriptor):
    low = scalar(descriptor, LEAST)
    width = scalar(descriptor, END) - low
    return low + fraction32(a) * width, low + fraction32(b) * width, low + fraction32(c) * width, low + fraction32(d) * width


def uniform64(a, b, c, d, descriptor):
    low = scalar(descriptor, LEAST)
    width = scalar(descriptor, END) - low
    return low + fraction64(a, c) * width, low + fraction64(b, d) * width


def sine(angle):
    """Of an angle below a turn, which polynomials reach: as `sin`, without a branch for others."""
    shifted = fma(angle, ONE_OVER_PI, ROUND_MAGIC)
    return sin_beside(shifted - ROUND_MAGIC, angle, bits_of(shifted))


def cosine(angle):
    shifted = fma(angle, ONE_OVER_PI, T(-0.5)) + ROUND_MAGIC
    return sin_beside(T(-0.5) - (shifted - ROUND_MAGIC), -angle, bits_of(shifted))


def normal32(a, b, c, d, descriptor):
    """Box and Muller (1958): a word for the radius, one for the angle."""
    mean, deviation = scalar(descriptor, MEAN), scalar(descriptor, DEVIATION)
    first, second = deviation * sqrt(T(-2) * log(positive32(a))), deviation * sqrt(T(-2) * log(positive32(b)))
    angle = T(uint32(c)) * T(TWO_PI * 2.3283064365386963e-10)
    other = T(uint32(d)) * T(TWO_PI * 2.3283064365386963e-10)
    return mean + first * cosine(angle), mean + second * cosine(other), mean + first * sine(angle), mean + second * sine(other)


def normal64(a, b, c, d, descriptor):
    mean, deviation = scalar(descriptor, MEAN), scalar(descriptor, DEVIATION)
    radius, angle = deviation * sqrt(T(-2) * log(T(1) - fraction64(a, c))), T(TWO_PI) * fraction64(b, d)
    return mean + radius * cosine(angle), mean + radius * sine(angle)


def exponential32(a, b, c, d, descriptor):
    scale = T(-1) / scalar(descriptor, RATE)
    return scale * log(positive32(a)), scale * log(positive32(b)), scale * log(positive32(c)), scale * log(positive32(d))


def exponential64(a, b, c, d, descriptor):
    scale = T(-1) / scalar(descriptor, RATE)
    return scale * log(T(1) - fraction64(a, c)), scale * log(T(1) - fraction64(b, d))


def bernoulli32(a, b, c, d, descriptor):
    limit = uint64(descriptor[LIMIT])
    return int64(a < limit), int64(b < limit), int64(c < limit), int64(d < limit)


def integers64(a, b, c, d, descriptor):
    span = uint64(descriptor[SPAN])
    return descriptor[LEAST] + int64(high_product(a, c, span)), descriptor[LEAST] + int64(high_product(b, d, span))


counter_values, WIDTH, BELOW = uniform32, 128, False


COUNTERS = 2                                             # of a thread, a block apart; all is drawn before the first is written
DRAWN = 4 * COUNTERS                                     # words


def first_element(number, width):
    """Of those that a counter gives, which are PHILOX_LANES apart."""
    return (number >> 5) * width + (number & (PHILOX_LANES - 1))


def fill_counters(out, state, descriptor):
    """BELOW: the result must stay below descriptor[END] even after it is rounded to the element's type."""
    n, seed, begin = descriptor[ELEMENTS], state[0], state[1]
    words = local_like(out, DRAWN)
    first = int64(cuda.blockIdx.x) * (COUNTERS * THREADS) + cuda.threadIdx.x
    if first_element(first, WIDTH) >= n:
        return
    for u in range(COUNTERS):
        a, b, c, d = block(seed, uint64(begin + first + u * THREADS), 0)
        k = 4 * u
        for value in counter_values(a, b, c, d, descriptor):
            word = store(T(value))
            if BELOW:
                word = select(load(word) >= scalar(descriptor, END), store(scalar(descriptor, LEAST)), word)
            words[k] = word
            k += 1
    for u in range(COUNTERS):
        i = first_element(first + u * THREADS, WIDTH)
        for k in range(WIDTH // PHILOX_LANES):
            if i + k * PHILOX_LANES < n:
                out[i + k * PHILOX_LANES] = words[4 * u + k]


def bernoulli_counters(probabilities, out, state, descriptor):
    """out[i] = 1 with probability probabilities[i]; status 1 where one is not in [0, 1]."""
    n = descriptor[ELEMENTS]
    number = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while number < (n + 127) // 128 * PHILOX_LANES:
        i = first_element(number, 128)
        for word in block(state[0], uint64(state[1] + number), 0):
            if i < n:
                p = probabilities[i]
                good = p >= P(0) and p <= P(1)
                if not good:
                    state[2] = 1
                # word / 2^32 < p, of integers: no type loses bits of either
                out[i] = store(T(good and word < uint64(ceil(p * P(4294967296)))))
            i += PHILOX_LANES
        number += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
_values = {host.uniform32: uniform32, host.uniform64: uniform64, host.normal32: normal32, host.normal64: normal64,
           host.exponential32: exponential32, host.exponential64: exponential64, host.bernoulli32: bernoulli32,
           host.integers64: integers64}


def counters_of(n, width):
    """The counters that a fill of n elements takes, of which 32 give `width` of them."""
    return -(-n // width) * PHILOX_LANES


def _chosen(row, bound):
    return dict(counter_values=_values[bound["chunk_values"]])


def _filled(planner, scalars=()):
    form = Form(fill_counters, lambda row: -(-counters_of(row[ELEMENTS], 64) // COUNTERS), _chosen, scalars,
                divisors=lambda row: ())
    return in_parallel(planner, {host.fill: form}, read={1: STATE})


counters_used = host.counters_used
plan_uniform = _filled(host.plan_uniform, (LEAST, END))
plan_normal = _filled(host.plan_normal, (MEAN, DEVIATION))
plan_exponential = _filled(host.plan_exponential, (RATE,))
plan_bernoulli = _filled(host.plan_bernoulli)
plan_randint = _filled(host.plan_randint)


def plan_bernoulli_each(probability_dtype: str, dtype: str, n: int, device: int = 0):
    names: dict = dict(P=element_type(probability_dtype).type)
    kernel = typed(bernoulli_counters, dtype, (probability_dtype + "*", "element*", "int64*", "int64*"), **names)
    return staged(launch(kernel, [n], counters_of(n, 128), device), {2: STATE}, device)


plan_philox = on_device(host.plan_philox, {1: STATE})
plan_randperm, plan_multinomial = choice.plan_randperm, choice.plan_multinomial
