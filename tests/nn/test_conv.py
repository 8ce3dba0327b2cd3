"""Convolution as functions and modules: every number of dimensions against PyTorch, gradients of gradients, 16-bit floats."""
import numpy as np
import pytest

import numtorch as torch
import numtorch.nn.functional as F
from numtorch.autograd import gradcheck, gradgradcheck

try:
    import torch as peer
except ImportError:
    peer = None


def values(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def leaves(*shapes):
    return [torch.tensor(values(*shape, seed=i), requires_grad=True) for i, shape in enumerate(shapes)]


GRADIENTS = [
    (lambda x, w, b: F.conv1d(x, w, b, 2, 1, 2, 2), (2, 4, 9), (6, 2, 3), (6,)),
    (lambda x, w, b: F.conv2d(x, w, b, 1, 1, 1, 4), (2, 4, 4, 5), (4, 1, 3, 3), (4,)),
    (lambda x, w, b: F.conv3d(x, w, b, (2, 1, 2), (0, 1, 1)), (2, 2, 3, 4, 3), (3, 2, 2, 2, 3), (3,)),
    (lambda x, w, b: F.conv_transpose1d(x, w, b, 3, 1, 2), (2, 4, 5), (4, 3, 3), (3,)),
    (lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 0, 1, 2), (1, 4, 3, 2), (4, 2, 2, 3), (4,)),
    (lambda x, w, b: F.conv_transpose3d(x, w, b, 2, 1, 1), (2, 2, 2, 3, 2), (2, 3, 2, 2, 3), (3,)),
]


@pytest.mark.parametrize("function, x, w, b", GRADIENTS)
def test_gradients_of_gradients(function, x, w, b):
    assert gradcheck(function, leaves(x, w, b))
    assert gradgradcheck(function, leaves(x, w, b))


MODULES = [
    ("Conv1d", (4, 6, 4), dict(padding="same"), (2, 4, 9)),
    ("Conv1d", (4, 6, 3), dict(padding=2, dilation=2, padding_mode="replicate"), (2, 4, 9)),
    ("Conv2d", (4, 6, 3), dict(padding=1, padding_mode="reflect"), (4, 9, 8)),
    ("Conv2d", (32, 40, 3), dict(padding=1), (2, 32, 14, 13)),
    ("Conv2d", (8, 8, 3), dict(stride=2, groups=8, bias=False), (2, 8, 11, 9)),
    ("Conv3d", (4, 6, 3), dict(padding=1, padding_mode="circular"), (2, 4, 5, 6, 7)),
    ("Conv3d", (4, 6, (1, 3, 2)), dict(padding="valid", stride=(1, 2, 1), groups=2), (2, 4, 5, 6, 7)),
    ("ConvTranspose1d", (4, 6, 3), dict(stride=2, padding=1, output_padding=1), (2, 4, 7)),
    ("ConvTranspose2d", (4, 6, 3), dict(stride=2, groups=2), (2, 4, 5, 5)),
    ("ConvTranspose3d", (4, 6, 3), dict(stride=2, output_padding=1, padding=1), (2, 4, 3, 4, 5)),
    ("CircularPad3d", (1,), {}, (1, 2, 3, 4, 5)),
    ("ReflectionPad3d", ((1, 2, 1, 0, 2, 1),), {}, (1, 2, 3, 4, 5)),
    ("ReplicationPad2d", ((3, 2, 1, 0),), {}, (1, 2, 3, 4)),
    ("ConstantPad3d", ((1, 0, 2, 1, 0, 1), 2.5), {}, (1, 2, 3, 4, 5)),
    ("ZeroPad1d", ((1, -1),), {}, (2, 3, 4)),
]


