"""Criterions: a loss as a number, and the gradient of the input. Each is a formula of ops."""
from __future__ import annotations

from ...nn import functional as F
from ...ops.creation.fill import zeros
from ...ops.linalg.matmul import mm
from ...tensor import Tensor
from ...tree import map_tensors
from .convert import Convertible
from .record import Record, kept, total


class Criterion(Convertible):
    """Base of all criterions. Subclasses define `formula(input, target)`, the loss by ops.

    Attributes:
        output: the last loss, a Python number.
        gradInput: the last gradient of the input; the same tensor from call to call.
        sizeAverage: whether losses are averaged, where there is a choice.

    Example:
        >>> class Cubes(nn.Criterion):
        ...     def formula(self, input, target):
        ...         return (input - target).pow(3).sum()
        >>> criterion, x = Cubes(), torch.tensor([2.])
        >>> criterion.forward(x, torch.zeros(1)), criterion.backward(x, torch.zeros(1))
        (8.0, tensor([12.]))
    """

    sizeAverage = True

    def __init__(self):
        self.output, self.gradInput = 0, zeros(0)

    @property
    def _reduction(self):
        return "mean" if self.sizeAverage else "sum"

    def formula(self, input, target):
        """The loss, by ops.

        Args:
            input, target: as `forward` is given them.
        """
        raise NotImplementedError(f"{type(self).__name__}: formula is not defined")

    def updateOutput(self, input, target):
        """Compute the loss.

        Args:
            input: a tensor or a table of tensors.
            target: what it is compared with.

        Returns:
            A Python number.
        """
        self._record = Record(input, {}, (target,)).run(self.formula)
        self.output = self._record.result.item()
        return self.output

    def forward(self, input, target):
        """Compute the loss; see `updateOutput`.

        Args:
            input: a tensor or a table of tensors.
            target: what it is compared with.
        """
        return self.updateOutput(input, target)

    def updateGradInput(self, input, target):
        """Compute the gradient of the input.

        Args:
            input, target: as `forward` was given them.

        Returns:
            `gradInput`.
        """
        record = self._record
        if record is None or not record.is_of(input, {}, (target,)):
            record = self._record = Record(input, {}, (target,)).run(self.formula)
        self.gradInput = kept(self.gradInput, record.like_input(record.loss_gradients()))
        return self.gradInput

    def backward(self, input, target):
        """Compute the gradient of the input; see `updateGradInput`.

        Args:
            input, target: as `forward` was given them.
        """
        return self.updateGradInput(input, target)

    def share(self, other, *names):
        """See the memory of another criterion's attributes from now on.

        Args:
            other: a criterion of the same kind.
            names: the attributes; those that are not there or None are passed over.

        Returns:
            This criterion.
        """
        for name in names:
            if isinstance(getattr(self, name, None), Tensor) and isinstance(getattr(other, name, None), Tensor):
                getattr(self, name).set_(getattr(other, name))
        return self

    def __repr__(self):
        return f"nn.{type(self).__name__}"


class Averaged(Criterion):
    """A criterion of which nothing is asked but whether to give the mean."""

    def __init__(self, sizeAverage=True):
        super().__init__()
        self.sizeAverage = sizeAverage


def _row(name, formula, sentence, given, target, gives):
    """A class for a loss without other options; the formula takes the reduction too."""
    example = f"Example:\n    >>> nn.{name}().forward(torch.tensor({given}), torch.tensor({target}))\n    {gives}\n"
    return type(name, (Averaged,), {"formula": lambda self, input, target: formula(input, target, reduction=self._reduction),
                                    "__module__": __name__, "__doc__": f"{sentence}\n\n{example}"})


def _divergence(input, target, reduction):
    """The mean over elements, of which `kl_div` warns that it is not over the batch."""
    whole = F.kl_div(input, target, reduction="sum")
    return whole / input.numel() if reduction == "mean" else whole


def _labels(loss):
    """A loss of class numbers, of any integer type."""
    return lambda input, target, **options: loss(input, target.long(), **options)


