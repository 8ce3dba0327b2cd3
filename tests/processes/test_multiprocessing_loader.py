"""DataLoader with workers: the batches of one without, in whatever way they start, and what is said when one fails."""
from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from family import in_use

import numtorch as torch
import numtorch.multiprocessing as mp
from numtorch.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info
from numtorch.shared.storages import share_together


class Numbers(Dataset):
    """Examples of which one is bad."""

    def __init__(self, count=20, bad=None, how=None):
        self.count, self.bad, self.how = count, bad, how

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if i == self.bad:
            if self.how == "raise":
                raise LookupError("a bad example")
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(3)
            time.sleep(100)
        return torch.full((3,), float(i)), i


class Records(Dataset):
    """Examples of several tensors, nested."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        return {"x": torch.full((3, 5), float(i)), "more": (torch.tensor(i), [torch.full((7000,), i)])}


class Shards(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        assert info.dataset is self
        return iter(range(info.id, self.count, info.num_workers))


class Draws(Dataset):
    """What the three generators draw in a worker, and the seed that it knows."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        assert torch.initial_seed() == get_worker_info().seed
        return random.random(), float(np.random.rand()), torch.rand(()).item(), get_worker_info().seed


def batches_of(loader):
    return [[part.tolist() for part in batch] for batch in loader]


@pytest.mark.parametrize("method, workers, size, options", [
    ("fork", 1, 4, {}), ("fork", 3, 7, {"drop_last": True}), ("fork", 2, 3, {"prefetch_factor": 5}), ("spawn", 2, 3, {}),
    ("forkserver", 1, 6, {"persistent_workers": True, "pin_memory": True, "pin_memory_device": "cuda"})])
def test_batches_are_those_without_workers(method, workers, size, options):
    plain = {k: v for k, v in options.items() if k == "drop_last"}
    loader = DataLoader(Numbers(), size, num_workers=workers, multiprocessing_context=method, **options)
    assert batches_of(loader) == batches_of(DataLoader(Numbers(), size, **plain))
    whole = TensorDataset(torch.arange(50), torch.arange(100).view(50, 2))
    assert batches_of(DataLoader(whole, size, num_workers=workers, multiprocessing_context=method)) == \
        batches_of(DataLoader(whole, size))
    assert all(x.is_shared() for x, _ in DataLoader(Numbers(), 5, num_workers=1, multiprocessing_context=method))


def test_single_examples_and_any_order():
    assert [n for _, n in DataLoader(Numbers(5), None, num_workers=2)] == [0, 1, 2, 3, 4]
    loader = DataLoader(Numbers(), 2, num_workers=3, in_order=False, shuffle=True)
    assert sorted(i for _, numbers in loader for i in numbers.tolist()) == list(range(20))


class Late(Dataset):
    """The first batch is made when the others have been taken."""

    def __init__(self):
        self.taken = mp.get_context("fork").Event()

    def __len__(self):
        return 6

    def __getitem__(self, i):
        assert i > 1 or self.taken.wait(60)
        return i


def test_batches_come_as_they_are_made_where_order_is_no_matter():
    dataset = Late()
    batches, seen = iter(DataLoader(dataset, 2, num_workers=2, in_order=False, multiprocessing_context="fork")), []
    seen.append(next(batches).tolist())                  # the other worker's only batch
    dataset.taken.set()
    seen += [batch.tolist() for batch in batches]
    assert seen == [[2, 3], [0, 1], [4, 5]]


def test_batches_own_their_memory():
    """They stay when the workers are gone, and go with what the consumer has of them."""
    before = in_use()
    context = multiprocessing.get_context("fork")        # Python's names the way as well
    batches = list(DataLoader(Numbers(), 5, num_workers=2, multiprocessing_context=context))
    assert not {p.name for p in multiprocessing.active_children()} & {"DataLoader worker 0", "DataLoader worker 1"}
    row = batches[1][0][2]
    assert in_use()[0] == before[0] + 4                  # one a batch
    del batches
    assert row.tolist() == [7] * 3 and in_use()[0] == before[0] + 1
    del row
    assert in_use() == before


