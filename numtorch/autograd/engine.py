"""Backward: walk the graph from the roots, each node once all its gradients have come.

A node runs when the last of its outputs' gradients has arrived, so its hooks see the whole gradient, and its saved tensors
are freed as the walk goes. How many gradients a node waits for is counted where the graph first branches. Both walks are
loops, not recursion: 100 000 nodes deep is fine.
"""
from __future__ import annotations

import warnings
from sys import getrefcount

from ..storage import Storage
from ..tensor import Tensor, wrap
from .graph import Leaf, Output
from .hooks import NodeHook, PreHook
from .modes import RARE, modes
from .ownership import owned


class _Arithmetic:
    """The few ops the engine needs, put here by the floor above."""
    add = add_ = ones_like = clone = stack = zeros = zeros_like = has_nan = check_inplace_allowed = rebase_history = None
    start_views = stop_views = None
    without_graph = with_tangents = None                 # of what takes part in a transform of torch.func


arithmetic = _Arithmetic()


def _awaited(roots, wanted=None):
    """How many gradients more than one each node waits for; None where some path ends elsewhere than at a wanted node."""
    more = dict.fromkeys(roots, 0)
    nodes = list(more)
    add = nodes.append
    for node in nodes:                                   # the list grows meanwhile
        for edge in node.edges:
            if edge is None:
                continue
            if edge in more:
                more[edge] += 1
            else:
                more[edge] = 0
                if edge.edges:
                    add(edge)
                elif wanted is not None and edge not in wanted:
                    return None
    return more


def _some_leading(roots, wanted, beyond):
    """The nodes on paths to a wanted node, those among them where all paths end, and what `_awaited` gives for them. Unless they go
    on `beyond` wanted nodes, all paths end there."""
    leads, order, seen = {}, [], set()
    stack, starts = [], list(dict.fromkeys(roots))
    while stack or starts:                               # post-order: a node's edges are decided before it
        if not stack:                                    # one root after another: one may lie behind another
            root = starts.pop()
            if root in seen:
                continue
            seen.add(root)
            stack.append((root, iter(root.edges if beyond or root not in wanted else ())))
        node, edges = stack[-1]
        for edge in edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append((edge, iter(edge.edges if beyond or edge not in wanted else ())))
                break
        else:
            leads[node] = node in wanted or any(leads.get(e, False) for e in node.edges if e is not None)
            order.append(node)
            stack.pop()
    leading = {node for node in order if leads[node]}
    ends, seen, shared = set(), set(roots), {}
    for node in order:
        if node in leading:
            onwards = [edge for edge in node.edges if edge in leading] if beyond or node not in wanted else []
            if not onwards:
                ends.add(node)
            for edge in onwards:
                if edge in seen:
                    shared[edge] = shared.get(edge, 0) + 1
                seen.add(edge)
    return leading, ends, shared


def accumulate(leaf, grad, create_graph):
    """Add a gradient to a leaf's: the memory is taken over when nobody else has it, else copied. Then call the hooks."""
    if leaf.grad is None:
        leaf.grad = grad if owned(grad, leaf.order) else arithmetic.clone(grad, leaf.order)
    elif create_graph:
        leaf.grad = arithmetic.add(leaf.grad, grad)
    else:
        arithmetic.add_(leaf.grad, grad)
    if leaf.post_hooks:
        tensor = leaf.tensor()
        for hook in tuple(leaf.post_hooks.values()):
            if type(hook) is NodeHook:
                hook.function((), (grad,))
            elif hook(tensor) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _start(roots, grads, shared, pending, waiting, create_graph):
    """Put the roots that can run at once, and their gradients, into `waiting` and the others into `pending`.

    Returns:
        The first to run and its gradient.
    """
    given = {}
    for node, grad in zip(roots, grads):
        given[node] = grad if node not in given else _sum(given.pop(node), grad, create_graph)
    for node, grad in given.items():
        if shared.get(node):
            shared[node] -= 1                            # its own gradient has come
            pending[node] = grad
        else:
            waiting += node, grad
    grad, node = waiting.pop(), waiting.pop()
    return node, grad


