"""Methods of functions that were made without: in-place forms of what is no record (computed, and copied back), and others."""
from __future__ import annotations

from .activation import hardshrink
from .copy import copy_
from .elementary import polygamma
from .floats import nextafter
from .numbers import float_power, logit, nan_to_num
from .op import method
from .solve import cholesky_inverse, cholesky_solve, triangular_solve
from .special import igamma, igammac, mvlgamma


def _copied_back(function, name):
    def changed(self, *args, **kwargs):
        return copy_(self, function(self, *args, **kwargs))
    changed.__name__ = changed.__qualname__ = name + "_"
    changed.__doc__ = f"""In-place form of `{name}`: writes the result into this tensor and returns it.

    Args:
        args, kwargs: those of `{name}` after the tensor.

    Raises:
        RuntimeError: the result does not fit into the tensor, or the tensor is a leaf that requires a gradient.
    """
    return method(changed)


for _name, _function in {"float_power": float_power, "igamma": igamma, "igammac": igammac, "logit": logit, "mvlgamma": mvlgamma,
                         "nan_to_num": nan_to_num, "nextafter": nextafter,
                         "polygamma": lambda x, n: polygamma(n, x)}.items():
    _copied_back(_function, _name)

for _function in (cholesky_inverse, cholesky_solve, hardshrink, triangular_solve):
    method(_function)
