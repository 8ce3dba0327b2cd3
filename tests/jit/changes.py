"""What users change between calls of a compiled step, by name: each a function of the network and the optimiser. The network has at
least four layers, of which the first and the last are linear and the fourth has a weight."""
from __future__ import annotations

import numtorch as torch
from numtorch import nn


def _exchange(net, optimizer):
    net[0].weight.data = net[0].weight.data * 0.5


def _eager_step(net, optimizer):
    before = optimizer.param_groups[0]["lr"]
    optimizer.param_groups[0]["lr"] = 0.03
    optimizer.step()
    optimizer.param_groups[0]["lr"] = before


class Kept(list):
    """What somebody keeps."""


def _hook_or_none(net, optimizer):
    handle = handles.pop(id(net), None)
    if handle is None:
        handles[id(net)] = net[3].weight.register_hook(lambda grad: grad * 2)
    else:
        handle.remove()


def _halve(parameter):
    parameter.grad.mul_(0.5)


handles: dict = {}
kept = Kept()


CHANGES = {
    "lr": lambda net, optimizer: optimizer.param_groups[0].update(lr=optimizer.param_groups[0]["lr"] * 0.9),
    "lr of another type": lambda net, optimizer: optimizer.param_groups[0].update(lr=0),
    "weight decay": lambda net, optimizer: optimizer.param_groups[0].update(weight_decay=0.1),
    "an eager step at another rate": _eager_step,
    "data": _exchange,
    "written": lambda net, optimizer: net[0].weight.data.mul_(0.5),
    "gradients kept": lambda net, optimizer: kept.append(net[0].weight.grad),
    "views of gradients kept": lambda net, optimizer: net[-1].bias.grad is not None and kept.append(net[-1].bias.grad[1:]),
    "gradients gone": lambda net, optimizer: optimizer.zero_grad(),
    "another gradient": lambda net, optimizer: setattr(net[0].bias, "grad", torch.ones_like(net[0].bias)),
    "a transposed gradient": lambda net, optimizer: setattr(net[0].weight, "grad", torch.ones(8, 16).t()),
    "frozen": lambda net, optimizer: net[0].weight.requires_grad_(False),
    "unfrozen": lambda net, optimizer: net[0].weight.requires_grad_(),
    "train": lambda net, optimizer: net.train(not net.training),
    "a hook": lambda net, optimizer: net[3].weight.register_hook(lambda grad: grad * 2),
    "a hook that goes": _hook_or_none,
    "a hook behind": lambda net, optimizer: net[0].weight.register_post_accumulate_grad_hook(_halve),
    "a forward hook": lambda net, optimizer: net[0].register_forward_hook(lambda module, args, out: out * 0.5),
    "another layer": lambda net, optimizer: net.__setitem__(0, nn.Linear(8, 16)) or net[0].load_state_dict(
        {"weight": torch.ones(16, 8) / 9, "bias": torch.zeros(16)}),
    "state": lambda net, optimizer: optimizer.load_state_dict(optimizer.state_dict()),
    "threads": lambda net, optimizer: torch.set_num_threads(torch.get_num_threads() % 2 + 1),
    "moved": lambda net, optimizer: net.share_memory()}


def forget() -> None:
    """Let go what was kept."""
    kept.clear()
    handles.clear()
