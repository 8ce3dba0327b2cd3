"""What ends with the last reference, and never before: memory, holds and descriptors of what a cycle still uses."""
from __future__ import annotations

import gc
import subprocess
import sys
import threading

import pytest

import numtorch as torch
import numtorch.multiprocessing as mp
from numtorch import storage
from numtorch.kernels import debugmemory
from numtorch.storage import ring_for, take


def in_a_cycle(use):
    """Have the garbage collector find a generator, which then does `use()`, and all it refers to."""
    def run():
        try:
            yield
        finally:
            use()
    cycle = [run()]
    next(cycle[0])
    cycle.append(cycle)


@pytest.mark.parametrize("numel", [10, 300_000, 3_000_000])
@pytest.mark.parametrize("share", [False, True], ids=["own", "shared"])
def test_what_a_cycle_still_uses_is_there(numel, share):
    """The garbage collector calls the `__del__` of all objects of a cycle before it sees what is used still."""
    sums, kept = [], []

    def begin():
        x = torch.ones(numel)
        if share:
            x.share_memory_()

        def use():
            other = x + 1                                # has no memory of what it adds to
            sums.extend([x.sum().item(), other.sum().item()])
            kept.append(x)
        in_a_cycle(use)
    begin()
    gc.collect()
    assert sums == [numel, 2 * numel]
    others = [torch.zeros(numel).share_memory_() if share else torch.zeros(numel) for _ in range(3)]
    assert kept[0].sum().item() == numel and not any(each.any() for each in others)
    assert kept[0].is_shared() == share


def test_a_queue_in_a_cycle_still_works():
    """Its bell is not closed, nor is another file that has the bell's descriptor by then written to."""
    got = []

    def begin():
        queue = mp.SimpleQueue()

        def use():
            queue.put(torch.ones(3))
            got.append(queue.get())
        in_a_cycle(use)
    begin()
    gc.collect()
    assert got[0].tolist() == [1, 1, 1]


@pytest.mark.skipif(bool(debugmemory.MODE), reason="memory is not used again where it is watched")
def test_a_ring_that_a_cycle_still_has_holds_what_says_so():
    """Memory that is shared leaves its ring where it says that one has it, and else would be handed out again."""
    kept = []

    def begin():
        ring = ring_for(12_345 * 4)
        taken = take(ring)
        assert taken.pooled and taken in ring
        in_a_cycle(lambda: kept.append(ring))
    begin()
    gc.collect()
    take(kept[0])
    assert all(each.pooled for each in kept[0] if each.nbytes)


def test_threads_have_one_ring(monkeypatch):
    """Memory that is shared leaves the ring that is known of its size: there must be no other."""
    found, new_ring = [], storage._new_ring

    def slow_ring(*args):
        other = threading.Thread(target=lambda: found.append(ring_for(12_346 * 4)))
        monkeypatch.setattr(storage, "_new_ring", new_ring)
        other.start()
        other.join(0.2)
        threads.append(other)
        return new_ring(*args)
    threads = []
    monkeypatch.setattr(storage, "_new_ring", slow_ring)
    ring = ring_for(12_346 * 4)
    threads[0].join(10)
    assert found[0] is ring


LATE = """
import colorsys, sys
import numtorch as torch, numtorch.multiprocessing as mp
program = torch.compile(lambda x: x * 2 + 1)
colorsys.kept = [torch.ones(3), torch.ones(300, 1000), torch.ones(3, 1000).share_memory_(), torch.ones(3000, 1000).share_memory_(),
                 mp.Queue(), mp.Lock(), mp.Array("i", 3), mp.Pipe(), program, *[program(torch.ones(300, 1000)) for _ in range(4)]]
sys.kept = list(sys.modules.values())                    # so that their names are made None, the last imported first
"""


def test_what_outlives_the_modules_ends_without_a_word():
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
