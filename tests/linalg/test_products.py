"""Products of vectors, all pairs, powers and choices against NumPy, and windows against SciPy."""
import itertools

import numpy as np
import pytest
import scipy.signal

import numtorch as torch
from numtorch.autograd import gradcheck, gradgradcheck
from numtorch.kernels.cpu.gemm import product


def arrays(*shapes, dtype=np.float64):
    rng = np.random.default_rng(len(shapes))
    made = [rng.standard_normal(s) for s in shapes]
    if np.dtype(dtype).kind == "c":
        made = [x + 1j * rng.standard_normal(x.shape) for x in made]
    return [np.asarray(x * 5).astype(dtype) for x in made]


CASES = [
    (torch.inner, np.inner, ((3,), (3,))), (torch.inner, np.inner, ((2, 3), (4, 3))), (torch.inner, np.inner, ((), (2,))),
    (torch.vdot, np.vdot, ((4,), (4,))),
    (torch.kron, np.kron, ((2, 3), (4,))), (torch.kron, np.kron, ((2, 1, 3), (2, 2))), (torch.kron, np.kron, ((), (2, 2))),
    (torch.cross, lambda x, y: np.cross(x, y, axis=0), ((3, 4), (3, 4))),
    (lambda x, y: torch.cross(x, y, dim=-1), np.cross, ((2, 3), (1, 3))),
    (lambda x: torch.vander(x), np.vander, ((4,),)),
    (lambda x: torch.vander(x, 3, increasing=True), lambda x: np.vander(x, 3, True), ((4,),)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex128])
@pytest.mark.parametrize("function, reference, shapes", CASES)
def test_products(function, reference, shapes, dtype):
    given = arrays(*shapes, dtype=dtype)
    found = function(*[torch.tensor(x) for x in given])
    assert str(found.dtype) == f"torch.{np.dtype(dtype).name}"
    np.testing.assert_allclose(found.numpy(), reference(*given), rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-4)


@pytest.mark.parametrize("function, reference, shapes", CASES)
def test_gradients_of_products(function, reference, shapes):
    tensors = [torch.tensor(x / 5, requires_grad=True) for x in arrays(*shapes)]
    assert gradcheck(function, tensors) and gradgradcheck(function, tensors)


@pytest.mark.parametrize("r, replacement", [*itertools.product((0, 1, 2, 3), (False, True))])
def test_combinations(r, replacement):
    choose = itertools.combinations_with_replacement if replacement else itertools.combinations
    found = torch.combinations(torch.tensor([3, 1, 4, 1]), r, replacement)
    assert found.tolist() == ([list(row) for row in choose([3, 1, 4, 1], r)] if r else [])


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett"])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 16])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(name, length, periodic):
    found = getattr(torch, name + "_window")(length, periodic, dtype=torch.float64)
    np.testing.assert_allclose(found.numpy(), scipy.signal.get_window(name, length, periodic) if length else [], atol=1e-14)


@pytest.mark.parametrize("wrong, message", [
    (lambda: torch.inner(torch.ones(2), torch.ones(3)), "last dimension must match"),
    (lambda: torch.cross(torch.ones(2, 4), torch.ones(2, 4)), "no dimension of size 3"),
    (lambda: torch.cross(torch.ones(3, 4), torch.ones(3, 4), dim=1), "must have length 3"),
    (lambda: torch.vander(torch.ones(2, 2)), "one-dimensional"), (lambda: torch.vander(torch.ones(2), -1), "non-negative"),
    (lambda: torch.combinations(torch.ones(2, 2)), "1D vector"), (lambda: torch.combinations(torch.ones(2), -1), "non-negative"),
    (lambda: torch.hann_window(-1), "non-negative window_length"), (lambda: torch.hann_window(3, dtype=torch.int64), "floating point"),
])
def test_what_does_not_fit_is_refused(wrong, message):
    with pytest.raises(RuntimeError, match=message):
        wrong()


@pytest.mark.parametrize("n, r, repeated", [(60, 30, False), (45, 20, False), (3, 1 << 40, True)])
def test_more_combinations_than_memory(n, r, repeated):
    """They are counted before the first is made."""
    with pytest.raises(RuntimeError):
        torch.combinations(torch.arange(n), r, repeated)


def test_no_combinations():
    assert torch.combinations(torch.arange(3), 4).shape == (0, 4) and torch.combinations(torch.arange(3), 0).shape == (0,)
    assert torch.combinations(torch.arange(0), 3, True).shape == (0, 3) and torch.combinations(torch.arange(2), 3, True).shape == (4, 3)


