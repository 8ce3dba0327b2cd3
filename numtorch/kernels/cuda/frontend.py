"""What numba-cuda does of itself to compile a kernel, less what kernels do not need (../codegen/frontend.py says what that is)."""
from __future__ import annotations

import contextlib

from numba.cuda import compiler, dispatcher, types
from numba.cuda.typing.npydecl import NumpyRulesArrayOperator

from ...finalisers import without_collector
from ..codegen.frontend import call_type, known_call_type, short_passes

_FewPasses, _translated = short_passes("numba.cuda.core")
_plain = compiler.CUDACompiler, dispatcher.get_current_device, NumpyRulesArrayOperator.generic, call_type


class KernelCompiler(_FewPasses, compiler.CUDACompiler):  # type: ignore[valid-type, name-defined]
    """numba-cuda's compiler with the passes that kernels need."""

    passes = compiler.CUDATranslateBytecode, *_translated, compiler.CreateLibrary, compiler.CUDANativeLowering, compiler.CUDABackend


def _operator_of_arrays(self, args, kws):
    """What numba-cuda answers, who searches all of a ufunc's loops before it looks whether there is an array at all."""
    return _plain[2](self, args, kws) if any(isinstance(each, types.ArrayCompatible) for each in args) else None


@contextlib.contextmanager
def compiling_for(capability: tuple):
    """Inside, numba-cuda takes few passes, rates an operator's signatures once, and any device that it asks about has the compute
    capability: none is needed."""
    class Asked:
        compute_capability = capability

    compiler.CUDACompiler, dispatcher.get_current_device = KernelCompiler, lambda: Asked
    NumpyRulesArrayOperator.generic, types.Function.get_call_type = _operator_of_arrays, known_call_type
    try:
        with without_collector():
            yield
    finally:
        compiler.CUDACompiler, dispatcher.get_current_device, NumpyRulesArrayOperator.generic, types.Function.get_call_type = _plain
