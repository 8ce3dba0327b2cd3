"""Indexing kernels against NumPy, between guard strips, with negative and bad indices."""
import ctypes
import itertools

import numpy as np
import pytest
from fenced import Fenced, fenced_only

from numtorch.kernels import threads
from numtorch.kernels.cpu.index import gather
from numtorch.kernels.cpu.index import mask as masks

DTYPES = ["uint8", "float16", "float32", "int64", "complex128"]


class Guarded:
    """An array between two guard strips that must survive the kernel."""

    def __init__(self, array):
        array = np.ascontiguousarray(array)
        self.raw = np.full(array.nbytes + 512, 0xA5, np.uint8)
        self.array = self.raw[256:256 + array.nbytes].view(array.dtype).reshape(array.shape)
        self.array[...] = array
        self.address = self.raw.ctypes.data + 256

    def check(self):
        assert (self.raw[:256] == 0xA5).all() and (self.raw[-256:] == 0xA5).all()
        return self.array


def steps(a):
    return tuple(s // a.itemsize for s in a.strides)


def run(plan, x, indices, other):
    """Returns x, other and the status after the call."""
    guarded = [Guarded(a) for a in (x, *indices, other, np.zeros(1, np.int64))]
    table = np.array([g.address for g in guarded[2:-2]], np.int64)
    more = table.ctypes.data if table.size else 0
    plan.call(guarded[0].address, guarded[1].address, more, guarded[-2].address, guarded[-1].address, plan.descriptor)
    [g.check() for g in guarded]
    return guarded[0].array, guarded[-2].array, guarded[-1].array[0]


def parts_of(plan):
    """How many parts a launch record has (see threads.py)."""
    return ctypes.c_int64.from_address(plan.descriptor + 2 * 8).value


def along(dim, count, x, other):
    """What `plan_index` and `plan_index_put` are told for `count` indices along a dimension of arrays."""
    rest = [d for d in range(x.ndim) if d != dim]
    return ((count,), [(1,)], (x.shape[dim],), (steps(x)[dim],), [x.shape[d] for d in rest], [steps(x)[d] for d in rest],
            (steps(other)[dim],), [steps(other)[d] for d in rest])


def values(rng, dtype, shape):
    return (rng.normal(size=shape) * 50 + 60).astype(dtype)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def thread_count():
    before = threads.get_num_threads()
    yield threads.set_num_threads
    threads.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 4, 5), (1, 9, 1), (2, 3, 1, 4), (130, 90), (20, 300)])
def test_index_gather_scatter(rng, dtype, shape):
    for dim in range(len(shape)):
        x, n = values(rng, dtype, shape), shape[dim]
        size = x.itemsize
        index = rng.integers(-n, n, 11)
        expected = np.take(x, index, axis=dim)
        plan = gather.plan_index(size, *along(dim, 11, x, expected))
        _, out, status = run(plan, x, [index], np.zeros_like(expected))
        assert status == 0 and (out == expected).all()

        where = rng.integers(0, n, [max(1, s - 1) for s in shape])
        cut = x[tuple(slice(0, s) if d != dim else slice(None) for d, s in enumerate(where.shape))]
        expected = np.take_along_axis(cut, where, dim)
        plan = gather.plan_gather(size, dim, shape, steps(x), where.shape, steps(where), steps(expected))
        _, out, status = run(plan, x, [where], np.zeros_like(expected))
        assert status == 0 and (out == expected).all()

        source, expected = values(rng, dtype, where.shape), x.copy()
        for place in np.ndindex(where.shape):
            expected[(*place[:dim], where[place], *place[dim + 1:])] = source[place]
        plan = gather.plan_scatter(dtype, dim, shape, steps(x), where.shape, steps(where), steps(source))
        written, _, status = run(plan, x, [where], source)
        assert status == 0 and (written == expected).all()


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex128"])
def test_advanced_indexing(rng, dtype):
    x = values(rng, dtype, (5, 6, 7, 8))
    i, j = rng.integers(-5, 5, (3, 1)), rng.integers(-7, 7, (1, 4))
    for rest in ((1, 3), (1,), (3,)):                    # x[i, :, j, :] and its slices at 0
        view = x if rest == (1, 3) else x[:, :, :, 0] if rest == (1,) else x[:, 0]
        expected = np.moveaxis(x, 2, 1)[i, j]
        expected = np.ascontiguousarray({(1, 3): expected, (1,): expected[..., 0], (3,): expected[:, :, 0]}[rest])
        strides = steps(x)
        rest_shape, rest_strides = [x.shape[d] for d in rest], [strides[d] for d in rest]
        arguments = ((3, 4), [(1, 0), (0, 1)], (5, 7), (strides[0], strides[2]), rest_shape, rest_strides,
                     steps(expected)[:2], steps(expected)[2:])
        _, out, status = run(gather.plan_index(x.itemsize, *arguments), x, [i, j], np.zeros_like(expected))
        assert status == 0 and (out == expected).all() and view.size
        new = values(rng, dtype, expected.shape)
        for reduce in (None, "add"):
            wanted = np.moveaxis(x, 2, 1).copy()
            part = wanted if rest == (1, 3) else wanted[..., 0] if rest == (1,) else wanted[:, :, 0]
            for a, b in np.ndindex(3, 4):
                part[i[a, 0], j[0, b]] = new[a, b] + (part[i[a, 0], j[0, b]] if reduce else 0)
            written, _, status = run(gather.plan_index_put(dtype, *arguments, reduce=reduce), x, [i, j], new)
            np.testing.assert_allclose(np.moveaxis(written, 2, 1), wanted, 1e-6)