AbsCriterion = _row("AbsCriterion", F.l1_loss, "The mean of |x - target|.", "[1., 2.]", "[1., 4.]", "1.0")
MSECriterion = _row("MSECriterion", F.mse_loss, "The mean of (x - target)^2.", "[1., 2.]", "[1., 4.]", "2.0")
SmoothL1Criterion = _row("SmoothL1Criterion", F.smooth_l1_loss, "The mean of (x - target)^2 / 2 up to a distance of 1, and of |x - "
                         "target| - 1/2 beyond.", "[1., 2.]", "[1., 4.]", "0.75")
DistKLDivCriterion = _row("DistKLDivCriterion", _divergence, "The mean of target (log(target) - x), for logarithms x.",
                          "[0., 0.]", "[1., 1.]", "0.0")
SoftMarginCriterion = _row("SoftMarginCriterion", F.soft_margin_loss, "The mean of log(1 + e^(-x target)), with targets 1 and -1.",
                           "[100., 100.]", "[1., -1.]", "50.0")
MultiLabelMarginCriterion = _row(
    "MultiLabelMarginCriterion", _labels(F.multilabel_margin_loss), "The margin of 1 by which each class of a target is below "
    "those that are not in it; a target (C) or (N, C) names classes, counted from 0, up to a -1.",
    "[1., 0., 0.]", "[0, -1, 0]", "0.0")


class L1Cost(Criterion):
    """The sum of |x|; there is no target.

    Example:
        >>> nn.L1Cost().forward(torch.tensor([1., -2.]))
        3.0
    """

    def formula(self, input, target):
        if target is not None:
            raise ValueError("L1Cost: expected no target")
        return input.abs().sum()

    def updateOutput(self, input, target=None):
        return super().updateOutput(input, target)

    forward = updateOutput

    def updateGradInput(self, input, target=None):
        return super().updateGradInput(input, target)

    backward = updateGradInput


class Weighing(Averaged):
    """A criterion with a factor for each class."""

    def __init__(self, weights=None, sizeAverage=True):
        super().__init__(sizeAverage)
        if weights is not None and weights.dim() != 1:
            raise ValueError(f"{type(self).__name__}: expected a vector of weights, got {list(weights.shape)}")
        self.weights = weights


class BCECriterion(Weighing):
    """The mean of -(target log(x) + (1 - target) log(1 - x)).

    Example:
        >>> nn.BCECriterion().forward(torch.tensor([1., 0.]), torch.tensor([1., 0.]))
        0.0
    """

    def formula(self, input, target):
        if input.numel() != target.numel():
            raise RuntimeError(f"BCECriterion: expected as many targets as inputs, got {target.numel()} and {input.numel()}")
        weight = None if self.weights is None else self.weights.expand_as(target)
        return F.binary_cross_entropy(input, target, weight, reduction=self._reduction)


class ClassNLLCriterion(Weighing):
    """The mean of -x of the target's class, counted from 0, for log-probabilities x (N, C) or (C).

    Example:
        >>> nn.ClassNLLCriterion().forward(torch.tensor([[-1., -2.]]), torch.tensor([1]))
        2.0
    """

    def formula(self, input, target):
        target = target.reshape(()) if input.dim() == 1 else target
        return F.nll_loss(input, target.long(), self.weights, reduction=self._reduction)


class SpatialClassNLLCriterion(ClassNLLCriterion):
    """As `ClassNLLCriterion`, for the places of images, (N, C, H, W).

    Example:
        >>> nn.SpatialClassNLLCriterion().forward(torch.full((1, 2, 3, 3), -2.), torch.ones(1, 3, 3))
        2.0
    """


class CrossEntropyCriterion(Weighing):
    """`LogSoftMax` and `ClassNLLCriterion` in one, for (N, C) or (C); dimensions of extent 1 do not matter.

    Example:
        >>> nn.CrossEntropyCriterion().forward(torch.tensor([[0., 100.]]), torch.tensor([0]))
        100.0
    """

    def __init__(self, weights=None):
        super().__init__(weights)

    def formula(self, input, target):
        if 1 in input.shape:
            input = input.squeeze()
        if 1 in target.shape:
            target = target.squeeze()
        return F.cross_entropy(input, target.long(), self.weights)


