"""`torch.library`: functions under names of a program's own, `torch.ops.<namespace>.<name>`, with gradients that it writes.

What is called is Python, so an op needs no schema: of what `Library.define` takes, only the name counts. A function that is made of
numtorch's ops needs none of this, and has its gradients by itself.
"""
from __future__ import annotations

import contextlib
import importlib
import inspect
import re
import threading
from collections.abc import Callable
from types import SimpleNamespace

from . import tree
from .autograd import Function

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "register_autograd", "register_fake", "register_kernel",
           "register_vmap"]

_ops: dict[str, CustomOpDef] = {}
_running = threading.local()                             # `ops`: of which this thread runs what stands for the whole
_KERNELS = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")


def _op(name) -> CustomOpDef:
    """The op of a name, which may be described before it has a function."""
    if isinstance(name, CustomOpDef):
        return name
    name = getattr(name, "_qualname", name)
    if not re.fullmatch(r"[^:]+::[^:]+", name):
        raise ValueError(f"torch.library: expected a name such as 'namespace::op', got {name!r}")
    name = name.removesuffix(".default")
    if name not in _ops:
        _ops[name] = CustomOpDef(name)
    return _ops[name]


class _Call:
    """How a call's arguments and its result are made of tensors and other values, of which a Function takes and gives them.

    Args:
        form: of the arguments by place.
        keywords: those by name.
    """

    __slots__ = ("form", "keywords", "result")

    def __init__(self, form, keywords) -> None:
        self.form, self.keywords, self.result = form, keywords, None

    def flat(self, result) -> tuple:
        """The leaves of a result, whose form is kept."""
        leaves, self.result = tree.flatten(result)
        return tuple(leaves)


@contextlib.contextmanager
def _flags_by_argument(ctx):
    """While `needs_input_grad` has a flag for each of the op's arguments, of a list of tensors a list."""
    flags = ctx.needs_input_grad
    ctx.needs_input_grad = tree.unflatten(list(flags[1:]), ctx.form)
    try:
        yield
    finally:
        ctx.needs_input_grad = flags


