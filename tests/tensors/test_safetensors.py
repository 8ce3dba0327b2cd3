"""Files of safetensors, read and written by both libraries; tensors over mapped files, of these and of `torch.save`."""
import io
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import numtorch

safetensors = pytest.importorskip("safetensors")
KINDS = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "uint16", "complex64")


def tensors(torch):
    draw = np.random.default_rng(0)
    found = {kind: torch.from_numpy(draw.integers(0, 2, (3, 2))).to(getattr(torch, kind)) for kind in KINDS}
    return {**found, "scalar": torch.tensor(2.5), "none": torch.zeros(0, 3), "odd": torch.ones(3, dtype=torch.uint8)}


def equal(found, wanted):
    assert sorted(found) == sorted(wanted)
    for name, tensor in found.items():
        assert str(tensor.dtype) == str(wanted[name].dtype) and tuple(tensor.shape) == tuple(wanted[name].shape), name
        assert tensor.tolist() == wanted[name].tolist(), name


def test_files_go_both_ways(tmp_path):
    torch, theirs = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    numtorch.safetensors.save_file(tensors(numtorch), tmp_path / "ours", {"by": "us"})
    equal(theirs.load_file(tmp_path / "ours"), tensors(torch))
    theirs.save_file(tensors(torch), tmp_path / "theirs", {"by": "them"})
    equal(numtorch.safetensors.load_file(tmp_path / "theirs"), tensors(numtorch))
    equal(numtorch.safetensors.load(theirs.save(tensors(torch))), tensors(numtorch))
    equal(theirs.load(numtorch.safetensors.save(tensors(numtorch))), tensors(torch))
    with numtorch.safetensors.safe_open(tmp_path / "theirs") as file, safetensors.safe_open(tmp_path / "theirs", "pt") as other:
        assert file.keys() == other.keys() and file.metadata() == other.metadata() == {"by": "them"}
        assert file.offset_keys() == other.offset_keys()
        assert file.get_slice("float32")[1:].tolist() == other.get_slice("float32")[1:].tolist()
        assert file.get_slice("bool").get_shape() == [3, 2] and file.get_slice("bool").get_dtype() == "BOOL"


def test_tensors_lie_over_the_file(tmp_path):
    path = tmp_path / "file"
    numtorch.safetensors.save_file({"a": numtorch.arange(4.0), "b": numtorch.ones(2)}, path)
    before = path.read_bytes()
    found = numtorch.safetensors.load_file(path)
    found["a"].add_(1)
    assert found["a"].tolist() == [1, 2, 3, 4] and path.read_bytes() == before          # a private mapping
    assert found["a"].memory.nbytes == 16 and found["b"].data_ptr() - found["a"].data_ptr() == 16
    a = found.pop("a")
    del found
    assert (a * 2).tolist() == [2, 4, 6, 8]              # the mapping lives as long as what lies over it
    equal({"a": numtorch.safetensors.load_file(path)["a"]}, {"a": numtorch.arange(4.0)})


