"""Every elementwise record against its row of `optable`: values, dtypes, layouts, in place, `out=`, gradients.

All ops are tried contiguous in both precisions and in one dtype of every other kind; what depends on the op's shape only
(strides, broadcasting, aliasing, numbers as operands) is tried on one op of each arity, since each combination is a kernel.
"""
import importlib
import itertools
import math
import pkgutil

import numpy as np
import pytest
from optable import ROWS, Row, samples

import numtorch as torch
from numtorch import ops
from numtorch.autograd.gradcheck import gradcheck, gradgradcheck
from numtorch.dtypes import dtype as dtype_of
from numtorch.ops.core.operands import result_dtype
from numtorch.ops.core.primitive import registry
from numtorch.ops.pointwise.pointwise import PointwiseOp

for module in pkgutil.walk_packages(ops.__path__, "numtorch.ops."):
    importlib.import_module(module.name)                 # every record, whichever of them `import numtorch` needs

OPS = {name: op for name, op in registry.items() if isinstance(op, PointwiseOp) and op.module.startswith("numtorch.")}
FLOAT_OPS = sorted(n for n, row in ROWS.items() if "f" in row.kinds)
SMOOTH = sorted(n for n, row in ROWS.items() if "f" in row.kinds and row.gradient and n in OPS and OPS[n].differentiable)


def call(name, arrays, **options):
    return OPS[name].function(*[torch.from_numpy(a) for a in arrays], **ROWS[name].numbers, **options)


def expected(name, arrays):
    """The row's reference, computed in float64 where that loses nothing."""
    wide = {"f": np.float64, "b": np.float64, "i": np.float64, "u": np.float64, "c": np.complex128}
    op, row = OPS[name], ROWS[name]
    if op.kind == "float" or any(a.dtype.kind in "fc" for a in arrays):
        arrays = [a if p in op.bool_operands else a.astype(wide[a.dtype.kind]) for p, a in zip(op.operands, arrays)]
    with np.errstate(all="ignore"):
        return np.asarray(row.reference(*arrays, **row.numbers))


def close(found, wanted, tolerance):
    """Within `tolerance` units of the last place of the found dtype; integers and bools exactly."""
    array = found.float().numpy() if found.dtype is torch.bfloat16 else found.numpy()
    assert array.shape == wanted.shape
    if array.dtype.kind not in "fc":
        np.testing.assert_array_equal(array, wanted.astype(array.dtype))
        return
    eps = tolerance * torch.finfo(found.dtype).eps
    np.testing.assert_allclose(array.astype(wanted.dtype), wanted, rtol=eps, atol=eps)


def test_every_record_has_a_row():
    assert set(OPS) == set(ROWS)


