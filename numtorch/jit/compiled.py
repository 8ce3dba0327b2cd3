"""`numtorch.compile`: functions that are captured once and replayed."""
from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

from ..amp.casting import state as _autocast
from ..autograd.modes import modes
from ..devices import default
from ..dtypes import get_default_dtype
from ..kernels import debugmemory
from ..kernels.compiler import DISABLE_JIT
from ..kernels.threads import get_num_threads
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from ..storage import mode as memory_mode
from ..tensor import Tensor
from .capture import Break, Watch
from .reach import Reach, Unfollowed
from .replay import Before, NotCaptured, Replay

KINDS = 16                                               # of arguments, by layouts and values, that a function has programs for
PROGRAMS = 4                                             # of each kind, for what else is reached: another mode, another layer
CAPTURES = 16                                            # of each kind; then what is reached changes too often
ATTEMPTS = 4                                             # in a row that may fail
BACKENDS = ("inductor", "replay", "eager", "aot_eager")
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "replay")


def _world():
    """The modes that decide on what a call does."""
    return modes.recording, modes.inference, _autocast.on, get_num_threads(), default[0], get_default_dtype()


def _ignored():
    """Attributes that a replay sees to, or that are nobody's business."""
    return (Optimizer, {"_prepared", "_opt_called"}), (Tensor, {"_views"}), (Compiled, {"_kinds"})


class Unsupported(RuntimeError):
    """What `fullgraph=True` raises where a call cannot be captured."""


class _Kind:
    """Calls with arguments of one kind."""

    def __init__(self) -> None:
        self.replays: list[Replay] = []                  # the one used last first
        self.codes: dict | None = None
        self.captures, self.attempts, self.reason, self.breaks = 0, 0, None, []
        self.objects: list = []                          # whose identity is part of the kind


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

    def __call__(self, *args, **kwargs):
        if memory_mode.memory is not None or self._options["disable"]:
            return self._function(*args, **kwargs)
        tensors: list = []
        objects: list = []
        try:
            key = (*_world(), _key(args, tensors, objects), _key(kwargs, tensors, objects) if kwargs else None)
            kind = self._kinds.get(key)
        except TypeError:                                # an argument that cannot be told from others
            return self._function(*args, **kwargs)
        if kind is None:
            kind = self._new_kind(key, objects)
        for number, replay in enumerate(kind.replays):
            with replay.lock:
                if not replay.running and replay.fits(tensors):          # else a destructor calls it within its own replay
                    replay.running = True
                    try:
                        result = replay.run(tensors)
                    finally:
                        replay.running = False
                    if result is not None:
                        if number:
                            kind.replays.insert(0, kind.replays.pop(number))
                        return result[0]
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
        if len(self._kinds) >= KINDS:
            kind = _Kind()
            kind.reason = f"more than {KINDS} kinds of arguments"
            return kind
        kind = self._kinds[key] = _Kind()
        kind.objects = objects
        return kind

    def _first_calls(self, kind, tensors, args, kwargs):
        """Call it as it is, and watch: first for whose code runs, then for what it launches."""
        function = self._function
        if kind.reason is None:
            kind.reason = _reason_before(tensors)
        if kind.reason is not None:
            return self._refuse(kind, args, kwargs)
        if kind.codes is None:
            watch = Watch(capturing=False)
            result = watch.run(function, args, kwargs)
            kind.codes = watch.codes
            return result
        result, replay, breaks, kind.codes = capture(function, args, kwargs, tensors, kind.codes, self._options["reuse_outputs"])
        if replay is not None:
            kind.captures, kind.attempts = kind.captures + 1, 0
            kind.replays = [replay, *kind.replays[:PROGRAMS - 1]]
            if kind.captures >= CAPTURES:
                kind.reason, kind.replays = "what it does changes from call to call", []
        else:
            kind.breaks, kind.attempts = breaks, kind.attempts + 1
            if kind.attempts >= ATTEMPTS:
                kind.reason = str(breaks[0])
        return result

    def _refuse(self, kind, args, kwargs):
        if self._options["fullgraph"]:
            raise Unsupported(f"compile(fullgraph=True): {kind.reason}")
        return self._function(*args, **kwargs)


