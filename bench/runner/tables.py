"""The tables of a result: which columns there are, what they mean, and how a terminal shows them."""
from __future__ import annotations

import math
import shutil
import statistics
import sys
import textwrap
from collections.abc import Callable
from itertools import zip_longest
from typing import NamedTuple

from .report import OURS, PEERS, figures, gain, grouped, key, label, notes, ratio, speed_ups, verdict


class Column(NamedTuple):
    """A column: its heading, a row's text in it, and whether that is words, which stand at the left."""

    heading: str
    text: Callable
    is_text: bool = False


FEWEST = 24                                              # characters of a row's name that stay on a line
VERDICT = len("missed, at the limit")

EXPLAINED = {
    "spread": "spread: the width of the middle half of the repetitions, over their median. It is large on an unsteady machine.",
    "speed": "speed: what was computed, or read and written, in a second.",
    "of limit": "of limit: the time that this machine needs at least (for a plain copy, or for multiply-adds alone), over the time "
                "taken. At 100 % nothing could be faster.",
    "ratio": "ratio: numtorch's time over PyTorch's; below 1, numtorch is faster.",
    "to NumPy": "to NumPy: numtorch's time over NumPy's; below 1, numtorch is faster.",
    "to torch.compile": "to torch.compile: numtorch's time over that of PyTorch's compiled function, and what it was to reach.",
    "to JAX": "to JAX: numtorch's time over that of the same program under JAX's jit, and what it was to reach.",
    "to the same without the pass": "to the same without the pass: the time (or memory) over what it is without the pass, "
                                   "and what it was to reach.",
    "gain": "gain: how many times as fast as on one thread.",
    "budget": "budget: what the ratio (or the gain) was meant to reach. Rows that reach it are met, others are missed.",
    "at most": "at most: the time that numtorch may take, whatever PyTorch takes.",
    "at the limit": "at the limit: over the budget, but within 5 % of what this machine can do.",
    "not judged": "not judged: rows without a budget, or without PyTorch beside them.",
    "not there": "not there: numtorch lacks something that the row needs.",
    "wrong": "wrong: the results differ, or numtorch failed.",
    "mean ratio": "mean ratio: the geometric mean of the family's ratios.",
}
TIMES = "Times are the least of all repetitions; --wide adds their medians, spread and speed."
WIDE_TIMES = "min: the least time of all repetitions. median: the time in the middle of them."


# ---------------------------------------------------------------- columns
def _number(value, form="{:.2f}"):
    return "–" if value is None else form.format(value)


def _least(row, side):
    return figures(row[side]["min"], row["unit"]) if side in row else "–"


def _times(row, side):
    return f"{_least(row, side)} / {figures(row[side]['median'], row['unit'])}" if side in row else "–"


def _speed(row):
    if "gflops" in row:
        return f"{row['gflops']:.0f} GFLOP/s" if row["gflops"] >= 10 else f"{row['gflops']:.1f} GFLOP/s"
    if "gbytes" in row:
        return f"{row['gbytes']:.0f} GB/s" if row["gbytes"] >= 10 else f"{row['gbytes']:.1f} GB/s"
    return "–"


def _judged(result) -> list:
    """Gains of threads, budgets, and the verdict, as far as the result has them."""
    rows, sides = result["rows"], result["machine"]["sides"]
    found = []
    if len(result["threads"]) > 1:
        gains = speed_ups(rows)
        found.append(Column("gain", lambda r: _number(gains.get(key(r)), "{:.2f}×")))
    if any("alone" in r for r in rows):
        found.append(Column("on one thread", lambda r: figures(r["alone"][OURS]) if OURS in r.get("alone", {}) else "–"))
        found.append(Column("gain", lambda r: _number(gain(r), "{:.2f}×")))
        if "torch" in sides:
            found.append(Column("PyTorch's gain", lambda r: _number(gain(r, "torch"), "{:.2f}×")))
        found.append(Column("budget", lambda r: _number(r.get("gain_budget"), "≥ {:g}×")))
    if any(r["budget"] is not None for r in rows) and "torch" in sides:
        found.append(Column("budget", lambda r: _number(r["budget"], "≤ {:g}")))
    if any("most" in r for r in rows):
        found.append(Column("at most", lambda r: figures(r["most"], r["unit"]) if "most" in r else "–"))
    return [*found, Column("", verdict, True)]


def _named(result) -> list:
    return [Column("", label, True), *([Column("threads", lambda r: str(r["threads"]))] if len(result["threads"]) > 1 else [])]


def _peers(result) -> list:
    return [p for p in PEERS if p in result["machine"]["sides"] and any(p in r for r in result["rows"])]


def _compared(peer) -> Column:
    def text(row):
        budget = row.get("budgets", {}).get(peer)
        return _number(ratio(row, peer)) + (f" (≤ {budget:g})" if budget is not None and peer in row else "")
    return Column("ratio" if peer == "torch" else f"to {PEERS[peer]}", text)


def columns(result) -> list[Column]:
    """All columns that this result needs."""
    found = [*_named(result), Column("numtorch min / median", lambda r: _times(r, OURS)),
             Column("spread", lambda r: _number(r.get(OURS, {}).get("spread"), "{:.0%}")), Column("speed", _speed)]
    if result["limits"]:
        found.append(Column("of limit", lambda r: _number(r.get("of_limit"), "{:.0%}")))
    for peer in _peers(result):
        found += [Column(f"{PEERS[peer]} min / median", lambda r, p=peer: _times(r, p)), _compared(peer)]
    return found + _judged(result)


