"""`UntypedStorage`: a tensor's memory as bytes, and what it has in common with `TypedStorage` (typed.py).

Both are handles: `memory` is the Storage that tensors lie over. What they read, write and convert goes through a tensor of one
dimension over all of it, so versions count, and shared memory and devices are those of tensors.
"""
from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from collections.abc import Callable

from ... import dtypes
from ...devices import cpu
from ...exchange.construction import frombuffer, make
from ...layout import Layout
from ...storage import Storage, leave_ring, move, new_storage, resizable
from ...tensor import Tensor, wrap
from ..core.backends import placed
from ..core.late import later
from ..core.operands import method
from .pinned import is_pinned_storage

_sizes: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()          # bytes of those made smaller than their memory
_handles: weakref.WeakValueDictionary = weakref.WeakValueDictionary()    # of memory, by its identity


class StorageBase:
    """What storages of bytes and of elements have in common."""

    __slots__ = ()
    memory: Storage
    dtype: dtypes.dtype
    type: Callable                                       # typed.py's, which knows the types
    is_sparse = is_sparse_csr = is_hpu = False
    filename = None

    @classmethod
    def _over(cls, tensor) -> StorageBase:
        """The storage that a tensor lies in."""
        raise NotImplementedError

    def _elements(self, dtype=None) -> Tensor:
        """All of it as a tensor of one dimension."""
        memory, dtype = self.memory, dtype or self.dtype
        layout = Layout.of(dtype, (_sizes.get(memory, memory.nbytes) // dtype.itemsize,), None, memory.device)
        return wrap(memory, memory.address, layout)

    def _readable(self) -> Tensor:
        if self.memory.device.type == "meta":
            raise NotImplementedError(f"Not available for '{self.memory.device}' device type")
        return self._elements()

    # ------------------------------------------------------------ what it is
    @property
    def device(self):
        """Where the memory is."""
        return self.memory.device

    @property
    def is_cuda(self) -> bool:
        """Whether it is a GPU's."""
        return self.memory.device.type == "cuda"

    def get_device(self) -> int:
        """The CUDA device's index; -1 on the CPU."""
        return self._elements().get_device()

    def nbytes(self) -> int:
        """How many bytes."""
        return _sizes.get(self.memory, self.memory.nbytes)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """Bytes that an element takes."""
        return self.dtype.itemsize

    def size(self) -> int:
        """How many elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def data_ptr(self) -> int:
        """The address of the first element; 0 where there is none."""
        return self._elements().data_ptr()

    def resizable(self) -> bool:
        """Whether `resize_` may give it more memory: not what NumPy or a file owns, and not what is shared."""
        return resizable(self.memory) and not self.is_shared()

    def is_pinned(self, device=None) -> bool:
        """Whether the memory is pinned."""
        return is_pinned_storage(self.memory)

    def pin_memory(self, device=None):
        """One in pinned memory; itself where it is so, or where there is no GPU."""
        moved = self._elements().pin_memory()
        return self if moved.memory is self.memory else self._over(moved)

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return self._elements().is_shared()

    def share_memory_(self):
        """Move the memory, with all tensors over it, to where other processes can see it."""
        self._elements().share_memory_()
        return self

    # ------------------------------------------------------------ elements
    def __iter__(self):
        return iter(self.tolist())

    def tolist(self) -> list:
        """The elements as Python numbers."""
        return self._readable().tolist()

    def _place(self, index):
        """A place, counted from the front."""
        size = self.size()
        place = index.__index__()
        if not -size <= place < size:
            raise IndexError(f"index {place} out of range for storage of size {size}")
        return place % size

    def __setitem__(self, index, value) -> None:
        if not isinstance(index, slice):
            if not hasattr(index, "__index__"):
                raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
            index = self._place(index)
        elif isinstance(value, StorageBase):
            value = value._elements()
        if not isinstance(value, (int, float, complex, Tensor)):
            raise TypeError(f"can't assign a {type(value).__name__} to a {self.type()}")
        self._readable()[index] = value

    def fill_(self, value):
        """Have every element be a number.

        Args:
            value: the number.
        """
        self._readable().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Take on the bytes of another storage.

        Args:
            source: a storage of as many bytes.
            non_blocking: taken for PyTorch's sake.

        Raises:
            RuntimeError: one of another size.
        """
        if not isinstance(source, StorageBase):
            raise TypeError(f"copy_(): argument 'source' must be a storage, not {type(source).__name__}")
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self._elements(dtypes.uint8).copy_(source._elements(dtypes.uint8))
        return self

    def resize_(self, size: int):
        """Have another number of elements. Tensors over it stay over it, and those that it had keep their values.

        Args:
            size: how many. With fewer, the memory is kept: tensors go on lying in it.

        Raises:
            RuntimeError: memory that NumPy or a file owns, or that is shared.
        """
        memory, nbytes = self.memory, size * self.dtype.itemsize
        if nbytes < 0:
            raise RuntimeError(f"resize_: expected a size that is not negative, got {size}")
        if not self.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        if nbytes > memory.nbytes:
            _grow(memory, nbytes)
        elif memory.pooled:
            leave_ring(memory)                           # whoever is handed it out would have this size
        _sizes.pop(memory, None)
        if nbytes < memory.nbytes:
            _sizes[memory] = nbytes
        return self

    # ------------------------------------------------------------ others like it
    def clone(self):
        """One with memory of its own."""
        return self._over(self._elements().clone())

    __copy__ = clone

    def to(self, device, non_blocking: bool = False):
        """One on a device; this one where it is there.

        Args:
            device: the device, or its name.
            non_blocking: taken for PyTorch's sake.
        """
        return self if placed(device) is self.memory.device else self._over(self._elements().to(device))

    def cpu(self):
        """One on the CPU."""
        return self.to("cpu")

    def cuda(self, device=None, non_blocking: bool = False):
        """One on a GPU.

        Args:
            device: which; the current one when None.
            non_blocking: taken for PyTorch's sake.
        """
        return self._over(self._elements().cuda(device))

    def __reduce_ex__(self, protocol):
        return self._over, (self._elements(),)

    def __deepcopy__(self, memo):
        from ...pickling import copied_storage
        copy = memo.get(id(self))
        if copy is None:
            memory = copied_storage(self.memory, memo)
            copy = memo[id(self)] = self._over(wrap(memory, memory.address, self._elements().layout))
        return copy

    def __repr__(self) -> str:
        values = "\n ".join(map(str, self.tolist())) if self.memory.device.type != "meta" else "..."
        kind = f"torch.storage.{type(self).__name__}(" + (f"dtype={self.dtype}, " if self.dtype is not _BYTE else "")
        return f" {values}\n[{kind}device={self.memory.device}) of size {self.size()}]"


def copy_memory(source, target) -> None:
    """Write a storage's bytes to the beginning of another of its device."""
    if source.device is cpu:
        ctypes.memmove(target.address, source.address, source.nbytes)
    elif source.address:                                 # there is none on the meta device
        dense = Layout.of(_BYTE, (source.nbytes,), None, source.device)
        later[f"transfer_{source.device.type}"](wrap(source, source.address, dense), wrap(target, target.address, dense))


def _grow(memory, nbytes):
    """Give a storage, and all tensors over it, more memory."""
    from ...shared.storages import rebind
    larger = new_storage(nbytes, memory.device)
    copy_memory(memory, larger)
    distance, kept = larger.address - memory.address, memory.owner
    move(memory, larger.address, (larger, kept), True)
    memory.nbytes = nbytes
    rebind({id(memory): distance}, [memory])


_BYTE = dtypes.uint8


class UntypedStorage(StorageBase):
    """The memory of tensors, as bytes: `x.untyped_storage()`, or memory of its own.

    Args:
        args: how many bytes, or a sequence of their values; none when left out.
        device: where; the CPU when None.

    Raises:
        TypeError: other arguments.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1, 2], dtype=torch.int16)
        >>> storage = x[1:].untyped_storage()
        >>> storage.tolist(), storage.nbytes()
        ([1, 0, 2, 0], 4)
        >>> storage[2] = 7
        >>> x
        tensor([1, 7], dtype=torch.int16)
    """

    __slots__ = ("memory", "__weakref__")
    dtype = _BYTE

    def __init__(self, *args, device=None) -> None:
        where = placed("cpu" if device is None else device)
        if len(args) > 1:
            raise TypeError(f"UntypedStorage(): expected a size or a sequence of bytes, got {len(args)} arguments")
        size = args[0] if args else 0
        if isinstance(size, int):
            if size < 0:
                raise RuntimeError(f"UntypedStorage(): expected a size that is not negative, got {size}")
            self.memory = new_storage(size, where)
        elif isinstance(size, (Tensor, StorageBase)) or not hasattr(size, "__len__"):
            raise TypeError(f"UntypedStorage(): expected a size or a sequence of bytes, got {type(size).__name__}")
        else:
            self.memory = make(list(size), _BYTE, where).memory
        _handles[id(self.memory)] = self

    @classmethod
    def _over(cls, tensor) -> UntypedStorage:
        memory, above = tensor.memory, tensor.memory.owner
        while isinstance(above, Storage) and above.address == memory.address and above.nbytes == memory.nbytes:
            memory, above = above, above.owner           # of `Tensor.data`, which is the same memory
        handle = _handles.get(id(memory))
        if handle is None:
            handle = cls.__new__(cls)
            handle.memory = memory
            handle = _handles.setdefault(id(memory), handle)
        return handle

    @staticmethod
    def from_buffer(buffer, *, dtype=None, byte_order: str = "little", count: int = -1, offset: int = 0) -> UntypedStorage:
        """A copy of the bytes of an object with the buffer protocol.

        Args:
            buffer: such as bytes.
            dtype: of the elements, where their bytes are in another order than the machine's.
            byte_order: "little", "big" or "native".
            count: how many elements; -1 for all.
            offset: bytes that are left out first.
        """
        kind = dtype or _BYTE
        copied = bytearray(memoryview(buffer).cast("B"))
        result = UntypedStorage._over(frombuffer(copied, dtype=kind, count=count, offset=offset).clone())
        if byte_order == "big":
            result.byteswap(kind)
        elif byte_order not in ("little", "native"):
            raise ValueError(f"from_buffer: expected byte_order 'native', 'little' or 'big', got {byte_order!r}")
        return result

    @staticmethod
    def from_file(filename, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, which is mapped.

        Args:
            filename: the file; made, or made longer, where it is shared.
            shared: whether what is written goes into the file.
            nbytes: how many; all when 0.
        """
        with open(filename, ("r+b" if os.path.exists(filename) else "w+b") if shared else "rb") as file:
            there = os.fstat(file.fileno()).st_size
            if shared and there < nbytes:
                file.truncate(nbytes)
            elif there < nbytes:
                raise RuntimeError(f"from_file: expected {nbytes} bytes, and {filename} has {there}")
            mapped = mmap.mmap(file.fileno(), nbytes or there, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
        return UntypedStorage._over(frombuffer(mapped, dtype=_BYTE))

    def __getitem__(self, index):
        """A byte, or a storage over some of the bytes, which are the same memory."""
        if isinstance(index, slice):
            start, stop, step = index.indices(self.size())
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
            part = self.memory.alias()
            part.address, part.nbytes = part.address + start, max(stop - start, 0)
            return UntypedStorage._over(wrap(part, part.address, Layout.of(_BYTE, (part.nbytes,), None, part.device)))
        if not hasattr(index, "__index__"):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        return self._readable()[self._place(index)].item()

    def byteswap(self, dtype) -> None:
        """Turn the bytes of each element round.

        Args:
            dtype: of the elements.
        """
        width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        if width > 1:
            rows = self._readable().view(-1, width)
            rows.copy_(rows.flip(1))

    def new(self) -> UntypedStorage:
        """One without bytes on this device."""
        return UntypedStorage(0, device=self.memory.device)

    def untyped(self) -> UntypedStorage:
        """This storage."""
        return self


@method
def untyped_storage(self) -> UntypedStorage:
    """The memory this tensor lies in, shared with its views.

    Example:
        >>> import numtorch as torch
        >>> x = torch.zeros(2, 3)
        >>> x[1].untyped_storage() is x.untyped_storage(), x.untyped_storage().nbytes()
        (True, 24)
    """
    if self.layout.handler is not None:
        raise NotImplementedError(f"Cannot access storage of a tensor whose layout is {self.layout}; "
                                  f"{self.layout.instead_of_memory}")
    return UntypedStorage._over(self)
