"""Factorisations and Fourier transforms by NVIDIA's libraries, against stand-ins for their bindings (fakelibraries.py) on the driver
made for tests: what is asked of them, in which memory, in which order, and what is made of what they say.

Each body runs in a process of its own: this file as a script, with the body's name and an element type.
"""
from __future__ import annotations

import itertools
import os
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec

import bodies
import numpy as np
import pytest
from daily import in_turn

KINDS = ["float32", "float64", "complex64", "complex128"]
BODIES = {}


def body(*kinds):
    def add(function):
        BODIES[function.__name__] = function, kinds
        return function
    return add


# ---------------------------------------------------------------- helpers
def draw(shape, kind, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if kind.startswith("complex") else x).astype(kind)


def orders(torch, x):
    """An array on the device: contiguous, with its last dimensions exchanged in memory, with gaps and backwards in memory."""
    yield torch.tensor(x).cuda()
    if x.ndim > 1:
        yield torch.tensor(np.ascontiguousarray(np.swapaxes(x, -1, -2))).cuda().mT
        gaps = np.zeros((*x.shape[:-2], 2 * x.shape[-2], 3 * x.shape[-1]), x.dtype)
        gaps[..., ::2, 1::3] = x
        yield torch.tensor(gaps).cuda()[..., ::2, 1::3]


def array(x):
    return x.detach().cpu().numpy()


def tolerance(kind):
    return 1e-4 if kind in ("float32", "complex64") else 1e-10


def same(x, wanted, kind, slack=1):
    x, wanted = (array(t) if hasattr(t, "cpu") else np.asarray(t) for t in (x, wanted))
    assert x.shape == wanted.shape, (x.shape, wanted.shape)
    np.testing.assert_allclose(x, wanted, rtol=tolerance(kind) * slack, atol=tolerance(kind) * slack)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def unitary(x, kind):
    same(adjoint(x) @ x, np.broadcast_to(np.eye(x.shape[-1]), (*x.shape[:-2], x.shape[-1], x.shape[-1])), kind)


def raised(torch, function):
    try:
        function()
    except torch.linalg.LinAlgError as error:
        return str(error)
    raise AssertionError("nothing was raised")


def used(libraries, *names):
    """That these functions were called since the last time, whatever the element type."""
    assert not set(names) - {call if call[0] == "x" else call[1:] for call in libraries.calls}, (names, libraries.calls)
    libraries.calls.clear()


SMALL = 4                                                # extent up to which routines for many matrices are used here
SHAPES = [(1, 1), (5, 5), (3, 4, 4), (2, 1, 3, 3), (2, 7, 7)]


def squares(kind):
    for shape in SHAPES:
        yield draw(shape, kind) + np.eye(shape[-1]).astype(kind)


# ---------------------------------------------------------------- bodies
@body(*KINDS)
def positive_definite(libraries, torch, kind):
    for x in squares(kind):
        x = (x @ adjoint(x) + x.shape[-1] * np.eye(x.shape[-1])).astype(kind)
        wanted = np.linalg.cholesky(x)
        for A in orders(torch, x):
            before = array(A)
            lower = torch.linalg.cholesky(A)
            same(lower, wanted, kind)
            assert lower.is_contiguous() and (array(A) == before).all()
            same(torch.linalg.cholesky(A.tril(), upper=False), wanted, kind)
            same(torch.linalg.cholesky(A.triu(), upper=True), adjoint(wanted), kind)
            same(torch.linalg.inv(A), np.linalg.inv(x), kind)
        used(libraries, "potrf_batched" if x.ndim > 2 and x.shape[-1] <= SMALL else "xpotrf")


@body(*KINDS)
def eigenvalues(libraries, torch, kind):
    for x in squares(kind):
        h = x + adjoint(x)
        for A in orders(torch, h):
            for triangle, cut in (("L", torch.tril), ("U", torch.triu)):
                values, vectors = torch.linalg.eigh(cut(A), triangle)
                same(values, np.linalg.eigvalsh(h), kind)
                same(array(vectors) * array(values)[..., None, :] @ adjoint(array(vectors)), h, kind)
                same(torch.linalg.eigvalsh(cut(A), triangle), values, kind)
        used(libraries, "xsyev_batched" if x.ndim > 2 and len(x) > 1 else "xsyevd")
        for A in orders(torch, x):
            values, vectors = (array(t) for t in torch.linalg.eig(A))
            same(x @ vectors, vectors * values[..., None, :], kind)
            same(np.linalg.norm(vectors, axis=-2), np.ones(values.shape), kind)
            same(torch.linalg.eigvals(A), values, kind)
        used(libraries, "xgeev")


