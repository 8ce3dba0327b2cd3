"""Methods under `jit.export` of modules that are traced: they are scripts, over the trace's parameters and buffers."""
import copy
import warnings

import exportedprograms as programs
import pytest
from scriptruns import argument, outcome, through_file

import numtorch as torch
from numtorch.tree import flatten

try:
    import torch as reference
except ImportError:
    reference = None

CALLS = {                                                # what is called of a traced Net
    "forward": lambda net, x: net(x), "through": lambda net, x: net.through(x), "the other way": lambda net, x: net.through(-x),
    "lengths": lambda net, x: net.lengths([x, x[0]]), "by name": lambda net, x: net.lengths([x], factor=5),
    "state": lambda net, x: (net.step(x), net.step(x), net(x), net.count), "below": lambda net, x: net.part.positive(-x),
    "mode": lambda net, x: (net.mode(), net.eval().mode(), net.train().mode()), "attributes": lambda net, x: net.part.scale,
}


def traced(library, module, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.jit.trace(module, argument(library)(2, 3), **options)


@pytest.mark.parametrize("name", CALLS)
def test_exported_methods_of_a_trace_are_scripts(name, theirs):
    """Of the trace, from a file, and copied, as of PyTorch's trace."""
    wanted = outcome(lambda x: CALLS[name](traced(reference, theirs.Net()), x), [argument(reference)(2, 3)], reference)
    for way in (lambda each: each, through_file, copy.deepcopy, lambda each: through_file(through_file(copy.deepcopy(each)))):
        found = outcome(lambda x: CALLS[name](way(traced(torch, programs.Net())), x), [argument(torch)(2, 3)], torch)      # noqa: B023
        assert flatten(found)[0] == pytest.approx(flatten(wanted)[0], rel=1e-5, abs=1e-6)


def test_methods_and_trace_share_parameters_and_buffers():
    net, x = programs.Net(), torch.ones(2, 3)
    trace = traced(torch, net)
    assert dict(trace.named_parameters()).keys() == dict(net.named_parameters()).keys() and list(trace.state_dict()) == list(
        net.state_dict()) and all(a is b for a, b in zip(trace.parameters(), net.parameters()))
    trace.step(x)
    assert net.count.item() == 1 and torch.equal(trace(x), net(x))
    trace.load_state_dict({name: value + 1 for name, value in net.state_dict().items()})
    assert torch.equal(trace.through(x), net.through(x)) and torch.equal(trace(x), net(x))
    other = copy.deepcopy(trace).double()
    assert other.through(x.double()).dtype is torch.float64 and torch.allclose(other(x.double()).float(), trace(x))
    other.step(x.double())
    assert other.count.item() == trace.count.item() + 1
    loaded = through_file(trace)
    loaded.through(x).sum().backward()
    net.through(x).sum().backward()
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(loaded.parameters(), net.parameters()))


def test_modes_of_a_trace_are_its_own():
    net = torch.nn.Sequential(torch.nn.Dropout(), torch.jit.script(programs.Part()), programs.Part())
    trace = torch.jit.trace(net.eval(), torch.ones(2, 3))
    net.train()
    assert not any(each.training for each in trace.modules())
    trace.train()
    net.eval()
    assert all(each.training for each in trace.modules())
    assert torch.equal(getattr(trace, "2").positive(-torch.ones(3)), -2 * torch.ones(3))
    assert torch.equal(getattr(through_file(trace), "2").positive(-torch.ones(3)), -2 * torch.ones(3))


def test_scripts_and_traces_call_a_trace_and_its_methods():
    class Outer(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x) + self.inner.through(x)
    net, x = programs.Net(), torch.ones(2, 3)
    outer = Outer(traced(torch, net))
    script, trace = torch.jit.script(outer), torch.jit.trace(outer, x)
    for each in (script, trace, through_file(script), through_file(trace)):
        for given in (x, -x):
            assert torch.equal(each(given), Outer(net)(given))


