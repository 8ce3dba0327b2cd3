"""`NUMTORCH_DEBUG_MEMORY`: what is never written shows, and what leaves its block is named before the process ends."""
from __future__ import annotations

import os
import subprocess
import sys

import pytest

GUARDS = sys.platform in ("linux", "darwin")


def run(mode, program):
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, "NUMTORCH_DEBUG_MEMORY": mode, "NUMTORCH_NUM_THREADS": "2"},
                          capture_output=True, text=True, timeout=120)


POISONED = """
import numtorch as torch
from numtorch.kernels.threads import Prepared
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64):
    for shape in ((3,), (1000,), (300, 300)):
        assert torch.empty(shape, dtype=dtype).isnan().all(), (dtype, shape)
for dtype in (torch.int16, torch.int32, torch.int64):
    assert (torch.empty(40000, dtype=dtype) > 32000).all(), dtype
x = torch.ones(5000)                                     # a block comes back to nobody as it was left
del x
assert torch.empty(5000).isnan().all()
a = torch.randn(200, 200)
assert (a @ a + a.sum(1)).isfinite().all()               # results and scratch memory are written before they are read
from numtorch.storage import ring_for, take
from numtorch.tensor import Tensor
import ctypes
scratch = take(ring_for(100))
assert bytes((ctypes.c_char * 100).from_address(scratch.address)) == b"\\xf9\\x7f" * 50
print("done")
"""


@pytest.mark.parametrize("mode", ["poison", pytest.param("guard", marks=pytest.mark.skipif(not GUARDS, reason="needs mmap"))])
def test_what_was_never_written_shows(mode):
    done = run(mode, POISONED)
    assert done.stdout == "done\n", done.stderr


STACK = """
import numpy as np
from numtorch.kernels.compiler import DISABLE_JIT, compile_kernel
from numtorch.kernels.intrinsics import local_array

def reads_what_it_never_wrote(out):
    block, count = local_array(np.float32, 300), local_array(np.int64, 3)
    block[7] = 1.0
    for i in range(300):
        out[i] = block[i]
    out[300] = np.float32(count[2] > 1 << 60)

out = np.zeros(301, np.float32)
kernel = compile_kernel(reads_what_it_never_wrote, ("float32*",))
for _ in range(2):
    kernel.call(out.ctypes.data)
    assert DISABLE_JIT or (np.isnan(out[:300]).sum() == 299 and out[7] == out[300] == 1), out
print("done")
"""


def test_what_was_never_written_on_the_stack_shows():
    done = run("poison", STACK)
    assert done.stdout == "done\n", done.stderr


def test_an_unknown_mode_is_refused():
    done = run("gaurd", "import numtorch")
    assert done.returncode and "NUMTORCH_DEBUG_MEMORY: expected 'poison' or 'guard', but got 'gaurd'" in done.stderr


# A kernel that touches elements `descriptor[0]` to `descriptor[1]` of its block, whatever the block's size.
LEAVES = """
import os, sys
import numpy as np
import numtorch as torch
from numtorch.kernels.compiler import compile_kernel
from numtorch.kernels.threads import prepare

def leaves(source, out, descriptor):
    for i in range(descriptor[0], descriptor[1]):
        out[i] = source[i]

kernel = compile_kernel(leaves, ("float32*", "float32*", "int64*"))

def tensors(at_end):
    "A (3, 4) for reading and one for writing, the latter with its guard where it is wanted."
    while True:
        a, b = torch.ones(3, 4), torch.zeros(3, 4)
        if (b.address % 4096 != 0) == at_end:
            return a, b

def launch(first, last, a, b, parts=1):
    prepared = prepare(kernel, [(first, last)] * parts)
    prepared.call(a.address, b.address, prepared.descriptor)
"""


@pytest.mark.skipif(not GUARDS, reason="needs mmap")
@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("at_end, first, last, where", [
    (True, 0, 13, "0 bytes behind the end"), (False, -1, 12, "4 bytes before the beginning"),
    (True, 4000, 4001, "15952 bytes behind the end"), (False, -4000, -3999, "16000 bytes before the beginning")])
def test_a_kernel_that_leaves_its_block_is_named(at_end, first, last, where, parts):
    done = run("guard", LEAVES + f"_, b = tensors({at_end})\na = torch.ones(9000)[4500:]\nlaunch({first}, {last}, a, b, {parts})")
    said = done.stderr
    assert done.returncode < 0, said
    assert f"{where} of a block of 48 bytes" in said and "float32 of shape (3, 4) and strides (4, 1)" in said, said
    assert "kernel leaves(float32*, float32*, int64*)" + (" in 4 parts" if parts > 1 else "") in said, said
    assert "called from" in said and "in launch" in said, said                 # the lines of Python


@pytest.mark.skipif(not GUARDS, reason="needs mmap")
def test_a_read_and_a_freed_block_are_named():
    done = run("guard", LEAVES + "a, _ = tensors(True)\nc = a if a.address % 4096 else torch.ones(3, 4)\n"
                                 "launch(0, 13, c, torch.ones(20))")
    assert "0 bytes behind the end of a block of 48 bytes" in done.stderr and "<-" in done.stderr, done.stderr
    done = run("guard", LEAVES + "a, b = tensors(True)\nword = a.address\ndel a\nkernel.call(word, b.address, prepare(kernel, [(0, 2)]).descriptor)")
    assert "in a block of 48 bytes" in done.stderr and "has been freed" in done.stderr, done.stderr


@pytest.mark.skipif(not GUARDS, reason="needs mmap")
@pytest.mark.parametrize("at_end, element, where", [(False, 12, "0 bytes behind the end"), (True, -1, "1 bytes before the beginning")])
def test_what_is_written_on_the_unguarded_side_is_found_after_the_kernel(at_end, element, where):
    done = run("guard", LEAVES + f"_, b = tensors({at_end})\nlaunch({element}, {element + 1}, torch.ones(50)[20:], b)")
    assert "RuntimeError: kernel leaves(float32*, float32*, int64*): 4 bytes were written outside" in done.stderr, done.stderr
    assert where in done.stderr


@pytest.mark.skipif(not GUARDS, reason="needs mmap")
def test_a_block_that_was_written_outside_by_others_is_found_when_it_dies():
    done = run("guard", LEAVES + "import ctypes\n_, b = tensors(False)\nctypes.memset(b.address + 50, 1, 1)\ndel b, _")
    assert done.returncode < 0 and "1 bytes were written outside" in done.stderr and "found when it was freed" in done.stderr, done.stderr
