"""Modules as scripts: parameters, attributes, methods, properties and constants; from the start, copied, from a file, frozen."""
import copy

import pytest
import scriptprograms as programs
from scriptruns import argument, through_file

import numtorch as torch
from numtorch.jit.scripting import loading
from numtorch.tree import flatten

try:
    import torch as reference
except ImportError:
    reference = None


def test_a_module_as_a_script_has_the_same_parameters_and_trains():
    torch.manual_seed(0)
    net = programs.Net()
    script = torch.jit.script(net)
    assert list(script.state_dict()) == list(net.state_dict())
    assert all(a is b for a, b in zip(script.parameters(), net.parameters()))
    x, hidden = torch.rand(2, 4), (torch.rand(2, 4), torch.rand(2, 4))
    for given in ((x,), (x, hidden)):
        assert torch.equal(script(*given), net(*given))
    assert torch.equal(script.head(x), net.head(x))
    assert script.blocks[0].calls == 2 and net.blocks[0].calls == 2
    loaded = through_file(script)
    assert torch.equal(loaded(x), net(x)) and torch.equal(loaded.head(x), net.head(x))
    assert not torch.equal(loaded.eval()(x), net(x)) and torch.equal(loaded(x), net.eval()(x))
    net.train()
    optimizer = torch.optim.SGD(script.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (script(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and torch.equal(script(x), net(x))
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor'"):
        script(3)


def test_a_module_as_a_script_computes_what_that_of_pytorch_does(theirs):
    ours, other = programs.Net(), theirs.Net()
    other.load_state_dict({name: reference.tensor(value.tolist()) for name, value in ours.state_dict().items()})
    script, their_script = torch.jit.script(ours), reference.jit.script(other)
    x = argument(torch)(2, 4)
    y = reference.tensor(x.tolist())
    assert flatten(script(x).tolist())[0] == pytest.approx(flatten(their_script(y).tolist())[0], rel=1e-5)


def test_forks_of_modules_and_methods(theirs):
    ours, other = programs.Forks(), theirs.Forks()
    other.load_state_dict({name: reference.tensor(value.tolist()) for name, value in ours.state_dict().items()})
    x, script = torch.rand(2, 4), torch.jit.script(ours)
    wanted = reference.jit.script(other)(reference.tensor(x.tolist()))
    for each in (ours, script, through_file(script)):
        assert flatten(each(x).tolist())[0] == pytest.approx(flatten(wanted.tolist())[0], rel=1e-5, abs=1e-6)
    script(x).sum().backward()
    wanted.sum().backward()
    assert flatten(ours.layers[0].weight.grad.tolist())[0] == pytest.approx(flatten(other.layers[0].weight.grad.tolist())[0], rel=1e-5)


@pytest.mark.parametrize("place", range(5))
def test_containers_that_go_through_what_they_hold(place, theirs):
    """As Python, as a script, from a file, copied, and as PyTorch's script."""
    ours, other = programs.containers()[place], theirs.containers()[place]
    other.load_state_dict({name: reference.tensor(value.tolist()) for name, value in ours.state_dict().items()})
    x, script = torch.rand(2, 4), torch.jit.script(ours)
    wanted = reference.jit.script(other)(reference.tensor(x.tolist()))
    for each in (script, through_file(script), copy.deepcopy(script), through_file(through_file(script))):
        assert torch.equal(each(x), ours(x)) and len(each) == len(ours)
        assert flatten(each(x).tolist())[0] == pytest.approx(flatten(wanted.tolist())[0], rel=1e-5, abs=1e-6)
    assert list(through_file(script).state_dict()) == list(other.state_dict())


def test_a_file_names_no_container_but_those_of_the_package():
    content = torch.jit.script(programs.containers()[1]).content()
    content["modules"][0]["container"] = "Linear"
    with pytest.raises(KeyError, match="Linear"):
        loading.from_content(content)


def test_constants_properties_and_empty_containers_of_modules(theirs):
    """As Python, as a script, from a file, and as PyTorch's script."""
    net, script = programs.Declared(), torch.jit.script(programs.Declared())
    loaded, their_script = through_file(script), reference.jit.script(theirs.Declared())
    for name in ("a", "b", "a"):
        wanted, seen = net(torch.ones(2), name)
        for each in (script, loaded):
            found, counted = each(torch.ones(2), name)
            assert torch.equal(found, wanted) and counted == seen
        found, counted = their_script(reference.ones(2), name)
        assert found.tolist() == wanted.tolist() and counted == seen
    assert torch.equal(script.scale, net.scale) and torch.equal(loaded.scale, net.scale)
    with pytest.raises(AttributeError, match="shown"):
        print(script.shown)


class Sizes:
    WIDTH = 4
    names = ("a", "b")


class WithClassAttributes(torch.nn.Module):
    factor = 3

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
        self.known = ["a", "c"]

    def forward(self, x, name: str = "a"):
        assert name in Sizes.names, f"{name} is none of {len(Sizes.names)} names"
        if name in self.known and isinstance(self.factor, int):
            return self.inner(x) * self.factor + Sizes.WIDTH
        return x


def test_attributes_of_classes_are_constants_of_a_script():
    net = WithClassAttributes()
    script, x = torch.jit.script(net), torch.ones(1, 2)
    for each in (script, through_file(script)):
        assert torch.equal(each(x), net(x)) and torch.equal(each(x, "b"), x)
        with pytest.raises(AssertionError, match="c is none of 2 names"):
            each(x, "c")


def test_modules_that_are_scripts_from_the_start(theirs):
    ours, other = programs.Early(2), theirs.Early(2)
    other.load_state_dict({name: reference.tensor(value.tolist()) for name, value in ours.state_dict().items()})
    assert isinstance(ours, programs.Early) and isinstance(ours, torch.jit.ScriptModule) and "for i in range(self.turns)" in ours.code
    loaded = through_file(ours)
    for x in ([[-1.0, 2.0]], [[4.0, 1.0]]):
        wanted = other(reference.tensor(x)).flatten().tolist()
        for each in (ours, loaded, copy.deepcopy(ours)):
            assert each(torch.tensor(x)).flatten().tolist() == pytest.approx(wanted, rel=1e-5)
    assert ours.described() == "Parameter of 2" and ours.moved(torch.zeros(1), 2).item() == 2 and list(ours.state_dict()) == list(other.state_dict())
    with pytest.raises(RuntimeError, match="Expected a value of type 'int'"):
        ours.moved(torch.zeros(1), 0.5)
    ours.turns = 0
    assert ours(torch.ones(2)).tolist() == [0.5, 0.5] and programs.Later().turns == 2
    outer = torch.jit.script(torch.nn.Sequential(ours, torch.nn.ReLU()))
    assert outer(torch.ones(2)).tolist() == [0.5, 0.5] and through_file(outer)(torch.ones(2)).tolist() == [0.5, 0.5]


class Assigning(programs.Declared):
    def forward(self, x):
        self.factor = 4
        return x * self.factor


class Replacing(programs.Declared):
    def forward(self, x):
        self.scale = x
        return x


class Holding(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.point = torch.jit.Attribute([], list[torch.Tensor]), torch.jit.Attribute(None, programs.Point | None)

    def forward(self, x):
        self.rows.append(x)
        return torch.stack(self.rows)


def test_what_is_final_and_what_is_a_property_is_not_assigned_to():
    for kind, message in ((Assigning, "factor of Assigning is Final"), (Replacing, "scale of Replacing is a property")):
        with pytest.raises(RuntimeError, match=message):
            torch.jit.script(kind())
    script = torch.jit.script(Holding())
    for n in range(1, 4):
        assert script(torch.ones(2)).shape == (n, 2)


def test_methods_of_a_script_have_their_code_and_graph():
    """As PyTorch's have: of a script's methods, of a traced module's and of one of the package `forward`."""
    class Two(torch.nn.Module):
        def forward(self, x):
            return self.shifted(x, 2) * 2

        def shifted(self, x, by: int):
            return x + by

    script = torch.jit.script(Two())
    for each in (script, through_file(script)):
        assert each.forward.code == "def forward(self, x):\n    return self.shifted(x, 2) * 2\n" and each.forward.__name__ == "forward"
        assert each.shifted.code == "def shifted(self, x, by: int):\n    return x + by\n" and each.shifted(torch.ones(1), 3).item() == 4
        assert "aten::mul" in str(each.forward.graph) and "aten::add" in str(each.shifted.graph) and str(each.graph) == str(each.forward.graph)
        assert each.forward(torch.ones(1)).item() == each(torch.ones(1)).item() == 6
    traced = torch.jit.trace(torch.nn.Linear(2, 1), torch.ones(1, 2))
    assert traced.forward.code == traced.code and traced.forward.graph is traced.graph
    early = programs.Early(2)
    assert "for i in range(self.turns)" in early.forward.code
    assert "Linear" in torch.jit.script(torch.nn.Linear(2, 1)).forward.code


def test_a_copy_of_a_script_has_parameters_of_its_own():
    script = torch.jit.script(programs.Net())
    for made in (script, torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 2), programs.Block(2)))):
        x = torch.rand(2, 4)
        expected = made(x)
        copied = copy.deepcopy(made)
        with torch.no_grad():
            for parameter in copied.parameters():
                parameter.zero_()
        assert torch.equal(made(x), expected) and not torch.equal(copied(x), expected)


class Annotated(torch.nn.Module):
    inner: torch.nn.Module                               # PyTorch refuses such an annotation

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Tanh()

    def forward(self, x):
        return self.inner(x)


def test_an_annotation_of_a_submodule_is_no_type():
    assert torch.jit.script(Annotated())(torch.zeros(2)).tolist() == [0, 0]


class Shadowing(torch.nn.Module):
    """Members of names that every module has: these come first, as in Python."""

    def __init__(self):
        super().__init__()
        self.limit, self.f = 3, torch.nn.Linear(2, 2)

    @property
    def half(self) -> float:
        return self.limit / 2

    def type(self, x, k: int = 2):
        return x * k

    @torch.jit.export
    def double(self, x):
        return self.f(x) * 2

    def forward(self, x):
        return self.double(self.type(x)) + self.half


def test_methods_and_properties_come_before_those_of_every_module():
    net, x = Shadowing(), torch.rand(3, 2)
    script = torch.jit.script(net)
    for each in (script, through_file(script), copy.deepcopy(script), copy.deepcopy(through_file(script))):
        assert torch.equal(each(x), net(x)) and torch.equal(each.double(x), net.double(x))
        assert torch.equal(each.type(x, 3), x * 3) and each.half == 1.5
        assert each.float() is each                      # others stay


class Layers(torch.nn.Module):
    """Layers of many kinds, a trace, and a buffer that is written."""

    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.conv = nn.Sequential(nn.Conv1d(4, 4, 3, padding=1), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5))
        self.lstm, self.attention = nn.LSTM(4, 4, batch_first=True), nn.MultiheadAttention(4, 2, batch_first=True)
        self.traced = torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).eval(), torch.rand(5, 4))
        self.weight = nn.Parameter(torch.rand(4))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += 1
        x, state = self.lstm(self.conv(x))
        if x.sum() > 100:
            x = x * 2
        x = self.attention(x, x, x)[0] * self.weight
        return self.traced(x[:, 0]), int(self.calls)


