"""What arguments and results are, where a function does not say it by annotations: tables for the stubs (stubs.py)."""
from __future__ import annotations

# What an argument of a name is wherever it has no annotation; as "function.name" where one function means something else by it.
# A default of None adds `| None`.
MEANS = {
    **dict.fromkeys("""input self tensor tensor1 tensor2 mat mat1 mat2 vec vec1 vec2 vec3 batch1 batch2 A B x y x1 x2 input1 input2
        input3 weight bias target targets mask src values LU LU_data pivots LU_pivots anchor positive negative hx w_ih
        w_hh b_ih b_hh log_probs theta grid logits var query key attn_mask running_mean running_var pos_weight weights
        fweights aweights offsets per_sample_weights window boundaries a b real imag condition prob count
        key_padding_mask in_proj_weight in_proj_bias bias_k bias_v out_proj_weight out_proj_bias q_proj_weight
        k_proj_weight v_proj_weight static_k static_v state indices index abs angle sorted_sequence sorter prepend
        append""".split(), "Tensor"),
    **dict.fromkeys("other end exponent value fill_value min max nan posinf neginf alpha beta q elements test_elements".split(),
                    "Operand"),
    **dict.fromkeys("""start step steps p maxnorm max_norm low high lambd eps scale threshold negative_slope min_val max_val rtol
        atol tol rcond correction norm_type""".split(), "Scalar"),
    **dict.fromkeys("""dim axis dims size shape kernel_size stride dilation output_padding normalized_shape sizes shifts counts
        extents order along destination split_size split_size_or_sections""".split(), "Dims"),
    **dict.fromkeys("""length storage_offset hop_length win_length window_length n_fft row col chunks dim0 dim1 axis0 axis1
        dimension m N padding_idx divisor_override num_samples minlength from_ to""".split(), "int"),
    **dict.fromkeys("""keepdim keepdims unbiased size_average pin_memory requires_grad equal_nan align_corners onesided
        return_complex align_to_window recompute_scale_factor retain_graph copy""".split(), "bool"),
    **dict.fromkeys("norm driver rounding_mode side profile indexing".split(), "str"),
    "dtype": "dtype", "device": "Device", "generator": "Generator", "memory_format": "memory_format", "out": "Tensor",
    "padding": "Dims | str", "reduce": "bool | str", "array": "ndarray", "callable": "Callable", "hook": "Callable",
    "split_sizes": "Sequence[int]", "output_size": "int | Sequence[int | None]", "indices_or_sections": "Dims | Tensor",
    "tensors": "Sequence[Tensor]", "repeats": "Dims | Tensor",
    # functions with a mind of their own
    **dict.fromkeys("""__getitem__.index __setitem__.index __delitem__.index __setitem__.value index_put.indices index_put_.indices
        interpolate.scale_factor upsample.scale_factor set_default_device.device asarray.copy tensordot.dims
        matrix_norm.ord lstm_cell.hx""".split(), "Any"),
    **dict.fromkeys("""where.input bucketize.input bernoulli_.p scatter_.src scatter.src isin.elements normal.mean normal.std
        clamp_min_.low clamp_max_.high index_fill.value index_fill_.value lerp.weight
        lerp_.weight pow.input result_type.tensors""".split(), "Operand"),
    **dict.fromkeys("""batch_norm.running_mean batch_norm.running_var multi_head_attention_forward.in_proj_weight
        multi_head_attention_forward.in_proj_bias multi_head_attention_forward.bias_k multi_head_attention_forward.bias_v
        multi_head_attention_forward.out_proj_bias""".split(), "Tensor | None"),
    "view.shape": "Dims | dtype", "__contains__.element": "Operand", "movedim.source": "Dims", "moveaxis.source": "Dims",
    "select_copy.index": "int | Tensor", "select_scatter.index": "int | Tensor", "narrow_copy.start": "int | Tensor",
    "unflatten.dim": "int | str", "norm.p": "Scalar | str",
    **dict.fromkeys("""eye.n diff.n polygamma.n lobpcg.n lobpcg.k lobpcg.niter svd_lowrank.q svd_lowrank.niter
        pca_lowrank.q""".split(), "int"), "lobpcg.X": "Tensor", "lobpcg.iK": "Tensor", "svd_lowrank.M": "Tensor",
}

# Results that depend on a flag: what comes without it, and with it.
FLAGS = {"return_indices": ("Tensor", "tuple[Tensor, Tensor]"), "as_tuple": ("Tensor", "tuple[Tensor, ...]"),
         "return_inverse": ("Tensor", "Any"), "return_counts": ("Tensor", "Any")}

# Results that depend on what is given, and what must be given under one of two names.
_ALONG = ["(input: Tensor, *, out: Tensor | None = ...) -> Tensor",
          "(input: Tensor, dim: int, keepdim: bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> Pair",
          "(input: Tensor, *, axis: int, keepdims: bool = ..., out: tuple[Tensor, Tensor] | None = ...) -> Pair"]
_OF_TWO = [*_ALONG, "(input: Tensor, dim: Tensor, *, out: Tensor | None = ...) -> Tensor"]


def _of_a_dimension(others, out=""):
    """What picks from a dimension, which comes first or under NumPy's name."""
    return [f"(input: Tensor, dim: int, {others}{', *' if out else ''}{out}) -> Tensor",
            f"(input: Tensor, *, axis: int, {others}{out}) -> Tensor"]


_ONE_OR_MORE = ["(tensor: Tensor, /) -> Tensor", "(*tensors: TensorOrTensors) -> tuple[Tensor, ...]"]
OVERLOADS = {"max": _OF_TWO, "min": _OF_TWO, "median": _ALONG, "nanmedian": _ALONG,
             "gather": _of_a_dimension("index: Tensor", ", sparse_grad: bool = ..., out: Tensor | None = ..."),
             "index_select": _of_a_dimension("index: Tensor", ", out: Tensor | None = ..."),
             "scatter_add": _of_a_dimension("index: Tensor, src: Tensor", ", out: Tensor | None = ..."),
             "scatter_add_": _of_a_dimension("index: Tensor, src: Tensor"),
             "index_add": _of_a_dimension("index: Tensor, source: Tensor", ", alpha: Scalar = ..., out: Tensor | None = ..."),
             "index_add_": _of_a_dimension("index: Tensor, source: Tensor", ", alpha: Scalar = ..."),
             "select": _of_a_dimension("index: int | Tensor"), "narrow": _of_a_dimension("start: int | Tensor, length: int"),
             **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d"), _ONE_OR_MORE)}

# Results of no one type.
RETURNS = dict.fromkeys("""tolist type grad_fn register_hook register_post_accumulate_grad_hook pointwise __dlpack__
    __array_namespace__ histogramdd""".split(), "Any")
