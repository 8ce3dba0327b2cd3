"""What every op that takes index tensors does around its kernel: the call and its status, checks, and writes in place.

Every kernel call checks every index; a bad one is found again here, to be named in the error.
"""
from __future__ import annotations

from inspect import cleandoc

from ...autograd.graph import GraphNode, recording
from ...autograd.writes import check_mode, mark_written
from ...dtypes import int32, int64
from ...exchange.scalars import check_fits
from ...tensor import Tensor
from ..core.arguments import expect_dtypes
from ..core.backends import kernels
from ..core.late import later
from ..core.operands import as_operand, layout_of, method
from ..core.primitive import Primitive, class_of
from ..core.status import call_words, run_finding
from ..memory.copies import clone, contiguous, to_device, to_dtype
from ..memory.resize import into_exactly
from ..memory.writing import check_distinct, check_inplace_allowed, into_fresh, made, overlap_partly, rebase_history, share_memory

LOOKED_AT = 256                                          # elements of a write whose kernel looks at all indices before it writes

_OUT_OF_RANGE = Primitive("out_of_range", "Whether any index is outside of a range.", samples="T([0, 2]); 0, 3")


def out_of_bounds(index, position, dim, size):
    """The exception for a bad index, of most ops; `position` is where in the index tensor it is."""
    return IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


def out_of_self(name):
    """What embedding and its kin say of a bad index: negative ones do not count from the end."""
    def complaint(index, position, dim, size):
        return IndexError(f"index out of range in self ({name}: expected 0 <= index < {size} for dimension {dim}, got {index})")
    return complaint


def _beyond_flattened(index, position, dim, size):
    return IndexError(f"out of range: tried to access index {index} on a tensor of {size} elements.")


def _copied_beyond(*where):
    return IndexError(f"index_copy_(): {out_of_bounds(*where)}")


def _no_such_member(index, position, dim, size):
    return RuntimeError(f"Index {position} of input takes value {index} which is not in the valid range [0, {size})")


def beyond(*where):
    """The words of most ops, in the class of gather, scatter and additions to matrices."""
    return RuntimeError(str(out_of_bounds(*where)))


# Whether negative indices count from the end, and what is said of one that is out of bounds, by the name of a rule.
RULES = {"index": (True, out_of_bounds), "flattened": (True, _beyond_flattened), "index_copy": (False, _copied_beyond),
         "additions": (False, beyond), "embedding_bag": (False, _no_such_member),
         **{name: (False, out_of_self(name)) for name in ("index_select", "index_add", "index_reduce", "embedding")}}


def run_indexed(prepared, x, indices, other, bounds, complaint=out_of_bounds):
    """Run an indexing kernel.

    Args:
        bounds: for each index tensor, the dimension it indexes, that dimension's size, and the least index that is good.
        complaint: makes the exception for a bad index (see `out_of_bounds`). A write stops there, and `look_first` has seen to it
            that then only a new result is lost.
    """
    words, status = call_words.words
    more = 0
    if len(indices) > 1:
        for place_in_table in range(1, len(indices)):
            words[place_in_table] = indices[place_in_table].address
        more = status + 8
    prepared.call(x.address, indices[0].address, more, other.address, status, prepared.descriptor)
    if words[0]:
        words[0] = 0
        raise complaint(*_first_bad(indices, bounds))
    if x.layout.device.type == "cuda":
        later["explain_cuda"](x.layout.device, lambda word: complaint(*_first_bad(indices, bounds)))


def look_first(x, indices, bounds, written, complaint=out_of_bounds):
    """Raise for a bad index before anything is written to a tensor that others have: kernels, which look as they go, so that large
    indices are read once, would leave half a write behind. Those of CUDA devices look first. `written`: how many elements are."""
    if written <= LOOKED_AT or x.layout.device.type == "cuda" or (made.target is not None and made.target.memory is x.memory):
        return
    for index, (_, size, least) in zip(indices, bounds):
        layout = index.layout
        if not layout.numel:
            continue
        if _out_of_range(index if layout.contiguous else contiguous(index), least, size):
            raise complaint(*_first_bad(indices, bounds))


@_OUT_OF_RANGE.planned
def _plan_out_of_range(index, least, size):
    expect_dtypes("out_of_range", index.dtype, "integer")
    return kernels(index.device, "index.equal").plan_beyond(index.dtype.kernel, index.numel, least, size)


