"""CUDA: PyTorch's own table of operations in the simulator, beside PyTorch on the CPU: of each entry a small sample in each dtype,
results and gradients of first and second order. Another dtype has its turn each day, beside float32; all of them and all samples with
NUMTORCH_TEST_ALL=1. Its lists of what autocast does, too.

The table takes seconds to import: this file as a script has it, and each test is a fork of it.
"""
from __future__ import annotations

import sys
import warnings

import bodies
import pytest
from daily import ALL, in_turn
from pytorchtables import pytorch

torch = pytorch()


def run(*words):
    bodies.run(__file__, *words, NUMBA_ENABLE_CUDASIM="1")


def test_autocast():
    """Each op of PyTorch's lists gives the dtype that they say."""
    run("autocast")


@pytest.mark.parametrize("dtype", ["float32", *in_turn(["float64", "complex64", "int64", "bool", "bfloat16"], "entries")])
def test_entries(dtype):
    run("--device", "cuda", "--aspects", "values", "--dtypes", dtype,
        *([] if ALL else ["--samples", "1", "--elements", "1000"]))


if __name__ == "__main__":
    from tests import autocastlists, opdb
    words = bodies.served()
    if words == ["autocast"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, count = autocastlists.differences("cuda")
        assert not found and count > 300, found
    else:
        sys.exit(opdb.main(words))
