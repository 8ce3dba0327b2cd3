"""Modules: what they own, save, load and print, hooks, and layers and losses against NumPy and, where it is installed, PyTorch."""
from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn

RANDOM = np.random.default_rng(0)


def values(*shape):
    return RANDOM.standard_normal(shape)


def leaf(array):
    return torch.tensor(array, requires_grad=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)

    def forward(self, x):
        return self.inner(x) * self.scale


# ---------------------------------------------------------------- what a module owns
def test_names():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["scale", "inner.0.weight", "inner.0.bias"]
    assert [n for n, _ in net.named_buffers()] == ["count", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "inner", "inner.0", "inner.1"]
    assert [n for n, _ in net.named_children()] == ["inner"]
    assert list(net.state_dict()) == ["scale", "count", "inner.0.weight", "inner.0.bias"]
    assert net.get_parameter("inner.0.bias") is net.inner[0].bias and net.get_submodule("inner.1") is net.inner[1]


def test_shared_parameters_come_once():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert len(list(net.parameters())) == 3 and len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert len(net.state_dict()) == 4
    same = nn.ReLU()
    assert len(list(nn.Sequential(same, same).modules())) == 2


def test_attributes():
    net = Net()
    net.scale = None
    assert net.scale is None and "scale" not in dict(net.named_parameters())
    net.scale = nn.Parameter(torch.zeros(4))
    assert net.scale.requires_grad
    net.count = torch.ones(())
    assert net.state_dict()["count"].item() == 1
    del net.inner
    assert list(net.children()) == []
    net.plain = 3
    assert net.plain == 3
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'missing'"):
        _ = net.missing


class Early(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter(torch.ones(1))


REGISTRATION_ERRORS = [
    (lambda n: n.register_parameter("a.b", None), KeyError, "name can.*t contain"),
    (lambda n: n.register_parameter("", None), KeyError, "name can.*t be empty"),
    (lambda n: n.register_parameter("forward", None), KeyError, "attribute 'forward' already exists"),
    (lambda n: n.register_parameter("x", torch.ones(1)), TypeError, "torch.nn.Parameter or None required"),
    (lambda n: n.register_buffer("a.b", None), KeyError, "name can.*t contain"),
    (lambda n: n.register_buffer("x", 3), TypeError, "torch Tensor or None required"),
    (lambda n: n.add_module("", nn.ReLU()), KeyError, "name can.*t be empty"),
    (lambda n: n.add_module("x", 3), TypeError, "is not a Module subclass"),
    (lambda n: setattr(n, "scale", torch.ones(4)), TypeError, "cannot assign 'torch.FloatTensor' as parameter 'scale'"),
    (lambda n: setattr(n, "inner", 3), TypeError, "cannot assign 'int' as child module 'inner'"),
    (lambda n: setattr(n, "count", 3), TypeError, "cannot assign 'int' as buffer 'count'"),
    (lambda n: Early(), AttributeError, r"cannot assign parameters before Module.__init__\(\) call"),
    (lambda n: n.train(1), ValueError, "expected to be boolean"),
    (lambda n: n.to(torch.int64), TypeError, "only accepts floating point or complex dtypes"),
    (lambda n: nn.Module()(1), NotImplementedError, 'missing the required "forward"'),
]


@pytest.mark.parametrize(("act", "kind", "message"), REGISTRATION_ERRORS)
def test_registration_errors(act, kind, message):
    with pytest.raises(kind, match=message):
        act(Net())


def test_parameter():
    p = nn.Parameter(torch.ones(2))
    assert p.requires_grad and p.is_leaf and isinstance(p, torch.Tensor) and type(p + 1) is torch.Tensor
    assert not nn.Parameter(torch.ones(2), requires_grad=False).requires_grad
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    (p * 2).sum().backward()
    assert p.grad.tolist() == [2, 2]
    for other in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(other) is nn.Parameter and other.requires_grad and torch.equal(other, p) and other.data_ptr() != p.data_ptr()
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(torch.ones(2, dtype=torch.int64))


def test_conversion_keeps_the_objects():
    net = Net()
    weight = net.inner[0].weight
    net(torch.ones(2, 3)).sum().backward()
    net.double()
    assert net.inner[0].weight is weight and weight.dtype is torch.float64 and weight.grad.dtype is torch.float64
    assert net.count.dtype is torch.float64
    net(torch.ones(2, 3).double()).sum().backward()
    net.half().float()
    assert weight.dtype is torch.float32
    counter = nn.BatchNorm1d(2).double()
    assert counter.num_batches_tracked.dtype is torch.int64
    assert net.to(torch.ones(1, dtype=torch.float64)) is net and weight.dtype is torch.float64


def test_to_empty(torch):
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 2), torch.nn.BatchNorm2d(3))
    net[0].weight.data = net[0].weight.data.contiguous(memory_format=torch.channels_last)
    weight, mean = net[0].weight, net[1].running_mean
    before = weight.data_ptr()
    assert net.to_empty(device="cpu", recurse=False) is net and weight.data_ptr() == before
    net.to_empty(device="cpu")
    assert net[0].weight is weight and weight.requires_grad and weight.stride() == (8, 1, 4, 2) and weight.data_ptr() != before
    assert net[1].running_mean is not mean and net[1].running_mean.shape == (3,)


