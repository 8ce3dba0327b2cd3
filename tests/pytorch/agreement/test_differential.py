"""Random programs in numtorch and PyTorch: a new seed each day, and that the net would catch what it is spread for.

Programs by the hour: `python -m tests.differential --seconds 3600 --seed 1 --threads 3`.
"""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import numtorch

pytest.importorskip("torch", reason="programs are compared with PyTorch, which is not installed")

from differential.compare import run
from differential.generate import program
from differential.inputs import array
from differential.program import Statement, script
from differential.shrink import shrink

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("threads", [1, 3])
def test_programs_of_the_day(threads):
    done = subprocess.run([sys.executable, "-m", "tests.differential", "--seconds", "10", "--threads", str(threads)], cwd=ROOT,
                          capture_output=True, text=True)
    print(done.stdout.splitlines()[0])
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs_are_the_same_each_time():
    for number in (0, 7, 1234):
        assert program(5, number) == program(5, number)


X = Statement('t1 = from_numpy(array(2, (3, 8), "float32"))', ("t1",), "view")
FAULTS = {
    "values": ("sin", lambda x: numtorch.cos(x), "t2 = torch.sin(t1)"),
    "shape": ("sin", lambda x: numtorch.cos(x)[None], "t2 = torch.sin(t1)"),
    "dtype": ("sin", lambda x: numtorch.cos(x).double(), "t2 = torch.sin(t1)"),
    "strides": ("sin", lambda x: numtorch.exp(x.t().contiguous()).t(), "t2 = torch.sin(t1)"),
    "requires_grad": ("sin", lambda x: numtorch.cos(x).requires_grad_(), "t2 = torch.sin(t1)"),
    "raises": ("sin", lambda x: x + numtorch.ones(2, 2), "t2 = torch.sin(t1)"),
    "type": ("sin", lambda x: 3, "t2 = torch.sin(t1)"),
    "aliases": ("abs", lambda x: x, "t2 = torch.abs(t1)"),
}


@pytest.mark.parametrize("what", sorted(FAULTS))
def test_a_fault_is_found(monkeypatch, what):
    name, wrong, source = FAULTS[what]
    statements = [X, Statement("t1 = t1.abs()", ("t1",)), Statement(source, ("t2",), "point")]
    assert run(statements) is None
    monkeypatch.setattr(numtorch, name, wrong)
    found = run(statements)
    assert (found.index, found.what) == (2, what)


def test_the_last_bit_of_a_copy_counts_and_of_a_sum_does_not(monkeypatch):
    def off(function, *arguments):
        return numtorch.from_numpy(np.nextafter(function(*arguments).numpy(), np.float32(9)))
    select, total = numtorch.index_select, numtorch.sum
    monkeypatch.setattr(numtorch, "index_select", lambda *a: off(select, *a))
    monkeypatch.setattr(numtorch, "sum", lambda *a: off(total, *a))
    assert run([X, Statement("t2 = torch.sum(t1, 0)", ("t2",), "sum")]) is None
    assert run([X, Statement("t2 = torch.index_select(t1, 0, torch.arange(2))", ("t2",))]).what == "values"


def test_a_write_is_looked_for_in_all_that_shares_memory(monkeypatch):
    view = Statement("t2 = t1[1:]", ("t2",), "view")
    write = Statement("torch.relu_(t2)", (), "point", "t2")
    assert run([X, view, write]) is None

    def relu_(x):
        x.data.relu_()
        x._base.data[0, 0] = 7                           # beside the view
    monkeypatch.setattr(numtorch, "relu_", relu_, raising=False)
    found = run([X, view, write])
    assert (found.index, found.what) == (2, "values") and found.message.startswith("t1[0, 0]")


def test_a_failure_shrinks_to_what_it_needs():
    statements = [X] + [Statement(f"t{i} = t{i - 1} + 1", (f"t{i}",)) for i in range(2, 30)] + [Statement("t30 = t1.sort(257)", ("t30",))]

    def fails(shorter):
        return any("sort" in s.source for s in shorter) and any(s.targets == ("t1",) for s in shorter)
    assert [s.source for s in shrink(statements, fails)] == ['t1 = from_numpy(array(1, (1, 1), "float32"))', "t30 = t1.sort(1)"]


def test_a_script_runs_on_its_own():
    text = script([X, Statement("t2 = t1[:, ::3]", ("t2",), "view")], 2)
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("tensor(") == 2


def test_arrays_of_nothing_take_nothing():
    """As a part of a larger array, this one was 16 GB."""
    for order in ("C", "F", "gapped", "reversed"):
        assert array(1, (2048, 65, 2048, 0), "float64", order).shape == (2048, 65, 2048, 0)
