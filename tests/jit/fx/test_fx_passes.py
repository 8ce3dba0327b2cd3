"""`torch.fx.passes`: what values are, and graphs in parts."""
import random

import pytest
from fxprograms import library, lines_of

import numtorch as torch
from numtorch import fx
from numtorch.fx.passes.shape_prop import ShapeProp
from numtorch.fx.passes.split_module import split_module

try:
    import torch as reference
    import torch.fx as reference_fx
    from torch.fx.passes.shape_prop import ShapeProp as ReferenceShapeProp
    from torch.fx.passes.split_module import split_module as reference_split
except ImportError:
    reference = reference_fx = None

needs_pytorch = pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
NODES = 13                                               # of the network, about


def callbacks(seed):
    """What says in which part a node is: in a row, by chance, or in turns."""
    draws = random.Random(seed)
    parts, way = draws.choice([1, 2, 3, 4]), draws.choice(["row", "chance", "turns"])
    count = -1

    def part(node):
        nonlocal count
        count += 1
        return {"row": count * parts // NODES, "chance": draws.randrange(parts), "turns": count % parts}[way]
    return part


def options(seed):
    draws = random.Random(seed + 1000)
    return {"keep_original_node_name": draws.random() < 0.3, "keep_original_input_name": draws.random() < 0.7,
            "tuple_return": draws.random() < 0.3, "partition_affix": "part" if draws.random() < 0.2 else None}


def text_of(module):
    return [lines_of(each.code.replace("torch._C._nn.", "torch.nn.functional.")) for each in (module, *module.children())
            if hasattr(each, "code")]


@needs_pytorch
@pytest.mark.parametrize("seed", range(40))
def test_parts_are_those_of_pytorch(seed):
    """Their text and names, or that there is a cycle; and they compute what the whole does."""
    found = []
    for fx_of, split, torch_of in ((fx, split_module, torch), (reference_fx, reference_split, reference)):
        paths = {}
        try:
            made = split(fx_of.symbolic_trace(library(torch_of)["net"]), None, callbacks(seed), paths, **options(seed))
            found.append((text_of(made), paths, [name for name, _ in made.named_children()], sorted(dict(made.named_parameters()))))
        except RuntimeError as error:
            found.append(str(error))
    assert found[0] == found[1]
    assert isinstance(found[0], str) == (found[0] == "cycle exists between partitions!")


@pytest.mark.parametrize("seed", range(40))
def test_parts_compute_what_the_whole_does(seed):
    net, x = library(torch)["net"], torch.rand(3, 4)
    traced = fx.symbolic_trace(net)
    for keep in (False, True):
        try:
            made = split_module(traced, net, callbacks(seed), keep_original_order=keep, **options(seed))
        except RuntimeError as error:
            assert "cycle" in str(error)
            continue
        made.graph.lint()
        assert torch.equal(made(x, 3.0)["out"], net(x, 3.0)["out"]) and torch.equal(made(x)["rest"][0], net(x)["rest"][0])
        made(x)["out"].sum().backward()
        assert net.layers[0].weight.grad is not None     # the same parameters
        net.zero_grad()


def test_parts_come_as_the_graph_has_them_where_that_is_wanted():
    traced = fx.symbolic_trace(lambda x: (torch.relu(x), torch.exp(x), torch.sin(x)))
    order = {keep: [str(node.target) for node in split_module(traced, None, lambda node: node.name, keep_original_order=keep).graph.nodes
                    if node.op == "call_module"] for keep in (True, False)}
    assert order == {True: ["submod_relu", "submod_exp", "submod_sin"], False: ["submod_sin", "submod_exp", "submod_relu"]}


@needs_pytorch
@pytest.mark.parametrize("name", ["net", "names"])
def test_values_are_known_by_a_run(name):
    found = []
    for fx_of, shapes, torch_of in ((fx, ShapeProp, torch), (reference_fx, ReferenceShapeProp, reference)):
        traced = fx_of.symbolic_trace(library(torch_of)[name])
        shapes(traced).propagate(torch_of.ones(3, 4))
        found.append([(node.name, str(node.meta.get("tensor_meta")), node.meta["type"].__name__) for node in traced.graph.nodes])
    assert found[0][:-1] == found[1][:-1] and found[0][-1][:2] == found[1][-1][:2]


def test_memory_formats_are_noted_and_errors_name_the_node():
    traced = fx.symbolic_trace(lambda x: (x.t(), x[None, None].to(memory_format=torch.channels_last)))
    ShapeProp(traced).propagate(torch.ones(3, 4))
    first, second = traced.graph.output_node().meta["tensor_meta"]
    assert (first.stride, first.memory_format) == ((1, 4), None) and second.memory_format is torch.contiguous_format
    with pytest.raises(RuntimeError, match=r"ShapeProp error for: node=%t : .*call_method\[target=t\]"):
        ShapeProp(traced).propagate(torch.ones(3, 4, 5))
