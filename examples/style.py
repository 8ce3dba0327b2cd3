"""A picture in the style of a texture: its pixels are the parameters, and Gram matrices of features are matched (Gatys, Ecker and
Bethge 2016). The features are those of random convolutions, which are enough for textures (Ustyuzhaninov et al. 2016).

    python examples/style.py [--steps 200] [--out style.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


def textures(size):
    """A texture of waves, and a picture of a disc and a bar: both (1, 1, size, size)."""
    y, x = np.mgrid[:size, :size] / size
    waves = 0.5 + 0.5 * np.sin(40 * (x + 0.05 * np.sin(25 * y)))
    picture = 0.8 * ((x - 0.35) ** 2 + (y - 0.4) ** 2 < 0.06) + 0.5 * ((x > 0.65) & (x < 0.85))
    return [torch.tensor(image[None, None], dtype=torch.float32) for image in (waves, picture)]


class Painting(nn.Module):
    def __init__(self, content, width):
        super().__init__()
        self.pixels = nn.Parameter(content.clone())
        self.layers = nn.ModuleList([nn.Conv2d(1, width, 7, padding=3), nn.Conv2d(width, width, 5, padding=2),
                                     nn.Conv2d(width, width, 3, padding=1)]).requires_grad_(False)

    def features(self, image):
        found = []
        for layer in self.layers:
            image = F.relu(layer(image))
            image = image / (image.square().mean().sqrt() + 1e-6)
            found.append(image)
        return found


def gram(features):
    flat = features.flatten(2)[0]
    return flat @ flat.t() / flat.shape[1]


def build(small=False, seed=0):
    torch.manual_seed(seed)
    style, content = textures(8 if small else 48)
    model = Painting(content, 4 if small else 24)
    return SimpleNamespace(model=model, style=style, content=content, grams=None, optimizer=optim.Adam([model.pixels], 0.03))


def step(task):
    if task.grams is None:
        with torch.no_grad():
            task.grams = [gram(f) for f in task.model.features(task.style)]
            task.kept = task.model.features(task.content)[-1]
    features = task.model.features(task.model.pixels)
    loss = sum(F.mse_loss(gram(f), wanted) for f, wanted in zip(features, task.grams)) + 0.02 * F.mse_loss(features[-1], task.kept)
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    return loss.item()


def draw(task, axes):
    pictures = torch.cat([task.content, task.style, task.model.pixels.detach()])[:, 0].clamp(0, 1).numpy()
    harness.grid(axes, pictures, 3, "content, style, both")


if __name__ == "__main__":
    harness.run("style", build, step, draw, steps=200)
