"""`torch.testing`, `torch.futures`, `torch.hub` and `torch.accelerator` do what PyTorch's do."""
from __future__ import annotations

import numpy as np
import pytest

import numtorch
from numtorch import hub, testing
from numtorch.futures import Future, collect_all

torch = pytest.importorskip("torch")

PAIRS = [
    lambda t: ([1.0, 2.0], [1.0, 2.0]), lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0000001])),
    lambda t: (t.tensor([1.0, 4.0, 5.0]), t.tensor([1.0, 2.0, 3.0])), lambda t: (1.0, 1.5), lambda t: (1, 2), lambda t: (1.0, 1),
    lambda t: (t.tensor([[1, 2], [3, 4]]), t.tensor([[1, 2], [3, 5]])), lambda t: (t.tensor(1.0), t.tensor(2.0)),
    lambda t: (t.ones(2), t.ones(3)), lambda t: (True, False), lambda t: (None, 1), lambda t: ({"a": 1}, {"b": 1}),
    lambda t: ([1, 2], [1]), lambda t: ([1, [t.ones(1), 2.0]], [1, [t.ones(1), 3.0]]), lambda t: ({"a": t.ones(1)}, {"a": t.zeros(1)}),
    lambda t: (np.ones(2), np.zeros(2)), lambda t: (t.tensor([float("nan")]), t.tensor([float("nan")])),
]


def outcome(library, pair, **options):
    try:
        library.testing.assert_close(*pair(library), **options)
    except (AssertionError, TypeError, ValueError) as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("pair", PAIRS)
def test_assert_close(pair):
    assert outcome(numtorch, pair) == outcome(torch, pair)


@pytest.mark.parametrize("options", [dict(rtol=0, atol=0), dict(rtol=1.0, atol=1.0), dict(rtol=1.0), dict(msg="why"),
                                     dict(msg=lambda m: m + "!")])
def test_assert_close_options(options):
    assert outcome(numtorch, PAIRS[2], **options) == outcome(torch, PAIRS[2], **options)
    dtypes = lambda t: (t.ones(2), t.ones(2, dtype=t.float64))
    assert outcome(numtorch, dtypes) == outcome(torch, dtypes) and outcome(numtorch, dtypes, check_dtype=False) is None
    assert outcome(numtorch, PAIRS[-1], equal_nan=True) is None


def test_make_tensor():
    for dtype, low, high in [("float32", -9, 9), ("int64", -9, 10), ("uint8", 0, 10), ("bool", 0, 2)]:
        x = testing.make_tensor(50, 4, dtype=getattr(numtorch, dtype), noncontiguous=dtype == "int64")
        values = x.numpy().astype("float64")
        assert x.shape == (50, 4) and (low <= values).all() and (values < high).all() and x.is_contiguous() == (dtype != "int64")
    assert testing.make_tensor((3,), dtype=numtorch.float32, requires_grad=True).is_leaf
    with pytest.raises(ValueError, match="must be less"):
        testing.make_tensor(2, dtype=numtorch.int64, low=3, high=3)


def test_futures():
    first, second = Future(), Future()
    both, failed = collect_all([first, second]), first.then(lambda f: 1 / f.value())
    first.set_result(0)
    assert first.done() and not both.done()
    second.set_exception(ValueError("no"))
    for future, error in [(both, ValueError), (failed, ZeroDivisionError)]:
        with pytest.raises(error):
            future.wait()
    with pytest.raises(RuntimeError, match="once"):
        first.set_result(1)


def test_hub(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    (tmp_path / "hubconf.py").write_text("dependencies = ['numpy']\ndef net(width=2):\n    'A net.'\n    return width\n")
    assert hub.load(tmp_path, "net", width=3, source="local") == 3 and hub.list(tmp_path) == ["net"] and hub.help(tmp_path, "net") == "A net."
    for call in (lambda: hub.load("owner/name", "net"), lambda: hub.load_state_dict_from_url("https://example.org/a.pth")):
        with pytest.raises(RuntimeError, match="no network"):
            call()
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    torch.save({"w": torch.ones(2)}, tmp_path / "hub" / "checkpoints" / "a.pth")
    assert hub.load_state_dict_from_url("https://example.org/a.pth")["w"].tolist() == [1.0, 1.0]


def test_accelerator_is_cuda_or_none():
    there = numtorch.cuda.is_available()
    assert numtorch.accelerator.is_available() == there and (numtorch.accelerator.current_accelerator() is not None) == there
    if not there:
        with pytest.raises(RuntimeError, match="none is available"):
            numtorch.accelerator.synchronize()


@pytest.mark.parametrize("options", [dict(shuffle=False), dict(shuffle=False, drop_last=True)])
def test_distributed_sampler(options):
    for rank in range(3):
        ours = numtorch.utils.data.DistributedSampler(range(7), 3, rank, **options)
        theirs = torch.utils.data.DistributedSampler(range(7), 3, rank, **options)
        assert list(ours) == list(theirs) and len(ours) == len(theirs)


@pytest.mark.parametrize("dtype, low, high", [("bool", -2, 2), ("uint8", -2, 2), ("int8", -200, 200), ("float16", -1e9, 1e9)])
def test_made_numbers_go_as_far_as_their_dtype(dtype, low, high):
    made = torch.testing.make_tensor(100, dtype=getattr(torch, dtype), device="cpu", low=low, high=high)
    assert made.isfinite().all() and (dtype != "uint8" or made.max() <= 1)
    with pytest.raises(ValueError, match="`low` and `high`"):
        torch.testing.make_tensor(2, dtype=torch.uint8, device="cpu", low=-5, high=-1)
