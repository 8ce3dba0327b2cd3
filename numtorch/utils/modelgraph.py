"""What `SummaryWriter.add_graph` writes: the calls that a model makes for an input, as TensorBoard's graph of named nodes."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..autograd.graph import Leaf, Output
from ..autograd.modes import enable_grad
from ..nn.modules.module import Module
from ..tree import map_tensors, tensors_in
from .eventfiles import proto

__all__ = ["graph"]


def _scopes(model) -> dict:
    """Where each module stands, as PyTorch names it: the classes on the way, with the attributes they are under."""
    result = {model: type(model).__name__}
    for module in model.modules():                       # each before those in it
        for name, child in module.named_children():
            result.setdefault(child, f"{result[module]}/{type(child).__name__}[{name}]")
    return result


def _call_of(node):
    return node.edges[0] if type(node) is Output else node


def _run(model, args, scopes):
    """What the model returns; in which module each node was recorded (the innermost, whose hooks are the first to see it), and the
    layout of its result; in which module and under which name each parameter is."""
    made: dict = {}
    inside = [model]

    def belong(tensors, module):
        stack = [(tensor.node, tensor.layout) for tensor in tensors_in(tensors) if tensor.node is not None]
        while stack:
            node, layout = stack.pop()
            node, layout = _call_of(node), layout if type(node) is not Output else None
            if node not in made and type(node) is not Leaf:
                made[node] = scopes[module], layout or node.result_layout()
                stack += [(edge, None) for edge in node.edges if edge is not None]

    def before(module, args, given):
        belong([args, given], inside[-1])
        inside.append(module)

    def after(module, args, result):
        inside.pop()
        belong([result], module)
    modes = {module: module.training for module in scopes}
    frozen = [p for p in model.parameters() if not p.requires_grad and p.dtype.is_floating_point]
    handles = [handle for module in scopes for handle in (module.register_forward_pre_hook(before, with_kwargs=True),
                                                          module.register_forward_hook(after))]
    try:
        for parameter in frozen:                         # what needs no gradient is not recorded
            parameter.requires_grad_(True)
        owners = {parameter.node: (scope, name) for module, scope in scopes.items()
                  for name, parameter in module._parameters.items() if parameter is not None and parameter.node is not None}
        model.eval()
        with enable_grad():
            result = model(**args) if isinstance(args, Mapping) else model(*args)
    finally:
        for handle in handles:
            handle.remove()
        for parameter in frozen:
            parameter.requires_grad_(False)
        for module, training in modes.items():
            module.training = training
    return result, made, owners


class _Names:
    """Nodes in the order of the calls, each under a name of its own."""

    def __init__(self) -> None:
        self.module, self.nodes, self.taken = proto("compat.proto.node_def_pb2"), [], {}

    def add(self, name, op, inputs=(), layout=None):
        count = self.taken.get(name, 0)
        self.taken[name] = count + 1
        values, attr = proto("compat.proto.attr_value_pb2").AttrValue, {}
        if layout is not None:
            shapes = proto("compat.proto.tensor_shape_pb2").TensorShapeProto
            shape = shapes(dim=[shapes.Dim(size=n) for n in layout.shape])
            attr["_output_shapes"] = values(list=values.ListValue(shape=[shape]))
            attr["dtype"] = values(s=str(layout.dtype).encode())
        made = self.module.NodeDef(name=f"{name}_{count}" if count else name, op=op, input=list(inputs), attr=attr)
        self.nodes.append(made)
        return made.name


def _leaves(args):
    """The arguments as ends of the graph of their own."""
    return map_tensors(lambda t: t.detach().requires_grad_(t.dtype.is_floating_point or t.dtype.is_complex), args)


def graph(model: Module, input_to_model: Any = None, verbose: bool = False) -> Any:
    """The graph of a model's call.

    Args:
        model: the module.
        input_to_model: a tensor, a tuple of arguments, or a dict of them by name.
        verbose: whether to print the nodes.

    Returns:
        A `GraphDef`.

    Raises:
        RuntimeError: no result is computed from parameters, or from an input of floating point.
    """
    given = input_to_model if isinstance(input_to_model, (tuple, list, Mapping)) else \
        () if input_to_model is None else (input_to_model,)
    args, scopes = _leaves(given), _scopes(model)
    result, made, owners = _run(model, args, scopes)
    results = [tensor for tensor in tensors_in([result]) if tensor.node is not None]
    if not results:
        raise RuntimeError("add_graph: nothing that the model returns is computed from its parameters, or from an input of "
                           "floating point")
    names, called = _Names(), {}
    for number, tensor in enumerate(tensors_in(args), 1):
        called[tensor.node] = names.add(f"input/input.{number}", "IO Node", (), tensor.layout)
    top = scopes[model]
    stack = [tensor.node for tensor in reversed(results)]
    while stack:                                         # a call is named after what it was given
        node = _call_of(stack[-1])
        ahead = [_call_of(edge) for edge in node.edges if edge is not None and _call_of(edge) not in called]
        if node not in called and ahead:
            stack += reversed(ahead)
            continue
        stack.pop()
        if node in called:
            continue
        if type(node) is Leaf:
            scope, name = owners.get(node, (top, "constant"))
            called[node] = names.add(f"{scope}/{name}", "Parameter" if node in owners else "Constant", (), node.layout)
        else:
            inputs = [called[_call_of(edge)] for edge in node.edges if edge is not None]
            scope, layout = made[node]
            called[node] = names.add(f"{scope}/{node.title()}", node.title(), inputs, layout)
    for number, tensor in enumerate(results, 1):
        names.add(f"output/output.{number}", "IO Node", [called[_call_of(tensor.node)]], tensor.layout)
    if verbose:
        print("\n".join(f"{node.name} = {node.op}({', '.join(node.input)})" for node in names.nodes))
    versions = proto("compat.proto.versions_pb2").VersionDef(producer=22)
    return proto("compat.proto.graph_pb2").GraphDef(node=names.nodes, versions=versions)
