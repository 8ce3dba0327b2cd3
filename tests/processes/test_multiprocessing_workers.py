"""Pools and `spawn`: what Python's do, what happens when a process is killed, and what travels that no worker could import."""
from __future__ import annotations

import importlib
import itertools
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest
from family import in_use

import numtorch as torch
import numtorch.multiprocessing as mp
from bench.runner.workers import network
from numtorch.kernels import compiler, threads
from numtorch.multiprocessing import process as starting


# ---------------------------------------------------------------- pools
def square(x):
    return x * x


def fail_at_three(x):
    if x == 3:
        raise LookupError("no threes")
    return x


def killed_at_three(x):
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def fill(tensor):
    return tensor.add_(1).sum()


def test_pools(context):
    with context.Pool(2) as pool:
        assert pool.map(square, range(20)) == [x * x for x in range(20)]
        assert pool.apply(pow, (2, 5)) == 32 and pool.starmap(pow, [(2, 3), (3, 2)]) == [8, 9]
        assert list(itertools.islice(pool.imap(square, itertools.count()), 30)) == [x * x for x in range(30)]
        assert sorted(pool.imap_unordered(square, range(9), chunksize=2)) == [x * x for x in range(9)]
        bound = 3
        assert pool.map(lambda x: x + bound, range(3)) == [3, 4, 5]
        x = torch.zeros(4)
        assert [s.item() for s in pool.map(fill, [x], chunksize=1)] == [4] and x.tolist() == [1] * 4
        assert isinstance(pool.apply(ValueError, ("returned",)), ValueError)
        with pytest.raises(LookupError, match="no threes") as caught:
            pool.map(fail_at_three, range(5))
        assert "in fail_at_three" in str(caught.value.__cause__)
        start = time.monotonic()
        with pytest.raises(mp.ProcessExitedException, match="SIGKILL: most often the system's") as killed:
            pool.map(killed_at_three, range(5), chunksize=1)
        assert killed.value.signal_name == "SIGKILL" and time.monotonic() - start < 5
        assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]         # another worker took its place
    with pytest.raises(ValueError, match="not running"):
        pool.map(square, [1])


class Unsendable(Exception):
    """Python pickles exceptions by `args`, of which this has one and takes two."""

    def __init__(self, what, where):
        super().__init__(f"{what} at {where}")


class Coded(Exception):
    def __init__(self, code, x):
        super().__init__(code, x)
        self.code, self.x = code, x


def raise_one(kind, x):
    raise Unsendable("stop", 3) if kind == "unsendable" else Coded(7, x)


def test_exceptions_come_back_as_themselves(fork):
    """With what they carry, tensors by handle. Of one that cannot be pickled its text comes, and its traceback all the same."""
    x = torch.ones(2)
    with fork.Pool(1) as pool:
        with pytest.raises(Coded) as caught:
            pool.apply(raise_one, ("coded", x))
        assert caught.value.code == 7 and caught.value.x.untyped_storage() is x.untyped_storage()
        assert "in raise_one" in str(caught.value.__cause__)
        with pytest.raises(RuntimeError, match=r"stop at 3.*cannot be pickled") as caught:
            pool.apply(raise_one, ("unsendable", x))
        assert "in raise_one" in str(caught.value.__cause__)
        assert pool.apply(square, (3,)) == 9


@pytest.mark.parametrize("name, cause", [
    ("SIGKILL", "no more memory"), ("SIGTERM", "somebody ended it"), ("SIGSEGV", "machine code"), ("SIGABRT", "a library gave up"),
    ("SIGBUS", "no memory left"), ("SIGILL", "another processor"), ("SIGXCPU", "ulimit -t"), ("SIGUSR1", "")])
def test_signals_are_named_with_their_usual_cause(name, cause, fork):
    with pytest.raises(mp.ProcessExitedException, match=f"process 0 .* was killed by {name}.*{cause}") as killed:
        mp.start_processes(send_signal, (getattr(signal, name),), start_method="fork")
    assert (killed.value.exit_code, killed.value.signal_name) == (-getattr(signal, name), name)


def send_signal(i, number):
    import faulthandler
    faulthandler.disable()                               # pytest's, which would tell of it
    os.kill(os.getpid(), number)
    time.sleep(100)


