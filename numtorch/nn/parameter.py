"""Parameter: a tensor that a module counts as its own when it is assigned as an attribute."""
from __future__ import annotations

from ..autograd.graph import Leaf
from ..exchange.construction import make
from ..tensor import Tensor, TensorType, alias


class _Kind(TensorType):
    """The class of Parameter, which counts tensors of users' classes that were made parameters as its instances, as in PyTorch."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and (type.__instancecheck__(cls, instance) or (cls is Parameter and
                                                                                           instance._is_parameter))


class Parameter(Tensor, metaclass=_Kind):
    """A tensor to be learned: assigned to a module, it is found by `parameters()`. Of a tensor of a user's class it makes one of
    that class, which is a Parameter, too.

    Args:
        data: the tensor whose memory becomes the parameter's; an empty one when None.
        requires_grad: whether it is learned; needs a floating-point or complex dtype.

    Raises:
        RuntimeError: `requires_grad` of another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Parameter(torch.ones(2))
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()
    _is_parameter = _plain_results = True

    def __new__(cls, data=None, requires_grad: bool = True):
        if data is None:
            data = make([])
        elif not isinstance(data, Tensor):
            raise TypeError(f"Parameter: expected data to be a Tensor, got {type(data).__name__}")
        elif cls is Parameter and type(data) is not Tensor and not data._plain_results:
            return _of_users_class(data, requires_grad)
        out = alias(data, cls)
        out.node = None
        if requires_grad:
            if data.layout.dtype.category < 2:
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            out.node = Leaf(out)
        return out

    def __repr__(self, **options):
        return "Parameter containing:\n" + Tensor.__repr__(self, **options)

    __str__ = __repr__

    def __deepcopy__(self, memo):
        copy = memo.get(id(self))
        if copy is None:
            copy = memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return copy


def _of_users_class(data, requires_grad):
    out = data.detach().requires_grad_(requires_grad)
    if type(out) is not type(data):
        raise RuntimeError(f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
                           f"instance of the same type, but it returned {type(out).__name__}. Have its __torch_function__ give "
                           f"detach() that type")
    out._is_parameter = True
    return out


class Buffer(Tensor):
    """A tensor that a module keeps in its state without learning it: assigned to a module, it is found by `buffers()`.

    Args:
        data: the tensor whose memory becomes the buffer's; an empty one when None.
        persistent: whether it is part of the module's `state_dict`.

    Example:
        >>> import numtorch as torch
        >>> module = torch.nn.Module()
        >>> module.scale = torch.nn.Buffer(torch.ones(2))
        >>> list(module.state_dict())
        ['scale']
    """

    __slots__ = ()
    _is_parameter, _plain_results = False, True

    def __new__(cls, data=None, *, persistent: bool = True):
        data = make([]) if data is None else data
        out = alias(data, cls)
        out.persistent = persistent
        return out


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from ..alias import attribute
    return attribute(__name__, name)
