"""The graph of a function, the names of its ops, and the tensors in what it gives."""
import numtorch as torch
from numtorch.jit.tracing.traces import trace_graph
from numtorch.tree import flatten


def ops(graph):
    return [node.op for node in graph.nodes if node.op != "constant"]


def traced(function, *args, **options):
    """A graph as users have it: passes, too, look at what each call of theirs gives."""
    graph = trace_graph(function, args, **options)
    graph.handed_out = True
    return graph


def tensors(result):
    return [leaf for leaf in flatten(result)[0] if isinstance(leaf, torch.Tensor)]
