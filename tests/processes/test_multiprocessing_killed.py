"""Processes that are killed at any instruction, or forked in the middle of anything."""
from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest
from family import MB, in_use

import numtorch as torch
import numtorch.multiprocessing as mp


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
        for number in range(int(os.environ.get("NUMTORCH_TEST_FORKS", "30"))):
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
