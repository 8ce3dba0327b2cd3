"""Scripts as libraries that keep their loops and conditions: what these compute, against the scripts as Python runs them."""
import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest

import numtorch as torch
from numtorch.jit.native.building import find_compiler
from numtorch.kernels.compiler import DISABLE_JIT
from numtorch.kernels.debugmemory import MODE
from numtorch.tree import flatten

pytestmark = pytest.mark.skipif(find_compiler() is None or DISABLE_JIT or bool(MODE), reason="no C compiler, or nothing is captured")
NUMBERS = {bool: (ctypes.c_uint8, np.uint8), int: (ctypes.c_int64, np.int64), float: (ctypes.c_double, np.float64)}
CODES = {OverflowError: 6, ZeroDivisionError: 7, ValueError: 8, IndexError: 4}
nn = torch.nn


class Library:
    """An exported script, called from here."""

    def __init__(self, folder, function, *example):
        self.function, self.example = function, example
        self.files = torch.jit.export_native(function, example, str(folder / "model"))
        self.header = (folder / "model.h").read_text()
        self.run = ctypes.CDLL(self.files["library"]).model_run
        size = next(line for line in self.header.splitlines() if "WORKSPACE_SIZE" in line)
        self.workspace = ctypes.create_string_buffer(int(size.partition("size_t)")[2].partition(")")[0]))
        self.batch = int(self.header.partition("_ROWS ")[2].split()[0])

    def __call__(self, *args, threads=1):
        """The code, and the results as arrays."""
        with torch.no_grad():
            results = flatten(self.function(*self.example))[0]
        outputs = [np.zeros(tuple(each.shape), each.numpy().dtype) if isinstance(each, torch.Tensor) else
                   np.zeros((), NUMBERS[type(each)][1]) for each in results]
        given = [ctypes.c_void_p(each.contiguous().data_ptr()) if isinstance(each, torch.Tensor) else NUMBERS[type(each)][0](each)
                 for each in args]
        code = self.run(ctypes.c_int64(self.batch), *given, *[ctypes.c_void_p(each.ctypes.data) for each in outputs], self.workspace,
                        ctypes.c_size_t(len(self.workspace)), ctypes.c_int(threads))
        return code, outputs

    def check(self, *args, threads=(1, 2)):
        """Compare with the script, bit for bit; where that raises, with the error's code."""
        try:
            with torch.no_grad():
                expected, wrong = flatten(self.function(*args))[0], None
        except (ArithmeticError, ValueError, IndexError) as error:
            wrong = next(code for kind, code in CODES.items() if isinstance(error, kind))
        for count in threads:
            code, found = self(*args, threads=count)
            assert code == (wrong or 0), (code, wrong)
            for a, b in zip(found, expected if wrong is None else ()):
                if not isinstance(b, torch.Tensor):
                    b = np.asarray(b, NUMBERS[type(b)][1])
                    assert math.copysign(1, a) == math.copysign(1, b) or b != b
                np.testing.assert_array_equal(a, b if isinstance(b, np.ndarray) else b.numpy())


def settle(x, limit: float = 1e-3):
    steps = 0
    while True:
        new = 0.5 * (x + 1 / x)
        steps += 1
        if float((new - x).abs().max()) < limit or steps > 50:
            break
        x = new
    return x, steps


def test_a_loop_until_something_settles(tmp_path):
    script = torch.jit.script(settle)
    library = Library(tmp_path, script, torch.tensor([2., 3.]), 1e-3)
    assert "double input1" in library.header and "int64_t *output1" in library.header
    for values in ([2., 3.], [1., 1.], [1e-3, 500.], [math.nan, 1.], [math.inf, 2.], [-4., 0.]):
        for limit in (1e-3, 1e-7, 0.5, math.nan, math.inf):
            library.check(torch.tensor(values), limit)


def test_the_example_runs_under_valgrind(tmp_path):
    """In a process of its own, with nothing of Python in it, and no memory touched but its own."""
    script = torch.jit.script(settle)
    x = torch.linspace(0.1, 7, 1000)
    files = torch.jit.export_native(script, (x, 1e-3), str(tmp_path / "model"), target="x86-64-v3")
    program = tmp_path / "example"
    subprocess.run([find_compiler(), "-Wall", "-Wextra", "-Werror", "-o", str(program), files["example"], files["library"],
                    f"-Wl,-rpath,{tmp_path}"], check=True)
    x.numpy().tofile(tmp_path / "x.bin")
    np.array([1e-6]).tofile(tmp_path / "limit.bin")
    before = [shutil.which("valgrind"), "--error-exitcode=9", "-q", "--leak-check=full"] if shutil.which("valgrind") else []
    for threads in ("1", "2"):
        done = subprocess.run([*before, str(program), threads, "1000", *[str(tmp_path / f"{name}.bin") for name in (
            "x", "limit", "out", "steps")]], env={}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        expected, steps = script(x, 1e-6)
        np.testing.assert_allclose(np.fromfile(tmp_path / "out.bin", np.float32), expected.numpy(), rtol=1e-5)
        assert np.fromfile(tmp_path / "steps.bin", np.int64).item() == steps
