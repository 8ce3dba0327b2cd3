"""Threads: parts cover the work once, results do not depend on their number, forks and Python threads are safe."""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import numtorch as torch
from numtorch.kernels import compiler, threads
from numtorch.kernels.compiler import compile_kernel
from numtorch.kernels.intrinsics import atomic_add, atomic_load, offset, pause
from numtorch.ops.core.primitive import new_plan_table

jit_only = pytest.mark.skipif(compiler.DISABLE_JIT, reason="NUMBA_DISABLE_JIT: nothing runs in threads")
can_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def count(x, descriptor):
    """Add 1 to each of descriptor[0] elements: parts that overlap or leave a gap show."""
    for i in range(descriptor[0]):
        x[i] += 1


def add_workspace(x, work, descriptor):
    """Through scratch memory of its own: two parts that share it show."""
    n = descriptor[0]
    for repeat in range(50):
        for i in range(n):
            work[i] = x[i]
        for i in range(n):
            x[i] = work[i] + 1


def meet(met, descriptor):
    """Say that this part has begun, and wait for the other for up to a few seconds of pauses."""
    atomic_add(met, 1)
    for _ in range(200_000_000):
        if atomic_load(met) >= 2:
            break
        pause()
    atomic_add(offset(met, 1), atomic_load(met) - 1)


