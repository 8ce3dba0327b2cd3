"""Elementary functions: accuracy in ulps, special values, and that loops over them vectorise in their own precision."""
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from numtorch.kernels import vectormath
from numtorch.kernels.binding import DISABLE_JIT
from numtorch.kernels.compiler import compile_kernel, inspect_ir
from numtorch.kernels.intrinsics import fma

needs_compiler = pytest.mark.skipif(DISABLE_JIT, reason="looks at compiled code")
COUNT = 60 if DISABLE_JIT else 20_000
TYPES = ("float32", "float64")
LEAST = {"float32": -149, "float64": -1074}              # log2 of the smallest positive number
MOST = {"float32": 128, "float64": 1024}


def unary(x, out, descriptor):
    for i in range(descriptor[0]):
        out[i] = fn(x[i])


def binary(x, y, out, descriptor):
    for i in range(descriptor[0]):
        out[i] = fn(x[i], y[i])


def fn(*args):
    raise NotImplementedError


BINARY = {"pow", "atan2", "fmod", "remainder", "copysign"}


def source(name, dtype):
    body = binary if name in BINARY else unary
    return body, (dtype + "*",) * (3 if name in BINARY else 2) + ("int64*",), {"fn": vectormath.FUNCTIONS[name]}, dtype


def apply(name, *arrays):
    arrays = [np.ascontiguousarray(a) for a in arrays]
    out, descriptor = np.empty_like(arrays[0]), np.array([arrays[0].size])
    compile_kernel(*source(name, arrays[0].dtype.name)).call(*[a.ctypes.data for a in [*arrays, out, descriptor]])
    return out


# ---------------------------------------------------------------- where: ranges of arguments
def linear(low, high):
    return lambda rng, dtype: rng.uniform(low, high, COUNT).astype(dtype)


def by_type(float32, float64):
    return lambda rng, dtype: linear(*(float32 if dtype == "float32" else float64))(rng, dtype)


def powers(low=None, high=None, signed=True):
    """Magnitudes spread evenly over the exponents, by default all of them, denormals too."""
    def draw(rng, dtype):
        bottom = LEAST[dtype] if low is None else low
        top = MOST[dtype] if high is None else high
        values = np.exp2(rng.uniform(bottom, top - 1e-9, COUNT).astype(np.longdouble)).astype(dtype)
        return np.where(rng.random(COUNT) < 0.5, -values, values) if signed else values
    return draw


positive = powers(signed=False)

# ---------------------------------------------------------------- what: reference, bound in ulps, ranges
ACCURACY = [
    ("exp", np.exp, 2, [by_type((-104, 89), (-746, 710)), linear(-1, 1), powers()]),
    ("exp2", np.exp2, 2, [by_type((-150, 128), (-1075, 1024)), powers()]),
    ("expm1", np.expm1, 2, [by_type((-20, 89), (-40, 710)), linear(-1, 1), powers()]),
    ("log", np.log, 2, [positive, linear(0.5, 2)]),
    ("log2", np.log2, 2, [positive, linear(0.5, 2)]),
    ("log10", np.log10, 2, [positive, linear(0.5, 2)]),
    ("log1p", np.log1p, 2, [positive, linear(-1, 2), powers(None, -1)]),
    ("sinh", np.sinh, 3, [by_type((-90, 90), (-711, 711)), powers(None, 3)]),
    ("cosh", np.cosh, 3, [by_type((-90, 90), (-711, 711)), powers(None, 3)]),
    ("tanh", np.tanh, 2, [linear(-25, 25), powers()]),
    ("asinh", np.arcsinh, 3, [linear(-2, 2), powers()]),
    ("acosh", np.arccosh, 3, [linear(1, 3), powers(0, None, signed=False)]),
    ("atanh", np.arctanh, 3, [linear(-1, 1), powers(None, 0)]),
    ("sin", np.sin, 2, [linear(-4, 4), linear(-1000, 1000), powers()]),
    ("cos", np.cos, 2, [linear(-4, 4), linear(-1000, 1000), powers()]),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), 3, [linear(-20, 20), by_type((-87, 87), (-708, 708)), powers(None, 3)]),
    ("tan", np.tan, 3, [linear(-4, 4), linear(-1000, 1000), powers()]),
    ("asin", np.arcsin, 3, [linear(-1, 1), powers(None, 0)]),
    ("acos", np.arccos, 3, [linear(-1, 1), powers(None, 0)]),
    ("atan", np.arctan, 3, [linear(-3, 3), powers()]),
    ("sqrt", np.sqrt, 0.5, [positive]),
    ("rsqrt", lambda x: 1 / np.sqrt(x), 2, [positive]),
    ("floor", np.floor, 0, [linear(-50, 50), powers()]),
    ("ceil", np.ceil, 0, [linear(-50, 50), powers()]),
    ("trunc", np.trunc, 0, [linear(-50, 50), powers()]),
    ("round", np.rint, 0, [lambda rng, dtype: (rng.integers(-99, 99, COUNT) / 2).astype(dtype), powers()]),
    ("abs", np.abs, 0, [powers()]),
]
BINARY_ACCURACY = [
    ("pow", np.power, 2, [(positive, linear(-1, 1)), (linear(0, 3), linear(-150, 150)),
                          (linear(0.99, 1.01), linear(-70000, 70000))]),
    ("atan2", np.arctan2, 3, [(powers(), powers()), (linear(-1, 1), linear(-1, 1))]),
    ("fmod", np.fmod, 0, [(powers(), powers()), (linear(-100, 100), linear(-3, 3))]),
    ("remainder", np.remainder, 0.5, [(powers(), powers()), (linear(-100, 100), linear(-3, 3))]),
    ("copysign", np.copysign, 0, [(powers(), powers())]),
]