def test_train_eval_apply_zero_grad():
    net, seen = Net(), []
    assert net.eval() is net and not net.inner[1].training and net.train().inner[1].training
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "ReLU", "Sequential", "Net"]
    net(torch.ones(1, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.tolist() == [0] * 4
    net.zero_grad()
    assert net.scale.grad is None
    net.requires_grad_(False)
    assert not net(torch.ones(1, 3)).requires_grad


# ---------------------------------------------------------------- state
def test_state_round_trip():
    source, target = Net(), Net()
    assert str(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert all(torch.equal(a, b) for a, b in zip(source.state_dict().values(), target.state_dict().values()))
    assert not any(t.requires_grad for t in source.state_dict().values())
    assert source.state_dict(keep_vars=True)["scale"] is source.scale
    for twin in (copy.deepcopy(source), pickle.loads(pickle.dumps(source))):
        assert torch.equal(twin(torch.ones(1, 3)), source(torch.ones(1, 3))) and twin.scale is not source.scale


def test_load_errors_say_everything():
    net = Net()
    state = net.state_dict()
    state["inner.0.weight"] = torch.zeros(2, 2)
    del state["scale"]
    state["other"], state["outer.weight"], state["inner.0.scale"] = [torch.zeros(1)] * 3
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    assert str(error.value) == (
        'Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "scale". \n\tUnexpected key(s) in state_dict: '
        '"other", "outer.weight", "inner.0.scale". '
        "\n\tsize mismatch for inner.0.weight: copying a param with shape torch.Size([2, 2]) from checkpoint, the shape in "
        "current model "
        "is torch.Size([4, 3]).")
    del state["inner.0.weight"]
    found = net.load_state_dict(state, strict=False)
    assert found.missing_keys == ["scale", "inner.0.weight"] and found.unexpected_keys == ["other", "outer.weight", "inner.0.scale"]
    with pytest.raises(TypeError, match="dict-like"):
        net.load_state_dict(3)


def test_assign_takes_the_tensors_themselves():
    net = nn.Linear(2, 2)
    state = {k: torch.zeros_like(v) for k, v in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net.weight.data_ptr() == state["weight"].data_ptr() and net.weight.requires_grad
    net.bias.requires_grad_(False)
    net.load_state_dict(state, assign=True)
    assert net.weight.requires_grad and not net.bias.requires_grad


def test_extra_state_and_hooks():
    class Extra(nn.Module):
        def get_extra_state(self):
            return {"epoch": 3}

        def set_extra_state(self, state):
            self.epoch = state["epoch"]

    net, seen = nn.Sequential(Extra()), []
    net.register_load_state_dict_post_hook(lambda module, keys: seen.append(keys))
    net[0].register_load_state_dict_pre_hook(lambda module, state, *rest: seen.append(sorted(state)))
    net[0].register_load_state_dict_post_hook(lambda module, keys: seen.append("child"))
    assert list(net.state_dict()) == ["0._extra_state"]
    net.load_state_dict(net.state_dict())
    assert net[0].epoch == 3 and seen == [["0._extra_state"], "child", ([], [])]


def test_hooks_after_a_state_change_it_in_place(torch):
    layer = torch.nn.Linear(1, 1)
    layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update({f"{prefix}more": 1}))
    assert sorted(torch.nn.Sequential(layer).state_dict()) == ["0.bias", "0.more", "0.weight"]
    layer._register_state_dict_hook(lambda module, state, prefix, metadata: {"other": len(state)})
    assert layer.state_dict() == {"other": 3}
    layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: state)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        layer.state_dict()


# ---------------------------------------------------------------- hooks
def test_forward_hooks():
    net, seen = nn.Linear(2, 2), []
    handles = [net.register_forward_pre_hook(lambda m, args: seen.append("pre") or (args[0] * 0,)),
               net.register_forward_hook(lambda m, args, out: seen.append("post") or out + 1),
               net.register_forward_pre_hook(lambda m, args: seen.append("first"), prepend=True)]
    assert torch.allclose(net(torch.ones(1, 2)), net.bias + 1)
    assert seen == ["first", "pre", "post"]
    for handle in handles:
        handle.remove()
    assert torch.equal(net(torch.zeros(1, 2))[0], net.bias)


def test_keyword_and_always_called_hooks():
    class Failing(nn.Module):
        def forward(self, x, factor=1):
            if factor == 0:
                raise ValueError("no")
            return x * factor

    net, seen = Failing(), []
    net.register_forward_pre_hook(lambda m, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True)
    net.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    assert net(2, factor=2) == 6
    with pytest.raises(ValueError, match="no"):
        net(2, factor=-1)
    assert seen == [6, None]


def test_always_called_hooks_are_called_once(torch):
    """The error is forward's or a hook's; what an always called hook raises after it is a warning."""
    def failing(module, args, output):
        raise ValueError("no")

    net, seen = torch.nn.ReLU(), []
    net.register_forward_hook(lambda m, args, out: seen.append("first"), always_call=True)
    net.register_forward_hook(failing)
    net.register_forward_hook(lambda m, args, out: seen.append("last"), always_call=True)
    net.register_forward_hook(lambda m, args, out: seen.append("never"))
    net.register_forward_hook(lambda m, args, out: {}["none"], always_call=True)
    with pytest.warns(UserWarning, match="always_call=True`` raised an exception that was silenced"), pytest.raises(ValueError, match="no") as caught:
        net(torch.ones(2))
    assert seen == ["first", "last"] and caught.value.__context__ is None


def test_global_hook():
    seen = []
    with nn.modules.module.register_module_forward_hook(lambda m, args, out: seen.append(type(m).__name__)):
        Net()(torch.ones(1, 3))
    Net()(torch.ones(1, 3))
    assert seen == ["Linear", "ReLU", "Sequential", "Net"]


class Given(nn.Module):
    """Members of each kind, given in each way."""

    def __init__(self):
        super().__init__()
        self.child = nn.ReLU()
        self.add_module("other", nn.Sequential(nn.Tanh()))
        self.none = self.child
        self.none = None
        self.scale = nn.Parameter(torch.ones(1))
        self.register_parameter("absent", None)
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("nothing", None)
        self.mean = torch.ones(1)


REGISTERED = {                                           # what is registered by these names, and how it can be replaced
    "module": (["child", "0", "other", "none", "none"], lambda member: nn.Identity(), lambda net: type(net.child) is type(net.other) is nn.Identity),
    "parameter": (["scale"], lambda member: nn.Parameter(member * 3), lambda net: net.scale.item() == 3 and net.absent is None),
    "buffer": (["mean", "nothing", "mean"], lambda member: None if member is None else member + 3,
               lambda net: net.mean.item() == 4 and net.nothing is None)}


@pytest.mark.parametrize("kind", REGISTERED)
def test_hooks_of_what_modules_are_given(kind):
    """They see each member with its module and name, and may put another in its place, which those after them see."""
    register, seen = getattr(nn.modules.module, f"register_module_{kind}_registration_hook"), []
    names, other, replaced = REGISTERED[kind]
    with register(lambda module, name, member: seen.append((type(module), name, member))):
        net = Given()
    assert [name for _, name, _ in seen] == names and all(kind in (Given, nn.Sequential) for kind, *_ in seen)
    assert seen[0][2] is {"module": net.child, "parameter": net.scale, "buffer": seen[0][2]}[kind]
    held = []
    with register(lambda module, name, member: other(member)), register(lambda module, name, member: held.append(member)):
        net = Given()
    assert replaced(net) and held[-1] is {"module": net.none, "parameter": net.scale, "buffer": net.mean}[kind]
    with register(lambda *given: 1 / 0), pytest.raises(ZeroDivisionError):
        Given()
    assert not replaced(Given()) and len(seen) == len(names)


def test_backward_hooks():
    net, seen = nn.Linear(2, 3, bias=False).double(), []

    def hook(grad_input, grad_output):
        seen.append((grad_input, grad_output))
        return None if grad_input[0] is None else (grad_input[0] * 10,)

    net.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 2,))
    handle = net.register_full_backward_hook(lambda m, grad_input, grad_output: hook(grad_input, grad_output))
    x = leaf(values(4, 2))
    net(x).sum().backward()
    (grad_input,), (grad_output,) = seen[0]
    assert grad_output.shape == (4, 3) and torch.equal(grad_output, torch.full((4, 3), 2.0, dtype=torch.float64))
    np.testing.assert_allclose(grad_input.numpy(), np.tile(2 * net.weight.detach().numpy().sum(0), (4, 1)))
    np.testing.assert_allclose(x.grad.numpy(), 10 * grad_input.numpy())
    np.testing.assert_allclose(net.weight.grad.numpy(), np.tile(2 * x.detach().numpy().sum(0), (3, 1)))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        net(torch.ones(1, 2).double()).sum().backward()
    assert seen[1][0] == (None,)                         # the input wants no gradient
    handle.remove()
    net(x).sum().backward()
    assert len(seen) == 2


