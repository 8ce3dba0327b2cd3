"""The benchmark runner: that it compares before it times, says what is wrong or missing, and judges two results fairly."""
import gc
import importlib
import json
import math
import os
import pkgutil
import re
import subprocess
import sys
import time
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import numtorch
from numtorch.kernels.binding import DISABLE_JIT

ROOT = str(Path(__file__).resolve().parents[2])
sys.path.insert(0, ROOT)

from bench import __main__ as command  # noqa: E402
from bench.runner import compare, limits, measure, readme, report, tables  # noqa: E402
from bench.runner.case import Case, ProcessCase, backward, gradient, integers, module_case, normal, step_case  # noqa: E402
from bench.runner.contention import BUSY, Contention  # noqa: E402
from bench.runner.processes import process_rows  # noqa: E402
from bench.runner.session import Session, disagreement, is_absent, numbers  # noqa: E402

FAMILIES = {name: importlib.import_module(f"bench.{name}") for name in command.FAMILIES}


class Peer(types.ModuleType):
    """numtorch under PyTorch's name: a peer that is always installed."""

    __version__ = "stand-in"

    def __getattr__(self, name):
        return getattr(numtorch, name)


PEER = Peer("torch")


@pytest.fixture(scope="module")
def session():
    before = numtorch.get_num_threads()
    yield Session({"numtorch": numtorch, "torch": PEER, "numpy": np}, [1], seconds=0.01, with_limits=False)
    numtorch.set_num_threads(before)


@pytest.fixture
def run(monkeypatch, capsys):
    """`run(cases, *words)`: the command with one family of these cases; its exit status and what it printed."""
    before = numtorch.get_num_threads()

    def run(cases, *words, sides=("torch",), absent=()):
        known = {"torch": PEER, "numpy": np, "torch.compile": PEER, "jax": JAX, "without": numtorch}
        modules = {"numtorch": numtorch, **{s: known[s] for s in sides}}
        monkeypatch.setattr(command, "load_sides", lambda peers: (modules, list(absent)))
        monkeypatch.setattr(FAMILIES["core"], "CASES", cases)
        status = command.main(["core", "--quick", "--seconds", "0.001", "--threads", "1", *words])
        printed = capsys.readouterr()
        return status, printed.out + printed.err
    yield run
    numtorch.set_num_threads(before)


JAX = types.SimpleNamespace(numpy=np, __version__="0")          # as far as a session knows it
ADD = Case("add", (normal(8), normal(8)), lambda torch, a, b: a + b, numpy=True, budget=100.0)


# ---------------------------------------------------------------- the cases
@pytest.mark.parametrize("family", FAMILIES)
def test_every_case_is_whole_and_no_two_share_a_name(family):
    seen = set()
    for case in FAMILIES[family].CASES:
        if isinstance(case, ProcessCase):
            assert "{module}" in case.source and "report(" in case.source and case.rows
            names = [(case.group, name, None) for name, *_ in case.rows]
            compile(case.source.replace("{module}", "numtorch"), case.name, "exec")
        else:
            assert (case.expression is None) != (case.setup is None), case.name
            assert case.budget is None or 0 < case.budget <= 1, case.name
            assert case.dtypes and set(case.dtypes) <= set(command.DTYPES), case.name
            names = [(case.group, case.name, dtype) for dtype in case.dtypes]
        assert not seen & set(names), names
        seen |= set(names)
    assert seen


def test_the_families_are_the_files():
    files = {f[:-3] for f in os.listdir(os.path.join(ROOT, "bench")) if f.endswith(".py") and not f.startswith("__")}
    assert files == set(command.FAMILIES)


def test_the_wheel_takes_the_whole_folder_under_its_own_name():
    """One source: no file names the package it lies in, and setup.py lists every folder."""
    with open(os.path.join(ROOT, "setup.py")) as file:
        listed = dict(re.findall(r'"(numtorch\.bench[\w.]*)": "([\w/]+)"', file.read()))
    folders = {os.path.relpath(folder, ROOT).replace(os.sep, "/") for folder, _, files in os.walk(os.path.join(ROOT, "bench"))
               if "__init__.py" in files}
    assert set(listed.values()) == folders
    assert all(name == "numtorch." + folder.replace("/", ".") for name, folder in listed.items())
    for folder in folders:
        for name in os.listdir(os.path.join(ROOT, folder)):
            if name.endswith(".py"):
                with open(os.path.join(ROOT, folder, name)) as file:
                    assert not re.search(r"^\s*(from|import) (numtorch\.)?bench\b", file.read(), re.M), name