def errors_in_ulps(got, expected):
    """How far got is from a more precise expectation, in units of the last place of the expected value."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(got.dtype)
        error = np.abs(got.astype(np.longdouble) - expected) / np.spacing(np.abs(rounded)).astype(np.longdouble)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return np.where(same & ~np.isfinite(error), 0, np.where(np.isfinite(error), error, np.inf)).astype(float)


def check(name, bound, arguments, expected):
    got = apply(name, *arguments)
    errors = errors_in_ulps(got, expected)
    worst = int(np.argmax(errors))
    point = tuple(a[worst] for a in arguments)
    assert errors[worst] <= bound, f"{name}{point} = {got[worst]!r}, expected {expected[worst]!r}"


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name, reference, bound, ranges", ACCURACY, ids=[row[0] for row in ACCURACY])
def test_accuracy(name, reference, bound, ranges, dtype):
    rng = np.random.default_rng(7)
    for draw in ranges:
        x = draw(rng, dtype)
        with np.errstate(all="ignore"):
            check(name, bound, (x,), reference(x.astype(np.longdouble)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name, reference, bound, ranges", BINARY_ACCURACY, ids=[row[0] for row in BINARY_ACCURACY])
def test_accuracy_of_two_arguments(name, reference, bound, ranges, dtype):
    rng = np.random.default_rng(7)
    for first, second in ranges:
        x, y = first(rng, dtype), second(rng, dtype)
        with np.errstate(all="ignore"):
            check(name, bound, (x, y), reference(x.astype(np.longdouble), y.astype(np.longdouble)))


# the gamma functions have zeros at places that no float hits: near those below 0 the error is judged as if values were 1
SPECIAL = [
    ("erf", "erf", 2, [(-6, 6), (-0.01, 0.01), (3, 3.6)]),
    ("erfc", "erfc", 5, [(-6, 9), (-0.6, 0.6), (3.3, 4), (9, 26.5)]),
    ("erfinv", "erfinv", 4, [(-1, 1), (0.99, 1)]),
    ("lgamma", "loggamma", 4, [(0, 3), (0.999, 1.001), (1.999, 2.001), (3, 12), (12, 1e4), (-12, 0)]),
    ("digamma", "digamma", 5.5, [(0, 3), (1.46, 1.463), (3, 12), (12, 1e4)]),
    ("digamma", "digamma", 6, [(-12, 0)]),
    ("gelu", lambda mpmath, x: x * mpmath.ncdf(x), 3, [(0, 9), (-1, 1), (-9, 0)]),
    ("erfcx", lambda mpmath, x: mpmath.exp(x * x) * mpmath.erfc(x), 4, [(0, 4), (4, 300), (-5, 0)]),
    ("i0", lambda mpmath, x: mpmath.besseli(0, x), 6, [(-9, 9), (10, 88)]),
    ("i0e", lambda mpmath, x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), 5, [(-9, 9), (10, 300)]),
    ("i1", lambda mpmath, x: mpmath.besseli(1, x), 6, [(-9, 9), (10, 88)]),
    ("i1e", lambda mpmath, x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), 5, [(-9, 9), (10, 300)]),
]


# and where the tables in AVX-512's registers reach
TABLED = [
    ("erfc", "erfc", 2, [(-5, 3.3), (3.3, 9), (9, 26.5)]),
    ("erfinv", "erfinv", 2, [(-0.997, 0.997)]),
]
if vectormath.elementary.has_avx512():
    SPECIAL += TABLED


@pytest.mark.skipif(not vectormath.elementary.has_avx512(), reason="exact by the tables in AVX-512's registers")
@pytest.mark.parametrize("dtype, least, most", [("float32", -37, 38), ("float64", -307, 308)])
def test_logarithms_of_powers_of_ten(dtype, least, most):
    powers_of_ten = np.arange(least, most + 1)
    found = apply("log10", np.array([float(f"1e{n}") for n in powers_of_ten], dtype))
    assert np.array_equal(found, powers_of_ten)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name, reference, bound, ranges", SPECIAL, ids=[f"{row[0]}-{row[2]}" for row in SPECIAL])
def test_special_functions(name, reference, bound, ranges, dtype):
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(7)
    function = getattr(mpmath, reference) if isinstance(reference, str) else lambda x: reference(mpmath, x)
    with mpmath.workprec(120):
        for low, high in ranges:
            x = rng.uniform(low, high, 250).astype(dtype)
            x = x[np.abs(x) < 1] if name == "erfinv" else x
            values = [mpmath.re(function(mpmath.mpf(float(v)))) for v in x]
            got = apply(name, x)
            expected = np.array([np.longdouble(mpmath.nstr(v, 25)) for v in values])
            errors = errors_in_ulps(got, expected)
            if high == 0:
                errors = np.minimum(errors, np.abs(got - expected).astype(float) / np.finfo(dtype).eps)
            worst = int(np.argmax(errors))
            assert errors[worst] <= bound, f"{name}({x[worst]!r}) = {got[worst]!r}, expected {expected[worst]!r}"


STEPS = {"abs", "ceil", "floor", "round", "trunc"}
SMOOTH = sorted(set(vectormath.FUNCTIONS) - BINARY - STEPS)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", SMOOTH)
def test_round_numbers_lie_between_their_neighbours(name, dtype):
    """Tables end and forms change at round numbers, which random ones do not hit."""
    x = (np.arange(-COUNT // 2, COUNT // 2 + 1) / (2 if DISABLE_JIT else 256)).astype(dtype)
    x = x[x > 0] if name in ("lgamma", "digamma", "gelu") else x             # poles, or precise only beside 1
    before, after = (np.nextafter(x, np.array(way, dtype)) for way in (-np.inf, np.inf))
    below, at, above = (apply(name, v).astype(np.longdouble) for v in (before, x, after))
    with np.errstate(all="ignore"):
        known = np.isfinite(below) & np.isfinite(above) & (np.abs(above - below) <= 1e-3 * np.abs(above))
        share = ((x - before) / (after - before)).astype(np.longdouble)      # 2/3 at powers of two
        size = np.maximum(np.maximum(np.abs(below), np.abs(above)), np.finfo(dtype).tiny)
        errors = np.abs(at - below - (above - below) * share) / np.spacing(size.astype(dtype))
    wrong = known & ~(errors <= 16)
    assert known.sum() > 20 and not wrong.any(), list(zip(x[wrong], at[wrong], below[wrong]))[:5]


# ---------------------------------------------------------------- special values
VALUES = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1e30, -1e30]


def same(got, expected, ulps):
    exact = (got == expected) & (np.signbit(got) == np.signbit(expected)) | np.isnan(got) & np.isnan(expected)
    with np.errstate(all="ignore"):
        near = np.abs(got - expected) <= ulps * np.spacing(np.abs(expected))
        return exact | np.isfinite(got) & (expected != 0) & near


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name, reference, bound", [row[:3] for row in ACCURACY], ids=[row[0] for row in ACCURACY])
def test_special_values(name, reference, bound, dtype):
    x = np.array(VALUES, dtype)
    with np.errstate(all="ignore"):
        expected = reference(x)
    got = apply(name, x)
    assert same(got, expected, bound + 1).all(), list(zip(x, got, expected))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name, reference, bound", [row[:3] for row in BINARY_ACCURACY])
def test_special_values_of_two_arguments(name, reference, bound, dtype):
    x, y = [a.ravel() for a in np.meshgrid(np.array(VALUES, dtype), np.array(VALUES, dtype))]
    with np.errstate(all="ignore"):
        expected = reference(x, y)
    got = apply(name, x, y)
    wrong = ~same(got, expected, bound + 1)
    assert not wrong.any(), list(zip(x[wrong], y[wrong], got[wrong], expected[wrong]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name, arguments, expected", [
    ("erf", [0.0, -0.0, math.inf, -math.inf, math.nan], [0.0, -0.0, 1.0, -1.0, math.nan]),
    ("erfc", [0.0, math.inf, -math.inf, math.nan], [1.0, 0.0, 2.0, math.nan]),
    ("erfinv", [0.0, -0.0, 1.0, -1.0, 2.0, math.nan], [0.0, -0.0, math.inf, -math.inf, math.nan, math.nan]),
    ("lgamma", [0.0, -1.0, -2.0, 1.0, 2.0, math.inf, -math.inf, math.nan],
     [math.inf, math.inf, math.inf, 0.0, 0.0, math.inf, math.inf, math.nan]),
    ("erfcx", [0.0, -math.inf, math.inf, math.nan], [1.0, math.inf, 0.0, math.nan]),
    ("gelu", [0.0, -0.0, 50.0, -50.0, math.inf, math.nan], [0.0, -0.0, 50.0, -0.0, math.inf, math.nan]),
    ("i0", [0.0, math.inf, -math.inf, math.nan], [1.0, math.inf, math.inf, math.nan]),
    ("i0e", [0.0, math.inf, -math.inf, math.nan], [1.0, 0.0, 0.0, math.nan]),
    ("i1", [0.0, -0.0, math.inf, -math.inf, math.nan], [0.0, -0.0, math.inf, -math.inf, math.nan]),
    ("i1e", [0.0, -0.0, math.inf, -math.inf, math.nan], [0.0, -0.0, 0.0, -0.0, math.nan]),
    ("digamma", [0.0, -0.0, -1.0, -2.0, math.inf, math.nan],
     [-math.inf, math.inf, math.nan, math.nan, math.inf, math.nan]),
])
def test_special_values_of_special_functions(name, arguments, expected, dtype):
    assert same(apply(name, np.array(arguments, dtype)), np.array(expected, dtype), 0).all()


# ---------------------------------------------------------------- the code
@needs_compiler
@pytest.mark.parametrize("name", sorted(vectormath.FUNCTIONS))
def test_float32_code_vectorises_and_stays_in_float32(name):
    text = inspect_ir(*source(name, "float32"))
    kind = "i32" if name == "copysign" else "float"      # which works on bits
    assert re.search(rf"<(4|8|16) x {kind}>", text), "the loop was not vectorised"
    assert "double" not in text


@needs_compiler
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "erf", "pow"])
def test_float64_code_vectorises(name):
    assert re.search(r"<(2|4|8) x double>", inspect_ir(*source(name, "float64")))


def test_scaling_without_the_instruction(monkeypatch):
    """exp where the processor cannot scale by a power: two factors built from bits."""
    from numtorch.kernels.vectormath.elementary import ByPrecision, scale
    monkeypatch.setattr(type(scale), "scalar", ByPrecision.scalar)
    for dtype in TYPES:
        x = by_type((-104, 89), (-746, 710))(np.random.default_rng(1), dtype)
        check("exp", 2, (x,), np.exp(x.astype(np.longdouble)))


def test_refuses_types_without_a_form():
    for compute in ("int32", "bool", "complex64"):
        with pytest.raises(TypeError, match="erf"):
            vectormath.erf.scalar(compute)


NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
INVERSE = list(NUMPY_NAMES)


@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
                                  "tanh", *INVERSE])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex(name, dtype):
    rng = np.random.default_rng(3)
    z = (rng.uniform(-3, 3, 60) + 1j * rng.uniform(-3, 3, 60)).astype(dtype)
    expected = getattr(np, NUMPY_NAMES.get(name, name))(z.astype(complex))
    np.testing.assert_allclose(apply(name, z), expected, rtol=2e-5 if dtype == "complex64" else 1e-13)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["log", *INVERSE])
def test_each_part_of_complex_functions_is_accurate(name, dtype):
    """Beside the branch points too, and at all sizes, where the textbook's formulas lose one part or both."""
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(4)
    count = 20 if DISABLE_JIT else 150
    z = np.concatenate([rng.uniform(-3, 3, count) + 1j * rng.uniform(-3, 3, count),
                        (1 + 1e-4 * rng.standard_normal(count)) * rng.choice([1, -1, 1j, -1j], count) * np.exp(1e-5j),
                        np.exp(rng.uniform(-25, 25, count) + 1j * rng.uniform(-3, 3, count))]).astype(dtype)
    got = apply(name, z)
    with mpmath.workprec(150):
        exact = [getattr(mpmath, name)(mpmath.mpc(complex(v))) for v in z]
        for part in ("real", "imag"):
            expected = np.array([np.longdouble(mpmath.nstr(getattr(v, part), 25)) for v in exact])
            errors = errors_in_ulps(getattr(got, part), expected)
            worst = int(np.argmax(errors))
            assert errors[worst] <= 5, (part, z[worst], got[worst], exact[worst])


