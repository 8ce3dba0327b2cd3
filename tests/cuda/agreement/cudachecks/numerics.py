"""What is computed: dtypes, roundings, draws, tensor cores and autocast."""
from __future__ import annotations

import functools

from cudacases import numbers

from .table import check, raises


@check
def numbers_fit_what_they_are_compared_with(torch):
    """As on the CPU: PyTorch refuses them, and they must not wrap around."""
    x, holds = torch.tensor([1, 0, 5], dtype=torch.int8).cuda(), torch.tensor([True, False, True]).cuda()
    for function in (lambda n: x.clamp(max=n), lambda n: x.clamp(n), lambda n: x.clone().clamp_(-1, n), lambda n: torch.clamp(x, n, n),
                     lambda n: torch.where(holds, x, n), lambda n: torch.where(holds, n, x)):
        for number in (300, -300, 1 << 40):
            raises(RuntimeError, "value cannot be converted to type int8_t without overflow", functools.partial(function, number))
        function(100)
    assert x.clamp(max=2).tolist() == [1, 0, 2] and torch.where(holds, x, 300.0).tolist() == [1, 300, 5]
    assert (x.long() << 40).clamp(max=1 << 40).tolist() == [1 << 40, 0, 1 << 40] and x.tolist() == [1, 0, 5]


@check
def numbers_keep_their_rank(torch):
    x = torch.tensor(2, device="cuda")
    assert (x + 1.5).dtype is torch.float32 and (x * 3).dtype is torch.int64
    assert (torch.tensor(1.0, device="cuda") * 2.0).dtype is torch.float32
    assert (torch.ones(2, dtype=torch.int8, device="cuda") + 1).dtype is torch.int8


@check
def draws_are_the_cpus_and_seeded_by_either_name(torch):
    cuda = torch.cuda
    torch.manual_seed(5)
    here, normal = torch.rand(6), torch.randn(6)
    torch.manual_seed(5)
    assert torch.rand(6, device="cuda").tolist() == here.tolist() and cuda.initial_seed() == 5
    assert torch.allclose(torch.randn(6, device="cuda").cpu(), normal, atol=1e-5)
    for seed in (cuda.manual_seed, cuda.manual_seed_all):
        seed(5)
        assert torch.rand(6, device="cuda").tolist() == here.tolist()
    states = cuda.get_rng_state_all()
    first = torch.rand(3, device="cuda").tolist()
    cuda.set_rng_state_all(states)
    assert torch.rand(3, device="cuda").tolist() == first and len(states) == cuda.device_count()
    cuda.set_rng_state(cuda.get_rng_state())
    cuda.seed(), cuda.seed_all()
    assert torch.rand(3, device="cuda").tolist() != first


@check
def amp(torch):
    """Listed ops in 16 bits, both of them; a scaler that skips what overflows and goes on."""
    layer = torch.nn.Linear(3, 2).cuda()
    x = numbers(torch, "cuda", 4, 3)
    expected = layer(x)
    for kind in (torch.float16, torch.bfloat16):
        with torch.autocast("cuda", dtype=kind):
            result = layer(x)
            assert result.dtype is kind and result.exp().dtype is torch.float32 and torch.softmax(result, -1).dtype is torch.float32
        assert (result.float() - expected).abs().max().item() < 0.05
    optimizer, scaler = torch.optim.SGD(layer.parameters(), lr=0.5), torch.amp.GradScaler("cuda", init_scale=4.0)
    before = layer.weight.detach().cpu()
    for factor, moves in ((float("inf"), False), (1.0, True)):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = layer(x).float().square().mean() * factor
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert (not torch.equal(layer.weight.detach().cpu(), before)) == moves
    assert scaler.get_scale() == 2.0
    raises(RuntimeError, "unsafe to autocast", lambda: torch.autocast("cuda")(torch.nn.functional.binary_cross_entropy)(x.sigmoid(), x.sigmoid()))
    if torch.cuda.device_count() > 1:                     # a factor for each device, and an overflow on one of them is one
        for overflows in (0, 1):
            here, there = [torch.nn.Parameter(torch.ones(2, device=f"cuda:{i}")) for i in range(2)]
            optimizer, scaler = torch.optim.SGD([here, there], lr=1.0), torch.amp.GradScaler(init_scale=4.0)
            one, other = scaler.scale((here.sum(), (there * (float("inf") if overflows else 0.5)).sum()))
            assert other.get_device() == 1 and one.item() == 8.0
            one.backward()
            other.backward()
            scaler.step(optimizer)
            scaler.update()
            assert (here.tolist(), there.tolist()) == (([1, 1], [1, 1]) if overflows else ([0, 0], [0.5, 0.5]))
            assert scaler.get_scale() == (2.0 if overflows else 4.0)


