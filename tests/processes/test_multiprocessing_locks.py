"""Locks, values, bounded queues and pipes: what Python's do, and what happens when a process is killed."""
from __future__ import annotations

import ctypes
import gc
import os
import signal
import time

import pytest
from family import in_use

import numtorch as torch


# ---------------------------------------------------------------- locks
def count_up(lock, number, value, event, condition, semaphore, barrier):
    for _ in range(100):
        with lock:
            number.value += 1
    with value.get_lock(), value.get_lock():             # a recursive one
        value.value += 1
    barrier.wait(60)
    assert event.wait(60)
    with condition:
        condition.notify_all()
    semaphore.release()


def test_locks(context):
    lock, event, condition, semaphore = context.Lock(), context.Event(), context.Condition(), context.Semaphore(0)
    number, value, barrier = context.RawValue("i", 0), context.Value("i", 0), context.Barrier(2)
    processes = [context.Process(target=count_up, args=(lock, number, value, event, condition, semaphore, barrier))
                 for _ in range(2)]
    for process in processes:
        process.start()
    with condition:
        event.set()
        assert condition.wait(60)
    for process in processes:
        assert semaphore.acquire(timeout=60)
        process.join(60)
    assert (number.value, value.value) == (200, 2) and not semaphore.acquire(False)
    with pytest.raises(ValueError, match="released too many times"):
        lock.release()
    assert not lock.locked() and lock.acquire(timeout=0) and not lock.acquire(timeout=0.05)


class Place(ctypes.Structure):
    _fields_ = [("x", ctypes.c_double), ("y", ctypes.c_double)]


def test_values_and_arrays(context):
    """In the family's memory, without a descriptor, as long as anything refers to them."""
    before, descriptors = in_use(), len(os.listdir("/dev/fd"))
    whole, raw = context.Array("d", [1.0, 2.0, 3.0]), context.RawArray("i", 4)
    places, letters = context.Array(Place, [(1, 2), (3, 4)], lock=context.Lock()), context.Array("c", b"abc")
    count = context.RawValue("i", 8)
    assert len(os.listdir("/dev/fd")) == descriptors
    assert context.Value("i", 3, lock=False).value == 3 and len(context.RawArray("d", 0)) == 0
    process = context.Process(target=write_into, args=(whole, raw, places, letters, count))
    process.start()
    process.join(60)
    assert whole[:] == [1, 5, 3] and list(raw) == [0, 0, 0, 7] and letters.value == b"axc" and count.value == 9
    assert [(place.x, place.y) for place in places] == [(1, 6), (3, 4)]
    for options in ({"lock": 3}, {"lock": "none"}):
        with pytest.raises(AttributeError, match="acquire"):
            context.Value("i", 0, **options)
    with whole.get_lock():
        seen = torch.frombuffer(whole.get_obj(), dtype=torch.float64)
    place = places[1]
    del whole, raw, places, letters, count, process
    gc.collect()
    assert seen.tolist() == [1, 5, 3] and (place.x, place.y) == (3, 4)
    del seen, place
    assert in_use() == before


def write_into(whole, raw, places, letters, count):
    with whole.get_lock():
        whole[1] = 5
    raw[3] = 7
    with places.get_lock():
        places.get_obj()[0].y = 6
    letters[1] = b"x"
    count.value += 1


def take_and_die(lock):
    lock.acquire()
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("kind", ["Lock", "RLock"])
def test_a_dead_holders_lock_is_free(fork, kind):
    lock = getattr(fork, kind)()
    process = fork.Process(target=take_and_die, args=(lock,))
    process.start()
    assert process.join(30) is None
    start = time.monotonic()
    assert lock.acquire(timeout=5) and time.monotonic() - start < 1
    lock.release()


def test_values_in_a_bounded_queue(fork):
    import queue
    bounded = fork.JoinableQueue(2)
    bounded.put(1)
    bounded.put(2)
    assert bounded.full() and bounded.qsize() == 2
    with pytest.raises(queue.Full):
        bounded.put(3, timeout=0.05)
    with pytest.raises(queue.Full):
        bounded.put_nowait(3)
    writer = fork.Process(target=bounded.put, args=(3,))
    writer.start()
    assert [bounded.get(timeout=10) for _ in range(3)] == [1, 2, 3]
    writer.join(10)
    with pytest.raises(queue.Empty):
        bounded.get_nowait()
    for _ in range(3):
        bounded.task_done()
    bounded.join()
    with pytest.raises(ValueError, match="too many times"):
        bounded.task_done()


def deal_with(queue, seen):
    for x in iter(queue.get, None):
        x.add_(1)
        time.sleep(0.02)
        seen.value += 1
        queue.task_done()
    queue.task_done()


def test_join_waits_until_tensors_are_dealt_with(context):
    queue, seen = context.JoinableQueue(), context.Value("i", 0)
    process = context.Process(target=deal_with, args=(queue, seen))
    process.start()
    tensors = [torch.full((3,), float(i)) for i in range(4)]
    for x in tensors:
        queue.put(x)
    queue.join()
    assert seen.value == 4 and [x.tolist() for x in tensors] == [[i + 1.0] * 3 for i in range(4)]
    queue.put(None)
    queue.join()
    process.join(60)
    assert process.exitcode == 0


# ---------------------------------------------------------------- pipes
def answer(connection):
    while True:
        try:
            value = connection.recv()
        except EOFError:
            return
        value.add_(1)
        connection.send(value)


def test_pipes(context):
    here, there = context.Pipe()
    process = context.Process(target=answer, args=(there,))
    process.start()
    there.close()
    x = torch.zeros(3)
    here.send(x)
    assert here.recv().untyped_storage() is x.untyped_storage() and x.tolist() == [1, 1, 1]
    assert not here.poll()
    here.close()                                         # spawned children see the end; forked ones have this end too
    if context.get_start_method() == "fork":
        process.kill()
    process.join(60)
    assert process.exitcode is not None
    out, into = context.Pipe(duplex=False)
    into.send_bytes(b"some bytes", 5)
    assert out.poll(1) and out.recv_bytes() == b"bytes"
    into.close()
    with pytest.raises(EOFError):
        out.recv()
    with pytest.raises(OSError, match="closed"):
        into.send(1)
