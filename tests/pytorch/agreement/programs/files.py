"""What is saved goes on where it was: state of model, optimiser and scheduler, a file of torch.save, prefixes, strictness, buffers of one's own."""
import copy
import io

import torch
import torch.nn as nn
from drawn import data, fill


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"first": nn.Linear(4, 5), "norm": nn.BatchNorm1d(5), "last": nn.Linear(5, 2)})
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(1)) for _ in range(2)])
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("hidden", torch.ones(3), persistent=False)

    def forward(self, x):
        self.count += 1
        x = torch.relu(self.layers["norm"](self.layers["first"](x)) * self.scales[0])
        return self.layers["last"](x) * self.scales[1]

    def get_extra_state(self):
        return {"version": 3}

    def set_extra_state(self, state):
        self.version = state["version"]


def make():
    net = fill(Net())
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    return net, optimizer, torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 4], gamma=0.3)


def train(net, optimizer, scheduler, steps):
    for step in steps:
        loss = net(data(step, 6, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())


losses = []
net, optimizer, scheduler = make()
train(net, optimizer, scheduler, range(3))
file = io.BytesIO()
torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "epoch": 3, "best": 0.5}, file)
other, other_optimizer, other_scheduler = make()
saved = torch.load(io.BytesIO(file.getvalue()), map_location="cpu")
other.load_state_dict(saved["model"])
other_optimizer.load_state_dict(saved["optimizer"])
other_scheduler.load_state_dict(saved["scheduler"])
assert other.version == 3 and int(other.count) == 3
train(net, optimizer, scheduler, range(3, 6))
train(other, other_optimizer, other_scheduler, range(3, 6))
assert losses[3:6] == losses[6:]
prefixed = {"module." + name: value for name, value in net.state_dict().items()}
nn.modules.utils.consume_prefix_in_state_dict_if_present(prefixed, "module.")
found = other.load_state_dict({name: value for name, value in prefixed.items() if "norm" not in name}, strict=False)
losses += [float(len(found.missing_keys)), float(len(found.unexpected_keys)), float(len(copy.deepcopy(other).state_dict()))]
