"""Exported libraries: what a C program computes with them, with nothing of Python in its process."""
import gc
import shutil
import subprocess
import time

import numpy as np
import pytest

import numtorch as torch
from numtorch.jit.native.building import find_compiler
from numtorch.kernels.compiler import DISABLE_JIT
from numtorch.kernels.debugmemory import MODE
from numtorch.kernels.targets import processor
from numtorch.tree import tensors_in

nn = torch.nn
pytestmark = pytest.mark.skipif(find_compiler() is None or DISABLE_JIT or bool(MODE), reason="no C compiler, or nothing is captured")


def mlp():
    return nn.Sequential(nn.Linear(20, 33), nn.ReLU(), nn.Linear(33, 5), nn.Softmax(1)).eval(), (torch.rand(7, 20),)


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.BatchNorm2d(16), nn.Tanh(),
                         nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 10)).eval(), (torch.rand(16, 1, 28, 28),)


def lstm():
    return nn.LSTM(16, 32, num_layers=2).eval(), (torch.rand(12, 8, 16),)


def embedding():
    table = nn.Embedding(50, 16)
    return lambda index, scale: torch.cat([table(index).sum(1) * scale, scale], 1), (torch.randint(0, 50, (4, 7)), torch.rand(4, 16))


def resampled():
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.Upsample(scale_factor=1.5, mode="bilinear"), nn.AdaptiveAvgPool2d((3, 5))).eval(), (
        torch.rand(4, 1, 8, 9),)


def divided():
    return lambda x, y: x // y + y % 7, (torch.arange(-20, 20).reshape(8, 5), torch.arange(1, 41).reshape(8, 5))


def scripted():
    return torch.jit.script(looping), (torch.rand(300, 40),)


def looping(x):
    for i in range(3):
        x = torch.tanh(x @ x.t()[:, :40]) + i
    return x, x.sum(1)


def until(x):
    while bool(x.sum() < 100):
        x = x * 2
    return x


class Exported:
    """A library with its example, compiled."""

    def __init__(self, folder, function, args, **options):
        self.folder, self.args = folder, args
        self.files = torch.jit.export_native(function, args, str(folder / "model"), **options)
        self.program = folder / "example"
        subprocess.run([find_compiler(), "-Wall", "-Wextra", "-Werror", "-g", "-o", str(self.program), self.files["example"],
                        self.files["library"], f"-Wl,-rpath,{folder}"], check=True)

    def run(self, args, outputs, threads=1, before=()):
        """The outputs' elements, as the example wrote them, and the finished process."""
        names = []
        for i, tensor in enumerate(args):
            names.append(self.folder / f"input{i}.bin")
            tensor.numpy().tofile(names[-1])
        results = [self.folder / f"output{i}.bin" for i in range(len(outputs))]
        done = subprocess.run([*before, str(self.program), str(threads), str(args[0].shape[0]), *map(str, names), *map(str, results)], env={}, capture_output=True,
                              text=True, timeout=300)
        if done.returncode:
            return done, None
        return done, [np.fromfile(path, dtype=tensor.numpy().dtype).reshape(tensor.shape) for path, tensor in zip(results, outputs)]


@pytest.mark.parametrize("make", [mlp, lenet, lstm, embedding, resampled, divided, scripted])
def test_a_library_computes_what_the_function_does(make, tmp_path):
    """Bit for bit, for other inputs than the example's, on any number of threads."""
    torch.manual_seed(0)
    function, args = make()
    exported = Exported(tmp_path, function, args)
    other = tuple(arg.flip(0) for arg in args)
    for given in (args, other):
        with torch.no_grad():
            expected = list(tensors_in(function(*given)))
        for threads in (1, 2, 7):
            done, found = exported.run(given, expected, threads)
            assert done.returncode == 0, done.stderr
            for a, b in zip(found, expected):
                np.testing.assert_array_equal(a, b.numpy())
    if make is divided:
        args[1][-1, 0] = 0
        assert exported.run(args, expected, 2)[0].stderr == "error 4\n"


