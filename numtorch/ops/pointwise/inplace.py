"""Methods of functions that were made without: in-place forms of what is no record (computed, and copied back), others, and
in-place methods under their other names."""
from __future__ import annotations

from ...dtypes import can_cast
from ...tensor import Tensor
from ..core.operands import method
from ..memory.assign import written_back
from .activation import hardshrink
from .elementary import polygamma
from .floats import nextafter
from .power import float_power
from .real_functions import logit, nan_to_num
from .special import igamma, igammac, mvlgamma


def _copied_back(function, name, given, arguments, expected, dtype=""):
    def fitting(x, *args, **kwargs):
        result = function(x, *args, **kwargs)
        if not can_cast(result.layout.dtype, x.layout.dtype):
            raise RuntimeError(f"result type {result.layout.dtype.title} can't be cast to the desired output type "
                               f"{x.layout.dtype.title} ({name}_)")
        return result

    fitting.__name__ = name                              # for messages

    def changed(self, *args, **kwargs) -> Tensor:
        return written_back(self, fitting, *args, **kwargs)
    changed.__name__ = changed.__qualname__ = name + "_"
    changed.arguments_of = function
    changed.__doc__ = f"""In-place form of `{name}`: writes the result into this tensor and returns it.

    Args:
        args, kwargs: those of `{name}` after the tensor.

    Raises:
        RuntimeError: the result does not fit into the tensor, or the tensor is a leaf that requires a gradient.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([{given}]{dtype}).{name}_({arguments})
        tensor([{expected}]{dtype})
    """
    return method(changed)


def _checked_power(input, exponent) -> Tensor:
    """`float_power` of a tensor that can hold the result."""
    result = float_power(input, exponent)
    if result.layout.dtype is not input.layout.dtype:
        raise RuntimeError(f"the base given to float_power_ has dtype {input.layout.dtype.title} but the operation's result "
                           f"requires dtype {result.layout.dtype.title}")
    return result


float_power_ = _copied_back(_checked_power, "float_power", "2., 3.", "2", "4., 9.", ", dtype=torch.float64")
igamma_ = _copied_back(igamma, "igamma", "1., 2.", "torch.tensor([1., 2.])", "0.6321, 0.5940")
igammac_ = _copied_back(igammac, "igammac", "1., 2.", "torch.tensor([1., 2.])", "0.3679, 0.4060")
logit_ = _copied_back(logit, "logit", "0.5, 0.9", "", "0.0000, 2.1972")
mvlgamma_ = _copied_back(mvlgamma, "mvlgamma", "1., 2.", "1", "0., 0.")
nan_to_num_ = _copied_back(nan_to_num, "nan_to_num", "float('nan'), 1.", "3.0", "3., 1.")
nextafter_ = _copied_back(nextafter, "nextafter", "0., 1.", "torch.tensor([0., 1.])", "0., 1.")
polygamma_ = _copied_back(lambda x, n: polygamma(n, x), "polygamma", "1., 2.", "1", "1.6449, 0.6449")

method(hardshrink)

for _alias, _name in {"multiply_": "mul_", "divide_": "div_", "true_divide_": "div_", "subtract_": "sub_", "negative_": "neg_",
                      "absolute_": "abs_", "greater_": "gt_", "greater_equal_": "ge_", "less_": "lt_", "less_equal_": "le_",
                      "not_equal_": "ne_", "arccos_": "acos_", "arcsin_": "asin_", "arctan_": "atan_", "arctan2_": "atan2_",
                      "arcsinh_": "asinh_", "arccosh_": "acosh_", "arctanh_": "atanh_"}.items():
    method(getattr(Tensor, _name), _alias)
