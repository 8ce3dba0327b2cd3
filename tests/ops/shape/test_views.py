"""Views: the layout algebra against NumPy's strides, shared memory, gradients, interning, messages."""
import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numtorch as torch
from numtorch.autograd.gradcheck import gradcheck, gradgradcheck
from numtorch.layout import Layout, broadcast_shapes, contiguous_strides

QUICK = settings(max_examples=150, deadline=None)
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@st.composite
def arrays(draw, shape=shapes, min_dims=0):
    """A NumPy array of distinct numbers with any strides: permuted, stepped, reversed, broadcast."""
    wanted = draw(shape)
    while len(wanted) < min_dims:
        wanted = (*wanted, 2)
    order = draw(st.permutations(range(len(wanted))))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in wanted]
    stored = [wanted[d] * abs(steps[d]) for d in order]
    base = np.arange(max(1, int(np.prod(stored))), dtype=np.float32)[:int(np.prod(stored))].reshape(stored)
    array = base.transpose(np.argsort(order)) if wanted else base
    array = array[tuple(slice(None, None, s) for s in steps)] if wanted else array
    if wanted and draw(st.integers(0, 4)) == 0:
        d = draw(st.integers(0, len(wanted) - 1))
        if array.shape[d] == 1:
            array = np.lib.stride_tricks.as_strided(array, (*array.shape[:d], 3, *array.shape[d + 1:]),
                                                    (*array.strides[:d], 0, *array.strides[d + 1:]))
    return array


def same(view, wanted, of):
    """The same elements, in the same memory where a view was made."""
    np.testing.assert_array_equal(view.numpy(), wanted)
    assert view.shape == wanted.shape
    if wanted.size:
        assert view.memory is of.memory and view.data_ptr() == wanted.__array_interface__["data"][0]
        assert all(n == 1 or s * 4 == w for n, s, w in zip(wanted.shape, view.stride(), wanted.strides)), (view.stride(),
        wanted.strides)


# ---------------------------------------------------------------- the algebra
@QUICK
@given(arrays(), st.data())
def test_permute_transpose_movedim(array, data):
    x = torch.from_numpy(array)
    dims = data.draw(st.permutations(range(array.ndim)))
    signed = [d - array.ndim if data.draw(st.booleans()) else d for d in dims]
    same(x.permute(*signed), array.transpose(dims), x)
    same(x.permute(signed), array.transpose(dims), x)
    same(x.T if array.ndim <= 2 else x.permute(*reversed(range(array.ndim))), array.T, x)
    if array.ndim:
        a, b = (data.draw(st.integers(-array.ndim, array.ndim - 1)) for _ in range(2))
        same(x.transpose(a, b), array.swapaxes(a, b), x)
        same(torch.swapaxes(x, a, b), array.swapaxes(a, b), x)
        same(x.movedim(a, b), np.moveaxis(array, a, b), x)


@QUICK
@given(arrays(), st.data())
def test_select_narrow_slice(array, data):
    x = torch.from_numpy(array)
    if not array.ndim:
        return
    dim = data.draw(st.integers(-array.ndim, array.ndim - 1))
    extent = array.shape[dim]
    start = data.draw(st.integers(0, extent))
    length = data.draw(st.integers(0, extent - start))
    cut = [slice(None)] * array.ndim
    cut[dim] = slice(start, start + length)
    same(x.narrow(dim, start, length), array[tuple(cut)], x)
    if extent:
        index = data.draw(st.integers(-extent, extent - 1))
        cut[dim] = index
        same(x.select(dim, index), array[(*cut, ...)], x)
        assert [u.tolist() for u in x.unbind(dim)] == [np.take(array, i, dim).tolist() for i in range(extent)]


@QUICK
@given(arrays(), st.data())
def test_squeeze_unsqueeze_expand(array, data):
    x = torch.from_numpy(array)
    same(x.squeeze(), array.squeeze(), x)
    dim = data.draw(st.integers(-array.ndim - 1, array.ndim))
    same(x.unsqueeze(dim), np.expand_dims(array, dim), x)
    lead = tuple(data.draw(st.lists(st.integers(1, 3), max_size=2)))
    wanted = lead + tuple(3 if n == 1 else n for n in array.shape)
    same(x.expand(wanted), np.broadcast_to(array, wanted), x)
    same(x.expand(*lead, *(-1 if n != 1 else 3 for n in array.shape)), np.broadcast_to(array, wanted), x)
    same(x.broadcast_to(wanted), np.broadcast_to(array, wanted), x)


