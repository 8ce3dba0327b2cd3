"""What the tape's engine needs of arithmetic: sums of gradients, the ones that backward starts with, zeros."""
from __future__ import annotations

from ..autograd.engine import arithmetic as engine_arithmetic
from ..tensor import constants, lasting
from .creation import fill
from .memory import assign, copies, writing
from .pointwise import arithmetic, comparison
from .pointwise.calling import make_inplace, run_inplace
from .reduce import reductions
from .shape import join


def _add_to(op, tensors):
    """`held += more`; not in place where the sum is of another kind than `held`, as of a sparse gradient and a dense one."""
    held, more = tensors
    in_place = held.layout.handler is None or held.layout.kind == more.layout.kind != "strided"
    return run_inplace(op, tensors) if in_place else arithmetic.add(more, held)


engine_arithmetic.add = arithmetic.add
engine_arithmetic.add_ = make_inplace(arithmetic.add.op, _add_to)
engine_arithmetic.stack = join.stack
engine_arithmetic.clone = lambda t, layout=None: copies.clone(t, memory_format=layout or "contiguous_format")


_ones: dict = {}                                         # the gradient that backward starts with, by layout


def _root_gradient(tensor):
    """Ones for a scalar result. Kept, since every step asks for them; made anew should a hook have written to them."""
    ones = _ones.get(tensor.layout)
    if ones is None or ones.memory.version:
        if len(_ones) >= 64:
            _ones.clear()
        layout = tensor.layout
        ones = lasting(layout.dense())                   # no ring's: captured programs share it
        ones.fill_(1)
        ones.memory.version = 0
        constants.add(ones.memory)
        if layout.handler is None:
            _ones[layout] = ones                         # last: from then on other threads take it
    return ones


engine_arithmetic.ones_like = _root_gradient
engine_arithmetic.zeros_like = fill.zeros_like
engine_arithmetic.zeros = lambda layout: assign.filled(layout.dense(), 0)
engine_arithmetic.check_inplace_allowed, engine_arithmetic.rebase_history = writing.check_inplace_allowed, writing.rebase_history
engine_arithmetic.start_views, engine_arithmetic.stop_views = writing.start_views, writing.stop_views
engine_arithmetic.has_nan = lambda t: bool(reductions.any(comparison.isnan(t)))
