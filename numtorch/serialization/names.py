"""The names that PyTorch's files have for things, as pickle writes them: a tensor is made by a function of `torch._utils`."""
from __future__ import annotations

from ..dtypes import dtype


class Named:
    """Something of PyTorch's, pickled by its name."""

    __slots__ = ("module", "name")

    def __init__(self, module, name) -> None:
        self.module, self.name = module, name

    def __call__(self):
        """Pickle asks for functions; this one is only named."""


V2, V3 = Named("torch._utils", "_rebuild_tensor_v2"), Named("torch._utils", "_rebuild_tensor_v3")
PARAMETER = Named("torch._utils", "_rebuild_parameter")
PARAMETER_WITH_STATE = Named("torch._utils", "_rebuild_parameter_with_state")
META = Named("torch._utils", "_rebuild_meta_tensor_no_storage")
OF_A_KIND = Named("torch._tensor", "_rebuild_from_type_v2")
SPARSE, LAYOUT = Named("torch._utils", "_rebuild_sparse_tensor"), Named("torch.serialization", "_get_layout")
UNTYPED = Named("torch.storage", "UntypedStorage")
SIZE, DEVICE, TENSOR = Named("torch", "Size"), Named("torch", "device"), Named("torch", "Tensor")
DTYPES = {kind: Named("torch", name) for name, kind in dtype.by_name.items()}
STORAGES = {kind: Named("torch", f"{kind.title}Storage") for name, kind in dtype.by_name.items()
             if name not in ("uint16", "uint32", "uint64", "complex32")}
