"""Module: what every module is asked, and its tree. Layer: a module whose output is a formula of ops. Weighted: one with parameters
that begin at random."""
from __future__ import annotations

import functools
import math
from typing import Any

from ...ops.creation.fill import empty, zeros
from ...tensor import Tensor
from ...tree import map_tensors, tensors_in
from .convert import Convertible, flattened
from .record import Record, apart, emptied, kept


@functools.cache
def gradient_name(name) -> str:
    """The attribute in which the gradient of a parameter is kept: gradWeight for weight."""
    return f"grad{name[0].upper()}{name[1:]}"


class FlatGradients:
    """The vector that all gradients of a tree of modules are views of, for as long as they are.

    Args:
        root: the module at the top.
        vector: the gradients, flattened.
    """

    __slots__ = ("vector", "gradients", "lists")

    def __init__(self, root, vector) -> None:
        self.vector, self.gradients, self.lists = vector, [], []
        for module in root.listModules():
            own = vars(module)
            if "modules" in own:
                self.lists.append((own, list(own["modules"])))
            for name in map(gradient_name, module.parameter_names):
                gradient = own.get(name)
                self.gradients.append((own, name, gradient, None if gradient is None else gradient.address))

    def zero(self) -> bool:
        """Set all gradients to zero at once. False where a module or a gradient is another than it was, and nothing is done."""
        memory = self.vector.memory
        for own, name, gradient, address in self.gradients:
            if own.get(name) is not gradient or (gradient is not None and (gradient.memory is not memory
                                                                           or gradient.address != address)):
                return False
        for own, modules in self.lists:
            if own.get("modules") != modules:
                return False
        self.vector.zero_()
        return True


def _zeroes_as_here(module) -> bool:
    """Whether a module says in no way of its own what its gradients are and how they become zero."""
    package = __package__ + "."
    return all(getattr(type(module), name).__module__.startswith(package) for name in ("parameters", "zeroGradParameters"))


