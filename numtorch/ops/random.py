"""Random numbers from counter-based streams: the same seed gives the same numbers, whatever the number of threads.

A `Generator` is a seed and a position. Drawing reads Philox blocks from that position and moves it on (Salmon et al. 2011);
each element's bits depend on its index alone, so splitting the work changes nothing.
"""
from __future__ import annotations

import ctypes
import math
import threading

from ..autograd.graph import GraphNode, mark_written
from ..autograd.modes import modes
from ..devices import cpu, default
from ..dtypes import as_dtype, float32, float64, get_default_dtype, int64
from ..layout import Layout, as_shape, broadcast_shapes
from ..tensor import Tensor
from ..tensor import empty as empty_tensor
from . import reduce
from .backends import kernels
from .complexparts import view_as_complex
from .copy import contiguous, copy_elements, register, to_device, to_dtype
from .creation import _checked_shape, _device, _finish, zeros_like
from .generator import claim
from .op import method, new_plan_table
from .order import topk
from .resize import into
from .writing import check_inplace_allowed, check_writable, rebase_history


# ---------------------------------------------------------------- filling
class _State(threading.local):
    """A thread's words for the kernel it is calling: seed, first counter, status."""

    def __init__(self):
        words = (ctypes.c_int64 * 3)()
        self.words = words, ctypes.addressof(words)


class _FillPlan:
    """What is filled, the kernel (None for nothing to do), how many counters it uses, and its scratch memory."""

    __slots__ = ("layout", "prepared", "counters", "scratch")


_state = _State()
_plans = new_plan_table()


def _plan_fill(layout, kind, parameters, counters_dtype, each=()):
    key = (layout, kind, parameters, counters_dtype, each)
    plan = _plans.get(key)
    if plan is None:
        plan, module, n = _FillPlan(), kernels(cpu, "random"), layout.numel
        plan.layout, plan.counters = layout, module.counters_used(n, counters_dtype)
        planner = getattr(module, f"plan_{kind}")
        names = () if kind == "randperm" else (*each, layout.dtype.kernel)
        plan.prepared = planner(*names, n, *parameters) if n else None
        _plans.keep(key, plan)
    return plan


def _run_fill(plan, out, generator, each=None) -> int:
    """Fill a contiguous CPU tensor from a stream. Returns the kernel's status."""
    prepared = plan.prepared
    if prepared is None:
        return 0
    words, address = _state.words
    claim(generator, words, plan.counters)
    if each is None:
        prepared.call(out.address, address, prepared.walk)
        return 0
    prepared.call(each.address, out.address, address, prepared.walk)
    status, words[2] = words[2], 0
    return status


def _fill(out, kind, parameters, generator, counters_dtype="float32"):
    _run_fill(_plan_fill(out.layout, kind, parameters, counters_dtype), out, generator)


_drawn_plans = new_plan_table()


def _drawn(size, kind, parameters, dtype, device, generator, requires_grad, title, into=None):
    try:
        plan = _drawn_plans.get((size, kind, parameters, dtype))
    except TypeError:                                    # a size in a list
        plan = None
    if plan is None:
        kind_dtype = as_dtype(dtype) if dtype else get_default_dtype()
        plan = _plan_fill(Layout.of(kind_dtype, _checked_shape(size, title)), kind, parameters,
                          "int64" if kind == "randint" else kind_dtype.compute)
        if all(type(n) in (int, tuple) for n in size):
            _drawn_plans.keep((size, kind, parameters, dtype), plan)
    out = empty_tensor(plan.layout)
    _run_fill(plan, out, generator)
    if device is None and into is None and not requires_grad and default[0] is cpu:
        return out
    device = _device(device)
    return _finish(out if device is cpu else to_device(out, device), requires_grad, into)


def _parts(draw, size, kind, scale, generator, device, requires_grad, into):
    """Complex numbers whose parts are drawn one by one."""
    pairs = draw(*as_shape(size), 2, generator=generator, dtype=kind.to_real())
    out = view_as_complex(pairs if scale is None else pairs.mul_(scale))
    return _finish(to_device(out, _device(device)), requires_grad, into)


def _float_only(dtype, title):
    if dtype is not None and not as_dtype(dtype).is_floating_point:
        raise RuntimeError(f'"{title}" not implemented for \'{as_dtype(dtype).name.capitalize()}\'')


def rand(*size, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
         pin_memory: bool = False) -> Tensor:
    """Uniform numbers in [0, 1).

    Example:
        >>> import numtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> bool((torch.rand(3) < 1).all())
        True
    """
    if dtype is not None and dtype.is_complex:
        return _parts(rand, size, dtype, None, generator, device, requires_grad, out)
    _float_only(dtype, "rand")
    return _drawn(size, "uniform", (0.0, 1.0), dtype, device, generator, requires_grad, "rand", into=out)


def randn(*size, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
          pin_memory: bool = False) -> Tensor:
    """Normal numbers of mean 0 and variance 1; of a complex dtype the parts have variance 1/2 each."""
    if dtype is not None and dtype.is_complex:
        return _parts(randn, size, dtype, math.sqrt(0.5), generator, device, requires_grad, out)
    _float_only(dtype, "randn")
    return _drawn(size, "normal", (0.0, 1.0), dtype, device, generator, requires_grad, "randn", into=out)


