"""Ops that PyTorch has under names of its own: masked reductions, copies of views, segments, hashes, norms with their statistics,
windows, and the cross entropy of a linear layer that does not keep its logits."""
from __future__ import annotations

import numpy as np
import pytest

import numtorch as torch
from numtorch import masked
from numtorch.signal import windows

rng = np.random.default_rng(3)
X, MASK = rng.standard_normal((3, 5)), rng.random((3, 5)) < 0.6
MASK[:, 0] = True
KEPT = np.ma.array(X, mask=~MASK)

MASKED = {
    "sum": lambda x, axis: x.sum(axis), "prod": lambda x, axis: x.prod(axis), "amax": lambda x, axis: x.max(axis),
    "amin": lambda x, axis: x.min(axis), "mean": lambda x, axis: x.mean(axis), "argmax": lambda x, axis: x.argmax(axis),
    "argmin": lambda x, axis: x.argmin(axis), "norm": lambda x, axis: np.sqrt((x * x).sum(axis)),
    "logsumexp": lambda x, axis: np.log(np.exp(x).sum(axis)),
}


@pytest.mark.parametrize("name", sorted(MASKED))
def test_masked_reductions(name):
    found = getattr(masked, name)(torch.from_numpy(X), dim=1, mask=torch.from_numpy(MASK))
    np.testing.assert_allclose(found.numpy(), np.asarray(MASKED[name](KEPT, 1)), rtol=1e-12)


