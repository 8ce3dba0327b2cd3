"""Arguments under the names that PyTorch has for them: each row is run here, and in PyTorch where it is installed."""
import pytest

import numtorch

try:
    import torch as pytorch
except ImportError:
    pytorch = None

BOTH = [numtorch] + ([pytorch] if pytorch is not None else [])


def m(t):
    return t.tensor([[4.0, 2.0], [2.0, 5.0]])


def into(t, function, *shape, **kind):
    """What a function writes to `out`, which it must also return."""
    out = t.empty(*shape, **kind)
    assert function(out) is out
    return out


ROWS = {
    "addmm_": (lambda t: m(t).addmm_(mat1=m(t), mat2=m(t), alpha=2), [[44, 38], [38, 63]]),
    "addmv_": (lambda t: t.ones(2).addmv_(mat=m(t), vec=t.ones(2)), [7, 8]),
    "arange": (lambda t: t.arange(end=3), [0, 1, 2]),
    "argsort axis": (lambda t: t.argsort(m(t), axis=0), [[1, 0], [0, 1]]),
    "chain_matmul": (lambda t: into(t, lambda out: t.chain_matmul(m(t), m(t), out=out), 2, 2), [[20, 18], [18, 29]]),
    "cholesky_inverse": (lambda t: t.cholesky_inverse(input=t.tensor([[2.0, 9.0], [0.0, 4.0]])), [[0.25, 0], [0, 0.0625]]),
    "cholesky_inverse upper": (lambda t: t.cholesky_inverse(t.tensor([[2.0, 0.0], [9.0, 4.0]]), upper=True), [[0.25, 0], [0, 0.0625]]),
    "cholesky_solve": (lambda t: t.cholesky_solve(input=t.ones(2, 1), input2=t.tensor([[2.0, 9.0], [0.0, 4.0]])), [[0.25], [0.0625]]),
    "cumsum axis": (lambda t: t.cumsum(m(t), axis=0), [[4, 2], [6, 7]]),
    "cumprod axis": (lambda t: m(t).cumprod(axis=1), [[4, 8], [2, 10]]),
    "det": (lambda t: t.det(input=m(t)), 16),
    "diag": (lambda t: into(t, lambda out: t.diag(m(t), out=out), 2), [4, 5]),
    "einsum lists": (lambda t: t.einsum(m(t), [0, 1], m(t), [1, 2], [2, 0]), [[20, 18], [18, 29]]),
    "einsum lists with dots": (lambda t: t.einsum(m(t), [..., 3], t.tensor([1.0, 10.0]), [3]), [24, 52]),
    "fftfreq": (lambda t: into(t, lambda out: t.fft.fftfreq(4, out=out), 4), [0, 0.25, -0.5, -0.25]),
    "frombuffer": (lambda t: t.frombuffer(bytearray(4), dtype=t.float32, requires_grad=True).requires_grad, True),
    "from_dlpack": (lambda t: t.from_dlpack(m(t), device="cpu"), [[4, 2], [2, 5]]),
    "from_dlpack copy": (lambda t: t.from_dlpack(m(t), copy=True), [[4, 2], [2, 5]]),
    "histogram": (lambda t: t.histogram(m(t), 2, out=(t.empty(2), t.empty(3))).bin_edges, [2, 3.5, 5]),
    "index_add": (lambda t: into(t, lambda out: t.index_add(m(t), 0, t.tensor([0, 0]), m(t), out=out), 2, 2), [[10, 9], [2, 5]]),
    "index_reduce": (lambda t: into(t, lambda out: t.index_reduce(m(t), 0, t.tensor([0, 1]), m(t), "prod", out=out), 2, 2),
                     [[16, 4], [4, 25]]),
    "logdet": (lambda t: t.logdet(input=t.eye(2)), 0),
    "lu_solve": (lambda t: t.lu_solve(input=t.ones(2, 1), LU_data=t.eye(2), LU_pivots=t.tensor([1, 2], dtype=t.int32)), [[1], [1]]),
    "lu_unpack": (lambda t: t.lu_unpack(m(t), t.tensor([1, 2], dtype=t.int32), out=tuple(t.empty(2, 2) for _ in range(3))).U,
                  [[4, 2], [0, 5]]),
    "matrix_exp": (lambda t: t.matrix_exp(input=t.zeros(2, 2)), [[1, 0], [0, 1]]),
    "matrix_power": (lambda t: t.matrix_power(input=m(t), n=2), [[20, 18], [18, 29]]),
    "median axis": (lambda t: t.median(m(t), axis=0, keepdims=True).values, [[2, 2]]),
    "promote_types": (lambda t: t.promote_types(type1=t.int8, type2=t.int16) == t.int16, True),
    "randint": (lambda t: t.randint(high=1, size=(2,)), [0, 0]),
    "scatter": (lambda t: into(t, lambda out: t.scatter(input=m(t), dim=0, index=t.tensor([[0, 1]]), src=m(t), out=out), 2, 2),
                [[4, 2], [2, 2]]),
    "scatter_reduce": (lambda t: into(t, lambda out: t.scatter_reduce(m(t), 0, t.tensor([[0, 1]]), m(t), "sum", out=out), 2, 2),
                       [[8, 2], [2, 7]]),
    "slogdet": (lambda t: t.slogdet(input=t.eye(2)).sign, 1),
    "sort axis": (lambda t: t.sort(m(t), axis=0).values, [[2, 2], [4, 5]]),
    "stft": (lambda t: t.stft(t.arange(1.0, 13.0), 8, 2, 4, t.ones(4), center=False, align_to_window=True, return_complex=True)[0].real,
             [10, 18, 26, 34, 42]),
    "tensordot": (lambda t: into(t, lambda out: t.tensordot(m(t), m(t), dims=1, out=out), 2, 2), [[20, 18], [18, 29]]),
    "triangular_solve": (lambda t: t.triangular_solve(input=t.ones(2, 1), A=t.eye(2)).solution, [[1], [1]]),
    "var_mean axis": (lambda t: t.var_mean(m(t), axis=0, keepdims=True)[1], [[3, 3.5]]),
    "addcmul": (lambda t: t.addcmul(input=m(t), tensor1=m(t), tensor2=m(t), value=2), [[36, 10], [10, 55]]),
    "cat axis": (lambda t: t.cat((m(t), m(t)), axis=1), [[4, 2, 4, 2], [2, 5, 2, 5]]),
    "clone": (lambda t: t.clone(input=m(t)), [[4, 2], [2, 5]]),
    "expand": (lambda t: t.ones(1).expand(size=(2, 2)), [[1, 1], [1, 1]]),
    "flip": (lambda t: t.flip(m(t), dims=[0]), [[2, 5], [4, 2]]),
    "lerp": (lambda t: t.lerp(input=t.zeros(1), end=t.ones(1), weight=0.25), [0.25]),
    "narrow": (lambda t: t.narrow(input=m(t), dim=0, start=0, length=1), [[4, 2]]),
    "permute": (lambda t: t.permute(input=m(t)[:1], dims=(1, 0)), [[4], [2]]),
    "pow_": (lambda t: m(t).pow_(exponent=2.0), [[16, 4], [4, 25]]),
    "broadcast_to": (lambda t: t.ones(1).broadcast_to(2), [1, 1]),
    "resize_": (lambda t: t.ones(2).resize_(size=(1, 2)), [[1, 1]]),
    "repeat": (lambda t: t.ones(1).repeat(repeats=(1, 2)), [[1, 1]]),
    "repeat_interleave": (lambda t: t.repeat_interleave(m(t), 2, 0, output_size=4)[1], [4, 2]),
    "reshape": (lambda t: t.reshape(input=m(t), shape=[1, 4]), [[4, 2, 2, 5]]),
    "split": (lambda t: t.split(tensor=m(t), split_size_or_sections=1, dim=1)[1], [[2], [5]]),
    "swapaxes": (lambda t: t.swapaxes(m(t)[:1], axis0=0, axis1=1), [[4], [2]]),
    "tile": (lambda t: t.tile(t.ones(1), dims=(2,)), [1, 1]),
    "view of a dtype": (lambda t: t.ones(1).view(dtype=t.int32), [1065353216]),
    "view": (lambda t: m(t).view(size=(4,)), [4, 2, 2, 5]),
    "div_ rounded": (lambda t: m(t).long().div_(4, rounding_mode="floor"), [[1, 0], [0, 1]]),
    "round_ decimals": (lambda t: (m(t) * 3).round_(decimals=-1), [[10, 10], [10, 20]]),
    "nonzero": (lambda t: into(t, lambda out: t.nonzero(t.eye(2), out=out), 2, 2, dtype=t.int64), [[0, 0], [1, 1]]),
    "transpose_": (lambda t: t.tensor([[1, 2]]).transpose_(dim0=0, dim1=1), [[1], [2]]),
    "type": (lambda t: m(t).type(t.int64, non_blocking=True), [[4, 2], [2, 5]]),
    "fill": (lambda t: t.fill(m(t), 7), [[7, 7], [7, 7]]),
    "logit_": (lambda t: t.logit_(t.tensor([0.5])), [0]),
    "threshold_": (lambda t: t.threshold_(m(t), 3.0, 1.0), [[4, 1], [1, 5]]),
}


