"""Adafactor and Muon beside their formulas in NumPy, and beside PyTorch's where it is installed."""
from __future__ import annotations

import numpy as np
import pytest

import numtorch as torch

try:
    import torch as pytorch
except ImportError:
    pytorch = None

RANDOM = np.random.default_rng(0)
MATRIX, TALL, VECTOR = [RANDOM.standard_normal(shape).astype(np.float32) for shape in ((3, 5), (6, 2), (4,))]
GRADS = [[RANDOM.standard_normal(x.shape).astype(np.float32) for _ in range(3)] for x in (MATRIX, TALL, VECTOR)]


def run(t, name, start, grads, **options):
    p = t.nn.Parameter(t.tensor(start))
    optimizer = getattr(t.optim, name)([p], **options)
    for grad in grads:
        p.grad = t.tensor(grad)
        optimizer.step()
    return p.detach().numpy(), optimizer


def adafactor(p, grads, lr, weight_decay, d):
    """Algorithm 4 of Shazeer and Stern, with steps relative to the parameter's size."""
    p, least, rms = p.astype(np.float64), np.finfo(np.float32).eps, lambda x: np.sqrt((x * x).mean())
    rows = columns = whole = 0.0
    for step, g in enumerate(grads, 1):
        taken, rate = step ** -0.8, max(1e-3, rms(p)) * min(lr, step ** -0.5)
        p = p * (1 - lr * weight_decay)
        if p.ndim > 1:
            rows = rows + taken * ((g * g).mean(-1, keepdims=True) - rows)
            columns = columns + taken * ((g * g).mean(-2, keepdims=True) - columns)
            squares = rows * columns / max(rows.mean(), least)
        else:
            squares = whole = whole + taken * (g * g - whole)
        update = g / np.sqrt(np.maximum(squares, least ** 2))
        p = p - rate * update / max(1.0, rms(update) / d)
    return p


@pytest.mark.parametrize("case", [0, 1, 2])
def test_adafactor(case):
    start, grads = (MATRIX, TALL, VECTOR)[case], GRADS[case]
    found, optimizer = run(torch, "Adafactor", start, grads, lr=0.3, weight_decay=0.1, d=1.5)
    np.testing.assert_allclose(found, adafactor(start, grads, 0.3, 0.1, 1.5), rtol=2e-5, atol=1e-6)
    assert set(optimizer.state_dict()["state"][0]) == ({"step", "variance"} if case == 2 else {"step", "row_var", "col_var"})


@pytest.mark.parametrize("case", [0, 1])
def test_muon(case):
    start, grads = (MATRIX, TALL)[case], GRADS[case]
    p, mean = start.astype(np.float64), 0.0
    for g in grads:
        mean = 0.9 * mean + 0.1 * g
        x = 0.1 * g + 0.9 * mean
        x = x / np.linalg.norm(x)
        for _ in range(5):
            gram = x @ x.T
            x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
        p = p * (1 - 0.1 * 0.2) - 0.1 * np.sqrt(max(1, p.shape[0] / p.shape[1])) * x
    found, _ = run(torch, "Muon", start, grads, lr=0.1, weight_decay=0.2, momentum=0.9)
    np.testing.assert_allclose(found, p, atol=1e-2)      # the iteration runs in bfloat16
    assert np.abs(run(torch, "Muon", start, grads, lr=0.1, adjust_lr_fn="match_rms_adamw")[0] - found).max() > 1e-2


@pytest.mark.skipif(pytorch is None, reason="PyTorch is not installed")
@pytest.mark.parametrize(("name", "options"), [
    ("Adafactor", {"lr": 0.2, "weight_decay": 0.1}), ("Adafactor", {"maximize": True, "eps": (1e-3, 1e-2), "beta2_decay": -0.5}),
    ("Muon", {"lr": 0.1}), ("Muon", {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"})])
def test_as_pytorch(name, options):
    for start, grads in zip((MATRIX, TALL), GRADS):
        (ours, first), (theirs, second) = [run(t, name, start, grads, **options) for t in (torch, pytorch)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=5e-3 if name == "Muon" else 1e-6)
        assert repr(first) == repr(second)
        first.load_state_dict(second.state_dict())


@pytest.mark.parametrize(("name", "options", "message"), [
    ("Adafactor", {"lr": -1.0}, "Learning rate"), ("Adafactor", {"d": 0.5}, "Clipping threshold"),
    ("Adafactor", {"beta2_decay": 0.5}, "beta2_decay"), ("Adafactor", {"eps": (-1.0, 0.0)}, "epsilon1"),
    ("Muon", {"adjust_lr_fn": "other"}, "not supported"), ("Muon", {"momentum": -1.0}, "momentum")])
def test_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        run(torch, name, MATRIX, [], **options)
    with pytest.raises(ValueError, match="only supports 2D"):
        run(torch, "Muon", VECTOR, [])
