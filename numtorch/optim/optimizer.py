"""What all optimisers share: parameter groups, state, hooks, saving and loading."""
from __future__ import annotations

import warnings
from collections import defaultdict
from copy import deepcopy
from itertools import chain
from types import FunctionType
from typing import Any

from ..autograd.hooks import HookTable, RemovableHandle
from ..autograd.modes import enable_grad, no_grad
from ..exchange.construction import from_dlpack
from ..interposition import Interposer, with_constants
from ..ops.core.primitive import class_of
from ..storage import moves
from ..tensor import Tensor


class _Required:
    """Stands for a hyper-parameter that a group must name."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()


# ---------------------------------------------------------------- hooks of steps
everywhere: dict = {"before": HookTable(), "after": HookTable()}      # of all optimisers


def _hooked(*args, **kwargs):
    """The code of `step` where an optimiser has hooks. Of a step that calls its base's, the outer one is hooked."""
    self, plain, run_hooked = args[0], "plain", "run_hooked"
    if self._stepping:
        return plain(*args, **kwargs)
    self._stepping = True
    try:
        return run_hooked(plain, self, args, kwargs)
    finally:
        self._stepping = False


def _run_hooked(step, self, args, kwargs):
    own = self._hooks or {"before": {}, "after": {}}
    for hook in (*everywhere["before"].values(), *own["before"].values()):
        result = hook(self, args, kwargs)
        if result is not None:
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(f"step: a hook must return None or a tuple of (new_args, new_kwargs), but got {result}.")
            args, kwargs = result
    out = step(*args, **kwargs)
    own = self._hooks or own
    for hook in (*own["after"].values(), *everywhere["after"].values()):
        hook(self, args, kwargs)
    return out


_steps = Interposer(2, lambda plain, public: with_constants(_hooked, public, plain=plain, run_hooked=_run_hooked))


def _steps_of(kind):
    """The functions that are the steps of a class of optimisers and of all classes made from it."""
    own = vars(kind).get("step")
    return [*([own] if isinstance(own, FunctionType) else []), *chain.from_iterable(map(_steps_of, kind.__subclasses__()))]


def _add_everywhere(when, hook):
    _steps.add(_steps_of(Optimizer))
    moves[0] += 1                                        # programs that were captured take no step without a look at it
    return everywhere[when].add(hook)


def register_optimizer_step_pre_hook(hook) -> RemovableHandle:
    """Have `hook(optimizer, args, kwargs)` called before every step of any optimiser, and before its own hooks.

    Args:
        hook: the function; what it may return is said at `Optimizer.register_step_pre_hook`.

    Returns:
        A handle whose `remove()` takes the hook off.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
        >>> with torch.optim.optimizer.register_optimizer_step_pre_hook(lambda *call: print(type(call[0]).__name__)):
        ...     optimizer.step()
        SGD
    """
    return _add_everywhere("before", hook)


def register_optimizer_step_post_hook(hook) -> RemovableHandle:
    """Have `hook(optimizer, args, kwargs)` called after every step of any optimiser, and after its own hooks.

    Args:
        hook: the function.

    Returns:
        A handle whose `remove()` takes the hook off.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
        >>> with torch.optim.optimizer.register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print(len(args), kwargs)):
        ...     optimizer.step(closure=None)
        1 {'closure': None}
    """
    return _add_everywhere("after", hook)


