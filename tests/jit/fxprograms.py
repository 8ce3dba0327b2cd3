"""Programs for graphs of `torch.fx`: functions and modules written once for either library, and functions with shapes of their arguments."""
import numtorch as torch

F = torch.nn.functional


def lines_of(code):
    """Lines of code, without indentation."""
    return list(filter(None, map(str.strip, code.splitlines())))


def library(torch):
    """Functions and modules of one library."""
    F = torch.nn.functional

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
            self.scale = torch.nn.Parameter(torch.ones(8))
            self.register_buffer("shift", torch.zeros(8))
            self.out = torch.nn.Linear(8, 2)

        def forward(self, x, factor=2.0):
            h = self.layers(x) * self.scale + self.shift
            h = h + F.relu(h, inplace=False) * factor
            return {"out": self.out(h), "rest": (h[:, 1:].sum(dim=1), h.view(-1, 8).size(0))}

    def arithmetic(x, y):
        z = (x + 1) * 2 - y / 3 ** x
        z = -z + (1 - x) + (2 * y) @ x
        return z[0], z[1:, ..., None], x > y, x == y, ~(x < y), abs(z)

    def calls(x, y, *, dim=1):
        a = torch.cat([x, y], dim=dim)
        b = torch.softmax(a, dim).max(dim)[0]
        c, = (b.t(),)
        return [torch.sum(c), c.mean(), c.shape, c.dtype], torch.stack((b, b)), F.gelu(a)

    def names(x):
        return torch.sum(x) + torch.sum(x) + x.sum() + torch.max(x) + x.add(1).add(2)

    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.norm = torch.nn.Linear(4, 12), torch.nn.LayerNorm(4)
            self.register_buffer("mask", torch.ones(3, 3))

        def forward(self, input, scale: float = 2.0, causal: bool = True):
            q, k, v = self.qkv(self.norm(input)).chunk(3, dim=-1)
            scores = (q @ k.transpose(-2, -1)).masked_fill(self.mask == 0, float("-inf")) * scale
            best, _ = scores.max(-1)
            return torch.relu(scores) @ v + input, best

    def constants(x, *, a: int = 1, b=(1, 2), **more):
        t = torch.ones(2)
        i = torch.tensor([0, 1])
        return t + x, t == x, t @ x, t < x, i[x], t * a + b[0] + more["z"], torch.svd(x)[0], t.expand_as(x)

    return {"net": Net(), "arithmetic": arithmetic, "calls": calls, "names": names, "attention": Attention(), "constants": constants}


PROGRAMS = {                                             # the program, shapes of its arguments
    "elementwise": (lambda x, y: torch.where(x > 0, x * 2 + y, x.tanh() - 1), [(3, 4), (4,)]),
    "views": (lambda x, y: (x.t().unsqueeze(0).expand(2, 4, 3)[:, 1:, ::2] + y.view(1, 3, 1), x.unbind(0)[1], x.split(2)[0]), [(3, 4), (3,)]),
    "reductions": (lambda x, y: (x.sum(1), tuple(x.max(0)), x.softmax(-1) @ y, torch.var(x)), [(3, 4), (4,)]),
    "products": (lambda x, w: F.gelu(F.linear(x, w)) @ w, [(6, 4), (5, 4)]),
    "images": (lambda x, w: F.max_pool2d(F.conv2d(x, w, padding=1).relu(), 2), [(2, 3, 6, 6), (4, 3, 3, 3)]),
    "draws": (lambda x, y: (F.dropout(F.linear(x, y), 0.5), F.dropout(x, 0.2) + 1)[1], [(30, 4), (4, 4)]),
    "writes": (lambda x, y: (x.add_(y), x[1:].mul_(2), y.copy_(x[0]))[0] * 1, [(3, 4), (4,)]),
    "gradients": (lambda x, y: (lambda v: torch.autograd.grad((v.exp() * y).sum(), v)[0])(x.detach().requires_grad_()), [(3, 4), (4,)]),
}
