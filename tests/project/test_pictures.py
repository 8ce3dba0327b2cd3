"""The README's pictures show what the tables say."""
from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("pictures", ROOT / "tools" / "pictures.py")
pictures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pictures)

PAGE = """
<!-- bench:summary -->
Notes | of a machine.

| family | rows | mean ratio | furthest from its budget |
|---|---:|---:|---|
| gemm | 3 | 0.50 | a |
| sparse | 3 | 2.00 | b |
| alone | 1 | – | – |
<!-- /bench:summary -->
<!-- bench:start -->
|  | numtorch min / median | PyTorch min / median | ratio | budget |  |
|---|---:|---:|---:|---:|---|
| import | 9 s / 9 s | 9 s / 9 s | 1.00 | – |  |
| LeNet, empty store | 2.5 s / 3 s | 1 s / 2 s | 2.50 | – |  |
| LeNet, empty store: of all processors | 9 s / 9 s | 9 s / 9 s | 1.00 | – |  |
<!-- /bench:start -->
<!-- bench:compile -->
**One**

|  | numtorch min / median | PyTorch min / median | ratio | budget |  |
|---|---:|---:|---:|---:|---|
| training step, a \\| b, compiled f32 | 10 µs / 11 µs | 200 µs / 210 µs | 0.05 | ≤ 0.1 | met |

**Two**

|  | numtorch min / median | PyTorch min / median | ratio | budget |  |
|---|---:|---:|---:|---:|---|
| training step, c, compiled f32 | 1 ms / 1 ms | – | – | – |  |
| chain, compiled f32 | 1 ms / 1 ms | 2 ms / 2 ms | 0.50 | – |  |
| training step, d, compiled: peak memory | 1 MB / 1 MB | 2 MB / 2 MB | 0.50 | – |  |
<!-- /bench:compile -->
"""


def drawn(text):
    """(texts, widths of the bars with colours) of a picture."""
    root = xml.fromstring(text)
    space = {"s": "http://www.w3.org/2000/svg"}
    bars = [(float(r.get("width")), r.get("fill")) for r in root.findall(".//s:rect", space) if float(r.get("y")) > 41]
    return [t.text for t in root.findall(".//s:text", space)], bars


def test_tables_are_read():
    assert [row[""] for row in pictures.table(PAGE, "compile")] == [
        "training step, a | b, compiled f32", "training step, c, compiled f32", "chain, compiled f32", "training step, d, compiled: peak memory"]
    assert pictures.pairs(pictures.table(PAGE, "compile")[:2]) == [("training step, a | b, compiled", 10e-6, 200e-6)]
    assert pictures.seconds("1.5 ms / 2 ms") == pytest.approx(1.5e-3)


def test_bars_are_as_long_as_the_figures_say():
    made = pictures.pictures(PAGE)
    texts, bars = drawn(made["families.svg"])
    assert bars[1][0] == pytest.approx(4 * bars[0][0], rel=0.01) and bars[0][1] != bars[1][1]      # slower than PyTorch looks otherwise
    assert {"gemm", "0.50", "sparse", "2.00"} <= set(texts) and "alone" not in texts
    texts, bars = drawn(made["start.svg"])
    assert bars[0][0] == pytest.approx(2.5 * bars[1][0], rel=0.01) and {"LeNet, empty store", "2.5 s", "1 s"} <= set(texts) and len(bars) == 2
    texts, bars = drawn(made["captured.svg"])
    assert bars[1][0] == pytest.approx(20 * bars[0][0], rel=0.02) and len(bars) == 2 and {"training step, a | b", "10 µs", "200 µs"} <= set(texts)


def test_the_committed_pictures_are_those_of_the_committed_tables():
    made = pictures.pictures(pictures.TABLES.read_text(encoding="utf-8"))
    assert {path.name: path.read_text(encoding="utf-8") for path in pictures.FOLDER.iterdir()} == made
    assert set(re.findall(r"docs/pictures/([\w.]+)", (ROOT / "README.md").read_text())) == set(made)
    assert all(len(drawn(text)[1]) >= 5 for text in made.values())
