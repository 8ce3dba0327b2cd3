"""Random numbers from counter-based streams: the same seed gives the same numbers, whatever the number of threads.

A `Generator` is a seed and a position. Drawing reads Philox blocks from that position and moves it on (Salmon et al. 2011);
each element's bits depend on its index alone, so splitting the work changes nothing.
"""
from __future__ import annotations

import ctypes
import math
import threading

from ...autograd.graph import recording
from ...devices import cpu
from ...dtypes import as_dtype, finfo, float32, float64, int64, integer_limits
from ...kernels.threads import NOTHING
from ...layout import Layout, as_shape, broadcast_shapes, ints
from ...tensor import Tensor
from ...tensor import empty as empty_tensor
from ..core.arguments import check_truths
from ..core.backends import device_with, kernels, placed
from ..core.generator import claim, default_generator
from ..core.operands import as_operand, layout_of, method
from ..core.primitive import Draw, miss
from ..core.status import has_values
from ..creation.asked import check_strided, device_for, dtype_for, finish_made, layout_for
from ..memory.copies import contiguous, copy_elements, plan_copy, to_device, to_dtype
from ..memory.resize import into
from ..pointwise.arithmetic import where
from ..pointwise.complexparts import view_as_complex
from ..reduce import reductions
from ..sort.order import topk


# ---------------------------------------------------------------- filling
class _State(threading.local):
    """A thread's words for the kernel it is calling: seed, first counter, status."""

    def __init__(self):
        words = (ctypes.c_int64 * 3)()
        self.words = words, ctypes.addressof(words)


class _FillPlan:
    """What a kernel fills, the kernel (None for nothing to do), how many counters it uses, and its scratch memory."""

    __slots__ = ("layout", "prepared", "counters", "scratch")

    def __init__(self, layout, prepared, counters, scratch=None):
        self.layout, self.prepared, self.counters, self.scratch = layout, prepared, counters, scratch


_state = _State()
_WORDS = Layout.of(int64, (3,), None, cpu)
_RANDOM = Draw("random", "A new tensor of random numbers.", ("size", "kind", "parameters", "dtype", "device", "generator"),
               samples="; (2, 3), 'normal', (0.0, 1.0), T, device")
_BERNOULLI = Draw("bernoulli", "1 with the probability that each element gives, else 0.", ("input", "dtype", "generator"),
                  samples="T([0.5, 0.2]); T")
_MULTINOMIAL = Draw("multinomial", "Indices drawn in proportion to weights.", ("input", "num_samples", "generator"),
                    samples="T[2, 3]; 4")
_KINDS = "uniform", "normal", "exponential", "bernoulli", "randint", "randperm"
_COUNTED_AS = {"randint": "int64", "randperm": "int64", "bernoulli": "float32"}      # where the dtype does not say how many bits


def plan_fill(layout, kind, parameters):
    """How a layout is filled: as it is, or where it is strided or of a device without these kernels by way of another."""
    if kind == "randint":
        check_range(*parameters, layout.dtype)
    elif kind not in _KINDS or (kind == "randperm" and (layout.dtype is not int64 or layout.ndim != 1)) or \
            (kind in _KINDS[:3] and not layout.dtype.is_floating_point):
        raise RuntimeError(f"random: {kind} numbers are not drawn as {layout.dtype.name} of shape {list(layout.shape)}")
    where = device_with(layout.device, "random.philox")
    module, n = kernels(where, "random.philox"), layout.numel
    names = () if kind == "randperm" else (layout.dtype.kernel,)
    return _FillPlan(Layout.of(layout.dtype, layout.shape, None, where),
                     getattr(module, f"plan_{kind}")(*names, n, *parameters) if n else None,
                     module.counters_used(n, _COUNTED_AS.get(kind) or layout.dtype.compute))


