"""View ops that change the tensor itself: `t_`, `transpose_`, `squeeze_`, `unsqueeze_`. No element moves."""
from __future__ import annotations

from ..autograd.modes import modes
from .op import method
from .view import squeeze, t, transpose, unsqueeze
from .writing import check_inplace_allowed


def _becoming(view_op):
    """The in-place form of a view op: the tensor takes on the view's layout and its place in the graph."""
    def inplace(self, *args):
        if modes.grad and self.node is not None:
            check_inplace_allowed(self, view_op.__name__)
        view = view_op(self, *args)
        self.layout, self.address = view.layout, view.address
        if modes.grad and view.node is not None:
            self.node = view.node
        return self
    inplace.__name__ = view_op.__name__ + "_"
    inplace.__doc__ = f"In-place form of `{view_op.__name__}`: this tensor itself is seen so from now on."
    return inplace


for _op in (t, transpose, squeeze, unsqueeze):
    method(_becoming(_op))
method(_becoming(transpose), "swapaxes_")
method(_becoming(transpose), "swapdims_")
