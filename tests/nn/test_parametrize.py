"""Parametrised weights, beside PyTorch's where it is installed."""
import copy
import importlib

import numpy as np
import pytest

import numtorch as torch

try:
    import torch as pytorch
except ImportError:
    pytorch = None

BOTH = [torch] + ([pytorch] if pytorch is not None else [])
both = pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)


def tools(t):
    return importlib.import_module(t.__name__ + ".nn.utils.parametrize"), importlib.import_module(t.__name__ + ".nn.utils.parametrizations")


def symmetric(t):
    return type("Symmetric", (t.nn.Module,), {"forward": lambda self, x: x.triu() + x.triu(1).mT, "right_inverse": lambda self, x: x.triu()})()


@both
def test_one_tensor(t):
    """The property, keys, gradients, assignment, a copy, and back again."""
    parametrize, _ = tools(t)
    layer = t.nn.Linear(3, 3)
    first = layer.weight.detach().numpy().copy()
    assert parametrize.register_parametrization(layer, "weight", symmetric(t)) is layer
    assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(layer, "bias")
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"] and type(layer).__name__ == "ParametrizedLinear"
    np.testing.assert_allclose(layer.weight.detach().numpy(), np.triu(first) + np.triu(first, 1).T)
    layer(t.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[1.0, 2.0, 2.0], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]
    layer.weight = t.eye(3) * 2
    assert layer.weight.tolist() == [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
    other = copy.deepcopy(layer)
    other.weight = t.eye(3)
    assert layer.weight[0, 0].item() == 2.0 and isinstance(other, t.nn.Linear)
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is t.nn.Linear and isinstance(layer.weight, t.nn.Parameter) and layer.weight[1, 1].item() == 2.0
    assert sorted(layer.state_dict()) == ["bias", "weight"]


@both
def test_weight_norm(t):
    _, parametrizations = tools(t)
    layer = t.nn.Conv2d(2, 3, 2)
    first = layer.weight.detach().numpy().copy()
    parametrizations.weight_norm(layer)
    assert [tuple(p.shape) for p in layer.parameters()] == [(3,), (3, 1, 1, 1), (3, 2, 2, 2)]
    np.testing.assert_allclose(layer.weight.detach().numpy(), first, atol=1e-6)
    with t.no_grad():
        layer.parametrizations.weight.original0.mul_(2)
    np.testing.assert_allclose(layer.weight.detach().numpy(), 2 * first, atol=1e-6)
    layer(t.ones(1, 2, 3, 3)).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())


@both
def test_spectral_norm(t):
    _, parametrizations = tools(t)
    t.manual_seed(0)
    layer = parametrizations.spectral_norm(t.nn.Linear(5, 4), n_power_iterations=30)
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original", "parametrizations.weight.0._u", "parametrizations.weight.0._v"]
    assert np.linalg.norm(layer.weight.detach().numpy(), 2) == pytest.approx(1, abs=1e-4)
    layer.eval()
    kept = layer.parametrizations.weight[0]._u.tolist()
    layer(t.ones(1, 5)).sum().backward()
    assert layer.parametrizations.weight[0]._u.tolist() == kept and layer.parametrizations.weight.original.grad is not None
    assert parametrizations.spectral_norm(t.nn.ConvTranspose2d(2, 3, 2)).parametrizations.weight[0]._u.shape == (3,)


@both
def test_refuses(t):
    parametrize, parametrizations = tools(t)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element with name 'gain'"):
        parametrize.register_parametrization(t.nn.Linear(1, 1), "gain", symmetric(t))
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(t.nn.Linear(3, 2), "weight", type("Row", (t.nn.Module,), {"forward": lambda self, x: x[:1]})())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(t.nn.Linear(1, 1), "weight")
    with pytest.raises(ValueError, match="n_power_iterations to be positive"):
        parametrizations.spectral_norm(t.nn.Linear(2, 2), n_power_iterations=0)
    layer = parametrizations.weight_norm(t.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="sequence of tensors"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)


