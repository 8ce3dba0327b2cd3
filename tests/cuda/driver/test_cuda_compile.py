"""`numtorch.compile` on a device: programs are graphs of the driver's. In the simulator, on the driver made for tests, and on a GPU.

Each body runs in a process of its own: this file as a script, with the body's name. What is compiled must give, bit for bit, what
the same calls give as they are.
"""
from __future__ import annotations

import gc
import os

import bodies
import pytest
from hasgpu import need_gpu

BODIES = {}


def body(function):
    BODIES[function.__name__] = function
    return function


def program(torch, function, *args):
    """The program of such calls, which must be one of a device's and nothing else."""
    from numtorch.jit.capturing.ondevice import DeviceProgram
    explanation = torch.compile.explain(function)(*args)
    assert not explanation.breaks, explanation
    compiled = getattr(function, "_compiled", function)
    replay = next(kind.replays[0] for kind in compiled._kinds.values() if kind.replays)
    programs = [step for step in replay.steps if isinstance(step, DeviceProgram)]
    assert len(programs) == 1 and not any(type(step) is tuple for step in replay.steps)
    assert explanation.launches == len(programs[0].launches)
    return programs[0]


def both(torch, make, calls, argument):
    """(what calls give, compiled function) of a function that `make` makes twice, as it is and compiled."""
    found = []
    for wrap in (lambda f: f, torch.compile):
        torch.manual_seed(0)
        function, state = make()
        function = wrap(function)
        out = [function(*argument(i)) for i in range(calls)]
        found.append([out, [t.detach().clone() for t in state()], function])
    (eager, states, _), (replayed, states_too, compiled) = found
    for one, other in zip([*eager, *states], [*replayed, *states_too], strict=True):
        assert torch.equal(one, other), (one, other)
    return compiled


def data(torch, i):
    return (torch.arange(12.0).reshape(3, 4).sin() * i).cuda(), torch.ones(3, 2).cuda()


@body
def functions_are_graphs(torch, fake):
    @torch.compile
    def f(x, y):
        return (x * 2 + y).exp().sum(1), x - y

    kept = []
    for i in range(6):
        x, y = torch.arange(6.0).reshape(2, 3).cuda() * 0.1 * i, torch.ones(2, 3).cuda()
        kept.append((x, y, f(x, y)))                     # neither arguments nor results are where they were before
    for x, y, (one, other) in kept:
        assert torch.equal(one, (x * 2 + y).exp().sum(1)) and torch.equal(other, x - y)
    program(torch, f, x, y)
    one = other = None
    if fake is not None:
        before = f(x, y)
        del before, kept
        f(x, y)
        fake.calls.clear()
        f(x, y)                                          # all is where it was
        assert [c for c in fake.calls if c != "cuCtxSetCurrent"] == ["cuGraphLaunch"], fake.calls


@body
def steps_are_graphs(torch, fake):
    def maker(optimizer, **options):
        def make():
            net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Dropout(0.3), torch.nn.Linear(8, 2)).cuda()
            opt = optimizer(net.parameters(), lr=0.1, **options)

            def step(x, y):
                opt.zero_grad()
                loss = torch.nn.functional.mse_loss(net(x), y)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                opt.step()
                return loss
            return step, lambda: [*net.parameters(), *[p.grad for p in net.parameters()]]
        return make
    for make in (maker(torch.optim.SGD, momentum=0.9), maker(torch.optim.AdamW)):
        compiled = both(torch, make, 8, lambda i: data(torch, i))
        step = program(torch, compiled, *data(torch, 1))
        assert len(step.uploads) >= 5                    # dropout's counters, and the tables of clipping and of the step
    if fake is not None:
        x, y = data(torch, 1)
        compiled(x, y)
        compiled(x, y)
        fake.calls.clear()
        compiled(x, y)
        calls = [c for c in fake.calls if c not in ("cuCtxSetCurrent", "cuMemcpyAsync")]
        assert calls == ["cuGraphLaunch"], calls