SIDES = [complex(x, y) for x in (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 1e300, math.inf, -math.inf, math.nan)
         for y in (0.0, -0.0, 1.0, -1.0, 3.0, 1e300, math.inf, -math.inf, math.nan)]


@pytest.mark.parametrize("name", ["sqrt", "log", "log1p", *INVERSE])
def test_branch_cuts_and_infinities_of_complex_functions(name):
    """The sign of a zero says which side; NumPy follows the C standard's table (annex G), of infinities beside NaN too."""
    z = np.array(SIDES)
    with np.errstate(all="ignore"):
        got, expected = apply(name, z), getattr(np, NUMPY_NAMES.get(name, name))(z)
    for part in ("real", "imag"):
        a, b = getattr(got, part), getattr(expected, part)
        right = same(a, b, 4) & ((np.signbit(a) == np.signbit(b)) | np.isnan(b))
        assert right.all(), list(zip(z[~right], got[~right], expected[~right]))


def test_calls_on_python_numbers():
    assert vectormath.exp(0.0) == 1 and vectormath.pow(2.0, 3.0) == 8 and vectormath.erf(0.0) == 0


def test_a_product_and_a_sum_are_rounded_once():
    """What `fma` is as Python: of what a product's rounding leaves nothing would be there of two roundings."""
    for x, y in np.random.default_rng(7).uniform(-2, 2, (200, 2)):
        assert fma(x, y, -x * y) == float(Fraction(x) * Fraction(y) - Fraction(x * y)) and type(fma(x, y, x)) is np.float64
    huge, inf = np.float64(1e200), np.float64(math.inf)
    assert fma(huge, huge, -inf) == -inf and fma(huge, huge, -huge) == inf and fma(-huge, huge, huge) == -inf
    assert math.isnan(fma(inf, huge, -inf)) and math.copysign(1, fma(-0.0, 1.0, -0.0)) == -1
    assert fma(np.float32(1 + 2 ** -23), np.float32(1 - 2 ** -23), np.float32(-1)) == np.float32(-2 ** -46)