def run_fill(plan, out, generator) -> None:
    """Fill a tensor by a plan for its layout."""
    prepared = plan.prepared
    if prepared is None:
        return
    words, address = _state.words
    if generator is None:
        default_generator._claim(words, plan.counters)
    else:
        claim(generator, words, plan.counters)
    if plan.layout is out.layout:
        prepared.call(out.address, address, prepared.descriptor)
    else:
        target = empty_tensor(plan.layout)
        prepared.call(target.address, address, prepared.descriptor)
        copy_elements(to_device(target, out.layout.device), out)


def claimed_state(counters) -> Tensor:
    """Claim counters of the default stream: a kernel's state words as a tensor (3), by which backward draws the same again."""
    words, address = _state.words
    default_generator._claim(words, counters)
    out, prepared = empty_tensor(_WORDS), plan_copy(_WORDS, _WORDS)
    prepared.call(address, out.address, prepared.descriptor)
    return out


def drawn(size, kind, parameters, dtype, device, generator, requires_grad=False, title="rand", into=None,
          pin_memory=False):
    """A new tensor filled from a stream."""
    if len(size) == 1 and type(size[0]) is tuple:
        size, = size
    for n in size:
        if type(n) is not int:
            size = as_shape(size, title)
            break
    plan = _RANDOM.plans.get((size, kind, parameters, dtype, device))
    if plan is None and _RANDOM.taken is not None:       # what is written down stays the same when the defaults are others
        layout = layout_for("rand", size, dtype, device)
        dtype, device = layout.dtype, layout.device
    call = size, kind, parameters, dtype, device, generator
    out = miss(_RANDOM, (), call) if plan is None else _draw_new(plan, *call)
    return finish_made(out, requires_grad, into, dtype, pin_memory) if requires_grad or into is not None or pin_memory else out


@_RANDOM.planned
def _plan_random(size, kind, parameters, dtype, device):
    layout = layout_for("rand", size, dtype, device)
    return layout, plan_fill(layout, kind, parameters)


def _draw_new(plan, *call):
    layout, plan = plan
    out = empty_tensor(layout)
    run_fill(plan, out, call[-1])
    return out


_RANDOM.execute = _draw_new


def _parts(draw, size, kind, scale, generator, device, requires_grad, into, pin_memory):
    """Complex numbers whose parts are drawn one by one."""
    pairs = draw(*as_shape(size), 2, generator=generator, dtype=kind.to_real())
    out = view_as_complex(pairs if scale is None else pairs.mul_(scale))
    return finish_made(to_device(out, placed(device)), requires_grad, into, kind, pin_memory)


def _float_only(dtype, title):
    if dtype is not None and not as_dtype(dtype).is_floating_point:
        raise NotImplementedError(f'"{title}" not implemented for \'{as_dtype(dtype).name.capitalize()}\'')


def rand(*shape, size=None, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
         pin_memory: bool = False) -> Tensor:
    """Uniform numbers in [0, 1); of a complex dtype both parts are.

    Args:
        shape: the extents, as ints or one sequence; also under the name `size`.
        generator: where the random numbers come from; the default one when None.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a negative extent.
        NotImplementedError: an integer dtype.

    Example:
        >>> import numtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.rand(1000).mean().sub(0.5).abs().item() < 0.05
        True
    """
    if layout is not None:
        check_strided("rand", layout)
    size = shape if size is None else (size,)
    if out is not None:
        dtype, device = dtype_for(dtype, out), device_for(device, out)
    if dtype is not None and as_dtype(dtype).is_complex:
        return _parts(rand, size, as_dtype(dtype), None, generator, device, requires_grad, out, pin_memory)
    _float_only(dtype, "rand")
    return drawn(size, "uniform", (0.0, 1.0), dtype, device, generator, requires_grad, "rand", out, pin_memory)


