"""Dual tensors of `autograd.forward_ad`, on PyTorch too where it is installed."""
from __future__ import annotations

import numpy as np
import pytest

import numtorch


@pytest.fixture
def forward_ad(torch):
    return __import__(f"{torch.__name__}.autograd.forward_ad", fromlist=["dual_level"])


def test_a_tangent_follows(torch, forward_ad):
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        value, tangent = forward_ad.unpack_dual((dual ** 3).sum())
        assert value.item() == 9 and tangent.item() == 39
        assert forward_ad.unpack_dual(x).tangent is None
        assert forward_ad.unpack_dual(dual.detach()).tangent is None
        assert repr(dual) == "tensor([1., 2.], tangent=tensor([1., 3.]))" and dual[1].item() == 2 and float(dual.sum()) == 3
    assert forward_ad.unpack_dual(dual).tangent is None and (dual + 1).tolist() == [2.0, 3.0]


def test_a_module_in_a_direction(torch, forward_ad):
    torch.manual_seed(0)
    net, x = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)), torch.ones(2, 3)
    grads = torch.autograd.grad(net(x).sum(), list(net.parameters()))
    directions = [torch.full_like(p, 0.5) for p in net.parameters()]
    with forward_ad.dual_level():
        for module in (net[0], net[2]):
            for name in ("weight", "bias"):
                p = getattr(module, name)
                delattr(module, name)
                setattr(module, name, forward_ad.make_dual(p.detach(), torch.full_like(p, 0.5)))
        found = forward_ad.unpack_dual(net(x).sum()).tangent
    assert found.item() == pytest.approx(sum((g * d).sum().item() for g, d in zip(grads, directions)), rel=1e-5)


def test_backward_through_a_tangent(torch, forward_ad):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with forward_ad.dual_level():
        out = forward_ad.unpack_dual((forward_ad.make_dual(x, torch.ones(2)) ** 3).sum()).tangent
    assert torch.autograd.grad(out, x)[0].tolist() == [6.0, 12.0]


def test_written_tangents(torch, forward_ad):
    with forward_ad.dual_level():
        dual, target = forward_ad.make_dual(torch.ones(2), torch.tensor([1.0, 3.0])), torch.zeros(3)
        target[1:] = dual * 2
        target.mul_(2)
        assert target.tolist() == [0, 4, 4] and forward_ad.unpack_dual(target).tangent.tolist() == [0, 4, 12]


WRONG = {
    "no level": (RuntimeError, lambda torch, f: f.make_dual(torch.ones(2), torch.ones(2))), "no exit": (RuntimeError, lambda torch, f: f.exit_dual_level()),
    "shape": (RuntimeError, lambda torch, f: inside(f, torch.ones(2), torch.ones(3))),
    "integers": (ValueError, lambda torch, f: inside(f, torch.ones(2, dtype=torch.int64), torch.ones(2))),
    "nested": (RuntimeError, lambda torch, f: nested(f)),
}


def inside(forward_ad, x, t):
    with forward_ad.dual_level():
        forward_ad.make_dual(x, t)


def nested(forward_ad):
    with forward_ad.dual_level():
        forward_ad.enter_dual_level()


@pytest.mark.parametrize("name", WRONG)
def test_errors(torch, forward_ad, name):
    kind, call = WRONG[name]
    with pytest.raises(kind):
        call(torch, forward_ad)


def test_what_takes_part_in_a_map_prints(torch):
    seen = []
    torch.func.vmap(torch.func.vmap(lambda x: (seen.append(repr(x)), x)[1]))(torch.ones(2, 2))
    assert seen == ["BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor([[1., 1.],\n"
                    "                [1., 1.]])\n    )\n)"]


FACTORISATIONS = {
    "cholesky": lambda t, x: t.linalg.cholesky(x), "upper": lambda t, x: t.linalg.cholesky(x, upper=True), "eigh": lambda t, x: (t.linalg.eigh(x)[0], t.linalg.eigh(x)[1].abs()),
    "eigh of the upper triangle": lambda t, x: t.linalg.eigh(x, UPLO="U")[1].abs(), "eigvalsh": lambda t, x: t.linalg.eigvalsh(x),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", FACTORISATIONS)
def test_tangents_of_factorisations_that_are_not_hermitian(name, dtype):
    """PyTorch's formulas take what they read of such a tangent, and not its Hermitian part: ours are these, for samples of a map too."""
    theirs = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, t = (rng.standard_normal((2, 4, 3, 3)) + (1j * rng.standard_normal((2, 4, 3, 3)) if dtype == "complex128" else 0)).astype(dtype)
    x = x @ x.conj().swapaxes(1, 2) + 3 * np.eye(3)
    found = []
    for library in (numtorch, theirs):
        function = lambda x, t, library=library: library.func.jvp(lambda x: FACTORISATIONS[name](library, x), (x,), (t,))
        given = library.from_numpy(x), library.from_numpy(t)
        each = [function(*given), function(given[0][0], given[1][0]), library.func.vmap(function)(*given)]
        found.append([r.numpy() for r in numtorch.tree.flatten(each)[0]])
    for ours, wanted in zip(*found):
        np.testing.assert_allclose(ours, wanted, atol=1e-12)


@pytest.mark.parametrize("primal, tangent", [("float32", "float64"), ("float64", "float32"), ("float16", "float32"), ("complex64", "float32")])
def test_tangents_of_another_dtype(torch, forward_ad, primal, tangent):
    x, t = torch.tensor([1.0, 2.0], dtype=getattr(torch, primal)), torch.tensor([0.5, 3.0], dtype=getattr(torch, tangent))
    value, moved = torch.func.jvp(lambda x: x * x, (x,), (t,))
    assert value.dtype is x.dtype and moved.tolist() == [1.0, 12.0]
    with forward_ad.dual_level():
        moved = forward_ad.unpack_dual(forward_ad.make_dual(x, t) * 2).tangent
    assert moved.tolist() == [1.0, 6.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_what_has_a_tangent_have_one(torch, forward_ad, create_graph):
    """`autograd.grad` within a dual level: the product of the Hessian and a vector, forward over reverse."""
    x, direction = torch.tensor([1., 2.], requires_grad=True), torch.tensor([1., -1.])
    with forward_ad.dual_level():
        dual, unused = forward_ad.make_dual(x, direction), torch.ones(1, requires_grad=True)
        for of in (x, dual):
            found = torch.autograd.grad((dual ** 3).sum() * dual[0], (of, unused), create_graph=create_graph, allow_unused=True)
            primal, tangent = forward_ad.unpack_dual(found[0])
            assert primal.tolist() == [12., 12.] and tangent.tolist() == [0., 0.] and found[1] is None
            assert primal.requires_grad is tangent.requires_grad is create_graph
