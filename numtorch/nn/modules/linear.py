"""Linear maps."""
from __future__ import annotations

import math

from ...ops.creation import fill
from ...ops.nn.linear import linear
from .. import functional as F
from .. import init
from ..base.foreseen import expect_example
from ..parameter import Parameter
from .module import Module


class Identity(Module):
    """Gives its input back, whatever it was made with.

    Shape:
        Any shape -> the same tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Identity(54, unused=True)(torch.tensor([1., 2.]))
        tensor([1., 2.])
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """x @ weight.T + bias.

    Args:
        in_features, out_features: extents of the last dimension.
        bias: whether to add one.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: (out_features, in_features), uniform within 1 / sqrt(in_features), as is
        bias: (out_features), or None.

    Shape:
        (*, in_features) -> (*, out_features).

    Raises:
        RuntimeError: in the call, another extent or dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Linear(3, 2)(torch.zeros(5, 3)).shape
        torch.Size([5, 2])
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(fill.empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(fill.empty(out_features, device=device, dtype=dtype)) if bias else None)
        expect_example(self, 64, in_features)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        own = self._parameters                           # faster than two attributes, which __getattr__ finds last
        try:
            weight, bias = own["weight"], own["bias"]
        except KeyError:                                 # replaced by something computed, such as a normalised weight
            weight, bias = self.weight, self.bias
        return linear(input, weight, bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1 A_k x2 + b_k for each output k.

    Args:
        in1_features, in2_features, out_features: extents of the last dimensions.
        bias: whether to add one.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: A, (out_features, in1_features, in2_features), uniform within 1 / sqrt(in1_features), as is
        bias: (out_features), or None.

    Shape:
        (*, in1_features) and (*, in2_features) -> (*, out_features).

    Raises:
        ValueError: in1_features is not positive.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Bilinear(3, 4, 2)(torch.zeros(5, 3), torch.zeros(5, 4)).shape
        torch.Size([5, 2])
    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(fill.empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(fill.empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")
