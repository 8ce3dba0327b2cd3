"""What the arguments that all creation functions have ask for: shape, dtype, layout and device, `out` and `requires_grad`."""
from __future__ import annotations

from ...devices import cpu
from ...dtypes import as_dtype, get_default_dtype
from ...layout import Layout, as_shape, memory_layout, strided
from ...tensor import Tensor
from ..core.arguments import refusal
from ..core.backends import placed
from ..core.primitive import new_plan_table
from ..memory.copies import to_dtype
from ..memory.resize import into


def checked_shape(args, name):
    shape = as_shape(args, name)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def finish_made(made, requires_grad, out=None, dtype=None, pin_memory=False):
    """What a creation function returns: the new tensor, in pinned memory where that is asked for, or `out` with its elements, which
    has the `dtype` that is asked for."""
    if out is not None:
        if dtype is not None and isinstance(out, Tensor) and as_dtype(dtype) is not out.layout.dtype:
            raise RuntimeError(f"dtype {as_dtype(dtype).title} does not match dtype of out parameter ({out.layout.dtype.title})")
        if isinstance(out, Tensor) and made.layout.dtype.is_complex and not out.layout.dtype.is_complex:
            raise RuntimeError(f"value cannot be converted to type {out.layout.dtype.name} without overflow: it is complex")
        made = into(out, to_dtype(made, out.layout.dtype) if isinstance(out, Tensor) else made)
    elif pin_memory:
        made = made.pin_memory()
    return made if requires_grad is False or requires_grad is None else made.requires_grad_(requires_grad)


def dtype_for(dtype, out):
    """The dtype that a creation function computes in: what is asked for, or that of `out`; None for the default."""
    return out.layout.dtype if dtype is None and isinstance(out, Tensor) else dtype


def sparse_layout(name, layout):
    """The sparse layout that a `layout=` asks for, None where it is strided. Raises TypeError for what is no layout."""
    if not isinstance(layout, memory_layout):
        raise refusal(name, "layout", "torch.layout", layout)
    return None if layout == strided else layout if type(layout) is memory_layout else memory_layout(layout.kind)


def check_strided(name, layout) -> None:
    """Look at the `layout=` of a function whose result has elements at all places. Raises TypeError or RuntimeError for others."""
    sparse = sparse_layout(name, layout)
    if sparse is not None:
        raise RuntimeError(f"{name}: expected layout torch.strided, got {sparse}; call to_sparse(layout={sparse}) of the result")


def device_for(device, out):
    """The device that a creation function works on: what is asked for, or that of `out`; None for the default.

    Raises:
        RuntimeError: `out` is on another one than what is asked for.
    """
    if not isinstance(out, Tensor):
        return device
    if device is not None and placed(device) is not out.layout.device:
        raise RuntimeError(f"device {placed(device)} does not match device of out parameter ({out.layout.device})")
    return out.layout.device


# No plans, but emptied with them, since the default dtype and device are in these: the layouts that arguments ask for.
_layouts = new_plan_table()


def layout_for(name, size, dtype, device):
    """The layout that a creation function's arguments ask for."""
    if len(size) == 1 and type(size[0]) is tuple:
        size, = size
    for n in size:
        if type(n) is not int:
            size = as_shape(size, name)
            break
    try:
        layout = _layouts.get((size, dtype, device))
    except TypeError:
        layout = None
    if layout is None:
        layout = Layout.of(as_dtype(dtype) if dtype else get_default_dtype(), checked_shape(size, name), None, placed(device))
        if layout.device is cpu:
            _layouts.keep((size, dtype, device), layout)
    return layout
