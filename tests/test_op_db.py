"""Every entry of PyTorch's own table of operations, on the samples that stand there: values and first gradients are PyTorch's.

`op_db` (torch.testing._internal) is what PyTorch tests itself with. Its functions are run on numtorch by name, those that are
lambdas over `torch` with that name bound to numtorch. `KNOWN` holds what does not pass yet, each with its reason; an entry of it that
passes fails, so that it only shrinks.
"""
from __future__ import annotations

import types
import warnings

import numpy as np
import pytest

import numtorch

torch = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
if not torch.__version__.startswith("2.13."):
    pytest.skip("what is known to differ was noted with PyTorch 2.13", allow_module_level=True)
pytest.importorskip("expecttest", reason="PyTorch's table of operations needs expecttest")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

SAMPLES = 12                                             # of an entry, evenly among all

ENTRIES = {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}


# ---------------------------------------------------------------- translation
def named(path):
    """What numtorch has under a dotted name: in the package, or as a method."""
    found = numtorch
    for part in path.split("."):
        found = getattr(found, part, None)
        if found is None:
            return getattr(numtorch.Tensor, path, None)
    return found


def unseeded(function, *args, **kwargs):
    """In place of what gives every call of a random function the same draws."""
    return function(*args, **kwargs)


def rebound(function, library=numtorch):
    """A function that PyTorch wrote over its own names, over a library's."""
    if not isinstance(function, types.FunctionType):
        return function
    names = {**function.__globals__, "torch": library, "wrapper_set_seed": unseeded}
    held = [c.cell_contents for c in function.__closure__ or ()]
    cells = tuple([types.CellType(held_value) for held_value in (held if library is torch else map(ours, held))]) or None
    made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def theirs(op):
    return rebound(op.op, torch) if (getattr(op.op, "__module__", None) or "").startswith("torch.testing") else op.op


def operation(op):
    """The entry's function of ours; None where there is none."""
    module = getattr(op.op, "__module__", None) or ""
    if module.startswith("torch.testing"):
        return rebound(op.op)
    if module == "torch._tensor" or not isinstance(op.op, (types.FunctionType, types.BuiltinFunctionType)):
        return getattr(numtorch.Tensor, getattr(op.op, "__name__", ""), None)
    return named(op.name)


