"""torch.linalg: results against NumPy and their definitions, derivatives against finite differences once and twice, errors."""
import itertools

import numpy as np
import pytest

import numtorch as torch
from numtorch import linalg
from numtorch.autograd import gradcheck, gradgradcheck

KINDS = ("float64", "complex128", "float32")


def matrices(*shape, kind="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if kind.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return torch.tensor(x.astype(kind))


def near(found, wanted, tolerance=None):
    found, wanted = np.asarray(found), np.asarray(wanted)
    tolerance = tolerance or (2e-4 if found.dtype in (np.float32, np.complex64) else 1e-9)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------- values
@pytest.mark.parametrize("kind", KINDS)
def test_factorisations_multiply_back(kind):
    for shape in ((3, 3), (2, 4, 3), (2, 3, 5), (0, 2, 2), (1, 1)):
        a = matrices(*shape, kind=kind)
        u, s, vh = linalg.svd(a, full_matrices=False)
        near((u * s.unsqueeze(-2)) @ vh, a)
        near(linalg.svdvals(a), np.linalg.svd(a.numpy(), compute_uv=False))
        assert linalg.svd(a).U.shape == (*shape[:-1], shape[-2])
        for mode in ("reduced", "complete"):
            q, r = linalg.qr(a, mode)
            near(q @ r, a)
            near(r.triu(), r)
        near(linalg.qr(a, "r").R, linalg.qr(a).R)
    square = matrices(2, 4, 4, kind=kind)
    positive = square @ square.mH + torch.eye(4)
    lower = linalg.cholesky(positive)
    near(lower @ lower.mH, positive)
    near(linalg.cholesky(positive, upper=True), lower.mH)
    near(torch.cholesky(positive, upper=True), lower.mH)
    values, vectors = linalg.eigh(positive)
    near((vectors * values.unsqueeze(-2)) @ vectors.mH, positive)
    near(linalg.eigvalsh(positive), values)
    values, vectors = linalg.eig(square)
    near(square.to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2))
    near(linalg.eigvals(square), values)
    u, s, v = torch.svd(square)
    near((u * s.unsqueeze(-2)) @ v.mH, square)


@pytest.mark.parametrize("kind", KINDS)
def test_systems_inverses_and_determinants(kind):
    a, b = matrices(2, 3, 3, kind=kind), matrices(2, 3, 2, kind=kind, seed=1)
    x = linalg.solve(a, b)
    near(a @ x, b)
    near(linalg.solve(a, b.mT, left=False) @ a, b.mT)
    near(linalg.solve(a, b[..., 0]), x[..., 0])
    near(linalg.solve(a[0], b), np.linalg.solve(np.stack([a[0].numpy()] * 2), b.numpy()))
    near(linalg.inv(a) @ a, np.broadcast_to(np.eye(3), (2, 3, 3)))
    near(torch.inverse(a), linalg.inv(a))
    near(linalg.det(a), np.linalg.det(a.numpy()))
    sign, size = linalg.slogdet(a)
    near(sign * torch.exp(size), linalg.det(a))
    near(torch.logdet(a.mH @ a).real, 2 * size)
    for upper in (False, True):
        triangle = a.triu() if upper else a.tril()
        near(triangle @ linalg.solve_triangular(a, b, upper=upper), b)
        near(linalg.solve_triangular(a, b.mT, upper=upper, left=False) @ triangle, b.mT)
    ones = linalg.solve_triangular(a, b, upper=True, unitriangular=True)
    near((a.triu(1) + torch.eye(3)) @ ones, b)
    near(triangle @ torch.triangular_solve(b, a)[0], b)
    lower = linalg.cholesky(a @ a.mH + torch.eye(3))
    near(torch.cholesky_solve(b, lower), linalg.solve(lower @ lower.mH, b))
    near(torch.cholesky_inverse(lower.mH, upper=True), linalg.inv(lower @ lower.mH))


