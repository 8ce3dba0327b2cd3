"""Graphs of torch.fx traced, and traced graphs as graphs of torch.fx: round and round, with the same values, names, parameters and modules."""
import copy

import pytest
from fxprograms import PROGRAMS, library

import numtorch as torch
from bench import networks
from numtorch import fx
from numtorch.tree import flatten

nn, F = torch.nn, torch.nn.functional


class Stateful(nn.Module):
    """Batch norms whose statistics move on, a module that is called twice, and modules in modules."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Sequential(nn.BatchNorm2d(4), nn.ReLU()))
        self.again = nn.Conv2d(4, 4, 1)
        self.head = nn.Linear(4, 2)
        self.register_buffer("scale", torch.full((4, 1, 1), 0.5))

    def forward(self, x):
        h = self.body(x)
        h = self.again(h) + self.again(h * self.scale)
        pooled = h.mean((2, 3))
        return {"out": self.head(pooled), "pooled": pooled}


def swapped(x, y):
    a = x.clone()
    x.copy_(y)
    y.copy_(a)
    x[1:].mul_(2)
    return x + y


FUNCTIONS = {name: (lambda row=row: (row[0], [torch.randn(*shape) for shape in row[1]])) for name, row in PROGRAMS.items()
             if name not in ("reductions", "gradients")}       # which unpack tensors, and differentiate
FUNCTIONS.update({
    "a network": lambda: (library(torch)["net"], [torch.randn(3, 4)]), "state": lambda: (Stateful(), [torch.randn(2, 3, 5, 5)]),
    "both written": lambda: (swapped, [torch.randn(3), torch.randn(3)]),
    "an order": lambda: (lambda x: x.t().clone(memory_format=torch.contiguous_format) + 1, [torch.randn(3, 2)]),
    "one part": lambda: (lambda x: (x.unbind(0)[0] + 1, x.split(2)[0], x.chunk(1)[0] * 2), [torch.randn(1, 2)]),
    "one tensor twice": lambda: (lambda x, y: (x.contiguous() + y, [y, y], x.view(3, 1)), [torch.randn(3), torch.randn(3)]),
    "names of its own": lambda: (lambda relu, add: torch.relu(add) + relu.add(1).relu(), [torch.randn(3), torch.randn(3)])})
NETWORKS = {"mixer": lambda: (networks.mlp_mixer(torch, 16, 2), [torch.randn(2, 3, 32, 32)]),
            "mobilenet": lambda: (networks.mobilenet(torch), [torch.randn(2, 3, 32, 32)]),
            "unet": lambda: (networks.unet(torch, 4, 3), [torch.randn(1, 1, 32, 32)]),
            "transformer": lambda: (networks.vision_transformer(torch, 8, 16, 2, 2), [torch.randn(2, 3, 32, 32)]),
            "gpt": lambda: (networks.gpt(torch, 20, 16, 2, 2, 8), [torch.randint(0, 20, (2, 8))]),
            "draws": lambda: (nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.BatchNorm1d(8)), [torch.randn(5, 4)])}


def around(module, args):
    """The module traced, and the trace as a graph of torch.fx."""
    return torch.jit.to_fx(torch.jit.trace(module, tuple(args), check_trace=False))


def outcome(module, args):
    """Results, what was written to arguments, gradients, and the place in the stream of draws."""
    args = [each.clone() for each in args]
    torch.manual_seed(5)
    results = module(*args)
    tensors = [each for each in flatten(results)[0] if isinstance(each, torch.Tensor)]
    parameters = list(module.parameters())
    wanted = [each.sum() for each in tensors if each.requires_grad]
    grads = torch.autograd.grad(wanted, parameters, allow_unused=True) if parameters and wanted else ()
    return results, args, list(grads), torch.rand(1)


def same(modules, args):
    """Whether all do the same, bit for bit, twice."""
    state = copy.deepcopy(modules[0].state_dict())
    found = []
    for module in modules:                               # which share their parameters and buffers
        module.load_state_dict(state, strict=False)      # what a network makes itself is a further buffer of its graph
        found.append([outcome(module, args) for _ in range(2)] + [{path: each.clone() for path, each in module.state_dict().items()
                                                                    if path in state}])
    for each in found[1:]:
        torch.testing.assert_close(each, found[0], rtol=0, atol=0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_graph_of_fx_is_traced_and_comes_back_under_its_names(name):
    torch.manual_seed(1)
    function, args = FUNCTIONS[name]()
    given = fx.symbolic_trace(function)
    once = around(given, args)
    twice = around(once, args)
    same([given, once, twice], args)
    assert twice.code == once.code and [n.name for n in twice.graph.nodes] == [n.name for n in once.graph.nodes]
    # Each node that gives one tensor, which no node before gave, is there in that order under its name.
    seen, wanted = set(), []

    class Shapes(fx.Interpreter):
        def run_node(self, n):
            result = super().run_node(n)
            if isinstance(result, torch.Tensor) and n.op != "get_attr" and (n.op == "placeholder" or n.users):
                key = result.data_ptr(), result.shape, result.stride(), result._version
                if key not in seen:
                    wanted.append(n.name)
                seen.add(key)
                kept.append(result)
            return result
    kept: list = []
    Shapes(given).run(*[each.clone() for each in args])
    names = [n.name for n in once.graph.nodes]
    assert [each for each in names if each in wanted] == wanted


@pytest.mark.parametrize("name", NETWORKS)
def test_a_traced_network_goes_round(name):
    torch.manual_seed(1)
    network, args = NETWORKS[name]()
    once = around(network, args)
    twice = around(once, args)
    same([network, once, twice, around(twice, args)], args)
    assert twice.code == once.code
    for each in (once, twice):
        assert dict(each.named_parameters()).keys() == dict(network.named_parameters()).keys()
        assert all(each.get_parameter(path) is tensor for path, tensor in network.named_parameters())
        assert all(each.get_buffer(path) is tensor for path, tensor in network.named_buffers())


def test_nodes_say_of_which_module_they_are():
    network, args = Stateful(), [torch.randn(2, 3, 5, 5)]
    once = around(fx.symbolic_trace(network), args)
    twice = around(once, args)
    for module in (once, twice):
        stacks = {n.name: list(n.meta["nn_module_stack"].values()) for n in module.graph.nodes if "nn_module_stack" in n.meta}
        assert stacks["body_0"] == [("body.0", nn.Conv2d)] and stacks["body_1_1"] == [("body.1.1", nn.ReLU)]
        assert stacks["again"] == stacks["again_1"] == [("again", nn.Conv2d)] and stacks["batch_norm"] == [("body.1.0", nn.BatchNorm2d)]
        assert "add" not in stacks or stacks["add"] == [("body.1.0", nn.BatchNorm2d)]
        assert not {"mul", "mean", "scale"} & set(stacks)
        assert set(dict(module.named_modules())) == {"", "body", "body.0", "body.1", "body.1.0", "again", "head"}


def test_a_graph_that_was_changed_and_not_recompiled_is_traced_as_it_runs():
    module = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    for node in module.graph.nodes:
        if node.target is torch.relu:
            node.target = torch.neg
    x = torch.tensor([2.0, -3.0])
    assert around(module, [x])(x).tolist() == module(x).tolist() == [3.0, 1.0]
    module.recompile()
    assert around(module, [x])(x).tolist() == module(x).tolist() == [-1.0, 4.0]
    calls = []
    module.register_forward_hook(lambda *given: calls.append(1))
    around(module, [x])
    assert calls


def test_what_a_user_adds_to_a_graph_that_came_back_is_traced():
    module = around(fx.symbolic_trace(Stateful()), [torch.randn(2, 3, 5, 5)])
    for node in list(module.graph.nodes):
        if node.name == "pooled" or node.name == "mean":
            with module.graph.inserting_after(node):
                new = module.graph.call_method("mul_", (node, 3.0))
            node.replace_all_uses_with(new, lambda user, new=new: user is not new)
    module.recompile()
    x = torch.randn(2, 3, 5, 5)
    again = around(module, [x])
    same([module, again], [x])
    assert "mul_" in [n.name for n in again.graph.nodes]


class Step(nn.Module):
    """Backward within: gradients are left in parameters."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.BatchNorm1d(8), nn.Linear(8, 1))

    def forward(self, x):
        for each in self.parameters():
            each.grad = None
        loss = self.net(x).square().mean()
        loss.backward()
        return loss


