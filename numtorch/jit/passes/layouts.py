"""Convolutions with channels last: where kernels take images so, they and what stands between them (elementwise calls, pools, norms
of running statistics) are given images in that order. Inputs and results keep theirs: copies stand where the chain begins and ends.
Weights stay row-major, as these kernels take them.

Whether that is faster depends on the sizes, so who runs a graph takes both and compares (`inference.py`, `improving.py`).
"""
from __future__ import annotations

from ...autograd.modes import no_grad
from ...devices import device
from ...dtypes import float32, float64
from ...layout import Layout, channels_last, contiguous_format, formatted
from ...meta import placed
from ...ops.core.backends import kernels
from ...ops.core.primitive import registry
from ...ops.pointwise.pointwise import PointwiseOp
from ...tensor import empty
from ..graphs.gradients import PREFIX
from ..graphs.graph import Graph, Node, Value
from ..graphs.operations import run_op

FEWEST = 2                                               # convolutions that pay for the copies
_FOLLOWING = {"batch_norm", "avg_pool2d", "adaptive_avg_pool2d", "max_pool2d_with_indices", "adaptive_max_pool2d"}
_META = placed(device("meta"))
_GRADIENT = PREFIX + "convolution"
_ENDING = {"sum", "mean"}                                # which read images in any order


def lay_out(graph: Graph) -> int:
    """Have chains of convolutions compute with channels last. Returns how many convolutions do; 0 where the graph is as it was.

    Args:
        graph: it is changed.
    """
    chain = _Chain(graph.copy(), graph.name)
    count = chain.convert()
    if count < FEWEST:
        return 0
    done = chain.graph
    graph.inputs, graph.nodes, graph.results, graph.constants = done.inputs, done.nodes, done.results, done.constants
    graph.writes, graph.gradients = done.writes, done.gradients
    return count


class _Chain:
    """A graph's calls, of which some are converted.

    Args:
        graph: it is changed.
        name: gives a new name.
    """

    def __init__(self, graph, name) -> None:
        self.graph, self.name, self.nodes = graph, name, list[Node]()
        self.last: dict[Value, Value] = {}               # with channels last, of what there is in another order, or was
        self.gone: set[Value] = set()                    # what there is with channels last alone

    def convert(self):
        count = 0
        for node in self.graph.nodes:
            made = self._converted(node)
            if made is None:
                self._need(node.values())
                self.nodes.append(node)
            count += made is not None and node.op == "convolution"
        self._need(self.graph.ends())
        self.graph.nodes = self.nodes
        return count

    def _copy(self, value, order, out):
        node = Node("clone", [value], (order,))
        out.node, node.outputs = node, [out]
        self.nodes.append(node)
        return out

    def _need(self, values):
        """Copy to their own order what others need so."""
        for value in dict.fromkeys(values):
            if value in self.gone:
                self.gone.remove(value)
                self._copy(self.last[value], contiguous_format, value)

    def _turned(self, value):
        """A value with channels last."""
        if value not in self.last:
            self.last[value] = self._copy(value, channels_last, Value(self.name(), formatted(value.layout, channels_last)))
        return self.last[value]

    def _converted(self, node):
        """The same call on images with channels last, behind the other calls; None where it stays."""
        if node.writes or node.keeps or node.draws or not node.outputs:
            return None
        op, out = node.op, node.outputs[0].layout
        main = node.inputs[0] if node.inputs else None
        if op == "convolution":
            images = [main] if _suits(node) else []
        elif op == _GRADIENT:                            # of the result, and what was convolved
            images = [v for v in node.inputs[:2] if isinstance(v, Value) and is_image(v.layout)]
            images = images if any(v in self.last for v in images) else []
        elif op in _FOLLOWING or op in _ENDING:
            images = [main] if main in self.last else []
        elif isinstance(registry.get(op), PointwiseOp):
            images = [v for v in node.values() if v.layout.shape == out.shape and is_image(v.layout)]
            images = images if any(v in self.last for v in images) else []
        else:
            images = []
        if not images or any(v not in self.last and v.layout is not _plain(v.layout) for v in images):
            return None
        layouts = [v.layout if isinstance(v, Value) else v for v in node.inputs]
        layouts = [formatted(l, channels_last) if v in images else l for l, v in zip(layouts, node.inputs)]
        given = _results(node, layouts)
        if len(given) != len(node.outputs) or not all(_same(a, b.layout, op) for a, b in zip(given, node.outputs)):
            return None
        self._need([v for v in node.values() if v not in images])
        made = Node(op, [self._turned(v) if v in images else v for v in node.inputs], node.attributes)
        self.nodes.append(made)
        for old, layout in zip(node.outputs, given):
            if layout is old.layout:
                old.node, new = made, old
            else:
                new = self.last[old] = Value(self.name(), layout, made)
                self.gone.add(old)
            made.outputs.append(new)
        return made


def is_image(layout: Layout) -> bool:
    """Whether a layout is that of images of the host, with channels and places.

    Args:
        layout: it.
    """
    return layout.ndim == 4 and layout.numel > 0 and layout.device.type == "cpu" and not layout.weak and layout.shape[1] > 1 and \
        layout.shape[2] * layout.shape[3] > 1


def _plain(layout):
    return Layout.of(layout.dtype, layout.shape, None, layout.device)


def _same(layout, wanted, op):
    """Whether a result lies as it did, or with channels last."""
    last = is_image(wanted) and op not in _ENDING and wanted is _plain(wanted) and layout is formatted(wanted, channels_last)
    return layout is wanted or last


def _suits(node):
    x, w, _ = node.inputs
    if not isinstance(x, Value) or not is_image(x.layout) or x.layout.dtype not in (float32, float64):
        return False
    window, = node.attributes
    beyond = [max(1, size + 2 * p) for size, p in zip(x.layout.shape[2:], window[1])]
    return kernels(x.layout.device, "conv.conv").takes_channels_last(
        x.layout.dtype.kernel, x.layout.shape, w.layout.shape, tuple(map(min, window[0], beyond)), *window[1:])


def _results(node, layouts):
    """The layouts of what a call gives, for those of its inputs."""
    def without_memory(layout):
        if not isinstance(layout, Layout):
            return layout
        return empty(Layout.of(layout.dtype, layout.shape, layout.strides, _META, layout.weak))
    try:
        with no_grad():
            results = run_op(node.op, [without_memory(l) for l in layouts], node.attributes, ())
    except (RuntimeError, NotImplementedError):
        return []
    home = node.outputs[0].layout.device
    return [Layout.of(t.layout.dtype, t.layout.shape, t.layout.strides, home, t.layout.weak) for t in results]
