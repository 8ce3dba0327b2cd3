"""Super-resolution by a network that computes in the small image and shuffles pixels at its end (Shi et al. 2016).

    python examples/super_resolution.py [--steps 400] [--out super_resolution.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


def scenes(rng, count, size):
    """Pictures (N, 1, size, size) of discs and stripes with sharp edges."""
    y, x = np.mgrid[:size, :size] / size
    pictures = np.zeros((count, size, size), np.float32)
    for picture in pictures:
        angle, width = rng.uniform(0, np.pi), rng.uniform(0.1, 0.3)
        picture += 0.4 * (((x * np.cos(angle) + y * np.sin(angle)) / width) % 1 < 0.5)
        for _ in range(3):
            inside = (x - rng.uniform()) ** 2 + (y - rng.uniform()) ** 2 < rng.uniform(0.05, 0.3) ** 2
            picture[inside] = rng.uniform()
    return pictures[:, None]


class Enlarger(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, width, 5, padding=2), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
                                    nn.Conv2d(width, 4, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        return F.interpolate(x, scale_factor=2, mode="bilinear") + self.layers(x)


def build(small=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    model = Enlarger(4 if small else 32)
    size = 8 if small else 32
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 2e-3), rng=rng, batch_size=4 if small else 16,
                           pictures=torch.tensor(scenes(rng, 16 if small else 512, size)))


def step(task):
    large, = harness.batch_of(task, task.pictures)
    loss = F.mse_loss(task.model(F.avg_pool2d(large, 2)), large)
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    return loss.item()


def draw(task, axes):
    large = torch.tensor(scenes(task.rng, 3, task.pictures.shape[-1]))
    with torch.no_grad():
        small = F.avg_pool2d(large, 2)
        plain, learned = F.interpolate(small, scale_factor=2, mode="bilinear"), task.model(small)
    harness.grid(axes, torch.stack([plain, learned, large], 1).reshape(-1, *large.shape[-2:]).numpy(), 3, "bilinear, learned, true")


if __name__ == "__main__":
    harness.run("super-resolution", build, step, draw, steps=400)
