"""What the tape keeps and when it lets go: no cycles, training loops, memory that is used again.

The garbage collector is off in all of these: reference counts alone must free everything, so a node, tensor or storage that
is still there afterwards is part of a cycle or held by a table.
"""
from __future__ import annotations

import gc
import tracemalloc
import weakref

import pytest
from collected import collector_off, cycles, leaf, ours, recycles, resident, what_was_there_is_not_looked_at  # noqa: F401

import numtorch as torch
from numtorch.storage import _empty_rings
from numtorch.utils.checkpoint import checkpoint


# ---------------------------------------------------------------- no cycles
def mixed_model(x, w):
    hidden = torch.relu(x @ w).tanh() + x.exp().sum(0)
    return ((hidden * hidden).mean() + hidden.log_softmax(1).sum()) * hidden.max()


def step_plain(x, w):
    mixed_model(x, w).backward()


def step_unused(x, w):
    mixed_model(x, w)


def step_grad(x, w):
    torch.autograd.grad(mixed_model(x, w), w)


def step_retained(x, w):
    loss = mixed_model(x, w)
    loss.backward(retain_graph=True)
    loss.backward()


def step_kept_graph(x, w):
    mixed_model(x, w).backward(retain_graph=True)


def step_double(x, w):
    first, = torch.autograd.grad(mixed_model(x, w), w, create_graph=True)
    (first * first).sum().backward()


def step_double_unused(x, w):
    torch.autograd.grad(mixed_model(x, w), w, create_graph=True)


def step_hooks(x, w):
    hidden = x @ w
    hidden.retain_grad()
    hidden.register_hook(lambda g: g * 2)
    hidden.grad_fn.register_hook(lambda i, o: None)
    hidden.sum().backward()


def step_in_place(x, w):
    hidden = (x @ w) * 1
    part = hidden[0]
    part.mul_(part)
    part.add_(hidden[1])
    hidden.mul_(2)
    hidden[:, 0] = w[0, 0]
    hidden.t().exp_()
    hidden.sum().backward()


def step_in_place_unused(x, w):
    hidden = (x @ w) * 1
    hidden[0].exp_()
    hidden[0].mul_(hidden[1])
    hidden[1].mul_(hidden[1])
    hidden.t().sigmoid_()
    torch.zeros(2)[0] = w[0, 0]


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        out = x * w
        ctx.save_for_backward(x, w, out)
        return out, out * 2

    @staticmethod
    def backward(ctx, a, b):
        x, w, out = ctx.saved_tensors
        return (a + 2 * b) * w, (a + 2 * b) * x + out * 0


def step_function(x, w):
    a, b = Product.apply(w * 1, w)
    (a * b).sum().backward()


def step_function_unused(x, w):
    Product.apply(w * 1, w)


def step_saved_hooks(x, w):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        loss = mixed_model(x, w)
    loss.backward()


def step_saved_hooks_unused(x, w):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        mixed_model(x, w)


def step_anomaly(x, w):
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        mixed_model(x, w).backward()


def step_checkpoint(x, w):
    checkpoint(mixed_model, x, w, use_reentrant=False).backward()


def step_checkpoint_unused(x, w):
    checkpoint(mixed_model, x, w, use_reentrant=False)


def step_checkpoint_reentrant(x, w):
    checkpoint(mixed_model, x, w, use_reentrant=True).backward()


def step_functional(x, w):
    torch.autograd.functional.hessian(lambda w: mixed_model(x, w), w.detach())


def step_error(x, w):
    y = x @ w
    z = y * y
    y.add_(1)
    try:
        z.sum().backward()
    except RuntimeError:
        pass


STEPS = [v for k, v in list(globals().items()) if k.startswith("step_")]


@pytest.mark.parametrize("step", STEPS)
def test_steps_leave_no_cycles_and_nothing_behind(step):
    torch.manual_seed(1)
    x, w = torch.rand(3, 2), torch.rand(2, 2).requires_grad_()
    for _ in range(3):                                   # plans, rings and kept numbers
        step(x, w)
        w.grad = None
    assert cycles() == []
    before = ours()
    for _ in range(5):
        step(x, w)
        w.grad = None
    assert cycles() == []
    assert ours() <= before


@recycles
def test_cycles_are_found():
    """The measure measures."""
    x = leaf(1, 2)
    y = x * 2
    y.myself = y
    del y
    assert len(cycles()) == 2                            # the tensor and its node


