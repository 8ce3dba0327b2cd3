"""What numba-cuda does of itself to compile a kernel, less what kernels do not need (../codegen/frontend.py says what that is)."""
from __future__ import annotations

import contextlib

from numba.cuda import compiler, dispatcher, types
from numba.cuda.typing.npydecl import NumpyRulesArrayOperator

from ...finalisers import without_collector
from ..codegen.frontend import short_passes

_FewPasses, _translated = short_passes("numba.cuda.core")
_plain = compiler.CUDACompiler, dispatcher.get_current_device, NumpyRulesArrayOperator.generic


class KernelCompiler(_FewPasses, compiler.CUDACompiler):  # type: ignore[valid-type, name-defined]
    """numba-cuda's compiler with the passes that kernels need."""

    passes = compiler.CUDATranslateBytecode, *_translated, compiler.CreateLibrary, compiler.CUDANativeLowering, compiler.CUDABackend


def _operator_of_arrays(self, args, kws):
    """What numba-cuda answers, who searches all of a ufunc's loops before it looks whether there is an array at all."""
    return _plain[2](self, args, kws) if any(isinstance(each, types.ArrayCompatible) for each in args) else None


@contextlib.contextmanager
def compiling_for(capability: tuple):
    """Inside, numba-cuda takes few passes, and any device that it asks about has the compute capability: none is needed."""
    class Asked:
        compute_capability = capability

    compiler.CUDACompiler, dispatcher.get_current_device = KernelCompiler, lambda: Asked
    NumpyRulesArrayOperator.generic = _operator_of_arrays
    try:
        with without_collector():
            yield
    finally:
        compiler.CUDACompiler, dispatcher.get_current_device, NumpyRulesArrayOperator.generic = _plain
