"""Layers that learn their input's size from the first one, and the losses and distances that PyTorch has as modules."""
import copy
import io
import pickle

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn

LAYERS = {
    "Linear": ((4,), {}, (2, 3), 3), "Conv1d": ((4, 2), {"padding": 1}, (2, 3, 6), 3), "Conv2d": ((4, 2), {"groups": 2}, (2, 6, 5, 5), 6),
    "Conv3d": ((2, 1), {"bias": False}, (1, 3, 2, 2, 2), 3), "ConvTranspose1d": ((4, 2), {}, (2, 3, 6), 3),
    "ConvTranspose2d": ((4, 2), {"groups": 2}, (2, 6, 4, 4), 6), "ConvTranspose3d": ((2, 1), {}, (1, 3, 2, 2, 2), 3),
    "BatchNorm1d": ((), {"eps": 0.1}, (4, 3), 3), "BatchNorm2d": ((), {}, (2, 3, 4, 4), 3), "BatchNorm3d": ((), {}, (2, 3, 2, 2, 2), 3),
    "InstanceNorm1d": ((), {"affine": True}, (2, 3, 4), 3), "InstanceNorm2d": ((), {"track_running_stats": True}, (2, 3, 4, 4), 3),
    "InstanceNorm3d": ((), {"affine": True}, (2, 3, 2, 2, 2), 3),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_lazy_layer_becomes_the_layer(name):
    args, kwargs, shape, size = LAYERS[name]
    lazy, kind = getattr(nn, "Lazy" + name)(*args, **kwargs), getattr(nn, name)
    assert isinstance(lazy, nn.Module) and isinstance(lazy, kind) is ("Norm" not in name)        # as in PyTorch
    waits = any(isinstance(p, nn.UninitializedParameter) for p in lazy.parameters()) or any(
        isinstance(b, nn.UninitializedBuffer) for b in lazy.buffers())
    assert lazy.has_uninitialized_params() == waits == ("track" in str(kwargs) or kwargs.get("affine") or "Instance" not in name)
    parameters = list(lazy.parameters())
    x = torch.randn(*shape)
    state = None
    found = lazy(x)
    assert type(lazy) is kind and [id(p) for p in lazy.parameters()] == [id(p) for p in parameters]
    assert all(type(p) is nn.Parameter and p.requires_grad for p in parameters)
    wanted = kind(size, *args, **kwargs)
    assert repr(lazy) == repr(wanted)
    assert {k: v.shape for k, v in lazy.state_dict().items()} == {k: v.shape for k, v in wanted.state_dict().items()}
    state = lazy.state_dict()
    wanted.load_state_dict(state)
    lazy.eval(), wanted.eval()
    assert torch.equal(lazy(x), wanted(x)) and found.shape == wanted(x).shape
    other = getattr(nn, "Lazy" + name)(*args, **kwargs)
    if state:
        other.load_state_dict(state)
        assert type(other) is kind and torch.equal(other.eval()(x), wanted(x))


def test_optimisers_made_before_the_first_input_train_it():
    torch.manual_seed(0)
    net = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(1))
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(32, 3)
    y = x.sum(1, keepdim=True)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0] and net[0].in_features == 3 and net[2].in_features == 8


def test_uninitialised_parameters():
    layer = nn.LazyLinear(2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        layer.weight.shape
    assert repr(layer.weight) == "<UninitializedParameter>"
    assert copy.deepcopy(nn.LazyLinear(3))(torch.ones(1, 5)).shape == (1, 3)
    layer(torch.ones(1, 4).double())
    assert layer.weight.dtype is torch.float64 and layer.weight.shape == (2, 4)
    parameter = nn.UninitializedParameter()
    parameter.materialize((2, 3))
    assert type(parameter) is nn.Parameter and parameter.shape == (2, 3) and parameter.requires_grad


# ---------------------------------------------------------------- losses and distances
def test_margin_losses():
    rng = np.random.default_rng(1)
    x, y, w = rng.standard_normal((4, 5)), np.array([1, 0, 4, 2]), rng.random(5)
    for p in (1, 2):
        for weight in (None, w):
            rows = []
            for i in range(4):
                others = [max(0, 1.5 - x[i, y[i]] + x[i, c]) ** p for c in range(5) if c != y[i]]
                rows.append(sum(others) * (1 if weight is None else weight[y[i]]) / 5)
            loss = nn.MultiMarginLoss(p, 1.5, None if weight is None else torch.tensor(weight), reduction="none")
            assert np.allclose(loss(torch.tensor(x), torch.tensor(y)).numpy(), rows)
    target = np.array([[2, 0, -1, 1, 1], [-1, 3, 3, 3, 3], [4, 3, 2, 1, 0], [1, -1, -1, -1, -1]])
    rows = []
    for i in range(4):
        labels = target[i][:list(target[i]).index(-1)] if -1 in target[i] else target[i]
        rows.append(sum(max(0, 1 - x[i, t] + x[i, c]) for t in labels for c in range(5) if c not in labels) / 5)
    found = nn.MultiLabelMarginLoss(reduction="none")(torch.tensor(x), torch.tensor(target))
    assert np.allclose(found.numpy(), rows)
    assert np.isclose(nn.MultiLabelMarginLoss()(torch.tensor(x[0]), torch.tensor(target[0])).item(), rows[0])
    binary = (x > 0.2) * 1.0
    terms = -(binary * -np.log1p(np.exp(-x)) + (1 - binary) * -np.log1p(np.exp(x)))
    found = nn.MultiLabelSoftMarginLoss(torch.tensor(w), reduction="none")(torch.tensor(x), torch.tensor(binary))
    assert np.allclose(found.numpy(), (terms * w).mean(1))
    with pytest.raises(ValueError, match="p == 1 and p == 2"):
        nn.MultiMarginLoss(3)


def test_distances_as_modules():
    x, y, z = (torch.randn(3, 4) for _ in range(3))
    assert torch.equal(nn.CosineSimilarity()(x, y), nn.functional.cosine_similarity(x, y))
    assert torch.equal(nn.PairwiseDistance(1, keepdim=True)(x, y), nn.functional.pairwise_distance(x, y, 1, keepdim=True))
    plain = nn.TripletMarginLoss(swap=True)(x, y, z)
    assert torch.allclose(nn.TripletMarginWithDistanceLoss(swap=True)(x, y, z), plain)
    own = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(1), reduction="none")(x, y, z)
    assert torch.allclose(own, ((x - y).abs().sum(1) - (x - z).abs().sum(1) + 1).clamp_min(0))