# ---------------------------------------------------------------- values and dtypes
@pytest.mark.parametrize("name", FLOAT_OPS)
def test_floats(name):
    for dtype in ("float32", "float64"):
        arrays = samples(ROWS[name], dtype, (3, 5))
        close(call(name, arrays), expected(name, arrays), ROWS[name].tolerance)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_other_kinds(name):
    """One dtype of each kind the op takes; for every other kind, PyTorch's exception."""
    # What differs from float32 in how words are read and written only is tried in turns: the half types, and whatever an op that
    # computes in floating point takes besides.
    turn = sorted(ROWS).index(name)
    half = ("float16", "bfloat16")[turn // 4 % 2]
    for kind, dtype in {"b": "bool", "i": "int32", "u": "uint8", "f": half, "c": "complex128"}.items():
        if kind in ROWS[name].kinds and kind in ("f" if OPS[name].kind != "float" else "biuf") and "biuf"[turn % 4] != kind:
            continue
        arrays = samples(ROWS[name], "float32" if dtype == "bfloat16" else dtype, (9,))
        given = [torch.from_numpy(a) for a in arrays]
        if dtype == "bfloat16":
            given = [t.bfloat16() if t.is_floating_point() else t for t in given]
            arrays = [t.float().numpy() if t.dtype is torch.bfloat16 else t.numpy() for t in given]
        if kind not in ROWS[name].kinds:
            if kind not in ROWS[name].untried:
                with pytest.raises((RuntimeError, NotImplementedError), match=f'not implemented|not supported|not intended|{name}'):
                    OPS[name].function(*given, **ROWS[name].numbers)
            continue
        found = OPS[name].function(*given, **ROWS[name].numbers)
        if OPS[name].kind in ("comparison", "logical"):
            assert found.dtype is torch.bool
        elif kind in "fc" or OPS[name].kind in ("arithmetic", "bitwise"):
            wanted = dtype_of.by_name[dtype]
            assert found.dtype is (wanted.to_real() if OPS[name].kind == "real" else wanted)
        elif OPS[name].kind == "power":
            assert found.dtype is (torch.int64 if dtype == "bool" else dtype_of.by_name[dtype])
        elif OPS[name].kind == "float":
            assert found.dtype is torch.float32
        close(found, expected(name, arrays), ROWS[name].tolerance)


SPECIAL = [-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan]


@pytest.mark.parametrize("name", ["abs", "sign", "sqrt", "exp", "log", "tanh", "relu", "signbit", "isnan", "isinf", "isfinite",
                                  "logical_not", "floor", "round", "square", "reciprocal", "neg", "sigmoid", "frac"])
def test_special_values(name):
    array = np.array(SPECIAL, np.float32)
    wanted = expected(name, [array])
    if name == "frac":
        wanted = np.where(np.isinf(array), np.nan, wanted)
    if name == "sign":
        wanted[-1] = 0                                   # as PyTorch has it
    if name == "relu":
        wanted = np.array([0, 0, 0, 0, 1, np.inf, np.nan])
    np.testing.assert_allclose(call(name, [array]).numpy().astype(np.float64), wanted.astype(np.float64), rtol=1e-6)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "eq", "lt", "ge", "add", "mul", "div", "pow", "atan2",
                                  "copysign",
                                  "fmod", "remainder", "logical_and", "clamp_low", "clamp_high"])
def test_pairs_of_special_values(name):
    x, y = (np.array(v, np.float64) for v in zip(*itertools.product(SPECIAL, SPECIAL)))
    found = call(name, [x, y]).numpy()
    wanted = expected(name, [x, y])
    np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=1e-12)
    if name in ("add", "mul", "div", "copysign", "maximum"):
        finite = wanted != 0 if name == "maximum" else wanted == wanted          # -0.0 and 0.0 are equal extremes
        np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(wanted[finite]))


def test_integers_divide_towards_the_floor_and_wrap():
    x, y = (np.array(v, np.int32) for v in zip(*itertools.product([-7, -6, -1, 0, 1, 6, 7], [-3, -1, 1, 2, 3])))
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    np.testing.assert_array_equal((a // b).numpy(), x // y)
    np.testing.assert_array_equal((a % b).numpy(), x % y)
    np.testing.assert_array_equal(torch.fmod(a, b).numpy(), np.fmod(x, y))
    np.testing.assert_array_equal(torch.div(a, b, rounding_mode="trunc").numpy(), np.trunc(x / y).astype(np.int32))
    np.testing.assert_array_equal((torch.tensor([250], dtype=torch.uint8) + 10).numpy(), np.array([4], np.uint8))
    np.testing.assert_array_equal(torch.pow(torch.tensor([-3, 2, 0]), torch.tensor([3, 5, 0])).numpy(), [-27, 32, 1])


# ---------------------------------------------------------------- promotion
PAIRS = ["bool", "uint8", "int32", "int64", "float16", "float32", "complex64"]


@pytest.mark.parametrize("first", PAIRS)
def test_promotion(first):
    """What the sum of two dtypes, 0-dim tensors and numbers has for a dtype, and that values survive the conversion."""
    peer = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
    for second in PAIRS:
        for x_shape, y_shape in (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())):
            x = torch.ones(x_shape, dtype=dtype_of.by_name[first])
            y = torch.ones(y_shape, dtype=dtype_of.by_name[second])
            wanted = peer.result_type(peer.ones(x_shape, dtype=getattr(peer, first)), peer.ones(y_shape, dtype=getattr(peer,
                                                                                                                       second)))
            assert str(result_dtype([x.layout, y.layout])) == str(wanted), (first, second, x_shape, y_shape)
            assert torch.result_type(x, y) is result_dtype([x.layout, y.layout])
    x, theirs = torch.ones(2, dtype=dtype_of.by_name[first]), peer.ones(2, dtype=getattr(peer, first))
    for value in (True, 2, 2.5, *([1j] if first != "float16" else [])):
        for ours, wanted in ((x * value, theirs * value), (value * x, value * theirs), (x / value, theirs / value)):
            assert str(ours.dtype) == str(wanted.dtype), (first, value)
            np.testing.assert_allclose(ours.numpy(), wanted.numpy(), rtol=1e-3)


def test_mixed_dtypes_compute_in_the_promoted_one():
    x, y = np.array([1, 2, 3], np.int32), np.array([0.5, 0.25, 2.0], np.float64)
    found = torch.from_numpy(x) * torch.from_numpy(y)
    assert found.dtype is torch.float64
    np.testing.assert_array_equal(found.numpy(), x * y)
    assert (torch.tensor([1 << 40]) * 1.0).dtype is torch.float32
    assert (torch.tensor([1 << 24]) + 1).item() == (1 << 24) + 1


# ---------------------------------------------------------------- layouts
def layouts(array):
    """The same values in memory laid out differently."""
    yield "contiguous", np.ascontiguousarray(array)
    yield "transposed", np.ascontiguousarray(array.T).T
    wide = np.zeros((array.shape[0] * 2, array.shape[1] * 3), array.dtype)
    wide[::2, 1::3] = array
    yield "sliced", wide[::2, 1::3]
    yield "reversed", np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]
    yield "reversed rows", np.ascontiguousarray(array[::-1])[::-1]


