"""Containers: modules one after another, side by side, or each with an input of its own."""
from __future__ import annotations

from ...ops.creation.fill import zeros
from ...ops.shape.join import cat, stack
from ...tensor import Tensor
from ...tree import map_tensors
from .module import Module
from .record import apart, kept, total


class Container(Module):
    """A module of modules; what is asked of it is asked of all.

    Attributes:
        modules: the modules, a list.

    Example:
        >>> nn.Container().add(nn.Tanh()).add(nn.Identity()).size()
        2
    """

    def __init__(self):
        super().__init__()
        self.modules = []

    def add(self, module):
        """Add a module at the end.

        Args:
            module: any.

        Returns:
            This container.
        """
        self.modules.append(module)
        return self

    def get(self, index):
        """One of the modules.

        Args:
            index: which, counted from 0.
        """
        return self.modules[index]

    def size(self):
        """How many modules there are."""
        return len(self.modules)

    def applyToModules(self, func):
        """Call a function with each module directly in this one.

        Args:
            func: takes a module.
        """
        for module in self.modules:
            func(module)

    def parameters(self):
        result = [pair for module in self.modules if (pair := module.parameters()) is not None]
        return tuple([tensor for pair in result for tensor in pair[side]] for side in (0, 1)) if result else None

    def zeroGradParameters(self):
        if self._flat is None or not self._flat.zero():
            for module in self.modules:
                module.zeroGradParameters()

    def updateParameters(self, learningRate):
        self.applyToModules(lambda module: module.updateParameters(learningRate))

    def training(self):
        self.applyToModules(lambda module: module.training())
        super().training()

    def evaluate(self):
        self.applyToModules(lambda module: module.evaluate())
        super().evaluate()

    def reset(self, stdv=None):
        self.applyToModules(lambda module: module.reset(stdv))

    def share(self, mlp, *names):
        for module, other in zip(self.modules, mlp.modules):
            module.share(other, *names)
        return self

    def _release(self):
        for module in self.modules:
            module._release()

    def clearState(self):
        self.applyToModules(lambda module: module.clearState())
        return super().clearState()


class Sequential(Container):
    """Modules one after another.

    Example:
        >>> net = nn.Sequential().add(nn.Linear(4, 3)).add(nn.Tanh())
        >>> net
        nn.Sequential {
          [input -> (0) -> (1) -> output]
          (0): nn.Linear(4 -> 3)
          (1): nn.Tanh
        }
        >>> x = torch.randn(2, 4)
        >>> net.forward(x).shape, net.backward(x, torch.ones(2, 3)).shape
        (torch.Size([2, 3]), torch.Size([2, 4]))
    """

    def __len__(self):
        return len(self.modules)

    def add(self, module):
        super().add(module)
        return self._ends()

    def insert(self, module, index):
        """Put a module before another.

        Args:
            module: any.
            index: the place it takes, counted from 0.
        """
        self.modules.insert(index, module)
        self._ends()

    def remove(self, index=-1):
        """Take a module out.

        Args:
            index: which, counted from 0; the last when -1.
        """
        del self.modules[index]
        self._ends()

    def _ends(self):
        """Output and gradient are those of the last module and of the first."""
        self.output = self.modules[-1].output if self.modules else zeros(0)
        self.gradInput = self.modules[0].gradInput if self.modules else zeros(0)
        return self

    def updateOutput(self, input):
        input = map_tensors(Tensor.detach, input)        # it may be the output of one of these, whose memory is let go of
        self._release()                                  # all at once: each saves the output of the one before
        for module in self.modules:
            input = module.updateOutput(input)
        self.output = input
        return input

    def _backwards(self, input):
        """The modules from the last, each with its input."""
        inputs = [input, *[module.output for module in self.modules[:-1]]]
        return zip(reversed(self.modules), reversed(inputs))

    def updateGradInput(self, input, gradOutput):
        for module, given in self._backwards(input):
            gradOutput = module.updateGradInput(given, gradOutput)
        self.gradInput = gradOutput
        return gradOutput

    def accGradParameters(self, input, gradOutput, scale=1):
        for module, given in self._backwards(input):
            module.accGradParameters(given, gradOutput, scale)
            gradOutput = module.gradInput

    def accUpdateGradParameters(self, input, gradOutput, lr):
        for module, given in self._backwards(input):
            module.accUpdateGradParameters(given, gradOutput, lr)
            gradOutput = module.gradInput

    def backward(self, input, gradOutput, scale=1):
        for module, given in self._backwards(input):
            gradOutput = module.backward(given, gradOutput, scale)
        self.gradInput = gradOutput
        return gradOutput

    def __repr__(self):
        chain = " -> ".join(["[input", *[f"({i})" for i in range(len(self.modules))], "output]"])
        below = [f"({i}): {module!r}".replace("\n", "\n  ") for i, module in enumerate(self.modules)]
        return "\n  ".join([f"nn.{type(self).__name__} {{", chain, *below]) + "\n}"


