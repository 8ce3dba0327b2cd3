"""What a step computes: the mean gradient of some batches, clipped; and all of a step as one function, which can be replayed."""
from __future__ import annotations

from traceback import walk_tb

from ...nn.utils.parameters import clip_grad_norm_, clip_grad_value_
from ...tensor import Tensor
from ...tree import map_tensors, tensors_in


def gradients(pairs, model, criterion, optimizer, clip_value, clip_norm, autocast=None, scaler=None):
    """Leave the mean gradient of batches [(input, target), ...] in the parameters.

    Returns the mean loss and [(output, loss), ...], all without graphs.
    """
    optimizer.zero_grad()
    total, results = None, []
    for input, target in pairs:
        if autocast is None:
            output = model(input)
            loss = criterion(output, target)
        else:
            with autocast:
                output = model(input)
                loss = criterion(output, target)
        part = loss if len(pairs) == 1 else loss / len(pairs)
        (part if scaler is None else scaler.scale(part)).backward()
        part = part.detach()
        total = part if total is None else total + part
        results.append((output.detach() if type(output) is Tensor else map_tensors(Tensor.detach, output),
                        part if len(pairs) == 1 else loss.detach()))
    if scaler is not None:
        scaler.unscale_(optimizer)                       # to be clipped as they are
    if clip_value is not None:
        clip_grad_value_(_parameters(optimizer), clip_value)
    if clip_norm is not None:
        clip_grad_norm_(_parameters(optimizer), clip_norm)
    return total, results


def in_gradients(error: BaseException) -> bool:
    """Whether an error of a whole step came from `gradients`, called or replayed, so before the optimizer changed anything."""
    from ...jit.capturing.complaints import complained
    return any(frame.f_code is gradients.__code__ for frame, _ in walk_tb(error.__traceback__)) or complained(error)


def described(pairs) -> str:
    """The shapes and dtypes of what a step is given, [(input, target), ...]."""
    parts = []
    for pair in pairs:
        for name, value in zip(("input", "target"), pair):
            tensors = [f"{tuple(t.shape)} {str(t.dtype).removeprefix('torch.')}" for t in tensors_in(value)]
            parts.append(f"{name} {', '.join(tensors) or type(value).__name__}")
    return "; ".join(parts)


def _parameters(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def whole_step(model, criterion, optimizer, clip_value, clip_norm):
    """A step as a compiled function of inputs and targets in turns, which reaches nothing that changes from step to step."""
    from ...jit.compiling.compiled import compile

    def step(*values):
        _, results = gradients(list(zip(values[::2], values[1::2])), model, criterion, optimizer, clip_value, clip_norm)
        optimizer.step()
        return results
    return compile(step)
