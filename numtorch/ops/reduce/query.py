"""Questions about tensors that give a Python answer, and comparisons of whole tensors."""
from __future__ import annotations

from ...devices import cpu
from ...layout import Size
from ...layout import broadcast_shapes as shape_of_all
from ...tensor import Tensor
from ..core.arguments import check_truths, expect_dtypes, expect_layout
from ..core.backends import kernels
from ..core.operands import layout_of, method
from ..core.primitive import Primitive, not_a_tensor
from ..core.status import has_values, run_comparing, run_finding
from ..memory.copies import contiguous
from ..pointwise import comparison
from ..shape import views
from . import reductions


def broadcast_shapes(*shapes) -> Size:
    """The shape that all of these broadcast to.

    Args:
        shapes: tuples, or ints for shapes of one dimension.

    Raises:
        RuntimeError: they do not.

    Example:
        >>> import numtorch as torch
        >>> torch.broadcast_shapes((2, 1), (3,))
        torch.Size([2, 3])
    """
    return Size(shape_of_all(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


def broadcast_tensors(*tensors) -> tuple[Tensor, ...]:
    """Views of the tensors, all of the shape they broadcast to.

    Args:
        tensors: several of them.

    Raises:
        RuntimeError: they do not.

    Example:
        >>> import numtorch as torch
        >>> torch.broadcast_tensors(torch.tensor([1, 2]), torch.tensor([[3], [4]]))
        (tensor([[1, 2],
                [1, 2]]), tensor([[3, 3],
                [4, 4]]))
    """
    shape = shape_of_all(*[layout_of("broadcast_tensors", x, "tensors").shape for x in tensors])
    return tuple([x if x.layout.shape == shape else views.expand(x, *shape) for x in tensors])


def is_tensor(obj) -> bool:
    """Whether an object is a Tensor.

    Args:
        obj: anything.

    Example:
        >>> import numtorch as torch
        >>> torch.is_tensor(torch.zeros(1)), torch.is_tensor([0.])
        (True, False)
    """
    return isinstance(obj, Tensor)


def _assert(condition, message) -> None:
    """`assert` as a function.

    Args:
        condition: what has to hold: a bool, or a tensor of one element.
        message: what the AssertionError says where it does not.

    Raises:
        AssertionError: the condition does not hold.

    Example:
        >>> import numtorch as torch
        >>> torch._assert(torch.tensor(True), "never said")
    """
    if not condition:
        raise AssertionError(message)


def _assert_async(input, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """An assertion about a tensor's element. On a GPU PyTorch looks at it later; here it is looked at in the call.

    Args:
        input: of one element, which must not be zero.
        assert_msg: what the RuntimeError says where it is.

    Raises:
        RuntimeError: the element is zero, or there is not one element.

    Example:
        >>> import numtorch as torch
        >>> torch._assert_async(torch.tensor(1.0) > 0)
    """
    layout_of("_assert_async", input)
    if not bool(input):
        raise RuntimeError(assert_msg)


def is_floating_point(input) -> bool:
    """Whether a tensor's dtype is floating point; complex is not.

    Args:
        input: any tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.is_floating_point(torch.zeros(1)), torch.is_floating_point(torch.tensor([1]))
        (True, False)
    """
    return layout_of("is_floating_point", input).dtype.is_floating_point


def is_complex(input) -> bool:
    """Whether a tensor's dtype is complex.

    Args:
        input: any tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.is_complex(torch.tensor([1j]))
        True
    """
    return layout_of("is_complex", input).dtype.is_complex


def numel(input) -> int:
    """The number of elements of a tensor.

    Args:
        input: any tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.numel(torch.zeros(2, 3))
        6
    """
    return layout_of("numel", input).numel


_EQUAL = Primitive("equal", "Whether two row-major tensors of one layout have the same elements.",
                   samples="T[2, 3], T[2, 3];")


@_EQUAL.planned
def _plan_equal(layout, other):
    kind = layout.dtype
    expect_layout("equal", "other", other, layout.shape, kind)
    return kernels(layout.device, "index.equal").plan_differs(kind.to_real().kernel, layout.numel * (1 + kind.is_complex))


@_EQUAL.run
def _same_elements(plan, input: Tensor, other: Tensor):
    prepared, parts = plan
    return not run_comparing(prepared, parts, input, other)


CHECK_PROBABILITIES = Primitive("check_probabilities", "Raises where a row-major tensor has an element outside of [0, 1].",
                                samples="T([[0, 1], [1, 0]]); 'expected probabilities'")


@CHECK_PROBABILITIES.planned
def _plan_check(layout, message):
    expect_dtypes("check_probabilities", layout.dtype, "bool", "integer", "float")
    return kernels(layout.device, "index.equal").plan_outside_unit(layout.dtype.kernel, layout.numel)


@CHECK_PROBABILITIES.run
def _check(plan, input: Tensor, message):
    if run_finding(*plan, input):
        raise RuntimeError(message)


def check_probabilities(input, message: str) -> None:
    """Raise RuntimeError with a message where an element is below 0, above 1 or NaN.

    The answer is a status that is looked at after the launch, so that a call can be captured (jit/capturing/capture.py).
    """
    if input.layout.numel and not input.layout.dtype.is_complex and has_values(input):
        _check(input if input.layout.contiguous else contiguous(input), message)


def equal(input, other) -> bool:
    """Whether two tensors have the same shape and elements. NaN is not equal to NaN.

    Args:
        input, other: of any shapes and dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2])), torch.equal(torch.tensor([1]), torch.tensor([1, 1]))
        (True, False)
    """
    if not isinstance(input, Tensor):
        raise not_a_tensor("equal", input)
    if not isinstance(other, Tensor):
        raise not_a_tensor("equal", other, "other", 2)
    layout = input.layout
    if layout is other.layout and layout.contiguous and layout.numel and layout.device.type != "meta":
        return _same_elements(input, other)
    return layout.shape == other.layout.shape and reductions.all(comparison.eq(input, other)).item()


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere.

    Args:
        input, other: of one dtype and of shapes that broadcast.
        rtol, atol: the relative and the absolute tolerance, not negative.
        equal_nan: whether NaN is close to NaN.

    Raises:
        RuntimeError: two dtypes, a negative tolerance, or shapes that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> torch.allclose(torch.tensor([1., 1000.]), torch.tensor([1., 1000.001]))
        True
    """
    if not isinstance(other, Tensor):
        raise not_a_tensor("allclose", other, "other", 2)
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|; infinities are close to themselves.

    Args:
        input, other: of one dtype and of shapes that broadcast.
        rtol, atol: the relative and the absolute tolerance, not negative.
        equal_nan: whether NaN is close to NaN.

    Returns:
        Bools.

    Raises:
        RuntimeError: two dtypes, a negative tolerance, or shapes that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> torch.isclose(torch.tensor([1., 1000.]), torch.tensor([1.1, 1000.001]))
        tensor([False,  True])
    """
    check_truths("isclose", equal_nan=equal_nan)
    if layout_of("isclose", input).dtype is not layout_of("isclose", other, "other", 2).dtype:
        raise RuntimeError(f"{input.layout.dtype.title} did not match {other.layout.dtype.title}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
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
    """Whether the one element of a tensor is not 0.

    Args:
        input: a tensor of one element.

    Raises:
        RuntimeError: any other number of elements.

    Example:
        >>> import numtorch as torch
        >>> torch.is_nonzero(torch.tensor([0.5]))
        True
    """
    if layout_of("is_nonzero", input).numel != 1:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous" if not input.layout.numel else
                           "Boolean value of Tensor with more than one value is ambiguous")
    return bool(input.item())


def is_same_size(input, other) -> bool:
    """Whether two tensors have the same shape.

    Args:
        input, other: any tensors.

    Example:
        >>> import numtorch as torch
        >>> torch.is_same_size(torch.zeros(2, 1), torch.zeros(2))
        False
    """
    return layout_of("is_same_size", input).shape == layout_of("is_same_size", other, "other", 2).shape


def is_set_to(self, tensor) -> bool:
    """Whether another tensor is the same view of the same memory.

    Args:
        tensor: the other.

    Example:
        >>> import numtorch as torch
        >>> x = torch.zeros(2)
        >>> x.is_set_to(x.view(2)), x.is_set_to(x[:1])
        (True, False)
    """
    same_layout = self.layout is layout_of("is_set_to", tensor, "tensor")
    return same_layout and self.memory is tensor.memory and self.address == tensor.address


def is_shared(self) -> bool:
    """Whether the memory can be seen by other processes (`numtorch.multiprocessing`).

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(1).is_shared(), torch.zeros(1).share_memory_().is_shared()
        (False, True)
    """
    if self.layout.device is not cpu:
        return self.layout.device.type == "cuda"         # as in PyTorch, which shares those by handles of the driver
    from ...shared.storages import is_shared as shared
    return shared(self.memory)


def share_memory_(self) -> Tensor:
    """Move the memory to where other processes can see it, once sent to them. Every view of it goes along. Above 4 MiB
    the address stays, unless nothing else is over the memory, and NumPy arrays go along too; those over less keep the old one.

    Raises:
        RuntimeError: there is no memory to be had; the message says which limit was reached.

    Example:
        >>> import numtorch as torch
        >>> x = torch.zeros(2, 3)
        >>> row = x[1]
        >>> x.share_memory_().fill_(1.)
        tensor([[1., 1., 1.],
                [1., 1., 1.]])
        >>> row
        tensor([1., 1., 1.])
    """
    if self.layout.device is cpu:
        if self.memory.nbytes:
            self.data_ptr()                              # which a tensor that takes part in a transform has not: this says so
        from ...shared.storages import block_of
        block_of(self)
    return self


def is_neg(input) -> bool:
    """Whether the tensor stands for its negative: never, here.

    Args:
        input: any tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.is_neg(torch.zeros(1))
        False
    """
    layout_of("is_neg", input)
    return False


def _itself(name, doc):
    def function(self) -> Tensor:
        return self
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.]).{name}()
        tensor([1.])
    """
    return function


for _function in (is_nonzero, is_same_size, is_set_to, is_shared, share_memory_, is_neg,
                  _itself("resolve_neg", "This tensor, which never stands for its negative.")):
    method(_function)
Tensor.share_memory = share_memory_                      # what modules call it


def _says(name, function, doc, expected, kind="bool"):
    """A property of Tensor that says something of all of them."""
    function.__annotations__["return"] = kind
    setattr(Tensor, name, property(function, doc=f"""{doc}

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.]).{name}{expected}
    """))


_says("is_cpu", lambda self: self.layout.device is cpu, "Whether the elements are in host memory.", "\n        True")
_says("is_meta", lambda self: self.layout.device.type == "meta",
      "Whether there are no elements, on the meta device.", "\n        False")
for _name in "quantized mkldnn mps mtia vulkan xla xpu nested ipu maia".split():
    _says(f"is_{_name}", lambda self: False, "False: there are no such tensors here.", "\n        False")
_says("name", lambda self: None, "None: tensors have no names.", " is None\n        True", "None")
