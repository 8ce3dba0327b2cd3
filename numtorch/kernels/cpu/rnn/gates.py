"""What RNN, LSTM and GRU do elementwise in a step: a kernel forward and a kernel backward for each kind of cell.

Rows are the sequences of a batch. Forward kernels turn the sums that the matrix products left into activations, in place, and
those are what backward reads: its kernels give the gradient of the sums before activation. Gates stand in PyTorch's order: input,
forget, candidate, output (LSTM; Hochreiter and Schmidhuber 1997, Gers et al. 2000); reset, update, candidate (GRU; Cho et al.
2014, with the reset gate applied after the product).

Each loop reads a few arrays and writes one: LLVM vectorises a loop that writes two only with more checks for overlap than it is
willing to make.
"""
from __future__ import annotations

from collections.abc import Callable

from numpy import float32, int32, int64

from ...elementtypes import itemsize, same
from ...intrinsics import address_of, fmax, local_array, offset
from ...vectormath import sigmoid, tanh
from ..shared.elements import padded, prepare_parts, shares, typed

T = float32
load = store = same
BLOCK = 256                                              # columns whose intermediate results stay on the stack
GRAIN = 12_000                                           # hidden units of an LSTM cell that make a thread worth waking
LOOP_GRAIN = 4_000                                       # and within a loop, where it is awake


# Rows of up to BLOCK elements, in whole vectors of which the last is under a mask (`padded` in shared/elements.py). The functions
# of blocks are for arrays on the stack, whose elements beyond n nobody reads.
def sigmoid_row(x, n):
    for j in range(padded(n)):
        if int32(j) < int32(n):
            x[j] = store(sigmoid(load(x[j])))


def tanh_row(x, n):
    for j in range(padded(n)):
        if int32(j) < int32(n):
            x[j] = store(tanh(load(x[j])))


def sigmoid_block(x, n):
    for j in range(padded(n)):
        x[j] = sigmoid(x[j])


def tanh_block(x, n):
    for j in range(padded(n)):
        x[j] = tanh(x[j])


def relu_row(x, n):
    for j in range(n):
        x[j] = store(fmax(load(x[j]), T(0)))


def slope_of_tanh(y):
    return T(1) - y * y


def slope_of_relu(y):
    return T(1) if y > T(0) else T(0)


squash_row, slope = tanh_row, slope_of_tanh


def gather_gradient(later, grad_out, total, n):
    """total = the gradient that came from the next step plus the output's; either may be absent."""
    if address_of(later) != 0 and address_of(grad_out) != 0:
        for j in range(n):
            total[j] = load(later[j]) + load(grad_out[j])
    elif address_of(later) != 0:
        for j in range(n):
            total[j] = load(later[j])
    elif address_of(grad_out) != 0:
        for j in range(n):
            total[j] = load(grad_out[j])
    else:
        for j in range(n):
            total[j] = T(0)


def moved(pointer, elements):
    """The pointer moved on, unless it is null."""
    return offset(pointer, elements if address_of(pointer) != 0 else int64(0))


# ---------------------------------------------------------------- where a kernel is: block by block of up to BLOCK hidden units
ROWS, UNITS = range(2)                                   # of the descriptor: sequences, hidden units of one
COLUMNS, FURTHER = range(ROWS + 1, ROWS + 3)             # of that of sums of rows


