"""What the benchmark shows its user: a table that fits the terminal and explains itself, pictures of what there is, labels to choose by."""
import importlib.util
import io
import sys

import pytest
from test_bench import ADD, FAMILIES, PEER, command, made_result, made_row, numtorch, report, run  # noqa: F401

from bench.runner import plot, tables
from bench.runner.case import Case, ProcessCase, normal
from bench.runner.session import Session

LONG = "TransformerEncoderLayer(256, 4, 1024), 8×128×256, forward and backward"
ROWS = [made_row("a + b, 10 floats"), made_row(LONG, 1.9e-3, of_limit=0.97), made_row("slow", 1.9e-3), made_row("free", budget=None),
        {k: v for k, v in made_row("absent", missing="AttributeError: no such thing").items() if k not in ("numtorch", "torch")}]


def printed(result, wide=False, terminal=None, monkeypatch=None):
    out = io.StringIO()
    if terminal == "plain":
        monkeypatch.setitem(sys.modules, "rich.console", None)
        monkeypatch.setenv("COLUMNS", "80")
        out.isatty = lambda: True
    elif terminal == "rich":
        pytest.importorskip("rich")
        for name, value in (("FORCE_COLOR", "1"), ("COLUMNS", "80"), ("TERM", "dumb"), ("NO_COLOR", "1")):
            monkeypatch.setenv(name, value)
    tables.show(result, wide, out)
    return out.getvalue()


# ---------------------------------------------------------------- the table
@pytest.mark.parametrize("terminal", ["plain", "rich"])
def test_the_table_fits_eighty_columns(terminal, monkeypatch):
    text = printed(made_result(*ROWS), terminal=terminal, monkeypatch=monkeypatch)
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    assert "a + b, 10 floats f32" in flat and "1 ms" in flat and "2 ms" in flat and "0.50" in flat and "≤ 0.8" in flat
    assert "GB/s" not in text and "/ 1.02 ms" not in text


def test_wide_shows_the_rest():
    text = printed(made_result(*ROWS), wide=True)
    assert "1 ms / 1.02 ms" in text and "2%" in text and "spread" in text and "of limit" in text and "furthest from its budget" in text


@pytest.mark.parametrize("wide", [False, True])
def test_each_heading_is_explained_under_the_table(wide):
    text = printed(made_result(*ROWS, made_row("more", gflops=5.0, flops=1e6, alone={"numtorch": 2e-3, "torch": 3e-3}, gain_budget=1.5)),
                   wide)
    plain = {"", "family", "rows", "met", "missed", "numtorch", "PyTorch", "on one thread", "PyTorch's gain", "furthest from its budget",
             "numtorch min / median", "PyTorch min / median", "threads"}
    result = made_result(*ROWS)
    headings = {c.heading for c in (tables.columns if wide else tables.few_columns)(result)} | set(tables.needed(result["rows"])[0])
    unsaid = [h for h in headings - plain if f"\n{h}: " not in text]
    assert unsaid == [] and ("median: " in text) is wide


def test_the_summary_adds_up_to_its_rows():
    rows = [*ROWS, made_row("bad", wrong="x"), made_row("broken", failed="y")]
    line, = tables.summary(rows)
    counts = dict(zip(tables.SUMMARY_HEADINGS, line))
    assert sum(int(counts[kind]) for kind in tables.COUNTED) == int(counts["rows"]) == len(rows)
    assert counts["met"] == counts["missed"] == counts["at the limit"] == counts["not judged"] == counts["not there"] == "1"
    assert counts["wrong"] == "2"


@pytest.mark.parametrize("wide", [False, True])
def test_without_a_peer_no_ratio_is_spoken_of(wide):
    alone = {k: v for k, v in made_row().items() if k != "torch"}
    result = made_result(alone)
    result["machine"]["sides"] = {"numtorch": "1"}
    text = printed(result, wide)
    assert "atio" not in text and "budget:" not in text and "met" not in text.split() and "PyTorch 2" not in text


# ---------------------------------------------------------------- choosing
@pytest.fixture
def session():
    return Session({"numtorch": numtorch, "torch": PEER}, [1], with_limits=False)


