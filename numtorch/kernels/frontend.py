"""What Numba does of itself to compile a kernel, less what kernels do not need. Imported only when something must be compiled.

Kernels are loops over pointers and numbers: no arrays, no strings, no closures, nothing that is raised. So of Numba's passes
those are left out that look for these, and with them a walk of the whole function each; of its implementations those of numbers,
ranges and tuples are loaded (importing the ones of arrays alone takes longer than a kernel). A user's formula may use more than
that: a function with another one inside, or that yields, takes Numba's own passes, and the implementations are all loaded where a
kernel calls what its author compiled with Numba, or once something is not found.
"""
from __future__ import annotations

import contextlib
import gc
import types as pytypes

from numba.core import compiler, registry, typed_passes, types, untyped_passes
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.rewrites import rewrite_registry
from numba.core.ssa import reconstruct_ssa
from numba.core.transforms import canonicalize_cfg
from numba.core.typing.npydecl import NumpyRulesArrayOperator


# After each pass that may change a function Numba works out anew how long its variables live, eight times in all, which is a sixth
# of the front end. What kernels are asks for it once, at the end (IRLegalization); before, only blocks must be in order.
@register_pass(mutates_CFG=True, analysis_only=False)
class _OrderBlocks(FunctionPass):
    """IRProcessing, without lifetimes."""

    _name = "order_blocks"

    def __init__(self):
        super().__init__()

    def run_pass(self, state):
        state.func_ir.blocks = canonicalize_cfg(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _PruneBranches(untyped_passes.DeadBranchPrune):
    """DeadBranchPrune, which leaves blocks in order."""

    _name = "prune_branches"

    def run_pass(self, state):
        before = {label: block.terminator for label, block in state.func_ir.blocks.items()}
        super().run_pass(state)
        if before != {label: block.terminator for label, block in state.func_ir.blocks.items()}:
            state.func_ir.blocks = canonicalize_cfg(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Rewrite(untyped_passes.GenericRewrites):
    """GenericRewrites, which change no block's end, without lifetimes."""

    _name = "rewrite"

    def run_pass(self, state):
        blocks = state.func_ir.blocks
        for kind in rewrite_registry.rewrites["before-inference"]:
            rewrite, waiting = kind(state), list(blocks)
            while waiting:
                label = waiting.pop()
                if rewrite.match(state.func_ir, blocks[label], state.typemap, state.calltypes):
                    blocks[label] = rewrite.apply()
                    waiting.append(label)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _AssignOnce(untyped_passes.ReconstructSSA):
    """ReconstructSSA, without lifetimes."""

    _name = "assign_once"

    def run_pass(self, state):
        state.func_ir = reconstruct_ssa(state.func_ir)
        self._patch_locals(state)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _StripPhis(typed_passes.PreLowerStripPhis):
    """PreLowerStripPhis, without lifetimes."""

    _name = "strip_phis"

    def run_pass(self, state):
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Finish(typed_passes.NoPythonBackend):
    """NoPythonBackend, whose result does not keep what was worked out of each variable and call, and by that the whole function in
    Numba's form: nobody asks for it any more, and the garbage collector walked it ever after."""

    _name = "finish"

    def run_pass(self, state):
        super().run_pass(state)
        state.cr.fndesc.typemap = state.cr.fndesc.calltypes = None
        return True


_PASSES = (
    untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, _OrderBlocks, untyped_passes.RewriteSemanticConstants,
    _PruneBranches, _Rewrite, untyped_passes.FindLiterallyCalls, _AssignOnce, _PruneBranches,
    untyped_passes.LiteralPropagationSubPipelinePass, typed_passes.NopythonTypeInference, _StripPhis,
    typed_passes.NoPythonSupportedFeatureValidation, typed_passes.IRLegalization, typed_passes.NativeLowering,
    _Finish,
)


class _Passes(PassManager):
    """Passes one after the other, without the events, timings and checks that Numba makes around each."""

    def _runPass(self, index, one, state):
        one.analysis = self._analysis
        one.run_pass(state)


class KernelCompiler(compiler.Compiler):
    """Numba's compiler with the passes that kernels need."""

    def define_pipelines(self):
        function = self.state.func_id
        if function.is_generator or any(isinstance(constant, pytypes.CodeType) for constant in function.code.co_consts):
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
_array_operator = NumpyRulesArrayOperator.generic


def _operator_of_arrays(self, args, kws):
    """What Numba answers, who searches all of a ufunc's loops before it looks whether there is an array at all."""
    return _array_operator(self, args, kws) if any(isinstance(each, types.ArrayCompatible) for each in args) else None


@contextlib.contextmanager
def few_implementations():
    """Inside, Numba loads no more implementations than kernels need, unless all are wanted, and asks for no ufunc's of numbers."""
    context = registry.cpu_target.target_context
    NumpyRulesArrayOperator.generic = _operator_of_arrays
    if not _all_wanted[0]:
        context.load_additional_registries = _load_numbers
    try:
        yield
    finally:
        vars(context).pop("load_additional_registries", None)
        NumpyRulesArrayOperator.generic = _array_operator


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
