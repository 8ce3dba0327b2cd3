"""python -m tests.differential --seconds N [--seed S] [--threads T]: random programs in numtorch and PyTorch, until one differs or time is up.

Programs run in a process of their own, which tells the number of each before it begins. When it dies or hangs, the program is made again from its
number, without numtorch, and printed; another process goes on behind it.
"""
from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import re
import selectors
import subprocess
import sys
import time

from .program import Statement, script
from .shrink import shrink

PER_PROCESS = 4000                                       # programs, so that what a process gathers does not grow for ever
PATIENCE = 240                                           # seconds without a word, most of which are compilations
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="today's date when left out")
    parser.add_argument("--threads", type=int, default=1, help="of numtorch")
    parser.add_argument("--program", type=int, default=0, metavar="K", help="the first program's number")
    parser.add_argument("--failures", type=int, default=10, help="kinds of failures to stop after")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = int(time.strftime("%Y%m%d"))
    if options.check:
        return _check(options)
    return _work(options) if options.worker else _oversee(options)


# ---------------------------------------------------------------- the process that may die
def _setup(options):
    import torch

    import numtorch
    torch.set_num_threads(1)
    numtorch.set_num_threads(options.threads)


def _work(options):
    """Runs programs, and tells of each on standard output in a line of JSON."""
    from .compare import Invalid, run
    from .generate import program
    _setup(options)
    seen = collections.Counter()
    for number in range(options.program, options.program + PER_PROCESS):
        print(json.dumps({"at": number}), flush=True)
        statements = program(options.seed, number)
        print(json.dumps({"made": number}), flush=True)
        difference = run(statements)
        if difference is None:
            continue
        signature = difference.what, _operation(statements[difference.index])
        seen[signature] += 1
        told = {"differs": number, "signature": " ".join(signature)}
        if seen[signature] <= 2:
            def fails(shorter, signature=signature):
                try:
                    again = run(shorter)
                except Invalid:
                    return False
                return again is not None and (again.what, _operation(shorter[again.index])) == signature
            small = shrink(statements[:difference.index + 1], fails) if fails(statements) else statements
            last = (run(small) if small is not statements else None) or difference
            told.update(message=last.message, script=script(small, options.threads), again=small is not statements)
        print(json.dumps(told), flush=True)
    return 0


def _operation(statement):
    """What names a statement's fault: the op it calls first."""
    text = statement.source.partition(" = ")[2] if statement.targets else statement.source
    if statement.kind == "grad":
        return "gradient"
    if not statement.targets and re.search(r"\] [-+*]?= ", text):
        return "assignment"
    calls = [c.lstrip(".") for c in re.findall(r"(?:torch|F)\.[\w.]+(?=\()|\.\w+(?=\()", text)]
    return calls[0] if calls else "index" if "[" in text else text[:20]


def _check(options):
    """Runs the statements on standard input once."""
    from .compare import Invalid, run
    _setup(options)
    try:
        return int(run([Statement(**s) for s in json.load(sys.stdin)]) is not None)
    except Invalid:
        return 0


# ---------------------------------------------------------------- the process that stays
def _oversee(options):
    print(f"random programs: --seed {options.seed} --threads {options.threads} --program {options.program}", flush=True)
    begun, number, programs = time.monotonic(), options.program, 0
    told_at = begun
    failures = collections.Counter()
    while time.monotonic() - begun < options.seconds and len(failures) < options.failures:
        worker = _start(options, number)
        alive, made = True, False
        with selectors.DefaultSelector() as selector:
            selector.register(worker.stdout, selectors.EVENT_READ)
            while alive and time.monotonic() - begun < options.seconds and len(failures) < options.failures:
                last = time.monotonic()
                if last - told_at > 60:
                    print(f"{programs} programs in {last - begun:.0f} s", file=sys.stderr, flush=True)
                    told_at = last
                while not selector.select(1) and time.monotonic() - last < PATIENCE:
                    if time.monotonic() - begun > options.seconds:
                        break
                else:
                    if time.monotonic() - last >= PATIENCE:
                        break
                    line = worker.stdout.readline()
                    if not line:
                        alive = False
                        continue
                    told = json.loads(line)
                    if "at" in told:
                        number, made = told["at"], False
                    elif "made" in told:
                        made, programs = True, programs + 1
                    else:
                        failures[told["signature"]] += 1
                        if "script" in told:
                            _print_failure(options, told)
        if time.monotonic() - begun > options.seconds and alive:
            worker.kill()
            worker.wait()
            break
        hung = alive and len(failures) < options.failures
        if alive:
            worker.kill()
        status = worker.wait()
        if hung or status != 0:
            what = f"no word for {PATIENCE} s" if hung else f"exit status {status}"
            if len(failures) < options.failures:
                failures[_crash(options, number, what, made)] += 1
        number += 1
    print(f"{programs} programs in {time.monotonic() - begun:.0f} s, {sum(failures.values())} differ", flush=True)
    for signature, count in failures.most_common():
        print(f"{count:6} {signature}")
    return int(bool(failures))


def _start(options, number, *extra, **pipes):
    # memory that was not written must not look like zeros
    environment = {**os.environ, "MALLOC_PERTURB_": "171", "PYTHONPATH": os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)}
    package = __package__ or "tests.differential"
    command = [sys.executable, "-m", package, *(extra or ("--worker",)), "--seed", str(options.seed), "--threads", str(options.threads), "--program", str(number)]
    where = ROOT if package.startswith("tests.") else os.path.join(ROOT, "tests")
    return subprocess.Popen(command, cwd=where, env=environment, text=True, **(pipes or {"stdout": subprocess.PIPE}))


def _print_failure(options, told):
    print(f"\n{'=' * 100}\nprogram {told['differs']}: {told['signature']}\n{told['message']}"
          + ("" if told["again"] else "\n(only in this process: a second run was clean)")
          + f"\npython -m tests.differential --seed {options.seed} --threads {options.threads} --program {told['differs']}\n\n{told['script']}", flush=True)


def _crash(options, number, what, made):
    """Tells of a program that ended its process, made as small as a minute allows."""
    import warnings

    from .generate import program
    warnings.simplefilter("ignore")
    statements = program(options.seed, number)
    until = time.monotonic() + 60

    def fails(shorter):
        if time.monotonic() > until:
            return False
        checker = _start(options, number, "--check", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            checker.communicate(json.dumps([dataclasses.asdict(s) for s in shorter]), timeout=60)
        except subprocess.TimeoutExpired:
            checker.kill()
            checker.wait()
            return True
        return checker.returncode not in (0, 1)

    again = made and fails(statements)
    small = shrink(statements, fails) if again else statements
    _print_failure(options, {"differs": number, "signature": what, "message": "the process ended" if made else "the process ended while PyTorch made the program",
                             "again": again, "script": script(small, options.threads)})
    return f"crash: {_operation(small[-1])}"


if __name__ == "__main__":
    sys.exit(main())