def test_saved_tensors_are_freed_as_backward_goes():
    """When the first layer's backward runs, what the layers behind it saved is gone."""
    saved, alive = [], []

    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            alive.extend(s() is not None for s in saved)
            return grad

    def later_layers(h):
        for _ in range(3):
            factor = torch.full((50_000,), 2.0)          # large enough to be outside the rings
            saved.append(weakref.ref(factor.memory))
            h = h * factor
        return h.sum()

    x = torch.ones(50_000, requires_grad=True)
    loss = later_layers(First.apply(x))
    assert all(s() is not None for s in saved)
    loss.backward()
    assert alive == [False, False, False]


def test_dead_branches_are_freed_at_once():
    x = leaf(1, 2)
    y = x.exp()
    node, memory = weakref.ref(y.grad_fn), weakref.ref(y.memory)
    z = y * 2
    del y
    assert node() is not None                            # z leads to it
    del z
    assert node() is None
    assert memory() is None or memory().pooled           # back in its ring


# ---------------------------------------------------------------- training loops
def test_training_leaves_memory_flat():
    torch.manual_seed(0)
    x, target = torch.rand(8, 4), torch.rand(8, 2)
    weights = [torch.rand(4, 16).requires_grad_(), torch.zeros(16).requires_grad_(), torch.rand(16, 2).requires_grad_()]

    def step():
        loss = ((torch.tanh(x @ weights[0] + weights[1]) @ weights[2] - target) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for w in weights:
                w -= 0.01 * w.grad
                w.grad = None
        return loss.item()

    _empty_rings()                                       # of what earlier tests left in use, which rings let go one by one
    first = step()
    for _ in range(500):
        step()
    objects, memory = len(gc.get_objects()), resident()
    for _ in range(9_500):
        last = step()
    assert last < first / 2
    assert len(gc.get_objects()) - objects < 50
    assert resident() - memory < 1 << 20
    tracemalloc.start()
    for _ in range(200):                                 # until the blocks that NUMTORCH_DEBUG_MEMORY=guard keeps are of these
        step()
    allocated = tracemalloc.get_traced_memory()[0]
    for _ in range(500):
        step()
    grown = tracemalloc.get_traced_memory()[0] - allocated
    tracemalloc.stop()
    assert grown < 4096
    assert cycles() == []


# ---------------------------------------------------------------- memory that is used again
@recycles
def test_what_lives_long_leaves_its_ring():
    """Two neighbours in use made every pass over a ring search it; they are not met again, and keep their values."""
    from numtorch.storage import _rings, ring_for, take
    _rings.pop((2112, torch.device("cpu")), None)        # a fresh ring, whatever other tests left behind
    ring = ring_for(2112)
    held = [take(ring) for _ in range(2)]
    assert all(storage.pooled for storage in held)
    for _ in range(200):
        ring.rotate(1 if ring[0] in held else -1)
        take(ring)
    assert not any(storage.pooled for storage in held) and not any(storage in ring for storage in held)


@recycles
def test_what_is_in_use_outlives_its_ring():
    """The tape asks how many refer to a storage, and a ring that is gone does not."""
    from numtorch.storage import made_in_mode, ring_for, take
    ring = ring_for(2113)
    held = take(ring)
    assert held.pooled and held in ring and ring_for(2113) is ring
    with torch.inference_mode():
        twin = made_in_mode(held, ring)
    assert twin.pooled and twin in ring.twin
    gc.disable()                                         # it goes with whoever has it, and waits for no collection
    try:
        del ring
        assert not held.pooled and not twin.pooled
    finally:
        gc.enable()


@recycles
def test_blocks_of_128_kib_have_a_ring_and_go_back_to_their_list():
    """Free, such a block is handed out again as it is; those for which the ring has no room leave it and go to the list."""
    from numtorch.storage import RINGED, host, ring_for, take
    ring = ring_for(RINGED)
    first, again = [take(ring).address for _ in range(2)]
    assert ring.capacity and first == again and not ring_for(RINGED + 64).capacity
    held = [take(ring) for _ in range(3 * ring.capacity)]
    assert len({storage.address for storage in held}) == len(held) and len(ring) <= ring.capacity
    free = len(host.bins[RINGED])
    held.clear()
    assert len(host.bins[RINGED]) >= free + ring.capacity
