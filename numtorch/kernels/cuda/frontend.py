"""What numba-cuda does of itself to compile a kernel, less what kernels do not need (../codegen/frontend.py says what that is)."""
from __future__ import annotations

import contextlib

from numba.cuda import compiler, dispatcher, lowering
from numba.cuda.core.compiler_machinery import register_pass
from numba.cuda.core.typed_passes import BaseNativeLowering

from ...finalisers import without_collector
from ..codegen.frontend import short_passes
from ..codegen.shortcuts import replaced, short_lowering, shortcuts

_FewPasses, _translated = short_passes("numba.cuda.core")
_shortcuts = shortcuts("numba.cuda.core", "numba.cuda.typing")
_compiler, _current_device = compiler.CUDACompiler, dispatcher.get_current_device


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(BaseNativeLowering):
    """CUDANativeLowering of functions without objects."""

    _name = "kernel_lowering"
    lowering_class = short_lowering("numba.cuda.core", lowering.CUDALower)


class KernelCompiler(_FewPasses, compiler.CUDACompiler):  # type: ignore[valid-type, name-defined]
    """numba-cuda's compiler with the passes that kernels need."""

    passes = compiler.CUDATranslateBytecode, *_translated, compiler.CreateLibrary, _Lowering, compiler.CUDABackend


@contextlib.contextmanager
def compiling_for(capability: tuple):
    """Inside, numba-cuda takes few passes and shortcuts, and any device that it asks about has the compute capability: none is
    needed."""
    class Asked:
        compute_capability = capability

    with without_collector(), replaced([*_shortcuts, (compiler, "CUDACompiler", KernelCompiler, _compiler),
                                        (dispatcher, "get_current_device", lambda: Asked, _current_device)]):
        yield
