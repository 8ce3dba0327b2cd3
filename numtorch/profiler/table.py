"""Events as a table of text."""
from __future__ import annotations

UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
# what a table can be sorted by
COLUMNS = ("cpu_time", "cpu_time_total", "self_cpu_time_total", "count", "cpu_memory_usage", "self_cpu_memory_usage", "flops",
           "launches", "compile_time_total")


def table(events, sort_by, row_limit, source_width, name_width, shapes_width, header, top_level_only, time_unit) -> str:
    """`EventList.table`."""
    if sort_by is not None and sort_by not in COLUMNS:
        raise ValueError(f"table: expected sort_by to be one of {', '.join(COLUMNS)}, got '{sort_by}'")
    if time_unit is not None and time_unit not in UNITS:
        raise ValueError(f"table: expected time_unit 's', 'ms' or 'us', got '{time_unit}'")
    if not events:
        return ""
    total = events.self_cpu_time_total
    shown = [e for e in events if not top_level_only or getattr(e, "cpu_parent", None) is None]
    if sort_by is not None:
        shown.sort(key=lambda e: getattr(e, sort_by), reverse=True)
    shown = shown[:row_limit] if row_limit >= 0 else shown

    def time(us):
        if time_unit is None:
            return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"
        return f"{us / UNITS[time_unit]:.3f}{time_unit}"

    def share(us):
        return f"{100 * us / total if total else 0:.2f}%"

    columns = [("Name", "<", lambda e: _cut(e.name, name_width)),
               ("Self CPU %", ">", lambda e: share(e.self_cpu_time_total)),
               ("Self CPU", ">", lambda e: time(e.self_cpu_time_total)),
               ("CPU total %", ">", lambda e: share(e.cpu_time_total)), ("CPU total", ">", lambda e: time(e.cpu_time_total)),
               ("CPU time avg", ">", lambda e: time(e.cpu_time)), ("# of Calls", ">", lambda e: str(e.count)),
               ("Launches", ">", lambda e: str(e.launches))]
    if any(e.compile_time_total for e in shown):
        columns.append(("Compile", ">", lambda e: time(e.compile_time_total)))
    if "memory" in events.counted:
        columns += [("CPU Mem", ">", lambda e: memory_text(e.cpu_memory_usage)),
                    ("Self CPU Mem", ">", lambda e: memory_text(e.self_cpu_memory_usage))]
    if "flops" in events.counted:
        columns.append(("Total FLOPs", ">", lambda e: f"{e.flops:,}" if e.flops else "--"))
    if "shapes" in events.counted:
        columns.append(("Input Shapes", "<", lambda e: _cut(str(e.input_shapes), shapes_width)))
    if "stack" in events.counted:
        columns.append(("Source Location", "<", lambda e: _cut(e.stack[0], source_width) if e.stack else ""))
    cells = [[title for title, _, _ in columns], *[[text(e) for _, _, text in columns] for e in shown]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    rule = "  ".join("-" * width for width in widths)
    aligned = [[f"{cell:{align}{width}}" for cell, (_, align, _), width in zip(row, columns, widths)] for row in cells]
    lines = ["  ".join(row).rstrip() for row in aligned]
    notes = [f"Self CPU time total: {time(total)}"]
    if events.lost:
        notes.append("The beginning is missing: there was no room for all")
    return "\n".join([*([header] if header else []), rule, lines[0], rule, *lines[1:], rule, *notes, ""])


def _cut(text, width):
    return text if width is None or len(text) <= width else text[:max(width - 3, 0)] + "..."


def memory_text(nbytes: int) -> str:
    """Bytes with the unit that suits them.

    Args:
        nbytes: how many.

    Example:
        >>> from numtorch.profiler.table import memory_text
        >>> memory_text(-2048)
        '-2.00 KB'
    """
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"
