"""Tensors pickled and copied: `pickle`, `copy.copy` and `copy.deepcopy`."""
from __future__ import annotations

import copyreg
import ctypes
from copy import deepcopy

from .devices import cpu
from .dtypes import dtype
from .exchange.arrays import raw_array
from .layout import Layout
from .storage import new_storage
from .tensor import Tensor, alias, bare, lasting, new, wrap


# ---------------------------------------------------------------- pickle
def _reduce_slot(wrapper):
    """A method that is a type's slot: by its name, but for `bare`, whose name would give Tensor's own call."""
    return (_bare, ()) if wrapper is bare else (getattr, (wrapper.__self__, wrapper.__name__))


def _bare():
    return bare


copyreg.pickle(type(bare), _reduce_slot)                 # functions of users' elementwise ops make their results by it


def _reduce(self, protocol) -> tuple:
    if self.layout.handler is not None:
        return self.layout.handler.reduced(self)
    if self.layout.device.type == "meta":
        layout = self.layout
        return _rebuild_without_memory, (type(self), layout.dtype, layout.shape, layout.strides, self.requires_grad,
                                         dict(_plain_state(self)))
    if self.layout.device is not cpu:
        return _rebuild_on, (self.cpu(), str(self.layout.device), self.requires_grad)
    words = raw_array(self).copy()                  # row-major; ascontiguousarray would make 0-dim ones 1-dim
    return _rebuild, (type(self), self.layout.dtype, words, self.requires_grad, dict(_plain_state(self)))


def _plain_state(self):
    return {k: v for k, v in self.__dict__.items() if not k.startswith("_") or k == "_is_parameter"}


def _rebuild(kind, dtype, words, requires_grad, state):
    out = new(kind)
    made = lasting(Layout.of(dtype, words.shape))
    raw_array(made)[...] = words
    out.memory, out.address, out.layout, out.node = made.memory, made.address, made.layout, None
    out.__dict__.update(state)
    return out.requires_grad_() if requires_grad else out


def _rebuild_without_memory(kind, dtype, shape, strides, requires_grad, state):
    place = lasting(Layout.of(dtype, ())).to("meta").layout.device          # which has storages once a tensor was there
    out = new(kind)
    out.layout, out.node = Layout.of(dtype, shape, strides, place), None
    out.memory = new_storage(out.layout.nbytes, place)
    out.address = out.memory.address
    out.__dict__.update(state)
    return out.requires_grad_() if requires_grad else out


def _rebuild_on(tensor, place, requires_grad):
    out = tensor.to(place)
    return out.requires_grad_() if requires_grad else out


# ---------------------------------------------------------------- copy
def _copy(self) -> Tensor:
    """A leaf over the same memory, with the same attributes and a gradient of its own."""
    out = alias(self, type(self))
    out.node = None
    out.__dict__.update(_plain_state(self))
    return out.requires_grad_() if self.requires_grad else out


def _deepcopy(self, memo) -> Tensor:
    """A copy with memory of its own; tensors copied together share memory where the originals do.

    Raises:
        RuntimeError: a result that is part of a graph.
    """
    copy = memo.get(id(self))
    if copy is not None:
        return copy
    if not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                           "moment; use detach() before copying a result.")
    out = memo[id(self)] = new(type(self))
    if self.layout.handler is not None:
        out.memory = self.layout.handler.copied_storage(self, memo)
    else:
        out.memory = copied_storage(self.memory, memo)
        out.address = out.memory.address + (self.address - self.memory.address)
    out.layout, out.node = self.layout, None
    out.__dict__.update(deepcopy(_plain_state(self), memo))
    if self.requires_grad:
        out.requires_grad_()
    if self.grad is not None:                            # which may have been given to a tensor that requires none
        out.grad = deepcopy(self.grad, memo)
    return out


def copied_storage(storage, memo):
    """The copy of a storage for tensors that are copied together."""
    copy = memo.get(id(storage))
    if copy is None:
        copy = memo[id(storage)] = new_storage(storage.nbytes, storage.device)
        if storage.device is cpu:
            ctypes.memmove(copy.address, storage.address, storage.nbytes)
        else:
            whole = Layout.of(dtype.by_name["uint8"], (storage.nbytes,), None, storage.device)
            wrap(copy, copy.address, whole).copy_(wrap(storage, storage.address, whole))
    return copy


Tensor.__reduce_ex__, Tensor.__copy__, Tensor.__deepcopy__ = _reduce, _copy, _deepcopy
