"""Transforms of transforms: derivatives of derivatives are the same whichever mode takes which of them."""
from __future__ import annotations

import pytest

import numtorch as torch
from numtorch.func import grad, jacfwd, jacrev, jvp, vjp, vmap

F = torch.nn.functional
OPS = {                                                  # of (2, 3), nonlinear or moving elements, each of another rule
    "square": lambda x: x * x, "sin": lambda x: x.sin(), "sums": lambda x: x.sum(-1, keepdim=True) + x, "softmax": lambda x: x.softmax(-1),
    "cumsum": lambda x: x.cumsum(-1).exp(), "layer_norm": lambda x: F.layer_norm(x, (3,)), "where": lambda x: torch.where(x > 0, x ** 3, x * 0.1),
    "mean": lambda x: x * x.mean(), "written": lambda x: x.clone().mul_(x), "cat": lambda x: torch.cat([x, x * x], -1)[..., 1:4],
    "sort": lambda x: x.sort(-1)[0] ** 2, "logsumexp": lambda x: x.logsumexp(-1, keepdim=True) * x,
    "expand": lambda x: x.unsqueeze(0).expand(2, 2, 3).sum(0) ** 2, "broadcast": lambda x: x.broadcast_to(4, 2, 3).sum_to_size(1, 3).sin() * x,
    "einsum": lambda x: torch.einsum("bi,bj->bi", x, x), "roll": lambda x: x.roll(1, -1) * x, "norm": lambda x: x.norm() * x,
    "matmul": lambda x: x @ x.mT @ x, "gather": lambda x: x.gather(-1, torch.zeros(2, 3, dtype=torch.int64)) * x,
    "select": lambda x: x[..., [0]] * x, "amax": lambda x: x.amax(-1, keepdim=True) ** 2 - x, "prod": lambda x: x.prod(-1, keepdim=True) + x,
    "pad": lambda x: F.pad(x, (1, 1))[..., 1:-1] ** 2, "stack": lambda x: torch.stack([x, x * x], -1).sum(-1) ** 2,
    "unfold": lambda x: x.unfold(-1, 2, 1).sum(-1).prod(-1, keepdim=True) * x, "std": lambda x: x.std(-1, keepdim=True) * x,
    "scatter": lambda x: x.scatter_add(-1, torch.zeros(2, 3, dtype=torch.int64), x * x), "triangle": lambda x: x.tril() ** 2,
    "linear": lambda x: F.linear(x, torch.ones(3, 3, dtype=x.dtype)).sigmoid(), "conv": lambda x: F.conv1d(x[:, None], torch.ones(1, 1, 2, dtype=x.dtype)).square().sum(-1) * x,
    "vmap": lambda x: vmap(lambda row: row * row.sum())(x), "grad": lambda x: grad(lambda y: (y ** 3).sum())(x),
    "jvp": lambda x: jvp(lambda y: y.sin() * y, (x,), (x * 2,))[1], "vjp": lambda x: vjp(lambda y: y.expand(3, 2, 3).sin(), x)[1](x.expand(3, 2, 3))[0],
}
BEFORE = {"": lambda x: x, " of expanded": lambda x: x.unsqueeze(0).expand(2, 2, 3).sum(0)}


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("name", OPS)
def test_the_mode_does_not_matter(name, before):
    def f(x):
        return OPS[name](BEFORE[before](x))

    x = torch.tensor([[0.3, -0.7, 0.9], [-0.2, 0.5, 1.1]], dtype=torch.float64)
    wanted = jacfwd(f)(x)
    torch.testing.assert_close(jacrev(f)(x), wanted, rtol=1e-9, atol=1e-9)
    wanted = jacfwd(jacfwd(f))(x)
    for outer, inner in ((jacrev, jacrev), (jacfwd, jacrev), (jacrev, jacfwd)):
        torch.testing.assert_close(outer(inner(f))(x), wanted, rtol=1e-9, atol=1e-9)
    wanted = grad(lambda x: jacfwd(f)(x).square().sum())(x)
    torch.testing.assert_close(grad(lambda x: jacrev(f)(x).square().sum())(x), wanted, rtol=1e-9, atol=1e-9)
    each = vmap(grad(lambda x: jacrev(f)(x).square().sum()))(torch.stack([x, x * 0.5]))
    torch.testing.assert_close(each[0], wanted, rtol=1e-9, atol=1e-9)


def test_views_of_what_an_op_recorded_itself_raise():
    def program(x):
        def one(row):
            out = row * row
            out.node = torch.ones(1, requires_grad=True).exp().grad_fn      # as an op does that knows nothing of transforms
            return out.view(3).sum()
        return vmap(one)(x).sum()

    with pytest.raises(NotImplementedError, match="it has no rule for what takes part in a transform"):
        grad(program)(torch.ones(2, 3))
