"""Recurrent cells: one step of the networks in rnn.py."""
from __future__ import annotations

import math

from ...ops.creation import fill
from ...ops.nn import rnn
from ...ops.shape.views import squeeze, unsqueeze
from .. import init
from ..parameter import Parameter
from .module import Module


class RNNCellBase(Module):
    """What the cells share.

    Args:
        input_size, hidden_size: features of the input and of the state.
        bias: whether there are biases.
        num_chunks: the number of gates.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight_ih, weight_hh, bias_ih, bias_hh: (gates * hidden_size, input_size), (gates * hidden_size, hidden_size) and two of
            (gates * hidden_size); uniform within 1 / sqrt(hidden_size).

    Example:
        >>> import numtorch as torch
        >>> [tuple(p.shape) for p in torch.nn.RNNCellBase(10, 20, bias=True, num_chunks=3).parameters()]
        [(60, 10), (60, 20), (60,), (60,)]
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None, dtype=None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        width = num_chunks * hidden_size
        self.weight_ih = Parameter(fill.empty(width, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(fill.empty(width, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(fill.empty(width, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
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
    """tanh(W_ih x + b_ih + W_hh h + b_hh): one step of an `RNN`.

    Args:
        input_size, hidden_size: features of the input x and of the state h.
        bias: whether there are biases.
        nonlinearity: `"tanh"` or `"relu"`.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight_ih, weight_hh, bias_ih, bias_hh: (hidden_size, input_size), (hidden_size, hidden_size) and two of (hidden_size);
            uniform within 1 / sqrt(hidden_size).

    Shape:
        (N, input_size) and perhaps a state (N, hidden_size), 0 by default -> (N, hidden_size); or all without N.

    Raises:
        ValueError: in the call, another number of dimensions.
        RuntimeError: in the call, sizes that do not fit, or another nonlinearity.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.RNNCell(10, 20)(torch.randn(3, 10)).shape
        torch.Size([3, 20])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device=None,
                 dtype=None) -> None:
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
    """One step of an `LSTM`.

    Args:
        input_size, hidden_size: features of the input and of both states.
        bias: whether there are biases.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight_ih, weight_hh, bias_ih, bias_hh: (4 * hidden_size, input_size), (4 * hidden_size, hidden_size) and two of (4 *
            hidden_size), gates in the order input, forget, candidate, output; uniform within 1 / sqrt(hidden_size).

    Shape:
        (N, input_size) and perhaps a pair of states (N, hidden_size), 0 by default -> the next pair; or all without N.

    Raises:
        ValueError: in the call, another number of dimensions.
        RuntimeError: in the call, sizes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> hidden, cell = torch.nn.LSTMCell(10, 20)(torch.randn(3, 10))
        >>> hidden.shape, cell.shape
        (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
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
    """One step of a `GRU`.

    Args:
        input_size, hidden_size: features of the input and of the state.
        bias: whether there are biases.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight_ih, weight_hh, bias_ih, bias_hh: (3 * hidden_size, input_size), (3 * hidden_size, hidden_size) and two of (3 *
            hidden_size), gates in the order reset, update, candidate; uniform within 1 / sqrt(hidden_size).

    Shape:
        (N, input_size) and perhaps a state (N, hidden_size), 0 by default -> (N, hidden_size); or all without N.

    Raises:
        ValueError: in the call, another number of dimensions.
        RuntimeError: in the call, sizes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.GRUCell(10, 20)(torch.randn(3, 10)).shape
        torch.Size([3, 20])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._run(rnn.gru_cell, input, hx)
