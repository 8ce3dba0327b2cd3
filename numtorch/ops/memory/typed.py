"""`TypedStorage`: a tensor's memory as elements of a dtype, and `FloatStorage` and its like, which make such or ask for one."""
from __future__ import annotations

from ... import dtypes
from ...exchange.construction import make
from ...tensor import Tensor
from ..core.operands import method
from .conversion import CASTS
from .untyped import StorageBase, UntypedStorage


class TypedStorage(StorageBase):
    """The memory of tensors, as elements of a dtype: `x.storage()`, or memory of its own.

    Args:
        args: how many elements, or a sequence of them; none when left out.
        wrap_storage: an UntypedStorage whose memory it is, instead.
        dtype: of the elements; the default dtype when None.
        device: where; the CPU when None.

    Raises:
        TypeError: other arguments.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 2.], [3., 4.]])
        >>> storage = x[1].storage()
        >>> storage.tolist(), storage.type()
        ([1.0, 2.0, 3.0, 4.0], 'torch.FloatStorage')
        >>> storage[0] = 7
        >>> x[0]
        tensor([7., 2.])
    """

    __slots__ = ("_untyped_storage", "dtype", "__weakref__")
    _name = "TypedStorage"

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None) -> None:
        self.dtype = kind = dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)
        if len(args) + (wrap_storage is not None) > 1:
            raise _wrong(self._name, "Too many positional arguments")
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                raise _wrong(self._name, f"Argument type not recognized: {type(wrap_storage)}")
            self._untyped_storage = wrap_storage
        elif not args or isinstance(args[0], int):
            self._untyped_storage = UntypedStorage((args[0] if args else 0) * kind.itemsize, device=device)
        elif isinstance(args[0], (Tensor, StorageBase)) or not hasattr(args[0], "__len__"):
            raise _wrong(self._name, f"Argument type not recognized: {type(args[0])}")
        else:
            self._untyped_storage = UntypedStorage._over(make(list(args[0]), kind, "cpu" if device is None else device))

    @property
    def memory(self):
        """The memory itself."""
        return self._untyped_storage.memory

    @classmethod
    def _over(cls, tensor) -> TypedStorage:
        return TypedStorage(wrap_storage=UntypedStorage._over(tensor), dtype=tensor.layout.dtype)

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not hasattr(index, "__index__"):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        return self._readable()[self._place(index)].item()

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped_storage

    def pickle_storage_type(self) -> str:
        """The name that the elements' type has in files."""
        return STORAGES[self.dtype].__name__ if self.dtype in STORAGES else "TypedStorage"

    @classmethod
    def from_buffer(cls, buffer, byte_order: str = "native", *, dtype=None, count: int = -1, offset: int = 0) -> TypedStorage:
        """A copy of the elements of an object with the buffer protocol.

        Args:
            buffer: such as bytes.
            byte_order: "little", "big" or "native".
            dtype: of the elements; the default dtype when None.
            count: how many; -1 for all.
            offset: bytes that are left out first.
        """
        kind = dtype or dtypes.get_default_dtype()
        bytes_of = UntypedStorage.from_buffer(buffer, dtype=kind, byte_order=byte_order, count=count, offset=offset)
        return TypedStorage(wrap_storage=bytes_of, dtype=kind)

    @classmethod
    def from_file(cls, filename, shared: bool = False, size: int = 0, *, dtype=None) -> TypedStorage:
        """The elements in a file, which is mapped.

        Args:
            filename: the file; made, or made longer, where it is shared.
            shared: whether what is written goes into the file.
            size: how many elements; all when 0.
            dtype: of the elements; the default dtype when None.
        """
        kind = dtype or dtypes.get_default_dtype()
        return TypedStorage(wrap_storage=UntypedStorage.from_file(filename, shared, size * kind.itemsize), dtype=kind)


def _wrong(name, what):
    return TypeError(f"{name}: expected no arguments, a size, a sequence or wrap_storage=UntypedStorage. {what}")


