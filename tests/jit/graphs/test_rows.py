"""Files of traces take other numbers of rows than were traced, where the program is the same for them."""
from __future__ import annotations

import io

import pytest

import numtorch as torch
from numtorch import nn


class _Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norm = nn.MultiheadAttention(8, 2, batch_first=True), nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(x + self.attention(x, x, x)[0])


class _Reading(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(8, 6, batch_first=True), nn.Linear(6, 2)

    def forward(self, x):
        return {"last": self.out(self.lstm(x)[0][:, -1]), "rows": x.mean((1, 2))}


NETWORKS = {
    "layers": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.1), nn.Linear(4, 2)), (3,), 1),
    "pictures": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                       nn.Linear(8, 3)), (1, 6, 6), 1),
    "attention": (_Attending, (5, 8), 2),                # of one row its mask, and so its calls, are others
    "zeros to begin with": (_Reading, (5, 8), 1),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (5, 8), 1),
}


def _reloaded(traced):
    file = io.BytesIO()
    traced.save(file)
    file.seek(0)
    return torch.jit.load(file)


def _drawing_alike(calls, x):
    """Results of each, after the same seed."""
    for call in calls:
        torch.manual_seed(1)
        yield call(x)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("traced_with", [1, 4])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_from_files_take_any_number_of_rows(name, traced_with, training):
    """With the same draws and running statistics; writing the file leaves both alone."""
    make, shape, least = NETWORKS[name]
    torch.manual_seed(0)
    net = make().train(training)
    traced = torch.jit.trace(net, torch.randn(traced_with, *shape), check_trace=False)
    before, stream = {key: value.clone() for key, value in net.state_dict().items()}, torch.get_rng_state()
    loaded = _reloaded(traced)
    assert torch.equal(torch.get_rng_state(), stream)
    for key, value in net.state_dict().items():
        assert torch.equal(value, before[key])
    for count in (least, 2, 3, 9, 33):
        x = torch.randn(count, *shape)
        torch.testing.assert_close(*_drawing_alike((net, loaded), x))
    torch.testing.assert_close(dict(loaded.state_dict()), dict(net.state_dict()))
    torch.testing.assert_close(*_drawing_alike((_reloaded(loaded), loaded), torch.randn(6, *shape)))


@pytest.mark.parametrize("prepare", [torch.jit.freeze, torch.jit.optimize_for_inference])
def test_files_of_what_is_made_ready_for_inference_do_too(prepare):
    """Also where that was made of a file."""
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3), nn.Softmax(1)).eval()
    traced = torch.jit.trace(net, torch.randn(2, 2, 4, 4))
    for given in (traced, _reloaded(traced)):
        loaded = _reloaded(prepare(given))
        for count in (1, 2, 9):
            x = torch.randn(count, 2, 4, 4)
            torch.testing.assert_close(loaded(x), net(x))
        with pytest.raises(RuntimeError, match="was traced for"):
            loaded(torch.randn(2, 2, 5, 5))


def test_gradients_go_through_them():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    loaded = _reloaded(torch.jit.trace(net, torch.randn(2, 3)))
    x = torch.randn(7, 3)
    net(x).square().sum().backward()
    loaded(x).square().sum().backward()
    torch.testing.assert_close([p.grad for p in loaded.parameters()], [p.grad for p in net.parameters()])


def _by_rows(x):
    for row in x:
        x = x + row
    return x


def _halves(x):
    return x[:x.shape[0] // 2].sum(0)


@pytest.mark.filterwarnings("ignore::numtorch.jit.TracerWarning")
@pytest.mark.parametrize("function", [
    _by_rows, _halves, lambda x: x * (1 / x.shape[0]), lambda x: x + torch.arange(x.shape[0])[:, None].clone(),
    lambda x: x * 2 if x.sum() > 0 else x * 3, lambda x: x.view(2, 3)], ids=["loop", "half", "fraction", "numbers", "values", "fixed"])
def test_programs_that_are_others_for_other_rows_are_refused(function):
    """Or are right, where their numbers are computed in the program."""
    loaded, x = _reloaded(torch.jit.trace(function, torch.ones(2, 3))), torch.ones(5, 3)
    torch.testing.assert_close(loaded(torch.ones(2, 3)), function(torch.ones(2, 3)))
    try:
        expected = function(x)
    except RuntimeError:
        expected = None
    try:
        result = loaded(x)
    except RuntimeError as error:
        assert "traced for" in str(error)
    else:
        assert expected is not None
        torch.testing.assert_close(result, expected)
    if function in (_by_rows, _halves):
        with pytest.raises(RuntimeError, match="traced for"):
            loaded(x)


def test_other_dimensions_and_dtypes_are_those_that_were_traced():
    loaded = _reloaded(torch.jit.trace(lambda x, y: x + y.sum(), (torch.ones(2, 3), torch.ones(4))))
    assert torch.equal(loaded(torch.ones(5, 3), torch.ones(4)), torch.full((5, 3), 5.0))
    for wrong in ((torch.ones(5, 4), torch.ones(4)), (torch.ones(5, 3).double(), torch.ones(4)), (torch.ones(5, 3), torch.ones(5)),
                  (torch.ones(5), torch.ones(4))):
        with pytest.raises(RuntimeError, match="traced for"):
            loaded(*wrong)


@pytest.mark.parametrize("damage", [
    lambda rows: [rows[0], rows[1], rows[2].replace("sin", "cosine")], lambda rows: [rows[0], rows[1], rows[2] + "\n"],
    lambda rows: [rows[0], rows[1]], lambda rows: "rows"])
def test_damaged_files_are_refused(damage, tmp_path):
    traced = torch.jit.trace(torch.sin, torch.ones(2, 3))
    content = traced.content()
    content["rows"] = damage(content["rows"])
    torch.save(content, tmp_path / "damaged.pt")
    with pytest.raises(RuntimeError, match="damaged"):
        torch.jit.load(tmp_path / "damaged.pt")
