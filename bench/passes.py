"""What each pass over graphs is worth: small programs in which it has something to do, compiled with all passes, beside the same
programs compiled with all but this one. Times, and for the passes that are about memory the bytes of a program."""
from __future__ import annotations

from contextlib import ExitStack
from unittest import mock

from .compile import _chain, _layer_norm, _masked_softmax, _residual_norm, _residual_product, settled
from .networks import mobilenet
from .runner.case import Case, ProcessCase, fill, normal, uniform
from .runner.networks import residual_block

WORTH = 0.98                                             # a pass is to save at least so much
_PASSES, _ROWS, _BLOCKS = "numtorch.jit.passes.", "numtorch.jit.passes.rowfusion.", "numtorch.jit.capturing.memory."
APART = "lambda sizes, first, last: ([sum(sizes[:i]) for i in range(len(sizes))], sum(sizes))"           # as `offsets_of` has it

# The functions that a pass is, and what they give where they do nothing.
OFF = {
    "dead code": {_PASSES + "dead_code": 0, _ROWS + "dead_code": 0},
    "common subexpressions": {_PASSES + "merge_subexpressions": 0},
    "constants": {_PASSES + "fold_constants": 0},
    "algebra": {_PASSES + "simplify": 0},
    "in place": {"numtorch.jit.compiling.executor.writes_in_place": {}},
    "elementwise fusion": {_PASSES + "fuse": 0},
    "row fusion": {_PASSES + "fuse_rows": 0},
    "kept dimensions": {_ROWS + "keep_dims": 0},
    "opened norms": {_ROWS + "open_norms": {}},
    "epilogues": {_PASSES + "fuse_biases": 0, _PASSES + "fuse_epilogues": 0},
    "norms folded": {_PASSES + "fold_norms": 0},
    "layouts": {_PASSES + "lay_out": 0},
    "checkpointing": {_PASSES + "recompute": "lambda graph, budget: 0"},
    "buffer planning": {_BLOCKS + "offsets_of": APART},
}


def _beside(off, name, compiled, inputs, **fields):
    """A case of a program with and without a pass: `compiled(torch, *inputs)` is what is timed."""
    def without(torch, *inputs):
        with ExitStack() as stack:
            for path, nothing in OFF[off].items():
                stack.enter_context(mock.patch(path, lambda *args, result=nothing, **options: result))
            return compiled(torch, *inputs)
    return Case(f"{off}: {name}", inputs, setup=compiled, budget=None, moved=0.0, group="time", others={"without": without},
                budgets={"without": WORTH}, **{"tolerance": 1e-3, **fields})


def _function(off, name, function, inputs, **fields):
    """A function that is compiled."""
    def compiled(torch, *inputs):
        def run(*given):
            return function(torch, *given)
        program = settled(torch, run, *inputs)
        return lambda: program(*inputs)
    return _beside(off, name, compiled, inputs, **fields)


def _inference(off, name, make, inputs, **fields):
    """A module that is made ready for inference."""
    def compiled(torch, *inputs):
        module = fill(torch, make(torch)).eval()
        with torch.no_grad():
            module = torch.jit.optimize_for_inference(torch.jit.trace(module, inputs))

        def infer():
            with torch.no_grad():
                return module(*inputs)
        return infer
    return _beside(off, name, compiled, inputs, **fields)


# ---------------------------------------------------------------- programs
def _unused_head(torch, x, weight, head):
    hidden = torch.tanh(x @ weight)
    torch.softmax(hidden @ head, -1)                     # nobody asks for it
    return hidden.sum(-1)


def _weight_twice(torch, x, weight):
    return torch.log_softmax(x @ weight, -1).sum(0), torch.softmax(x @ weight, -1).sum(0)


def _weight_normed(torch):
    class Normed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.direction = torch.nn.Parameter(torch.empty(1024, 1024))
            self.size = torch.nn.Parameter(torch.empty(1024, 1))

        def forward(self, x):
            weight = self.direction * (self.size / self.direction.norm(dim=1, keepdim=True))
            return torch.nn.functional.linear(x, weight)
    return Normed()


def _temperature(torch, x, weight, out, temperature=1.0):
    hidden = (x / temperature).cumsum(0)
    buffer = torch.empty_like(hidden)
    buffer.copy_(hidden)
    return (buffer @ weight) @ out


def _step_by_step(torch, x):
    out = torch.zeros_like(x)
    state = x[0]
    for i in range(16):
        state = (x[i] * 0.1 + state * 0.9 - 0.5).clamp(min=-1.0) * x[i] + state * 0.1
        out[i] = state
    return out


def _relu_product(torch, x, weight, bias):
    return torch.relu(torch.nn.functional.linear(x, weight, bias))


