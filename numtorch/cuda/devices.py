"""CUDA devices: how many there are, which one is current, and waiting for them; their memory, and the way there and back."""
from __future__ import annotations

import ctypes
import gc
import threading

from .. import storage as _storage
from ..devices import OutOfMemoryError
from ..devices import device as _device
from ..kernels.cuda.capture import active, refuse, watcher
from ..kernels.cuda.environment import Unavailable
from ..kernels.cuda.runtime import runtime
from ..ops.core.late import later, provide
from ..ops.memory.pinned import is_pinned_storage, owner_of
from ..tensor import Tensor


class _Current(threading.local):
    """Every thread has a current device of its own."""
    index = 0


_current = _Current()


def _machine():
    """The runtime. Raises what PyTorch raises where there is none, or where a forked child has its parent's."""
    try:
        return runtime()
    except Unavailable as error:
        if error.missing:
            raise AssertionError(f"Torch not compiled with CUDA enabled: {error}") from None
        raise RuntimeError(str(error)) from None


def _index(which, optional=True) -> int:
    """The index that a device, a string, an int or None (the current device) stands for."""
    if which is None and optional:
        return _current.index
    result = _device(which)
    if result.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {result}")
    return _current.index if result.index is None else result.index


def _existing(index) -> int:
    count = _machine().count
    if not 0 <= index < count:
        raise RuntimeError(f"CUDA error: invalid device ordinal (asked for cuda:{index}, there are {count})")
    return index


# ---------------------------------------------------------------- devices
def is_available() -> bool:
    """Whether tensors can be put on a CUDA device, real or simulated. Never raises."""
    return device_count() > 0


def device_count() -> int:
    """The number of CUDA devices; 0 where there are none or the `cuda` extra is missing."""
    try:
        return runtime().count
    except Unavailable:
        return 0


def current_device() -> int:
    """The index of the device that `"cuda"` means in this thread."""
    return _existing(_current.index)


def set_device(device) -> None:
    """Make a device the one that `"cuda"` means in this thread; a negative index changes nothing.

    Args:
        device: an index, or a device or string such as "cuda:1".

    Raises:
        RuntimeError: no such device.
        ValueError: not a CUDA device.
    """
    if isinstance(device, int) and device < 0:
        return
    _current.index = _existing(_index(device, optional=False))


class device:
    """Context manager: another device is the current one inside.

    Args:
        device: an index, a device or a string; a negative index or None changes nothing.

    Example:
        with torch.cuda.device(1):
            x = torch.zeros(2, device="cuda")            # on cuda:1
    """

    def __init__(self, device):
        self.idx = -1 if device is None or (isinstance(device, int) and device < 0) else _index(device)
        self.previous = []                               # one entry for each time it is entered

    def __enter__(self):
        self.previous.append(_current.index)
        set_device(self.idx)
        return self

    def __exit__(self, *error):
        _current.index = self.previous.pop()
        return False


class device_of(device):
    """Context manager: the device of a tensor or storage is the current one inside; nothing changes for one of the host.

    Args:
        obj: the tensor or storage.

    Example:
        >>> import numtorch as torch
        >>> with torch.cuda.device_of(torch.zeros(1)):
        ...     pass
    """

    def __init__(self, obj):
        super().__init__(obj.get_device())              # -1 of the host's


def synchronize(device=None) -> None:
    """Wait until a device, the current one when None, has done what it was told."""
    refuse("synchronize")
    _machine().synchronize(_existing(_index(device)))


def get_device_name(device=None) -> str:
    """What a device is called."""
    return _machine().describe(_existing(_index(device)))[0]


def get_device_capability(device=None) -> tuple[int, int]:
    """A device's compute capability, such as (9, 0); (0, 0) in the simulator."""
    return _machine().describe(_existing(_index(device)))[1]


def init() -> None:
    """Start CUDA now instead of on first use. Raises where there is none."""
    _machine()


def is_initialized() -> bool:
    """Whether CUDA has been started."""
    return runtime.cache_info().currsize > 0


def can_device_access_peer(device, peer_device) -> bool:
    """Whether one device reads another's memory without the host between them.

    Args:
        device, peer_device: two devices that are there.

    Raises:
        AssertionError: one is not there.
    """
    both = [_index(each, optional=False) for each in (device, peer_device)]
    for each in both:
        if not 0 <= each < _machine().count:
            raise AssertionError("Invalid device id" if each == both[0] else "Invalid peer device id")
    return both[0] != both[1] and _machine().reaches(*both)


