"""`numtorch.compile`: functions that are captured once and replayed."""
from __future__ import annotations

import functools
import importlib
import types
import weakref
from collections.abc import Callable
from typing import Any

from ...kernels.cuda.capture import active as device_captures
from ...nn.modules.module import Module
from ...storage import mode as memory_mode
from ..capturing.capture import Watch, is_profiled
from ..capturing.complaints import Again, Differs
from ..capturing.items import Break
from ..capturing.quick import MISS, written
from ..capturing.reach import can_die
from ..capturing.replay import Replay
from ..capturing.results import HAS_GRAPH
from ..tracing.freezing import is_tracing
from .calls import DIFFERING, IGNORED, PROGRAMS, call_of, capture, key_of, reach_of, reason_before
from .explaining import Explanation
from .improving import Improvement
from .recorded import Recording
from .splitting import split

KINDS = 16                                               # of arguments, by layouts and values, that a function has programs for:
OBJECTS = 64                                             # for each of so many objects among them, such as methods' instances
CAPTURES = 16                                            # of each kind; then what is reached changes too often
ATTEMPTS = 4                                             # in a row that may fail
BACKENDS = ("inductor", "replay", "eager", "aot_eager")
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "replay")


class Unsupported(RuntimeError):
    """What `fullgraph=True` raises where a call cannot be captured."""


_living: weakref.WeakSet = weakref.WeakSet()             # all compiled functions


class _Kind:
    """Calls with arguments of one kind."""

    def __init__(self) -> None:
        self.replays: list[Replay] = []                  # the one used last first
        self.codes: dict | None = None
        self.captures, self.attempts, self.reason, self.breaks = 0, 0, None, []
        self.differed = 0                                # how often a truth value was another one than a program's
        self.objects: list = []                          # whose identity is part of the kind: weak references to those that may die
        self.identities: frozenset = frozenset()
        self.split: Any = None                           # what is called instead, where it is split
        self.recording: Recording | None = None          # where its results have a graph
        self.quick: dict = {}                            # by replay, the function for calls where nothing has changed
        self.graphs: dict = {}                           # by replay that has come in another's place, the graph that it is of

    def decides(self) -> bool:
        """Whether programs may have one case of what truth values decide: there are few cases, and these seldom change."""
        if self.differed > DIFFERING:
            self.replays = []
        return self.differed <= DIFFERING

    def use(self, replay, better) -> None:
        """Try a replay, or what `better` has just put in its place, first from now on."""
        first = replay if replay.successor is None else replay.successor
        if first is not replay and better is not None:
            self.graphs = {**self.graphs, first: better.graph}
        self.replays = [first, *[each for each in self.replays if each is not replay and each is not first]]     # others read it

    def quickened(self, replay, args, missed):
        """The function for the next call, where nothing changes until then, or None.

        Args:
            replay: what has just run.
            args: the call's arguments.
            missed: the function that was tried before.
        """
        function = self.quick.get(replay)
        if function is None or function is missed:
            function = written(replay, args)
            self.quick = {**{each: self.quick.get(each) for each in self.replays}, replay: function}
        return function


