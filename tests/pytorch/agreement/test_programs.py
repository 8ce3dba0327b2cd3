"""Whole programs of many fields, run unchanged by `python -m numtorch run` and by PyTorch: every loss is the same, in float64."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import numtorch

pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
FOLDER = Path(__file__).parent / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("drawn", "together"))


@pytest.fixture(scope="module")
def losses(tmp_path_factory):
    """The numbers of all programs, ours and PyTorch's."""
    place, found = tmp_path_factory.mktemp("losses"), []
    environment = {**os.environ, "PYTHONPATH": str(Path(numtorch.__file__).parent.parent)}
    for name, runner in (("ours", ["-m", "numtorch", "run"]), ("theirs", [])):
        file = place / f"{name}.json"
        ran = subprocess.run([sys.executable, *runner, str(FOLDER / "together.py"), str(file)], env=environment, capture_output=True, text=True,
                             timeout=900)
        assert ran.returncode == 0, ran.stderr[-2000:]
        found.append(json.loads(file.read_text()))
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_losses_are_those_of_pytorch(losses, program):
    ours, theirs = [found[program] for found in losses]
    assert isinstance(theirs, list), theirs
    assert isinstance(ours, list), ours
    assert len(theirs) > 4 and ours == pytest.approx(theirs, rel=1e-10, abs=1e-11)
