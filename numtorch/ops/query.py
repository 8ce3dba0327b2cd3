"""Questions about tensors that give a Python answer, and comparisons of whole tensors."""
from __future__ import annotations

from ..devices import cpu
from ..layout import Size
from ..layout import broadcast_shapes as shape_of_all
from ..tensor import Tensor
from . import comparison, reduce, view
from .backends import kernels
from .indexed import run_finding
from .op import method, new_plan_table


def broadcast_shapes(*shapes):
    """The shape that all of these broadcast to. Raises RuntimeError when they do not."""
    return Size(shape_of_all(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


def broadcast_tensors(*tensors):
    """Views of the tensors, all of the shape they broadcast to."""
    shape = shape_of_all(*[x.layout.shape for x in tensors])
    return tuple([view.expand(x, *shape) for x in tensors])


def is_tensor(obj):
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Whether a tensor's dtype is floating point."""
    return input.dtype.is_floating_point


def is_complex(input):
    """Whether a tensor's dtype is complex."""
    return input.dtype.is_complex


def numel(input):
    """The number of elements of a tensor."""
    return input.layout.numel


_comparisons = new_plan_table()


def equal(input, other):
    """Whether two tensors have the same shape and elements."""
    layout = input.layout
    if layout is other.layout and layout.contiguous and layout.numel and layout.device is cpu:
        plan = _comparisons.get(layout)
        if plan is None:
            kind = layout.dtype
            plan = _comparisons.keep(layout, kernels(cpu, "equal").plan_differs(
                kind.to_real().kernel, layout.numel * (1 + kind.is_complex)))
        prepared, parts = plan
        return not run_finding(prepared, parts, input, other)
    return layout.shape == other.layout.shape and reduce.all(comparison.eq(input, other)).item()


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |input - other| <= atol + rtol * |other| everywhere. Raises RuntimeError for two dtypes."""
    if input.layout.dtype is not other.layout.dtype:
        raise RuntimeError(f"{input.layout.dtype.title} did not match {other.layout.dtype.title}")
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Where |input - other| <= atol + rtol * |other|; infinities are close to themselves."""
    if input.layout.dtype.name == "bool" and other.layout.dtype.name == "bool":
        return input == other                            # there is nothing between two truths
    near = (input - other).abs() <= atol + (other * rtol).abs()
    close = (input == other) | (comparison.isfinite(input) & comparison.isfinite(other) & near)
    return close | (comparison.isnan(input) & comparison.isnan(other)) if equal_nan else close


method(equal)
method(allclose)
method(isclose)


# ---------------------------------------------------------------- what kind of tensor it is
def is_nonzero(input) -> bool:
    """Whether the one element of a tensor is not 0. Raises RuntimeError for any other number of elements."""
    if input.layout.numel != 1:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous" if not input.layout.numel else
                           "Boolean value of Tensor with more than one value is ambiguous")
    return bool(input.item())


def is_same_size(input, other) -> bool:
    """Whether two tensors have the same shape."""
    return input.layout.shape == other.layout.shape


def is_set_to(self, tensor) -> bool:
    """Whether another tensor is the same view of the same memory."""
    return self.storage is tensor.storage and self.address == tensor.address and self.layout is tensor.layout


def is_pinned(self, device=None) -> bool:
    """Whether the memory is pinned: never, here."""
    return False


def is_shared(self) -> bool:
    """Whether other processes see the memory: never, here."""
    return False


def is_neg(input) -> bool:
    """Whether the tensor stands for its negative: never, here."""
    return False


def _itself(name, doc):
    def function(self):
        return self
    function.__name__, function.__doc__ = name, doc
    return function


for _function in (is_nonzero, is_same_size, is_set_to, is_pinned, is_shared, is_neg,
                  _itself("resolve_neg", "This tensor, which never stands for its negative."),
                  _itself("to_dense", "This tensor, which is dense."),
                  _itself("pin_memory", "This tensor: there is no pinned memory.")):
    method(_function)
Tensor.is_cpu = property(lambda self: self.layout.device is cpu)
for _name in "sparse sparse_csr quantized meta mkldnn mps mtia vulkan xla xpu nested ipu maia".split():
    setattr(Tensor, f"is_{_name}", property(lambda self: False))
Tensor.name = property(lambda self: None)