class Branches(Container):
    """Modules side by side. Subclasses say what each is given (`_inputs`), how outputs are joined (`_join`), which part of the
    output's gradient is whose (`_parts`), and how the gradients they give become the input's (`_gather`)."""

    def _inputs(self, input):
        return [input] * len(self.modules)

    def _gather(self, gradients):
        given = [gradient for gradient in gradients if gradient is not None]       # some modules are told to compute none
        return total(given) if given else None

    def _join(self, outputs):
        raise NotImplementedError

    def _parts(self, gradOutput):
        raise NotImplementedError

    def updateOutput(self, input):
        self.output = self._join([module.updateOutput(given) for module, given in zip(self.modules, self._inputs(input))])
        return self.output

    def _each(self, input, gradOutput):
        return zip(self.modules, self._inputs(input), self._parts(gradOutput))

    def _gathered(self, gradients, gradOutput):
        gathered = self._gather(gradients)
        if isinstance(gathered, Tensor):
            gathered, = apart([gathered], gradOutput)
        self.gradInput = None if gathered is None else kept(self.gradInput, gathered)
        return self.gradInput

    def updateGradInput(self, input, gradOutput):
        gradients = [module.updateGradInput(given, part) for module, given, part in self._each(input, gradOutput)]
        return self._gathered(gradients, gradOutput)

    def backward(self, input, gradOutput, scale=1):
        gradients = [module.backward(given, part, scale) for module, given, part in self._each(input, gradOutput)]
        return self._gathered(gradients, gradOutput)

    def accGradParameters(self, input, gradOutput, scale=1):
        for module, given, part in self._each(input, gradOutput):
            module.accGradParameters(given, part, scale)

    def accUpdateGradParameters(self, input, gradOutput, lr):
        for module, given, part in self._each(input, gradOutput):
            module.accUpdateGradParameters(given, part, lr)

    def __repr__(self):
        lines = ["input"]
        for i, module in enumerate(self.modules):
            rest = "\n       " if i == len(self.modules) - 1 else "\n  |    "
            lines.append(f"  |`-> ({i}): " + repr(module).replace("\n", rest))
        below = "\n".join([*lines, "   ... -> output"]).replace("\n", "\n  ")
        return f"nn.{type(self).__name__} {{\n  {below}\n}}"


class Concat(Branches):
    """Modules that are given the same input, and whose outputs are joined along a dimension.

    Example:
        >>> net = nn.Concat(1).add(nn.Linear(4, 3)).add(nn.Linear(4, 2))
        >>> net.forward(torch.ones(2, 4)).shape
        torch.Size([2, 5])
        >>> net
        nn.Concat {
          input
            |`-> (0): nn.Linear(4 -> 3)
            |`-> (1): nn.Linear(4 -> 2)
             ... -> output
        }
    """

    def __init__(self, dimension):
        super().__init__()
        self.dimension = dimension

    def _join(self, outputs):
        return kept(self.output, cat(outputs, self.dimension))

    def _parts(self, gradOutput):
        sizes = [module.output.size(self.dimension) for module in self.modules]
        return [gradOutput.narrow(self.dimension, sum(sizes[:i]), size) for i, size in enumerate(sizes)]


