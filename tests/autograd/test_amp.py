"""`torch.amp`: each listed op against PyTorch under autocast, training with it, and the scaler."""
import contextlib
import importlib
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import numtorch
from numtorch.amp import casting
from numtorch.amp.oplists import LISTS


def data(torch, shape, seed=0, low=0.0, high=1.0, dtype="float32"):
    values = np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)
    return torch.from_numpy(values).to(getattr(torch, dtype))


def definite(torch, n):
    a = data(torch, (n, n)).double()
    return (a @ a.mT + n * torch.eye(n, dtype=torch.float64)).float()


# ---------------------------------------------------------------- the lists
@pytest.mark.parametrize("device, key", [("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")])
def test_the_lists_are_pytorchs(device, key):
    torch = pytest.importorskip("torch")
    theirs = {name.removeprefix("aten::").partition(".")[0] for name in torch._C._dispatch_get_registrations_for_dispatch_key(key)}
    ours = set(LISTS[device]) - {"_convolution", "cudnn_convolution", "cudnn_convolution_transpose"}
    assert not ours - theirs
    assert not theirs - set(LISTS[device])


def test_each_op_of_pytorchs_lists():
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-m", "tests.autocastlists", "cpu"], cwd=Path(__file__).resolve().parents[2], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0 and int(done.stdout.split()[-2]) > 120, done.stdout + done.stderr


