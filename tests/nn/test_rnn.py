"""Recurrent cells and networks against a reference written in NumPy float64, their gradients, and sequences of different lengths."""
import itertools
import warnings

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn
from numtorch.autograd import gradcheck, gradgradcheck
from numtorch.kernels import threads
from numtorch.nn.utils.rnn import (
    PackedSequence,
    invert_permutation,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)
from numtorch.ops.nn.rnn_layer import formula, run_layer

GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def reference_step(kind, x, hidden, cell, w_ih, w_hh, b_ih=0.0, b_hh=0.0, w_hr=None):
    one, two = x @ w_ih.T + b_ih, hidden @ w_hh.T + b_hh
    if kind == "GRU":
        (r, z, n), (hr, hz, hn) = np.split(one, 3, -1), np.split(two, 3, -1)
        r, z = sigmoid(r + hr), sigmoid(z + hz)
        n = np.tanh(n + r * hn)
        return (1 - z) * n + z * hidden, None
    if kind == "LSTM":
        i, f, g, o = np.split(one + two, 4, -1)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        return hidden if w_hr is None else hidden @ w_hr.T, cell
    return (np.tanh if kind == "RNN" else lambda t: np.maximum(t, 0))(one + two), None


def reference_network(net, x, hidden, cell):
    """One sequence (L, features) through a network with its own weights."""
    kind = "RELU" if net.mode == "RNN_RELU" else net.mode.split("_")[0]
    ends, cells, index = [], [], 0
    for layer in range(net.num_layers):
        outputs = []
        for suffix in ("", "_reverse") if net.bidirectional else ("",):
            names = {"w_ih": "weight_ih", "w_hh": "weight_hh", "b_ih": "bias_ih", "b_hh": "bias_hh", "w_hr": "weight_hr"}
            state = {k: v.detach().numpy().astype(float) for k, v in net.named_parameters()}
            weights = {k: state[f"{n}_l{layer}{suffix}"] for k, n in names.items() if f"{n}_l{layer}{suffix}" in state}
            h, c = hidden[index], None if cell is None else cell[index]
            out = []
            for row in x[::-1] if suffix else x:
                h, c = reference_step(kind, row, h, c, **weights)
                out.append(h)
            outputs.append(np.array(out[::-1] if suffix else out))
            ends.append(h)
            cells.append(c)
            index += 1
        x = np.concatenate(outputs, 1)
    return x, np.array(ends), np.array(cells) if cell is not None else None


NETWORKS = [
    ("RNN", {}), ("RNN", {"nonlinearity": "relu", "num_layers": 2, "bias": False}), ("RNN", {"bidirectional": True, "batch_first": True}),
    ("LSTM", {}), ("LSTM", {"num_layers": 2, "bidirectional": True}), ("LSTM", {"bias": False, "batch_first": True}),
    ("LSTM", {"proj_size": 3}), ("LSTM", {"proj_size": 3, "num_layers": 2, "bidirectional": True, "batch_first": True}),
    ("GRU", {}), ("GRU", {"num_layers": 3, "bidirectional": True}), ("GRU", {"bias": False, "batch_first": True}),
]
IDS = [f"{name}-{'-'.join(options)}" for name, options in NETWORKS]


def make(name, options, features=5, size=7, dtype=torch.float64):
    torch.manual_seed(0)
    return getattr(nn, name)(features, size, dtype=dtype, **options)


def initial(net, batch, dtype=np.float64):
    rng = np.random.default_rng(1)
    layers = net.num_layers * (2 if net.bidirectional else 1)
    hidden = rng.normal(size=(layers, batch, net.proj_size or net.hidden_size)).astype(dtype)
    return hidden, rng.normal(size=(layers, batch, net.hidden_size)).astype(dtype) if net.mode == "LSTM" else None


def tensors(states):
    hidden, cell = (None if s is None else torch.from_numpy(s) for s in states)
    return hidden if cell is None else (hidden, cell)


