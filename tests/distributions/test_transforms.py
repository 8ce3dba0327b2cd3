"""Transforms: inverses, volumes by autograd, shapes, caches, PyTorch's values and messages; constraints and what leads into them."""
import copy
import math
import pickle

import numpy as np
import pytest

import numtorch as torch
from numtorch import distributions as D
from numtorch.distributions import biject_to, constraints, transform_to

T = D.transforms


def numbers(library, *shape, seed=0, low=-2.0, high=2.0):
    return library.tensor(np.random.default_rng(seed).uniform(low, high, shape), dtype=library.float64)


# name: (what makes it, of a library's distributions; the argument's shape; between which numbers)
ROWS = {
    "exp": (lambda d, x: d.ExpTransform(), (3, 2), -2, 2), "abs": (lambda d, x: d.AbsTransform(), (3,), 0.1, 2),
    "power": (lambda d, x: d.PowerTransform(x.tensor([2.0, -0.5], dtype=x.float64)), (3, 2), 0.1, 3),
    "power of a number": (lambda d, x: d.PowerTransform(3.0), (3, 2), 0.1, 3), "sigmoid": (lambda d, x: d.SigmoidTransform(), (3, 2), -4, 4),
    "softplus": (lambda d, x: d.SoftplusTransform(), (3, 2), -4, 30), "tanh": (lambda d, x: d.TanhTransform(), (3, 2), -2, 2),
    "affine": (lambda d, x: d.AffineTransform(x.tensor([1.0, 2.0], dtype=x.float64), x.tensor([0.5, -3.0], dtype=x.float64)), (3, 2), -2, 2),
    "affine of numbers": (lambda d, x: d.AffineTransform(1.0, -2.0), (3, 2), -2, 2),
    "affine of vectors": (lambda d, x: d.AffineTransform(1.0, x.tensor([0.5, -3.0], dtype=x.float64), event_dim=1), (3, 2), -2, 2),
    "cumulative": (lambda d, x: d.CumulativeDistributionTransform(d.Normal(0.5, 2.0)), (3, 2), -2, 2),
    "inverse": (lambda d, x: d.ExpTransform().inv, (3, 2), 0.1, 2), "identity": (lambda d, x: d.identity_transform, (3, 2), -2, 2),
    "composed": (lambda d, x: d.ComposeTransform([d.AffineTransform(0.5, -2.0), d.SigmoidTransform(), d.PowerTransform(2.0)]), (3, 2), -2, 2),
    "composed of vectors": (lambda d, x: d.ComposeTransform([d.ExpTransform(), d.StickBreakingTransform()]), (3, 2), -2, 2),
    "composed over vectors": (lambda d, x: d.ComposeTransform([d.StickBreakingTransform(), d.ExpTransform().inv]), (3, 2), -2, 2),
    "inverse of composed": (lambda d, x: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)]).inv, (3, 2), 1.5, 4),
    "independent": (lambda d, x: d.IndependentTransform(d.ExpTransform(), 1), (3, 2), -2, 2),
    "independent of vectors": (lambda d, x: d.IndependentTransform(d.StickBreakingTransform(), 1), (4, 3, 2), -2, 2),
    "reshape": (lambda d, x: d.ReshapeTransform((2, 3), (6,)), (4, 2, 3), -2, 2),
    "stick": (lambda d, x: d.StickBreakingTransform(), (4, 3), -2, 2), "softmax": (lambda d, x: d.SoftmaxTransform(), (4, 3), -2, 2),
    "correlations": (lambda d, x: d.CorrCholeskyTransform(), (4, 6), -1, 1), "one correlation": (lambda d, x: d.CorrCholeskyTransform(), (1,), -1, 1),
    "lower": (lambda d, x: d.LowerCholeskyTransform(), (4, 3, 3), -1, 1), "definite": (lambda d, x: d.PositiveDefiniteTransform(), (4, 3, 3), -1, 1),
    "stack": (lambda d, x: d.StackTransform([d.ExpTransform(), d.TanhTransform()], dim=1), (3, 2), -2, 2),
    "cat": (lambda d, x: d.CatTransform([d.ExpTransform(), d.identity_transform, d.TanhTransform()], dim=-1, lengths=[2, 1, 1]), (3, 4), -2, 2),
    "cat of vectors": (lambda d, x: d.CatTransform([d.IndependentTransform(d.ExpTransform(), 1), d.IndependentTransform(d.TanhTransform(), 1)],
                                                   dim=0, lengths=[1, 2]), (3, 4), -2, 2),
}
APPROXIMATE = {"softmax", "lower", "definite"}            # the inverse gives another argument of the same result


