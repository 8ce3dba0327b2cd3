"""Calls of a function: what tells one kind of them from another, and how one is captured."""
from __future__ import annotations

from typing import Any

from ...amp.casting import state as _autocast
from ...autograd.modes import modes
from ...devices import default
from ...dtypes import get_default_dtype
from ...func.randomness import _thread as _maps
from ...kernels import debugmemory
from ...kernels.compiler import DISABLE_JIT
from ...kernels.threads import get_num_threads
from ...nn.base.hooks import everywhere
from ...ops.core.late import later
from ...optim.optimizer import Optimizer
from ...optim.optimizer import everywhere as everywhere_in_steps
from ...tensor import Tensor
from ...torchfunction import _state as _overriding
from ..capturing.before import Before
from ..capturing.capture import Watch
from ..capturing.items import Break
from ..capturing.reach import Reach, Unfollowed, has_attributes, refused_names
from ..capturing.replay import Replay
from ..capturing.results import HAS_GRAPH, NotCaptured
from ..capturing.writing import ELSEWHERE
from .effects import EFFECT, Effects
from .splitting import code_of

PROGRAMS = 4                                             # of each kind of calls, for what else is reached: a mode, a layer
DIFFERING = 256                                          # calls that may come to a truth value which is another one
NEW_CODE = "code runs that did not run before"


def world():
    """The modes that decide on what a call does."""
    device = later.get("current_cuda")
    return (modes.recording, modes.inference, _autocast.on, get_num_threads(), default[0], get_default_dtype(),
            not _overriding.modes, not _maps.levels, 0 if device is None else device())


IGNORED: list = [(Optimizer, {"_prepared", "_opt_called", "_stepping"}), (Tensor, {"_views"})]  # attributes that a replay sees to


_HOOKS = ("hooks of all modules", everywhere), ("hooks of all optimisers", everywhere_in_steps)


def reach_of(function, objects, codes) -> Reach:
    """What a call reaches.

    Args:
        function: what is called.
        objects: arguments that are told from others by identity.
        codes: the user's code objects that run, with their globals.
    """
    roots = [("function", function), *_HOOKS, *[("an argument", each) for each in objects]]
    return Reach(roots, codes, IGNORED, objects)


def capture(function, args, kwargs, tensors, codes, reuse, tried=(), truths=True):
    """Call a function and capture what it does.

    Args:
        function: it.
        args, kwargs: its arguments.
        tensors: those among them that are tensors.
        codes: the user's code objects that ran last time, with their globals.
        reuse: whether results stand in the same memory in every call.
        tried: what kept the call before from being captured: where something did that will again, lines that have effects on Python
            are looked for, since the function is split there, too.
        truths: as `Watch` has it.

    Returns:
        What it returns, the replay or None, what kept it from being captured, and whose code ran.
    """
    where = code_of(function)
    place = (where.co_filename, where.co_firstlineno) if where is not None else ("?", 0)
    all_memory = any(each.what == ELSEWHERE for each in tried)
    try:
        reach, changed = _noted(function, args, kwargs, codes)
        own = {id(t) for t in tensors}
        before = Before(tensors, reach, all_memory, (args, kwargs))
        if any(t.memory is other.memory for _, t in reach.tensors.values() for other in tensors if id(t) not in own):
            raise Unfollowed("an argument shares memory with a tensor that the function reaches")
        if len({id(t.memory) for t in tensors}) < len(tensors):
            raise Unfollowed("arguments share memory")
        if any(has_attributes(t, reach.read) for t in tensors):
            raise Unfollowed("an argument has attributes of its own")
        if tensors and "_base" in reach.read:
            raise Unfollowed("whether arguments are views is looked at")
        watch = Watch(code=where, devices=True, before=before, truths=truths)
    except Unfollowed as error:
        watch = Watch(False, where, error.code)          # what ran last time may be more, where kernels were planned
        result = watch.run(function, args, kwargs)
        again = error.code in watch.codes
        return result, None, [*_places(error, where, codes, place, not again, watch.breaks), *watch.breaks], watch.codes
    locating = any(not each.passing or each.what.startswith(EFFECT) for each in tried)
    effects = Effects(where if locating else None, lambda: _noted(function, args, kwargs, codes)[1])
    with effects.located():
        result = watch.run(function, args, kwargs)
    replay, breaks = None, watch.breaks + effects.breaks
    if not breaks:
        try:
            if not ran_before(watch.codes, codes):
                raise NotCaptured(NEW_CODE)
            what = changed()
            if what is not None:
                raise NotCaptured(f"{EFFECT}: {what}")
            replay = Replay(watch, before, result, reuse)
        except NotCaptured as error:
            passing = (str(error) in (NEW_CODE, ELSEWHERE) and not all_memory) or (str(error).startswith(EFFECT) and not locating)
            breaks = [Break(str(error), *place, passing=passing)]
            if str(error) == HAS_GRAPH:
                breaks += watch.decided
        except Exception as error:                       # the result is there and right: a mistake of ours must not take it away
            breaks = [Break(f"it could not be captured ({type(error).__name__}: {error})", *place)]
    watch.memory.close()
    return result, replay, breaks, watch.codes


