"""Random numbers from counter-based streams: the same seed gives the same numbers, whatever the number of threads.

A `Generator` is a seed and a position. Drawing reads Philox blocks from that position and moves it on (Salmon et al. 2011);
each element's bits depend on its index alone, so splitting the work changes nothing.
"""
from __future__ import annotations

import os
import threading

import numpy as np

from ..autograd.graph import Leaf, mark_written
from ..autograd.modes import modes
from ..devices import cpu
from ..dtypes import as_dtype, float32, float64, get_default_dtype, int64
from ..exchange import make
from ..kernels.forks import survive_fork
from ..layout import Layout, broadcast_shapes
from ..tensor import Tensor, lasting, raw_array
from ..tensor import empty as empty_tensor
from .backends import kernels
from .copy import contiguous, copy_elements, register, to_device, to_dtype
from .creation import _checked_shape, _device, _finish
from .op import method, new_plan_table
from .writing import check_inplace_allowed, check_writable


class Generator:
    """A stream of random numbers: `Generator().manual_seed(0)`. Draws move it on; threads may share it."""

    def __init__(self, device="cpu"):
        self.device = cpu
        self._lock = threading.Lock()
        self._seed, self._offset = 67280421310721, 0     # PyTorch's default seed

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to a seed.

        Raises:
            RuntimeError: the seed does not fit 64 bits.
        """
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise RuntimeError(f"Overflow when unpacking long long: manual_seed expects a value that fits 64 bits, got {seed}")
        with self._lock:
            self._seed, self._offset = seed, 0
        return self

    def seed(self) -> int:
        """Start a stream from the system's randomness and return its seed."""
        seed = int.from_bytes(os.urandom(8), "little") >> 1
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed this stream started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """The stream's seed and position, as 16 bytes."""
        with self._lock:
            words = np.array([self._seed & (1 << 64) - 1, self._offset], np.uint64)
        return make(words.view(np.uint8))

    def set_state(self, state) -> Generator:
        """Go back to a position that `get_state` gave.

        Raises:
            RuntimeError: not such a state.
        """
        if not isinstance(state, Tensor) or state.layout.dtype.name != "uint8" or state.layout.numel != 16:
            raise RuntimeError("RNG state must be a torch.ByteTensor of 16 elements, as get_state() gives it")
        words = np.ascontiguousarray(raw_array(state)).view(np.uint64)
        with self._lock:
            self._seed, self._offset = int(words[0]), int(words[1])
        return self

    def _advance(self, counters):
        """Claim counters of the stream: a kernel's `state` words, seed and first counter."""
        with self._lock:
            offset = self._offset
            self._offset += counters
            seed = self._seed & (1 << 64) - 1
        return np.array([seed - (1 << 64) if seed >= 1 << 63 else seed, offset], np.int64)


default_generator = Generator()
survive_fork(default_generator._lock)


def manual_seed(seed: int) -> Generator:
    """Start the default stream that belongs to a seed, and return it."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default stream from the system's randomness."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed the default stream started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Where the default stream is."""
    return default_generator.get_state()


def set_rng_state(state) -> None:
    """Put the default stream back to where `get_rng_state` found it."""
    default_generator.set_state(state)


class fork_rng:
    """Inside, draws do not move the default stream."""

    def __init__(self, devices=None, enabled: bool = True):
        self.enabled = enabled

    def __enter__(self):
        self.state = default_generator.get_state()

    def __exit__(self, *exception):
        if self.enabled:
            default_generator.set_state(self.state)


# ---------------------------------------------------------------- filling
_plans = new_plan_table()


def _fill(out, kind, parameters, generator, counters_dtype="float32", each=()):
    """Fill a contiguous CPU tensor from a stream."""
    n = out.layout.numel
    if not n:
        return
    module = kernels(cpu, "random")
    name = out.layout.dtype.name
    key = (kind, name, n, parameters)
    prepared = _plans.get(key)
    if prepared is None:
        prepared = _plans.keep(key, getattr(module, f"plan_{kind}")(*(e.layout.dtype.name for e in each), name, n, *parameters))
    state = (generator or default_generator)._advance(module.counters_used(n, counters_dtype))
    prepared.call(*[e.address for e in each], out.address, state.ctypes.data, prepared.walk)


def _drawn(size, kind, parameters, dtype, device, generator, requires_grad, title, counters_dtype=None, into=None):
    kind_dtype = as_dtype(dtype) if dtype else get_default_dtype()
    out = lasting(Layout.of(kind_dtype, _checked_shape(size, title)))
    _fill(out, kind, parameters, generator, counters_dtype or kind_dtype.compute)
    device = _device(device)
    return _finish(out if device is cpu else to_device(out, device), requires_grad, into)


def _float_only(dtype, title):
    if dtype is not None and not as_dtype(dtype).is_floating_point:
        raise RuntimeError(f'"{title}" not implemented for \'{as_dtype(dtype).name.capitalize()}\'')


