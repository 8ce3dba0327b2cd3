"""Reductions over any dimensions against NumPy: values, dtypes, NaN, empties, gradients, messages."""
import copy
import itertools
import pickle

import numpy as np
import pytest
import scipy.special as special

import numtorch as torch
from numtorch.autograd.gradcheck import gradcheck, gradgradcheck

RNG = np.random.default_rng(0)
CUBE = RNG.standard_normal((4, 5, 6))
DIMS = [None, 0, 1, -1, (0, 1), (0, 2), (1, -1), (0, 1, 2)]
KINDS = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min, "any": np.any, "all": np.all,
    "count_nonzero": np.count_nonzero, "var": lambda x, a, **k: np.var(x, a, ddof=1, **k), "std": lambda x, a, **k: np.std(x, a,
    ddof=1, **k),
    "norm": lambda x, a, **k: np.sqrt(np.sum(x * x, a, **k)), "logsumexp": lambda x, a, **k: special.logsumexp(x, a, **k),
}


def reduce(name, x, dim, **options):
    if name == "norm":
        return x.norm(2, dim, **options)
    if name == "logsumexp":
        return x.logsumexp(tuple(range(x.dim())) if dim is None else dim, **options)
    if dim is None and name in ("amax", "amin"):
        return getattr(x, name)(**options)
    return getattr(x, name)(dim, **options)


@pytest.mark.parametrize("name", KINDS)
def test_values(name):
    for dim, dtype in itertools.product(DIMS, ("float32",) if name in ("all", "count_nonzero") else ("float32", "float64")):
        if name == "prod" and isinstance(dim, tuple):
            continue
        array = CUBE.astype(dtype)
        for keep in (False, True):
            if keep and name == "count_nonzero":
                continue
            found = reduce(name, torch.from_numpy(array), dim, **({"keepdim": True} if keep else {}))
            wanted = np.asarray(KINDS[name](array.astype(np.float64), dim, **({"keepdims": True} if keep else {})))
            assert found.shape == wanted.shape, (dim, keep)
            np.testing.assert_allclose(found.numpy(), wanted, rtol=2e-5 if dtype == "float32" else 1e-12, atol=1e-6)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "var", "any", "norm"])
@pytest.mark.filterwarnings("ignore:(Degrees of freedom|invalid value):RuntimeWarning")      # NumPy's, of the reference
def test_layouts(name):
    """Rows, columns, gaps, reversals and broadcasts, also where the work is split between threads."""
    big = RNG.standard_normal((70, 40, 60)).astype(np.float32)
    for array in (big, big.transpose(2, 0, 1), big[::2, 1::3], big[::-1, :, ::-1], np.lib.stride_tricks.as_strided(big, (5, 40,
    60), (0, 240, 4)), big[:1, :, :1]):
        for dim in (None, 0, 2, (0, 2), (1, 2)):
            found = reduce(name, torch.from_numpy(array), dim)
            wanted = KINDS[name](array.astype(np.float64), dim)
            if name == "var" and not np.isfinite(wanted).all():
                continue
            np.testing.assert_allclose(found.numpy().astype(np.float64), wanted, rtol=1e-4, atol=1e-3)


TOTALS = {"bool": "int64", "uint8": "int64", "int8": "int64", "int32": "int64", "int64": "int64", "float16": "float16",
          "complex64": "complex64", "complex128": "complex128"}
# Each dtype has one kind of each sort (sums and products, questions, extremes), and each kind goes along rows and along columns, which
# are two kernels. Without a direction are those that test_kernel_reduce.py or test_fuzz.py has too, both ways and in every layout.
TRIED = {
    "bool": "sum all amin", "uint8": "sum any:rows amax", "int8": "sum count_nonzero:rows amin:columns",
    "int32": "prod any amax", "int64": "prod count_nonzero:columns amin:rows", "float16": "sum any:columns amin",
    "complex64": "sum prod all:rows", "complex128": "sum prod:columns all:columns",
}


