"""Sums of products over named dimensions: einsum and tensordot, arranged as batched matrix products."""
from __future__ import annotations

import functools
import math

from ...layout import wrap_dim
from ...tensor import Tensor
from ..core.operands import layout_of
from ..memory.resize import into_exactly
from ..pointwise.arithmetic import mul
from ..reduce import reductions
from ..shape.views import expand, permute, reshape, transpose
from .matmul import bmm, dot, mm

FEW = 1 << 24                                            # products that are summed by themselves, a tenth of the time of a
                                                         # batch of products; beyond, they take too much memory


def tensordot(a, b, dims=2, *, out=None) -> Tensor:
    """The sums of products over dimensions of two tensors.

    Args:
        a, b: of one dtype.
        dims: how many of the last of a and the first of b, or two lists of dimensions, those of a and those of b; or a tensor
            of that.
        out: a tensor to write the result to.

    Returns:
        What is left of a's dimensions, then what is left of b's.

    Raises:
        RuntimeError: extents that differ.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 2.], [3., 4.]])
        >>> torch.tensordot(x, x), torch.tensordot(x, x, ([0], [0]))[0]
        (tensor(30.), tensor([10., 14.]))
    """
    return into_exactly("tensordot", out, _tensordot(a, b, dims))


def _tensordot(a, b, dims):
    places = [layout_of("tensordot", t, name, place).ndim for place, (name, t) in enumerate((("a", a), ("b", b)), 1)]
    if isinstance(dims, Tensor):                         # of one element how many, else a row for each
        dims = dims.tolist() if dims.layout.numel > 1 else dims.item()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(places):
            raise RuntimeError(f"tensordot expects dims <= ndim_a and ndim_b, but got dims={dims} for {places[0]} and {places[1]}")
        dims = range(places[0] - dims, places[0]), range(dims)
    elif not (isinstance(dims, (tuple, list)) and len(dims) == 2 and all(isinstance(ds, (tuple, list)) for ds in dims)):
        raise RuntimeError(f"tensordot expects dims to be int or a pair of lists of ints, but got dims={dims}")
    first, second = ([wrap_dim(d, ndim) for d in ds] for ndim, ds in zip(places, dims))
    kept_a = [d for d in range(a.layout.ndim) if d not in first]
    kept_b = [d for d in range(b.layout.ndim) if d not in second]
    for d, e in zip(first, second):                      # one element stands for all of the other's, as in PyTorch
        if a.layout.shape[d] == 1 != b.layout.shape[e]:
            b = b.sum(e, keepdim=True, dtype=b.layout.dtype)
        elif b.layout.shape[e] == 1 != a.layout.shape[d]:
            a = a.sum(d, keepdim=True, dtype=a.layout.dtype)
    sizes = [a.layout.shape[d] for d in first]
    if sizes != [b.layout.shape[d] for d in second]:
        raise RuntimeError(f"contracted dimensions need to match, but first has sizes {sizes} in dims {first} and second has "
                           f"{[b.layout.shape[d] for d in second]} in dims {second} (tensordot)")
    left_shape, right_shape = ([t.layout.shape[d] for d in kept] for t, kept in ((a, kept_a), (b, kept_b)))
    rows, columns = math.prod(left_shape), math.prod(right_shape)
    if rows == columns == 1:                             # one element, which is no product of matrices to autocast either
        return reshape(dot(reshape(permute(a, [*first, *kept_a]), (-1,)), reshape(permute(b, [*second, *kept_b]), (-1,))),
                       (*left_shape, *right_shape))
    if a.layout.ndim == b.layout.ndim == 2 and len(first) == 1:
        return mm(a if first[0] else transpose(a, 0, 1), transpose(b, 0, 1) if second[0] else b)
    inner = math.prod(sizes)
    left = reshape(permute(a, [*kept_a, *first]), (rows, inner))
    right = reshape(permute(b, [*second, *kept_b]), (inner, columns))
    return reshape(mm(left, right), (*left_shape, *right_shape))


