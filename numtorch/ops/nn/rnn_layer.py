"""One direction of one layer of an RNN, LSTM or GRU, over all its steps: an op with a fused time loop forward and backward.

Rows stand step after step: step t has `sizes[t]` of them, falling or equal (as a PackedSequence lies in memory; without padding all
sizes are the same), and row i of every step belongs to sequence i. A cell is a layer of one step.

Forward is the loop (kernels/families/recurrent.py), in which each step multiplies its inputs with their weights where that is
worth it; else one product of all inputs comes first. Backward is the loop in the other direction, then one product for each weight
over all steps. Where a gradient is itself to be differentiated, and where there are no elements, the same layer is written in ops
(`formula`).
"""
from __future__ import annotations

from functools import partial

from ...autograd.api import grad as gradients
from ...autograd.graph import GraphNode, attach_outputs, recording
from ...autograd.modes import modes
from ...dtypes import float32, uint8
from ...kernels.families.recurrent import GATES
from ...layout import Layout
from ...tensor import constants, empty, lasting, view_of, wrap
from ..core.arguments import expect_dtypes
from ..core.backends import has_kernels, kernels
from ..core.primitive import Primitive, derivative_of, miss, new_plan_table
from ..creation import fill
from ..index.index_select import index_select
from ..linalg.matmul import Product
from ..memory.assign import zero_
from ..memory.copies import contiguous, plan_copy
from ..pointwise.activation import relu, sigmoid
from ..pointwise.arithmetic import mul, sub
from ..pointwise.elementary import tanh
from ..pointwise.functions import add
from ..reduce.reduce_op import SUM
from ..shape.join import cat
from ..shape.slicing import narrow
from ..shape.views import view_as
from .linear import linear

LAYERS = {kind: Primitive(kind, parameters=("input", "hx", "cx", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr"), samples=(
    f"T[3, 4], T[2, 5], {'T[2, 5]' if kind == 'lstm' else None}, T[{gates * 5}, 4], T[{gates * 5}, 5], T[{gates * 5}], "
    f"T[{gates * 5}], None; (2, 1), False, False, True, True")) for kind, gates in GATES.items()}


