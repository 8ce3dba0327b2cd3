"""The plan is a tight gate: random layouts, dtypes and offsets compute what NumPy does and touch nothing else.

Kernels check no types and no bounds, so every operand here lies in a NumPy buffer between guard bytes, at a random offset and with
random strides (zero, negative, overlapping). After each call the guards, and every byte of the buffer that belongs to no
element of a written tensor, must be as before. Bad arguments must raise PyTorch's exceptions, never the compiler's.
"""
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import numtorch as torch

MANY = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
GUARD, FILL = 64, 0xA5
DTYPES = ["float32", "float64", "int32", "uint8", "bool"]


class Padded:
    """A strided NumPy array inside a guarded buffer, and a tensor over the same memory.

    Attributes:
        array, tensor: two readers of the memory.
        snapshot: the whole buffer's bytes as they were.
    """

    def __init__(self, dtype, shape, strides, offset, seed):
        itemsize = np.dtype(dtype).itemsize
        reach = [(s * (n - 1)) for n, s in zip(shape, strides)] if 0 not in shape else []
        low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
        count = high - low + 1 + offset
        self.bytes = np.full(2 * GUARD + count * itemsize, FILL, np.uint8)
        inside = self.bytes[GUARD:GUARD + count * itemsize].view(dtype)
        rng = np.random.default_rng(seed)
        inside[:] = rng.random(count) < 0.5 if dtype == "bool" else rng.integers(0 if dtype == "uint8" else -4, 5, count)
        self.array = np.lib.stride_tricks.as_strided(inside[offset - low:], shape, [s * itemsize for s in strides])
        self.tensor = torch.from_numpy(self.array)
        self.snapshot = self.bytes.copy()

    def expect(self, values=None):
        """Check that nothing but the elements changed, and that they hold `values` (what they held, when None)."""
        wanted = self.snapshot.copy()
        if values is not None and self.array.size:
            start = self.array.__array_interface__["data"][0] - self.bytes.__array_interface__["data"][0]
            itemsize = self.array.dtype.itemsize
            np.lib.stride_tricks.as_strided(wanted[start:start + itemsize].view(self.array.dtype), self.array.shape,
            self.array.strides)[...] = values
        np.testing.assert_array_equal(self.bytes, wanted)


@st.composite
def operands(draw, shape, writable=False, dtypes=DTYPES):
    """A padded operand of a shape; a writable one never has two indices for one element."""
    strides = []
    if writable:
        step = draw(st.integers(1, 2))
        for d in draw(st.permutations(range(len(shape)))):
            strides.append((d, step * draw(st.sampled_from([1, -1]))))
            step *= max(shape[d], 1) + draw(st.integers(0, 1))
        strides = [s for _, s in sorted(strides)]
    else:
        dense = [int(np.prod(shape[d + 1:])) for d in range(len(shape))]
        strides = [draw(st.sampled_from([dense[d], dense[d], -dense[d], 0, 1, 2, -3])) for d in range(len(shape))]
    return Padded(draw(st.sampled_from(dtypes)), shape, strides, draw(st.integers(0, 3)), draw(st.integers(0, 1000)))


shapes = st.lists(st.sampled_from([0, 1, 2, 3, 5, 17]), max_size=4).map(tuple).filter(lambda s: np.prod(s) < 2000)


def narrowed(draw, shape):
    """A shape that broadcasts to another."""
    cut = draw(st.integers(0, len(shape)))
    return tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in shape[cut:])


def equal(found, wanted):
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy().astype(np.float64), wanted.astype(np.float64), rtol=1e-6, atol=1e-6)


UNARY = {"neg": np.negative, "abs": np.abs, "square": lambda x: x * x, "logical_not": np.logical_not,
"exp": lambda x: np.exp(x.astype(np.float64))}
BINARY = {"add": np.add, "mul": np.multiply, "maximum": np.maximum, "lt": np.less, "eq": np.equal, "div": lambda x,
y: x.astype(np.float64) / y}
# by op, since each combination with a form of the operands is a kernel
KINDS = {"add": ["float32"], "mul": ["float64", "int32"], "maximum": ["uint8", "int32"], "lt": ["float32", "bool"], "eq": ["int32"], "div": ["int32"]}


@MANY
@given(st.data(), shapes, st.sampled_from(sorted(UNARY)))
def test_unary(data, shape, name):
    x = data.draw(operands(shape, dtypes=["float32", "float64", "int32"]))
    equal(getattr(torch, name)(x.tensor), UNARY[name](x.array))
    x.expect()


