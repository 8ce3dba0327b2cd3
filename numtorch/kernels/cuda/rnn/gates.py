"""What RNN, LSTM and GRU do elementwise in a step on a GPU: a thread has a hidden unit of a sequence, with all its gates.

Names, arrays and their order are the host's (kernels/cpu/rnn/gates.py). Between the gates of a unit nothing is rounded.
"""
from __future__ import annotations

from numpy import float32, int64, uint32

from ...cpu.rnn.gates import slope_of_relu, slope_of_tanh
from ...elementtypes import same
from ...intrinsics import address_of, fmax
from ...threads import Prepared
from ...vectormath import sigmoid, tanh
from ..compiler import cuda, prepare
from ..environment import MOST_BLOCKS, THREADS
from ..shared.coordinates import NARROW, divisor, numbers
from ..shared.coordinates import quotient31 as quotient
from ..shared.elements import typed

T, N = float32, uint32
load = store = same


def rectify(x):
    return fmax(x, T(0))


squash, slope = tanh, slope_of_tanh


def gradient_at(later, grad_out, at):
    """The gradient that came from the next step and the output's, either of which may be absent."""
    total = T(0)
    if address_of(later) != 0:
        total += load(later[at])
    if address_of(grad_out) != 0:
        total += load(grad_out[at])
    return total


def biased(products, bias, at, column):
    """A sum of the hidden state's part, with its bias where there is one."""
    total = load(products[at])
    if address_of(bias) != 0:
        total += load(bias[column])
    return total


# ---------------------------------------------------------------- a thread a unit
ALL, UNITS, DIVISOR = range(3)                           # of the descriptor: all units, those of a row, and what divides by these


def total_gradient(later, grad_out, total, descriptor):
    number = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    at = int64(number)
    if at < descriptor[ALL]:
        total[at] = store(gradient_at(later, grad_out, at))


def rnn(hidden, descriptor):
    number = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    at = int64(number)
    if at < descriptor[ALL]:
        hidden[at] = store(squash(load(hidden[at])))


def rnn_grad(later, grad_out, hidden, grad_sums, descriptor):
    number = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    at = int64(number)
    if at < descriptor[ALL]:
        grad_sums[at] = store(gradient_at(later, grad_out, at) * slope(load(hidden[at])))


def lstm(gates, before, cell, hidden, descriptor):
    n = descriptor[UNITS]
    number = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    at = int64(number)
    if at < descriptor[ALL]:
        first = int64(quotient(number, descriptor[DIVISOR])) * 3 * n + at                     # of its row's first gate
        enter, forget = sigmoid(load(gates[first])), sigmoid(load(gates[first + n]))
        candidate, show = tanh(load(gates[first + 2 * n])), sigmoid(load(gates[first + 3 * n]))
        fresh = forget * load(before[at]) + enter * candidate
        gates[first] = store(enter)
        gates[first + n] = store(forget)
        gates[first + 2 * n] = store(candidate)
        gates[first + 3 * n] = store(show)
        cell[at] = store(fresh)
        hidden[at] = store(show * tanh(fresh))


def lstm_grad(later, grad_out, later_cell, gates, before, cell, grad_gates, grad_before, descriptor):
    n = descriptor[UNITS]
    number = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    at = int64(number)
    if at < descriptor[ALL]:
        first = int64(quotient(number, descriptor[DIVISOR])) * 3 * n + at
        enter, forget = load(gates[first]), load(gates[first + n])
        candidate, show = load(gates[first + 2 * n]), load(gates[first + 3 * n])
        shown, total = tanh(load(cell[at])), gradient_at(later, grad_out, at)
        grad_gates[first + 3 * n] = store(total * shown * show * (T(1) - show))
        total = total * show * (T(1) - shown * shown)
        if address_of(later_cell) != 0:
            total += load(later_cell[at])
        grad_gates[first] = store(total * candidate * enter * (T(1) - enter))
        grad_gates[first + n] = store(total * load(before[at]) * forget * (T(1) - forget))
        grad_gates[first + 2 * n] = store(total * enter * (T(1) - candidate * candidate))
        if address_of(grad_before) != 0:
            grad_before[at] = store(total * forget)


def gru(gates, products, bias, before, hidden, kept, descriptor):
    n = descriptor[UNITS]
    number = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    at = int64(number)
    if at < descriptor[ALL]:
        row = int64(quotient(number, descriptor[DIVISOR]))
        unit, first = at - row * n, row * 2 * n + at
        reset = sigmoid(load(gates[first]) + biased(products, bias, first, unit))
        update = sigmoid(load(gates[first + n]) + biased(products, bias, first + n, unit + n))
        inner = biased(products, bias, first + 2 * n, unit + 2 * n)
        candidate = tanh(load(gates[first + 2 * n]) + reset * inner)
        gates[first] = store(reset)
        gates[first + n] = store(update)
        gates[first + 2 * n] = store(candidate)
        if address_of(kept) != 0:
            kept[at] = store(inner)
        hidden[at] = store(candidate + update * (load(before[at]) - candidate))


def gru_grad(later, grad_out, gates, kept, before, grad_gates, grad_products, grad_before, descriptor):
    n = descriptor[UNITS]
    number = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    at = int64(number)
    if at < descriptor[ALL]:
        first = int64(quotient(number, descriptor[DIVISOR])) * 2 * n + at
        reset, update, candidate = load(gates[first]), load(gates[first + n]), load(gates[first + 2 * n])
        total = gradient_at(later, grad_out, at)
        inside = total * (T(1) - update) * (T(1) - candidate * candidate)
        to_reset = store(inside * load(kept[at]) * reset * (T(1) - reset))
        to_update = store(total * (load(before[at]) - candidate) * update * (T(1) - update))
        grad_gates[first] = to_reset
        grad_gates[first + n] = to_update
        grad_gates[first + 2 * n] = store(inside)
        grad_products[first] = to_reset
        grad_products[first + n] = to_update
        grad_products[first + 2 * n] = store(inside * reset)
        if address_of(grad_before) != 0:
            grad_before[at] = store(total * update)


# By the host's names: the kernel, how many arrays it has, and names bound in it.
KINDS: dict[str, tuple] = {
    "total": (total_gradient, 3, {}),
    "rnn_tanh": (rnn, 1, {"squash": tanh}), "rnn_relu": (rnn, 1, {"squash": rectify}),
    "rnn_tanh_grad": (rnn_grad, 4, {"slope": slope_of_tanh}), "rnn_relu_grad": (rnn_grad, 4, {"slope": slope_of_relu}),
    "lstm": (lstm, 4, {}), "lstm_grad": (lstm_grad, 8, {}), "gru": (gru, 6, {}), "gru_grad": (gru_grad, 8, {}),
}


def plan_gates(kind: str, dtype: str, rows: int, hidden_size: int, device: int = 0) -> Prepared:
    """Plan the elementwise part of a step on `rows` sequences; `kind` and the addresses are those of the CPU's `plan_gates`."""
    function, arrays, names = KINDS[kind]
    units = rows * hidden_size
    kernel = typed(function, dtype, ("element*",) * arrays + ("int64*",), **names, **numbers(units < NARROW))
    row = [units, hidden_size, divisor(max(hidden_size, 1), units < NARROW)]
    return prepare(kernel, row, -(-units // THREADS), device, MOST_BLOCKS)
