"""A picture of what a result has of these: the roofline, how cost grows with size, and the ratio of every row. Needs matplotlib."""
from __future__ import annotations

import numpy as np

from .report import SHORT, exponent, grouped, label, ratio, series, verdict

INK, FAINT = "#222222", "#bbbbbb"
COLORS = {"met": "#2a7f62", "missed": "#c8453b", "": "#8a8a8a"}
LINES = ["#2a7f62", "#c8453b", "#3b6fb6", "#b8860b", "#7b4fa3", "#444444", "#d17ab0", "#5aa5a5"]
ROW_INCHES, FEWEST_INCHES, BARS_A_COLUMN = 0.14, 3.0, 90


def draw(result, path) -> bool:
    """Write the picture; the ending of `path` says its format. Returns whether there was anything to draw."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    compared = [r for r in result["rows"] if ratio(r) is not None]
    upper = [panel for panel, wanted in ((draw_roofline, _points(result)), (draw_growth, series(result["rows"]))) if wanted]
    if not upper and not compared:
        return False
    columns = max(1, -(-len(compared) // BARS_A_COLUMN))
    heights = [6.0] * bool(upper) + [max(FEWEST_INCHES, ROW_INCHES * -(-len(compared) // columns))] * bool(compared)
    figure = Figure(figsize=(max(7 * len(upper), 7 * columns), sum(heights) + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    parts = list(np.atleast_1d(figure.subfigures(len(heights), 1, height_ratios=heights)))
    if upper:
        for panel, axes in zip(upper, np.atleast_1d(parts.pop(0).subplots(1, len(upper)))):
            panel(axes, result)
    if compared:
        draw_ratios(np.atleast_1d(parts.pop(0).subplots(1, columns)), compared, len(result["threads"]) > 1)
    figure.savefig(path, dpi=110)
    return True


def _points(result):
    return [r for r in result["rows"] if "gflops" in r and r.get("bytes")]


# ---------------------------------------------------------------- the roofline
def draw_roofline(axes, result):
    """Arithmetic intensity against speed, under what memory, caches and multiply-add units allow (Williams et al., 2009)."""
    points = _points(result)
    axes.set(xscale="log", yscale="log", xlabel="floating-point operations a byte", ylabel="GFLOP/s", title="Roofline")
    x = np.logspace(-2, 3.5, 200)
    for count, limit in result["limits"].items():
        threads = f"{count} thread{'s' if int(count) > 1 else ''}"
        peak = limit["flops"]["float32"] / 1e9
        for curve, style in ((limit["copy"][0], ":"), (limit["copy"][-1], "-")):
            axes.plot(x, np.minimum(peak, x * curve[1] / 1e9), style, color=INK, linewidth=0.9)
        axes.plot(x, np.full_like(x, limit["flops"]["float64"] / 1e9), "--", color=FAINT, linewidth=0.9)
        axes.text(x[-1], peak, f"{threads}, f32 ", ha="right", va="bottom", fontsize=7)
        axes.text(x[-1], limit["flops"]["float64"] / 1e9, "f64 ", ha="right", va="bottom", fontsize=7, color="#888888")
    families = list(dict.fromkeys(r["family"] for r in points))
    for i, family in enumerate(families):
        mine = [r for r in points if r["family"] == family]
        axes.scatter([r["flops"] / r["bytes"] for r in mine], [r["gflops"] for r in mine], s=14, color=LINES[i % len(LINES)],
                     label=family, zorder=3)
    roofs = "roofs: memory, first cache (dotted)" if result["limits"] else None
    axes.legend(fontsize=7, loc="lower right", title=roofs, title_fontsize=7)


# ---------------------------------------------------------------- growth
def draw_growth(axes, result):
    """Time over the amount of work; a straight line at 45° is linear cost, what lies flat at its left end is a call's overhead."""
    axes.set(xscale="log", yscale="log", xlabel="work (elements, or operations of products and convolutions)", ylabel="seconds",
             title="Cost by size (slope over the largest three sizes)")
    for i, ((group, dtype, threads), points) in enumerate(series(result["rows"]).items()):
        size, seconds = np.array(points).T
        name = f"{group} {SHORT.get(dtype, dtype)}" + (f", {threads} threads" if len(result["threads"]) > 1 else "")
        axes.plot(size, seconds, "o-", color=LINES[i % len(LINES)], markersize=3, linewidth=1,
                  label=f"{name}: {exponent(points):.2f}")
        axes.plot(size, seconds[-1] * size / size[-1], ":", color=LINES[i % len(LINES)], linewidth=0.7)
    axes.legend(fontsize=7)


# ---------------------------------------------------------------- ratios
def draw_ratios(all_axes, rows, name_threads):
    """A bar for each row, from 1 to its ratio to PyTorch; a tick where its budget is."""
    ordered = [r for groups in grouped(rows).values() for group in groups.values() for r in group]
    share = max(1, -(-len(ordered) // len(all_axes)))
    for i, axes in enumerate(all_axes):
        mine = ordered[i * share:(i + 1) * share]
        places = np.arange(len(mine))
        values = [ratio(r) for r in mine]
        colors = [COLORS.get(verdict(r), COLORS["missed"]) for r in mine]
        axes.barh(places, [v - 1 for v in values], left=1, color=colors, height=0.7)
        marked = [(p, r["budget"]) for p, r in zip(places, mine) if r["budget"] is not None]
        axes.plot([b for _, b in marked], [p for p, _ in marked], "|", color=INK, markersize=5)
        names = [f"{r['family']}: {label(r)}" + (f" ({r['threads']})" if name_threads else "") for r in mine]
        axes.set_yticks(places, names, fontsize=6)
        axes.set(xscale="log", xlabel="numtorch / PyTorch", ylim=(max(len(mine), 1) - 0.4, -0.6))
        axes.axvline(1, color=INK, linewidth=0.8)
        ticks = [t for t in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10) if not values or min(values) / 2 < t < max(values) * 2 or t == 1]
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks], fontsize=7)
        axes.minorticks_off()
    budgets = "; the tick is the budget" if any(r["budget"] is not None for r in rows) else ""
    all_axes[0].set_title(f"Ratio to PyTorch: left of 1 numtorch is faster{budgets}", loc="left", fontsize=10)
