"""Torch7's criterions: each against another way to compute it, its gradient against finite differences, and what all promise."""
import pickle

import numpy as np
import pytest
from test_legacy_nn import close, copied, normal, positive, spread

import numtorch as torch
import numtorch.nn.functional as F
from numtorch.legacy import nn
from numtorch.tree import tensors_in

RANDOM = np.random.default_rng(2)
SIGNS = torch.from_numpy(RANDOM.choice([-1.0, 1.0], 6))
CLASSES = torch.from_numpy(RANDOM.integers(0, 4, 6))
WEIGHTS, BITS = positive(4), torch.from_numpy(RANDOM.integers(0, 2, (6, 4)).astype(np.float64))
ROWS = torch.arange(6)


def nll(x, t):
    return -x[ROWS, t].mean()


def corners(count):
    return nn.ClassSimplexCriterion(count).double().simplex


def several():
    return nn.MultiCriterion().add(nn.ClassNLLCriterion(), 0.5).add(nn.CrossEntropyCriterion())


def nested():
    inner = nn.ParallelCriterion().add(nn.ClassNLLCriterion(), 0.5).add(nn.MSECriterion())
    return nn.ParallelCriterion().add(nn.ClassNLLCriterion(), 0.4).add(inner)


# name: (criterion, input, target, reference(input, target))
CRITERIONS = {
    "AbsCriterion": (lambda: nn.AbsCriterion(), spread(6, 4), normal(6, 4), lambda x, t: (x - t).abs().mean()),
    "AbsCriterion, sum": (lambda: nn.AbsCriterion(False), spread(6, 4), normal(6, 4), lambda x, t: (x - t).abs().sum()),
    "MSECriterion": (lambda: nn.MSECriterion(), normal(6, 4), normal(6, 4), lambda x, t: ((x - t) ** 2).mean()),
    "MSECriterion, sum": (lambda: nn.MSECriterion(False), normal(6, 4), normal(6, 4), lambda x, t: ((x - t) ** 2).sum()),
    "SmoothL1Criterion": (lambda: nn.SmoothL1Criterion(), normal(6, 4), normal(6, 4) * 2, lambda x, t: torch.where((x - t).abs() < 1, (x - t) ** 2 / 2, (x - t).abs() - 0.5).mean()),
    "DistKLDivCriterion": (lambda: nn.DistKLDivCriterion(), positive(6, 4).log(), positive(6, 4), lambda x, t: (t * (t.log() - x)).mean()),
    "DistKLDivCriterion, sum": (lambda: nn.DistKLDivCriterion(False), positive(6, 4).log(), positive(6, 4), lambda x, t: (t * (t.log() - x)).sum()),
    "SoftMarginCriterion": (lambda: nn.SoftMarginCriterion(), normal(6), SIGNS, lambda x, t: (1 + (-x * t).exp()).log().mean()),
    "MarginCriterion": (lambda: nn.MarginCriterion(0.5), normal(6), SIGNS, lambda x, t: (0.5 - x * t).clamp(min=0).mean()),
    "MarginCriterion, sum": (lambda: nn.MarginCriterion(0.5, False), normal(6), SIGNS, lambda x, t: (0.5 - x * t).clamp(min=0).sum()),
    "HingeEmbeddingCriterion": (lambda: nn.HingeEmbeddingCriterion(0.5), positive(6), SIGNS, lambda x, t: torch.where(t == 1, x, (0.5 - x).clamp(min=0)).mean()),
    "BCECriterion": (lambda: nn.BCECriterion(), positive(6, 4) * 0.9, BITS, lambda x, t: -(t * x.log() + (1 - t) * (1 - x).log()).mean()),
    "BCECriterion, weights": (lambda: nn.BCECriterion(WEIGHTS, False), positive(6, 4) * 0.9, BITS, lambda x, t: -(WEIGHTS * (t * x.log() + (1 - t) * (1 - x).log())).sum()),
    "ClassNLLCriterion": (lambda: nn.ClassNLLCriterion(), normal(6, 4), CLASSES, nll),
    "ClassNLLCriterion, weights": (lambda: nn.ClassNLLCriterion(WEIGHTS), normal(6, 4), CLASSES, lambda x, t: -(x[ROWS, t] * WEIGHTS[t]).sum() / WEIGHTS[t].sum()),
    "ClassNLLCriterion, one": (lambda: nn.ClassNLLCriterion(), normal(4), torch.tensor([2.]), lambda x, t: -x[2]),
    "SpatialClassNLLCriterion": (lambda: nn.SpatialClassNLLCriterion(), normal(2, 4, 1, 3), CLASSES.view(2, 1, 3), lambda x, t: nll(x.permute(0, 2, 3, 1).reshape(6, 4), t.flatten())),
    "CrossEntropyCriterion": (lambda: nn.CrossEntropyCriterion(), normal(6, 4, 1), CLASSES.view(6, 1), lambda x, t: nll(F.log_softmax(x[..., 0], 1), t[:, 0])),
    "CrossEntropyCriterion, weights": (lambda: nn.CrossEntropyCriterion(WEIGHTS), normal(6, 4), CLASSES, lambda x, t: F.cross_entropy(x, t, WEIGHTS)),
    "MultiLabelMarginCriterion": (lambda: nn.MultiLabelMarginCriterion(), normal(4), torch.tensor([3, 0, -1, 1]), lambda x, t: sum((1 - x[i] + x[j]).clamp(min=0) for i in (3, 0) for j in (1, 2)) / 4),
    "MultiLabelSoftMarginCriterion": (lambda: nn.MultiLabelSoftMarginCriterion(WEIGHTS), normal(6, 4), BITS, lambda x, t: -(WEIGHTS * (t * x.sigmoid().log() + (1 - t) * (-x).sigmoid().log())).mean()),
    "MultiMarginCriterion": (lambda: nn.MultiMarginCriterion(2, WEIGHTS, 0.5), normal(6, 4), CLASSES, lambda x, t: ((0.5 - x[ROWS, t, None] + x).clamp(min=0) ** 2 * WEIGHTS[t, None] * (torch.arange(4) != t[:, None])).sum() / 24),
    "CosineEmbeddingCriterion": (lambda: nn.CosineEmbeddingCriterion(0.2), [positive(6, 4), positive(6, 4)], SIGNS, lambda x, t: torch.where(t == 1, 1 - F.cosine_similarity(*x), (F.cosine_similarity(*x) - 0.2).clamp(min=0)).mean()),
    "MarginRankingCriterion": (lambda: nn.MarginRankingCriterion(0.5), [normal(6), normal(6)], SIGNS, lambda x, t: (0.5 - t * (x[0] - x[1])).clamp(min=0).mean()),
    "MarginRankingCriterion, a number": (lambda: nn.MarginRankingCriterion(), [torch.tensor([0.5]).double(), torch.tensor([0.25]).double()], -1, lambda x, t: (1 + x[0] - x[1])[0]),
    "L1HingeEmbeddingCriterion": (lambda: nn.L1HingeEmbeddingCriterion(), [normal(6), normal(6)], 1, lambda x, t: (x[0] - x[1]).abs().sum()),
    "L1HingeEmbeddingCriterion, apart": (lambda: nn.L1HingeEmbeddingCriterion(20), [normal(6), normal(6)], torch.tensor([-1]), lambda x, t: 20 - (x[0] - x[1]).abs().sum()),
    "L1Cost": (lambda: nn.L1Cost(), spread(6, 4), None, lambda x, t: x.abs().sum()),
    "WeightedMSECriterion": (lambda: nn.WeightedMSECriterion(WEIGHTS), normal(6, 4), normal(6, 4), lambda x, t: ((x - WEIGHTS * t) ** 2).mean()),
    "ClassSimplexCriterion": (lambda: nn.ClassSimplexCriterion(4), normal(6, 4), CLASSES, lambda x, t: ((x - corners(4)[t]) ** 2).mean()),
    "MultiCriterion": (several, normal(6, 4), CLASSES, lambda x, t: nll(x, t) / 2 + F.cross_entropy(x, t)),
    "ParallelCriterion": (nested, [normal(6, 4), [normal(6, 4), normal(3)]], [CLASSES, [CLASSES.flip(0), normal(3)]], lambda x, t: nll(x[0], t[0]) * 0.4 + nll(x[1][0], t[1][0]) / 2 + F.mse_loss(x[1][1], t[1][1])),
    "ParallelCriterion, one target": (lambda: nn.ParallelCriterion(True).add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion()), [normal(6), spread(6)], normal(6), lambda x, t: F.mse_loss(x[0], t) / 2 + F.l1_loss(x[1], t)),
}