# ---------------------------------------------------------------- forms for AVX-512, and those for other processors
def fast_forms():
    """The functions that have a form of their own for AVX-512."""
    from numtorch.kernels.vectormath.elementary import ByMachine
    return sorted(name for name, f in vectormath.FUNCTIONS.items() if isinstance(f.real, ByMachine))


def arguments_of(name, x):
    """x, and for a function of two arguments something to go with it."""
    return (np.abs(x), np.roll(x, 7)) if name in BINARY else (x,)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", fast_forms())
def test_portable_forms(name, dtype, monkeypatch):
    """What processors without AVX-512 run."""
    from numtorch.kernels.vectormath.elementary import ByMachine, ByPrecision
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-3, 3, 200), np.exp(rng.uniform(-80, 80, 200)), VALUES]).astype(dtype)
    x = arguments_of(name, x)
    here = apply(name, *x)
    monkeypatch.setattr(ByMachine, "scalar", ByPrecision.scalar)
    there = apply(name, *x)
    if name == "gelu":                                       # below 0 it is what two terms of x's size leave
        with np.errstate(invalid="ignore"):
            here, there = [np.where(x[0] < 0, v - x[0], v) for v in (here, there)]
    assert same(there, here, 4).all(), [p for p in zip(*x, there, here) if not same(*p[-2:], 4)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", fast_forms())
def test_avx512_forms_as_python(name, dtype):
    """The forms for AVX-512 over the instructions' Python twins say the same as the function."""
    from numtorch.kernels.binding import Target, bind
    special = vectormath.FUNCTIONS[name].real.avx512.scalar(dtype)
    if special is None:
        return

    class Twins(Target):
        def intrinsic(self, value):
            return value

        def helper(self, function, scalar):
            return function

    body = bind(special.function, {}, dtype, "float", Twins())
    x = arguments_of(name, np.array([0.3, 0.999, 1.0, 1.5, 2.75, 7.0, 100.25, 1e-30, *VALUES], dtype))
    with np.errstate(all="ignore"):
        got = np.array([body(*v) for v in zip(*x)], dtype)
    assert same(got, apply(name, *x), 4).all(), list(zip(*x, got, apply(name, *x)))


@needs_compiler
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", fast_forms())
def test_values_do_not_depend_on_their_place(name, dtype):
    """Vectors of every width and the scalars after them use one instruction."""
    x = arguments_of(name, np.linspace(0.01, 5, 37).astype(dtype))
    whole = apply(name, *x)
    for count in (1, 2, 3, 5, 9, 17, 31):
        assert same(apply(name, *[a[:count] for a in x]), whole[:count], 0).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name, edge", [("erf", 3.4264), ("erfc", 3.390625), ("erfc", 3.9375), ("erfinv", 0.9971)])
def test_values_beyond_the_tables_stand_beside_others(name, edge, dtype):
    """A vector with one lane out of range gives its others what they have without it."""
    inside = np.linspace(-0.9, 0.9, 64).astype(dtype) * dtype_of(edge, dtype)
    mixed = inside.copy()
    mixed[[3, 40, 63]] = np.nextafter(dtype_of(edge, dtype), dtype_of(np.inf, dtype))
    got, alone = apply(name, mixed), apply(name, inside)
    others = np.isin(np.arange(64), [3, 40, 63], invert=True)
    assert (got[others] == alone[others]).all()
    assert same(got[~others], apply(name, np.full(3, mixed[3])), 0).all()


def dtype_of(value, dtype):
    return np.dtype(dtype).type(value)


def test_tangents_keep_their_zeros_and_right_angles():
    for dtype in TYPES:
        x = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -1e-40], dtype)
        assert same(apply("atan", x), np.arctan(x), 0).all()
        assert same(apply("tan", x), np.array([0.0, -0.0, math.nan, math.nan, math.nan, 5e-324, -1e-40], dtype), 0).all()


