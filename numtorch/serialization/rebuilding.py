"""Reading: the tensors that a file describes, over its storages. A storage is read once, whoever shares it."""
from __future__ import annotations

import pickle
from typing import Any

from ..devices import device
from ..dtypes import dtype
from ..layout import Size
from ..nn.modules.lazy import UninitializedBuffer, UninitializedParameter
from ..nn.parameter import Parameter
from ..ops.creation.fill import empty_strided
from ..ops.memory.typed import TypedStorage
from ..ops.memory.untyped import UntypedStorage
from ..sparse.files import get_layout, rebuild_sparse
from ..tensor import Tensor, alias
from .names import STORAGES

_UINT8 = dtype.by_name["uint8"]


def _rebuild_parameter(data, requires_grad, hooks, state=None):
    out = Parameter(data, requires_grad)
    vars(out).update({k: v for k, v in (state or {}).items() if not k.startswith("_")})
    return out


def _check_dimensions(size):
    if len(size) > 64:
        raise pickle.UnpicklingError(f"load: the file describes a tensor of {len(size)} dimensions")


def _rebuild_on_meta(kind, size, stride, requires_grad):
    if not isinstance(kind, dtype):
        raise pickle.UnpicklingError("load: the file describes a tensor of no dtype")
    _check_dimensions(size)
    return empty_strided(size, stride, dtype=kind, device="meta", requires_grad=requires_grad)


_MEANINGS: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_sparse_tensor"): rebuild_sparse, ("torch.serialization", "_get_layout"): get_layout,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): _rebuild_on_meta,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter,
    ("torch", "Tensor"): Tensor,
    **{("torch.nn.parameter", kind.__name__): kind for kind in (Parameter, UninitializedParameter, UninitializedBuffer)},
     ("torch", "Size"): Size, ("torch", "device"): device,
    **{("torch", name): kind for name, kind in dtype.by_name.items()},
    **{(each.module, each.name): kind for kind, each in STORAGES.items()},
    ("torch.storage", "UntypedStorage"): _UINT8, ("torch", "UntypedStorage"): _UINT8,
}


class Reader:
    """Gives the tensors of a file over the storages in its archive, each of which is read once."""

    def __init__(self, read_storage) -> None:
        self.read_storage = read_storage
        self.bases: dict = {}                            # by key: a storage, and what it was said to be
        self.base_of: dict = {}                          # by the identity of a storage: its tensor of one dimension
        self.seen_as: dict = {}                          # by the identity of such a tensor, dtype and bits: what they make of it
        self.build, self.build_of = self.rebuild_tensor, self.rebuild_tensor_of
        self.meanings = {**_MEANINGS, ("torch._utils", "_rebuild_tensor_v2"): self.build,
                         ("torch._utils", "_rebuild_tensor_v3"): self.build_of,
                         ("torch._tensor", "_rebuild_from_type_v2"): self.rebuild_of_a_kind}

    def storage_of(self, pid):
        if pid[0] == "module":                           # and its source, in files from before 1.6
            return pid[1]
        kind, key, location, numel = pid[1:5]
        if not (isinstance(kind, dtype) and type(key) is str and type(location) is str and type(numel) is int):
            raise pickle.UnpicklingError("load: the file names a storage of an unknown type")
        if key not in self.bases:
            base = self.read_storage(key, kind, location, numel)
            self.bases[key] = typed, *_ = TypedStorage(wrap_storage=UntypedStorage._over(base), dtype=kind), kind, numel
            self.base_of[id(typed)] = self.seen_as[id(base), kind, False, False] = base
        typed, *said = self.bases[key]
        if said != [kind, numel]:
            raise pickle.UnpicklingError(f"load: the file says two things of its storage {key!r}")
        return typed

    def whole(self, base, kind, conj, neg):
        """A storage's tensor under a dtype, with the values that PyTorch's conj and neg bits stand for, which tensors here have
        not: the storage is copied, once, and what shares it goes on sharing."""
        place = id(base), kind, conj, neg
        typed = self.seen_as.get(place)
        if typed is None:
            if conj or neg:
                typed = self.whole(base, kind, False, False)
                typed = typed.conj().clone() if conj else typed
                typed = -typed if neg else typed
            else:
                typed = base.view(kind)
            self.seen_as[place] = typed
        return typed

    def rebuild_tensor(self, storage, offset, size, stride, requires_grad, hooks, metadata=None):
        kind = getattr(storage, "dtype", None)
        return self.rebuild_tensor_of(storage, offset, size, stride, requires_grad, hooks, kind, metadata)

    def rebuild_tensor_of(self, storage, offset, size, stride, requires_grad, hooks, kind, metadata=None):
        base = self.base_of.get(id(storage))
        if base is None or not isinstance(kind, dtype):
            raise pickle.UnpicklingError("load: the file describes a tensor that lies in no storage")
        _check_dimensions(size)
        bits = metadata or {}
        out = self.whole(base, kind, bool(bits.get("conj")), bool(bits.get("neg"))).as_strided(size, stride, offset)
        return out.requires_grad_() if requires_grad else out

    def rebuild_of_a_kind(self, build, kind, args, state):
        known = build is self.build or build is self.build_of or build is _rebuild_on_meta
        if not (known and isinstance(kind, type) and issubclass(kind, Tensor)):
            raise pickle.UnpicklingError("load: the file describes a tensor of an unknown kind")
        out = build(*args) if kind is Tensor else alias(build(*args), kind)
        state = state if isinstance(state, dict) else state[0] if state else None      # or a pair, the second of slots
        vars(out).update({k: v for k, v in (state or {}).items() if not k.startswith("_")})
        return out
