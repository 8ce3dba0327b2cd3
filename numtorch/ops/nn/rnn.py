"""Recurrent cells and networks as functions: lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell; lstm, gru, rnn_tanh, rnn_relu.

A cell is a layer of one step (`rnn_layer.py`). A network is layers in one or two directions, with dropout between them.
"""
from __future__ import annotations

from ... import viewalgebra as algebra
from ...layout import Layout
from ...tensor import Tensor, empty
from ..core.operands import layout_of, no_tensor_among
from ..core.primitive import Primitive
from ..memory.copies import contiguous, plan_copy
from ..shape.join import cat, stack
from ..shape.slicing import select
from ..shape.view_tape import make_view
from ..shape.views import transpose, unsqueeze
from .dropout import dropout as drop
from .rnn_layer import GATES, run_layer

SEQUENCES = Primitive("sequences_of_steps", samples="T[6, 2]; 3, True")
STEPS = Primitive("steps_of_sequences", samples="T[3, 2, 4]; True")


# ---------------------------------------------------------------- cells
def check_cell(kind, x, hidden, cell, w_ih, w_hh, b_ih, b_hh):
    """Raise what PyTorch raises for layouts whose shapes do not fit."""
    if w_hh.ndim != 2 or w_ih.ndim != 2 or x.ndim != 2:
        raise RuntimeError(f"{kind}_cell: expected a 2D input and 2D weights, got {x.ndim}D, {w_ih.ndim}D and {w_hh.ndim}D")
    if x.shape[1] != w_ih.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {w_ih.shape[1]}")
    width = GATES[kind] * w_hh.shape[1]
    for place, state in enumerate((hidden, cell)):
        if state is None:
            continue
        if state.ndim != 2:
            raise RuntimeError(f"{kind}_cell: expected hidden{place} to be 2D, got {state.ndim}D")
        if state.shape[0] != x.shape[0]:
            raise RuntimeError(f"Input batch size {x.shape[0]} doesn't match hidden{place} batch size {state.shape[0]}")
        if state.shape[1] != w_hh.shape[1]:
            raise RuntimeError(f"hidden{place} has inconsistent hidden_size: got {state.shape[1]}, expected {w_hh.shape[1]}")
    for name, layout, shape in (("weight_ih", w_ih, (width, w_ih.shape[1])), ("weight_hh", w_hh, (width, w_hh.shape[1])),
                                ("bias_ih", b_ih, (width,)), ("bias_hh", b_hh, (width,))):
        if layout is not None and layout.shape != shape:
            raise RuntimeError(f"{kind}_cell: expected {name} of shape {list(shape)}, got {list(layout.shape)}")


def _check_dtypes(name, layouts):
    first = layouts[0]
    for layout in layouts:
        if layout is not None and layout.dtype is not first.dtype:
            raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {first.dtype.title} and {layout.dtype.title} "
                               f"({name})")


_checked: set = set()                                    # combinations of layouts that have been found right


def _remember(key):
    if any(isinstance(part, Layout) and part.handler is not None for part in key):
        return                                           # a layout of one tensor alone, and all that its handler holds
    if len(_checked) > 1000:
        _checked.clear()
    _checked.add(key)