# name -> a call on float32 tensors, and the dtype of its result
SQUARE = lambda t: data(t, (4, 4))
X3 = lambda t: data(t, (1, 2, 4, 4, 4))
PAIR = lambda t: (data(t, (3, 4), 1), data(t, (3, 4), 2))
LOWER = {
    "conv1d": lambda t: t.conv1d(data(t, (2, 3, 8)), data(t, (4, 3, 3), 1), data(t, (4,), 2)),
    "conv2d": lambda t: t.nn.functional.conv2d(data(t, (2, 3, 8, 8)), data(t, (4, 3, 3, 3), 1)),
    "conv3d": lambda t: t.conv3d(data(t, (1, 2, 4, 4, 4)), data(t, (3, 2, 2, 2, 2), 1)),
    "conv_transpose2d": lambda t: t.conv_transpose2d(data(t, (1, 2, 4, 4)), data(t, (2, 3, 3, 3), 1)),
    "mm": lambda t: t.mm(SQUARE(t), SQUARE(t)), "bmm": lambda t: t.bmm(data(t, (2, 3, 4)), data(t, (2, 4, 5), 1)),
    "matmul": lambda t: SQUARE(t) @ data(t, (4,), 1), "Tensor.mm": lambda t: SQUARE(t).mm(SQUARE(t)),
    "addmm": lambda t: t.addmm(data(t, (4,)), SQUARE(t), SQUARE(t)), "addbmm": lambda t: t.addbmm(data(t, (3, 5)), data(t, (2, 3, 4)), data(t, (2, 4, 5))),
    "baddbmm": lambda t: data(t, (2, 3, 5)).baddbmm(data(t, (2, 3, 4)), data(t, (2, 4, 5))),
    "linear": lambda t: t.nn.functional.linear(data(t, (3, 4)), data(t, (5, 4), 1), data(t, (5,), 2)),
    "vecdot": lambda t: t.linalg.vecdot(*PAIR(t)), "prelu": lambda t: t.prelu(data(t, (3, 4), 0, -1), data(t, (1,))),
    "scaled_dot_product_attention": lambda t: t.nn.functional.scaled_dot_product_attention(*[data(t, (1, 2, 5, 8), i) for i in range(3)]),
    "einsum": lambda t: t.einsum("ij,jk->ik", SQUARE(t), SQUARE(t)), "tensordot": lambda t: t.tensordot(SQUARE(t), SQUARE(t), 1),
    "inner": lambda t: t.inner(SQUARE(t), SQUARE(t)), "multi_dot": lambda t: t.linalg.multi_dot([SQUARE(t)] * 3),
    "stack": lambda t: t.stack([SQUARE(t).bfloat16(), SQUARE(t).bfloat16()]),
}
LOSSES = {
    "mse_loss": PAIR, "l1_loss": PAIR, "smooth_l1_loss": PAIR, "huber_loss": PAIR, "kl_div": PAIR, "binary_cross_entropy_with_logits": PAIR,
    "poisson_nll_loss": PAIR, "soft_margin_loss": lambda t: (PAIR(t)[0], t.ones(3, 4)), "binary_cross_entropy": PAIR,
    "hinge_embedding_loss": lambda t: (PAIR(t)[0], t.ones(3, 4)), "margin_ranking_loss": lambda t: (*PAIR(t), t.ones(3, 4)),
    "triplet_margin_loss": lambda t: (*PAIR(t), data(t, (3, 4), 3)), "cosine_embedding_loss": lambda t: (*PAIR(t), t.ones(3)),
    "cross_entropy": lambda t: (PAIR(t)[0], t.tensor([0, 1, 2])), "nll_loss": lambda t: (PAIR(t)[0], t.tensor([0, 1, 2])),
    "multi_margin_loss": lambda t: (PAIR(t)[0], t.tensor([0, 1, 2])), "multilabel_margin_loss": lambda t: (PAIR(t)[0], t.tensor([[0, -1, 1, 2]] * 3)),
    "ctc_loss": lambda t: (data(t, (6, 2, 5)).log_softmax(2), t.tensor([[1, 2], [3, 4]]), t.tensor([6, 6]), t.tensor([2, 2])),
}
# on bfloat16 tensors: they are cast up
FLOAT32 = {
    **{name: (lambda t, name=name, args=args: getattr(t.nn.functional, name)(*[a.bfloat16() if a.is_floating_point() else a for a in args(t)]))
       for name, args in LOSSES.items()},
    "prod": lambda t: t.prod(SQUARE(t).bfloat16()), "prod over a dimension": lambda t: SQUARE(t).bfloat16().prod(1),
    "quantile": lambda t: t.quantile(SQUARE(t).bfloat16(), 0.5), "nanquantile": lambda t: SQUARE(t).bfloat16().nanquantile(0.5),
    "cdist": lambda t: t.cdist(SQUARE(t).bfloat16(), SQUARE(t).bfloat16()), "trace": lambda t: t.trace(SQUARE(t).bfloat16()),
    "view_as_complex": lambda t: t.view_as_complex(data(t, (3, 2)).bfloat16()).real, "polar": lambda t: t.polar(data(t, 3).bfloat16(), data(t, 3).bfloat16()).real,
    "avg_pool3d": lambda t: t.nn.functional.avg_pool3d(X3(t).bfloat16(), 2), "max_pool3d": lambda t: t.nn.functional.max_pool3d(X3(t).bfloat16(), 2),
    "adaptive_avg_pool3d": lambda t: t.nn.functional.adaptive_avg_pool3d(X3(t).bfloat16(), 2),
    "reflection_pad2d": lambda t: t.nn.functional.pad(data(t, (1, 2, 4, 4)).bfloat16(), (1, 1, 1, 1), mode="reflect"),
    "replication_pad1d": lambda t: t.nn.functional.pad(data(t, (2, 4, 4)).bfloat16(), (1, 1), mode="replicate"),
    "grid_sample": lambda t: t.nn.functional.grid_sample(data(t, (1, 2, 4, 4)).bfloat16(), data(t, (1, 3, 3, 2)).bfloat16(), align_corners=False),
    "max_unpool1d": lambda t: t.nn.functional.max_unpool1d(data(t, (1, 1, 2)).bfloat16(), t.tensor([[[0, 3]]]), 2),
    "inverse": lambda t: t.inverse(definite(t, 3).bfloat16()), "linalg.inv": lambda t: t.linalg.inv(definite(t, 3).bfloat16()),
    "cholesky": lambda t: t.linalg.cholesky(definite(t, 3).bfloat16()), "solve": lambda t: t.linalg.solve(definite(t, 3).bfloat16(), data(t, 3).bfloat16()),
    "eigvalsh": lambda t: t.linalg.eigvalsh(definite(t, 3).bfloat16()), "svdvals": lambda t: t.linalg.svdvals(definite(t, 3).bfloat16()),
    "means of volumes": lambda t: t.nn.functional.interpolate(X3(t).bfloat16(), size=(2, 2, 3), mode="area"),
    "fft": lambda t: t.fft.fft(data(t, 8).bfloat16()).real, "irfft": lambda t: t.fft.irfft(data(t, 8).bfloat16()),
    "stack": lambda t: t.stack([SQUARE(t), SQUARE(t).bfloat16()]), "cat": lambda t: t.cat([SQUARE(t).bfloat16(), SQUARE(t)]),
    "index_copy": lambda t: SQUARE(t).index_copy(0, t.tensor([0]), data(t, (1, 4)).bfloat16()),
}
# in no list: as without autocast
AS_GIVEN = {
    "mv": lambda t: SQUARE(t).mv(data(t, 4)), "dot": lambda t: t.dot(data(t, 4), data(t, 4)), "exp": lambda t: SQUARE(t).exp(),
    "sum": lambda t: SQUARE(t).sum(), "add": lambda t: SQUARE(t) + SQUARE(t), "softmax": lambda t: t.softmax(SQUARE(t), 1),
    "layer_norm": lambda t: t.nn.functional.layer_norm(SQUARE(t), (4,)), "max_pool2d": lambda t: t.nn.functional.max_pool2d(data(t, (1, 2, 4, 4)), 2),
    "mm of float64": lambda t: SQUARE(t).double() @ SQUARE(t).double(), "mm with out": lambda t: t.mm(SQUARE(t), SQUARE(t), out=t.zeros(4, 4)),
    "addmm_": lambda t: SQUARE(t).addmm_(SQUARE(t), SQUARE(t)), "pad": lambda t: t.nn.functional.pad(SQUARE(t).bfloat16(), (1, 1)).float(),
    "means of images": lambda t: t.nn.functional.interpolate(data(t, (1, 2, 4, 4)).bfloat16(), size=(2, 2), mode="area").float(),
    "interpolate": lambda t: t.nn.functional.interpolate(X3(t).bfloat16(), size=(2, 2, 3), mode="nearest").float(),
    **{f"tensordot, {a} with {b}": lambda t, a=a, b=b, dims=dims: t.tensordot(data(t, a), data(t, b, 1), dims)
       for a, b, dims in (((1, 3), (3, 1), 1), ((3,), (3,), 1), ((1,), (1,), 0), ((2, 2, 1), (2, 1, 2), ([0, 1], [2, 0])))},
    "matrix_exp": lambda t: t.matrix_exp(SQUARE(t)), "kron": lambda t: t.kron(SQUARE(t), SQUARE(t)), "outer": lambda t: t.outer(data(t, 4), data(t, 4)),
    "einsum without sums": lambda t: t.einsum("ij,ij->ij", SQUARE(t), SQUARE(t)),
    "max_pool3d with indices": lambda t: t.nn.functional.max_pool3d(X3(t).bfloat16(), 2, return_indices=True)[0].float(),
    "multilabel_soft_margin_loss": lambda t: t.nn.functional.multilabel_soft_margin_loss(*PAIR(t)),
    "reflection_pad3d": lambda t: t.nn.functional.pad(X3(t).bfloat16(), (1, 1) * 3, mode="reflect").float(),
}
CALLS = [*[("lower", *row) for row in LOWER.items()], *[("float32", *row) for row in FLOAT32.items()], *[("as given", *row) for row in AS_GIVEN.items()]]


