"""`jit.trace`: functions and modules as the graph of one call."""
from __future__ import annotations

import functools
import inspect
import itertools
import types
import warnings
from typing import Any

from ...func.modules import replaced
from ...nn.modules.module import Module
from ...ops.core.late import later
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...testing import assert_close
from ...tree import map_tensors, tensors_in
from ..graphs.graph import Graph
from ..graphs.operations import write_all
from ..graphs.programs import Held, Program, own_copy
from ..graphs.scriptmodules import ScriptFunction, ScriptModule, module_of, scripts_below
from ..graphs.structures import structure_of
from .freezing import TracerWarning, is_tracing, tracing
from .naming import values_named
from .reached import of_reached, reached_by
from .tracing import Trace


def trace(func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
          check_tolerance: float = 1e-5, strict: bool = True, example_kwarg_inputs: Any = None) -> Any:
    """The graph of one call of a function or module, as a function or module that computes it again.

    What Python decides is decided once: a branch on a value of a tensor stays the one that the example took, and a warning says so.
    Called with arguments of other layouts, it is traced again where the source is at hand.

    Args:
        func: a function of tensors, or a module, or its `forward`.
        example_inputs: a tensor, or a tuple of arguments.
        optimize: taken for PyTorch's sake.
        check_trace: compare with `func`, and warn of what differs.
        check_inputs: further tuples of arguments to compare with.
        check_tolerance: how much results may differ, relatively.
        strict: taken for PyTorch's sake.
        example_kwarg_inputs: arguments by name, which become positional ones.

    Returns:
        A function, or a module with the parameters of `func`, which has `graph`, `code` and `save`. Methods of a module under
        `@jit.export` are scripts of it.

    Raises:
        AttributeError: another method of a module, which `trace_module` takes.
        RuntimeError: the result is no structure of tensors and numbers, the call is itself traced, a tensor that is neither an
            argument nor of the module requires grad, or a module has backward hooks.

    Example:
        >>> import numtorch as torch
        >>> f = torch.jit.trace(lambda x, y: 2 * x + y, (torch.rand(3), torch.rand(3)))
        >>> print(f.graph)
        graph(%x: float32[3], %y: float32[3]):
          %0: float32[3] = mul(%x, 2)
          %1: float32[3] = add(%0, %y)
          return %1
    """
    if isinstance(func, types.MethodType) and isinstance(func.__self__, Module):
        if func.__name__ != "forward":
            raise AttributeError("trace doesn't support compiling individual module's functions.\nPlease use trace_module: "
                                 f"torch.jit.trace_module(module, {{{func.__name__!r}: example_inputs}})")
        func = func.__self__
    if isinstance(func, (ScriptFunction, ScriptModule)):
        return func
    if is_tracing():
        raise RuntimeError("Tracing can't be nested: trace before, and call what that returns")
    args = _arguments(func, example_inputs, example_kwarg_inputs)
    if isinstance(func, Module):
        traced: Any = _module(func, ("forward",))
        traced._program = _method(func, func, traced, args)
    else:
        names = _parameters_of(func)
        graph = _graph_of(func, func, args, {}, names)

        def graph_of(given, apart=False):
            return _graph_of(func, func, given, {}, names, graph)
        traced = ScriptFunction(Program(graph, structure_of(args), graph_of), getattr(func, "__name__", "traced"))
    if check_trace:
        for given in (args, *(_tuple(each) for each in check_inputs or ())):
            _check(func, traced, traced.graph, given, check_tolerance)
    return traced


def trace_module(mod: Module, inputs: dict, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
                 check_tolerance: float = 1e-5, strict: bool = True, example_inputs_is_kwarg: bool = False) -> Any:
    """`trace` for several methods of a module, which run over the same parameters and buffers.

    Args:
        mod: the module.
        inputs: the examples of each method by its name: a tensor, or a tuple of arguments.
        optimize, check_trace, check_tolerance, strict: as for `trace`.
        check_inputs: further examples to compare with, each by the methods' names.
        example_inputs_is_kwarg: whether the examples are dicts of arguments by name.

    Returns:
        A module with these methods.

    Raises:
        TypeError: `mod` is no module, or `inputs` is no dict of its methods.
        RuntimeError: as for `trace`.

    Example:
        >>> import numtorch as torch
        >>> class Scaled(torch.nn.Linear):
        ...     def row(self, i):
        ...         return self.weight[i]
        >>> net = torch.jit.trace_module(Scaled(2, 2), {"forward": torch.zeros(1, 2), "row": torch.tensor(1)})
        >>> net(torch.zeros(3, 2)).shape, net.row(torch.tensor(0)).shape
        (torch.Size([3, 2]), torch.Size([2]))
    """
    if not isinstance(mod, Module):
        raise TypeError(f"jit.trace_module: expected a module, got {type(mod).__name__}")
    if not isinstance(inputs, dict) or not inputs or not all(callable(getattr(mod, str(name), None)) for name in inputs):
        raise TypeError(f"jit.trace_module: expected a dict of examples by the names of methods of {type(mod).__name__}, got "
                        f"{sorted(inputs) if isinstance(inputs, dict) else type(inputs).__name__}")
    if is_tracing():
        raise RuntimeError("Tracing can't be nested: trace before, and call what that returns")
    traced: Any = _module(mod, inputs)
    for name, example in inputs.items():
        call = mod if name == "forward" else getattr(mod, name)
        args = _arguments(call, None, example) if example_inputs_is_kwarg else _tuple(example)
        program = _method(mod, call, traced, args)
        if name == "forward":
            traced._program = program
        else:
            traced._methods[name] = program
        if check_trace:
            for given in (args, *(_tuple(each[name]) for each in check_inputs or () if name in each)):
                _check(call, getattr(traced, name), program.graph, given, check_tolerance)
    return traced


