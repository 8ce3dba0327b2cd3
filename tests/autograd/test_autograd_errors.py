"""What backward, grad and the flags of the tape refuse, in which words."""
from __future__ import annotations

import re

import pytest
from tape import leaf

import numtorch


def backward_twice(torch):
    x = leaf(torch, 1, 2)
    loss = (x * x).sum()
    loss.backward()
    loss.backward()


def grad_after_backward(torch):
    x = leaf(torch, 1, 2)
    loss = x.exp().sum()
    loss.backward()
    torch.autograd.grad(loss, x)


def shared_part_twice(torch):
    x = leaf(torch, 1, 2)
    shared = x * x
    shared.sum().backward()
    (shared * 2).sum().backward()


def change_requires_grad(torch):
    (leaf(torch, 1, 2) * 2).requires_grad = False


def integer_flag(torch):
    torch.tensor([1]).requires_grad = True


def own_gradient(torch):
    x = leaf(torch, 1, 2)
    x.grad = x


def wrong_gradient(value):
    def assign(torch):
        leaf(torch, 1, 2).grad = value(torch)
    return assign


def hooked(hook):
    def run(torch):
        x = leaf(torch, 1, 2)
        x.register_hook(hook)
        (x * 2).sum().backward()
    return run


def complex_scalar(torch):
    (torch.tensor(1 + 2j, requires_grad=True) * 2).backward()


def complex_gradient_of_real(torch):
    (leaf(torch, 1, 2) * 2).backward(torch.ones(2, dtype=torch.complex64))


ERRORS = [
    (lambda torch: (leaf(torch, 1, 2) * 2).backward(), "grad can be implicitly created only for scalar outputs"),
    (lambda torch: torch.ones(()).backward(), "element 0 of tensors does not require grad and does not have a grad_fn"),
    (lambda torch: torch.ones(2).backward(), "element 0 of tensors does not require grad and does not have a grad_fn"),
    (lambda torch: torch.autograd.backward([leaf(torch, 1), torch.ones(())]), "element 1 of tensors does not require grad"),
    (lambda torch: torch.autograd.grad(torch.ones(()), leaf(torch, 1)), "element 0 of tensors does not require grad"),
    (lambda torch: torch.autograd.grad(leaf(torch, 1), torch.ones(())), "One of the differentiated Tensors does not require grad"),
    (lambda torch: torch.autograd.grad(leaf(torch, 1) * 1, [leaf(torch, 1)]), "appears to not have been used in the graph. Set "
                                                                              "allow_unused=True"),
    (lambda torch: (leaf(torch, 1, 2) * 2).backward(torch.ones(3)), "Mismatch in shape: grad_output[0] has a shape "
                                                                    "of torch.Size([3]) and output[0] has a shape of"),
    (lambda torch: leaf(torch, 1, 2).sum().backward(torch.ones(1)), "Mismatch in shape"),
    (lambda torch: torch.autograd.grad(leaf(torch, 1, 2) * 2, leaf(torch, 1), torch.ones(1)), "Mismatch in shape"),
    (lambda torch: (leaf(torch, 1, 2) * 2).sum().backward(inputs=[]), "argument to `backward()` cannot be empty"),
    (lambda torch: torch.autograd.grad((leaf(torch, 1, 2) * 2).sum(), []), "argument to `grad()` cannot be empty"),
    (lambda torch: torch.autograd.grad([], leaf(torch, 1, 2)), "not have been used in the graph"),
    (lambda torch: (leaf(torch, 1, 2) * 2).sum().backward(inputs=[torch.ones(2)]), "requires_grad=False"),
    (backward_twice, "Trying to backward through the graph a second time"),
    (grad_after_backward, "Trying to backward through the graph a second time"),
    (shared_part_twice, "Trying to backward through the graph a second time"),
    (change_requires_grad, "you can only change requires_grad flags of leaf variables"),
    (integer_flag, "only Tensors of floating point and complex dtype can require gradients"),
    (lambda torch: torch.tensor([1, 2], requires_grad=True), "Tensors of floating point and complex dtype can require grad"),
    (lambda torch: torch.ones(2, dtype=torch.bool).requires_grad_(), "only Tensors of floating point"),
    (lambda torch: torch.ones(2).retain_grad(), "can't retain_grad on Tensor that has requires_grad=False"),
    (lambda torch: torch.ones(2).register_hook(print), "cannot register a hook on a tensor that doesn't require gradient"),
    (lambda torch: (leaf(torch, 1) * 1).register_post_accumulate_grad_hook(print), "cannot be registered on non-leaf tensors"),
    (lambda torch: torch.ones(2).register_post_accumulate_grad_hook(print), "doesn't require gradient"),
    (own_gradient, "can't assign Variable as its own grad"),
    (wrong_gradient(lambda torch: torch.ones(3)), "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'"),
    (wrong_gradient(lambda torch: torch.ones(2, dtype=torch.float64)), "attempting to assign a gradient"),
    (hooked(lambda grad: grad.sum()), "has changed the size of value"),
    (hooked(lambda grad: grad.double()), "has changed the type of value"),
    (complex_scalar, "grad can be implicitly created only for real scalar outputs but got torch.complex64"),
    (complex_gradient_of_real, "both grad_output and output are required to have the same dtype"),
]


@pytest.mark.parametrize("function, words", ERRORS)
def test_errors(torch, function, words):
    with pytest.raises(RuntimeError, match=re.escape(words)):
        function(torch)


@pytest.mark.parametrize("error, function, words", [
    (TypeError, wrong_gradient(lambda torch: 3), "assigned grad expected to be a Tensor or None but got grad of type"),
    (TypeError, hooked(lambda grad: 3), "hook"),
    (ValueError, lambda torch: torch.autograd.grad(leaf(torch, 1) * 1, leaf(torch, 1), allow_unused=False, materialize_grads=True),
     "Expected allow_unused to be True or not passed when materialize_grads=True"),
])
def test_other_errors(torch, error, function, words):
    with pytest.raises(error, match=words):
        function(torch)


def test_an_error_in_backward_leaves_the_modes_alone():
    x = leaf(numtorch, 1, 2)
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (x * 2).sum().backward()
    assert numtorch.is_grad_enabled() and (x * 2).requires_grad