@pytest.mark.parametrize("shape, wanted, strides", [
    ((5,), (1, 1, 5), (5, 5, 1)), ((1, 3), (1, 3), (3, 1)), ((3,), (1, 4, 3), (0, 0, 1)), ((), (1, 1), (1, 1)), ((2, 1), (1, 2, 6), (2, 1, 0)),
])
def test_expand_gives_new_dimensions_of_extent_1_the_strides_of_unsqueeze(shape, wanted, strides):
    assert torch.zeros(shape).expand(wanted).stride() == strides


@QUICK
@given(arrays(), st.data())
def test_reshape_and_view(array, data):
    """`view` where NumPy can reshape without copying, else an error; `reshape` always, with memory of its own then."""
    x = torch.from_numpy(array)
    numbers = list(array.shape)
    merged = []
    while numbers:
        take = data.draw(st.integers(1, len(numbers)))
        merged.append(int(np.prod(numbers[:take])))
        numbers = numbers[take:]
        if data.draw(st.integers(0, 3)) == 0:
            merged.append(1)
    shape = tuple(merged)
    wanted = array.reshape(shape)
    np.testing.assert_array_equal(x.reshape(shape).numpy(), wanted)
    try:
        view = x.view(shape)
    except RuntimeError as error:
        assert "Use .reshape(...) instead" in str(error)
        assert not np.shares_memory(array, wanted)
        return
    assert view.shape == shape and (not array.size or view.data_ptr() == x.data_ptr())
    np.testing.assert_array_equal(view.numpy(), wanted)
    if array.size and -1 not in array.shape:
        same_again = x.reshape(-1, *shape[1:]) if shape else x
        assert same_again.shape == shape or 0 in shape