def test_results_that_are_not_waited_for(fork):
    seen, errors = [], []
    with fork.Pool(2) as pool:
        slow = pool.apply_async(time.sleep, (0.3,), callback=seen.append)
        with pytest.raises(ValueError, match="not ready"):
            slow.successful()
        with pytest.raises(mp.TimeoutError):
            slow.get(0.01)
        assert slow.get(60) is None and slow.ready() and slow.successful() and seen == [None]
        failed = pool.map_async(fail_at_three, range(5), chunksize=1, error_callback=errors.append)
        failed.wait(60)
        assert failed.ready() and not failed.successful() and isinstance(errors[0], LookupError)
        assert pool.starmap_async(pow, [(2, 3), (3, 2)], callback=seen.append).get(60) == [8, 9] == seen[1]
        each = pool.imap(time.sleep, [0.3])
        with pytest.raises(mp.TimeoutError):
            each.next(0.01)
        assert list(each) == [None]
        each = pool.imap(fail_at_three, range(2, 5))
        assert next(each) == 2
        with pytest.raises(LookupError, match="no threes"):
            next(each)
        assert list(each) == [4]                         # it goes on behind what failed
        pool.close()
        pool.join()


def add_ten(x, *, to=None):
    x.add_(10)
    return x[1:] if to is None else to.add_(x)


def test_tensors_of_every_way_to_ask_a_pool(context):
    """Arguments are the caller's memory, and results the worker's, whoever asks and waits how."""
    x, total, seen = torch.zeros(3), torch.ones(3), []
    with context.Pool(2) as pool:
        part = pool.apply_async(add_ten, (x,), callback=seen.append).get(60)
        assert part.untyped_storage() is x.untyped_storage() and part.tolist() == [10] * 2 and seen[0] is part
        assert pool.apply(add_ten, (x,), {"to": total}).untyped_storage() is total.untyped_storage() and total.tolist() == [21] * 3
        rows = torch.zeros(5, 4)
        for results in (pool.imap(add_ten, rows), pool.imap_unordered(add_ten, rows, chunksize=2), pool.map_async(add_ten, rows).get(60),
                        pool.starmap(add_ten, zip(rows)), pool.starmap_async(add_ten, zip(rows)).get(60)):
            assert all(part.untyped_storage() is rows.untyped_storage() for part in results)
        assert rows.tolist() == [[50] * 4] * 5
        assert pool.map(lambda y: (y + total).tolist(), [torch.ones(3)]) == [[22] * 3]


def killed_now(times):
    times[0] = time.monotonic()
    os.kill(os.getpid(), signal.SIGKILL)


class Killed(torch.nn.Module):
    """A dataset, and a module, of which one example kills the worker."""

    def __init__(self, times):
        super().__init__()
        self.times = times

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return killed_now(self.times) if i == 1 else i

    def forward(self, x):
        return killed_now(self.times) if x[0] == 1 else x


def killed_one_by_one(i, times):
    time.sleep(100) if i else killed_now(times)


