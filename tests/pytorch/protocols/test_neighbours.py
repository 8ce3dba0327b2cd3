"""What PyTorch wrote and made, read here: whole modules, files from before 1.6, its tensors in a state_dict, bfloat16 through DLPack; and
its tensors in a call, which are refused by name."""
from __future__ import annotations

import gzip
import io
import pickle
import warnings

import numpy as np
import pytest

import numtorch
from numtorch.serialization import oldfiles

torch = pytest.importorskip("torch", reason="PyTorch is not installed to write files")


def written(thing, old=False):
    file = io.BytesIO()
    torch.save(thing, file, _use_new_zipfile_serialization=not old)
    return file.getvalue()


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


nn = torch.nn
MODULES = [
    (nn.Sequential(nn.Conv2d(1, 2, 3, padding="same"), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 2)).eval(),
     [(2, 1, 6, 6)]),
    (nn.Conv1d(2, 4, 3, groups=2, padding=1, padding_mode="circular"), [(1, 2, 7)]),
    (nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1), [(1, 2, 4, 4)]),
    (nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), [(2, 5, 3)]),
    (nn.GRUCell(3, 4), [(2, 3)]),
    (nn.MultiheadAttention(4, 2, batch_first=True).eval(), [(2, 3, 4)] * 3),
    (nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, activation="gelu"), 2).eval(), [(2, 3, 4)]),
    (nn.Transformer(4, 2, 1, 1, 8).eval(), [(2, 3, 4)] * 2),
    (nn.ModuleDict({"a": nn.Softmax(1), "b": nn.ModuleList([nn.PReLU(), nn.GELU(approximate="tanh")])})["b"][0], [(2, 3)]),
    (nn.Upsample(scale_factor=2, mode="bilinear"), [(1, 1, 2, 2)]),
    (nn.CrossEntropyLoss(weight=torch.rand(3)), [(2, 3), (2, 3)]),
]


@pytest.mark.parametrize("old", [False, True], ids=["zip", "before 1.6"])
@pytest.mark.parametrize("module, shapes", MODULES, ids=[type(m).__name__ for m, _ in MODULES])
def test_whole_modules(module, shapes, old):
    inputs = [draw(*shape) for shape in shapes]
    found = numtorch.load(io.BytesIO(written(module, old)), weights_only=False)
    assert type(found).__module__.startswith("numtorch.") and type(found).__name__ == type(module).__name__
    one, other = found(*[numtorch.from_numpy(x.numpy()) for x in inputs]), module(*inputs)
    while isinstance(other, tuple):
        one, other = one[0], other[0]
    np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-5)
    again = io.BytesIO()
    numtorch.save(found.state_dict(), again)
    assert numtorch.load(io.BytesIO(again.getvalue())).keys() == module.state_dict().keys()


def scale(module, inputs, output):
    return output * 2


def test_hooks_come_along():
    module = nn.Linear(2, 2)
    module.register_forward_hook(scale)
    found = numtorch.load(io.BytesIO(written(module)), weights_only=False)
    x = draw(3, 2)
    np.testing.assert_allclose(found(numtorch.from_numpy(x.numpy())).detach().numpy(), module(x).detach().numpy(), rtol=1e-4, atol=1e-6)


def test_what_has_no_counterpart_says_what_it_is():
    class Holder:
        def __reduce__(self):
            return torch.nn.quantized.FloatFunctional, ()

    with pytest.raises(pickle.UnpicklingError, match=r"torch\..*FloatFunctional, which has nothing here"):
        numtorch.load(io.BytesIO(written(Holder())), weights_only=False)


KINDS = ["float32", "float64", "int64", "bool", "bfloat16", "complex64"]


@pytest.mark.parametrize("kind", KINDS)
def test_old_files_of_tensors(kind):
    x = (draw(3, 4) * 3).to(getattr(torch, kind))
    found = numtorch.load(io.BytesIO(written({"x": x, "part": x.t()[1:], "n": [1, "two"]}, old=True)))
    assert found["x"].tolist() == x.tolist() and found["part"].tolist() == x.t()[1:].tolist() and found["n"] == [1, "two"]
    assert found["x"].memory is found["part"].memory


def test_old_files_that_are_damaged():
    whole = written({"x": torch.arange(6.0), "y": torch.arange(3)}, old=True)
    assert whole.startswith(oldfiles.BEGINNING)
    for end in range(len(oldfiles.BEGINNING), len(whole) - 1, 7):
        with pytest.raises((EOFError, RuntimeError, pickle.UnpicklingError)):
            numtorch.load(io.BytesIO(whole[:end]))
    for at in range(len(oldfiles.BEGINNING), len(whole), 3):        # another byte: read rightly, or refused
        changed = bytearray(whole)
        changed[at] ^= 0x15
        try:
            numtorch.load(io.BytesIO(bytes(changed)))
        except (EOFError, RuntimeError, pickle.UnpicklingError):
            pass


