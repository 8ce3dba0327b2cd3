"""A special layout is that of one tensor: no table of plans, checks or sizes keeps it, and with it a trace, its graph and all that it
was made of."""
import gc

import gradientrows as gradients
import pytest
from tracedgraphs import tensors

import numtorch as torch
from numtorch.jit.tracing.traces import trace_graph
from numtorch.layout import Layout


def traced(function, *inputs):
    def program(*inputs):
        results = tensors(function(*inputs))
        roots = [x.sum() for x in results if x.requires_grad]
        return results, torch.autograd.grad(roots, inputs, allow_unused=True) if roots else ()
    return trace_graph(program, inputs)


def batched(function, *inputs):
    return torch.func.vmap(function, randomness="different")(*[torch.stack([x.detach()] * 2) for x in inputs])


def pushed(function, *inputs):
    primals = tuple(x.detach() for x in inputs)
    return torch.func.jvp(function, primals, tuple(map(torch.ones_like, primals)))


def special():
    """The layouts alive that a handler takes over calls on, by what they are."""
    gc.collect()
    return sorted(type(x).__name__ for x in gc.get_objects() if isinstance(x, Layout) and type(x) is not Layout and x.handler)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("through", [traced, batched, pushed])
def test_no_op_keeps_a_special_layout(through):
    before = special()
    for name in sorted(set(gradients.ROWS) - gradients.SPARSE):
        function, shapes, _ = gradients.ROWS[name]
        try:
            through(function, *gradients.points(shapes))
        except (NotImplementedError, RuntimeError):      # what a transform refuses
            continue
    assert special() == before


def test_traces_do_not_adopt_those_before_them():
    """Before the collector comes by, too: what a trace made of a tensor looked like another tensor over its memory to the next."""
    net = torch.nn.Linear(3, 3)

    def step(x):
        net.weight.grad = None
        net(x).sum().backward()
        with torch.no_grad():
            net.weight.sub_(net.weight.grad)

    def number():
        return sum(isinstance(x, torch.Tensor) for x in gc.get_objects())

    numbers = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(8):
            trace_graph(step, (torch.randn(2, 3),), dict(net.named_parameters()))
            numbers.append(number())
    finally:
        gc.enable()
    assert numbers[7] - numbers[6] <= numbers[1] - numbers[0]