def _first_of_several(roots, grads, wanted, pending, waiting, create_graph, beyond):
    """Where to begin with several roots, or on the way to chosen nodes.

    Returns:
        The first node to run and its gradient (None and None where no root leads to a wanted node), how many gradients more than
        one each node waits for, the nodes that lead to wanted ones and those where all paths end (None and None where all lead
        there, as mostly: the gradients of all parameters).
    """
    leading = ends = None
    shared = _awaited(roots, wanted) if beyond else None
    if shared is None:
        leading, ends, shared = _some_leading(roots, wanted, beyond)
        led = [(root, grad) for root, grad in zip(roots, grads) if root in leading]
        roots, grads = zip(*led) if led else ((), ())
    if len(roots) > 1:
        node, grad = _start(roots, grads, shared, pending, waiting, create_graph)
    else:
        node, grad = (roots[0], grads[0]) if roots else (None, None)
    return node, grad, shared, leading, ends


class _Branches:
    """How gradients reach nodes that wait for several, or that are one of a node's outputs."""

    __slots__ = ("pending", "gradients", "wanted", "leading", "create_graph", "accumulating")

    def __init__(self, pending, gradients, wanted, leading, create_graph, accumulating):
        self.pending, self.gradients, self.wanted, self.leading = pending, gradients, wanted, leading
        self.create_graph, self.accumulating = create_graph, accumulating

    def deliver(self, edge, source, out, shared):
        """Add a gradient to what has come for a node.

        Args:
            edge: the node.
            source: the output of the node through which it comes, or None.
            out: the gradient, or None.
            shared: how many gradients more than one each node waits for, or None where none does.

        Returns:
            The node that can run now and its gradient, or None and None.
        """
        pending = self.pending
        while True:
            more = shared.get(edge, 0) if shared else 0
            if source is not None and edge.outputs > 1:
                _deliver_part(pending, edge, source.index, out)
                out = pending.pop(edge) if not more else None
                if out is not None and not any(part is not None for part in out):
                    out = None
            elif edge in pending:
                held = pending.pop(edge)
                out = held if out is None else _sum(held, out, self.create_graph)
                held = None
            if more:
                shared[edge] = more - 1
                if out is not None:
                    pending[edge] = out
                return None, None
            if edge.extras is not None:
                return edge, out
            kind = type(edge)                            # what would only pass a gradient on or keep it takes no turn of its own
            if kind is Output and shared is not None and (self.wanted is None or edge not in self.wanted):
                onwards = edge.edges[0]
                if self.leading is not None and onwards not in self.leading:
                    return None, None
                source, edge = edge, onwards
            elif kind is Leaf and not self.accumulating:
                if out is not None:
                    self.gradients[edge] = out
                return None, None
            else:
                return edge, out


def _calibrate():
    """What getrefcount says in `run_backward` of a gradient that only the node's answer holds, and of its storage."""
    outgoing = (wrap(Storage(0, 0, None), 0, None),)
    for _, out in zip((None,), outgoing):
        return getrefcount(out), getrefcount(out.memory)


_GRADIENT, _STORAGE = _calibrate()


