"""The time loop of a recurrent layer as one call: matrix products and gates in turn, each called by the address of its kernel.

A step is a chain of small calls: its products with the input (unless those of all steps are one large product before,
`input_inside`) and with the hidden state, then the gates (`gates.py`). They are written down as a
program (`kernels/program.py`), in which steps of as many rows are one segment.

Sequences of a batch do not depend on one another, so threads share the sequences and each runs the whole loop on its own: one fork
and join a layer instead of two a step. Where a weight does not fit a core's second level, or each thread would have a handful of
rows, they share the columns of each product instead, and each reads but its part of the weights: an LSTM of 512 units over 4
sequences of 50 steps takes 2.4 times as long forward by sequences (two threads, 1 MB a core).
"""
from __future__ import annotations

from functools import partial

from ... import threads
from ...elementtypes import compute_type, itemsize
from ...families.recurrent import BACKWARD, FORWARD, Backward, ByRows, Forward, Loop, backward_loop, forward_loop, passes_on
from ...families.recurrent import steps_of as steps_of
from ...program import Program, prepare_parts
from ..gemm.gemm import plan_gemm
from ..micro.tile import second_level_bytes
from .gates import plan_gates, plan_sum_rows
from .panels import pays_to_pack as pays_to_pack
from .panels import pays_to_transpose as pays_to_transpose
from .panels import plan_panels as plan_panels
from .panels import plan_product
from .panels import plan_transposed as plan_transposed
from .panels import size_of_panels as size_of_panels


class _Part(Program):
    """The loop of one part. Rows of its arguments are counted in elements.

    Args:
        front: where its own of what stands before all scratch memory begins.
        space: where its own scratch memory begins.
    """

    def __init__(self, dtype, names, front=0, space=0):
        super().__init__(*names)
        self.item, self.front, self.space = itemsize(dtype), front, space

    def rows(self, name, row=0, width=0):
        """Argument `name` moved on by rows of `width` elements."""
        return self.word(name, row * width * self.item)

    def multiply(self, product, left, weight, out, bias=None):
        """The launch of a step's product with a weight."""
        return self.launch(product, left[:], weight, out, bias or self.constant(), self.word("workspace", self.space))


SERIAL_WORK = 2_000_000                                  # multiply-adds of the whole loop below which one thread runs it
FEWEST_ROWS = 8                                          # of a step and part, with which a weight is worth reading in each step
LARGE_STEP = 1 << 20                                     # multiply-adds of a step whose product is worth being shared


def _by_columns(dtype, sizes, out_size, width):
    """Whether threads share the columns of each product rather than the sequences, at the price of a fork and join a product: where
    a weight is too large for a core's second level, or its sequences are so few that a product is bound by reading it."""
    rows = sum(sizes) // len(sizes)
    large = out_size * width * itemsize(dtype) > second_level_bytes()
    return (pays_to_pack(dtype, sizes) and rows * out_size * width >= LARGE_STEP
            and (large or rows < FEWEST_ROWS * threads.get_num_threads()))


def _parts(dtype, sizes, out_size, width):
    """Ranges of sequences of about as many steps, one for each thread that pays; a single one where threads share columns."""
    count, batch, work = threads.get_num_threads(), sizes[0], sum(sizes) * out_size * width
    if count == 1 or batch < 2 or len(sizes) == 1 or work < SERIAL_WORK or _by_columns(dtype, sizes, out_size, width):
        return [(0, batch)]
    lengths = [sum(1 for size in sizes if size > row) for row in range(batch)] if sizes[-1] != batch else [1] * batch
    total, edges, seen = sum(lengths), [0], 0
    for row, length in enumerate(lengths):
        seen += length
        if seen * count >= total * len(edges) and len(edges) < count and row + 1 < batch:
            edges.append(row + 1)
    return list(zip(edges, [*edges[1:], batch]))


