"""What a traced function reaches in closures, globals and attributes is the trace's by reference, as in PyTorch."""
import copy
import io

import pytest

import numtorch as torch

TOTAL = torch.zeros(2)


class Counter(torch.nn.Module):
    """Keeps tensors where no module looks for them."""

    def __init__(self):
        super().__init__()
        self.weight, self.sums, self.calls = torch.nn.Parameter(torch.ones(2)), [torch.zeros(2)], {"count": torch.zeros(())}

    def forward(self, x):
        self.sums[0].add_(x)
        self.calls["count"].add_(1)
        return self.weight * x + self.sums[0] * self.calls["count"]


def closure():
    kept = torch.zeros(2)

    def function(x):
        kept.add_(x)
        return kept * 2
    return function, kept


def region():
    kept = torch.zeros(2, 3)

    def function(x):
        kept[1, 1:].copy_(x)
        return kept.sum(1) * kept[1, 2]
    return function, kept


def two_views():
    whole = torch.zeros(4)
    first, last = whole[:3], whole[2:]

    def function(x):
        first[1:].add_(x)
        return last * 2
    return function, whole


def of_a_global(x):
    TOTAL.add_(x)
    return TOTAL.clone()


def attribute():
    counter = Counter()
    return counter, counter.sums[0]


CASES = {"closure": closure, "region": region, "two views": two_views, "global": lambda: (of_a_global, TOTAL), "attribute": attribute}


@pytest.mark.parametrize("name", CASES)
def test_writes_reach_what_is_reached_and_others_writes_are_seen(name):
    function, kept = CASES[name]()
    results = []
    for each in (function, None):
        kept.zero_()
        if name == "attribute":
            function.calls["count"].zero_()
        each = each or torch.jit.trace(function, torch.ones(2), check_trace=False)
        kept.fill_(1.0)
        if name == "attribute":
            function.calls["count"].zero_()
        results.append([each(torch.ones(2)), each(torch.full((2,), 3.0)), kept.clone()])
    torch.testing.assert_close(results[1], results[0])


def test_other_shapes_are_written_once_and_checks_leave_no_trace():
    kept = torch.zeros(())

    def function(x):
        kept.add_(x.sum())
        return kept * 1
    traced = torch.jit.trace(function, torch.ones(2))
    assert kept.item() == 2.0
    assert traced(torch.ones(3)).item() == 5.0 and traced(torch.ones(3)).item() == 8.0 and kept.item() == 8.0
    copied, file = copy.deepcopy(traced), io.BytesIO()
    traced.save(file)
    file.seek(0)
    loaded = torch.jit.load(file)
    for other in (copied, loaded):
        assert other(torch.ones(2)).item() == 10.0 and other(torch.ones(2)).item() == 12.0
    assert copied(torch.ones(3)).item() == 15.0 and kept.item() == 8.0


def test_what_is_read_is_what_it_is_by_then():
    bias, unused = torch.zeros(2), torch.zeros(3)
    scale = torch.nn.Linear(2, 2).requires_grad_(False)

    def function(x, unused=unused):
        return scale(x) + bias * 2
    traced = torch.jit.trace(function, torch.ones(2))
    bias.fill_(2.0)
    scale.weight.mul_(3.0)
    assert torch.equal(traced(torch.ones(2)), function(torch.ones(2))) and set(traced.graph.constants) == {"bias", "scale.weight", "scale.bias"}
    inner = torch.jit.trace(function, torch.ones(2))
    outer = torch.jit.trace(lambda x: inner(x) * 2, torch.ones(2))
    bias.fill_(5.0)
    assert torch.equal(outer(torch.ones(2)), function(torch.ones(2)) * 2)


def test_what_requires_grad_must_be_a_parameter_or_an_argument():
    weight, layer = torch.ones(2, requires_grad=True), torch.nn.Linear(2, 2)
    for function in (lambda x: x * weight, lambda x: x + weight.exp(), lambda x: layer.forward(x), lambda x: [layer][0](x)):
        with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
            torch.jit.trace(function, torch.ones(2))
    assert torch.equal(torch.jit.trace(lambda x: x * weight.shape[0], torch.ones(2))(torch.ones(2)), torch.full((2,), 2.0))
    assert weight.requires_grad and not torch.jit.is_tracing()
