"""Parametrizations of weights: a length and a direction (Salimans and Kingma, "Weight normalization", 2016), the largest singular
value held at 1 (Miyato et al., "Spectral normalization for generative adversarial networks", 2018), and orthonormal columns
(Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", 2019)."""
from __future__ import annotations

from ...autograd.modes import no_grad
from ...ops.creation.fill import eye
from ...ops.linalg.factorise import qr
from ...ops.linalg.householder import geqrf
from ...ops.linalg.matrices import matrix_exp
from ...ops.linalg.solve import solve
from ...ops.shape.join import cat
from ...tensor import Tensor
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from .parametrize import register_parametrization


def norm_except_dim(v, pow: float = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, which is kept, with the others at extent 1.

    Args:
        v: of any shape.
        pow: the norm's order.
        dim: the dimension that is kept; -1 for the norm over all of them, a 0-dim tensor.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.nn.utils.parametrizations import norm_except_dim
        >>> norm_except_dim(torch.tensor([[3., 4.], [0., 1.]]))
        tensor([[5.],
                [1.]])
    """
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.layout.ndim) if d != dim % v.layout.ndim]
    return v.norm(pow, others, keepdim=True) if others else v.abs()


class _WeightNorm(Module):
    def __init__(self, dim=0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight):
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name: str = "weight", dim: int = 0):
    """Make a weight v * g / |v|, with a length g and a direction v as parameters `original0` and `original1` (Salimans and Kingma
    2016).

    Args:
        module: whose weight.
        name: the weight's.
        dim: the dimension that keeps lengths of its own; None for one length in all.

    Returns:
        The module.

    Raises:
        ValueError: no such tensor.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
        >>> layer.parametrizations.weight.original0.shape
        torch.Size([2, 1])
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    """A weight over its largest singular value, which power iterations follow: one a call while training."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12) -> None:
        super().__init__()
        ndim = weight.layout.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps, self.n_power_iterations = dim % ndim, eps, n_power_iterations
        if ndim > 1:
            with no_grad():
                matrix = self._matrix(weight.detach())
                rows, columns = matrix.layout.shape
                self.register_buffer("_u", F.normalize(matrix.new_empty(rows).normal_(), dim=0, eps=eps))
                self.register_buffer("_v", F.normalize(matrix.new_empty(columns).normal_(), dim=0, eps=eps))
                self._follow(matrix, 15)

    def _matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _follow(self, matrix, steps):
        for _ in range(steps):
            self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.layout.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._follow(matrix.detach(), self.n_power_iterations)
        return weight / self._u.clone().vdot(matrix.mv(self._v.clone()))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim=None):
    """Divide a weight by its largest singular value, which is followed by power iterations while training (Miyato et al. 2018).

    Args:
        module: whose weight.
        name: the weight's.
        n_power_iterations: iterations at each use.
        eps: the least length that is divided by.
        dim: the dimension of outputs; None for 1 in transposed convolutions and else 0.

    Returns:
        The module.

    Raises:
        ValueError: no such tensor, or no iterations.
        IndexError: `dim` is out of range.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.Linear(2, 2)
        >>> _ = torch.nn.init.eye_(layer.weight)
        >>> _ = torch.nn.init.constant_(layer.weight[0], 0.0)
        >>> _ = torch.nn.init.constant_(layer.weight[1], 3.0)
        >>> torch.nn.utils.parametrizations.spectral_norm(layer).weight
        tensor([[0.0000, 0.0000],
                [0.7071, 0.7071]], grad_fn=<DivBackward0>)
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


class _Orthogonal(Module):
    """Matrices with orthonormal columns (or rows, whichever are fewer) from any: `base` times what a map makes of them."""

    def __init__(self, weight, orthogonal_map, use_trivialization) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        wide = x.shape[-2] < x.shape[-1]
        out = self._map(x.mT if wide else x)
        out = self.base @ out if hasattr(self, "base") else out
        return out.mT if wide else out

    def _map(self, x):
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            return _reflections(x.tril(-1)) * x.detach().diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
        x = x.tril()
        if n != k:
            x = cat([x, x.new_zeros(*x.shape[:-1], n - k)], -1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            result = matrix_exp(skew)
        else:
            one = eye(n, dtype=skew.dtype, device=skew.device)
            result = solve(one - skew / 2, one + skew / 2)
        return result[..., :k]

    @no_grad()
    def right_inverse(self, value):
        if value.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {value.shape}.")
        wide = value.shape[-2] < value.shape[-1]
        tall = value.mT if wide else value
        n, k = tall.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                                          "when use_trivialization=False.")
            vectors, tau = geqrf(tall)                   # on the diagonal, signs of R, other ones of reflections that were left out
            diagonal = vectors.diagonal(dim1=-2, dim2=-1)
            diagonal.copy_(diagonal.sign() * (tau != 0).to(value.dtype).mul(2).sub(1))
            return vectors.mT if wide else vectors
        if n != k:
            tall = cat([tall, tall.new_empty(*tall.shape[:-1], n - k).normal_()], -1)
        q, r = qr(tall)
        self.base = q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)     # what is orthogonal already stays as it is
        start = value.new_zeros(value.shape)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1)                   # the maps send it to the identity
        return start


def _reflections(vectors):
    """The first columns of a product of Householder reflections, whose vectors stand below a diagonal of ones."""
    n, k = vectors.shape[-2:]
    factors = 2 / (1 + (vectors * vectors).sum(-2))
    one = eye(n, k, dtype=vectors.dtype, device=vectors.device)
    vectors, out = vectors + one, one.expand(vectors.shape)
    for i in range(k - 1, -1, -1):
        vector = vectors[..., i:i + 1]
        out = out - factors[..., i:i + 1].unsqueeze(-1) * vector @ (vector.mT @ out)
    return out


def orthogonal(module, name: str = "weight", orthogonal_map=None, *, use_trivialization: bool = True):
    """Make a weight one with orthonormal columns, or rows where these are fewer (Lezcano-Casado 2019).

    Args:
        module: whose weight.
        name: the weight's, a matrix or a batch of them.
        orthogonal_map: how the stored matrix is mapped: `"matrix_exp"` (of what is skew-symmetric), `"cayley"` ((1 - A / 2)^-1
            (1 + A / 2) of it) or `"householder"` (a product of reflections); None for the first where the matrix is square or
            complex, and else the last.
        use_trivialization: keep a matrix `base` beside it, with which the weight begins as what it was, orthonormalised; without it
            that, and assigning to the weight, is for reflections alone.

    Returns:
        The module.

    Raises:
        ValueError: no such tensor, fewer than two dimensions, or another map.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 2))
        >>> torch.allclose(layer.weight @ layer.weight.mT, torch.eye(2), atol=1e-6)
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.layout.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.layout.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)


__all__ = ["norm_except_dim", "orthogonal", "spectral_norm", "weight_norm"]
