"""`x[...]`, read and written, and the functions that take index tensors and masks, against NumPy."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numtorch import dtypes
from numtorch.autograd.api import grad as gradients
from numtorch.exchange.construction import make as tensor
from numtorch.ops.creation.fill import ones, zeros
from numtorch.ops.creation.ranges import arange
from numtorch.ops.nn import embedding
from numtorch.tensor import Tensor

QUICK = settings(max_examples=250, deadline=None)


def two_stage(array, items):
    """PyTorch's reading of an index, in NumPy: ints, slices, None and `...` first, index arrays and masks after them.

    Returns the view that the basic part makes, and the index of that view.
    """
    used = sum(i.ndim if isinstance(i, np.ndarray) and i.dtype == bool else 1 for i in items
               if i is not None and i is not Ellipsis and not isinstance(i, bool))
    basic, advanced = [], []
    for item in items:
        if isinstance(item, bool):
            basic.append(None)
            advanced.append(np.zeros(1 if item else 0, int))
        elif isinstance(item, np.ndarray):
            basic += [slice(None)] * (item.ndim if item.dtype == bool else 1)
            advanced.append(item)
        else:
            basic.append(item)
            if item is Ellipsis:
                advanced += [slice(None)] * (array.ndim - used)
            elif item is None or isinstance(item, slice):
                advanced.append(slice(None))
    if not any(b is Ellipsis for b in basic):
        basic.append(Ellipsis)                           # so that all ints still make a view
    return array[tuple(basic)], tuple(advanced)


@st.composite
def masks(draw, shape):
    size = int(np.prod(shape))
    return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool).reshape(shape)


@st.composite
def indices(draw, n, shape):
    size = int(np.prod(shape))
    return np.array(draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size)), np.int64).reshape(shape or (1,))


@st.composite
def cases(draw):
    """A shape and an index that fits it, advanced parts as arrays."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    items, dim, ellipsis = [], 0, False
    together = draw(st.sampled_from([(), (1,), (3,), (2, 3), (2, 1)]))
    while dim < len(shape) and draw(st.integers(0, 5)):
        n = shape[dim]
        kind = draw(st.sampled_from(["int", "slice", "none", "ellipsis", "index", "index", "mask", "bool"]))
        if kind == "none":
            items.append(None)
        elif kind == "ellipsis":
            if not ellipsis:
                items.append(Ellipsis)
                skipped = draw(st.integers(0, len(shape) - dim))
                rest = shape[dim + skipped:]
                for n in rest:
                    kind = draw(st.sampled_from(["int", "slice", "index", "mask"])) if n else "slice"
                    items.append(draw(st.integers(-n, n - 1)) if kind == "int" else slice(None, None, 2) if kind == "slice"
                                 else draw(masks((n,))) if kind == "mask" else draw(indices(n, together)))
                return shape, items
        elif kind == "bool":
            items.append(draw(st.booleans()) if together in ((), (1,)) else True)
        elif kind == "slice":
            bound = st.none() | st.integers(-6, 6)
            items.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, 3]))))
            dim += 1
        elif kind == "mask":
            wide = draw(st.integers(1, min(2, len(shape) - dim)))
            items.append(draw(masks(shape[dim:dim + wide])))
            dim += wide
        elif n:
            if kind == "int":
                items.append(draw(st.integers(-n, n - 1)))
            else:
                items.append(draw(indices(n, together)))
            dim += 1
        else:
            items.append(slice(None))
            dim += 1
    return shape, items


def ours(items):
    made = [tensor(i) if isinstance(i, np.ndarray) else i for i in items]
    return made[0] if len(made) == 1 else tuple(made)


def numbered(shape):
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)


@QUICK
@given(cases(), st.booleans())
def test_reading_agrees_with_numpy(case, transposed):
    shape, items = case
    array = numbered(shape[::-1]).T if transposed else numbered(shape)
    x = tensor(numbered(shape[::-1])).T if transposed else tensor(array)
    view, advanced = two_stage(array, items)
    try:
        expected = view[advanced]
    except IndexError:
        with pytest.raises(IndexError, match="shape mismatch"):
            x[ours(items)]
        return
    found = x[ours(items)]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.numpy(), expected)


