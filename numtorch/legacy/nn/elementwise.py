"""Functions of each element, and softmax. Those without options are rows of a table: a name, a formula, a sentence, an example."""
from __future__ import annotations

from ...nn import functional as F
from ...ops.creation.fill import empty, full, zeros
from ...ops.pointwise.arithmetic import where
from .module import Layer


def _row(name, formula, sentence, given, gives):
    """A class for a function without options."""
    example = f"Example:\n    >>> nn.{name}().forward(torch.tensor({given}))\n    tensor({gives})\n"
    return type(name, (Layer,), {"formula": lambda self, input: formula(input), "__module__": __name__,
                                 "__doc__": f"{sentence}\n\n{example}"})


def _classes(input):
    """The dimension of the classes: that of vectors, of rows of a batch, and of planes."""
    return 0 if input.dim() in (1, 3) else 1


Abs = _row("Abs", lambda x: x.abs(), "|x|.", "[-2., 0., 1.]", "[2., 0., 1.]")
Exp = _row("Exp", lambda x: x.exp(), "e^x.", "[0., 1.]", "[1.0000, 2.7183]")
Log = _row("Log", lambda x: x.log(), "The natural logarithm.", "[1., 2.]", "[0.0000, 0.6931]")
Square = _row("Square", lambda x: x.square(), "x^2.", "[-2., 3.]", "[4., 9.]")
Sigmoid = _row("Sigmoid", F.sigmoid, "1 / (1 + e^-x).", "[-1., 0., 1.]", "[0.2689, 0.5000, 0.7311]")
LogSigmoid = _row("LogSigmoid", F.logsigmoid, "log(sigmoid(x)).", "[-1., 0., 1.]", "[-1.3133, -0.6931, -0.3133]")
Tanh = _row("Tanh", F.tanh, "tanh(x).", "[-1., 0., 1.]", "[-0.7616,  0.0000,  0.7616]")
TanhShrink = _row("TanhShrink", F.tanhshrink, "x - tanh(x).", "[-1., 0., 1.]", "[-0.2384,  0.0000,  0.2384]")
SoftSign = _row("SoftSign", F.softsign, "x / (1 + |x|).", "[-1., 0., 3.]", "[-0.5000,  0.0000,  0.7500]")
SoftMax = _row("SoftMax", lambda x: F.softmax(x, _classes(x)), "e^x over its sum: over vectors, over the rows of (N, C), over the "
               "planes of (C, H, W) and (N, C, H, W).", "[0., 1.]", "[0.2689, 0.7311]")
SoftMin = _row("SoftMin", lambda x: F.softmax(-x, _classes(x)), "The softmax of -x.", "[0., 1.]", "[0.7311, 0.2689]")
LogSoftMax = _row("LogSoftMax", lambda x: F.log_softmax(x, _classes(x)), "The logarithm of the softmax, over the same dimension as "
                  "`SoftMax`.", "[0., 1.]", "[-1.3133, -0.3133]")
SpatialSoftMax = _row("SpatialSoftMax", lambda x: F.softmax(x, _classes(x)), "The softmax over the planes of (C, H, W) or "
                      "(N, C, H, W).", "[[[0.]], [[1.]]]", "[[[0.2689]],\n    <BLANKLINE>\n            [[0.7311]]]")
Identity = _row("Identity", lambda x: x, "The input itself, a tensor or a table.", "[1., 2.]", "[1., 2.]")


class AddConstant(Layer):
    """x + constant.

    Example:
        >>> nn.AddConstant(3).forward(torch.ones(2))
        tensor([4., 4.])
    """

    def __init__(self, constant_scalar, inplace=False):
        super().__init__()
        self.constant_scalar, self.inplace = constant_scalar, inplace

    def formula(self, input):
        return input + self.constant_scalar


class MulConstant(AddConstant):
    """x * constant.

    Example:
        >>> nn.MulConstant(3).forward(torch.ones(2))
        tensor([3., 3.])
    """

    def formula(self, input):
        return input * self.constant_scalar


class Power(Layer):
    """x^p.

    Example:
        >>> nn.Power(3).forward(torch.tensor([2.]))
        tensor([8.])
    """

    def __init__(self, p):
        super().__init__()
        self.pow = p

    def formula(self, input):
        return input.pow(self.pow)