def _rows_without(torch, x, weight, bias):
    centred = x - x.mean(-1)[:, None]
    return centred / ((centred * centred).mean(-1) + 1e-5).sqrt()[:, None] * weight + bias


def _optimizer_step():
    """A step of AdamW on 16 parameters: by one optimiser, or by one for each."""
    def compiled(together):
        def setup(torch, x):
            parameters = [torch.nn.Parameter(each.clone()) for each in x]
            for parameter, grad in zip(parameters, x):
                parameter.grad = grad.clone()
            optimizers = [torch.optim.AdamW(group) for group in ([parameters] if together else [[each] for each in parameters])]

            def step():
                for optimizer in optimizers:
                    optimizer.step()
                return parameters
            program = torch.compile(step, mode="replay")
            for _ in range(4):                           # as many on both sides, of which the next one's results are compared
                program()
            return program
        return setup
    return Case("optimiser steps: AdamW of 16×64×64 as one", (normal(16, 64, 64),), setup=compiled(True), budget=None, moved=0.0,
                group="time", others={"without": compiled(False)}, budgets={"without": WORTH})


# ---------------------------------------------------------------- memory
MEMORY = """
import {module} as torch
from unittest import mock
nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)
model = nn.Sequential(*[nn.Sequential(nn.LayerNorm(128), nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)) for _ in range(4)])
parameters, x = list(model.parameters()), torch.randn(512, 128)
def step(x):
    loss = F.mse_loss(model(x), x)
    return loss, *torch.autograd.grad(loss, parameters)
expected, end = step(x), time.monotonic() + 120
with mock.patch("PATH", NOTHING) if "{side}" == "without" else mock.MagicMock():
    compiled = torch.compile(step, memory_budget=BUDGET)
    compiled(x), compiled(x), compiled(x)
    while not torch.compile.explain(compiled)(x).settled and time.monotonic() < end:
        compiled(x)
for ours, wanted in zip(compiled(x), expected):
    torch.testing.assert_close(ours, wanted, rtol=1e-3, atol=1e-5)
report(torch.compile.explain(compiled)(x).bytes)
"""


def _memory(off, name, budget):
    (path, nothing), = OFF[off].items()
    source = MEMORY.replace("PATH", path).replace("NOTHING", nothing).replace("BUDGET", str(budget))
    return ProcessCase(off, source, ((f"{off}: {name}", "B", None),), ("numtorch", "without"), rounds=1, group="memory",
                       budgets={"without": WORTH})


_MATRICES = (normal(512, 512), normal(512, 512, scale=0.05), normal(512, 512, scale=0.05))
_LARGE, _ROW = normal(1000, 1000), normal(1000)

CASES = [
    _function("dead code", "a head that is not used, 512×512", _unused_head, _MATRICES),
    _function("common subexpressions", "a product taken twice, 512×512", _weight_twice, _MATRICES[:2]),
    _inference("constants", "normed weights, 8×1024→1024", _weight_normed, (normal(8, 1024),)),
    _function("algebra", "a temperature of 1 and a copied buffer, 512×512", _temperature, _MATRICES),
    _function("in place", "a buffer filled step by step, 16×512×512", _step_by_step, (normal(16, 512, 512),)),
    _function("elementwise fusion", "ten ops, 1000×1000", _chain, (_LARGE, _LARGE)),
    _function("row fusion", "softmax(a * b + c) * mask, 1000×1000", _masked_softmax, (*[_LARGE] * 3, uniform(1000, 1000))),
    _function("row fusion", "layer norm by hand, 1000×1000", _layer_norm, (_LARGE, _ROW, _ROW)),
    _function("kept dimensions", "layer norm by hand without keepdim, 1000×1000", _rows_without, (_LARGE, _ROW, _ROW)),
    _function("opened norms", "relu(layer_norm(x + residual)), 1000×1000", _residual_norm, (_LARGE, _LARGE, _ROW, _ROW)),
    _function("epilogues", "relu(linear), 4096×64→1024", _relu_product, (normal(4096, 64), normal(1024, 64), normal(1024))),
    _function("epilogues", "gelu(linear) + residual, 2048×256→1024", _residual_product,
              (normal(2048, 256), normal(1024, 256, scale=0.05), normal(1024), normal(2048, 1024))),
    _inference("norms folded", "ResNet-18 block, 8×64×56×56", lambda torch: residual_block(torch, 64), (normal(8, 64, 56, 56),),
               tolerance=1e-2, corners=True),
    _inference("layouts", "MobileNet, 8×3×96×96", mobilenet, (normal(8, 3, 96, 96),), tolerance=1e-2, corners=True),
    _optimizer_step(),
    _memory("checkpointing", "a step of four blocks, half of the memory wanted", 0.5),
    _memory("buffer planning", "a step of four blocks", 1.0),
]