class Module(Convertible):
    """Base of all modules. Subclasses define `updateOutput`, `updateGradInput` and, with parameters, `accGradParameters`.

    Attributes:
        output: what `forward` gave last; the same tensor from call to call.
        gradInput: what `backward` gave last, likewise. None before `backward` keeps a layer from computing it.
        train: whether layers behave as in training; `training()` and `evaluate()` switch it.
        parameter_names: the attributes that are parameters. The gradient of `weight` is `gradWeight`.

    Example:
        >>> class Twice(nn.Module):
        ...     def updateOutput(self, input):
        ...         return self.output.set_(input * 2)
        ...     def updateGradInput(self, input, gradOutput):
        ...         return self.gradInput.set_(gradOutput * 2)
        >>> module = Twice()
        >>> x = torch.ones(2)
        >>> module.forward(x), module.backward(x, x)
        (tensor([2., 2.]), tensor([2., 2.]))
    """

    parameter_names: tuple = ("weight", "bias")
    train = True

    def __init__(self):
        self.output, self.gradInput = zeros(0), zeros(0)
        self._type = self.output.type()

    # ------------------------------------------------------------ forward and backward
    def updateOutput(self, input):
        """Compute the output.

        Args:
            input: a tensor or a table (a list) of tensors.

        Returns:
            `output`.
        """
        return self.output

    def forward(self, input):
        """Compute the output; see `updateOutput`.

        Args:
            input: a tensor or a table (a list) of tensors.
        """
        return self.updateOutput(input)

    def updateGradInput(self, input, gradOutput):
        """Compute the gradient of the input.

        Args:
            input: as `forward` was given it.
            gradOutput: the gradient of the output.

        Returns:
            `gradInput`.
        """
        return self.gradInput

    def accGradParameters(self, input, gradOutput, scale=1):
        """Add to the gradients of the parameters.

        Args:
            input: as `forward` was given it.
            gradOutput: the gradient of the output.
            scale: a factor of what is added.
        """

    def backward(self, input, gradOutput, scale=1):
        """`updateGradInput` and `accGradParameters`.

        Args:
            input: as `forward` was given it.
            gradOutput: the gradient of the output.
            scale: a factor of what is added to the gradients of the parameters.

        Returns:
            `gradInput`.
        """
        self.updateGradInput(input, gradOutput)
        self.accGradParameters(input, gradOutput, scale)
        return self.gradInput

    def backwardUpdate(self, input, gradOutput, lr):
        """`updateGradInput`, and a step of the parameters instead of their gradients.

        Args:
            input: as `forward` was given it.
            gradOutput: the gradient of the output.
            lr: the learning rate.

        Returns:
            `gradInput`.
        """
        self.updateGradInput(input, gradOutput)
        self.accUpdateGradParameters(input, gradOutput, lr)
        return self.gradInput

    def accUpdateGradParameters(self, input, gradOutput, lr):
        """A step of the parameters along their gradients, which are not kept.

        Args:
            input: as `forward` was given it.
            gradOutput: the gradient of the output.
            lr: the learning rate.
        """
        names = self._parameters()
        before = {gradient_name(name): getattr(self, gradient_name(name)) for name in names}
        for name, weight in names.items():
            setattr(self, gradient_name(name), weight)
        self.accGradParameters(input, gradOutput, -lr)
        vars(self).update(before)

    def sharedAccUpdateGradParameters(self, input, gradOutput, lr):
        """As `accUpdateGradParameters`, by way of the gradients, for parameters that are shared.

        Args:
            input: as `forward` was given it.
            gradOutput: the gradient of the output.
            lr: the learning rate.
        """
        if self.parameters() is not None:
            self.zeroGradParameters()
            self.accGradParameters(input, gradOutput, 1)
            self.updateParameters(lr)

    # ------------------------------------------------------------ parameters
    def _parameters(self) -> dict:
        """The parameters that there are, by name."""
        own, parameters = self.__dict__, {}
        for name in self.parameter_names:                # not a comprehension, which is a call of its own
            weight = own.get(name)
            if weight is not None:
                parameters[name] = weight
        return parameters

    def parameters(self):
        """A list of the parameters and a list of their gradients; None where there are no parameters."""
        result = self._parameters()
        return (list(result.values()), [getattr(self, gradient_name(name)) for name in result]) if result else None

    def zeroGradParameters(self):
        """Set the gradients of the parameters to zero."""
        for gradient in (self.parameters() or ((), ()))[1]:
            if gradient is not None:
                gradient.zero_()

    def updateParameters(self, learningRate):
        """A step of the parameters along their gradients.

        Args:
            learningRate: how far.
        """
        for weight, gradient in zip(*(self.parameters() or ((), ()))):
            weight.add_(gradient, alpha=-learningRate)

    def flattenParameters(self):
        """One vector of all parameters and one of their gradients, of which these are views from then on.

        Returns:
            Both vectors; None where there are no parameters.

        Raises:
            RuntimeError: parameters of several types, or shared ones whose gradients are not.
        """
        parameters = self.parameters()
        if parameters is None:
            return None
        flat, gradient = map(flattened, parameters)
        apart = any(weight.storage_offset() != other.storage_offset() for weight, other in zip(*parameters))
        if apart or flat.numel() != gradient.numel():
            raise RuntimeError(f"flattenParameters: expected gradients that are shared as their parameters are, got {flat.numel()} "
                               f"parameters and {gradient.numel()} gradients")
        self._flat = FlatGradients(self, gradient) if all(map(_zeroes_as_here, self.listModules())) else None
        return flat, gradient

    def reset(self, stdv=None):
        """Begin with random parameters again, where there are any.

        Args:
            stdv: their standard deviation; what the class is made with when None.
        """

    def share(self, mlp, *names):
        """See the memory of another module's attributes from now on.

        Args:
            mlp: a module of the same kind.
            names: the attributes; those that are not there or None are passed over.

        Returns:
            This module.
        """
        for name in names:
            if isinstance(getattr(self, name, None), Tensor) and isinstance(getattr(mlp, name, None), Tensor):
                getattr(self, name).set_(getattr(mlp, name))
        self._record = None
        return self

    # ------------------------------------------------------------ modes
    def training(self):
        """Behave as in training."""
        self.train = True

    def evaluate(self):
        """Behave as when training is over."""
        self.train = False

    def _release(self):
        """Let go of what is computed anew in a moment."""

    def clearState(self):
        """Let go of the output, of the gradient of the input and of what the last run saved.

        Returns:
            This module.
        """
        self._record = None
        emptied(self.output)
        emptied(self.gradInput)
        return self

    # ------------------------------------------------------------ the tree
    def listModules(self) -> list:
        """This module and all below it, each before those in it."""
        return [self] + [below for module in getattr(self, "modules", ()) for below in module.listModules()]

    def apply(self, callback):
        """Call a function with this module and with each below it.

        Args:
            callback: takes a module.
        """
        for module in self.listModules():
            callback(module)

    def findModules(self, cls, container=None):
        """The modules of a class, this one and those below it.

        Args:
            cls: the class.
            container: what this module is in.

        Returns:
            A list of modules, and a list of what each is in.
        """
        result = ([self], [container]) if isinstance(self, cls) else ([], [])
        for module in getattr(self, "modules", ()):
            for kind, more in zip(result, module.findModules(cls, self)):
                kind.extend(more)
        return result

    def replace(self, callback):
        """Put `callback(module)` in the place of each module below.

        Args:
            callback: takes a module and returns one.

        Returns:
            `callback` of this module.
        """
        out = callback(self)
        if hasattr(self, "modules"):
            self.modules[:] = [module.replace(callback) for module in self.modules]
        return out

    def _shown(self) -> str:
        """What stands behind the name."""
        return ""

    def __repr__(self):
        return f"nn.{type(self).__name__}{self._shown()}"


