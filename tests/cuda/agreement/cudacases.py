"""Cases of CUDA's tests (test_cuda.py): one body each, run on the CPU and on CUDA, whose results are compared."""
from __future__ import annotations

import numpy as np

CASES = {}


def case(body):
    CASES[body.__name__] = body
    return body


def table(**bodies):
    CASES.update(bodies)


def numbers(torch, device, *shape, dtype="float32", seed=0, low=-2.0, high=2.0):
    values = np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)
    return torch.from_numpy(values).to(device)


def lifted(operation, *shapes, **options):
    """A case of one operation on random tensors."""
    return lambda torch, device: operation(torch, *[numbers(torch, device, *s, seed=i, **options) for i, s in enumerate(shapes)])


table(
    add=lifted(lambda torch, x, y: x + y, (13,), (13,)),
    multiply=lifted(lambda torch, x, y: x * y, (3, 5), (3, 5)),
    broadcast=lifted(lambda torch, x, y: x / (y + 3), (3, 1, 2), (4, 1)),
    transposed=lifted(lambda torch, x, y: x.t() - y, (3, 4), (4, 3)),
    both_transposed=lifted(lambda torch, x, y: (x.t() * y.t()).t(), (3, 4), (3, 4)),
    permuted=lifted(lambda torch, x: x.permute(2, 0, 1) + 1, (2, 3, 4)),
    sliced=lifted(lambda torch, x: x[1:, ::2].exp(), (3, 5)),
    expanded=lifted(lambda torch, x: x.expand(4, 3) * 2, (3,)),
    numbers=lifted(lambda torch, x: 2 - x * 3.5 + 1, (5,)),
    zero_dim=lifted(lambda torch, x, y: x + y.sum() * 2.0, (3,), (2,)),
    exponential=lifted(lambda torch, x: torch.exp(x * 20), (9,)),
    sigmoid=lifted(lambda torch, x: torch.sigmoid(x), (9,)),
    tanh_double=lifted(lambda torch, x: torch.tanh(x), (9,), dtype="float64"),
    logarithm=lifted(lambda torch, x: torch.log(x), (9,), low=0.0),
    sine_of_huge=lifted(lambda torch, x: torch.sin(x), (5,), low=1e8, high=1e9),
    remainder=lifted(lambda torch, x, y: x % y, (6,), (6,)),
    power=lifted(lambda torch, x, y: x ** y, (6,), (6,), low=0.5),
    where=lifted(lambda torch, x, y: torch.where(x > y, x, 0.0), (7,), (7,)),
    comparison=lifted(lambda torch, x, y: (x < y) | (x > 1), (7,), (7,)),
    clamp=lifted(lambda torch, x: x.clamp(-0.5, 0.5), (7,)),
    maximum_with_nan=lambda torch, device: torch.maximum(torch.tensor([1.0, float("nan"), 3.0], device=device),
                                                         torch.tensor([2.0, 2.0, float("nan")], device=device)),
    to_integer=lifted(lambda torch, x: (x * 10).to(torch.int32), (7,)),
    integers=lambda torch, device: torch.arange(-3, 4, device=device) // 2 * 5,
    small_integers=lambda torch, device: torch.arange(7, device=device).to(torch.int8) * 100,
    half=lifted(lambda torch, x: x.half() * 1.5 + x.bfloat16(), (7,)),
    complex=lifted(lambda torch, x, y: x.to(torch.complex64) * y.to(torch.complex64) + 1j, (3,), (3,)),
    zeros=lambda torch, device: torch.zeros(2, 3, device=device),
    full=lambda torch, device: torch.full((3,), 2.5, dtype=torch.float64, device=device),
    ones_like=lifted(lambda torch, x: torch.ones_like(x.t()), (2, 3)),
    empty=lambda torch, device: torch.zeros(0, 3, device=device) * 2,
    eye=lambda torch, device: torch.eye(3, device=device),
    clone=lifted(lambda torch, x: x.t().clone(), (2, 3)),
    contiguous=lifted(lambda torch, x: x.t().contiguous(), (2, 3)),
    reshaped=lifted(lambda torch, x: x.t().reshape(6), (2, 3)),
    total=lifted(lambda torch, x: x.sum(), (23,)),
    long_total=lifted(lambda torch, x: x.sum(), (300,)),
    long_rows=lifted(lambda torch, x: x.sum(1), (2, 150)),
    total_transposed=lifted(lambda torch, x: x.t().sum(0), (3, 4)),
    sum_over_two=lifted(lambda torch, x: x.sum((0, 2)), (2, 3, 4)),
    sum_kept=lifted(lambda torch, x: x.sum(1, keepdim=True), (3, 70)),
    mean=lifted(lambda torch, x: x.mean(0), (5, 3)),
    mean_double=lifted(lambda torch, x: x.mean(), (5, 3), dtype="float64"),
    amax=lifted(lambda torch, x: x.amax(1), (3, 4)),
    amin=lifted(lambda torch, x: x.amin(), (90,)),
    amax_with_nan=lambda torch, device: torch.tensor([[1.0, float("nan")], [2.0, 1.0]], device=device).amax(1),
    product=lifted(lambda torch, x: x.prod(1), (2, 5)),
    integer_sum=lambda torch, device: torch.arange(20, device=device).reshape(4, 5).sum(0),
    byte_sum=lambda torch, device: torch.full((100,), 200, dtype=torch.uint8, device=device).sum(),
    integer_product=lambda torch, device: torch.arange(1, 6, device=device).prod(),
    any=lifted(lambda torch, x: (x > 1.5).any(1), (3, 4)),
    all=lifted(lambda torch, x: (x > -2).all(), (90,)),
    nonzero=lifted(lambda torch, x: torch.count_nonzero(x > 0, 0), (5, 3)),
    norm=lifted(lambda torch, x: torch.norm(x), (7,)),
    variance=lifted(lambda torch, x: x.var(1) + x.std(), (3, 11)),
    variance_far_from_zero=lifted(lambda torch, x: (x + 1e4).var((0, 2), correction=0), (2, 3, 4), dtype="float64"),
    variance_of_one=lambda torch, device: torch.ones(1, 3, device=device).var(0),
    variance_of_half=lifted(lambda torch, x: x.half().var(), (40,)),
    nothing_summed=lambda torch, device: torch.zeros(2, 0, device=device).sum(1),
    next_number=lambda torch, device: torch.nextafter(torch.tensor([1.0, -2.5, 0.0], device=device), torch.ones(1, device=device)),
    distances=lifted(lambda torch, x, y: torch.cdist(x, y, 1.0), (3, 2), (2, 2)),
    complex_sum=lifted(lambda torch, x: (x.to(torch.complex64) * 1j).sum(), (5,)),
)


