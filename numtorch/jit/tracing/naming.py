"""Graphs of torch.fx, traced: values are called as the nodes are that they come from, and calls know the module that makes them."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...fx import CodeGen, GraphModule, Interpreter, Node
from ..graphs.graphmodules import Call, call_of, set_grad, write
from ..graphs.operations import run_in_place
from .cells import Traced


@contextlib.contextmanager
def values_named(module: Module) -> Iterator[None]:
    """While the context lasts, a graph of torch.fx runs node by node, so that each value that is traced gets its node's name.

    Args:
        module: any module. One whose `forward` is not its graph's, as that was changed and not recompiled, runs as it is.
    """
    graph = module.graph if isinstance(module, GraphModule) and "forward" not in vars(module) else None
    if graph is None or type(graph._codegen) is not CodeGen or graph.python_code().src != module.code:
        yield
        return
    vars(module)["forward"] = _Naming(module).run        # of the object, so that its hooks are called too
    try:
        yield
    finally:
        del vars(module)["forward"]


class _Naming(Interpreter):
    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n.op.startswith("call_"):
            for each in result if isinstance(result, (tuple, list)) else [result]:
                trace = _trace_of(each)
                if trace is not None:
                    stack = n.meta.get("nn_module_stack")        # of a graph that was made of another (graphs/graphmodules.py)
                    module = (str(n.target), type(self.fetch_attr(str(n.target)))) if n.op == "call_module" else \
                        list(stack.values())[-1] if stack else None
                    trace.named(each, n.name if each is result else None, module)
                    break
        return result

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        """What `jit.to_fx` writes for what is no call in a graph is none again."""
        trace = next(filter(None, map(_trace_of, args[0] if target is write else args)), None)
        if trace is None or kwargs.get("keeps"):
            return super().call_function(target, args, kwargs)
        if target is write and all(to.layout.shape == value.layout.shape for to, value in args):
            for to, value in [(to, trace.fresh(value)) for to, value in args]:
                trace.assign(to, value)
            return None
        if target is set_grad:
            args[0].grad = args[1]
            return None
        if target is call_of("put_part"):
            whole, source = trace.fresh(args[0]), args[1]
            trace.put(whole, source, *kwargs["attributes"])
            return whole
        if isinstance(target, Call) and kwargs.get("writes"):
            inputs = [trace.fresh(each) if i in kwargs["writes"] else each for i, each in enumerate(args)]
            results = run_in_place(target.op, inputs, kwargs.get("attributes", ()), kwargs["writes"])
            return results[0] if len(results) == 1 else tuple(results)
        return super().call_function(target, args, kwargs)


def _trace_of(x):
    layout = getattr(x, "layout", None)
    return layout.handler if isinstance(layout, Traced) else None
