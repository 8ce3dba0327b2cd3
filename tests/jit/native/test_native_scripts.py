"""Scripts as libraries that keep their loops and conditions: what these compute, against the scripts as Python runs them."""
import math
import shutil
import subprocess

import numpy as np
import pytest
from nativelibrary import Library
from nativeprograms import ROWS, Decoder, settle, whole

import numtorch as torch
from numtorch.jit.native.building import find_compiler
from numtorch.kernels.compiler import DISABLE_JIT
from numtorch.kernels.debugmemory import MODE

pytestmark = pytest.mark.skipif(find_compiler() is None or DISABLE_JIT or bool(MODE), reason="no C compiler, or nothing is captured")
nn = torch.nn


@pytest.mark.parametrize(("function", "inputs"), ROWS, ids=lambda each: getattr(each, "__name__", ""))
def test_a_library_computes_what_the_script_does(function, inputs, tmp_path):
    """Bit for bit, and with an error's code where the script raises, for other arguments than the example's."""
    torch.manual_seed(1)
    script = torch.jit.script(function().eval() if isinstance(function, type) else function)
    library = Library(tmp_path, script, *inputs[0])
    for args in inputs:
        library.check(*args)


def traced(x):
    while x.sum() < 10:
        x = TRACED(x) + x.abs()
    return x


TRACED = torch.jit.trace(lambda x: torch.sin(x) * 2 + 1, torch.rand(4))


def test_scripts_from_files_and_scripts_that_call_traces_are_exported(tmp_path):
    library = Library(tmp_path, torch.jit.script(traced), torch.rand(4))
    library.check(torch.rand(4) / 9)
    torch.jit.script(Decoder().eval()).save(str(tmp_path / "decoder.pt"))
    (tmp_path / "loaded").mkdir()
    loaded = Library(tmp_path / "loaded", torch.jit.load(str(tmp_path / "decoder.pt")), torch.rand(1, 16), 0, 12)
    loaded.check(torch.rand(1, 16), 2, 20)


def views(x, i: int):
    return x[i], x.narrow(1, i, 3)


def test_the_examples_own_numbers_may_be_out_of_range(tmp_path):
    """What a number is in the example decides nothing."""
    library = Library(tmp_path, torch.jit.script(views), torch.rand(1, 3), 9)
    library.example = torch.rand(1, 3), 0
    for i in (0, -1, 1, 9):
        library.check(torch.rand(1, 3), i)


def test_integers_beyond_64_bits_are_an_error(tmp_path):
    library = Library(tmp_path, torch.jit.script(whole), 7, 2, 0.5)
    for a, b, wrong in ((1 << 62, 3, True), (1 << 62, 1, False), (-1 << 63, 1, True), (-1 << 63, -1, True), ((1 << 61) - 1, -2, False)):
        assert library(a, b, 0.5)[0] == (6 if wrong else 0), (a, b)
    a, b = (1 << 62) + 12345, 1
    code, found = library(a, b, 0.5)
    assert code == 0 and found[2] == a / b and found[0] == a // b


def inner(x, n: int):
    if n > 3:
        raise ValueError(f"n is {n:02d}, which is too */ large")
    return x


def asserting(x, n: int):
    assert x.dim() == 1, "this is known"
    x = inner(x, n)
    assert x.sum() > 0, "positive {}".format("sums")
    x = inner(x, n + 1)
    return x * x.sum().item()


def test_a_scripts_own_errors_are_codes_with_messages(tmp_path):
    library = Library(tmp_path, torch.jit.script(asserting), torch.ones(3), 1)
    assert "ValueError: n is {n}, which is too * / large */" in library.header and "AssertionError: positive sums */" in library.header
    names = {line.split()[1]: int(line.split()[2]) for line in library.header.splitlines() if "RAISED" in line}
    assert names == {"MODEL_RAISED_0": 16, "MODEL_RAISED_1": 17}
    codes = [library(torch.full((3,), value), n)[0] for value, n in ((1.0, 2), (1.0, 9), (-1.0, 1), (1.0, 3), (-1.0, 9), (math.nan, 0))]
    assert codes == [0, 16, 17, 16, 16, 17]
    library.check(torch.rand(3), 2)


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


def test_arguments_are_tensors_and_numbers(tmp_path):
    with pytest.raises(TypeError, match="expected tensors and numbers, got str"):
        torch.jit.export_native(torch.jit.script(settle), (torch.rand(3), "x"), str(tmp_path / "model"))
    with pytest.raises(TypeError, match="expected tensors, got float"):
        torch.jit.export_native(settle, (torch.rand(3), 0.1), str(tmp_path / "model"))


def test_the_decoder_runs_under_valgrind(tmp_path):
    """Views at addresses that are computed at run time stay in their tensors."""
    torch.manual_seed(1)
    script = torch.jit.script(Decoder().eval())
    h = torch.rand(1, 16)
    files = torch.jit.export_native(script, (h, 0, 12), str(tmp_path / "model"), target="x86-64-v3")
    program = tmp_path / "example"
    subprocess.run([find_compiler(), "-o", str(program), files["example"], files["library"], f"-Wl,-rpath,{tmp_path}"], check=True)
    h.numpy().tofile(tmp_path / "h.bin")
    names = [str(tmp_path / f"{name}.bin") for name in ("h", "start", "most", "out", "n", "score", "last")]
    before = [shutil.which("valgrind"), "--error-exitcode=9", "-q"] if shutil.which("valgrind") else []
    for start, most, code in ((0, 20, 0), (5, 3, 0), (0, 21, 1), (11, 2, 1)):
        np.array([start]).tofile(tmp_path / "start.bin")
        np.array([most]).tofile(tmp_path / "most.bin")
        done = subprocess.run([*before, str(program), "1", "1", *names], env={}, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        if not code:
            expected = script(h, start, most)
            assert np.fromfile(tmp_path / "out.bin", np.int64).tolist() == expected[0].tolist()
            assert np.fromfile(tmp_path / "n.bin", np.int64).item() == expected[1]
        elif most == 2:
            assert done.stderr == "error 4\n"


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(5, 5), nn.BatchNorm1d(5)

    def forward(self, x, most: int = 3):
        x = self.norm(self.linear(x))
        while bool(x.abs().max() > 1) and most > 0:
            x = x / 2
            most -= 1
        return x if bool(x[0, 0] > 0) else self.linear(x)


@pytest.mark.parametrize("freeze", [False, True])
def test_a_trace_that_calls_scripts(freeze, tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.gated = nn.Linear(4, 5), torch.jit.script(Gated())

        def forward(self, x):
            return torch.relu(self.gated(self.first(x), most=2)) + clipped(x[:, :1])
    clipped = torch.jit.script(lowered)
    torch.manual_seed(0)
    program = torch.jit.trace(Net(), torch.randn(3, 4), check_trace=False).eval()
    program = torch.jit.freeze(program) if freeze else program
    assert sum(node.op == "script" for node in program.graph.nodes) == 2
    library = Library(tmp_path, program, torch.randn(3, 4))
    for scale in (0.1, 1.0, -3.0, 20.0):
        library.check(torch.randn(3, 4) * scale)


def lowered(x):
    return x - 1 if bool(x.sum() > 2) else x * 1