class DeviceProperties:
    """What a device is. Two are equal where all is.

    Attributes:
        name, uuid: what it is called, and 16 bytes that no other device has.
        major, minor: its compute capability.
        total_memory: in bytes.
        multi_processor_count: how many multiprocessors it has.
        warp_size: threads that go together.
        max_threads_per_block, max_threads_per_multi_processor, regs_per_multiprocessor, shared_memory_per_block,
        shared_memory_per_block_optin, shared_memory_per_multiprocessor, L2_cache_size: threads, registers and bytes.
        is_integrated, is_multi_gpu_board: 1 where it shares the host's memory, or its board with others.
        clock_rate, memory_clock_rate, memory_bus_width: in kHz and bits, where the driver still says so.
    """

    def __init__(self, name, uuid, capability, total_memory, **more):
        self.name, self.uuid, (self.major, self.minor), self.total_memory = name, uuid, capability, total_memory
        self.__dict__.update(more)

    def __eq__(self, other):
        return isinstance(other, DeviceProperties) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        return (f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
                f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count})")


def get_device_properties(device=None) -> DeviceProperties:
    """What a device is: name, capability, memory and multiprocessors.

    Args:
        device: a device, its index or name; the current one when None.
    """
    index, machine = _existing(_index(device)), _machine()
    name, capability = machine.describe(index)
    return DeviceProperties(name, machine.identity(index), capability, machine.memory_info(index)[1], **machine.properties(index))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 can be computed with: yes, in float32 where the device has no arithmetic for it.

    Args:
        including_emulation: whether that counts.
    """
    return including_emulation or get_device_capability() >= (8, 0)


# ---------------------------------------------------------------- for the floors below
@provide
def current_cuda() -> int:
    """The index that a compiled call's tensors are made on, where it names none."""
    return _current.index


def placed(device):
    """`device` with an index, the current one's unless it has one. Raises as `numtorch.ops.core.backends.placed` says."""
    return _device("cuda", _existing(_current.index if device.index is None else device.index))


class Usage:
    """What tensors have of a device's memory, in bytes and in blocks.

    Attributes:
        current, peak, total: allocated now, at most since `reset_peak_memory_stats`, and altogether since
            `reset_accumulated_memory_stats`.
        before: allocated at that reset.
    """

    def __init__(self):
        self.current, self.peak, self.total, self.before = [0, 0], [0, 0], [0, 0], [0, 0]


usage: dict[int, Usage] = {}                             # by device


class _Block:
    """A device's memory, counted for as long as it is there. Written out: calls would cost an operation as much as its launch."""

    __slots__ = ("owner", "nbytes", "usage")

    def __init__(self, owner, nbytes, usage):
        self.owner, self.nbytes, self.usage = owner, nbytes, usage
        current, peak, total = usage.current, usage.peak, usage.total
        current[0] += nbytes
        current[1] += 1
        total[0] += nbytes
        total[1] += 1
        if current[0] > peak[0]:
            peak[0] = current[0]
        if current[1] > peak[1]:
            peak[1] = current[1]

    def __del__(self):
        current = self.usage.current
        current[0] -= self.nbytes
        current[1] -= 1


class _Allocator:
    """Storages on CUDA devices."""

    @staticmethod
    def allocate(nbytes, device):
        index, wanted = device.index, nbytes or 1                       # no runtime has blocks of nothing
        counted = usage.get(index) or usage.setdefault(index, Usage())
        try:
            owner, address = runtime().allocate(wanted, index)
        except MemoryError:
            owner, address = _allocated_at_last(nbytes, wanted, device, counted)
        except Unavailable:
            _machine()                                                  # says so as PyTorch does
            raise
        size = (wanted + 511) // 512 * 512                              # counted as PyTorch's allocator rounds
        return _storage.Storage(address, nbytes, _Block(owner, size, counted), device)


def _allocated_at_last(nbytes, wanted, device, counted):
    """Memory where a device had none: what other processes had and have no more. Raises OutOfMemoryError."""
    index = device.index
    try:
        if not later["collect_cuda"]():
            raise MemoryError
        return runtime().allocate(wanted, index)
    except MemoryError:
        (free, total), (held, blocks) = runtime().memory_info(index), counted.current
        unused = runtime().allocator(index).reserved[0] - held
        raise OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {_mebibytes(nbytes)}. GPU {index} has a total capacity of "
            f"{_mebibytes(total)} of which {_mebibytes(free)} is free. Of the allocated memory {_mebibytes(held)} is "
            f"allocated by numtorch, in {blocks} blocks, and {_mebibytes(max(unused, 0))} is reserved but unallocated."
            + holders(device)) from None


