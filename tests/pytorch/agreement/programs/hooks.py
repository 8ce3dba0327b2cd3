"""Hooks everywhere: on tensors, on modules forward and backward, on accumulated gradients, before and after optimisers' steps, saved tensors."""
import torch
import torch.nn as nn
from drawn import data, fill

seen, losses = [], []
net = fill(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Sequential(nn.Linear(6, 6), nn.Softsign()), nn.Linear(6, 3)))
handles = [module.register_forward_hook(lambda m, args, out: seen.append(out.detach().norm().item())) for module in net.modules() if not list(module.children())]
net[2].register_forward_pre_hook(lambda m, args: (args[0] * 1.1,))
net[3].register_full_backward_hook(lambda m, grad_in, grad_out: seen.append(grad_in[0].norm().item()))
net[0].register_full_backward_pre_hook(lambda m, grad_out: (grad_out[0] * 0.5,))
net[1].register_forward_hook(lambda m, args, kwargs, out: out + 0.01, with_kwargs=True)
net[0].weight.register_hook(lambda g: g * 2)
for p in net.parameters():
    p.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.norm().item()))
optimizer = torch.optim.ASGD(net.parameters(), lr=0.05)
optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(o.param_groups[0]["lr"]))
optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(float(len(o.state))))
packed = []
for step in range(4):
    x = data(step, 5, 4).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.numel()) or t.clone(), lambda t: t):
        h = net(x)
    h.retain_grad()
    total = h.sum(1).exp()
    total.register_hook(lambda g: g.clamp(max=0.3))
    loss = total.mean() + torch.utils.checkpoint.checkpoint(lambda t: t.sin().square().mean(), h, use_reentrant=False)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses += [loss.item(), h.grad.norm().item(), x.grad.norm().item()]
    if step == 1:
        for handle in handles[:2]:
            handle.remove()
losses += [float(len(seen)), sum(seen), float(len(packed) > 0)]
