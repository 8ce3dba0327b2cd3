"""`python -m tests.ongpu --sanitizer` and `--plan`: how compute-sanitizer is called and read, and that tables plan and compile."""
from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from daily import DAY

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests import sanitizer  # noqa: E402

K1, K2 = "k" + "0a" * 20, "k" + "1b" * 20

# As NVIDIA's documentation shows reports of memcheck and of racecheck, with the symbols of our kernels.
MEMCHECK = f"""========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at {K1}+0x160
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f6510c00001 is misaligned
=========
========= Invalid __global__ write of size 4 bytes
=========     at {K1}+0x160
=========     by thread (33,0,0) in block (7,0,0)
=========     Address 0x7f6510c00085 is misaligned
=========     Saved host backtrace up to driver entry point at kernel launch time
=========     Host Frame: cuLaunchKernel [0x2074d5] in libcuda.so.1
=========
========= Program hit CUDA_ERROR_MISALIGNED_ADDRESS (error 716) on CUDA API call to cuStreamSynchronize.
=========
========= Target application returned an error
========= ERROR SUMMARY: 3 errors
"""
RACECHECK = f"""========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at {K2}+0x8c8
=========     and Read access at {K2}+0x920 [511 hazards]
=========
========= Error: Potential WAW hazard detected at __shared__ 0x0 in block (0, 0, 0) :
=========     Write Thread (0, 0, 0) at {K2}+0x8c8
=========     Write Thread (1, 0, 0) at {K2}+0x8c8
=========     Current Value : 0, Incoming Value : 2
=========
========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)
"""


def test_reports_are_read_by_kernel():
    names = {K1: "take_elements", K2: "scan_tile"}
    assert sanitizer.findings(MEMCHECK, names) == {
        "take_elements: Invalid __global__ write of size 4 bytes": 2,
        "Program hit CUDA_ERROR_MISALIGNED_ADDRESS (error 716) on CUDA API call to cuStreamSynchronize.": 1}
    found = list(sanitizer.findings(RACECHECK, names))
    assert found == [f"scan_tile: Error: Race reported between Write access at {K2}+0x..",
                     "scan_tile: Error: Potential WAW hazard detected at __shared__ 0x.. in block (..)"]
    assert sanitizer.complete(MEMCHECK) and sanitizer.complete(RACECHECK)
    clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
    assert not sanitizer.findings(clean, {}) and sanitizer.complete(clean) and not sanitizer.complete("========= COMPUTE-SANITIZER\n")
    assert not sanitizer.findings("what the program prints\n", {})


def ongpu(*words, **environment):
    environment = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-m", "tests.ongpu", *map(str, words)], cwd=ROOT, env=environment, capture_output=True,
                          text=True, timeout=400)


STAND_IN = """#!{python}
import os, sys
words = sys.argv[1:]
assert words[:1] == ["--tool"] and words[2] == "--log-file" and words[8] == {python!r}, words
tool = words[1]
open(words[3], "w").write({reports!r}[tool])
sys.exit(0)
"""


def test_tables_run_under_each_tool(tmp_path):
    program = tmp_path / "bin" / sanitizer.PROGRAM
    program.parent.mkdir()
    program.write_text(STAND_IN.format(python=sys.executable, reports={"memcheck": MEMCHECK, "racecheck": RACECHECK}))
    program.chmod(0o755)
    done = ongpu(tmp_path / "found", "--sanitizer", "--kinds", "families", "--seconds", 60, "--processes", 2,
                 PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 1, done.stderr
    assert "memcheck: 0 tries, 2 reports, of which 2 came to their end, 2 different findings" in done.stdout
    assert f"  4 times: {K1}: Invalid __global__ write of size 4 bytes" in done.stdout and "racecheck: 0 tries, 2 reports" in done.stdout


def test_without_the_sanitizer_it_says_so(tmp_path):
    done = ongpu(tmp_path / "found", "--sanitizer", "memcheck", PATH=str(tmp_path))
    assert done.returncode == 2 and "compute-sanitizer is not on the PATH" in done.stderr


SHARES = 400                                             # of the tables, one a day


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="needs numtorch[cuda]")
def test_tables_plan_and_compile(tmp_path):
    """What a GPU is lent for minutes for does not end by a mistake in Python; all by `python -m tests.ongpu planned --plan`."""
    done = ongpu(tmp_path / "planned", "--plan", "--processes", 2, "--seconds", 300, "--share", f"{DAY % SHARES}/{SHARES}")
    assert done.returncode == 0 and "were planned and compiled, 0 raised" in done.stdout, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) >= 2
