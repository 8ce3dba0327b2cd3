"""Softmax and losses: values beside NumPy, gradients, and what is refused."""
from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn
from numtorch.autograd import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(0)


def values(*shape):
    return RANDOM.standard_normal(shape)


def leaf(array):
    return torch.tensor(array, requires_grad=True)


@pytest.mark.parametrize(("shape", "dim"),
                         [((3, 5), 1), ((3, 5), 0), ((2, 3, 4), 1), ((4,), -1), ((), 0), ((0, 3), 1), ((3, 1), 1)])
def test_softmax(shape, dim):
    x = values(*shape) * 5
    np.testing.assert_allclose(F.softmax(torch.tensor(x), dim).numpy(), special.softmax(x, dim) if x.ndim else 1.0, rtol=1e-12)
    np.testing.assert_allclose(F.log_softmax(torch.tensor(x), dim).numpy(), special.log_softmax(x, dim) if x.ndim else 0.0,
                               rtol=1e-10, atol=1e-12)
    for function in (lambda x: F.softmax(x, dim), lambda x: F.log_softmax(x, dim)):
        assert gradcheck(function, [leaf(x)]) and gradgradcheck(function, [leaf(x)])


def cross_entropies(x, target, weight, ignored):
    """Each row's loss and weight, in NumPy."""
    logs = special.log_softmax(x, 1)
    weights = np.where(target == ignored, 0,
                       (np.ones(x.shape[1]) if weight is None else weight)[np.where(target == ignored, 0, target)])
    picked = np.take_along_axis(logs, np.expand_dims(np.where(target == ignored, 0, target), 1), 1)[:, 0]
    return -weights * picked, weights


@pytest.mark.parametrize("shape", [(6, 4), (3, 5, 2), (2, 3, 2, 2)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(shape, weighted, reduction):
    x, target = values(*shape), RANDOM.integers(0, shape[1], (shape[0], *shape[2:]))
    target.flat[0], target.flat[1] = 1, 2
    weight = RANDOM.random(shape[1]) if weighted else None
    losses, weights = cross_entropies(x, target, weight, 2)
    expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / weights.sum()}[reduction]
    w, t = None if weight is None else torch.tensor(weight), torch.tensor(target)

    def fused(x):
        return F.cross_entropy(x, t, w, ignore_index=2, reduction=reduction)

    def composed(x):
        return F.nll_loss(F.log_softmax(x, 1), t, w, ignore_index=2, reduction=reduction)

    for function in (fused, composed):
        np.testing.assert_allclose(function(torch.tensor(x)).numpy(), expected, rtol=1e-10, atol=1e-12)
        assert gradcheck(function, [leaf(x)])
        assert gradgradcheck(function, [leaf(x)])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_smoothed_cross_entropy_is_that_of_smoothed_probabilities(reduction):
    x, target = values(6, 4), RANDOM.integers(0, 4, 6)
    probabilities = 0.8 * np.eye(4)[target] + 0.2 / 4
    expected = -(probabilities * special.log_softmax(x, 1)).sum(1)
    expected = {"none": expected, "sum": expected.sum(), "mean": expected.mean()}[reduction]
    for given, smoothing in ((torch.tensor(target), 0.2), (torch.tensor(probabilities), 0.0),
                             (torch.tensor(np.eye(4)[target]), 0.2)):
        loss = F.cross_entropy(torch.tensor(x), given, reduction=reduction, label_smoothing=smoothing)
        np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-7)


def test_cross_entropy_corners():
    assert torch.isnan(F.cross_entropy(torch.zeros(2, 3), torch.tensor([-100, -100]))).item()
    assert F.cross_entropy(torch.tensor([0.0, 1e4]), torch.tensor(0)).item() == 1e4
    assert F.cross_entropy(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64), reduction="sum").item() == 0
    half = F.cross_entropy(torch.zeros(4, 8).half(), torch.zeros(4, dtype=torch.int64))
    assert half.dtype is torch.float16 and abs(half.item() - np.log(8)) < 2e-3