@pytest.mark.parametrize("dtype, reduce", [("float32", "add"), ("float64", "minimum"), ("int32", "multiply"), ("int32", "maximum"),
                                           ("float32", "maximum"), ("float64", "multiply"), ("int32", "minimum"), ("complex64", "add")])
def test_reductions_with_repeated_indices(rng, dtype, reduce):
    x, index, source = values(rng, dtype, 4), rng.integers(0, 4, 9), (values(rng, dtype, 9) / 40).astype(dtype)
    expected = x.copy()
    getattr(np, reduce).at(expected, index, source)
    plan = gather.plan_scatter(dtype, 0, (4,), (1,), (9,), (1,), (1,), reduce)
    np.testing.assert_allclose(run(plan, x, [index], source)[0], expected, 1e-5)


@pytest.mark.parametrize("reduce", ["multiply", "maximum", "minimum"])
def test_complex_numbers_are_only_added(reduce):
    with pytest.raises(ValueError, match="expected reduce='add'"):
        gather.plan_scatter("complex64", 0, (4,), (1,), (9,), (1,), (1,), reduce)


@pytest.mark.parametrize("index_dtype", ["int64", "int32"])
def test_embedding_and_gradient(rng, index_dtype):
    for rows, width, count in [(10, 1, 5), (10, 7, 0), (50, 33, 700), (1000, 128, 3000)]:
        weight, index = values(rng, "float32", (rows, width)), rng.integers(0, rows, count).astype(index_dtype)
        out = np.zeros((count, width), "float32")
        plan = gather.plan_index(4, *along(0, count, weight, out), index_dtype)
        _, out, status = run(plan, weight, [index], out)
        assert status == 0 and (out == weight[index]).all()
        expected = np.zeros((rows, width))
        np.add.at(expected, index, out.astype(float))
        results = []
        for number in (1, 2, 3):
            before = threads.get_num_threads()
            threads.set_num_threads(number)
            plan = gather.plan_embedding_grad("float32", rows, width, count, index_dtype)
            threads.set_num_threads(before)
            results.append(run(plan, np.zeros((rows, width), "float32"), [index], out)[0])
        np.testing.assert_allclose(results[0], expected, 1e-4, 1e-3)
        assert all((r == results[0]).all() for r in results)


@pytest.mark.parametrize("bad", [5, -6, 2**62, -2**63, 2**63 - 1])
def test_bad_indices_are_reported_and_not_used(rng, bad):
    x = values(rng, "float32", (5, 3))
    index = np.zeros(600, np.int64)
    index[517] = bad
    new = np.ones((600, 3), "float32")
    assert run(gather.plan_index(4, *along(0, 600, x, new)), x, [index], new)[2] == 518
    for reduce in (None, "add"):
        plan = gather.plan_index_put("float32", *along(0, 600, x, new), reduce)
        written, _, status = run(plan, x, [index], new)
        assert status == 518 and (written[1:] == x[1:]).all()
    second = np.zeros(600, np.int64)
    second[3] = bad
    plan = gather.plan_index_put("float32", (600,), [(1,), (1,)], (5, 5), (3, 1), (), (), (1,), ())
    written, _, status = run(plan, x, [np.zeros(600, np.int64), second], np.ones(600, "float32"))
    assert status == 4 and (written.ravel()[1:] == x.ravel()[1:]).all()


