"""Layers that learn the size of their input from the first one they see, and are ordinary layers from then on."""
from __future__ import annotations

import inspect

from ...exchange.construction import make
from ...tensor import Tensor, new
from ..parameter import Buffer, Parameter
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .module import Module
from .normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d


class _Uninitialized:
    """What a parameter or buffer is before its shape is known."""

    _becomes: type = Tensor

    def materialize(self, shape, device=None, dtype=None) -> None:
        """Give it a shape, with elements that are not initialised.

        Args:
            shape: its extents.
            device, dtype: what it has so far when None.
        """
        self.data = Tensor.new_empty(self.detach(), shape, device=device, dtype=dtype)
        self.__class__ = self._becomes

    def __repr__(self, **options):
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    @property
    def shape(self):
        raise RuntimeError(f"Can't access the shape of an uninitialized parameter or buffer ({type(self).__name__}). This error "
                           f"usually happens in `load_state_dict` when trying to load an uninitialized parameter into an "
                           f"initialized one. Call `forward` to initialize the parameters before accessing their attributes.")


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is not known yet. Optimisers may hold it: it stays the same object when it gets one.

    Args:
        requires_grad: whether it is learned.
        device, dtype: what it will have; the defaults when None.

    Example:
        >>> import numtorch as torch
        >>> parameter = torch.nn.UninitializedParameter()
        >>> parameter.materialize((2, 3))
        >>> parameter.shape
        torch.Size([2, 3])
    """

    __slots__ = ()
    _becomes = Parameter

    def __new__(cls, requires_grad: bool = True, device=None, dtype=None):
        return Parameter.__new__(cls, make([], dtype, device), requires_grad)

    def __deepcopy__(self, memo):
        copy = memo.get(id(self))
        if copy is None:
            copy = memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return copy


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer whose shape is not known yet.

    Args:
        requires_grad: nothing here; buffers are not learned.
        device, dtype: what it will have; the defaults when None.
        persistent: whether it is part of a module's `state_dict`.

    Example:
        >>> import numtorch as torch
        >>> buffer = torch.nn.UninitializedBuffer()
        >>> buffer.materialize((2, 3))
        >>> buffer.shape
        torch.Size([2, 3])
    """

    __slots__ = ()

    def __new__(cls, requires_grad: bool = False, device=None, dtype=None, persistent: bool = True):
        data, out = make([], dtype, device), new(cls)
        out.memory, out.address, out.layout, out.node = data.memory, data.address, data.layout, None
        out.persistent = persistent
        return out

    def __init__(self, requires_grad: bool = False, device=None, dtype=None, persistent: bool = True) -> None:
        pass


def is_lazy(param) -> bool:
    """Whether something is a parameter or buffer whose shape is not known yet.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.parameter.is_lazy(torch.nn.LazyLinear(2).weight)
        True
    """
    return isinstance(param, _Uninitialized)


