"""Starting up, in fresh processes: importing, the first call, and the first training step of five networks, with an empty store of
kernels and with one that the same program filled before.

A first step is counted from the start of its process, in seconds on the clock and in those of all processors, which a busy machine
changes little."""
from __future__ import annotations

import inspect
import shutil

from .networks import gpt
from .runner import networks
from .runner.case import ProcessCase

ALL = ("numtorch", "torch", "numpy")
IMPORT = """
import {module}
report(time.perf_counter() - start)
"""
FIRST_SUM = """
import {module} as torch
x = torch.ones(10) + torch.ones(10)
report(time.perf_counter() - start)
"""


def first_step(model, inputs, classes, optimizer, *definitions, loss="logits, target", wrapped="model"):
    """The source of a program that trains a network for one step.

    Args:
        model, inputs, classes, optimizer: Python expressions: the network, its input, how many classes there are, what trains it.
        definitions: functions that these expressions call.
        loss: the arguments of `cross_entropy`.
        wrapped: what is called, where that is not the model itself.
    """
    return "\n".join([*map(inspect.getsource, definitions), f"""
import {{module}} as torch
from {{module}} import nn
model = {model}
called = {wrapped}
optimizer = torch.optim.{optimizer}
logits = called({inputs})
target = torch.randint(0, {classes}, logits.shape[:-1])
loss = nn.functional.cross_entropy({loss})
loss.backward()
optimizer.step()
assert 0 < loss.item() < 20
report(time.time() - began, processor_seconds())
"""])


_PERCEPTRON = first_step("multilayer_perceptron(torch, 784, 128, 10)", "torch.randn(64, 784)", 10,
                         "SGD(model.parameters(), lr=0.1)", networks.multilayer_perceptron)
_CAPTURED = first_step("multilayer_perceptron(torch, 784, 128, 10)", "torch.randn(64, 784)", 10,
                       "SGD(model.parameters(), lr=0.1)", networks.multilayer_perceptron, wrapped="torch.compile(model)")
_LSTM = """nn.ModuleDict({"lstm": nn.LSTM(28, 64, batch_first=True), "head": nn.Linear(64, 10)})"""
_TRANSFORMER = ("nn.Sequential(nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2), "
                "nn.Linear(64, 10))")
_WORDS = "logits.flatten(0, 1), target.flatten()"

# name, program, seconds that its first step may take with an empty store
PROGRAMS = (
    ("perceptron of two layers, SGD", _PERCEPTRON, 3.0),
    ("LeNet, SGD", first_step("lenet(torch)", "torch.randn(64, 1, 28, 28)", 10, "SGD(model.parameters(), lr=0.1, momentum=0.9)",
                              networks.lenet), 7.0),
    ("LSTM and a linear layer, Adam", first_step(_LSTM, "torch.randn(32, 28, 28)", 10, "Adam(model.parameters())",
                                                 wrapped="""lambda x: model["head"](model["lstm"](x)[0][:, -1])"""), 5.0),
    ("transformer of two layers, AdamW", first_step(_TRANSFORMER, "torch.randn(8, 32, 64)", 10, "AdamW(model.parameters())",
                                                    loss=_WORDS), 7.0),
    ("GPT of two layers, AdamW", first_step("gpt(torch, 500, 128, 4, 2, 64)", "torch.randint(0, 500, (8, 64))", 500,
                                            "AdamW(model.parameters())", gpt, loss=_WORDS), 9.0),
)


def _first_step_cases(name, source, most):
    for store, allowed, rounds in (("empty", most, 2), ("warm", 1.0, 4)):
        rows = ((f"{name}, {store} store", "s", None, allowed), (f"{name}, {store} store: of all processors", "s", None))
        yield ProcessCase(f"{name}, {store} store", source, rows, rounds=rounds, store=store, group="first training step")


CASES = [
    ProcessCase("import", IMPORT, (("import", "s", None),), ALL),
    ProcessCase("first sum", FIRST_SUM, (("import and first sum, warm store", "s", 0.3),), ALL),
    ProcessCase("cold", FIRST_SUM, (("import and first sum, empty store: one kernel is compiled", "s", None),), rounds=3,
                store="empty"),
    *[case for program in PROGRAMS for case in _first_step_cases(*program)],
]
if shutil.which("g++"):                                  # PyTorch compiles with it
    CASES.append(ProcessCase("perceptron, compiled", _CAPTURED, (("perceptron through `compile`, empty store", "s", None),),
                             rounds=1, store="empty", long=True, group="first training step"))
