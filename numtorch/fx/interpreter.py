"""Graphs run node by node, and made anew by being run."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..nn.modules.module import Module
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import GraphAppendingTracer, Proxy


class Interpreter:
    """Runs a module's graph node by node. Subclasses change what nodes do.

    Args:
        module: a GraphModule, or a module in which the graph's paths are found.
        garbage_collect_values: let go of values that nobody needs any more.
        graph: the graph, where it is not the module's own.

    Attributes:
        env: the values of nodes.

    Example:
        >>> import numtorch as torch
        >>> class Names(torch.fx.Interpreter):
        ...     def run_node(self, n):
        ...         print(n.name)
        ...         return super().run_node(n)
        >>> Names(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)).run(torch.zeros(1))
        x
        relu
        add
        output
        tensor([1.])
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module, self.garbage_collect_values = module, garbage_collect_values
        self.graph: Graph = graph if graph is not None else module.graph         # type: ignore[assignment]
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.args_iter: Iterator = iter(())
        last: dict[Node, Node] = {}
        for node in self.graph.nodes:
            for used in node.all_input_nodes:
                last[used] = node
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        for used, node in last.items():
            self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict | None = None, enable_io_processing: bool = True) -> Any:
        """What the graph returns.

        Args:
            args: its arguments.
            initial_env: values of nodes that are known.
            enable_io_processing: whether arguments and result are those of the graph's code (`CodeGen.process_inputs`), and not
                those of the graph.
        """
        self.env = dict(initial_env or {})
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            if self.garbage_collect_values:
                for done in self.user_to_last_uses.get(node, ()):
                    del self.env[done]
            if node.op == "output":
                return self.graph.process_outputs(self.env[node]) if enable_io_processing else self.env[node]
        return None

    def boxed_run(self, args_list: list) -> Any:
        """`run`, of a list of arguments that is emptied.

        Args:
            args_list: the arguments.
        """
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """A node's value.

        Args:
            n: the node.
        """
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict]:
        """A node's arguments, with values for nodes.

        Args:
            n: the node.
        """
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """Arguments with values for nodes.

        Args:
            args: the arguments.
            n: the node they are of.
        """
        return map_arg(args, lambda node: self.env[node])

    def fetch_attr(self, target: str) -> Any:
        """What a path leads to.

        Args:
            target: the path.

        Raises:
            RuntimeError: nowhere.
        """
        result = self.module
        for part in target.split("."):
            if not hasattr(result, part):
                raise RuntimeError(f"Node referenced nonexistent target {target}")
            result = getattr(result, part)
        return result

    # ------------------------------------------------------------ what each kind does
    def placeholder(self, target: Target, args: tuple, kwargs: dict) -> Any:
        """The next argument.

        Args:
            target, args, kwargs: of the node.

        Raises:
            RuntimeError: there is none.
        """
        if str(target).startswith("**"):
            return {}
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!") from None

    def get_attr(self, target: Target, args: tuple, kwargs: dict) -> Any:
        """A parameter, buffer or other attribute.

        Args:
            target, args, kwargs: of the node.
        """
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple, kwargs: dict) -> Any:
        """A call of a function.

        Args:
            target, args, kwargs: of the node.
        """
        assert not isinstance(target, str)
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple, kwargs: dict) -> Any:
        """A call of a method of the first argument.

        Args:
            target, args, kwargs: of the node.
        """
        return getattr(args[0], str(target))(*args[1:], **kwargs)

    def call_module(self, target: Target, args: tuple, kwargs: dict) -> Any:
        """A call of a module.

        Args:
            target, args, kwargs: of the node.
        """
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple, kwargs: dict) -> Any:
        """What is returned.

        Args:
            target, args, kwargs: of the node.
        """
        return args[0]


class Transformer(Interpreter):
    """Makes a graph anew of what its nodes do with proxies. Subclasses change what they do.

    Args:
        module: a GraphModule.

    Example:
        >>> import numtorch as torch
        >>> class Neg(torch.fx.Transformer):
        ...     def call_function(self, target, args, kwargs):
        ...         return super().call_function(torch.neg if target is torch.sigmoid else target, args, kwargs)
        >>> Neg(torch.fx.symbolic_trace(torch.sigmoid)).transform()(torch.ones(1))
        tensor([-1.])
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.new_graph = Graph()
        self.new_graph.set_codegen(self.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph)
        self.tracer.root = module

    def run_node(self, n: Node) -> Any:
        self.tracer.origin = n
        return super().run_node(n)

    def placeholder(self, target: Target, args: tuple, kwargs: dict) -> Proxy:
        return self.tracer.create_proxy("placeholder", target, args[:1], {}, type_expr=self.tracer.origin.type)

    def get_attr(self, target: Target, args: tuple, kwargs: dict) -> Proxy:
        return self.tracer.create_proxy("get_attr", target, (), {})

    def call_module(self, target: Target, args: tuple, kwargs: dict) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Target, args: tuple, kwargs: dict) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the graph made anew."""
        result = self.run(enable_io_processing=False)
        end = self.new_graph.output(map_proxies(result), self.tracer.origin.type)
        end.meta = dict(self.tracer.origin.meta)
        return GraphModule(self.module, self.new_graph)


class _TransformerTracer(GraphAppendingTracer):
    root: Module
    origin: Node                                         # of which nodes are made now: its notes are theirs

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        node.meta.update(self.origin.meta)
        return node

    def is_leaf_module(self, _, __):
        return True


def map_proxies(result: Any, fn: Callable = lambda proxy: proxy.node) -> Any:
    """A structure with nodes for proxies.

    Args:
        result: the structure.
        fn: what stands for a proxy.
    """
    return map_aggregate(result, lambda each: fn(each) if isinstance(each, Proxy) else each)
