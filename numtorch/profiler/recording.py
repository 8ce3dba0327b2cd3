"""What a profile notes while it is on, and how it gets to see it.

Public functions get code that notes their time (interposition.py), kernels an entry that does (kernels/entries.py), the engine asks
nodes under another name, and the compiler's two slow functions are treated like ops. All of that is taken back when the profile
stops, so that a program without one pays nothing. What is noted are bare tuples, and their order is that of their ends; which
contains which is found afterwards (events.py).
"""
from __future__ import annotations

import functools
import os
import sys
import weakref
from collections import deque
from threading import get_ident
from time import perf_counter_ns, time_ns

from .. import storage
from ..autograd import engine
from ..autograd.graph import Node
from ..interposition import Interposer, operations, with_constants
from ..kernels import compiler
from ..kernels.binding import DISABLE_JIT
from ..kernels.entries import CAPACITY, Launches, names_of_entries
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from ..tensor import Tensor
from ..torchfunction import handle_torch_function, has_torch_function

# What asks a tensor what it is: nothing is computed, and the question takes less time than the note of it.
QUESTIONS = frozenset("""
    data_ptr dim element_size get_device is_anomaly_check_nan_enabled is_anomaly_enabled is_complex is_conj is_contiguous
    is_floating_point is_inference is_inference_mode_enabled is_neg is_pinned is_same_size is_set_to is_shared is_signed ndimension
    nelement numel register_hook register_post_accumulate_grad_hook requires_grad_ result_type retain_grad size storage_offset
    stride untyped_storage can_cast promote_types set_anomaly_enabled broadcast_shapes len format repr str iter contains index
    dlpack_device array_wrap buffer
""".split())
PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
STACK = 16                                               # frames of the user's that are kept

current: list = []                                       # the recording that is on


class Recording:
    """Everything that happened between `start` and `stop`.

    Args:
        shapes: keep the shapes of ops' arguments; memory: count what is allocated and freed; stack: keep where ops are called;
            modules: note calls of modules.

    Attributes:
        notes: (kind, name, start, end, thread, details) of ops, nodes, compilations, modules and the user's ranges; times in ns.
        launches: (kernel, start, end, thread, parts) of kernels.
        memory: (time, bytes, in use) of what was allocated and freed.
        lost: how many came before what is kept, which are the last CAPACITY of each.
    """

    def __init__(self, shapes=False, memory=False, stack=False, modules=False) -> None:
        self.shapes, self.counting, self.stack, self.modules = shapes, memory, stack, modules
        self.notes: deque = deque(maxlen=CAPACITY)       # code in front of functions has its `append`
        self.clear()

    def clear(self) -> None:
        """Forget what has been noted."""
        self.notes.clear()
        self.launches: list = []
        self.memory: list = []
        self.lost = self.in_use = 0
        self.began, self.epoch = perf_counter_ns(), time_ns()
        self.ended = self.began

    def start(self) -> None:
        """Begin to note. Raises RuntimeError where another profile is on."""
        if current:
            raise RuntimeError("Profiler is already enabled: a profile inside of a profile is not possible")
        current.append(self)
        self.interposers = [*self._interposed()]
        engine.run_backward.__code__ = _asking_timed(engine.run_backward.__code__)
        self.timed_calls = None if DISABLE_JIT else Launches(compiler.machine())
        if self.counting:
            storage.recycle(False)
            self._live: dict = {}
        for interposer, functions in self.interposers:
            interposer.add(functions)
        self.clear()
        if self.timed_calls is not None:
            self.timed_calls.start()

    def stop(self) -> None:
        """Note no more, and have everything be what it was."""
        self.ended = perf_counter_ns()
        if self.timed_calls is not None:
            self.launches, self.lost = self.timed_calls.stop()
        self.lost += len(self.notes) == CAPACITY
        engine.run_backward.__code__ = _RUN_BACKWARD
        for interposer, _ in self.interposers:
            interposer.remove()
        if self.counting:
            storage.recycle(True)
            self._live = {}
        current.remove(self)
        self.kernels = names_of_entries()

    # ------------------------------------------------------------ what is seen
    def _interposed(self):
        """(interposer, functions) for all that is to be seen."""
        detailed = self.shapes or self.counting or self.stack
        ops = {function: name for function, name in operations().items() if name not in QUESTIONS}

        def op_code(plain, public):
            return with_constants(_detailed if detailed else _timed, public, plain=plain, recording=self, append=self.notes.append,
                                  kind="op", name=ops[public], clock=perf_counter_ns, thread=get_ident)

        def named_code(kind, name):
            return lambda plain, public: with_constants(_named, public, plain=plain, recording=self, kind=kind, naming=name,
                                                                clock=perf_counter_ns, thread=get_ident)

        yield Interposer(1, op_code), ops
        yield Interposer(1, named_code("compile", lambda args: f"compile {args[0].__name__}")), [compiler._object_code]
        yield Interposer(1, named_code("compile", lambda args: f"load {args[0]}")), [compiler._load]
        steps = {kind.__dict__["step"] for kind in _subclasses(Optimizer) if "step" in kind.__dict__}
        yield Interposer(1, named_code("step", lambda args: f"Optimizer.step#{type(args[0]).__name__}.step")), steps
        if self.modules:
            yield Interposer(1, named_code("module", lambda args: f"nn.Module: {type(args[0]).__name__}")), [Module.__call__]
        if self.counting and not storage.debugmemory.MODE:
            def counted_code(plain, public):
                return with_constants(_counted, public, plain=plain, count=self._count)
            yield Interposer(1, counted_code), [type(storage.host).allocate]

    def before(self, args):
        """What a note has beside times: shapes of the arguments, the user's stack, and the bytes in use."""
        shapes = [list(a.layout.shape) if isinstance(a, Tensor) else _shapes(a) for a in args] if self.shapes else None
        return shapes, _user_frames(sys._getframe(2)) if self.stack else None, self.in_use

    def after(self, result):
        """What it has of the end of a call: the bytes in use, and the result's shape."""
        return self.in_use, list(result.layout.shape) if isinstance(result, Tensor) else None

    def _count(self, block):
        """Note that a block came, and see it go."""
        self.in_use += block.nbytes
        self.memory.append((perf_counter_ns(), block.nbytes, self.in_use))
        reference = weakref.ref(block, self._freed)
        self._live[reference] = block.nbytes

    def _freed(self, reference):
        nbytes = self._live.pop(reference, 0)
        self.in_use -= nbytes
        self.memory.append((perf_counter_ns(), -nbytes, self.in_use))


