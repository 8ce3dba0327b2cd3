"""Networks over graphs train as in PyTorch: convolutions (Kipf and Welling 2017) and attention (Veličković et al. 2018), with the data
prepared as PyTorch's examples do it; and what a graph of one matrix costs."""
import numpy as np
import pytest

import numtorch as torch
from numtorch.sparse import pattern

pytorch = pytest.importorskip("torch")
NODES, CLASSES, FEATURES = 60, 3, 12


def graph(seed=0):
    """Edges, with some of them twice, features, of which one node has none, and classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, NODES)
    edges = rng.integers(0, NODES, (400, 2))
    edges = edges[(labels[edges[:, 0]] == labels[edges[:, 1]]) | (rng.random(400) < 0.1)].astype(np.int32)
    features = (rng.random((NODES, FEATURES)) < 0.2 + 0.4 * (np.arange(FEATURES) % CLASSES == labels[:, None])).astype(np.int32)
    features[3] = 0
    return np.concatenate([edges, edges[:5]]), features, labels


def prepared(t):
    """Features scaled by rows and the renormalised adjacency matrix, by way of sparse diagonal matrices."""
    edges, features, labels = graph()
    features = t.FloatTensor(features)
    scale = 1 / t.sum(features, dim=1)
    scale[scale == float("inf")] = 0
    features = t.diag(scale).to_sparse() @ features
    adjacency = t.sparse_coo_tensor(edges.T, t.ones(len(edges)), (NODES, NODES), dtype=t.int64)
    adjacency = t.eye(NODES) + adjacency
    degrees = t.sqrt(1 / t.sum(adjacency, dim=1))
    degrees[degrees == float("inf")] = 0
    degrees = t.diag(degrees).to_sparse()
    return features.to_sparse(), t.LongTensor(labels), (degrees @ adjacency @ degrees).to_sparse()


def weight(t, *shape):
    return t.nn.Parameter(t.from_numpy(np.cos(np.arange(np.prod(shape))).reshape(shape).astype(np.float32) / 2))


def convolutions(t, kind):
    features, labels, adjacency = prepared(t)
    if kind == "csr":
        features, adjacency = features.to_sparse_csr(), adjacency.to_sparse_csr()
    first, second, bias = weight(t, FEATURES, 8), weight(t, 8, CLASSES), weight(t, CLASSES)

    def forward():
        x = t.relu(t.spmm(adjacency, t.mm(features, first)))
        return t.spmm(adjacency, t.mm(x, second)) + bias
    return forward, labels, [first, second, bias]


def attention(t, kind):
    """Attention over edges: the scores are values of a sparse matrix, its softmax is sparse, and so is the product."""
    features, labels, adjacency = prepared(t)
    features, places = features.to_dense(), adjacency.coalesce().indices()
    project, source, target = weight(t, FEATURES, CLASSES), weight(t, CLASSES, 1), weight(t, CLASSES, 1)

    def forward():
        h = features @ project
        scores = t.nn.functional.leaky_relu((h @ source)[places[0], 0] + (h @ target)[places[1], 0], 0.2)
        if kind == "sparse":
            return t.sparse.mm(t.sparse.softmax(t.sparse_coo_tensor(places, scores, (NODES, NODES)), 1), h)
        every = t.where(adjacency.to_dense() > 0, t.nn.functional.leaky_relu(h @ source + (h @ target).mT, 0.2), -9e16)
        return t.softmax(every, -1) @ h
    return forward, labels, [project, source, target]


@pytest.mark.parametrize("network, kind", [(convolutions, "coo"), (convolutions, "csr"), (attention, "sparse"), (attention, "dense")])
@pytest.mark.filterwarnings("ignore")
def test_networks_over_graphs_train_as_in_pytorch(network, kind):
    def losses(t):
        forward, labels, parameters = network(t, kind)
        optimiser = t.optim.Adam(parameters, lr=0.05, weight_decay=5e-4)
        found = []
        for _ in range(12):
            optimiser.zero_grad()
            loss = t.nn.functional.nll_loss(t.log_softmax(forward(), 1)[::2], labels[::2])
            loss.backward()
            optimiser.step()
            found.append(loss.item())
        return found
    ours = losses(torch)
    assert ours == pytest.approx(losses(pytorch), rel=2e-3)
    assert ours[-1] < 0.8 * ours[0]


# Programs as PyTorch's examples of graph networks are built (modules, dropout, Adam with decay, nodes chosen by index): the import is all
# that changes.
PROGRAM = """
import torch
from torch import nn
import torch.nn.functional as F
from torch.optim import Adam


