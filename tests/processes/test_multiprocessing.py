"""Tensors between processes: handles, views, arrays, and managers that hold them."""
from __future__ import annotations

import functools
import inspect
import multiprocessing
import multiprocessing.pool
import pickle
import time
from multiprocessing import resource_sharer

import numpy as np
import pytest
from family import MB, in_use

import numtorch as torch
import numtorch.multiprocessing as mp
from numtorch.kernels.debugmemory import MODE
from numtorch.multiprocessing import transfer


def echo(incoming, outgoing):
    for value in iter(incoming.get, None):
        if isinstance(value, tuple):
            whole, view = value
            assert whole.untyped_storage() is view.untyped_storage()
            view.fill_(7)
            assert whole[1].tolist() == [7.0] * 3
        outgoing.put(value)


def test_tensors_travel_by_handle(context):
    """Views stay views within and across messages, writes are seen on both sides, and one that comes home is the one that left."""
    there, back = context.Queue(), context.Queue()
    x = torch.zeros(2, 3)
    row, kept = x[1], x.t()
    process = context.Process(target=echo, args=(there, back))
    process.start()
    there.put((x, row))
    whole, view = back.get(timeout=60)
    assert x.is_shared() and whole.untyped_storage() is x.untyped_storage() is view.untyped_storage()
    assert x.tolist() == [[0.0] * 3, [7.0] * 3] == kept.t().tolist() and row.tolist() == [7.0] * 3
    there.put(x[:, 1:])
    part = back.get(timeout=60)
    assert part.untyped_storage() is x.untyped_storage() and part.stride() == (3, 1) and part.storage_offset() == 1
    for value in (torch.tensor(3.5), torch.arange(5, dtype=torch.int16), torch.zeros(0, 4), torch.tensor([1 + 2j]),
                  torch.ones(2, 2, dtype=torch.bfloat16), {"a": [torch.ones(3)], "b": "text"}, 2 ** 70, torch.eye(2).to_sparse(),
                  torch.empty(3, 2, device="meta").t(), torch.float16, [torch.Size([2])], torch.device("meta"), torch.FloatTensor):
        there.put(value)
        got = back.get(timeout=60)
        assert type(got) is type(value) and str(got) == str(value)
    there.put(spread := torch.arange(3.0).expand(4, 3))
    got = back.get(timeout=60)
    assert got.stride() == (0, 1) and got.untyped_storage() is spread.untyped_storage()
    stream = torch.Generator().manual_seed(3)
    torch.rand(5, generator=stream)
    there.put(stream)
    assert torch.equal(torch.rand(4, generator=back.get(timeout=60)), torch.rand(4, generator=stream))
    there.put(None)
    process.join(60)
    assert process.exitcode == 0


def test_parameters_and_gradients_travel(fork):
    queue = fork.Queue()
    layer = torch.nn.Linear(3, 2)
    layer(torch.ones(1, 3)).sum().backward()
    layer.weight.note = "kept"
    queue.put(layer)
    got = queue.get()
    assert type(got.weight) is torch.nn.Parameter and got.weight.requires_grad and got.weight.note == "kept"
    assert got.weight.data_ptr() == layer.weight.data_ptr() and torch.equal(got.weight.grad, layer.weight.grad)
    got.weight.grad.fill_(5)
    assert layer.weight.grad.tolist() == [[5.0] * 3] * 2
    with pytest.raises(RuntimeError, match="non-leaf tensor which requires_grad"):
        queue.put(layer.weight * 2)
    assert queue.empty()