@case
def attention(torch, device):
    """Tiles of queries and keys with edges, causal or masked, heads that share keys, wider than registers, weights dropped; and
    the gradients."""
    results = []
    for shapes, options in ((((2, 2, 7, 5), (2, 2, 9, 5), (2, 2, 9, 3)), {}), (((1, 4, 6, 3), (1, 2, 6, 3), (1, 2, 6, 6)), dict(
            is_causal=True, enable_gqa=True)), (((3, 2, 3), (3, 5, 3), (3, 5, 2)), dict(mask=True)), (
                ((2, 2, 7, 5), (2, 2, 9, 5), (2, 2, 9, 3)), dict(dropout_p=0.4))):
        q, k, v = (numbers(torch, device, *s, seed=i).requires_grad_() for i, s in enumerate(shapes))
        if options.pop("mask", None):
            options["attn_mask"] = numbers(torch, device, 2, 5, seed=7) > -0.5
        torch.manual_seed(5)
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)
        results += [out, *torch.autograd.grad((out * out).sum(), (q, k, v))]
    return tuple(results)


@case
def softmaxes(torch, device):
    """Long lines and short ones, side by side in memory and not, of each dtype, with what has no finite maximum; and the gradients."""
    results = []
    for shape, dim, dtype in (((3, 9), 1, "float32"), ((2, 3), 1, "float64"), ((2, 5, 3), 1, "float32"), ((7,), 0, "bfloat16")):
        x = numbers(torch, device, *shape).to(getattr(torch, dtype)).requires_grad_()
        for name in ("softmax", "log_softmax", "logsumexp"):
            out = getattr(torch, name)(x, dim)
            results += [out, *torch.autograd.grad((out * out).sum(), x)]
    edges = torch.tensor([[0.0, -float("inf")], [-float("inf")] * 2, [float("inf"), 1.0]], device=device)
    return (*results, edges.softmax(1), edges.logsumexp(1), torch.zeros(0, 3, device=device).softmax(1))


@case
def products(torch, device):
    """All dtypes, batches, transposed and strided operands, biases, sums onto others."""
    results = []
    for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "complex64"):
        a, b, c = (numbers(torch, device, *s, seed=i).mul(3).to(getattr(torch, dtype)) for i, s in enumerate(((5, 7), (7, 9), (5, 9))))
        results += [a @ b, torch.addmm(c, a, b, beta=2, alpha=3), b.t() @ a.t()]
    x = numbers(torch, device, 2, 6, 8)
    return (*results, x @ x.mT, torch.bmm(x[:, ::2], x.mT), x[0, 0] @ x[1, 0], x[0] @ x[1, 1])


