"""Compiled functions among threads, forks, other work and what plans and tables keep; what capturing looks at, and leaves behind."""
from __future__ import annotations

import cProfile
import ctypes
import gc
import math
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from sys import getrefcount

import numpy as np
import pytest
from replays import Pair, batch, classes, is_replayed, kind_of, perceptron, same, sgd, training, why

import numtorch as torch
from numtorch import nn
from numtorch.jit.capturing import before, places, writing
from numtorch.jit.capturing.capture import Watch
from numtorch.kernels import compiler, debugmemory
from numtorch.kernels.program import stores_words
from numtorch.kernels.threads import all_prepared, prepared_on
from numtorch.ops.core.primitive import forget_plans, registry

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
F = nn.functional


# ---------------------------------------------------------------- the world around
def test_threads_share_a_compiled_function():
    function, failed = torch.compile(lambda x: torch.softmax(x * 2 + 1, 0)), []

    def work(seed):
        stream = torch.Generator().manual_seed(seed)
        for _ in range(150):
            x = torch.rand(50, generator=stream)
            if not same(function(x), torch.softmax(x * 2 + 1, 0)):
                failed.append(seed)
    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed


def test_kernels_of_other_threads_run_on_while_a_call_is_captured():
    x, stop, failed = torch.randn(40, 40), threading.Event(), []
    wanted, interval = x @ x, sys.getswitchinterval()

    def work():
        while not stop.is_set():
            if not same(x @ x, wanted):
                failed.append(1)
    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    sys.setswitchinterval(1e-6)                          # so that they run between any two steps of a capture
    try:
        for i in range(8):
            function = torch.compile(lambda y, i=i: y * i + 1)
            for _ in range(3):
                assert same(function(torch.ones(5)), torch.ones(5) * i + 1)
            assert [replay.launches for replay in kind_of(function).replays] == [2], why(function)     # and none of the products
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        for worker in workers:
            worker.join()
    assert not failed


def test_a_profiler_of_python_sees_calls_and_takes_none_from_them():
    def f(x):
        return x * 2 + 1
    function, x = torch.compile(f), torch.arange(3.0)
    profile = cProfile.Profile()
    with profile:
        assert all(same(function(x + i), f(x + i)) for i in range(8))
    assert any(each.code is f.__code__ for each in profile.getstats())
    assert all(same(function(x + i), f(x + i)) for i in range(8)) and is_replayed(function), why(function)


def test_garbage_that_is_collected_meanwhile_is_nobodys_call():
    """Neither the callbacks of the collector nor finalisers of cycles are part of a call in which Python happens to look for garbage."""
    class Cycle:
        def __init__(self):
            self.itself = self

        def __del__(self):
            times.append(busy() + time.perf_counter())

    def busy():
        return (torch.ones(3) * 3).sum().item()
    times, objects = [busy()], []
    gc.callbacks.append(lambda phase, info: times.append(time.perf_counter()))
    try:
        @torch.compile
        def step(x):
            y = x * 2
            for _ in range(20_000):
                objects.append([])                       # each is one more for the collector to count
            objects.clear()
            return y.exp()
        for number in range(20):
            for _ in range(9):
                Cycle()                                  # of which some come to be found in the call
            assert same(step(torch.full((3,), float(number))), (torch.full((3,), float(number)) * 2).exp())
        assert is_replayed(step), why(step)
        assert kind_of(step).replays[0].launches == 2 and len(times) > 100
    finally:
        gc.callbacks.pop()


def test_other_work_between_replays_does_not_disturb():
    pair = Pair(perceptron, training(sgd)).run(5, batch, classes)
    assert is_replayed(pair.compiled)
    junk = []
    for number in range(10):
        junk += [torch.full((n,), math.nan) for n in (4, 16, 32, 64, 128, 4096)]
        torch.set_num_threads(1 + number % 2)
        gc.collect()
        pair.run(1, lambda _, n=number: batch(n), lambda _, n=number: classes(n))
        junk = junk[-20:]
    torch.set_num_threads(threads_before)


