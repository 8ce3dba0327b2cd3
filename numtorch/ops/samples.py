"""The samples of a primitive, read: valid calls of it, with operands of a chosen dtype on a chosen device.

A sample is a text beside the primitive: operands, a semicolon, attributes. Both are Python over the names of the primitive's file.

    SOFTMAX = Primitive("softmax", samples="T[2, 3]; 1")
    EMBEDDING = Primitive("embedding", samples="T[3, 4], int64([0, 2, 2]); -1, False, 'embedding', False")

`T[2, 3]` is a tensor of a shape and of the dtype that is asked for, `T.real[2]` one of the dtype of its parts, `float32[2]` one of
that dtype, and `int64([0, 2])` one of given elements; `device` is where they are. Among attributes these names are dtypes. A `Draw`
has its generator beside.
"""
from __future__ import annotations

import functools
import itertools
import math
import sys

import numpy as np

from ..autograd.modes import no_grad
from ..devices import cpu
from ..dtypes import complex128, float64
from ..dtypes import dtype as named
from ..layout import Layout
from ..tensor import Tensor, empty
from .core.backends import placed
from .core.generator import default_generator
from .core.primitive import Draw, Primitive, miss
from .core.status import NoValues
from .creation.data import as_tensor


class _Operands:
    """What makes operands of a dtype."""

    def __init__(self, dtype, device, seeds):
        self.dtype, self.device, self.seeds = dtype, device, seeds

    @property
    def real(self):
        return _Operands(self.dtype.to_real(), self.device, self.seeds)

    @property
    def complex(self):
        return _Operands(self.dtype.to_complex(), self.device, self.seeds)

    @property
    def compute(self):
        return _Operands(named.by_name[self.dtype.compute], self.device, self.seeds)

    def __getitem__(self, shape) -> Tensor:
        shape = shape if isinstance(shape, tuple) else (shape,)
        return self(_numbers(self.dtype, shape, next(self.seeds)))

    def __call__(self, elements) -> Tensor:
        array = np.asarray(elements)
        if self.device.type == "meta":
            return empty(Layout.of(self.dtype, array.shape, None, self.device))
        return as_tensor(array, self.dtype, self.device)


def _numbers(dtype, shape, seed):
    """Numbers between 0.3 and 1.7 of which no two are close, so that no order changes with a small step; integers from 1 to 5."""
    rank = np.random.default_rng(seed).permutation(math.prod(shape)).reshape(shape)
    if dtype.category < 2:
        return rank % 2 == 0 if dtype.category == 0 else rank % 5 + 1
    numbers = 0.3 + 1.4 * (rank + 0.5) / max(rank.size, 1)
    return numbers + 0.5j * (2.0 - numbers) if dtype.is_complex else numbers


def calls_of(primitive: Primitive, dtype=float64, device=cpu) -> list[tuple]:
    """The calls that a primitive's samples describe, as (tensors, attributes).

    Args:
        primitive: it.
        dtype: that of the operands that are of any.
        device: where they are.
    """
    return [_read(text, primitive, dtype, placed(device)) for text in primitive.samples]


def _read(text, primitive, dtype, device):
    seeds = itertools.count()
    scope = {name: _Operands(each, device, seeds) for name, each in named.by_name.items()}
    scope = {**vars(sys.modules[primitive.module]), **scope, "T": _Operands(dtype, device, seeds), "device": device}
    operands, _, attributes = text.partition(";")
    return tuple(eval(f"[{operands}]", scope)), _as_dtypes(eval(f"[{attributes}]", scope))


def _as_dtypes(attribute):
    if type(attribute) in (tuple, list):
        return tuple(map(_as_dtypes, attribute))
    return attribute.dtype if isinstance(attribute, _Operands) else attribute


@functools.cache
def dtypes_of(primitive: Primitive) -> list:
    """The dtypes that a primitive's planner takes in its samples, the widest first."""
    return [dtype for dtype in dict.fromkeys((float64, complex128, *named.by_name.values())) if _is_planned(primitive, dtype)]


def _is_planned(primitive, dtype):
    try:
        with no_grad():
            for tensors, attributes in calls_of(primitive, dtype, "meta"):
                run(primitive, tensors, attributes)
    except NoValues:                                     # which is raised past the plan
        return True
    except (RuntimeError, TypeError, ValueError):
        return False
    return True


def run(primitive: Primitive, tensors, attributes):
    """What a call of a primitive gives.

    Args:
        primitive: it.
        tensors: None for one that is left out.
        attributes: without a draw's generator.
    """
    if primitive.execute is None:                        # a view, mostly the method of its name
        return (primitive.function or getattr(Tensor, primitive.name))(*tensors, *attributes)
    return miss(primitive, tuple(tensors), (*attributes, default_generator) if isinstance(primitive, Draw) else tuple(attributes))
