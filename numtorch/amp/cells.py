"""Recurrent cells and layers as PyTorch composes them on the host: in a region their products are rounded and their states are not,
where one kernel for all of a cell would have one precision."""
from __future__ import annotations

from ..ops.creation.fill import zeros
from ..ops.nn.linear import linear
from ..ops.nn.rnn import check_cell, run_network
from ..ops.nn.rnn_layer import formula


def _layout(tensor):
    return None if tensor is None else tensor.layout


def _products(kind, input, hidden, cell, w_ih, w_hh, b_ih, b_hh):
    """What the gates are made of: the part of the input, that of the state, and the state."""
    check_cell(kind, *map(_layout, (input, hidden, cell, w_ih, w_hh, b_ih, b_hh)))
    if hidden is None:
        hidden = zeros(input.shape[0], w_hh.shape[1], dtype=input.dtype, device=input.device)
    return linear(input, w_ih, b_ih), linear(hidden, w_hh, b_hh), hidden


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """`numtorch.lstm_cell`, of ops."""
    hidden, cell = hx or (None, None)
    of_input, of_hidden, hidden = _products("lstm", input, hidden, cell, w_ih, w_hh, b_ih, b_hh)
    take, keep, candidate, show = (of_hidden + of_input).chunk(4, 1)
    cell = keep.sigmoid() * (hidden if cell is None else cell) + take.sigmoid() * candidate.tanh()
    return show.sigmoid() * cell.tanh(), cell


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """`numtorch.gru_cell`, of ops."""
    of_input, of_hidden, hidden = _products("gru", input, hx, None, w_ih, w_hh, b_ih, b_hh)
    (reset, update, new), (reset_state, update_state, new_state) = of_input.chunk(3, 1), of_hidden.chunk(3, 1)
    candidate = (new + new_state * (reset_state + reset).sigmoid()).tanh()
    return (hidden - candidate) * (update_state + update).sigmoid() + candidate


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """`numtorch.rnn_tanh_cell`, of ops."""
    of_input, of_hidden, _ = _products("rnn_tanh", input, hx, None, w_ih, w_hh, b_ih, b_hh)
    return (of_hidden + of_input).tanh()


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """`numtorch.rnn_relu_cell`, of ops."""
    of_input, of_hidden, _ = _products("rnn_relu", input, hx, None, w_ih, w_hh, b_ih, b_hh)
    return (of_hidden + of_input).relu()


def _composed_layer(kind, x, sizes, reverse, before, cell_before, w_ih, *weights, alone):
    """`run_layer`, of ops."""
    if before is None:
        begun = lambda width: zeros(sizes[0], width, dtype=x.dtype, device=x.device)
        before, cell_before = begun(weights[0].shape[1]), begun(w_ih.shape[0] // 4) if kind == "lstm" else None
    return formula(kind, x, sizes, reverse, before, cell_before, w_ih, *weights)


def network(kind):
    """A whole network, `numtorch.gru` and its like, of ops.

    Args:
        kind: `"lstm"`, `"gru"`, `"rnn_tanh"` or `"rnn_relu"`.
    """
    def run(*arguments):
        outputs, hidden, cell = run_network(kind, arguments, _composed_layer)
        return (outputs, hidden) if cell is None else (outputs, hidden, cell)
    return run
