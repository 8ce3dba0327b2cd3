"""CUDA: numbers are divided by multiplying, to the last one below 31 bits (kernels/cuda/shared/coordinates.py); what lies in vectors
is moved by instructions of 16 bytes, of every size of elements."""
from __future__ import annotations

import random

import numpy as np
import pytest

from numtorch.kernels.cuda.shared.coordinates import divisor, quotient31, quotient63

MOST = (1 << 31) - 1
EXTENTS = [*range(1, 70), *(2 ** k + d for k in range(7, 31) for d in (-1, 0, 1)), MOST - 1, MOST]


def test_quotients_are_exact():
    rng = random.Random(0)
    for extent in EXTENTS:
        word = np.int64(divisor(extent))
        numbers = {0, 1, MOST, extent - 1, MOST // extent * extent - 1, MOST // extent * extent, *(rng.randrange(MOST) for _ in range(20))}
        for n in numbers - {-1}:
            assert quotient31(np.uint32(n), word) == n // extent, (n, extent)
            assert quotient63(np.int64(n), np.int64(divisor(extent, narrow=False))) == n // extent


@pytest.mark.parametrize("dtype", ["uint8", "int16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_vectors_are_of_16_bytes(dtype):
    pytest.importorskip("numba_cuda")
    from numtorch.kernels.cuda.compiler import compile_kernel
    from numtorch.kernels.cuda.shared.vectors import load_vector, store_vector, vectors_of
    from numtorch.kernels.elementtypes import itemsize

    def copied(x, out, descriptor):
        store_vector(out, load_vector(x, WIDTH))

    names = dict(load_vector=load_vector, store_vector=store_vector, WIDTH=vectors_of(itemsize(dtype)))
    text = compile_kernel(copied, (dtype + "*", dtype + "*", "int64*"), names).ptx((9, 0))
    moved = [line.split() for line in text.splitlines() if "ld.global" in line or "st.global" in line]
    assert [parts[0].split(".")[2:] for parts in moved] in ([[v, t], [v, t]] for v, t in (("v4", "u32"), ("v4", "f32"), ("v2", "f64"),
                                                                                       ("v4", "b32"), ("v2", "u64"), ("v2", "b64"))), moved


WIDTH = 1
