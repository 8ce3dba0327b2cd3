"""What listed ops do in a region: the casts, and the code in front of functions that asks for them (oplists.py, interposition.py).

The first region gives the listed functions that code; programs without one never ask. A listed op casts its floating-point
arguments but float64, and runs with autocast off, so that what it is made of sees the dtypes it was given. Casts are recorded like
any op, so gradients come back in the parameters' own dtype; those of parameters are kept until the outermost region ends.
"""
from __future__ import annotations

import functools
import threading
import types as pytypes

from ..autograd.graph import Leaf
from ..autograd.modes import modes
from ..dtypes import bfloat16, float16, float32
from ..interposition import Interposer, with_constants
from ..ops.memory.copies import to_dtype
from ..tensor import Tensor
from . import cells
from .oplists import COMPOSED, LISTS, SPELLINGS


class State(threading.local):
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


state = State()


# ---------------------------------------------------------------- casts
def eligible(value, device_type):
    layout = value.layout
    return layout.dtype.category == 2 and layout.device.type == device_type and layout.dtype.itemsize < 8


def _cast_tensor(value, device_type, to):
    if not eligible(value, device_type) or value.layout.dtype is to:
        return value
    node = value.node
    if type(node) is Leaf and state.caching and to is state.dtypes[device_type] and value.layout.dtype is float32 \
            and value._base is None:
        key = id(value), to, modes.grad                  # what was cast without recording is no use for recording
        kept = state.cache.get(key)
        if kept is None:
            kept = state.cache[key] = value, to_dtype(value, to)         # the tensor as well, so that its id stays its own
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
    return _run_in(state.dtypes[device_type], plain, args, kwargs, device_type)


def _float32(plain, args, kwargs, device_type):
    return _run_in(float32, plain, args, kwargs, device_type)


def _sums(plain, args, kwargs, device_type):
    first = next(_tensors(args), None)
    if kwargs.get("dtype") is None and first is not None and eligible(first, device_type):
        kwargs = {**kwargs, "dtype": float32}
    return plain(*args, **kwargs)


def _widest(plain, args, kwargs, device_type):
    to = lower = state.dtypes[device_type]
    for tensor in _tensors((*args, *kwargs.values())):
        if eligible(tensor, device_type):
            if tensor.layout.dtype is float32:
                to = float32
            elif tensor.layout.dtype is not lower and to is not float32:
                raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return _run_in(to, plain, args, kwargs, device_type)


def _given(plain, args, kwargs, device_type):
    return plain(*args, **kwargs)


def _banned(plain, args, kwargs, device_type):
    raise RuntimeError("torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\nMany models use a "
                       "sigmoid layer right before the binary cross entropy layer.\nIn this case, combine the two layers using "
                       "torch.nn.functional.binary_cross_entropy_with_logits\nor torch.nn.BCEWithLogitsLoss.  "
                       "binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to autocast.")


KINDS = {"banned": _banned, "given": _given, "lower": _lower, "float32": _float32, "sums": _sums, "widest": _widest}


def _padded(kind):
    """`pad` is an op of each mode, and of some not for all dimensions."""
    def run(plain, args, kwargs, device_type):
        mode = kwargs.get("mode", args[2] if len(args) > 2 else "constant")
        pads = kwargs.get("pad", args[1] if len(args) > 1 else ())
        listed = f"{ {'reflect': 'reflection', 'replicate': 'replication'}.get(mode)}_pad{len(pads) // 2}d"
        return kind(plain, args, kwargs, device_type) if listed in LISTS[device_type] else plain(*args, **kwargs)
    return run


def _network(compose):
    """Of the recurrent networks on the host, GRUs and those of packed sequences are composed of ops that ask for themselves."""
    def own(kind):
        composed = _composed(compose)(_given)

        def run(plain, args, kwargs, device_type):
            packed = len(args) > 1 and isinstance(args[1], Tensor) and args[1].layout.dtype.category < 2
            if kind is _given or (packed and device_type == "cpu"):
                return composed(plain, args, kwargs, device_type)
            return plain(*args, **kwargs) if packed else kind(plain, args, kwargs, device_type)
        return run
    return own