def made(name):
    make, input, target, reference = CRITERIONS[name]
    return make().double(), copied(input), target, reference


@pytest.mark.parametrize("name", CRITERIONS)
def test_losses_and_gradients(name):
    criterion, input, target, reference = made(name)
    loss = criterion.forward(input, target)
    assert isinstance(loss, float) and criterion.output == loss == pytest.approx(reference(input, target).item(), rel=1e-8)
    gradient = copied(criterion.backward(input, target))
    close(input, CRITERIONS[name][1])
    for tensor, slope in zip(tensors_in(input), tensors_in(gradient), strict=True):
        direction, before, found = torch.from_numpy(RANDOM.standard_normal(tuple(tensor.shape))), tensor.clone(), []
        for sign in (1e-6, -1e-6):
            tensor.copy_(before + sign * direction)
            found.append(criterion.forward(input, target))
        tensor.copy_(before)
        assert tensor.shape == slope.shape
        assert (slope * direction).sum().item() == pytest.approx((found[0] - found[1]) / 2e-6, rel=1e-5, abs=1e-6)
    close(criterion.backward(input, target), gradient)   # of what is given, which is not what came last


@pytest.mark.parametrize("name", CRITERIONS)
def test_objects(name):
    """The gradient stays the same object; a criterion is shown, pickled, cloned and converted."""
    criterion, input, target, _ = made(name)
    loss, first = criterion.forward(input, target), criterion.backward(input, target)
    kept = copied(first)
    criterion.forward(input, target)
    assert all(a is b for a, b in zip(tensors_in(criterion.backward(input, target)), tensors_in(first), strict=True))
    assert repr(criterion) == f"nn.{type(criterion).__name__}"
    for copy in (pickle.loads(pickle.dumps(criterion)), criterion.clone(), criterion.float().double()):
        assert copy.forward(input, target) == pytest.approx(loss, rel=1e-6)
        close(copy.backward(input, target), kept, 1e-6)


