"""PyTorch's `torch.utils`, each loaded when it is first asked for.

checkpoint    a part's inputs kept instead of its results; selective, but for those of chosen ops
data          `numtorch.data`
flattening    one tensor as several
pytree        `torch.utils._pytree`: nested structures taken apart and put together
modelsummary  a model's layers, shapes and memory
tensorboard   logs for TensorBoard; eventfiles, how they are written; modelgraph, a model in them
trainer/      one loop, and plugins
"""
import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from . import checkpoint as checkpoint
    from . import data as data
    from . import tensorboard as tensorboard
    from . import trainer as trainer

_SUBMODULES = ("checkpoint", "data", "tensorboard", "trainer")


def __getattr__(name):
    if name in _SUBMODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__, *_SUBMODULES)
