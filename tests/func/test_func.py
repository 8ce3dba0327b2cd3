"""Modules as functions of their parameters, beside PyTorch where it is installed."""
from __future__ import annotations

import pytest

import numtorch


def tied(torch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    return net


def test_a_step_is_differentiated(torch):
    """Gradients go through the replaced parameters to those before the step, and the module keeps its own."""
    net, x = torch.nn.Linear(2, 1), torch.ones(3, 2)
    torch.nn.init.ones_(net.weight)
    torch.nn.init.zeros_(net.bias)
    own = dict(net.named_parameters())
    grads = torch.autograd.grad((net(x) ** 2).mean(), list(own.values()), create_graph=True)
    after = {name: p - 0.1 * g for (name, p), g in zip(own.items(), grads)}
    out = torch.func.functional_call(net, after, (x,))
    out.sum().backward()
    assert out.tolist()[0] == pytest.approx([0.8]) and net.weight is own["weight"] and net(x).tolist()[0] == [2.0]
    assert net.weight.grad.tolist()[0] == pytest.approx([1.2, 1.2])


def test_buffers_names_and_arguments(torch):
    net, mean = torch.nn.BatchNorm1d(1), torch.zeros(1)
    given = {"running_mean": mean, "running_var": torch.ones(1)}, {"num_batches_tracked": torch.tensor(0)}
    torch.func.functional_call(net, given, kwargs={"input": torch.tensor([[2.0], [4.0]])})
    assert mean.tolist() == pytest.approx([0.3]) and net.running_mean.tolist() == [0.0]
    double = {"0.weight": 2 * torch.eye(2)}
    call = torch.func.functional_call
    assert call(tied(torch), double, torch.ones(2)).tolist() == [4.0, 4.0]
    net = tied(torch)
    torch.nn.init.eye_(net[0].weight)
    assert call(net, double, torch.ones(2), tie_weights=False).tolist() == [2.0, 2.0]


def test_what_is_no_parameter_and_what_a_module_replaces(torch):
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))
            self.scale, self.layer = torch.ones(1), torch.nn.Linear(1, 1)

        def forward(self, x, *, more):
            self.count = self.count + 1
            return self.layer(x) * self.scale + self.extra + more + self.count
    net, first = Counting(), torch.tensor([2.0])
    given = {"count": first, "scale": torch.zeros(1), "extra": torch.ones(1), "layer.bias": None}
    found = torch.func.functional_call(net, given, torch.ones(1), {"more": 10})
    assert found.tolist() == [14] and given["count"].tolist() == [3] and first.tolist() == [2]
    assert net.count.tolist() == [0] and net.scale.tolist() == [1] and net.layer.bias is not None and not hasattr(net, "extra")


def test_functions_of_functorch():
    from numtorch.func import combine_state_for_ensemble, grad, make_functional, make_functional_with_buffers, vmap
    layer = numtorch.nn.Linear(2, 1)
    function, parameters = make_functional(layer)
    assert parameters[0] is layer.weight and numtorch.equal(function(parameters, numtorch.ones(2)), layer(numtorch.ones(2)))
    slopes = grad(lambda p: function(p, numtorch.ones(2)).sum())(parameters)
    assert slopes[0].tolist() == [[1, 1]]
    assert not make_functional(layer, disable_autograd_tracking=True)[1][0].requires_grad
    norm = numtorch.nn.Sequential(layer, numtorch.nn.BatchNorm1d(1))
    function, parameters, buffers = make_functional_with_buffers(norm)
    assert len(parameters) == 4 and function(parameters, buffers, numtorch.ones(3, 2)).shape == (3, 1)
    with pytest.raises(RuntimeError, match="has buffers"):
        make_functional(norm)
    models = [numtorch.nn.Linear(2, 1) for _ in range(3)]
    function, parameters, buffers = combine_state_for_ensemble(models)
    found = vmap(function, in_dims=(0, 0, None))(parameters, buffers, numtorch.ones(2))
    assert numtorch.allclose(found, numtorch.stack([m(numtorch.ones(2)) for m in models]))
    with pytest.raises(RuntimeError, match="at least one model"):
        combine_state_for_ensemble([])


@pytest.mark.parametrize("given, error", [({"0.weight": 1.0}, TypeError), (3, ValueError)])
def test_what_is_no_dict_of_tensors(torch, given, error):
    with pytest.raises(error):
        torch.func.functional_call(tied(torch), given, torch.ones(2))


def test_different_values_of_one_parameter_and_strictness(torch):
    net, eye = tied(torch), torch.eye(2)
    with pytest.raises(ValueError, match="functional_call got multiple values for keys"):
        torch.func.functional_call(net, {"0.weight": eye, "1.weight": 2 * eye}, torch.ones(2))
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        torch.func.functional_call(net, ({"0.weight": eye}, {"0.weight": eye}), torch.ones(2))
    with pytest.raises(RuntimeError):
        torch.func.functional_call(net, {"0.weight": eye, "other": eye}, torch.ones(2), strict=True)
    with pytest.raises((TypeError, RuntimeError)):
        torch.func.functional_call(net, {"0.weight": eye}, ("text",))
    assert net[0].weight is net[1].weight


def test_a_vector_times_the_jacobian_in_no_grad_is_not_recorded(torch):
    x = torch.tensor([3.0], requires_grad=True)
    value, vjp_fn = torch.func.vjp(lambda x: x ** 2, x)
    with torch.no_grad():
        found, = vjp_fn(torch.ones(1))
    assert value.requires_grad and not found.requires_grad and found.item() == 6
    assert vjp_fn(torch.ones(1))[0].requires_grad
