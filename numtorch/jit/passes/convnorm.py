"""Batch norms behind convolutions and linear maps become part of their weights, for inference:

    (w * x + b - mean) / sqrt(var + eps) * gamma + beta  =  (w * s) * x + (b - mean) * s + beta  with  s = gamma / sqrt(var + eps)
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...autograd.modes import no_grad
from ..graphs.graph import Graph, Node, Value
from ..graphs.operations import CONSTANT


def fold_norms(graph: Graph, frozen: Mapping[str, Any]) -> int:
    """Fold batch norms of running statistics into the weights before them. Returns how many.

    Args:
        graph: it is changed.
        frozen: the constants whose values will not change, by name.
    """
    users, ends, count = graph.users(), set(graph.ends()), 0

    def held(value):
        if value is None:
            return None
        node = value.node if isinstance(value, Value) else None
        name = node.attributes[0] if node is not None and node.op == CONSTANT else None
        return graph.constants[name].detach() if name in frozen or str(name).startswith("folded") else value

    for norm in list(graph.nodes):
        if norm.op != "batch_norm" or norm.attributes[0] or norm.writes or norm.keeps or not isinstance(norm.inputs[0], Value):
            continue
        conv = norm.inputs[0].node
        if conv is None or conv.op not in ("convolution", "linear") or conv.keeps or len(users[norm.inputs[0]]) != 1 \
                or norm.inputs[0] in ends or (conv.op == "linear" and norm.inputs[0].layout.ndim != 2):
            continue
        weight, bias = held(conv.inputs[1]), held(conv.inputs[2])
        gamma, beta, mean, var = map(held, norm.inputs[1:5])
        if any(isinstance(t, Value) for t in (weight, bias, gamma, beta, mean, var)) or mean is None or var is None:
            continue
        with no_grad():
            scale = (var + norm.attributes[2]).rsqrt()
            scale = scale if gamma is None else scale * gamma
            shift = (-mean if bias is None else bias - mean) * scale
            shift = shift if beta is None else shift + beta
            new_weight = weight * scale.reshape(-1, *(1,) * (weight.ndim - 1))
        if new_weight.dtype is not weight.dtype:
            continue
        inputs = [conv.inputs[0], graph.constant("folded", new_weight), graph.constant("folded", shift)]
        made = Node(conv.op, inputs, conv.attributes)
        value = Value(graph.name(), norm.outputs[0].layout, made)
        made.outputs = [value]
        graph.nodes[graph.nodes.index(norm)] = made
        graph.replace({norm.outputs[0]: value})
        count += 1
    return count