@pytest.mark.parametrize("dtype", TOTALS)
def test_dtypes(dtype):
    total = TOTALS[dtype]
    array = (RNG.integers(0, 3, (6, 7)) > 0 if dtype == "bool" else RNG.integers(0, 5, (6, 7))).astype(dtype)
    x = torch.from_numpy(array)
    for name, _, way in (tried.partition(":") for tried in TRIED[dtype].split()):
        for dim in {"rows": (1, None), "columns": (0,), "": (0, 1, None)}[way]:
            found = getattr(x, name)() if dim is None else getattr(x, name)(dim)
            if name in ("sum", "prod"):
                wanted = getattr(np, name)(array.astype(total if total != "float16" else "float64"), dim)
                assert str(found.dtype) == "torch." + total
                if np.isfinite(wanted).all() and (total != "float16" or np.max(np.abs(wanted)) < 60000):
                    np.testing.assert_allclose(found.numpy().astype(wanted.dtype), wanted, rtol=1e-3 if total == "float16" else 1e-6)
            else:
                assert found.tolist() == np.asarray(getattr(np, name)(array, dim)).tolist()      # before 2.3 NumPy counts in Python ints
                assert found.dtype is (x.dtype if name in ("amax", "amin") else torch.int64 if name == "count_nonzero" else
                                       torch.uint8 if dtype == "uint8" else torch.bool)


def test_sums_of_bfloat16():
    half = torch.from_numpy(RNG.standard_normal((50, 40)).astype(np.float32)).bfloat16()
    np.testing.assert_allclose(half.sum(1).float().numpy(), half.float().sum(1).numpy(), rtol=2 ** -7, atol=0.02)


def test_dtype_argument_and_out():
    x = torch.arange(5, dtype=torch.int32)
    assert x.sum(dtype=torch.float64).dtype is torch.float64 and x.mean(dtype=torch.float32).item() == 2.0 and x.prod(dtype=torch.int8).dtype is x.sum(dtype=torch.int8).dtype is torch.int8
    out = torch.zeros(())
    assert torch.sum(torch.ones(4), out=out) is out and out.item() == 4.0
    assert x.sum(0, keepdim=True).shape == (1,) and torch.sum(x, dim=(), keepdim=True).shape == (1,)


def test_large_sums_are_accurate():
    x = np.full(3_000_001, 0.1, np.float32)
    assert abs(torch.from_numpy(x).sum().item() - float(np.float32(0.1)) * 3_000_001) < 0.5
    y = (RNG.standard_normal((5000, 3)) * 0.01 + 1e4).astype(np.float32)       # a mean in float32 alone is off by a tenth of this
    for found in (torch.from_numpy(y).var(0), torch.from_numpy(np.ascontiguousarray(y.T)).var(1)):
        np.testing.assert_allclose(found.numpy(), y.astype(np.float64).var(0, ddof=1), rtol=1e-6)
    assert torch.ones(1 << 20, dtype=torch.bool).sum().item() == 1 << 20


def test_a_deviation_whose_square_does_not_fit():
    x = (np.random.default_rng(0).standard_normal((3, 90)) * 700).astype(np.float16)
    for axis in (0, 1):
        leaf = torch.tensor(x).requires_grad_()
        found = leaf.std(axis)
        np.testing.assert_allclose(found.detach().numpy(), x.astype(float).std(axis, ddof=1), 2e-3)
        found.sum().backward()
        slope = (x - x.astype(float).mean(axis, keepdims=True)) / (x.shape[axis] - 1) / x.astype(float).std(axis, ddof=1, keepdims=True)
        np.testing.assert_allclose(leaf.grad.numpy(), slope, 0.02, 2e-4)


@pytest.mark.parametrize("name", ["amax", "amin", "max", "min", "sum", "prod", "mean", "var", "norm"])
def test_nan_and_infinity(name):
    x = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, 2.0], [-np.inf, np.inf, 0.5], [1.0, 2.0, 4.0]], np.float32)
    numpy_name = {"amax": "max", "amin": "min"}.get(name, name)
    found = reduce(name, torch.from_numpy(x), 1)
    with np.errstate(all="ignore"):
        wanted = {"var": lambda: np.var(x, 1, ddof=1), "norm": lambda: np.sqrt((x * x).sum(1))}.get(name, lambda: getattr(np,
        numpy_name)(x, 1))()
    np.testing.assert_allclose(found[0].numpy() if name in ("max", "min") else found.numpy(), wanted, rtol=1e-6)


