"""Handwritten digits, by a multilayer perceptron and by a small convolutional network.

    python examples/digits.py [--epochs 30] [--seed 0] [--out digits.png]

Trains both on 80 % of the 1797 digits that come with numtorch, prints the accuracy on the rest, and draws the losses and some
predictions. On a terminal it shows its progress.
"""
import argparse
import sys
import time

import matplotlib
import numpy as np
from tqdm import tqdm

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim
from numtorch.data import DataLoader, TensorDataset, digits_split

matplotlib.use("Agg")
from matplotlib import pyplot  # after the backend is chosen


def perceptron():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def convnet():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 4 * 4, 10))


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(dim=1) == labels).sum().item()
    model.train()
    return right / len(labels)


def train(name, model, training, test, epochs):
    """Train a model; returns the loss of every batch and the final accuracy on the test digits."""
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    loader = DataLoader(TensorDataset(*training), batch_size=64, shuffle=True)
    losses, start = [], time.perf_counter()
    with tqdm(total=epochs * len(loader), desc=name, disable=not sys.stderr.isatty(), leave=False) as bar:
        for _ in range(epochs):
            for images, labels in loader:
                loss = F.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                bar.update()
            schedule.step()
            bar.set_postfix(loss=f"{np.mean(losses[-len(loader):]):.3f}", accuracy=f"{accuracy(model, *test):.1%}")
    reached = accuracy(model, *test)
    print(f"{name}: {reached:.2%} of {len(test[1])} test digits right after {epochs} epochs, {time.perf_counter() - start:.1f} s",
          flush=True)
    return losses, reached


def draw(curves, model, test, path):
    """The losses on top, and below them test digits with what the model takes them for."""
    figure = pyplot.figure(figsize=(9, 5.5), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=(3, 2))
    axes = upper.subplots()
    for name, losses in curves.items():
        width = 20
        axes.plot(np.convolve(losses, np.ones(width) / width, mode="valid"), label=name)
    axes.set(xlabel="step", ylabel="cross entropy (mean of 20 steps)", yscale="log", title="Training loss")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    images, labels = test
    model.eval()
    with torch.no_grad():
        guesses = model(images).argmax(dim=1)
    wrong = np.flatnonzero((guesses != labels).numpy())[:6]
    shown = [*wrong, *[i for i in range(24) if i not in wrong]][:18]
    for axis, number in zip(lower.subplots(2, 9).flat, shown):
        axis.imshow(images[int(number), 0].numpy(), cmap="gray_r")
        guess, label = guesses[int(number)].item(), labels[int(number)].item()
        axis.set_title(str(guess) if guess == label else f"{guess} (is {label})", color="black" if guess == label else "crimson",
                       fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="digits.png", help="where to draw the losses and some predictions")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    training_images, training_labels, *test = digits_split()
    curves = {}
    for name, model in (("perceptron", perceptron()), ("convnet", convnet())):
        curves[name], _ = train(name, model, (training_images, training_labels), test, arguments.epochs)
    draw(curves, model, test, arguments.out)
    print(f"losses and predictions: {arguments.out}")


if __name__ == "__main__":
    main()
