"""Shapes that are new at every step: tables stay bounded, and memory is little more than the largest takes.

The garbage collector is off in all of these: reference counts alone must free everything, so a node, tensor or storage that
is still there afterwards is part of a cycle or held by a table.
"""
from __future__ import annotations

import gc
import importlib
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from collected import collector_off, cycles, resident, what_was_there_is_not_looked_at  # noqa: F401

import numtorch as torch
from numtorch.nn import functional as F
from numtorch.ops.core import primitive

layout = importlib.import_module("numtorch.layout")      # the package has PyTorch's class of that name



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
from test_dynamic_shapes import every_family
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


GROWING = """
import gc, importlib
from test_dynamic_shapes import every_family
from numtorch.ops.core import primitive
layout = importlib.import_module("numtorch.layout")
primitive.ALL_PLANS, layout.MOST_LAYOUTS, layout.Layout._most = 500, 1000, 1000

def most(shapes):
    found = 0
    for n in shapes:
        every_family(n)
        found = max(found, sum(type(o) is not tuple for o in gc.get_objects()))      # those of numbers only the collector untracks
    return found

for n in (200, 300, 480):                                # which is large enough for all kernels
    every_family(n)
primitive._kept[:] = [0]
gc.collect(), gc.freeze(), gc.disable()
print(most(range(200, 320)), most(range(320, 480)), len(layout.Layout._interned))
"""


def alone(program):
    """What a program of this module's calls prints, in a process of its own: what other tests have imported or changed counts too."""
    found = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent, env=dict(os.environ, PYTHONPATH=os.pathsep.join(
        [*map(str, Path(__file__).resolve().parents[:3]), os.environ.get("PYTHONPATH", "")])), capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    return list(map(int, found.stdout.split()))


def test_shapes_that_are_forgotten_leave_nothing_for_the_collector():
    found, = alone(FORGOTTEN)
    assert found < 40


def test_new_shapes_do_not_add_up_without_the_collector():
    first, second, layouts = alone(GROWING)
    assert second < first + 2400 and layouts < 5000      # 15 objects a shape would show


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
@pytest.mark.parametrize("count, scale", [(2048, 16), (100, 24576)])
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
