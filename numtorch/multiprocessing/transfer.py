"""What is sent from process to process: pickled, with tensors as handles and with functions and classes by value where the other
process could not import them."""
from __future__ import annotations

import collections
import copyreg
import io
import pickle
import sys
import types
import uuid
import weakref
from multiprocessing.reduction import ForkingPickler

import cloudpickle

from ..devices import cpu
from ..dtypes import dtype
from ..layout import Layout
from ..ops.pointwise.pointwise import PointwiseOp, pointwise
from ..shared.channel import Channel, Letter
from ..shared.storages import block_of, storage_of
from ..storage import Storage
from ..tensor import Tensor, new


class Pickler(cloudpickle.Pickler):
    """Pickles for another process of the family.

    Attributes:
        blocks, channels: what the pickled tensors and queues refer to; the letter holds them.
    """

    dispatch_table = collections.ChainMap(ForkingPickler._extra_reducers, copyreg.dispatch_table,
                                          cloudpickle.Pickler.dispatch_table)

    def __init__(self, file):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.blocks: list = []
        self.channels: list = []

    def reducer_override(self, each):
        if isinstance(each, Tensor):
            return self._reduce_tensor(each)
        if isinstance(each, (types.FunctionType, type)) and _importable(each):
            return NotImplemented
        op = getattr(each, "op", None)
        if isinstance(op, PointwiseOp) and each is op.function:
            return _reduce_op(op)
        if isinstance(each, Storage):
            raise TypeError("cannot send a Storage: send a tensor over it")
        shareable = getattr(type(each), "_reduce_shared", None)
        if shareable is not None:
            return shareable(each, self)
        return super().reducer_override(each)

    def _reduce_tensor(self, tensor):
        layout = tensor.layout
        if layout.handler is not None or layout.device is not cpu or not layout.nbytes:
            return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        node = tensor.node
        if node is not None and not tensor.is_leaf:
            raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
                               "support crossing process boundaries.  If you just want to transfer the data, call detach() on "
                               "the tensor before serializing (e.g., putting it on the queue).")
        block = block_of(tensor)
        self.blocks.append(block)
        state = {k: v for k, v in tensor.__dict__.items() if not k.startswith("_")} if tensor.__dict__ else None
        extra = None
        if node is not None or state or type(tensor) is not Tensor or tensor._stored_grad is not None:
            extra = type(tensor), tensor.requires_grad, tensor.grad, state
        return rebuild_tensor, (block.number, block.generation, block.nbytes, tensor.address - block.address,
                                layout.dtype.name, layout.shape, layout.strides, extra)


def rebuild_tensor(number, generation, nbytes, offset, kind, shape, strides, extra):
    """The tensor over a block that this process holds."""
    storage = storage_of(number, generation, nbytes)
    out = new(Tensor if extra is None else extra[0])
    out.storage, out.address, out.node = storage, storage.address + offset, None
    out.layout = Layout.of(dtype.by_name[kind], shape, strides)
    if extra is not None:
        _, requires_grad, grad, state = extra
        if state:
            out.__dict__.update(state)
        if requires_grad:
            out.requires_grad_()
        if grad is not None:
            out.grad = grad
    return out


_ops: weakref.WeakValueDictionary = weakref.WeakValueDictionary()        # ops that were sent or received, by their names
_names: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _reduce_op(op):
    """An elementwise op that another process could not import: its formula, and what was said about it."""
    name = _names.setdefault(op, uuid.uuid4().hex)
    _ops[name] = op
    options = dict(kind=op.kind, bool_operands=tuple(op.bool_operands), cost=op.cost, name=op.name, divisor=op.divisor,
                   differentiable=op.differentiable, refuses=op.refuses)
    return _rebuild_op, (name, op.body, options, op.derivative_body)


def _rebuild_op(name, body, options, derivative):
    op = _ops.get(name)
    if op is None:
        function = pointwise(body, **options)
        op = _ops[name] = function.op
        _names[op] = name
        if derivative is not None:
            op.derivative(derivative)
    return op.function


def _importable(each):
    """Whether another process finds a function or class by its name: not what was typed into a REPL, nor what is local."""
    module = getattr(each, "__module__", None)
    found = sys.modules.get(module)
    if found is None or (module == "__main__" and not hasattr(found, "__file__")):
        return False
    for part in each.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is each


def dumps(value) -> memoryview:
    """A value's pickle, for this very process: nothing holds what it refers to."""
    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getbuffer()


def write(channel: Channel, value):
    """A letter with a value, to be sent, and what it must be kept with until then."""
    file = io.BytesIO()
    pickler = Pickler(file)
    pickler.dump(value)
    return channel.write([file.getbuffer()], pickler.blocks, pickler.channels), pickler


def read(letter: Letter):
    """The value in a letter."""
    return pickle.loads(letter.bytes)