@QUICK
@given(arrays(min_dims=1), st.data())
def test_unfold_diagonal_split(array, data):
    x = torch.from_numpy(array)
    dim = data.draw(st.integers(0, array.ndim - 1))
    extent = array.shape[dim]
    size, step = data.draw(st.integers(0, extent)), data.draw(st.integers(1, 3))
    if size:
        windows = np.lib.stride_tricks.sliding_window_view(array, size, dim)
        wanted = windows[tuple([slice(None)] * dim + [slice(None, None, step)])]
        same(x.unfold(dim, size, step), wanted, x)
    if array.ndim > 1:
        offset = data.draw(st.integers(-3, 3))
        a, b = data.draw(st.permutations(range(array.ndim)))[:2]
        np.testing.assert_array_equal(x.diagonal(offset, a, b).numpy(), np.diagonal(array, offset, a, b))
    pieces = data.draw(st.integers(1, 5))
    for ours, wanted in ((x.tensor_split(pieces, dim), np.array_split(array, pieces, dim)),
                         (x.split(pieces, dim), [np.take(array, range(s, min(s + pieces, extent)), dim) for s in range(0,
                         max(extent, 1), pieces)])):
        assert len(ours) == len(wanted)
        for o, w in zip(ours, wanted):
            np.testing.assert_array_equal(o.numpy(), w)
            assert o.memory is x.memory
    whole = np.concatenate([c.numpy() for c in x.chunk(pieces, dim)], dim)
    np.testing.assert_array_equal(whole, array)
    sizes = [extent // 2, extent - extent // 2]
    assert [p.shape[dim] for p in x.split(sizes, dim)] == sizes


@QUICK
@given(st.lists(st.integers(0, 3), max_size=3), st.data())
def test_as_strided(shape, data):
    """Any shape, strides (zero, overlapping, negative) and offset that stays inside; an error as soon as one does not."""
    base = np.arange(30, dtype=np.float32)
    x = torch.from_numpy(base)
    strides = [data.draw(st.integers(-4, 6)) for _ in shape]
    offset = data.draw(st.integers(0, 29))
    low = offset + sum(s * (n - 1) for n, s in zip(shape, strides) if s < 0)
    high = offset + sum(s * (n - 1) for n, s in zip(shape, strides) if s > 0)
    if 0 not in shape and not 0 <= low <= high < 30:
        with pytest.raises(RuntimeError, match="out of bounds for storage"):
            x.as_strided(shape, strides, offset)
        return
    view = x.as_strided(shape, strides, offset)
    wanted = np.lib.stride_tricks.as_strided(base[offset:], shape, [s * 4 for s in strides])
    np.testing.assert_array_equal(view.numpy(), wanted)
    if view.numel():
        assert view.storage_offset() == offset and view.stride() == tuple(strides)
    total = (view + 1).numpy() if view.numel() else wanted + 1                   # kernels read what the view says
    np.testing.assert_array_equal(total, wanted + 1)


def test_flatten_unflatten_and_the_like():
    x = torch.arange(24).reshape(2, 3, 4)
    assert x.flatten().shape == (24,) and x.flatten(1).shape == (2, 12) and x.flatten(0, 1).shape == (6, 4) and x.flatten(1, 1) is x
    assert x.unflatten(2, (2, 2)).shape == (2, 3, 2, 2) and x.unflatten(-1, (-1, 1)).shape == (2, 3, 4, 1)
    assert x.ravel().shape == (24,) and torch.tensor(1).flatten().shape == (1,) and x.view_as(torch.empty(6, 4)).shape == (6, 4)
    assert x.reshape_as(torch.empty(4, 6)).shape == (4, 6) and x.expand_as(torch.empty(5, 2, 3, 4)).shape == (5, 2, 3, 4)
    assert x.mT.shape == (2, 4, 3) and torch.ones(2, 3).t().shape == (3, 2) and torch.ones(3).t().shape == (3,)
    assert x.squeeze(0) is not None and torch.ones(1, 2, 1).squeeze(0).shape == (2, 1) and torch.ones(1, 2, 1).squeeze((0,
    2)).shape == (2,)
    assert [c.tolist() for c in torch.arange(5).chunk(3)] == [[0, 1], [2, 3], [4]]
    assert [c.tolist() for c in torch.arange(5).tensor_split((1, 3))] == [[0], [1, 2], [3, 4]]
    assert torch.arange(6).view(2, -1).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_ravel_is_contiguous():
    x = torch.arange(6.0)
    assert x.ravel().data_ptr() == x.data_ptr() == x.view(2, 3).ravel().data_ptr()
    for strided in (x[::2], x.view(2, 3)[:, 1:], x.view(2, 3).t(), x[:1].expand(4)):
        flat = strided.ravel()
        assert flat.is_contiguous() and flat.data_ptr() != strided.data_ptr() and torch.equal(flat, strided.reshape(-1))


def test_view_as_another_dtype():
    x = torch.tensor([1.0, 2.0])
    assert x.view(torch.int32).tolist() == np.array([1, 2], np.float32).view(np.int32).tolist()
    assert x.view(torch.uint8).shape == (8,) and x.view(torch.uint8).view(torch.float32).tolist() == [1.0, 2.0]
    x.view(torch.int32)[0] = 0
    assert x.tolist() == [0.0, 2.0]
    with pytest.raises(RuntimeError, match="divisible"):
        torch.zeros(3, dtype=torch.uint8).view(torch.int32)
    with pytest.raises(RuntimeError, match=r"self.stride\(-1\) must be 1"):
        torch.zeros(4, 4, dtype=torch.uint8).t().view(torch.int32)


def test_views_write_to_their_base():
    x = torch.zeros(3, 4)
    x.t()[0].fill_(1)
    x.view(12)[5:7].add_(2)
    x.diagonal().mul_(10)
    x.unsqueeze(0).select(1, 2).fill_(7)
    assert x.tolist() == [[10, 0, 0, 0], [1, 20, 2, 0], [7, 7, 7, 7]]
    assert x._version == 4 and x.t()._version == 4


# ---------------------------------------------------------------- gradients
VIEWS = {
    "permute": lambda x: x.permute(2, 0, 1), "transpose": lambda x: x.transpose(0, -1), "view": lambda x: x.view(6, 4),
    "reshape copy": lambda x: x.transpose(0, 1).reshape(-1, 2), "flatten": lambda x: x.flatten(1), "expand": lambda x: x[:,
    :1].expand(2, 5, 4),
    "squeeze": lambda x: x[:1].squeeze(), "unsqueeze": lambda x: x.unsqueeze(1), "select": lambda x: x.select(1, -1),
    "narrow": lambda x: x.narrow(2, 1, 2),
    "slice": lambda x: x[:, ::2, 1:], "unfold": lambda x: x.unfold(2, 3, 1), "diagonal": lambda x: x.diagonal(1, 1, 2),
    "as_strided": lambda x: x.as_strided((3, 2, 2), (4, 2, 1), 3), "overlapping": lambda x: x.as_strided((4, 5), (1, 1), 2),
    "split": lambda x: x.split(2, 2)[1], "chunk": lambda x: x.chunk(2, 1)[0], "unbind": lambda x: x.unbind(1)[2],
    "movedim": lambda x: x.movedim(0, 2),
    "t": lambda x: x[0].t(), "broadcast_to": lambda x: x[0, 0].broadcast_to((3, 4)), "view of view": lambda x: x[1].t()[1:].view(3,
    3)[:, 1],
    "contiguous": lambda x: x.transpose(1, 2).contiguous(), "swapaxes": lambda x: x.swapaxes(0, 1),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_gradient_of_each_view(name):
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 3, 4))).requires_grad_()
    gradcheck(lambda x: VIEWS[name](x) * 2, x)
    gradcheck(lambda x: VIEWS[name](x) ** 2, x, fast_mode=True)
    gradgradcheck(lambda x: VIEWS[name](x) ** 3, x, fast_mode=True)
    assert VIEWS[name](x).grad_fn is not None


