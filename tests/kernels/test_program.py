"""Programs: launches in order, words that start from arguments and move on with steps, checks, parts, and memory of their own."""
from __future__ import annotations

import threading

import numpy as np
import pytest

from numtorch.kernels import threads
from numtorch.kernels.compiler import compile_kernel
from numtorch.kernels.planning import without_memory
from numtorch.kernels.program import MOST_WORDS, STACK, STACK_BYTES, Program, prepare_parts, sequence

N = 4


def add(x, y, out, descriptor):
    """out = x + descriptor[1] * y for descriptor[0] elements."""
    for i in range(descriptor[0]):
        out[i] = x[i] + descriptor[1] * y[i]


def prepared_add(factor=1, n=N, **options):
    return threads.prepare(compile_kernel(add, ("int64*",) * 4), [(n, factor)], **options)


def split_add(n, parts):
    edges = [n * part // parts for part in range(parts + 1)]
    return threads.prepare(compile_kernel(add, ("int64*",) * 4), [(b - a, 1) for a, b in zip(edges, edges[1:])],
                           [(8 * a,) * 3 for a in edges[:-1]])


def arrays(*starts, n=N):
    return [np.arange(n) + start for start in starts]


def run(prepared, *given):
    prepared.call(*[a.ctypes.data if isinstance(a, np.ndarray) else a for a in given], prepared.descriptor)


def test_launches_run_in_order():
    x, y, out = arrays(1, 10, 0)
    run(sequence("x, y, out", [(prepared_add(), "x, y, out"), (prepared_add(3), "out, x, out")], 0), x, y, out)
    assert (out == x + y + 3 * x).all()


def test_texts_name_arguments_numbers_and_bytes_added():
    (x,), wide = arrays(5), np.zeros(3 * N, np.int64)
    run(sequence("x, wide", [(prepared_add(), f"x, wide, wide + {N * 8}"), (prepared_add(), f"x, wide + {N * 8}, wide + {N * 4} + {N * 12}")],
                 0), x, wide)
    assert (wide.reshape(3, N) == [x * 0, x, 2 * x]).all()
    with pytest.raises(ValueError):
        sequence("x", [(prepared_add(), "y, x, x")], 0)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_launches_that_move_on_are_one_segment(steps):
    x, out = np.arange(steps * N).reshape(steps, N), np.zeros((steps, N), np.int64)
    program, kernel, scale = Program("x", "y", "out"), prepared_add(), prepared_add(2)
    for step in range(steps):
        at = step * N * 8
        program.add([program.launch(kernel, program.word("x", at), program.word("y"), program.word("out", at)),
                     program.launch(scale, program.word("out", at), program.word("y"), program.word("out", at))])
    assert len(program.segments) == 1 and program.segments[0][0] == steps
    y = np.full(N, 100)
    run(program.prepare(), x, y, out)
    assert (out == x + 300).all()


def test_launches_that_move_otherwise_begin_a_segment():
    program, kernel = Program("x"), prepared_add()
    for at in (0, 8, 16, 32):
        program.add([program.launch(kernel, *[program.word("x", at)] * 3)])
    other = prepared_add()
    program.add([program.launch(other, *[program.word("x", 40)] * 3)])
    assert [steps for steps, _ in program.segments] == [3, 1, 1]


def test_launches_one_by_one_are_one_segment_however_they_move():
    x, out = np.arange(3 * N).reshape(3, N), np.zeros((3, N), np.int64)
    program, kernel = Program("x", "y", "out"), prepared_add()
    for at in (0, 2, 1):
        program.append(program.launch(kernel, program.word("x", at * N * 8), program.word("y"), program.word("out", at * N * 8)))
    assert len(program.segments) == 1 and program.segments[0][0] == 1
    program.add([program.launch(kernel, program.word("out"), program.word("y"), program.word("out"))] * 3)
    run(program.prepare(), x, np.full(N, 100), out)
    assert (out == x + [[400], [100], [100]]).all()


def test_a_check_ends_the_program_where_a_word_is_not_zero():
    x, y, out, status = arrays(1, 2, 0, 0)
    program, kernel = Program("x", "y", "out", "status"), prepared_add()
    words = [program.word(name) for name in ("x", "y", "out")]
    program.add([program.launch(kernel, *words), program.check(program.word("status", 8)),
                 program.launch(kernel, program.word("out"), *words[1:])])
    prepared = program.prepare()
    status[1] = 0
    run(prepared, x, y, out, status)
    assert (out == x + 2 * y).all()
    status[1] = -3
    run(prepared, x, y, out, status)
    assert (out == x + y).all() and status[1] == -3


def test_each_run_has_memory_of_its_own():
    n = STACK_BYTES // 8
    x, y, out = arrays(1, 2, 0, n=n)
    program, kernel = Program("x", "y", "out"), prepared_add(n=n, release_lock=True)
    program.add([program.launch(kernel, program.word("x"), program.word("y"), program.word(STACK)),
                 program.launch(kernel, program.word(STACK), program.word("y"), program.word("out"))])
    prepared = program.prepare()
    assert prepared.entry.nogil
    results = [np.zeros(n, np.int64) for _ in range(4)]

    def work(result):
        for _ in range(200):
            run(prepared, x, y, result)

    workers = [threading.Thread(target=work, args=(result,)) for result in results]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all((result == x + 2 * y).all() for result in results)


def test_launches_in_parts_and_programs_are_launches_too():
    n = 1000
    x, y, out = arrays(3, 4, 0, n=n)
    inner = sequence("y, out", [(split_add(n, 2), "y, out, out")], 0)
    run(sequence("x, y, out", [(split_add(n, 3), "x, y, out"), (inner, "y, out")], 0), x, y, out)
    assert (out == x + 2 * y).all()


def test_each_part_runs_a_program_of_its_own():
    x, y, out = arrays(1, 2, 0, n=2 * N)
    programs = []
    for factors in ((1, 5), (2,)):
        program = Program("x", "y", "out")
        words = [program.word(name) for name in ("x", "y", "out")]
        for i, factor in enumerate(factors):
            program.add([program.launch(prepared_add(factor), *(words if i == 0 else [words[2], *words[1:]]))])
        programs.append(program)
    run(prepare_parts(programs, [(0,) * 3, (8 * N,) * 3]), x, y, out)
    assert (out[:N] == x[:N] + 6 * y[:N]).all() and (out[N:] == x[N:] + 2 * y[N:]).all()


def test_launches_live_as_long_as_the_program():
    x, y, out = arrays(1, 2, 0)
    prepared = sequence("x, y, out", [(prepared_add(), "x, y, out")], 0)
    again = prepared.with_workspace(64)
    del prepared
    filler = [prepared_add(i) for i in range(100)]
    run(again, x, y, out)
    assert (out == x + y).all() and again.workspace == 64 and filler


def test_without_memory_a_program_does_nothing():
    with without_memory():
        assert sequence("x, y, out", [(prepared_add(), "x, y, out")], 128) is threads.NOTHING
        program = Program("x")
        assert prepare_parts([program, program]) is threads.NOTHING


def test_a_launch_has_room_for_its_words():
    """The kernel copies a launch's words to its stack."""
    program = Program("x")
    program.add([[prepared_add().entry.address, *[program.word("x")] * MOST_WORDS]])
    with pytest.raises(ValueError, match="at most 24 words, got 25"):
        program.add([[prepared_add().entry.address, *[program.word("x")] * (MOST_WORDS + 1)]])
    with pytest.raises(ValueError, match="at most 24 words, got 25"):
        program.append([prepared_add().entry.address, *[program.word("x")] * (MOST_WORDS + 1)])
