"""Matrix products and sums over named dimensions against NumPy: shapes, layouts, dtypes, gradients, messages."""
import numpy as np
import pytest

import numtorch as torch
from numtorch.autograd.gradcheck import gradcheck, gradgradcheck
from numtorch.ops.nn.linear import linear

RNG = np.random.default_rng(0)


def draw(*shape, dtype="float64"):
    if dtype.startswith("complex"):
        return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)
    return RNG.integers(-4, 5, shape).astype(dtype) if dtype[0] in "iu" else RNG.standard_normal(shape).astype(dtype)


def close(found, wanted, dtype):
    assert found.shape == wanted.shape
    eps = {"float16": 2e-2, "float32": 1e-4, "complex64": 1e-4}.get(dtype, 1e-10)
    np.testing.assert_allclose(found.numpy().astype(wanted.dtype), wanted, rtol=eps, atol=eps * 4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32", "complex64", "complex128"])
def test_mm(dtype):
    for n, m, p in ((3, 4, 5), (1, 1, 1), (17, 33, 9), (0, 3, 2), (3, 0, 2), (2, 3, 0), (1, 64, 1)):
        a, b = draw(n, m, dtype=dtype), draw(m, p, dtype=dtype)
        wide = "float64" if dtype == "float16" else dtype
        wanted = a.astype(wide) @ b.astype(wide)
        close(torch.mm(torch.from_numpy(a), torch.from_numpy(b)), wanted, dtype)
        close(torch.from_numpy(np.ascontiguousarray(a.T)).t() @ torch.from_numpy(np.ascontiguousarray(b.T)).t(), wanted, dtype)


def test_bfloat16_and_bool():
    a, b = torch.from_numpy(draw(6, 7, dtype="float32")).bfloat16(), torch.from_numpy(draw(7, 5, dtype="float32")).bfloat16()
    np.testing.assert_allclose((a @ b).float().numpy(), a.float().numpy() @ b.float().numpy(), rtol=0.02, atol=0.05)


@pytest.mark.parametrize("strides", ["sliced", "reversed", "broadcast row", "broadcast column"])
def test_strided_operands(strides):
    a, b = draw(20, 30, dtype="float32"), draw(15, 12, dtype="float32")
    cut = {"sliced": lambda x: x[::2, ::2], "reversed": lambda x: x[::-1, ::-1],
    "broadcast row": lambda x: np.lib.stride_tricks.as_strided(x, x.shape, (0, 4)),
           "broadcast column": lambda x: np.lib.stride_tricks.as_strided(x, x.shape, (x.strides[0], 0))}[strides]
    left, right = cut(a), b[:cut(a).shape[1]] if cut(a).shape[1] <= 15 else draw(cut(a).shape[1], 12, dtype="float32")
    close(torch.from_numpy(left) @ torch.from_numpy(right), left @ right, "float32")
    close(torch.from_numpy(right).t() @ torch.from_numpy(left).t(), right.T @ left.T, "float32")


@pytest.mark.parametrize("a, b", [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3),
(5, 3, 4)), ((2, 3), (5, 3, 4)),
                                  ((5, 1, 2, 3), (6, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((0, 2,
                                  3), (3, 4)), ((2, 0), (0, 3)),
                                  ((2, 1, 4, 0), (3, 0, 2)), ((0,), (0,))], ids=str)
def test_matmul(a, b):
    x, y = draw(*a), draw(*b)
    close(torch.from_numpy(x) @ torch.from_numpy(y), np.asarray(x @ y), "float64")
    if 0 not in a:
        tensors = torch.from_numpy(x).requires_grad_(), torch.from_numpy(y).requires_grad_()
        gradcheck(torch.matmul, tensors, fast_mode=True)
        gradgradcheck(torch.matmul, tensors, fast_mode=True)


def leaves(*shapes, dtype="float64"):
    return [torch.from_numpy(draw(*s, dtype=dtype)).requires_grad_() for s in shapes]


@pytest.mark.parametrize("function, numpy, shapes", [
    (torch.bmm, np.matmul, ((3, 2, 4), (3, 4, 5))), (torch.dot, np.dot, ((5,), (5,))), (torch.mv, np.dot, ((3, 5), (5,))),
    (torch.outer, np.outer, ((3,), (4,))),
    (torch.addmm, lambda i, a, b: i + a @ b, ((3, 5), (3, 4), (4, 5))), (torch.addmm, lambda i, a, b: i + a @ b, ((5,), (3, 4), (4,
    5))),
    (lambda i, a, b: torch.addmm(i, a, b, beta=0.5, alpha=2), lambda i, a, b: 0.5 * i + 2 * (a @ b), ((3, 5), (3, 4), (4, 5))),
    (torch.addmv, lambda i, a, b: i + a @ b, ((3,), (3, 4), (4,))), (torch.baddbmm, lambda i, a, b: i + a @ b, ((2, 3, 5), (2, 3,
    4), (2, 4, 5))),
    (torch.addr, lambda i, a, b: i + np.outer(a, b), ((3, 4), (3,), (4,))), (linear, lambda x, w: x @ w.T, ((6, 4), (3, 4))),
    (linear, lambda x, w, b: x @ w.T + b, ((2, 5, 4), (3, 4), (3,))), (linear, lambda x, w, b: x @ w.T + b, ((4,), (3, 4), (3,))),
    (torch.tensordot, lambda a, b: np.tensordot(a, b), ((2, 3, 4), (3, 4, 5))),
    (lambda a, b: torch.tensordot(a, b, ([0, 2], [1, 0])), lambda a, b: np.tensordot(a, b, ([0, 2], [1, 0])), ((2, 3, 4), (4, 2))),
    (torch.chain_matmul, lambda a, b, c: a @ b @ c, ((2, 3), (3, 4), (4, 2))),
], ids=lambda v: getattr(v, "__name__", None) if callable(v) else str(v))
def test_products(function, numpy, shapes):
    tensors = leaves(*shapes)
    close(function(*[t.detach() for t in tensors]), np.asarray(numpy(*[t.detach().numpy() for t in tensors])), "float64")
    gradcheck(function, tensors, fast_mode=True)
    gradgradcheck(function, tensors, fast_mode=True)


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", ((2, 3), (3, 4))), ("ij,jk", ((2, 3), (3, 4))), ("ii->i", ((3, 3),)), ("ii", ((3, 3),)), ("ij->ji", ((2, 3),)),
    ("i,j->ij", ((2,), (3,))),
    ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))), ("ij,ij->", ((2, 3), (2, 3))), ("ij->", ((2, 3),)), ("ijk->j", ((2, 3, 4),)),
    ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2))),
    ("...ij,...jk->...ik", ((2, 3, 4), (4, 5))), ("b...,b...->b", ((2, 3, 4), (2, 3, 4))), ("bhid,bhjd->bhij", ((2, 2, 3, 4), (2,
    2, 5, 4))), ("ijj->ij", ((2, 3, 3),)),
    ("i,i,i->i", ((3,), (3,), (3,))), ("ba,b->", ((2, 3), (2,))),
])
def test_einsum(equation, shapes):
    tensors = leaves(*shapes)
    close(torch.einsum(equation, *[t.detach() for t in tensors]), np.asarray(np.einsum(equation.replace("b...", "bij"),
    *[t.detach().numpy() for t in tensors])), "float64")
    gradcheck(lambda *x: torch.einsum(equation, *x), tensors, fast_mode=True)


