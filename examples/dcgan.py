"""A generative adversarial network of convolutions (Radford, Metz and Chintala 2016) draws digits.

    python examples/dcgan.py [--steps 400] [--out dcgan.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim

LATENT = 16


def generator(width):
    return nn.Sequential(nn.ConvTranspose2d(LATENT, 2 * width, 4), nn.BatchNorm2d(2 * width), nn.ReLU(),
                         nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
                         nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Sigmoid())


def discriminator(width):
    return nn.Sequential(nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2),
                         nn.Conv2d(width, 2 * width, 4, 2, 1), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2),
                         nn.Conv2d(2 * width, 1, 4), nn.Flatten(0))


def build(small=False, seed=0):
    torch.manual_seed(seed)
    width = 4 if small else 32
    model = nn.ModuleDict({"generator": generator(width), "discriminator": discriminator(width)})
    images, _ = harness.digits()
    images = torch.tensor(harness.enlarged(images, 16).astype(np.float32)).unsqueeze(1)
    optimizers = [optim.Adam(model[name].parameters(), 1e-3, betas=(0.5, 0.999)) for name in model]
    return SimpleNamespace(model=model, optimizers=optimizers, images=images, rng=np.random.default_rng(seed),
                           batch_size=8 if small else 64)


def noise(task, count):
    return torch.tensor(task.rng.standard_normal((count, LATENT, 1, 1)), dtype=torch.float32)


def step(task):
    """One step of each; the loss of both together."""
    make, judge = task.model["generator"], task.model["discriminator"]
    real, = harness.batch_of(task, task.images)
    fake = make(noise(task, len(real)))
    task.optimizers[1].zero_grad()
    judged = F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()
    judged.backward()
    task.optimizers[1].step()
    task.optimizers[0].zero_grad()
    fooled = F.softplus(-judge(fake)).mean()
    fooled.backward()
    task.optimizers[0].step()
    return judged.item() + fooled.item()


def draw(task, axes):
    task.model.eval()
    with torch.no_grad():
        pictures = task.model["generator"](noise(task, 48)).squeeze(1).numpy()
    harness.grid(axes, pictures, 8, "drawn by the generator")


if __name__ == "__main__":
    harness.run("adversarial networks", build, step, draw, steps=400, label="both losses", log=False)
