"""Fractional pooling and the adaptive softmax, against loops and PyTorch."""
import numpy as np
import pytest

import numtorch as torch
import numtorch.nn.functional as F

try:
    import torch as pytorch
except ImportError:
    pytorch = None
needs_pytorch = pytest.mark.skipif(pytorch is None, reason="PyTorch is not installed")


def starts(sample, extent, size, count):
    """Graham's sequence: steps of floor(alpha * (i + u)) from 0, the last window at the end."""
    alpha = (extent - size) / (count - 1) if count > 1 else 0.0
    return [int((i + sample) * alpha) - int(sample * alpha) for i in range(count - 1)] + [extent - size]


def test_windows_of_each_channel():
    rng = np.random.default_rng(0)
    x, samples = rng.standard_normal((2, 3, 9, 7)), rng.random((2, 3, 2))
    found, places = F.fractional_max_pool2d(torch.tensor(x), (2, 3), (5, 4), return_indices=True, _random_samples=torch.tensor(samples))
    for n, c in np.ndindex(2, 3):
        rows, columns = starts(samples[n, c, 1], 9, 2, 5), starts(samples[n, c, 0], 7, 3, 4)
        for i, j in np.ndindex(5, 4):
            window = x[n, c, rows[i]:rows[i] + 2, columns[j]:columns[j] + 3]
            assert found[n, c, i, j].item() == window.max() == x[n, c].ravel()[places[n, c, i, j].item()]


@needs_pytorch
@pytest.mark.parametrize("dims, extents, kernel, options", [
    (2, (8, 9), 2, {"output_size": (5, 4)}), (2, (8, 9), (3, 2), {"output_ratio": (0.6, 0.5)}), (2, (4, 4), 2, {"output_size": 1}),
    (3, (5, 6, 7), 2, {"output_size": (3, 3, 4)}), (3, (5, 6, 7), (1, 2, 3), {"output_ratio": 0.5}),
])
def test_as_pytorch(dims, extents, kernel, options):
    rng = np.random.default_rng(1)
    x, samples = rng.standard_normal((2, 3, *extents)), rng.random((2, 3, dims))
    found = []
    for t in (pytorch, torch):
        a = t.tensor(x, requires_grad=True)
        layer = getattr(t.nn, f"FractionalMaxPool{dims}d")(kernel, return_indices=True, _random_samples=t.tensor(samples), **options)
        out, places = layer(a)
        (out * out).sum().backward()
        found.append((out.detach().numpy(), places.numpy(), a.grad.numpy()))
    for theirs, ours in zip(*found):
        np.testing.assert_allclose(ours, theirs)


def test_drawn_windows_and_single_images():
    torch.manual_seed(0)
    x = torch.randn(3, 10, 10)
    out = torch.nn.FractionalMaxPool2d(3, output_ratio=0.5)(x)
    assert out.shape == (3, 5, 5) and set(out.ravel().tolist()) <= set(x.ravel().tolist())
    assert F.fractional_max_pool3d(torch.randn(2, 4, 4, 4), 2, 3).shape == (2, 3, 3, 3)


@pytest.mark.parametrize("make, error, message", [
    (lambda: F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), 2), ValueError, "requires specifying either an output_size or an output_ratio"),
    (lambda: F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), 2, 4), RuntimeError, "do not fit"),
    (lambda: F.fractional_max_pool2d(torch.ones(4, 4), 2, 2), RuntimeError, "Expected 3D or 4D tensor"),
    (lambda: torch.nn.FractionalMaxPool2d(2), ValueError, "requires specifying either an output size, or a pooling ratio"),
    (lambda: torch.nn.FractionalMaxPool3d(2, 2, 0.5), ValueError, "only one of output_size and output_ratio may be specified"),
    (lambda: torch.nn.FractionalMaxPool2d(2, output_ratio=1.5), ValueError, "output_ratio must be between 0 and 1"),
    (lambda: torch.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 3]), ValueError, "cutoffs should be a sequence of unique, positive integers"),
    (lambda: torch.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2])(torch.ones(2, 4), torch.tensor([0, 10])), RuntimeError, "Target values should be in [0, 9]"),
    (lambda: torch.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2])(torch.ones(3, 4), torch.tensor([0, 1])), RuntimeError, "same size in the batch"),
])
def test_refuses(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


# ---------------------------------------------------------------- adaptive softmax
def test_adaptive_softmax_is_a_distribution():
    torch.manual_seed(0)
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 12], div_value=2.0, head_bias=True).double()
    x, targets = torch.randn(30, 8, dtype=torch.float64), torch.arange(30) % 20
    everything = layer.log_prob(x)
    output, loss = layer(x, targets)
    np.testing.assert_allclose(everything.exp().sum(1).detach().numpy(), 1)
    np.testing.assert_allclose(output.detach().numpy(), everything.gather(1, targets[:, None])[:, 0].detach().numpy())
    assert loss.item() == pytest.approx(-output.mean().item())
    assert layer.predict(x).tolist() == everything.argmax(1).tolist()
    alone = layer(x[3], targets[3])
    assert alone.output.shape == () and alone.output.item() == pytest.approx(output[3].item())


@needs_pytorch
@pytest.mark.parametrize("head_bias", [False, True])
def test_adaptive_softmax_as_pytorch(head_bias):
    """The same keys and, with the same weights, the same results and gradients."""
    arguments = (8, 20, [5, 12, 18])
    theirs = pytorch.nn.AdaptiveLogSoftmaxWithLoss(*arguments, div_value=2.0, head_bias=head_bias)
    ours = torch.nn.AdaptiveLogSoftmaxWithLoss(*arguments, div_value=2.0, head_bias=head_bias)
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict({k: torch.tensor(v.numpy()) for k, v in state.items()})
    x, targets = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32), np.random.default_rng(1).integers(0, 20, 16)
    found = []
    for t, layer in ((pytorch, theirs), (torch, ours)):
        output, loss = layer(t.tensor(x), t.tensor(targets))
        loss.backward()
        found.append((output.detach().numpy(), layer.head.weight.grad.numpy(), layer.tail[1][0].weight.grad.numpy(), layer.predict(t.tensor(x)).numpy()))
    for a, b in zip(*found):
        np.testing.assert_allclose(b, a, rtol=2e-5, atol=1e-6)
