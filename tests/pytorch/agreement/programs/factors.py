"""Models by linear algebra: whitening, differentiable SVD and eigenvectors, matrix exponentials, orthogonal layers, a Kalman filter."""
import torch
import torch.nn as nn
from drawn import data, fill
from torch.nn.utils.parametrizations import orthogonal

losses = []
layer = fill(nn.Linear(4, 4, bias=False))
rotation = orthogonal(nn.Linear(4, 4, bias=False), orthogonal_map="matrix_exp", use_trivialization=False)
with torch.no_grad():
    rotation.parametrizations.weight.original.copy_(data(7, 4, 4) * 0.2)
noise = nn.Parameter(torch.tensor(0.1))
optimizer = torch.optim.Adam([layer.weight, rotation.parametrizations.weight.original, noise], lr=0.02)
for step in range(5):
    x = data(step, 20, 4)
    h = rotation(layer(x))
    covariance = h.T @ h / 20 + 0.1 * torch.eye(4)
    values, vectors = torch.linalg.eigh(covariance)
    white = h @ (vectors * values.rsqrt()) @ vectors.T
    u, s, vh = torch.linalg.svd(x[:6] @ layer.weight, full_matrices=False)
    q, r = torch.linalg.qr(x[:5].T @ x[:5] + torch.eye(4))
    mean, spread, seen = torch.zeros(4), torch.eye(4), 0.0
    flow = torch.linalg.matrix_exp(0.1 * (layer.weight - layer.weight.T))
    for t in range(6):
        mean, spread = flow @ mean, flow @ spread @ flow.T + noise.exp() * torch.eye(4)
        gain = torch.linalg.solve(spread + torch.eye(4), spread, left=False)
        error = x[t] - mean
        seen = seen + error @ torch.linalg.solve(spread + torch.eye(4), error) + torch.linalg.slogdet(spread + torch.eye(4)).logabsdet
        mean, spread = mean + gain @ error, spread - gain @ spread
    loss = (white - x).square().mean() + s.log().sum() * 0.01 + r.diagonal().abs().log().sum() * 0.01 + 0.01 * seen + torch.linalg.cond(covariance) * 1e-3
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses += [loss.item(), noise.grad.item(), (rotation.weight @ rotation.weight.T - torch.eye(4)).abs().max().item() < 1e-10]
losses += [torch.linalg.pinv(x[:3]).norm().item(), torch.trapezoid(x.cumsum(0), dx=0.5, dim=0).sum().item(), torch.cov(x.T).logdet().item(),
           torch.linalg.matrix_norm(x, "nuc").item(), torch.einsum("bi,ij,cj->bc", x, layer.weight.detach(), x).trace().item(),
           torch.kron(x[:2], x[2:4]).sum().item(), torch.quantile(x, torch.tensor([0.1, 0.9]), dim=0).sum().item()]
