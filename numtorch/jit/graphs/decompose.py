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
            formula, out = _called(made, calls_of(primitive), inputs), node.outputs[0]
            if formula.layout is not out.layout:
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


def calls_of(op: PointwiseOp) -> tuple:
    """The calls of this package's ops that a user's is made of, as `fused` has them (fused.py). The last gives the result.

    Args:
        op: it. What stands for tensors are its arguments, in order.

    Raises:
        NotImplementedError: its formula cannot be read, or computes nothing.
    """
    calls: list[tuple] = []
    arguments: list = [("x", i) for i in range(len(op.parameters))]
    if not isinstance(_operand(op, arguments, calls), tuple):
        raise NotImplementedError(f"jit: the formula of {op.name} gives a number, whatever its arguments are")
    return tuple(calls)


def _operand(op, arguments, calls):
    """What gives a formula's value, for what gives its arguments."""
    if not isinstance(op.expression, Apply):
        raise NotImplementedError(f"jit: the formula of {op.name} cannot be read; it runs only where {op.module} is")
    known: dict = {}
    named = dict(zip(op.parameters, arguments))

    def operand(expression):
        if isinstance(expression, Symbol):
            return named[expression.name]
        if not isinstance(expression, Apply):
            return expression
        if id(expression) not in known:
            inputs = [operand(a) for a in expression.args]
            if not any(isinstance(i, tuple) for i in inputs):
                result = expression.op.function(*[number(i) for i in inputs]).item()
            elif not is_ours(expression.op.module):
                result = _operand(expression.op, inputs, calls)
            else:
                result = "v", len(calls)
                calls.append((expression.op.key, *inputs))
            known[id(expression)] = result
        return known[id(expression)]
    return operand(op.expression)


def _called(graph, calls, inputs):
    """The value of the last of some calls, which become nodes."""
    values: list = []
    for op, *operands in calls:
        given = [(inputs if each[0] == "x" else values)[each[1]] if isinstance(each, tuple) else each for each in operands]
        layouts: tuple[Layout, ...] = tuple([i.layout if isinstance(i, Value) else number(i).layout for i in given])
        result, = graph.call(Node(op, given), [registry[op].planned_for(layouts, ()).out])
        values.append(result)
    return values[-1]
