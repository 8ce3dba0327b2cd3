"""The core family: what a call, a backward pass and a small training step cost, matrix products, and starting up.

Every case is written once against PyTorch's API and runs with `torch` standing for numtorch and for PyTorch in turn.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np

from .measure import Case


def _normal(*shapes, dtype=np.float32):
    return lambda rng: [rng.standard_normal(s).astype(dtype) for s in shapes]


# ---------------------------------------------------------------- calls
def _add(requires_grad):
    def make(torch, inputs):
        a, b = (torch.from_numpy(x.copy()).requires_grad_(requires_grad) for x in inputs)
        return lambda: a + b
    return make


def _square_sum_backward(torch, inputs):
    a, b = (torch.from_numpy(x.copy()).requires_grad_() for x in inputs)

    def run():
        a.grad = b.grad = None
        (a * b).sum().backward()
        return a.grad
    return run


# ---------------------------------------------------------------- training steps
def _mlp_step(*activations):
    """Forward, mean squared error, backward and an SGD step of a perceptron; the inputs are x, target, then weights and biases."""
    def make(torch, inputs):
        x, target, *parameters = [torch.from_numpy(v.copy()) for v in inputs]
        layers = [torch.nn.Linear(w.shape[1], w.shape[0]) for w in parameters[::2]]
        with torch.no_grad():
            for layer, weight, bias in zip(layers, parameters[::2], parameters[1::2]):
                layer.weight.copy_(weight)
                layer.bias.copy_(bias)
        between = [torch.nn.ReLU() if a == "relu" else torch.nn.Tanh() for a in activations]
        model = torch.nn.Sequential(*[m for pair in zip(layers, [*between, None]) for m in pair if m is not None])
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        loss_of = torch.nn.MSELoss()

        def run():
            optimizer.zero_grad()
            loss = loss_of(model(x), target)
            loss.backward()
            optimizer.step()
            return loss
        return run
    return make


def _mlp_inputs(batch, *sizes):
    shapes = [(batch, sizes[0]), (batch, sizes[-1])]
    for before, after in zip(sizes, sizes[1:]):
        shapes += [(after, before), (after,)]

    def inputs(rng):
        return [(rng.standard_normal(s) * (0.1 if i > 1 else 1)).astype(np.float32) for i, s in enumerate(shapes)]
    return inputs


# ---------------------------------------------------------------- an LSTM cell as a formula of other ops
def _lstm(backward):
    def make(torch, inputs):
        x, h, c, w_input, w_hidden, b_input, b_hidden = [torch.from_numpy(v.copy()) for v in inputs]
        weights = [w_input, w_hidden, b_input, b_hidden]
        if backward:
            for weight in weights:
                weight.requires_grad_()
        linear = torch.nn.functional.linear

        def run():
            gates = linear(x, w_input, b_input) + linear(h, w_hidden, b_hidden)
            take, keep, candidate, show = gates.chunk(4, 1)
            cell = torch.sigmoid(keep) * c + torch.sigmoid(take) * torch.tanh(candidate)
            hidden = torch.sigmoid(show) * torch.tanh(cell)
            if not backward:
                return hidden
            for weight in weights:
                weight.grad = None
            hidden.sum().backward()
            return w_hidden.grad
        return run
    return make


def _lstm_inputs(rng):
    shapes = [(8, 128), (8, 128), (8, 128), (512, 128), (512, 128), (512,), (512,)]
    return [(rng.standard_normal(s) * 0.2).astype(np.float32) for s in shapes]


# ---------------------------------------------------------------- matrix products
def _product(form):
    def make(torch, inputs):
        a, b = (torch.from_numpy(x.copy()) for x in inputs)
        a, b = (a.t() if form[0] == "T" else a), (b.t() if form[1] == "T" else b)
        return lambda: a @ b
    return make


def _products():
    for dtype in (np.float32, np.float64):
        short = "f32" if dtype is np.float32 else "f64"
        for size in (32, 64, 128, 256, 512, 1024, 2048):
            for form, label in (("NN", ""), ("TN", ", A transposed"), ("NT", ", B transposed")):
                if form != "NN" and size == 2048:
                    continue
                yield Case(f"{size}³ {short}{label}", _product(form), _normal((size, size), (size, size), dtype=dtype), 1.0,
                           1e-3 if dtype is np.float32 else 1e-9, 2.0 * size ** 3, "matrix product")


CASES = [
    Case("a + b, 10 floats", _add(False), _normal(10, 10), 0.45, group="calls"),
    Case("a + b, 10 floats, with grad", _add(True), _normal(10, 10), 0.45, group="calls"),
    Case("(a * b).sum().backward(), 10 floats", _square_sum_backward, _normal(10, 10), 0.25, group="calls"),
    Case("training step, MLP 4×16→16→4", _mlp_step("tanh", "tanh"), _mlp_inputs(4, 16, 16, 4), 0.2, group="training"),
    Case("training step, MLP 64×784→128→10", _mlp_step("relu"), _mlp_inputs(64, 784, 128, 10), 0.75, group="training"),
    Case("LSTM cell 8×128 as a formula, forward", _lstm(False), _lstm_inputs, 0.9, group="training"),
    Case("LSTM cell 8×128 as a formula, forward and backward", _lstm(True), _lstm_inputs, 0.5, group="training"),
    *_products(),
]


# ---------------------------------------------------------------- starting up
START = """
import time
start = time.perf_counter()
import {module} as torch
x = torch.ones(10) + torch.ones(10)
print(time.perf_counter() - start)
"""
START_BUDGET = 0.3


def start_up(module: str, threads: int, rounds=5) -> list[float]:
    """Seconds from the first line to the first sum, in fresh processes; the first one only warms the disk and the store."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    seconds = []
    for _ in range(rounds + 1):
        done = subprocess.run([sys.executable, "-c", START.format(module=module)], capture_output=True, text=True, check=True,
                              env=environment)
        seconds.append(json.loads(done.stdout))
    return seconds[1:]
