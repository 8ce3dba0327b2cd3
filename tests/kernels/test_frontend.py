"""Numba's front end with what kernels need of it: the same machine code, and all of Numba for whoever uses more."""
from __future__ import annotations

import gc
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import numtorch as torch
from numtorch.finalisers import without_collector
from numtorch.kernels.binding import DISABLE_JIT

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="NUMBA_DISABLE_JIT: nothing is compiled")

# A process of its own, with a store of its own: compiles a few kernels, and says what their machine code is.
COMPILING = """
import contextlib, hashlib, json, os, sys
import numba.core.compiler
import numtorch as torch
from numtorch.kernels import compiler, store
from numtorch.kernels.codegen import frontend
class Whole(numba.core.compiler.Compiler):
    def define_pipelines(self):
        pipelines = super().define_pipelines()
        for each in pipelines:                           # deletions of variables can put a load in another place
            each.passes = [one for one in each.passes if one[0] is not numba.core.typed_passes.IRLegalization]
        return pipelines
if sys.argv[1] == "all of Numba":
    frontend.KernelCompiler, frontend.for_kernels = Whole, contextlib.nullcontext
found, save = {}, store.save
store.save = lambda key, code: found.update({key: hashlib.sha256(code).hexdigest()}) or False
x = torch.arange(12.0).reshape(3, 4)
torch.rand(3), x.tanh(), x.softmax(1), x.sum(1), (x.to(torch.complex64) / x), x.double().max(0), x[x > 3]
print(json.dumps(found))
"""