@pytest.mark.parametrize("name", ["exp", "mul", "where"])
def test_layouts(name):
    row = ROWS[name]
    arrays = samples(row, "float32", (4, 6))
    wanted = expected(name, arrays)
    for laid in itertools.product(*[list(layouts(a)) for a in arrays] if len(arrays) < 3 else
                                  [list(layouts(a))[:3] for a in arrays]):
        found = call(name, [a for _, a in laid])
        close(found, wanted, row.tolerance)
        if all(kind == "transposed" for kind, _ in laid):
            assert found.stride() == (1, 4)                # a walk that needs no gaps stays one


@pytest.mark.parametrize("shapes", [((3, 1), (4,)), ((1,), (2, 3)), ((), (3,)), ((2, 1, 3), (4, 1)), ((0, 3), (1, 3)), ((), ()),
                                    ((0,), ()),
                                    ((1, 1), (5, 1)), ((2, 3, 4, 5), (3, 1, 5))], ids=str)
def test_broadcasting(shapes):
    rng = np.random.default_rng(0)
    x, y = (np.asarray(rng.standard_normal(s)) for s in shapes)
    found = torch.from_numpy(x) - torch.from_numpy(y)
    np.testing.assert_array_equal(found.numpy(), x - y)
    if found.numel():
        gradcheck(lambda a, b: a * b, [torch.from_numpy(x).requires_grad_(), torch.from_numpy(y).requires_grad_()], fast_mode=True)


def test_stride_zero_operands_and_many_dimensions():
    x = np.random.default_rng(0).standard_normal((2, 1, 3, 1, 2)).astype(np.float32)
    big = torch.from_numpy(x).expand(2, 3, 3, 2, 2)
    np.testing.assert_array_equal((big + big).numpy(), np.broadcast_to(x, (2, 3, 3, 2, 2)) * 2)
    crooked = torch.from_numpy(x).expand(2, 3, 3, 2, 2).permute(4, 2, 0, 3, 1)
    np.testing.assert_array_equal((crooked * 2).numpy(), np.broadcast_to(x, (2, 3, 3, 2, 2)).transpose(4, 2, 0, 3, 1) * 2)


