"""The op that a product or convolution becomes with the elementwise calls behind it (passes/epilogues.py): block by block, of
rows, matrices or images, so that these find a block in the cache as the product left it.

Its tensors are those of the product, then the other operands of the calls. Its attributes are the product's name and attributes,
how many tensors that takes, the calls as `fused` has them, of which `("x", 0)` is what the product gives, which of them are
results, and whether what the product gives is the first result.

One of the calls may be dropout, `("dropout", operand, p)`, whose mask then is the last result. Elements are drawn by their
numbers, in chunks of `CHUNK`: blocks begin at these, so the stream is that of dropout by itself, and one kernel draws both.
"""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...autograd.graph import recording, saved_tensors_hooks
from ...autograd.modes import enable_grad, modes
from ...dtypes import bool_, float32, float64
from ...kernels.binding import ScalarBody
from ...kernels.cpu.micro.tile import second_level_bytes
from ...kernels.program import MOST_WORDS, Program
from ...kernels.threads import get_num_threads
from ...layout import Layout, broadcast_shapes, broadcast_strides, contiguous_format, formatted
from ...ops.core.backends import kernels
from ...ops.core.generator import default_generator
from ...ops.core.primitive import Plan, Primitive, miss, registry
from ...ops.memory.detach import detach
from ...ops.nn.dropout import scaling
from ...storage import ring_for, take
from ...tensor import empty
from .fused import check, formula_of, run_calls
from .rowwise import ALONG

EPILOGUE = Primitive("epilogue", "A product or convolution, and elementwise ops on its blocks.",
                     ("tensors", "product", "attributes", "count", "calls", "results", "keeps"))
PRODUCTS = ("mm", "linear", "linear_relu", "bmm", "matmul", "convolution", "convolution_relu")
DRAWS = ("dropout", "alpha_dropout")
CHUNK = 128                                              # elements that one block of random words is for (kernels/cpu/random)


