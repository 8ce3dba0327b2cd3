"""What users call: `backward`, `grad`, and the gradient side of Tensor (requires_grad, grad, hooks)."""
from __future__ import annotations

import warnings
import weakref

from ..exchange.values import tape
from ..layout import Size
from ..tensor import Tensor
from . import engine
from .engine import arithmetic, run_backward
from .graph import Leaf, Output, add_hook, extras_of
from .graphtools import GradientEdge, ones_at, place_of
from .hooks import HookTable
from .modes import modes
from .nodenames import named


def _as_tuple(value, name, kinds=(Tensor, GradientEdge)):
    if isinstance(value, kinds):
        return (value,)
    if value is None:
        return ()
    try:
        items = tuple(value)
    except TypeError:
        raise TypeError(f"{name}: expected a Tensor or a sequence of Tensors, got {type(value).__name__}") from None
    for item in items:
        if item is not None and not isinstance(item, kinds):
            raise TypeError(f"{name}: expected Tensors, got {type(item).__name__}")
    return items


def _root_gradients(tensors, grads):
    """A gradient for every root, tensor or edge: the given ones checked, and ones for scalars."""
    grads = grads or (None,) * len(tensors)
    if len(grads) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grads)} gradients")
    out = []
    for tensor, grad in zip(tensors, grads):
        layout = place_of(tensor)[1]
        if grad is None:
            if layout is None or layout.numel != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if not layout.dtype.is_floating_point:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {layout.dtype}")
            grad = ones_at(tensor, layout)
        elif layout is None:
            pass
        elif grad.layout.shape != layout.shape:
            raise RuntimeError(f"Mismatch in shape: grad_output[{len(out)}] has a shape of {grad.shape} and output[{len(out)}] has "
                               f"a shape of {Size(layout.shape)}.")
        elif grad.layout.dtype.is_complex != layout.dtype.is_complex:
            raise RuntimeError(f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                               f"dtype: grad_output has a dtype of {grad.layout.dtype} and output has a dtype of {layout.dtype}.")
        elif grad.layout.device is not layout.device:
            if grad.layout.ndim:
                raise RuntimeError(f"invalid gradient at index {len(out)} - expected device {layout.device} but got "
                                   f"{grad.layout.device}")
            grad = grad.to(layout.device)                # a number goes along
        if layout is not None and grad.layout.dtype is not layout.dtype:
            grad = grad.to(layout.dtype)
        out.append(grad)
    return out


def _roots(tensors):
    nodes = []
    for index, tensor in enumerate(tensors):
        node, _ = place_of(tensor)
        if node is None:
            raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
        nodes.append(node)
    return nodes


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph: bool = False, inputs=None) -> None:
    """Add the gradients of `tensors` with respect to the graph's leaves to their `.grad`.

    Args:
        tensors: one or more results, or edges of the graph (`torch.autograd.graph.get_gradient_edge`).
        grad_tensors: the gradient to start each with; may be None for scalars (then 1).
        retain_graph: keep the graph for another backward; by default only with `create_graph`.
        create_graph: record the computation of the gradients, so that they can be differentiated in turn.
        inputs: only these leaves, tensors or edges, receive gradients; all when None.

    Raises:
        RuntimeError: a tensor that requires no grad, a missing gradient for a non-scalar, a second backward through a
            freed graph, or a saved tensor that was changed in place.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> torch.autograd.backward(x * x, torch.tensor([1., 10.]))
        >>> x.grad
        tensor([ 2., 40.])
    """
    if modes.inference:
        raise RuntimeError("backward: not possible inside inference_mode, where nothing is recorded")
    tensors = _as_tuple(tensors, "backward")
    grads = _as_tuple(grad_tensors, "backward", Tensor) if grad_tensors is not None else None
    if inputs is not None:
        inputs = _as_tuple(inputs, "backward")
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        for tensor in inputs:
            if isinstance(tensor, Tensor):
                _retain_grad(tensor)                     # one that is not a leaf keeps its gradient too
    wanted = None if inputs is None else {place_of(t)[0] for t in inputs}
    nodes, grads = _roots(tensors), _root_gradients(tensors, grads)
    if create_graph:
        _warn_of_cycles()
    run_backward(nodes, grads, create_graph if retain_graph is None else retain_graph, create_graph, wanted)


