"""`autocast`: inside, ops run in the precision that suits each.

The first region gives the listed functions (oplists.py) code that asks whether a region is on (interposition.py); programs
without one never ask. A listed op casts its floating-point arguments but float64, and runs with autocast off, so that what it is
made of sees the dtypes it was given. Casts are recorded like any op, so gradients come back in the parameters' own dtype; those of
parameters are kept until the outermost region ends.
"""
from __future__ import annotations

import functools
import threading
import types as pytypes
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..autograd.graph import Leaf
from ..autograd.modes import modes
from ..devices import device as as_device
from ..dtypes import bfloat16, dtype, float16, float32
from ..interposition import Interposer, with_constants
from ..ops.memory.copies import to_dtype
from ..tensor import Tensor
from .oplists import COMPOSED, LISTS, SPELLINGS

__all__ = ["autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "custom_bwd",
           "custom_fwd", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available",
           "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
           "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
           "set_autocast_gpu_dtype"]


class _State(threading.local):
    """A thread's autocast.

    Attributes:
        on: whether listed ops cast: some device is enabled, and this is not inside of such an op.
        enabled, dtypes: by device type; caching: whether casts of parameters are kept, in `cache`; nesting: how many regions deep.
    """

    def __init__(self):
        self.on = False
        self.enabled = dict.fromkeys(LISTS, False)
        self.dtypes = {"cpu": bfloat16, "cuda": float16}
        self.caching, self.nesting, self.cache = True, 0, {}


_state = _State()


# ---------------------------------------------------------------- casts
def _eligible(value, device_type):
    layout = value.layout
    return layout.dtype.category == 2 and layout.device.type == device_type and layout.dtype.itemsize < 8


def _cast_tensor(value, device_type, to):
    if not _eligible(value, device_type) or value.layout.dtype is to:
        return value
    node = value.node
    if type(node) is Leaf and _state.caching and to is _state.dtypes[device_type] and value.layout.dtype is float32 \
            and value._base is None:
        key = id(value), to, modes.grad                  # what was cast without recording is no use for recording
        kept = _state.cache.get(key)
        if kept is None:
            kept = _state.cache[key] = value, to_dtype(value, to)         # the tensor as well, so that its id stays its own
        return kept[1]
    return to_dtype(value, to)


def _cast(value, device_type, to):
    """An argument with its tensors cast: a tensor, a list of them, or anything else."""
    if isinstance(value, Tensor):
        return _cast_tensor(value, device_type, to)
    if type(value) in (list, tuple):
        return type(value)([_cast(each, device_type, to) for each in value])
    return value


def _tensors(values):
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif type(value) in (list, tuple):
            yield from _tensors(value)


def _run_in(to, plain, args, kwargs, device_type):
    args = [_cast(a, device_type, to) for a in args]
    return plain(*args, **{k: _cast(v, device_type, to) for k, v in kwargs.items()})


def _lower(plain, args, kwargs, device_type):
    return _run_in(_state.dtypes[device_type], plain, args, kwargs, device_type)


def _float32(plain, args, kwargs, device_type):
    return _run_in(float32, plain, args, kwargs, device_type)


def _sums(plain, args, kwargs, device_type):
    first = next(_tensors(args), None)
    if kwargs.get("dtype") is None and first is not None and _eligible(first, device_type):
        kwargs = {**kwargs, "dtype": float32}
    return plain(*args, **kwargs)


def _widest(plain, args, kwargs, device_type):
    to = lower = _state.dtypes[device_type]
    for tensor in _tensors((*args, *kwargs.values())):
        if _eligible(tensor, device_type):
            if tensor.layout.dtype is float32:
                to = float32
            elif tensor.layout.dtype is not lower and to is not float32:
                raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return _run_in(to, plain, args, kwargs, device_type)


def _given(plain, args, kwargs, device_type):
    return plain(*args, **kwargs)


_KINDS = {"given": _given, "lower": _lower, "float32": _float32, "sums": _sums, "widest": _widest}


def _padded(kind):
    """`pad` is an op of each mode, and of some not for all dimensions."""
    def run(plain, args, kwargs, device_type):
        mode = kwargs.get("mode", args[2] if len(args) > 2 else "constant")
        pads = kwargs.get("pad", args[1] if len(args) > 1 else ())
        listed = f"{ {'reflect': 'reflection', 'replicate': 'replication'}.get(mode)}_pad{len(pads) // 2}d"
        return kind(plain, args, kwargs, device_type) if listed in LISTS[device_type] else plain(*args, **kwargs)
    return run


def _unpacked(kind):
    """Of the recurrent layers, those of packed sequences are composed of ops that no list has."""
    def run(plain, args, kwargs, device_type):
        packed = len(args) > 1 and isinstance(args[1], Tensor) and args[1].layout.dtype.category < 2
        return plain(*args, **kwargs) if packed else kind(plain, args, kwargs, device_type)
    return run