@pytest.mark.parametrize("persistent", [False, True])
def test_iterable_datasets_are_sharded(persistent):
    loader = DataLoader(Shards(11), 2, num_workers=3, persistent_workers=persistent)
    for _ in range(2):
        assert sorted(i for batch in loader for i in batch.tolist()) == list(range(11))
    assert batches_of(DataLoader(Shards(0), 2, num_workers=2)) == []


class Broken(IterableDataset):
    """A stream that ends badly."""

    def __init__(self, how):
        self.how = how

    def __iter__(self):
        yield from range(4)
        if self.how == "raise":
            raise LookupError("no more")
        os.kill(os.getpid(), signal.SIGKILL if self.how == "kill" else signal.SIGSTOP)


@pytest.mark.parametrize("how, error, words", [
    ("raise", LookupError, "no more"),
    ("kill", RuntimeError, r"worker 0 .* killed by SIGKILL.*; it was at batch 2, its example 5 of Broken"),
    ("stop", RuntimeError, "timed out after 1 seconds; worker 0 was at batch 2, its example 5 of Broken")])
def test_streams_that_end_badly(how, error, words):
    """One whose worker is stopped too, which nothing it does would tell."""
    batches = iter(DataLoader(Broken(how), 2, num_workers=1, timeout=int(how == "stop"), multiprocessing_context="fork"))
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(error, match=words) as caught:
        next(batches)
    assert how != "raise" or ("in __iter__" in str(caught.value.__cause__) and list(batches) == [])
    assert multiprocessing.active_children() == []


class Counted(Dataset):
    """Counts how many examples were made."""

    def __init__(self, count):
        self.count, self.made = count, torch.zeros((), dtype=torch.int64).share_memory_()

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        self.made += 1
        return i


@pytest.mark.parametrize("factor", [None, 1, 3])
def test_workers_are_so_many_batches_ahead(factor):
    dataset = Counted(100)
    batches = iter(DataLoader(dataset, 2, num_workers=1, prefetch_factor=factor, pin_memory=True))
    for taken in (1, 2, 3):
        next(batches)
        ahead, end = 2 * (taken + (factor or 2)), time.monotonic() + 60
        while dataset.made.item() < ahead and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(0.05)                                 # and no more
        assert dataset.made.item() == ahead


