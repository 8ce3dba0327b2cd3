"""What functions that are made of several ops, or have names for their arguments, mean in a formula: there they take numbers.

Those of `torch.nn.functional` are in numtorch/nn/activations.py.
"""
from __future__ import annotations

from . import arithmetic, bounds, complexparts, functions, power, real_functions
from .arithmetic import add_scaled, where
from .derived import formula_of


@formula_of(functions.clamp)
def _clamp(input, min=None, max=None):
    if min is not None:                                  # one question a line, which Numba answers before it types what follows
        if max is not None:
            return bounds.clamp_both(input, min, max)
        return bounds.clamp_low(input, min)
    if max is not None:
        return bounds.clamp_high(input, max)
    return input


@formula_of(bounds.clamp_min)
def _clamp_min(input, min):
    return bounds.clamp_low(input, min)


@formula_of(bounds.clamp_max)
def _clamp_max(input, max):
    return bounds.clamp_high(input, max)


@formula_of(power.pow)
def _pow(input, exponent):
    return power.pow_of(input, exponent)


@formula_of(functions.add)
def _add(input, other, alpha=1):
    return arithmetic.add(input, other) if alpha == 1 else add_scaled(input, other, alpha)


@formula_of(functions.sub)
def _sub(input, other, alpha=1):
    return arithmetic.sub(input, other) if alpha == 1 else add_scaled(input, other, -alpha)


@formula_of(real_functions.rsub)
def _rsub(input, other, alpha=1):
    return arithmetic.sub(other, input) if alpha == 1 else add_scaled(other, input, -alpha)


@formula_of(arithmetic.addcmul)
def _addcmul(input, tensor1, tensor2, value=1):
    return input + value * tensor1 * tensor2


@formula_of(arithmetic.addcdiv)
def _addcdiv(input, tensor1, tensor2, value=1):
    return input + value * tensor1 / tensor2


@formula_of(functions.positive, complexparts.real)
def _same(input):
    return input


@formula_of(real_functions.logit)
def _logit(input, eps=None):
    if eps is None:
        return real_functions.logit_of(input)
    return real_functions.logit_of(bounds.clamp_high(bounds.clamp_low(input, eps), 1 - eps))


@formula_of(real_functions.nan_to_num)
def _nan_to_num(input, nan=0.0, posinf=3.4028234663852886e38, neginf=-3.4028234663852886e38):
    replaced = where(input != input, nan, input)
    return where(replaced - replaced == 0, replaced, where(replaced > 0, posinf, neginf))