def _without_indices(kind):
    """Pooling that gives the places as well is another op."""
    def run(plain, args, kwargs, device_type):
        places = kwargs.get("return_indices", args[6] if len(args) > 6 else False)
        return plain(*args, **kwargs) if places else kind(plain, args, kwargs, device_type)
    return run


_OWN = {"pad": _padded, "max_pool3d": _without_indices,
        "lstm": _unpacked, "rnn_tanh": _unpacked, "rnn_relu": _unpacked, "gru": _unpacked}


# ---------------------------------------------------------------- functions that ask
def _functions_of(name):
    """Our functions for one of PyTorch's ops."""
    import numtorch
    paths = SPELLINGS.get(name) or (name, f"nn.functional.{name}", f"Tensor.{name}",
                                    *[f"{space}.{name.removeprefix(space + '_')}" for space in ("linalg", "fft")
                                      if name.startswith(space)])
    for path in paths:
        found = numtorch
        for part in path.split("."):
            found = vars(found).get(part) if found is Tensor else getattr(found, part, None)
        if isinstance(found, pytypes.FunctionType):
            yield found


@functools.cache
def _listed() -> dict:
    """What listed functions do, by device type, by function."""
    found: dict = {}
    for lists in (COMPOSED, LISTS):
        for device_type, kinds in lists.items():
            for name, kind in kinds.items():
                for function in _functions_of(name):
                    own = _OWN.get(function.__name__)
                    found.setdefault(function, {})[device_type] = own(_KINDS[kind]) if own else _KINDS[kind]
                in_place = vars(Tensor).get(f"{name}_")  # no list has these, and they are not cast
                if in_place is not None:
                    found.setdefault(in_place, {})[device_type] = _given
    return found


def _asking(plain, public):
    """Code that casts the arguments of a call where the thread is in a region."""
    def ask(*args, **kwargs):
        state = "state"
        plain = "plain"
        if state.on:
            run = "run"
            kinds = "kinds"
            return run(plain, kinds, args, kwargs)
        return plain(*args, **kwargs)

    return with_constants(ask, public, plain=plain, state=_state, run=_run, kinds=_listed()[public])


def _run(plain, kinds, args, kwargs):
    first = next(_tensors((*args, *kwargs.values())), None)
    device_type = first.layout.device.type if first is not None else ""
    if not _state.enabled.get(device_type) or device_type not in kinds or kwargs.get("out") is not None:
        return plain(*args, **kwargs)
    _state.on = False
    try:
        return kinds[device_type](plain, args, kwargs, device_type)
    finally:
        _state.on = True


_interposer = Interposer(2, _asking)


def install() -> None:
    """Have the listed functions ask, as the first region does."""
    if not _interposer.functions:
        _interposer.add(_listed())


def uninstall() -> None:
    """Have them be what they were before."""
    _interposer.remove()


# ---------------------------------------------------------------- state
def _known(device_type, caller) -> str:
    if not isinstance(device_type, str):
        raise TypeError(f"{caller}(): argument 'device_type' must be str, not {type(device_type).__name__}")
    if device_type in LISTS:
        return device_type
    kind = as_device(device_type).type
    if kind not in LISTS:
        raise RuntimeError(f"unknown device type for autocast: '{device_type}'; autocast knows {', '.join(LISTS)}")
    return kind


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows a kind of device.

    Args:
        device_type: such as `"cpu"`.

    Example:
        >>> import numtorch as torch
        >>> torch.amp.is_autocast_available("cpu"), torch.amp.is_autocast_available("meta")
        (True, False)
    """
    return device_type in LISTS or as_device(device_type).type in LISTS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether this thread is in a region for a kind of device.

    Args:
        device_type: such as `"cpu"`.

    Example:
        >>> import numtorch as torch
        >>> with torch.autocast("cpu"):
        ...     torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")
        (True, False)
    """
    return _state.enabled[_known(device_type, "is_autocast_enabled")]


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocast on or off for a kind of device. `autocast` does it and switches back.

    Args:
        device_type: such as `"cpu"`.
        enabled: whether listed ops cast.
    """
    _state.enabled[_known(device_type, "set_autocast_enabled")] = bool(enabled)
    _state.on = any(_state.enabled.values())
    if _state.on:
        install()


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype of regions for a kind of device.

    Args:
        device_type: such as `"cpu"`.

    Example:
        >>> import numtorch as torch
        >>> torch.get_autocast_dtype("cpu")
        torch.bfloat16
    """
    return _state.dtypes[_known(device_type, "get_autocast_dtype")]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the dtype of regions for a kind of device that name none.

    Args:
        device_type: such as `"cpu"`.
        dtype: bfloat16 or float16.
    """
    _state.dtypes[_known(device_type, "set_autocast_dtype")] = dtype


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled("cpu")`."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled("cpu", enabled)`."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtype:
    """`get_autocast_dtype("cpu")`."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """`set_autocast_dtype("cpu", dtype)`."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtype:
    """`get_autocast_dtype("cuda")`."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """`set_autocast_dtype("cuda", dtype)`."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept until the outermost region ends."""
    return _state.caching


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep casts of parameters, or do not."""
    _state.caching = bool(enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters, as a program must that changes parameters inside of a region."""
    _state.cache.clear()