@body(*KINDS)
def singular_values(libraries, torch, kind):
    for shape in ((1, 1), (4, 4), (6, 3), (3, 6), (3, 4, 4), (2, 5, 3), (2, 3, 5), (2, 7, 6)):
        x, k = draw(shape, kind), min(shape[-2:])
        for A in orders(torch, x):
            for full in (True, False):
                U, S, Vh = (array(t) for t in torch.linalg.svd(A, full))
                same(S, np.linalg.svd(x, compute_uv=False), kind)
                same(U[..., :k] * S[..., None, :] @ Vh[..., :k, :], x, kind)
                unitary(U, kind)
                unitary(adjoint(Vh), kind)
            same(torch.linalg.svdvals(A), S, kind)
        used(libraries, "gesvdj_batched" if x.ndim > 2 and max(shape) <= 5 else "gesvdj")
        same(torch.linalg.pinv(A), np.linalg.pinv(x), kind, 10)
        same(torch.linalg.lstsq(A, torch.tensor(x).cuda()).solution, np.linalg.pinv(x) @ x, kind, 10)


@body(*KINDS)
def orthogonal(libraries, torch, kind):
    for shape in ((1, 1), (4, 4), (6, 3), (3, 6), (2, 5, 3), (2, 3, 5)):
        x, k = draw(shape, kind), min(shape[-2:])
        for A in orders(torch, x):
            for mode in ("reduced", "complete", "r"):
                Q, R = (array(t) for t in torch.linalg.qr(A, mode))
                assert (np.tril(R, -1) == 0).all()
                if mode != "r":
                    same(Q @ R, x, kind)
                    unitary(Q, kind)
                else:
                    same(np.abs(R), np.abs(np.linalg.qr(x, "r")), kind)
            a, tau = torch.geqrf(A)
            same(array(torch.linalg.householder_product(a[..., :k], tau)) @ np.triu(array(a))[..., :k, :], x, kind)
        used(libraries, "xgeqrf", "ungqr" if kind.startswith("complex") else "orgqr")


@body(*KINDS)
def systems(libraries, torch, kind):
    for x in squares(kind):
        n = x.shape[-1]
        b = draw((*x.shape[:-1], 2), kind, 1)
        wanted = np.linalg.solve(x.astype(np.result_type(x, float)), b)
        slack = 30
        for A in orders(torch, x):
            for B in orders(torch, b):
                same(torch.linalg.solve(A, B), wanted, kind, slack)
            same(torch.linalg.solve(A, B[..., 0]), wanted[..., 0], kind, slack)
            same(torch.linalg.solve(A.mT, B.mT, left=False), np.swapaxes(wanted, -1, -2), kind, slack)
            same(torch.linalg.inv(A), np.linalg.inv(x), kind, slack)
            sign, size = np.linalg.slogdet(x)
            same(torch.linalg.slogdet(A)[0], sign, kind, slack)
            same(torch.linalg.slogdet(A)[1], size, kind, slack)
            same(torch.linalg.det(A), np.linalg.det(x), kind, slack)
            P, L, U = torch.linalg.lu(A)
            same(array(P) @ array(L) @ array(U), x, kind, slack)
            factors = torch.linalg.lu_factor(A)
            same(torch.linalg.lu_solve(*factors, B), wanted, kind, slack)
        used(libraries, *("getrf_batched", "getrs_batched", "trsm_batched") if x.ndim > 2 and n <= SMALL else ("getrf", "getrs", "trsm"))
        several = draw((3, *x.shape[:-1], 2), kind, 2)
        same(torch.linalg.solve(A, torch.tensor(several).cuda()), np.linalg.solve(x, several), kind, slack)
    for shape in ((4, 6), (2, 6, 4)):
        x = draw(shape, kind)
        for A in orders(torch, x):
            P, L, U = torch.linalg.lu(A)
            same(array(P) @ array(L) @ array(U), x, kind)


