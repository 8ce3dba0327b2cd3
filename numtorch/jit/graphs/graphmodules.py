"""A graph as one of `torch.fx`: calls in Python under PyTorch's names of nodes, to be changed by what is written for those. The way
back is `jit.trace` of the module.

Elementwise ops and others without attributes are public functions there (`torch.tanh`), views are methods. What has no public
function that takes the same is a `Call` of its op.
"""
from __future__ import annotations

import functools
import operator
from typing import Any

from ... import fx
from ...autograd.modes import no_grad
from ...fx.node import path_of
from ...ops.core.primitive import registry
from ...ops.memory.detach import detach
from ...ops.nn.linear import linear
from ...ops.pointwise.functions import add, sub
from ...ops.pointwise.pointwise import PointwiseOp
from .graph import CONSTANT, Graph, Node, Value
from .operations import CHECKS, in_order, run_node, write_all
from .scriptcalls import SCRIPTS, run_script_op
from .scriptmodules import ScriptFunction, ScriptModule

_METHODS = {"every": "unbind", **{name: name for name in (
    "transpose", "expand", "permute", "unsqueeze", "select", "narrow", "unfold", "diagonal", "unflatten")}}
_FUNCTIONS: dict[str, Any] = {"add": add, "sub": sub, "linear": linear}     # which take more than the ops do
_BY_STRIDES = ("part", "put_part", "view.as_strided", "view.try_view", "view.reread")


class Call:
    """An op of a graph as a function.

    Args:
        op: its name.
    """

    __module__ = "graph"                                 # in the code that fx writes

    def __init__(self, op: str) -> None:
        self.op, self.__name__ = op, op.replace(".", "_")

    def __call__(self, *inputs: Any, attributes: tuple = (), writes: tuple = (), keeps: tuple = (), wanted: tuple = ()) -> Any:
        results = run_node(Node(self.op, inputs, attributes, writes, keeps, wanted), list(inputs))
        return results[0] if len(results) == 1 else tuple(results)

    def __reduce__(self):
        return call_of, (self.op,)

    def __repr__(self) -> str:
        return f"<op {self.op}>"


class ScriptCall(Call):
    """A call of a script.

    Args:
        op: its name.
        program: what is called.
        results: how many tensors it gives.
    """

    def __init__(self, op: str, program: Any, results: int) -> None:
        super().__init__(op)
        self.program, self.results = program, results

    def __call__(self, *inputs: Any, attributes: tuple = (), writes: tuple = (), keeps: tuple = (), wanted: tuple = ()) -> Any:
        results = run_script_op(self.op, self.program, list(inputs), attributes, writes, self.results, keeps)
        return results[0] if len(results) == 1 else tuple(results)

    def __reduce__(self):
        return ScriptCall, (self.op, self.program, self.results)


@functools.cache
def call_of(op: str) -> Call:
    """The one function for an op.

    Args:
        op: its name.
    """
    return Call(op)


@fx.has_side_effect
def write(*pairs):
    """Have the memory of tensors hold others' values, for (tensor, other)."""
    with no_grad():
        write_all(list(pairs))


@fx.has_side_effect
def set_grad(target, value):
    """Give a tensor a gradient."""
    target.grad = detach(value)


def to_fx(program: Any) -> fx.GraphModule:
    """A traced program as a graph of `torch.fx`: a module that is called with the graph's inputs and computes the same, over the
    same parameters. `jit.trace` of it is the way back.

    Args:
        program: what `jit.trace` returned, or a graph.

    Raises:
        TypeError: it is neither.

    Example:
        >>> import numtorch as torch
        >>> module = torch.jit.to_fx(torch.jit.trace(lambda x, w: torch.relu(x @ w), (torch.ones(2, 3), torch.ones(3, 4))))
        >>> [(node.op, node.name) for node in module.graph.nodes]
        [('placeholder', 'x'), ('placeholder', 'w'), ('call_function', 'mm'), ('call_function', 'relu'), ('output', 'output')]
    """
    held: Any = None
    if isinstance(program, (ScriptFunction, ScriptModule)) and getattr(program, "_program", None) is not None:
        graph, held = program._program.graph, program._program.constants
    elif isinstance(program, Graph):
        graph = program
    else:
        raise TypeError(f"jit.to_fx: expected what jit.trace returned, or a graph, got {type(program).__name__}")
    held = graph.constants if held is None else held
    made = _converted(graph, held)
    root = {name: held[name] for name in graph.constants}
    module = fx.GraphModule(root, made, getattr(program, "_original_name", "GraphModule"))
    return module.train(program.training) if isinstance(program, ScriptModule) else module


