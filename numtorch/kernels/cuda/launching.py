"""A launch as one C call: machine code for the host that puts a kernel's words where the driver reads them and calls the driver.

It takes the words, which are a kernel's parameters as they are, the record of the calling thread, and the record of the launch. It
allocates nothing, and lets other Python threads run while the driver is busy.
"""
from __future__ import annotations

import ctypes
import functools

from ..compiler import compile_kernel
from ..intrinsics import Intrinsic, address_of, local_like
from ..planning import planning_for
from ..sources import compile_source

WORDS = 11                                               # of cuLaunchKernel
CONTEXT, STREAM, STATUS = range(3)                       # a thread's record: what is current, and what the driver said
LAUNCH, SET_CONTEXT, FUNCTION, GRID, BLOCK, SHARED = range(6)     # a launch's record; the last is bytes of dynamic shared memory


@functools.partial(Intrinsic, module="numtorch.kernels.cuda.launching_ir")
def call_driver(address, words):
    """Call the C function at `address` with 11 words, of which it takes as many as it has; its int."""
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * WORDS)(int(address))
    return function(*[int(words[i]) for i in range(WORDS)])


def _source(count):
    names = [f"a{i}" for i in range(count)]
    stores = "".join(f"    words[{i}], parameters[{i}] = {name}, address_of(words) + {8 * i}\n" for i, name in enumerate(names))
    return (f"def launch_on_device({''.join(n + ', ' for n in names)}thread, record):\n"
            f"    words, parameters, call = local_like(thread, {count}), local_like(thread, {count}), local_like(thread, {WORDS})\n"
            f"{stores}    for i in range({WORDS}):\n        call[i] = 0\n"
            f"    call[0] = thread[{CONTEXT}]\n    status = call_driver(record[{SET_CONTEXT}], call)\n"
            f"    call[0], call[1], call[4] = record[{FUNCTION}], record[{GRID}], record[{BLOCK}]\n"
            f"    call[2], call[3], call[5], call[6], call[7] = 1, 1, 1, 1, record[{SHARED}]\n"
            f"    call[8], call[9] = thread[{STREAM}], address_of(parameters)\n"
            f"    if status == 0:\n        status = call_driver(record[{LAUNCH}], call)\n"
            f"    thread[{STATUS}] = status\n")


@functools.cache
def launcher(count):
    """The function `launch(*words, thread, record)` for kernels of `count` parameters; the last two are the records' addresses."""
    scope = dict(local_like=local_like, address_of=address_of, call_driver=call_driver)
    compile_source(_source(count), "launch on a device", scope)
    with planning_for(None):                             # it is the host's, also where a device's kernel is planned
        return compile_kernel(scope["launch_on_device"], ("int64",) * count + ("int64*", "int64*"), nogil=True).call