def randn(*shape, size=None, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
          pin_memory: bool = False) -> Tensor:
    """Normal numbers of mean 0 and variance 1; of a complex dtype the parts have variance 1/2 each.

    Args:
        shape, size, generator, dtype, layout, device, requires_grad, out, pin_memory: as for `rand`.

    Raises:
        RuntimeError: a negative extent.
        NotImplementedError: an integer dtype.

    Example:
        >>> import numtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> x = torch.randn(1000)
        >>> abs(x.mean().item()) < 0.1, abs(x.std().item() - 1) < 0.1
        (True, True)
    """
    if layout is not None:
        check_strided("randn", layout)
    size = shape if size is None else (size,)
    if out is not None:
        dtype, device = dtype_for(dtype, out), device_for(device, out)
    if dtype is not None and as_dtype(dtype).is_complex:
        return _parts(randn, size, as_dtype(dtype), math.sqrt(0.5), generator, device, requires_grad, out, pin_memory)
    _float_only(dtype, "randn")
    return drawn(size, "normal", (0.0, 1.0), dtype, device, generator, requires_grad, "randn", out, pin_memory)


def randint(low=None, high=None, size=None, *, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False,
            out=None, pin_memory: bool = False) -> Tensor:
    """Integers in [low, high), or in [0, low) when `high` is the size.

    Args:
        low, high: the range.
        size: the extents.
        generator: where the random numbers come from; the default one when None.
        dtype, device: int64 and the default device when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: an empty range, or one that `dtype` cannot hold.

    Example:
        >>> import numtorch as torch
        >>> x = torch.randint(3, 6, (100,))
        >>> x.min(), x.max()
        (tensor(3), tensor(5))
    """
    if layout is not None:
        check_strided("randint", layout)
    if size is None:
        if high is None or isinstance(high, int):
            raise TypeError("randint() missing the argument 'size'")
        low, high, size = 0, low, high
    elif low is None or high is None:
        low, high = 0, low if high is None else high
        if high is None:
            raise TypeError("randint() missing the argument 'high'")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if out is not None:
        dtype, device = dtype_for(dtype, out), device_for(device, out)
    kind = as_dtype(dtype) if dtype else int64
    if kind.category == 0:
        check_range(low, high, kind)
    elif kind.is_complex:
        raise RuntimeError(f"randint handles integers, floating-point numbers and bools, not {kind.name}")
    if kind.category != 1:
        counted = drawn((size,), "randint", (low, high), int64, None, generator, False, "randint")
        made = to_device(to_dtype(counted, kind), placed(device))
    else:
        made = drawn((size,), "randint", (low, high), kind, device, generator, False, "randint")
    return finish_made(made, requires_grad, out, dtype, pin_memory) if requires_grad or out is not None or pin_memory else made


def check_range(low, high, dtype):
    """Raise RuntimeError for limits of random integers that a dtype cannot hold."""
    least, most = integer_limits(dtype) if dtype.category else (0, 1)
    for name, value in (("from", low), ("to - 1", high - 1)):
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtype.name}")


def randperm(n: int, *, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False,
             out=None, pin_memory: bool = False) -> Tensor:
    """A random order of 0 .. n-1.

    Args:
        n: how many.
        generator: where the random numbers come from; the default one when None.
        dtype, device: int64 and the default device when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a negative n, or one up to which the dtype does not hold all numbers.
        NotImplementedError: bools or complex numbers.

    Example:
        >>> import numtorch as torch
        >>> torch.randperm(4).sort().values
        tensor([0, 1, 2, 3])
    """
    if layout is not None:
        check_strided("randperm", layout)
    n, = ints((n,), "randperm: n")
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    kind = as_dtype(dtype) if dtype else int64
    if kind.category not in (1, 2):
        raise NotImplementedError(f'"randperm" not implemented for \'{kind.title}\'')
    if n > 1 + (integer_limits(kind)[1] if kind.category == 1 else round(2 / finfo(kind).eps)):
        raise RuntimeError(f"randperm: {kind.name} does not hold all of {n} numbers")
    if out is not None:
        device = device_for(device, out)
    made = drawn((n,), "randperm", (), int64, cpu, generator, False, "randperm")
    return finish_made(to_device(to_dtype(made, kind), placed(device)), requires_grad, out, dtype, pin_memory)


