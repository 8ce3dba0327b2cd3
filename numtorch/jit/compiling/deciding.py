"""Values that come to Python while a call is traced: the graph may have one case of what truth values decide."""
from __future__ import annotations

import sys

from ...dtypes import dtype
from ...exchange.values import item
from ...interposition import own_code
from ..graphs.operations import TRUTH


class Frozen(Exception):
    """A value comes to Python."""


def decide(x, trace) -> None:
    """Have the graph expect a truth value to be what it is now.

    Args:
        x: the traced tensor that is asked for it.
        trace: the trace.

    Raises:
        Frozen: something else is asked for.
    """
    if sys._getframe(2).f_code is not own_code(item) or x.layout.dtype is not dtype.by_name["bool"]:
        raise Frozen("a value comes to Python")
    trace.emit(TRUTH, [trace.value_of(x)], (trace.inside(x).item(),), [])
