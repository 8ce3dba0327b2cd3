"""A stand-in for NVIDIA's driver: `libcuda`'s functions as C functions, with the work done as late as it may be.

"Device" memory is the host's. What a stream is told waits in a list until somebody waits for it, so that a missing wait, memory
that is used again too early, or a pointer that did not outlive its call shows as a wrong number. What other processes open by
IPC's handles lies in anonymous files; an event that they wait for has the process that records it do its work, as a GPU does. Kernels run in Numba's
simulator. Handles that were destroyed, unknown flags and work without a current context are refused with the driver's codes;
`leaks()` says what was never given back.
"""
from __future__ import annotations

import ctypes
import itertools
import os
import threading
import time
import traceback

import numpy as np

from numtorch.kernels.cuda import simulator
from numtorch.kernels.cuda.driver import FUNCTIONS, KernelNode, prototype
from numtorch.kernels.cuda.filememory import FileMemory, opened
from numtorch.kernels.cuda.simulator import DevicePointer

INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONTEXT, INVALID_HANDLE, NOT_FOUND, NOT_READY, LAUNCH_FAILED = 1, 2, 201, 400, 500, 600, 719
CAPTURE_FORBIDS = 900
TEXTS = {2: "out of memory", 201: "invalid device context", 400: "invalid resource handle", 719: "unspecified launch failure"}
CUBIN = b"\x7fELF"


def image(kernel):
    """What stands for a kernel's cubin."""
    return CUBIN + kernel.symbol.encode() + b"\0"


class Refused(Exception):
    """A driver's code other than success."""


class _Stream:
    def __init__(self, context):
        self.context, self.work, self.capture = context, [], None


class _Event:
    def __init__(self, flags):
        self.flags, self.stream, self.place, self.done, self.time, self.shown = flags, None, 0, True, 0, None


RECORDED, REACHED, ASKED = range(3)                      # words of an event that others may open: how often, up to which, which is wanted