def capture(function, args, kwargs, tensors, codes, reuse):
    """Call a function and capture what it does.

    Args:
        function: it.
        args, kwargs: its arguments.
        tensors: those among them that are tensors.
        codes: the user's code objects that ran last time, with their globals.
        reuse: whether results stand in the same memory in every call.

    Returns:
        What it returns, the replay or None, what kept it from being captured, and whose code ran.
    """
    where = getattr(function, "__code__", None)
    place = (where.co_filename, where.co_firstlineno) if where is not None else ("?", 0)
    try:
        given: list = []
        objects: list = []
        key = _world(), _key((args, kwargs), given, objects)
        reach = Reach([("function", function), *[("an argument", each) for each in objects]], codes, _ignored())
        own = {id(t) for t in tensors}
        before = Before(tensors, reach)
        if any(t.memory is other.memory for _, t in reach.tensors.values() for other in tensors if id(t) not in own):
            raise Unfollowed("an argument shares memory with a tensor that the function reaches")
        if len({id(t.memory) for t in tensors}) < len(tensors):
            raise Unfollowed("arguments share memory")
        watch = Watch()
    except Unfollowed as error:
        watch = Watch(capturing=False)                   # what ran last time may be more, where kernels were planned
        return watch.run(function, args, kwargs), None, [Break(str(error), *place)], watch.codes
    result = watch.run(function, args, kwargs)
    replay, breaks = None, watch.breaks
    if not breaks:
        try:
            if watch.codes.keys() - codes.keys():
                raise NotCaptured("code runs that did not run before")
            changed = reach.difference()
            if changed is not None:
                raise NotCaptured(f"it has an effect on Python: {changed}")
            after: list = []
            if (_world(), _key((args, kwargs), after, [])) != key or any(a is not b for a, b in zip(given, after)):
                raise NotCaptured("it has an effect on Python: a mode or what an argument holds has changed")
            replay = Replay(watch, before, result, reuse)
        except NotCaptured as error:
            breaks = [Break(str(error), *place)]
        except Exception as error:                       # the result is there and right: a mistake of ours must not take it away
            breaks = [Break(f"it could not be captured ({type(error).__name__}: {error})", *place)]
    watch.memory.close()
    return result, replay, breaks, watch.codes


def _reason_before(tensors):
    """Why calls in this state of things are not captured, or None."""
    if DISABLE_JIT:
        return "kernels run as Python (NUMBA_DISABLE_JIT)"
    if debugmemory.MODE:
        return "memory is watched (NUMTORCH_DEBUG_MEMORY)"
    if _autocast.on:
        return "autocast is not captured"
    if modes.inference or modes.anomaly or modes.saved_hooks:
        return "inference mode, anomaly mode and saved-tensor hooks are not captured"
    for tensor in tensors:
        if type(tensor) is not Tensor or tensor.node is not None:
            return "an argument requires grad or is of a class of its own"
        if tensor.layout.device.type != "cpu" or tensor.layout.handler is not None:
            return "an argument is on another device or of a special layout"
    return None


def _key(value, tensors, objects):
    """What tells arguments of one kind from those of another; the tensors among them are gathered."""
    kind = type(value)
    if kind is Tensor or isinstance(value, Tensor):
        tensors.append(value)
        return value.layout, value.node is None, kind
    if kind is tuple or kind is list:
        return kind, *[_key(each, tensors, objects) for each in value]
    if kind is dict:
        return (kind, *[(name, _key(each, tensors, objects)) for name, each in value.items()])
    if kind in (int, bool, str, type(None), bytes):
        return kind, value
    if kind is float:
        return kind, repr(value)
    objects.append(value)
    return kind, id(value)


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

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)

    def train(self, mode: bool = True):
        self._orig_mod.train(mode)
        return super().train(mode)

    def __reduce__(self):
        return _again_module, (self._orig_mod, self._compiled._options)


