"""Activations as modules. Softmax and its kind are in softmax.py."""
from __future__ import annotations

import warnings

from ...ops.creation import fill
from ...ops.pointwise.activation import relu
from ...ops.pointwise.elementary import tanh
from .. import functional as F
from ..parameter import Parameter
from .module import Module


class ReLU(Module):
    """max(x, 0), elementwise.

    Args:
        inplace: write the result into the input.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ReLU()(torch.tensor([-1., 0., 2.]))
        tensor([0., 0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return relu(input) if not self.inplace else relu.op.inplace(input)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


_DOC = """{what}

    {args}Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.{name}()(torch.tensor([-1., 0., 2.]))
        tensor({shown})
    """


def _plain(name, function, what, shown):
    """An activation without options. `shown` is what it gives for -1, 0 and 2."""
    def forward(self, input):
        return function(input)
    doc = _DOC.format(what=what, args="", name=name, shown=shown)
    return type(name, (Module,), {"__doc__": doc, "__module__": __name__, "forward": forward})


Sigmoid = _plain("Sigmoid", F.sigmoid, "1 / (1 + exp(-x)), elementwise.", "[0.2689, 0.5000, 0.8808]")
Tanh = _plain("Tanh", tanh, "Hyperbolic tangent, elementwise.", "[-0.7616,  0.0000,  0.9640]")
LogSigmoid = _plain("LogSigmoid", F.logsigmoid, "log(sigmoid(x)), elementwise.", "[-1.3133, -0.6931, -0.1269]")
Softsign = _plain("Softsign", F.softsign, "x / (1 + |x|), elementwise.", "[-0.5000,  0.0000,  0.6667]")
Tanhshrink = _plain("Tanhshrink", F.tanhshrink, "x - tanh(x), elementwise.", "[-0.2384,  0.0000,  1.0360]")


def _with_inplace(name, function, what, shown):
    """An activation whose only option is `inplace`."""
    def __init__(self, inplace: bool = False):
        Module.__init__(self)
        self.inplace = inplace

    def forward(self, input):
        return function(input, inplace=self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""
    doc = _DOC.format(what=what, args="Args:\n        inplace: write the result into the input.\n\n    ", name=name, shown=shown)
    return type(name, (Module,), {"__doc__": doc, "__module__": __name__, "__init__": __init__, "forward": forward,
                                  "extra_repr": extra_repr})


SELU = _with_inplace("SELU", F.selu, "Scaled elu whose activations keep mean 0 and variance 1 (Klambauer et al. 2017).",
                     "[-1.1113,  0.0000,  2.1014]")
SiLU = _with_inplace("SiLU", F.silu, "x * sigmoid(x), elementwise (Elfwing et al. 2017).", "[-0.2689,  0.0000,  1.7616]")
Mish = _with_inplace("Mish", F.mish, "x * tanh(softplus(x)), elementwise (Misra 2019).", "[-0.3034,  0.0000,  1.9440]")
Hardswish = _with_inplace("Hardswish", F.hardswish, "x * hardsigmoid(x), elementwise (Howard et al. 2019).",
                          "[-0.3333,  0.0000,  1.6667]")
Hardsigmoid = _with_inplace("Hardsigmoid", F.hardsigmoid, "x / 6 + 1/2 held between 0 and 1.", "[0.3333, 0.5000, 0.8333]")


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
    """x where positive, negative_slope * x elsewhere (Maas et al. 2013).

    Args:
        negative_slope: below 0.
        inplace: write the result into the input.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1., 0., 2.]))
        tensor([-0.1000,  0.0000,  2.0000])
    """

    names, function = ("negative_slope",), staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self._set(inplace, negative_slope=negative_slope)


class ELU(_Options):
    """x where positive, alpha * (exp(x) - 1) elsewhere (Clevert et al. 2016).

    Args:
        alpha: what is approached below 0, with the other sign.
        inplace: write the result into the input.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ELU()(torch.tensor([-1., 0., 2.]))
        tensor([-0.6321,  0.0000,  2.0000])
    """

    names, function = ("alpha",), staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self._set(inplace, alpha=alpha)


class CELU(_Options):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere, whose slope has no jump (Barron 2017).

    Args:
        alpha: what is approached below 0, with the other sign; not 0.
        inplace: write the result into the input.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.CELU(2.0)(torch.tensor([-1., 0., 2.]))
        tensor([-0.7869,  0.0000,  2.0000])
    """

    names, function = ("alpha",), staticmethod(F.celu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self._set(inplace, alpha=alpha)


class Hardtanh(_Options):
    """x held between min_val and max_val.

    Args:
        min_val, max_val: the least and the largest result.
        inplace: write the result into the input.
        min_value, max_value: older names of the first two, with a warning.

    Shape:
        Any shape -> the same shape.

    Raises:
        AssertionError: max_val is not greater than min_val.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Hardtanh(-2, 2)(torch.tensor([-3., 0., 1.]))
        tensor([-2.,  0.,  1.])
    """

    names, function = ("min_val", "max_val"), staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value=None, max_value=None) -> None:
        for older, name in ((min_value, "min_val"), (max_value, "max_val")):
            if older is not None:
                warnings.warn(f"keyword argument `{name}ue` is deprecated and renamed to `{name}`", FutureWarning, stacklevel=2)
        min_val, max_val = min_val if min_value is None else min_value, max_val if max_value is None else max_value
        if min_val >= max_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self._set(inplace, min_val=min_val, max_val=max_val)