@pytest.fixture
def thread_count():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def parts_of(n, parts):
    edges = [n * p // parts for p in range(parts + 1)]
    return [[b - a] for a, b in zip(edges, edges[1:])], [[a * 8] for a in edges[:-1]]


# ---------------------------------------------------------------- the parallel-for
@pytest.mark.parametrize("n, parts", [(0, 1), (1, 1), (1, 2), (7, 3), (1000, 2), (1000, 7), (97, 64)])
def test_every_part_runs_once(n, parts):
    kernel = compile_kernel(count, ("int64*", "int64*"))
    rows, offsets = parts_of(n, parts)
    prepared = threads.prepare(kernel, rows, offsets)
    x = np.zeros(n + 2, np.int64)
    for _ in range(3):
        prepared.call(x[1:].ctypes.data, prepared.descriptor)
    assert x[0] == x[-1] == 0 and (x[1:-1] == 3).all()


def test_parts_have_workspaces_of_their_own():
    kernel = compile_kernel(add_workspace, ("int64*", "int64*", "int64*"))
    n, parts = 4096, 4
    rows, offsets = parts_of(n, parts)
    prepared = threads.prepare(kernel, rows, offsets, workspace=n // parts * 8)
    x, work = np.zeros(n, np.int64), np.empty(prepared.workspace // 8, np.int64)
    for _ in range(20):
        prepared.call(x.ctypes.data, work.ctypes.data, prepared.descriptor)
    assert (x == 1000).all()


@jit_only
def test_workers_help():
    """Two parts that each wait for the other to begin can only end when two threads run them."""
    kernel = compile_kernel(meet, ("int64*", "int64*"))
    prepared = threads.prepare(kernel, [[0], [0]], [[0], [0]])
    met = np.zeros(2, np.int64)
    prepared.call(met.ctypes.data, prepared.descriptor)
    assert threads.workers() >= 1 and list(met) == [2, 2]


@jit_only
@pytest.mark.parametrize("rest", [0, 2e-5, 6e-4, 5e-3], ids=["at once", "looking", "falling asleep", "asleep"])
def test_workers_are_woken(rest):
    kernel = compile_kernel(count, ("int64*", "int64*"))
    rows, offsets = parts_of(4096, 3)
    prepared = threads.prepare(kernel, rows, offsets)
    x = np.zeros(4096, np.int64)
    for repeat in range(200):
        prepared.call(x.ctypes.data, prepared.descriptor)
        assert (x == repeat + 1).all()
        time.sleep(rest)


@jit_only
def test_workers_fall_asleep():
    kernel = compile_kernel(count, ("int64*", "int64*"))
    prepared = threads.prepare(kernel, *parts_of(4096, 3))
    x = np.zeros(4096, np.int64)
    prepared.call(x.ctypes.data, prepared.descriptor)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.1            # a worker that looked all the time would have taken 0.2


@jit_only
def test_launches_from_several_threads_share_the_pool():
    kernel = compile_kernel(count, ("int64*", "int64*"))
    rows, offsets = parts_of(3000, 5)
    prepared = threads.prepare(kernel, rows, offsets)
    arrays = [np.zeros(3000, np.int64) for _ in range(6)]

    def work(x):
        for _ in range(2000):
            prepared.call(x.ctypes.data, prepared.descriptor)

    running = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert all((x == 2000).all() for x in arrays)


@jit_only
def test_the_pool_ends_with_the_process():
    program = "import numtorch as torch\ntorch.set_num_threads(2)\nx = torch.randn(500_000)\nprint((x + x).sum() is not None)"
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_too_many_words_are_refused():
    kernel = compiler.Kernel("wide", None, 0, ("int64",) * (threads.MAX_ARGUMENTS + 1))
    with pytest.raises(ValueError, match="at most"):
        threads.prepare(kernel, [[1], [1]], [[0] * threads.MAX_ARGUMENTS] * 2)


# ---------------------------------------------------------------- the setting
@pytest.mark.parametrize("value, error", [(0, RuntimeError), (-3, RuntimeError), (2.0, TypeError), ("2", TypeError),
                                          (None, TypeError), (True, TypeError)])
def test_set_num_threads_refuses(value, error):
    before = torch.get_num_threads()
    with pytest.raises(error, match="set_num_threads"):
        torch.set_num_threads(value)
    assert torch.get_num_threads() == before


def test_plans_are_made_again_for_another_number_of_threads():
    table, before = new_plan_table(), torch.get_num_threads()
    table.keep("a split in two", "for two threads")
    torch.set_num_threads(before)
    assert not table


@pytest.mark.parametrize("environment, expected", [({"NUMTORCH_NUM_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": "5"}, 5),
                                                   ({"NUMTORCH_NUM_THREADS": "1", "OMP_NUM_THREADS": "5"}, 1)])
def test_count_from_environment(monkeypatch, environment, expected):
    for name in ("NUMTORCH_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert threads._count_from_environment() == expected


@pytest.mark.parametrize("value", ["", "0", "-2", "many"])
def test_nonsense_in_the_environment_is_ignored(monkeypatch, value):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("NUMTORCH_NUM_THREADS", value)
    assert threads._count_from_environment() >= 1


# ---------------------------------------------------------------- results
rng = np.random.default_rng(0)
BIG = rng.standard_normal(300_000)
MATRIX = rng.standard_normal((257, 301)).astype(np.float32)
CALCULATIONS = {
    "pointwise": lambda: torch.exp(torch.from_numpy(BIG)) * 2,
    "transposed": lambda: torch.from_numpy(BIG.reshape(500, 600)).t() + torch.from_numpy(BIG.reshape(600, 500)),
    "sum over rows": lambda: torch.from_numpy(BIG.reshape(500, 600)).sum(1),
    "matrix product": lambda: torch.from_numpy(MATRIX) @ torch.from_numpy(MATRIX).t(),
    "cast": lambda: torch.from_numpy(BIG).to(torch.float32),
}


@pytest.mark.parametrize("name", CALCULATIONS)
def test_results_do_not_depend_on_the_number_of_threads(name, thread_count):
    results = []
    for number in (1, 2, 3, 5):
        thread_count(number)
        results.append(CALCULATIONS[name]().numpy())
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_full_sum_is_close_for_any_number_of_threads(thread_count):
    for number in (1, 2, 3, 7):
        thread_count(number)
        assert torch.from_numpy(BIG).sum().item() == pytest.approx(BIG.sum(), rel=1e-12)


def test_random_numbers_do_not_depend_on_the_number_of_threads(thread_count):
    results = []
    for number in (1, 3):
        thread_count(number)
        torch.manual_seed(7)
        results.append(torch.randn(200_001).numpy().copy())
    np.testing.assert_array_equal(*results)


# ---------------------------------------------------------------- several Python threads
def test_python_threads_call_ops_at_once():
    errors = []

    def work(seed):
        try:
            x = np.random.default_rng(seed).standard_normal((120, 700))
            for _ in range(15):
                a = torch.tensor(x, requires_grad=True)
                out = (a * a).sum() + torch.exp(a).sum()
                out.backward()
                np.testing.assert_allclose(a.grad.numpy(), 2 * x + np.exp(x), rtol=1e-10)
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not errors, errors[0]


# ---------------------------------------------------------------- forks
FORKS = textwrap.dedent("""
    import os, sys, threading, time
    import numpy as np
    import numtorch as torch
    from numtorch.kernels import threads
    torch.set_num_threads(2)
    sys.setswitchinterval(1e-5)                          # forks then fall between any two steps of the other thread
    x = torch.from_numpy(np.random.default_rng(0).standard_normal(400_000))
    expected = (x * x + torch.exp(x)).numpy()
    stop = False
    def busy():
        size = 20_000
        while not stop:
            x * x + torch.exp(x)
            size += 1                                    # new layouts, blocks and plans, which take locks
            torch.ones(size) + torch.ones(size)
    if sys.argv[1] == "busy":
        worker = threading.Thread(target=busy)
        worker.start()
    for number in range(int(sys.argv[2])):
        child = os.fork()
        if child == 0:
            right = np.array_equal((x * x + torch.exp(x)).numpy(), expected) and threads.workers() == 0
            right = right and torch.ones(400_000 + number).mul(2).sum().item() == 800_000 + 2 * number
            right = right and threads.workers() == 0
            os._exit(0 if right else 1)
        deadline = time.time() + 20
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            if time.time() > deadline:
                os.kill(child, 9)
                os.waitpid(child, 0)
                status = "hung"
                break
            time.sleep(0.001)
        if status:
            stop = True
            sys.exit(f"child {number}: {status}")
    stop = True
    again = (x * x + torch.exp(x)).numpy()
    sys.exit(0 if np.array_equal(again, expected) else "the parent's results changed")
""")


@can_fork
@pytest.mark.parametrize("parent, children", [("idle", 10), ("busy", 30)])
def test_forked_children_run_serially(parent, children):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS, parent, str(children)], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr


@jit_only
def test_launchers_of_all_counts_share_the_code_of_the_pool():
    shared = len(compiler.object_code_of(threads._launches_all())[1])
    for count in (2, 5, 9):
        assert len(compiler.object_code_of(threads._launcher(count))[1]) < shared / 2
