"""ATen's functions that are made of several of ours, under ATen's names and with ATen's arguments."""
from __future__ import annotations

import builtins

import numtorch

from ..ops.nn.softmax import log_softmax_grad, softmax_grad
from ..ops.spatial.resample import interpolated
from ..tensor import Tensor
from .functions import convolution, native_dropout

_F = numtorch.nn.functional


# ---------------------------------------------------------------- elements and memory
def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    return self.to(device=device, dtype=dtype, copy=True, memory_format=memory_format)


def _pin_memory(self, device=None):
    return self.pin_memory()


def _sparse_addmm(self, mat1, mat2, *, beta=1, alpha=1):
    return numtorch.sparse.addmm(self, mat1, mat2, beta=beta, alpha=alpha)


def _sparse_mm_reduce_impl(self, other, reduce):
    return numtorch.sparse.mm(self, other, reduce), self.new_empty(0, dtype=numtorch.int64, layout=numtorch.strided)


def alias(self):
    return self.as_strided(self.shape, self.stride(), self.storage_offset())


def lift(self):
    return self


def lift_fresh_copy(self):
    return self.clone()


def copy(self, src, non_blocking=False):
    return self.clone().copy_(src)


def slice(self, dim=0, start=None, end=None, step=1):
    return self[(builtins.slice(None),) * (dim % self.ndim) + (builtins.slice(start, end, step),)]


def index(self, indices):
    return self[tuple([builtins.slice(None) if each is None else each for each in indices])]


def numpy_T(self):
    return self.T


def mT(self):
    return self.mT


def mH(self):
    return self.mH


def max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    planes = self.masked_fill(numtorch.ones((), dtype=numtorch.bool), 0).flatten(-2)    # the gradient of self is 0
    return planes.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).reshape(self.shape)


# ---------------------------------------------------------------- softmax
def _softmax(self, dim, half_to_float):
    return numtorch.softmax(self, dim, dtype=numtorch.float32 if half_to_float else None)


def _log_softmax(self, dim, half_to_float):
    return numtorch.log_softmax(self, dim, dtype=numtorch.float32 if half_to_float else None)


def _safe_softmax(self, dim, dtype=None):
    """0 where all of a row is minus infinity."""
    empty = (self == -numtorch.inf).all(dim, True)
    return numtorch.softmax(self.masked_fill(empty, 0), dim, dtype=dtype).masked_fill(empty, 0)


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    return softmax_grad(grad_output, output, dim).to(input_dtype)


def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    return log_softmax_grad(grad_output, output, dim).to(input_dtype)


# ---------------------------------------------------------------- activations
def elu(self, alpha=1, scale=1, input_scale=1):
    if input_scale == 1:
        return _F.elu(self, alpha) if scale == 1 else _F.elu(self, alpha) * scale
    return scale * numtorch.where(self > 0, self, alpha * numtorch.expm1(self * input_scale))


def gelu(self, *, approximate="none"):
    return _F.gelu(self, approximate=approximate)


def sigmoid_backward(grad_output, output):
    return grad_output * ((1 - output) * output).conj()


def tanh_backward(grad_output, output):
    return grad_output * (1 - output * output).conj()


def threshold_backward(grad_output, self, threshold):
    return numtorch.where(self <= threshold, 0, grad_output)


def native_dropout_backward(grad_output, mask, scale):
    return grad_output * mask * scale


# ---------------------------------------------------------------- images
def _padding(mode):
    def pad(self, padding):
        return _F.pad(self, padding, mode)
    return pad


def _resized(x, mode, output_size, factors, align_corners=None, antialias=False):
    """To the size where one is given; positions are by the factors, whatever size they give."""
    if output_size is None or factors is None:
        return _F.interpolate(x, output_size, factors, mode, align_corners, antialias=antialias)
    return interpolated(x, "smooth " + mode if antialias else mode, tuple(output_size), tuple(factors), bool(align_corners))


def _smooth(mode, antialias=False):
    """`default` has one factor a dimension behind the size, `vec` all of them in one."""
    def default(self, output_size, align_corners, *scales, scales_h=None, scales_w=None):
        return _resized(self, mode, output_size, scales or ((scales_h, scales_w) if scales_h else None), align_corners, antialias)

    def vec(input, output_size, align_corners, scale_factors):
        return _resized(input, mode, output_size, scale_factors, align_corners, antialias)
    return {"default": default, "vec": vec}


def _nearest(mode):
    """As those that are smooth, without corners."""
    def default(self, output_size, *scales):
        return _resized(self, mode, output_size, scales or None)

    def vec(input, output_size, scale_factors):
        return _resized(input, mode, output_size, scale_factors)
    return {"default": default, "vec": vec}


# ---------------------------------------------------------------- norms
def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    result = numtorch.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *result, numtorch.empty(0, dtype=numtorch.uint8, device=input.device)


def block_diag(tensors):
    return numtorch.block_diag(*tensors)


def tensordot(self, other, dims_self, dims_other):
    return numtorch.tensordot(self, other, (dims_self, dims_other))


# ---------------------------------------------------------------- gradients
def derived(function):
    """The gradient of a function of one tensor and options, as a function of what comes in and of the same arguments."""
    def backward(grad_output, self, *arguments, **named):
        given = grad_output, self, *arguments
        wanted = numtorch.is_grad_enabled() and any(isinstance(t, Tensor) and t.requires_grad for t in given)
        with numtorch.enable_grad():
            x = self if self.requires_grad else self.detach().requires_grad_()
            result, = numtorch.autograd.grad(function(x, *arguments, **named), x, grad_output, create_graph=wanted)
        return result
    return backward


# Names, the overloads of each, and what stands for them.
FORMS = {
    "convolution": {"default": convolution},
    "native_dropout": {"default": native_dropout},
    **{name: {"default": globals()[name]} for name in """_to_copy _pin_memory _sparse_addmm
        _sparse_mm_reduce_impl alias lift lift_fresh_copy copy numpy_T mT mH
        max_pool2d_with_indices_backward _softmax _log_softmax _safe_softmax _softmax_backward_data _log_softmax_backward_data elu
        gelu sigmoid_backward tanh_backward threshold_backward native_dropout_backward
        _batch_norm_with_update block_diag tensordot""".split()},
    "lift_fresh": {"default": lift},
    "slice": {"Tensor": slice},
    "index": {"Tensor": index},
    "_unsafe_index": {"Tensor": index},
    **{f"{kind}_pad{dims}d": {"default": _padding(mode)} for dims in (1, 2, 3)
       for kind, mode in (("reflection", "reflect"), ("replication", "replicate"))},
    **{f"upsample_nearest{dims}d": _nearest("nearest") for dims in (1, 2, 3)},
    **{f"_upsample_nearest_exact{dims}d": _nearest("nearest-exact") for dims in (1, 2, 3)},
    "upsample_linear1d": _smooth("linear"),
    "upsample_bilinear2d": _smooth("bilinear"),
    "upsample_bicubic2d": _smooth("bicubic"),
    "upsample_trilinear3d": _smooth("trilinear"),
    "_upsample_bilinear2d_aa": _smooth("bilinear", True),
    "_upsample_bicubic2d_aa": _smooth("bicubic", True),
}