@MANY
@given(st.data(), shapes, st.sampled_from(sorted(BINARY)))
def test_binary(data, shape, name):
    dtypes = KINDS[name]
    x = data.draw(operands(narrowed(data.draw, shape), dtypes=dtypes))
    y = data.draw(operands(narrowed(data.draw, shape), dtypes=dtypes))
    # in PyTorch a 0-dim int32 yields to a uint8 with dimensions, which NumPy's own promotion does not know
    common = torch.result_type(x.tensor, y.tensor).numpy
    with np.errstate(all="ignore"):
        wanted = np.asarray(BINARY[name](x.array.astype(common), y.array.astype(common)))
        found = getattr(torch, name)(x.tensor, y.tensor)
        equal(found, wanted.astype(found.numpy().dtype) if wanted.dtype.kind in "iu" else wanted)
    x.expect()
    y.expect()


@MANY
@given(st.data(), shapes)
def test_where(data, shape):
    c, x, y = (data.draw(operands(narrowed(data.draw, shape), dtypes=[d])) for d in ("bool", "float32", "float32"))
    equal(torch.where(c.tensor, x.tensor, y.tensor), np.where(c.array, x.array, y.array))
    for each in (c, x, y):
        each.expect()


@MANY
@given(st.data(), shapes, st.sampled_from(["add_", "mul_", "copy_", "fill_", "out"]))
def test_writing(data, shape, name):
    x = data.draw(operands(shape, writable=True, dtypes=["float64" if name in ("mul_", "fill_") else "float32"]))
    y = data.draw(operands(narrowed(data.draw, shape), dtypes={"add_": ["float32", "bool"], "out": ["float32"]}.get(name, ["float32", "int32"])))
    before = x.array.copy()
    if name == "fill_":
        x.tensor.fill_(3)
        wanted = np.full(shape, 3.0)
    elif name == "out":
        z = data.draw(operands(shape, dtypes=["float32"]))
        torch.add(z.tensor, y.tensor, out=x.tensor)
        wanted = z.array + y.array if np.broadcast_shapes(shape, y.array.shape) == shape else None
        z.expect()
    else:
        getattr(x.tensor, name)(y.tensor)
        wanted = {"add_": before + y.array, "mul_": before * y.array, "copy_": np.broadcast_to(y.array, shape)}[name]
    x.expect(wanted)
    y.expect()


@MANY
@given(st.data(), shapes, st.sampled_from(["float32", "float64", "int32", "uint8", "bool"]))
def test_casting_copies(data, shape, target):
    x = data.draw(operands(shape, dtypes=["float64", "int32", "bool"]))
    y = data.draw(operands(shape, writable=True, dtypes=[target]))
    y.tensor.copy_(x.tensor)
    with np.errstate(all="ignore"):
        wide = x.array.astype(np.int64) if target == "uint8" else x.array
        y.expect(wide.astype(target))
    x.expect()


@MANY
@given(st.data(), shapes.filter(lambda s: 0 not in s), st.sampled_from(["sum", "amax", "prod", "any", "mean", "argmax"]),
st.booleans())
def test_reductions(data, shape, name, keep):
    x = data.draw(operands(shape, dtypes=["float32"] if name == "mean" else ["float32", "int32"]))
    dims = data.draw(st.none() | st.sets(st.integers(0, max(len(shape) - 1, 0)), min_size=1).map(lambda s: tuple(sorted(s))))
    if name in ("argmax", "prod") and dims is not None:
        dims = dims[0]
    if not shape:
        dims = None
    wide = x.array if name in ("argmax", "any") else x.array.astype(np.float64)
    wanted = getattr(np, name)(wide, dims, keepdims=keep)
    function = getattr(x.tensor, name)
    found = function(keepdim=keep) if dims is None and name in ("amax",) else function(dims,
    keepdim=keep) if dims is not None or keep else function()
    if name == "prod":
        found, wanted = found.double(), np.asarray(wanted)
        if np.abs(wanted).max() > 2 ** 31:
            return
    equal(found, wanted)
    x.expect()


@MANY
@given(st.data(), st.tuples(*[st.sampled_from([0, 1, 2, 7, 16, 33])] * 3))
def test_products(data, sizes):
    n, m, p = sizes
    a, b = data.draw(operands((n, m), dtypes=["float32"])), data.draw(operands((m, p), dtypes=["float32"]))
    equal(a.tensor @ b.tensor, a.array @ b.array)
    a.expect()
    b.expect()


