"""Products of 16-bit floats by Hopper's warp groups: `wgmma`, by which four warps multiply 64 rows of A with all columns of a tile,
both from shared memory, while they bring slices that come later.

Slices of A and B lie there as tensorcores.py says, which is also what the instruction calls a swizzle of 128 bytes, of matrices
along the depth ("K-major") or across it ("MN-major"); a stage begins at a multiple of 1024 bytes, after which the swizzle repeats.
What it takes is a descriptor: the address, and the distances from eight lines to the next and from panel to panel (`_descriptor` of
../warps_ir.py). A slice is four instructions, for 16 steps of the depth each, and one slice is always under way: a group waits for
the one before, so the stage that all have left two slices ago is filled. What `cp.async` writes is fenced (`fence_async`) before
the barrier after which others multiply it.

Sums lie in registers as those of `mma.sync` do: a warp has 16 rows of them. This is machine code of sm_90a, for devices of
capability 9.0 alone.
"""
from __future__ import annotations

import functools
from typing import Any

from ...elementtypes import itemsize
from .. import runtime
from ..environment import SIMULATED, SMALL
from ..warps import (
    add_group_products_bfloat16,
    add_group_products_float16,
    await_groups,
    await_products,
    await_sums,
    commit_copies,
    fence_async,
)
from .tensorcores import LINE, TILES_OF, Operand, Warps, assembled, indented, next_slice, next_stage, source, tile_of, warp_kernel

STAGES = 4                                               # slices in shared memory: two that are multiplied, and two on their way
FORMS: dict[str, Any] = dict(bfloat16=add_group_products_bfloat16, float16=add_group_products_float16)
GROUP_TILES = [Warps(8, 1, 1, 8, grouped=True)] if SMALL else [
    Warps(8, 1, 1, 32, grouped=True), Warps(8, 1, 1, 16, 1.25, True), Warps(4, 1, 1, 16, 1.5, True)]
CAPABILITIES = ((0, 0),) if SIMULATED else ((9, 0),)


def _slices(a, b, threads):
    """All slices of a tile."""
    copies = [line for each in (a, b) for line in each.copies(threads)]
    panels = [0 if each.along else each.depth * LINE for each in (a, b)]
    yield "fill, ahead, now = int32(0), int32(0), int32(0)"
    yield f"for _ in range({STAGES - 2}):"
    yield from indented(next_slice(copies), 4)
    yield "for _ in range(slices):"
    yield from indented([
        f"await_groups({STAGES - 3})", "fence_async()", "cuda.syncthreads()",
        f"sums = add_group_products(sums, further(a_place, now), further(b_place, now), {panels[0]}, {panels[1]})",
        *next_slice(copies), *next_stage("now"), "await_products(1)"], 4)
    yield from ("sums = await_sums(sums)", "cuda.syncthreads()")                # sums go to where slices are


@functools.cache
def group_kernel(dtype, out, warps, along, place_c, places):
    """The kernel of a dtype and a tile, given as to `warp_kernel`."""
    a = Operand("a", along[0], warps.tall, 64, 2)
    b = Operand("b", along[1], warps.wide, warps.wide, 2, a.nbytes)
    starts = f"a_place = further(base, (warp >> 2) * {64 * LINE})", f"b_place = further(base, {b.start})"
    text = source(warps, a, b, itemsize(out), starts, list(_slices(a, b, warps.threads)), "product_groups")
    return assembled(text, "product_groups", warps, a, b, STAGES, dtype, out, place_c, places, "a", add_group_products=FORMS[dtype],
                     await_groups=await_groups, await_products=await_products, await_sums=await_sums, commit_copies=commit_copies,
                     fence_async=fence_async)


def tiles_for(dtype, device):
    """The tiles that a device multiplies a dtype in."""
    return GROUP_TILES if dtype in FORMS and runtime.runtime().describe(device)[1] in CAPABILITIES else TILES_OF


def warps_for(dtype, m, n, batch, device):
    """The tile of a product; of warp groups where C is as large as one."""
    tiles = tiles_for(dtype, device)
    if m < tiles[-1].tall or n < tiles[-1].wide:
        tiles = TILES_OF
    return tile_of(tiles, m, n, batch)


def kernel_for(dtype, out, warps, along, place_c, places):
    """The kernel of a tile."""
    return (group_kernel if warps.grouped else warp_kernel)(dtype, out, warps, along, place_c, places)