def normal(mean, std=1.0, size=None, *, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False,
           out=None, pin_memory: bool = False) -> Tensor:
    """Normal numbers of the given means and standard deviations, whose gradients are 0 (`mean + std * randn(...)` has others).

    Args:
        mean, std: two numbers, with a `size`, or tensors of shapes that broadcast, one of which may be a number.
        size: the extents, with two numbers.
        generator: where the random numbers come from; the default one when None.
        dtype, device, requires_grad: of what is drawn with two numbers, the default ones when None; tensors decide their own.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a negative standard deviation.
        TypeError: two numbers without a size.

    Example:
        >>> import numtorch as torch
        >>> torch.normal(torch.tensor([0., 100.]), 0.0)
        tensor([  0., 100.])
    """
    if layout is not None:
        check_strided("normal", layout)
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal() missing the argument 'size'")
        check_std(std)
        if out is not None:
            device = device_for(device, out)
        return drawn((size,), "normal", (float(mean), float(std)), dtype, device, generator, requires_grad, "normal", out,
                     pin_memory)
    if not isinstance(std, Tensor):
        check_std(std)
    elif has_values(std) and not bool(reductions.all(std.detach() >= 0)):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    shape = broadcast_shapes(*[t.layout.shape for t in (mean, std) if isinstance(t, Tensor)])
    first, given = mean if isinstance(mean, Tensor) else std, [t for t in (mean, std) if isinstance(t, Tensor)]
    mean, std = [t.detach() if isinstance(t, Tensor) and t.node is not None else t for t in (mean, std)]
    made = randn(shape, generator=generator, dtype=first.layout.dtype, device=first.layout.device) * std + mean
    return into(out, _without_slope(made, *given))


def _without_slope(drawn, *given):
    """What is drawn, behind the tensors that decide how: the gradient of these is 0, which is not the same as none."""
    for tensor in given:
        if recording(tensor):
            drawn = where(as_operand("random", False), tensor, drawn)
    return drawn


def check_std(std):
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


def bernoulli(input, p=None, *, generator=None, out=None) -> Tensor:
    """1 with the probability that each element of `input` gives, whose gradient is 0 (or with probability p), else 0.

    Args:
        input: probabilities, floating point, of any shape. With `p` only its shape and dtype matter.
        p: one probability for all.
        generator: where the random numbers come from; the default one when None.
        out: a tensor of any dtype to write the result to.

    Raises:
        RuntimeError: a probability outside [0, 1], or an integer tensor of them.

    Example:
        >>> import numtorch as torch
        >>> torch.bernoulli(torch.tensor([0., 1., 1.]))
        tensor([0., 1., 1.])
    """
    if p is not None:
        own = input.layout
        return into(out, _as_dtype_of(out, drawn(own.shape, "bernoulli", (probability(p),), own.dtype, own.device, generator)))
    kind = layout_of("bernoulli", input).dtype
    probabilities = contiguous(input if input.node is None else input.detach())
    if not kind.is_floating_point:
        raise NotImplementedError(f"bernoulli: expected floating-point probabilities, got {kind}")
    if kind not in (float32, float64):
        probabilities = to_dtype(probabilities, float32)
    return into(out, _as_dtype_of(out, _without_slope(_BERNOULLI.draw((probabilities,), (kind,), generator), input)))


def _as_dtype_of(out, result):
    """0 and 1 as any dtype has them: what `into` would refuse."""
    return to_dtype(result, out.layout.dtype) if isinstance(out, Tensor) else result


@_BERNOULLI.planned
def _plan_bernoulli(probabilities, dtype):
    if probabilities.dtype not in (float32, float64) or not as_dtype(dtype).is_floating_point:
        raise RuntimeError(f"bernoulli: expected probabilities of float32 or float64, got {probabilities.dtype.name} for {dtype}")
    out = probabilities.dense(dtype)
    module, n = kernels(out.device, "random.philox"), out.numel
    prepared = module.plan_bernoulli_each(probabilities.dtype.kernel, out.dtype.kernel, n) if n else NOTHING
    return _FillPlan(out, prepared, module.counters_used(n, "float32"))


