"""Activations as modules."""
from __future__ import annotations

from ...ops import creation
from ...ops.activation import relu
from ...ops.elementary import tanh
from .. import functional as F
from ..parameter import Parameter
from .module import Module


class ReLU(Module):
    """max(x, 0), elementwise; `inplace` writes into the input."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return relu(input) if not self.inplace else relu.op.inplace(input)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


def _plain(name, function, doc):
    """An activation without options."""
    def forward(self, input):
        return function(input)
    return type(name, (Module,), {"__doc__": doc, "__module__": __name__, "forward": forward})


Sigmoid = _plain("Sigmoid", F.sigmoid, "1 / (1 + exp(-x)), elementwise.")
Tanh = _plain("Tanh", tanh, "Hyperbolic tangent, elementwise.")
LogSigmoid = _plain("LogSigmoid", F.logsigmoid, "log(sigmoid(x)), elementwise.")
Softsign = _plain("Softsign", F.softsign, "x / (1 + |x|), elementwise.")
Tanhshrink = _plain("Tanhshrink", F.tanhshrink, "x - tanh(x), elementwise.")


def _with_inplace(name, function, doc):
    """An activation whose only option is `inplace`."""
    def __init__(self, inplace: bool = False):
        Module.__init__(self)
        self.inplace = inplace

    def forward(self, input):
        return function(input, inplace=self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""
    return type(name, (Module,), {"__doc__": doc, "__module__": __name__, "__init__": __init__, "forward": forward,
                                  "extra_repr": extra_repr})


SELU = _with_inplace("SELU", F.selu, "Scaled elu whose activations keep mean 0 and variance 1.")
SiLU = _with_inplace("SiLU", F.silu, "x * sigmoid(x), elementwise.")
Mish = _with_inplace("Mish", F.mish, "x * tanh(softplus(x)), elementwise.")
Hardswish = _with_inplace("Hardswish", F.hardswish, "x * hardsigmoid(x), elementwise.")
Hardsigmoid = _with_inplace("Hardsigmoid", F.hardsigmoid, "x / 6 + 1/2 held between 0 and 1.")


class _Options(Module):
    """An activation with numbers: `names` are its attributes, in the order `function` takes them."""

    names: tuple = ()
    function = None

    def _set(self, inplace=None, **values):
        Module.__init__(self)
        for name, value in values.items():
            setattr(self, name, value)
        if inplace is not None:
            self.inplace = inplace

    def forward(self, input):
        options = {"inplace": True} if self.__dict__.get("inplace") else {}
        return type(self).function(input, *[getattr(self, n) for n in self.names], **options)

    def extra_repr(self):
        return ", ".join([f"{n}={getattr(self, n)}" for n in self.names] + (["inplace=True"] if self.__dict__.get("inplace")
                                                                            else []))


class LeakyReLU(_Options):
    """x where positive, negative_slope * x elsewhere."""

    names, function = ("negative_slope",), staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        self._set(inplace, negative_slope=negative_slope)


class ELU(_Options):
    """x where positive, alpha * (exp(x) - 1) elsewhere."""

    names, function = ("alpha",), staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self._set(inplace, alpha=alpha)


class CELU(_Options):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""

    names, function = ("alpha",), staticmethod(F.celu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self._set(inplace, alpha=alpha)


class Hardtanh(_Options):
    """x held between min_val and max_val."""

    names, function = ("min_val", "max_val"), staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        if min_val >= max_val:
            raise AssertionError(f"max_val must be larger than min_val, got {min_val} and {max_val}")
        self._set(inplace, min_val=min_val, max_val=max_val)


class ReLU6(Hardtanh):
    """x held between 0 and 6."""

    def __init__(self, inplace: bool = False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Threshold(_Options):
    """x where it exceeds the threshold, else value."""

    names, function = ("threshold", "value"), staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        self._set(inplace, threshold=threshold, value=value)


class Softplus(_Options):
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x exceeds the threshold."""

    names, function = ("beta", "threshold"), staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        self._set(beta=beta, threshold=threshold)


class Softshrink(_Options):
    """x moved towards 0 by lambd, and 0 where it is nearer."""

    names, function = ("lambd",), staticmethod(F.softshrink)

    def __init__(self, lambd: float = 0.5):
        self._set(lambd=lambd)

    def extra_repr(self):
        return str(self.lambd)


class Hardshrink(Softshrink):
    """x, and 0 where |x| is at most lambd."""

    function = staticmethod(F.hardshrink)


class GELU(Module):
    """x * Phi(x), with Phi the normal distribution function; `approximate` is "none" or "tanh"."""

    def __init__(self, approximate: str = "none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half of a dimension times the sigmoid of the second."""

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class RReLU(Module):
    """x where positive, elsewhere a slope times x: while training drawn between `lower` and `upper` for each element."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}{', inplace=True' if self.inplace else ''}"


class PReLU(Module):
    """x where positive, weight * x elsewhere, with one learned weight or one for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(creation.full((num_parameters,), float(init), device=device, dtype=dtype))

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class _AlongDim(Module):
    function = None

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return type(self).function(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """exp(x) / sum(exp(x)) along a dimension."""

    function = staticmethod(F.softmax)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along a dimension."""

    function = staticmethod(F.log_softmax)


class Softmin(_AlongDim):
    """softmax(-x) along a dimension."""

    function = staticmethod(F.softmin)


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        if input.layout.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.layout.ndim}D instead")
        return F.softmax(input, -3)