def test_gradients_that_a_graph_leaves_go_round():
    torch.manual_seed(1)
    step, x = Step(), torch.randn(6, 4)
    once = around(step, [x])
    twice = around(once, [x])
    calls = [[(n.name, n.target, str(n.args), str(n.kwargs)) for n in module.graph.nodes if n.op != "get_attr"] for module in (once, twice)]
    assert calls[0] == calls[1] and "set_grad" in once.code
    state, found = copy.deepcopy(step.state_dict()), []
    for module in (torch.jit.trace(step, x, check_trace=False), once, twice):      # derivatives are ops here, which round otherwise than step
        step.load_state_dict(state)
        step.zero_grad()
        loss = module(x)
        found.append([loss.detach(), *[each.grad.clone() for each in step.parameters()], *[each.clone() for each in step.buffers()]])
    for each in found[1:]:
        torch.testing.assert_close(each, found[0], rtol=0, atol=0)


def test_a_graph_that_came_back_is_traced_for_arguments_in_another_order():
    once = around(fx.symbolic_trace(FUNCTIONS["writes"]()[0]), [torch.randn(3, 4), torch.randn(4)])
    args = [torch.randn(4, 3).t(), torch.randn(4)]
    again = around(once, args)
    found = []
    for module in (once, again):
        given = [torch.empty_strided((3, 4), (1, 3)).copy_(args[0]), args[1].clone()]
        found.append((module(*given), given))
    torch.testing.assert_close(*found, rtol=0, atol=0)
