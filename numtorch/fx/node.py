"""One call in a graph, under PyTorch's names."""
from __future__ import annotations

import builtins
import functools
import operator
import types
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from ..interposition import public_functions
from ..ops.reduce.query import _assert, _assert_async
from ..tensor import Tensor
from .operator_schemas import ArgsKwargsPair, normalize_function, normalize_module

if TYPE_CHECKING:
    from .graph import Graph

Target = Callable[..., Any] | str
Argument = Any
KINDS = ("placeholder", "get_attr", "call_function", "call_module", "call_method", "output", "root")
_effects: set = {operator.setitem, _assert, _assert_async}
_RANGES = ("_record_function_enter", "_record_function_exit")           # functions of the profiler, which stands above


def has_side_effect(fn: Callable) -> Callable:
    """Have calls of a function stay in a graph although nobody uses what they return.

    Args:
        fn: the function.

    Returns:
        It.

    Example:
        >>> import numtorch as torch
        >>> @torch.fx.has_side_effect
        ... def log(x):
        ...     print(x)
    """
    _effects.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable) -> Argument:
    """Arguments with a function applied to each thing in their tuples, lists, dicts and slices.

    Args:
        a: the arguments.
        fn: the function.
    """
    if isinstance(a, tuple):
        parts = [map_aggregate(each, fn) for each in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return [map_aggregate(each, fn) for each in a]
    if isinstance(a, dict):
        return {key: map_aggregate(value, fn) for key, value in a.items()}
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Argument, fn: Callable) -> Argument:
    """Arguments with a function applied to each node in them.

    Args:
        a: the arguments.
        fn: the function.

    Example:
        >>> import numtorch as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> torch.fx.map_arg((x, [1, x]), lambda node: node.name)
        ('x', [1, 'x'])
    """
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


def path_of(function: Callable) -> str:
    """A function's name with its module, as code writes it: `torch.relu`.

    Args:
        function: it.
    """
    name = getattr(function, "__name__", type(function).__name__)
    path = _paths().get(function)
    if path is not None:
        return path
    module = getattr(function, "__module__", None) or "builtins"
    module = {"_operator": "operator", "builtins": ""}.get(module, module)
    return f"{module}.{name}" if module else name


def type_name(kind: Any) -> str:
    """A type as graphs show it: `bool`, `torch.Tensor`, `typing.List[int]`.

    Args:
        kind: an annotation.
    """
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        module = kind.__module__
        return "torch.Tensor" if kind is Tensor else kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
    return repr(kind).replace(f"{Tensor.__module__}.Tensor", "torch.Tensor")


# Functions of `torch.nn.functional` that PyTorch compiles, as are those that write in place.
_COMPILED = frozenset("""adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear channel_shuffle conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity feature_dropout gelu hardshrink linear logsigmoid matmul
    mul one_hot pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu scaled_dot_product_attention sigmoid softplus softshrink
    tanh transpose unsqueeze""".split())
_OF_FUNCTIONAL = frozenset("cdist meshgrid split stft tensordot unique unique_consecutive".split())


def is_written_in_python(module: str, name: str) -> bool:
    """Whether a function is one of `torch.nn.functional` or `torch.functional` that PyTorch writes in Python.

    Args:
        module: its module's name.
        name: its own.
    """
    return module == "torch.functional" or (
        module == "torch.nn.functional" and name not in _COMPILED and not name.endswith("_"))


@functools.cache
def _paths():
    known: dict = {}
    for namespace, name, function in public_functions():
        if isinstance(function, Hashable) and callable(function) and isinstance(namespace, types.ModuleType):
            module = namespace.__name__.replace("numtorch", "torch", 1)
            if module == "torch" and name in _OF_FUNCTIONAL:
                module = "torch.functional"
            first = known.get(function, "").rpartition(".")[0]
            # here it may be one of `torch`, too, or have other names
            if not first or is_written_in_python(module, name) or (module == first and name == function.__name__):
                known[function] = f"{module}.{name}"
    return known