def blocks_of(descriptor):
    """How many blocks the rows have."""
    return descriptor[ROWS] * ((descriptor[UNITS] + BLOCK - 1) // BLOCK)


def place_of(block, n):
    """A block's row, its first unit in that, and how many units it has."""
    in_row = (n + BLOCK - 1) // BLOCK
    row = block // in_row
    first = (block - row * in_row) * BLOCK
    return row, first, min(int64(BLOCK), n - first)


def three_of(gates, n):
    """The gates of a block, from the first one's address on, n apart."""
    return gates, offset(gates, n), offset(gates, 2 * n)


def four_of(gates, n):
    return gates, offset(gates, n), offset(gates, 2 * n), offset(gates, 3 * n)


def total_gradient(later, grad_out, total, descriptor):
    """total = later + grad_out, either of which may be absent."""
    n = descriptor[ROWS] * descriptor[UNITS]
    block = local_array(T, BLOCK)
    for first in range(0, n, BLOCK):
        width = min(int64(BLOCK), n - first)
        out = offset(total, first)
        gather_gradient(moved(later, first), moved(grad_out, first), block, width)
        for j in range(width):
            out[j] = store(block[j])


def sum_rows(grads, totals, descriptor):
    """totals = the sum of the rows, or that more where FURTHER says so: a bias' gradient, step by step while the rows are in
    the first-level cache. From memory, after all steps, it would be 2 % of an LSTM's time."""
    n = descriptor[COLUMNS]
    block = local_array(T, BLOCK)
    for first in range(0, n, BLOCK):
        width = min(int64(BLOCK), n - first)
        total = offset(totals, first)
        if descriptor[FURTHER]:
            for j in range(width):
                block[j] = total[j]
        else:
            for j in range(width):
                block[j] = T(0)
        row = int64(0)
        while row + 4 <= descriptor[ROWS]:
            a = offset(grads, row * n + first)
            b, c, d = offset(a, n), offset(a, 2 * n), offset(a, 3 * n)
            for j in range(width):
                block[j] += (load(a[j]) + load(b[j])) + (load(c[j]) + load(d[j]))
            row += 4
        while row < descriptor[ROWS]:
            a = offset(grads, row * n + first)
            for j in range(width):
                block[j] += load(a[j])
            row += 1
        for j in range(width):
            total[j] = block[j]


# ---------------------------------------------------------------- RNN
def rnn(hidden, descriptor):
    """hidden = tanh(hidden) or relu(hidden)."""
    n = descriptor[ROWS] * descriptor[UNITS]
    for first in range(0, n, BLOCK):
        squash_row(offset(hidden, first), min(int64(BLOCK), n - first))


def rnn_grad(later, grad_out, hidden, grad_sums, descriptor):
    total = local_array(T, BLOCK)
    n = descriptor[ROWS] * descriptor[UNITS]
    for first in range(0, n, BLOCK):
        width = min(int64(BLOCK), n - first)
        y = offset(hidden, first)
        out = offset(grad_sums, first)
        gather_gradient(moved(later, first), moved(grad_out, first), total, width)
        for j in range(width):
            out[j] = store(total[j] * slope(load(y[j])))


# ---------------------------------------------------------------- LSTM
def lstm(gates, before, cell, hidden, descriptor):
    """cell = forget * before + input * candidate; hidden = output * tanh(cell)."""
    n = descriptor[UNITS]
    fresh = local_array(T, BLOCK)
    for block in range(blocks_of(descriptor)):
        row, first, width = place_of(block, n)
        at = row * n + first
        enter, forget, candidate, show = four_of(offset(gates, 4 * row * n + first), n)
        old = offset(before, at)
        new = offset(cell, at)
        out = offset(hidden, at)
        sigmoid_row(enter, width)
        sigmoid_row(forget, width)
        tanh_row(candidate, width)
        sigmoid_row(show, width)
        for j in range(width):
            fresh[j] = load(forget[j]) * load(old[j]) + load(enter[j]) * load(candidate[j])
        for j in range(width):
            new[j] = store(fresh[j])
        tanh_block(fresh, width)
        for j in range(width):
            out[j] = store(load(show[j]) * fresh[j])


def lstm_grad(later, grad_out, later_cell, gates, before, cell, grad_gates, grad_before, descriptor):
    """The gates' gradients before activation; grad_before (which may be later_cell) is that of the cell state before."""
    n = descriptor[UNITS]
    total = local_array(T, BLOCK)
    squashed = local_array(T, BLOCK)
    for block in range(blocks_of(descriptor)):
        row, first, width = place_of(block, n)
        at = row * n + first
        base = 4 * row * n + first
        enter, forget, candidate, show = four_of(offset(gates, base), n)
        old = offset(before, at)
        new = offset(cell, at)
        to_enter, to_forget, to_candidate, to_show = four_of(offset(grad_gates, base), n)
        from_cell = offset(later_cell, at)
        to_cell = offset(grad_before, at)
        gather_gradient(moved(later, at), moved(grad_out, at), total, width)
        for j in range(width):
            squashed[j] = load(new[j])
        tanh_block(squashed, width)
        for j in range(width):
            o = load(show[j])
            to_show[j] = store(total[j] * squashed[j] * o * (T(1) - o))
        if address_of(later_cell) != 0:
            for j in range(width):
                total[j] = total[j] * load(show[j]) * (T(1) - squashed[j] * squashed[j]) + load(from_cell[j])
        else:
            for j in range(width):
                total[j] = total[j] * load(show[j]) * (T(1) - squashed[j] * squashed[j])
        for j in range(width):
            i = load(enter[j])
            to_enter[j] = store(total[j] * load(candidate[j]) * i * (T(1) - i))
        for j in range(width):
            g = load(candidate[j])
            to_candidate[j] = store(total[j] * load(enter[j]) * (T(1) - g * g))
        for j in range(width):
            f = load(forget[j])
            to_forget[j] = store(total[j] * load(old[j]) * f * (T(1) - f))
        if address_of(grad_before) != 0:
            for j in range(width):
                to_cell[j] = store(total[j] * load(forget[j]))


# ---------------------------------------------------------------- GRU
def add_bias(product, bias, first, total, n):
    """total = product + bias[first:], or the product where there is no bias."""
    if address_of(bias) != 0:
        part = offset(bias, first)
        for j in range(n):
            total[j] = load(product[j]) + load(part[j])
    else:
        for j in range(n):
            total[j] = load(product[j])


def gru(gates, products, bias, before, hidden, kept, descriptor):
    """hidden = candidate + update * (before - candidate), where candidate = tanh(input part + reset * hidden part).

    `gates` holds the input's part of the sums, `products` and `bias` (or null) the hidden state's, whose last third goes to `kept`
    for backward where that is not null.
    """
    n = descriptor[UNITS]
    gate = local_array(T, BLOCK)
    fresh = local_array(T, BLOCK)
    for block in range(blocks_of(descriptor)):
        row, first, width = place_of(block, n)
        at = row * n + first
        base = 3 * row * n + first
        reset, update, candidate = three_of(offset(gates, base), n)
        product = offset(products, base)
        old = offset(before, at)
        out = offset(hidden, at)
        add_bias(product, bias, first, gate, width)
        for j in range(width):
            gate[j] += load(reset[j])
        sigmoid_block(gate, width)
        for j in range(width):
            reset[j] = store(gate[j])
        add_bias(offset(product, 2 * n), bias, first + 2 * n, fresh, width)
        if address_of(kept) != 0:
            keep = offset(kept, at)
            for j in range(width):
                keep[j] = store(fresh[j])
        for j in range(width):
            fresh[j] = load(candidate[j]) + gate[j] * fresh[j]
        tanh_block(fresh, width)
        for j in range(width):
            candidate[j] = store(fresh[j])
        add_bias(offset(product, n), bias, first + n, gate, width)
        for j in range(width):
            gate[j] += load(update[j])
        sigmoid_block(gate, width)
        for j in range(width):
            update[j] = store(gate[j])
        for j in range(width):
            out[j] = store(fresh[j] + gate[j] * (load(old[j]) - fresh[j]))


def gru_grad(later, grad_out, gates, kept, before, grad_gates, grad_products, grad_before, descriptor):
    """Gradients of both parts of the sums, and in grad_before (which may be `later`) what goes past the products."""
    n = descriptor[UNITS]
    total = local_array(T, BLOCK)
    inside = local_array(T, BLOCK)
    for block in range(blocks_of(descriptor)):
        row, first, width = place_of(block, n)
        at = row * n + first
        base = 3 * row * n + first
        reset, update, candidate = three_of(offset(gates, base), n)
        inner = offset(kept, at)
        old = offset(before, at)
        to_reset, to_update, to_candidate = three_of(offset(grad_gates, base), n)
        product, middle, last = three_of(offset(grad_products, base), n)
        to_old = offset(grad_before, at)
        gather_gradient(moved(later, at), moved(grad_out, at), total, width)
        for j in range(width):
            c = load(candidate[j])
            inside[j] = total[j] * (T(1) - load(update[j])) * (T(1) - c * c)
        for j in range(width):
            z = load(update[j])
            to_update[j] = store(total[j] * (load(old[j]) - load(candidate[j])) * z * (T(1) - z))
        for j in range(width):
            r = load(reset[j])
            to_reset[j] = store(inside[j] * load(inner[j]) * r * (T(1) - r))
        for j in range(width):
            to_candidate[j] = store(inside[j])
        for j in range(width):
            product[j] = to_reset[j]
        for j in range(width):
            middle[j] = to_update[j]
        for j in range(width):
            last[j] = store(inside[j] * load(reset[j]))
        if address_of(grad_before) != 0:
            for j in range(width):
                to_old[j] = store(total[j] * load(update[j]))


# ---------------------------------------------------------------- planning
# The kernel, its arrays with their widths in multiples of the hidden size (0: one row for all), and names bound in it.
_GRADS = {"later": 1, "grad_out": 1}
KINDS: dict[str, tuple[Callable, dict[str, int], dict]] = {
    "total": (total_gradient, {**_GRADS, "total": 1}, {}),
    "rnn_tanh": (rnn, {"hidden": 1}, {"squash_row": tanh_row}),
    "rnn_relu": (rnn, {"hidden": 1}, {"squash_row": relu_row}),
    "rnn_tanh_grad": (rnn_grad, {**_GRADS, "hidden": 1, "grad_sums": 1}, {"slope": slope_of_tanh}),
    "rnn_relu_grad": (rnn_grad, {**_GRADS, "hidden": 1, "grad_sums": 1}, {"slope": slope_of_relu}),
    "lstm": (lstm, {"gates": 4, "before": 1, "cell": 1, "hidden": 1}, {}),
    "lstm_grad": (lstm_grad, {**_GRADS, "later_cell": 1, "gates": 4, "before": 1, "cell": 1, "grad_gates": 4, "grad_before": 1},
                  {}),
    "gru": (gru, {"gates": 3, "products": 3, "bias": 0, "before": 1, "hidden": 1, "kept": 1}, {}),
    "gru_grad": (gru_grad, {**_GRADS, "gates": 3, "kept": 1, "before": 1, "grad_gates": 3, "grad_products": 3, "grad_before": 1},
                 {}),
}


def plan_gates(kind: str, dtype: str, rows: int, hidden_size: int, threaded: bool = True, absent=(), looped: bool = False):
    """Plan the elementwise part of a step on `rows` sequences.

    Args:
        kind: `"lstm"`, `"gru"`, `"rnn_tanh"`, `"rnn_relu"`, one of these with `"_grad"`, or `"total"`; the addresses are the
            kernel's arguments.
        threaded: whether the rows may be split over threads.
        absent: names of arrays whose addresses are null, which no part must move on.
        looped: whether it is called in a loop, during which threads stay awake.
    """
    function, arrays, names = KINDS[kind]
    kernel = typed(function, dtype, ("element*",) * len(arrays) + ("int64*",), **names)
    work = rows * hidden_size
    parts = shares(rows, work, LOOP_GRAIN if looped else GRAIN) if threaded else [(0, rows)]
    step = hidden_size * itemsize(dtype)
    offsets = [tuple(0 if name in absent else start * width * step for name, width in arrays.items()) for start, _ in parts]
    return prepare_parts(kernel, [(stop - start, hidden_size) for start, stop in parts], work, offsets)


def plan_sum_rows(dtype: str, rows: int, columns: int, further: bool):
    """Plan the sum of rows. Addresses: grads (rows, columns), and totals in the compute type, to which it is added if `further`."""
    kernel = typed(sum_rows, dtype, ("element*", "compute*", "int64*"))
    return prepare_parts(kernel, [(rows, columns, int(further))], rows * columns)
