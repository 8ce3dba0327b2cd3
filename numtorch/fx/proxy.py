"""What stands for a value while a function is traced: what is done with it becomes a node."""
from __future__ import annotations

import dataclasses
import dis
import functools
import inspect
import operator
import sys
import traceback
from collections.abc import Iterator
from typing import Any

from ..ops.core.primitive import is_ours
from ..tensor import Tensor
from ..torchfunction import _state, install
from .graph import Graph
from .node import Node, Target, is_written_in_python, map_aggregate, path_of

BASE_TYPES = (str, int, float, bool, complex, bytes, type(None), type(Ellipsis), range)


class TraceError(ValueError):
    """What a traced function does that only values can decide."""


class TracerBase:
    """Makes nodes of what is done with proxies.

    Attributes:
        graph: where they go.
    """

    graph: Graph
    traced_func_name = "forward"
    record_stack_traces = False                          # whether nodes know where their calls were made
    module_stack: dict = {}                              # (path, class) of the modules around what is called now, by path

    def create_node(self, kind: str, target: Target, args: tuple, kwargs: dict, name: str | None = None,
                    type_expr: Any = None) -> Node:
        """A node of the graph. Subclasses may do more.

        Args:
            kind, target, args, kwargs, name, type_expr: of the node.
        """
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        if self.record_stack_traces:
            frames = [frame for frame in traceback.walk_stack(None) if not is_ours(frame[0].f_globals.get("__name__", ""))]
            node.stack_trace = "".join(traceback.StackSummary.extract(reversed(frames)).format())
        return node

    def proxy(self, node: Node) -> Proxy:
        """What stands for a node's value.

        Args:
            node: it.
        """
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Target, args: tuple, kwargs: dict, name: str | None = None, type_expr: Any = None,
                     proxy_factory_fn: Any = None) -> Any:
        """A node for a call, and what stands for its value.

        Args:
            kind, target, name, type_expr: of the node.
            args, kwargs: with proxies for nodes.
            proxy_factory_fn: makes the proxy.
        """
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn is not None else self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """Arguments with nodes for proxies.

        Args:
            a: the arguments.

        Raises:
            NotImplementedError: what has no place in a graph.
        """
        def convert(value):
            if isinstance(value, Proxy):
                return value.node
            if hasattr(value, "__fx_create_arg__"):
                return value.__fx_create_arg__(self)
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = {field.name: self.create_arg(getattr(value, field.name)) for field in dataclasses.fields(value)}
                return self.create_node("call_function", type(value), (), fields)
            return self.create_value(value)
        return map_aggregate(a, convert)

    def create_value(self, value: Any) -> Any:
        """An argument that is no proxy.

        Args:
            value: it.
        """
        return value

    def to_bool(self, obj: Proxy) -> bool:
        """What a condition on a proxy is. Raises TraceError.

        Args:
            obj: the proxy.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator:
        """What a proxy is iterated over as. Raises TraceError but where Python unpacks into a known number of names.

        Args:
            obj: the proxy.
        """
        caller = sys._getframe(1)
        if caller.f_code is Proxy.__iter__.__code__ and caller.f_back is not None:
            code, place = caller.f_back.f_code.co_code, caller.f_back.f_lasti
            if code[place] == dis.opmap["UNPACK_SEQUENCE"]:
                return iter([operator.getitem(obj, i) for i in range(code[place + 1])])
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
                         "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
                         "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
                         "iteration errors")

    def keys(self, obj: Proxy) -> Any:
        """What `**proxy` unpacks.

        Args:
            obj: the proxy.
        """
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Puts what is done with proxies behind the nodes of a graph.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """Stands for a node's value.

    Args:
        node: the node.
        tracer: makes further nodes; by default they come to the node's graph.

    Example:
        >>> import numtorch as torch
        >>> graph = torch.fx.Graph()
        >>> x = torch.fx.Proxy(graph.placeholder("x"))
        >>> (torch.relu(x) + 1).node.all_input_nodes
        [relu]
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        install()                                        # public functions ask their arguments, of which a proxy may be one
        self.node, self.tracer = node, tracer if tracer is not None else GraphAppendingTracer(node.graph)

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please "
                           "call torch.fx.wrap('len') at module scope")

    def keys(self) -> Any:
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        proxies: list[Proxy] = []

        def look(value):
            if isinstance(value, Proxy):
                proxies.append(value)
            return value
        map_aggregate((args, kwargs or {}), look)
        name = _methods().get(func)
        if name is not None and (_state.operator or not path_of(func).startswith("torch.")):
            return proxies[0].tracer.create_proxy("call_method", name, args, kwargs or {})
        return proxies[0].tracer.create_proxy("call_function", func, *_completed(func, args, kwargs or {}))


class Attribute(Proxy):
    """Stands for an attribute of a value. Called, it is a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:                              # type: ignore[override]  # made when it is used: most are methods
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter whose sizes are what they are.

    Args:
        tracer, node: of it.
        name: its path.
        param: it.
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.name, self.param = name, param

    shape = property(lambda self: self.param.shape)
    ndim = property(lambda self: self.param.ndim)

    def size(self, dim: int | None = None) -> Any:
        return self.param.shape if dim is None else self.param.shape[dim]

    def dim(self) -> int:
        return self.param.ndim

    def numel(self) -> int:
        return self.param.numel()

    nelement = numel


@functools.cache
def _signature(function):
    """The arguments of a function whose calls PyTorch completes, since it writes it in Python; None of another."""
    return inspect.signature(function) if is_written_in_python(*path_of(function).rpartition(".")[::2]) else None


def _completed(function, args, kwargs):
    """The arguments of a call as PyTorch's nodes have them: those without a default by place, all others by name."""
    signature = _signature(function)
    if signature is None:
        return args, kwargs
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    by_place: list = []
    by_name: dict = {}
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            by_place += value
        elif parameter.default is parameter.empty:
            by_place.append(value)
        else:
            by_name[name] = value
    return tuple(by_place), by_name


@functools.cache
def _methods():
    """The names of a tensor's methods; of its operators those without underscores, where these are methods too."""
    names: dict = {}
    for name in dir(Tensor):
        function, plain = inspect.getattr_static(Tensor, name), name.strip("_") if name.startswith("__") else name
        if inspect.isfunction(function):
            if name == function.__name__:                # `lt` rather than `less`
                names[function] = name
            names.setdefault(function, plain if callable(getattr(Tensor, plain, None)) else name)
    return names


def _operation(name, reflected=False):
    function = getattr(operator, name)

    def call(self, *others):
        args = (*others, self) if reflected else (self, *others)
        return self.tracer.create_proxy("call_function", function, args, {})
    return call


for _name in ("add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor").split():
    _plain = _name.rstrip("_")
    setattr(Proxy, f"__{_plain}__", _operation(_name))
    setattr(Proxy, f"__r{_plain}__", _operation(_name, True))
for _name in "eq ne lt gt le ge pos neg invert getitem abs".split():
    setattr(Proxy, f"__{_name}__", _operation(_name))
Proxy.__hash__ = object.__hash__                         # type: ignore[method-assign]
