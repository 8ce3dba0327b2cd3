"""The same elements in another shape or order, or some of them."""
from __future__ import annotations

from ...layout import Size
from ...ops.shape.join import cat
from .module import Layer


def _sizes(args):
    """Extents that were given one by one or as one sequence."""
    return Size(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else Size(args)


class Reshape(Layer):
    """Each of a batch in another shape, which is given as extents or as one `Size`.

    Example:
        >>> nn.Reshape(2, 3).forward(torch.ones(4, 6)).shape
        torch.Size([4, 2, 3])
    """

    def __init__(self, *args):
        super().__init__()
        self.size = _sizes(args)

    def formula(self, input):
        return input.reshape(input.size(0), *self.size)

    def _shown(self):
        return f"({'x'.join(map(str, self.size))})"


class View(Layer):
    """The input in another shape, which is given as extents or as one `Size`; one of them may be -1 for what is left.

    Example:
        >>> nn.View(-1, 4).forward(torch.ones(4, 6)).shape
        torch.Size([6, 4])
    """

    def __init__(self, *args):
        super().__init__()
        self.resetSize(*args)

    def resetSize(self, *args):
        """Set the shape.

        Args:
            args: extents, or one `Size`.

        Returns:
            This module.
        """
        self.size = _sizes(args)
        return self

    def formula(self, input):
        return input.view(self.size)

    def _shown(self):
        return f"({', '.join(map(str, self.size))})"


class Contiguous(Layer):
    """The same elements in row-major order.

    Example:
        >>> nn.Contiguous().forward(torch.ones(2, 3).t()).is_contiguous()
        True
    """

    def formula(self, input):
        return input.contiguous()


class Squeeze(Layer):
    """Without the dimensions of extent 1, or without one of them.

    Example:
        >>> nn.Squeeze().forward(torch.ones(2, 1, 3)).shape
        torch.Size([2, 3])
    """

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def formula(self, input):
        return input.squeeze() if self.dim is None else input.squeeze(self.dim)


class Unsqueeze(Layer):
    """With one more dimension of extent 1.

    Example:
        >>> nn.Unsqueeze(1).forward(torch.ones(2, 3)).shape
        torch.Size([2, 1, 3])
    """

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def formula(self, input):
        return input.unsqueeze(self.dim)

    def _shown(self):
        return f"({self.dim})"


class Transpose(Layer):
    """Dimensions exchanged, pair after pair.

    Example:
        >>> nn.Transpose((0, 1), (1, 2)).forward(torch.ones(2, 3, 4)).shape
        torch.Size([3, 4, 2])
    """

    def __init__(self, *args):
        super().__init__()
        self.permutations = args

    def formula(self, input):
        for pair in self.permutations:
            input = input.transpose(*pair)
        return input.contiguous()


class Select(Layer):
    """One slice along a dimension.

    Example:
        >>> nn.Select(0, -1).forward(torch.tensor([[1., 2.], [3., 4.]]))
        tensor([3., 4.])
    """

    def __init__(self, dimension, index):
        super().__init__()
        self.dimension, self.index = dimension, index

    def formula(self, input):
        return input.select(self.dimension, self.index)


class Narrow(Layer):
    """Some consecutive slices along a dimension.

    Example:
        >>> nn.Narrow(0, 1, -1).forward(torch.tensor([1., 2., 3.]))
        tensor([2., 3.])
    """

    def __init__(self, dimension, offset, length=1):
        super().__init__()
        self.dimension, self.index, self.length = dimension, offset, length

    def formula(self, input):
        rest = input.size(self.dimension) - self.index + 1
        return input.narrow(self.dimension, self.index, self.length if self.length >= 0 else rest + self.length)


class Replicate(Layer):
    """The input several times along a new dimension, in the same memory.

    Example:
        >>> nn.Replicate(3).forward(torch.tensor([1., 2.])).shape
        torch.Size([3, 2])
    """

    def __init__(self, nf, dim=0):
        super().__init__()
        self.nfeatures, self.dim = nf, dim

    def formula(self, input):
        shape = list(input.shape)
        shape.insert(self.dim, self.nfeatures)
        return input.unsqueeze(self.dim).expand(shape)


class Padding(Layer):
    """A value some times along a dimension, behind the input or before it, or `index` away from there.

    Example:
        >>> nn.Padding(0, 2).forward(torch.tensor([1., 2.])), nn.Padding(0, -1, 9, 1).forward(torch.tensor([1., 2.]))
        (tensor([1., 2., 0., 0.]), tensor([1., 9., 2.]))
    """

    def __init__(self, dim, pad, value=0, index=0):
        super().__init__()
        self.dim, self.pad, self.value, self.index = dim, pad, value, index

    def formula(self, input):
        count = input.size(self.dim)
        place = count - self.index if self.pad > 0 else self.index
        shape = list(input.shape)
        shape[self.dim] = abs(self.pad)
        before, after = input.split([place, count - place], self.dim)
        return cat([before, input.new_full(shape, self.value), after], self.dim)
