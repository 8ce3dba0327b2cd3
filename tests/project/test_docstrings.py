"""What public classes and functions say of themselves: an example (which test_contributing.py runs) and each parameter by its name."""
from __future__ import annotations

import importlib
import inspect
import re

import pytest

import numtorch
from numtorch.interposition import contents

NAMESPACES = ("numtorch", "numtorch.autograd", "numtorch.autograd.functional", "numtorch.autograd.graphtools", "numtorch.fft",
              "numtorch.linalg", "numtorch.masked", "numtorch.random", "numtorch.signal.windows", "numtorch.special", "numtorch.nn", "numtorch.nn.functional", "numtorch.nn.init",
              "numtorch.nn.utils", "numtorch.nn.utils.rnn", "numtorch.nn.utils.parametrize", "numtorch.nn.utils.parametrizations",
              "numtorch.optim", "numtorch.optim.lr_scheduler", "numtorch.optim.swa_utils", "numtorch.data",
              "numtorch.utils.checkpoint", "numtorch.distributions", "numtorch.distributions.constraints",
              "numtorch.distributions.constraint_registry", "numtorch.distributions.transforms", "numtorch.distributions.utils",
              "numtorch.legacy.nn", "numtorch.legacy.optim", "numtorch.datasets", "numtorch.transforms", "numtorch.utils.trainer", "numtorch.utils.trainer.metrics",
              "numtorch.utils.trainer.plugins")


def public():
    """The public classes and functions, methods of Tensor too, by the modules that define them: {module: [(name, value), ...]}."""
    found = {}
    list(contents(numtorch))                             # what is imported when it is first asked for is there now
    for namespace in (numtorch.Tensor, *map(importlib.import_module, NAMESPACES)):
        for name in getattr(namespace, "__all__", None) or [n for n in vars(namespace) if n[0] != "_"]:
            value = vars(namespace).get(name) or getattr(namespace, name)
            function = value.fget if isinstance(value, property) else value
            module = str(getattr(function, "__module__", None))
            if module.startswith(("numtorch", "torch")) and (inspect.isclass(function) or inspect.isroutine(function)):
                found.setdefault(module, {}).setdefault(id(value), (name, value))
    return {module: list(things.values()) for module, things in found.items()}


PUBLIC = public()


def parameters(value):
    """The names that a call takes."""
    try:
        given = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name != "self"]


def lacking(value):
    """What a docstring leaves out."""
    text = (vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__) or ""
    unnamed = [p for p in parameters(value) if not re.search(rf"\b{p}\b", text)]
    shown = ">>>" in text or re.match(r"In-place form of `\w+`", text)       # the example is that of the other form
    return unnamed + ([] if shown else ["an example"])


@pytest.mark.parametrize("module", sorted(PUBLIC))
def test_examples_and_parameters(module):
    """Each has an example, and names what it takes."""
    assert not {name: lacking(value) for name, value in PUBLIC[module] if lacking(value)}


OF_LAYERS = {"forward", "formula", "extra_repr"}          # the class says what they take; callers have nothing to do with the last


@pytest.mark.parametrize("module", [m for m in sorted(PUBLIC) if m.startswith((
    "numtorch.nn", "numtorch.optim", "numtorch.data", "numtorch.legacy", "numtorch.distributions", "numtorch.utils.trainer", "numtorch.datasets"))])
def test_methods(module):
    """Each public method of a layer, an optimiser or a dataset says something, and names what it takes."""
    found = {}
    for name, kind in PUBLIC[module]:
        if inspect.isclass(kind) and not issubclass(kind, (numtorch.Tensor, BaseException)):
            for method in set(dir(kind)) - OF_LAYERS:
                value = inspect.getattr_static(kind, method)
                function = getattr(value, "__func__", getattr(value, "fget", value))
                if method[0] != "_" and inspect.isfunction(function) and function.__module__.startswith("numtorch"):
                    text = inspect.getdoc(getattr(kind, method)) or ""
                    unnamed = [p for p in parameters(function) if p != "cls" and not re.search(rf"\b{p}\b", text)]
                    if unnamed or not text:
                        found[f"{name}.{method}"] = unnamed
    assert not found


def test_everything_is_looked_at():
    assert len(PUBLIC) > 120 and sum(map(len, PUBLIC.values())) > 1100


def test_a_poor_docstring_is_found():
    """The check is able to fail."""
    def documented(first, second):
        """Of `first` there is something."""
    assert lacking(documented) == ["second", "an example"]
    assert lacking(numtorch.nn.ReLU) == []