def _module(func, methods):
    """What will have the programs of a module's methods: its tensors and scripts, in the same modes."""
    for module in func.modules():
        if module._hooks is not None and (module._backward_hooks or module._backward_pre_hooks):
            raise RuntimeError(f"Modules that have backward hooks assigned can't be compiled: {module}: a graph has no modules "
                               "whose gradients a hook could be given")
    traced = later["exported_scripts"](func, methods) if "exported_scripts" in later else None         # else nothing is exported
    if traced is None:
        traced = module_of(_held_by(func), type(func).__name__, scripts_below(func))
    traced.training = func.training
    for name, module in traced.named_modules():
        if name:
            module.training = func.get_submodule(name).training
    return traced


def _method(func, call, traced, args):
    """The program of a module's method."""
    held, scripts, names = _held_by(func), scripts_below(func), _parameters_of(func.forward if call is func else call)
    with values_named(func):
        graph = _graph_of(call, func, args, held, names)
    others = {name: each for name, each in graph.constants.items() if name not in held and name not in scripts}

    def again(given, apart=False, module=traced):
        now = _held_by(module)                           # which may have gone to another device since
        copies = {name: own_copy(tensor) for name, tensor in now.items()}
        with values_named(func), replaced(func, copies):
            result = _graph_of(call, func, given, copies, names, graph)
        if not apart:
            result.constants.update((name, tensor) for name, tensor in now.items() if name in result.constants)
        return result
    return Program(graph, structure_of(args), again, Held(traced, others))


def trace_graph(function, args: tuple, names: dict | None = None, freezing=None, argument_names=(), paths=None) -> Graph:
    """The graph of a call. Scripts that look at elements are calls in it.

    Args:
        function: of tensors.
        args: its arguments: tensors in tuples, lists and dicts; what else is in them is constant.
        names: tensors that the function reaches, such as a module's parameters, by name.
        freezing: what is done where values come to Python.
        argument_names: names of the arguments.
        paths: names of modules, by identity.
    """
    held = names or {}
    trace = Trace({id(tensor): name for name, tensor in held.items()}, freezing, paths=paths)
    with tracing(trace), trace:
        given = [map_tensors(functools.partial(trace.argument, name), arg)
                 for name, arg in itertools.zip_longest(argument_names[:len(args)], args)]
        trace.adopt(*held.values())
        graph = trace.finish(function(*given))
    graph.verify()
    return graph


def _graph_of(call, func, args, held, names, first=None):
    """The graph of a call of what `func` is, where `held` has the names of its parameters."""
    reached = reached_by(func, {**held, **_held_by(func)} if isinstance(func, Module) else held)
    paths = {id(module): path for path, module in func.named_modules()} if isinstance(func, Module) else {}
    return of_reached(lambda: trace_graph(call, args, {**held, **reached}, argument_names=names, paths=paths), reached, first)


def _held_by(module):
    return dict([*module.named_parameters(), *module.named_buffers()])


def _tuple(inputs):
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _arguments(func, inputs, by_name):
    args = () if inputs is None else _tuple(inputs)
    if not by_name:
        return args
    target = func.forward if isinstance(func, Module) else func
    bound = inspect.signature(target).bind(*args, **by_name)
    bound.apply_defaults()
    return bound.args


def _parameters_of(function):
    try:
        return [p.name for p in inspect.signature(function).parameters.values() if p.kind in (p.POSITIONAL_ONLY,
                                                                                              p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        return []


def _check(func, traced, graph, args, tolerance):
    """Warn where a trace and its function differ."""
    def copies():
        return map_tensors(_alike, args)
    written = [graph.constants[target.node.attributes[0]] for target, _ in graph.writes if target.node is not None]
    state = [(detach(tensor), clone(detach(tensor))) for tensor in written]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracerWarning)
        expected = func(*copies())
        write_all(state)
        results = traced(*copies())
        write_all(state)
    for number, (a, b) in enumerate(zip(tensors_in(results), tensors_in(expected))):
        try:
            assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            warnings.warn(f"Output nr {number + 1}. of the traced function does not match the corresponding output of the Python "
                          f"function. Detailed error:\n{error}", TracerWarning, stacklevel=4)


def _alike(tensor):
    """A copy that takes part in gradients as a tensor does: a leaf of one that is a leaf."""
    copied = clone(detach(tensor)).requires_grad_(tensor.requires_grad)
    return copied if tensor.is_leaf else clone(copied)
