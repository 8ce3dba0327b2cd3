"""An activation of one's own in seven lines: snake (Ziyin, Hartwig and Ueda 2020), which goes on with waves where ReLU does not.

    python examples/own_activation.py [--steps 1500] [--out own_activation.png]

`@torch.pointwise` makes a function, a method, fused kernels for both directions and gradients of any order from the formula and its
derivative.
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


@torch.pointwise
def snake(x, *, a=1.0):
    """x + sin(a x)^2 / a, elementwise."""
    return x + torch.sin(a * x) * torch.sin(a * x) / a


@snake.derivative
def _(grad, x, a):
    return grad * (1 + torch.sin(2 * a * x))


class Net(nn.Module):
    def __init__(self, hidden, activation):
        super().__init__()
        self.activation = activation
        self.layers = nn.ModuleList([nn.Linear(1, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


def wave(x):
    return np.sin(x) + x / 5


def build(small=False, seed=0):
    torch.manual_seed(seed)
    x = np.linspace(-10, 10, 200)
    models = {"snake": Net(8 if small else 48, lambda x: snake(x, a=1.0)), "ReLU": Net(8 if small else 48, F.relu)}
    optimizers = [optim.AdamW(model.parameters(), 3e-3, weight_decay=0.01) for model in models.values()]
    return SimpleNamespace(models=models, optimizers=optimizers,
                           x=torch.tensor(x[:, None], dtype=torch.float32), y=torch.tensor(wave(x)[:, None], dtype=torch.float32))


def step(task):
    """One step of both networks; the loss of the one with the new activation."""
    losses = []
    for model, optimizer in zip(task.models.values(), task.optimizers):
        loss = F.mse_loss(model(task.x), task.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[0]


def draw(task, axes):
    x = np.linspace(-20, 20, 400)
    axes.plot(x, wave(x), color="0.8", linewidth=4, label="true")
    with torch.no_grad():
        for name, model in task.models.items():
            axes.plot(x, model(torch.tensor(x[:, None], dtype=torch.float32)).numpy(), linewidth=1, label=name)
    axes.axvspan(-10, 10, color="0.95", zorder=0)
    axes.legend(frameon=False, fontsize=7)
    axes.set_title("seen within the grey part", fontsize=9)


if __name__ == "__main__":
    harness.run("an activation of one's own", build, step, draw, steps=1500)
