"""Fourier transforms by cuFFT, where it is installed.

A plan of cuFFT's is made when a transform first runs and kept for all calls of its sizes and strides; its scratch memory is this
package's, and taken for the length of a call, so that plans have none of their own. While a graph is captured, a transform that has
run before is captured with it.
"""
from __future__ import annotations

import functools
import sys
import threading

from ...threads import Prepared
from ..capture import active, note, refuse
from ..libraries import bindings, finished, require, scratch, told
from ..runtime import runtime

require("cufft")

CUFFT = "cufft"
TYPES = {("complex64", "complex64"): ("c2c", 0x29), ("complex128", "complex128"): ("z2z", 0x69),       # the routine, and cufftType
         ("float32", "complex64"): ("r2c", 0x2A), ("float64", "complex128"): ("d2z", 0x6A),
         ("complex64", "float32"): ("c2r", 0x2C), ("complex128", "float64"): ("z2d", 0x6C)}
FORWARD, INVERSE = -1, 1
MOST = 128                                               # transforms whose plans are kept though nobody calls them now
DIMS = 3                                                 # that one plan transforms


class _Transform:
    """A plan of cuFFT's, made by the first call.

    Args:
        kinds: the element types of source and result. sizes: the points of up to three dimensions, and `count` batches of them.
        of_source, of_result: strides in elements, of batches and then of dimensions.
        inverse, index: which way, where there are two; and the device.
    """

    def __init__(self, kinds, sizes, count, of_source, of_result, inverse, index):
        self.arguments, self.index = (sizes, count, of_source, of_result), index
        routine, self.kind = TYPES[kinds]
        self.routine, self.direction = f"exec_{routine}", () if kinds[0] != kinds[1] else (INVERSE if inverse else FORWARD,)
        self.lock, self.handle, self.nbytes, self.given = threading.Lock(), None, 0, None

    def __call__(self, source, result, descriptor):
        note("a Fourier transform by cuFFT")
        module = bindings(CUFFT)
        stream = runtime().current(self.index)
        with self.lock:
            if self.handle is None:
                if active[0] is not None:
                    refuse("a Fourier transform that has not run before: its first call makes cuFFT's plan")
                self.handle, self.nbytes = self._made(module)
            owner, room = scratch(self.nbytes, self.index)
            if self.given != (stream, room):
                self.given = None
                told(module, "set_stream", self.handle, stream.number)
                told(module, "set_work_area", self.handle, room)
                self.given = stream, room
            told(module, self.routine, self.handle, source, result, *self.direction)
            del owner
        finished(self.index)

    def _made(self, module):
        sizes, count, of_source, of_result = self.arguments
        handle = told(module, "create")
        try:
            told(module, "set_auto_allocation", handle, 0)
            lies = [(_embedded(sizes, strides), strides[-1], strides[0]) for strides in (of_source, of_result)]
            nbytes = told(module, "make_plan_many64", handle, len(sizes), sizes, *lies[0], *lies[1], self.kind, count)
        except BaseException:
            module.destroy(handle)
            raise
        return handle, nbytes

    def __del__(self, ending=sys.is_finalizing):
        if self.handle is not None and not ending():
            runtime().at(self.index)
            bindings(CUFFT).destroy(self.handle)


def _embedded(sizes, strides):
    """cuFFT's sizes of the array that dimensions lie in: strides by those of the next."""
    return [sizes[0], *[outer // inner for outer, inner in zip(strides[1:], strides[2:])]]


def fits(sizes, strides) -> bool:
    """Whether cuFFT can read dimensions with these strides."""
    return strides[-1] > 0 and all(outer % inner == 0 and outer // inner >= size
                                   for outer, inner, size in zip(strides, strides[1:], sizes[1:]))


@functools.lru_cache(MOST)
def plan_transform(source: str, result: str, sizes: tuple, count: int, of_source: tuple, of_result: tuple, inverse: bool,
                   device: int = 0):
    """A Fourier transform, not divided by the points. Addresses: source (which a transform to real numbers destroys), result.

    Args:
        source, result: element types: complex numbers to complex, real ones to half of the spectrum, or back.
        sizes: the points of one to three dimensions, of the real side where there is one; `count` batches of them.
        of_source, of_result: strides in elements, of batches and of each dimension; those of dimensions fit (`fits`).
        inverse: which way complex numbers are transformed.
    """
    return Prepared(_Transform((source, result), sizes, count, of_source, of_result, inverse, device), 0, 0, None)