@pytest.mark.parametrize("kind, name, call", CALLS, ids=[f"{kind}: {name}" for kind, name, _ in CALLS])
def test_a_listed_op(kind, name, call):
    torch = pytest.importorskip("torch")
    with numtorch.autocast("cpu", numtorch.bfloat16):
        found = call(numtorch)
    with torch.autocast("cpu", torch.bfloat16):
        wanted = call(torch)
    assert str(found.dtype) == str(wanted.dtype)
    if kind == "lower":
        assert found.dtype is numtorch.bfloat16
    elif kind == "float32":
        assert found.dtype is numtorch.float32
    tolerance = 2e-2 if kind == "lower" else 1e-4
    np.testing.assert_allclose(found.double().numpy(), wanted.double().numpy(), tolerance, tolerance)


def test_sums_are_float32_where_the_call_does_not_say():
    x, run = data(numtorch, (3, 4), dtype="bfloat16"), casting.KINDS["sums"]
    assert run(numtorch.sum, (x,), {}, "cpu").dtype is numtorch.float32
    assert run(numtorch.sum, (x,), {"dtype": numtorch.bfloat16}, "cpu").dtype is numtorch.bfloat16
    assert run(numtorch.sum, (x.double(),), {}, "cpu").dtype is numtorch.float64


