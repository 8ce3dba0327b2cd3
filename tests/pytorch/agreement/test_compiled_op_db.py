"""Every entry of PyTorch's own table of operations through `torch.compile`: a call that takes its gradients itself gives in bits what it
gives without it, as long as it is replayed. Where a graph was made of it, and where gradients are taken of what it returns, the same
comes to rounding. Every second call has other values."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from daily import todays
from pytorchtables import pytorch

import numtorch
from numtorch.jit.compiling import improving, trial
from numtorch.kernels import compiler, debugmemory
from numtorch.tree import map_tensors, tensors_in

torch = pytorch()

from tests.opdb import ENTRIES, KNOWN, TOLERANCES, array, call, kind_of, operation, ours, samples_of  # noqa: E402

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
PARTS = 4                                                # of the entries, of which one is tried each day
CALLS = 14                                               # of which the last come after all that becomes of a compiled function


def samples(name):
    """The functions and the arguments of some of an entry's samples, as (what is called, function, PyTorch's arguments)."""
    op = ENTRIES[name]
    function, kind = operation(op), kind_of(op)
    if kind is None or name in KNOWN["name"] or "empty" in name:
        return
    for sample in samples_of(op, kind, 2, op.supports_autograd and kind in (torch.float64, torch.float32), 200):
        given = sample.input, sample.args, sample.kwargs
        if all(type(each) is numtorch.Tensor and each.layout.handler is None for each in tensors_in(ours(given))):
            yield f"{name}({call(sample)})", function, given


def arguments(given, number):
    """Of a call: of every second one with other values, in the same places."""
    tensors = list(tensors_in(ours(given)))
    for each in tensors if number % 2 else ():
        if each.ndim and not each.layout.overlaps_itself():
            each.detach().copy_(each.detach().flip(list(range(each.ndim))))
    return tensors


def gradients(result, leaves):
    """Of all that a call returned, by those of its arguments that require grad."""
    results = [each for each in tensors_in(result) if each.requires_grad]
    wanted = [each for each in leaves if each.requires_grad]
    if not results or not wanted:
        return []
    total = sum((each.abs() if each.is_complex() else each).double().sum() * 1.5 for each in results)
    return [each for each in numtorch.autograd.grad(total, wanted, allow_unused=True) if each is not None]


def forms(function, given):
    """Two functions of a sample's tensors: one that takes gradients itself, and one that does not, with how its outcome is had."""
    form = ours(given)
    needing = [each.requires_grad for each in tensors_in(form)]

    def plain(*tensors):
        places = iter(tensors)
        args, args_behind, kwargs = map_tensors(lambda _: next(places), form)
        return function(args, *args_behind, **kwargs)

    def whole(*tensors):
        leaves = [each.detach().requires_grad_() if needs else each for each, needs in zip(tensors, needing)]
        result = plain(*leaves)
        return [each.detach() for each in tensors_in(result)], gradients(result, leaves)

    def outside(called, tensors):
        result = called(*tensors)
        return [each.detach() for each in tensors_in(result)], gradients(result, tensors)
    return ((whole, lambda called, tensors: called(*[each.detach() for each in tensors])), (plain, outside))


def outcome(of, called, given, number):
    """What a call gives, or how it is refused, and what its arguments are afterwards: results and arguments, then gradients."""
    tensors = arguments(given, number)
    numtorch.manual_seed(number)
    try:
        results, grads = of(called, tensors)
    except Exception as error:
        return f"{type(error).__name__}: {error}", tensors
    return [*results, *tensors], grads


def compare(found, wanted, what, exact, placed):
    """Whether outcomes are the same; `placed`: in memory too."""
    if isinstance(wanted, str) or isinstance(found, str):
        assert found == wanted, what
        return
    for one, other in zip(found, wanted, strict=True):
        one, other = one.to_dense(), other.to_dense()
        assert (one.shape, one.dtype) == (other.shape, other.dtype) and (not placed or steps(one) == steps(other)), what
        tolerance = 0 if exact else TOLERANCES.get(f"torch.{str(other.dtype).split('.')[-1]}", 1e-10)
        np.testing.assert_allclose(array(one), array(other), tolerance, tolerance, err_msg=what)


def steps(tensor):
    """The strides, of dimensions in which one can step."""
    return [stride for length, stride in zip(tensor.shape, tensor.stride()) if length > 1]


def hurry(compiled):
    """Do not wait for the compiler, and let graphs win, whatever the clock says."""
    for kind in compiled._kinds.values():
        found = kind.replays[0].better if kind.replays else None
        pending = kind.recording and kind.recording.pending
        thread = found.thread if found is not None and found.stage.__name__ == "_compiled" else pending and pending[1]
        if thread:
            thread.join()
        if found is not None and found.stage.__name__ == "_contest":
            found.calls, found.times = improving.TURNS, ([0.0], [-1.0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["replay", "default"])
@pytest.mark.parametrize("name", todays(sorted(ENTRIES), PARTS))
def test_entry(name, mode, monkeypatch):
    monkeypatch.setattr(improving, "PATIENCE", 2)
    monkeypatch.setattr(trial, "is_faster", lambda *how: True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what, function, given in samples(name):
            for form, of in forms(function, given):
                compiled = numtorch.compile(form, mode=mode)
                for number in range(6 if mode == "replay" else CALLS):
                    found, wanted = outcome(of, compiled, given, number), outcome(of, form, given, number)
                    for placed, mine, its in zip((True, form.__name__ == "whole"), found, wanted):
                        exact = mode == "replay" and form.__name__ == "whole"
                        compare(mine, its, f"{what}, call {number} of {form.__name__}", exact, placed)
                    hurry(compiled)