@case
def recurrent(torch, device):
    """Two layers, which launch products and gates without waiting, forward and backward."""
    torch.manual_seed(0)
    network = torch.nn.LSTM(3, 2, num_layers=2).to(device)
    out, (hidden, cell) = network(numbers(torch, device, 2, 3, 3))
    ((out * out).sum() + cell.sum()).backward()
    return out, hidden, cell, *[p.grad for p in network.parameters()]


@case
def random_views(torch, device):
    """Permuted, sliced and broadcast operands, and sums over some of their dimensions."""
    rng, results = np.random.default_rng(5), []
    for seed in range(6):
        x, y = (numbers(torch, device, 3, 4, 2, seed=seed + s).permute(*rng.permutation(3).tolist()) for s in (0, 9))
        x = x[rng.integers(2):, ::int(rng.integers(1, 3))]
        y = y[:1, :1].expand(*x.shape[:2], y.shape[2])[:, :, :x.shape[2]]
        x = x[:, :, :y.shape[2]]
        dims = tuple(rng.permutation(3)[:rng.integers(1, 4)].tolist())
        results += [x * y - 1, (x + y).sum(dims), y.amax(dims)]
    return tuple(results)


@case
def random(torch, device):
    torch.manual_seed(3)
    return torch.randn(4, device=device), torch.rand(3, device=device)


@case
def in_place(torch, device):
    x = numbers(torch, device, 3, 4)
    x.add_(1).mul_(x.clone())
    x.t()[1].sub_(5.0)
    x[0].zero_()
    return x


@case
def fill(torch, device):
    x = torch.zeros(2, 5, device=device)
    x[:, 1::2].fill_(3)
    x[1, 0] = 7.5
    return x


@case
def copy_into(torch, device):
    x = torch.zeros(2, 3, dtype=torch.float64, device=device)
    x.copy_(torch.arange(3.0))                            # from the host, broadcast and cast
    x.t()[0].copy_(numbers(torch, device, 2))
    return x


@case
def out(torch, device):
    x, y = numbers(torch, device, 5), torch.zeros(5, device=device)
    torch.exp(x, out=y)
    return y


@case
def backward(torch, device):
    x = numbers(torch, device, 3, 4).requires_grad_()
    w = numbers(torch, device, 4, seed=1).requires_grad_()
    loss = (torch.sigmoid(x * w + 0.5).mean(0) ** 2).sum()
    loss.backward()
    (2 * (x * w).sum()).backward()
    return loss, x.grad, w.grad


@case
def backward_through_views(torch, device):
    x = numbers(torch, device, 3, 4).requires_grad_()
    (x.t()[1:].exp().amax(1) * x[0, 0]).sum().backward()
    return x.grad


@case
def double_backward(torch, device):
    x = numbers(torch, device, 5).requires_grad_()
    first, = torch.autograd.grad((x.tanh() * x).sum(), x, create_graph=True)
    first.square().sum().backward()
    return first, x.grad


@case
def backward_across_devices(torch, device):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.to(device) * 3).square().sum().backward()
    assert x.grad.device.type == "cpu"
    return x.grad


@case
def user_defined(torch, device):
    @torch.pointwise(methods=False)
    def wobble(x, y, *, scale=2.0):
        return torch.maximum(torch.sin(x) * scale, x / 2) + y * x

    @wobble.derivative
    def _(grad, x, y, scale):
        rising = torch.cos(x) * scale
        return grad * (rising * (torch.sin(x) * scale > x / 2) + 0.5 * (torch.sin(x) * scale <= x / 2) + y), grad * x

    x, y = numbers(torch, device, 6).requires_grad_(), numbers(torch, device, 6, seed=1)
    result = wobble(x, y, scale=3.0)
    result.sum().backward()
    return result, x.grad


@case
def user_defined_twice(torch, device):
    @torch.pointwise(methods=False)
    def cube(x):
        return x * x * x

    @cube.derivative
    def _(grad, x):
        return 3 * grad * x * x

    x = numbers(torch, device, 4).requires_grad_()
    first, = torch.autograd.grad(cube(x).sum(), x, create_graph=True)
    first.sum().backward()
    return first, x.grad


@case
def descent(torch, device):
    x, y = numbers(torch, device, 8), torch.tensor(0.0, device=device, requires_grad=True)
    for _ in range(3):
        loss = ((x * y - 1) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            y -= 0.1 * y.grad
        y.grad = None
    return y, loss