@MANY
@given(st.data(), shapes.filter(len))
def test_indexing_and_joining(data, shape):
    x = data.draw(operands(shape, dtypes=["float32"]))
    y = data.draw(operands(shape, writable=True, dtypes=["float32"]))
    dim = data.draw(st.integers(0, len(shape) - 1))
    equal(torch.cat([x.tensor, y.tensor], dim), np.concatenate([x.array, y.array], dim))
    mask = y.array > 0
    equal(x.tensor[y.tensor > 0], x.array[mask])
    if shape[dim]:
        index = np.array(data.draw(st.lists(st.integers(0, shape[dim] - 1), min_size=1, max_size=4)))
        equal(x.tensor.index_select(dim, torch.from_numpy(index)), np.take(x.array, index, dim))
    x.expect()
    wanted = np.where(mask, -1, y.array)
    y.tensor[y.tensor > 0] = -1
    y.expect(wanted)


# ---------------------------------------------------------------- bad arguments
THINGS = [None, "text", object(), [1, 2], {}, 1 << 70, (1,), float, np.zeros(2), b"x", slice(None), torch.float32, -1, 2.5, True,
1j]
CALLS = {
    "add": lambda a, b: torch.add(a, b), "exp": lambda a, b: torch.exp(a), "mul_": lambda a, b: torch.ones(3).mul_(a),
    "where": lambda a, b: torch.where(a, b, 1.0),
    "sum": lambda a, b: torch.ones(2, 2).sum(a), "sum of": lambda a, b: torch.sum(a), "max": lambda a, b: torch.ones(2, 2).max(a,
    b), "view": lambda a, b: torch.ones(4).view(a, b),
    "reshape": lambda a, b: torch.ones(4).reshape(a), "transpose": lambda a, b: torch.ones(2, 2).transpose(a, b),
    "permute": lambda a, b: torch.ones(2, 2).permute(a, b),
    "narrow": lambda a, b: torch.ones(4).narrow(0, a, b), "select": lambda a, b: torch.ones(4).select(a, b), "expand": lambda a,
    b: torch.ones(1).expand(a, b),
    "mm": lambda a, b: torch.mm(a, b), "matmul": lambda a, b: torch.ones(2, 2) @ a, "zeros": lambda a, b: torch.zeros(a, dtype=b),
    "full": lambda a, b: torch.full(a, b),
    "arange": lambda a, b: torch.arange(a, b), "index": lambda a, b: torch.ones(3)[a], "set": lambda a,
    b: torch.ones(3).__setitem__(a, b), "to": lambda a, b: torch.ones(2).to(a),
    "clamp": lambda a, b: torch.clamp(torch.ones(2), a, b), "cat": lambda a, b: torch.cat(a, b), "pow": lambda a,
    b: torch.pow(torch.ones(2), a), "copy_": lambda a, b: torch.ones(2).copy_(a),
    "as_strided": lambda a, b: torch.ones(4).as_strided((a,), (b,)), "softmax": lambda a, b: torch.softmax(torch.ones(2), a),
    "norm": lambda a, b: torch.ones(2).norm(a, b),
    "randint": lambda a, b: torch.randint(a, b, (2,)), "linspace": lambda a, b: torch.linspace(0, a, b), "split": lambda a,
    b: torch.ones(4).split(a, b),
    "gather": lambda a, b: torch.gather(torch.ones(3), a, b), "leaky_relu": lambda a, b: torch.leaky_relu(torch.ones(2), a),
    "einsum": lambda a, b: torch.einsum("i,i", a, b),
}
ALLOWED = (TypeError, RuntimeError, ValueError, IndexError, NotImplementedError, OverflowError,
           AssertionError)                               # PyTorch's own for "not compiled with CUDA enabled"


@pytest.mark.parametrize("name", CALLS)
def test_nonsense_raises_python_errors(name):
    """Each unfit argument, with a third of the others in turns, either means something or raises one of PyTorch's exceptions with words
    in it."""
    others = [*THINGS[::2], torch.ones(3), torch.tensor(-1)]
    for turn, a in enumerate([*THINGS, torch.ones(2), torch.ones(5, 5, dtype=torch.int64), torch.tensor(7), torch.ones(0, 3).bool()]):
        for b in others[turn % 3::3]:
            try:
                CALLS[name](a, b)
            except ALLOWED as error:
                assert not type(error).__module__.startswith(("numba", "llvmlite")), (name, a, b)
                assert str(error), (name, a, b)


def test_a_stray_write_would_be_seen():
    """The guards work: a byte beside the elements, or an element with another value, fails."""
    x = Padded("float32", (2, 3), (-4, 1), 1, 0)
    x.expect()
    x.bytes[GUARD - 1] ^= 1
    with pytest.raises(AssertionError):
        x.expect()
    x.bytes[GUARD - 1] ^= 1
    x.array[1, 1] += 1
    with pytest.raises(AssertionError):
        x.expect()
    x.expect(x.array.copy())
