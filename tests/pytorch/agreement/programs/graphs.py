"""Message passing by scatter, sparse adjacency, segment softmax: node classification on a random graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from drawn import data, fill, integers

NODES, EDGES = 12, 40
source, target = integers(1, NODES, EDGES), integers(2, NODES, EDGES)


class Attention(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.weight, self.a = nn.Linear(width, out, bias=False), nn.Parameter(torch.zeros(2 * out))

    def forward(self, x):
        h = self.weight(x)
        score = F.leaky_relu(torch.cat([h[source], h.index_select(0, target)], 1) @ self.a, 0.2)
        top = torch.full((NODES,), -float("inf")).scatter_reduce(0, target, score.detach(), "amax", include_self=True)
        weight = (score - top[target]).exp()
        total = torch.zeros(NODES).scatter_add(0, target, weight)
        messages = h[source] * (weight / total[target]).unsqueeze(1)
        return torch.zeros(NODES, h.size(1)).index_add(0, target, messages)


class Convolution(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = nn.Linear(width, out)
        values = torch.ones(EDGES)
        self.adjacency = torch.sparse_coo_tensor(torch.stack([target, source]), values, (NODES, NODES)).coalesce()
        self.degree = torch.bincount(target, minlength=NODES).clamp(min=1).unsqueeze(1)

    def forward(self, x):
        return torch.sparse.mm(self.adjacency, self.linear(x)) / self.degree


net = fill(nn.Sequential(Attention(5, 8), nn.ELU(), Convolution(8, 8), nn.PReLU(8), nn.Linear(8, 3)))
optimizer = torch.optim.NAdam(net.parameters(), lr=0.01)
x, labels, training = data(3, NODES, 5), integers(4, 3, NODES), torch.arange(NODES) % 3 != 0
losses = []
for _ in range(6):
    optimizer.zero_grad()
    out = net(x)
    pooled = torch.zeros(3, 3).index_reduce_(0, labels, out.detach(), "mean", include_self=False)
    loss = F.cross_entropy(out[training], labels[training])
    loss.backward()
    optimizer.step()
    losses += [loss.item(), pooled.abs().sum().item()]
