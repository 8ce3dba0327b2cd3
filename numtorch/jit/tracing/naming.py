"""Graphs of torch.fx, traced: values are called as the nodes are that they come from, and calls know the module that makes them."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...fx import CodeGen, GraphModule, Interpreter, Node
from ...nn.modules.module import Module
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...tensor import wrap
from ..graphs.graph import Node as GraphNode
from ..graphs.graphmodules import Call, call_of, set_grad, write
from ..graphs.operations import CONSTANT, part, run_in_place
from .cells import Cell, Traced


@contextlib.contextmanager
def values_named(module: Module) -> Iterator[None]:
    """While the context lasts, a graph of torch.fx runs node by node, so that each value that is traced gets its node's name.

    Args:
        module: any module. One whose `forward` is not its graph's, as that was changed and not recompiled, runs as it is.
    """
    graph = module.graph if isinstance(module, GraphModule) and "forward" not in vars(module) else None
    if graph is None or type(graph._codegen) is not CodeGen or graph._codegen._body_transformer is not None or \
            graph.python_code().src != module.code:
        yield
        return
    vars(module)["forward"] = _Naming(module).run        # of the object, so that its hooks are called too
    try:
        yield
    finally:
        del vars(module)["forward"]


class _Naming(Interpreter):
    attributed: GraphNode | None = None                  # the last call of which is known where it comes from

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n.op.startswith("call_"):
            for each in result if isinstance(result, (tuple, list)) else [result]:
                trace = _trace_of(each)
                if trace is not None:
                    self._attribute(trace, n)
                    value = trace.value_of(each)
                    if each is result and value.name.isdigit():
                        value.name = trace.graph.name(n.name)
                    break
        return result

    def _attribute(self, trace, n):
        """Note of the calls that were traced last which module they are of."""
        stack = n.meta.get("nn_module_stack")            # of a graph that was made of another (graphs/graphmodules.py)
        module = (str(n.target), type(self.fetch_attr(str(n.target)))) if n.op == "call_module" else \
            list(stack.values())[-1] if stack else None
        nodes = trace.graph.nodes
        for node in reversed(nodes):
            if node is self.attributed or node.op == CONSTANT:
                break
            node.module = module
        self.attributed = nodes[-1] if nodes else None

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """What `jit.to_fx` writes for what is no call in a graph is none again."""
        trace = next(filter(None, map(_trace_of, args[0] if target is write else args)), None)
        if trace is None or kwargs.get("keeps"):
            return super().call_function(target, args, kwargs)
        if target is write and all(trace.inside(to).layout is trace.inside(value).layout for to, value in args):
            for to, value in [(to, _fresh(trace, value)) for to, value in args]:
                _assign(trace, to, value)
            return None
        if target is set_grad:
            args[0].grad = args[1]
            return None
        if target is call_of("put_part"):
            whole = _fresh(trace, args[0])
            _put(trace, whole, args[1], *kwargs["attributes"])
            return whole
        if isinstance(target, Call) and kwargs.get("writes"):
            inputs = [_fresh(trace, each) if i in kwargs["writes"] else each for i, each in enumerate(args)]
            results = run_in_place(target.op, inputs, kwargs.get("attributes", ()), kwargs["writes"])
            return results[0] if len(results) == 1 else tuple(results)
        return super().call_function(target, args, kwargs)


def _trace_of(x):
    layout = getattr(x, "layout", None)
    return layout.handler if isinstance(layout, Traced) else None


def _fresh(trace, x):
    """A traced tensor of its own that holds the same value, which is no call: a graph's values are not written to."""
    copied, value = clone(trace.inside(x)), trace.value_of(x)
    cell = trace.cells[id(copied.memory)] = Cell(wrap(copied.memory, copied.address, copied.layout), value)
    cell.first = None                                    # what is written here is not written to an input
    return trace.traced(copied, cell, value, 0)


def _put(trace, x, source, shape, strides, offset):
    """Have a region of a fresh tensor hold another's values."""
    value = trace.value_of(source)
    region = part(trace.inside(x), shape, strides, offset)
    region.copy_(trace.inside(source))
    trace.store(region, value)


def _assign(trace, target, source):
    """Have a tensor's memory hold a value of the same layout, which is no call."""
    value = trace.value_of(source)
    if not isinstance(target.layout, Traced):
        trace.adopt(target)
    inside = trace.inside(target)
    detach(inside).copy_(detach(trace.inside(source)))
    trace.store(inside, value)