@QUICK
@given(cases(), st.sampled_from(["number", "whole", "broadcast", "transposed"]))
def test_writing_agrees_with_numpy(case, how):
    shape, items = case
    array = numbered(shape)
    x = tensor(array)
    view, advanced = two_stage(array, items)
    try:
        wanted = view[advanced].shape
    except IndexError:
        return
    if any(isinstance(i, np.ndarray) and i.dtype != bool for i in items):
        value = np.full(wanted, -3, np.float32)          # which of two writes to one place stays is not defined
    else:
        value = -numbered(wanted)
    if how == "broadcast" and wanted:
        value = value[:1]
    source = tensor(value)
    if how == "transposed":
        source = tensor(value.T.copy()).permute(*reversed(range(value.ndim)))
    if how == "number":
        source = value = -5.0
    x[ours(items)] = source
    view[advanced] = value
    np.testing.assert_array_equal(x.numpy(), array)


@QUICK
@given(cases())
def test_gradients_of_reading_and_writing(case):
    shape, items = case
    array = numbered(shape).astype(np.float64)
    view, advanced = two_stage(array, items)
    try:
        part = view[advanced]
    except IndexError:
        return
    x = tensor(array, requires_grad=True)
    weight = tensor(-numbered(part.shape).astype(np.float64))
    found, = gradients((x[ours(items)] * weight).sum(), x)
    expected = np.zeros_like(array)
    view, advanced = two_stage(expected, items)
    np.add.at(view, advanced, weight.numpy())
    np.testing.assert_array_equal(found.numpy(), expected)

    value = tensor(2.0, dtype=dtypes.float64, requires_grad=True)
    y = x * 3
    y[ours(items)] = value
    by_x, by_value = gradients(y.sum(), (x, value))
    expected = np.full_like(array, 3)
    view, advanced = two_stage(expected, items)
    view[advanced] = 0
    np.testing.assert_array_equal(by_x.numpy(), expected)
    assert by_value.item() == part.size


def test_views_share_memory_and_copies_do_not():
    x = zeros(3, 4)
    for part in (x[0], x[1:], x[..., 1], x[None], x[()], x[tensor(1)], x[:, 1:3][1]):
        assert part.memory is x.memory
    for part in (x[[0]], x[x == 0], x[True], x[tensor([0])]):
        assert part.memory is not x.memory
    x[1:][0][2] = 5
    assert x.tolist()[1] == [0, 0, 5, 0]


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if d.name not in ("uint16", "uint32", "uint64")], ids=lambda d: d.name)
def test_every_dtype(dtype):
    x = arange(12).to(dtype).reshape(3, 4)
    as_float = dtypes.complex128 if dtype.is_complex else dtypes.float64
    wide = np.array(x.to(as_float).tolist())
    for key in (1, slice(1, 3), (slice(None), 2), [2, 0], ([0, 2], [1, 1])):
        assert x[key].dtype is dtype
        np.testing.assert_array_equal(np.array(x[key].to(as_float).tolist()), wide[key])
        y = x.clone()
        y[key] = 1
        expected = wide.copy()
        expected[key] = 1
        np.testing.assert_array_equal(np.array(y.to(as_float).tolist()), expected)
    mask = np.arange(12).reshape(3, 4) % 3 == 0
    np.testing.assert_array_equal(np.array(x[tensor(mask)].to(as_float).tolist()), wide[mask])


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_other_index_dtypes(dtype):
    key = tensor([1, 0, 1]).to(dtypes.dtype.by_name[dtype])
    expected = np.arange(6)[np.array([1, 0, 1, 0, 0, 0], bool)] if dtype != "int32" else np.array([1, 0, 1])
    assert arange(3)[key].tolist() == (expected.tolist() if dtype == "int32" else [0, 2])