class Normed(programs.Net):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3, momentum=0.5)

    def forward(self, x):
        return self.norm(self.part.linear(x)) * self.weight + self.count


class Unwritten(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.unit = torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), 4

    def forward(self, x):
        return self.norm(self.linear(x))

    @torch.jit.export
    def plain(self, x):
        return self.linear(x) * self.unit


WAYS = {"as it is": lambda each: each, "from a file": through_file, "copied": copy.deepcopy,
        "once more": torch.jit.optimize_for_inference, "copied from a file": lambda each: copy.deepcopy(through_file(each))}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [lambda net, x: torch.jit.trace(net, x), lambda net, x: torch.jit.script(net)], ids=["trace", "script"])
def test_what_is_preserved_is_there_in_frozen_modules(make, way):
    net, x = Normed().eval(), torch.rand(2, 3)
    with torch.no_grad():
        wanted, fewer = net(x), net(x[:1])

    def frozen(*names):
        return WAYS[way](torch.jit.freeze(make(net, x), preserved_attrs=[*names]))
    stepping = frozen("step", "lengths")
    assert torch.equal(stepping.step(x), x + 1) and stepping.lengths([x]) == net.lengths([x]) and not list(stepping.parameters())
    torch.testing.assert_close(stepping(x), wanted + 1)
    torch.testing.assert_close(stepping(x[:1]), fewer + 1)
    writable = frozen("count", "part")
    with torch.no_grad():
        writable.count.add_(3)
        writable.part.linear.weight.mul_(0)
        writable.part.linear.bias.copy_(net.norm.running_mean)
    torch.testing.assert_close(writable(x), torch.full((2, 3), 3.0))
    assert [name for name, _ in writable.named_parameters()] == ["part.linear.weight", "part.linear.bias"]
    assert not net.count.any() and torch.equal(net(x).detach(), wanted)
    with pytest.raises(RuntimeError, match="Unknown name: misspelt"):
        frozen("step", "misspelt")


def test_norms_are_folded_beside_preserved_methods_that_write_nothing():
    net, x = Unwritten().eval(), torch.rand(2, 3)
    for change in (torch.jit.freeze, torch.jit.optimize_for_inference):
        frozen = change(torch.jit.freeze(torch.jit.trace(net, x), preserved_attrs=["plain", "unit"]))
        assert [node.op for node in frozen.graph.nodes if node.inputs] == ["linear"] and frozen.unit == 4
        torch.testing.assert_close((frozen(x), frozen.plain(x)), (net(x).detach(), net.plain(x).detach()))
    both = torch.jit.trace_module(net, {"forward": x, "plain": x})
    frozen = through_file(torch.jit.freeze(both, preserved_attrs=["plain"]))
    assert isinstance(frozen.plain.graph, torch.jit.Graph) and not hasattr(torch.jit.freeze(both), "plain")
    torch.testing.assert_close(frozen.plain(x), net.plain(x).detach())


def test_hooks_of_a_traced_module_are_in_the_trace_alone():
    net, x = programs.Net(), torch.ones(2, 3)

    def doubled(self, input: tuple[torch.Tensor], output: torch.Tensor):
        return output * 2
    net.register_forward_hook(doubled)
    assert torch.equal(traced(torch, net)(x), net(x))


def test_a_method_that_is_traced_is_no_script():
    trace = torch.jit.trace_module(programs.Net(), {"through": torch.ones(2, 3)}, check_trace=False)
    assert isinstance(trace.through.graph, torch.jit.Graph) and trace.lengths([torch.ones(3)]) == 8


def test_what_is_no_script_is_refused_at_its_line(theirs):
    for name, message in (("Refused", "no attribute or method 'misspelt':\n.* in wrong\n"), ("Calling", "Calling under @jit.export calls "
                                                                                            "forward, which is traced")):
        with pytest.raises(RuntimeError, match=message):
            traced(torch, getattr(programs, name)())
        with pytest.raises(RuntimeError):
            traced(reference, getattr(theirs, name)())
