"""Dropout of elements and of channels: its share, its values, its gradients, and that threads do not matter."""
import numpy as np
import pytest

import numtorch as torch
from numtorch import nn
from numtorch.nn import functional as F


def drawn(function, x, seed=0, **options):
    torch.manual_seed(seed)
    return function(x, training=True, **options)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_share_and_scale(dtype):
    for p in (0.1, 0.5, 0.9):
        x = torch.full((40_001,), 3.0, dtype=getattr(torch, dtype))
        out = drawn(F.dropout, x, p=p)
        assert out.dtype is x.dtype
        numbers = out.double().numpy()
        assert abs((numbers == 0).mean() - p) < 4 * (p * (1 - p) / 40_001) ** 0.5
        np.testing.assert_allclose(numbers[numbers != 0], 3.0 / (1 - p), 1e-2 if "16" in dtype else 1e-6)


def test_neighbours_are_independent():
    kept = (drawn(F.dropout, torch.ones(100_000), p=0.5) != 0).double().numpy() - 0.5
    for lag in (1, 2, 32, 64, 128):
        assert abs((kept[lag:] * kept[:-lag]).mean()) < 0.25 * 4 / 100_000 ** 0.5


def test_alpha_dropout_keeps_mean_and_variance():
    torch.manual_seed(1)
    x = torch.randn(200_000, dtype=torch.float64)
    for p in (0.1, 0.4):
        out = drawn(F.alpha_dropout, x, p=p)
        assert abs(out.mean().item()) < 0.02 and abs(out.var().item() - 1) < 0.03
        dropped = np.unique(out.numpy().round(12), return_counts=True)
        assert abs(dropped[1].max() / 200_000 - p) < 0.01
        channels = drawn(F.feature_alpha_dropout, torch.randn(400, 50, 20, dtype=torch.float64), p=p)
        assert abs(channels.mean().item()) < 0.05 and abs(channels.var().item() - 1) < 0.1


def test_gradient_is_the_mask():
    for function in (F.dropout, F.alpha_dropout, F.feature_dropout, F.feature_alpha_dropout, F.dropout1d):
        x = torch.ones(30, 20, 5, requires_grad=True)
        out = drawn(function, x, p=0.3)
        seed = torch.rand(30, 20, 5, requires_grad=True)
        grad, = torch.autograd.grad(out, x, seed, create_graph=True)
        numbers = out.detach().numpy()
        kept = numbers == numbers.max()
        ratio = grad.detach().numpy() / seed.detach().numpy()
        assert 0.6 < kept.mean() < 0.8 and not ratio[~kept].any()
        np.testing.assert_allclose(ratio[kept], ratio[kept][0], 1e-5)
        again, = torch.autograd.grad(grad.sum(), seed)
        np.testing.assert_allclose(again.numpy(), ratio, 1e-5)


def test_the_same_on_any_number_of_threads():
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(drawn(F.dropout, torch.ones(70_003), p=0.4).numpy())
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(*results)


def test_each_call_draws_anew_and_a_seed_repeats():
    x = torch.ones(1000)
    first = drawn(F.dropout, x)
    second = F.dropout(x)
    assert not torch.equal(first, second) and torch.equal(first, drawn(F.dropout, x))


def test_channels():
    cases = [(F.dropout1d, (50, 6, 4), 2), (F.dropout1d, (300, 4), 1), (F.dropout2d, (50, 6, 4, 3), 2), (F.dropout3d, (50, 6, 2, 2, 3), 2),
             (F.dropout3d, (300, 2, 2, 3), 1), (F.feature_dropout, (60, 5, 7), 2)]
    for function, shape, drawn_dims in cases:
        out = drawn(function, torch.ones(shape), p=0.5).numpy()
        rows = out.reshape(int(np.prod(shape[:drawn_dims])), -1)
        assert (rows == rows[:, :1]).all() and 0.3 < (rows[:, 0] == 0).mean() < 0.7


def test_corners():
    x = torch.ones(4, 3, requires_grad=True)
    assert F.dropout(x, 0.5, False) is x and F.dropout(x, 0.0) is x and F.alpha_dropout(x, 0.5) is x
    assert not F.dropout(x, 1.0).any() and not F.alpha_dropout(x, 1.0, True).any() and not F.feature_alpha_dropout(x, 1.0, True).any()
    assert F.dropout(torch.ones(0, 3)).shape == (0, 3)
    strided = torch.arange(24.0).reshape(4, 6).t()
    out = F.dropout(strided, 0.5).numpy()
    np.testing.assert_array_equal(out[out != 0], 2 * strided.numpy()[out != 0])
    y = torch.ones(100)
    assert F.dropout(y, 0.5, inplace=True) is y and set(y.tolist()) == {0.0, 2.0}
    for call in (F.dropout, F.dropout2d, F.alpha_dropout, F.feature_alpha_dropout):
        with pytest.raises(ValueError, match="between 0 and 1"):
            call(torch.ones(2, 2, 2, 2), 1.5)
    with pytest.raises(RuntimeError, match="floating point"):
        F.dropout(torch.ones(3, dtype=torch.int64))
    with pytest.warns(UserWarning, match="1D dropout behavior"):
        F.dropout2d(torch.ones(2, 3, 4))
    with pytest.warns(UserWarning, match="deprecated"):
        F.dropout3d(torch.ones(3, 4))
    for call in (F.dropout1d, F.feature_dropout):
        with pytest.raises(RuntimeError, match=r"Expected 2D or 3D|at least 2 dimensions"):
            call(torch.ones(3))


def test_modules():
    for kind in (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout):
        layer = kind(0.5)
        x = torch.ones(8, 9, 2) if kind is nn.Dropout1d else torch.ones(8, 9, 2, 2, 2) if kind is nn.Dropout3d else torch.ones(8, 9, 2, 2)
        assert repr(layer) == f"{kind.__name__}(p=0.5, inplace=False)" and layer.state_dict() == {}
        assert len(np.unique(layer(x).numpy())) == 2 and layer.eval()(x) is x
