"""Where a device lacks a family's kernels, ops take their formula over other ops: with the same results."""
import importlib

import pytest

import numtorch as torch
from numtorch.ops.core.primitive import forget_plans

F = torch.nn.functional
X, IMAGE = torch.linspace(-4, 9, 12).sin().reshape(3, 4), torch.linspace(-40, 9, 72).sin().reshape(2, 4, 3, 3)
OF_OPS = {                                               # where each asks for kernels, and a call that its formula serves as well
    "nn.norm layer": lambda: F.layer_norm(X, (4,), X[0], X[1]), "nn.norm rms": lambda: F.rms_norm(X, (4,), X[0]),
    "nn.norm group": lambda: F.group_norm(IMAGE, 2, X[0], X[1]), "nn.norm instance": lambda: F.instance_norm(IMAGE),
    "nn.norm batch": lambda: F.batch_norm(IMAGE, None, None, X[0], training=True), "nn.unit_norm": lambda: F.normalize(X),
    "nn.attention": lambda: F.scaled_dot_product_attention(X, X, X), "nn.embedding": lambda: F.embedding_bag(torch.tensor([[0, 2], [1, 1]]), X),
    "nn.rnn_layer": lambda: torch.lstm_cell(X, None, torch.ones(8, 4), torch.ones(8, 2))[0],
    "spatial.grid_sample": lambda: F.grid_sample(IMAGE, X.reshape(2, 1, 3, 2).tanh()),
}


@pytest.mark.parametrize("name", OF_OPS)
def test_without_kernels_an_op_takes_its_formula(monkeypatch, name):
    expected, asked = OF_OPS[name](), []
    monkeypatch.setattr(importlib.import_module(f"numtorch.ops.{name.split()[0]}"), "has_kernels", lambda *family: asked.append(family))
    forget_plans()
    found = OF_OPS[name]()
    forget_plans()
    assert asked and torch.allclose(found, expected, atol=1e-5)