class LazyModuleMixin:
    """A module whose parameters get their shapes from its first input: it has `UninitializedParameter`s, and a subclass writes
    `initialize_parameters(*args, **kwargs)`, which is called with that input and materialises them. Stands before `Module` among
    the base classes.

    Attributes:
        cls_to_become: the class that it is of from then on; its own when None.

    Raises:
        RuntimeError: the first call left a parameter without a shape.

    Example:
        >>> import numtorch as torch
        >>> class Scale(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.weight = torch.nn.UninitializedParameter()
        ...     def initialize_parameters(self, input):
        ...         self.weight.materialize(input.shape[-1:])
        ...         torch.nn.init.ones_(self.weight)
        ...     def forward(self, input):
        ...         return input * self.weight
        >>> scale = Scale()
        >>> scale.has_uninitialized_params(), scale(torch.ones(2, 3)).shape, scale.has_uninitialized_params()
        (True, torch.Size([2, 3]), False)
    """

    cls_to_become: type | None = None
    _parameters: dict
    _buffers: dict

    def initialize_parameters(self, *args, **kwargs) -> None:
        """Give parameters and buffers their shapes. Written by subclasses.

        Args:
            args, kwargs: those of the first call.
        """
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether the shape of a parameter or buffer is still unknown."""
        return any(isinstance(t, _Uninitialized) for t in (*self._parameters.values(), *self._buffers.values()))

    def __call__(self, *args, **kwargs):
        if "_is_initialized" not in self.__dict__:
            self.initialize_parameters(*args, **kwargs)
            if self.has_uninitialized_params():
                raise RuntimeError(f"module {type(self).__name__} has not been fully initialized: initialize_parameters left "
                                   "parameters or buffers without a shape")
            if self.cls_to_become is not None:
                self.__class__ = self.cls_to_become
                return self(*args, **kwargs)
            self.__dict__["_is_initialized"] = True
        return super().__call__(*args, **kwargs)         # type: ignore[misc]

    def _apply(self, fn, recurse=True):
        """Buffers whose shape is not known stay such, of another dtype or on another device."""
        waiting = [name for name, buffer in self._buffers.items() if isinstance(buffer, _Uninitialized)]
        super()._apply(fn, recurse)                      # type: ignore[misc]
        for name in waiting:
            self._buffers[name] = UninitializedBuffer(False, self._buffers[name].device, self._buffers[name].dtype)
        return self

    def _save_to_state_dict(self, destination, prefix, keep_vars) -> None:
        """What has no shape yet is in the state as what it is."""
        super()._save_to_state_dict(destination, prefix, keep_vars)          # type: ignore[misc]
        destination.update({prefix + name: own for name, own in (*self._parameters.items(), *self._buffers.items())
                            if isinstance(own, _Uninitialized) and prefix + name in destination})

    def _load_from_state_dict(self, state_dict, prefix, *args):
        """What a state has the shape of gets that."""
        for name, own in (*self._parameters.items(), *self._buffers.items()):
            saved = state_dict.get(prefix + name)
            if isinstance(own, _Uninitialized) and saved is not None and not isinstance(saved, _Uninitialized):
                own.materialize(saved.shape)
        return super()._load_from_state_dict(state_dict, prefix, *args)      # type: ignore[misc]


class _Lazy(LazyModuleMixin, Module):
    """What all lazy layers share, which are of the layer's class too, or of its base. `cls_to_become` is the layer, `size` its
    attribute that is not known, `dims` the input's without batch and channels."""

    cls_to_become: type = Module
    size = "in_features"
    dims = 0

    def __init__(self, *args, **kwargs) -> None:
        Module.__init__(self)
        self.__dict__["_arguments"] = args, kwargs
        given = inspect.signature(self.cls_to_become).bind(1, *args, **kwargs).arguments
        template = self.cls_to_become(given.get("groups", 1), *args, **kwargs)
        for name, value in template.__dict__.items():
            if name not in ("_parameters", "_buffers"):
                self.__dict__[name] = value
        self.__dict__[self.size] = 0
        for name, parameter in template._parameters.items():
            self._parameters[name] = None if parameter is None else UninitializedParameter(
                parameter.requires_grad, parameter.device, parameter.dtype)
        for name, buffer in template._buffers.items():
            waits = buffer is not None and buffer.layout.ndim
            self._buffers[name] = UninitializedBuffer(False, buffer.device, buffer.dtype) if waits else buffer

    def initialize_parameters(self, input, *args, **kwargs) -> None:
        """Be the layer for inputs such as this one.

        Args:
            input: that of the first call.
            args, kwargs: what else that has.
        """
        self._learn(self._size_of(input))

    def _learn(self, size):
        """Be the layer for inputs of a size, with the parameters that are there already."""
        args, kwargs = self.__dict__.pop("_arguments")
        made = self.cls_to_become(size, *args, **kwargs)
        for own, fresh in ((self._parameters, made._parameters), (self._buffers, made._buffers)):
            for name, tensor in own.items():
                if isinstance(tensor, _Uninitialized):
                    tensor.data = fresh[name].detach().to(tensor.device, tensor.dtype)
                    tensor.__class__ = tensor._becomes
        self.__dict__[self.size] = size

    def _size_of(self, input):
        return input.layout.shape[-1] if not self.dims else input.layout.shape[-1 - self.dims]

    def _load_from_state_dict(self, state_dict, prefix, *args):
        """A state with a known shape makes the layer what it was saved from."""
        for name in ("weight", "running_mean"):
            saved = state_dict.get(prefix + name)
            if saved is not None and not isinstance(saved, _Uninitialized) and name in {**self._parameters, **self._buffers}:
                transposed = getattr(self.cls_to_become, "transposed", False)
                along = 0 if transposed or saved.layout.ndim == 1 else 1
                groups = 1 if transposed or not self.dims or saved.layout.ndim == 1 else self.groups
                self._learn(saved.layout.shape[along] * groups)
                self.__class__ = self.cls_to_become
                return self._load_from_state_dict(state_dict, prefix, *args)
        return super()._load_from_state_dict(state_dict, prefix, *args)

    def extra_repr(self):
        return self.cls_to_become.extra_repr(self)


def _lazy(becomes, size, dims):
    """The lazy form of a layer."""
    arguments = "2, 1" if becomes.__name__.startswith("Conv") else "2" if becomes is Linear else ""
    shape = (2, 3, *[4] * dims)
    first, *others = inspect.signature(becomes).parameters.values()
    doc = f"""`{becomes.__name__}` whose `{size}` is that of its first input.

    Args:
        {", ".join(p.name for p in others)}: as for `{becomes.__name__}`.

    The first call makes it a `{becomes.__name__}`. Its parameters are the objects that were there before, so an optimiser may hold
    them already; loading a state does the same.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.Lazy{becomes.__name__}({arguments})
        >>> y = layer(torch.ones{shape})
        >>> layer.{size}, type(layer).__name__
        (3, '{becomes.__name__}')
    """
    of = becomes if size != "num_features" else becomes.__base__         # as PyTorch has it: a lazy norm is a norm of no dimensions
    return type("Lazy" + becomes.__name__, (_Lazy, of), {
        "cls_to_become": becomes, "size": size, "dims": dims, "__doc__": doc, "__module__": __name__,
        "__signature__": inspect.Signature(others)})


LazyLinear = _lazy(Linear, "in_features", 0)
LazyConv1d, LazyConv2d, LazyConv3d = (_lazy(kind, "in_channels", kind.dims) for kind in (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy(kind, "in_channels", kind.dims) for kind in (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
LazyBatchNorm2d, LazyBatchNorm3d = (_lazy(kind, "num_features", dims) for kind, dims in ((BatchNorm2d, 2), (BatchNorm3d, 3)))
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy(kind, "num_features", dims) for kind, dims in ((InstanceNorm1d, 1), (InstanceNorm2d, 2), (InstanceNorm3d, 3)))


class LazyBatchNorm1d(_lazy(BatchNorm1d, "num_features", 1)):       # type: ignore[misc]
    """`BatchNorm1d` whose `num_features` is that of its first input, (N, C) or (N, C, L).

    Args:
        eps, momentum, affine, track_running_stats, device, dtype, bias: as for `BatchNorm1d`.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.LazyBatchNorm1d()
        >>> y = layer(torch.ones(2, 3))
        >>> layer.num_features, type(layer).__name__
        (3, 'BatchNorm1d')
    """

    def _size_of(self, input):
        return input.layout.shape[1]