# ---------------------------------------------------------------- values
@pytest.mark.parametrize("name, options", NETWORKS, ids=IDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_networks(name, options, dtype):
    net = make(name, options, dtype=dtype)
    word = np.float32 if dtype is torch.float32 else np.float64
    length, batch = 6, 4
    x, states = np.random.default_rng(0).normal(size=(batch, length, 5)).astype(word), initial(net, 4, word)
    for given in (states, None):
        used = given or tuple(None if s is None else np.zeros_like(s) for s in states)
        expected = [reference_network(net, x[b], used[0][:, b], None if used[1] is None else used[1][:, b]) for b in range(batch)]
        sequence = torch.from_numpy(x if net.batch_first else x.transpose(1, 0, 2).copy())
        out, ends = net(sequence, None if given is None else tensors(given))
        out = out.detach().numpy()
        out = out if net.batch_first else out.transpose(1, 0, 2)
        tolerance = 2e-6 if dtype is torch.float32 else 1e-13
        np.testing.assert_allclose(out, [e[0] for e in expected], tolerance * 10, tolerance)
        ends = ends if isinstance(ends, tuple) else (ends,)
        for place, end in enumerate(ends):
            np.testing.assert_allclose(end.detach().numpy(), np.stack([e[1 + place] for e in expected], 1), tolerance * 10, tolerance)


@pytest.mark.parametrize("name, options", NETWORKS, ids=IDS)
def test_unbatched_is_a_batch_of_one(name, options):
    net = make(name, options)
    x, states = torch.randn(6, 5, dtype=torch.float64), initial(net, 1)
    out, ends = net(x, tensors([None if s is None else s[:, 0].copy() for s in states]))
    batch, batch_ends = net(x.unsqueeze(0 if net.batch_first else 1), tensors(states))
    assert torch.equal(out, batch.squeeze(0 if net.batch_first else 1))
    for one, other in zip(ends if isinstance(ends, tuple) else (ends,), batch_ends if isinstance(batch_ends, tuple) else (batch_ends,)):
        assert torch.equal(one, other.squeeze(1))


@pytest.mark.parametrize("name, options", NETWORKS, ids=IDS)
def test_packed_sequences_run_to_their_own_ends(name, options):
    """Every sequence of a packed batch, in any order, gives what it gives alone; gradients too."""
    net = make(name, options)
    lengths, rng = [3, 6, 1, 6, 2], np.random.default_rng(3)
    x, states = rng.normal(size=(5, 6, 5)), initial(net, 5)
    padded = torch.from_numpy(x if net.batch_first else x.transpose(1, 0, 2).copy()).requires_grad_()
    packed = pack_padded_sequence(padded, lengths, net.batch_first, enforce_sorted=False)
    out, ends = net(packed, tensors(states))
    assert isinstance(out, PackedSequence)
    out, found_lengths = pad_packed_sequence(out, batch_first=True)
    assert found_lengths.tolist() == lengths
    ends = ends if isinstance(ends, tuple) else (ends,)
    factors = [rng.normal(size=t.shape) for t in (out, *ends)]
    net.zero_grad()
    sum((t * torch.from_numpy(f)).sum() for t, f in zip((out, *ends), factors)).backward()
    grads, whole = [p.grad.clone() for p in net.parameters()], padded.grad.numpy()
    whole = whole if net.batch_first else whole.transpose(1, 0, 2)
    net.zero_grad()
    for b, length in enumerate(lengths):
        alone = torch.from_numpy(x[b, :length].copy()).requires_grad_()
        own = [None if s is None else np.ascontiguousarray(s[:, b]) for s in states]
        expected = reference_network(net, x[b, :length], own[0], own[1])
        np.testing.assert_allclose(out[b, :length].detach().numpy(), expected[0], 1e-12, 1e-13)
        assert not out[b, length:].any()
        one, one_ends = net(alone, tensors(own))
        one_ends = one_ends if isinstance(one_ends, tuple) else (one_ends,)
        for end, alone_end in zip(ends, one_ends):
            np.testing.assert_allclose(end[:, b].detach().numpy(), alone_end.detach().numpy(), 1e-12, 1e-13)
        loss = (one * torch.from_numpy(factors[0][b, :length])).sum()
        loss = loss + sum((end * torch.from_numpy(f[:, b].copy())).sum() for end, f in zip(one_ends, factors[1:]))
        loss.backward()
        np.testing.assert_allclose(whole[b, :length], alone.grad.numpy(), 1e-10, 1e-12)
        assert not whole[b, length:].any()
    for grad, parameter in zip(grads, net.parameters()):
        np.testing.assert_allclose(grad.numpy(), parameter.grad.numpy(), 1e-10, 1e-11)


@pytest.mark.parametrize("name, dtype", [("RNN", torch.float16), ("LSTM", torch.bfloat16), ("GRU", torch.float16)])
def test_half_precision(name, dtype):
    exact = make(name, {"num_layers": 2}, dtype=torch.float32)
    net = make(name, {"num_layers": 2}, dtype=dtype)
    net.load_state_dict(exact.state_dict())
    x = torch.randn(5, 3, 5)
    out, _ = net(x.to(dtype))
    assert out.dtype is dtype
    np.testing.assert_allclose(out.float().detach().numpy(), exact(x)[0].detach().numpy(), atol=0.03 if dtype is torch.bfloat16 else 4e-3)
    out.sum().backward()
    assert all(p.grad.dtype is dtype and bool(p.grad.isfinite().all()) for p in net.parameters())


def test_two_threads_give_what_one_gives():
    before = threads.get_num_threads()
    net = make("LSTM", {"bidirectional": True}, 96, 160, torch.float32)
    x, found = torch.randn(7, 9, 96), []
    lengths = [7, 7, 5, 5, 5, 2, 2, 1, 1]
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            for sequence in (x, pack_padded_sequence(x, lengths)):
                net.zero_grad()
                out, _ = net(sequence)
                out = out.data if isinstance(out, PackedSequence) else out
                (out * out).sum().backward()
                found.append([out.detach().numpy()] + [p.grad.numpy() for p in net.parameters()])
    finally:
        torch.set_num_threads(before)
    for one, two in zip(found[:2], found[2:]):
        for a, b in zip(one, two):
            np.testing.assert_allclose(a, b, 1e-4, 1e-4)


def test_no_rows_and_states_that_are_not_contiguous():
    for name in GATES:
        net = make(name, {})
        out, _ = net(torch.empty(5, 0, 5, dtype=torch.float64))
        assert out.shape == (5, 0, 7)
        hidden = torch.randn(1, 7, 4, dtype=torch.float64).transpose(1, 2)
        x = torch.randn(4, 3, 5, dtype=torch.float64).transpose(0, 1)
        state = (hidden, hidden) if name == "LSTM" else hidden
        dense = (hidden.contiguous(), hidden.contiguous()) if name == "LSTM" else hidden.contiguous()
        assert torch.equal(net(x, state)[0], net(x.contiguous(), dense)[0])


def test_dropout_between_layers_in_training_only():
    net = make("GRU", {"num_layers": 2, "dropout": 1.0})
    x = torch.randn(4, 2, 5, dtype=torch.float64)
    out, _ = net(x)
    again, _ = net(x * 2.0)
    assert torch.equal(out, again)                       # nothing of the first layer reaches the second
    net.eval()
    plain = make("GRU", {"num_layers": 2})
    assert torch.equal(net(x)[0], plain(x)[0])


# ---------------------------------------------------------------- cells
CELLS = [("LSTMCell", {}), ("LSTMCell", {"bias": False}), ("GRUCell", {}), ("GRUCell", {"bias": False}), ("RNNCell", {}),
         ("RNNCell", {"nonlinearity": "relu", "bias": False})]


@pytest.mark.parametrize("name, options", CELLS)
def test_cells(name, options):
    torch.manual_seed(0)
    cell = getattr(nn, name)(5, 7, dtype=torch.float64, **options)
    kind = "RELU" if options.get("nonlinearity") == "relu" else name.removesuffix("Cell")
    names = {"weight_ih": "w_ih", "weight_hh": "w_hh", "bias_ih": "b_ih", "bias_hh": "b_hh"}
    weights = {names[k]: v.detach().numpy() for k, v in cell.named_parameters()}
    rng = np.random.default_rng(0)
    for batch in (0, 1, 3):
        x, h, c = rng.normal(size=(batch, 5)), rng.normal(size=(batch, 7)), rng.normal(size=(batch, 7))
        for given in (True, False):
            state = (torch.from_numpy(h), torch.from_numpy(c)) if kind == "LSTM" else torch.from_numpy(h)
            out = cell(torch.from_numpy(x), state if given else None)
            expected = reference_step(kind, x, h if given else h * 0, c if given else c * 0, **weights)
            for one, other in zip(out if isinstance(out, tuple) else (out,), expected):
                np.testing.assert_allclose(one.detach().numpy(), other, 1e-13, 1e-14)
        if batch == 1:
            single = cell(torch.from_numpy(x[0]), tuple(s[0] for s in state) if kind == "LSTM" else state[0])
            both = cell(torch.from_numpy(x), state)
            for one, other in zip(*((r if isinstance(r, tuple) else (r,)) for r in (single, both))):
                assert torch.equal(one, other[0])


# ---------------------------------------------------------------- gradients
def layer_inputs(kind, sizes, features, size, projection=None, bias=True):
    rng = np.random.default_rng(5)
    width, out = {"lstm": 4, "gru": 3}.get(kind, 1) * size, projection or size
    draw = lambda *shape: torch.from_numpy(rng.normal(size=shape) * 0.5).requires_grad_()
    return [draw(sum(sizes), features), draw(sizes[0], out), draw(sizes[0], size) if kind == "lstm" else None, draw(width, features),
            draw(width, out), draw(width) if bias else None, draw(width) if bias else None, draw(out, size) if projection else None]


LAYERS = [*itertools.product(["lstm", "gru", "rnn_tanh", "rnn_relu"], [(3,), (2, 2, 2), (3, 2, 2, 1)], [False, True], [None]),
          ("lstm", (3,), False, 2), ("lstm", (3, 2, 2, 1), True, 2), ("lstm", (2, 2), False, 2)]


MANY_ROWS = [("lstm", (50, 50, 50), True, 3), ("lstm", (40, 40, 9), False, None), ("gru", (20, 20, 15), True, None),
             ("rnn_tanh", (17, 17), False, None)]            # each step multiplies its inputs itself


@pytest.mark.parametrize("kind, sizes, reverse, projection", [*LAYERS, *MANY_ROWS, ("gru", (129,), False, None)])
def test_layer_is_its_formula_forward_and_backward(kind, sizes, reverse, projection):
    for bias in (True, False):
        inputs = layer_inputs(kind, sizes, 4, 5, projection, bias)
        present = [t for t in inputs if t is not None]
        found = []
        for function in (run_layer, formula):
            results = [r for r in function(kind, inputs[0], sizes, reverse, *inputs[1:]) if r is not None]
            loss = sum((r * torch.arange(r.numel(), dtype=torch.float64).reshape(r.shape).sin()).sum() for r in results)
            found.append([r.detach() for r in results] + list(torch.autograd.grad(loss, present)))
        for one, other in zip(*found):
            np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-11, 1e-12)


