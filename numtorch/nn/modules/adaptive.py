"""Softmax over many classes whose frequencies differ (Grave et al., Efficient softmax approximation for GPUs, 2017)."""
from __future__ import annotations

from collections import namedtuple

from ...ops.index.index_select import put_values
from ...ops.nn.softmax import log_softmax
from ...ops.pointwise.comparison import ge, logical_and, lt
from ...ops.reduce.extremes import argmax
from ...ops.shape.join import cat
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

ASMoutput = namedtuple("ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of targets, where frequent classes have scores of their own and rare ones share clusters of fewer features
    (Grave et al. 2017).

    Args:
        in_features: features of the input.
        n_classes: the number of classes, which are sorted by frequency, the most frequent first.
        cutoffs: where clusters begin; classes below the first have scores of their own.
        div_value: the features of cluster i are in_features / div_value ** (i + 1).
        head_bias: whether the head's scores have a bias.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        head: a `Linear` to the scores of the first classes and of the clusters.
        tail: for each cluster two `Linear`, without bias.

    Shape:
        (N, in_features) and int64 targets (N), or one of each -> (output, loss): the targets' log-probabilities (N), and the mean
            of what they miss to 0.

    Raises:
        ValueError: cutoffs that are not increasing integers between 1 and n_classes - 1, or fewer features than 1 in a cluster.
        RuntimeError: in the call, shapes that do not fit, or targets out of range.

    Example:
        >>> import numtorch as torch
        >>> softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, cutoffs=[2, 6])
        >>> softmax(torch.randn(3, 16), torch.tensor([0, 3, 9])).output.shape
        torch.Size([3])
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs, div_value: float = 4.0, head_bias: bool = False, device=None,
                 dtype=None) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                             "value is between 1 and n_classes-1")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // div_value ** (i + 1))
            if hidden < 1:
                raise ValueError(f"AdaptiveLogSoftmaxWithLoss: expected at least div_value ** {i + 1} features for cluster {i}, "
                                 f"got {in_features}")
            self.tail.append(Sequential(Linear(in_features, hidden, bias=False, **options),
                                        Linear(hidden, self.cutoffs[i + 1] - self.cutoffs[i], bias=False, **options)))

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input, target):
        single = target.layout.ndim == 0
        if input.layout.ndim != target.layout.ndim + 1 or target.layout.ndim > 1:
            what = "0D or 1D target tensor expected, multi-target not supported" if target.layout.ndim > 1 else \
                "1D target tensor expects 2D input tensors, but found inputs with size " if target.layout.ndim else \
                "0D target tensor expects 1D input tensors, but found inputs with size "
            raise RuntimeError(what if target.layout.ndim > 1 else f"{what}{input.layout.size}")
        if not single and input.layout.shape[0] != target.layout.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        x, classes = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
        if classes.numel() and not 0 <= int(classes.min()) <= int(classes.max()) < self.n_classes:
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{int(classes.min())}, "
                               f"{int(classes.max())}] were found. ")
        places, extra = classes, []
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            rows = logical_and(ge(classes, low), lt(classes, high)).nonzero().squeeze(1)
            if rows.numel():
                scores = log_softmax(self.tail[i](x.index_select(0, rows)), 1)
                extra.append((rows, scores.gather(1, (classes.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)))
                places = put_values(places.clone(), (0,), (rows,), classes.new_full((), self.shortlist_size + i), False)
        output = log_softmax(self.head(x), 1).gather(1, places.unsqueeze(1)).squeeze(1)
        for rows, added in extra:
            output = output.index_add(0, rows, added)
        loss = (-output).mean()
        return ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input):
        """The log-probabilities of all classes.

        Args:
            input: (N, in_features).

        Returns:
            (N, n_classes).
        """
        head = log_softmax(self.head(input), 1)
        parts = [head[:, :self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(log_softmax(cluster(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return cat(parts, 1)

    def predict(self, input):
        """The most probable class of each row. The clusters are looked at where the head's best is one of them.

        Args:
            input: (N, in_features).

        Returns:
            int64 (N).
        """
        head = self.head(input)
        best = argmax(head, 1)
        rows = ge(best, self.shortlist_size).nonzero().squeeze(1)
        if not rows.numel():
            return best
        return put_values(best, (0,), (rows,), argmax(self.log_prob(input.index_select(0, rows)), 1), False)
