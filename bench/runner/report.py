"""Results as text: what a row says, tables on a terminal, and what must be said with them."""
from __future__ import annotations

import json
import math
import platform
import statistics

import numpy as np

OURS = "numtorch"
PEERS = {"torch": "PyTorch", "numpy": "NumPy"}
SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}


# ---------------------------------------------------------------- rows
def ratio(row, peer="torch"):
    """Our time (or bytes) over a peer's, of the minima; None where one of them is not there."""
    return row[OURS]["min"] / row[peer]["min"] if OURS in row and peer in row else None


# Of what the machine can do: within the limits' own error of it; and so far beyond it that something else is done than the limit
# measures (products of bfloat16 in pairs, Winograd's convolution).
AT_LIMIT, NO_LIMIT = 0.95, 1.1


def gain(row, side=OURS):
    """How many times faster than one thread a side was; None where one thread was not measured."""
    return row["alone"][side] / row[side]["min"] if side in row and side in row.get("alone", {}) else None


def verdict(row) -> str:
    """`met`, `missed`, a problem, or nothing where there is no budget or no PyTorch.

    A row that missed its budget although the machine cannot do it faster says so: `missed, at the limit`.
    """
    for problem in ("wrong", "failed"):
        if problem in row:
            return f"{problem.upper()}: {row[problem]}"
    if "missing" in row:
        return f"not there: {row['missing']}"
    if gain(row) is not None:
        return "met" if gain(row) >= row["gain_budget"] else "missed"
    value = ratio(row)
    if "most" in row and OURS in row and row[OURS]["min"] > row["most"]:
        return "missed"
    if "numpy_budget" in row and "numpy" in row and ratio(row, "numpy") > row["numpy_budget"]:
        return "missed"
    if value is None or row["budget"] is None:
        return "met" if "most" in row and OURS in row else ""
    if value <= row["budget"]:
        return "met"
    return "missed, at the limit" if AT_LIMIT <= row.get("of_limit", 0) <= NO_LIMIT else "missed"


def label(row) -> str:
    """The case's name with its dtype."""
    return f"{row['name']} {SHORT.get(row['dtype'], row['dtype'])}" if row["dtype"] else row["name"]


def key(row) -> tuple:
    """What makes a row the same one in two results."""
    return row["family"], row["group"], row["name"], row["dtype"], row["threads"]


def speed_ups(rows) -> dict:
    """For each row measured with more threads than one: our time on one thread over its time."""
    alone = {key(r)[:-1]: r[OURS]["min"] for r in rows if r["threads"] == 1 and OURS in r}
    return {key(r): alone[key(r)[:-1]] / r[OURS]["min"] for r in rows
            if r["threads"] > 1 and OURS in r and r["unit"] == "s" and key(r)[:-1] in alone}


def series(rows) -> dict:
    """Rows that differ in size alone: {(group, dtype, threads): [(size, seconds), ...]} by size."""
    found: dict = {}
    for row in rows:
        if row["size"] and OURS in row:
            found.setdefault((row["group"], row["dtype"], row["threads"]), []).append((row["size"], row[OURS]["min"]))
    return {name: sorted(points) for name, points in found.items() if len(points) > 1}


def exponent(points) -> float:
    """The slope of time over size, both in logarithms, over the largest three sizes: 1 is linear."""
    size, seconds = np.log(np.array(points[-3:])).T
    return float(np.polyfit(size, seconds, 1)[0])


# ---------------------------------------------------------------- cells
def figures(value, unit="s") -> str:
    """Three figures and a unit, if any."""
    if unit in ("×", ""):
        return f"{value:.3g}{unit}"
    scales = [("s", 1), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)] if unit == "s" else [
        ("GB", 1e-9), ("MB", 1e-6), ("kB", 1e-3), ("B", 1)]
    for name, scale in scales:
        if value * scale >= 0.9995 or name == scales[-1][0]:
            return f"{value * scale:.0f} {name}" if value * scale >= 100 else f"{value * scale:.3g} {name}"
    return ""


def _times(row, side):
    return f"{figures(row[side]['min'], row['unit'])} / {figures(row[side]['median'], row['unit'])}" if side in row else "–"


def _number(value, form="{:.2f}"):
    return "–" if value is None else form.format(value)


def _speed(row):
    if "gflops" in row:
        return f"{row['gflops']:.0f} GFLOP/s" if row["gflops"] >= 10 else f"{row['gflops']:.1f} GFLOP/s"
    if "gbytes" in row:
        return f"{row['gbytes']:.0f} GB/s" if row["gbytes"] >= 10 else f"{row['gbytes']:.1f} GB/s"
    return "–"