class ReLU6(Hardtanh):
    """x held between 0 and 6.

    Args:
        inplace: write the result into the input.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ReLU6()(torch.tensor([-3., 1., 9.]))
        tensor([0., 1., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Threshold(_Options):
    """x where it exceeds the threshold, else value.

    Args:
        threshold, value: numbers.
        inplace: write the result into the input.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Threshold(1.0, -1.0)(torch.tensor([0.5, 1., 2.]))
        tensor([-1., -1.,  2.])
    """

    names, function = ("threshold", "value"), staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        self._set(inplace, threshold=threshold, value=value)


class Softplus(_Options):
    """log(1 + exp(beta * x)) / beta: a relu without a corner.

    Args:
        beta: how sharply it bends.
        threshold: where beta * x exceeds it, the result is x itself.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Softplus()(torch.tensor([-1., 0., 200.]))
        tensor([  0.3133,   0.6931, 200.0000])
    """

    names, function = ("beta", "threshold"), staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self._set(beta=beta, threshold=threshold)


class _Shrinking(_Options):
    names = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        self._set(lambd=lambd)

    def extra_repr(self):
        return str(self.lambd)


class Softshrink(_Shrinking):
    """x moved towards 0 by lambd, and 0 where it is nearer.

    Args:
        lambd: how far; not negative.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Softshrink()(torch.tensor([-2., 0.3, 2.]))
        tensor([-1.5000,  0.0000,  1.5000])
    """

    function = staticmethod(F.softshrink)


class Hardshrink(_Shrinking):
    """x, and 0 where |x| is at most lambd.

    Args:
        lambd: the threshold.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Hardshrink()(torch.tensor([-2., 0.3, 2.]))
        tensor([-2.,  0.,  2.])
    """

    function = staticmethod(F.hardshrink)


class GELU(Module):
    """x * Phi(x), with the normal distribution function Phi (Hendrycks and Gimpel 2016).

    Args:
        approximate: "none", or "tanh" for x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.GELU()(torch.tensor([-1., 0., 2.]))
        tensor([-0.1587,  0.0000,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2017).

    Args:
        dim: which to halve; the last by default.

    Shape:
        (*, 2 N, *) -> (*, N, *).

    Raises:
        RuntimeError: in the call, an odd extent.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.GLU()(torch.tensor([1., 2., 0., 200.]))
        tensor([0.5000, 2.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class RReLU(Module):
    """x where not negative, elsewhere a slope times x (Xu et al. 2015).

    Args:
        lower, upper: the slope is drawn between them for each element while training, and is else their mean.
        inplace: write the result into the input.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.RReLU(0.25, 0.75).eval()(torch.tensor([-1., 2.]))
        tensor([-0.5000,  2.0000])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}{', inplace=True' if self.inplace else ''}"


class PReLU(Module):
    """x where positive, weight * x elsewhere (He et al. 2015).

    Args:
        num_parameters: 1, or the number of channels C (dimension 1), each with a slope of its own.
        init: what the slopes begin with.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: (num_parameters).

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.PReLU()(torch.tensor([-1., 2.]))
        tensor([-0.2500,  2.0000], grad_fn=<PreluKernelBackward0>)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(fill.full((num_parameters,), float(init), device=device, dtype=dtype))

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"
