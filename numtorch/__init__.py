"""numtorch: PyTorch's programming model in pure Python on Numba.

    import numtorch as torch

This file holds the public names, nothing else. Where they come from: `ops/` (what operations mean), `autograd/` (the tape),
`nn/` and `optim/` (layers and training), `kernels/` (how it is computed).
"""
import builtins as _builtins
import importlib as _importlib
import sys as _sys

from . import autograd, pickling as _pickling
from .ops.memory import conversion as _conversion
from .ops.engine_arithmetic import engine_arithmetic as _engine_arithmetic
from .ops.pointwise import inplace as _inplace, operators as _operators
from .ops.random import redraw as _redraw
from .ops.shape import dim_order as _dim_order, inplace_views as _restride
from .ops.pointwise.describe import describe_waiting as _describe_waiting
from .checks import (_check, _check_index, _check_is_size, _check_not_implemented, _check_tensor_all, _check_type, _check_value)
from .autograd.variable import Variable
from .autograd.modes import (enable_grad, inference_mode, is_anomaly_check_nan_enabled, is_anomaly_enabled, is_grad_enabled,
                             is_inference_mode_enabled, no_grad, set_anomaly_enabled, set_grad_enabled)
from .devices import OutOfMemoryError, device, get_default_device, set_default_device
from .dtypes import (bfloat16, bool_ as bool, can_cast, complex32, complex64, complex128, dtype, finfo, float16, float32, float64,
                     get_default_dtype, iinfo, int8, int16, int32, int64, promote_types, set_default_dtype, uint8, uint16, uint32,
                     uint64)
from .kernels.threads import get_num_threads, set_num_threads
from .ops.pointwise.activation import (elu, gelu, hardsigmoid, hardswish, hardtanh, leaky_relu, logsigmoid, mish, relu, selu,
                                       sigmoid, silu, softplus, softsign, threshold)
from .ops.pointwise.arithmetic import (abs, addcdiv, addcmul, floor_divide, fmod, lerp, mul, neg, reciprocal, remainder, sgn, sign,
                                       square)
from .ops.pointwise.bounds import clamp_max, clamp_min, fmax, fmin, maximum, minimum
from .ops.pointwise.comparison import (bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor,
                                       eq, ge, gt, isfinite, isinf, isnan, le, logical_and, logical_not, logical_or, logical_xor,
                                       lt, ne, signbit)
from .ops.linalg.addmm import addbmm, addmm, addmv, addr, baddbmm
from .ops.linalg.matmul import (bmm, chain_matmul, dot, matmul, mm, mv, outer)
from .ops.spatial.conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from .ops.spatial.conv_tbc import conv_tbc
from .ops.memory.assign import fill
from .ops.pointwise.bessel import i0
from .ops.memory.copies import clone
from .ops.memory.detach import detach
from .ops.creation.ranges import arange, linspace, logspace, range_inclusive as range
from .ops.creation.data import as_tensor, asarray
from .ops.creation.fill import (empty, empty_like, empty_permuted, empty_strided,
                                eye, full, full_like, ones, ones_like,
                           scalar_tensor, tensor, zeros, zeros_like)
from .ops.pointwise.elementary import (acos, acosh, asin, asinh, atan, atan2, atanh, copysign, cos, cosh, digamma, erf, erfc,
                                       erfinv, exp, exp2, expm1, lgamma, log, log1p, log2, log10, polygamma, rsqrt, sin, sinh, sqrt,
                                       tan, tanh)