def _draw_each(plan, probabilities, dtype, generator):
    out, (words, address) = empty_tensor(plan.layout), _state.words
    probabilities = contiguous(probabilities)
    claim(generator, words, plan.counters)
    plan.prepared.call(probabilities.address, out.address, address, plan.prepared.descriptor)
    if words[2]:
        words[2] = 0
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    return out


_BERNOULLI.execute = _draw_each


def probability(p):
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return float(p)


def multinomial(input, num_samples: int, replacement: bool = False, *, generator=None, out=None) -> Tensor:
    """Indices drawn in proportion to each row's weights.

    Args:
        input: (classes) or (rows, classes) weights, floating point, not negative.
        num_samples: how many from each row.
        replacement: whether an index may be drawn again; else exponential races decide (Efraimidis and Spirakis 2006).
        generator: where the random numbers come from; the default one when None.
        out: a tensor to write the result to.

    Returns:
        (num_samples) or (rows, num_samples), int64.

    Raises:
        RuntimeError: more draws than classes without replacement, weights that are negative, not finite or all 0, or
            an `out` that is not int64.

    Example:
        >>> import numtorch as torch
        >>> torch.multinomial(torch.tensor([0., 3., 0.]), 4, replacement=True)
        tensor([1, 1, 1, 1])
    """
    check_truths("multinomial", replacement=replacement)
    if layout_of("multinomial", input).ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.layout.dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.layout.dtype.name}")
    if out is not None and out.layout.dtype is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.layout.dtype.name}")
    kind = input.layout.dtype if input.layout.dtype in (float32, float64) else float32
    weights = contiguous(to_dtype(input if input.node is None else input.detach(), kind))
    classes = weights.layout.shape[-1]
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement:
        if num_samples > classes:
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        if has_values(weights):
            least, total = reductions.amin(weights, -1), reductions.sum(weights, -1)
            if not bool(reductions.all((least >= 0) & (total < float("inf")))):
                raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
            if not bool(reductions.all(total > 0)):
                raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        # the largest of exponential races: draws without replacement in proportion (Efraimidis and Spirakis 2006)
        race = drawn(weights.layout.shape, "exponential", (1.0,), kind, weights.layout.device, generator)
        return into(out, topk(weights / race, num_samples, -1).indices)
    return into(out, _MULTINOMIAL.draw((weights,), (num_samples,), generator))


@_MULTINOMIAL.planned
def _plan_multinomial(weights, draws):
    if weights.dtype not in (float32, float64) or not weights.ndim:
        raise RuntimeError(f"multinomial: expected rows of weights of float32 or float64, got {weights}")
    module, classes = kernels(weights.device, "random.philox"), weights.shape[-1]
    rows = weights.numel // classes if classes else 0
    out = Layout.of(int64, (*weights.shape[:-1], draws), None, weights.device)
    if out.numel and not classes:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    return _FillPlan(out,
                     module.plan_multinomial(weights.dtype.kernel, rows, classes, draws),
                     rows * module.counters_used(draws, "float64"), Layout.of(float64, (classes,), None, weights.device))


def _draw_indices(plan, weights, draws, generator):
    weights, drawn, workspace = contiguous(weights), empty_tensor(plan.layout), empty_tensor(plan.scratch)
    words, address = _state.words
    claim(generator, words, plan.counters)
    plan.prepared.call(weights.address, drawn.address, address, workspace.address, plan.prepared.descriptor)
    if words[2]:
        row, words[2] = words[2] - 1, 0
        raise RuntimeError(f"probability tensor contains either `inf`, `nan` or element < 0, or no positive element (row {row})")
    return drawn


_MULTINOMIAL.execute = _draw_indices


method(bernoulli)
method(multinomial)
