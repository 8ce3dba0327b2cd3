"""What a profile knows: events, which contain others, and sums over those of one name."""
from __future__ import annotations

from collections.abc import Iterable

from .flops import flops_of
from .table import table


class Interval:
    """A stretch of time, in microseconds.

    Args:
        start, end: since the profile began.
    """

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Its length.

        Example:
            >>> from numtorch.profiler.events import Interval
            >>> Interval(2.0, 5.0).elapsed_us()
            3.0
        """
        return self.end - self.start


class _Formatted:
    """Times as text: `cpu_time_total_str` and its like."""

    def __getattr__(self, name):
        if name.endswith("_str") and not name.startswith("__"):
            return time_text(getattr(self, name.removesuffix("_str")))
        if "device_" in name or "cuda_" in name:         # there is nothing but the processor
            return 0
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def time_text(us: float) -> str:
    """Microseconds with the unit that suits them.

    Args:
        us: a time.

    Example:
        >>> from numtorch.profiler.events import time_text
        >>> time_text(1234.5)
        '1.234ms'
    """
    return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class FunctionEvent(_Formatted):
    """One call: of an op, of a node's backward, of a kernel, a compilation, or a range of the user's.

    Attributes:
        name: what was called; `key` is the same.
        kind: "op", "node", "kernel", "compile", "step", "module" or "user".
        id, thread: its number, and the thread it ran in.
        time_range: an `Interval`, in microseconds since the profile began.
        cpu_parent, cpu_children: what it ran in, and what ran directly in it.
        input_shapes: of its arguments, with `record_shapes`; `stack`: the user's frames, with `with_stack`.
        flops: floating-point operations, with `with_flops`, where they are known.
        cpu_memory_usage: bytes allocated in it less those freed, with `profile_memory`.
        parts: of a kernel, how many parts it ran in, on as many threads.
    """

    def __init__(self, id, name, kind, thread, start, end, shapes=None, stack=None, memory=0, flops=0, parts=1, args=None) -> None:
        self.id, self.name, self.kind, self.thread, self.parts, self.args = id, name, kind, thread, parts, args
        self.time_range = Interval(start, end)
        self.input_shapes, self.stack, self.cpu_memory_usage, self.flops = shapes or [], stack or [], memory, flops
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.count, self.is_async, self.is_user_annotation = 1, False, kind == "user"

    key = property(lambda self: self.name)
    cpu_time_total = property(lambda self: self.time_range.elapsed_us(), doc="Microseconds, with all that ran in it.")
    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, without what ran in it."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes, without those of what ran in it."""
        return self.cpu_memory_usage - sum(c.cpu_memory_usage for c in self.cpu_children)

    def __repr__(self):
        return f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_total:.3f}us thread={self.thread}>"


