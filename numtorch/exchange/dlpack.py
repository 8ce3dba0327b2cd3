"""DLPack's capsules by themselves, and those of bfloat16 and complex32, which NumPy has not: all else travels through its capsules.

A capsule says what its elements are: for the way out and in, those are called integers of their size. What is where in
one: https://dmlc.github.io/dlpack/latest/c_api.html (DLManagedTensor and DLManagedTensorVersioned).
"""
from __future__ import annotations

import ctypes

_INT = 0                                                 # DLDataTypeCode
_KINDS = {"bfloat16": (4, 16), "complex32": (5, 32)}     # its code, and bits
_CODE, _BITS = 20, 21                                    # bytes into a DLTensor: behind the address, the device and the dimensions

_BEGIN = {b"dltensor": 0, b"dltensor_versioned": 32}    # by a capsule's name, bytes before its DLTensor

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def _kind_of(capsule):
    """Where a capsule says the code of its elements, and how many bits one takes."""
    name = _name_of(capsule)
    place = _pointer_of(capsule, name) + _BEGIN[name]
    return ctypes.c_uint8.from_address(place + _CODE), ctypes.c_uint8.from_address(place + _BITS).value


def as_elements(capsule, name: str):
    """A capsule of integers as one of "bfloat16" or "complex32"."""
    _kind_of(capsule)[0].value = _KINDS[name][0]
    return capsule


class Producer:
    """What a capsule came from, for who wants that: an object with `__dlpack__`.

    Raises:
        RuntimeError: what is no capsule, or one that was taken.
    """

    def __init__(self, capsule) -> None:
        if type(capsule).__name__ != "PyCapsule" or _name_of(capsule) not in _BEGIN:
            raise RuntimeError(f"from_dlpack received an invalid capsule: expected an object with __dlpack__ or a DLTensor "
                               f"capsule, which can be consumed only once, got {type(capsule).__name__}")
        self.capsule = capsule

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


class Integers:
    """An array of bfloat16 or complex32, for NumPy one of integers.

    Args:
        array: an object with `__dlpack__`.

    Attributes:
        name: the name of its dtype; None for any other, which stays what it is.
    """

    def __init__(self, array) -> None:
        self.capsule, self.device = array.__dlpack__(), array.__dlpack_device__()
        code, bits = _kind_of(self.capsule)
        self.name = next((name for name, kind in _KINDS.items() if kind == (code.value, bits)), None)
        if self.name is not None:
            code.value = _INT

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return self.device
