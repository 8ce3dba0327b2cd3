"""Integer division looks at its divisors first: by 0 it raises, as in PyTorch, where the processor would trap.

The look is a kernel of its own, over the divisors that differ, which leaves its answer in the thread's status word. A single
divisor is read in Python, which takes less time; a call that is captured has the kernel in its place (jit/capturing/capture.py).
"""
from __future__ import annotations

import ctypes
import functools

from ...devices import cpu
from ...exchange.scalars import check_fits
from ...kernels.threads import Prepared
from ..core.backends import kernels
from ..core.status import call_words


def refuse_zero():
    """Raise what an integer division by 0 raises."""
    raise RuntimeError("ZeroDivisionError")


def by_many(divide, operand, look):
    """A division that looks at its divisors by a kernel."""
    run_look, descriptor = look.call, look.descriptor

    def look_and_divide(*addresses):
        words, status = call_words.words
        run_look(addresses[operand], status, descriptor)
        if words[0]:
            words[0] = 0
            refuse_zero()
        divide(*addresses)
    return look_and_divide


def by_one(divide, operand, dtype, prepare_look):
    """A division that reads its divisor. `prepare_look()` is the kernel that does the same, for what captures the call."""
    read = getattr(ctypes, f"c_{dtype}").from_address

    def read_and_divide(*addresses):
        if not read(addresses[operand]).value:
            refuse_zero()
        divide(*addresses)
    read_and_divide.prepare_look = prepare_look
    return read_and_divide


def checked(prepared, operand, device, dtype, shape, strides):
    """A prepared integer division that raises RuntimeError where an element of its divisor is 0.

    Args:
        prepared: the division.
        operand: which of its addresses is the divisor's.
        device, dtype: where the divisor is, and its kernel dtype.
        shape, strides: how it lies, in elements.
    """
    differing = [(n, s) for n, s in zip(shape, strides) if s and n > 1]
    sizes, steps = zip(*differing) if differing else ((1,), (1,))
    prepare_look = functools.cache(lambda: kernels(device, "reduce.reduce").plan_reduce(
        "not_all", dtype, "bool", sizes, steps, tuple(range(len(sizes))), (0,) * len(sizes)))
    if differing:
        divide = by_many(prepared.call, operand, prepare_look())
    else:
        divide = by_one(prepared.call, operand, dtype, prepare_look)
    return Prepared(divide, prepared.descriptor, prepared.workspace, (prepared, prepare_look))


def fitting(prepared, operands, dtype):
    """A prepared op that raises RuntimeError where a number among its operands does not fit the integers it computes in.

    Args:
        prepared: the op.
        operands: which of its addresses are those of numbers, each with how it is read there.
        dtype: of the integers.
    """
    call = prepared.call

    def compute(*addresses):
        for operand, read in operands:
            check_fits(read(addresses[operand]).value, dtype)
        call(*addresses)
    return Prepared(compute, prepared.descriptor, prepared.workspace, (prepared, compute))


def check_numbers(op, operands):
    """What `fitting` does, for a call on a device: Python's numbers are looked at while the host has them."""
    numbers = [o for o in operands if o.layout.weak and o.layout.dtype.category == 1 and o.layout.device is cpu]
    if numbers:
        compute, _ = op.promoted([o.layout for o in operands])
        if compute.category == 1:
            for each in numbers:
                check_fits(each.item(), compute)
