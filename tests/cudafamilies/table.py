"""The table of families: what adds a row, what its tries are, and how one runs."""
from __future__ import annotations

import numpy as np

ROWS: dict = {}
ORDERS = ("contiguous", "transposed", "every second", "unaligned", "expanded")
PLAIN = ORDERS[:1]
DTYPES = ("float32", "float64", "bfloat16")


def row(function, *shapes, dtypes=DTYPES, orders=ORDERS):
    ROWS[function.__name__] = function, shapes, dtypes, orders
    return function


def rows_of(*shapes, dtypes=DTYPES, orders=ORDERS):
    return lambda function: row(function, *shapes, dtypes=dtypes, orders=orders)


def in_order(torch, values, order, dtype, device):
    """Numbers in an order of memory, as a leaf."""
    tensor = torch.tensor(values).to(dtype).to(device)
    if order == "transposed" and tensor.ndim > 1:
        tensor = tensor.transpose(0, -1).contiguous().transpose(0, -1)
    elif order == "every second" and tensor.ndim:
        wide = torch.zeros((*tensor.shape[:-1], 2 * tensor.shape[-1]), dtype=tensor.dtype, device=device)
        wide[..., ::2] = tensor
        tensor = wide[..., ::2]
    elif order == "unaligned":                           # dense, but no vector of 16 bytes begins where it does
        tensor = torch.cat([tensor.new_zeros(1), tensor.flatten()])[1:].view(tensor.shape)
    elif order == "expanded" and tensor.ndim:
        tensor = tensor[:1].expand(tensor.shape)
    return tensor.detach().requires_grad_(tensor.is_floating_point())


def variants():
    """(name, function, shapes, order, dtype) of each try."""
    for name, (function, shapes, dtypes, orders) in ROWS.items():
        for k, each in enumerate(shapes):
            yield f"{name} {each}", function, each, "contiguous", dtypes[0]
            if k == 0:
                for order in orders[1:]:
                    yield f"{name} {each} {order}", function, each, order, dtypes[0]
                for dtype in dtypes[1:]:
                    yield f"{name} {each} {dtype}", function, each, "contiguous", dtype


def run(torch, function, shapes, order, dtype, device):
    """The results of a try and the gradients of its tensors, as arrays."""
    rng = np.random.default_rng(0)
    tensors = [in_order(torch, rng.uniform(-2, 2, s), order, getattr(torch, dtype), device) for s in shapes]
    torch.manual_seed(1)
    found = function(torch, device, *tensors)
    found = found if isinstance(found, tuple) else (found,)
    kept = [t for t in found if t.requires_grad]
    slopes = [torch.tensor(rng.uniform(-1, 1, tuple(t.shape))).to(t.dtype).to(device) for t in kept]
    leaves = [t for t in tensors if t.requires_grad]
    given = torch.autograd.grad(kept, leaves, slopes, allow_unused=True) if kept else []
    assert all(t.device.type == device for t in (*found, *[g for g in given if g is not None])), "a result is elsewhere"
    return [None if t is None else np.array(t.detach().cpu().double().tolist()) for t in (*found, *given)]
