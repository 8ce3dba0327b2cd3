"""`symbolic_trace`: a function or module, called with proxies."""
from __future__ import annotations

import builtins
import contextlib
import copy
import enum
import functools
import inspect
import math
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

from ..devices import device
from ..dtypes import dtype
from ..jit.graphs.scriptmodules import ScriptModule
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..ops.core.primitive import is_ours
from ..ops.reduce.query import _assert
from ..tensor import Tensor
from ..utils.pytree import tree_flatten, tree_unflatten
from .graph import Graph
from .graph_module import GraphModule
from .proxy import BASE_TYPES, ParameterProxy, Proxy, TraceError, TracerBase
from .structures import PHBase, StructuredCodeGen

_wrapped: dict[tuple[int, str], dict] = {}               # the globals in which functions are patched while something is traced


def wrap(fn_or_name: Any) -> Any:
    """Have calls of a function be nodes, whatever it does. To be called where modules are defined.

    Args:
        fn_or_name: the function, or the name that it has there.

    Returns:
        It.

    Raises:
        RuntimeError: neither.

    Example:
        >>> import numtorch as torch
        >>> @torch.fx.wrap
        ... def clip(x):
        ...     return x if float(x.sum()) < 1 else x * 0
        >>> clip.__name__
        'clip'
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    scope = sys._getframe(1).f_globals
    _wrapped[id(scope), name] = scope
    return fn_or_name


def _assert_is_none(value: Any, message: str) -> None:
    """Raise AssertionError where a value is not None."""
    if value is not None:
        raise AssertionError(message)


class Tracer(TracerBase):
    """Makes a graph of a module or function. Subclasses say which modules are leaves, and what is done with calls.

    Args:
        autowrap_modules: Python modules whose functions are nodes where they get a proxy: `math.sqrt(x.size(-1))` is one.
        autowrap_functions: further such functions.
        param_shapes_constant: have sizes of parameters be numbers, by which a function may decide.

    Attributes:
        root: the module that is traced.
        proxy_buffer_attributes: whether buffers are nodes as soon as they are looked up, as parameters are; else where a call has
            one.
    """

    proxy_buffer_attributes = False

    def __init__(self, autowrap_modules: tuple = (math,), autowrap_functions: tuple = (),
                 param_shapes_constant: bool = False) -> None:
        self.autowrap_modules, self.autowrap_functions = autowrap_modules, autowrap_functions
        self.param_shapes_constant = param_shapes_constant
        self.root: Any = None
        self.tensor_attrs: dict[int, str] = {}
        self.submodule_paths: dict[Module, str] = {}
        self._calls: dict[str, int] = {}                 # of modules, by path

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self).__new__(type(self))
        for key, value in vars(self).items():            # modules of Python are not copied
            vars(made)[key] = value if key == "autowrap_modules" else copy.deepcopy(value, memo)
        return made

    # ------------------------------------------------------------ what subclasses may say
    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module's call is one node. By default those of `torch.nn` are, but Sequential, and scripts and traces.

        Args:
            m: the module.
            module_qualified_name: its path.
        """
        return isinstance(m, ScriptModule) or (m.__module__.startswith("numtorch.nn") and not isinstance(m, Sequential))

    def path_of_module(self, mod: Module) -> str:
        """The path of a module below the root.

        Args:
            mod: the module.

        Raises:
            NameError: it is not below the root.
        """
        if mod in self.submodule_paths:
            return self.submodule_paths[mod]
        if not self.submodule_paths:                     # before anything is traced
            for path, module in self.root.named_modules():
                if module is mod:
                    return path
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict) -> Any:
        """What a call of a module gives: a node, or what its `forward` gives for proxies.

        Args:
            m: the module.
            forward: its call.
            args, kwargs: of the call.
        """
        path = self.path_of_module(m)
        before, calls = self.module_stack, self._calls.get(path, 0)
        self._calls[path] = calls + 1
        self.module_stack = {**before, f"{path}@{calls}" if calls else path: (path, type(m))}
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack = before

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict) -> Any:
        """What an attribute of a module is while it is traced: a node for a parameter, or buffer.

        Args:
            attr: its name.
            attr_val: its value.
            parameter_proxy_cache: the proxies of parameters so far, by path.
        """
        is_parameter = isinstance(attr_val, Parameter)
        if not is_parameter and not (self.proxy_buffer_attributes and isinstance(attr_val, Tensor)):
            return attr_val
        for name, tensor in self.root.named_parameters() if is_parameter else self.root.named_buffers():
            if tensor is attr_val:
                if name not in parameter_proxy_cache:
                    make = functools.partial(ParameterProxy, self, name=name, param=attr_val)
                    parameter_proxy_cache[name] = self.create_proxy(
                        "get_attr", name, (), {}, proxy_factory_fn=make if self.param_shapes_constant else None)
                return parameter_proxy_cache[name]
        return attr_val

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name of an attribute that the root does not have.

        Args:
            prefix: what it begins with; a number follows.
        """
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_value(self, value: Any) -> Any:
        """An argument that is no proxy: a tensor of the module by its path, another as an attribute of its own.

        Args:
            value: it.

        Raises:
            NotImplementedError: what has no place in a graph.
        """
        if isinstance(value, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is value:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(value, Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is value:
                    return self.create_node("get_attr", name, (), {})
            name = self.tensor_attrs.get(id(value))
            if name is None:
                name = self.tensor_attrs[id(value)] = self.get_fresh_qualname("_tensor_constant")
                setattr(self.root, name, value)
            return self.create_node("get_attr", name, (), {})
        if isinstance(value, (*BASE_TYPES, dtype, device, enum.Enum)) or callable(value):
            return value
        if type(value).__module__.startswith("numtorch."):
            return value                                 # memory formats and the like
        raise NotImplementedError(f"argument of type: {type(value)}")

    def create_args_for_root(self, root_fn: Callable, is_module: bool, concrete_args: dict | None = None) -> tuple[Callable, list]:
        """The function, and proxies for its arguments.

        Args:
            root_fn: the function.
            is_module: whether its first argument is the module.
            concrete_args: arguments that are no proxies, by name.
        """
        parameters = list(inspect.signature(root_fn).parameters.values())      # of what a decorated one is around
        args: list[Any] = []
        if is_module:
            if not parameters or parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            parameters = parameters[1:]
        extra, by_name, names = [], {}, []
        for p in parameters:
            default = () if p.default is p.empty else (p.default,)
            if concrete_args is not None and p.name in concrete_args:
                given: Any = self._specialised(p.name, concrete_args[p.name], default)
            elif p.kind is p.VAR_POSITIONAL:
                extra.append(self.create_proxy("placeholder", f"*{p.name}", (), {}))
                continue
            elif p.kind is p.VAR_KEYWORD:
                extra.append(self.create_proxy("placeholder", f"**{p.name}", (), {}))
                continue
            else:
                annotation = None if p.annotation is p.empty else p.annotation
                given = self.create_proxy("placeholder", p.name, default, {}, type_expr=annotation)
            names.append(p.name)
            if p.kind is p.KEYWORD_ONLY:
                by_name[p.name] = given
            else:
                args.append(given)
        if extra and hasattr(root_fn, "__wrapped__"):
            raise TraceError(f"{root_fn.__name__} is decorated, and takes {extra[0].node.target}: name its arguments, or trace the "
                             f"function in the decorator")
        if extra:                                        # the code's own: `*args` and `**kwargs` as two plain arguments
            code = root_fn.__code__
            plain = code.replace(co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
                                 co_argcount=code.co_argcount + code.co_kwonlyargcount + len(extra), co_kwonlyargcount=0)
            root_fn = type(root_fn)(plain, root_fn.__globals__, root_fn.__name__, root_fn.__defaults__, root_fn.__closure__)  # type: ignore
            args += [*by_name.values(), *extra]
            names += [str(each.node.target) for each in extra]
            by_name = {}
        own = (self.root,) if is_module else ()
        values, spec = tree_flatten([*args, *by_name.values()])
        if len(values) == len(names) and all(form is None for form in spec.form[2]):
            return (functools.partial(root_fn, **by_name) if by_name else root_fn), [*own, *args]
        return self._structured(root_fn, own, names, list(by_name), spec), values

    def _structured(self, function, own, names, by_name, spec):
        """A function of leaves, of one of structures."""
        self.graph._codegen = codegen = StructuredCodeGen(names, spec)

        @functools.wraps(function)
        def called(*leaves):
            args = tree_unflatten(leaves, spec)
            by_place = len(args) - len(by_name)
            made, codegen.returned = tree_flatten(function(*own, *args[:by_place], **dict(zip(by_name, args[by_place:]))))
            return made
        return called

    def _specialised(self, name, value, default):
        """What an argument is that was decided before: with proxies where it was not. Each leaf is an argument of the graph."""
        leaves, spec = tree_flatten(value)
        for number, leaf in enumerate(leaves):
            proxy = self.create_proxy("placeholder", f"{name}_{number + 1}", default if spec.form is None else (), {})
            if isinstance(leaf, PHBase):
                leaves[number] = proxy
            else:
                self._specialise(proxy, name, leaf)
        return tree_unflatten(leaves, spec)

    def _specialise(self, proxy, name, value):
        """Nodes which raise where an argument is not what was decided by."""
        said = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, said), {})
        elif isinstance(value, BASE_TYPES):
            self.create_proxy("call_function", _assert, (proxy == value, said), {})
        else:
            warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to "
                          f"the user to make sure that your inputs match the inputs you specialized the function with.",
                          stacklevel=5)

    # ------------------------------------------------------------ tracing
    def trace(self, root: Any, concrete_args: dict | None = None) -> Graph:
        """The graph of a module or function.

        Args:
            root: the module or function.
            concrete_args: arguments that are no proxies, by name.

        Raises:
            TraceError: what only values can decide.
        """
        is_module = isinstance(root, Module)
        self.root = root if is_module else Module()
        function = getattr(type(root), self.traced_func_name) if is_module else root
        if is_module and not inspect.isfunction(function):
            function = type(root).forward
        self.submodule_paths = {module: name for name, module in self.root.named_modules()}
        self.tensor_attrs, self.module_stack, self._calls = {}, {}, {}
        for name, module in self.root.named_modules():
            for key, value in vars(module).items():
                if isinstance(value, Tensor):
                    self.tensor_attrs[id(value)] = f"{name}.{key}" if name else key
        self.graph = Graph(tracer_cls=type(self))
        cache: dict = {}
        call, get = Module.__call__, Module.__getattr__

        def call_module(module, *args, **kwargs):
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        def get_attribute(module, name):
            return self.getattr(name, get(module, name), cache)
        function, args = self.create_args_for_root(function, is_module, concrete_args)
        with contextlib.ExitStack() as stack:
            stack.enter_context(_patched(Module.__dict__, "__call__", call_module, lambda k, v: setattr(Module, k, v)))
            stack.enter_context(_patched(Module.__dict__, "__getattr__", get_attribute, lambda k, v: setattr(Module, k, v)))
            for scope, name, value in self._wrapped_names(function):
                stack.enter_context(_patched_global(scope, name, value))
            result = function(*args)
        self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=_returned(root, is_module))
        return self.graph

    def _wrapped_names(self, function):
        """(globals, name, value) of the names that stand for functions whose calls are nodes."""
        wrapped = {}                                     # by their identities, as not all have a hash
        for (_, name), scope in _wrapped.items():
            original = scope.get(name) or getattr(builtins, name, None)
            if original is not None:                     # else its module is gone, or was emptied
                wrapped[id(original)] = original
                yield scope, name, self._wrapper(original)
        known = {id(f): f for f in self.autowrap_functions}
        stands_for = {}
        for module in self.autowrap_modules:
            functions = {name: f for name, f in vars(module).items() if callable(f) and not name.startswith("_")}
            known.update((id(f), f) for f in functions.values())
            stands_for[id(module)] = types.SimpleNamespace(**vars(module))
            vars(stands_for[id(module)]).update((name, self._wrapper(f)) for name, f in functions.items())
        for scope, generated in _scopes(function, self.root):
            for name, value in list(scope.items()):
                if id(value) in stands_for:
                    yield scope, name, stands_for[id(value)]
                elif id(value) in known or (generated and id(value) in wrapped):
                    yield scope, name, self._wrapper(value)

    def _wrapper(self, original):
        @functools.wraps(original)
        def wrapped(*args, **kwargs):
            for value in (*args, *kwargs.values()):
                for each in value if isinstance(value, (tuple, list)) else (value,):
                    if isinstance(each, Proxy):
                        return each.tracer.create_proxy("call_function", original, args, kwargs)
            return original(*args, **kwargs)
        return wrapped


def _scopes(function, root):
    """The globals of a function, of the modules below the root, and of the user's functions that these name; and whether they are
    those of a graph's code."""
    function = inspect.unwrap(function.func if isinstance(function, functools.partial) else function)
    generated = {id(scope): scope for module in root.modules() if isinstance(module, GraphModule)
                 for scope in [getattr(type(module).forward, "__globals__", {})]}
    waiting = [getattr(function, "__globals__", {}), *generated.values()]
    waiting += [getattr(inspect.unwrap(type(module).forward), "__globals__", {}) for module in root.modules()]
    seen = set()
    while waiting:
        scope = waiting.pop()
        home = str(scope.get("__name__", ""))
        if id(scope) in seen or is_ours(home) or home.partition(".")[0] in sys.stdlib_module_names:
            continue
        seen.add(id(scope))
        yield scope, id(scope) in generated
        waiting += [value.__globals__ for value in list(scope.values()) if isinstance(value, types.FunctionType)]


