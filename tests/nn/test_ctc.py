"""Connectionist temporal classification against all alignments written out, and against PyTorch where it is installed."""
import itertools
import math

import numpy as np
import pytest

import numtorch as torch
import numtorch.nn.functional as F
from numtorch.autograd import gradcheck, gradgradcheck

try:
    import torch as pytorch
except ImportError:
    pytorch = None


def collapsed(path, blank):
    return [c for c, _ in itertools.groupby(path) if c != blank]


def by_alignments(log_probs, labels, blank):
    """-log of the summed probability of every path that collapses to the labels."""
    steps, classes = log_probs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        if collapsed(path, blank) == list(labels):
            total += math.exp(sum(log_probs[t, c] for t, c in enumerate(path)))
    return -math.log(total) if total else math.inf


def scores(steps, batch, classes, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal((steps, batch, classes)).astype(dtype)


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("labels", [[1], [1, 1], [], [1, 1, 1]], ids=str)
def test_sum_over_all_alignments(labels, blank):
    x = torch.tensor(scores(4, 1, 3)).log_softmax(-1)
    found = F.ctc_loss(x, torch.tensor([labels or [1]]), [4], [len(labels)], blank=blank, reduction="none")
    assert found.shape == (1,)
    assert found.item() == pytest.approx(by_alignments(x[:, 0].numpy(), labels, blank))


CASES = [(5, 2, 4, 2), (12, 3, 6, 4), (1, 1, 3, 1), (7, 4, 3, 0), (30, 5, 10, 9)]


@pytest.mark.skipif(pytorch is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("steps, batch, classes, longest", CASES)
@pytest.mark.parametrize("reduction, zero_infinity", [("none", False), ("mean", False), ("sum", True)])
def test_as_pytorch(steps, batch, classes, longest, reduction, zero_infinity):
    """Losses and gradients, of too short sequences (infinite) and of length 0 too, for labels as a matrix and in one row."""
    rng = np.random.default_rng(steps)
    raw = scores(steps, batch, classes)
    lengths, times = rng.integers(0, longest + 1, batch), rng.integers(max(0, steps - 4), steps + 1, batch)
    matrix = rng.integers(1, classes, (batch, max(longest, 1)))
    flat = np.concatenate([matrix[n, :k] for n, k in enumerate(lengths)])
    for targets, blank in ((matrix, 0), (flat, 0), (matrix - 1, classes - 1)):
        found = []
        for t in (pytorch, torch):
            x = t.tensor(raw, requires_grad=True)
            log_probs = x.log_softmax(-1)
            log_probs.retain_grad()
            loss = t.nn.functional.ctc_loss(log_probs, t.tensor(targets), times.tolist(), lengths.tolist(), blank, reduction, zero_infinity)
            loss.sum().backward()
            found.append((loss.detach().numpy(), log_probs.grad.numpy(), x.grad.numpy()))
        for theirs, ours in zip(*found):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_gradients_of_any_order():
    x = torch.tensor(scores(5, 3, 4), requires_grad=True)
    targets = torch.tensor([[1, 1], [3, 2], [2, 1]])

    def loss(x):
        return F.ctc_loss(x.log_softmax(-1), targets, [5, 4, 2], [2, 1, 0], reduction="none")

    assert gradcheck(loss, (x,), fast_mode=True) and gradgradcheck(loss, (x,), fast_mode=True)


def test_threads_and_float32():
    """As float64 on one thread, to rounding."""
    raw, targets = scores(40, 9, 12), torch.tensor(np.random.default_rng(1).integers(1, 12, (9, 10)))
    found = []
    for dtype, threads in ((torch.float64, 1), (torch.float32, 2)):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        x = torch.tensor(raw, dtype=dtype, requires_grad=True)
        loss = torch.nn.CTCLoss(reduction="sum")(x.log_softmax(-1), targets, [40] * 9, [10] * 9)
        loss.backward()
        torch.set_num_threads(before)
        found.append((loss.item(), x.grad.double().numpy()))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-5)
    np.testing.assert_allclose(found[1][1], found[0][1], atol=1e-4)


def test_single_sequence():
    x = torch.tensor(scores(6, 1, 4)).log_softmax(-1)
    alone = F.ctc_loss(x[:, 0], torch.tensor([1, 2]), torch.tensor(6), torch.tensor(2), reduction="none")
    assert alone.shape == () and alone.item() == F.ctc_loss(x, torch.tensor([[1, 2]]), [6], [2], reduction="none").item()


@pytest.mark.parametrize("change, error, message", [
    ({"input_lengths": [5, 6]}, RuntimeError, "Expected input_lengths to have value at most 5, but got value 6"),
    ({"input_lengths": [5]}, RuntimeError, "input_lengths must be of size batch_size"),
    ({"target_lengths": [2, 3]}, RuntimeError, "Expected tensor to have size at least 3 at dimension 1, but got size 2"),
    ({"target_lengths": [-1, 2]}, RuntimeError, "Expected target_lengths to have value at least 0, but got value -1"),
    ({"target_lengths": torch.tensor([1.0, 2.0])}, RuntimeError, "target_lengths must be integral"),
    ({"targets": torch.tensor([1, 2, 1])}, RuntimeError, "Expected tensor to have size 4 at dimension 0, but got size 3"),
    ({"targets": torch.tensor([[1, 2], [4, 1]])}, IndexError, "Target 4 is out of bounds"),
    ({"targets": torch.tensor([[1, -1], [3, 1]])}, IndexError, "Target -1 is out of bounds"),
    ({"blank": 4}, RuntimeError, "blank must be in label range"),
    ({"reduction": "all"}, ValueError, "all is not a valid value for reduction"),
    ({"log_probs": torch.zeros(5, 2, 4, dtype=torch.float16)}, NotImplementedError, "not implemented for 'Half'"),
    ({"log_probs": torch.zeros(4)}, RuntimeError, "Expected 3-dimensional tensor, but got 1-dimensional"),
])
def test_refuses(change, error, message):
    """Lengths and labels that would lead outside of memory, and whatever else does not go together."""
    arguments = {"log_probs": torch.zeros(5, 2, 4), "targets": torch.tensor([[1, 2], [3, 1]]), "input_lengths": [5, 5], "target_lengths": [2, 2]}
    with pytest.raises(error) as caught:
        F.ctc_loss(**{**arguments, **change})
    assert message in str(caught.value)