@both
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3), (2, 3, 3)])
@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder", None])
def test_orthogonal(t, shape, orthogonal_map):
    """Orthonormal at first, after a step and after an assignment, which keeps what is orthonormal already."""
    parametrize, parametrizations = tools(t)
    module = t.nn.Module()
    module.weight = t.nn.Parameter(t.randn(*shape))
    parametrizations.orthogonal(module, orthogonal_map=orthogonal_map)

    def check():
        w = module.weight.detach().numpy()
        small = w @ w.swapaxes(-1, -2) if shape[-2] <= shape[-1] else w.swapaxes(-1, -2) @ w
        np.testing.assert_allclose(small, np.broadcast_to(np.eye(small.shape[-1]), small.shape), atol=1e-5)
        return w
    first = check()
    optimizer = t.optim.SGD(module.parameters(), lr=0.1)
    (module.weight * t.arange(float(module.weight.numel())).reshape(shape)).sum().backward()
    optimizer.step()
    assert np.abs(check() - first).max() > 1e-2
    module.weight = t.tensor(first)
    np.testing.assert_allclose(check(), first, atol=1e-5)
    assert sorted(module.state_dict()) == ["parametrizations.weight.0.base", "parametrizations.weight.original"]
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        parametrizations.orthogonal(t.nn.Linear(2, 2), orthogonal_map="other")
    fixed = parametrizations.orthogonal(t.nn.Linear(2, 2), orthogonal_map="cayley", use_trivialization=False)
    with pytest.raises(NotImplementedError, match="not possible to assign"):
        fixed.weight = t.eye(2)


@both
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 3)])
def test_reflections_begin_with_the_weight_orthonormalised(t, shape):
    module = t.nn.Module()
    module.weight = t.nn.Parameter(t.randn(*shape))
    w = module.weight.detach().clone()
    tall = w if shape[-2] >= shape[-1] else w.mT
    q, r = t.linalg.qr(tall)
    wanted = q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    tools(t)[1].orthogonal(module, orthogonal_map="householder", use_trivialization=False)
    found = module.weight.detach()
    np.testing.assert_allclose((found if shape[-2] >= shape[-1] else found.mT).numpy(), wanted.numpy(), atol=1e-5)
    module.weight = t.tensor(found.numpy())
    np.testing.assert_allclose(module.weight.detach().numpy(), found.numpy(), atol=1e-5)


def maker(t, forward, right_inverse=None):
    parts = {"forward": lambda self, *x: forward(*x)}
    if right_inverse is not None:
        parts["right_inverse"] = lambda self, x: right_inverse(x)
    return type("Made", (t.nn.Module,), parts)()


@both
def test_the_parameter_stays_the_one_that_an_optimiser_holds(t):
    layer = t.nn.Linear(2, 2)
    before = layer.weight
    tools(t)[0].register_parametrization(layer, "weight", maker(t, lambda x: x * 2, lambda x: x / 2))
    assert layer.parametrizations.weight.original is before


@both
def test_a_second_parametrization_leaves_what_is_stored(t):
    parametrize, _ = tools(t)
    layer = t.nn.Linear(2, 2)
    first = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", maker(t, lambda x: x + 1))
    parametrize.register_parametrization(layer, "weight", maker(t, lambda x: x * 2, lambda x: x / 2))
    np.testing.assert_allclose(layer.weight.detach().numpy(), (first.numpy() + 1) * 2, rtol=1e-6)
    with pytest.raises(RuntimeError, match="does not implement"):
        layer.weight = first


@both
@pytest.mark.parametrize("inverse, words", [
    (lambda x: None, "must return a Tensor or a Sequence"), (lambda x: (x, None), "element 1 of the sequence"),
    (lambda x: x.bool(), "may not change the dtype"),
])
def test_right_inverses_that_cannot_be_stored(t, inverse, words):
    parametrize, _ = tools(t)
    layer = t.nn.Linear(2, 2)
    with pytest.raises(ValueError, match=words):
        parametrize.register_parametrization(layer, "weight", maker(t, lambda x, *more: x, inverse))
    assert not parametrize.is_parametrized(layer)
    parametrize.register_parametrization(layer, "weight", maker(t, lambda x: x))
    with pytest.raises(ValueError, match="right_inverse"):
        parametrize.register_parametrization(layer, "weight", maker(t, lambda x: x, lambda x: (x, x)))