def _warn_of_cycles():
    warnings.warn("Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
                  "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
                  "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
                  "the cycle and avoid the leak.", UserWarning, stacklevel=3)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph: bool = False, only_inputs: bool = True,
         allow_unused=None, is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple:
    """The gradients of `outputs` with respect to `inputs`, without touching any `.grad`.

    Args:
        outputs, inputs: one tensor or several, or edges of the graph (`torch.autograd.graph.get_gradient_edge`).
        grad_outputs: gradients to start with, as for `backward`.
        retain_graph: keep the graph for another backward; by default only with `create_graph`.
        create_graph: record the computation of the gradients, so that they can be differentiated in turn.
        only_inputs: taken for PyTorch's sake; only gradients of the inputs are computed.
        allow_unused: give None for inputs that the outputs do not depend on, instead of raising.
        is_grads_batched: the first dimension of each of `grad_outputs` counts gradients to start with, and of each result
            the gradients they give.
        materialize_grads: give zeros for inputs that the outputs do not depend on.

    Returns:
        A gradient for each input.

    Raises:
        RuntimeError: an input requires no grad, or was not used; there are no inputs; zeros for an edge.
        ValueError: `materialize_grads` with `allow_unused=False`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> torch.autograd.grad(x * x, x)
        (tensor(6.),)
    """
    outputs, inputs = _as_tuple(outputs, "grad"), _as_tuple(inputs, "grad")
    if is_grads_batched:
        return _grad_by_rows(outputs, inputs, _as_tuple(grad_outputs, "grad", Tensor), retain_graph, create_graph, allow_unused,
                             materialize_grads)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    ends = [place_of(each)[0] for each in inputs]
    if None in ends:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    nodes = _roots(outputs)
    starts = _root_gradients(outputs, None if grad_outputs is None else _as_tuple(grad_outputs, "grad", Tensor))
    by_ops = False                                       # where a tensor takes part in a transform, which kernels know nothing of
    for t in (*outputs, *starts):
        by_ops = by_ops or (type(t) is not GradientEdge and t.layout.transformed)
    gradients = run_backward(nodes, starts, by_ops or (create_graph if retain_graph is None else retain_graph),
                             create_graph or by_ops, set(ends), accumulating=False)
    result = []
    for tensor, node in zip(inputs, ends):
        value = gradients.get(node)
        if value is None:
            if materialize_grads:
                if isinstance(tensor, GradientEdge):
                    raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
                value = arithmetic.zeros_like(tensor).requires_grad_(create_graph)
            elif not allow_unused:
                raise RuntimeError(f"The differentiated Tensor at index {len(result)} appears to not have been used in the graph. "
                                   f"Set allow_unused=True if this is the desired behavior.")
        elif grad_outputs is None and node in nodes:
            value = arithmetic.clone(value)              # the ones that backward starts with are kept for the next one
        elif not create_graph and (by_ops or modes.by_ops is not None):  # it was recorded, for a transform or for a trace
            value = arithmetic.without_graph(value) if by_ops else value.detach()
        result.append(value)
    return tuple(arithmetic.with_tangents(result, outputs, inputs, starts, create_graph) if by_ops else result)


def partial_gradients(outputs, inputs, grad_outputs, create_graph: bool = False) -> list:
    """Gradients of `outputs` with respect to inputs that count as independent of each other, though some were computed from others.
    The graph stays.

    Args:
        outputs, inputs: tensors.
        grad_outputs: gradients to start with.
        create_graph: record the computation of the gradients.

    Returns:
        A gradient for each input, or None where the outputs do not depend on it.
    """
    gradients = run_backward(_roots(outputs), _root_gradients(outputs, tuple(grad_outputs)), True, create_graph,
                             {t.node for t in inputs}, accumulating=False, beyond=False)
    return [gradients.get(tensor.node) for tensor in inputs]