def test_every_criterion_is_in_the_table():
    named = {name.split(",")[0] for name in CRITERIONS} | {"Criterion"}
    criterions = {name for name in nn.__all__ if issubclass(getattr(nn, name), nn.Criterion)}
    assert criterions == named and len(criterions) == 23


def test_a_target_that_changes():
    """Of a number too: backward is that of the target it is given."""
    criterion, x = nn.MarginRankingCriterion(), [torch.tensor([0.5]), torch.tensor([0.25])]
    criterion.forward(x, 1)
    assert [g.item() for g in criterion.backward(x, 1)] == [-1, 1] and [g.item() for g in criterion.backward(x, -1)] == [1, -1]


def test_simplex():
    criterion = nn.ClassSimplexCriterion(5)
    products = criterion.simplex @ criterion.simplex.t()
    np.testing.assert_allclose(products.numpy(), np.eye(5) * 1.25 - 0.25, atol=1e-6)
    assert criterion.getTopPrediction(criterion.simplex * 3).tolist() == [0, 1, 2, 3, 4]


def test_as_a_module():
    module, table = nn.CriterionTable(nn.MSECriterion()), [torch.tensor([1., 3.]), torch.zeros(2)]
    assert module.forward(table) == module.output == 5.0 and module.backward(table, None)[0].tolist() == [1, 3]


WRONG = {
    "weights": (lambda: nn.ClassNLLCriterion(torch.ones(2, 2)), ValueError), "power": (lambda: nn.MultiMarginCriterion(3), ValueError),
    "target": (lambda: nn.L1Cost().forward(torch.ones(2), torch.ones(2)), ValueError), "sizes": (lambda: nn.BCECriterion().forward(torch.ones(2), torch.ones(3)), RuntimeError),
    "class": (lambda: nn.ClassNLLCriterion().forward(torch.ones(1, 2), torch.tensor([2])), IndexError), "formula": (lambda: nn.Criterion().forward(torch.ones(1), None), NotImplementedError),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name):
    call, kind = WRONG[name]
    with pytest.raises(kind):
        call()
