"""Integers that are divided by 0 raise, whichever op divides, wherever the 0 is, and whoever else divides at the time."""
from threading import Thread

import pytest

import numtorch as torch

DIVISIONS = {"floor_divide": torch.floor_divide, "remainder": torch.remainder, "fmod": torch.fmod,
             "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"), "in place": lambda x, y: x.clone().floor_divide_(y),
             "out": lambda x, y: torch.remainder(x, y, out=torch.empty(0, dtype=torch.float64 if x.is_floating_point() else x.dtype)),
             "operator": lambda x, y: x % y, "reversed": lambda x, y: 7 // y if isinstance(y, torch.Tensor) else x // y}


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
@pytest.mark.parametrize("name", DIVISIONS)
def test_integers_are_not_divided_by_zero(name, dtype):
    x = torch.arange(24, dtype=getattr(torch, dtype)).reshape(4, 6)
    ones = torch.ones_like(x)
    for place in (0, 11, 23):
        divisor = ones.clone()
        divisor.view(-1)[place] = 0
        for laid_out in (divisor, divisor.t().contiguous().t()):
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                DIVISIONS[name](x, laid_out)
    for zero in (0, torch.zeros((), dtype=x.dtype), torch.zeros(6, dtype=x.dtype)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            DIVISIONS[name](x, zero)
    assert x.index_select(0, torch.tensor([3])).shape == (1, 6)            # whose kernel has the same status word
    assert DIVISIONS[name](x, ones).shape == (4, 6) and DIVISIONS[name](x[:0], ones[:0]).numel() == 0
    assert DIVISIONS[name](x.double(), torch.zeros(6).double()).numel()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_zero_among_many_divisors_is_seen_by_the_thread_that_divides(threads):
    """Whichever part of the look has it, and though another thread divides at the time."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    wrong = []

    def divide(x, y, raises):
        for _ in range(5):
            try:
                wrong.append("nothing is raised") if not torch.equal(x // y, x) or raises else None
            except RuntimeError:
                wrong.append("another's zero is seen") if not raises else None

    try:
        x, ones = torch.arange(500_000), torch.ones(500_000, dtype=torch.int64)
        for place in (0, 250_000, 499_999):
            zero = ones.clone()
            zero[place] = 0
            workers = [Thread(target=divide, args=(x, y, y is zero)) for y in (ones, zero)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
    finally:
        torch.set_num_threads(before)
    assert not wrong


def test_divisors_without_memory_are_not_looked_at():
    x = torch.empty(3, dtype=torch.int64, device="meta")
    assert (x // x).shape == (x % x.reshape(3, 1))[0].shape == (3,) and (x // 2).dtype is torch.int64