def _grad_by_rows(outputs, inputs, grads, retain_graph, create_graph, allow_unused, materialize_grads):
    """`grad` for each row of the gradients to start with."""
    counts = {g.layout.shape[0] for g in grads if g is not None and g.layout.ndim}
    if len(counts) != 1 or any(g is not None and not g.layout.ndim for g in grads):
        raise RuntimeError(f"grad: with is_grads_batched, expected grad_outputs of one first dimension, got shapes "
                           f"{[None if g is None else list(g.layout.shape) for g in grads]}")
    count, retain = counts.pop(), create_graph if retain_graph is None else retain_graph
    gradients = [grad(outputs, inputs, [None if g is None else g[i] for g in grads], retain or i + 1 < count, create_graph,
                      allow_unused=allow_unused, materialize_grads=materialize_grads) for i in range(count)]
    return tuple([None if rows[0] is None else arithmetic.stack(rows) for rows in zip(*gradients)])


# ---------------------------------------------------------------- Tensor's side of it
def _backward(self, gradient=None, retain_graph=None, create_graph: bool = False, inputs=None) -> None:
    """Compute the gradients of this tensor with respect to the graph's leaves and add them to their `.grad`.

    Args:
        gradient: what to start with; may be left out for a scalar.
        retain_graph: keep the graph for another backward; by default only with `create_graph`.
        create_graph: record the computation, so that gradients can be differentiated.
        inputs: the leaves to compute for; all when None.

    Raises:
        RuntimeError: this tensor requires no grad, `gradient` is missing for a non-scalar, the graph was freed by an earlier
            backward, or a saved tensor was changed in place.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
    """
    node = self.node
    if gradient is None and inputs is None and node is not None and self.layout.numel == 1 \
            and self.layout.dtype.is_floating_point and not modes.inference:
        if create_graph:
            _warn_of_cycles()
        run_backward((node,), (arithmetic.ones_like(self),), create_graph if retain_graph is None else retain_graph, create_graph)
        return
    gradients = None if gradient is None else gradient if isinstance(gradient, (tuple, list)) else (gradient,)
    backward((self,), gradients, retain_graph, create_graph, inputs)


def _requires_grad(self) -> bool:
    """Whether what is computed from this tensor is recorded. May be set, as `requires_grad_` does.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> x.requires_grad, (x * 2).requires_grad, x.detach().requires_grad
        (True, True, False)
    """
    return self.node is not None


def _set_requires_grad(self, value):
    if value is not True and value is not False:
        raise RuntimeError("requires_grad must be a bool")
    _requires_grad_(self, value)


def _requires_grad_(self, requires_grad: bool = True) -> Tensor:
    """Start (or stop) recording what is computed from this tensor, and return it.

    Args:
        requires_grad: False to stop.

    Raises:
        TypeError: neither True nor False.
        RuntimeError: not a floating-point or complex tensor, or one that has a history.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2.]).requires_grad_()
        tensor([1., 2.], requires_grad=True)
    """
    if requires_grad is not True and requires_grad is not False:
        raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type(requires_grad).__name__}")
    node = self.node
    if requires_grad:
        if self.layout.dtype.category < 2:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if node is None:
            if self.memory.inference and not modes.inference:
                raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
            self.node = Leaf(self)
            if self._views is not None:
                arithmetic.start_views(self)
            stored = self.__dict__.pop("_stored_grad", None)
            if stored is not None:
                self.node.grad = stored
    elif node is not None:
        if type(node) is not Leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                               "in a subgraph that doesn't require differentiation use var_no_grad = var.detach().")
        if node.grad is not None:
            self._stored_grad = node.grad
        self.node = None
        if self._views is not None:
            arithmetic.stop_views(node, self)
    return self


def _is_leaf(self) -> bool:
    """Whether this tensor is where the graph begins: made by the user, or not recorded at all.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> x.is_leaf, (x * 2).is_leaf
        (True, False)
    """
    return self.node is None or type(self.node) is Leaf


def _grad_fn(self):
    """The node of the call that made this tensor; None for leaves.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> x.grad_fn, x.exp().grad_fn.name()
        (None, 'ExpBackward0')
    """
    node = self.node
    if node is None or type(node) is Leaf:
        return None
    return named(node.edges[0] if type(node) is Output else node)


def _output_nr(self) -> int:
    """Which output of its node this tensor is.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([3., 1.], requires_grad=True)
        >>> [part.output_nr for part in x.unbind()]
        [0, 1]
    """
    return self.node.index if type(self.node) is Output else 0


