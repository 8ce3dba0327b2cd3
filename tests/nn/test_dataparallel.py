"""DataParallel: one module in several processes gives what it gives in one."""
from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import signal

import pytest

import numtorch as torch
from numtorch import nn
from numtorch.shared import storages


class Net(nn.Module):
    """Two inputs, three outputs in a dict, one of which needs no gradient; a parameter that nothing uses."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)
        self.unused = nn.Parameter(torch.ones(2))

    def forward(self, x, *, scale, factor=1.0):
        h = torch.tanh(self.first(x)) * scale
        return {"y": self.second(h) * factor, "sizes": (h.detach().sum(1), (h * h).mean())}


@pytest.mark.parametrize("rows, workers", [(8, 2), (5, 3)])
def test_values_and_gradients(rows, workers):
    torch.manual_seed(0)
    net = Net()
    plain, both = copy.deepcopy(net), nn.DataParallel(net, list(range(workers)))
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (plain, both)]
    assert list(both.state_dict()) == ["module." + k for k in plain.state_dict()]
    for _ in range(3):                                   # the workers see each step
        x, scale = torch.randn(rows, 4), torch.rand(rows, 1)
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        mine, other = both(a, scale=scale, factor=2.0), plain(b, scale=scale, factor=2.0)
        assert torch.allclose(mine["y"], other["y"]) and torch.allclose(mine["sizes"][0], other["sizes"][0])
        assert mine["sizes"][1].shape == (workers,) and not mine["sizes"][0].requires_grad
        mine["y"].pow(2).sum().backward()
        other["y"].pow(2).sum().backward()
        assert torch.allclose(a.grad, b.grad, atol=1e-5) and net.unused.grad is None
        assert all(p.is_shared() and (p.grad is None or p.grad.is_shared()) for p in net.parameters())       # summed where they came
        for p, q in zip(net.parameters(), plain.parameters()):
            assert q.grad is None or torch.allclose(p.grad, q.grad, atol=1e-5)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()


def test_no_heap_is_searched_for_what_is_sent(monkeypatch):
    """For other tensors over small memory: that would take more time than the rest of a step. Of a forked worker's heap neither."""
    both = nn.DataParallel(nn.Linear(4, 3).share_memory(), 2)
    x = torch.randn(6, 4, requires_grad=True)

    def searched(distances, pending):
        raise AssertionError("the heap is searched")
    monkeypatch.setattr(storages, "rebind", searched)
    y = both(x)
    assert torch.allclose(y, both.module(x))
    y.square().sum().backward()
    assert torch.allclose(x.grad, 2 * y @ both.module.weight, atol=1e-6)


def test_modes_buffers_and_replaced_memory():
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    both = nn.DataParallel(net, 2)
    x = torch.randn(8, 4)
    both(x)
    assert net[1].num_batches_tracked.item() == 1 and net[1].running_mean.abs().sum() > 0
    both.eval()
    with torch.no_grad():
        assert torch.allclose(both(x), net(x)) and not both(x).requires_grad
    both.double()
    assert torch.allclose(both(x.double()), net(x.double()))
    processes = [p.pid for p in both._team.processes]
    assert both(torch.randn(1, 4).double()).shape == (1, 4)           # one row: this process
    del both
    gc.collect()
    assert not {p.pid for p in multiprocessing.active_children()} & set(processes)


class Failing(nn.Module):
    def forward(self, x):
        if x.max() > 5:
            os.kill(os.getpid(), signal.SIGKILL)
        if x.max() > 2:
            raise LookupError("too large")
        return x


def test_failures():
    both = nn.DataParallel(Failing(), 2)
    with pytest.raises(LookupError, match="too large") as caught:
        both(torch.tensor([0.0, 3.0]))
    assert "in forward" in str(caught.value.__cause__)
    assert both(torch.tensor([0.0, 1.0])).tolist() == [0, 1]
    with pytest.raises(torch.multiprocessing.ProcessExitedException, match=r"worker 1 .*SIGKILL"):
        both(torch.tensor([0.0, 6.0]))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_however_workers_start(method):
    """And where the loss needs two calls, whose graphs the workers keep apart, and the first is gone through last."""
    before = torch.multiprocessing.get_start_method(allow_none=True)
    torch.multiprocessing.set_start_method(method, force=True)
    try:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
        both, x = nn.DataParallel(net, 2), torch.randn(6, 4)
        first, second = both(x), both(x * 2)
        assert torch.allclose(first, net(x)) and torch.allclose(second, net(x * 2))
        second.sum().backward()
        first.pow(2).sum().backward()
        found = net[0].weight.grad.clone()
        net.zero_grad()
        (net(x * 2).sum() + net(x).pow(2).sum()).backward()
        assert torch.allclose(found, net[0].weight.grad, atol=1e-5)
    finally:
        torch.multiprocessing.set_start_method(before, force=True)


def test_pieces():
    pieces = nn.parallel.scatter({"x": torch.arange(5), "y": [1, "a"]}, 2)
    assert pieces[0]["x"].tolist() == [0, 1, 2] and pieces[1]["y"] == [1, "a"]
    layer = nn.Linear(2, 1)
    x = torch.randn(4, 2)
    outputs = nn.parallel.parallel_apply(nn.parallel.replicate(layer, 2), nn.parallel.scatter(x, 2))
    assert torch.allclose(nn.parallel.gather(outputs), layer(x))
    nn.parallel.gather(outputs).sum().backward()
    assert layer.bias.grad.item() == 4


def test_one_call_and_stages():
    """`data_parallel` leaves no worker; the stages of a step as modules give what it gives; detached replicas give no gradient."""
    layer, x = nn.Linear(3, 2), torch.randn(5, 3)
    before = set(multiprocessing.active_children())
    out = nn.parallel.data_parallel(layer, x, [0, 1])
    out.sum().backward()
    found = layer.weight.grad.clone()
    layer.zero_grad()
    staged = nn.parallel.Gather()(nn.parallel.ParallelApply()(nn.parallel.Replicate(2)(layer), nn.parallel.Scatter(2)(x)))
    staged.sum().backward()
    assert torch.allclose(out, layer(x)) and torch.allclose(staged, layer(x)) and torch.allclose(layer.weight.grad, found)
    replicas = nn.parallel.replicate(layer, 2, detach=True)
    assert not any(p.requires_grad for p in (replicas[0].weight, replicas[1].bias))
    assert replicas[0].weight.data_ptr() == layer.weight.data_ptr()
    del out
    gc.collect()
    assert set(multiprocessing.active_children()) <= before
