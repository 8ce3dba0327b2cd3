"""ATen's names: which of them are functions of ours, with which overloads.

`DIRECT` holds those that take the same arguments in the same places; they are found in the package, in `nn.functional`, in the
namespaces of their prefixes (`linalg_det`) and among Tensor's methods. `ORDERED` says of others what their arguments are to ours.
`forms.py` has those that are made of several.
"""
from __future__ import annotations

# The overloads, and the names that have them.
DIRECT = {
    "default": """
        _coalesced_ _dirichlet_grad _indices _nnz _sample_dirichlet _standard_gamma _standard_gamma_grad _unsafe_masked_index
        _unsafe_masked_index_put_accumulate _values abs_ absolute_ acos_ acosh_ adaptive_avg_pool1d adaptive_avg_pool2d
        adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d addbmm_ addcdiv_ addcmul_ addmm_ addmv_
        addr_ adjoint alias_copy allclose aminmax arccos_ arccosh_ arcsin_ arcsinh_ arctan2_ arctan_ arctanh_ argwhere as_strided
        as_strided_ as_strided_copy as_strided_scatter asin_ asinh_ atan2_ atan_ atanh_ avg_pool1d baddbmm_ bilinear bincount
        binomial bitwise_not_ broadcast_tensors broadcast_to cartesian_prod cauchy_ ccol_indices cdist ceil_ celu celu_
        channel_shuffle chunk clone coalesce col_indices combinations conj conj_physical_ constant_pad_nd contiguous
        conv_transpose1d copy_ corrcoef cos_ cosh_ cosine_similarity cov crow_indices cummax cummin cumprod_ cumsum_ deg2rad_
        dense_dim det detach detach_ detach_copy diag_embed diagflat diagonal diagonal_copy diagonal_scatter digamma_ dim dist
        einsum elu_ embedding embedding_renorm_ empty_like empty_permuted empty_strided equal erf_ erfc_ erfinv_ exp2_ exp_ expand
        expand_as expand_copy expm1_ exponential_ fft_fftshift fft_ifftshift fill_diagonal_ fix_ flip fliplr flipud floor_ frac_
        full_like gcd_ geometric_ geqrf get_device glu grid_sampler grid_sampler_2d grid_sampler_3d gru_cell hardtanh_ heaviside_
        hypot_ i0_ igamma_ igammac_ imag index_add_ index_copy_ index_put index_put_ index_reduce_ indices is_coalesced is_complex
        is_conj is_floating_point is_inference is_neg is_nonzero is_pinned is_same_size is_set_to is_signed isclose isfinite isinf
        isnan isreal istft item kthvalue lcm_ ldexp_ leaky_relu_ lgamma_ linalg_cholesky_ex linalg_diagonal linalg_eig linalg_eigh
        linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_matrix_exp
        linalg_qr linalg_slogdet linalg_solve_ex linalg_svd linalg_vander log10_ log1p_ log2_ log_ log_normal_ logdet logical_and_
        logical_not_ logical_or_ logical_xor_ logit_ lu_unpack masked_scatter masked_scatter_ matrix_exp max_pool1d
        max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices mode mvlgamma_ nan_to_num_
        native_group_norm native_layer_norm neg_ negative_ new_empty new_empty_strided new_full new_ones new_zeros nextafter_
        nonzero_static normal_ numel one_hot ones_like pad pairwise_distance pdist permute permute_copy pinverse pixel_shuffle
        pixel_unshuffle poisson polygamma_ positive prelu promote_types put put_ qr rad2deg_ random_ ravel real reciprocal_ relu
        relu6 relu_ renorm_ repeat reshape reshape_as resize_ resolve_conj resolve_neg rms_norm rnn_relu_cell rnn_tanh_cell roll
        rot90 row_indices rrelu_ rsqrt_ scalar_tensor scaled_dot_product_attention scatter_add_ segment_reduce select_scatter selu
        selu_ sgn_ sigmoid_ sign_ sin_ sinc_ sinh_ slice_scatter slogdet sparse_dim sparse_mask sparse_resize_
        sparse_resize_and_clear_ special_log_softmax special_softmax split_with_sizes sqrt_ square_ storage_offset sum_to_size svd
        swapaxes swapaxes_ swapdims swapdims_ t t_ t_copy tan_ tanh_ threshold_ tile to_dense to_sparse_bsc to_sparse_bsr
        to_sparse_csc to_sparse_csr topk trace transpose_ triangular_solve tril_ triu_ trunc_ type_as unfold unfold_copy
        unique_consecutive unsafe_chunk unsafe_split_with_sizes unsqueeze unsqueeze_ unsqueeze_copy values vander view_as
        view_as_complex view_as_real view_copy zero_ zeros_like""",
    "default out": """
        _chunk_cat abs absolute acos acosh addbmm addcdiv addcmul addmm addmv addr amax amin angle arccos arccosh arcsin arcsinh
        arctan arctan2 arctanh argmax argmin asin asinh atan atan2 atanh avg_pool2d avg_pool3d baddbmm bitwise_not bmm cat ceil
        chain_matmul cholesky cholesky_inverse cholesky_solve column_stack complex concat concatenate conj_physical cos cosh cross
        cumprod cumsum deg2rad diag diff digamma dstack erf erfc erfinv exp exp2 expm1 fft_fft fft_fft2 fft_fftfreq fft_fftn
        fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn
        fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn fix floor fmax fmin frac full gather gcd ger hardshrink hardsigmoid hardswish
        hardtanh hash_tensor heaviside histc hstack hypot i0 igamma igammac index_add index_copy index_reduce index_select inner
        inverse isneginf isposinf kron lcm leaky_relu lgamma linalg_cholesky linalg_cross linalg_det linalg_eigvals
        linalg_eigvalsh linalg_householder_product linalg_inv linalg_ldl_solve linalg_lu_solve linalg_matmul linalg_matrix_power
        linalg_multi_dot linalg_solve linalg_solve_triangular linalg_svdvals linalg_tensorinv linalg_vecdot linalg_vector_norm
        linear log log10 log1p log2 logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit
        logsumexp lu_solve masked_select matmul matrix_power maximum minimum mish mm msort multinomial mv mvlgamma nan_to_num
        nanmean nansum narrow_copy native_batch_norm neg negative nextafter nonzero ones orgqr outer polar polygamma rad2deg
        reciprocal renorm row_stack rsqrt scatter_add sgn sigmoid sign signbit silu sin sinc sinh softplus softshrink
        special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_digamma special_entr
        special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1 special_gammainc
        special_gammaincc special_gammaln special_i0 special_i0e special_i1 special_i1e special_log1p special_log_ndtr
        special_logit special_logsumexp special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
        special_modified_bessel_k1 special_multigammaln special_ndtr special_ndtri special_polygamma special_psi special_round
        special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_sinc special_spherical_bessel_j0
        split_with_sizes_copy sqrt square stack take take_along_dim tan tanh threshold tril triu trunc vdot vstack zeros""",
    "Scalar Tensor": """
        add_ bitwise_and_ bitwise_or_ bitwise_xor_ copysign_ eq_ fill fill_ float_power_ floor_divide_ fmod_ ge_ greater_
        greater_equal_ gt_ le_ lerp_ less_ less_equal_ lt_ masked_fill masked_fill_ mul_ multiply_ ne_ not_equal_ pow_ remainder_
        rsub sub_ subtract_ true_divide_""",
    "Scalar Scalar_out Tensor Tensor_out": """
        eq fmod ge greater greater_equal gt le lerp less less_equal lt ne not_equal searchsorted""",
    "default n_scalar n_scalar_out out x_scalar x_scalar_out": """
        special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
        special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l
        special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
        special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w""",
    "int": "select select_copy size stride transpose transpose_copy unbind unflatten",
    "Scalar Tensor out": "add mul multiply sub subtract true_divide",
    "Scalar Scalar_Tensor Scalar_out Tensor Tensor_out": "bitwise_and bitwise_or bitwise_xor remainder",
    "data input": "gru lstm rnn_relu rnn_tanh",
    "default Tensor Tensor_out out": "clamp clamp_max clamp_min clip",
    "Tensor": "frexp slice_copy unsafe_split",
    "default Sequence": "atleast_1d atleast_2d atleast_3d",
    "default Tensor": "clamp_ clip_ narrow",
    "default dim dims": "squeeze squeeze_ squeeze_copy",
    "default generator generator_out out": "rand randn randperm",
    "default other_scalar other_scalar_out out self_scalar self_scalar_out": "special_xlog1py special_xlogy special_zeta",
    "default padding": "conv1d conv2d conv3d",
    "default periodic": "bartlett_window blackman_window hann_window",
    "dx x": "cumulative_trapezoid trapezoid trapz",
    "int int_out": "log_softmax softmax unbind_copy",
    "Scalar Scalar_mode Tensor Tensor_mode": "div_ divide_",
    "Scalar Scalar_mode Tensor Tensor_mode out out_mode": "div divide",
    "Scalar Scalar_out Tensor_Scalar Tensor_Scalar_out Tensor_Tensor Tensor_Tensor_out": "float_power pow",
    "Scalar_Tensor Tensor Tensor_Scalar Tensor_Scalar_out Tensor_out": "bitwise_left_shift bitwise_right_shift",
    "Tensor Tensor_Scalar": "bitwise_left_shift_ bitwise_right_shift_",
    "atol_rtol_float atol_rtol_float_out atol_rtol_tensor atol_rtol_tensor_out": "linalg_matrix_rank linalg_pinv",
    "correction correction_out dim out": "std var",
    "correction dim": "std_mean var_mean",
    "default Scalar_Tensor Scalar_Tensor_out Tensor_Scalar Tensor_Scalar_out Tensor_Tensor Tensor_Tensor_out out": """
        linspace logspace""",
    "default all_out dim dims dims_out out": "all any",
    "default dim": "median nanmedian",
    "default dim unary_out": "max min",
    "default generator": "rand_like randn_like",
    "default out scalar scalar_out": "nanquantile quantile",
    "default stable": "argsort sort",
    "input": "conv_transpose2d conv_transpose3d",
    "int intlist": "moveaxis movedim",
    "int_Scalar int_Tensor": "index_fill index_fill_",
    "OutScalar_Other OutScalar_Self OutTensor Scalar_Other Scalar_Self Tensor": "xlogy",
    "Scalar ScalarOpt_dim ScalarOpt_dim_dtype ScalarOpt_dtype dtype_out out": "norm",
    "Scalar Scalar_Scalar Scalar_Tensor Tensor": "result_type",
    "Scalar Scalar_out Tensor out": "copysign",
    "Scalar Tensor Tensor_out": "bucketize",
    "Scalar_Other Tensor": "xlogy_",
    "Scalar_Tensor Scalar_Tensor_out Tensor_Tensor Tensor_Tensor_out": "isin",
    "Tensor float": "bernoulli_",
    "Tensor out": "ldexp",
    "Tensor self_Tensor self_int": "repeat_interleave",
    "Tensor_Tensor Tensor_Tensor_out Tensor_float Tensor_float_out float_Tensor float_Tensor_out float_float float_float_out": """
        normal""",
    "array scalararray scalarint scalarrayarray scalarrayint tensorarray tensorarrayint": "gradient",
    "bin_ct bins_tensor": "histogram",
    "center": "stft",
    "comp_plain_value comp_plain_value_size": "sparse_compressed_tensor",
    "default IntList_out dim_IntList": "sum",
    "default Scalar ScalarOther ScalarSelf self self_out": "where",
    "default Scalar out": "floor_divide",
    "default beta periodic": "kaiser_window",
    "default decimals": "round_",
    "default decimals decimals_out out": "round",
    "default dim dtype_out out": "mean",
    "default dim_IntList": "count_nonzero",
    "default dim_int int_out": "prod",
    "default dtype": "view",
    "default indexing": "meshgrid",
    "default m m_out out": "eye",
    "default memory_format": "is_contiguous",
    "default no_stats no_stats_out out": "_native_batch_norm_legit",
    "default ord_str ord_str_out out": "linalg_norm",
    "default out out_ step": "range",
    "default out p": "bernoulli",
    "default out p_str p_str_out": "linalg_cond",
    "default out str_ord str_ord_out": "linalg_matrix_norm",
    "default periodic periodic_alpha periodic_alpha_beta": "hamming_window",
    "default source_Storage source_Storage_storage_offset source_Tensor source_Tensor_storage_offset": "set_",
    "default sparse_dim": "to_sparse",
    "device dtype other": "to",
    "low low_generator low_generator_out low_out": "randint",
    "low_dtype low_generator_dtype": "randint_like",
    "memory_format out": "empty",
    "reduce reduce_out src src_out value value_out value_reduce value_reduce_out": "scatter",
    "reduce src value value_reduce": "scatter_",
    "start start_out start_step": "arange",
    "two": "scatter_reduce_",
    "two two_out": "scatter_reduce",
    "using_ints": "flatten",
}