def _run_cell(kind, x, hidden, cell, w_ih, w_hh, b_ih, b_hh):
    try:
        key = (kind, x.layout, None if hidden is None else hidden.layout, None if cell is None else cell.layout, w_ih.layout,
               w_hh.layout, None if b_ih is None else b_ih.layout, None if b_hh is None else b_hh.layout)
    except AttributeError:
        raise no_tensor_among(kind + "_cell", input=x, hx=hidden, cx=cell, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh) from None
    if key not in _checked:
        check_cell(*key)
        _check_dtypes(f"{kind}_cell", key[1:])
        _remember(key)
    hidden, _, cell = run_layer(kind, x, x.layout.shape[:1], False, hidden, cell, w_ih, w_hh, b_ih, b_hh)
    return hidden if cell is None else (hidden, cell)


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> tuple:
    """One step of an LSTM, all four gates in one kernel after the products.

    Args:
        input: (N, input_size).
        hx: hidden and cell state, both (N, hidden_size); None for zeros.
        w_ih, w_hh: (4 * hidden_size, input_size) and (4 * hidden_size, hidden_size): input, forget, candidate, output gate.
        b_ih, b_hh: (4 * hidden_size), or None.

    Returns:
        The new hidden and cell state.

    Raises:
        RuntimeError: sizes or dtypes that do not match.

    Example:
        >>> import numtorch as torch
        >>> w_ih, w_hh, bias = torch.zeros(8, 3), torch.zeros(8, 2), torch.ones(8)
        >>> hidden, cell = torch.lstm_cell(torch.zeros(1, 3), None, w_ih, w_hh, bias, bias)
        >>> cell
        tensor([[0.8491, 0.8491]])
    """
    if hx is not None and len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    hidden, cell = hx or (None, None)
    return _run_cell("lstm", input, hidden, cell, w_ih, w_hh, b_ih, b_hh)


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Tensor:
    """One step of a GRU.

    Args:
        input: (N, input_size).
        hx: the state, (N, hidden_size); None for zeros.
        w_ih, w_hh: (3 * hidden_size, input_size) and (3 * hidden_size, hidden_size): reset, update, candidate.
        b_ih, b_hh: (3 * hidden_size), or None.

    Returns:
        The new state.

    Raises:
        RuntimeError: sizes or dtypes that do not match.

    Example:
        >>> import numtorch as torch
        >>> torch.gru_cell(torch.zeros(1, 3), torch.ones(1, 2), torch.zeros(6, 3), torch.zeros(6, 2))
        tensor([[0.5000, 0.5000]])
    """
    return _run_cell("gru", input, hx, None, w_ih, w_hh, b_ih, b_hh)


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Tensor:
    """tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh).

    Args:
        input: (N, input_size).
        hx: the state, (N, hidden_size); None for zeros.
        w_ih, w_hh: (hidden_size, input_size) and (hidden_size, hidden_size).
        b_ih, b_hh: (hidden_size), or None.

    Returns:
        The new state, (N, hidden_size).

    Raises:
        RuntimeError: sizes or dtypes that do not match.

    Example:
        >>> import numtorch as torch
        >>> torch.rnn_tanh_cell(torch.ones(1, 3), torch.ones(1, 2), torch.zeros(2, 3), torch.eye(2))
        tensor([[0.7616, 0.7616]])
    """
    return _run_cell("rnn_tanh", input, hx, None, w_ih, w_hh, b_ih, b_hh)


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Tensor:
    """relu(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh).

    Args:
        input, hx, w_ih, w_hh, b_ih, b_hh: as for `rnn_tanh_cell`.

    Returns:
        The new state, (N, hidden_size).

    Raises:
        RuntimeError: sizes or dtypes that do not match.

    Example:
        >>> import numtorch as torch
        >>> torch.rnn_relu_cell(torch.ones(1, 3), torch.ones(1, 2), torch.ones(2, 3), torch.eye(2))
        tensor([[4., 4.]])
    """
    return _run_cell("rnn_relu", input, hx, None, w_ih, w_hh, b_ih, b_hh)


# ---------------------------------------------------------------- networks
def _parameters_of(kind, params, has_biases, layers, directions):
    """The weights of each layer's directions, as `run_layer` takes them."""
    projected = kind == "lstm" and len(params) > 1 and params[1].layout.shape[1] * GATES[kind] != params[0].layout.shape[0]
    each = 2 + 2 * has_biases + projected
    if len(params) != each * layers * directions:
        raise RuntimeError(f"expected {each * layers * directions} weights for {layers} layers in {directions} directions, got "
                           f"{len(params)}")
    result = []
    for start in range(0, len(params), each):
        part = params[start:start + each]
        result.append((*part[:2], *(part[2:4] if has_biases else (None, None)), part[-1] if projected else None))
    return result


def _network(layer, kind, rows, sizes, states, params, has_biases, num_layers, dropout, train, bidirectional):
    """All layers over rows of all steps: outputs (rows, directions * out_size), final hidden and (LSTM) cell states stacked."""
    directions = 2 if bidirectional else 1
    hidden, cell = states
    try:
        weights = _parameters_of(kind, params, has_biases, num_layers, directions)
        key = (kind, directions, sizes[0], rows.layout, *[None if s is None else s.layout for s in states],
               *[w.layout for w in params])
    except AttributeError:
        raise no_tensor_among(kind, input=rows, hx=hidden, cx=cell, **{f"params[{i}]": p for i, p in enumerate(params)}) from None
    if key not in _checked:
        _check_network(kind, rows.layout, sizes[0], [None if s is None else s.layout for s in states], weights, directions)
        _remember(key)
    ends, cell_ends = [], []
    alone = num_layers * directions == 1
    for number in range(num_layers):
        outputs = []
        for direction in range(directions):
            index = number * directions + direction
            out, end, cell_end = layer(kind, rows, sizes, direction == 1, None if hidden is None else select(hidden, 0, index),
                                       None if cell is None else select(cell, 0, index), *weights[index], alone=alone)
            outputs.append(out)
            ends.append(end)
            cell_ends.append(cell_end)
        rows = cat(outputs, 1) if directions == 2 else outputs[0]
        if dropout and train and number + 1 < num_layers:
            rows = drop(rows, dropout, True)
    together = _stack_of_one if alone and len(sizes) > 1 else stack      # the end of a single step is the output itself
    return rows, together(ends), together(cell_ends) if kind == "lstm" else None


