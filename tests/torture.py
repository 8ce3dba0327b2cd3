"""`python -m tests.torture --rounds 200 --seed 1`: processes that share tensors are killed, stopped and terminated at random.

A round is a family of its own: senders, relays that check, change and pass on what they get, a pool and a loader, under a killer. Then the survivors
must go on, no tensor may have been read wrong, and nothing may be left: no block in use, no descriptor, no process. In every third
round the whole family is killed in the middle, and nothing of it may be left either: no file in memory, no semaphore, no process.
"""
from __future__ import annotations

import argparse
import contextlib
import gc
import glob
import multiprocessing.synchronize
import os
import random
import signal
import sys
import threading
import time
import traceback
from queue import Empty

import numtorch as torch
import numtorch.multiprocessing as mp
from numtorch.data import DataLoader, TensorDataset
from numtorch.shared.heap import heap
from numtorch.shared.tables import BLOCK, CHANNEL, KIND, NEXT_ID

SIZES = (1, 100, 5000, 300_000, 1_500_000)               # elements: small blocks, and large ones with memory of their own
SECONDS = 60                                             # after which a round hangs


def right(x):
    """Whether a tensor holds what its sender wrote."""
    return bool(x.eq(x[0]).all()) and int(x[0]) % 7 == x.numel() % 7


def value_for(numel, draw):
    return float(draw.randrange(1000) * 7 + numel % 7)


def send(queue, lock, seed):
    """Put tensors and views of them, for ever."""
    draw = random.Random(seed)
    while True:
        numel = draw.choice(SIZES)
        x = torch.full((numel,), value_for(numel, draw))
        with lock:
            queue.put((x, x[:1]) if draw.random() < 0.5 else (x, x))
        if draw.random() < 0.1:
            torch.ones(10).share_memory_()


def relay(queue, onward, wrong):
    """Check what comes, and send it on 7 larger."""
    while True:
        x, view = queue.get()
        if not right(x) or view.untyped_storage() is not x.untyped_storage():
            wrong.put(f"relay: {x.numel()} elements, {x[:3].tolist()}")
        onward.put(x.add_(7))
        del x, view


def work(x):
    return x.add(7)


def kill_at_random(draw, victims, stop):
    """Until told to stop, do something bad to a process now and then."""
    while not stop.wait(draw.random() * 0.03):
        what = draw.choice(["KILL", "KILL", "TERM", "STOP"])
        with contextlib.suppress(ProcessLookupError, ValueError, IndexError):      # over meanwhile, or none is there
            pid = draw.choice([p for p in victims() if p.exitcode is None]).pid
            if what == "STOP":
                os.kill(pid, signal.SIGSTOP)
                stop.wait(draw.random() * 0.05)
                os.kill(pid, signal.SIGCONT)
            else:
                os.kill(pid, getattr(signal, "SIG" + what))


def in_use():
    """(blocks, channels) in use in this family."""
    gc.collect()
    home = heap()
    home.critical(lambda: (home.settle(), home.sweep(True)))
    kinds = home.all_records[:home.header[NEXT_ID], KIND]
    return int((kinds == BLOCK).sum()), int((kinds == CHANNEL).sum())


class Family:
    """The processes of a round, replaced as they fall."""

    def __init__(self, context, draw):
        self.context, self.draw = context, draw
        self.queue, self.onward, self.wrong = context.Queue(8), context.Queue(), context.SimpleQueue()
        self.lock = context.Lock()
        self.processes = [self.new(i) for i in range(4)]

    def new(self, i):
        if i < 2:
            process = self.context.Process(target=send, args=(self.queue, self.lock, self.draw.random()), daemon=True)
        else:
            process = self.context.Process(target=relay, args=(self.queue, self.onward, self.wrong), daemon=True)
        process.start()
        return process

    def replace_the_fallen(self):
        for i, process in enumerate(self.processes):
            if process.exitcode is not None:
                process.join()
                self.processes[i] = self.new(i)


class Loading:
    """Passes of a loader, which begin anew where a worker was killed."""

    def __init__(self, context):
        self.rows = torch.arange(4000.0).view(40, 100)
        self.loader = DataLoader(TensorDataset(self.rows), 4, num_workers=2, persistent_workers=True,
                                 multiprocessing_context=context.get_start_method())
        self.batches, self.number, self.passes = iter(self.loader), 0, 0

    def workers(self):
        return [] if self.loader._workers is None else list(self.loader._workers.processes)

    def next(self):
        """Take a batch, if there is one."""
        try:
            batch, = next(self.batches)
        except RuntimeError as error:
            assert "was killed by SIG" in str(error), error
        except StopIteration:
            assert self.number == 10, self.number
            self.passes += 1
        else:
            assert torch.equal(batch, self.rows[4 * self.number:4 * self.number + 4]), (self.number, batch[:, 0])
            self.number += 1
            return
        self.batches, self.number = iter(self.loader), 0