def in_a_process(source, *arguments, **environment):
    done = subprocess.run([sys.executable, "-c", source, *arguments], env={**os.environ, **environment}, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_machine_code_is_what_all_of_numba_makes(tmp_path):
    one, other = [json.loads(in_a_process(COMPILING, which, NUMTORCH_CACHE_DIR=str(tmp_path / which), PYTHONHASHSEED="0"))
                  for which in ("less", "all of Numba")]
    assert one == other and len(one) >= 8


FEW = """
import sys
import numtorch as torch
assert torch.arange(5.0).exp().sum().item() > 0
assert "numba.core" in sys.modules and not {"numba.np.arraymath", "numba.np.linalg", "scipy.linalg"} & set(sys.modules)
import numba, numpy as np
@numba.njit
def own(x):
    return np.zeros(3).sum() + np.linalg.norm(np.ones(4)) + x
assert own(1.0) == 3.0
from numtorch.kernels.compiler import compile_kernel
@numba.njit
def calls_numpy(n):
    return np.arctan2(n, n) + np.int16(n)
def kernel(out, n):
    out[0] = calls_numpy(n)
out = np.zeros(1)
compile_kernel(kernel, ("float64*", "int64")).call(out.ctypes.data, 5)
assert abs(out[0] - 5.785398163397448) < 1e-12
"""


def test_few_implementations_are_loaded_and_users_functions_find_them_all(tmp_path):
    in_a_process(FEW, NUMTORCH_CACHE_DIR=str(tmp_path))


def test_a_kernel_that_needs_more_than_numbers_is_compiled():
    from numtorch.kernels.compiler import compile_kernel

    def kernel(out, n):
        total = 0
        for word in ("a", "bb", "ccc"):
            total += len(word) * n
        twice = lambda x: 2 * x
        out[0] = twice(total)

    out = np.zeros(1, np.int64)
    compile_kernel(kernel, ("int64*", "int64")).call(out.ctypes.data, 5)
    assert out[0] == 60


COUNTING = """
import collections, gc, inspect
import llvmlite.ir
import numpy as np
import numba.np.numpy_support
from numba.core import errors, event, ir, lowering, postproc
from numba.core.typing import builtins, context, npydecl
from numtorch.kernels.codegen import frontend
from numtorch.kernels.compiler import compile_kernel
counts = collections.Counter()
def counted(owner, name, what):
    function = getattr(owner, name)
    def call(*args, **kwargs):
        counts[what] += 1
        return function(*args, **kwargs)
    setattr(owner, name, call)
counted(postproc.PostProcessor, "run", "lifetimes")
counted(context.BaseContext, "resolve_overload", "ratings")
counted(npydecl, "ufunc_find_matching_loop", "loops")
counted(inspect, "_signature_from_callable", "signatures")
counted(llvmlite.ir.Type, "_get_ll_global_value_type", "sizes")
counted(builtins, "make_callable_template", "calls of numbers")
counted(lowering.Lower, "delvar", "deletions")
counted(lowering, "new_error_context", "contexts of errors")
counted(frontend.KernelCompiler, "define_pipelines", "functions")

def larger_than(x, y):
    return x > y and (x - y) * 2 > 1

def kernel(out, n):
    total = 0
    for i in range(n):
        total += i if larger_than(i, 3) else -i
    out[0] = np.int32(total)

def another(out, n):
    product = 1
    for i in range(n):
        product += product * i if larger_than(i, 3) else -product
    out[0] = np.int32(product)

out, told, rated, found = np.zeros(1, np.int64), [], [], []
for function, result in (kernel, 24), (another, 0):
    with event.install_recorder("numba:llvm_lock") as calls:
        compile_kernel(function, ("int64*", "int64")).call(out.ctypes.data, 9)
    assert out[0] == result, out
    told.append(len(calls.buffer))
    rated.append(counts.pop("ratings"))
    found.append({name: counts.pop(name, 0) for name in ("signatures", "sizes", "calls of numbers")})
print(counts, told, rated, found)
assert told[1] < 100, told                               # of 440
assert rated[1] < 10 < rated[0], rated                   # of 17
assert counts["functions"] == 3 and not any(counts[name] for name in ("lifetimes", "loops", "deletions", "contexts of errors"))
assert found[0]["sizes"] and found[0]["calls of numbers"] and not found[1]["sizes"] and not found[1]["calls of numbers"], found
assert found[1]["signatures"] < 10, found
gc.collect()
kept = sum(isinstance(each, ir.Expr) for each in gc.get_objects())
assert not kept, kept
"""


def test_what_numba_finds_out_of_a_kernel_is_found_out_once_and_nothing_of_it_is_kept(tmp_path):
    in_a_process(COUNTING, NUMTORCH_CACHE_DIR=str(tmp_path))


def test_variables_of_a_statement_are_those_that_numba_finds_in_their_order():
    from numba.core.compiler import run_frontend

    from numtorch.kernels.codegen import frontend, shortcuts

    def function(x, n, more, key=0):
        pair = (x, n), [x, more, key]
        table = {n: pair, key: x[n:key]}
        for i in range(n):
            if x[i] > function(i, more, key=table[i][0]):
                x[i, n] += -pair[0][1]
        return table, f"{x} of {n}"

    statements = [each for block in run_frontend(function).blocks.values() for each in block.body]

    def found():
        return [[variable.name for variable in each.list_vars()] for each in statements]
    before = found()
    with shortcuts.replaced(frontend._shortcuts):
        assert found() == before and len(before) > 30


def test_a_kernel_that_calls_a_generator_is_compiled():
    from numtorch.kernels.compiler import compile_kernel

    def odd(n):
        for i in range(n):
            if i % 2 == 1:
                yield i

    def kernel(out, n):
        total = 0
        for i in odd(n):
            total += i
        out[0] = total

    out = np.zeros(1, np.int64)
    compile_kernel(kernel, ("int64*", "int64")).call(out.ctypes.data, 10)
    assert out[0] == 25


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_waits_while_a_kernel_is_compiled(on):
    before = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with without_collector():
            assert not gc.isenabled()
        assert gc.isenabled() == on
    finally:
        (gc.enable if before else gc.disable)()


def test_a_failed_compilation_leaves_the_collector_on():
    @torch.pointwise(methods=False)
    def odd(x):
        return x << 1.5
    with pytest.raises((NotImplementedError, TypeError, RuntimeError)):
        odd(torch.ones(3))
    assert gc.isenabled()
