"""Tensors of a device between processes, in the simulator and on the driver made for tests, which does work as late as it may.

Each body runs in a process of its own that spawns others: this file as a script, with the body's name.
"""
from __future__ import annotations

import gc
import os
import signal
import time
import warnings

import bodies
import pytest

if os.environ.get("NUMTORCH_TEST_DRIVER") == "fake":     # in spawned processes as well, before anything is unpickled
    import fakedriver
    fakedriver.install()

BODIES = {}


def body(function):
    BODIES[function.__name__] = function
    return function


def talk(target, *arguments):
    """Start a process with two queues: to it, and from it."""
    import numtorch.multiprocessing as mp
    context = mp.get_context("spawn")
    there, back = context.Queue(), context.Queue()
    process = context.Process(target=target, args=(there, back, *arguments), daemon=True)
    process.start()
    return process, there, back


def get(queue):
    return queue.get(timeout=120)


# ---------------------------------------------------------------- views, parameters, order
def double(there, back, given):
    import numtorch as torch
    whole, row, parameter = get(there)
    assert str(whole.device) == "cuda:0" and whole.untyped_storage() is row.untyped_storage() is given.untyped_storage()
    assert row.stride() == (1,) and row.storage_offset() == 3 and not row.requires_grad and whole.is_shared()
    assert isinstance(parameter, torch.nn.Parameter) and parameter.requires_grad and parameter.grad.tolist() == [5, 5]
    assert str(parameter.device) == "cuda:1" and parameter.tag == "mine"
    assert whole.tolist() == [[0, 2, 4], [6, 8, 10]]     # what the sender had told its device, and nobody waited for
    row.mul_(-1)
    whole[0, 0] = 7
    given.t()[1, 0] = 9
    torch.cuda.synchronize()
    assert row.data_ptr() == whole.data_ptr() + 12 and torch.cuda.memory_allocated() < 4096
    back.put("written")
    again = get(there)                                   # one that was received already is the same storage
    assert again.untyped_storage() is whole.untyped_storage() and again.tolist() == [-6 + 1, -8 + 1, -10 + 1]
    try:
        back.put(again)
    except RuntimeError as error:
        back.put(str(error))
    back.put(again.clone())
    back.put(again.cpu())
    get(there)


@body
def views_stay_views():
    import numtorch as torch
    other = torch.ones(50000, device="cuda")             # so that the tensor is not where its segment begins
    x = torch.arange(6.0, device="cuda").view(2, 3)
    parameter = torch.nn.Parameter(torch.ones(2, device="cuda:1"))
    parameter.tag = "mine"
    (parameter * 5).sum().backward()
    process, there, back = talk(double, x)
    x.mul_(2)
    there.put((x, x[1], parameter))
    assert get(back) == "written"
    assert x.tolist() == [[7, 9, 4], [-6, -8, -10]] and other.sum().item() == 50000
    x[1].add_(1)
    there.put(x[1])
    assert "Attempted to send CUDA tensor received from another process" in get(back)
    clone = get(back)
    assert clone.tolist() == [-5, -7, -9] and str(clone.device) == "cuda:0" and clone.untyped_storage() is not x.untyped_storage()
    assert get(back).tolist() == [-5, -7, -9]
    del clone
    there.put(None)
    process.join(60)
    assert process.exitcode == 0


@body
def what_stays_at_home_is_itself():
    """A tensor that its own process takes out of a queue is over the storage that was put in, also when that was dropped."""
    import numtorch as torch
    import numtorch.multiprocessing as mp
    queue = mp.SimpleQueue()
    x = torch.arange(3.0, device="cuda")
    queue.put(x[1:])
    assert queue.get().untyped_storage() is x.untyped_storage()
    queue.put(x[1:])
    place = x.data_ptr()
    del x
    torch.zeros(3, device="cuda")
    back = queue.get()
    assert back.tolist() == [1, 2] and back.data_ptr() == place + 4
    queue.put(back)
    assert queue.get().untyped_storage() is back.untyped_storage()
    for refused in ((torch.ones(2, device="cuda", requires_grad=True) * 2),):
        with pytest.raises(RuntimeError, match="non-leaf"):
            queue.put(refused)
    g = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="capturing"), torch.cuda.graph(g):
        queue.put(back)


