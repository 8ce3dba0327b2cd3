"""Modules with hooks that are scripts. test_script_hooks.py runs each as Python, as a script, as one from a file, and as PyTorch's."""

import numtorch as torch
from numtorch import Tensor, nn


class Layer(nn.Module):
    def __init__(self, scale: float = 2.0):
        super().__init__()
        self.scale = scale
        self.inner = nn.Linear(3, 3)
        with torch.no_grad():
            for parameter in self.inner.parameters():
                parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape) / 7 - 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) * self.scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(), Layer(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x)) + x


class Powers(nn.Module):
    def forward(self, x: Tensor, n: int) -> tuple[Tensor, int]:
        return x ** n, n


class OfPowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.powers = Powers()

    def forward(self, x: Tensor) -> Tensor:
        y, n = self.powers(x, 2)
        return y + n


def halves(self, input: tuple[Tensor]) -> Tensor:
    return input[0] / 2


def shifts(self, input: tuple[Tensor]) -> tuple[Tensor]:
    return (input[0] + 1,)


def counts_inputs(self, input: tuple[Tensor]) -> None:
    assert input[0].numel() == 6


def scales(self, input: tuple[Tensor], output: Tensor):
    return output * self.scale + input[0]


def weighs(self, input: tuple[Tensor], output: Tensor):
    return output + self.weight.sum()


def wraps(self, input: tuple[Tensor], output: Tensor):
    return output, len(output)


def unwraps(self, input: tuple[Tensor], output: tuple[Tensor, int]):
    return output[0] + output[1]


def looks(self, input: tuple[Tensor], output: Tensor) -> Tensor:
    if bool(input[0].sum() > 3):
        return output * 2
    return output


def more(self, input: tuple[Tensor, int]) -> tuple[Tensor, int]:
    return input[0] + 1, input[1] + 1


def counts(self, input: tuple[Tensor, int], output: tuple[Tensor, int]):
    return output[0] * 3, output[1] + input[1]


HOOKED = {                                               # what of a Net is hooked: its path, hooks before it, and behind it
    "one before": [("first", [halves], [])],
    "several before": [("first", [halves, shifts, counts_inputs, halves], [])],
    "behind": [("second", [], [scales])],
    "several behind": [("second", [], [scales, wraps, unwraps, scales])],
    "around": [("first", [shifts], [scales, looks]), ("second", [halves], [looks])],
    "the whole": [("", [shifts, halves], [wraps])],
    "the whole, looking": [("", [shifts], [looks])],
    "a layer of the package": [("first.inner", [halves], [weighs]), ("second.inner", [], [looks])],
    "everywhere": [("", [halves], [looks]), ("first", [halves], [scales]), ("first.inner", [shifts], [weighs])],
}


def hooked(name: str):
    """A Net with hooks."""
    net = Net()
    for path, before, behind in HOOKED[name]:
        module = net.get_submodule(path)
        for hook in before:
            module.register_forward_pre_hook(hook)
        for hook in behind:
            module.register_forward_hook(hook)
    return net


def powers(before=(), behind=()):
    net = OfPowers()
    for hook in before:
        net.powers.register_forward_pre_hook(hook)
    for hook in behind:
        net.powers.register_forward_hook(hook)
    return net


def untyped(self, input, output):
    return output


def of_two(self, input: tuple[Tensor, Tensor], output: Tensor):
    return output


def of_lists(self, input: tuple[Tensor], output: list[Tensor]):
    return output[0]


def gives_lists(self, input: tuple[Tensor]) -> list[Tensor]:
    return [input[0]]


def too_short(self, input: tuple[Tensor]):
    return input[0]


def too_long(self, input: tuple[Tensor], output: Tensor, scale: float = 2.0):
    return output * scale


def misspells(self, input: tuple[Tensor], output: Tensor):
    return output.misspelt()


def gives_a_pair(self, input: tuple[Tensor], output: Tensor):
    return output, output


class Holder:
    def hook(self, module, input: tuple[Tensor], output: Tensor):
        return output


REFUSED = {                                              # what PyTorch refuses too: hooks of a Layer, and what is said
    "untyped": ([], [untyped], "untyped, a hook, is given a value of type 'Tuple\\[Tensor\\]' for argument 'input', and takes one of type "
                               "'Tensor':\n.* line \\d+, in untyped\n.*untyped"),
    "of two": ([], [of_two], "of_two, a hook, is given .* and takes one of type 'Tuple\\[Tensor, Tensor\\]':"),
    "of lists": ([], [of_lists], "of_lists, a hook, is given a value of type 'Tensor' for argument 'output', and takes .*List"),
    "gives lists": ([gives_lists], [], "gives List\\[Tensor\\] in the place of the module's arguments: expected Tuple\\[Tensor\\] or "
                                       "Tensor, or None:\n.* in gives_lists\n"),
    "too short": ([], [too_short], "too_short is a hook of another form than hook\\(self, input: Tuple\\[Tensor\\], output"),
    "too long": ([], [too_long], "too_long is a hook of another form"),
    "behind as before": ([scales], [], "scales is a hook of another form than hook\\(self, input: Tuple\\[Tensor\\]\\)"),
    "misspells": ([], [misspells], "no attribute or method 'misspelt':\n.* in misspells\n"),
    "a lambda": ([], [lambda module, given, output: output], "lambdas are not in a script"),
    "a method": ([], [Holder().hook], "hook, a hook of Layer, is no function"),
}


def refused(name: str, module=None):
    """A module that no script is made of."""
    module = Layer() if module is None else module
    before, behind, _ = REFUSED[name]
    for hook in before:
        module.register_forward_pre_hook(hook)
    for hook in behind:
        module.register_forward_hook(hook)
    return module


def called_by_name():
    class Calls(nn.Module):
        def __init__(self):
            super().__init__()
            self.powers = Powers()

        def forward(self, x: Tensor) -> Tensor:
            return self.powers(x, n=2)[0]
    net = Calls()
    net.powers.register_forward_hook(counts)
    return net


def of_another_result():
    net = Net()
    net.first.register_forward_hook(gives_a_pair)
    return net


def maybe(self, input: tuple[Tensor], output: Tensor) -> Tensor | None:
    if bool(output.sum() > 0):
        return output * 2
    return None
