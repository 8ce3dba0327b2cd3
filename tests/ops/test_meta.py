"""The meta device: every op lays its results out as on the host, no memory is taken and no kernel compiled."""
import gradientrows as gradients
import numpy as np
import pytest
from optable import ROWS as ELEMENTWISE

import numtorch as torch
from numtorch.kernels import compiler
from numtorch.ops.core.primitive import registry

F = torch.nn.functional

# What must look at elements.
READS = gradients.SPARSE - set("""sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor
    sparse_compressed_tensor""".split()) | set("masked_scatter masked_select __getitem__ cpu pin_memory".split())


def outline(result):
    """Shapes, dtypes and strides of results."""
    if isinstance(result, torch.Tensor):
        return tuple(result.shape), result.dtype, result.stride(), result.requires_grad
    return [outline(r) for r in result] if isinstance(result, (tuple, list)) else result


@pytest.fixture
def constants_on_meta(monkeypatch):
    """The rows' own tensors, index tensors above all, on the device of their inputs."""
    for name, value in list(vars(gradients).items()):
        if isinstance(value, torch.Tensor):
            monkeypatch.setattr(gradients, name, value.to("meta"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(gradients.ROWS))
def test_results_and_gradients_lie_as_on_the_host(name, request):
    function, shapes, _ = gradients.ROWS[name]
    expected = outline(function(*gradients.points(shapes))) if name not in READS else None
    request.getfixturevalue("constants_on_meta")
    before = compiler.statistics.compiled, compiler.statistics.loaded
    with torch.device("meta"):
        inputs = [torch.empty(s, dtype=torch.float64, requires_grad=True) for s in shapes]
        if expected is None:
            with pytest.raises((NotImplementedError, RuntimeError), match=r"meta|CPU"):
                function(*inputs)
            return
        result = function(*inputs)
        assert outline(result) == expected
        outputs = [t for t in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(t, torch.Tensor) and t.requires_grad]
        slopes = torch.autograd.grad(outputs, inputs, [torch.empty_like(o) for o in outputs], allow_unused=True)
    assert all(s is None or (s.device.type == "meta" and s.shape == i.shape) for s, i in zip(slopes, inputs))
    assert compiler.statistics.compiled == before[0] and compiler.statistics.loaded <= before[1] + 1     # a number's cast, on the host


L = torch.linalg
LIBRARIES = {                                            # functions of batches A (2, 3, 4, 4) and B (2, 3, 4, 2), complex or real
    "cholesky": lambda a, b: (L.cholesky(a), L.cholesky(a, upper=True), L.cholesky_ex(a)), "inv": lambda a, b: (L.inv(a), L.inv_ex(a)),
    "qr": lambda a, b: [L.qr(x, mode) for x in (a, b, b.mT) for mode in ("reduced", "complete", "r")], "geqrf": lambda a, b: torch.geqrf(b),
    "svd": lambda a, b: [L.svd(x, full) for x in (a, b, b.mT) for full in (True, False)], "svdvals": lambda a, b: (L.svdvals(b), L.svdvals(b.mT)),
    "eigh": lambda a, b: (L.eigh(a), L.eigvalsh(a, "U")), "eig": lambda a, b: (L.eig(a), L.eigvals(a)), "det": lambda a, b: (L.det(a), L.slogdet(a)),
    "solve": lambda a, b: (L.solve(a, b), L.solve(a[0], b), L.solve(a, b[..., 0]), L.solve(a, b.mT, left=False), L.solve_ex(a, b)),
    "pinv": lambda a, b: (L.pinv(b), L.pinv(a, hermitian=True)), "lu": lambda a, b: (L.lu(b), L.lu_factor(a), L.lu_factor_ex(b.mT)),
    "lu_solve": lambda a, b: L.lu_solve(*L.lu_factor(a), b), "ldl": lambda a, b: (L.ldl_factor(a), L.ldl_solve(*L.ldl_factor_ex(a)[:2], b)),
    "householder": lambda a, b: L.householder_product(*torch.geqrf(b)), "triangular": lambda a, b: L.solve_triangular(a[0], b, upper=True),
    "triangular of many": lambda a, b: L.solve_triangular(torch.eye(200, device=a.device), torch.ones(200, 3, device=a.device), upper=False),
    "cholesky_solve": lambda a, b: (torch.cholesky_solve(b, a), torch.cholesky_inverse(a)),
    "matrix_exp": lambda a, b: (torch.matrix_exp(a), L.matrix_power(a, -2), L.matrix_power(a, 0)), "svd_lowrank": lambda a, b: torch.svd_lowrank(b, 2),
    "cond": lambda a, b: (L.cond(a), L.matrix_norm(a, 2)), "fft": lambda a, b: (torch.fft.fft(b, 5), torch.fft.ifft2(a), torch.fft.fftn(b)),
    "half": lambda a, b: (torch.fft.irfft(a), torch.fft.irfftn(b, (3, 5)), torch.fft.hfft2(a), torch.fft.rfft(abs(a), 7), torch.fft.ihfft(abs(a))),
}


@pytest.mark.parametrize("dtype", (torch.float32, torch.complex128), ids=str)
@pytest.mark.parametrize("name", LIBRARIES)
def test_what_numpy_computes_lies_as_planned(name, dtype):
    """Of matrices in any order, and where the default device is another; NumPy is not called."""
    a = torch.eye(4, dtype=dtype).expand(2, 3, 4, 4) * torch.tensor([1.0, 2.0, 3.0]).reshape(3, 1, 1)
    b = torch.arange(48.0).reshape(2, 4, 3, 2).transpose(1, 2).to(dtype)
    assert outline(LIBRARIES[name](a.to("meta"), b.to("meta"))) == outline(LIBRARIES[name](a, b))


def test_eigenpairs_of_large_matrices():
    values, vectors = torch.lobpcg(torch.empty(2, 12, 12, device="meta"), k=3)
    assert values.shape == (2, 3) and vectors.shape == (2, 12, 3)


@pytest.mark.parametrize("name", sorted(n for n in ELEMENTWISE if n in registry))
def test_elementwise_ops(name):
    row = ELEMENTWISE[name]
    kind = {"f": np.float32, "i": np.int64, "b": np.bool_, "u": np.uint8, "c": np.complex64}[row.kinds[-1] if "f" not in row.kinds else "f"]
    arrays = [draw(np.random.default_rng(0), (3, 4), kind) for draw in row.domain]
    host = registry[name].function(*[torch.from_numpy(x) for x in arrays], **row.numbers)
    meta = registry[name].function(*[torch.from_numpy(x).to("meta") for x in arrays], **row.numbers)
    assert outline(meta) == outline(host) and meta.is_meta


def test_a_training_step_takes_no_memory():
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3), torch.nn.BatchNorm2d(64), torch.nn.ReLU(), torch.nn.Flatten(),
                                    torch.nn.Linear(64 * 62 * 62, 1 << 18))
        optimizer = torch.optim.AdamW(model.parameters())
        loss = F.cross_entropy(model(torch.empty(64, 3, 64, 64)), torch.zeros(64, dtype=torch.int64))
    loss.backward()
    optimizer.step()
    assert model[4].weight.grad.shape == (1 << 18, 64 * 62 * 62) and model[4].weight.grad.nbytes > 1 << 37


