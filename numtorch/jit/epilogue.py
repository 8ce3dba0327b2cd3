"""The op that a product or convolution becomes with the elementwise calls behind it (passes/epilogues.py): block by block, of rows
or of images, so that these find a block in the cache as the product left it.

Its tensors are those of the product, then the other operands of the calls. Its attributes are the product's name and attributes,
how many tensors that takes, the calls as `fused` has them, of which `("x", 0)` is what the product gives, which of them are
results, and whether what the product gives is the first result.
"""
from __future__ import annotations

from typing import NamedTuple

from ..autograd.graph import recording
from ..dtypes import float32, float64
from ..kernels.binding import ScalarBody
from ..kernels.cpu.micro.tile import second_level_bytes
from ..kernels.program import MOST_WORDS, Program
from ..kernels.threads import get_num_threads
from ..layout import Layout, broadcast_shapes, broadcast_strides, contiguous_format, formatted
from ..ops.core.backends import kernels
from ..ops.core.primitive import Plan, Primitive, miss, registry
from ..storage import ring_for, take
from ..tensor import empty
from .fused import check, formula_of, run_calls
from .rowwise import ALONG

EPILOGUE = Primitive("epilogue", "A product or convolution, and elementwise ops on its blocks.",
                     ("tensors", "product", "attributes", "count", "calls", "results", "keeps"))
PRODUCTS = ("mm", "linear", "convolution")


class _Blocks(NamedTuple):
    """A product as so many blocks of `size` rows or images, and a smaller one.

    Attributes:
        of: what plans a block of some size. It is called with the product's three tensors, the result and scratch memory.
        shape, strides: of the result, the first of which the blocks share.
        steps: bytes from one row or image to the next of the three tensors.
        order: of the images in memory.
    """

    of: object
    size: int
    shape: tuple
    strides: tuple
    steps: tuple
    order: object


def layout_of(product, layouts, attributes) -> Layout:
    """What a product gives, whose tensors have these layouts."""
    plan = registry[product].planned_for(tuple(layouts), attributes)
    return plan.result if product == "convolution" else plan.out