@pytest.mark.filterwarnings("ignore::UserWarning")       # PyTorch says which of these it will drop
@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", ROWS)
def test_keywords(name, t):
    function, expected = ROWS[name]
    found = function(t)
    assert (found.tolist() if hasattr(found, "tolist") else found) == expected


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("call", [lambda t: t.arange(), lambda t: t.cumsum(t.ones(2)), lambda t: t.randint(size=(2,)), lambda t: t.randint(high=3)])
def test_what_is_missing(call, t):
    with pytest.raises(TypeError):
        call(t)


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("name, ints", [("broadcast_to", (4, 2, 1, 3)), ("count_nonzero", (0, 2)), ("expand", (4, 2, 1, 3)), ("flip", (0, 2)), ("permute", (2, 0, 1)),
                                        ("repeat", (2, 1, 1)), ("reshape", (3, 2)), ("squeeze", (0, 1)), ("squeeze_", (0, 1)), ("sum_to_size", (2, 1, 1)),
                                        ("tile", (1, 2)), ("view", (3, 2))])
def test_methods_take_ints_one_by_one(name, ints, t):
    x = t.arange(6.0).reshape(2, 1, 3)
    one_by_one, together = getattr(x.clone(), name)(*ints), getattr(x.clone(), name)(ints)
    assert one_by_one.shape == together.shape and one_by_one.tolist() == together.tolist()