@pytest.mark.skipif(peer is None, reason="compares with PyTorch")
@pytest.mark.filterwarnings("ignore:Using padding")
@pytest.mark.parametrize("name, arguments, options, shape", MODULES)
def test_modules_against_torch(name, arguments, options, shape):
    theirs, ours = getattr(peer.nn, name)(*arguments, **options), getattr(torch.nn, name)(*arguments, **options)
    assert repr(ours) == repr(theirs)
    ours.load_state_dict({key: torch.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    x, y = peer.tensor(values(*shape).astype(np.float32), requires_grad=True), \
        torch.tensor(values(*shape).astype(np.float32), requires_grad=True)
    expected, got = theirs(x), ours(y)
    grad = values(*expected.shape, seed=1).astype(np.float32)
    expected.backward(peer.tensor(grad))
    got.backward(torch.tensor(grad))
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(y.grad.numpy(), x.grad.numpy(), rtol=1e-4, atol=1e-5)
    for mine, other in zip(ours.parameters(), theirs.parameters()):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
def test_half_is_summed_in_float32(dtype, tolerance):
    """Sums of 400 terms rounded once: rounding each term would be off by more."""
    x, w, b = [torch.tensor(values(*shape)).to(dtype) for shape in ((2, 16, 7, 6), (5, 16, 5, 5), (5,))]
    wide = [t.double() for t in (x, w, b)]
    for t in (x, w, b, *wide):
        t.requires_grad_()
    out, expected = F.conv2d(x, w, b, padding=2), F.conv2d(*wide, padding=2)
    out.sum().backward()
    expected.sum().backward()
    assert out.dtype is dtype
    for mine, other in ((out, expected), (x.grad, wide[0].grad), (w.grad, wide[1].grad), (b.grad, wide[2].grad)):
        scale = np.abs(other.detach().numpy()).max()
        assert np.abs(mine.detach().double().numpy() - other.detach().numpy()).max() <= tolerance * scale


@pytest.mark.parametrize("call, message", [
    (lambda: F.conv3d(torch.zeros(1, 3, 5, 5, 5), torch.zeros(2, 3, 3, 3)), "expected a weight of 5 dimensions"),
    (lambda: F.conv3d(torch.zeros(5, 5, 5), torch.zeros(2, 3, 3, 3, 3)), r"Expected 4D \(unbatched\) or 5D \(batched\) input"),
    (lambda: F.conv_transpose3d(torch.zeros(1, 3, 5, 5, 5), torch.zeros(2, 3, 3, 3, 3)), "to have 2 channels, but got 3"),
    (lambda: F.conv_transpose2d(torch.zeros(1, 3, 5, 5), torch.zeros(3, 2, 3, 3), torch.zeros(3)), "1-dimensional with 2 elements"),
    (lambda: F.conv_transpose1d(torch.zeros(1, 3, 5), torch.zeros(3, 2, 3), output_padding=1), "output padding must be smaller"),
    (lambda: F.conv_transpose1d(torch.zeros(1, 3, 5), torch.zeros(3, 2, 3), stride=0), "non-positive stride"),
    (lambda: F.conv_transpose1d(torch.zeros(1, 3, 5), torch.zeros(3, 2, 3).double()), "should be the same"),
])
def test_errors(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_unbatched_in_every_dimension():
    for dims in (1, 2, 3):
        x, w = torch.tensor(values(3, *[5] * dims)), torch.tensor(values(4, 3, *[2] * dims))
        convolve, transpose = getattr(F, f"conv{dims}d"), getattr(F, f"conv_transpose{dims}d")
        assert torch.equal(convolve(x, w), convolve(x.unsqueeze(0), w).squeeze(0))
        y = torch.tensor(values(4, *[5] * dims))
        assert torch.equal(transpose(y, w), transpose(y.unsqueeze(0), w).squeeze(0))


@pytest.mark.parametrize("stride", [1 << 31, 1 << 62, (1 << 62, 1)])
def test_strides_beyond_every_image(stride):
    x, weight = torch.randn(1, 1, 3, 3, requires_grad=True), torch.ones(1, 1, 2, 2)
    near = F.conv2d(x, weight, stride=2 if isinstance(stride, int) else (2, 1))
    far = F.conv2d(x, weight, stride=stride)
    assert torch.equal(near, far) and torch.equal(*[torch.autograd.grad(y.sum(), x)[0] for y in (near, far)])
