"""Recurrent layers: cells for one step, and networks of them over sequences."""
from __future__ import annotations

import math
import numbers
import warnings

from ...ops import creation, rnn
from ...ops.gather import index_select
from ...ops.view import squeeze, unsqueeze
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

GATE_COUNTS = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
NETWORKS = {"LSTM": rnn.lstm, "GRU": rnn.gru, "RNN_TANH": rnn.rnn_tanh, "RNN_RELU": rnn.rnn_relu}


def _check_options(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size):
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if dropout > 0 and num_layers == 1:
        warnings.warn(f"dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                      f"greater than 1, but got dropout={dropout} and num_layers={num_layers}", UserWarning, stacklevel=4)
    for name, value, kind in (("bias", bias, bool), ("batch_first", batch_first, bool), ("input_size", input_size, int),
                              ("hidden_size", hidden_size, int)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """What RNN, LSTM and GRU share: parameters, checks, and how sequences come and go.

    Args:
        mode: `"LSTM"`, `"GRU"`, `"RNN_TANH"` or `"RNN_RELU"`.
        input_size, hidden_size: features of the input and of the hidden state.
        num_layers: layers, each fed with the outputs of the one before.
        bias: whether the gates have biases.
        batch_first: sequences as (N, L, features) instead of (L, N, features); hidden states are never so.
        dropout: probability of dropping an output between layers, in training.
        bidirectional: each layer also runs from the end to the start, and gives both outputs side by side.
        proj_size: project the LSTM's hidden state to this size; 0 for no projection.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0: (gates * hidden_size, input_size), (gates * hidden_size,
            hidden_size or proj_size), two of (gates * hidden_size), (proj_size, hidden_size); and so on for further layers, with
            `_reverse` for the second direction. All uniform within 1 / sqrt(hidden_size).
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device=None,
                 dtype=None):
        super().__init__()
        _check_options(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in GATE_COUNTS:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        self._all_weights = []                           # names, in the order the function takes them
        width, out_size = GATE_COUNTS[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            features = input_size if layer == 0 else out_size * (2 if bidirectional else 1)
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes: dict[str, tuple] = {"weight_ih": (width, features), "weight_hh": (width, out_size)}
                if bias:
                    shapes.update(bias_ih=(width,), bias_hh=(width,))
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    self.register_parameter(name, Parameter(creation.empty(*shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self):
        """Nothing: PyTorch brings weights together in memory here for cuDNN, and the kernels here take them where they lie."""

    @property
    def all_weights(self):
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def check_input(self, input, batch_sizes):
        """Raise ValueError for an input of another dtype than the weights, RuntimeError for other sizes than expected."""
        weight = getattr(self, self._all_weights[0][0])
        have, want = input.layout.dtype, weight.layout.dtype
        if have is not want:
            raise ValueError(f"RNN input dtype ({have}) does not match weight dtype ({want}). Convert input: input.to({want}), or "
                             f"convert model: model.to({have})")
        expected = 3 if batch_sizes is None else 2
        if input.layout.ndim != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.layout.ndim}")
        found = input.layout.shape[-1]
        if found != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {found}")

    def _state_shapes(self, batch):
        """The shapes of the hidden and of the LSTM's cell state for so many sequences."""
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return (layers, batch, self.proj_size or self.hidden_size), (layers, batch, self.hidden_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """Raise RuntimeError for a state of another shape."""
        if hx.layout.shape != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.layout.shape)))

    def permute_hidden(self, hx, permutation):
        """States in another order of the sequences."""
        return hx if permutation is None else _each(hx, lambda state: index_select(state, 1, permutation))

    def forward(self, input, hx=None):
        packed = isinstance(input, PackedSequence)
        if packed:
            data, batch_sizes, sorted_indices, unsorted_indices = input
            batch, unbatched = int(batch_sizes[0]), False
        else:
            data, batch_sizes, sorted_indices, unsorted_indices = input, None, None, None
            if data.layout.ndim not in (2, 3):
                raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {data.layout.ndim}D instead")
            unbatched = data.layout.ndim == 2
            if unbatched:
                data = unsqueeze(data, 0 if self.batch_first else 1)
            batch = data.layout.shape[0 if self.batch_first else 1]
        self.check_input(data, batch_sizes)
        states = None
        if hx is not None:
            states = tuple(hx) if self.mode == "LSTM" else (hx,)
            if not packed:
                self._check_dimensions(states, unbatched)
                if unbatched:
                    states = tuple([unsqueeze(state, 1) for state in states])
            for place, (state, shape) in enumerate(zip(states, self._state_shapes(batch))):
                self.check_hidden_size(state, shape, f"Expected hidden[{place}] size {{}}, got {{}}" if len(states) == 2 else
                                       "Expected hidden size {}, got {}")
            states = self.permute_hidden(states, sorted_indices)
        own = self._parameters
        weights = [own[name] if name in own else getattr(self, name) for names in self._all_weights for name in names]
        state = states if self.mode == "LSTM" or states is None else states[0]
        arguments = state, weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional
        if packed:
            out, *ends = NETWORKS[self.mode](data, batch_sizes, *arguments)
            out = PackedSequence(out, batch_sizes, sorted_indices, unsorted_indices)
            ends = self.permute_hidden(tuple(ends), unsorted_indices)
        else:
            out, *ends = NETWORKS[self.mode](data, *arguments, self.batch_first)
            if unbatched:
                out, ends = squeeze(out, 0 if self.batch_first else 1), [squeeze(end, 1) for end in ends]
        return out, tuple(ends) if self.mode == "LSTM" else ends[0]

    def _check_dimensions(self, states, unbatched):
        """States have as many dimensions as the input."""
        wanted = 2 if unbatched else 3
        if any(state.layout.ndim != wanted for state in states):
            kind = "unbatched 2-D" if unbatched else "batched 3-D"
            found = [f"{state.layout.ndim}-D" for state in states]
            if len(found) == 2:
                raise RuntimeError(f"For {kind} input, hx and cx should also be {wanted}-D but got ({', '.join(found)}) tensors")
            raise RuntimeError(f"For {kind} input, hx should also be {wanted}-D but got {found[0]} tensor")

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
                            ("bidirectional", False)):
            value = getattr(self, name)
            text += "" if value == usual else f", {name}={value}"
        return text