class CustomOpDef:
    """An op under a name of a program's own, which `custom_op` makes.

    Args:
        name: `"namespace::op"`.
    """

    def __init__(self, name: str) -> None:
        self._qualname, self._namespace, self._name = name, *name.split("::")
        self._kernels: dict[str | None, Callable] = {}   # by kind of device; None stands for all others
        self._fake: Callable | None = None
        self._whole: Callable | None = None              # what is called instead of everything, gradients too
        self._function: type[Function] | None = None
        self._vmap: Callable | None = None
        self._signature: inspect.Signature | None = None

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    @property
    def default(self):
        """The op's one overload: itself."""
        return self

    def overloads(self) -> list[str]:
        """The names of its overloads."""
        return ["default"]

    # ------------------------------------------------------------ descriptions
    def register_kernel(self, device_types, func: Callable | None = None, /):
        """A function for tensors of some kinds of device.

        Args:
            device_types: `"cpu"`, `"cuda"`, a sequence of these, or None for all.
            func: the function; without it, this is a decorator.
        """
        def register(function):
            for kind in [device_types] if isinstance(device_types, str) or device_types is None else device_types:
                self._kernels[kind] = function
            if self._signature is None:
                self._signature = inspect.signature(function)
            self._publish()
            return function
        return register if func is None else register(func)

    def register_fake(self, fn: Callable, /) -> Callable:
        """A function that makes results without values, which is called for tensors on the device `meta`."""
        self._fake = fn
        return fn

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """The gradients of the op's arguments.

        Args:
            backward: `backward(ctx, *grads)` gives one for each argument, None for what has none.
            setup_context: `setup_context(ctx, inputs, output)` keeps what backward needs, by `ctx.save_for_backward` or as
                attributes; of an op with arguments by name alone, it takes these as `keyword_only_inputs`, too.
                `ctx.needs_input_grad` has a flag for each argument.
        """
        op = self

        class Gradient(Function):
            @staticmethod
            def forward(call, *leaves):
                return call.flat(op._run(*tree.unflatten(list(leaves), call.form), **call.keywords))

            @staticmethod
            def setup_context(ctx, inputs, output):
                call, *leaves = inputs
                ctx.form, ctx.result = call.form, call.result
                if setup_context is not None:
                    args, result = tree.unflatten(leaves, call.form), tree.unflatten(list(output), call.result)
                    with _flags_by_argument(ctx):
                        if call.keywords:
                            setup_context(ctx, inputs=args, keyword_only_inputs=call.keywords, output=result)
                        else:
                            setup_context(ctx, args, result)

            @staticmethod
            def backward(ctx, *grads):
                of_result = tree.unflatten(list(grads), ctx.result)
                with _flags_by_argument(ctx):
                    found = backward(ctx, *(of_result if isinstance(of_result, tuple) else (of_result,)))
                found = found if isinstance(found, tuple) else (found,)
                spread = tree.spread(found, ctx.form)
                if spread is None:
                    raise RuntimeError(f"{op._qualname}: backward gave {len(found)} gradients, of another form than the arguments: "
                                       f"{tree.shown(ctx.form)}")
                return None, *spread
        Gradient.__name__ = Gradient.__qualname__ = f"{self._namespace}_{self._name}"
        self._function = Gradient
        self._give_vmap()

    def register_vmap(self, func: Callable | None = None, /):
        """What the op does with all samples at once, inside of `torch.func.vmap`.

        Args:
            func: `func(info, in_dims, *args, **kwargs)` is told `info.batch_size` and `info.randomness`, and for each argument
                which of its dimensions counts samples, or None; it gives the result and such a dimension, of several results a
                tuple of these. Without it, this is a decorator.
        """
        if func is None:
            return self.register_vmap
        self._vmap = func
        if self._function is None:
            self.register_autograd(_without_gradients(self))
        self._give_vmap()
        return func

    def _give_vmap(self):
        if self._vmap is None:
            return
        rule = self._vmap

        def vmap(info, in_dims, call, *leaves):
            dims, args = tree.unflatten(list(in_dims[1:]), call.form), tree.unflatten(list(leaves), call.form)
            result, dims = rule(info, dims, *args, **call.keywords)
            return call.flat(result), tuple(tree.spread(dims, call.result))
        self._function.vmap = staticmethod(vmap)         # type: ignore[union-attr, method-assign, assignment]

    def _publish(self):
        """Put the op where programs look for it."""
        ops = importlib.import_module("numtorch.ops")
        if self._namespace not in vars(ops):
            setattr(ops, self._namespace, SimpleNamespace())
        setattr(getattr(ops, self._namespace), self._name, self)

    # ------------------------------------------------------------ calls
    def __call__(self, *args, **kwargs):
        within = vars(_running).setdefault("ops", [])
        if self._whole is not None and self not in within:
            within.append(self)                          # the op that it calls is what stands beneath
            try:
                return self._whole(*args, **kwargs)
            finally:
                within.remove(self)
        keywords = kwargs
        if self._signature is not None:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args, keywords = bound.args, bound.kwargs
        if self._function is None:
            return self._run(*args, **keywords)
        leaves, form = tree.flatten(tuple(args))
        call = _Call(form, keywords)
        return tree.unflatten(list(self._function.apply(call, *leaves)), call.result)

    def _run(self, *args, **keywords):
        """What the op gives, on the device of its arguments."""
        device = next((t.device.type for t in tree.tensors_in((args, keywords))), None)
        if device == "meta" and self._fake is not None:
            return self._fake(*args, **keywords)
        kernel = self._kernels.get(device) or self._kernels.get(None) or next(iter(self._kernels.values()), None)
        if kernel is None or (device is not None and device not in self._kernels and None not in self._kernels):
            raise NotImplementedError(f"Could not run '{self._qualname}' with tensors on {device}: it has functions for "
                                      f"{', '.join(str(kind) for kind in self._kernels) or 'no device'}")
        return kernel(*args, **keywords)


def _without_gradients(op):
    """What backward of an op says until its gradients are registered."""
    def backward(ctx, *grads):
        raise RuntimeError(f"Trying to backward through {op._qualname}.default but no autograd formula was registered. Please use "
                           f"register_autograd to add one.")
    return backward


