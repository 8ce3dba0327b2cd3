"""The heap of a family of processes: who lives, what is done where the system has less, and what is held by whom."""
from __future__ import annotations

import fcntl
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from family import MB, in_use, memory

import numtorch as torch
import numtorch.multiprocessing as mp
from numtorch.finalisers import Finaliser
from numtorch.shared import blocks, channel, filelocks, system
from numtorch.shared import heap as heaps
from numtorch.shared.channel import Channel
from numtorch.shared.heap import heap
from numtorch.shared.tables import LAST, PLACE

ROOT = str(Path(__file__).resolve().parents[2])


def large_bytes():
    """Bytes of large blocks that anybody of this family uses."""
    return in_use()[2]


# ---------------------------------------------------------------- who lives
def hold_beside_a_child(method, lock, report):
    child = mp.get_context(method).Process(target=time.sleep, args=(100,))
    child.start()
    kept = torch.ones(5 * MB // 4).share_memory_()
    lock.acquire()
    report.put((child.pid, kept.numel()))
    time.sleep(100)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_killed_parent_lets_go_though_its_children_live(method):
    """Neither what children inherit nor what they are given keeps the locks of their parent."""
    before = large_bytes()
    context = mp.get_context("fork" if method == "fork" else "spawn")            # a forked child cannot use a forkserver of its parent's
    lock, report = context.Lock(), context.Queue()
    process = context.Process(target=hold_beside_a_child, args=(method, lock, report))
    process.start()
    child, _ = report.get(timeout=60)
    end = time.monotonic() + 60
    while len(heap().living()) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert large_bytes() == before + 5 * MB
    process.kill()
    process.join()
    os.kill(child, 0)
    freed, free = large_bytes(), lock.acquire(timeout=5)
    os.kill(child, signal.SIGKILL)
    assert free and freed == before


@pytest.mark.skipif(not hasattr(fcntl, "F_OFD_GETLK"), reason="looks from outside of the process' own locks")
@pytest.mark.parametrize("child", ["begins", "dies", "is stuck"])
def test_a_promise_lasts_until_the_child_has_its_lock(child, monkeypatch):
    """Where locks are of processes, a number is never free between a parent's fork and the child's own lock, nor for ever after."""
    monkeypatch.setattr(filelocks, "SECONDS", 0.2 if child == "is stuck" else 20)
    file = os.memfd_create("locks")
    outside, locks = os.open(f"/proc/self/fd/{file}", os.O_RDWR), filelocks.ProcessLocks(file)
    assert locks.take(4) and not locks.promises(4)
    locks.before_fork()
    assert not locks.promise(4) and locks.promise(5)
    pid = os.fork()
    if not pid:
        try:
            if child == "begins":
                locks.after_fork_in_child(5)
            if child != "dies":
                time.sleep(100)
        finally:                                         # else there would be a second pytest
            os._exit(0)
    start = time.monotonic()
    locks.after_fork_in_parent()
    assert time.monotonic() - start < 10
    assert locks.promises(5) == (child == "is stuck") and filelocks.lives(outside, 5) == (child != "dies")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert not locks.promises(5) and not filelocks.lives(outside, 5) and filelocks.lives(outside, 4)
    assert locks.take(5)
    os.close(outside)
    os.close(file)


def test_a_child_whose_number_was_taken_ends():
    """Its parent was killed, and what it held buried, before the child had its lock: it reads no memory that is another's now."""
    torch.ones(1).share_memory_()                        # so that there is something that was another's
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            heap().child_birth -= 1
            os.dup2(write, 2)
            heap()._begin()
        finally:                                         # else there would be a second pytest
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    os.close(write)
    with open(read) as said:
        assert "parent was killed before it had begun" in said.read()


# ---------------------------------------------------------------- large blocks
def hold_until_told(queue, told, done):
    x = queue.get()
    done.put(x.numel())
    told.get()
    del x
    done.put(memory())


@pytest.mark.parametrize("first, nbytes", [("parent", 21 * MB), ("child", 22 * MB)])
def test_large_memory_goes_with_its_last_holder(first, nbytes):
    """At once, whoever that is, and without a sweep by anybody else: a process that takes such a block for the first time may take
    no other."""
    fork, before = mp.get_context("fork"), (large_bytes(), memory())[1]
    queue, told, done = fork.Queue(), fork.Queue(), fork.Queue()
    process = fork.Process(target=hold_until_told, args=(queue, told, done))
    process.start()
    x = torch.ones(nbytes // 4)
    queue.put(x)
    done.get(timeout=60)
    if first == "parent":
        del x
    assert memory() >= before + nbytes
    told.put(None)
    left = done.get(timeout=60)
    if first == "child":
        assert left >= before + nbytes
        del x
        left = memory()
    assert left < before + MB
    process.join(60)


def drop_what_comes(queue, dropped):
    for value in iter(queue.get, None):
        assert value.eq(value[0]).all()
        del value
        dropped.put(memory())


def place_of(tensor):
    return heap().records[tensor.untyped_storage().memory.owner.number * 8 + PLACE]


@pytest.mark.parametrize("last, nbytes", [("parent", 10 * MB), ("child", 11 * MB), ("view", 12 * MB)])
def test_one_block_after_another_has_the_pages_of_the_last(last, nbytes):
    """Who takes large blocks again and again finds memory that waits for it, whoever dropped it and whatever it is mapped over; what
    nobody takes is given back a second later, and nobody need do anything for that."""
    before = large_bytes(), memory()
    fork = mp.get_context("fork")
    queue, dropped = fork.Queue(), fork.Queue()
    process = fork.Process(target=drop_what_comes, args=(queue, dropped), daemon=True)
    process.start()
    for _ in range(10):
        places, addresses, times = [], [], [time.monotonic()]
        for i in range(6):
            x = torch.full((nbytes // 4,), float(i))
            view = x[5:] if last == "view" else None     # then pages are put in the place of the tensor's
            queue.put(x)
            places.append(place_of(x))
            addresses.append(x.data_ptr())
            assert x.is_shared() and x[0].item() == x[-1].item() == i
            if last == "child":
                del x
                dropped.get(timeout=60)
            else:
                dropped.get(timeout=60)
                del x, view
            times.append(time.monotonic())
        if max(now - then for then, now in itertools.pairwise(times)) < 0.4:
            break
        wait_until(lambda: not heap().reserve.watches)   # a busy machine: what waited may have been given back meanwhile
    assert places[0] != places[1] == places[-1] and len(set(places)) == 2
    assert last == "view" or len(set(addresses[2:])) == 1
    assert memory() >= before[1] + nbytes and not fork_sees_waiting(fork)
    wait_until(lambda: memory() <= before[1] + MB and not heap().reserve.watches)
    queue.put(None)
    process.join(60)
    assert process.exitcode == 0 and large_bytes() == before[0]


def wait_until(question):
    """Wait until something is true."""
    end = time.monotonic() + 20
    while not question():
        assert time.monotonic() < end
        time.sleep(0.05)


def fork_sees_waiting(fork):
    """Whether a forked child has its parent's blocks that wait."""
    said = fork.SimpleQueue()
    child = fork.Process(target=lambda: said.put(bool(heap().reserve.mappings or heap().reserve.watches)))
    child.start()
    child.join(60)
    return said.get()


def take_and_drop(times, done):
    for i in range(times):
        torch.full((13 * MB // 4,), float(i)).share_memory_()
    done.put(memory())
    if times == 4:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("times", [3, 4])
def test_what_waits_for_a_process_that_ends_is_given_back(times):
    before = large_bytes(), memory()
    fork = mp.get_context("fork")
    done = fork.Queue()
    process = fork.Process(target=take_and_drop, args=(times, done))
    process.start()
    assert done.get(timeout=60) >= before[1] + 13 * MB
    process.join(60)
    assert process.exitcode == (-signal.SIGKILL if times == 4 else 0)
    assert times == 4 or memory() < before[1] + MB       # it sees to that itself
    assert large_bytes() == before[0] and memory() < before[1] + MB


def test_what_is_dropped_while_another_thread_is_busy():
    """That thread lets go of it, since who drops never waits."""
    home, before, inside, dropped = heap(), large_bytes(), threading.Event(), threading.Event()
    kept = torch.ones(14 * MB // 4).share_memory_()
    busy = threading.Thread(target=home.critical, args=(lambda: (inside.set(), dropped.wait(60)),))
    busy.start()
    assert inside.wait(60)
    del kept
    assert home.dropped
    dropped.set()
    busy.join(60)
    assert not home.dropped and not home.wants_sweep and large_bytes() == before


def die_while_giving_back():
    kept = torch.ones(8 * MB // 4).share_memory_()
    heaps.punch = lambda *place: os.kill(os.getpid(), signal.SIGKILL)
    del kept


def test_memory_whose_giver_is_killed_is_given_back():
    before = large_bytes(), memory()
    process = mp.get_context("fork").Process(target=die_while_giving_back)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL and memory() >= before[1] + 8 * MB
    assert large_bytes() == before[0] and memory() < before[1] + MB


# ---------------------------------------------------------------- letters
def test_a_sender_killed_before_it_wrote_down_the_last_letter():
    """The letter that is written down as the last is received and its record used again, and what is sent then comes behind the
    others."""
    channel = Channel()
    send = lambda text: channel.send(channel.write([text]))
    first = channel.write([b"1"])
    number = first.number
    channel.send(first)
    del first
    send(b"2")
    channel.heap.records[channel.record + LAST] = number             # as a sender leaves it that is killed between its two steps
    assert channel.receive(0).bytes.tobytes() == b"1"
    channel.heap.critical(channel.heap.sweep)
    kept = [channel.write([b"3"]) for _ in range(3)]
    assert number in [letter.number for letter in kept] and channel.heap.records[channel.record + LAST] != number
    for letter in kept:
        channel.send(letter)
    assert len(channel) == 4
    letters = [channel.receive(0) for _ in range(5)]
    assert [letter and letter.bytes.tobytes() for letter in letters] == [b"2", b"3", b"3", b"3", None]


# ---------------------------------------------------------------- systems that have less
LESS = """
import fcntl, os
without, opened = {without!r}, os.open
def refuse(path, *arguments, **options):
    if str(path).startswith(("/proc/self/fd/", "/dev/fd/")):
        raise FileNotFoundError(2, "No such file or directory", path)
    return opened(path, *arguments, **options)
os.open = refuse
for module in (os, fcntl):
    for name in without:
        if hasattr(module, name):
            delattr(module, name)
"""
MACOS = ["memfd_create", "posix_fallocate", "eventfd", "F_OFD_GETLK", "F_OFD_SETLK", "F_OFD_SETLKW"]
CHOSEN = ["multiprocessing.py::test_tensors_travel_by_handle", "share_memory.py::test_large_memory_goes_at_the_last_drop",
          "multiprocessing_left.py::test_a_killed_holder_lets_go", "multiprocessing_killed.py::test_killed_at_each_step",
          "multiprocessing_killed.py::test_forks_of_a_busy_parent", "multiprocessing_locks.py::test_a_dead_holders_lock_is_free",
          "multiprocessing_workers.py::test_pools[fork]", "multiprocessing_locks.py::test_pipes[spawn]",
          "multiprocessing_locks.py::test_values_and_arrays",
          "shared.py::test_a_killed_parent_lets_go_though_its_children_live[fork]"]


@pytest.mark.parametrize("without", [[], MACOS], ids=["closed proc", "as macOS"])
def test_systems_that_have_less(without, tmp_path):
    """Where `/proc` is closed descriptors are passed and locks are processes'; macOS has no files in memory and no eventfd besides.
    The tests of tensors between processes pass there, with all their processes."""
    (tmp_path / "sitecustomize.py").write_text(LESS.format(without=without))
    path = os.pathsep.join([str(tmp_path), ROOT, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *["tests/processes/test_" + t for t in CHOSEN]],
                          capture_output=True, text=True, timeout=300, cwd=ROOT, env={**os.environ, "PYTHONPATH": path, "NUMTORCH_TEST_FORKS": "5"})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


FULL = """
import sys
import numtorch as torch, numtorch.multiprocessing as mp
what, nbytes = sys.argv[1], int(sys.argv[2])
queue, kept, counts = mp.SimpleQueue(), [], []
for turn in range(2):
    count = 0
    try:
        while True:
            if what == "tensor":
                kept.append(torch.ones(nbytes // 4).share_memory_())
            else:
                queue.put(bytes(nbytes))
            count += 1
    except RuntimeError as error:
        print(error)
    counts.append(count)
    kept.clear()
    while not queue.empty():
        queue.get()
print(counts[0] > 0 and counts[1] >= counts[0] - 1)
"""
MOUNT = "mount -t tmpfs -o size=20m none {folder} && TMPDIR={folder} exec {python} {program} {what} {nbytes}"


def can_mount():
    return shutil.which("unshare") and not subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"],
                                                          capture_output=True).returncode


@pytest.mark.parametrize("what, nbytes", [("tensor", 4000), ("tensor", 400_000), ("tensor", 8 << 20), ("letter", 3000),
                                          ("letter", 8 << 20)])
def test_memory_that_is_not_there_is_an_error(what, nbytes, tmp_path):
    """And no SIGBUS, whatever is written first where the file has none. What is given back can be had again."""
    if not can_mount():
        pytest.skip("only root can have a small file system")
    (tmp_path / "sitecustomize.py").write_text(LESS.format(without=MACOS if nbytes != 400_000 else MACOS[:1]))
    (tmp_path / "full.py").write_text(FULL)
    (tmp_path / "small").mkdir()
    command = MOUNT.format(folder=tmp_path / "small", python=sys.executable, program=tmp_path / "full.py", what=what, nbytes=nbytes)
    path = os.pathsep.join([str(tmp_path), ROOT, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True, timeout=100,
                          env={**os.environ, "PYTHONPATH": path})
    first, second, same = done.stdout.splitlines()
    assert "small is full, where shared memory lies" in first and "$TMPDIR" in second and same == "True", done


def test_nothing_is_found_that_is_being_given_back(monkeypatch):
    """A finaliser may let another thread run. What it looks up by a weak reference must not be what is going."""
    home, found = heap(), []
    x = torch.zeros(2_000_000).share_memory_()
    key = x.memory.owner.number, x.memory.owner.generation
    place = home.records[key[0] * 8 + PLACE]

    def looking(function, known, name):
        return lambda *args: (found.append(known.get(name)), function(*args))[1]
    monkeypatch.setattr(type(home), "drop", looking(type(home).drop, home.blocks, key))
    for function in ("_map", "_unmap"):
        monkeypatch.setattr(system, function, looking(getattr(system, function), home.mappings, place))
    assert home.blocks.get(key) is not None and home.mappings.get(place) is not None
    del x
    assert len(found) >= 2 and not any(found)
    assert not any(hasattr(kind, "__del__") for module in (blocks, channel, system)
                   for kind in vars(module).values() if isinstance(kind, type) and kind is not Finaliser)
