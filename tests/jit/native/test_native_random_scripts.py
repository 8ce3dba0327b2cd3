"""Random scripts, many to a library: what the library computes is what the scripts compute in Python, bit for bit."""
import importlib.util
import random

import pytest
from nativelibrary import Library

import numtorch as torch
from numtorch.jit.native.building import find_compiler
from numtorch.kernels.compiler import DISABLE_JIT
from numtorch.kernels.debugmemory import MODE

pytestmark = pytest.mark.skipif(find_compiler() is None or DISABLE_JIT or bool(MODE), reason="no C compiler, or nothing is captured")
KINDS = {"int": ["n", "i", "k"], "float": ["f", "g"], "bool": ["b", "c"], "Tensor": ["x", "y", "t"]}
SCRIPTS, SIZE = 12, 4


class Writer:
    """Writes one function `(x, y, n, f)` of random statements. Ints stay small and loops end, tensors have SIZE elements."""

    def __init__(self, seed, helpers):
        self.random, self.helpers, self.lines, self.loops, self.fresh = random.Random(seed), helpers, [], [], 0

    def function(self, name):
        self.lines = [f"def {name}(x, y, n: int, f: float):", "    i = 2", "    k = n", "    g = 0.5", "    b = n > 1", "    c = True",
                      "    t = x - y", "    buf = torch.zeros(3)"]
        for _ in range(4):
            self.statement(1)
        self.line(1, self.result())
        return "\n".join(self.lines)

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def pick(self, *choices):
        return self.random.choice(choices)

    def result(self):
        return f"return {self.tensor(1)}, buf, {self.whole(1)}, {self.real(1)}, {self.test(1)}"

    # ------------------------------------------------------------ statements
    def block(self, depth, size):
        for _ in range(self.random.randint(1, size)):
            self.statement(depth)

    def statement(self, depth):
        kinds = ["set"] * 5 + ["write", "call"] + (["if", "if", "while", "for"] * (3 if depth < 2 else 1) if depth < 4 else [])
        getattr(self, "_" + self.pick(*kinds, *(["leave", "return"] if self.loops else [])))(depth)

    def _set(self, depth):
        kind = self.pick(*KINDS, "Tensor", "int")
        name = self.pick(*KINDS[kind])
        if kind == "Tensor" and self.random.random() < 0.2:
            a, b = self.random.sample(KINDS["Tensor"], 2)
            self.line(depth, f"{a}, {b} = {b}, {self.tensor(1)}")
        elif self.random.random() < 0.2 and kind in ("int", "float"):
            self.line(depth, f"{name} += {self.expression(kind, 1)}")
            if kind == "int":
                self.line(depth, f"{name} = {name} % 1009")
        else:
            self.line(depth, f"{name} = {self.expression(kind, 2)}")

    def _write(self, depth):
        index = f"({self.whole(1)}) % 3{self.pick('', ' - 3')}"
        self.line(depth, self.pick(f"buf[{index}] = {self.real(1)}", f"buf[{index}] = {self.tensor(0)}[({self.whole(0)}) % {SIZE}]",
                                   f"buf[{index}] += {self.tensor(0)}.mean()", f"buf.narrow(0, ({self.whole(0)}) % 2, 2).add_({self.real(0)})"))

    def _call(self, depth):
        self.line(depth, "c = not c")
        if self.helpers:
            self.line(depth, f"t, buf2, i, g, b = {self.pick(*self.helpers)}({self.tensor(1)}, {self.tensor(0)}, {self.whole(1)}, "
                             f"{self.real(1)})")
            self.line(depth, "buf = buf + buf2")

    def _if(self, depth):
        self.line(depth, f"if {self.test(2)}:")
        self.block(depth + 1, 2)
        if self.random.random() < 0.4:
            self.line(depth, f"elif {self.test(1)}:")
            self.block(depth + 1, 2)
        if self.random.random() < 0.6:
            self.line(depth, "else:")
            self.block(depth + 1, 2)

    def _while(self, depth):
        self.fresh += 1
        name = f"w{self.fresh}"
        self.line(depth, f"{name} = 0")
        self.line(depth, f"while {name} < {self.random.randint(1, 6)} and ({self.test(1)}):")
        self.line(depth + 1, f"{name} += 1")
        self.around(depth + 1)

    def _for(self, depth):
        self.fresh += 1
        few = self.pick(f"range({self.random.randint(0, 12)})", f"range({self.random.randint(6, 12)}, 0, -1)")
        bounds = self.pick(few, f"range(({self.whole(0)}) % 6)", f"range(({self.whole(0)}) % 9, {self.random.randint(-3, 3)}, -2)",
                           f"range(-2, ({self.whole(0)}) % 9, 1 + ({self.whole(0)}) % 3)")
        self.line(depth, f"for j{self.fresh} in {bounds}:")
        self.line(depth + 1, f"{self.pick(*KINDS['int'])} = j{self.fresh}")
        self.around(depth + 1)

    def around(self, depth):
        self.loops.append(None)
        self.block(depth, 3)
        self.loops.pop()

    def _leave(self, depth):
        self.line(depth, f"if {self.test(1)}:")
        self.line(depth + 1, self.pick("break", "continue"))

    def _return(self, depth):
        self.line(depth, f"if {self.test(1)} and {self.test(1)}:")
        self.line(depth + 1, self.result())

    # ------------------------------------------------------------ expressions
    def expression(self, kind, depth):
        return {"int": self.whole, "float": self.real, "bool": self.test, "Tensor": self.tensor}[kind](depth)

    def whole(self, depth):
        if depth <= 0:
            return self.pick(*KINDS["int"], str(self.random.randint(-5, 9)))
        a, b = self.whole(depth - 1), self.whole(depth - 1)
        return self.pick(f"({a} + {b}) % 1009", f"({a} * {b}) % 1013", f"{a} - {b}", f"({a}) // (1 + abs({b}))", f"({a}) % (2 + abs({b}))",
                         f"min({a}, {b})", f"int({self.tensor(depth - 1)}.argmax())", f"({a} if {self.test(depth - 1)} else {b})",
                         f"({a}) // -3", f"-({a})", f"int({self.test(depth - 1)})", f"((({a}) & 15) ^ 3)", f"(({a}) % 7) ** 2")

    def real(self, depth):
        if depth <= 0:
            return self.pick(*KINDS["float"], str(round(self.random.uniform(-2, 2), 2)))
        a, b = self.real(depth - 1), self.real(depth - 1)
        return self.pick(f"({a} + {b})", f"({a} * {b})", f"({a} - {b})", f"{a} / (1.5 + abs({b}))", f"float({self.tensor(depth - 1)}.sum())",
                         f"{self.tensor(depth - 1)}[{self.random.randrange(SIZE)}].item() * 1.0", f"float({self.whole(depth - 1)})",
                         f"max({a}, {b})", f"math.sqrt(abs({a}))", f"({a}) % (0.5 + abs({b}))", f"({self.whole(depth - 1)}) / 7",
                         f"({a} if {self.test(depth - 1)} else {b})", f"({a}) // (1.5 + abs({b}))")

    def test(self, depth):
        if depth <= 0:
            return self.pick(*KINDS["bool"], f"{self.pick(*KINDS['int'])} > {self.random.randint(-3, 5)}")
        a, b = self.test(depth - 1), self.test(depth - 1)
        sign = self.pick("<", "<=", ">", ">=", "==", "!=")
        return self.pick(f"({a} and {b})", f"({a} or {b})", f"(not {a})", f"({self.whole(depth - 1)} {sign} {self.whole(depth - 1)})",
                         f"({self.real(depth - 1)} {sign} {self.real(depth - 1)})", f"({self.real(depth - 1)} {sign} {self.whole(depth - 1)})",
                         f"bool(({self.tensor(depth - 1)} > {self.real(0)}).any())",
                         f"bool({self.tensor(depth - 1)}.sum() > {self.real(0)})", f"(0 < {self.whole(0)} <= {self.whole(0)})")

    def tensor(self, depth):
        if depth <= 0:
            return self.pick(*KINDS["Tensor"])
        a, b = self.tensor(depth - 1), self.tensor(depth - 1)
        return self.pick(f"({a} + {b})", f"({a} * {self.real(depth - 1)})", f"({a} - {self.whole(depth - 1)})", f"torch.tanh({a})",
                         f"torch.where({a} > {self.real(0)}, {a}, {b})", f"({a} / (1.5 + abs({b})))", f"{a}.flip(0)", f"{a}.cumsum(0)",
                         f"torch.stack([{a}, {b}]).max(0)[0]", f"{a}.softmax(0)")


