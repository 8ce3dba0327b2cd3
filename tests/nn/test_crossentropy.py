"""Cross entropy and negative log likelihood with every option against NumPy float64, gradients of any order, and PyTorch."""
import itertools

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import numtorch as torch
from numtorch.autograd import gradcheck, gradgradcheck
from numtorch.nn import functional as F

TOLERANCE = {"float32": 3e-6, "float64": 1e-13, "float16": 3e-3, "bfloat16": 3e-2}
SHAPES = [(7,), (1, 1), (9, 5), (3, 4, 6), (2, 3, 20, 30), (1, 5, 700), (300, 130), (17, 16), (16, 256), (33, 257)]
IGNORED = 1


def expected(x, target, weight, smoothing, reduction, likelihood=False):
    """Losses and the gradient of their reduction, for scores (N, C, S) and distributions (N, C, S) or classes (N, S)."""
    n, c, _ = x.shape
    factor = np.ones(c) if weight is None else weight
    logs = x if likelihood else log_softmax(x, 1)
    if target.shape == x.shape:
        q = (target * (1 - smoothing) + smoothing / c) * factor[:, None]
        divisor = x.size / c
    else:
        kept = target != IGNORED
        safe = np.where(kept, target, 0)
        hit = (np.arange(c)[:, None] == safe[:, None]) * factor[:, None]
        q = ((1 - smoothing) * hit + smoothing / c * factor[:, None]) * kept[:, None]
        divisor = (hit.sum(1) * kept).sum()
    losses = -(q * logs).sum(1)
    grad = -q if likelihood else q.sum(1, keepdims=True) * softmax(x, 1) - q
    if reduction == "none":
        return losses, grad
    divisor = divisor if reduction == "mean" else 1.0
    return losses.sum() / divisor, grad / divisor


def as_three(array, classes_dim=True):
    if array.ndim == classes_dim:
        return array.reshape((1, -1, 1) if classes_dim else (1, 1))
    return array.reshape((*array.shape[:1 + classes_dim], -1))


def tensor(array, dtype="float64"):
    return torch.from_numpy(np.ascontiguousarray(array)).to(getattr(torch, dtype))


def values(t):
    return t.detach().to(torch.float64).numpy()


def inputs(shape, dtype, weighted, kind, seed=0):
    rng = np.random.default_rng(seed)
    x = tensor(rng.normal(size=shape) * 3, dtype)
    classes = shape[0] if len(shape) == 1 else shape[1]
    weight = tensor(rng.uniform(0.5, 2, classes), dtype) if weighted else None
    if kind == "probabilities":
        return x, tensor(softmax(rng.normal(size=shape), 0 if len(shape) == 1 else 1), dtype), weight
    target = rng.integers(0, classes, () if len(shape) == 1 else (shape[0], *shape[2:]))
    if classes > 1 and np.all(target == IGNORED):
        target = target * 0
    return x, torch.tensor(np.asarray(target).tolist(), dtype=torch.int64), weight


def ignored(kind):
    """Which class is left out; probabilities have none."""
    return {} if kind == "probabilities" else dict(ignore_index=IGNORED)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", ["classes", "probabilities", "likelihood"])
def test_values_and_gradients(kind, dtype):
    tolerance = TOLERANCE[dtype]
    for shape, weighted, smoothing, reduction in itertools.product(SHAPES, [False, True], [0.0, 0.2], ["none", "mean", "sum"]):
        if (kind == "likelihood" and smoothing) or (dtype in ("float16", "bfloat16") and len(shape) == 4):
            continue
        x, target, weight = inputs(shape, dtype, weighted, kind)
        x.requires_grad_()
        options = dict(weight=weight, reduction=reduction, **ignored(kind))
        if kind == "likelihood":
            out = F.nll_loss(x, target, **options)
        else:
            out = F.cross_entropy(x, target, label_smoothing=smoothing, **options)
        numbers = as_three(values(target)) if kind == "probabilities" else as_three(target.numpy(), False)
        loss, grad = expected(as_three(values(x)), numbers, None if weight is None else values(weight), smoothing, reduction,
                              kind == "likelihood")
        scale = max(1.0, np.abs(loss).max())
        assert out.dtype is x.dtype and (out.shape == target.shape or reduction != "none" or kind == "probabilities")
        np.testing.assert_allclose(values(out).reshape(np.shape(loss)), loss, 4 * tolerance, 4 * tolerance * scale,
                                   err_msg=f"{shape} {weighted} {smoothing} {reduction}")
        out.sum().backward()
        np.testing.assert_allclose(values(x.grad).reshape(grad.shape), grad, 8 * tolerance, 4 * tolerance,
                                   err_msg=f"{shape} {weighted} {smoothing} {reduction}")


@pytest.mark.parametrize("kind", ["classes", "probabilities", "likelihood"])
def test_double_backward(kind):
    for shape, weighted, smoothing, reduction in itertools.product([(4,), (3, 4), (2, 3, 2)], [False, True], [0.0, 0.2],
                                                                   ["none", "mean", "sum"]):
        x, target, weight = inputs(shape, "float64", weighted, kind, 1)
        x.requires_grad_()
        if kind == "likelihood":
            if smoothing:
                continue
            call = lambda x: F.nll_loss(x, target, weight, ignore_index=IGNORED, reduction=reduction)                # noqa: B023
        else:
            call = lambda x: F.cross_entropy(x, target, weight, **ignored(kind), reduction=reduction,                # noqa: B023
                                             label_smoothing=smoothing)                                              # noqa: B023
        assert gradcheck(call, (x,)) and gradgradcheck(call, (x,))
        if kind == "probabilities":
            target = target.requires_grad_()
            call = lambda x, p: F.cross_entropy(x, p, weight, reduction=reduction, label_smoothing=smoothing)        # noqa: B023
            assert gradcheck(call, (x, target)) and gradgradcheck(call, (x, target))