from .ops.pointwise.rounding import ceil, floor, frac, round, trunc
from .ops.sort.differences import gradient
from .ops.linalg.distances import cdist, dist, pdist
from .ops.random.distributions import binomial, poisson
from .ops.random.gamma import dirichlet_grad as _dirichlet_grad
from .ops.random.gamma import sample_dirichlet as _sample_dirichlet
from .ops.random.gamma import standard_gamma as _standard_gamma
from .ops.random.gamma import standard_gamma_grad as _standard_gamma_grad
from .ops.nn.dropout import alpha_dropout, dropout, feature_alpha_dropout, feature_dropout
from .ops.linalg.einsum import einsum, tensordot
from .ops.nn.embedding import embedding, embedding_bag, embedding_renorm_
from .ops.linalg.factorise import old_cholesky as cholesky
from .ops.linalg.factorise import old_qr as qr
from .ops.pointwise.floats import frexp, nextafter
from .ops.index.flat import put, take
from .ops.index.index_select import index_add, index_copy, index_fill, index_select
from .ops.linalg.householder import geqrf, orgqr, ormqr
from .ops.index.index import _unsafe_masked_index, _unsafe_masked_index_put_accumulate, index_put
from .ops.shape.join import (atleast_1d, atleast_2d, atleast_3d, cartesian_prod, cat, column_stack, dstack, hstack, meshgrid, stack,
                       vstack)
from .ops.index.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
from .ops.index.rearrange import flip, fliplr, flipud, repeat_interleave, roll, rot90, tile
from .ops.linalg.lobpcg import lobpcg
from .ops.linalg.lowrank import pca_lowrank, svd_lowrank
from .ops.signal.stft import istft, stft
from .ops.index.triangles import block_diag, diag, diag_embed, diagflat, trace, tril, tril_indices, triu, triu_indices
from .ops.linalg.matrices import matrix_exp, matrix_power
from .ops.linalg.triangular import cholesky_inverse, cholesky_solve, triangular_solve
from .ops.linalg.solve import inverse, logdet, pinverse
from .ops.linalg.oldnorms import frobenius_norm, norm_except_dim, nuclear_norm
from .ops.linalg.oldnames import (btrifact, btrifact_with_info, eig, gels, gesv, matrix_rank, potrf, potri, potrs, symeig, trtrs)
from .ops.linalg.solve import old_det as det
from .ops.linalg.solve import old_slogdet as slogdet
from .ops.linalg.svd import old_svd as svd
from .ops.linalg.lu import lu_unpack
from .ops.linalg.lu import old_lu as lu
from .ops.linalg.lu import old_lu_solve as lu_solve
from .ops.index.mask import argwhere, masked_fill, masked_scatter, masked_select, nonzero, nonzero_static
from .ops.nn.softmax import log_softmax, logsumexp, softmax
from .ops.core.operands import result_type
from .ops.pointwise.complexparts import (angle, complex, imag, polar, real, view_as_complex, view_as_complex_copy, view_as_real,
                                         view_as_real_copy)
from .ops.pointwise.functions import add, clamp, conj, conj_physical, div, positive, sub, where
from .ops.sort.unique import isin, mode, unique, unique_consecutive
from .ops.pointwise.real_functions import (deg2rad, gcd, heaviside, hypot, isneginf, isposinf, isreal, lcm, ldexp, logaddexp,
                                           logaddexp2, logit, nan_to_num, rad2deg, rsub, sinc, xlogy)
from .ops.memory.tensortypes import (BFloat16Tensor, BoolTensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor,
                                     IntTensor, LongTensor, ShortTensor, is_storage, set_default_tensor_type, typename)
from .ops.memory.typed import (BFloat16Storage, BoolStorage, ByteStorage, CharStorage, ComplexDoubleStorage, ComplexFloatStorage,
                               DoubleStorage, FloatStorage, HalfStorage, IntStorage, LongStorage, ShortStorage, TypedStorage)
from .ops.memory.untyped import UntypedStorage
from .ops.spatial.grid_sample import grid_sampler
from .ops.shape.pad import _chunk_cat, constant_pad_nd
from .ops.nn.native_norm import _native_batch_norm_legit, native_batch_norm, native_group_norm, native_layer_norm
from .ops.nn.norm import group_norm, layer_norm, rms_norm
from .ops.linalg.products import combinations, cross, inner, kron, vander, vdot
from .ops.signal.windows import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window
from .ops.sort.histograms import bincount, histc, histogram, histogramdd
from .ops.sort.order import argsort, kthvalue, median, msort, nanmedian, nanquantile, quantile, sort, topk
from .ops.sort.scan import cummax, cummin, cumprod, cumsum, cumulative_trapezoid, diff, logcumsumexp, trapezoid, trapz
from .ops.sort.segments import segment_reduce
from .ops.sort.search import bucketize, searchsorted
from .ops.pointwise.pointwise import pointwise
from .ops.pointwise.power import float_power, pow
from .ops.reduce.query import (_assert, _assert_async, allclose, broadcast_shapes, broadcast_tensors, equal, is_complex,
                               is_floating_point, is_neg, is_nonzero, is_same_size, is_tensor, isclose, numel)
