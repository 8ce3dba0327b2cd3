"""Graphs as text, and what is refused of a text and of a graph that was changed by hand."""
import pytest

import numtorch as torch
from numtorch.jit import parse


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
