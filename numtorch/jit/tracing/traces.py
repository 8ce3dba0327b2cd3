"""`jit.trace`: functions and modules as the graph of one call."""
from __future__ import annotations

import inspect
import warnings
from typing import Any

from ...autograd.modes import no_grad
from ...func.modules import functional_call
from ...nn.modules.module import Module
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...testing import assert_close
from ...tree import map_tensors, tensors_in
from ..graphs.programs import Held, Program, ScriptFunction, ScriptModule, module_of, own_copy, structure_of
from .freezing import TracerWarning, is_tracing
from .naming import values_named
from .reached import of_reached, reached_by
from .tracing import trace_graph


def trace(func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
          check_tolerance: float = 1e-5, strict: bool = True, example_kwarg_inputs: Any = None) -> Any:
    """The graph of one call of a function or module, as a function or module that computes it again.

    What Python decides is decided once: a branch on a value of a tensor stays the one that the example took, and a warning says so.
    Called with arguments of other layouts, it is traced again where the source is at hand.

    Args:
        func: a function of tensors, or a module.
        example_inputs: a tensor, or a tuple of arguments.
        optimize: taken for PyTorch's sake.
        check_trace: compare with `func`, and warn of what differs.
        check_inputs: further tuples of arguments to compare with.
        check_tolerance: how much results may differ, relatively.
        strict: taken for PyTorch's sake.
        example_kwarg_inputs: arguments by name, which become positional ones.

    Returns:
        A function, or a module with the parameters of `func`, which has `graph`, `code` and `save`.

    Raises:
        RuntimeError: the result is no structure of tensors and numbers, the call is itself traced, or a tensor that is neither an
            argument nor of the module requires grad.

    Example:
        >>> import numtorch as torch
        >>> f = torch.jit.trace(lambda x, y: 2 * x + y, (torch.rand(3), torch.rand(3)))
        >>> print(f.graph)
        graph(%x: float32[3], %y: float32[3]):
          %0: float32[3] = mul(%x, 2)
          %1: float32[3] = add(%0, %y)
          return %1
    """
    if isinstance(func, (ScriptFunction, ScriptModule)):
        return func
    if is_tracing():
        raise RuntimeError("Tracing can't be nested: trace before, and call what that returns")
    args = _arguments(func, example_inputs, example_kwarg_inputs)
    names = _parameters_of(func.forward if isinstance(func, Module) else func)
    if isinstance(func, Module):
        held = _held_by(func)
        with values_named(func):
            graph = _graph_of(func, func, args, held, names)
        others = {name: tensor for name, tensor in graph.constants.items() if name not in held}
        traced: Any = module_of(held, type(func).__name__)

        def again(given, apart=False, module=traced):
            now = _held_by(module)                       # which may have gone to another device since
            copies = {name: own_copy(tensor) for name, tensor in now.items()}
            with values_named(func):
                result = _graph_of(lambda *args: functional_call(func, copies, args), func, given, copies, names, graph)
            if not apart:
                result.constants.update((name, tensor) for name, tensor in now.items() if name in result.constants)
            return result
        traced._program = Program(graph, structure_of(args), again, Held(traced, others))
        traced.training = func.training
        for name, module in traced.named_modules():
            if name:
                module.training = func.get_submodule(name).training
    else:
        graph = _graph_of(func, func, args, {}, names)

        def graph_of(given, apart=False):
            return _graph_of(func, func, given, {}, names, graph)
        traced = ScriptFunction(Program(graph, structure_of(args), graph_of), getattr(func, "__name__", "traced"))
    if check_trace:
        with no_grad():
            for given in (args, *(_tuple(each) for each in check_inputs or ())):
                _check(func, traced, given, check_tolerance)
    return traced


def trace_module(mod: Module, inputs: dict, **options: Any) -> Any:
    """`trace` for a module, of what is called `forward`.

    Args:
        mod: the module.
        inputs: `{"forward": example_inputs}`.
        options: of `trace`.

    Raises:
        NotImplementedError: another method.

    Example:
        >>> import numtorch as torch
        >>> torch.jit.trace_module(torch.nn.ReLU(), {"forward": torch.zeros(2)})(torch.tensor([-1., 1.]))
        tensor([0., 1.])
    """
    if list(inputs) != ["forward"]:
        raise NotImplementedError(f"jit.trace_module: expected inputs of `forward`, got {sorted(inputs)}")
    return trace(mod, inputs["forward"], **options)


def _graph_of(call, func, args, held, names, first=None):
    """The graph of a call of what `func` is, where `held` has the names of its parameters."""
    reached = reached_by(func, {**held, **_held_by(func)} if isinstance(func, Module) else held)
    return of_reached(lambda: trace_graph(call, args, {**held, **reached}, argument_names=names), reached, first)


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


def _check(func, traced, args, tolerance):
    """Warn where a trace and its function differ."""
    def copies():
        return map_tensors(lambda tensor: clone(detach(tensor)), args)
    graph = traced.graph
    written = [graph.constants[target.node.attributes[0]] for target, _ in graph.writes if target.node is not None]
    state = [(tensor, clone(detach(tensor))) for tensor in written]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TracerWarning)
        expected = func(*copies())
        for tensor, before in state:
            tensor.copy_(before)
        results = traced(*copies())
        for tensor, before in state:
            tensor.copy_(before)
    for number, (a, b) in enumerate(zip(tensors_in(results), tensors_in(expected))):
        try:
            assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            warnings.warn(f"Output nr {number + 1}. of the traced function does not match the corresponding output of the Python "
                          f"function. Detailed error:\n{error}", TracerWarning, stacklevel=4)

