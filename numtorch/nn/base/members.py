"""What a module finds below itself: modules, parameters and buffers, all of them or by dotted name."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...tensor import Tensor
from ..parameter import Parameter

if TYPE_CHECKING:
    from typing_extensions import Self

    from .module import Module


class Members:
    """What a Module can do about its tree."""

    _parameters: dict
    _buffers: dict
    _modules: dict

    def named_modules(self, memo=None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with dotted names.

        Args:
            memo: a set of modules that are not to be given; it grows.
            prefix: the name of this module.
            remove_duplicate: give a module that has several names once.

        Example:
            >>> import numtorch as torch
            >>> model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
            >>> [name for name, module in model.named_modules()]
            ['', '0', '0.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once.

        Example:
            >>> import numtorch as torch
            >>> len(list(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.ReLU()).modules()))
            3
        """
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below this one, with their names, each once.

        Example:
            >>> import numtorch as torch
            >>> list(torch.nn.Sequential(torch.nn.ReLU()).named_children())
            [('0', ReLU())]
        """
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
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

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str,
                         Parameter]]:
        """Parameters with their dotted names.

        Args:
            prefix: put before every name, with a dot.
            recurse: include those of the modules below.
            remove_duplicate: give a parameter that has several names once.

        Example:
            >>> import numtorch as torch
            >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
            >>> [(name, tuple(p.shape)) for name, p in model.named_parameters()]
            [('0.weight', (3, 2)), ('0.bias', (3,))]
        """
        return self._named_members(lambda m: m._parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters, each once.

        Args:
            recurse: include those of the modules below.

        Example:
            >>> import numtorch as torch
            >>> sum(p.numel() for p in torch.nn.Linear(2, 3).parameters())
            9
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Buffers with their dotted names.

        Args:
            prefix: put before every name, with a dot.
            recurse: include those of the modules below.
            remove_duplicate: give a buffer that has several names once.

        Example:
            >>> import numtorch as torch
            >>> [name for name, buffer in torch.nn.BatchNorm1d(2).named_buffers()]
            ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named_members(lambda m: m._buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Buffers, each once.

        Args:
            recurse: include those of the modules below.
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Members:
        """The module at a dotted name.

        Args:
            target: such as "encoder.layers.0"; this module itself when empty.

        Raises:
            AttributeError: there is none.

        Example:
            >>> import numtorch as torch
            >>> torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU())).get_submodule("0.0")
            ReLU()
        """
        result = self
        for name in target.split(".") if target else ():
            if not hasattr(result, name):
                raise AttributeError(f"{result._get_name()} has no attribute `{name}`")
            result = getattr(result, name)
            if not isinstance(result, Members):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return result

    def set_submodule(self, target: str, module: Members, strict: bool = False) -> None:
        """Put a module at a dotted name.

        Args:
            target: the name.
            module: what to put there.
            strict: replace what is there only; otherwise the last name may be new.

        Raises:
            ValueError: the name is empty, or `module` is not a Module.
            AttributeError: no module on the way there, or with `strict` nothing to replace.

        Example:
            >>> import numtorch as torch
            >>> model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
            >>> model.set_submodule("0.0", torch.nn.Tanh())
            >>> model[0][0]
            Tanh()
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Members):
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
        """The parameter at a dotted name.

        Args:
            target: such as "encoder.weight".

        Raises:
            AttributeError: there is none.

        Example:
            >>> import numtorch as torch
            >>> torch.nn.Sequential(torch.nn.Linear(2, 3)).get_parameter("0.bias").shape
            torch.Size([3])
        """
        return self._get_tensor(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted name.

        Args:
            target: such as "norm.running_mean".

        Raises:
            AttributeError: there is none.
        """
        return self._get_tensor(target, "_buffers", "a buffer")

    def apply(self, fn) -> Self:
        """Call a function on every module of the tree, children first.

        Args:
            fn: takes a module.

        Returns:
            This module.

        Example:
            >>> import numtorch as torch
            >>> seen = []
            >>> model = torch.nn.Sequential(torch.nn.Tanh()).apply(lambda module: seen.append(type(module).__name__))
            >>> seen
            ['Tanh', 'Sequential']
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self
