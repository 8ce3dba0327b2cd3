"""From a Python function to a kernel on a GPU: bound like a CPU kernel, compiled to PTX, assembled to a cubin, launched.

This file, frontend.py and the files of intrinsics (lowering.py, *_ir.py) are all that compile by numba-cuda, so that a successor
can replace it: kernels are plain functions that name `cuda` for the grid (`cuda.threadIdx.x`, `cuda.syncthreads()`) and
intrinsics for the rest. A kernel takes raw addresses, one launch parameter each. cubins go to the kernel store under the hash of
all that shaped them.

In the simulator the same functions run as Python: `Pointer`s stand for addresses, the intrinsics' Python twins for PTX.
"""
from __future__ import annotations

import functools
import hashlib
import re
import sys
import threading

import numpy as np
from numba import cuda

from .. import store
from ..binding import Names, Target, bind, fingerprint, module_hash
from ..installed import installed_version
from ..pointers import element_type
from ..sources import compile_source
from ..targets.architectures import packed_for
from ..threads import Prepared
from .environment import MAX_BLOCKS, SIMULATED, THREADS
from .runtime import runtime, upload

LOWERING = "numtorch.kernels.cuda.lowering"
_lock = threading.RLock()


class _Simulated(Target):
    """Python: twins for intrinsics, helper functions as they are."""

    def intrinsic(self, value):
        from .simulator import TWINS
        return TWINS.get(value.name, value.twin)

    def helper(self, function, scalar):
        return function


class _Compiled(Target):
    """numba-cuda for one compute capability. Its device functions are compiled for whatever device is current, so each
    capability has functions of its own."""

    def intrinsic(self, value):
        from . import lowering
        lowered = value.lower() if value.module.startswith("numtorch.kernels.cuda.") else getattr(lowering, value.name, None)
        if lowered is None:                              # vectors of the host: a thread does what the Python twin says
            lowered = self.bound.get(value)
        if lowered is None:
            lowered = self.bound[value] = self.helper(bind(value.twin, {}, None, target=self), False)
        return lowered

    def helper(self, function, scalar):
        return cuda.jit(device=True, forceinline=scalar, lto=False)(function)


_simulated = _Simulated()
_targets: dict[tuple, _Compiled] = {}


def _type(name):
    from numba.cuda import types
    if name == "int64":
        return types.int64
    return types.CPointer(getattr(types, element_type(name[:-1]).name))


class Kernel:
    """A kernel for every compute capability, compiled for each when it is first asked for.

    Attributes:
        name, signature: as for a CPU kernel. names: what its function's names are bound to.
        symbol: what it is called in PTX and cubins.
        kinds: what its addresses point to, as NumPy dtypes.
        python: its form in the simulator.
        threads: of a block.
        shared: bytes of dynamic shared memory of a block, which the kernel declares as an array of 0 elements.
        variant: "a" where the kernel uses what only this architecture has.
        resident: how many blocks a multiprocessor is to have room for, which bounds registers; None leaves them to the assembler.
    """

    __slots__ = ("name", "signature", "symbol", "python", "kinds", "threads", "shared", "variant", "resident", "names", "_function",
                 "_compute", "_key")

    def __init__(self, function, signature, names, compute, key, threads, shared, variant, resident):
        self.threads, self.shared, self.variant, self.resident = threads, shared, variant, resident
        self.name, self.signature, self.symbol = function.__name__, signature, "k" + key[:40]
        self.names, self._function, self._compute, self._key = names, function, compute, key
        self.kinds = [None if s == "int64" else element_type(s[:-1]) for s in signature]
        self.python = self._simulate() if SIMULATED else None

    def __repr__(self):
        return f"<CUDA kernel {self.name}({', '.join(self.signature)})>"

    def _simulate(self):
        body = bind(self._function, self.names, self._compute, target=_simulated)
        scope = body.__globals__                         # the simulator puts its grid into them
        scope.update(_body=body, _errstate=np.errstate)
        text = "def kernel(*arguments):\n    with _errstate(all='ignore'):\n        _body(*arguments)\n"
        compile_source(text, "simulated kernel", scope)
        from .simulator import Simulated
        return Simulated(scope.pop("kernel"), self.shared)

    def ptx(self, capability: tuple) -> str:
        """The kernel's PTX for a compute capability such as (9, 0)."""
        return _ptx(self, capability)

    def cubin(self, capability: tuple, variant: str | None = None) -> bytes:
        """The kernel's machine code for a compute capability: from the store, or the pack of an installed package, or made now.

        Args:
            variant: "a" for code that may use what only this architecture has; the kernel's own when None.
        """
        variant = self.variant if variant is None else variant
        packages = ("numba-cuda", "llvmlite", "nvidia-nvvm", "nvidia-nvjitlink")
        toolchain = [module_hash(LOWERING), *map(installed_version, packages)]
        key = hashlib.sha256(repr((self._key, capability, variant, toolchain)).encode()).hexdigest()
        code, architecture = store.load(key), packed_for(capability)
        if code is None and architecture is not None and variant == self.variant:
            code = store.load_installed(self.packed_key(architecture), architecture)
        if code is None:
            code = self.assembled(capability, variant)
            store.save(key, code)
        return code

    def packed_key(self, architecture: str) -> str:
        """What packed machine code for an architecture is found under, whatever compiled it."""
        shaped = sys.implementation.cache_tag, getattr(sys, "abiflags", ""), module_hash(LOWERING), self._key, architecture
        return hashlib.sha256(repr(shaped).encode()).hexdigest()

    def assembled(self, capability: tuple, variant: str | None = None) -> bytes:
        """The kernel's machine code, made now; arguments as for `cubin`."""
        from cuda.core import Linker, LinkerOptions, ObjectCode
        variant = self.variant if variant is None else variant
        arch, text = "sm_{}{}".format(*capability), self.ptx(capability)
        if self.variant:
            text = text.replace(f".target {arch}", f".target {arch}{self.variant}", 1)
        return bytes(Linker(ObjectCode.from_ptx(text.encode()), options=LinkerOptions(arch=arch + variant)).link("cubin").code)