def test_least_squares_and_pseudo_inverses():
    for shape in ((5, 3), (3, 5), (2, 4, 2)):
        a, b = matrices(*shape), matrices(*shape[:-1], 2, seed=3)
        near(linalg.pinv(a), np.linalg.pinv(a.numpy()))
        found = linalg.lstsq(a, b, driver="gels")
        near(found.solution, linalg.pinv(a) @ b)
        plain = linalg.lstsq(a, b)
        assert plain.rank.flatten().tolist() == [min(shape[-2:])] * plain.rank.numel() and found.rank.shape == plain.residuals.shape == (0,)
        if shape[-2] > shape[-1]:
            near(found.residuals, ((a @ found.solution - b) ** 2).sum(-2))
        else:
            assert found.residuals.shape == (0,)
    low = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    assert linalg.matrix_rank(low).item() == 1 and linalg.matrix_rank(torch.eye(3), atol=2.0).item() == 0
    assert linalg.matrix_rank(matrices(2, 3, 4)).tolist() == [3, 3] and linalg.matrix_rank(low, hermitian=True).item() == 1
    near(linalg.pinv(low), np.linalg.pinv(low.numpy()))


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norms(ord):
    a = matrices(2, 3, 4)
    wanted = [np.linalg.norm(m, ord) for m in a.numpy()]
    near(linalg.matrix_norm(a, ord), wanted)
    near(linalg.norm(a, ord, (1, 2)), wanted)
    near(linalg.matrix_norm(a.permute(1, 0, 2), ord, (0, 2)), wanted)
    near(linalg.matrix_norm(a.permute(2, 0, 1), ord, (2, 0)), wanted)
    assert linalg.matrix_norm(a, ord, keepdim=True).shape == (2, 1, 1)
    near(linalg.norm(a[0], ord), wanted[0])


def test_vector_norms_and_condition_numbers():
    x = matrices(3, 4)
    for ord in (0, 0.5, 1, 2, 3, np.inf, -np.inf):
        near(linalg.vector_norm(x, ord, 1), [np.linalg.norm(row, ord) for row in x.numpy()])
        near(linalg.norm(x[0], ord), np.linalg.norm(x[0].numpy(), ord))
    near(linalg.norm(x), np.linalg.norm(x.numpy()))
    square = matrices(3, 3)
    for p in (None, 2, -2, 1, np.inf, "fro"):
        near(linalg.cond(square, p), np.linalg.cond(square.numpy(), p))
    assert linalg.cond(torch.zeros(2, 2), 1).item() == np.inf
    for shape, orders in (((2, 0, 0), (None, 1, -1, 2, -2, "fro", "nuc")), ((0, 3, 3), (None, 1, "nuc")), ((2, 0, 3), (None, -1, np.inf, 2))):
        assert all(linalg.cond(torch.zeros(shape), p).tolist() == [0] * shape[0] for p in orders)
        assert linalg.cond(torch.zeros(shape, dtype=torch.complex128)).dtype is torch.float64
    for p, shape in ((3, (0, 0)), ("x", (2, 2)), ("fro", (0, 3))):
        with pytest.raises(RuntimeError, match=r"linalg\.cond"):
            linalg.cond(torch.zeros(shape), p)
    some = torch.stack([torch.eye(2), torch.ones(2, 2), torch.eye(2) * 3]).requires_grad_()       # of which one is singular
    for p, wanted in ((1, 1), (-1, 1), ("fro", 2), ("nuc", 4)):
        near(linalg.cond(some, p).detach(), [wanted, np.inf, wanted])
        slope, = torch.autograd.grad(linalg.cond(some, p)[[0, 2]].sum(), some)
        assert not slope.isnan().any()


def test_powers_and_products():
    a = matrices(2, 3, 3)
    for n in (0, 1, 2, 5, -2):
        near(linalg.matrix_power(a, n), np.linalg.matrix_power(a.numpy(), n))
    values, vectors = linalg.eig(a * 4)
    near(torch.matrix_exp(a * 4), (vectors @ torch.diag_embed(values.exp()) @ linalg.inv(vectors)).real, 1e-8)
    near(torch.matrix_exp(torch.zeros(2, 2)), np.eye(2))
    chain = [matrices(2, 5), matrices(5, 3), matrices(3, 7), matrices(7, 2)]
    near(linalg.multi_dot(chain), np.linalg.multi_dot([c.numpy() for c in chain]))
    near(linalg.multi_dot([chain[0][0], chain[1], chain[2][:, 0]]),
         np.linalg.multi_dot([chain[0][0].numpy(), chain[1].numpy(), chain[2][:, 0].numpy()]))
    z, w = matrices(2, 3, kind="complex128"), matrices(2, 3, kind="complex128", seed=2)
    near(linalg.vecdot(z, w), np.vecdot(z.numpy(), w.numpy()) if hasattr(np, "vecdot") else (z.numpy().conj() * w.numpy()).sum(-1))
    near(linalg.cross(z.real, w.real), np.cross(z.real.numpy(), w.real.numpy()))
    near(linalg.vander(torch.tensor([2.0, 3.0]), N=3), [[1, 2, 4], [1, 3, 9]])
    t = matrices(4, 6, 8, 3)
    near(linalg.tensorinv(t), np.linalg.tensorinv(t.numpy()))
    near(linalg.tensorsolve(t, matrices(4, 6, seed=4)), np.linalg.tensorsolve(t.numpy(), matrices(4, 6, seed=4).numpy()))