def _rows(product, layouts, out):
    """A product of matrices, by its rows."""
    a, b, *bias = layouts
    bias = bias[0] if bias else None
    if (product == "linear" and a.ndim > 2 and not a.contiguous) or a.ndim < 2 or b.ndim != 2:
        return None
    depth, features = a.shape[-1], out.shape[-1]
    row, column = (a.strides if a.ndim == 2 else (depth, 1))
    strides = b.strides if product == "mm" else b.strides[::-1]
    item = out.dtype.itemsize
    if row < 0 or column < 0 or out.numel == 0:
        return None

    def of(count):
        return kernels(out.device, "gemm.gemm").plan_gemm(
            count, features, depth, out.dtype.kernel, (row, column), strides, (features, 1),
            bias=None if bias is None else "column", bias_stride=1 if bias is None else bias.strides[0])
    return _Blocks(of, out.numel // features, (out.numel // features, features), (features, 1), (row * item, 0, 0), None)


def _images(layouts, out, attributes):
    """A convolution, by its images."""
    x, w, bias = layouts
    whole = registry["convolution"].planned_for((x, w, bias), attributes)
    order = whole.orders[0]
    if whole.out is not whole.result or whole.orders[1] is not contiguous_format or x.dtype is not w.dtype:
        return None
    item = out.dtype.itemsize

    def of(count):
        one = formatted(Layout.of(x.dtype, (count, *x.shape[1:]), None, x.device), order)
        plan = registry["convolution"].plan(one, w, bias, *attributes)
        same = plan.orders == whole.orders and plan.out is plan.result and \
            all(a == b for n, a, b in zip(out.shape[1:], plan.out.strides[1:], out.strides[1:]) if n > 1)
        return plan.prepared if same else None
    return _Blocks(of, out.shape[0], out.shape, out.strides, (x.numel // x.shape[0] * item, 0, 0), order)


# ---------------------------------------------------------------- planning
def _merged(strides, shape):
    """The strides of a tensor of more dimensions as rows; None where its rows do not follow one another at one distance."""
    *lead, last = strides
    known = [(n, s) for n, s in zip(shape, lead) if n != 1]
    if any(s != m * t for (_, s), (m, t) in zip(known, known[1:])):
        return None
    return known[-1][1] if known else 0, last


@EPILOGUE.planned
def _plan(*key):
    *layouts, product, attributes, count, calls, results, keeps = key
    if product not in PRODUCTS or type(count) is not int or not 2 <= count <= len(layouts) or type(keeps) is not bool:
        raise ValueError(f"epilogue: {product!r} of {count!r} tensors is no product")
    own, others = layouts[:count], layouts[count:]
    out = layout_of(product, own, attributes)
    if out.dtype not in (float32, float64) or any(l is None for l in others) or any(op in ALONG for op, *_ in calls) or \
            broadcast_shapes(out.shape, *[l.shape for l in others]) != out.shape:
        raise ValueError(f"epilogue: expected tensors that broadcast to {tuple(out.shape)}, got {others}")
    check(calls, results, (out,) * len(results), 1 + len(others))
    blocks = _images(own, out, attributes) if product == "convolution" else _rows(product, own, out)
    prepared = None if blocks is None else _program(blocks, out, others, calls, results, keeps)
    return Plan(EPILOGUE, layouts, out, prepared, blocks)


def _program(blocks, out, others, calls, results, keeps):
    """The launches, of block after block; None where there are too many words for one."""
    strides = [broadcast_strides(l, out.shape) for l in others]
    if len(blocks.shape) != out.ndim:
        strides = [_merged(s, out.shape) for s in strides]
    made = len(results) + (keeps or len(results) > 1)    # the product's own memory, then that of what is made of it
    names = ["x", "w", "bias", "workspace", *[f"o{i}" for i in range(len(others))], *[f"r{i}" for i in range(made)]]
    if None in strides or len(names) >= MOST_WORDS:
        return None
    body = ScalarBody(formula_of(calls, results, 1 + len(others)), out.dtype.compute)
    computes = (out.dtype.compute, *["bool" if l.dtype.name == "bool" else out.dtype.compute for l in others])
    cost = sum([registry[op].cost for op, *_ in calls])
    inputs = tuple([l.dtype.kernel for l in (out, *others)])

    def behind(count):
        shape, written = (count, *blocks.shape[1:]), made == 1
        where = [blocks.strides, *strides, *([] if written else [blocks.strides] * len(results))]
        outputs = (out.dtype.kernel,) * len(results)
        return kernels(out.device, "pointwise.pointwise").plan_pointwise(
            body, inputs, outputs, shape, where, compute=computes, written=0 if written else -1,
            results=tuple(range(len(results))) if len(results) > 1 else None, cost=cost)
    item, program = out.dtype.itemsize, Program(*names)
    each = item * out.numel // blocks.size * (made + sum(s[0] != 0 for s in strides))
    size = min(blocks.size, max(_least(blocks), get_num_threads() * second_level_bytes() // 2 // each))
    if 2 * size > blocks.size:
        size = blocks.size
    first = 0
    planned: dict = {}
    while first < blocks.size:
        count = min(size, blocks.size - first)
        if count not in planned:
            planned[count] = blocks.of(count), behind(count)
        multiply, after = planned[count]
        if multiply is None:
            return None
        x, w, bias = (program.word(name, first * step) for name, step in zip(("x", "w", "bias"), blocks.steps))
        outs = [program.word(f"r{i}", first * blocks.strides[0] * item) for i in range(made)]
        operands = [program.word(f"o{i}", first * s[0] * l.dtype.itemsize) for i, (s, l) in enumerate(zip(strides, others))]
        here = program.word("workspace")
        words = (x, w, bias, outs[0], here) if blocks.order is not None else (x, w, outs[0], bias, here)
        program.add([program.launch(multiply, *words), program.launch(after, outs[0], *operands, *outs[1:])])
        first += count
    return program.prepare(program.workspace)


def _least(blocks):
    """Rows, or images, that are worth a launch."""
    return (256 if blocks.order is None else 1) * get_num_threads()


# ---------------------------------------------------------------- running
def apart(tensors: list, attributes: tuple) -> list:
    """The results, by the product and the calls, each by itself.

    Args:
        tensors, attributes: of the op.
    """
    product, own, count, calls, results, keeps = attributes
    value = miss(registry[product], tuple(tensors[:count]), own)
    found = run_calls(calls, [value, *tensors[count:]])
    return [*([value] if keeps else []), *[found[i] for i in results]]


def _execute(plan, *arguments):
    *tensors, product, attributes, count, calls, results, keeps = arguments
    own, others = tensors[:count], tensors[count:]
    if plan.prepared is None or recording(*[t for t in tensors if t is not None]):
        found = apart(tensors, arguments[len(tensors):])
        return found[0] if len(found) == 1 else tuple(found)
    out, order = plan.out, plan.extra.order
    if order is not None:
        whole = registry[product].planned_for(tuple([None if t is None else t.layout for t in own]), attributes)
        orders = (*whole.orders, contiguous_format)
        own = [None if t is None else whole.operand(t, wanted) for t, wanted in zip(own, orders)]
    made = [empty(out) for _ in range(len(results) + (keeps or len(results) > 1))]
    workspace = take(ring_for(plan.prepared.workspace, out.device)) if plan.prepared.workspace else None
    addresses = [0 if t is None else t.address for t in own]
    plan.call(*addresses, *[0] * (3 - count), 0 if workspace is None else workspace.address, *[t.address for t in others],
              *[t.address for t in made], plan.descriptor)
    given = made if keeps or len(made) == 1 else made[1:]
    return given[0] if len(given) == 1 else tuple(given)


EPILOGUE.execute = _execute
