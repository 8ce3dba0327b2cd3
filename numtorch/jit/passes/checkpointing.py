"""Values that are computed again where they are next needed, instead of being kept until then: less memory for more work.

Where most memory is in use, something lies idle: made before, needed after. What costs least a byte to compute again is copied to
the place of its next use, until what is in use at one time fits the budget (as DTR has it, Kirisame et al. 2021, and XLA's
rematerialization). A copied call reads what is alive there anyway, else what that is made of is copied too. What draws random
numbers, writes, or is no product, elementwise call, norm or the like is never computed again. A copy before elementwise calls is
one with them later (fusion.py), so that it is never in memory.
"""
from __future__ import annotations

from itertools import accumulate

from ...ops.core.primitive import registry
from ...ops.pointwise.pointwise import PointwiseOp
from ..graphs.graph import Graph, Node, Value
from ..graphs.operations import CONSTANT
from ..graphs.updates import UPDATE
from .fusion import inner_values
from .inplace import is_view
from .memory import Lives

MOST_CALLS = 16                                          # that are copied for one value
_BY_FEATURES = {"linear", "convolution"}                 # products whose second factor has a row for each feature
_PRODUCTS = {"mm", "bmm", "matmul", "mv", *_BY_FEATURES}
_PASSES_OVER = {"clone", "to_copy", "cat", "stack", "sum", "mean", "softmax", "log_softmax", "logsumexp", "layer_norm", "rms_norm",
                "group_norm", "instance_norm", "batch_norm", "normalize", "embedding", "index_select", "gather", "constant_pad_nd",
                "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_along", "min_along", "var", "std", "norm", "tril", "triu", "repeat"}


def recompute(graph: Graph, budget: float) -> int:
    """Have what lies idle be computed again, until the peak of memory fits. Returns how many calls were copied.

    Args:
        graph: it is changed.
        budget: the peak that is wanted, as a fraction of the peak that there is.
    """
    fused = inner_values(graph)
    stop = next((place for place, node in enumerate(graph.nodes) if node.op == UPDATE.name), len(graph.nodes))
    tail = set(graph.nodes[stop:])
    state = _State(graph, fused)
    target, least = budget * state.peak, state.peak
    steps: list[tuple[list[Node], list[tuple[Node, list]]]] = []
    kept, refused, copies = 0, set[Value](), set[Node]()
    while state.peak > target:
        place = state.used.index(state.peak)
        taken = False
        for value, before in state.idle(place, copies, tail):
            if value in refused:
                continue
            step = _again(graph, state, value, place, before)
            new = _State(graph, fused)
            if new.peak > state.peak or new.used[place] >= state.used[place]:
                _undo(graph, step)
                refused.add(value)
                continue
            steps.append(step)
            copies.update(step[0])
            state, taken = new, True
            break
        if not taken:
            break
        if state.peak < least:
            least, kept = state.peak, len(steps)
    for step in reversed(steps[kept:]):                  # what came to nothing
        _undo(graph, step)
    return sum(len(made) for made, _ in steps[:kept])


class _State(Lives):
    """How a graph's values live, and the bytes in use at each node: `used`, at most `peak`."""

    def __init__(self, graph, fused) -> None:
        super().__init__(graph)
        self.graph, self.places = graph, {node: place for place, node in enumerate(graph.nodes)}
        self.sizes = {value: 0 if value in fused else size for value, size in self.sizes.items()}
        change = [0] * (len(graph.nodes) + 1)
        for value, size in self.sizes.items():
            change[self.first[value]] += size
            change[self.last[value] + 1] -= size
        self.used = list(accumulate(change))
        self.peak = max(self.used)

    def idle(self, place, copies, tail):
        """(value, the place of its next use) of what could be computed again there, the cheapest a byte first."""
        waiting = [v for v, size in self.sizes.items() if size and self.first[v] < place < self.last[v]]
        waiting = [v for v in waiting if v.node not in copies and can_repeat(v)]
        uses: dict[Value, list[int]] = {v: [] for v in waiting}
        for number, node in enumerate(self.graph.nodes):
            for value in node.values():
                root = self.base.get(value, value)
                if root in uses:
                    uses[root].append(number)
        candidates = []
        for value in waiting:
            before = next(n for n in uses[value] if n >= place)
            if before > place and self.graph.nodes[before] not in tail:
                calls = self.calls_for(value, place, before)
                if calls is not None:
                    candidates.append((sum(map(_cost, calls)) / self.sizes[value], value, before))
        return [(value, before) for _, value, before in sorted(candidates, key=lambda each: each[0])]

    def calls_for(self, value, place, before):
        """The calls by which a value can be had at another place, in order; None where it cannot."""
        calls: dict[Node, None] = {}
        waiting = [v for v in self.aliases.get(value, [value]) if self.is_used_from(v, before)]
        while waiting:
            node = waiting.pop().node
            if node in calls:
                continue
            if not can_repeat(node.outputs[0]) or len(calls) >= MOST_CALLS:
                return None
            calls[node] = None
            for each in node.values():
                root = self.base.get(each, each)
                there = root in self.outside or self.first[root] <= place <= self.last[root] or self.last[root] >= before
                if root is value or not there:
                    waiting.append(each)
        return sorted(calls, key=self.places.__getitem__)

    def is_used_from(self, value, before):
        return value.node is not None and self.places[value.node] < before and self.last_use.get(value, -1) >= before


def can_repeat(value: Value) -> bool:
    """Whether what computes a value may be called twice: it gives the same, at a cost that is known.

    Args:
        value: it.
    """
    node = value.node
    if node is None or node.op == CONSTANT or node.draws or node.writes or value not in _plain(node):
        return False
    return is_view(node) or node.op in _PRODUCTS or node.op in _PASSES_OVER or isinstance(registry.get(node.op), PointwiseOp)


def _plain(node):
    return node.outputs[:len(node.outputs) - len(node.keeps)]


def _cost(node):
    """In elements that an elementwise call passes over."""
    out = sum(value.layout.numel for value in node.outputs)
    if is_view(node):
        return 0
    if node.op in _PRODUCTS:
        other = node.inputs[1].layout
        depth = other.numel // max(other.shape[0], 1) if node.op in _BY_FEATURES else other.shape[-2 if other.ndim > 1 else 0]
        return out + out * depth / 16
    if node.op in _PASSES_OVER:
        return 2 * (out + sum(value.layout.numel for value in node.values()))
    return out


# ---------------------------------------------------------------- copies
def _again(graph, state, value, place, before):
    """Copy what gives a value before a node, for it and those behind it. Returns what `_undo` needs."""
    new: dict[Value, Value] = {}
    made = []
    aliases = set(state.aliases.get(value, [value]))
    for node in state.calls_for(value, place, before):
        copied = Node(node.op, [new.get(v, v) if isinstance(v, Value) else v for v in node.inputs], node.attributes)
        for old in _plain(node):
            copied.outputs.append(Value(graph.name(), old.layout, copied))
        new.update(zip(node.outputs, copied.outputs))
        made.append(copied)
    new = {old: copy for old, copy in new.items() if old in aliases}
    changed = []
    for node in graph.nodes[before:]:
        if any(v in new for v in node.values()):
            changed.append((node, node.inputs))
            node.inputs = [new.get(v, v) if isinstance(v, Value) else v for v in node.inputs]
    graph.nodes[before:before] = made
    return made, changed


def _undo(graph, step):
    made, changed = step
    gone = set(made)
    graph.nodes = [node for node in graph.nodes if node not in gone]
    for node, inputs in changed:
        node.inputs = inputs