def _stack_of_one(tensors):
    """The one tensor of a list as a stack of one, without a copy."""
    return tensors[0] if tensors[0].layout.ndim == 3 else unsqueeze(tensors[0], 0)


def _check_network(kind, rows, batch, states, weights, directions):
    """Raise for weights and states that do not fit: kernels check nothing."""
    count, hidden_size = len(weights), weights[0][0].layout.shape[0] // GATES[kind]
    out_size, features = weights[0][1].layout.shape[1], rows.shape[1]
    for place, (state, size) in enumerate(zip(states, (out_size, hidden_size))):
        if state is not None and state.shape != (count, batch, size):
            raise RuntimeError(f"Expected hidden[{place}] size {(count, batch, size)}, got {list(state.shape)}")
    for index, (w_ih, w_hh, b_ih, b_hh, w_hr) in enumerate(weights):
        width = GATES[kind] * hidden_size
        wanted = features if index < directions else directions * out_size
        for title, weight, shape in (("weight_ih", w_ih, (width, wanted)), ("weight_hh", w_hh, (width, out_size)),
                                     ("bias_ih", b_ih, (width,)), ("bias_hh", b_hh, (width,)),
                                     ("weight_hr", w_hr, (out_size, hidden_size))):
            if weight is not None and weight.layout.shape != shape:
                raise RuntimeError(f"{kind}: expected {title} of shape {list(shape)}, got {list(weight.layout.shape)}")
    _check_dtypes(kind, [rows, *states, *(w.layout for part in weights for w in part if w is not None)])


