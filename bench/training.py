"""Training with what stands around a network, in processes of their own: epochs with the DataLoader, what Trainer and the profiler
add to a loop by hand, and Torch7's modules beside those of `nn`.

What only numtorch has is measured against numtorch: runs of both kinds in turns, and the least time of each.
"""
from __future__ import annotations

import os

from .runner.case import ProcessCase

NETWORKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner", "networks.py")

# MNIST's shapes and storage, read one image at a time by a dataset of one's own, as scripts do
EPOCH = """
import runpy
import numpy as np
import {module} as torch
import {module}.utils.data
lenet = runpy.run_path(NETWORKS)["lenet"]
rng = np.random.default_rng(0)
torch.manual_seed(0)
images = torch.from_numpy(rng.integers(0, 256, (60000, 28, 28), np.uint8))
labels = torch.from_numpy(rng.integers(0, 10, 60000))
class Images(torch.utils.data.Dataset):
    def __len__(self):
        return len(images)
    def __getitem__(self, index):
        return (images[index].float() / 255 - 0.1307).unsqueeze(0) / 0.3081, labels[index]
model = lenet(torch)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
data = DATA
loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
step(*next(iter(loader)))
begin = time.perf_counter()
for x, y in loader:
    loss = step(x, y)
loss = loss.item()
assert loss < 3, f"the loss is {loss}"
report(time.perf_counter() - begin)
""".replace("NETWORKS", repr(NETWORKS))
WHOLE = """torch.utils.data.TensorDataset(((images.float() / 255 - 0.1307) / 0.3081).unsqueeze(1), labels)"""

IN_TURNS = """
import runpy
import {module} as torch
lenet = runpy.run_path(NETWORKS)["lenet"]
torch.manual_seed(0)
def least(rounds, *runs):
    best = [float("inf")] * len(runs)
    for _ in range(rounds):
        for place, run in enumerate(runs):
            begin = time.perf_counter()
            run()
            best[place] = min(best[place], time.perf_counter() - begin)
    return best
""".replace("NETWORKS", repr(NETWORKS))
TRAINER = IN_TURNS + """
from {module}.utils.trainer import Trainer, plugins
train_by_hand = runpy.run_path(NETWORKS)["train_by_hand"]
def both(model, criterion, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    trainer = Trainer(model, criterion, optimizer, batches)
    trainer.register_plugin(plugins.LossMonitor())
    return trainer.run, lambda: train_by_hand(model, criterion, optimizer, batches)
one = torch.nn.Linear(4, 2)
small = both(one, torch.nn.MSELoss(), [(torch.randn(8, 4), torch.randn(8, 2))] * 1000)
added = [(a - b) / 1000 for a, b in [least(20, *small)]]
large = both(lenet(torch), torch.nn.CrossEntropyLoss(), [(torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,)))] * 30)
whole, alone = least(12, *large)
report(added[0], whole / alone)
""".replace("NETWORKS", repr(NETWORKS))
LEGACY = IN_TURNS + """
from {module} import legacy
def both(count):
    x, y = torch.randn(count, 1, 28, 28), torch.randint(0, 10, (count,))
    model = lenet(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()
    L, net = legacy.nn, legacy.nn.Sequential()
    for module in (L.SpatialConvolution(1, 20, 5, 5), L.ReLU(), L.SpatialMaxPooling(2, 2), L.SpatialConvolution(20, 50, 5, 5),
                   L.ReLU(), L.SpatialMaxPooling(2, 2), L.View(-1, 800), L.Linear(800, 500), L.ReLU(), L.Linear(500, 10)):
        net.add(module)
    net.get(0).gradInput = None
    criterion, state = L.CrossEntropyCriterion(), {"learningRate": 0.01}
    weights, gradients = net.flattenParameters()
    def evaluate(weights):
        net.zeroGradParameters()
        loss = criterion.forward(net.forward(x), y)
        net.backward(x, criterion.backward(net.output, y))
        return loss, gradients
    return [lambda run=run: [run() for _ in range(4)] for run in (lambda: legacy.optim.sgd(evaluate, weights, state), step)]
report(*(a / b for a, b in (least(60, *both(16)), least(20, *both(64)))))
"""
PROFILER = IN_TURNS + """
x = torch.ones(8)
def calls():
    for _ in range(5000):
        torch.abs(x)
before, = least(30, calls)
with torch.profiler.profile():
    during, = least(8, calls)
after, = least(30, calls)
report((during - before) / 5000, after / before)
"""

CASES = [
    ProcessCase("MNIST epoch, whole", EPOCH.replace("DATA", WHOLE),
                (("LeNet epoch of 60000×1×28×28 in batches of 64 by a DataLoader in process", "s", 0.45),), rounds=2, long=True),
    ProcessCase("MNIST epoch, image by image", EPOCH.replace("DATA", "Images()"),
                (("the same from a dataset that makes floats of one image at a time", "s", 0.45),), rounds=2, long=True),
    ProcessCase("Trainer", TRAINER, (("what Trainer with a loss monitor adds to a step by hand", "s", None, 15e-6),
                                     ("LeNet epoch of batches of 64 by Trainer, to one by hand", "×", None, 1.03)),
                ("numtorch",), rounds=3),
    ProcessCase("legacy", LEGACY, (("LeNet step of 16 images with legacy.nn and legacy.optim, to one with nn", "×", None, 1.0),
                                   ("LeNet step of 64 images with legacy.nn and legacy.optim, to one with nn", "×", None, 1.0)),
                ("numtorch",), rounds=3),
    ProcessCase("profiler", PROFILER, (("what a profile adds to a call", "s", None, 1e-6),
                                       ("a call after a profile, to one before", "×", None, 1.05)), ("numtorch",), rounds=3),
]
