"""Derivatives of functions backward: `grad`, `vjp`.

A function is run on variables (variables.py), and a gradient is asked for these. Whether the derivative is recorded in turn is
seen in the graph: whether it leads on to anything but the variables.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.modes import enable_grad, modes
from ..ops.creation.fill import ones_like
from ..ops.memory.detach import detach
from ..tensor import Tensor
from ..tree import flatten, map_tensors, shown, unflatten
from .variables import end, gradients, leads_on, places, variable, without_graph


# ---------------------------------------------------------------- arguments
def chosen(args, argnums):
    """The arguments that a derivative is taken of: one, or a tuple of several."""
    if isinstance(argnums, bool) or not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    return args[_place(argnums, args)] if isinstance(argnums, int) else tuple([args[i] for i in several(argnums, args)])


def several(argnums, args):
    """Places of arguments, checked and counted from the front."""
    if isinstance(argnums, int):
        return (_place(argnums, args),)
    if not argnums or not all(type(i) is int for i in argnums):
        raise RuntimeError(f"argnums must be non-empty and of ints, got: {argnums}")
    if len(set(argnums)) != len(argnums):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple([_place(i, args) for i in argnums])


def _place(i, args):
    if not -len(args) <= i < len(args):
        raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
    return i % len(args)


def replaced(args, argnums, new):
    """The arguments with those that a derivative is taken of replaced."""
    args = list(args)
    for place, value in zip(several(argnums, args), (new,) if isinstance(argnums, int) else new):
        args[place] = value
    return tuple(args)


# ---------------------------------------------------------------- a run of the function
class Recording:
    """A function run on variables.

    Args:
        func: the function.
        args, kwargs: its arguments.
        argnums: those that gradients are wanted of.
        title: whose call it is, for messages.
        has_aux: whether the function returns a pair, of which the second is not differentiated.

    Attributes:
        output, aux: what it returned.
    """

    def __init__(self, func, args, kwargs, argnums, has_aux, title):
        self.outer = modes.grad                          # a derivative asked for inside no_grad is not recorded
        wanted = chosen(args, argnums)
        leaves, self.form = flatten(wanted)
        with enable_grad():
            self.variables = [self._variable(leaf) for leaf in leaves]
            self.output = func(*replaced(args, argnums, unflatten(self.variables, self.form)), **kwargs)
        end(self.variables)
        self.aux = None
        if has_aux:
            if not (isinstance(self.output, tuple) and len(self.output) == 2):
                raise RuntimeError(f"{title}: output of function f should be a tuple: (output, aux) if has_aux is True")
            self.output, self.aux = self.output

    def _variable(self, leaf):
        if not isinstance(leaf, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
        return variable(leaf, self.outer)

    def gradients(self, outputs, grads):
        """The gradients of the arguments, shaped as these."""
        create = self.outer and modes.grad and leads_on(places([*outputs, *grads]), self.variables)
        with enable_grad():
            return unflatten(gradients(outputs, self.variables, grads, create), self.form)

    def given_out(self, results):
        """Results as they leave the transform: without the graph, where it leads to nothing but the variables."""
        return map_tensors(lambda t: t if self.outer and leads_on(places([t]), self.variables) else without_graph(t), results)


# ---------------------------------------------------------------- grad
def grad(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that computes the gradient of `func`, which returns one number. It can be differentiated and mapped in turn.

    Args:
        func: a function of tensors that returns a tensor without dimensions.
        argnums: the place of the argument the gradient is of, or a tuple of places. Arguments may be structures of tensors.
        has_aux: whether `func` returns a pair, of which the second is passed on.

    Returns:
        The function: it returns the gradient, shaped as the argument, or a tuple of them; with `has_aux` a pair of that and the
        rest.

    Raises:
        RuntimeError: `func` returns something else, or `argnums` names no arguments.

    Example:
        >>> import numtorch as torch
        >>> cube = lambda x: x ** 3
        >>> torch.func.grad(torch.func.grad(cube))(torch.tensor(2.))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def gradient(*args, **kwargs):
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients
    return gradient


def grad_and_value(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that computes the gradient of `func` and its value: `grad` that returns pairs.

    Args:
        func, argnums, has_aux: as for `grad`.

    Returns:
        The function: it returns (gradient, value), with `has_aux` (gradient, (value, rest)).

    Example:
        >>> import numtorch as torch
        >>> torch.func.grad_and_value(torch.sin)(torch.tensor(0.))
        (tensor(1.), tensor(0.))
    """
    @functools.wraps(func, updated=())
    def both(*args, **kwargs):
        title = "grad_and_value(f)(*args)"
        run = Recording(func, args, kwargs, argnums, has_aux, title)
        value = run.output
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{title}: Expected f(*args) to return a Tensor, got {type(value)}")
        if value.layout.ndim:
            raise RuntimeError(f"{title}: Expected f(*args) to return a scalar Tensor, got tensor with {value.layout.ndim} dims. "
                               f"Maybe you "
                               f"wanted to use the vjp or jacrev APIs instead?")
        result = run.gradients([value], [ones_like(detach(value))])
        return result, run.given_out((value, run.aux) if has_aux else value)
    return both


# ---------------------------------------------------------------- vjp
def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value of `func`, and a function that multiplies a vector by its Jacobian from the left.

    Args:
        func: a function of tensors that returns a tensor, or a structure of them.
        primals: its arguments.
        has_aux: whether `func` returns a pair, of which the second is passed on.

    Returns:
        (value, vjp_fn), with `has_aux` (value, vjp_fn, rest). `vjp_fn(cotangents)` takes what is shaped as the value, and returns a
        tuple of a gradient for each argument.

    Raises:
        RuntimeError: `func` returns what is no tensor of floats, or `cotangents` is not shaped as its value.

    Example:
        >>> import numtorch as torch
        >>> value, vjp_fn = torch.func.vjp(torch.sin, torch.zeros(2))
        >>> vjp_fn(torch.tensor([1., 2.]))
        (tensor([1., 2.]),)
    """
    value, vjp_fn, aux = vjp_of(func, primals, tuple(range(len(primals))), has_aux)
    return (value, vjp_fn, aux) if has_aux else (value, vjp_fn)


def vjp_of(func, primals, argnums, has_aux):
    """`vjp` for some of the arguments: (value, vjp_fn, rest)."""
    title = "vjp(f, *primals)"
    run = Recording(func, primals, {}, argnums, has_aux, title)
    outputs, form = flatten(run.output)
    check_results(outputs, title)
    for output in outputs:
        if output.layout.dtype.category < 2:
            raise RuntimeError(f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                               f"{output.layout.dtype}")

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        given, given_form = flatten(cotangents)
        if given_form != form:
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                               f"function. "
                               f"cotangents: {shown(given_form)}, primal output: {shown(form)}")
        return run.gradients(outputs, given)
    return run.given_out(run.output), vjp_fn, run.given_out(run.aux)


def check_results(results, title):
    """Raise RuntimeError where a function returned nothing, or what is no tensor."""
    if not results or (len(results) == 1 and results[0] is None):
        raise RuntimeError(f"{title}: Expected f to be a function that has non-empty output (got output = {results})")
    for result in results:
        if not isinstance(result, Tensor):
            raise RuntimeError(f"{title}: expected f(*primals) to return only tensors, got unsupported type {type(result)}")
