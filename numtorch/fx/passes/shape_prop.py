"""`ShapeProp`: shapes and dtypes of all values of a graph, noted as it runs."""
from __future__ import annotations

from typing import Any, NamedTuple

from ...dtypes import dtype
from ...layout import Size, channels_last, channels_last_3d, contiguous_format, memory_format
from ...tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate


class TensorMetadata(NamedTuple):
    """What is known of a tensor besides its elements.

    Attributes:
        shape, dtype, requires_grad, stride, memory_format: of it.
        is_quantized, qparams: False and empty, as no tensor is quantised.
    """

    shape: Size
    dtype: dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


class ShapeProp(Interpreter):
    """Runs a graph, and notes of each node in its `meta` what its value is: `type`, and `tensor_meta` where tensors are in it.

    Args:
        gm: a module of a graph.

    Example:
        >>> import numtorch as torch
        >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()))
        >>> _ = torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.zeros(2, 4))
        >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
        [(2, 4), (2, 3), (2, 3), (2, 3)]
    """

    def run_node(self, n: Node) -> Any:
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = []

        def noted(value):
            if not isinstance(value, Tensor):
                return value
            found.append(_metadata(value))
            return found[-1]
        meta = map_aggregate(result, noted)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph, and note what its values are.

        Args:
            args: its arguments.

        Returns:
            What it returns.

        Raises:
            RuntimeError: a node raised; the message names it.
        """
        return self.run(*args)


def _metadata(tensor):
    formats = {contiguous_format: True, channels_last: tensor.dim() == 4, channels_last_3d: tensor.dim() == 5}
    order = next((each for each, fits in formats.items() if fits and tensor.is_contiguous(memory_format=each)), None)
    return TensorMetadata(tensor.shape, tensor.dtype, tensor.requires_grad, tensor.stride(), order, False, {})
