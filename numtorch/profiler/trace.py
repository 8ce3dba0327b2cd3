"""Traces for viewers: Chrome's JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing load, and stacks for flame graphs."""
from __future__ import annotations

import gzip
import json
import os
import socket
import time

CATEGORIES = {"op": "cpu_op", "node": "cpu_op", "kernel": "kernel", "compile": "compile", "step": "user_annotation",
              "module": "python_function", "user": "user_annotation"}
STACK_METRICS = ("self_cpu_time_total", "self_cuda_time_total")


def export_chrome_trace(path: str, events, memory=(), began: int = 0, epoch: int = 0, metadata: dict | None = None) -> None:
    """Write events as a trace.

    Args:
        path: the file; one that ends in `.gz` is compressed.
        events: an `EventList`.
        memory: (time, bytes, in use) of what was allocated and freed, times in ns.
        began, epoch: when the profile began, by the clock of `memory` and in ns since 1970.
        metadata: what the trace says beside that.
    """
    process = os.getpid()
    rows: list[dict] = [{"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "numtorch"}}]
    for thread in sorted({event.thread for event in events}):
        rows.append({"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": f"thread {thread}"}})
    for event in events:
        notes: dict = {"External id": event.id}
        if event.input_shapes:
            notes["Input Dims"] = event.input_shapes
        if event.stack:
            notes["Call stack"] = ";".join(event.stack)
        if event.kind == "kernel":
            notes["parts"] = event.parts
        if event.args is not None:
            notes["args"] = event.args
        rows.append({"ph": "X", "cat": CATEGORIES[event.kind], "name": event.name, "pid": process, "tid": event.thread,
                     "ts": event.time_range.start, "dur": event.time_range.elapsed_us(), "args": notes})
    for when, nbytes, in_use in memory:
        rows.append({"ph": "C", "name": "memory", "pid": process, "tid": 0, "ts": (when - began) / 1e3, "args": {"bytes": in_use}})
    trace = {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": epoch, **(metadata or {}), "traceEvents": rows}
    opened = gzip.open(path, "wt") if str(path).endswith(".gz") else open(path, "w")
    with opened as file:
        json.dump(trace, file)


def export_stacks(path: str, events, metric: str = "self_cpu_time_total") -> None:
    """Write where time was spent, a stack a line and its microseconds, as flame graphs take it.

    Args:
        path: the file.
        events: an `EventList` of a profile with `with_stack`.
        metric: `"self_cpu_time_total"`.

    Raises:
        ValueError: another metric, or events without stacks.
    """
    if metric not in STACK_METRICS:
        raise ValueError("metric should be one of: " + str(list(STACK_METRICS)))
    if "stack" not in events.counted:
        raise ValueError("export_stacks: the profile has no stacks; make it with profile(with_stack=True)")
    lines = [f"{';'.join(frame.replace(' ', '_').replace(';', '_') for frame in reversed(e.stack))} {int(getattr(e, metric))}\n"
             for e in events if e.stack and getattr(e, metric) >= 1]
    with open(path, "w") as file:
        file.writelines(lines)


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False):
    """What writes each finished profile into a folder, for `on_trace_ready`.

    Args:
        dir_name: the folder, made where it is not there.
        worker_name: the beginning of the files' names; host and process by default.
        use_gzip: compress them.

    Returns:
        A function of a profile.

    Raises:
        RuntimeError: the folder cannot be made.
    """
    def handle(profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        profile.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"))
    return handle
