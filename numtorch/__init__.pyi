# Written by `python -m numtorch stubs` (numtorch/commands/stubs.py) from the functions: change those, not this.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, NamedTuple as _NamedTuple, overload as _overload

from numpy import ndarray as _ndarray
from numtorch.dtypes import dtype as _dtype
from numtorch.tensor import Tensor as Tensor
from numtorch import __config__ as __config__
from numtorch import accelerator as accelerator
from numtorch import alias as alias
from numtorch import amp as amp
from numtorch import array_api as array_api
from numtorch import aten as aten
from numtorch import autograd as autograd
from numtorch import backends as backends
from numtorch import compiler as compiler
from numtorch import cpu as cpu
from numtorch import cuda as cuda
from numtorch import data as data
from numtorch import datasets as datasets
from numtorch import distributions as distributions
from numtorch import fft as fft
from numtorch import func as func
from numtorch import futures as futures
from numtorch import fx as fx
from numtorch import hub as hub
from numtorch import interposition as interposition
from numtorch import jit as jit
from numtorch import legacy as legacy
from numtorch import library as library
from numtorch import linalg as linalg
from numtorch import masked as masked
from numtorch import meta as meta
from numtorch import multiprocessing as multiprocessing
from numtorch import nn as nn
from numtorch import optim as optim
from numtorch import overrides as overrides
from numtorch import profiler as profiler
from numtorch import random as random
from numtorch import safetensors as safetensors
from numtorch import serialization as serialization
from numtorch import signal as signal
from numtorch import special as special
from numtorch import testing as testing
from numtorch import transforms as transforms
from numtorch import types as types
from numtorch import utils as utils
from numtorch import version as version
from numtorch.amp.autocast_mode import autocast as autocast
from numtorch.amp.grad_scaler import GradScaler as GradScaler
from numtorch.attached import AminMax as _AminMax
from numtorch.attached import Eigen as _Eigen
from numtorch.attached import Frexp as _Frexp
from numtorch.attached import Geqrf as _Geqrf
from numtorch.attached import Histogram as _Histogram
from numtorch.attached import LeastSquares as _LeastSquares
from numtorch.attached import OldQR as _OldQR
from numtorch.attached import OldSVD as _OldSVD
from numtorch.attached import Slogdet as _Slogdet
from numtorch.attached import Solution as _Solution
from numtorch.attached import TriangularSolve as _TriangularSolve
from numtorch.attached import Unpacked as _Unpacked
from numtorch.autograd.modes import enable_grad as enable_grad
from numtorch.autograd.modes import inference_mode as inference_mode
from numtorch.autograd.modes import no_grad as no_grad
from numtorch.autograd.modes import set_grad_enabled as set_grad_enabled
from numtorch.autograd.variable import Variable as Variable
from numtorch.devices import OutOfMemoryError as OutOfMemoryError
from numtorch.devices import device as _device
from numtorch.devices import device as device
from numtorch.drawing import Drawing as Drawing
from numtorch.drawing import Drawing as _Drawing
from numtorch.dtypes import dtype as dtype
from numtorch.dtypes import finfo as finfo
from numtorch.dtypes import iinfo as iinfo
from numtorch.futures import Future as Future
from numtorch.futures import Future as _Future
from numtorch.layout import Size as Size
from numtorch.layout import Size as _Size
from numtorch.layout import memory_format as _memory_format
from numtorch.layout import memory_format as memory_format
from numtorch.layout import memory_layout as _memory_layout
from numtorch.layout import memory_layout as layout
from numtorch.nn.modules.module import Module as _Module
from numtorch.ops.core.generator import Generator as Generator
from numtorch.ops.core.generator import Generator as _Generator
from numtorch.ops.core.generator import fork_rng as fork_rng
from numtorch.ops.core.return_types import Pair as _Pair
from numtorch.ops.memory.tensortypes import LegacyType as _LegacyType
from numtorch.ops.memory.typed import LegacyStorage as _LegacyStorage
from numtorch.ops.memory.typed import TypedStorage as TypedStorage
from numtorch.ops.memory.untyped import UntypedStorage as UntypedStorage
from numtorch.shortfloats import ShortFloat as _ShortFloat
from numtorch.tensor import Tensor as Tensor
from numtorch.torchfunction import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from numtorch.types import Device as _Device
from numtorch.types import Dims as _Dims
from numtorch.types import FileLike as _FileLike
from numtorch.types import Operand as _Operand
from numtorch.types import Scalar as _Scalar
from numtorch.types import TensorOrTensors as _TensorOrTensors
from numtorch.utils.modelsummary import ModelSummary as _ModelSummary

BFloat16Storage: _LegacyStorage
BFloat16Tensor: _LegacyType
BoolStorage: _LegacyStorage
BoolTensor: _LegacyType
ByteStorage: _LegacyStorage
ByteTensor: _LegacyType
CharStorage: _LegacyStorage
CharTensor: _LegacyType
ComplexDoubleStorage: _LegacyStorage
ComplexFloatStorage: _LegacyStorage
DoubleStorage: _LegacyStorage
DoubleTensor: _LegacyType
FloatStorage: _LegacyStorage
FloatTensor: _LegacyType
HalfStorage: _LegacyStorage
HalfTensor: _LegacyType
IntStorage: _LegacyStorage
IntTensor: _LegacyType
LongStorage: _LegacyStorage
LongTensor: _LegacyType
ShortStorage: _LegacyStorage
ShortTensor: _LegacyType
__version__: _str
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value, elementwise; the modulus of complex numbers."""
def abs_(input: Tensor) -> Tensor:
    """In-place form of `abs`: writes the result into this tensor and returns it."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value, elementwise; the modulus of complex numbers."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse cosine in radians, elementwise: between 0 and pi, NaN outside [-1, 1]; within 2 ulp."""
def acos_(input: Tensor) -> Tensor:
    """In-place form of `acos`: writes the result into this tensor and returns it."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine, log(input + sqrt(input * input - 1)), elementwise: NaN below 1."""
def acosh_(input: Tensor) -> Tensor:
    """In-place form of `acosh`: writes the result into this tensor and returns it."""
def adaptive_avg_pool1d(input: Tensor, output_size: _int | _Sequence[_int | None]) -> Tensor:
    """The mean of each window, of windows chosen so that the result has a given size."""
def adaptive_max_pool1d(input: Tensor, output_size: _int | _Sequence[_int | None]) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and where in its row it is, of windows chosen so that the result has a given size."""
def add(input: Tensor, other: _Operand, *deprecated: _Any, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """input + alpha * other, elementwise."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * the sum of the products of two batches, as one product of depth b * m."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: _Operand = 1, *, out: Tensor | None = None) -> Tensor:
    """input + value * tensor1 / tensor2, elementwise."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: _Operand = 1, *, out: Tensor | None = None) -> Tensor:
    """input + value * tensor1 * tensor2, elementwise."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), in one kernel; with beta 0 the input is not read."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * (mat @ vec); with beta 0 the input is not read."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1) -> Tensor:
    """The in-place form of `addmv`: this tensor is its input and takes the result."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2); with beta 0 the input is not read."""
def adjoint(input: Tensor) -> Tensor:
    """The conjugate of the transposed matrices: `mH`."""