@pytest.mark.parametrize("kind, sizes", [*itertools.product(["lstm", "gru", "rnn_relu"], [(3,), (2, 2, 2), (3, 2, 2, 1)])])
@pytest.mark.parametrize("reverse", [False, True])
def test_no_initial_state_is_one_of_zeros(kind, sizes, reverse):
    x, before, cell, *weights = layer_inputs(kind, sizes, 4, 5)
    wanted, found = [x, *[w for w in weights if w is not None]], []
    for initial in ((None, None), (before.detach() * 0, None if cell is None else cell.detach() * 0)):
        results = [r for r in run_layer(kind, x, sizes, reverse, *initial, *weights) if r is not None]
        loss = sum((r * torch.arange(r.numel(), dtype=torch.float64).reshape(r.shape).sin()).sum() for r in results)
        found.append([r.detach() for r in results] + list(torch.autograd.grad(loss, wanted)))
    for one, other in zip(*found):
        np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-13, 1e-14)


@pytest.mark.parametrize("kind, sizes, reverse, projection", [row for row in LAYERS if row[1] != (2, 2, 2)])
def test_gradients_of_any_order(kind, sizes, reverse, projection):
    inputs = layer_inputs(kind, sizes, 2, 3, projection)
    present = [i for i, t in enumerate(inputs) if t is not None]

    def function(*given):
        whole = [None] * 8
        for i, t in zip(present, given):
            whole[i] = t
        return [r for r in run_layer(kind, whole[0], sizes, reverse, *whole[1:]) if r is not None]

    assert gradcheck(function, [inputs[i] for i in present])
    assert gradgradcheck(function, [inputs[i] for i in present], fast_mode=True)


