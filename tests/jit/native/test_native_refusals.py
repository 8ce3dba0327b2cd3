"""Scripts that do not fit into a library are refused, at the line that does not."""
import importlib.util
import sys

import pytest

import numtorch as torch
from numtorch.jit.native import evaluating
from numtorch.jit.native.building import find_compiler
from numtorch.kernels.compiler import DISABLE_JIT
from numtorch.kernels.debugmemory import MODE

pytestmark = pytest.mark.skipif(find_compiler() is None or DISABLE_JIT or bool(MODE), reason="no C compiler, or nothing is captured")
nn = torch.nn


def grows(x):
    found = [x]
    while found[-1].sum() < 10:
        found.append(found[-1] * 2)
    return torch.stack(found)


def reshapes(x):
    while x.sum() < 10:
        x = torch.cat([x, x])
    return x


def turns(x):
    x = x.view(1, 3).expand(3, 3).contiguous()
    while x.sum() < 10:
        x = x.t() * 2
    return x


def slices(x):
    return x[:int(x.sum())]


def sizes(x):
    return torch.zeros(int(x.sum()))


def kinds(x):
    t = 0
    while x.sum() < 10:
        x = x * 2
        t = t + x[0].item()
    return t


def aliased(x):
    y = x * 2
    z = y
    while z.sum() < 10:
        y = y + 1
        z.add_(1)
    return y, z


def aliased_branch(x):
    y = x * 2
    z = y
    if y.sum() > 1:
        y = z * 3
    y += 1
    return y, z


def aliased_list(x):
    y = x * 2
    kept = [y]
    while y.sum() < 10:
        y += 1
        y = y * 2
    return y, kept[0]


def writes(x):
    while x.sum() < 10:
        x += 1
    return x


def writes_element(x):
    x[int(x.sum())] = 2
    return x


def draws(x):
    while x.sum() < 10:
        x = x + torch.rand(3)
    return x


@torch.jit.ignore
def python(x):
    return x


def ignored(x):
    while x.sum() < 10:
        x = python(x) * 2
    return x


def prints(x):
    if x.sum() < 10:
        print(x.sum().item())
    return x


def strings(x):
    name = "a"
    if x.sum() < 10:
        name = "b"
    return x if name == "b" else x * 2


def options(x):
    return x.sum(int(x[0]))


def powers(x):
    return x ** x.sum().item()


def gradients(x):
    x.requires_grad_()
    return x * x.sum().item()


def raises(x):
    if x.sum() > 0:
        raise ValueError("one")
    raise ValueError("other")


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x):
        if x.sum() > 0:
            self.count = self.count + 1
        return x * self.count


class Adding(Counting):
    def forward(self, x):
        self.total.add_(x.sum())
        return x * self.total.item()


class Box:
    def __init__(self, x):
        self.x = x

    def get(self):
        return self.x


def objects(x):
    box = Box(x)
    return box.get() if x.sum() > 0 else x


@pytest.mark.parametrize(("function", "words", "line"), [
    (grows, "a list that grows or shrinks in a loop", "while found[-1]"),
    (reshapes, r"x is a tensor float32\[3\] before a turn of a loop and a tensor float32\[6\] after it", "while x.sum() < 10"),
    (turns, r"float32\[3, 3\]@\(1, 3\) after it", "while x.sum() < 10"), (slices, r"x.narrow\(dim, start, length\)", "return x[:int("),
    (sizes, "sizes, dimensions and options have to be known", "return torch.zeros("), (kinds, "an int before a turn of a loop and a float", "t = t + "),
    (aliased, r"clone\(\) it first", "while z.sum()"), (aliased_branch, r"clone\(\) it first", "if y.sum() > 1"),
    (aliased_list, r"clone\(\) it first", "while y.sum()"), (writes, "this writes to an argument", "x += 1"),
    (writes_element, "this writes to an argument", "x[int(x.sum())] = 2"), (draws, "random draws are not exported", "x = x + torch.rand(3)"),
    (ignored, "python is Python, and stays here", "x = python(x)"), (prints, "a library prints nothing", "print("),
    (strings, "name is 'b' on one way through the script, and 'a' on another", "return x if"), (options, "dimension", "return x.sum("),
    (powers, r"torch.tensor\(n\)", "return x ** "), (gradients, "gradients are not computed", "x.requires_grad_()"),
    (raises, "never returns", "def raises"), (Counting, "count is kept from call to call", "self.count = "),
    (Adding, "writes to a tensor that was there before", "self.total.add_"), (objects, "objects of class Box", "box = Box(x)")],
    ids=lambda each: getattr(each, "__name__", ""))
def test_what_does_not_fit_is_refused_at_its_line(function, words, line, tmp_path):
    with torch.no_grad(), pytest.raises(RuntimeError, match=words) as error:
        torch.jit.export_native(torch.jit.script(function() if isinstance(function, type) else function), torch.rand(3) / 9,
                                str(tmp_path / "model"))
    assert line in str(error.value)


def module_of(tmp_path, name, text):
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_script_that_is_too_large_when_it_is_written_out_is_refused(tmp_path, monkeypatch):
    """Each of these functions calls the one before twice, so each is twice as large."""
    text = "def f0(x, n: int):\n    return x * n\n" + "".join(
        f"def f{i}(x, n: int):\n    return f{i - 1}(x, n) + f{i - 1}(x, n)\n" for i in range(1, 40))
    module = module_of(tmp_path, "doubling", text)
    monkeypatch.setattr(evaluating, "MOST_EVALUATED", 2000)
    with pytest.raises(RuntimeError, match="2,000 expressions") as error:
        torch.jit.export_native(torch.jit.script(module.f39), (torch.rand(3), 2), str(tmp_path / "model"))
    assert "return f38(x, n)" in str(error.value)
    torch.jit.export_native(torch.jit.script(module.f5), (torch.rand(3), 2), str(tmp_path / "model"))


def test_functions_that_are_nested_too_deeply_are_refused_in_a_sentence(tmp_path):
    text = "def f0(x, n: int):\n    return x * n\n" + "".join(f"def f{i}(x, n: int):\n    return f{i - 1}(x, n)\n" for i in range(1, 400))
    module = module_of(tmp_path, "deep", text)
    with pytest.raises(RuntimeError, match="nested too deeply"):
        torch.jit.script(module.f399)
    script = torch.jit.script(module.f40)
    limit, depth, frame = sys.getrecursionlimit(), 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    try:
        sys.setrecursionlimit(depth + 200)               # of the 40 levels, fewer
        with pytest.raises(RuntimeError, match=r"export_native: functions that call each other.*nested too deeply"):
            torch.jit.export_native(script, (torch.rand(3), 2), str(tmp_path / "model"))
    finally:
        sys.setrecursionlimit(limit)