@pytest.mark.parametrize("make", [mlp, lenet, embedding])
def test_the_number_of_rows_is_free_where_rows_are_computed_one_by_one(make, tmp_path):
    """Blocks of the example's size and single rows, to rounding; a bad index of a later block is found."""
    torch.manual_seed(0)
    function, args = make()
    exported = Exported(tmp_path, function, args)
    assert "batch may be any number" in (tmp_path / "model.h").read_text()
    batch = args[0].shape[0]
    for rows in (1, batch - 1, batch, 2 * batch + 3):
        given = tuple(torch.cat([arg.flip(0), arg, arg])[:rows] for arg in args)
        with torch.no_grad():
            expected = [function(*given)]
        for threads in (1, 3):
            done, found = exported.run(given, expected, threads)
            assert done.returncode == 0, done.stderr
            np.testing.assert_allclose(found[0], expected[0].numpy(), rtol=1e-5, atol=1e-5)
    if make is embedding:
        given[0][-1, 0] = 99
        assert exported.run(given, expected, 2)[0].stderr == "error 4\n"


@pytest.mark.parametrize(("make", "words"), [(lstm, "not all results have the rows"), (lambda: (lambda x: x.softmax(0), (torch.rand(3, 4),)),
                         "depends on other rows"), (lambda: (lambda x: torch.where(x + 9 > x.mean(), x, x * 2), (torch.rand(3, 4),)), "depends on other rows"), (
                         lambda: (torch.sin, (torch.rand(1, 4),)), "no two rows"), (
                             lambda: (torch.mv, (torch.rand(3, 4), torch.rand(4))), "not all arguments have the rows")])
def test_the_header_says_why_the_number_of_rows_is_fixed(make, words, tmp_path):
    function, args = make()
    exported = Exported(tmp_path, function, args)
    assert f"batch is {args[0].shape[0]}: " in (tmp_path / "model.h").read_text() and words in (tmp_path / "model.h").read_text()
    with torch.no_grad():
        expected = list(tensors_in(function(*args)))
    assert exported.run(args, expected)[0].returncode == 0
    more = (torch.cat([args[0], args[0]]), *args[1:])
    assert exported.run(more, expected)[0].stderr == "error 5\n"


def test_who_listens_to_collections_is_no_part_of_the_function(tmp_path):
    """As hypothesis does, whose clock no library can read."""
    before, listener = gc.get_threshold(), lambda phase, info: time.perf_counter()
    gc.callbacks.append(listener)
    gc.set_threshold(1, 1, 1)
    try:
        files = torch.jit.export_native(lambda x: [torch.relu(x) for _ in range(3)][-1], torch.rand(2, 3), str(tmp_path / "f"))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(listener)
    assert "int f_run(" in open(files["header"]).read()


def test_an_example_without_rows(tmp_path):
    """What it computes is computed once, and the call ends."""
    args = (torch.rand(0, 4),)
    exported = Exported(tmp_path, lambda x: (x * 2, x.sum(0) + 3), args)
    done, found = exported.run(args, [torch.rand(0, 4), torch.rand(4)])
    assert done.returncode == 0 and found[0].shape == (0, 4) and found[1].tolist() == [3.0] * 4


def test_a_library_needs_no_python(tmp_path):
    function, args = mlp()
    exported = Exported(tmp_path, function, args)
    if shutil.which("ldd"):
        needed = subprocess.run(["ldd", str(exported.program)], capture_output=True, text=True, check=True).stdout
        assert "libpython" not in needed and "model.so" in needed
    if shutil.which("nm"):
        symbols = subprocess.run(["nm", "-D", exported.files["library"]], capture_output=True, text=True, check=True).stdout
        assert "Py" not in symbols and [line.split()[-1] for line in symbols.splitlines() if " T " in line] == ["model_run"]
    header = (tmp_path / "model.h").read_text()
    assert "input: float, shape (batch, 20), row-major" in header and "MODEL_WORKSPACE_SIZE" in header