def _prepare(dtype, names, parts, build, release, front=0):
    """The loop, with a program a part; the workspace begins with `front` bytes for each."""
    programs, space = [], -(-front * len(parts) // 64) * 64
    for part in parts:
        program = _Part(dtype, names, front * len(programs), space)
        build(program, *part)
        space += threads.part_space(program.workspace)
        programs.append(program)
    return prepare_parts(programs, release_lock=release).with_workspace(space)


# ---------------------------------------------------------------- planners
def _products(dtype, sizes, columns, depth, strides, further, limit):
    """A step's product with a weight seen as (depth, columns), by the number of rows."""
    if strides is None:
        return None
    if pays_to_pack(dtype, sizes):
        return ByRows(lambda rows: plan_product(dtype, rows, columns, depth, further, threaded=limit is None))
    return ByRows(lambda rows: plan_gemm(rows, columns, depth, dtype, (depth, 1), strides, (columns, 1), beta=float(further),
                                         max_parts=limit))


WEIGHT_BYTES = 5 << 18                                   # of both weights that stay in the second-level cache


def input_inside(dtype: str, sizes, features: int, out_size: int, width: int) -> bool:
    """Whether each step computes its own product of the inputs, rather than all steps at once: their sums are then used while they
    are in the cache (an LSTM of 128 units over 32 sequences of 64 steps takes 6 % less forward). The input's weight then is read in
    each step, as the hidden one is, and both must stay in the cache; for 4 rows it did not pay."""
    parts = len(_parts(dtype, sizes, out_size, width))
    return (features > 0 and pays_to_pack(dtype, sizes) and sum(sizes) >= FEWEST_ROWS * parts * len(sizes)
            and (features + out_size) * width * itemsize(dtype) <= WEIGHT_BYTES)


def plan_forward(kind: str, dtype: str, sizes, reverse: bool, hidden_size: int, out_size: int, weight_strides, projection_strides,
                 keeping: bool, from_zeros: bool = False, features: int = 0, bias: bool = False):
    """Plan a layer's loop, from the input or its part of the gates' sums to hidden states.

    Args:
        kind: `"lstm"`, `"gru"`, `"rnn_tanh"` or `"rnn_relu"`.
        sizes: sequences in each step, falling or equal; rows of all steps stand one after another.
        reverse: run from the last step to the first.
        weight_strides: (row, column) strides of the hidden weight seen as (out_size, gates * hidden_size).
        projection_strides: the same of the projection, seen as (hidden_size, out_size), or None where there is none.
        keeping: whether `kept` (GRU) is written for backward.
        from_zeros: whether `before` is all zeros, so that no product with it is computed.
        features: columns of x where `input_inside`; 0 where gates (RNN: hidden) hold the input's part of the sums.
        bias: whether a bias is added to the products with x.

    Addresses, in the order of `FORWARD`, 0 for what is not used: gates (rows, gates * hidden_size; RNN: `hidden` holds them, and
    gates is not used), before and cell_before (the initial states), hidden_weight and projection (in panels where `pays_to_pack`
    says so), hidden_bias (contiguous; GRU only, the others' is among the sums), hidden (rows, out_size), cell (rows, hidden_size),
    raw (rows, hidden_size; before the projection), products (batch, 3 * hidden_size; GRU), kept (rows, hidden_size; GRU), zeros (as
    products; GRU from zeros), and for the products inside x (rows, features), input_weight in panels and a contiguous bias.
    """
    loop = Loop(kind, sizes, reverse, hidden_size, out_size)
    width, work = loop.width, sum(sizes) * out_size * loop.width
    parts = _parts(dtype, sizes, out_size, width)
    alone = len(parts) == 1
    limit = None if alone else 1
    products = _products(dtype, sizes, width, out_size, weight_strides, kind != "gru", limit)
    projections = _products(dtype, sizes, out_size, hidden_size, projection_strides, False, limit)
    inputs = ByRows(lambda rows: plan_product(dtype, rows, width, features, bias=bias, threaded=alone))
    gates = ByRows(lambda rows: plan_gates(kind, dtype, rows, hidden_size, alone, () if keeping else ("kept",), len(sizes) > 1))
    plans = Forward(products, gates, projections, inputs if features else None, keeping, from_zeros, features, bias)
    return _prepare(dtype, FORWARD, parts, partial(forward_loop, loop=loop, plans=plans), work > 1 << 20)


def _absent(**there):
    return [name for name, is_there in there.items() if not is_there]


def plan_backward(kind: str, dtype: str, sizes, reverse: bool, hidden_size: int, out_size: int, weight_strides, projection_strides,
                  has, to_before: bool, summed=()):
    """Plan a layer's loop backwards, to the gradients of the gates' sums and of the initial states.

    Args:
        kind, sizes, reverse, hidden_size, out_size: as for `plan_forward`.
        weight_strides: (row, column) strides of the hidden weight seen as (gates * hidden_size, out_size).
        projection_strides: the same of the projection seen as (out_size, hidden_size), or None.
        has: which of `later`, `later_cell` and `grad_out` are there. With several steps, the first two must be.
        to_before: whether the initial states' gradients are wanted.
        summed: which of `"grad_gates"` and `"grad_products"` are also summed over all rows. The workspace begins with their sums,
            (parts, summed, gates * hidden_size) in the compute type.

    Returns:
        The prepared call and its number of parts.

    Addresses, in the order of `BACKWARD`, 0 for what is not used: later (batch, out_size) and later_cell (batch, hidden_size),
    which hold the gradients of the final states and then those of the initial ones; grad_out (rows, out_size); what forward left;
    the weights, in panels where `pays_to_pack` says so; grad_gates and (GRU) grad_products (rows, gates * hidden_size), the
    gradients of the input's and the hidden state's part of the sums; where there is a projection, grad_hidden (rows, out_size), the
    whole gradient of the hidden states, and grad_raw (batch, hidden_size).
    """
    loop = Loop(kind, sizes, reverse, hidden_size, out_size)
    width, work = loop.width, sum(sizes) * out_size * loop.width
    parts = _parts(dtype, sizes, out_size, width)
    alone = len(parts) == 1
    limit = None if alone else 1
    has_later, has_later_cell, has_grad = has
    projected = projection_strides is not None
    products = _products(dtype, sizes, out_size, width, weight_strides, kind == "gru", limit)
    projections = _products(dtype, sizes, hidden_size, out_size, projection_strides, False, limit)
    totals = ByRows(lambda rows: plan_gates("total", dtype, rows, out_size, alone, _absent(later=has_later, grad_out=has_grad)))
    sums = ByRows(lambda key: plan_sum_rows(dtype, key[0], width, key[1]))
    total_bytes = width * itemsize(compute_type(dtype))
    absent = _absent(later=has_later or projected, grad_out=has_grad and not projected, later_cell=has_later_cell,
                     grad_before=passes_on(loop, to_before))
    gates = ByRows(lambda rows: plan_gates(kind + "_grad", dtype, rows, hidden_size, alone, absent, len(sizes) > 1))
    plans = Backward(products, gates, totals, projections, sums, has, to_before, tuple(summed), total_bytes)
    build = partial(backward_loop, loop=loop, plans=plans)
    return _prepare(dtype, BACKWARD, parts, build, work > 1 << 20, len(summed) * total_bytes), len(parts)