class MultiLabelSoftMarginCriterion(Weighing):
    """The mean of the cross entropy of sigmoid(x), for any number of classes at once.

    Example:
        >>> nn.MultiLabelSoftMarginCriterion().forward(torch.tensor([100., -100.]), torch.tensor([0., 0.]))
        50.0
    """

    def __init__(self, weights=None):
        super().__init__(weights)

    def formula(self, input, target):
        weight = None if self.weights is None else self.weights.expand_as(target)
        return F.binary_cross_entropy_with_logits(input, target, weight)


class MultiMarginCriterion(Weighing):
    """The mean margin by which each class is below the target's, counted from 0, to the power p.

    Raises:
        ValueError: a power other than 1 and 2.

    Example:
        >>> nn.MultiMarginCriterion().forward(torch.tensor([[2., 0., 1.5, 0.]]), torch.tensor([0]))
        0.125
    """

    def __init__(self, p=1, weights=None, margin=1, sizeAverage=True):
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        super().__init__(weights, sizeAverage)
        self.p, self.margin = p, margin

    def formula(self, input, target):
        target = target.reshape(()) if input.dim() == 1 else target
        return F.multi_margin_loss(input, target.long(), self.p, self.margin, self.weights, reduction=self._reduction)


class WithMargin(Averaged):
    """A criterion with a margin."""

    def __init__(self, margin=1, sizeAverage=True):
        super().__init__(sizeAverage)
        self.margin = margin


class MarginCriterion(WithMargin):
    """The mean of max(0, margin - x target), with targets 1 and -1.

    Example:
        >>> nn.MarginCriterion().forward(torch.tensor([2., 2.]), torch.tensor([1., -1.]))
        1.5
    """

    def formula(self, input, target):
        terms = (self.margin - input * target).clamp(min=0)
        return terms.mean() if self.sizeAverage else terms.sum()


class HingeEmbeddingCriterion(WithMargin):
    """The mean of x where the target is 1, and of max(0, margin - x) where it is -1.

    Example:
        >>> nn.HingeEmbeddingCriterion().forward(torch.tensor([2., 0.5]), torch.tensor([1., -1.]))
        1.25
    """

    def formula(self, input, target):
        return F.hinge_embedding_loss(input, target, self.margin, reduction=self._reduction)


class L1HingeEmbeddingCriterion(Criterion):
    """The distance |x1 - x2|_1 of the table [x1, x2] where the target is 1, and max(0, margin - it) where it is -1.

    Example:
        >>> nn.L1HingeEmbeddingCriterion(5).forward([torch.ones(2), torch.zeros(2)], -1)
        3.0
    """

    def __init__(self, margin=1):
        super().__init__()
        self.margin, self.gradInput = margin, []

    def formula(self, input, target):
        first, second = input
        distance = (first - second).abs().sum()
        return distance if target == 1 else (self.margin - distance).clamp(min=0)


class CosineEmbeddingCriterion(WithMargin):
    """The mean of 1 - cos(x1, x2) over the rows of the table [x1, x2] whose target is 1, and of max(0, cos(x1, x2) - margin) over
    those whose target is -1.

    Example:
        >>> nn.CosineEmbeddingCriterion().forward([torch.eye(2), torch.eye(2).flip(0)], torch.tensor([1., 1.]))
        1.0
    """

    def __init__(self, margin=0, sizeAverage=True):
        super().__init__(margin, sizeAverage)
        self.gradInput = []

    def formula(self, input, target):
        return F.cosine_embedding_loss(*input, target, self.margin, reduction=self._reduction)


class MarginRankingCriterion(WithMargin):
    """The mean of max(0, margin - target (x1 - x2)) of the table [x1, x2], with targets, or one number for all, 1 and -1.

    Example:
        >>> nn.MarginRankingCriterion().forward([torch.tensor([3.]), torch.tensor([1.])], -1)
        3.0
    """

    def __init__(self, margin=1, sizeAverage=True):
        super().__init__(margin, sizeAverage)
        self.gradInput = []

    def formula(self, input, target):
        first, second = input
        terms = (self.margin - target * (first - second)).clamp(min=0)
        return terms.mean() if self.sizeAverage else terms.sum()


