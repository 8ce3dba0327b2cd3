"""A recorded call's programs beside the call itself: what is compared and timed leaves no trace, and raises nothing."""
import copy
import threading
import time

import pytest
from recordings import recording_of, settle
from replays import kind_of

import numtorch as torch
from numtorch import nn
from numtorch.jit.compiling import trial
from numtorch.jit.compiling.trial import is_faster
from numtorch.kernels import compiler, debugmemory

pytestmark = [pytest.mark.usefixtures("faster"), pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
              reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")]
F = nn.functional


def test_programs_are_used_where_they_are_faster(monkeypatch):
    """What is timed leaves no trace: both networks are the same afterwards, and their next draws."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    for wins in (False, True):
        timed = []

        def contest(one, other, restore, devices, timed=timed, wins=wins):
            for call in (one, other):
                call()
                restore()
            timed.append(1)
            return wins
        monkeypatch.setattr(trial, "is_faster", contest)
        nets = copy.deepcopy(net), copy.deepcopy(net)
        compiled = torch.compile(nets[1])
        for number in range(12):
            found = []
            for model in (nets[0], compiled):
                torch.manual_seed(number)
                loss = model(torch.randn(8, 4)).square().sum()
                model.zero_grad()
                loss.backward()
                found.append([loss, torch.rand(1), *[p.grad for p in model.parameters()], *model.buffers()])
                pending = model is compiled and recording_of(compiled) and recording_of(compiled).pending
                if pending:
                    pending[1].join()
            for a, b in zip(*found, strict=True):
                torch.testing.assert_close(a, b)
        assert timed == [1] and recording_of(compiled).programs
        assert ("CompiledFunction" in compiled(torch.randn(8, 4)).grad_fn.name()) == wins
        assert ("less time" in str(torch.compile.explain(compiled)(torch.randn(8, 4)))) == (not wins)


def test_the_faster_call_is_found():
    restored = []
    slow, fast = (lambda: time.sleep(0.01)), (lambda: None)
    assert is_faster(fast, slow, lambda: restored.append(1), ())
    assert not is_faster(slow, fast, lambda: restored.append(1), ())
    assert len(restored) > 8


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_nothing_is_put_back_while_others_may_write(mode):
    """Comparing programs with a call restores what both changed: another thread's steps would be undone."""
    net = nn.Linear(4, 2)
    compiled = torch.compile(net, mode=mode)

    def call():
        compiled(torch.ones(3, 4)).sum().backward()
    call()
    while recording_of(compiled) is None or recording_of(compiled).pending is None:
        call()
    recording = recording_of(compiled)
    if recording.pending[1] is not None:
        recording.pending[1].join()
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        for _ in range(3):
            call()
            assert recording.pending is not None and not recording.programs
    finally:
        done.set()
        other.join()
    call()
    assert recording.programs, recording.reason


def _refusing(x):
    if (x < 1).any():
        raise ValueError("below 1")
    return x.log1p() * 3 + x


def _entropy(x):
    return F.binary_cross_entropy(x, torch.ones(4), reduction="none") * 3 + x


@pytest.mark.parametrize("mode", ["replay", "default"])
@pytest.mark.parametrize("function", [_refusing, _entropy])
def test_comparing_with_changed_operands_refuses_nothing(function, mode):
    """Programs are compared with calls on operands that were changed in their last places, which the function may refuse."""
    def step(x):
        with torch.no_grad():
            return function(x) + 1
    compiled, stepped = (torch.compile(each, mode=mode) for each in (function, step))
    for _ in range(40):
        x = torch.ones(4).requires_grad_()
        settle(lambda x=x: torch.testing.assert_close(compiled(x), function(x)), compiled, 1)
        assert torch.equal(stepped(x.detach()), step(x.detach()))
    assert recording_of(compiled).programs and kind_of(stepped).replays
