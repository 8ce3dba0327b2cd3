"""Layer, RMS, group, instance and batch norm against formulas in NumPy float64, their gradients, and PyTorch where installed."""
import itertools

import numpy as np
import pytest

import numtorch as torch
from numtorch.autograd import gradcheck, gradgradcheck
from numtorch.nn import functional as F

TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "float16": 5e-3, "bfloat16": 4e-2}


def standardised(x, dims, eps, centred=True):
    if centred:
        x = x - x.mean(dims, keepdims=True)
    return x / np.sqrt((x * x).mean(dims, keepdims=True) + eps)


def vector(values, ndim):
    return 1.0 if values is None else values.reshape((1, -1) + (1,) * (ndim - 2))


def grouped(x, groups, eps):
    return standardised(x.reshape(x.shape[0], groups, -1), (2,), eps).reshape(x.shape)


# name: the function of (x, weight, bias), its weights' shape, and the reference of (x, weight, bias)
def case(call, shape_of_weight, reference):
    return call, shape_of_weight, reference


EPS = 1e-5
NORMS = {
    "layer_norm": case(lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, EPS), lambda s: s[-1:],
                       lambda x: standardised(x, (-1,), EPS)),
    "layer_norm of two dims": case(lambda x, w, b: F.layer_norm(x, x.shape[-2:], w, b, EPS), lambda s: s[-2:],
                                   lambda x: standardised(x, (-2, -1), EPS)),
    "rms_norm": case(lambda x, w, b: F.rms_norm(x, x.shape[-1:], w, EPS), lambda s: s[-1:],
                     lambda x: standardised(x, (-1,), EPS, False)),
    "group_norm": case(lambda x, w, b: F.group_norm(x, 2, w, b, EPS), lambda s: s[1:2], lambda x: grouped(x, 2, EPS)),
    "instance_norm": case(lambda x, w, b: F.instance_norm(x, None, None, w, b, True, 0.1, EPS), lambda s: s[1:2],
                          lambda x: grouped(x, x.shape[1], EPS)),
    "batch_norm": case(lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0.1, EPS), lambda s: s[1:2],
                       lambda x: standardised(x, (0, *range(2, x.ndim)), EPS)),
}
SHAPES = {name: [(5, 6), (3, 7, 130), (2, 6, 2501)] if "rms" in name or "layer" in name else
          [(6, 4, 3), (2, 8, 5, 7), (3, 6, 700), (2, 2, 2500), (40, 6, 49)] for name in NORMS}
SHAPES["layer_norm of two dims"] = [(4, 3, 5), (2, 3, 60, 50)]
SHAPES["batch_norm"] += [(6, 4), (70, 3), (33, 600), (3, 1, 1)]
SHAPES["group_norm"] += [(6, 8), (3, 512), (71, 8, 300)]     # the last: threads share groups in the middle of an example


def made(array, dtype, grad=False):
    return torch.tensor(array.tolist(), dtype=torch.float64).to(getattr(torch, dtype)).requires_grad_(grad) if array.size else \
        torch.zeros(array.shape, dtype=getattr(torch, dtype))


def values(tensor):
    return tensor.detach().to(torch.float64).numpy()


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", NORMS)
def test_forward(name, dtype):
    call, weight_shape, reference = NORMS[name]
    rng = np.random.default_rng(0)
    for shape in SHAPES[name]:
        x = made(rng.normal(2.0, 3.0, shape), dtype)
        weight, bias = (made(rng.uniform(0.5, 2.0, weight_shape(shape)), dtype) for _ in range(2))
        expected = reference(values(x))
        for w, b in [(None, None), (weight, None), (weight, bias), (None, bias)]:
            if b is not None and name == "rms_norm":
                continue
            shaped = (lambda v: v) if "layer" in name or "rms" in name else lambda v: vector(v, len(shape))  # noqa: B023
            wanted = expected * (1.0 if w is None else shaped(values(w))) + (0.0 if b is None else shaped(values(b)))
            out = call(x, w, b)
            assert out.dtype is x.dtype and out.shape == x.shape
            tolerance = TOLERANCE[dtype]
            np.testing.assert_allclose(values(out), wanted, tolerance, tolerance * 4, err_msg=f"{shape} {w is None} {b is None}")


