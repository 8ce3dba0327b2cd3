"""Modules and criterions as objects: converting all of their tensors, copying, pickling, and laying parameters side by side."""
from __future__ import annotations

from copy import deepcopy

from ...ops.creation.fill import zeros
from ...storage import ALIGNMENT
from ...tensor import Tensor
from .glossary import Described


def _whole(tensor):
    """All of a tensor's storage as one dimension."""
    return zeros(0, dtype=tensor.dtype, device=tensor.device).set_(tensor.untyped_storage())


def converted(value, type, cache):
    """A tensor of floating point in another type, or a table, module or criterion with all of them converted.

    Args:
        value: anything; what holds no tensors stays as it is.
        type: a tensor type, its name or a dtype.
        cache: what was converted before. Tensors that share memory share it afterwards.
    """
    if isinstance(value, list):
        value[:] = [converted(item, type, cache) for item in value]
    elif isinstance(value, Convertible):
        if id(value) not in cache:
            cache[id(value)] = value
            value.type(type, cache)
    elif isinstance(value, Tensor) and value.dtype.is_floating_point:
        key = id(value.memory)
        if key not in cache:
            cache[key] = _whole(value).type(type), value.memory        # the storage stays, so that its id does
        return cache[key][0].as_strided(value.size(), value.stride(), value.storage_offset())
    return value


class Convertible(Described):
    """What modules and criterions share: a record of the last run, a vector of all gradients, a type, and copies."""

    _record = _flat = None
    _type = "torch.FloatTensor"

    def type(self, type=None, tensorCache=None):
        """Convert all tensors of floating point to another type, or say which they have.

        Args:
            type: a tensor type, its name or a dtype; None asks for the name.
            tensorCache: a dict to be given to several calls, so that what is shared among modules stays shared.

        Returns:
            This object, or the name.

        Raises:
            ValueError: a name that is none of a type.
        """
        if type is None:
            return self._type
        name = zeros(0).type(type).type()
        cache = {} if tensorCache is None else tensorCache
        cache[id(self)] = self
        self._record = self._flat = None
        for key, value in list(vars(self).items()):
            setattr(self, key, converted(value, type, cache))
        self._type = name
        return self

    def float(self, *args):
        """Convert to float32; see `type`.

        Args:
            args: the `tensorCache`.
        """
        return self.type("torch.FloatTensor", *args)

    def double(self, *args):
        """Convert to float64; see `type`.

        Args:
            args: the `tensorCache`.
        """
        return self.type("torch.DoubleTensor", *args)

    def cuda(self, *args):
        """Convert to float32 on the current CUDA device; see `type`.

        Args:
            args: the `tensorCache`.
        """
        return self.type("torch.cuda.FloatTensor", *args)

    def clone(self, *names):
        """A deep copy.

        Args:
            names: attributes that the copy shares with this object, such as "weight" and "gradWeight", here and in all modules
                below.
        """
        copy = deepcopy(self)
        return copy.share(self, *names) if names else copy

    def __getstate__(self):
        state = dict(vars(self))
        state.pop("_record", None)
        state.pop("_flat", None)
        return state


def _aligned(count, place, dtype, device):
    """A vector of zeros whose element at `place` begins a cache line: the vector begins some elements behind its storage's start.

    Where the rows of the largest matrix straddle cache lines, the product that adds to it takes half as long again.
    """
    lead = -(place * dtype.itemsize) % ALIGNMENT // dtype.itemsize
    storage = zeros(lead + count, dtype=dtype, device=device).untyped_storage()
    return zeros(0, dtype=dtype, device=device).set_(storage, lead, (count,), (1,))


def flattened(tensors) -> Tensor:
    """One new vector that holds all elements of some tensors, which see its memory from now on.

    Args:
        tensors: a list; those that share memory share it afterwards, and count once.

    Raises:
        RuntimeError: tensors of several dtypes or devices.
    """
    kinds = {(tensor.dtype, tensor.device) for tensor in tensors}
    if len(kinds) != 1:
        raise RuntimeError(f"flattenParameters: expected parameters of one dtype on one device, got "
                           f"{sorted(f'{dtype} on {device}' for dtype, device in kinds)}")
    spans = {}                                           # of storages: [first, stop] that some tensor sees
    for tensor in tensors:
        low, high = tensor.layout.extent()
        first, stop, known = tensor.storage_offset() + low, tensor.storage_offset() + high, spans.setdefault(id(tensor.memory), [])
        for span in [span for span in known if first < span[1] and span[0] < stop]:
            known.remove(span)
            first, stop = min(first, span[0]), max(stop, span[1])
        known.append([first, stop])
    total, sources, largest = 0, {id(tensor.memory): _whole(tensor) for tensor in tensors}, (0, 0)
    for known in spans.values():
        for span in known:
            span.append(total)
            largest = max(largest, (span[1] - span[0], -total))          # the first of the largest
            total += span[1] - span[0]
    flat = _aligned(total, -largest[1], tensors[0].dtype, tensors[0].device)
    for key, known in spans.items():
        for first, stop, place in known:
            flat[place:place + stop - first].copy_(sources[key][first:stop])
    for tensor in {id(tensor): tensor for tensor in tensors}.values():
        offset = tensor.storage_offset()
        first, place = next((first, place) for first, stop, place in spans[id(tensor.memory)]
                            if first <= offset < stop or first == offset == stop)
        tensor.set_(flat.untyped_storage(), flat.storage_offset() + offset - first + place, tensor.size(), tensor.stride())
    return flat
