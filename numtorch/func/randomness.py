"""Random numbers inside of `vmap`: refused, of each sample its own, or the same for all. And inside of a trace, which writes draws
down though no tensor of theirs is traced.

While such a map runs, streams ask before they give numbers, draws of new tensors, which have no tensor whose layout could be
special, are made for all samples, and so are draws at parameters, and dropout, of what is the same for all. While a trace is made,
no draw finds a plan, so that each comes to `miss`, which asks here what takes it. Otherwise none of it is so.
"""
from __future__ import annotations

import contextlib
import threading

from ..kernels.forks import survive_fork
from ..ops.core.generator import Generator, get_rng_state, set_rng_state
from ..ops.core.primitive import Draw, PlanTable, miss, registry
from ..ops.nn import dropout as dropouts
from ..ops.shape.join import stack
from ..storage import inferring

_ERROR = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
          "flags on vmap or perform the randomness operation out of vmap")
_IN_PLACE = ("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If "
             "this is necessary for your usage, please file an issue with functorch.")
_RANDOM = registry["random"]
_claim, _draw, _draw_at = Generator._claim, _RANDOM.execute, Draw.draw
_drop, _alpha_drop = dropouts._dropout, dropouts._alpha_dropout
_DRAWS = [each for each in registry.values() if isinstance(each, Draw)]
_plans = [each.plans for each in _DRAWS]
_lock = survive_fork(threading.Lock())
_levels = [0]                                            # how many maps and traces run, in all threads


class _NoPlans(PlanTable):
    """Where every draw is one whose plan is not known."""

    __slots__ = ()

    def keep(self, key, plan):
        return plan


_no_plans = _NoPlans()


class _Thread(threading.local):
    """The maps that this thread is in, the outermost first, whether a rule of theirs draws, and the trace that they are in."""

    def __init__(self) -> None:
        self.levels: list = []
        self.allowed = 0
        self.trace = None


_thread = _Thread()


def _asking(self, words, counters):
    if not _thread.allowed:
        for level in _thread.levels:
            if level.randomness == "error":
                raise RuntimeError(_ERROR)
            if level.randomness == "different":
                raise RuntimeError(_IN_PLACE)
    if _thread.trace is not None:                        # by a call that it does not see
        _thread.trace.freezing(None, _thread.trace)
    _claim(self, words, counters)


def _draw_for_all(plan, size, *call):
    """A draw of a new tensor, for all samples of the maps whose draws are different."""
    levels = [level for level in _thread.levels if level.randomness == "different"]
    if not levels or _thread.allowed:
        return _draw(plan, size, *call)
    if any(level.randomness == "error" for level in _thread.levels):
        raise RuntimeError(_ERROR)
    with allowed():
        if call[0] == "randperm":
            count = 1
            for level in levels:
                count *= level.size
            drawn = stack([miss(_RANDOM, (), (size, *call)) for _ in range(count)])
            drawn = drawn.reshape(*[level.size for level in levels], *size)
        else:
            whole = (*[level.size for level in levels], *size)
            drawn = miss(_RANDOM, (), (whole, *call))
    for level in levels:
        drawn = level.wrapped(drawn)
    return drawn


def _over_different(x):
    """A tensor as one sample of all maps whose draws are different, unless it is already.

    Raises:
        RuntimeError: one of the maps refuses draws.
    """
    if not _thread.allowed:
        if any(level.randomness == "error" for level in _thread.levels):
            raise RuntimeError(_ERROR)
        for level in _thread.levels:
            if level.randomness == "different":
                x = level.as_sample(x)
    return x


def _draw_at_samples(self, tensors, attributes, generator):
    """A draw at parameters."""
    return _draw_at(self, (_over_different(tensors[0]), *tensors[1:]), attributes, generator)


def _drop_of_samples(input, p):
    return miss(dropouts.DROPOUT, (input if p == 1.0 else _over_different(input),), (p,))          # then nothing is left to chance


def _alpha_drop_of_samples(input, p):
    return miss(dropouts.ALPHA_DROPOUT, (input if p == 1.0 else _over_different(input),), (p,))


def _taken():
    """The trace that a draw of ordinary tensors is made in. Maps inside of it say first for which samples it is made."""
    undecided = not _thread.allowed and any(level.randomness != "same" for level in _thread.levels)
    return None if undecided else _thread.trace


@contextlib.contextmanager
def allowed():
    """Inside, streams give numbers: the caller has decided for which samples."""
    _thread.allowed += 1
    try:
        yield
    finally:
        _thread.allowed -= 1


@contextlib.contextmanager
def taken_by(trace):
    """Inside, a trace takes this thread's draws, and maps that it is in do not decide on them; with None, none takes them."""
    before = _thread.levels, _thread.allowed, _thread.trace
    _thread.levels, _thread.allowed, _thread.trace = [], 0, trace
    begin()
    try:
        yield
    finally:
        end()
        _thread.levels, _thread.allowed, _thread.trace = before


def enter(level) -> None:
    """A map begins to run in this thread."""
    _thread.levels.append(level)
    inferring.append(None)                               # replays that look at nothing else do not run
    begin()


def leave(level) -> None:
    """It has ended."""
    _thread.levels.remove(level)
    inferring.pop()
    end()


def begin() -> None:
    """Draws ask from now on."""
    with _lock:
        _levels[0] += 1
        if _levels[0] > 1:
            return
        Generator._claim, _RANDOM.execute, Draw.draw = _asking, _draw_for_all, _draw_at_samples
        dropouts._dropout, dropouts._alpha_dropout = _drop_of_samples, _alpha_drop_of_samples
        for each in _DRAWS:
            each.plans, each.taken = _no_plans, _taken
        dropouts.DROPOUT.taken = dropouts.ALPHA_DROPOUT.taken = _taken


def end() -> None:
    """They do not, unless other maps or traces run."""
    with _lock:
        _levels[0] -= 1
        if not _levels[0]:
            Generator._claim, _RANDOM.execute, Draw.draw = _claim, _draw, _draw_at
            dropouts._dropout, dropouts._alpha_dropout = _drop, _alpha_drop
            for each, plans in zip(_DRAWS, _plans):
                each.plans, each.taken = plans, None
            dropouts.DROPOUT.taken = dropouts.ALPHA_DROPOUT.taken = None


def each_sample(level, draw):
    """What `draw(i)` gives for each sample, with numbers of its own or the same ones.

    Raises:
        RuntimeError: random numbers are refused.
    """
    if level.randomness == "error":
        raise RuntimeError(_ERROR)
    state, samples = get_rng_state(), []
    with allowed():
        for i in range(level.size):
            if level.randomness == "same" and i:
                set_rng_state(state)
            samples.append(draw(i))
    return samples
