"""When hooks of tensors, of nodes and of leaves are called, and with what: PyTorch's order."""
from __future__ import annotations

import warnings

import pytest
from tape import leaf

import numtorch


def noting(log, name, factor=None):
    def hook(grads):
        log.append(name)
        if factor is not None:
            return tuple(g * factor for g in grads) if isinstance(grads, tuple) else grads * factor
        return None
    return hook


@pytest.mark.parametrize("first", ["node", "tensor"])
def test_a_tensors_hooks_come_before_those_of_its_node(torch, first):
    log = []
    a = leaf(torch, 1)
    b = a.clone()
    accumulate = b.grad_fn.next_functions[0][0]
    for tensor, node in ((b, b.grad_fn), (a, accumulate)):
        for kind in ("node", "tensor") if first == "node" else ("tensor", "node"):
            (node.register_prehook if kind == "node" else tensor.register_hook)(noting(log, kind, 2 if kind == "node" else 3))
    b.retain_grad()
    b.backward()
    assert log == ["tensor", "node", "tensor", "node"] and a.grad.item() == 36
    assert b.grad.item() == 3                            # what the tensor's hooks left, before those of the node


def test_hooks_of_a_node_are_called_where_it_runs(torch):
    a = leaf(torch, 1)
    b = a * 2
    c = b * 2
    accumulate = b.grad_fn.next_functions[0][0]
    log = []
    for tensor, node in ((a, accumulate), (b, b.grad_fn)):
        tensor.register_hook(noting(log, "tensor"))
        node.register_prehook(noting(log, "before"))
        node.register_hook(lambda inputs, outputs: log.append("after"))

    def called(run):
        log.clear()
        run()
        return [log.count(kind) for kind in ("tensor", "before", "after")]

    assert called(lambda: torch.autograd.grad(c, b, retain_graph=True)) == [1, 0, 0]
    assert called(lambda: torch.autograd.grad(c, (a, b), retain_graph=True)) == [2, 1, 1]
    assert called(lambda: c.backward(retain_graph=True)) == [2, 2, 2]
    assert called(lambda: c.backward(inputs=(a, b), retain_graph=True)) == [2, 2, 2]


def test_hooks_behind_a_leaf_return_nothing(torch):
    x = leaf(torch, 1)
    x.register_post_accumulate_grad_hook(lambda tensor: tensor.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        x.sum().backward()


def test_hooks_that_pack_do_not_write(torch):
    x = leaf(torch, 1)
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.mul_(2), lambda kept: kept), \
            pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        (x * 1).exp()


def test_gradients_to_start_with_have_the_dtype_of_what_they_are_of(torch):
    x = leaf(torch, 1, 2).double().detach().requires_grad_()
    found, = torch.autograd.grad(x * 1, x, torch.ones(2, dtype=torch.float32))
    assert found.dtype is torch.float64


def test_zeros_for_unused_inputs_can_be_differentiated(torch):
    x = leaf(torch, 0.5)
    slope, = torch.autograd.grad((x * 2).sum(), x, create_graph=True)
    second = torch.autograd.grad(slope, x, create_graph=True, materialize_grads=True) if slope.requires_grad else \
        torch.autograd.grad((leaf(torch, 1) * 1).sum(), x, create_graph=True, materialize_grads=True)
    third, = torch.autograd.grad(second[0].sum(), x, materialize_grads=True)
    assert third.item() == 0


def test_arrays_may_be_taken_where_nothing_is_recorded(torch):
    x = leaf(torch, 1, 2)
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        x.numpy()
    with torch.no_grad():
        assert x.numpy().tolist() == [1, 2]


OUTPUTS = {"tensor": lambda y: y, "tuple": lambda y: (y, 3), "tuple of lists": lambda y: (y, [y]), "list": lambda y: [y], "dict": lambda y: {"a": y},
           "None": lambda y: None, "dict without gradients": lambda y: {"a": y.detach()}, "nothing": lambda y: ()}


@pytest.mark.parametrize("register", ["register_full_backward_hook", "register_full_backward_pre_hook"])
@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_module_warns_that_its_backward_hooks_are_not_called(torch, kind, register):
    class Returning(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            return OUTPUTS[kind](y)

    module = Returning()
    getattr(module, register)(lambda *_: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module(leaf(torch, 1, 2))
    words = "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received <class"
    silent = kind in ("tensor", "tuple", "tuple of lists", "nothing")
    assert [str(w.message)[:len(words)] for w in caught] == ([] if silent else [words])


def doubling(torch):
    """A module of a module: 2 (x * [1, 2]) weights, and all of its gradient."""
    class Doubling(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(2, 1, bias=False)

        def forward(self, x):
            return self.inner(x) * 2

    module = Doubling()
    with torch.no_grad():
        module.inner.weight.copy_(torch.tensor([[1.0, 2.0]]))
    return module


def test_hooks_of_all_modules_come_before_a_modules_own(torch):
    log, module = [], doubling(torch)
    everywhere, inner = torch.nn.modules.module, module.inner

    def noting_all(kind, add):
        return add(lambda of, *given: log.append((f"all {kind}", type(of).__name__, len(given))))

    inner.register_forward_pre_hook(lambda *_: log.append("own before"))
    inner.register_forward_hook(lambda *_: log.append("own after"))
    inner.register_full_backward_pre_hook(lambda *_: log.append("own back before"))
    inner.register_full_backward_hook(lambda *_: log.append("own back after"))
    handles = [noting_all("before", everywhere.register_module_forward_pre_hook), noting_all("after", everywhere.register_module_forward_hook),
               noting_all("back before", everywhere.register_module_full_backward_pre_hook),
               noting_all("back after", everywhere.register_module_full_backward_hook)]
    x = leaf(torch, 3, 4)
    try:
        module(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    assert log == [("all before", "Doubling", 1), ("all before", "Linear", 1), "own before", ("all after", "Linear", 2), "own after",
                   ("all after", "Doubling", 2), ("all back before", "Doubling", 1), ("all back before", "Linear", 1), "own back before",
                   ("all back after", "Linear", 2), "own back after", ("all back after", "Doubling", 2)]
    log.clear()
    module(x).sum().backward()
    assert log == ["own before", "own after", "own back before", "own back after"]


def test_hooks_of_all_modules_replace_what_passes(torch):
    everywhere = torch.nn.modules.module
    with everywhere.register_module_forward_pre_hook(lambda _, args: args[0] * 2), \
            everywhere.register_module_forward_hook(lambda _, args, output: output * 3), \
            everywhere.register_module_full_backward_pre_hook(lambda _, grads: (grads[0] * 5,)), \
            everywhere.register_module_full_backward_hook(lambda _, grad_inputs, grad_outputs: (grad_inputs[0] * 7,)):
        x = leaf(torch, 3, 4)
        y = doubling(torch)(x)
        y.sum().backward()
    assert y.item() == 2 ** 2 * 3 ** 2 * 2 * 11
    assert x.grad.tolist() == [2 ** 2 * 3 ** 2 * 5 ** 2 * 7 ** 2 * 2 * w for w in (1, 2)]


def test_the_old_hook_of_all_modules_is_the_full_one():
    module, log = numtorch.nn.ReLU(), []
    with numtorch.nn.modules.module.register_module_backward_hook(lambda of, *gradients: log.append((of, *gradients))):
        module(leaf(numtorch, -1, 2)).backward(numtorch.tensor([3.0, 4.0]))
    (of, (before,), (after,)), = log
    assert of is module and before.tolist() == [0, 4] and after.tolist() == [3, 4]
