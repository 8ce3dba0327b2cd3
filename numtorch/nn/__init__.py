"""Neural networks: layers (`modules/`), the same as functions (`functional`), first values (`init`)."""
from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils"]
__all__ += modules.__all__
