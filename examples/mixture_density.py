"""A mixture density network (Bishop 1994): where one question has several answers, it gives all of them.

    python examples/mixture_density.py [--steps 1500] [--out mixture_density.png]
"""
import math
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
from numtorch import nn, optim


class Mixture(nn.Module):
    def __init__(self, hidden, parts=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.weight, self.mean, self.log_scale = (nn.Linear(hidden, parts) for _ in range(3))

    def forward(self, x):
        hidden = self.body(x)
        return self.weight(hidden).log_softmax(1), self.mean(hidden), self.log_scale(hidden)


def build(small=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    y = rng.uniform(-1, 1, (1000, 1))
    x = y + 0.3 * np.sin(2 * np.pi * y) + rng.normal(0, 0.05, y.shape)         # up to three y for one x
    model = Mixture(8 if small else 64)
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 3e-3), rng=rng, batch_size=16 if small else 200,
                           x=torch.tensor(x, dtype=torch.float32), y=torch.tensor(y, dtype=torch.float32))


def step(task):
    x, y = harness.batch_of(task, task.x, task.y)
    weight, mean, log_scale = task.model(x)
    distance = (y - mean) * (-log_scale).exp()
    loss = -(weight - log_scale - 0.5 * distance.square() - 0.5 * math.log(2 * math.pi)).logsumexp(1).mean()
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    return loss.item()


def draw(task, axes):
    places = torch.linspace(-1.2, 1.2, 300).unsqueeze(1)
    with torch.no_grad():
        weight, mean, log_scale = (part.numpy() for part in task.model(places))
    axes.plot(task.x.numpy(), task.y.numpy(), ".", markersize=1, color="0.7")
    chosen = [task.rng.choice(weight.shape[1], p=np.exp(row) / np.exp(row).sum()) for row in weight.astype(float)]
    rows = np.arange(len(chosen))
    scale = np.exp(log_scale[rows, chosen])
    axes.errorbar(places.numpy()[:, 0], mean[rows, chosen], scale, fmt=".", markersize=3, linewidth=0.4, color="C1")
    axes.set_title("data, and draws", fontsize=9)


if __name__ == "__main__":
    harness.run("mixture density", build, step, draw, steps=1500, log=False)
