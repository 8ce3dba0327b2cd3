"""What is sent from process to process: pickled, with tensors as handles and with functions and classes by value where the other
process could not import them."""
from __future__ import annotations

import collections
import copyreg
import importlib
import io
import pickle
import sys
import types
from multiprocessing.reduction import ForkingPickler

import cloudpickle
import numpy as np

from ..devices import cpu
from ..dtypes import dtype
from ..exchange.arrays import SharedMemory
from ..layout import Layout
from ..ops.core.primitive import is_ours
from ..ops.pointwise.pointwise import PointwiseOp
from ..shared.blocks import Block, allocate_copy
from ..shared.channel import Channel, Letter
from ..shared.heap import heap
from ..shared.storages import base_of, block_of, is_paged, place_of, share, storage_of
from ..storage import Storage, address_of
from ..tensor import Tensor, new


class Pickler(cloudpickle.Pickler):
    """Pickles for another process of the family.

    Attributes:
        blocks, channels: what the pickled tensors and queues refer to; the letter holds them.
    """

    dispatch_table = collections.ChainMap(ForkingPickler._extra_reducers, copyreg.dispatch_table,
                                          cloudpickle.Pickler.dispatch_table)

    def __init__(self, file):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.blocks: list = []
        self.channels: list = []

    def reducer_override(self, each):
        if isinstance(each, Tensor):
            return self._reduce_tensor(each)
        if type(each) is np.ndarray:
            by_handle = _least is not None and each.nbytes >= max(1, _least) and not each.dtype.hasobject
            return self._reduce_array(each) if by_handle else NotImplemented
        if isinstance(each, (types.FunctionType, type)) and _importable(each):
            return NotImplemented
        op = getattr(each, "op", None)
        if isinstance(op, PointwiseOp) and each is op.function:
            return getattr, (op, "function")
        if isinstance(each, (types.FunctionType, type)) and (place := _public_place(each)) is not None:
            return getattr, place
        if isinstance(each, Storage):
            raise TypeError("cannot send a Storage: send a tensor over it")
        shareable = getattr(type(each), "_reduce_shared", None)
        if shareable is not None:
            return shareable(each, self)
        return super().reducer_override(each)

    def _reduce_tensor(self, tensor):
        layout = tensor.layout
        if layout.handler is not None or layout.device.type not in ("cpu", "cuda") or not layout.nbytes:
            return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        node = tensor.node
        if node is not None and not tensor.is_leaf:
            raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
                               "support crossing process boundaries.  If you just want to transfer the data, call detach() on "
                               "the tensor before serializing (e.g., putting it on the queue).")
        state = {k: v for k, v in tensor.__dict__.items() if not k.startswith("_")} if tensor.__dict__ else None
        extra = None
        if node is not None or state or type(tensor) is not Tensor or tensor._stored_grad is not None:
            extra = type(tensor), tensor.requires_grad, tensor.grad, state
        if layout.device is not cpu:
            return self._reduce_on_device(tensor, extra)
        self.blocks.append(block_of(tensor))
        storage = base_of(tensor.memory)
        offset = tensor.address - storage.address
        return rebuild_tensor, (place_of(storage), offset, layout.dtype.name, layout.shape, layout.strides, extra)

    def _reduce_on_device(self, tensor, extra):
        storage, layout = base_of(tensor.memory), tensor.layout
        ticket, place, event = sharing().place_of(storage)
        self.blocks.append(ticket)
        return rebuild_on_device, (place, event, tensor.address - storage.address, layout.dtype.name, layout.shape, layout.strides,
                                   extra)

    def _reduce_array(self, array):
        storage = _storage_below(array)
        if storage is None:
            array = array if array.flags.forc else np.ascontiguousarray(array)
            block = allocate_copy(address_of(array), array.nbytes)
            place, offset = (*block.handle(), 0, array.nbytes), 0
        else:
            block, place, offset = storage.owner, place_of(storage), _place(array) - storage.address
        self.blocks.append(block)
        return rebuild_array, (place, offset, array.dtype, array.shape, array.strides)


def _storage_below(array):
    """The storage in this family's shared memory that an array is over, if any. It moves there where arrays go along."""
    below = array.base
    while isinstance(below, np.ndarray):
        below = below.base
    if isinstance(below, SharedMemory):
        below = below.storage
    if not isinstance(below, Storage):
        return None
    below = base_of(below)
    if is_paged(below):
        share([below])
    block = below.owner
    if isinstance(block, Block) and block.heap is heap() and 0 <= _place(array) - below.address < below.nbytes:
        return below
    return None                                          # the tensor may have left its memory to the array


