"""Rules of writing into tensors that exist: what may be written, and what the tape must then know."""
from __future__ import annotations

import threading

from ...autograd.graph import GraphNode, Leaf, Output
from ...dtypes import can_cast
from ...tensor import Tensor
from ..core.late import later


class _Made(threading.local):
    """The result that this thread is making by writing into it, and nobody else has seen."""

    target = None


made = _Made()


def into_fresh(inplace, target, *args, **kwargs):
    """An in-place op on a tensor that was made for it: an error loses nothing."""
    made.target = target
    try:
        return inplace(target, *args, **kwargs)
    finally:
        made.target = None


# Elementwise ops that PyTorch computes in `out` itself, whose dtype is then that of the result; others are cast.
_UNCAST = frozenset("""abs bitwise_not ceil conj_physical floor frac gelu gelu_tanh hardshrink heaviside isneginf isposinf
    logsigmoid neg replace_nonfinite round round_to_decimals round_to_even round_to_tens sgn sign signbit softplus softshrink trunc
    where""".split())


def check_out_dtype(name, out, result_dtype, given) -> None:
    """Raise RuntimeError where an elementwise op does not cast its result to the dtype of `out`. Both are layouts; sizes of complex
    numbers are cast, which are of another dtype anyway."""
    if out.dtype is not result_dtype and name in _UNCAST and given.dtype.is_complex == result_dtype.is_complex:
        raise RuntimeError(f"Found dtype {out.dtype.title} but expected {result_dtype.title} ({name})")


def check_cast(name, result_dtype, dtype):
    """Raise RuntimeError where a result does not go into a tensor of a dtype, which would lose what makes it of its kind."""
    if not can_cast(result_dtype, dtype):
        raise RuntimeError(f"result type {result_dtype.title} can't be cast to the desired output type {dtype.title} ({name})")


def check_distinct(name, target) -> None:
    """Raise RuntimeError where elements of what is written, of layout `target`, share memory with each other."""
    if target.overlaps_itself():
        raise RuntimeError(f"unsupported operation: more than one element of the written-to tensor refers to a single memory "
                           f"location. Please clone() the tensor before performing the operation. ({name})")


def check_writable(name, target, result_dtype, shape):
    """Whether a result may be written into a tensor of layout `target`. Raises RuntimeError, as PyTorch words it."""
    if target.weak:
        raise RuntimeError(f"{name}: expected a Tensor to write into, got a number")
    check_cast(name, result_dtype, target.dtype)
    if shape != target.shape:
        raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}")
    check_distinct(name, target)


def share_memory(a, b) -> bool:
    """Whether two tensors are over the same block: storages of one block begin at one address (see `Storage.alias`)."""
    return a.memory is b.memory or a.memory.address == b.memory.address != 0        # 0: on a device without memory


def overlap_partly(source, target) -> bool:
    """Whether writing `target` could change elements of `source` that are still to be read."""
    return overlap(source, target) and not (source.address == target.address and source.layout is target.layout)


def overlap(source, target) -> bool:
    """Whether the stretches of memory in which two tensors lie have an element in common."""
    if not share_memory(source, target):
        return False
    a, b = source.layout, target.layout
    low, high = a.extent()
    first, last = b.extent()
    size = a.dtype.itemsize
    return (source.address + low * size < target.address + last * b.dtype.itemsize
            and target.address + first * b.dtype.itemsize < source.address + high * size)


def check_apart(name, out, inputs) -> None:
    """Raise RuntimeError where elements of `out` share memory with each other, or with what an op reads, tensors among others."""
    check_distinct(name, out.layout)
    if any(isinstance(x, Tensor) and overlap(x, out) for x in inputs):
        raise RuntimeError(f"unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                           f"memory location. Please clone() the tensor before performing the operation. ({name})")


# Views whose place in the graph is not that of a view op, so that a write could not be undone on the way back.
_SEVERAL = ("This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
            "modified inplace. You should replace the inplace operation by an out-of-place one.")
_FORBIDDEN = {
    "no_grad": "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case "
               "is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
               "either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want "
               "the inplace to be tracked).",
    "function": "The output of a custom Function is a view and is being modified inplace. This view was created inside a custom "
                "Function (or because an input was returned as-is) and the autograd logic to handle view+inplace would override "
                "the custom backward associated with the custom Function, leading to incorrect gradients. This behavior is "
                "forbidden. You can fix this by cloning the output of the custom Function.",
}


def check_inplace_allowed(target, name):
    """Raise RuntimeError for a leaf that requires grad (its gradient would be lost) or a view of one."""
    origin = target.__dict__.get("_origin")
    if origin == "several":
        node = target.node
        what = "A view was created in no_grad mode and is being modified inplace with grad mode enabled." \
            if node is None or type(node) is Leaf \
            else f"Output {node.index if type(node) is Output else 0} of {node.name()} is a view and is being modified inplace."
        raise RuntimeError(f"{what} {_SEVERAL} ({name}_)")
    base = target._base
    if base is not None and target.node is not None and (base.node is None or type(base.node) is Leaf):
        raise RuntimeError(f"a view of a leaf Variable that requires grad is being used in an in-place operation. ({name}_)")
    if type(target.node) is Leaf and origin != "no_grad":
        raise RuntimeError(f"a leaf Variable that requires grad is being used in an in-place operation. ({name}_)")
    if origin is not None:
        raise RuntimeError(f"{_FORBIDDEN[origin]} ({name}_)")


def rebase_history(target, node):
    """Make `node` the origin of a tensor that was written in place, and of what shares its memory."""
    base = target._base
    if base is None:
        move(target, node)
        for view in live_views(target):
            later["refresh_view"](target, view)
    else:
        later["write_through_view"](base, target, node)


def start_views(base):
    """Put the views of a tensor that has become a leaf behind it: those made before, too, hold its elements."""
    for view in live_views(base):
        if view.node is None:
            later["refresh_view"](base, view)


def stop_views(leaf, base):
    """Undo `start_views` where a tensor is no leaf any more. Views that were made of the leaf keep their history."""
    for view in live_views(base):
        node = view.node
        if type(node) is GraphNode and node.edges[0] is leaf and node.primitive.name == "as_strided":
            view.node = None


def move(tensor, node):
    """Give a tensor that was written, itself or through a view, its new origin."""
    retains = tensor.retains_grad
    if retains:                                          # .grad is to be the gradient of what the tensor holds now
        tensor.node.extras.retained = None
    tensor.node = node
    if retains:
        tensor.retain_grad()


def live_views(tensor) -> list:
    """The differentiable views of a tensor that still exist."""
    views = tensor.__dict__.get("_views")
    return [v for v in (ref() for ref in views) if v is not None] if views else []