@body
def gradients_that_are_kept_are_others(torch, fake):
    """Tables of addresses follow gradients to where they are in each call."""
    def make():
        weights, kept = [torch.full((3,), value, device="cuda", requires_grad=True) for value in (1.0, 2.0)], []
        opt = torch.optim.SGD(weights, lr=0.5)

        def step(x, y):
            opt.zero_grad()
            ((weights[0] - weights[1]) ** 2 * y[0, 0]).sum().backward()
            torch.nn.utils.clip_grad_norm_(weights, 0.5)
            opt.step()
            return weights[0].detach() * 1

        def stepped(*args):
            out = step(*args)
            kept.append([w.grad for w in weights])
            return out

        def chosen(function):
            nonlocal step
            step = function(step)
            return stepped
        chosen.state = lambda: [*weights, *[grad for grads in kept for grad in grads]]
        chosen.step = lambda: step
        return chosen
    found = []
    for wrap in (lambda f: f, torch.compile):
        chosen = make()
        stepped = chosen(wrap)
        found.append([*[stepped(*data(torch, i)) for i in range(8)], *chosen.state()])
    assert len(found[0]) == 8 + 2 + 16 and program(torch, chosen.step(), *data(torch, 1)).entries
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other), (one, other)


@body
def gradients_accumulate_and_arguments_are_written(torch, fake):
    def make():
        weight = torch.full((4,), 0.5, device="cuda", requires_grad=True)
        total = torch.zeros(4, device="cuda")

        def step(x, y):
            (weight * x).sum().backward()
            total.add_(x[0])
            y.mul_(-2)
            x[1] = 7
            return torch.cat([x[:1], y.t()[:, :2].contiguous().reshape(1, -1)[:, :4]])
        return step, lambda: [weight.grad, total]
    compiled = both(torch, make, 7, lambda i: data(torch, i))
    x, y = data(torch, 2)
    program(torch, compiled, x, y)
    compiled(x, y)
    assert x[1].tolist() == [7] * 4 and y.tolist() == [[-2, -2]] * 3


@body
def what_changes_is_noticed(torch, fake):
    """Other layouts, flags, streams, devices and memory of parameters."""
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.bias = 2.0, torch.nn.Parameter(torch.ones(3, device="cuda"))

        def forward(self, x):
            with torch.no_grad():
                return x * self.scale + self.bias
    net = Net()
    compiled = torch.compile(net)
    x = torch.arange(3.0).cuda()
    for _ in range(4):
        assert compiled(x).tolist() == [1, 3, 5]
    program(torch, compiled, x)
    net.scale = 3.0
    for _ in range(4):
        assert compiled(x).tolist() == [1, 4, 7]
    net.bias.data = torch.zeros(3, device="cuda")
    for _ in range(4):
        assert compiled(x).tolist() == [0, 3, 6]
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for i in range(3):
            side.wait_stream(torch.cuda.default_stream())
            y = (x + i).clone()
            assert compiled(y).tolist() == [0 + 3 * i, 3 + 3 * i, 6 + 3 * i]
    compiled(x)
    if fake is not None:                                 # the program's memory may be in use in the other stream
        with torch.cuda.stream(side):
            compiled(y)
            fake.calls.clear()
            compiled(y)
            assert "cuStreamWaitEvent" not in fake.calls
        fake.calls.clear()
        compiled(x)
        assert fake.calls.index("cuEventRecord") < fake.calls.index("cuStreamWaitEvent") < fake.calls.index("cuGraphLaunch")
    one, other = compiled(x), compiled(x + 1)
    assert one.tolist() == [0, 3, 6] and other.tolist() == [3, 6, 9]

    @torch.compile
    def new(n):
        return torch.full((n,), 2.0, device="cuda") * 3
    for _ in range(4):
        assert str(new(2).device) == "cuda:0"
    if torch.cuda.device_count() > 1:
        with torch.cuda.device(1):
            for _ in range(4):
                assert str(new(2).device) == "cuda:1" and new(2).tolist() == [6, 6]
    assert str(new(2).device) == "cuda:0"
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):                            # a graph within a graph is the launches themselves
        inside = compiled(x)
    x.fill_(5)
    g.replay()
    assert inside.tolist() == [15] * 3