class Convolution(nn.Module):
    def __init__(self, inputs, outputs, biased):
        super().__init__()
        self.kernel = nn.Parameter(torch.Tensor(inputs, outputs))
        nn.init.xavier_normal_(self.kernel)
        self.bias = nn.Parameter(torch.zeros(outputs)) if biased else None

    def forward(self, x, graph):
        x = torch.spmm(graph, torch.mm(x, self.kernel))
        return x if self.bias is None else x + self.bias


class Convolutional(nn.Module):
    def __init__(self, inputs, hidden, outputs, dropout):
        super().__init__()
        self.first, self.second = Convolution(inputs, hidden, True), Convolution(hidden, outputs, True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, graph):
        return F.log_softmax(self.second(self.dropout(F.relu(self.first(x, graph))), graph), dim=1)


class Attention(nn.Module):
    def __init__(self, inputs, outputs, heads, concatenated, dropout):
        super().__init__()
        self.heads, self.concatenated, self.dropout = heads, concatenated, dropout
        self.width = outputs // heads if concatenated else outputs
        self.project = nn.Parameter(torch.empty(size=(inputs, self.width * heads)))
        self.scores = nn.Parameter(torch.empty(size=(heads, 2 * self.width, 1)))
        self.activation = nn.LeakyReLU(0.2)
        nn.init.xavier_normal_(self.project)
        nn.init.xavier_normal_(self.scores)

    def forward(self, x, graph):
        nodes = x.shape[0]
        h = F.dropout(torch.mm(x, self.project), self.dropout, training=self.training).view(nodes, self.heads, self.width).permute(1, 0, 2)
        each = self.activation(torch.matmul(h, self.scores[:, :self.width]) + torch.matmul(h, self.scores[:, self.width:]).mT)
        shares = F.softmax(torch.where(graph > 0, each, -9e16 * torch.ones_like(each)), dim=-1)
        h = torch.matmul(F.dropout(shares, self.dropout, training=self.training), h)
        return h.permute(1, 0, 2).contiguous().view(nodes, self.width * self.heads) if self.concatenated else h.mean(dim=0)


class Attentive(nn.Module):
    def __init__(self, inputs, hidden, outputs, dropout):
        super().__init__()
        self.first, self.second = Attention(inputs, hidden, 2, True, dropout), Attention(hidden, outputs, 1, False, dropout)

    def forward(self, x, graph):
        return F.log_softmax(self.second(F.elu(self.first(x, graph)), graph), dim=1)


def train(kind, data, dropout, weights, steps):
    features, labels, graph = data(torch)
    if kind is Attentive:
        features, graph = features.to_dense(), graph.to_dense()
    network = kind(features.shape[1], 8, int(labels.max().item()) + 1, dropout)
    if weights is not None:
        network.load_state_dict({name: torch.from_numpy(weights(value)) for name, value in network.state_dict().items()})
    order = torch.randperm(len(labels)) if weights is None else torch.arange(len(labels))
    chosen, held = order[:40], order[40:]
    optimizer, criterion = Adam(network.parameters(), lr=0.02, weight_decay=5e-4), nn.NLLLoss()
    losses = []
    for _ in range(steps):
        network.train()
        optimizer.zero_grad()
        output = network(features, graph)
        criterion(output[chosen], labels[chosen]).backward()
        optimizer.step()
        network.eval()
        with torch.no_grad():
            output = network(features, graph)
            right = (output[held].argmax(dim=1) == labels[held]).float().sum() / len(held)
            losses.append(criterion(output[chosen], labels[chosen]).item())
    return losses, right.item()