def custom_op(name: str, fn: Callable | None = None, /, *, mutates_args=(), device_types=None, schema: str | None = None,
              tags=None):
    """A function as an op under a name: what happens in it is not recorded, and its gradients are those that are registered.

    Args:
        name: `"namespace::op"`; it is called as `torch.ops.namespace.op`, too.
        fn: the function; without it, this is a decorator.
        mutates_args: names of arguments that it writes to; writes are seen in any case.
        device_types: the kinds of device that it is for, as in `register_kernel`.
        schema, tags: taken for PyTorch's sake.

    Returns:
        A `CustomOpDef`, which is called like the function.

    Example:
        >>> import numpy as np, numtorch as torch
        >>> @torch.library.custom_op("readme::sine", mutates_args=())
        ... def sine(x: torch.Tensor) -> torch.Tensor:
        ...     return torch.from_numpy(np.sin(x.numpy()))
        >>> sine.register_autograd(lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
        ...                        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
        >>> x = torch.zeros(2, requires_grad=True)
        >>> torch.ops.readme.sine(x).sum().backward()
        >>> x.grad
        tensor([1., 1.])
    """
    def register(function):
        op = _op(name)
        op._kernels.clear()
        op._signature = inspect.signature(function)
        op.register_autograd(_without_gradients(op))
        op.register_kernel(device_types, function)
        op.__doc__ = function.__doc__
        return op
    return register if fn is None else register(fn)


def register_kernel(op, device_types, func: Callable | None = None, /, *, lib=None):
    """`CustomOpDef.register_kernel` of an op, or of the op of a name."""
    return _op(op).register_kernel(device_types, func)


def register_fake(op, func: Callable | None = None, /, *, lib=None, _stacklevel: int = 1, allow_override: bool = False):
    """`CustomOpDef.register_fake` of an op, or of the op of a name; without a function, a decorator."""
    return _op(op).register_fake if func is None else _op(op).register_fake(func)


def register_autograd(op, backward: Callable, /, *, setup_context: Callable | None = None, lib=None) -> None:
    """`CustomOpDef.register_autograd` of an op, or of the op of a name."""
    _op(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op, func: Callable | None = None, /, *, lib=None):
    """`CustomOpDef.register_vmap` of an op, or of the op of a name; without a function, a decorator."""
    return _op(op).register_vmap(func)


def define(qualname: str, schema: str = "", *, lib=None, tags=()) -> None:
    """Name an op whose functions follow, by `impl`.

    Args:
        qualname: `"namespace::op"`.
        schema: its arguments and results, taken for PyTorch's sake.
    """
    _op(qualname)


def impl(qualname: str, types, func: Callable | None = None, *, lib=None):
    """A function of an op for some kinds of device, or, for `"default"`, for all; without a function, a decorator."""
    return register_kernel(qualname, None if types == "default" else types, func)


class Library:
    """The ops of one namespace, described one after another.

    Args:
        ns: the namespace.
        kind: `"DEF"`, `"FRAGMENT"` or `"IMPL"`: here all three may define and describe.

    Example:
        >>> import numtorch as torch
        >>> lib = torch.library.Library("example", "DEF")
        >>> lib.define("twice(Tensor x) -> Tensor")
        'twice'
        >>> lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
        >>> torch.ops.example.twice(torch.ones(2))
        tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str = "FRAGMENT", dispatch_key: str = "") -> None:
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags=()) -> str:
        """Name an op by its schema, such as `"add(Tensor x, Tensor y) -> Tensor"`, and get the name."""
        name = schema.partition("(")[0].strip()
        _op(f"{self.ns}::{name}")
        return name

    def impl(self, op_name, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False,
             allow_override: bool = False) -> None:
        """A function of an op under one of PyTorch's dispatch keys.

        Args:
            op_name: the op.
            fn: the function.
            dispatch_key: `"CPU"` or `"CUDA"` for one kind of device, `"Meta"` for results without values,
                `"CompositeImplicitAutograd"` for all devices with the gradients of the ops in it, `"CompositeExplicitAutograd"` for
                all without these, `"Autograd"` for what is called in place of all. Functions under other keys are not called.
        """
        name = op_name._qualname if isinstance(op_name, CustomOpDef) else f"{self.ns}::{op_name.removeprefix(f'{self.ns}::')}"
        op, key = _op(name), dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if key == "Meta":
            op.register_fake(fn)
        elif key in ("CPU", "CUDA"):
            op.register_kernel(key.lower(), fn)
        elif key in _KERNELS or key.startswith("Autograd"):
            op.register_kernel(None, op._kernels.get(None, fn) if key.startswith("Autograd") else fn)
            if key == "CompositeImplicitAutograd" or key.startswith("Autograd"):
                op._whole = fn

    def _destroy(self) -> None:
        """Nothing is kept that could be given back."""


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    return importlib.import_module("numtorch.alias").attribute(__name__, name)
