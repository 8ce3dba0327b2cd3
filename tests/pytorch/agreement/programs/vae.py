"""A variational autoencoder by torch.distributions, with a KL term of a table and one of a formula, and a scheduler that anneals."""
import torch
import torch.distributions as D
from drawn import data, fill
from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 16), nn.ELU(), nn.Linear(16, 8))
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 12))

    def forward(self, x, noise):
        mean, log_scale = self.encoder(x).chunk(2, dim=-1)
        q = D.Independent(D.Normal(mean, log_scale.exp()), 1)
        z = mean + log_scale.exp() * noise
        return D.Independent(D.Bernoulli(logits=self.decoder(z)), 1), q, mean, log_scale


model = fill(VAE())
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05, amsgrad=True)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-2, total_steps=8)
prior = D.Independent(D.Normal(torch.zeros(4), torch.ones(4)), 1)
losses = []
for step in range(8):
    x = (data(step, 10, 12) > 0).double()
    p, q, mean, log_scale = model(x, data(50 + step, 10, 4))
    kl = D.kl_divergence(q, prior)
    torch.testing.assert_close(kl, 0.5 * (mean ** 2 + (2 * log_scale).exp() - 1 - 2 * log_scale).sum(-1))
    loss = (kl - p.log_prob(x)).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    losses += [loss.item(), scheduler.get_last_lr()[0]]