LOSS_ERRORS = [
    (lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 3])), IndexError, "Target 3 is out of bounds"),
    (lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, -1])), IndexError, "Target -1 is out of bounds"),
    (lambda: F.nll_loss(torch.zeros(2, 3), torch.tensor([0, 3])), IndexError, "Target 3 is out of bounds"),
    (lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0])), ValueError, r"input batch_size \(2\) to match target "
                                                                                r"batch_size \(1\)"),
    (lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1]), reduction="max"), ValueError, "max is not a valid value"),
    (lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1]), torch.ones(2)), RuntimeError,
     "weight tensor should be defined"),
    (lambda: F.mse_loss(torch.zeros(2), torch.zeros(2), reduction="max"), ValueError, "max is not a valid value"),
    (lambda: F.binary_cross_entropy(torch.tensor([2.0]), torch.tensor([1.0])), RuntimeError, "between 0 and 1"),
    (lambda: F.binary_cross_entropy_with_logits(torch.zeros(2), torch.zeros(3)), ValueError, "must be the same as input size"),
    (lambda: F.binary_cross_entropy(torch.tensor([1.0]), torch.tensor([2.0])), RuntimeError, "elements of target should be"),
    (lambda: F.binary_cross_entropy(torch.zeros(3), torch.zeros(3), torch.ones(2, 3)), RuntimeError, "match the broadcast shape"),
    (lambda: F.soft_margin_loss(torch.zeros(3), torch.zeros(2, 3)), RuntimeError, "match the broadcast shape"),
    (lambda: F.mse_loss(torch.zeros(2), torch.zeros(2), weight=torch.ones(1)), ValueError, "must have the same size"),
    (lambda: F.gaussian_nll_loss(torch.zeros(2, 3), torch.zeros(2, 3), torch.ones(3)), ValueError, "var is of incorrect size"),
    (lambda: F.gaussian_nll_loss(torch.zeros(2), torch.zeros(2), -1.0), ValueError, "var has negative"),
    (lambda: F.margin_ranking_loss(torch.zeros(2, 1), torch.zeros(2), torch.ones(2)), RuntimeError, "same dimension"),
    (lambda: F.cosine_embedding_loss(torch.zeros(2), torch.zeros(2), torch.ones(2)), RuntimeError, "1D target tensor expects 2D"),
    (lambda: F.triplet_margin_loss(torch.zeros(2), torch.zeros(2), torch.ones(2), margin=0), ValueError, "greater than 0, got 0"),
    (lambda: torch.nn.TripletMarginLoss(margin=-1), ValueError, "TripletMarginLoss: expected margin"),
    (lambda: F.multi_margin_loss(torch.zeros(2, 3), torch.tensor([0, 1]), weight=torch.ones(2)), RuntimeError, "weight size"),
    (lambda: F.multilabel_margin_loss(torch.zeros(1, 3), torch.tensor([[0, -7, -1]])), RuntimeError, "out of bounds"),
    (lambda: F.normalize(torch.ones(2, 3), eps=None), TypeError, "'eps' must be float, not NoneType"),
    (lambda: F.softmax(torch.zeros(2).long(), 0), RuntimeError, "not implemented"),
    (lambda: F.softmax(torch.zeros(2), 3), IndexError, "Dimension out of range"),
]


@pytest.mark.parametrize(("call", "kind", "message"), LOSS_ERRORS)
def test_loss_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_weighted_losses():
    """The means of squared and absolute errors are over the weights, that of huber's over the elements, as in PyTorch."""
    x, y, w = torch.zeros(2), torch.tensor([1.0, 3.0]), torch.tensor([1.0, 3.0])
    assert [f(x, y, weight=w).item() for f in (F.mse_loss, F.l1_loss, F.huber_loss)] == [7.0, 2.5, 4.0]
    assert F.gaussian_nll_loss(x, y, 1.0).item() == F.gaussian_nll_loss(x.view(2, 1), y.view(2, 1), torch.ones(2)).item() == 2.5


def softplus(x):
    return np.logaddexp(0, x)