def _padded(layer, kind, input, states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    if layout_of(kind, input).ndim != 3:
        raise RuntimeError(f"{kind}: expected a 3D input, got {input.layout.ndim}D")
    length, batch = input.layout.shape[1::-1] if batch_first else input.layout.shape[:2]
    if length == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    rows, hidden, cell = _network(layer, kind, _steps_of(input, batch_first), (batch,) * length, states, params, has_biases,
                                  num_layers, dropout, train, bidirectional)
    return _sequences_of(rows, length, batch_first), hidden, cell


# Sequences as the layers take them and back, each an op that is the other's gradient. Of views and copies with a node each, they
# would take a quarter of the time that Python spends on an LSTM forward and backward.
@STEPS.planned
def _plan_steps(layout, batch_first):
    """The rows' layout, the copy that makes them (None where they lie so already) and the number of steps."""
    steps = algebra.transpose(layout, 0, 1)[0] if batch_first else layout
    length, batch, features = steps.shape
    out = Layout.of(layout.dtype, (length * batch, features), None, layout.device)
    return out, None if steps.contiguous else plan_copy(steps, steps.dense()), length


@STEPS.run
def _steps_of(plan, x: Tensor, batch_first):
    """(L, N, *), or (N, L, *) where `batch_first`, as rows of one step after another, (L * N, *)."""
    out, copy, length = plan
    if copy is None:
        steps = contiguous(transpose(x, 0, 1) if batch_first else x)
        return make_view(steps, (out, 0), STEPS, (length, False))
    rows = empty(out)
    copy.call(x.address, rows.address, copy.descriptor)
    return STEPS.recorded(rows, (x,), (), (length, batch_first))


@STEPS.derivative
def _steps_vjp(node, grad):
    return (_sequences_of(contiguous(grad), *node.attributes),)


def _sequences_of(rows, length, batch_first):
    """Rows of one step after another as a view (L, N, *), or (N, L, *) where `batch_first`."""
    count, features = rows.layout.shape
    layout, offset = algebra.try_view(rows.layout, (length, count // length, features))
    if batch_first:
        layout, offset = algebra.transpose(layout, 0, 1)
    return make_view(rows, (layout, offset), SEQUENCES, batch_first)


SEQUENCES.function = _sequences_of


@SEQUENCES.derivative
def _sequences_vjp(node, grad):
    return (_steps_of(grad, node.attributes),)


def _packed(layer, kind, data, batch_sizes, states, params, has_biases, num_layers, dropout, train, bidirectional):
    sizes = tuple(batch_sizes.tolist() if isinstance(batch_sizes, Tensor) else batch_sizes)
    falling = all(a >= b for a, b in zip(sizes, sizes[1:])) and bool(sizes) and sizes[-1] > 0
    if not falling or sum(sizes) != data.layout.shape[0]:
        raise RuntimeError(f"{kind}: expected batch_sizes that never rise and sum to the {data.layout.shape[0]} rows of data, got "
                           f"{list(sizes)}")
    return _network(layer, kind, data, sizes, states, params, has_biases, num_layers, dropout, train, bidirectional)


def _both(states, position):
    """An LSTM's hidden and cell states. Raises where they are anything else: kernels read both or neither."""
    if not isinstance(states, (tuple, list)):
        raise TypeError(f"lstm(): argument 'hx' (position {position}) must be tuple of Tensors, not {type(states).__name__}")
    if len(states) != 2:
        raise RuntimeError(f"lstm expects two hidden states, but got {len(states)}")
    hidden, cell = states
    if hidden is None or cell is None:
        raise TypeError(f"lstm(): argument 'hx' (position {position}) must be tuple of Tensors, but found None in it")
    return hidden, cell


def run_network(kind, arguments, layer=run_layer):
    """A network, by what runs each of its layers.

    Args:
        kind: `"lstm"`, `"gru"`, `"rnn_tanh"` or `"rnn_relu"`.
        arguments: either of PyTorch's two forms: (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
            batch_first), or (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional) for packed
            sequences.
        layer: a function of `run_layer`'s arguments.

    Returns:
        Outputs of all steps, final hidden and (LSTM, else None) cell states.
    """
    packed = isinstance(arguments[4], bool)              # there, `has_biases`; else the number of layers
    states = arguments[2 if packed else 1]
    states = (states, None) if kind != "lstm" or states is None else _both(states, 2 + packed)
    if packed:
        return _packed(layer, kind, arguments[0], arguments[1], states, *arguments[3:])
    return _padded(layer, kind, arguments[0], states, *arguments[2:])


def lstm(*arguments) -> tuple:
    """An LSTM network over whole sequences: what `nn.LSTM` calls.

    Args:
        arguments: either `input` (L, N, input_size), `hx` (hidden (layers * directions, N, out_size), cell (layers * directions,
            N, hidden_size)), `params` (for each layer and direction w_ih, w_hh, b_ih, b_hh, and the projection where there is
            one), `has_biases`, `num_layers`, `dropout`, `train`, `bidirectional`, `batch_first`; or for packed sequences `data`,
            `batch_sizes`, `hx`, `params`, `has_biases`, `num_layers`, `dropout`, `train`, `bidirectional`.

    Returns:
        Outputs of all steps, final hidden states, final cell states.

    Raises:
        RuntimeError: no steps, or sizes or dtypes that do not match.

    Example:
        >>> import numtorch as torch
        >>> layer, x, state = torch.nn.LSTM(3, 2), torch.ones(4, 1, 3), torch.zeros(1, 1, 2)
        >>> out, hidden, cell = torch.lstm(x, (state, state), list(layer.parameters()), True, 1, 0.0, False, False, False)
        >>> out.shape
        torch.Size([4, 1, 2])
    """
    return run_network("lstm", arguments)


def gru(*arguments) -> tuple:
    """A GRU network over whole sequences: what `nn.GRU` calls.

    Args:
        arguments: as for `lstm`, with one state.

    Returns:
        Outputs of all steps, final hidden states.

    Raises:
        RuntimeError: no steps, or sizes or dtypes that do not match.

    Example:
        >>> import numtorch as torch
        >>> layer, x, state = torch.nn.GRU(3, 2), torch.ones(4, 1, 3), torch.zeros(1, 1, 2)
        >>> torch.gru(x, state, list(layer.parameters()), True, 1, 0.0, False, False, False)[0].shape
        torch.Size([4, 1, 2])
    """
    return run_network("gru", arguments)[:2]


def rnn_tanh(*arguments) -> tuple:
    """A network of `rnn_tanh_cell` over whole sequences: what `nn.RNN` calls.

    Args:
        arguments: as for `lstm`, with one state.

    Returns:
        Outputs of all steps, final hidden states.

    Raises:
        RuntimeError: no steps, or sizes or dtypes that do not match.

    Example:
        >>> import numtorch as torch
        >>> layer, x, state = torch.nn.RNN(3, 2), torch.ones(4, 1, 3), torch.zeros(1, 1, 2)
        >>> torch.rnn_tanh(x, state, list(layer.parameters()), True, 1, 0.0, False, False, False)[0].shape
        torch.Size([4, 1, 2])
    """
    return run_network("rnn_tanh", arguments)[:2]


def rnn_relu(*arguments) -> tuple:
    """A network of `rnn_relu_cell` over whole sequences: what `nn.RNN` of relu calls.

    Args:
        arguments: as for `lstm`, with one state.

    Returns:
        Outputs of all steps, final hidden states.

    Raises:
        RuntimeError: no steps, or sizes or dtypes that do not match.

    Example:
        >>> import numtorch as torch
        >>> layer, x, state = torch.nn.RNN(3, 2, nonlinearity="relu"), torch.ones(4, 1, 3), torch.zeros(1, 1, 2)
        >>> torch.rnn_relu(x, state, list(layer.parameters()), True, 1, 0.0, False, False, False)[0].shape
        torch.Size([4, 1, 2])
    """
    return run_network("rnn_relu", arguments)[:2]