def autocast_increment_nesting() -> int:
    """Enter a region deeper. Returns how deep this thread is then."""
    _state.nesting += 1
    return _state.nesting


def autocast_decrement_nesting() -> int:
    """Leave a region. Returns how deep this thread is then."""
    _state.nesting -= 1
    return _state.nesting


# ---------------------------------------------------------------- regions
class autocast:
    """Inside, ops run in the precision that suits each: products and convolutions in a short dtype, losses and factorisations in
    float32. A context manager, and a decorator. It holds for the thread that enters it.

    Args:
        device_type: `"cpu"` or `"cuda"`.
        dtype: the short dtype, bfloat16 or float16; the default is bfloat16 on the CPU and float16 on CUDA.
        enabled: False to run in the tensors' own dtypes inside of another region.
        cache_enabled: keep casts of parameters until the outermost region ends; None for as it is.

    Raises:
        RuntimeError: autocast does not know the device.
        ValueError: `device_type` is no string.

    Example:
        >>> import numtorch as torch
        >>> model, x = torch.nn.Linear(4, 2), torch.ones(3, 4)
        >>> with torch.autocast("cpu"):
        ...     y = model(x)
        ...     loss = torch.nn.functional.mse_loss(y, torch.zeros(3, 2))
        >>> y.dtype, loss.dtype
        (torch.bfloat16, torch.float32)
        >>> loss.backward()
        >>> model.weight.grad.dtype
        torch.float32
    """

    def __init__(self, device_type: str, dtype: dtype | None = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = _known(device_type, "autocast")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = _state.caching if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled) and self._supported()
        self._before: list = []

    def _supported(self):
        if self.device == "cuda":
            from .. import cuda
            if not cuda.is_available():
                warnings.warn("CUDA is not available. Disabling autocast.", UserWarning, stacklevel=3)
                return False
        if self.fast_dtype not in (bfloat16, float16):
            name = self.device.upper()
            warnings.warn(f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only "
                          f"supports dtypes of torch.bfloat16, torch.float16 currently.", UserWarning, stacklevel=3)
            return False
        return True

    def __enter__(self) -> autocast:
        state, device = _state, self.device
        self._before.append((state.caching, state.enabled[device], state.dtypes[device]))
        state.enabled[device], state.dtypes[device], state.caching = self._enabled, self.fast_dtype, self._cache_enabled
        state.nesting += 1
        state.on = True in state.enabled.values()
        if state.on:
            install()
        return self

    def __exit__(self, *exception) -> None:
        state = _state
        state.nesting -= 1
        if state.nesting == 0:
            state.cache.clear()
        state.caching, state.enabled[self.device], state.dtypes[self.device] = self._before.pop()
        state.on = True in state.enabled.values()

    def __call__(self, function: Callable) -> Callable:
        if not callable(function):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(function).__name__}. Did you mean to use "
                            f"autocast as a context manager? For example:\n    with torch.autocast(device_type=...):\n"
                            f"        output = model(input)")

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return inside


# ---------------------------------------------------------------- autograd.Function
def _cast_inputs(value, device_type, to):
    """A value with the tensors in it cast, whatever holds them."""
    if isinstance(value, Tensor):
        return to_dtype(value, to) if _eligible(value, device_type) and value.layout.dtype is not to else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast_inputs(k, device_type, to): _cast_inputs(v, device_type, to) for k, v in value.items()}
    if isinstance(value, Iterable):
        cast = [_cast_inputs(v, device_type, to) for v in value]
        return type(value)(cast) if isinstance(value, (list, tuple)) else cast
    return value


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: dtype | None = None) -> Callable:
    """Decorator for the `forward` of an `autograd.Function` that is called in regions.

    Args:
        fwd: the static method.
        device_type: such as `"cpu"`.
        cast_inputs: cast floating-point tensors to it and run with autocast off, in regions; None to run as the region says.

    Raises:
        ValueError: `device_type` is no string.

    Example:
        >>> import numtorch as torch
        >>> class Twice(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     @torch.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> with torch.autocast("cpu"):
        ...     Twice.apply(torch.ones(1, dtype=torch.bfloat16)).dtype
        torch.float32
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx, *args: Any, **kwargs: Any):
        inside = is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), inside and cast_inputs is None
        if cast_inputs is None or not inside:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast_inputs(args, device_type, cast_inputs), **_cast_inputs(kwargs, device_type, cast_inputs))
    return forward


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorator for the `backward` beside a `custom_fwd`: it runs as forward did, in a region or not.

    Args:
        bwd: the static method.
        device_type: such as `"cpu"`.

    Raises:
        ValueError: `device_type` is no string.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx, *grads: Any):
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *grads)
    return backward