@body(*KINDS)
def triangles(libraries, torch, kind):
    for x in squares(kind):
        n = x.shape[-1]
        x = (x / n + np.eye(n)).astype(kind)
        b = draw((*x.shape[:-1], 3), kind, 1)
        for A in orders(torch, x):
            for upper in (True, False):
                for unit in (True, False):
                    cut = np.triu(x) if upper else np.tril(x)
                    if unit:
                        cut = cut - np.einsum("...ii->...i", cut)[..., None] * np.eye(n) + np.eye(n)
                    for B in orders(torch, b):
                        same(torch.linalg.solve_triangular(A, B, upper=upper, unitriangular=unit), np.linalg.solve(cut, b), kind, 3)
                    same(torch.linalg.solve_triangular(A, B.mT, upper=upper, left=False, unitriangular=unit),
                         np.swapaxes(np.linalg.solve(np.swapaxes(cut, -1, -2), b), -1, -2), kind, 3)
            same(torch.linalg.solve_triangular(A, torch.tensor(b[..., :1]).cuda(), upper=True), np.linalg.solve(np.triu(x), b[..., :1]), kind, 3)
    one, several = draw((4, 4), kind) + 4 * np.eye(4).astype(kind), draw((3, 4, 2), kind)
    same(torch.linalg.solve_triangular(torch.tensor(one).cuda(), torch.tensor(several).cuda(), upper=True), np.linalg.solve(np.triu(one), several), kind)
    used(libraries, "trsm", "trsm_batched")
    for x in squares(kind):
        n = x.shape[-1]
        b = draw((*x.shape[:-1], 2), kind, 1)
        for hermitian, whole in ((False, x + np.swapaxes(x, -1, -2)), (True, x + adjoint(x))):
            for A in orders(torch, whole):
                factors = torch.linalg.ldl_factor(A.tril(), hermitian=hermitian)
                for B in orders(torch, b):
                    same(torch.linalg.ldl_solve(*factors, B, hermitian=hermitian), np.linalg.solve(whole, b), kind, 30)
        used(libraries, "sytrf", "xsytrs")


@body(*KINDS)
def errors(libraries, torch, kind):
    one = np.eye(4).astype(kind)
    bad, singular = one.copy(), one.copy()
    bad[2, 2], singular[1, 1] = -1, 0
    bad, singular = (torch.tensor(np.stack([one, x, one])).cuda() for x in (bad, singular))
    text = "The factorization could not be completed because the input is not positive-definite (the leading minor of order 3 is not positive-definite)."
    assert raised(torch, lambda: torch.linalg.cholesky(bad[1])) == f"linalg.cholesky: {text}"
    assert raised(torch, lambda: torch.linalg.cholesky(bad)) == f"linalg.cholesky: (Batch element 1): {text}"
    factor, info = torch.linalg.cholesky_ex(bad)
    assert info.tolist() == [0, 3, 0] and np.isnan(array(factor)[1]).all()
    same(factor[2], one, kind)
    text = "The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular."
    assert raised(torch, lambda: torch.linalg.inv(singular)) == f"linalg.inv: (Batch element 1): {text}"
    assert raised(torch, lambda: torch.linalg.inv(singular[1])) == f"linalg.inv: {text}"
    assert raised(torch, lambda: torch.linalg.solve(singular, bad)) == ("torch.linalg.solve: (Batch element 1): The solver failed because the input "
                                                                        "matrix is singular.")
    inverse, info = torch.linalg.inv_ex(singular)
    assert info.tolist() == [0, 2, 0] and np.isnan(array(inverse)[1]).all()
    same(inverse[0], one, kind)
    same(torch.linalg.det(singular), [1, 0, 1], kind)
    assert torch.linalg.slogdet(singular)[1].tolist() == [0, -np.inf, 0]
    assert torch.linalg.lu_factor_ex(singular).info.tolist() == [0, 2, 0]
    assert torch.linalg.ldl_factor_ex(singular[1]).info.item() == 2
    with warnings.catch_warnings():                      # the host looks at what did not converge
        warnings.simplefilter("ignore")
        for name in ("svd", "eigh"):
            assert "converge" in raised(torch, lambda name=name: getattr(torch.linalg, name)(torch.full((3, 3), float("nan"), dtype=bad.dtype).cuda()))
    for shape in ((0, 3, 3), (2, 0, 0)):
        x = torch.zeros(*shape, dtype=bad.dtype).cuda()
        assert torch.linalg.cholesky(x).shape == torch.linalg.inv(x).shape == torch.linalg.qr(x).R.shape == shape
        assert torch.linalg.det(x).tolist() == [1, 1][:shape[0]]


