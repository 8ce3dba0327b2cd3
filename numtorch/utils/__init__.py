"""PyTorch's `torch.utils`: checkpointing and loading data, each loaded when it is first asked for."""
import importlib as _importlib

_SUBMODULES = ("checkpoint", "data")


def __getattr__(name):
    if name in _SUBMODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
