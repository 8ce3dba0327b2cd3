"""Channels last: outputs and gradients lie in memory as PyTorch's do, and have the numbers of row-major ones."""
import numpy as np
import pytest

import numtorch as torch
import numtorch.nn.functional as F
from numtorch.layout import format_of

try:
    import torch as peer
except ImportError:
    peer = None


def values(*shape):
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


# title, (library, functional, x, weight) -> result, shapes of x and of the weight; of one image, threads share the channels
CASES = [
    ("conv2d", lambda t, f, x, w: f.conv2d(x, w, padding=1), (2, 4, 6, 5), (6, 4, 3, 3)),
    ("conv2d, strided", lambda t, f, x, w: f.conv2d(x, w, stride=2, padding=1), (2, 13, 6, 5), (20, 13, 3, 3)),
    ("conv2d by a single element", lambda t, f, x, w: f.conv2d(x, w), (2, 4, 6, 5), (6, 4, 1, 1)),
    ("depthwise", lambda t, f, x, w: f.conv2d(x, w, padding=1, groups=20), (2, 20, 6, 5), (20, 1, 3, 3)),
    ("depthwise, strided", lambda t, f, x, w: f.conv2d(x, w, stride=2, padding=1, groups=20), (2, 20, 6, 5), (20, 1, 3, 3)),
    ("conv_transpose2d", lambda t, f, x, w: f.conv_transpose2d(x, w, stride=2), (2, 4, 6, 5), (4, 6, 2, 2)),
    ("conv_transpose2d, strided", lambda t, f, x, w: f.conv_transpose2d(x, w, stride=2, padding=1), (2, 13, 6, 5), (13, 20, 3, 3)),
    ("conv3d", lambda t, f, x, w: f.conv3d(x, w), (2, 4, 5, 4, 5), (6, 4, 3, 3, 3)),
    ("max_pool2d", lambda t, f, x, w: f.max_pool2d(x, 3, 2, 1), (2, 4, 6, 5), None),
    ("places of max_pool2d", lambda t, f, x, w: f.max_pool2d(x, 2, return_indices=True)[1], (2, 4, 6, 5), None),
    ("avg_pool2d", lambda t, f, x, w: f.avg_pool2d(x, 3, 2, 1), (2, 4, 6, 5), None),
    ("max_pool2d of one image", lambda t, f, x, w: f.max_pool2d(x, 3, 1, 1, 2, True), (1, 40, 12, 11), None),
    ("avg_pool2d of one image", lambda t, f, x, w: f.avg_pool2d(x, 3, 1, 1, True, False), (1, 40, 12, 11), None),
    ("avg_pool2d of all", lambda t, f, x, w: f.avg_pool2d(x, (6, 5)), (2, 4, 6, 5), None),
    ("adaptive_avg_pool2d of all", lambda t, f, x, w: f.adaptive_avg_pool2d(x, 1), (2, 4, 6, 5), None),
    ("adaptive_max_pool2d", lambda t, f, x, w: f.adaptive_max_pool2d(x, 2), (2, 4, 6, 5), None),
    ("batch_norm", lambda t, f, x, w: f.batch_norm(x, None, None, training=True), (2, 4, 6, 5), None),
    ("group_norm", lambda t, f, x, w: f.group_norm(x, 2), (2, 4, 6, 5), None),
    ("instance_norm", lambda t, f, x, w: f.instance_norm(x), (2, 4, 6, 5), None),
    ("nearest", lambda t, f, x, w: f.interpolate(x, scale_factor=2), (2, 4, 6, 5), None),
    ("bilinear", lambda t, f, x, w: f.interpolate(x, size=(9, 4), mode="bilinear"), (2, 20, 6, 5), None),
    ("bilinear, few channels", lambda t, f, x, w: f.interpolate(x, size=(9, 4), mode="bilinear"), (2, 3, 6, 5), None),
    ("cat", lambda t, f, x, w: t.cat([x, x * 2], 1), (2, 4, 6, 5), None),
    ("cat with a row-major one", lambda t, f, x, w: t.cat([x, x.contiguous()], 1), (2, 4, 6, 5), None),
    ("pad", lambda t, f, x, w: f.pad(x, (1, 0, 2, 1)), (2, 4, 6, 5), None),
    ("pad, reflect", lambda t, f, x, w: f.pad(x, (1, 0, 2, 1), "reflect"), (2, 4, 6, 5), None),
    ("pad, circular", lambda t, f, x, w: f.pad(x, (1, 0, 2, 1), "circular"), (2, 4, 6, 5), None),
]


