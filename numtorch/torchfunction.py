"""`__torch_function__`: classes that take over what functions do with their instances, by PyTorch's protocol.

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            print(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

Ordinary programs pay nothing for it: functions are what they are until `install`, which the first subclass of Tensor, the first
mode and the import of `overrides` call. From then on every public function asks its arguments first. It stays the same object, with
other code, so that `func is torch.mean` holds whoever asks and whenever it was imported.
"""
from __future__ import annotations

import functools
import threading
import types as pytypes

from .exchange.scalars import NUMBERS
from .interposition import Interposer, operations, public_functions, with_constants
from .storage import inferring
from .tensor import Tensor, alias


class _State(threading.local):
    """A thread's modes, the innermost last, whether subclasses are left alone, and whether what is handed on is one of Python's
    operators, whose method may be a function of the package too (`Tensor.add` is `torch.add`)."""

    def __init__(self):
        self.disabled, self.modes, self.operator = False, [], False


_state = _State()


# ---------------------------------------------------------------- asking
def disabled_torch_function(*ignored):
    """What a class sets `__torch_function__` to that takes no part."""
    return NotImplemented


@functools.lru_cache(4096)
def _takes_part(kind) -> bool:
    """Whether a class takes part: with a method of its own, or as a subclass of Tensor."""
    method = getattr(kind, "__torch_function__", None)
    if method is None or method is disabled_torch_function or kind is Tensor:
        return False
    own = getattr(method, "__func__", method) is not _torch_function
    return own or not kind._plain_results


def _overloaded(arguments):
    """The arguments that take part, one of each class, subclasses before their bases."""
    taking_part: list = []
    for argument in arguments:
        for each in argument if type(argument) in (list, tuple) else (argument,):
            kind = type(each)
            if _takes_part(kind) and all(type(f) is not kind for f in taking_part):
                place = next((i for i, f in enumerate(taking_part) if issubclass(kind, type(f))), len(taking_part))
                taking_part.insert(place, each)
    return taking_part


def has_torch_function(arguments) -> bool:
    """Whether any of some arguments has a class that takes calls over.

    Args:
        arguments: a sequence of anything.

    Example:
        >>> import numtorch as torch
        >>> torch.overrides.has_torch_function((torch.ones(2), 3))
        False
    """
    return bool(_state.modes) or (not _state.disabled and bool(_overloaded(arguments)))