@pytest.mark.parametrize("name", NORMS)
def test_gradients(name):
    """Of any order, with every set of inputs that need them; the kernels' and the formula's agree."""
    call, weight_shape, _ = NORMS[name]
    rng = np.random.default_rng(1)
    for shape in [s for s in SHAPES[name] if np.prod(s) < 120]:
        for x_grad, w_grad, b_grad in itertools.product([True, False], repeat=3):
            if (name == "rms_norm" and b_grad) or not (x_grad or w_grad or b_grad):
                continue
            x = made(rng.normal(size=shape), "float64", x_grad)
            weight, bias = (made(rng.uniform(0.5, 2.0, weight_shape(shape)), "float64", g) for g in (w_grad, b_grad))
            assert gradcheck(call, (x, weight, bias))
            if name == "rms_norm":
                continue
            first = torch.autograd.grad((call(x, weight, bias) ** 3).sum(), [t for t in (x, weight, bias) if t.requires_grad])
            again = torch.autograd.grad((call(x, weight, bias) ** 3).sum(), [t for t in (x, weight, bias) if t.requires_grad],
                                        create_graph=True)
            for a, b in zip(first, again):
                np.testing.assert_allclose(values(a), values(b), 1e-9, 1e-9)
        x = made(rng.normal(size=shape), "float64", True)
        assert gradcheck(lambda x: call(x, None, None), (x,))
        weight, bias = (made(rng.uniform(0.5, 2.0, weight_shape(shape)), "float64", True) for _ in range(2))
        assert gradgradcheck(call, (x, weight, bias) if name != "rms_norm" else (x, weight, None))


@pytest.mark.parametrize("name", NORMS)
def test_large_gradients_equal_the_formula(name):
    """Blocks, parts and gathered planes: shapes too large for finite differences."""
    call, weight_shape, _ = NORMS[name]
    rng = np.random.default_rng(2)
    for shape, threads in itertools.product([s for s in SHAPES[name] if np.prod(s) >= 120] + [(71, 8, 300)], [1, 2]):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            inputs = [made(rng.normal(size=shape), "float64", True)]
            inputs += [made(rng.uniform(0.5, 2.0, weight_shape(shape)), "float64", True) for _ in range(1 + (name != "rms_norm"))]
            out = call(*inputs, *([None] if name == "rms_norm" else []))
            seed = made(rng.normal(size=shape), "float64")
            fused = torch.autograd.grad(out, inputs, seed, retain_graph=True)
            composed = torch.autograd.grad(out, inputs, seed, create_graph=True)
        finally:
            torch.set_num_threads(before)
        for a, b in zip(fused, composed):
            np.testing.assert_allclose(values(a), values(b), 1e-9, 1e-10, err_msg=str(shape))


@pytest.mark.parametrize("name", NORMS)
def test_views_and_saved_inputs(name):
    call, weight_shape, reference = NORMS[name]
    x = made(np.random.default_rng(3).normal(size=(4, 6, 5)), "float32", True)
    swapped = x.transpose(0, 2)
    np.testing.assert_allclose(values(call(swapped, None, None)), reference(values(x).transpose(2, 1, 0)), 1e-5, 1e-5)
    weight = made(np.random.default_rng(4).uniform(size=tuple(2 * n for n in weight_shape(x.shape))), "float32", True)
    strided = weight[tuple(slice(None, None, 2) for _ in weight.shape)]
    out = call(x * 1, strided, None)
    expected = torch.autograd.grad(call(x * 1, strided.clone(), None).sum(), weight)[0]
    np.testing.assert_allclose(values(torch.autograd.grad(out.sum(), weight)[0]), values(expected), 1e-6, 1e-6)
    y = x * 1
    out = call(y, None, None)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_data_far_from_zero_keep_their_variance():
    x = np.random.default_rng(5).normal(1e4, 1.0, (4, 8, 900)).astype(np.float32)
    exact = x.astype(float)
    for name in ("layer_norm", "group_norm", "batch_norm"):
        call, _, reference = NORMS[name]
        np.testing.assert_allclose(values(call(torch.from_numpy(x), None, None)), reference(exact), 0, 2e-3, err_msg=name)


