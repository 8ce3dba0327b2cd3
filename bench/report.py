"""Results as tables: on a terminal (with rich where it is installed), as JSON, and between the marks in README.md."""
from __future__ import annotations

import json
import platform
import re

TITLES = {"calls": "Calls", "training": "Small models", "matrix product": "Matrix products", "start": "Starting up"}


def seconds_text(seconds):
    """Three figures and a unit."""
    if seconds is None:
        return "–"
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}" if seconds * scale < 1000 else f"{seconds * scale:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def verdict(row):
    if row["ratio"] is None or row["budget"] is None:
        return "–"
    return "met" if row["ratio"] <= row["budget"] else "missed"


def cells(row):
    """A row's texts: name, ours, the peer's, ratio, budget, verdict."""
    if row.get("missing"):
        return [row["name"], "–", "–", "–", "–" if row["budget"] is None else f"≤ {row['budget']:g}", row["missing"]]
    speed = f" ({row['gflops']:.0f} GF/s)" if row.get("gflops") else ""
    return [row["name"], f"{seconds_text(row['min'])} / {seconds_text(row['median'])}{speed}",
            "–" if row["peer_min"] is None else f"{seconds_text(row['peer_min'])} / {seconds_text(row['peer_median'])}",
            "–" if row["ratio"] is None else f"{row['ratio']:.2f}", "–" if row["budget"] is None else f"≤ {row['budget']:g}",
            verdict(row)]


HEADINGS = ["", "numtorch min / median", "PyTorch min / median", "ratio", "budget", ""]


def notes(result):
    """What must be said with the figures."""
    machine, threads = result["machine"], result["machine"]["threads"]
    peer = f"PyTorch {machine['torch']}" if machine["torch"] else "PyTorch not installed: nothing to compare with"
    lines = [f"{machine['processor']}, {threads} thread{'s' if threads != 1 else ''}, Python {machine['python']}, numba "
             f"{machine['numba']}, {peer}. The ratio is of the minima; below 1, numtorch is faster."]
    if result["contended"]:
        lines.append(f"**The machine was busy with something else meanwhile** (a fixed piece of work on every thread took "
                     f"{result['slowdown']:.1f} times as long as it should): the figures are not to be relied on.")
    return lines


def show(result):
    """Print the tables."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        show_plainly(result)
        return
    console = Console()
    for group, rows in grouped(result):
        table = Table(title=TITLES.get(group, group), title_justify="left")
        for i, heading in enumerate(HEADINGS):
            table.add_column(heading, justify="left" if i in (0, 5) else "right")
        for row in rows:
            color = {"met": "green", "missed": "red"}.get(verdict(row) if not row.get("missing") else "", "yellow")
            *texts, last = cells(row)
            table.add_row(*texts, f"[{color}]{last}[/{color}]")
        console.print(table)
    for line in notes(result):
        console.print(line, highlight=False)


def show_plainly(result):
    for group, rows in grouped(result):
        lines = [HEADINGS, *[cells(r) for r in rows]]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
        print(f"\n{TITLES.get(group, group)}")
        for line in lines:
            print("  ".join(text.ljust(w) for text, w in zip(line, widths)).rstrip())
    print()
    print("\n".join(notes(result)))


def grouped(result):
    groups = {}
    for row in result["rows"]:
        groups.setdefault(row["group"], []).append(row)
    return groups.items()


def machine(threads, torch_version):
    """What the figures were measured on."""
    import numba
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    except OSError:
        pass
    return {"processor": name, "threads": threads, "python": platform.python_version(), "numba": numba.__version__,
            "torch": torch_version}


def save(result, path):
    """Write the result as JSON."""
    with open(path, "w") as file:
        json.dump(result, file, indent=1, ensure_ascii=False)
        file.write("\n")


def markdown(result):
    """The tables and what must be said with them, for README.md."""
    parts = [line + "\n" for line in notes(result)]
    for group, rows in grouped(result):
        parts.append(f"**{TITLES.get(group, group)}**\n")
        parts.append("| " + " | ".join(HEADINGS) + " |\n|---|---:|---:|---:|---:|---|")
        parts.append("\n".join("| " + " | ".join(cells(r)) + " |" for r in rows) + "\n")
    return "\n".join(parts).rstrip()


def fill_readme(result, path, mark):
    """Put the tables between `<!-- bench:MARK -->` and `<!-- /bench:MARK -->`. Raises ValueError where there are no such marks."""
    with open(path) as file:
        text = file.read()
    begin, end = f"<!-- bench:{mark} -->", f"<!-- /bench:{mark} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{path}: expected the marks {begin} and {end}")
    with open(path, "w") as file:
        file.write(pattern.sub(lambda _: f"{begin}\n{markdown(result)}\n{end}", text))
