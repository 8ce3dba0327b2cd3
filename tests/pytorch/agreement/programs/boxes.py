"""A detector's parts: anchors by meshgrid, overlaps, matches, focal loss, suppression in a loop, crops by grid_sample, deformed offsets."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from drawn import data, fill, integers


def overlap(a, b):
    low, high = torch.maximum(a[:, None, :2], b[None, :, :2]), torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inside = (high - low).clamp_min(0).prod(-1)
    area = lambda t: (t[:, 2:] - t[:, :2]).prod(-1)
    return inside / (area(a)[:, None] + area(b)[None] - inside)


def suppressed(boxes, scores, limit=0.4):
    order, kept = scores.argsort(descending=True), []
    while order.numel():
        kept.append(order[0].item())
        order = order[1:][overlap(boxes[order[:1]], boxes[order[1:]])[0] <= limit]
    return torch.tensor(kept)


ys, xs = torch.meshgrid(torch.arange(4) + 0.5, torch.arange(4) + 0.5, indexing="ij")
centres = torch.stack([xs, ys], -1).view(-1, 2) * 2
anchors = torch.cat([centres - 1.5, centres + 1.5], 1)
net = fill(nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.GroupNorm(2, 8), nn.Hardswish(), nn.Conv2d(8, 8, 3, padding=2, dilation=2), nn.Mish(), nn.Conv2d(8, 7, 1)))
optimizer = torch.optim.RMSprop(net.parameters(), lr=3e-3, momentum=0.5, alpha=0.9)
losses = []
for step in range(5):
    x = data(step, 2, 3, 8, 8)
    corner = integers(step + 20, 5, 2, 3, 2).double()
    truth, classes = torch.cat([corner, corner + 2.5], -1), integers(step + 30, 3, 2, 3)
    out = net(x).flatten(2).transpose(1, 2)
    loss = 0.0
    for scores, shifts, boxes, kinds in zip(out[..., :3], out[..., 3:], truth, classes):
        best, match = overlap(anchors, boxes).max(1)
        positive = best > 0.25
        wanted = torch.zeros_like(scores).index_put_((positive.nonzero().squeeze(1), kinds[match[positive]]), torch.tensor(1.0))
        p = scores.sigmoid()
        focal = F.binary_cross_entropy_with_logits(scores, wanted, reduction="none") * torch.where(wanted > 0, 1 - p, p).detach() ** 2
        loss = loss + focal.sum() / positive.sum().clamp(min=1)
        if positive.any():
            loss = loss + F.smooth_l1_loss(shifts[positive], (boxes[match] - anchors)[positive], beta=0.5)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0, norm_type=float("inf"))
    optimizer.step()
    kept = suppressed(anchors + out[0, :, 3:].detach(), out[0, :, :3].detach().amax(1))
    losses += [loss.item(), float(kept.numel()), float((kept * torch.arange(1, kept.numel() + 1)).sum())]
grid = torch.stack(torch.meshgrid(torch.linspace(-1.2, 1.2, 5), torch.linspace(-1, 1, 4), indexing="xy"), -1)[None].requires_grad_()
crop = F.grid_sample(x[:1], grid, mode="bicubic", padding_mode="reflection", align_corners=True)
losses += [crop.sum().item(), torch.autograd.grad(crop.square().sum(), grid)[0].norm().item(),
           F.interpolate(x, (5, 11), mode="bicubic", antialias=True).abs().sum().item(), F.fold(F.unfold(x, 3, padding=1), (8, 8), 3, padding=1).sum().item()]