class DepthConcat(Concat):
    """As `Concat`, of outputs whose other extents may differ: the smaller stand in the middle of zeros (Szegedy et al. 2014).

    Example:
        >>> net = nn.DepthConcat(1).add(nn.SpatialConvolution(3, 2, 1, 1)).add(nn.SpatialConvolution(3, 4, 3, 3))
        >>> net.forward(torch.ones(1, 3, 8, 8)).shape
        torch.Size([1, 6, 8, 8])
    """

    def _window(self, whole, like):
        """The part of a tensor that an output of these extents stands in."""
        for dim, size in enumerate(like.shape):
            if dim != self.dimension % like.dim():
                whole = whole.narrow(dim, (whole.size(dim) - size) // 2, size)
        return whole

    def _join(self, outputs):
        shape = [max(extents) for extents in zip(*[output.shape for output in outputs])]
        shape[self.dimension] = sum(output.size(self.dimension) for output in outputs)
        whole = zeros(shape, dtype=outputs[0].dtype, device=outputs[0].device)
        for output, part in zip(outputs, super()._parts(whole)):
            self._window(part, output).copy_(output)
        return kept(self.output, whole)

    def _parts(self, gradOutput):
        return [self._window(part, module.output) for module, part in zip(self.modules, super()._parts(gradOutput))]


class Parallel(Branches):
    """Modules that are given a slice of the input each, and whose outputs are joined along a dimension.

    Raises:
        RuntimeError: not as many slices as modules.

    Example:
        >>> net = nn.Parallel(1, 1).add(nn.Linear(4, 3)).add(nn.Linear(4, 2))
        >>> net.forward(torch.ones(5, 2, 4)).shape
        torch.Size([5, 5])
    """

    def __init__(self, inputDimension, outputDimension):
        super().__init__()
        self.inputDimension, self.outputDimension = inputDimension, outputDimension

    def _inputs(self, input):
        if input.size(self.inputDimension) != len(self.modules):
            raise RuntimeError(f"Parallel: expected {len(self.modules)} slices, one for each module, got "
                               f"{input.size(self.inputDimension)}")
        return input.unbind(self.inputDimension)

    def _gather(self, gradients):
        return stack(gradients, self.inputDimension)

    def _join(self, outputs):
        return kept(self.output, cat(outputs, self.outputDimension))

    def _parts(self, gradOutput):
        return gradOutput.split([module.output.size(self.outputDimension) for module in self.modules], self.outputDimension)


class ConcatTable(Branches):
    """Modules that are given the same input, and whose outputs are a table.

    Example:
        >>> net = nn.ConcatTable().add(nn.Identity()).add(nn.MulConstant(2))
        >>> net.forward(torch.ones(2))
        [tensor([1., 1.]), tensor([2., 2.])]
    """

    def __init__(self):
        super().__init__()
        self.output = []

    def _join(self, outputs):
        return outputs

    def _parts(self, gradOutput):
        if len(gradOutput) != len(self.modules):
            raise RuntimeError(f"{type(self).__name__}: expected a gradOutput for each of {len(self.modules)} modules, got "
                               f"{len(gradOutput)}")
        return gradOutput


class ParallelTable(ConcatTable):
    """Modules that are given one of a table of inputs each, and whose outputs are a table.

    Raises:
        RuntimeError: not as many inputs as modules.

    Example:
        >>> net = nn.ParallelTable().add(nn.Identity()).add(nn.MulConstant(2))
        >>> net.forward([torch.ones(2), torch.ones(1)])
        [tensor([1., 1.]), tensor([2.])]
    """

    def _inputs(self, input):
        if len(input) != len(self.modules):
            raise RuntimeError(f"ParallelTable: expected {len(self.modules)} inputs, one for each module, got {len(input)}")
        return input

    def _gathered(self, gradients, gradOutput):
        self.gradInput = gradients
        return gradients
