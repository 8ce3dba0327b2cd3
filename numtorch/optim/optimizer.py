"""What all optimisers share: parameter groups, state, saving and loading, and the call of one kernel for all parameters.

A step costs one kernel call for each group (more only where dtypes or step counts differ). The kernel reads a table of addresses,
of which only what has moved since the last step is written again.
"""
from __future__ import annotations

from collections import defaultdict
from copy import deepcopy
from itertools import chain

import numpy as np

from ..autograd.graph import HookTable, Leaf
from ..autograd.modes import enable_grad, no_grad
from ..dtypes import float32
from ..layout import Layout
from ..ops.backends import kernels
from ..ops.copy import copy_elements
from ..tensor import Tensor, empty, lasting, raw_array, view_of


class _Required:
    """Stands for a hyper-parameter that a group must name."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()


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
        ValueError: an empty list, a tensor twice, or one with a history.
    """

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            f"{type(params)}")
        self.defaults, self.state, self.param_groups = defaults, defaultdict(dict), []
        self._prepared, self._hooks = [], None
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict) -> None:
        """Add parameters with options of their own. Raises as the constructor does."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                            "sets will "
                            "change between runs. Please use a list instead.")
        params = [params] if isinstance(params, Tensor) else list(params)
        group = {**param_group, "params": params}
        if params and isinstance(params[0], tuple):
            group["param_names"] = [name for name, _ in params]
            group["params"] = params = [tensor for _, tensor in params]
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(parameter)}")
            if parameter.node is not None and type(parameter.node) is not Leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if len({id(p) for p in params}) < len(params):
            raise ValueError("optimizer contains a parameter group with duplicate parameters")
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)
        self._prepared.append(None)

    # ------------------------------------------------------------ training
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, or set them to zero."""
        for group in self.param_groups:
            for parameter in group["params"]:
                node = parameter.node
                if set_to_none and node is not None:
                    node.grad = None
                elif parameter.grad is not None:
                    parameter.grad = None if set_to_none else parameter.grad.detach().zero_()

    def step(self, closure=None):
        """Update all parameters that have gradients.

        Args:
            closure: computes the loss anew and its gradients; called first.

        Returns:
            What the closure returned, or None.
        """
        raise NotImplementedError

    def _loss(self, closure):
        """The start of a step: what the closure returns."""
        if self._hooks is not None:
            for hook in tuple(self._hooks["before"].values()):
                hook(self, (closure,) if closure is not None else (), {})
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def _done(self, loss):
        """The end of a step."""
        if self._hooks is not None:
            for hook in tuple(self._hooks["after"].values()):
                hook(self, (), {})
        return loss

    def _hook_table(self, when):
        if self._hooks is None:
            self._hooks = {"before": HookTable(), "after": HookTable()}
        return self._hooks[when]

    def register_step_pre_hook(self, hook):
        """Have `hook(optimizer, args, kwargs)` called before every step. Returns a handle with `remove()`."""
        return self._hook_table("before").add(hook)

    def register_step_post_hook(self, hook):
        """Have `hook(optimizer, args, kwargs)` called after every step. Returns a handle with `remove()`."""
        return self._hook_table("after").add(hook)

    def _batches(self, number, group, kept):
        """The kernel calls of a group whose tables are up to date, made anew where its parameters, its gradients or what is
        `kept` of them in the state have changed."""
        prepared = self._prepared[number]
        if prepared is None or not prepared.update(self.state, kept):
            prepared = self._prepared[number] = _Prepared(self, group, kept)
        return prepared.batches

    def _key(self, parameter, state):
        """What parameters of one kernel call must have in common, beyond dtype and device."""

    def _start(self, parameter, group):
        """A parameter's state, filled in before its first step."""
        return self.state[parameter]

    def _columns(self, group, state):
        """The state tensors of a parameter, in the order of the kernel's table; None for an absent one."""
        raise NotImplementedError

    # ------------------------------------------------------------ state
    def state_dict(self) -> dict:
        """State by the parameters' numbers, and groups with numbers in place of parameters, as PyTorch saves them."""
        numbers = {id(p): i for i, p in enumerate(chain.from_iterable(g["params"] for g in self.param_groups))}
        groups = [{**{k: v for k, v in g.items() if k != "params"}, "params": [numbers[id(p)] for p in g["params"]]}
                  for g in self.param_groups]
        return {"state": {numbers[id(p)] if isinstance(p, Tensor) else p: s for p, s in self.state.items()}, "param_groups": groups}

    @no_grad()
    def load_state_dict(self, state_dict: dict) -> None:
        """Take back what `state_dict` gave; tensors are copied to their parameters' dtypes and devices.

        Raises:
            ValueError: the groups are others, or of other lengths.
        """
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(new["params"]) != len(old["params"]) for new, old in zip(saved, self.param_groups)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        parameters = dict(zip(chain.from_iterable(g["params"] for g in saved),
                              chain.from_iterable(g["params"] for g in self.param_groups)))
        self.state = defaultdict(dict)
        for number, values in state_dict["state"].items():
            parameter = parameters.get(number)
            if parameter is None:
                self.state[number] = deepcopy(values)
            else:
                self.state[parameter] = {k: _adopted(k, v, parameter) for k, v in values.items()}
        self.param_groups = [{**deepcopy({k: v for k, v in new.items() if k != "params"}), "params": old["params"]}
                             for new, old in zip(saved, self.param_groups)]
        self._prepared = [None] * len(self.param_groups)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._prepared, self._hooks = [None] * len(self.param_groups), None

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key not in ("params", "param_names")]
        return "\n".join(lines) + "\n)"