def root(input):
    """The square root, whose gradient at 0 counts as 0.

    Args:
        input: (*).
    """
    zero = input == 0
    return where(zero, 0, where(zero, 1, input).sqrt())


class Sqrt(Layer):
    """The square root, whose gradient at 0 counts as 0.

    Example:
        >>> module, x = nn.Sqrt(), torch.tensor([0., 4.])
        >>> module.forward(x), module.backward(x, torch.ones(2))
        (tensor([0., 2.]), tensor([0.0000, 0.2500]))
    """

    def __init__(self, b=0, eps=0):
        super().__init__()

    def formula(self, input):
        return root(input)


class HardTanh(Layer):
    """x held between two numbers.

    Raises:
        ValueError: a largest output that is not above the smallest.

    Example:
        >>> nn.HardTanh().forward(torch.tensor([-3., 0.5, 3.]))
        tensor([-1.0000,  0.5000,  1.0000])
    """

    def __init__(self, min_value=-1, max_value=1, inplace=False):
        super().__init__()
        if max_value <= min_value:
            raise ValueError(f"{type(self).__name__}: expected max_value above min_value, got {max_value} and {min_value}")
        self.min_val, self.max_val, self.inplace = min_value, max_value, inplace

    def formula(self, input):
        return F.hardtanh(input, self.min_val, self.max_val)


class Clamp(HardTanh):
    """x held between two numbers.

    Example:
        >>> nn.Clamp(0, 2).forward(torch.tensor([-3., 0.5, 3.]))
        tensor([0.0000, 0.5000, 2.0000])
    """

    def __init__(self, min_value, max_value):
        super().__init__(min_value, max_value)


class ReLU6(HardTanh):
    """x held between 0 and 6.

    Example:
        >>> nn.ReLU6().forward(torch.tensor([-3., 0.5, 7.]))
        tensor([0.0000, 0.5000, 6.0000])
    """

    def __init__(self, inplace=False):
        super().__init__(0, 6, inplace)


class Threshold(Layer):
    """x where it exceeds a threshold, else a value.

    Raises:
        RuntimeError: in place, with a value above the threshold.

    Example:
        >>> nn.Threshold(1, -1).forward(torch.tensor([0., 1., 2.]))
        tensor([-1., -1.,  2.])
    """

    def __init__(self, threshold=0, value=0, inplace=False):
        super().__init__()
        if inplace and value > threshold:
            raise RuntimeError(f"in-place processing requires value ({value}) to not exceed threshold ({threshold})")
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def formula(self, input):
        return F.threshold(input, self.threshold, self.value)


class ReLU(Threshold):
    """x where it is positive, else 0.

    Example:
        >>> nn.ReLU().forward(torch.tensor([-1., 2.]))
        tensor([0., 2.])
    """

    def __init__(self, inplace=False):
        super().__init__(0, 0, inplace)

    def formula(self, input):
        return F.relu(input)


class LeakyReLU(Layer):
    """x where it is positive, else a small multiple of it (Maas et al. 2013).

    Example:
        >>> nn.LeakyReLU(0.5).forward(torch.tensor([-1., 2.]))
        tensor([-0.5000,  2.0000])
    """

    def __init__(self, negval=1 / 100, inplace=False):
        super().__init__()
        self.negval, self.inplace = negval, inplace

    def formula(self, input):
        return F.leaky_relu(input, self.negval)

    def _shown(self):
        return f"({self.negval:.4f})"