def run_backward(roots, grads, retain_graph, create_graph, wanted=None, accumulating=True, beyond=True):
    """Send gradients from the root nodes through the graph.

    Args:
        roots: nodes to start from.
        grads: their gradients.
        retain_graph: keep what nodes saved, for another walk.
        create_graph: record the walk itself, so that it can be differentiated.
        wanted: only go where these nodes are reached; their gradients are returned.
        accumulating: whether leaves keep their gradients (backward) or not (grad).
        beyond: whether paths go on behind wanted nodes, or end there.

    Returns:
        The gradient of each node in `wanted` that was reached, by node.
    """
    state = modes.__dict__                               # this thread's; as a dict it costs a third of attribute access
    traced = None if create_graph else state["by_ops"]
    create_graph = create_graph or traced is not None
    leading = ends = shared = branches = None            # shared: None until the graph branches, since a chain shares nothing
    gradients, pending, waiting = {}, {}, []             # waiting: nodes that can run, each followed by its gradient
    if wanted is None and len(roots) == 1:
        node, grad = roots[0], grads[0]
    else:
        node, grad, shared, leading, ends = _first_of_several(roots, grads, wanted, pending, waiting, create_graph, beyond)
    roots = grads = None
    before = state["grad"], state["recording"], state["backward"]
    state["backward"] = wanted
    state["grad"], state["recording"] = create_graph, RARE if create_graph and (modes.saved_hooks or modes.anomaly) \
        else int(create_graph)
    checking = state["anomaly"] == "nan"
    direct = Leaf if accumulating and wanted is None else None       # leaves without hooks take each gradient as it comes
    try:
        while node is not None:
            kind = type(node)
            if grad is not None:
                if node.extras is not None:
                    grad = _before(node, grad)
                    if wanted is not None and node in wanted:
                        gradients[node] = grad
                    if accumulating or (kind is not Leaf and (ends is None or node not in ends)):
                        grad = _before_node(node, grad)
                elif wanted is not None and node in wanted:
                    gradients[node] = grad
            edges = node.edges
            if kind is Leaf:
                if accumulating and grad is not None:
                    accumulate(node, grad if traced is None else grad.detach(), create_graph)
                outgoing = ()
            elif grad is None or (ends is not None and node in ends):
                outgoing = (None,) * len(edges)
            elif kind is Output:
                outgoing = (grad,)
            else:
                try:
                    outgoing = node.backward(grad) if not create_graph else \
                        node.differentiable_backward(grad) if traced is None else traced(node, grad)
                except Exception as error:
                    _annotate(node, error)
                    raise
                if checking:
                    _check_nan(node, outgoing)
                if node.extras is not None:
                    outgoing = _after(node, grad, outgoing)
                if not retain_graph:
                    node.saved = None
            here, source = node, node if kind is Output else None
            node = grad = None                           # so that `owned` sees what is really shared
            for edge, out in zip(edges, outgoing):
                if edge is None or (leading is not None and edge not in leading):
                    continue                             # no gradient wanted there
                if type(edge) is direct and edge.extras is None and edge.post_hooks is None:
                    if out is None:
                        continue
                    if traced is not None:               # recorded, and written down, by ops, as far as here
                        out = out.detach()
                    if edge.grad is not None:
                        edge.grad = arithmetic.add(edge.grad, out) if create_graph else arithmetic.add_(edge.grad, out)
                    elif getrefcount(out) <= _GRADIENT and getrefcount(out.memory) <= _STORAGE + out.memory.pooled \
                            and (out.layout.contiguous if edge.order is None else out.layout is edge.order):
                        edge.grad = out
                    else:
                        edge.grad = arithmetic.clone(out, edge.order)
                    continue
                if shared is None and node is not None:  # the second way on from here
                    shared = _awaited((here,))
                    if shared[node]:
                        shared[node] -= 1
                        if grad is not None:
                            pending[node] = grad
                        node = grad = None
                if shared is None and source is None:    # a chain so far
                    node, grad = edge, out
                    continue
                if branches is None:
                    branches = _Branches(pending, gradients, wanted, leading, create_graph, accumulating)
                ready, out = branches.deliver(edge, source, out, shared)
                if ready is not None:
                    if node is not None:
                        waiting += node, grad
                    node, grad = ready, out              # the next to run: in a chain nothing is ever put aside
            here = outgoing = out = ready = None
            if node is None and waiting:
                grad, node = waiting.pop(), waiting.pop()
        if state["backward"] is not wanted:
            for last in state["backward"][1:]:
                last()
    finally:
        state["grad"], state["recording"], state["backward"] = before
    return gradients


