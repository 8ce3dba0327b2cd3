"""`summary(model, input)`: a model's layers with the shapes they give, their parameters, multiply-adds and memory."""
from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..autograd.modes import no_grad
from ..data.notes import add_note
from ..devices import device as as_device
from ..dtypes import dtype, float32
from ..nn.modules.module import Module
from ..ops.creation.fill import zeros
from ..profiler.events import events_of
from ..profiler.recording import Recording
from ..tensor import Tensor
from ..tree import tensors_in

__all__ = ["LayerSummary", "ModelSummary", "summary"]

_PRODUCTS = ("matmul", "mm", "bmm", "mv", "dot", "linear", "addmm", "baddbmm", "addmv", "conv", "scaled_dot_product_attention")


class LayerSummary:
    """One call of a module.

    Attributes:
        name, class_name, depth: where it is in the model (`""` for the model itself), what it is, how deep.
        input_size, output_size: shapes, None for what is no tensor; a list of them for several.
        num_params, trainable_params: elements of all parameters in it; `own_params` of its own.
        param_bytes, output_bytes: bytes of its own parameters and buffers, and of what it returned.
        mult_adds: multiplications with an addition each, in products and convolutions, of all that ran in it.
        is_leaf_layer: whether it has no modules in it; is_recursive: whether it was called before.
    """

    def __init__(self, name, module, depth) -> None:
        self.name, self.class_name, self.depth, self.module = name, type(module).__name__, depth, module
        parameters = list(module.parameters())
        own = [*module._parameters.values(), *module._buffers.values()]
        self.num_params = sum(p.numel() for p in parameters)
        self.trainable_params = sum(p.numel() for p in parameters if p.requires_grad)
        self.own_params = sum(p.numel() for p in module._parameters.values() if p is not None)
        self.param_bytes = sum(p.numel() * p.dtype.itemsize for p in own if p is not None)
        self.input_size = self.output_size = None
        self.output_bytes = self.mult_adds = 0
        self.is_leaf_layer, self.is_recursive = not module._modules, False

    def __repr__(self):
        return f"{self.class_name}: {self.depth}"


class ModelSummary:
    """What `summary` found; printed, it is a table.

    Attributes:
        summary_list: a `LayerSummary` for each call, in order; the first is the model.
        total_params, trainable_params: elements of parameters, each counted once.
        total_mult_adds: of one call.
        total_input_bytes, total_output_bytes, total_param_bytes: of what goes in, of what layers give in forward and backward
            (twice what forward gives), and of parameters and buffers.
    """

    def __init__(self, layers, input_bytes, depth) -> None:
        self.summary_list, self.total_input_bytes, self.depth = layers, input_bytes, depth
        top = layers[0]
        once = [layer for layer in layers if not layer.is_recursive]
        self.total_params, self.trainable_params = top.num_params, top.trainable_params
        self.total_mult_adds = top.mult_adds
        self.total_param_bytes = sum(layer.param_bytes for layer in once)
        self.total_output_bytes = 2 * sum(layer.output_bytes for layer in layers if layer.is_leaf_layer)

    def __str__(self):
        rows = [("Layer (type: depth-index)", "Output Shape", "Param #", "Mult-Adds")]
        counts: dict = {}
        for layer in self.summary_list:
            counts[layer.depth] = counts.get(layer.depth, 0) + 1
            if layer.depth > self.depth:
                continue
            label = layer.class_name + ("" if not layer.depth else f": {layer.depth}-{counts[layer.depth]}")
            indent = "" if not layer.depth else "│    " * (layer.depth - 1) + "├─"
            folded = layer.is_leaf_layer or layer.depth == self.depth
            count = layer.num_params if folded else layer.own_params
            shown = "(recursive)" if layer.is_recursive and count else f"{count:,}" if count else "--"
            rows.append((indent + label, _shape_text(layer.output_size), shown, f"{layer.mult_adds:,}" if folded and layer.mult_adds
                         else "--"))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        line = "=" * (sum(widths) + 9)
        aligned = [[f"{cell:{align}{width}}" for cell, align, width in zip(row, "<<>>", widths)] for row in rows]
        lines = ["   ".join(row).rstrip() for row in aligned]
        megabytes = [n / 1e6 for n in (self.total_input_bytes, self.total_output_bytes, self.total_param_bytes)]
        return "\n".join([
            line, lines[0], line, *lines[1:], line,
            f"Total params: {self.total_params:,}", f"Trainable params: {self.trainable_params:,}",
            f"Non-trainable params: {self.total_params - self.trainable_params:,}",
            f"Total mult-adds: {self.total_mult_adds:,}", line,
            f"Input size (MB): {megabytes[0]:.2f}", f"Forward/backward pass size (MB): {megabytes[1]:.2f}",
            f"Params size (MB): {megabytes[2]:.2f}", f"Estimated Total Size (MB): {sum(megabytes):.2f}", line])

    __repr__ = __str__