class _Blocks(NamedTuple):
    """A product of `size` rows, matrices or images, which can be had in blocks.

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
    if not plan:
        raise ValueError(f"epilogue: {product} is not planned for {layouts}")
    return plan.result if _is_convolution(product) else plan.out


def _is_convolution(product):
    return product.startswith("convolution")


def _rows(product, layouts, out):
    """A product of matrices, by its rows."""
    a, b, *bias = layouts
    bias = bias[0] if bias else None
    if (product != "mm" and a.ndim > 2 and not a.contiguous) or a.ndim < 2 or b.ndim != 2:
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
            activation="relu" if product == "linear_relu" else None,
            bias=None if bias is None else "column", bias_stride=1 if bias is None else bias.strides[0])
    return _Blocks(of, out.numel // features, (out.numel // features, features), (features, 1), (row * item, 0, 0), None)


def _batches(layouts, out):
    """Products of batches of matrices, by what the first dimension counts."""
    a, b = layouts
    batch = out.shape[:-2]
    if not batch or a.shape[:-2] != batch or b.shape[:-2] != batch or out.numel == 0 or not out.contiguous:
        return None
    each = [_merged((*l.strides[:-2], 1), (*batch, 1)) for l in (a, b, out)]
    if None in each or any(s < 0 for l in (a, b) for s in l.strides):
        return None
    item, inner = out.dtype.itemsize, math.prod(batch[1:])

    def of(count):
        return kernels(out.device, "gemm.gemm").plan_gemm(
            *out.shape[-2:], a.shape[-1], out.dtype.kernel, a.strides[-2:], b.strides[-2:], out.strides[-2:], batch=count * inner,
            batch_strides=tuple([step for step, _ in each]))
    return _Blocks(of, batch[0], tuple(out.shape), out.strides, (a.strides[0] * item, b.strides[0] * item, 0), None)


def _images(product, layouts, out, attributes):
    """A convolution, by its images."""
    x, w, bias = layouts
    whole = registry[product].planned_for((x, w, bias), attributes)
    order = whole.orders[0]
    if whole.out is not whole.result or whole.orders[1] is not contiguous_format or x.dtype is not w.dtype:
        return None
    item = out.dtype.itemsize

    def of(count):
        one = formatted(Layout.of(x.dtype, (count, *x.shape[1:]), None, x.device), order)
        plan = registry[product].plan(one, w, bias, *attributes)
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


class _Stage(NamedTuple):
    """Calls in one launch: `calls` read what `operands` name, and `results` of them are kept in memory.

    Attributes:
        first: the number of the first call.
        calls: as `fused` has them, of these operands.
    """

    first: int
    calls: tuple
    operands: list
    results: tuple


class Drawn(NamedTuple):
    """The call of dropout among calls: its number, name, operand and probability."""

    number: int
    op: str
    operand: tuple
    p: float


def drawn(calls: tuple) -> Drawn | None:
    """The call of dropout among an epilogue's, or None.

    Args:
        calls: the op's attribute.

    Raises:
        ValueError: there are several, or one is none.
    """
    draws = [Drawn(number, *call) for number, call in enumerate(calls) if call[0] in DRAWS and len(call) == 3]
    if len(draws) > 1 or any(type(each.p) is not float or not 0 <= each.p <= 1 for each in draws):
        raise ValueError(f"epilogue: expected one dropout with a probability from 0 to 1, got {draws}")
    return draws[0] if draws else None


def _stage(calls, first, stop, results):
    """The calls from one number to another as a stage; None where there are none. What overwrites its operand reads that first."""
    if first == stop:
        return None
    operands: list = [("v", first - 1) if first else ("x", 0)]
    kept = {*results, *[o[1] for call in calls[stop:] for o in call[1:] if isinstance(o, tuple) and o[0] == "v"]}

    def moved(operand):
        if not isinstance(operand, tuple):
            return operand
        if operand[0] == "v" and operand[1] >= first:
            return "v", operand[1] - first
        if operand not in operands:
            operands.append(operand)
        return "x", operands.index(operand)
    own = tuple([(op, *map(moved, given)) for op, *given in calls[first:stop]])
    return _Stage(first, own, operands, tuple([i - first for i in range(first, stop) if i in kept]))


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
    draw = drawn(calls)
    if draw is not None and not out.contiguous:
        raise ValueError(f"epilogue: expected elements in order for dropout, got {out!r}")
    plain = tuple([("neg", call[1]) if draw and i == draw.number else call for i, call in enumerate(calls)])     # of one operand
    check(plain, results, (out,) * len(results), 1 + len(others))
    blocks = None if out.device.type != "cpu" else _images(product, own, out, attributes) if _is_convolution(product) else \
        _batches(own, out) if product in ("bmm", "matmul") else _rows(product, own, out)
    prepared, memory = (None, None) if blocks is None else _program(blocks, out, others, calls, draw, results, keeps)
    if prepared is not None and prepared.workspace:
        memory = memory._replace(scratch=ring_for(prepared.workspace, out.device))
    return Plan(EPILOGUE, layouts, out, prepared, memory)


class _Memory(NamedTuple):
    """What a call takes besides its tensors.

    Attributes:
        made: how many tensors like the product's result.
        given: which of them are results.
        mask: of dropout, a layout or None; `counters` are those that it claims of the stream.
        order: of the images in memory.
        scratch: the ring of its scratch memory, which lives as long as the plan: else other tensors get what a captured call has
            written down.
    """

    made: int
    given: list
    mask: Any
    counters: int
    order: Any
    scratch: Any = None


def _memory(stages, draw, results, keeps, out, order):
    """Where each value is: the numbers of the tensors that are made, by operands. What nobody needs is written over."""
    home: dict = {("x", 0): 0}
    wanted = [*([("x", 0)] if keeps else []), *[("v", i) for i in results]]
    made = 1
    for number, stage in enumerate(stages):
        if isinstance(stage, Drawn):
            home["v", stage.number], made = made, made + 1   # two names of one memory would not be read as vectors
            continue
        first = stage.operands[0]
        later = any(first in ([each.operand] if isinstance(each, Drawn) else each.operands) for each in stages[number + 1:])
        over = len(stage.results) == 1 and first not in wanted and not later
        for i in stage.results:
            home["v", stage.first + i] = home[first] if over else made
            made += not over
    mask = counters = None
    if draw is not None:
        mask = Layout.of(bool_, out.shape, None, out.device)
        counters = kernels(out.device, "random.philox").counters_used(out.numel)
    return home, _Memory(made, [home[each] for each in wanted], mask, counters or 0, order)


def _program(blocks, out, others, calls, draw, results, keeps):
    """The launches, of block after block, and the memory that they take; None for the former where there are too many words for
    one."""
    strides = [broadcast_strides(l, out.shape) for l in others]
    if len(blocks.shape) != out.ndim:
        strides = [_merged(s, out.shape) for s in strides]
    end = len(calls)
    parts = [_stage(calls, 0, end, results)] if draw is None else \
        [_stage(calls, 0, draw.number, results), draw, _stage(calls, draw.number + 1, end, results)]
    stages = [part for part in parts if part is not None]
    home, memory = _memory(stages, draw, results, keeps, out, blocks.order)
    names = ["x", "w", "bias", "workspace", *[f"o{i}" for i in range(len(others))], *[f"r{i}" for i in range(memory.made)],
             *(["mask", "state"] if draw is not None else [])]
    if None in strides or len(names) >= MOST_WORDS:
        return None, memory
    per = out.numel // blocks.size
    item, program = out.dtype.itemsize, Program(*names)
    each = item * per * (memory.made + sum(s[0] != 0 for s in strides))
    size = min(blocks.size, max(_least(blocks), get_num_threads() * second_level_bytes() // 2 // each))
    step = CHUNK // math.gcd(CHUNK, per) if draw is not None else 1
    size = -(-size // step) * step
    if 2 * size > blocks.size:
        size = blocks.size
    planned: dict = {}
    for first in range(0, blocks.size, size):
        count = min(size, blocks.size - first)
        if count not in planned:
            planned[count] = blocks.of(count), [None if isinstance(stage, Drawn) else
                                                _elementwise(stage, blocks, count, out, others, strides, home) for stage in stages]
        multiply, behind = planned[count]
        if multiply is None:
            return None, memory
        x, w, bias = (program.word(name, first * moved) for name, moved in zip(("x", "w", "bias"), blocks.steps))
        outs = [program.word(f"r{i}", first * blocks.strides[0] * item) for i in range(memory.made)]
        read = {("x", 1 + i): program.word(f"o{i}", first * s[0] * l.dtype.itemsize)
                for i, (s, l) in enumerate(zip(strides, others))}
        read.update((value, outs[i]) for value, i in home.items())
        here = program.word("workspace")
        words = (x, w, bias, outs[0], here) if blocks.order is not None else (x, w, outs[0], bias, here)
        launches = [program.launch(multiply, *words)]
        for stage, after in zip(stages, behind):
            if isinstance(stage, Drawn):
                drop = kernels(out.device, "random.dropout").plan_dropout(
                    out.dtype.kernel, count * per, 1.0 - stage.p, *scaling(registry[stage.op], stage.p), first=first * per // CHUNK)
                launches.append(program.launch(drop, read[stage.operand], read["v", stage.number],
                                               program.word("mask", first * per), program.word("state")))
            else:
                after, written = after
                given = [outs[home["v", stage.first + i]] for i in stage.results]
                launches.append(program.launch(after, *[read[o] for o in stage.operands], *([] if written else given)))
        program.add(launches)
    return program.prepare(program.workspace), memory


def _elementwise(stage, blocks, count, out, others, strides, home):
    """The kernel of a stage for blocks of so many rows or images, and whether it writes over its first operand."""
    written = len(stage.results) == 1 and home["v", stage.first + stage.results[0]] == home[stage.operands[0]]
    kinds = [others[o[1] - 1] if o[0] == "x" and o[1] else out for o in stage.operands]
    where = [strides[o[1] - 1] if o[0] == "x" and o[1] else blocks.strides for o in stage.operands]
    compute = out.dtype.compute
    body = ScalarBody(formula_of(stage.calls, stage.results, len(kinds)), compute)
    return kernels(out.device, "pointwise.pointwise").plan_pointwise(
        body, tuple([l.dtype.kernel for l in kinds]), (out.dtype.kernel,) * len(stage.results), (count, *blocks.shape[1:]),
        [*where, *([] if written else [blocks.strides] * len(stage.results))],
        compute=(compute, *["bool" if l.dtype.name == "bool" else compute for l in kinds[1:]]), written=0 if written else -1,
        results=tuple(range(len(stage.results))) if len(stage.results) > 1 else None,
        cost=sum([registry[op].cost for op, *_ in stage.calls])), written


def _least(blocks):
    """Rows, or matrices or images, that are worth a launch."""
    return (256 if len(blocks.shape) == 2 else 1) * get_num_threads()


# ---------------------------------------------------------------- running
def apart(tensors: list, attributes: tuple) -> list:
    """The results, by the product and the calls, each by itself.

    Args:
        tensors, attributes: of the op.
    """
    product, own, count, calls, results, keeps = attributes
    value = miss(registry[product], tuple(tensors[:count]), own)
    draw, operands = drawn(calls), [value, *tensors[count:]]
    if draw is None:
        results_of = run_calls(calls, operands)
        return [*([value] if keeps else []), *[results_of[i] for i in results]]
    results_of = run_calls(calls[:draw.number], operands)
    made, mask = _dropped((operands if draw.operand[0] == "x" else results_of)[draw.operand[1]], draw)
    results_of = run_calls(calls[draw.number + 1:], operands, [*results_of, made])
    return [*([value] if keeps else []), *[results_of[i] for i in results], mask]


def _dropped(x, draw):
    """What dropout gives, and its mask, which is what it keeps for its derivative."""
    kept: list = []

    def pack(tensor):
        kept.append(tensor)
        return tensor
    recorded = modes.grad and x.node is not None
    with enable_grad(), saved_tensors_hooks(pack, lambda tensor: tensor):
        made = miss(registry[draw.op], (x if recorded else detach(x).requires_grad_(),), (draw.p,))
    return made if recorded else detach(made), detach(kept[0])


def _execute(plan, *arguments):
    *tensors, product, attributes, count, calls, results, keeps = arguments
    own, others = tensors[:count], tensors[count:]
    if plan.prepared is None or recording(*[t for t in tensors if t is not None]):
        outs = apart(tensors, arguments[len(tensors):])
        return outs[0] if len(outs) == 1 else tuple(outs)
    out, memory = plan.out, plan.extra
    if memory.order is not None:
        whole = registry[product].planned_for(tuple([None if t is None else t.layout for t in own]), attributes)
        orders = (*whole.orders, contiguous_format)
        own = [None if t is None else whole.operand(t, wanted) for t, wanted in zip(own, orders)]
    made = [empty(out) for _ in range(memory.made)]
    workspace = None if memory.scratch is None else take(memory.scratch)
    words = [0 if t is None else t.address for t in (*own, *[None] * (3 - count), workspace, *others, *made)]
    given = [made[i] for i in memory.given]
    if memory.mask is not None:
        mask, state = empty(memory.mask), default_generator._advance(memory.counters)
        words += [mask.address, state.ctypes.data]
        given.append(mask)
    plan.call(*words, plan.descriptor)
    return given[0] if len(given) == 1 else tuple(given)


EPILOGUE.execute = _execute