# ---------------------------------------------------------------- derivatives
def _phase_free(u):
    return (u * u.conj()).real                           # vectors are given up to a sign or phase


def _hermitian(a):
    return a + a.mH


GRADIENTS = {
    "cholesky": (lambda a: linalg.cholesky(a @ a.mH + torch.eye(3)), (3, 3)),
    "qr": (lambda a: linalg.qr(a), (3, 3)), "qr tall": (lambda a: linalg.qr(a), (2, 4, 2)),
    "qr wide": (lambda a: linalg.qr(a), (2, 4)), "qr complete": (lambda a: linalg.qr(a, "complete"), (2, 4)),
    "svd": (lambda a: (linalg.svd(a, False).S, *map(_phase_free, linalg.svd(a, False)[::2])), (3, 3)),
    "svd tall": (lambda a: (linalg.svd(a, False).S, *map(_phase_free, linalg.svd(a, False)[::2])), (4, 2)),
    "svd wide": (lambda a: (linalg.svd(a, False).S, *map(_phase_free, linalg.svd(a, False)[::2])), (2, 3)),
    "svd product": (lambda a: (lambda u, s, vh: u @ vh)(*linalg.svd(a, False)), (3, 2)),
    "svdvals": (linalg.svdvals, (2, 2, 3)), "eigh": (lambda a: (linalg.eigh(_hermitian(a)).eigenvalues,
                                                              _phase_free(linalg.eigh(_hermitian(a))[1])), (3, 3)),
    "eigvalsh": (lambda a: linalg.eigvalsh(_hermitian(a)), (2, 2, 2)),
    "eig": (lambda a: (linalg.eig(a).eigenvalues.abs(), _phase_free(linalg.eig(a)[1])), (3, 3)),
    "eigvals": (lambda a: (linalg.eigvals(a) ** 2).sum().real, (3, 3)),
    "solve": (linalg.solve, (3, 3), (3, 2)), "solve broadcast": (linalg.solve, (3, 3), (2, 3, 1)),
    "solve vector": (linalg.solve, (2, 3, 3), (2, 3)), "solve right": (lambda a, b: linalg.solve(a, b, left=False), (3, 3), (2, 3)),
    "solve_triangular": (lambda a, b: linalg.solve_triangular(a, b, upper=True), (3, 3), (3, 1)),
    "unitriangular": (lambda a, b: linalg.solve_triangular(a, b, upper=False, unitriangular=True), (3, 3), (3, 1)),
    "inv": (linalg.inv, (2, 2, 2)), "det": (linalg.det, (2, 3, 3)), "slogdet": (lambda a: linalg.slogdet(a)[1], (3, 3)),
    "slogdet sign": (lambda a: linalg.slogdet(a)[0], (3, 3)),
    "pinv": (linalg.pinv, (2, 3)), "pinv tall": (linalg.pinv, (3, 2)),
    "lstsq": (lambda a, b: linalg.lstsq(a, b, driver="gels")[:2], (4, 2), (4, 1)),
    "matrix_norm": (lambda a: [linalg.matrix_norm(a, p) for p in ("fro", "nuc", 2, -2, 1, np.inf)], (3, 2)),
    "vector_norm": (lambda a: [linalg.vector_norm(a, p, -1) for p in (1, 2, 3, np.inf)], (2, 3)),
    "cond": (lambda a: [linalg.cond(a, p) for p in (None, 1, "fro")], (3, 3)),
    "matrix_power": (lambda a: [linalg.matrix_power(a, n) for n in (3, -2)], (2, 2)), "matrix_exp": (torch.matrix_exp, (2, 2)),
    "multi_dot": (lambda a, b, c: linalg.multi_dot([a, b, c]), (2, 3), (3, 2), (2, 2)),
    "vecdot": (linalg.vecdot, (2, 3), (2, 3)), "tensorinv": (linalg.tensorinv, (2, 2, 4)),
}


