"""Tensors from the outside: Python data, NumPy arrays, buffers and DLPack.

`make` copies; `from_numpy`, `from_dlpack` and `frombuffer` share memory.
"""
from __future__ import annotations

import ctypes
import struct
import warnings
from itertools import chain

import numpy as np

from .. import dtypes
from ..devices import cpu, default
from ..dtypes import dtype, int64
from ..dtypes import from_numpy as dtype_from_numpy
from ..layout import Layout, Size
from ..storage import address_of, foreign_storage
from ..tensor import Tensor, alias, fresh, lasting
from ..tensor import wrap as tensor_over
from .arrays import SharedMemory, host_array, narrowed, raw_array, readable_array, widened
from .dlpack import Integers, Producer
from .scalars import check_fits


def from_numpy(array) -> Tensor:
    """A tensor over a NumPy array's memory; changing one changes the other.

    Args:
        array: any NumPy array of a dtype that tensors hold; its strides may be negative or zero.

    Raises:
        TypeError: not an array, or of another dtype.
        ValueError: strides that are not whole elements, or a byte order that is not the machine's.

    Example:
        >>> import numpy as np, numtorch as torch
        >>> a = np.zeros(2, np.float32)
        >>> torch.from_numpy(a).add_(1)
        tensor([1., 1.])
        >>> a
        array([1., 1.], dtype=float32)
    """
    try:
        known = _layouts[array.dtype, array.shape, array.strides]
    except (AttributeError, KeyError):
        known = None
    layout, misaligned = known or _layout_of(array)
    address = address_of(array)
    if address & misaligned:
        raise _not_whole(array, layout.dtype.itemsize)
    if not array.flags.writeable:
        warnings.warn("The given NumPy array is not writable, and tensors do not know of such a thing: writing to the tensor would "
                      "change, or crash on, memory that is meant to stay. Copy the array first.", UserWarning, stacklevel=2)
    base = array.base
    if base is None and layout.contiguous:
        storage = foreign_storage(address, array.nbytes, array)
    else:
        storage = _storage_of(array, address, layout)
    return tensor_over(storage, address, layout)


_layouts: dict = {}                                      # of arrays, with the bits their addresses must not have


def _layout_of(array):
    """An array's layout. Raises TypeError or ValueError for what no tensor can lie over."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if not array.dtype.isnative:
        raise ValueError(f"from_numpy: expected the machine's own byte order, got dtype {array.dtype}; "
                         f"use array.astype(array.dtype.newbyteorder('='))")
    kind = dtype_from_numpy(array.dtype)
    itemsize = kind.itemsize
    strides = tuple([s // itemsize for s in array.strides])
    if tuple([s * itemsize for s in strides]) != array.strides:
        raise _not_whole(array, itemsize)
    layout = Layout.of(kind, array.shape, strides)
    if layout.contiguous:
        layout = layout.dense()
    if len(_layouts) >= 1024:
        _layouts.clear()
    result = _layouts[array.dtype, array.shape, array.strides] = layout, min(itemsize, 8) - 1
    return result


def _not_whole(array, itemsize):
    return ValueError(f"from_numpy: expected strides and address in whole elements of {itemsize} bytes, got strides "
                      f"{array.strides}")


def _storage_of(array, address, layout):
    """The storage of a view: that of the array it is a view of, or of the tensor whose memory that is."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if isinstance(root.base, SharedMemory):           # a tensor's own memory come back
        return root.base.storage
    if root is array and layout.contiguous:
        return foreign_storage(address, array.nbytes, root)
    if root.flags.c_contiguous:
        return foreign_storage(address_of(root), root.nbytes, root)
    first, stop = np.lib.array_utils.byte_bounds(root)
    return foreign_storage(first, stop - first, root)