@body
def networks_in_the_usual_loop(torch, fake):
    """A call whose results have a graph is two programs of the device's."""
    from numtorch.jit.capturing.ondevice import DeviceProgram
    from numtorch.jit.capturing.steps import Draw

    def trained(wrap):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Dropout(0.3),
                                  torch.nn.Linear(8, 2)).cuda()
        model, opt, losses = wrap(net), torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), []
        for i in range(9):
            x, y = data(torch, i)
            opt.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x.requires_grad_()), y)
            loss.backward()
            opt.step()
            losses += [loss.detach(), x.grad]
        return [*losses, *net.parameters(), *net.buffers()], model
    eager, _ = trained(lambda net: net)
    replayed, model = trained(lambda net: torch.compile(net, mode="replay"))
    for one, other in zip(eager, replayed, strict=True):
        assert torch.equal(one, other)
    kind, = model._compiled._kinds.values()
    (halves,) = kind.recording.programs
    for half in (halves.forward, halves.backward):
        assert [type(step) for step in half.replay.steps if not isinstance(step, Draw)] == [DeviceProgram]
    passed, model = trained(torch.compile)
    for one, other in zip(eager, passed, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    kind, = model._compiled._kinds.values()
    assert kind.recording.programs, kind.recording.reason
    x = data(torch, 3)[0].requires_grad_()
    slopes = []
    for function in (model.eval(), model._orig_mod):
        grad, = torch.autograd.grad(function(x).sin().sum(), x, create_graph=True)
        slopes.append(torch.autograd.grad(grad.square().sum(), x)[0])
    assert torch.allclose(*slopes, atol=1e-5)


@body
def addresses_decide_on_kernels(torch, fake):
    """What loads 16 bytes at once is chosen by where tensors begin: another beginning is another program."""
    @torch.compile
    def product(x, y):
        return x @ y + 1
    memory = torch.arange(600.0).sin().bfloat16().cuda()
    y = torch.arange(512.0).reshape(16, 32).cos().bfloat16().cuda()
    for offset in (0, 0, 0, 8, 1, 2, 2, 2, 0, 3, 8, 1, 16):
        x = memory[offset:offset + 512].view(32, 16)
        assert torch.allclose(product(x, y), x @ y + 1), offset
    kind, = product._kinds.values()
    assert kind.replays and {tuple(replay.aligned) for replay in kind.replays} > {(0, 0)}


@body
def what_kernels_find_wrong_is_said(torch, fake):
    """Classifiers and embeddings are graphs, in which a bad target or index raises as it does without: at the next wait."""
    def make():
        net = torch.nn.Sequential(torch.nn.Embedding(5, 4), torch.nn.Flatten(), torch.nn.Linear(12, 3)).cuda()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(words, classes):
            opt.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(words), classes)
            loss.backward()
            opt.step()
            return loss
        return step, lambda: [*net.parameters()]

    def argument(i):
        return torch.tensor([[0, 1, i % 5], [4, 3, 2]]).cuda(), torch.tensor([i % 3, 1]).cuda()
    compiled = both(torch, make, 8, argument)
    found = program(torch, compiled, *argument(1))
    assert len(found.words) >= 2

    def raised(*args):
        try:
            compiled(*args)
            torch.cuda.synchronize()
        except IndexError as error:
            return str(error)
        return ""
    for _ in range(2):
        assert not raised(*argument(2))
        assert "out of bounds" in raised(torch.tensor([[0, 1, 7], [4, 3, 2]]).cuda(), torch.tensor([0, 1]).cuda())
        assert [raised(*argument(3)), raised(*argument(4))] == ["", ""]
        assert "out of bounds" in raised(argument(2)[0], torch.tensor([0, 9]).cuda())
    program(torch, compiled, *argument(1))