def test_large_enough_for_threads():
    x = np.random.default_rng(0).standard_normal((701, 503)).astype(np.float32)
    y = x[::-1].copy()
    np.testing.assert_array_equal((torch.from_numpy(x) + torch.from_numpy(y)).numpy(), x + y)
    np.testing.assert_array_equal((torch.from_numpy(x).T + torch.from_numpy(y).T).numpy(), (x + y).T)
    np.testing.assert_array_equal((torch.from_numpy(x)[:, ::2] + torch.from_numpy(y)[:, ::2]).numpy(), (x + y)[:, ::2])


# ---------------------------------------------------------------- in place and out=
WRITING = [n for n in sorted(ROWS) if "f" in ROWS[n].kinds and OPS[n].kind in ("arithmetic", "power", "float", "real") and n != "where"]
# in place is another kernel: two ops of each kind, number of operands and of numbers
IN_PLACE = [n for n in WRITING if n in [m for m in WRITING if (OPS[m].kind, len(ROWS[m].domain), len(ROWS[m].numbers)) ==
                                        (OPS[n].kind, len(ROWS[n].domain), len(ROWS[n].numbers))][:2]]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    """Writing into the first operand gives what the plain call gives."""
    arrays = samples(ROWS[name], "float32", (11,))
    tensors = [torch.from_numpy(a.copy()) for a in arrays]
    version = tensors[0]._version
    result = OPS[name].inplace(*tensors, *ROWS[name].numbers.values())
    assert result is tensors[0] and result._version == version + 1
    np.testing.assert_array_equal(result.numpy(), call(name, arrays).numpy())


@pytest.mark.parametrize("name", WRITING)
def test_out(name):
    arrays, out = samples(ROWS[name], "float32", (11,)), torch.full((11,), 9.0)
    assert call(name, arrays, out=out) is out
    np.testing.assert_array_equal(out.numpy(), call(name, arrays).numpy())


def test_out_may_alias_an_input():
    base = np.arange(12, dtype=np.float32)
    for target, source in ((slice(0, 8), slice(0, 8)), (slice(0, 8), slice(4, 12)), (slice(4, 12), slice(0, 8)),
                           (slice(8, None, -1), slice(0, 9)), (slice(0, 12, 2), slice(0, 6))):
        array = base.copy()
        wanted = array[source] * array[source]
        out = torch.from_numpy(array[target])
        torch.mul(torch.from_numpy(array)[:][source] if (source.step or 1) > 0 else torch.from_numpy(array[source]),
                  torch.from_numpy(array[source]), out=out)
        np.testing.assert_array_equal(array[target], wanted)


def test_in_place_on_strided_and_broadcast_operands():
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = torch.from_numpy(array)
    x.t()[1:4, ::2].mul_(torch.tensor([[2.0], [3.0], [4.0]]))
    wanted = np.arange(24, dtype=np.float32).reshape(4, 6)
    wanted.T[1:4, ::2] *= np.array([[2], [3], [4]])
    np.testing.assert_array_equal(array, wanted)
    y = torch.ones(3, dtype=torch.int32)
    y += 2
    y *= True
    assert y.tolist() == [3, 3, 3] and y.dtype is torch.int32


@pytest.mark.parametrize("attempt, message", [
    (lambda: torch.ones(3).add_(torch.ones(2)), "must match"),
    (lambda: torch.ones(3).add_(torch.ones(2, 3)), "doesn't match the broadcast shape"),
    (lambda: torch.ones(3, dtype=torch.int64).add_(0.5), "result type Float can't be cast to the desired output type Long"),
    (lambda: torch.ones(3, dtype=torch.int64).div_(2), "can't be cast"),
    (lambda: torch.ones(1).expand(3).add_(1), "more than one element"),
    (lambda: torch.ones(3, requires_grad=True).add_(1), "leaf Variable that requires grad"),
    (lambda: torch.add(torch.ones(3), 1, out=torch.ones(3, dtype=torch.int32)), "can't be cast"),
    (lambda: torch.exp(torch.ones(3, requires_grad=True), out=torch.ones(3)), "automatic differentiation"),
    (lambda: torch.ones(2) + torch.ones(3), "must match the size of tensor b"),
    (lambda: torch.ones(8, 5, 4) + torch.ones(6, 3), r"tensor a \(4\) must match the size of tensor b \(3\) at non-singleton dimension 2"),
    (lambda: torch.ones(2).bitwise_and(torch.ones(2)), "not implemented for 'Float'"),
    (lambda: torch.tensor([2]) ** -1, "negative integer powers"),
    (lambda: (lambda x: x[:3].add_(x[1:]))(torch.ones(4)), "single memory location"),
], ids=lambda v: v if isinstance(v, str) else "")
def test_runtime_errors(attempt, message):
    with pytest.raises(RuntimeError, match=message):
        attempt()


