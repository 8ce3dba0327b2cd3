"""The kernel compiler: what changes a kernel's identity, what its literals become, and that the bodies also run as Python."""
from __future__ import annotations

import importlib.metadata
import os
import re
import signal
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

import numtorch as torch
from numtorch.kernels import binding, compiler
from numtorch.kernels.binding import ScalarBody
from numtorch.kernels.compiler import compile_kernel, inspect_ir
from numtorch.kernels.installed import installed_version
from numtorch.kernels.intrinsics import local_array, local_like

jit_only = pytest.mark.skipif(compiler.DISABLE_JIT, reason="NUMBA_DISABLE_JIT: nothing is compiled when kernels run as Python")


def build(source, **scope):
    """A function from source text, as the REPL makes them: no file that Numba or inspect could read."""
    exec(textwrap.dedent(source), scope)
    return scope["f"]


def fingerprint(function, names=None, compute=None):
    return binding.fingerprint(function, names or {}, compute, frozenset())


# ---------------------------------------------------------------- identity
def nested(inner):
    def outer(x):
        return inner(x) + 1
    return outer


def module(**content):
    made = types.ModuleType("settings")
    made.__dict__.update(content)
    return made


H1, H2 = build("def f(x): return x + 1"), build("def f(x): return x + 2")
TABLE = np.arange(5000.0)
OTHER_TABLE = np.where(TABLE == 2500, -1, TABLE)
# Pairs of functions that compute different things, and so must be different kernels.
DIFFERENT = {
    "body": (build("def f(x): return x + 1"), build("def f(x): return x - 1")),
    "literal": (build("def f(x): return x + 1"), build("def f(x): return x + 2")),
    "literal's kind": (build("def f(x): return x + 1"), build("def f(x): return x + 1.0")),
    "sign of zero": (build("def f(x): return x + 0.0"), build("def f(x): return x + -0.0")),
    "global constant": (build("def f(x): return x * C", C=2), build("def f(x): return x * C", C=3)),
    "default": (build("def f(x, c=2): return x * c"), build("def f(x, c=3): return x * c")),
    "helper": (build("def f(x): return h(x)", h=H1), build("def f(x): return h(x)", h=H2)),
    "helper's helper": (build("def f(x): return h(x)", h=nested(H1)), build("def f(x): return h(x)", h=nested(H2))),
    "closure of a closure": (nested(nested(H1)), nested(nested(H2))),
    "constant of a module": (build("def f(x): return x * m.C", m=module(C=2)), build("def f(x): return x * m.C", m=module(C=3))),
    "middle of a long array": (build("def f(i): return T[i]", T=TABLE), build("def f(i): return T[i]", T=OTHER_TABLE)),
    "helper by name": (build("def f(x): return h(x)", h=np.sin), build("def f(x): return h(x)", h=np.cos)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_fingerprints_differ(name):
    first, second = DIFFERENT[name]
    assert fingerprint(first) != fingerprint(second)


def test_fingerprint_sees_names_and_compute_type():
    f = build("def f(x): return T(x)")
    marks = [fingerprint(f, {"T": np.float32}), fingerprint(f, {"T": np.float64}),
             fingerprint(f, {"T": ScalarBody(H1, "float32")}), fingerprint(f, {"T": ScalarBody(H2, "float32")}),
             fingerprint(f, {"T": ScalarBody(H1, "float64")}), fingerprint(f, {"T": ScalarBody(H1, "float32", "float")})]
    assert len(set(marks)) == len(marks)


@pytest.mark.parametrize("source, scope", [("def f(x): return x + 1", {}), ("def f(x): return h(x) * C", {"h": H1, "C": 2.5}),
                                           ("def f(n): return n if n < 2 else f(n - 1)", {})], ids=["plain", "helper", "recursive"])
def test_fingerprint_is_the_same_for_the_same_source(source, scope):
    assert fingerprint(build(source, **scope)) == fingerprint(build("\n\n" + source, **scope))


@pytest.mark.parametrize("source", ["x in {'a', 'b', 'c', 'd'}", "T(x in ('a', {'b'}))", "x in NAMES", "f(x, x)"])
def test_a_set_in_a_kernel_has_the_same_text_in_every_process(source):
    code = ("from numtorch.kernels.binding import fingerprint\nNAMES = {'a', 'b', 'c', 'd'}\n"
            f"def f(x, y=frozenset('abcd')): return {source}\nprint(fingerprint(f, {{}}, None, frozenset()))")
    seen = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                           env={**os.environ, "PYTHONHASHSEED": str(seed)}).stdout for seed in (1, 2)}
    assert len(seen) == 1 and len(seen.pop()) > 60