def randint(low, high=None, size=None, *, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False,
            pin_memory: bool = False) -> Tensor:
    """Integers in [low, high), or in [0, low) when `high` is the size.

    Raises:
        RuntimeError: an empty range.
    """
    if size is None:
        if high is None or isinstance(high, int):
            raise TypeError("randint() missing the argument 'size'")
        low, high, size = 0, low, high
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    kind = as_dtype(dtype) if dtype else int64
    if kind.category != 1:
        out = _drawn((size,), "randint", (low, high), int64, None, generator, False, "randint")
        return _finish(to_device(to_dtype(out, kind), _device(device)), requires_grad)
    return _drawn((size,), "randint", (low, high), kind, device, generator, requires_grad, "randint")


def randperm(n: int, *, generator=None, dtype=None, layout=None, device=None, requires_grad: bool = False,
             pin_memory: bool = False) -> Tensor:
    """A random order of 0 .. n-1."""
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    plan = _plan_fill(Layout.of(int64, (n,)), "randperm", (), "int64")
    out = empty_tensor(plan.layout)
    _run_fill(plan, out, generator)
    if dtype is None and device is None:
        return out
    return to_device(to_dtype(out, as_dtype(dtype) if dtype else int64), _device(device))


def normal(mean, std=1.0, size=None, *, generator=None, dtype=None, device=None) -> Tensor:
    """Normal numbers of the given means and standard deviations (numbers, with a size, or tensors)."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal() missing the argument 'size'")
        _check_std(std)
        return _drawn((size,), "normal", (float(mean), float(std)), dtype, device, generator, False, "normal")
    shape = broadcast_shapes(*[t.layout.shape for t in (mean, std) if isinstance(t, Tensor)])
    first = mean if isinstance(mean, Tensor) else std
    return randn(shape, generator=generator, dtype=first.layout.dtype, device=first.layout.device) * std + mean


def _check_std(std):
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


def bernoulli(input, p=None, *, generator=None, out=None) -> Tensor:
    """1 with the probability that each element of `input` gives (or with probability p), else 0.

    Raises:
        RuntimeError: a probability outside [0, 1].
    """
    if p is not None:
        result = empty_tensor(input.layout.dense())
        _fill(result, "bernoulli", (_probability(p),), generator)
        return into(out, result)
    probabilities = contiguous(input if input.node is None else input.detach())
    kind = probabilities.layout.dtype
    if not kind.is_floating_point:
        raise RuntimeError(f"bernoulli: expected floating-point probabilities, got {kind}")
    if kind not in (float32, float64):
        probabilities = to_dtype(probabilities, float32)
    plan = _plan_fill(input.layout.dense(), "bernoulli_each", (), "float32", (probabilities.layout.dtype.kernel,))
    result = empty_tensor(plan.layout)
    if _run_fill(plan, result, generator, probabilities):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    return into(out, result)


def _probability(p):
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return float(p)


def multinomial(input, num_samples: int, replacement: bool = False, *, generator=None) -> Tensor:
    """Indices drawn in proportion to each row's weights.

    Args:
        input: (classes) or (rows, classes) weights, not negative.
        replacement: whether an index may be drawn again.

    Raises:
        RuntimeError: more draws than classes without replacement, or weights that are negative, not finite or all 0.
    """
    if input.layout.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not input.layout.dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.layout.dtype.name}")
    kind = input.layout.dtype if input.layout.dtype in (float32, float64) else float32
    weights = contiguous(to_dtype(input if input.node is None else input.detach(), kind))
    classes = weights.layout.shape[-1]
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement:
        if num_samples > classes:
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        least, total = reduce.amin(weights, -1), reduce.sum(weights, -1)
        if not bool(reduce.all((least >= 0) & (total > 0) & (total < float("inf")))):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        # the largest of exponential races: draws without replacement in proportion (Efraimidis and Spirakis 2006)
        race = empty_tensor(weights.layout)
        _fill(race, "exponential", (1.0,), generator, kind.kernel)
        return topk(weights / race, num_samples, -1).indices
    rows = weights.layout.numel // classes if classes else 0
    plan = _plan_multinomial(weights.layout, rows, classes, num_samples)
    out, workspace = empty_tensor(plan.layout), empty_tensor(plan.scratch)
    words, address = _state.words
    claim(generator, words, plan.counters)
    plan.prepared.call(weights.address, out.address, address, workspace.address, plan.prepared.walk)
    if words[2]:
        row, words[2] = words[2] - 1, 0
        raise RuntimeError(f"probability tensor contains either `inf`, `nan` or element < 0, or no positive element (row {row})")
    return out


def _plan_multinomial(layout, rows, classes, draws):
    key = (layout, "multinomial", draws)
    plan = _plans.get(key)
    if plan is None:
        plan, module = _FillPlan(), kernels(cpu, "random")
        plan.layout, plan.scratch = Layout.of(int64, (*layout.shape[:-1], draws)), Layout.of(float64, (classes,))
        plan.counters = rows * module.counters_used(draws, "float64")
        plan.prepared = module.plan_multinomial(layout.dtype.kernel, rows, classes, draws)
        _plans.keep(key, plan)
    return plan


# ---------------------------------------------------------------- like another, and in place
def rand_like(input, *, dtype=None, layout=None, device=None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Uniform numbers in [0, 1), otherwise like another tensor."""
    return rand(input.layout.shape, dtype=dtype or input.layout.dtype, device=device or input.layout.device,
                requires_grad=requires_grad)


