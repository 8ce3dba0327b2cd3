"""Tables: arithmetic on the tensors of one, making one of a tensor and a tensor of one, and choosing among them."""
from __future__ import annotations

from functools import reduce

from ...ops.creation.fill import zeros
from ...ops.shape.join import cat
from ...tensor import Tensor
from ...tree import tensors_in
from .module import Layer, Module


class CAddTable(Layer):
    """The sum of the tensors of a table.

    Example:
        >>> nn.CAddTable().forward([torch.ones(2), torch.tensor([1., 2.])])
        tensor([2., 3.])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.gradInput, self.inplace = [], inplace

    def formula(self, input):
        return reduce(Tensor.add, input)


class CMulTable(Layer):
    """The product of the tensors of a table.

    Example:
        >>> nn.CMulTable().forward([torch.full((2,), 3.), torch.tensor([1., 2.])])
        tensor([3., 6.])
    """

    def __init__(self):
        super().__init__()
        self.gradInput = []

    def formula(self, input):
        return reduce(Tensor.mul, input)


class CSubTable(CMulTable):
    """The difference of two tensors.

    Example:
        >>> nn.CSubTable().forward([torch.full((2,), 3.), torch.tensor([1., 2.])])
        tensor([2., 1.])
    """

    def formula(self, input):
        first, second = input
        return first - second


class CDivTable(CMulTable):
    """The quotient of two tensors.

    Example:
        >>> nn.CDivTable().forward([torch.full((2,), 3.), torch.tensor([1., 2.])])
        tensor([3.0000, 1.5000])
    """

    def formula(self, input):
        first, second = input
        return first / second


class JoinTable(Layer):
    """The tensors of a table joined along a dimension.

    Example:
        >>> nn.JoinTable(0).forward([torch.ones(2), torch.zeros(1)])
        tensor([1., 1., 0.])
    """

    def __init__(self, dimension):
        super().__init__()
        self.gradInput, self.dimension = [], dimension

    def formula(self, input):
        return cat(input, self.dimension)


class SplitTable(Layer):
    """A table of the slices along a dimension.

    Example:
        >>> nn.SplitTable(1).forward(torch.tensor([[1., 2.], [3., 4.]]))
        [tensor([1., 3.]), tensor([2., 4.])]
    """

    def __init__(self, dimension):
        super().__init__()
        self.output, self.dimension = [], dimension

    def formula(self, input):
        return list(input.unbind(self.dimension))


class SelectTable(Layer):
    """One of a table, a tensor or a table.

    Example:
        >>> nn.SelectTable(-1).forward([torch.ones(2), torch.zeros(1)])
        tensor([0.])
    """

    def __init__(self, index):
        super().__init__()
        self.gradInput, self.index = [], index

    def formula(self, input):
        return input[self.index]

    def _shown(self):
        return f"({self.index})"


class NarrowTable(Layer):
    """Some consecutive ones of a table, as a table.

    Raises:
        RuntimeError: a table that ends before.

    Example:
        >>> nn.NarrowTable(1, 2).forward([torch.ones(2), torch.zeros(1), torch.ones(1)])
        [tensor([0.]), tensor([1.])]
    """

    def __init__(self, offset, length=1):
        super().__init__()
        self.output, self.gradInput, self.offset, self.length = [], [], offset, length

    def formula(self, input):
        if self.offset + self.length > len(input):
            raise RuntimeError(f"NarrowTable: expected a table of at least {self.offset + self.length}, got {len(input)}")
        return input[self.offset:self.offset + self.length]


class FlattenTable(Layer):
    """All tensors of a table and of the tables in it, in one table.

    Example:
        >>> nn.FlattenTable().forward([torch.ones(1), [torch.zeros(1), [torch.ones(2)]]])
        [tensor([1.]), tensor([0.]), tensor([1., 1.])]
    """

    def __init__(self):
        super().__init__()
        self.output, self.gradInput = [], []

    def formula(self, input):
        return list(tensors_in(input))


class MixtureTable(Layer):
    """The sum of experts, each times its gate: of [gates (N, K), experts], with experts a table of K tensors (N, *), or one tensor
    that holds them along `dim`.

    Raises:
        RuntimeError: not as many gates as experts.

    Example:
        >>> gates, experts = torch.tensor([[0.25, 0.75]]), [torch.full((1, 2), 4.), torch.full((1, 2), 8.)]
        >>> nn.MixtureTable().forward([gates, experts])
        tensor([[7., 7.]])
    """

    def __init__(self, dim=1):
        super().__init__()
        self.gradInput, self.dim = [], dim

    def formula(self, input):
        gates, experts = input
        count = len(experts) if isinstance(experts, list) else experts.size(self.dim)
        if gates.dim() != 2 or gates.size(1) != count:
            raise RuntimeError(f"MixtureTable: expected gates (N, {count}), one for each expert, got {list(gates.shape)}")
        if isinstance(experts, list):
            shape = (-1,) + (1,) * (experts[0].dim() - 1)
            return reduce(Tensor.add, [gates.select(1, i).reshape(shape) * expert for i, expert in enumerate(experts)])
        shape = [1] * experts.dim()
        shape[0], shape[self.dim] = gates.shape
        return (gates.reshape(shape) * experts).sum(self.dim)


class CriterionTable(Module):
    """A criterion as a module, of the table [input, target].

    Example:
        >>> module, table = nn.CriterionTable(nn.MSECriterion()), [torch.ones(2), torch.zeros(2)]
        >>> module.forward(table), module.backward(table, None)
        (1.0, [tensor([1., 1.])])
    """

    def __init__(self, criterion):
        super().__init__()
        self.criterion, self.output, self.gradInput = criterion, 0, [criterion.gradInput]

    def updateOutput(self, input):
        self.output = self.criterion.updateOutput(*input)
        return self.output

    def updateGradInput(self, input, gradOutput):
        self.gradInput = [self.criterion.updateGradInput(*input)]
        return self.gradInput


class Copy(Layer):
    """The input in another type.

    Example:
        >>> nn.Copy(torch.FloatTensor, torch.DoubleTensor).forward(torch.ones(2))
        tensor([1., 1.], dtype=torch.float64)
    """

    def __init__(self, intype, outtype, dontCast=False):
        super().__init__()
        self.output, self.gradInput, self.outtype, self.dontCast = outtype(), intype(), zeros(0).type(outtype).type(), dontCast

    def formula(self, input):
        return input.type(self.outtype)

    def type(self, type=None, tensorCache=None):
        if type is None or self.dontCast:
            return super().type() if type is None else self
        super().type(type, tensorCache)
        self.outtype = self._type
        return self


class Index(Layer):
    """Of [tensor, indices], the slices of the tensor along a dimension that the indices name.

    Example:
        >>> nn.Index(0).forward([torch.tensor([10., 20.]), torch.tensor([1, 1, 0])])
        tensor([20., 20., 10.])
    """

    def __init__(self, dimension):
        super().__init__()
        self.gradInput, self.dimension = [], dimension

    def formula(self, input):
        values, indices = input
        return values.index_select(self.dimension, indices)


class MaskedSelect(Layer):
    """Of [tensor, mask], a vector of the elements where the mask is not 0.

    Example:
        >>> nn.MaskedSelect().forward([torch.tensor([10., 20., 30.]), torch.tensor([1, 0, 1], dtype=torch.uint8)])
        tensor([10., 30.])
    """

    def __init__(self):
        super().__init__()
        self.gradInput = []

    def formula(self, input):
        values, mask = input
        return values.masked_select(mask.bool())
