"""Rows of differentiable functions: each a function of tensors, and the shapes of those that have gradients.

`autograd/test_every_gradient.py` compares their derivatives with finite differences; traces, other devices, other memory orders and
other kinds of tensors are tried on the same rows.
"""
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F

INDEX = torch.tensor([2, 0, 1])
PLACES = torch.tensor([[0, 2, 1], [1, 0, 2]])
MASK = torch.tensor([[True, False, True], [False, True, True]])
CLASSES = torch.tensor([2, 0])
PAD_MODES = ("reflect", "replicate", "circular")
EYE = torch.eye(3, dtype=torch.float64) * 3
HALF = torch.full((1, 2, 2), 0.5, dtype=torch.float64)
SIGNS = torch.tensor([1.0, -1.0], dtype=torch.float64)


def values(shape, seed):
    """Numbers between 0.3 and 1.7, none within 1e-3 of another, so that no order changes under a small step."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    return (0.3 + 1.4 * (rng.permutation(count) + 0.5) / max(count, 1) + 0.0137 * seed).reshape(shape)


def row(function, *shapes, twice=True):
    return function, shapes, twice


M, S, V = (2, 3), (3, 3), (3,)
IMAGE, FILTER = (1, 2, 5, 5), (2, 2, 3, 3)
a = torch                                                # so that a row fits a line


def _cell(name, gates):
    def run(x, h, w, u):
        state = (h, h * 0.5) if name == "lstm_cell" else h
        out = getattr(torch, name)(x, state, w, u)
        return out if isinstance(out, tuple) else (out,)
    return row(run, (2, 3), (2, 2), (gates * 2, 3), (gates * 2, 2))


def _layer(name, gates):
    def run(x, h, w, u, b, d):
        state = (h, h * 0.5) if name == "lstm" else h
        return getattr(torch, name)(x, state, [w, u, b, d], True, 1, 0.0, True, False, False)
    return row(run, (3, 2, 3), (1, 2, 2), (gates * 2, 3), (gates * 2, 2), (gates * 2,), (gates * 2,))


ROWS = {
    # reductions
    "sum": row(lambda x: x.sum(1), M), "mean": row(lambda x: x.mean((0, 1)), M), "prod": row(lambda x: x.prod(1), M),
    "amax": row(lambda x: x.amax(0), M), "amin": row(lambda x: x.amin(0), M), "aminmax": row(lambda x: a.aminmax(x, dim=1), M),
    "max": row(lambda x: (x.max(), x.max(1).values), M), "min": row(lambda x: (x.min(), x.min(1).values), M),
    "var": row(lambda x: x.var(1), M), "std": row(lambda x: x.std(0), M), "var_mean": row(lambda x: a.var_mean(x, 1), M),
    "std_mean": row(lambda x: a.std_mean(x, 1), M), "nansum": row(lambda x: x.nansum(1), M),
    "as_subclass": row(lambda x: x.as_subclass(torch.Tensor) * 2, M),
    "softsign": row(lambda x: F.softsign(x - 1.0), M),
    "nanmean": row(lambda x: x.nanmean(0), M), "median": row(lambda x: (x.median(), x.median(1).values), M),
    "nanmedian": row(lambda x: x.nanmedian(1).values, M), "mode": row(lambda x: x.mode(1).values, M),
    "kthvalue": row(lambda x: x.kthvalue(2, 1).values, M), "quantile": row(lambda x: a.quantile(x, 0.4, 1), M),
    "nanquantile": row(lambda x: a.nanquantile(x, 0.4, 1), M), "logsumexp": row(lambda x: x.logsumexp(1), M),
    "norm": row(lambda x: (x.norm(), x.norm(1, 0), x.norm(3, 1), x.norm(float("inf"), 1)), M),
    "dist": row(lambda x, y: a.dist(x, y, 3), M, M), "trace": row(lambda x: x.trace(), S), "cov": row(lambda x: a.cov(x), M),
    "corrcoef": row(lambda x: a.corrcoef(x), (2, 4)), "renorm": row(lambda x: a.renorm(x, 2, 0, 1.0), M),
    # scans and orders
    "cumsum": row(lambda x: x.cumsum(1), M), "cumprod": row(lambda x: x.cumprod(1), M), "cummax": row(lambda x: x.cummax(1)[0], M),
    "cummin": row(lambda x: x.cummin(1)[0], M), "logcumsumexp": row(lambda x: x.logcumsumexp(1), M),
    "gradient": row(lambda x: a.gradient(x, edge_order=2), (3, 4)),
    "diff": row(lambda x: x.diff(), M), "trapezoid": row(lambda x: a.trapezoid(x), M), "trapz": row(lambda x: a.trapz(x), M),
    "cumulative_trapezoid": row(lambda x: a.cumulative_trapezoid(x), M), "sort": row(lambda x: x.sort(1)[0], M),
    "msort": row(lambda x: a.msort(x), M), "topk": row(lambda x: x.topk(2, 1)[0], M),
    # products
    "mm": row(lambda x, y: (x.mm(y), x[:, :1].mm(y[:1])), M, S),
    "bmm": row(lambda x, y: (x.bmm(y), x[..., :1].bmm(y[:, :1])), (2, 2, 3), (2, 3, 2)),
    "matmul": row(lambda x, y: (x @ y, x[..., :1] @ y[:1]), (2, 2, 3), (3, 2)), "mv": row(lambda x, y: x.mv(y), M, V),
    "inner": row(lambda x, y: x.inner(y), M, S), "vdot": row(lambda x, y: x.vdot(y), V, V), "kron": row(lambda x, y: x.kron(y), M, V),
    "cross": row(lambda x, y: x.cross(y, 1), M, M), "vander": row(lambda x: a.vander(x, 3), V),
    "combinations": row(lambda x: a.combinations(x), V),
    "dot": row(lambda x, y: x.dot(y), V, V), "outer": row(lambda x, y: x.outer(y), V, (2,)),
    "ger": row(lambda x, y: a.ger(x, y), V, (2,)), "addmm": row(lambda c, x, y: a.addmm(c, x, y, beta=2, alpha=3), (2, 3), M, S),
    "addmv": row(lambda c, x, y: a.addmv(c, x, y, alpha=2), (2,), M, V),
    "addbmm": row(lambda c, x, y: a.addbmm(c, x, y), (2, 2), (2, 2, 3), (2, 3, 2)),
    "baddbmm": row(lambda c, x, y: a.baddbmm(c, x, y), (2, 2, 2), (2, 2, 3), (2, 3, 2)),
    "addr": row(lambda c, x, y: a.addr(c, x, y), M, (2,), V), "chain_matmul": row(lambda x, y: a.chain_matmul(x, y), M, S),
    "einsum": row(lambda x, y: a.einsum("ij,kj->ik", x, y), M, S), "tensordot": row(lambda x, y: a.tensordot(x, y, dims=1), M, S),
    "linear": row(lambda x, w, b: F.linear(x, w, b), M, (4, 3), (4,)),
    "bilinear": row(lambda x, y, w: F.bilinear(x, y, w), M, (2, 2), (2, 3, 2)),
    # matrices and spectra: more of them in test_linalg.py and test_fft.py
    "det": row(lambda x: (x.det(), (x * a.tensor([1.0, 1.0, 0.0])).det()), S), "slogdet": row(lambda x: x.slogdet()[1], S),
    "logdet": row(lambda x: (x @ x.mT).logdet(), S), "inverse": row(lambda x: (x.inverse(), a.linalg.solve(x, EYE)), S),
    "pinverse": row(lambda x: x.pinverse(), M), "qr": row(lambda x: x.qr(), S), "svd": row(lambda x: x.svd()[1], M),
    "orgqr": row(lambda x, t: a.orgqr(x, t), S, (2,)), "ormqr": row(lambda x, t, y: a.ormqr(x, t, y), S, V, (3, 2)),
    "lobpcg": row(lambda x: a.lobpcg(x @ x.mT, 1, X=a.ones(3, 1).double(), tol=1e-13)[0], S),
    "svd_lowrank": row(lambda x: a.svd_lowrank(x, 2)[1], M), "pca_lowrank": row(lambda x: a.pca_lowrank(x, 1)[1], M),
    "cholesky": row(lambda x: (x @ x.mT + EYE).cholesky(), S),
    "cholesky_inverse": row(lambda x: a.cholesky_inverse(x.tril() + EYE), S),
    "cholesky_solve": row(lambda x, y: a.cholesky_solve(y, x.tril() + EYE), S, (3, 2)),
    "triangular_solve": row(lambda x, y: a.triangular_solve(y, x + EYE)[0], S, (3, 2)),
    "gesv": row(lambda x, y: a.gesv(y, x + EYE)[0], S, (3, 2)), "solve": row(lambda x, y: a.solve(y, x + EYE)[0], S, (3, 2)),
    "gels": row(lambda x, y: a.gels(y, x)[0][:2], (3, 2), (3, 2)), "lstsq": row(lambda x, y: a.lstsq(y, x)[0][:2], (3, 2), (3, 2)),
    "symeig": row(lambda x: a.symeig(x + x.mT)[0], S), "eig": row(lambda x: a.eig(x + x.mT + 5 * EYE)[0], S),
    "potrf": row(lambda x: a.potrf(x @ x.mT + EYE), S), "potri": row(lambda x: a.potri(x.triu() + EYE), S),
    "potrs": row(lambda x, y: a.potrs(y, x.triu() + EYE), S, (3, 2)), "trtrs": row(lambda x, y: a.trtrs(y, x + EYE)[0], S, (3, 2)),
    "btrifact": row(lambda x: a.btrifact(x)[0], S), "btrisolve": row(lambda x, y: a.btrisolve(y, *a.btrifact(x)), S, (3, 2)),
    "btriunpack": row(lambda x: a.btriunpack(*a.btrifact(x))[1:], S),
    "lu": row(lambda x: x.lu()[0], S), "lu_unpack": row(lambda x: a.lu_unpack(*x.lu())[1:], (3, 4)),
    "lu_solve": row(lambda x, y: a.lu_solve(y, *x.lu()), S, (3, 2)),
    "matrix_power": row(lambda x: x.matrix_power(3), S), "matrix_exp": row(lambda x: x.matrix_exp(), S),
    "stft": row(lambda x: x.stft(4, 2, return_complex=False), (10,)),
    "istft": row(lambda x: a.istft(a.complex(x, x * 0.5), 4, 1), (3, 5)),
    "cdist": row(lambda x, y: a.cdist(x, y * 2, 3), M, S), "pdist": row(lambda x: a.pdist(x), S),
    "frexp": row(lambda x: x.frexp()[0], M), "igamma": row(lambda x: a.igamma(a.ones(2, 3).double() * 2, x), M),
    "igammac": row(lambda x: a.igammac(a.ones(2, 3).double() * 2, x), M), "mvlgamma": row(lambda x: a.mvlgamma(x + 2, 3), M),
    "narrow_copy": row(lambda x: x.narrow_copy(1, 1, 2), M), "rrelu": row(lambda x: F.rrelu(x - 1.01), M),
    "to_dense": row(lambda x: x.to_dense() * x, M), "resolve_neg": row(lambda x: x.resolve_neg() * x, M),
    "pin_memory": row(lambda x: x.pin_memory() * x, M),
    # convolution and windows
    "conv1d": row(lambda x, w: a.conv1d(x, w, stride=2), (1, 2, 6), (2, 2, 3)),
    "conv2d": row(lambda x, w, b: a.conv2d(x, w, b, padding=1), IMAGE, FILTER, (2,)),
    "conv3d": row(lambda x, w: a.conv3d(x, w), (1, 1, 3, 3, 3), (1, 1, 2, 2, 2)),
    "conv_tbc": row(lambda x, w, b: a.conv_tbc(x, w, b, 1), (4, 2, 3), (2, 3, 2), (2,)),
    "conv_transpose1d": row(lambda x, w: a.conv_transpose1d(x, w, stride=2), (1, 2, 4), (2, 1, 3)),
    "conv_transpose2d": row(lambda x, w: a.conv_transpose2d(x, w), (1, 2, 3, 3), (2, 1, 2, 2)),
    "conv_transpose3d": row(lambda x, w: a.conv_transpose3d(x, w), (1, 1, 2, 2, 2), (1, 1, 2, 2, 2)),
    "avg_pool1d": row(lambda x: a.avg_pool1d(x, 2), (1, 2, 5)), "avg_pool2d": row(lambda x: F.avg_pool2d(x, 2, padding=1), IMAGE),
    "avg_pool3d": row(lambda x: F.avg_pool3d(x, 2), (1, 1, 4, 2, 2)), "max_pool1d": row(lambda x: a.max_pool1d(x, 2), (1, 2, 5)),
    "max_pool2d": row(lambda x: a.max_pool2d(x, 2), IMAGE), "max_pool3d": row(lambda x: a.max_pool3d(x, 2), (1, 1, 4, 2, 2)),
    "lp_pool1d": row(lambda x: F.lp_pool1d(x, 2, 2), (1, 2, 4)), "lp_pool2d": row(lambda x: F.lp_pool2d(x, 2, 2), (1, 1, 4, 4)),
    "lp_pool3d": row(lambda x: F.lp_pool3d(x, 2, 2), (1, 1, 2, 2, 2)),
    "adaptive_avg_pool1d": row(lambda x: a.adaptive_avg_pool1d(x, 2), (1, 2, 5)),
    "adaptive_avg_pool2d": row(lambda x: F.adaptive_avg_pool2d(x, 2), IMAGE),
    "adaptive_avg_pool3d": row(lambda x: F.adaptive_avg_pool3d(x, 2), (1, 1, 3, 3, 3)),
    "adaptive_max_pool1d": row(lambda x: a.adaptive_max_pool1d(x, 2), (1, 2, 5)),
    "adaptive_max_pool2d": row(lambda x: F.adaptive_max_pool2d(x, 2), IMAGE),
    "adaptive_max_pool3d": row(lambda x: F.adaptive_max_pool3d(x, 2), (1, 1, 3, 3, 3)),
    "max_unpool1d": row(lambda x: F.max_unpool1d(x, torch.tensor([[[0, 3]]]), 2), (1, 1, 2)),
    "max_unpool2d": row(lambda x: F.max_unpool2d(x, torch.tensor([[[[0, 3], [9, 14]]]]), 2), (1, 1, 2, 2)),
    "max_unpool3d": row(lambda x: F.max_unpool3d(x, torch.tensor([[[[[3]]]]]), 2), (1, 1, 1, 1, 1)),
    "upsample": row(lambda x: F.upsample(x, scale_factor=2), IMAGE),
    "upsample_nearest": row(lambda x: F.upsample_nearest(x, size=3), IMAGE),
    "upsample_bilinear": row(lambda x: F.upsample_bilinear(x, scale_factor=2), IMAGE),
    "max_pool1d_with_indices": row(lambda x: F.max_pool1d_with_indices(x, 2)[0], (1, 2, 5)),
    "max_pool2d_with_indices": row(lambda x: F.max_pool2d_with_indices(x, 2)[0], IMAGE),
    "max_pool3d_with_indices": row(lambda x: F.max_pool3d_with_indices(x, 2)[0], (1, 1, 4, 2, 2)),
    "adaptive_max_pool1d_with_indices": row(lambda x: F.adaptive_max_pool1d_with_indices(x, 2)[0], (1, 2, 5)),
    "adaptive_max_pool2d_with_indices": row(lambda x: F.adaptive_max_pool2d_with_indices(x, 2)[0], IMAGE),
    "adaptive_max_pool3d_with_indices": row(lambda x: F.adaptive_max_pool3d_with_indices(x, 2)[0], (1, 1, 3, 3, 3)),
    "fractional_max_pool2d_with_indices": row(lambda x: F.fractional_max_pool2d_with_indices(x, 2, 3, _random_samples=HALF)[0], IMAGE),
    "fractional_max_pool3d_with_indices": row(lambda x: F.fractional_max_pool3d_with_indices(x, 1, 2, _random_samples=HALF[:, :1, [0, 0, 0]])[0], (1, 1, 3, 3, 3)),
    "unfold": row(lambda x: (x.unfold(1, 2, 1), F.unfold(x[None, None], 2)), S),
    "fold": row(lambda x: F.fold(x, (3, 3), 2), (1, 4, 4)),
    "interpolate": row(lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(3, 7), mode="bilinear")), IMAGE),
    "grid_sample": row(lambda x, g: F.grid_sample(x, g * 0.5 - 0.4, align_corners=False), (1, 2, 4, 4), (1, 2, 2, 2)),
    "affine_grid": row(lambda x: F.affine_grid(x, (1, 1, 3, 3), align_corners=False), (1, 2, 3)),
    "pixel_shuffle": row(lambda x: a.pixel_shuffle(x, 2), (1, 4, 2, 2)),
    "pixel_unshuffle": row(lambda x: a.pixel_unshuffle(x, 2), (1, 1, 4, 4)),
    "channel_shuffle": row(lambda x: a.channel_shuffle(x, 2), (1, 4, 1, 2)),
    # softmax, norms, attention, losses
    "sparse_coo_tensor": row(lambda v, m: a.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], v, (2, 3)) @ m, V, S),
    "sparse_csr_tensor": row(lambda v, m: a.sparse_csr_tensor([0, 1, 3], [2, 0, 1], v, (2, 3)) @ m, V, S),
    "sparse_csc_tensor": row(lambda v, m: a.spmm(a.sparse_csc_tensor([0, 1, 1, 3], [1, 0, 1], v, (2, 3)), m), V, S),
    "coalesce": row(lambda v: a.sparse_coo_tensor([[0, 2, 0]], v, (3,)).coalesce().values() ** 2, V),
    "to_sparse": row(lambda x: (x.to_sparse() * 2).to_dense() ** 2, M), "to_sparse_coo": row(lambda x: x.to_sparse_coo() @ x.t(), M),
    "sparse_compressed_tensor": row(lambda v: a.sparse_compressed_tensor([0, 1, 3], [2, 0, 1], v, (2, 3), layout=a.sparse_csr).to_dense() ** 2, V),
    "sparse_bsr_tensor": row(lambda v: a.sparse_bsr_tensor([0, 1], [0], v.reshape(1, 1, 3), (1, 3)).to_dense() ** 2, V),
    "sparse_bsc_tensor": row(lambda v: a.sparse_bsc_tensor([0, 1], [0], v.reshape(1, 1, 3), (1, 3)).to_dense() ** 2, V),
    "to_sparse_bsr": row(lambda x: x.to_sparse_bsr((1, 1)).to_dense() ** 2, M),
    "to_sparse_bsc": row(lambda x: x.to_sparse_bsc((1, 1)).to_dense() ** 2, M),
    "to_sparse_csr": row(lambda x: x.to_sparse_csr() @ x.t(), M), "to_sparse_csc": row(lambda x: x.to_sparse_csc().to_dense() ** 2, M),
    "sparse_mask": row(lambda x: x.sparse_mask(EYE.to_sparse()).values() ** 2, S), "spmm": row(lambda x, y: a.spmm(x.to_sparse(), y), M, S),
    "values": row(lambda x: x.to_sparse().values() ** 2, M), "values_copy": row(lambda x: a.values_copy(x.to_sparse()) ** 2, M),
    "dsmm": row(lambda x, y: a.dsmm(x.to_sparse(), y), M, S), "hsmm": row(lambda x, y: a.hsmm(x.to_sparse(), y).to_dense() ** 2, M, S),
    "hspmm": row(lambda x, y: a.hspmm(x.to_sparse(), y).to_dense() ** 2, M, S),
    "smm": row(lambda x, y: a.smm(x.to_sparse(), y).to_dense() ** 2, M, S),
    "saddmm": row(lambda z, x, y: a.saddmm(z.to_sparse(), x.to_sparse(), y).to_dense() ** 2, M, M, S),
    "sspaddmm": row(lambda z, x, y: a.sspaddmm(z.to_sparse(), x.to_sparse(), y).to_dense() ** 2, M, M, S),
    "native_norm": row(lambda x: a.native_norm(x.to_sparse()), M),
    "frobenius_norm": row(lambda x: a.frobenius_norm(x, (0, 1)), M), "nuclear_norm": row(lambda x: a.nuclear_norm(x), M),
    "norm_except_dim": row(lambda x: a.norm_except_dim(x, 2, 1), M),
    "resize": row(lambda x: x.resize(3, 2) ** 2, M), "resize_as": row(lambda x, y: x.resize_as(y) * y, M, (6,)),
    "softmax": row(lambda x: x.softmax(1), M), "log_softmax": row(lambda x: x.log_softmax(0), M),
    "softmin": row(lambda x: F.softmin(x, 1), M), "layer_norm": row(lambda x, w, b: a.layer_norm(x, (3,), w, b), M, V, V),
    "group_norm": row(lambda x, w: a.group_norm(x, 2, w), (2, 4, 3), (4,)),
    "rms_norm": row(lambda x, w: a.rms_norm(x, (3,), w), M, V), "instance_norm": row(lambda x: F.instance_norm(x), (2, 2, 4)),
    "batch_norm": row(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (4, 2), (2,), (2,)),
    "normalize": row(lambda x: F.normalize(x), M), "local_response_norm": row(lambda x: F.local_response_norm(x, 2), (1, 3, 2)),
    "scaled_dot_product_attention": row(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (1, 3, 2), (1, 4, 2), (1, 4, 2)),
    "mse_loss": row(lambda x, y: F.mse_loss(x, y), M, M), "l1_loss": row(lambda x, y: F.l1_loss(x, y + 3), M, M),
    "smooth_l1_loss": row(lambda x, y: F.smooth_l1_loss(x, y), M, M),
    "huber_loss": row(lambda x, y: F.huber_loss(x, y, delta=5.0), M, M),
    "cross_entropy": row(lambda x: F.cross_entropy(x, CLASSES), M), "nll_loss": row(lambda x: F.nll_loss(x, CLASSES), M),
    "binary_cross_entropy": row(lambda x: F.binary_cross_entropy(x * 0.5, MASK.double()), M),
    "binary_cross_entropy_with_logits": row(lambda x: F.binary_cross_entropy_with_logits(x, MASK.double()), M),
    "kl_div": row(lambda x, y: F.kl_div(x, y, reduction="batchmean"), M, M),
    "poisson_nll_loss": row(lambda x, y: F.poisson_nll_loss(x, y), M, M),
    "gaussian_nll_loss": row(lambda x, y, v: F.gaussian_nll_loss(x, y, v), M, M, M),
    "soft_margin_loss": row(lambda x: F.soft_margin_loss(x, SIGNS), (2,)),
    "hinge_embedding_loss": row(lambda x: F.hinge_embedding_loss(x * 0.4, SIGNS), (2,)),
    "margin_ranking_loss": row(lambda x, y: F.margin_ranking_loss(x, y, SIGNS, margin=3.0), (2,), (2,)),
    "cosine_embedding_loss": row(lambda x, y: F.cosine_embedding_loss(x, y, SIGNS), M, M),
    "cosine_similarity": row(lambda x, y: F.cosine_similarity(x, y), M, M),
    "pairwise_distance": row(lambda x, y: F.pairwise_distance(x, y), M, M),
    "triplet_margin_loss": row(lambda x, y, z: F.triplet_margin_loss(x, y, z), M, M, M),
    "multi_margin_loss": row(lambda x: (F.multi_margin_loss(x, CLASSES, margin=3.0), F.multi_margin_loss(x, CLASSES, 2)), M),
    "multilabel_margin_loss": row(lambda x: F.multilabel_margin_loss(x, torch.tensor([[0, 2, -1], [1, -1, 0]])), M),
    "multilabel_soft_margin_loss": row(lambda x: F.multilabel_soft_margin_loss(x, MASK.double()), M),
    "ctc_loss": row(lambda x: F.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 1], [2, 1]]), [4, 3], [2, 1]), (4, 2, 3)),
    "fractional_max_pool2d": row(lambda x: F.fractional_max_pool2d(x, 2, 3, _random_samples=HALF), IMAGE),
    "fractional_max_pool3d": row(lambda x: F.fractional_max_pool3d(x, 1, 2, _random_samples=HALF[:, :1, [0, 0, 0]]), (1, 1, 3, 3, 3)),
    "triplet_margin_with_distance_loss": row(lambda x, y, z: F.triplet_margin_with_distance_loss(x, y, z, margin=3.0), M, M, M),
    # activations that are made of records
    "celu": row(lambda x: F.celu(x - 1.01), M), "glu": row(lambda x: F.glu(x), (2, 4)),
    "prelu": row(lambda x, w: F.prelu(x - 1.01, w), M, (1,)), "relu6": row(lambda x: F.relu6(x), M),
    "hardshrink": row(lambda x: F.hardshrink(x), M), "softshrink": row(lambda x: F.softshrink(x), M),
    "gelu": row(lambda x: F.gelu(x), M), "tanhshrink": row(lambda x: F.tanhshrink(x), M),
    "pow": row(lambda x, y: (x ** y, x ** 3, x ** -1, x ** 0.5, x ** -0.5), M, M), "polygamma": row(lambda x: a.polygamma(1, x), M),
    "elu": row(lambda x: F.elu(x - 1.01), M), "selu": row(lambda x: F.selu(x - 1.01), M),
    "leaky_relu": row(lambda x: F.leaky_relu(x - 1.01), M), "threshold": row(lambda x: F.threshold(x, 1.0, 3.0), M),
    "hardtanh": row(lambda x: F.hardtanh(x, 0, 1), M), "relu": row(lambda x: F.relu(x - 1.01), M),
    "add": row(lambda x, y: a.add(x, y, alpha=2), M, V), "clamp": row(lambda x: (x.clamp(0.5, 1), x.clip(max=1)), M),
    "clip": row(lambda x: a.clip(x, 0.5, 1), M), "hardsigmoid": row(lambda x: F.hardsigmoid(x), M),
    "hardswish": row(lambda x: F.hardswish(x), M), "mish": row(lambda x: F.mish(x), M), "silu": row(lambda x: F.silu(x), M),
    "softplus": row(lambda x: F.softplus(x), M), "where": row(lambda x, y: a.where(MASK, x, y), M, V),
    "conj": row(lambda x: x.conj() * x, M), "masked_fill": row(lambda x: x.masked_fill(MASK, 2.0), M),
    "logit": row(lambda x: a.logit(x * 0.4), M), "nan_to_num": row(lambda x: a.nan_to_num(x), M), "rsub": row(lambda x, y: a.rsub(x, y, alpha=2), M, V),
    "float_power": row(lambda x: a.float_power(x, 2.5), M), "clamp_min": row(lambda x: x.clamp_min(1.0), M),
    "clamp_max": row(lambda x: x.clamp_max(1.0), M),
    # views
    "as_strided": row(lambda x: x.as_strided((2, 2), (1, 2)), M), "atleast_1d": row(lambda x: a.atleast_1d(x), ()),
    "atleast_2d": row(lambda x: a.atleast_2d(x), V), "atleast_3d": row(lambda x: a.atleast_3d(x), V),
    "broadcast_to": row(lambda x: x.broadcast_to((2, 3)), V),
    "broadcast_tensors": row(lambda x, y: a.broadcast_tensors(x, y), V, (2, 1)), "chunk": row(lambda x: x.chunk(2, 1), M),
    "diagonal": row(lambda x: x.diagonal(1), M), "dsplit": row(lambda x: a.dsplit(x, 2), (1, 1, 2)),
    "expand": row(lambda x: x.expand(2, 3), V), "expand_as": row(lambda x, y: x.expand_as(y) * y, V, M),
    "flatten": row(lambda x: x.flatten(), M), "hsplit": row(lambda x: a.hsplit(x, 3), M),
    "movedim": row(lambda x: x.movedim(0, 1), M), "moveaxis": row(lambda x: a.moveaxis(x, 0, 1), M),
    "narrow": row(lambda x: x.narrow(1, 1, 2), M), "permute": row(lambda x: x.permute(1, 0), M),
    "ravel": row(lambda x: x.t().ravel(), M), "reshape": row(lambda x: x.t().reshape(-1), M),
    "select": row(lambda x: x.select(1, 2), M), "split": row(lambda x: x.split([1, 2], 1), M),
    "split_with_sizes": row(lambda x: x.split_with_sizes([1, 2], 1), M), "squeeze": row(lambda x: x.squeeze(), (1, 3)),
    "swapaxes": row(lambda x: a.swapaxes(x, 0, 1), M), "swapdims": row(lambda x: a.swapdims(x, 0, 1), M),
    "t": row(lambda x: x.t(), M), "tensor_split": row(lambda x: x.tensor_split(2, 1), M),
    "transpose": row(lambda x: x.transpose(0, 1), M), "unbind": row(lambda x: x.unbind(1), M),
    "unflatten": row(lambda x: x.unflatten(0, (2, 2)), (4,)), "unsafe_chunk": row(lambda x: a.unsafe_chunk(x, 2), M),
    "unsafe_split": row(lambda x: a.unsafe_split(x, 1), M),
    "unsafe_split_with_sizes": row(lambda x: a.unsafe_split_with_sizes(x, [1, 1]), M),
    "unsqueeze": row(lambda x: x.unsqueeze(0), M), "vsplit": row(lambda x: a.vsplit(x, 2), M),
    "view": row(lambda x: x.view(3, 2), M), "view_as": row(lambda x, y: x.view_as(y) * y, M, (6,)),
    "reshape_as": row(lambda x, y: x.reshape_as(y) * y, M, (6,)),
    "view_as_real": row(lambda x: a.view_as_real(a.complex(x, x * 2)), M),
    "view_as_complex": row(lambda x: a.view_as_complex(x).abs(), (3, 2)),
    "view_as_complex_copy": row(lambda x: a.view_as_complex_copy(x).abs(), (3, 2)),
    "view_as_real_copy": row(lambda x: a.view_as_real_copy(a.complex(x, x * x)), V), "adjoint": row(lambda x: x.adjoint(), M),
    "positive": row(lambda x: +x, M), "conj_physical": row(lambda x: torch.conj_physical(x * (1 + 2j)).imag, M),
    "real": row(lambda x: (x * (1 + 2j)).real, M), "imag": row(lambda x: (x * (1 + 2j)).imag, M),
    "complex": row(lambda x, y: a.complex(x, y).abs(), M, M), "resolve_conj": row(lambda x: x.resolve_conj() * x, M),
    "polar": row(lambda x, y: a.polar(x, y).real, M, M), "angle": row(lambda x, y: a.complex(x, y).angle(), M, M),
    # copies and joins
    "clone": row(lambda x: x.clone(), M), "fill": row(lambda x, y: torch.fill(x, y) * x, M, ()), "contiguous": row(lambda x: x.t().contiguous(), M),
    "to": row(lambda x: x.to(torch.complex128).abs(), M),
    "type": row(lambda x: x.type(torch.complex128).abs(), M), "type_as": row(lambda x, y: x.type_as(y) * y, M, M),
    "cpu": row(lambda x: x.cpu() * x, M), "double": row(lambda x: x.double() * x, M),
    "cdouble": row(lambda x: x.cdouble().abs(), M), "cat": row(lambda x, y: a.cat((x, y), 1), M, (2, 1)),
    "concat": row(lambda x, y: a.concat((x, y)), M, S), "concatenate": row(lambda x, y: a.concatenate((x, y)), M, S),
    "column_stack": row(lambda x, y: a.column_stack((x, y)), V, V), "dstack": row(lambda x, y: a.dstack((x, y)), V, V),
    "hstack": row(lambda x, y: a.hstack((x, y)), V, V), "vstack": row(lambda x, y: a.vstack((x, y)), V, V),
    "row_stack": row(lambda x, y: a.row_stack((x, y)), V, V), "stack": row(lambda x, y: a.stack((x, y), 1), M, M),
    "block_diag": row(lambda x, y: a.block_diag(x, y), M, S), "cartesian_prod": row(lambda x, y: a.cartesian_prod(x, y), V, (2,)),
    "meshgrid": row(lambda x, y: a.meshgrid(x, y, indexing="ij"), V, (2,)), "flip": row(lambda x: x.flip(0, 1), M),
    "fliplr": row(lambda x: x.fliplr(), M), "flipud": row(lambda x: x.flipud(), M), "roll": row(lambda x: x.roll(1, 1), M),
    "rot90": row(lambda x: x.rot90(), M), "repeat": row(lambda x: x.repeat(2, 2), M),
    "repeat_interleave": row(lambda x: x.repeat_interleave(2, 1), M), "tile": row(lambda x: x.tile(2), M),
    "pad": row(lambda x: (F.pad(x, (1, 2, 0, -1), value=3.0), *[F.pad(x[None, None], (1, 1, 1, 0), mode) for mode in PAD_MODES]), M),
    "diag": row(lambda x: (x.diag(), x[0].diag()), S),
    "diag_embed": row(lambda x: a.diag_embed(x), M), "diagflat": row(lambda x: a.diagflat(x), V),
    "tril": row(lambda x: x.tril(), S), "triu": row(lambda x: x.triu(1), S), "sum_to_size": row(lambda x: x.sum_to_size(1, 3), M),
    "diagonal_scatter": row(lambda x, y: a.diagonal_scatter(x, y), S, V),
    "select_scatter": row(lambda x, y: a.select_scatter(x, y, 0, 1), M, V),
    "slice_scatter": row(lambda x, y: a.slice_scatter(x, y, 1, 0, 2), M, (2, 2)),
    "as_strided_scatter": row(lambda x, y: a.as_strided_scatter(x, y, (2,), (1,)), M, (2,)),
    # indexing
    "gather": row(lambda x: x.gather(1, PLACES), M), "index_select": row(lambda x: x.index_select(1, INDEX), M),
    "take": row(lambda x: x.take(PLACES), M), "take_along_dim": row(lambda x: a.take_along_dim(x, PLACES, 1), M),
    "index_add": row(lambda x, y: x.index_add(1, INDEX, y), M, M), "index_copy": row(lambda x, y: x.index_copy(1, INDEX, y), M, M),
    "index_fill": row(lambda x: x.index_fill(1, INDEX[:2], 2.0), M),
    "index_put": row(lambda x, y: x.index_put((INDEX,), y, accumulate=True), S, S),
    "index_reduce": row(lambda x, y: x.index_reduce(1, INDEX, y, "mean"), M, M), "put": row(lambda x, y: x.put(INDEX, y), M, V),
    "scatter": row(lambda x, y: x.scatter(1, PLACES, y), M, M), "scatter_add": row(lambda x, y: x.scatter_add(1, PLACES, y), M, M),
    "scatter_reduce": row(lambda x, y: x.scatter_reduce(1, PLACES, y, "amax"), M, M),
    "masked_scatter": row(lambda x, y: x.masked_scatter(MASK, y), M, (4,)),
    "nextafter": row(lambda x: torch.nextafter(x, x.detach() + 1), M),
    "masked_select": row(lambda x: x.masked_select(MASK), M), "embedding": row(lambda w: F.embedding(PLACES, w), S),
    "embedding_bag": row(lambda w: F.embedding_bag(PLACES, w, mode="sum"), S),
    "__getitem__": row(lambda x: (x[0], x[:, ::2], x[INDEX % 2], x[MASK], x[..., None]), M),
    # copies of views, and what PyTorch's other functions are made of
    "alias_copy": row(a.alias_copy, M), "as_strided_copy": row(lambda x: a.as_strided_copy(x, (2, 2), (1, 2)), M),
    "diagonal_copy": row(a.diagonal_copy, M), "expand_copy": row(lambda x: a.expand_copy(x, (2, *x.shape)), M),
    "permute_copy": row(lambda x: a.permute_copy(x, (1, 0)), M), "select_copy": row(lambda x: a.select_copy(x, 1, 2), M),
    "slice_copy": row(lambda x: a.slice_copy(x, 1, 1, 3), M), "split_copy": row(lambda x: a.split_copy(x, 1), M),
    "split_with_sizes_copy": row(lambda x: a.split_with_sizes_copy(x, [1, 2], 1), M), "squeeze_copy": row(lambda x: a.squeeze_copy(x[None]), M),
    "t_copy": row(a.t_copy, M), "transpose_copy": row(lambda x: a.transpose_copy(x, 0, 1), M), "unbind_copy": row(a.unbind_copy, M),
    "unfold_copy": row(lambda x: a.unfold_copy(x, 1, 2, 1), M), "unsqueeze_copy": row(lambda x: a.unsqueeze_copy(x, 1), M),
    "view_copy": row(lambda x: a.view_copy(x, (-1,)), M), "constant_pad_nd": row(lambda x: a.constant_pad_nd(x, (1, -1), 2.0), M),
    "grid_sampler": row(lambda x, g: a.grid_sampler(x, g * 0.5 - 0.4, 0, 0, False), (1, 2, 4, 4), (1, 2, 2, 2)),
    "grid_sampler_2d": row(lambda x, g: a.grid_sampler_2d(x, g * 0.5 - 0.4, 0, 1, True), (1, 2, 4, 4), (1, 2, 2, 2)),
    "grid_sampler_3d": row(lambda x, g: a.grid_sampler_3d(x, g * 0.5 - 0.4, 0, 0, False), (1, 1, 3, 3, 3), (1, 1, 2, 2, 3)),
    "linear_cross_entropy": row(lambda x, w: F.linear_cross_entropy(x, w, torch.tensor([0, 2])), (2, 3), (4, 3)),
    "native_batch_norm": row(lambda x, w, b: a.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)[0], (4, 2), (2,), (2,)),
    "native_group_norm": row(lambda x, w, b: a.native_group_norm(x, w, b, 2, 4, 3, 2, 1e-5)[0], (2, 4, 3), (4,), (4,)),
    "native_layer_norm": row(lambda x, w, b: a.native_layer_norm(x, (3,), w, b, 1e-5)[0], M, V, V),
    "segment_reduce": row(lambda x: a.segment_reduce(x, "mean", lengths=torch.tensor([1, 1])), M),
    # recurrent
    "gru_cell": _cell("gru_cell", 3), "lstm_cell": _cell("lstm_cell", 4), "rnn_relu_cell": _cell("rnn_relu_cell", 1),
    "rnn_tanh_cell": _cell("rnn_tanh_cell", 1), "gru": _layer("gru", 3), "lstm": _layer("lstm", 4),
    "rnn_relu": _layer("rnn_relu", 1), "rnn_tanh": _layer("rnn_tanh", 1),
}

# The rows of sparse tensors, which have no graphs, and are made of elements that are looked at.
SPARSE = frozenset(name for name in ROWS if "sparse_" in name or name in (
    "coalesce", "spmm", "to_sparse", "values", "values_copy", "dsmm", "hsmm", "hspmm", "smm", "saddmm", "sspaddmm", "native_norm"))


def points(shapes):
    return [torch.tensor(values(shape, seed), dtype=torch.float64, requires_grad=True) for seed, shape in enumerate(shapes)]


def nodes_of(result):
    """The primitives of all the nodes behind the results of a call."""
    found, stack = {}, [t.node for t in (result if isinstance(result, (tuple, list)) else (result,)) if t.node is not None]
    while stack:
        node = stack.pop()
        if node is not None and node not in found:
            found[node] = node.primitive.name if hasattr(node, "primitive") else type(node).__name__
            stack += node.edges
    return set(found.values())
