"""`summary(model, input)`: shapes, parameters, multiply-adds and memory of layers, counted by hand."""
import pytest

import numtorch as torch
from numtorch import nn


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def test_lenet():
    found = torch.summary(lenet(), torch.zeros(2, 1, 28, 28))
    layers = found.summary_list
    assert [layer.class_name for layer in layers[:4]] == ["Sequential", "Conv2d", "ReLU", "MaxPool2d"] and len(layers) == 13
    assert [layer.output_size for layer in layers[1:5]] == [[2, 6, 24, 24], [2, 6, 24, 24], [2, 6, 12, 12], [2, 16, 8, 8]]
    assert layers[1].input_size == [2, 1, 28, 28] and layers[0].output_size == [2, 10]
    sizes = [6 * 26, 16 * 151, 257 * 120, 121 * 84, 85 * 10]
    assert [layer.num_params for layer in layers[1:] if layer.num_params] == sizes and found.total_params == sum(sizes) == found.trainable_params
    products = [2 * 6 * 24 * 24 * 25, 2 * 16 * 64 * 150, 2 * 256 * 120, 2 * 120 * 84, 2 * 84 * 10]
    assert [layer.mult_adds for layer in layers[1:] if layer.mult_adds] == products and found.total_mult_adds == sum(products)
    assert found.total_param_bytes == 4 * sum(sizes) and found.total_input_bytes == 4 * 2 * 28 * 28
    assert found.total_output_bytes == 2 * sum(layer.output_bytes for layer in layers[1:]) and layers[1].output_bytes == 4 * 2 * 6 * 24 * 24
    text = str(found)
    assert "├─Conv2d: 1-1" in text and "[2, 6, 24, 24]" in text and "Total params: 44,426" in text and f"Total mult-adds: {sum(products):,}" in text


class Shared(nn.Module):
    """A layer called twice, in a block, with two arguments and two results."""

    def __init__(self):
        super().__init__()
        self.block = nn.ModuleDict({"one": nn.Linear(4, 4)})
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x, y, scale=1.0):
        for _ in range(2):
            x = self.block["one"](x) @ y
        return self.norm(x), self.drop(x) * scale


def test_shared_layers_several_results_and_options():
    model = Shared().train()
    model.drop.eval()
    frozen = model.block["one"].bias.requires_grad_(False)
    before = model.norm.running_mean.clone()
    found = torch.summary(model, (torch.ones(3, 4), torch.ones(4, 4)), scale=2.0)
    assert found.summary_list[0].output_size == [[3, 4], [3, 4]] and found.summary_list[0].input_size == [[3, 4], [4, 4]]
    assert [layer.is_recursive for layer in found.summary_list if layer.class_name == "Linear"] == [False, True]
    assert found.total_params == 28 and found.trainable_params == 28 - frozen.numel()
    assert found.total_mult_adds == 2 * (3 * 4 * 4 + 3 * 4 * 4) and "(recursive)" in str(found)
    assert found.total_param_bytes == 4 * (20 + 8) + 4 * 8 + 8           # running statistics and a count of batches
    assert torch.equal(model.norm.running_mean, before)  # evaluated, and back in the mode it was in
    assert model.training and model.norm.training and not model.drop.training
    assert not any(m._hooks is not None and any(m._hooks.values() if isinstance(m._hooks, dict) else ()) for m in model.modules())
    torch.summary(model, (torch.ones(3, 4), torch.ones(4, 4)), mode="train")
    assert not torch.equal(model.norm.running_mean, before)


def test_ways_of_giving_the_input():
    model = nn.Linear(4, 3)
    wanted = torch.summary(model, torch.zeros(5, 4)).total_mult_adds
    assert wanted == 60
    for found in (torch.summary(model, (5, 4)), torch.summary(model, input_size=(5, 4)), torch.summary(model, input_size=[(5, 4)]),
                  torch.summary(model, {"input": torch.zeros(5, 4)}), torch.summary(model.double(), (5, 4), dtypes=torch.float64)):
        assert found.total_mult_adds == wanted
    embedding = torch.summary(nn.Embedding(7, 3), (2, 5), dtypes=torch.int64)
    assert embedding.summary_list[0].output_size == [2, 5, 3]


def test_depth():
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))))
    assert str(torch.summary(model, (1, 2), depth=1)).count("Linear") == 0 and "12" in str(torch.summary(model, (1, 2), depth=1))
    assert str(torch.summary(model, (1, 2), depth=3)).count("Linear") == 2


def test_products_that_are_called_as_functions_count():
    class Attention(nn.Module):
        def forward(self, q, k):
            return nn.functional.scaled_dot_product_attention(q, k, k) @ torch.ones(8, 2)
    found = torch.summary(Attention(), (torch.ones(3, 5, 8), torch.ones(3, 6, 8)))
    assert found.total_mult_adds == 3 * 5 * 6 * (8 + 8) + 3 * 5 * 8 * 2


def test_a_model_that_fails_is_left_as_it_was():
    model = nn.Sequential(nn.Linear(2, 2)).train()
    with pytest.raises(RuntimeError) as raised:
        torch.summary(model, (1, 3))
    said = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", ())])
    assert "in 0 (Linear), given [1, 3]" in said         # which layer, and with what
    assert model.training and torch.summary(model, (1, 2)).total_params == 6
    with pytest.raises(ValueError, match="mode"):
        torch.summary(model, (1, 2), mode="other")