def test_random_slopes():
    x = torch.tensor([-1.0, 2.0]).repeat(1000)
    layer = nn.RReLU(0.2, 0.4)
    found = layer(x)
    slopes = -found[::2]
    assert bool((found[1::2] == 2).all()) and 0.2 <= slopes.min().item() < 0.22 and 0.38 < slopes.max().item() <= 0.4
    assert torch.allclose(layer.eval()(x)[:2], torch.tensor([-0.3, 2.0])) and repr(layer) == "RReLU(lower=0.2, upper=0.4)"


def test_an_uninitialized_buffer_is_a_buffer():
    module = nn.Module()
    module.kept, module.left = nn.UninitializedBuffer(), nn.UninitializedBuffer(persistent=False)
    module.kept.materialize((2,))
    assert [name for name, _ in module.named_buffers()] == ["kept", "left"] and list(module.state_dict()) == ["kept"]
    assert type(module.kept) is torch.Tensor and module.kept.shape == (2,)


# ---------------------------------------------------------------- users' own
class Affine(nn.modules.lazy.LazyModuleMixin, nn.Module):
    """A scale and a shift of the last dimension, whose size is that of the first input's."""

    def __init__(self):
        super().__init__()
        self.scale = nn.UninitializedParameter()
        self.register_buffer("shift", nn.UninitializedBuffer())

    def initialize_parameters(self, input, *, by=1.0):
        with torch.no_grad():
            self.scale.materialize(input.shape[-1:])
            self.shift.materialize(input.shape[-1:])
            self.scale.fill_(2)
            self.shift.fill_(by)

    def forward(self, input, *, by=1.0):
        return input * self.scale + self.shift


class Plain(nn.Module):
    def forward(self, input, by=1.0):
        return input * self.scale + self.shift


def test_a_module_of_ones_own_learns_its_shapes():
    module = Affine().double()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    assert module.has_uninitialized_params() and set(module.state_dict()) == {"scale", "shift"}
    result = module(torch.ones(2, 3, dtype=torch.float64), by=5.0)
    assert result.tolist() == [[7.0] * 3] * 2 and not module.has_uninitialized_params() and type(module) is Affine
    result.sum().backward()
    optimizer.step()
    assert module(torch.ones(1, 3, dtype=torch.float64), by=9.0).tolist() == [[2 - 0.2 + 5] * 3]      # initialised once
    with pytest.raises(RuntimeError, match="size"):
        module(torch.ones(2, 4, dtype=torch.float64))


def test_it_may_become_another_class():
    class Becoming(Affine):
        cls_to_become = Plain
    module = Becoming()
    seen = []
    module.register_forward_pre_hook(lambda module, args: seen.append(module.scale.shape))
    assert module(torch.ones(2)).tolist() == [3.0, 3.0] and type(module) is Plain and seen == [(2,)]


def test_what_is_left_without_a_shape_is_said():
    class Left(Affine):
        def initialize_parameters(self, input):
            self.scale.materialize(input.shape[-1:])
    with pytest.raises(RuntimeError, match="module Left has not been fully initialized"):
        Left()(torch.ones(2))

    class Nothing(nn.modules.lazy.LazyModuleMixin, nn.Module):
        pass
    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Nothing"):
        Nothing()(torch.ones(2))


def test_states_go_both_ways():
    known, unknown, other = Affine(), Affine(), Affine()
    known(torch.ones(3))
    unknown.load_state_dict(known.state_dict())
    assert unknown.scale.tolist() == [2.0] * 3 and not unknown.has_uninitialized_params()
    other.load_state_dict(Affine().state_dict())
    assert other.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        known.load_state_dict(Affine().state_dict())
    file = io.BytesIO()
    torch.save(nn.Sequential(Affine(), nn.LazyLinear(2)).state_dict(), file)
    file.seek(0)
    layers = nn.Sequential(Affine(), nn.LazyLinear(2))
    layers.load_state_dict(torch.load(file))
    assert layers[0].has_uninitialized_params() and layers(torch.ones(2, 3)).shape == (2, 2)
    copied = pickle.loads(pickle.dumps(Affine()))
    assert copied.has_uninitialized_params() and copied(torch.ones(2)).tolist() == [3.0, 3.0]
    assert copy.deepcopy(known)(torch.ones(3)).tolist() == [3.0] * 3
