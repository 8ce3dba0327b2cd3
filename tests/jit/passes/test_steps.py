"""Which updates are one step of an optimiser: those of one optimiser, each of another parameter, with nothing computed between."""
import pytest

import numtorch as torch
from numtorch.jit import parse
from numtorch.jit.passes.steps import Unsuited, steps_of

HEAD = """graph(%x: float32[3], %y: float32[3]):
  %c: float64[4] = constant['c',]()
  %d: float64[4] = constant['d',]()
  %a: float32[3] = constant['a',]()
  %b: float32[3] = constant['b',]()
"""


def update(out, coefficients, parameter, grad):
    return f"  %{out}: float32[3] = update['sgd._sgd',](%{coefficients}, %{parameter}, %{grad}, writes=(1,))\n"


def graph(body, result="%x"):
    writes = "".join(f"  write %{name} <- %{value}\n" for name, value in (("a", "a1"), ("b", "b1")) if f"%{value}:" in body)
    constants = {"c": torch.zeros(4).double(), "d": torch.zeros(4).double(), "a": torch.ones(3), "b": torch.ones(3)}
    return parse(f"{HEAD}{body}{writes}  return {result}", constants)


ONE, OTHER = object(), object()
SUMMED = "  %s: float32[3] = add(%x, %y)\n"
PROGRAMS = {
    "one": (update("a1", "c", "a", "x"), [1]),
    "two parameters": (update("a1", "c", "a", "x") + update("b1", "c", "b", "y"), [2]),
    "views between": (update("a1", "c", "a", "x") + "  %s: float32[3] = detach(%y)\n" + update("b1", "c", "b", "s"), [2]),
    "something computed between": (update("a1", "c", "a", "x") + SUMMED + update("b1", "c", "b", "s"), [1, 1]),
    "two optimisers": (update("a1", "c", "a", "x") + update("b1", "d", "b", "y"), [1, 1]),
    "twice in a row": (update("a0", "c", "a", "x") + update("a1", "c", "a0", "y"), [1, 1]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_updates_that_are_one_step(name):
    body, lengths = PROGRAMS[name]
    made = graph(body)
    steps = steps_of(made, {"c": ONE, "d": OTHER})
    assert list(steps) == [node for node in made.nodes if node.op == "update"]
    assert [len(step) for step in dict.fromkeys(map(tuple, steps.values()))] == lengths


@pytest.mark.parametrize("body, result, why", [
    (update("a1", "c", "a", "x"), "%a1", "is returned"),
    (update("a1", "c", "a", "x") + "  %s: float32[3] = add(%a, %y)\n", "%s", "used after it"),
    (update("a1", "c", "a", "x"), "%a", "used after it"),
    (update("a1", "d", "a", "x"), "%x", "not known"),
])
def test_what_is_no_step_says_why(body, result, why):
    with pytest.raises(Unsuited, match=why):
        steps_of(graph(body, result), {"c": ONE})