def test_data_whose_squares_do_not_fit_have_norms():
    x = np.random.default_rng(5).uniform(-1e38, 1e38, (4, 8, 90)).astype(np.float32)
    for name in ("layer_norm", "group_norm", "batch_norm"):
        call, _, reference = NORMS[name]
        np.testing.assert_allclose(values(call(torch.from_numpy(x), None, None)), reference(x.astype(float)), 0, 1e-4, err_msg=name)
    flat = x.reshape(-1, 90)
    np.testing.assert_allclose(values(F.batch_norm(torch.from_numpy(flat), None, None, training=True)),
                               (flat - flat.mean(0, dtype=float)) / flat.std(0, dtype=float), 0, 1e-4)


def test_blocks_with_means_of_their_own_are_one_row():
    x = np.arange(9000, dtype=np.float32).reshape(1, 3, 3000) % 8191
    expected = ((x - x.mean(dtype=float)) / x.std(dtype=float)).reshape(9000)
    for out in (F.layer_norm(torch.from_numpy(x), (3, 3000)), F.group_norm(torch.from_numpy(x), 1)):
        np.testing.assert_allclose(values(out).reshape(9000), expected, 0, 1e-5)


def test_running_statistics():
    rng = np.random.default_rng(6)
    for shape in [(5, 3), (4, 3, 7), (4, 3, 30, 30)]:
        mean, var = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
        x = rng.normal(1.0, 2.0, shape)
        dims = (0, *range(2, len(shape)))
        F.batch_norm(torch.from_numpy(x), mean, var, training=True, momentum=0.3)
        np.testing.assert_allclose(values(mean), 0.3 * x.mean(dims), 1e-12)
        np.testing.assert_allclose(values(var), 0.7 + 0.3 * x.var(dims, ddof=1), 1e-12)
        assert mean._version == 1 and var._version == 1
        out = F.batch_norm(torch.from_numpy(x), mean, var, eps=1e-3)
        shaped = [vector(values(v), len(shape)) for v in (mean, var)]
        np.testing.assert_allclose(values(out), (x - shaped[0]) / np.sqrt(shaped[1] + 1e-3), 1e-12)
        assert mean._version == 1


def test_gradients_in_evaluation():
    rng = np.random.default_rng(7)
    for shape in [(4, 3), (2, 3, 4)]:
        mean, var = made(rng.normal(size=3), "float64"), made(rng.uniform(1, 2, 3), "float64")
        inputs = [made(rng.normal(size=s), "float64", True) for s in (shape, (3,), (3,))]
        call = lambda x, w, b: F.batch_norm(x, mean, var, w, b)                                      # noqa: B023
        assert gradcheck(call, inputs) and gradgradcheck(call, inputs)


def test_instance_norm_statistics():
    x = np.random.default_rng(8).normal(size=(4, 3, 7))
    mean, var = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    F.instance_norm(torch.from_numpy(x), mean, var, momentum=0.2)
    np.testing.assert_allclose(values(mean), 0.2 * x.mean((0, 2)), 1e-12)
    np.testing.assert_allclose(values(var), 0.8 + 0.2 * x.var(2, ddof=1).mean(0), 1e-12)
    out = F.instance_norm(torch.from_numpy(x), mean, var, use_input_stats=False)
    np.testing.assert_allclose(values(out), (x - vector(values(mean), 3)) / np.sqrt(vector(values(var), 3) + 1e-5), 1e-12)


def test_halves_with_float32_weights():
    x, weight = torch.randn(4, 6).to(torch.bfloat16), torch.rand(6)
    for out, wanted in [(F.layer_norm(x, (6,), weight), F.layer_norm(x.float(), (6,), weight)),
                        (F.group_norm(x, 2, weight), F.group_norm(x.float(), 2, weight)),
                        (F.batch_norm(x, None, None, weight, training=True), F.batch_norm(x.float(), None, None, weight, training=True))]:
        assert out.dtype is torch.bfloat16 and torch.equal(out, wanted.to(torch.bfloat16))