def made(name, library=torch):
    make, shape, low, high = ROWS[name]
    return make(library.distributions, library), numbers(library, *shape, low=low, high=high)


@pytest.fixture(scope="module")
def pytorch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("name", ROWS)
def test_inverses_and_constraints(name):
    transform, x = made(name)
    y = transform(x)
    back = transform.inv(y)
    assert torch.allclose(transform(back), y, atol=1e-9) and (name in APPROXIMATE or torch.allclose(back, x, atol=1e-9))
    assert transform.inv.inv is transform or transform.inv.inv == transform
    assert transform.domain.check(x).all() and transform.codomain.check(y).all()
    assert transform.inv.domain.event_dim == transform.codomain.event_dim and transform.inv.bijective == transform.bijective
    assert transform.forward_shape(x.shape) == y.shape and transform.inverse_shape(y.shape) == x.shape
    assert transform.inv.forward_shape(y.shape) == x.shape and transform.inv.inverse_shape(x.shape) == y.shape


ONTO_SIMPLEX = {"stick", "composed of vectors", "independent of vectors"}


# Of the others, the last one before a simplex is left is none of the coordinates; parts of a batch make one volume.
@pytest.mark.parametrize("name", [n for n in ROWS if made(n)[0].bijective and n not in ("composed over vectors", "cat of vectors")])
def test_volumes_by_autograd(name):
    """log |det| of the Jacobian that autograd computes. Onto simplices and correlations it is that of the coordinates that are free."""
    transform, x = made(name)
    y = transform(x)
    found = transform.log_abs_det_jacobian(x, y)
    dims = transform.domain.event_dim
    if dims == 0 or name in ("stack", "cat"):
        z = x.detach().requires_grad_()
        slopes, = torch.autograd.grad(transform(z).sum(), z)
        assert torch.allclose(found, slopes.abs().log().expand(found.shape))
    else:
        def free(events):
            out = transform(events.reshape(x.shape[x.ndim - dims:]))
            if "correlation" in name:
                return out[torch.ones_like(out).tril(-1) > 0]
            return (out[..., :-1] if name in ONTO_SIMPLEX else out).flatten()
        events = x.reshape(-1, *x.shape[x.ndim - dims:])
        wanted = [torch.linalg.slogdet(torch.autograd.functional.jacobian(free, e.flatten())).logabsdet.item() for e in events]
        assert np.allclose(found.numpy().ravel(), wanted)
    assert torch.allclose(transform.inv.log_abs_det_jacobian(y, x), -found)


