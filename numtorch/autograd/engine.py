"""Backward: walk the graph from the roots, each node once all its gradients have come.

Counting edges first, then a ready queue: a node runs when the last of its outputs' gradients has arrived, so its hooks see
the whole gradient, and its saved tensors are freed as the walk goes. Both walks are loops, not recursion: 100 000 nodes
deep is fine.
"""
from __future__ import annotations

from ..tensor import Tensor
from .graph import Leaf, Output, _NodeHook, owned
from .modes import modes


class _Arithmetic:
    """The few ops the engine needs, put here by the floor above."""
    add = add_ = ones_like = clone = zeros = has_nan = None


arithmetic = _Arithmetic()


def _count_edges(roots, wanted):
    """How many gradients each node waits for; with `wanted`, only along paths that lead to one of those nodes."""
    counts = dict.fromkeys(roots, 0)
    if wanted is None:
        stack = list(roots)
        while stack:
            for node in stack.pop().edges:
                if node is not None:
                    if node in counts:
                        counts[node] += 1
                    else:
                        counts[node] = 1
                        stack.append(node)
        return counts, None
    leads, order, seen = {}, [], set(roots)
    stack = [(node, iter(node.edges)) for node in roots]
    while stack:                                         # post-order: a node's edges are decided before it
        node, edges = stack[-1]
        for edge in edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append((edge, iter(edge.edges)))
                break
        else:
            leads[node] = node in wanted or any(leads.get(e, False) for e in node.edges if e is not None)
            order.append(node)
            stack.pop()
    for node in order:
        if leads[node]:
            for edge in node.edges:
                if edge is not None and leads.get(edge):
                    counts[edge] = counts.get(edge, 0) + 1
    return counts, leads


def _run_hooks(node, grad):
    for hook in tuple(node.hooks.values()):
        if type(hook) is not _NodeHook:
            replaced = hook(grad)
            if replaced is not None:
                grad = _checked_replacement(replaced, grad)
    return grad


def _checked_replacement(replaced, grad):
    if not isinstance(replaced, Tensor):
        raise TypeError(f"expected hook to return a Tensor or None, but got {type(replaced).__name__}")
    if isinstance(grad, Tensor) and replaced.layout.shape != grad.layout.shape:
        raise RuntimeError(f"hook has changed the size of value: expected {list(grad.layout.shape)}, "
                           f"got {list(replaced.layout.shape)}")
    return replaced


def accumulate(leaf, grad, create_graph):
    """Add a gradient to a leaf's: the memory is taken over when nobody else has it, else copied."""
    if leaf.grad is None:
        leaf.grad = grad if create_graph or owned(grad) else arithmetic.clone(grad)
    elif create_graph:
        leaf.grad = arithmetic.add(leaf.grad, grad)
    else:
        arithmetic.add_(leaf.grad, grad)
    post_hooks = getattr(leaf, "post_hooks", None)
    if post_hooks:
        tensor = leaf.tensor()
        for hook in tuple(post_hooks.values()):
            hook(tensor)


def run_backward(roots, grads, retain_graph, create_graph, wanted=None, accumulating=True):
    """Send gradients from the root nodes through the graph.

    Args:
        roots: nodes to start from.
        grads: their gradients.
        retain_graph: keep what nodes saved, for another walk.
        create_graph: record the walk itself, so that it can be differentiated.
        wanted: only go where these nodes are reached; their gradients are returned.
        accumulating: whether leaves keep their gradients (backward) or not (grad).

    Returns:
        The gradient of each node in `wanted` that was reached, by node.
    """
    counts, leads = _count_edges(roots, wanted)
    pending, found = {}, {}
    before = modes.grad
    modes.grad = create_graph
    try:
        for node, grad in zip(roots, grads):
            _deliver(pending, node, grad, create_graph)
        ready = [node for node in dict.fromkeys(roots) if not counts[node]]
        while ready:
            node = ready.pop()
            grad = pending.pop(node, None)
            if grad is not None:
                if getattr(node, "hooks", None):
                    grad = _run_hooks(node, grad)
                if wanted is not None and node in wanted:
                    found[node] = grad
                retained = getattr(node, "retained", None)
                if retained is not None:
                    tensor = retained()
                    if tensor is not None:
                        old = tensor._stored_grad
                        tensor._stored_grad = grad if old is None else arithmetic.add(old, grad)
            edges = node.edges
            if type(node) is Leaf:
                if accumulating and grad is not None and (wanted is None or node in wanted):
                    accumulate(node, grad, create_graph)
                continue
            if grad is None:
                outgoing = (None,) * len(edges)
            elif type(node) is Output:
                outgoing = (grad,)
            elif leads is not None and not any(e is not None and leads.get(e) for e in edges):
                outgoing = (None,) * len(edges)
            else:
                outgoing = _run_node(node, grad)
                if not retain_graph:
                    node.release()
            grad = None                                  # so that `owned` sees what is really shared
            index = node.index if type(node) is Output else None
            for position, edge in enumerate(edges):
                if edge is None or leads is not None and not leads.get(edge):
                    continue
                out = outgoing[position]
                if out is not None:
                    if index is not None and edge.outputs > 1:
                        _deliver_part(pending, edge, index, out, create_graph)
                    elif edge in pending:
                        held = pending.pop(edge)
                        pending[edge] = _sum(held, out, create_graph)
                    else:
                        pending[edge] = out
                    out = None
                remaining = counts[edge] - 1
                counts[edge] = remaining
                if not remaining:
                    ready.append(edge)
            outgoing = None
    finally:
        modes.grad = before
    return found


def _sum(held, more, create_graph):
    if not create_graph and owned(held) and held.layout.dtype is more.layout.dtype:
        return arithmetic.add_(held, more)
    return arithmetic.add(held, more)


def _deliver(pending, node, grad, create_graph):
    pending[node] = grad if node not in pending else _sum(pending.pop(node), grad, create_graph)


def _deliver_part(pending, node, index, grad, create_graph):
    parts = pending.get(node)
    if parts is None:
        parts = pending[node] = [None] * node.outputs
    parts[index] = grad if parts[index] is None else arithmetic.add(parts[index], grad)


def _run_node(node, grad):
    try:
        outgoing = node.backward(grad)
    except Exception as error:
        trace = getattr(node, "trace", None)
        if trace and hasattr(error, "add_note"):
            error.add_note(f"Error detected in {node.name()}, recorded at:\n{trace}")
        raise
    if modes.anomaly == "nan":
        for position, out in enumerate(outgoing):
            if out is not None and arithmetic.has_nan(out):
                trace = getattr(node, "trace", None)
                where = f" It was recorded at:\n{trace}" if trace else ""
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {position}th output.{where}")
    hooks = getattr(node, "hooks", None)
    if hooks:
        for hook in tuple(hooks.values()):
            if type(hook) is _NodeHook:
                grads = tuple(grad) if isinstance(grad, list) else (grad,)
                replaced = hook.function(tuple(outgoing), grads)
                if replaced is not None:
                    outgoing = replaced if isinstance(replaced, tuple) else (replaced,)
    return outgoing
