"""Limits of the system, and of a family: each says which it is, and what raises it."""
from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import tempfile

import pytest
from family import MB, in_use

import numtorch as torch
from numtorch.shared import heap as heaps
from numtorch.shared import system
from numtorch.shared.heap import heap
from numtorch.shared.tables import NEXT_ID, NEXT_PLACE

LIMIT = """
import resource
import numtorch as torch, numtorch.multiprocessing as mp
{begin}
try:
    {code}
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize("begin, code, words", [
    ("resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))", "queues = [mp.Queue() for _ in range(30)]",
     "no descriptor is left: this process may have 20; `ulimit -n`"),
    ("resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))", "torch.ones(10).share_memory_()",
     "may have 1048576 bytes \\(`ulimit -f`\\)"),
    ("x = torch.ones(1 << 24); resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))", "x.share_memory_()",
     "may have 536870912 bytes of addresses; `ulimit -v`"),
    ("import numtorch.shared.storages; x = torch.ones(10); resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))",
     "x.share_memory_()", "no descriptor is left: this process may have 4"),
])
def test_limits_say_which(begin, code, words):
    done = subprocess.run([sys.executable, "-c", LIMIT.format(begin=begin, code=code)], capture_output=True, text=True, timeout=60)
    assert re.search(words, done.stdout) and not done.stderr, done


NEITHER = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
opened = []
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event in ("open", "os.listdir") else None)
import numtorch as torch, numtorch.multiprocessing as mp
if __name__ == "__main__":
    there, back = mp.Queue(), mp.Queue()
    context = mp.get_context("fork")
    there.put([torch.ones(1 << 21), torch.ones(3)])
    values = context.Array("d", 100), context.Value("i", 0), context.RawArray("i", 1 << 20), context.Lock(), context.Event()
    with context.Pool(1) as pool, context.Manager() as manager:
        back.put(pool.apply(torch.stack, (there.get()[1:],)))
        manager.list([torch.ones(3)])[0]
    maps = open("/proc/self/maps").read()
    print(back.get().tolist(), [path for path in opened if "/shm" in path], "/dev/shm" in maps)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_neither_dev_shm_nor_locked_memory_is_a_limit(tmp_path):
    """Nothing is locked, and nothing is made, opened or mapped in /dev/shm, neither for tensors nor for values and locks."""
    (tmp_path / "neither.py").write_text(NEITHER)
    done = subprocess.run([sys.executable, tmp_path / "neither.py"], capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("[[1.0, 1.0, 1.0]] [] False\n", "")


def test_a_file_with_a_name_loses_it_at_once(tmp_path, monkeypatch):
    """Where there are no files in memory, as on macOS: and a folder that is full is what the error names."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    fd = system.anonymous_file()
    status = os.fstat(fd)
    assert os.listdir(tmp_path) == [] and status.st_nlink == 0 and status.st_size >= 1 << 43
    assert not os.get_inheritable(fd) and os.pread(fd, 3, 1 << 40) == bytes(3)
    os.close(fd)
    with pytest.raises(RuntimeError, match=re.escape(f"{tmp_path} is full, where shared memory lies on this system; $TMPDIR")):
        raise system.limit(OSError(errno.ENOSPC, "x"), 77)


@pytest.mark.parametrize("number, words", [
    (errno.EMFILE, "no descriptor is left.*`ulimit -n`"), (errno.ENFILE, "/proc/sys/fs/file-max"),
    (errno.ENOSPC, "no more memory for files in memory; a container's limit"), (errno.ENOMEM, "max_map_count"),
    (errno.EFBIG, "`ulimit -f`"), (errno.EIO, "Input/output error")])
def test_each_limit_has_its_words(number, words):
    with pytest.raises(RuntimeError, match=r"cannot have 77 bytes more.*" + words + rf".*\(error {number}"):
        raise system.limit(OSError(number, "x"), 77)


def reach(limit, said):
    home, kept = heap(), []
    if limit == "processes":
        home.locks.promise = lambda member: False
    elif limit == "tensors":
        heaps.BLOCKS = home.header[NEXT_ID] + 100
    else:
        home.size = home.header[NEXT_PLACE] + 1000
    try:
        for _ in range(5000):
            kept.append(torch.ones(2 * MB if limit == "bytes" else 1).share_memory_())
            if limit == "processes":
                home.before_fork()
    except RuntimeError as error:
        os.write(said, str(error).encode())              # a queue takes memory, of which there is none
    os._exit(0)


@pytest.mark.parametrize("limit, words", [("processes", "at most 512 processes"), ("tensors", "shared tensors at a time; join small"),
                                          ("bytes", "bytes in its life.*start the program anew")])
def test_a_familys_own_limits_say_which(limit, words, fork):
    before, (read, write) = in_use(), os.pipe()
    process = fork.Process(target=reach, args=(limit, write))
    process.start()
    process.join(60)
    os.close(write)
    with open(read) as said:
        assert re.search(words, said.read())
    assert in_use() == before
