"""Names with an underscore that users' subclasses override or call, since PyTorch has them: each program in both libraries."""
from __future__ import annotations

import collections
import copy
import importlib
import pickle

import numpy as np
import pytest

import numtorch

torch = pytest.importorskip("torch")


def filled(module):
    """The module with weights that are the same in both libraries."""
    for i, p in enumerate(module.parameters()):
        p.data.copy_(p.data.new_tensor(np.random.default_rng(i).standard_normal(tuple(p.shape)) / 3))
    return module


def standardised_weights(t, x):
    class Conv(t.nn.Conv2d):
        def forward(self, input):
            weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
            return self._conv_forward(input, weight, self.bias)
    return [filled(Conv(2, 4, 3, padding=(1, 2), padding_mode=mode))(x) for mode in ("zeros", "circular", "reflect")]


def overridden_convolution(t, x):
    class Conv(t.nn.Conv2d):
        def _conv_forward(self, input, weight, bias):
            return super()._conv_forward(input * 2, weight, bias)
    return [filled(Conv(2, 4, 3))(x)]


def another_padding(t, x):
    conv = filled(t.nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="circular"))
    before = conv._reversed_padding_repeated_twice
    conv._reversed_padding_repeated_twice = [0, 0, 1, 1]
    return [t.tensor(before), conv(x)]


def output_padding(t, x):
    conv = t.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    return [t.tensor(tuple(conv._output_padding(x, size, list(conv.stride), list(conv.padding), list(conv.kernel_size), 2, [1, 1])))
            for size in (None, (8, 9), (7, 10))]


def weights_of_attention(t, x):
    kept = []

    class Layer(t.nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            x, weights = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=True)
            kept.append(weights)
            return self.dropout1(x)

        def _ff_block(self, x):
            return super()._ff_block(x) / 2
    layer = filled(Layer(4, 2, 8, 0.0, dtype=x.dtype))
    return [layer(x[0]), *kept, layer.double()._sa_block(x[0], None, None)]


def weights_of_both_attentions(t, x):
    class Layer(t.nn.TransformerDecoderLayer):
        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            return super()._mha_block(x, mem * 2, attn_mask, key_padding_mask, is_causal)
    return [filled(Layer(4, 2, 8, 0.0, norm_first=first, dtype=x.dtype))(x[0], x[1]) for first in (False, True)]


def own_schedule(t, x):
    seen = []

    class Schedule(t.optim.lr_scheduler._LRScheduler):
        def get_lr(self):
            seen.append(float(self._get_lr_called_within_step))
            return [lr * 0.5 for lr in self.base_lrs]

        def _get_closed_form_lr(self):
            return [lr * 0.25 ** self.last_epoch for lr in self.base_lrs]
    optimizer = t.optim.SGD([t.nn.Parameter(t.zeros(1))], lr=8.0)
    schedule = Schedule(optimizer)
    optimizer.step()
    schedule.step()
    rates = [optimizer.param_groups[0]["lr"]]
    schedule.get_lr()
    schedule.step(2)
    return [t.tensor([*seen, *rates, optimizer.param_groups[0]["lr"], float(schedule._get_lr_called_within_step)])]


def padding_of_an_embedding(t, x):
    class Embedding(t.nn.Embedding):
        def reset_parameters(self):
            t.nn.init.constant_(self.weight, 2.0)
            self._fill_padding_idx_with_zero()
    return [Embedding(3, 2, padding_idx=1).weight, Embedding(3, 2).weight]


def weights_of_a_recurrent_layer(t, x):
    layer = filled(t.nn.LSTM(2, 3, num_layers=2, bidirectional=True))
    return [t.cat([w.flatten() for w in layer._flat_weights]), t.tensor([len(n) for n in layer._flat_weights_names])]


class Renaming(numtorch.nn.Linear):
    """A module that takes states from before a name changed, as many do."""

    def __init__(self):
        super().__init__(2, 1, bias=False)
        self._register_load_state_dict_pre_hook(self._rename)

    def _rename(self, state_dict, prefix, *rest):
        self.renamed = prefix + "kernel" in state_dict
        state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")


