"""Which class is of which: programs ask `isinstance(module, nn.Dropout)`, and get PyTorch's answer."""
from __future__ import annotations

import importlib
import inspect

import pytest

import numtorch

pytorch = pytest.importorskip("torch")

PLACES = [".", "nn", "nn.parameter", "nn.utils.parametrizations", "optim", "optim.lr_scheduler", "optim.swa_utils", "autograd", "utils.data", "distributions",
          "distributions.transforms", "distributions.constraints"]
# PyTorch's metaclass says of its objects that they are buffers, and of TypedStorages that they are of these types, as ours do.
OF_OBJECTS = {("UninitializedBuffer", "Buffer"), *[(f"{kind}Storage", "TypedStorage") for kind in """BFloat16 Bool Byte Char ComplexDouble
              ComplexFloat Double Float Half Int Long Short""".split()]}


@pytest.mark.parametrize("place", PLACES)
def test_classes_are_of_those_that_they_are_of_in_pytorch(place):
    theirs = pytorch if place == "." else importlib.import_module(f"torch.{place}")
    ours = numtorch if place == "." else importlib.import_module(f"numtorch.{place}")
    names = [name for name in dir(theirs) if not name.startswith("_") and inspect.isclass(getattr(theirs, name)) and
             inspect.isclass(getattr(ours, name, None))]
    differ = [(one, other, issubclass(getattr(theirs, one), getattr(theirs, other))) for one in names for other in names
              if (one, other) not in OF_OBJECTS and
              issubclass(getattr(theirs, one), getattr(theirs, other)) is not issubclass(getattr(ours, one), getattr(ours, other))]
    assert not differ and len(names) > 1


@pytest.mark.parametrize(("module", "base", "classes"), [
    ("pooling", "_AvgPoolNd", "AvgPool1d AvgPool2d AvgPool3d"), ("pooling", "_MaxPoolNd", "MaxPool1d MaxPool2d MaxPool3d"),
    ("pooling", "_LPPoolNd", "LPPool1d LPPool2d LPPool3d"), ("pooling", "_MaxUnpoolNd", "MaxUnpool1d MaxUnpool2d MaxUnpool3d"),
    ("pooling", "_AdaptiveAvgPoolNd", "AdaptiveAvgPool1d AdaptiveAvgPool3d"), ("pooling", "_AdaptiveMaxPoolNd", "AdaptiveMaxPool2d"),
    ("padding", "_ConstantPadNd", "ConstantPad1d ZeroPad2d"), ("padding", "_ReflectionPadNd", "ReflectionPad3d"),
    ("padding", "_ReplicationPadNd", "ReplicationPad1d"), ("padding", "_CircularPadNd", "CircularPad2d"),
    ("dropout", "_DropoutNd", "Dropout Dropout2d AlphaDropout FeatureAlphaDropout"), ("conv", "_ConvNd", "Conv1d ConvTranspose3d LazyConv2d"),
    ("batchnorm", "_BatchNorm", "BatchNorm1d LazyBatchNorm3d"), ("instancenorm", "_InstanceNorm", "InstanceNorm2d"),
])
def test_bases_of_layers_are_where_programs_look_for_them(module, base, classes):
    for name, nn in (("numtorch", numtorch.nn), ("torch", pytorch.nn)):
        kind = getattr(importlib.import_module(f"{name}.nn.modules.{module}"), base)
        assert {each for each in dir(nn) if inspect.isclass(getattr(nn, each)) and issubclass(getattr(nn, each), kind)} >= set(classes.split())