def few_columns(result) -> list[Column]:
    """The columns that fit a terminal of 80 characters: the least times of both sides, their ratio and what is said of it."""
    found = [*_named(result), Column("numtorch", lambda r: _least(r, OURS))]
    peers = _peers(result)
    for peer in peers[:1]:
        found += [Column(PEERS[peer], lambda r, p=peer: _least(r, p)), _compared(peer)]
    found += [_compared(peer) for peer in peers[1:] if peer != "numpy"]
    return found + [c for c in _judged(result) if c.heading not in ("on one thread", "PyTorch's gain")]


# ---------------------------------------------------------------- the summary
COUNTED = ("met", "missed", "at the limit", "not judged", "not there", "wrong")
SUMMARY_HEADINGS = ["family", "rows", *COUNTED, "mean ratio", "furthest from its budget"]


def _counted(row) -> str:
    said = verdict(row).split(":")[0]
    return {"missed, at the limit": "at the limit", "": "not judged", "WRONG": "wrong", "FAILED": "wrong"}.get(said, said)


def summary(rows) -> list[list[str]]:
    """A line a family, under SUMMARY_HEADINGS: how many rows there are of each verdict, which add up to all rows, the ratios'
    geometric mean, and the worst row."""
    lines = []
    for family, groups in grouped(rows).items():
        mine = [r for group in groups.values() for r in group]
        ratios = [(ratio(r), r) for r in mine if ratio(r) is not None]
        said = [_counted(r) for r in mine]
        worst = max(ratios, key=lambda pair: pair[0] / (pair[1]["budget"] or math.inf), default=None)
        lines.append([family, str(len(mine)), *(str(said.count(kind)) for kind in COUNTED),
                      f"{statistics.geometric_mean(r for r, _ in ratios):.2f}" if ratios else "–",
                      f"{label(worst[1])}: {worst[0]:.2f}" if worst else "–"])
    return lines


def needed(rows, *unwanted) -> tuple[list[str], list[list[str]]]:
    """The summary's headings and lines without the columns that say nothing here."""
    lines = summary(rows)
    judged = any(line[2:4] != ["0", "0"] for line in lines)
    kept = [i for i, heading in enumerate(SUMMARY_HEADINGS) if heading not in unwanted
            and (i < 2 or any(line[i] not in ("0", "–") for line in lines) or (judged and heading in ("met", "missed")))]
    return [SUMMARY_HEADINGS[i] for i in kept], [[line[i] for i in kept] for line in lines]


# ---------------------------------------------------------------- on a terminal
def show(result, wide=False, out=None):
    """Print the tables, with rich where it is installed.

    Args:
        wide: all columns, however long the lines become.
        out: where to, the standard output by default.
    """
    tables = []
    for family, groups in grouped(result["rows"]).items():
        for group, rows in groups.items():
            wanted = (columns if wide else few_columns)({**result, "rows": rows})
            title = group if group == family else f"{family}: {group}"
            lines = [[c.text(r) for c in wanted] for r in rows]
            tables.append((title, [c.heading for c in wanted], lines, [c.is_text for c in wanted]))
    headings, lines = needed(result["rows"], *([] if wide else ["furthest from its budget"]))
    tables.append(("all", headings, lines, [h.startswith(("family", "furthest")) for h in headings]))
    said = [*explanations(tables, wide), "", *(line.replace("**", "") for line in notes(result, limits=wide))]
    try:
        from rich.console import Console
        console = Console(file=out)
    except ImportError:
        console = None
    if console and console.is_terminal:
        _show_richly(tables, said, console, wide)
    else:
        _show_plainly(tables, said, out, wide)


def explanations(tables, wide) -> list[str]:
    """A sentence for each heading that is no plain word, and for each verdict."""
    used = {heading for _, headings, *_ in tables for heading in headings}
    return [WIDE_TIMES if wide else TIMES, *(text for heading, text in EXPLAINED.items() if heading in used)]


def _show_richly(tables, said, console, wide):
    from rich import box
    from rich.markup import escape
    from rich.table import Table
    if wide:                                             # a line stays a line: the terminal may scroll
        console.width = max(console.width, 400)
    for title, headings, lines, is_text in tables:
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for i, (heading, words) in enumerate(zip(headings, is_text)):
            table.add_column(heading, justify="left" if words else "right", overflow="fold", no_wrap=not words,
                             min_width=FEWEST if i == 0 and not heading else None)
        for line in lines:
            color = {"met": "green", "missed": "red"}.get(line[-1], "yellow" if is_text[-1] else "default")
            color = "bold red" if line[-1].startswith(("WRONG", "FAILED")) else color
            table.add_row(*map(escape, line[:-1]), f"[{color}]{escape(line[-1])}[/]")
        console.print(table)
    for line in said:
        console.print(escape(line), highlight=False)


def _show_plainly(tables, said, out, wide):
    """Lines as long as they are in a pipe; on a terminal the names of rows and long verdicts are folded."""
    stream = out or sys.stdout
    width = shutil.get_terminal_size().columns if stream.isatty() and not wide else math.inf
    for title, headings, lines, is_text in tables:
        widths = [max(1, *(len(line[i]) for line in [headings, *lines])) for i in range(len(headings))]
        if math.isfinite(width):
            widths[-1] = min(widths[-1], VERDICT) if is_text[-1] else widths[-1]
            widths[0] = min(widths[0], max(int(width) - sum(w + 2 for w in widths[1:]), FEWEST))
        print(f"\n{title}", file=out)
        for line in [headings, *lines]:
            inner = [[text] for text in line[1:-1]]
            folded = [textwrap.wrap(line[0], widths[0]), *inner, textwrap.wrap(line[-1], widths[-1])]
            for cells in zip_longest(*folded, fillvalue=""):
                print("  ".join(text.ljust(w) for text, w in zip(cells, widths)).rstrip(), file=out)
    print(file=out)
    for line in said:
        print("\n".join(textwrap.wrap(line, width)) if math.isfinite(width) else line, file=out)
