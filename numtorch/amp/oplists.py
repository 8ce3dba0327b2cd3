"""Which ops autocast runs in which precision, on each kind of device: PyTorch's lists, under the names of its ops.

lower      in the region's dtype
float32    in float32
sums       with a float32 result, unless the call says which dtype
widest     in float32 where one of the tensors is of it, else in the region's dtype
given      as it comes, and so does what it is made of
banned     an error: what is given would be cut off before its logarithm is taken

What no list names runs in the dtypes it is given, and what it calls as the lists say. `COMPOSED` are functions that are not
composed here of what they are in PyTorch: they are treated as what they are composed of there.
"""
from __future__ import annotations


def _table(**lists: str) -> dict[str, str]:
    return {name: kind for kind, names in lists.items() for name in names.split()}


_LOSSES = """cosine_embedding_loss hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss
    multilabel_margin_loss nll_loss nll_loss2d poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_loss
    binary_cross_entropy_with_logits"""

LISTS: dict[str, dict[str, str]] = {
    "cpu": _table(
        lower="""conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d addbmm addmm baddbmm bmm mm matmul
            linear linalg_vecdot prelu scaled_dot_product_attention _addmm_activation _convolution _native_multi_head_attention
            mkldnn_rnn_layer""",
        float32=_LOSSES + """ avg_pool3d binary_cross_entropy grid_sampler grid_sampler_2d _grid_sampler_2d_cpu_fallback
            grid_sampler_3d polar prod quantile nanquantile stft cdist trace view_as_complex cholesky cholesky_inverse
            cholesky_solve inverse lu_solve orgqr ormqr pinverse max_pool3d max_unpool2d max_unpool3d adaptive_avg_pool3d
            reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d cross_entropy_loss ctc_loss
            fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn fft_irfftn
            fft_hfft fft_ihfft linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky linalg_svdvals linalg_eigvals
            linalg_eigvalsh linalg_inv linalg_householder_product linalg_tensorinv linalg_tensorsolve
            fake_quantize_per_tensor_affine geqrf _lu_with_info qr svd triangular_solve fractional_max_pool2d
            fractional_max_pool3d adaptive_max_pool3d multilabel_margin_loss_forward linalg_qr linalg_cholesky_ex linalg_svd
            linalg_eig linalg_eigh linalg_lstsq linalg_inv_ex""",
        widest="stack cat index_copy"),
    "cuda": _table(
        lower="""conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution cudnn_convolution
            cudnn_convolution_transpose _convolution prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm baddbmm
            bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell
            rnn_relu_cell _scaled_dot_product_flash_attention scaled_dot_product_attention""",
        float32=_LOSSES + """ acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus layer_norm
            native_layer_norm rms_norm group_norm frobenius_norm nuclear_norm cosine_similarity dist pdist cdist renorm logsumexp
            upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d _upsample_nearest_exact2d upsample_nearest3d
            _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d
            upsample_bicubic2d _upsample_bicubic2d_aa""",
        sums="prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm sum norm",
        widest="addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add",
        banned="binary_cross_entropy"),
}

COMPOSED: dict[str, dict[str, str]] = {
    "cpu": _table(lower="chain_matmul linalg_multi_dot cov corrcoef rnn_tanh rnn_relu lstm multi_head_attention_forward",
                  float32="svd_lowrank pca_lowrank lobpcg",
                  given="matrix_exp linalg_matrix_exp interpolate gru lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell"),
    "cuda": _table(lower="inner rnn_tanh rnn_relu lstm gru multi_head_attention_forward",
                   float32="svd_lowrank pca_lowrank lobpcg", given="matrix_exp linalg_matrix_exp"),
}

# Where our functions have another name than PyTorch's ops: paths in the package.
SPELLINGS = {
    "matmul": ("matmul", "Tensor.__matmul__", "Tensor.__rmatmul__"),
    "max_unpool2d": ("nn.functional.max_unpool2d", "nn.functional.max_unpool1d"),
    "cross_entropy_loss": ("nn.functional.cross_entropy",),
    "grid_sampler": ("nn.functional.grid_sample",), "nll_loss2d": ("nn.functional.nll_loss",), "_lu_with_info": ("lu",),
    "pow": ("pow", "Tensor.__pow__", "Tensor.__rpow__"),
    **{f"upsample_{kind}": ("nn.functional.interpolate",) for kind in ("nearest1d", "linear1d", "bilinear2d", "bicubic2d")},
    **{f"{kind}_pad{n}d": ("nn.functional.pad",) for kind in ("reflection", "replication") for n in (1, 2, 3)},
}