def test_complex_gradients():
    for function, shapes in ((torch.mm, ((2, 3), (3, 2))), (torch.bmm, ((2, 2, 3), (2, 3, 2))), (torch.dot, ((3,), (3,))), (linear,
    ((2, 3), (4, 3), (4,)))):
        gradcheck(function, leaves(*shapes, dtype="complex128"), fast_mode=True)


def test_only_wanted_gradients_and_graph():
    a, b = leaves((3, 4), (4, 5))
    (a @ b.detach()).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.ones((3, 5)) @ b.detach().numpy().T)
    assert b.grad is None
    w = torch.ones(3, 4, requires_grad=True)
    linear(torch.ones(2, 4), w).sum().backward()
    assert w.grad.tolist() == [[2.0] * 4] * 3


def test_out_and_operator():
    a, b = draw(3, 4), draw(4, 5)
    out = torch.zeros(3, 5, dtype=torch.float64)
    assert torch.mm(torch.from_numpy(a), torch.from_numpy(b), out=out) is out
    np.testing.assert_allclose(out.numpy(), a @ b)
    square = torch.from_numpy(draw(4, 4))
    wanted = square.numpy() @ square.numpy()
    np.testing.assert_allclose(torch.matmul(square, square, out=square).numpy(), wanted)


X = torch.ones(2, 3)