@pytest.mark.parametrize("name", ["lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"])
def test_only_wanted_gradients_come(name):
    """Each input alone gets the gradient it gets among all."""
    kind = name.removesuffix("_cell")
    x, h, c, *weights = layer_inputs(kind, (3,), 4, 5)[:7]
    run = lambda x, h, c, *w: (torch.lstm_cell(x, (h, c), *w)[1] if kind == "lstm" else getattr(torch, name)(x, h, *w)).sum()
    inputs = [x, h, c, *weights]
    wanted = [t for t in inputs if t is not None]
    expected = dict(zip(map(id, wanted), torch.autograd.grad(run(*inputs), wanted, allow_unused=True)))
    for tensor in wanted:
        only = [t if t is None or t is tensor else t.detach() for t in inputs]
        grad, = torch.autograd.grad(run(*only), tensor)
        np.testing.assert_allclose(grad.numpy(), expected[id(tensor)].numpy(), 1e-12)


def test_states_used_twice_and_later():
    """The final states' gradients join the outputs', also through a second call."""
    net = make("LSTM", {})
    x = torch.randn(6, 2, 5, dtype=torch.float64)
    whole, _ = net(x)
    first, state = net(x[:3])
    second, _ = net(x[3:], state)
    np.testing.assert_allclose(torch.cat((first, second)).detach().numpy(), whole.detach().numpy(), 1e-12)
    whole.sum().backward()
    expected = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    (first.sum() + second.sum()).backward()
    for one, other in zip(expected, net.parameters()):
        np.testing.assert_allclose(one.numpy(), other.grad.numpy(), 1e-11)