def test_backward_hooks_of_several_tensors():
    class Swap(nn.Module):
        def forward(self, a, b):
            return b * 2, a * 3

    net, seen = Swap(), []
    net.register_full_backward_hook(lambda m, inputs, outputs: seen.append([g.item() for g in (*inputs, *outputs)]))
    a, b = leaf(1.0), leaf(1.0)
    x, y = net(a, b)
    (x + y * 5).backward()
    assert seen == [[15.0, 2.0, 1.0, 5.0]] and a.grad.item() == 15 and b.grad.item() == 2


# ---------------------------------------------------------------- containers
def test_sequential():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(net) == 3 and isinstance(net[-1], nn.Linear) and len(net[:2]) == 2 and [type(m) for m in net][1] is nn.ReLU
    net.append(nn.Sigmoid())
    del net[1]
    assert list(net._modules) == ["0", "1", "2"] and len(net + net) == 6
    net.insert(1, nn.Tanh())
    assert isinstance(net[1], nn.Tanh) and isinstance(net.pop(1), nn.Tanh)
    with pytest.raises(IndexError, match="out of range"):
        _ = net[7]


def test_lists_and_dicts():
    modules = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])
    assert len(list(modules.parameters())) == 6 and len(modules[1:]) == 2 and modules[0] in modules
    assert repr(modules) == "ModuleList(\n  (0-2): 3 x Linear(in_features=1, out_features=1, bias=True)\n)"
    named = nn.ModuleDict({"a": nn.ReLU()})
    named["b"] = nn.Linear(1, 1)
    assert list(named) == ["a", "b"] and "b.weight" in named.state_dict() and "a" in named
    held = nn.Module()
    held.list, held.dict = nn.ParameterList([torch.ones(1), torch.ones(2)]), nn.ParameterDict({"w": torch.ones(3)})
    assert list(held.state_dict()) == ["list.0", "list.1", "dict.w"] and held.dict["w"].requires_grad
    assert repr(held.list) == ("ParameterList(\n    (0): Parameter containing: [torch.float32 of size 1]\n"
                               "    (1): Parameter containing: [torch.float32 of size 2]\n)")
    assert repr(held.dict) == "ParameterDict(  (w): Parameter containing: [torch.FloatTensor of size 3])"