HELPERS = [
    ADD,
    Case("NumPy's own words", (normal(3, 5),), lambda torch, x: x.t() @ x, numpy=lambda np, x: x.T @ x),
    Case("no inputs, random", (), lambda torch: torch.rand(1000), exact=False, numpy=lambda np: np.random.default_rng(0).random(1000)),
    Case("integers", (integers(50, high=9),), lambda torch, x: x + x, numpy=True),
    Case("bfloat16", (normal(8),), lambda torch, x: x + x, dtypes=("bfloat16",)),
    Case("float64", (normal(8),), lambda torch, x: x.exp(), dtypes=("float64",)),
    backward(Case("both", (normal(4, 4), normal(4, 4)), lambda torch, a, b: a @ b)),
    gradient(Case("one", (normal(4, 4), normal(4, 4)), lambda torch, a, b: a * b), 1, "second"),
    module_case("module", lambda torch: torch.nn.Linear(4, 3), (normal(2, 4),)),
    module_case("module", lambda torch: torch.nn.Linear(4, 3), (normal(2, 4),), trained=True),
    step_case("step", lambda torch: torch.nn.Linear(4, 3), (normal(2, 4), normal(2, 3)),
              loss=lambda torch, y, t: torch.nn.functional.mse_loss(y, t)),
]


@pytest.mark.parametrize("case", HELPERS, ids=lambda c: c.name)
def test_a_case_of_each_kind_is_compared_and_timed_on_every_side(session, case):
    row, = session.rows("core", case, case.dtypes[0], 1)
    assert not {"wrong", "failed", "missing", "peers_without"} & set(row), row
    wanted = {"numtorch", "torch"} | ({"numpy"} if case.numpy else set())
    assert wanted <= set(row)
    for side in wanted:
        assert 0 < row[side]["min"] <= row[side]["median"] and row[side]["spread"] >= 0 and row[side]["samples"] >= 3
    assert math.isclose(report.ratio(row), row["numtorch"]["min"] / row["torch"]["min"])


