"""Jacobians, Hessians and their products with vectors, of functions from tensors to tensors.

Everything is made of `grad`: products from the left are one backward pass; products from the right two, because the
gradient is linear in the vector it starts with, and differentiating it by that vector turns the product around (the
"double backward" of J. Townsend, 2017). Only whole Jacobians and Hessians take a pass for every element of an output.
"""
from __future__ import annotations

import importlib

from ..layout import Layout
from ..tensor import Tensor, lasting
from .api import grad
from .engine import arithmetic
from .graph import GraphNode, Recorded, recording
from .modes import enable_grad, no_grad

_STACK = Recorded("stack")


# ---------------------------------------------------------------- arguments and results
def _as_tensors(value, what, function):
    """A tensor or a tuple of them as a tuple, and whether it was one already."""
    is_tuple = isinstance(value, (tuple, list))
    items = tuple(value) if is_tuple else (value,)
    for position, item in enumerate(items):
        if not isinstance(item, Tensor):
            place = f"Value at index {position} of {what}" if is_tuple else what
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the given {place} "
                            f"has type {type(item).__name__}.")
    return items, is_tuple


def _prepared(inputs, create_graph):
    """The inputs as tensors whose gradients can be asked for, apart from the caller's graph unless that is to be differentiated."""
    return tuple([x.view_as(x) if create_graph and x.node is not None else x.detach().requires_grad_() for x in inputs])


def _vector(v, others, function, who):
    """The vector of a product, checked against the tensors it stands beside; None means 1 for a single element."""
    if v is None:
        if len(others) != 1 or others[0].layout.numel != 1:
            raise RuntimeError(f"The vector v can only be None if {who} a single Tensor with a single element. ({function})")
        return (arithmetic.ones_like(others[0].detach()),)
    items, _ = _as_tensors(v, "v", function)
    if len(items) != len(others):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(others)} but got {len(items)}.")
    for position, (item, other) in enumerate(zip(items, others)):
        if item.layout.shape != other.layout.shape:
            place = f"Entry {position} in " if len(items) > 1 else ""
            raise RuntimeError(f"{place}v has invalid size: should be {other.shape} but got {item.shape}.")
    return items


def _gradients(outputs, inputs, vectors, create_graph, strict, message):
    """Gradients of the outputs that are recorded; zeros for inputs they do not depend on, or an error when `strict`."""
    recorded = [(o, v) for o, v in zip(outputs, vectors) if o.node is not None]
    gradients = grad([o for o, _ in recorded], inputs, [v for _, v in recorded], create_graph=create_graph, allow_unused=True,
                     retain_graph=True) if recorded else (None,) * len(inputs)
    out = []
    for position, (value, source) in enumerate(zip(gradients, inputs)):
        if strict and (value is None or (create_graph and value.node is None)):
            raise RuntimeError(message.format(position))
        out.append(arithmetic.zeros_like(source) if value is None else value)
    return out


def _finished(values, is_tuple, create_graph):
    values = tuple([v if create_graph else v.detach() for v in values])
    return values if is_tuple else values[0]


def _check_strict(outputs, strict, function):
    if strict:
        for position, output in enumerate(outputs):
            if output.node is None:
                raise RuntimeError(f"Output {position} of the user-provided function does not require gradients. The outputs must "
                                   f"be computed in a differentiable manner from the input when running in strict mode. "
                                   f"({function})")


def _run(func, inputs, function, strict):
    outputs, is_tuple = _as_tensors(func(*inputs), "outputs of the user-provided function", function)
    _check_strict(outputs, strict, function)
    return outputs, is_tuple


def _scalar(func, inputs, function, strict):
    outputs, _ = _run(func, inputs, function, strict)
    if len(outputs) != 1:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].layout.numel != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return outputs[0].reshape(()) if outputs[0].layout.ndim else outputs[0]


_UNUSED = "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
_UNUSED_TWICE = "The gradient of the user-provided function is independent of input {}. This is not allowed in strict mode."