def _shape_text(size):
    return "--" if size is None else str(size)


def _sizes(value):
    """The shapes in what a module is given or returns."""
    result = [list(t.shape) for t in ([value] if isinstance(value, Tensor) else tensors_in(value))]
    return None if not result else result[0] if len(result) == 1 else result


def _inputs(input_data, input_size, kind, device):
    if input_data is not None:
        if isinstance(input_data, (Tensor, Mapping)):
            return input_data
        if isinstance(input_data, Sequence) and all(isinstance(n, int) for n in input_data):
            return zeros(*input_data, dtype=kind, device=device)
        return tuple(input_data)
    if input_size is None:
        return ()
    several = bool(input_size) and not isinstance(input_size[0], int)
    return tuple(zeros(*size, dtype=kind, device=device) for size in (input_size if several else [input_size]))


def summary(model: Module, input: Any = None, *, input_size: Any = None, dtypes: dtype | None = None, device: Any = None,
            depth: int = 3, mode: str = "eval", **kwargs: Any) -> ModelSummary:
    """Run a model once, and say what each of its layers gives, has and does.

    Gradients are not recorded, and the model is in the mode it was in afterwards. Multiply-adds are those of products and
    convolutions that are called as functions: of `nn.MultiheadAttention` its projections, and not what is between them.

    Args:
        model: the module.
        input: what it is called with: a tensor, a tuple of arguments, a dict of them by name, or a shape as `(1, 3, 32, 32)`.
        input_size: instead, a shape or several, of which zeros are made.
        dtypes: of what is made of shapes; float32 by default.
        device: where that is; the CPU by default.
        depth: how deep layers are shown; what is deeper counts in what it is in.
        mode: `"eval"` or `"train"`, in which the model runs.
        kwargs: for the model's call.

    Raises:
        ValueError: another mode.
        RuntimeError: another profile is on.

    Example:
        >>> import numtorch as torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
        >>> found = torch.summary(model, (5, 4))
        >>> found.total_params, found.total_mult_adds, found.summary_list[1].output_size
        (23, 90, [5, 3])
    """
    if mode not in ("eval", "train"):
        raise ValueError(f"summary: expected mode 'eval' or 'train', got '{mode}'")
    given = _inputs(input, input_size, dtypes or float32, None if device is None else as_device(device))
    layers, starts, ends, inside, seen = [], [], [], [], set()
    names = {module: name for name, module in model.named_modules()}

    def before(module, args, given_by_name):
        layer = LayerSummary(names[module], module, len(inside))
        layer.is_recursive, layer.input_size = module in seen, _sizes((args, given_by_name))
        seen.add(module)
        layers.append(layer)
        inside.append(len(layers) - 1)
        starts.append(time.perf_counter_ns())
        ends.append(0)

    def after(module, args, given_by_name, result):
        place = inside.pop()
        ends[place] = time.perf_counter_ns()
        layers[place].output_size = _sizes(result)
        layers[place].output_bytes = sum(t.numel() * t.dtype.itemsize for t in tensors_in([result]))

    modes = {module: module.training for module in model.modules()}
    recording, handles = Recording(shapes=True), []
    try:
        for module in names:
            handles += [module.register_forward_pre_hook(before, with_kwargs=True),
                        module.register_forward_hook(after, with_kwargs=True)]
        model.train(mode == "train")
        with no_grad():
            recording.start()
            try:
                if isinstance(given, Mapping):
                    model(**given, **kwargs)
                else:
                    model(*(given if isinstance(given, tuple) else (given,)), **kwargs)
            except Exception as error:
                if inside:                               # the innermost that has not returned
                    layer = layers[inside[-1]]
                    add_note(error, f"summary: in {layer.name or 'the model'} ({layer.class_name}), given "
                                    f"{_shape_text(layer.input_size)}")
                raise
            finally:
                recording.stop()
    finally:
        for handle in handles:
            handle.remove()
        for module, training in modes.items():
            module.training = training
    _count(layers, starts, ends, recording)
    return ModelSummary(layers, sum(t.numel() * t.dtype.itemsize for t in tensors_in([given])), depth)


def _count(layers, starts, ends, recording):
    """Give each layer the multiply-adds of the products that ran in it."""
    for event in events_of(recording, with_flops=True):
        if event.flops and event.name.startswith(_PRODUCTS):
            at = recording.began + event.time_range.start * 1e3
            for layer, start, end in zip(layers, starts, ends):
                if start <= at <= end:
                    layer.mult_adds += event.flops // 2