def test_masked_variance_and_median():
    x, mask = torch.from_numpy(X), torch.from_numpy(MASK)
    rows = [row[keep] for row, keep in zip(X, MASK)]
    np.testing.assert_allclose(masked.var(x, 1, unbiased=False, mask=mask).numpy(), [r.var() for r in rows])
    np.testing.assert_allclose(masked.std(x, 1, correction=0, mask=mask).numpy(), [r.std() for r in rows])
    np.testing.assert_allclose(masked.median(x, 1, mask=mask).numpy(), [np.sort(r)[(len(r) - 1) // 2] for r in rows])


def test_masked_softmax_and_gradient():
    x, mask = torch.from_numpy(X).requires_grad_(), torch.from_numpy(MASK)
    found = masked.softmax(x, 1, mask=mask)
    e = np.exp(X) * MASK
    np.testing.assert_allclose(found.detach().numpy(), e / e.sum(1, keepdims=True))
    masked.sum(x, mask=mask).backward()
    np.testing.assert_array_equal(x.grad.numpy(), MASK)


def test_masks_that_do_not_fit():
    with pytest.raises(IndexError, match="dimensionality higher"):
        masked.sum(torch.ones(3), mask=torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match="mean"):
        masked.mean(torch.ones(3, dtype=torch.int64))


# ---------------------------------------------------------------- copies of views
COPIES = [("view", ((6,),)), ("permute", ((1, 0),)), ("transpose", (0, 1)), ("t", ()), ("select", (0, 1)), ("diagonal", ()),
          ("unsqueeze", (0,)), ("squeeze", ()), ("expand", ((4, 2, 3),)), ("unfold", (1, 2, 1)), ("as_strided", ((2,), (1,), 1)),
          ("detach", ()), ("slice", (1, 0, 2)), ("alias", ()), ("unbind", (0,)), ("split", (1,)), ("split_with_sizes", ((1, 1),))]


@pytest.mark.parametrize("name, args", COPIES, ids=[c[0] for c in COPIES])
def test_copies_of_views(name, args):
    x = torch.arange(6).reshape(2, 3)
    view = {"slice": lambda x, dim, start, end: x[:, start:end], "alias": lambda x: x}.get(name) or getattr(torch.Tensor, name)
    wanted, found = view(x, *args), getattr(torch, f"{name}_copy")(x, *args)
    together = isinstance(found, torch.Tensor)
    for one, other in [(found, wanted)] if together else zip(found, wanted):
        assert one.tolist() == other.tolist() and one.is_contiguous()
        assert one.memory is not x.memory
    out = torch.empty(0, dtype=x.dtype) if together else tuple(torch.empty(0, dtype=x.dtype) for _ in found)
    getattr(torch, f"{name}_copy")(x, *args, out=out)
    assert (out.tolist() if together else [t.tolist() for t in out]) == (wanted.tolist() if together else [t.tolist() for t in wanted])


def test_a_view_without_elements_may_begin_anywhere():
    assert torch.empty(0).as_strided((0, 5), (10, 2), 7).shape == (0, 5)
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.empty(0).as_strided((1, 5), (10, 2), 7)


# ---------------------------------------------------------------- segments, hashes
SEGMENTS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}


@pytest.mark.parametrize("reduce", sorted(SEGMENTS))
def test_segment_reduce(reduce):
    data = rng.standard_normal((2, 6))
    lengths = torch.tensor([[1, 2, 3], [4, 1, 1]])
    wanted = [[SEGMENTS[reduce](part) for part in np.split(row, np.cumsum(n)[:-1])] for row, n in zip(data, lengths.tolist())]
    x = torch.from_numpy(data).requires_grad_()
    np.testing.assert_allclose(torch.segment_reduce(x, reduce, lengths=lengths, axis=1).detach().numpy(), wanted)
    offsets = torch.tensor([[0, 1, 3, 6], [0, 4, 5, 6]])
    np.testing.assert_allclose(torch.segment_reduce(x, reduce, offsets=offsets, axis=1).detach().numpy(), wanted)
    assert torch.autograd.gradcheck(lambda x: torch.segment_reduce(x, reduce, lengths=lengths, axis=1), (x,))


def test_segments_without_elements_and_lengths_that_do_not_add_up():
    x = torch.tensor([1.0, 2.0])
    assert torch.segment_reduce(x, "max", lengths=torch.tensor([0, 2])).tolist() == [-float("inf"), 2]
    assert torch.segment_reduce(x, "mean", lengths=torch.tensor([0, 2]), initial=3).tolist() == [3, 3]
    assert torch.segment_reduce(x, "sum", lengths=torch.tensor([0, 1]), unsafe=True).tolist() == [0, 1]
    for lengths, message in (([1, 2], "sum to"), ([3, -1], "negative")):
        with pytest.raises(RuntimeError, match=message):
            torch.segment_reduce(x, "sum", lengths=torch.tensor(lengths))


@pytest.mark.parametrize("dim", [(), 0, 1, (0, 1)])
def test_hashes_are_the_exclusive_or_of_words(dim):
    for data, word in ((rng.standard_normal((3, 5)), np.float64), (rng.integers(-9, 9, (3, 5)).astype(np.int16), np.int64)):
        words = data.astype(word).view(np.uint64)
        wanted = np.bitwise_xor.reduce(words, axis=None if dim == () else dim)
        found = torch.hash_tensor(torch.from_numpy(data), dim)
        assert found.dtype is torch.uint64
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_there_is_no_hash_of_nothing():
    for shape, dim, kind in (((0,), 0, IndexError), ((0, 3), (0, 1), IndexError), ((0,), (), RuntimeError)):
        with pytest.raises(kind, match="hash_tensor"):
            torch.hash_tensor(torch.ones(shape), dim)
    assert torch.hash_tensor(torch.ones(0, 3), 1).shape == (0,)


# ---------------------------------------------------------------- norms and windows
def test_norms_with_their_statistics():
    x = torch.from_numpy(rng.standard_normal((2, 4, 3)))
    out, mean, scale = torch.native_layer_norm(x, (3,), None, None, 1e-5)
    np.testing.assert_allclose(((x - mean) * scale).numpy(), out.numpy(), rtol=1e-12)
    out, mean, scale = torch.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)
    np.testing.assert_allclose(((x.reshape(2, 2, 6) - mean[..., None]) * scale[..., None]).reshape(2, 4, 3).numpy(), out.numpy())
    out, mean, scale = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    np.testing.assert_allclose(((x - mean[:, None]) * scale[:, None]).numpy(), out.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", windows.__all__)
def test_windows_are_scipys(name):
    scipy = pytest.importorskip("scipy.signal.windows", reason="SciPy is not installed to compare with")
    options = {"kaiser": {"beta": 9.0}, "general_cosine": {"a": [0.4, 0.3, 0.2]}, "general_hamming": {"alpha": 0.6},
               "gaussian": {"std": 2.5}, "exponential": {"tau": 1.5}}.get(name, {})
    for points in (2, 7, 12):
        for sym in (True, False):
            found = getattr(windows, name)(points, sym=sym, dtype=torch.float64, **options)
            np.testing.assert_allclose(found.numpy(), getattr(scipy, name)(points, sym=sym, **options), atol=1e-12)
    with pytest.raises(ValueError):
        getattr(windows, name)(-1, **options)


def test_empty_permuted():
    assert torch.empty_permuted((2, 3, 4, 5), (0, 2, 3, 1)).is_contiguous(memory_format=torch.channels_last)
    for order in ((0,), (0, 0), (0, 2)):
        with pytest.raises(RuntimeError):
            torch.empty_permuted((2, 3), order)


# ---------------------------------------------------------------- a linear layer and its loss
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_linear_cross_entropy_in_chunks(reduction):
    F = torch.nn.functional
    x, head, bias = [torch.from_numpy(rng.standard_normal(s)).requires_grad_() for s in ((7, 3), (5, 3), (5,))]
    target = torch.tensor([0, 4, 1, -100, 2, 2, 3])
    weight = torch.from_numpy(rng.random(5) + 0.5)
    wanted = F.cross_entropy(F.linear(x, head, bias), target, weight, reduction=reduction)
    grads = torch.autograd.grad(wanted.sum(), (x, head, bias))
    for options in (None, torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2), torch.nn.LinearCrossEntropyOptions()):
        found = F.linear_cross_entropy(x, head, target, linear_bias=bias, weight=weight, reduction=reduction, options=options)
        torch.testing.assert_close(found, wanted)
        for one, other in zip(torch.autograd.grad(found.sum(), (x, head, bias)), grads):
            torch.testing.assert_close(one, other)


def test_chunks_never_hold_all_logits():
    x, head = torch.ones(512, 8, requires_grad=True), torch.ones(4096, 8, requires_grad=True)
    sizes = []

    def keep(saved):
        sizes.append(saved.numel())
        return saved

    options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=32)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved):
        torch.nn.functional.linear_cross_entropy(x, head, torch.zeros(512, dtype=torch.int64), options=options).backward()
    assert x.grad.shape == x.shape and head.grad.shape == head.shape
    assert max(sizes) < 512 * 4096 / 8


