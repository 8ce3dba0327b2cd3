"""Weight and spectral norm by hooks, and batch normalisation folded into the layer before it."""
from __future__ import annotations

import copy

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn
from numtorch.nn import utils
from numtorch.nn.utils import parametrizations

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")


def test_weight_norm():
    layer, x = nn.Linear(3, 2), torch.randn(4, 3)
    other, expected = parametrizations.weight_norm(copy.deepcopy(layer)), layer(x).detach()
    utils.weight_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight_g", "weight_v"] and torch.allclose(layer(x), expected, atol=1e-6)
    for model in (layer, other):
        model(x).sum().backward()
    assert torch.allclose(layer.weight_v.grad, other.parametrizations.weight.original1.grad, atol=1e-5)
    with torch.no_grad():
        layer.weight_g.mul_(2)                           # seen by the next call
    assert torch.allclose(layer(x), 2 * expected - layer.bias, atol=1e-5)
    with pytest.raises(RuntimeError, match="two weight_norm hooks"):
        utils.weight_norm(layer)
    doubled = layer(x)
    assert torch.allclose(utils.remove_weight_norm(layer)(x), doubled, atol=1e-6) and not layer._hooks["forward_pre"]
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        utils.remove_weight_norm(layer)


def test_spectral_norm():
    layer = utils.spectral_norm(nn.Conv2d(2, 3, 2), n_power_iterations=30)
    x = torch.randn(1, 2, 4, 4)
    layer(x).sum().backward()
    norms = np.linalg.svd(layer.weight.detach().numpy().reshape(3, -1))[1]
    assert abs(norms[0] - 1) < 1e-4 and layer.weight_orig.grad is not None and layer.weight_u.shape == (3,)
    before = layer.eval().weight_u.clone()
    with torch.no_grad():
        layer.weight_orig.normal_()
    y = layer(x)
    assert torch.equal(before, layer.weight_u)           # nothing moves in evaluation
    assert torch.allclose(layer.train()(x), y) is False and not torch.equal(before, layer.weight_u)
    y = layer.eval()(x)
    restored = utils.spectral_norm(nn.Conv2d(2, 3, 2)).eval()
    restored.load_state_dict(layer.state_dict())
    assert torch.allclose(restored(x), y) and torch.allclose(utils.remove_spectral_norm(layer)(x), y, atol=1e-6)
    assert utils.spectral_norm(nn.ConvTranspose1d(2, 3, 2)).weight_u.shape == (3,)
    for call in (lambda: utils.spectral_norm(nn.Linear(2, 2, bias=False), "bias"), lambda: utils.remove_spectral_norm(layer),
                 lambda: utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)):
        with pytest.raises(ValueError, match=r"None|not found|positive"):
            call()


@pytest.mark.parametrize("bias", [True, False])
def test_fusion(bias):
    bn, x = nn.BatchNorm1d(4), torch.randn(2, 3, 5)
    with torch.no_grad():
        for values in (bn.weight, bn.bias, bn.running_mean):
            values.normal_()
        bn.running_var.uniform_(0.5, 2)
    for conv, transpose in ((nn.Conv1d(3, 4, 2, bias=bias), False), (nn.ConvTranspose1d(3, 4, 2, bias=bias), True)):
        fused = utils.fuse_conv_bn_eval(conv.eval(), bn.eval(), transpose)
        assert torch.allclose(fused(x), bn(conv(x)), atol=1e-5) and type(fused) is type(conv) and fused is not conv
    linear, rows = nn.Linear(3, 4, bias=bias).eval(), torch.randn(2, 3)
    assert torch.allclose(utils.fuse_linear_bn_eval(linear, bn)(rows), bn(linear(rows)), atol=1e-5)
    for call in (lambda: utils.fuse_conv_bn_eval(conv.train(), bn), lambda: utils.fuse_linear_bn_eval(nn.Linear(3, 5).eval(), bn)):
        with pytest.raises(AssertionError, match=r"Fusion only for eval|To fuse"):
            call()
