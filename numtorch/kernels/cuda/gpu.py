"""Real GPUs through the driver (driver.py): contexts, streams, memory, copies, launches of cubins, captured graphs.

On hardware it ran on an H100 (docs/cuda.md). Without a GPU tests check every call, in its order and with its arguments, against a
driver that does the work as late as it may (tests/cuda/fakedriver.py).
"""
from __future__ import annotations

import ctypes
import threading
import weakref
from collections import deque

from ...finalisers import Finaliser
from . import driver as codes
from .caching import CachingAllocator
from .capture import Capture, active, keep, watcher, watching
from .driver import Driver, DriverError
from .environment import BLOCKING, Unavailable
from .handles import Handle
from .launching import BLOCK, FUNCTION, GRID, LAUNCH, SET_CONTEXT, SHARED, STATUS, STREAM, launcher
from .reports import Reports

REMEMBERED = 8                                           # launches that an error names
STREAMS = 32                                             # of a device and priority; more share these, as PyTorch's do


class _Here(threading.local):
    """A thread's record for launches on a device (launching.py), and its current stream there."""

    def __init__(self, context, index):
        self.words = (ctypes.c_int64 * 3)(context, 0, 0)
        self.address, self.stream = ctypes.addressof(self.words), Handle(index, 0)


class _Device:
    """One GPU: its context, its memory, and the kernels loaded for it."""

    def __init__(self, driver, index, memory, reports):
        self.handle = driver.value(ctypes.c_int, "cuDeviceGet", index)
        self.context = driver.value(ctypes.c_void_p, "cuDevicePrimaryCtxRetain", self.handle)
        self.attribute = lambda which: driver.value(ctypes.c_int, "cuDeviceGetAttribute", which, self.handle)
        self.capability = self.attribute(codes.MAJOR), self.attribute(codes.MINOR)
        self.here, self.memory, self.reports = _Here(self.context, index), memory, reports
        self.kernels, self.streams, self.recent = {}, {}, deque(maxlen=REMEMBERED)


class _Event:
    """An event of the driver's, which lives as long as this."""

    __slots__ = ("handle", "index", "_destroy")

    def __init__(self, handle, index, driver):
        self.handle, self.index, self._destroy = handle, index, driver.cuEventDestroy_v2.status

    def __del__(self):
        self._destroy(self.handle)


class _Opened:
    """A segment of another process's memory on a device, as long as this lives."""

    __slots__ = ("address", "end", "__weakref__")

    def __init__(self, machine, address, index):
        self.address, self.end = address, Finaliser(machine.close_memory, address, index)


class _Graph(Capture):
    """Launches that the driver has captured, as what it launches at once."""

    __slots__ = ("machine", "index", "stream", "before", "executable")

    def __init__(self, machine, index):
        super().__init__()
        self.machine, self.index, self.executable = machine, index, None

    def replay(self):
        for upload in self.uploads:
            upload()
        device = self.machine.at(self.index)
        self.machine.driver.cuGraphLaunch(self.executable, device.here.words[STREAM])

    def __del__(self):
        if self.executable:
            self.machine.driver.cuGraphExecDestroy.status(self.executable)


class _Program:
    """Launches one after another as one graph of the driver's, whose nodes get other words.

    Args:
        machine, index: the machine, and the device.
        launches: (launch, words) pairs; the launches are the machine's.
    """

    def __init__(self, machine, index, launches):
        self.machine, self.index, self.driver, self.executable = machine, index, machine.driver, None
        device = machine.at(index)
        self.functions = [launch.record for launch, _ in launches]
        self.recent = [launch.kernel for launch, _ in launches[-REMEMBERED:]]
        self.graph, self.nodes = self.driver.value(ctypes.c_void_p, "cuGraphCreate", 0), []
        for place, (_, words) in enumerate(launches):
            before = (ctypes.c_void_p * 1)(self.nodes[-1] if self.nodes else None)
            with_words, node = self._node(device, place, words)
            self.nodes.append(self.driver.value(ctypes.c_void_p, "cuGraphAddKernelNode_v2", self.graph, before, bool(self.nodes),
                                                ctypes.addressof(node)))
            del with_words                               # the driver has copied them
        self.executable = self.driver.value(ctypes.c_void_p, "cuGraphInstantiateWithFlags", self.graph, 0)

    def _node(self, device, place, words):
        record, values = self.functions[place], (ctypes.c_int64 * len(words))(*words)
        parameters = (ctypes.c_void_p * len(words))(*[ctypes.addressof(values) + 8 * i for i in range(len(words))])
        node = codes.KernelNode(record[FUNCTION], (record[GRID], 1, 1), (record[BLOCK], 1, 1), record[SHARED],
                                ctypes.addressof(parameters), None, None, device.context)
        return (values, parameters), node

    def set(self, place, words):
        with_words, node = self._node(self.machine.at(self.index), place, words)
        self.driver.cuGraphExecKernelNodeSetParams_v2(self.executable, self.nodes[place], ctypes.addressof(node))
        del with_words

    def run(self):
        device = self.machine.at(self.index)
        self.driver.cuGraphLaunch(self.executable, device.here.words[STREAM])
        device.recent.extend(self.recent)
        if BLOCKING:
            self.machine.finish(Handle(self.index, device.here.words[STREAM]))

    def __del__(self):
        if self.executable:
            self.driver.cuGraphExecDestroy.status(self.executable)
        self.driver.cuGraphDestroy.status(self.graph)


