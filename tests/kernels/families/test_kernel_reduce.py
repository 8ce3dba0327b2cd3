"""Reduction kernels against NumPy in float64: kinds x dtypes, and for each shapes x axes x layouts."""
import itertools
import math
import threading

import numpy as np
import pytest
from fenced import Fenced, fenced_only

from numtorch.kernels import threads
from numtorch.kernels.cpu.reduce.argreduce import plan_argreduce, plan_extreme_with_index
from numtorch.kernels.cpu.reduce.reduce import _kernels, plan_reduce
from numtorch.kernels.cpu.reduce.traversal import Nest

WORDS = {"float16": np.uint16, "bfloat16": np.uint16, "bool": np.uint8}
TOLERANCE = {"float32": 4e-6, "float64": 1e-13, "float16": 1e-3, "bfloat16": 8e-3, "complex64": 4e-6}
EDGE = 64


def norm_of(exponent):
    def norm(x, axis, **keep):
        x = np.abs(x)
        if exponent == 0:
            return (x != 0).sum(axis, **keep)
        if math.isinf(exponent):
            return (np.max if exponent > 0 else np.min)(x, axis, **keep)
        return (x ** exponent).sum(axis, **keep) ** (1 / exponent)
    return norm


REFERENCE = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "max": np.max, "min": np.min, "any": np.any, "all": np.all,
    "not_all": lambda x, axis, **keep: ~np.all(x, axis, **keep),
    "count_nonzero": np.count_nonzero, "sum_squares": lambda x, axis, **keep: (np.abs(x) ** 2).sum(axis, **keep),
    "var": lambda x, axis, **keep: np.var(x, axis, ddof=1, **keep), "std": lambda x, axis, **keep: np.std(x, axis, ddof=1, **keep),
}
CASES = [
    *[(kind, "float32", "float32", {}) for kind in ("sum", "prod", "mean", "max", "min", "var")], ("std", "float16", "float16", {}),
    *[("norm", "float32", "float32", {"exponent": p}) for p in (0.0, 1.0, 2.0, 3.0, math.inf, -math.inf)],
    ("any", "float32", "bool", {}), ("count_nonzero", "float32", "int64", {}), ("all", "bool", "bool", {}),
    ("not_all", "int64", "bool", {}), ("not_all", "bool", "bool", {}), ("not_all", "uint16", "bool", {}),
    ("sum", "bool", "int64", {}), ("sum", "int8", "int64", {}), ("max", "int32", "int32", {}),
    ("sum", "float64", "float64", {}),
    ("sum", "float16", "float16", {}), ("min", "float16", "float16", {}), ("sum_squares", "bfloat16", "float32", {}),
    ("mean", "bfloat16", "bfloat16", {}), ("sum_squares", "float64", "float64", {}),
    ("var", "float64", "float64", {}), ("sum", "complex64", "complex64", {}), ("prod", "complex64", "complex64", {}),
    ("norm", "complex64", "float32", {"exponent": 2.0}), ("sum", "int32", "float32", {}), ("max", "float64", "float64", {}),
    ("prod", "int64", "int64", {}), ("max", "uint8", "uint8", {}), ("min", "int16", "int16", {}), ("sum", "uint8", "int64", {}),
]
SHAPES = [((), [()]), ((1,), [(0,)]), ((7,), [(0,), ()]), ((4999,), [(0,)]),
          ((3, 5, 7), [(0,), (1,), (2,), (0, 2), (0, 1, 2)]), ((2, 3, 2, 5, 2), [(1, 3), (0, 2, 4)]),
          ((601, 3), [(0,), (1,)]), ((13, 521), [(0,), (1,)]), ((2, 2051), [(1,)]),
          ((5, 6, 50), [(0, 2)]), ((260, 2, 19), [(0, 2)]), ((3, 200), [(1,)]), ((4, 530), [(0,)]),
          ((0, 3), [(1,)]), ((3, 0), [(1,)]), ((70, 5, 3), [(1,), (2,), (0,)]),
          ((1, 600), [(0,)]), ((600, 11), [(1,)]), ((27, 37), [(1,)]), ((9, 64), [(1,)]),
          ((3, 6, 17), [(1,)]), ((2, 67, 100), [(1,)]), ((4, 130, 40), [(1,)])]
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "sliced": lambda x: np.repeat(x, 2, -1)[..., ::2] if x.ndim else x,
    "negative": lambda x: np.ascontiguousarray(x[tuple([slice(None, None, -1)] * x.ndim)])[
        tuple([slice(None, None, -1)] * x.ndim)],
    "expanded": lambda x: np.broadcast_to(x[:1], x.shape) if x.ndim and x.size else x,
}