threads_before = torch.get_num_threads()


def test_what_plans_keep_is_kept_when_these_are_forgotten():
    def network():
        return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(), nn.Flatten(),
                             nn.Linear(16, 4))

    def images(number):
        return torch.from_numpy(np.random.default_rng(number).standard_normal((4, 3, 10, 10), np.float32))
    pair = Pair(network, training(sgd)).run(5, images, classes)
    assert is_replayed(pair.compiled), why(pair.compiled)
    (first,), = [kind.replays for kind in pair.compiled._kinds.values()]
    forget_plans()
    gc.collect()
    junk = [np.full(n, 7, np.int64) for n in range(1, 600) for _ in range(4)]
    pair.run(8, images, classes)
    assert kind_of(pair.compiled).replays == [first] and junk


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_what_tables_of_ops_keep_is_no_scratch_memory():
    """The positions of an image's pixels, and a recurrent layer's first state."""
    reader = torch.nn.GRU(4, 3)
    theta, x, words = torch.randn(2, 2, 3), torch.randn(2, 3, 5, 5), torch.randn(3, 2, 4)
    for function, args in ((lambda t, x: F.grid_sample(x, F.affine_grid(t, (2, 3, 5, 5), align_corners=False), align_corners=False),
                            (theta, x)), (lambda x: reader(x)[0].detach(), (words,))):
        compiled = torch.compile(function, mode="replay")
        for _ in range(4):
            assert same(compiled(*args), function(*args))
        assert is_replayed(compiled), why(compiled)


