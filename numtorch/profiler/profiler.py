"""`profile`: what to record and when, and what to do with it then."""
from __future__ import annotations

import enum
import json
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .events import EventList, events_of
from .recording import Recording, record_function
from .trace import export_chrome_trace, export_stacks


class ProfilerActivity(enum.Enum):
    """What may be profiled. All that runs here runs on the CPU or is launched from it."""
    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 6


class ProfilerAction(enum.Enum):
    """What a profile does in a step."""
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled here.

    Example:
        >>> import numtorch as torch
        >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
        True
    """
    return {ProfilerActivity.CPU}


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """What to do in each step: wait, warm up (record and forget), record, and so on again.

    Args:
        wait, warmup, active: the steps of each.
        repeat: how often, 0 for ever.
        skip_first: steps before all that.
        skip_first_wait: other than 0 to leave the first wait out.

    Returns:
        A function from the number of a step to a `ProfilerAction`.

    Raises:
        ValueError: a negative number, or no active step.

    Example:
        >>> import numtorch as torch
        >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
        >>> [plan(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError(f"Invalid profiler schedule arguments: wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, "
                         f"skip_first={skip_first}; active is 1 or more, the others 0 or more")
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE
    return action


class profile:
    """Record which ops, kernels, compilations and gradients a part of a program runs, and how long each takes.

    Args:
        activities: accepted; what runs on the CPU is recorded, launches on other devices among it.
        schedule: a function from the number of a step to a `ProfilerAction`, such as `schedule` makes; None to record all. With
            one, call `step()` at the end of each step.
        on_trace_ready: called with the profile whenever a recording is finished.
        record_shapes: keep the shapes of arguments.
        profile_memory: count what is allocated and freed.
        with_stack: keep where in the user's program ops are called.
        with_flops: count floating-point operations of products, convolutions and elementwise arithmetic.
        with_modules: record calls of modules, too.
        acc_events: keep the events of all recordings of a schedule, not only those of the last.
        experimental_config, execution_trace_observer, use_cuda, custom_trace_id_callback, post_processing_timeout_s: accepted.

    Raises:
        RuntimeError: another profile is on.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(3, requires_grad=True)
        >>> with torch.profiler.profile() as profile:
        ...     (x * 2).sum().backward()
        >>> sorted(e.key for e in profile.key_averages() if e.kind == "node")
        ['MulBackward0', 'SumBackward0']
        >>> print(profile.key_averages().table(sort_by="self_cpu_time_total"))          # doctest: +SKIP
    """

    def __init__(self, *, activities: Iterable | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, experimental_config: Any = None,
                 execution_trace_observer: Any = None, acc_events: bool = False, use_cuda: bool | None = None,
                 custom_trace_id_callback: Any = None, post_processing_timeout_s: float | None = None) -> None:
        self.activities = set(activities) if activities is not None else supported_activities()
        self.schedule, self.on_trace_ready, self.acc_events = schedule, on_trace_ready, acc_events
        self.record_shapes, self.with_flops = record_shapes, with_flops
        self.profile_memory, self.with_stack = profile_memory, with_stack
        self.recording = Recording(record_shapes or with_flops, profile_memory, with_stack, with_modules)
        self.metadata: dict = {}
        self.step_num, self.current_action = 0, self._action(0)
        self._events: EventList | None = None
        self._memory: list = []
        self._step: record_function | None = None
        self._on = self._started = False

    def _action(self, step):
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(step)

    # ------------------------------------------------------------ on and off
    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0."""
        self._started = True
        self._go_on(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End. What is being recorded is finished."""
        if not self._started:
            raise AssertionError("Profiler must be initialized before stopping trace")
        self._started = False
        self._end_step()
        self._go_on(self.current_action, None)

    def step(self) -> None:
        """Say that a step of the program is done: the next one is treated as the schedule says."""
        self._end_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self._action(self.step_num)
        self._go_on(before, self.current_action)
        self._begin_step()

    def _begin_step(self):
        if self.schedule is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self):
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _go_on(self, before, after):
        """From one step's action to the next one's; None after the last."""
        recorded = before in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if before is ProfilerAction.RECORD and after in (ProfilerAction.NONE, ProfilerAction.WARMUP):
            warnings.warn("Incorrect schedule: RECORD followed by NONE or WARMUP", stacklevel=4)
        done = before is ProfilerAction.RECORD_AND_SAVE or (recorded and after is not ProfilerAction.RECORD
                                                            and after is not ProfilerAction.RECORD_AND_SAVE)
        if self._on and (done or after in (ProfilerAction.NONE, None)):
            self._on = False
            self.recording.stop()
            if recorded:
                self._finish()
        elif self._on and before is ProfilerAction.WARMUP and after is not ProfilerAction.WARMUP:
            self._on = False                             # what was seen in the warm-up is forgotten
            self.recording.stop()
        if not self._on and after not in (ProfilerAction.NONE, None):
            self.recording.start()
            self._on = True

    def _finish(self):
        events = events_of(self.recording, self.with_flops, self.record_shapes)
        if self.acc_events and self._events is not None:
            events = EventList([*self._events, *events], events.counted, events.lost + self._events.lost)
        self._events, self._memory = events, self.recording.memory
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # ------------------------------------------------------------ what was recorded
    def events(self) -> EventList:
        """All events, in the order of time.

        Raises:
            AssertionError: nothing has been recorded yet.
        """
        if self._events is None:
            raise AssertionError("Profiler must be initialized before accessing events, and stopped")
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """Sums over the events of one name, to be printed with `.table(sort_by="self_cpu_time_total")`.

        Args:
            group_by_input_shape: tell calls with other shapes apart; needs `record_shapes`.
            group_by_stack_n: tell calls from other places apart, by so many frames; needs `with_stack`.
            group_by_overload_name: accepted; ops have no overloads.

        Raises:
            AssertionError: nothing has been recorded yet.
        """
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace that https://ui.perfetto.dev and chrome://tracing show.

        Args:
            path: the file, such as `"trace.json"`; one that ends in `.gz` is compressed.
        """
        export_chrome_trace(path, self.events(), self._memory, self.recording.began, self.recording.epoch, self.metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with their time, for flame graphs; needs `with_stack`.

        Args:
            path: the file.
            metric: `"self_cpu_time_total"`.
        """
        export_stacks(path, self.events(), metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Have traces say something.

        Args:
            key, value: what.
        """
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Have traces say something that is given as JSON.

        Args:
            key: its name.
            value: text in JSON.
        """
        self.metadata[key] = json.loads(value)

    def __repr__(self):
        return "<profile, nothing recorded yet>" if self._events is None else f"<profile of {len(self._events)} events>"
