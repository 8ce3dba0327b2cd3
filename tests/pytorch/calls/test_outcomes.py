"""What a call gives, or which class of error it raises: expressions beside their outcomes, which are PyTorch's.

outcomes.tsv is the table; each row runs here, and in PyTorch where it is installed. `x` is a float32 matrix, `i` an int64 one, `b` a
bool one, `c` a complex one, all (2, 3); `e` is empty, `s` a number. `python -m tests.pytorch.calls.test_outcomes 'x + i'` writes rows."""
from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

TABLE = Path(__file__).with_name("outcomes.tsv")


def outcome(t, expression: str) -> str:
    """A row's second column: the class of an error, or of a tensor dtype, shape and elements in short."""
    scope = dict(torch=t, F=t.nn.functional, np=np, x=t.tensor([[1.0, 2, 3], [4, 5, 6]]), i=t.tensor([[1, 2, 3], [4, 5, 6]]),
                 b=t.tensor([[True, False, True]] * 2), c=t.tensor([[1 + 1j, 2, 3]] * 2), e=t.empty(0, 3), s=t.tensor(3.0))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            *before, last = expression.split("; ")
            for line in before:
                exec(line, scope)
            return in_short(t, eval(last, scope))
    except Exception as error:
        return type(error).__name__


def in_short(t, value) -> str:
    if isinstance(value, t.Tensor):
        elements = [f"{complex(v):.4g}" if isinstance(v, complex) else f"{v:.4g}" for v in value.detach().flatten().tolist()[:12]]
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)} {' '.join(elements)}"
    if isinstance(value, (tuple, list)):
        return "; ".join(in_short(t, part) for part in value)
    return str(value)


def rows():
    with open(TABLE, newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("expression, wanted", rows())
def test_outcome(torch, expression, wanted):
    assert outcome(torch, expression) == wanted


if __name__ == "__main__":
    import torch as pytorch
    for given in sys.argv[1:]:
        print(given, outcome(pytorch, given), sep="\t")