@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_derivatives(name, kind):
    function, *shapes = GRADIENTS[name]

    def outputs(*inputs):
        found = function(*inputs)
        found = [found] if isinstance(found, torch.Tensor) else list(found)
        if name.startswith("qr") and kind == "complex128":
            found = [found[0] @ found[1], found[1].abs()]                # columns are given up to a phase
        return tuple(found)

    inputs = [matrices(*s, kind=kind, seed=i + 11).requires_grad_() for i, s in enumerate(shapes)]

    assert gradcheck(outputs, inputs)
    assert gradgradcheck(outputs, inputs, fast_mode=True)


def test_determinants_of_singular_matrices_have_gradients():
    for rank in (2, 1):
        u, v = matrices(3, rank), matrices(rank, 3, seed=2)
        a = (u @ v).requires_grad_()
        grad, = torch.autograd.grad(linalg.det(a), a)
        steps = np.zeros((3, 3))
        for i in range(3):
            for j in range(3):
                m = np.delete(np.delete(a.detach().numpy(), i, 0), j, 1)
                steps[i, j] = (-1) ** (i + j) * np.linalg.det(m)
        near(grad, steps)
    zero = torch.zeros(2, 2, requires_grad=True)
    near(torch.autograd.grad(linalg.det(zero), zero)[0], np.zeros((2, 2)))


@pytest.mark.parametrize("outer", [torch.func.jacrev, torch.func.jacfwd], ids=["jacrev", "jacfwd"])
@pytest.mark.parametrize("inner", [torch.func.jacrev, torch.func.jacfwd], ids=["jacrev", "jacfwd"])
def test_determinants_of_singular_matrices_have_hessians(inner, outer):
    singular = torch.tensor([[1., 2., 0.], [3., 4., 0.], [0., 0., 0.]], dtype=torch.float64)
    signs = np.linalg.det(np.eye(3)[np.indices((3, 3, 3)).transpose(1, 2, 3, 0)])            # of orders of the rows, 0 with equal ones
    near(outer(inner(linalg.det))(singular), np.einsum("ikm,jln,mn->ijkl", signs, signs, singular.numpy()))


@pytest.mark.parametrize("ways", [*itertools.product([torch.func.jacrev, torch.func.jacfwd], repeat=3)], ids=lambda ways: " ".join(w.__name__ for w in ways))
def test_third_derivatives_of_determinants_of_singular_matrices_are_refused(ways):
    """And are not zeros."""
    function = linalg.det
    for way in ways:
        function = way(function)
    with pytest.raises(NotImplementedError, match="up to the second"):
        function(torch.tensor([[1., 2., 0.], [3., 4., 0.], [0., 0., 0.]]))


def test_what_has_no_gradient_says_so():
    a = matrices(3, 2).requires_grad_()
    for mode, message in (("r", "depends on Q"), ("complete", "not differentiable when mode='complete'")):
        with pytest.raises(RuntimeError, match=message):
            linalg.qr(a, mode).R.sum().backward()


