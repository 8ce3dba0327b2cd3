"""The simulator's threads: they take turns at barriers, and what a GPU would do wrong without a word is seen."""
from __future__ import annotations

import _thread
import types

import pytest

from numtorch.kernels.cuda.turns import Block


def run(body, shape=(8, 1, 1), number=(0, 0, 0)):
    """A block whose threads call `body(block, index)`."""
    grid = types.SimpleNamespace()
    block = Block(lambda: body(block, grid.threadIdx), grid, number, shape)
    before = _thread._count()
    try:
        block.run()
    finally:
        for _ in range(100_000):                         # a system thread ends just after it says so
            if _thread._count() <= before:
                break
        assert _thread._count() <= before


def reversed_by(barriers):
    """What comes of threads that write a cell each and read another's, twice over."""
    cells, out = list(range(8)), {}

    def body(block, index):
        me = index.x
        for step in range(2):
            cells[me] = 10 * step + me
            if "written" in barriers:
                block.wait()
            out[step, me] = cells[7 - me]
            if "read" in barriers:
                block.wait()
    run(body)
    return [out[0, k] for k in range(8)], [out[1, k] for k in range(8)]


@pytest.mark.parametrize("barriers", [{"written", "read"}, {"written"}, {"read"}, set()])
def test_threads_wait_for_each_other_where_they_are_told_to(barriers):
    """With both barriers always, and without one of them hardly ever: the order in which threads run is another each time."""
    right = [reversed_by(barriers) == ([7 - k for k in range(8)], [17 - k for k in range(8)]) for _ in range(20)]
    assert all(right) if len(barriers) == 2 else sum(right) < 2


def test_every_thread_runs_once_at_its_place():
    seen = []
    run(lambda block, index: seen.append(index), (2, 3, 4))
    assert sorted(seen) == [(x, y, z) for x in range(2) for y in range(3) for z in range(4)]


def test_threads_that_ended_are_not_waited_for():
    seen = []

    def body(block, index):
        for _ in range(index.x):
            block.wait()
            seen.append(index.x)
    run(body, (4, 1, 1))
    assert sorted(seen) == [1, 2, 2, 3, 3, 3]


def test_the_first_error_ends_the_block():
    """It says whose it is; threads that wait end where they are, and others never begin."""
    after = []

    def body(block, index):
        block.wait()
        if index == (1, 2, 0):
            raise IndexError("outside")
        block.wait()
        after.append(index)
    with pytest.raises(IndexError, match=r"^tid=\[1, 2, 0\] ctaid=\[3, 0, 1\]: outside$") as caught:
        run(body, (2, 3, 1), (3, 0, 1))
    assert not after and caught.traceback[-1].name == "body"


def test_warps_exchange_what_they_have():
    """Each of a warp's threads gets what all of them gave, also in a warp that is not full; other warps do not wait."""
    given = {}

    def body(block, index):
        for step in range(3):
            values, lane = block.exchange(100 * step + index.x)
            assert lane == index.x % 32
            given[index.x, step] = [values[k] for k in sorted(values)]
    run(body, (40, 1, 1))
    for (x, step), values in given.items():
        assert values == [100 * step + k for k in (range(32) if x < 32 else range(32, 40))]
    assert len(given) == 120


def test_barriers_that_can_not_be_passed_raise():
    def body(block, index):
        if index.x % 2:
            block.wait()
        else:
            block.exchange(0)
    with pytest.raises(RuntimeError, match=r"4 threads of block \[0, 0, 0\] wait for the block, and 4 for their warps"):
        run(body)