def test_what_it_says():
    x = torch.empty(2, 3, device="meta", dtype=torch.int32)
    assert repr(x) == "tensor(..., device='meta', size=(2, 3), dtype=torch.int32)" and x.is_meta and x.data_ptr() == 0
    assert torch.ones(2).to("meta").device == torch.device("meta")
    for read in (lambda: x.sum().item(), lambda: x.cpu(), lambda: x.tolist(), lambda: x.numpy(), lambda: x.nonzero(), lambda: bool(x[0, 0]),
                 lambda: torch.equal(x, x), lambda: x[x > 0], lambda: torch.ones(2, 3).copy_(x)):
        with pytest.raises((NotImplementedError, TypeError), match="meta"):
            read()
    with pytest.raises(RuntimeError, match="meta and cpu"):
        x + torch.ones(2, 3)


def test_to_empty_gives_memory():
    with torch.device("meta"):
        layer = torch.nn.Linear(3, 2)
    layer.to_empty(device="cpu")
    assert layer.weight.device.type == "cpu" and layer(torch.ones(1, 3)).shape == (1, 2)


def test_a_plan_without_memory_leaves_the_hosts_alone():
    """Kernels named while nothing was computed are compiled when the host needs them."""
    shape = (5, 7, 3)
    x = torch.arange(105.0).reshape(shape)
    torch.empty(shape, device="meta").sum(1)
    assert x.sum(1).tolist() == x.numpy().sum(1).tolist()


