"""What `numtorch.compile` makes of programs, beside PyTorch's eager ones: training steps that are captured and replayed, of small
networks and of some in which kernels take most of the time, and functions as graphs with fewer kernels.

`torch.compile` and JAX's `jit` stand beside some of them, where g++ and JAX are there. The first run takes minutes longer for the
former, which keeps on disk what it compiles."""
from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace

from . import models, networks
from .runner.case import Case, ProcessCase, fill, integers, normal, step_case, uniform, values_of
from .runner.networks import lenet, multilayer_perceptron, residual_block

_CALLS = 3                                               # before the first that is replayed
_MOST_SECONDS = 120                                      # until a graph's kernels are compiled and it was compared


def _compiled(case, budget, group, *, beside=None, jax=None):
    """The case with its function compiled on our side, after as many calls on each.

    Args:
        beside: the ratio to the time of PyTorch's own compiled function, where that is measured too.
        jax: the same step for JAX, `jax(jax, *inputs)`, and the ratio to its time.
    """
    def called(run):
        for _ in range(_CALLS):
            run()
        return run

    def setup(torch, *inputs):
        run = case.setup(torch, *inputs)
        return called(torch.compile(run, mode="replay") if torch.__name__ == "numtorch" else run)

    others, budgets = {}, {}
    if beside is not None:
        others["torch.compile"] = lambda torch, *inputs: called(torch.compile(case.setup(torch, *inputs)))
        budgets["torch.compile"] = beside
    if jax is not None:
        others["jax"], budgets["jax"] = lambda module, *inputs: called(jax[0](module, *inputs)), jax[1]
    return replace(case, name=f"{case.name}, compiled", setup=setup, budget=budget, group=group, others=others, budgets=budgets)


def _classes(torch, logits, target):
    return torch.nn.functional.cross_entropy(logits, target)