@_OUT_OF_RANGE.run
def _out_of_range(plan, index: Tensor, least, size):
    return run_finding(*plan, index)


def run_through(prepared, tensors, index, bounds, complaint, otherwise):
    """Run a kernel that goes through a contiguous index tensor once and stops at the first index that is out of bounds. Where it
    stops for another reason, with a status below 0, `otherwise(*tensors)` is to raise that."""
    words, status = call_words.words
    prepared.call(*[x.address for x in tensors], status, prepared.descriptor)
    result = words[0]
    if result:
        words[0] = 0
        if result > 0:
            raise complaint(*_first_bad((index,), bounds))
        otherwise(*tensors)


def _first_bad(indices, bounds):
    """The first index out of bounds, its position, and the dimension and size it does not fit."""
    for index, (dim, size, least) in zip(indices, bounds):
        values = index.cpu().numpy().ravel()
        wrong = ((values < least) | (values >= size)).nonzero()[0]
        if wrong.size:
            return int(values[wrong[0]]), int(wrong[0]), dim, size
    raise AssertionError("a kernel found a bad index that is not there")


EITHER = (int64, int32)


def check_index(name, index):
    if not isinstance(index, Tensor):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {class_of(index)}")
    if index.layout.dtype not in EITHER and index.layout.numel:
        kind = IndexError if name == "index_fill" else RuntimeError              # PyTorch's classes
        raise kind(f"{name}(): Expected dtype {' or '.join(d.name for d in EITHER)} for index, got {index.layout.dtype.name}")
    return index


def check_index_dtypes(name, layouts):
    """Raise RuntimeError for index tensors that no kernel reads, in the plan of whoever calls with them."""
    for layout in layouts:
        if layout.dtype not in EITHER or layout.dtype is not layouts[0].dtype:
            raise RuntimeError(f"{name}(): Expected dtype {' or '.join(d.name for d in EITHER)} for index, got {layout.dtype.name}")


def same_dtype(name, self, source):
    if layout_of(name, self).dtype is not layout_of(name, source, "source", 4).dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype, got {self.layout.dtype.name} and "
                           f"{source.layout.dtype.name}")


# ---------------------------------------------------------------- writing in place
def begin_write(name, self, *sources):
    """The checks of an in-place write. Returns whether it is to be recorded."""
    layout = self.layout
    if not layout.contiguous:
        check_distinct(name + "_", layout)
    check_mode(self.memory, name + "_")
    if recording(self, *sources):
        check_inplace_allowed(self, name)
        return True
    return False


def number_like(name, value, layout):
    """A number, or a tensor of one, that is written among others, as these are. Raises RuntimeError for a complex one among real
    ones, and for a number of Python's that they cannot be."""
    operand = as_operand(name, value)
    if operand.layout.dtype.is_complex and not layout.dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {layout.dtype.name} without overflow: it is complex")
    if operand is not value and operand.layout.weak:     # before it is a tensor: to read one would end a capture
        check_fits(value, layout.dtype)
    return to_dtype(to_device(operand, layout.device), layout.dtype)


def apart(source, target):
    """`source`, or a copy of it where it shares memory with what is about to be written."""
    if not share_memory(source, target):
        return source
    return clone(source) if source.address == target.address or overlap_partly(source, target) else source


def end_write(primitive, self, graph, sources, saved, attributes):
    mark_written(self.memory, primitive.name + "_")
    if graph and self.layout.dtype.category >= 2:
        rebase_history(self, GraphNode(primitive, (self.node, *[s.node for s in sources]), saved, attributes))
    return self


def out_of_place(inplace, name, fitted=None):
    """The form of an in-place op that writes to a copy, of what `fitted` makes of the input where that broadcasts."""
    def function(input, *args, out=None, **kwargs) -> Tensor:
        target = input if fitted is None else fitted(input, *args, **kwargs)
        result = into_fresh(inplace, clone(target), *args, **kwargs)
        return result if out is None else into_exactly(name, out, result)
    function.__name__ = function.__qualname__ = name
    function.arguments_of = inplace
    details = cleandoc(inplace.__doc__ or "").partition("\n")[2].replace(f"{name}_(", f"{name}(").replace(
        "Args:\n", "Args:\n    input: the tensor that is copied.\n").replace(
        "\n\nRaises:", "\n    out: a tensor to write the result to.\n\nRaises:")
    function.__doc__ = f"A copy of the tensor after `{name}_`, whose arguments it takes.\n{details}"
    return method(function)
