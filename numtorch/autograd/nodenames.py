"""What nodes of the graph are called: PyTorch's names, by which tools draw graphs and programs find nodes of a kind.

A name is that of the call with a number: `AddBackward0`. Most primitives have ATen's names; the table here says of the others what
PyTorch calls them. Its number tells overloads of one name apart, which are one primitive here.
"""
from __future__ import annotations

import functools

from ..layout import Layout

ATEN = dict(
    square="pow", cube="pow", pow_half="pow", pow_minus_half="pow", pow_minus_one="pow", replace_where="masked_fill",
    replace_nonfinite="nan_to_num", logit_of="logit", polygamma_of="polygamma", trigamma="polygamma", round_to_decimals="round",
    round_to_tens="round", gelu_tanh="gelu", selu="elu", gated="glu", logsigmoid="log_sigmoid", prelu="prelu_kernel",
    narrow="slice", entr="special_entr", erfcx="special_erfcx", i0e="special_i0e", i1="special_i1", i1e="special_i1e",
    log_ndtr="special_log_ndtr", ndtri="special_ndtri", xlog1py="special_xlog1py", zeta="special_zeta", norm="linalg_vector_norm",
    linalg_inv="linalg_inv_ex", linalg_cholesky="linalg_cholesky_ex", linalg_solve="linalg_solve_ex",
    linalg_lu_factor="linalg_lu_factor_ex", linalg_eigvalsh="linalg_eigh", linalg_eigvals="linalg_eig", linalg_svdvals="linalg_svd",
    batch_norm="native_batch_norm", layer_norm="native_layer_norm", group_norm="native_group_norm", rms_norm="fused_rms_norm",
    convolution_input_grad="convolution", fold="col2im", squared_error="mse_loss", smooth_absolute_error="smooth_l1_loss",
    huber_error="huber_loss", binary_cross_entropy_terms="binary_cross_entropy", logistic_terms="binary_cross_entropy_with_logits",
    soft_margin_terms="soft_margin_loss")
OURS = {"self": ("input", "x", "a"), "other": ("y", "b"), "target": ("y",), "result": ("out",)}        # of what nodes save
FILTERS = dict(linear=("linear", "bilinear", "trilinear"), cubic=("", "bicubic", ""))


@functools.cache
def node_name(name: str, overload: int = 0) -> str:
    """What PyTorch calls the node of a call.

    Args:
        name: of the primitive.
        overload: which of the calls of that name it is.

    Returns:
        Such as `AddBackward0`. As in PyTorch, a letter behind a digit is a capital one.
    """
    return f"{ATEN.get(name, name).title().replace('_', '')}Backward{overload}"


def elementwise_name(name: str, inputs: tuple) -> str:
    """What the node of an elementwise call is called.

    Args:
        name: of the op.
        inputs: the layouts of the call's inputs.
    """
    number = [layout.weak for layout in inputs]          # which of them were Python's numbers
    if name == "pow":
        return node_name(name, 0 if number[1] else 2 if number[0] else 1)
    if name == "sub" and number[0]:
        return node_name("rsub", 1)
    if name == "remainder" or name == "lerp":
        return node_name(name, int(not number[-1]))
    if name in ("clamp_both", "clamp_low", "clamp_high"):
        return node_name("clamp", int(any(number[1:])))
    return node_name(name)


def call_name(name: str, attributes) -> str:
    """What the node of any other call is called.

    Args:
        name: of the primitive.
        attributes: what the node has of the call beside tensors.
    """
    if name == "copy":
        return "CopyBackwards"
    known = _BY_ATTRIBUTES.get(name)
    return node_name(name) if known is None else known(name, attributes)


def _along(name, attributes):
    """A reduction: of some dimensions, or of all."""
    return node_name(name, int(_reduced(attributes)))


def _extreme(name, attributes):
    return node_name("a" + name) if _reduced(attributes) else node_name(name, 1)


def _reduced(attributes):
    return isinstance(attributes, tuple) and isinstance(attributes[0], Layout) and attributes[1] is not None


def _pair(name, attributes):
    """Values and indices along a dimension."""
    name = name.removesuffix("_along")
    return node_name(name, int("median" in name))


def _images(name, attributes):
    """What has a name for each number of dimensions."""
    count = attributes[0].ndim - 2
    if name == "nll_loss":
        return node_name("nll_loss2d" if count > 0 else name)
    return node_name(f"{name}_{count}d")


def _padding(name, attributes):
    kind = {"reflect_pad": "reflection", "replicate_pad": "replication"}[name]
    return node_name(f"{kind}_pad{len(attributes[1]) // 2}d")


def _resample(name, maps):
    count, kind = len(maps.axes), maps.kind
    if kind in FILTERS:
        return node_name(f"upsample_{FILTERS[kind][count - 1]}{count}d")
    if kind == "nearest":
        return node_name(f"upsample_nearest{'_exact' * maps.axes[0][3]}{count}d")
    return node_name({"regions": f"adaptive_avg_pool{count}d", "windows": f"avg_pool{count}d"}.get(kind, name))


def _scatter(name, attributes):
    return node_name(name, int(isinstance(attributes[1], Layout) and attributes[1].weak))


_BY_ATTRIBUTES = dict(
    dict.fromkeys(("sum", "mean", "prod"), _along), max=_extreme, min=_extreme,
    **dict.fromkeys(("max_along", "min_along", "median_along", "nanmedian_along"), _pair),
    nll_loss=_images, grid_sampler=_images, reflect_pad=_padding, replicate_pad=_padding, resample=_resample, scatter=_scatter)


@functools.cache
def _named_class(kind, name):
    return type(name, (kind,), {"__slots__": (), "__getattr__": _saved, "__dir__": _attributes})


def _saved(node, name):
    """`_saved_input` and its like: what is saved, under the names that the derivative and PyTorch have for it. As a method of all
    nodes it would slow each of their attributes down."""
    if name.startswith("_saved_"):
        names, wanted = node.saved_names(), name.removeprefix("_saved_")
        for each in (wanted, *OURS.get(wanted, ())):
            if each in names:
                return node.saved_at(names.index(each))
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'")


def _attributes(node):
    return [*object.__dir__(node), *[f"_saved_{name}" for name in node.saved_names()]]


def named(node):
    """A node as users see it, of a class under its name: `type(x.grad_fn).__name__` is what PyTorch's tools write into pictures,
    and look for. Most nodes are never looked at, and are recorded as what they are."""
    name = node.name()
    if type(node).__name__ != name:
        node.__class__ = _named_class(type(node), name)
    return node
