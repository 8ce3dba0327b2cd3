"""PyTorch's own table of operations, run on numtorch: what `tests/pytorch/agreement/test_op_db.py` tries a part of, and all of it by hand.

    python -m tests.opdb                                 # every entry, every dtype, every aspect, all samples
    python -m tests.opdb --entries add,cumsum --dtypes float64,int64 --aspects values,out --samples 20
    NUMBA_ENABLE_CUDASIM=1 python -m tests.opdb --device cuda --aspects values     # or on a GPU

`op_db` (torch.testing._internal) is what PyTorch tests itself with. Its functions are run on numtorch by name, those that are
lambdas over `torch` with that name bound to numtorch. `ASPECTS` says what is compared of an entry, `KNOWN` what does not pass, with
its reason: a run fails where another entry does, and where one of these passes.
"""
from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
import types
import warnings
from collections.abc import Iterator

import numpy as np
import torch

import numtorch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo import core

# A seed is queued for each kind of device that has not begun, with the text of the stack it was set from: most of a sample's time.
for _devices in (torch.cuda, torch.xpu, torch.mtia):
    if not _devices.is_available():
        _devices.manual_seed_all = lambda seed: None

# Each time samples are made, the stack is searched, with the source of every frame, for a test of `unittest`, of which there is none.
core.extract_test_fn = common_utils.extract_test_fn = lambda: None

ENTRIES = {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}
DTYPES = {str(kind).removeprefix("torch."): kind
          for kind in (torch.float64, torch.float32, torch.complex64, torch.int64, torch.bool, torch.bfloat16)}

OF_A_GPU = """
    torch._scaled_mm_v2 torch._scaled_mm torch.ops.aten._flash_attention_forward torch.ops.aten._efficient_attention_forward
"""
IN_CPP = """
    jiterator_unary jiterator_binary jiterator_4inputs_with_extra_args jiterator_binary_return_by_ref jiterator_2inputs_2outputs
"""
# by the aspect in which each fails
KNOWN = {
    "name": {**dict.fromkeys(OF_A_GPU.split(), "PyTorch has it on a GPU alone"),
             **dict.fromkeys(IN_CPP.split(), "a kernel written in CUDA's C++, of a GPU alone; @torch.pointwise makes kernels of Python")},
    "values": {
        "as_strided_scatter": "PyTorch's gradient is 0 where it should be passed on, and passed on where it should be 0",
        "cholesky_inverse": "PyTorch gives a gradient to the triangle that is not read",
        "cholesky_solve": "PyTorch gives a gradient to the triangle that is not read",
        "special.bessel_j0": "PyTorch is wrong from the sixth digit on between -5.6 and 5.6",
        "special.bessel_y1": "PyTorch is wrong from the fifth digit on beside 5.6",
    },
    "second gradients": {
        "linalg.norm.subgradients_at_zero": "PyTorch's second gradient of a norm at 0 is NaN",
        "masked.logaddexp": "PyTorch's second gradient of logaddexp is NaN where both operands are -inf",
    },
    "errors": {"__rdiv__": "PyTorch refuses a number by accident: it asks it for its reciprocal"},
}
REASONS = {name: reason for entries in KNOWN.values() for name, reason in entries.items()}
PARTS_ALONE = "kernels that run as Python compute complex64 in parts of float64, for which its functions are not made"
SUMMED_IN_TURN = "sums of bfloat16 are rounded at each addition to memory, as PyTorch's are on a GPU"
KNOWN_ON_CUDA = {"logaddexp": PARTS_ALONE, "logcumsumexp": PARTS_ALONE, "_unsafe_masked_index_put_accumulate": SUMMED_IN_TURN}       # beside those
ours_runs = types.SimpleNamespace(on="cpu")              # the kind of device

TOLERANCES = {"torch.float16": 2e-3, "torch.bfloat16": 2e-2, "torch.float32": 1e-5, "torch.complex64": 1e-5}


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
    if isinstance(op.op, (torch._ops.OpOverloadPacket, torch._ops.OpOverload)):
        return named(f"ops.{op.op}")
    if module == "torch._tensor" or not isinstance(op.op, (types.FunctionType, types.BuiltinFunctionType)):
        return getattr(numtorch.Tensor, getattr(op.op, "__name__", ""), None)
    return named(op.name)


