"""What the tape keeps and when it lets go: deep graphs, training loops, cycles, dynamic shapes, threads.

The garbage collector is off in all of these: reference counts alone must free everything, so a node, tensor or storage that
is still there afterwards is part of a cycle or held by a table.
"""
from __future__ import annotations

import gc
import importlib
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import numtorch as torch
from numtorch.autograd.graph import Node
from numtorch.kernels.debugmemory import MODE
from numtorch.nn import functional as F
from numtorch.ops.core import primitive
from numtorch.storage import Storage
from numtorch.utils.checkpoint import checkpoint

recycles = pytest.mark.skipif(bool(MODE), reason="nothing is recycled with NUMTORCH_DEBUG_MEMORY")

layout = importlib.import_module("numtorch.layout")      # the package has PyTorch's class of that name

@pytest.fixture(autouse=True, scope="module")
def what_was_there_is_not_looked_at():
    """A process that has compiled a thousand kernels has millions of objects: each collection of them would take a second."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def collector_off():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(*values):
    return torch.tensor([float(v) for v in values], requires_grad=True)


def ours() -> int:
    """How many nodes and tensors there are."""
    return sum(issubclass(type(o), (Node, torch.Tensor)) for o in gc.get_objects())     # isinstance would wake dead proxies


def cycles() -> list:
    """The names of what of ours only the collector can free, which it then does."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        found = [o.name() if issubclass(type(o), Node) else type(o).__name__ for o in gc.garbage
                 if issubclass(type(o), (Node, torch.Tensor, Storage))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    gc.collect()
    return found


def resident() -> int:
    """Bytes of memory this process has in use; 0 where the system does not say."""
    if not os.path.exists("/proc/self/statm"):
        return 0
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ---------------------------------------------------------------- deep graphs
DEPTH = 100_000


def deep_chain(x):
    for _ in range(DEPTH):
        x = x + 1.0
    return x


def deep_saving_chain(x):
    for _ in range(DEPTH):
        x = x * 1.0
    return x