def test_models(tmp_path):
    model = numtorch.nn.Sequential(numtorch.nn.Linear(3, 3), numtorch.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    model[0].bias.data = numtorch.arange(6.0)[::2]       # not contiguous
    path = tmp_path / "model"
    numtorch.safetensors.save_model(model, path, {"n": "1"})
    other = numtorch.nn.Sequential(numtorch.nn.Linear(3, 3), numtorch.nn.Linear(3, 3))
    assert numtorch.safetensors.load_model(other, path) == ([], [])
    equal(other.state_dict(), model.state_dict())
    with pytest.raises(RuntimeError, match=r"2\.weight"):
        numtorch.safetensors.load_model(numtorch.nn.Sequential(*other, numtorch.nn.Linear(3, 3)), path)
    assert numtorch.safetensors.load_model(numtorch.nn.Sequential(numtorch.nn.Linear(3, 3)), path, strict=False) == ([], ["1.bias"])


REFUSED = {
    "not a tensor": (ValueError, {"a": 3}), "not a dict": (ValueError, [1]), "not contiguous": (ValueError, {"a": numtorch.ones(2, 3).t()}),
    "no such dtype": (ValueError, {"a": numtorch.ones(2, dtype=numtorch.complex128)}),
    "shared": (RuntimeError, dict.fromkeys("ab", numtorch.ones(2))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(tmp_path, name):
    kind, given = REFUSED[name]
    with pytest.raises(kind):
        numtorch.safetensors.save_file(given, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_damaged_files(tmp_path):
    data = numtorch.safetensors.save({"a": numtorch.ones(4), "b": numtorch.zeros(3)})
    draw = np.random.default_rng(1)
    for number in range(200):
        damaged = bytearray(data)
        if number % 3:
            damaged[draw.integers(0, 140)] = draw.integers(0, 256)
        else:
            damaged = damaged[:draw.integers(0, len(damaged))]
        (tmp_path / "file").write_bytes(damaged)
        try:
            found = numtorch.safetensors.load_file(tmp_path / "file")
        except safetensors.SafetensorError as error:
            assert str(tmp_path / "file") in str(error)
            continue
        assert all(t.numel() * t.dtype.itemsize <= len(data) and t.tolist() is not None for t in found.values())
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(safetensors.SafetensorError, match=re.escape(f"{tmp_path / 'file'}: File does not contain tensor c")):
        numtorch.safetensors.safe_open(tmp_path / "file").get_tensor("c")
    (tmp_path / "file").write_bytes(data.replace(b'"F32"', b'"F4" ', 1))
    with pytest.raises(safetensors.SafetensorError, match=re.escape(str(tmp_path / "file"))):
        numtorch.safetensors.load_file(tmp_path / "file")
    with pytest.raises(OSError):
        numtorch.safetensors.load_file(tmp_path / "nothing")


def test_without_the_library():
    code = "import sys; sys.modules['safetensors'] = None\nimport numtorch\nnumtorch.safetensors.load_file('x')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "ImportError: numtorch.safetensors needs safetensors" in done.stderr and "numtorch[safetensors]" in done.stderr


# ---------------------------------------------------------------- torch.load(mmap=True)
@pytest.mark.parametrize("writer", ["numtorch", "torch"])
def test_mapped_checkpoints(tmp_path, writer):
    torch = pytest.importorskip(writer)
    layer = torch.nn.Linear(3, 2)
    whole = torch.arange(10)
    torch.save({"layer": layer.state_dict(), "whole": whole, "part": whole[2:4], "empty": torch.zeros(0), "n": 3}, tmp_path / "file")
    before = (tmp_path / "file").read_bytes()
    found = numtorch.load(str(tmp_path / "file"), mmap=True)
    equal(found["layer"], layer.state_dict())
    assert found["n"] == 3 and found["empty"].numel() == 0
    found["whole"][2] = 100
    assert found["part"].tolist() == [100, 3] and (tmp_path / "file").read_bytes() == before
    assert numtorch.load(tmp_path / "file", mmap=True)["part"].tolist() == [2, 3]


def test_mapped_checkpoints_are_not_read(tmp_path):
    resource = pytest.importorskip("resource")
    numtorch.save(numtorch.ones(1 << 25), tmp_path / "file")             # 128 MiB
    code = ("import sys, resource, numtorch\nbefore = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "x = numtorch.load(sys.argv[1], mmap=True)\nprint(x[-1].item(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)")
    assert resource
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "file")], capture_output=True, text=True, timeout=60)
    last, grown = done.stdout.split()
    assert last == "1.0" and int(grown) < (64 << 10 if sys.platform == "linux" else 64 << 20), done


def test_mapped_files_that_cannot_be(tmp_path):
    with pytest.raises(ValueError, match="must be a file path"):
        numtorch.load(io.BytesIO(), mmap=True)
    numtorch.save(numtorch.arange(100), tmp_path / "file")
    data = (tmp_path / "file").read_bytes()
    draw = np.random.default_rng(0)
    for _ in range(100):
        damaged = bytearray(data)
        for place in draw.integers(0, len(data), 3):
            damaged[place] = draw.integers(0, 256)
        (tmp_path / "file").write_bytes(damaged)
        try:
            found = numtorch.load(tmp_path / "file", mmap=True)
        except Exception as error:
            assert "load" in str(error) or "pickle" in type(error).__module__.lower(), repr(error)
            continue
        assert not isinstance(found, numtorch.Tensor) or len(found.reshape(-1).tolist()) <= len(data)
    os.truncate(tmp_path / "file", 0)
    with pytest.raises(EOFError, match="the file is empty"):
        numtorch.load(tmp_path / "file", mmap=True)