def ours(value, memory=None):
    """Arguments of a sample as numtorch has them: tensors of the same strides, in memory of their own that they share as theirs do.

    Args:
        memory: what there is already, by where it is in PyTorch and by its dtype.
    """
    memory = {} if memory is None else memory
    if isinstance(value, torch.Tensor):
        found = value.detach()
        if value.is_meta:
            return numtorch.empty_strided(value.shape, value.stride(), dtype=ours(value.dtype), device="meta")
        if value.layout is torch.sparse_coo:
            made = numtorch.sparse_coo_tensor(ours(found._indices()), ours(found._values()), found.shape)
            return made.requires_grad_(value.requires_grad)
        if value.layout is torch.sparse_csr:
            made = numtorch.sparse_csr_tensor(ours(found.crow_indices()), ours(found.col_indices()), ours(found.values()), found.shape)
            return made.requires_grad_(value.requires_grad)
        if value.layout is not torch.strided:
            raise NotImplementedError(f"a tensor of layout {value.layout}")
        if found.is_conj() or found.is_neg() or torch._is_zerotensor(found):
            found = found.resolve_conj().resolve_neg().clone()
        if found.dtype is torch.bfloat16:
            return ours(found.view(torch.int16), memory).view(numtorch.bfloat16).requires_grad_(value.requires_grad)
        if found.dtype is torch.complex32:
            return ours(found.view(torch.int32), memory).view(numtorch.complex32).requires_grad_(value.requires_grad)
        key = found.untyped_storage().data_ptr(), found.dtype
        if key not in memory:
            words = torch.empty(0, dtype=found.dtype).set_(found.untyped_storage().clone())
            memory[key] = numtorch.from_numpy(words.numpy()).to(ours_runs.on)
        seen = memory[key].as_strided(found.shape, found.stride(), found.storage_offset())
        return seen.detach().requires_grad_(value.requires_grad)
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return getattr(numtorch, str(value).removeprefix("torch."))
    if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
        return numtorch.device(ours_runs.on if str(value) == "cpu" else str(value))
    if isinstance(value, torch.Size):
        return numtorch.Size(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[ours(v, memory) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)(ours(v, memory) for v in value)
    if isinstance(value, dict):
        return {k: ours(v, memory) for k, v in value.items()}
    if isinstance(value, torch.nn.LinearCrossEntropyOptions):
        return getattr(numtorch.nn, type(value).__name__)(**ours(vars_of(value)))
    if isinstance(value, torch.nn.Module):
        return getattr(numtorch.nn, type(value).__name__)()
    if isinstance(value, types.FunctionType) and value.__module__.startswith("torch."):
        return rebound(value)
    return value


def vars_of(value):
    """The fields of a dataclass's instance."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def parts(value):
    """The tensors and numbers of arguments or of a result, in order."""
    if isinstance(value, (list, tuple)):
        return [part for each in value for part in parts(each)]
    if isinstance(value, dict):
        return [part for each in value.values() for part in parts(each)]
    return [value]


def array(value):
    if isinstance(value, torch.Tensor):
        value = value.detach().to_dense().resolve_conj().resolve_neg()
        value = torch.zeros(value.shape, dtype=value.dtype) if torch._is_zerotensor(value) else value
        return (value.float() if value.dtype is torch.bfloat16 else value.chalf().cfloat() if value.dtype is torch.complex32 else value).numpy()
    if isinstance(value, numtorch.Tensor):
        value = value.detach().to_dense().cpu()
        value = value.float() if value.dtype is numtorch.bfloat16 else value.cfloat() if value.dtype is numtorch.complex32 else value
        return value.resolve_conj().resolve_neg().numpy()
    return np.asarray(value)


WIDER = {torch.float32: torch.float64, torch.bfloat16: torch.float64, torch.float16: torch.float64, torch.complex64: torch.complex128,
         torch.complex32: torch.complex128}


def widened(value):
    """Arguments with all floating-point numbers in double precision."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(WIDER.get(value.dtype, value.dtype))
    if isinstance(value, torch.dtype):
        return WIDER.get(value, value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and not isinstance(value, torch.Size):
        return type(value)(map(widened, value))
    return {k: widened(v) for k, v in value.items()} if isinstance(value, dict) else value


def check_distance(error, found, wanted, function, given, place):
    """Raise the error of a comparison, unless PyTorch's result is as far from its own in double precision as ours is: neither of
    them is determined there. Double precision helps where the result or an argument has less."""
    if not any(getattr(each, "dtype", None) in WIDER for each in (wanted, *parts(given))):
        raise error
    exact = outcome(function, widened(given), torch.Tensor)
    if isinstance(exact, Exception):
        raise error
    exact = array(parts(exact)[place])
    with np.errstate(invalid="ignore"):
        off = [np.abs(array(value).astype(exact.dtype) - exact) for value in (found, wanted)]
    ours_off, theirs_off = [np.where(np.isnan(each) & np.isfinite(exact), np.inf, each) for each in off]
    if not np.nanmax(ours_off, initial=0) <= 1.5 * np.nanmax(theirs_off, initial=0):
        raise error


def compare_all(found, wanted, what, values, function, given):
    """The results of a call, of which `function` of `given` is PyTorch's form."""
    for place, (one, other) in enumerate(zip(found, wanted)):
        try:
            compare(one, other, f"{what}, result {place}", values)
        except AssertionError as error:
            if not values or tuple(getattr(one, "shape", ())) != tuple(getattr(other, "shape", ())) or str(one.dtype) != str(other.dtype):
                raise
            check_distance(error, one, other, function, given, place)


def compare(found, wanted, what, values=True, kinds=()):
    """One result; of gradients, `kinds` are the dtypes of what they are taken by, the least of which bounds what is determined."""
    if isinstance(wanted, torch.Tensor):
        assert isinstance(found, numtorch.Tensor), f"{what}: expected a tensor, got {type(found).__name__}"
        assert tuple(found.shape) == tuple(wanted.shape), f"{what}: shape {tuple(found.shape)} instead of {tuple(wanted.shape)}"
        assert str(found.dtype) == str(wanted.dtype), f"{what}: {found.dtype} instead of {wanted.dtype}"
        assert found.device.type in (ours_runs.on, "meta"), f"{what}: the result is on {found.device}"
        assert not values or not wanted.numel() or found.requires_grad == wanted.requires_grad, f"{what}: requires_grad is {found.requires_grad}"
    elif isinstance(wanted, (torch.dtype, torch.device, torch.Size, torch.layout, str)):
        assert str(found) == str(wanted), f"{what}: {found} instead of {wanted}"
        return
    if values:
        tolerance = max([TOLERANCES.get(str(kind), 1e-7) for kind in (getattr(wanted, "dtype", ""), *kinds)])
        np.testing.assert_allclose(array(found), array(wanted), tolerance, tolerance, err_msg=what)


# ---------------------------------------------------------------- samples
def kind_of(op):
    """The dtype to try an entry in; None where it has none on a CPU."""
    for kind in (torch.float64, torch.float32, torch.int64, torch.bool, torch.complex128, torch.bfloat16, torch.float16):
        if op.supports_dtype(kind, "cpu"):
            return kind


def elements(sample):
    return sum(t.numel() for t in parts((sample.input, sample.args, sample.kwargs)) if isinstance(t, torch.Tensor))


def two_short_sequences(sample):
    """A sample of ctc_loss, of which PyTorch has none but of sixteen sequences of fifty steps."""
    targets, *lengths = sample.args
    few = [each if isinstance(before, list) else torch.tensor(each) for each, before in zip(([9, 7], [3, 2]), lengths)]
    steps = sample.input.detach()[:9, :2].clone().requires_grad_(sample.input.requires_grad)
    return core.SampleInput(steps, args=(targets[:2, :3].clone(), *few), kwargs=sample.kwargs)


SHORTER = {"nn.functional.ctc_loss": two_short_sequences}


def samples_of(op, kind, most, recorded, largest=None):
    """Of an entry's samples, `most` at most, evenly among all, of no more elements than `largest` where there are such."""
    torch.manual_seed(0)
    np.random.seed(0)
    samples = list(op.sample_inputs("cpu", kind, requires_grad=recorded))
    if largest is not None:
        samples = [s for s in map(SHORTER.get(op.name, lambda sample: sample), samples) if elements(s) <= largest] or samples
    step = max(1, len(samples) / most)
    return [samples[int(i * step)] for i in range(min(most, len(samples)))]


def drawn_with(seed, op, sample):
    """The results of a call after a seed, and whether it drew."""
    generator = torch.default_generator.manual_seed(seed)
    before = generator.get_state()
    found = parts(theirs(op)(sample.input, *sample.args, **sample.kwargs))
    results = [array(t).copy() for t in found if isinstance(t, torch.Tensor) and t.layout is torch.strided]
    return results, not torch.equal(before, generator.get_state())


def is_drawn(op, sample):
    """Whether results depend on random draws, or on what memory held; of these only shapes and dtypes are compared."""
    if "empty" in op.name or "fractional" in op.name:    # draws of the latter may agree by chance
        return True
    first, draws = drawn_with(1, op, sample)
    return draws and any(not np.array_equal(one, other) and not np.array_equal(one, other, equal_nan=True)
                         for seed in (2, 3, 4, 5) for one, other in zip(first, drawn_with(seed, op, sample)[0]))


def differentiable(value, tensor):
    return isinstance(value, tensor) and value.requires_grad


def described(value):
    return f"{tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)[:60]


def call(sample):
    return ", ".join([*map(described, [sample.input, *sample.args]), *[f"{k}={described(v)}" for k, v in sample.kwargs.items()]])


# ---------------------------------------------------------------- what is compared
# Where the dimension stands among the arguments of what gives the places of elements, any of those that are equal.
PLACES = {"argsort": 0, "sort": 0, "mode": 0, "median": 0, "nanmedian": 0, "kthvalue": 1, "topk": 1}


def processing(op, sample, drawn):
    """What makes of a result what is determined of it: no draws, no basis, no choice among equal elements."""
    if drawn:
        return lambda result: result
    if op.name not in PLACES or not sample.input.ndim or sample.kwargs.get("stable"):
        return sample.output_process_fn_grad
    x, place = sample.input.detach(), PLACES[op.name]
    dim = sample.kwargs.get("dim", sample.args[place] if len(sample.args) > place else -1)

    def elements(result):
        *values, places = [result] if isinstance(result, torch.Tensor) else result
        if places.dtype is not torch.int64 or (op.name != "argsort" and not values):
            return result
        return [*values, x.take_along_dim(places if places.ndim == x.ndim else places.unsqueeze(dim), dim)]
    return elements


def check_values(op, function, sample, what, order=2):
    """Results, and gradients of what is recorded, the gradients of these included where `order` is 2."""
    given = sample.input, sample.args, sample.kwargs
    our_given = ours(given)
    drawn = is_drawn(op, sample)
    processed = processing(op, sample, drawn)
    wanted = theirs(op)(given[0], *given[1], **given[2])
    found = function(our_given[0], *our_given[1], **our_given[2])
    wanted, found = parts(processed(wanted)), parts(rebound(processed)(found))
    assert len(found) == len(wanted), f"{what}: {len(found)} results instead of {len(wanted)}"
    compare_all(found, wanted, what, not drawn, lambda x, *args, **kwargs: processed(theirs(op)(x, *args, **kwargs)), given)
    if not drawn:
        inputs = [t for t in parts(given) if differentiable(t, torch.Tensor)]
        our_inputs = [t for t in parts(our_given) if differentiable(t, numtorch.Tensor)]
        check_gradients(found, wanted, our_inputs, inputs, what, order if op.supports_gradgrad else 1)


def check_gradients(found, wanted, our_inputs, inputs, what, order):
    """Gradients of the results along random directions, and the gradients of those."""
    places = [i for i, t in enumerate(wanted) if differentiable(t, torch.Tensor) and t.numel()]
    if not places or not inputs or not order:
        return
    weights = {i: torch.randn(wanted[i].shape, dtype=wanted[i].dtype) for i in places}
    options = {"allow_unused": True, "materialize_grads": True, "create_graph": order > 1}
    try:
        grads = torch.autograd.grad([wanted[i] for i in places], inputs, [*weights.values()], **options)
    except RuntimeError:
        if "second" not in what:
            raise
        return                                           # PyTorch has no derivative of this derivative
    places = [i for i in places if found[i].requires_grad]             # a constant has a gradient of zeros
    our_grads = numtorch.autograd.grad([found[i] for i in places], our_inputs, [ours(weights[i]) for i in places], **options) \
        if places else [numtorch.zeros_like(t) for t in our_inputs]
    for place, (one, other) in enumerate(zip(our_grads, grads)):
        compare(one.detach(), other.detach(), f"{what}, gradient {place}", kinds=[t.dtype for t in inputs])
    check_gradients(our_grads, grads, our_inputs, inputs, f"{what}, second", order - 1)


def check_noncontiguous(op, function, sample, what):
    """The same of inputs whose elements lie apart, where PyTorch takes such."""
    try:
        apart = sample.noncontiguous()
        theirs(op)(apart.input, *apart.args, **apart.kwargs)
    except Exception:
        return
    check_values(op, function, sample.noncontiguous(), what, 0)


def outcome(function, given, tensor):
    """What a call gives: its results, or the exception."""
    try:
        return function(given[0], *given[1], **given[2])
    except Exception as error:
        return error


def check_variant(ours_variant, theirs_variant, op, sample, what):
    """A method, or a form in place: results, or refusals, and what became of the input."""
    with torch.no_grad():
        given = sample.input.detach().clone(), sample.args, sample.kwargs
        before = sample.input.detach(), sample.args, sample.kwargs
        our_given = ours(given)
    assert ours_variant is not None, f"{what}: numtorch has no such method"
    wanted = outcome(theirs_variant, given, torch.Tensor)
    with numtorch.no_grad():
        found = outcome(ours_variant, our_given, numtorch.Tensor)
    if isinstance(wanted, Exception):
        assert isinstance(found, Exception), f"{what}: nothing raised instead of {type(wanted).__name__}: {str(wanted)[:90]}"
        return
    if isinstance(found, Exception):
        raise found
    drawn = is_drawn(op, sample)
    processed = processing(op, sample, drawn)
    wanted, found = parts(processed(wanted)), parts(rebound(processed)(found))
    found, wanted = [[t.detach() if isinstance(t, (numtorch.Tensor, torch.Tensor)) else t for t in value] for value in (found, wanted)]
    compare_all([*found, our_given[0].detach()], [*wanted, given[0].detach()], what, not drawn, lambda x, *args, **kwargs: (
        *parts(processed(theirs_variant(x, *args, **kwargs))), x), before)


def variant(function):
    """Ours of a method of PyTorch's tensors."""
    if (getattr(function, "__module__", None) or "").startswith("torch.testing"):
        return rebound(function)
    if isinstance(function, functools.partial):
        return functools.partial(getattr(numtorch.nn.functional, function.func.__name__), *function.args, **function.keywords)
    return getattr(numtorch.Tensor, function.__name__, None)


def check_method(op, function, sample, what):
    if op.method_variant is not None and isinstance(sample.input, torch.Tensor):
        check_variant(variant(op.method_variant), op.method_variant, op, sample, f"{what} as a method")


def check_in_place(op, function, sample, what):
    if op.inplace_variant is not None and isinstance(sample.input, torch.Tensor):
        check_variant(variant(op.inplace_variant), op.inplace_variant, op, sample, f"{what} in place")


def check_out(op, function, sample, what):
    """Results go into `out=`, which takes their shape."""
    if not op.supports_out or is_drawn(op, sample):
        return
    with torch.no_grad():
        given = detached((sample.input, sample.args, sample.kwargs))
        wanted = theirs(op)(given[0], *given[1], **given[2])
        if not all(isinstance(t, torch.Tensor) for t in (wanted if isinstance(wanted, (list, tuple)) else [wanted])):
            return
        processed = processing(op, sample, False)
        takes_out = False
        shapeless = () if any(t.layout is not torch.strided for t in parts(wanted)) else (lambda t: t.new_empty(0),)
        for make in (torch.empty_like, *shapeless):
            out = make(wanted) if isinstance(wanted, torch.Tensor) else tuple(map(make, wanted))
            our_given, our_out = ours(given), ours(out)
            refused = outcome(theirs(op), (given[0], given[1], {**given[2], "out": out}), torch.Tensor)
            takes_out |= not isinstance(refused, Exception)
            if not takes_out:
                return                                   # not of these arguments
            with numtorch.no_grad():
                found = outcome(function, (our_given[0], our_given[1], {**our_given[2], "out": our_out}), numtorch.Tensor)
            if isinstance(refused, Exception):
                raised = f"{type(refused).__name__}: {str(refused)[:90]}"
                assert isinstance(found, Exception), f"{what} with out= of {described(out)}: nothing raised instead of {raised}"
                continue
            if isinstance(found, Exception):
                raise found
            compare_all(parts(rebound(processed)(our_out)), parts(processed(wanted)), f"{what} with out=", True,    # as PyTorch's own
                        lambda x, *args, **kwargs: processed(theirs(op)(x, *args, **kwargs)), given)     # out may lack some


def detached(value):
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and not isinstance(value, torch.Size):
        return type(value)(map(detached, value))
    return {k: detached(v) for k, v in value.items()} if isinstance(value, dict) else value


def check_errors(op, function):
    """The entry's samples of calls that raise: the same class does."""
    if op.error_inputs_func is None:
        return
    torch.manual_seed(0)
    numtorch.manual_seed(0)
    for error in op.error_inputs("cpu"):
        sample = error.sample_input
        what = f"{op.name}({call(sample)})"
        wanted = outcome(theirs(op), (sample.input, sample.args, sample.kwargs), torch.Tensor)
        if not isinstance(wanted, Exception):
            continue                                     # PyTorch warns
        given = ours((sample.input, sample.args, sample.kwargs))
        found = outcome(function, given, numtorch.Tensor)
        kinds = NotImplementedError if isinstance(wanted, NotImplementedError) else type(wanted)
        assert isinstance(found, Exception), f"{what}: nothing raised instead of {type(wanted).__name__}: {str(wanted)[:120]}"
        if not isinstance(found, kinds):
            raise AssertionError(f"{what}: {type(found).__name__}: {str(found)[:100]} instead of {type(wanted).__name__}: "
                                 f"{str(wanted)[:120]}") from found


ASPECTS = {"values": check_values, "noncontiguous": check_noncontiguous, "method": check_method, "inplace": check_in_place,
           "out": check_out}


def failures(name, kind, aspects, most, largest) -> Iterator[tuple[str, Exception]]:
    """What an entry fails in a dtype: the aspect and the first exception of each."""
    op = ENTRIES[name]
    function = operation(op)
    if function is None:
        yield "name", NameError("numtorch has no such name")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "errors" in aspects and kind is torch.float64:
            try:
                check_errors(op, function)
            except Exception as error:
                yield "errors", error
        if kind is None or not op.supports_dtype(kind, "cpu"):
            return
        recorded = op.supports_autograd and kind is torch.float64
        for aspect in aspects:
            if aspect == "errors":
                continue
            for sample in samples_of(op, kind, most, recorded, largest):
                try:
                    ASPECTS[aspect](op, function, sample, f"{name}({call(sample)})")
                except Exception as error:
                    yield aspect, error
                    break


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.opdb")
    parser.add_argument("--entries", default="", help="names, or beginnings of names, with commas between; all by default")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--aspects", default=",".join([*ASPECTS, "errors"]))
    parser.add_argument("--samples", type=int, default=1 << 20, help="of an entry at most")
    parser.add_argument("--elements", type=int, help="of a sample at most, where an entry has such")
    parser.add_argument("--device", default="cpu", help="where ours is run: PyTorch's is always run on the CPU")
    options = parser.parse_args(words)
    ours_runs.on = options.device
    wanted = tuple(filter(None, options.entries.split(",")))
    names = [name for name in sorted(ENTRIES) if not wanted or name.startswith(wanted)]
    failed: set[str] = set()
    counts = {kind: [0, 0] for kind in options.dtypes.split(",")}
    for name in names:
        for kind, count in counts.items():
            passes = True
            for aspect, error in failures(name, DTYPES[kind], options.aspects.split(","), options.samples, options.elements):
                passes = False
                failed.add(name)
                print(f"{name} [{kind}, {aspect}] {type(error).__name__}: {' '.join(str(error).split())[:400]}", flush=True)
            if ENTRIES[name].supports_dtype(DTYPES[kind], "cpu"):
                count[0], count[1] = count[0] + passes, count[1] + 1
    for kind, (passing, tried) in counts.items():
        print(f"{kind}: {passing} of {tried} entries pass")
    print(f"all dtypes: {len(names) - len(failed)} of {len(names)} entries pass")
    whole = "float64" in counts and set(options.aspects.split(",")) == {*ASPECTS, "errors"}      # else a known one may well pass
    reasons = {**REASONS, **(KNOWN_ON_CUDA if options.device == "cuda" else {})}
    wrong = sorted(failed - set(reasons)) + sorted(set(reasons) & set(names) - failed if whole else ())
    for name in sorted(failed & set(reasons)):
        print(f"known: {name}: {reasons[name]}")
    for name in wrong:
        print(f"{name} fails, and is not in KNOWN" if name in failed else f"{name} passes now: take it out of KNOWN ({reasons[name]})")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