def test_gradients_through_in_place_writes_to_views():
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 4))).requires_grad_()
    y = torch.from_numpy(np.random.default_rng(1).standard_normal(3)).requires_grad_()

    def write_a_column(x, y):
        base = x * 1
        base.t()[1].mul_(y)
        return base * base

    def write_with_a_strided_operand(x, y):
        """What the tape keeps of the operands is copied into other layouts than the call had."""
        base = x * 1
        base[:, ::2].mul_(base[:, 1::2])
        base[::2, 1].div_(y[::2])
        return base * base

    def write_the_base_after_viewing(x, y):
        base = x * 1
        row = base[0]
        base.mul_(2)
        base[:, 0] = y
        return row.sum() + (base ** 2).sum()

    for function in (write_a_column, write_with_a_strided_operand, write_the_base_after_viewing):
        gradcheck(function, (x, y), fast_mode=True)
        gradgradcheck(function, (x, y), fast_mode=True)


# ---------------------------------------------------------------- interning
def test_equal_layouts_are_one_object_and_die():
    a = Layout.of(torch.float32, (2, 3))
    assert Layout.of(torch.float32, (2, 3), (3, 1)) is a and Layout.of(torch.float64, (2, 3)) is not a
    assert torch.ones(2, 3).layout is torch.zeros(3, 2).t().contiguous().layout
    assert a.with_dtype(torch.int8).with_dtype(torch.float32) is a and a.dense() is a
    key = (torch.float32, (7, 11, 13, 17), (5, 5, 5, 5))
    Layout.of(*key)
    gc.collect()
    assert (*key, a.device, False) in Layout._interned   # the latest are kept
    for extent in range(Layout._recent.maxlen):
        Layout.of(torch.float32, (19, 23, extent))
    gc.collect()
    assert (*key, a.device, False) not in Layout._interned
    import pickle
    assert pickle.loads(pickle.dumps(a)) is a


@pytest.mark.parametrize("shape, strides, contiguous, overlaps, dense", [
    ((2, 3), (3, 1), True, False, True), ((2, 3), (1, 2), False, False, True), ((2, 3), (0, 1), False, True, False),
    ((2, 3), (6, 2), False, False, False), ((2, 3), (-3, 1), False, False, False), ((1, 3), (99, 1), True, False, True),
    ((0, 3), (3, 1), True, False, True), ((), (), True, False, True), ((3, 3), (1, 1), False, True, False), ((4,), (-1,), False,
    False, False),
])
def test_what_a_layout_knows(shape, strides, contiguous, overlaps, dense):
    layout = Layout.of(torch.float32, shape, strides)
    assert (layout.contiguous, layout.overlaps_itself()) == (contiguous, overlaps)
    if 0 not in shape:
        assert layout.non_overlapping_and_dense() == dense
    assert layout.numel == int(np.prod(shape)) and layout.ndim == len(shape)