@pytest.mark.parametrize("attempt, error, message", [
    (lambda: torch.mm(X, X), RuntimeError, r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"), (lambda: torch.mm(X,
    torch.ones(3)), RuntimeError, "mat2 must be a matrix"),
    (lambda: torch.mm(X, torch.ones(3, 2).double()), RuntimeError, "same dtype.*float != double"), (lambda: X @ torch.tensor(1.0),
    RuntimeError, "at least 1D"),
    (lambda: torch.bmm(X, X), RuntimeError, "must be a 3D tensor"), (lambda: torch.bmm(torch.ones(2, 2, 3), torch.ones(3, 3, 2)),
    RuntimeError, "batch2"),
    (lambda: torch.bmm(torch.ones(2, 2, 3), torch.ones(2, 2, 3)), RuntimeError, "batch2"), (lambda: torch.dot(torch.ones(2),
    torch.ones(3)), RuntimeError, "inconsistent tensor size"),
    (lambda: torch.dot(X, X), RuntimeError, "1D tensors expected"), (lambda: torch.mv(X, X), RuntimeError, "expected"),
    (lambda: torch.outer(X, X), RuntimeError, "1-D"),
    (lambda: torch.ones(2, 2, 3) @ torch.ones(3, 3, 4), RuntimeError, "must match"), (lambda: linear(X, X[:, :2]), RuntimeError,
    "cannot be multiplied"),
    (lambda: linear(X, X, torch.ones(3)), RuntimeError, "expanded size"), (lambda: linear(torch.tensor(1.0), X), RuntimeError,
    "at least 1D"),
    (lambda: X @ 2, TypeError, "unsupported operand"), (lambda: torch.mm(X, [1]), TypeError, None),
    (lambda: torch.mm(2, X), TypeError, None), (lambda: torch.bmm(X, None), TypeError, "'mat2' .position 2. must be Tensor, not None"),
    (lambda: torch.addmm(X, X, None), TypeError, "'mat2' .position 3."), (lambda: torch.softmax(None, 0), TypeError, "'input'"),
    (lambda: torch.linalg.inv(None), TypeError, "'A'"), (lambda: torch.mm(None, None), TypeError, "'input'"),
    (lambda: linear(X, None), TypeError, None), (lambda: torch.einsum("ij,jk", X), RuntimeError, "operands"),
    (lambda: torch.einsum("ijk", X), RuntimeError, "subscripts"),
    (lambda: torch.einsum("ij,jk", X, X), RuntimeError, "size"), (lambda: torch.einsum("ij->z", X), RuntimeError, None),
    (lambda: torch.einsum("i$", X), RuntimeError, None),
    (lambda: torch.addmm(torch.ones(4), X, torch.ones(3, 5)), RuntimeError, None), (lambda: torch.tensordot(X, X.t()),
    RuntimeError, None),
], ids=lambda v: v if isinstance(v, str) else "")
def test_messages(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


# ---------------------------------------------------------------- products added to something
ADDED = {
    "addmm": (lambda a, b: a @ b, (3, 4), (4, 5), ((3, 5), (5,), (1, 5), (3, 1), (1,), ())),
    "addmv": (lambda a, b: a @ b, (3, 4), (4,), ((3,), (1,), ())),
    "baddbmm": (lambda a, b: a @ b, (2, 3, 4), (2, 4, 5), ((2, 3, 5), (3, 5), (5,), (2, 1, 5), (1, 1, 5), (3, 1), (2, 1, 1), ())),
    "addbmm": (lambda a, b: (a @ b).sum(0), (2, 3, 4), (2, 4, 5), ((3, 5), (5,), (3, 1))),
    "addr": (lambda a, b: np.outer(a, b), (3,), (5,), ((3, 5), (5,), (3, 1))),
}


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize("beta, alpha", [(1, 1), (0, 1), (2, 3), (1, -1)])
def test_sums_with_products(name, beta, alpha):
    product, first, second, shapes = ADDED[name]
    for dtype in ("float64", "float32", "int32", "complex128"):
        for shape in shapes:
            arrays = draw(*shape, dtype=dtype) if shape else draw(1, dtype=dtype)[0], draw(*first, dtype=dtype), draw(*second, dtype=dtype)
            tensors = [torch.from_numpy(np.asarray(x)) for x in arrays]
            wanted = (alpha * product(arrays[1], arrays[2]) + beta * arrays[0]).astype(dtype)
            found = getattr(torch, name)(*tensors, beta=beta, alpha=alpha)
            close(found, np.asarray(wanted), dtype)
            target = torch.zeros(found.shape, dtype=found.dtype)
            assert getattr(torch, name)(*tensors, beta=beta, alpha=alpha, out=target) is target and torch.equal(target, found)
            if shape == found.shape:
                assert torch.equal(getattr(tensors[0].clone(), name + "_")(*tensors[1:], beta=beta, alpha=alpha), found)
            if dtype in ("float64", "complex128"):
                leaves_of = [t.clone().requires_grad_() for t in tensors]
                gradcheck(lambda *x: getattr(torch, name)(*x, beta=beta, alpha=alpha), leaves_of, fast_mode=True)
                getattr(torch, name)(leaves_of[0], *tensors[1:], beta=beta, alpha=alpha).sum().abs().backward()
                assert leaves_of[0].grad is not None and bool(leaves_of[0].grad.any()) == (beta != 0)


def test_sum_does_not_read_what_is_scaled_by_zero():
    nan = torch.full((3, 5), float("nan"))
    for name, first, second in (("addmm", (3, 4), (4, 5)), ("addr", (3,), (5,)), ("addmm", (3, 0), (0, 5))):
        assert not torch.isnan(getattr(torch, name)(nan, torch.ones(*first), torch.ones(*second), beta=0)).any()
    assert torch.addmm(torch.ones(5), torch.ones(3, 0), torch.ones(0, 5)).tolist() == [[1.0] * 5] * 3


@pytest.mark.parametrize("attempt, error, message", [
    (lambda: torch.addmm(torch.ones(2, 2), torch.ones(2, 3), torch.ones(2, 2)), RuntimeError, "cannot be multiplied"),
    (lambda: torch.addmm(torch.ones(4), torch.ones(2, 3), torch.ones(3, 2)), RuntimeError, "size|match"),
    (lambda: torch.addmm(torch.ones(2).double(), torch.ones(2, 3), torch.ones(3, 2)), RuntimeError, "dtype"),
    (lambda: torch.addmm(1, torch.ones(2, 3), torch.ones(3, 2)), TypeError, "input"),
    (lambda: torch.baddbmm(torch.ones(2), torch.ones(2, 3), torch.ones(3, 2)), RuntimeError, "dimensions"),
    (lambda: torch.addbmm(torch.ones(2), torch.ones(2, 3, 4), torch.ones(3, 4, 2)), RuntimeError, "batches"),
    (lambda: torch.addr(torch.ones(2), torch.ones(2, 3), torch.ones(3)), RuntimeError, "1-D"),
    (lambda: torch.mv(torch.ones(2, 3), torch.ones(2)), RuntimeError, "size mismatch"),
])
def test_sums_refuse(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


def test_einsum_of_one_operand_and_its_places():
    x, y = torch.arange(3.0), torch.arange(6.0).view(2, 3)
    assert torch.einsum(x, [0]).tolist() == [0, 1, 2] and torch.einsum(y, [0, 1], [1]).tolist() == [3, 5, 7]
    assert torch.einsum(y, [0, 1], x, [1], [0]).tolist() == [5, 14]
    for call in (lambda: torch.einsum("", []), lambda: torch.einsum(x), lambda: torch.einsum("i")):
        with pytest.raises(ValueError, match="at least one operand"):
            call()
