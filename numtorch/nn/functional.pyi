# Written by `python -m numtorch stubs` (numtorch/commands/stubs.py) from the functions: change those, not this.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, NamedTuple as _NamedTuple, overload as _overload

from numpy import ndarray as _ndarray
from numtorch.dtypes import dtype as _dtype
from numtorch.tensor import Tensor as Tensor
from numtorch.types import Dims as _Dims
from numtorch.types import Operand as _Operand
from numtorch.types import Scalar as _Scalar

def adaptive_avg_pool1d(input: Tensor, output_size: _int | _Sequence[_int | None]) -> Tensor:
    """The mean of each window, of windows chosen so that the result has a given size."""
def adaptive_avg_pool2d(input: Tensor, output_size: _int | _Sequence[_int | None]) -> Tensor:
    """The mean of each window, of windows chosen so that the result has a given size."""
def adaptive_avg_pool3d(input: Tensor, output_size: _int | _Sequence[_int | None]) -> Tensor:
    """The mean of each window, of windows chosen so that the result has a given size."""
@_overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | _Sequence[_int | None], return_indices: _Literal[False] = False) -> Tensor:
    """The largest element of each window, of windows chosen so that the result has a given size."""
@_overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | _Sequence[_int | None], *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | _Sequence[_int | None], return_indices: _bool = False) -> _Any: ...
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: _int | _Sequence[_int | None]) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d` with `return_indices=True`, under the name that it has in older scripts."""
@_overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | _Sequence[_int | None], return_indices: _Literal[False] = False) -> Tensor:
    """The largest element of each window, of windows chosen so that the result has a given size."""
@_overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | _Sequence[_int | None], *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | _Sequence[_int | None], return_indices: _bool = False) -> _Any: ...
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: _int | _Sequence[_int | None]) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` with `return_indices=True`, under the name that it has in older scripts."""
@_overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | _Sequence[_int | None], return_indices: _Literal[False] = False) -> Tensor:
    """The largest element of each window, of windows chosen so that the result has a given size."""
@_overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | _Sequence[_int | None], *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | _Sequence[_int | None], return_indices: _bool = False) -> _Any: ...
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: _int | _Sequence[_int | None]) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d` with `return_indices=True`, under the name that it has in older scripts."""
def affine_grid(theta: Tensor, size: _Dims, align_corners: _bool | None = None) -> Tensor:
    """The positions that affine maps send the pixels of images to, for `grid_sample` (Jaderberg et al. 2015)."""
def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Elements set to selu's negative limit with probability p, then all scaled and shifted so that mean 0 and variance 1 stay"""
def avg_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor:
    """The mean of each window."""
