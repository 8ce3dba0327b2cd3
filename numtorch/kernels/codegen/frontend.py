"""What Numba does of itself to compile a kernel, less what kernels do not need. Imported only when something must be compiled.

Kernels are loops over pointers and numbers: no arrays, no strings, no closures, nothing that is raised, nothing whose references
are counted. So of Numba's passes those are left out that look for these, and with them a walk of the whole function each; no
variable is deleted where it is used last, which is half of all statements to lower; of its implementations those of numbers,
ranges and tuples are loaded (importing the ones of arrays alone takes longer than a kernel); and what it finds out again at each
call is found out once (`shortcuts.py`). A user's formula may use more than that: a function with another one inside, or that
yields, takes Numba's own passes, and the implementations are all loaded where a kernel calls what its author compiled with Numba,
or once something is not found.
"""
from __future__ import annotations

import contextlib
import types as pytypes
from importlib import import_module
from typing import Any

import llvmlite.binding as llvm
from numba.core import compiler, lowering, registry, typed_passes, untyped_passes
from numba.core.compiler_machinery import register_pass

from .shortcuts import replaced, short_lowering, shortcuts


def short_passes(root: str) -> tuple[Any, tuple]:
    """The passes up to lowering, and what runs them, less what kernels do not need of each.

    After each pass that may change a function Numba works out anew how long its variables live, eight times in all: a fifth of the
    front end. Kernels have nothing that must be released then, so only blocks must be in order.

    Args:
        root: the package that they are made of: "numba.core", or "numba.cuda.core", its fork for GPUs.

    Returns:
        A base of compilers that take what stands in their `passes`; the passes between those that translate a function's bytecode
        and those that lower it.
    """
    machinery, untyped, typed, transforms, ssa, ir_utils, rewrites = (import_module(f"{root}.{name}") for name in (
        "compiler_machinery", "untyped_passes", "typed_passes", "transforms", "ssa", "ir_utils", "rewrites"))
    changes_blocks = machinery.register_pass(mutates_CFG=True, analysis_only=False)

    @changes_blocks
    class OrderBlocks(machinery.FunctionPass):  # type: ignore[name-defined]
        """IRProcessing, without lifetimes."""

        _name = "order_blocks"

        def __init__(self):
            super().__init__()

        def run_pass(self, state):
            state.func_ir.blocks = transforms.canonicalize_cfg(state.func_ir.blocks)
            return True

    @changes_blocks
    class PruneBranches(untyped.DeadBranchPrune):  # type: ignore[name-defined]
        """DeadBranchPrune, which leaves blocks in order."""

        _name = "prune_branches"

        def run_pass(self, state):
            before = {label: block.terminator for label, block in state.func_ir.blocks.items()}
            super().run_pass(state)
            if before != {label: block.terminator for label, block in state.func_ir.blocks.items()}:
                state.func_ir.blocks = transforms.canonicalize_cfg(state.func_ir.blocks)
            return True

    @changes_blocks
    class Rewrite(untyped.GenericRewrites):  # type: ignore[name-defined]
        """GenericRewrites, which change no block's end, without lifetimes."""

        _name = "rewrite"

        def run_pass(self, state):
            blocks = state.func_ir.blocks
            for kind in rewrites.rewrite_registry.rewrites["before-inference"]:
                rewrite, waiting = kind(state), list(blocks)
                while waiting:
                    label = waiting.pop()
                    if rewrite.match(state.func_ir, blocks[label], state.typemap, state.calltypes):
                        blocks[label] = rewrite.apply()
                        waiting.append(label)
            return True

    @machinery.register_pass(mutates_CFG=False, analysis_only=False)
    class AssignOnce(untyped.ReconstructSSA):  # type: ignore[name-defined]
        """ReconstructSSA, without lifetimes."""

        _name = "assign_once"

        def run_pass(self, state):
            state.func_ir = ssa.reconstruct_ssa(state.func_ir)
            self._patch_locals(state)
            state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
            return True

    @changes_blocks
    class StripPhis(typed.PreLowerStripPhis):  # type: ignore[name-defined]
        """PreLowerStripPhis, without lifetimes."""

        _name = "strip_phis"

        def run_pass(self, state):
            state.func_ir = self._strip_phi_nodes(state.func_ir)
            state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
            return True

    class Passes(machinery.PassManager):  # type: ignore[name-defined]
        """Passes one after the other, without the events, timings and checks that Numba makes around each."""

        def _runPass(self, index, one, state):
            one.analysis = self._analysis
            one.run_pass(state)

    class FewPasses:
        def define_pipelines(self):
            function = self.state.func_id
            if function.is_generator or any(isinstance(constant, pytypes.CodeType) for constant in function.code.co_consts):
                return super().define_pipelines()
            passes = Passes("kernel")
            for one in self.passes:
                passes.add_pass(one, one.__name__)
            passes.finalize()
            return [passes]

    return FewPasses, (
        untyped.FixupArgs, OrderBlocks, untyped.RewriteSemanticConstants, PruneBranches, Rewrite, untyped.FindLiterallyCalls,
        AssignOnce, PruneBranches, untyped.LiteralPropagationSubPipelinePass, typed.NopythonTypeInference, StripPhis,
        typed.NoPythonSupportedFeatureValidation)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed_passes.BaseNativeLowering):
    """NativeLowering of functions without objects."""

    _name = "kernel_lowering"
    lowering_class = short_lowering("numba.core", lowering.Lower)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Finish(typed_passes.NoPythonBackend):
    """NoPythonBackend, whose result does not keep what was worked out of each variable and call, and by that the whole function in
    Numba's form: nobody asks for it any more, and the garbage collector walked it ever after."""

    _name = "finish"

    def run_pass(self, state):
        super().run_pass(state)
        state.cr.fndesc.typemap = state.cr.fndesc.calltypes = None
        return True


_FewPasses, _translated = short_passes("numba.core")


class KernelCompiler(_FewPasses, compiler.Compiler):  # type: ignore[valid-type]
    """Numba's compiler with the passes that kernels need."""

    passes = untyped_passes.TranslateByteCode, *_translated, _Lowering, _Finish


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
_shortcuts = shortcuts("numba.core", "numba.core.typing")


@contextlib.contextmanager
def for_kernels():
    """Inside, Numba loads no more implementations than kernels need, unless all are wanted, takes shortcuts, and tells nobody of
    each call of LLVM, of which there are a thousand a kernel."""
    context, lock = registry.cpu_target.target_context, llvm.ffi.lib._lock
    if not _all_wanted[0]:
        context.load_additional_registries = _load_numbers
    try:
        with replaced([*_shortcuts, (lock, "_cblist", [], lock._cblist)]):
            yield
    finally:
        vars(context).pop("load_additional_registries", None)


def load_all() -> bool:
    """Let kernels have all of Numba's implementations from now on. False where they do already."""
    before, _all_wanted[0] = _all_wanted[0], True
    vars(registry.cpu_target.target_context).pop("load_additional_registries", None)
    return not before