def test_extremes_with_indices():
    array = RNG.integers(0, 4, (5, 6, 3)).astype(np.float32)                     # with many ties: the first one counts
    x = torch.from_numpy(array)
    for dim in (0, 1, 2, -1):
        values, indices = x.max(dim)
        np.testing.assert_array_equal(values.numpy(), array.max(dim))
        np.testing.assert_array_equal(indices.numpy(), array.argmax(dim))
        np.testing.assert_array_equal(x.min(dim, keepdim=True).indices.numpy(),
        array.argmin(dim)[tuple([slice(None)] * (dim % 3) + [None])])
        np.testing.assert_array_equal(x.argmax(dim).numpy(), array.argmax(dim))
        np.testing.assert_array_equal(x.transpose(0, 2).argmin(dim).numpy(), array.transpose(2, 1, 0).argmin(dim))
    assert x.argmax().item() == array.argmax() and x.max().item() == 3.0 and torch.max(x, torch.tensor(2.0)).min().item() == 2.0
    assert x.argmin(1, keepdim=True).shape == (5, 1,
    3) and torch.tensor(3.0).argmax().item() == 0 and torch.tensor(3.0).max(0).indices.item() == 0
    low, high = torch.aminmax(x)
    assert (low.item(), high.item()) == (0.0, 3.0)
    with_nan = torch.tensor([1.0, float("nan"), 5.0])
    assert with_nan.argmax().item() == 1 and with_nan.max(0).indices.item() == 1 and with_nan.max().isnan().item()


def test_norms_and_more():
    x, single = torch.from_numpy(CUBE), torch.from_numpy(CUBE.astype(np.float32))
    for p in (0, 1, 2, 3, 0.5, float("inf"), float("-inf")):
        for dim in (None, 1, (0, 2)):
            found = single.norm(p, dim)
            a = np.abs(CUBE)
            wanted = (a != 0).sum(dim) if p == 0 else a.max(dim) if p == np.inf else a.min(dim) if p == -np.inf else (a ** p).sum(dim) ** (1 / p)
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)
    assert torch.tensor([3.0,
    4.0]).norm().item() == 5.0 and torch.tensor([3 + 4j]).norm().item() == 5.0 and x.norm("fro").item() > 0
    for unbiased in (True, False):
        np.testing.assert_allclose(x.var(1, unbiased).numpy(), CUBE.var(1, ddof=int(unbiased)), rtol=1e-12)
    np.testing.assert_allclose(x.std(correction=2).numpy(), CUBE.std(ddof=2), rtol=1e-12)
    variance, mean = torch.var_mean(x, True)             # `unbiased`, not dimension 1
    assert variance.shape == mean.shape == ()
    variance, mean = torch.var_mean(x, 0)
    np.testing.assert_allclose(mean.numpy(), CUBE.mean(0), rtol=1e-10, atol=1e-12)
    holes = torch.tensor([1.0, float("nan"), 3.0])
    assert torch.nansum(holes).item() == 4.0 and torch.nanmean(holes).item() == 2.0
    assert torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0).item() == pytest.approx(1000 + np.log(2))
    assert torch.logsumexp(torch.tensor([float("-inf")] * 2), 0).item() == float("-inf")
    assert x.sum_to_size(1, 5, 1).shape == (1, 5, 1) and x.sum_to_size(5, 1).shape == (5, 1)
    truths = torch.tensor([True, True])
    assert truths.sum_to_size(2) is truths and truths.sum_to_size(()).dtype is truths[0].sum_to_size(()).dtype is torch.int64


@pytest.mark.parametrize("shape, dim", [((0,), None), ((0, 3), 0), ((0, 3), 1), ((2, 0, 3), 1), ((2, 0, 3), 0)])
def test_nothing_to_reduce(shape, dim):
    x, array = torch.zeros(shape), np.zeros(shape, np.float32)
    for name in ("sum", "prod", "any", "all"):
        np.testing.assert_array_equal((getattr(x, name)() if dim is None else getattr(x, name)(dim)).numpy(), getattr(array,
        name)(dim))
    assert x.mean().isnan().item() and x.var().isnan().item()
    if dim is None or shape[dim] == 0:
        for attempt in (lambda: x.amax() if dim is None else x.amax(dim), lambda: x.argmax(dim),
        lambda: x.max() if dim is None else x.max(dim)):
            if dim is None or 0 not in shape[:dim] + shape[dim + 1:]:
                with pytest.raises((IndexError, RuntimeError), match="Expected reduction dim"):
                    attempt()
    else:
        assert x.amax(dim).shape == np.zeros(shape).sum(dim).shape


