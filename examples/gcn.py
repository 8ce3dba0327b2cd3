"""A graph convolutional network (Kipf and Welling 2017) on Zachary's karate club (1977): two labels are known, 32 are found.

    python examples/gcn.py [--steps 200] [--out gcn.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim

# Whom each member met, of those with a larger number.
FRIENDS = {0: "1 2 3 4 5 6 7 8 10 11 12 13 17 19 21 31", 1: "2 3 7 13 17 19 21 30", 2: "3 7 8 9 13 27 28 32", 3: "7 12 13",
           4: "6 10", 5: "6 10 16", 6: "16", 8: "30 32 33", 9: "33", 13: "33", 14: "32 33", 15: "32 33", 18: "32 33",
           19: "33", 20: "32 33", 22: "32 33", 23: "25 27 29 32 33", 24: "25 27 31", 25: "31", 26: "29 33", 27: "33",
           28: "31 33", 29: "32 33", 30: "32 33", 31: "32 33", 32: "33"}
FIRST_CLUB = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21]   # who went with the instructor


class GCN(nn.Module):
    def __init__(self, members, hidden):
        super().__init__()
        self.first, self.second = nn.Linear(members, hidden), nn.Linear(hidden, 2)

    def forward(self, adjacency):
        """Nobody has features: the input is the identity, and the first layer learns a vector of each member."""
        hidden = torch.tanh(adjacency @ self.first(torch.eye(len(adjacency))))
        return self.second(adjacency @ hidden), hidden


def build(small=False, seed=0):
    torch.manual_seed(seed)
    links = np.eye(34)
    for a, others in FRIENDS.items():
        for b in map(int, others.split()):
            links[a, b] = links[b, a] = 1
    degree = links.sum(1)
    model = GCN(34, 4 if small else 8)
    labels = torch.tensor([int(member not in FIRST_CLUB) for member in range(34)])
    optimizer = optim.Adam(model.parameters(), 0.02, weight_decay=5e-4)
    return SimpleNamespace(model=model, optimizer=optimizer, labels=labels, links=links,
                           adjacency=torch.tensor(links / np.sqrt(degree * degree[:, None]), dtype=torch.float32))


def step(task):
    logits, _ = task.model(task.adjacency)
    loss = F.cross_entropy(logits[[0, 33]], task.labels[[0, 33]])        # the instructor and the president
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    return loss.item()


def draw(task, axes):
    with torch.no_grad():
        logits, hidden = task.model(task.adjacency)
    guesses = logits.argmax(1)
    _, _, basis = np.linalg.svd(hidden.numpy() - hidden.numpy().mean(0))
    places = (hidden.numpy() - hidden.numpy().mean(0)) @ basis[:2].T
    for a, b in zip(*np.nonzero(np.triu(task.links, 1))):
        axes.plot(*places[[a, b]].T, color="0.8", linewidth=0.5, zorder=0)
    axes.scatter(*places.T, c=guesses.numpy(), cmap="coolwarm", s=25)
    for member in (0, 33):
        axes.annotate(str(member), places[member], fontsize=8)
    axes.set_title(f"{(guesses == task.labels).sum().item()} of 34 members right", fontsize=9)
    axes.axis("off")


if __name__ == "__main__":
    harness.run("graph convolution", build, step, draw, steps=200)