def _each(states, change):
    return tuple([change(state) for state in states]) if isinstance(states, tuple) else change(states)


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) over sequences, in one or more layers.

    Args:
        input_size, hidden_size, num_layers, ...: as for `RNNBase`, but there is no `proj_size`.
        nonlinearity: `"tanh"` or `"relu"`.

    Called with (L, N, input_size), (L, input_size) or a PackedSequence, and optionally the initial hidden states (layers *
    directions, N, hidden_size), it gives the outputs (L, N, directions * hidden_size) and the final hidden states.

    Raises:
        ValueError: another nonlinearity, or `proj_size`.

    Example:
        >>> import numtorch as torch
        >>> out, hidden = torch.nn.RNN(10, 20, num_layers=2)(torch.randn(5, 3, 10))
        >>> out.shape, hidden.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, *, proj_size: int = 0, device=None,
                 dtype=None):
        if proj_size:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997) over sequences, in one or more layers.

    Args: as for `RNNBase`.

    Called with (L, N, input_size), (L, input_size) or a PackedSequence, and optionally a pair of initial states (layers *
    directions, N, proj_size or hidden_size) and (layers * directions, N, hidden_size), it gives the outputs and the pair of final
    states.

    Example:
        >>> import numtorch as torch
        >>> out, (hidden, cell) = torch.nn.LSTM(10, 20, batch_first=True, bidirectional=True)(torch.randn(3, 5, 10))
        >>> out.shape, cell.shape
        (torch.Size([3, 5, 40]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device=None, dtype=None):
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
                         dtype)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014) over sequences, in one or more layers.

    Args: as for `RNNBase`, but there is no `proj_size`.

    Called as `RNN` is.

    Example:
        >>> import numtorch as torch
        >>> out, hidden = torch.nn.GRU(10, 20)(torch.randn(5, 10))
        >>> out.shape, hidden.shape
        (torch.Size([5, 20]), torch.Size([1, 20]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, *, proj_size: int = 0, device=None, dtype=None):
        if proj_size:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)


# ---------------------------------------------------------------- cells
class RNNCellBase(Module):
    """What the cells share.

    Attributes:
        weight_ih, weight_hh, bias_ih, bias_hh: (gates * hidden_size, input_size), (gates * hidden_size, hidden_size) and two of
            (gates * hidden_size); uniform within 1 / sqrt(hidden_size).
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        width = num_chunks * hidden_size
        self.weight_ih = Parameter(creation.empty(width, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(creation.empty(width, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(creation.empty(width, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _weights(self):
        own = self._parameters                           # faster than four attributes, which __getattr__ finds last
        try:
            return own["weight_ih"], own["weight_hh"], own["bias_ih"], own["bias_hh"]
        except KeyError:                                 # replaced by something computed
            return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _refuse(self, place, value):
        raise ValueError(f"{self._get_name()}: Expected {place} to be 1D or 2D, got {value.layout.ndim}D instead")

    def _run(self, function, input, hx):
        """A cell with one state."""
        layout = input.layout
        if layout.ndim == 2:
            if hx is not None and hx.layout.ndim != 2:
                hx = unsqueeze(hx, 0) if hx.layout.ndim == 1 else self._refuse("hidden", hx)
            return function(input, hx, *self._weights())
        if layout.ndim != 1:
            self._refuse("input", input)
        if hx is not None and hx.layout.ndim not in (1, 2):
            self._refuse("hidden", hx)
        batch = unsqueeze(input, 0)
        return squeeze(self._run(function, batch, hx if hx is None or hx.layout.ndim == 2 else unsqueeze(hx, 0)), 0)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else text + f", bias={self.bias}"


class RNNCell(RNNCellBase):
    """tanh(W_ih x + b_ih + W_hh h + b_hh), from (N, input_size) or (input_size) and a hidden state, zeros by default.

    Args:
        input_size, hidden_size: features.
        bias: whether there are biases.
        nonlinearity: `"tanh"` or `"relu"`.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._run(rnn.rnn_tanh_cell if self.nonlinearity == "tanh" else rnn.rnn_relu_cell, input, hx)

    def extra_repr(self):
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else text + f", nonlinearity={self.nonlinearity}"


class LSTMCell(RNNCellBase):
    """One step of an LSTM: from (N, input_size) or (input_size) and a pair of states, zeros by default, to the next pair.

    Args:
        input_size, hidden_size: features.
        bias: whether there are biases.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        layout = input.layout
        if layout.ndim not in (1, 2):
            self._refuse("input", input)
        for place, state in enumerate(hx or ()):
            if state.layout.ndim not in (1, 2):
                self._refuse(f"hx[{place}]", state)
        if layout.ndim == 1:
            states = None if hx is None else tuple([unsqueeze(s, 0) if s.layout.ndim == 1 else s for s in hx])
            return tuple([squeeze(s, 0) for s in self.forward(unsqueeze(input, 0), states)])
        return rnn.lstm_cell(input, hx, *self._weights())


class GRUCell(RNNCellBase):
    """One step of a GRU: from (N, input_size) or (input_size) and a hidden state, zeros by default, to the next state.

    Args:
        input_size, hidden_size: features.
        bias: whether there are biases.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._run(rnn.gru_cell, input, hx)
