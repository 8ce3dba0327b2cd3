"""Modules with methods under `jit.export`, to be traced. test_exported_methods.py traces each in this package and in PyTorch."""
import numtorch as torch
from numtorch import Tensor, nn


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.scale = nn.Linear(3, 3), 2
        with torch.no_grad():
            for parameter in self.linear.parameters():
                parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape) / 7 - 0.5)

    def forward(self, x):
        return self.linear(x) * 2

    @torch.jit.export
    def positive(self, x: Tensor):
        if bool(x.sum() > 0):
            return self.linear(x)
        return x * self.scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.weight = Part(), nn.Parameter(torch.ones(3) / 2)
        self.register_buffer("count", torch.zeros(1))
        self.names = ["a", "b"]

    def forward(self, x):
        return self.part(x) * self.weight + self.count

    @torch.jit.export
    def lengths(self, given: list[Tensor], factor: int = 2) -> int:
        return sum([len(each) for each in given]) * factor + len(self.names)

    @torch.jit.export
    def through(self, x: Tensor):
        return self.part.positive(x) * self.weight + self.twice(self.part(x))

    def twice(self, x: Tensor):
        return x * 2

    @torch.jit.export
    def step(self, x: Tensor):
        self.count.add_(1)
        return self.count + x

    @torch.jit.export
    def mode(self) -> bool:
        return self.training


class Refused(nn.Module):
    def forward(self, x):
        return x + 1

    @torch.jit.export
    def wrong(self, x: Tensor):
        return x.misspelt()


class Calling(nn.Module):
    def forward(self, x):
        return x + 1

    @torch.jit.export
    def again(self, x: Tensor):
        return self.forward(x)