def test_fingerprint_is_the_same_in_another_process():
    code = ("from numtorch.kernels.binding import fingerprint; import numtorch.kernels.cpu.norm.norm as n, types; "
            "print([fingerprint(f, {}, 'float32', frozenset()) for k, f in sorted(vars(n).items()) "
            "       if isinstance(f, types.FunctionType) and not k.startswith(('plan', '_plan', 'prepare', 'shares'))])")
    seen = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                           env={**os.environ, "PYTHONHASHSEED": str(seed)}).stdout for seed in (1, 2)}
    assert len(seen) == 1 and len(seen.pop()) > 100


@jit_only
def test_helper_changed_in_a_session_is_compiled_anew():
    """A kernel over a helper, then the helper's constant assigned, then another kernel over the same helper function."""
    scope = {"C": 2}
    exec("def helper(x): return x * C", scope)
    results = []
    for constant in (2, 3):
        scope["C"] = constant
        source = "def f(x, out, descriptor):\n    for i in range(descriptor[0]):\n        out[i] = helper(x[i])\n"
        kernel = build(source, helper=scope["helper"])
        x, out, descriptor = np.ones(2), np.empty(2), np.array([2])
        compile_kernel(kernel, ("float64*", "float64*", "int64*")).call(x.ctypes.data, out.ctypes.data, descriptor.ctypes.data)
        results.append(out[0])
    assert results == [2, 3]


# ---------------------------------------------------------------- literals
def each(x, out, descriptor):
    n = descriptor[0]
    for i in range(n):
        out[i] = fn(x[i])                                # noqa: F821  (bound when compiled)


SCALE = 0.1
FORMULAS = {
    "int and float literals": lambda x: 1 / (1 + x) * 0.5,
    "named constant": lambda x: x * SCALE + 2,
    "constant of a module": lambda x: x * np.pi,
    "op of a module": lambda x: x / (1 + torch.exp(-x)),
    "helper ops": lambda x: torch.sqrt(torch.abs(x)) * 2 + torch.tanh(x),
}


@jit_only
@pytest.mark.parametrize("name", FORMULAS)
def test_float32_formulas_have_no_double(name):
    text = inspect_ir(each, ("float32*", "float32*", "int64*"), {"fn": ScalarBody(FORMULAS[name], "float32")})
    assert "fpext" not in text and "double" not in text.replace("double*", "")


@jit_only
def test_the_check_for_doubles_can_fail():
    text = inspect_ir(each, ("float32*", "float32*", "int64*"), {"fn": build("def f(x): return 1 / (1 + x)")})
    assert "double" in text


@jit_only
@pytest.mark.parametrize("name", ["helper ops", "op of a module"])
def test_loops_take_as_many_vectors_side_by_side_as_they_are_told(name):
    """Each step stores that many; several loops (of whole vectors and of what is left) do not disturb it."""
    scope = ("float64*", "float64*", "int64*"), {"fn": ScalarBody(FORMULAS[name], "float64")}
    for count in (1, 2, 4):
        blocks = re.split(r"\n\n", inspect_ir(each, *scope, interleave=count))
        assert max(len(re.findall(r"store <\d+ x double>", b)) for b in blocks) == count


