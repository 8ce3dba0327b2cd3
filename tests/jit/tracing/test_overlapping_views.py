"""Views that share elements, or reach beyond what they are views of, in traces and transforms as without: values, gradients, files."""
import io

import pytest

import numtorch as torch


def zeroed(x):
    y = x * 2
    y.expand(3, 4).zero_()
    return y + x


def filled(x):
    y = x * x
    y[:2].expand(2, 2, 4)[0].fill_(3.0)
    return y * 2


def windows(x):
    y = (x * 2).flatten()
    y.unfold(0, 2, 1).fill_(1.0)
    return y * 3


def beyond(x):
    return (x * 2).flatten()[1:2].as_strided((3,), (1,), 0) + 1


def beyond_an_argument(x):
    return x.view(3)[1:].as_strided((2,), (1,), 0) * 3


def written_beyond(x):
    y = (x * 2).flatten()
    part = y[1:2]
    part.as_strided((3,), (1,), 0).mul_(3)
    part.add_(1)
    return y * part


FUNCTIONS = zeroed, filled, windows, beyond, beyond_an_argument, written_beyond


def gradient(function):
    x = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
    result = function(x)
    return result.detach(), torch.autograd.grad((result * torch.arange(1.0, 1 + result.numel()).view_as(result)).sum(), x)[0]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_and_gradients_are_those_without_a_trace(function):
    wanted = gradient(function)
    traced = torch.jit.trace(function, torch.ones(3, 1))
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    for other in (traced, torch.jit.load(file), torch.compile(function)):
        for result, expected in zip(gradient(other), wanted):
            assert torch.equal(result, expected)


# Of elements that share memory by a stride of 0, PyTorch has no gradients.
@pytest.mark.parametrize("function", [windows, beyond, beyond_an_argument, written_beyond], ids=lambda f: f.__name__)
def test_pytorch_gives_the_same(function, monkeypatch):
    pytorch = pytest.importorskip("torch")
    wanted = [each.tolist() for each in gradient(function)]
    monkeypatch.setitem(globals(), "torch", pytorch)
    assert [each.tolist() for each in gradient(function)] == wanted


@pytest.mark.parametrize("function", [zeroed, filled, windows], ids=lambda f: f.__name__)
def test_transforms_fill_what_is_expanded(function):
    x = torch.tensor([[1.0], [2.0], [3.0]])
    assert torch.equal(torch.vmap(function)(torch.stack([x, x + 1])), torch.stack([function(x), function(x + 1)]))
    value, tangent = torch.func.jvp(function, (x,), (torch.ones(3, 1),))
    assert torch.equal(value, function(x))
    assert torch.equal(tangent, torch.func.jacrev(function)(x).sum((-2, -1)))
