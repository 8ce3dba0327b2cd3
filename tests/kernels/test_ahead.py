"""Kernels that are compiled ahead by forked processes, and which of several processes compiles one."""
from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from numtorch.kernels import store

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


def step(folder, ahead, before="", after=""):
    """What a process says that takes the step with a store of its own."""
    done = subprocess.run([sys.executable, "-c", STEP.format(before=before, after=after)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "NUMTORCH_CACHE_DIR": str(folder), "NUMTORCH_COMPILE_AHEAD": ahead,
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


def test_other_threads_keep_a_process_from_forking(alone, tmp_path):
    waits = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"
    values, compiled, loaded, children = step(tmp_path, "1", SPARE + "\n" + waits)
    assert (values, compiled, loaded, children) == (alone[0], alone[1], 0, 0)


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

    from numtorch.kernels import ahead

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