def i(t):
    return t.tensor([[1, 0], [0, 0]])


# Calls with the dimension by its place in the order of arguments, which are `axis` and `keepdims` to NumPy.
AXES = {
    "cross": lambda t, **axis: t.cross(t.ones(2, 3), t.arange(6.0).view(2, 3), **axis), "cumsum_": lambda t, **axis: m(t).cumsum_(**axis),
    "frobenius_norm": lambda t, **axis: t.frobenius_norm(m(t), **axis), "gather": lambda t, **axis: t.gather(m(t), index=i(t), **axis),
    "index_add": lambda t, **axis: t.index_add(m(t), index=i(t)[0], source=m(t), **axis),
    "index_copy": lambda t, **axis: t.index_copy(m(t), index=i(t)[0], source=m(t), **axis),
    "index_fill_": lambda t, **axis: m(t).index_fill_(index=i(t)[1], value=7.0, **axis),
    "index_reduce": lambda t, **axis: t.index_reduce(m(t), index=i(t)[0], source=m(t), reduce="prod", **axis),
    "index_select": lambda t, **axis: m(t).index_select(index=i(t)[0], **axis),
    "linalg.cross": lambda t, **axis: t.linalg.cross(t.ones(2, 3), t.arange(6.0).view(2, 3), **axis),
    "linalg.vecdot": lambda t, **axis: t.linalg.vecdot(m(t), m(t), **axis),
    "narrow": lambda t, **axis: m(t).narrow(start=1, length=1, **axis), "narrow_copy": lambda t, **axis: m(t).narrow_copy(start=1, length=1, **axis),
    "renorm": lambda t, **axis: t.renorm(m(t), p=1, maxnorm=2.0, **axis),
    "scatter": lambda t, **axis: t.scatter(m(t), index=i(t), value=7.0, **axis),
    "scatter_add": lambda t, **axis: m(t).scatter_add(index=i(t), src=m(t), **axis),
    "scatter_reduce": lambda t, **axis: t.scatter_reduce(m(t), index=i(t), src=m(t), reduce="sum", **axis),
    "select": lambda t, **axis: t.select(m(t), index=1, **axis),
    "select_scatter": lambda t, **axis: t.select_scatter(m(t), t.ones(2), index=1, **axis),
    "slice_scatter": lambda t, **axis: t.slice_scatter(m(t), t.ones(2, 2), **axis),
    "split_with_sizes": lambda t, **axis: t.stack(m(t).split_with_sizes([1, 1], **axis)),
    "unflatten": lambda t, **axis: t.unflatten(m(t), sizes=(2, 1), **axis),
}


@pytest.mark.filterwarnings("ignore::UserWarning")       # of names that PyTorch will drop
@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", AXES)
def test_numpys_name_of_the_dimension(name, t):
    for dim in (1,) if "cross" in name else (0, 1):
        assert AXES[name](t, axis=dim).tolist() == AXES[name](t, dim=dim).tolist()


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
def test_numpys_name_of_keepdim(t):
    for reduced in (t.quantile(m(t), 0.5, axis=0, keepdims=True), t.nanquantile(m(t), 0.5, axis=0, keepdims=True),
                    t.frobenius_norm(m(t), axis=0, keepdims=True), t.nn.functional.pairwise_distance(m(t).t(), m(t), keepdims=True).t(),
                    t.hash_tensor(m(t), axis=0, keepdims=True)):
        assert reduced.shape == (1, 2)


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("call", [lambda t: m(t).select(), lambda t: m(t).select(0), lambda t: t.gather(m(t), 0), lambda t: t.gather(m(t), index=i(t)),
                                  lambda t: m(t).narrow(0), lambda t: m(t).narrow(0, 1), lambda t: m(t).narrow(start=0, length=1),
                                  lambda t: m(t).index_select(0), lambda t: m(t).index_select(index=i(t)[0]), lambda t: m(t).cumsum_()])
def test_what_is_missing_beside_a_dimension(call, t):
    with pytest.raises(TypeError):
        call(t)
