"""The tables of Markdown files: what stands between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` comes from a result.

NAME is a family, or `summary`: a line for each family.
"""
from __future__ import annotations

import re

from . import report, tables

_MARKS = re.compile(r"<!-- bench:([\w-]+) -->\n.*?<!-- /bench:\1 -->", re.DOTALL)


def _table(headings, lines, is_text):
    clean = lambda text: text.replace("|", "\\|").replace("\n", " ")
    rows = [headings, *lines]
    return "\n".join(["| " + " | ".join(map(clean, rows[0])) + " |", "|" + "|".join("---" if t else "---:" for t in is_text) + "|",
                      *["| " + " | ".join(map(clean, line)) + " |" for line in rows[1:]]])


def family_text(result, family) -> str:
    """A family's tables and what must be said with them."""
    groups = report.grouped(result["rows"])[family]
    parts = report.notes({**result, "rows": [r for rows in groups.values() for r in rows]}, limits=False)
    for group, rows in groups.items():
        wanted = tables.columns({**result, "rows": rows})
        if len(groups) > 1 or group != family:
            parts.append(f"**{group[0].upper()}{group[1:]}**")
        lines = [[c.text(r) for c in wanted] for r in rows]
        parts.append(_table([c.heading for c in wanted], lines, [c.is_text for c in wanted]))
    return "\n\n".join(parts)


def summary_text(result) -> str:
    """A line for each family and what must be said with it."""
    headings, lines = tables.needed(result["rows"])
    table = _table(headings, lines, [h.startswith(("family", "furthest")) for h in headings])
    return "\n\n".join([*report.notes(result), table])


def fill(result, path, families) -> list[str]:
    """Refresh the tables in a file that the result has rows for; `families` are all there are.

    Returns:
        What was left as it is, to be said.

    Raises:
        ValueError: the file has no marks, or none for what was measured.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    measured = list(report.grouped(result["rows"]))
    left, filled = [], []

    def replace(match):
        name = match.group(1)
        if name == "summary" and set(families) <= set(measured):
            body = summary_text(result)
        elif name in measured:
            body = family_text(result, name)
        else:
            left.append(f"{path}: the table {name!r} was left as it is: "
                        + ("not every family was measured" if name == "summary" else "its family was not measured"))
            return match.group(0)
        filled.append(name)
        return f"<!-- bench:{name} -->\n{body}\n<!-- /bench:{name} -->"

    changed = _MARKS.sub(replace, text)
    if not filled:
        raise ValueError(f"{path}: expected marks such as <!-- bench:{measured[0] if measured else 'core'} --> and "
                         f"<!-- /bench:{measured[0] if measured else 'core'} --> around a table to refresh")
    with open(path, "w", encoding="utf-8") as file:
        file.write(changed)
    return left