@pytest.mark.parametrize("wrong", ["text", [1, 2], None, object(), {}])
def test_what_is_no_number_raises_a_type_error(wrong):
    for attempt in (lambda: torch.add(torch.ones(2), wrong), lambda: torch.ones(2) * wrong, lambda: torch.ones(2).mul_(wrong),
                    lambda: torch.exp(wrong), lambda: torch.maximum(torch.ones(2), wrong), lambda: torch.ones(2) < wrong,
                    lambda: torch.add(torch.ones(2), 1, out=wrong) if wrong is not None else torch.exp(wrong)):
        with pytest.raises(TypeError):
            attempt()
    with pytest.raises(TypeError):
        torch.exp()
    with pytest.raises(TypeError):
        torch.exp(torch.ones(1), nonsense=1)


def test_numbers_on_either_side():
    x = np.array([1.0, 2.0, 4.0], np.float32)
    t = torch.from_numpy(x)
    for found, wanted in ((2 - t, 2 - x), (t - 2, x - 2), (2 / t, 2 / x), (t / 2, x / 2), (2 ** t, 2 ** x), (t ** 2, x ** 2),
                          (t ** 0.5, x ** 0.5), (7 // t, 7 // x), (7 % t, 7 % x), (np.float32(2) * t, 2 * x),
                          (t * np.float64(2), 2 * x), (-t, -x), (abs(-t), x), (2 < t, 2 < x), (t >= 2, x >= 2), (t == 2, x == 2),
                          (2 != t, x != 2)):
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)
        assert found.dtype in (torch.float32, torch.bool)
    n = torch.tensor([5, 6])
    for found, wanted in ((n & 3, [1, 2]), (3 | n, [7, 7]), (n ^ 1, [4, 7]), (n << 1, [10, 12]), (n >> 1, [2, 3]),
                          (1 << n, [32, 64]), (~n, [-6, -7])):
        assert found.tolist() == wanted and found.dtype is torch.int64
    assert torch.mul(3, torch.tensor(2)).item() == 6 and torch.where(torch.tensor([True, False]), 1.0, t[:2]).tolist() == [1.0, 2.0]
    mixed = t * np.ones(3, np.float32)                   # an array on the left is refused, as in PyTorch (pytorch/test_mistakes.py)
    assert isinstance(mixed, torch.Tensor) and mixed.dtype is torch.float32 and mixed.tolist() == x.tolist()


# ---------------------------------------------------------------- gradients
def leaves(name, dtype="float64", shape=(4,), seed=1):
    return [torch.from_numpy(a).requires_grad_() if a.dtype != bool and i not in ROWS[name].constants else torch.from_numpy(a)
            for i, a in enumerate(samples(ROWS[name], dtype, shape, seed))]


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name):
    """First derivatives by the fused kernel and second ones by the composed ops, along random directions."""
    function = lambda *x: OPS[name].function(*x, *ROWS[name].numbers.values())
    gradcheck(function, leaves(name), fast_mode=True, atol=1e-7, rtol=1e-4)
    gradgradcheck(function, leaves(name), fast_mode=True, atol=1e-6, rtol=1e-4)


COMPLEX = sorted(n for n in SMOOTH if "c" in ROWS[n].kinds)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients(name):
    function = lambda *x: OPS[name].function(*x, *ROWS[name].numbers.values())
    gradcheck(function, leaves(name, "complex128", (3,)), fast_mode=True, atol=1e-7, rtol=1e-4)


