"""Nodes of `fx`: their neighbours, and their arguments in one form; and modules as folders of Python."""
import importlib
import sys

import pytest

import numtorch as torch
from numtorch import fx, nn
from numtorch.fx.operator_schemas import normalize_function

try:
    import torch as reference
except ImportError:
    reference = None


def _moves(library):
    """The names of nodes after each move, also before and behind all, where `root` stands."""
    graph, seen = library.fx.Graph(), []
    root = graph._root if library is reference else graph.placeholder("a").prev
    a = graph.placeholder("a") if library is reference else root.next
    with graph.inserting_after(a):
        b = graph.call_function(library.relu, (a,))
    with graph.inserting_after(b):
        graph.output(b)
    c = graph.call_function(library.neg, (a,))
    for move in (lambda: b.append(c), lambda: root.append(c), lambda: root.prepend(c), lambda: root.prev.prev.prepend(c), lambda: b.prepend(c),
                 lambda: graph.erase_node(c)):
        move()
        names, node = [], root.next
        while node.op != "root":
            names.append(node.name)
            node = node.next
        assert node is root and root.prev.next is root and [each.name for each in graph.nodes] == names
        seen.append(names)
    return seen


def test_nodes_stand_in_a_ring():
    assert _moves(torch)[:3] == [["a", "relu", "neg", "output"], ["neg", "a", "relu", "output"], ["a", "relu", "output", "neg"]]
    if reference is not None:
        assert _moves(torch) == _moves(reference)


def _calls(library):
    """One call of each, as text, whose nodes have all arguments: by place as they stood, or all by name."""
    functional, nn = library.nn.functional, library.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.lstm, self.pool = nn.Linear(3, 3), nn.LSTM(3, 3), nn.MaxPool2d(2)
            self.attention, self.part = nn.MultiheadAttention(4, 2), nn.Sequential()

        def forward(self, x):
            y = self.linear(x)
            return [y, self.lstm(input=x), self.pool(x), self.attention(x, x, need_weights=False, value=x), self.part(x), x + y, x.sum(1),
                    library.relu(x), functional.relu(x, inplace=True), library.sum(x, 1), library.cat([x, x], dim=1),
                    functional.layer_norm(x, [3]), functional.dropout(x, 0.2), library.softmax(x, -1), library.flatten(x, start_dim=1),
                    library.transpose(x, 0, 1), library.unsqueeze(x, 0), functional.interpolate(x, scale_factor=2), library.topk(x, 2),
                    functional.cross_entropy(x, y), library.split(x, 2), library.stack([x, x]), functional.linear(x, y),
                    functional.gelu(x), functional.embedding(x, y, max_norm=1.0), functional.batch_norm(x, y, y), library.matmul(x, other=y)]
    net = Net()
    seen = []
    for node in library.fx.symbolic_trace(net).graph.nodes:
        for by_name in (False, True):
            pair = node.normalized_arguments(net, normalize_to_only_use_kwargs=by_name)
            seen.append((node.name, None if pair is None else (str(pair.args), {key: str(value) for key, value in pair.kwargs.items()})))
    return seen


@pytest.mark.skipif(reference is None, reason="needs PyTorch")
def test_arguments_in_one_form_are_those_of_pytorch():
    assert _calls(torch) == _calls(reference)


def test_what_says_no_arguments_has_no_form():
    assert normalize_function(max, (1, 2)) is None and normalize_function(lambda *x: x, (1,)) is None
    assert normalize_function(torch.relu, ()) is None and normalize_function(torch.sum, (1,), {"axis": 2}).kwargs["axis"] == 2
    with pytest.raises(RuntimeError, match="did not have that target"):
        fx.Graph().call_module("missing").normalized_arguments(nn.Module())


def tripled(x):
    return x * 3


fx.wrap("tripled")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)
        self.wide, self.inner = nn.Linear(3, 3).double(), nn.Sequential(nn.ReLU(), nn.Dropout(), nn.Linear(3, 2))
        self.weight, self.offset = nn.Parameter(torch.ones(3), requires_grad=False), torch.nn.Buffer(torch.arange(3))

    def forward(self, x: list[torch.Tensor], k: int = 2) -> tuple:
        y = self.norm(self.linear(x[0]))
        return self.inner(y), tripled(self.weight) + self.offset + float("inf"), self.wide(y.to(torch.float64)), y.sum(k - 1)


@pytest.mark.parametrize("train", [False, True])
def test_a_folder_has_the_module_without_its_graph(train, tmp_path, monkeypatch):
    net = Net().train(train)
    net.norm.eval()
    net.linear.bias.requires_grad_(False)
    traced = fx.symbolic_trace(net, concrete_args={"k": 2})
    with pytest.warns(UserWarning, match=r"\['inner', 'wide'\]|\['wide', 'inner'\]"):
        traced.to_folder(tmp_path / "written", "Written")
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("written").Written()
    for name in ("written", "written.module"):
        del sys.modules[name]

    def states(module):
        return [(name, each.requires_grad, each.dtype) for name, each in module.named_parameters()], \
            [(name, each.training, type(each)) for name, each in module.named_modules() if name], list(module.state_dict())
    assert states(made) == states(traced) and type(made).__name__ == "Written"
    x = [torch.rand(4, 3)]
    for results in zip(*[(torch.manual_seed(0), module(x, 2))[1] for module in (made, traced, net)], strict=True):
        assert all(torch.equal(each, results[0]) for each in results) and results[0].dtype is results[1].dtype
    text = (tmp_path / "written" / "module.py").read_text()
    assert "Linear(in_features=3, out_features=3, bias=True)" in text and traced.code.strip().splitlines()[1].strip() in text


def test_what_no_program_can_import_is_in_no_folder(tmp_path):
    def local(x):
        return x
    graph = fx.Graph()
    graph.output(graph.call_function(local, (graph.placeholder("x"),)))
    with pytest.raises(RuntimeError, match=r"local.*no other program can import"):
        fx.GraphModule({}, graph).to_folder(tmp_path / "none")
    assert not (tmp_path / "none").exists()