def ours(value):
    """An argument of a sample as numtorch has it: tensors of the same strides in memory of their own."""
    if isinstance(value, torch.Tensor):
        found = value.detach()
        if value.layout is not torch.strided:
            raise NotImplementedError(f"a tensor of layout {value.layout}")
        if found.is_conj() or found.is_neg() or torch._is_zerotensor(found):
            found = found.resolve_conj().resolve_neg().clone()
        if found.dtype in (torch.bfloat16, torch.complex32) or found.dtype.itemsize == 0:
            return numtorch.tensor(found.tolist(), dtype=ours(found.dtype))
        memory = torch.empty(0, dtype=found.dtype).set_(found.untyped_storage().clone())
        seen = numtorch.from_numpy(memory.numpy()).as_strided(found.shape, found.stride(), found.storage_offset())
        return seen.detach().requires_grad_(value.requires_grad)
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return getattr(numtorch, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return numtorch.device(str(value))
    if isinstance(value, torch.Size):
        return numtorch.Size(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[ours(v) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)(ours(v) for v in value)
    if isinstance(value, dict):
        return {k: ours(v) for k, v in value.items()}
    if isinstance(value, torch.nn.Module):
        return getattr(numtorch.nn, type(value).__name__)()
    if isinstance(value, types.FunctionType) and value.__module__.startswith("torch."):
        return rebound(value)
    return value


def parts(value):
    """The tensors and numbers of arguments or of a result, in order."""
    if isinstance(value, (list, tuple)):
        return [part for each in value for part in parts(each)]
    if isinstance(value, dict):
        return [part for each in value.values() for part in parts(each)]
    return [value]


def array(value):
    if isinstance(value, torch.Tensor):
        value = value.detach().resolve_conj().resolve_neg()
        value = torch.zeros(value.shape, dtype=value.dtype) if torch._is_zerotensor(value) else value
        return (value.float() if value.dtype is torch.bfloat16 else value.chalf().cfloat() if value.dtype is torch.complex32 else value).numpy()
    if isinstance(value, numtorch.Tensor):
        value = value.detach()
        return (value.float() if value.dtype is numtorch.bfloat16 else value).resolve_conj().resolve_neg().numpy()
    return np.asarray(value)


def compare(found, wanted, what, values=True):
    if isinstance(wanted, torch.Tensor):
        assert isinstance(found, numtorch.Tensor), f"{what}: expected a tensor, got {type(found).__name__}"
        assert tuple(found.shape) == tuple(wanted.shape), f"{what}: shape {tuple(found.shape)} instead of {tuple(wanted.shape)}"
        assert str(found.dtype) == str(wanted.dtype), f"{what}: {found.dtype} instead of {wanted.dtype}"
        assert not values or not wanted.numel() or found.requires_grad == wanted.requires_grad, f"{what}: requires_grad is {found.requires_grad}"
    elif isinstance(wanted, (torch.dtype, torch.device, torch.Size, torch.layout, str)):
        assert str(found) == str(wanted), f"{what}: {found} instead of {wanted}"
        return
    if values:
        tolerance = 1e-3 if "16" in str(getattr(wanted, "dtype", "")) else 1e-5 if "32" in str(getattr(wanted, "dtype", "")) else 1e-7
        np.testing.assert_allclose(array(found), array(wanted), tolerance, tolerance, err_msg=what)


# ---------------------------------------------------------------- one entry
def kind_of(op):
    """The dtype to try an entry in; None where it has none on a CPU."""
    for kind in (torch.float64, torch.float32, torch.int64, torch.bool, torch.complex128, torch.bfloat16, torch.float16):
        if op.supports_dtype(kind, "cpu"):
            return kind


def samples_of(op, kind):
    torch.manual_seed(0)
    np.random.seed(0)
    samples = list(op.sample_inputs("cpu", kind, requires_grad=op.supports_autograd and kind is torch.float64))
    step = max(1, len(samples) / SAMPLES)
    return [samples[int(i * step)] for i in range(min(SAMPLES, len(samples)))]


def drawn_with(seed, op, sample):
    torch.manual_seed(seed)
    found = parts(theirs(op)(sample.input, *sample.args, **sample.kwargs))
    return [array(t).copy() for t in found if isinstance(t, torch.Tensor) and t.layout is torch.strided]


def is_drawn(op, sample):
    """Whether results depend on random draws, or on what memory held; of these only shapes and dtypes are compared."""
    if "empty" in op.name or "fractional" in op.name:    # draws of the latter may agree by chance
        return True
    first = drawn_with(1, op, sample)
    return any(not np.array_equal(one, other) and not np.array_equal(one, other, equal_nan=True)
               for seed in (2, 3, 4, 5) for one, other in zip(first, drawn_with(seed, op, sample)))


def differentiable(value, tensor):
    return isinstance(value, tensor) and value.requires_grad


def check_sample(op, function, sample, what):
    given = sample.input, sample.args, sample.kwargs
    our_given = ours(given)
    drawn = is_drawn(op, sample)
    processed = (lambda result: result) if drawn else sample.output_process_fn_grad       # to what does not depend on a basis
    wanted = theirs(op)(given[0], *given[1], **given[2])
    found = function(our_given[0], *our_given[1], **our_given[2])
    wanted, found = parts(processed(wanted)), parts(rebound(processed)(found))
    assert len(found) == len(wanted), f"{what}: {len(found)} results instead of {len(wanted)}"
    for place, (one, other) in enumerate(zip(found, wanted)):
        compare(one, other, f"{what}, result {place}", not drawn)
    places = [i for i, t in enumerate(wanted) if differentiable(t, torch.Tensor) and t.numel()]
    if drawn or not places:
        return
    inputs = [t for t in parts(given) if differentiable(t, torch.Tensor)]
    our_inputs = [t for t in parts(our_given) if differentiable(t, numtorch.Tensor)]
    weights = [torch.randn(wanted[i].shape, dtype=wanted[i].dtype) for i in places]
    grads = torch.autograd.grad([wanted[i] for i in places], inputs, weights, allow_unused=True, materialize_grads=True)
    our_grads = numtorch.autograd.grad([found[i] for i in places], our_inputs, ours(weights), allow_unused=True, materialize_grads=True)
    for place, (one, other) in enumerate(zip(our_grads, grads)):
        compare(one, other, f"{what}, gradient {place}")


def described(value):
    return f"{tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)[:60]


def check(name):
    op = ENTRIES[name]
    function, kind = operation(op), kind_of(op)
    assert function is not None, "numtorch has no such name"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in samples_of(op, kind) if kind is not None else ():
            what = ", ".join([*map(described, [sample.input, *sample.args]), *[f"{k}={described(v)}" for k, v in sample.kwargs.items()]])
            check_sample(op, function, sample, f"{name}({what})")


# ---------------------------------------------------------------- what does not pass yet
NO_SUCH_NAME = """
    expand_copy diagonal_copy alias_copy as_strided_copy view_copy permute_copy split_with_sizes_copy unbind_copy unfold_copy squeeze_copy
    unsqueeze_copy transpose_copy t_copy sparse.sampled_addmm sparse.mm.reduce to_sparse chalf _softmax_backward_data
    nn.functional.linear_cross_entropy nn.functional.linear_cross_entropy.chunked nn.functional.linear_cross_entropy.chunked_none
    native_group_norm native_layer_norm native_batch_norm _native_batch_norm_legit _batch_norm_with_update constant_pad_nd
    _upsample_bilinear2d_aa torch._scaled_mm_v2 torch._scaled_mm torch.ops.aten._safe_softmax.default
    torch.ops.aten._flash_attention_forward torch.ops.aten._efficient_attention_forward max_pool2d_with_indices_backward __rdiv__ slice
    _unsafe_masked_index _unsafe_masked_index_put_accumulate empty_permuted _chunk_cat jiterator_unary jiterator_binary
    jiterator_4inputs_with_extra_args jiterator_binary_return_by_ref jiterator_2inputs_2outputs native_dropout_backward grid_sampler_2d
    grid_sampler_3d hash_tensor _segment_reduce.lengths _segment_reduce.offsets signal.windows.hamming signal.windows.hann
    signal.windows.bartlett signal.windows.blackman signal.windows.cosine signal.windows.exponential signal.windows.gaussian
    signal.windows.kaiser signal.windows.general_cosine signal.windows.general_hamming signal.windows.nuttall special.airy_ai masked.sum
    masked.prod masked.cumsum masked.cumprod masked.amax masked.amin masked.argmax masked.argmin masked.mean masked.median masked.norm
    masked.var masked.std masked.softmax masked.log_softmax masked.softmin masked.normalize masked.logaddexp masked.logsumexp
"""
KNOWN = {
    **dict.fromkeys(NO_SUCH_NAME.split(), "no such name"),
    # PyTorch is wrong, or less exact
    "as_strided_scatter": "PyTorch's gradient is 0 where it should be passed on, and passed on where it should be 0",
    "cholesky_inverse": "PyTorch gives a gradient to the triangle that is not read",
    "cholesky_solve": "PyTorch gives a gradient to the triangle that is not read",
    "cov": "PyTorch sums float32 weights of float64 data in float32",
    "special.bessel_j0": "PyTorch is wrong from the sixth digit on between -5.6 and 5.6",
    "special.bessel_y1": "PyTorch is wrong from the fifth digit on beside 5.6",
    # numtorch differs
    "gather": "an index of uint8 is refused, also where it is empty",
    "linalg.matrix_power": "the power 0, a constant, is not recorded",
    "linalg.pinv.hermitian": "all of a matrix that should be Hermitian is read, by PyTorch its lower triangle",
    "nn.functional.batch_norm": "an input of one dimension, of extent 0, is refused",
}


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_entry(name):
    if name not in KNOWN:
        check(name)
        return
    try:
        check(name)
    except Exception:
        pytest.xfail(KNOWN[name])
    pytest.fail(f"{name} passes now: take it out of KNOWN ({KNOWN[name]})")


def test_known_entries_exist():
    assert not set(KNOWN) - set(ENTRIES)
