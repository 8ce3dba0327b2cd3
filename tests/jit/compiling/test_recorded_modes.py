"""Compiled calls parts of which are not recorded, and whose backward is outside of them: gradients are those of eager calls."""
from __future__ import annotations

import numpy as np
import pytest
from recordings import recording_of, settle

import numtorch as torch
from numtorch import nn
from numtorch.kernels import compiler, debugmemory

pytestmark = [pytest.mark.usefixtures("faster"), pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
              reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")]
F = nn.functional


def _without(x):
    with torch.no_grad():
        y = x * 2
    return y + x


def _within(x):
    with torch.no_grad():
        with torch.enable_grad():
            y = x * 3
        z = x * 2
    return y.sin() + z * x


def _set(x):
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    return y * x + x


def _set_in_a_context(x):
    with torch.set_grad_enabled(False):
        y = (x * 2).exp()
    return y * x


def _detached(x):
    return x + (x.round() - x).detach()


def _detached_in_place(x):
    y = x * 2
    y.detach_()
    return y * x


def _in_inference_mode(x):
    with torch.inference_mode():
        y = x * 2
    return y + x


def _decorated(x):
    @torch.no_grad()
    def inner(x):
        return x.sin() * 2
    return inner(x) * x


def _written_without(x):
    y = x * 2
    with torch.no_grad():
        y.mul_(3)
    return y * x


def _written_through_what_is_detached(x):
    y = x * 2
    y.detach().mul_(3)
    return y + x


def _a_leaf_of_its_own(x):
    with torch.no_grad():
        y = x * 2
    y.requires_grad_()
    return y * x


def _a_shift(x):
    with torch.no_grad():
        largest = x.max(-1, keepdim=True).values
    e = (x - largest).exp()
    return e / e.sum(-1, keepdim=True)


def _a_part_of_the_argument(x):
    with torch.no_grad():
        part = x[0]
    return part + x


def _some_without_graph(x):
    a = x.tanh()
    b = a * 2
    with torch.no_grad():
        c = b + a
    return a, c, b


def _view_of_the_argument(x):
    return x[0], x * 2


def _the_argument(x):
    with torch.no_grad():
        y = x * 2
    return x, y + x


def _drawn(x):
    with torch.no_grad():
        noise, mask = torch.randn_like(x), torch.rand_like(x) < 0.5
    return x * noise * mask + F.dropout(x, 0.5)


def _dropped(x):
    with torch.no_grad():
        mask = F.dropout(x * 0 + 1, 0.3)
    return x * mask + F.dropout(x, 0.5)


PARTS = [_without, _within, _set, _set_in_a_context, _detached, _detached_in_place, _in_inference_mode, _decorated, _written_without,
         _written_through_what_is_detached, _a_leaf_of_its_own, _a_shift, _a_part_of_the_argument, _some_without_graph,
         _view_of_the_argument, _the_argument, _drawn, _dropped]
STAY = {_in_inference_mode, _view_of_the_argument, _the_argument}      # of which no programs are made


def _outcome(call, x, unused):
    torch.manual_seed(3)
    x = x.clone().requires_grad_()
    results = call(x)
    results = list(results) if isinstance(results, tuple) else [results]
    recorded = [each for each in results if each.requires_grad]
    used = recorded[:-1] if unused and len(recorded) > 1 else recorded
    try:
        sum((each * each).sum() for each in used).backward()
    except RuntimeError as error:
        return str(error)
    return [each.detach() for each in results], [each.requires_grad for each in results], x.grad, torch.rand(1)


def _check(found, wanted):
    if isinstance(wanted, str):
        assert found == wanted
        return
    assert found[1] == wanted[1]
    for one, other in zip((*found[0], *found[2:]), (*wanted[0], *wanted[2:]), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("unused", [False, True])
@pytest.mark.parametrize("mode", ["replay", "default"])
@pytest.mark.parametrize("f", PARTS, ids=lambda f: f.__name__[1:])
def test_parts_that_are_not_recorded(f, mode, unused):
    compiled, rng = torch.compile(f, mode=mode), np.random.default_rng(0)

    def both():
        x = torch.from_numpy(rng.standard_normal((3, 4), np.float32))
        _check(_outcome(compiled, x, unused), _outcome(f, x, unused))
    settle(both, compiled)
    recording = recording_of(compiled)
    assert bool(recording.programs) == (f not in STAY), recording.reason
    for _ in range(10):
        both()


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_what_is_computed_without_recording_is_constant_for_the_gradient(mode):
    compiled = torch.compile(_without, mode=mode)

    def call():
        x = torch.ones(3, requires_grad=True)
        compiled(x).sum().backward()
        assert x.grad.tolist() == [1.0] * 3
    settle(call, compiled)
    assert recording_of(compiled).programs
    for _ in range(10):
        call()


class _Averaging(nn.Module):
    """Batch norm within, and a running mean that the call keeps itself."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        y = self.norm(self.first(x))
        with torch.no_grad():
            self.mean.mul_(0.9).add_(y.mean(0), alpha=0.1)
            scale = self.norm(x * 2).abs().mean()
        return y * scale + self.mean.clone()


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_running_statistics_within_what_is_not_recorded(mode):
    torch.manual_seed(0)
    net, other = _Averaging(), _Averaging()
    other.load_state_dict(net.state_dict())
    compiled, rng = torch.compile(net, mode=mode), np.random.default_rng(0)

    def both():
        x = torch.from_numpy(rng.standard_normal((8, 4), np.float32))
        for module in (net, other):
            module.zero_grad()
            (compiled if module is net else other)(x).square().sum().backward()
        for (name, one), (_, two) in zip(net.state_dict(keep_vars=True).items(), other.state_dict(keep_vars=True).items()):
            torch.testing.assert_close(one.detach(), two.detach(), rtol=1e-4, atol=1e-5, msg=name)
            assert (one.grad is None) == (two.grad is None), name
            if one.grad is not None:
                torch.testing.assert_close(one.grad, two.grad, rtol=1e-4, atol=1e-4)
    settle(both, compiled)
    assert recording_of(compiled).programs, recording_of(compiled).reason
    for _ in range(10):
        both()
