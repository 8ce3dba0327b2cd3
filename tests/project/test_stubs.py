"""The stubs (`numtorch/commands/stubs.py`): what is committed is what is generated, and mypy accepts with them what runs, and no more."""
from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_docstrings import PUBLIC

import numtorch

PACKAGE = Path(numtorch.__file__).parent

# A script as users write it, which `mypy --strict` has nothing to say about.
PROGRAM = '''
from collections.abc import Iterator

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import Tensor, nn
from numtorch.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, hidden: int = 8) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, hidden), nn.Linear(hidden, 3)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(F.relu(self.first(x)))
        return logits * self.scale


def normalised(x: Tensor) -> Tensor:
    return (x - x.mean(dim=0)) / (x.std(0, keepdim=True) + 1e-6)


@torch.no_grad()
def accuracy(net: Net, x: Tensor, y: Tensor) -> float:
    logits: Tensor = net.eval()(x)
    best, place = logits.max(dim=1)
    assert best.shape == y.size() and y.size(0) == len(y)
    return (place == y).float().mean().item()


def epochs(count: int) -> Iterator[float]:
    torch.manual_seed(0)
    x, y = normalised(torch.randn(12, 4)), torch.randint(0, 3, (12,))
    net = Net().to(torch.float32)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(count):
        for some, labels in DataLoader(TensorDataset(x, y), batch_size=6, shuffle=True):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(some), labels)
            loss.backward()
            optimizer.step()
        yield accuracy(net, x, y)


def reductions(x: Tensor) -> float:
    values, places = x.topk(2)
    u, s, vh = torch.linalg.svd(x)
    low = torch.sort(x, dim=0).values[0]
    pooled: Tensor = F.max_pool2d(x[None, None], 2)
    both, where = F.max_pool2d(x[None, None], 2, return_indices=True)
    rows, columns = x.nonzero(as_tuple=True)
    x[rows, columns] = 2 ** x.neg().exp_().clamp_(max=3)[rows, columns] @ x.new_ones(()).reshape(())[None].expand(1)
    total = torch.cat([values, u @ vh], dim=-1).sum(dim=(0, 1)) + 1 - -s[0] / pooled.sum() + torch.special.erfcx(low)[0]
    return total.item() + float(torch.fft.rfft(x).abs().max()) + len(x.tolist())


print(list(epochs(2)), F.relu(torch.zeros(1)), torch.float16.itemsize, torch.pi)
'''

# Each line is an error.
WRONG = '''
import numtorch as torch
import numtorch.nn.functional as F

x = torch.ones(2)
x.no_such_method()
torch.no_such_function(x)
x.exp(1)
torch.exp(x, base=2)
x.sum(dims=0)
x.gather(0)
torch.cat(x, x, x)
x + "1"
x.erfinv_(out=x)
torch.atan2(x)
x.to(dtype=torch.float32).reshape("2")
F.gelu(x, approximat="tanh")
torch.linalg.solve(x, x, lefty=True)
length: int = x.item
name: str = x.add_(1)
flat: torch.Tensor = x.max(dim=0)
x.shape = (3,)
'''


UNSAID = {"Variable"}                                     # a class to `isinstance` only: a call makes a Tensor, which mypy cannot be told


def examples():
    """The examples of all docstrings, each in a function of its own."""
    lines = ["import numtorch as torch"]
    for module, things in sorted(PUBLIC.items()):
        for name, value in things:
            doc = getattr(value, "fget", value).__doc__ or ""
            lines.append(f"def example_{len(lines)}() -> None:  # {module}.{name}")
            for example in doctest.DocTestParser().get_examples(doc):
                if not example.exc_msg and name not in UNSAID:
                    lines += ["    " + line for line in example.source.rstrip().split("\n")]
            lines.append("    pass")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What mypy says, strictly, of the program, of what is wrong, and of the examples: {file: {line: message}}."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("typed")
    for name, text in (("program", PROGRAM), ("wrong", WRONG), ("examples", examples())):
        (folder / f"{name}.py").write_text(text)
    # examples need no annotations, and show subclasses and what a step returns
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\nfollow_imports = silent\n[mypy-examples]\nstrict = false\n"
                                     "disallow_untyped_calls = false\ndisallow_untyped_defs = false\n"
                                     "disable_error_code = override, func-returns-value, no-untyped-def, type-arg, misc\n")
    found = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", folder / "cache", "program.py", "wrong.py", "examples.py"],
                           cwd=folder, env={"MYPYPATH": str(PACKAGE.parent), "PATH": ""}, capture_output=True, text=True)
    assert found.returncode == 1, found.stdout + found.stderr
    told = {"program": {}, "wrong": {}, "examples": {}}
    for file, line, message in re.findall(r"^(\w+)\.py:(\d+): error: (.*)$", found.stdout, re.MULTILINE):
        told[file][int(line)] = message
    return told


def test_committed_stubs_are_what_is_generated():
    """In a process of its own, as the command makes them: other tests define ops."""
    program = ("import pathlib, sys\nfrom numtorch.commands import stubs\n"
               "print([path for path, text in stubs.files().items() if (pathlib.Path(sys.argv[1]) / path).read_text() != text])")
    stale = subprocess.run([sys.executable, "-c", program, PACKAGE], capture_output=True, text=True, check=True).stdout.strip()
    assert stale == "[]", f"write {stale} again: python -m numtorch stubs"


def test_a_program_is_accepted(complaints):
    assert complaints["program"] == {}


def test_every_wrong_line_is_refused(complaints):
    lines = WRONG.split("\n")
    first = lines.index("x.no_such_method()") + 1
    assert sorted(complaints["wrong"]) == list(range(first, len(lines))), complaints["wrong"]


def test_every_example_is_accepted(complaints):
    assert complaints["examples"] == {}


def test_program_runs():
    assert "Tensor" in PROGRAM and exec(compile(PROGRAM, "program", "exec"), {"__name__": "program"}) is None
