"""A variational autoencoder (Kingma and Welling 2014) of handwritten digits, with a plane of codes.

    python examples/vae.py [--steps 1500] [--out vae.png]
"""
from types import SimpleNamespace

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


class VAE(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(hidden, 2), nn.Linear(hidden, 2)
        self.decoder = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def forward(self, x, noise):
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        return self.decoder(mean + noise * (0.5 * log_variance).exp()), mean, log_variance


def build(small=False, seed=0):
    torch.manual_seed(seed)
    model = VAE(16 if small else 256)
    images, labels = harness.digits()
    return SimpleNamespace(model=model, optimizer=optim.Adam(model.parameters(), 2e-3),
                           images=torch.tensor(images).flatten(1), labels=labels,
                           rng=np.random.default_rng(seed), batch_size=16 if small else 128)


def step(task):
    x, = harness.batch_of(task, task.images)
    noise = torch.tensor(task.rng.standard_normal((len(x), 2)), dtype=torch.float32)
    reconstruction, mean, log_variance = task.model(x, noise)
    likelihood = F.binary_cross_entropy_with_logits(reconstruction, x, reduction="sum")
    divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
    loss = (likelihood + divergence) / len(x)
    task.optimizer.zero_grad()
    loss.backward()
    task.optimizer.step()
    return loss.item()


def draw(task, axes):
    with torch.no_grad():
        codes = task.model.mean(task.model.encoder(task.images)).numpy()
        places = np.linspace(2, -2, 10)
        plane = np.stack(np.meshgrid(places[::-1], places), -1).reshape(-1, 2)
        pictures = task.model.decoder(torch.tensor(plane, dtype=torch.float32)).sigmoid().reshape(-1, 8, 8).numpy()
    axes[0].scatter(*codes.T, c=task.labels, cmap="tab10", s=2)
    axes[0].set_title("codes of the digits", fontsize=9)
    harness.grid(axes[1], pictures, 10, "what lies in the plane")


if __name__ == "__main__":
    harness.run("variational autoencoder", build, step, draw, steps=1500, panels=2)
