"""Optimisers, and schedules for their learning rates. In import order:

check                what they refuse
states               the dicts in which rules keep what goes on from step to step
optimizer            what all share: parameter groups, state, hooks, files
batches              one kernel call for many parameters; recorded, steps that are differentiated
rule                 those whose step is a formula for one element; rows, on sparse gradients
sgd, adam, adagrad   such rules, by family; sparse_adam
matrixwise           steps that look at whole matrices
lbfgs, linesearch    the quasi-Newton method, and how far it goes
schedule             what all schedules share; combined, those made of others
cycles, plateau      schedules in cycles, and by a metric
lr_scheduler         all of them under PyTorch's path
swa_utils            averaged weights
"""
import importlib as _importlib

from . import lr_scheduler, swa_utils
from .adagrad import Adadelta, Adagrad, RMSprop, Rprop
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .lbfgs import LBFGS
from .matrixwise import Adafactor, Muon
from .optimizer import Optimizer
from .sgd import ASGD, SGD
from .sparse_adam import SparseAdam

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
           "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils"]


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__)