_REDUCED = "self=input target reduction"
_NLL = "nn.functional.nll_loss self=input target weight reduction ignore_index"

# A function of ours, then ATen's arguments in their order: `ours`, `theirs=ours`, or `-dropped`, which changes nothing here.
ORDERED = {
    "_local_scalar_dense": "Tensor.item self",
    "_unsafe_view": "reshape self=input size=shape",
    **{name: f"{name} input p train=training" for name in ("alpha_dropout", "dropout", "feature_alpha_dropout", "feature_dropout")},
    "arange.default": "arange end",
    "batch_norm": "batch_norm input weight bias running_mean running_var training momentum eps -cudnn_enabled",
    "binary_cross_entropy": "nn.functional.binary_cross_entropy self=input target weight reduction",
    "binary_cross_entropy_with_logits": "binary_cross_entropy_with_logits self=input target weight pos_weight reduction",
    "clamp_max_": "Tensor.clamp_max_ self=input max",
    "clamp_min_": "Tensor.clamp_min_ self=input min",
    "col2im": "nn.functional.fold self=input output_size kernel_size dilation padding stride",
    "cosine_embedding_loss": "cosine_embedding_loss input1 input2 target margin reduction",
    "cross_entropy_loss": "nn.functional.cross_entropy self=input target weight reduction ignore_index label_smoothing",
    **{f"ctc_loss.{kind}": "nn.functional.ctc_loss log_probs targets input_lengths target_lengths blank reduction zero_infinity"
       for kind in ("IntList", "Tensor")},
    "dot": "dot self=input tensor",
    "group_norm": "group_norm input num_groups weight bias eps -cudnn_enabled",
    "hinge_embedding_loss": "hinge_embedding_loss self=input target margin reduction",
    "huber_loss": f"nn.functional.huber_loss {_REDUCED} delta",
    "im2col": "nn.functional.unfold self=input kernel_size dilation padding stride",
    "instance_norm": "instance_norm input weight bias running_mean running_var use_input_stats momentum eps -cudnn_enabled",
    "isin.Tensor_Scalar": "isin elements test_element=test_elements assume_unique invert",
    "kl_div": f"nn.functional.kl_div {_REDUCED} log_target",
    "l1_loss": f"nn.functional.l1_loss {_REDUCED}",
    "layer_norm": "layer_norm input normalized_shape weight bias eps -cudnn_enable",
    "linalg_lstsq": "linalg.lstsq self=A b=B rcond driver",
    "linalg_matrix_rank.default": "linalg.matrix_rank self=A tol hermitian",
    "linalg_pinv.default": "linalg.pinv self=A rcond hermitian",
    "linalg_tensorsolve": "linalg.tensorsolve self=A other=B dims",
    "log_sigmoid": "nn.functional.logsigmoid self=input",
    "margin_ranking_loss": "margin_ranking_loss input1 input2 target margin reduction",
    "max.other": "maximum self=input other",
    "min.other": "minimum self=input other",
    "mse_loss": f"nn.functional.mse_loss {_REDUCED}",
    "multi_margin_loss": "nn.functional.multi_margin_loss self=input target p margin weight reduction",
    "multilabel_margin_loss": f"nn.functional.multilabel_margin_loss {_REDUCED}",
    **dict.fromkeys(("nll_loss", "nll_loss2d", "nll_loss_nd"), _NLL),
    "ormqr": "ormqr self=input input2=tau input3=other left transpose",
    "pad_sequence": "nn.utils.rnn.pad_sequence sequences batch_first padding_value padding_side",
    "poisson_nll_loss": "poisson_nll_loss input target log_input full eps reduction",
    "randint.default": "randint high size",
    "randint_like.default": "randint_like self=input high",
    "resize_as_": "Tensor.resize_as_ self the_template",
    "smooth_l1_loss": f"nn.functional.smooth_l1_loss {_REDUCED} beta",
    "soft_margin_loss": f"nn.functional.soft_margin_loss {_REDUCED}",
    "split.Tensor": "split self=tensor split_size=split_size_or_sections dim",
    "split.sizes": "split self=tensor split_size=split_size_or_sections dim",
    "split_copy.Tensor": "split_copy self=tensor split_size=split_size_or_sections dim",
    "std.default": "std self=input unbiased",
    "std_mean.default": "std_mean self=input unbiased",
    **{f"{name}.{kind}": f"{name} self=input {argument}=indices_or_sections" + " dim" * (name == "tensor_split")
       for name, kind, argument in [("tensor_split", "sections", "sections"), ("tensor_split", "indices", "indices"),
                                    *[(f"{axis}split", kind, argument) for axis in "hvd"
                                      for kind, argument in (("int", "sections"), ("array", "indices"))]]},
    "triplet_margin_loss": "triplet_margin_loss anchor positive negative margin p eps swap reduction",
    "uniform_": "Tensor.uniform_ self from=a to=b",
    "var.default": "var self=input unbiased",
    "var_mean.default": "var_mean self=input unbiased",
}

# What has the name's gradient: `gelu_backward(grad_output, self, ...)`.
DIFFERENTIATED = """avg_pool2d avg_pool3d binary_cross_entropy gelu glu hardshrink hardsigmoid hardswish hardtanh huber_loss
    logit mish mse_loss reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
    silu smooth_l1_loss soft_margin_loss softplus softshrink""".split()