def words(values, dtype):
    """Values as a kernel stores them."""
    if dtype == "bfloat16":
        return np.asarray(np.asarray(values, np.float32).view(np.uint32) >> 16, np.uint16)
    return np.asarray(values).astype(dtype).view(WORDS.get(dtype, dtype))


def numbers(array, dtype):
    """And back, in double precision."""
    if dtype == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(float)
    array = np.ascontiguousarray(array).view(dtype).reshape(array.shape)
    return array.astype({"f": float, "c": complex, "b": bool}.get(array.dtype.kind, np.int64))


def steps(array):
    return tuple(s // array.itemsize for s in array.strides)


class Output:
    """An output with a guard around it and between its rows that must survive the kernel."""

    def __init__(self, shape, axes, dtype):
        self.dtype, self.kept = dtype, [1 if i in axes else n for i, n in enumerate(shape)]
        word = np.dtype(WORDS.get(dtype, dtype))
        count = math.prod(self.kept)
        self.raw = np.full((2 * count + 2 * EDGE) * word.itemsize, 0xA5, np.uint8).view(word)
        self.clean = self.raw.copy()
        self.view = self.raw[EDGE:EDGE + 2 * count:2].reshape(self.kept)
        self.steps = tuple(0 if i in axes else s for i, s in enumerate(steps(self.view)))
        self.address = self.raw.ctypes.data + EDGE * word.itemsize

    def check(self):
        found = numbers(self.view, self.dtype)
        same = self.raw.view(np.uint8) == self.clean.view(np.uint8)
        written = np.zeros(self.raw.shape, bool)
        written[EDGE:len(self.raw) - EDGE:2] = True
        assert same.reshape(len(self.raw), -1)[~written].all()
        return found


def reduce(kind, x, dtype, axes, out_dtype, **options):
    out = Output(x.shape, axes, out_dtype)
    plan = plan_reduce(kind, dtype, out_dtype, x.shape, steps(x), axes, out.steps, **options)
    plan.call(x.ctypes.data, out.address, plan.descriptor)
    return out.check()


def sample(kind, dtype, shape):
    rng = np.random.default_rng(math.prod(shape) + len(shape))
    x = rng.normal(size=shape) * (10 if "int" in dtype else 1)
    if dtype.startswith("complex"):
        x = x + 1j * rng.normal(size=shape)
    if kind == "prod":
        x = 1 + x / 100
    if kind in ("any", "all", "not_all", "count_nonzero") or dtype == "bool":
        x = rng.random(shape) < {"any": 0.1, "all": 0.9, "not_all": 0.9}.get(kind, 0.5)
    return words(x, dtype)


@pytest.mark.parametrize("kind, dtype, out_dtype, options", CASES, ids=lambda v: str(v))
def test_against_numpy(kind, dtype, out_dtype, options):
    reference = norm_of(options["exponent"]) if kind == "norm" else REFERENCE[kind]
    tolerance = max(TOLERANCE.get(dtype, 0), TOLERANCE.get(out_dtype, 0)) if out_dtype != "int64" else 0
    for (shape, choices), layout in itertools.product(SHAPES, LAYOUTS):
        x = LAYOUTS[layout](sample(kind, dtype, shape))
        exact = numbers(x, dtype)
        for axes in choices:
            count = math.prod(shape[a] for a in axes)
            if count == 0 and (kind in ("max", "min") or math.isinf(options.get("exponent", 0))):
                continue
            with np.errstate(all="ignore"):
                if (count == 0 and kind in ("mean", "var", "std")) or (kind in ("var", "std") and count == 1):
                    expected = np.full([1 if i in axes else n for i, n in enumerate(shape)], np.nan)
                else:
                    expected = reference(exact, axis=axes, keepdims=True)
                found = reduce(kind, x, dtype, axes, out_dtype, **options)
            scale = tolerance * (1 if kind in ("max", "min") else np.abs(exact).sum() / max(1, found.size) + 1)
            relative = tolerance * (1 + count / 1000 if kind == "prod" else 1)       # each factor brings a rounding
            np.testing.assert_allclose(found, expected, relative, scale, err_msg=f"{shape} {axes} {layout}")


@pytest.mark.parametrize("shape, axis", [((9, 5000), 1), ((2000, 40), 0), ((9, 21), 1), ((70, 128), 1), ((9, 300), 1), ((7, 2000), 0)])
def test_nan_and_infinity(shape, axis):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    x[3, 4], x[4, 5] = np.nan, np.inf
    x[4, 6], x[5, 6], x[6, 7] = -np.inf, np.inf, -np.nan
    for kind in ("sum", "max", "min", "mean", "var"):
        with np.errstate(all="ignore"):
            expected = REFERENCE[kind](x.astype(float), axis=axis, keepdims=True)
        np.testing.assert_allclose(reduce(kind, x, "float32", (axis,), "float32"), expected, 1e-4, 1e-4, err_msg=kind)


def test_the_norm_of_one_element_is_its_magnitude():
    x = np.array([[1e30, -2e-30, -np.inf]], np.float32)
    for exponent in (1.0, 2.0, 3.0, -math.inf):
        np.testing.assert_array_equal(reduce("norm", x, "float32", (0,), "float32", exponent=exponent), np.abs(x))
    assert np.isnan(reduce("norm", x * np.float32(np.nan), "float32", (0,), "float32", exponent=2.0)).all()


@fenced_only
@pytest.mark.parametrize("at_end", [False, True])
def test_vectors_of_rows_stay_in_their_memory(at_end):
    for shape, dtype in itertools.product([(30, 3), (9, 15), (70, 7), (8, 37), (9, 512)], ("float32", "float64", "uint8")):
        x = Fenced(words(sample("max", dtype, shape), dtype), at_end)
        found = reduce("max", x.array, dtype, (1,), dtype)
        np.testing.assert_array_equal(found, numbers(x.array, dtype).max(1, keepdims=True), err_msg=f"{shape} {dtype}")
    for shape in [(7, 16), (9, 17), (3, 33), (5, 100)]:
        x = Fenced(words(sample("max", "float32", shape), "float32"), at_end)
        np.testing.assert_array_equal(reduce("max", x.array, "float32", (0,), "float32"), x.array.max(0, keepdims=True))


@pytest.mark.parametrize("alike", [
    [("any", "bool", "bool"), ("any", "int8", "bool"), ("any", "uint8", "uint8")],
    [("count_nonzero", "float16", "int64"), ("count_nonzero", "bfloat16", "int64")],
    [("count_nonzero", "uint8", "int64"), ("count_nonzero", "bool", "int64"), ("sum", "bool", "int64")]], ids=str)
def test_questions_of_words_that_are_alike_are_one_kernel(alike):
    assert len({plan_reduce(*each, (6, 50), (50, 1), (0,), (0, 1)).call for each in alike}) == 1


# how many rows, which vectors reduce abreast, and how far a row is from the next
ROWS = {"short": Nest([(8, 1, 4)], [(4, 1)]), "several short": Nest([(8, 1, 24)], [(6, 4), (4, 1)]),
        "long": Nest([(8, 1, 2000)], [(2000, 1)])}
COLUMNS = {"alone": Nest([(64, 1, 1)], [(1, 64)]), "in registers": Nest([(64, 1, 1)], [(20, 64)]),
           "in a block": Nest([(300, 1, 1)], [(20, 300)]), "many": Nest([(300, 1, 1)], [(2000, 300)])}


@pytest.mark.parametrize("forms, columns_form", [(ROWS, False), (COLUMNS, True)])
def test_each_form_has_a_kernel_and_parts_of_several_forms_the_general_one(forms, columns_form):
    kernels = _kernels("sum", "float32", "float32")
    chosen = {name: kernels("whole", columns_form, [nest.descriptor()]).recipe for name, nest in forms.items()}
    parts = [(recipe[0], recipe[1].get("some_columns")) for recipe in chosen.values()]
    assert len(set(parts)) == len(forms)
    general = kernels("whole", columns_form, [nest.descriptor() for nest in forms.values()]).recipe
    assert (general[0], general[1].get("some_columns")) == parts[-1]


def test_sum_of_ten_million():
    x = np.random.default_rng(0).random(10_000_000, np.float32)
    for shape, axes in (((10_000_000,), (0,)), ((2_500_000, 4), (0,))):
        found = reduce("sum", x.reshape(shape), "float32", axes, "float32")
        np.testing.assert_allclose(found, x.reshape(shape).sum(axes, np.float64, keepdims=True), 1e-6)


def test_variance_far_from_zero():
    x = (np.random.default_rng(0).normal(size=(4000, 100)) + 1e3).astype(np.float32)
    for axes in ((0,), (1,), (0, 1)):
        found = reduce("var", x, "float32", axes, "float32")
        np.testing.assert_allclose(found, x.astype(float).var(axes, ddof=1, keepdims=True), 1e-4)


@pytest.mark.parametrize("dtype, scale", [("float32", 1e19), ("float32", 3e38), ("float64", 1e150)])
def test_variance_of_numbers_whose_sums_do_not_fit(dtype, scale):
    """Neither their sum nor that of the squares need be finite where the variance is, nor that where its root is."""
    for shape, axes in (((3, 100), (1,)), ((50, 70), (0,)), ((2, 40, 70), (1,)), ((5000,), (0,))):
        x = np.random.default_rng(0).uniform(-1, 1, shape) * scale
        for data in (x.astype(dtype), np.full(shape, np.finfo(dtype).max, dtype)):
            with np.errstate(over="ignore"):
                wanted = data.astype(np.longdouble).var(axes, ddof=1, keepdims=True)
                np.testing.assert_allclose(reduce("var", data, dtype, axes, dtype), wanted.astype(dtype), 1e-5, err_msg=f"{shape}")
                if dtype == "float32":                   # what sums are taken in is no wider than float64
                    np.testing.assert_allclose(reduce("std", data, dtype, axes, dtype), np.sqrt(wanted).astype(dtype), 1e-5)


def test_correction():
    x = np.array([1, 2, 4], np.float32)
    np.testing.assert_allclose(reduce("var", x, "float32", (0,), "float32", correction=0), [np.var([1, 2, 4])], 1e-6)
    assert np.isinf(reduce("var", x, "float32", (0,), "float32", correction=3))[0]
    assert np.isnan(reduce("var", x[:1], "float32", (0,), "float32"))[0]


@pytest.fixture
def thread_count():
    before = threads.get_num_threads()
    yield threads.set_num_threads
    threads.set_num_threads(before)


def test_any_thread_count_agrees(thread_count):
    x = np.random.default_rng(0).normal(size=(640, 700)).astype(np.float32)
    views = [(x, (0, 1)), (x, (0,)), (x, (1,)), (x.T, (0, 1)), (x.reshape(-1, 7), (0,)), (x.reshape(7, -1), (1,)),
             (x.reshape(-1, 50), (0,))]
    for (view, axes), kind in itertools.product(views, ("sum", "max", "var", "sum_squares")):
        found = []
        for count in (1, 2, 5):
            thread_count(count)
            found.append(reduce(kind, view, "float32", axes, "float32"))
        np.testing.assert_allclose(found[1], found[0], 1e-5, 1e-3)
        np.testing.assert_allclose(found[2], REFERENCE[kind](view.astype(float), axis=axes, keepdims=True), 1e-5, 1e-3)


@pytest.mark.parametrize("kind, most, one", [("any", 0, 1), ("all", 1, 0), ("not_all", 1, 0)])
def test_one_element_decides_whichever_part_has_it(kind, most, one, thread_count):
    for dtype, shape in itertools.product(("int64", "uint8"), ((400_001,), (3, 150_001), (150_001, 3))):
        x = np.full(shape, most, dtype)
        for count in (1, 2, 5):
            thread_count(count)
            for view in (x, x[::-1], x.T):
                assert reduce(kind, view, dtype, tuple(range(view.ndim)), "bool").item() == (kind == "all")
                for place in (0, x.size // 2, x.size - 1):
                    x.reshape(-1)[place] = one
                    assert reduce(kind, view, dtype, tuple(range(view.ndim)), "bool").item() == (kind != "all")
                    x.reshape(-1)[place] = most


def test_two_python_threads_at_once(thread_count):
    thread_count(2)
    inputs = [np.full(400_000, value, np.float32) for value in (1, 3)]
    wrong = []

    def work(x):
        out = np.zeros(1, np.float32)
        for _ in range(100):
            plan.call(x.ctypes.data, out.ctypes.data, plan.descriptor)
            if out[0] != x[0] * x.size:
                wrong.append(out[0])

    plan = plan_reduce("sum", "float32", "float32", (400_000,), (1,), (0,), (0,))
    workers = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


# ---------------------------------------------------------------- indices
def expected_index(x, axis, largest):
    """NumPy's arg-extremes take the first NaN, too."""
    return (np.argmax if largest else np.argmin)(x, axis=axis, keepdims=True)


# Of few columns a block is 4096 elements; rows of at most 12 are taken 64 at a time; one element is not looked at.
INDEXED = [*[shape for shape, _ in SHAPES], (5003, 3), (2, 4500, 2), (601, 12), (1, 70), (3, 1, 5)]


@pytest.mark.parametrize("kind, dtype", [("argmax", "float32"), ("argmin", "int32")])
def test_index_of_extreme(kind, dtype):
    for shape, layout in itertools.product(INDEXED, LAYOUTS):
        rng = np.random.default_rng(len(shape))
        for spread, nans in ((3, 0), (1000, 0), (3, 0.001), (3, 0.3)):
            x = rng.integers(-spread, spread, shape).astype(float)
            if dtype == "float32":
                x = np.where(rng.random(shape) < nans, np.nan, x)
            x = LAYOUTS[layout](words(x, dtype))
            for axis in (None, *range(x.ndim)):
                axes = tuple(range(x.ndim)) if axis is None else (axis,)
                if 0 in [x.shape[a] for a in axes]:
                    continue
                out = Output(x.shape, axes, "int64")
                plan = plan_argreduce(kind, dtype, x.shape, steps(x), axis, out.steps)
                plan.call(x.ctypes.data, out.address, plan.descriptor)
                expected = expected_index(numbers(x, dtype), axis, kind == "argmax")
                np.testing.assert_array_equal(out.check(), expected, err_msg=f"{shape} {axis} {layout}")


@pytest.mark.parametrize("kind, dtype", [("max", "float16"), ("min", "float64")])
def test_extreme_with_index(kind, dtype):
    rng = np.random.default_rng(0)
    for shape, layout in itertools.product([(5,), (3, 4100), (4100, 3), (5, 7, 9), (300, 900)], LAYOUTS):
        values = np.where(rng.random(shape) < 0.01, np.nan, rng.integers(-50, 50, shape))
        x = LAYOUTS[layout](words(values, dtype))
        exact = numbers(x, dtype)
        for axis in range(x.ndim):
            values, indices = Output(shape, (axis,), dtype), Output(shape, (axis,), "int64")
            plan = plan_extreme_with_index(kind, dtype, shape, steps(x), axis, values.steps)
            plan.call(x.ctypes.data, values.address, indices.address, plan.descriptor)
            expected = expected_index(exact, axis, kind == "max")
            np.testing.assert_array_equal(indices.check(), expected, err_msg=f"{shape} {axis} {layout}")
            np.testing.assert_array_equal(values.check(), np.take_along_axis(exact, expected, axis))
