"""PyTorch's older names and small questions: tensor types, defaults, devices as contexts, functions under two names."""
import numpy as np
import pytest
import scipy.spatial.distance
import scipy.stats

import numtorch as torch

TYPES = {"FloatTensor": torch.float32, "DoubleTensor": torch.float64, "HalfTensor": torch.float16, "LongTensor": torch.int64,
         "IntTensor": torch.int32, "ShortTensor": torch.int16, "CharTensor": torch.int8, "ByteTensor": torch.uint8,
         "BoolTensor": torch.bool, "BFloat16Tensor": torch.bfloat16}


@pytest.mark.parametrize("name", TYPES)
def test_tensor_types(name):
    kind, dtype = getattr(torch, name), TYPES[name]
    assert kind([1, 0]).dtype is dtype and kind(2, 3).shape == (2, 3) and kind().shape == (0,)
    x = torch.ones(2, dtype=dtype)
    assert isinstance(x, kind) and x.type() == f"torch.{name}" == torch.typename(x)
    others = [other for other in TYPES if other != name]
    assert not any(isinstance(x, getattr(torch, other)) for other in others) and not isinstance(np.ones(2), kind)
    for wanted in (f"torch.{name}", kind, dtype):
        assert torch.zeros(2).type(wanted).dtype is dtype
    with pytest.raises(ValueError, match=r"invalid type: 'torch\.OddTensor'"):
        x.type("torch.OddTensor")


def test_default_tensor_type():
    try:
        torch.set_default_tensor_type("torch.DoubleTensor")
        assert torch.ones(1).dtype is torch.float64
        torch.set_default_tensor_type(torch.FloatTensor)
        assert torch.ones(1).dtype is torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
    for wrong in ("torch.Tensor", torch.float32, torch.LongTensor):
        with pytest.raises(TypeError):
            torch.set_default_tensor_type(wrong)


def test_default_device():
    assert torch.get_default_device() == torch.device("cpu")
    with torch.device("cpu") as inside:
        assert inside is torch.device("cpu") and torch.ones(2).device is inside
    try:
        torch.set_default_device("cuda:0")               # there need not be one: what is made without a name must go there
        for make in (lambda: torch.ones(2), lambda: torch.tensor([1.0]), lambda: torch.rand(2), lambda: torch.arange(3)):
            with torch.device("cpu"):
                assert make().device is torch.device("cpu")
            if not torch.cuda.is_available():
                with pytest.raises((RuntimeError, AssertionError)):
                    make()
        assert torch.ones(2, device="cpu").device is torch.device("cpu")
    finally:
        torch.set_default_device(None)
    assert torch.ones(2).device is torch.device("cpu")


def test_plans_outlive_a_default_device():
    """But for those of calls without tensors, which go where the default device says, and are found again."""
    from numtorch.ops.core.primitive import registry
    x = torch.ones(3)
    (x + x).sum(), torch.arange(3)
    kept, counted = dict(registry["add"].plans), torch.arange(3)
    for _ in range(2):
        with torch.device("meta"):
            assert torch.arange(3).device.type == torch.zeros(2).device.type == "meta"
            assert (x + x).tolist() == [2, 2, 2]
        assert torch.arange(3).tolist() == counted.tolist() == [0, 1, 2] and torch.zeros(2).tolist() == [0, 0]
    assert all(registry["add"].plans[key] is plan for key, plan in kept.items())


def test_elements_through_python():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.t().apply_(lambda v: v * v).tolist() == [[1, 9], [4, 16]] and x.tolist() == [[1, 4], [9, 16]]
    assert x.map_(torch.tensor([1.0, 2.0]), lambda a, b: a - b).tolist() == [[0, 2], [8, 14]]
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(1, requires_grad=True).apply_(abs)
    assert x.new([1, 2]).dtype is x.dtype and torch.ones(1, dtype=torch.int32).new(2, 2).dtype is torch.int32


def test_questions():
    x = torch.ones(2, 3)
    assert x.is_cpu and not (x.is_sparse or x.is_meta or x.is_quantized or x.is_mps or x.is_pinned() or x.is_shared())
    assert torch.is_nonzero(torch.tensor(3)) and not torch.tensor([0.0]).is_nonzero()
    with pytest.raises(RuntimeError, match="ambiguous"):
        x.is_nonzero()
    assert torch.is_same_size(x, x * 2) and not x.is_same_size(x.t())
    assert x.view(2, 3).is_set_to(x) and not x[:1].is_set_to(x) and not x.clone().is_set_to(x)
    assert torch.is_storage(x.untyped_storage()) and not torch.is_storage(x)
    assert torch.typename("a") == "str" and torch.typename(x.dtype).startswith("numtorch.")


