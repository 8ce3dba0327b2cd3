"""Covariances, correlations, distances, norms held down, against NumPy; copies with a view replaced; further cuts and draws."""
import numpy as np
import pytest

import numtorch as torch
from numtorch.autograd.gradcheck import gradcheck

RNG = np.random.default_rng(0)
ARRAY, COUNTS, WEIGHTS = RNG.normal(size=(4, 6)), np.array([1, 2, 1, 3, 1, 2]), RNG.random(6)


@pytest.mark.parametrize("ours, numpys", [
    ({}, {}), ({"correction": 0}, {"ddof": 0}), ({"fweights": torch.tensor(COUNTS)}, {"fweights": COUNTS}),
    ({"aweights": torch.tensor(WEIGHTS)}, {"aweights": WEIGHTS}),
    ({"fweights": torch.tensor(COUNTS), "aweights": torch.tensor(WEIGHTS)}, {"fweights": COUNTS, "aweights": WEIGHTS})], ids=range(5))
def test_cov(ours, numpys):
    x = torch.tensor(ARRAY, requires_grad=True)
    np.testing.assert_allclose(x.cov(**ours).detach().numpy(), np.cov(ARRAY, **numpys))
    np.testing.assert_allclose(x[0].cov(**ours).item(), np.cov(ARRAY[0], **numpys))
    assert gradcheck(lambda t: t.cov(**ours), (x,))


def test_corrcoef_dist_renorm():
    x = torch.tensor(ARRAY)
    np.testing.assert_allclose(x.corrcoef().numpy(), np.corrcoef(ARRAY))
    assert x[0].corrcoef().item() == 1
    np.testing.assert_allclose(torch.dist(x, x * 3, 1).item(), 2 * np.abs(ARRAY).sum())
    norms = np.abs(ARRAY).sum(0)
    found = x.renorm(1, 1, 2.0)
    np.testing.assert_allclose(found.numpy(), ARRAY * np.minimum(1, 2 / norms), 1e-6)
    y = x.clone()
    assert y.renorm_(1, 1, 2.0) is y and (y == found).all()
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        torch.ones(3).renorm(2, 0, 1.0)


def test_replaced_views():
    x, src = torch.tensor(ARRAY, requires_grad=True), torch.tensor(RNG.normal(size=(2, 6)), requires_grad=True)
    expected = ARRAY.copy()
    expected[0:4:2] = src.detach().numpy()
    np.testing.assert_array_equal(torch.slice_scatter(x, src, 0, 0, 4, 2).detach().numpy(), expected)
    expected = ARRAY.copy()
    expected[3] = src[1].detach().numpy()
    np.testing.assert_array_equal(x.select_scatter(src[1], 0, 3).detach().numpy(), expected)
    expected = ARRAY.copy()
    np.fill_diagonal(expected, src[0, :4].detach().numpy())
    np.testing.assert_array_equal(x.diagonal_scatter(src[0, :4]).detach().numpy(), expected)
    assert torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,), 1).tolist() == [0, 1, 0, 1]
    apart = torch.arange(24.0).reshape(4, 6).t()[1:5, ::2]           # strides count in its storage, from its first element
    found = apart.as_strided_scatter(-torch.ones(2, 2), (2, 2), (2, 6))
    assert found.tolist() == [[-1, 13], [2, 14], [-1, 15], [4, 16]] and found.stride() == (1, 12)
    assert apart.as_strided_scatter(-torch.ones(1), (1,), (1,), 0).tolist() == apart.tolist()
    assert gradcheck(lambda a, b: a.t().as_strided_scatter(b[:, 0], (2,), (3,), 1), (x, src[:2]))
    assert gradcheck(lambda a, b: a.slice_scatter(b, 0, 0, 4, 2), (x, src))
    with pytest.raises(RuntimeError, match="size equal to the slice"):
        x.slice_scatter(src, 0, 0, 1)


def test_cuts():
    x, cube = torch.tensor(ARRAY), torch.arange(24).reshape(2, 3, 4)
    for ours, numpys in zip((x.hsplit(3), x.vsplit([1, 3]), cube.dsplit(2), x[0].hsplit(2), x.split_with_sizes([1, 3])),
                            (np.hsplit(ARRAY, 3), np.vsplit(ARRAY, [1, 3]), np.dsplit(cube.numpy(), 2), np.split(ARRAY[0], 2),
                             np.split(ARRAY, [1]))):
        assert len(ours) == len(numpys) and all((a.numpy() == b).all() for a, b in zip(ours, numpys))
    assert [len(p) for p in torch.tensor_split(torch.arange(5), torch.tensor([1, 4]))] == [1, 3, 1]
    with pytest.raises(RuntimeError, match="not divisible"):
        x.hsplit(4)
    with pytest.raises(RuntimeError, match="at least 3 dimensions"):
        x.dsplit(2)


def test_nonzero_of_a_fixed_size():
    x = torch.tensor([[0, 1], [2, 0]])
    assert torch.nonzero_static(x, size=3).tolist() == [[0, 1], [1, 0], [-1, -1]]
    assert torch.nonzero_static(x, size=1).tolist() == [[0, 1]] and torch.argwhere(x).tolist() == [[0, 1], [1, 0]]


def test_draws_in_place():
    torch.manual_seed(0)
    x = torch.zeros(100_000)
    assert abs(x.geometric_(0.3).mean().item() - 1 / 0.3) < 0.05 and x.min() == 1
    assert abs(x.log_normal_(0.5, 0.1).log().mean().item() - 0.5) < 0.01
    assert abs(x.cauchy_(2.0, 0.5).median().item() - 2) < 0.02
    assert torch.zeros(10, dtype=torch.int64).geometric_(0.5).min() >= 1
    for call in (lambda: x.geometric_(1.5), lambda: x.cauchy_(0, -1), lambda: x.log_normal_(0, -1)):
        with pytest.raises(RuntimeError, match="expects"):
            call()


OUTS = [torch.prod, torch.any, torch.all, torch.argmax, torch.argmin, torch.var, torch.std, torch.norm, torch.nansum, torch.nanmean,
        torch.sum, torch.mean, torch.amax, torch.quantile]


@pytest.mark.parametrize("function", OUTS, ids=lambda f: f.__name__)
def test_reductions_write_into_out(function):
    x = torch.tensor(ARRAY)
    arguments = (0.5, 1) if function is torch.quantile else (2, 1) if function is torch.norm else (1,)
    expected = function(x, *arguments)
    out = torch.empty_like(expected)
    assert function(x, *arguments, out=out) is out and (out == expected).all()


def test_pairs_write_into_out():
    x = torch.tensor(ARRAY)
    for function in (torch.max, torch.min, torch.median, torch.mode, torch.cummax, torch.sort):
        expected = function(x, 1)
        outs = tuple(torch.empty_like(t) for t in expected)
        found = function(x, 1, out=outs)
        assert all(f is o and (f == e).all() for f, o, e in zip(found, outs, expected))