@jit_only
def test_a_kernel_is_in_its_module_once():
    """The entry for Python calls the one for other kernels: no copy of the kernel is optimised, and made machine code of, for it."""
    text = inspect_ir(each, ("float32*", "float32*", "int64*"), {"fn": ScalarBody(FORMULAS["helper ops"], "float32")})
    native, python = (re.search(rf"^define [^\n]*@{name}\(.*?^}}", text, re.M | re.S).group() for name in ("kernel", "kernel_py"))
    assert "store <" in native and "store <" not in python and "call void @kernel(" in python


def test_calls_leave_the_references_to_none_as_they_are():
    def kernel(out, n):
        out[0] = n

    out = np.zeros(1, np.int64)
    for nogil in (False, True):
        call = compile_kernel(kernel, ("int64*", "int64"), nogil=nogil).call
        before = sys.getrefcount(None)
        for _ in range(1000):
            assert call(out.ctypes.data, 5) is None
        assert out[0] == 5 and abs(sys.getrefcount(None) - before) < 100


def through_a_buffer(x, n):
    first, second = local_array(np.float64, 2000), local_like(x, 2000)
    for i in range(n):
        first[i], second[i] = x[i], x[i]
    for i in range(n):
        x[i] = first[n - 1 - i] + second[i]


def test_local_arrays_are_not_filled():
    """16 KB of zeros at each call, which LLVM would take apart one by one."""
    text = inspect_ir(through_a_buffer, ("float64*", "int64"))
    assert "alloca [2000 x double]" in text and "zeroinitializer" not in text and "llvm.memset" not in text


@pytest.mark.parametrize("compute", ["float32", "float64", "int32", "int64", "uint8"])
def test_typed_literals(compute):
    body = binding.bind(lambda x: x * 3 + 7, {}, compute, "all")
    result = body(getattr(np, compute)(2))
    assert result == 13 and result.dtype == compute
    assert all(type(c).__name__ == compute for c in body.__code__.co_consts if c is not None)


def test_counting_literals_stay_integers():
    body = binding.bind(lambda x: x * 3 + 0.5, {}, "float32", "float")
    kinds = {type(c) for c in body.__code__.co_consts if c is not None}
    assert kinds == {int, np.float32}


# ---------------------------------------------------------------- ops without a source file
def test_op_defined_from_text():
    op = torch.pointwise(build("def f(x, y, *, scale=2.0): return torch.exp(-x * x) * scale + y", torch=torch), name="bell",
                         methods=False)
    op.derivative(build("def f(grad, x, scale): return grad * scale * -2 * x * torch.exp(-x * x), grad", torch=torch))
    x = torch.tensor([[0.5, -1.0, 2.0], [0.1, 0.2, 0.3]], requires_grad=True)
    out = op(x, torch.ones(2, 3))
    np.testing.assert_allclose(out.detach().numpy(), 2 * np.exp(-x.detach().numpy() ** 2) + 1, rtol=1e-6)
    out.sum().backward()
    v = x.detach().numpy()
    np.testing.assert_allclose(x.grad.numpy(), -4 * v * np.exp(-v * v), rtol=1e-5)
    y = torch.rand(3, 2).t()
    np.testing.assert_allclose(op(y, 0.0, scale=1.0).numpy(), np.exp(-y.numpy() ** 2), rtol=1e-6)


def test_op_defined_again_takes_the_new_formula():
    for factor in (2.0, 3.0):
        op = torch.pointwise(build(f"def f(x): return x * {factor}"), name="times_factor")
        assert op(torch.ones(2)).tolist() == [factor] * 2
        assert torch.ones(2).times_factor().tolist() == [factor] * 2


# ---------------------------------------------------------------- without the compiler
DISABLED = """
import numpy as np, sys
import numtorch as torch
x = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)
y = (x * torch.exp(-x) + x.t()).sum()
y.backward()
v = x.detach().numpy()
assert np.allclose(y.item(), (v * np.exp(-v) + v.T).sum(), rtol=1e-6), y
assert np.allclose(x.grad.numpy(), np.exp(-v) * (1 - v) + 1, rtol=1e-5), x.grad
from numtorch.kernels import compiler
assert compiler.statistics.compiled == compiler.statistics.loaded == 0 and "numba" not in sys.modules
print("ran as Python")
"""


