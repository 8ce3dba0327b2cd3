"""CUDA: the same cases on the CPU and in the simulator.

Which runtime there is gets decided when CUDA is first used, so the simulator runs in a process of its own: this file, run as
a script with NUMBA_ENABLE_CUDASIM=1, prints each case's outcome as JSON. Where a GPU is at hand, the same script runs on it.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback

import bodies
import cudacomposed  # noqa: F401 - cases too
import numpy as np
import pytest
from cudacases import CASES
from cudachecks import CHECKS
from hasgpu import has_gpu, need_gpu


def outcome(value):
    values = value if isinstance(value, tuple) else (value,)
    values = [v.detach().cpu() for v in values]
    wide = [v.float() if "float16" in str(v.dtype) else v for v in values]
    return [(str(v.dtype), list(v.shape), [str(e) for e in w.numpy().ravel().tolist()]) for v, w in zip(values, wide)]


def run_all(device):
    """Every case's outcome on a device, or its traceback."""
    import numtorch as torch
    found = {}
    for name, body in CASES.items():
        try:
            value = body(torch, device)
            one = value[0] if isinstance(value, tuple) else value
            assert name == "backward_across_devices" or one.device.type == device, f"the result is on {one.device}"
            found[name] = outcome(value)
        except Exception:
            found[name] = traceback.format_exc(limit=-4)
    if device == "cuda":
        for name, body in CHECKS.items():
            try:
                body(torch)
                found[name] = "fine"
            except Exception:
                found[name] = traceback.format_exc(limit=-4)
    return found


# ---------------------------------------------------------------- the simulator
def script(code, **environment):
    environment = {**os.environ, **environment, "PYTHONPATH": bodies.search_path(__file__)}
    done = subprocess.run([sys.executable, *code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module", params=["simulator", "driver", "gpu"])
def on_cuda(request):
    """In the simulator; the same kernels through the code for GPUs and a driver that does everything late; on a GPU."""
    if request.param == "gpu":
        need_gpu()
    return json.loads(script([__file__, request.param], NUMBA_ENABLE_CUDASIM="0" if request.param == "gpu" else "1"))


@pytest.fixture(scope="module")
def on_cpu():
    return run_all("cpu")


@pytest.mark.parametrize("name", CASES)
def test_cuda_says_what_the_cpu_says(name, on_cpu, on_cuda):
    expected, got = on_cpu[name], on_cuda[name]
    assert isinstance(expected, list), expected
    assert isinstance(got, list), got
    for (dtype, shape, values), (dtype_got, shape_got, values_got) in zip(expected, got, strict=True):
        assert (dtype_got, shape_got) == (dtype, shape)
        kind = complex if "complex" in dtype else float if "float" in dtype else str
        # a few roundings: machine code on the CPU contracts a * b + c, and each sums in an order of its own
        tolerance = {"float64": 1e-11, "float16": 2e-3, "bfloat16": 1e-2}.get(dtype.removeprefix("torch."), 2e-6)
        if kind is str:
            assert values_got == values
        else:
            np.testing.assert_allclose([kind(v) for v in values_got], [kind(v) for v in values], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CHECKS)
def test_in_cuda(name, on_cuda):
    assert on_cuda[name] == "fine", on_cuda[name]


@pytest.mark.parametrize("visible, count", [("0", 1), ("1,0", 2), ("", 0), ("-1", 0), ("0,-1,1", 1)])
def test_visible_devices(visible, count):
    """As the driver reads the variable: up to the first device that there is not."""
    code = "import numtorch as t; print(t.cuda.device_count(), t.cuda.is_available())"
    assert script(["-c", code], NUMBA_ENABLE_CUDASIM="1", CUDA_VISIBLE_DEVICES=visible).split() == [str(count), str(count > 0)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_gets_an_error():
    code = """
import os, numtorch as torch
torch.zeros(2).cuda()
child = os.fork()
if not child:
    try:
        torch.zeros(2, device="cuda")
    except RuntimeError as error:
        os._exit(0 if "Cannot re-initialize CUDA in forked subprocess" in str(error) else 2)
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    script(["-c", code], NUMBA_ENABLE_CUDASIM="1")


# ---------------------------------------------------------------- without the simulator
def test_without_cuda():
    """What PyTorch raises, by whether the extra or only the GPU is missing, and nothing of CUDA is imported before."""
    if has_gpu():
        pytest.skip("there is a GPU")
    code = """
import sys, numtorch as torch
early = {"cuda", "numba.cuda", "numtorch.cuda", "numtorch.kernels.cuda"} & set(sys.modules)
assert not early, early
assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
for attempt in (lambda: torch.zeros(2, device="cuda"), lambda: torch.zeros(2).cuda(), lambda: torch.zeros(2).to("cuda:0"),
                lambda: torch.cuda.set_device(0), torch.cuda.synchronize):
    try:
        attempt()
    except (AssertionError, RuntimeError) as error:
        assert str(error).startswith({AssertionError: "Torch not compiled with CUDA enabled",
                                      RuntimeError: "No CUDA GPUs are available"}[type(error)]), error
    else:
        sys.exit("nothing was raised")
assert torch.zeros(2).to("cpu").tolist() == [0, 0]
"""
    script(["-c", code], NUMBA_ENABLE_CUDASIM="0")


if __name__ == "__main__":
    if sys.argv[1:] == ["driver"]:
        import fakedriver
        fake = fakedriver.install()
    json.dump(run_all("cuda"), sys.stdout)