class WeightedMSECriterion(Averaged):
    """The mean of (x - weight target)^2, with weights of the shape of the target or of one of a batch.

    Example:
        >>> nn.WeightedMSECriterion(torch.tensor([2., 0.])).forward(torch.ones(1, 2), torch.ones(1, 2))
        1.0
    """

    def __init__(self, weight, sizeAverage=True):
        super().__init__(sizeAverage)
        self.weight = weight.clone()

    def formula(self, input, target):
        return F.mse_loss(input, target * self.weight, reduction=self._reduction)


class ClassSimplexCriterion(Averaged):
    """The mean square of the distances to the target's corner of a regular simplex, whose corners stand for the classes, counted
    from 0.

    Example:
        >>> criterion = nn.ClassSimplexCriterion(3)
        >>> criterion.getTopPrediction(criterion.simplex)
        tensor([0, 1, 2])
    """

    def __init__(self, nClasses):
        super().__init__()
        self.nClasses, self.simplex = nClasses, zeros(nClasses, nClasses)
        for k in range(nClasses - 1):                    # corners of norm 1, and the same angle between any two
            rest = (1 - self.simplex[k, :k].square().sum().item()) ** 0.5
            self.simplex[k, k] = rest
            self.simplex[k + 1:, k] = (rest ** 2 - 1 - 1 / (nClasses - 1)) / rest

    def formula(self, input, target):
        return F.mse_loss(input, self.simplex.index_select(0, target.long()), reduction=self._reduction)

    def getPredictions(self, input):
        """How far outputs point to each class.

        Args:
            input: (N, C), outputs.
        """
        return mm(input, self.simplex.t())

    def getTopPrediction(self, input):
        """The class that each output points to.

        Args:
            input: (N, C), outputs.
        """
        return self.getPredictions(input).max(1)[1]


class MultiCriterion(Criterion):
    """A weighted sum of criterions of the same input and target.

    Example:
        >>> criterion = nn.MultiCriterion().add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion())
        >>> criterion.forward(torch.tensor([2.]), torch.tensor([0.]))
        4.0
    """

    def __init__(self):
        super().__init__()
        self.criterions, self.weights = [], []

    def add(self, criterion, weight=1):
        """Add a criterion.

        Args:
            criterion: any.
            weight: its factor.

        Returns:
            This criterion.
        """
        self.criterions.append(criterion)
        self.weights.append(weight)
        return self

    def _each(self, input, target):
        """The criterions with their weights, inputs and targets."""
        return [(criterion, weight, input, target) for criterion, weight in zip(self.criterions, self.weights)]

    def updateOutput(self, input, target):
        self.output = sum(weight * criterion.updateOutput(*given) for criterion, weight, *given in self._each(input, target))
        return self.output

    def _gradients(self, input, target):
        """The gradient that each criterion gives, times its weight."""
        return [map_tensors(lambda gradient, weight=weight: gradient * weight, criterion.updateGradInput(*given))
                for criterion, weight, *given in self._each(input, target)]

    def updateGradInput(self, input, target):
        self.gradInput = kept(self.gradInput, total(self._gradients(input, target)))
        return self.gradInput


class ParallelCriterion(MultiCriterion):
    """A weighted sum of criterions, each of an input and a target of its own from two tables.

    Example:
        >>> criterion = nn.ParallelCriterion(True).add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion())
        >>> criterion.forward([torch.tensor([2.]), torch.tensor([1.])], torch.tensor([0.]))
        3.0
    """

    def __init__(self, repeatTarget=False):
        super().__init__()
        self.gradInput, self.repeatTarget = [], repeatTarget

    def _each(self, input, target):
        targets = [target] * len(self.criterions) if self.repeatTarget else target
        return list(zip(self.criterions, self.weights, input, targets))

    def updateGradInput(self, input, target):
        self.gradInput = kept(self.gradInput, self._gradients(input, target))
        return self.gradInput