@body("complex64", "complex128")
def transforms(libraries, torch, kind):
    real = {"complex64": "float32", "complex128": "float64"}[kind]
    norms = itertools.cycle(("backward", "ortho", "forward"))
    for shape in ((8,), (5,), (1,), (4, 6), (3, 5, 2), (2, 3, 4, 3), (2, 3, 2, 3, 2)):
        x, y = draw(shape, kind), draw(shape, real)
        last = len(shape) - 1
        some = {(d,) for d in range(len(shape))} | {tuple(range(len(shape))), tuple(range(len(shape)))[::-1], (0, last) if last else (0,)}
        for X, Y in zip(orders(torch, x), orders(torch, y)):
            before = array(X)
            for dims in sorted(some):
                norm = next(norms)
                for name in ("fftn", "ifftn"):
                    same(getattr(torch.fft, name)(X, dim=dims, norm=norm), getattr(np.fft, name)(x, axes=dims, norm=norm), kind)
                out = torch.fft.rfftn(Y, dim=dims, norm=norm)
                assert out.is_contiguous()
                same(out, np.fft.rfftn(y, axes=dims, norm=norm), kind)
                if shape[dims[-1]] > 1:
                    same(torch.fft.irfftn(X, dim=dims, norm=norm), np.fft.irfftn(x, axes=dims, norm=norm), kind)
                odd = 2 * shape[dims[-1]] - 1
                same(torch.fft.irfft(X, odd, dims[-1], norm), np.fft.irfft(x, odd, dims[-1], norm), kind)
                same(torch.fft.hfft(X, 6, dims[-1], norm), np.fft.hfft(x, 6, dims[-1], norm), kind)
                same(torch.fft.ihfft(Y, 4, dims[-1], norm), np.fft.ihfft(y, 4, dims[-1], norm), kind)
            assert (array(X) == before).all()            # what a library destroys was a copy
    wide = torch.tensor(draw((9,), real)).cuda()
    same(torch.fft.rfft(wide[1:]), np.fft.rfft(array(wide)[1:]), kind)       # not where a complex number may lie
    assert torch.fft.fft(torch.zeros(0, 4, dtype=out.dtype).cuda()).shape == (0, 4)
    plans = []
    for _ in range(4):
        torch.fft.fft(torch.tensor(draw((4, 6), kind)).cuda())
        plans.append(libraries.calls.count("make_plan_many64"))
    assert len(set(plans)) == 1
    grads = []
    for device in ("cuda", "cpu"):
        point = torch.tensor(draw((3, 4), real), device=device, requires_grad=True)
        torch.fft.irfft2(torch.fft.rfft2(point) * torch.fft.fft2(point)[:, :3], (3, 4)).pow(2).sum().backward()
        grads.append(point.grad)
    same(*grads, kind, 10)


@body("float64", "complex128")
def gradients(libraries, torch, kind):
    x = draw((2, 3, 3), kind)
    x = x @ adjoint(x) + 3 * np.eye(3)
    for name in ("cholesky", "inv", "eigvalsh", "svdvals", "det"):
        grads = []
        for device in ("cuda", "cpu"):
            point = torch.tensor(x, device=device, requires_grad=True)
            value = getattr(torch.linalg, name)(point).abs()
            (value * torch.arange(1.0, 1 + value.numel(), dtype=value.dtype, device=device).reshape(value.shape)).sum().backward()
            grads.append(point.grad)
        same(*grads, kind)


