"""Embeddings, bags of them, and one-hot vectors, against NumPy."""
import numpy as np
import pytest

import numtorch as torch
from numtorch.autograd.gradcheck import gradcheck, gradgradcheck
from numtorch.nn import functional as F

RNG = np.random.default_rng(0)
KEY = torch.tensor([[0, 2, 2], [4, 0, 2]])
TABLE = RNG.normal(size=(5, 3))


def table(**options):
    return torch.tensor(TABLE, **options)


@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}, {"padding_idx": -1}, {"scale_grad_by_freq": True}], ids=str)
def test_embedding(options):
    weight = table(requires_grad=True)
    out = F.embedding(KEY, weight, **options)
    np.testing.assert_array_equal(out.detach().numpy(), TABLE[KEY.numpy()])
    grad = RNG.normal(size=out.shape)
    out.backward(torch.tensor(grad))
    expected = np.zeros_like(TABLE)
    np.add.at(expected, KEY.numpy(), grad)
    if "padding_idx" in options:
        expected[options["padding_idx"]] = 0
    if "scale_grad_by_freq" in options:
        expected /= np.maximum(np.bincount(KEY.numpy().ravel(), minlength=5), 1)[:, None]
    np.testing.assert_allclose(weight.grad.numpy(), expected)
    if "scale_grad_by_freq" not in options and not options:
        assert gradcheck(lambda w: F.embedding(KEY, w), (weight,)) and gradgradcheck(lambda w: F.embedding(KEY, w), (weight,))


def test_max_norm_scales_the_table_in_place():
    weight = table()
    norms = np.linalg.norm(TABLE, axis=1)
    F.embedding(torch.tensor([0, 1]), weight, max_norm=0.5)
    named = np.linalg.norm(weight.numpy(), axis=1)
    np.testing.assert_allclose(named[:2], np.minimum(norms[:2], 0.5), 1e-6)
    np.testing.assert_array_equal(weight.numpy()[2:], TABLE[2:])
    leaf = torch.nn.Embedding(5, 3, max_norm=1.0)
    leaf(KEY).sum().backward()
    assert (leaf.weight.detach()[KEY].norm(2, -1) < 1.0001).all() and leaf.weight.grad.shape == (5, 3)


def bag(rows, mode, factors=None):
    rows = rows if factors is None else rows * factors[:, None]
    if not len(rows):
        return np.zeros(3)
    return rows.sum(0) if mode == "sum" else rows.mean(0) if mode == "mean" else rows.max(0)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode):
    indices, offsets = np.array([1, 2, 4, 0, 3]), np.array([0, 2, 2])
    parts = [indices[:2], indices[2:2], indices[2:]]
    weight = table(requires_grad=True)
    key, starts = torch.tensor(indices), torch.tensor(offsets)
    out = F.embedding_bag(key, weight, starts, mode=mode)
    np.testing.assert_allclose(out.detach().numpy(), [bag(TABLE[p], mode) for p in parts])
    assert gradcheck(lambda w: F.embedding_bag(key, w, starts, mode=mode), (weight,))
    assert gradcheck(lambda w: F.embedding_bag(KEY, w, mode=mode, padding_idx=2), (weight,)) or mode == "max"
    found = F.embedding_bag(KEY, weight, mode=mode, padding_idx=2)
    np.testing.assert_allclose(found.detach().numpy(), [bag(TABLE[r[r != 2]], mode) for r in KEY.numpy()])
    last = F.embedding_bag(key, weight, torch.tensor([0, 2, 5]), mode=mode, include_last_offset=True)
    np.testing.assert_allclose(last.detach().numpy(), [bag(TABLE[indices[:2]], mode), bag(TABLE[indices[2:]], mode)])
    module = torch.nn.EmbeddingBag(5, 3, mode=mode, padding_idx=1)
    assert list(module.state_dict()) == ["weight"] and not module.weight[1].any()
    assert module(KEY).shape == (2, 3) and "mode='" in repr(module)


@pytest.mark.parametrize("key, starts", [(KEY, None), (KEY.reshape(-1), torch.tensor([0, 4]))], ids=["rows", "offsets"])
def test_embedding_bag_in_its_old_order(key, starts):
    with pytest.warns(UserWarning, match="Argument order of nn.functional.embedding_bag was changed"):
        found = F.embedding_bag(table(), key, starts, mode="sum")
    assert torch.equal(found, F.embedding_bag(key, table(), starts, mode="sum"))


def test_embedding_bag_with_weights():
    factors = RNG.normal(size=(2, 3))
    weight, per_sample = table(requires_grad=True), torch.tensor(factors, requires_grad=True)
    out = F.embedding_bag(KEY, weight, mode="sum", per_sample_weights=per_sample)
    np.testing.assert_allclose(out.detach().numpy(), [bag(TABLE[r], "sum", f) for r, f in zip(KEY.numpy(), factors)])
    assert gradcheck(lambda w, p: F.embedding_bag(KEY, w, mode="sum", per_sample_weights=p), (weight, per_sample))


def test_one_hot():
    np.testing.assert_array_equal(F.one_hot(KEY, 6).numpy(), np.eye(6, dtype=np.int64)[KEY.numpy()])
    assert F.one_hot(KEY).shape == (2, 3, 5) and F.one_hot(torch.tensor(2)).tolist() == [0, 0, 1]
    assert F.one_hot(torch.zeros(0, dtype=torch.int64), 3).shape == (0, 3)
    many = np.arange(1001) * 7 % 300                     # in several threads
    np.testing.assert_array_equal(F.one_hot(torch.from_numpy(many), 300).numpy(), np.eye(300, dtype=np.int64)[many])
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        F.one_hot(torch.from_numpy(many), 299)


ERRORS = [
    (lambda: F.embedding(torch.tensor([5]), table()), IndexError, "index out of range in self"),
    (lambda: F.embedding(torch.tensor([0.0]), table()), RuntimeError, "Expected dtype int64"),
    (lambda: F.embedding(KEY, table(), padding_idx=5), AssertionError, "within num_embeddings"),
    (lambda: F.embedding(KEY, table()[0]), RuntimeError, "2-D"),
    (lambda: F.embedding_bag(KEY, table(), torch.tensor([0])), ValueError, "offsets has to be None"),
    (lambda: F.embedding_bag(KEY[0], table()), ValueError, "offsets has to be a 1D Tensor"),
    (lambda: F.embedding_bag(KEY[0], table(), torch.tensor([1])), RuntimeError, "has to be 0"),
    *[(lambda mode=mode, offsets=offsets, options=options: F.embedding_bag(KEY[0], table(), torch.tensor(offsets), mode=mode, **options), RuntimeError, "offsets that do not decrease")
      for mode, offsets, options in (("sum", [0, 3, 1], {}), ("mean", [0, -1, 1], {}), ("max", [0, 2, 1], {}), ("sum", [0, 9, 1], {"padding_idx": 1}))],
    (lambda: F.embedding_bag(KEY, table(), mode="median"), ValueError, "one of sum, mean or max"),
    (lambda: F.embedding_bag(KEY, table(), per_sample_weights=torch.ones(2, 3)), NotImplementedError, "only supported for mode='sum'"),
    (lambda: F.one_hot(KEY, 3), RuntimeError, "smaller than num_classes"),
    (lambda: F.one_hot(KEY - 1), RuntimeError, "non-negative"),
    (lambda: F.one_hot(torch.zeros(0, dtype=torch.int64)), RuntimeError, "empty tensor"),
    (lambda: F.one_hot(torch.ones(2)), RuntimeError, "LongTensor"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, text = ERRORS[number]
    with pytest.raises(kind, match=text):
        call()
