"""Recurrent networks over sequences. Cells for one step are in rnncell.py."""
from __future__ import annotations

import math
import numbers
import warnings

from ...ops.creation import fill
from ...ops.index.index_select import index_select
from ...ops.nn import rnn
from ...ops.shape.views import squeeze, unsqueeze
from ...tensor import Tensor
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
        batch_first: sequences as (N, L, *) instead of (L, N, *); states are never so.
        dropout: the probability with which an output between layers is set to 0 in training.
        bidirectional: each layer also runs from the end to the start, and gives both outputs side by side.
        proj_size: project the LSTM's hidden state to this size; 0 for no projection.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0: (gates * hidden_size, input_size), (gates * hidden_size,
            hidden_size or proj_size), two of (gates * hidden_size), (proj_size, hidden_size); and so on for further layers, with
            `_reverse` for the second direction. All uniform within 1 / sqrt(hidden_size).

    Raises:
        ValueError: sizes, an option or a mode out of range.
        TypeError: sizes or options of another type.

    Example:
        >>> import numtorch as torch
        >>> [tuple(p.shape) for p in torch.nn.RNNBase("GRU", 10, 20).parameters()]
        [(60, 10), (60, 20), (60,), (60,)]
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device=None,
                 dtype=None) -> None:
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
                    self.register_parameter(name, Parameter(fill.empty(*shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self):
        """Nothing: PyTorch brings weights together in memory here for cuDNN, and the kernels here take them where they lie."""

    @property
    def all_weights(self):
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        """The parameters in one list, which programs read that drop some of them out: PyTorch's name."""
        return [getattr(self, name) for name in self._flat_weights_names]

    def check_input(self, input, batch_sizes):
        """Raise ValueError for an input of another dtype than the weights, RuntimeError for other sizes than expected.

        Args:
            input: (L, N, input_size), or (sum of lengths, input_size) with
            batch_sizes: of a PackedSequence, or None.
        """
        weight = getattr(self, self._all_weights[0][0])
        have, want = input.layout.dtype, weight.layout.dtype
        if have is not want:
            raise ValueError(f"RNN input dtype ({have}) does not match weight dtype ({want}). Convert input: input.to({want}), or "
                             f"convert model: model.to({have})")
        expected = 3 if batch_sizes is None else 2
        if input.layout.ndim != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.layout.ndim}")
        features = input.layout.shape[-1]
        if features != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {features}")

    def _state_shapes(self, batch):
        """The shapes of the hidden and of the LSTM's cell state for so many sequences."""
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return (layers, batch, self.proj_size or self.hidden_size), (layers, batch, self.hidden_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """Raise RuntimeError for a state of another shape.

        Args:
            hx: the state.
            expected_hidden_size: its shape.
            msg: the error's text, with places for the expected and the given shape.
        """
        if hx.layout.shape != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.layout.shape)))

    def permute_hidden(self, hx, permutation):
        """States in another order of the sequences.

        Args:
            hx: (layers * directions, N, *), or several of them.
            permutation: int64 (N), or None for the same order.
        """
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
            states = self._states(hx)
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

    def _states(self, hx):
        """The given states as a tuple."""
        wanted = "a pair (h_0, c_0) of tensors" if self.mode == "LSTM" else "one tensor h_0"
        states = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        if len(states) != (2 if self.mode == "LSTM" else 1) or not all(isinstance(state, Tensor) for state in states) \
                or isinstance(hx, (tuple, list)) != (self.mode == "LSTM"):
            got = type(hx).__name__ + (f" of {len(hx)}" if isinstance(hx, (tuple, list)) else "")
            raise TypeError(f"{self._get_name()}: expected hx to be {wanted}, got {got}")
        return states

    def _check_dimensions(self, states, unbatched):
        """States have as many dimensions as the input."""
        wanted = 2 if unbatched else 3
        if any(state.layout.ndim != wanted for state in states):
            kind = "unbatched 2-D" if unbatched else "batched 3-D"
            dimensions = [f"{state.layout.ndim}-D" for state in states]
            if len(dimensions) == 2:
                raise RuntimeError(f"For {kind} input, hx and cx should also be {wanted}-D but got "
                                   f"({', '.join(dimensions)}) tensors")
            raise RuntimeError(f"For {kind} input, hx should also be {wanted}-D but got {dimensions[0]} tensor")

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
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) over sequences, in one or more layers (Elman 1990).

    Args:
        input_size, hidden_size: features of the input and of the hidden state.
        num_layers: layers, each fed with the outputs of the one before.
        nonlinearity: `"tanh"` or `"relu"`.
        bias: whether the gates have biases.
        batch_first: sequences as (N, L, *) instead of (L, N, *); states are never so.
        dropout: the probability with which an output between layers is set to 0 in training.
        bidirectional: each layer also runs from the end to the start, and gives both outputs side by side.
        proj_size: of the LSTM only; 0.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight_ih_l0: (hidden_size, input_size), in further layers (*, directions * hidden_size); uniform within 1 /
            sqrt(hidden_size), as are all.
        weight_hh_l0: (hidden_size, hidden_size).
        bias_ih_l0, bias_hh_l0: (hidden_size). And so on for further layers `_l1`, with `_reverse` for the second direction.

    Shape:
        (L, N, input_size), (L, input_size) or a PackedSequence, and perhaps states (layers * directions, N, hidden_size) ->
            outputs (L, N, directions * hidden_size) and the final states. Initial states are 0 by default; without N in the input
            there is none anywhere.

    Raises:
        ValueError: another nonlinearity, `proj_size`, or sizes out of range.
        RuntimeError: in the call, shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> out, hidden = torch.nn.RNN(10, 20, num_layers=2)(torch.randn(5, 3, 10))
        >>> out.shape, hidden.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, *, proj_size: int = 0, device=None,
                 dtype=None) -> None:
        if proj_size:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997) over sequences, in one or more layers.

    c' = sigmoid(f) c + sigmoid(i) tanh(g) and h' = sigmoid(o) tanh(c'), where i, f, g and o are the four parts of W_ih x + b_ih +
    W_hh h + b_hh.

    Args:
        input_size, hidden_size: features of the input and of the hidden state.
        num_layers: layers, each fed with the outputs of the one before.
        bias: whether the gates have biases.
        batch_first: sequences as (N, L, *) instead of (L, N, *); states are never so.
        dropout: the probability with which an output between layers is set to 0 in training.
        bidirectional: each layer also runs from the end to the start, and gives both outputs side by side.
        proj_size: project the hidden state to this size P (Sak et al. 2014); 0 for no projection.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight_ih_l0: (4 * hidden_size, input_size), in further layers (*, directions * hidden_size); uniform within 1 /
            sqrt(hidden_size), as are all.
        weight_hh_l0: (4 * hidden_size, hidden_size).
        bias_ih_l0, bias_hh_l0: (4 * hidden_size). And so on for further layers `_l1`, with `_reverse` for the second direction.
        weight_hr_l0: (P, hidden_size), with a projection; hidden states are then of size P in all of the above.

    Shape:
        (L, N, input_size), (L, input_size) or a PackedSequence, and perhaps a pair of states (layers * directions, N, P or
            hidden_size) and (layers * directions, N, hidden_size) -> outputs (L, N, directions * (P or hidden_size)) and the pair
            of final states. Initial states are 0 by default; without N in the input there is none anywhere.

    Raises:
        ValueError: sizes out of range.
        RuntimeError: in the call, shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> out, (hidden, cell) = torch.nn.LSTM(10, 20, batch_first=True, bidirectional=True)(torch.randn(3, 5, 10))
        >>> out.shape, cell.shape
        (torch.Size([3, 5, 40]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device=None, dtype=None) -> None:
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
                         dtype)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014) over sequences, in one or more layers.

    h' = (1 - z) n + z h with n = tanh(W_in x + b_in + r (W_hn h + b_hn)), and the gates r and z as sigmoids of W_i x + b_i + W_h h
    + b_h; weights stand in the order r, z, n.

    Args:
        input_size, hidden_size: features of the input and of the hidden state.
        num_layers: layers, each fed with the outputs of the one before.
        bias: whether the gates have biases.
        batch_first: sequences as (N, L, *) instead of (L, N, *); states are never so.
        dropout: the probability with which an output between layers is set to 0 in training.
        bidirectional: each layer also runs from the end to the start, and gives both outputs side by side.
        proj_size: of the LSTM only; 0.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight_ih_l0: (3 * hidden_size, input_size), in further layers (*, directions * hidden_size); uniform within 1 /
            sqrt(hidden_size), as are all.
        weight_hh_l0: (3 * hidden_size, hidden_size).
        bias_ih_l0, bias_hh_l0: (3 * hidden_size). And so on for further layers `_l1`, with `_reverse` for the second direction.

    Shape:
        (L, N, input_size), (L, input_size) or a PackedSequence, and perhaps states (layers * directions, N, hidden_size) ->
            outputs (L, N, directions * hidden_size) and the final states. Initial states are 0 by default; without N in the input
            there is none anywhere.

    Raises:
        ValueError: `proj_size`, or sizes out of range.
        RuntimeError: in the call, shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> out, hidden = torch.nn.GRU(10, 20)(torch.randn(5, 10))
        >>> out.shape, hidden.shape
        (torch.Size([5, 20]), torch.Size([1, 20]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, *, proj_size: int = 0, device=None, dtype=None) -> None:
        if proj_size:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
