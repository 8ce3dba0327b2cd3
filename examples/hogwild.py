"""Hogwild (Niu et al. 2011): several processes train one network at once, without locks.

    python examples/hogwild.py [--processes N] [--epochs 20] [--out hogwild.png]

The network and the optimiser's state lie in shared memory. Each process takes its own batches, reads the weights as they are, and
writes its step into them, whatever the others are doing; now and then a step is lost, and nobody waits.
"""
import argparse
import os
import time

import harness

import numtorch as torch
import numtorch.multiprocessing as mp
import numtorch.nn.functional as F
from numtorch import nn, optim
from numtorch.data import digits_split


def network(small):
    hidden = 16 if small else 256
    return nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden,
    10))


def train(model, optimizer, images, labels, batches, seed, counter):
    """What each process does: take the next batch until none is left."""
    torch.manual_seed(seed)
    while True:
        with counter.get_lock():
            if counter.value >= batches:
                return
            counter.value += 1
        chosen = torch.randint(len(images), (64,))
        loss = F.cross_entropy(model(images[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def accuracy(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(dim=1) == labels).float().mean().item()


def run(processes, epochs, small, seed=0):
    """Train with so many processes. Returns (seconds, accuracy) while they work, and at the end."""
    torch.manual_seed(seed)
    images, labels, *test = digits_split()
    model = network(small).share_memory()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    optimizer.share_memory()
    context = mp.get_context("fork")
    counter, batches = context.Value("i", 0), epochs * len(images) // 64
    workers = [context.Process(target=train, args=(model, optimizer, images, labels, batches, seed + i, counter))
               for i in range(processes)]
    curve, start = [(0.0, accuracy(model, *test))], time.perf_counter()
    for worker in workers:
        worker.start()
    with harness.progress(batches, called(processes)) as bar:
        for worker in workers:
            while worker.is_alive():
                worker.join(0.05)
                curve.append((time.perf_counter() - start, accuracy(model, *test)))
                bar.update(counter.value - bar.n)
            if worker.exitcode:
                raise RuntimeError(f"a process ended with status {worker.exitcode}")
    return curve


def called(processes):
    return f"{processes} process{'es' * (processes > 1)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=max(2, os.cpu_count() or 1))
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--out", default="hogwild.png")
    options = parser.parse_args()
    figure = harness.new_figure(1)
    for processes in (1, options.processes):
        curve = run(processes, options.epochs, options.small)
        print(f"{called(processes)}: {curve[-1][1]:.1%} right after {curve[-1][0]:.2f} s")
        figure.axes[0].plot(*zip(*curve), label=called(processes))
    figure.axes[0].set(xlabel="seconds", ylabel="right on new digits", ylim=(0, 1))
    figure.axes[0].legend(fontsize=8)
    figure.savefig(options.out, dpi=100)
    print(f"drawn in {options.out}")


if __name__ == "__main__":
    main()