def test_float16_is_another_dtype_of_regions(torch):
    with torch.autocast("cpu", dtype=torch.float16):
        assert (SQUARE(torch) @ SQUARE(torch)).dtype is torch.float16
        with pytest.raises(RuntimeError, match="Unexpected floating ScalarType"):
            torch.cat([SQUARE(torch).bfloat16(), SQUARE(torch).bfloat16()])


LAYERS = {
    "Linear": lambda t: t.nn.Linear(4, 3)(data(t, (2, 4))), "Conv2d": lambda t: t.nn.Conv2d(1, 2, 3)(data(t, (1, 1, 5, 5))),
    "LSTM": lambda t: t.nn.LSTM(4, 5)(data(t, (3, 2, 4)))[0], "GRU": lambda t: t.nn.GRU(4, 5)(data(t, (3, 2, 4)))[0],
    "RNN": lambda t: t.nn.RNN(4, 5)(data(t, (3, 2, 4)))[1], "LSTMCell": lambda t: t.nn.LSTMCell(4, 5)(data(t, (2, 4)))[0],
    "GRUCell": lambda t: t.nn.GRUCell(4, 5)(data(t, (2, 4))), "RNNCell": lambda t: t.nn.RNNCell(4, 5)(data(t, (2, 4))),
    "MultiheadAttention": lambda t: t.nn.MultiheadAttention(4, 2)(*[data(t, (3, 2, 4))] * 3)[0],
    "TransformerEncoderLayer": lambda t: t.nn.TransformerEncoderLayer(4, 2, 8)(data(t, (3, 2, 4))),
    "BatchNorm": lambda t: t.nn.BatchNorm1d(4)(data(t, (3, 4)).bfloat16()), "Embedding": lambda t: t.nn.Embedding(4, 2)(t.tensor([1])),
    "Bilinear": lambda t: t.nn.Bilinear(4, 4, 2)(*PAIR(t)), "Sequential": lambda t: t.nn.Sequential(t.nn.Linear(4, 4), t.nn.LayerNorm(4))(SQUARE(t)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    torch = pytest.importorskip("torch")
    dtypes = []
    for library in (numtorch, torch):
        with library.autocast("cpu"):
            dtypes.append(str(LAYERS[name](library).dtype))
    assert dtypes[0] == dtypes[1]


CELLS = {"LSTMCell": 2, "GRUCell": 1, "RNNCell": 1}


@pytest.mark.parametrize("name", CELLS)
def test_cells_round_their_products(name):
    """As PyTorch does, states of float32 and inputs of bfloat16 too; gradients come back in float32."""
    torch = pytest.importorskip("torch")
    found = {}
    for library, bits in ((numtorch, 16), (torch, 16), (torch, 32)):
        cell = getattr(library.nn, name)(24, 32)
        with library.no_grad():
            for i, parameter in enumerate(cell.parameters()):
                parameter.copy_(data(library, tuple(parameter.shape), i, -0.5, 0.5))
        x, states = data(library, (6, 24), 7, -1), [data(library, (6, 32), 8 + i, -1) for i in range(CELLS[name])]
        with library.autocast("cpu", enabled=bits == 16):
            first = cell(x, tuple(states) if len(states) > 1 else states[0])
            second = cell(x.bfloat16() if bits == 16 else x, first)
            alone = cell(x)
        for each in (first, second, alone):
            found.setdefault((library, bits), []).extend(each if isinstance(each, tuple) else (each,))
        sum(each.float().sum() for each in found[library, bits]).backward()
        found[library, bits] += [parameter.grad for parameter in cell.parameters()]
        assert all(parameter.grad.dtype is library.float32 for parameter in cell.parameters())
    for ours, theirs, exact in zip(found[numtorch, 16], found[torch, 16], found[torch, 32]):
        assert str(ours.dtype) == str(theirs.dtype)
        ours, theirs, exact = (each.detach().double().numpy() for each in (ours, theirs, exact))
        assert np.abs(ours - theirs).mean() < 0.35 * np.abs(exact - theirs).mean()
    cell = numtorch.nn.LSTMCell(4, 5)
    with numtorch.autocast("cpu"):
        for bad in (lambda: cell(numtorch.ones(2, 3)), lambda: cell(numtorch.ones(2, 4), (numtorch.ones(2, 6),) * 2)):
            with pytest.raises(RuntimeError, match="inconsistent"):
                bad()
        assert cell.double()(numtorch.ones(2, 4, dtype=numtorch.float64))[0].dtype is numtorch.float64
        assert (SQUARE(numtorch) @ SQUARE(numtorch)).dtype is numtorch.bfloat16


# One kernel has all of these layers, in PyTorch oneDNN's, and each rounds what lies between the products in its own way.
FOR_ALL_GATES = {("LSTM", False): 1.5, ("RNN", False): 1.5}


@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize("name", ["GRU", "LSTM", "RNN"])
def test_recurrent_layers_round_their_products(name, packed):
    """As PyTorch does, in two layers and both directions: the outputs' dtypes are its own, and the rounding is, gradients' too."""
    torch = pytest.importorskip("torch")
    found = {}
    for library, bits in ((numtorch, 16), (torch, 16), (torch, 32)):
        layer = getattr(library.nn, name)(24, 32, num_layers=2, bidirectional=True)
        with library.no_grad():
            for i, parameter in enumerate(layer.parameters()):
                parameter.copy_(data(library, tuple(parameter.shape), i, -0.5, 0.5))
        x = data(library, (5, 4, 24), 90, -1)
        with library.autocast("cpu", enabled=bits == 16):
            out, ends = layer(library.nn.utils.rnn.pack_padded_sequence(x, [5, 4, 4, 1]) if packed else x)
        results = [out.data if packed else out, *(ends if name == "LSTM" else (ends,))]
        sum(each.float().sum() for each in results).backward()
        found[library, bits] = results + [parameter.grad for parameter in layer.parameters()]
    for ours, theirs, exact in zip(found[numtorch, 16], found[torch, 16], found[torch, 32]):
        assert str(ours.dtype) == str(theirs.dtype)
        ours, theirs, exact = (each.detach().double().numpy() for each in (ours, theirs, exact))
        assert np.abs(ours - theirs).mean() < FOR_ALL_GATES.get((name, packed), 0.35) * np.abs(exact - theirs).mean()


# ---------------------------------------------------------------- regions
def test_regions_nest(torch):
    x = SQUARE(torch)
    with torch.autocast("cpu") as region:
        assert torch.is_autocast_enabled("cpu") and torch.is_autocast_cpu_enabled() and not torch.is_autocast_enabled("cuda")
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16 and region is not None
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32 and not torch.is_autocast_enabled("cpu")
            with torch.autocast("cpu", torch.float16):
                assert (x @ x).dtype is torch.float16
        assert (x @ x).dtype is torch.bfloat16
        with pytest.raises(KeyError), torch.autocast("cpu", torch.float16):
            raise KeyError
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    assert (x @ x).dtype is torch.float32 and not torch.is_autocast_enabled("cpu")


def test_an_op_that_fails_leaves_the_region_on(torch):
    x = SQUARE(torch)
    with torch.autocast("cpu"):
        with pytest.raises(RuntimeError):
            torch.mm(x, data(torch, (3, 3)))
        assert (x @ x).dtype is torch.bfloat16


def test_decorated_functions(torch):
    @torch.autocast("cpu")
    def product(x, deep=0):
        """What it says."""
        return product(x, deep - 1) if deep else x @ x
    assert product(SQUARE(torch)).dtype is torch.bfloat16 and product.__doc__ == "What it says."
    if torch is numtorch:                                # PyTorch's stays on after this
        assert product(SQUARE(torch), 2).dtype is torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")
    with pytest.raises(TypeError, match="requires a callable"):
        torch.autocast("cpu")(3)


def test_regions_are_of_their_thread(torch):
    seen = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((SQUARE(torch) @ SQUARE(torch)).dtype))
        thread.start()
        thread.join()
    assert seen == [torch.float32]


def test_parameters_are_cast_once():
    w = numtorch.nn.Parameter(data(numtorch, (4, 4)))
    with numtorch.autocast("cpu"):
        w @ w
        first, = casting.state.cache.values()
        with numtorch.autocast("cpu"):
            w @ w
        assert [kept[1] for kept in casting.state.cache.values()] == [first[1]]
        with numtorch.no_grad():                         # a cast that was not recorded is not for what is
            w @ w
        assert len(casting.state.cache) == 2
        with numtorch.autocast("cpu", cache_enabled=False):
            numtorch.nn.Parameter(data(numtorch, (4, 4))) @ w
        assert len(casting.state.cache) == 2
    assert not casting.state.cache


def test_gradients_with_a_cast_made_without_recording():
    w = numtorch.nn.Parameter(data(numtorch, (4, 4)))
    with numtorch.autocast("cpu"):
        with numtorch.no_grad():
            w @ w
        (w @ w).sum().backward()
    assert w.grad is not None and w.grad.dtype is numtorch.float32


def test_bad_regions(torch):
    with pytest.raises(ValueError, match="type `str`"):
        torch.autocast(3)
    with pytest.raises(RuntimeError, match="unsupported"):
        torch.autocast("meta")
    with torch.autocast("cpu:0"):
        assert torch.is_autocast_enabled("cpu") and (SQUARE(torch) @ SQUARE(torch)).dtype is torch.bfloat16
    with pytest.warns(UserWarning, match="target dtype is not supported. Disabling"), torch.autocast("cpu", torch.float32):
        assert not torch.is_autocast_enabled("cpu")
    with pytest.warns(UserWarning, match="CUDA is not available"), torch.autocast("cuda"):
        assert not torch.is_autocast_enabled("cuda")


def test_the_older_names(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.cpu.amp.autocast():
            assert (SQUARE(torch) @ SQUARE(torch)).dtype is torch.bfloat16
        with torch.amp.autocast("cpu", dtype=torch.float16):
            assert torch.get_autocast_cpu_dtype() is torch.float16
        assert not torch.cuda.amp.GradScaler().is_enabled() and torch.cpu.amp.GradScaler().is_enabled()
        torch.set_autocast_cpu_enabled(True)
        assert (SQUARE(torch) @ SQUARE(torch)).dtype is torch.bfloat16
        torch.set_autocast_enabled("cpu", False)
    assert torch.get_autocast_gpu_dtype() is torch.float16 and torch.amp.is_autocast_available("cpu")
    assert torch.is_autocast_cache_enabled() and torch.autocast_increment_nesting() - torch.autocast_decrement_nesting() == 1


def test_without_a_region_functions_are_what_they_are():
    before = numtorch.matmul.__code__
    with numtorch.autocast("cpu", enabled=False):
        assert numtorch.matmul.__code__ is before
    with numtorch.autocast("cpu"):
        assert numtorch.matmul.__code__ is not before and numtorch.exp.__code__.co_name == "exp"
    casting.uninstall()
    assert numtorch.matmul.__code__ == before


def test_subclasses_and_profiles_see_the_call_before_it_is_cast():
    class Asked(numtorch.Tensor):
        seen = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.seen.append((func.__name__, args[0].layout.dtype if isinstance(args[0], numtorch.Tensor) else None))   # `dtype` asks
            return super().__torch_function__(func, types, args, kwargs)
    x = SQUARE(numtorch).as_subclass(Asked)
    with numtorch.autocast("cpu"), numtorch.profiler.profile() as profile:
        numtorch.mm(x, x)
    assert ("mm", numtorch.float32) in Asked.seen
    mm = next(e for e in profile.events() if e.name == "mm")
    assert mm.launches >= 1 or numtorch.kernels.binding.DISABLE_JIT


# ---------------------------------------------------------------- autograd.Function
def test_custom_functions(torch):
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append(torch.is_autocast_enabled("cpu"))
            return grad @ b.t(), a.t() @ grad

    class Exact(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, a, pair):
            seen.append((a.dtype, pair[0].dtype, pair[1], torch.is_autocast_enabled("cpu")))
            return a @ a

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad, None

    a = SQUARE(torch).requires_grad_()
    with torch.autocast("cpu"):
        out = Product.apply(a, SQUARE(torch))
        assert out.dtype is torch.bfloat16
    out.float().sum().backward()
    assert seen == [True] and a.grad.dtype is torch.float32
    half = SQUARE(torch).bfloat16()
    with torch.autocast("cpu"):
        assert Exact.apply(half, (half, "text")).dtype is torch.float32
    assert seen[1] == (torch.float32, torch.float32, "text", False)
    assert Exact.apply(half, (half, 1)).dtype is torch.bfloat16           # outside it changes nothing
    with pytest.raises(ValueError):
        torch.amp.custom_fwd(lambda ctx: None, device_type=1)


# ---------------------------------------------------------------- training
def trained(torch, scaler=None, steps=20):
    """Losses of a small network under autocast, from weights of NumPy's."""
    draw = np.random.default_rng(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 16),
                                torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 5))
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(draw.normal(0, 0.2, tuple(p.shape)).astype(np.float32)))
    x, y = torch.from_numpy(draw.normal(size=(32, 1, 8, 8)).astype(np.float32)), torch.from_numpy(draw.integers(0, 5, 32))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            scaler.step(optimizer)
            scaler.update()
        losses.append(loss.item())
    assert loss.dtype is torch.float32 and all(p.grad.dtype is torch.float32 for p in model.parameters())
    return losses


