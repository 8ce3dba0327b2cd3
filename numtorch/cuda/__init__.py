"""CUDA devices: `torch.cuda` in PyTorch.

Importing this gives tensors their memory on CUDA devices and the way there and back; `x.cuda()` and `device="cuda"` import
it. Whether the devices are real or Numba's simulator (`NUMBA_ENABLE_CUDASIM=1`) is decided in kernels/cuda/runtime.py and
shows nowhere else.

devices    which there are and which is current; the memory of tensors on them
memory     what tensors have of a device's memory
streams    streams and events
graphs     launches captured and made again
replays    what random streams and optimisers do at each time
comm       tensors between devices
random     the default stream of random numbers
sharing    memory that several processes see
nvtx       marks for profilers
sparse     types of sparse tensors
"""
from __future__ import annotations

import importlib as _importlib

from ..ops.memory import tensortypes as _tensortypes
from ..ops.memory import typed as _typed
from . import comm, nvtx, sparse
from .devices import (
    OutOfMemoryError,
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    placed,  # noqa: F401 - which ops ask for by the device's name (ops/core/backends.py)
    set_device,
    synchronize,
)
from .graphs import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing, make_graphed_callables
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .sharing import ipc_collect
from .streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream

FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor, BoolTensor = \
    _tensortypes.CUDA.values()
(FloatStorage, DoubleStorage, HalfStorage, BFloat16Storage, LongStorage, IntStorage, ShortStorage, CharStorage, ByteStorage,
 BoolStorage, ComplexFloatStorage, ComplexDoubleStorage) = _typed.CUDA.values()

__all__ = ["BFloat16Storage", "BFloat16Tensor", "BoolStorage", "BoolTensor", "ByteStorage", "ByteTensor", "CharStorage",
           "CharTensor", "ComplexDoubleStorage", "ComplexFloatStorage", "DoubleStorage", "DoubleTensor", "FloatStorage",
           "FloatTensor", "HalfStorage", "HalfTensor", "IntStorage", "IntTensor", "LongStorage", "LongTensor", "ShortStorage",
           "ShortTensor", "CUDAGraph", "Event", "OutOfMemoryError", "Stream", "StreamContext", "can_device_access_peer",
           "comm", "current_device", "current_stream", "default_stream", "device", "device_count", "device_of", "empty_cache",
           "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "graph",
           "graph_pool_handle", "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported",
           "is_current_stream_capturing", "is_initialized", "make_graphed_callables", "manual_seed", "manual_seed_all",
           "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
           "memory_stats", "memory_summary", "nvtx", "reset_accumulated_memory_stats", "reset_max_memory_allocated",
           "reset_max_memory_cached", "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_rng_state",
           "set_rng_state_all", "set_stream", "sparse", "stream", "synchronize"]


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__)
