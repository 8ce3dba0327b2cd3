"""Graphs as text, and what is refused of a text and of a graph that was changed by hand."""
import pytest

import numtorch as torch
from numtorch.jit import parse
from numtorch.jit.passes import optimized


def test_text_is_readable():
    graph = torch.jit.trace(lambda x, w: torch.softmax(x @ w.t(), 1) * 2, (torch.zeros(2, 3), torch.zeros(4, 3))).graph
    assert str(graph) == """graph(%x: float32[2, 3], %w: float32[4, 3]):
  %0: float32[3, 4]@(1, 3) = view.transpose[0, 1](%w)
  %1: float32[2, 4] = matmul(%x, %0)
  %2: float32[2, 4] = softmax[1,](%1)
  %3: float32[2, 4] = mul(%2, 2)
  return %3""".replace("matmul", graph.nodes[1].op)
    assert "digraph" in graph.draw().source and "softmax" in graph.draw().source


@pytest.mark.parametrize(("line", "wrong"), [
    ("%1: float32[2] = sin(%y)", "none of a graph"), ("%1: float32[2] = no_such_op(%x)", "not known"), ("%x: float32[2] = sin(%x)", "twice"),
    ("%1: float32[2] = sin(__import__('os'))", "none of a graph"), ("%1: float32[2] = (lambda: 1)(%x)", "not known|none"),
    ("%1: nonsense[2] = sin(%x)", "none of a graph"), ("%1: float32[2] = sin(%x, writes=(3,))", "writes|no value"),
    ("%1: float32[2] = constant['w',]()", "none of a graph"),
])
def test_what_is_no_graph_is_refused(line, wrong):
    text = f"graph(%x: float32[2]):\n  {line}\n  return %1"
    with pytest.raises(ValueError, match=wrong):
        parse(text, {})


CHANGES = {                                              # by hand, and what verify says
    "order": (lambda graph: graph.nodes.reverse(), "uses %1, which is not there yet"),
    "name": (lambda graph: setattr(graph.nodes[1].outputs[0], "name", "x"), "%x is there twice"),
    "op": (lambda graph: setattr(graph.nodes[0], "op", "sine"), "the op sine is not known"),
    "result": (lambda graph: graph.nodes.pop(), "the result uses %2, which is not there yet"),
    "write": (lambda graph: graph.writes.append((graph.nodes[0].outputs[0], graph.inputs[0])), "neither an input nor a constant"),
    "writes": (lambda graph: setattr(graph.nodes[1], "writes", (1,)), "writes to what is no value"),
    "node": (lambda graph: setattr(graph.nodes[0].outputs[0], "node", graph.nodes[1]), "says that something else computes it"),
    "layout": (lambda graph: setattr(graph.inputs[0], "layout", None), "%x has no layout"),
    "constant": (lambda graph: graph.constant("w", torch.ones(3)) and graph.constants.clear(), "there is no constant 'w'"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_graph_that_was_changed_by_hand_is_verified(name):
    change, wrong = CHANGES[name]
    graph = torch.jit.trace(lambda x: (x.sin() + 1).cos(), torch.rand(3)).graph
    graph.verify()
    change(graph)
    with pytest.raises(ValueError, match=wrong):
        graph.verify()


TYPES = {                                                # a line of a text that was changed by hand, and what verify says
    "shape": ("%1: float32[2, 4]", "%1: float32[2, 5]", r"gives float32\[2, 4\], not float32\[2, 5\]"),
    "dtype": ("%1: float32[2, 4]", "%1: float64[2, 4]", r"gives float32\[2, 4\], not float64\[2, 4\]"),
    "result": ("%2: float32[2, 4]", "%2: float32[9, 9]", r"softmax gives float32\[2, 4\], not float32\[9, 9\]"),
    "argument": ("mm(%x, %0)", "mm(%x)", "mm cannot be called so"),
    "attribute": ("transpose[0, 1]", "transpose[0, 5]", "view.transpose cannot be called so: Dimension out of range"),
    "input": ("%w: float32[4, 3]", "%w: float32[4, 7]", "view.transpose gives"),
}


@pytest.mark.parametrize("name", TYPES)
def test_a_text_whose_types_were_changed_is_verified(name):
    before, after, wrong = TYPES[name]
    graph = torch.jit.trace(lambda x, w: torch.softmax(x @ w.t(), 1), (torch.rand(2, 3), torch.rand(4, 3))).graph
    parse(str(graph)).verify()
    text = str(graph).replace(before, after)
    assert text != str(graph)
    with pytest.raises(ValueError, match=wrong):
        parse(text).verify()


def test_a_node_that_was_changed_is_verified_and_calls_that_read_elements_are_left_out():
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Dropout(), torch.nn.Flatten(2),
                              torch.nn.LSTM(4, 3))
    traced = torch.jit.trace(net, torch.rand(2, 1, 4, 4), check_trace=False)
    for graph in (traced.graph, parse(str(traced.graph)), traced.graph.copy(), optimized(traced.graph)[0]):
        graph.verify()
    changed = traced.graph.copy()
    next(node for node in changed.nodes if node.op == "convolution").inputs[1] = changed.inputs[0]
    with pytest.raises(ValueError, match="convolution"):
        changed.verify()
    read = torch.jit.trace(lambda x: x[x > 0.5].exp(), torch.rand(8), check_trace=False).graph
    read.verify()
    parse(str(read)).verify()
