"""A generator against a discriminator: two optimisers, detached samples, spectral norms, transposed convolution."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from drawn import data, fill
from torch.nn.utils.parametrizations import weight_norm

generator = fill(nn.Sequential(nn.Linear(6, 32), nn.Unflatten(1, (8, 2, 2)), nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.BatchNorm2d(4), nn.ReLU(True),
                               nn.ConvTranspose2d(4, 1, 4, 2, 1), nn.Tanh()), 1)
critic = nn.Sequential(nn.Conv2d(1, 6, 3, 2, 1), nn.LeakyReLU(0.2, inplace=True), weight_norm(nn.Conv2d(6, 8, 3, 2, 1)), nn.InstanceNorm2d(8, affine=True),
                       nn.Flatten(), nn.Linear(32, 1))
fill(critic, 2)
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizer_d = torch.optim.RMSprop(critic.parameters(), lr=1e-3, centered=True)
criterion = nn.BCEWithLogitsLoss()
losses = []
for step in range(6):
    real, noise = data(step, 5, 1, 8, 8), data(100 + step, 5, 6)
    fake = generator(noise)
    optimizer_d.zero_grad()
    loss_d = criterion(critic(real), torch.ones(5, 1)) + criterion(critic(fake.detach()), torch.zeros(5, 1))
    mixed = (0.3 * real + 0.7 * fake.detach()).requires_grad_()
    slope, = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    loss_d = loss_d + 0.1 * ((slope.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
    loss_d.backward()
    optimizer_d.step()
    optimizer_g.zero_grad(set_to_none=False)
    loss_g = F.softplus(-critic(fake)).mean()
    loss_g.backward()
    optimizer_g.step()
    losses += [loss_d.item(), loss_g.item()]
