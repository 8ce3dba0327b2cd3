"""Integer division looks at its divisors first: by 0 it raises, as in PyTorch, where the processor would trap.

The look is a kernel of its own, `all` over the divisors that differ; one number is read in Python.
"""
from __future__ import annotations

import ctypes

from ...kernels.threads import Prepared
from ..core.backends import kernels


def checked(prepared, operand, device, dtype, shape, strides):
    """A prepared integer division that raises RuntimeError where an element of its divisor is 0.

    Args:
        prepared: the division.
        operand: which of its addresses is the divisor's.
        device, dtype: where the divisor is, and its kernel dtype.
        shape, strides: how it lies, in elements.
    """
    call = prepared.call
    differing = [(n, s) for n, s in zip(shape, strides) if s and n > 1]
    if differing:
        shape, strides = zip(*differing)
        look = kernels(device, "reduce.reduce").plan_reduce(
            "all", dtype, "bool", shape, strides, tuple(range(len(shape))), (0,) * len(shape))

        def divide(*addresses):
            nonzero = ctypes.c_bool()
            look.call(addresses[operand], ctypes.addressof(nonzero), look.descriptor)
            if not nonzero.value:
                raise RuntimeError("ZeroDivisionError")
            call(*addresses)
    else:
        read = getattr(ctypes, f"c_{dtype}").from_address

        def divide(*addresses):
            if not read(addresses[operand]).value:
                raise RuntimeError("ZeroDivisionError")
            call(*addresses)
    return Prepared(divide, prepared.descriptor, prepared.workspace, (prepared, divide))
