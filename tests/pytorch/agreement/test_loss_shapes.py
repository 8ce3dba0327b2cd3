"""Losses of inputs, targets and weights whose shapes differ: values, gradients, warnings and refusals are PyTorch's."""
from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import numtorch

pytorch = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")

SHAPES = [(2, 3), (3,), (1, 3), (2, 1), (), (1,), (0, 3), (2,), (4, 2, 3)]
FEW = [(2, 3), (3,), (1,), (), (2, 1)]


def ranking(f, x, y, sign, **k):
    return f.margin_ranking_loss(x, y, (sign - 0.5).sign(), 0.1, **k)


def cosine(f, x, y, sign, **k):
    return f.cosine_embedding_loss(x, y, (sign - 0.5).sign(), 0.1, **k)


PAIRS = {
    **{name: lambda f, x, y, name=name, **k: getattr(f, name)(x, y, **k)
       for name in ("l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "kl_div")},
    **{name: lambda f, x, y, name=name, **k: getattr(f, name)(x, y.detach(), **k)
       for name in ("binary_cross_entropy", "binary_cross_entropy_with_logits", "poisson_nll_loss", "soft_margin_loss",
                    "hinge_embedding_loss", "multilabel_soft_margin_loss")},
}
WEIGHTED = {
    **{name: lambda f, x, y, w, name=name, **k: getattr(f, name)(x, y.detach(), weight=w.detach(), **k)
       for name in ("binary_cross_entropy", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss", "mse_loss")},
    "binary_cross_entropy_with_logits of positives": lambda f, x, y, w, **k: f.binary_cross_entropy_with_logits(x, y.detach(), pos_weight=w.detach(), **k),
}
TRIPLES = {
    "ranking": ranking, "cosine": cosine,
    **{name: lambda f, x, y, z, name=name, **k: getattr(f, name)(x, y, z, **k)
       for name in ("gaussian_nll_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss")},
}
CLASSES = {
    **{name: lambda f, x, y, name=name, **k: getattr(f, name)(x, (y * 0).long(), **k)
       for name in ("multi_margin_loss", "multilabel_margin_loss", "cross_entropy", "nll_loss")},
    "probabilities": lambda f, x, y, **k: f.cross_entropy(x, y, **k),
}
CALLS = [(name, call, shapes) for table, combinations in (
    (PAIRS, itertools.product(SHAPES, SHAPES)),
    (WEIGHTED, [(x, x, w) for x in ((2, 3), (3,), (4, 2, 3)) for w in SHAPES]),
    (TRIPLES, itertools.product(FEW, FEW, FEW)),
    (CLASSES, itertools.product(((2, 3), (3,), (4, 2, 3)), SHAPES)),
) for shapes in combinations for name, call in table.items()]
FOR_ONE = {((3,), (1,))}                                 # scores of one example, its class in a vector: PyTorch has no gradient


def outcome(t, call, shapes, reduction):
    """The loss, its gradients and what was warned of, or the kind of the error."""
    tensors = [t.tensor((np.arange(np.prod(shape)) * 7 + 2 * i).reshape(shape) % 5 / 7 + 1 / 7).requires_grad_()
               for i, shape in enumerate(shapes)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loss = call(t.nn.functional, *tensors, reduction=reduction)
            gradients = t.autograd.grad(loss.sum(), tensors, allow_unused=True)
        except Exception as error:
            return type(error)
    said = sorted(str(w.message)[:60] for w in caught if "target size" in str(w.message))
    return [loss.detach().numpy(), *[g.numpy() for g in gradients if g is not None]], said


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_other_shapes_are_pytorchs(reduction):
    for name, call, shapes in CALLS:
        ours, theirs = (outcome(t, call, shapes, reduction) for t in (numtorch, pytorch))
        if shapes in FOR_ONE and theirs is RuntimeError and isinstance(ours, tuple):
            continue
        if isinstance(theirs, type):
            assert ours is theirs, (name, shapes)
            continue
        assert isinstance(ours, tuple) and ours[1] == theirs[1], (name, shapes, ours)
        for mine, other in zip(ours[0], theirs[0], strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-12, err_msg=f"{name}, {shapes}", strict=True)
