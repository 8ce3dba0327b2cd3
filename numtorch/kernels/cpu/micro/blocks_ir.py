"""Values that a condition or a loop changes, in LLVM's blocks and phis. Imported only when a kernel must be compiled."""
from __future__ import annotations

from llvmlite import ir

I64 = ir.IntType(64)


def _merge(phis, *edges):
    """Give phis their values on each edge (the block that it leaves, values)."""
    for phi, *values in zip(phis, *(values for _, values in edges)):
        for (block, _), value in zip(edges, values):
            phi.add_incoming(value, block)


def when(b, condition, values, change) -> list:
    """`change()` where the condition holds, `values` where it does not."""
    before, there, after = b.block, b.append_basic_block("when"), b.append_basic_block("after")
    b.cbranch(condition, there, after)
    b.position_at_end(there)
    changed, last = change(), b.block
    b.branch(after)
    b.position_at_end(after)
    merged = [b.phi(value.type) for value in values]
    _merge(merged, (before, values), (last, changed))
    return merged


def repeat(b, count, name, first, step, by=1):
    """Values carried through a loop k = 0, by, ... while k < count, at least once: `step(k, values)` gives the next ones."""
    before, loop, done = b.block, b.append_basic_block(name), b.append_basic_block(name + "_done")
    b.branch(loop)
    b.position_at_end(loop)
    phis = [b.phi(value.type) for value in (I64(0), *first)]
    k, *values = phis
    new = step(k, values)
    following = b.add(k, I64(by))
    _merge(phis, (before, (I64(0), *first)), (b.block, (following, *new)))
    b.cbranch(b.icmp_signed("<", following, count), loop, done)
    b.position_at_end(done)
    return new


def sweep(b, start, stop, ahead, first, step) -> tuple:
    """Values carried through a loop i = start, start + ahead, ... while i + ahead <= stop:
    `step(i, values, ahead)` gives the next ones.

    Returns:
        The first i that is left, and the values.
    """
    before, (head, body, end) = b.block, [b.append_basic_block(name) for name in ("head", "body", "end")]
    b.branch(head)
    b.position_at_end(head)
    phis = [b.phi(value.type) for value in (start, *first)]
    i, *values = phis
    after = b.add(i, I64(ahead))
    b.cbranch(b.icmp_signed("<=", after, stop), body, end)
    b.position_at_end(body)
    new = step(i, values, ahead)
    _merge(phis, (before, (start, *first)), (b.block, (after, *new)))
    b.branch(head)
    b.position_at_end(end)
    return i, values
