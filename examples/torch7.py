"""Torch7's way: modules that are told to go forward and backward, and one vector of all weights for an optimiser (docs/legacy.md).

    python examples/torch7.py [--steps 1000] [--out torch7.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
from numtorch.legacy import nn, optim


def build(small=False, seed=0):
    torch.manual_seed(seed)
    width = 4 if small else 16
    net = nn.Sequential()
    net.add(nn.SpatialConvolution(1, width, 3, 3)).add(nn.ReLU()).add(nn.SpatialMaxPooling(2, 2, 2, 2))
    net.add(nn.View(-1, width * 9)).add(nn.Linear(width * 9, 10)).add(nn.LogSoftMax())
    images, labels = harness.digits()
    weights, gradients = net.flattenParameters()
    return SimpleNamespace(net=net, criterion=nn.ClassNLLCriterion(), weights=weights, gradients=gradients, state={},
                           images=torch.tensor(images).unsqueeze(1), labels=torch.tensor(labels), rng=np.random.default_rng(seed),
                           batch_size=8 if small else 64, accuracies=[])


def step(task):
    images, labels = harness.batch_of(task, task.images[:1500], task.labels[:1500])

    def opfunc(weights):
        task.net.zeroGradParameters()
        loss = task.criterion.forward(task.net.forward(images), labels)
        task.net.backward(images, task.criterion.backward(task.net.output, labels))
        return loss, task.gradients

    _, loss = optim.adam(opfunc, task.weights, {"learningRate": 3e-3}, task.state)
    return float(loss)


def draw(task, axes):
    task.net.evaluate()
    images, labels = task.images[1500:], task.labels[1500:]
    guesses = task.net.forward(images).argmax(1)
    wrong = [i for i in range(len(labels)) if guesses[i].item() != labels[i].item()]
    shown = (wrong + [i for i in range(len(labels)) if i not in wrong])[:40]
    harness.grid(axes, images[shown, 0].numpy(), 8, f"{1 - len(wrong) / len(labels):.1%} right; the hardest first")


if __name__ == "__main__":
    harness.run("Torch7's way", build, step, draw, steps=1000)
