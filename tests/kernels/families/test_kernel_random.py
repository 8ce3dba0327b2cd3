"""Philox against its published vectors; each distribution's moments and shape; the same numbers for any thread count."""
import numpy as np
import pytest
from scipy import stats

from numtorch.kernels import threads
from numtorch.kernels.cpu.random import philox


def run(plan, n, dtype, seed=1234, start=0, *, inputs=(), extra=(), status=0):
    edge = 64
    raw = np.full(n + 2 * edge, 77, dtype)
    state = np.array([seed, start, 0], np.int64)
    before = [a.ctypes.data for a in inputs]
    plan.call(*before, raw.ctypes.data + edge * raw.itemsize, state.ctypes.data, *[a.ctypes.data for a in extra], plan.descriptor)
    assert (raw[:edge] == 77).all() and (raw[n + edge:] == 77).all() and (state == (seed, start, status)).all()
    return raw[edge:n + edge]


def philox_reference(counter, key):
    c, k, mask = list(counter), list(key), 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & mask, (p0 >> 32) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def test_philox_known_answers():
    # kat_vectors of Random123, philox 4x32 10
    assert philox_reference([0] * 4, [0, 0]) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox_reference([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    assert philox_reference([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]) == [
        0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
    for seed, start in [(0, 0), (-1, 5), (2**62 + 12345, 2**32 - 7), (7, 2**40)]:
        words = run(philox.plan_philox(2), 256, np.uint64, seed, start).reshape(2, 4, 32)
        for position in range(64):
            counter, key = start + position, seed % 2**64
            expected = philox_reference([counter & 0xFFFFFFFF, counter >> 32, 0, 0], [key & 0xFFFFFFFF, key >> 32])
            assert words[position // 32, :, position % 32].tolist() == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_distributions(dtype):
    n = 200_001
    cases = [(philox.plan_uniform(dtype, n, -2.0, 3.0), stats.uniform(-2, 5)), (philox.plan_normal(dtype, n, 1.0, 2.0), stats.norm(1, 2)),
             (philox.plan_exponential(dtype, n, 4.0), stats.expon(scale=0.25))]
    for plan, law in cases:
        x = run(plan, n, dtype).astype(float)
        assert np.isfinite(x).all() and abs(x.mean() - law.mean()) < 5 * law.std() / n**0.5
        assert abs(x.std() / law.std() - 1) < 0.02 and stats.kstest(x, law.cdf).pvalue > 1e-3
        assert abs(np.corrcoef(x[:-64], x[64:])[0, 1]) < 0.01 and abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.01


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_uniform_stays_below_high(dtype):
    x = run(philox.plan_uniform(dtype, 300_000, 0.0, 1.0), 300_000, dtype)
    assert x.min() >= 0 and x.max() < 1


def test_fills_do_not_depend_on_threads_and_continue():
    before, n = threads.get_num_threads(), 100_003
    for plan, dtype, name in [(philox.plan_normal, "float32", "float32"), (philox.plan_uniform, "float64", "float64")]:
        results = []
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            results.append(run(plan(dtype, n), n, dtype))
        threads.set_num_threads(before)
        assert all((r == results[0]).all() for r in results)
        assert (run(plan(dtype, 100), 100, dtype) == results[0][:100]).all()
        whole = run(plan(dtype, 1280), 1280, dtype)
        moved = philox.counters_used(640, name)
        assert (run(plan(dtype, 640), 640, dtype, start=moved) == whole[640:]).all()
    assert philox.counters_used(0) == 0 and philox.counters_used(1) == 32 and philox.counters_used(129) == 64


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_bernoulli(p):
    n = 100_001
    x = run(philox.plan_bernoulli("uint8", n, p), n, np.uint8)
    assert set(np.unique(x)) <= {0, 1} and abs(x.mean() - p) < 0.01 and (0 < p < 1 or (x == p).all())
    each = np.full(n, p, np.float32)
    x = run(philox.plan_bernoulli_each("float32", "float32", n), n, np.float32, inputs=[each])
    assert abs(x.mean() - p) < 0.01 and (0 < p < 1 or (x == p).all())
    for bad in (-0.1, 1.1, np.nan):
        each[77] = bad
        run(philox.plan_bernoulli_each("float32", "float32", n), n, np.float32, inputs=[each], status=1)


@pytest.mark.parametrize("low, high", [(0, 1), (-3, 4), (0, 10), (-2**62, 2**62), (-2**63, 2**63 - 1), (5, 2**40)])
def test_randint(low, high):
    n = 50_001
    x = run(philox.plan_randint("int64", n, low, high), n, np.int64)
    assert x.min() >= low and x.max() < high
    assert abs((x.astype(float) - low).mean() / (high - low) - (high - low - 1) / 2 / (high - low)) < 0.01
    if high - low < 100:
        assert stats.chisquare(np.bincount(x - low, minlength=high - low)).pvalue > 1e-3 or high - low == 1


def test_randperm():
    for n in (0, 1, 2, 63, 64, 65, 1000):
        assert (np.sort(run(philox.plan_randperm(n), n, np.int64)) == np.arange(n)).all()
    plan = philox.plan_randperm(3)
    seen = [tuple(run(plan, 3, np.int64, seed)) for seed in range(3000)]
    counts = np.unique(seen, axis=0, return_counts=True)[1]
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_multinomial(dtype):
    weights = np.array([[0, 1, 2, 5, 0], [1, 0, 0, 0, 0]], dtype)
    plan = philox.plan_multinomial(dtype, 2, 5, 20_000)
    x = run(plan, 40_000, np.int64, inputs=[weights], extra=[np.zeros(plan.workspace // 8)]).reshape(2, -1)
    counts = np.bincount(x[0], minlength=5)
    assert counts[0] == counts[4] == 0 and (x[1] == 0).all()
    assert stats.chisquare(counts[1:4], np.array([1, 2, 5]) / 8 * 20_000).pvalue > 1e-3
    for bad in (-1.0, np.nan, np.inf):
        wrong = weights.copy()
        wrong[1, 2] = bad
        run(plan, 40_000, np.int64, inputs=[wrong], extra=[np.zeros(5)], status=2)