def scripts(folder, seed):
    """A module with random functions, each third one called by the next, and one that calls the one that its last argument says."""
    text, names = "import math\n\nimport numtorch as torch\n\n\n", []
    for number in range(SCRIPTS):
        names.append(f"script{number}")
        text += Writer(seed * 1000 + number, names[-2:-1] if number % 3 == 1 else []).function(names[-1]) + "\n\n\n"
    text += "def chosen(x, y, n: int, f: float, which: int):\n"
    for number, name in enumerate(names[:-1]):
        text += f"    if which == {number}:\n        return {name}(x, y, n, f)\n"
    text += f"    return {names[-1]}(x, y, n, f)\n"
    path = folder / f"random{seed}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.chosen


@pytest.mark.parametrize("seed", range(2))
def test_random_scripts(seed, tmp_path):
    torch.manual_seed(seed)
    library = Library(tmp_path, torch.jit.script(scripts(tmp_path, seed)), torch.rand(SIZE), torch.rand(SIZE), 2, 0.5, 0)
    for which in range(SCRIPTS):
        for n, f in ((0, 0.5), (3, -1.25), (7, 2.0), (-4, 0.0), (1, float("nan"))):
            library.check(torch.randn(SIZE), torch.rand(SIZE), n, f, which, threads=(1,))