def affine_grid_generator(theta: Tensor, size: _Dims, align_corners: _bool) -> Tensor:
    """`nn.functional.affine_grid`, where the corners have to be said."""
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `alias` gives, in memory of its own."""
def all(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """Whether all elements are non-zero: a bool, of uint8 a uint8. True of none."""
def allclose(input: Tensor, other: _Operand, rtol: _Scalar = 1e-05, atol: _Scalar = 1e-08, equal_nan: _bool = False) -> _bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere."""
def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Elements set to selu's negative limit with probability p, then all scaled and shifted so that mean 0 and variance 1 stay"""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`alpha_dropout` in place."""
def amax(input: Tensor, dim: _Dims = ..., keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """The largest element along dimensions; NaN where there is one. Elements that tie share the gradient evenly."""
def amin(input: Tensor, dim: _Dims = ..., keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """The smallest element along dimensions; NaN where there is one. Elements that tie share the gradient evenly."""
def aminmax(input: Tensor, *, dim: _Dims | None = None, keepdim: _bool = False, out: _Any = None) -> _AminMax:
    """The smallest and the largest element, as (min, max)."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of complex numbers in radians, between -pi and pi; of real ones pi where they are below zero, else 0."""
def any(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """Whether any element is non-zero: a bool, of uint8 a uint8."""
def arange(start: _Scalar | None = None, end: _Operand | None = None, step: _Scalar = 1, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """`start, start + step, ...` up to but without `end`; from 0 when only one bound is given."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse cosine in radians, elementwise: between 0 and pi, NaN outside [-1, 1]; within 2 ulp."""
def arccos_(input: Tensor) -> Tensor:
    """In-place form of `acos`: writes the result into this tensor and returns it."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine, log(input + sqrt(input * input - 1)), elementwise: NaN below 1."""
def arccosh_(input: Tensor) -> Tensor:
    """In-place form of `acosh`: writes the result into this tensor and returns it."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse sine in radians, elementwise: between -pi/2 and pi/2, NaN outside [-1, 1]; within 2.5 ulp."""
def arcsin_(input: Tensor) -> Tensor:
    """In-place form of `asin`: writes the result into this tensor and returns it."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic sine, log(input + sqrt(input * input + 1)), elementwise."""
def arcsinh_(input: Tensor) -> Tensor:
    """In-place form of `asinh`: writes the result into this tensor and returns it."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse tangent in radians, elementwise: between -pi/2 and pi/2."""
def arctan2(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Angle of the point (other, input) in radians, elementwise: between -pi and pi, by the signs of both."""
def arctan_(input: Tensor) -> Tensor:
    """In-place form of `atan`: writes the result into this tensor and returns it."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent, log((1 + input) / (1 - input)) / 2, elementwise: NaN outside [-1, 1]."""
def arctanh_(input: Tensor) -> Tensor:
    """In-place form of `atanh`: writes the result into this tensor and returns it."""
def are_deterministic_algorithms_enabled() -> _bool:
    """Whether `use_deterministic_algorithms` asked for them."""
def argmax(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """The index of the first largest element, of all (row-major) or along a dimension. NaN counts as largest."""
def argmin(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """The index of the first smallest element, of all (row-major) or along a dimension. NaN counts as smallest."""
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, axis: _Dims | None = None) -> Tensor:
    """The indices that put a dimension in order. Always stable; NaN counts as greatest."""
def argwhere(input: Tensor) -> Tensor:
    """The indices of elements that are not zero, in row-major order: `nonzero`."""
def as_strided(input: Tensor, size: _Dims, stride: _Dims, storage_offset: _int | None = None) -> Tensor:
    """Any shape and strides over this tensor's storage."""
def as_strided_(self: Tensor, size: _Dims, stride: _Dims, storage_offset: _int | None = None) -> Tensor:
    """See this tensor's memory under another shape and strides from now on; see `as_strided`."""
def as_strided_copy(input: Tensor, size: _Dims, stride: _Dims, storage_offset: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """What `as_strided` gives, in memory of its own."""
def as_strided_scatter(input: Tensor, src: Tensor, size: _Dims, stride: _Dims, storage_offset: _int | None = None) -> Tensor:
    """A copy of `input` with `src` in the place of `input.as_strided(size, stride, storage_offset)`."""
def as_tensor(data: _Any, dtype: _dtype | None = None, device: _Device | None = None) -> Tensor:
    """`data` as a tensor, sharing its memory where it can: a tensor is returned, a NumPy array wrapped, the rest copied."""
def asarray(obj: _Any, *, dtype: _dtype | None = None, device: _Device | None = None, copy: _Any = None, requires_grad: _bool = False) -> Tensor:
    """`obj` as a tensor, sharing its memory where it can; gradients flow through it to a tensor."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse sine in radians, elementwise: between -pi/2 and pi/2, NaN outside [-1, 1]; within 2.5 ulp."""
def asin_(input: Tensor) -> Tensor:
    """In-place form of `asin`: writes the result into this tensor and returns it."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic sine, log(input + sqrt(input * input + 1)), elementwise."""
def asinh_(input: Tensor) -> Tensor:
    """In-place form of `asinh`: writes the result into this tensor and returns it."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse tangent in radians, elementwise: between -pi/2 and pi/2."""
def atan2(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Angle of the point (other, input) in radians, elementwise: between -pi and pi, by the signs of both."""
def atan_(input: Tensor) -> Tensor:
    """In-place form of `atan`: writes the result into this tensor and returns it."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent, log((1 + input) / (1 - input)) / 2, elementwise: NaN outside [-1, 1]."""
def atanh_(input: Tensor) -> Tensor:
    """In-place form of `atanh`: writes the result into this tensor and returns it."""
@_overload
def atleast_1d(tensor: Tensor, /) -> Tensor:
    """Tensors with at least one dimension."""
@_overload
def atleast_1d(*tensors: _TensorOrTensors) -> tuple[Tensor, ...]: ...
@_overload
def atleast_2d(tensor: Tensor, /) -> Tensor:
    """Tensors with at least two dimensions; vectors become rows."""
@_overload
def atleast_2d(*tensors: _TensorOrTensors) -> tuple[Tensor, ...]: ...
@_overload
def atleast_3d(tensor: Tensor, /) -> Tensor:
    """Tensors with at least three dimensions; vectors become (1, n, 1), matrices (n, m, 1)."""
@_overload
def atleast_3d(*tensors: _TensorOrTensors) -> tuple[Tensor, ...]: ...
def autocast_decrement_nesting() -> _int:
    """Leave a region. Returns how deep this thread is then."""
def autocast_increment_nesting() -> _int:
    """Enter a region deeper. Returns how deep this thread is then."""
def avg_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor:
    """The mean of each window."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2); with beta 0 the input is not read."""
def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A triangle: 1 - |2 n / N - 1|."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: _bool = False, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel, over all else (Ioffe and Szegedy 2015)."""
def bernoulli(input: Tensor, p: _Scalar | None = None, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability that each element of `input` gives, whose gradient is 0 (or with probability p), else 0."""
bfloat16: _dtype
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 A_k x2 + b_k for each output k."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """-(p y log s + (1 - y) log(1 - s)) with s = sigmoid(input), exact for large |input|."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of the weights where it does."""
def binomial(count: Tensor, prob: Tensor, generator: _Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`, elementwise. Its gradient is 0."""
def bitwise_and(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits that both have, elementwise; `and` for bools."""
def bitwise_left_shift(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input shifted left by other bits, elementwise: input * 2**other."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit inverted, elementwise: -input - 1 for signed integers, `not` for bools."""
def bitwise_or(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits that either has, elementwise; `or` for bools."""
def bitwise_right_shift(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input shifted right by other bits, keeping the sign, elementwise: floor(input / 2**other)."""
def bitwise_xor(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The bits that just one has, elementwise; `!=` for bools."""
def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)."""
def block_diag(*tensors: _TensorOrTensors) -> Tensor:
    """A matrix with these along its diagonal, and 0 elsewhere."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Products of two batches of matrices."""
bool: _dtype
def broadcast_shapes(*shapes: _Any) -> _Size:
    """The shape that all of these broadcast to."""
def broadcast_tensors(*tensors: _TensorOrTensors) -> tuple[Tensor, ...]:
    """Views of the tensors, all of the shape they broadcast to."""
def broadcast_to(input: Tensor, size: _Dims, *further: _Any) -> Tensor:
    """Broadcast to a shape without copying: `expand`."""
def btrifact(A: Tensor, pivot: _bool = True) -> tuple[Tensor, Tensor]:
    """`torch.linalg.lu_factor` under its older name: the LU factors of matrices, and the pivots."""
def btrifact_with_info(A: Tensor, pivot: _bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """`btrifact`, and for each matrix 0, or the number of the first pivot that is zero."""
def btrisolve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`torch.linalg.lu_solve` with the right-hand side first."""
def btriunpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: _Any = None) -> _Unpacked:
    """(P, L, U) of what `lu_factor` returns."""
def bucketize(input: _Operand, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor:
    """The number of the bucket that each element belongs to, between a vector of sorted boundaries."""
def can_cast(source: _dtype, target: _dtype) -> _bool:
    """Whether a result of one dtype may be written into another: its kind (bool, integer, float, complex) may rise, not fall."""
def cartesian_prod(*tensors: _TensorOrTensors) -> Tensor:
    """All combinations of the elements of vectors."""
def cat(tensors: _Sequence[Tensor], dim: _int = 0, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along a dimension. Dtypes are promoted."""
def ccol_indices_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `ccol_indices` gives, in memory of its own."""
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: _str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The p-norms of the differences of all points of one set and all of another."""
cdouble: _dtype
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer not below input, elementwise."""
def ceil_(input: Tensor) -> Tensor:
    """In-place form of `ceil`: writes the result into this tensor and returns it."""
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere, whose slope has no jump (Barron 2017)."""
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """In-place form of `celu`: writes the result into `input` and returns it."""
cfloat: _dtype
def chain_matmul(*matrices: _Any, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, from the left; `linalg.multi_dot` looks for the best order."""
chalf: _dtype
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels dealt out over groups in turn (Zhang et al. 2018)."""
channels_last: _memory_format
channels_last_3d: _memory_format
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """`torch.linalg.cholesky` under its older name."""
def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A, given its Cholesky factor."""
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The X with A X = B, given A's Cholesky factor."""
def chunk(input: Tensor, chunks: _int, dim: _int = 0, *, axis: _Dims | None = None) -> tuple[Tensor, ...]:
    """At most so many parts of equal size along a dimension; the last may be smaller."""
def clamp(input: Tensor, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """Elements held between `min` and `max`; NaN stays. Where `min` exceeds `max`, `max` comes out."""
def clamp_(self: Tensor, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """In-place form of `clamp`: writes the result into this tensor and returns it."""
def clamp_max(input: Tensor, max: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elements, but at most `max`; NaN stays."""
def clamp_max_(input: Tensor, max: _Operand) -> Tensor:
    """In-place form of `clamp_high`: writes the result into this tensor and returns it."""
def clamp_min(input: Tensor, min: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Elements, but at least `min`; NaN stays."""
def clamp_min_(input: Tensor, min: _Operand) -> Tensor:
    """In-place form of `clamp_low`: writes the result into this tensor and returns it."""
def clear_autocast_cache() -> None:
    """Forget the casts of parameters, as a program must that changes parameters inside of a region."""
def clip(input: Tensor, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """Elements held between `min` and `max`; NaN stays. Where `min` exceeds `max`, `max` comes out."""
def clip_(self: Tensor, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """In-place form of `clamp`: writes the result into this tensor and returns it."""
def clone(input: Tensor, *, memory_format: _memory_format | None = None) -> Tensor:
    """A copy with memory of its own. Gradients pass through."""
def col_indices_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `col_indices` gives, in memory of its own."""
def column_stack(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors side by side; vectors are columns."""
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """All choices of r elements of a vector, a row each, in the order of `itertools.combinations`."""
def compile(model: _Callable[..., _Any] | None = None, *, fullgraph: _bool = False, dynamic: _bool | None = None, backend: _str = 'inductor', mode: _str | None = None, options: dict | None = None, disable: _bool = False, reuse_outputs: _bool = False, memory_budget: _float = 1.0) -> _Any:
    """A function, module or training step that is captured at its second call and replayed from then on."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers of real and imaginary parts."""
complex128: _dtype
complex32: _dtype
complex64: _dtype
def concat(tensors: _Sequence[Tensor], dim: _int = 0, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along a dimension. Dtypes are promoted."""
def concatenate(tensors: _Sequence[Tensor], dim: _int = 0, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """Tensors one after another along a dimension. Dtypes are promoted."""
def cond(pred: Tensor | _bool | _int | _float, true_fn: _Callable[..., _Any], false_fn: _Callable[..., _Any], operands: tuple | list = ...) -> _Any:
    """What one of two functions gives."""
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, which is computed at once; a real tensor itself."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor itself."""
def conj_physical_(input: Tensor) -> Tensor:
    """In-place form of `conj_physical`: writes the result into this tensor and returns it."""
def constant_pad_nd(input: Tensor, pad: _Any, value: _Operand = 0) -> Tensor:
    """`nn.functional.pad` in constant mode, under the name that it has among PyTorch's primitive ops."""
contiguous_format: _memory_format
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Dims = 1, padding: _Dims | _str = 0, dilation: _Dims = 1, groups: _int = 1) -> Tensor:
    """Cross-correlation of sequences: each result is the sum of a window's elements times a kernel's, and a bias."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Dims = 1, padding: _Dims | _str = 0, dilation: _Dims = 1, groups: _int = 1) -> Tensor:
    """Cross-correlation of images: each result is the sum of a window's elements times a kernel's, and a bias."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Dims = 1, padding: _Dims | _str = 0, dilation: _Dims = 1, groups: _int = 1) -> Tensor:
    """Cross-correlation of volumes: each result is the sum of a window's elements times a kernel's, and a bias."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor:
    """Convolution in one dimension of sequences whose time is first and whose channels are last."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Dims = 1, padding: _Dims | _str = 0, output_padding: _Dims = 0, groups: _int = 1, dilation: _Dims = 1) -> Tensor:
    """The transpose of `conv1d`, which its gradient is: each element adds a kernel times itself to the result."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Dims = 1, padding: _Dims | _str = 0, output_padding: _Dims = 0, groups: _int = 1, dilation: _Dims = 1) -> Tensor:
    """The transpose of `conv2d`, which its gradient is: each element adds a kernel times itself to the result."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _Dims = 1, padding: _Dims | _str = 0, output_padding: _Dims = 0, groups: _int = 1, dilation: _Dims = 1) -> Tensor:
    """The transpose of `conv3d`, which its gradient is: each element adds a kernel times itself to the result."""
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: _Dims, padding: _Dims | _str, dilation: _Dims, transposed: _bool, output_padding: _Dims, groups: _int) -> Tensor:
    """`conv1d` to `conv3d` by the number of dimensions, or their transposes."""
def copysign(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """|input| with the sign of other, elementwise, of zeros and NaN too."""
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlation coefficients of variables (rows) from observations (columns): covariances over standard deviations."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Cosine of input in radians, elementwise."""
def cos_(input: Tensor) -> Tensor:
    """In-place form of `cos`: writes the result into this tensor and returns it."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic cosine, (exp(input) + exp(-input)) / 2, elementwise."""
def cosh_(input: Tensor) -> Tensor:
    """In-place form of `cosh`: writes the result into this tensor and returns it."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1, with the cosine of input1 and input2."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along a dimension."""
def count_nonzero(input: Tensor, dim: _Dims | None = None, *further: _Any) -> Tensor:
    """How many elements are not zero, as int64."""
def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of variables (rows) from observations (columns); a vector is one variable."""
def cross(input: Tensor, other: _Operand, dim: _Dims | None = None, *, out: Tensor | None = None) -> Tensor:
    """The vector products of vectors of three elements along `dim`, by default the input's first dimension of that size."""
def crow_indices_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `crow_indices` gives, in memory of its own."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: _Any, target_lengths: _Any, blank: _int = 0, reduction: _int = 1, zero_infinity: _bool = False) -> Tensor:
    """`nn.functional.ctc_loss`, with the reduction as a number."""
def cummax(input: Tensor, dim: _Dims | None = None, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
    """The largest element so far along a dimension and where it was met last, as (values, indices). NaN counts as largest."""
def cummin(input: Tensor, dim: _Dims | None = None, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
    """The smallest element so far along a dimension and where it was met last, as (values, indices). NaN counts as smallest."""
def cumprod(input: Tensor, dim: _Dims | None = None, *, axis: _Dims | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Running products along a dimension. Integers and bools multiply as int64 unless a dtype is given."""
def cumsum(input: Tensor, dim: _Dims | None = None, *, axis: _Dims | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Running sums along a dimension. Integers and bools sum as int64 unless a dtype is given."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _float = 1, dim: _int = -1) -> Tensor:
    """The running area below samples along a dimension, by the trapezoidal rule; of n samples n - 1 areas."""
default_generator: _Generator
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians, elementwise."""
def deg2rad_(input: Tensor) -> Tensor:
    """In-place form of `deg2rad`: writes the result into this tensor and returns it."""
def det(input: Tensor) -> Tensor:
    """`torch.linalg.det` under its older name."""
def detach(input: Tensor) -> Tensor:
    """A tensor over the same memory, apart from the graph: no gradient passes."""
def detach_(self: Tensor) -> Tensor:
    """Take this tensor out of the graph, in place, and return it."""
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `detach` gives, in memory of its own."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """A matrix with a vector as its diagonal, or the diagonal of a matrix, in memory of its own."""
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Matrices in dimensions dim1 and dim2, zero but for a diagonal, which the last dimension of `input` holds."""
def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """A matrix with all elements of a tensor as its diagonal, in row-major order."""
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A diagonal of two dimensions, as a new last dimension."""
def diagonal_copy(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """What `diagonal` gives, in memory of its own."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A copy of `input` with `src` in the place of `input.diagonal(offset, dim1, dim2)`."""
def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """Differences of neighbours along a dimension, taken n times; bools differ or not."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of lgamma, gamma'(input) / gamma(input), elementwise; within 5 ulp above 0."""
def dist(input: Tensor, other: _Operand, p: _float = 2) -> Tensor:
    """The p-norm of the difference of two tensors."""
def div(input: Tensor, other: _Operand, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other, elementwise, rounded where `rounding_mode` says so."""
def divide(input: Tensor, other: _Operand, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other, elementwise, rounded where `rounding_mode` says so."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors."""
double: _dtype
def draw(*results: _Any, names: _Any = None) -> _Drawing:
    """The graph behind tensors: a box for every recorded call, with its attributes and what it saved, an oval for every leaf."""
def dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Each element set to 0 with probability p, the others divided by 1 - p (Srivastava et al. 2014)."""
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`dropout` in place."""
def dsmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
def dsplit(input: Tensor, indices_or_sections: _Dims | Tensor) -> tuple[Tensor, ...]:
    """Parts along dimension 2."""
def dstack(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors along dimension 2; vectors become (1, n, 1), matrices (n, m, 1)."""
e: _float
def eig(input: Tensor, eigenvectors: _bool = False) -> _Eigen:
    """The eigenvalues of a real square matrix as rows (real part, imaginary part), as before `torch.linalg.eig`."""
def einsum(equation: _str, *operands: _Any) -> Tensor:
    """Einstein summation, such as `einsum("bij,bjk->bik", a, b)`: operands are multiplied in pairs as batched products."""
def elu(input: Tensor, alpha: _Operand = 1.0, *, out: Tensor | None = None) -> Tensor:
    """input where positive, alpha * (exp(input) - 1) elsewhere (Clevert et al. 2016)."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = -1, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> Tensor:
    """Rows of `weight` at `indices`: what `functional.embedding` is, with the table first."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: _Scalar | None = None, norm_type: _float = 2, scale_grad_by_freq: _bool = False, mode: _str = 'mean', sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None) -> Tensor:
    """Sums, means or maxima of the rows of `weight` that bags of indices name."""
def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: _float, norm_type: _float = 2.0) -> Tensor:
    """Scale the rows of `weight` that `indices` name and whose norm is above `max_norm` down to it, in place."""
def empty(*shape: _Dims, size: _Dims | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, memory_format: _memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """A tensor of uninitialised elements."""
def empty_cache() -> None:
    """Give every unused cached block of memory back to the system."""
def empty_like(input: Tensor, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, memory_format: _memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Uninitialised, with the shape, dtype, device and dense strides of another tensor."""
def empty_permuted(size: _Dims, physical_layout: _Any, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of uninitialised elements whose dimensions lie in memory in another order."""
def empty_strided(size: _Dims, stride: _Dims, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor of uninitialised elements, of any strides."""
def eq(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input == other, elementwise."""
def equal(input: Tensor, other: _Operand) -> _bool:
    """Whether two tensors have the same shape and elements. NaN is not equal to NaN."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to input, elementwise."""
def erf_(input: Tensor) -> Tensor:
    """In-place form of `erf`: writes the result into this tensor and returns it."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), elementwise, without the cancellation for large input; within 5 ulp, 2 with AVX-512."""
def erfc_(input: Tensor) -> Tensor:
    """In-place form of `erfc`: writes the result into this tensor and returns it."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of the error function, elementwise: infinite at -1 and 1, NaN outside."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power input, elementwise."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power input, elementwise; exact for integers."""
def exp2_(input: Tensor) -> Tensor:
    """In-place form of `exp2`: writes the result into this tensor and returns it."""
def exp_(input: Tensor) -> Tensor:
    """In-place form of `exp`: writes the result into this tensor and returns it."""
def expand(input: Tensor, *sizes: _Dims, size: _Dims | None = None) -> Tensor:
    """Broadcast to a shape without copying."""
def expand_copy(input: Tensor, size: _Dims, *, implicit: _bool = False, out: Tensor | None = None) -> Tensor:
    """What `expand` gives, in memory of its own."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) - 1, elementwise, without the cancellation near 0."""
def expm1_(input: Tensor) -> Tensor:
    """In-place form of `expm1`: writes the result into this tensor and returns it."""
def eye(n: _int, m: _int | None = None, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """An n x m matrix (square when m is None) with ones on the diagonal."""
def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: one draw for each (n, c)."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`feature_alpha_dropout` in place."""
def feature_dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Whole channels set to 0 with probability p, the others divided by 1 - p: one draw for each (n, c)."""
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`feature_dropout` in place."""
def fill(input: Tensor, value: _Operand) -> Tensor:
    """A tensor like `input` with every element `value`; the gradient of `input` is 0."""
def fill_(self: Tensor, value: _Operand) -> Tensor:
    """Set every element to a value and return this tensor."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input without its fraction, elementwise: rounded towards 0."""
def fix_(input: Tensor) -> Tensor:
    """In-place form of `trunc`: writes the result into this tensor and returns it."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Dimensions from `start_dim` to `end_dim` merged into one: a view where the strides allow it, else a copy."""
def flip(input: Tensor, *along: _Dims, dims: _Dims | None = None) -> Tensor:
    """The order of elements reversed along dimensions, copied, in memory as the input lies."""
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order, copied."""
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order, copied."""
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
float8_e4m3fn: _ShortFloat
float8_e4m3fnuz: _ShortFloat
float8_e5m2: _ShortFloat
float8_e5m2fnuz: _ShortFloat
float8_e8m0fnu: _ShortFloat
def float_power(input: Tensor, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input to the power exponent, elementwise, computed in float64 (complex numbers in complex128)."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest integer not above input, elementwise."""
def floor_(input: Tensor) -> Tensor:
    """In-place form of `floor`: writes the result into this tensor and returns it."""
def floor_divide(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """floor(input / other), elementwise: rounded down, as Python's //."""
def fmax(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The larger of input and other, elementwise; the number where the other is NaN."""
def fmin(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The smaller of input and other, elementwise; the number where the other is NaN."""
def fmod(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input - other * trunc(input / other), elementwise: the remainder with the sign of the dividend, as C's fmod."""
def fork(func: _Any, *args: _Any, **kwargs: _Any) -> _Future[_Any]:
    """A future of `func(*args, **kwargs)`, which is called at once, as PyTorch does outside of scripts."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input - trunc(input): the fraction, with the sign of input, elementwise."""
def frac_(input: Tensor) -> Tensor:
    """In-place form of `frac`: writes the result into this tensor and returns it."""
def frexp(input: Tensor, *, out: _Any = None) -> _Frexp:
    """mantissa * 2**exponent, elementwise."""
def frobenius_norm(input: Tensor, dim: _Dims, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """`torch.linalg.vector_norm(input, 2, dim)` of at most two dimensions, under its older name."""
def from_dlpack(ext_tensor: _Any, *, device: _Device | None = None, copy: _bool | None = None) -> Tensor:
    """A tensor over the memory of anything that speaks DLPack, such as a PyTorch or NumPy array."""
def from_numpy(array: _ndarray[_Any, _Any]) -> Tensor:
    """A tensor over a NumPy array's memory; changing one changes the other."""
def frombuffer(buffer: _Any, *, dtype: _dtype, count: _int = -1, offset: _int = 0, requires_grad: _bool = False) -> Tensor:
    """A 1-d tensor over the memory of an object with the buffer protocol."""
def full(size: _Dims, fill_value: _Operand, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """A tensor with every element `fill_value`, whose kind decides the dtype when none is given."""
def full_like(input: Tensor, fill_value: _Operand, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, memory_format: _memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Every element `fill_value`, with the shape, dtype, device and dense strides of another tensor."""
@_overload
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool=..., out: Tensor | None=...) -> Tensor:
    """Elements along a dimension, one for each index: `out[i][j] = input[index[i][j]][j]` for dim 0."""
@_overload
def gather(input: Tensor, *, axis: _int, index: Tensor, sparse_grad: _bool=..., out: Tensor | None=...) -> Tensor: ...
def gcd(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor of integers, elementwise; not negative. Euclid's algorithm."""
def gcd_(input: Tensor, other: _Operand) -> Tensor:
    """In-place form of `gcd`: writes the result into this tensor and returns it."""
def ge(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input >= other, elementwise; no comparison with NaN holds."""
def gels(B: Tensor, A: Tensor) -> _LeastSquares:
    """`torch.linalg.lstsq(A, B)` under LAPACK's name. Of more rows than columns, what the solution leaves of B stands below it: its"""
def gelu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * Phi(input), with Phi the normal distribution function (Hendrycks and Gimpel 2016)."""
def geqrf(input: Tensor, *, out: _Any = None) -> _Geqrf:
    """The QR factorisation as LAPACK leaves it: R, and below it the reflections whose product is Q."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of every element of one vector with every element of another, as a matrix."""
def gesv(B: Tensor, A: Tensor) -> _Solution:
    """`torch.linalg.solve(A, B)` under LAPACK's name, with the LU factors of A."""
def get_autocast_cpu_dtype() -> _dtype:
    """`get_autocast_dtype("cpu")`."""
def get_autocast_dtype(device_type: _str) -> _dtype:
    """The dtype of regions for a kind of device."""
def get_autocast_gpu_dtype() -> _dtype:
    """`get_autocast_dtype("cuda")`."""
def get_default_device() -> _device:
    """Where new tensors are made when no device is named."""
def get_default_dtype() -> _dtype:
    """The dtype that floating-point literals become; float32 unless `set_default_dtype` changed it."""
def get_deterministic_debug_mode() -> _int:
    """0, 1 or 2, as `set_deterministic_debug_mode` was told."""
def get_device(self: Tensor) -> _int:
    """The CUDA device's index; -1 on the CPU."""
def get_device_module(device: _Device | None = None) -> _Any:
    """The module of a kind of device: `torch.cuda` or `torch.cpu`."""
def get_float32_matmul_precision() -> _str:
    """What `set_float32_matmul_precision` was given."""
def get_num_interop_threads() -> _int:
    """What `set_num_interop_threads` was given; 1 before."""
def get_num_threads() -> _int:
    """How many threads a large enough operation is split over: $NUMTORCH_NUM_THREADS, $OMP_NUM_THREADS, or all processors."""
def get_rng_state() -> Tensor:
    """Where the default stream is: its seed and position, as 16 bytes."""
def gradient(input: Tensor, *, spacing: _Any = 1, dim: _Dims | None = None, edge_order: _int = 1) -> tuple:
    """The slopes of samples along each dimension, or those of `dim`: second-order differences inside (Fornberg 1988)."""
def greater(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input > other, elementwise; no comparison with NaN holds."""
def greater_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input >= other, elementwise; no comparison with NaN holds."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """`nn.functional.grid_sample` with numbers for modes."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """`nn.functional.grid_sample` with numbers for modes."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """`nn.functional.grid_sample` with numbers for modes."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over each group of channels of each example (Wu and He 2018)."""
def gru(*arguments: _Any) -> tuple:
    """A GRU network over whole sequences: what `nn.GRU` calls."""
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of a GRU."""
def gt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input > other, elementwise; no comparison with NaN holds."""
half: _dtype
def hamming_window(window_length: _int, periodic: _bool = True, alpha: _float = 0.54, beta: _float = 0.46, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """alpha - beta cos(2 pi n / N), whose first side lobe is nearly cancelled by the defaults."""
def hann_window(window_length: _int, periodic: _bool = True, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """Half a cosine above its least value: (1 - cos(2 pi n / N)) / 2."""
def hardshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x, and 0 where |x| is at most lambd."""
def hardsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input / 6 + 1/2 held between 0 and 1 (Courbariaux et al. 2015)."""
def hardswish(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * hardsigmoid(input) (Howard et al. 2019)."""
def hardtanh(input: Tensor, min_val: _Scalar = -1.0, max_val: _Scalar = 1.0, *, out: Tensor | None = None) -> Tensor:
    """input held between min_val and max_val."""
def hash_tensor(input: Tensor, dim: _Dims = ..., *, keepdim: _bool = False, mode: _int = 0, out: Tensor | None = None) -> Tensor:
    """The exclusive or of elements as 64-bit words: integers as int64, floats as float64."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 below 0 and for NaN, 1 above, `values` at 0, elementwise."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = 1.0, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1: for distances of pairs that are alike or not."""
def histc(input: Tensor, bins: _int = 100, min: _float = 0, max: _float = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements fall into each of equal bins between `min` and `max` (the data's own range where these are equal)."""
def histogram(input: Tensor, bins: _Any = 100, *, range: _Any = None, weight: Tensor | None = None, density: _bool = False, out: _Any = None) -> _Histogram:
    """Counts (or summed weights) of elements between bin edges, as (hist, bin_edges). The last bin is closed."""
def histogramdd(input: Tensor, bins: _Any, *, range: _Any = None, weight: Tensor | None = None, density: _bool = False) -> _Any:
    """Counts (or summed weights) of points in boxes, as (hist, bin_edges). The last bin of each dimension is closed."""
def hsmm(mat1: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a sparse and a dense matrix, of which the rows that `mat1` stores anything in are stored, whole."""
def hsplit(input: Tensor, indices_or_sections: _Dims | Tensor) -> tuple[Tensor, ...]:
    """Parts along dimension 1, of a vector along its only one."""
def hspmm(mat1: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a sparse and a dense matrix, of which the rows that `mat1` stores anything in are stored, whole."""
def hstack(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors side by side: along dimension 1, or 0 for vectors."""
def hypot(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """sqrt(input * input + other * other), elementwise, without overflow on the way."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0, elementwise: the solution of input f'' + f' = input f with f(0) = 1; within 6 ulp."""
def i0_(input: Tensor) -> Tensor:
    """In-place form of `i0`: writes the result into this tensor and returns it."""
def igamma(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function P(input, other), elementwise."""
def igammac(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function Q(input, other), elementwise."""
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view."""
@_overload
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Scalar=..., out: Tensor | None=...) -> Tensor:
    """A copy of the tensor after `index_add_`, whose arguments it takes."""
@_overload
def index_add(input: Tensor, *, axis: _int, index: Tensor, source: Tensor, alpha: _Scalar=..., out: Tensor | None=...) -> Tensor: ...
def index_copy(self: Tensor, dim: _Dims, index: Tensor, source: _Any, *, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor after `index_copy_`, whose arguments it takes."""
def index_fill(self: Tensor, dim: _Dims, index: Tensor, value: _Operand, *, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor after `index_fill_`, whose arguments it takes."""
def index_put(input: Tensor, indices: _Any, values: Tensor, accumulate: _bool = False) -> Tensor:
    """A copy of this tensor after `index_put_`: with `values` at the places that indices name."""
def index_put_(self: Tensor, indices: _Any, values: Tensor, accumulate: _bool = False) -> Tensor:
    """Write values to where index tensors or masks point, and return this tensor."""
def index_reduce(input: Tensor, dim: _Dims, index: Tensor, source: _Any, reduce: _bool | _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor, with the slices of `source` combined into the places in a dimension that a vector `index` names."""
@_overload
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None=...) -> Tensor:
    """The slices of a dimension that a vector of indices names, in its order."""
@_overload
def index_select(input: Tensor, *, axis: _int, index: Tensor, out: Tensor | None=...) -> Tensor: ...
def indices_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `indices` gives, in memory of its own."""
inf: _float
def initial_seed() -> _int:
    """The seed the default stream started from."""
def inner(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The sums of products over the last dimension of both: (..., n) and (***, n) give (..., ***)."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: _bool = True, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of each example (Ulyanov et al. 2016)."""
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`torch.linalg.inv` under its older name."""
def is_anomaly_check_nan_enabled() -> _bool:
    """Whether this thread is in anomaly mode and looks for NaN in gradients."""
def is_anomaly_enabled() -> _bool:
    """Whether this thread is in anomaly mode."""
def is_autocast_cache_enabled() -> _bool:
    """Whether casts of parameters are kept until the outermost region ends."""
def is_autocast_cpu_enabled() -> _bool:
    """`is_autocast_enabled("cpu")`."""
def is_autocast_enabled(device_type: _str = 'cuda') -> _bool:
    """Whether this thread is in a region for a kind of device."""
def is_complex(input: Tensor) -> _bool:
    """Whether a tensor's dtype is complex."""
def is_conj(input: Tensor) -> _bool:
    """False: conjugates are computed when they are asked for."""
def is_deterministic_algorithms_warn_only_enabled() -> _bool:
    """Whether `use_deterministic_algorithms` was called with `warn_only`."""
def is_distributed(self: Tensor) -> _bool:
    """Whether the elements are on several machines: no."""
def is_floating_point(input: Tensor) -> _bool:
    """Whether a tensor's dtype is floating point; complex is not."""
def is_grad_enabled() -> _bool:
    """Whether operations are recorded in this thread."""
def is_inference(self: Tensor) -> _bool:
    """Whether the memory was made in `inference_mode`: no backward can save it, and it is written to inside the mode only."""
def is_inference_mode_enabled() -> _bool:
    """Whether this thread is inside `inference_mode`."""
def is_neg(input: Tensor) -> _bool:
    """Whether the tensor stands for its negative: never, here."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element of a tensor is not 0."""
def is_same_size(input: Tensor, other: _Operand) -> _bool:
    """Whether two tensors have the same shape."""
def is_signed(self: Tensor) -> _bool:
    """Whether the elements may be negative."""
def is_storage(obj: _Any) -> _bool:
    """Whether an object is the memory of tensors."""
def is_tensor(obj: _Any) -> _bool:
    """Whether an object is a Tensor."""
def is_warn_always_enabled() -> _bool:
    """What `set_warn_always` was given; False before."""
def isclose(input: Tensor, other: _Operand, rtol: _Scalar = 1e-05, atol: _Scalar = 1e-08, equal_nan: _bool = False) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|; infinities are close to themselves."""
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether input is neither infinite nor NaN, elementwise."""
def isin(elements: _Operand, test_elements: _Operand, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None) -> Tensor:
    """Whether each element is one of `test_elements`."""
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether input is plus or minus infinity, elementwise; of a complex number, whether a part is."""
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether input is not a number, elementwise; of a complex number, whether a part is not."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether input is minus infinity, elementwise."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether input is plus infinity, elementwise."""
def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether input has no imaginary part, elementwise."""
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
    """The signal whose `stft` is given (Griffin and Lim, "Signal estimation from modified short-time Fourier transform", 1984)."""
def kaiser_window(window_length: _int, periodic: _bool = True, beta: _float = 12.0, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta), with I0 the modified Bessel function of the first kind and order 0."""
def kl_div(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean', log_target: _bool = False) -> Tensor:
    """target * (log target - input): the divergence of `input` from `target` (Kullback and Leibler 1951), where target is 0"""
def kron(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Kronecker's product: every element of the first times the whole of the second, in its place."""
def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
    """The k-th smallest element along a dimension, as (values, indices). NaN counts as greatest."""
def layer_norm(input: Tensor, normalized_shape: _Dims, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions (Ba et al. 2016)."""
def lcm(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple of integers, elementwise; not negative."""
def lcm_(input: Tensor, other: _Operand) -> Tensor:
    """In-place form of `lcm`: writes the result into this tensor and returns it."""
def ldexp(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input * 2**other, elementwise."""
def ldexp_(input: Tensor, other: _Operand) -> Tensor:
    """In-place form of `ldexp`: writes the result into this tensor and returns it."""
def le(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input <= other, elementwise; no comparison with NaN holds."""
def leaky_relu(input: Tensor, negative_slope: _Scalar = 0.01, *, out: Tensor | None = None) -> Tensor:
    """input where positive, negative_slope * input elsewhere (Maas et al. 2013)."""
def lerp(input: Tensor, end: _Operand, weight: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input + weight * (end - input), from whichever end is nearer, elementwise."""
def less(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input < other, elementwise; no comparison with NaN holds."""
def less_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input <= other, elementwise; no comparison with NaN holds."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of |gamma(input)|, elementwise: infinite at 0 and the integers below; within 3 ulp above 0."""
def linspace(start: _Scalar, end: _Operand, steps: _Scalar, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """`steps` values from `start` to `end`, both included, evenly spaced."""
def load(f: _FileLike, map_location: _Any = None, pickle_module: _Any = None, *, weights_only: _bool | None = None, mmap: _bool | None = None, **pickle_load_args: _Any) -> _Any:
    """Read what `save` wrote, here or in PyTorch."""
def lobpcg(A: Tensor, k: _int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: _int | None = None, iK: Tensor | None = None, niter: _int | None = None, tol: _Scalar | None = None, largest: _Any = None, method: _Any = None, tracker: _Any = None, ortho_iparams: _Any = None, ortho_fparams: _Any = None, ortho_bparams: _Any = None) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues and their vectors of symmetric A, or of A x = e B x, by LOBPCG."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm, elementwise: minus infinity of 0, NaN below."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10, elementwise."""
def log10_(input: Tensor) -> Tensor:
    """In-place form of `log10`: writes the result into this tensor and returns it."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), elementwise, without the loss of digits near 0."""
def log1p_(input: Tensor) -> Tensor:
    """In-place form of `log1p`: writes the result into this tensor and returns it."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 2, elementwise."""
def log2_(input: Tensor) -> Tensor:
    """In-place form of `log2`: writes the result into this tensor and returns it."""
def log_(input: Tensor) -> Tensor:
    """In-place form of `log`: writes the result into this tensor and returns it."""
def log_softmax(input: Tensor, dim: _Dims | None = None, dtype: _dtype | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """log(softmax(x)) along a dimension, exact where softmax underflows."""
def logaddexp(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """log(exp(input) + exp(other)), elementwise, without overflow."""
def logaddexp2(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """log2(2**input + 2**other), elementwise, without overflow."""
def logcumsumexp(input: Tensor, dim: _Dims | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """log of the running sums of exponentials along a dimension, shifted so that nothing overflows."""
def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants of square matrices; NaN for a negative one, -inf for 0."""
def logical_and(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether both are non-zero, elementwise."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether input is zero, elementwise."""
def logical_or(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether either is non-zero, elementwise."""
def logical_xor(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """Whether just one is non-zero, elementwise."""
def logit(input: Tensor, eps: _Scalar | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(input / (1 - input)), elementwise: the inverse of `sigmoid`."""
def logit_(input: Tensor, eps: _Scalar | None = None) -> Tensor:
    """In-place form of `logit`: writes the result into this tensor and returns it."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(input)), elementwise, exact for large |input|."""
def logspace(start: _Scalar, end: _Operand, steps: _Scalar, base: _float = 10.0, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """`steps` values from base**start to base**end, both included, evenly spaced in the exponent; whole powers are exact."""
def logsumexp(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) along dimensions, shifted by the largest element so that nothing overflows."""
long: _dtype
def lstm(*arguments: _Any) -> tuple:
    """An LSTM network over whole sequences: what `nn.LSTM` calls."""
def lstm_cell(input: Tensor, hx: _Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> tuple:
    """One step of an LSTM, all four gates in one kernel after the products."""
def lstsq(B: Tensor, A: Tensor) -> _LeastSquares:
    """`torch.linalg.lstsq(A, B)` under LAPACK's name. Of more rows than columns, what the solution leaves of B stands below it: its"""
def lt(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input < other, elementwise; no comparison with NaN holds."""
def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False, out: _Any = None) -> tuple[Tensor, ...]:
    """`torch.linalg.lu_factor_ex` under its older name: it does not raise where a pivot is 0."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`torch.linalg.lu_solve` with the right-hand side first."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: _Any = None) -> _Unpacked:
    """(P, L, U) of what `lu_factor` returns."""
def manual_seed(seed: _int) -> _Generator:
    """Start the default stream that belongs to a seed, and return it."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """max(0, -target * (input1 - input2) + margin): 1 in the target wants input1 above input2, -1 below."""
def masked_fill(input: Tensor, mask: Tensor, value: _Operand) -> Tensor:
    """`value` where the mask holds, the tensor's own element elsewhere."""
def masked_scatter(self: Tensor, mask: Tensor, source: _Any, *, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor after `masked_scatter_`, whose arguments it takes."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where a mask holds, in one dimension."""
def matmul(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The matrix product, with NumPy's rules: vectors are rows or columns, and batch dimensions broadcast."""
def matrix_exp(input: Tensor) -> Tensor:
    """The sum of A^k / k!, of square matrices."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Square matrices times themselves, n times; inverted first for a negative n."""
def matrix_rank(input: Tensor, tol: _Scalar | None = None, symmetric: _bool = False) -> Tensor:
    """`torch.linalg.matrix_rank` under its older name."""
@_overload
def max(input: Tensor, *, out: Tensor | None=...) -> Tensor:
    """The largest element; with a dimension, (values, indices) along it; with a second tensor, `maximum`. NaN where there is one."""
@_overload
def max(input: Tensor, dim: _int, keepdim: _bool=..., *, out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
@_overload
def max(input: Tensor, *, axis: _int, keepdims: _bool=..., out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
@_overload
def max(input: Tensor, dim: Tensor, *, out: Tensor | None=...) -> Tensor: ...
@_overload
def max_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _Literal[False] = False) -> Tensor:
    """The largest element of each window."""
@_overload
def max_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def max_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _Any: ...
def max_pool1d_with_indices(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with the places of the maxima."""
@_overload
def max_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _Literal[False] = False) -> Tensor:
    """The largest element of each window."""
@_overload
def max_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def max_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _Any: ...
@_overload
def max_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _Literal[False] = False) -> Tensor:
    """The largest element of each window."""
@_overload
def max_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def max_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _Any: ...
def maximum(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The larger of input and other, elementwise; NaN where either is NaN. Where they are equal, each has half of the gradient."""
def mean(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of all elements, or along dimensions."""
@_overload
def median(input: Tensor, *, out: Tensor | None=...) -> Tensor:
    """The middle element, the lower of two; with a dimension, (values, indices) along it. NaN where there is one."""
@_overload
def median(input: Tensor, dim: _int, keepdim: _bool=..., *, out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
@_overload
def median(input: Tensor, *, axis: _int, keepdims: _bool=..., out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
def meshgrid(*tensors: _TensorOrTensors, indexing: _str | None = None) -> tuple[Tensor, ...]:
    """Vectors expanded to the grid that they span."""
@_overload
def min(input: Tensor, *, out: Tensor | None=...) -> Tensor:
    """The smallest element; with a dimension, (values, indices) along it; with a second tensor, `minimum`. NaN where there is one."""
@_overload
def min(input: Tensor, dim: _int, keepdim: _bool=..., *, out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
@_overload
def min(input: Tensor, *, axis: _int, keepdims: _bool=..., out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
@_overload
def min(input: Tensor, dim: Tensor, *, out: Tensor | None=...) -> Tensor: ...
def minimum(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The smaller of input and other, elementwise; NaN where either is NaN. Where they are equal, each has half of the gradient."""
def mish(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * tanh(softplus(input)), elementwise (Misra 2019)."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
    """The commonest element along a dimension, the smallest of several, and the last place of it, as (values, indices)."""
def moveaxis(input: Tensor, source: _Dims, destination: _Dims) -> Tensor:
    """Dimensions moved to other places; the others keep their order."""
def movedim(input: Tensor, source: _Dims, destination: _Dims) -> Tensor:
    """Dimensions moved to other places; the others keep their order."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elements in order along the first dimension."""
def mul(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input * other, elementwise."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Indices drawn in proportion to each row's weights."""
def multiply(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input * other, elementwise."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p, elementwise."""
nan: _float
def nan_to_num(input: Tensor, nan: _Operand | None = None, posinf: _Operand | None = None, neginf: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """Numbers instead of NaN and of the infinities, elementwise; of complex numbers in either part. A copy of integers."""
def nan_to_num_(input: Tensor, nan: _Operand | None = None, posinf: _Operand | None = None, neginf: _Operand | None = None) -> Tensor:
    """In-place form of `nan_to_num`: writes the result into this tensor and returns it."""
def nanmean(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of the elements that are not NaN; NaN where all are."""
@_overload
def nanmedian(input: Tensor, *, out: Tensor | None=...) -> Tensor:
    """The middle element of those that are not NaN, otherwise as `median`."""
@_overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool=..., *, out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
@_overload
def nanmedian(input: Tensor, *, axis: _int, keepdims: _bool=..., out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
def nanquantile(input: Tensor, q: _Operand, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, interpolation: _str = 'linear', out: Tensor | None = None) -> Tensor:
    """The q-th quantiles of the elements that are not NaN, otherwise as `quantile`."""
def nansum(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of the elements that are not NaN, as `sum` otherwise; their gradient is 0 where they are."""
@_overload
def narrow(input: Tensor, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
    """`length` indices of a dimension from `start`."""
@_overload
def narrow(input: Tensor, *, axis: _int, start: _int | Tensor, length: _int) -> Tensor: ...
def narrow_copy(input: Tensor, dim: _Dims, start: _int | Tensor, length: _int, *, out: Tensor | None = None) -> Tensor:
    """`narrow` with memory of its own."""
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, *, out: _Any = None) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, and in training the mean and one by the standard deviation of each channel."""
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """`channel_shuffle`."""
def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]:
    """Dropout, with the mask of what stays."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm`, and the mean and one by the standard deviation of each group."""
def native_layer_norm(input: Tensor, normalized_shape: _Dims, weight: Tensor | None, bias: Tensor | None, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, and the mean and one by the standard deviation of each row."""
def native_norm(input: Tensor, p: _Scalar = 2, dim: _Dims = ..., keepdim: _bool = False, dtype: _dtype | None = None) -> Tensor:
    """The p-norm of a sparse tensor's elements, all together."""
def ne(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input != other, elementwise."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-input, elementwise."""
def neg_(input: Tensor) -> Tensor:
    """In-place form of `neg`: writes the result into this tensor and returns it."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-input, elementwise."""
def negative_(input: Tensor) -> Tensor:
    """In-place form of `neg`: writes the result into this tensor and returns it."""
newaxis: None
def nextafter(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The number that comes after `input` on the way to `other`, elementwise, in the dtype to which both promote."""
@_overload
def nonzero(input: Tensor, *, as_tuple: _Literal[False] = False, out: Tensor | None = None) -> Tensor:
    """The indices of elements that are not zero, in row-major order."""
@_overload
def nonzero(input: Tensor, *, out: _Any = None, as_tuple: _Literal[True]) -> tuple[Tensor, ...]: ...
@_overload
def nonzero(input: Tensor, *, as_tuple: _bool = False, out: _Any = None) -> _Any: ...
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1) -> Tensor:
    """The first rows of `nonzero`, as many as asked for."""
def norm(input: Tensor, p: _Scalar | _str = 2, dim: _Dims | None = None, keepdim: _bool = False, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
    """The p-norm (sum |x|^p)^(1/p) of all elements, or along dimensions; see `linalg.vector_norm` and `linalg.matrix_norm`."""
def norm_except_dim(v: _Any, pow: _Any = 2, dim: _int = 0) -> Tensor:
    """The norms along all dimensions but one, which broadcast against the tensor."""
def normal(mean: _Operand, std: _Operand = 1.0, size: _Dims | None = None, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """Normal numbers of the given means and standard deviations, whose gradients are 0 (`mean + std * randn(...)` has others)."""
def not_equal(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input != other, elementwise."""
def nuclear_norm(input: Tensor, dim: _Dims = ..., keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """`torch.linalg.matrix_norm(input, "nuc", dim)`, the sum of the singular values, under its older name."""
def numel(input: Tensor) -> _int:
    """The number of elements of a tensor."""
def ones(*shape: _Dims, size: _Dims | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """A tensor of ones."""
def ones_like(input: Tensor, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, memory_format: _memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Ones, with the shape, dtype, device and dense strides of another tensor."""
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`torch.linalg.householder_product` under its older name."""
def ormqr(input: Tensor, tau: _Any, other: _Operand, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The square matrix Q, a product of Householder reflections, times another, without Q being written."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of every element of one vector with every element of another, as a matrix."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of rows: `svd_lowrank` of A less the mean of its rows."""
def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The p-norms of the differences of every two rows of a matrix."""
def permute(input: Tensor, *order: _Dims, dims: _Dims | None = None) -> Tensor:
    """Dimensions reordered: dimension `dims[i]` becomes dimension i."""
def permute_copy(input: Tensor, dims: _Dims, *, out: Tensor | None = None) -> Tensor:
    """What `permute` gives, in memory of its own."""
pi: _float
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """`torch.linalg.pinv` under its older name."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Groups of channels become pixels (Shi et al. 2016)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Pixels become channels: the inverse of `pixel_shuffle`."""
def pointwise(body: _Any = None, *, kind: _str | None = None, bool_operands: _Any = ..., cost: _float = 1.0, name: _str | None = None, scalars: _Any = None, differentiable: _bool | None = None, methods: _bool = True, refuses: _Any = None, divisor: _str | None = None) -> _Any:
    """Make an elementwise op of a function of scalars."""
def poisson(input: Tensor, generator: _Generator | None = None) -> Tensor:
    """How many events there are, for each element the rate at which they come. Its gradient is 0."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _float = 1e-08, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """exp(input) - target * input: -log of the probability of counts, but for log(target!)."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers of absolute values and angles: abs * cos(angle) + i abs * sin(angle)."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma, elementwise."""
def positive(input: Tensor) -> Tensor:
    """+input: the tensor itself."""
def potrf(input: Tensor, upper: _bool = True) -> Tensor:
    """`torch.linalg.cholesky` under LAPACK's name."""
def potri(input: Tensor, upper: _bool = True) -> Tensor:
    """`torch.cholesky_inverse` under LAPACK's name."""
def potrs(B: Tensor, input: Tensor, upper: _bool = True) -> Tensor:
    """`torch.cholesky_solve` under LAPACK's name."""
def pow(input: _Operand, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power `exponent`, elementwise; either may be a number."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where positive, weight * x elsewhere (He et al. 2015)."""
preserve_format: _memory_format
def prod(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The product of all elements, or along dimensions. Its gradient is right where elements are 0, too."""
def promote_types(type1: _dtype, type2: _dtype) -> _dtype:
    """The smallest dtype that both convert to, by PyTorch's table."""
def put(input: Tensor, index: Tensor, source: _Any, accumulate: _bool = False) -> Tensor:
    """A copy of the tensor after `put_`."""
def qr(input: Tensor, some: _bool = True, *, out: _Any = None) -> _OldQR:
    """`torch.linalg.qr` under its older name."""
def quantile(input: Tensor, q: _Operand, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, interpolation: _str = 'linear', out: Tensor | None = None) -> Tensor:
    """The q-th quantiles along a dimension (of all elements, without one); NaN where there is one."""
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees, elementwise."""
def rad2deg_(input: Tensor) -> Tensor:
    """In-place form of `rad2deg`: writes the result into this tensor and returns it."""
def rand(*shape: _Dims, size: _Dims | None = None, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """Uniform numbers in [0, 1); of a complex dtype both parts are."""
def rand_like(input: Tensor, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, memory_format: _memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Uniform numbers in [0, 1), with the shape, dtype, device and dense strides of another tensor."""
def randint(low: _Scalar | None = None, high: _Scalar | None = None, size: _Dims | None = None, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """Integers in [low, high), or in [0, low) when `high` is the size."""
def randint_like(input: Tensor, low: _Scalar | None = None, high: _Scalar | None = None, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, memory_format: _memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Integers in [low, high), or in [0, low) without `high`, with the shape, dtype, device and dense strides of another tensor."""
def randn(*shape: _Dims, size: _Dims | None = None, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """Normal numbers of mean 0 and variance 1; of a complex dtype the parts have variance 1/2 each."""
def randn_like(input: Tensor, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, memory_format: _memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Normal numbers of mean 0 and variance 1, with the shape, dtype, device and dense strides of another tensor."""
def randperm(n: _int, *, generator: _Generator | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """A random order of 0 .. n-1."""
def range(start: _Scalar = 0, end: _Operand | None = None, step: _Scalar = 1, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """`start, start + step, ...` up to and with `end` (PyTorch's old `range`)."""
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension, contiguous: a view of a contiguous tensor, else a copy."""
def real(input: Tensor) -> Tensor:
    """The real parts, as a view; a real tensor itself."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / input, elementwise: infinite for 0."""
def reciprocal_(input: Tensor) -> Tensor:
    """In-place form of `reciprocal`: writes the result into this tensor and returns it."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """max(input, 0), elementwise; NaN stays."""
def relu_(input: Tensor) -> Tensor:
    """In-place form of `relu`: writes the result into this tensor and returns it."""
def remainder(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input - other * floor(input / other), elementwise: the remainder with the sign of the divisor, as Python's %."""
def renorm(input: Tensor, p: _Scalar, dim: _Dims, maxnorm: _Scalar, *, out: Tensor | None = None) -> Tensor:
    """The tensor with those slices of a dimension whose p-norm is above `maxnorm` scaled down to it."""
def repeat_interleave(input: Tensor, repeats: _Dims | Tensor | None = None, dim: _Dims | None = None, *, axis: _Dims | None = None, output_size: _int | _Sequence[_int | None] | None = None) -> Tensor:
    """Each element, or each slice of a dimension, several times in a row."""
def reshape(input: Tensor, *extents: _Dims, shape: _Dims | None = None) -> Tensor:
    """The same elements under another shape: a view where the strides allow it, else a copy."""
def resize_as_(self: Tensor, the_template: _Any, *, memory_format: _memory_format | None = None) -> Tensor:
    """Change this tensor's shape to that of another; see `resize_`."""
def resize_as_sparse_(self: Tensor, the_template: _Any) -> Tensor:
    """Give this COO tensor the size of another, in place; what it stores stays."""
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, since conjugates are computed when they are asked for."""
def resolve_neg(self: Tensor) -> Tensor:
    """This tensor, which never stands for its negative."""
def result_type(*tensors: _Operand) -> _dtype:
    """The dtype that arithmetic on these tensors and numbers has."""
def rms_norm(input: Tensor, normalized_shape: _Dims, weight: Tensor | None = None, eps: _Scalar | None = None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions (Zhang and Sennrich 2019)."""
def rnn_relu(*arguments: _Any) -> tuple:
    """A network of `rnn_relu_cell` over whole sequences: what `nn.RNN` of relu calls."""
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """relu(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)."""
def rnn_tanh(*arguments: _Any) -> tuple:
    """A network of `rnn_tanh_cell` over whole sequences: what `nn.RNN` calls."""
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)."""
def roll(input: Tensor, shifts: _Dims, dims: _Dims | None = None) -> Tensor:
    """Elements moved on along dimensions, those pushed off the end coming in at the start."""
def rot90(input: Tensor, k: _int = 1, dims: _Dims = ...) -> Tensor:
    """Turned by quarter turns in the plane of two dimensions, copied."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest integer, ties to even, elementwise; or the nearest number of so many decimals."""
def round_(self: Tensor, *, decimals: _int = 0) -> Tensor:
    """In-place form of `round`: writes the result into this tensor and returns it."""
def row_indices_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `row_indices` gives, in memory of its own."""
def row_stack(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors below each other; vectors are rows."""
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor:
    """x where not negative, elsewhere a slope times x (Xu et al. 2015)."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False) -> Tensor:
    """In-place form of `rrelu`: writes the result into `input` and returns it."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / sqrt(input), elementwise: infinity of 0, NaN below."""
def rsqrt_(input: Tensor) -> Tensor:
    """In-place form of `rsqrt`: writes the result into this tensor and returns it."""
def rsub(input: Tensor, other: _Operand, *, alpha: _Operand = 1) -> Tensor:
    """other - alpha * input, elementwise."""
def saddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * mat1 @ mat2, of sparse matrices and a dense one, as a sparse matrix."""
def save(obj: _Any, f: _FileLike, pickle_module: _Any = None, pickle_protocol: _int = 2, _use_new_zipfile_serialization: _bool = True) -> None:
    """Write an object with tensors in it to a file, which PyTorch reads too."""
def scalar_tensor(s: _Any, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A 0-dim tensor holding a number."""
def scatter(self: Tensor, dim: _Dims, index: Tensor, src: _Operand | None = None, value: _Operand | None = None, *, reduce: _bool | _str | None = None, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor after `scatter_`, whose arguments it takes."""
@_overload
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None=...) -> Tensor:
    """A copy of the tensor after `scatter_add_`, whose arguments it takes."""
@_overload
def scatter_add(input: Tensor, *, axis: _int, index: Tensor, src: Tensor, out: Tensor | None=...) -> Tensor: ...
def scatter_reduce(input: Tensor, dim: _Dims, index: Tensor, src: Tensor, reduce: _bool | _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """A copy of the tensor, with `src` combined into the places along a dimension that `index` names."""
def searchsorted(sorted_sequence: Tensor, input: Tensor, *, out_int32: _bool = False, right: _bool = False, side: _str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Where elements would be inserted into sorted ones to keep these sorted: before equal ones, or behind them."""
def seed() -> _int:
    """Start the default stream from the system's randomness, and return the seed."""
def segment_reduce(data: _Any, reduce: _str, *, lengths: _Any = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: _int = 0, unsafe: _bool = False, initial: _Any = None) -> Tensor:
    """Sums, means, products or extremes of consecutive elements along a dimension."""
@_overload
def select(input: Tensor, dim: _int, index: _int | Tensor) -> Tensor:
    """One index of a dimension, which goes away."""
@_overload
def select(input: Tensor, *, axis: _int, index: _int | Tensor) -> Tensor: ...
def select_copy(input: Tensor, dim: _Dims | None = None, index: _int | Tensor | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """What `select` gives, in memory of its own."""
def select_scatter(input: Tensor, src: Tensor, dim: _Dims, index: _int | Tensor) -> Tensor:
    """A copy of `input` with `src` in the place of `input.select(dim, index)`."""
def selu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Scaled elu whose activations keep mean 0 and variance 1 (Klambauer et al. 2017)."""
def selu_(input: Tensor) -> Tensor:
    """In-place form of `selu`: writes the result into `input` and returns it."""
def set_anomaly_enabled(mode: _bool, check_nan: _bool = True) -> None:
    """Switch anomaly mode on or off."""
def set_autocast_cache_enabled(enabled: _bool) -> None:
    """Keep casts of parameters until the outermost region ends, or do not."""
def set_autocast_cpu_dtype(dtype: _dtype) -> None:
    """`set_autocast_dtype("cpu", dtype)`."""
def set_autocast_cpu_enabled(enabled: _bool) -> None:
    """`set_autocast_enabled("cpu", enabled)`."""
def set_autocast_dtype(device_type: _str, dtype: _dtype) -> None:
    """Set the dtype of regions for a kind of device that name none."""
def set_autocast_enabled(device_type: _str, enabled: _bool) -> None:
    """Switch autocast on or off for a kind of device. `autocast` does it and switches back."""
def set_autocast_gpu_dtype(dtype: _dtype) -> None:
    """`set_autocast_dtype("cuda", dtype)`."""
def set_default_device(device: _Any) -> None:
    """Make new tensors on a device where no other is named."""
def set_default_dtype(d: _Any) -> None:
    """Make a dtype that which floating-point literals become, and integers in operations that need floating point."""
def set_default_tensor_type(t: _Any) -> None:
    """Make the dtype of a tensor type the default dtype, and its kind of device the default device."""
def set_deterministic_debug_mode(debug_mode: _int | _str) -> None:
    """`use_deterministic_algorithms` by a word or its number."""
def set_float32_matmul_precision(precision: _str) -> None:
    """Say how precise products of float32 must be: matrix products and attention. On the CPU they have float32's precision whatever"""
def set_flush_denormal(mode: _bool) -> _bool:
    """Ask that numbers below the least normal one be taken as 0. They never are."""
def set_num_interop_threads(num: _int) -> None:
    """Say how many ops may run beside one another; one does."""
def set_num_threads(count: _int) -> None:
    """Split large operations over `count` threads from now on. A forked process has threads of its own when it has called this."""
def set_printoptions(precision: _Any = None, threshold: _Scalar | None = None, edgeitems: _Any = None, linewidth: _Any = None, profile: _str | None = None, sci_mode: _Any = None) -> None:
    """How tensors are printed from now on. What is None stays as it is, but `sci_mode`, which None sets back to automatic."""
def set_rng_state(state: Tensor) -> None:
    """Put the default stream back to where `get_rng_state` found it."""
def set_warn_always(b: _bool) -> None:
    """Ask for warnings at every occasion; Python's own filters decide here."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign of real numbers, input / |input| of complex ones, elementwise; 0 for 0."""
short: _dtype
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logistic function 1 / (1 + exp(-input)), elementwise; within 3 ulp."""
def sigmoid_(input: Tensor) -> Tensor:
    """In-place form of `sigmoid`: writes the result into this tensor and returns it."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1 by the sign, elementwise."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether input is below zero or -0.0, elementwise."""
def silu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * sigmoid(input), elementwise (Elfwing et al. 2017)."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sine of input in radians, elementwise."""
def sin_(input: Tensor) -> Tensor:
    """In-place form of `sin`: writes the result into this tensor and returns it."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi input) / (pi input), and 1 for 0, elementwise."""
def sinc_(input: Tensor) -> Tensor:
    """In-place form of `sinc`: writes the result into this tensor and returns it."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine, (exp(input) - exp(-input)) / 2, elementwise; within 2.5 ulp."""
def sinh_(input: Tensor) -> Tensor:
    """In-place form of `sinh`: writes the result into this tensor and returns it."""
def slice_copy(input: Tensor, dim: _int = 0, start: _Scalar | None = None, end: _Operand | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """What `slice` gives, in memory of its own."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = 0, start: _Scalar | None = None, end: _Operand | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of `input` with `src` in the place of the slice `start:end:step` of a dimension."""
def slogdet(input: Tensor, *, out: _Any = None) -> _Slogdet:
    """`torch.linalg.slogdet` under its older name."""
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix as a sparse matrix, which stores the rows that `input` stores anything in."""
def softmax(input: Tensor, dim: _Dims | None = None, dtype: _dtype | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension, computed from x - max(x)."""
def softplus(input: Tensor, beta: _Operand = 1.0, threshold: _Scalar = 20.0, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta * input)) / beta, a smooth relu, and input itself where beta * input exceeds the threshold."""
def softsign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input / (1 + |input|), elementwise."""
def solve(B: Tensor, A: Tensor) -> _Solution:
    """`torch.linalg.solve(A, B)` under LAPACK's name, with the LU factors of A."""
def sort(input: Tensor, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
    """Elements in order along a dimension, as (values, indices). Always stable; NaN counts as greatest."""
sparse_bsc: _memory_layout
def sparse_bsc_tensor(ccol_indices: _Any, row_indices: _Any, values: _Any, size: _Dims | None = None, *, dtype: _dtype | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _Any = None) -> Tensor:
    """A matrix of which only some blocks are stored, one column of blocks after another."""
sparse_bsr: _memory_layout
def sparse_bsr_tensor(crow_indices: _Any, col_indices: _Any, values: _Any, size: _Dims | None = None, *, dtype: _dtype | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _Any = None) -> Tensor:
    """A matrix of which only some blocks are stored, one row of blocks after another."""
def sparse_compressed_tensor(compressed_indices: _Any, plain_indices: _Any, values: _Any, size: _Dims | None = None, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _Any = None) -> Tensor:
    """A tensor of any compressed layout: `sparse_csr_tensor` and its kin by name."""
sparse_coo: _memory_layout
def sparse_coo_tensor(indices: _Any, values: _Any = None, size: _Dims | None = None, *, dtype: _dtype | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _Any = None, is_coalesced: _Any = None) -> Tensor:
    """A tensor of which only some elements are stored, each with its coordinates; those stored twice count twice."""
sparse_csc: _memory_layout
def sparse_csc_tensor(ccol_indices: _Any, row_indices: _Any, values: _Any, size: _Dims | None = None, *, dtype: _dtype | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _Any = None) -> Tensor:
    """A matrix of which only some elements are stored, column after column."""
sparse_csr: _memory_layout
def sparse_csr_tensor(crow_indices: _Any, col_indices: _Any, values: _Any, size: _Dims | None = None, *, dtype: _dtype | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False, check_invariants: _Any = None) -> Tensor:
    """A matrix of which only some elements are stored, row after row."""
def split(tensor: Tensor, split_size_or_sections: _Dims, dim: _int = 0) -> tuple[Tensor, ...]:
    """Consecutive parts of a dimension."""
def split_copy(tensor: Tensor, split_size_or_sections: _Dims, dim: _int = 0, *, out: _Any = None) -> tuple:
    """What `split` gives, in memory of its own."""
def split_with_sizes(tensor: Tensor, split_sizes: _Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Consecutive parts of a dimension, of given sizes: `split`."""
def split_with_sizes_copy(tensor: Tensor, split_sizes: _Sequence[_int], dim: _int = 0, *, out: _Any = None) -> tuple:
    """What `split_with_sizes` gives, in memory of its own."""
def spmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Square root, elementwise: NaN below 0, exact where the root is a number of the dtype."""
def sqrt_(input: Tensor) -> Tensor:
    """In-place form of `sqrt`: writes the result into this tensor and returns it."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * input, elementwise; bools become int64, as in `input ** 2`."""
def square_(input: Tensor) -> Tensor:
    """In-place form of `square`: writes the result into this tensor and returns it."""
def squeeze(input: Tensor, dim: _Dims | None = None, *further: _Any, axis: _Dims | None = None) -> Tensor:
    """Without dimensions of extent 1."""
def squeeze_copy(input: Tensor, dim: _Dims | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """What `squeeze` gives, in memory of its own."""
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """beta * input + alpha * mat1 @ mat2, of sparse matrices and a dense one, as a sparse matrix."""
def stack(tensors: _Sequence[Tensor], dim: _int = 0, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape along a new dimension. Dtypes are promoted."""
def std(input: Tensor, dim: _Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, correction: _Scalar | None = None, out: Tensor | None = None) -> Tensor:
    """The standard deviation: the square root of `var`, also where that does not fit the dtype. Where it is 0 its gradient is, too."""
def std_mean(input: Tensor, dim: _Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, correction: _Scalar | None = None) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean, as a pair."""
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
    """The spectra of windows of a signal."""
strided: _memory_layout
def sub(input: Tensor, other: _Operand, *deprecated: _Any, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """input - alpha * other, elementwise."""
def subtract(input: Tensor, other: _Operand, *deprecated: _Any, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
    """input - alpha * other, elementwise."""
def sum(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of all elements, or along dimensions. Its gradient is the result's, expanded."""
def summary(model: _Module, input: _Any = None, *, input_size: _Any = None, dtypes: _dtype | None = None, device: _Any = None, depth: _int = 3, mode: _str = 'eval', **kwargs: _Any) -> _ModelSummary:
    """Run a model once, and say what each of its layers gives, has and does."""
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: _Any = None) -> _OldSVD:
    """U, S and V (not its adjoint, as `torch.linalg.svd` gives)."""
def svd_lowrank(A: Tensor, q: _int = 6, niter: _int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V with A about U diag(S) V^H, of a rank that is much below A's extents."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """Two dimensions swapped: `transpose` with NumPy's names."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions swapped."""
def symeig(input: Tensor, eigenvectors: _bool = False, upper: _bool = True) -> _Eigen:
    """`torch.linalg.eigh` under its older name."""
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; vectors and 0-dim tensors stay."""
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `t` gives, in memory of its own."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of the flattened tensor at `index`, in the shape of `index`."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _Dims | None = None, *, out: Tensor | None = None) -> Tensor:
    """`gather`, with `input` and `indices` broadcast against each other but along `dim`; of flattened tensors without a dim."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tangent of input in radians, elementwise; within 3 ulp."""
def tan_(input: Tensor) -> Tensor:
    """In-place form of `tan`: writes the result into this tensor and returns it."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent, elementwise: between -1 and 1."""
def tanh_(input: Tensor) -> Tensor:
    """In-place form of `tanh`: writes the result into this tensor and returns it."""
def tensor(data: _Any, dtype: _dtype | None = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A tensor holding a copy of `data`."""
def tensor_split(input: Tensor, indices_or_sections: _Dims | Tensor, dim: _int = 0, *, axis: _Dims | None = None) -> tuple[Tensor, ...]:
    """Parts of a dimension as NumPy's array_split makes them."""
def tensordot(a: Tensor, b: Tensor, dims: _Any = 2, *, out: Tensor | None = None) -> Tensor:
    """The sums of products over dimensions of two tensors."""
def threshold(input: Tensor, threshold: _Scalar, value: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input where it exceeds the threshold, else value."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """In-place form of `threshold`: writes the result into `input` and returns it."""
def tile(input: Tensor, *repeats: _Dims | Tensor, dims: _Dims | None = None) -> Tensor:
    """Like `repeat`, with fewer repeats than dimensions allowed: they are for the last ones."""
def to_dlpack(self: Tensor, *, stream: _Any = None, max_version: _Any = None, dl_device: _Any = None, copy: _bool | None = None) -> _Any:
    """A DLPack capsule over the same memory. Raises BufferError when the tensor requires grad, is sparse or is not on the CPU."""
def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
    """The k largest (or smallest) elements along a dimension in order, as (values, indices). NaN counts as greatest."""
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's main diagonal."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions swapped."""
def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor:
    """What `transpose` gives, in memory of its own."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _float = 1, dim: _int = -1) -> Tensor:
    """The area below samples along a dimension, by the trapezoidal rule."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: _float = 1, dim: _int = -1) -> Tensor:
    """The area below samples along a dimension, by the trapezoidal rule."""
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: _Any = None) -> _TriangularSolve:
    """`torch.linalg.solve_triangular` under its older name, as (solution, cloned_coefficient), the latter a copy of A."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of matrices, 0 above a diagonal."""
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: _dtype | None = None, device: _Device | None = None) -> Tensor:
    """Row and column of every element in the lower triangle of a matrix."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: _bool = False, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with `pairwise_distance` as d (Balntas et al. 2016)."""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of matrices, 0 below a diagonal."""
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: _dtype | None = None, device: _Device | None = None) -> Tensor:
    """Row and column of every element in the upper triangle of a matrix."""
def trtrs(B: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> _TriangularSolve:
    """`torch.triangular_solve` under LAPACK's name."""
def true_divide(input: Tensor, other: _Operand, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
    """input / other, elementwise, rounded where `rounding_mode` says so."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input without its fraction, elementwise: rounded towards 0."""
def trunc_(input: Tensor) -> Tensor:
    """In-place form of `trunc`: writes the result into this tensor and returns it."""
def typename(obj: _Any) -> _str:
    """A tensor's type as its name; the name of a function or class, or of another object's class, with its module."""
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
def unbind(input: Tensor, dim: _int = 0, *, axis: _Dims | None = None) -> tuple[Tensor, ...]:
    """All slices along a dimension, without it."""
def unbind_copy(input: Tensor, dim: _int = 0, *, axis: _Dims | None = None, out: _Any = None) -> tuple:
    """What `unbind` gives, in memory of its own."""
def unflatten(input: Tensor, dim: _int | _str, sizes: _Dims) -> Tensor:
    """One dimension split into several."""
def unfold(input: Tensor, dimension: _int, size: _Dims, step: _Scalar) -> Tensor:
    """Windows along a dimension, as a new last dimension."""
def unfold_copy(input: Tensor, dimension: _int, size: _Dims, step: _Scalar, *, out: Tensor | None = None) -> Tensor:
    """What `unfold` gives, in memory of its own."""
@_overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: _Literal[False] = False, return_counts: _Literal[False] = False, dim: _Dims | None = None) -> Tensor:
    """The distinct elements in order; with `dim`, the distinct slices along it. Every NaN is distinct."""
@_overload
def unique(input: Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _Dims | None = None) -> _Any: ...
@_overload
def unique_consecutive(input: Tensor, return_inverse: _Literal[False] = False, return_counts: _Literal[False] = False, dim: _Dims | None = None) -> Tensor:
    """One element (or slice along `dim`) of each run of equal neighbours."""
@_overload
def unique_consecutive(input: Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _Dims | None = None) -> _Any: ...
def unravel_index(indices: Tensor, shape: _Dims) -> tuple[Tensor, ...]:
    """The places in a tensor of a shape that flat places stand for."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0, *, axis: _Dims | None = None) -> tuple[Tensor, ...]:
    """`chunk` whose parts are no views to the tape: they may be written to, the tensor may not."""
def unsafe_split(tensor: Tensor, split_size_or_sections: _Dims, dim: _int = 0) -> tuple[Tensor, ...]:
    """`split` whose parts are no views to the tape: they may be written to, the tensor may not."""
def unsafe_split_with_sizes(tensor: Tensor, split_sizes: _Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """`split_with_sizes` whose parts are no views to the tape: they may be written to, the tensor may not."""
def unsqueeze(input: Tensor, dim: _Dims | None = None, *, axis: _Dims | None = None) -> Tensor:
    """With a new dimension of extent 1 before `dim`."""
def unsqueeze_copy(input: Tensor, dim: _Dims | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """What `unsqueeze` gives, in memory of its own."""
def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = False) -> None:
    """Ask for the same results in every run; they are in any case, with as many threads."""
def values_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `values` gives, in memory of its own."""
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """Vandermonde's matrix: a row for each element of a vector, with its powers N-1 to 0."""
def var(input: Tensor, dim: _Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, correction: _Scalar | None = None, out: Tensor | None = None) -> Tensor:
    """The variance: the mean square of the distances from the mean, with n - correction as its divisor."""
def var_mean(input: Tensor, dim: _Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, correction: _Scalar | None = None) -> tuple[Tensor, Tensor]:
    """The variance and the mean, as a pair."""
def vdot(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors, the first conjugated."""
def view_as_complex(input: Tensor) -> Tensor:
    """A view of pairs of numbers as complex numbers."""
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `view_as_complex` gives, in memory of its own."""
def view_as_real(input: Tensor) -> Tensor:
    """A view of complex numbers as pairs of their real and imaginary parts."""
def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `view_as_real` gives, in memory of its own."""
def view_copy(input: Tensor, size: _Dims | None = None, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """What `view` gives, in memory of its own."""
def vmap(func: _Callable[..., _Any], in_dims: _Any = 0, out_dims: _Any = 0, randomness: _str = 'error', *, chunk_size: _int | None = None) -> _Callable[..., _Any]:
    """A function that applies `func` to each sample of its arguments, all at once: products become batched products, nothing is a"""
def vsplit(input: Tensor, indices_or_sections: _Dims | Tensor) -> tuple[Tensor, ...]:
    """Parts along dimension 0."""
def vstack(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors below each other; vectors are rows."""
def wait(future: _Any) -> _Any:
    """The result of a future, when there is one."""
def where(condition: Tensor, input: _Operand | None = None, other: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
    """input where the condition holds, else other, elementwise; of the condition alone, the indices where it holds."""
def xlogy(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input * log(other), elementwise, and 0 where input is 0 and other is a number."""
def xlogy_(input: Tensor, other: _Operand) -> Tensor:
    """In-place form of `xlogy`: writes the result into this tensor and returns it."""
def zero_(self: Tensor) -> Tensor:
    """Set every element to 0 and return this tensor."""
def zeros(*shape: _Dims, size: _Dims | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, out: Tensor | None = None, pin_memory: _bool = False) -> Tensor:
    """A tensor of zeros."""
def zeros_like(input: Tensor, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, memory_format: _memory_format | None = None, pin_memory: _bool = False) -> Tensor:
    """Zeros, with the shape, dtype, device and dense strides of another tensor."""
