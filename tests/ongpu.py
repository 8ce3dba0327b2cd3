"""The CUDA tables on a GPU, in many processes and a given time, for machines that are lent for minutes:

    python -m tests.ongpu results --seconds 100          # there: what each row, try and case gives, into a folder
    python -m tests.ongpu results --compare              # there or anywhere else: beside what the CPU gives
    python -m tests.ongpu checked --sanitizer --kinds families --seconds 300      # there: under compute-sanitizer
    python -m tests.ongpu planned --plan --seconds 3000  # anywhere: everything is planned and compiled, nothing runs

Kernels that are compiled meanwhile stay in the store. A process that a bad launch has made useless is followed by another.
"""
from __future__ import annotations

import argparse
import itertools
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from threading import Thread

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE / "cuda"), str(HERE / "cuda" / "agreement")]
os.environ["NUMTORCH_TEST_ALL"] = "1"

from tests import sanitizer  # noqa: E402

USELESS = 3                                              # how a process ends whose device takes no launches any more
KINDS = "families", "rows", "cases"
ENDED = "the process ended here"                         # by the time, or by what it ran


def table(kind):
    """Functions of a device by name, and how what they give is compared: `compare(name, expected, found)` raises."""
    import numtorch as torch
    if kind == "rows":
        import test_cuda_rows as rows
        rows.no_device_memory_on_the_host()
        return {name: (lambda device, row=row: rows.outcome(row, device)) for name, row in rows.tables().items()}, \
            lambda name, expected, found: same_row(expected, found)
    if kind == "families":
        import test_cuda_families as families
        tries = {name: what for name, *what in families.variants()}
        return {name: (lambda device, what=what: families.run(torch, *what, device)) for name, what in tries.items()}, \
            lambda name, expected, found: close(expected, found, families.TOLERANCES.get(tries[name][-1], 0))
    import test_cuda as cases
    made = {name: (lambda device, body=body: cases.outcome(body(torch, device))) for name, body in cases.CASES.items()}
    made.update({f"check {name}": (lambda device, body=body: device == "cpu" or body(torch)) for name, body in cases.CHECKS.items()})
    return made, lambda name, expected, found: name.startswith("check ") or cases.test_cuda_says_what_the_cpu_says(
        name, {name: expected}, {name: found})


def close(expected, found, tolerance):
    for one, other in zip(expected, found, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(other, one, rtol=tolerance, atol=tolerance)


def same_row(expected, found):
    assert isinstance(expected, list), expected
    assert isinstance(found, list), found
    assert [each and (each[0], each[3]) for each in expected] == [each and (each[0], each[3]) for each in found]
    single = any(each and ("float32" in each[0] or "complex64" in each[0]) for each in expected)
    close([each and each[2] for each in expected], [each and each[2] for each in found], 1e-5 if single else 1e-9)


def read(path):
    found = {}
    with open(path, "rb") as file:
        while True:
            try:
                name, value = pickle.load(file)
            except EOFError:
                return found
            found[name] = value


def work(kind, part, parts, path):
    """Run every parts-th function of a table, but those that are done, and write down what each gives."""
    import numtorch as torch
    functions, _ = table(kind)
    from numtorch.kernels.cuda import compiler
    done, named = read(path) if path.exists() else {}, 0
    with open(path, "ab") as file, open(f"{path}.symbols", "ab") as symbols:
        for name in list(functions)[part::parts]:
            if name in done:
                continue
            pickle.dump((name, ENDED), file)
            file.flush()
            useless = False
            try:
                value = functions[name]("cuda")
            except BaseException:
                value = traceback.format_exc(limit=-6)
            try:
                torch.cuda.synchronize()
            except Exception:
                value, useless = traceback.format_exc(limit=-6), True
            pickle.dump((name, value), file)
            file.flush()
            made = compiler.compiled()
            for kernel in made[named:]:                  # by which reports of machine code are read
                pickle.dump((kernel.symbol, kernel.name), symbols)
            symbols.flush()
            named = len(made)
            if useless:
                os._exit(USELESS)


def supervise(kind, part, parts, path, end, tool=None):
    """Have a part done by one process after another until the time is over, under a tool of compute-sanitizer if it is named."""
    words = [sys.executable, "-m", "tests.ongpu", str(path), "--part", f"{kind},{part},{parts}"]
    for number in itertools.count():
        if time.time() >= end:
            return
        process = subprocess.Popen(words if tool is None else sanitizer.command(tool, f"{path}.{number}.{tool}", words),
                                   start_new_session=True)
        try:
            if process.wait(max(end - time.time(), 1)) == 0:
                return
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)       # the program, too, that a tool has started
            process.wait()


