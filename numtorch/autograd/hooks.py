"""Tables of hooks, and the handles that take hooks off. Who calls them is in `engine.py`."""
from __future__ import annotations

import weakref


class NodeHook:
    """Marks a hook that wants gradients of inputs and outputs, run after backward."""

    __slots__ = ("function",)

    def __init__(self, function) -> None:
        self.function = function


class PreHook(NodeHook):
    """Marks a hook that wants the gradients of a node's outputs, run before the node's backward."""

    __slots__ = ()

    def replaced(self, grad):
        """What the hook makes of a gradient, or of a list of them where the node has several outputs; None where it stays."""
        replaced = self.function(tuple(grad) if isinstance(grad, list) else (grad,))
        if isinstance(grad, list):
            return None if replaced is None else list(replaced)
        return replaced[0] if isinstance(replaced, tuple) else replaced


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook off; as a context manager, on leaving.

    Args:
        hooks: the table that the hook is in.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> with x.register_hook(lambda grad: grad * 10):
        ...     (x * x).backward()
        >>> (x * x).backward()
        >>> x.grad
        tensor(66.)
    """

    _next_id = 0

    def __init__(self, hooks) -> None:
        self._hooks = weakref.ref(hooks) if isinstance(hooks, HookTable) else lambda: hooks
        self.id = RemovableHandle._next_id
        RemovableHandle._next_id += 1

    def remove(self) -> None:
        """Take the hook off.

        Example:
            >>> import numtorch as torch
            >>> x = torch.tensor(3., requires_grad=True)
            >>> x.register_hook(lambda grad: grad * 10).remove()
            >>> (x * x).backward()
            >>> x.grad
            tensor(6.)
        """
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


class HookTable(dict):
    """Hooks by the number of their handle, in the order they were registered."""

    __slots__ = ("__weakref__",)

    def add(self, hook) -> RemovableHandle:
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle
