"""Scripts that traces call: they keep their conditions and loops, in graphs, files, copies and libraries, with gradients and state.
Each program is compared with what Python makes of the same calls, on arguments that take other ways than the example."""
import copy
import io
import warnings

import pytest

import numtorch as torch

nn = torch.nn
EXAMPLES = [torch.full((4, 3), 0.3), torch.full((4, 3), -0.6), torch.arange(12.0).view(4, 3) - 3, torch.zeros(4, 3)]


@pytest.fixture(autouse=True)
def no_warnings():
    """Nothing is frozen, so nothing is warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", torch.jit.TracerWarning)
        yield


def halved(x, most: int, by: float = 2.0):
    count = 0
    while bool(x.abs().max() > 0.25) and count < most:
        x = x / by
        count += 1
    return x


def split(x, parts: list[torch.Tensor]):
    if x.sum() > 0:
        return x + parts[0], {"other": parts[1] * 2}
    return x - parts[1], {"other": parts[0]}


def written(x):
    if x.sum() > 0:
        x.mul_(3)
    return x


def element(x):
    return torch.arange(int(x.max().item()) + 2)


def of_layouts(x):
    if x.dim() > 1:
        x = x.t()
    for _ in range(x.shape[0]):
        x = x + 1
    return x


halved_, split_, written_, element_, of_layouts_ = map(torch.jit.script, (halved, split, written, element, of_layouts))


class Block(nn.Module):
    """Everything that a module may hold: parameters, statistics, a count, numbers, another module."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)
        self.register_buffer("count", torch.zeros(()))
        self.scale = 2.0

    def forward(self, x, shift: float = 0.0):
        y = self.norm(self.linear(x))
        if y.sum() + x.sum() > 0:
            self.count += 1
            return y * self.scale + shift
        self.count = self.count + 10
        return self.middle(x)

    @torch.jit.export
    def middle(self, x):
        return x[:, 1:2] * x if bool(x[0, 0] < 0) else x


class Net(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.first, self.blocks = nn.Linear(3, 3), nn.ModuleList([block, nn.ReLU()])

    def forward(self, x):
        x = self.first(x)
        return self.blocks[1](self.blocks[0](x, shift=0.5)) + self.blocks[0].middle(x)


def net():
    torch.manual_seed(3)
    return Net(torch.jit.script(Block()))


def reloaded(program):
    file = io.BytesIO()
    torch.jit.save(program, file)
    file.seek(0)
    return torch.jit.load(file)


def same(one, other):
    if isinstance(other, torch.Tensor):
        assert one.dtype is other.dtype and torch.equal(one, other)
    elif isinstance(other, dict):
        assert one.keys() == other.keys()
        [same(one[key], other[key]) for key in other]
    elif isinstance(other, (tuple, list)):
        assert len(one) == len(other)
        [same(a, b) for a, b in zip(one, other)]
    else:
        assert one == other


FUNCTIONS = {
    "loop": lambda x: halved_(x + 1, 3) * 2,
    "by name": lambda x: halved_(x, by=4.0, most=2),
    "structures": lambda x: split_(x, [x.sum(1, keepdim=True), x * 2]),
    "written": lambda x: (written_(y := x * 2), y),
    "written part": lambda x: (written_((y := x * 2)[1:3]), y),
    "sizes": lambda x: element_(x).float().sum(),
    "twice": lambda x: halved_(halved_(x, 1), 2) - halved_(x, 0),
    "draws": lambda x: torch.dropout(halved_(x, 2), 0.5, True),
    "own gradient": lambda x: torch.autograd.grad(halved_(y := x.detach().requires_grad_(), 2).sin().sum(), y)[0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("way", ["traced", "file", "parsed"])
def test_a_trace_goes_the_ways_of_its_scripts(name, way):
    function = FUNCTIONS[name]
    trace = torch.jit.trace(function, EXAMPLES[0], check_trace=name != "draws")
    assert any(node.op == "script" for node in trace.graph.nodes)
    program = {"traced": lambda: trace, "file": lambda: reloaded(trace),
               "parsed": lambda: torch.jit.Interpreter(torch.jit.parse(str(trace.graph), trace.graph.constants)).run}[way]()
    for x in EXAMPLES:
        torch.manual_seed(5)
        expected = function(x.clone())
        torch.manual_seed(5)
        same(program(x.clone()), expected)
    if way == "file":                                    # other rows than those it was traced for
        torch.manual_seed(5)
        expected = function(EXAMPLES[2][:3] - 1)
        torch.manual_seed(5)
        same(program(EXAMPLES[2][:3] - 1), expected) if name not in ("written part", "sizes", "structures", "own gradient") else None


def test_what_only_layouts_decide_is_traced_through():
    trace = torch.jit.trace(lambda x: of_layouts_(x) * 2, torch.ones(2, 3))
    assert [node.op for node in trace.graph.nodes] == ["view.transpose", "add", "add", "add", "mul"]
    same(trace(torch.ones(4)), of_layouts(torch.ones(4)) * 2)


@pytest.mark.parametrize("change", [lambda m: m, reloaded, copy.deepcopy, lambda m: copy.deepcopy(reloaded(m))],
                         ids=["trace", "file", "copy", "copy of a file"])
def test_modules_train_as_python_does(change):
    """Parameters, statistics, counts and modes, after each of some steps that go both ways."""
    python = net()
    traced = change(torch.jit.trace(copy.deepcopy(python), EXAMPLES[0], check_trace=False))
    assert isinstance(traced.get_submodule("blocks.0"), torch.jit.ScriptModule) and list(traced.state_dict()) == list(python.state_dict())
    traced.load_state_dict(python.state_dict())
    optimizers = [torch.optim.Adam(each.parameters(), 0.1) for each in (python, traced)]
    for step in range(8):
        x = EXAMPLES[step % 4] + step / 10
        for module, optimizer in zip((python, traced), optimizers):
            module.train(step % 3 != 2)
            optimizer.zero_grad()
            module(x).square().sum().backward()
            optimizer.step()
        same(dict(traced.state_dict()), dict(python.state_dict()))
    assert python.blocks[0].count not in (8, 80)         # both ways were gone


def test_a_trace_has_a_mode_of_its_own():
    python = net()
    traced = torch.jit.trace(python, EXAMPLES[0], check_trace=False)
    traced.eval()
    block = traced.get_submodule("blocks.0")
    assert python.blocks[0].training and not block.training and block.linear.weight is python.blocks[0].linear.weight


@pytest.mark.parametrize("make", [torch.jit.freeze, torch.jit.optimize_for_inference, lambda m: torch.jit.freeze(reloaded(m)), torch.jit.to_fx])
def test_what_is_made_of_a_trace_keeps_the_calls(make):
    python = net().eval()
    traced = torch.jit.trace(copy.deepcopy(python), EXAMPLES[0], check_trace=False)
    traced.load_state_dict(python.state_dict())
    made = make(traced)
    for x in EXAMPLES:
        same(made(x), python(x))
        if make is torch.jit.to_fx:
            same(dict(traced.state_dict()), dict(python.state_dict()))


def test_traces_and_scripts_call_each_other():
    inner = torch.jit.trace(lambda x: halved_(x, 2) + 1, EXAMPLES[0])

    def outer(x):
        return inner(x) * 2 if bool(x.sum() > 0) else inner(-x)
    outer_ = torch.jit.script(outer)
    whole = torch.jit.trace(lambda x: outer_(x) - inner(x), EXAMPLES[0])
    for program in (whole, reloaded(whole), torch.compile(whole)):
        for x in EXAMPLES:
            same(program(x), (inner(x) * 2 if x.sum() > 0 else inner(-x)) - inner(x))


def test_gradients_come_through_the_way_that_was_gone():
    trace = torch.jit.trace(lambda x: halved_(x * 2, 3).sin(), EXAMPLES[0])
    for x in EXAMPLES:
        found, expected = [(y := x.clone().requires_grad_(), function(y).sum().backward())[0].grad
                           for function in (trace, lambda x: halved(x * 2, 3).sin())]
        same(found, expected)
    x = EXAMPLES[2].double().requires_grad_()
    assert torch.autograd.gradgradcheck(trace, (x,))


def test_forces_are_traced_with_the_energy():
    """A gradient inside of the traced function: its loops go as far as the positions of each call have it."""
    @torch.jit.script
    def energy(positions):
        total = torch.zeros((), dtype=positions.dtype)
        for i in range(positions.shape[0]):
            for j in range(i):
                distance = (positions[i] - positions[j]).norm()
                if distance < 0.7:
                    total = total + (0.7 - distance) ** 2
        return total

    def force(positions):
        positions = positions.detach().requires_grad_()
        return -torch.autograd.grad(energy(positions), positions)[0]
    torch.manual_seed(1)
    traced = reloaded(torch.jit.trace(force, torch.rand(5, 2)))
    for _ in range(4):
        positions = torch.rand(5, 2)
        torch.testing.assert_close(traced(positions), force(positions))


@torch.jit.script
def maybe_dropped(x, scale):
    return torch.dropout(x * scale, 0.5, True) * x if bool(x.sum() < 0) else x * scale * x


class Penalty(nn.Module):
    """Gradients of first and second order of scripts inside of what is traced, with parameters, draws and state."""

    def __init__(self):
        super().__init__()
        self.block, self.scale = torch.jit.script(Block()), nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        x = x.detach().requires_grad_()
        y = maybe_dropped(self.block(x), self.scale).sin()
        first = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
        second, = torch.autograd.grad(first.pow(2).sum(), x, create_graph=True)
        return y.sum() + first.norm() + (second * torch.rand(3)).sum()


def of_a_trace(module):
    return torch.jit.trace(nn.Sequential(module, nn.Identity()), EXAMPLES[0], check_trace=False)


@pytest.mark.parametrize("change", [lambda m: m, reloaded, copy.deepcopy, of_a_trace, torch.jit.to_fx, torch.compile],
                         ids=["trace", "file", "copy", "trace of a trace", "fx", "compiled"])
def test_gradients_of_scripts_inside_of_the_traced_function(change):
    """Each way of the scripts, with the numbers that they drew: the example draws none. Values, gradients, state and the stream."""
    torch.manual_seed(2)
    python = Penalty()
    traced = torch.jit.trace(copy.deepcopy(python), EXAMPLES[0], check_trace=False)
    program = change(traced)
    held = program if change in (reloaded, copy.deepcopy) else traced
    held.load_state_dict(python.state_dict())
    assert sum(node.op == "script_gradient" for node in traced.graph.nodes) >= 4
    dropped = 0
    for x in (*EXAMPLES, -EXAMPLES[2]):
        found = []
        for module, tensors in ((python, python), (program, held)):
            torch.manual_seed(7)
            tensors.zero_grad()
            loss = module(x)
            loss.backward()
            found.append([loss, torch.rand(2), *[p.grad for p in tensors.parameters()], *tensors.buffers()])
        dropped += bool(maybe_dropped(x, x).eq(0).any())
        torch.testing.assert_close(*found)
    assert dropped


def test_what_a_trace_cannot_have_says_so():
    @torch.jit.script
    def varying(x):
        return [x, x] if bool(x.sum() > 0) else [x]
    trace = torch.jit.trace(lambda x: varying(x), EXAMPLES[0])
    with pytest.raises(RuntimeError, match="varying, a script that a trace calls, gives 1 tensors here, and gave 2"):
        trace(EXAMPLES[1])


def test_numbers_that_a_script_returns_are_frozen_with_a_warning():
    @torch.jit.script
    def counted(x):
        return x * 2, int(x.sum().item())
    with pytest.warns(torch.jit.TracerWarning):
        torch.jit.trace(lambda x: counted(x)[0] + counted(x)[1], EXAMPLES[3])


@pytest.mark.parametrize("change", [
    lambda c: c["scripts"].clear(), lambda c: c["scripts"].update(halved=torch.jit.trace(torch.sin, torch.ones(2)).content() | {"graph": "graph():"}),
    lambda c: c["scripts"].update(halved={"format": "?"}), lambda c: c.update(graph=c["graph"].replace("script[", "script_gradient[")),
    lambda c: c.update(graph=c["graph"].replace("script['halved'", "constant['halved'")), lambda c: c.update(scripts=3),
    lambda c: c.update(graph=c["graph"].replace("'__call__'", "'__init__'")),
    lambda c: c.update(graph=c["graph"].replace("'__call__', (('\\x25tensor', 3)", "'save', (('harm.pt',)")),
    lambda c: c.update(graph=c["graph"].replace("), {}), ()", "), {}), ('weight',)")),
    lambda c: c.update(graph=c["graph"].replace("draws=True", "draws=True, writes=(5,)"))])
def test_damaged_files_are_refused_or_raise(change):
    content = torch.jit.trace(FUNCTIONS["loop"], EXAMPLES[0]).content()
    content["rows"] = None
    change(content)
    file = io.BytesIO()
    torch.save(content, file)
    file.seek(0)
    with pytest.raises((RuntimeError, TypeError)):
        torch.jit.load(file)(EXAMPLES[0])


class Namesakes(nn.Module):
    """A parameter, a module and a script inside of a function that is called, all under the names of scripts elsewhere."""

    def __init__(self):
        super().__init__()
        self.halved, self.Block, self.written = nn.Parameter(torch.ones(3)), nn.Linear(3, 3), torch.jit.script(Block())
        self.apart = [torch.jit.script(Block()).eval().requires_grad_(False)]           # which is not below this module

    def forward(self, x):
        return self.written(halved_(x * self.halved, 2)) + written_(self.Block(x) * 2) + self.apart[0](x)


@pytest.mark.parametrize("change", [lambda m: m, reloaded, copy.deepcopy], ids=["trace", "file", "copy"])
def test_names_of_scripts_are_nobody_elses(change):
    torch.manual_seed(0)
    python = Namesakes()
    traced = change(torch.jit.trace(python, EXAMPLES[0], check_trace=False))
    held = {node.attributes[0] for node in traced.graph.nodes if node.op == "script"}
    assert held == {"halved_", "written", "written_", "Block_"}
    python = copy.deepcopy(python)
    for x in EXAMPLES:
        same(traced(x), python(x))


class Several(nn.Module):
    """Methods over the same tensors, one of which writes, one of which calls a script."""

    def __init__(self):
        super().__init__()
        self.linear, self.block = nn.Linear(3, 3), torch.jit.script(Block())
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        return self.linear(x)

    def count(self, x, y):
        self.seen += x.sum() - y.sum()
        return self.seen + self.linear.weight.sum()

    def blocked(self, x):
        return self.block(self.linear(x))


@pytest.mark.parametrize("change", [lambda m: m, reloaded, copy.deepcopy, lambda m: reloaded(copy.deepcopy(m))], ids=["trace", "file", "copy", "file of a copy"])
@pytest.mark.parametrize("methods", [("forward", "count", "blocked"), ("blocked", "count")])
def test_several_methods(change, methods):
    torch.manual_seed(0)
    python = Several().eval()
    examples = {"forward": EXAMPLES[0], "count": (EXAMPLES[0], EXAMPLES[1]), "blocked": EXAMPLES[0]}
    traced = change(torch.jit.trace_module(copy.deepcopy(python), {name: examples[name] for name in methods}))
    traced.load_state_dict(python.state_dict())
    for step, x in enumerate(EXAMPLES):
        for name in methods:
            args = (x, x * 2) if name == "count" else (x,)
            same(getattr(traced, name)(*args), getattr(python, name)(*args))
            assert f"def {name}(self" in getattr(traced, name).code and f"def {name}(self" in traced.code
        same(dict(traced.state_dict()), dict(python.state_dict()))
        with torch.no_grad():
            [p.add_(1) for module in (traced, python) for p in module.parameters()]
    if "forward" not in methods:
        with pytest.raises(NotImplementedError, match="has no forward"):
            traced(EXAMPLES[0])


def test_methods_of_modules():
    module = Several()
    assert isinstance(torch.jit.trace(module.forward, EXAMPLES[0]), torch.jit.ScriptModule)
    with pytest.raises(AttributeError, match=r"trace doesn't support compiling individual module's functions[^{]*\{'blocked': example_inputs\}"):
        torch.jit.trace(module.blocked, EXAMPLES[0])
    for register in (module.linear.register_full_backward_hook, module.linear.register_full_backward_pre_hook):
        hook = register(lambda *_: None)
        with pytest.raises(RuntimeError, match="Modules that have backward hooks assigned can't be compiled: Linear"):
            torch.jit.trace(module, EXAMPLES[0])
        hook.remove()
    same(torch.jit.trace(module, EXAMPLES[0])(EXAMPLES[1]), module(EXAMPLES[1]))


def test_files_have_scripts_that_are_not_called():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Module()
            self.inner.block = torch.jit.script(Block()).eval()

        def forward(self, x):
            return x * 2
    net = Net()
    loaded = reloaded(torch.jit.trace(net, EXAMPLES[0]))
    same(dict(loaded.state_dict()), dict(net.state_dict()))
    for x in EXAMPLES:
        same(loaded.inner.block(x), net.inner.block(x))
        same(loaded.inner.block.middle(x), net.inner.block.middle(x))


@pytest.mark.parametrize("arguments", [(torch.sin, {"forward": torch.ones(2)}), (nn.ReLU(), {}), (nn.ReLU(), torch.ones(2)), (nn.ReLU(), {"backwards": torch.ones(2)})],
                         ids=["no module", "none", "no dict", "no such method"])
def test_what_has_no_such_methods_is_refused(arguments):
    with pytest.raises(TypeError, match="trace_module: expected"):
        torch.jit.trace_module(*arguments)