@QUICK
@given(st.lists(shapes, min_size=1, max_size=3))
def test_broadcast_shapes(given_shapes):
    try:
        wanted = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(RuntimeError, match="must match the size of tensor b"):
            broadcast_shapes(*given_shapes)
        return
    assert broadcast_shapes(*given_shapes) == wanted == torch.broadcast_shapes(*given_shapes)
    assert contiguous_strides(wanted) == torch.empty(wanted).stride()


# ---------------------------------------------------------------- messages
X = torch.zeros(2, 3, 4)


@pytest.mark.parametrize("attempt, error, message", [
    (lambda: X.transpose(0, 3), IndexError, r"Dimension out of range \(expected to be in range of \[-3, 2\], but got 3\)"),
    (lambda: X.permute(0, 1), RuntimeError, "permute: number of dimensions"), (lambda: X.permute(0, 1, 1), RuntimeError,
    "duplicate dims"),
    (lambda: X.view(5, 5), RuntimeError, r"shape '\[5, 5\]' is invalid for input of size 24"),
    (lambda: X.view(-1, -1), RuntimeError, "only one dimension can be inferred"), (lambda: X.reshape(-2, 12), RuntimeError,
    "invalid shape dimension -2"),
    (lambda: X.reshape(5, -1), RuntimeError, "is invalid for input of size 24"), (lambda: torch.zeros(0).view(-1, 0), RuntimeError,
    "ambiguous"),
    (lambda: X.t(), RuntimeError, r"t\(\) expects a tensor with <= 2 dimensions"), (lambda: X.select(0, 2), IndexError,
    "out of bounds|out of range"),
    (lambda: torch.tensor(1).select(0, 0), IndexError, "0-dim tensor"), (lambda: X.narrow(0, 1, 2), RuntimeError,
    "exceeds dimension size"),
    (lambda: X.narrow(0, 3, 0), (IndexError, RuntimeError), "start"), (lambda: X.narrow(0, 0, -1), RuntimeError,
    "length must be non-negative"),
    (lambda: X.expand(3, 3, 4), RuntimeError, "must match the existing size"), (lambda: X.expand(3, 4), RuntimeError,
    "must be greater or equal"),
    (lambda: X.expand(-1, 2, 3, 4), RuntimeError, "isn't allowed in a leading"), (lambda: X.unsqueeze(5), IndexError,
    "Dimension out of range"),
    (lambda: X.unfold(0, 3, 1), RuntimeError, "maximum size for tensor at dimension 0 is 2"), (lambda: X.unfold(0, 1, 0),
    RuntimeError, "step is 0"),
    (lambda: X.diagonal(0, 1, 1), RuntimeError, "diagonal dimensions cannot be identical"), (lambda: X.split(0), RuntimeError,
    "split"),
    (lambda: X.split([1, 2]), RuntimeError, "sum exactly to 2"), (lambda: X.chunk(0), RuntimeError, "greater than 0"),
    (lambda: X.as_strided((2, 2), (1,)), RuntimeError, "mismatch in length"), (lambda: X.as_strided((-1,), (1,)), RuntimeError,
    "negative"),
    (lambda: X.flatten(2, 1), RuntimeError, "start_dim cannot come after end_dim"), (lambda: X.squeeze(3), IndexError,
    "out of range"),
    (lambda: X.view("text"), TypeError, "expected|invalid"), (lambda: X.permute(0.5, 1, 2), TypeError, "expected integers"),
    (lambda: X.transpose("a", 0), TypeError, None),
    (lambda: X.unbind(3), IndexError, "out of range"), (lambda: X.movedim((0, 1), 0), RuntimeError, "movedim"),
    (lambda: X.tensor_split(0), RuntimeError, None), (lambda: X.tensor_split(torch.tensor([[1]])), RuntimeError, "2 dims"),
    (lambda: X.H, RuntimeError, "H is only supported on matrices"), (lambda: X[0, 0].adjoint(), RuntimeError, "Got 1-D tensor"),
    (lambda: X[0, 0].mT, RuntimeError, "mT is only"), (lambda: X[0, 0].mH, RuntimeError, "mH is only supported"),
    (lambda: X.flip(), TypeError, "dims"), (lambda: torch.zeros(2).resize_(2, memory_format=torch.preserve_format), RuntimeError, None),
    (lambda: X.unflatten(2, (3, 3)), RuntimeError, "invalid for input of size|unflatten"), (lambda: X.movedim((0, 0), (0, 1)),
    RuntimeError, None),
    (lambda: X.reshape(10 ** 10, 10 ** 10), RuntimeError, "invalid"), (lambda: X.narrow(0, "a", 1), TypeError, None),
    (lambda: X.select(0, 0.5), TypeError, None),
    (lambda: X.expand("text"), (TypeError, RuntimeError), None), (lambda: X.split("text"), (TypeError, RuntimeError), None),
    (lambda: X.size("a"), TypeError, None),
], ids=lambda v: v if isinstance(v, str) else "")
def test_messages(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


@pytest.mark.parametrize("attempt, message", [
    (lambda: torch.rot90(X, 1, (0, 0)), "rotation dims to be different"), (lambda: torch.hstack([]), "non-empty TensorList"),
    (lambda: torch.repeat_interleave(X, 2, 0, output_size=3), "allocated size"),
    (lambda: torch.meshgrid(torch.ones(2), torch.tensor([1]), indexing="ij"), "same dtype"),
    (lambda: torch.isclose(torch.ones(1), torch.tensor([1])), "did not match"), (lambda: torch.isclose(X, X, rtol=-1), "rtol must be"),
    (lambda: X.masked_select(torch.ones(2, 3, 4, dtype=torch.uint8)), "expected BoolTensor"),
])
def test_refused_as_in_pytorch(attempt, message):
    with pytest.raises(RuntimeError, match=message):
        attempt()


@pytest.mark.parametrize("read, written", [(slice(0, 3), slice(2, 5)), (slice(2, 5), slice(0, 3))])
def test_one_element_in_common_is_noticed(read, written):
    x, wanted = torch.arange(5.0), np.arange(5.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[written].add_(x[read])
    wanted[written] = wanted[read].copy()
    assert x[written].copy_(x[read]).tolist() == wanted[written].tolist()


@pytest.mark.parametrize("arguments, kind", [((0, -1, 1), RuntimeError), ((0, 2, 1), RuntimeError), ((0, 1, 0), RuntimeError), ((1, 1, 1), IndexError), (((0,), 1, 1), TypeError)])
def test_windows_of_a_number(arguments, kind):
    with pytest.raises(kind):
        torch.tensor(1.0).unfold(*arguments)
    assert torch.tensor(1.0).unfold(-1, 0, 1).shape == (0,) and torch.tensor(1.0).unfold(0, 1, 3).tolist() == [1]


def test_nothing_may_be_written_wherever_it_lies():
    """What has no elements overlaps nothing, whatever its strides."""
    nothing = torch.ones(0).expand(2, 0)
    assert nothing.abs_() is nothing and torch.exp(torch.ones(2, 0), out=nothing) is nothing
    assert nothing.index_add_(0, torch.tensor([0]), torch.ones(1, 0)) is nothing


@pytest.mark.parametrize("shape, order, wanted, strides", [
    ((1, 2, 2), (2, 1, 0), (2, 2, -1, 1), (1, 2, 4, 4)),
    ((3, 2, 2), (1, 0, 2), (2, 3, 1, 2), (2, 4, 2, 1)),
    ((3, 4), (1, 0), (1, 4, 3, 1), (4, 1, 4, 4)),
    ((3, 4), (1, 0), (2, 1, 2, 3), (2, 2, 1, 4))])
def test_strides_of_extents_of_one_in_views(shape, order, wanted, strides, torch):
    """Which other calls order their results by."""
    x = torch.arange(12)[:torch.zeros(shape).numel()].reshape(shape).permute(order)
    assert x.view(wanted).stride() == strides and x.view(wanted).tolist() == x.reshape(-1).reshape(wanted).tolist()
