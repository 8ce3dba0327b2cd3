"""Many small networks at once: stacked parameters under vmap, per-sample gradients, Jacobians, a Gauss-Newton step, forward mode."""
import torch
import torch.nn as nn
from drawn import data, fill
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap

nets = [fill(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)), seed) for seed in range(4)]
parameters, buffers = stack_module_state(nets)
base = nets[0]
x, y = data(1, 10, 3), data(2, 10, 1)


def loss_of(parameters, buffers, x, y):
    return ((functional_call(base, (parameters, buffers), (x,)) - y) ** 2).mean()


losses = []
for step in range(4):
    grads, values = vmap(grad_and_value(loss_of), in_dims=(0, 0, None, None))(parameters, buffers, x, y)
    parameters = {name: value - 0.1 * grads[name] for name, value in parameters.items()}
    losses += values.tolist()
one = {name: value[0].detach() for name, value in parameters.items()}
each = vmap(grad(lambda p, x, y: loss_of(p, {}, x[None], y[None])), in_dims=(None, 0, 0))(one, x, y)
losses += [sum(g.square().sum() for g in each.values()).item(), each["0.weight"].std(0).sum().item()]
forward = lambda p: functional_call(base, p, (x,)).squeeze(1)
jacobian = torch.cat([j.flatten(1) for j in jacrev(forward)(one).values()], 1)
also = torch.cat([j.flatten(1) for j in jacfwd(forward)(one).values()], 1)
step = torch.linalg.solve(jacobian.T @ jacobian + 0.1 * torch.eye(jacobian.shape[1]), jacobian.T @ (forward(one) - y.squeeze(1)))
losses += [(jacobian - also).abs().max().item(), step.norm().item()]
energy = lambda x: base(x).sin().sum()
curvature = hessian(energy)(x[0])
value, slope = jvp(energy, (x,), (torch.ones_like(x),))
pulled = vjp(energy, x)[1](torch.tensor(2.0))[0]
losses += [curvature.trace().item(), value.item(), slope.item(), pulled.norm().item()]
batched = vmap(lambda a, b: (a.outer(b)).logsumexp(1), in_dims=(0, None), out_dims=1)(x, torch.arange(3.0))
losses.append(batched.sum().item())
