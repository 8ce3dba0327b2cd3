"""A real GPU through cuda.core: pool memory, streams, launches of cached cubins with raw addresses.

Not proven on hardware: no GPU was at hand when this was written. What is checked without one is that cubins are made for
sm_80 and sm_90 (tests/cuda/test_cuda.py); the calls below follow cuda.core 1.x and cuda.bindings 13.
"""
from __future__ import annotations

import threading

from cuda.bindings import driver
from cuda.core import Device, EventOptions, LaunchConfig, ObjectCode, StreamOptions, launch
from cuda.core._utils.cuda_utils import CUDAError

from .capture import capturable, keep
from .environment import THREADS, Unavailable


def _checked(result):
    """A driver call's results without its status. Raises RuntimeError for an error, as PyTorch words it."""
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        text = driver.cuGetErrorString(status)[1]
        raise RuntimeError(f"CUDA error: {text.decode() if text else status.name}")
    return values


class _Device:
    """One GPU: its stream, its memory pool, and the kernels loaded for it."""

    def __init__(self, index):
        self.device = Device(index)
        self.device.set_current()
        self.first = self.device.create_stream()
        self.thread = threading.local()
        self.memory = self.device.memory_resource
        capability = self.device.compute_capability
        self.capability = (capability.major, capability.minor)
        self.kernels = {}

    @property
    def stream(self):
        """This thread's current one."""
        return getattr(self.thread, "stream", self.first)

    def kernel(self, kernel):
        found = self.kernels.get(kernel)
        if found is None:
            found = self.kernels[kernel] = ObjectCode.from_cubin(kernel.cubin(self.capability)).get_kernel(kernel.symbol)
        return found


class Handle:
    """A stream, which equals another object for the same."""

    def __init__(self, stream):
        self.stream = stream

    def __int__(self):
        return int(self.stream.handle)

    def __eq__(self, other):
        return type(other) is Handle and int(self) == int(other)

    def __hash__(self):
        return int(self)


class Gpu:
    """See runtime.py for what these mean."""

    def __init__(self):
        try:
            _checked(driver.cuInit(0))
            self.count, = _checked(driver.cuDeviceGetCount())
        except Exception as error:                       # cuda.pathfinder has classes of its own for a missing driver
            raise Unavailable(f"No CUDA GPUs are available: {error}") from None
        if not self.count:
            raise Unavailable("No CUDA GPUs are available")
        self.devices = {}

    def at(self, index) -> _Device:
        """A device, made the calling thread's current one."""
        found = self.devices.get(index)
        if found is None:
            found = self.devices[index] = _Device(index)
        else:
            found.device.set_current()
        return found

    def describe(self, index):
        device = self.at(index)
        return device.device.name, device.capability

    def allocate(self, nbytes, index):
        device = self.at(index)
        try:
            buffer = device.memory.allocate(nbytes, stream=device.stream)
        except CUDAError as error:
            raise MemoryError(str(error)) from None
        keep(buffer)
        return buffer, int(buffer.handle)                # dropped, the buffer goes back to the pool in stream order

    def copy(self, target, source, nbytes, index):
        """Addresses are unified, so the driver sees which side is where. Pageable host memory has been read when the call
        returns, but written only when the stream has got there."""
        stream = self.at(index).stream
        _checked(driver.cuMemcpyAsync(target, source, nbytes, stream.handle))
        stream.sync()

    def launcher(self, kernel, index, grid):
        device = self.at(index)
        config, loaded = LaunchConfig(grid=grid, block=THREADS), device.kernel(kernel)

        def call(*words):
            device.device.set_current()                  # the caller's thread may have another device, or none
            launch(device.stream, config, loaded, *words)
        return capturable(call)

    def synchronize(self, index):
        self.at(index).device.sync()

    def memory_info(self, index):
        self.at(index)
        return tuple(_checked(driver.cuMemGetInfo()))

    def processors(self, index):
        properties = self.at(index).device.properties
        return properties.multiprocessor_count, properties.warp_size

    def reaches(self, index, other):
        return self.at(index).device.can_access_peer(other)

    # ------------------------------------------------------------ streams and events are cuda.core's
    def new_stream(self, index, priority):
        return Handle(self.at(index).device.create_stream(options=StreamOptions(priority=priority or None)))

    def first_stream(self, index):
        return Handle(self.at(index).first)

    def current(self, index):
        return Handle(self.at(index).stream)

    def use(self, index, stream):
        self.at(index).thread.stream = stream.stream

    def finish(self, stream):
        stream.stream.sync()

    def record(self, stream, timing, blocking):
        return stream.stream.record(options=EventOptions(timing_enabled=timing, blocking_sync=blocking))

    def wait(self, stream, event):
        stream.stream.wait(event)

    def reached(self, event):
        return event.is_done

    def await_event(self, event):
        event.sync()

    def milliseconds(self, first, last):
        last.sync()
        return last - first
