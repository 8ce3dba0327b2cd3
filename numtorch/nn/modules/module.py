"""Module: a callable that owns parameters, buffers and other modules, and finds them by attribute.

What it finds below itself is in members.py, moving and casting in conversion.py, hooks in hooks.py, saving and loading in state.py,
what notebooks show in notebook.py.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ..base.conversion import Conversion
from ..base.foreseen import calls_modules
from ..base.hooks import (
    Hooks,
    everywhere,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from ..base.members import Members
from ..base.notebook import as_html
from ..base.state import State
from ..parameter import Buffer, Parameter

if TYPE_CHECKING:
    from typing_extensions import Self

# PyTorch has those of all modules here
__all__ = ["Module", "register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
           "register_module_forward_pre_hook", "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
           "register_module_module_registration_hook", "register_module_parameter_registration_hook"]

_before, _after, _behind = everywhere["forward_pre"], everywhere["forward"], everywhere["backward"]


class Module(Members, Conversion, Hooks, State):
    """Base of everything that has parameters. Subclasses set attributes in `__init__` (after calling this one's) and
    define `forward`.

    Attributes:
        training: whether layers behave as in training; `train()` and `eval()` switch it in the whole tree.

    Example:
        >>> import numtorch as torch
        >>> class Twice(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.inner = torch.nn.Linear(2, 2)
        ...     def forward(self, x):
        ...         return self.inner(self.inner(x))
        >>> Twice()
        Twice(
          (inner): Linear(in_features=2, out_features=2, bias=True)
        )
    """

    training: bool
    call_super_init = False                              # whether the next class of the line is initialised, with the arguments

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            self._check_arguments(args, kwargs)
        own = self.__dict__
        own["training"] = True
        own["_parameters"], own["_buffers"], own["_modules"] = {}, {}, {}
        own["_non_persistent_buffers_set"] = set()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def _check_arguments(self, args, kwargs):
        if not self.call_super_init:
            raise TypeError(f"{type(self).__name__}.__init__() " + (
                f"got an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else
                f"takes 1 positional argument but {len(args) + 1} were given"))

    if TYPE_CHECKING:
        forward: Callable[..., Any]                      # subclasses take what they want
    else:
        def forward(self, *args):
            """What calling the module computes. Subclasses define it, with whatever arguments they want.

            Args:
                args: those of the call.

            Raises:
                NotImplementedError: a module that does not define it.
            """
            raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    @calls_modules
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks is None and not (_before or _after or _behind):
            if len(args) == 1 and not kwargs:            # by far the most common
                return self.forward(args[0])
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def compile(self, **options: Any) -> None:
        """Have calls of this module compiled, as `torch.compile` does, without another module around it.

        Args:
            options: those of `torch.compile`.

        Example:
            >>> import numtorch as torch
            >>> net = torch.nn.Linear(2, 1)
            >>> net.compile(mode="replay")
            >>> list(net.state_dict()), net(torch.ones(3, 2)).shape
            (['weight', 'bias'], torch.Size([3, 1]))
        """
        forward = getattr(self.forward, "_function", self.forward)       # what was compiled is not compiled again
        self.__dict__["forward"] = importlib.import_module("numtorch").compile(forward, **options)

    # ------------------------------------------------------------ attributes
    def __setattr__(self, name, value):
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, Tensor) and value._is_parameter:
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, parameters)
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(f"cannot assign '{_type_name(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            parameters[name] = None
            return
        modules = own.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, modules)
            modules[name] = registered("module", self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{_type_name(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            modules[name] = registered("module", self, name, None)
            return
        buffers = own.get("_buffers")
        if isinstance(value, Buffer):
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            self._forget(name, buffers)
            self.register_buffer(name, value, value.persistent)
        elif buffers is not None and name in buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{_type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                                f"expected)")
            buffers[name] = registered("buffer", self, name, value)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name, kept):
        """Take a name out of every table but the one it is assigned in, where it keeps its place in the order."""
        for table in (self.__dict__, self._parameters, self._buffers, self._modules):
            if table is not kept:
                table.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __getattr__(self, name):
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            members = own.get(table)
            if members is not None and name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        names = [*object.__dir__(self), *self._parameters, *self._buffers, *self._modules]
        return sorted({n for n in names if not n[:1].isdigit()})

    def _check_name(self, kind, name, table):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_type_name(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param) -> None:
        """Add a parameter under a name, as assigning it to an attribute does.

        Args:
            name: the attribute's name.
            param: a Parameter, or None, which stands for one that is absent.

        Raises:
            KeyError: the name is empty, contains a dot, or is taken.
            TypeError: `param` is not a Parameter.
            ValueError: it has a history.

        Example:
            >>> import numtorch as torch
            >>> module = torch.nn.Module()
            >>> module.register_parameter("scale", torch.nn.Parameter(torch.ones(2)))
            >>> module.scale
            Parameter containing:
            tensor([1., 1.], requires_grad=True)
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{_type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                            f"required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                             f"To "
                             f"express '{name}' as a function of another Tensor, compute the value in the forward() method.")
        self._parameters[name] = param if param is None else registered("parameter", self, name, param)

    def register_buffer(self, name: str, tensor, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state without being learned.

        Args:
            name: the attribute's name.
            tensor: a Tensor, or None, which stands for one that is absent.
            persistent: whether `state_dict` includes it.

        Raises:
            KeyError: the name is empty, contains a dot, or is taken.
            TypeError: `tensor` is not a Tensor.

        Example:
            >>> import numtorch as torch
            >>> module = torch.nn.Module()
            >>> module.register_buffer("mean", torch.zeros(2))
            >>> list(module.state_dict())
            ['mean']
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = registered("buffer", self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module) -> None:
        """Add a child under a name, as assigning it to an attribute does.

        Args:
            name: the attribute's name.
            module: a Module, or None, which stands for one that is absent.

        Raises:
            KeyError: the name is empty, contains a dot, or is taken.
            TypeError: not a Module.
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = registered("module", self, name, module)

    register_module = add_module

    # ------------------------------------------------------------ training
    def train(self, mode: bool = True) -> Self:
        """Switch training behaviour (dropout, batch statistics) on or off in the whole tree.

        Args:
            mode: whether it is on.

        Returns:
            This module.

        Raises:
            ValueError: `mode` is no bool.

        Example:
            >>> import numtorch as torch
            >>> model = torch.nn.Sequential(torch.nn.Dropout(0.5))
            >>> model.train().training, model.eval()[0].training
            (True, False)
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Switch training behaviour off in the whole tree, and return this module."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether gradients of all parameters are wanted.

        Args:
            requires_grad: whether.

        Returns:
            This module.

        Example:
            >>> import numtorch as torch
            >>> layer = torch.nn.Linear(2, 2).requires_grad_(False)
            >>> layer.weight.requires_grad
            False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all parameters' gradients.

        Args:
            set_to_none: forget them; else set their elements to zero.

        Example:
            >>> import numtorch as torch
            >>> layer = torch.nn.Linear(2, 1)
            >>> layer(torch.ones(1, 2)).sum().backward()
            >>> layer.zero_grad(set_to_none=False)
            >>> layer.weight.grad
            tensor([[0., 0.]])
        """
        for parameter in self.parameters():
            if parameter.grad is not None:
                if set_to_none:
                    parameter.grad = None
                else:
                    parameter.grad = parameter.grad.detach()
                    parameter.grad.zero_()

    # ------------------------------------------------------------ printing
    def _get_name(self):
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """What stands in the parentheses when the module prints itself; override it."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({extra})"
        if not lines and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join([*lines, *children]) + "\n)"

    def _repr_html_(self):
        return as_html(self)


def _type_name(value):
    kind = type(value)
    if kind is Tensor:
        return value.type()
    if kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__qualname__}"