def test_what_is_replaced_keeps_its_place():
    """Order is what a Sequential runs by, and what optimisers and states number parameters by."""
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    net[0] = nn.Linear(3, 4)
    net[0].weight = nn.Parameter(torch.zeros(4, 3))
    assert [type(m).__name__ for m in net] == ["Linear", "ReLU"] and list(net.state_dict()) == ["0.weight", "0.bias"]
    assert net(torch.ones(2, 3)).shape == (2, 4) and list(nn.ParameterDict({"b": torch.ones(1), "a": torch.ones(1)})) == ["a", "b"]


def test_linear_with_a_vector():
    x, w = leaf(values(2, 3)), leaf(values(3))
    out = nn.functional.linear(x, w, torch.tensor(1.0, dtype=torch.float64))
    np.testing.assert_allclose(out.detach().numpy(), x.detach().numpy() @ w.detach().numpy() + 1)
    assert out.shape == (2,) and torch.autograd.gradcheck(nn.functional.linear, [x, w])
    with pytest.raises(RuntimeError, match="1 or 2 dimensions, got 3"):
        nn.functional.linear(x, w.expand(1, 1, 3))


@pytest.mark.parametrize("rows", [(2,), (), (3, 2), (0,)])
@pytest.mark.parametrize("shape", [(4,), (1,), (), (1, 4), (2, 4), (2, 1), (1, 1), (3, 2, 4), (5,), (3, 4), (0, 4)])
def test_linear_takes_a_bias_that_broadcasts_to_its_result(rows, shape):
    x, w, bias = leaf(values(*rows, 3)), leaf(values(4, 3)), leaf(values(*shape))
    if len(shape) > len(rows) + 1 or any(have not in (1, want) for have, want in zip(shape[::-1], (4, *rows[::-1]))):
        with pytest.raises(RuntimeError, match="expand"):
            nn.functional.linear(x, w, bias)
        return
    out = nn.functional.linear(x, w, bias)
    np.testing.assert_allclose(out.detach().numpy(), x.detach().numpy() @ w.detach().numpy().T + bias.detach().numpy())
    assert torch.autograd.gradcheck(nn.functional.linear, [x, w, bias])
    with pytest.raises(RuntimeError, match="same dtype"):
        nn.functional.linear(x, w, bias.detach().float())