def randn_like(input, *, dtype=None, layout=None, device=None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Normal numbers, otherwise like another tensor."""
    return randn(input.layout.shape, dtype=dtype or input.layout.dtype, device=device or input.layout.device,
                 requires_grad=requires_grad)


def randint_like(input, low, high=None, *, dtype=None, device=None) -> Tensor:
    """Integers in [low, high), otherwise like another tensor."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, input.layout.shape, dtype=dtype or input.layout.dtype, device=device or input.layout.device)


_refills = new_plan_table()


def _plan_refill(tensor, kind, parameters, title, counters_dtype):
    layout = tensor.layout
    if kind != "bernoulli" and not layout.dtype.is_floating_point:
        raise NotImplementedError(f'"{title}_" not implemented for \'{layout.dtype.title}\': expected floating point')
    check_writable(title, layout, layout.dtype, layout.shape)
    plan = _plan_fill(layout.dense() if layout.device is cpu else Layout.of(layout.dtype, layout.shape), kind, parameters,
                      counters_dtype or layout.dtype.compute)
    return _refills.keep((layout, kind, parameters), plan)


def _refill(tensor, kind, parameters, generator, title, counters_dtype=None):
    """Fill a tensor of any layout in place."""
    plan = _refills.get((tensor.layout, kind, parameters))
    if plan is None:
        plan = _plan_refill(tensor, kind, parameters, title, counters_dtype)
    if tensor.node is not None and modes.grad:
        check_inplace_allowed(tensor, title)
    mark_written(tensor.storage, title + "_")
    if plan.layout is tensor.layout:
        _run_fill(plan, tensor, generator)
    else:
        target = empty_tensor(plan.layout)
        _run_fill(plan, target, generator)
        copy_elements(to_device(target, tensor.layout.device), tensor)
    if tensor.node is not None and modes.grad:
        rebase_history(tensor, GraphNode(title, (tensor.node,), (), _forgotten))
    return tensor


def _forgotten(node, grad):
    """Nothing of what was there before matters any more."""
    return zeros_like(grad),


@method
def uniform_(self, a: float = 0.0, b: float = 1.0, *, generator=None):
    """Fill with uniform numbers in [a, b)."""
    if a > b:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={a} > to={b}")
    return _refill(self, "uniform", (float(a), float(b)), generator, "uniform")


@method
def normal_(self, mean: float = 0.0, std: float = 1.0, *, generator=None):
    """Fill with normal numbers."""
    _check_std(std)
    return _refill(self, "normal", (float(mean), float(std)), generator, "normal")


@method
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with 1 with probability p (a number or a tensor of probabilities), else 0."""
    if isinstance(p, Tensor):
        return self.copy_(bernoulli(p.expand(self.layout.shape), generator=generator))
    return _refill(self, "bernoulli", (_probability(p),), generator, "bernoulli", "float32")


@method
def exponential_(self, lambd: float = 1.0, *, generator=None):
    """Fill with exponential numbers of mean 1 / lambd."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return _refill(self, "exponential", (float(lambd),), generator, "exponential")


@method
def cauchy_(self, median: float = 0.0, sigma: float = 1.0, *, generator=None):
    """Fill with Cauchy numbers."""
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    uniform = uniform_(empty_tensor(self.layout.dense()), 0.0, 1.0, generator=generator)
    return self.copy_((uniform - 0.5).mul_(math.pi).tan_().mul_(sigma).add_(median))


@method
def log_normal_(self, mean: float = 1.0, std: float = 2.0, *, generator=None):
    """Fill with numbers whose logarithms are normal."""
    _check_std(std)
    return self.copy_(normal_(empty_tensor(self.layout.dense()), mean, std, generator=generator).exp_())


@method
def geometric_(self, p, *, generator=None):
    """Fill with the number of trials up to the first success, each of probability p."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    waits = exponential_(empty_tensor(self.layout.dense(float64)), -math.log1p(-p), generator=generator)
    return self.copy_(waits.ceil_())


@method
def random_(self, from_=0, to=None, *, generator=None):
    """Fill with integers in [from, to)."""
    if to is None:
        from_, to = (0, from_) if from_ else (0, 1 << 24 if self.layout.dtype.is_floating_point else 1 << 31)
    return self.copy_(randint(from_, to, self.layout.shape, generator=generator))


method(bernoulli)
method(multinomial)


@register
def keep_mask(layout, p, generator=None) -> Tensor:
    """Ones with probability p in a dense layout, for dropout."""
    out = empty_tensor(layout)
    _fill(out, "bernoulli", (_probability(p),), generator)
    return out