def test_arguments_of_creation():
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        assert make(2, layout=torch.strided, pin_memory=False).shape == (2,)
    x = torch.ones(2, 2)
    assert torch.zeros_like(x, layout=torch.strided, pin_memory=False).shape == (2, 2)
    assert x.new_empty_strided((2, 2), (1, 2)).stride() == (1, 2) and x.new_zeros(3, pin_memory=True).tolist() == [0, 0, 0]


def test_functions_that_are_methods_in_place():
    x = torch.tensor([1.0, 4.0])
    assert torch.sqrt_(x) is x and x.tolist() == [1, 2] and torch.zero_(x).tolist() == [0, 0]
    with pytest.raises(AttributeError):
        torch.no_such_function_


@pytest.mark.filterwarnings("ignore:overflow encountered in nextafter")
def test_parts_of_floating_point_numbers():
    for dtype in ("float16", "float32", "float64"):
        info = np.finfo(dtype)
        tiny = info.smallest_subnormal
        x = np.array([0.0, -0.0, 1.0, -3.5, info.tiny, -info.tiny, tiny, -5 * tiny, info.max, info.min, np.inf, -np.inf, np.nan], dtype)
        mantissa, exponent = torch.frexp(torch.tensor(x))
        wanted = np.frexp(x)
        numbers = np.isfinite(x)                         # what goes with the others is up to the C library
        assert mantissa.numpy().tobytes() == wanted[0].tobytes() and np.array_equal(exponent.numpy()[numbers], wanted[1][numbers])
        assert exponent.dtype is torch.int32
        for y in (x[:, None], np.array(-1, dtype), np.array(np.nan, dtype)):
            assert np.array_equal(torch.nextafter(torch.tensor(x), torch.tensor(y)).numpy(), np.nextafter(x, y), equal_nan=True)
    after = torch.nextafter(torch.tensor(x), torch.tensor(x[:, None])).numpy()
    assert np.array_equal(np.signbit(after[:-1, :-1]), np.signbit(np.nextafter(x, x[:, None]))[:-1, :-1])
    x = torch.tensor([0.0, -3.5, 9.2e-41, float("inf")], dtype=torch.bfloat16)           # for which NumPy has no name
    mantissa, exponent = torch.frexp(x)
    assert mantissa.tolist() == [0.0, -0.875, 0.5, float("inf")] and exponent.tolist() == [0, 2, -132, 0]
    after = torch.nextafter(x, torch.ones_like(x))
    assert after.tolist() == [2.0 ** -133, -3.484375, 2.0 ** -132, (2 - 2.0 ** -7) * 2.0 ** 127] and after.dtype is torch.bfloat16
    after = torch.nextafter(torch.ones(2, 1), torch.tensor([0, 2]))                      # promoted as in arithmetic
    assert after.dtype is torch.float32 and after[0].tolist() == [1 - 2.0 ** -24, 1 + 2.0 ** -23]
    with pytest.raises(RuntimeError, match="floating-point"):
        torch.frexp(torch.tensor([1]))
    with pytest.raises(NotImplementedError, match="Long"):
        torch.nextafter(torch.tensor([1]), torch.tensor([1]))


def test_shifts_by_more_than_all_bits_and_chunks_of_nothing():
    x, places = torch.tensor([3, -5, 7]), torch.tensor([-1, 64, 2])
    assert (x << places).tolist() == [0, 0, 28] and (x >> places).tolist() == [0, -1, 1]
    assert [tuple(part.shape) for part in torch.zeros(0, 3).chunk(3)] == [(0, 3)] * 3
    assert torch.ones(2, 3).count_nonzero(()).item() == 6 and torch.ones(2, 3).count_nonzero(0).tolist() == [2, 2, 2]
    number = torch.tensor(1.0)
    with pytest.raises(RuntimeError, match="at least a 1-dimensional"):
        number.chunk(2)
    for call in (lambda: number.squeeze(2), lambda: number.flatten(0, 1), lambda: number.logsumexp(2)):
        with pytest.raises(IndexError, match="Dimension out of range"):
            call()
    factors, pivots = torch.ones(2, 2).lu()              # singular, which only linalg.lu_factor refuses
    assert factors.tolist() == [[1, 1], [1, 0]] and pivots.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="bins must be > 0"):
        number.histogram(0)
    assert number.topk(0).indices.item() == 0 and number.squeeze(-1) == number.flatten()[0] == 1