class FakeDriver:
    """The driver's functions by name.

    Args:
        memory: the bytes of each device; `CUDA_VISIBLE_DEVICES` names those that there are.
        kernels: a function that gives the kernel of a symbol.
    """

    def __init__(self, kernels, memory=1 << 30):
        self.names = os.environ.get("CUDA_VISIBLE_DEVICES", "GPU-0,GPU-1").split(",")
        self.count, self.limit, self.find = len(self.names), memory, kernels
        self.handles, self.here, self.lock = itertools.count(0x1000), threading.local(), threading.RLock()
        self.blocks, self.pinned, self.events, self.functions, self.modules = {}, {}, {}, {}, {}
        self.streams = {0: None}
        self.defaults = [_Stream(100 + index) for index in range(self.count)]
        self.graphs, self.executables, self.calls, self.errors, self.shared, self.foreign = {}, {}, [], [], {}, {}
        self.instances, self.dynamic = {}, set()
        self.clock, self.failure = itertools.count(), 0
        for name, kinds in FUNCTIONS.items():
            setattr(self, name, prototype(name)(self._entry(name, getattr(self, "_" + name))))

    def _entry(self, name, body):
        def call(*arguments):
            with self.lock:
                self.calls.append(name)
                try:
                    if self.failure and name in ("cuCtxSynchronize", "cuStreamSynchronize", "cuMemcpyAsync", "cuEventSynchronize"):
                        return self.failure              # as a broken context says for ever
                    body(*arguments)
                    return 0
                except Refused as error:
                    return error.args[0]
                except Exception:
                    self.errors.append(traceback.format_exc())
                    return LAUNCH_FAILED
        return call

    # ------------------------------------------------------------ helpers
    @property
    def device(self):
        context = getattr(self.here, "context", None)
        if context is None:
            raise Refused(INVALID_CONTEXT)
        return context - 100

    def stream(self, handle):
        if handle in (None, 0):
            return self.defaults[self.device]
        found = self.streams.get(handle)
        if found is None:
            raise Refused(INVALID_HANDLE)
        if found.context != self.here.context:
            raise Refused(INVALID_CONTEXT)
        return found

    def known(self, table, handle):
        if handle not in table:
            raise Refused(INVALID_HANDLE)
        return table[handle]

    @staticmethod
    def put(kind, address, value):
        kind.from_address(address).value = value

    def add(self, handle, action):
        stream = self.stream(handle)
        (stream.capture if stream.capture is not None else stream.work).append(action)
        return stream

    def run(self, stream, count=None):
        """Do what a stream was told, or the first of it. The default stream comes after what the others were told before."""
        if stream.capture is not None:
            raise Refused(CAPTURE_FORBIDS)
        work, stream.work = stream.work[:count], stream.work[len(stream.work) if count is None else count:]
        for place, action in enumerate(work):
            try:
                action()
            except Exception:
                self.errors.append(traceback.format_exc())
                self.failure = LAUNCH_FAILED
                raise Refused(LAUNCH_FAILED) from None

    def all_streams(self, context):
        return [s for s in (*self.streams.values(), *self.defaults) if s is not None and s.context == context]

    def block_of(self, address, index):
        """As the simulator's."""
        for start, (buffer, nbytes, device) in self.blocks.items():
            if start <= address < start + nbytes and device == index:
                return start, start + nbytes
        if not address:
            return 0, 0
        raise IndexError(f"address {address:#x} is not in the memory of cuda:{index}")

    def leaks(self):
        """What is left of events, captured graphs and executable ones."""
        return {name: len(table) for name, table in (("events", self.events), ("graphs", self.graphs),
                                                      ("executables", self.executables)) if table}

    # ------------------------------------------------------------ devices
    def _cuInit(self, flags):
        if flags:
            raise Refused(INVALID_VALUE)

    def _cuDeviceGetCount(self, out):
        self.put(ctypes.c_int, out, self.count)

    def _cuDeviceGet(self, out, ordinal):
        self.put(ctypes.c_int, out, ordinal)

    def _cuDeviceGetName(self, out, size, device):
        ctypes.memmove(out, b"Fake GPU\0", 9)

    def _cuDeviceGetAttribute(self, out, which, device):
        self.put(ctypes.c_int, out, {10: 32, 16: 4, 75: 9, 76: 0}.get(which, 1))

    def _cuDeviceCanAccessPeer(self, out, device, peer):
        self.put(ctypes.c_int, out, int(device != peer))

    def _cuDevicePrimaryCtxRetain(self, out, device):
        self.put(ctypes.c_void_p, out, 100 + device)

    def _cuCtxSetCurrent(self, context):
        self.here.context = context

    def _cuCtxSynchronize(self):
        for stream in self.all_streams(self.device + 100):
            self.run(stream)

    def _cuGetErrorString(self, code, out):
        self.put(ctypes.c_char_p, out, TEXTS.get(code, f"error {code}").encode())

    _cuGetErrorName = _cuGetErrorString

    # ------------------------------------------------------------ memory
    def _cuMemGetInfo_v2(self, free, total):
        used = sum(nbytes for _, nbytes, device in self.blocks.values() if device == self.device)
        self.put(ctypes.c_size_t, free, self.limit - used)
        self.put(ctypes.c_size_t, total, self.limit)

    def _new(self, out, nbytes, table, device):
        buffer = FileMemory(nbytes)
        address = buffer.array.ctypes.data
        ctypes.memset(address, 0xAB, nbytes)
        table[address] = buffer, nbytes, device
        self.put(ctypes.c_uint64, out, address)

    def _cuMemAlloc_v2(self, out, nbytes):
        if nbytes + sum(n for _, n, device in self.blocks.values() if device == self.device) > self.limit:
            raise Refused(OUT_OF_MEMORY)
        self._new(out, nbytes, self.blocks, self.device)

    def _cuMemFree_v2(self, address):
        if address not in self.blocks:
            raise Refused(INVALID_VALUE)
        self._cuCtxSynchronize()
        del self.blocks[address]

    def _cuMemHostAlloc(self, out, nbytes, flags):
        self._new(out, nbytes, self.pinned, None)

    def _cuMemFreeHost(self, address):
        self.known(self.pinned, address)
        del self.pinned[address]

    def _on_device(self, address):
        return any(start <= address < start + nbytes for start, (_, nbytes, _) in self.blocks.items())

    def _is_pinned(self, address):
        return any(start <= address < start + nbytes for start, (_, nbytes, _) in self.pinned.items())

    def _cuMemcpyAsync(self, target, source, nbytes, stream):
        to_device, from_device = self._on_device(target), self._on_device(source)
        if not (to_device or from_device):
            raise Refused(INVALID_VALUE)
        if not from_device and not self._is_pinned(source):      # pageable memory has been read when the call returns
            data = ctypes.string_at(source, nbytes)
            self.add(stream, lambda: ctypes.memmove(target, data, nbytes))
            return
        found = self.add(stream, lambda: ctypes.memmove(target, source, nbytes))
        if not to_device and not self._is_pinned(target):
            self.run(found)

    # ------------------------------------------------------------ other processes
    def _cuDeviceGetUuid_v2(self, out, device):
        ctypes.memmove(out, self.names[device].encode().ljust(16, b"\0"), 16)

    def _cuIpcGetMemHandle(self, out, address):
        ctypes.memmove(out, self.known(self.blocks, address)[0].handle, 64)

    def open(self, handle):
        handle = bytes(handle.data)
        if int.from_bytes(handle[:8], "little") == os.getpid():
            raise Refused(INVALID_CONTEXT)
        try:
            return opened(handle)
        except OSError:
            raise Refused(INVALID_HANDLE) from None

    def _cuIpcOpenMemHandle_v2(self, out, handle, flags):
        if flags != 1:
            raise Refused(INVALID_VALUE)
        start, _ = self.shared.get(bytes(handle.data), (0, None))
        if start not in self.blocks:
            memory = self.open(handle)
            start = memory.array.ctypes.data
            self.blocks[start] = memory, len(memory.array), self.device
            self.shared[bytes(handle.data)] = start, [0]
        self.shared[bytes(handle.data)][1][0] += 1
        self.put(ctypes.c_uint64, out, start)

    def _cuIpcCloseMemHandle(self, address):
        count = next((count for start, count in self.shared.values() if start == address and count[0]), None)
        if count is None:
            raise Refused(INVALID_VALUE)
        count[0] -= 1
        if not count[0]:
            del self.blocks[address]

    def _cuIpcGetEventHandle(self, out, handle):
        event = self.known(self.events, handle)
        if event.flags != 6:
            raise Refused(INVALID_VALUE)
        if event.shown is None:
            event.shown = FileMemory(24)
            threading.Thread(target=self.progress, args=(event,), daemon=True).start()
        ctypes.memmove(out, event.shown.handle, 64)

    def progress(self, event):
        """Do what another process waits for, as a device does by itself."""
        words = event.shown.array.view(np.int64)
        while True:
            time.sleep(0.002)
            if words[ASKED] > words[REACHED]:
                with self.lock:
                    self.reach(event, event.stream, event.place)

    def _cuIpcOpenEventHandle(self, out, handle):
        number = next(self.handles)
        self.foreign[number] = self.open(handle)
        self.put(ctypes.c_void_p, out, number)

    def wait_for_other(self, stream, memory):
        words = memory.array.view(np.int64)
        wanted = int(words[RECORDED])

        def wait():
            words[ASKED] = max(int(words[ASKED]), wanted)
            end = time.monotonic() + 60
            while words[REACHED] < wanted:
                if time.monotonic() > end:
                    raise TimeoutError("an event of another process was not reached")
                time.sleep(0.001)
        self.add(stream, wait)

    # ------------------------------------------------------------ streams and events
    def _cuStreamCreateWithPriority(self, out, flags, priority):
        if flags != 1:
            raise Refused(INVALID_VALUE)
        handle = next(self.handles)
        self.streams[handle] = _Stream(self.here.context)
        self.put(ctypes.c_void_p, out, handle)

    def _cuStreamDestroy_v2(self, handle):
        del self.streams[handle]

    def _cuStreamSynchronize(self, handle):
        self.run(self.stream(handle))

    def _cuStreamQuery(self, handle):
        if self.stream(handle).work:
            raise Refused(NOT_READY)

    def _cuStreamWaitEvent(self, handle, event, flags):
        if event in self.foreign:
            return self.wait_for_other(handle, self.foreign[event])
        event = self.known(self.events, event)
        place = event.stream, event.place
        self.add(handle, lambda: event.done or self.reach(event, *place))

    def _cuEventCreate(self, out, flags):
        if flags & ~7 or flags & 6 == 4:                 # events of several processes have no times
            raise Refused(INVALID_VALUE)
        handle = next(self.handles)
        self.events[handle] = _Event(flags)
        self.put(ctypes.c_void_p, out, handle)

    def _cuEventRecord(self, handle, stream):
        event = self.known(self.events, handle)
        event.done, event.stream = False, self.stream(stream)
        words = None if event.shown is None else event.shown.array.view(np.int64)
        if words is not None:
            words[RECORDED] += 1
        serial = 0 if words is None else int(words[RECORDED])

        def mark():
            event.done, event.time = True, next(self.clock)
            if words is not None:
                words[REACHED] = serial
        self.add(stream, mark)
        event.place = mark

    def reach(self, event, stream, mark):
        if mark in stream.work:
            self.run(stream, stream.work.index(mark) + 1)

    def _cuEventQuery(self, handle):
        if not self.known(self.events, handle).done:
            raise Refused(NOT_READY)

    def _cuEventSynchronize(self, handle):
        event = self.known(self.events, handle)
        if not event.done:
            self.reach(event, event.stream, event.place)

    def _cuEventElapsedTime(self, out, first, last):
        self.put(ctypes.c_float, out, self.known(self.events, last).time - self.known(self.events, first).time)

    def _cuEventDestroy_v2(self, handle):
        if self.foreign.pop(handle, None) is not None:
            return
        self.known(self.events, handle)
        del self.events[handle]

    # ------------------------------------------------------------ kernels
    def _cuModuleLoadData(self, out, data):
        text = ctypes.string_at(data)
        if not text.startswith(CUBIN):
            raise Refused(INVALID_VALUE)
        handle = next(self.handles)
        self.modules[handle] = text[len(CUBIN):].decode()
        self.put(ctypes.c_void_p, out, handle)

    def _cuModuleGetFunction(self, out, module, name):
        if self.known(self.modules, module) != name.decode():
            raise Refused(NOT_FOUND)
        handle = next(self.handles)
        self.functions[handle] = self.find(name.decode())
        self.put(ctypes.c_void_p, out, handle)

    def _cuFuncSetAttribute(self, function, attribute, value):
        if attribute != 8 or value != self.known(self.functions, function).shared:
            raise Refused(INVALID_VALUE)
        self.dynamic.add(function)

    def _cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        self.add(stream, self.launch(function, (gx, gy, gz), (bx, by, bz), shared, parameters, extra))

    def launch(self, function, grid, block, shared, parameters, extra):
        """What a kernel does with the words that are among its parameters now."""
        kernel, index = self.known(self.functions, function), self.device
        gx, bx = grid[0], block[0]
        allowed = kernel.shared if not kernel.shared or function in self.dynamic else None
        if (*grid[1:], *block[1:], shared, extra) != (1, 1, 1, 1, allowed, None) or not 1 <= gx or not 1 <= bx <= 1024:
            raise Refused(INVALID_VALUE)
        places = (ctypes.c_void_p * len(kernel.kinds)).from_address(parameters)
        words = [ctypes.c_int64.from_address(place).value for place in places]

        def run():
            pointers = [w if kind is None else DevicePointer(w, kind, *self.block_of(w, index))
                        for w, kind in zip(words, kernel.kinds, strict=True)]
            simulator._running[:] = self, index
            kernel.python[gx, bx](*pointers)
        return run

    # ------------------------------------------------------------ graphs
    def _cuStreamBeginCapture_v2(self, stream, mode):
        if not stream or mode != 2:
            raise Refused(INVALID_VALUE)
        self.stream(stream).capture = []

    def _cuStreamEndCapture(self, stream, out):
        found, handle = self.stream(stream), next(self.handles)
        self.graphs[handle], found.capture = found.capture, None
        self.put(ctypes.c_void_p, out, handle)

    def _cuGraphCreate(self, out, flags):
        if flags:
            raise Refused(INVALID_VALUE)
        handle = next(self.handles)
        self.graphs[handle] = []
        self.put(ctypes.c_void_p, out, handle)

    def node(self, address):
        node = KernelNode.from_address(address)
        if node.kernel is not None or node.context != self.here.context:
            raise Refused(INVALID_VALUE)
        return self.launch(node.function, tuple(node.grid), tuple(node.block), node.shared, node.parameters, node.extra)

    def _cuGraphAddKernelNode_v2(self, out, graph, before, count, node):
        nodes = self.known(self.graphs, graph)
        if [ctypes.c_void_p.from_address(before).value] * count != [self.node_of(graph, len(nodes) - 1)] * bool(nodes):
            raise Refused(INVALID_VALUE)                 # one after another is all that is made here
        nodes.append(self.node(node))
        self.put(ctypes.c_void_p, out, self.node_of(graph, len(nodes) - 1))

    @staticmethod
    def node_of(graph, place):
        return graph << 20 | place

    def _cuGraphExecKernelNodeSetParams_v2(self, executable, node, parameters):
        nodes = self.known(self.executables, executable)
        if self.instances[executable] != node >> 20 or node >> 20 not in self.graphs:
            raise Refused(INVALID_VALUE)
        nodes[node & (1 << 20) - 1] = self.node(parameters)

    def _cuGraphInstantiateWithFlags(self, out, graph, flags):
        handle = next(self.handles)
        self.executables[handle], self.instances[handle] = list(self.known(self.graphs, graph)), graph
        self.put(ctypes.c_void_p, out, handle)

    def _cuGraphLaunch(self, executable, stream):
        for action in self.known(self.executables, executable):
            self.add(stream, action)

    def _cuGraphExecDestroy(self, executable):
        self.known(self.executables, executable)
        del self.executables[executable]

    def _cuGraphDestroy(self, graph):
        self.known(self.graphs, graph)
        del self.graphs[graph]


def install() -> FakeDriver:
    """Have this process compute on fake GPUs instead of the simulator's; before CUDA is used."""
    from numtorch.jit.capturing import owners
    from numtorch.kernels.cuda import compiler
    from numtorch.kernels.cuda.driver import Driver
    from numtorch.kernels.cuda.gpu import Gpu
    owners.SILENT_FILES.append(__file__)                 # Python tells of no call in a real driver
    fake = FakeDriver(lambda symbol: next(k for k in compiler._kernels.values() if k.symbol == symbol))
    compiler.Kernel.cubin = lambda self, capability, variant="": image(self)
    simulator.Simulator = lambda: Gpu(Driver(fake))
    return fake
