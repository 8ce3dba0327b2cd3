"""`NUMTORCH_DEBUG_MEMORY`: what storages and kernels do otherwise in a mode that finds wrong uses of memory.

poison      fills every block with a pattern
guardpages  puts it against pages that fault as well (mode `guard`)

Without a mode the names here are None or False, which is all that it costs. docs/debugging.md tells how to use it.
"""
from __future__ import annotations

import os

MODE = os.environ.get("NUMTORCH_DEBUG_MEMORY", "")

new_block = watch = None                                 # what makes a block; what is put around a kernel's entry
FILLS_THE_STACK = MODE == "poison"                       # whether kernels fill their local arrays first; then they are others
if MODE == "poison":
    from .poison import poisoned_block
    new_block = poisoned_block
elif MODE == "guard":
    from .guardpages import guarded_block, watched
    new_block, watch = guarded_block, watched
elif MODE:
    raise RuntimeError(f"NUMTORCH_DEBUG_MEMORY: expected 'poison' or 'guard', but got {MODE!r}")
