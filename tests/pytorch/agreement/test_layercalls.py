"""Some random calls of layers agree with PyTorch's, and what compares them sees what it should."""
from __future__ import annotations

import numpy as np
import pytest
from layercalls import Library, difference, search
from layerdraws import FAMILIES, draw


def test_random_calls_are_pytorchs():
    """More: python -m tests.layercalls --seconds 600 --seed 1"""
    pytest.importorskip("torch")
    lines: list = []
    ran, failed = search("tests", seconds=25, calls=300, report=lines.append)
    assert ran and not failed, "\n".join(lines)


def test_a_call_that_kills_its_process_is_named():
    library = Library("numtorch")
    assert library.run("torch.ones(2)")[0][0][1].tolist() == [1, 1]
    assert library.run("__import__('os').abort()") == "ended the process with exit code -6"
    assert library.run("torch.ones(2).sum()")[0][0][1] == 2
    library.close()


@pytest.mark.parametrize("family", sorted({family.__name__ for family in FAMILIES}))
def test_a_seed_draws_the_same_call(family):
    calls = [draw(seed, family) for seed in range(20)]
    assert calls == [draw(seed, family) for seed in range(20)] and len(set(calls)) > 10


def result(*values, dtype="float32"):
    return [(dtype, np.array(values))], []


@pytest.mark.parametrize(("ours", "theirs", "words"), [
    (result(1.0), result(1.0), None), (result(1.0, np.nan, np.inf), result(1.0 + 1e-6, np.nan, np.inf), None),
    (result(1.0), result(1.1), "result 0"), (result(np.nan), result(1.0), "result 0"), (result(np.inf), result(-np.inf), "result 0"),
    (result(1.0), result(1.0, dtype="float64"), "dtype"), (result(1.0), result(1.0, 2.0), "shape"),
    (result(1.0), ("ValueError", "no"), "accepted"), (("ValueError", "no"), result(1.0), "refused"),
    (("ValueError", "no"), ("RuntimeError", "no"), "ValueError, expected RuntimeError"), (("ValueError", "no"), ("ValueError", "never"), None),
    (([], [("float32", np.ones(2))]), ([], [("float32", np.zeros(2))]), "gradient 0"), (([], [None]), ([], [("float32", np.zeros(2))]), None),
    (([], [None]), ([], [("float32", np.ones(2))]), "numtorch has none"), ("ended the process with exit code -11", result(1.0), "exit code -11"),
])
def test_what_differs(ours, theirs, words):
    found = difference(ours, theirs)
    assert found is None if words is None else words in found