def test_kernels_run_as_python():
    done = subprocess.run([sys.executable, "-c", DISABLED], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True,
                          text=True, timeout=120)
    assert done.stdout.strip() == "ran as Python", done.stderr


def test_wrong_number_of_words_is_refused():
    kernel = compile_kernel(each, ("float64*", "float64*", "int64*"), {"fn": ScalarBody(H1, "float64")})
    with pytest.raises(TypeError):
        kernel.call(0, 0)


# ---------------------------------------------------------------- names that reach helpers
def in_file(name, source, **scope):
    """A function as if it stood in a file of its own."""
    scope["__name__"] = name
    exec(source, scope)
    return scope[name]


HELPER = "def helper(n):\n    return (n + LANES - 1) // LANES * LANES\n"
KERNEL = "def kernel(out, n):\n    out[0] = helper(n)\n    out[1] = LANES\n"


def collide(helper, kernel, **options):
    helper = in_file("helper", HELPER, **helper)
    kernel = in_file("kernel", KERNEL, helper=helper, **kernel)
    return compile_kernel(kernel, ("int64*", "int64"), {"LANES": 4}, **options)


def test_a_bound_name_that_means_something_else_to_a_helper_is_refused():
    """What happened twice: a kernel's own count of lanes replaced another that a helper had under the same name."""
    with pytest.raises(NameError, match=r"'LANES', which is 8 in kernel.+ and 16 in helper"):
        collide({"LANES": 16}, {"LANES": 8})
    with pytest.raises(NameError, match="'LANES', which is 16 in what binds it and 8 in kernel"):
        collide({}, {"LANES": 8}, meant={"LANES": 16})
    with pytest.raises(NameError, match="'LANES'"):
        collide({"LANES": np.float32}, {"LANES": 16})


@pytest.mark.parametrize("line", ["out[0] = descriptor[COLUMNS]", "descriptor[COLUMNS] = 0", "out[0] = descriptor[COLUMNS + 2]", "descriptor[COLUMNS] += 1"])
def test_a_bound_name_that_is_a_place_in_a_descriptor_is_refused(line):
    """The kernel's own COLUMNS, where its descriptor has the columns, would be the number bound to the same name elsewhere."""
    kernel = in_file("kernel", f"def kernel(out, descriptor):\n    {line}\n", COLUMNS=1)
    with pytest.raises(NameError, match=r"'COLUMNS' to 8, which kernel.kernel has for a place .+x\[COLUMNS\]"):
        compile_kernel(kernel, ("int64*", "int64*"), {"COLUMNS": 8})


def test_a_bound_name_that_means_the_same_reaches_helpers():
    out = np.zeros(2, np.int64)
    for helper, kernel in (({"LANES": 16}, {"LANES": 16}), ({}, {"LANES": 8}), ({"LANES": 8}, {})):
        collide(helper, kernel).call(out.ctypes.data, 5)
        assert out.tolist() == [8, 4]


def long_loop(x, n):
    for i in range(n):
        for j in range(n):
            x[i * n + j] = x[j] * x[i] + 1.0


@binding.outlined
def long_loop_apart(x, n):
    for i in range(n):
        for j in range(n):
            x[i * n + j] = x[j] * x[i] + 1.0


def calls_twice(x, n):
    long_loop(x, n)
    long_loop(x, n - 1)


def calls_twice_apart(x, n):
    long_loop_apart(x, n)
    long_loop_apart(x, n - 1)


@jit_only
def test_kernels_share_a_helper_that_means_the_same_in_them():
    """Whatever names they bind for others of their helpers; and have one each where it is not the same."""
    helper = in_file("helper", HELPER, LANES=16)
    shared = [binding._bind_value(helper, binding.Names(names), None, binding.HOST)
              for names in ({"LANES": 4}, {"LANES": 4, "T": np.float32}, {"LANES": 4, "T": np.float64}, {"LANES": 8})]
    assert shared[0] is shared[1] is shared[2] is not shared[3]


