"""What distributions share that are given by probabilities or by their logits."""
from __future__ import annotations

from ..layout import Size
from ..ops.creation.ranges import arange
from ..tensor import Tensor
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


def check_one(probs, logits):
    """Raise ValueError unless one of the two is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class ByProbabilities(Distribution):
    """A distribution given by `probs` or `logits`: the other one is computed when it is read."""

    _is_binary = True                                    # whether each probability decides on its own

    def _parametrise(self, probs, logits, *others):
        """Set what is given of the two, of one shape with the other parameters, which come back."""
        check_one(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        *others, given = broadcast_all(*others, given)
        setattr(self, name, given)
        return others

    @lazy_property
    def logits(self) -> Tensor:
        """The logits of the probabilities."""
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self):
        """What was given."""
        return self.probs if "probs" in self.__dict__ else self.logits

    def _counted(self, n, expand, dtype=None):
        """0 .. n - 1 along a new first dimension, for the batch."""
        values = arange(n, dtype=dtype or self._param.dtype, device=self._param.device)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.shape
