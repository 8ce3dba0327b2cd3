"""Copies of views: `view_copy`, `permute_copy` and the others, each a view op with memory of its own, made from one table."""
from __future__ import annotations

import inspect

from ...tensor import Tensor, alias
from ..core.arguments import check_several, check_truths
from ..core.operands import layout_of
from ..memory.copies import clone
from ..memory.resize import check_outs, into_exactly
from . import slicing, split, views


def _whole(input) -> Tensor:
    """A view of all of a tensor, as it is."""
    layout_of("alias", input)
    return views.view(input, input.layout.shape) if input.layout.contiguous else slicing.as_strided(
        input, input.layout.shape, input.layout.strides)


def _slice(input, dim: int = 0, start=None, end=None, step: int = 1) -> Tensor:
    return slicing.slice_view(input, dim, start, end, step)


def _detached(input) -> Tensor:
    return alias(input.detach(), Tensor)


def _expanded(input, size, *, implicit: bool = False) -> Tensor:
    check_several("expand_copy", "size", size)
    check_truths("expand_copy", implicit=implicit)       # it says who asks, which changes nothing
    return views.expand(input, size)


def _permuted(input, dims) -> Tensor:
    check_several("permute_copy", "dims", dims)
    return views.permute(input, dims)


def _viewed(input, size=None, *, dtype=None) -> Tensor:
    if (size is None) == (dtype is None):
        raise TypeError("view_copy(): expected either a size or a dtype")
    return views.view(input, size if dtype is None else dtype)


def copy_of(name, view, arguments, shown, several=False):
    """A function that gives what a view op gives, copied.

    Args:
        name: the op's.
        view: it.
        arguments, shown: of the example: what it is called with, and what that prints.
        several: whether it gives several views.
    """
    parameters = [p if p.kind is p.KEYWORD_ONLY else p.replace(kind=p.POSITIONAL_OR_KEYWORD)
                  for p in inspect.signature(view).parameters.values() if p.name != "further"]       # ints one by one: the view's
    parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))

    def copy(input, *args, out=None, **kwargs):
        layout_of(copy.__name__, input)
        result = view(input, *args, **kwargs)
        if several:
            copies = [clone(part, memory_format="contiguous_format") for part in result]
            if out is not None:
                check_outs(copy.__name__, out, len(copies))
                copies = [into_exactly(copy.__name__, o, c) for o, c in zip(out, copies)]
            return tuple(copies)
        return into_exactly(copy.__name__, out, clone(result, memory_format="contiguous_format"))

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__annotations__ = {"return": tuple[Tensor, ...] if several else Tensor}
    copy.__signature__ = inspect.Signature(parameters, return_annotation=copy.__annotations__["return"])    # type: ignore[attr-defined]
    more = ", ".join(p.name for p in parameters[1:-1])
    copy.__doc__ = f"""What `{name}` gives, in memory of its own.

    Args:
        input: (*).
        {f"{more}: as for `{name}`." if more else ""}
        out: {"as many tensors" if several else "a tensor"} to write into.

    Example:
        >>> import numtorch as torch
        >>> torch.{name}_copy({arguments})
        {shown}
    """.replace("        \n", "")
    return copy


alias_copy = copy_of("alias", _whole, "torch.tensor([1, 2])", "tensor([1, 2])")
as_strided_copy = copy_of("as_strided", slicing.as_strided, "torch.arange(4), (2,), (2,)", "tensor([0, 2])")
detach_copy = copy_of("detach", _detached, "torch.tensor([1, 2])", "tensor([1, 2])")
diagonal_copy = copy_of("diagonal", slicing.diagonal, "torch.tensor([[1, 2], [3, 4]])", "tensor([1, 4])")
expand_copy = copy_of("expand", _expanded, "torch.tensor([1, 2]), (2, 2)", "tensor([[1, 2],\n                [1, 2]])")
permute_copy = copy_of("permute", _permuted, "torch.tensor([[1, 2], [3, 4]]), (1, 0)", "tensor([[1, 3],\n                [2, 4]])")
select_copy = copy_of("select", slicing.select, "torch.tensor([[1, 2], [3, 4]]), 1, 0", "tensor([1, 3])")
slice_copy = copy_of("slice", _slice, "torch.arange(5), 0, 1, 4", "tensor([1, 2, 3])")
split_copy = copy_of("split", split.split, "torch.arange(3), 2", "(tensor([0, 1]), tensor([2]))", several=True)
split_with_sizes_copy = copy_of("split_with_sizes", split.split_with_sizes, "torch.arange(3), (1, 2)",
                                 "(tensor([0]), tensor([1, 2]))", several=True)
squeeze_copy = copy_of("squeeze", views.squeeze, "torch.tensor([[1, 2]])", "tensor([1, 2])")
t_copy = copy_of("t", views.t, "torch.tensor([[1, 2]])", "tensor([[1],\n                [2]])")
transpose_copy = copy_of("transpose", views.transpose, "torch.tensor([[1, 2]]), 0, 1", "tensor([[1],\n                [2]])")
unbind_copy = copy_of("unbind", split.unbind, "torch.tensor([[1, 2], [3, 4]])", "(tensor([1, 2]), tensor([3, 4]))", several=True)
unfold_copy = copy_of("unfold", slicing.unfold, "torch.arange(4), 0, 2, 2", "tensor([[0, 1],\n                [2, 3]])")
unsqueeze_copy = copy_of("unsqueeze", views.unsqueeze, "torch.tensor([1, 2]), 0", "tensor([[1, 2]])")
view_copy = copy_of("view", _viewed, "torch.arange(4), (2, 2)", "tensor([[0, 1],\n                [2, 3]])")
