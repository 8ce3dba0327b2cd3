"""What PyTorch refuses and how it words it, and what it gives in corners: each row is run here, and in PyTorch where it is installed."""
import copy
import io
import warnings

import numpy as np
import pytest

import numtorch

try:
    import torch as pytorch
except ImportError:
    pytorch = None

BOTH = [numtorch] + ([pytorch] if pytorch is not None else [])
INF, NAN = float("inf"), float("nan")


def _refilled(t):
    leaf = t.ones(4, requires_grad=True)
    x = leaf * 1
    x[:2].normal_()
    x.sum().backward()
    return leaf.grad


def _gradient(t, function, *values, order=1):
    x = t.tensor(values, requires_grad=True)
    out = function(x).sum()
    for _ in range(order):
        out = t.autograd.grad(out, x, create_graph=True)[0]
        found, out = out, out.sum()
    return found


def _grad_in(t, function, values):
    x = t.tensor(values, dtype=t.float64, requires_grad=True)
    return t.autograd.grad(function(x).sum(), x)[0]


def _symmetric(matrix):
    return bool((matrix - matrix.mT).abs().max() < 1e-12)


def _hooked(t, forward, *args):
    """What a module's backward hooks see: the gradients of its inputs, and of its outputs."""
    module, seen = type("M", (t.nn.Module,), {"forward": lambda self, *args: forward(*args)})(), []
    module.register_full_backward_hook(lambda m, inputs, outputs: seen.extend((inputs, outputs)))
    out = module(*args)
    (out[0] if isinstance(out, tuple) else out).sum().backward()
    return [[None if g is None else g.tolist() for g in grads] for grads in seen]


def _twice_through_a_hook(t):
    module, x = t.nn.Tanh(), t.tensor([0.5], dtype=t.float64, requires_grad=True)
    module.register_full_backward_hook(lambda m, inputs, outputs: (inputs[0] * 3,))
    slope, = t.autograd.grad(module(x), x, create_graph=True)
    return [slope.item(), t.autograd.grad(slope, x)[0].item()]


def _copied_leaf(t):
    x = t.ones(2, requires_grad=True)
    x.named = "x"
    other = copy.copy(x)
    (other * 2).sum().backward()
    return [str(x.grad), other.grad.tolist(), other.is_leaf, other.named, other.data_ptr() == x.data_ptr()]


def _fetched_at_once(t):
    data = type("D", (t.utils.data.Dataset,), {"__len__": lambda self: 4, "__getitem__": lambda self, i: i,
                                               "__getitems__": lambda self, numbers: [i * 10 for i in numbers]})()
    return [batch.tolist() for batch in t.utils.data.DataLoader(t.utils.data.Subset(data, [3, 1, 2]), batch_size=2)]


def _mapped_to_meta(t):
    file = io.BytesIO()
    t.save(t.ones(2, 3), file)
    file.seek(0)
    return (lambda x: [x.device.type, list(x.shape)])(t.load(file, map_location="meta"))


ONE = lambda t, *values: t.tensor(values, dtype=t.float64, requires_grad=True)
I = lambda t: t.ones(2, 2, dtype=t.int64)