def _adopted(name, value, parameter):
    """A loaded state value, as its parameter needs it; step counts keep their dtype."""
    if not isinstance(value, Tensor):
        return deepcopy(value)
    if name == "step":
        return value.detach().clone()
    dtype = parameter.layout.dtype if parameter.layout.dtype.is_floating_point else value.layout.dtype
    return value.detach().to(device=parameter.layout.device, dtype=dtype, copy=True)


# ---------------------------------------------------------------- one kernel call
class Batch:
    """Parameters that one kernel call updates.

    Attributes:
        places: their places among the group's parameters that have gradients, or None for all.
        table: a row of addresses a parameter (parameter, gradient, state), and its number of elements.
        hyper: the options as the kernel reads them, last written as `options`.
        steps: the parameters' step counts as one array, for optimisers that count.
    """

    __slots__ = ("parameters", "states", "places", "table", "hyper", "options", "prepared", "gradients", "steps", "first", "keep",
                 "table_address", "hyper_address")

    def run(self):
        """Call the kernel, and note the write as in-place ops do."""
        self.prepared.call(self.table_address, self.hyper_address, self.prepared.walk)
        for parameter in self.parameters:
            storage = parameter.storage
            storage.version += 1
            storage.writer = "step"


class _Prepared:
    """A group's batches, and what must not have changed for them to be used again."""

    __slots__ = ("known", "parameters", "state", "kept", "entries", "batches")

    def __init__(self, optimizer, group, kept):
        self.parameters, self.state, self.kept = list(group["params"]), optimizer.state, kept
        self.known, chosen, place = [], {}, 0
        for parameter in self.parameters:
            grad = parameter.grad if parameter.node is None else parameter.node.grad
            self.known.append(None if grad is None else (parameter.address, parameter.layout, grad.layout))
            if grad is None:
                continue
            state = optimizer._start(parameter, group)
            key = (parameter.layout.dtype, parameter.layout.device, optimizer._key(parameter, state))
            chosen.setdefault(key, []).append((place, parameter, grad, state))
            place += 1
        self.entries = len(optimizer.state)
        self.batches = [_batch(optimizer, group, key, rows, len(chosen) == 1) for key, rows in chosen.items()]

    def update(self, state, kept):
        """Write moved gradients' addresses. False where something else has changed."""
        if state is not self.state or len(state) != self.entries or kept != self.kept:
            return False
        gradients = []
        for parameter, known in zip(self.parameters, self.known):
            node = parameter.node
            grad = node.grad if node is not None else parameter._stored_grad
            if grad is None:
                if known is not None:
                    return False
                continue
            if known is None or grad.layout is not known[2] or parameter.address != known[0] or parameter.layout is not known[1]:
                return False
            gradients.append(grad.address)
        for batch in self.batches:
            if batch.keep:
                return False
            moved = gradients if batch.places is None else [gradients[i] for i in batch.places]
            if moved != batch.gradients:
                batch.gradients = moved
                batch.table[:, 1] = moved
        return True


def _batch(optimizer, group, key, rows, only):
    dtype, device, _ = key
    if dtype.category < 2:
        raise RuntimeError(f"{type(optimizer).__name__}: expected parameters of a floating-point or complex dtype, got {dtype}")
    batch = Batch()
    batch.parameters, batch.states = [r[1] for r in rows], [r[3] for r in rows]
    batch.places = None if only else [r[0] for r in rows]
    batch.keep, batch.options = [], None
    table = []
    for _, parameter, grad, state in rows:
        layout = parameter.layout
        if layout.numel and not layout.non_overlapping_and_dense():
            raise RuntimeError(f"{type(optimizer).__name__}: expected parameters whose elements fill their memory, got shape "
                               f"{list(layout.shape)} with strides {list(layout.strides)}; use .contiguous()")
        if grad.layout is not layout:                    # another dtype or order: brought into the parameter's, anew every step
            moved = empty(layout)
            copy_elements(grad, moved)
            batch.keep.append(moved)
            grad = moved
        table.append([parameter.address, grad.address, *[0 if t is None else t.address for t in optimizer._columns(group, state)],
                      layout.numel * (2 if dtype.is_complex else 1)])
    batch.table = np.array(table, np.int64)
    batch.gradients = [row[1] for row in table]
    batch.hyper = np.zeros(8)
    batch.table_address, batch.hyper_address = batch.table.ctypes.data, batch.hyper.ctypes.data
    batch.prepared = getattr(kernels(device, "optim"), optimizer.planner)(dtype.to_real().kernel, tuple(row[-1] for row in table))
    batch.first = False
    batch.steps = _joined_steps(batch.states) if "step" in batch.states[0] else None
    return batch


def _joined_steps(states):
    """The states' step counts as consecutive elements of one array, so that one addition counts for all."""
    whole = lasting(Layout.of(float32, (len(states),)))
    array = raw_array(whole)
    for place, state in enumerate(states):
        array[place] = float(state["step"])
        state["step"] = view_of(whole, Layout.of(float32, ()), place)
    return array


def new_step() -> Tensor:
    """A step count of 0."""
    out = lasting(Layout.of(float32, ()))
    raw_array(out)[...] = 0
    return out
