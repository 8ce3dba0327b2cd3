"""Peak memory and the time of an epoch, in processes of their own."""
from __future__ import annotations

import os

from .runner.case import ProcessCase

NETWORKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner", "networks.py")

IMPORT = """
import {module} as torch
x = torch.ones(10) + torch.ones(10)
report(peak_bytes())
"""
# MNIST's shapes and storage: bytes that become floats batch by batch
EPOCH = """
import runpy
import numpy as np
import {module} as torch
lenet = runpy.run_path(NETWORKS)["lenet"]
rng = np.random.default_rng(0)
images = torch.from_numpy(rng.integers(0, 256, (60000, 1, 28, 28), np.uint8))
labels = torch.from_numpy(rng.integers(0, 10, 60000))
model = lenet(torch)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def step(at):
    x = images[at:at + 64].to(torch.float32) / 255
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), labels[at:at + 64])
    loss.backward()
    optimizer.step()
    return loss
step(0)
begin = time.perf_counter()
for at in range(0, 60000, 64):
    loss = step(at)
loss = loss.item()
assert loss < 3, f"the loss is {loss}"
report(time.perf_counter() - begin, peak_bytes())
""".replace("NETWORKS", repr(NETWORKS))
LARGE = """
import {module} as torch
x = torch.ones(4096, 4096)
y = torch.tanh(x) + x
z = y @ x
report(peak_bytes())
"""

CASES = [
    ProcessCase("import", IMPORT, (("import and first sum: peak memory", "B", None),), ("numtorch", "torch", "numpy"), rounds=3),
    ProcessCase("large", LARGE, (("tanh, sum and product of 64 MiB matrices: peak memory", "B", None),), rounds=3),
    ProcessCase("LeNet epoch", EPOCH, (("LeNet epoch, 60000×1×28×28, batch 64", "s", 0.8),
                                       ("LeNet epoch, 60000×1×28×28, batch 64: peak memory", "B", 0.65)), rounds=2, long=True),
]