def holders(device) -> str:
    """Who has a device's memory, as lines: parameters, gradients, and the shapes of which tensors have most."""
    tensors = [t for t in gc.get_objects()
               if isinstance(t, Tensor) and t.layout.device is device and isinstance(t.memory, _storage.Storage)]
    slopes, seen, usage = {id(t.grad) for t in tensors if t.is_leaf and t.grad is not None}, set(), {}
    for tensor in sorted(tensors, key=lambda t: not (t.is_leaf and t.requires_grad)):
        storage = tensor.memory
        if storage.address in seen:
            continue
        seen.add(storage.address)
        kind = "gradients" if id(tensor) in slopes else "leaves that require gradients" if tensor.is_leaf and tensor.requires_grad \
            else f"tensors of {tensor.layout.dtype} {list(tensor.layout.shape)}"
        nbytes, number = usage.get(kind, (0, 0))
        usage[kind] = nbytes + storage.nbytes, number + 1
    most = sorted(usage.items(), key=lambda item: -item[1][0])[:5]
    return "".join(f"\n{_mebibytes(nbytes):>12} in {number:6} {kind}" for kind, (nbytes, number) in most)


def _mebibytes(nbytes):
    return f"{nbytes / 2**20:.2f} MiB" if nbytes < 2**30 else f"{nbytes / 2**30:.2f} GiB"


@provide
def pinned_storage_cuda(nbytes):
    """Host memory that devices read and write by themselves."""
    owner, address = _machine().host_memory(max(nbytes, 1))
    return _storage.Storage(address, nbytes, owner)


@provide
def transfer_cuda(source, target, wait=True) -> None:
    """Write a tensor into one of the same dense layout, where at least one of the two is on a CUDA device. Without `wait` the host
    goes on, if its side is pinned, and that memory is not given to others before the device has done with it."""
    if source.layout.nbytes:
        if active[0] is not None and source.layout.device.type == "cpu" and _captured(source, target, wait):
            return
        refuse("a copy between devices")
        where = (target if target.layout.device.type == "cuda" else source).layout.device
        if source.layout.device.type == target.layout.device.type == "cuda":
            runtime().copy_between(target.address, source.address, source.layout.nbytes, where.index, source.layout.device.index)
        else:
            host = (source if target.layout.device.type == "cuda" else target).memory
            wait = wait or not is_pinned_storage(host)
            if not wait:
                owner_of(host).use_on(runtime().current(where.index))
            runtime().copy(target.address, source.address, source.layout.nbytes, where.index, wait)


def _captured(source, target, wait):
    """A copy from the host to new memory while launches are captured: a number is what it is now, and pinned memory what it holds
    at each replay. Whether it is one of these."""
    index, nbytes = target.layout.device.index, source.layout.nbytes
    if not wait and is_pinned_storage(source.memory):
        def upload():
            owner_of(source.memory).use_on(runtime().current(index))
            runtime().copy(target.address, source.address, nbytes, index, False)
        active[0].uploads.append(upload)
        return True
    if not source.layout.ndim:
        runtime().copy(target.address, source.address, nbytes, index)
    return not source.layout.ndim


@provide
def explain_cuda(device, function) -> None:
    """Say what exception stands for what the kernels of the last call find wrong: it may be found later."""
    runtime().explain(device.index, function)


@provide
def expect_cuda(tensor, complaint) -> bool:
    """Have what waits for the device next raise `complaint(status)` for a status at the start of a tensor that is not 0. Whether it
    will: else it is to be read."""
    watch = watcher()
    if watch is not None:
        watch.expect(tensor, complaint)
        return True
    return runtime().expect(tensor.layout.device.index, tensor, complaint)


@provide
def read_status_cuda(tensor) -> int:
    """The first word of a tensor on a CUDA device."""
    refuse("reading a status")
    word = ctypes.c_int64()
    runtime().copy(ctypes.addressof(word), tensor.address, 8, tensor.layout.device.index)
    return word.value


@provide
def clear_status_cuda(tensor) -> None:
    """Write 0 there."""
    watch = watcher()
    if watch is not None:
        watch.clear(tensor)
        return
    word = ctypes.c_int64()
    runtime().copy(tensor.address, ctypes.addressof(word), 8, tensor.layout.device.index, False)      # it is read when this returns


_storage.register_allocator("cuda", _Allocator())