def avg_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The mean of each window."""
def avg_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The mean of each window."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: _bool = False, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel, over all else (Ioffe and Szegedy 2015)."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 A_k x2 + b_k for each output k."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """-(y log p + (1 - y) log(1 - p)), with logarithms held above -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """-(p y log s + (1 - y) log(1 - s)) with s = sigmoid(input), exact for large |input|."""
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere, whose slope has no jump (Barron 2017)."""
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """In-place form of `celu`: writes the result into `input` and returns it."""
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels dealt out over groups in turn (Zhang et al. 2018)."""
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
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1, with the cosine of input1 and input2."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along a dimension."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | _str | None = None, reduction: _str = 'mean', label_smoothing: _float = 0.0) -> Tensor:
    """-log softmax(input)[target] (multi-class cross entropy)."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: _Any, target_lengths: _Any, blank: _int = 0, reduction: _str = 'mean', zero_infinity: _bool = False) -> Tensor:
    """The connectionist temporal classification loss: -log of the probability of all alignments of labels with time (Graves et al."""
def dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Each element set to 0 with probability p, the others divided by 1 - p (Srivastava et al. 2014)."""
def dropout1d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Whole channels set to 0 with probability p, the others divided by 1 - p (Tompson et al. 2015)."""
def dropout2d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Whole channels set to 0 with probability p, the others divided by 1 - p (Tompson et al. 2015)."""
def dropout3d(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Whole channels set to 0 with probability p, the others divided by 1 - p (Tompson et al. 2015)."""
def elu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor:
    """x where positive, alpha * (exp(x) - 1) elsewhere (Clevert et al. 2016)."""
def elu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """In-place form of `elu`: writes the result into `input` and returns it."""
def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = None, max_norm: _Scalar | None = None, norm_type: _float = 2.0, scale_grad_by_freq: _bool = False, sparse: _bool = False) -> Tensor:
    """Rows of `weight` at the indices `input`."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: _Scalar | None = None, norm_type: _float = 2, scale_grad_by_freq: _bool = False, mode: _str = 'mean', sparse: _bool = False, per_sample_weights: Tensor | None = None, include_last_offset: _bool = False, padding_idx: _int | None = None) -> Tensor:
    """Sums, means or maxima of the rows of `weight` that bags of indices name."""
def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: one draw for each (n, c)."""
def feature_dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor:
    """Whole channels set to 0 with probability p, the others divided by 1 - p: one draw for each (n, c)."""
def fold(input: Tensor, output_size: _int | _Sequence[_int | None], kernel_size: _Dims, dilation: _Dims = 1, padding: _Dims | _str = 0, stride: _Dims = 1) -> Tensor:
    """Columns added up to images, each element where `unfold` would have taken it from."""
@_overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Dims, output_size: _int | _Sequence[_int | None] | None = None, output_ratio: _Any = None, return_indices: _Literal[False] = False, _random_samples: _Any = None) -> Tensor:
    """The largest element of each window, of windows at distances that vary at random so that extents shrink by any ratio (Graham"""
@_overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Dims, output_size: _int | _Sequence[_int | None] | None = None, output_ratio: _Any = None, _random_samples: _Any = None, *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def fractional_max_pool2d(input: Tensor, kernel_size: _Dims, output_size: _int | _Sequence[_int | None] | None = None, output_ratio: _Any = None, return_indices: _bool = False, _random_samples: _Any = None) -> _Any: ...
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: _Dims, output_size: _int | _Sequence[_int | None] | None = None, output_ratio: _Any = None, _random_samples: _Any = None) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` with `return_indices=True`, under the name that it has in older scripts."""
@_overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Dims, output_size: _int | _Sequence[_int | None] | None = None, output_ratio: _Any = None, return_indices: _Literal[False] = False, _random_samples: _Any = None) -> Tensor:
    """The largest element of each window, of windows at distances that vary at random so that extents shrink by any ratio (Graham"""
@_overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Dims, output_size: _int | _Sequence[_int | None] | None = None, output_ratio: _Any = None, _random_samples: _Any = None, *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def fractional_max_pool3d(input: Tensor, kernel_size: _Dims, output_size: _int | _Sequence[_int | None] | None = None, output_ratio: _Any = None, return_indices: _bool = False, _random_samples: _Any = None) -> _Any: ...
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: _Dims, output_size: _int | _Sequence[_int | None] | None = None, output_ratio: _Any = None, _random_samples: _Any = None) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool3d` with `return_indices=True`, under the name that it has in older scripts."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: _bool = False, eps: _float = 1e-06, reduction: _str = 'mean') -> Tensor:
    """(log(var) + (input - target)^2 / var) / 2: -log of a normal density, but for its constant (Nix and Weigend 1994)."""
def gelu(input: Tensor, approximate: _str = 'none', *, out: Tensor | None = None) -> Tensor:
    """x * Phi(x), with the normal distribution function Phi (Hendrycks and Gimpel 2016)."""
def glu(input: Tensor, dim: _int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2017)."""
def grid_sample(input: Tensor, grid: Tensor, mode: _str = 'bilinear', padding_mode: _str = 'zeros', align_corners: _bool | None = None) -> Tensor:
    """Pixels of images at any positions (the sampler of Jaderberg et al. 2015)."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over each group of channels of each example (Wu and He 2018)."""
def gumbel_softmax(logits: Tensor, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _int = -1) -> Tensor:
    """A differentiable sample of a class: softmax of (logits + Gumbel noise) / tau (Jang et al. 2017, Maddison et al. 2017)."""
def hardshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x, and 0 where |x| is at most lambd."""
def hardsigmoid(input: Tensor, inplace: _bool = False) -> Tensor:
    """input / 6 + 1/2 held between 0 and 1 (Courbariaux et al. 2015)."""
def hardswish(input: Tensor, inplace: _bool = False) -> Tensor:
    """input * hardsigmoid(input) (Howard et al. 2019)."""
def hardtanh(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0, inplace: _bool = False) -> Tensor:
    """x held between min_val and max_val."""
def hardtanh_(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0) -> Tensor:
    """In-place form of `hardtanh`: writes the result into `input` and returns it."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = 1.0, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1: for distances of pairs that are alike or not."""
def huber_loss(input: Tensor, target: Tensor, reduction: _str = 'mean', delta: _float = 1.0, weight: Tensor | None = None) -> Tensor:
    """(x - y)^2 / 2 where |x - y| < delta, delta * (|x - y| - delta / 2) elsewhere (Huber 1964)."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: _bool = True, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of each example (Ulyanov et al. 2016)."""
def interpolate(input: Tensor, size: _Dims | None = None, scale_factor: _Any = None, mode: _str = 'nearest', align_corners: _bool | None = None, recompute_scale_factor: _bool | None = None, antialias: _bool = False) -> Tensor:
    """Images made larger or smaller."""
def kl_div(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean', log_target: _bool = False) -> Tensor:
    """target * (log target - input): the divergence of `input` from `target` (Kullback and Leibler 1951), where target is 0"""
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean', weight: Tensor | None = None) -> Tensor:
    """|input - target|."""
def layer_norm(input: Tensor, normalized_shape: _Dims, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions (Ba et al. 2016)."""
def leaky_relu(input: Tensor, negative_slope: _float = 0.01, inplace: _bool = False) -> Tensor:
    """x where positive, negative_slope * x elsewhere (Maas et al. 2013)."""
def leaky_relu_(input: Tensor, negative_slope: _float = 0.01) -> Tensor:
    """In-place form of `leaky_relu`: writes the result into `input` and returns it."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias, in one kernel."""
def linear_cross_entropy(input: Tensor, linear_weight: _Any, target: Tensor, *, linear_bias: _Any = None, weight: Tensor | None = None, reduction: _str = 'mean', ignore_index: _Any = None, label_smoothing: _float = 0.0, options: _Any = None) -> Tensor:
    """The cross entropy of `linear(input, linear_weight, linear_bias)`."""
def local_response_norm(input: Tensor, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0) -> Tensor:
    """x / (k + alpha * mean of squares over `size` neighbouring channels)^beta (Krizhevsky et al. 2012)."""
def log_softmax(input: Tensor, dim: _Dims | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor:
    """log(softmax(x)) along a dimension, exact where softmax is all but 0."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(input)), elementwise, exact for large |input|."""
def lp_pool1d(input: Tensor, norm_type: _Scalar, kernel_size: _Dims, stride: _Dims | None = None, ceil_mode: _bool = False) -> Tensor:
    """(sum of x^p)^(1/p) over each window: with p = 1 a sum, with infinity the largest magnitude."""
def lp_pool2d(input: Tensor, norm_type: _Scalar, kernel_size: _Dims, stride: _Dims | None = None, ceil_mode: _bool = False) -> Tensor:
    """(sum of x^p)^(1/p) over each window: with p = 1 a sum, with infinity the largest magnitude."""
def lp_pool3d(input: Tensor, norm_type: _Scalar, kernel_size: _Dims, stride: _Dims | None = None, ceil_mode: _bool = False) -> Tensor:
    """(sum of x^p)^(1/p) over each window: with p = 1 a sum, with infinity the largest magnitude."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """max(0, -target * (input1 - input2) + margin): 1 in the target wants input1 above input2, -1 below."""
@_overload
def max_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _Literal[False] = False) -> Tensor:
    """The largest element of each window."""
@_overload
def max_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def max_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _Any: ...
def max_pool1d_with_indices(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with `return_indices=True`, under the name that it has in older scripts."""
@_overload
def max_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _Literal[False] = False) -> Tensor:
    """The largest element of each window."""
@_overload
def max_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def max_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _Any: ...
def max_pool2d_with_indices(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False) -> tuple[Tensor, Tensor]:
    """`max_pool2d` with `return_indices=True`, under the name that it has in older scripts."""
@_overload
def max_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _Literal[False] = False) -> Tensor:
    """The largest element of each window."""
@_overload
def max_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, *, return_indices: _Literal[True]) -> tuple[Tensor, Tensor]: ...
@_overload
def max_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _Any: ...
def max_pool3d_with_indices(input: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, dilation: _Dims = 1, ceil_mode: _bool = False) -> tuple[Tensor, Tensor]:
    """`max_pool3d` with `return_indices=True`, under the name that it has in older scripts."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, output_size: _int | _Sequence[_int | None] | None = None) -> Tensor:
    """Maxima put back to where `max_pool1d` found them, zeros elsewhere."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, output_size: _int | _Sequence[_int | None] | None = None) -> Tensor:
    """Maxima put back to where `max_pool2d` found them, zeros elsewhere."""
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: _Dims, stride: _Dims | None = None, padding: _Dims | _str = 0, output_size: _int | _Sequence[_int | None] | None = None) -> Tensor:
    """Maxima put back to where `max_pool3d` found them, zeros elsewhere."""
def mish(input: Tensor, inplace: _bool = False) -> Tensor:
    """input * tanh(softplus(input)), elementwise (Misra 2019)."""
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean', weight: Tensor | None = None) -> Tensor:
    """(input - target)^2."""
def multi_head_attention_forward(query: Tensor, key: Tensor, value: _Operand, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: _bool = True, key_padding_mask: Tensor | None = None, need_weights: _bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: _bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: _bool = True, is_causal: _bool = False, *, batch_dim: _int = 1) -> tuple:
    """Multi-head attention (Vaswani et al. 2017) with its projections: what `nn.MultiheadAttention` calls."""
def multi_margin_loss(input: Tensor, target: Tensor, p: _int = 1, margin: _float = 1.0, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """The sum over the other classes of weight[target] max(0, margin - input[target] + input[class])^p, divided by the number of"""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """The sum over targets and other classes of max(0, 1 - input[target] + input[class]), divided by the number of classes."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """-(y log sigmoid(x) + (1 - y) log sigmoid(-x)), the mean over classes: binary cross entropy for each class on its own."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: _bool | None = None, ignore_index: _int = -100, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """-weight[target] * input[target]: the negative log-likelihood of classes."""
def normalize(input: Tensor, p: _float = 2.0, dim: _int = 1, eps: _float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divided by its p-norm along a dimension (at least eps)."""
def one_hot(tensor: Tensor, num_classes: _int = -1) -> Tensor:
    """int64 zeros with a 1 at each index, along a new last dimension."""
def pad(input: Tensor, pad: _Any, mode: _str = 'constant', value: _Operand | None = None) -> Tensor:
    """Elements added at both ends of the last dimensions."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The p-norms of the differences of every two rows of a matrix."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Groups of channels become pixels (Shi et al. 2016)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Pixels become channels: the inverse of `pixel_shuffle`."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = True, full: _bool = False, size_average: _bool | None = None, eps: _float = 1e-08, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """exp(input) - target * input: -log of the probability of counts, but for log(target!)."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where positive, weight * x elsewhere (He et al. 2015)."""
def relu(input: Tensor, inplace: _bool = False) -> Tensor:
    """max(x, 0), elementwise."""
def relu6(input: Tensor, inplace: _bool = False) -> Tensor:
    """x held between 0 and 6."""
def relu_(input: Tensor) -> Tensor:
    """In-place form of `relu`: writes the result into `input` and returns it."""
def rms_norm(input: Tensor, normalized_shape: _Dims, weight: Tensor | None = None, eps: _Scalar | None = None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions (Zhang and Sennrich 2019)."""
def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor:
    """x where not negative, elsewhere a slope times x (Xu et al. 2015)."""
def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False) -> Tensor:
    """In-place form of `rrelu`: writes the result into `input` and returns it."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: _Operand, attn_mask: Tensor | None = None, dropout_p: _float = 0.0, is_causal: _bool = False, scale: _Scalar | None = None, enable_gqa: _bool = False) -> Tensor:
    """softmax(scale * query @ key^T + mask) @ value, in memory that grows with the lengths and not with their product."""
def selu(input: Tensor, inplace: _bool = False) -> Tensor:
    """Scaled elu whose activations keep mean 0 and variance 1 (Klambauer et al. 2017)."""
def selu_(input: Tensor) -> Tensor:
    """In-place form of `selu`: writes the result into `input` and returns it."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logistic function 1 / (1 + exp(-input)), elementwise; within 3 ulp."""
def silu(input: Tensor, inplace: _bool = False) -> Tensor:
    """input * sigmoid(input), elementwise (Elfwing et al. 2017)."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean', beta: _float = 1.0) -> Tensor:
    """(x - y)^2 / (2 beta) where |x - y| < beta, |x - y| - beta / 2 elsewhere (Girshick 2015)."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """log(1 + exp(-target * input)), exact for large |input|."""
def softmax(input: Tensor, dim: _Dims | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension."""
def softmin(input: Tensor, dim: _Dims | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor:
    """softmax(-x) along a dimension."""
def softplus(input: Tensor, beta: _float = 1.0, threshold: _float = 20.0, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta * x)) / beta: a relu without a corner."""
def softshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x moved towards 0 by lambd, and 0 where it is nearer."""
def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|), elementwise; of complex numbers, the same direction."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent, elementwise: between -1 and 1."""
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x), elementwise."""
def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = False) -> Tensor:
    """x where it exceeds the threshold, else value."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """In-place form of `threshold`: writes the result into `input` and returns it."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: _bool = False, size_average: _bool | None = None, reduce: _bool | _str | None = None, reduction: _str = 'mean') -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with `pairwise_distance` as d (Balntas et al. 2016)."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: _Any = None, margin: _float = 1.0, swap: _bool = False, reduction: _str = 'mean') -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with any distance d."""
def unfold(input: Tensor, kernel_size: _Dims, dilation: _Dims = 1, padding: _Dims | _str = 0, stride: _Dims = 1) -> Tensor:
    """The windows of images as columns of a matrix."""
def upsample(input: Tensor, size: _Dims | None = None, scale_factor: _Any = None, mode: _str = 'nearest', align_corners: _bool | None = None) -> Tensor:
    """`interpolate` under its older name, with a warning."""
def upsample_bilinear(input: Tensor, size: _Dims | None = None, scale_factor: _Any = None) -> Tensor:
    """`interpolate` of mode "bilinear" with aligned corners under its older name, with a warning."""
def upsample_nearest(input: Tensor, size: _Dims | None = None, scale_factor: _Any = None) -> Tensor:
    """`interpolate` of mode "nearest" under its older name, with a warning."""
