"""Programs of the generator that numtorch and PyTorch are compared with (tests/differential), traced: the trace, its file, its graph after
all passes, and the same as a graph of torch.fx give what the function gives, for other values than the example's, and write the same."""
from __future__ import annotations

import io
import re
import warnings

import numpy as np
import pytest

import numtorch as torch
from numtorch.jit import Interpreter
from numtorch.jit.passes import optimized

pytest.importorskip("torch", reason="PyTorch, which programs are made with, is not installed")

from differential.generate import program
from differential.program import namespace

SEED, PROGRAMS = 31, 15
INPUT = re.compile(r"(t\d+) = (from_numpy\(array\((\d+), .*\)\))(\.requires_grad_\(\))?")


class Program:
    """The statements of a number that run: those that make tensors of arrays are its arguments, in dense orders."""

    def __init__(self, number):
        self.inputs, self.space, lines, names, known = [], namespace(torch), [], [], dict(namespace(torch))
        for statement in program(SEED, number):
            source = re.sub('"(gapped|reversed)"', '"F"', statement.source)
            made = INPUT.fullmatch(source)
            if made is not None:
                name, array, _, grad = made.groups()
                self.inputs.append((name, array))
                known[f"given_{name}"] = eval(array, self.space)
                source = f"{name} = given_{name}" + (".detach().requires_grad_()" if grad else "")
            try:
                exec(source, known)
            except Exception:                            # on purpose, or since what it reads was not made
                continue
            lines += source.splitlines()
            names += statement.targets
        body = "".join(f"    {line}\n" for line in lines)
        names = [name for name in dict.fromkeys(names) if isinstance(known.get(name), torch.Tensor)]
        source = f"def run({', '.join(f'given_{name}' for name, _ in self.inputs)}):\n{body}    return [{', '.join(names)}]\n"
        exec(compile(source, source, "exec"), self.space)
        self.run = self.space["run"]

    def arguments(self, shift=0):
        """Its arguments, from arrays of other seeds."""
        return [eval(re.sub(r"array\((\d+),", lambda seed: f"array({int(seed[1]) + shift},", array, count=1), self.space)
                for _, array in self.inputs]

    def outcome(self, run, shift):
        """What it returns, and what it leaves in its arguments."""
        arguments = self.arguments(shift)
        torch.manual_seed(1)
        return [each.detach() for each in (*run(*arguments), *arguments)]


def _reloaded(traced):
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    return torch.jit.load(file)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(PROGRAMS))
def test_graphs_of_random_programs(number):
    given = Program(number)
    with np.errstate(all="ignore"):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", torch.jit.TracerWarning)
            traced = torch.jit.trace(given.run, tuple(given.arguments()), check_trace=False)
        frozen = any(issubclass(each.category, torch.jit.TracerWarning) for each in seen)
        ways = {"trace": traced, "file": _reloaded(traced), "passes": Interpreter(optimized(traced.graph)[0]).run, "fx": torch.jit.to_fx(traced)}
        for shift in (0,) if frozen else (0, 101):
            expected = given.outcome(given.run, shift)
            for way, run in ways.items():
                torch.testing.assert_close(given.outcome(run, shift), expected, rtol=1e-3, atol=1e-4, equal_nan=True, msg=lambda text, way=way: f"{way}: {text}")