# ---------------------------------------------------------------- how long memory lives
def keep_it(there, back):
    x = get(there)
    back.put("got it")
    get(there)
    assert x.tolist() == [3.0] * 1000
    y = x * 2                                            # not waited for when the tensor goes
    del x
    gc.collect()
    back.put("dropped")
    get(there)
    assert y.tolist() == [6.0] * 1000
    x = get(there)
    assert x.sum().item() == 4000
    back.put(os.getpid())
    time.sleep(600)


@body
def the_sender_keeps_memory_until_receivers_are_done():
    import numtorch as torch
    cuda = torch.cuda

    def new(value):
        return torch.full((1000,), float(value), device="cuda")
    process, there, back = talk(keep_it)
    small = [new(value).sum() for value in (1, 3, 4, 5)]             # constants that full() keeps are there from now on
    del small
    others_have = cuda.memory_allocated()

    def tensors():
        return (cuda.memory_allocated() - others_have) / 4096
    x = new(3)
    there.put(x)
    place = x.data_ptr()
    del x
    assert get(back) == "got it"
    cuda.ipc_collect()
    others = [new(1) for _ in range(4)]
    assert place not in {each.data_ptr() for each in others}
    assert tensors() == 5
    there.put("look")
    assert get(back) == "dropped"
    cuda.ipc_collect()
    assert tensors() == 4
    new_one = new(5)
    assert new_one.data_ptr() == place and new_one.sum().item() == 5000
    there.put("look")
    there.put(kept := new(4))                            # while it waits in the queue its memory is in use as well
    del kept
    cuda.ipc_collect()
    assert tensors() == 6
    os.kill(get(back), signal.SIGKILL)                   # one that is killed has nothing any more
    process.join(60)
    there.put(new_one)                                   # what is sent looks as well
    assert tensors() == 5


@body
def a_full_device_asks_for_what_others_had():
    import numtorch as torch
    import numtorch.multiprocessing as mp
    queue = mp.SimpleQueue()
    whole = torch.empty(150 << 20, device="cuda")
    queue.put(whole)
    del whole
    torch.cuda.empty_cache()
    with pytest.raises(torch.cuda.OutOfMemoryError):
        torch.empty(150 << 20, device="cuda")            # it waits in the queue
    queue.get()
    gc.collect()
    assert torch.empty(150 << 20, device="cuda").numel() == 150 << 20


# ---------------------------------------------------------------- what cannot be received
def send_and_end(there, back):
    import numtorch as torch
    back.put(torch.ones(3, device="cuda"))


def receive(there, back):
    try:
        back.put(get(there).tolist())
    except RuntimeError as error:
        back.put(str(error))


@body
def senders_that_ended_are_named():
    process, _, back = talk(send_and_end)
    process.join(120)
    with pytest.raises(RuntimeError, match="a tensor on cuda:0 was sent by a process that has ended, and its memory is gone"):
        get(back)


@body
def devices_that_are_not_visible_are_named():
    """A device is the same one where it has another number; one that is not visible is an error."""
    import numtorch as torch
    x, y = torch.ones(2, device="cuda:1"), torch.zeros(2, device="cuda:0")
    os.environ["CUDA_VISIBLE_DEVICES"] = "1" if os.environ.get("NUMTORCH_TEST_DRIVER") != "fake" else "GPU-1"
    for value, expected in ((x, [1, 1]), (y, "a tensor was sent from a device that is not visible here (it is the sender's cuda:0; "
                                              "this process sees 1): CUDA_VISIBLE_DEVICES differs; send its .cpu()")):
        process, there, back = talk(receive)
        there.put(value)
        assert get(back) == expected
        process.join(60)


@body
def an_end_before_receivers_are_done_warns():
    import numtorch as torch
    from numtorch.cuda import sharing
    process, there, back = talk(keep_it)
    x = torch.full((1000,), 3.0, device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sharing._warn_at_the_end()
        there.put(x)
        assert get(back) == "got it"
        with pytest.raises(RuntimeWarning, match="Producer process has been terminated"):
            sharing._warn_at_the_end()
    process.kill()
    process.join(60)


@pytest.mark.parametrize("driver", ["fake", "simulator"])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="simulated devices are shared in memory files")
def test_between_processes(name, driver):
    bodies.run(__file__, name, NUMBA_ENABLE_CUDASIM="1", NUMTORCH_TEST_DRIVER=driver)


if __name__ == "__main__":
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    import numtorch  # noqa: F401
    BODIES[bodies.served()[0]]()
