"""Hooks of modules: functions called before and after forward, and when backward passes.

A module without hooks pays for one test. Backward hooks stand in the graph as two identity nodes, one behind the module's
outputs and one before its inputs: the first sees the outputs' gradients, the second the inputs'.
"""
from __future__ import annotations

import warnings

from ...autograd.graph import GraphNode, Recorded, attach_outputs
from ...autograd.hooks import HookTable
from ...autograd.modes import modes, no_grad
from ...ops.creation.fill import zeros
from ...tensor import Tensor, view_of
from .hooktables import hooks_of

KINDS = ("forward_pre", "forward", "backward_pre", "backward")


def new_tables() -> dict:
    return {kind: HookTable() for kind in KINDS}


everywhere = new_tables()                                # hooks of all modules
_registrations = {kind: HookTable() for kind in ("module", "parameter", "buffer")}


def add(tables, kind, entry, prepend=False):
    handle = tables[kind].add(entry)
    if prepend:
        others = [(k, v) for k, v in tables[kind].items() if k != handle.id]
        for key, _ in others:
            del tables[kind][key]
        tables[kind].update(others)
    return handle


class Hooks:
    """What a Module can do about hooks."""

    _hooks = None                                        # tables by kind, once there are any
    _forward_pre_hooks, _forward_hooks = hooks_of("forward_pre"), hooks_of("forward")
    _backward_pre_hooks, _backward_hooks = hooks_of("backward_pre"), hooks_of("backward")

    def _tables(self):
        if self._hooks is None:
            self.__dict__["_hooks"] = new_tables()
        return self._hooks

    def register_forward_pre_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Have `hook(module, args)` called before forward; it may return new arguments.

        Args:
            hook: the function.
            prepend: call it before the hooks that are there.
            with_kwargs: call `hook(module, args, kwargs)` instead, which may return (args, kwargs).

        Returns:
            A handle whose `remove()` takes the hook off.

        Example:
            >>> import numtorch as torch
            >>> layer = torch.nn.ReLU()
            >>> handle = layer.register_forward_pre_hook(lambda module, args: -args[0])
            >>> layer(torch.tensor([-1., 2.]))
            tensor([1., 0.])
        """
        return add(self._tables(), "forward_pre", (hook, with_kwargs, False), prepend)

    def register_forward_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False):
        """Have `hook(module, args, output)` called after forward; it may return another output.

        Args:
            hook: the function.
            prepend: call it before the hooks that are there.
            with_kwargs: call `hook(module, args, kwargs, output)` instead.
            always_call: call it (with None for the output) even when forward or a hook before it raises. What it raises then is a
                warning.

        Returns:
            A handle whose `remove()` takes the hook off.

        Example:
            >>> import numtorch as torch
            >>> layer = torch.nn.ReLU()
            >>> handle = layer.register_forward_hook(lambda module, args, output: print(output.shape))
            >>> y = layer(torch.tensor([-1., 2.]))
            torch.Size([2])
        """
        return add(self._tables(), "forward", (hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook, prepend: bool = False):
        """Have `hook(module, grad_output)` called before the gradients of this module are computed; it may return new ones.

        Args:
            hook: the function; `grad_output` is a tuple, one gradient for each output.
            prepend: call it before the hooks that are there.

        Returns:
            A handle whose `remove()` takes the hook off.
        """
        return add(self._tables(), "backward_pre", hook, prepend)

    def register_full_backward_hook(self, hook, prepend: bool = False):
        """Have `hook(module, grad_input, grad_output)` called when the gradients for the inputs are known; it may return others
        for them.

        Args:
            hook: the function; both gradients are tuples, None for what has none. It is called of modules that return a tensor or
                a tuple of tensors; of others there is a warning.
            prepend: call it before the hooks that are there.

        Returns:
            A handle whose `remove()` takes the hook off.

        Example:
            >>> import numtorch as torch
            >>> layer, x = torch.nn.ReLU(), torch.tensor([-1., 2.], requires_grad=True)
            >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input[0]))
            >>> layer(x).sum().backward()
            tensor([0., 1.])
        """
        return add(self._tables(), "backward", hook, prepend)

    register_backward_hook = register_full_backward_hook

    def _call_with_hooks(self, args, kwargs):
        tables = (everywhere,) if self._hooks is None else (everywhere, self._hooks)
        called: list = []
        try:
            return self._run_hooks(tables, args, kwargs, called)
        except Exception:
            for entry in [entry for table in tables for entry in table["forward"].values()]:
                hook, with_kwargs, always = entry
                if always and not any(entry is each for each in called):
                    try:
                        hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
                    except Exception as error:
                        warnings.warn(f"module forward hook with ``always_call=True`` raised an exception that was silenced as "
                                      f"another error was raised in forward: {error}", stacklevel=2)
            raise

    def _run_hooks(self, tables, args, kwargs, called):
        """Forward with the hooks around it. Those after it are noted in `called`."""
        for table in tables:
            for hook, with_kwargs, _ in tuple(table["forward_pre"].values()):
                if with_kwargs:
                    result = hook(self, args, kwargs)
                    if result is not None:
                        if not (isinstance(result, tuple) and len(result) == 2):
                            raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                                               f"{result}.")
                        args, kwargs = result
                else:
                    result = hook(self, args)
                    if result is not None:
                        args = result if isinstance(result, tuple) else (result,)
        passing = None
        if modes.grad and any(table[kind] for table in tables for kind in ("backward_pre", "backward")):
            passing = _Passing(self, tables)
            args = passing.watch_inputs(args)
        output = self.forward(*args, **kwargs)
        for table in tables:
            for entry in tuple(table["forward"].values()):
                called.append(entry)
                hook, with_kwargs, _ = entry
                result = hook(self, args, kwargs, output) if with_kwargs else hook(self, args, output)
                if result is not None:
                    output = result
        return output if passing is None else passing.watch_outputs(output)


class _Passing:
    """One call of a module with backward hooks: the gradients of its outputs are held until those of its inputs come. They are
    those of the tensors among the arguments and among a tuple of outputs; what lies deeper in these is passed on as it is."""

    def __init__(self, module, tables) -> None:
        self.module = module
        self.before = [h for t in tables for h in t["backward_pre"].values()]
        self.after = [h for t in tables for h in t["backward"].values()]
        self.grad_outputs, self.has_inputs = None, False

    def watch_inputs(self, args):
        self.inputs = len(args)
        where, layouts = _tensors_among(args)
        if not where:
            return args
        self.has_inputs = True

        def inputs_came(grads):
            if self.grad_outputs is None:                # came another way than by the outputs, as second gradients do
                return grads
            grads = self._call(_spread([_materialized(grad, layout) for grad, layout in zip(grads, layouts)], where, len(args)))
            return tuple(grads[i] for i in where)
        return _identity(args, where, inputs_came)

    def watch_outputs(self, output):
        if not isinstance(output, (Tensor, tuple)):
            warnings.warn(f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                          f"{type(output)}", UserWarning, stacklevel=4)
        outputs = output if isinstance(output, tuple) else (output,)
        where, _ = _tensors_among(outputs)
        if not where:
            return output

        def outputs_came(grads):
            grads = _spread(grads, where, len(outputs))
            for hook in self.before:
                result = hook(self.module, grads)
                if result is not None:
                    grads = _same_count(result, grads)
            self.grad_outputs = grads
            if not self.has_inputs and self.after:
                warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs since no "
                              "inputs require gradients.", UserWarning, stacklevel=2)
                self._call((None,) * self.inputs)
            return tuple(grads[i] for i in where)
        passed = _identity(outputs, where, outputs_came)
        return passed if outputs is output else passed[0]

    def _call(self, grad_inputs):
        grad_outputs, self.grad_outputs = self.grad_outputs, None
        for hook in self.after:
            result = hook(self.module, grad_inputs, grad_outputs)
            if result is None:
                continue
            if self.has_inputs:
                grad_inputs = _same_count(result, grad_inputs)
            elif not (isinstance(result, tuple) and all(grad is None for grad in result)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or None "
                                   "for all gradients.")
        return grad_inputs


def _tensors_among(values):
    """Which of the values are tensors, and their layouts; nothing where none of these is recorded."""
    where = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not any(values[i].node is not None for i in where):
        return (), ()
    return where, [values[i].layout for i in where]


def _materialized(grad, layout):
    return zeros(layout.shape, dtype=layout.dtype, device=layout.device) if grad is None else grad


def _spread(grads, where, count):
    """The gradients in their places among `count` values."""
    spread = [None] * count
    for i, grad in zip(where, grads):
        spread[i] = grad
    return tuple(spread)


def _same_count(result, expected):
    result = result if isinstance(result, tuple) else (result,)
    if len(result) != len(expected):
        raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(result)}, but expected "
                           f"{len(expected)}")
    return result


_BACKWARD_HOOK = Recorded("backward_hook")


@_BACKWARD_HOOK.derivative
def _hooked_vjp(node, grad):
    return node.attributes(tuple(grad) if node.outputs > 1 else (grad,))


def _is_of_tensors(x):
    """Whether a tensor is one of a special layout, whose place in the graph is that of a tensor inside."""
    return not hasattr(x, "address")


def _passed(x):
    """A tensor over the same memory, without a place in the graph."""
    if not _is_of_tensors(x):
        return view_of(x, x.layout, 0)
    with no_grad():
        return x.view(x.layout.shape)


def _identity(values, where, function):
    """The values with the tensors among them behind a node that shows all their gradients to `function` at once."""
    tensors = [values[i] for i in where]
    count = len(tensors)
    node = GraphNode(_BACKWARD_HOOK, tuple(t.node for t in tensors), (), function, count)
    passed = [_passed(t) for t in tensors]
    if count == 1:
        passed[0].node = node
    else:
        attach_outputs(node, passed)
        for tensor, given in zip(passed, tensors):
            if given.node is None:
                tensor.node = None
    for tensor in passed:
        if _is_of_tensors(tensor):
            tensor.layout.handler.place(tensor)
    replaced = list(values)
    for i, tensor in zip(where, passed):
        replaced[i] = tensor
    return tuple(replaced) if type(values) is tuple else type(values)(*replaced)


# ---------------------------------------------------------------- hooks of all modules
def registered(kind, module, name, member):
    """What a module holds under a name that it is given a member for: that, or what hooks have for it."""
    for hook in tuple(_registrations[kind].values()):
        result = hook(module, name, member)
        if result is not None:
            member = result
    return member


def register_module_module_registration_hook(hook):
    """Have `hook(module, name, submodule)` called when any module is given a submodule, or None for one.

    Args:
        hook: the function; it may return another submodule to hold instead.

    Returns:
        A handle whose `remove()` takes the hook off.
    """
    return _registrations["module"].add(hook)


def register_module_parameter_registration_hook(hook):
    """Have `hook(module, name, parameter)` called when any module is given a parameter.

    Args:
        hook: the function; it may return another parameter to hold instead.

    Returns:
        A handle whose `remove()` takes the hook off.

    Example:
        >>> import numtorch as torch
        >>> with torch.nn.modules.module.register_module_parameter_registration_hook(
        ...         lambda module, name, parameter: print(name, tuple(parameter.shape))):
        ...     layer = torch.nn.Linear(2, 3)
        weight (3, 2)
        bias (3,)
    """
    return _registrations["parameter"].add(hook)


def register_module_buffer_registration_hook(hook):
    """Have `hook(module, name, buffer)` called when any module is given a buffer, or None for one.

    Args:
        hook: the function; it may return another buffer to hold instead.

    Returns:
        A handle whose `remove()` takes the hook off.
    """
    return _registrations["buffer"].add(hook)


def register_module_forward_pre_hook(hook):
    """Have `hook(module, args)` called before every module's forward.

    Args:
        hook: the function; it may return new arguments.

    Returns:
        A handle whose `remove()` takes the hook off.
    """
    return add(everywhere, "forward_pre", (hook, False, False))


def register_module_forward_hook(hook, *, with_kwargs: bool = False, always_call: bool = False):
    """Have `hook(module, args, output)` called after every module's forward.

    Args:
        hook: the function; it may return another output.
        with_kwargs: call `hook(module, args, kwargs, output)` instead.
        always_call: call it (with None for the output) even when forward raises.

    Returns:
        A handle whose `remove()` takes the hook off.
    """
    return add(everywhere, "forward", (hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook):
    """Have `hook(module, grad_output)` called before backward passes any module.

    Args:
        hook: the function; it may return new gradients.

    Returns:
        A handle whose `remove()` takes the hook off.
    """
    return add(everywhere, "backward_pre", hook)


def register_module_full_backward_hook(hook):
    """Have `hook(module, grad_input, grad_output)` called when backward has passed any module.

    Args:
        hook: the function; it may return other gradients for the inputs.

    Returns:
        A handle whose `remove()` takes the hook off.
    """
    return add(everywhere, "backward", hook)


register_module_backward_hook = register_module_full_backward_hook       # as `Module.register_backward_hook`
