"""The tensors that a function reaches besides its arguments, in closures, globals and attributes: a trace has them by reference."""
from __future__ import annotations

import functools
import itertools
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...autograd.modes import no_grad
from ...distributions.distribution import Distribution
from ...layout import Layout
from ...nn.modules.module import Module
from ...ops.core.primitive import is_ours
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...tensor import Tensor, wrap
from ..capturing.reach import MOST, global_names
from ..graphs.graph import CONSTANT, Graph
from ..graphs.programs import Program
from ..graphs.scriptmodules import ScriptFunction

_OF_MODULES = "_parameters", "_buffers", "_modules"
_OURS = Module, ScriptFunction, Distribution             # objects of this package that have tensors of users
_REFUSED = ("Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or detaching the "
            "gradient\nTensor:\n")


def reached_by(function: Any, held: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that a function reaches, by names: of memory that several are views of, all of it.

    Args:
        function: it, or a module.
        held: tensors that have names already, as a module's parameters.
    """
    known = {id(tensor.memory) for tensor in held.values()}
    over: dict[int, tuple[str, list[Tensor]]] = {}
    seen: dict[int, Any] = {}
    pending = deque([("", function)])
    while pending and len(seen) < MOST:
        name, each = pending.popleft()
        if id(each) in seen:
            continue
        seen[id(each)] = each
        if not isinstance(each, Tensor):
            pending.extend((f"{name}.{part}".strip(".") if type(part) in (str, int) else name, value)
                           for part, value in itertools.islice(_parts(each), MOST))
        elif each.layout.handler is None and each.layout.device.type != "meta" and id(each.memory) not in known:
            over.setdefault(id(each.memory), (name, []))[1].append(each)
    found: dict[str, Tensor] = {}
    for name, tensors in over.values():
        while name in held or name in found:
            name += "_"
        found[name] = _whole(tensors)
    return found


def _whole(tensors):
    """The one tensor where it is all that there is in its memory, else that memory."""
    first, storage = tensors[0], tensors[0].memory
    kind = first.layout.dtype
    if len(tensors) == 1 and first.layout.contiguous and first.layout.nbytes == storage.nbytes:
        return first
    flat = wrap(storage, storage.address, Layout.of(kind, (storage.nbytes // kind.itemsize,), None, first.layout.device))
    flat.node = next((tensor.node for tensor in tensors if tensor.node is not None), None)
    return flat


def _parts(each) -> Iterator[tuple[Any, Any]]:
    """What an object of Python holds, by names."""
    if isinstance(each, types.FunctionType):
        if not is_ours(each.__module__):
            yield from _of_function(each)
    elif isinstance(each, types.MethodType):
        yield "", each.__self__
        yield each.__name__, each.__func__
    elif isinstance(each, functools.partial):
        yield from (("", each.func), ("", each.args), ("", each.keywords))
    elif isinstance(each, dict):
        yield from each.items()
    elif isinstance(each, (list, tuple, set, frozenset, deque)):
        yield from enumerate(each)
    elif isinstance(each, Program):
        yield from each.graph.constants.items()
    elif isinstance(each, _OURS) or not (isinstance(each, (type, types.ModuleType)) or is_ours(type(each).__module__)):
        yield from [("" if key in _OF_MODULES else key, value) for key, value in getattr(each, "__dict__", {}).items()]
        for kind in type(each).__mro__:
            if not is_ours(kind.__module__):
                yield from [("", value) for value in vars(kind).values() if isinstance(value, types.FunctionType)]


def _of_function(function):
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:                               # a variable without a value
            continue
    yield "", function.__defaults__
    yield "", function.__kwdefaults__
    codes = [function.__code__]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
        yield from [(name, function.__globals__.get(name)) for name in global_names(code)[0]]


def of_reached(make: Callable[[], Graph], reached: Mapping[str, Tensor], first: Graph | None) -> Graph:
    """The graph of a call that has reached tensors as its constants. Those that it does not use are left out.

    Args:
        make: traces, with these names.
        reached: tensors by name.
        first: the graph that the program has already, where the call that this one is made for is still to come: what the trace
            writes is put back then, as far as the first one writes to it, too.

    Raises:
        RuntimeError: one that is used requires grad.
    """
    written = () if first is None else [target.node.attributes[0] for target, _ in first.writes if target.node is not None]
    before = [(tensor, clone(detach(tensor))) for name, tensor in reached.items() if name in written]
    try:
        graph = make()
    finally:
        with no_grad():
            for tensor, content in before:
                tensor.copy_(content)
    ends = {*graph.ends(), *[target for target, _ in (*graph.writes, *graph.gradients)]}
    users = graph.users()
    for node in [node for node in graph.nodes if node.op == CONSTANT and node.attributes[0] in reached]:
        name, value = node.attributes[0], node.outputs[0]
        if not users[value] and value not in ends:
            graph.nodes.remove(node)
            del graph.constants[name]
        elif reached[name].node is not None:
            raise RuntimeError(_REFUSED + repr(detach(reached[name])))
    return graph