@pytest.mark.parametrize("shape, dim", [((70, 90), 0), ((70, 90), 1), ((3, 50, 41), 1), ((17, 3, 130), 1)])
@pytest.mark.parametrize("reduce", [None, "add"])
def test_threads_share_a_write_without_meeting(rng, shape, dim, reduce, thread_count):
    x, wanted = values(rng, "float32", shape), rng.integers(0, min(5, shape[dim]), shape)
    source = rng.normal(size=shape).astype("float32")
    picked, rest = rng.integers(-shape[dim], shape[dim], 300), shape[:dim] + (300,) + shape[dim + 1:]
    slices = rng.normal(size=rest).astype("float32")
    results = []
    for number in (1, 2, 3, 7):
        thread_count(number)
        scatter = gather.plan_scatter("float32", dim, shape, steps(x), shape, steps(wanted), steps(source), reduce)
        write = gather.plan_index_put("float32", *along(dim, 300, x, slices), reduce)
        assert number == 1 or min(parts_of(scatter), parts_of(write)) > 1
        results.append((run(scatter, x, [wanted], source)[0], run(write, x, [picked], slices)[0]))
        bad = wanted.copy()
        bad[-1] = shape[dim]                             # whatever part sees it
        assert run(scatter, x, [bad], source)[2] > 0
        assert run(write, x, [np.append(picked[:-1], shape[dim])], slices)[2] > 0
    for other in results[1:]:
        for expected, found in zip(results[0], other):
            np.testing.assert_array_equal(expected, found)


def test_any_index_into_an_empty_dim_is_bad():
    x, out = np.zeros((0, 3), "float32"), np.zeros((2, 3), "float32")
    assert run(gather.plan_index(4, *along(0, 2, x, out)), x, [np.zeros(2, np.int64)], out)[2] == 1


@pytest.mark.parametrize("share", [0.05, 0.4, 1.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_masks(rng, dtype, share):
    for shape in [(0,), (1,), (37,), (20, 30), (3, 0), (3, 50, 4)]:
        x, mask = values(rng, dtype, shape), rng.random(shape) < share
        count, gx, gm = int(mask.sum()), Guarded(x), Guarded(mask)
        found = Guarded(np.full(1, -1))
        plan = masks.plan_count_nonzero(x.size)
        plan.call(gm.address, found.address, plan.descriptor)
        assert found.check()[0] == count
        places = Guarded(np.zeros((count, len(shape)), np.int64))
        plan = masks.plan_nonzero(shape)
        plan.call(gm.address, places.address, plan.descriptor)
        assert (places.check() == np.argwhere(mask)).all()
        out = Guarded(np.zeros(count, dtype))
        plan = masks.plan_masked_select(x.itemsize, x.size)
        plan.call(gx.address, gm.address, out.address, plan.descriptor)
        assert (out.check() == x[mask]).all()
        source, expected = Guarded(values(rng, dtype, count)), x.copy()
        expected[mask] = source.array
        plan = masks.plan_masked_scatter(x.itemsize, x.size)
        plan.call(gx.address, gm.address, source.address, plan.descriptor)
        assert (gx.check() == expected).all()


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("shape", [(25_001,), (2, 12_001), (1003, 5, 7), (2, 3, 3, 1801), (2, 1, 3, 4, 1501, 1)])
def test_threads_share_the_coordinates_of_a_mask(rng, shape, share, thread_count):
    mask = rng.random(shape) < share
    expected = np.argwhere(mask)
    for number in (1, 2, 3):
        thread_count(number)
        plan = masks.plan_nonzero(shape)
        assert number == 1 or parts_of(plan) > 1
        given, places = Guarded(mask), Guarded(np.zeros_like(expected))
        plan.call(given.address, places.address, plan.descriptor)
        assert (places.check() == expected).all()


@fenced_only
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "complex128"])
def test_rows_of_every_length(dtype):
    """Vectors that move a short row stay in it: the rows are the ends of their memories."""
    size = np.dtype(dtype).itemsize
    for width, at_end in itertools.product([*range(1, 40), 63, 64, 65, 127, 128, 129, 513, 600], (False, True)):
        x = Fenced((np.arange(6 * width) % 251).astype(dtype).reshape(2, 3, width), at_end)
        index, status = np.array([2, 0, 1, 2]), np.zeros(1, np.int64)
        for lead in (1, 2):                              # one list of rows, and two
            out = Fenced(np.zeros((lead, 4, width), dtype), at_end)
            plan = gather.plan_index(size, *along(1, 4, x.array[:lead], out.array))
            plan.call(x.address, index.ctypes.data, 0, out.address, status.ctypes.data, plan.descriptor)
            assert status[0] == 0
            np.testing.assert_array_equal(out.array, x.array[:lead, index])
