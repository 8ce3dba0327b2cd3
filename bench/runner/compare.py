"""Two results against each other: what became slower by more than the measurements' own spread."""
from __future__ import annotations

from dataclasses import dataclass

from .report import OURS, key, label

ALLOWED = 0.05                                           # what a rebuild of the same code moves a loop by


@dataclass
class Change:
    """A row in both results: `factor` is its new time over its old one, `allowed` what spread and drift explain."""

    row: dict
    factor: float
    allowed: float

    @property
    def regression(self):
        return self.factor > self.allowed

    @property
    def text(self):
        threads = f", {self.row['threads']} threads" if self.row["threads"] > 1 else ""
        return (f"{self.row['family']}: {label(self.row)}{threads}: {self.factor:.2f} times what it was "
                f"(up to {self.allowed:.2f} is within the spread)")


def changes(old, new) -> list[Change]:
    """Every row that both results measured, the worst first.

    Minima are compared. Where PyTorch was measured in both and became slower too, the machine did, and ours may by as much.
    """
    before = {key(r): r for r in old["rows"]}
    found = []
    for row in new["rows"]:
        was = before.get(key(row))
        if was is None or OURS not in row or OURS not in was:
            continue
        spread = row[OURS]["spread"] + was[OURS]["spread"]
        drift = max(1.0, row["torch"]["min"] / was["torch"]["min"]) if "torch" in row and "torch" in was else 1.0
        found.append(Change(row, row[OURS]["min"] / was[OURS]["min"], drift * (1 + max(spread, ALLOWED))))
    return sorted(found, key=lambda c: c.allowed / c.factor)


def broken(old, new) -> list[str]:
    """Rows that gave a figure before and now are wrong, fail or are not there."""
    before = {key(r) for r in old["rows"] if OURS in r}
    return [f"{r['family']}: {label(r)}: measured before, now not" for r in new["rows"] if OURS not in r and key(r) in before]


def remarks(old, new) -> list[str]:
    """What makes the comparison weaker."""
    lines = []
    if old["machine"]["processor"] != new["machine"]["processor"]:
        lines.append(f"measured on different processors: {old['machine']['processor']}, then {new['machine']['processor']}")
    if old["contention"]["notes"] or new["contention"]["notes"]:
        lines.append("the machine was busy or unsteady during one of the runs")
    fresh = sum(key(r) not in {key(o) for o in old["rows"]} for r in new["rows"])
    if fresh:
        lines.append(f"{fresh} rows have no older figure")
    return lines