EMPTY, WANTED = torch.zeros(0, 4), torch.ones(4, requires_grad=True)
ERRORS = [
    (lambda: F.layer_norm(torch.ones(3, 4), (5,)), RuntimeError, r"Given normalized_shape=\[5\], expected input with shape \[\*, 5\]"),
    (lambda: F.layer_norm(torch.ones(3, 4), ()), RuntimeError, "at least 1-dimensional"),
    (lambda: F.layer_norm(torch.ones(3, 4), (4,), torch.ones(3)), RuntimeError, "Expected weight to be of same shape"),
    (lambda: F.layer_norm(torch.ones(3, 4), (4,), torch.ones(4, dtype=torch.float64)), RuntimeError, "expected scalar type Float"),
    (lambda: F.layer_norm(torch.ones(3, 4).long(), (4,)), RuntimeError, "floating-point"),
    (lambda: F.rms_norm(torch.ones(3, 4), [3]), RuntimeError, "normalized_shape"),
    (lambda: F.group_norm(torch.ones(2, 5, 3), 2), RuntimeError, "divisible by num_groups"),
    (lambda: F.group_norm(torch.ones(2), 1), RuntimeError, "at least 2 dimensions"),
    (lambda: F.group_norm(torch.ones(1, 2), 2), ValueError, "more than 1 value per channel"),
    (lambda: F.group_norm(torch.ones(2, 4, 3), 2, torch.ones(3)), RuntimeError, "Expected weight to be a vector of size equal"),
    (lambda: F.instance_norm(torch.ones(2, 4, 1)), ValueError, "more than 1 spatial element"),
    (lambda: F.batch_norm(torch.ones(1, 4), None, None, training=True), ValueError, "more than 1 value per channel"),
    (lambda: F.batch_norm(torch.ones(2, 4), None, None), RuntimeError, "running_mean and running_var"),
    (lambda: F.batch_norm(torch.ones(2, 4), torch.ones(3), torch.ones(4)), RuntimeError, "running_mean should contain 4 elements not 3"),
    *[(lambda norm=norm, mean=mean, var=var, own=own: norm(torch.ones(2, 4, 3), mean, var, None, None, own), RuntimeError,
       "not differentiable with respect to argument 'running_")
      for norm in (F.batch_norm, F.instance_norm) for own in (True, False)
      for mean, var in ((WANTED, torch.ones(4)), (torch.ones(4), WANTED))],
]


@pytest.mark.parametrize("call, error, message", ERRORS, ids=range(len(ERRORS)))
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_nothing_to_normalise():
    weight = torch.ones(4, requires_grad=True)
    for call in (lambda: F.layer_norm(EMPTY, (4,), weight), lambda: F.group_norm(EMPTY.reshape(0, 4, 1), 2, weight),
                 lambda: F.batch_norm(EMPTY, torch.zeros(4), torch.ones(4), weight)):
        out = call()
        assert out.numel() == 0
        out.sum().backward()
        assert weight.grad.tolist() == [0.0] * 4


def test_no_float64_in_float32_loops():
    """The loops over elements stay in float32: what is float64 is scalar."""
    from numtorch.kernels.binding import DISABLE_JIT
    from numtorch.kernels.compiler import inspect_ir
    from numtorch.kernels.cpu.norm import channel_norm, norm
    from numtorch.kernels.elementtypes import same
    if DISABLE_JIT:
        pytest.skip("nothing is compiled")
    names = {"T": np.float32, "load": same, "store": same, "CENTRED": True}
    for function, signature in [(norm.norm_rows, ("float32*",) * 5 + ("int64*",)),
                                (channel_norm.group_norm_groups, ("float32*",) * 5 + ("int64*",)),
                                (channel_norm.batch_norm_channels, ("float32*",) * 7 + ("int64*",))]:
        text = inspect_ir(function, signature, names, "float32")
        wide = [line for line in text.splitlines() if "x double>" in line and "load" in line]
        assert not wide and "x float>" in text, (function.__name__, wide[:3])


def test_against_pytorch():
    peer = pytest.importorskip("torch")
    rng = np.random.default_rng(9)
    for dtype, tolerance in (("float32", 2e-5), ("float64", 1e-11)):
        for name, shape in itertools.product(NORMS, [(4, 6, 8), (3, 4, 10, 11)]):
            weight_shape = NORMS[name][1](shape)
            arrays = [rng.normal(size=s).astype(dtype) for s in (shape, weight_shape, weight_shape, shape)]
            results = []
            for library in (torch, peer):
                x, w, b = (library.from_numpy(a.copy()).requires_grad_() for a in arrays[:3])
                functions = library.nn.functional
                call = {"layer_norm": lambda: functions.layer_norm(x, w.shape, w, b),                # noqa: B023
                        "layer_norm of two dims": lambda: functions.layer_norm(x, w.shape, w, b),    # noqa: B023
                        "rms_norm": lambda: functions.rms_norm(x, w.shape, w) + b,                   # noqa: B023
                        "group_norm": lambda: functions.group_norm(x, 2, w, b),                      # noqa: B023
                        "instance_norm": lambda: functions.instance_norm(x, None, None, w, b),       # noqa: B023
                        "batch_norm": lambda: functions.batch_norm(x, None, None, w, b, True)}[name]  # noqa: B023
                out = call()
                out.backward(library.from_numpy(arrays[3]))
                results.append([out.detach().numpy(), x.grad.numpy(), w.grad.numpy(), b.grad.numpy()])
            for ours, theirs in zip(*results):
                np.testing.assert_allclose(ours, theirs, tolerance, tolerance * 10, err_msg=f"{name} {shape}")


