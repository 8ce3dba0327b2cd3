"""Kernels made here for another architecture, to be packed.

A process that packs for one (`NUMTORCH_PROCESSOR`, see processor.py) plans as that processor would, and runs what it plans,
since programs read what their kernels computed. So each kernel is made twice of one form of LLVM's: for this processor, to be run,
and for the other, to be kept, in a store of its own inside of this process's.
"""
from __future__ import annotations

import os
import re

from .. import store
from .processor import Baseline

# All that kernels call by an architecture's name, and how it is declared.
_PAUSES = {"x86_64": ("@llvm.x86.sse2.pause()",) * 2, "aarch64": ("@llvm.aarch64.hint(i32 1)", "@llvm.aarch64.hint(i32 immarg)")}


def directory() -> str | None:
    """The store of the kernels that are made for the other architecture, or None where nothing can be kept."""
    root = store.directory()
    return None if root is None else os.path.join(root, "elsewhere")


class CrossCompiler:
    """LLVM for a processor of another architecture: its `target`.

    Args:
        llvm: llvmlite's binding.
        baseline: which processors.
        options: the target machine's, as for this processor.
    """

    def __init__(self, llvm, baseline: Baseline, **options):
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        self.llvm, self.machine = llvm, baseline.machine
        self.target = llvm.Target.from_triple(baseline.triple).create_target_machine(
            cpu=baseline.cpu, features=",".join(f"+{name}" for name in baseline.features), **options)
        self.heading = f'target datalayout = "{self.target.target_data}"\ntarget triple = "{baseline.triple}"\n'

    def module(self, text: str, symbol: str, renamed: str):
        """A module of this processor as one of the other.

        Args:
            text: LLVM IR that no pass has been run over.
            symbol: what its entries are called here.
            renamed: what they are called there.
        """
        text = re.sub(r'^target (datalayout|triple) = ".*"\n', "", text, flags=re.MULTILINE).replace(symbol, renamed)
        call, declaration = _PAUSES[self.machine]
        for own, _ in _PAUSES.values():
            name = own.partition("(")[0]
            text = text.replace(f"call void {own}", f"call void {call}")
            text = re.sub(rf"^declare void {re.escape(name)}\(.*$", f"declare void {declaration}", text, flags=re.MULTILINE)
        return self.llvm.parse_assembly(self.heading + text)