def test_parameters_stay_real():
    with pytest.raises(RuntimeError, match="must be floating point or complex"):
        nn.Linear(2, 2).type(torch.int64)


def test_containers_as_python_ones():
    """Sums and multiples of a Sequential, and what a dict of parameters can do."""
    one, two = nn.Sequential(nn.ReLU()), nn.Sequential(nn.Tanh(), nn.Identity())
    one += two
    assert [type(m).__name__ for m in one] == ["ReLU", "Tanh", "Identity"] and len(two * 2) == len(2 * two) == 4
    two *= 3
    assert len(two) == 6 and two[0] is two[4]
    for call, kind in ((lambda: one * 0, ValueError), (lambda: one * "a", TypeError), (lambda: one.insert(4, nn.ReLU()), IndexError)):
        with pytest.raises(kind):
            call()
    held = nn.ParameterDict({"a": torch.ones(1)})
    other = held.copy() | nn.ParameterDict({"b": torch.ones(2)})
    assert list(other) == ["a", "b"] and other["a"] is held["a"] and held.get("b") is None and list(reversed(other)) == ["b", "a"]
    assert other.popitem()[0] == "b" and held.setdefault("c", torch.ones(3)).shape == (3,) and len(list(held.parameters())) == 2
    held.clear()
    assert not list(held.parameters()) and list(held.fromkeys(["x"], 1).items()) == [("x", 1)]
    assert next(other.values()) is other["a"] and list({"b": 1} | other) == ["b", "a"]