def _get_grad(self) -> Tensor | None:
    """The gradient that backward left here, or None. May be set to a tensor of this one's shape, dtype and device.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
    """
    node = self.node
    if type(node) is Leaf:
        return node.grad
    stored = self._stored_grad
    if stored is None and node is not None and (node.extras is None or node.extras.retained is None):
        warnings.warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                      "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                      "Tensor, use .retain_grad() on the non-leaf Tensor.", UserWarning, stacklevel=3)
    return stored


def _set_grad(self, value):
    if value is not None:
        if not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if value.layout.shape != self.layout.shape:
            raise RuntimeError(f"attempting to assign a gradient of size '{list(value.layout.shape)}' to a tensor of size "
                               f"'{list(self.layout.shape)}'. Please ensure that the gradient and the tensor are the same size")
        if value.layout.dtype is not self.layout.dtype or value.layout.device is not self.layout.device:
            raise RuntimeError(f"attempting to assign a gradient of {value.layout.dtype} on {value.layout.device} to a tensor of "
                               f"{self.layout.dtype} on {self.layout.device}. Please ensure that they are the same")
    if type(self.node) is Leaf:
        self.node.grad = value
    else:
        self._stored_grad = value


def _retain_grad(self) -> None:
    """Keep this tensor's gradient in `.grad` although it is not a leaf.

    Raises:
        RuntimeError: this tensor does not require grad.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> y = x * x
        >>> y.retain_grad()
        >>> (2 * y).backward()
        >>> y.grad
        tensor(2.)
    """
    if self.node is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if type(self.node) is not Leaf:
        extras_of(self.node).retained = weakref.ref(self)


def _retains_grad(self) -> bool:
    """Whether this tensor keeps its gradient though it is not a leaf.

    Example:
        >>> import numtorch as torch
        >>> y = torch.tensor(3., requires_grad=True) * 2
        >>> before = y.retains_grad
        >>> y.retain_grad()
        >>> before, y.retains_grad
        (False, True)
    """
    node = self.node
    return node is not None and type(node) is not Leaf and node.extras is not None and node.extras.retained is not None


def _register_hook(self, hook):
    """Have `hook(grad)` called as soon as this tensor's gradient is known; it may return a replacement.

    Args:
        hook: a function of the gradient.

    Returns:
        A handle whose `remove()` takes the hook off.

    Raises:
        RuntimeError: this tensor does not require grad.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> (x * x).backward()
        >>> x.grad
        tensor(60.)
    """
    if self.node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return add_hook(self.node, hook)


def _register_post_accumulate_grad_hook(self, hook):
    """Have `hook(tensor)` called after a gradient has been added to this leaf's `.grad`.

    Args:
        hook: a function of this tensor.

    Returns:
        A handle whose `remove()` takes the hook off.

    Raises:
        RuntimeError: this tensor is no leaf, or does not require grad.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> (x * x).backward()
        tensor(6.)
    """
    if type(self.node) is not Leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors" if self.node is not None
                           else "cannot register a hook on a tensor that doesn't require gradient")
    if self.node.post_hooks is None:
        self.node.post_hooks = HookTable()
    return self.node.post_hooks.add(hook)


def _is_view(self) -> bool:
    """Whether this tensor is known to be a view of another."""
    return self._base is not None


for _method in (_backward, _requires_grad_, _retain_grad, _register_hook, _register_post_accumulate_grad_hook):
    _method.__name__ = _method.__name__[1:]
    _method.__qualname__ = f"Tensor.{_method.__name__}"
tape.records = modes.records
Tensor.backward = _backward
Tensor.requires_grad = property(_requires_grad, _set_requires_grad)
Tensor.requires_grad_ = _requires_grad_
Tensor.is_leaf = property(_is_leaf)
Tensor.grad_fn = property(_grad_fn)
Tensor.output_nr = property(_output_nr)
Tensor.grad = property(_get_grad, _set_grad, lambda self: _set_grad(self, None))
Tensor._grad = Tensor.grad                               # type: ignore[attr-defined]
Tensor.retain_grad = _retain_grad
Tensor.retains_grad = property(_retains_grad)
Tensor.register_hook = _register_hook
Tensor.register_post_accumulate_grad_hook = _register_post_accumulate_grad_hook
Tensor._is_view = _is_view

__all__ = ["backward", "engine", "grad"]
