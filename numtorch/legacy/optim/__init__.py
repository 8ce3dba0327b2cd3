"""Torch7's optimisers: functions of a function and of a point, which is changed in place.

firstorder      steps along the gradient, by the formulas of `numtorch.optim`
lbfgs           a quasi-Newton method
linesearch      Wolfe's conditions, the least of a polynomial
cg              conjugate gradients
"""
from .cg import cg
from .firstorder import adadelta, adagrad, adam, adamax, asgd, nag, rmsprop, rprop, sgd
from .lbfgs import lbfgs
from .linesearch import lswolfe, polyinterp

__all__ = ["adadelta", "adagrad", "adam", "adamax", "asgd", "cg", "lbfgs", "lswolfe", "nag", "polyinterp", "rmsprop", "rprop",
           "sgd"]