MISSING = [                                              # what is not in a container, and what PyTorch says
    (lambda: nn.ParameterDict()["a"], AttributeError, "'ParameterDict' object has no attribute 'a'"),
    (lambda: nn.ParameterDict().pop("a"), AttributeError, "no attribute 'a'"), (lambda: nn.ParameterDict().popitem(), KeyError, "is empty"),
    (lambda: nn.ParameterDict().__delitem__("a"), KeyError, "a"), (lambda: nn.ParameterDict()[0], TypeError, "not a string .type is 'int'"),
    (lambda: nn.ParameterDict().__setitem__(0, torch.ones(1)), TypeError, "not a string .type is 'int'"),
    (lambda: nn.ParameterDict(3), TypeError, "iterable of key/value pairs, but got int"),
    (lambda: nn.ParameterDict().update(None), TypeError, "iterable of key/value pairs, but got NoneType"),
    (lambda: nn.ParameterDict([1]), TypeError, "ParameterDict update sequence element #0 should be Iterable"),
    (lambda: nn.ParameterDict({}).update(["ab", "c"]), ValueError, "ParameterDict update sequence element #1 has length 1; 2 is required"),
    (lambda: nn.ModuleDict()["a"], KeyError, "a"), (lambda: nn.ModuleDict().pop("a"), KeyError, "a"),
    (lambda: nn.ModuleDict([nn.ReLU()]), TypeError, "ModuleDict update sequence element #0 should be Iterable"),
    (lambda: nn.ModuleDict([("a", nn.ReLU(), 3)]), ValueError, "ModuleDict update sequence element #0 has length 3; 2 is required"),
    (lambda: nn.ParameterList().extend(torch.ones(2)), TypeError, "should be called with an iterable, but got Tensor"),
    (lambda: nn.ModuleList([nn.ReLU()]).pop(key=1), IndexError, "index 1 is out of range"),
    *[(lambda kind=kind, index=index: kind()[index], error, message) for kind in (nn.ParameterList, nn.ModuleList, nn.Sequential)
      for index, error, message in ((0, IndexError, "index 0 is out of range"), ("0", TypeError, "'str' object cannot be interpreted as an i"),
                                    (None, TypeError, "'NoneType' object cannot be"), (1.0, TypeError, "'float' object cannot be"))]]