@jit_only
def test_a_helper_that_is_marked_is_compiled_once(monkeypatch):
    """Otherwise there is a copy at each call. Both compute the same, and have keys of their own."""
    signature, found, results = ("float64*", "int64"), [], []
    for function in (calls_twice, calls_twice_apart):
        text = compiler.inspect_ir(function, signature)
        found.append(sum("long_loop" in line for line in text.splitlines() if line.startswith("define ")))
        x = np.arange(16.0)
        compile_kernel(function, signature).call(x.ctypes.data, 4)
        results.append(x.tobytes())
    assert found == [0, 1] and results[0] == results[1]
    before = binding.fingerprint(calls_twice_apart, {}, None, frozenset())
    monkeypatch.setattr(binding, "OUTLINED", {})
    assert binding.fingerprint(calls_twice_apart, {}, None, frozenset()) != before


@jit_only
def test_what_cannot_be_compiled_is_said_without_numba():
    def shifted(x, out):
        out[0] = x[0] << 1

    with pytest.raises(NotImplementedError, match=r'"shifted" not implemented for \(float32\*, float32\*\)') as caught:
        compile_kernel(shifted, ("float32*", "float32*"))
    assert caught.value.__cause__ is None and caught.value.__suppress_context__ and "<<" in caught.value.reason


def test_an_intrinsics_hash_has_what_its_module_takes_from_others(monkeypatch):
    name = "numtorch.kernels.cpu.gemm.half_tile_ir"
    monkeypatch.setattr(binding, "_hashes", {})
    before = binding.module_hash(name)
    monkeypatch.setattr(binding, "_hashes", {"numtorch.kernels.cpu.micro.microkernel": "changed"})
    assert binding.module_hash(name) != before


@pytest.mark.parametrize("line", ["from ..far import rules", "from ..far.rules import\\\n    rule", "from ..far.rules import (one,\n    rule)",
                                  "import numtorch.far.rules", "from numtorch.far import rules as r", "from .near import rule"])
def test_a_hash_follows_every_form_of_import_to_other_rooms(line, tmp_path, monkeypatch):
    """An intrinsic's machine code also depends on helpers two rooms away: an edit there must give a new kernel."""
    files = {"room/ir.py": line, "room/near.py": "from ..far.rules import rule", "far/rules.py": "def rule(): return 1",
             "room/__init__.py": "", "far/__init__.py": ""}
    for place, text in files.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(text)
    monkeypatch.setattr(binding, "_ROOT", str(tmp_path))
    monkeypatch.setattr(binding, "_hashes", {})
    before = binding.module_hash("numtorch.room.ir")
    (tmp_path / "far" / "rules.py").write_text("def rule(): return 2")
    monkeypatch.setattr(binding, "_hashes", {})
    assert binding.module_hash("numtorch.room.ir") != before