def sanitized(folder) -> int:
    """Print what compute-sanitizer's reports in a folder say. Returns how many different things were found."""
    count = 0
    names = {symbol: name for path in folder.glob("*.symbols") for symbol, name in read(path).items()}
    for tool in sanitizer.TOOLS:
        texts = [path.read_text(errors="replace") for path in sorted(folder.glob(f"*.{tool}"))]
        tries = [value for path in folder.glob(f"{tool}-*") if not path.suffix for value in read(path).values()]
        found = sum((sanitizer.findings(text, names) for text in texts), Counter())
        print(f"{tool}: {len(tries) - tries.count(ENDED)} tries, {len(texts)} reports, of which {sum(map(sanitizer.complete, texts))} came "
              f"to their end, {len(found)} different findings")
        for what, times in found.most_common():
            print(f"  {times} times: {what}")
        count += len(found)
    return count


def raised(folder) -> int:
    """Print what raised, of what was only planned and compiled. Returns how many did."""
    found = {name: value for path in folder.iterdir() if not path.suffix for name, value in read(path).items()}
    wrong = {name: value for name, value in found.items() if isinstance(value, str) and value != ENDED}
    print(f"{len(found)} were planned and compiled, {len(wrong)} raised")
    for name, why in wrong.items():
        print(f"  {name}: {why[-600:]}")
    return len(wrong)


def compare(folder):
    """Print what differs from the CPU. Returns how many do."""
    count = 0
    for kind in KINDS:
        functions, check = table(kind)
        found = {name: value for path in folder.glob(f"{kind}-*") if not path.suffix for name, value in read(path).items()}
        wrong, ended = [], [name for name, value in found.items() if value == ENDED]
        for name, value in found.items():
            if name in functions and value != ENDED:
                try:
                    assert not isinstance(value, str), value
                    check(name, functions[name]("cpu"), value)
                except Exception as error:
                    wrong.append((name, f"{type(error).__name__}: {error}"[-600:]))
        print(f"{kind}: {len(found)} of {len(functions)} were reached, {len(wrong)} differ; processes ended in {', '.join(ended) or 'none'}")
        for name, why in wrong:
            print(f"  {name}: {why}")
        count += len(wrong)
    return count


def run(kinds, options, seconds, tool=None, first=0, step=1):
    """Have the tables run by all processes, for so long."""
    end, each = time.time() + seconds, max(options.processes // len(kinds), 1)
    name = "{}-{}" if tool is None else tool + "-{}-{}"
    threads = [Thread(target=supervise, args=(kind, first + step * i, step * each, options.folder / name.format(kind, i), end, tool))
               for kind in kinds for i in range(each)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.ongpu", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="where results are")
    parser.add_argument("--seconds", type=float, default=100, help="how long to run")
    parser.add_argument("--processes", type=int, default=max((os.cpu_count() or 1) - 2, 1))
    parser.add_argument("--kinds", default=",".join(KINDS), help="which tables")
    parser.add_argument("--compare", action="store_true", help="compare what is in the folder")
    parser.add_argument("--sanitizer", nargs="?", const=",".join(sanitizer.TOOLS), default="", metavar="TOOLS",
                        help="run under compute-sanitizer, with these tools (memcheck,racecheck), one after another")
    parser.add_argument("--plan", action="store_true", help="run nothing: plan and compile for sm_90, and name what raises")
    parser.add_argument("--share", default="0/1", help="with --plan, every so manieth only, from the first number on")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.compare:
        return min(compare(options.folder), 1)
    if options.part:
        kind, part, parts = options.part.split(",")
        work(kind, int(part), int(parts), options.folder)
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    kinds = options.kinds.split(",")
    if options.plan:
        os.environ.update(NUMTORCH_CUDA_ARCHITECTURE="sm_90", NUMBA_ENABLE_CUDASIM="0")
        first, step = map(int, options.share.split("/"))
        kinds = [kind for kind in kinds if kind != "cases"]              # which look at values, of which there are none
        run(kinds, options, options.seconds, first=first, step=step)
        return min(raised(options.folder), 1)
    if not options.sanitizer:
        run(kinds, options, options.seconds)
        return 0
    if why := sanitizer.absent():
        print(why, file=sys.stderr)
        return 2
    tools = options.sanitizer.split(",")
    for tool in tools:
        run(kinds, options, options.seconds / len(tools), tool)
    return min(sanitized(options.folder), 1)


if __name__ == "__main__":
    sys.exit(main())