@functools.lru_cache(maxsize=8)                          # variants of an architecture are assembled from one text
def _ptx(kernel, capability):
    from . import frontend
    with _lock, frontend.compiling_for(capability):
        target = _targets.setdefault(capability, _Compiled())
        body = bind(kernel._function, kernel.names, kernel._compute, target=target)
        from numba.cuda import types
        text, _ = cuda.compile_ptx(body, types.void(*map(_type, kernel.signature)), cc=capability)
    entry = re.search(r"\.entry\s+(\w+)", text).group(1)
    if kernel.resident is not None:
        bounds = f".maxntid {kernel.threads}, 1, 1\n.minnctapersm {kernel.resident}\n"
        text = re.sub(rf"(\.entry\s+{entry}\([^)]*\)\s*)", rf"\g<1>{bounds}", text)
    return re.sub(rf"\b{entry}\b", kernel.symbol, text)


_kernels: dict[str, Kernel] = {}


def compiled() -> list[Kernel]:
    """The kernels that this process has asked for."""
    return list(_kernels.values())


def compile_kernel(function, signature, names=None, compute=None, meant=(), threads=THREADS, shared=0, variant="",
                   resident=None) -> Kernel:
    """The kernel of a Python function over pointers for concrete types, given as for the CPU's `compile_kernel`.

    Nothing is compiled yet: that needs to know the device, and happens at the first launch there.

    Args:
        threads: of each block that it is launched with.
        shared, variant, resident: as Kernel has them.
    """
    names, signature = Names(dict(names or {}, cuda=cuda), meant), tuple(signature)
    with _lock:
        text = f"cuda {fingerprint(function, names, compute, frozenset())} {signature!r} {threads} {shared} {variant} {resident}"
        key = hashlib.sha256(text.encode()).hexdigest()
        kernel = _kernels.get(key)
        if kernel is None:
            kernel = _kernels[key] = Kernel(function, signature, names, compute, key, threads, shared, variant, resident)
        return kernel


# ---------------------------------------------------------------- launching
def prepare(kernel: Kernel, row, blocks: int, device: int, most: int = MAX_BLOCKS) -> Prepared:
    """Fix a kernel's descriptor, which is put into the device's memory, and its grid.

    Args:
        row: the descriptor.
        blocks: how many blocks would be enough for each thread to work once.
        device: the index of the device.
        most: how many blocks there may be; of those that are left out a kernel that loops over the grid does the work.
    """
    owner, address = upload(row, device)
    return Prepared(runtime().launcher(kernel, device, max(1, min(blocks, most))), address, 0, owner)