class Compiled:
    """A function that is captured once for each kind of arguments, and replayed.

    Args:
        function: what is compiled.
        options: as `compile` has them.
    """

    def __init__(self, function, options) -> None:
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._kinds: dict = {}
        self._quick: Any = None                          # of the last call
        self._brief = 0                                  # kinds in a row whose objects ended before there was a program
        _living.add(self)

    def __call__(self, *args, **kwargs):
        try:
            quick = None if kwargs else self._quick
            if quick is not None:
                result = quick(args)
                if result is not MISS:
                    return result
            return self._call(quick, args, kwargs)
        except Differs:
            differs = True
        except Again:
            differs = False
        if differs:                                      # here, so that an error of the call is the only one
            return self._call(None, args, kwargs)
        return self._function(*args, **kwargs)

    def _call(self, quick, args, kwargs):
        if memory_mode.memory is not None or device_captures[0] is not None or self._options["disable"]:
            return self._function(*args, **kwargs)
        objects: list = []
        try:
            key, tensors = call_of(args, kwargs, objects)
            kind = self._kinds.get(key)
        except TypeError:                                # an argument that cannot be told from others
            return self._function(*args, **kwargs)
        if kind is None:
            kind = self._new_kind(key, objects)
        for number, replay in enumerate(kind.replays):
            with replay.lock:
                if not replay.running and replay.fits(tensors):          # else a destructor calls it within its own replay
                    replay.running, result = True, None
                    try:
                        better = replay.better
                        result = replay.run(tensors, (args, kwargs)) if better is None else better.run(tensors, args, kwargs)
                    except Differs:                      # another program may have this case
                        kind.differed += 1
                        kind.decides()
                    finally:
                        replay.running = False
                    if result is not None:
                        if number or replay.successor is not None:
                            kind.use(replay, better)
                        self._quick = None if better is not None or kwargs else kind.quickened(replay, args, quick)
                        return result[0]
        if is_profiled():
            return self._function(*args, **kwargs)
        if kind.recording is not None and kind.reason is None and not is_tracing():
            result = kind.recording.call(tensors, args, kwargs)
            kind.reason = kind.recording.reason
            if kind.reason is not None:
                self._split(kind, [*kind.breaks, *kind.recording.breaks])
            return result
        return self._first_calls(kind, tensors, args, kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self):
        name, module = getattr(self, "__qualname__", ""), getattr(self, "__module__", None)
        try:
            here: Any = importlib.import_module(module)
            for part in name.split("."):
                here = getattr(here, part)
        except (ImportError, AttributeError, TypeError):
            here = None
        return name if here is self else (_again, (self._function, self._options))

    def __repr__(self) -> str:
        return f"<compiled {self._function!r}>"

    # ------------------------------------------------------------ the first calls of a kind
    def _new_kind(self, key, objects):
        kind, identities, kinds = _Kind(), frozenset(map(id, objects)), dict(self._kinds)    # of which any may end meanwhile
        if sum(each.identities == identities for each in kinds.values()) >= KINDS:
            kind.reason = f"more than {KINDS} kinds of arguments"
            return kind
        if identities and self._brief >= KINDS:
            kind.reason = "its arguments are other objects from call to call"
            return kind
        others = dict.fromkeys(each.identities for each in kinds.values())
        if identities not in others and len(others) >= OBJECTS:          # the programs of the oldest go
            oldest = next(each for each in others if each)
            for other, each in kinds.items():
                if each.identities == oldest:
                    self._drop(other)
        own = weakref.ref(self)

        def end(_):
            compiled = own()
            if compiled is not None:
                compiled._drop(key)
        kind.objects = [weakref.ref(each, end) if can_die(each) else each for each in objects]
        kind.identities = identities
        self._kinds[key] = kind
        return kind

    def _drop(self, key):
        kind, self._quick = self._kinds.pop(key, None), None
        if kind is not None:
            self._brief = self._brief + 1 if not kind.replays and kind.recording is None and kind.reason is None else 0

    def _first_calls(self, kind, tensors, args, kwargs):
        """Call it as it is, and watch: first for whose code runs, then for what it launches."""
        function = self._function
        if kind.reason is None:
            kind.reason = reason_before(tensors)
        if kind.reason is not None:
            return self._refuse(kind, args, kwargs)
        if is_tracing():                                 # it is part of what another one is compiled to
            return function(*args, **kwargs)
        if kind.codes is None:
            watch = Watch(capturing=False)
            result = watch.run(function, args, kwargs)
            kind.codes = watch.codes
            self._refuse_if_whole(kind, watch.breaks, args, kwargs)
            return result
        if kind.differed and len(kind.replays) == PROGRAMS:
            kind.differed = DIFFERING + 1
        result, replay, breaks, kind.codes = capture(function, args, kwargs, tensors, kind.codes, self._options["reuse_outputs"],
                                                     kind.breaks, not self._options["fullgraph"] and kind.decides())
        if breaks and breaks[0].what == HAS_GRAPH:
            kind.breaks, kind.recording = breaks, Recording(function, kind.codes, self._options["passes"],
                                                           self._options["memory_budget"])
        elif replay is not None and all(tensor.node is None for tensor in tensors):
            if self._options["passes"] and not replay.gives_back:
                replay.better = Improvement(replay, functools.partial(_reached, function, kind.codes), function, replay.reuse,
                                            self._options["memory_budget"])
            kind.captures, kind.attempts = kind.captures + 1, 0
            kind.replays = [replay, *kind.replays[:PROGRAMS - 1]]
            kind.graphs = {each: graph for each, graph in kind.graphs.items() if each in kind.replays}
            if kind.captures >= CAPTURES:
                kind.reason, kind.replays = "what it does changes from call to call", []
        else:
            kind.breaks, kind.attempts = breaks or [Break("an argument requires grad", "?", 0)], kind.attempts + 1
            self._refuse_if_whole(kind, breaks, args, kwargs)
            if kind.attempts >= ATTEMPTS:
                kind.reason = str(kind.breaks[0])
                self._split(kind, breaks)
        return result

    def _split(self, kind, breaks):
        if not self._options["fullgraph"]:
            kind.split = split(self._function, {each.outer for each in breaks if each.outer},
                               lambda piece: Compiled(piece, self._options))

    def _refuse_if_whole(self, kind, breaks, args, kwargs):
        lasting = [each for each in breaks if not each.passing]
        if self._options["fullgraph"] and lasting:
            kind.reason = str(lasting[0])
            self._refuse(kind, args, kwargs)

    def _refuse(self, kind, args, kwargs):
        if self._options["fullgraph"]:
            raise Unsupported(f"compile(fullgraph=True): {kind.reason}")
        return (kind.split or self._function)(*args, **kwargs)


