"""What is measured of a model's outputs: functions of one batch, and objects that gather several."""
from __future__ import annotations

from ...dtypes import int64
from ...ops.creation.fill import zeros
from ...tensor import Tensor


def accuracy(output: Tensor, target: Tensor) -> Tensor:
    """The share of examples whose largest output is that of their class.

    Args:
        output: (N, C, *) scores of classes; of one column, or as many dimensions as `target`, scores of class 1 above 0.
        target: (N, *) classes.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.utils.trainer.metrics import accuracy
        >>> accuracy(torch.tensor([[0.1, 0.9], [0.8, 0.2]]), torch.tensor([1, 1]))
        tensor(0.5000)
    """
    guess = output.argmax(dim=1) if output.dim() > target.dim() and output.shape[1] > 1 else (output > 0).reshape(target.shape)
    return (guess == target).float().mean()


class TopK:
    """The share of examples whose class is among the `k` largest outputs.

    Args:
        k: how many are looked at.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.utils.trainer.metrics import TopK
        >>> TopK(2)(torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]), torch.tensor([1, 2]))
        tensor(0.5000)
    """

    def __init__(self, k: int) -> None:
        self.k = k

    def __call__(self, output: Tensor, target: Tensor) -> Tensor:
        """The share of one batch, with `output` (N, C) and `target` (N)."""
        largest = output.topk(self.k, dim=1)[1]
        return (largest == target.unsqueeze(1)).any(dim=1).float().mean()


class Confusion:
    """How often each class was taken for each: a matrix whose rows are the true classes. `compute` gives the mean F1 score of the
    classes, which no mean over batches does.

    Args:
        classes: how many.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.utils.trainer.metrics import Confusion
        >>> f1 = Confusion(2)
        >>> f1.update(torch.tensor([[0.1, 0.9], [0.8, 0.2]]), torch.tensor([1, 1]))
        >>> f1.matrix
        tensor([[0, 0],
                [1, 1]])
        >>> round(f1.compute(), 4)
        0.3333
    """

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self.matrix = zeros(self.classes, self.classes, dtype=int64)

    def update(self, output: Tensor, target: Tensor) -> None:
        """Take in a batch.

        Args:
            output: (N, C) scores.
            target: (N) classes.
        """
        pairs = target * self.classes + output.argmax(dim=1)
        self.matrix += pairs.bincount(minlength=self.classes * self.classes).reshape(self.classes, self.classes)

    def compute(self) -> float:
        """The mean of the classes' F1 scores."""
        both = (self.matrix.sum(0) + self.matrix.sum(1)).float()
        return (2 * self.matrix.diag().float() / both.clamp(min=1)).mean().item()


__all__ = ["Confusion", "TopK", "accuracy"]