def _converted(graph: Graph, held: Any) -> fx.Graph:
    made, known = fx.Graph(), dict[Value, fx.Node]()
    reserved = {value.name for value in graph.values()}

    def given(value):
        return known[value] if isinstance(value, Value) else value

    def keep(value, node):
        known[value] = node
        node.meta["layout"] = value.layout

    def free(wanted):
        """A name that no value has, for a node whose value has none."""
        name, number = wanted, 0
        while name in reserved:
            name, number = f"{wanted}_{number + 1}", number + 1
        return name
    placeholders = {value: made.placeholder(f"_{value.name}" if value.name.isdigit() else value.name) for value in graph.inputs}
    for value, node in placeholders.items():
        keep(value, node)
    if any(node.op in _BY_STRIDES for node in graph.nodes):
        for value in graph.inputs:
            keep(value, made.call_function(in_order, (known[value], value.layout), name=free("in_order")))
    for node in graph.nodes:
        if node.op == CONSTANT:
            keep(node.outputs[0], made.create_node("get_attr", node.attributes[0], name=node.outputs[0].name))
            continue
        single = len(node.outputs) == 1
        call = _call(made, node, held, [given(value) for value in node.inputs], node.outputs[0].name if single else "0", free)
        if node.module is not None:
            call.meta["nn_module_stack"] = {node.module[0]: node.module}
        if single:
            keep(node.outputs[0], call)
        else:
            for number, value in enumerate(node.outputs):
                keep(value, made.call_function(operator.getitem, (call, number),
                                               name=free("getitem") if value.name.isdigit() else value.name))
    known.update(placeholders)                           # writes go to what the caller has
    if graph.writes:
        made.call_function(write, tuple([(known[target], known[value]) for target, value in graph.writes]), name=free("write"))
    for target, value in graph.gradients:
        made.call_function(set_grad, (known[target], known[value]), name=free("set_grad"))
    made.output(graph.result(known.__getitem__))
    return made


def _call(made, node, held, inputs, name, free):
    """A node of fx for one of a graph, called as its value is, or, where that has a number, as what it calls."""
    kind, target, args, kwargs = _target(node, held, inputs)
    if name.isdigit():
        name = free(target if isinstance(target, str) else target.__name__)
    return made.create_node(kind, target, args, kwargs, name)


def _target(node, held, inputs):
    name = node.op.removeprefix("view.")
    if name != node.op and name in _METHODS and (name != "every" or len(node.outputs) > 1):
        return "call_method", _METHODS[name], (inputs[0], *node.attributes), {}
    function = None if node.writes or node.keeps or node.draws else _public(node)
    if function is not None:
        return "call_function", function, tuple(inputs), {}
    options = {each: getattr(node, each) for each in ("attributes", "writes", "keeps", "wanted") if getattr(node, each)}
    target = ScriptCall(node.op, held[node.attributes[0]], len(node.outputs)) if node.op in SCRIPTS else call_of(node.op)
    if node.draws or node.op in CHECKS:
        fx.has_side_effect(target)
    return "call_function", target, tuple(inputs), options


def _public(node):
    """The public function that is called with a node's inputs, or None."""
    primitive = registry.get(node.op)
    if isinstance(primitive, PointwiseOp):
        return _FUNCTIONS.get(node.op, primitive.function)
    if node.attributes or len(node.outputs) != 1 or not all(isinstance(value, Value) or value is None for value in node.inputs):
        return None
    function = _FUNCTIONS.get(node.op) or getattr(primitive, "function", None)
    return function if callable(function) and path_of(function).startswith("torch.") else None