IGNORED.append((Compiled, {"_kinds", "_quick", "_brief"}))


def _reached(function, codes, args, kwargs, tensors):
    objects: list = []
    key_of((args, kwargs), [], objects)
    return reach_of(function, objects, codes)


def forget() -> None:
    """Let the programs of all compiled functions go."""
    for each in list(_living):
        each._quick, each._kinds, each._brief = None, {}, 0


def _again(function, options):
    return Compiled(function, options)


class CompiledModule(Module):
    """A module whose calls are captured once and replayed.

    Args:
        module: what is compiled; it is a submodule of this one, `_orig_mod`, and has its attributes.
        options: as `compile` has them.
    """

    def __init__(self, module, options) -> None:
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_compiled", Compiled(module, options))

    def forward(self, *args, **kwargs) -> Any:
        return self._compiled(*args, **kwargs)

    training = property(lambda self: self._orig_mod.training, lambda self, mode: setattr(self._orig_mod, "training", mode))

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return bool(self._orig_mod)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)

    def __setattr__(self, name, value):
        """As in PyTorch, the module's, which its calls read."""
        own = name == "_orig_mod" or hasattr(type(self), name)
        (super() if own else super().__getattr__("_orig_mod")).__setattr__(name, value)

    def __delattr__(self, name):
        (super() if hasattr(type(self), name) else self._orig_mod).__delattr__(name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self):
        return _again_module, (self._orig_mod, self._compiled._options)


def _again_module(module, options):
    return CompiledModule(module, options)


# ---------------------------------------------------------------- what users call
def compile(model: Callable | None = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str = "inductor",
            mode: str | None = None, options: dict | None = None, disable: bool = False, reuse_outputs: bool = False,
            memory_budget: float = 1.0) -> Any:
    """A function, module or training step that is captured at its second call and replayed from then on.

    A replay runs the kernels that the captured call launched, one after the other, without coming back to Python. What decides on
    these is compared before: layouts, modes, and all that the function can reach. Where that has changed it runs as it is, or is
    captured anew; where a call does what a replay cannot (reading a value, printing), the function is split there, and what is
    between is compiled. docs/compile.md tells what is captured.

    Args:
        model: what to compile; None for a decorator with options.
        fullgraph: raise where a call cannot be captured, instead of running it as it is.
        dynamic: taken for PyTorch's sake: programs are made for each shape.
        backend: `"inductor"`, PyTorch's default, and `"replay"` are the same here; `"eager"` and `"aot_eager"` call it as it is.
        mode: `"replay"`, and PyTorch's, which mean the same here.
        options: PyTorch's of its back end (`"epilogue_fusion"`, `"triton.cudagraphs"`), which change nothing here, whatever their
            names: there are hundreds, others from version to version.
        disable: call it as it is.
        reuse_outputs: results stand in the same memory in every call, instead of memory of their own.
        memory_budget: the most memory that intermediate results should take at one time, as a fraction of what they do, from 0 to
            1. Below 1, what is cheap to compute is computed again in backward where that is needed to come as near to it as can be.

    Returns:
        What is called like `model`.

    Raises:
        RuntimeError: an unknown back end or mode, or a mode with options; with `fullgraph`, a call that cannot be captured.
        ValueError: a budget that is no fraction, or with `mode="replay"`, which computes nothing again.
        TypeError: `model` cannot be called.

    Example:
        >>> import numtorch as torch
        >>> net = torch.nn.Linear(4, 2)
        >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        >>> @torch.compile
        ... def step(x, y):
        ...     optimizer.zero_grad()
        ...     loss = torch.nn.functional.mse_loss(net(x), y)
        ...     loss.backward()
        ...     optimizer.step()
        ...     return loss
        >>> losses = [step(torch.ones(3, 4), torch.zeros(3, 2)).item() for _ in range(5)]
        >>> losses[4] < losses[0]
        True
    """
    if callable(backend):
        raise RuntimeError(f"compile: back ends that are functions get PyTorch's graphs, which are not made here; expected one of "
                           f"{', '.join(BACKENDS)}, got {backend!r}")
    if backend not in BACKENDS:
        raise RuntimeError(f"Invalid backend: {backend!r}; there are {', '.join(BACKENDS)}")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if not 0 <= memory_budget <= 1 or (memory_budget < 1 and mode == "replay"):
        raise ValueError(f"compile: expected a memory_budget from 0 to 1, and none with mode='replay', got {memory_budget!r}")
    settings = dict(fullgraph=bool(fullgraph), disable=bool(disable) or backend in ("eager", "aot_eager"),
                    reuse_outputs=bool(reuse_outputs), passes=mode != "replay", memory_budget=float(memory_budget))
    if model is None:
        return lambda function: compile(function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
                                        options=options, disable=disable, reuse_outputs=reuse_outputs, memory_budget=memory_budget)
    if isinstance(model, Module):
        return CompiledModule(model, settings)
    if not callable(model):
        raise TypeError(f"compile expected something to call, but got {type(model).__name__}")
    return Compiled(model, settings)