def test_a_label_copied_from_the_table_chooses_its_row(session, monkeypatch):
    both = Case("add both", (normal(8), normal(8)), lambda torch, a, b: a + b, dtypes=("float32", "float64"), group="calls")
    process = ProcessCase("p", "", (("first sum, empty store", "s", None),), ("numtorch",), 1)
    monkeypatch.setattr(FAMILIES["core"], "CASES", [both, ADD, process])
    said = lambda text: [(case.name, dtype) for _, case, dtype, _ in command.chosen(session, ["core"], text)]
    assert said("add both f64") == [("add both", "float64")]
    assert said("add  both\n f32") == [("add both", "float32")]            # as a narrow terminal folds it
    assert said("core: calls") == [("add both", "float32"), ("add both", "float64")]
    assert said("First sum, empty") == [("p", None)] and len(said("")) == 4 and said("zebra") == []


def test_every_rows_label_chooses_it(session):
    for family, module in FAMILIES.items():
        for job in session.jobs(family, module.CASES):
            _, case, dtype, _ = job
            if not isinstance(case, ProcessCase):
                assert job in command.chosen(session, [family], report.label({"name": case.name, "dtype": dtype}))
        if family == "gemm":
            break


def test_a_family_is_measured_alone(session):
    assert {family for family, *_ in command.chosen(session, ["core"], "")} == {"core"}


# ---------------------------------------------------------------- pictures
ROOFS, LINES, BARS = "Roofline", "Cost by size (slope over the largest three sizes)", "Ratio to PyTorch"
WORKED = {"gflops": 5.0, "flops": 5e6, "bytes": 1e6}
GROWING = [made_row(str(n), n * 1e-6, size=n) for n in (1, 10, 100)]


def without_peer(row):
    return {k: v for k, v in row.items() if k != "torch"}


@pytest.mark.parametrize("rows, panels", [
    ([], []), ([without_peer(made_row())], []), ([made_row()], [BARS]), ([without_peer(made_row(**WORKED))], [ROOFS]),
    ([without_peer(r) for r in GROWING], [LINES]), ([made_row(**WORKED), made_row("b", 3e-3, wrong="x"), *GROWING], [ROOFS, LINES, BARS]),
], ids=["nothing", "a row alone", "a bar", "points", "lines", "all"])
def test_the_picture_has_the_panels_that_there_is_something_for(rows, panels, tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    drawn = []
    monkeypatch.setattr(figure.Figure, "savefig", lambda self, path, **more: drawn.append(self))
    assert plot.draw(made_result(*rows), tmp_path / "out.png") is bool(panels) is bool(drawn)
    titles = [axes.get_title(loc) for f in drawn for axes in f.axes for loc in ("left", "center") if axes.get_title(loc)]
    assert [t.split(":")[0] for t in titles] == panels


@pytest.mark.parametrize("budget, limits, said", [(0.8, True, True), (None, False, False)])
def test_legends_name_what_is_drawn(budget, limits, said, tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    drawn = []
    monkeypatch.setattr(figure.Figure, "savefig", lambda self, path, **more: drawn.append(self))
    result = made_result(made_row(budget=budget, **WORKED))
    if not limits:
        result["limits"] = {}
    plot.draw(result, tmp_path / "out.png")
    roofs, bars = drawn[0].axes
    assert ("roofs" in roofs.get_legend().get_title().get_text()) is said
    assert ("budget" in bars.get_title("left")) is said


def test_a_picture_is_written_or_why_not_is_said(run, tmp_path):  # noqa: F811
    pytest.importorskip("matplotlib")
    assert run([ADD], "--plot", str(tmp_path / "there" / "a.png"))[0] == 0
    assert (tmp_path / "there" / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    status, said = run([ADD], "--plot", str(tmp_path / "b.png"), sides=())
    assert status == 0 and "b.png was not written" in said and not (tmp_path / "b.png").exists()


def test_a_missing_matplotlib_is_said_before_anything_is_measured(run, monkeypatch, tmp_path):  # noqa: F811
    monkeypatch.setattr(command, "measure", lambda options: pytest.fail("measured"))
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "matplotlib" else there(name, *more))
    status, said = run([ADD], "--plot", str(tmp_path / "a.png"))
    assert status == 2 and 'pip install "numtorch[bench]"' in said


def test_nothing_is_compared_with_nothing():
    from bench.runner.report import ratio
    assert ratio({"numtorch": {"min": 1.0}, "torch": {"min": 0.0}}) is None
    assert ratio({"numtorch": {"min": 1.0}, "torch": {"min": 2.0}}) == 0.5
