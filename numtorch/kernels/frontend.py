"""What Numba does of itself to compile a kernel, less what kernels do not need. Imported only when something must be compiled.

Kernels are loops over pointers and numbers: no arrays, no strings, no closures, nothing that is raised. So of Numba's passes
those are left out that look for these, and with them a walk of the whole function each; of its implementations those of numbers,
ranges and tuples are loaded (importing the ones of arrays alone takes longer than a kernel). A user's formula may use more than
that: a function with another one inside takes Numba's own passes, and the implementations are all loaded where a kernel calls
what its author compiled with Numba, or once something is not found.
"""
from __future__ import annotations

import contextlib
import gc
import types as pytypes

from numba.core import compiler, registry, typed_passes, untyped_passes
from numba.core.compiler_machinery import PassManager
from numba.core.postproc import PostProcessor

_PASSES = (
    untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants, untyped_passes.DeadBranchPrune, untyped_passes.GenericRewrites,
    untyped_passes.FindLiterallyCalls, untyped_passes.ReconstructSSA, untyped_passes.DeadBranchPrune,
    untyped_passes.LiteralPropagationSubPipelinePass, typed_passes.NopythonTypeInference, typed_passes.PreLowerStripPhis,
    typed_passes.NoPythonSupportedFeatureValidation, typed_passes.IRLegalization, typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)
_CHANGE_BLOCKS = {untyped_passes.DeadBranchPrune, untyped_passes.GenericRewrites}   # and do not see to their order themselves


class _Passes(PassManager):
    """Passes one after the other, without the events, timings and checks that Numba makes around each."""

    def _runPass(self, index, one, state):
        one.analysis = self._analysis
        one.run_pass(state)
        if type(one) in _CHANGE_BLOCKS:
            PostProcessor(state.func_ir).run()


class KernelCompiler(compiler.Compiler):
    """Numba's compiler with the passes that kernels need."""

    def define_pipelines(self):
        code = self.state.func_id.code
        if any(isinstance(constant, pytypes.CodeType) for constant in code.co_consts):
            return super().define_pipelines()
        passes = _Passes("kernel")
        for one in _PASSES:
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


def _load_numbers():
    """Numba's implementations for what kernels are made of."""
    from numba.core import optional  # noqa: F401
    from numba.core.runtime import rtsys
    from numba.cpython import builtins, iterators, mathimpl, numbers, rangeobj, slicing, tupleobj  # noqa: F401
    from numba.misc import literal  # noqa: F401
    context = registry.cpu_target.target_context
    rtsys.initialize(context)
    context.install_registry(mathimpl.registry)


_all_wanted = [False]


@contextlib.contextmanager
def few_implementations():
    """Inside, Numba loads no more implementations than kernels need, unless all are wanted."""
    context = registry.cpu_target.target_context
    if not _all_wanted[0]:
        context.load_additional_registries = _load_numbers
    try:
        yield
    finally:
        vars(context).pop("load_additional_registries", None)


def load_all() -> bool:
    """Let kernels have all of Numba's implementations from now on. False where they do already."""
    before, _all_wanted[0] = _all_wanted[0], True
    return not before


@contextlib.contextmanager
def without_collector():
    """Inside, cyclic garbage waits: Numba makes much that lives on, and walking it again and again takes a twelfth of the time."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
