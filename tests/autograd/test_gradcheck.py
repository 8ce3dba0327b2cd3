"""`gradcheck`: tangents, functions that read their inputs from elsewhere, sparse inputs, and backwards that are wrong in some way."""
from __future__ import annotations

import pytest
from tape import leaf

PASS, FAIL = True, False


def hooked(x, hook):
    y = x * 2
    y.register_hook(hook)
    return y


def custom(torch, backward=lambda x, grad: 2 * x * grad, jvp=lambda x, moving: 2 * x * moving):
    """x ** 2 with a backward and a jvp."""
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x ** 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return backward(ctx.saved_tensors[0], grad)

        @staticmethod
        def jvp(ctx, moving):
            return jvp(ctx.saved_tensors[0], moving)
    return Square.apply


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("make, options, wanted", [
    (lambda torch: torch.sin, {"check_forward_ad": True}, PASS),
    (lambda torch: lambda x: (x * 2, x.sum()), {"check_forward_ad": True}, PASS),
    (lambda torch: lambda x: (x * 2, x.detach()), {}, PASS),
    (custom, {"check_forward_ad": True}, PASS),
    (lambda torch: custom(torch, jvp=lambda x, moving: 3 * x * moving), {"check_forward_ad": True}, FAIL),
    (lambda torch: custom(torch, jvp=lambda x, moving: 3 * x * moving), {}, PASS),
    (lambda torch: custom(torch, lambda x, grad: x * grad), {"check_forward_ad": True, "check_backward_ad": False}, PASS),
    (lambda torch: custom(torch, lambda x, grad: x * grad), {}, FAIL),
    (lambda torch: custom(torch, lambda x, grad: 2 * x * grad * (1 + torch.rand(()) * 1e-4)), {}, FAIL),
    (lambda torch: custom(torch, lambda x, grad: 2 * x * grad * (1 + torch.rand(()) * 1e-4)), {"nondet_tol": 0.1}, PASS),
    (lambda torch: custom(torch, lambda x, grad: 2 * x * grad + 1e-6), {}, FAIL),
    (lambda torch: lambda x: torch.autograd.grad((x ** 3).sum(), x, create_graph=True)[0], {}, PASS),
    (lambda torch: lambda x: hooked(x, lambda grad: grad * 1), {"check_undefined_grad": False}, PASS),
    (lambda torch: lambda x: hooked(x, lambda grad: grad * 1.1), {"check_undefined_grad": False}, FAIL),
])
def test_what_is_checked(torch, make, options, wanted, fast):
    x = leaf(torch, 1, 2, 3).double().detach().requires_grad_()
    assert torch.autograd.gradcheck(make(torch), x, raise_exception=False, fast_mode=fast, **options) is wanted


def test_complex_tangents(torch):
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: z * z.conj() + z.abs(), z, check_forward_ad=True)


def test_inputs_are_moved_where_they_are_and_put_back(torch):
    layer = torch.nn.Linear(2, 2, dtype=torch.float64)
    x = torch.ones(1, 2, dtype=torch.float64)
    before, loss = layer.weight.tolist(), (layer.weight ** 2).sum()
    assert torch.autograd.gradcheck(lambda *parameters: layer(x), tuple(layer.parameters()))
    assert layer.weight.tolist() == before
    loss.backward()                                      # what it saved is as it was


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function, masked, wanted", [
    (lambda torch, s, d: s.to_dense(masked_grad=True) * 2, True, PASS), (lambda torch, s, d: torch.sparse.mm(s, d), True, PASS),
    (lambda torch, s, d: s.detach().to_dense() + s.to_dense(), True, FAIL),
])
def test_sparse_inputs(torch, function, masked, wanted):
    s = torch.eye(3, dtype=torch.float64).to_sparse().requires_grad_()
    d = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s, d: function(torch, s, d), (s, d), masked=masked, raise_exception=False,
                                    check_batched_grad=False) is wanted


@pytest.mark.filterwarnings("ignore")
def test_second_gradients_that_differ_from_run_to_run(torch):
    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return Noisy.apply(grad) * (1 + torch.rand((), dtype=grad.dtype) * 1e-11)
    x = leaf(torch, 1, 2).double().detach().requires_grad_()
    options = {"raise_exception": False, "check_batched_grad": False}
    assert not torch.autograd.gradgradcheck(Noisy.apply, x, **options)
    assert torch.autograd.gradgradcheck(Noisy.apply, x, nondet_tol=1e-4, **options)


def test_nothing_to_check(torch):
    with pytest.raises(AssertionError, match="at least one of check_forward_ad"):
        torch.autograd.gradcheck(torch.sin, leaf(torch, 1), check_backward_ad=False)