class FunctionEventAvg(_Formatted):
    """Sums over events of one key.

    Attributes:
        key: the name; count: how many there were.
        cpu_time_total, self_cpu_time_total: microseconds; `cpu_time` is the mean.
        cpu_memory_usage, self_cpu_memory_usage: bytes; flops: floating-point operations.
        launches: calls of kernels in them; compile_time_total: microseconds that kernels were compiled or loaded for.
        input_shapes, stack: what the events were told apart by; kind: what they are.
    """

    def __init__(self, key=None, kind=None, shapes=(), stack=()) -> None:
        self.key, self.kind, self.input_shapes, self.stack = key, kind, list(shapes), list(stack)
        self.count = self.cpu_memory_usage = self.self_cpu_memory_usage = self.flops = self.launches = 0
        self.cpu_time_total = self.self_cpu_time_total = self.compile_time_total = 0.0

    name = property(lambda self: self.key)

    @property
    def cpu_time(self) -> float:
        """Microseconds a call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, event, nested=False) -> FunctionEventAvg:
        """Count an event in.

        Args:
            event: a `FunctionEvent`.
            nested: whether it ran in another one that is counted: its time and memory are then in that one's.
        """
        self.count += 1
        self.self_cpu_time_total += event.self_cpu_time_total
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.flops += event.flops
        if not nested:
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage
            self.launches += event.launches
            self.compile_time_total += event.compile_time_total
        return self

    def __repr__(self):
        return (f"<FunctionEventAvg key={self.key} count={self.count} self_cpu_time={self.self_cpu_time_total_str} "
                f"cpu_time={self.cpu_time_str} cpu_memory_usage={self.cpu_memory_usage}>")


class EventList(list):
    """Events, or sums over them.

    Args:
        events: what it holds.
        counted: what was counted beside time: "memory", "flops", "shapes" or "stack".
        lost: how many events there was no room for, or 1 where that is not known.
    """

    def __init__(self, events: Iterable = (), counted: Iterable = (), lost: int = 0) -> None:
        super().__init__(events)
        self.counted, self.lost = frozenset(counted), lost

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all together."""
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """Sums over the events of one name.

        Args:
            group_by_input_shapes: tell calls with other shapes apart.
            group_by_stack_n: tell calls from other places apart, by so many frames of the user's.
            group_by_overload_name: accepted; ops have no overloads.
        """
        sums: dict = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else ()
            stack = event.stack[:group_by_stack_n]
            key = event.name, event.kind, str(shapes), tuple(stack)
            if key not in sums:
                sums[key] = FunctionEventAvg(event.name, event.kind, shapes, stack)
            sums[key].add(event, _runs_in_its_like(event))
        grouped = {"shapes": group_by_input_shapes, "stack": group_by_stack_n}
        counted = [name for name in self.counted if grouped.get(name, True)]
        return EventList(sums.values(), counted, self.lost)

    def total_average(self) -> FunctionEventAvg:
        """One sum over all."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event, event.cpu_parent is not None)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False, time_unit: str | None = None) -> str:
        """The events as text, a line each.

        Args:
            sort_by: the column by which lines are sorted, largest first: `cpu_time`, `cpu_time_total`, `self_cpu_time_total`,
                `count`, `cpu_memory_usage`, `self_cpu_memory_usage`, `flops`, `launches` or `compile_time_total`. None for the
                order of time.
            row_limit: how many lines there are at most; -1 for all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: where texts are cut.
            header: a line above.
            top_level_events_only: only what ran in nothing else.
            time_unit: "s", "ms" or "us"; None for what suits each.

        Raises:
            ValueError: there is no such column or unit.
        """
        return table(self, sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header,
                     top_level_events_only, time_unit)

    def __str__(self):
        return self.table()


def _runs_in_its_like(event):
    """Whether an event of the same name is around it."""
    parent = event.cpu_parent
    while parent is not None:
        if parent.name == event.name and parent.kind == event.kind:
            return True
        parent = parent.cpu_parent
    return False


# ---------------------------------------------------------------- from notes to events
def events_of(recording, with_flops=False, with_shapes=True) -> EventList:
    """The events of a recording, each with what it contains.

    Args:
        recording: one that has stopped.
        with_flops: count floating-point operations.
        with_shapes: show the shapes.
    """
    rows: list = []
    for kind, name, start, end, thread, details in recording.notes:
        rows.append((thread, start, -end, kind, name, details, 1))
    for kernel, start, end, thread, parts in recording.launches:
        rows.append((thread, start, -end, "kernel", f"kernel {recording.kernels.get(kernel, '?')}", None, parts))
    rows.sort(key=lambda row: row[:3])
    threads: dict = {}
    events, inside = [], []                              # inside: what the event at hand may be contained in, the innermost last
    for thread, start, end, kind, name, details, parts in rows:
        shapes, stack, before, after, last = details or (None, None, 0, 0, None)
        number = threads.setdefault(thread, len(threads) + 1)
        while inside and (inside[-1][0] != thread or inside[-1][1] < -end):
            inside.pop()
        parent = inside[-1][2] if inside else None
        if parent is not None and kind == parent.kind == "op" and parent.name == name:
            continue                                     # a function that hands its call on to another one of its name
        event = FunctionEvent(len(events), name, kind, number, (start - recording.began) / 1e3, (-end - recording.began) / 1e3,
                              shapes if with_shapes else None, stack, after - before, parts=parts,
                              args=last if kind == "user" else None)
        if with_flops and kind == "op" and shapes is not None:
            event.flops = flops_of(name, shapes, last)
        if parent is not None:
            event.cpu_parent = parent
            parent.cpu_children.append(event)
        events.append(event)
        inside.append((thread, -end, event))
    for event in reversed(events):                       # children stand behind their parents
        event.launches = (event.kind == "kernel") + sum(c.launches for c in event.cpu_children)
        compiling = event.kind == "compile"
        event.compile_time_total = event.cpu_time_total if compiling else sum(c.compile_time_total for c in event.cpu_children)
        inner = sum(c.all_flops for c in event.cpu_children)
        event.flops = 0 if inner else event.flops        # what an op is made of counts, and not the op again
        event.all_flops = event.flops + inner
    events.sort(key=lambda event: event.time_range.start)
    counted = dict(memory=recording.counting, shapes=recording.shapes and with_shapes, stack=recording.stack, flops=with_flops)
    return EventList(events, [name for name, on in counted.items() if on], recording.lost)
