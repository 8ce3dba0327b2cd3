"""Every module of PyTorch's own table, with the arguments and inputs that stand there: text, state_dict, results, gradients, buffers, and
what is refused."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from pytorchtables import pytorch

import numtorch

torch = pytorch()

from tests.opdb import array, named, ours, parts  # noqa: E402

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_modules import module_db

INFOS = {info.name: info for info in module_db}
DRAWING = ("Dropout", "RReLU", "Transformer", "Fractional")            # in training
MANY = 24                                                # of a module's inputs at most, evenly among all


def converted(value, known=None):
    """Arguments as numtorch has them, encoder layers and functions among them; a tensor that is there twice is one tensor."""
    known = {} if known is None else known
    if isinstance(value, torch.Tensor):
        if id(value) not in known:
            known[id(value)] = ours(value)
        return known[id(value)]
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        layer = numtorch.nn.TransformerEncoderLayer(
            value.self_attn.embed_dim, value.self_attn.num_heads, value.linear1.out_features, value.dropout.p,
            converted(value.activation), batch_first=value.self_attn.batch_first, norm_first=value.norm_first,
            bias=value.linear1.bias is not None, dtype=ours(value.linear1.weight.dtype))
        return layer
    if getattr(value, "__module__", None) in ("torch._C._nn", "torch.nn.functional"):
        return getattr(numtorch.nn.functional, value.__name__)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(converted(each, known) for each in value)
    return {key: converted(each, known) for key, each in value.items()} if isinstance(value, dict) else ours(value)


def tensors(value):
    return [t for t in parts(value) if isinstance(t, (torch.Tensor, numtorch.Tensor))]


def inputs_of(name, training):
    info = INFOS[name]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training))
    return found[::-(-len(found) // MANY)]


def called(module, given):
    """What a call gives, and the gradients of its results by its inputs and parameters; or the exception's class."""
    library = torch if isinstance(module, torch.nn.Module) else numtorch
    try:
        results = tensors(module(*given[0], **given[1]))
    except Exception as error:
        return type(error), []
    kept = [t for t in results if t.requires_grad]
    leaves = [t for t in dict.fromkeys([*tensors(given), *module.parameters()]) if t.requires_grad]
    slopes = [torch.tensor(np.random.default_rng(0).standard_normal(tuple(t.shape)), dtype=torch.float64) for t in kept]
    slopes = slopes if library is torch else [ours(slope).to(t.dtype) for slope, t in zip(slopes, kept)]
    gradients = library.autograd.grad(kept, leaves, slopes, allow_unused=True) if kept else []
    return results, gradients


def compare(found, wanted):
    assert (found is None) == (wanted is None)
    if wanted is not None:
        assert tuple(found.shape) == tuple(wanted.shape) and str(found.dtype).partition(".")[2] == str(wanted.dtype).partition(".")[2]
        np.testing.assert_allclose(array(found), array(wanted), 1e-7, 1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("name", INFOS)
def test_module(name, training):
    info = INFOS[name]
    for each in inputs_of(name, training):
        torch.manual_seed(1)
        made = each.constructor_input
        theirs = info.module_cls(*made.args, **made.kwargs).to(torch.float64).train(training)
        mine = named(name)(*converted(made.args), **converted(made.kwargs)).double().train(training)
        if each.forward_input is None or info.is_lazy:
            continue
        assert list(mine.state_dict()) == list(theirs.state_dict()) and repr(mine) == repr(theirs)
        mine.load_state_dict({key: ours(value) for key, value in theirs.state_dict().items()})
        given = each.forward_input.args, each.forward_input.kwargs
        (found, gradients), (wanted, slopes) = called(mine, converted(given)), called(theirs, given)
        if isinstance(wanted, type) or isinstance(found, type):
            assert found is wanted, (each.desc, made.args, made.kwargs)
            continue
        assert len(found) == len(wanted) and len(gradients) == len(slopes)
        if training and any(word in name for word in DRAWING):
            continue
        for one, other in zip((*found, *gradients, *mine.buffers()), (*wanted, *slopes, *theirs.buffers()), strict=True):
            compare(one, other)


REFUSING = [name for name, info in INFOS.items() if info.module_error_inputs_func]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSING)
def test_what_it_refuses(name):
    info = INFOS[name]
    for wrong in info.module_error_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True):
        made, given = wrong.module_error_input.constructor_input, wrong.module_error_input.forward_input
        with pytest.raises(wrong.error_type):
            module = named(name)(*converted(made.args), **converted(made.kwargs))
            assert given is not None, (made.args, made.kwargs)
            module(*converted(given.args), **converted(given.kwargs))