class Optimizer:
    """Base of all optimisers. Subclasses implement `step`.

    Args:
        params: tensors, (name, tensor) pairs, or dicts with "params" and options of their own.
        defaults: the options of groups that do not name them.

    Attributes:
        param_groups: dicts with "params" and the options.
        state: a dict for each parameter.

    Raises:
        TypeError: `params` is a single tensor, or holds something else than tensors.
        ValueError: an empty list, a tensor in two groups, or one with a history. One that is twice in a group is warned of, and
            makes two steps.

    Example:
        >>> import numtorch as torch
        >>> class Signs(torch.optim.Optimizer):
        ...     def __init__(self, params, lr=0.1):
        ...         super().__init__(params, {"lr": lr})
        ...     @torch.no_grad()
        ...     def step(self):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 p.sub_(p.grad.sign(), alpha=group["lr"])
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> (p * p).sum().backward()
        >>> Signs([p], lr=0.5).step()
        >>> p.detach()
        tensor([0.5000, 0.5000])
    """

    _stepping = False                                    # whether a step with hooks runs

    def __init_subclass__(cls, **options) -> None:
        super().__init_subclass__(**options)
        if everywhere["before"] or everywhere["after"]:
            _steps.add(_steps_of(cls))

    def __init__(self, params, defaults) -> None:
        if isinstance(params, Tensor):
            raise TypeError(f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            f"{type(params)}")
        self.defaults, self.state, self.param_groups = defaults, self._empty_state(), []
        self._hooks, self._opt_called = None, False      # the second: schedulers warn where they are stepped before
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict) -> None:
        """Add parameters with options of their own.

        Args:
            param_group: a dict with "params" and options; those it does not name are the defaults.

        Raises:
            TypeError: not a dict, or parameters that are no tensors or a set.
            ValueError: a tensor of another group, one with a history (but for `differentiable` steps, or where its gradient is
                kept), an option missing that has no default, or names of some parameters only.

        Example:
            >>> import numtorch as torch
            >>> body, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
            >>> optimizer = torch.optim.SGD(body.parameters(), lr=0.1)
            >>> optimizer.add_param_group({"params": head.parameters(), "lr": 1.0})
            >>> [group["lr"] for group in optimizer.param_groups]
            [0.1, 1.0]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                            "sets will "
                            "change between runs. Please use a list instead.")
        params = [params] if isinstance(params, Tensor) else list(params)
        group = {**param_group, "params": params}
        names = [each[0] for each in params if isinstance(each, tuple)]
        if names:
            if len(names) < len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            group["param_names"], group["params"] = names, [tensor for _, tensor in params]
            params = group["params"]
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {class_of(parameter)}")
            if not (parameter.is_leaf or parameter.retains_grad or self.defaults.get("differentiable")):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        if any(("param_names" in group) != ("param_names" in other) for other in self.param_groups):
            raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                             f"{'with' if names else 'without'} names to the optimizer")
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if len({id(p) for p in params}) < len(params):   # each step goes once for every time it is there
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                          "see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=5)
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    # ------------------------------------------------------------ training
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients.

        Args:
            set_to_none: forget them; else set their elements to zero.
        """
        for group in self.param_groups:
            for parameter in group["params"]:
                node = parameter.node
                if set_to_none and node is not None:
                    node.grad = None
                elif parameter.grad is not None:
                    parameter.grad = None if set_to_none else parameter.grad.detach().zero_()

    def step(self, closure=None) -> Any:
        """Update all parameters that have gradients.

        Args:
            closure: computes the loss anew and its gradients; called first.

        Returns:
            What the closure returned, or None.
        """
        raise NotImplementedError

    def _loss(self, closure):
        """The start of a step: what the closure returns."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def _hook_table(self, when):
        if self._hooks is None:
            self._hooks = {kind: HookTable() for kind in ("before", "after", "saving", "saved", "loading", "loaded")}
        return self._hooks[when]

    def _run_hooks(self, when, *args):
        """Call the hooks of one kind, each with what the one before returned where it returned something."""
        if self._hooks is not None:
            for hook in tuple(self._hooks[when].values()):
                result = hook(self, *args)
                if result is not None and args:
                    args = (result,)
        return args[0] if args else None

    def register_step_pre_hook(self, hook):
        """Have `hook(optimizer, args, kwargs)` called before every step.

        Args:
            hook: the function. `args` are those of the call, the optimiser first; it may return a pair of others and of other
                `kwargs`, which the step and the hooks after it are then given.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        _steps.add([type(self).step])
        return self._hook_table("before").add(hook)

    def register_step_post_hook(self, hook):
        """Have `hook(optimizer, args, kwargs)` called after every step.

        Args:
            hook: the function.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        _steps.add([type(self).step])
        return self._hook_table("after").add(hook)

    def _add_hook(self, when, hook, prepend):
        table = self._hook_table(when)
        before = dict(table) if prepend else {}
        handle = table.add(hook)
        for key, value in before.items():
            del table[key]
            table[key] = value
        return handle

    def register_state_dict_pre_hook(self, hook, prepend: bool = False):
        """Have `hook(optimizer)` called before `state_dict` collects.

        Args:
            hook: the function.
            prepend: call it before the hooks that are there.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        return self._add_hook("saving", hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend: bool = False):
        """Have `hook(optimizer, state_dict)` called with what `state_dict` collected.

        Args:
            hook: the function; it may return another dict.
            prepend: call it before the hooks that are there.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        return self._add_hook("saved", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend: bool = False):
        """Have `hook(optimizer, state_dict)` called before `load_state_dict`.

        Args:
            hook: the function; it may return another dict to load.
            prepend: call it before the hooks that are there.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        return self._add_hook("loading", hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend: bool = False):
        """Have `hook(optimizer)` called after `load_state_dict`.

        Args:
            hook: the function.
            prepend: call it before the hooks that are there.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        return self._add_hook("loaded", hook, prepend)

    # ------------------------------------------------------------ state
    def _empty_state(self) -> defaultdict:
        return defaultdict(dict)

    def state_dict(self) -> dict:
        """State by the parameters' numbers, and groups with numbers in place of parameters, as PyTorch saves them.

        Returns:
            A dict of "state" and "param_groups". Tensors in it are the optimiser's own.

        Example:
            >>> import numtorch as torch
            >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.5)
            >>> optimizer.state_dict()["param_groups"][0]["params"]
            [0]
        """
        self._run_hooks("saving")
        numbers = {id(p): i for i, p in enumerate(chain.from_iterable(g["params"] for g in self.param_groups))}
        groups = [{**{k: v for k, v in g.items() if k != "params"}, "params": [numbers[id(p)] for p in g["params"]]}
                  for g in self.param_groups]
        return self._run_hooks("saved", {"state": {numbers[id(p)] if isinstance(p, Tensor) else p: s
                                                   for p, s in self.state.items()}, "param_groups": groups})

    @no_grad()
    def load_state_dict(self, state_dict: dict) -> None:
        """Take back what `state_dict` gave, here or in PyTorch; tensors are copied to their parameters' dtypes and devices.

        Args:
            state_dict: that dict.

        Raises:
            ValueError: the groups are others, or of other lengths.
        """
        state_dict = self._run_hooks("loading", dict(state_dict))
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(new["params"]) != len(old["params"]) for new, old in zip(saved, self.param_groups)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        parameters = dict(zip(chain.from_iterable(g["params"] for g in saved),
                              chain.from_iterable(g["params"] for g in self.param_groups)))
        self.state = self._empty_state()
        for number, values in state_dict["state"].items():
            parameter = parameters.get(number)
            if parameter is None:
                self.state[number] = deepcopy(values)
            else:
                self.state[parameter].update({k: _adopted(k, v, parameter) for k, v in values.items()})
        self.param_groups = [{**deepcopy({k: v for k, v in new.items() if k != "params"}), "params": old["params"]}
                             for new, old in zip(saved, self.param_groups)]
        self._run_hooks("loaded")

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self._hooks, self._opt_called = None, False
        self.__dict__.update(state)

    def __repr__(self):
        groups = ["\n".join([f"Parameter Group {number}"] + [f"    {key}: {group[key]}" for key in sorted(group)
                                                            if key not in ("params", "param_names")])
                  for number, group in enumerate(self.param_groups)]
        return f"{type(self).__name__} (\n" + "\n\n".join(groups) + "\n)"


def _adopted(name, value, parameter):
    """A loaded state value, as its parameter needs it; step counts keep their dtype. Tensors may be PyTorch's."""
    if not isinstance(value, Tensor) and hasattr(value, "__dlpack__"):
        value = from_dlpack(value)
    if not isinstance(value, Tensor):
        return deepcopy(value)
    if name == "step":
        return value.detach().clone()
    dtype = parameter.layout.dtype if parameter.layout.dtype.is_floating_point else value.layout.dtype
    return value.detach().to(device=parameter.layout.device, dtype=dtype, copy=True)
