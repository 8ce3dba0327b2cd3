"""Traced modules and scripts made ready for inference: parameters become constants, and passes make fewer calls of the graph."""
from __future__ import annotations

import functools
import warnings
from typing import Any

from ...autograd.modes import no_grad
from ...nn.modules.module import Module
from ...ops.memory.copies import clone
from ...tensor import Tensor, empty
from ..graphs.graph import Graph
from ..graphs.interpreter import Interpreter
from ..graphs.operations import write_all
from ..graphs.programs import Program
from ..graphs.scriptmodules import ScriptModule, module_of, over_the_same
from ..passes import choices, optimized
from ..tracing.freezing import TracerWarning, is_tracing
from ..tracing.traces import trace
from .timing import fastest


def freeze(mod: ScriptModule, preserved_attrs: Any = None, optimize_numerics: bool = True) -> ScriptModule:
    """A module whose parameters and buffers are constants: batch norms are part of the weights before them, and what depends on
    constants alone is computed. Of a script that looks at no element of a tensor, the graphs for that are made as it is called with
    arguments of a kind for the first time; another is a copy without parameters and state.

    Args:
        mod: what `jit.trace` or `jit.script` returned, in eval mode.
        preserved_attrs: taken for PyTorch's sake.
        optimize_numerics: whether to run the passes that change results by rounding: norms into weights.

    Returns:
        A module without parameters.

    Raises:
        RuntimeError: the module is in training mode.

    Example:
        >>> import numtorch as torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
        >>> frozen = torch.jit.freeze(torch.jit.trace(net, torch.zeros(1, 2)))
        >>> [node.op for node in frozen.graph.nodes if node.inputs]
        ['linear']
    """
    return _made(mod, fusing=False, folding=optimize_numerics)


def optimize_for_inference(mod: ScriptModule, other_methods: Any = None) -> ScriptModule:
    """`freeze`, chains of elementwise calls as one kernel each, and convolutions with channels last where that is faster here.

    Args:
        mod: what `jit.trace`, `jit.script` or `jit.freeze` returned, in eval mode. On a script passes are run as it is called, and
            on none that looks at elements: `numtorch.compile` does that piece by piece.
        other_methods: taken for PyTorch's sake.

    Returns:
        A module without parameters. `mod.passes` says what was done.

    Raises:
        RuntimeError: the module is in training mode.

    Example:
        >>> import numtorch as torch
        >>> net = torch.nn.Sequential(torch.nn.Sigmoid(), torch.nn.Tanh()).eval()
        >>> fast = torch.jit.optimize_for_inference(torch.jit.trace(net, torch.zeros(3)))
        >>> [node.op for node in fast.graph.nodes], fast.passes
        (['fused'], {'fusion': 1})
    """
    return _made(mod, fusing=True, folding=True)


class _Calling(Module):
    """A module whose trace is that of a script's ops."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args):
        return self.module._listed("forward")(*args)


class FrozenForward:
    """The `forward` of a frozen script that looks at no element: graphs of its calls, with passes.

    Args:
        module: the script.
        improve: what makes a trace ready for inference.
    """

    __name__ = "forward"

    def __init__(self, module: ScriptModule, improve: Any) -> None:
        self.module, self.improve = module, improve
        self.made: Any = None                            # what runs; the script itself where there is no graph of it

    script = property(lambda self: self.module._listed("forward"))
    graph = property(lambda self: self.script.graph)
    code = property(lambda self: self.script.code)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or (self.made is None and is_tracing()):
            return self.script(*args, **kwargs)
        if self.made is None:
            return self._first(args)
        return self.made(*args)

    def _first(self, args):
        state = [(each, clone(each)) for each in self.module.buffers()]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", TracerWarning)
                traced = trace(_Calling(self.module).eval(), args, check_trace=False)
                made = None if traced.graph.writes else self.improve(traced)           # its graphs would have buffers of their own
        except (RuntimeError, TypeError, ValueError, TracerWarning):
            made = None
        if made is None:
            write_all(state)
            result = self.script(*args)                  # which says what is wrong with the arguments, if anything is
            self.made = self.script
            return result
        self.made = made
        vars(self.module)["passes"] = made.passes
        return made(*args)

    def __deepcopy__(self, memo):
        return FrozenForward(memo[id(self.module)], self.improve)


def _run(graph):
    """Run a graph on zeros."""
    with no_grad():
        Interpreter(graph).run(*[empty(value.layout).zero_() for value in graph.inputs])


def _made(mod, fusing, folding):
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(f"jit: expected a module that jit.trace returned, got {type(mod).__name__}")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
                           "before freezing.")
    program = mod._program
    if program is None:                                  # a script: which ops it calls, and of what, is known only as it runs
        module = mod._frozen()
        vars(module)["passes"] = {}
        if module._has_graphs():
            vars(module)["forward"] = FrozenForward(module, functools.partial(_made, fusing=fusing, folding=folding))
        return module
    shared = {name: tensor.detach().clone() for name, tensor in (*mod.named_parameters(), *mod.named_buffers())}
    module, below = module_of({}, mod.original_name), dict(mod.named_modules())

    def of(graph, order=None):
        graph = graph.copy()
        frozen = {name: shared[name] if name in shared else each.detach().clone() for name, each in graph.constants.items()
                  if isinstance(each, Tensor)}
        graph.constants.update(frozen)
        graph.constants.update((name, over_the_same(below.get(name, each))) for name, each in graph.constants.items()
                               if isinstance(each, ScriptModule))
        if not fusing or graph.writes or any(node.draws for node in graph.nodes):      # a call of these has effects
            chosen, module.passes = optimized(graph, frozen if folding else None, fusing)
            return chosen, 0
        made = choices(graph, frozen)
        devices = {tensor.layout.device for tensor in frozen.values()}
        if order is None or order >= len(made):
            order = fastest([functools.partial(_run, each) for each, _ in made], devices)
        chosen, module.passes = made[order]
        return chosen, order

    def again(args, apart=False) -> Graph:
        return of(program.graph_for(args, apart), first if apart else None)[0]           # a file has one order of channels
    graph, first = of(program.graph)
    module._program = Program(graph, program.structure, again if program.again or program.rows else None)
    return module.eval()
