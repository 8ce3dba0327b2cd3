"""What `compile.explain` says of a function: breaks, pieces and graphs, before it was called and after."""
import pytest
from settling import settled

import numtorch as torch
from numtorch import jit


def _printing(x):
    y = x * 2 + 1
    print("called")
    z = y.relu() * 3
    total = float(z.sum())
    return z / total


def test_pieces_are_listed_before_any_call_and_each_break_once():
    first = torch.compile.explain(_printing)(torch.ones(3))
    lines = _printing.__code__.co_firstlineno
    assert {each.line - lines for each in first.breaks} == {2, 4} and len(set(map(str, first.breaks))) == len(first.breaks)
    assert [each.line - lines for each in first.pieces] == [1, 3, 5] and str(first).count("print()") == 1
    compiled = torch.compile(_printing)
    before = torch.compile.explain(compiled)(torch.ones(3))
    assert before.breaks == first.breaks and before.pieces == first.pieces and not before.graphs
    for _ in range(10):
        compiled(torch.ones(3))
    after = torch.compile.explain(compiled)(torch.ones(3))
    assert after.breaks == first.breaks
    assert [each.line - lines for each in after.pieces] == [1, 3, 5] and all(each.launches for each in after.pieces)


def test_graphs_are_the_text_of_what_runs():
    def f(x):
        return torch.softmax(x * 2 + 1, 1).relu() * x
    x, compiled = torch.randn(64, 128), torch.compile(f)
    assert torch.compile.explain(compiled)(x).graphs == []
    found = settled(compiled, x)
    compiled(x)
    explanation = torch.compile.explain(compiled)(x)
    text, = explanation.graphs
    assert text == str(found.graph) and explanation.passes and "fused" in text
    torch.testing.assert_close(jit.Interpreter(jit.parse(text)).run(x), f(x))


def test_graphs_of_a_call_whose_results_have_a_graph_are_two():
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh())
    forward, backward = torch.compile.explain(net)(torch.ones(2, 4)).graphs
    assert "tanh" in forward and "grad" in backward


def test_options_of_pytorchs_back_end():
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        torch.compile(lambda x: x, mode="default", options={"max_autotune": True})
    compiled = torch.compile(options={"triton.cudagraphs": True, "max-autotune": True, "benchmark_fusion": False})(lambda x: x + 1)
    assert compiled(torch.ones(1)).item() == 2
