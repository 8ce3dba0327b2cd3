"""`share_memory_`: every view, graph and optimiser goes on, and large memory goes at the last drop."""
from __future__ import annotations

import gc
import weakref

import pytest
from family import MB, in_place, in_use, memory

import numtorch as torch


def test_every_view_stays_valid():
    for shape in ((3, 5), (1000, 1000)):
        x = torch.zeros(*shape)
        views, alias, array = [x[1], x.t(), x.view(-1)[2:]], x.data, x.numpy()
        assert not x.is_shared() and x.share_memory_() is x and x.is_shared()
        x.add_(1)
        for each in (*views, alias, x[0]):
            assert each.is_shared() and each.min().item() == each.max().item() == 1
        alias.mul_(3)
        assert x[0, 0].item() == 3 and array.max() == 0                 # the array has the memory that was


def test_names_of_what_shares():
    """Tensors, modules and storages, which are what they were."""
    for x in (torch.zeros(3), torch.zeros(0), torch.nn.Parameter(torch.ones(2))):
        for each in (x, x.detach().clone()):
            assert each.share_memory_() is each is each.share_memory() and each.is_shared() == bool(each.numel())
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    assert layer.share_memory() is layer and all(t.is_shared() for t in layer.state_dict().values())
    storage = torch.arange(3).untyped_storage()
    assert storage.share_memory_() is storage and storage.is_shared()


def add_to_all(*tensors):
    for each in tensors:
        each.add_(1)


def test_frozen_views_stay_valid(fork):
    """`gc.freeze`, which programs call before they fork, hides tensors from who looks for views."""
    x = torch.zeros(2, 3)
    views, alias = [x[1], x.t()], x.data
    frozen = gc.get_freeze_count()
    gc.freeze()
    x.share_memory_()
    process = fork.Process(target=add_to_all, args=(x,))
    process.start()
    process.join(60)
    assert x.min().item() == 1 and all(each.is_shared() and each.min().item() == 1 for each in (*views, alias))
    assert gc.get_freeze_count() > frozen


def test_garbage_is_not_frozen():
    """Neither what is garbage when views are looked for, nor what becomes it later."""
    class Cycle:
        def __init__(self):
            self.itself = self
    x = torch.zeros(2, 3)
    view = x[1]
    gc.freeze()
    gc.disable()
    try:
        garbage, later = Cycle(), Cycle()
        gone, gone_later = weakref.ref(garbage), weakref.ref(later)
        del garbage
        x.share_memory_()
        assert view.is_shared() and gone() is None
        del later
        gc.collect()
        assert gone_later() is None and not gc.isenabled()
    finally:
        gc.enable()


@in_place
def test_large_memory_is_shared_where_it_is(fork):
    """Whatever knows the address sees what another process writes: views, aliases, NumPy arrays, saved values and compiled
    programs. The memory is the allocator's again afterwards."""
    before = in_use(), memory()
    x = torch.zeros(1100, 1000, requires_grad=True)
    row, alias, array, place = x.detach()[1], x.data, x.detach().numpy(), x.data_ptr()
    y = (x * x).sum()
    program = torch.compile(lambda a: a * 2 + 1)
    data = x.detach()
    assert [program(data)[0, 0].item() for _ in range(4)] == [1] * 4
    x.share_memory_()
    assert x.is_shared() and x.data_ptr() == place == alias.data_ptr()
    process = fork.Process(target=add_to_all, args=(data,))
    process.start()
    process.join(60)
    assert row[5].item() == alias[0, 0].item() == array[1099, 999] == 1 and program(data)[0, 0].item() == 3
    y.backward()
    assert x.grad[0, 0].item() == 2                      # what was saved is shared as well
    del x, y, row, alias, array, data, process, program
    assert in_use() == before[0] and memory() <= before[1] + MB
    again = torch.ones(1100, 1000)
    assert not again.is_shared() and again.sum().item() == 1_100_000


def test_what_a_graph_saved_stays():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * x).sum()
    x.share_memory_()
    y.backward()
    assert x.grad.tolist() == [2, 4, 6]
    z = (x * x).sum()
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_an_optimiser_follows(kind):
    def train(share):
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 1)
        options = {"momentum": 0.9} if kind == "SGD" else {}
        optimizer = getattr(torch.optim, kind)(layer.parameters(), lr=0.1, **options)
        for step in range(6):
            if share and step == 3:
                layer.share_memory()
                for state in optimizer.state.values():
                    for value in state.values():
                        if isinstance(value, torch.Tensor):
                            value.share_memory_()
            optimizer.zero_grad()
            layer(torch.ones(2, 4)).pow(2).sum().backward()
            optimizer.step()
        return [p.tolist() for p in layer.parameters()], [p.is_shared() for p in layer.parameters()]
    assert train(True)[0] == train(False)[0] and all(train(True)[1])


def test_memory_is_not_handed_out_again():
    """A storage that moved left its ring: tensors made later are not shared."""
    for _ in range(5):
        torch.ones(10).share_memory_()
        assert not any(torch.ones(10).is_shared() for _ in range(600))


def test_large_memory_goes_at_the_last_drop(fork):
    before = in_use()
    x = torch.ones(8 * MB // 4).share_memory_()
    assert in_use()[2] == before[2] + 8 * MB
    view = x[5:]
    del x
    assert memory() > 8 * MB
    del view
    assert in_use() == before