def _counts(held):
    return getrefcount(held), getrefcount(held.memory)


def _calibrate_sum():
    """What `_sum` counts of a gradient that only its caller's variable holds, and of its storage."""
    held = wrap(Storage(0, 0, None), 0, None)
    return _counts(held)


_HELD, _HELD_STORAGE = _calibrate_sum()


def _sum(held, more, create_graph):
    """The sum of two gradients, in the memory of the first where nobody else refers to that."""
    if not create_graph and getrefcount(held) <= _HELD and getrefcount(held.memory) <= _HELD_STORAGE + held.memory.pooled \
            and held.layout is more.layout and held.layout.contiguous:
        return arithmetic.add_(held, more)
    if held.layout.handler is not None:                  # a sparse tensor is added to a dense one, not the other way round
        held, more = more, held
    return arithmetic.add(held, more)


def _deliver_part(pending, node, index, grad):
    parts = pending.get(node)
    if parts is None:
        parts = pending[node] = [None] * node.outputs
    if grad is None:
        return
    parts[index] = grad if parts[index] is None else arithmetic.add(parts[index], grad)


def _before(node, grad):
    """Run the tensor's hooks on a gradient that is complete, and keep it where the tensor asked for it."""
    extras = node.extras
    for hook in tuple(extras.hooks.values()):
        if type(hook) is not NodeHook and type(hook) is not PreHook:
            replaced = hook(grad)
            if replaced is not None:
                grad = _checked_replacement(replaced, grad)
    if extras.retained is not None:
        tensor = extras.retained()
        if tensor is not None:
            old = tensor._stored_grad
            tensor._stored_grad = arithmetic.clone(grad) if old is None else arithmetic.add(old, grad)
    return grad


def _before_node(node, grad):
    """Run the hooks of the node itself, which come behind those of the tensor, and only where the node runs."""
    for hook in tuple(node.extras.hooks.values()):
        if type(hook) is PreHook:
            replaced = hook.replaced(grad)
            if replaced is not None:
                grad = _checked_replacement(replaced, grad)
    return grad


def _checked_replacement(replaced, grad):
    if isinstance(replaced, list):                       # of a node with several outputs
        return replaced
    if not isinstance(replaced, Tensor):
        raise TypeError(f"expected hook to return a Tensor or None, but got {type(replaced).__name__}")
    if isinstance(grad, Tensor) and replaced.layout.shape != grad.layout.shape:
        raise RuntimeError(f"hook has changed the size of value: expected {list(grad.layout.shape)}, "
                           f"got {list(replaced.layout.shape)}")
    if isinstance(grad, Tensor) and replaced.layout.dtype is not grad.layout.dtype:
        raise RuntimeError(f"hook has changed the type of value: expected {grad.layout.dtype}, got {replaced.layout.dtype}")
    return replaced


def _after(node, grad, outgoing):
    """Run the hooks that want a node's incoming and outgoing gradients."""
    for hook in tuple(node.extras.hooks.values()):
        if type(hook) is NodeHook:
            replaced = hook.function(tuple(outgoing), tuple(grad) if isinstance(grad, list) else (grad,))
            if replaced is not None:
                outgoing = replaced if isinstance(replaced, tuple) else (replaced,)
    return outgoing


def _trace_of(node):
    return node.extras.trace if node.extras is not None else None


def _annotate(node, error):
    """Add where the failing node was recorded, when anomaly mode kept it."""
    trace = _trace_of(node)
    if trace:
        note = f"Error detected in {node.name()}, recorded at:\n{trace}"
        if hasattr(error, "add_note"):
            error.add_note(note)
        else:                                            # Python 3.10
            warnings.warn(note, UserWarning, stacklevel=2)


def _check_nan(node, outgoing):
    for position, out in enumerate(outgoing):
        if out is not None and arithmetic.has_nan(out):
            trace = _trace_of(node)
            where = f" It was recorded at:\n{trace}" if trace else ""
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {position}th output.{where}")