def test_a_state_of_pytorchs_tensors():
    theirs, ours = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), numtorch.nn.Sequential(numtorch.nn.Linear(3, 4), numtorch.nn.BatchNorm1d(4))
    ours.load_state_dict(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        assert ours.state_dict()[name].tolist() == value.tolist()
    half = numtorch.nn.Linear(3, 2, dtype=numtorch.bfloat16)
    half.load_state_dict(dict(nn.Linear(3, 2, dtype=torch.bfloat16).named_parameters()))      # which require gradients


def test_bfloat16_through_dlpack():
    x = draw(3, 4).to(torch.bfloat16).t()[1:]
    found = numtorch.from_dlpack(x)
    assert found.dtype is numtorch.bfloat16 and found.stride() == x.stride() and found.tolist() == x.tolist()
    found[0, 0] = 9
    assert x[0, 0].item() == 9                           # one memory
    back = torch.from_dlpack(found)
    assert back.dtype is torch.bfloat16 and back.tolist() == x.tolist() and back.data_ptr() == x.data_ptr()
    assert numtorch.from_dlpack(torch.zeros(0, dtype=torch.bfloat16)).shape == (0,)


IN_PLACE = ("a += t", "a -= t", "a *= t", "a /= t", "a **= t", "a @= t", "i += t", "a = a + t", "t += a", "a = t - a")


@pytest.mark.parametrize("line", IN_PLACE)
def test_arrays_beside_tensors(line):
    """What Python makes of an operator between an array and a tensor: PyTorch's result and class, or its exception."""
    reached = []
    for library in (torch, numtorch):
        names = {"a": np.full((2, 2), 3.0), "i": np.ones((2, 2), int), "t": library.full((2, 2), 2.0, dtype=library.float64)}
        before = names["a"]
        try:
            exec(line, names)
        except Exception as error:
            reached.append(type(error))
        else:
            reached.append([type(names[n]).__name__ for n in "ait"] + [np.asarray(names[n]).tolist() for n in "ait"])
        reached.append(before.tolist())
    assert reached[:2] == reached[2:]


def compiled_by_pytorch():
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(nn.Linear(2, 2)), file)
    return file.getvalue()


def saved_by_numpy(save, *arrays):
    file = io.BytesIO()
    save(file, *arrays)
    return file.getvalue()


def of_safetensors():
    return pytest.importorskip("safetensors.torch").save({"a": torch.ones(2)})


OTHERS = {
    "a script": (compiled_by_pytorch, RuntimeError, r"a TorchScript program that PyTorch compiled; .* save its state_dict"),
    "an array": (lambda: saved_by_numpy(np.save, np.ones(3)), pickle.UnpicklingError, r"an array of NumPy; torch.from_numpy\(numpy.load"),
    "arrays": (lambda: saved_by_numpy(np.savez, np.ones(3)), RuntimeError, r"of arrays of NumPy; numpy.load reads it"),
    "a pickle": (lambda: pickle.dumps([1, 2]), RuntimeError, "a pickle that torch.save did not write; pickle.load"),
    "safetensors": (of_safetensors, pickle.UnpicklingError, "of safetensors; numtorch.safetensors.load_file"),
    "a pointer": (lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", pickle.UnpicklingError, "a pointer of Git LFS"),
    "a page": (lambda: b"<!DOCTYPE html><html>not found</html>", pickle.UnpicklingError, "a web page"),
    "gzip": (lambda: gzip.compress(b"a"), pickle.UnpicklingError, "compressed by gzip"),
    "nothing": (lambda: b"", EOFError, "the file is empty"),
    "text": (lambda: b"hello, world, this is none", pickle.UnpicklingError, "not of the formats that save and PyTorch write"),
    "eight bits": (lambda: written(torch.ones(2).to(torch.float8_e4m3fn)), pickle.UnpicklingError, "torch.float8_e4m3fn, which numtorch has not: the shortest"),
    "quantised": (lambda: written(quantised()), pickle.UnpicklingError, "which numtorch has not: there are no quantised dtypes"),
}


def quantised():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)


@pytest.mark.parametrize("what", OTHERS)
def test_what_cannot_be_loaded_is_said_to_be_what_it_is(what, tmp_path):
    make, kind, message = OTHERS[what]
    path = tmp_path / "some.pt"
    path.write_bytes(make())
    with pytest.raises(kind, match=message):
        numtorch.load(path)
    if what == "a script":
        with pytest.raises(kind, match=message):
            numtorch.jit.load(str(path))


def test_an_optimiser_says_whose_parameters_it_was_given():
    with pytest.raises(TypeError, match=r"one of the params is torch\.Parameter of the installed PyTorch"):
        numtorch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)


# ---------------------------------------------------------------- two libraries in one process
@pytest.mark.parametrize("call", [
    lambda t, x: numtorch.exp(x), lambda t, x: t + x, lambda t, x: numtorch.matmul(t, x), lambda t, x: numtorch.sum(x), lambda t, x: numtorch.relu(x),
    lambda t, x: numtorch.nn.Linear(2, 2)(x), lambda t, x: numtorch.nn.functional.cross_entropy(x, t), lambda t, x: numtorch.cat([x, x]),
])
def test_the_other_librarys_tensors_are_named(call):
    with pytest.raises(TypeError, match=r"torch\.Tensor of the installed PyTorch; convert it with numtorch\.from_dlpack\(x\)"):
        call(numtorch.ones(2, 2), torch.ones(2, 2))
