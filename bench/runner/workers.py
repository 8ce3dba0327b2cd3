"""What the processes of the family `multiprocessing` do. It is a module, so that spawned children find these functions."""
from __future__ import annotations

import importlib
import os
import resource
import time
import zlib


def echo(incoming, outgoing):
    for value in iter(incoming.get, None):
        outgoing.put(value)
        del value


class Echo:
    """A child that sends back what it gets."""

    def __init__(self, mp):
        context = mp.get_context("spawn")
        self.there, self.back = context.Queue(), context.Queue()
        self.process = context.Process(target=echo, args=(self.there, self.back))
        self.process.start()
        self(None.__class__)                             # it is there

    def __call__(self, value):
        self.there.put(value)
        return self.back.get()

    def end(self):
        self.there.put(None)
        self.process.join()


def round_trip(torch, mp, nbytes, count):
    """Seconds of the median way there and back of a new tensor."""
    child, times = Echo(mp), []
    for _ in range(count + 2):
        x = torch.ones(nbytes // 4)
        start = time.perf_counter()
        y = child(x)
        times.append(time.perf_counter() - start)
        del x, y
    child.end()
    return sorted(times[2:])[count // 2]


def again(torch, mp, nbytes, count):
    """Seconds of the median way there and back of a tensor that is in shared memory already."""
    child, times, x = Echo(mp), [], torch.ones(nbytes // 4).share_memory_()
    for _ in range(count + 2):
        start = time.perf_counter()
        y = child(x)
        times.append(time.perf_counter() - start)
        del y
    child.end()
    return sorted(times[2:])[count // 2]


def many(torch, mp, count):
    """Seconds, and the most descriptors this process had, for many small tensors there and back, one by one."""
    child, descriptors = Echo(mp), 0
    start = time.perf_counter()
    for i in range(count):
        child(torch.ones(10))
        if i % 1000 == 0:
            descriptors = max(descriptors, len(os.listdir("/proc/self/fd")))
    seconds = time.perf_counter() - start
    child.end()
    return seconds, descriptors


def grown(torch, mp, count):
    """How many bytes this process and its child grow from a tenth of so many tensors to all of them, at `ulimit -n 256`."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    child, before = Echo(mp), 0
    for i in range(count):
        child(torch.ones(10))
        if i == count // 10:
            before = _resident(os.getpid()) + _resident(child.process.pid)
    after = _resident(os.getpid()) + _resident(child.process.pid)
    descriptors = len(os.listdir("/proc/self/fd"))
    child.end()
    return max(0, after - before), descriptors


def _resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))


def double(x):
    return 2 * x


def pool_start(torch, mp):
    """Seconds until a new pool of two has doubled tensors."""
    x, start = torch.ones(10), time.perf_counter()
    with mp.get_context("spawn").Pool(2) as pool:
        pool.map(double, [x] * 4, 1)
        return time.perf_counter() - start


class Samples:
    """Examples of an image's size: as they are, or to be decoded."""

    def __init__(self, torch, count, decoded):
        self.torch, self.count, self.decoded = torch, count, decoded
        self.data = zlib.compress(bytes(range(256)) * 588, 6) if decoded else torch.ones(3, 8, 8)

    def __getstate__(self):
        return {**self.__dict__, "torch": self.torch.__name__}

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if not self.decoded:
            return self.data, i
        pixels = self.torch.frombuffer(bytearray(zlib.decompress(self.data)), dtype=self.torch.uint8)
        return pixels.view(3, 224, 224).to(self.torch.float32) / 255, i


def loader(torch, decoded, count, batch):
    """Seconds a batch of two workers, without their start."""
    batches = iter(torch.utils.data.DataLoader(Samples(torch, count, decoded), batch, num_workers=2,
                                               multiprocessing_context="fork"))
    for _ in range(4):
        next(batches)
    start, seen = time.perf_counter(), 0
    for _ in batches:
        seen += 1
    return (time.perf_counter() - start) / seen


def network(torch):
    """One whose steps take milliseconds, so that computing is what takes the time."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def train(name, model, optimizer, steps, ready, begin, done):
    torch = importlib.import_module(name)
    torch.set_num_threads(1)
    x, y = torch.randn(128, 256), torch.randint(0, 10, (128,))
    for i in range(3 + steps):
        if i == 3:
            ready.release()
            begin.wait()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    done.release()


def hogwild(torch, mp, steps):
    """Seconds a step of one model that two processes train without locks, and what share that is of one process's."""
    times, context = [], mp.get_context("spawn")
    for count in (1, 2):
        model = network(torch).share_memory()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        ready, begin, done = context.Semaphore(0), context.Event(), context.Semaphore(0)
        processes = [context.Process(target=train, args=(torch.__name__, model, optimizer, steps // count, ready, begin, done))
                     for _ in range(count)]
        for process in processes:
            process.start()
        for _ in processes:
            ready.acquire()
        start = time.perf_counter()
        begin.set()
        for _ in processes:
            done.acquire()
        times.append((time.perf_counter() - start) / steps)          # not their ends, which take as long for one as for many
        for process in processes:
            process.join()
    return [times[1], times[1] / times[0]]
