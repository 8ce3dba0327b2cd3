"""A siamese network (Hadsell, Chopra and LeCun 2006): digits of one kind are led to one place of a plane, others apart.

    python examples/siamese.py [--steps 600] [--out siamese.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


def build(small=False, seed=0):
    torch.manual_seed(seed)
    width = 4 if small else 16
    model = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * width, 4 * width), nn.ReLU(), nn.Linear(4 * width, 2))
    images, labels = harness.digits()
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 2e-3), images=torch.tensor(images).unsqueeze(1),
                           labels=torch.tensor(labels), rng=np.random.default_rng(seed), batch_size=8 if small else 64)


def step(task):
    first, kind = harness.batch_of(task, task.images, task.labels)
    second, other = harness.batch_of(task, task.images, task.labels)
    codes = task.model(torch.cat([first, second]))       # both through the same network, at once
    distance = F.pairwise_distance(codes[:len(first)], codes[len(first):])
    same = (kind == other).float()
    loss = (4 * same * distance.square() + (1 - same) * F.relu(2 - distance).square()).mean()
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    return loss.item()


def draw(task, axes):
    with torch.no_grad():
        codes = task.model(task.images).numpy()
    axes.scatter(*codes.T, c=task.labels.numpy(), cmap="tab10", s=2)
    for kind in range(10):
        axes.annotate(str(kind), codes[task.labels.numpy() == kind].mean(0), fontsize=9)
    axes.set_title("where the digits are", fontsize=9)


if __name__ == "__main__":
    harness.run("siamese network", build, step, draw, steps=600)