@pytest.mark.parametrize("scaled", [False, True])
def test_training_goes_as_pytorchs(scaled):
    torch = pytest.importorskip("torch")
    ours, theirs = (trained(t, t.amp.GradScaler("cpu", init_scale=1024.0) if scaled else None) for t in (numtorch, torch))
    np.testing.assert_allclose(ours, theirs, rtol=3e-2)
    assert ours[-1] < ours[0] - 0.3


# ---------------------------------------------------------------- the scaler
def test_scaler_backs_off_and_grows(torch):
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    seen = []
    for factor in (1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0, 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        before = p.detach().clone()
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), scaler.state_dict()["_growth_tracker"], torch.equal(before, p.detach())))
    assert seen == [(8.0, 1, False), (4.0, 0, True), (4.0, 1, False), (2.0, 0, True), (2.0, 1, False), (4.0, 0, False), (4.0, 1, False), (8.0, 0, False)]
    assert p.tolist() == pytest.approx([0.4, 0.4])


def test_scaler_does_not_grow_to_infinity(torch):
    p = torch.nn.Parameter(torch.zeros(1))
    optimizer, scaler = torch.optim.SGD([p], lr=0.1), torch.amp.GradScaler("cpu", init_scale=3e38, growth_interval=1)
    scaler.scale((p * 1e-6).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == pytest.approx(3e38)


def test_scaler_of_two_optimizers_and_lists(torch):
    a, b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    one, two = torch.optim.SGD([a], lr=1.0), torch.optim.SGD([b], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    losses = scaler.scale([a.sum(), (b * float("inf")).sum()])
    assert isinstance(losses, list)
    losses[0].backward()
    losses[1].backward()
    scaler.step(one)
    scaler.step(two)
    scaler.update()
    assert a.item() == 0.0 and b.item() == 1.0 and scaler.get_scale() == 2.0
    scaler.update(16.0)
    assert scaler.get_scale() == 16.0


def scaled_steps(torch, seed):
    """What a scaler does in iterations that draw what becomes of them: the factor, its state, and parameters of two optimisers."""
    draw = np.random.default_rng(seed)
    dense, table = torch.nn.Parameter(torch.ones(3)), torch.nn.Embedding(4, 2, sparse=True)
    with torch.no_grad():
        table.weight.fill_(1.0)
    optimizers = torch.optim.SGD([dense], lr=0.125), torch.optim.SGD(table.parameters(), lr=0.125)
    scaler, seen = torch.amp.GradScaler("cpu", init_scale=2.0 ** 7, growth_factor=1.5, growth_interval=3), []
    for _ in range(30):
        for optimizer in optimizers:
            optimizer.zero_grad()
        factors = [float(f) for f in draw.choice([1.0, 0.5, np.inf, np.nan], 2, p=[0.5, 0.3, 0.1, 0.1])]
        losses = [(dense * factors[0]).sum(), (iter([table(torch.tensor([1, 3, 1])).sum() * factors[1]]))]
        one, other = scaler.scale(losses)
        (one + next(other)).backward()
        for optimizer in optimizers:
            if draw.random() < 0.5:
                scaler.unscale_(optimizer)
                seen.append([p.grad.to_dense().tolist() for group in optimizer.param_groups for p in group["params"]])
            scaler.step(optimizer)
        scaler.update(torch.tensor(64.0) if draw.random() < 0.1 else None)
        seen.append((scaler.state_dict(), dense.tolist(), table.weight.tolist()))
        if draw.random() < 0.2:
            state, scaler = scaler.state_dict(), torch.amp.GradScaler("cpu")
            scaler.load_state_dict(state)
    return repr(seen)


@pytest.mark.parametrize("seed", range(4))
def test_scaler_goes_as_pytorchs(seed):
    assert scaled_steps(numtorch, seed) == scaled_steps(pytest.importorskip("torch"), seed)


def test_scaler_keeps_its_state(torch):
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=7)
    state = scaler.state_dict()
    assert state == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 7, "_growth_tracker": 0}
    scaler.scale(torch.ones(1))
    again = torch.amp.GradScaler("cpu")
    again.load_state_dict({**state, "scale": 2.0, "_growth_tracker": 3})
    assert again.get_scale() == 2.0 and again.scale(torch.ones(1)).item() == 2.0 and again.state_dict()["_growth_tracker"] == 3
    assert pickle.loads(pickle.dumps(again)).get_scale() == 2.0
    off = torch.amp.GradScaler("cpu", enabled=False)
    assert off.state_dict() == {} and off.get_scale() == 1.0 and off.scale(3) == 3
    with pytest.raises(RuntimeError, match="empty"):
        scaler.load_state_dict({})