def test_a_device_decorates_functions():
    @torch.device("meta")
    def made(n):
        """Makes one."""
        return torch.ones(n)

    @torch.device("meta")
    def several():
        yield torch.ones(1)
        yield torch.ones(2)
        return 3
    assert made(2).device.type == "meta" and made.__doc__ == "Makes one." and torch.ones(1).device.type == "cpu"
    for x in several():
        assert x.device.type == "meta" and torch.ones(1).device.type == "cpu"


HOST, META = (lambda *shape: torch.ones(shape)), (lambda *shape: torch.ones(shape, device="meta"))
PLACES, MASK = (lambda *shape: torch.zeros(shape, dtype=torch.int64)), (lambda *shape: torch.ones(shape, dtype=torch.bool))
MIXED = {                                                # calls with one argument in memory and another without
    "gather": lambda: torch.gather(META(3, 4), 1, PLACES(2, 2)), "gather at": lambda: torch.gather(HOST(3, 4), 1, PLACES(2, 2).to("meta")),
    "scatter": lambda: HOST(3, 4).scatter(1, PLACES(2, 2).to("meta"), HOST(3, 4)),
    "scatter of": lambda: HOST(3, 4).scatter(1, PLACES(2, 2), META(3, 4)), "index_add": lambda: HOST(3, 4).index_add(0, PLACES(3), META(3, 4)),
    "index_select": lambda: HOST(3, 4).index_select(0, PLACES(1).to("meta")), "take": lambda: torch.take(HOST(3), PLACES(2).to("meta")),
    "embedding": lambda: F.embedding(PLACES(2).to("meta"), HOST(3, 4)), "embedding_bag": lambda: F.embedding_bag(PLACES(2, 2).to("meta"), HOST(3, 4)),
    "masked_select": lambda: HOST(3).masked_select(MASK(3).to("meta")), "cross_entropy": lambda: F.cross_entropy(HOST(3, 4), PLACES(3).to("meta")),
    "searchsorted": lambda: torch.searchsorted(HOST(3), META(2)), "grid_sample": lambda: F.grid_sample(HOST(1, 1, 4, 4), META(1, 2, 2, 2)),
    "bincount": lambda: torch.bincount(PLACES(3), META(3)), "segment_reduce": lambda: torch.segment_reduce(META(3), "sum", lengths=PLACES(1) + 3),
    "add": lambda: HOST(3) + META(3), "add_": lambda: HOST(3).add_(META(3)), "mm": lambda: HOST(2, 3) @ META(3, 2), "cat": lambda: torch.cat([HOST(3), META(3)]),
    "conv1d": lambda: F.conv1d(HOST(1, 3, 4), META(2, 3, 2)), "lstm": lambda: torch.nn.LSTM(4, 4)(META(2, 3, 4)),
    "attention": lambda: F.scaled_dot_product_attention(HOST(1, 1, 2, 4), META(1, 1, 2, 4), HOST(1, 1, 2, 4)),
    "batch_norm": lambda: torch.nn.BatchNorm1d(4)(META(3, 4)), "cdist": lambda: torch.cdist(HOST(2, 3), META(2, 3)),
    "ldl_solve": lambda: torch.linalg.ldl_solve(HOST(2, 2), PLACES(2).int(), META(2, 1)), "solve": lambda: torch.linalg.solve(torch.eye(2), META(2, 1)),
    "kron": lambda: torch.kron(HOST(2), META(2)), "cross": lambda: torch.linalg.cross(HOST(3), META(3)),
    "softmax_grad": lambda: torch.ops.aten._softmax_backward_data(HOST(3), META(3), 0, torch.float32),
}


@pytest.mark.parametrize("call", MIXED)
def test_tensors_of_two_devices(call):
    """An error, before a kernel is given the address of what has none there."""
    with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device, but found at least two devices, (cpu and meta|meta and cpu)"):
        MIXED[call]()
