"""A convolutional network over raw sound, as for spoken commands (Dai et al. 2017), tells synthesised tones apart.

    python examples/tones.py [--steps 300] [--out tones.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim

KINDS = ("sine", "square", "sawtooth", "rising", "falling", "tremolo", "chord", "noise")
LENGTH = 2000                                            # samples, a quarter of a second


def tones(rng, count):
    """Sounds (N, 1, 2000) of any pitch and loudness with some noise, and their kinds (N)."""
    t = np.arange(LENGTH) / 8000
    kinds = rng.integers(len(KINDS), size=count)
    sounds = np.zeros((count, LENGTH))
    for sound, kind in zip(sounds, kinds):
        pitch, phase = rng.uniform(200, 800), rng.uniform()
        turns = pitch * t + phase
        bend = pitch * t * t
        sound += rng.uniform(0.3, 1) * (
            np.sin(2 * np.pi * turns), np.sign(np.sin(2 * np.pi * turns)), 2 * (turns % 1) - 1, np.sin(2 * np.pi * (turns + bend)),
            np.sin(2 * np.pi * (2 * turns - bend * 2)), np.sin(2 * np.pi * turns) * (1 + np.sin(2 * np.pi * 20 * t)) / 2,
            (np.sin(2 * np.pi * turns) + np.sin(2.5 * np.pi * turns) + np.sin(3 * np.pi * turns)) / 3,
            rng.standard_normal(LENGTH))[kind]
    sounds += 0.1 * rng.standard_normal(sounds.shape)
    return torch.tensor(sounds[:, None], dtype=torch.float32), torch.tensor(kinds)


def network(width):
    def block(channels, out, kernel, stride=1):
        return [nn.Conv1d(channels, out, kernel, stride), nn.BatchNorm1d(out), nn.ReLU(), nn.MaxPool1d(4)]
    return nn.Sequential(*block(1, width, 80, 4), *block(width, width, 3), *block(width, 2 * width, 3),
                         nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(2 * width, len(KINDS)))


def build(small=False, seed=0):
    torch.manual_seed(seed)
    model = network(4 if small else 32)
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 5e-3), rng=np.random.default_rng(seed),
                           batch_size=4 if small else 48)


def step(task):
    sounds, kinds = tones(task.rng, task.batch_size)
    loss = F.cross_entropy(task.model(sounds), kinds)
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    return loss.item()


def draw(task, axes):
    task.model.eval()
    sounds, kinds = tones(task.rng, 400)
    with torch.no_grad():
        guesses = task.model(sounds).argmax(1)
    confusion = np.zeros((len(KINDS), len(KINDS)))
    np.add.at(confusion, (kinds.numpy(), guesses.numpy()), 1)
    axes.imshow(confusion, cmap="Blues")
    axes.set_xticks(range(len(KINDS)), KINDS, rotation=90, fontsize=6)
    axes.set_yticks(range(len(KINDS)), KINDS, fontsize=6)
    axes.set_title(f"{(guesses == kinds).float().mean().item():.1%} of 400 new tones right", fontsize=9)


if __name__ == "__main__":
    harness.run("tones", build, step, draw, steps=300)