def test_hooks_of_a_state_are_copied_and_pickled_with_their_module():
    module = numtorch.nn.Sequential(Renaming())
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        made.load_state_dict({"0.kernel": numtorch.tensor([[1.0, 2.0]])})
        assert made[0].weight.tolist() == [[1.0, 2.0]] and made[0].renamed and not hasattr(module[0], "renamed")


def tables_of_hooks(t, x):
    seen = []
    layer = t.nn.Sequential(t.nn.Identity())[0]
    before = [len(layer._forward_hooks), len(layer._forward_pre_hooks), len(layer._backward_hooks), len(layer._backward_pre_hooks)]
    handle = layer.register_forward_hook(lambda module, args, out: seen.append(1))
    layer.register_forward_pre_hook(lambda module, args: seen.append(2))
    layer.register_full_backward_hook(lambda module, grads, more: seen.append(3))
    layer(x.clone().requires_grad_()).sum().backward()
    hook = layer._forward_hooks[handle.id]
    hook(layer, (), x)
    counts = [len(layer._forward_hooks), len(layer._forward_pre_hooks), len(layer._backward_hooks), list(layer._forward_hooks) == [handle.id]]
    layer._forward_pre_hooks.clear()
    layer._forward_hooks = collections.OrderedDict()
    for key in list(layer._backward_hooks):
        del layer._backward_hooks[key]
    layer(x.clone().requires_grad_()).sum().backward()
    layer._forward_hooks[7] = lambda module, args, out: out * 2
    return [t.tensor([*before, *counts, *seen]), layer(x)]


def two_graphs(t, x):
    """A module with a graph for each mode, which copies itself: torchvision's extraction of features."""
    private = importlib.import_module(f"{t.__name__}.fx.graph_module")

    class Dual(t.fx.GraphModule):
        def __init__(self, root, first, second):
            super(t.fx.GraphModule, self).__init__()
            for graph in (first, second):
                for node in graph.nodes:
                    if node.op in ("get_attr", "call_module"):
                        private._copy_attr(root, self, node.target)
            self.first, self.second, self.graph = first, second, first

        def train(self, mode=True):
            self.graph = self.first if mode else self.second
            return super().train(mode)

        def __deepcopy__(self, memo):
            made = type(self).__new__(type(self))
            state = private._CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
            Dual.__init__(made, state, state.__dict__["first"], state.__dict__["second"])
            return made
    model = filled(t.nn.Sequential(t.nn.Conv2d(2, 3, 3), t.nn.ReLU(), t.nn.Conv2d(3, 2, 2)))
    graph, shorter = t.fx.symbolic_trace(model).graph, t.fx.symbolic_trace(model[:2]).graph
    dual = Dual(model, graph, shorter)
    copied = copy.deepcopy(dual)
    with t.no_grad():
        dual.get_submodule("0").weight.zero_()
    assert private._USER_PRESERVED_ATTRIBUTES_KEY == "_user_preserved_attributes"
    return [copied(x), copied.eval()(x), dual.train()(x)]


PROGRAMS = [tables_of_hooks, standardised_weights, overridden_convolution, another_padding, output_padding, weights_of_attention,
            weights_of_both_attentions, own_schedule, padding_of_an_embedding, weights_of_a_recurrent_layer, two_graphs]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program):
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 2, 4, 5))[..., :4] if program in (weights_of_attention, weights_of_both_attentions) else \
        random.standard_normal((2, 2, 4, 5))
    found = []
    for library in (numtorch, torch):
        before = library.get_default_dtype()
        library.set_default_dtype(library.float64)
        try:
            found.append(program(library, library.from_numpy(x)))
        finally:
            library.set_default_dtype(before)
    for one, other in zip(*found, strict=True):
        assert str(one.dtype) == str(other.dtype)
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), 1e-9, 1e-12)


def test_names_are_where_subclasses_import_them_from():
    from numtorch.nn.modules import conv, tuples
    assert conv._pair is tuples._pair and conv._single(3) == (3,) and conv._triple(1) == (1, 1, 1)