# ---------------------------------------------------------------- gradients
DIFFERENTIABLE = {
    "sum": lambda x: x.sum((0, 2)), "sum all": lambda x: x.sum(), "mean": lambda x: x.mean(1), "mean all": lambda x: x.mean(),
    "prod": lambda x: x.prod(1),
    "prod all": lambda x: x.prod(), "amax": lambda x: x.amax((0, 1)), "max": lambda x: x.max(1).values, "min": lambda x: x.min(2,
    keepdim=True)[0],
    "max all": lambda x: x.max(), "var": lambda x: x.var((0, 2)), "var all": lambda x: x.var(unbiased=False),
    "std": lambda x: x.std(1, keepdim=True),
    "norm": lambda x: x.norm(2, 1), "norm 1": lambda x: x.norm(1), "norm 3": lambda x: x.norm(3, (0, 1)),
    "norm inf": lambda x: x.norm(float("inf"), 2),
    "logsumexp": lambda x: x.logsumexp((0, 1)), "var_mean": lambda x: torch.var_mean(x, 1), "nansum": lambda x: x.nansum(1),
    "sum_to_size": lambda x: x.sum_to_size(3, 1), "sum of a transpose": lambda x: x.transpose(0, 2).sum(1),
    "sum of a broadcast": lambda x: x[:1].expand(4, 3, 4).sum(2),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name):
    x = torch.from_numpy(RNG.standard_normal((2, 3, 4))).requires_grad_()
    gradcheck(DIFFERENTIABLE[name], x)
    gradgradcheck(lambda x: DIFFERENTIABLE[name](x * x), x, fast_mode=True)


def test_gradients_at_ties_and_zeros():
    x = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], requires_grad=True)
    x.amax(1).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0, 0.5, 0.5], [1 / 3] * 3], rtol=1e-6)
    for zeros in ([2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [2.0, 1.0, 3.0]):
        y = torch.tensor(zeros, dtype=torch.float64, requires_grad=True)
        y.prod().backward()
        np.testing.assert_allclose(y.grad.numpy(), [np.prod(np.delete(zeros, i)) for i in range(3)])
    z = torch.zeros(3, requires_grad=True)
    z.norm().backward()
    assert z.grad.tolist() == [0.0] * 3
    w = torch.ones(2, 3, dtype=torch.float32, requires_grad=True)
    w.sum(dtype=torch.float64).backward()
    assert w.grad.dtype is torch.float32


@pytest.mark.parametrize("attempt, error, message", [
    (lambda x: x.sum(2), IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"),
    (lambda x: x.sum((0, 0)), RuntimeError, "appears multiple times"), (lambda x: x.long().mean(), RuntimeError,
    "could not infer output dtype.*Long"),
    (lambda x: x.long().var(), RuntimeError, "only support floating point"), (lambda x: x.long().norm(), RuntimeError,
    "Expected a floating point"),
    (lambda x: x.max(5), IndexError, "Dimension out of range"), (lambda x: x.argmin(-3), IndexError, "Dimension out of range"),
    (lambda x: x[:, :0].max(), RuntimeError, "numel|Expected reduction dim"), (lambda x: x.sum("a"), TypeError, None),
    (lambda x: x.sum(0.5), TypeError, None),
    (lambda x: x.sum_to_size(3, 3), RuntimeError, "not expandable"),
    (lambda x: torch.sum([1, 2]), TypeError, None), (lambda x: torch.mean(None), TypeError, None), (lambda x: (x + 1j).amax(),
    RuntimeError, None),
    (lambda x: x.max(0.5), TypeError, None), (lambda x: x.sum(dtype="float"), TypeError, "dtype"), (lambda x: torch.max(x, [1]),
    TypeError, None),
], ids=lambda v: v if isinstance(v, str) else "")
def test_messages(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt(torch.ones(2, 3))


def test_the_variance_of_a_complex_number():
    """It has no dimension to go along or to keep."""
    x = torch.tensor(1 + 2j)
    for dim in (None, 0, -1, ()):
        assert torch.var(x, dim, keepdim=True, correction=0).shape == torch.std(x, dim).shape == ()
    with pytest.raises(IndexError, match="out of range"):
        torch.var(x, 1)


@pytest.mark.parametrize("name", ["max", "min", "sort", "topk", "mode", "median", "kthvalue", "cummax"])
def test_pairs_are_pickled_and_copied_under_their_names(name):
    found = getattr(torch, name)(torch.randn(3, 4), *{"topk": (2,), "kthvalue": (2,), "cummax": (0,), "sort": ()}.get(name, (1,)))
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert type(again) is type(found) and repr(again) == repr(found)
        assert torch.equal(again.values, found.values) and torch.equal(again.indices, found.indices)