VALUES = {
    "hooks_of_a_module_see_gradients_of_arguments": (lambda t: _hooked(t, lambda a, b, k, c: (a * b * k, a), ONE(t, 2.0), t.tensor([5.0], dtype=t.float64), 3, [ONE(t, 1.0)]),
                                                     [[[15.0], [0.0], None, None], [[1.0], None]]),
    "hooks_of_a_module_do_not_see_dicts": (lambda t: _hooked(t, lambda a: type("D", (dict,), {"sum": lambda d: d["y"].sum()})(y=a * 2), ONE(t, 2.0)) + [[]], [[]]),
    "hooks_of_a_module_change_no_second_gradients": (_twice_through_a_hook, [3 * (1 - np.tanh(0.5) ** 2), -6 * np.tanh(0.5) * (1 - np.tanh(0.5) ** 2)]),
    "copied_leaf": (_copied_leaf, ["None", [2.0, 2.0], True, "x", True]),
    "deleted_gradient": (lambda t: (lambda x: (x.sum().backward(), delattr(x, "grad"), [str(x.grad)])[-1])(t.ones(2, requires_grad=True)), ["None"]),
    "lazy_norm_of_doubles": (lambda t: (lambda m: [str(m(t.ones(2, 3).double()).dtype), list(m.running_mean.shape), str(m.running_mean.dtype)])(t.nn.LazyBatchNorm1d().double()),
                             ["torch.float64", [3], "torch.float64"]),
    "part_of_what_is_fetched_at_once": (_fetched_at_once, [[30, 10], [20]]),
    "mapped_to_meta": (_mapped_to_meta, ["meta", [2, 3]]),
    "bends_of_a_sign": (lambda t: _gradient(t, lambda x: (t.copysign(x, t.tensor(-1.0)) ** 2) * x, 2.0, -3.0, order=2), [12.0, -18.0]),
    "convolved_integers": (lambda t: [t.conv1d(t.arange(8).view(1, 2, 4), t.tensor([[[1, -1]], [[2, 2 ** 62]]]), t.tensor([5, 0]), 2, 1, groups=2).tolist(),
                                      t.conv_transpose1d(t.arange(3).view(1, 3), t.tensor([[[1, 2, 3]]]), None, 2, 1, 1).tolist()],
                           [[[[5, 4, 8], [0, 10 - 2 ** 63, 14]]], [[0, 1, 2, 5, 4, 6]]]),
    "convolved_complex": (lambda t: (lambda x, w: [t.conv1d(x, w, t.tensor([1j])).tolist(), t.autograd.grad(t.conv1d(x, w).sum().real, x)[0].tolist(), t.conv_transpose1d(x, w).tolist()])(
        t.tensor([[1, 1j, 2]], requires_grad=True), t.tensor([[[1j, 2]]])), [[[4j, 3 + 1j]], [[-1j, 2 - 1j, 2]], [[1j, 1, 4j, 4]]]),
    "pooled_integers": (lambda t: [t.nn.functional.avg_pool2d(-t.arange(16).view(1, 4, 4), 3, 2, 1, True, p).tolist() for p in (True, False)]
                        + [v.tolist() for v in t.nn.functional.max_pool2d(t.arange(12).view(1, 3, 4) % 5, 2, 1, 0, (2, 1), False, True)],
                        [[[[-1, -2, -1], [-5, -10, -5], [-4, -7, -3]]], [[[-2, -4, -5], [-8, -10, -11], [-12, -14, -15]]], [[[4, 4, 3]]], [[[9, 9, 3]]]]),
    "norms_of_empty_matrices": (lambda t: [t.linalg.norm(t.ones(3, 0), o).item() for o in (1, 2, INF, "nuc")] + t.linalg.norm(t.ones(2, 0, 3), 2, (1, 2)).tolist(), [0.0] * 6),
    "integers_evenly_apart": (lambda t: [t.linspace(0.7, 9.2, 5, dtype=t.int64).tolist(), t.logspace(1.5, 3.7, 4, dtype=t.int32).tolist()], [[0, 2, 4, 6, 9], [10, 46, 215, 1000]]),
    "dropout_of_integers_in_evaluation": (lambda t: [f(t.ones(1, 2, dtype=t.int64), 0.5, False).tolist() for f in (t.dropout, t.alpha_dropout, t.feature_alpha_dropout)], [[[1, 1]]] * 3),
    "lower_half_of_a_hermitian_matrix": (lambda t: t.linalg.pinv(t.tensor([[2.0, 9.0], [1.0, 3.0]]), hermitian=True).flatten(), pytest.approx([0.6, -0.2, -0.2, 0.4])),
    "power_0_is_recorded": (lambda t: (lambda x: (t.linalg.matrix_power(x, 0).sum() + 0).backward() or x.grad)(t.full((2, 2), INF, requires_grad=True)), [[0.0, 0.0]] * 2),
    "least_squares_into": (lambda t: t.linalg.lstsq(t.eye(2), t.ones(2, 1), out=(t.empty(0), t.empty(0), t.empty(0, dtype=t.int64), t.empty(0)))[0], [[1.0], [1.0]]),
    "logit_between_bounds_that_cross": (lambda t: t.logit(t.tensor([0.1, 0.75, 0.9], dtype=t.float64), 0.8).sigmoid(), pytest.approx([0.8, 0.8, 0.2])),
    "logit_of_no_bounds": (lambda t: t.logit(t.tensor([0.1, 0.75], dtype=t.float64), NAN).sigmoid(), pytest.approx([0.1, 0.75])),
    "slope_between_bounds_that_cross": (lambda t: _gradient(t, lambda x: t.logit(x, 0.8), 0.1, 0.9), [0.0, 0.0]),
    "least_squares_of_full_rank": (lambda t: t.linalg.lstsq(t.diag(t.tensor([4.0, 1.0])), t.ones(2, 1), rcond=0.5, driver="gels")[0].flatten(), [0.25, 1.0]),
    "least_squares_of_a_lower_rank": (lambda t: [v.flatten().tolist() for v in t.linalg.lstsq(t.diag(t.tensor([4.0, 1.0])), t.ones(2, 1), rcond=0.5, driver="gelsd")],
                                      [[0.25, 0.0], [], [1], [4.0, 1.0]]),
    "least_squares_without_a_bound": (lambda t: [t.linalg.lstsq(t.diag(t.tensor([4.0, 1.0])), t.ones(2, 1), rcond=2.0, driver=d).rank.item() for d in ("gelsd", "gelss", "gelsy")], [2, 0, 1]),
    "spacing_in_a_tensor": (lambda t: t.gradient(t.tensor([1.0, 2.0, 4.0]), spacing=t.tensor(2.0))[0], [0.5, 0.75, 1.0]),
    "logarithm_of_one_angle": (lambda t: t.logsumexp(t.tensor(2 + 50j, dtype=t.complex128), 0).imag, pytest.approx(50 - 16 * np.pi)),
    "fractions_of_integer_products": (lambda t: [f(I(t), I(t), I(t), beta=3.6, alpha=1.9).tolist() for f in (t.addmm, lambda x, a, b, **o: t.baddbmm(x, a[None], b[None], **o)[0],
                                                 lambda x, a, b, **o: t.addbmm(x, a[None], b[None], **o), lambda x, a, b, **o: t.addmv(x[0], a, b[0], **o).expand(2, 2))], [[[5, 5]] * 2] * 4),
    "products_of_bools": (lambda t: [t.addr(t.eye(2).bool(), t.ones(2).bool(), t.tensor([True, False]), beta=b, alpha=a).tolist() for b, a in ((1, 1), (0, 1), (2, 0), (False, 5))],
                          [[[True, False], [True, True]], [[True, False]] * 2, [[True, False], [False, True]], [[True, False]] * 2]),
    "sum_of_products_takes_its_shape": (lambda t: t.ones(1).addbmm_(t.ones(1, 2, 2), t.ones(1, 2, 2)), [[3.0, 3.0]] * 2),
    "indices_of_nothing": (lambda t: [t.gather(t.ones(2), 0, t.empty(0, dtype=t.uint8)).tolist(), t.ones(2).scatter(0, t.empty(0), 1.0).tolist()], [[], [1.0, 1.0]]),
    "nothing_normalised": (lambda t: [list(t.nn.functional.batch_norm(t.ones(0), s, s, training=a).shape) for a, s in ((True, None), (False, t.ones(0)))], [[0]] * 2),
    "integers_in_halves": (lambda t: [t.arange(0.7, 5, 1.5, dtype=d).tolist() for d in (t.int64, t.int32, t.uint8)] + [t.arange(0, 5, 1.5, out=t.empty(0, dtype=t.int64)).tolist()],
                           [[0, 1, 2, 3, 4], [0, 1, 2], [0, 1, 2], [0, 1, 2, 3, 4]]),
    "weighted_covariance": (lambda t: t.cov(t.tensor([[1, 2j, 3], [1j, 5, 2]]), aweights=t.tensor([0.5, 1.0, 2.0])).real.flatten(), pytest.approx([4.6428571, -2.5, -2.5, 5.1428571])),
    "ties_for_the_median": (lambda t: _gradient(t, lambda x: x.median(), 3.0, 1.0, 3.0, 5.0, 0.0, 3.0, 9.0), [1 / 3, 0, 1 / 3, 0, 0, 1 / 3, 0]),
    "angle_of_the_origin": (lambda t: _gradient(t, lambda x: t.atan2(x, x), 0.0, 2.0), [0.0, 0.0]),
    "power_0_bends_nowhere": (lambda t: _gradient(t, lambda x: x ** 0 + x ** 2, 0.0, 2.0, order=2), [2.0, 2.0]),
    "margins_just_kept": (lambda t: _gradient(t, lambda x: t.nn.functional.multi_margin_loss(x, t.tensor(1)), 0.5, 1.5, 1.0)
                          + _gradient(t, lambda x: t.nn.functional.multilabel_margin_loss(x, t.tensor([1, -1, -1])), 0.5, 1.5, 1.0), pytest.approx([0, -2 / 3, 2 / 3])),
    "sums_of_bools_with_a_factor": (lambda t: [[f(t.tensor([True, False]), t.tensor([True, True]), alpha=a).tolist() for f in (t.add, t.Tensor.add_)] for a in (2, 0, False)],
                                    [[[True, True]] * 2, [[True, False]] * 2, [[True, False]] * 2]),
    "integers_from_nan_in_memory": (lambda t: [list(t.nan_to_num(t.arange(9).to(d).as_strided((2, 2, 2), (1, 2, 2))).stride()) for d in (t.int64, t.bool)], [[1, 4, 2]] * 2),
    "orders_of_what_is_cast": (lambda t: [list(f(t.tensor([True, False]).expand(2, 2), t.ones(2, 2).to(d).t()).stride()) for f, d in
                                          ((t.copysign, t.bool), (t.add, t.int64), (t.logical_and, t.uint8), (t.eq, t.float32), (t.eq, t.bool))], [[2, 1]] * 4 + [[1, 2]]),
    "softsign_of_complex": (lambda t: (lambda x: t.autograd.grad(t.nn.functional.softsign(x), x, t.ones_like(x) * (1 + 1j))[0])(
        t.tensor([1 + 2j, 0j, -3j], dtype=t.complex128, requires_grad=True)), pytest.approx([0.18090170 + 0.05278640j, 1 + 1j, 0.25 + 0.0625j], abs=1e-6)),
    "hardtanh_of_bytes": (lambda t: t.nn.functional.hardtanh(t.tensor([0, 1, 9], dtype=t.uint8), 1, 5), [1, 1, 5]),
    "softmax_into": (lambda t: [f(t.tensor([[0.0, 0.0]]), 1, out=t.empty(0)).tolist() for f in (t.softmax, t.log_softmax, t.logsumexp)],
                     [[[0.5, 0.5]], [pytest.approx([-0.693147] * 2)], pytest.approx([0.693147])]),
    "half_a_number_with_a_doubles_sign": (lambda t: t.ones(3, dtype=t.float16).copysign_(t.tensor([-1e300, -0.0, 1.0], dtype=t.float64)), [-1.0, -1.0, 1.0]),
    "hardswish_at_its_corners": (lambda t: _gradient(t, t.nn.functional.hardswish, -3.0, 3.0), [0.0, 1.0]),
    "arange_of_numpy_numbers": (lambda t: [t.arange(np.int64(3)).dtype == t.int64, t.arange(np.float32(3)).dtype == t.float32], [True, True]),
    "fills_that_fit": (lambda t: t.full((2,), -1, dtype=t.uint8), [255, 255]),
    "infinite_half": (lambda t: t.full((1,), INF, dtype=t.float16), [INF]),
    "half_too_large_where_it_is_written": (lambda t: [_too_large(t, index) for index in (0, ..., slice(1), [1], t.tensor([True, False]))],
                                           [[-INF, 0.0], [-INF, -INF], [-INF, 0.0], [0.0, -INF], [-INF, 0.0]]),
    "largest_half": (lambda t: t.zeros(1, dtype=t.float16).fill_(65504.0), [65504.0]),
    "truth_of_masks": (lambda t: [t.tensor([1, 0], dtype=t.uint8).all().dtype == t.uint8, t.tensor([1, 0]).any().dtype == t.bool], [True, True]),
    "complex_l1": (lambda t: t.nn.functional.l1_loss(t.tensor([3 + 4j]), t.tensor([0j])), 5.0),
    "kl_of_no_target": (lambda t: t.nn.functional.kl_div(t.tensor([-1.0, 0.0]), t.tensor([0.0, 1.0]), reduction="sum"), 0.0),
    "cosine_broadcast": (lambda t: t.nn.functional.cosine_similarity(t.ones(2, 3), t.ones(3, dtype=t.int64)), [1.0, 1.0]),
    "cosine_of_a_row_of_one": (lambda t: t.nn.functional.cosine_similarity(t.tensor([[1.0], [-2.0]]), t.tensor([[1.0, 1.0], [3.0, 4.0]]), dim=-1),
                               pytest.approx([1.0, -7 / 50 ** 0.5])),
    "length_beside_nan": (lambda t: t.hypot(t.tensor([NAN, INF, -INF, NAN, 3.0]), t.tensor([INF, NAN, NAN, 3.0, NAN])), pytest.approx([INF, INF, INF, NAN, NAN], nan_ok=True)),
    "length_of_nan_and_zero": (lambda t: t.hypot(t.tensor([NAN, 0.0, -0.0]), t.tensor([0.0, NAN, 0.0])), pytest.approx([NAN, NAN, 0.0], nan_ok=True)),
    "gradient_beside_a_gamma_exponent": (lambda t: (lambda a, x: t.autograd.grad(t.igamma(a, x).sum(), x)[0])(
        t.tensor([2.0], requires_grad=True), t.tensor([1.0], requires_grad=True)), pytest.approx([0.36787944])),
    "cdf_of_a_gamma_that_is_learned": (lambda t: t.distributions.Gamma(t.tensor([1.0], requires_grad=True), 2.0).cdf(t.tensor([0.5])).detach(),
                                       pytest.approx([0.63212056])),
    "decimals_of_half": (lambda t: t.round(t.tensor([1.2345, 123.456, 60000.0], dtype=t.float16), decimals=3), [1.234375, 123.4375, 60000.0]),
    "filled_at_equal_indices": (lambda t: _grad_of(t, lambda v: t.zeros(4).index_fill(0, t.tensor([1, 1, 2]), v.sum()).sum().backward()), [2.0, 2.0]),
    "histogram_of_a_constant": (lambda t: [part.tolist() for part in t.histogram(t.ones(5), 4)], [[0.0, 0.0, 5.0, 0.0], [0.5, 0.75, 1.0, 1.25, 1.5]]),
    "histogram_of_no_width": (lambda t: [part.tolist() for part in t.histogram(t.tensor([1.0, 1.0, 4.0]), 2, range=(1.0, 1.0))], [[0.0, 2.0], [0.5, 1.0, 1.5]]),
    "no_differences": (lambda t: t.diff(t.tensor([1.0, 3.0]), 0, prepend=t.ones(2), append=t.ones(1)), [1.0, 3.0]),
    "slopes_of_no_spacing": (lambda t: t.gradient(t.tensor([1.0, 2.0, 4.0, 8.0]), spacing=None)[0], [1.0, 1.5, 3.0, 4.0]),
    "scattered_to_a_wider_mask": (lambda t: t.zeros(2).masked_scatter(t.tensor([[True, False], [True, True]]), t.tensor([1.0, 2.0, 3.0])), [[1.0, 0.0], [2.0, 3.0]]),
    "signal_of_a_whole_spectrum": (lambda t: t.istft(t.complex(t.arange(12.0).reshape(4, 3), t.arange(12.0).reshape(4, 3) % 5), 4, hop_length=1, window=t.ones(4)), [0.5, -0.5]),
    "margin_of_one_class": (lambda t: t.nn.functional.multi_margin_loss(t.tensor(0.5), t.tensor(0)), 0.0),
    "hinge_of_no_sign": (lambda t: t.nn.functional.hinge_embedding_loss(t.tensor([0.25, -2.0, 3.0]), t.tensor([0.0, 0.0, -1.0]), reduction="none"), [1.0, 1.0, 0.0]),
    "gradient_of_eigenvectors": (lambda t: _symmetric(_grad_in(t, lambda x: t.linalg.eigh(x)[1].abs() * t.arange(9.0).reshape(3, 3), [[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])), True),
    "powers_of_a_number": (lambda t: t.linalg.vander(t.tensor(2.0), N=3), [[1.0, 2.0, 4.0]]),
    "degrees_between": (lambda t: [f(t.tensor([0.5]), t.tensor([0.5])).item() for f in (t.special.chebyshev_polynomial_v, t.special.chebyshev_polynomial_w)], [1.0, 1.0]),
    "least_squares_by_driver": (lambda t: [[list(part.shape) for part in t.linalg.lstsq(t.eye(3, 2), t.ones(3, 1), driver=d)] for d in (None, "gels", "gelss")],
                                [[[2, 1], [0], [], [0]], [[2, 1], [1], [0], [0]], [[2, 1], [1], [], [2]]]),
    "pooled_at_random_from_nothing": (lambda t: list(t.nn.functional.fractional_max_pool2d(t.zeros(0, 2, 6, 6), 2, output_size=3).shape), [0, 2, 3, 3]),
    "bins_of_a_constant": (lambda t: t.histc(t.ones(5), 4), [0.0, 0.0, 5.0, 0.0]),
    "integers_held": (lambda t: t.nn.functional.relu6(t.tensor([-3, 0, 50])), [0, 0, 6]),
    "gamma_of_0": (lambda t: [t.igamma(t.tensor([0.0]), t.tensor([1.0])).item(), t.igammac(t.tensor([0.0]), t.tensor([1.0])).item()], [1.0, 0.0]),
    "zeta_at_1": (lambda t: t.special.zeta(t.tensor([1.0]), t.tensor([1.0])), [INF]),
    "nuclear": (lambda t: t.eye(3).norm("nuc"), 3.0),
    "random_fill_forgets": (_refilled, [0.0, 0.0, 1.0, 1.0]),
    "seed_of_64_bits": (lambda t: t.Generator().manual_seed(-1).initial_seed(), 2 ** 64 - 1),
    "clone_state": (lambda t: bool(t.equal(*[t.rand(2, generator=g) for g in _pair(t)])), True),
    "layout": (lambda t: [t.ones(2).layout == t.strided, isinstance(t.ones(2).layout, t.layout), str(t.ones(2).layout)], [True, True, "torch.strided"]),
    "gradient_in_a_list": (lambda t: _grad_of(t, lambda x: (x * 2).backward([t.ones(2)])), [2.0, 2.0]),
    "name_of_a_function": (lambda t: type(type("Twice", (t.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(lambda ctx, g: g * 2)}).apply(t.ones(1, requires_grad=True)).grad_fn).__name__, "TwiceBackward"),
    "written_after_saving": (lambda t: _mutated(t), [-2.4783499, -2.4783499]),
    "histogramdd": (lambda t: t.histogramdd(t.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]]), 2, range=[0.0, 2.0, 0.0, 1.0], weight=t.tensor([1.0, 2.0, 4.0, 8.0])).hist, [[0.0, 1.0], [6.0, 0.0]]),
    "histogramdd_by_edges": (lambda t: t.histogramdd(t.tensor([[0.5, 0.5], [1.5, 0.5], [9.0, 0.5]]), [t.tensor([0.0, 1.0, 3.0]), t.tensor([0.0, 2.0])], density=True).hist, [[0.25], [0.125]]),
    "gradient": (lambda t: t.gradient(t.tensor([1.0, 2.0, 4.0, 8.0]), spacing=(t.tensor([0.0, 0.5, 2.0, 2.5]),), edge_order=2)[0], [2.1666667, 1.8333334, 6.3333335, 9.666667]),
    "gradient_of_integers": (lambda t: t.gradient(t.tensor([1, 2, 4, 8]), spacing=2)[0], [0.5, 0.75, 1.5, 2.0]),
    "in_place": (lambda t: [t.tensor([NAN, 1.0]).nan_to_num_(3.0).tolist(), t.nn.functional.leaky_relu_(t.tensor([-1.0, 1.0]), 0.5).tolist()], [[3.0, 1.0], [-0.5, 1.0]]),
    "slope_of_no_deviation": (lambda t: _grad_of(t, lambda x: (x * 2).std().backward()), [0.0, 0.0]),
    "cov_of_one": (lambda t: [list(t.cov(t.tensor([[1.0, 2.0, 4.0]])).shape), list(t.corrcoef(t.tensor([[1.0, 2.0, 4.0]])).shape)], [[], []]),
    "sums_in_the_dtype_of_out": (lambda t: [t.sum(t.tensor([1.5, 1.5]), 0, out=t.empty((), dtype=t.int32)).item(), t.mean(t.tensor([1.0, 1.001], dtype=t.float16), 0, out=t.empty(())).item(),
                                            t.prod(t.tensor([300.0, 300.0], dtype=t.float16), 0, out=t.empty(())).item()], [2, 1.00048828125, 90000.0]),
    "frequencies": (lambda t: [t.fft.fftfreq(0).tolist(), t.fft.rfftfreq(5, out=t.empty(0, dtype=t.float64)).tolist()], [[], [0.0, 0.2, 0.4]]),
    "power_0_of_infinity": (lambda t: t.matrix_power(t.tensor([[1.0, INF], [2.0, NAN]]), 0), [[1.0, 0.0], [0.0, 1.0]]),
    "quotients_rounded_down": (lambda t: t.tensor([1.0, 1.0, -1.0, 6.0, 5.0, 0.0, -7.0, INF, 1.0], dtype=t.float64) // t.tensor([0.1, -INF, INF, 0.1, 0.2, 3.0, 2.0, 2.0, 0.0], dtype=t.float64),
                               pytest.approx([9.0, -1.0, -1.0, 59.0, 24.0, 0.0, -4.0, NAN, INF], nan_ok=True)),
    "times_an_array": (lambda t: [type(t.ones(2, 2) @ np.ones(2)) is t.Tensor, (t.ones(2, 2) @ np.ones(2)).dtype == t.float64, t.ones(2, 2).__matmul__(3) is NotImplemented], [True, True, True]),
    "one_element_for_all": (lambda t: t.tensordot(t.ones(2, 3), t.full((1, 2), 2.0), 1), [[6.0, 6.0], [6.0, 6.0]]),
    "nothing_to_broadcast": (lambda t: [(lambda x: t.broadcast_tensors(x, x)[0] is x or t.broadcast_tensors(x, x)[0].is_leaf)(t.ones(2, requires_grad=True))], [True]),
    "set_submodule": (lambda t: str(_with_submodule(t)), "Sequential(\n  (0): ReLU()\n)"),
}