@pytest.mark.parametrize("name", ROWS)
def test_values_and_attributes_are_pytorchs(name, pytorch):
    (mine, x), (theirs, z) = made(name), made(name, pytorch)
    y, w = mine(x), theirs(z)
    np.testing.assert_allclose(y.numpy(), w.numpy(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mine.inv(y).numpy(), theirs.inv(w).numpy(), rtol=1e-8, atol=1e-10)
    told = []
    for library, transform, a, b in ((torch, mine, x, y), (pytorch, theirs, z, w)):
        def attribute(attribute, transform=transform):
            try:
                return repr(attribute(transform)).replace(", dtype=torch.float64", "")
            except (NotImplementedError, ValueError) as error:
                return type(error).__name__
        told.append([attribute(f) for f in (lambda t: t.domain, lambda t: t.codomain, lambda t: t.bijective, lambda t: t.sign,
                                            lambda t: t.event_dim, repr)])
        try:
            told[-1].append(transform.log_abs_det_jacobian(a, b).tolist())
        except NotImplementedError:
            told[-1].append([])
    assert told[0][:-1] == told[1][:-1]
    np.testing.assert_allclose(told[0][-1], told[1][-1], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", [n for n in ROWS if n not in ("inverse", "identity", "inverse of composed", "composed", "composed of vectors", "composed over vectors")])
def test_caches(name):
    """With a cache, an inverse is the very tensor; without one, a transform is as it was."""
    transform, x = made(name)
    kept = transform.with_cache()
    assert kept.with_cache() is kept and transform.with_cache(0) is transform
    y = kept(x)
    assert kept.inv(y) is x and kept(x) is y and kept.inv.with_cache() is kept.inv
    assert transform(x) is not transform(x) or name == "identity"
    again = pickle.loads(pickle.dumps(kept))
    assert torch.equal(again(x), y) and torch.equal(copy.deepcopy(transform)(x), y)


def test_equality():
    assert D.ExpTransform() == D.ExpTransform() != D.TanhTransform() and D.ExpTransform().inv == D.ExpTransform().inv != D.ExpTransform()
    assert D.AffineTransform(1, 2) == D.AffineTransform(1, 2) != D.AffineTransform(1, 3)
    assert D.AffineTransform(torch.ones(2), 2) == D.AffineTransform(torch.ones(2), 2) != D.AffineTransform(torch.zeros(2), 2)
    assert D.PowerTransform(2.0) == D.PowerTransform(torch.tensor(2.0)) != D.PowerTransform(3.0)
    assert D.ComposeTransform([D.ExpTransform()]) == D.ComposeTransform([D.ExpTransform()]) != D.ComposeTransform([])
    assert D.CorrCholeskyTransform() != D.CorrCholeskyTransform()


WRONG = [
    (lambda d, x: d.ExpTransform(cache_size=2), ValueError), (lambda d, x: d.ReshapeTransform((2, 3), (5,)), ValueError),
    (lambda d, x: d.ReshapeTransform((2, 3), (6,)).forward_shape((3,)), ValueError),
    (lambda d, x: d.ReshapeTransform((2, 3), (6,)).forward_shape((3, 2)), ValueError),
    (lambda d, x: d.CorrCholeskyTransform().forward_shape((2,)), ValueError), (lambda d, x: d.CorrCholeskyTransform().inverse_shape((2, 3)), ValueError),
    (lambda d, x: d.StickBreakingTransform().forward_shape(()), ValueError),
    (lambda d, x: d.IndependentTransform(d.ExpTransform(), 2)(x.zeros(3)), ValueError),
    (lambda d, x: d.StackTransform([d.ExpTransform()])(x.zeros(2)), AssertionError), (lambda d, x: d.StackTransform([5]), AssertionError),
    (lambda d, x: d.StackTransform([d.ExpTransform()], dim=1)(x.zeros(2)), AssertionError),
    (lambda d, x: d.CatTransform([d.ExpTransform()], lengths=[1, 2]), AssertionError),
    (lambda d, x: d.CatTransform([d.ExpTransform()], lengths=[3])(x.zeros(2)), AssertionError),
    (lambda d, x: d.StickBreakingTransform().event_dim and d.CorrCholeskyTransform().event_dim, ValueError),
    (lambda d, x: d.biject_to(d.constraints.one_hot), NotImplementedError),
    (lambda d, x: d.transform_to.register(5, abs), TypeError),
    (lambda d, x: d.constraints.independent(5, 1), AssertionError),
    (lambda d, x: d.constraints.independent(d.constraints.real, -1), AssertionError),
    (lambda d, x: d.constraints.real_vector.check(x.tensor(1.0)), ValueError),
    (lambda d, x: d.constraints.dependent.check(x.zeros(1)), ValueError), (lambda d, x: d.constraints.dependent.event_dim, NotImplementedError),
    (lambda d, x: d.utils.tril_matrix_to_vec(x.zeros(2, 2), 2), ValueError), (lambda d, x: d.utils.vec_to_tril_matrix(x.zeros(5)), ValueError),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors_are_pytorchs(number, pytorch):
    attempt, error = WRONG[number]
    told = []
    for library in (torch, pytorch):
        with pytest.raises(error) as caught:
            attempt(library.distributions, library)
        told.append(str(caught.value))
    assert told[0] == told[1]


# ---------------------------------------------------------------- constraints
C = {
    "boolean": [0.0, 1.0, 0.5], "nonnegative_integer": [0.0, 2.0, -1.0, 0.5], "positive_integer": [0.0, 2.0], "real": [1.0, math.nan],
    "positive": [0.0, 1.0], "nonnegative": [0.0, -1.0], "unit_interval": [0.0, 1.0, 1.5], "real_vector": [[1.0, 2.0], [math.nan, 1.0]],
    "simplex": [[0.5, 0.5], [0.6, 0.6], [1.5, -0.5]], "one_hot": [[1.0, 0.0], [1.0, 1.0], [0.5, 0.5]],
    "greater_than(1)": [1.0, 2.0], "greater_than_eq(1)": [1.0, 0.0], "less_than(1)": [1.0, 0.0], "interval(-1, 1)": [-1.0, 1.0, 2.0],
    "half_open_interval(-1, 1)": [-1.0, 1.0], "integer_interval(0, 3)": [0.0, 3.0, 4.0, 1.5], "multinomial(3)": [[1.0, 2.0], [3.0, 1.0], [-1.0, 2.0]],
    "lower_triangular": [[[1.0, 0.0], [2.0, 3.0]], [[1.0, 1.0], [2.0, 3.0]]], "lower_cholesky": [[[1.0, 0.0], [2.0, 3.0]], [[1.0, 0.0], [2.0, -3.0]]],
    "corr_cholesky": [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]]], "square": [[[1.0, 0.0], [0.6, 0.8]]],
    "symmetric": [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [3.0, 1.0]]], "positive_definite": [[[2.0, 1.0], [1.0, 1.0]], [[2.0, 2.0], [2.0, 1.0]]],
    "positive_semidefinite": [[[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]], "independent(positive, 1)": [[1.0, 2.0], [1.0, -2.0]],
    "cat([positive, real], 0, [1, 2])": [-1.0, 2.0, -3.0], "stack([positive, real], -1)": [[-1.0, 2.0], [1.0, -3.0]],
    "MixtureSameFamilyConstraint(positive)": [1.0, -1.0],
}


@pytest.mark.parametrize("name", C)
def test_constraints_are_pytorchs(name, pytorch):
    found = []
    for x in (torch, pytorch):
        of = eval(name, {n: getattr(x.distributions.constraints, n) for n in x.distributions.constraints.__all__})
        checked = of.check(x.tensor(C[name], dtype=x.float64))
        shown = repr(of) if name[:3] not in ("cat", "sta") else type(of).__name__
        found.append((checked.tolist(), shown, of.is_discrete, of.event_dim))
    assert found[0] == found[1] and True in np.ravel(found[0][0])


LED_INTO = ["real", "positive", "nonnegative", "greater_than(1)", "greater_than_eq(1)", "less_than(1)", "interval(-1, 1)", "unit_interval",
            "half_open_interval(-1, 1)", "simplex", "corr_cholesky", "real_vector", "independent(positive, 1)",
            "cat([positive, real], -1, [1, 2])", "stack([positive, real, less_than(0)], -1)", "lower_cholesky", "positive_definite", "positive_semidefinite"]


@pytest.mark.parametrize("name", LED_INTO)
def test_registries_lead_into_constraints(name, pytorch):
    for registry, other in ((biject_to, pytorch.distributions.biject_to), (transform_to, pytorch.distributions.transform_to)):
        found = []
        for x, table in ((torch, registry), (pytorch, other)):
            of = eval(name, {n: getattr(x.distributions.constraints, n) for n in x.distributions.constraints.__all__})
            try:
                transform = table(of)
            except NotImplementedError:
                assert registry is biject_to and name in ("lower_cholesky", "positive_definite", "positive_semidefinite")
                continue
            shape = (4, 3, 3) if name in ("lower_cholesky", "positive_definite", "positive_semidefinite") else (4, 3)
            y = transform(numbers(x, *shape))
            assert of.check(y).all() and (registry is transform_to or transform.bijective)
            found.append(y.numpy())
        if found:
            np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-12)