class Normed(torch.nn.Module):
    """Convolutions with norms in a loop, whose number of rounds is an argument, and a result that is no tensor."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.scale = torch.nn.Conv2d(2, 2, 3, padding=1), torch.nn.BatchNorm2d(2), 2.0
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x, rounds: int = 1) -> dict[str, torch.Tensor]:
        if x.dim() != 4:
            raise ValueError(f"images are needed, not {x.dim()} dimensions")
        for _ in range(rounds):
            x = torch.tanh(self.norm(self.conv(x))) * self.scale
        return {"images": x, "means": x.mean((2, 3))}


@pytest.mark.parametrize("prepare", [torch.jit.freeze, torch.jit.optimize_for_inference])
def test_a_frozen_script_that_looks_at_no_element_runs_as_graphs(prepare, monkeypatch):
    torch.manual_seed(0)
    module = Normed().eval()
    calls = []
    monkeypatch.setattr(torch.nn.BatchNorm2d, "forward", lambda self, x, was=torch.nn.BatchNorm2d.forward: calls.append(1) or was(self, x))
    script = torch.jit.script(module)
    for frozen in (prepare(script), prepare(prepare(script)), copy.deepcopy(prepare(script))):
        for shape in ((2, 2, 5, 5), (1, 2, 4, 6)):
            for rounds in (1, 3):
                x = torch.randn(shape)
                wanted = module(x, rounds)
                frozen(x, rounds)                        # the first of its kind
                before = len(calls)
                got = frozen(x, rounds)
                assert len(calls) == before              # norms are part of the weights
                assert got.keys() == wanted.keys()
                for name, value in wanted.items():
                    torch.testing.assert_close(got[name], value)
        assert frozen.passes["norms"] and ("fusion" in frozen.passes) == (prepare is torch.jit.optimize_for_inference)
        torch.testing.assert_close(frozen(x, rounds=2)["images"], module(x, 2)["images"])
        traced = torch.jit.trace(lambda x, frozen=frozen: frozen(x)["means"] * 2, x)
        torch.testing.assert_close(traced(x), module(x)["means"] * 2)
        with pytest.raises(ValueError, match="images are needed"):
            frozen(torch.ones(3))
        with pytest.raises(RuntimeError, match="Expected a value of type 'int' for argument 'rounds'"):
            frozen(x, "three")
        torch.testing.assert_close(through_file(frozen)(x)["images"], module(x)["images"], rtol=0, atol=0)
        double = frozen.double()(x.double())["images"]
        assert double.dtype is torch.float64
        torch.testing.assert_close(double.float(), module(x)["images"])


def test_frozen_layers_of_the_package_go_to_another_dtype():
    x = torch.randn(4, 2)
    layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
    frozen = torch.jit.freeze(torch.jit.script(layers))
    torch.testing.assert_close(frozen(x), layers(x))
    assert frozen.passes["norms"]
    torch.testing.assert_close(frozen.double()(x.double()).float(), layers(x))


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.register_buffer("calls", torch.zeros(2))

    def forward(self, x):
        self.calls.add_(1)
        return self.linear(x) + self.calls


def test_what_a_frozen_script_writes_is_its_own():
    frozen, x = torch.jit.freeze(torch.jit.script(Counting().eval())), torch.zeros(1, 2)
    results = [frozen(x), frozen(x=x), frozen(x)]
    assert frozen.calls.tolist() == [3.0, 3.0]
    torch.testing.assert_close(results[2] - results[1], torch.ones(1, 2))
    torch.testing.assert_close(results[1] - results[0], torch.ones(1, 2))


@pytest.mark.parametrize("prepare", [torch.jit.freeze, torch.jit.optimize_for_inference])
def test_a_script_is_frozen(prepare):
    """The same results, of tensors of its own, which are neither trained nor part of a state."""
    torch.manual_seed(0)
    script = torch.jit.script(Layers())
    with pytest.raises(RuntimeError, match="eval mode"):
        prepare(script)
    script.eval()
    x = torch.rand(5, 4, 4)
    frozen = prepare(script)
    expected = script(x)
    assert not list(frozen.parameters()) and not frozen.state_dict() and len(list(script.parameters())) > 10
    again = prepare(frozen)
    for each in (frozen, again, through_file(prepare(script))):
        result, calls = each(x)
        torch.testing.assert_close(result, expected[0], rtol=0, atol=0)
        assert not result.requires_grad
    assert frozen(x)[1] == 2 and again(x)[1] == 2 and script(x)[1] == 2     # each counts its own calls
    with torch.no_grad():
        script.weight.zero_()
    torch.testing.assert_close(frozen(x)[0], expected[0], rtol=0, atol=0)
    assert frozen.code == script.code and str(frozen.graph) == str(script.graph)
    torch.testing.assert_close(torch.compile(frozen)(x)[0], expected[0], rtol=1e-5, atol=1e-6)
    layer = prepare(torch.jit.script(torch.nn.Linear(3, 2).eval()))
    assert not list(layer.parameters()) and layer(torch.rand(4, 3)).shape == (4, 2)


class Keeping(torch.nn.Module):
    """What it computed stays in it."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.seen: list[torch.Tensor] = [torch.zeros(1)]

    def forward(self, x):
        self.seen = [self.linear(x)]
        return self.seen[0] * 2


def test_copies_have_the_values_of_what_a_call_left():
    script, x = torch.jit.script(Keeping().eval()), torch.ones(1, 2)
    expected = script(x)
    for each in (copy.deepcopy(script), torch.jit.freeze(script)):
        assert each.seen[0].is_leaf and torch.equal(each.seen[0] * 2, expected) and torch.equal(each(x), expected)
    assert not script.seen[0].is_leaf


class Scaled:
    factor = 1.0

    def __init__(self, factor: float):
        self.factor = factor

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


class Calls(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scaled = Scaled(3.0)

    def forward(self, x):
        scaled = Scaled(1.0)
        return scaled(self.scaled(x)) + 1


def test_objects_that_modules_hold_are_called():
    script = torch.jit.script(Calls())
    for each in (script, through_file(script)):
        assert each(torch.ones(2)).tolist() == [4.0, 4.0]
