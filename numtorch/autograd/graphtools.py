"""What `torch.autograd.graph` has for users: places in the graph, hooks on several gradients, and saved tensors kept elsewhere.

They are entered into `graph`, where PyTorch's users look for them.
"""
from __future__ import annotations

import threading
from collections import namedtuple

from ..storage import new_storage
from ..tensor import Tensor, wrap
from . import graph, writes
from .engine import arithmetic
from .hooks import RemovableHandle
from .modes import modes, saved_tensors_hooks

__all__ = ["GradientEdge", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
           "increment_version", "register_multi_grad_hook", "save_on_cpu"]

GradientEdge = namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=[None])
GradientEdge.__doc__ = """A place in the graph, as `get_gradient_edge` gives it.

    Args:
        node: of the graph.
        output_nr: which of its outputs.
        ownership_token: the tape's own place, and the layout of the tensor there; None in an edge that a program makes of a node
            and a number, which `grad` takes as an output, and as an input where the node has one output.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([3., 1.], requires_grad=True)
        >>> torch.autograd.graph.get_gradient_edge(x.unbind()[1]).output_nr
        1
    """


def get_gradient_edge(tensor) -> GradientEdge:
    """Where a tensor stands in the graph: what `backward` and `grad` take in place of a tensor, which need not live on.

    Args:
        tensor: one that requires grad.

    Returns:
        (node, output_nr, ownership_token).

    Raises:
        RuntimeError: the tensor does not require grad.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> torch.autograd.graph.get_gradient_edge(x * x).node.name()
        'MulBackward0'
    """
    if tensor.node is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, token = tensor.node, (tensor.node, tensor.layout)
    if type(node) is graph.Output:
        return GradientEdge(graph.named(node.edges[0]), node.index, token)
    return GradientEdge(graph.named(node), 0, token)


def place_of(end):
    """Where a tensor or an edge stands in the graph, as the tape knows it, and the layout there; None where it is not known."""
    if not isinstance(end, GradientEdge):
        return end.node, end.layout
    node, number, token = end
    if token is not None:
        return token
    if node.outputs > 1:
        return graph.Output(node, number), None
    return node, node.layout if type(node) is graph.Leaf else node.result_layout()


def ones_at(end, layout):
    """Ones for a number at the end of the graph where backward begins. Of an edge the tensor may be gone."""
    if not isinstance(end, Tensor):
        storage = new_storage(layout.nbytes, layout.device)
        end = wrap(storage, storage.address, layout)
    return arithmetic.ones_like(end)


def increment_version(tensor) -> None:
    """Count a write that the tape did not see, so that a backward that needs what was there before raises.

    Args:
        tensor: the tensor that was written to, or several.

    Raises:
        RuntimeError: an inference tensor, outside the mode.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3.)
        >>> torch.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for each in (tensor,) if hasattr(tensor, "memory") else tensor:
        writes.mark_written(each.memory, "increment_version")


class save_on_cpu(saved_tensors_hooks):
    """Inside, what backward needs is kept in host memory, and comes back to its device for backward.

    Args:
        pin_memory: asks for page-locked memory; without a GPU it changes nothing.
        device_type: taken for PyTorch's sake; tensors of any device are kept there.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.save_on_cpu():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda packed: packed[1].to(packed[0]))


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Inside, tensors that backward needs may be written to: what is saved is a copy. PyTorch copies when a write comes; here every
    saved tensor is copied at once, which takes the memory in any case, and backward may also run outside.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x.exp()
        ...     z = y.sin().sum()
        ...     _ = y.mul_(0)
        ...     z.backward()
        >>> x.grad
        tensor([-2.4783, -2.4783])
    """

    _inside = threading.local()

    def __init__(self) -> None:
        super().__init__(lambda tensor: tensor.detach().clone(), lambda kept: kept)

    def __enter__(self):
        if getattr(self._inside, "entered", False):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        self._inside.entered = True
        return self

    def __exit__(self, *exception):
        self._inside.entered = False
        super().__exit__(*exception)


class disable_saved_tensors_hooks:
    """Inside, setting saved-tensor hooks raises RuntimeError with a message of the user's.

    Args:
        error_message: what to say.

    Raises:
        RuntimeError: hooks are set already.

    Example:
        >>> import numtorch as torch
        >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        ...     try:
        ...         with torch.autograd.graph.save_on_cpu():
        ...             pass
        ...     except RuntimeError as error:
        ...         print(error)
        not here
    """

    def __init__(self, error_message: str) -> None:
        self.message, self._before = error_message, []

    def __enter__(self):
        if modes.saved_hooks:
            raise RuntimeError(self.message)
        self._before.append(modes.no_hooks)
        modes.no_hooks = self.message
        return self

    def __exit__(self, *exception):
        modes.no_hooks = self._before.pop()


class _Gathered:
    """The gradients of several tensors as they come in one backward: given away when they are all there, or at its end."""

    def __init__(self, count, function) -> None:
        self.function, self.grads, self.missing = function, [None] * count, count

    @staticmethod
    def of_this_backward(count, function):
        """The one that waits at the end of the backward that runs, and whether it is new."""
        if type(modes.backward) is not list:
            modes.backward = [modes.backward]
        for each in modes.backward[1:]:
            if each.function is function:
                return each, False
        modes.backward.append(_Gathered(count, function))
        return modes.backward[-1], True

    def take(self, position, grad):
        self.grads[position] = grad
        self.missing -= 1
        if not self.missing:
            self()

    def __call__(self):
        grads, self.grads = self.grads, None
        if grads is not None:
            self.function(grads)


class _Handles(RemovableHandle):
    def __init__(self, handles) -> None:
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(tensors, fn, *, mode: str = "all") -> RemovableHandle:
    """Have a function called with the gradients of several tensors, or with the first of them that comes.

    Args:
        tensors: they require grad.
        fn: `fn(grads)`, called when the gradients of all of them have come, and at the end of a backward that reached only some,
            with None for the others; with mode "any" `fn(grad)`, once a backward.
        mode: "all" or "any".

    Returns:
        A handle whose `remove()` takes the hook off.

    Raises:
        ValueError: another mode.

    Example:
        >>> import numtorch as torch
        >>> x, y = torch.tensor(3., requires_grad=True), torch.tensor(2., requires_grad=True)
        >>> handle = torch.autograd.graph.register_multi_grad_hook((x, y), print)
        >>> (x * y).backward()
        [tensor(2.), tensor(3.)]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)

    def give(grads):
        """A function of this registration's own: `fn` may be registered twice."""
        if mode == "all":
            fn(grads)

    def hook_of(position):
        def hook(grad):
            gathered, first = _Gathered.of_this_backward(len(tensors), give)
            if first and mode == "any":
                fn(grad)
            gathered.take(position, grad)
        return hook
    return _Handles(tensor.register_hook(hook_of(position)) for position, tensor in enumerate(tensors))


for _name in __all__:
    setattr(graph, _name, globals()[_name])