def test_own_constraints_and_registries():
    class Even(constraints.Constraint):
        is_discrete = True

        def check(self, value):
            return value % 2 == 0
    registry = D.constraint_registry.ConstraintRegistry()

    @registry.register(Even)
    def _(constraint):
        return D.AffineTransform(0, 2)
    assert registry(Even())(torch.tensor(3)) == 6 and repr(Even()) == "ven()"
    assert constraints.dependent(event_dim=2).event_dim == 2 and constraints.is_dependent(D.Uniform.support)
    assert not constraints.is_dependent(D.Normal.support)


def test_triangles_and_vectors():
    for diag, n in ((0, 3), (-1, 4), (-2, 5)):
        size = (n + diag) * (n + diag + 1) // 2
        source = torch.arange(1.0, size + 1).expand(2, size)
        matrix = D.utils.vec_to_tril_matrix(source, diag)
        assert matrix.shape == (2, n, n) and torch.equal(D.utils.tril_matrix_to_vec(matrix, diag), source)
        assert torch.equal(matrix.tril(diag), matrix)
    full = torch.arange(9.0).reshape(3, 3)
    assert D.utils.tril_matrix_to_vec(full, 1).tolist() == [0, 1, 3, 4, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="cannot be expressed"):
        D.utils.vec_to_tril_matrix(torch.zeros(4))
    with pytest.raises(ValueError, match="instances of Number"):
        D.utils.broadcast_all("1")
    assert [t.dtype for t in D.utils.broadcast_all(1, torch.ones(2, dtype=torch.float64))] == [torch.float64] * 2


def test_tails_of_squashing_transforms_stay_inside():
    x = torch.tensor([-1e3, -50.0, 50.0, 1e3])
    y = D.SigmoidTransform()(x)
    assert (y > 0).all() and (y < 1).all() and D.SigmoidTransform().inv(y).isfinite().all()
    assert torch.allclose(D.TanhTransform().log_abs_det_jacobian(x, x.tanh()), 2 * (math.log(2) - x.abs()))
    assert T.StickBreakingTransform()(torch.tensor([1e3, -1e3])).sum().item() == pytest.approx(1)