def rand(*size, generator=None, dtype=None, device=None, requires_grad: bool = False, out=None) -> Tensor:
    """Uniform numbers in [0, 1).

    Example:
        >>> import numtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> bool((torch.rand(3) < 1).all())
        True
    """
    _float_only(dtype, "rand")
    return _drawn(size, "uniform", (0.0, 1.0), dtype, device, generator, requires_grad, "rand", into=out)


def randn(*size, generator=None, dtype=None, device=None, requires_grad: bool = False, out=None) -> Tensor:
    """Normal numbers of mean 0 and variance 1."""
    _float_only(dtype, "randn")
    return _drawn(size, "normal", (0.0, 1.0), dtype, device, generator, requires_grad, "randn", into=out)


def randint(low, high=None, size=None, *, generator=None, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
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
    out = lasting(Layout.of(int64, _checked_shape((size,), "randint")))
    _fill(out, "randint", (low, high), generator, "int64")
    return _finish(to_device(to_dtype(out, kind), _device(device)), requires_grad)


def randperm(n: int, *, generator=None, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """A random order of 0 .. n-1."""
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    out = lasting(Layout.of(int64, (n,)))
    if n:
        module = kernels(cpu, "random")
        prepared = module.plan_randperm(n)
        state = (generator or default_generator)._advance(module.counters_used(n, "int64"))
        prepared.call(out.address, state.ctypes.data, prepared.walk)
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
        result = lasting(Layout.of(input.layout.dtype, input.layout.shape))
        _fill(result, "bernoulli", (_probability(p),), generator)
        return result
    probabilities = contiguous(input.detach())
    if not probabilities.layout.dtype.is_floating_point:
        raise RuntimeError(f"bernoulli: expected floating-point probabilities, got {probabilities.layout.dtype}")
    if probabilities.layout.dtype not in (float32, float64):
        probabilities = to_dtype(probabilities, float32)
    if probabilities.layout.numel and not bool(((probabilities >= 0) & (probabilities <= 1)).all()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    result = lasting(Layout.of(input.layout.dtype, input.layout.shape))
    _fill(result, "bernoulli_each", (), generator, each=(probabilities,))
    return result


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
    weights = contiguous(to_dtype(input.detach(), float64))
    classes = weights.layout.shape[-1]
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    shape = (*weights.layout.shape[:-1], num_samples)
    if not replacement:
        if num_samples > classes:
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        if not bool(((weights >= 0) & (weights - weights == 0)).all()) or bool((weights.sum(-1) <= 0).any()):
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        # the largest of exponential races: draws without replacement in proportion (Efraimidis and Spirakis 2006)
        race = lasting(weights.layout)
        _fill(race, "exponential", (1.0,), generator, "float64")
        return (weights / race).topk(num_samples, -1)[1]
    rows = weights.layout.numel // classes
    out, status, workspace = lasting(Layout.of(int64, shape)), np.zeros(1, np.int64), np.empty(classes, np.float64)
    module = kernels(cpu, "random")
    prepared = module.plan_multinomial("float64", rows, classes, num_samples)
    state = (generator or default_generator)._advance(rows * module.counters_used(num_samples, "float64"))
    prepared.call(weights.address, out.address, state.ctypes.data, workspace.ctypes.data, status.ctypes.data, prepared.walk)
    if status[0]:
        raise RuntimeError(f"probability tensor contains either `inf`, `nan` or element < 0, or no positive element (row "
                           f"{int(status[0]) - 1})")
    return out


# ---------------------------------------------------------------- like another, and in place
def rand_like(input, *, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """Uniform numbers in [0, 1), otherwise like another tensor."""
    return rand(input.layout.shape, dtype=dtype or input.layout.dtype, device=device or input.layout.device,
                requires_grad=requires_grad)


def randn_like(input, *, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """Normal numbers, otherwise like another tensor."""
    return randn(input.layout.shape, dtype=dtype or input.layout.dtype, device=device or input.layout.device,
                 requires_grad=requires_grad)


def randint_like(input, low, high=None, *, dtype=None, device=None) -> Tensor:
    """Integers in [low, high), otherwise like another tensor."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, input.layout.shape, dtype=dtype or input.layout.dtype, device=device or input.layout.device)


def _refill(tensor, kind, parameters, generator, title, counters_dtype=None):
    """Fill a tensor of any layout in place."""
    if kind != "bernoulli" and not tensor.layout.dtype.is_floating_point:
        raise NotImplementedError(f'"{title}_" not implemented for \'{tensor.layout.dtype.title}\': expected floating point')
    check_writable(title, tensor.layout, tensor.layout.dtype, tensor.layout.shape)
    if modes.grad and tensor.node is not None:
        check_inplace_allowed(tensor, title)
    layout = tensor.layout
    direct = layout.contiguous and layout.device is cpu
    target = tensor if direct else empty_tensor(Layout.of(layout.dtype, layout.shape))
    _fill(target, kind, parameters, generator, counters_dtype or layout.dtype.compute)
    if not direct:
        copy_elements(to_device(target, layout.device), tensor)
    mark_written(tensor.storage, title + "_")
    if tensor.node is not None and type(tensor.node) is not Leaf and modes.grad:
        tensor.node = None                               # nothing of what was there before matters any more
    return tensor


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