X, Y, P = values(4, 3), values(4, 3), RANDOM.random((4, 3)) * 0.9 + 0.05
SIGNS = np.where(RANDOM.random((4, 3)) < 0.5, -1.0, 1.0)
LOSSES = [
    (lambda x: F.mse_loss(x, torch.tensor(Y), reduction="none"), X, (X - Y) ** 2),
    (lambda x: F.l1_loss(x, torch.tensor(Y), reduction="none"), X, np.abs(X - Y)),
    (lambda x: F.smooth_l1_loss(x, torch.tensor(Y), reduction="none", beta=0.7), X,
     np.where(np.abs(X - Y) < 0.7, (X - Y) ** 2 / 1.4, np.abs(X - Y) - 0.35)),
    (lambda x: F.huber_loss(x, torch.tensor(Y), reduction="none", delta=0.7), X,
     np.where(np.abs(X - Y) < 0.7, (X - Y) ** 2 / 2, 0.7 * (np.abs(X - Y) - 0.35))),
    (lambda x: F.binary_cross_entropy(x, torch.tensor(P.T.reshape(4, 3).copy()), reduction="none"), P,
     -(P.T.reshape(4, 3) * np.log(P) + (1 - P.T.reshape(4, 3)) * np.log(1 - P))),
    (lambda x: F.binary_cross_entropy_with_logits(x, torch.tensor(P), reduction="none"), X, softplus(X) - X * P),
    (lambda x: F.binary_cross_entropy_with_logits(x, torch.tensor(P), reduction="none",
                                                  pos_weight=torch.tensor(np.array([1.0, 2.0, 3.0]))), X,
     np.array([1, 2, 3]) * P * softplus(-X) + (1 - P) * softplus(X)),
    (lambda x: F.kl_div(x, torch.tensor(P), reduction="none"), X, P * (np.log(P) - X)),
    (lambda x: F.kl_div(x, torch.tensor(Y), reduction="none", log_target=True), X, np.exp(Y) * (Y - X)),
    (lambda x: F.soft_margin_loss(x, torch.tensor(SIGNS), reduction="none"), X, softplus(-SIGNS * X)),
    (lambda x: F.hinge_embedding_loss(x, torch.tensor(SIGNS), reduction="none"), X, np.where(SIGNS == 1, X, np.maximum(0, 1 - X))),
    (lambda x: F.margin_ranking_loss(x, torch.tensor(Y), torch.tensor(SIGNS), 0.1, reduction="none"), X,
     np.maximum(0, -SIGNS * (X - Y) + 0.1)),
    (lambda x: F.poisson_nll_loss(x, torch.tensor(P), reduction="none"), X, np.exp(X) - P * X),
    (lambda x: F.gaussian_nll_loss(x, torch.tensor(Y), torch.tensor(P), reduction="none"), X, (np.log(P) + (X - Y) ** 2 / P) / 2),
    (lambda x: F.normalize(x, dim=1), X, X / np.linalg.norm(X, axis=1, keepdims=True)),
    (lambda x: F.cosine_similarity(x, torch.tensor(Y)), X, (X * Y).sum(1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Y, axis=1)),
]


@pytest.mark.parametrize(("function", "data", "expected"), LOSSES, ids=range(len(LOSSES)))
def test_losses(function, data, expected):
    np.testing.assert_allclose(function(torch.tensor(data)).numpy(), expected, rtol=1e-7, atol=1e-9)
    assert gradcheck(function, [leaf(data)]) and gradgradcheck(function, [leaf(data)])


def test_reductions_and_large_logits():
    x, y = torch.tensor(X), torch.tensor(Y)
    assert nn.MSELoss()(x, y).item() == pytest.approx(((X - Y) ** 2).mean())
    assert nn.MSELoss(reduction="sum")(x, y).item() == pytest.approx(((X - Y) ** 2).sum())
    assert nn.KLDivLoss(reduction="batchmean")(x, torch.tensor(P)).item() == pytest.approx((P * (np.log(P) - X)).sum() / 4)
    assert F.kl_div(torch.tensor(-1.0), torch.tensor(0.5), reduction="batchmean").item() == pytest.approx(0.5 * (np.log(0.5) + 1))
    assert F.binary_cross_entropy_with_logits(torch.tensor([1e4, -1e4]), torch.tensor([1.0, 0.0])).item() == 0
    assert F.binary_cross_entropy(torch.tensor([0.0]), torch.tensor([1.0])).item() == 100
    with pytest.warns(UserWarning, match="different to the input size"):
        F.mse_loss(torch.zeros(2, 3), torch.zeros(3))


@pytest.mark.parametrize("loss, target", [("multi_margin_loss", (0,)), ("multilabel_margin_loss", (0, 4))])
def test_margins_of_an_empty_batch(loss, target):
    function = getattr(torch.nn.functional, loss)
    x = torch.empty(0, 4, requires_grad=True)
    total = function(x, torch.empty(target, dtype=torch.int64), reduction="sum")
    total.backward()
    assert total.item() == 0 and x.grad.shape == (0, 4)
    with pytest.raises(RuntimeError, match="non-empty"):
        function(torch.empty(2, 0), torch.empty(2, *target[1:], dtype=torch.int64))