@pytest.mark.parametrize("call, kind, message", MISSING)
def test_what_containers_do_not_hold(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


# ---------------------------------------------------------------- layers
LAYERS = [
    ("Linear(3, 4)", (5, 3)), ("Linear(3, 4, bias=False)", (2, 5, 3)), ("Conv1d(3, 4, 3, padding=1, stride=2)", (2, 3, 8)),
    ("Conv2d(4, 6, 3, padding=(1, 2), groups=2)", (2, 4, 6, 5)),
    ("Conv2d(2, 3, 3, padding=1, padding_mode='reflect')", (2, 2, 5, 5)),
    ("Conv2d(2, 3, 2, padding='same', dilation=2, bias=False)", (1, 2, 6, 6)),
    ("ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)", (2, 4, 4, 5)),
    ("ConvTranspose1d(3, 2, 4, stride=2)", (2, 3, 5)),
    ("MaxPool1d(2)", (2, 3, 8)), ("MaxPool2d(3, stride=2, padding=1)", (2, 3, 8, 7)), ("AvgPool1d(2)", (2, 3, 8)),
    ("AvgPool2d((2, 3), ceil_mode=True)", (2, 3, 7, 7)), ("AdaptiveAvgPool2d((2, 3))", (2, 3, 7, 6)),
    ("AdaptiveAvgPool2d(1)", (2, 3, 7, 6)),
    ("BatchNorm1d(4)", (6, 4)), ("BatchNorm2d(3, momentum=None)", (4, 3, 5, 5)), ("BatchNorm1d(3, affine=False)", (4, 3, 5)),
    ("LayerNorm((3, 4))", (5, 3, 4)), ("GroupNorm(2, 4)", (3, 4, 5)), ("InstanceNorm2d(3, affine=True)", (2, 3, 4, 4)),
    ("RMSNorm(4)", (3, 4)),
    ("ReLU()", (3, 4)), ("LeakyReLU(0.2)", (3, 4)), ("ELU(0.7)", (3, 4)), ("CELU(1.3)", (3, 4)), ("SELU()", (3, 4)),
    ("GELU()", (3, 4)),
    ("GELU('tanh')", (3, 4)), ("SiLU()", (3, 4)), ("Mish()", (3, 4)), ("Sigmoid()", (3, 4)), ("Tanh()", (3, 4)),
    ("LogSigmoid()", (3, 4)),
    ("Softplus(2.0)", (3, 4)), ("Softsign()", (3, 4)), ("Hardtanh(-0.5, 0.7)", (3, 4)), ("ReLU6()", (3, 4)),
    ("Hardsigmoid()", (3, 4)),
    ("Hardswish()", (3, 4)), ("Softshrink(0.4)", (3, 4)), ("Hardshrink(0.4)", (3, 4)), ("Tanhshrink()", (3, 4)),
    ("Threshold(0.1, 2.0)", (3, 4)),
    ("PReLU()", (3, 4)), ("PReLU(4)", (3, 4)), ("GLU()", (3, 4)), ("Softmax(1)", (3, 4)), ("LogSoftmax(0)", (3, 4)),
    ("Softmin(-1)", (3, 4)),
    ("Softmax2d()", (2, 3, 4, 4)), ("Flatten()", (2, 3, 4)), ("Unflatten(1, (2, -1))", (3, 6)), ("Identity()", (3, 4)),
    ("Unfold(2)", (1, 2, 4, 4)),
    ("ZeroPad2d(1)", (1, 2, 3, 3)), ("ReflectionPad1d((1, 2))", (1, 2, 4)), ("ReplicationPad2d(2)", (1, 2, 3, 3)),
    ("ConstantPad1d(1, 2.5)", (2, 3)), ("Dropout(0.0)", (3, 4)),
]


@pytest.mark.parametrize(("layer", "shape"), LAYERS)
def test_layers_like_pytorch(layer, shape):
    reference = pytest.importorskip("torch")
    ours = eval(f"nn.{layer}", {"nn": nn}).double()
    theirs = eval(f"nn.{layer}", {"nn": reference.nn}).double()
    assert repr(ours) == repr(theirs)
    state = {k: values(*v.shape) if v.is_floating_point() else v.numpy() for k, v in theirs.state_dict().items()}
    state = {k: np.abs(v) if "running_var" in k else v for k, v in state.items()}
    ours.load_state_dict({k: torch.tensor(v) for k, v in state.items()})
    theirs.load_state_dict({k: reference.tensor(v) for k, v in state.items()})
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for training in (True, False):
        data = values(*shape)
        a, b = leaf(data), reference.tensor(data, requires_grad=True)
        x, y = ours.train(training)(a), theirs.train(training)(b)
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-9, atol=1e-10)
        weight = values(*y.shape)
        (x * torch.tensor(weight)).sum().backward()
        (y * reference.tensor(weight)).sum().backward()
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-7, atol=1e-9)
        for p, q in zip(ours.parameters(), theirs.parameters()):
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-7, atol=1e-9)
    for (name, p), q in zip(ours.named_buffers(), theirs.buffers()):
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-9, err_msg=name)


