"""What is left of processes that shared tensors: nothing; and what is told of them while they run."""
from __future__ import annotations

import contextlib
import glob
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from family import MB, METHODS, in_use, memory

import numtorch as torch
import numtorch.multiprocessing as mp
from numtorch.shared import report


def send_back(incoming, outgoing):
    for value in iter(incoming.get, None):
        outgoing.put(value)


def test_flat_memory_and_few_descriptors(fork):
    before, descriptors = in_use(), len(os.listdir("/proc/self/fd"))
    there, back = fork.Queue(), fork.Queue()
    process = fork.Process(target=send_back, args=(there, back), daemon=True)
    process.start()
    most = 0
    for i in range(3000):
        there.put(torch.full((100,), float(i)))
        assert back.get()[3].item() == i
        most = max(most, memory()) if i % 100 == 0 else most
    there.put([torch.zeros(3) for _ in range(1000)])
    assert len(os.listdir("/proc/self/fd")) < descriptors + 16
    back.get()
    there.put(None)
    process.join()
    process.close()
    assert most < 64 * MB
    del there, back, process
    assert in_use() == before


def hold_and_sleep(queue, report):
    kept = [queue.get() for _ in range(3)]
    report.put(len(kept))
    time.sleep(100)


def test_a_killed_holder_lets_go(fork):
    before = in_use()
    queue, report = fork.Queue(), fork.SimpleQueue()
    process = fork.Process(target=hold_and_sleep, args=(queue, report))
    process.start()
    for _ in range(4):
        queue.put(torch.ones(5 * MB // 4))                # the fourth waits in the queue
    assert report.get() == 3
    assert in_use()[2] == before[2] + 20 * MB
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert in_use()[2] == before[2] + 5 * MB
    del queue, report, process
    assert in_use() == before


FAMILY = """
import multiprocessing.synchronize, os, sys, time
import numtorch as torch, numtorch.multiprocessing as mp
def child(queue):
    queue.put([torch.ones(1 << 20), torch.ones(3)])
    time.sleep(100)
if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    multiprocessing.synchronize.SemLock.__init__ = None               # no semaphore has a name
    queue, lock, event, value = context.Queue(), context.Lock(), context.Event(), context.Value("i", 0)
    kept = torch.ones(1 << 22).share_memory_()
    processes = [context.Process(target=child, args=(queue,)) for _ in range(2)]
    for process in processes:
        process.start()
    kept = [queue.get(), kept]
    print("ready", *[p.pid for p in processes], flush=True)
    time.sleep(100)
"""


def family_files(pid="[0-9]*"):
    """Anonymous files of a process, or of any of this user, by number."""
    found = set()
    for path in glob.glob(f"/proc/{pid}/fd/*"):
        with contextlib.suppress(OSError):                # another user's, or gone meanwhile
            if "memfd:numtorch" in os.readlink(path):
                found.add(os.stat(path).st_ino)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_left_of_a_killed_family(method, tmp_path):
    (tmp_path / "family.py").write_text(FAMILY)
    tree = subprocess.Popen([sys.executable, tmp_path / "family.py", method], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True)
    assert tree.stdout.readline().startswith("ready")
    files = family_files(tree.pid)
    assert len(files) == 1
    os.killpg(tree.pid, signal.SIGKILL)
    tree.wait()
    end = time.monotonic() + 10
    while family_files() & files and time.monotonic() < end:
        time.sleep(0.01)
    assert not family_files() & files
    assert tree.stderr.read() == ""


# ---------------------------------------------------------------- looking inside
def test_the_command_lists_families(fork):
    queue, report = fork.Queue(), fork.SimpleQueue()
    process = fork.Process(target=hold_and_sleep, args=(queue, report))
    process.start()
    for _ in range(4):
        queue.put(torch.ones(5 * MB // 4))
    assert report.get() == 3
    said = subprocess.run([sys.executable, "-m", "numtorch", "shared"], capture_output=True, text=True, timeout=60)
    process.kill()
    process.join()
    assert said.returncode == 0 and said.stderr == ""
    ours = re.search(rf"family of process (\d+): ([\d.]+) MiB of memory, (\d+) blocks of .*, (\d+) arenas, (\d+) channels with "
                     rf"(\d+) letters(?:\n  .*)*process {process.pid} .*: holds (\d+) blocks of ([\d.]+) MiB", said.stdout)
    assert ours and float(ours[2]) >= 20 and min(int(ours[i]) for i in (3, 4, 5, 6)) >= 1, said.stdout
    assert int(ours[7]) >= 3 and float(ours[8]) >= 15, said.stdout


def test_the_command_skips_what_has_no_tables():
    """A file that is being made, and a device's memory, which is another kind of file: beyond its end there is no memory to look at."""
    files = [os.memfd_create("numtorch"), os.memfd_create("numtorch-device")]
    os.ftruncate(files[1], 1 << 30)
    numbers = {os.stat(fd).st_ino for fd in files}
    assert not numbers & {os.stat(path).st_ino for path in report.families()}
    for fd in files:
        os.close(fd)


def test_the_command_says_where_it_sees_nothing(monkeypatch, capsys):
    """Neither no program nor one of another user's, but no `/proc`."""
    monkeypatch.setattr(report.glob, "glob", lambda pattern: [])
    assert report.show() == 0 and "no running program" in capsys.readouterr().out
    monkeypatch.setattr(report.os.path, "isdir", lambda path: False)
    assert report.show() == 1 and "closed or not there" in capsys.readouterr().out


# ---------------------------------------------------------------- all at random
def test_join_knows_of_an_end_that_another_thread_was_told_of():
    process = mp.get_context("fork").Process(target=int)
    process.start()
    poll, asked = process._popen.poll, []

    def told_late(*flags):
        asked.append(flags)
        return None if len(asked) < 5 else poll(*flags)
    process._popen.poll = told_late
    process.join()
    assert process.exitcode == 0
    assert process not in multiprocessing.active_children()
    process.close()


def test_torture():
    """More: python -m tests.torture --rounds 200"""
    done = subprocess.run([sys.executable, "-m", "tests.torture", "--rounds", "3", "--method", "fork", "--seconds", "0.5"],
                          capture_output=True, text=True, timeout=200, cwd=str(Path(__file__).resolve().parents[2]))
    assert done.returncode == 0, done.stdout + done.stderr
