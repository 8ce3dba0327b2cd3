"""Libraries that only some features need, loaded when those are used."""
from __future__ import annotations

import importlib
from types import ModuleType


def required(module: str, feature: str, extra: str) -> ModuleType:
    """A library's module.

    Args:
        module: its full name.
        feature: what needs it, for the message.
        extra: what to install numtorch with, so that it is there.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(f"{feature} needs {library}, which cannot be imported ({error}): pip install 'numtorch[{extra}]'",
                          name=module) from None