def _returned(root, is_module):
    """The type that a function says it returns, or the `forward` of a module."""
    function = inspect.unwrap(type(root).forward if is_module else root)
    return getattr(function, "__annotations__", {}).get("return")


@contextlib.contextmanager
def _patched(table, name, value, assign):
    before = table[name]
    assign(name, value)
    try:
        yield
    finally:
        assign(name, before)


@contextlib.contextmanager
def _patched_global(scope, name, value):
    missing = name not in scope
    before = scope.get(name)
    scope[name] = value
    try:
        yield
    finally:
        if missing:
            del scope[name]
        else:
            scope[name] = before


def symbolic_trace(root: Any, concrete_args: dict | None = None) -> GraphModule:
    """A module or function as a module that runs the graph of the calls it makes.

    Args:
        root: the module or function.
        concrete_args: arguments that are no proxies, by name: what depends on them is decided now. The graph takes them under
            other names (`flag_1`), and raises AssertionError where they are others.

    Returns:
        A module with `graph` and `code`.

    Raises:
        TraceError: what only values can decide.

    Example:
        >>> import numtorch as torch
        >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> print(traced.code.strip())
        def forward(self, x):
            relu = torch.relu(x);  x = None
            add = relu + 1;  relu = None
            return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", "GraphModule")
    return GraphModule(tracer.root, graph, name)
