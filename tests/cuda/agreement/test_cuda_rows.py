"""CUDA: every row of the tables that say what ops mean, on the CPU and in the simulator of a GPU: values and gradients.

The simulator must be chosen before CUDA is used, so it runs in a process of its own: this file as a script, which leaves what each
row gives in a file. Where a GPU is at hand the same script runs on it. Rows are float64; each kernel's other dtypes are in
test_cuda.py.
"""
from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import bodies
import numpy as np
import pytest
from daily import todays

ACROSS = {"cpu", "pin_memory"}                                         # rows that are about the host
PARTS = 4                                                # of elementwise ops and primitives one runs each day; all with NUMTORCH_TEST_ALL=1


def tables():
    """The rows by name: functions of a device that give tensors."""
    import gradientrows as gradients
    from optable import ROWS as ELEMENTWISE

    import numtorch as torch
    import numtorch.special
    from numtorch.commands.reference import others
    from numtorch.ops.core.primitive import registry
    from numtorch.ops.samples import calls_of, dtypes_of, run
    from numtorch.ops.shape.pad import NOTHING
    from numtorch.tree import flatten
    constants = {name: value for name, value in vars(gradients).items() if isinstance(value, torch.Tensor)}

    def with_gradients(name, device):
        function, shapes, _ = gradients.ROWS[name]
        for constant, value in constants.items():
            setattr(gradients, constant, value.to(device))
        torch.manual_seed(3)
        with torch.device(device):
            inputs = [torch.tensor(gradients.values(s, i), device=device, requires_grad=True) for i, s in enumerate(shapes)]
            result = function(*inputs)
            outputs = [t for t in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(t, torch.Tensor)]
            kept = [t for t in outputs if t.requires_grad]
            slopes = torch.autograd.grad(kept, inputs, [torch.ones_like(o) for o in kept], allow_unused=True) if kept else []
        return [*outputs, *slopes]

    def elementwise(name, device):
        row, rng = ELEMENTWISE[name], np.random.default_rng(0)
        kind = {"f": np.float64, "i": np.int64, "b": np.bool_, "u": np.uint8, "c": np.complex128}[
            "f" if "f" in row.kinds else row.kinds[-1]]
        arrays = [torch.from_numpy(draw(rng, (3, 2), kind)).to(device) for draw in row.domain]
        result = registry[name].function(*arrays, **row.numbers)
        return list(result) if isinstance(result, (tuple, list)) else [result]

    def sampled(name, device):
        key, number = name.split()
        tensors, attributes = calls_of(registry[key], dtypes_of(registry[key])[0], device)[int(number)]
        torch.manual_seed(3)
        found = [t for t in flatten([run(registry[key], tensors, attributes), list(tensors)])[0] if isinstance(t, torch.Tensor)]
        return [t.to_dense() if t.is_sparse else t for t in found if t is not NOTHING]

    rows = {name: (with_gradients, name) for name in gradients.ROWS if name not in ACROSS}
    rows.update({f"elementwise {name}": (elementwise, name) for name in sorted(ELEMENTWISE) if name in registry})
    rows.update({f"primitive {op.key} {i}": (sampled, f"{op.key} {i}") for op in others() for i in range(len(op.samples))})
    return {name: (lambda device, row=row, key=key: row(key, device)) for name, (row, key) in rows.items()}


def chosen(names):
    """The rows of this run."""
    in_parts = [name for name in names if name.startswith(("elementwise", "primitive"))]
    left = set(in_parts) - set(todays(in_parts, PARTS))
    return [name for name in names if name not in left]


def outcome(row, device):
    """What a row gives: dtype, device and elements of each result, None for no gradient; its traceback where it raises."""
    try:
        found = []
        for tensor in row(device):
            if tensor is None:
                found.append(None)
                continue
            dense = tensor.detach().to_dense() if tensor.layout.__class__.__name__ == "layout" and tensor.is_sparse else tensor.detach()
            found.append((str(tensor.dtype), tensor.device.type, np.array(dense.cpu().tolist()), tuple(tensor.shape)))
        return found
    except Exception:
        return traceback.format_exc(limit=-4)


def no_device_memory_on_the_host():
    """Reading a device's memory as an array would pass in the simulator and crash on a GPU."""
    from numtorch.exchange import arrays
    array_over = arrays.array_over

    def checked(tensor, kind):
        assert tensor.layout.device.type == "cpu", f"NumPy was given memory of {tensor.layout.device}"
        return array_over(tensor, kind)
    arrays.array_over = checked


def run_all(device, names=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = tables()
        return {name: outcome(rows[name], device) for name in names or chosen(list(rows))}


@pytest.fixture(scope="module")
def on_cuda(tmp_path_factory):
    path = tmp_path_factory.mktemp("cuda") / "rows"
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": bodies.search_path(__file__)}
    done = subprocess.run([sys.executable, __file__, str(path)], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return pickle.loads(path.read_bytes())


def names_of_rows():
    return chosen(list(tables()))


@pytest.mark.parametrize("name", names_of_rows())
def test_a_row_is_the_same_on_both_devices(name, on_cuda):
    expected, got = run_all("cpu", [name])[name], on_cuda[name]
    assert isinstance(expected, list), expected
    assert isinstance(got, list), got
    assert len(got) == len(expected)
    for theirs, ours in zip(got, expected):
        if theirs is None or ours is None:
            assert theirs is ours
            continue
        assert theirs[0] == ours[0] and theirs[3] == ours[3]
        assert theirs[1] == "cuda", f"a result is on {theirs[1]}"
        tolerance = 1e-5 if "float32" in ours[0] or "complex64" in ours[0] else 1e-9
        np.testing.assert_allclose(theirs[2], ours[2], rtol=tolerance, atol=tolerance)


if __name__ == "__main__":
    no_device_memory_on_the_host()
    Path(sys.argv[1]).write_bytes(pickle.dumps(run_all("cuda")))
