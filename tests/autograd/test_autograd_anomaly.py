"""Anomaly mode: which lines its errors name, which gradients it refuses, how it is switched."""
from __future__ import annotations

import linecache
import math
import re
import sys

import numpy as np
import pytest
from tape import leaf

import numtorch

ENABLED = "Anomaly Detection has been enabled"


def test_anomaly_shows_both_source_lines():
    x = leaf(numtorch, 2, 3)
    with pytest.warns(UserWarning, match=ENABLED), numtorch.autograd.detect_anomaly():
        y = x * 1
        z = y.exp()                                      # saved here
        z.add_(1)                                        # changed here
        with pytest.raises(RuntimeError) as error:
            z.sum().backward()
    text = str(error.value)
    lines = [linecache.getline(__file__, int(n)) for n in re.findall(r'File ".*test_autograd_anomaly.py", line (\d+)', text)]
    assert any("# saved here" in line for line in lines) and any("# changed here" in line for line in lines), text
    assert "Saved at" in text and "Changed at" in text and not numtorch.autograd.is_anomaly_enabled()


def test_anomaly_shows_no_write_of_long_ago():
    """Memory is recycled, and its writes are counted from 0 again, but what anomaly mode noted about it does not come back."""
    x, found = leaf(numtorch, 2, 3), []
    for _ in range(50):                                  # what other tests hold decides how soon memory comes back
        with pytest.warns(UserWarning, match=ENABLED), numtorch.autograd.detect_anomaly():
            noted = numtorch.ones(2)
            noted.add_(1)
        place = noted.data_ptr()
        del noted
        unwritten = [numtorch.ones(2) for _ in range(600)]   # more than a ring holds
        del unwritten
        found = [y for y in [x * 1 for _ in range(600)] if y.data_ptr() == place]
        if found:
            break
    y, = found
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0") as error:
        z.sum().backward()
    assert "Changed at" not in str(error.value)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions take notes from Python 3.11 on; before, it is a warning")
def test_anomaly_shows_where_a_failing_node_was_recorded():
    class Fails(numtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("on purpose")

    with numtorch.autograd.set_detect_anomaly(True):
        y = Fails.apply(leaf(numtorch, 2, 3))            # recorded here
        with pytest.raises(ValueError, match="on purpose") as error:
            y.sum().backward()
    note, = error.value.__notes__
    assert "Error detected in FailsBackward" in note
    assert "# recorded here" in linecache.getline(__file__, int(re.search(r"line (\d+)", note)[1]))


@pytest.mark.filterwarnings("ignore::UserWarning")       # PyTorch's
def test_anomaly_finds_nan(torch):
    x = leaf(torch, 0, 1)
    with torch.autograd.detect_anomaly():
        loss = (x.sqrt() * 0).sum()                      # 0 · inf
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
            loss.backward()
        with pytest.raises(RuntimeError, match="Function 'MulBackward0' returned nan values in its 1th output"):
            (leaf(torch, math.inf) * leaf(torch, 1) * 0).backward()
    x.grad = None
    (x.sqrt() * 0).sum().backward()
    assert np.isnan(x.grad[0].item())
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        x.grad = None
        (x.sqrt() * 0).sum().backward()


def test_anomaly_mode_switches():
    anomaly = numtorch.autograd.set_detect_anomaly(True)
    assert numtorch.autograd.is_anomaly_enabled()
    with anomaly:
        assert numtorch.autograd.is_anomaly_enabled()
    assert not numtorch.autograd.is_anomaly_enabled()
    numtorch.autograd.set_detect_anomaly(True)
    numtorch.autograd.set_detect_anomaly(False)
    assert not numtorch.autograd.is_anomaly_enabled()
