"""Kernels that are compiled ahead by forked processes, and which of several processes compiles one."""
from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from numtorch.kernels import ahead, store

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")

# One layer and one step. `sessions` are the processes that children live in: none of them is this one's, and all of them end.
STEP = """
import os, sys
import numtorch as torch
from numtorch.kernels import ahead
from numtorch.kernels.progress import statistics
{before}
torch.manual_seed(0)
layer = torch.nn.Linear(40, 24)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
out = layer(torch.ones(32, 40))
{after}
loss = (out * out).mean()
loss.backward()
optimizer.step()
print(loss.item(), layer.weight.sum().item())
print(statistics.compiled, statistics.loaded, len(ahead._children))
"""


def step(folder, most, before="", after=""):
    """What a process says that takes the step with a store of its own."""
    done = subprocess.run([sys.executable, "-c", STEP.format(before=before, after=after)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "NUMTORCH_CACHE_DIR": str(folder), "NUMTORCH_COMPILE_AHEAD": most,
                               "NUMTORCH_NUM_THREADS": "1"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    values, counts = done.stdout.splitlines()
    return values, *map(int, counts.split())


SPARE = "ahead._most.cache_clear(); ahead._most = lambda: 1"                 # whatever this machine has


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return step(tmp_path_factory.mktemp("alone"), "0")


def test_a_step_gives_what_it_gives_alone(alone, tmp_path):
    values, compiled, loaded, _ = step(tmp_path, "1", SPARE)
    assert alone[1] > 5 and alone[2] == alone[3] == 0                        # nobody helps, unless told
    assert values == alone[0]
    assert loaded and compiled + loaded == alone[1]                          # what children left was taken, and nothing compiled twice


WAITS = """import threading
def wait(event):
    event.wait()
threading.Thread(target=wait, args=(threading.Event(),), daemon=True).start()"""
WORKS = """import threading, time
def work():
    while True:
        time.sleep(0.001)
threading.Thread(target=work, daemon=True).start()"""


def test_threads_that_work_keep_a_process_from_forking(alone, tmp_path):
    values, compiled, loaded, children = step(tmp_path, "1", SPARE + "\n" + WORKS)
    assert (values, compiled, loaded, children) == (alone[0], alone[1], 0, 0)


def test_threads_that_wait_do_not(alone, tmp_path):
    """A thread that waits for an event, as the one does that watches progress bars."""
    values, compiled, loaded, _ = step(tmp_path, "1", SPARE + "\n" + WAITS)
    assert values == alone[0]
    assert loaded and compiled + loaded == alone[1]


def test_nothing_is_said_of_forks(alone, tmp_path):
    """As JAX does, which cannot know that children never come to it."""
    warns = "import warnings; os.register_at_fork(before=lambda: warnings.warn('a fork may deadlock', RuntimeWarning))"
    values, _, loaded, _ = step(tmp_path, "1", f"{SPARE}\n{warns}")         # which looks at what is written to stderr
    assert values == alone[0] and loaded


def test_children_run_nothing_of_the_users(tmp_path):
    """Backward of a user's own function, and hooks, run once: in the process that calls them."""
    calls = tmp_path / "calls"
    step(tmp_path / "store", "1", SPARE, f"""
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        open({str(calls)!r}, "a").write(f"{{os.getpid()}} ")
        return grad
out = torch.relu(Own.apply(out))
out.register_hook(lambda grad: open({str(calls)!r}, "a").write(f"{{os.getpid()}} ") and None)
out = torch.sigmoid(out)
""")
    processes = calls.read_text().split()
    assert len(processes) == 2 and len(set(processes)) == 1


def test_modules_of_users_are_called_once(tmp_path):
    """A class of the user's, a hook, a function among the attributes: nothing of these is called ahead, nor what holds them."""
    calls = tmp_path / "calls"
    step(tmp_path / "store", "1", SPARE, f"""
def note(*ignored):
    open({str(calls)!r}, "a").write(f"{{os.getpid()}} ")
class Own(torch.nn.Linear):
    def forward(self, x):
        note()
        return super().forward(x)
def act(x):
    note()
    return torch.relu(x)
hooked = torch.nn.Linear(24, 24)
hooked.register_forward_hook(note)
given = torch.nn.Linear(24, 24)
given.activation = act
for module in (Own(24, 24), torch.nn.Sequential(Own(24, 24)), hooked, given):
    out = torch.sigmoid(module(out))
""")
    processes = calls.read_text().split()
    assert len(processes) == 3 and len(set(processes)) == 1


def test_modules_without_a_hash_are_called():
    import numtorch as torch
    from numtorch.nn.base import foreseen

    class Own(torch.nn.Module):
        __hash__ = None

        def __eq__(self, other):
            return NotImplemented

        def forward(self, x):
            foreseen.expect_modules(sys._getframe())
            return x
    assert Own()(3) == 3


MODULES = {
    "perceptron": ("nn.Sequential(nn.Linear(40, 24), nn.LayerNorm(24), nn.GELU(), nn.Linear(24, 5))", "torch.ones(32, 40)"),
    "convolution": ("nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(864, 5))",
                    "torch.ones(16, 1, 28, 28)"),
    "LSTM": ("nn.LSTM(8, 12)", "torch.ones(6, 4, 8)"),
    "embedding": ("nn.Embedding(9, 24)", "torch.ones(8, 6, dtype=torch.int64)"),
}
CALLED = """
import os
import numtorch as torch
from numtorch import nn
from numtorch.kernels import ahead, compiler
class Stop(BaseException):
    pass
def stop(call):
    calls.append(call)
    raise Stop
module, x, calls = {module}, {x}, []
before = set(compiler._kernels)
if {named}:
    ahead.is_cold, ahead.start, expect, ahead.expect = lambda: True, lambda: None, ahead.expect, stop
    try:
        module(x)
    except Stop:
        ahead.expect, ahead._alive = expect, os.pipe()[0]
    for kernel in ahead._named(calls).values():
        kernel.make()
else:
    out = module(x)
    out = out[0] if isinstance(out, tuple) else out
    out.backward(out.detach())
print(*(f"{{kernel.name}}:{{key}}" for key, kernel in compiler._kernels.items() if key not in before))
"""


@pytest.mark.parametrize("name", MODULES)
def test_a_modules_call_is_foreseen_whole(name):
    """What a child names of the first call of a module is what the call and its backward then compile, but for the pool of threads."""
    module, x = MODULES[name]
    named, compiled = [set(subprocess.run([sys.executable, "-c", CALLED.format(module=module, x=x, named=named)], check=True, text=True,
                                          capture_output=True, timeout=600).stdout.split()) for named in (True, False)]
    missing = {kernel.partition(":")[0] for kernel in compiled - named}
    assert compiled and not missing - {"launch_all", "work", "spin"}


def test_a_second_child_looks_at_no_other(monkeypatch):
    """It has the first one's pipes closed. What is expected in it comes after what it was given."""
    made, (watched, held), (gone, _) = [], os.pipe(), os.pipe()
    os.close(gone)
    monkeypatch.setattr(ahead, "_expected", ahead._expected.copy())
    monkeypatch.setattr(ahead, "_most", lambda: 2)
    monkeypatch.setattr(ahead, "_children", {gone: (held, [])})
    monkeypatch.setattr(ahead, "_alive", watched)
    assert ahead._named([lambda: (ahead.expect(lambda: made.append("after")), made.append("given"))]) == {}
    assert made == ["given", "after"]


def test_children_say_what_is_to_come(monkeypatch, tmp_path):
    """A child names three kernels, of which one is made; the others are to come, and stay so when it has ended."""
    living, held = os.pipe()
    watched, ours = os.pipe()
    monkeypatch.setattr(ahead, "_children", {living: (ours, [])})
    monkeypatch.setattr(ahead, "_named_by_children", set())
    assert ahead.number_to_come([]) == 0
    os.write(held, b"a\nb\nc\n")
    assert ahead.number_to_come(["b", "d"]) == 2 and ahead._children
    os.close(held)
    assert ahead.number_to_come(["b", "d"]) == 2 and not ahead._children
    os.close(watched)


def test_a_child_ends_with_its_parent(tmp_path):
    """Its work lasts for ever; the process that forked it is killed."""
    source = f"""
import os, time
from numtorch.kernels import ahead
from numtorch.kernels.progress import statistics
statistics.compiled = 1
ahead._most = lambda: 1
def write():
    time.sleep(0.05)
    open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
ahead._expected += [write] * 1000
ahead.start()
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", source], env={**os.environ, "NUMTORCH_CACHE_DIR": str(tmp_path)}) as parent:
        child = until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        assert int(child) != parent.pid and os.getsid(int(child)) not in (os.getsid(0), parent.pid)
        parent.kill()
    until(lambda: not os.path.exists(f"/proc/{child}"))


def until(question, seconds=60):
    """What a question answers as soon as that is true."""
    end = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return answer


# ---------------------------------------------------------------- claims
HOLD = """
import sys, time
from numtorch.kernels import store
with store.compiling("ab" * 32, 5.0) as there:
    assert there is None
    print("held", flush=True)
    {then}
"""


@pytest.fixture
def held(tmp_path, monkeypatch):
    """Starts a process that compiles the kernel "abab..." and then does what it is told."""
    monkeypatch.setenv("NUMTORCH_CACHE_DIR", str(tmp_path / "store"))
    started = []

    def start(then):
        process = subprocess.Popen([sys.executable, "-c", HOLD.format(then=then)], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process
    yield start
    for process in started:
        process.kill()
        process.communicate()


KEY = "ab" * 32


def test_who_comes_second_takes_what_the_first_stored(held):
    held("time.sleep(0.3); store.save('ab' * 32, b'code')")
    with store.compiling(KEY, 60.0) as there:
        assert there == b"code"


def test_a_claim_ends_with_its_holder(held):
    process = held("time.sleep(60)")
    with pytest.raises(store.Busy), store.compiling(KEY, 0.0):
        pass
    process.kill()
    process.wait()
    with store.compiling(KEY, 0.0) as there:
        assert there is None
    assert not os.listdir(os.path.join(store.directory(), "claims"))


def test_patience_ends(held):
    """Of a process that was stopped, say: then both compile, and the claim stays its own."""
    held("time.sleep(60)")
    begin = time.monotonic()
    with store.compiling(KEY, 0.2) as there:
        assert there is None and time.monotonic() - begin >= 0.2
    with pytest.raises(store.Busy), store.compiling(KEY, 0.0):
        pass


def test_without_a_store_there_are_no_claims(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMTORCH_CACHE_DIR", str(tmp_path / "file" / "inside"))
    with store.compiling(KEY, 0.0) as one, store.compiling(KEY, 0.0) as other:
        assert one is other is None


def test_what_is_expected_is_not_kept(monkeypatch):
    """Where no child may be made, models and optimisers still end, and the list of calls has an end."""
    import weakref


    class Model:
        def call(self):
            pass
    monkeypatch.setattr(ahead, "_expected", ahead._expected.copy())
    monkeypatch.setattr(ahead, "_most", lambda: 0)
    model = Model()
    ended = weakref.ref(model)
    ahead.expect(model.call)
    del model
    assert ended() is None
    for _ in range(1000):
        ahead.expect(len)
    assert len(ahead._expected) == 256


def test_one_thread_at_a_time_hears_of_children(monkeypatch):
    """Two that saw the end of the same child would close its pipe twice, and then a file of the program's."""
    living, written = os.pipe()
    held, watched = os.pipe()
    os.close(written)
    together, wrong = threading.Barrier(2), []

    def look(*arguments):
        with contextlib.suppress(threading.BrokenBarrierError):
            together.wait(0.5)                           # where two look, both have seen it
        return [living], [], []

    def hear(call):
        try:
            call()
        except OSError as error:
            wrong.append(error)
    monkeypatch.setattr(ahead, "_children", {living: (held, [])})
    monkeypatch.setattr(ahead, "select", SimpleNamespace(select=look))
    threads = [threading.Thread(target=hear, args=(call,)) for call in (ahead.start, lambda: ahead.number_to_come(()))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(watched)
    assert not wrong and not ahead._children


def test_a_fork_of_the_program_leaves_the_children_to_its_parent(monkeypatch):
    living, written = os.pipe()
    watched, held = os.pipe()
    monkeypatch.setattr(ahead, "_children", {living: (held, [])})
    child = os.fork()
    if not child:
        try:
            os.fstat(held)
        except OSError:
            os._exit(len(ahead._children))
        os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and ahead._children
    for end in (living, written, watched, held):
        os.close(end)
