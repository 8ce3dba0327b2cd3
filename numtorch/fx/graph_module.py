"""A module that runs a graph, by the Python that the graph is written as."""
from __future__ import annotations

import copy
import itertools
import linecache
import os
from typing import Any

from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..tensor import Tensor
from .folders import write_folder
from .graph import Graph
from .node import map_aggregate, map_arg

_numbers = itertools.count()


_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"     # of `meta`, under which PyTorch keeps what a user has set


class _CodeOnlyModule(Module):
    """A module that is nothing but the state of another, for classes derived from GraphModule that copy themselves."""

    def __init__(self, body: dict) -> None:
        super().__init__()
        self.__dict__ = body


class GraphModule(Module):
    """A module whose `forward` is a graph.

    Args:
        root: a module, or a dict from paths to modules and tensors: what the graph's paths lead to is taken from it.
        graph: the graph. After it was changed, `recompile` has `forward` follow.
        class_name: the name of the class.

    Attributes:
        graph, code: the graph and its text.
        meta: a place for notes.

    Raises:
        RuntimeError: a path that leads nowhere.

    Example:
        >>> import numtorch as torch
        >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
        >>> isinstance(traced, torch.fx.GraphModule), [n.op for n in traced.graph.nodes]
        (True, ['placeholder', 'call_module', 'output'])
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        base = next(c for c in cls.__mro__ if "_is_own_class" not in vars(c))
        return object.__new__(type("GraphModuleImpl", (base,), {"_is_own_class": True}))      # each has a `forward` of its own

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        self.meta: dict = {}
        if isinstance(root, Module):
            self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, str(node.target))
        else:
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    if node.target not in root:
                        raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in "
                                           f"``root``!")
                    _assign(root[node.target], self, str(node.target))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        return self.__dict__["_graph"]

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    _in_spec = property(lambda self: self.graph._codegen.given)            # of code that takes structures
    _out_spec = property(lambda self: self.graph._codegen.returned)

    @property
    def code(self) -> str:
        return self._code

    def recompile(self) -> Any:
        """Have `forward` do what the graph says now.

        Returns:
            The code.
        """
        code = self.graph.python_code("self")
        file = f"<numtorch fx {next(_numbers)}>"
        linecache.cache[file] = len(code.src), None, code.src.splitlines(keepends=True), file
        scope = dict(code.globals)
        exec(compile(code.src, file, "exec", dont_inherit=True), scope)        # annotations are types, as in PyTorch's
        self.__dict__["_code"] = code.src
        type(self).forward = scope["forward"]
        return code

    def print_readable(self, print_output: bool = True) -> str:
        """The module as text, printed.

        Args:
            print_output: whether to print it.
        """
        body = self.code.strip().replace("\n", "\n    ")
        text = f"class {type(self).__name__}(torch.nn.Module):\n    {body}\n"
        if print_output:
            print(text)
        return text

    def to_folder(self, folder: str | os.PathLike, module_name: str = "FxModule") -> None:
        """Write the module as a package of Python, from which `from folder import FxModule` has its class.

        Args:
            folder: where.
            module_name: the class's name.

        Raises:
            RuntimeError: the text has a name for what no other program can import, such as a function in a function.
        """
        write_folder(self, folder, module_name)

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path.

        Args:
            target: the path.
            m: the module.

        Returns:
            Whether that was possible.
        """
        try:
            _assign(m, self, target)
        except AttributeError:
            return False
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a path away.

        Args:
            target: the path.

        Returns:
            Whether there was one.
        """
        *parents, last = target.split(".")
        owner: Any = self
        for parent in parents:
            owner = getattr(owner, parent, None)
        if owner is None or not isinstance(getattr(owner, last, None), Module):
            return False
        delattr(owner, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take the modules away that the graph does not use."""
        used = {str(node.target) for node in self.graph.nodes if node.op in ("call_module", "get_attr")}
        for name, _ in list(self.named_modules()):
            if name and not any(path == name or path.startswith(f"{name}.") or name.startswith(f"{path}.") for path in used):
                self.delete_submodule(name)

    def __str__(self):
        return "\n".join([super().__str__(), self.code, "# To see more debug info, please use `graph_module.print_readable()`"])

    def _state(self):
        return {key: value for key, value in self.__dict__.items() if key not in ("_graph", "_code", "meta")}

    def __deepcopy__(self, memo):
        root = Module()
        root.__dict__.update(copy.deepcopy(self._state(), memo))
        made = memo[id(self)] = GraphModule(root, copy.deepcopy(self.graph), type(self).__name__)
        made.meta = copy.deepcopy(self.meta, memo)
        return made

    def __copy__(self):
        made = GraphModule(self, copy.deepcopy(self.graph), type(self).__name__)
        made.meta = dict(self.meta)
        return made

    def __reduce__(self):
        nodes = [(n.name, n.op, n.target, _marked(n.args), _marked(n.kwargs), n.type) for n in self.graph.nodes]
        return _rebuilt, (self._state(), nodes, type(self).__name__, self.graph._codegen, self.meta)


class _Mark:
    """A node's name in a pickle."""

    def __init__(self, name):
        self.name = name


def _marked(argument):
    return map_arg(argument, lambda node: _Mark(node.name))


def _rebuilt(state, nodes, name, codegen, meta):
    root, graph, known = Module(), Graph(), {}
    root.__dict__.update(state)
    for own, op, target, args, kwargs, kind in nodes:
        args, kwargs = map_aggregate((args, kwargs), lambda value: known[value.name] if isinstance(value, _Mark) else value)
        known[own] = graph.create_node(op, target, args, kwargs, own, kind)
    graph.set_codegen(codegen)
    made = GraphModule(root, graph, name)
    made.meta = meta
    return made


def attribute_at(module: Any, path: str) -> Any:
    """What a path leads to.

    Args:
        module: where it begins.
        path: it.

    Raises:
        RuntimeError: nowhere.
    """
    for part in path.split("."):
        if not hasattr(module, part):
            raise RuntimeError(f"GraphModule: the path {path!r} leads nowhere")
        module = getattr(module, part)
    return module


def _copy_attr(source, target, path):
    _assign(attribute_at(source, path), target, path)


def _assign(value, target, path):
    *parents, last = path.split(".")
    for parent in parents:
        if parent not in target._modules:
            target.add_module(parent, Module())
        target = target._modules[parent]
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        target.register_buffer(last, value)
    else:
        setattr(target, last, value)