class Node:
    """One node of a graph.

    Attributes:
        op: "placeholder", "get_attr", "call_function", "call_module", "call_method" or "output".
        name: unique in the graph.
        target: what is called or looked up: a function, a method's name, or the path of a module or attribute.
        args, kwargs: of the call; other nodes stand in them.
        users: the nodes that use this one.
        meta: a place for notes. A tracer's nodes have `nn_module_stack` there: (path, class) of the modules around the call.
        stack_trace: where the call was made, which tracers note whose `record_stack_traces` is set; else None.
        prev, next: its neighbours; beyond the first and the last stands a node whose `op` is "root".
    """

    def __init__(self, graph: Graph, name: str, op: str, target: Target, args: tuple = (), kwargs: dict | None = None,
                 type_expr: Any = None) -> None:
        if op not in KINDS:
            raise AssertionError(f"Node op {op} is not one of {KINDS}")
        if op == "call_function" and not callable(target):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable is "
                             f"expected")
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is "
                             f"expected")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, type_expr
        self._args: tuple = ()
        self._kwargs: dict = {}
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self.meta: dict = {}
        self._update(args, kwargs or {})

    # ------------------------------------------------------------ what it uses
    def _update(self, args, kwargs):
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = args, kwargs, {}
        map_arg((args, kwargs), lambda node: self._input_nodes.setdefault(node))
        for node in self._input_nodes:
            node.users.setdefault(self)

    @property
    def args(self) -> tuple:
        return self._args

    @args.setter
    def args(self, args: tuple) -> None:
        self._update(tuple(args), self._kwargs)

    @property
    def kwargs(self) -> dict:
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict) -> None:
        self._update(self._args, dict(kwargs))

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes that this one uses, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Have another positional argument.

        Args:
            idx: its place.
            arg: the argument.
        """
        self.args = (*self._args[:idx], arg, *self._args[idx + 1:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Have another argument by name.

        Args:
            key: its name.
            arg: the argument.
        """
        self.kwargs = {**self._kwargs, key: arg}

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Have a further positional argument.

        Args:
            idx: its place.
            arg: the argument.
        """
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node in the places of one.

        Args:
            old_input, new_input: the nodes.
        """
        args, kwargs = map_arg((self._args, self._kwargs), lambda node: new_input if node is old_input else node)
        self._update(args, kwargs)

    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: Callable = lambda user: True,
                              *, propagate_meta: bool = False) -> list[Node]:
        """Have all that use this node use another.

        Args:
            replace_with: the other.
            delete_user_cb: says of a user whether it does.
            propagate_meta: give the other this one's notes.

        Returns:
            The users.
        """
        if propagate_meta:
            replace_with.meta.update(self.meta)
        users = [user for user in self.users if delete_user_cb(user)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    # ------------------------------------------------------------ where it stands
    @property
    def next(self) -> Node:
        return self.graph._neighbour(self, 1)

    @property
    def prev(self) -> Node:
        return self.graph._neighbour(self, -1)

    def prepend(self, x: Node) -> None:
        """Move a node before this one.

        Args:
            x: the node.
        """
        self.graph._move(x, self, 0)

    def append(self, x: Node) -> None:
        """Move a node behind this one.

        Args:
            x: the node.
        """
        self.graph._move(x, self, 1)

    # ------------------------------------------------------------ what it is
    @property
    def stack_trace(self) -> str | None:
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self) -> bool:
        """Whether it must stay although nobody uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            return self.target in _effects or name in _RANGES or (name.endswith("_") and not name.endswith("__"))
        if self.op == "call_method":
            return str(self.target).endswith("_") and not str(self.target).endswith("__")
        return self.op == "call_module"                  # it may have buffers that move on

    def normalized_arguments(self, root: Any, arg_types: Any = None, kwarg_types: Any = None,
                             normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
        """Its arguments with all defaults: what stands by place by place, all others by name. None for what is no call of a
        function or of a layer, or does not say its arguments.

        Args:
            root: the module that the layers are of.
            arg_types, kwarg_types: taken for PyTorch's sake.
            normalize_to_only_use_kwargs: whether all stand by name.
        """
        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types,  # type: ignore[arg-type]
                                      normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, str(self.target), self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    def format_node(self) -> str:
        """The node as a line of the graph's text."""
        where, said = f"target={self._shown_target()}", "" if self.type is None else f"{type_name(self.type)} "
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {said}[num_users={len(self.users)}] = placeholder[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {said}[num_users={len(self.users)}] = get_attr[{where}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        call = f"(args = {_shown(self.args)}, kwargs = {_shown(self.kwargs)})"
        return f"%{self.name} : {said}[num_users={len(self.users)}] = {self.op}[{where}]{call}"

    def _shown_target(self):
        path = self.target if isinstance(self.target, str) else path_of(self.target)
        return path if isinstance(self.target, str) or getattr(builtins, path, None) is not self.target else f"builtins.{path}"

    def __repr__(self):
        return self.name


def _shown(argument):
    """An argument as graphs show it, without quotes."""
    if isinstance(argument, tuple):
        return f"({', '.join(map(_shown, argument))}{',' if len(argument) == 1 else ''})"
    if isinstance(argument, list):
        return f"[{', '.join(map(_shown, argument))}]"
    if isinstance(argument, dict):
        return f"{{{', '.join(f'{key}: {_shown(value)}' for key, value in argument.items())}}}"
    return f"%{argument.name}" if isinstance(argument, Node) else str(argument)