def test_roots_are_correctly_rounded():
    rng = np.random.default_rng(5)
    mantissas = rng.uniform(0.5, 2, COUNT)
    halfway = np.sqrt(mantissas).astype(np.longdouble) * (1 + np.longdouble(2) ** -54)
    for x in (mantissas, (halfway * halfway).astype(float), np.exp2(rng.uniform(-1074, -900, COUNT))):
        for dtype in TYPES:
            values = x.astype(dtype)
            assert (apply("sqrt", values) == np.sqrt(values)).all()


def test_roots_of_zeros_keep_their_sign_beside_others():
    """Vectors in which some lanes are zeros, and some are none of the fast form's."""
    rng = np.random.default_rng(6)
    for dtype in TYPES:
        tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
        for others in ([0.0, -0.0], [0.0, -0.0, tiny], [0.0, -0.0, huge, math.inf], [-0.0, math.nan], [-0.0, -1.0], [-0.0, -tiny]):
            values = rng.uniform(0.5, 2, 67).astype(dtype)
            values[rng.integers(0, 67, 30)] = rng.choice(np.array(others, dtype), 30)
            with np.errstate(invalid="ignore"):
                expected = np.sqrt(values)
            got = apply("sqrt", values)
            assert same(got, expected, 0).all() and (np.signbit(got) == np.signbit(expected))[values == 0].all()
