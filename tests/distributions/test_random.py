"""Random numbers: repeatable whatever the threads, states that can be saved, and the distributions they claim."""
import copy
import pickle
import threading
import time

import numpy as np
import pytest

import numtorch as torch

DRAWS = {
    "rand": lambda **g: torch.rand(1000, **g), "rand float64": lambda **g: torch.rand(1000, dtype=torch.float64, **g),
    "randn": lambda **g: torch.randn(1001, **g),
    "rand half": lambda **g: torch.rand(100, dtype=torch.float16, **g), "randint": lambda **g: torch.randint(-5, 1000, (999,), **g),
    "randperm": lambda **g: torch.randperm(501, **g), "bernoulli": lambda **g: torch.bernoulli(torch.full((777,), 0.3), **g),
    "multinomial": lambda **g: torch.multinomial(torch.arange(1.0, 9.0), 200, replacement=True, **g),
    "normal": lambda **g: torch.normal(1.0, 2.0, (300,), **g),
    "uniform_": lambda **g: torch.empty(7, 31).t().uniform_(2, 3, **g), "normal_": lambda **g: torch.empty(400).normal_(5, 0.1,
    **g),
    "exponential_": lambda **g: torch.empty(400).exponential_(2.0, **g),
    "bernoulli_": lambda **g: torch.empty(400).bernoulli_(0.25, **g),
    "random_": lambda **g: torch.empty(400, dtype=torch.int64).random_(3, 9, **g),
    "without replacement": lambda **g: torch.multinomial(torch.ones(4, 20), 7, **g), "large": lambda **g: torch.randn(300_001, **g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_seed_gives_the_same_numbers(name):
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            torch.manual_seed(7)
            first, second = DRAWS[name](), DRAWS[name]()
            results.append((first.tolist(), second.tolist()))
        assert results[0] == results[1] == results[2]
        assert first.tolist() != second.tolist()
        torch.manual_seed(8)
        assert DRAWS[name]().tolist() != results[0][0]
    finally:
        torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(7)
    before = torch.get_rng_state().tolist()
    assert DRAWS[name](generator=generator).tolist() == results[0][0]
    assert torch.get_rng_state().tolist() == before                             # the default stream did not move


class SlowWords(list):
    def __setitem__(self, place, word):
        time.sleep(0.01)                                 # lets the other thread run in the middle of a claim
        super().__setitem__(place, word)


def test_threads_share_a_stream_without_drawing_the_same_numbers():
    generator = torch.Generator()
    claims = [SlowWords([0, 0]) for _ in range(4)]
    running = [threading.Thread(target=generator._claim, args=(words, 10)) for words in claims]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert sorted(first for _, first in claims) == [0, 10, 20, 30]


def test_states():
    generator = torch.Generator()
    generator.manual_seed(3)
    torch.rand(5, generator=generator)
    state = generator.get_state()
    wanted = torch.rand(5, generator=generator).tolist()
    assert torch.rand(5, generator=generator).tolist() != wanted
    assert torch.rand(5, generator=generator.set_state(state)).tolist() == wanted
    torch.set_rng_state(state)
    assert torch.rand(5).tolist() == wanted
    with torch.fork_rng():
        torch.rand(3)
    position = torch.get_rng_state().tolist()
    torch.set_rng_state(pickle.loads(pickle.dumps(state)))
    assert torch.rand(5).tolist() == wanted and torch.get_rng_state().tolist() == position
    assert torch.manual_seed(11).initial_seed() == torch.initial_seed() == 11 and torch.default_generator.initial_seed() == 11
    assert isinstance(torch.seed(), int) and torch.manual_seed(-1) is torch.default_generator
    for wrong in (torch.zeros(3), torch.zeros(16), [1, 2]):
        with pytest.raises((RuntimeError, TypeError), match="RNG state"):
            generator.set_state(wrong)
    with pytest.raises(ValueError, match="Overflow"):
        torch.manual_seed(1 << 65)
    assert copy.copy(state).tolist() == state.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_moments(dtype):
    torch.manual_seed(0)
    kind, n = getattr(torch, dtype), 200_000
    coarse = 0.01 if dtype in ("float16", "bfloat16") else 0.004
    u = torch.rand(n, dtype=kind).double().numpy()
    assert u.min() >= 0 and u.max() < 1 and abs(u.mean() - 0.5) < coarse and abs(u.var() - 1 / 12) < coarse
    z = torch.randn(n, dtype=kind).double().numpy()
    assert abs(z.mean()) < 3 * coarse and abs(z.var() - 1) < 5 * coarse and abs((z ** 3).mean()) < 10 * coarse and abs((z ** 4).mean() - 3) < 0.15
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 0.02


def test_distributions():
    torch.manual_seed(0)
    n = 100_000
    counts = np.bincount(torch.randint(0, 7, (n,)).numpy(), minlength=7)
    assert counts.size == 7 and np.abs(counts / n - 1 / 7).max() < 0.01
    assert abs(torch.empty(n).exponential_(2.0).mean().item() - 0.5) < 0.01 and torch.empty(n).exponential_().min().item() >= 0
    for p in (0.0, 0.3, 1.0):
        assert abs(torch.bernoulli(torch.full((n,), p)).mean().item() - p) < 0.01
        assert abs(torch.empty(n).bernoulli_(p).mean().item() - p) < 0.01
    weights = torch.tensor([0.0, 1.0, 3.0, 6.0])
    drawn = torch.multinomial(weights, n, replacement=True).numpy()
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / n, [0, 0.1, 0.3, 0.6], atol=0.01)
    rows = torch.multinomial(torch.stack([weights, weights.flip(0)]) if hasattr(weights, "flip") else torch.ones(2, 4), 3)
    assert rows.shape == (2, 3) and all(len(set(r)) == 3 for r in rows.tolist())
    first = torch.multinomial(weights.expand(20000, 4), 1).numpy().ravel()
    np.testing.assert_allclose(np.bincount(first, minlength=4) / 20000, [0, 0.1, 0.3, 0.6], atol=0.02)
    assert sorted(torch.randperm(1000).tolist()) == list(range(1000)) and torch.randperm(0).shape == (0,) and torch.randperm(1).tolist() == [0]
    mixed = torch.normal(torch.tensor([0.0, 100.0]).expand(n, 2), torch.tensor([1.0, 5.0]))
    np.testing.assert_allclose(mixed.mean(0).numpy(), [0, 100], atol=0.1)
    np.testing.assert_allclose(mixed.std(0).numpy(), [1, 5], atol=0.1)
    uniform = torch.empty(n).uniform_(-2, 3)
    assert uniform.min().item() >= -2 and uniform.max().item() < 3 and abs(uniform.mean().item() - 0.5) < 0.02


def test_shapes_dtypes_and_likes():
    x = torch.zeros(2, 3, dtype=torch.float64)
    assert torch.rand_like(x).dtype is torch.float64 and torch.randn_like(x).shape == (2, 3) and torch.randint_like(x, 0,
    5).dtype is torch.float64
    assert torch.rand(2, 3).shape == torch.rand((2, 3)).shape == (2,
    3) and torch.rand(()).shape == () and torch.rand(0).shape == (0,)
    assert torch.randint(5, (3,)).dtype is torch.int64 and torch.randint(0, 2, (3,), dtype=torch.uint8).dtype is torch.uint8
    assert torch.randn(3, requires_grad=True).requires_grad and torch.randperm(4, dtype=torch.int32).dtype is torch.int32
    window = torch.zeros(4, 4)
    window[::2, 1:3].normal_()
    assert (window[1::2] == 0).all() and (window[::2, 1:3] != 0).all() and window._version > 0
    assert x.bernoulli().dtype is torch.float64


@pytest.mark.parametrize("attempt, error, message", [
    (lambda: torch.rand(3, dtype=5), TypeError, "dtype must be a torch.dtype, not int"),
    (lambda: torch.randn_like(torch.ones(2), dtype="float32"), TypeError, "dtype must be a torch.dtype, not str"),
    (lambda: torch.rand(3, dtype=torch.int64), RuntimeError, "not implemented"), (lambda: torch.randint(5, 5, (2,)), RuntimeError,
    "'from' to be less than 'to'"),
    (lambda: torch.randperm(-1), RuntimeError, "non-negative"), (lambda: torch.normal(0.0, -1.0, (2,)), RuntimeError, "std"),
    (lambda: torch.empty(2).uniform_(1, 0), RuntimeError, "from"),
    (lambda: torch.bernoulli(torch.tensor([2.0])), RuntimeError, "p_in"), (lambda: torch.empty(2).bernoulli_(1.5), RuntimeError,
    r"p to be in \[0, 1\]"),
    (lambda: torch.bernoulli(torch.tensor([1])), RuntimeError, "bernoulli"), (lambda: torch.multinomial(torch.ones(3), 4),
    RuntimeError, "without replacement"),
    (lambda: torch.multinomial(torch.ones(3), 0), RuntimeError, "n_sample"), (lambda: torch.multinomial(torch.tensor([1.0, -1.0]),
    1, True), RuntimeError, "element < 0"),
    (lambda: torch.multinomial(torch.zeros(3), 1), RuntimeError, None), (lambda: torch.multinomial(torch.ones(1, 2, 3), 1),
    RuntimeError, "1 or 2 dim"),
    (lambda: torch.empty(2).exponential_(0), RuntimeError, "lambda"), (lambda: torch.zeros(1).expand(3).normal_(), RuntimeError,
    "more than one element"),
    (lambda: torch.zeros(3, requires_grad=True).normal_(), RuntimeError, "leaf Variable"), (lambda: torch.rand(-1), RuntimeError,
    "negative"),
    (lambda: torch.randint(5), TypeError, "size"), (lambda: torch.empty(3, dtype=torch.int64).normal_(), RuntimeError, None),
    (lambda: torch.rand("a"), TypeError, None),
    (lambda: torch.multinomial(torch.ones(3, dtype=torch.int64), 1), RuntimeError, "floating-point"),
], ids=lambda v: v if isinstance(v, str) else "")
def test_messages(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


def test_results_into_out():
    whole = torch.empty(0, dtype=torch.int64)
    assert torch.randint(5, 6, (1,), out=whole) is whole and whole.tolist() == [5]
    assert torch.randperm(1, out=whole) is whole and whole.tolist() == [0]
    for replacement in (True, False):
        assert torch.multinomial(torch.tensor([0.0, 1.0]), 1, replacement, out=whole) is whole and whole.tolist() == [1]
    real = torch.empty(0)
    assert torch.normal(3.0, 0.0, (2,), out=real) is real and real.tolist() == [3.0, 3.0]
    assert torch.randperm(3, dtype=torch.float32, requires_grad=True).requires_grad


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("draw", [torch.rand, torch.randn])
def test_out_is_drawn_in_its_dtype(draw, dtype):
    out = torch.empty(0, dtype=getattr(torch, dtype))
    torch.manual_seed(3)
    draw(5, out=out)
    torch.manual_seed(3)
    assert torch.equal(out, draw(5, dtype=out.dtype))


def test_random_integers_within_a_dtype():
    assert torch.empty(1000, dtype=torch.int8).random_().min().item() >= 0
    assert torch.empty(1000, dtype=torch.float16).random_().max().item() <= 2048
    assert torch.empty(100, dtype=torch.int64).random_().max().item() > 1 << 40
    for draw in (lambda: torch.randint(300, (3,), dtype=torch.int8), lambda: torch.empty(3, dtype=torch.int8).random_(300)):
        with pytest.raises(RuntimeError, match="out of bounds for int8"):
            draw()
    with pytest.raises(RuntimeError, match="less than"):
        torch.empty(3).random_(0)


def test_what_is_like_another_has_its_strides():
    x = torch.ones(2, 3).t()
    assert torch.rand_like(x).stride() == torch.randn_like(x).stride() == torch.randint_like(x, 5).stride() == x.stride()
    assert torch.rand_like(x, generator=torch.Generator().manual_seed(1)).shape == (3, 2)


@pytest.mark.parametrize("std", [-1.0, torch.tensor([1.0, -1.0])])
def test_a_negative_deviation_is_refused(std):
    with pytest.raises(RuntimeError, match=r"std >= 0\.0"):
        torch.normal(torch.zeros(2), std)


@pytest.mark.parametrize("seed, kind", [(1 << 64, ValueError), (1 << 70, ValueError), (-(1 << 63) - 1, ValueError), (1.5, RuntimeError), ("7", RuntimeError), (None, RuntimeError)])
def test_what_is_no_seed(seed, kind):
    with pytest.raises(kind):
        torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("seed, kind", [(1 << 70, ValueError), ("a", ValueError), (None, TypeError)])
def test_what_is_no_seed_of_the_default_stream(seed, kind):
    before = torch.initial_seed()
    with pytest.raises(kind):
        torch.manual_seed(seed)
    assert torch.initial_seed() == before


@pytest.mark.parametrize("draw", [
    lambda t, x: t.normal(x, 2.0), lambda t, x: t.normal(0.0, x), lambda t, x: t.normal(x, x), lambda t, x: t.normal(t.zeros(2, 3), x),
    lambda t, x: t.bernoulli(x), lambda t, x: t.poisson(x)], ids=["mean", "std", "both", "broadcast", "bernoulli", "poisson"])
def test_the_gradients_of_what_decides_a_draw_are_0(torch, draw):
    """Not those of `mean + std * z`, which would cancel a log-probability's; and not none."""
    x = torch.full((3,), 0.5, requires_grad=True)
    drawn = draw(torch, x)
    drawn.square().sum().backward()
    assert drawn.requires_grad and x.grad.tolist() == [0.0] * 3
    with torch.no_grad():
        assert not draw(torch, x).requires_grad