@pytest.mark.parametrize("wants_gradient", [False, True])
@pytest.mark.parametrize("number", [0, 1])
def test_krons_number_promotes_as_a_tensor_of_dimensions(number, wants_gradient):
    """Beside the other's dimensions it has as many, and counts in full."""
    operands = [torch.ones(2, 2, requires_grad=wants_gradient), torch.ones(2, 2, requires_grad=wants_gradient)]
    operands[number] = torch.tensor(2.0, dtype=torch.float64)
    assert torch.kron(*operands).dtype is torch.float64


def test_tensordots_single_element_keeps_the_dtype():
    one, several = torch.ones(1, dtype=torch.uint8), torch.ones(2, 4, dtype=torch.uint8)
    for found in (torch.tensordot(one, several, 1), torch.tensordot(several.t(), one, 1)):
        assert found.dtype is torch.uint8 and found.tolist() == [2] * 4


@pytest.mark.parametrize("name, batch", [("addmm_", ()), ("baddbmm_", (2,))])
def test_a_sum_in_place_is_the_products_kernel_alone(name, batch):
    """Nothing is copied once the call is planned; and factors that share its memory are read before it is written."""
    a, b, x = (torch.from_numpy(each).float() for each in arrays((*batch, 4, 3), (*batch, 3, 4), (*batch, 4, 4)))
    for alpha in (1, 0.5):
        total = x.clone()
        for _ in range(2):
            version = total._version
            with torch.profiler.profile() as profile:
                assert getattr(total, name)(a, b, alpha=alpha) is total
            assert total._version == version + 1
        assert sum(event.launches for event in profile.key_averages() if event.key.startswith("kernel")) == 1
        np.testing.assert_allclose(total.numpy(), x.numpy() + 2 * alpha * (a.numpy() @ b.numpy()), rtol=1e-5)
    for left, right in ((lambda t: t, lambda t: t), (lambda t: t.transpose(-1, -2), lambda t: x), (lambda t: x, lambda t: t)):
        total = x.clone()
        for _ in range(2):
            expected = total.numpy() + left(total).numpy() @ right(total).numpy()
            getattr(total, name)(left(total), right(total))
            np.testing.assert_allclose(total.numpy(), expected, rtol=1e-4)
    leaf = x.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        getattr(leaf, name)(a, b)


# A row: the shapes of two factors, which of these are expanded from a batch of 1, and the sizes and batch of the product that is made.
SHARED = {
    "rows": (((5, 3, 4), (5, 4, 6)), 1, (15, 6, 4, 1)), "a row": (((5, 1, 4), (5, 4, 6)), 1, (5, 6, 4, 1)),
    "a column": (((5, 3, 4), (5, 4, 1)), 0, (3, 5, 4, 1)), "columns, which do not go on": (((5, 3, 4), (5, 4, 6)), 0, (3, 6, 4, 5)),
    "dots": (((5, 1, 4), (5, 4, 1)), 1, (5, 1, 4, 1)), "two batches": (((2, 5, 3, 4), (2, 5, 4, 6)), 1, (30, 6, 4, 1)),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_batch_with_a_shared_factor_is_one_product(name, monkeypatch):
    shapes, shared, sizes = SHARED[name]
    made, join = [], product.Problem.join_batch
    monkeypatch.setattr(product.Problem, "join_batch", lambda self: (join(self), made.append((self.m, self.n, self.k, self.batch))))
    torch.ops.linalg.matmul.MATMUL.plans.clear()
    lead = len(shapes[0]) - 2
    a, b = [x[(slice(1),) * lead] if place == shared else x for place, x in enumerate(arrays(*shapes))]
    x, y = [torch.from_numpy(each).expand(shape) for each, shape in zip((a, b), shapes)]
    np.testing.assert_allclose((x @ y).numpy(), a @ b, rtol=1e-12)
    assert made == [sizes]
    a, b = np.round(a), np.round(b)
    x, y = [torch.from_numpy(each).int().expand(shape) for each, shape in zip((a, b), shapes)]
    assert (x @ y).tolist() == (a @ b).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128])
@pytest.mark.parametrize("shapes", [((5, 1), (1, 7)), ((3, 5, 1), (3, 1, 7)), ((3, 5, 1), (1, 7)), ((2, 3, 5, 1), (3, 1, 7)), ((1, 1), (1, 1)), ((0, 1), (1, 3))])
def test_products_of_columns_and_rows(shapes, dtype):
    """Of depth 1: elementwise, in any order of memory, with a contiguous result."""
    a, b = arrays(*shapes, dtype=dtype)
    for prepare in (lambda t: t, lambda t: t.mT.contiguous().mT, lambda t: t.transpose(0, -1).contiguous().transpose(0, -1)):
        x, y = [prepare(torch.from_numpy(each)) for each in (a, b)]
        found = x @ y
        assert found.is_contiguous()
        np.testing.assert_allclose(found.numpy(), a @ b, rtol=1e-6)
    if dtype == np.complex128:
        assert gradcheck(torch.matmul, [torch.from_numpy(each).requires_grad_() for each in (a, b)])
