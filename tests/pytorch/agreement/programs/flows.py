"""A normalising flow: masked layers, coupling by chunks, distributions of transforms, mixtures, constraints to unconstrained parameters."""
import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F
from drawn import data, fill
from torch.distributions import constraints, transform_to
from torch.nn.utils import parametrize


class Lower(nn.Module):
    def forward(self, x):
        return x.tril(-1) + torch.eye(x.size(-1))


class Coupling(nn.Module):
    def __init__(self, flipped):
        super().__init__()
        self.net, self.mix, self.flipped = nn.Sequential(nn.Linear(2, 12), nn.SiLU(), nn.Linear(12, 4)), nn.Linear(4, 4, bias=False), flipped
        parametrize.register_parametrization(self.mix, "weight", Lower())

    def forward(self, x):
        x = self.mix(x)
        a, b = x.chunk(2, -1)
        if self.flipped:
            a, b = b, a
        shift, scale = self.net(a).chunk(2, -1)
        scale = torch.tanh(scale)
        b = b * scale.exp() + shift
        return torch.cat([b, a] if self.flipped else [a, b], -1), scale.sum(-1)


flow = fill(nn.ModuleList([Coupling(i % 2 == 1) for i in range(3)]))
loose = nn.Parameter(data(8, 4) * 0.1)
weights = nn.Parameter(torch.zeros(3))
centres = nn.Parameter(data(9, 3, 4))
optimizer = torch.optim.SGD([*flow.parameters(), loose, weights, centres], lr=0.05)
losses = []
for step in range(5):
    x = data(step, 16, 4).mul(0.5).exp()
    z, total = x.log(), -x.log().sum(-1)
    for layer in flow:
        z, change = layer(z)
        total = total + change
    scale = transform_to(constraints.positive)(loose)
    base = D.MixtureSameFamily(D.Categorical(logits=weights), D.Independent(D.Normal(centres, scale.expand(3, 4)), 1))
    loss = -(base.log_prob(z) + total).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
warped = D.TransformedDistribution(D.Normal(torch.zeros(4), 1.0), [D.transforms.AffineTransform(0.5, 2.0), D.transforms.SigmoidTransform()])
losses += [warped.log_prob(torch.tensor([0.2, 0.5, 0.7, 0.9])).sum().item(), D.StudentT(3.0, 0.1, 2.0).log_prob(data(1, 5)).sum().item(),
           D.Dirichlet(torch.tensor([0.5, 2.0, 3.0])).entropy().item(), D.kl_divergence(D.Gamma(2.0, 1.5), D.Gamma(1.0, 0.5)).item(),
           D.LKJCholesky(3, 1.5).log_prob(torch.linalg.cholesky(0.9 * torch.eye(3) + 0.1)).item()]
losses.append(F.gumbel_softmax(data(2, 3, 4), tau=0.5, hard=True).sum().item())