# module, its input's shape, its state_dict keys
STATISTICS = ["running_mean", "running_var", "num_batches_tracked"]
MODULES = [
    ("BatchNorm1d(6)", (5, 6), ["weight", "bias", *STATISTICS]), ("BatchNorm1d(6, momentum=None)", (5, 6, 3), ["weight", "bias", *STATISTICS]),
    ("BatchNorm2d(6, affine=False)", (5, 6, 3, 2), STATISTICS), ("BatchNorm3d(6)", (5, 6, 3, 2, 2), ["weight", "bias", *STATISTICS]),
    ("BatchNorm1d(6, track_running_stats=False)", (5, 6), ["weight", "bias"]), ("InstanceNorm1d(6)", (5, 6, 4), []),
    ("InstanceNorm2d(6, affine=True)", (6, 4, 3), ["weight", "bias"]),
    ("InstanceNorm3d(6, affine=True, track_running_stats=True)", (2, 6, 4, 3, 2), ["weight", "bias", *STATISTICS]),
    ("GroupNorm(3, 6)", (5, 6, 2), ["weight", "bias"]), ("GroupNorm(3, 6, affine=False)", (5, 6, 2), []),
    ("LayerNorm((3, 6))", (5, 3, 6), ["weight", "bias"]), ("LayerNorm(6, bias=False)", (5, 6), ["weight"]), ("RMSNorm(6)", (5, 6), ["weight"]),
    ("LocalResponseNorm(3)", (2, 6, 4), []),
]


@pytest.mark.parametrize("text, shape, keys", MODULES, ids=[m[0] for m in MODULES])
def test_modules(text, shape, keys):
    """Keys, text, and in training and evaluation the same as PyTorch's, statistics over three batches included."""
    layer = eval("torch.nn." + text)
    assert list(layer.state_dict()) == keys
    peer = pytest.importorskip("torch")
    twin = eval("peer.nn." + text)
    assert repr(layer) == repr(twin) and list(twin.state_dict()) == keys
    rng = np.random.default_rng(10)
    for step in range(4):
        x = rng.normal(1.0, 2.0, shape).astype(np.float32)
        if step == 3:
            layer.eval(), twin.eval()
        out, wanted = layer(torch.from_numpy(x)), twin(peer.from_numpy(x))
        np.testing.assert_allclose(out.detach().numpy(), wanted.detach().numpy(), 1e-4, 1e-5)
    for key in keys:
        np.testing.assert_allclose(layer.state_dict()[key].numpy(), twin.state_dict()[key].numpy(), 1e-5, 1e-6, err_msg=key)


def test_old_files_lack_the_number_of_batches():
    layer = torch.nn.BatchNorm1d(3)
    state = {k: v for k, v in layer.state_dict().items() if k != "num_batches_tracked"}
    assert layer.load_state_dict(state).missing_keys == []


def test_instance_norm_counts_its_channels():
    with pytest.raises(ValueError, match="num_features"):
        torch.nn.InstanceNorm1d(3, affine=True)(torch.ones(2, 4, 5))
    with pytest.warns(UserWarning, match="num_features"):
        torch.nn.InstanceNorm1d(3)(torch.ones(2, 4, 5))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_empty_batch_moves_no_statistics(dtype):
    layer = torch.nn.BatchNorm1d(3, dtype=getattr(torch, dtype))
    assert layer(torch.empty(0, 3, 2, dtype=layer.weight.dtype)).shape == (0, 3, 2)
    assert layer.running_mean.tolist() == [0, 0, 0] and layer.running_var.tolist() == [1, 1, 1]