class Layer(Module):
    """A module whose output is a formula of ops; its gradients are theirs. Subclasses define `formula(input, *, weight, bias)`,
    with those parameters that there are.

    Attributes:
        inplace: whether the result is written into the input.

    Example:
        >>> class Cube(nn.Layer):
        ...     def formula(self, input):
        ...         return input ** 3
        >>> module, x = Cube(), torch.tensor([2.])
        >>> module.forward(x), module.backward(x, torch.ones(1))
        (tensor([8.]), tensor([12.]))
    """

    inplace = False
    untracked: tuple = ()                                # the parameters whose gradients `_add_untracked` adds, not the tape

    def _add_untracked(self, input, gradOutput, scale):
        """Add to the gradients of the untracked parameters."""

    def formula(self, input, **weights):
        """The output, by ops.

        Args:
            input: as `forward` is given it.
            weights: the parameters.
        """
        raise NotImplementedError(f"{type(self).__name__}: formula is not defined")

    def updateOutput(self, input):
        given = map_tensors(Tensor.clone, input) if self.inplace else input
        record = Record(given, self._parameters(), (), self.gradInput is not None, self.untracked)
        if self._record is not None:                     # else the container that it is in has done so
            self._release()
        result = record.run(self.formula).result
        if self.inplace:
            result = next(tensors_in(input)).copy_(result.detach())
            record.stands_for(input)
        self._record = record
        self.output = output = kept(self.output, result)
        return output

    def _release(self):
        self._record = None
        emptied(self.output)

    def _recorded(self, input):
        """The record of a run with this input and these parameters: the last one, where they have not changed since."""
        weights, record, tracked = self._parameters(), self._record, self.gradInput is not None
        if record is None or tracked > record.tracked or not record.is_of(input, weights):
            record = self._record = Record(input, weights, (), tracked, self.untracked).run(self.formula)
        return record

    def _walk(self, input, gradOutput, scale, of_input, of_parameters):
        """One backward for what is asked of it."""
        record = self._recorded(input)
        if type(gradOutput) is not Tensor or gradOutput.node is not None:
            gradOutput = map_tensors(Tensor.detach, gradOutput)
        at_once = of_input and scale == 1
        of_input = of_input and self.gradInput is not None
        totals: dict = {}
        if of_parameters and record.weights:
            own = vars(self)
            for name in record.weights:
                if name not in self.untracked:
                    totals[name] = total = own.get(gradient_name(name))
                    at_once = at_once and total is not None
        if of_input:
            emptied(self.gradInput)
        if at_once and (of_input or totals) and record.can_add(gradOutput):
            gradients = record.add_gradients(gradOutput, totals, of_input)
        else:
            gradients = self._scaled(record, gradOutput, scale, of_input, totals)
        if of_input:
            self.gradInput = kept(self.gradInput, record.like_input(gradients))
        if of_parameters and self.untracked:
            self._add_untracked(input, gradOutput, scale)
        return self.gradInput

    def _scaled(self, record, gradOutput, scale, of_input, totals):
        """What `Record.add_gradients` does, for any gradient, with a factor, and where some gradients are not kept."""
        leaves = record.inputs if of_input else []
        gradients = record.gradients([*leaves, *[record.weights[name] for name in totals]], gradOutput)
        for total, gradient in zip(totals.values(), gradients[len(leaves):]):
            if total is not None:
                total.add_(gradient) if scale == 1 else total.add_(gradient, alpha=scale)
        return apart(gradients[:len(leaves)], gradOutput)

    def updateGradInput(self, input, gradOutput):
        return self._walk(input, gradOutput, 1, True, False)

    def accGradParameters(self, input, gradOutput, scale=1):
        if self._parameters():
            self._walk(input, gradOutput, scale, False, True)

    def backward(self, input, gradOutput, scale=1):
        return self._walk(input, gradOutput, scale, True, True)


class Weighted(Layer):
    """A layer with parameters that begin at random, uniformly."""

    weight: Any
    bias: Any
    gradWeight: Any
    gradBias: Any

    def _make(self, fan, **sizes):
        """Make parameters and their gradients.

        Args:
            fan: how many numbers a sum of the formula has; the first standard deviation follows from it.
            sizes: shapes by name; None for a parameter that is not there.
        """
        self._fan = fan
        for name, size in sizes.items():
            setattr(self, name, None if size is None else empty(size))
            setattr(self, gradient_name(name), None if size is None else zeros(size))
        self.reset()

    def reset(self, stdv=None):
        bound = 1 / math.sqrt(self._fan) if stdv is None else stdv * math.sqrt(3)
        for weight in self._parameters().values():
            weight.uniform_(-bound, bound)
        return self

    def noBias(self):
        """Do without a bias from now on.

        Returns:
            This module.
        """
        self.bias = self.gradBias = None
        return self
