"""Layers and networks as they are used: forward passes and training steps."""
from __future__ import annotations

from .runner.case import Case, integers, module_case, normal, step_case
from .runner.networks import language_model, lenet, multilayer_perceptron, residual_block, resnet18


def _cross_entropy(torch, output, target):
    return torch.nn.functional.cross_entropy(output, target.reshape(-1))


def _mean_square(torch, output, target):
    return torch.nn.functional.mse_loss(output, target)


def _adam(torch, parameters):
    return torch.optim.Adam(parameters, lr=1e-3)


# ---------------------------------------------------------------- recurrent networks
def _recurrent(kind, inputs=(32, 64, 128), hidden=128, **more):
    n, t, width = inputs
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    options = "".join(f", {k}={v}" for k, v in more.items())
    directions, layers = 2 if more.get("bidirectional") else 1, more.get("num_layers", 1)
    inputs_of = [width] + [directions * hidden] * (layers - 1)
    flops = sum(2.0 * n * t * gates * hidden * (features + hidden) * directions for features in inputs_of)
    return [module_case(f"{kind}({width}, {hidden}{options}), {n}×{t}×{width}",
                        lambda torch: getattr(torch.nn, kind)(width, hidden, batch_first=True, **more), (normal(n, t, width),),
                        trained=trained, pick=lambda result: result[0], budget=0.6 if trained else 0.9,
                        flops=flops * (3 if trained else 1), tolerance=1e-3, group="recurrent") for trained in (False, True)]


def _cell(kind, trained):
    """A cell in the middle of a sequence: its states are inputs, with gradients."""
    states = 2 if kind == "LSTMCell" else 1

    def make(torch):
        class Step(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = getattr(torch.nn, kind)(128, 128)

            def forward(self, x, *h):
                return self.cell(x, h)[0] if states == 2 else self.cell(x, *h)
        return Step()
    return module_case(f"{kind}(128, 128), 8×128", make, (normal(8, 128),) * (1 + states), trained=trained,
                       budget=0.5 if trained else 0.9, tolerance=1e-3, group="recurrent")


def _lstm_formula(trained):
    """An LSTM cell written in ordinary ops, as a user would."""
    def setup(torch, x, h, c, w_input, w_hidden, b_input, b_hidden):
        weights = [w_input, w_hidden, b_input, b_hidden]
        if trained:
            for weight in weights:
                weight.requires_grad_()
        linear = torch.nn.functional.linear

        def run():
            gates = linear(x, w_input, b_input) + linear(h, w_hidden, b_hidden)
            take, keep, candidate, show = gates.chunk(4, 1)
            cell = torch.sigmoid(keep) * c + torch.sigmoid(take) * torch.tanh(candidate)
            hidden = torch.sigmoid(show) * torch.tanh(cell)
            return torch.autograd.grad(hidden.sum(), weights) if trained else hidden
        return run
    shapes = [(8, 128), (8, 128), (8, 128), (512, 128), (512, 128), (512,), (512,)]
    return Case("LSTM cell 8×128 as a formula, forward" + (" and backward" if trained else ""),
                tuple(normal(*s, scale=0.2) for s in shapes), setup=setup, budget=0.5 if trained else 0.9, moved=0.0,
                tolerance=1e-3, group="recurrent")


# ---------------------------------------------------------------- transformers
def _encoder_layer(trained):
    return module_case("TransformerEncoderLayer(256, 4, 1024), 8×128×256",
                       lambda torch: torch.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True),
                       (normal(8, 128, 256),), trained=trained, tolerance=1e-3, group="transformer",
                       flops=(3 if trained else 1) * 2.0 * 8 * 128 * (4 * 256 * 256 + 2 * 256 * 1024 + 2 * 128 * 256))


def _blocks(trained):
    return module_case("ResNet-18 block, 8×64×56×56", lambda torch: residual_block(torch, 64), (normal(8, 64, 56, 56),),
                       trained=trained, flops=(3 if trained else 1) * 2 * 2.0 * 8 * 56 * 56 * 64 * 64 * 9, tolerance=1e-2,
                       corners=True, group="convolutional")


CASES = [
    module_case("MLP 64×784→128→10", lambda torch: multilayer_perceptron(torch, 784, 128, 10), (normal(64, 784),),
                tolerance=1e-3, group="perceptron"),
    step_case("training step, MLP 128×784→512→512→10, Adam", lambda torch: multilayer_perceptron(torch, 784, 512, 512, 10),
              (normal(128, 784), integers(128, high=10)), loss=_cross_entropy, optimizer=_adam, group="perceptron", tolerance=1e-3),
    module_case("LeNet 64×1×28×28", lenet, (normal(64, 1, 28, 28),), tolerance=1e-3, budget=0.8, group="convolutional"),
    step_case("training step, LeNet 64×1×28×28", lenet, (normal(64, 1, 28, 28), integers(64, high=10)), loss=_cross_entropy,
              budget=0.8, tolerance=1e-3, group="convolutional"),
    _blocks(False), _blocks(True),
    step_case("training step, ResNet-18 4×3×64×64", lambda torch: resnet18(torch, 10), (normal(4, 3, 64, 64), integers(4, high=10)),
              loss=_cross_entropy, tolerance=1e-2, group="convolutional"),
    _lstm_formula(False), _lstm_formula(True), _cell("LSTMCell", False), _cell("LSTMCell", True), _cell("GRUCell", True),
    *_recurrent("LSTM"), *_recurrent("LSTM", (8, 32, 64), 256), *_recurrent("LSTM", num_layers=2, bidirectional=True),
    *_recurrent("GRU"), *_recurrent("RNN"),
    step_case("training step, language model 16×32, 1000 words, LSTM 128", lambda torch: language_model(torch, 1000, 128),
              (integers(16, 32, high=1000), integers(16, 32, high=1000)), loss=_cross_entropy, optimizer=_adam, tolerance=1e-3,
              group="recurrent"),
    _encoder_layer(False), _encoder_layer(True),
]
