"""Modules: what initialises them, and loading of what is in them."""
from __future__ import annotations

import copy
import gc

import pytest

import numtorch as torch
from numtorch import nn


class Mixin:
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.mixed = True


class Asking(nn.Module, Mixin):
    call_super_init = True


class First(Mixin, nn.Module):
    pass


class Silent(nn.Module, Mixin):
    pass


def test_classes_behind_a_module_are_initialised_where_it_asks_for_that():
    assert [hasattr(kind(), "mixed") for kind in (Asking, First, Silent)] == [True, True, False]
    for arguments, named, words in (((3,), {}, "takes 1 positional argument but 2"), ((), {"a": 3}, "unexpected keyword argument 'a'")):
        with pytest.raises(TypeError, match=words):
            nn.Module(*arguments, **named)


def nested():
    return nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))


def test_loading_leaves_no_cycles():
    model = nested()
    state = model.state_dict()
    model.load_state_dict(state)                         # what copies need is made once, and leaves some
    gc.collect()
    gc.disable()
    try:
        model.load_state_dict(state)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_module_inside_is_given_what_is_its_own():
    seen = []

    class Noting(nn.Linear):
        def _load_from_state_dict(self, state_dict, prefix, *rest):
            seen.append((prefix, sorted(state_dict)))
            super()._load_from_state_dict(state_dict, prefix, *rest)
    model = nn.Sequential(Noting(1, 1), nn.Sequential(Noting(1, 1, bias=False)))
    model.load_state_dict(model.state_dict())
    assert seen == [("0.", ["0.bias", "0.weight"]), ("1.0.", ["1.0.weight"])]


def test_the_gradient_is_also_called_by_its_old_name():
    x = torch.ones(2, requires_grad=True)
    x._grad = torch.zeros(2)
    assert x.grad is x._grad and x.grad.tolist() == [0, 0]


def test_a_copy_has_the_gradient_that_was_given():
    for asked in (True, False):
        x = torch.ones(2, requires_grad=asked)
        x.grad = torch.tensor([1.0, 2.0])
        copied = copy.deepcopy(x)
        assert copied.grad.tolist() == [1, 2] and copied.grad is not x.grad and copied.requires_grad is asked


def test_packed_sequences_are_cast_to_every_kind():
    packed = nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])
    for name, dtype in (("byte", torch.uint8), ("char", torch.int8), ("short", torch.int16), ("half", torch.float16)):
        assert getattr(packed, name)().data.dtype is dtype
