"""Functions and modules as graphs of the calls that they make in Python, to be looked at, changed, and run (docs/fx.md).

operator_schemas   arguments of calls in one form
node               one call
codegen            the text of a graph
graph              calls in order
proxy              what stands for a value while a function is traced
structures         arguments that are structures, of which each leaf is one of the graph
tracer             `symbolic_trace`
folders            a module as a package of Python
graph_module       a module that runs a graph
interpreter        a graph, run node by node; or made anew
subgraph_rewriter  `replace_pattern`, with filters or without
passes/            what is done with whole graphs
"""
from __future__ import annotations

from . import passes
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .structures import PH
from .subgraph_rewriter import replace_pattern
from .tracer import Tracer, symbolic_trace, wrap

__all__ = ["PH", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "has_side_effect",
           "map_arg", "passes", "replace_pattern", "symbolic_trace", "wrap"]


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from ..alias import attribute
    return attribute(__name__, name)