@pytest.mark.parametrize("name", ["add", "mul", "div", "pow", "lerp", "where", "clamp_both", "atan2"])
def test_gradients_of_broadcast_operands_one_at_a_time(name):
    """Each operand alone needs a gradient, and each is broadcast: what no one wants is neither computed nor summed."""
    count = len(ROWS[name].domain)
    shapes = [(2, 3), (3,), (2, 1)]
    arrays = [samples(ROWS[name], "float64", shapes[i])[i] for i in range(count)]
    for wanted in range(count):
        if arrays[wanted].dtype == bool:
            continue
        tensors = [torch.from_numpy(a) for a in arrays]
        tensors[wanted].requires_grad_()
        gradcheck(lambda *x: OPS[name].function(*x), tensors, fast_mode=True, atol=1e-7, rtol=1e-4)
        assert all(t.grad is None for t in tensors)


def test_gradients_have_their_inputs_dtype_shape_and_layout_values():
    x = torch.ones(3, 2, dtype=torch.float32).t().requires_grad_()
    y = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.shape == (2, 3) and y.grad.dtype is torch.float64 and y.grad.shape == ()
    assert x.grad.tolist() == [[2.0] * 3] * 2 and y.grad.item() == 6.0
    n = torch.tensor([1, 2, 3])
    z = torch.ones(3, requires_grad=True)
    (n * z).sum().backward()
    assert z.grad.tolist() == [1.0, 2.0, 3.0]


def test_in_place_gradients():
    for name in ("exp", "mul", "sigmoid", "div", "relu"):
        tensors = leaves(name)
        arrays = [t.detach().numpy().copy() for t in tensors]
        OPS[name].inplace(tensors[0] * 1, *tensors[1:]).sum().backward()
        others = [torch.from_numpy(a).requires_grad_() for a in arrays]
        OPS[name].function(*others).sum().backward()
        for ours, wanted in zip(tensors, others):
            np.testing.assert_allclose(ours.grad.numpy(), wanted.grad.numpy(), rtol=1e-12)