def test_errors_are_codes(tmp_path):
    """A bad index, a workspace that is too small, no threads, and null pointers."""
    function, args = embedding()
    exported = Exported(tmp_path, function, args)
    with torch.no_grad():
        expected = [function(*args)]
    bad = args[0].clone()
    bad[2, 3] = 50
    for threads in (1, 2):
        assert exported.run((bad, args[1]), expected, threads)[0].stderr == "error 4\n"
    assert exported.run(args, expected, threads=0)[0].stderr == "error 3\n"
    files = [str(tmp_path / f"{name}.bin") for name in ("input0", "input1", "output0")]
    for batch, said in (("-1", "error 5\n"), (str(2 ** 48), "malloc: Cannot allocate memory\n")):       # by the example, of any memory
        assert subprocess.run([str(exported.program), "1", batch, *files], env={}, capture_output=True, text=True).stderr == said
    main = tmp_path / "errors.c"
    main.write_text("""
        #include "model.h"
        static int64_t index[28]; static float scale[64], out[128]; static char workspace[MODEL_WORKSPACE_SIZE];
        int main(void) {
          if (model_run(4, index, scale, out, workspace, sizeof workspace - 1, 1) != MODEL_WORKSPACE) return 1;
          if (model_run(4, index, 0, out, workspace, sizeof workspace, 1) != MODEL_NULL) return 2;
          if (model_run(4, index, scale, out, 0, sizeof workspace, 1) != MODEL_NULL) return 3;
          if (model_run(-1, index, scale, out, workspace, sizeof workspace, 1) != MODEL_BATCH) return 4;
          return model_run(4, index, scale, out, workspace + 1, sizeof workspace, 1);
        }""".replace("[MODEL_WORKSPACE_SIZE]", "[MODEL_WORKSPACE_SIZE + 1]").replace("sizeof workspace", "MODEL_WORKSPACE_SIZE"))
    subprocess.run([find_compiler(), "-o", str(tmp_path / "errors"), str(main), exported.files["library"], f"-Wl,-rpath,{tmp_path}"],
                   check=True)
    assert subprocess.run([str(tmp_path / "errors")], env={}).returncode == 0


@pytest.mark.skipif(not processor.runs("x86-64-v3"), reason="this processor does not run it")
def test_a_library_for_a_baseline_touches_no_memory_but_its_own(tmp_path):
    """Its kernels have no instructions beyond the baseline's, which valgrind knows, and valgrind finds nothing."""
    torch.manual_seed(0)
    function, args = mlp()
    exported = Exported(tmp_path, function, args, target="x86-64-v3")
    with torch.no_grad():
        expected = [function(*args)]
    done, found = exported.run(args, expected, 2)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(found[0], expected[0].numpy(), rtol=1e-5, atol=1e-6)
    assert "x86-64-v3" in (tmp_path / "model.h").read_text()
    if shutil.which("objdump"):
        code = subprocess.run(["objdump", "-d", exported.files["library"]], capture_output=True, text=True, check=True).stdout
        assert "%zmm" not in code and "%ymm" in code
    if shutil.which("valgrind"):
        for threads in (1, 2):
            done, _ = exported.run(args, expected, threads, (shutil.which("valgrind"), "--error-exitcode=9", "-q", "--leak-check=full"))
            assert done.returncode == 0, done.stderr


def test_what_no_library_can_do_is_refused(tmp_path):
    path = str(tmp_path / "model")
    x = torch.rand(4)
    weight = torch.rand(4)
    for function, words in ((lambda x: x * x.sum().item(), "reads or writes elements"), (lambda x: torch.dropout(x, 0.5, True), "random draws"),
                            (lambda x: (x * 2, 3), "returns numbers(.|\n)*jit.script"),
                            (lambda x: weight.add_(x), "writes to a tensor"), (lambda x: x.add_(1), "writes to its arguments")):
        with pytest.raises(RuntimeError, match=words):
            torch.jit.export_native(function, x, path)
    with pytest.raises(RuntimeError, match=r"test_export_native.py:\d+: Python reads(.|\n)*Conditions, loops(.|\n)*jit.script"):
        torch.jit.export_native(until, x, path)
    with pytest.raises(ValueError, match="x86-64-v3"):
        torch.jit.export_native(torch.sin, x, path, target="pentium")
    with pytest.raises(ValueError, match="C functions"):
        torch.jit.export_native(torch.sin, x, str(tmp_path / "my-model"))
    with pytest.raises(TypeError, match="tensors"):
        torch.jit.export_native(torch.sin, 3, path)
