"""The README's pictures, drawn from the tables that `python -m bench` left in docs/benchmarks.md: no figure is typed here.

    python tools/pictures.py                 # writes docs/pictures/*.svg

They are plain SVG, equal for equal tables, and readable on light and on dark pages.
"""
from __future__ import annotations

import math
import re
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "docs" / "benchmarks.md"
FOLDER = ROOT / "docs" / "pictures"

OURS, THEIRS = "#2a7f62", "#d9822b"
ALL = ": of all processors"                              # the second row of each first step, its processor time
UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}
WIDTH, LINE, LEFT, ROOM = 460, 17, 190, 60               # of the picture, a bar's line, the names, the figure behind a bar


# ---------------------------------------------------------------- tables
def table(text: str, name: str) -> list[dict[str, str]]:
    """The rows of a benchmark's tables in a page, as dicts by heading; the name is under "".

    Args:
        text: the page.
        name: the family, or "summary".
    """
    body = re.search(rf"<!-- bench:{name} -->\n(.*?)<!-- /bench:{name} -->", text, re.DOTALL)[1]
    rows, headings = [], None
    for line in body.splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            headings = None
        elif headings is None:
            headings = cells
        elif not set(cells[0]) <= {"-", ":"} or not cells[0]:
            rows.append(dict(zip(reversed(headings), reversed(cells))))      # the first of two empty headings is the row's name
    return rows


def seconds(cell: str) -> float:
    """The least time of a cell such as `1.2 ms / 1.3 ms`."""
    number, unit = cell.split(" / ")[0].split(" ")
    return float(number) / UNITS[unit]


def pairs(rows) -> list[tuple[str, float, float]]:
    """(name, our seconds, PyTorch's) of rows that have both."""
    return [(row[""].removesuffix(" f32"), seconds(row["numtorch min / median"]), seconds(row["PyTorch min / median"]))
            for row in rows if "–" not in (row["numtorch min / median"], row.get("PyTorch min / median", "–"))]


# ---------------------------------------------------------------- drawing
def shown(value: float) -> str:
    """Seconds in three digits."""
    unit = next((name for name, scale in UNITS.items() if value * scale >= 0.9995), "ns")
    return f"{value * UNITS[unit]:.3g} {unit}"


def _text(x, y, words, size=11, anchor="start", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


def _picture(title, below, lines, height):
    style = ("text{font-family:system-ui,sans-serif;fill:#24292f}.axis{stroke:#57606a}"
             "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.axis{stroke:#8b949e}}")
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', f"<title>{escape(title)}</title>",
            f"<style>{style}</style>"]
    return "\n".join([*head, _text(0, 15, title, 13, weight="bold"), _text(0, 31, below, 10.5), *lines, "</svg>", ""])


def ratios(rows) -> str:
    """A bar for each family: how much of PyTorch's time its rows take, in the geometric mean."""
    found = [(row["family"], float(row["mean ratio"])) for row in rows if row["mean ratio"] != "–"]
    scale = (WIDTH - LEFT + 80 - ROOM) / max(1.0, *(value for _, value in found))
    left, lines = LEFT - 80, []
    for i, (name, value) in enumerate(found):
        y = 46 + LINE * i
        lines += [_text(left - 6, y + 10, name, anchor="end"),
                  f'<rect x="{left}" y="{y}" width="{value * scale:.1f}" height="12" fill="{OURS if value <= 1 else THEIRS}"/>',
                  _text(left + value * scale + 4, y + 10, f"{value:.2f}", 10)]
    end = 46 + LINE * len(found)
    lines += [f'<line class="axis" x1="{left + scale:.1f}" x2="{left + scale:.1f}" y1="40" y2="{end}" stroke-dasharray="3 2"/>',
              _text(left + scale, end + 13, "1 = PyTorch's time", 10, "middle")]
    return _picture("Time, as a share of PyTorch's", "each family's geometric mean; shorter is faster", lines, end + 20)


def times(title, below, found) -> str:
    """Two bars for each row, numtorch's and PyTorch's time. The longer is as wide as the picture: each row has its scale.

    Args:
        title, below: what stands above.
        found: rows of `pairs`.
    """
    lines, y = [], 62
    lines += [f'<rect x="0" y="40" width="10" height="10" fill="{OURS}"/>', _text(14, 49, "numtorch", 10.5),
              f'<rect x="76" y="40" width="10" height="10" fill="{THEIRS}"/>', _text(90, 49, "PyTorch", 10.5)]
    for name, ours, theirs in found:
        lines.append(_text(0, y + 10, name, 10.5, weight="bold"))
        longest = max(ours, theirs)
        for value, color in ((ours, OURS), (theirs, THEIRS)):
            y += LINE - 3
            wide = (WIDTH - ROOM) * value / longest
            lines += [f'<rect x="0" y="{y}" width="{max(wide, 1):.1f}" height="11" fill="{color}"/>',
                      _text(max(wide, 1) + 4, y + 10, shown(value), 10)]
        y += LINE + 4
    return _picture(title, below, lines, math.ceil(y))


def pictures(text: str) -> dict[str, str]:
    """All pictures of a page's tables, by file name."""
    rows = pairs(table(text, "start"))
    names = {name for name, *_ in rows}
    start = [row for row in rows if row[0] + ALL in names]
    steps = [(name.removesuffix(", compiled"), ours, theirs)
             for name, ours, theirs in pairs(row for row in table(text, "compile") if row[""].endswith("compiled f32"))
             if name.startswith("training step")]
    return {
        "families.svg": ratios(table(text, "summary")),
        "start.svg": times("From start to the end of the first training step",
                           "time on the clock; into an empty store, kernels are compiled", start),
        "captured.svg": times("A training step that torch.compile captured", "beside PyTorch's eager step", steps),
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, picture in pictures(TABLES.read_text(encoding="utf-8")).items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