def has_torch_function_unary(argument) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*arguments) -> bool:
    """`has_torch_function` of several arguments."""
    return has_torch_function(arguments)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Let the classes of some arguments decide what a call gives.

    Args:
        public_api: the function that was called, as the classes shall see it.
        relevant_args: the arguments whose classes are asked.
        args, kwargs: of the call.

    Raises:
        TypeError: all of them returned NotImplemented.
    """
    overloaded = [] if _state.disabled else _overloaded(relevant_args)
    kinds = tuple([type(o) for o in overloaded])
    if _state.modes:
        mode = _state.modes.pop()
        try:
            result = mode.__torch_function__(public_api, kinds, args, kwargs)
        finally:
            _state.modes.append(mode)
        if result is not NotImplemented:
            return result
    for each in overloaded:
        result = type(each).__torch_function__(public_api, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(f"no implementation found for '{resolve_name(public_api)}' on types that implement __torch_function__: "
                    f"{[*kinds, *[type(m) for m in _state.modes]]}")


class DisableTorchFunctionSubclass:
    """A context in which subclasses are taken for ordinary tensors.

    Example:
        >>> import numtorch as torch
        >>> with torch.overrides.DisableTorchFunctionSubclass():
        ...     torch.ones(2).sum()
        tensor(2.)
    """

    def __enter__(self):
        self.before, _state.disabled = _state.disabled, True

    def __exit__(self, *exception):
        _state.disabled = self.before


class TorchFunctionMode:
    """A context that every call of a public function goes through. Define `__torch_function__(self, func, types, args, kwargs)`.

    Example:
        >>> import numtorch as torch
        >>> class Names(torch.overrides.TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     x = torch.exp(torch.zeros(2))
        zeros
        exp
    """

    def __enter__(self):
        install()
        _state.modes.append(self)
        inferring.append(None)                           # replays that look at nothing else do not run
        return self

    def __exit__(self, *exception):
        _state.modes.pop()
        inferring.pop()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError


# ---------------------------------------------------------------- what a subclass does by default
def get_default_nowrap_functions() -> set:
    """The functions whose results stay as they are by default, although a subclass was among the arguments."""
    return {Tensor.tolist, Tensor.item, Tensor.grad.__get__}


def _torch_function(cls, func, types, args=(), kwargs=None):
    """What a call gives where a subclass takes no other decision: the result on ordinary tensors, of the subclass.

    Args:
        func: the function that was called; types: the classes that take part; args, kwargs: of the call.
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if func in get_default_nowrap_functions() else _converted(result, cls)


def _converted(result, cls):
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return alias(result, cls)
    if isinstance(result, tuple) and type(result) is not tuple and hasattr(result, "_fields"):
        return type(result)(*[_converted(r, cls) for r in result])
    if isinstance(result, (tuple, list)) and type(result) in (tuple, list):
        return type(result)([_converted(r, cls) for r in result])
    return result


# ---------------------------------------------------------------- functions that ask
def _asking(plain, public):
    """Code that asks the arguments of a call, and calls the function as it was where nobody takes the call over."""
    def ask(*args, **kwargs):
        state = "state"
        overloaded = "overloaded"
        if state.modes or not state.disabled:
            relevant = (*args, *kwargs.values()) if kwargs else args
            if state.modes or overloaded(relevant):
                handle = "handle"
                public = "public"
                return handle(public, relevant, *args, **kwargs)
        plain = "plain"
        return plain(*args, **kwargs)

    method = next((method for operator, method in _METHODS.items() if vars(Tensor)[operator] is public), None)
    handle = handle_torch_function if method is None else functools.partial(_handle_operator, vars(Tensor)[method])
    asked = _nobody if public.__name__ in _OF_DATA else _overloaded
    return with_constants(ask, public, plain=plain, public=public, state=_state, overloaded=asked, handle=handle)


# To these a tensor is data, as a list is: only modes see the calls. torch.tensor is `make`.
_OF_DATA = ("make", "as_tensor", "asarray")


def _nobody(arguments):
    return ()


# Python's operators whose calls PyTorch hands on as those of a method.
_METHODS = {"__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
            "__mod__": "remainder", "__matmul__": "matmul", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt",
            "__ge__": "ge", "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
            "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__rand__": "bitwise_and", "__ror__": "bitwise_or",
            "__rxor__": "bitwise_xor"}


def _handle_operator(method, operator, relevant_args, *args):
    """A method raises for what it knows nothing of, where an operator lets the other operand try."""
    if all(isinstance(a, Tensor) or type(a) in NUMBERS or _takes_part(type(a)) for a in args):
        _state.operator = True
        try:
            return handle_torch_function(method, relevant_args, *args)
        finally:
            _state.operator = False
    with DisableTorchFunctionSubclass():
        return operator(*args)


def _asking_property(plain):
    """A property of Tensor for classes with a method of their own, which are asked about `Tensor.shape.__get__` and its like."""
    def read(self):
        return handle_torch_function(plain.__get__, (self,), self) if has_torch_function((self,)) else plain.__get__(self)

    def write(self, value):
        if has_torch_function((self, value)):
            handle_torch_function(plain.__set__, (self, value), self, value)
        else:
            plain.__set__(self, value)
    return property(read, None if plain.fset is None else write, plain.fdel, plain.__doc__)


def subclassed(cls) -> None:
    """What a new subclass of Tensor brings about: functions ask their arguments, and properties a class with a method of its
    own."""
    install()
    own = getattr(cls.__torch_function__, "__func__", cls.__torch_function__)
    if own is not _torch_function and own is not disabled_torch_function:
        for name, value in vars(Tensor).items():
            if type(value) is property and getattr(cls, name) is value:
                setattr(cls, name, _asking_property(value))


_interposer = Interposer(0, _asking)


def install() -> None:
    """Have every public function ask its arguments."""
    if not _interposer.functions:
        _interposer.add(list(operations()))


def uninstall() -> None:
    """Have functions be what they were before `install`."""
    _interposer.remove()


# ---------------------------------------------------------------- about the protocol
def is_tensor_like(value) -> bool:
    """Whether a value is a tensor, or of a class that takes calls over.

    Args:
        value: anything.

    Example:
        >>> import numtorch as torch
        >>> torch.overrides.is_tensor_like(torch.ones(2)), torch.overrides.is_tensor_like(3)
        (True, False)
    """
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def get_overridable_functions() -> dict:
    """The functions that ask, by namespace.

    Example:
        >>> import numtorch as torch
        >>> torch.exp in torch.overrides.get_overridable_functions()[torch]
        True
    """
    install()
    by_namespace: dict = {}
    for namespace, _, function in public_functions():
        if isinstance(function, pytypes.FunctionType) and function in _interposer.functions:
            by_namespace.setdefault(namespace, []).append(function)
    return by_namespace


def is_tensor_method_or_property(func) -> bool:
    """Whether a function is a method of Tensor, or reads or writes a property: `Tensor.shape.__get__`.

    Args:
        func: a function.

    Example:
        >>> import numtorch as torch
        >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
        True
    """
    return func in [v for v in vars(Tensor).values() if isinstance(v, pytypes.FunctionType)] or _property_of(func) is not None


def _property_of(func):
    """The name of the property that `Tensor.shape.__get__` or the like is of, and the method's own; None for other functions."""
    plain = getattr(func, "__self__", None)
    names = [n for n, v in vars(Tensor).items() if v is plain] if type(plain) is property else []
    return f"{names[0]}.{func.__name__}" if names else None


def resolve_name(func) -> str:
    """The name by which users know a function, such as `torch.exp`.

    Args:
        func: a public function.

    Example:
        >>> import numtorch as torch
        >>> torch.overrides.resolve_name(torch.linalg.inv)
        'torch.linalg.inv'
    """
    own, named = getattr(func, "__name__", repr(func)), None
    for namespace, name, function in public_functions():
        if function is func and (named is None or name == own):          # `torch.gt` rather than `torch.greater`
            named = f"{'torch.Tensor' if namespace is Tensor else namespace.__name__.replace('numtorch', 'torch', 1)}.{name}"
            if name == own:
                return named
    of_property = _property_of(func)
    return named or (own if of_property is None else f"torch.Tensor.{of_property}")


Tensor.__torch_function__ = classmethod(_torch_function)