def _again_module(module, options):
    return CompiledModule(module, options)


# ---------------------------------------------------------------- what users call
def compile(model: Callable | None = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str = "inductor",
            mode: str | None = None, options: dict | None = None, disable: bool = False, reuse_outputs: bool = False) -> Any:
    """A function, module or training step that is captured at its second call and replayed from then on.

    A replay runs the kernels that the captured call launched, one after the other, without coming back to Python. What decides on
    these is compared before: layouts, modes, and all that the function can reach. Where that has changed, or where a call does what
    a replay cannot (reading a value, printing), it runs as it is. docs/compile.md tells what is captured.

    Args:
        model: what to compile; None for a decorator with options.
        fullgraph: raise where a call cannot be captured, instead of running it as it is.
        dynamic: taken for PyTorch's sake: programs are made for each shape.
        backend: `"inductor"`, PyTorch's default, and `"replay"` are the same here; `"eager"` and `"aot_eager"` call it as it is.
        mode: `"replay"`, and PyTorch's, which mean the same here.
        options: PyTorch's of its back ends, ignored.
        disable: call it as it is.
        reuse_outputs: results stand in the same memory in every call, instead of memory of their own.

    Returns:
        What is called like `model`.

    Raises:
        RuntimeError: an unknown back end or mode; with `fullgraph`, a call that cannot be captured.
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
    settings = dict(fullgraph=bool(fullgraph), disable=bool(disable) or backend in ("eager", "aot_eager"),
                    reuse_outputs=bool(reuse_outputs))
    if model is None:
        return lambda function: compile(function, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
                                        options=options, disable=disable, reuse_outputs=reuse_outputs)
    if isinstance(model, Module):
        return CompiledModule(model, settings)
    if not callable(model):
        raise TypeError(f"compile expected something to call, but got {type(model).__name__}")
    return Compiled(model, settings)


class Explanation:
    """What became of a call.

    Attributes:
        launches: how many kernels a replay launches; 0 where there is none.
        breaks: what keeps the call from being replayed, each with `what`, `file` and `line`.
        bytes: of the program's own memory.
    """

    def __init__(self, launches, breaks, nbytes) -> None:
        self.launches, self.breaks, self.bytes = launches, breaks, nbytes

    def __str__(self) -> str:
        if not self.breaks:
            return f"captured: {self.launches} launches, {self.bytes} bytes of its own"
        return "not captured:\n" + "\n".join(f"  {each}" for each in self.breaks)

    __repr__ = __str__


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
        tensors: list = []
        _key(args, tensors, [])
        _key(kwargs, tensors, [])
        reason = _reason_before(tensors)
        if reason is not None:
            return Explanation(0, [Break(reason, "?", 0)], 0)
        if isinstance(compiled, Compiled):
            key = (*_world(), _key(args, [], []), _key(kwargs, [], []) if kwargs else None)
            kind = compiled._kinds.get(key)
            for replay in kind.replays if kind is not None else ():
                with replay.lock:
                    if replay.fits(tensors):
                        return Explanation(replay.launches, [], replay.memory.nbytes)
        watch = Watch(capturing=False)
        watch.run(inner, args, kwargs)
        codes.update(watch.codes)
        for _ in range(ATTEMPTS):
            _, replay, breaks, codes = capture(inner, args, kwargs, tensors, codes, False)
            if replay is not None:
                return Explanation(replay.launches, [], replay.memory.nbytes)
        return Explanation(0, breaks, 0)
    return explained


compile.explain = explain  # type: ignore[attr-defined]
__all__ = ["Compiled", "CompiledModule", "Explanation", "Unsupported", "compile", "explain"]