def test_changed_outputs_are_noticed():
    net = make("GRU", {})
    out, _ = net(torch.randn(3, 2, 5, dtype=torch.float64))
    loss = out.sum()
    with torch.no_grad():
        out.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_backward_twice_needs_retain_graph():
    net = make("LSTM", {})
    out, _ = net(torch.randn(3, 2, 5, dtype=torch.float64))
    loss = out.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


# ---------------------------------------------------------------- modules
def test_state_dict_names_and_first_values():
    net = nn.LSTM(3, 16, num_layers=2, bidirectional=True, proj_size=4)
    names = [f"{name}_l{layer}{suffix}" for layer in (0, 1) for suffix in ("", "_reverse")
             for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")]
    assert list(net.state_dict()) == names
    assert [[tuple(w.shape) for w in part] for part in net.all_weights][2] == [(64, 8), (64, 4), (64,), (64,), (4, 16)]
    for parameter in net.parameters():
        assert 0.15 < parameter.abs().max().item() <= 0.25           # uniform within 1 / sqrt(16)
    assert list(nn.GRU(3, 4, bias=False).state_dict()) == ["weight_ih_l0", "weight_hh_l0"]
    assert list(nn.LSTMCell(3, 4).state_dict()) == ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    assert net.flatten_parameters() is None


def test_repr():
    assert repr(nn.RNN(3, 4, 2, nonlinearity="relu", bias=False, batch_first=True)) == \
        "RNN(3, 4, num_layers=2, bias=False, batch_first=True)"
    assert repr(nn.LSTM(3, 4, 2, dropout=0.1, bidirectional=True, proj_size=2)) == \
        "LSTM(3, 4, proj_size=2, num_layers=2, dropout=0.1, bidirectional=True)"
    assert repr(nn.RNNCell(3, 4, bias=False, nonlinearity="relu")) == "RNNCell(3, 4, bias=False, nonlinearity=relu)"
    assert repr(nn.GRUCell(3, 4)) == "GRUCell(3, 4)"


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(*shape, dtype=dtype)


ERRORS = [
    (lambda: nn.LSTM(3, 4)(zeros(5, 2, 4)), RuntimeError, r"input.size\(-1\) must be equal to input_size. Expected 3, got 4"),
    (lambda: nn.LSTM(3, 4)(zeros(5)), ValueError, "LSTM: Expected input to be 2D or 3D, got 1D instead"),
    (lambda: nn.LSTM(3, 4)(zeros(5, 2, 3), (zeros(2, 2, 4), zeros(1, 2, 4))), RuntimeError,
     r"Expected hidden\[0\] size \(1, 2, 4\), got \[2, 2, 4\]"),
    (lambda: nn.LSTM(3, 4)(zeros(5, 2, 3), (zeros(1, 2, 4), zeros(1, 2, 5))), RuntimeError,
     r"Expected hidden\[1\] size \(1, 2, 4\), got \[1, 2, 5\]"),
    (lambda: nn.GRU(3, 4)(zeros(5, 2, 3), zeros(1, 3, 4)), RuntimeError, r"Expected hidden size \(1, 2, 4\), got \[1, 3, 4\]"),
    (lambda: nn.LSTM(3, 4)(zeros(5, 2, 3), (zeros(1, 4), zeros(1, 4))), RuntimeError,
     r"For batched 3-D input, hx and cx should also be 3-D but got \(2-D, 2-D\) tensors"),
    (lambda: nn.GRU(3, 4)(zeros(5, 3), zeros(1, 1, 4)), RuntimeError,
     "For unbatched 2-D input, hx should also be 2-D but got 3-D tensor"),
    (lambda: nn.GRU(3, 4)(zeros(5, 2, 3, dtype=torch.float64)), ValueError,
     r"RNN input dtype \(torch.float64\) does not match weight dtype \(torch.float32\)"),
    (lambda: nn.GRU(3, 4)(zeros(5, 2, 3), zeros(1, 2, 4, dtype=torch.float64)), RuntimeError, "must have the same dtype"),
    (lambda: nn.RNN(3, 4)(zeros(0, 2, 3)), RuntimeError, "Expected sequence length to be larger than 0 in RNN"),
    (lambda: nn.LSTMCell(3, 4)(zeros(2, 2, 3)), ValueError, "LSTMCell: Expected input to be 1D or 2D, got 3D instead"),
    (lambda: nn.LSTMCell(3, 4)(zeros(2, 5)), RuntimeError, "input has inconsistent input_size: got 5 expected 3"),
    (lambda: nn.LSTMCell(3, 4)(zeros(2, 3), (zeros(3, 4), zeros(3, 4))), RuntimeError,
     "Input batch size 2 doesn't match hidden0 batch size 3"),
    (lambda: nn.LSTMCell(3, 4)(zeros(2, 3), (zeros(2, 4), zeros(2, 5))), RuntimeError,
     "hidden1 has inconsistent hidden_size: got 5, expected 4"),
    (lambda: nn.LSTMCell(3, 4)(zeros(2, 3), (zeros(2, 2, 4), zeros(2, 4))), ValueError, r"Expected hx\[0\] to be 1D or 2D, got 3D"),
    (lambda: nn.GRUCell(3, 4)(zeros(2, 3, dtype=torch.float64)), RuntimeError, "must have the same dtype, but got Double and Float"),
    (lambda: nn.GRUCell(3, 4)(zeros(2, 3), zeros(2, 5)), RuntimeError, "hidden0 has inconsistent hidden_size: got 5, expected 4"),
    (lambda: nn.RNNCell(3, 4, nonlinearity="sin")(zeros(3)), RuntimeError, "Unknown nonlinearity: sin"),
    (lambda: nn.RNN(3, 4, nonlinearity="sin"), ValueError, "Unknown nonlinearity 'sin'. Select from 'tanh' or 'relu'."),
    (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller than hidden_size"),
    (lambda: nn.LSTM(3, 4, proj_size=-1), ValueError, "proj_size should be a positive integer or zero"),
    (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "proj_size argument is only supported for LSTM"),
    (lambda: nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
    (lambda: nn.LSTM(3, 4, 0), ValueError, "num_layers must be greater than zero"),
    (lambda: nn.LSTM(3, 4, dropout=2), ValueError, r"dropout should be a number in range \[0, 1\]"),
    (lambda: nn.LSTM(3.0, 4), TypeError, "input_size should be of type int, got: float"),
    (lambda: torch.gru(zeros(5, 2, 3), zeros(1, 2, 4), [zeros(12, 3)], True, 1, 0.0, True, False, False), RuntimeError,
     "expected 4 weights"),
    (lambda: torch.gru(zeros(5, 2, 3), zeros(1, 2, 4), [zeros(12, 2), zeros(12, 4)], False, 1, 0.0, True, False, False), RuntimeError,
     "expected weight_ih of shape"),
    (lambda: torch.gru(zeros(5, 3), torch.tensor([2, 3]), zeros(1, 2, 4), [zeros(12, 3), zeros(12, 4)], False, 1, 0.0, True, False),
     RuntimeError, "never rise"),
    (lambda: pack_padded_sequence(zeros(3, 2, 1), [2, 3]), RuntimeError, "must be sorted in decreasing order"),
    (lambda: pack_padded_sequence(zeros(3, 2, 1), [3, 0]), RuntimeError, "Length of all samples has to be greater than 0"),
    (lambda: pack_padded_sequence(zeros(3, 2, 1), [3]), RuntimeError, r"Expected `len\(lengths\)` to be equal to batch_size"),
    (lambda: pack_padded_sequence(zeros(3, 2, 1), [4, 1]), RuntimeError, "expected lengths of at most 3"),
    (lambda: pad_packed_sequence(pack_sequence([zeros(3)]), total_length=2), ValueError, "Expected total_length to be at least"),
    (lambda: pad_sequence([]), RuntimeError, "received an empty list of sequences"),
]


@pytest.mark.parametrize("call, kind, message", ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_dropout_of_a_single_layer_is_pointed_out():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nn.GRU(3, 4, dropout=0.5)
    assert [str(w.message) for w in caught] == [
        "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, but got "
        "dropout=0.5 and num_layers=1"]


# ---------------------------------------------------------------- sequences of different lengths
def test_packing_and_padding():
    sequences = [torch.tensor([4, 5]), torch.tensor([1, 2, 3]), torch.tensor([6])]
    assert pad_sequence(sequences).tolist() == [[4, 1, 6], [5, 2, 0], [0, 3, 0]]
    assert pad_sequence(sequences, batch_first=True, padding_value=9).tolist() == [[4, 5, 9], [1, 2, 3], [6, 9, 9]]
    assert pad_sequence(sequences, True, padding_side="left").tolist() == [[0, 4, 5], [1, 2, 3], [0, 0, 6]]
    packed = pack_sequence(sequences, enforce_sorted=False)
    assert packed.data.tolist() == [1, 4, 6, 2, 5, 3] and packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2] and packed.unsorted_indices.tolist() == [1, 0, 2]
    padded, lengths = pad_packed_sequence(packed, batch_first=True, padding_value=-1, total_length=4)
    assert padded.tolist() == [[4, 5, -1, -1], [1, 2, 3, -1], [6, -1, -1, -1]] and lengths.tolist() == [2, 3, 1]
    assert [s.tolist() for s in unpack_sequence(packed)] == [[4, 5], [1, 2, 3], [6]]
    assert [s.tolist() for s in unpad_sequence(pad_sequence(sequences), torch.tensor([2, 3, 1]))] == [[4, 5], [1, 2, 3], [6]]
    assert invert_permutation(torch.tensor([2, 0, 1])).tolist() == [1, 2, 0] and invert_permutation(None) is None


def test_packed_sequences_are_tuples_that_convert():
    packed = pack_sequence([torch.ones(3, 2), torch.ones(2, 2)])
    data, batch_sizes, sorted_indices, unsorted_indices = packed
    assert data is packed.data and batch_sizes.dtype is torch.int64 and sorted_indices is None and unsorted_indices is None
    assert packed.to(torch.float32) is packed and packed.double().data.dtype is torch.float64 and not packed.is_cuda and not packed.is_pinned()
    assert PackedSequence((data, batch_sizes)).batch_sizes is batch_sizes


def test_gradients_through_packing_and_padding():
    x = torch.randn(4, 3, 2, dtype=torch.float64, requires_grad=True)
    lengths = [2, 4, 1]

    def there_and_back(x):
        return pad_packed_sequence(pack_padded_sequence(x, lengths, enforce_sorted=False))[0]

    mask = np.arange(4)[:, None] < np.array(lengths)
    np.testing.assert_array_equal(there_and_back(x).detach().numpy(), x.detach().numpy() * mask[..., None])
    assert gradcheck(there_and_back, (x,))
    parts = [torch.randn(n, 2, dtype=torch.float64, requires_grad=True) for n in (3, 1)]
    assert gradcheck(lambda *s: pad_sequence(s), parts)


# ---------------------------------------------------------------- PyTorch, where it is installed
@pytest.mark.parametrize("name, options", NETWORKS, ids=IDS)
def test_pytorch_agrees(name, options):
    peer = pytest.importorskip("torch")
    theirs, ours = getattr(peer.nn, name)(5, 7, **options).double(), make(name, options)
    assert list(theirs.state_dict()) == list(ours.state_dict()) and repr(theirs) == repr(ours)
    ours.load_state_dict({k: torch.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    x, found = np.random.default_rng(7).normal(size=(6, 6, 5)), []
    for library, net, packing in ((peer, theirs, peer.nn.utils.rnn), (torch, ours, nn.utils.rnn)):
        data = library.from_numpy(x.copy()).requires_grad_()
        packed = packing.pack_padded_sequence(data, [2, 6, 3, 6, 1, 4], net.batch_first, enforce_sorted=False)
        out, ends = net(packed)
        padded, _ = packing.pad_packed_sequence(out, padding_value=0.5)
        (padded * padded).sum().backward()
        ends = ends if isinstance(ends, tuple) else (ends,)
        found.append([t.detach().numpy() for t in (padded, *ends, data.grad, *(p.grad for p in net.parameters()))])
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, 1e-10, 1e-12)