class LegacyStorage(type):
    """The type of `FloatStorage` and its like: a call makes a TypedStorage, and `isinstance` asks for one of that dtype."""

    dtype: dtypes.dtype
    is_cuda: bool

    def __call__(cls, *args, wrap_storage=None, device=None) -> TypedStorage:
        device = "cuda" if device is None and cls.is_cuda else device
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, value):
        return isinstance(value, TypedStorage) and value.dtype is cls.dtype and (value.device.type == "cuda") == cls.is_cuda

    def from_buffer(cls, buffer, byte_order: str = "native", **options) -> TypedStorage:
        """A copy of the elements of an object with the buffer protocol; see `TypedStorage.from_buffer`."""
        return TypedStorage.from_buffer(buffer, byte_order, dtype=cls.dtype, **options)

    def from_file(cls, filename, shared: bool = False, size: int = 0) -> TypedStorage:
        """The elements in a file; see `TypedStorage.from_file`."""
        return TypedStorage.from_file(filename, shared, size, dtype=cls.dtype)

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _legacy(kind, place):
    name, is_cuda = f"{kind.title}Storage", place == "torch.cuda"
    doc = f"""Storages of {kind}{" on a CUDA device" if is_cuda else ""}: a call with a size or with elements makes one,
    `isinstance` asks for one.

    Args:
        args: how many elements, or a sequence of them.
        wrap_storage: an UntypedStorage whose memory it is, instead.
        device: where; {"the current device" if is_cuda else "the CPU"} when None.

    Example:
        >>> import numtorch as torch
        >>> storage = torch.{name}([1, 0])
        >>> len(storage), storage.nbytes(), isinstance(storage, {place}.{name})
        (2, {2 * kind.itemsize}, {not is_cuda})
    """
    return LegacyStorage(name, (), {"dtype": kind, "is_cuda": is_cuda, "__module__": place, "__doc__": doc})


_KINDS = [*map(dtypes.dtype.by_name.__getitem__, (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128"))]
STORAGES = {kind: _legacy(kind, "torch") for kind in _KINDS}
CUDA = {kind: _legacy(kind, "torch.cuda") for kind in _KINDS}
(FloatStorage, DoubleStorage, HalfStorage, BFloat16Storage, LongStorage, IntStorage, ShortStorage, CharStorage, ByteStorage,
 BoolStorage, ComplexFloatStorage, ComplexDoubleStorage) = STORAGES.values()


def converted(storage, dtype) -> TypedStorage:
    """A storage's values as elements of another dtype, in memory of their own.

    Args:
        storage: of bytes or of elements.
        dtype: a storage type, its name, or a dtype.

    Raises:
        TypeError: something else.
    """
    named = {f"{kind.__module__}.{kind.__name__}": kind.dtype for kind in (*STORAGES.values(), *CUDA.values())}
    kind = named.get(dtype, getattr(dtype, "dtype", dtype))
    if not isinstance(kind, dtypes.dtype):
        raise TypeError(f"type(): expected a storage type or a dtype, got {dtype!r}")
    return TypedStorage._over(storage._elements().to(kind, copy=True))


def _type(self, dtype=None, non_blocking: bool = False):
    """The type's name; or the values as elements of another dtype.

    Args:
        dtype: a storage type such as `torch.IntStorage`, its name, or a dtype; None for the name.
        non_blocking: taken for PyTorch's sake.
    """
    if dtype is not None:
        return converted(self, dtype)
    if isinstance(self, UntypedStorage):
        return "torch.storage.UntypedStorage"
    place = "torch.cuda" if self.device.type == "cuda" else "torch"
    return f"{place}.{STORAGES[self.dtype].__name__}" if self.dtype in STORAGES else "torch.storage.TypedStorage"


StorageBase.type = _type


def _conversion(name, kind):
    def convert(self) -> TypedStorage:
        return converted(self, kind)

    convert.__name__, convert.__qualname__ = name, f"StorageBase.{name}"
    convert.__doc__ = f"The values as elements of {kind}, in memory of their own."
    return convert


for _name, _kind in CASTS.items():
    _spelled = {"chalf": "complex_half", "cfloat": "complex_float", "cdouble": "complex_double"}.get(_name, _name)
    setattr(StorageBase, _spelled, _conversion(_spelled, _kind))


@method
def storage(self) -> TypedStorage:
    """The memory this tensor lies in, shared with its views, as elements of its dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]])[1].storage().tolist()
        [1, 2, 3, 4]
    """
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.layout.dtype)


@method
def storage_type(self) -> LegacyStorage:
    """The storage type of this tensor's dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(1).storage_type()
        <class 'torch.FloatStorage'>
    """
    return (CUDA if self.is_cuda else STORAGES)[self.layout.dtype]