@body("float32")
def streams_and_graphs(libraries, torch, kind):
    """Work is done in the current stream and in its order, scratch memory is kept as long as it is used, and graphs hold transforms."""
    side = torch.cuda.Stream()
    x = torch.randn(6, 8, dtype=torch.complex64).cuda()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        y = torch.fft.fft(x * 2) + 1
        A = torch.linalg.inv(torch.eye(3).cuda() * 2)
    assert int(side.cuda_stream) in libraries.handles.values()
    side.synchronize()
    same(y, np.fft.fft(array(x) * 2) + 1, kind)
    same(A, np.eye(3) / 2, kind)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.fft.fft(x) * 2
    for scale in (1, 3):
        x.copy_(torch.full((6, 8), scale + 0j).cuda())
        graph.replay()
        same(y, np.fft.fft(np.full((6, 8), 2 * scale)), kind)
    for what, function in (("cuFFT's plan", lambda: torch.fft.fft(torch.empty(3, 2, dtype=torch.complex64, device="cuda"))),
                           ("a Cholesky factorisation by cusolverDn", lambda: torch.linalg.cholesky(torch.empty(3, 3, device="cuda")))):
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                function()
        except RuntimeError as error:
            assert what in str(error) and "capturing" in str(error), error
        else:
            raise AssertionError(f"{what} was captured")
    triangle, b = torch.eye(3).cuda() * 4, torch.ones(3, 2).cuda()
    torch.linalg.solve_triangular(triangle, b, upper=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.linalg.solve_triangular(triangle, b, upper=True)
    b.mul_(8)
    graph.replay()
    same(y, np.full((3, 2), 2.0), kind)

    def both(z):
        return torch.fft.fft(z + 1).abs() + torch.linalg.solve_triangular(triangle, b, upper=True).sum()
    compiled = torch.compile(both)
    z = torch.randn(5, 8).cuda()
    for _ in range(4):
        z.add_(1)
        same(compiled(z), both(z), kind)


@body("float32")
def what_is_missing(libraries, torch, kind):
    """Where the installed version has no geev, eigenvalues are the host's; without batches of eigenvalues, one matrix after another."""
    libraries.refused |= {"xgeev_buffer_size", "xsyev_batched_buffer_size"}
    x = draw((2, 3, 3), kind)
    A = torch.tensor(x).cuda()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        values, vectors = (array(t) for t in torch.linalg.eig(A))
        same(x @ vectors, vectors * values[..., None, :], kind)
    assert any("computed on the host" in str(w.message) for w in said)
    same(torch.linalg.eigvalsh(A + A.mT), np.linalg.eigvalsh(x + adjoint(x)), kind)
    used(libraries, "xsyevd")


@body("float32")
def solvers_are_asked_for(libraries, torch, kind):
    """Transforms are cuFFT's as soon as it is there; factorisations are the host's unless the environment says otherwise."""
    os.environ["NUMTORCH_NVIDIA_SOLVERS"] = ""
    x = draw((3, 3), kind)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        same(torch.linalg.inv(torch.tensor(x).cuda()), np.linalg.inv(x), kind)
    assert len([w for w in said if "computed on the host" in str(w.message)]) == 1 and not libraries.calls
    same(torch.fft.fft(torch.tensor(x).cuda()), np.fft.fft(x), kind)
    assert libraries.calls


@body("float32")
def nothing_installed(libraries, torch, kind):
    for name in [name for name in sys.modules if name.partition(".")[0] == "nvmath"]:
        sys.modules[name] = None                         # cannot be imported
    x = draw((3, 3), kind)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        same(torch.linalg.inv(torch.tensor(x).cuda()), np.linalg.inv(x), kind)
        same(torch.fft.fft(torch.tensor(x).cuda()), np.fft.fft(x), kind)
        same(torch.linalg.svdvals(torch.tensor(x).cuda()), np.linalg.svd(x, compute_uv=False), kind)
    assert len([w for w in said if "computed on the host" in str(w.message)]) == 1
    P, L, U = torch.linalg.lu(torch.tensor(x).cuda())
    same(array(P) @ array(L) @ array(U), x, kind)
    assert not libraries.calls


# ---------------------------------------------------------------- processes
@pytest.mark.parametrize("name, kind", [(name, kind) for name, (_, kinds) in BODIES.items() for kind in in_turn(kinds, name)])
def test_on_libraries_for_tests(name, kind):
    """Of each body, an element type; all with NUMTORCH_TEST_ALL=1."""
    pytest.importorskip("scipy")
    bodies.run(__file__, name, kind, NUMBA_ENABLE_CUDASIM="1", NUMTORCH_NVIDIA_SOLVERS="1")


def test_signatures_are_those_of_the_bindings():
    """Every function that the stand-ins have, against nvmath-python where it is installed."""
    if find_spec("nvmath") is None:
        pytest.skip("nvmath-python is not installed")
    import fakelibraries
    for module, name, signature, *_ in fakelibraries.names():
        function = getattr(import_module(f"nvmath.bindings.{module}"), name)
        assert function.__doc__.partition(")")[0] + ")" == f"{name}({signature})", function.__doc__
    from nvmath.bindings import cublas, cufft, cusolver, cusolverDn  # noqa: F401
    assert cublas.SideMode.RIGHT == cublas.DiagType.UNIT == cublas.FillMode.UPPER == cublas.Operation.T == cusolver.EigMode.VECTOR == 1
    assert [int(cufft.Type[name]) for name in ("C2C", "R2C", "C2R", "Z2Z", "D2Z", "Z2D")] == [0x29, 0x2A, 0x2C, 0x69, 0x6A, 0x6C]


if __name__ == "__main__":
    import fakedriver
    import fakelibraries
    fake = fakedriver.install()
    libraries = fakelibraries.install(fake)
    import numtorch
    name, kind = bodies.served()
    if name not in ("nothing_installed", "solvers_are_asked_for"):
        from numtorch.kernels.cuda.linalg import lapack
        lapack.BATCHED, lapack.JACOBI = SMALL, 5
    try:
        if name not in ("errors", "what_is_missing", "nothing_installed", "solvers_are_asked_for"):
            warnings.filterwarnings("error", message=".*computed on the host")
        BODIES[name][0](libraries, numtorch, kind)
    except Exception:
        print(*fake.errors[:2], sep="\n", file=sys.stderr)
        raise