def test_a_wrong_derivative_is_found():
    """The checks above can fail."""
    @torch.pointwise(methods=False)
    def wrong(x):
        return x * x

    @wrong.derivative
    def _(grad, x):
        return grad * x * 2.001

    try:
        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            gradcheck(wrong, torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True), fast_mode=True, rtol=1e-4)
    finally:
        del registry["wrong"]
    with pytest.raises(AssertionError):
        close(torch.tensor([1.0]), np.array([1.00001]), 8)
    assert isinstance(ROWS["add"], Row)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_is_compared_with_16_bits_is_rounded_to_them(dtype):
    x = torch.tensor([-2.4, 2048.0], dtype=getattr(torch, dtype))
    wide, whole = torch.tensor(-2.4, dtype=torch.float64), torch.tensor(2049)
    assert (x == -2.4).tolist() == (x == wide).tolist() == (wide == x).tolist() == (x <= -2.4).tolist() == [True, False]
    assert (x < -2.4).tolist() == (x != whole).tolist()[1:] * 2 == [False, False] and (x > -2.4).tolist() == [False, True]
    assert (x.float() == -2.4).tolist() == [False, False] and (x == torch.full((2,), 2049)).tolist() == [False, True]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_division_of_integers_of_every_size(dtype):
    """Exact for the largest operands too, where floats divide for them."""
    rng, bounds = np.random.default_rng(3), np.iinfo(dtype)
    count = 2000
    x, y = rng.integers(bounds.min, bounds.max, (2, count), dtype=dtype, endpoint=True)
    y[::2] = rng.integers(1, 9, count // 2)
    x[::5] = y[::5] * rng.integers(1, 20, count // 5).astype(dtype)          # quotients that are whole
    x[:9], x[9:18], y[:18:3] = bounds.max, bounds.min, bounds.max
    y[y == 0] = 3
    if bounds.min:
        x[(x == bounds.min) & (y == -1)] = 5
    a, b = torch.tensor(x), torch.tensor(y)
    whole, rest = x // y, np.fmod(x, y)
    assert np.array_equal((a // b).numpy(), whole) and np.array_equal((a % b).numpy(), x % y)
    assert np.array_equal(torch.fmod(a, b).numpy(), rest)
    to_zero = np.where((whole * y != x) & ((x < 0) != (y < 0)), whole + 1, whole)
    assert np.array_equal(torch.div(a, b, rounding_mode="trunc").numpy(), to_zero)


def test_the_least_integer_over_minus_one():
    """Which has no quotient: it wraps, where the processor's instruction would end the process."""
    for dtype in (torch.int8, torch.int32, torch.int64):
        least = torch.iinfo(dtype).min
        x, y = torch.tensor([least, 7], dtype=dtype), torch.tensor([-1, -1], dtype=dtype)
        assert (x // y).tolist() == torch.div(x, y, rounding_mode="trunc").tolist() == [least, -7]
        assert (x % y).tolist() == torch.fmod(x, y).tolist() == [0, 0]


FORMULAS = [
    lambda x, y: x / 2,
    lambda x, y: x * 0.5 + y,
    lambda x, y: x + y,
    lambda x, y: x // 2 - y % 3,
    lambda x, y: torch.exp(x) * y,
    lambda x, y: x / 2 > y,
    lambda x, y: torch.where(x / 2 > 1, y, x),
    lambda x, y: torch.sqrt(torch.abs(x)) + y,
    lambda x, y: (x > y) & (y > 0),
    lambda x, y: x,
]


@pytest.mark.parametrize("formula", range(len(FORMULAS)))
def test_a_formula_promotes_as_the_expression_does(formula):
    """What is written for tensors gives the same as a record: integers are not cut off."""
    kinds = [("int64", "int64"), ("uint8", "int32"), ("float16", "int32")][formula % 3]
    formula = FORMULAS[formula]
    op = torch.pointwise(formula, name="formula", methods=False)
    x, y = [torch.tensor([0, 1, 5, 4], dtype=getattr(torch, k)) for k in kinds]
    for operands in ((x, y), (x, 1.5)):
        found, wanted = op(*operands), formula(*operands)
        assert found.dtype is wanted.dtype and torch.allclose(found.double(), wanted.double(), 1e-3), (kinds, found, wanted)


def test_a_formula_with_numbers_or_without_an_expression():
    scaled = torch.pointwise(_scaled, methods=False)
    x = torch.tensor([1, 2, 3])
    assert scaled(x, factor=2).dtype is torch.int64 and scaled(x, factor=0.5).tolist() == [0.5, 1.0, 1.5]
    assert torch.pointwise(_mathematical, methods=False)(x).tolist() == pytest.approx([math.exp(n) for n in (1, 2, 3)])
    size = torch.pointwise(_magnitude, methods=False)(torch.tensor([3 + 4j]))
    assert size.dtype is torch.float32 and size.tolist() == [10.0]
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.pointwise(_scaled, name="halved").op.inplace(x, factor=0.5)


def _scaled(x, *, factor):
    return x * factor


def _mathematical(x):
    return math.exp(x)


def _magnitude(x):
    return torch.abs(x) * 2


def test_a_users_op_leaves_ours_alone():
    """Whatever it is called, the library's own methods and functions mean what they did."""
    names = ["add", "mul", "multiply", "sigmoid", "sqrt", "lerp", "addcmul", "where", "clone", "to_dtype", "sum_to_size", "into", "copy_"]
    methods = {n: m for n, m in vars(torch.Tensor).items() if n.rstrip("_") in names}
    held, attributes = dict(registry), set(vars(torch.Tensor))

    def result():
        torch.manual_seed(0)
        layer, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
        step = torch.optim.Adam(layer.parameters())
        torch.nn.functional.binary_cross_entropy_with_logits(layer(x), torch.ones(4, 2)).backward()
        step.step()
        return [p.tolist() for p in layer.parameters()]

    before = result()
    try:
        for name in names:
            op = torch.pointwise(lambda x, y: x * 0 + 7, name=name)
            assert op(torch.ones(2), torch.ones(2)).tolist() == [7, 7]
        assert {n: vars(torch.Tensor)[n] for n in methods} == methods and result() == before
        assert {n: registry[n] for n in held} == held
    finally:
        for name in set(registry) - set(held):
            del registry[name]
        for name in set(vars(torch.Tensor)) - attributes:
            delattr(torch.Tensor, name)