# ---------------------------------------------------------------- what is wrong is said
WRONG = {
    "a wrong value": lambda torch, x: x + 1e-3 * (torch.__name__ == "torch"),
    "another shape": lambda torch, x: x[:4] if torch.__name__ == "torch" else x,
    "NaN on one side": lambda torch, x: x * float("nan") if torch.__name__ == "torch" else x,
    "more results": lambda torch, x: (x, x) if torch.__name__ == "torch" else x,
    "other integers": lambda torch, x: torch.arange(5) + (torch.__name__ == "torch"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_result_fails_the_case_loudly_and_the_run(run, name):
    status, printed = run([ADD, Case("suspect", (normal(8),), WRONG[name])])
    assert status == 1 and "core: suspect" in printed and "WRONG: torch says otherwise" in printed
    assert re.search(r"^add f32 .* met$", printed, re.M)


def test_random_results_are_compared_by_their_moments():
    case = Case("r", (), lambda torch: None, exact=False)
    draws = lambda seed, by=1.0: [np.random.default_rng(seed).standard_normal(10_000) * by]
    assert not disagreement(draws(0), draws(1), case, "float32")
    assert "relative difference" in disagreement(draws(0), draws(1, 1.2), case, "float32")
    assert "relative difference" in disagreement(draws(0), [draws(1)[0] + 0.2], case, "float32")


def test_results_of_any_kind_become_arrays():
    x = numtorch.tensor([1.0, 2.0])
    assert [a.tolist() for a in numbers({"b": (x, 3), "a": [x.to(numtorch.bfloat16), None]})] == [[1, 2], [1, 2], 3]


def test_what_is_not_there_yet_is_said_and_is_no_failure(run):
    status, printed = run([Case("future", (normal(2),), lambda torch, x: torch.nn.functional.quantum(x)), ADD])
    assert status == 0 and re.search("future f32 .*not there: AttributeError: module 'numtorch.nn.functional' has no attribute 'quantum'",
                                     printed)


def test_what_breaks_is_a_failure(run):
    status, printed = run([Case("broken", (normal(2),), lambda torch, x: x.reshape(3)), ADD])
    assert status == 1 and "broken f32: FAILED: RuntimeError" in printed


@pytest.mark.parametrize("make, absent", [
    (lambda: numtorch.not_there, True), (lambda: numtorch.nn.NotThere, True), (lambda: numtorch.ones(1).not_there, True),
    (lambda: importlib.import_module("numtorch.not_there"), True), (lambda: None.not_there, False), (lambda: [].not_there, False),
    (lambda: numtorch.kernels.threads.not_there, False), (lambda: 1 / 0, False),
], ids=["name", "module", "method", "import", "None", "list", "internal", "other error"])
def test_absent_is_what_the_package_lacks_in_public(make, absent):
    with pytest.raises(Exception) as caught:
        make()
    assert is_absent(caught.value, "numtorch") is absent


def test_a_missing_peer_is_said(run, monkeypatch):
    status, printed = run([ADD], sides=(), absent=["torch"])
    assert status == 0 and "PyTorch is not installed: nothing is compared with it" in printed
    assert "PyTorch is not installed: nothing to compare with." in printed and "ratio" not in printed.split("\nall\n")[0]
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "torch", None)      # what an import finds where nothing is
    modules, absent = command.load_sides(["torch", "numpy"])
    assert list(modules) == ["numtorch", "numpy"] and absent == ["torch"]


def test_compilers_stand_beside_the_cases_that_name_them(run):
    others = {"jax": lambda jax, x: lambda: jax.numpy.asarray(x) + 1, "torch.compile": lambda torch, x: lambda: x + 1}
    add = Case("add one", (normal(8),), lambda torch, x: x + 1, budget=100.0, others=others, budgets={"jax": 100.0})
    _, printed = run([add, ADD], "--wide", sides=("torch", "torch.compile", "jax"))
    assert "to JAX" in printed and "(≤ 100)" in printed and "torch.compile min" in printed and "FAILED" not in printed
    wrong = replace(add, others={"jax": lambda jax, x: lambda: x}, name="jax is wrong")
    assert "jax says otherwise" in run([wrong], sides=("jax",))[1]
    missed = replace(add, budgets={"jax": 1e-9})
    assert "missed" in run([missed], sides=("torch", "jax"))[1]


def test_every_pass_has_a_row_without_it():
    """What `optimized` runs, and its memory, is left out in a row each, by functions that are there."""
    passes = importlib.import_module("numtorch.jit.passes")
    wanted = {name for name, value in vars(passes).items() if isinstance(value, types.FunctionType) and value.__module__ != passes.__name__}
    found = {path: pkgutil.resolve_name(path) for paths in FAMILIES["passes"].OFF.values() for path in paths}
    assert len(wanted) >= 11 and wanted <= {path.removeprefix("numtorch.jit.passes.") for path in found} and all(map(callable, found.values()))
    named = {name.split(":")[0] for case in FAMILIES["passes"].CASES for name in (
        [name for name, *_ in case.rows] if isinstance(case, ProcessCase) else [case.name])}
    assert named == {*FAMILIES["passes"].OFF, "optimiser steps"}


@pytest.mark.skipif(DISABLE_JIT, reason="nothing is captured")
def test_a_program_is_compared_with_itself_without_a_pass(run, monkeypatch):
    family, kept = FAMILIES["passes"], []
    small = family._function("elementwise fusion", "small", lambda torch, x: kept.append(passes.fuse) or (x * 2 + 1).tanh(), (normal(8),))
    passes = importlib.import_module("numtorch.jit.passes")
    whole = passes.fuse
    status, printed = run([small, ADD], "--wide", sides=("torch", "without"))
    assert status == 0 and passes.fuse is whole and kept[0] is whole and len(set(kept)) == 2
    row, = re.findall("^elementwise fusion: small f32.*", printed, re.M)
    assert ("(≤ 0.98)" in row and row.rstrip().endswith("met")) or row.rstrip().endswith("missed")
    assert "to the same without the pass" in printed and "PyTorch min / median" in printed and "stand-in, the same" not in printed
    status, printed = run([replace(small, others={"without": lambda torch, x: lambda: x})], sides=("without",))
    assert status == 1 and "without says otherwise" in printed


def test_processes_know_which_side_they_are():
    source = "import {module}\nreport(2.0 if '{side}' == 'without' else 1.0)"
    case = ProcessCase("p", source, (("p", "B", None),), ("numtorch", "without"), 1, budgets={"without": 0.98})
    row, = process_rows("passes", case, case.sides, 1, 0.25)
    assert report.ratio(row, "without") == 0.5 and report.verdict(row) == "met"
    assert report.verdict({**row, "budgets": {"without": 0.4}}) == "missed" and report.verdict({**row, "budgets": {}}) == ""


@pytest.mark.parametrize("words, peers", [(["passes"], 3), (["compile"], 4), (["core"], 2), (["compile", "--quick"], 2), (["compile", "--peers", "jax"], 1)])
def test_compilers_take_part_where_programs_are_compiled(words, peers, monkeypatch):
    assert len(command.arguments(words).peers) == peers
    monkeypatch.setattr(command.shutil, "which", lambda name: None)
    assert command.load_sides(["torch.compile"])[1] == ["torch.compile"]


def test_a_case_that_a_peer_cannot_run_is_said(run):
    case = Case("ours alone", (normal(2),), lambda torch, x: x + 1 if torch is numtorch else torch.nn.NotThere())
    status, printed = run([case])
    assert status == 0 and "PyTorch could not run a case: AttributeError" in printed


# ---------------------------------------------------------------- timing
def test_sides_take_turns_and_the_collector_rests():
    order, states = [], []

    def side(name):
        def call():
            order.append(name)
            states.append(gc.isenabled())
            time.sleep(1e-3)
        return measure.Call(call)
    timings = measure.interleaved([side("a"), side("b")], 0.01)
    turns = [name for i, name in enumerate(order) if i == 0 or order[i - 1] != name]
    assert len(turns) >= 4 and not any(states) and gc.isenabled()
    for timing in timings:
        told = timing.summary()
        assert 1e-3 <= told["min"] <= told["median"] < 0.1 and told["samples"] == len(timing.samples)


def test_short_calls_are_repeated_and_arguments_reach_them():
    call = measure.Call(lambda a, b: a + b, 1, 2)
    call.choose_count()
    assert call.count > 100 and call() == 3


def test_a_thread_that_waits_for_a_processor_is_noticed():
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        time.sleep(0.3)
        contention = Contention(os.cpu_count() or 1)
        for _ in range(20):
            contention.check()
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert contention.waiting > BUSY and "busy with something else" in contention.notes()[0]


def test_a_slow_clock_is_not_taken_for_other_peoples_work():
    contention = Contention(1)
    contention.wall = contention.processor = 3.0
    contention.speeds = [1.0, 1.2, 1.3]
    assert contention.notes() == []
    contention.speeds = [1.0, 1.9, 2.0]
    assert len(contention.notes()) == 1 and "unsteadily" in contention.notes()[0]


def test_processes_report_a_number_a_row():
    case = ProcessCase("p", "import {module}\nreport(0.5, peak_bytes())", (("time", "s", 1.0), ("peak", "B", None)), ("numtorch",), 1)
    seconds, peak = process_rows("start", case, ["numtorch"], 1, 0.25)
    assert seconds["numtorch"]["min"] == 0.5 and 1e7 < peak["numtorch"]["min"] < 1e9
    broken = ProcessCase("p", "import {module}.not_there\nreport(1)", (("time", "s", 1.0),), ("numtorch",), 1)
    assert process_rows("start", broken, ["numtorch"], 1, 0.25)[0]["missing"].startswith("ModuleNotFoundError")


STORES = """
import os, sys
store = os.path.join(os.path.expanduser("~"), ".cache", "found")
found = os.path.exists(store)
os.makedirs(store, exist_ok=True)
report(1.0 if found else 2.0, time.time() - began)
"""


@pytest.mark.parametrize("store, first", [("empty", 2.0), ("warm", 1.0)])
def test_a_store_is_empty_each_time_or_filled_by_the_same_program(store, first):
    case = ProcessCase("p", STORES, (("found", "s", None, 1.5), ("since it began", "s", None)), ("numtorch",), 3, store=store)
    for _ in range(2):
        found, since = process_rows("start", case, ["numtorch"], 1, 0.25)
        assert found["numtorch"]["min"] == found["numtorch"]["median"] == first
        assert report.verdict(found) == ("met" if first < 1.5 else "missed") and report.verdict(since) == ""
        assert 0.0 < since["numtorch"]["min"] < 60.0


# ---------------------------------------------------------------- the machine's limits
@pytest.mark.skipif(DISABLE_JIT, reason="there is no machine code")
def test_the_kernels_that_measure_limits_do_what_they_say():
    from numtorch.kernels.compiler import compile_kernel
    from numtorch.kernels.threads import prepare
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    descriptor = np.array([999, 2])
    compile_kernel(limits.copy, ("float32*", "float32*", "int64*")).call(x.ctypes.data, out.ctypes.data, descriptor.ctypes.data)
    assert np.array_equal(out[:999], x[:999]) and out[999] == 0
    compile_kernel(limits.read, ("float32*", "float32*", "int64*")).call(x.ctypes.data, out.ctypes.data, descriptor.ctypes.data)
    assert out[0] == 2 * x[:999].sum()
    for dtype in ("float32", "float64"):
        kernel, operations = limits._multiply_add(dtype)
        lanes = operations // (2 * limits.CHAINS)
        sums = np.zeros(lanes + 1, dtype)
        prepared = prepare(kernel, [[80]], [(0,)], release_lock=True)
        prepared.call(sums.ctypes.data, prepared.descriptor)
        assert (sums[:lanes] == 2.0 * limits.CHAINS).all() and sums[lanes] == 0         # x -> x / 2 + 1 ends at 2
        assert limits._flops(dtype, 1, rounds=1000) > 1e8


LIMITS = {"flops": {"float32": 100e9, "float64": 50e9}, "copy": [[1000, 80e9], [1000_000, 20e9]], "read": [[1000, 90e9], [1000_000, 30e9]],
          "update": [[1000, 85e9], [1000_000, 40e9]]}


def test_the_roofline_is_the_longer_of_computing_and_moving():
    assert limits.rate_at(LIMITS["copy"], 10) == 80e9 and limits.rate_at(LIMITS["copy"], 1e9) == 20e9
    assert 20e9 < limits.rate_at(LIMITS["copy"], 30_000) < 80e9
    assert math.isclose(limits.shortest_time(LIMITS, "float64", 50e9, 8, 8), 1.0)
    assert math.isclose(limits.shortest_time(LIMITS, "float32", 0, 10e9, 10e9), 1.0)
    assert math.isclose(limits.shortest_time(LIMITS, "float32", 0, 30e9, 8), 1.0, rel_tol=1e-6)
    assert math.isclose(limits.shortest_time(LIMITS, "float32", 0, 20e9, 20e9, in_place=True), 1.0)


# ---------------------------------------------------------------- results
def made_row(name="a", ours=1e-3, theirs=2e-3, **more):
    side = lambda seconds: {"min": seconds, "median": seconds * 1.02, "spread": 0.02, "samples": 9}
    return {"family": "core", "group": "calls", "name": name, "dtype": "float32", "threads": 1, "unit": "s", "budget": 0.8, "size": 0.0,
            "busy": 1.0, "numtorch": side(ours), "torch": side(theirs), **more}


def made_result(*rows, threads=(1,)):
    return {"format": report.FORMAT, "rows": list(rows), "threads": list(threads), "limits": {"1": LIMITS},
            "machine": {"processor": "P", "system": "S", "python": "3", "numba": "0", "sides": {"numtorch": "1", "torch": "2"},
                        "absent": []},
            "contention": {"waiting": 1.0, "unsteadiness": 1.0, "notes": []}}


def test_a_measured_result_survives_the_trip_through_json(run, tmp_path):
    status, _ = run([ADD], "--json", str(tmp_path / "r.json"), sides=("torch", "numpy"))
    result = report.load(tmp_path / "r.json")
    report.save(result, tmp_path / "again.json")
    assert status == 0 and report.load(tmp_path / "again.json") == result
    assert result["rows"][0]["name"] == "add" and set(result["machine"]["sides"]) == {"numtorch", "torch", "numpy"}
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(ValueError, match="not a result"):
        report.load(tmp_path / "other.json")


@pytest.mark.parametrize("ours, theirs, slower", [
    (1.0e-3, 2e-3, False), (1.04e-3, 2e-3, False), (1.2e-3, 2e-3, True), (0.5e-3, 2e-3, False),
    (1.2e-3, 2.5e-3, False), (1.6e-3, 2.5e-3, True), (1.2e-3, 1e-3, True),
], ids=["same", "spread", "slower", "faster", "slower machine", "slower than the machine", "faster peer"])
def test_a_regression_is_what_neither_spread_nor_machine_explains(ours, theirs, slower):
    change, = compare.changes(made_result(made_row()), made_result(made_row(ours=ours, theirs=theirs)))
    assert change.regression is slower


def test_a_regression_is_named_and_the_exit_status_says_so(run, tmp_path):
    report.save(made_result(made_row(ours=1e-3)), tmp_path / "old.json")
    report.save(made_result(made_row(ours=3e-3)), tmp_path / "new.json")
    source = ["--from", str(tmp_path / "new.json")]
    status, printed = run([], *source, "--compare", str(tmp_path / "old.json"))
    assert status == 1 and "REGRESSION: core: a f32: 3.00 times what it was" in printed
    status, printed = run([], *source, "--compare", str(tmp_path / "new.json"))
    assert status == 0 and "1 rows compared: 0 regressions" in printed
    assert run([], *source, "--compare", str(tmp_path / "none.json"))[0] == 2


def test_several_runs_are_one_of_each_sides_least_times(run, tmp_path):
    runs = [made_result(made_row(ours=3e-3, theirs=2e-3)), made_result(made_row(ours=1e-3, theirs=4e-3)),
            made_result({**made_row(ours=5e-3, theirs=5e-3), "wrong": "differs"})]
    both = report.best(runs[:2])["rows"][0]
    assert (both["numtorch"]["min"], both["torch"]["min"]) == (1e-3, 2e-3)
    assert report.best(runs)["rows"][0]["wrong"] == "differs" and runs[0]["rows"][0]["numtorch"]["min"] == 3e-3
    words = []
    for i, result in enumerate(runs[:2]):
        report.save(result, tmp_path / f"{i}.json")
        words += ["--from", str(tmp_path / f"{i}.json")]
    status, printed = run([], *words)
    assert status == 0 and "Several of 2 runs measured core: each side's least time is shown." in printed


def test_a_row_that_no_longer_works_is_a_regression():
    gone = {k: v for k, v in made_row().items() if k not in ("numtorch", "torch")}
    assert compare.broken(made_result(made_row()), made_result({**gone, "missing": "x"})) == ["core: a f32: measured before, now not"]
    assert compare.remarks(made_result(), made_result(made_row("new"))) == ["1 rows have no older figure"]


def test_budgets_are_judged_and_counted():
    rows = [made_row("fast", 1e-3), made_row("slow", 1.9e-3), made_row("free", budget=None)]
    assert [report.verdict(r) for r in rows] == ["met", "missed", ""]
    line, = tables.summary(rows)
    assert line == ["core", "3", "1", "1", "0", "1", "0", "0", "0.62", "slow f32: 0.95"]


def test_a_missed_budget_that_the_machine_does_not_allow_is_said_to_be_one():
    rows = [made_row("bound", 1.9e-3, of_limit=0.97), made_row("slow", 1.9e-3, of_limit=0.9), made_row("fast", 1e-3, of_limit=1.0)]
    assert [report.verdict(r) for r in rows] == ["missed, at the limit", "missed", "met"]
    assert report.verdict(made_row("by other means", 1.9e-3, of_limit=1.5)) == "missed"
    assert tables.summary(rows)[0][2:5] == ["1", "1", "1"]


def test_several_thread_counts_show_the_gain():
    rows = [made_row(), made_row(ours=0.55e-3, threads=2)]
    assert list(report.speed_ups(rows).values()) == [pytest.approx(1 / 0.55)]
    wanted = tables.columns(made_result(*rows, threads=(1, 2)))
    texts = {heading: text(rows[1]) for heading, text, _ in wanted if heading}
    assert texts["threads"] == "2" and texts["gain"] == "1.82×" and texts["budget"] == "≤ 0.8"


def test_the_gain_of_threads_is_measured_and_judged():
    before = numtorch.get_num_threads()
    case = Case("product", (normal(64, 64),), lambda torch, a: a @ a, gain=1.8, budget=None)
    try:
        both = Session({"numtorch": numtorch}, [1, 2], seconds=0.01, with_limits=False)
        (job,) = both.jobs("scaling", [case])
        row, = both.rows(*job)
    finally:
        numtorch.set_num_threads(before)
    assert row["threads"] == 2 and row["gain_budget"] == 1.8 and row["alone"]["numtorch"] > 0
    rows = [made_row(alone={"numtorch": 1.9e-3, "torch": 2e-3}, gain_budget=1.8, budget=None, threads=2),
            made_row(alone={"numtorch": 1.7e-3, "torch": 2e-3}, gain_budget=1.8, budget=None, threads=2)]
    assert [report.verdict(r) for r in rows] == ["met", "missed"]
    texts = {heading: text(rows[0]) for heading, text, _ in tables.columns(made_result(*rows, threads=(2,))) if heading}
    assert texts["gain"] == "1.90×" and texts["on one thread"] == "1.9 ms" and texts["budget"] == "≥ 1.8×"


@pytest.mark.parametrize("value, unit, text", [(1.234e-6, "s", "1.23 µs"), (999.7e-9, "s", "1 µs"), (0.4e-9, "s", "0.4 ns"),
                                               (12.0, "s", "12 s"), (0.0305, "s", "30.5 ms"), (231e6, "B", "231 MB")])
def test_figures_have_three_digits(value, unit, text):
    assert report.figures(value, unit) == text


def test_only_what_stands_between_the_marks_changes(tmp_path):
    before, between, after = "# Title\n\n", "\n\nkept\n\n<!-- bench:gemm -->\nold\n<!-- /bench:gemm -->\n", "\n\ntail | x\n"
    path = tmp_path / "README.md"
    path.write_text(f"{before}<!-- bench:core -->\nstale\n<!-- /bench:core -->{between}{after}")
    left = readme.fill(made_result(made_row("x|y")), path, ["core", "gemm"])
    text = path.read_text()
    assert text.startswith(before + "<!-- bench:core -->\nP, 1 thread") and text.endswith(between + after) and "stale" not in text
    assert "| x\\|y f32 | 1 ms / 1.02 ms |" in text and left == [
        f"{path}: the table 'gemm' was left as it is: its family was not measured"]
    readme.fill(made_result(made_row("x|y")), path, ["core", "gemm"])
    assert path.read_text() == text


def test_the_summary_needs_every_family_and_marks_are_needed(tmp_path):
    path = tmp_path / "R.md"
    path.write_text("<!-- bench:summary -->\nold\n<!-- /bench:summary -->\n")
    readme.fill(made_result(made_row()), path, ["core"])
    assert "| core | 1 | 1 |" in path.read_text()
    with pytest.raises(ValueError, match="bench:core"):
        readme.fill(made_result(made_row()), path, ["core", "gemm"])
    path.write_text("nothing")
    with pytest.raises(ValueError, match="expected marks"):
        readme.fill(made_result(made_row()), path, ["core"])


def test_linear_cost_has_slope_one():
    lines = report.series([made_row(str(n), n * 1e-6, size=n) for n in (100, 1, 10)])
    points, = lines.values()
    assert [size for size, _ in points] == [1, 10, 100] and report.exponent(points) == pytest.approx(1)


# ---------------------------------------------------------------- the command line
@pytest.mark.parametrize("words, status", [(["nonsense"], 2), (["--threads", "0"], 2), (["--dtype", "int3"], 2), (["--peers", "mxnet"], 2),
                                           (["--family", "x"], 2)])
def test_nonsense_is_refused(words, status):
    with pytest.raises(SystemExit) as caught:
        command.arguments(words)
    assert caught.value.code == status


def test_options_are_read():
    options = command.arguments(["core", "--family", "gemm,conv", "--threads", "1,2", "--dtype", "float64", "--peers", ""])
    assert options.families == ["core", "gemm", "conv"] and options.threads == [1, 2] and options.dtype == ["float64"]
    assert options.peers == [] and options.seconds == 0.25 and command.arguments([]).families == list(command.FAMILIES)
    assert command.arguments(["--quick"]).seconds < 0.1


def test_a_filter_that_matches_nothing_is_said(run):
    status, printed = run([ADD], "--filter", "zebra")
    assert status == 2 and "no case matches" in printed


def test_it_runs_as_a_module_and_is_quiet_in_a_pipe(tmp_path):
    words = ["-m", "bench", "core", "--filter", "reshape", "--quick", "--seconds", "0.001", "--peers", "numpy", "--json", "r.json"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": ROOT})
    assert done.returncode == 0, done.stderr
    assert "a.reshape(2, 5) f32" in done.stdout and "\r" not in done.stdout + done.stderr and "\x1b" not in done.stdout
    assert [r["name"] for r in json.loads((tmp_path / "r.json").read_text())["rows"]] == ["a.reshape(2, 5)"]
