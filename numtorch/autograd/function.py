"""`Function`: an operation whose forward and backward the user writes in Python."""
from __future__ import annotations

import functools
import inspect

from ..tensor import Tensor, view_of
from .engine import arithmetic
from .graph import GraphNode, Node, Output, Recorded, extras_of, freed_error, rebuild_result, restore, save, save_result
from .modes import modes, no_grad
from .writes import mark_written, note_view, source_line

_ONCE_DIFFERENTIABLE = Recorded("once_differentiable")


class FunctionCtx(Node):
    """What `forward` and `backward` of a `Function` share, and the node in the graph.

    Attributes:
        needs_input_grad: for each argument of `apply`, whether it is a tensor that requires grad.
        saved_tensors: what `save_for_backward` kept.

    Example:
        >>> import numtorch as torch
        >>> class Scale(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x, factor):
        ...         ctx.factor = factor
        ...         return x * factor
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * ctx.factor, None
        >>> x = torch.tensor(3., requires_grad=True)
        >>> Scale.apply(x, 4).backward()
        >>> x.grad
        tensor(4.)
    """

    __slots__ = ("outputs", "saved", "saved_for_forward", "versions", "needs_input_grad", "function", "positions", "sources",
                 "dirty", "silent", "layouts", "materialize_grads", "__dict__")

    def save_for_backward(self, *tensors) -> None:
        """Keep tensors for backward, to be read there as `ctx.saved_tensors`.

        Args:
            tensors: inputs, outputs or None; what is neither may be an attribute of `ctx`.

        Raises:
            TypeError: something else.

        Example:
            >>> import numtorch as torch
            >>> class Exp(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         out = x.exp()
            ...         ctx.save_for_backward(out)
            ...         return out
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         return grad * ctx.saved_tensors[0]
            >>> x = torch.tensor(0., requires_grad=True)
            >>> Exp.apply(x).backward()
            >>> x.grad
            tensor(1.)
        """
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument is of type {type(tensor).__name__}")
        self.saved = tensors

    def save_for_forward(self, *tensors) -> None:
        """Keep tensors for `jvp`, to be read there as `ctx.saved_tensors`.

        Args:
            tensors: inputs, outputs or None.
        """
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors) -> None:
        """Say that forward changed these inputs in place; it must return them.

        Args:
            tensors: inputs of forward.

        Example:
            >>> import numtorch as torch
            >>> class Double(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         ctx.mark_dirty(x)
            ...         return x.mul_(2)
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         return grad * 2
            >>> x = torch.tensor(3., requires_grad=True)
            >>> Double.apply(x.clone()).backward()
            >>> x.grad
            tensor(2.)
        """
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors) -> None:
        """Say that these outputs have no gradient.

        Args:
            tensors: outputs of forward.

        Example:
            >>> import numtorch as torch
            >>> class Parts(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         signs = x.sign()
            ...         ctx.mark_non_differentiable(signs)
            ...         return x.abs(), signs
            ...     @staticmethod
            ...     def backward(ctx, grad, _):
            ...         return grad
            >>> size, signs = Parts.apply(torch.tensor([1., 2.], requires_grad=True))
            >>> size.requires_grad, signs.requires_grad
            (True, False)
        """
        self.silent = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Say what backward gets for outputs whose gradient is not needed.

        Args:
            value: True (the default) for zeros, False for None.

        Example:
            >>> import numtorch as torch
            >>> class Both(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         ctx.set_materialize_grads(False)
            ...         return x * 2, x * 3
            ...     @staticmethod
            ...     def backward(ctx, first, second):
            ...         print(second)
            ...         return first * 2
            >>> Both.apply(torch.tensor(1., requires_grad=True))[0].backward()
            None
        """
        self.materialize_grads = value

    @property
    def saved_tensors(self):
        """What `save_for_backward` kept, as a tuple.

        Raises:
            RuntimeError: the graph was freed by an earlier backward, or one of them was written to since.

        Example:
            >>> import numtorch as torch
            >>> class Square(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         ctx.save_for_backward(x)
            ...         return x * x
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         x, = ctx.saved_tensors
            ...         return 2 * x * grad
            >>> x = torch.tensor(3., requires_grad=True)
            >>> Square.apply(x).backward()
            >>> x.grad
            tensor(6.)
        """
        if self.saved is None:
            raise freed_error()
        if not self.versions:                            # of a call that is not recorded
            return tuple(self.saved)
        result = []
        for kept, version in zip(self.saved, self.versions):
            if isinstance(kept, _OwnOutput):
                result.append(kept.rebuild(self))
            else:
                result.append(None if kept is None else restore(kept, version, self))
        return tuple(result)

    def name(self):
        return self.function.__name__ + "Backward"

    def backward(self, grad):
        grads = list(grad) if self.outputs > 1 else [grad]
        if self.materialize_grads:
            grads = [g if g is not None or layout is None else arithmetic.zeros(layout) for g, layout in zip(grads, self.layouts)]
        function = self.function
        if function.backward is not Function.backward and function.vjp is not Function.vjp:
            raise RuntimeError(f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed: they are two names "
                               f"of one method of {function.__name__}, so keep one of them.")
        result = (function.backward if function.backward is not Function.backward else function.vjp)(self, *grads)
        result = result if isinstance(result, tuple) else (result,)
        expected = len(self.needs_input_grad)
        if len(result) > expected and all(r is None for r in result[expected:]):
            result = result[:expected]
        if len(result) != expected:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got "
                               f"{len(result)})")
        for position, value in zip(range(expected), result):
            if value is not None and not isinstance(value, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(value).__name__}): function {self.name()} returned it as "
                                   f"the gradient at position {position}")
        return tuple([None if e is None or result[p] is None else self._fitted(p, result[p], layout)
                      for e, p, layout in zip(self.edges, self.positions, self.sources)])

    def _fitted(self, position, grad, layout):
        """A gradient in the shape and dtype of its input: broadcasting is undone, what does not fit is an error."""
        if grad.layout.shape != layout.shape:
            try:
                grad = grad.sum_to_size(*layout.shape)
            except RuntimeError:
                raise RuntimeError(f"Function {self.name()} returned an invalid gradient at index {position} - got "
                                   f"{list(grad.layout.shape)} but expected shape compatible with {list(layout.shape)}") from None
        if grad.layout.device is not layout.device:
            if grad.layout.ndim:
                raise RuntimeError(f"Function {self.name()} returned an invalid gradient at index {position} - expected device "
                                   f"{layout.device} but got {grad.layout.device}")
            grad = grad.to(layout.device)                # a number goes along
        if grad.layout.dtype is not layout.dtype:
            grad = (grad.real if grad.layout.dtype.is_complex and not layout.dtype.is_complex else grad).to(layout.dtype)
        return grad


class _OwnOutput:
    """A saved output, by what `save_result` keeps of it."""

    __slots__ = ("kept", "index")

    def __init__(self, tensor, index) -> None:
        self.kept, self.index = save_result(tensor), index

    def rebuild(self, node):
        return rebuild_result(self.kept, node, self.index)


def _alias(tensor):
    """Another tensor over the same memory."""
    if tensor.layout.handler is None:
        return view_of(tensor, tensor.layout, 0)
    with no_grad():
        return tensor.view(tensor.shape)


class Function:
    """Subclass with static `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`, and call `apply(*args)`.

    `backward` returns one gradient per argument of forward, None for what has none. Written in differentiable ops it
    can be differentiated again; decorate it with `once_differentiable` otherwise.

    Example:
        >>> import numtorch as torch
        >>> class Cube(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         x, = ctx.saved_tensors
        ...         return 3 * x * x * grad
        >>> x = torch.tensor(2., requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad
        tensor(12.)
    """

    def __init__(self, *args, **kwargs) -> None:
        raise RuntimeError(f"{type(self).__name__}: legacy autograd functions are called through {type(self).__name__}.apply(...) "
                           f"and have static forward and backward methods")

    @staticmethod
    def forward(ctx, *args):
        """What the function computes; nothing in it is recorded. To be written by subclasses.

        Args:
            ctx: a `FunctionCtx`, shared with backward; not given where a static `setup_context(ctx, inputs, output)` is written
                too.
            args: those of `apply`.

        Returns:
            A tensor, or a tuple of them and of other things.
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradients of forward's arguments. To be written by subclasses.

        Args:
            ctx: what forward was given.
            grad_outputs: a gradient for each output.

        Returns:
            A gradient for each argument of forward, None for what has none.
        """
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use "
                                  "it with backward mode AD.")

    vjp = backward                                       # another name for it, with `setup_context`

    @staticmethod
    def jvp(ctx, *tangents):
        """The tangents of forward's results, where forward mode is to have others than forward's own ops give. May be written by
        subclasses.

        Args:
            ctx: what forward was given; its `saved_tensors` are those of `save_for_forward`.
            tangents: a tangent for each argument of forward, None for what is no tensor.

        Returns:
            A tangent for each result of forward.
        """
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode "
                                  "AD.")

    @staticmethod
    def vmap(info, in_dims, *args):
        """What `vmap` makes of forward, where forward is not made of ops that it knows. May be written by subclasses.

        Args:
            info: its `batch_size` and `randomness`.
            in_dims: for each argument, the dimension that counts samples, or None.
            args: those of forward, of all samples.

        Returns:
            (results of all samples, the dimension of each that counts them or None).
        """
        raise NotImplementedError("To use autograd.Function with vmap, it must either override the vmap staticmethod or be made of "
                                  "ops in its forward.")

    generate_vmap_rule = False                           # taken for PyTorch's sake: a rule is always made where none is written

    @classmethod
    def apply(cls, *args, **named):
        """Run forward, and record it when an argument requires grad.

        Args:
            args: those of forward.
            named: the same by their names, where there is a `setup_context`.

        Returns:
            What forward returns.

        Example:
            >>> import numtorch as torch
            >>> class Negate(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return -x
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         return -grad
            >>> Negate.apply(torch.tensor(3., requires_grad=True)).grad_fn.name()
            'NegateBackward'
        """
        kind = cls.__dict__.get("_backward_cls")
        if kind is None:                                 # so that type(x.grad_fn).__name__ says whose backward it is
            kind = cls._backward_cls = type(f"{cls.__name__}Backward", (FunctionCtx,), {})
            cls._signature = inspect.signature(cls.forward) if getattr(cls, "setup_context", None) is not None else None
        if named and cls._signature is None:
            raise TypeError(f"{cls.__name__}.apply() takes no keyword arguments, but got {', '.join(named)}: give them by "
                            f"position, or write a setup_context")
        if cls._signature is not None and (named or len(args) < len(cls._signature.parameters)):
            bound = cls._signature.bind(*args, **named)  # setup_context and backward see forward's defaults, too
            bound.apply_defaults()
            args = bound.args
        for arg in args:
            if isinstance(arg, Tensor) and arg.layout.handler is not None:
                transformed = getattr(type(arg.layout.handler), "function", None)
                if transformed is not None:              # of a transform of torch.func
                    return transformed(arg.layout.handler, cls, args)
        return cls._call(args)[1]

    @classmethod
    def _call(cls, args):
        """(the context, what forward returns) of a call whose arguments are ordinary tensors."""
        ctx = cls._backward_cls()
        ctx.extras = ctx.saved_for_forward = None
        ctx.function, ctx.saved, ctx.versions, ctx.dirty, ctx.silent = cls, (), (), (), ()
        ctx.materialize_grads = True
        ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.node is not None for a in args)
        ctx.positions = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
        ctx.edges = tuple(args[i].node for i in ctx.positions)
        ctx.sources = tuple(args[i].layout for i in ctx.positions)
        recorded = modes.grad and any(ctx.needs_input_grad)
        with no_grad():
            if cls._signature is not None:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args)
        single = not isinstance(result, tuple)
        outs = [result] if single else list(result)
        inputs = [a for a in args if isinstance(a, Tensor)]
        for index, out in enumerate(outs):
            if isinstance(out, Tensor) and any(out is i for i in inputs) and not any(out is d for d in ctx.dirty):
                outs[index] = _alias(out)                # an input returned as it is stays what it was
        for tensor in ctx.dirty:
            mark_written(tensor.memory, cls.__name__)
        if recorded:
            cls._record(ctx, args, outs)
        return ctx, outs[0] if single else tuple(outs)

    @staticmethod
    def _record(ctx, args, outs):
        for tensor in ctx.dirty:
            arithmetic.check_inplace_allowed(tensor, ctx.function.__name__)
            if not any(tensor is o for o in outs):
                raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The "
                                   "inputs that are modified inplace must all be outputs of the Function.")
            if tensor._base is not None:
                _put_first(ctx, next(i for i, a in enumerate(args) if a is tensor), len(outs))
        tensors = [(i, o) for i, o in enumerate(outs) if isinstance(o, Tensor) and not any(o is s for s in ctx.silent)
                   and o.layout.dtype.category >= 2]
        ctx.outputs = len(outs)
        ctx.layouts = [o.layout if isinstance(o, Tensor) else None for o in outs]
        kept, versions = [], []
        for tensor in ctx.saved:
            own = next((i for i, o in enumerate(outs) if o is tensor), None)
            if tensor is None:
                kept.append(None)
            elif own is not None:
                kept.append(_OwnOutput(tensor, own))
            else:
                kept.append(save(tensor))
            versions.append(None if tensor is None else tensor.memory.version)
        ctx.saved, ctx.versions = tuple(kept), tuple(versions)
        if modes.anomaly:
            extras_of(ctx).trace = source_line()
        for index, out in tensors:
            node = ctx if ctx.outputs == 1 else Output(ctx, index)
            if any(out is d for d in ctx.dirty):
                arithmetic.rebase_history(out, node)
            else:
                out.node = node
                source = next((a for a in args if isinstance(a, Tensor) and a.memory is out.memory), None)
                if source is not None:
                    note_view(source, out, "function")   # the view's backward is the user's


def _put_first(ctx, position, outputs):
    """Make an argument the first edge, where the history of a written view looks for what was there before."""
    if outputs > 1:
        raise RuntimeError("If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                           "return more than one Tensor. This is not supported by the current autograd engine.")
    order = sorted(range(len(ctx.positions)), key=lambda i: ctx.positions[i] != position)
    ctx.positions, ctx.edges, ctx.sources = (tuple([values[i] for i in order])
                                             for values in (ctx.positions, ctx.edges, ctx.sources))


class InplaceFunction(Function):
    """A Function of PyTorch's first years, which old programs derive from; nothing else is special about it."""


def once_differentiable(backward):
    """Decorator for a `backward` that cannot be differentiated: it runs unrecorded, and going through it again raises.

    Args:
        backward: a static method of a `Function`, below `staticmethod`.

    Example:
        >>> import numtorch as torch
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     @torch.autograd.function.once_differentiable
        ...     def backward(ctx, grad):
        ...         return 2 * ctx.saved_tensors[0] * grad
        >>> x = torch.tensor(3., requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
    """
    @functools.wraps(backward)
    def wrapper(ctx, *grads):
        with no_grad():
            result = backward(ctx, *grads)
        if not modes.grad or not any(isinstance(g, Tensor) and g.node is not None for g in grads):
            return result
        items = result if isinstance(result, tuple) else (result,)
        edges = tuple(g.node for g in grads if isinstance(g, Tensor))
        out = []
        for item in items:
            if isinstance(item, Tensor):
                item = view_of(item, item.layout, 0, GraphNode(_ONCE_DIFFERENTIABLE, edges, ()))
            out.append(item)
        return tuple(out) if isinstance(result, tuple) else out[0]
    return wrapper


@_ONCE_DIFFERENTIABLE.derivative
def _refuse(node, grad):
    raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    if name.startswith("__"):                            # which the import system asks for
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..alias import attribute
    return attribute(__name__, name)
