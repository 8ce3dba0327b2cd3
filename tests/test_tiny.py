"""The library's heartbeat: every floor once, in seconds on a warm kernel store."""
import numpy as np
import pytest

import numtorch as torch
from numtorch import nn, optim


def test_tensors_and_numpy():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = torch.from_numpy(array)
    x.add_(1)
    assert array[0, 0] == 1 and x.t()[2].tolist() == [3.0, 6.0] and x[x > 4].tolist() == [5.0, 6.0]
    assert (x + torch.tensor([1, 2, 3])).dtype is torch.float32 and repr(torch.ones(2)) == "tensor([1., 1.])"


def test_ops_reductions_products():
    x = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    np.testing.assert_allclose(torch.exp(x).numpy(), np.exp(x.numpy()), rtol=1e-6)
    assert x.sum().item() == 6.0 and x.max(1).indices.tolist() == [0, 1] and (x @ x).tolist() == [[-5.0, -10.0], [15.0, 10.0]]
    assert torch.where(x > 0, x, 0.0).tolist() == [[1, 0], [3, 4]] and torch.softmax(x, 1).sum().item() == 2.0


def test_gradients():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.warns(UserWarning, match="reference cycle"):
        (x ** 3).sum().backward(create_graph=True)
    assert x.grad.tolist() == [3.0, 12.0, 27.0]
    second, = torch.autograd.grad((x.grad * x).sum(), x)
    assert second.tolist() == [9.0, 36.0, 81.0]
    y = x * 1
    y[0] = 5.0
    assert torch.autograd.grad((y * y).sum(), x)[0].tolist() == [0.0, 4.0, 6.0]


def test_a_network_learns():
    torch.manual_seed(0)
    x = torch.rand(64, 2)
    wanted = (x[:, 0] > x[:, 1]).long()
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    losses = []
    for _ in range(40):
        loss = nn.CrossEntropyLoss()(model(x), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0] and (model(x).argmax(1) == wanted).float().mean().item() > 0.9


def test_a_new_op_in_three_lines():
    @torch.pointwise(methods=False)
    def swish_of_the_tiny_test(x):
        return x / (1 + torch.exp(-x))

    assert abs(swish_of_the_tiny_test(torch.tensor(1.0)).item() - 0.7310586) < 1e-6
