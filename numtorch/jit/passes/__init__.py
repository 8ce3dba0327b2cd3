"""Functions from graphs to graphs: the same values of fewer or cheaper calls. Each changes the graph that it is given, and returns
how often it did something.

deadcode        what nobody uses
subexpressions  what is computed twice
constants       what depends on constants alone
algebra         what is equal to something simpler
convnorm        batch norms behind convolutions and linear maps
checkpointing   what is computed again instead of being kept, for a budget of memory
layouts         convolutions, and what stands between them, with channels last
epilogues       biases and elementwise calls as part of products and convolutions
groups          calls that can be one: what the two fusions below have in common
keptdims        reductions of rows keep their dimension, for the next
rownorms        layer norms beside elementwise calls as what they are made of
rowfusion       sums, means, extremes, norms and softmax of rows, with the elementwise calls around them
fusion          elementwise calls as one
inplace         writes into the memory that they name, instead of a copy
steps           updates of single parameters that are one step of an optimiser
memory          how long values live, and what memory that takes

`optimized` runs them until nothing changes.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..graphs.graph import Graph
from .algebra import simplify
from .checkpointing import recompute
from .constants import fold_constants
from .convnorm import fold_norms
from .deadcode import dead_code
from .epilogues import fuse_biases, fuse_epilogues
from .fusion import fuse
from .layouts import FEWEST, lay_out
from .rowfusion import fuse_rows
from .subexpressions import merge_subexpressions

_ROUNDS = 10


def optimized(graph: Graph, frozen: Mapping[str, Any] | None = None, fusing: bool = True,
              memory_budget: float = 1.0, channels_last: bool = False) -> tuple[Graph, dict[str, int]]:
    """A graph after all passes, and how often each of them did something.

    Args:
        graph: it. It stays as it is.
        frozen: the constants whose values will not change, by name.
        fusing: whether elementwise calls, and those along rows among them, become one.
        channels_last: whether chains of convolutions have channels last where kernels take these.
        memory_budget: the peak of memory that is wanted, as a fraction of what it is; 1 has nothing computed again.
    """
    graph = graph.copy()
    done: dict[str, int] = {}
    for _ in range(_ROUNDS):
        counts = {"dead code": dead_code(graph), "subexpressions": merge_subexpressions(graph), "algebra": simplify(graph)}
        if frozen:
            counts["norms"], counts["constants"] = fold_norms(graph, frozen), fold_constants(graph, frozen)
        for name, count in counts.items():
            done[name] = done.get(name, 0) + count
        if not any(counts.values()):
            break
    if channels_last:
        done["channels last"] = lay_out(graph)
    if memory_budget < 1:
        done["computed again"] = recompute(graph, memory_budget)
    if fusing:
        biases = fuse_biases(graph)
        done["rows"] = fuse_rows(graph)
        done["fusion"] = fuse(graph)
        done["epilogues"] = biases + fuse_epilogues(graph)
        dead_code(graph)
    graph.verify()
    return graph, {name: count for name, count in done.items() if count}


def choices(graph: Graph, frozen: Mapping[str, Any] | None = None,
            memory_budget: float = 1.0) -> list[tuple[Graph, dict[str, int]]]:
    """A graph after all passes; where chains of convolutions can have channels last, also the graph in which they do, since only
    the clock says which of both is faster.

    Args:
        graph, frozen, memory_budget: as `optimized` has them.
    """
    graphs = [optimized(graph, frozen, memory_budget=memory_budget)]
    if sum(node.op == "convolution" for node in graph.nodes) >= FEWEST:
        other = optimized(graph, frozen, memory_budget=memory_budget, channels_last=True)
        graphs += [other] if "channels last" in other[1] else []
    return graphs
