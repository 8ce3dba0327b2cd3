"""Module: a callable that owns parameters, buffers and other modules, and finds them by attribute.

Hooks are in hooks.py, saving and loading in state.py.
"""
from __future__ import annotations

from ...autograd.graph import Leaf
from ...autograd.modes import no_grad
from ...devices import device as as_device
from ...dtypes import bfloat16, float16, float32, float64
from ...dtypes import dtype as dtype_class
from ...tensor import Tensor
from ..parameter import Buffer, Parameter
from .hooks import (
    Hooks,
    everywhere,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from .state import State

__all__ = ["Module", "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
           "register_module_full_backward_pre_hook"]     # PyTorch has those of all modules here

_before, _after, _behind = everywhere["forward_pre"], everywhere["forward"], everywhere["backward"]


class Module(Hooks, State):
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

    def __init__(self):
        own = self.__dict__
        own["training"] = True
        own["_parameters"], own["_buffers"], own["_modules"] = {}, {}, {}
        own["_non_persistent_buffers_set"] = set()

    def forward(self, *args):
        """What calling the module computes."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if self._hooks is None and not (_before or _after or _behind):
            if len(args) == 1 and not kwargs:            # by far the most common: 0.1 µs less
                return self.forward(args[0])
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    # ------------------------------------------------------------ attributes
    def __setattr__(self, name, value):
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name)
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
            self._forget(name)
            modules[name] = value
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{_type_name(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            modules[name] = None
            return
        buffers = own.get("_buffers")
        if type(value) is Buffer:
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            self._forget(name)
            self.register_buffer(name, value, value.persistent)
        elif buffers is not None and name in buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{_type_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                                f"expected)")
            buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name):
        """Take a name out of every table, before it gets another meaning."""
        for table in (self.__dict__, self._parameters, self._buffers, self._modules):
            table.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __getattr__(self, name):
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            found = own.get(table)
            if found is not None and name in found:
                return found[name]
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
        """Add a parameter (or None, which stands for one that is absent) under a name.

        Raises:
            KeyError: the name is empty, contains a dot, or is taken.
            TypeError: `param` is not a Parameter.
            ValueError: it has a history.
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
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor, persistent: bool = True) -> None:
        """Add a tensor (or None) that belongs to the state without being learned.

        Args:
            persistent: whether `state_dict` includes it.

        Raises:
            KeyError: the name is empty, contains a dot, or is taken.
            TypeError: `tensor` is not a Tensor.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module) -> None:
        """Add a child (or None) under a name. Raises KeyError and TypeError as `register_parameter` does."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = module

    register_module = add_module

    # ------------------------------------------------------------ the tree
    def named_modules(self, memo=None, prefix: str = "", remove_duplicate: bool = True):
        """This module and all below it, with dotted names, each once unless `remove_duplicate` is false."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """This module and all below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        """The modules right below this one, with their names, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The modules right below this one, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(self, members, prefix, recurse, remove_duplicate):
        seen = set()
        for place, module in self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]:
            for name, tensor in members(module).items():
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield f"{place}.{name}" if place else name, tensor

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True):
        """Parameters with their dotted names.

        Args:
            prefix: put before every name.
            recurse: include those of the modules below.
            remove_duplicate: give a parameter that has several names once.
        """
        return self._named_members(lambda m: m._parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True):
        """Parameters, each once; without `recurse` only this module's own."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True):
        """Buffers with their dotted names, as `named_parameters` gives parameters."""
        return self._named_members(lambda m: m._buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True):
        """Buffers, each once; without `recurse` only this module's own."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted name. Raises AttributeError where there is none."""
        found = self
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise AttributeError(f"{found._get_name()} has no attribute `{name}`")
            found = getattr(found, name)
            if not isinstance(found, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted name.

        Args:
            strict: replace what is there only; otherwise the last name may be new.

        Raises:
            ValueError: the name is empty, or `module` is not a Module.
            AttributeError: no module on the way there, or with `strict` nothing to replace.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            self.get_submodule(target)
        setattr(parent, name, module)

    def _get_tensor(self, target, table, what):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in getattr(module, table):
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted name. Raises AttributeError where there is none."""
        return self._get_tensor(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted name. Raises AttributeError where there is none."""
        return self._get_tensor(target, "_buffers", "a buffer")

    def apply(self, fn):
        """Call `fn(module)` on every module of the tree, children first, and return this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ------------------------------------------------------------ conversion
    def _apply(self, fn, recurse=True):
        """Replace every parameter's and buffer's memory (and that of gradients) by `fn` of it. Parameters stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    _convert(parameter, fn)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, dtype=None, device=None, non_blocking: bool = False, memory_format=None):
        """Move or cast parameters and buffers; a dtype applies to those of floating point and complex dtypes only.

        Args:
            args: a dtype, a device, both, or a tensor to follow.

        Raises:
            TypeError: the dtype is neither floating-point nor complex.
        """
        for value in args:
            if isinstance(value, Tensor):
                dtype, device = value.layout.dtype, value.layout.device
            elif isinstance(value, dtype_class):
                dtype = value
            elif value is not None and not isinstance(value, bool):
                device = as_device(value)
        if dtype is not None and dtype.category < 2:
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        return self._apply(lambda t: t.to(device=device, dtype=dtype if t.layout.dtype.category >= 2 else None))

    def _cast(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.layout.dtype.is_floating_point else t)

    def float(self):
        """Floating-point parameters and buffers as float32."""
        return self._cast(float32)

    def double(self):
        """Floating-point parameters and buffers as float64."""
        return self._cast(float64)

    def half(self):
        """Floating-point parameters and buffers as float16."""
        return self._cast(float16)

    def bfloat16(self):
        """Floating-point parameters and buffers as bfloat16."""
        return self._cast(bfloat16)

    def type(self, dst_type):
        """All parameters and buffers as `dst_type`."""
        return self._apply(lambda t: t.to(dst_type))

    def cpu(self):
        """Everything in host memory."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """Everything on a CUDA device, the current one when none is given."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device, recurse: bool = True):
        """Everything on a device, with uninitialised memory."""
        return self._apply(lambda t: t.new_empty(t.layout.shape, device=device), recurse)

    def share_memory(self):
        """Everything in memory that other processes can share."""
        return self._apply(lambda t: t.share_memory_())

    # ------------------------------------------------------------ training
    def train(self, mode: bool = True):
        """Switch training behaviour (dropout, batch statistics) on or off in the whole tree, and return this module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Switch training behaviour off."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True):
        """Whether gradients of all parameters are wanted."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all parameters' gradients, or set them to zero."""
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


def _type_name(value):
    kind = type(value)
    if kind is Tensor:
        return value.type()
    if kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__qualname__}"


def _convert(parameter, fn):
    """Give a parameter, and its gradient, the memory of what `fn` makes of them."""
    for tensor in (parameter, parameter.grad):
        if tensor is None:
            continue
        bare = tensor.detach()
        made = fn(bare)
        if made is not bare:
            tensor.storage, tensor.address, tensor.layout = made.storage, made.address, made.layout
            if type(tensor.node) is Leaf:
                tensor.node.layout = made.layout