MISUSES = {
    "step before scale": (AssertionError, lambda s, o: s.step(o)), "update before scale": (AssertionError, lambda s, o: s.update()),
    "unscale after a step": (RuntimeError, lambda s, o: (s.scale(o.param_groups[0]["params"][0].sum()).backward(), s.step(o), s.unscale_(o))),
    "pickled between": (AssertionError, lambda s, o: (s.scale(o.param_groups[0]["params"][0].sum()).backward(), s.unscale_(o), pickle.dumps(s))),
    "unscale twice": (RuntimeError, lambda s, o: (s.scale(o.param_groups[0]["params"][0].sum()).backward(), s.unscale_(o), s.unscale_(o))),
    "step twice": (RuntimeError, lambda s, o: (s.scale(o.param_groups[0]["params"][0].sum()).backward(), s.step(o), s.step(o))),
    "no gradients": (AssertionError, lambda s, o: (s.scale(o.param_groups[0]["params"][0].sum()), s.step(o))),
    "a closure": (RuntimeError, lambda s, o: (s.scale(o.param_groups[0]["params"][0].sum()).backward(), s.step(o, closure=lambda: None))),
    "a number": (ValueError, lambda s, o: s.scale(3.0)),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_of_a_scaler(torch, name):
    kind, use = MISUSES[name]
    scaler, optimizer = torch.amp.GradScaler("cpu"), torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
    with pytest.raises(kind):
        use(scaler, optimizer)


def test_float16_gradients_are_refused(torch):
    p = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
    scaler, optimizer = torch.amp.GradScaler("cpu", init_scale=2.0), torch.optim.SGD([p], lr=0.1)
    scaler.scale(p.sum()).backward()
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(optimizer)


def test_bad_factors(torch):
    for options in (dict(growth_factor=1.0), dict(backoff_factor=1.0)):
        with pytest.raises(AssertionError), contextlib.nullcontext():
            torch.amp.GradScaler("cpu", **options)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("reentrant", [True, False])
def test_a_second_run_is_in_the_regions_of_the_first(torch, reentrant, enabled, inside):
    """Of a checkpointed function, wherever backward is called."""
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    seen, x = [], torch.ones(2, 2, requires_grad=True)

    def product(x):
        y = torch.mm(x, x)
        seen.append(y.dtype)
        return y
    with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
        loss = checkpoint(product, x, use_reentrant=reentrant).sum()
    with torch.autocast("cpu", torch.bfloat16, enabled=inside):
        loss.backward()
    assert set(seen) == {torch.bfloat16 if enabled else torch.float32}
    assert torch.mm(x, x).dtype is torch.float32