# ---------------------------------------------------------------- errors
@pytest.mark.parametrize("call, error, message", [
    (lambda: linalg.inv(torch.zeros(2, 2)), linalg.LinAlgError, "singular"),
    (lambda: linalg.solve(torch.zeros(2, 2), torch.ones(2)), linalg.LinAlgError, "singular"),
    (lambda: linalg.cholesky(-torch.eye(2)), linalg.LinAlgError, "not positive-definite"),
    (lambda: linalg.svd(matrices(3, 3) * np.nan), linalg.LinAlgError, "linalg.svd: The algorithm .* contained non-finite values"),
    (lambda: linalg.pinv(torch.stack([torch.eye(2), torch.eye(2) * np.nan])), linalg.LinAlgError, r"linalg.svd: \(Batch element 1\): The algorithm"),
    (lambda: linalg.inv(torch.ones(2, 3)), RuntimeError, "must be batches of square matrices"),
    (lambda: linalg.det(torch.ones(3)), RuntimeError, "at least 2 dimensions"),
    (lambda: linalg.svd(torch.ones(2, 2, dtype=torch.int64)), RuntimeError, "Expected a floating point or complex"),
    (lambda: linalg.inv(torch.ones(2, 2).half()), RuntimeError, "Expected a floating point or complex"),
    (lambda: linalg.eigh([1]), TypeError, "must be Tensor, not list"),
    (lambda: linalg.qr(torch.ones(2, 2), "none"), RuntimeError, "unrecognized mode"),
    (lambda: linalg.solve(torch.eye(2), torch.ones(3, 1)), RuntimeError, "Incompatible shapes"),
    (lambda: linalg.solve(torch.eye(2), torch.ones(2).double()), RuntimeError, "same dtype"),
    (lambda: linalg.matrix_norm(torch.eye(2), "a"), RuntimeError, "not supported"),
    (lambda: linalg.matrix_norm(torch.eye(2), 1, (0, 0)), RuntimeError, "dims must be different"),
    (lambda: linalg.multi_dot([torch.eye(2)]), RuntimeError, "at least 2 tensors"),
    (lambda: linalg.tensorinv(torch.eye(2), 0), RuntimeError, "strictly positive"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_infinities_give_nan_as_singular_values_and_refuse_eigenvalues():
    """LAPACK need not return from a singular value decomposition of infinities."""
    several = torch.stack([torch.eye(3), torch.eye(3)])
    several[1, 2, 0] = np.inf
    for a in (several, several.to(torch.complex128), several[1:], several[1]):
        for values in (linalg.svdvals(a), *linalg.svd(a), linalg.pinv(a)):
            assert values.isnan()[-1].all() and (len(a) != 2 or not values[0].isnan().any())
        for eigenvalues in (linalg.eig, linalg.eigvals):
            with pytest.raises(RuntimeError, match="should not contain infs or NaNs") as refused:
                eigenvalues(a)
            assert refused.type is RuntimeError


def test_info_instead_of_errors():
    found = linalg.cholesky_ex(torch.tensor([[[4.0, 2.0], [2.0, 5.0]], [[1.0, 2.0], [2.0, 1.0]], [[-1.0, 2.0], [2.0, 1.0]]]))
    assert found.info.tolist() == [0, 2, 1] and found.L[0].tolist() == [[2, 0], [1, 2]] and found.L[1:].isnan().all()
    assert linalg.cholesky_ex(4 * torch.eye(2), upper=True).L.tolist() == [[2, 0], [0, 2]]
    with pytest.raises(linalg.LinAlgError):
        linalg.cholesky_ex(-torch.eye(2), check_errors=True)
    found = linalg.inv_ex(torch.stack([torch.eye(2), torch.zeros(2, 2)]))
    assert found.info.tolist() == [0, 1] and linalg.inv_ex(torch.eye(2)).info.item() == 0
    assert torch.equal(found.inverse[0], torch.eye(2)) and found.inverse[1].isnan().all()      # one does not spoil the others
    found = linalg.solve_ex(torch.stack([torch.tensor([[1.0, 2.0], [2.0, 4.0]]), 2 * torch.eye(2)]), torch.ones(2, 2))
    assert found.info.tolist() == [2, 0] and found.result[1].tolist() == [0.5, 0.5] and found.result[0].isnan().all()
    with pytest.raises(linalg.LinAlgError):
        linalg.solve_ex(torch.zeros(2, 2), torch.ones(2, 1), check_errors=True)


def test_results_go_into_out():
    a = matrices(2, 2)
    out = torch.empty(0, dtype=torch.float64)
    assert linalg.inv(a, out=out) is out and torch.equal(out, linalg.inv(a))
    q, r = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    assert linalg.qr(a, out=(q, r)).Q is q and torch.equal(r, linalg.qr(a).R)


def test_rank_takes_its_tolerance_and_symmetry_by_place():
    assert linalg.matrix_rank(torch.diag(torch.tensor([1.0, 0.001])), 0.01, True).item() == 1


@pytest.mark.parametrize("call, message", [
    (lambda: torch.chain_matmul(), "one or more matrices"), (lambda: linalg.norm(torch.ones(3), "fro"), "is of matrices"),
    (lambda: linalg.norm(torch.ones(2, 3), "nuc", dim=(0,)), "is of matrices"),
])
def test_nothing_and_too_few_dimensions_are_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()