from .ops.core.generator import (Generator, default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, seed,
                                 set_rng_state)
from .ops.random.draws import bernoulli, multinomial, normal, rand, randint, randn, randperm
from .ops.random.like import rand_like, randint_like, randn_like
from .ops.nn.rnn import gru, gru_cell, lstm, lstm_cell, rnn_relu, rnn_relu_cell, rnn_tanh, rnn_tanh_cell
from .ops.reduce.extremes import argmax, argmin, max, min, unravel_index
from .ops.reduce.reductions import (all, amax, amin, aminmax, any, count_nonzero, mean, nanmean, nansum, norm, prod, std, std_mean,
                                    sum, var, var_mean)
from .ops.spatial.region_pool import adaptive_avg_pool1d, max_pool3d
from .ops.spatial.region_pool import adaptive_max_pool1d_pair as adaptive_max_pool1d
from .ops.index.gather_scatter import gather, scatter, scatter_add, take_along_dim
from .ops.index.scatter_reduce import index_reduce, scatter_reduce
from .ops.shape.split import (chunk, dsplit, hsplit, split, split_with_sizes, tensor_split, unbind, unsafe_chunk, unsafe_split,
                        unsafe_split_with_sizes, vsplit)
from .ops.shape.view_copies import (alias_copy, as_strided_copy, detach_copy, diagonal_copy, expand_copy, permute_copy,
                                    select_copy, slice_copy, split_copy, split_with_sizes_copy, squeeze_copy, t_copy,
                                    transpose_copy, unbind_copy, unfold_copy, unsqueeze_copy, view_copy)
from .ops.shape.view_scatter import as_strided_scatter, diagonal_scatter, select_scatter, slice_scatter
from .ops.shape.slicing import as_strided, diagonal, narrow, narrow_copy, select, unfold
from .ops.pointwise.special import igamma, igammac, mvlgamma
from .ops.reduce.hash_tensor import hash_tensor
from .ops.reduce.covariance import corrcoef, cov
from .ops.nn.unit_norm import renorm
from .ops.shape.views import (broadcast_to, expand, flatten, movedim, permute, ravel, reshape, squeeze, swapaxes, swapdims, t,
                              transpose, unflatten, unsqueeze)
from .ops.spatial.average_pool import avg_pool1d
from .ops.spatial.max_pool import max_pool1d, max_pool2d
from .printing import set_printoptions
from .shortfloats import float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu
from .storage import empty_cache
from .exchange.construction import from_dlpack, from_numpy, frombuffer
from .layout import (Size, channels_last, channels_last_3d, contiguous_format, memory_format, memory_layout as layout,
                     preserve_format, strided)
from . import sparse
from .sparse.compressed import (sparse_bsc_tensor, sparse_bsr_tensor, sparse_compressed_tensor, sparse_csc_tensor,
                                sparse_csr_tensor)
from .sparse.coo import sparse_coo_tensor
from .sparse.oldnames import (_convert_indices_from_coo_to_csr, _convert_indices_from_csr_to_coo, ccol_indices_copy,
                              col_indices_copy, crow_indices_copy, hspmm, indices_copy, native_norm,
                              resize_as_sparse_, row_indices_copy, smm, sspaddmm, values_copy)
from .sparse.layouts import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .tensor import Tensor, subclass_listeners as _subclass_listeners

vars(_sys.modules[f"{__name__}.storage"]).update(TypedStorage=TypedStorage, UntypedStorage=UntypedStorage)     # as in torch.storage
_describe_waiting()
_subclass_listeners.append(lambda cls: _importlib.import_module(f"{__name__}.torchfunction").subclassed(cls))

__version__ = "0.1.0"