def _place(array):
    return array.__array_interface__["data"][0]


def rebuild_array(place, offset, kind, shape, strides):
    """The NumPy array over a block that this process holds."""
    return np.ndarray(shape, kind, np.asarray(storage_of(*place)), offset, strides)


_least: int | None = None


def set_array_sharing(least: int | None) -> None:
    """Say which NumPy arrays travel by handle: those of `least` bytes and more that this process sends, or one that it starts
    afterwards; none when None, as at first.

    An array over shared memory (`x.numpy()` of a shared tensor, or one that was received so) is sent as a handle, and
    every process sees what is written to it. Any other is copied once, into shared memory that the receivers share.

    Args:
        least: bytes; None for no arrays.

    Raises:
        ValueError: a negative number.

    Example:
        >>> import numpy
        >>> import numtorch.multiprocessing as mp
        >>> mp.set_array_sharing(1 << 16)
        >>> queue = mp.SimpleQueue()
        >>> queue.put(numpy.zeros(10000))
        >>> first = queue.get()
        >>> queue.put(first)
        >>> queue.get()[3:5] = 1
        >>> first[:5].tolist()
        [0.0, 0.0, 0.0, 1.0, 1.0]
        >>> mp.set_array_sharing(None)
    """
    global _least
    if least is not None and least < 0:
        raise ValueError(f"set_array_sharing: expected a number of bytes or None, got {least}")
    _least = least


def get_array_sharing() -> int | None:
    """The bytes from which on NumPy arrays travel by handle; None where they do not.

    Example:
        >>> import numtorch.multiprocessing as mp
        >>> mp.get_array_sharing() is None
        True
    """
    return _least


def rebuild_tensor(place, offset, kind, shape, strides, extra):
    """The tensor over a block that this process holds."""
    return _over(storage_of(*place), offset, kind, shape, strides, extra)


def rebuild_on_device(place, event, offset, kind, shape, strides, extra):
    """The tensor over a device's memory, of another process or of this one."""
    return _over(sharing().storage_of(place, event), offset, kind, shape, strides, extra)


def sharing():
    """What shares a device's memory, where it is used: `import numtorch` loads nothing of CUDA."""
    return importlib.import_module("numtorch.cuda.sharing")


def _over(storage, offset, kind, shape, strides, extra):
    out = new(Tensor if extra is None else extra[0])
    out.memory, out.address, out.node = storage, storage.address + offset, None
    out.layout = Layout.of(dtype.by_name[kind], shape, strides, storage.device)
    if extra is not None:
        _, requires_grad, grad, state = extra
        if state:
            out.__dict__.update(state)
        if requires_grad:
            out.requires_grad_()
        if grad is not None:
            out.grad = grad
    return out


def _importable(each):
    """Whether another process finds a function or class by its name: not what was typed into a REPL, nor what is local."""
    module = getattr(each, "__module__", None)
    value = sys.modules.get(module)
    if value is None or (module == "__main__" and not hasattr(value, "__file__")):
        return False
    for part in each.__qualname__.split("."):
        value = getattr(value, part, None)
    return value is each


def _public_place(each):
    """(owner, name) of a function or type of this package that is found there, and not by its own name where it was written."""
    for owner in (Tensor, sys.modules[__name__.partition(".")[0]]):
        members = vars(owner)
        if members.get(each.__name__) is each:
            return owner, each.__name__
        if is_ours(each.__module__):
            for name, value in members.items():
                if value is each:
                    return owner, name
    return None


def name_typed_classes() -> None:
    """Give classes that were typed into a REPL the names by which cloudpickle knows them again, before a child is forked: what it
    sends of them is of the same classes here then."""
    main = sys.modules.get("__main__")
    if main is not None and not hasattr(main, "__file__"):
        for each in list(vars(main).values()):
            if isinstance(each, type) and each.__module__ == "__main__":
                cloudpickle.cloudpickle._get_or_create_tracker_id(each)


def dumps(value) -> memoryview:
    """A value's pickle, for this very process: nothing holds what it refers to."""
    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getbuffer()


def write(channel: Channel, value):
    """A letter with a value, to be sent, and what it must be kept with until then."""
    file = io.BytesIO()
    pickler = Pickler(file)
    pickler.dump(value)
    return channel.write([file.getbuffer()], pickler.blocks, pickler.channels), pickler


def read(letter: Letter):
    """The value in a letter."""
    return pickle.loads(letter.bytes)
