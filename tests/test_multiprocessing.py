"""Tensors between processes: handles, views, holds, and what is left when a process is killed at any instruction."""
from __future__ import annotations

import contextlib
import errno
import gc
import glob
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import numtorch as torch
import numtorch.multiprocessing as mp
from numtorch.shared import heap as heaps
from numtorch.shared import system
from numtorch.shared.heap import BLOCK, CAPACITY, CHANNEL, IN_SEGMENT, KIND, NEXT_ID, NEXT_PLACE, heap

METHODS = ("fork", "spawn", "forkserver")
MB = 1 << 20


def in_use():
    """(blocks, channels, bytes of large blocks) that anybody of this family uses."""
    gc.collect()
    home = heap()
    home.tidy()
    home.critical(home.sweep, True)
    table = home.all_records[:home.header[2]]
    blocks = table[table[:, KIND] == BLOCK]
    return len(blocks), int((table[:, KIND] == CHANNEL).sum()), int(blocks[blocks[:, IN_SEGMENT] == 0, CAPACITY].sum())


def memory():
    """Bytes that the family's file takes."""
    return os.fstat(heap().fd).st_blocks * 512


@pytest.fixture(scope="module", autouse=True)
def only_what_is_new_is_collected():
    """What other tests left takes most of the time of `in_use` else."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(params=METHODS)
def context(request):
    return mp.get_context(request.param)


@pytest.fixture
def fork():
    return mp.get_context("fork")


# ---------------------------------------------------------------- tensors travel
def echo(incoming, outgoing):
    for value in iter(incoming.get, None):
        if isinstance(value, tuple):
            whole, view = value
            assert whole.untyped_storage() is view.untyped_storage()
            view.fill_(7)
            assert whole[1].tolist() == [7.0] * 3
        outgoing.put(value)


def test_tensors_travel_by_handle(context):
    """Views stay views within and across messages, writes are seen on both sides, and one that comes home is the one that left."""
    there, back = context.Queue(), context.Queue()
    x = torch.zeros(2, 3)
    row, kept = x[1], x.t()
    process = context.Process(target=echo, args=(there, back))
    process.start()
    there.put((x, row))
    whole, view = back.get(timeout=60)
    assert x.is_shared() and whole.untyped_storage() is x.untyped_storage() is view.untyped_storage()
    assert x.tolist() == [[0.0] * 3, [7.0] * 3] == kept.t().tolist() and row.tolist() == [7.0] * 3
    there.put(x[:, 1:])
    part = back.get(timeout=60)
    assert part.untyped_storage() is x.untyped_storage() and part.stride() == (3, 1) and part.storage_offset() == 1
    for value in (torch.tensor(3.5), torch.arange(5, dtype=torch.int16), torch.zeros(0, 4), torch.tensor([1 + 2j]),
                  torch.ones(2, 2, dtype=torch.bfloat16), {"a": [torch.ones(3)], "b": "text"}, 2 ** 70):
        there.put(value)
        got = back.get(timeout=60)
        assert type(got) is type(value) and str(got) == str(value)
    there.put(None)
    process.join(60)
    assert process.exitcode == 0


def test_parameters_and_gradients_travel(fork):
    queue = fork.Queue()
    layer = torch.nn.Linear(3, 2)
    layer(torch.ones(1, 3)).sum().backward()
    layer.weight.note = "kept"
    queue.put(layer)
    got = queue.get()
    assert type(got.weight) is torch.nn.Parameter and got.weight.requires_grad and got.weight.note == "kept"
    assert got.weight.data_ptr() == layer.weight.data_ptr() and torch.equal(got.weight.grad, layer.weight.grad)
    got.weight.grad.fill_(5)
    assert layer.weight.grad.tolist() == [[5.0] * 3] * 2
    with pytest.raises(RuntimeError, match="non-leaf tensor which requires_grad"):
        queue.put(layer.weight * 2)
    assert queue.empty()


def send_and_end(queue, count, nbytes):
    for i in range(count):
        queue.put(torch.full((nbytes // 4,), float(i)))


def test_the_sender_may_end_first(context):
    queue = context.Queue()
    process = context.Process(target=send_and_end, args=(queue, 5, 8 * MB))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert [queue.get(timeout=1)[-1].item() for _ in range(5)] == [0, 1, 2, 3, 4]


# ---------------------------------------------------------------- NumPy arrays, and managers
def write_to_arrays(there, back):
    for value in iter(there.get, None):
        value["x"][:2] = 5
        back.put(value)


def test_arrays_travel_by_handle_if_asked(context):
    before = in_use()
    there, back = context.Queue(), context.Queue()
    shared, large, left = torch.zeros(300, 50), torch.zeros(1200, 1000), torch.zeros(3000)
    array_left = left.numpy()
    left.share_memory_(), shared.share_memory_()
    copied, fortran, small = np.arange(9000.0), np.asfortranarray(np.arange(12000.0).reshape(3, -1)), np.arange(3)
    mp.set_array_sharing(4096)
    try:
        process = context.Process(target=write_to_arrays, args=(there, back))
        process.start()
        for array, seen in ((shared.numpy()[::2], True), (large.numpy().T, True), (array_left, False), (copied, False), (fortran, False), (small, False),
                            (copied[::-3], False), (np.zeros(5000, [("a", "i4"), ("b", "f8")])["b"], False)):
            was = array.copy()
            there.put({"x": array})
            got = back.get(timeout=60)["x"]
            assert type(got) is np.ndarray and got.shape == array.shape and got.dtype == array.dtype
            assert (got[:2] == 5).all() and (got[2:] == was[2:]).all()
            assert (array[:2] == 5).all() == seen
            got[2] = 7
            assert (array[2] == 7).all() == seen
            again = array if seen else got
            there.put({"x": again})                       # what lies in shared memory comes home as it left
            assert np.shares_memory(back.get(timeout=60)["x"], again) == (array is not small)
        there.put(np.array(["a", None]))                  # no memory to share
        process.join(60)
    finally:
        mp.set_array_sharing(None)
        there.put(None)
    assert torch.equal(large[:, :2], torch.full((1200, 2), 5.0)) and process.exitcode == 1
    del there, back, shared, large, left, array_left, array, got, again, process
    assert in_use() == before


def change_in_manager(things, table):
    things[0].add_(1)
    table["x"] = things[0]
    things.append(torch.full((3,), 4.0))
    time.sleep(0)


def test_managers_hold_tensors_by_handle(context):
    before = in_use()
    manager = context.Manager()
    things, table = manager.list([torch.zeros(3)]), manager.dict()
    x = torch.zeros(2 * MB)
    things[0] = x
    assert x.is_shared() and things[0].untyped_storage() is x.untyped_storage()
    process = context.Process(target=change_in_manager, args=(things, table))
    process.start()
    process.join(60)
    assert process.exitcode == 0 and x[5].item() == 1 and table["x"].untyped_storage() is x.untyped_storage()
    assert things[1].tolist() == [4] * 3                 # of a process that is over
    queue = manager.Queue()
    queue.put({"rows": x[2:4]})
    rows = queue.get()["rows"]
    rows.fill_(9)
    assert x[:5].tolist() == [1, 1, 9, 9, 1]
    with pytest.raises(RuntimeError, match="non-leaf"):
        things.append(torch.ones(2, requires_grad=True) * 2)
    with pytest.raises(IndexError):
        things[5]
    manager.shutdown()
    del manager, things, table, x, process, queue, rows
    assert in_use() == before


# ---------------------------------------------------------------- share_memory_
def test_every_view_stays_valid():
    for shape in ((3, 5), (1000, 1000)):
        x = torch.zeros(*shape)
        views, alias, array = [x[1], x.t(), x.view(-1)[2:]], x.data, x.numpy()
        assert not x.is_shared() and x.share_memory_() is x and x.is_shared()
        x.add_(1)
        for each in (*views, alias, x[0]):
            assert each.is_shared() and each.min().item() == each.max().item() == 1
        alias.mul_(3)
        assert x[0, 0].item() == 3 and array.max() == 0                 # the array has the memory that was


def add_to_all(*tensors):
    for each in tensors:
        each.add_(1)


def test_frozen_views_stay_valid(fork):
    """`gc.freeze`, which programs call before they fork, hides tensors from who looks for views."""
    x = torch.zeros(2, 3)
    views, alias = [x[1], x.t()], x.data
    frozen = gc.get_freeze_count()
    gc.freeze()
    x.share_memory_()
    process = fork.Process(target=add_to_all, args=(x,))
    process.start()
    process.join(60)
    assert x.min().item() == 1 and all(each.is_shared() and each.min().item() == 1 for each in (*views, alias))
    assert gc.get_freeze_count() > frozen


def test_large_memory_is_shared_where_it_is(fork):
    """Whatever knows the address sees what another process writes: views, aliases, NumPy arrays, saved values and compiled
    programs. The memory is the allocator's again afterwards."""
    before = in_use(), memory()
    x = torch.zeros(1100, 1000, requires_grad=True)
    row, alias, array, place = x.detach()[1], x.data, x.detach().numpy(), x.data_ptr()
    y = (x * x).sum()
    program = torch.compile(lambda a: a * 2 + 1)
    data = x.detach()
    assert [program(data)[0, 0].item() for _ in range(4)] == [1] * 4
    x.share_memory_()
    assert x.is_shared() and x.data_ptr() == place == alias.data_ptr()
    process = fork.Process(target=add_to_all, args=(data,))
    process.start()
    process.join(60)
    assert row[5].item() == alias[0, 0].item() == array[1099, 999] == 1 and program(data)[0, 0].item() == 3
    y.backward()
    assert x.grad[0, 0].item() == 2                      # what was saved is shared as well
    del x, y, row, alias, array, data, process, program
    assert in_use() == before[0] and memory() <= before[1] + MB
    again = torch.ones(1100, 1000)
    assert not again.is_shared() and again.sum().item() == 1_100_000