def _mutated(t):
    x = t.ones(2, requires_grad=True)
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.exp()
        z = y.sin().sum()
        y.mul_(0)
        z.backward()
    return x.grad


def _pair(t):
    stream = t.Generator().manual_seed(3)
    t.rand(5, generator=stream)
    return stream, stream.clone_state()


def _nested(context):
    with context(), context():
        pass


def _grad_of(t, backward):
    x = t.ones(2, requires_grad=True)
    backward(x)
    return x.grad


def _too_large(t, index):
    x = t.zeros(2, dtype=t.float16)
    x[index] = -1e9
    return x.tolist()


def _with_submodule(t):
    module = t.nn.Sequential(t.nn.Identity())
    module.set_submodule("0", t.nn.ReLU())
    return module


ERRORS = {
    "gradients_for_a_module_without_any": (lambda t: (lambda m: (m.register_full_backward_hook(lambda m, inputs, outputs: (t.ones(1, 1),)), m(t.ones(1, 1)).sum().backward()))(t.nn.Linear(1, 1)),
                                           RuntimeError, "no input requires gradient should always return None"),
    "batch_size_of_a_loader_that_is_made": (lambda t: setattr(t.utils.data.DataLoader([1, 2]), "batch_size", 2), ValueError, "batch_size attribute should not be set after DataLoader is initialized"),
    "start_method_of_workers": (lambda t: t.utils.data.DataLoader([1], num_workers=1, multiprocessing_context="nope"), ValueError, "should specify a valid start method in"),
    "logits_of_integers_in_place": (lambda t: t.tensor([3, 4]).logit_(), RuntimeError, "result type Float can't be cast to the desired output type Long"),
    "largest_of_nothing": (lambda t: t.linalg.norm(t.ones(0), INF), RuntimeError, "linalg.vector_norm cannot compute the inf norm on"),
    "largest_over_nothing": (lambda t: t.linalg.vector_norm(t.ones(0, 3), -1, 0), RuntimeError, "linalg.vector_norm cannot compute"),
    "magnitudes_in_place": (lambda t: t.ones(2, dtype=t.complex64).abs_(), RuntimeError, "In-place abs is not supported for complex tensors"),
    "double_power_in_place": (lambda t: t.ones(2).float_power_(2), RuntimeError, "but the operation's result requires"),
    "fraction_of_an_integer_product": (lambda t: t.addr(I(t), I(t)[0], I(t)[0], beta=0.5), RuntimeError, "argument beta must not be a floating point number"),
    "gathered_into_the_index": (lambda t: (lambda i: t.gather(i, 0, i, out=i))(t.zeros(2, dtype=t.int64)), RuntimeError, "refer to a single memory location"),
    "joined_into_a_part": (lambda t: (lambda x: t.cat([x[:2], x[2:]], out=x))(t.ones(4)), RuntimeError, "refer to a single memory location"),
    "selected_into_another_dtype": (lambda t: t.index_select(t.ones(2), 0, t.tensor([0]), out=t.ones(1).double()), RuntimeError, ""),
    "complex_of_another_precision": (lambda t: t.complex(t.ones(2), t.ones(2), out=t.ones(2, dtype=t.complex128)), RuntimeError, "Expected object of scalar type ComplexFloat but got"),
    "dimensions_beyond_64": (lambda t: t.ones([1] * 65).sum(0), RuntimeError, "only tensors with up to 64 dims are supported"),
    "share_of_a_number": (lambda t: t.igamma(t.ones(2), 2), TypeError, "argument 'other' (position 2) must be Tensor, not int"),
    "narrow_from_a_truth": (lambda t: t.ones(3).narrow(0, t.tensor(True), 1), RuntimeError, "start must be an 0-dim integral Tensor."),
    "narrow_copy_of_no_dimension": (lambda t: t.ones(3).narrow_copy(1, 0, 1), RuntimeError, ""),
    "regions_of_too_little": (lambda t: t.nn.functional.adaptive_avg_pool2d(t.ones(2, 2), (1, 1)), ValueError, "Input dimension should be at least 3"),
    "maxima_without_channels": (lambda t: t.nn.functional.max_pool2d(t.ones(2, 0, 4, 4), 1), RuntimeError, ""),
    "means_without_channels": (lambda t: t.nn.functional.avg_pool3d(t.ones(0, 4, 4, 4), 1), RuntimeError, ""),
    "margin_of_a_weight": (lambda t: t.nn.functional.multi_margin_loss(t.ones(2, 3), t.tensor([0, 1]), weight=t.ones(1, 3)), ValueError, "weight must be one-dimensional"),
    "step_of_a_fraction": (lambda t: t.arange(0, 5, 0.5, out=t.empty(0, dtype=t.int64)), ValueError, "step must be nonzero"),
    "number_with_a_sign": (lambda t: t.copysign(2, t.ones(2)), TypeError, "copysign"),
    "reflected_without_a_tensor": (lambda t: t.Tensor.__radd__(2, t.ones(2)), TypeError, "doesn't apply to a 'int' object"),
    "logarithms_of_one_value": (lambda t: t.ones(2).log_normal_(0, 0), RuntimeError, "expects std > 0.0"),
    "imaginary_where_it_holds": (lambda t: t.ones(2).masked_fill(t.ones(2).bool(), t.tensor(1j)), RuntimeError, "cannot be converted to type float without overflow"),
    "infinite_where_it_holds": (lambda t: t.ones(2).long().masked_fill_(t.ones(2).bool(), INF), RuntimeError, "without overflow"),
    "kept_as_a_number": (lambda t: t.ones(2, 3, 4).amax(2, keepdim=1.0), TypeError, "argument 'keepdim' must be bool, not float"),
    "cross_of_two_ranks": (lambda t: t.linalg.cross(t.eye(3), t.ones(3)), RuntimeError, "same number of dimensions"),
    "split_of_a_number": (lambda t: t.tensor(1.0).split(1), RuntimeError, "split expects at least a 1-dimensional tensor"),
    "fraction_of_a_mask": (lambda t: t.ones(2, dtype=t.bool).add_(t.ones(2, dtype=t.bool), alpha=0.5), RuntimeError, "alpha must not be a floating point number"),
    "truth_as_a_factor": (lambda t: t.ones(2).add(t.ones(2), alpha=False), RuntimeError, "Boolean alpha only supported for Boolean results"),
    "negative_bytes": (lambda t: t.nn.functional.hardtanh(t.ones(2, dtype=t.uint8)), RuntimeError, "cannot do hardtanh on an unsigned type with negative limits"),
    "bound_beyond_a_byte": (lambda t: t.nn.functional.hardtanh(t.ones(2, dtype=t.int8), 0, 300), RuntimeError, "without overflow"),
    "complex_sum_of_no_nan": (lambda t: t.ones(2, dtype=t.complex64).nansum(), RuntimeError, "support complex inputs"),
    "softmax_into_another_dtype": (lambda t: t.softmax(t.ones(2), 0, out=t.empty(2, dtype=t.float64)), RuntimeError, "Expected out tensor to have dtype float"),
    "fractional_padding": (lambda t: t.nn.functional.embedding(t.tensor([0]), t.ones(3, 2), padding_idx=1.5), TypeError, "padding_idx"),
    "fractional_padding_of_a_bag": (lambda t: t.nn.functional.embedding_bag(t.tensor([[0]]), t.ones(3, 2), padding_idx=1.5), TypeError, "padding_idx"),
    "gradient_of_distinct_values": (lambda t: t.unique(t.ones(2, requires_grad=True)).sum().backward(), NotImplementedError, "the derivative for '_unique2' is not implemented"),
    "gradient_of_distinct_rows": (lambda t: t.unique(t.ones(2, 1, requires_grad=True), dim=0, return_counts=True)[0].sum().backward(), NotImplementedError, "the derivative for 'unique_dim'"),
    "gradient_of_runs": (lambda t: t.unique_consecutive(t.ones(2, requires_grad=True)).sum().backward(), NotImplementedError, "the derivative for 'unique_consecutive'"),
    "gradient_of_a_histogram": (lambda t: t.histogram(t.ones(2, requires_grad=True), 3).hist.sum().backward(), RuntimeError, ""),
    "gamma_of_integers": (lambda t: t.igamma(t.tensor([1]), t.tensor([2])), NotImplementedError, "igamma"),
    "permutation_beyond_a_byte": (lambda t: t.randperm(300, dtype=t.uint8), RuntimeError, ""),
    "permutation_beyond_a_half": (lambda t: t.randperm(2050, dtype=t.float16), RuntimeError, ""),
    "permutation_of_bools": (lambda t: t.randperm(2, dtype=t.bool), NotImplementedError, '"randperm" not implemented for'),
    "bools_beyond_1": (lambda t: t.randint(0, 3, (2,), dtype=t.bool), RuntimeError, "out of bounds for bool"),
    "frequencies_as_integers": (lambda t: t.fft.fftfreq(4, dtype=t.int64), RuntimeError, "fftfreq requires a floating point or complex dtype"),
    "points_of_no_number": (lambda t: t.fft.fft(t.ones(4), -1), RuntimeError, "Invalid number of data points (-1) specified"),
    "complex_integers": (lambda t: t.randint(0, 3, (2,), dtype=t.complex64), RuntimeError, "integ"),
    "too_large_for_uint8": (lambda t: t.zeros(2, dtype=t.uint8).fill_(300), RuntimeError, "without overflow"),
    "full_too_small": (lambda t: t.full((2,), -129, dtype=t.int8), RuntimeError, "without overflow"),
    "full_infinite": (lambda t: t.full((2,), INF, dtype=t.int64), RuntimeError, "without overflow"),
    "too_large_for_half": (lambda t: t.zeros(2, dtype=t.float16).fill_(1e6), RuntimeError, "without overflow"),
    "index_too_large": (lambda t: t.zeros(2, dtype=t.uint8).__setitem__(0, 300), RuntimeError, "without overflow"),
    "numbers_too_large": (lambda t: t.tensor([1, 300], dtype=t.uint8), RuntimeError, "value cannot be converted to type uint8"),
    "fraction_of_integers": (lambda t: t.ones(2, dtype=t.int64).add(1, alpha=1.5), RuntimeError, "argument alpha must not be a floating point number"),
    "inverted_floats": (lambda t: ~t.ones(2), TypeError, "only implemented on integer and Boolean-type tensors"),
    "imaginary": (lambda t: t.zeros(2).fill_(1j), RuntimeError, "value cannot be converted to type float without overflow"),
    "minus_bool": (lambda t: t.ones(2) - t.ones(2, dtype=t.bool), RuntimeError, "Subtraction, the `-` operator, with a bool tensor"),
    "bool_from_one": (lambda t: 1 - t.ones(2, dtype=t.bool), RuntimeError, "with a bool tensor is not supported"),
    "amax_of_nothing": (lambda t: t.empty(0).amax(), RuntimeError, "Expected reduction dim to be specified"),
    "amax_over_nothing": (lambda t: t.empty(0, 3).amax(0), IndexError, "Expected reduction dim 0 to have non-zero size"),
    "nanmean_of_integers": (lambda t: t.tensor([1]).nanmean(), RuntimeError, "floating point or complex dtype"),
    "fliplr": (lambda t: t.ones(2).fliplr(), RuntimeError, "Input must be >= 2-d."),
    "rot90": (lambda t: t.ones(2).rot90(), RuntimeError, "expected total dims >= 2, but got total dims = 1"),
    "allclose_of_two_dtypes": (lambda t: t.allclose(t.ones(2), t.ones(2).double()), RuntimeError, "Float did not match Double"),
    "points_of_one_number": (lambda t: t.histogramdd(t.ones(3), 2), RuntimeError, "at least 2 dimensions"),
    "bins_of_too_few": (lambda t: t.histogramdd(t.ones(3, 2), [2]), RuntimeError, "The size of bins must be equal to the innermost dimension of the input"),
    "mutation_nested": (lambda t: _nested(t.autograd.graph.allow_mutation_on_saved_tensors), RuntimeError, "contexts cannot be nested"),
    "state_of_floats": (lambda t: t.Generator().set_state(t.ones(16)), TypeError, "RNG state must be a torch.ByteTensor"),
    "no_generator": (lambda t: t.rand(2, generator=5), TypeError, ""),
    "integer_data": (lambda t: setattr(t.ones(2, requires_grad=True), "data", t.ones(2).long()), RuntimeError, "data set to a tensor that requires gradients must be floating point or complex dtype"),
    "slopes_of_one": (lambda t: t.gradient(t.ones(1)), RuntimeError, "each dimension size to be at least edge_order+1"),
    "array_times_a_tensor": (lambda t: np.ones((2, 2)) @ t.ones(2, 2), TypeError, "unsupported operand type(s) for @: 'numpy.ndarray' and 'Tensor'"),
    "gradient_times_an_array": (lambda t: t.ones(2, 2, requires_grad=True) @ np.ones(2), RuntimeError, "Can't call numpy() on Tensor that requires grad"),
    "solve_for_a_number": (lambda t: t.linalg.solve(t.eye(2), t.tensor(1.0)), RuntimeError, "The input tensor B must have at least 2 dimensions"),
    "cholesky_of_nan": (lambda t: t.linalg.cholesky(t.tensor([[1.0, NAN], [NAN, 1.0]])), RuntimeError, "not positive-definite"),
    "odds_of_nan": (lambda t: t.nn.functional.binary_cross_entropy(t.tensor([NAN]), t.ones(1)), RuntimeError, "all elements of input should be between 0 and 1"),
    "leaf_onto_itself": (lambda t: (lambda x: x.copy_(x))(t.ones(2, requires_grad=True)), RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation"),
    "roll_of_a_number": (lambda t: t.tensor(1.0).roll(1, 0), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    "put_of_two": (lambda t: t.ones(3).put_(t.tensor([0]), t.ones(2)), IndexError, "Expected source and index to have the same number of elements"),
    "copied_slice_of_another_rank": (lambda t: t.ones(3, 2).index_copy_(0, t.tensor([0]), t.ones(2)), IndexError, "their dimensionality must match"),
    "gain": (lambda t: t.nn.init.calculate_gain("leaky_relu", "a"), ValueError, "negative_slope a not a valid number"),
    "assigned": (lambda t: setattr(t.nn.Linear(1, 1), "weight", t.ones(1, 1)), TypeError, "cannot assign 'torch.FloatTensor' as parameter 'weight'"),
}

WARNINGS = {
    "mask_of_bytes": (lambda t: t.ones(2)[t.tensor([0, 1], dtype=t.uint8)], "indexing with dtype torch.uint8 is now deprecated"),
    "condition_of_bytes": (lambda t: t.where(t.tensor([0, 1, 1], dtype=t.uint8), t.ones(3), 2.0), "received a uint8 condition tensor"),
    "graph_of_gradients": (lambda t: (t.ones(1, requires_grad=True) ** 2).sum().backward(create_graph=True), "reference cycle"),
    "anomaly": (lambda t: t.autograd.detect_anomaly(), "Anomaly Detection has been enabled"),
    "older_init": (lambda t: t.nn.init.uniform(t.empty(2)), "deprecated in favor of"),
    "upsample": (lambda t: t.nn.functional.upsample(t.ones(1, 1, 2, 2), scale_factor=2), "deprecated"),
    "nothing_to_fill": (lambda t: t.nn.init.kaiming_uniform_(t.empty(0, 2)), "zero-element"),
    "schedule_first": (lambda t: t.optim.lr_scheduler.StepLR(t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=1.0), 1).step(), "before `optimizer.step()`"),
}


def plain(value):
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", VALUES)
def test_gives(name, t):
    function, expected = VALUES[name]
    found = plain(function(t))
    nested = isinstance(expected, list) and isinstance(expected[0], (list, str, bool))
    assert found == (expected if nested or isinstance(expected, str) else pytest.approx(expected))


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", ERRORS)
def test_refuses(name, t):
    function, error, words = ERRORS[name]
    with pytest.raises(error) as caught:
        function(t)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", WARNINGS)
def test_warns(name):
    function, words = WARNINGS[name]
    for t in BOTH:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(t)
        if t is numtorch:                                # PyTorch's C++ warns once a process
            assert any(words in str(w.message) for w in caught)


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
def test_hooks_around_an_optimisers_state(t):
    """Those before and after `state_dict` and `load_state_dict`, in the order they were put."""
    log = []
    optimiser = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.5)
    optimiser.register_state_dict_pre_hook(lambda o: log.append("saving"))
    optimiser.register_state_dict_post_hook(lambda o, s: log.append("second"))
    optimiser.register_state_dict_post_hook(lambda o, s: {**s, "more": 1}, prepend=True)
    optimiser.register_load_state_dict_pre_hook(lambda o, s: {k: v for k, v in s.items() if k != "more"})
    optimiser.register_load_state_dict_post_hook(lambda o: log.append("loaded"))
    state = optimiser.state_dict()
    assert state["more"] == 1
    optimiser.load_state_dict(state)
    assert log == ["saving", "second", "loaded"]