def deep_views(x):
    for _ in range(DEPTH // 2):
        x = x.view(1, 2).view(2)
    return x


def deep_in_place(x):
    x = x * 1
    for _ in range(DEPTH):
        x.add_(1.0)
    return x


@pytest.mark.parametrize("build", [deep_chain, deep_saving_chain, deep_views, deep_in_place])
def test_deep_graphs(build):
    x = leaf(2, 3)
    before = ours()
    y = build(x)
    assert ours() >= before + DEPTH                      # the count counts
    last = weakref.ref(y.grad_fn)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    del y
    assert last() is None and ours() < before + 20       # x.grad, and what is made once (numbers, the first gradient)
    y = build(x)                                         # and without a backward
    del y
    assert ours() < before + 20
    assert cycles() == []


@pytest.mark.parametrize("view", [lambda x: x[1:], lambda x: x.split(1), torch.view_as_complex, lambda x: ReturnsAView.apply(x)])
def test_a_tensor_forgets_views_that_are_gone(view):
    """Parameters are viewed at each step of a training."""
    x = torch.ones(4, 2, requires_grad=True)
    for _ in range(300):
        view(x)
    assert len(x._views) < 100


class ReturnsAView(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)


def test_deep_graphs_towards_an_input():
    x = leaf(2, 3)
    y = deep_chain(x)
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [1, 1]


def test_deep_custom_functions():
    class Next(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = leaf(2, 3)
    y = x
    for _ in range(20_000):
        y = Next.apply(y)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    del y
    assert cycles() == []


def test_deep_double_backward():
    x = leaf(1, 1)
    y = x
    for _ in range(3_000):
        y = y * x
    first, = torch.autograd.grad(y.sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [3001, 3001] and second.tolist() == [3001 * 3000] * 2


def test_wide_graphs():
    x = leaf(2, 3)
    torch.autograd.backward([(x * i).sum() for i in range(5_000)])
    total = sum(range(5_000))
    np.testing.assert_allclose(x.grad.tolist(), [total, total], rtol=1e-5)


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


# ---------------------------------------------------------------- dynamic shapes
def tables() -> dict:
    """Entries of every plan table and registry of layouts, by where they are."""
    from numtorch import storage
    found = {f"table {i}": len(t) for i, t in enumerate(primitive._tables)}
    found["tables"] = len(primitive._tables)
    found["rings"] = len(storage._rings)
    for module in (layout, storage):
        for name, value in vars(module).items():
            if isinstance(value, (dict, weakref.WeakValueDictionary)) and not name.startswith("__"):
                found[f"{module.__name__}.{name}"] = len(value)
    return found


def every_family(n):
    """A few calls of most families of ops, of a shape of its own for each n."""
    x = torch.randn(n, 4, requires_grad=True)
    w = torch.randn(4, 8, requires_grad=True)
    y = (x @ w).relu().t().contiguous().softmax(0)
    (y * y).mean().backward()
    F.layer_norm(F.linear(x, w.t()), (8,)).sum(0).sum().backward()
    F.batch_norm(x, None, None, training=True).sum().backward()
    F.conv2d(torch.randn(1, 2, n + 3, 5, requires_grad=True), torch.randn(3, 2, 3, 3, requires_grad=True), padding=1).sum().backward()
    torch.cat([x, x]).sort(0)[0].cumsum(0).amax(1).sum().backward()
    F.cross_entropy(x, torch.zeros(n, dtype=torch.int64)).backward()
    x[torch.zeros(n, dtype=torch.int64)].sum().backward()
    F.scaled_dot_product_attention(x[None], x[None], x[None]).sum().backward()
    F.pad(torch.where(x > 0, x, 0.0), (1, 1)).var(0).sum().backward()


FORGOTTEN = """
import gc, importlib
from test_autograd_memory import every_family
from numtorch.ops.core import primitive
layout = importlib.import_module("numtorch.layout")
for shapes in range(100, 140), range(140, 180):          # a kernel that is compiled leaves cycles of Numba's
    gc.collect()
    for n in shapes:
        every_family(n)
    primitive.forget_plans()
    layout.Layout._forget_views()
print(gc.collect())
"""


def test_shapes_that_are_forgotten_leave_nothing_for_the_collector():
    """In a process of its own: what other tests of this one have imported or changed makes cycles too."""
    found = subprocess.run([sys.executable, "-c", FORGOTTEN], cwd=os.path.dirname(__file__), env=dict(os.environ, PYTHONPATH=os.pathsep.join(
        [os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__)), os.environ.get("PYTHONPATH", "")])), capture_output=True, text=True, timeout=300)
    assert found.returncode == 0 and int(found.stdout) < 40, found.stdout + found.stderr


def test_new_shapes_do_not_add_up_without_the_collector(monkeypatch):
    monkeypatch.setattr(primitive, "ALL_PLANS", 500)
    monkeypatch.setattr(layout, "MOST_LAYOUTS", 1000)
    monkeypatch.setattr(layout.Layout, "_most", 1000)
    monkeypatch.setattr(primitive, "_kept", [0])

    def most(shapes):
        found = 0
        for n in shapes:
            every_family(n)
            found = max(found, sum(type(o) is not tuple for o in gc.get_objects()))      # those of numbers only the collector untracks
        return found

    every_family(480)                                    # large enough for all kernels
    first = most(range(200, 320))
    assert most(range(320, 480)) < first + 2400          # 15 objects a shape would show
    assert len(layout.Layout._interned) < 5000


ROOM = """
import sys
import numtorch as torch
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20
def step(n):
    x = torch.ones(n, requires_grad=True)
    (x * x + x.exp()).sum().backward()
step(100)
step(100_000)
before = resident()
most = 0
for n in range(1, {count}):
    step(n * {scale})
    most = max(most, resident() - before)
torch.empty_cache()
print(most, resident() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("count, scale", [(2048, 16), (600, 4096)])
def test_dynamic_sizes_take_little_more_than_their_largest(count, scale):
    """Of tensors up to 128 KiB, and up to 10 MB."""
    done = subprocess.run([sys.executable, "-c", ROOM.format(count=count, scale=scale)], capture_output=True, text=True, timeout=300)
    most, left = map(int, done.stdout.split())
    assert most < 300 and left < 60, (most, left)


def test_dynamic_shapes_leave_tables_bounded(monkeypatch):
    """1 000 shapes with room for 100 plans, as 20 000 would be with the room there is."""
    monkeypatch.setattr(primitive, "PLAN_LIMIT", 100)

    def run(n):
        x = torch.ones(n, requires_grad=True)
        y = (x * x + x.exp()).view(1, n).t() * 2
        y[: n // 2].mul_(y[n // 2: n // 2 * 2])
        y.sum().backward()

    for n in range(2, 300):
        run(n)
    gc.collect()
    before = tables()
    for n in range(300, 1_000):
        run(n)
    gc.collect()
    after = tables()
    assert after["tables"] == before["tables"]
    grown = {name: (before.get(name, 0), size) for name, size in after.items() if size > 100 + before.get(name, 0)}
    assert not grown, grown


# ---------------------------------------------------------------- threads
def test_threads_work_on_graphs_of_their_own():
    errors = []
    start = threading.Barrier(4)

    def work(seed):
        try:
            random = np.random.default_rng(seed)
            start.wait()
            for i in range(150):
                n = int(random.integers(1, 40))
                values = random.standard_normal(n)
                x = torch.tensor(values, requires_grad=True)
                y = x * x + x.sin()
                y[: n // 2].mul_(2)
                z = y.exp().sum() if i % 3 else (y * y).sum()
                z.backward()
                inner = values ** 2 + np.sin(values)
                scale = np.ones(n)
                scale[: n // 2] = 2
                outer = np.exp(inner * scale) if i % 3 else 2 * inner * scale
                np.testing.assert_allclose(x.grad.numpy(), outer * scale * (2 * values + np.cos(values)), rtol=1e-9)
                with torch.no_grad():
                    assert not (x * 2).requires_grad
        except BaseException as error:                   # for the main thread to raise
            errors.append(error)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]


def test_threads_share_a_leaf_through_grad():
    w = leaf(2, 3)
    results = [None] * 4

    def work(i):
        results[i] = [torch.autograd.grad((w * w * (i + 1)).sum(), w)[0].tolist() for _ in range(100)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(r == [[4.0 * (i + 1), 6.0 * (i + 1)]] * 100 for i, r in enumerate(results))


def test_backward_in_another_thread():
    x = leaf(2, 3)
    loss = (x * x).sum()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    assert x.grad.tolist() == [4, 6]


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