@body
def words_outlive_their_program(torch, fake):
    """The host looks at what a program's kernels found when the program may be gone, and its memory another's."""
    table, index = torch.arange(12.0).reshape(4, 3).cuda(), torch.tensor([1, 0]).cuda()
    chosen = torch.compile(lambda x, i: (x * 2)[i], mode="replay")
    for _ in range(4):
        chosen(table, index)
    assert program(torch, chosen, table, index).words
    used = [torch.full((64,), -1, dtype=torch.int64, device="cuda")]                   # is planned, for which the host waits
    chosen(table, index)
    del chosen
    gc.collect()
    used += [torch.full((64,), -1, dtype=torch.int64, device="cuda") for _ in range(63)]
    torch.cuda.synchronize()
    assert len(used) == 64


@body
def passes_run_over_what_a_device_computes(torch, fake):
    """Elementwise calls become one launch where that takes less time, by the clock; here it is said to."""
    from numtorch.jit.compiling import improving
    turn = iter(range(10**6, 0, -1))
    improving.timed = lambda call, devices: (call(), next(turn))                       # the graph's first call is after a replay's

    def make():
        weight = torch.full((4,), 0.5, device="cuda", requires_grad=True)
        opt = torch.optim.SGD([weight], lr=0.1)

        def step(x, y):
            opt.zero_grad()
            loss = ((weight * x).tanh() * 2 + 1).sigmoid().sum()
            loss.backward()
            opt.step()
            return loss
        return step, lambda: [weight]
    found = []
    for wrap in (lambda f: f, torch.compile):
        function, state = make()
        function = wrap(function)
        out = [function(*data(torch, i % 5)) for i in range(50)]
        found.append([*out, *state()])
        improving_thread_ends()
        found[-1] += [function(*data(torch, i % 5)) for i in range(30)]
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, atol=1e-6)
    kind, = function._kinds.values()
    assert kind.replays[0].passes["fusion"] and kind.replays[0].better is None, [(r.stays, r.passes) for r in kind.replays]


def improving_thread_ends():
    import threading
    for thread in threading.enumerate():
        if thread.name == "numtorch compiles":
            thread.join()


@body
def what_is_no_graph_stays_as_it_is(torch, fake):
    """Reading values, copies, other streams, several devices."""
    side = torch.cuda.Stream()

    def on_a_stream(x):
        with torch.cuda.stream(side):
            side.wait_stream(torch.cuda.default_stream())
            y = x * 2
        torch.cuda.default_stream().wait_stream(side)
        return y
    for function, why in ((lambda x: x * x.sum().item(), "item"), (lambda x: x * x.cpu().sum(), "on a device, a copy"),
                          (on_a_stream, "on a device, another stream is used"),
                          *[(lambda x: (x * 2).to("cuda:1") + 1, "on a device, a copy")] * (torch.cuda.device_count() > 1)):
        compiled = torch.compile(function)
        for i in range(6):
            x = data(torch, i)[0]
            assert torch.equal(compiled(x), function(x))
        if fake is None:                                 # whose own Python, which runs kernels, is told of as well
            breaks = torch.compile.explain(compiled)(x).breaks
            assert any(why in each.what for each in breaks), breaks


@pytest.mark.parametrize("driver", ["fake", "simulator", "gpu"])
@pytest.mark.parametrize("name", BODIES)
def test_compiled_on_a_device(name, driver):
    if driver == "gpu":
        need_gpu()
    bodies.run(__file__, name, NUMBA_ENABLE_CUDASIM="0" if driver == "gpu" else "1", NUMTORCH_TEST_DRIVER=driver)


if __name__ == "__main__":
    driver = None
    if os.environ["NUMTORCH_TEST_DRIVER"] == "fake":
        import fakedriver
        driver = fakedriver.install()
    import numtorch
    BODIES[bodies.served()[0]](numtorch, driver)