WAYS = {
    "pool": lambda pool, times: pool.apply(killed_now, (times,)),
    "loader": lambda pool, times: list(torch.utils.data.DataLoader(Killed(times), num_workers=2, multiprocessing_context="fork")),
    "spawn": lambda pool, times: mp.start_processes(killed_one_by_one, (times,), nprocs=2, start_method="fork"),
    "DataParallel": lambda pool, times: torch.nn.DataParallel(Killed(times), 2)(torch.arange(2)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_killed_worker_is_noticed_within_a_second(way, fork):
    """And nothing is left behind of what it held."""
    before, waited = in_use(), []
    while len(waited) < 5 and min(waited, default=1) >= 1:           # a busy machine may take longer now and then
        with fork.Pool(1) as pool:
            times = torch.zeros(1, dtype=torch.float64).share_memory_()
            with pytest.raises(RuntimeError if way == "loader" else mp.ProcessExitedException, match="SIGKILL: most often"):
                WAYS[way](pool, times)
            waited.append(time.monotonic() - times.item())
    del pool, times
    assert waited[-1] < 1 and in_use() == before, waited


def raise_in_worker():
    raise RuntimeError("a bad start")


def test_an_initializer_that_raises_ends_the_pool(fork, capfd):
    with fork.Pool(2, initializer=raise_in_worker) as pool:
        with pytest.raises(mp.ProcessExitedException, match="status 1"):
            pool.map(square, range(3))
    assert "a bad start" in capfd.readouterr().err


UNGUARDED = """
import numtorch as torch, numtorch.multiprocessing as mp
def own(x):
    return x + 1
mp.set_start_method("spawn")
with mp.Pool(1) as pool:
    pool.map(own, [torch.ones(2)])
"""


def test_a_script_that_every_worker_would_run_again_says_so(tmp_path):
    """Without `if __name__ == "__main__"`: it ends, and does not start processes for ever."""
    (tmp_path / "unguarded.py").write_text(UNGUARDED)
    done = subprocess.run([sys.executable, tmp_path / "unguarded.py"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1 and "if __name__ == '__main__':" in done.stderr
    assert done.stderr.rstrip().splitlines()[-1].endswith("ended with status 1 before it was done")


def own_process(_):
    time.sleep(0.01)
    return os.getpid()


def test_workers_are_replaced(fork):
    with fork.Pool(1, maxtasksperchild=2) as pool:
        ids = pool.map(own_process, range(6), chunksize=1)
        pool.close()
        pool.join()
    assert len(set(ids)) == 3 and ids[0] == ids[1] != ids[2]


def wait_for_ever(_):
    time.sleep(1000)


def test_a_worker_that_ends_while_the_pool_sees_to_another(fork, monkeypatch):
    """Its task says so, too: the second is killed between the look at who is dead and the look at who lives."""
    with fork.Pool(2) as pool:
        results = [pool.apply_async(wait_for_ever, (i,)) for i in range(2)]
        (first, _), (second, _) = pool._workers
        while not all(n.words[0] for _, n in pool._workers):             # each has a task
            time.sleep(0.01)
        killed = []

        def see_to_the_dead():
            monkeypatch.setattr(pool, "_take_results", kill_the_second)      # which is called there where somebody is dead
            type(pool)._see_to_the_dead(pool)
            if killed:
                monkeypatch.undo()

        def kill_the_second():
            if not killed:
                second.kill()
                second.join()
                killed.append(second)

        monkeypatch.setattr(pool, "_see_to_the_dead", see_to_the_dead)
        first.kill()
        for result in results:
            with pytest.raises(mp.ProcessExitedException):
                result.get(20)
        assert pool.apply(square, (3,)) == 9


def threads_of_kernels(_):
    return torch.get_num_threads()


def threads_that_help(asked):
    """(threads at first, those asked for, how many others the pool then has), after work that is worth several."""
    x = torch.ones(1_000_000)
    first = torch.get_num_threads()
    right = torch.equal(x.exp(), x.exp())
    before = threads.workers()
    torch.set_num_threads(asked)
    for _ in range(20):
        right = right and x.mul(2).sum().item() == 2_000_000
    return right, first, before, torch.get_num_threads(), threads.workers() > 0


@pytest.mark.skipif(compiler.DISABLE_JIT, reason="NUMBA_DISABLE_JIT: nothing runs in threads")
def test_forked_workers_have_threads_when_they_ask(fork):
    """One until then, though the parent has several and computes with them meanwhile."""
    stop, count = threading.Event(), torch.get_num_threads()
    torch.set_num_threads(2)

    def busy():
        x = torch.ones(1_000_000)
        while not stop.is_set():
            x.exp()
    computing = threading.Thread(target=busy)
    computing.start()
    try:
        for _ in range(5):
            with fork.Pool(1) as pool:
                assert pool.apply(threads_that_help, (1,)) == (True, 1, 0, 1, False)
                assert pool.apply(threads_that_help, (2,)) == (True, 1, 0, 2, True)
    finally:
        stop.set()
        computing.join()
        torch.set_num_threads(count)


def compute_from_store(x):
    torch.set_num_threads(2)
    return (x + 1).exp().sum().item(), torch.get_num_threads(), "numba" in sys.modules


def test_workers_have_one_thread_and_the_stores_kernels():
    """One thread each, unless they say otherwise. What the store has is loaded, and no compiler is."""
    x = torch.zeros(5)
    expected = (x + 1).exp().sum().item()
    with mp.get_context("spawn").Pool(1) as pool:
        assert pool.apply(threads_of_kernels, (0,)) == int(os.environ.get("NUMTORCH_NUM_THREADS",
                                                                          os.environ.get("OMP_NUM_THREADS", "1")))
        assert pool.apply(compute_from_store, (x,)) == (expected, 2, False)


PRELOADED = """
import sys
import numtorch as torch, numtorch.multiprocessing as mp
def add_one(x):
    return x.add_(1)
if __name__ == "__main__":
    mp.set_start_method("forkserver")
    mp.set_forkserver_preload(["numtorch"])
    x = torch.zeros(3)
    with mp.Pool(2) as pool:
        back = pool.map(add_one, [x] * 4, 1)
        print(all(each.untyped_storage() is x.untyped_storage() for each in back), x.tolist())
"""


def test_a_forkserver_may_have_numtorch_already(tmp_path):
    (tmp_path / "preloaded.py").write_text(PRELOADED)
    done = subprocess.run([sys.executable, tmp_path / "preloaded.py"], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True [4.0, 4.0, 4.0]\n", "")


# ---------------------------------------------------------------- spawn
def fill_place(i, x, how):
    x[i] = i + 1
    if i == 1 and how == "raise":
        raise KeyError("one")
    if i == 1 and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how:
        time.sleep(100)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_spawn(method):
    x = torch.zeros(3)
    mp.start_processes(fill_place, (x, ""), nprocs=3, start_method=method)
    assert x.tolist() == [1, 2, 3]
    with pytest.raises(mp.ProcessRaisedException, match="Process 1 terminated with the following error") as caught:
        mp.start_processes(fill_place, (x, "raise"), nprocs=2, start_method=method)
    assert isinstance(caught.value.__cause__, KeyError) and "in fill_place" in str(caught.value.__cause__.__cause__)
    with pytest.raises(mp.ProcessExitedException, match="killed by SIGKILL: most often") as killed:
        mp.start_processes(fill_place, (x, "kill"), nprocs=2, start_method=method)
    assert (killed.value.error_index, killed.value.exit_code) == (1, -signal.SIGKILL)


def test_spawn_without_waiting():
    x = torch.zeros(2)
    started = mp.start_processes(fill_place, (x, ""), nprocs=2, join=False, daemon=True, start_method="fork")
    assert started.pids() == [p.pid for p in started.processes] and all(p.daemon for p in started.processes)
    end = time.monotonic() + 60
    while not started.join(timeout=0.1):
        assert time.monotonic() < end
    assert x.tolist() == [1, 2] and started.join()


REPL = """
import numtorch as torch, numtorch.multiprocessing as mp
scale = torch.full((1,), 3.0)
class Point:
    def __init__(self, x): self.x = x
@torch.pointwise
def cube(x):
    return x * x * x
def move(p):
    scale.add_(1)
    return Point(p.x + 1)
def shifted(x):
    return cube(x) + scale
context = mp.get_context({method!r})
held, done = torch.zeros(2), context.SimpleQueue()
def outer(bound):
    return lambda queue: queue.put([bound.add_(1), cube(bound), Point])
process = context.Process(target=outer(held), args=(done,))
process.start()
bound, cubes, kind = done.get()
process.join()
print(held.tolist(), bound.untyped_storage() is held.untyped_storage(), cubes.tolist(), kind is Point, process.exitcode)
with context.Pool(1) as pool:
    print(pool.apply(move, (Point(2),)).x, type(pool.apply(move, (Point(2),))) is Point, scale.item())
    print(pool.map(lambda x: cube(x).item(), [torch.tensor(2.0)]), pool.apply(shifted, (torch.tensor(1.0),)).item())
    back, op = pool.apply(lambda bound: ((lambda x: cube(x) + scale + bound), cube), (torch.ones(1),))
    scale.add_(1)
    print(back(torch.tensor([2.0])).item(), op is cube)
"""
NOTEBOOK = """
import sys, types
cells = sys.modules["__main__"] = types.ModuleType("__main__")
exec(compile({source!r}, "<cell 1>", "exec"), cells.__dict__)
"""


@pytest.mark.parametrize("where", ["REPL", "notebook"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_what_was_typed_in(method, where, tmp_path):
    """Functions, classes, closures over tensors and elementwise ops of a REPL, which no worker could import, as targets, arguments
    and results. A notebook puts a module of its own in the place of `__main__`."""
    source = REPL.format(method=method)
    done = subprocess.run([sys.executable, "-c", source if where == "REPL" else NOTEBOOK.format(source=source)], capture_output=True,
                          text=True, timeout=120, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("[1.0, 1.0] True [1.0, 1.0] True 0\n3 True 5.0\n[8.0] 6.0\n15.0 True\n", "")


# ---------------------------------------------------------------- one model, several processes
def train_and_measure(model, optimizer, steps, ready, begin, spent):
    torch.manual_seed(0)
    x, y = torch.randn(128, 256), torch.randint(0, 10, (128,))
    train_shared(model, optimizer, x, torch.nn.functional.one_hot(y, 10).float(), 3)
    ready.release()
    begin.wait()
    before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    train_shared(model, optimizer, x, torch.nn.functional.one_hot(y, 10).float(), steps)
    spent.put((time.process_time() - before[0], resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before[1]))


def processor_time_of_a_step(context, count, steps):
    """Seconds, and how often a process waited for anything, of a step of one model that so many processes train."""
    model = network(torch).share_memory()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    optimizer.share_memory()
    ready, begin, spent = context.Semaphore(0), context.Event(), context.SimpleQueue()
    processes = [context.Process(target=train_and_measure, args=(model, optimizer, steps, ready, begin, spent)) for _ in range(count)]
    for process in processes:
        process.start()
    for _ in processes:
        assert ready.acquire(timeout=60)
    begin.set()
    measured = [spent.get() for _ in processes]
    for process in processes:
        process.join(60)
    return [sum(column) / steps / count for column in zip(*measured)]


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor")
def test_processes_that_train_one_model_do_not_wait_for_each_other(fork):
    """Nor spend much more on a step than one alone: so many are as many times as fast where each has a processor, which
    `python -m bench multiprocessing` measures. Others may be at work here: the best of some runs counts."""
    seen = []
    while not seen or (len(seen) < 6 and not (seen[-1][0] < 1.5 and seen[-1][1] < 0.1)):
        alone, together = (processor_time_of_a_step(fork, count, 100) for count in (1, 2))
        seen.append((together[0] / alone[0], together[1]))
    assert seen[-1][0] < 1.5 and seen[-1][1] < 0.1, seen


def train_shared(model, optimizer, x, y, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_hogwild(method):
    """Processes train one model without locks; its optimiser's state is shared too."""
    context = mp.get_context(method)
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 1).share_memory()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
    optimizer.share_memory()
    x = torch.randn(64, 8)
    y = x @ torch.arange(8.0)[:, None] + 1
    before = torch.nn.functional.mse_loss(model(x), y).item()
    processes = [context.Process(target=train_shared, args=(model, optimizer, x, y, 150)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [p.exitcode for p in processes] == [0, 0]
    after = torch.nn.functional.mse_loss(model(x), y).item()
    assert after < 1e-3 * before
    assert all(optimizer.state[p]["momentum_buffer"].is_shared() for p in model.parameters())
    train_shared(model, optimizer, x, y, 1)              # and goes on here
    assert torch.nn.functional.mse_loss(model(x), y).item() < 2 * after + 1e-6


# ---------------------------------------------------------------- forks and imports
def import_it(name):
    return importlib.import_module(name).VALUE


def test_a_child_that_is_forked_while_another_thread_imports_can_import_the_same(tmp_path, monkeypatch):
    """The lock on the module was held in the child by a thread that it does not have."""
    (tmp_path / "slowly_imported.py").write_text("import time\ntime.sleep(0.5)\nVALUE = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    importing = threading.Thread(target=importlib.import_module, args=("slowly_imported",))
    importing.start()
    try:
        while "slowly_imported" not in sys.modules:
            time.sleep(0.001)
        with mp.get_context("fork").Pool(1) as pool:
            assert pool.apply_async(import_it, ("slowly_imported",)).get(20) == 7
    finally:
        importing.join()
        sys.modules.pop("slowly_imported")


def test_an_import_that_waits_for_a_child_is_not_waited_for(tmp_path, monkeypatch):
    """What a module does while it is imported may need a process that another thread starts."""
    (tmp_path / "needs_a_child.py").write_text("import threading, numtorch.multiprocessing as mp\n"
                                               "process = mp.get_context('fork').Process(target=int)\n"
                                               "thread = threading.Thread(target=process.start)\nthread.start()\nthread.join()\n"
                                               "process.join()\nVALUE = process.exitcode\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(starting, "_PATIENCE", 0.2)
    assert import_it("needs_a_child") == 0
    sys.modules.pop("needs_a_child")