half, float, double, short, int, long = float16, float32, float64, int16, int32, int64
chalf, cfloat, cdouble = complex32, complex64, complex128
subtract, multiply, divide, true_divide, negative, absolute = sub, mul, div, div, neg, abs
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
arccos, arcsin, arctan, arctan2, arcsinh, arccosh, arctanh, fix, clip = acos, asin, atan, atan2, asinh, acosh, atanh, trunc, clamp
grid_sampler_2d = grid_sampler_3d = grid_sampler
_segment_reduce = segment_reduce
moveaxis, ger, concat, concatenate, row_stack = movedim, outer, cat, cat, vstack
spmm, dsmm, hsmm, saddmm = mm, mm, hspmm, sspaddmm
solve, lstsq, btrisolve, btriunpack = gesv, gels, lu_solve, lu_unpack
inf, nan, pi, e, newaxis = _builtins.float("inf"), _builtins.float("nan"), 3.141592653589793, 2.718281828459045, None

_SUBMODULES = ("__config__", "accelerator", "alias", "backends", "func", "futures", "hub", "meta", "overrides", "nn", "optim",
               "legacy", "data", "datasets", "transforms", "utils", "cuda", "multiprocessing", "linalg", "fft", "special", "random",
               "serialization", "distributions", "testing", "types", "version", "profiler", "interposition", "amp", "jit",
               "compiler", "cpu", "fx", "masked", "signal", "array_api", "aten", "safetensors", "library")


# What is in files that are loaded late: the file, and the names of it that are found here.
_LATE = {name: place for place, names in {
    "jit.scripting.branches": "cond",
    "devices": "get_device_module",
    "aten.functions": """affine_grid_generator alpha_dropout_ convolution ctc_loss dropout_ feature_alpha_dropout_
        feature_dropout_ max_pool1d_with_indices native_channel_shuffle native_dropout""",
    "amp": "GradScaler",
    "amp.autocast_mode": """autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache
        get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled
        is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype
        set_autocast_enabled set_autocast_gpu_dtype""",
    "backends": """are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision
        get_num_interop_threads is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_deterministic_debug_mode
        set_float32_matmul_precision set_flush_denormal set_num_interop_threads set_warn_always use_deterministic_algorithms""",
    "drawing": "Drawing draw",
    "func": "vmap",
    "futures": "Future",
    "jit.compiling.compiled": "compile",
    "jit.scripting.forking": "fork wait",
    "nn.functional": """batch_norm bilinear binary_cross_entropy_with_logits celu celu_ cosine_embedding_loss
        cosine_similarity hardshrink hinge_embedding_loss instance_norm kl_div margin_ranking_loss pairwise_distance
        poisson_nll_loss prelu rrelu rrelu_ selu_ threshold_ triplet_margin_loss""",
    "serialization": "load save",
    "torchfunction": "DisableTorchFunctionSubclass",
    "utils.dlpack": "to_dlpack",
    "utils.modelsummary": "summary",
}.items() for name in names.split()}
# Methods that PyTorch has as functions too.
_METHODS = frozenset("""abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_
    atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_ exp2_ exp_
    expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_
    rad2deg_ reciprocal_ relu_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
    adjoint get_device is_conj is_distributed is_inference is_signed resolve_conj resolve_neg""".split())


def __getattr__(name):
    if name in _SUBMODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    if name in _LATE:
        found = _builtins.globals()[name] = getattr(_importlib.import_module(f"{__name__}.{_LATE[name]}"), name)
        return found                                     # and the next who asks finds it without this function
    if name in _METHODS:
        return getattr(Tensor, name)
    if name.startswith("_foreach_"):
        return getattr(_importlib.import_module(f"{__name__}.foreach"), name)
    return _importlib.import_module(f"{__name__}.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module(f"{__name__}.alias").listing(__name__, *_SUBMODULES, *_LATE, *_METHODS)


class _Places:
    """Finds modules that PyTorch has where we have no file (alias/paths.py). Asked last, when nothing else has found one."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith(f"{__name__}.") and not name.startswith(f"{__name__}.alias"):
            return _importlib.import_module(f"{__name__}.alias").find_place(name)
        return None


_sys.meta_path.append(_Places)