def test_threads_do_not_matter():
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found = []
            for shape in [(400, 200), (1, 30, 5000), (3, 40, 900)]:
                x, target, weight = inputs(shape, "float64", True, "classes")
                for function in (F.cross_entropy, F.nll_loss):
                    y = x.clone().requires_grad_()
                    out = function(y, target, weight, reduction="none", ignore_index=IGNORED)
                    out.backward(torch.arange(out.numel(), dtype=torch.float64).reshape(out.shape))
                    found += [values(out), values(y.grad)]
            results.append(found)
    finally:
        torch.set_num_threads(before)
    for one, two in zip(*results):
        np.testing.assert_allclose(one, two, 1e-12)


@pytest.mark.parametrize("classes", [3, 16, 21, 256, 257])
def test_rows_of_extremes(classes):
    """Wherever in a row they are, whole vectors or what is left behind the last."""
    rows = [np.full(classes, each) for each in (-np.inf, 1e30)]
    for special in (np.inf, -np.inf, np.nan, 1e4):
        for place in (0, classes // 2, classes - 1):
            rows.append(np.linspace(-1, 1, classes))
            rows[-1][place] = special
    x, target = np.array(rows), np.arange(len(rows)) % classes
    with np.errstate(all="ignore"):
        logs = log_softmax(x, 1)
        logs[np.isposinf(x).any(1)] = np.nan             # inf - inf, as in PyTorch
        grad = np.where(np.isnan(logs), np.nan, np.exp(logs))
    grad[np.arange(len(rows)), target] -= 1
    given = tensor(x, "float32").requires_grad_()
    losses = F.cross_entropy(given, tensor(target, "int64"), reduction="none")
    losses.sum().backward()
    np.testing.assert_allclose(values(losses), -logs[np.arange(len(rows)), target], 1e-5, 1e-5)
    np.testing.assert_allclose(values(given.grad), grad, 1e-5, 1e-5)


def test_extremes():
    assert F.cross_entropy(torch.tensor([[0.0, 1e4]]), torch.tensor([0])).item() == 1e4
    assert torch.isnan(F.nll_loss(torch.zeros(2, 3), torch.tensor([-100, -100]))).item()
    assert F.nll_loss(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64), reduction="sum").item() == 0
    assert torch.isnan(F.cross_entropy(torch.zeros(0, 3), torch.zeros(0, 3))).item()
    infinite = torch.tensor([[-float("inf"), 0.0]])
    assert F.nll_loss(infinite, torch.tensor([0]), ignore_index=0, reduction="sum").item() == 0
    assert F.cross_entropy(infinite, torch.tensor([1])).item() == 0


ERRORS = [
    (lambda: F.cross_entropy(torch.zeros(2, 3, 4), torch.zeros(2, 5, dtype=torch.int64)), RuntimeError, "Expected target size"),
    (lambda: F.cross_entropy(torch.zeros(2, 3), torch.zeros(2, 4)), RuntimeError, "probabilities of the input's shape"),
    (lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1]), label_smoothing=1.5), RuntimeError, "label_smoothing must be"),
    (lambda: F.cross_entropy(torch.zeros(2, 3).long(), torch.tensor([0, 1])), RuntimeError, "floating point scores"),
    (lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1]), torch.ones(3, dtype=torch.float64)), RuntimeError,
     "expected scalar type Float but found Double"),
    (lambda: F.nll_loss(torch.zeros(2, 3, 2), torch.tensor([[0, 1], [3, 0]])), IndexError, "Target 3 is out of bounds"),
    (lambda: F.nll_loss(torch.zeros(2, 3), torch.tensor([3, 0])), IndexError, "Target 3 is out of bounds"),
    (lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([-1, 0])), IndexError, "Target -1 is out of bounds"),
    (lambda: F.cross_entropy(torch.zeros(2, 3, 2), torch.tensor([[3, 0], [0, 0]])), IndexError, "Target 3 is out of bounds"),
    (lambda: F.cross_entropy(torch.zeros(2, 3, 2), torch.tensor([[0, 1], [2, -7]])), IndexError, "Target -7 is out of bounds"),
]


@pytest.mark.parametrize("call, error, message", ERRORS, ids=range(len(ERRORS)))
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_against_pytorch():
    peer = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    for shape, smoothing, reduction in itertools.product([(6, 5), (2, 5, 3, 4)], [0.0, 0.3], ["none", "mean", "sum"]):
        x, weight = rng.normal(size=shape), rng.uniform(0.5, 2, 5)
        target = rng.integers(0, 5, (shape[0], *shape[2:]))
        results = []
        for library in (torch, peer):
            y = library.from_numpy(x.copy()).requires_grad_()
            out = library.nn.functional.cross_entropy(y, library.from_numpy(target), library.from_numpy(weight), ignore_index=2,
                                                      reduction=reduction, label_smoothing=smoothing)
            out.sum().backward()
            results.append((out.detach().numpy(), y.grad.numpy()))
        for ours, theirs in zip(*results):
            np.testing.assert_allclose(ours, theirs, 1e-12, 1e-13)
