# Written by `python -m numtorch stubs` (numtorch/commands/stubs.py) from the functions: change those, not this.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, NamedTuple as _NamedTuple, overload as _overload

from numpy import ndarray as _ndarray
from numtorch.dtypes import dtype as _dtype
from numtorch.tensor import Tensor as Tensor
from numtorch.layout import memory_format as _memory_format
from numtorch.ops.core.generator import Generator as _Generator
from numtorch.ops.core.return_types import Pair as _Pair
from numtorch.ops.memory.typed import LegacyStorage as _LegacyStorage
from numtorch.ops.memory.typed import TypedStorage as _TypedStorage
from numtorch.ops.memory.untyped import UntypedStorage as _UntypedStorage
from numtorch.types import Device as _Device
from numtorch.types import Dims as _Dims
from numtorch.types import Operand as _Operand
from numtorch.types import Scalar as _Scalar

class Attached:
    @property
    def H(self) -> Tensor:
        """The conjugate of `T`, computed when asked for."""
    @property
    def T(self) -> Tensor:
        """A view with the dimensions in reverse order."""
    def __abs__(self, *, out: Tensor | None = None) -> Tensor:
        """Absolute value, elementwise; the modulus of complex numbers."""
    def __add__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __and__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __array__(self, dtype: _dtype | None = None, copy: _bool | None = None) -> _ndarray[_Any, _Any]: ...
    def __array_namespace__(self, *, api_version: _Any = None) -> _Any:
        """The array API standard's functions, for programs that take arrays of any library: `numtorch.array_api`."""
    def __array_wrap__(self, array: _ndarray[_Any, _Any], context: _Any = None, return_scalar: _bool = False) -> Tensor:
        """What a NumPy function of tensors gives: a tensor over its result, of uint8 for bools."""
    def __bool__(self) -> _bool: ...
    def __buffer__(self, flags: _Any) -> memoryview:
        """The buffer protocol (Python 3.12 and later): a memoryview of the elements."""
    def __complex__(self) -> _complex: ...
    def __contains__(self, element: _Operand) -> _bool:
        """Whether any element equals a number or tensor (broadcast)."""
    def __copy__(self) -> Tensor:
        """A leaf over the same memory, with the same attributes and a gradient of its own."""
    def __deepcopy__(self, memo: _Any) -> Tensor:
        """A copy with memory of its own; tensors copied together share memory where the originals do."""
    def __delitem__(self, index: _Any) -> None: ...
    def __dlpack__(self, *, stream: _Any = None, max_version: _Any = None, dl_device: _Any = None, copy: _bool | None = None) -> _Any:
        """A DLPack capsule over the same memory. Raises BufferError when the tensor requires grad, is sparse or is not on the CPU."""
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __eq__(self, other: _Operand) -> Tensor:  # type: ignore[override]
        """Elementwise for tensors, arrays and numbers; identity for anything else, so that tensors live in lists and dicts."""
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __ge__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __getitem__(self, index: _Any) -> Tensor:
        """The part of a tensor that an index names: a view for ints, slices, None and `...`; a copy where index tensors or masks"""
    def __gt__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __iadd__(self, other: _Operand) -> Tensor: ...
    def __iand__(self, other: _Operand) -> Tensor: ...
    def __ifloordiv__(self, other: _Operand) -> Tensor: ...
    def __ilshift__(self, other: _Operand) -> Tensor: ...
    def __imod__(self, other: _Operand) -> Tensor: ...
    def __imul__(self, other: _Operand) -> Tensor: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: _Operand) -> Tensor: ...
    def __ipow__(self, exponent: _Operand) -> Tensor:
        """In-place form of `pow`: writes the result into this tensor and returns it."""
    def __irshift__(self, other: _Operand) -> Tensor: ...
    def __isub__(self, other: _Operand) -> Tensor: ...
    def __iter__(self) -> _Iterator[Tensor]:
        """The slices along the first dimension, one after another."""
    def __itruediv__(self, other: _Operand) -> Tensor: ...
    def __ixor__(self, other: _Operand) -> Tensor: ...
    def __le__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __lshift__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __lt__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __matmul__(self, other: _Operand) -> Tensor:
        """`self @ other`. What is no tensor is asked for its own @: an array's gives the tensor of NumPy's product, as in PyTorch."""
    def __mod__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __mul__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __ne__(self, other: _Operand) -> Tensor:  # type: ignore[override]
        """Elementwise for tensors, arrays and numbers; identity for anything else, so that tensors live in lists and dicts."""
    def __neg__(self, *, out: Tensor | None = None) -> Tensor:
        """-input, elementwise."""
    def __or__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __pos__(self) -> Tensor:
        """+input: the tensor itself."""
    def __pow__(self, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input` to the power `exponent`, elementwise; either may be a number."""
    def __radd__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __rand__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __rdiv__(self, other: _Operand) -> Tensor:
        """A number over this tensor. Of an array on the left, PyTorch makes a product with the reciprocal."""
    def __reversed__(self) -> Tensor:
        """The slices along the first dimension from the last to the first; a 0-dim tensor itself."""
    def __rfloordiv__(self, other: _Operand) -> Tensor: ...
    def __rlshift__(self, other: _Operand) -> Tensor: ...
    def __rmatmul__(self, other: _Operand) -> Tensor: ...
    def __rmod__(self, other: _Operand) -> Tensor: ...
    def __rmul__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __ror__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __rpow__(self, other: _Operand) -> Tensor: ...
    def __rrshift__(self, other: _Operand) -> Tensor: ...
    def __rshift__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __rsub__(self, other: _Operand) -> Tensor: ...
    def __rtruediv__(self, other: _Operand) -> Tensor:
        """A number over this tensor. Of an array on the left, PyTorch makes a product with the reciprocal."""
    def __rxor__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __setitem__(self, index: _Any, value: _Any) -> None:
        """Write a tensor or number, broadcast, to the part of a tensor that an index names."""
    def __sub__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __truediv__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def __xor__(self, other: _Operand, *, out: Tensor | None = None) -> Tensor: ...
    def abs(self, *, out: Tensor | None = None) -> Tensor:
        """Absolute value, elementwise; the modulus of complex numbers."""
    def abs_(self) -> Tensor:
        """In-place form of `abs`: writes the result into this tensor and returns it."""
    def absolute(self, *, out: Tensor | None = None) -> Tensor:
        """Absolute value, elementwise; the modulus of complex numbers."""
    def absolute_(self) -> Tensor:
        """In-place form of `abs`: writes the result into this tensor and returns it."""
    def acos(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse cosine in radians, elementwise: between 0 and pi, NaN outside [-1, 1]; within 2 ulp."""
    def acos_(self) -> Tensor:
        """In-place form of `acos`: writes the result into this tensor and returns it."""
    def acosh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic cosine, log(input + sqrt(input * input - 1)), elementwise: NaN below 1."""
    def acosh_(self) -> Tensor:
        """In-place form of `acosh`: writes the result into this tensor and returns it."""
    def add(self, other: _Operand, *deprecated: _Any, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
        """input + alpha * other, elementwise."""
    def add_(self, other: _Operand, *deprecated: _Any, alpha: _Operand = 1) -> Tensor:
        """In-place form of `add`: writes the result into this tensor and returns it."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
        """beta * input + alpha * the sum of the products of two batches, as one product of depth b * m."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1) -> Tensor:
        """The in-place form of `addbmm`: this tensor is its input and takes the result."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, value: _Operand = 1, *, out: Tensor | None = None) -> Tensor:
        """input + value * tensor1 / tensor2, elementwise."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, value: _Operand = 1) -> Tensor:
        """In-place form of `addcdiv`: writes the result into this tensor and returns it."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, value: _Operand = 1, *, out: Tensor | None = None) -> Tensor:
        """input + value * tensor1 * tensor2, elementwise."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, value: _Operand = 1) -> Tensor:
        """In-place form of `addcmul`: writes the result into this tensor and returns it."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2), in one kernel; with beta 0 the input is not read."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1) -> Tensor:
        """The in-place form of `addmm`: this tensor is its input and takes the result."""
    def addmv(self, mat: Tensor, vec: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
        """beta * input + alpha * (mat @ vec); with beta 0 the input is not read."""
    def addmv_(self, mat: Tensor, vec: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1) -> Tensor:
        """The in-place form of `addmv`: this tensor is its input and takes the result."""
    def addr(self, vec1: Tensor, vec2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
        """beta * input + alpha * outer(vec1, vec2); with beta 0 the input is not read."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1) -> Tensor:
        """The in-place form of `addr`: this tensor is its input and takes the result."""
    def adjoint(self) -> Tensor:
        """The conjugate of the transposed matrices: `mH`."""
    def all(self, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """Whether all elements are non-zero: a bool, of uint8 a uint8. True of none."""
    def allclose(self, other: _Operand, rtol: _Scalar = 1e-05, atol: _Scalar = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether |input - other| <= atol + rtol * |other| everywhere."""
    def amax(self, dim: _Dims = ..., keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """The largest element along dimensions; NaN where there is one. Elements that tie share the gradient evenly."""
    def amin(self, dim: _Dims = ..., keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """The smallest element along dimensions; NaN where there is one. Elements that tie share the gradient evenly."""
    def aminmax(self, *, dim: _Dims | None = None, keepdim: _bool = False, out: _Any = None) -> AminMax:
        """The smallest and the largest element, as (min, max)."""
    def angle(self, *, out: Tensor | None = None) -> Tensor:
        """The angle of complex numbers in radians, between -pi and pi; of real ones pi where they are below zero, else 0."""
    def any(self, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """Whether any element is non-zero: a bool, of uint8 a uint8."""
    def apply_(self, callable: _Callable[..., _Any]) -> Tensor:
        """Put `callable(element)` in the place of every element, one by one in Python, and return this tensor."""
    def arccos(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse cosine in radians, elementwise: between 0 and pi, NaN outside [-1, 1]; within 2 ulp."""
    def arccos_(self) -> Tensor:
        """In-place form of `acos`: writes the result into this tensor and returns it."""
    def arccosh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic cosine, log(input + sqrt(input * input - 1)), elementwise: NaN below 1."""
    def arccosh_(self) -> Tensor:
        """In-place form of `acosh`: writes the result into this tensor and returns it."""
    def arcsin(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse sine in radians, elementwise: between -pi/2 and pi/2, NaN outside [-1, 1]; within 2.5 ulp."""
    def arcsin_(self) -> Tensor:
        """In-place form of `asin`: writes the result into this tensor and returns it."""
    def arcsinh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic sine, log(input + sqrt(input * input + 1)), elementwise."""
    def arcsinh_(self) -> Tensor:
        """In-place form of `asinh`: writes the result into this tensor and returns it."""
    def arctan(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse tangent in radians, elementwise: between -pi/2 and pi/2."""
    def arctan2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Angle of the point (other, input) in radians, elementwise: between -pi and pi, by the signs of both."""
    def arctan2_(self, other: _Operand) -> Tensor:
        """In-place form of `atan2`: writes the result into this tensor and returns it."""
    def arctan_(self) -> Tensor:
        """In-place form of `atan`: writes the result into this tensor and returns it."""
    def arctanh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic tangent, log((1 + input) / (1 - input)) / 2, elementwise: NaN outside [-1, 1]."""
    def arctanh_(self) -> Tensor:
        """In-place form of `atanh`: writes the result into this tensor and returns it."""
    def argmax(self, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """The index of the first largest element, of all (row-major) or along a dimension. NaN counts as largest."""
    def argmin(self, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """The index of the first smallest element, of all (row-major) or along a dimension. NaN counts as smallest."""
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, axis: _Dims | None = None) -> Tensor:
        """The indices that put a dimension in order. Always stable; NaN counts as greatest."""
    def argwhere(self) -> Tensor:
        """The indices of elements that are not zero, in row-major order: `nonzero`."""
    def as_strided(self, size: _Dims, stride: _Dims, storage_offset: _int | None = None) -> Tensor:
        """Any shape and strides over this tensor's storage."""
    def as_strided_(self, size: _Dims, stride: _Dims, storage_offset: _int | None = None) -> Tensor:
        """See this tensor's memory under another shape and strides from now on; see `as_strided`."""
    def as_strided_scatter(self, src: Tensor, size: _Dims, stride: _Dims, storage_offset: _int | None = None) -> Tensor:
        """A copy of `input` with `src` in the place of `input.as_strided(size, stride, storage_offset)`."""
    def asin(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse sine in radians, elementwise: between -pi/2 and pi/2, NaN outside [-1, 1]; within 2.5 ulp."""
    def asin_(self) -> Tensor:
        """In-place form of `asin`: writes the result into this tensor and returns it."""
    def asinh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic sine, log(input + sqrt(input * input + 1)), elementwise."""
    def asinh_(self) -> Tensor:
        """In-place form of `asinh`: writes the result into this tensor and returns it."""
    def atan(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse tangent in radians, elementwise: between -pi/2 and pi/2."""
    def atan2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Angle of the point (other, input) in radians, elementwise: between -pi and pi, by the signs of both."""
    def atan2_(self, other: _Operand) -> Tensor:
        """In-place form of `atan2`: writes the result into this tensor and returns it."""
    def atan_(self) -> Tensor:
        """In-place form of `atan`: writes the result into this tensor and returns it."""
    def atanh(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse hyperbolic tangent, log((1 + input) / (1 - input)) / 2, elementwise: NaN outside [-1, 1]."""
    def atanh_(self) -> Tensor:
        """In-place form of `atanh`: writes the result into this tensor and returns it."""
    def backward(self, gradient: _Any = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: _Any = None) -> None:
        """Compute the gradients of this tensor with respect to the graph's leaves and add them to their `.grad`."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
        """beta * input + alpha * (batch1 @ batch2); with beta 0 the input is not read."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1) -> Tensor:
        """The in-place form of `baddbmm`: this tensor is its input and takes the result."""
    def bernoulli(self, p: _Scalar | None = None, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
        """1 with the probability that each element of `input` gives, whose gradient is 0 (or with probability p), else 0."""
    def bernoulli_(self, p: _Operand = 0.5, *, generator: _Generator | None = None) -> Tensor:
        """Fill with 1 with probability p, else 0; returns this tensor."""
    def bfloat16(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as bfloat16: itself where it is so, else a copy through which gradients pass."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each integer from 0 on occurs, or the sum of the weights where it does."""
    def bitwise_and(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits that both have, elementwise; `and` for bools."""
    def bitwise_and_(self, other: _Operand) -> Tensor:
        """In-place form of `bitwise_and`: writes the result into this tensor and returns it."""
    def bitwise_left_shift(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input shifted left by other bits, elementwise: input * 2**other."""
    def bitwise_left_shift_(self, other: _Operand) -> Tensor:
        """In-place form of `bitwise_left_shift`: writes the result into this tensor and returns it."""
    def bitwise_not(self, *, out: Tensor | None = None) -> Tensor:
        """Every bit inverted, elementwise: -input - 1 for signed integers, `not` for bools."""
    def bitwise_not_(self) -> Tensor:
        """In-place form of `bitwise_not`: writes the result into this tensor and returns it."""
    def bitwise_or(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits that either has, elementwise; `or` for bools."""
    def bitwise_or_(self, other: _Operand) -> Tensor:
        """In-place form of `bitwise_or`: writes the result into this tensor and returns it."""
    def bitwise_right_shift(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input shifted right by other bits, keeping the sign, elementwise: floor(input / 2**other)."""
    def bitwise_right_shift_(self, other: _Operand) -> Tensor:
        """In-place form of `bitwise_right_shift`: writes the result into this tensor and returns it."""
    def bitwise_xor(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The bits that just one has, elementwise; `!=` for bools."""
    def bitwise_xor_(self, other: _Operand) -> Tensor:
        """In-place form of `bitwise_xor`: writes the result into this tensor and returns it."""
    def bmm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Products of two batches of matrices."""
    def bool(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as bool: itself where it is so, else a copy through which gradients pass."""
    def broadcast_to(self, size: _Dims, *further: _Any) -> Tensor:
        """Broadcast to a shape without copying: `expand`."""
    def btrifact(self, pivot: _bool = True) -> tuple[Tensor, Tensor]:
        """`torch.linalg.lu_factor` under its older name: the LU factors of matrices, and the pivots."""
    def btrifact_with_info(self, pivot: _bool = True) -> tuple[Tensor, Tensor, Tensor]:
        """`btrifact`, and for each matrix 0, or the number of the first pivot that is zero."""
    def btrisolve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
        """`torch.linalg.lu_solve` with the right-hand side first."""
    def byte(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as uint8: itself where it is so, else a copy through which gradients pass."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: _Generator | None = None) -> Tensor:
        """Fill with Cauchy numbers of density sigma / (pi (sigma^2 + (x - median)^2)); returns this tensor."""
    def ccol_indices(self) -> Tensor:
        """Where the elements of each column of a CSC or BSC matrix begin; and their number."""
    def cdouble(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as complex128: itself where it is so, else a copy through which gradients pass."""
    def ceil(self, *, out: Tensor | None = None) -> Tensor:
        """The smallest integer not below input, elementwise."""
    def ceil_(self) -> Tensor:
        """In-place form of `ceil`: writes the result into this tensor and returns it."""
    def cfloat(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as complex64: itself where it is so, else a copy through which gradients pass."""
    def chalf(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as complex32: itself where it is so, else a copy through which gradients pass."""
    def char(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as int8: itself where it is so, else a copy through which gradients pass."""
    def cholesky(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """`torch.linalg.cholesky` under its older name."""
    def cholesky_inverse(self, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The inverse of A, given its Cholesky factor."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The X with A X = B, given A's Cholesky factor."""
    def chunk(self, chunks: _int, dim: _int = 0, *, axis: _Dims | None = None) -> tuple[Tensor, ...]:
        """At most so many parts of equal size along a dimension; the last may be smaller."""
    def clamp(self, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
        """Elements held between `min` and `max`; NaN stays. Where `min` exceeds `max`, `max` comes out."""
    def clamp_(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """In-place form of `clamp`: writes the result into this tensor and returns it."""
    def clamp_max(self, max: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Elements, but at most `max`; NaN stays."""
    def clamp_max_(self, max: _Operand) -> Tensor:
        """In-place form of `clamp_high`: writes the result into this tensor and returns it."""
    def clamp_min(self, min: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Elements, but at least `min`; NaN stays."""
    def clamp_min_(self, min: _Operand) -> Tensor:
        """In-place form of `clamp_low`: writes the result into this tensor and returns it."""
    def clip(self, min: _Operand | None = None, max: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
        """Elements held between `min` and `max`; NaN stays. Where `min` exceeds `max`, `max` comes out."""
    def clip_(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """In-place form of `clamp`: writes the result into this tensor and returns it."""
    def clone(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """A copy with memory of its own. Gradients pass through."""
    def coalesce(self) -> Tensor:
        """This COO tensor with its coordinates in order and distinct: itself where they are, else elements of one place are added."""
    def col_indices(self) -> Tensor:
        """The column of each stored element of a CSR matrix, or block of a BSR one."""
    def conj(self) -> Tensor:
        """The complex conjugate, which is computed at once; a real tensor itself."""
    def conj_physical(self, *, out: Tensor | None = None) -> Tensor:
        """The complex conjugate in memory of its own; a real tensor itself."""
    def conj_physical_(self) -> Tensor:
        """In-place form of `conj_physical`: writes the result into this tensor and returns it."""
    def const_data_ptr(self) -> _int:
        """The address of the first element, for reading."""
    def contiguous(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor where it is row-major without gaps, else a row-major copy."""
    def copy_(self, src: Tensor, non_blocking: _bool = False) -> Tensor:
        """Write `src` into this tensor and return it."""
    def copysign(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """|input| with the sign of other, elementwise, of zeros and NaN too."""
    def copysign_(self, other: _Operand) -> Tensor:
        """In-place form of `copysign`: writes the result into this tensor and returns it."""
    def corrcoef(self) -> Tensor:
        """Pearson's correlation coefficients of variables (rows) from observations (columns): covariances over standard deviations."""
    def cos(self, *, out: Tensor | None = None) -> Tensor:
        """Cosine of input in radians, elementwise."""
    def cos_(self) -> Tensor:
        """In-place form of `cos`: writes the result into this tensor and returns it."""
    def cosh(self, *, out: Tensor | None = None) -> Tensor:
        """Hyperbolic cosine, (exp(input) + exp(-input)) / 2, elementwise."""
    def cosh_(self) -> Tensor:
        """In-place form of `cosh`: writes the result into this tensor and returns it."""
    def count_nonzero(self, dim: _Dims | None = None, *further: _Any) -> Tensor:
        """How many elements are not zero, as int64."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance matrix of variables (rows) from observations (columns); a vector is one variable."""
    def cpu(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor in host memory: itself where it is there."""
    def cross(self, other: _Operand, dim: _Dims | None = None, *, out: Tensor | None = None) -> Tensor:
        """The vector products of vectors of three elements along `dim`, by default the input's first dimension of that size."""
    def crow_indices(self) -> Tensor:
        """Where the elements of each row of a CSR or BSR matrix begin; and their number."""
    def cuda(self, device: _Device | None = None, non_blocking: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor on a CUDA device: itself where it is there."""
    def cummax(self, dim: _Dims | None = None, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
        """The largest element so far along a dimension and where it was met last, as (values, indices). NaN counts as largest."""
    def cummin(self, dim: _Dims | None = None, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
        """The smallest element so far along a dimension and where it was met last, as (values, indices). NaN counts as smallest."""
    def cumprod(self, dim: _Dims | None = None, *, axis: _Dims | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Running products along a dimension. Integers and bools multiply as int64 unless a dtype is given."""
    def cumprod_(self, dim: _Dims | None = None, *, axis: _Dims | None = None, dtype: _dtype | None = None) -> Tensor:
        """In-place form of `cumprod`: this tensor takes the results, in its own dtype."""
    def cumsum(self, dim: _Dims | None = None, *, axis: _Dims | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """Running sums along a dimension. Integers and bools sum as int64 unless a dtype is given."""
    def cumsum_(self, dim: _Dims | None = None, *, axis: _Dims | None = None, dtype: _dtype | None = None) -> Tensor:
        """In-place form of `cumsum`: this tensor takes the results, in its own dtype."""
    @property
    def data(self) -> Tensor:
        """The same memory, apart from the graph, with a version counter of its own: writes to it are not noticed."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def deg2rad(self, *, out: Tensor | None = None) -> Tensor:
        """Degrees as radians, elementwise."""
    def deg2rad_(self) -> Tensor:
        """In-place form of `deg2rad`: writes the result into this tensor and returns it."""
    def dense_dim(self) -> _int:
        """How many dimensions each stored element of a sparse tensor has; all of a dense one."""
    def det(self) -> Tensor:
        """`torch.linalg.det` under its older name."""
    def detach(self) -> Tensor:
        """A tensor over the same memory, apart from the graph: no gradient passes."""
    def detach_(self) -> Tensor:
        """Take this tensor out of the graph, in place, and return it."""
    def diag(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """A matrix with a vector as its diagonal, or the diagonal of a matrix, in memory of its own."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices in dimensions dim1 and dim2, zero but for a diagonal, which the last dimension of `input` holds."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """A matrix with all elements of a tensor as its diagonal, in row-major order."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A diagonal of two dimensions, as a new last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy of `input` with `src` in the place of `input.diagonal(offset, dim1, dim2)`."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
        """Differences of neighbours along a dimension, taken n times; bools differ or not."""
    def digamma(self, *, out: Tensor | None = None) -> Tensor:
        """Derivative of lgamma, gamma'(input) / gamma(input), elementwise; within 5 ulp above 0."""
    def digamma_(self) -> Tensor:
        """In-place form of `digamma`: writes the result into this tensor and returns it."""
    def dim_order(self, *, ambiguity_check: _bool = False) -> tuple[_int, ...]:
        """The dimensions by how they lie in memory, the outermost first."""
    def dist(self, other: _Operand, p: _float = 2) -> Tensor:
        """The p-norm of the difference of two tensors."""
    def div(self, other: _Operand, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
        """input / other, elementwise, rounded where `rounding_mode` says so."""
    def div_(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """In-place form of `div`: writes the result into this tensor and returns it."""
    def divide(self, other: _Operand, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
        """input / other, elementwise, rounded where `rounding_mode` says so."""
    def divide_(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """In-place form of `div`: writes the result into this tensor and returns it."""
    def dot(self, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The sum of the products of two vectors."""
    def double(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as float64: itself where it is so, else a copy through which gradients pass."""
    def dsplit(self, indices_or_sections: _Dims | Tensor) -> tuple[Tensor, ...]:
        """Parts along dimension 2."""
    def eig(self, eigenvectors: _bool = False) -> Eigen:
        """The eigenvalues of a real square matrix as rows (real part, imaginary part), as before `torch.linalg.eig`."""
    def eq(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input == other, elementwise."""
    def eq_(self, other: _Operand) -> Tensor:
        """In-place form of `eq`: writes the result into this tensor and returns it."""
    def equal(self, other: _Operand) -> _bool:
        """Whether two tensors have the same shape and elements. NaN is not equal to NaN."""
    def erf(self, *, out: Tensor | None = None) -> Tensor:
        """Error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to input, elementwise."""
    def erf_(self) -> Tensor:
        """In-place form of `erf`: writes the result into this tensor and returns it."""
    def erfc(self, *, out: Tensor | None = None) -> Tensor:
        """1 - erf(input), elementwise, without the cancellation for large input; within 5 ulp, 2 with AVX-512."""
    def erfc_(self) -> Tensor:
        """In-place form of `erfc`: writes the result into this tensor and returns it."""
    def erfinv(self, *, out: Tensor | None = None) -> Tensor:
        """Inverse of the error function, elementwise: infinite at -1 and 1, NaN outside."""
    def erfinv_(self) -> Tensor:
        """In-place form of `erfinv`: writes the result into this tensor and returns it."""
    def exp(self, *, out: Tensor | None = None) -> Tensor:
        """e to the power input, elementwise."""
    def exp2(self, *, out: Tensor | None = None) -> Tensor:
        """2 to the power input, elementwise; exact for integers."""
    def exp2_(self) -> Tensor:
        """In-place form of `exp2`: writes the result into this tensor and returns it."""
    def exp_(self) -> Tensor:
        """In-place form of `exp`: writes the result into this tensor and returns it."""
    def expand(self, *sizes: _Dims, size: _Dims | None = None) -> Tensor:
        """Broadcast to a shape without copying."""
    def expand_as(self, other: _Operand) -> Tensor:
        """Broadcast to the shape of another tensor without copying: `expand`."""
    def expm1(self, *, out: Tensor | None = None) -> Tensor:
        """exp(input) - 1, elementwise, without the cancellation near 0."""
    def expm1_(self) -> Tensor:
        """In-place form of `expm1`: writes the result into this tensor and returns it."""
    def exponential_(self, lambd: _float = 1.0, *, generator: _Generator | None = None) -> Tensor:
        """Fill with exponential numbers of density lambd exp(-lambd x); returns this tensor."""
    def fill_(self, value: _Operand) -> Tensor:
        """Set every element to a value and return this tensor."""
    def fill_diagonal_(self, fill_value: _Operand, wrap: _bool = False) -> Tensor:
        """Write a number to the main diagonal (of a matrix, or of dimensions that are all of one extent), and return this tensor."""
    def fix(self, *, out: Tensor | None = None) -> Tensor:
        """input without its fraction, elementwise: rounded towards 0."""
    def fix_(self) -> Tensor:
        """In-place form of `trunc`: writes the result into this tensor and returns it."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Dimensions from `start_dim` to `end_dim` merged into one: a view where the strides allow it, else a copy."""
    def flip(self, *along: _Dims, dims: _Dims | None = None) -> Tensor:
        """The order of elements reversed along dimensions, copied, in memory as the input lies."""
    def fliplr(self) -> Tensor:
        """Columns in reverse order, copied."""
    def flipud(self) -> Tensor:
        """Rows in reverse order, copied."""
    def float(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as float32: itself where it is so, else a copy through which gradients pass."""
    def float_power(self, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input to the power exponent, elementwise, computed in float64 (complex numbers in complex128)."""
    def float_power_(self, exponent: _Operand) -> Tensor:
        """In-place form of `float_power`: writes the result into this tensor and returns it."""
    def floor(self, *, out: Tensor | None = None) -> Tensor:
        """The largest integer not above input, elementwise."""
    def floor_(self) -> Tensor:
        """In-place form of `floor`: writes the result into this tensor and returns it."""
    def floor_divide(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """floor(input / other), elementwise: rounded down, as Python's //."""
    def floor_divide_(self, other: _Operand) -> Tensor:
        """In-place form of `floor_divide`: writes the result into this tensor and returns it."""
    def fmax(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The larger of input and other, elementwise; the number where the other is NaN."""
    def fmax_(self, other: _Operand) -> Tensor:
        """In-place form of `fmax`: writes the result into this tensor and returns it."""
    def fmin(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The smaller of input and other, elementwise; the number where the other is NaN."""
    def fmin_(self, other: _Operand) -> Tensor:
        """In-place form of `fmin`: writes the result into this tensor and returns it."""
    def fmod(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input - other * trunc(input / other), elementwise: the remainder with the sign of the dividend, as C's fmod."""
    def fmod_(self, other: _Operand) -> Tensor:
        """In-place form of `fmod`: writes the result into this tensor and returns it."""
    def frac(self, *, out: Tensor | None = None) -> Tensor:
        """input - trunc(input): the fraction, with the sign of input, elementwise."""
    def frac_(self) -> Tensor:
        """In-place form of `frac`: writes the result into this tensor and returns it."""
    def frexp(self, *, out: _Any = None) -> Frexp:
        """mantissa * 2**exponent, elementwise."""
    @_overload
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool=..., out: Tensor | None=...) -> Tensor:
        """Elements along a dimension, one for each index: `out[i][j] = input[index[i][j]][j]` for dim 0."""
    @_overload
    def gather(self, *, axis: _int, index: Tensor, sparse_grad: _bool=..., out: Tensor | None=...) -> Tensor: ...
    def gcd(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The greatest common divisor of integers, elementwise; not negative. Euclid's algorithm."""
    def gcd_(self, other: _Operand) -> Tensor:
        """In-place form of `gcd`: writes the result into this tensor and returns it."""
    def ge(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input >= other, elementwise; no comparison with NaN holds."""
    def ge_(self, other: _Operand) -> Tensor:
        """In-place form of `ge`: writes the result into this tensor and returns it."""
    def gels(self, A: Tensor) -> LeastSquares:
        """`torch.linalg.lstsq(A, B)` under LAPACK's name. Of more rows than columns, what the solution leaves of B stands below it: its"""
    def geometric_(self, p: _Scalar, *, generator: _Generator | None = None) -> Tensor:
        """Fill with the number of trials up to the first success, from 1 on; returns this tensor."""
    def geqrf(self, *, out: _Any = None) -> Geqrf:
        """The QR factorisation as LAPACK leaves it: R, and below it the reflections whose product is Q."""
    def ger(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The products of every element of one vector with every element of another, as a matrix."""
    def gesv(self, A: Tensor) -> Solution:
        """`torch.linalg.solve(A, B)` under LAPACK's name, with the LU factors of A."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward left here, or None. May be set to a tensor of this one's shape, dtype and device."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @property
    def grad_fn(self) -> _Any:
        """The node of the call that made this tensor; None for leaves."""
    def greater(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input > other, elementwise; no comparison with NaN holds."""
    def greater_(self, other: _Operand) -> Tensor:
        """In-place form of `gt`: writes the result into this tensor and returns it."""
    def greater_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input >= other, elementwise; no comparison with NaN holds."""
    def greater_equal_(self, other: _Operand) -> Tensor:
        """In-place form of `ge`: writes the result into this tensor and returns it."""
    def gt(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input > other, elementwise; no comparison with NaN holds."""
    def gt_(self, other: _Operand) -> Tensor:
        """In-place form of `gt`: writes the result into this tensor and returns it."""
    def half(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as float16: itself where it is so, else a copy through which gradients pass."""
    def hardshrink(self, lambd: _Scalar = 0.5, *, out: Tensor | None = None) -> Tensor:
        """input, and 0 where |input| is at most lambd."""
    def hash_tensor(self, dim: _Dims = ..., *, keepdim: _bool = False, mode: _int = 0, out: Tensor | None = None) -> Tensor:
        """The exclusive or of elements as 64-bit words: integers as int64, floats as float64."""
    def heaviside(self, values: Tensor, *, out: Tensor | None = None) -> Tensor:
        """0 below 0 and for NaN, 1 above, `values` at 0, elementwise."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """In-place form of `heaviside`: writes the result into this tensor and returns it."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0, *, out: Tensor | None = None) -> Tensor:
        """How many elements fall into each of equal bins between `min` and `max` (the data's own range where these are equal)."""
    def histogram(self, bins: _Any = 100, *, range: _Any = None, weight: Tensor | None = None, density: _bool = False, out: _Any = None) -> Histogram:
        """Counts (or summed weights) of elements between bin edges, as (hist, bin_edges). The last bin is closed."""
    def hsplit(self, indices_or_sections: _Dims | Tensor) -> tuple[Tensor, ...]:
        """Parts along dimension 1, of a vector along its only one."""
    def hypot(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """sqrt(input * input + other * other), elementwise, without overflow on the way."""
    def hypot_(self, other: _Operand) -> Tensor:
        """In-place form of `hypot`: writes the result into this tensor and returns it."""
    def i0(self, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of order 0, elementwise: the solution of input f'' + f' = input f with f(0) = 1; within 6 ulp."""
    def i0_(self) -> Tensor:
        """In-place form of `i0`: writes the result into this tensor and returns it."""
    def i0e(self, *, out: Tensor | None = None) -> Tensor:
        """exp(-|input|) times the modified Bessel function of order 0, elementwise, which does not overflow; within 5 ulp."""
    def i0e_(self) -> Tensor:
        """In-place form of `i0e`: writes the result into this tensor and returns it."""
    def i1(self, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of order 1, elementwise: the derivative of `i0`; within 6 ulp."""
    def i1_(self) -> Tensor:
        """In-place form of `i1`: writes the result into this tensor and returns it."""
    def i1e(self, *, out: Tensor | None = None) -> Tensor:
        """exp(-|input|) times the modified Bessel function of order 1, elementwise, which does not overflow; within 5 ulp."""
    def i1e_(self) -> Tensor:
        """In-place form of `i1e`: writes the result into this tensor and returns it."""
    def igamma(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The regularised lower incomplete gamma function P(input, other), elementwise."""
    def igamma_(self, other: _Operand) -> Tensor:
        """In-place form of `igamma`: writes the result into this tensor and returns it."""
    def igammac(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The regularised upper incomplete gamma function Q(input, other), elementwise."""
    def igammac_(self, other: _Operand) -> Tensor:
        """In-place form of `igammac`: writes the result into this tensor and returns it."""
    @property
    def imag(self) -> Tensor:
        """The imaginary parts, as a view."""
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    @_overload
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Scalar=..., out: Tensor | None=...) -> Tensor:
        """A copy of the tensor after `index_add_`, whose arguments it takes."""
    @_overload
    def index_add(self, *, axis: _int, index: Tensor, source: Tensor, alpha: _Scalar=..., out: Tensor | None=...) -> Tensor: ...
    @_overload
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Scalar=...) -> Tensor:
        """Add `alpha` times the slices of `source` at the places in a dimension that `index` names, and return this tensor."""
    @_overload
    def index_add_(self, *, axis: _int, index: Tensor, source: Tensor, alpha: _Scalar=...) -> Tensor: ...
    def index_copy(self, dim: _Dims, index: Tensor, source: _Any, *, out: Tensor | None = None) -> Tensor:
        """A copy of the tensor after `index_copy_`, whose arguments it takes."""
    def index_copy_(self, dim: _Dims, index: Tensor, source: _Any) -> Tensor:
        """Write the slices of `source` to the places in a dimension that `index` names, and return this tensor."""
    def index_fill(self, dim: _Dims, index: Tensor, value: _Operand, *, out: Tensor | None = None) -> Tensor:
        """A copy of the tensor after `index_fill_`, whose arguments it takes."""
    def index_fill_(self, dim: _Dims, index: Tensor, value: _Operand) -> Tensor:
        """Set the slices of a dimension that `index` names, and return this tensor."""
    def index_put(self, indices: _Any, values: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of this tensor after `index_put_`: with `values` at the places that indices name."""
    def index_put_(self, indices: _Any, values: Tensor, accumulate: _bool = False) -> Tensor:
        """Write values to where index tensors or masks point, and return this tensor."""
    def index_reduce(self, dim: _Dims, index: Tensor, source: _Any, reduce: _bool | _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
        """A copy of the tensor, with the slices of `source` combined into the places in a dimension that a vector `index` names."""
    def index_reduce_(self, dim: _Dims, index: Tensor, source: _Any, reduce: _bool | _str, *, include_self: _bool = True) -> Tensor:
        """Combine the slices of `source` into the places in a dimension that `index` names, and return this tensor."""
    @_overload
    def index_select(self, dim: _int, index: Tensor, *, out: Tensor | None=...) -> Tensor:
        """The slices of a dimension that a vector of indices names, in its order."""
    @_overload
    def index_select(self, *, axis: _int, index: Tensor, out: Tensor | None=...) -> Tensor: ...
    def indices(self) -> Tensor:
        """The coordinates of the stored elements of a coalesced COO tensor, (sparse_dim, nnz)."""
    def inner(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The sums of products over the last dimension of both: (..., n) and (***, n) give (..., ***)."""
    def int(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as int32: itself where it is so, else a copy through which gradients pass."""
    def inverse(self, *, out: Tensor | None = None) -> Tensor:
        """`torch.linalg.inv` under its older name."""
    def is_coalesced(self) -> _bool:
        """Whether the coordinates of a COO tensor are known to be in order and distinct."""
    def is_conj(self) -> _bool:
        """False: conjugates are computed when they are asked for."""
    @property
    def is_cpu(self) -> _bool:
        """Whether the elements are in host memory."""
    def is_distributed(self) -> _bool:
        """Whether the elements are on several machines: no."""
    @property
    def is_ipu(self) -> _bool:
        """False: there are no such tensors here."""
    @property
    def is_leaf(self) -> _bool:
        """Whether this tensor is where the graph begins: made by the user, or not recorded at all."""
    @property
    def is_maia(self) -> _bool:
        """False: there are no such tensors here."""
    @property
    def is_meta(self) -> _bool:
        """Whether there are no elements, on the meta device."""
    @property
    def is_mkldnn(self) -> _bool:
        """False: there are no such tensors here."""
    @property
    def is_mps(self) -> _bool:
        """False: there are no such tensors here."""
    @property
    def is_mtia(self) -> _bool:
        """False: there are no such tensors here."""
    def is_neg(self) -> _bool:
        """Whether the tensor stands for its negative: never, here."""
    @property
    def is_nested(self) -> _bool:
        """False: there are no such tensors here."""
    def is_nonzero(self) -> _bool:
        """Whether the one element of a tensor is not 0."""
    def is_pinned(self, device: _Device | None = None) -> _bool:
        """Whether the memory is pinned."""
    @property
    def is_quantized(self) -> _bool:
        """False: there are no such tensors here."""
    def is_same_size(self, other: _Operand) -> _bool:
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether another tensor is the same view of the same memory."""
    def is_shared(self) -> _bool:
        """Whether the memory can be seen by other processes (`numtorch.multiprocessing`)."""
    @property
    def is_sparse(self) -> _bool:
        """Whether the layout is COO."""
    @property
    def is_sparse_csr(self) -> _bool:
        """Whether the layout is CSR."""
    @property
    def is_vulkan(self) -> _bool:
        """False: there are no such tensors here."""
    @property
    def is_xla(self) -> _bool:
        """False: there are no such tensors here."""
    @property
    def is_xpu(self) -> _bool:
        """False: there are no such tensors here."""
    def isclose(self, other: _Operand, rtol: _Scalar = 1e-05, atol: _Scalar = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Where |input - other| <= atol + rtol * |other|; infinities are close to themselves."""
    def isfinite(self, *, out: Tensor | None = None) -> Tensor:
        """Whether input is neither infinite nor NaN, elementwise."""
    def isfinite_(self) -> Tensor:
        """In-place form of `isfinite`: writes the result into this tensor and returns it."""
    def isinf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether input is plus or minus infinity, elementwise; of a complex number, whether a part is."""
    def isinf_(self) -> Tensor:
        """In-place form of `isinf`: writes the result into this tensor and returns it."""
    def isnan(self, *, out: Tensor | None = None) -> Tensor:
        """Whether input is not a number, elementwise; of a complex number, whether a part is not."""
    def isnan_(self) -> Tensor:
        """In-place form of `isnan`: writes the result into this tensor and returns it."""
    def isneginf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether input is minus infinity, elementwise."""
    def isneginf_(self) -> Tensor:
        """In-place form of `isneginf`: writes the result into this tensor and returns it."""
    def isposinf(self, *, out: Tensor | None = None) -> Tensor:
        """Whether input is plus infinity, elementwise."""
    def isposinf_(self) -> Tensor:
        """In-place form of `isposinf`: writes the result into this tensor and returns it."""
    def isreal(self, *, out: Tensor | None = None) -> Tensor:
        """Whether input has no imaginary part, elementwise."""
    def isreal_(self) -> Tensor:
        """In-place form of `isreal`: writes the result into this tensor and returns it."""
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """The signal whose `stft` is given (Griffin and Lim, "Signal estimation from modified short-time Fourier transform", 1984)."""
    def item(self) -> _bool | _int | _float:
        """The one element as a Python number."""
    def kron(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Kronecker's product: every element of the first times the whole of the second, in its place."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
        """The k-th smallest element along a dimension, as (values, indices). NaN counts as greatest."""
    def lcm(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The least common multiple of integers, elementwise; not negative."""
    def lcm_(self, other: _Operand) -> Tensor:
        """In-place form of `lcm`: writes the result into this tensor and returns it."""
    def ldexp(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input * 2**other, elementwise."""
    def ldexp_(self, other: _Operand) -> Tensor:
        """In-place form of `ldexp`: writes the result into this tensor and returns it."""
    def le(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input <= other, elementwise; no comparison with NaN holds."""
    def le_(self, other: _Operand) -> Tensor:
        """In-place form of `le`: writes the result into this tensor and returns it."""
    def lerp(self, end: _Operand, weight: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input + weight * (end - input), from whichever end is nearer, elementwise."""
    def lerp_(self, end: _Operand, weight: _Operand) -> Tensor:
        """In-place form of `lerp`: writes the result into this tensor and returns it."""
    def less(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input < other, elementwise; no comparison with NaN holds."""
    def less_(self, other: _Operand) -> Tensor:
        """In-place form of `lt`: writes the result into this tensor and returns it."""
    def less_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input <= other, elementwise; no comparison with NaN holds."""
    def less_equal_(self, other: _Operand) -> Tensor:
        """In-place form of `le`: writes the result into this tensor and returns it."""
    def lgamma(self, *, out: Tensor | None = None) -> Tensor:
        """Logarithm of |gamma(input)|, elementwise: infinite at 0 and the integers below; within 3 ulp above 0."""
    def lgamma_(self) -> Tensor:
        """In-place form of `lgamma`: writes the result into this tensor and returns it."""
    def log(self, *, out: Tensor | None = None) -> Tensor:
        """Natural logarithm, elementwise: minus infinity of 0, NaN below."""
    def log10(self, *, out: Tensor | None = None) -> Tensor:
        """Logarithm to base 10, elementwise."""
    def log10_(self) -> Tensor:
        """In-place form of `log10`: writes the result into this tensor and returns it."""
    def log1p(self, *, out: Tensor | None = None) -> Tensor:
        """log(1 + input), elementwise, without the loss of digits near 0."""
    def log1p_(self) -> Tensor:
        """In-place form of `log1p`: writes the result into this tensor and returns it."""
    def log2(self, *, out: Tensor | None = None) -> Tensor:
        """Logarithm to base 2, elementwise."""
    def log2_(self) -> Tensor:
        """In-place form of `log2`: writes the result into this tensor and returns it."""
    def log_(self) -> Tensor:
        """In-place form of `log`: writes the result into this tensor and returns it."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: _Generator | None = None) -> Tensor:
        """Fill with numbers whose logarithms are normal; returns this tensor."""
    def log_softmax(self, dim: _Dims | None = None, dtype: _dtype | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
        """log(softmax(x)) along a dimension, exact where softmax underflows."""
    def logaddexp(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """log(exp(input) + exp(other)), elementwise, without overflow."""
    def logaddexp2(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """log2(2**input + 2**other), elementwise, without overflow."""
    def logaddexp2_(self, other: _Operand) -> Tensor:
        """In-place form of `logaddexp2`: writes the result into this tensor and returns it."""
    def logaddexp_(self, other: _Operand) -> Tensor:
        """In-place form of `logaddexp`: writes the result into this tensor and returns it."""
    def logcumsumexp(self, dim: _Dims | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
        """log of the running sums of exponentials along a dimension, shifted so that nothing overflows."""
    def logdet(self) -> Tensor:
        """The logarithms of the determinants of square matrices; NaN for a negative one, -inf for 0."""
    def logical_and(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether both are non-zero, elementwise."""
    def logical_and_(self, other: _Operand) -> Tensor:
        """In-place form of `logical_and`: writes the result into this tensor and returns it."""
    def logical_not(self, *, out: Tensor | None = None) -> Tensor:
        """Whether input is zero, elementwise."""
    def logical_not_(self) -> Tensor:
        """In-place form of `logical_not`: writes the result into this tensor and returns it."""
    def logical_or(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether either is non-zero, elementwise."""
    def logical_or_(self, other: _Operand) -> Tensor:
        """In-place form of `logical_or`: writes the result into this tensor and returns it."""
    def logical_xor(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """Whether just one is non-zero, elementwise."""
    def logical_xor_(self, other: _Operand) -> Tensor:
        """In-place form of `logical_xor`: writes the result into this tensor and returns it."""
    def logit(self, eps: _Scalar | None = None, *, out: Tensor | None = None) -> Tensor:
        """log(input / (1 - input)), elementwise: the inverse of `sigmoid`."""
    def logit_(self, eps: _Scalar | None = None) -> Tensor:
        """In-place form of `logit`: writes the result into this tensor and returns it."""
    def logsumexp(self, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
        """log(sum(exp(x))) along dimensions, shifted by the largest element so that nothing overflows."""
    def long(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as int64: itself where it is so, else a copy through which gradients pass."""
    def lstsq(self, A: Tensor) -> LeastSquares:
        """`torch.linalg.lstsq(A, B)` under LAPACK's name. Of more rows than columns, what the solution leaves of B stands below it: its"""
    def lt(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input < other, elementwise; no comparison with NaN holds."""
    def lt_(self, other: _Operand) -> Tensor:
        """In-place form of `lt`: writes the result into this tensor and returns it."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False, out: _Any = None) -> tuple[Tensor, ...]:
        """`torch.linalg.lu_factor_ex` under its older name: it does not raise where a pivot is 0."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
        """`torch.linalg.lu_solve` with the right-hand side first."""
    @property
    def mH(self) -> Tensor:
        """The conjugate of `mT`, computed when asked for."""
    @property
    def mT(self) -> Tensor:
        """A view of matrices (..., M, N) transposed: (..., N, M); a number as it is."""
    def map2_(self, x: Tensor, y: Tensor, callable: _Callable[..., _Any]) -> Tensor:
        """Put `callable(element, element of x, element of y)` in the place of every element, as `map_` does."""
    def map_(self, tensor: Tensor, callable: _Callable[..., _Any]) -> Tensor:
        """Put `callable(element, element of tensor)` in the place of every element, one by one in Python, and return this tensor."""
    def masked_fill(self, mask: Tensor, value: _Operand) -> Tensor:
        """`value` where the mask holds, the tensor's own element elsewhere."""
    def masked_fill_(self, mask: Tensor, value: _Operand) -> Tensor:
        """In-place form of `masked_fill`: writes `value` into this tensor where the mask holds, and returns it."""
    def masked_scatter(self, mask: Tensor, source: _Any, *, out: Tensor | None = None) -> Tensor:
        """A copy of the tensor after `masked_scatter_`, whose arguments it takes."""
    def masked_scatter_(self, mask: Tensor, source: _Any) -> Tensor:
        """Write the elements of `source`, in order, to where the mask holds, and return this tensor."""
    def masked_select(self, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements where a mask holds, in one dimension."""
    def matmul(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The matrix product, with NumPy's rules: vectors are rows or columns, and batch dimensions broadcast."""
    def matrix_exp(self) -> Tensor:
        """The sum of A^k / k!, of square matrices."""
    def matrix_power(self, n: _int, *, out: Tensor | None = None) -> Tensor:
        """Square matrices times themselves, n times; inverted first for a negative n."""
    @_overload
    def max(self, *, out: Tensor | None=...) -> Tensor:
        """The largest element; with a dimension, (values, indices) along it; with a second tensor, `maximum`. NaN where there is one."""
    @_overload
    def max(self, dim: _int, keepdim: _bool=..., *, out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
    @_overload
    def max(self, *, axis: _int, keepdims: _bool=..., out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
    @_overload
    def max(self, dim: Tensor, *, out: Tensor | None=...) -> Tensor: ...
    def maximum(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The larger of input and other, elementwise; NaN where either is NaN. Where they are equal, each has half of the gradient."""
    def maximum_(self, other: _Operand) -> Tensor:
        """In-place form of `maximum`: writes the result into this tensor and returns it."""
    def mean(self, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The mean of all elements, or along dimensions."""
    @_overload
    def median(self, *, out: Tensor | None=...) -> Tensor:
        """The middle element, the lower of two; with a dimension, (values, indices) along it. NaN where there is one."""
    @_overload
    def median(self, dim: _int, keepdim: _bool=..., *, out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
    @_overload
    def median(self, *, axis: _int, keepdims: _bool=..., out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
    @_overload
    def min(self, *, out: Tensor | None=...) -> Tensor:
        """The smallest element; with a dimension, (values, indices) along it; with a second tensor, `minimum`. NaN where there is one."""
    @_overload
    def min(self, dim: _int, keepdim: _bool=..., *, out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
    @_overload
    def min(self, *, axis: _int, keepdims: _bool=..., out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
    @_overload
    def min(self, dim: Tensor, *, out: Tensor | None=...) -> Tensor: ...
    def minimum(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The smaller of input and other, elementwise; NaN where either is NaN. Where they are equal, each has half of the gradient."""
    def minimum_(self, other: _Operand) -> Tensor:
        """In-place form of `minimum`: writes the result into this tensor and returns it."""
    def mm(self, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: _int = -1, keepdim: _bool = False, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
        """The commonest element along a dimension, the smallest of several, and the last place of it, as (values, indices)."""
    def moveaxis(self, source: _Dims, destination: _Dims) -> Tensor:
        """Dimensions moved to other places; the others keep their order."""
    def movedim(self, source: _Dims, destination: _Dims) -> Tensor:
        """Dimensions moved to other places; the others keep their order."""
    def msort(self, *, out: Tensor | None = None) -> Tensor:
        """Elements in order along the first dimension."""
    def mul(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input * other, elementwise."""
    def mul_(self, other: _Operand) -> Tensor:
        """In-place form of `mul`: writes the result into this tensor and returns it."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
        """Indices drawn in proportion to each row's weights."""
    def multiply(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input * other, elementwise."""
    def multiply_(self, other: _Operand) -> Tensor:
        """In-place form of `mul`: writes the result into this tensor and returns it."""
    def mv(self, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: _int, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension p, elementwise."""
    def mvlgamma_(self, p: _int) -> Tensor:
        """In-place form of `mvlgamma`: writes the result into this tensor and returns it."""
    @property
    def name(self) -> None:
        """None: tensors have no names."""
    def nan_to_num(self, nan: _Operand | None = None, posinf: _Operand | None = None, neginf: _Operand | None = None, *, out: Tensor | None = None) -> Tensor:
        """Numbers instead of NaN and of the infinities, elementwise; of complex numbers in either part. A copy of integers."""
    def nan_to_num_(self, nan: _Operand | None = None, posinf: _Operand | None = None, neginf: _Operand | None = None) -> Tensor:
        """In-place form of `nan_to_num`: writes the result into this tensor and returns it."""
    def nanmean(self, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The mean of the elements that are not NaN; NaN where all are."""
    @_overload
    def nanmedian(self, *, out: Tensor | None=...) -> Tensor:
        """The middle element of those that are not NaN, otherwise as `median`."""
    @_overload
    def nanmedian(self, dim: _int, keepdim: _bool=..., *, out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
    @_overload
    def nanmedian(self, *, axis: _int, keepdims: _bool=..., out: tuple[Tensor, Tensor] | None=...) -> _Pair: ...
    def nanquantile(self, q: _Operand, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, interpolation: _str = 'linear', out: Tensor | None = None) -> Tensor:
        """The q-th quantiles of the elements that are not NaN, otherwise as `quantile`."""
    def nansum(self, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The sum of the elements that are not NaN, as `sum` otherwise; their gradient is 0 where they are."""
    @_overload
    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """`length` indices of a dimension from `start`."""
    @_overload
    def narrow(self, *, axis: _int, start: _int | Tensor, length: _int) -> Tensor: ...
    def narrow_copy(self, dim: _Dims, start: _int | Tensor, length: _int, *, out: Tensor | None = None) -> Tensor:
        """`narrow` with memory of its own."""
    def ne(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input != other, elementwise."""
    def ne_(self, other: _Operand) -> Tensor:
        """In-place form of `ne`: writes the result into this tensor and returns it."""
    def neg(self, *, out: Tensor | None = None) -> Tensor:
        """-input, elementwise."""
    def neg_(self) -> Tensor:
        """In-place form of `neg`: writes the result into this tensor and returns it."""
    def negative(self, *, out: Tensor | None = None) -> Tensor:
        """-input, elementwise."""
    def negative_(self) -> Tensor:
        """In-place form of `neg`: writes the result into this tensor and returns it."""
    def new(self, *args: _Any, size: _Dims | None = None, device: _Device | None = None) -> Tensor:
        """A tensor of this one's dtype: of data, or uninitialised of a shape."""
    def new_empty(self, *shape: _Dims, size: _Dims | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A tensor of uninitialised elements, of this one's dtype and device unless others are given."""
    def new_empty_strided(self, size: _Dims, stride: _Dims, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A tensor of uninitialised elements and any strides, of this one's dtype and device unless others are given."""
    def new_full(self, size: _Dims, fill_value: _Operand, *, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A tensor with every element `fill_value`, of this one's dtype and device unless others are given."""
    def new_ones(self, *shape: _Dims, size: _Dims | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A tensor of ones, of this one's dtype and device unless others are given."""
    def new_tensor(self, data: _Any, *, dtype: _dtype | None = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A copy of `data`, of this tensor's dtype and device unless others are given."""
    def new_zeros(self, *shape: _Dims, size: _Dims | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A tensor of zeros, of this one's dtype and device unless others are given."""
    def nextafter(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The number that comes after `input` on the way to `other`, elementwise, in the dtype to which both promote."""
    def nextafter_(self, other: _Operand) -> Tensor:
        """In-place form of `nextafter`: writes the result into this tensor and returns it."""
    @_overload
    def nonzero(self, *, as_tuple: _Literal[False] = False, out: Tensor | None = None) -> Tensor:
        """The indices of elements that are not zero, in row-major order."""
    @_overload
    def nonzero(self, *, out: _Any = None, as_tuple: _Literal[True]) -> tuple[Tensor, ...]: ...
    @_overload
    def nonzero(self, *, as_tuple: _bool = False, out: _Any = None) -> _Any: ...
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The first rows of `nonzero`, as many as asked for."""
    def norm(self, p: _Scalar | _str = 2, dim: _Dims | None = None, keepdim: _bool = False, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
        """The p-norm (sum |x|^p)^(1/p) of all elements, or along dimensions; see `linalg.vector_norm` and `linalg.matrix_norm`."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: _Generator | None = None) -> Tensor:
        """Fill with normal numbers; returns this tensor."""
    def not_equal(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input != other, elementwise."""
    def not_equal_(self, other: _Operand) -> Tensor:
        """In-place form of `ne`: writes the result into this tensor and returns it."""
    def numpy(self, *, force: _bool = False) -> _ndarray[_Any, _Any]:
        """A NumPy array over the same memory."""
    def orgqr(self, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """`torch.linalg.householder_product` under its older name."""
    def ormqr(self, tau: _Any, other: _Operand, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor:
        """The square matrix Q, a product of Householder reflections, times another, without Q being written."""
    def outer(self, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The products of every element of one vector with every element of another, as a matrix."""
    @property
    def output_nr(self) -> _int:
        """Which output of its node this tensor is."""
    def permute(self, *order: _Dims, dims: _Dims | None = None) -> Tensor:
        """Dimensions reordered: dimension `dims[i]` becomes dimension i."""
    def pin_memory(self, device: _Device | None = None) -> Tensor:
        """This tensor in pinned memory, from which copies to a GPU need not wait (`non_blocking=True`); itself where it is so, or"""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """`torch.linalg.pinv` under its older name."""
    def polygamma(self, n: _int) -> Tensor:
        """The n-th derivative of digamma, elementwise: `torch.polygamma(n, self)`."""
    def polygamma_(self, n: _Any) -> Tensor:
        """In-place form of `polygamma`: writes the result into this tensor and returns it."""
    def positive(self) -> Tensor:
        """+input: the tensor itself."""
    def potrf(self, upper: _bool = True) -> Tensor:
        """`torch.linalg.cholesky` under LAPACK's name."""
    def potri(self, upper: _bool = True) -> Tensor:
        """`torch.cholesky_inverse` under LAPACK's name."""
    def potrs(self, input: Tensor, upper: _bool = True) -> Tensor:
        """`torch.cholesky_solve` under LAPACK's name."""
    def pow(self, exponent: _Operand, *, out: Tensor | None = None) -> Tensor:
        """`input` to the power `exponent`, elementwise; either may be a number."""
    def pow_(self, exponent: _Operand) -> Tensor:
        """In-place form of `pow`: writes the result into this tensor and returns it."""
    def prelu(self, weight: Tensor) -> Tensor:
        """x where positive, weight * x elsewhere; see `nn.functional.prelu`."""
    def prod(self, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The product of all elements, or along dimensions. Its gradient is right where elements are 0, too."""
    def put(self, index: Tensor, source: _Any, accumulate: _bool = False) -> Tensor:
        """A copy of the tensor after `put_`."""
    def put_(self, index: Tensor, source: _Any, accumulate: _bool = False) -> Tensor:
        """Write the elements of `source` to places in this tensor seen as flattened, or add them there, and return this tensor."""
    def qr(self, some: _bool = True, *, out: _Any = None) -> OldQR:
        """`torch.linalg.qr` under its older name."""
    def quantile(self, q: _Operand, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, interpolation: _str = 'linear', out: Tensor | None = None) -> Tensor:
        """The q-th quantiles along a dimension (of all elements, without one); NaN where there is one."""
    def rad2deg(self, *, out: Tensor | None = None) -> Tensor:
        """Radians as degrees, elementwise."""
    def rad2deg_(self) -> Tensor:
        """In-place form of `rad2deg`: writes the result into this tensor and returns it."""
    def random_(self, *range: _Any, to: _int | None = None, generator: _Generator | None = None) -> Tensor:
        """Fill with integers in [from, to); returns this tensor."""
    def ravel(self) -> Tensor:
        """All elements in one dimension, contiguous: a view of a contiguous tensor, else a copy."""
    @property
    def real(self) -> Tensor:
        """The real parts, as a view; a real tensor itself."""
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def reciprocal(self, *, out: Tensor | None = None) -> Tensor:
        """1 / input, elementwise: infinite for 0."""
    def reciprocal_(self) -> Tensor:
        """In-place form of `reciprocal`: writes the result into this tensor and returns it."""
    def record_stream(self, stream: _Any) -> None:
        """Say that a stream uses this tensor's memory beside the one it was made in: it is given to others only when the stream has"""
    def register_hook(self, hook: _Callable[..., _Any]) -> _Any:
        """Have `hook(grad)` called as soon as this tensor's gradient is known; it may return a replacement."""
    def register_post_accumulate_grad_hook(self, hook: _Callable[..., _Any]) -> _Any:
        """Have `hook(tensor)` called after a gradient has been added to this leaf's `.grad`."""
    def relu(self, *, out: Tensor | None = None) -> Tensor:
        """max(input, 0), elementwise; NaN stays."""
    def relu_(self) -> Tensor:
        """In-place form of `relu`: writes the result into this tensor and returns it."""
    def remainder(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input - other * floor(input / other), elementwise: the remainder with the sign of the divisor, as Python's %."""
    def remainder_(self, other: _Operand) -> Tensor:
        """In-place form of `remainder`: writes the result into this tensor and returns it."""
    def renorm(self, p: _Scalar, dim: _Dims, maxnorm: _Scalar, *, out: Tensor | None = None) -> Tensor:
        """The tensor with those slices of a dimension whose p-norm is above `maxnorm` scaled down to it."""
    def renorm_(self, p: _Scalar, dim: _Dims, maxnorm: _Scalar) -> Tensor:
        """Scale those slices of a dimension of this tensor whose p-norm is above `maxnorm` down to it."""
    def repeat(self, *counts: _Dims, repeats: _Dims | Tensor | None = None) -> Tensor:
        """This tensor several times along its dimensions, copied."""
    def repeat_interleave(self, repeats: _Dims | Tensor | None = None, dim: _Dims | None = None, *, axis: _Dims | None = None, output_size: _int | _Sequence[_int | None] | None = None) -> Tensor:
        """Each element, or each slice of a dimension, several times in a row."""
    @property
    def requires_grad(self) -> _bool:
        """Whether what is computed from this tensor is recorded. May be set, as `requires_grad_` does."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Tensor:
        """Start (or stop) recording what is computed from this tensor, and return it."""
    def reshape(self, *extents: _Dims, shape: _Dims | None = None) -> Tensor:
        """The same elements under another shape: a view where the strides allow it, else a copy."""
    def reshape_as(self, other: _Operand) -> Tensor:
        """These elements under the shape of another tensor: `reshape`."""
    def resize(self, *sizes: _Dims) -> Tensor:
        """The same elements in another shape: `reshape`, which is what to call."""
    def resize_(self, *sizes: _Dims, size: _Dims | None = None, memory_format: _memory_format | None = None) -> Tensor:
        """Change the shape of this tensor itself, to any number of elements; those that are new are not initialised."""
    def resize_as(self, tensor: Tensor) -> Tensor:
        """The same elements in another tensor's shape: `reshape_as`, which is what to call."""
    def resize_as_(self, the_template: _Any, *, memory_format: _memory_format | None = None) -> Tensor:
        """Change this tensor's shape to that of another; see `resize_`."""
    def resize_as_sparse_(self, the_template: _Any) -> Tensor:
        """Give this COO tensor the size of another, in place; what it stores stays."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself, since conjugates are computed when they are asked for."""
    def resolve_neg(self) -> Tensor:
        """This tensor, which never stands for its negative."""
    def retain_grad(self) -> None:
        """Keep this tensor's gradient in `.grad` although it is not a leaf."""
    @property
    def retains_grad(self) -> _bool:
        """Whether this tensor keeps its gradient though it is not a leaf."""
    def roll(self, shifts: _Dims, dims: _Dims | None = None) -> Tensor:
        """Elements moved on along dimensions, those pushed off the end coming in at the start."""
    def rot90(self, k: _int = 1, dims: _Dims = ...) -> Tensor:
        """Turned by quarter turns in the plane of two dimensions, copied."""
    def round(self, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
        """The nearest integer, ties to even, elementwise; or the nearest number of so many decimals."""
    def round_(self, *, decimals: _int = 0) -> Tensor:
        """In-place form of `round`: writes the result into this tensor and returns it."""
    def row_indices(self) -> Tensor:
        """The row of each stored element of a CSC matrix, or block of a BSC one."""
    def rsqrt(self, *, out: Tensor | None = None) -> Tensor:
        """1 / sqrt(input), elementwise: infinity of 0, NaN below."""
    def rsqrt_(self) -> Tensor:
        """In-place form of `rsqrt`: writes the result into this tensor and returns it."""
    def scatter(self, dim: _Dims, index: Tensor, src: _Operand | None = None, value: _Operand | None = None, *, reduce: _bool | _str | None = None, out: Tensor | None = None) -> Tensor:
        """A copy of the tensor after `scatter_`, whose arguments it takes."""
    def scatter_(self, dim: _Dims, index: Tensor, src: _Operand | None = None, value: _Operand | None = None, *, reduce: _bool | _str | None = None) -> Tensor:
        """Write to the places along a dimension that `index` names, `self[index[i][j]][j] = src[i][j]` for dim 0; returns this tensor."""
    @_overload
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None=...) -> Tensor:
        """A copy of the tensor after `scatter_add_`, whose arguments it takes."""
    @_overload
    def scatter_add(self, *, axis: _int, index: Tensor, src: Tensor, out: Tensor | None=...) -> Tensor: ...
    @_overload
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Add at the places along a dimension that `index` names, `self[index[i][j]][j] += src[i][j]` for dim 0; returns this tensor."""
    @_overload
    def scatter_add_(self, *, axis: _int, index: Tensor, src: Tensor) -> Tensor: ...
    def scatter_reduce(self, dim: _Dims, index: Tensor, src: Tensor, reduce: _bool | _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
        """A copy of the tensor, with `src` combined into the places along a dimension that `index` names."""
    def scatter_reduce_(self, dim: _Dims, index: Tensor, src: Tensor, reduce: _bool | _str, *, include_self: _bool = True) -> Tensor:
        """Combine `src` into the places along a dimension that `index` names, and return this tensor."""
    @_overload
    def select(self, dim: _int, index: _int | Tensor) -> Tensor:
        """One index of a dimension, which goes away."""
    @_overload
    def select(self, *, axis: _int, index: _int | Tensor) -> Tensor: ...
    def select_scatter(self, src: Tensor, dim: _Dims, index: _int | Tensor) -> Tensor:
        """A copy of `input` with `src` in the place of `input.select(dim, index)`."""
    def set_(self, source: _Any = None, storage_offset: _int = 0, size: _Dims | None = None, stride: _Dims | None = None) -> Tensor:
        """Take on the memory of a tensor or a storage, or none at all."""
    def sgn(self, *, out: Tensor | None = None) -> Tensor:
        """The sign of real numbers, input / |input| of complex ones, elementwise; 0 for 0."""
    def sgn_(self) -> Tensor:
        """In-place form of `sgn`: writes the result into this tensor and returns it."""
    def share_memory(self) -> Tensor:
        """Move the memory to where other processes can see it, once sent to them. Every view of it goes along. Above 4 MiB"""
    def share_memory_(self) -> Tensor:
        """Move the memory to where other processes can see it, once sent to them. Every view of it goes along. Above 4 MiB"""
    def short(self, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor as int16: itself where it is so, else a copy through which gradients pass."""
    def sigmoid(self, *, out: Tensor | None = None) -> Tensor:
        """Logistic function 1 / (1 + exp(-input)), elementwise; within 3 ulp."""
    def sigmoid_(self) -> Tensor:
        """In-place form of `sigmoid`: writes the result into this tensor and returns it."""
    def sign(self, *, out: Tensor | None = None) -> Tensor:
        """-1, 0 or 1 by the sign, elementwise."""
    def sign_(self) -> Tensor:
        """In-place form of `sign`: writes the result into this tensor and returns it."""
    def signbit(self, *, out: Tensor | None = None) -> Tensor:
        """Whether input is below zero or -0.0, elementwise."""
    def signbit_(self) -> Tensor:
        """In-place form of `signbit`: writes the result into this tensor and returns it."""
    def sin(self, *, out: Tensor | None = None) -> Tensor:
        """Sine of input in radians, elementwise."""
    def sin_(self) -> Tensor:
        """In-place form of `sin`: writes the result into this tensor and returns it."""
    def sinc(self, *, out: Tensor | None = None) -> Tensor:
        """sin(pi input) / (pi input), and 1 for 0, elementwise."""
    def sinc_(self) -> Tensor:
        """In-place form of `sinc`: writes the result into this tensor and returns it."""
    def sinh(self, *, out: Tensor | None = None) -> Tensor:
        """Hyperbolic sine, (exp(input) - exp(-input)) / 2, elementwise; within 2.5 ulp."""
    def sinh_(self) -> Tensor:
        """In-place form of `sinh`: writes the result into this tensor and returns it."""
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _Scalar | None = None, end: _Operand | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
        """A copy of `input` with `src` in the place of the slice `start:end:step` of a dimension."""
    def slogdet(self, *, out: _Any = None) -> Slogdet:
        """`torch.linalg.slogdet` under its older name."""
    def smm(self, mat2: Tensor) -> Tensor:
        """The product of a sparse and a dense matrix as a sparse matrix, which stores the rows that `input` stores anything in."""
    def softmax(self, dim: _Dims | None = None, dtype: _dtype | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
        """exp(x) / sum(exp(x)) along a dimension, computed from x - max(x)."""
    def solve(self, A: Tensor) -> Solution:
        """`torch.linalg.solve(A, B)` under LAPACK's name, with the LU factors of A."""
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
        """Elements in order along a dimension, as (values, indices). Always stable; NaN counts as greatest."""
    def sparse_dim(self) -> _int:
        """How many dimensions of a sparse tensor are indexed; 0 of a dense one."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements of this tensor at the places that a sparse tensor stores."""
    def sparse_resize_(self, size: _Dims, sparse_dim: _Any, dense_dim: _Any) -> Tensor:
        """Give this COO tensor another size, in place; what it stores stays."""
    def sparse_resize_and_clear_(self, size: _Dims, sparse_dim: _Any, dense_dim: _Any) -> Tensor:
        """Give this COO tensor another size, in place, and forget what it stores."""
    def split(self, split_size: _Dims, dim: _int = 0) -> tuple[Tensor, ...]:
        """Consecutive parts of a dimension: `split`, whose sizes have another name here."""
    def split_with_sizes(self, split_sizes: _Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Consecutive parts of a dimension, of given sizes: `split`."""
    def sqrt(self, *, out: Tensor | None = None) -> Tensor:
        """Square root, elementwise: NaN below 0, exact where the root is a number of the dtype."""
    def sqrt_(self) -> Tensor:
        """In-place form of `sqrt`: writes the result into this tensor and returns it."""
    def square(self, *, out: Tensor | None = None) -> Tensor:
        """input * input, elementwise; bools become int64, as in `input ** 2`."""
    def square_(self) -> Tensor:
        """In-place form of `square`: writes the result into this tensor and returns it."""
    def squeeze(self, dim: _Dims | None = None, *further: _Any, axis: _Dims | None = None) -> Tensor:
        """Without dimensions of extent 1."""
    def squeeze_(self, dim: _Dims | None = None, *further: _Any, axis: _Dims | None = None) -> Tensor:
        """In-place form of `squeeze`, with its arguments: this tensor itself is seen so from now on."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *deprecated: _Any, beta: _Operand = 1, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
        """beta * input + alpha * mat1 @ mat2, of sparse matrices and a dense one, as a sparse matrix."""
    def std(self, dim: _Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, correction: _Scalar | None = None, out: Tensor | None = None) -> Tensor:
        """The standard deviation: the square root of `var`, also where that does not fit the dtype. Where it is 0 its gradient is, too."""
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """The spectra of windows of a signal."""
    def storage(self) -> _TypedStorage:
        """The memory this tensor lies in, shared with its views, as elements of its dtype."""
    def storage_type(self) -> _LegacyStorage:
        """The storage type of this tensor's dtype."""
    def sub(self, other: _Operand, *deprecated: _Any, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
        """input - alpha * other, elementwise."""
    def sub_(self, other: _Operand, *deprecated: _Any, alpha: _Operand = 1) -> Tensor:
        """In-place form of `sub`: writes the result into this tensor and returns it."""
    def subtract(self, other: _Operand, *deprecated: _Any, alpha: _Operand = 1, out: Tensor | None = None) -> Tensor:
        """input - alpha * other, elementwise."""
    def subtract_(self, other: _Operand, *deprecated: _Any, alpha: _Operand = 1) -> Tensor:
        """In-place form of `sub`: writes the result into this tensor and returns it."""
    def sum(self, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
        """The sum of all elements, or along dimensions. Its gradient is the result's, expanded."""
    def sum_to_size(self, *size: _Dims) -> Tensor:
        """Summed over dimensions until the shape is `size`, from which this one broadcasts: what undoes `expand`."""
    def svd(self, some: _bool = True, compute_uv: _bool = True, *, out: _Any = None) -> OldSVD:
        """U, S and V (not its adjoint, as `torch.linalg.svd` gives)."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Two dimensions swapped: `transpose` with NumPy's names."""
    def swapaxes_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place form of `transpose`, with its arguments: this tensor itself is seen so from now on."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions swapped."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place form of `transpose`, with its arguments: this tensor itself is seen so from now on."""
    def symeig(self, eigenvectors: _bool = False, upper: _bool = True) -> Eigen:
        """`torch.linalg.eigh` under its older name."""
    def t(self) -> Tensor:
        """The transpose of a matrix; vectors and 0-dim tensors stay."""
    def t_(self) -> Tensor:
        """In-place form of `t`, with its arguments: this tensor itself is seen so from now on."""
    def take(self, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements of the flattened tensor at `index`, in the shape of `index`."""
    def take_along_dim(self, indices: Tensor, dim: _Dims | None = None, *, out: Tensor | None = None) -> Tensor:
        """`gather`, with `input` and `indices` broadcast against each other but along `dim`; of flattened tensors without a dim."""
    def tan(self, *, out: Tensor | None = None) -> Tensor:
        """Tangent of input in radians, elementwise; within 3 ulp."""
    def tan_(self) -> Tensor:
        """In-place form of `tan`: writes the result into this tensor and returns it."""
    def tanh(self, *, out: Tensor | None = None) -> Tensor:
        """Hyperbolic tangent, elementwise: between -1 and 1."""
    def tanh_(self) -> Tensor:
        """In-place form of `tanh`: writes the result into this tensor and returns it."""
    def tensor_split(self, indices_or_sections: _Dims | Tensor, dim: _int = 0, *, axis: _Dims | None = None) -> tuple[Tensor, ...]:
        """Parts of a dimension as NumPy's array_split makes them."""
    def tile(self, *repeats: _Dims | Tensor, dims: _Dims | None = None) -> Tensor:
        """Like `repeat`, with fewer repeats than dimensions allowed: they are for the last ones."""
    def to(self, *args: _Any, dtype: _dtype | None = None, device: _Device | None = None, non_blocking: _bool = False, copy: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
        """This tensor with another dtype, on another device, or as another tensor has them."""
    def to_dense(self, dtype: _dtype | None = None, *, masked_grad: _Any = None) -> Tensor:
        """This tensor with all its elements, stored or not: itself where it is dense."""
    def to_device(self, device: _Device, /, *, stream: _Any = None) -> Tensor:
        """This tensor on another device: the array API standard's name for `to(device)`."""
    def to_sparse(self, sparse_dim: _Any = None, *, layout: _Any = None, blocksize: _Any = None, dense_dim: _Any = None) -> Tensor:
        """The elements that are not 0, with their coordinates."""
    def to_sparse_bsc(self, blocksize: _Any, dense_dim: _Any = None) -> Tensor:
        """This matrix, or batch of matrices, with its blocks in which something is not 0, column after column."""
    def to_sparse_bsr(self, blocksize: _Any, dense_dim: _Any = None) -> Tensor:
        """This matrix, or batch of matrices, with its blocks in which something is not 0, row after row."""
    def to_sparse_coo(self) -> Tensor:
        """This tensor as a COO tensor: `to_sparse`."""
    def to_sparse_csc(self, dense_dim: _Any = None) -> Tensor:
        """This matrix, or batch of matrices, with its elements that are not 0, column after column."""
    def to_sparse_csr(self, dense_dim: _Any = None) -> Tensor:
        """This matrix, or batch of matrices, with its elements that are not 0, row after row."""
    def tolist(self) -> _Any:
        """Nested lists of Python numbers (a number for a 0-dim tensor)."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, axis: _Dims | None = None, out: _Any = None) -> _Pair:
        """The k largest (or smallest) elements along a dimension in order, as (values, indices). NaN counts as greatest."""
    def trace(self) -> Tensor:
        """The sum of a matrix's main diagonal."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions swapped."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place form of `transpose`, with its arguments: this tensor itself is seen so from now on."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: _Any = None) -> TriangularSolve:
        """`torch.linalg.solve_triangular` under its older name, as (solution, cloned_coefficient), the latter a copy of A."""
    def tril(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """The lower triangle of matrices, 0 above a diagonal."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """In-place form of `tril`: sets what it leaves out of this tensor to 0, and returns it."""
    def triu(self, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
        """The upper triangle of matrices, 0 below a diagonal."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """In-place form of `triu`: sets what it leaves out of this tensor to 0, and returns it."""
    def trtrs(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> TriangularSolve:
        """`torch.triangular_solve` under LAPACK's name."""
    def true_divide(self, other: _Operand, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
        """input / other, elementwise, rounded where `rounding_mode` says so."""
    def true_divide_(self, other: _Operand, *, rounding_mode: _str | None = None) -> Tensor:
        """In-place form of `div`: writes the result into this tensor and returns it."""
    def trunc(self, *, out: Tensor | None = None) -> Tensor:
        """input without its fraction, elementwise: rounded towards 0."""
    def trunc_(self) -> Tensor:
        """In-place form of `trunc`: writes the result into this tensor and returns it."""
    def type(self, dtype: _dtype | None = None, non_blocking: _bool = False, *, memory_format: _memory_format | None = None) -> _Any:
        """This tensor's type as its name, or this tensor with another dtype."""
    def type_as(self, other: _Operand) -> Tensor:
        """This tensor with the dtype and device of another."""
    def unbind(self, dim: _int = 0, *, axis: _Dims | None = None) -> tuple[Tensor, ...]:
        """All slices along a dimension, without it."""
    def unflatten(self, dim: _int | _str, sizes: _Dims) -> Tensor:
        """One dimension split into several."""
    def unfold(self, dimension: _int, size: _Dims, step: _Scalar) -> Tensor:
        """Windows along a dimension, as a new last dimension."""
    def uniform_(self, a: _float = 0.0, b: _float = 1.0, *, generator: _Generator | None = None) -> Tensor:
        """Fill with uniform numbers in [a, b); returns this tensor."""
    @_overload
    def unique(self, sorted: _bool = True, return_inverse: _Literal[False] = False, return_counts: _Literal[False] = False, dim: _Dims | None = None) -> Tensor:
        """The distinct elements in order; with `dim`, the distinct slices along it. Every NaN is distinct."""
    @_overload
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _Dims | None = None) -> _Any: ...
    @_overload
    def unique_consecutive(self, return_inverse: _Literal[False] = False, return_counts: _Literal[False] = False, dim: _Dims | None = None) -> Tensor:
        """One element (or slice along `dim`) of each run of equal neighbours."""
    @_overload
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _Dims | None = None) -> _Any: ...
    def unsafe_chunk(self, chunks: _int, dim: _int = 0, *, axis: _Dims | None = None) -> tuple[Tensor, ...]:
        """`chunk` whose parts are no views to the tape: they may be written to, the tensor may not."""
    def unsafe_split(self, split_size_or_sections: _Dims, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split` whose parts are no views to the tape: they may be written to, the tensor may not."""
    def unsafe_split_with_sizes(self, split_sizes: _Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """`split_with_sizes` whose parts are no views to the tape: they may be written to, the tensor may not."""
    def unsqueeze(self, dim: _Dims | None = None, *, axis: _Dims | None = None) -> Tensor:
        """With a new dimension of extent 1 before `dim`."""
    def unsqueeze_(self, dim: _Dims | None = None, *, axis: _Dims | None = None) -> Tensor:
        """In-place form of `unsqueeze`, with its arguments: this tensor itself is seen so from now on."""
    def untyped_storage(self) -> _UntypedStorage:
        """The memory this tensor lies in, shared with its views."""
    def values(self) -> Tensor:
        """The stored elements of a coalesced COO tensor, (nnz, *dense), or of a compressed one, (*batch, nnz, *block, *dense)."""
    def vander(self, N: _int | None = None, increasing: _bool = False) -> Tensor:
        """Vandermonde's matrix: a row for each element of a vector, with its powers N-1 to 0."""
    def var(self, dim: _Dims | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, correction: _Scalar | None = None, out: Tensor | None = None) -> Tensor:
        """The variance: the mean square of the distances from the mean, with n - correction as its divisor."""
    def vdot(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """The sum of the products of two vectors, the first conjugated."""
    def view(self, *shape: _Dims | _dtype, size: _Dims | None = None, dtype: _dtype | None = None) -> Tensor:
        """The same elements under another shape, without copying; or, given a dtype, the same bytes read as that."""
    def view_as(self, other: _Operand) -> Tensor:
        """A view with the shape of another tensor: `view`."""
    @property
    def volatile(self) -> _bool:
        """What said, until 2018, that nothing is recorded: False. `torch.no_grad()` says it now."""
    def vsplit(self, indices_or_sections: _Dims | Tensor) -> tuple[Tensor, ...]:
        """Parts along dimension 0."""
    def where(self, condition: Tensor, other: _Operand) -> Tensor:
        """This tensor's elements where the condition holds, else those of `other`: `torch.where(condition, self, other)`."""
    def xlogy(self, other: _Operand, *, out: Tensor | None = None) -> Tensor:
        """input * log(other), elementwise, and 0 where input is 0 and other is a number."""
    def xlogy_(self, other: _Operand) -> Tensor:
        """In-place form of `xlogy`: writes the result into this tensor and returns it."""
    def zero_(self) -> Tensor:
        """Set every element to 0 and return this tensor."""

class AminMax(_NamedTuple):
    min: Tensor
    max: Tensor

class CholeskyEx(_NamedTuple):
    L: Tensor
    info: Tensor

class Eig(_NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class Eigen(_NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class Eigh(_NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class Factors(_NamedTuple):
    LU: Tensor
    pivots: Tensor

class FactorsEx(_NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class Frexp(_NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class Geqrf(_NamedTuple):
    a: Tensor
    tau: Tensor

class Histogram(_NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class InverseEx(_NamedTuple):
    inverse: Tensor
    info: Tensor

class LU(_NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class LeastSquares(_NamedTuple):
    solution: Tensor
    QR: Tensor

class Lstsq(_NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class OldQR(_NamedTuple):
    Q: Tensor
    R: Tensor

class OldSVD(_NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class QR(_NamedTuple):
    Q: Tensor
    R: Tensor

class SVD(_NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class Slogdet(_NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class Solution(_NamedTuple):
    solution: Tensor
    LU: Tensor

class SolveEx(_NamedTuple):
    result: Tensor
    info: Tensor

class TriangularSolve(_NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class Unpacked(_NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor
