"""`GradScaler`: gradients that float16 can hold.

The loss is multiplied by a factor, so that small gradients do not vanish; before a step the gradients are divided by it, and a step
whose gradients are not finite is left out. The factor halves then, and doubles after many good steps (Micikevicius et al. 2018).
"""
from __future__ import annotations

import enum
import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ..autograd.modes import no_grad
from ..dtypes import float16, float32, int32
from ..ops.creation.fill import full
from ..ops.pointwise.comparison import isfinite, logical_and
from ..ops.reduce.reductions import all as all_of
from ..tensor import Tensor

__all__ = ["GradScaler", "OptState"]

_FIX = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."


class OptState(enum.Enum):
    """How far an optimiser is in this iteration."""
    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh_state():
    return {"stage": OptState.READY, "finite": {}}       # by device, whether all gradients there are finite


def _all_hold(truths):
    """Whether the tensors of a dictionary hold, each of which is waited for."""
    return all(truth.item() for truth in truths.values())


class GradScaler:
    """Scales losses, unscales gradients and leaves out steps whose gradients are not finite.

    Args:
        device: `"cpu"` or `"cuda"`.
        init_scale: the first factor.
        growth_factor: what it is multiplied with after `growth_interval` steps that were taken one after another.
        backoff_factor: what it is multiplied with after a step that was left out.
        growth_interval: see above.
        enabled: False to do nothing but call `optimizer.step()`.

    Raises:
        AssertionError: a growth factor of 1 or less, or a backoff factor of 1 or more.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer, scaler = torch.optim.SGD([p], lr=0.25), torch.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale((p * p).sum()).backward()
        >>> p.grad
        tensor([16., 16.])
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> p
        Parameter containing:
        tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0 ** 16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            from .. import cuda
            if not cuda.is_available():
                warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", UserWarning,
                              stacklevel=2)
                self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._growth_factor, self._backoff_factor = init_scale, growth_factor, backoff_factor
        self._growth_interval, self._init_growth_tracker = growth_interval, 0
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._states: dict = defaultdict(_fresh_state)

    def _check_started(self, caller):
        if self._scale is None:
            raise AssertionError(f"Attempted {caller} but _scale is None.  {_FIX}")

    # ------------------------------------------------------------ an iteration
    def scale(self, outputs: Tensor | Iterable[Tensor]) -> Any:
        """Losses times the factor.

        Args:
            outputs: a tensor, or a list, tuple or other iterable of them.

        Raises:
            ValueError: something else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                device = outputs.device
                self._scale = full((), self._init_scale, dtype=float32, device=device)
                self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=device)
            return outputs * self._scale.to(outputs.device, non_blocking=True)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide an optimiser's gradients by the factor, as `step` does by itself: to clip or to look at them before.

        Args:
            optimizer: whose.

        Raises:
            RuntimeError: it was done already in this iteration.
            ValueError: a gradient is float16, whose own range is what the factor is for.
        """
        if not self._enabled:
            return
        self._check_started("unscale_")
        state = self._states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        finite, inverses = state["finite"], {}           # by device, for none of which it is waited
        with no_grad():
            inverse = self._scale.reciprocal()
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    grad = parameter.grad
                    if grad is None:
                        continue
                    if grad.dtype is float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    values = grad._values() if grad.is_sparse else grad
                    fine, device = all_of(isfinite(values)), values.device
                    finite[device] = logical_and(finite[device], fine) if device in finite else fine
                    if device not in inverses:
                        inverses[device] = inverse.to(device, non_blocking=True)
                    values.mul_(inverses[device])
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()` on unscaled gradients, unless one of them is not finite.

        Args:
            optimizer: whose step.
            args, kwargs: of its `step`.

        Returns:
            What `optimizer.step()` returns; None where it is left out.

        Raises:
            RuntimeError: a closure is given, or a step was taken since the last update.
            AssertionError: the optimiser has no gradients, or nothing was scaled.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_started("step")
        state = self._states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["finite"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = optimizer.step(*args, **kwargs) if _all_hold(state["finite"]) else None
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the factor at the end of an iteration.

        Args:
            new_scale: the factor from now on; None to choose it by what was found.

        Raises:
            AssertionError: nothing was scaled, or no optimiser stepped.
        """
        if not self._enabled:
            return
        self._check_started("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
                raise AssertionError("new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                                     "requires_grad=False.")
            self._scale.fill_(new_scale.item() if isinstance(new_scale, Tensor) else new_scale)
        else:
            found = [state["finite"] for state in self._states.values() if state["finite"]]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(not all(map(_all_hold, found)))
        self._states = defaultdict(_fresh_state)

    def _adapt(self, overflowed):
        if overflowed:
            self._scale.mul_(self._backoff_factor)
            self._growth_tracker.fill_(0)
            return
        good = self._growth_tracker.item() + 1
        if good == self._growth_interval:
            grown = self._scale * self._growth_factor
            if isfinite(grown).item():
                self._scale.copy_(grown)
            good = 0
        self._growth_tracker.fill_(good)

    # ------------------------------------------------------------ what it is set to
    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The factor; 1.0 where it does nothing."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """What the factor grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the factor grows by.

        Args:
            new_factor: more than 1.
        """
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the factor shrinks by.

        Args:
            new_factor: less than 1.
        """
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps the factor grows.

        Args:
            new_interval: 1 or more.
        """
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps, in PyTorch's keys; empty where it does nothing."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint.

        Args:
            state_dict: what `state_dict()` gave.

        Raises:
            RuntimeError: it is empty.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of "
                               "GradScaler.")
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        if self._enabled and self._states:
            raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                                 "scaler.update().")
        state = self.__dict__.copy()
        if self._enabled:
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None,
                         _growth_tracker=None)
        return state