def _noted(function, args, kwargs, codes):
    """What a call reaches, and what says, when it is called, what of it has changed since."""
    given: list = []
    objects: list = []
    key = world(), key_of((args, kwargs), given, objects)
    reach = reach_of(function, objects, codes)

    def changed():
        what, after = reach.difference(), list[Any]()
        if what is None and ((world(), key_of((args, kwargs), after, [])) != key or any(a is not b for a, b in zip(given, after))):
            what = "a mode or what an argument holds has changed"
        return what
    return reach, changed


def ran_before(codes, known) -> bool:
    """Whether code objects ran in another call too, with the same globals.

    Args:
        codes: code objects with their globals.
        known: those of the other call.
    """
    return all(known.get(code) is scope for code, scope in codes.items())


def _places(error, code, codes, place, passing, seen):
    """The breaks of a function that names what none may refer to, or reaches what cannot be compared. Those that were seen as the
    call came to these lines are left out."""
    if error.code is None:
        return [Break(str(error), *place, passing=passing)]
    breaks = [Break(str(error), error.code.co_filename, line, passing=passing)
              for _, line in refused_names(error.code, error.scope)[:1] if error.code is not code]
    own = refused_names(code, codes[code]) if code in codes else []
    lines = {(each.file, each.line) for each in seen}
    return breaks + [Break(f"{said} is used", code.co_filename, line, line) for said, line in own
                     if (code.co_filename, line) not in lines]


def reason_before(tensors):
    """Why calls in this state of things are not captured, or None."""
    if DISABLE_JIT:
        return "kernels run as Python (NUMBA_DISABLE_JIT)"
    if debugmemory.MODE:
        return "memory is watched (NUMTORCH_DEBUG_MEMORY)"
    if _autocast.on:
        return "autocast is not captured"
    if _overriding.modes:
        return "a TorchFunctionMode is on, which sees every call"
    if _maps.levels:
        return "vmap runs, for which random numbers are drawn otherwise"
    if modes.inference or modes.anomaly or modes.saved_hooks:
        return "inference mode, anomaly mode and saved-tensor hooks are not captured"
    for tensor in tensors:
        if type(tensor) is not Tensor:
            return "an argument is of a class of its own"
        if tensor.node is not None and not modes.recording:
            return "an argument requires grad where nothing is recorded"
        if tensor.layout.device.type not in ("cpu", "cuda") or tensor.layout.handler is not None:
            return "an argument is on another device or of a special layout"
    return None


def call_of(args, kwargs, objects) -> tuple[tuple, list]:
    """What tells a call of one kind from those of another, and the tensors among its arguments, each once.

    Args:
        args, kwargs: its arguments.
        objects: where those are gathered that are told from others by identity.

    Raises:
        TypeError: an argument that cannot be told from others.
    """
    tensors: list = []
    key = (*world(), key_of(args, tensors, objects), key_of(kwargs, tensors, objects) if kwargs else None)
    if len(tensors) > 1:
        once = {id(each): each for each in tensors}
        if len(once) < len(tensors):                     # as queries, keys and values of an attention may be one tensor
            places = list(once)
            return (*key, tuple([places.index(id(each)) for each in tensors])), list(once.values())
    return key, tensors


def key_of(value, tensors, objects):
    """What tells arguments of one kind from those of another; the tensors among them are gathered."""
    kind = type(value)
    if kind is Tensor or isinstance(value, Tensor):
        tensors.append(value)
        return value.layout, value.node is None, kind
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return kind, *[key_of(each, tensors, objects) for each in value]
    if kind is dict:
        return (kind, *[(name, key_of(each, tensors, objects)) for name, each in value.items()])
    if kind in (int, bool, str, type(None), bytes):
        return kind, value
    if kind is float:
        return kind, repr(value)
    objects.append(value)
    return kind, id(value)