x345 = (3, 4, 5)
ERRORS = [
    (lambda x: x[{0}], IndexError, r"got set"), (lambda x: x[0, {}], IndexError, "got dict"),
    (lambda x: x[3], IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
    (lambda x: x[-4], IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
    (lambda x: x[0, 4], IndexError, "index 4 is out of bounds for dimension 1 with size 4"),
    (lambda x: x[0, 0, 0, 0], IndexError, "too many indices for tensor of dimension 3"),
    (lambda x: x[0, 0, 0][0], IndexError, "invalid index of a 0-dim tensor"),
    (lambda x: x[0, 0, 0][:], IndexError, r"slice\(\) cannot be applied to a 0-dim tensor"),
    (lambda x: x[1.5], IndexError, "only integers, slices"),
    (lambda x: x[tensor([1.0])], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (lambda x: x[tensor([True, False])], IndexError,
     r"The shape of the mask \[2\] at index 0 does not match the shape of the indexed tensor \[3, 4, 5\] at index 0"),
    (lambda x: x[:, tensor([True])], IndexError,
     r"The shape of the mask \[1\] at index 0 does not match the shape of the indexed tensor \[3, 4, 5\] at index 1"),
    (lambda x: x[[3]], IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
    (lambda x: x[:, :, [0, -6]], IndexError, "index -6 is out of bounds for dimension 2 with size 5"),
    (lambda x: x[[0], [9]], IndexError, "index 9 is out of bounds for dimension 1 with size 4"),
    (lambda x: x[[0, 1], [0, 1, 2]], IndexError, r"could not be broadcast together with shapes \[2\], \[3\]"),
    (lambda x: x[::-1], ValueError, "step must be greater than zero"),
    (lambda x: x[::0], ValueError, "slice step cannot be zero"),
    (lambda x: x["a":], TypeError, "slice indices must be integers"),
    (lambda x: x.__setitem__(0, [1.0]), TypeError, "can't assign a list to a torch.FloatTensor"),
    (lambda x: x.__setitem__(0, ones(5, 4)), RuntimeError, "must match the existing size"),
    (lambda x: x.__setitem__([0, 1], ones(3)), RuntimeError,
     r"value tensor of shape \[3\] cannot be broadcast to indexing result of shape \[2, 4, 5\]"),
    (lambda x: x.__setitem__(x > -1, ones(7)), RuntimeError,
     r"value tensor of shape \[7\] cannot be broadcast to indexing result of shape \[60\]"),
    (lambda x: x.__setitem__([0, 3], 1), IndexError, "index 3 is out of bounds"),
    (lambda x: x.__setitem__([0], arange(5)), RuntimeError, "source and destination dtypes match"),
    (lambda x: x.__delitem__(0), TypeError, "does not support deleting items"),
    (lambda x: iter(x[0, 0, 0]), TypeError, "iteration over a 0-d tensor"),
    (lambda x: "a" in x, RuntimeError, "only supports Tensor or scalar"),
    (lambda x: x.gather(0, tensor([0])), RuntimeError, "same number of dimensions"),
    (lambda x: x.gather(0, zeros(1, 9, 1, dtype=dtypes.int64)), RuntimeError, "Size does not match at dimension 1"),
    (lambda x: x.gather(0, zeros(1, 1, 1)), RuntimeError, "Expected dtype int64"),
    (lambda x: x.index_select(3, tensor([0])), IndexError, "Dimension out of range"),
    (lambda x: x.index_select(0, tensor([[0]])), IndexError, "supposed to be a vector"),
    (lambda x: x.index_select(1, tensor([4])), IndexError, "index out of range in self .index_select: expected 0 <= index < 4 for dimension 1, got 4"),
    (lambda x: x.scatter_(0, zeros(1, 1, 1, dtype=dtypes.int64) + 3, 1.0), RuntimeError, "index 3 is out of bounds"),
    (lambda x: x.scatter_(0, zeros(2, 2, 2, dtype=dtypes.int64), ones(1, 1, 1)), RuntimeError, "no larger than src"),
    (lambda x: x.masked_scatter_(x == x, ones(3)), RuntimeError, "Number of elements of source"),
    (lambda x: embedding.embedding(ones(3, 2), tensor([3])), IndexError, "index out of range in self"),
    (lambda x: x.expand(2, 3, 4, 5).index_put_((tensor([0]),), tensor(1.0)), RuntimeError, "single memory location"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, text = ERRORS[number]
    x = tensor(numbered(x345))
    with pytest.raises(kind, match=text):
        call(x)
    np.testing.assert_array_equal(x.numpy(), numbered(x345))     # nothing was written


def test_in_place_operators_through_an_index():
    x = tensor(numbered((3, 4)))
    expected = numbered((3, 4))
    x[[0, 2]] += 10
    x[1] *= 2
    x[:, 1:3] -= 1
    x[x > 20] = -1
    expected[[0, 2]] += 10
    expected[1] *= 2
    expected[:, 1:3] -= 1
    expected[expected > 20] = -1
    np.testing.assert_array_equal(x.numpy(), expected)


def test_assigning_from_itself():
    x = arange(6)
    x[tensor([0, 1, 2, 3, 4])] = x[1:]
    assert x.tolist() == [1, 2, 3, 4, 5, 5]
    x = arange(6)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    x = tensor([2, 0, 1])
    x[x] = x
    assert x.tolist() == [0, 1, 2]


def test_index_put_accumulates():
    x = zeros(3, 2, dtype=dtypes.float64)
    key, value = tensor([0, 2, 0, 0]), tensor(numbered((4, 2)).astype(np.float64), requires_grad=True)
    expected = np.zeros((3, 2))
    np.add.at(expected, key.numpy(), value.detach().numpy())
    out = x.index_put((key,), value, accumulate=True)
    np.testing.assert_array_equal(out.detach().numpy(), expected)
    by_value, = gradients((out * out).sum(), value)
    np.testing.assert_array_equal(by_value.numpy(), 2 * expected[key.numpy()])
    assert x.sum().item() == 0


def test_second_derivatives():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    for pick in (lambda v: v[[0, 2, 2]], lambda v: v[v > 1.5], lambda v: v[1:], lambda v: v.gather(0, tensor([2, 2, 1])),
                 lambda v: embedding.embedding(v[:, None], tensor([1, 1])), lambda v: v.index_add(0, tensor([1]), v[:1])):
        first, = gradients((pick(x) ** 3).sum(), x, create_graph=True)
        second, = gradients((first * tensor([1.0, 10.0, 100.0])).sum(), x)
        step = 1e-2
        numeric = []
        for i in range(3):
            sides = []
            for sign in (step, -step):
                moved = tensor([1.0, 2.0, 3.0])
                moved[i] += sign
                moved.requires_grad_()
                got, = gradients((pick(moved) ** 3).sum(), moved)
                sides.append((got.numpy() * [1, 10, 100]).sum())
            numeric.append((sides[0] - sides[1]) / (2 * step))
        np.testing.assert_allclose(second.numpy(), numeric, rtol=2e-2)


def test_history_of_writes():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x[[0]] = 1.0
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x[0] = 1.0
    y = x * 1
    z = y * y
    y[[0]] = 5.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    y = x * 2
    part = y[1:]
    y[tensor([False, True, False])] = x[0] * 7
    by_x, = gradients(part.sum() + y[0], x)
    assert by_x.tolist() == [9, 0, 2]


def test_sequences():
    x = tensor(numbered((3, 2)))
    assert [row.tolist() for row in x] == x.tolist()
    assert [row.tolist() for row in reversed(x)] == x.tolist()[::-1]
    assert 3 in x and 7.0 not in x and x[0, 0] in x
    a, b, c = x
    assert b.tolist() == [3, 4]


# ---------------------------------------------------------------- functions that take an index tensor
@pytest.mark.parametrize("shape, dim", [((5,), 0), ((4, 5), 1), ((4, 5), 0), ((2, 3, 4), 1), ((2, 3, 4), -1)])
def test_gather_and_scatter(shape, dim):
    rng = np.random.default_rng(0)
    array = rng.normal(size=shape)
    places = rng.integers(0, shape[dim], shape)
    x, key = tensor(array, requires_grad=True), tensor(places)
    np.testing.assert_array_equal(x.gather(dim, key).detach().numpy(), np.take_along_axis(array, places, dim))
    np.testing.assert_array_equal(x.take_along_dim(key, dim).detach().numpy(), np.take_along_axis(array, places, dim))
    weight = rng.normal(size=shape)
    grid = list(np.indices(shape))
    grid[dim] = places
    expected = np.zeros(shape)
    np.add.at(expected, tuple(grid), weight)
    found, = gradients((x.gather(dim, key) * tensor(weight)).sum(), x)
    np.testing.assert_allclose(found.numpy(), expected)

    start, source = rng.normal(size=shape), rng.normal(size=shape)
    for how, ufunc in {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}.items():
        expected = start.copy()
        ufunc.at(expected, tuple(grid), source)
        np.testing.assert_allclose(tensor(start).scatter_reduce(dim, key, tensor(source), how).numpy(), expected)
        initial = {"sum": 0, "prod": 1, "amax": -np.inf, "amin": np.inf}[how]
        expected = start.copy()
        expected[tuple(grid)] = initial
        ufunc.at(expected, tuple(grid), source)
        found = tensor(start).scatter_reduce(dim, key, tensor(source), how, include_self=False)
        np.testing.assert_allclose(found.numpy(), expected)
    total, count = start.copy(), np.ones(shape)
    np.add.at(total, tuple(grid), source)
    np.add.at(count, tuple(grid), 1)
    np.testing.assert_allclose(tensor(start).scatter_reduce(dim, key, tensor(source), "mean").numpy(), total / count)

    a, b = tensor(start, requires_grad=True), tensor(source, requires_grad=True)
    order = np.argsort(rng.normal(size=shape), dim)      # a permutation: no two writes meet
    out = a.scatter(dim, tensor(order), b)
    expected = start.copy()
    np.put_along_axis(expected, order, source, dim)
    np.testing.assert_array_equal(out.detach().numpy(), expected)
    by_a, by_b = gradients((out * tensor(weight)).sum(), (a, b))
    assert (by_a.numpy() == 0).all()
    np.testing.assert_array_equal(by_b.numpy(), np.take_along_axis(weight, order, dim))


def test_scatter_with_a_smaller_index():
    a, b = zeros(3, 4, requires_grad=True), ones(3, 4, requires_grad=True)
    out = a.scatter_add(0, tensor([[0, 1]]), b)
    assert out.detach().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    by_a, by_b = gradients(out.sum(), (a, b))
    assert by_a.tolist() == np.ones((3, 4)).tolist() and by_b.tolist() == [[1, 1, 0, 0], [0] * 4, [0] * 4]
    assert zeros(2, 2).scatter_(1, tensor([[1], [0]]), 3.0).tolist() == [[0, 3], [3, 0]]
    assert (ones(4) * 2).scatter_(0, tensor([1, 1]), tensor([3.0, 4.0]), reduce="multiply").tolist() == [2, 24, 2, 2]


def test_along_a_dimension():
    array, key = numbered((3, 4)), tensor([2, 0])
    x = tensor(array)
    np.testing.assert_array_equal(x.index_select(1, key).numpy(), array[:, [2, 0]])
    np.testing.assert_array_equal(x.take(tensor([[5, 0]])).numpy(), [[6, 1]])
    source = -numbered((3, 2))
    expected = array.copy()
    expected[:, [2, 0]] = source
    np.testing.assert_array_equal(x.index_copy(1, key, tensor(source)).numpy(), expected)
    expected = array.copy()
    expected[:, [2, 0]] += 2 * source
    np.testing.assert_array_equal(x.index_add(1, key, tensor(source), alpha=2).numpy(), expected)
    expected = array.copy()
    expected[[2, 0]] = 7
    np.testing.assert_array_equal(x.index_fill(0, key, 7).numpy(), expected)
    assert tensor(3.0).index_select(0, tensor([0])).shape == ()
    np.testing.assert_array_equal(x.numpy(), array)


def test_what_fills_counts_once_for_each_place():
    """PyTorch counts -2 of 3 again, which is 1."""
    for dim, wanted in ((0, 33.0), (1, 27.0)):
        value = tensor(5.0, requires_grad=True)
        filled = zeros(3, 3).index_fill(dim, tensor([1, -2, 2, 1]), value)
        (filled * arange(9.0).reshape(3, 3)).sum().backward()
        assert value.grad.item() == wanted


def test_embedding_with_padding():
    weight = tensor(numbered((4, 3)), requires_grad=True)
    key = tensor([[1, 2], [2, 0]])
    out = embedding.embedding(weight, key, padding_idx=0)
    np.testing.assert_array_equal(out.detach().numpy(), numbered((4, 3))[key.numpy()])
    assert gradients(out.sum(), weight)[0].tolist() == [[0] * 3, [1] * 3, [2] * 3, [0] * 3]
    assert gradients(embedding.embedding(weight, key, -1, True).sum(), weight)[0].tolist() == [[1] * 3, [1] * 3, [1] * 3, [0] * 3]


def test_masks():
    array = numbered((3, 4))
    mask = array % 3 == 0
    x = tensor(array, requires_grad=True)
    np.testing.assert_array_equal(x.masked_select(tensor(mask)).detach().numpy(), array[mask])
    np.testing.assert_array_equal(x.masked_select(tensor(mask[0])).detach().numpy(), array[:, mask[0]].ravel())
    np.testing.assert_array_equal(tensor(mask).nonzero().numpy(), np.argwhere(mask))
    for found, expected in zip(x.nonzero(as_tuple=True), np.nonzero(array)):
        np.testing.assert_array_equal(found.numpy(), expected)
    assert tensor(5.0).nonzero().shape == (1, 0) and tensor(0).nonzero(as_tuple=True)[0].tolist() == []
    odd = tensor([float("nan"), -0.0, 1e-45]), tensor([256, 0, 2**40]), tensor([1j, 0, 1])
    assert [v.nonzero()[:, 0].tolist() for v in odd] == [[0, 2], [0, 2], [0, 2]]
    source = tensor(-numbered((6,)), requires_grad=True)
    out = (x * 1).masked_scatter(tensor(mask), source)
    expected = array.copy()
    expected[mask] = -numbered((mask.sum(),))
    np.testing.assert_array_equal(out.detach().numpy(), expected)
    by_x, by_source = gradients((out * out).sum(), (x, source))
    np.testing.assert_array_equal(by_x.numpy(), np.where(mask, 0, 2 * array))
    np.testing.assert_array_equal(by_source.numpy(), [-2, -4, -6, -8, 0, 0])
    across = tensor(array).T
    across[tensor(mask).T] = tensor([9.0, 8.0, 7.0, 6.0])
    expected = array.copy().T
    expected[mask.T] = [9, 8, 7, 6]
    np.testing.assert_array_equal(across.numpy(), expected)


def test_numpy_numbers_and_arrays_as_indices():
    x = arange(6).reshape(2, 3)
    for key, same in ((np.int64(1), 1), (np.array(1), 1), (np.bool_(True), True), (np.array(False), False),
                      (np.array([1, 0]), [1, 0]), (np.array([True, False]), [True, False]),
                      (range(2), [0, 1]), ((0, np.array([2])), (0, [2]))):
        assert x[key].tolist() == x[same].tolist() and x[key].shape == x[same].shape
    assert type(x[tensor([0])]) is Tensor


def test_a_number_takes_the_one_element_that_is_copied_to_it():
    assert tensor(0.0).index_copy_(0, tensor([0]), tensor([1.0])).item() == 1
    with pytest.raises((IndexError, RuntimeError)):
        tensor(0.0).index_copy_(0, tensor([0]), tensor([1.0, 1.0]))