def from_dlpack(ext_tensor, *, device=None, copy=None) -> Tensor:
    """A tensor over the memory of anything that speaks DLPack, such as a PyTorch or NumPy array.

    Args:
        ext_tensor: an object with `__dlpack__`, in the CPU's memory, or the capsule that one gave.
        device: where to put it, with a copy if need be; where it is when None.
        copy: whether to have memory of its own.

    Raises:
        RuntimeError: something else, or a capsule that was taken before.

    Example:
        >>> import numtorch as torch
        >>> import numpy
        >>> array = numpy.zeros(2, dtype=numpy.float32)
        >>> torch.from_dlpack(array).fill_(7).shape, array.tolist()
        (torch.Size([2]), [7.0, 7.0])
    """
    if isinstance(ext_tensor, Tensor):
        result = alias(ext_tensor)
    else:
        if not hasattr(ext_tensor, "__dlpack__"):
            ext_tensor = Producer(ext_tensor)
        try:
            result = from_numpy(np.from_dlpack(ext_tensor))
        except (RuntimeError, BufferError):              # a dtype that NumPy has not; the second from 2.5 on
            integers = Integers(ext_tensor)
            if integers.name is None:
                raise
            array = np.from_dlpack(integers)
            first, stop = np.lib.array_utils.byte_bounds(array)
            layout = Layout.of(dtype.by_name[integers.name], array.shape, tuple([step // array.itemsize for step in array.strides]))
            result = tensor_over(foreign_storage(first, stop - first, array), array.__array_interface__["data"][0], layout)
    if copy:
        result = make(result)
    return result if device is None else result.to(device)


def frombuffer(buffer, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor over the memory of an object with the buffer protocol.

    Args:
        buffer: such as a bytearray; of a read-only one the tensor must not be written to.
        dtype: of the elements.
        count: how many; -1 for all there are.
        offset: bytes that are left out first.
        requires_grad: whether to record what is computed from it.

    Raises:
        ValueError: no buffer, an empty one, one that is too short, or not whole elements.
        RuntimeError: a buffer whose bytes do not lie one after another.

    Example:
        >>> import numtorch as torch
        >>> torch.frombuffer(bytearray([1, 2, 3, 4]), dtype=torch.uint8, offset=1)
        tensor([2, 3, 4], dtype=torch.uint8)
    """
    try:
        raw = np.frombuffer(buffer, np.uint8)
    except TypeError:
        raise ValueError(f"object does not implement Python buffer protocol: {type(buffer).__name__}") from None
    except BufferError as error:
        raise RuntimeError(f"could not retrieve buffer from object: {error}") from None
    available = raw.size - offset
    if raw.size == 0 or not 0 <= offset < raw.size:
        raise ValueError(f"offset must be non-negative and no greater than buffer length minus one, got {offset} of {raw.size}")
    if count < 0:
        if available % dtype.itemsize:
            raise ValueError(f"buffer length ({available} bytes) after offset ({offset} bytes) must be a multiple of element "
                             f"size ({dtype.itemsize})")
        count = available // dtype.itemsize
    if count * dtype.itemsize > available or count == 0:
        raise ValueError(f"requested buffer length ({count * dtype.itemsize} bytes) after offset ({offset} bytes) must not be "
                         f"greater than actual buffer length ({raw.size} bytes)")
    storage = foreign_storage(address_of(raw), raw.size, raw)
    out = tensor_over(storage, storage.address + offset, Layout.of(dtype, (count,)))
    return out.requires_grad_() if requires_grad else out


def make(data, dtype=None, device=None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor holding a copy of `data`.

    Args:
        data: a number, nested sequences, a NumPy array, another tensor or a storage. Python floats become the default dtype,
            ints int64, bools bool, complex numbers the default's complex. A storage's memory is shared, the bytes of an
            `UntypedStorage` as elements of `dtype`, or of int64.
        dtype: the dtype to convert to; taken from `data` when None.
        device: where to put it; the default device when None, and a tensor's own where that is the CPU.
        requires_grad: whether to record what is computed from it.
        pin_memory: see `Tensor.pin_memory`.

    Raises:
        ValueError: sequences of uneven lengths.
        RuntimeError: something that is not a number in `data`, a number that the dtype cannot hold, or a storage of another.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[1., 2.],
                [3., 4.]])
    """
    if pin_memory:
        return make(data, dtype, device).pin_memory().requires_grad_(requires_grad)
    if device is None and default[0] is not cpu:
        device = default[0]
    plain = None
    if device is None or device is cpu or device == "cpu":
        plain = copy_of(data) if type(data) is np.ndarray and dtype is None else from_plain(data, dtype)
    if plain is not None:
        return plain.requires_grad_() if requires_grad else plain
    if hasattr(data, "untyped"):                         # a storage, whose memory it takes
        kind = dtype or (int64 if data.untyped() is data else data.dtype)
        out = fresh(Layout.of(dtypes.as_dtype(kind), (0,), None, data.device)).set_(data).to(device)
        return out.requires_grad_() if requires_grad else out
    if isinstance(data, Tensor):
        array, kind = raw_array(_on_host(data)), data.layout.dtype
        natural, source_words = kind, True
        device = data.layout.device if device is None else device
    else:
        array, kind, source_words, natural = _as_array(data)
    wanted = dtypes.as_dtype(dtype) if dtype is not None else natural
    if wanted is natural is int64 and type(data) in _PLAIN and array.dtype.kind in "uf":     # ints beyond int64
        raise ValueError("Overflow when unpacking long long")
    if wanted.category == 1 and array.size and type(data) in _PLAIN and (
            array.dtype.kind == "f" or (array.dtype.kind in "iu" and wanted is not int64)):
        for value in (array.min(), array.max()):
            check_fits(value, wanted)                    # NumPy would wrap it around
    if wanted.category < 3 and natural.is_complex and not isinstance(data, (Tensor, np.ndarray)):
        raise TypeError("must be real number, not complex")
    out = lasting(Layout.of(wanted, array.shape))
    if wanted is kind and source_words:
        raw_array(out)[...] = array
    elif wanted.numpy is None or (source_words and kind.numpy is None):
        raw_array(out)[...] = _convert_words(array, kind if source_words else dtypes.from_numpy(array.dtype), wanted)
    else:
        with np.errstate(all="ignore"):
            host_array(out)[...] = array.view(kind.numpy) if source_words else array
    if device is not None and str(device) != "cpu":
        out = out.to(device)
    return out.requires_grad_() if requires_grad else out


_TENSORS, _PLAIN = {Tensor}, (list, tuple, int, float)
_FORMATS = {"float32": "f", "float64": "d", "int64": "q", "uint64": "Q", "bool": "?"}
_CATEGORIES = {frozenset({float}): 2, frozenset({int}): 1, frozenset({bool}): 0, frozenset({int, float}): 2, frozenset(): 2}


def from_plain(data, dtype):
    """A tensor of numbers in even lists, without a NumPy array between; None where that takes more thought.

    Args:
        data: numbers, in lists or alone.
        dtype: of the tensor, or None for that of the numbers.
    """
    shape = []
    if type(data) is not list:
        data = [data]
    else:
        shape.append(len(data))
        while data and type(data[0]) is list:
            if set(map(type, data)) != {list} or len(set(map(len, data))) != 1:
                return None
            shape.append(len(data[0]))
            data = list(chain.from_iterable(data))
    kinds = frozenset(map(type, data))
    category = _CATEGORIES.get(kinds)
    if category is None:
        if kinds != _TENSORS or dtype is not None:
            return None
        kind = data[0].layout
        if kind.ndim or any(t.layout is not kind for t in data):
            return None
        data, dtype = [t.item() for t in data], kind.dtype
        category = _CATEGORIES.get(frozenset(map(type, data)))
        if category is None:
            return None
    if dtype is None:
        dtype = (dtypes.bool_, int64, dtypes.get_default_dtype())[category]
    elif type(dtype) is not dtypes.dtype or dtype.category < max(category, 1):
        return None
    letter = _FORMATS.get(dtype.name)
    if letter is None:
        return None
    layout = Layout.of(dtype, tuple(shape))
    out = fresh(layout)
    try:
        struct.pack_into(f"{len(data)}{letter}", (ctypes.c_char * layout.nbytes).from_address(out.address), 0, *data)
    except (OverflowError, struct.error):                # an infinity in float32, or an error that deserves words
        return None
    return out


def copy_of(array):
    """A new tensor of an array's elements as they lie in memory; None where that takes more thought."""
    flags = array.flags
    if not (flags.c_contiguous and flags.writeable and array.nbytes):
        return None
    layout, _ = _layouts.get((array.dtype, array.shape, array.strides)) or _layout_of(array)
    out = fresh(layout)
    ctypes.memmove(out.address, address_of(array), layout.nbytes)
    return out


def _convert_words(array, kind, wanted):
    """Words of one dtype as words of another where NumPy has no name for one of them."""
    if kind.numpy is None:
        values = widened(array, kind.is_complex)
    else:
        values = array.view(kind.numpy) if array.dtype != kind.numpy else array
    with np.errstate(all="ignore"):
        return values.astype(wanted.numpy).view(wanted.storage) if wanted.numpy is not None else narrowed(values, wanted.is_complex)


def _as_array(data):
    """Any data as a NumPy array, the dtype of its elements, whether it holds stored words, and the dtype it asks for."""
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
        kind = dtypes.from_numpy(array.dtype)
        return array, kind, array.dtype == kind.storage, kind
    natural = None
    if _holds_typed(data):
        natural = _common_dtype(data)
        data = _untensor(data, _depth(data))
    try:
        array = np.asarray(data)
    except ValueError:
        raise _unevenness(data) or ValueError("tensor: expected numbers, or sequences of equal lengths") from None
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    if array.dtype.kind not in "biufc":
        if array.dtype.kind == "O":
            uneven = _unevenness(data)
            if uneven is not None:
                raise uneven
            flat = [type(v).__name__ for v in array.ravel() if not isinstance(v, (int, float, complex, bool))]
            if not flat:
                raise ValueError("Overflow when unpacking long long")
            raise RuntimeError(f"Could not infer dtype of {flat[0]}: tensor expected numbers or sequences of them")
        if isinstance(data, (list, tuple)) and isinstance(np.asarray(data, object).flat[0], str):
            raise ValueError("too many dimensions 'str': tensor expected numbers or sequences of them")
        kind = array.dtype.type.__name__.rstrip("_")
        raise TypeError(f"new(): invalid data type '{kind}': tensor expected numbers or sequences of them")
    if natural is None:
        if hasattr(data, "__array_interface__") and not hasattr(data, "__len__"):         # an image, say
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}: tensor expected numbers or sequences of them; "
                               f"from_numpy(numpy.array(x)) takes what NumPy reads")
        default = dtypes.get_default_dtype()
        kinds = {"b": dtypes.bool_, "i": int64, "u": int64, "f": default, "c": default.to_complex()}
        natural = default if array.size == 0 else kinds[array.dtype.kind]
        if array.dtype.kind == "f" and _only_ints(data, array):
            natural = int64
    kind = dtypes.from_numpy(array.dtype)
    return array, kind, array.dtype == kind.storage, natural


def _only_ints(data, array) -> bool:
    """Whether what NumPy reads as floats are ints: those of int64 and of uint64 have no other common dtype there."""
    return bool((np.abs(array) >= 2.0 ** 63).any()) and all(isinstance(value, int) for value in np.asarray(data, object).ravel())


def _unevenness(data) -> Exception | None:
    """What PyTorch raises for nested sequences whose lengths differ; None where they do not."""
    lengths, inner = [], data
    while isinstance(inner, (list, tuple)):
        lengths.append(len(inner))
        inner = inner[0] if inner else None

    def look(part, dim):
        is_sequence = isinstance(part, (list, tuple))
        if dim == len(lengths):
            return TypeError(f"'{type(part).__name__}' object cannot be interpreted as a number: tensor expected {dim} dimensions, "
                             f"as the first elements have") if is_sequence else None
        if not is_sequence:
            return TypeError(f"not a sequence: {part!r} at dim {dim}, where tensor expected {lengths[dim]} elements")
        if len(part) != lengths[dim]:
            return ValueError(f"expected sequence of length {lengths[dim]} at dim {dim} (got {len(part)})")
        return next(filter(None, (look(each, dim + 1) for each in part)), None)

    return look(data, 0)


def _holds_typed(data) -> bool:
    """Whether something in nested sequences has a dtype of its own."""
    if isinstance(data, (list, tuple)):
        return any(map(_holds_typed, data))
    return isinstance(data, (Tensor, np.ndarray, np.generic))


def _depth(data) -> int:
    """How many dimensions nested sequences have as far as each one's beginning tells, where a tensor is a number."""
    count = 0
    while isinstance(data, (list, tuple)) and data:
        data, count = data[0], count + 1
    return count + np.ndim(data) if isinstance(data, np.ndarray) else count


def _common_dtype(data):
    """What tensors, NumPy scalars and numbers in nested sequences promote to, each by its own dtype."""
    if isinstance(data, Tensor):
        return data.layout.dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return dtypes.from_numpy(data.dtype)
    if isinstance(data, (list, tuple)):
        result = None
        for kind in map(_common_dtype, data):
            result = kind if result is None else dtypes.promote_types(result, kind)
        return result or dtypes.get_default_dtype()
    if isinstance(data, int):                            # a bool is one
        return dtypes.bool_ if isinstance(data, bool) else int64
    default = dtypes.get_default_dtype()
    return default.to_complex() if isinstance(data, complex) else default


def _on_host(x):
    """A tensor whose elements NumPy can see; for one that takes part in a transform, the one inside."""
    while x.layout.handler is not None:
        x = x.layout.handler.values(x)
    return x if x.layout.device is cpu else x.cpu()


def _untensor(data, depth):
    """Nested sequences without tensors: one of a single element is a number where there are no more dimensions."""
    if isinstance(data, Tensor):
        if depth <= 0 and data.layout.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        values = readable_array(_on_host(data))
        return values if depth > 0 else values.item()
    return [_untensor(d, depth - 1) for d in data] if isinstance(data, (list, tuple)) else data


_INT = {int}


def _legacy_tensor(*args, size=None, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """`Tensor(data)` as the default dtype, or `Tensor(2, 3)` uninitialised of that shape, which may be given as `size=(2, 3)`.

    Raises:
        TypeError: a shape and data mixed, a number that is neither, or a tensor of another dtype than the one asked for.
    """
    wanted = dtypes.get_default_dtype() if dtype is None else dtypes.as_dtype(dtype)
    args = (Size(size), *args) if size is not None else tuple([int(a) if isinstance(a, np.integer) else a for a in args])
    if not set(map(type, args)) - _INT or (len(args) == 1 and isinstance(args[0], Size)):
        shape = tuple(args[0]) if args and isinstance(args[0], Size) else args or (0,)
        if any(n < 0 for n in shape):
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
        out = fresh(Layout.of(wanted, tuple(shape)))
    elif len(args) == 1:
        if isinstance(args[0], Tensor):
            given = args[0].layout.dtype
            if dtype is not None and given is not wanted:
                raise TypeError(f"new(): expected data of dtype {wanted}, got a tensor of {given}; convert it: x.to({wanted})")
            return alias(args[0])
        if hasattr(args[0], "untyped"):                  # a storage, whose memory it takes
            return fresh(Layout.of(wanted, (0,), None, args[0].device)).set_(args[0])
        if not hasattr(args[0], "__len__"):
            raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
        shared = type(args[0]) is np.ndarray and args[0].dtype == wanted.numpy and wanted.numpy is not None
        out = from_numpy(args[0]) if shared else make(args[0], wanted)
    else:
        raise TypeError(f"Tensor(): expected data or a shape of integers, got {', '.join(type(a).__name__ for a in args)}")
    if device is not None and str(device) != "cpu":
        out = out.to(device)
    return out.requires_grad_() if requires_grad else out


Tensor._construct = staticmethod(_legacy_tensor)


def _wrapped(self, array, context=None, return_scalar=False) -> Tensor:
    """What a NumPy function of tensors gives: a tensor over its result, of uint8 for bools."""
    return from_numpy(array.astype(np.uint8) if array.dtype == bool else array)


Tensor.__array_wrap__ = _wrapped
