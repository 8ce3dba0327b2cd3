"""Programs for tracing, and for what is done with graphs: those that write, differentiate or call users' ops, and random ones."""
import random

import numtorch as torch


def writes(x):
    y = x * 2
    v = y.t()
    v[0] += x[0, 0]
    y[1:] = x[1:] + 1
    y.view(-1)[::2].mul_(3)
    return y, v, y[0].sum()


def writes_into_new(x):
    out = torch.zeros(3, 4)
    for i in range(3):
        out[i] = x[i] * i
    out.diagonal().add_(1)
    return out


def writes_into_new_integers(x):
    counts = torch.zeros(4, 3, dtype=torch.int64)
    for i in range(3):
        counts[1:, i] += (x[i, :3] > 0)
    return counts, counts.sum(0)


def writes_argument(x):
    x.mul_(2)
    x[0].zero_()
    return x.sum()


def integers(x):
    n = (x * 10).to(torch.int64)
    n += 1
    n.div_(2, rounding_mode="floor")
    return n, n.bool(), {"parts": [n[0], (n[1],)]}


def numbers_written(x):
    y = x * 2
    y[1].zero_()
    y[0, 1:].fill_(3)
    y.t()[1].copy_(torch.tensor(4))
    y[:, 2] = -1
    return y, y.masked_fill(y > 2, 0.5), y.index_fill(0, torch.tensor([1]), 7)


def views_of_all(x):
    x = x.detach().requires_grad_()
    y, row = x[...] * 2, x[1].clone()
    row[...].mul_(3)
    row.t()[..., :].add_(1)
    z = row.detach().requires_grad_()
    return torch.autograd.grad((y * row).sum(), x)[0], torch.autograd.grad((z.t() * z[...]).sum(), z)[0]


def gradients_that_are_constants(x):
    """What `grad` and `backward` give without create_graph is a constant to what is computed of it."""
    x = x.detach().requires_grad_()
    first, = torch.autograd.grad((x**3).sum(), x)
    (x.sin() * x).sum().backward()
    return torch.autograd.grad((x * first + x * x.grad).sum(), x)[0], first.requires_grad, x.grad


def one_tensor_twice(x):
    F, row = torch.nn.functional, x[0].sin()
    return F.mse_loss(x, x), F.huber_loss(row, row, reduction="sum"), x @ x.t(), torch.where(x > 0, x, x), torch.dot(row, row)


def detached(x):
    y = x * 3
    z = y.detach()
    z.add_(1)
    return y + z


def by_hand(x):
    x = x.detach().requires_grad_()
    y = (x.sin() * x).sum()
    slope, = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad(slope.exp().sum(), x)[0]


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 3 * grad * x


def by_function(x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(Twice.apply(x.exp()).sum(), x)[0]


def by_functions_and_views(x):
    """What a Function gives has its place on the tape from it alone; views of it, and writes to both, go on from there."""
    x = x.detach().requires_grad_()
    y = Twice.apply(x.exp())
    v = y.t()
    v[0].mul_(y.detach()[:, 1])
    y.mul_(2)
    y[0].add_(x[1])
    return torch.autograd.grad((y * v.t()).sum(), x)[0], v


def leaves_made_inside(x):
    """A function's own steps, written without recording: a leaf stays one, and so do its views."""
    w = x.detach().clone().requires_grad_()
    for _ in range(2):
        (w.t() @ (w * x)).sum().backward()
        with torch.no_grad():
            w[1:] -= 0.1 * w.grad[1:]
            w -= 0.1 * w.grad
        w.grad = None
    slope, = torch.autograd.grad((w.t() * w.t()).sum(), w)
    apart = (w * 2).detach_().requires_grad_()
    return slope, w.requires_grad, torch.autograd.grad(apart.t().exp().sum(), apart)[0], w.requires_grad_(False).mul_(2)[0].requires_grad


def writes_regions_that_backward_reads(x):
    x = x.detach().requires_grad_()
    y = x.sin()
    y[:, 1:3].mul_(x[:, :2])
    y.t()[::2].mul_(y.t()[::2])
    return torch.autograd.grad(y.sum(), x)[0]


@torch.pointwise
def wobble(x, y, *, rate=2.0):
    return torch.where(x > y, torch.sin(x * rate), y / (1 + x * x))


def by_users_op(x):
    return wobble(x, x.flip(0)), wobble(x, 0.5, rate=3.0).sum(1)


PROGRAMS = [one_tensor_twice, writes, numbers_written, views_of_all, gradients_that_are_constants, writes_into_new, writes_into_new_integers, writes_argument, integers, detached, by_hand, by_function,
            by_functions_and_views, leaves_made_inside, writes_regions_that_backward_reads, by_users_op]


def chain(seed):
    """A random program of elementwise ops over operands that broadcast."""
    draw = random.Random(seed)
    unary = ["sin", "tanh", "exp", "abs", "neg", "relu", "sigmoid", "square"]

    def f(x, row, column):
        rng = random.Random(draw.getstate()[1][0])
        known = [x, row + column, column * 0.5]
        for _ in range(12):
            kind = rng.random()
            a, b = rng.choice(known), rng.choice(known)
            if kind < 0.4:
                known.append(getattr(torch, rng.choice(unary))(a).clamp(-3, 3))
            elif kind < 0.8:
                known.append(getattr(torch, rng.choice(["add", "sub", "mul", "maximum"]))(a, b).clamp(-3, 3))
            elif kind < 0.9:
                known.append(torch.where(a > b, a, b * rng.randint(1, 3)))
            else:
                known.append(a.sum(-1, keepdim=True) / 8)
        return known[-1], known[-3], known[5] + 0
    return f
