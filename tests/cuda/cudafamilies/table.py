"""The table of families: what adds a row, what its tries are, and how one runs."""
from __future__ import annotations

import numpy as np
from orders import arrange, orders_of

import numtorch

ROWS: dict = {}
ORDERS = ("contiguous", "transposed", "first dim last", "stepped", "offset", "expanded", "expanded rows", "backward", "mixed")
MIXED = ("transposed", "backward rows", "stepped", "expanded", "offset")          # of one tensor after another
PLAIN = ORDERS[:1]
WIDER = {"bfloat16": "float64", "float16": "float64", "float32": "float64", "int8": "int64", "int32": "int64"}
IN_THEIR_OWN = {"linear_by_warps", "drawn"}              # what is rounded between sums; draws, whose bits are the dtype's
DTYPES = ("float32", "float64", "bfloat16")


def row(function, *shapes, dtypes=DTYPES, orders=ORDERS):
    ROWS[function.__name__] = function, shapes, dtypes, orders
    return function


def rows_of(*shapes, dtypes=DTYPES, orders=ORDERS):
    return lambda function: row(function, *shapes, dtypes=dtypes, orders=orders)


def in_order(values, order, dtype, device, wider):
    """Numbers in an order of memory (orders.py), as a leaf. On the CPU the same numbers one after another, in the widest dtype of the
    kind, whose kernels the tests of gradients need as well: each order and dtype has kernels there too, which others try
    (test_orders.py, test_every_primitive.py)."""
    host = arrange(order if order in orders_of(values.ndim) else "contiguous", values, dtype)
    if device == "cpu":
        host = host.contiguous().to(getattr(numtorch, wider))
    else:                                                # with what lies beside them, which a copy of the tensor would leave out
        every = host.as_strided((host.untyped_storage().nbytes() // host.element_size(),), (1,), 0)
        host = every.to(device).as_strided(host.shape, host.stride(), host.storage_offset())
    return host.detach().requires_grad_(host.is_floating_point())


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
    orders = [MIXED[k % len(MIXED)] if order == "mixed" else order for k in range(len(shapes))]
    wider = dtype if function.__name__ in IN_THEIR_OWN else WIDER.get(dtype, dtype)
    tensors = [in_order(rng.uniform(-2, 2, s), each, dtype, device, wider) for s, each in zip(shapes, orders)]
    torch.manual_seed(1)
    found = function(torch, device, *tensors)
    found = found if isinstance(found, tuple) else (found,)
    kept = [t for t in found if t.requires_grad]
    slopes = [torch.tensor(rng.uniform(-1, 1, tuple(t.shape))).to(getattr(torch, dtype)).to(t.dtype).to(device) for t in kept]
    leaves = [t for t in tensors if t.requires_grad]
    given = torch.autograd.grad(kept, leaves, slopes, allow_unused=True) if kept else []
    assert all(t.device.type == device for t in (*found, *[g for g in given if g is not None])), "a result is elsewhere"
    return [None if t is None else np.array(t.detach().cpu().double().tolist()) for t in (*found, *given)]
