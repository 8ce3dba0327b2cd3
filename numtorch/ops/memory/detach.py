"""The same memory apart from the graph: `detach` and `Tensor.data`."""
from __future__ import annotations

from ...autograd.graph import Leaf
from ...tensor import Tensor, alias, bare, lie_as, wrap
from ..core.operands import method
from ..core.primitive import not_a_tensor


@method
def detach(input) -> Tensor:
    """A tensor over the same memory, apart from the graph: no gradient passes.

    Args:
        input: (*).

    Returns:
        A tensor that shares memory and version with `input`: a write to it is noticed.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1.], requires_grad=True)
        >>> x.detach().requires_grad
        False
    """
    out = bare()
    try:
        out.memory, out.address, out.layout, out.node = input.memory, input.address, input.layout, None
    except AttributeError:
        if isinstance(input, Tensor):                    # a special layout that is of tensors
            return input.layout.handler.detached(input)
        raise not_a_tensor("detach", input) from None
    return out


@method
def detach_(self) -> Tensor:
    """Take this tensor out of the graph, in place, and return it.

    Raises:
        RuntimeError: a view.

    Example:
        >>> import numtorch as torch
        >>> y = torch.tensor([1., 2.], requires_grad=True) * 2
        >>> y.detach_().requires_grad
        False
    """
    if self._base is not None or "_origin" in self.__dict__:
        raise RuntimeError("Can't detach views in-place. Use detach() instead. ")
    if self.layout.handler is None:
        self.node = None
    else:
        self.layout.handler.detach_in_place(self)
    return self


def _data(self) -> Tensor:
    """The same memory, apart from the graph, with a version counter of its own: writes to it are not noticed.

    Assigned to, this tensor takes on the memory, shape and dtype of another, and keeps its own version counter.

    Raises:
        TypeError: what is assigned is not a tensor.
        RuntimeError: integers are assigned to a tensor that requires grad.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1.], requires_grad=True)
        >>> x.data.mul_(3)
        tensor([3.])
        >>> x
        tensor([3.], requires_grad=True)
    """
    if self.layout.handler is not None:
        out = self.layout.handler.detached(self)
        out.memory = self.memory.alias()
        return out
    out = wrap(self.memory.alias(), self.address, self.layout)
    kind = type(self)
    return out if kind is Tensor or kind._plain_results else alias(out, kind)


def _set_data(self, value):
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {value.__class__.__name__}")
    if self.node is not None and value.layout.dtype.category < 2:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    version = self.memory.version                        # what is compared where the tape kept this tensor
    lie_as(self, value)
    self.memory = value.memory.alias()
    self.memory.version = version
    if isinstance(self.node, Leaf):
        self.node.lie_as(value.layout)


Tensor.data = property(_data, _set_data)