@pytest.mark.parametrize("call", [
    lambda x: x.diag(0.5), lambda x: x.diag_embed(0.5), lambda x: x.narrow(0, 0.5, 1), lambda x: x.narrow_copy(0, 0.5, 1),
    lambda x: x.unfold(1, 2, 0.5), lambda x: x.as_strided((2,), (1,), 0.5), lambda x: x.unflatten(1, (0.5, -1)), lambda x: torch.randperm(0.5),
    lambda x: torch.nn.functional.pixel_shuffle(torch.ones(1, 4, 2, 2), 0.5), lambda x: torch.nn.functional.pad(x, (0.5, 1)),
    lambda x: torch.nn.functional.max_pool2d(x[None], "a")])
def test_fractions_are_no_places(call):
    """A kernel would take them as addresses."""
    with pytest.raises(TypeError):
        call(torch.ones(3, 4))


@pytest.mark.parametrize("call", [torch.kron, torch.matmul, torch.nextafter, lambda x, y, out: torch.std(x, out=out)])
def test_out_must_hold_the_result(call):
    words = "Expected out tensor to have dtype float32, but got int64" if call is torch.matmul else "result type Float can't be cast to the desired output type Long"
    with pytest.raises(RuntimeError, match=words):
        call(torch.ones(2, 2), torch.ones(2, 2), out=torch.empty(0, dtype=torch.int64))
    found = torch.cumsum(torch.tensor([1.5, 2.5]), 0, out=torch.empty(2, dtype=torch.int64))    # PyTorch adds in out's dtype
    assert found.tolist() == [1, 3] and torch.ones(2, out=torch.empty(2, dtype=torch.int64)).tolist() == [1, 1]


def test_flat_places():
    places = torch.tensor([[5, 0], [23, 7]])
    for found, wanted in zip(torch.unravel_index(places, (2, 3, 4)), np.unravel_index(places.numpy(), (2, 3, 4))):
        assert np.array_equal(found.numpy(), wanted)
    for wrong in (-1, 24):
        with pytest.raises(ValueError, match=r"must be in \[0, 24\)"):
            torch.unravel_index(torch.tensor([wrong]), (2, 3, 4))


def test_distances():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1, 4, 3)), rng.standard_normal((5, 6, 3))
    for p in (0, 1, 2, 3, np.inf):
        wanted = np.linalg.norm(x[..., :, None, :] - y[..., None, :, :], p, -1)
        assert np.allclose(torch.cdist(torch.tensor(x), torch.tensor(y), p).numpy(), wanted)
        pairs = np.linalg.norm(y[0][:, None] - y[0], p, -1)[np.triu_indices(6, 1)]
        assert np.allclose(torch.pdist(torch.tensor(y[0]), p).numpy(), pairs)
    many = rng.standard_normal((2100, 3))                # more than the kernel sums at a time
    assert np.allclose(torch.cdist(torch.tensor(many[:2]), torch.tensor(many), 1).numpy(), abs(many[:2, None] - many).sum(-1))
    with pytest.raises(ValueError, match="not a valid value for compute_mode"):
        torch.cdist(torch.ones(2, 3), torch.ones(2, 3), compute_mode="by hand")
    with pytest.raises(RuntimeError, match="same number of columns"):
        torch.cdist(torch.ones(2, 3), torch.ones(2, 4))
    for refused in (lambda x: torch.cdist(x, x), torch.pdist):
        with pytest.raises(RuntimeError, match="only supports floating-point dtypes"):
            refused(torch.ones(2, 3, dtype=torch.complex64))
    assert torch.pdist(torch.zeros(1, 1 << 17, requires_grad=True)).shape == (0,)


