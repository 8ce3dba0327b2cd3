"""Joining and rearranging against NumPy: values, dtypes, gradients, errors."""
import itertools

import numpy as np
import pytest

from numtorch import dtypes
from numtorch.autograd.api import grad as gradients
from numtorch.exchange.construction import make as tensor
from numtorch.kernels import threads
from numtorch.ops.creation.fill import ones, zeros
from numtorch.ops.creation.ranges import arange
from numtorch.ops.index import triangles
from numtorch.ops.shape import join


def numbered(*shape):
    return np.arange(1.0, 1 + np.prod(shape)).reshape(shape)


def large(*shape):
    """So much that one kernel copies all tensors, in several threads."""
    return np.random.default_rng(0).normal(size=shape)


LARGE = [large(64, 33), large(1, 33), large(500, 33), large(77, 33)]
A, B, V, C = numbered(2, 3), -numbered(2, 3), numbered(3), numbered(2, 3, 4)
# what ours gives, what NumPy gives, of which arrays
CASES = {
    "cat 0": (lambda a, b: join.cat([a, b]), lambda a, b: np.concatenate([a, b]), (A, B)),
    "cat 1 uneven": (lambda a, b: join.cat((a, b), 1), lambda a, b: np.concatenate([a, b], 1), (A, numbered(2, 5))),
    "cat -1 transposed": (lambda a, b: join.cat((a.T, b.T), dim=-1), lambda a, b: np.concatenate([a.T, b.T], 1), (A, B)),
    "cat one": (lambda a: join.concat([a]), lambda a: a, (A,)),
    "cat same twice": (lambda a: join.cat([a, a], 1), lambda a: np.concatenate([a, a], 1), (A,)),
    "stack 0": (lambda a, b: join.stack([a, b]), lambda a, b: np.stack([a, b]), (A, B)),
    "stack 1": (lambda a, b: join.stack([a, b], 1), lambda a, b: np.stack([a, b], 1), (A, B)),
    "stack -1": (lambda a, b: join.stack([a, b], -1), lambda a, b: np.stack([a, b], -1), (A, B)),
    "stack 0-dim": (lambda a, b: join.stack([a, b]), lambda a, b: np.stack([a, b]), (np.array(1.0), np.array(2.0))),
    "cat 0 large": (lambda *parts: join.cat(parts), lambda *parts: np.concatenate(parts), LARGE),
    "cat 1 large": (lambda *parts: join.cat(parts, 1), lambda *parts: np.concatenate(parts, 1),
                    [large(301, n) for n in (3, 40, 1, 130)]),
    "cat 1 large of parts": (lambda a, b: join.cat([a[:, :50], b[:, 7:]], 1), lambda a, b: np.concatenate([a[:, :50], b[:, 7:]], 1),
                             [large(301, 60), large(301, 130)]),
    "cat large with an empty one": (lambda *parts: join.cat(parts), lambda *parts: np.concatenate(parts),
                                    [large(3000, 5), large(0, 5), large(2000, 5)]),
    "cat large transposed": (lambda a, b: join.cat([a.T, b]), lambda a, b: np.concatenate([a.T, b]), [large(90, 300), large(50, 90)]),
    "stack 0 large": (lambda *parts: join.stack(parts), lambda *parts: np.stack(parts), [large(70, 71)] * 5),
    "stack 1 large": (lambda *parts: join.stack(parts, 1), lambda *parts: np.stack(parts, 1), [large(70, 71)] * 5),
    "stack -1 large": (lambda *parts: join.stack(parts, -1), lambda *parts: np.stack(parts, -1), [large(70, 71)] * 5),
    "hstack": (lambda a, b: join.hstack([a, b]), lambda a, b: np.hstack([a, b]), (A, B)),
    "hstack vectors": (lambda a, b: join.hstack([a, b]), lambda a, b: np.hstack([a, b]), (V, V)),
    "vstack": (lambda a, b: join.vstack([a, b]), lambda a, b: np.vstack([a, b]), (V, A)),
    "dstack": (lambda a, b: join.dstack([a, b]), lambda a, b: np.dstack([a, b]), (A, B)),
    "column_stack": (lambda a, b: join.column_stack([a, b]), lambda a, b: np.column_stack([a, b]), (numbered(2), A)),
    "repeat": (lambda a: a.repeat(2, 3), lambda a: np.tile(a, (2, 3)), (A,)),
    "repeat new": (lambda a: a.repeat(2, 1, 2), lambda a: np.tile(a, (2, 1, 2)), (A,)),
    "repeat 0": (lambda a: a.repeat(0, 1), lambda a: np.tile(a, (0, 1)), (A,)),
    "tile": (lambda a: a.tile(2), lambda a: np.tile(a, 2), (A,)),
    "flip": (lambda a: a.flip(0, 2), lambda a: np.flip(a, (0, 2)), (C,)),
    "flip of long rows, and a dim between": (lambda a: a.flip(1), lambda a: np.flip(a, 1), (large(20, 30, 70),)),
    "flip transposed": (lambda a: a.T.flip([-1]), lambda a: np.flip(a.T, 1), (A,)),
    "fliplr": (lambda a: a.fliplr(), np.fliplr, (A,)),
    "flipud": (lambda a: a.flipud(), np.flipud, (V,)),
    "rot90": (lambda a: a.rot90(), np.rot90, (A,)),
    "rot90 3": (lambda a: a.rot90(3, (1, 2)), lambda a: np.rot90(a, 3, (1, 2)), (C,)),
    "rot90 2": (lambda a: a.rot90(2), lambda a: np.rot90(a, 2), (A,)),
    "roll": (lambda a: a.roll(2, 1), lambda a: np.roll(a, 2, 1), (A,)),
    "roll flat": (lambda a: a.roll(-1), lambda a: np.roll(a, -1), (A,)),
    "roll both": (lambda a: a.roll((1, 7), (0, -1)), lambda a: np.roll(a, (1, 7), (0, -1)), (C,)),
    "repeat_interleave": (lambda a: a.repeat_interleave(2, 1), lambda a: np.repeat(a, 2, 1), (A,)),
    "repeat_interleave flat": (lambda a: a.repeat_interleave(3), lambda a: np.repeat(a, 3), (A,)),
    "repeat_interleave counts": (lambda a: a.repeat_interleave(tensor([2, 0, 1]), 1), lambda a: np.repeat(a, [2, 0, 1], 1), (A,)),
    "tril": (lambda a: a.tril(), np.tril, (C,)),
    "tril 1": (lambda a: a.tril(1), lambda a: np.tril(a, 1), (A,)),
    "triu": (lambda a: a.triu(), np.triu, (A,)),
    "triu -1": (lambda a: a.triu(-1), lambda a: np.triu(a, -1), (C,)),
    "diag vector": (lambda a: a.diag(1), lambda a: np.diag(a, 1), (V,)),
    "diag matrix": (lambda a: a.diag(-1), lambda a: np.diag(a, -1), (A,)),
    "diagflat": (lambda a: a.diagflat(), np.diagflat, (A,)),
    "diag_embed": (lambda a: a.diag_embed(), lambda a: np.stack([np.diag(row) for row in a]), (A,)),
    "diag_embed dims": (lambda a: a.diag_embed(-1, 0, 2), lambda a: np.stack([np.diag(row, -1) for row in a], 1), (A,)),
    "meshgrid": (lambda a, b: join.stack(join.meshgrid(a, b, indexing="ij")),
                 lambda a, b: np.stack(np.meshgrid(a, b, indexing="ij")), (V, numbered(2))),
    "meshgrid xy": (lambda a, b: join.stack(join.meshgrid([a, b], indexing="xy")),
                    lambda a, b: np.stack(np.meshgrid(a, b, indexing="xy")), (V, numbered(2))),
    "cartesian_prod": (lambda a, b: join.cartesian_prod(a, b),
                       lambda a, b: np.array([(i, j) for i in a for j in b]), (V, numbered(2))),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    ours, numpys, arrays = CASES[name]
    inputs = [tensor(a, requires_grad=True) for a in arrays]
    out, expected = ours(*inputs), numpys(*arrays)
    assert out.shape == expected.shape
    np.testing.assert_array_equal(out.detach().numpy(), expected)
    # these are linear: the gradient along weights w satisfies <grad, d> = <w, f(d)> for any direction d
    rng = np.random.default_rng(0)
    weight = rng.normal(size=expected.shape)
    loss = (out * tensor(weight)).sum()
    grads = gradients(loss, inputs, create_graph=True)
    for position, grad in enumerate(grads):
        direction = [np.zeros_like(a) for a in arrays]
        direction[position] = rng.normal(size=arrays[position].shape)
        np.testing.assert_allclose((grad.detach().numpy() * direction[position]).sum(), (weight * numpys(*direction)).sum(), 1e-10)


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives(name):
    """d/dx <f(x) * f(x), w> and its derivative along a direction, which needs the backward's own gradient."""
    ours, numpys, arrays = CASES[name]
    rng = np.random.default_rng(1)
    inputs = [tensor(a, requires_grad=True) for a in arrays]
    out = ours(*inputs)
    weight, directions = rng.normal(size=out.shape), [rng.normal(size=a.shape) for a in arrays]
    grads = gradients((out * out * tensor(weight)).sum(), inputs, create_graph=True)
    total = sum((g * tensor(d)).sum() for g, d in zip(grads, directions))
    seconds = gradients(total, inputs)
    probe = [rng.normal(size=a.shape) for a in arrays]
    found = sum((s.numpy() * p).sum() for s, p in zip(seconds, probe))
    np.testing.assert_allclose(found, 2 * (weight * numpys(*directions) * numpys(*probe)).sum(), 1e-9, 1e-9)


def test_cat_promotes_and_skips_empty_vectors():
    out = join.cat([arange(2), ones(2), tensor([True])])
    assert out.dtype is dtypes.float32 and out.tolist() == [0, 1, 1, 1, 1]
    assert join.cat([zeros(0), ones(2, 3)]).shape == (2, 3)
    assert join.cat([zeros(0), zeros(0)]).shape == (0,)
    half = tensor([1.0], dtype=dtypes.float32, requires_grad=True)
    out = join.cat([half, tensor([2.0], dtype=dtypes.float64)])
    assert out.dtype is dtypes.float64 and gradients(out.sum(), half)[0].dtype is dtypes.float32


@pytest.mark.parametrize("dtype", [dtypes.bool_, dtypes.uint8, dtypes.int64, dtypes.float16, dtypes.bfloat16, dtypes.complex64],
                         ids=lambda d: d.name)
def test_dtypes(dtype):
    x = (arange(6) % 2).to(dtype).reshape(2, 3)
    plain = np.arange(6).reshape(2, 3) % 2
    for ours, numpys in ((lambda t: join.cat([t, t]), lambda a: np.concatenate([a, a])), (lambda t: t.flip(1), np.fliplr),
                         (lambda t: t.roll(1, 0), lambda a: np.roll(a, 1, 0)), (lambda t: t.tril(), np.tril),
                         (lambda t: t.repeat(1, 2), lambda a: np.tile(a, (1, 2)))):
        out = ours(x)
        assert out.dtype is dtype
        np.testing.assert_array_equal(np.array(out.tolist()), numpys(plain))


def test_words_of_every_size():
    array = numbered(3, 7)
    for dtype in ("uint8", "float16", "float32", "int64", "complex128"):
        x = tensor(array.astype(dtype))
        np.testing.assert_array_equal(x.flip(1).numpy(), array[:, ::-1].astype(dtype))
        np.testing.assert_array_equal(x[:, 1:].flip(0, 1).numpy(), array[::-1, :0:-1].astype(dtype))
        np.testing.assert_array_equal(x.tril(-1).numpy(), np.tril(array, -1).astype(dtype))
        np.testing.assert_array_equal(x.triu(2).numpy(), np.triu(array, 2).astype(dtype))


def test_diagonals_filled_and_put_together():
    for shape, wrap in (((3, 5), False), ((5, 3), False), ((9, 3), True), ((3, 3, 3), False)):
        x, array = zeros(*shape), np.zeros(shape)
        np.fill_diagonal(array, 2, wrap)
        assert x.fill_diagonal_(2, wrap) is x and x.tolist() == array.tolist()
    found = triangles.block_diag(tensor([[1.0, 2]]), tensor(3), tensor([4, 5]))
    assert found.tolist() == [[1, 2, 0, 0, 0], [0, 0, 3, 0, 0], [0, 0, 0, 4, 5]]
    x = tensor(numbered(2, 3), requires_grad=True)
    assert x.trace().item() == 6 and gradients(x.trace(), x)[0].tolist() == [[1, 0, 0], [0, 1, 0]]


def test_in_place_triangles_and_their_indices():
    x = tensor(numbered(3, 3))
    assert x.tril_() is x
    np.testing.assert_array_equal(x.numpy(), np.tril(numbered(3, 3)))
    for ours, numpys in ((triangles.tril_indices, np.tril_indices), (triangles.triu_indices, np.triu_indices)):
        for rows, columns, k in itertools.product((0, 1, 3, 5), (0, 1, 4, 5), range(-6, 7)):
            np.testing.assert_array_equal(ours(rows, columns, k).numpy(), np.stack(numpys(rows, k, columns)))
        assert ours(3, 3, dtype=dtypes.int32).dtype is dtypes.int32


def test_atleast():
    x = tensor(numbered(3))
    assert join.atleast_1d(tensor(1.0)).shape == (1,) and join.atleast_2d(x).shape == (1, 3)
    assert [t.shape for t in join.atleast_3d(x, tensor(numbered(2, 3)))] == [(1, 3, 1), (2, 3, 1)]


def test_out():
    out = zeros(4)
    assert join.cat([ones(2), zeros(2)], out=out) is out and out.tolist() == [1, 1, 0, 0]


ERRORS = [
    (lambda: join.cat([]), ValueError, "non-empty list"),
    (lambda: join.cat(ones(2, 2)), TypeError, "must be tuple of Tensors"),
    (lambda: join.cat([1]), TypeError, "expected Tensor as element 0"),
    (lambda: join.cat([ones(2), tensor(1.0)]), RuntimeError, r"zero-dimensional tensor \(at position 1\)"),
    (lambda: join.cat([ones(2, 3), ones(2, 2)]), RuntimeError,
     "must match except in dimension 0. Expected size 3 but got size 2 for tensor number 1"),
    (lambda: join.cat([ones(2, 3), ones(3)]), RuntimeError, "same number of dimensions: got 2 and 1"),
    (lambda: join.cat([ones(2)], 1), IndexError, "Dimension out of range"),
    (lambda: join.stack([]), RuntimeError, "non-empty TensorList"),
    (lambda: join.stack([ones(2), ones(3)]), RuntimeError, r"got \[2\] at entry 0 and \[3\] at entry 1"),
    (lambda: ones(2, 3).repeat(2), RuntimeError, "can not be smaller"),
    (lambda: ones(2).repeat(-1), RuntimeError, "negative dimension"),
    (lambda: ones(2, 3).flip(0, 0), RuntimeError, "appears multiple times"),
    (lambda: ones(2, 3).roll(1, (0, 1)), RuntimeError, "shifts and dimensions must align"),
    (lambda: ones(3).tril(), RuntimeError, "at least 2 dimensions"),
    (lambda: ones(2, 2, 2).diag(), RuntimeError, "Supports 1D or 2D tensors. Got 3D"),
    (lambda: ones(2, 3).repeat_interleave(tensor([1, 2, 3]), 0), RuntimeError, r"repeats.size\(0\) = 3 and input.size\(0\) = 2"),
    (lambda: ones(3).repeat_interleave(-1), RuntimeError, "non-negative"),
    (lambda: join.meshgrid(ones(2), ones(2, 2), indexing="ij"), RuntimeError, "0D or 1D"),
    (lambda: join.meshgrid(ones(2), indexing="yx"), RuntimeError, "indexing must be one of"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, text = ERRORS[number]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("cut", [lambda x: x.unbind(0), lambda x: x.unbind(-1), lambda x: x.split(2, 1), lambda x: x.split([1, 3], 1),
                                 lambda x: x.chunk(2), lambda x: x.chunk(9, 1), tuple])
def test_parts_share_one_gradient(cut):
    x = tensor(numbered(2, 4), requires_grad=True)
    parts = cut(x * 1)
    factors = range(2, 2 + len(parts))
    loss = sum((p * p * f).sum() for p, f in list(zip(parts, factors))[1:])        # the first part is not used
    expected = zeros(2, 4, dtype=dtypes.float64)
    for part, f in list(zip(cut(expected), factors))[1:]:
        part.fill_(f)
    grad, = gradients(loss, x, create_graph=True)
    np.testing.assert_array_equal(grad.detach().numpy(), 2 * expected.numpy() * numbered(2, 4))
    second, = gradients((grad * 3).sum(), x)
    np.testing.assert_array_equal(second.numpy(), 6 * expected.numpy())


def test_writing_to_a_part_reaches_the_whole():
    x = tensor(numbered(2, 4), requires_grad=True)
    y = x * 2
    a, b = y.tensor_split(2)
    a.mul_(5)
    assert gradients(y.sum() + b.sum(), x)[0].tolist() == [[10] * 4, [4] * 4]


@pytest.mark.parametrize("dtype", ["complex128", "complex64", "float16", "uint8"])
def test_large_joins_of_every_size_of_element(dtype):
    a, b = (100 * large(300, n) % 100 for n in (70, 31))
    a, b = a.astype(dtype), b.astype(dtype)
    for dim, parts in ((1, (a, b)), (0, (a, a[:7])), (0, (a[:, 0], b[:, 0]))):
        assert (join.cat([tensor(p) for p in parts], dim).numpy() == np.concatenate(parts, dim)).all()


@pytest.mark.parametrize("count", [2, 3, 8])
def test_joins_of_fewer_rows_than_threads(count):
    before = threads.get_num_threads()
    threads.set_num_threads(count)
    try:
        for shape in ((1, 90_000), (2, 40_000), (2, 300, 20, 20), (5, 30_000)):
            a = large(*shape)
            for dim in range(len(shape)):
                assert (join.cat([tensor(a), tensor(a[::-1].copy())], dim).numpy() == np.concatenate([a, a[::-1]], dim)).all()
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["complex128", "float32", "float16", "uint8"])
def test_rolls_by_rows(dtype):
    for shape in ((8, 64), (300, 70), (9, 700), (20, 3, 33), (2, 5, 40, 7), (2000, 129)):
        a = (100 * large(*shape) % 100).astype(dtype)
        for dim, shift in itertools.product(range(len(shape)), (1, -1, 3, 17, shape[-1] - 1)):
            np.testing.assert_array_equal(tensor(a).roll(shift, dim).numpy(), np.roll(a, shift, dim), f"{shape} {dim} {shift}")


def test_large_join_of_single_columns():
    """Pieces whose rows are one element wide, and steps that are not."""
    a = large(30_000, 3)
    np.testing.assert_array_equal(join.cat([tensor(a)[:, :1], tensor(a)[:, 2:]], 1).numpy(), a[:, [0, 2]])
    np.testing.assert_array_equal(join.stack([tensor(a)[:, 1], tensor(a)[:, 2]]).numpy(), a.T[1:])


def test_the_gradient_of_blocks_may_begin_anywhere_in_memory():
    """One that is a view of a larger tensor was read from where that begins."""
    import numtorch
    x, y, empty = numtorch.ones(1, 2, requires_grad=True), numtorch.ones(2, requires_grad=True), numtorch.ones(1, 0, requires_grad=True)
    both = numtorch.stack([numtorch.block_diag(x, y, empty), numtorch.block_diag(x * 0, y * 0, empty)])
    weights = numtorch.arange(both.numel()).reshape(both.shape).flip(0).to(both.dtype)
    by_x, by_y, by_empty = numtorch.autograd.grad((both * weights).sum(), [x, y, empty])
    assert by_x.tolist() == [[12.0, 13.0]] and by_y.tolist() == [18.0, 19.0] and by_empty.shape == (1, 0)
