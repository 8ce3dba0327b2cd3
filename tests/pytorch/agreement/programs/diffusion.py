"""A denoising step: a small U-Net with group norms, time embeddings, attention over pixels, an average of the weights, and sampling."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from drawn import data, fill, integers
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

STEPS = 20
betas = torch.linspace(1e-3, 0.2, STEPS)
kept = torch.cumprod(1 - betas, 0)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8))
        self.down, self.middle, self.up = nn.Conv2d(1, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, padding=1, padding_mode="circular"), nn.Conv2d(8, 8, 3, padding="same")
        self.norm, self.qkv, self.out = nn.GroupNorm(4, 8), nn.Conv2d(8, 24, 1), nn.Conv2d(9, 1, 3, 1, 1)

    def forward(self, x, t):
        rates = torch.exp(-torch.arange(4) / 2.0)
        angles = t[:, None] * rates
        time = self.time(torch.cat([angles.sin(), angles.cos()], -1))[..., None, None]
        h = F.silu(self.norm(self.down(x) + time))
        h = h + self.middle(F.dropout(h, 0.1, training=False))
        q, k, v = self.qkv(h).flatten(2).transpose(1, 2).reshape(x.size(0), -1, 3, 2, 4).permute(2, 0, 3, 1, 4)
        h = h + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).transpose(1, 2).view_as(h)
        h = self.up(F.interpolate(h, scale_factor=2, mode="bilinear", align_corners=False))
        return self.out(torch.cat([h, x], 1))


net = fill(UNet())
average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9))
optimizer = torch.optim.RAdam(net.parameters(), lr=5e-3)
losses = []
for step in range(6):
    x, noise, t = data(step, 4, 1, 8, 8), data(step + 50, 4, 1, 8, 8), integers(step, STEPS, 4)
    a = kept.gather(0, t).view(-1, 1, 1, 1)
    loss = F.mse_loss(net(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update_parameters(net)
    losses.append(loss.item())
with torch.inference_mode():
    x = data(99, 2, 1, 8, 8)
    for t in range(STEPS - 1, -1, -5):
        predicted = average(x, torch.full((2,), t))
        x = (x - betas[t] / (1 - kept[t]).sqrt() * predicted) / (1 - betas[t]).sqrt()
    losses.append(x.norm().item())