def columns(result) -> list:
    """(heading, row -> text, whether it is text) of the columns that this result needs."""
    rows, sides = result["rows"], result["machine"]["sides"]
    several = len(result["threads"]) > 1
    gains = speed_ups(rows) if several else {}
    found = [("", label, True)]
    if several:
        found.append(("threads", lambda r: str(r["threads"]), False))
    found.append(("numtorch min / median", lambda r: _times(r, OURS), False))
    found.append(("spread", lambda r: _number(r.get(OURS, {}).get("spread"), "{:.0%}"), False))
    found.append(("speed", _speed, False))
    if result["limits"]:
        found.append(("of limit", lambda r: _number(r.get("of_limit"), "{:.0%}"), False))
    for peer in PEERS:
        if peer in sides and any(peer in r for r in rows):
            found.append((f"{PEERS[peer]} min / median", lambda r, p=peer: _times(r, p), False))
            found.append(("ratio" if peer == "torch" else f"to {PEERS[peer]}", lambda r, p=peer: _number(ratio(r, p)), False))
    if several:
        found.append(("gain", lambda r: _number(gains.get(key(r)), "{:.2f}×"), False))
    if any("alone" in r for r in rows):
        found.append(("on one thread", lambda r: figures(r["alone"][OURS]) if OURS in r.get("alone", {}) else "–", False))
        found.append(("gain", lambda r: _number(gain(r), "{:.2f}×"), False))
        if "torch" in sides:
            found.append(("PyTorch's gain", lambda r: _number(gain(r, "torch"), "{:.2f}×"), False))
        found.append(("budget", lambda r: _number(r.get("gain_budget"), "≥ {:g}×"), False))
    if any(r["budget"] is not None for r in rows) and "torch" in sides:
        found.append(("budget", lambda r: _number(r["budget"], "≤ {:g}"), False))
    if any("most" in r for r in rows):
        found.append(("at most", lambda r: figures(r["most"], r["unit"]) if "most" in r else "–", False))
    found.append(("", verdict, True))
    return found


def grouped(rows) -> dict:
    """Rows by family, then group, in their order."""
    groups: dict = {}
    for row in rows:
        groups.setdefault(row["family"], {}).setdefault(row["group"], []).append(row)
    return groups


def summary(rows) -> list[list[str]]:
    """A line a family, under SUMMARY_HEADINGS: counts of rows by verdict, the ratios' geometric mean, and the worst row."""
    lines = []
    for family, groups in grouped(rows).items():
        mine = [r for group in groups.values() for r in group]
        ratios = [(ratio(r), r) for r in mine if ratio(r) is not None]
        said = [verdict(r).split(":")[0] for r in mine]
        worst = max(ratios, key=lambda pair: pair[0] / (pair[1]["budget"] or math.inf), default=None)
        limited = said.count("missed, at the limit")
        lines.append([family, str(len(mine)), str(said.count("met")), str(said.count("missed") + limited), str(limited),
                      str(said.count("not there")), str(said.count("WRONG") + said.count("FAILED")),
                      f"{statistics.geometric_mean(r for r, _ in ratios):.2f}" if ratios else "–",
                      f"{label(worst[1])}: {worst[0]:.2f}" if worst else "–"])
    return lines


SUMMARY_HEADINGS = ["family", "rows", "met", "missed", "at the limit", "not there", "wrong", "mean ratio",
                    "furthest from its budget"]


# ---------------------------------------------------------------- what must be said
def machine(modules, missing) -> dict:
    """What the figures were measured on, and with what."""
    import numba
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    except OSError:
        pass
    return {"processor": name, "system": platform.system(), "python": platform.python_version(), "numba": numba.__version__,
            "sides": {side: module.__version__ for side, module in modules.items()}, "absent": missing}


def notes(result, limits=True) -> list[str]:
    """What the figures were measured on, with the machine's limits or without, and what is wrong with them."""
    said, sides = result["machine"], result["machine"]["sides"]
    threads = ", ".join(map(str, result["threads"])) + (" thread" if result["threads"] == [1] else " threads")
    versions = [f"{PEERS[p]} {sides[p]}" for p in PEERS if p in sides]
    lines = [f"{said['processor']}, {threads}, Python {said['python']}, numba {said['numba']}"
             + "".join(f", {v}" for v in versions) + ". Ratios are of the minima; below 1, numtorch is faster."]
    lines += [f"{PEERS.get(p, p)} is not installed: nothing to compare with." for p in said["absent"]]
    for count, limit in result["limits"].items() if limits else ():
        peaks = ", ".join(f"{rate / 1e9:.0f} GFLOP/s {SHORT[dtype]}" for dtype, rate in limit["flops"].items())
        cache, memory = (limit["copy"][i][1] / 1e9 for i in (0, -1))
        lines.append(f"Limits measured on {count} thread{'s' if int(count) > 1 else ''}: {peaks}; copying {cache:.0f} GB/s in the "
                     f"first cache, {memory:.0f} GB/s in memory.")
    grown = [f"{group} {SHORT.get(dtype, dtype)}" + (f" on {count} threads" if len(result["threads"]) > 1 else "")
             + f" {exponent(points):.2f}" for (group, dtype, count), points in series(result["rows"]).items()]
    if grown:
        lines.append(f"Cost by size, as the slope over the largest three sizes (1 is linear): {', '.join(grown)}.")
    without = {(side, text) for r in result["rows"] for side, text in r.get("peers_without", {}).items()}
    lines += [f"{PEERS[side]} could not run a case: {text}" for side, text in sorted(without)]
    busy = [r for r in result["rows"] if r.get("busy", 1) > 1.3]
    lines += result["contention"]["notes"]
    if busy and result["contention"]["notes"]:
        lines.append(f"{len(busy)} of {len(result['rows'])} rows were measured while others used the processors.")
    return lines


