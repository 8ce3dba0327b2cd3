"""DLPack for bfloat16, which NumPy, through whose capsules everything else travels, has not.

A capsule says what its elements are: for the way out and in, those of bfloat16 are called 16-bit integers. What is where in
one: https://dmlc.github.io/dlpack/latest/c_api.html (DLTensor, without a version).
"""
from __future__ import annotations

import ctypes

_INT, _BFLOAT = 0, 4                                     # DLDataTypeCode
_CODE, _BITS = 20, 21                                    # bytes into a DLTensor: behind the address, the device and the dimensions

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def call_elements(capsule, before: int, after: int) -> bool:
    """Change the kind of a capsule's 16-bit elements; whether they were of the kind before."""
    place = _pointer_of(capsule, b"dltensor")
    code, bits = ctypes.c_uint8.from_address(place + _CODE), ctypes.c_uint8.from_address(place + _BITS)
    if code.value != before or bits.value != 16:
        return False
    code.value = after
    return True


def as_bfloat16(capsule):
    """A capsule of int16 as one of bfloat16."""
    call_elements(capsule, _INT, _BFLOAT)
    return capsule


class Integers:
    """An array of bfloat16, for NumPy one of int16.

    Args:
        array: an object with `__dlpack__`.
    """

    def __init__(self, array) -> None:
        self.capsule, self.device = array.__dlpack__(), array.__dlpack_device__()
        self.found = call_elements(self.capsule, _BFLOAT, _INT)

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return self.device