def results(library, functional, function, shape, weight, channels_last):
    """The result, the gradients of x and the weight as they come, and those that leaves keep."""
    def leaf(each):
        made = library.tensor(values(*each))
        if channels_last:
            made = made.contiguous(memory_format=library.channels_last if len(each) == 4 else library.channels_last_3d)
        return made.requires_grad_()
    leaves = [leaf(each) for each in (shape, weight) if each is not None]
    out = function(library, functional, *leaves, *[None] * (weight is None))
    if not out.requires_grad:
        return [out]
    grad = library.ones_like(out).detach() * library.arange(out.shape[-1])
    loose = library.autograd.grad(out, leaves[:1], grad, retain_graph=True)
    out.backward(grad)
    return [out.detach(), *loose, *[each.grad for each in leaves]]


def strides(found, weight):
    """Which kernel PyTorch takes on a processor decides the strides of single elements in its gradient of a weight: these do not count."""
    rows = [each.stride() for each in found]
    if weight is not None:
        rows[-1] = tuple(stride for stride, extent in zip(rows[-1], weight) if extent > 1)
    return rows


@pytest.mark.parametrize("function, shape, weight", [pytest.param(*case, id=title) for title, *case in CASES])
def test_channels_last(request, function, shape, weight):
    got = results(torch, F, function, shape, weight, True)
    expected = results(torch, F, function, shape, weight, False)
    for mine, other in zip(got, expected):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)
    if peer is not None:
        theirs = results(peer, peer.nn.functional, function, shape, weight, True)
        if "of all" in request.node.callspec.id:         # a mean's gradient is one number for all, and lies anyhow
            del got[1], theirs[1]
        assert strides(got, weight) == strides(theirs, weight)
        for mine, other in zip(got, theirs):
            np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)


def test_gradients_of_gradients_in_channels_last():
    x = torch.tensor(values(2, 20, 4, 5)).double().contiguous(memory_format=torch.channels_last).requires_grad_()
    w = torch.tensor(values(20, 1, 3, 3)).double().requires_grad_()
    v = torch.tensor(values(3, 20, 1, 1)).double().requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x, w, v: F.conv2d(F.conv2d(x, w, padding=1, groups=20), v), (x, w, v), fast_mode=True)


@pytest.mark.parametrize("shape, strides, expected", [
    ((2, 3, 4, 5), (60, 1, 15, 3), "channels_last"),
    ((2, 3, 4, 5), (60, 20, 5, 1), None),
    ((2, 1, 4, 5), (20, 20, 5, 1), None),                # one channel lies both ways: its strides say which
    ((2, 1, 4, 5), (20, 1, 5, 1), "channels_last"),
    ((2, 3, 1, 1), (3, 1, 1, 1), None),
    ((2, 3, 1, 1), (3, 1, 3, 3), "channels_last"),
    ((2, 3, 4, 5), (120, 1, 30, 6), "channels_last"),
    ((2, 2, 3, 4, 5), (120, 1, 40, 10, 2), "channels_last_3d"),
    ((3, 4, 5), (1, 15, 3), None),
])
def test_format_of(shape, strides, expected):
    assert format_of(torch.empty(400).as_strided(shape, strides).layout) == expected


def test_a_leaf_keeps_gradients_as_it_lies():
    x = torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).requires_grad_()
    (x * 2).sum().backward()
    first = x.grad
    x.reshape(2, 60).sum().backward()
    assert x.grad is first and x.grad.stride() == x.stride() and (x.grad == 3).all()
    expanded = torch.ones(3).expand(2, 3).detach().requires_grad_()
    expanded.sum().backward()
    assert expanded.grad.stride() == (3, 1)