@jit_only
def test_kernels_may_outlive_their_module():
    """At the end of a process modules go in any order, and CPython reads a function's definition when that dies: one that had been
    freed, and was something else by then, ended 2 test processes of 28 by a segmentation fault."""
    script = """
        import gc
        from numtorch.kernels import compiler
        def store(x, n):
            x[0] = n
        call = compiler.compile_kernel(store, ("int64*", "int64")).call
        compiler.__dict__.clear()
        gc.collect()
        others = [bytearray(b"\\xff" * 31) for _ in range(20000)]
        del call
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=120).returncode == 0


@jit_only
@pytest.mark.parametrize("name, raised", [("SIGINT", KeyboardInterrupt), ("SIGALRM", TimeoutError), ("SIGTERM", SystemExit)])
def test_a_signal_waits_until_a_kernel_is_compiled(monkeypatch, name, raised):
    """In the middle of Numba it would leave a process that cannot compile any more."""
    number = getattr(signal, name)
    text = f"def store(x):\n    x[0] = {number + 100}"     # each its own kernel
    scope: dict = {}
    exec(text, scope)

    def save(key, code):
        signal.raise_signal(number)
        saved.append(key)
        return True

    def handler(*interrupt):
        raise raised

    saved = []
    monkeypatch.setattr(compiler.store, "load", lambda key: None)
    monkeypatch.setattr(compiler.store, "save", save)
    before = signal.signal(number, handler)              # what a shell starts in the background ignores SIGINT
    try:
        with pytest.raises(raised):
            compile_kernel(scope["store"], ("int64*",))
        assert len(saved) == 1 and signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)
    out = np.zeros(1, np.int64)
    compile_kernel(scope["store"], ("int64*",)).call(out.ctypes.data)
    assert len(saved) == 1 and out[0] == number + 100, "what was compiled meanwhile is kept"


@jit_only
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_process_compiles_after_a_timeout_in_its_first_compilation(tmp_path):
    """At any point of the first compilation: of loading LLVM and Numba too, which happens then."""
    script = """
        import signal, sys
        import numtorch as torch
        def too_late(*ignored):
            raise TimeoutError
        signal.signal(signal.SIGALRM, too_late)
        signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]), 0.1)        # again, where Python ignores it: in a destructor
        try:
            while True:
                torch.ones(3).sin()
        except TimeoutError:
            signal.setitimer(signal.ITIMER_REAL, 0)
            print("timeout", end=" ")
        print((torch.ones(3) + torch.ones(3).cos().sum() * 0).tolist())
    """
    for number, seconds in enumerate((0.01, 0.05, 0.2, 0.5)):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(seconds)], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "NUMTORCH_CACHE_DIR": str(tmp_path / str(number))})
        assert done.stdout == "timeout [1.0, 1.0, 1.0]\n", done.stderr


COMPILING = """
    import os, sys, threading, time
    import numpy as np
    from numtorch.kernels.compiler import compile_kernel

    def kernel(number):
        scope = {}
        exec(f"def store(out, n):\\n    for i in range(n):\\n        out[i] = {number}", scope)
        out = np.zeros(5, np.int64)
        compile_kernel(scope["store"], ("int64*", "int64")).call(out.ctypes.data, 5)
        return out.tolist() == [number] * 5

    def busy():
        for number in range(10 ** 6):
            if stop:
                return
            WORK

    stop = False
    thread = threading.Thread(target=busy)
    thread.start()
    for number in range(6):
        time.sleep(0.11)                                 # the first while the thread loads Numba
        child = os.fork()
        if child == 0:
            os._exit(0 if kernel(10 ** 7 + number) else 1)
        deadline = time.time() + 20
        done = 0
        while not done and time.time() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.001)
        if not done or status:
            os.kill(child, 9)
            print(f"child {number}: {status if done else 'hung'}", flush=True)
            os._exit(1)
    stop = True
    thread.join()
    assert kernel(-1)
"""


@jit_only
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("work", ["kernel(number)", "numba.njit(lambda x: x + 1)(number)"])
def test_children_forked_while_a_thread_compiles_can_compile(tmp_path, work):
    script = ("import numba\n" if "numba" in work else "") + textwrap.dedent(COMPILING).replace("WORK", work)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=200,
                          env={**os.environ, "NUMTORCH_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------- what the first kernel imports
def test_versions_are_pythons():
    """Of packages whose metadata has one folder, and of what is not there."""
    for package in ("numba", "llvmlite", "numpy", "pytest", "typing_extensions", "typing-extensions", "no-such-package"):
        try:
            expected = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            expected = "absent"
        assert installed_version(package) == expected


@jit_only
def test_the_machine_reads_no_metadata():
    """Python's way to it imports mail and tables: a fifth of what a process does before its first result."""
    program = "import sys\nfrom numtorch.kernels import compiler\ncompiler.machine()\nprint({'importlib.metadata', 'email', 'numba'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("set()\n", "")
