"""NVIDIA's driver: the functions of `libcuda` that are used here, with the types that `cuda.h` gives their arguments.

Called through ctypes, so that no package is needed to run what the store has; tests put a driver of their own in its place.
"""
from __future__ import annotations

import ctypes
import sys

from .environment import Unavailable

_KINDS = dict(i=ctypes.c_int, u=ctypes.c_uint, z=ctypes.c_size_t, q=ctypes.c_ulonglong, p=ctypes.c_void_p, s=ctypes.c_char_p)

# what each takes: i int, u unsigned int, z size_t, q 64 bits or a CUdeviceptr, p a handle or pointer, s text, h an IPC handle
FUNCTIONS = {
    "cuInit": "u", "cuDeviceGetCount": "p", "cuDeviceGet": "pi", "cuDeviceGetName": "pii", "cuDeviceGetAttribute": "pii",
    "cuDeviceGetUuid_v2": "pi",
    "cuDeviceCanAccessPeer": "pii", "cuDevicePrimaryCtxRetain": "pi", "cuCtxSetCurrent": "p", "cuCtxSynchronize": "",
    "cuMemGetInfo_v2": "pp", "cuMemAlloc_v2": "pz", "cuMemFree_v2": "q", "cuMemHostAlloc": "pzu", "cuMemFreeHost": "p",
    "cuMemcpyAsync": "qqzp", "cuStreamCreateWithPriority": "pui", "cuStreamSynchronize": "p", "cuStreamQuery": "p",
    "cuStreamWaitEvent": "ppu",
    "cuStreamDestroy_v2": "p", "cuEventCreate": "pu", "cuEventRecord": "pp", "cuEventQuery": "p", "cuEventSynchronize": "p",
    "cuEventElapsedTime": "ppp", "cuEventDestroy_v2": "p", "cuModuleLoadData": "pp", "cuModuleGetFunction": "pps",
    "cuFuncSetAttribute": "pii", "cuLaunchKernel": "puuuuuuuppp", "cuStreamBeginCapture_v2": "pi", "cuStreamEndCapture": "pp",
    "cuGraphInstantiateWithFlags": "ppq", "cuGraphLaunch": "pp", "cuGraphExecDestroy": "p", "cuGraphDestroy": "p",
    "cuGraphCreate": "pu", "cuGraphAddKernelNode_v2": "pppzp", "cuGraphExecKernelNodeSetParams_v2": "ppp",
    "cuIpcGetMemHandle": "pq", "cuIpcOpenMemHandle_v2": "phu", "cuIpcCloseMemHandle": "q",
    "cuIpcGetEventHandle": "pp", "cuIpcOpenEventHandle": "ph",
    "cuGetErrorName": "ip", "cuGetErrorString": "ip",
}

OUT_OF_MEMORY, NOT_READY = 2, 600                        # CUresult
MAJOR, MINOR = 75, 76                                    # CUdevice_attribute
PROPERTIES = dict(multi_processor_count=16, warp_size=10, max_threads_per_block=1, max_threads_per_multi_processor=39,
                  regs_per_multiprocessor=82, shared_memory_per_block=8, shared_memory_per_block_optin=97,
                  shared_memory_per_multiprocessor=81, L2_cache_size=38, is_integrated=18, is_multi_gpu_board=84,
                  clock_rate=13, memory_clock_rate=36, memory_bus_width=37)      # the same, by PyTorch's names
NON_BLOCKING, RELAXED, PORTABLE, LAZY_PEERS = 1, 2, 1, 1     # flags of streams, captures, host memory and IPC
BLOCKING_SYNC, DISABLE_TIMING, INTERPROCESS = 1, 2, 4    # flags of events
DYNAMIC_SHARED = 8                                       # CUfunction_attribute: the most dynamic shared memory of a block


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2: a launch in a graph."""
    _fields_ = [("function", ctypes.c_void_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("parameters", ctypes.c_void_p), ("extra", ctypes.c_void_p), ("kernel", ctypes.c_void_p),
                ("context", ctypes.c_void_p)]


class IpcHandle(ctypes.Structure):
    """CUipcMemHandle and CUipcEventHandle, which are passed by value."""
    _fields_ = [("data", ctypes.c_ubyte * 64)]


_KINDS["h"] = IpcHandle


def prototype(name):
    """The C type of one of the driver's functions."""
    return ctypes.CFUNCTYPE(ctypes.c_int, *[_KINDS[kind] for kind in FUNCTIONS[name]])


class DriverError(RuntimeError):
    """What the driver refuses or reports. `code` is its CUresult."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Driver:
    """The driver's functions as methods of their names, which raise DriverError for any status but success.

    Args:
        library: where the functions are found by name; the system's driver when None.

    Raises:
        Unavailable: there is none.
    """

    def __init__(self, library=None):
        try:
            self.library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1") if library is None else library
        except OSError as error:
            raise Unavailable(f"No CUDA GPUs are available: {error}") from None
        self.addresses = {}
        for name in FUNCTIONS:
            address = ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value
            self.addresses[name] = address
            setattr(self, name, self._checked(name, prototype(name)(address)))

    def _checked(self, name, function):
        def call(*arguments):
            code = function(*arguments)
            if code:
                raise self.error(code)
        call.__name__, call.status = name, function      # `status` returns the CUresult instead
        return call

    def error(self, code, *more) -> DriverError:
        """The exception for a CUresult, worded as PyTorch words it; `more` are further lines."""
        texts = []
        for name in ("cuGetErrorString", "cuGetErrorName"):
            text = ctypes.c_char_p()
            if not getattr(self, name).status(code, ctypes.addressof(text)) and text.value:
                texts.append(text.value.decode())
        return DriverError(code, "\n".join([f"CUDA error: {texts[0] if texts else code}", *more]))

    def value(self, kind, function, *arguments):
        """What a function leaves where its first argument points, of a ctypes kind."""
        result = kind()
        getattr(self, function)(ctypes.addressof(result), *arguments)
        return result.value