def _momentum(torch, parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def _perceptron(budget, beside_jax, batch, *sizes):
    case = step_case(f"training step, MLP {batch}×{'→'.join(map(str, sizes))}", lambda torch: multilayer_perceptron(torch, *sizes),
                     (normal(batch, sizes[0]), integers(batch, high=sizes[-1])), loss=_classes, optimizer=_momentum, tolerance=1e-3)
    return _compiled(case, budget, "small steps", jax=(_perceptron_of_jax(sizes), beside_jax))


def _perceptron_of_jax(sizes):
    """The same step in JAX's words: the same parameters, and SGD with momentum."""
    def setup(jax, x, target):
        np = jax.numpy
        shapes = {f"{2 * i}.{name}": shape for i, (n, m) in enumerate(zip(sizes, sizes[1:]))
                  for name, shape in (("weight", (m, n)), ("bias", (m,)))}
        parameters = {name: np.asarray(values_of(name, shape), np.float32) for name, shape in shapes.items()}
        momenta = {name: np.zeros_like(parameter) for name, parameter in parameters.items()}

        def loss(parameters, x, target):
            for i in range(0, 2 * len(sizes) - 2, 2):
                x = x @ parameters[f"{i}.weight"].T + parameters[f"{i}.bias"]
                x = jax.nn.relu(x) if i < 2 * len(sizes) - 4 else x
            return -np.take_along_axis(jax.nn.log_softmax(x), target[:, None], 1).mean()

        @jax.jit
        def step(parameters, momenta, x, target):
            value, gradients = jax.value_and_grad(loss)(parameters, x, target)
            momenta = {name: 0.9 * momenta[name] + gradients[name] for name in momenta}
            return value, {name: parameters[name] - 0.01 * momenta[name] for name in parameters}, momenta

        def run():
            nonlocal parameters, momenta
            value, parameters, momenta = step(parameters, momenta, x, target)
            return value.block_until_ready()
        run()                                            # as the setup of the others does
        return run
    return setup


def _of(family, beginning):
    return next(case for case in family.CASES if case.name.startswith(beginning))


# ---------------------------------------------------------------- functions as graphs
def settled(torch, function, *inputs, **options):
    """The function compiled, and called until nothing more becomes of it."""
    compiled = torch.compile(function, **options)
    for _ in range(_CALLS):
        compiled(*inputs)
    end = time.monotonic() + _MOST_SECONDS
    while not torch.compile.explain(compiled)(*inputs).settled:
        if time.monotonic() > end:
            raise RuntimeError(f"no graph after {_MOST_SECONDS} s")
        compiled(*inputs)
        time.sleep(0.02)
    return compiled


def _graph(name, function, inputs, budget, moved, **fields):
    """`function(torch, *inputs)`, on our side compiled until nothing more becomes of it."""
    def setup(torch, *inputs):
        def run(*given):
            return function(torch, *given)
        if torch.__name__ != "numtorch":
            return lambda: run(*inputs)
        compiled = settled(torch, run, *inputs)
        return lambda: compiled(*inputs)

    def other(torch, *inputs):
        compiled = torch.compile(lambda *given: function(torch, *given))
        return lambda: compiled(*inputs)
    return Case(f"{name}, compiled", inputs, setup=setup, budget=budget, moved=moved, tolerance=1e-4, group="graphs",
                others={"torch.compile": other}, budgets={"torch.compile": 1.0}, **fields)


def _chain(torch, x, y):
    z = x * 2 + y
    z = torch.tanh(z) * x - y
    return torch.relu(z * 0.5 + 1).sqrt() + z.abs()


def _masked_softmax(torch, a, b, c, mask):
    return torch.softmax(a * b + c, -1) * mask


def _layer_norm(torch, x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred * centred).mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias


def _residual_product(torch, x, weight, bias, residual):
    functional = torch.nn.functional
    return functional.gelu(functional.linear(x, weight, bias), approximate="tanh") + residual


def _dropout_product(torch, x, weight, bias):
    functional = torch.nn.functional
    return functional.dropout(functional.relu(functional.linear(x, weight, bias)), 0.1)


def _residual_norm(torch, x, residual, weight, bias):
    return torch.nn.functional.layer_norm(x + residual, weight.shape, weight, bias).relu()


def _gated_norm(torch, x, gate, weight):
    functional = torch.nn.functional
    return functional.rms_norm(x, weight.shape, weight) * functional.silu(gate)


def _folded_block():
    """ResNet-18's block for inference, its norms in the weights on our side."""
    def setup(torch, x):
        block = fill(torch, residual_block(torch, 64)).eval()
        if torch.__name__ == "numtorch":
            with torch.no_grad():
                block = torch.jit.optimize_for_inference(torch.jit.trace(block, x))

        def infer():
            with torch.no_grad():
                return block(x)
        return infer
    return Case("ResNet-18 block, 8×64×56×56, norms folded", (normal(8, 64, 56, 56),), setup=setup, budget=0.75, moved=0.0,
                tolerance=1e-2, corners=True, group="graphs")


NETWORKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner", "networks.py")
PEAK = """
import runpy
import {module} as torch
model = runpy.run_path(NETWORKS)["lenet"](torch)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
if torch.__name__ == "numtorch":
    step = torch.compile(step, mode="replay")
for _ in range(10):
    step(x, y)
report(peak_bytes())
""".replace("NETWORKS", repr(NETWORKS))

_STEP = """
import runpy, time
import {module} as torch
networks = runpy.run_path(NETWORKS)
model = {model}
optimizer = torch.optim.AdamW(model.parameters())
x, y = {inputs}
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
    loss.backward()
    optimizer.step()
    return loss
def seconds(call):
    start = time.perf_counter()
    call(x, y)
    return time.perf_counter() - start
def capture():
    call = torch.compile(step, mode="replay")
    call(x, y)
    capturing = seconds(call)
    for _ in range(3):
        call(x, y)
    return capturing
eager = min([seconds(step) for _ in range(12)][2:])
"""

# How many eager steps the capturing call of a step takes, and how many kernels are compiled in it and in those that replay.
CAPTURE = _STEP + """
from {module}.kernels.progress import statistics
compiled = statistics.compiled
capturing = min([capture() for _ in range(5)])
report(capturing / eager, statistics.compiled - compiled)
"""

# The capturing call, and PyTorch's eager step.
CAPTURE_BESIDE = _STEP + """
report(min([capture() for _ in range(5)]) if torch.__name__ == "numtorch" else eager)
"""

# Seconds of a first compiled call, and until calls are replayed. Nothing is kept from other processes: neither library has compiled
# anything but, of ours, what eager steps before have.
FIRST_CALL = """
import os, runpy, tempfile
os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
import {module} as torch
model = runpy.run_path(NETWORKS)["multilayer_perceptron"](torch, 784, 128, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
x, y = torch.randn(64, 784), torch.randint(0, 10, (64,))
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
for _ in range(EAGER):
    step(x, y)
step = torch.compile(step)
start = time.perf_counter()
step(x, y)
first = time.perf_counter() - start
step(x, y), step(x, y)
report(first, time.perf_counter() - start)
""".replace("NETWORKS", repr(NETWORKS))


def _capture(name, model, inputs, most):
    """How long capturing takes, of this library's eager steps and of PyTorch's."""
    rows = ((f"{name}: capturing, in eager steps", "×", None, most), (f"{name}: kernels compiled meanwhile", "", None, 0))
    beside = ((f"{name}: capturing, beside PyTorch's eager step", "s", most),)
    for source, each, sides in ((CAPTURE, rows, ("numtorch",)), (CAPTURE_BESIDE, beside, ("numtorch", "torch"))):
        source = source.replace("NETWORKS", repr(NETWORKS)).replace("{model}", model).replace("{inputs}", inputs)
        yield ProcessCase(each[0][0], source, each, sides, rounds=2, group="capturing")


CASES = [
    _perceptron(0.02, 0.1, 4, 16, 16, 4), _perceptron(0.03, 0.15, 1, 8, 32, 32, 4), _perceptron(0.3, 0.4, 64, 784, 128, 10),
    _compiled(_of(networks, "Q-learning"), 0.05, "small steps"), _compiled(_of(networks, "linear regression"), 0.1, "small steps"),
    _compiled(_of(networks, "contrastive pairs"), 0.2, "small steps"),
    _compiled(step_case("training step, LeNet 16×1×28×28", lenet, (normal(16, 1, 28, 28), integers(16, high=10)), loss=_classes,
                        optimizer=_momentum, tolerance=1e-3), 0.8, "larger steps"),
    _compiled(_of(models, "training step, language model"), 0.72, "larger steps", beside=1.0),
    _compiled(_of(networks, "GPT, 2 layers of 128, 8×64"), 0.32, "larger steps", beside=1.0),
    _graph("ten elementwise ops, 1000×1000", _chain, (normal(1000, 1000), normal(1000, 1000)), 0.15, 3e6),
    _graph("softmax(a * b + c) * mask, 1000×1000", _masked_softmax, (*[normal(1000, 1000)] * 3, uniform(1000, 1000)), 0.3, 5e6),
    _graph("layer norm by hand, 1000×1000", _layer_norm, (normal(1000, 1000), normal(1000), normal(1000)), 0.3, 2e6),
    _graph("gelu(linear) + residual, 512×512→512", _residual_product,
           (normal(512, 512), normal(512, 512, scale=0.05), normal(512), normal(512, 512)), 0.9, 0.0, flops=2 * 512**3),
    _graph("dropout(relu(linear)), 512×512→512", _dropout_product,
           (normal(512, 512), normal(512, 512, scale=0.05), normal(512)), 0.7, 0.0, flops=2 * 512**3, exact=False),
    _graph("relu(layer_norm(x + residual)), 1000×1000", _residual_norm,
           (normal(1000, 1000), normal(1000, 1000), normal(1000), normal(1000)), 0.6, 3e6),
    _graph("rms_norm(x) * silu(gate), 1000×1000", _gated_norm, (normal(1000, 1000), normal(1000, 1000), normal(1000)), 0.3, 3e6),
    _folded_block(),
    ProcessCase("LeNet step", PEAK, (("training step, LeNet 64×1×28×28, compiled: peak memory", "B", 0.6),), rounds=2),
    *_capture("step of an MLP 64×784→128→10", 'networks["multilayer_perceptron"](torch, 784, 128, 10)',
              "torch.randn(64, 784), torch.randint(0, 10, (64,))", 3.0),
    *_capture("step of a language model 16×32, 1000 words, LSTM 128", 'networks["language_model"](torch, 1000, 128)',
              "torch.randint(0, 1000, (16, 32)), torch.randint(0, 1000, (16, 32))", 3.0),
]
if shutil.which("g++"):                                  # PyTorch compiles with it
    for steps, said in ((2, "after eager steps"), (0, "empty store")):
        CASES.append(ProcessCase(f"first call, {said}", FIRST_CALL.replace("EAGER", str(steps)), (
            (f"step of an MLP 64×784→128→10: first compiled call, {said}", "s", 0.3),
            (f"step of an MLP 64×784→128→10: first three calls, {said}", "s", 0.3)), rounds=1, store="empty", long=True,
            group="capturing"))