def traffic(family, draw, seconds):
    """Take part for a while: receive, check, use a pool and a loader. Returns how much was received."""
    stop, received = threading.Event(), 0
    context = family.context
    pool, loading = context.Pool(2), Loading(context)
    victims = lambda: [*family.processes, *loading.workers(), *[p for p, _ in list(pool._workers)]]
    killer = threading.Thread(target=kill_at_random, args=(draw, victims, stop))
    killer.start()
    pending = []
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            family.replace_the_fallen()
            with contextlib.suppress(Empty):
                x = family.onward.get(timeout=0.05)
                assert right(x), x[:3].tolist()
                received += 1
                pending.append((int(x[0]), pool.apply_async(work, (x,))))
                del x
            loading.next()
            for value, result in pending[:-3]:
                try:
                    got = result.get(20)
                    assert right(got) and int(got[0]) == value + 7, got[:3].tolist()
                except mp.ProcessExitedException:
                    pass
            del pending[:-3]
    finally:
        stop.set()
        killer.join()
    for _, result in pending:
        with contextlib.suppress(mp.ProcessExitedException):
            assert right(result.get(20))
    pool.terminate()
    passes = loading.passes
    for _ in range(40):                                  # a pass that was begun, one in which a kill is noticed, two whole ones
        loading.next()
    assert loading.passes >= passes + 2
    return received


def descriptors():
    """What this process has open."""
    found = []
    for each in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):               # the folder itself, which was read through one
            found.append(os.readlink(f"/proc/self/fd/{each}"))
    return found


def survive(method, seed, seconds):
    """A round in the process that began the family. Its exit status is 0 if all is well."""
    draw = random.Random(seed)
    context = mp.get_context(method)
    multiprocessing.synchronize.SemLock.__init__ = no_name
    heap()
    with context.Pool(1) as pool:                        # a server and a tracker stay, and have descriptors
        pool.apply(int)
    del pool
    start = in_use(), len(descriptors())
    family = Family(context, draw)
    received = traffic(family, draw, seconds)
    for _ in range(100):                                 # without a killer everything works
        family.replace_the_fallen()
        x = family.onward.get(timeout=20)
        assert right(x)
    for process in family.processes:
        process.kill()
        process.join()
    wrong = [] if family.wrong.empty() else [family.wrong.get()]
    assert not wrong, wrong
    while not family.onward.empty():
        assert right(family.onward.get())
    del family, x, process
    ends = time.monotonic() + 10
    left: tuple = ()
    while left != start and time.monotonic() < ends:     # threads that feed queues end a little later, and have their pipes
        gc.collect()
        left = in_use(), len(descriptors())
        time.sleep(0.01)
    assert left == start, f"(blocks, channels), descriptors: {start} before, {left} after: {descriptors()}"
    return received


def begin(method, seed, seconds):
    """Start a family in a session of its own."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        survive(method, seed, seconds)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def named():
    """Files in shared memory, without other programs' semaphores and PyTorch's; a round makes no semaphores with names (`survive`)."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith(("sem.mp-", "torch_"))}


def no_name(*arguments, **options):
    raise AssertionError("a semaphore with a name is made")


def members(session):
    """Processes of a session that are not over."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            fields = open(path).read().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] not in "ZX":
                found.append(int(path.split("/")[2]))
    return found


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def run_round(number, seed, method, seconds):
    """What went wrong in a round; None where nothing did."""
    draw = random.Random(f"{seed} {number}")
    names = named()
    pid = begin(method, f"{seed} {number} family", seconds)
    if number % 3 == 2:
        time.sleep(draw.random() * seconds * 2)
        with contextlib.suppress(ProcessLookupError):    # it may not have its session yet
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        for process in members(pid):                     # a forkserver's children are of its session
            os.kill(process, signal.SIGKILL)
    else:
        end, over = time.monotonic() + SECONDS, 0
        while not over and time.monotonic() < end:
            over, status = os.waitpid(pid, os.WNOHANG)
            time.sleep(0.01)
        if not over:
            os.system(f"for t in /proc/{pid}/task/*; do cat $t/wchan; echo; done >&2")
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return "it hangs"
        if status:
            os.killpg(pid, signal.SIGKILL) if members(pid) else None
            return f"the survivor says so (status {status})"
    if not wait_for(lambda: not members(pid), 5):
        left = members(pid)
        for process in left:
            os.kill(process, signal.SIGKILL)
        return f"processes are left: {left}"
    if named() - names:
        return f"files are left: {named() - names}"
    return None


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--seconds", type=float, default=1.0, help="of killing in a round")
    parser.add_argument("--method", choices=["fork", "spawn", "forkserver"], help="one way to start processes; all in turns else")
    options = parser.parse_args(arguments)
    failures = 0
    for number in range(options.rounds):
        method = options.method or ("fork", "fork", "fork", "spawn", "fork", "fork", "forkserver")[number % 7]
        start = time.monotonic()
        said = run_round(number, options.seed, method, options.seconds)
        failures += said is not None
        print(f"seed {options.seed} round {number} ({method}, {time.monotonic() - start:.1f} s): {said or 'all right'}", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(min(main(), 100))
