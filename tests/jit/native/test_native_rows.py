"""Libraries of scripts for any number of rows: where rows are computed of their own whatever the script decides, and where not, why."""
import shutil
import subprocess

import numpy as np
import pytest
from nativelibrary import CODES, Library

import numtorch as torch
from numtorch.jit.native.building import find_compiler
from numtorch.kernels.compiler import DISABLE_JIT
from numtorch.kernels.debugmemory import MODE
from numtorch.tree import flatten

pytestmark = pytest.mark.skipif(find_compiler() is None or DISABLE_JIT or bool(MODE), reason="no C compiler, or nothing is captured")
nn = torch.nn


class Recurrent(nn.Module):
    """As many steps as are wanted, with ways that only some numbers take."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(6, 9), nn.Linear(9, 4)

    def step(self, x, h, k: int):
        if k % 2 == 0:
            return self.cell(x, h)
        return self.cell(x * k, h).tanh()

    def forward(self, x, steps: int, scale: float, soft: bool):
        assert steps < 30
        h = torch.zeros(x.shape[0], 9)
        k = 0
        for i in range(steps):
            h = self.step(x, h, i)
            if float(i) * scale > 3.0:
                k = i
                break
        y = self.out(h)
        return y.softmax(1) if soft else y, k, h


def columns(x, index, i: int):
    y = x[:, i]
    out = torch.zeros(x.shape[0], 3)
    out[:, i] = y * 2
    picked = x.gather(1, index)
    n = [4, 5, 6][i]
    while n > 0:
        picked = torch.cat([picked[:, 1:], y[:, None]], 1)
        n -= i + 1
    return out, picked, x.flatten()[:x.shape[0] * 3].view(-1, 3) + i, n


def early(x, n: int):
    if n < 0:
        return x.transpose(0, 1).transpose(0, 1) * 2, n
    parts = [x, x * 2]
    for j in range(n):
        parts[1] = parts[1] + parts[0] / (j + 1)
        if j == 5:
            return parts[1], -j
    return parts[1].view(-1).view(x.shape), n


FREE = [(Recurrent, (6,), [(3, 0.5, True), (0, 0.5, False), (9, 1.0, False), (29, 0.0, True), (40, 0.0, True)]),
        (columns, (3,), [(0,), (2,), (1,), (3,)]), (early, (2, 5), [(3,), (-2,), (0,), (9,), (6,)])]


@pytest.mark.parametrize(("function", "shape", "numbers"), FREE, ids=lambda each: getattr(each, "__name__", ""))
def test_the_number_of_rows_is_free_where_no_decision_looks_at_elements(function, shape, numbers, tmp_path):
    """Blocks and single rows, on all ways that numbers take it, against the script; numbers as results, and errors, are the script's."""
    torch.manual_seed(1)
    script = torch.jit.script(function().eval() if isinstance(function, type) else function)

    def given(rows):
        return (torch.rand(rows, *shape), *([torch.randint(0, 3, (rows, 4))] if function is columns else []))
    library = Library(tmp_path, script, *given(5), *numbers[0])
    assert library.is_free and "any number from 1 on" in library.header
    for rows in (5, 1, 3, 10, 13):
        tensors = given(rows)
        for values in numbers:
            try:
                expected, wrong = flatten(script(*tensors, *values))[0], 0
            except AssertionError:
                expected, wrong = [], 16
            except tuple(CODES) as error:
                expected, wrong = [], CODES[type(error)]
            for threads in (1, 3):
                code, found = library(*tensors, *values, rows=rows, threads=threads)
                assert code == wrong, (values, code)
                for a, b in zip(found, expected):
                    np.testing.assert_allclose(a, b.detach().numpy() if isinstance(b, torch.Tensor) else b, rtol=1e-5, atol=1e-6)
    assert library(*given(1), *numbers[0], rows=0)[0] == 5 and library(*given(1), *numbers[0], rows=-1)[0] == 5


def elements(x, n: int):
    if x.sum() > n:
        return x * 2
    return x


def elsewhere(x, n: int):
    if n > 50:                                           # not so in the example
        x = x - x.mean(0)
    return x * n


def hidden(x, n: int):
    return x + x.mean(0) * float(n > 10**6)


