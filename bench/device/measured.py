"""Rows measured on a GPU, by events around many calls, beside PyTorch where it has that GPU too."""
from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A measured row: microseconds of a call here and of PyTorch's (None without), and what the bytes or operations come to."""
    name: str
    ours: float
    theirs: float | None
    rate: str


def cases(torch):
    """(name, function, bytes, operations), on a device's tensors."""
    n, side = 1 << 26, 4096
    a, b = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    lines = torch.randn(1 << 14, 4096, device="cuda")
    x, y = torch.randn(side, side, device="cuda"), torch.randn(side, side, device="cuda")
    half = x.bfloat16(), y.bfloat16()
    heads = [torch.randn(4, 16, 2048, 64, device="cuda").bfloat16() for _ in range(3)]
    few = torch.ones(16, device="cuda")
    functional = torch.nn.functional
    return [("copy of 2²⁶ float32", lambda: a.clone(), 8 * n, 0),
            ("a + b, 2²⁶ float32", lambda: a + b, 12 * n, 0),
            ("sum of 2²⁶ float32", lambda: a.sum(), 4 * n, 0),
            ("softmax, 2¹⁴ lines of 4096", lambda: lines.softmax(-1), 8 * lines.numel(), 0),
            ("layer norm, 2¹⁴ lines of 4096", lambda: functional.layer_norm(lines, (4096,)), 8 * lines.numel(), 0),
            ("product 4096³, float32", lambda: x @ y, 0, 2 * side ** 3),
            ("product 4096³, bfloat16", lambda: half[0] @ half[1], 0, 2 * side ** 3),
            ("attention, 4 x 16 heads of 2048 x 64, bfloat16", lambda: functional.scaled_dot_product_attention(*heads), 0,
             4 * 4 * 16 * 2048 * 2048 * 64),
            ("launch: a + 1 of 16", lambda: few + 1, 0, 0)]


def microseconds(torch, function, seconds=0.2) -> float:
    """What a call takes on the device, or on the host where that takes longer."""
    function(), torch.cuda.synchronize()
    count, taken = 4, 0.0
    while taken < seconds * 1e3:
        count *= 2
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(count):
            function()
        last.record()
        last.synchronize()
        taken = first.elapsed_time(last)
    return taken / count * 1e3


def measure(ours, theirs=None):
    """A Row for each case."""
    known = {name: function for name, function, _, _ in cases(theirs)} if theirs is not None else {}
    for name, function, nbytes, operations in cases(ours):
        taken = microseconds(ours, function)
        rate = f"{nbytes / taken / 1e3:.0f} GB/s" if nbytes else f"{operations / taken / 1e6:.1f} TFLOP/s" if operations else ""
        yield Row(name, taken, microseconds(theirs, known[name]) if known else None, rate)
