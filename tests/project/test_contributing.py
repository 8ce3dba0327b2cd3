"""The worked example of CONTRIBUTING.md and the examples of docstrings run as they stand; test_documents.py has all other pages."""
from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import numtorch

ROOT = Path(__file__).resolve().parents[2]


def python_blocks(name):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def methods_as_they_were():
    """What a page's ops add to Tensor goes with the test."""
    before = set(vars(numtorch.Tensor))
    yield
    for name in set(vars(numtorch.Tensor)) - before:
        if not getattr(vars(numtorch.Tensor)[name], "__module__", "numtorch.").startswith("numtorch."):      # not of a module loaded late
            delattr(numtorch.Tensor, name)


def test_add_an_op_in_five_minutes():
    blocks = python_blocks("CONTRIBUTING.md")
    assert len(blocks) == 4 and sum("assert" in b for b in blocks) == 3
    scope = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"CONTRIBUTING.md, block {number}", "exec"), scope)


def test_a_wrong_derivative_is_caught():
    """The example's gradcheck is able to fail."""
    definition, _, _, check = python_blocks("CONTRIBUTING.md")
    wrong = definition.replace("grad * (1 + x /", "grad * (1 - x /").replace("squareplus", "wrongplus")
    assert wrong.count("1 - x") == 1
    scope = {}
    exec(wrong, scope)
    with pytest.raises((RuntimeError, AssertionError)):
        exec(check.replace("squareplus", "wrongplus"), scope)


@pytest.mark.filterwarnings("ignore:.*deprecated")         # of the deprecated ones
def test_examples_in_docstrings():
    """Every example of a docstring runs, and gives what it says."""
    runner, output = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS), []
    for module in pkgutil.walk_packages(numtorch.__path__, "numtorch."):
        if not module.name.endswith("__main__") and ".cuda" not in module.name:         # CUDA's need a device
            for test in doctest.DocTestFinder().find(importlib.import_module(module.name)):
                if test.examples:                        # a fifth: the runner prepares as much for none
                    runner.run(test, out=output.append)
    assert runner.tries > 100 and runner.failures == 0, "".join(output)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/legacy.md", "docs/training.md", "docs/gallery.md"])
def test_named_files_exist(name):
    """Paths in the documents lead somewhere."""
    text = (ROOT / name).read_text()
    paths = set(re.findall(r"`((?:numtorch|tests|bench|docs|examples)/[\w/.]+)`", text))
    paths |= {str(Path(name).parent / p) for p in re.findall(r"\]\((?!http|#)([\w/.]+)\)", text)}
    missing = [p for p in paths if not (ROOT / p).exists()]
    assert paths and not missing, missing
