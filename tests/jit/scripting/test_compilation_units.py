"""`jit.CompilationUnit`: functions of a text, as PyTorch's unit has them."""
import pytest
from scriptruns import argument, outcome, through_file

import numtorch as torch
from numtorch.tree import flatten

try:
    import torch as reference
except ImportError:
    reference = None

FACTOR = 5


def seven(x):
    return x * 7


def unit_of(torch, text):
    """A unit where `torch` is a library, and `List` a name."""
    List = list                                          # noqa: F841
    return torch.jit.CompilationUnit(text)


TEXTS = {                                                # text, and a call of what it defines
    "loops and calls": ("""
def once(x, y):
    return torch.relu(y) + x
def f(x, n: int = 2):
    for i in range(n):
        x = once(x, x) + i
    return x
""", lambda unit, x: (unit.f(x), unit.f(x, 3), unit.f(-x, n=1), unit.once(x, -x))),
    "in another order": ("def f(x):\n    return g(x) * 2\ndef g(x):\n    return x + 1\n", lambda unit, x: unit.f(x)),
    "indented": ("""
        def f(x):
            return x * 2
    """, lambda unit, x: unit.f(x)),
    "types": ("""
def f(x: Tensor, given: List[int], other: Optional[Tensor] = None, scale: float = -1.5) -> Tuple[Tensor, Dict[str, int]]:
    if other is not None:
        x = x + other
    return x * scale, {"count": len(given)}
""", lambda unit, x: (unit.f(x, [1, 2])[0], unit.f(x, [], x, scale=2.0)[0], unit.f(x, [3], other=x)[1]["count"])),
    "types in a comment": ("def f(x, n):\n    # type: (Tensor, int) -> Tensor\n    return x + n\n", lambda unit, x: unit.f(x, 3)),
    "by name alone": ("def f(x, *, n: int):\n    '''What it does.'''\n    return x + n\n", lambda unit, x: unit.f(x, n=1)),
    "looks": ("def f(x):\n    while bool(x.sum() < 100):\n        x = x * 2\n    return x\n", lambda unit, x: unit.f(x)),
    "annotated": ("def f(x):\n    y = torch.jit.annotate(List[int], [])\n    y.append(3)\n    return x * y[0]\n", lambda unit, x: unit.f(x)),
    "a function from outside": ("def f(x):\n    return seven(x) + 1\n", lambda unit, x: unit.f(x)),
    "forks": ("def g(x):\n    return x + 1\ndef f(x):\n    return torch.jit._wait(torch.jit._fork(g, x))\n", lambda unit, x: unit.f(x)),
    "nothing": ("", lambda unit, x: x),
}


@pytest.mark.parametrize("name", TEXTS)
def test_functions_of_a_text_are_scripts_as_in_pytorch(name):
    text, call = TEXTS[name]
    found = outcome(lambda x: call(unit_of(torch, text), x), [argument(torch)(2, 3)], torch)
    if reference is not None:
        wanted = outcome(lambda x: call(unit_of(reference, text), x), [argument(reference)(2, 3)], reference)
        assert flatten(found)[0] == pytest.approx(flatten(wanted)[0], rel=1e-6)
    if "f" in text:
        unit = torch.jit.CompilationUnit(text)
        assert through_file(unit.f).code == unit.f.code and "def f(x" in unit.f.code


def test_functions_are_added_and_call_those_that_are_there():
    unit = torch.jit.CompilationUnit("def f(x):\n    return x + 1\n")
    unit.define("def g(x):\n    return f(x) * FACTOR + local\n", rcb={"FACTOR": 2, "local": 3}.get)
    assert unit.g(torch.ones(1)).item() == 7
    local = 4
    unit.define("def h(x):\n    return g(x) * FACTOR + local")
    assert unit.h(torch.ones(1)).item() == 39 and local == 4
    inner = unit.h

    @torch.jit.script
    def calls(x):
        return inner(x) * 2
    assert calls(torch.ones(1)).item() == 78 and through_file(calls)(torch.ones(1)).item() == 78
    for text in ("def f(x):\n    return x\n", "def k(x):\n    return x\ndef k(x):\n    return x + 1\n"):
        with pytest.raises(RuntimeError, match=r"method '[fk]' already defined"):
            unit.define(text)
    with pytest.raises(AttributeError, match="has no attribute 'k'"):
        _ = unit.k
    with pytest.raises(RuntimeError, match="misspelt"):
        unit.define("def m(x):\n    return x\ndef k(x):\n    return x.misspelt()\n")
    unit.define("def k(x):\n    return x\n")
    assert not hasattr(unit, "m") and unit.k.__name__ == "k"


@pytest.mark.parametrize(("text", "message"), [
    ("x = 1\n", "functions without decorators, and nothing else:\n.* line 1"), ("import os\n", "nothing else"),
    ("class A:\n    def f(self, x):\n        return x\n", "nothing else"), ("@torch.no_grad()\ndef f(x):\n    return x\n", "nothing else"),
    ("def f(x:\n    return x\n", "does not parse"), ("def f(x):\n    return x.misspelt()\n", "'misspelt':\n.* line 2, in f\n"),
    ("def f(x):\n    return unknown(x)\n", "undefined value unknown:\n.* line 2, in f\n"), ("def f(x):\n    return f(x)\n", "calls itself"),
    ("def f(x):\n    def g(y):\n        return y\n    return g(x)\n", "functions inside of functions"), ("def f(x\0):\n    return x\n", "parse"),
])
def test_texts_with_anything_else_are_refused(text, message):
    with pytest.raises(RuntimeError, match=message):
        torch.jit.CompilationUnit(text)
    if reference is not None:
        with pytest.raises(RuntimeError):
            reference.jit.CompilationUnit(text)


@pytest.mark.parametrize("text", ["def f(x=HERE):\n    return x\n", "def f(x, *, n=HERE):\n    return x\n", "HERE\n", "@HERE\ndef f(x):\n    return x\n",
                                  "def f(x: HERE):\n    return x\n", "def f(x) -> HERE:\n    return x\n", "class A(HERE):\n    HERE\n"])
def test_nothing_of_a_text_runs(text):
    ran = []

    def happens():
        ran.append(1)
    with pytest.raises(RuntimeError):
        torch.jit.CompilationUnit(text.replace("HERE", "happens()"))
    assert not ran and happens() is None and ran