def einsum(equation: str, *operands) -> Tensor:
    """Einstein summation, such as `einsum("bij,bjk->bik", a, b)`: operands are multiplied in pairs as batched products.

    Args:
        equation: a letter for each dimension of each operand, "..." for any number of them, and behind "->" those of the result;
            without "->" those that occur once, in alphabetical order. A letter twice in one operand is its diagonal.
        operands: tensors of one dtype, or one list of them. Without an equation each is followed by a list of numbers below 52
            and `...` that stand for letters; a last list without an operand is the result's.

    Raises:
        RuntimeError: an equation that does not fit the operands.
        ValueError: an operand alone, or a number out of range.

    Example:
        >>> import numtorch as torch
        >>> a, b = torch.ones(2, 3), torch.ones(3, 4)
        >>> torch.einsum("ij,jk->ik", a, b).shape
        torch.Size([2, 4])
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)) and not isinstance(equation, Tensor):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand and its "
                         "subscripts list")
    if isinstance(equation, Tensor):
        equation, operands = _spelled((equation, *operands))
    wrong = [o for o in operands if not isinstance(o, Tensor)]
    if wrong or not isinstance(equation, str):
        raise TypeError(f"einsum(): expected an equation and Tensors, got {type(wrong[0] if wrong else equation).__name__}")
    inputs, output = _parse_einsum(equation, tuple([o.layout.ndim for o in operands]))
    terms = [_diagonals(t, subscript) for t, subscript in zip(operands, inputs)]
    while len(terms) > 1:
        (x, sx), (y, sy) = terms[0], terms[1]
        later = frozenset(output).union(*[s for _, s in terms[2:]])
        terms[:2] = [_contract(x, sx, y, sy, later)]
    x, subscript = terms[0]
    gone = tuple(i for i, c in enumerate(subscript) if c not in output)
    if gone:
        x = reductions.sum(x, gone)
        subscript = tuple([c for c in subscript if c in output])
    return _ordered(x, subscript, output)


def _spelled(arguments):
    """The equation and the operands of `einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    def letters(places):
        wrong = [p for p in places if p is not Ellipsis and not 0 <= p < 52]
        if wrong:
            raise ValueError(f"einsum(): subscript {wrong[0]} in subscript list is not within the valid range [0, 52)")
        return "".join("..." if p is Ellipsis else chr(ord("A") + p if p < 26 else ord("a") + p - 26) for p in places)
    count = len(arguments) // 2
    equation = ",".join(letters(places) for places in arguments[1:2 * count:2])
    return equation + ("->" + letters(arguments[-1]) if len(arguments) % 2 else ""), arguments[:2 * count:2]


@functools.lru_cache(1024)
def _parse_einsum(equation, dims):
    """The letters of each operand, of these many dimensions, and of the result, with letters in place of "..."."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(dims):
        amount = "more" if len(inputs) < len(dims) else "fewer"
        raise RuntimeError(f"einsum(): {amount} operands were provided than specified in the equation: expected {len(inputs)}, got "
                           f"{len(dims)}")
    widest = 0
    for subscript, ndim in zip(inputs, dims):
        if "..." in subscript:
            widest = max(widest, ndim - len(subscript.replace("...", "")))
    names = [chr(0x3b1 + i) for i in range(widest)]
    spelled = []
    for subscript, ndim in zip(inputs, dims):
        head, dots, tail = subscript.partition("...")
        count = ndim - len(head) - len(tail)
        if (count != 0 and not dots) or count < 0:
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({len(head) + len(tail)}) does not match the "
                               f"number of dimensions ({ndim}) for an operand")
        spelled.append((*head, *names[widest - count:], *tail) if dots else (*head,))
    if arrow:
        output = [c for part in right.partition("...") for c in (names if part == "..." else part)]
    else:
        letters = [c for s in spelled for c in s]
        output = names + sorted({c for c in letters if letters.count(c) == 1 and c not in names})
    known = {c for s in spelled for c in s}
    for c in output:
        if c not in known or output.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} " + ("appears more than once in the output" if c in known else
                               "does not appear in the equation for any input operand"))
    wrong = [c for c in known.difference(names) if not (c.isascii() and c.isalpha())]
    if wrong:
        raise RuntimeError(f"einsum(): invalid subscript given: {wrong[0]!r}, subscripts must be in [a-zA-Z]")
    return spelled, tuple(output)


def _diagonals(x, subscript):
    """Repeated letters within one operand taken along their diagonal. Raises RuntimeError where their extents differ."""
    if len(set(subscript)) == len(subscript):
        return x, subscript
    subscript = list(subscript)
    for letter in dict.fromkeys(subscript):
        while subscript.count(letter) > 1:
            first = subscript.index(letter)
            second = subscript.index(letter, first + 1)
            extents = x.layout.shape[first], x.layout.shape[second]
            if extents[0] != extents[1]:
                raise RuntimeError(f"einsum(): subscript {letter} is repeated for an operand but the sizes don't match, "
                                   f"{extents[1]} != {extents[0]}")
            x = x.diagonal(0, first, second)
            del subscript[second], subscript[first]
            subscript.append(letter)
    return x, tuple(subscript)


def _ordered(x, letters, order):
    """x with its dimensions in another order of their letters."""
    return x if letters == order else permute(x, [letters.index(c) for c in order])


@functools.lru_cache(1024)
def _roles(sx, sy, later):
    """What the letters of two operands are for: the dimensions of each that are summed first; batch, rows, inner and columns of
    their product; the order that each operand takes for it, and the result's."""
    batch = tuple([c for c in sx if c in sy and c in later])
    inner = tuple([c for c in sx if c in sy and c not in later])
    only_x = tuple([i for i, c in enumerate(sx) if c not in sy and c not in later])
    only_y = tuple([i for i, c in enumerate(sy) if c not in sx and c not in later])
    rows = tuple([c for c in sx if c not in sy and c in later])
    columns = tuple([c for c in sy if c not in sx and c in later])
    return only_x, only_y, batch, rows, inner, columns, batch + rows + inner, batch + inner + columns, batch + rows + columns


def _contract(x, sx, y, sy, later):
    """Two operands' product, summed over the letters that nothing later names."""
    only_x, only_y, batch, rows, inner, columns, left, right, kept = _roles(sx, sy, later)
    if only_x:
        x, sx = reductions.sum(x, only_x), tuple([c for i, c in enumerate(sx) if i not in only_x])
    if only_y:
        y, sy = reductions.sum(y, only_y), tuple([c for i, c in enumerate(sy) if i not in only_y])
    size = dict(zip(sx, x.layout.shape))
    for extent, letter in zip(y.layout.shape, sy):
        have = size.get(letter, 1)
        if have != extent and have != 1 and extent != 1:
            raise RuntimeError(f"einsum(): subscript {letter} has size {extent} for one operand and {have} for another")
        size[letter] = max(have, extent) if have and extent else 0

    def spread(tensor, letters, order):
        """The tensor with its dimensions in an order in which "" is one of extent 1."""
        tensor = _ordered(tensor, letters, tuple([c for c in order if c]))
        extents = iter(tensor.layout.shape)
        return shaped(tensor, tuple([next(extents) if c else 1 for c in order]))

    def shaped(tensor, shape):
        return tensor if tensor.layout.shape == shape else reshape(tensor, *shape)

    def arranged(tensor, letters, order, *groups):
        tensor, extents = _ordered(tensor, letters, order), tuple([size[c] for c in order])
        tensor = tensor if tensor.layout.shape == extents else expand(tensor, *extents)
        return shaped(tensor, tuple([math.prod([size[c] for c in group]) for group in groups]))

    kind = x.layout.dtype
    if not inner and kind is y.layout.dtype:
        return mul(spread(x, sx, batch + rows + ("",) * len(columns)), spread(y, sy, batch + ("",) * len(rows) + columns)), kept
    if batch and not rows and not columns and kind is y.layout.dtype and kind.itemsize >= 4 and kind.category >= 2 \
            and math.prod(size.values()) <= FEW:
        return reductions.sum(mul(spread(x, sx, left), spread(y, sy, left)), tuple(range(len(batch), len(left)))), kept
    if batch:
        product = bmm(arranged(x, sx, left, batch, rows, inner), arranged(y, sy, right, batch, inner, columns))
    elif kept:
        product = mm(arranged(x, sx, left, rows, inner), arranged(y, sy, right, inner, columns))
    else:
        product = dot(arranged(x, sx, left, inner), arranged(y, sy, right, inner))
    return shaped(product, tuple([size[c] for c in kept])), kept