class Gpu:
    """See runtime.py for what these mean.

    Args:
        driver: the driver; the system's when None.
    """

    def __init__(self, driver=None):
        self.driver = Driver() if driver is None else driver
        try:
            self.driver.cuInit(0)
            self.count = self.driver.value(ctypes.c_int, "cuDeviceGetCount")
        except DriverError as error:
            raise Unavailable(f"No CUDA GPUs are available: {error}") from None
        if not self.count:
            raise Unavailable("No CUDA GPUs are available")
        self.devices, self.lock = {}, threading.Lock()
        # segments and events of other processes, by handle and device, and events for others, by stream
        self.opened: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
        self.awaited, self.shown = {}, {}
        self.pinned = CachingAllocator(self._pin, self._unpin, self._mark, self.reached)

    def at(self, index) -> _Device:
        """A device, made the calling thread's current one."""
        device = self.devices.get(index)
        if device is None:
            with self.lock:
                device = self.devices.get(index)
                if device is None:
                    memory = CachingAllocator(lambda nbytes: self._obtain(index, nbytes), lambda a: self._give_back(index, a),
                                              self._mark, self.reached)
                    device = self.devices[index] = _Device(self.driver, index, memory, Reports(self, index))
        self.driver.cuCtxSetCurrent(device.context)
        return device

    def describe(self, index):
        device, name = self.at(index), ctypes.create_string_buffer(256)
        self.driver.cuDeviceGetName(ctypes.addressof(name), 256, device.handle)
        return name.value.decode(), device.capability

    def properties(self, index):
        device = self.at(index)
        return {name: device.attribute(which) for name, which in codes.PROPERTIES.items()}

    def reaches(self, index, other):
        return bool(self.driver.value(ctypes.c_int, "cuDeviceCanAccessPeer", self.at(index).handle, self.at(other).handle))

    # ------------------------------------------------------------ memory
    def _obtain(self, index, nbytes):
        self.at(index)
        try:
            return self.driver.value(ctypes.c_uint64, "cuMemAlloc_v2", nbytes)
        except DriverError as error:
            if error.code != codes.OUT_OF_MEMORY:
                raise
            raise MemoryError(str(error)) from None

    def _give_back(self, index, address):
        self.at(index)
        self._telling(index, self.driver.cuCtxSynchronize)
        self.driver.cuMemFree_v2(address)

    def _pin(self, nbytes):
        self.at(0)
        try:
            return self.driver.value(ctypes.c_void_p, "cuMemHostAlloc", nbytes, codes.PORTABLE)
        except DriverError as error:
            if error.code != codes.OUT_OF_MEMORY:
                raise
            raise MemoryError(str(error)) from None

    def _unpin(self, address):
        self.driver.cuMemFreeHost(address)

    def _mark(self, stream):
        return self.record(stream, False, False)

    def allocator(self, index):
        return self.at(index).memory

    def allocate(self, nbytes, index):
        device = self.devices.get(index) or self.at(index)
        held = device.memory.allocate(nbytes, device.here.stream)
        if watching or active[0] is not None:
            keep(held)
        return held, held.address

    def host_memory(self, nbytes):
        held = self.pinned.allocate(nbytes, None)
        return held, held.address

    def memory_info(self, index):
        self.at(index)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.driver.cuMemGetInfo_v2(ctypes.addressof(free), ctypes.addressof(total))
        return free.value, total.value

    # ------------------------------------------------------------ other processes
    def identity(self, index):
        name, device = (ctypes.c_ubyte * 16)(), self.at(index)
        self.driver.cuDeviceGetUuid_v2(ctypes.addressof(name), device.handle)
        return bytes(name)

    def memory_handle(self, address, index):
        start, _ = self.at(index).memory.segment_of(address)
        handle = codes.IpcHandle()
        self.driver.cuIpcGetMemHandle(ctypes.addressof(handle), start)
        return bytes(handle.data), address - start

    def open_memory(self, handle, index):
        found = self.opened.get((handle, index))
        if found is None:
            self.at(index)
            address = self.driver.value(ctypes.c_uint64, "cuIpcOpenMemHandle_v2", codes.IpcHandle.from_buffer_copy(handle),
                                        codes.LAZY_PEERS)
            found = self.opened[handle, index] = _Opened(self, address, index)
        return found

    def close_memory(self, address, index):
        """Be done with a segment that was opened. Finalisers call this, so it raises nothing."""
        self.driver.cuCtxSetCurrent.status(self.devices[index].context)
        self.driver.cuIpcCloseMemHandle.status(address)

    def event_handle(self, index):
        stream = self.current(index)
        shown = self.shown.get(stream)
        if shown is None:
            event = self.driver.value(ctypes.c_void_p, "cuEventCreate", codes.DISABLE_TIMING | codes.INTERPROCESS)
            handle = codes.IpcHandle()
            self.driver.cuIpcGetEventHandle(ctypes.addressof(handle), event)
            shown = self.shown[stream] = _Event(event, index, self.driver), bytes(handle.data)
        self.driver.cuEventRecord(shown[0].handle, stream.number)
        return shown[1]

    def wait_handle(self, handle, index):
        stream = self.current(index)
        event = self.awaited.get((handle, index))
        if event is None:
            opened = self.driver.value(ctypes.c_void_p, "cuIpcOpenEventHandle", codes.IpcHandle.from_buffer_copy(handle))
            event = self.awaited[handle, index] = _Event(opened, index, self.driver)
        self.wait(stream, event)

    # ------------------------------------------------------------ copies
    def copy(self, target, source, nbytes, index, wait=True):
        """Addresses are unified, so the driver sees which side is where. While launches are captured, the default stream takes
        what plans need, and not the graph."""
        stream = 0 if active[0] is not None else self.at(index).here.words[STREAM]
        self.at(index)
        self._telling(index, self.driver.cuMemcpyAsync, target, source, nbytes, stream)
        if wait:
            self._await(index, stream)

    def _await(self, index, stream):
        """Wait for one of the driver's streams, and raise what its kernels report."""
        reports = self.devices[index].reports
        told = reports.calls and active[0] is None
        if told:
            reports.fetch(stream)
        self._telling(index, self.driver.cuStreamSynchronize, stream)
        if told:
            reports.look(stream)

    def report(self, index, kernel):
        if active[0] is not None:
            return active[0].report(self, index, kernel)
        if BLOCKING:
            return 0
        device = self.devices.get(index) or self.at(index)
        return device.reports.word(device.here.words[STREAM], kernel)

    def explain(self, index, function):
        (self.devices[index].reports if active[0] is None else active[0]).explain(function)

    def expect(self, index, tensor, function):
        if active[0] is not None:
            active[0].expect(tensor, function)
        elif not BLOCKING:
            device = self.devices[index]
            device.reports.expect(device.here.words[STREAM], tensor, function)
        return active[0] is not None or not BLOCKING

    def copy_between(self, target, source, nbytes, index, origin):
        """From one device to another, in the order of both of their current streams; nobody waits."""
        there, here = self.current(index), self.current(origin)
        self.wait(there, self._mark(here))
        self.copy(target, source, nbytes, index, wait=False)
        self.wait(here, self._mark(there))

    # ------------------------------------------------------------ launches
    def _loaded(self, device, kernel):
        loaded = device.kernels.get(kernel)
        if loaded is None:
            code = kernel.cubin(device.capability)
            module = self.driver.value(ctypes.c_void_p, "cuModuleLoadData", ctypes.cast(ctypes.c_char_p(code), ctypes.c_void_p))
            symbol = kernel.symbol.encode()
            loaded = device.kernels[kernel] = self.driver.value(ctypes.c_void_p, "cuModuleGetFunction", module, symbol)
            if kernel.shared:
                self.driver.cuFuncSetAttribute(loaded, codes.DYNAMIC_SHARED, kernel.shared)
        return loaded

    def launcher(self, kernel, index, grid):
        device = self.at(index)
        record = (ctypes.c_int64 * 6)()
        record[LAUNCH], record[SET_CONTEXT] = self.driver.addresses["cuLaunchKernel"], self.driver.addresses["cuCtxSetCurrent"]
        record[FUNCTION], record[GRID], record[BLOCK] = self._loaded(device, kernel), grid, kernel.threads
        record[SHARED] = kernel.shared
        enter, address = launcher(len(kernel.signature)), ctypes.addressof(record)
        here, remember = device.here, device.recent.append

        def call(*words):
            if watching and (watch := watcher()) is not None:
                watch.launch(launch, words)
            else:
                launch(*words)

        def launch(*words):
            enter(*words, here.address, address)
            remember(kernel)
            if here.words[STATUS]:
                raise self.driver.error(here.words[STATUS], f"{kernel} was not launched on cuda:{index}")
            if BLOCKING and active[0] is None:
                self._telling(index, self.driver.cuStreamSynchronize, here.words[STREAM])
        launch.record, launch.kernel, launch.index = record, kernel, index
        return call

    def program(self, index, launches):
        return _Program(self, index, launches)

    def _telling(self, index, function, *arguments):
        """A call that may report what launches before it did."""
        try:
            return function(*arguments)
        except DriverError as error:
            recent = list(map(str, self.devices[index].recent)) or ["none"]
            if BLOCKING:
                lines = f"The last launch on cuda:{index} was {recent[-1]}.",
            else:
                lines = (f"The last launches on cuda:{index} were {', '.join(recent)}.",
                         "They run while Python goes on: NUMTORCH_CUDA_LAUNCH_BLOCKING=1 has the op raise that caused it.")
            raise self.driver.error(error.code, *lines) from None

    def synchronize(self, index):
        reports = self.at(index).reports
        self._telling(index, self.driver.cuCtxSynchronize)
        if reports.calls and active[0] is None:
            reports.fetch(0)
            self.driver.cuStreamSynchronize(0)
            reports.look()

    def begin_capture(self, index):
        graph = _Graph(self, index)
        graph.before, graph.stream = self.current(index), self.new_stream(index, 0)
        self.wait(graph.stream, self._mark(graph.before))
        self.use(index, graph.stream)
        try:
            self.driver.cuStreamBeginCapture_v2(graph.stream.number, codes.RELAXED)
        except DriverError:
            self.use(index, graph.before)
            raise
        active[0] = graph
        return graph

    def end_capture(self, graph):
        active[0] = None
        self.at(graph.index)
        self.use(graph.index, graph.before)
        captured = ctypes.c_void_p()
        self.driver.cuStreamEndCapture(graph.stream.number, ctypes.addressof(captured))
        try:
            graph.executable = self.driver.value(ctypes.c_void_p, "cuGraphInstantiateWithFlags", captured, 0)
        finally:
            self.driver.cuGraphDestroy(captured)

    # ------------------------------------------------------------ streams and events
    def new_stream(self, index, priority):
        device = self.at(index)
        made = device.streams.setdefault(priority, deque())
        if len(made) < STREAMS:
            number = self.driver.value(ctypes.c_void_p, "cuStreamCreateWithPriority", codes.NON_BLOCKING, priority)
            made.append(Handle(index, number))
        else:
            made.rotate(-1)
        return made[-1]

    def first_stream(self, index):
        return Handle(index, 0)

    def current(self, index):
        return self.at(index).here.stream

    def use(self, index, stream):
        here = self.at(index).here
        here.words[STREAM], here.stream = stream.number, stream

    def finish(self, stream):
        self.at(stream.device)
        self._await(stream.device, stream.number)

    def record(self, stream, timing, blocking):
        self.at(stream.device)
        flags = (0 if timing else codes.DISABLE_TIMING) | (codes.BLOCKING_SYNC if blocking else 0)
        event = _Event(self.driver.value(ctypes.c_void_p, "cuEventCreate", flags), stream.device, self.driver)
        self.driver.cuEventRecord(event.handle, stream.number)
        return event

    def wait(self, stream, event):
        self.at(stream.device)
        self.driver.cuStreamWaitEvent(stream.number, event.handle, 0)

    def idle(self, stream):
        self.at(stream.device)
        return self._is_done(self.driver.cuStreamQuery.status(stream.number))

    def reached(self, event):
        return self._is_done(self.driver.cuEventQuery.status(event.handle))

    def _is_done(self, code):
        if code not in (0, codes.NOT_READY):
            raise self.driver.error(code)
        return not code

    def await_event(self, event):
        self._telling(event.index, self.driver.cuEventSynchronize, event.handle)

    def milliseconds(self, first, last):
        self.await_event(last)
        return self.driver.value(ctypes.c_float, "cuEventElapsedTime", first.handle, last.handle)
