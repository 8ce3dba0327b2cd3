"""`torch.autograd.profiler`: the older form of `profile`, whose result is itself a table."""
from __future__ import annotations

import importlib as _importlib
from typing import Any

from .events import EventList, FunctionEvent, FunctionEventAvg
from .profiler import profile as _Profile
from .recording import record_function

__all__ = ["EventList", "FunctionEvent", "profile", "record_function"]


class profile:
    """Record what a part of a program runs, and how long each op takes.

    Args:
        enabled: False to do nothing.
        record_shapes, with_flops, profile_memory, with_stack, with_modules: as for `torch.profiler.profile`.
        use_cuda, use_device, use_kineto, use_cpu, experimental_config, acc_events, custom_trace_id_callback: accepted.

    Example:
        >>> import numtorch as torch
        >>> with torch.autograd.profiler.profile() as profile:
        ...     x = torch.ones(3).exp()
        >>> [event.key for event in profile.key_averages() if event.kind == "op"]
        ['ones', 'exp']
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
                 use_kineto: bool = False, use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Any = None) -> None:
        self.enabled = enabled
        self._profile = _Profile(record_shapes=record_shapes, with_flops=with_flops, profile_memory=profile_memory,
                                 with_stack=with_stack, with_modules=with_modules)

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        self._profile.start()
        return self

    def __exit__(self, *exception) -> None:
        if self.enabled:
            self._profile.stop()

    @property
    def function_events(self) -> EventList:
        """All events, in the order of time."""
        return self._profile.events()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events together."""
        return self.function_events.self_cpu_time_total

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """Sums over the events of one name.

        Args:
            group_by_input_shape, group_by_stack_n, group_by_overload_name: as for `torch.profiler.profile`.
        """
        return self._profile.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """One sum over all events."""
        return self.function_events.total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The events as text.

        Args:
            sort_by, row_limit, options: as for `EventList.table`.
        """
        return self.function_events.table(sort_by, row_limit, **options)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace that https://ui.perfetto.dev and chrome://tracing show.

        Args:
            path: the file.
        """
        self._profile.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with their time, for flame graphs; needs `with_stack`.

        Args:
            path: the file.
            metric: `"self_cpu_time_total"`.
        """
        self._profile.export_stacks(path, metric)

    def __str__(self):
        return self.table() if self.enabled else "<unfinished torch.autograd.profile>"


def __getattr__(name):
    return _importlib.import_module("numtorch.alias").attribute("numtorch.autograd.profiler", name)