# ---------------------------------------------------------------- on a terminal
def show(result, out=None):
    """Print the tables, with rich where it is installed."""
    try:
        from rich.console import Console
    except ImportError:
        _show_plainly(result, out)
        return
    console = Console(file=out)
    if not console.is_terminal:                          # a pipe has no width: lines are as long as they are
        _show_plainly(result, out)
        return
    _show_richly(result, console)


def _tables(result):
    """(title, headings, rows of texts, verdicts) of every table."""
    for family, groups in grouped(result["rows"]).items():
        for group, rows in groups.items():
            wanted = columns({**result, "rows": rows})
            title = group if group == family else f"{family}: {group}"
            yield title, wanted, [[text(r) for _, text, _ in wanted] for r in rows]


def _show_richly(result, console):
    from rich.markup import escape
    from rich.table import Table
    for title, wanted, lines in _tables(result):
        table = Table(title=title, title_justify="left")
        for heading, _, is_text in wanted:
            table.add_column(heading, justify="left" if is_text else "right", overflow="fold")
        for line in lines:
            color = {"met": "green", "missed": "red", "": "default"}.get(line[-1], "yellow")
            color = "bold red" if line[-1].startswith(("WRONG", "FAILED")) else color
            table.add_row(*map(escape, line[:-1]), f"[{color}]{escape(line[-1])}[/]")
        console.print(table)
    table = Table(*SUMMARY_HEADINGS, title="All", title_justify="left")
    for line in summary(result["rows"]):
        table.add_row(*map(escape, line))
    console.print(table)
    for line in notes(result):
        console.print(escape(line.replace("**", "")), highlight=False)


def _show_plainly(result, out):
    tables = [(title, [h for h, _, _ in wanted], lines) for title, wanted, lines in _tables(result)]
    for title, headings, lines in [*tables, ("all", SUMMARY_HEADINGS, summary(result["rows"]))]:
        widths = [max(len(line[i]) for line in [headings, *lines]) for i in range(len(headings))]
        print(f"\n{title}", file=out)
        for line in [headings, *lines]:
            print("  ".join(text.ljust(w) for text, w in zip(line, widths)).rstrip(), file=out)
    print(file=out)
    print("\n".join(line.replace("**", "") for line in notes(result)), file=out)


# ---------------------------------------------------------------- files
def save(result, path):
    """Write the result as JSON."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1, ensure_ascii=False)
        file.write("\n")


def load(path) -> dict:
    """A result that `save` wrote. Raises ValueError where the file holds something else."""
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise ValueError(f"{path} is not a result of this benchmark (format {FORMAT} was expected)")
    return result


def best(results) -> dict:
    """One result of several runs on the same machine, where it is taken away for seconds at a time: of each row the least time of
    each side in any run, so that what they say of a side is what it can do. Nothing is dropped: a wrong row of any run stays."""
    first, *others = results
    rows, repeated = {key(r): dict(r) for r in first["rows"]}, set()
    for row in (r for other in others for r in other["rows"]):
        if key(row) not in rows:
            rows[key(row)] = dict(row)
            continue
        known = rows[key(row)]
        repeated.add(key(row))
        known.update({word: row[word] for word in ("wrong", "failed") if word in row})
        if OURS in row and (OURS not in known or row[OURS]["min"] < known[OURS]["min"]):
            known.update({word: row[word] for word in (OURS, "gbytes", "gflops", "of_limit", "busy") if word in row})
        for side in PEERS:
            if side in row and (side not in known or row[side]["min"] < known[side]["min"]):
                known[side] = row[side]
    families = sorted({family for family, *_ in repeated})
    said = [f"Several of {len(results)} runs measured {', '.join(families)}: each side's least time is shown."] if families else []
    contention = {**first["contention"], "notes": [*first["contention"]["notes"], *said]}
    return {**first, "rows": list(rows.values()), "contention": contention}


FORMAT = 1