def test_spawned_workers_are_given_lambdas():
    """To join examples, to begin with, and a dataset that no worker could import."""
    bound = torch.zeros(2)

    class Local(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return i + bound[get_worker_info().id].item()
    loader = DataLoader(Local(), 2, num_workers=2, collate_fn=lambda batch: [2 * each for each in batch],
                        worker_init_fn=lambda worker: bound[worker].fill_(5), multiprocessing_context="spawn")
    assert list(loader) == [[10, 12], [14, 16]] and bound.tolist() == [5, 5]


def note_start(worker):
    info = get_worker_info()
    info.dataset.made += 10 ** (1 + worker)
    assert info.id == worker and info.num_workers == 2


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_leaving_early_ends_the_workers_without_a_word(method, capfd):
    """After they called `worker_init_fn`, each with its number."""
    before = set(multiprocessing.active_children())
    dataset = Counted(1000)
    for batch in DataLoader(dataset, 5, num_workers=2, worker_init_fn=note_start, multiprocessing_context=method):
        break
    del batch
    gc.collect()
    assert set(multiprocessing.active_children()) <= before
    assert dataset.made.item() >= 10 + 5
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def test_persistent_workers_stay():
    loader = DataLoader(Numbers(), 4, num_workers=2, persistent_workers=True)
    plain = batches_of(DataLoader(Numbers(), 4))
    assert batches_of(loader) == plain
    processes = [p.pid for p in loader._workers.processes]
    next(iter(loader))                                   # left early: what was on its way belongs to no later pass
    assert batches_of(loader) == plain and [p.pid for p in loader._workers.processes] == processes
    del loader
    gc.collect()
    assert not {p.pid for p in multiprocessing.active_children()} & set(processes)


def test_seeds():
    """Workers draw what the seed says, each something else, the same in every run, however they start. A generator of the loader's own
    is what is asked, where it has one."""
    def draw(seed, generator=None, method="fork", passes=1, **options):
        torch.manual_seed(seed)
        loader = DataLoader(Draws(), None, num_workers=2, generator=generator, multiprocessing_context=method, **options)
        return [example for _ in range(passes) for example in loader]
    first = draw(0)
    assert first == draw(0) == draw(0, method="spawn") != draw(1)
    assert all(len({example[i] for example in first}) == 6 for i in range(3))
    seeds = [example[3] for example in first]
    assert seeds[1] == seeds[0] + 1 and seeds == seeds[:2] * 3
    assert draw(0, torch.Generator().manual_seed(5)) == draw(1, torch.Generator().manual_seed(5)) != first
    assert len({example[2] for example in draw(0, passes=2)}) == len({example[2] for example in
                                                                      draw(0, passes=2, persistent_workers=True)}) == 12


def fail_to_start(worker):
    if worker == 1:
        raise RuntimeError("no such disk")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_failures_say_where(method):
    options = dict(batch_size=4, num_workers=2, multiprocessing_context=method)
    with pytest.raises(LookupError, match="a bad example") as caught:
        list(DataLoader(Numbers(20, 9, "raise"), **options))
    assert "in __getitem__" in str(caught.value.__cause__) and "this was example 9 of Numbers" in str(caught.value.__cause__)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"worker 0 \(process \d+\) was killed by SIGKILL.*batch 2, example 9 of Numbers"):
        list(DataLoader(Numbers(20, 9, "kill"), **options))
    with pytest.raises(RuntimeError, match="ended with status 3 before it was done; it was at batch 2, example 9 of Numbers"):
        list(DataLoader(Numbers(20, 9, "exit"), **options))
    assert time.monotonic() - start < 20
    with pytest.raises(RuntimeError, match="timed out after 3 seconds; worker 0 was at batch 2, example 9 of Numbers"):
        list(DataLoader(Numbers(20, 9, "stuck"), timeout=3, **options))
    with pytest.raises(RuntimeError, match=r"was killed by SIGKILL.*batch 9, example 9 of Numbers"):
        list(DataLoader(Numbers(20, 9, "kill"), **options | {"batch_size": None}))
    with pytest.raises(RuntimeError, match="no such disk"):
        list(DataLoader(Numbers(), worker_init_fn=fail_to_start, **options))
    assert multiprocessing.active_children() == []


def test_a_worker_killed_between_batches():
    loader = DataLoader(Numbers(), 2, num_workers=2, persistent_workers=True)
    batches = iter(loader)
    next(batches)
    os.kill(loader._workers.processes[1].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"worker 1 .* killed by SIGKILL"):
        list(batches)
    assert len(list(loader)) == 10                       # the next pass has new ones


def interrupt(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGINT)


def test_an_interrupt_that_only_the_workers_saw():
    """Python drops a KeyboardInterrupt that comes while a finaliser runs: the workers saw it too, and say so."""
    loader = DataLoader(Numbers(20, 9, "stuck"), 4, num_workers=2, persistent_workers=True)
    for handler, expected in ((signal.default_int_handler, KeyboardInterrupt), (lambda *_: None, None)):
        batches = iter(loader)
        before = signal.signal(signal.SIGINT, handler)
        try:
            next(batches)
            pids = [process.pid for process in loader._workers.processes]
            threading.Timer(0.3, interrupt, pids).start()           # while it waits
            loader.timeout = 3
            with pytest.raises(expected or RuntimeError, match=None if expected else "timed out"):
                list(batches)
        finally:
            signal.signal(signal.SIGINT, before)
            loader.timeout = 0


def test_options_that_exclude_each_other():
    for options, words in (({"num_workers": -1}, "non-negative"), ({"prefetch_factor": 2}, "num_workers > 0"),
                           ({"persistent_workers": True}, "num_workers > 0"), ({"multiprocessing_context": "fork"}, "num_workers > 0"),
                           ({"num_workers": 1, "timeout": -1}, "non-negative")):
        with pytest.raises(ValueError, match=words):
            DataLoader(Numbers(), **options)


PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)       # a shell's background jobs ignore it
import numtorch as torch
import numtorch.multiprocessing as mp
from numtorch.data import DataLoader
class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 100
    def __getitem__(self, i):
        if i > 3:
            time.sleep(50)
        return i
if __name__ == "__main__":
    for batch in DataLoader(Slow(), 2, num_workers=2, multiprocessing_context=sys.argv[1]):
        print("ready", flush=True)
"""


def until_it_waits(pid):
    """Return when a process has taken no processor time for half a second."""
    before = None
    while (now := Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]) != before:
        before = now
        time.sleep(0.5)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_program_ends_its_workers(number, method, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    program = subprocess.Popen([sys.executable, tmp_path / "program.py", method], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True)
    assert program.stdout.readline() == "ready\n"
    until_it_waits(program.pid)                          # Python drops a Ctrl-C that comes within a weak reference's callback
    start = time.monotonic()
    if number == signal.SIGINT:
        os.killpg(program.pid, number)                   # as a terminal does
    else:
        os.kill(program.pid, number)
    assert program.wait(10) == -number
    errors = program.stderr.read()                       # it ends when the last process that has it does
    assert time.monotonic() - start < 5
    assert errors == "" if number == signal.SIGKILL else errors.count("Traceback") == 1


def test_a_batch_of_small_tensors_is_one_block():
    """Each has a storage of its own over its part, and the block goes with the last. Large ones have blocks of their own."""
    before, again = in_use(), mp.SimpleQueue()
    batches = list(DataLoader(Records(), 4, num_workers=1))
    for number, batch in enumerate(batches):
        x, (y, (z,)) = batch["x"], batch["more"]
        rows = torch.arange(4) + 4 * number
        assert torch.equal(x, rows.float().view(4, 1, 1).expand(4, 3, 5)) and torch.equal(y, rows)
        assert torch.equal(z, rows.view(4, 1).expand(4, 7000))
        assert all(each.is_shared() and each.data_ptr() % 64 == 0 for each in (x, y, z))
        block = x.memory.owner
        assert block is y.memory.owner and block is not z.memory.owner
        assert x.memory is not y.memory and (x.untyped_storage().nbytes(), y.untyped_storage().nbytes()) == (240, 32)
        x.add_(1), y.mul_(-1)
        assert x._version == 1 == y._version and torch.equal(x[:, 0, 0], rows + 1.0) and torch.equal(y, -rows)
        again.put((x, y, x[1], x.numpy()))
        a, b, c, array = again.get()
        assert a.memory is x.memory is c.memory and b.memory is y.memory and a.data_ptr() == x.data_ptr()
        assert c.data_ptr() == x[1].data_ptr() and np.array_equal(array, x.numpy())
        x.resize_(9, 3, 5)
        assert torch.equal(x[:4, 0, 0], rows + 1.0) and torch.equal(y, -rows) and x.share_memory_().memory.owner is not block
    del batch, x, z, a, b, c, array, block, batches, again
    kept = in_use()[0]
    del y
    assert kept == before[0] + 1 and in_use() == before


def test_what_is_sent_together_and_may_not_move_stays():
    """Views of one storage, memory that is shared already, what NumPy or a graph has, and a tensor that comes twice."""
    whole, shared, seen, once = torch.zeros(4), torch.ones(3).share_memory_(), torch.ones(2), torch.full((5,), 2.0)
    views, array, block = [whole[:2], whole[2:]], seen.numpy(), shared.memory.owner
    share_together([*views, shared, seen, once, once, torch.zeros(0), torch.eye(2).to_sparse()])
    assert not any(each.is_shared() for each in (*views, seen)) and shared.memory.owner is block
    other = torch.full((6,), 3.0)
    share_together([once, other, once, torch.zeros(5000)])
    assert once.memory.owner is other.memory.owner and once.tolist() == [2] * 5 and other.tolist() == [3] * 6
    views[0].add_(1), array.fill(4)
    assert whole.tolist() == [1, 1, 0, 0] and seen.tolist() == [4, 4]