# ---------------------------------------------------------------- products with a vector
def vjp(func, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """The outputs of `func` and the product of a vector with its Jacobian, v·J.

    Args:
        func: a function of tensors that returns a tensor or a tuple of them.
        inputs: its argument or a tuple of its arguments.
        v: what to multiply with, shaped as the outputs; may be None for a single element.
        create_graph: make results that can be differentiated.
        strict: raise when an output does not depend on an input, instead of giving zeros.

    Returns:
        (outputs, product), the product shaped as the inputs.

    Raises:
        RuntimeError: a vector of another shape, or independence when `strict`.

    Example:
        >>> import numtorch as torch
        >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1., 2.]), torch.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        inputs, is_tuple = _as_tensors(inputs, "inputs", "vjp")
        inputs = _prepared(inputs, create_graph)
        outputs, outputs_tuple = _run(func, inputs, "vjp", strict)
        v = _vector(v, outputs, "vjp", "the user-provided function returns")
        result = _gradients(outputs, inputs, v, create_graph, strict, _UNUSED)
    return _finished(outputs, outputs_tuple, create_graph), _finished(result, is_tuple, create_graph)


def jvp(func, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """The outputs of `func` and the product of its Jacobian with a vector, J·v.

    Args:
        func, inputs, create_graph, strict: as for `vjp`.
        v: what to multiply with, shaped as the inputs; may be None for a single element.

    Returns:
        (outputs, product), the product shaped as the outputs.

    Raises:
        RuntimeError: a vector of another shape, or independence when `strict`.

    Example:
        >>> import numtorch as torch
        >>> torch.autograd.functional.jvp(lambda x: x.sum() * 2, torch.ones(3), torch.ones(3))
        (tensor(6.), tensor(6.))
    """
    with enable_grad():
        inputs, _ = _as_tensors(inputs, "inputs", "jvp")
        v = _vector(v, inputs, "jvp", "the input to the user-provided function is")
        inputs = _prepared(inputs, create_graph)
        outputs, outputs_tuple = _run(func, inputs, "jvp", strict)
        starts = tuple([arithmetic.zeros_like(o.detach()).requires_grad_() for o in outputs])
        pulled_back = _gradients(outputs, inputs, starts, True, strict, _UNUSED)
        result = _gradients(pulled_back, starts, v, create_graph, False, _UNUSED)
    return _finished(outputs, outputs_tuple, create_graph), _finished(result, outputs_tuple, create_graph)


def vhp(func, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """The value of a scalar function and the product of a vector with its Hessian, v·H.

    Args:
        func: a function of tensors that returns a single element.
        inputs, create_graph, strict: as for `vjp`.
        v: what to multiply with, shaped as the inputs; may be None for a single element.

    Returns:
        (value, product), the product shaped as the inputs.

    Example:
        >>> import numtorch as torch
        >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        inputs, is_tuple = _as_tensors(inputs, "inputs", "vhp")
        v = _vector(v, inputs, "vhp", "the input to the user-provided function is")
        inputs = _prepared(inputs, create_graph)
        output = _scalar(func, inputs, "vhp", strict)
        first = _gradients((output,), inputs, (arithmetic.ones_like(output.detach()),), True, strict, _UNUSED)
        result = _gradients(first, inputs, v, create_graph, strict, _UNUSED_TWICE)
    return _finished((output,), False, create_graph), _finished(result, is_tuple, create_graph)


def hvp(func, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """The value of a scalar function and the product of its Hessian with a vector, H·v.

    `vhp` gives the same numbers for functions whose second derivatives are continuous, in one backward pass less.

    Args:
        func, inputs, v, create_graph, strict: as for `vhp`.

    Returns:
        (value, product), the product shaped as the inputs.

    Example:
        >>> import numtorch as torch
        >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        inputs, is_tuple = _as_tensors(inputs, "inputs", "hvp")
        v = _vector(v, inputs, "hvp", "the input to the user-provided function is")
        inputs = _prepared(inputs, create_graph)
        output = _scalar(func, inputs, "hvp", strict)
        first = _gradients((output,), inputs, (arithmetic.ones_like(output.detach()),), True, strict, _UNUSED)
        starts = tuple([arithmetic.zeros_like(x.detach()).requires_grad_() for x in inputs])
        pulled_back = _gradients(first, inputs, starts, True, strict, _UNUSED_TWICE)
        result = _gradients(pulled_back, starts, v, create_graph, False, _UNUSED)
    return _finished((output,), False, create_graph), _finished(result, is_tuple, create_graph)


# ---------------------------------------------------------------- whole matrices
def _stack(rows, shape, like):
    """Tensors of one shape as one tensor of shape `(len(rows), *shape)`."""
    out = lasting(Layout.of(like.layout.dtype, (len(rows), *shape), None, like.layout.device))
    with no_grad():
        for position, row in enumerate(rows):
            out.select(0, position).copy_(row)
    if recording(*rows):
        out.node = GraphNode(_STACK, tuple([row.node for row in rows]), ())
    return out


@_STACK.derivative
def _stack_vjp(node, grad):
    return tuple([grad.select(0, i) if node.needs(i) else None for i in range(len(node.edges))])


def _rows(output, inputs, create_graph, strict):
    """For each input, the Jacobian of one output: shape `(*output.shape, *input.shape)`."""
    count = output.layout.numel
    rows = [[] for _ in inputs]
    for position in range(count):
        start = arithmetic.zeros_like(output.detach())
        if not start.layout.contiguous:
            start = start.contiguous()
        with no_grad():
            start.view(-1).select(0, position).fill_(1)
        for kept, value in zip(rows, _gradients((output,), inputs, (start,), create_graph, strict, _UNUSED)):
            kept.append(value)
    return [_stack(r, x.layout.shape, x).reshape((*output.layout.shape, *x.layout.shape)) for r, x in zip(rows, inputs)]


def jacobian(func, inputs, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
             strategy: str = "reverse-mode"):
    """The Jacobian of a function.

    Args:
        func: a function of tensors that returns a tensor or a tuple of them.
        inputs: its argument or a tuple of its arguments.
        create_graph: make a result that can be differentiated.
        strict: raise when an output does not depend on an input, instead of giving zeros.
        vectorize: accepted; rows are computed one after another either way in reverse mode.
        strategy: "reverse-mode", a row for each element of the outputs, or with `vectorize` "forward-mode", a column for each of
            the inputs, all of them in one call: for functions of few numbers.

    Returns:
        For one input and one output a tensor of shape `(*output.shape, *input.shape)`; for several inputs a tuple of those;
        for several outputs a tuple, over outputs, of that.

    Raises:
        RuntimeError: independence when `strict`, which forward mode does not know.
        NotImplementedError: forward mode without `vectorize`.

    Example:
        >>> import numtorch as torch
        >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1., 2.]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(f'jacobian: expected strategy="reverse-mode" or "forward-mode", got "{strategy}"')
    with enable_grad():
        inputs, is_tuple = _as_tensors(inputs, "inputs", "jacobian")
        inputs = _prepared(inputs, create_graph)
        if strategy == "forward-mode":
            return _forward(func, inputs, is_tuple, create_graph, strict, vectorize)
        outputs, outputs_tuple = _run(func, inputs, "jacobian", strict)
        result = tuple([_finished(_rows(o, inputs, create_graph, strict), is_tuple, create_graph) for o in outputs])
    return result if outputs_tuple else result[0]


def _forward(func, inputs, is_tuple, create_graph, strict, vectorize):
    """`jacobian` in forward mode, which is that of torch.func."""
    if strict:
        raise RuntimeError('torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
                           'together')
    if not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian is "
                                  "only implemented for `vectorize=True`.")
    found = importlib.import_module("numtorch.func").jacfwd(func, tuple(range(len(inputs))))(*inputs)
    if isinstance(found[0], tuple):
        return tuple([_finished(row, is_tuple, create_graph) for row in found])
    return _finished(found, is_tuple, create_graph)


def hessian(func, inputs, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode"):
    """The Hessian of a function that returns a single number.

    Args:
        func: a function of tensors that returns a single element.
        inputs, create_graph, strict, vectorize: as for `jacobian`.
        outer_jacobian_strategy: that of the Jacobian of the gradient, as for `jacobian`.

    Returns:
        For one input a tensor of shape `(*input.shape, *input.shape)`; for several a tuple of tuples, block (i, j) of shape
        `(*inputs[i].shape, *inputs[j].shape)`.

    Example:
        >>> import numtorch as torch
        >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    inputs, is_tuple = _as_tensors(inputs, "inputs", "hessian")

    def first(*points):
        output = _scalar(func, points, "hessian", strict)
        return tuple(_gradients((output,), points, (arithmetic.ones_like(output.detach()),), True, strict, _UNUSED))

    if outer_jacobian_strategy == "forward-mode":
        first = importlib.import_module("numtorch.func").grad(func, tuple(range(len(inputs))))
    result = jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return result if is_tuple else result[0][0]


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
