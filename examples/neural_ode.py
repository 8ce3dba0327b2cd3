"""A neural differential equation (Chen et al. 2018): a network is the field that a spiral follows, and gradients pass through the
steps of the Runge-Kutta method.

    python examples/neural_ode.py [--steps 250] [--out neural_ode.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
from numtorch import nn, optim

DT = 0.1


class Field(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 2))

    def forward(self, y):
        return self.layers(y ** 3)


def follow(field, y, steps):
    """The places (steps + 1, N, 2) on the ways from y (N, 2)."""
    places = [y]
    for _ in range(steps):
        a = field(y)
        b = field(y + DT / 2 * a)
        c = field(y + DT / 2 * b)
        d = field(y + DT * c)
        y = y + DT / 6 * (a + 2 * b + 2 * c + d)
        places.append(y)
    return torch.stack(places)


def build(small=False, seed=0):
    torch.manual_seed(seed)
    turn = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    with torch.no_grad():
        truth = follow(lambda y: y ** 3 @ turn, torch.tensor([[2.0, 0.0]]), 20 if small else 150)[:, 0]
    model = Field(8 if small else 50)
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 5e-3), truth=truth,
                           rng=np.random.default_rng(seed), batch_size=4 if small else 24, length=2 if small else 10)


def step(task):
    starts = task.rng.integers(len(task.truth) - task.length, size=task.batch_size)
    wanted = torch.stack([task.truth[(starts + k).tolist()] for k in range(task.length + 1)])
    loss = (follow(task.model, wanted[0], task.length) - wanted).abs().mean()
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    return loss.item()


def draw(task, axes):
    with torch.no_grad():
        learned = follow(task.model, task.truth[:1], len(task.truth) - 1)[:, 0].numpy()
        grid = np.stack(np.meshgrid(np.linspace(-2.2, 2.2, 15), np.linspace(-2.2, 2.2, 15)), -1).reshape(-1, 2)
        field = task.model(torch.tensor(grid, dtype=torch.float32)).numpy()
    length = np.linalg.norm(field, axis=1, keepdims=True)
    axes.quiver(*grid.T, *(field / np.maximum(length, 1e-3)).T, color="0.8")
    axes.plot(*task.truth.numpy().T, color="C0", linewidth=1, label="true")
    axes.plot(*learned.T, color="C1", linewidth=1, label="learned")
    axes.legend(frameon=False, fontsize=7)


if __name__ == "__main__":
    harness.run("neural differential equation", build, step, draw, steps=250)