"""


def program(library):
    names = {}
    exec(PROGRAM.replace("import torch\n", f"import {library} as torch\n", 1).replace("from torch", f"from {library}").replace(
        "import torch.nn", f"import {library}.nn"), names)
    return names


@pytest.mark.parametrize("kind", ["Convolutional", "Attentive"])
@pytest.mark.filterwarnings("ignore")
def test_programs_train_with_only_the_import_changed(kind):
    weights = lambda value: np.cos(np.arange(value.numel())).reshape(value.shape).astype(np.float32) / 2
    found = {}
    for library in ("numtorch", "torch"):
        names = program(library)
        found[library], _ = names["train"](names[kind], prepared, 0.0, weights, 10)
    assert found["numtorch"] == pytest.approx(found["torch"], rel=2e-3)
    torch.manual_seed(0)
    names = program("numtorch")
    losses, right = names["train"](names[kind], prepared, 0.3, None, 60)
    assert losses[-1] < 0.6 * losses[0] and right > 0.6


def test_an_adjacency_matrix_is_sorted_once(monkeypatch):
    """What a product needs of the indices is remembered on them, for the transpose too, through casts, copies and products."""
    _, _, adjacency = prepared(torch)
    features = torch.randn(NODES, 4, requires_grad=True)
    (adjacency @ features).sum().backward()
    monkeypatch.setattr(pattern, "sort", None)
    for x in (adjacency, adjacency * 2, adjacency.double().float(), adjacency.detach(), -adjacency):
        (x @ features).sum().backward()
    adjacency._indices().add_(0)                         # a write, after which it is looked at again
    with pytest.raises(TypeError):
        (adjacency @ features).sum().backward()


TRANSFORMS = {                                           # of a sparse matrix (2, 3), its dense form, and batches (5, 3) and (5, 3, 4)
    "mv": (lambda s, v, m: torch.func.vmap(lambda x: s @ x)(v), lambda d, v, m: v @ d.t()),
    "mm": (lambda s, v, m: torch.func.vmap(lambda x: s @ x)(m), lambda d, v, m: d @ m),
    "sparse.mm": (lambda s, v, m: torch.func.vmap(lambda x: torch.sparse.mm(s, x))(m), lambda d, v, m: d @ m),
    "from the left": (lambda s, v, m: torch.func.vmap(lambda x: x.t() @ s.t())(m), lambda d, v, m: (d @ m).mT),
    "gradients": (lambda s, v, m: torch.func.vmap(torch.func.grad(lambda x: ((s @ x) ** 2).sum()))(v), lambda d, v, m: 2 * v @ d.t() @ d),
    "jvp": (lambda s, v, m: torch.func.jvp(lambda x: s @ x, (v[0],), (v[1],))[1], lambda d, v, m: d @ v[1]),
}


@pytest.mark.parametrize("kind", ["sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_products(name, kind):
    ours, wanted = TRANSFORMS[name]
    dense = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 1.0]])
    batches = torch.linspace(-1, 1, 15).view(5, 3), torch.linspace(-1, 1, 60).view(5, 3, 4)
    torch.testing.assert_close(ours(dense.to_sparse(layout=getattr(torch, kind)), *batches), wanted(dense, *batches))


def test_values_of_a_transform_make_no_sparse_tensor():
    with pytest.raises(NotImplementedError, match="batch or a dual number"):
        torch.func.vmap(lambda v: torch.sparse_coo_tensor([[0, 1]], v, (2,)).to_dense())(torch.ones(3, 2))
    with pytest.raises(NotImplementedError, match=r"vmap\(.*in_dim=0 for a sparse_csr tensor.*to_dense\(\), to_sparse_coo\(\), or None"):
        torch.func.vmap(lambda s: s * 2)(torch.eye(2).to_sparse_csr())


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_shared_by_their_elements(threads):
    """A row with most of the elements, empty rows at both ends, more threads than rows."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        rng = np.random.default_rng(0)
        dense = np.zeros((40, 3000), np.float32)
        dense[7], dense[8:38:3, :50] = rng.standard_normal(3000), rng.standard_normal((10, 50))
        for width in (1, 3, 16, 17, 64, 100):
            b = rng.standard_normal((3000, width)).astype(np.float32)
            x, y = torch.from_numpy(dense).to_sparse(), torch.from_numpy(b)
            np.testing.assert_allclose((x @ y).numpy(), dense @ b, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose((x.t().to_sparse_csr().t() @ y).numpy(), dense @ b, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose((x.t() @ torch.from_numpy(dense @ b)).numpy(), dense.T @ (dense @ b), rtol=1e-3, atol=1e-3)
    finally:
        torch.set_num_threads(before)