def test_first_values():
    torch.manual_seed(0)
    layer = nn.Linear(400, 300)
    assert abs(layer.weight.max().item() - 0.05) < 1e-3 and abs(layer.weight.std().item() - 0.05 / 3 ** 0.5) < 1e-3
    w = torch.empty(200, 300)
    for fill, std in ((nn.init.xavier_uniform_, (2 / 500) ** 0.5), (nn.init.xavier_normal_, (2 / 500) ** 0.5),
                      (nn.init.kaiming_normal_, (2 / 300) ** 0.5), (nn.init.kaiming_uniform_, (2 / 300) ** 0.5)):
        assert fill(w) is w and abs(w.std().item() / std - 1) < 0.02
    nn.init.orthogonal_(w)
    np.testing.assert_allclose((w @ w.t()).numpy(), np.eye(200), atol=1e-5)
    nn.init.trunc_normal_(w, a=-1, b=0.5)
    assert -1 <= w.min().item() < -0.99 and 0.49 < w.max().item() <= 0.5
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        nn.init.xavier_uniform_(torch.empty(3))


def test_dropout():
    torch.manual_seed(0)
    x = leaf(np.ones((100, 100)))
    layer = nn.Dropout(0.3)
    out = layer(x)
    kept = (out != 0).double().mean().item()
    assert abs(kept - 0.7) < 0.02 and set(np.unique(out.detach().numpy()).round(9)) == {0.0, round(1 / 0.7, 9)}
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), out.detach().numpy())
    assert layer.eval()(x) is x and not nn.Dropout(1.0)(x).any()
    channels = nn.Dropout2d(0.5)(torch.ones(20, 10, 3, 3)).numpy().reshape(200, 9)
    assert (channels == channels[:, :1]).all() and 0.3 < (channels[:, 0] == 0).mean() < 0.7
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.Dropout(1.5)


def test_embedding():
    layer = nn.Embedding(5, 3, padding_idx=1)
    assert layer.weight[1].tolist() == [0, 0, 0] and repr(layer) == "Embedding(5, 3, padding_idx=1)"
    index = torch.tensor([[0, 1], [4, 0]])
    out = layer(index)
    np.testing.assert_array_equal(out.detach().numpy(), layer.weight.detach().numpy()[index.numpy()])
    out.sum().backward()
    assert layer.weight.grad.sum(1).tolist() == [6, 0, 0, 0, 3]
    with pytest.raises(IndexError):
        layer(torch.tensor([5]))


def test_batch_norm_needs_a_batch():
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        nn.BatchNorm1d(3)(torch.ones(1, 3))
    with pytest.raises(ValueError, match="expected 4D input"):
        nn.BatchNorm2d(3)(torch.ones(2, 3))


# ---------------------------------------------------------------- utils
def test_clipping():
    parameters = [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))]
    parameters[0].grad, parameters[1].grad = torch.tensor([3.0, 0.0]), torch.tensor([4.0])
    assert nn.utils.clip_grad_norm_(parameters, 1.0).item() == 5.0
    assert parameters[0].grad.tolist() == pytest.approx([0.6, 0.0], abs=1e-5)
    assert parameters[1].grad.tolist() == pytest.approx([0.8], abs=1e-5)
    assert nn.utils.clip_grad_norm_(parameters, 10.0, float("inf")).item() == pytest.approx(0.8, abs=1e-5)
    nn.utils.clip_grad_value_(parameters, 0.7)
    assert parameters[1].grad.tolist() == pytest.approx([0.7])
    parameters[0].grad[0] = float("nan")
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)


def test_vectors_of_parameters():
    net = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert vector.shape == (9,)
    vector.sum().backward()
    assert net.weight.grad.tolist() == [[1, 1]] * 3
    nn.utils.vector_to_parameters(torch.arange(9.0), net.parameters())
    assert net.bias.tolist() == [6, 7, 8]