def chosen(x, n: int):
    return torch.where(torch.tensor(n) > 10**6, x.mean(0), x)


def overwritten(x, n: int):
    y = torch.zeros_like(x)
    if n > 3:
        y[:] = x.mean(0)
    else:
        y[:] = x
    return y


def looped(x, n: int):
    for _ in range(n):
        x = x / x.sum(0) * 3
    return x


def counted(x, n: int):
    if n > x.shape[0]:
        return x * 2
    return x


def told(x, n: int):
    return x * 2, n + x.shape[0]


def said(x, n: int):
    assert n > 0, f"{x.shape[0]} rows"
    return x


def compared(x, n: int):
    return torch.where(x > x.mean(0), x, x * n)          # NaN compares as a row alone does


def compared_below(x, n: int):
    return torch.where(x + 9 > x.mean(), x, x * n)       # so of all rows of the example, and of each alone


def neighbours(x, n: int):
    return x.roll(1, 0) * n


def sums(x, n: int):
    return x.sum() * n


def weighted(x, w, n: int):
    return x @ w * n


def larger(x, n: int):
    return x.view(-1, 2 if x.shape[0] > 1 else 4)[:x.shape[0]] * n


@pytest.mark.parametrize(("function", "words"), [
    (elements, f"line {elements.__code__.co_firstlineno + 1} of elements reads an element"), (elsewhere, "depends on other rows"), (hidden, "depends on other rows"),
    (chosen, "depends on other rows"), (overwritten, "depends on other rows"), (looped, "depends on other rows"),
    (counted, "how many rows there are"), (told, "how many rows there are"), (said, "how many rows there are"),
    (compared, "depends on other rows"), (compared_below, "depends on other rows"), (neighbours, "depends on other rows"), (sums, "not all results"), (weighted, "not all arguments"), (larger, "sizes of results")],
    ids=lambda each: getattr(each, "__name__", ""))
def test_the_header_says_why_the_number_of_rows_is_fixed(function, words, tmp_path):
    """What only some numbers show, too."""
    x = torch.rand(4, 4)
    args = (torch.rand(4, 3), torch.rand(3, 4), 3) if function is weighted else (x, 3)
    library = Library(tmp_path, torch.jit.script(function), *args)
    assert words in " ".join(library.header.split()) and not library.is_free
    library.check(*args)
    if function is not weighted:
        library.check(x * 2 - 1, 60)


def test_one_row_has_nothing_to_be_compared_with(tmp_path):
    library = Library(tmp_path, torch.jit.script(early), torch.rand(1, 2, 5), 3)
    assert "the example has no two rows" in library.header
    assert library(torch.rand(2, 2, 5), 3, rows=2)[0] == 5


def test_the_example_runs_for_other_numbers_of_rows_and_touches_no_memory_but_its_own(tmp_path):
    """In a process of its own, under valgrind where there is one, on one thread and on several."""
    script = torch.jit.script(early)
    x = torch.linspace(0.1, 7, 13 * 40 * 30).view(13, 40, 30)
    files = torch.jit.export_native(script, (x[:5].clone(), 3), str(tmp_path / "model"), target="x86-64-v3")
    program = tmp_path / "example"
    subprocess.run([find_compiler(), "-Wall", "-Wextra", "-Werror", "-o", str(program), files["example"], files["library"],
                    f"-Wl,-rpath,{tmp_path}"], check=True)
    before = [shutil.which("valgrind"), "--error-exitcode=9", "-q", "--leak-check=full"] if shutil.which("valgrind") else []
    names = [str(tmp_path / f"{name}.bin") for name in ("x", "n", "out", "number")]
    for threads, rows, n in (("1", 13, 2), ("2", 7, 9), ("1", 3, -1)):
        x[:rows].numpy().tofile(names[0])
        np.array([n]).tofile(names[1])
        done = subprocess.run([*before, str(program), threads, str(rows), *names], env={}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        expected, number = script(x[:rows], n)
        np.testing.assert_allclose(np.fromfile(names[2], np.float32).reshape(expected.shape), expected.numpy(), rtol=1e-5)
        assert np.fromfile(names[3], np.int64).item() == number
