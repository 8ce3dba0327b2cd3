"""Optimisers, and schedules for their learning rates."""
from . import lr_scheduler, swa_utils
from .adagrad import Adadelta, Adagrad, RMSprop, Rprop
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .lbfgs import LBFGS
from .matrixwise import Adafactor, Muon
from .optimizer import Optimizer
from .sgd import ASGD, SGD

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
           "RAdam", "RMSprop", "Rprop", "lr_scheduler", "swa_utils"]