def test_what_a_graph_saved_stays():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * x).sum()
    x.share_memory_()
    y.backward()
    assert x.grad.tolist() == [2, 4, 6]
    z = (x * x).sum()
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_an_optimiser_follows(kind):
    def train(share):
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 1)
        options = {"momentum": 0.9} if kind == "SGD" else {}
        optimizer = getattr(torch.optim, kind)(layer.parameters(), lr=0.1, **options)
        for step in range(6):
            if share and step == 3:
                layer.share_memory()
                for state in optimizer.state.values():
                    for value in state.values():
                        if isinstance(value, torch.Tensor):
                            value.share_memory_()
            optimizer.zero_grad()
            layer(torch.ones(2, 4)).pow(2).sum().backward()
            optimizer.step()
        return [p.tolist() for p in layer.parameters()], [p.is_shared() for p in layer.parameters()]
    assert train(True)[0] == train(False)[0] and all(train(True)[1])


def test_memory_is_not_handed_out_again():
    """A storage that moved left its ring: tensors made later are not shared."""
    for _ in range(5):
        torch.ones(10).share_memory_()
        assert not any(torch.ones(10).is_shared() for _ in range(600))


# ---------------------------------------------------------------- what is left
def test_large_memory_goes_at_the_last_drop(fork):
    before = in_use()
    x = torch.ones(8 * MB // 4).share_memory_()
    assert in_use()[2] == before[2] + 8 * MB
    view = x[5:]
    del x
    assert memory() > 8 * MB
    del view
    assert in_use() == before


def test_flat_memory_and_few_descriptors(fork):
    before, descriptors = in_use(), len(os.listdir("/proc/self/fd"))
    there, back = fork.Queue(), fork.Queue()
    process = fork.Process(target=echo, args=(there, back), daemon=True)
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


# ---------------------------------------------------------------- killed at any instruction
def die_at(instruction, steps=None):
    """Have this process killed before the given instruction of numtorch's Python (or of these functions of it), from now on. Returns
    the count so far."""
    count = [0]

    def step(frame, event, argument):
        if "/numtorch/" not in frame.f_code.co_filename or (steps and frame.f_code.co_name not in steps):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            count[0] += 1
            if count[0] == instruction:
                os.kill(os.getpid(), signal.SIGKILL)
        return step
    sys.settrace(step)
    return count


def traffic(queue, back):
    """Receive two values, send two, of one small tensor and one large."""
    for _ in range(2):
        x, y = queue.get()
        assert x.eq(x[0]).all() and y.eq(x[0]).all()
        back.put((x + 1, torch.full((5 * MB // 4,), x[0].item() + 1)))
        del x, y


def count_instructions(queue, back, report):
    count = die_at(-1)
    traffic(queue, back)
    sys.settrace(None)
    report.put(count[0])


def traffic_until(queue, back, instruction):
    die_at(instruction)
    traffic(queue, back)
    sys.settrace(None)


def test_killed_at_any_instruction(fork):
    """The survivor goes on, reads nothing wrong, and nothing stays that the dead one held or had on the way."""
    def send(value):
        queue.put((torch.full((10,), value), torch.full((5 * MB // 4,), value)))

    def check():
        seen = []
        while not back.empty():
            x, y = back.get()
            assert x.eq(x[0]).all() and y.eq(x[0]).all() and len(y) == 5 * MB // 4
            seen.append(x[0].item())
        assert seen in ([], [2.0], [2.0, 3.0]), seen
        left = 0
        while not queue.empty():
            x, y = queue.get()
            assert x.eq(x[0]).all() and y.eq(x[0]).all()
            left += 1
        assert left + len(seen) <= 2
        return left + len(seen)
    queue, back, report = fork.Queue(), fork.Queue(), fork.SimpleQueue()
    clean = in_use()

    def round_of(target, *arguments):
        send(1.0)
        send(2.0)
        process = fork.Process(target=target, args=arguments)
        process.start()
        process.join(60)
        assert process.exitcode is not None
        there = check()
        found = 0 if report.empty() else report.get()
        assert in_use() == clean
        return process.exitcode, there, found
    *_, instructions = round_of(count_instructions, queue, back, report)
    assert instructions > 500
    rounds = int(os.environ.get("NUMTORCH_TEST_KILLS", "30"))
    for number in range(rounds):
        at = 1 + (number * instructions) // rounds + number % 7
        code, *_ = round_of(traffic_until, queue, back, at)
        assert code in (0, -signal.SIGKILL)


STEPS = {"_push", "_pop", "_last", "more_ids", "new_segment", "place", "_begin"}


def small_traffic(queue, back, instruction, report):
    """Receive a value and send three, so that a queue has a first, a last and one between."""
    count = die_at(instruction, STEPS)
    x = queue.get()
    for i in range(3):
        back.put(torch.full((10,), x[0].item() + i))
    sys.settrace(None)
    if report is not None:
        report.put(count[0])


def test_killed_at_each_step(fork):
    """As above, at each instruction of the steps that move blocks from hold to hold; and what others then send comes behind."""
    queue, back, report = fork.Queue(), fork.Queue(), fork.SimpleQueue()

    def round_of(instruction, report=None):
        queue.put(torch.full((10,), 1.0))
        process = fork.Process(target=small_traffic, args=(queue, back, instruction, report))
        process.start()
        process.join(60)
        seen = []
        while not back.empty():
            seen.append(back.get()[0].item())
            if len(seen) == 1:
                back.put(torch.full((10,), 9.0))          # the first is gone, and what is written down as the last may be
        back.put(torch.full((10,), 10.0))
        assert back.qsize() == 1
        seen.append(back.get()[0].item())
        assert seen in [[10.0], *[[1.0, 2.0, 3.0][:sent] + [9.0, 10.0] for sent in (1, 2, 3)]], seen
        while not queue.empty():
            assert queue.get().tolist() == [1.0] * 10
        return 0 if report is None else report.get()
    instructions = round_of(-1, report)
    clean = in_use()
    assert instructions > 300
    stride = 1 if "NUMTORCH_TEST_KILLS" in os.environ else instructions // 25
    for instruction in range(1 + int(time.time()) % stride, instructions + 1, stride):
        round_of(instruction)
        assert in_use() == clean, instruction


# ---------------------------------------------------------------- forks of a busy parent
def test_forks_of_a_busy_parent():
    """Children of a parent whose threads compute, share and send go on: an op, a backward pass and shared memory of their own."""
    queue, stop = mp.get_context("fork").SimpleQueue(), threading.Event()

    def busy():
        x = torch.ones(300, 300)
        while not stop.is_set():
            (x @ x).exp().sum()
            queue.put(torch.ones(100))
            queue.get()

    def child():
        y = torch.ones(200, 200, requires_grad=True)
        (y @ y).mean().backward()
        assert y.grad.sum().item() == pytest.approx(400, rel=1e-4) and torch.ones(3).share_memory_().is_shared()
    child()
    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        processes = []
        for number in range(int(os.environ.get("NUMTORCH_TEST_FORKS", "100"))):
            processes.append(mp.get_context("fork").Process(target=child))
            processes[-1].start()
            if number >= 4:
                processes[number - 4].join(60)
        for process in processes[-4:]:
            process.join(60)
        assert [p.exitcode for p in processes] == [0] * len(processes)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


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
    ours = re.search(rf"family of process (\d+):.*(?:\n  .*)*process {process.pid} .*: holds (\d+) blocks of ([\d.]+) MiB", said.stdout)
    assert ours and int(ours[2]) >= 3 and float(ours[3]) >= 15, said.stdout


# ---------------------------------------------------------------- limits
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


def test_torture():
    """More: python -m tests.torture --rounds 200"""
    done = subprocess.run([sys.executable, "-m", "tests.torture", "--rounds", "3", "--method", "fork", "--seconds", "0.5"],
                          capture_output=True, text=True, timeout=200, cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    assert done.returncode == 0, done.stdout + done.stderr