def step_there(queue, done):
    model, optimizer = queue.get()
    assert [id(p) for group in optimizer.param_groups for p in group["params"]] == [id(p) for p in model.parameters()]
    model(torch.ones(2, 3)).pow(2).sum().backward()
    optimizer.step()
    done.put(optimizer.state_dict())


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_an_optimisers_state_travels(kind, context):
    """With its module, in one message: a step there is a step here, of the parameters and of the state. Its dict comes back so, too."""
    def trained():
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.1, **({"momentum": 0.9} if kind == "SGD" else {}))
        model(torch.ones(2, 3)).pow(2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        return model, optimizer
    (model, optimizer), (same, beside) = trained(), trained()
    queue, done = context.Queue(), context.SimpleQueue()
    process = context.Process(target=step_there, args=(queue, done))
    process.start()
    queue.put((model, optimizer))
    there = done.get()
    process.join(60)
    same(torch.ones(2, 3)).pow(2).sum().backward()
    beside.step()
    for number, (mine, other) in enumerate(zip(model.parameters(), same.parameters())):
        assert torch.equal(mine, other) and mine.grad is None
        for name, value in optimizer.state[mine].items():
            if name == "step":                           # each counts its own
                assert (value.item(), there["state"][number][name].item()) == (1, 2)
                continue
            assert torch.equal(value, beside.state[other][name]) and value.is_shared(), name
            assert there["state"][number][name].untyped_storage() is value.untyped_storage()


class Adder:
    def __init__(self, x):
        self.x = x

    def add(self, number, *rest, **others):
        for each in (self.x, *rest, *others.values()):
            each.add_(number)


def test_whatever_a_target_reaches_is_shared(context):
    """Arguments, what is in them, and what the target is made of: closures, defaults, methods' objects, partial calls."""
    tensors = [torch.zeros(2) for _ in range(8)]
    a, b, c, d, e, f, g, h = tensors
    closure, default = lambda: a.add_(1), lambda number, x=b: x.add_(number)
    nested = {"one": [(c, {"two": d})]}
    layer = torch.nn.ParameterList([torch.nn.Parameter(e)])
    calls = [(closure, (), {}), (default, (1,), {}), (add_one_in, (nested,), {}), (add_one_to_all, (layer,), {}),
             (functools.partial(Adder(f).add, 1), (g,), {"last": h})]
    for target, args, kwargs in calls if context.get_start_method() == "fork" else [(call_all, calls, {})]:
        process = context.Process(target=target, args=args, kwargs=kwargs)
        process.start()
        process.join(60)
        assert process.exitcode == 0
    assert all(x.is_shared() and x.tolist() == [1, 1] for x in tensors)


def call_all(*calls):
    for target, args, kwargs in calls:
        target(*args, **kwargs)


def add_one_in(nested):
    (c, inner), = nested["one"]
    for x in (c, inner["two"]):
        x.add_(1)


def add_one_to_all(parameters):
    with torch.no_grad():
        for p in parameters:
            p.add_(1)


def send_and_end(queue, count, nbytes):
    for i in range(count):
        queue.put(torch.full((nbytes // 4,), float(i)))


def test_the_sender_may_end_first(context):
    queue = context.Queue()
    process = context.Process(target=send_and_end, args=(queue, 5, 8 * MB))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert [queue.get(timeout=1)[-1].item() for _ in range(5)] == [0, 1, 2, 3, 4]


# ---------------------------------------------------------------- NumPy arrays, and managers
def write_to_arrays(there, back):
    for value in iter(there.get, None):
        value["x"][:2] = 5
        back.put(value)


def test_arrays_travel_by_handle_if_asked(context):
    before = in_use()
    there, back = context.Queue(), context.Queue()
    shared, large, left = torch.zeros(300, 50), torch.zeros(1200, 1000), torch.zeros(3000)
    array_left = left.numpy()
    left.share_memory_(), shared.share_memory_()
    copied, fortran, small = np.arange(9000.0), np.asfortranarray(np.arange(12000.0).reshape(3, -1)), np.arange(3)
    mp.set_array_sharing(4096)
    try:
        process = context.Process(target=write_to_arrays, args=(there, back))
        process.start()
        for array, seen in ((shared.numpy()[::2], True), (large.numpy().T, not MODE), (array_left, False), (copied, False), (fortran, False), (small, False),
                            (copied[::-3], False), (np.zeros(5000, [("a", "i4"), ("b", "f8")])["b"], False)):
            was = array.copy()
            there.put({"x": array})
            got = back.get(timeout=60)["x"]
            assert type(got) is np.ndarray and got.shape == array.shape and got.dtype == array.dtype
            assert (got[:2] == 5).all() and (got[2:] == was[2:]).all()
            assert (array[:2] == 5).all() == seen
            got[2] = 7
            assert (array[2] == 7).all() == seen
            again = array if seen else got
            there.put({"x": again})                       # what lies in shared memory comes home as it left
            assert np.shares_memory(back.get(timeout=60)["x"], again) == (array is not small)
        there.put(np.array(["a", None]))                  # no memory to share
        process.join(60)
    finally:
        mp.set_array_sharing(None)
        there.put(None)
    assert (MODE or torch.equal(large[:, :2], torch.full((1200, 2), 5.0))) and process.exitcode == 1
    del there, back, shared, large, left, array_left, array, got, again, process
    assert in_use() == before


def change_in_manager(things, table):
    things[0].add_(1)
    table["x"] = things[0]
    things.append(torch.full((3,), 4.0))
    time.sleep(0)


def test_managers_hold_tensors_by_handle(context):
    before = in_use()
    manager = context.Manager()
    things, table = manager.list([torch.zeros(3)]), manager.dict()
    x = torch.zeros(2 * MB)
    things[0] = x
    assert x.is_shared() and things[0].untyped_storage() is x.untyped_storage()
    process = context.Process(target=change_in_manager, args=(things, table))
    process.start()
    process.join(60)
    assert process.exitcode == 0 and x[5].item() == 1 and table["x"].untyped_storage() is x.untyped_storage()
    assert things[1].tolist() == [4] * 3                 # of a process that is over
    queue = manager.Queue()
    queue.put({"rows": x[2:4]})
    rows = queue.get()["rows"]
    rows.fill_(9)
    assert x[:5].tolist() == [1, 1, 9, 9, 1]
    with pytest.raises(RuntimeError, match="non-leaf"):
        things.append(torch.ones(2, requires_grad=True) * 2)
    with pytest.raises(IndexError):
        things[5]
    manager.shutdown()
    del manager, things, table, x, process, queue, rows
    assert in_use() == before


def use_what_a_manager_has(has, x):
    with has["Lock"], has["RLock"], has["RLock"], has["Semaphore"], has["BoundedSemaphore"]:
        has["Value"].value += 1
        has["Array"][1] = 5
    has["Namespace"].x, has["dict"]["x"] = x, x
    has["JoinableQueue"].put(x[1:])
    has["Event"].wait(60)
    with has["Condition"]:
        has["Value"].value += 1
        has["Condition"].notify_all()
    has["Barrier"].wait(60)


def test_all_that_a_manager_has(context):
    """Values, arrays, events and locks of every kind, and tensors in a namespace, a queue and results of its pool."""
    with context.Manager() as manager:
        has = {name: getattr(manager, name)(*args) for name, args in {
            "Value": ("i", 3), "Array": ("d", [1.0, 2.0]), "Namespace": (), "Event": (), "Lock": (), "RLock": (), "Semaphore": (1,),
            "BoundedSemaphore": (1,), "Condition": (), "Barrier": (2,), "dict": (), "JoinableQueue": ()}.items()}
        x = torch.zeros(3)
        process = context.Process(target=use_what_a_manager_has, args=(has, x))
        process.start()
        rest = has["JoinableQueue"].get(timeout=60)
        assert rest.untyped_storage() is x.untyped_storage() and (has["Value"].value, list(has["Array"][:])) == (4, [1, 5])
        assert has["Namespace"].x.untyped_storage() is x.untyped_storage() is has["dict"]["x"].untyped_storage()
        rest.add_(2)
        assert has["Namespace"].x.tolist() == [0, 2, 2]
        has["JoinableQueue"].task_done()
        has["JoinableQueue"].join()
        with has["Condition"]:
            has["Event"].set()
            assert has["Condition"].wait_for(lambda: has["Value"].value == 5, 60)
        has["Barrier"].wait(60)
        process.join(60)
        assert process.exitcode == 0 and has["Event"].is_set()
        with manager.Pool(1) as pool:
            assert pool.apply(torch.add, (x, 1)).tolist() == [1, 3, 3]


def send_through(connections, x):
    connections.get().send(x)


def test_an_end_of_a_pipe_travels(context):
    """Through a queue, to a process that runs already."""
    connections, x = context.SimpleQueue(), torch.zeros(2)
    process = context.Process(target=send_through, args=(connections, x))
    process.start()
    out, into = context.Pipe(duplex=False)
    connections.put(into)
    into.close()
    assert out.recv().untyped_storage() is x.untyped_storage()
    process.join(60)
    resource_sharer.stop(10)                             # Python's thread that hands descriptors over
    with pytest.raises(EOFError):
        out.recv()


@pytest.mark.parametrize("owner", [torch, torch.Tensor, torch.nn, torch.nn.functional, torch.nn.init, torch.optim, torch.linalg,
                                   torch.fft, torch.special, torch.utils.data], ids=lambda owner: owner.__name__)
def test_the_librarys_own_travel_by_name(owner):
    """Functions, methods and types: what comes is what was sent, and not a copy of it."""
    for name in dir(owner):
        each = getattr(owner, name)
        if callable(each) and not name.startswith("__"):
            assert pickle.loads(transfer.dumps(each)) == each, name
    assert len(transfer.dumps([torch.Tensor.add_, torch.FloatTensor, torch.Tensor.clamp_max_])) < 200


def test_methods_are_functions_for_a_pool():
    x = torch.zeros(3)
    with mp.get_context("spawn").Pool(1) as pool:
        assert pool.apply(torch.Tensor.add_, (x, 2)).untyped_storage() is x.untyped_storage() and x.tolist() == [2] * 3
        assert [y.tolist() for y in pool.map(torch.Tensor.double, [x[:1]])] == [[2]]


# ---------------------------------------------------------------- what Python and PyTorch have
@pytest.mark.parametrize("name, args", [("Queue", ()), ("SimpleQueue", ()), ("JoinableQueue", ()), ("Lock", ()), ("RLock", ()),
                                        ("Semaphore", ()), ("BoundedSemaphore", ()), ("Condition", ()), ("Event", ()),
                                        ("Barrier", (2,)), ("Value", ("i", 0)), ("Array", ("i", 2))])
def test_objects_have_the_methods_of_pythons(name, args):
    """With the names of their arguments."""
    theirs, ours = getattr(multiprocessing.get_context("fork"), name)(*args), getattr(mp.get_context("fork"), name)(*args)
    for method in [m for m in dir(theirs) if not m.startswith("_")]:
        known, called = getattr(theirs, method), getattr(ours, method)
        if callable(known) and name not in ("Value", "Array") and method not in ("acquire", "release"):         # the C library's
            assert list(inspect.signature(called).parameters) == list(inspect.signature(known).parameters), method


def test_names_are_pythons_and_pytorchs():
    assert not [name for name in multiprocessing.__all__ if not hasattr(mp, name)]
    contexts = multiprocessing.get_context("fork"), mp.get_context("fork")
    assert not [name for name in dir(contexts[0]) if not name.startswith("_") and not hasattr(contexts[1], name)]
    ends = [context.Pipe()[0] for context in contexts]
    assert not [name for name in dir(ends[0]) if not name.startswith("_") and not hasattr(ends[1], name)]
    ours, theirs = (inspect.signature(kind) for kind in (mp.pool.Pool, multiprocessing.pool.Pool))
    assert [(p.name, p.default) for p in ours.parameters.values()] == [(p.name, p.default) for p in theirs.parameters.values()]
    with mp.pool.Pool(1) as pool:
        assert pool.apply(abs, (-3,)) == 3
    pytorch = pytest.importorskip("torch.multiprocessing")
    assert not [name for name in pytorch.__all__ if not hasattr(mp, name)]
