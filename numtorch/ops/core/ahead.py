"""What a call is part of, and the backward of what was just recorded, compiled while the program goes on (see kernels/ahead.py)."""
from __future__ import annotations

import functools
import sys
import weakref

from ...autograd.graph import GraphNode, Output
from ...autograd.modes import no_grad
from ...kernels import ahead
from ...tensor import Tensor, lasting
from .late import later

MOST_BYTES = 64 << 20                                    # of a gradient that a child makes up

_OURS = __name__.partition(".ops.")[0] + ".ops."

_seen: weakref.WeakSet = weakref.WeakSet()


def expect_backward(result) -> None:
    """Have the kernels of the nodes behind a result compiled ahead.

    Args:
        result: what a call returned, a tensor or several.
    """
    tensors = [t for t in (result if isinstance(result, tuple) else (result,)) if isinstance(t, Tensor) and t.node is not None]
    if not tensors or tensors[0].node in _seen:
        return
    layouts: list = []
    node = tensors[0].node
    if type(node) is Output:
        node, layouts = node.edges[0], [t.layout for t in tensors]
    pending, calls = [(node, layouts or [tensors[0].layout])], []
    while pending:
        node, layouts = pending.pop()
        if node in _seen:
            continue
        _seen.add(node)
        if _is_ours(node) and len(layouts) == node.outputs and all(l is not None and l.nbytes <= MOST_BYTES for l in layouts):
            calls.append(functools.partial(_backward, weakref.ref(node), layouts))
        for edge in node.edges:
            if edge is not None and edge not in _seen:
                pending.append((edge, [edge.result_layout()]))
    for call in reversed(calls):                         # backward begins at the other end
        ahead.expect(call)


def expect_callers() -> None:
    """Have what calls the caller's caller compiled ahead as a whole, where that is known."""
    known = later.get("expect_modules")
    if known is not None:
        known(sys._getframe(2))


def _is_ours(node):
    """Whether a node's backward is no function of a user's."""
    kind = type(node)
    return kind is GraphNode or hasattr(kind, "recipe") or (issubclass(kind, GraphNode) and kind.__module__.startswith(_OURS))


def _backward(reference, layouts):
    node = reference()
    if node is not None:
        grads = [lasting(layout.dense(layout.dtype)) for layout in layouts]
        with no_grad():
            node.backward(grads if node.outputs > 1 else grads[0])