def test_a_forked_child_replays():
    code = """
import os, sys
import numtorch as torch
f = torch.compile(lambda x: (x @ x).relu() + 1)
x = torch.randn(64, 64)
for _ in range(4): f(x)
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(f(x), (x @ x).relu() + 1) else 1)
assert os.waitpid(child, 0)[1] == 0 and torch.equal(f(x), (x @ x).relu() + 1)
print("right")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "right", done.stderr


def test_eager_steps_between_replays():
    pair = Pair(perceptron, training(lambda p: torch.optim.Adam(p, lr=0.01))).run(6, batch, classes)
    for number in range(6):
        pair.eager(batch(number), classes(number))
        pair.step(batch(number), classes(number))        # as it is, beside its replays
        pair.run(3, batch, classes)
    assert is_replayed(pair.compiled)


def test_loading_a_state_between_replays():
    pair = Pair(perceptron, training(lambda p: torch.optim.Adam(p, lr=0.01))).run(6, batch, classes)
    saved = pickle.dumps((pair.nets[0].state_dict(), pair.eager.optimizer.state_dict()))
    pair.run(3, batch, classes)
    for net, step in zip(pair.nets, (pair.eager, pair.step)):
        model, optimizer = pickle.loads(saved)
        net.load_state_dict(model)
        step.optimizer.load_state_dict(optimizer)
    pair.run(8, batch, classes)
    assert is_replayed(pair.compiled)


def test_capturing_leaves_nothing_behind():
    def call_times():
        x = torch.ones(4)
        best = math.inf
        for _ in range(50):
            start = time.perf_counter()
            for _ in range(100):
                x + x
            best = min(best, time.perf_counter() - start)
        return best
    before, profile = call_times(), sys.getprofile()
    function = torch.compile(lambda x: x + 1)
    for _ in range(5):
        function(torch.ones(4))
    from numtorch.kernels import entries
    from numtorch.storage import inferring, mode
    assert sys.getprofile() is profile and not entries._detour and not inferring and mode.memory is None
    assert call_times() < 3 * before


class _Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.LSTM(8, 6), nn.Linear(6, 4)

    def forward(self, x):
        return self.head(self.layer(x)[0]) * 1.5


@pytest.mark.parametrize("network, target, loss", [
    (perceptron, classes, F.cross_entropy), (_Reader, classes, F.cross_entropy),
    (perceptron, lambda number: batch(number)[:, :4], F.mse_loss)], ids=["perceptron", "recurrent", "mean"])
def test_capturing_looks_at_what_the_step_touches(monkeypatch, network, target, loss):
    def walk():
        raise AssertionError("all objects of the process are looked at")
    Pair(network, training(sgd, loss=loss)).run(3, batch, target)        # what plans keep is there
    for module in (places, before):
        monkeypatch.setattr(module, "alive", walk)
    pair = Pair(network, training(sgd, loss=loss)).run(6, batch, target)
    assert is_replayed(pair.compiled), why(pair.compiled)


@pytest.mark.parametrize("count", [3, 40_000], ids=["in a ring", "large"])
def test_memory_that_is_not_reached_is_found_at_the_second_attempt(count, monkeypatch):
    tensors = []
    for name in ("hidden", "other_hidden"):              # of this package's modules, which are not followed
        monkeypatch.setattr(torch, name, torch.zeros(count).add_(1), raising=False)

        def f(x, name=name):
            return getattr(torch, name).add_(1) * 2 + x
        tensors.append((f, getattr(torch, name)))
    (f, mine), (other, its) = tensors
    compiled = torch.compile(other, mode="replay")
    for i in range(9):
        assert same(compiled(torch.full((count,), float(i))), f(torch.full((count,), float(i))))
        assert same(mine, its) and mine._version == its._version
    assert is_replayed(compiled) and writing.ELSEWHERE in why(compiled)


def test_storages_are_found_by_address():
    one, other, small = torch.zeros(50_000), torch.zeros(50_000), torch.zeros(3)
    owners = places.Owners([one.memory], ())
    assert owners.find(one.address + 8) is one.memory and len(owners.sources) == 2
    assert owners.find(small.address) is small.memory and len(owners.sources) == 1         # its ring has it
    assert owners.find(other.address + 199_999) is other.memory and not owners.sources
    elsewhere = ctypes.create_string_buffer(8)
    assert owners.find(ctypes.addressof(elsewhere)) is None and places.Owners([one.memory], {id(one.memory)}).find(one.address) is None
    assert places.in_use([one.memory, small.memory]) == {id(small.memory)}
    identity, address, small = id(small.memory), small.address, None
    found = owners.find(address)
    references = getrefcount(found)
    assert references == places.UNUSED
    owners = found = None
    assert identity not in places.in_use(places.alive())


def test_prepared_kernels_are_found_by_descriptor():
    prepared = stores_words()
    more = prepared.with_workspace(64)
    assert {prepared, more} <= set(prepared_on(prepared.descriptor)) and more in all_prepared()
    gone = weakref.ref(more)
    more = None
    assert gone() is None and prepared_on(prepared.descriptor) == [prepared] and prepared_on(-1) == []


def test_several_steps_are_captured_and_explained_after_their_replays():
    """Programs share the ones that backward starts with."""
    net, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss
    steps = [torch.compile(step) for _ in range(2)]
    for each in steps:
        for _ in range(4):
            each(x)
        assert not torch.compile.explain(each)(x).breaks
    assert all(kind.replays for each in steps for kind in each._kinds.values())
    assert not torch.compile.explain(step)(x).breaks


def test_what_ran_in_a_call_stays_while_the_call_is_captured():
    """Kernels' descriptions are known by their addresses: another one must not come to lie where one was that has run."""
    x, watch = torch.ones(7), Watch()
    forget_plans()

    def call():
        y = x + 1
        forget_plans()
        return y * 2
    ADD = registry["add"]
    x + 1
    described = weakref.ref(next(iter(ADD.plans.values())).prepared)
    watch.run(call, (), {})
    gc.collect()
    assert not ADD.plans and described() is not None
    watch = None
    gc.collect()
    assert described() is None