def test_many_distances(monkeypatch):
    """One product, or some rows of differences at a time, and their gradients, which are 0 where two points are one."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 40, 3)), rng.standard_normal((30, 3))
    x[0, :5] = y[:5]
    slope = rng.standard_normal((2, 40, 30))
    monkeypatch.setattr("numtorch.ops.linalg.distances._DIFFERENCES", 1000)
    for p in (1, 2, 3):
        results = []
        for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
            points, others = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
            distances = torch.cdist(points, others, p, mode)
            assert np.allclose(distances.detach().numpy(), np.linalg.norm(x[..., None, :] - y, p, -1), atol=1e-7)
            (distances * torch.tensor(np.where(distances.detach() > 1e-6, slope, 0))).sum().backward()
            results.append((points.grad.numpy(), others.grad.numpy()))
        assert all(np.allclose(one, other) for one, other in zip(*results))


def test_poisson_and_binomial_numbers():
    rates = torch.tensor([0.0, 0.5, 4.0, 90.0]).expand(20000, 4)
    torch.manual_seed(3)
    first = torch.poisson(rates)
    assert first.dtype is torch.float32 and (first[:, 0] == 0).all()
    for function in (lambda x: x.mean(0), lambda x: x.var(0)):
        assert torch.allclose(function(first), rates[0], rtol=0.06, atol=1e-6)
    assert not torch.equal(first, torch.poisson(rates))
    torch.manual_seed(3)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    assert torch.equal(first, torch.poisson(rates))
    torch.set_num_threads(threads)
    trials, chance = torch.full((20000, 2), 12.0), torch.tensor([0.25, 1.0])
    drawn = torch.binomial(trials, chance)
    assert (drawn[:, 1] == 12).all() and abs(drawn[:, 0].mean().item() - 3) < 0.06
    assert abs(drawn[:, 0].var().item() - 2.25) < 0.1
    generator = torch.Generator().manual_seed(1)
    again = torch.Generator().manual_seed(1)
    assert torch.equal(torch.poisson(rates, generator), torch.poisson(rates, again))
    with pytest.raises(RuntimeError, match="invalid Poisson rate"):
        torch.poisson(torch.tensor([-1.0]))
    with pytest.raises(RuntimeError, match="expected Float"):
        torch.binomial(torch.ones(1), torch.ones(1, dtype=torch.float64))


def test_distances_without_gradients():
    """One kernel, against SciPy: points transposed or as they lie, one thread or two, batches."""
    rng = np.random.default_rng(5)
    threads = torch.get_num_threads()
    for count, features in ((2, 3), (70, 33), (0, 2), (3, 0)):
        x, y = rng.standard_normal((count, features)), rng.standard_normal((count + 7, features))
        for p, name in ((0, "hamming"), (1, "cityblock"), (2, "euclidean"), (np.inf, "chebyshev"), (2.5, "minkowski")):
            options = {"p": p} if name == "minkowski" else {}
            for parts in (1, 2):
                torch.set_num_threads(parts)
                wanted = scipy.spatial.distance.cdist(x, y, name, **options) if features and count else np.zeros((count, count + 7))
                wanted = wanted * features if p == 0 else wanted
                found = torch.cdist(torch.tensor(x), torch.tensor(y), p, "donot_use_mm_for_euclid_dist")
                assert np.allclose(found.numpy(), wanted) and found.shape == wanted.shape
                pairs = torch.cdist(torch.tensor(np.stack([x, x])), torch.tensor(np.stack([x, x])), p, "donot_use_mm_for_euclid_dist")
                assert np.allclose(torch.pdist(torch.tensor(x), p).numpy(), pairs[1].numpy()[np.triu_indices(count, 1)])
    torch.set_num_threads(threads)


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, np.inf])
def test_gradients_of_every_two(p):
    """Of the kernel, and of the ops that stand for it where a second derivative is wanted; 0 where rows are equal."""
    rng, threads = np.random.default_rng(3), torch.get_num_threads()
    x = torch.tensor(rng.standard_normal((5, 3)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.pdist(x, p), (x,))
    if p not in (0, np.inf):
        assert torch.autograd.gradgradcheck(lambda x: torch.pdist(x, p), (x,))
    many = torch.tensor(rng.standard_normal((90, 17)).repeat(2, 0)[1:], requires_grad=True)
    incoming = torch.tensor(rng.standard_normal(179 * 178 // 2))
    for parts in (1, 2):
        torch.set_num_threads(parts)
        found, = torch.autograd.grad(torch.pdist(many, p), many, incoming)
        by_ops, = torch.autograd.grad(torch.pdist(many, p), many, incoming, create_graph=True)
        assert torch.allclose(found, by_ops) and (p == 0 or bool(found.any()))
    torch.set_num_threads(threads)
    twins = torch.ones(2, 3, requires_grad=True)
    torch.pdist(twins, p).sum().backward()
    assert not twins.grad.any()


def test_chances_of_counts():
    """Both ways of drawing, against the distributions: chi-squared over all counts that are expected 20 times or more."""
    torch.manual_seed(7)
    draws = 40000
    for name, expected, drawn in (
            ("poisson", lambda k: scipy.stats.poisson.pmf(k, 7.3), torch.poisson(torch.full((draws,), 7.3))),
            ("poisson", lambda k: scipy.stats.poisson.pmf(k, 31.7), torch.poisson(torch.full((draws,), 31.7))),
            ("binomial", lambda k: scipy.stats.binom.pmf(k, 40, 0.15), torch.binomial(*(torch.full((draws,), v) for v in (40.0, 0.15)))),
            ("binomial", lambda k: scipy.stats.binom.pmf(k, 90, 0.7), torch.binomial(*(torch.full((draws,), v) for v in (90.0, 0.7))))):
        counts = np.bincount(drawn.numpy().astype(np.int64), minlength=120)
        wanted = expected(np.arange(len(counts))) * draws
        many = wanted >= 20
        chi = ((counts - wanted) ** 2 / np.where(many, wanted, 1))[many].sum()
        assert chi < scipy.stats.chi2.ppf(0.9999, many.sum() - 1), (name, chi, many.sum())
    edges = torch.binomial(torch.tensor([-1.0, 3.0, 3.0, 3.9, np.nan]), torch.tensor([0.5, -1.0, 2.0, 1.0, 0.5]))
    assert edges[:4].tolist() == [0, 0, 3, 3] and edges[4].isnan()
    assert torch.poisson(torch.tensor([np.inf])).isinf() and torch.poisson(torch.empty(0, 2)).shape == (0, 2)
    rates = torch.ones(3, requires_grad=True)
    torch.poisson(rates).sum().backward()
    assert rates.grad.tolist() == [0, 0, 0]


def test_complex_random_numbers():
    torch.manual_seed(0)
    z = torch.randn(40000, dtype=torch.complex128)
    assert z.dtype is torch.complex128 and abs(z.real.var().item() - 0.5) < 0.02 and abs(z.imag.var().item() - 0.5) < 0.02
    assert abs((z.real * z.imag).mean().item()) < 0.01
    u = torch.rand(2, 3, dtype=torch.complex64)
    assert u.shape == (2, 3) and bool((u.real < 1).all()) and bool((u.imag >= 0).all())


def test_kaiser_window():
    for n in (1, 2, 7, 8):
        assert np.allclose(torch.kaiser_window(n, False, 5.0).numpy(), np.kaiser(n, 5.0), atol=1e-6)
        assert np.allclose(torch.kaiser_window(n, True, 5.0).numpy(), np.kaiser(n + 1, 5.0)[:n] if n > 1 else [1.0], atol=1e-6)


def test_special_functions_far_out():
    special = pytest.importorskip("scipy.special")
    x = np.array([-38.0, -20.0, -1e-9, 0.0, 19.9999, 20.0, 25.0, 300.0])
    for name in ("i0e", "i1e", "erfcx", "log_ndtr"):
        with np.errstate(all="ignore"):
            assert np.allclose(getattr(torch.special, name)(torch.tensor(x)).numpy(), getattr(special, name)(x), rtol=1e-12)
    p = np.array([1e-300, 1e-30, 0.019999, 0.02, 0.5, 0.9999999])
    assert np.allclose(torch.special.ndtri(torch.tensor(p)).numpy(), special.ndtri(p), rtol=1e-13)
    a, b = np.meshgrid([0.1, 1.0, 5.0, 60.0], [0.0, 0.01, 3.0, 70.0, np.inf])
    for name, wanted in (("igamma", special.gammainc), ("igammac", special.gammaincc)):
        found = getattr(torch, name)(torch.tensor(a), torch.tensor(b)).numpy()
        assert np.allclose(found, wanted(a, b), rtol=1e-11, atol=1e-300)
    exponents = np.array([900.0, 11_000, 11_000, 1e6, 1e6, 3e7])
    bounds = exponents + np.array([2.0, -1.5, 0.001, 3.0, -4.0, 2.0]) * np.sqrt(exponents)
    for name, wanted in (("igamma", special.gammainc), ("igammac", special.gammaincc)):        # by steps, and by the uniform expansion
        for dtype, near in ((torch.float64, 1e-11), (torch.float32, 2e-3)):
            a, b = torch.tensor(exponents, dtype=dtype), torch.tensor(bounds, dtype=dtype)
            assert np.allclose(getattr(torch, name)(a, b).numpy(), wanted(a.double().numpy(), b.double().numpy()), rtol=near)
    assert np.allclose(torch.mvlgamma(torch.tensor([4.0, 7.5]).double(), 3).numpy(), [special.multigammaln(v, 3) for v in (4, 7.5)])
    with pytest.raises(NotImplementedError, match="igamma: input"):
        torch.igamma(torch.ones(1, requires_grad=True), torch.ones(1)).backward()
    assert torch.special.polygamma(1, torch.tensor([1.0])).shape == (1,) and torch.ones(1).polygamma(0).shape == (1,)
