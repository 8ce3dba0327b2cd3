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
from ..graphs.programs import Held, Program
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
        preserved_attrs: names of attributes and methods that the module has afterwards, too. Tensors among them are no constants,
            and none is where such a method, or one that belongs to it, may write.
        optimize_numerics: whether to run the passes that change results by rounding: norms into weights.

    Returns:
        A module without parameters.

    Raises:
        RuntimeError: the module is in training mode, or has no such attribute.

    Example:
        >>> import numtorch as torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
        >>> frozen = torch.jit.freeze(torch.jit.trace(net, torch.zeros(1, 2)))
        >>> [node.op for node in frozen.graph.nodes if node.inputs]
        ['linear']
    """
    return _made(mod, False, optimize_numerics, tuple(preserved_attrs or ()))


def optimize_for_inference(mod: ScriptModule, other_methods: Any = None) -> ScriptModule:
    """`freeze`, chains of elementwise calls as one kernel each, and convolutions with channels last where that is faster here.

    Args:
        mod: what `jit.trace`, `jit.script` or `jit.freeze` returned, in eval mode. On a script passes are run as it is called, and
            on none that looks at elements: `numtorch.compile` does that piece by piece.
        other_methods: `preserved_attrs` of `freeze`. What that was told of `mod` stays, too.

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
    return _made(mod, True, True, tuple(other_methods or ()))


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


def _made(mod, fusing, folding, preserved=()):
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(f"jit: expected a module that jit.trace returned, got {type(mod).__name__}")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
                           "before freezing.")
    for name in preserved:
        if not hasattr(mod, name):
            raise RuntimeError(f"Unknown name: {name}")
    preserved = tuple(dict.fromkeys([*mod._preserved, *preserved]))
    named = {path for path in _tensors_of(mod) if any(f"{path}.".startswith(f"{name}.") for name in preserved)}
    kept = set(_tensors_of(mod)) if mod._may_write(preserved) else named
    if mod._program is None:                             # a script: which ops it calls, and of what, is known only as it runs
        module = mod._frozen(named)
        vars(module)["passes"] = {}
        changes = kept or any(not callable(getattr(mod, name)) for name in preserved)
        if module._has_graphs() and not changes:
            vars(module)["forward"] = FrozenForward(module, functools.partial(_made, fusing=fusing, folding=folding))
    else:
        module = mod._frozen(named) if preserved else module_of({}, mod.original_name)
        freezing = _Freezing(mod, module, bool(preserved), kept, fusing, folding)
        module._methods = {name: freezing.program(each) for name, each in mod._methods.items() if name in preserved}
        module._program = freezing.program(mod._program)
    module._preserved = preserved
    return module.eval()


class _Freezing:
    """Makes the programs of a traced module those of a frozen one.

    Args:
        mod: the traced module.
        module: the frozen one.
        has_tensors: whether it has copies of the other's tensors, which programs then share with its attributes and methods.
        kept: the names of those that are no constants.
        fusing, folding: which passes to run, as `freeze` and `optimize_for_inference` say.
    """

    def __init__(self, mod, module, has_tensors, kept, fusing, folding) -> None:
        self.module, self.has_tensors, self.kept, self.fusing, self.folding = module, has_tensors, kept, fusing, folding
        self.modules = dict(mod.named_modules())
        self.tensors = {} if has_tensors else {name: clone(each) for name, each in _tensors_of(mod).items()}

    def program(self, program: Program) -> Program:
        """The program of one method.

        Args:
            program: the traced module's.
        """
        def again(args, apart=False, module=self.module) -> Graph:
            # a file has one order of channels
            return self._graph(program.graph_for(args, apart), module, first if apart else None)[0]
        graph, first = self._graph(program.graph, self.module)
        constants = Held(self.module, {}).of(graph) if self.has_tensors else None
        return Program(graph, program.structure, again if program.again or program.rows else None, constants)

    def _graph(self, graph, module, order=None):
        """A graph over the frozen tensors after passes, and in which order its channels lie."""
        graph, shared = graph.copy(), _tensors_of(module) if self.has_tensors else self.tensors
        held = {name: shared[name] if name in shared else each.detach().clone() for name, each in graph.constants.items()
                if isinstance(each, Tensor)}
        graph.constants.update(held)
        graph.constants.update((name, over_the_same(self.modules.get(name, each))) for name, each in graph.constants.items()
                               if isinstance(each, ScriptModule))
        frozen = {name: each for name, each in held.items() if name not in self.kept}
        if not self.fusing or graph.writes or any(node.draws for node in graph.nodes):      # a call of these has effects
            chosen, self.module.passes = optimized(graph, frozen if self.folding else None, self.fusing)
            return chosen, 0
        made = choices(graph, frozen)
        devices = {tensor.layout.device for tensor in held.values()}
        if order is None or order >= len(made):
            order = fastest([functools.partial(_run, each) for each, _ in made], devices)
        chosen, self.module.passes = made[order]
        return chosen, order


def _tensors_of(module):
    """A module's parameters and buffers by name, not recorded."""
    return {name: each.detach() for name, each in (*module.named_parameters(), *module.named_buffers())}
