"""CUDA: the modules of PyTorch's own table in the simulator beside the CPU, in training and in evaluation: results, gradients of inputs
and parameters, buffers. A quarter of them each day; all with NUMTORCH_TEST_ALL=1.

The table takes seconds to import: this file as a script has it, and the test is a fork of it.
"""
from __future__ import annotations

import copy
import sys
import warnings
from pathlib import Path

import bodies
from daily import todays
from pytorchtables import pytorch

torch = pytorch()
ELEMENTS = 400                                           # of a call's tensors at most: the simulator is slow


def test_modules():
    bodies.run(__file__, "modules", NUMBA_ENABLE_CUDASIM="1")


# ---------------------------------------------------------------- in the simulator
def on_device(value, known):
    """Arguments on the device; a tensor that is there twice is one tensor."""
    import numtorch
    if isinstance(value, numtorch.Tensor):
        if id(value) not in known:
            known[id(value)] = value.detach().cuda().requires_grad_(value.requires_grad)
        return known[id(value)]
    if isinstance(value, (list, tuple)):
        return type(value)(on_device(each, known) for each in value)
    return {key: on_device(each, known) for key, each in value.items()} if isinstance(value, dict) else value


def outcome(module, args, named, table):
    """Results, gradients of inputs and parameters, and buffers, or the exception's class."""
    import numpy as np

    import numtorch
    numtorch.manual_seed(1)
    try:
        results = table.tensors(module(*args, **named))
    except Exception as error:
        return type(error)
    kept = [t for t in results if t.requires_grad]
    leaves = [t for t in dict.fromkeys([*table.tensors((args, named)), *module.parameters()]) if t.requires_grad]
    slopes = [numtorch.tensor(np.random.default_rng(0).standard_normal(tuple(t.shape)), dtype=t.dtype, device=t.device) for t in kept]
    return [*results, *(numtorch.autograd.grad(kept, leaves, slopes, allow_unused=True) if kept else []), *module.buffers()]


def check(name, training, table):
    """The first small call of a module that stands in the table."""
    import numpy as np

    import numtorch
    size = lambda given: sum(t.numel() for t in table.tensors((given.args, given.kwargs)))
    small = [each for each in table.inputs_of(name, training) if each.forward_input is not None and size(each.forward_input) < ELEMENTS]
    for given in small[:1]:
        known: dict = {}
        args, options = table.converted(given.constructor_input.args, known), table.converted(given.constructor_input.kwargs, known)
        numtorch.manual_seed(0)
        module = table.named(name)(*args, **options).double().train(training)
        args, named = table.converted(given.forward_input.args, known), table.converted(given.forward_input.kwargs, known)
        moved, there = copy.deepcopy(module).cuda(), {}
        found, wanted = outcome(moved, on_device(args, there), on_device(named, there), table), outcome(module, args, named, table)
        if isinstance(wanted, type):
            assert found is wanted, (found, wanted)
            continue
        for one, other in zip(found, wanted, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                assert one.is_cuda, "a result is not on the device"
                np.testing.assert_allclose(one.detach().cpu().numpy(), other.detach().numpy(), 1e-7, 1e-8)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.path.append(str(Path(__file__).resolve().parents[2] / "pytorch" / "agreement"))
    import test_module_db as table
    bodies.served()
    wrong = []
    for name in todays(table.INFOS, 4):
        for training in (True, False):
            try:
                check(name, training, table)
            except Exception as error:
                wrong.append(f"{name}, training={training}: {type(error).__name__}: {error}")
    sys.exit("\n".join(wrong) or None)