def explain(function) -> Callable:
    """What `compile` makes of calls of a function.

    Args:
        function: a function, a module or a step, compiled or not.

    Returns:
        A function of its arguments, which returns an `Explanation`: of the program that there is for such a call, else it calls
        the function until it is captured (up to five times).

    Example:
        >>> import numtorch as torch
        >>> def f(x):
        ...     return x / x.sum().item()
        >>> for each in torch.compile.explain(f)(torch.ones(3)).breaks:
        ...     print(each.what)
        Python reads or writes elements (item calls c_float.from_address)
    """
    compiled = function._compiled if isinstance(function, CompiledModule) else function
    inner = compiled._function if isinstance(compiled, Compiled) else function

    def explained(*args, **kwargs):
        codes: dict = {}
        key, tensors = call_of(args, kwargs, [])
        reason = reason_before(tensors)
        if reason is not None:
            return Explanation([Break(reason, "?", 0)])
        if isinstance(compiled, Compiled):
            kind = compiled._kinds.get(key)
            for replay in kind.replays if kind is not None else ():
                with replay.lock:
                    if replay.fits(tensors):
                        return Explanation([], replay, graphs=_graphs(kind, replay))
            if kind is not None and kind.recording is not None and kind.recording.programs:
                return _explained(kind.recording)
            if kind is not None and kind.split is not None:
                return _split_at(kind.breaks, kind.split)
        watch = Watch(capturing=False)
        watch.run(inner, args, kwargs)
        codes.update(watch.codes)
        breaks: list = []
        for _ in range(ATTEMPTS):
            _, replay, breaks, codes = capture(inner, args, kwargs, tensors, codes, False, breaks)
            if replay is not None:
                return Explanation([], replay)
        if breaks[0].what == HAS_GRAPH:
            recording = Recording(inner, codes, False)
            while recording.reason is None and not recording.programs:
                recording.call(tensors, args, kwargs)
            if recording.programs:
                return _explained(recording)
            breaks = [breaks[0]._replace(what=f"{HAS_GRAPH}, and {recording.reason}")]
        made = split(inner, {each.outer for each in breaks if each.outer}, lambda piece: piece)
        return Explanation(breaks) if made is None else _split_at(breaks, made)
    return explained


def _graphs(kind, replay):
    """The graph that a replay is of, if any."""
    return [kind.graphs[replay]] if replay in kind.graphs else []


def _split_at(breaks, called):
    """The explanation of a function that is split, with the graphs of its pieces."""
    graphs = []
    for piece in called.pieces:
        for kind in getattr(piece.call, "_kinds", {}).values():
            if kind.replays:
                graphs += _graphs(kind, kind.replays[0])
            elif kind.recording is not None and kind.recording.programs:
                graphs += _halves(kind.recording.programs[0])
    return Explanation(breaks, pieces=called.pieces, graphs=graphs)


def _halves(program):
    return [program.forward.graph, program.backward.graph]


def _explained(recording):
    program = recording.programs[0]
    explanation = Explanation([], program.forward.replay, backward=program.backward.replay, graphs=_halves(program))
    explanation.passes, explanation.stays = program.passes, recording.stays
    return explanation


compile.explain = explain  # type: ignore[attr-defined]
__all__ = ["Compiled", "CompiledModule", "Explanation", "Unsupported", "compile", "explain", "forget"]