def _subclasses(kind):
    yield kind
    for each in kind.__subclasses__():
        yield from _subclasses(each)


def _shapes(argument):
    """The shapes of a list of tensors; [] for anything else, as PyTorch shows it."""
    if type(argument) in (list, tuple) and argument and all(isinstance(a, Tensor) for a in argument):
        return [list(a.layout.shape) for a in argument]
    return []


def _user_frames(frame):
    frames: list = []
    while frame is not None and len(frames) < STACK:
        code = frame.f_code
        if not code.co_filename.startswith((PACKAGE, "<numtorch")):
            frames.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return frames


# ---------------------------------------------------------------- code in front of functions
# It runs among the globals of the function that it stands before, so what it needs are constants.
def _timed(*args, **kwargs):
    plain = "plain"
    append = "append"
    clock = "clock"
    thread = "thread"
    start = clock()
    try:
        return plain(*args, **kwargs)
    finally:
        append(("kind", "name", start, clock(), thread(), None))


def _detailed(*args, **kwargs):
    plain = "plain"
    recording = "recording"
    clock = "clock"
    thread = "thread"
    before = recording.before(args)
    start = clock()
    result = None
    try:
        result = plain(*args, **kwargs)
        return result
    finally:
        recording.notes.append(("kind", "name", start, clock(), thread(), (*before, *recording.after(result))))


def _named(*args, **kwargs):
    plain = "plain"
    naming = "naming"
    recording = "recording"
    clock = "clock"
    thread = "thread"
    in_use = recording.in_use
    start = clock()
    try:
        return plain(*args, **kwargs)
    finally:
        recording.notes.append(("kind", naming(args), start, clock(), thread(), (None, None, in_use, recording.in_use, None)))


def _counted(*args, **kwargs):
    plain = "plain"
    count = "count"
    block = plain(*args, **kwargs)
    count(block)
    return block


# ---------------------------------------------------------------- nodes
_RUN_BACKWARD = engine.run_backward.__code__
_TIMED = {"backward": "timed_backward", "differentiable_backward": "timed_differentiable_backward"}


def _asking_timed(code):
    """The engine's code, which asks nodes for gradients by the names under which they note their time."""
    return code.replace(co_names=tuple([_TIMED.get(name, name) for name in code.co_names]))


def _timed_node(run):
    def timed(node, grad):
        recording = current[0] if current else None
        if recording is None:                            # a backward that outlives the profile
            return getattr(node, run)(grad)
        in_use, start = recording.in_use, perf_counter_ns()
        try:
            return getattr(node, run)(grad)
        finally:
            recording.notes.append(("node", node.name(), start, perf_counter_ns(), get_ident(),
                                    (None, None, in_use, recording.in_use, None)))
    return timed


for _name, _other in _TIMED.items():
    setattr(Node, _other, _timed_node(_name))


# ---------------------------------------------------------------- ranges of the user's
class record_function:
    """A range that profiles show under a name of one's own: `with record_function("name"):`, or `@record_function("name")`.

    Args:
        name: what is shown.
        args: a string that traces show with it.

    Example:
        >>> import numtorch as torch
        >>> with torch.profiler.profile() as profile:
        ...     with torch.profiler.record_function("mine"):
        ...         x = torch.ones(3) + 1
        >>> [event.name for event in profile.events() if event.cpu_parent is None]
        ['mine']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self.start = perf_counter_ns()
        self.in_use = current[0].in_use if current else 0
        return self

    def __exit__(self, *exception) -> None:
        for recording in current:                        # the one that is on, if any
            recording.notes.append(("user", self.name, self.start, perf_counter_ns(), get_ident(),
                                    (None, None, self.in_use, recording.in_use, self.args)))

    def __call__(self, function):
        @functools.wraps(function)
        def ranged(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)
        return ranged


def _record_function_enter(name: str, args: str | None = None) -> record_function:
    """The beginning of a range, as a function for graphs of calls (`torch.ops.profiler`); `_record_function_exit` ends it."""
    return record_function(name, args).__enter__()


def _record_function_exit(opened: record_function) -> None:
    """The end of a range that `_record_function_enter` began."""
    if has_torch_function((opened,)):                    # while a graph is made, what stands for the range
        return handle_torch_function(_record_function_exit, (opened,), opened)
    opened.__exit__()
