"""View ops that change the tensor itself: `t_`, `transpose_`, `squeeze_`, `unsqueeze_`. No element moves."""
from __future__ import annotations

from ...autograd.modes import modes
from ...tensor import Tensor, lie_as
from ..core.operands import method
from ..memory.writing import check_inplace_allowed
from .views import squeeze, t, transpose, unsqueeze


def _becoming(view_op, shown, shape, name=None):
    """The in-place form of a view op: the tensor takes on the view's layout and its place in the graph."""
    name = f"{name or view_op.__name__}_"

    def inplace(self, *args, **kwargs) -> Tensor:
        if modes.grad and self.node is not None:
            check_inplace_allowed(self, view_op.__name__)
        view = view_op(self, *args, **kwargs)
        lie_as(self, view)
        if modes.grad and view.node is not None:
            self.node = view.node
        return self
    inplace.__name__ = inplace.__qualname__ = name
    inplace.arguments_of = view_op
    inplace.__doc__ = f"""In-place form of `{view_op.__name__}`, with its arguments: this tensor itself is seen so from now on.

    Raises:
        RuntimeError: a leaf that requires grad, a view of one, or one of several views that one call gave.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(1, 2).{name}({shown}).shape
        torch.Size({shape})
    """
    return method(inplace)


t_, transpose_, squeeze_ = _becoming(t, "", [2, 1]), _becoming(transpose, "0, 1", [2, 1]), _becoming(squeeze, "0", [2])
unsqueeze_ = _becoming(unsqueeze, "0", [1, 1, 2])
swapaxes_, swapdims_ = (_becoming(transpose, "0, 1", [2, 1], name) for name in ("swapaxes", "swapdims"))