@check
def sums_of_short_floats_at_indices(torch):
    """In float32, as PyTorch's are of embeddings and, on the CPU, of all of these: 300 ones in bfloat16 would end at 256. Those of
    `x[index]` are rounded one by one, as PyTorch's are on a GPU."""
    where = torch.zeros(300, dtype=torch.int64, device="cuda")
    ones, table = [torch.ones(n, 1, dtype=torch.bfloat16, device="cuda") for n in (300, 2)]
    table.requires_grad_()
    at = where[:, None]
    for found in (torch.autograd.grad(torch.nn.functional.embedding(where, table).sum(), table)[0],
                  torch.autograd.grad(torch.nn.functional.embedding_bag(where[None], table, mode="sum").sum(), table)[0],
                  torch.autograd.grad(table.index_select(0, where).sum(), table)[0],
                  torch.zeros_like(table).index_add(0, where, ones), torch.zeros_like(table).scatter_add(0, at, ones)):
        assert found.dtype is torch.bfloat16 and found.flatten().tolist() == [300, 0]
    assert torch.autograd.grad(table[where].sum(), table)[0].flatten().tolist() == [256, 0]


@check
def products_of_float32_are_exact_by_default(torch):
    """Otherwise they are products of operands rounded to tf32 by tensor cores, where lines are of whole 16 bytes: also of a plan
    that was made before."""
    rounded = lambda x: (x.view(torch.int32) + 0x1000 & ~0x1FFF).view(torch.float32)
    a, b = numbers(torch, "cpu", 20, 24, seed=1), numbers(torch, "cpu", 24, 36, seed=2)
    exact = lambda of: (of(a).double() @ of(b).double()).float()
    kinds = torch.backends.cuda.matmul
    assert torch.get_float32_matmul_precision() == "highest" and not kinds.allow_tf32 and kinds.fp32_precision != "tf32"
    few = torch.tensor([[1.0 + 2.0 ** -20]], device="cuda")
    try:
        for precision in ("highest", "high", "highest", "medium"):
            torch.set_float32_matmul_precision(precision)
            assert kinds.allow_tf32 == (precision != "highest")
            expected, other = exact(lambda x: x), exact(rounded)
            if kinds.allow_tf32:
                expected, other = other, expected
            got = (a.cuda() @ b.cuda()).cpu()
            assert (got - expected).abs().max() < 5e-6 < 1e-4 < (got - other).abs().max(), precision
            assert (few @ torch.ones(1, 1, device="cuda")).item() == 1.0 + 2.0 ** -20
        kinds.allow_tf32 = True
        assert torch.get_float32_matmul_precision() == "high"
        kinds.fp32_precision = "ieee"
        assert torch.get_float32_matmul_precision() == "highest"
    finally:
        torch.set_float32_matmul_precision("highest")


@check
def attention_of_float32_is_exact_by_default(torch):
    """Where the program allows tf32, its products and those of its gradients are by tensor cores."""
    def attended(device):
        tensors = [numbers(torch, device, 1, 2, length, size, seed=i).requires_grad_()
                   for i, (length, size) in enumerate(((24, 16), (40, 16), (40, 8)))]
        out = torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=True)
        return [t.detach().cpu() for t in (out, *torch.autograd.grad(out.square().sum(), tensors))]
    exact = attended("cpu")
    for precision in ("highest", "high"):
        torch.set_float32_matmul_precision(precision)
        try:
            found = attended("cuda")
        finally:
            torch.set_float32_matmul_precision("highest")
        for ours, theirs in zip(found, exact):
            far = ((ours - theirs).abs().max() / theirs.abs().max()).item()
            assert far < 3e-6 if precision == "highest" else 1e-5 < far < 3e-3, (precision, far)


@check
def tensor_cores(torch):
    """Products of 16-bit floats and tf32 with edges, batches, a shared depth and an epilogue; in the simulator by instructions'
    twins that have each element where the instructions have it, and tiles for addresses that are not of whole 16 bytes."""
    functional = torch.nn.functional
    far = lambda got, expected: ((got.cpu().float() - expected).abs().max() / expected.abs().max()).item()
    for kind in (torch.bfloat16, torch.float16):
        a, b, bias = (numbers(torch, "cpu", *s, seed=i).to(kind) for i, s in enumerate(((2, 24, 40), (2, 40, 48), (48,))))
        exact = a.float() @ b.float()
        for left in (a.cuda(), a.mT.contiguous().cuda().mT):
            for right in (b.cuda(), b.mT.contiguous().cuda().mT):
                assert far(left @ right, exact) < 0.005
                assert far(torch.baddbmm(bias.cuda(), left, right, beta=2, alpha=0.5), 0.5 * exact + 2 * bias.float()) < 0.005
        x, w = a[0].cuda(), b[0].t().contiguous().cuda()
        assert far(functional.linear(x, w, bias.cuda()).relu(), (exact[0] + bias.float()).relu()) < 0.005
        odd = torch.zeros(24 * 40 + 1, dtype=kind, device="cuda")[1:].view(24, 40)
        odd.copy_(x)
        assert far(odd @ b[0].cuda(), exact[0]) < 0.005
        a, b = (numbers(torch, "cpu", *s, seed=i).to(kind) for i, s in enumerate(((16, 64), (64, 24))))
        assert far(a.cuda() @ b.cuda(), a.float() @ b.float()) < 0.005
