"""Metric learning: triplets mined by masks, contrastive losses, cosine similarity, k nearest neighbours, a proxy per class."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from drawn import data, fill

net = fill(nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Hardswish(), nn.Linear(16, 4)))
proxies = nn.Parameter(data(7, 3, 4))
optimizer = torch.optim.Adamax([{"params": net.parameters()}, {"params": [proxies], "lr": 0.02}], lr=0.01)
triplet, embedding = nn.TripletMarginLoss(margin=0.5, swap=True), nn.CosineEmbeddingLoss(margin=0.2)
distance = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: 1 - F.cosine_similarity(a, b))
labels = torch.arange(12) % 3
losses = []
for step in range(6):
    x = data(step, 12, 6) + labels[:, None]
    z = F.normalize(net(x), dim=1)
    apart = torch.cdist(z, z)
    same = labels[:, None] == labels
    far = torch.where(same, apart, -torch.inf).argmax(1)
    near = apart.masked_fill(same, torch.inf).argmin(1)
    info = F.cross_entropy((z @ z.T / 0.1).fill_diagonal_(-1e9), torch.roll(torch.arange(12), 3))
    proxy = F.cross_entropy(z @ F.normalize(proxies).t() * 4, labels)
    loss = triplet(z, z[far], z[near]) + distance(z, z[far], z[near]) + embedding(z, z.flip(0), torch.where(labels == labels.flip(0), 1, -1)) + info + proxy
    loss = loss + F.margin_ranking_loss(apart[0], apart[1], torch.sign(data(step + 9, 12)), margin=0.1) + F.pairwise_distance(z[:6], z[6:]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    values, neighbours = apart.detach().topk(3, largest=False)
    losses += [loss.item(), values.sum().item(), float(labels[neighbours].mode(1)[0].eq(labels).sum())]
