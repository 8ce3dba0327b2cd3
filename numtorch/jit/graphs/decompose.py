"""Elementwise ops of users as calls of this package's, so that a graph runs where their source is absent."""
from __future__ import annotations

from ...exchange.scalars import number
from ...layout import Layout
from ...ops.core.expression import Apply, Symbol
from ...ops.core.primitive import is_ours, registry
from ...ops.pointwise.pointwise import PointwiseOp
from .graph import Graph, Node, Value


def decomposed(graph: Graph) -> Graph:
    """The same program, in which users' elementwise ops are what their formulas are made of.

    Args:
        graph: the program.

    Raises:
        NotImplementedError: a user's op whose formula cannot be read.
    """
    made, new = Graph(), {}

    def given(value):
        return new.get(value, value) if isinstance(value, Value) else value

    for value in graph.inputs:
        new[value] = made.input(value.layout, value.name)
    for node in graph.nodes:
        primitive = registry.get(node.op)
        inputs = [given(value) for value in node.inputs]
        names = [value.name for value in node.outputs]
        if isinstance(primitive, PointwiseOp) and not is_ours(primitive.module):
            formula = _formula(made, primitive, dict(zip(primitive.parameters, inputs)))
            out = node.outputs[0]
            if not isinstance(formula, Value) or formula.layout is not out.layout:
                raise NotImplementedError(f"jit: {node.op} of a user gives {out.layout!r}, which its formula does not say")
            new[out] = formula
            continue
        copied = Node(node.op, inputs, node.attributes, node.writes, node.keeps, node.wanted, node.draws)
        new.update(zip(node.outputs, made.call(copied, [value.layout for value in node.outputs], names)))
    made.results, made.form = [given(value) for value in graph.results], graph.form
    made.writes = [(new[a], new[b]) for a, b in graph.writes]
    made.gradients = [(new[a], new[b]) for a, b in graph.gradients]
    made.constants = dict(graph.constants)
    return made


def _formula(graph, op, values):
    """The value of a formula for the values of its arguments."""
    if not isinstance(op.expression, Apply):
        raise NotImplementedError(f"jit: the formula of {op.name} cannot be read; it runs only where {op.module} is")
    known: dict = {}

    def value(expression):
        if isinstance(expression, Symbol):
            return values[expression.name]
        if not isinstance(expression, Apply):
            return expression
        if id(expression) not in known:
            inputs = [value(a) for a in expression.args]
            if not any(isinstance(i, Value) for i in inputs):
                result = expression.op.function(*[number(i) for i in inputs]).item()
            elif not is_ours(expression.op.module):
                result = _formula(graph, expression.op, dict(zip(expression.op.parameters, inputs)))
            else:
                layouts: tuple[Layout, ...] = tuple([i.layout if isinstance(i, Value) else number(i).layout for i in inputs])
                out = expression.op.planned_for(layouts, ()).out
                result, = graph.call(Node(expression.op.key, inputs), [out])
            known[id(expression)] = result
        return known[id(expression)]
    return value(op.expression)