def _without_indices(kind):
    """Pooling that gives the places as well is another op."""
    def run(plain, args, kwargs, device_type):
        places = kwargs.get("return_indices", args[6] if len(args) > 6 else False)
        return plain(*args, **kwargs) if places else kind(plain, args, kwargs, device_type)
    return run


def _of_volumes(kind):
    """`interpolate` is an op of each mode; means of volumes are adaptive pooling, which the host's list has."""
    def run(plain, args, kwargs, device_type):
        if kwargs.get("mode", args[3] if len(args) > 3 else "nearest") == "area":
            volume = kwargs.get("input", args[0] if args else None)
            of_mode = _float32 if device_type == "cpu" and volume.layout.ndim == 5 else _given
        else:
            of_mode = kind
        return of_mode(plain, args, kwargs, device_type)
    return run


def _composed(compose):
    """A cell is composed of ops that ask for themselves, so the region stays on."""
    def own(kind):
        def run(plain, args, kwargs, device_type):
            if kind is not _given or not eligible(next(_tensors((*args, *kwargs.values()))), device_type):
                return kind(plain, args, kwargs, device_type)
            state.on = True
            return compose(*args, **kwargs)
        return run
    return own


_OWN = {"pad": _padded, "max_pool3d": _without_indices, "interpolate": _of_volumes,
        **{name: _network(cells.network(name)) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
        **{name: _composed(getattr(cells, name)) for name in ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")}}


# ---------------------------------------------------------------- functions that ask
def _functions_of(name):
    """Our functions for one of PyTorch's ops."""
    import numtorch
    paths = SPELLINGS.get(name) or (name, f"nn.functional.{name}", f"Tensor.{name}",
                                    *[f"{space}.{name.removeprefix(space + '_')}" for space in ("linalg", "fft")
                                      if name.startswith(space)])
    for path in paths:
        function = numtorch
        for part in path.split("."):
            function = vars(function).get(part) if function is Tensor else getattr(function, part, None)
        if isinstance(function, pytypes.FunctionType):
            yield function


@functools.cache
def _listed() -> dict:
    """What listed functions do, by device type, by function."""
    listed: dict = {}
    for lists in (COMPOSED, LISTS):
        for device_type, kinds in lists.items():
            for name, kind in kinds.items():
                for function in _functions_of(name):
                    own = _OWN.get(function.__name__)
                    listed.setdefault(function, {})[device_type] = own(KINDS[kind]) if own else KINDS[kind]
                in_place = vars(Tensor).get(f"{name}_")  # no list has these, and they are not cast
                if in_place is not None:
                    listed.setdefault(in_place, {})[device_type] = _given
    return listed


def _asking(plain, public):
    """Code that casts the arguments of a call where the thread is in a region."""
    def ask(*args, **kwargs):
        state = "state"
        plain = "plain"
        if state.on:
            run = "run"
            return run(plain, args, kwargs)
        return plain(*args, **kwargs)

    return with_constants(ask, public, plain=plain, state=state, run=functools.partial(_run, _listed()[public]))


def _run(kinds, plain, args, kwargs):
    first = next(_tensors((*args, *kwargs.values())), None)
    device_type = first.layout.device.type if first is not None else ""
    if not state.enabled.get(device_type) or device_type not in kinds or kwargs.get("out") is not None:
        return plain(*args, **kwargs)
    state.on = False
    try:
        return kinds[device_type](plain, args, kwargs, device_type)
    finally:
        state.on = True


_interposer = Interposer(2, _asking)
asking = _interposer.functions                           # the functions that ask whether they are called in a region


def install() -> None:
    """Have the listed functions ask, as the first region does."""
    if not _interposer.functions:
        _interposer.add(_listed())


def uninstall() -> None:
    """Have them be what they were before."""
    _interposer.remove()