# ---------------------------------------------------------------- names of old scripts
def test_old_names_of_lapack_take_and_give_what_they_did():
    a = torch.from_numpy(rng.standard_normal((3, 3))) + 3 * torch.eye(3, dtype=torch.float64)
    tall, b = torch.from_numpy(rng.standard_normal((5, 3))), torch.from_numpy(rng.standard_normal((5, 2)))
    definite = a @ a.T
    close = torch.testing.assert_close
    for solution, factors in (torch.gesv(b[:3], a), torch.solve(b[:3], a), b[:3].gesv(a)):
        close(a @ solution, b[:3])
        assert factors.shape == a.shape
    found = torch.gels(b, tall).solution
    close(found[:3], torch.linalg.lstsq(tall, b).solution)
    close((found[3:] ** 2).sum(0), ((tall @ found[:3] - b) ** 2).sum(0))
    close(torch.lstsq(b[:3], tall.T[:, :5][:3])[0], torch.linalg.lstsq(tall.T, b[:3]).solution)
    values, vectors = torch.symeig(definite, eigenvectors=True)
    close(vectors * values @ vectors.T, definite)
    assert torch.symeig(definite)[1].numel() == 0
    turn = torch.tensor([[0.0, -2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 5.0]], dtype=torch.float64)
    pairs, columns = torch.eig(turn, True)
    for i in range(3):
        if pairs[i, 1] > 0:                              # A (u + iv) = (a + ib) (u + iv)
            u, v = columns[:, i], columns[:, i + 1]
            close(turn @ u, pairs[i, 0] * u - pairs[i, 1] * v)
        elif pairs[i, 1] == 0:
            close(turn @ columns[:, i], pairs[i, 0] * columns[:, i])
    upper = torch.potrf(definite)
    close(upper.T @ upper, definite)
    close(torch.potri(upper) @ definite, torch.eye(3, dtype=torch.float64))
    close(definite @ torch.potrs(b[:3], upper), b[:3])
    close(upper @ torch.trtrs(b[:3], upper)[0], b[:3])
    packed, pivots = torch.btrifact(a[None])
    close(torch.btrisolve(b[None, :3], packed, pivots)[0], torch.linalg.solve(a, b[:3]))
    assert torch.btrifact_with_info(a[None])[2].tolist() == [0] and torch.matrix_rank(definite).item() == 3


def test_functions_of_two_tensors_in_python():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.map2_(torch.tensor([10.0, 20.0]), x, lambda a, b, c: a * b + c).tolist() == [[11, 42], [33, 84]]
    with pytest.raises(RuntimeError, match="map2_"):
        x.map2_(x, x.clone().requires_grad_(), max)


def test_functions_in_python_give_numbers():
    x = torch.ones(2)
    for call in (lambda: x.apply_(str), lambda: x.map_(x, lambda a, b: None), lambda: x.map_(x.double(), max),
                 lambda: x.map2_(x, x.long(), max)):
        with pytest.raises(TypeError, match=r"number|expected torch\.float32"):
            call()
    assert x.tolist() == [1, 1]


def test_new_takes_a_size():
    assert torch.ones(1, dtype=torch.float64).new(size=(2, 3)).shape == (2, 3)
    assert torch.ones(1, dtype=torch.float64).new(2, 3).dtype is torch.float64


def test_correlations_of_complex_numbers():
    x = rng.standard_normal((3, 6)) + 1j * rng.standard_normal((3, 6))
    np.testing.assert_allclose(torch.corrcoef(torch.from_numpy(x)).numpy(), np.corrcoef(x), rtol=1e-10)


# ---------------------------------------------------------------- numbers where a tensor is wanted
REFUSED = [("maximum", ("x", 2)), ("atan2", ("x", 2)), ("logical_or", ("x", 2)), ("gcd", ("i", 2)), ("eq", (2, "x")), ("fmod", (2, "x")),
           ("bitwise_and", (2, 3)), ("pow", (2, 3)), ("float_power", (2, 3)), ("xlogy", (2, 3)), ("rsub", (2, "x")), ("remainder", (2, 3))]


@pytest.mark.parametrize("name, args", REFUSED, ids=[r[0] for r in REFUSED])
def test_numbers_where_a_tensor_is_wanted(name, args):
    given = {"x": torch.ones(3), "i": torch.ones(3, dtype=torch.int64)}
    with pytest.raises(TypeError, match=f"{name}|pow"):
        getattr(torch, name)(*[given.get(a, a) for a in args])
    swapped = [given.get(a, given["x"] if name not in ("bitwise_and", "gcd") else given["i"]) for a in args]
    getattr(torch, name)(*swapped)                       # all tensors
