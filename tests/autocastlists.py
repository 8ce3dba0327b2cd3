"""PyTorch's own lists of what autocast makes of each op (torch.testing._internal.autocast_test_lists), run on numtorch: dtypes.

    python -m tests.autocastlists cpu
    NUMBA_ENABLE_CUDASIM=1 python -m tests.autocastlists cuda      # or on a GPU

On the CPU PyTorch runs beside, and no kernel of ours is compiled: plans say the dtypes. Of CUDA the lists say what is expected.
"""
from __future__ import annotations

import contextlib
import inspect
import sys
import warnings

import torch
from torch.testing._internal import autocast_test_lists

import numtorch
from numtorch.kernels.planning import kernels_named

from . import opdb

INTERNAL = {"_addmm_activation", "_convolution", "_native_multi_head_attention", "cudnn_convolution", "cudnn_convolution_transpose",
            "nll_loss2d", "reflection_pad1d", "__div__"}         # which no public name of ours is
# Where arguments that PyTorch's private functions take are none of the public ones', which are ours.
PUBLIC = {"linear": lambda x, weight, bias=None: (x, weight, None if bias is None else bias[0]),
          "margin_ranking_loss": lambda one, other, target: (one, other, target.expand_as(one))}


def lists_of(device):
    """The lists of a kind of device; for the simulator the smallest tensors that are any."""
    if device == "cpu":
        return vars(autocast_test_lists.AutocastCPUTestLists("cpu"))
    made = {"__name__": autocast_test_lists.__name__}
    exec(inspect.getsource(autocast_test_lists).replace("n = 8\n", "n = 2\n"), made)
    return vars(made["AutocastTestLists"]("cpu"))


def short(value, kind):
    """Arguments with 16-bit floats of one kind."""
    if isinstance(value, torch.Tensor):
        return value.to(kind) if value.dtype in (torch.bfloat16, torch.float16) else value
    return type(value)([short(each, kind) for each in value]) if isinstance(value, (list, tuple)) else value


def rows(device, kind):
    """What PyTorch's lists have: the list, the op, its arguments, and the dtype of the result; an error where that is None."""
    for group, listed in lists_of(device).items():
        for name, args, *more in listed:
            if name in INTERNAL or isinstance(args, str):         # einsum's row has a place too many, and PyTorch leaves it out
                continue
            kwargs = next((each for each in more if isinstance(each, dict)), {})
            if "builtin" in group:
                expected = more[-1]
            else:
                expected = None if group == "banned" else torch.float32 if "fp32" in group or "promote" in group else kind
            yield group, name, short(PUBLIC.get(name, lambda *args: args)(*args), kind), kwargs, expected


def forms(library, group, name, args):
    """An op's functions in a library: in the module that a list is about, and as a method."""
    space = library.linalg if group.startswith("linalg") else library.nn.functional if group.startswith(("nn", "banned")) else library
    function = getattr(space, name.removeprefix("linalg_"), None)
    if function is not None and not name.startswith("__"):
        yield "function", function
    if isinstance(args[0], (torch.Tensor, numtorch.Tensor)) and hasattr(library.Tensor, name):
        yield "method", getattr(library.Tensor, name)


def made_of(library, function, args, kwargs, device, kind):
    """The dtype of the first result inside of a region; None for an error of autocast's, and what else is none is no tensor."""
    with library.autocast(device, getattr(library, str(kind).removeprefix("torch."))):
        try:
            result = function(*args, **kwargs)
        except RuntimeError as error:
            if "unsafe to autocast" in str(error):
                return "None"
            raise
    first = result[0] if isinstance(result, (list, tuple)) else result
    return str(first.dtype) if hasattr(first, "dtype") else type(first).__name__


def differences(device):
    """Lines of what differs, and how many calls were made."""
    opdb.ours_runs.on = device
    found, count = [], 0
    for kind in (torch.bfloat16, torch.float16):
        for group, name, args, kwargs, expected in rows(device, kind):
            given = opdb.ours(args)
            for form, function in forms(numtorch, group, name, given):
                wanted = "bool" if name == "equal" else str(expected)
                try:
                    got = made_of(numtorch, function, given, kwargs, device, kind)
                except Exception as error:
                    got = repr(error)
                if device == "cpu":
                    theirs = dict(forms(torch, group, name, args)).get(form)
                    theirs = theirs and made_of(torch, theirs, args, kwargs, device, kind)
                    wanted = theirs or wanted
                count += 1
                if got != wanted:
                    found.append(f"{kind} {group} {name} ({form}): {got} instead of {wanted}")
    return found, count


def main(device):
    with warnings.catch_warnings(), kernels_named() if device == "cpu" else contextlib.nullcontext():
        warnings.simplefilter("ignore")
        found, count = differences(device)
    print(*found, f"{count} calls", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
