"""Results: what a row says, what must be said with all of them, and their files. Tables of them are in tables.py."""
from __future__ import annotations

import json
import platform

import numpy as np

OURS = "numtorch"
PEERS = {"torch": "PyTorch", "numpy": "NumPy", "torch.compile": "torch.compile", "jax": "JAX",
         "without": "the same without the pass"}
MODULES = {"torch.compile": "torch", "without": OURS}    # of the sides that are not called as their package is
SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}


# ---------------------------------------------------------------- rows
def ratio(row, peer="torch"):
    """Our time (or bytes) over a peer's, of the minima; None where one of them is not there, or the peer's is 0."""
    return row[OURS]["min"] / row[peer]["min"] if OURS in row and peer in row and row[peer]["min"] else None


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
    if any(peer in row and ratio(row, peer) > budget for peer, budget in row.get("budgets", {}).items()):
        return "missed"
    if value is None or row["budget"] is None:
        judged = "most" in row or any(peer in row for peer in row.get("budgets", {}))
        return "met" if judged and OURS in row else ""
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


def grouped(rows) -> dict:
    """Rows by family, then group, in their order."""
    groups: dict = {}
    for row in rows:
        groups.setdefault(row["family"], {}).setdefault(row["group"], []).append(row)
    return groups


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
    versions = [f"{PEERS[p]} {sides[p]}" for p in PEERS if p in sides and p != "without"]
    lines = [f"{said['processor']}, {threads}, Python {said['python']}, numba {said['numba']}"
             + "".join(f", {v}" for v in versions) + "."
             + " Ratios are of the minima; below 1, numtorch is faster." * any(p in r for p in PEERS for r in result["rows"])]
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
