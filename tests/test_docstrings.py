"""What public classes and functions say of themselves: an example (which test_contributing.py runs) and each parameter by its name."""
from __future__ import annotations

import importlib
import inspect
import re

import pytest

import numtorch

NAMESPACES = ("numtorch", "numtorch.autograd", "numtorch.autograd.functional", "numtorch.autograd.graphtools", "numtorch.fft",
              "numtorch.linalg", "numtorch.random", "numtorch.special", "numtorch.nn", "numtorch.nn.functional", "numtorch.nn.init", "numtorch.nn.utils", "numtorch.nn.utils.rnn",
              "numtorch.nn.utils.parametrize", "numtorch.nn.utils.parametrizations", "numtorch.optim", "numtorch.optim.lr_scheduler",
              "numtorch.optim.swa_utils", "numtorch.data", "numtorch.utils.checkpoint")

# Modules, by where things are defined.
DOCUMENTED = ("numtorch.autograd.api", "numtorch.autograd.function", "numtorch.autograd.functional", "numtorch.autograd.gradcheck",
              "numtorch.autograd.graphtools", "numtorch.autograd.modes", "numtorch.data.dataset", "numtorch.data.handwritten",
              "numtorch.data.loader", "numtorch.data.sampler", "numtorch.devices", "numtorch.dtypes", "numtorch.exchange",
              "numtorch.kernels.threads", "numtorch.layout", "numtorch.nn.activations", "numtorch.nn.functional",
              "numtorch.nn.init", "numtorch.nn.losses", "numtorch.nn.modules.activation", "numtorch.nn.modules.adaptive",
              "numtorch.nn.modules.adaptivepooling", "numtorch.nn.modules.attention", "numtorch.nn.modules.container",
              "numtorch.nn.modules.conv", "numtorch.nn.modules.distance", "numtorch.nn.modules.dropout",
              "numtorch.nn.modules.embedding", "numtorch.nn.modules.flatten", "numtorch.nn.modules.lazy",
              "numtorch.nn.modules.linear", "numtorch.nn.modules.loss", "numtorch.nn.modules.marginloss",
              "numtorch.nn.modules.module", "numtorch.nn.modules.normalization", "numtorch.nn.modules.padding",
              "numtorch.nn.modules.parametercontainer", "numtorch.nn.modules.pooling", "numtorch.nn.modules.responsenorm",
              "numtorch.nn.modules.rnn", "numtorch.nn.modules.rnncell", "numtorch.nn.modules.softmax",
              "numtorch.nn.modules.transformer", "numtorch.nn.modules.upsampling", "numtorch.nn.parameter", "numtorch.nn.ranking",
              "numtorch.nn.softmax", "numtorch.nn.utils.parameters", "numtorch.nn.utils.parametrizations",
              "numtorch.nn.utils.parametrize", "numtorch.nn.utils.rnn", "numtorch.ops.addmm", "numtorch.ops.attention",
              "numtorch.ops.columns", "numtorch.ops.contract", "numtorch.ops.conv", "numtorch.ops.counting",
              "numtorch.ops.creation", "numtorch.ops.ctc", "numtorch.ops.differences", "numtorch.ops.distances",
              "numtorch.ops.distinct", "numtorch.ops.distributions", "numtorch.ops.dropout", "numtorch.ops.einsum",
              "numtorch.ops.embedding", "numtorch.ops.extremes", "numtorch.ops.factorise", "numtorch.ops.fourier",
              "numtorch.ops.fractional", "numtorch.ops.gather", "numtorch.ops.generator", "numtorch.ops.gridsample",
              "numtorch.ops.inplace", "numtorch.ops.lapack", "numtorch.ops.linear", "numtorch.ops.lu", "numtorch.ops.marginloss",
              "numtorch.ops.matrices", "numtorch.ops.multihead", "numtorch.ops.norm", "numtorch.ops.order", "numtorch.ops.pad",
              "numtorch.ops.products", "numtorch.ops.random", "numtorch.ops.redraw", "numtorch.ops.reduce", "numtorch.ops.regions",
              "numtorch.ops.resample", "numtorch.ops.responsenorm", "numtorch.ops.restride", "numtorch.ops.rnn",
              "numtorch.ops.scan", "numtorch.ops.scatter", "numtorch.ops.solve", "numtorch.ops.statistics", "numtorch.ops.triangle",
              "numtorch.ops.unitnorm", "numtorch.ops.unpool", "numtorch.ops.window", "numtorch.ops.windows",
              "numtorch.optim.adagrad", "numtorch.optim.adam", "numtorch.optim.combined", "numtorch.optim.cycles",
              "numtorch.optim.lbfgs", "numtorch.optim.lr_scheduler", "numtorch.optim.optimizer", "numtorch.optim.plateau",
              "numtorch.optim.schedule", "numtorch.optim.sgd", "numtorch.optim.swa_utils", "numtorch.printing", "numtorch.storage",
              "numtorch.tensor", "numtorch.utils.checkpoint")


def public(module):
    """The public classes and functions that a module defines, methods of Tensor too, by the names they are found under."""
    found = {}
    for namespace in (numtorch.Tensor, *map(importlib.import_module, NAMESPACES)):
        for name in getattr(namespace, "__all__", None) or [n for n in vars(namespace) if n[0] != "_"]:
            value = vars(namespace).get(name) or getattr(namespace, name)
            function = value.fget if isinstance(value, property) else value
            if getattr(function, "__module__", None) == module and (inspect.isclass(function) or inspect.isroutine(function)):
                found.setdefault(id(value), (name, value))
    return found.values()


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
    return unnamed + ([] if ">>>" in text else ["an example"])


@pytest.mark.parametrize("module", DOCUMENTED)
def test_examples_and_parameters(module):
    """Each has an example, and names what it takes."""
    values = public(module)
    assert values
    assert not {name: lacking(value) for name, value in values if lacking(value)}


def test_a_poor_docstring_is_found():
    """The check is able to fail."""
    def documented(first, second):
        """Of `first` there is something."""
    assert lacking(documented) == ["second", "an example"]
    assert lacking(numtorch.nn.ReLU) == []
