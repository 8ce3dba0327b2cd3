"""Threads: graphs of their own, a leaf that several share, backward in another one than forward.
"""
from __future__ import annotations

import threading

import numpy as np
from collected import leaf

import numtorch as torch


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


def test_others_find_the_first_gradient_once_it_is_one(monkeypatch):
    """It is kept for the next backward. Found by another thread before it was written, it made gradients 0 or anything."""
    class Table(dict):
        def __setitem__(self, layout, gradient):
            assert gradient.item() == 1
            super().__setitem__(layout, gradient)
    table = Table()
    monkeypatch.setattr("numtorch.ops.engine_arithmetic._ones", table)
    x = torch.tensor(3., requires_grad=True)
    (x * x).backward()
    assert len(table) == 1 and x.grad.item() == 6


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