class ELU(Layer):
    """x where it is positive, else alpha (e^x - 1) (Clevert et al. 2016).

    Example:
        >>> nn.ELU().forward(torch.tensor([-1., 2.]))
        tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def formula(self, input):
        return F.elu(input, self.alpha)

    def _shown(self):
        return f"(alpha={self.alpha:.3f})"


class RReLU(Layer):
    """x where it is positive, else a multiple of it that is drawn for each element, and their mean after training (Xu et al. 2015).

    Raises:
        ValueError: slopes that are negative or in the wrong order.

    Example:
        >>> nn.RReLU(0.5, 0.5).forward(torch.tensor([-1., 2.]))
        tensor([-0.5000,  2.0000])
    """

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        if not 0 <= lower <= upper:
            raise ValueError(f"RReLU: expected 0 <= lower <= upper, got {lower} and {upper}")
        self.lower, self.upper, self.inplace, self.noise = lower, upper, inplace, zeros(0)

    def updateOutput(self, input):
        if self.train:
            self.noise = empty(input.shape, dtype=input.dtype, device=input.device).uniform_(self.lower, self.upper)
        return super().updateOutput(input)

    def formula(self, input):
        return where(input > 0, input, input * (self.noise if self.train else (self.lower + self.upper) / 2))

    def _shown(self):
        return f"({self.lower:.4f}, {self.upper:.4f})"


class PReLU(Layer):
    """x where it is positive, else a multiple of it that is learned, one for all planes or one for each (He et al. 2015).

    Example:
        >>> nn.PReLU().forward(torch.tensor([[-1., 2.]]))
        tensor([[-0.2500,  2.0000]])
    """

    def __init__(self, nOutputPlane=0):
        super().__init__()
        self.nOutputPlane = nOutputPlane
        self.weight, self.gradWeight = full((nOutputPlane or 1,), 0.25), zeros(nOutputPlane or 1)

    def formula(self, input, weight):
        return F.prelu(input, weight)


class SoftPlus(Layer):
    """log(1 + e^(beta x)) / beta.

    Example:
        >>> nn.SoftPlus().forward(torch.tensor([-1., 0.]))
        tensor([0.3133, 0.6931])
    """

    def __init__(self, beta=1):
        super().__init__()
        self.beta, self.threshold = beta, 20

    def formula(self, input):
        return F.softplus(input, self.beta, self.threshold)


class SoftShrink(Layer):
    """x moved towards 0 by lambd, and 0 where it is nearer.

    Example:
        >>> nn.SoftShrink(1).forward(torch.tensor([-3., 0.5, 2.]))
        tensor([-2.,  0.,  1.])
    """

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def formula(self, input):
        return F.softshrink(input, self.lambd)


class HardShrink(SoftShrink):
    """x, and 0 where |x| is at most lambd.

    Example:
        >>> nn.HardShrink(1.).forward(torch.tensor([-3., 0.5, 2.]))
        tensor([-3.,  0.,  2.])
    """

    def formula(self, input):
        return F.hardshrink(input, self.lambd)


class GradientReversal(Layer):
    """x, whose gradient is multiplied by -lambd (Ganin and Lempitsky 2015).

    Example:
        >>> module, x = nn.GradientReversal(), torch.ones(2)
        >>> module.forward(x), module.backward(x, torch.ones(2))
        (tensor([1., 1.]), tensor([-1., -1.]))
    """

    def __init__(self, lambd=1):
        super().__init__()
        self.lambd = lambd

    def setLambda(self, lambd):
        """Set the factor.

        Args:
            lambd: the factor.
        """
        self.lambd = lambd

    def formula(self, input):
        return input

    def _walk(self, input, gradOutput, scale, of_input, of_parameters):
        return super()._walk(input, gradOutput * -self.lambd, scale, of_input, of_parameters)


class L1Penalty(Layer):
    """x, to whose gradient that of `l1weight` |x| is added; the penalty is kept in `loss`.

    Example:
        >>> module, x = nn.L1Penalty(0.5), torch.tensor([-2., 3.])
        >>> module.forward(x), module.loss, module.backward(x, torch.ones(2))
        (tensor([-2.,  3.]), 2.5, tensor([0.5000, 1.5000]))
    """

    def __init__(self, l1weight, sizeAverage=False, provideOutput=True):
        super().__init__()
        self.l1weight, self.sizeAverage, self.provideOutput, self.loss = l1weight, sizeAverage, provideOutput, None

    def _factor(self, input):
        return self.l1weight / input.numel() if self.sizeAverage else self.l1weight

    def updateOutput(self, input):
        self.loss = self._factor(input) * input.abs().sum().item()
        return super().updateOutput(input)

    def formula(self, input):
        return input

    def _walk(self, input, gradOutput, scale, of_input, of_parameters):
        slope = input.sign() * self._factor(input)
        return super()._walk(input, slope + gradOutput if self.provideOutput else slope, scale, of_input, of_parameters)