def run_layer(kind, x, sizes, reverse, before, cell_before, w_ih, w_hh, b_ih=None, b_hh=None, w_hr=None, *, alone=False):
    """Run a layer.

    Args:
        kind: `"lstm"`, `"gru"`, `"rnn_tanh"` or `"rnn_relu"`.
        x: (rows, input_size), all steps.
        sizes: tuple of the rows in each step.
        reverse: whether time runs backwards.
        before: (sizes[0], out_size), the initial hidden state; None for zeros.
        cell_before: (sizes[0], hidden_size), LSTM only, else None; None for zeros where `before` is.
        w_ih, w_hh, b_ih, b_hh: (gates * hidden_size, input_size), (gates * hidden_size, out_size) and two of (gates * hidden_size).
        w_hr: LSTM's projection, (out_size, hidden_size).
        alone: whether no other layer's final states stand beside these, which then may come as (1, sizes[0], *).

    Returns:
        Hidden states (rows, out_size), the final hidden state and the LSTM's final cell state (else None).
    """
    from_zeros = before is None
    if from_zeros:
        before = _zero_state(x.layout, sizes[0], w_hh.layout.shape[1])
        cell_before = _zero_state(x.layout, sizes[0], w_ih.layout.shape[0] // 4) if kind == "lstm" else None
    if not before.layout.contiguous:
        before = contiguous(before)
    if cell_before is not None and not cell_before.layout.contiguous:
        cell_before = contiguous(cell_before)
    inputs = (x, before, cell_before, w_ih, w_hh, b_ih, b_hh, w_hr)
    recorded, primitive = recording(*inputs), LAYERS[kind]
    plan = primitive.plans.get((
        x.layout, before.layout, None if cell_before is None else cell_before.layout, w_ih.layout, w_hh.layout,
        None if b_ih is None else b_ih.layout, None if b_hh is None else b_hh.layout, None if w_hr is None else w_hr.layout,
        sizes, reverse, from_zeros, alone, recorded))
    if plan is None:
        return miss(primitive, inputs, (sizes, reverse, from_zeros, alone, recorded))
    return plan.run(x, before, cell_before, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse, from_zeros, alone, recorded)


_zeros = new_plan_table()                                # initial states by their layout; nobody writes to them, or sees them
_KEPT_BYTES = 1 << 16


def _zero_state(layout, *shape):
    """Zeros of a shape, of the dtype and on the device of `layout`."""
    wanted = Layout.of(layout.dtype, shape, None, layout.device)
    zeros = _zeros.get(wanted)
    if zeros is None:
        zeros = zero_(lasting(wanted))                   # a compiled program takes what is in rings for scratch memory
        if wanted.nbytes <= _KEPT_BYTES and not zeros.memory.inference:
            _zeros.keep(wanted, zeros)
            zeros.memory.version = 0
            constants.add(zeros.memory)
    return zeros


def _apart(tensor):
    """The memory of a result without the tensor, which would lead from its node to itself."""
    return wrap(tensor.memory, tensor.address, tensor.layout)


def _from_row(x, row):
    """x from a row on, for a kernel that knows how many rows there are."""
    return view_of(x, x.layout, row * x.layout.shape[1]) if row else x


class _Scratch:
    """A prepared kernel and the layout of the memory that it works in."""

    __slots__ = ("call", "descriptor", "layout", "prepared")

    def __init__(self, prepared, device):
        self.prepared, self.call, self.descriptor = prepared, prepared.call, prepared.descriptor
        self.layout = Layout.of(uint8, (prepared.workspace,), None, device) if prepared.workspace else None


def _check_layer(kind, x, before, cell_before, w_ih, w_hh, b_ih, b_hh, w_hr, sizes):
    """Raise where shapes do not belong together. Modules have looked before; who read the call from a file has not."""
    expect_dtypes(kind, x.dtype, "float", "complex")
    width, hidden = w_ih.shape[0], w_ih.shape[0] // GATES[kind]
    batch, out_size = sizes[0] if sizes else 0, hidden if w_hr is None else w_hr.shape[0]
    expected = [(w_ih, (hidden * GATES[kind], x.shape[-1])), (w_hh, (width, out_size)), (b_ih, (width,)), (b_hh, (width,)),
                (w_hr, (out_size, hidden)), (before, (batch, out_size)), (cell_before, (batch, hidden))]
    if x.ndim != 2 or not sizes or sum(sizes) != x.shape[0] or sizes[-1] < 0 or [*sizes] != sorted(sizes, reverse=True) or any(
            layout is not None and (layout.shape != shape or layout.dtype is not x.dtype) for layout, shape in expected):
        raise RuntimeError(f"{kind}: expected steps of {x.shape[0]} rows in all, none larger than the one before, and states and "
                           f"weights of their sizes and of dtype {x.dtype}, got steps {sizes} of {list(x.shape)}, and "
                           f"{[list(layout.shape) for layout, _ in expected if layout is not None]}")


class _Layer:
    """What a layer's call must know once the layouts are known."""

    def __init__(self, kind, *key):
        x, before, cell_before, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse, from_zeros, alone, recorded = self.key = key
        _check_layer(kind, x, before, cell_before, w_ih, w_hh, b_ih, b_hh, w_hr, sizes)
        self.kind, self.sizes, self.reverse, self.from_zeros = kind, sizes, reverse, from_zeros
        self.single, self.uniform = len(sizes) == 1, sizes[-1] == sizes[0]
        self.device, self.rows, self.batch = x.device, x.shape[0], sizes[0]
        self.width, self.out_size = w_ih.shape[0], w_hh.shape[1]
        self.hidden_size = self.width // GATES[kind]
        self.loop = self.index = self.previous = None
        self.x, self.input_weight, self.weight, self.projection = x, w_ih, w_hh, w_hr
        self.backward_plans = {}
        device, dtype = self.device, x.dtype
        if not (self.rows and self.hidden_size) or not dtype.is_floating_point or not has_kernels(device, "rnn.rnn"):
            return
        family = self.family = kernels(device, "rnn.rnn")
        layout = lambda *shape: Layout.of(dtype, shape, None, device)
        self.hidden = layout(self.rows, self.out_size)
        self.gates = layout(self.rows, self.width) if GATES[kind] > 1 else None
        self.cell = layout(self.rows, self.hidden_size) if kind == "lstm" else None
        self.raw = layout(self.rows, self.hidden_size) if w_hr is not None else None
        self.kept = layout(self.rows, self.hidden_size) if kind == "gru" and recorded else None
        self.products = layout(self.batch, self.width) if kind == "gru" else None
        self.zeros = _zero_state(x, self.batch, self.width) if kind == "gru" and from_zeros else None
        self.state, self.cell_state = layout(self.batch, self.out_size), layout(self.batch, self.hidden_size)
        first = 0 if reverse else (self.rows - self.batch) * dtype.itemsize
        self.several_ends = [(each, first * each.shape[1], plan_copy(each, each)) for each in (self.state, self.cell_state)]
        self.ends = [(layout(1, *each.shape), start, copy) for each, start, copy in self.several_ends]
        self.no_gradient = [_zero_state(x, *each.shape) for each in (self.state, self.cell_state)]
        # the sums' bias: GRU adds the hidden one to the hidden product alone
        self.two_biases = kind != "gru" and b_ih is not None and b_hh is not None
        bias = b_ih if b_ih is not None or kind == "gru" else b_hh
        transposed = [None if w is None else w.strides[::-1] for w in (w_hh, w_hr)]
        self.sums = layout(self.rows, self.width)
        self.inside = x.contiguous and family.input_inside(dtype.kernel, sizes, x.shape[1], self.out_size, self.width)
        self.loop = _Scratch(family.plan_forward(
            kind, dtype.kernel, sizes, reverse, self.hidden_size, self.out_size, *transposed, self.kept is not None, from_zeros,
            x.shape[1] if self.inside else 0, bias is not None), device)
        self.input = None if self.inside else Product(self.sums, kernels(device, "gemm.gemm").plan_gemm(
            self.rows, self.width, x.shape[1], dtype.kernel, x.strides, w_ih.strides[::-1], (self.width, 1),
            bias=None if bias is None else "column", bias_stride=1 if bias is None or self.two_biases else bias.strides[0]))
        self.pieces = self._pieces() if recorded else None
        self.packed = family.pays_to_pack(dtype.kernel, sizes)
        self.forward_panels = [self._panels(w, w.strides[::-1], w.shape[::-1]) for w in (w_hh, w_hr) if w is not None]
        self.input_panels = [self._panels(w_ih, w_ih.strides[::-1], w_ih.shape[::-1])] if self.inside else None
        self.backward_panels = [self._panels(w, w.strides, w.shape) for w in (w_hh, w_hr) if w is not None and recorded]

    def _panels(self, weight, strides, shape):
        """The kernel that packs a weight into panels, and their layout; None where it is used as it lies."""
        if not self.packed:
            return None
        family, dtype = self.family, weight.dtype
        return (family.plan_panels(dtype.kernel, *shape, strides),
                Layout.of(dtype, (family.size_of_panels(dtype.kernel, *shape),), None, self.device))

    def run(self, x, before, cell_before, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse, from_zeros, alone, recorded):
        """Hidden states, the final ones and the final cell states. Backward wants the gates too, all cell states, the states before
        the projection and GRU's hidden products."""
        if self.loop is None:
            return formula(self.kind, x, sizes, reverse, before, cell_before, w_ih, w_hh, b_ih, b_hh, w_hr)
        if self.kind == "gru":
            bias, inner_bias = b_ih, _contiguous(b_hh)
        else:
            bias = add(_apart(b_ih), _apart(b_hh)) if self.two_biases else b_hh if b_ih is None else b_ih
            inner_bias = None
        if self.inside:
            gates, input_weight, bias = empty(self.sums), _packed(self.input_panels, (w_ih,))[0], _contiguous(bias)
        else:
            gates, input_weight = self.input.run(x, w_ih, bias), None
        hidden = gates if self.gates is None else empty(self.hidden)
        cell = None if self.cell is None else empty(self.cell)
        raw = None if self.raw is None else empty(self.raw)
        kept = None if self.kept is None else empty(self.kept)
        products = None if self.products is None else empty(self.products)
        weights = w_hh, w_hr
        if self.packed:
            weights = _packed(self.forward_panels, weights)
        plan = self.loop
        scratch = None if plan.layout is None else empty(plan.layout)
        plan.call(gates.address, before.address, _address(cell_before), weights[0].address, _address(inner_bias),
                  _address(weights[1]), hidden.address, _address(cell), _address(raw), _address(products), _address(kept),
                  _address(scratch), _address(self.zeros), x.address, _address(input_weight), _address(bias), plan.descriptor)
        if self.single:
            outputs = (hidden,) if cell is None else (hidden, cell)
        else:
            end, cell_end = self.ends if alone else self.several_ends
            last = self.last(hidden, end)
            outputs = (hidden, last) if cell is None else (hidden, last, self.last(cell, cell_end))
        if recorded and modes.grad:                      # a graph of such a call may run where nothing is recorded
            inputs = x, before, cell_before, w_ih, w_hh, b_ih, b_hh, w_hr
            saved = (_apart(hidden), None if self.gates is None else gates, None if cell is None else _apart(cell), raw, kept)
            edges = tuple([None if t is None else t.node for t in inputs])
            node = GraphNode(LAYERS[self.kind], edges, inputs + saved, self.key, len(outputs))
            if len(outputs) == 1:
                hidden.node = node
            else:
                attach_outputs(node, outputs)
        if self.single:
            return hidden, hidden, cell
        return hidden, outputs[1], outputs[2] if cell is not None else None

    def last(self, states, end):
        """The hidden or cell states that sequences end with; `end` is of `ends` or `several_ends`."""
        if self.uniform:
            layout, start, copy = end
            out = empty(layout)
            copy.call(states.address + start, out.address, copy.descriptor)
            return out
        if self.index is None:
            rows = [0] * self.batch
            for count, at, _, state in self.family.steps_of(self.sizes, 0, self.batch, self.reverse):
                rows[state:state + count] = range(at, at + count)
            self.index = fill.tensor(rows, device=self.device)
        return index_select(_apart(states), 0, self.index)

    def gradient_of_end(self, grad, which):
        """The gradient of the final hidden (0) or cell (1) states as memory that the loop may write to; zeros where it is None."""
        layout, zeros, copy = self.several_ends[which][0], self.no_gradient[which], self.several_ends[which][2]
        source = zeros if grad is None else contiguous(grad)
        out = empty(layout)
        copy.call(source.address, out.address, copy.descriptor)
        return out

    def _pieces(self):
        """Where the gradients of the gates' sums meet the states before them: a number of rows, the first row among the gradients,
        and the first row among the hidden states, or None for the initial ones, which are left out where they are zeros."""
        if not self.uniform:
            return [(self.rows, 0, 0)]                   # gathered: `states_before`
        rest = self.rows - self.batch
        result = [(rest, 0, self.batch) if self.reverse else (rest, self.batch, 0)] if rest else []
        return result if self.from_zeros else [*result, (self.batch, rest if self.reverse else 0, None)]

    def states_before(self, before, hidden):
        """The hidden state before each row, where sequences end at different steps."""
        if self.previous is None:
            rows_before = [0] * self.rows
            for rows, at, begin, state in self.family.steps_of(self.sizes, 0, self.batch, self.reverse):
                start = self.rows + state if begin is None else begin
                rows_before[at:at + rows] = range(start, start + rows)
            self.previous = fill.tensor(rows_before, device=self.device)
        return index_select(cat((hidden, before)), 0, self.previous)

    def gradient_of_hidden_weight(self, product, grads, before, hidden):
        """From the gradients of the gates' sums and the states before them."""
        if not self.pieces:
            return fill.zeros(*product.out.shape, dtype=product.out.dtype, device=self.device)
        if self.single:
            return product.run((grads, before))
        states = hidden if self.uniform else self.states_before(before, hidden)
        return product.run(*[(_from_row(grads, at), before if row is None else _from_row(states, row))
                             for _, at, row in self.pieces])

    def backward(self, has, to_before, wanted):
        """The kernels for those gradients that come and are wanted."""
        key = has, to_before, wanted
        plan = self.backward_plans.get(key)
        if plan is None:
            plan = self.backward_plans[key] = _Backward(self, *key)
        return plan


for _primitive in LAYERS.values():
    _primitive.planned(partial(_Layer, _primitive.name))
    _primitive.execute = _Layer.run


class _Backward:
    """The kernels of a layer's backward pass: the loop, and one product over all steps for each other gradient that is wanted.

    Args:
        layer: the layer.
        has: which gradients come: of the final hidden and cell state, and of the outputs.
        to_before: whether the initial states' gradients are wanted.
        wanted: whether those of x, w_ih, w_hh, w_hr, b_ih and b_hh are.
    """

    def __init__(self, layer, has, to_before, wanted):
        device, dtype, rows, width = layer.device, layer.hidden.dtype, layer.rows, layer.width
        for_x, for_input, for_hidden, for_projection, for_b_ih, for_b_hh = wanted
        other = for_b_hh and layer.kind == "gru"         # a GRU's two biases have gradients of their own
        self.totals = (("grad_gates",) if for_b_ih or (for_b_hh and not other) else ()) + (("grad_products",) if other else ())
        prepared, parts = layer.family.plan_backward(
            layer.kind, dtype.kernel, layer.sizes, layer.reverse, layer.hidden_size, layer.out_size, layer.weight.strides,
            None if layer.projection is None else layer.projection.strides, has, to_before, self.totals)
        self.loop, self.dtype = _Scratch(prepared, device), dtype
        compute = float32 if dtype.itemsize == 2 else dtype
        self.partial = Layout.of(compute, (parts, width), (len(self.totals) * width, 1), device)
        self.by_x = self.by_input = self.by_hidden = self.by_projection = None
        features = layer.x.shape[1]
        if for_x:
            self.by_x = Product(Layout.of(dtype, (rows, features), None, device), kernels(device, "gemm.gemm").plan_gemm(
                rows, features, width, dtype.kernel, (width, 1), layer.input_weight.strides, (features, 1)))
        if for_input:
            self.by_input = _WeightGradient(device, dtype, (rows,), width, features, layer.x.strides)
        if for_hidden:
            counts = [count for count, _, _ in layer.pieces]
            self.by_hidden = _WeightGradient(device, dtype, counts, width, layer.out_size, (layer.out_size, 1))
        if for_projection:
            self.by_projection = _WeightGradient(device, dtype, (rows,), layer.out_size, layer.hidden_size, (layer.hidden_size, 1))

    def total(self, name, scratch):
        """A bias' gradient, from the parts' sums at the start of the loop's workspace; None where it is not wanted."""
        if name not in self.totals:
            return None
        place = self.totals.index(name) * self.partial.shape[1] * self.partial.dtype.itemsize
        total = SUM.run(wrap(scratch.memory, scratch.address + place, self.partial), 0)
        return total if self.partial.dtype is self.dtype else total.to(self.dtype)


class _WeightGradient:
    """A weight's gradient, grad.T @ rows over all steps at once, whose rows may come in several pieces; computed transposed where
    the device's kernels gain by it.

    Args:
        counts: rows in each piece.
        width, features: columns of grad and rows.
        strides: of rows.
    """

    def __init__(self, device, dtype, counts, width, features, strides):
        self.transpose, shape, left, right = None, (width, features), (1, width), strides
        family = kernels(device, "rnn.rnn")
        if family.pays_to_transpose(dtype.kernel, sum(counts), width, features):
            self.transpose = family.plan_transposed(dtype.kernel, features, width)
            shape, left, right = (features, width), strides[::-1], (width, 1)
        self.out = Layout.of(dtype, (width, features), None, device)
        plan = kernels(device, "gemm.gemm").plan_gemm
        result, pitch = Layout.of(dtype, shape, None, device), (shape[1], 1)
        self.products = [Product(result, plan(*shape, count, dtype.kernel, left, right, pitch, beta=1.0 if place else 0.0))
                         for place, count in enumerate(counts)]

    def run(self, *pieces):
        """From pairs of grad and rows."""
        out = None
        for product, (grad, rows) in zip(self.products, pieces):
            left, right = (grad, rows) if self.transpose is None else (rows, grad)
            out = product.run(left, right) if out is None else product.add_to(out, left, right)
        if self.transpose is None:
            return out
        transposed = empty(self.out)
        self.transpose.call(out.address, transposed.address, self.transpose.descriptor)
        return transposed


def _packed(panels, weights):
    """Weights in panels; None stays None."""
    packed = []
    for (prepared, layout), weight in zip(panels, weights):
        out = empty(layout)
        prepared.call(weight.address, out.address, prepared.descriptor)
        packed.append(out)
    return packed if len(packed) == 2 else (packed[0], None)


def _contiguous(bias):
    """A bias as kernels take it; None stays None."""
    return None if bias is None else contiguous(_apart(bias))


def _address(tensor):
    return 0 if tensor is None else tensor.address


# ---------------------------------------------------------------- backward
@derivative_of(*LAYERS.values())
def _layer_vjp(node, grads, x, before, cell_before, w_ih, w_hh, b_ih, b_hh, w_hr, hidden, gates, cell, raw, kept):
    grads = grads if isinstance(grads, list) else [grads]
    if modes.grad:
        return _formula_vjp(node, grads, x, before, cell_before, w_ih, w_hh, b_ih, b_hh, w_hr)
    plan = node.primitive.plan_at(node.attributes)
    for_x, for_before, for_cell, for_input, for_hidden, for_b_ih, for_b_hh, for_projection = [e is not None for e in node.edges]
    grad_out, later, later_cell = grads[0], None, None
    if plan.single:
        later_cell = grads[1] if cell is not None else None
    else:
        later, later_cell = grads[1], grads[2] if cell is not None else None
    if grad_out is not None:
        grad_out = contiguous(grad_out)
    to_before = for_before or for_cell or not plan.single
    if not plan.single:
        later, has_later = plan.gradient_of_end(later, 0), True
    else:
        later, has_later = empty(plan.state) if to_before else None, False
    has_cell = later_cell is not None or (cell is not None and not plan.single)
    if cell is not None and (to_before or has_cell):
        if later_cell is not None and not to_before:     # only read
            later_cell = contiguous(later_cell)
        else:
            later_cell = plan.gradient_of_end(later_cell, 1) if has_cell else empty(plan.cell_state)
    kernels_of = plan.backward((has_later, has_cell, grad_out is not None), for_before or for_cell,
                               (for_x, for_input, for_hidden, for_projection, for_b_ih, for_b_hh))
    loop = kernels_of.loop
    grad_gates = empty(plan.gates if plan.gates is not None else plan.hidden)
    grad_products = empty(plan.gates) if plan.kind == "gru" else grad_gates
    grad_hidden, grad_raw = (empty(plan.hidden), empty(plan.cell_state)) if w_hr is not None else (None, None)
    scratch = None if loop.layout is None else empty(loop.layout)
    weights = _packed(plan.backward_panels, (w_hh, w_hr)) if plan.packed else (w_hh, w_hr)
    loop.call(_address(later), _address(later_cell), _address(grad_out), _address(gates), before.address, _address(cell_before),
              hidden.address, _address(cell), _address(kept), weights[0].address, _address(weights[1]), grad_gates.address,
              grad_products.address, _address(grad_hidden), _address(grad_raw), _address(scratch), loop.descriptor)
    by_bias = kernels_of.total("grad_gates", scratch)
    by_hidden_bias = by_bias if grad_products is grad_gates else kernels_of.total("grad_products", scratch)
    return (kernels_of.by_x.run(grad_gates, w_ih) if for_x else None,
            later if for_before else None,
            later_cell if for_cell else None,
            kernels_of.by_input.run((grad_gates, x)) if for_input else None,
            plan.gradient_of_hidden_weight(kernels_of.by_hidden, grad_products, before, hidden) if for_hidden else None,
            by_bias if for_b_ih else None, by_hidden_bias if for_b_hh else None,
            kernels_of.by_projection.run((grad_hidden, raw)) if for_projection else None)


def _formula_vjp(node, grads, *inputs):
    """Gradients that can be differentiated: those of the formula, run again."""
    plan = node.primitive.plan_at(node.attributes)
    inputs = [None if t is None else view_as(t, t) for t in inputs]      # backward ends at these
    x, before, cell_before, *weights = inputs
    hidden, last, cell = formula(plan.kind, x, plan.sizes, plan.reverse, before, cell_before, *weights)
    outputs = [o for o in ((hidden, cell) if plan.single else (hidden, last, cell)) if o is not None]
    pairs = [(out, view_as(grad, out)) for out, grad in zip(outputs, grads) if grad is not None]
    wanted = [t for t, edge in zip(inputs, node.edges) if edge is not None]
    result = iter(gradients([out for out, _ in pairs], wanted, [grad for _, grad in pairs], create_graph=True, allow_unused=True))
    return tuple([None if edge is None else next(result) for edge in node.edges])


# ---------------------------------------------------------------- the same in ops
def formula(kind, x, sizes, reverse, before, cell_before, w_ih, w_hh, b_ih=None, b_hh=None, w_hr=None):
    """What `run_layer` computes, written in ops: differentiable any number of times, on any device."""
    sums, starts = linear(x, w_ih, b_ih), [0]
    for size in sizes:
        starts.append(starts[-1] + size)
    steps = range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes))
    outputs, ended = [None] * len(sizes), []
    running = 0 if reverse else sizes[0]
    state = [None if s is None else narrow(s, 0, 0, running) for s in (before, cell_before)]
    for t in steps:
        size = sizes[t]
        if size < running:                               # sequences that ended at the step before
            ended.append([None if s is None else narrow(s, 0, size, running - size) for s in state])
            state = [None if s is None else narrow(s, 0, 0, size) for s in state]
        elif size > running:                             # backwards in time, sequences whose last step this is
            state = [None if s is None else cat((s, narrow(new, 0, running, size - running)))
                     for s, new in zip(state, (before, cell_before))]
        running = size
        state = _step(kind, narrow(sums, 0, starts[t], size), state, w_hh, b_hh, w_hr)
        outputs[t] = state[0]
    if len(sizes) == 1:
        return outputs[0], outputs[0], state[1]
    final = [None if part[0] is None else cat(part) if len(part) > 1 else part[0] for part in zip(state, *reversed(ended))]
    return cat(outputs), final[0], final[1]


def _step(kind, sums, state, w_hh, b_hh, w_hr):
    """One step: the new hidden and cell state."""
    hidden, cell = state
    product = linear(hidden, w_hh, b_hh)
    if kind == "gru":
        size = hidden.layout.shape[1]
        part = lambda x, index: narrow(x, 1, index * size, size)
        reset, update = (sigmoid(add(part(sums, i), part(product, i))) for i in (0, 1))
        candidate = tanh(add(part(sums, 2), mul(reset, part(product, 2))))
        return [add(candidate, mul(update, sub(hidden, candidate))), None]
    total = add(sums, product)
    if kind != "lstm":
        return [(relu if kind == "rnn_relu" else tanh)(total), None]
    size = cell.layout.shape[1]
    enter, forget, candidate, show = (narrow(total, 1, i * size, size) for i in range(4))
    cell = add(mul(sigmoid(forget), cell), mul(sigmoid(enter), tanh(candidate)))
    hidden = mul(sigmoid(show), tanh(cell))
    return [hidden if w_hr is None else linear(hidden, w_hr), cell]
