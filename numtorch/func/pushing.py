"""Tangents of linear ops, which apply themselves to them, and of products, which do so in each factor."""
from __future__ import annotations

from ..ops.core.primitive import miss, registry
from ..ops.creation.fill import zeros_like
from ..ops.index.triangles import diag_embed
from ..ops.linalg.svd import gaps
from ..ops.linalg.triangular import solve_triangular
from ..ops.memory.detach import detach
from ..ops.nn.linear import linear as linear_map
from ..ops.pointwise import arithmetic, elementary
from ..ops.reduce.reduce_op import SUM
from ..ops.sort.scan import sums_of_exponentials
from .tangents import by_gradient, push


@push("sum", "mean", "clone", "to_copy", "cumsum", "fft_c2c", "fft_r2c", "fft_c2r", "avg_pool1d", "avg_pool2d", "resample",
      "steps_of_sequences", "avg_pool_grad")
def linear(primitive, primals, tangents, attributes):
    return miss(primitive, tuple(primals), attributes), miss(primitive, tuple(tangents), attributes)


def _with_each(primitive, factors, biases, attributes, tangents):
    """The product rule: the sum of the products in which one factor is its tangent."""
    total = None
    for place, tangent in enumerate(tangents):
        if tangent is not None:
            term = miss(primitive, (*factors[:place], tangent, *factors[place + 1:], *biases), attributes)
            total = term if total is None else total + term
    return total


@push("mm", "bmm", "matmul", "mv", "dot", "convolution_weight_grad", "linalg_cross", "kron")
def product(primitive, primals, tangents, attributes):
    return miss(primitive, tuple(primals), attributes), _with_each(primitive, tuple(primals), (), attributes, tangents)


@push("linear")
def linear_of_each(primitive, primals, tangents, attributes):
    """By the op's own call, which finds its plan in a third of the time: small networks are made of these."""
    (x, weight, bias), (x_tangent, weight_tangent, bias_tangent) = primals, tangents
    out = linear_map(x, weight, bias)
    result = None if x_tangent is None else linear_map(x_tangent, weight, None if weight_tangent is not None else bias_tangent)
    if weight_tangent is not None:
        by_weight = linear_map(x, weight_tangent, bias_tangent)
        result = by_weight if result is None else result + by_weight
    elif result is None:
        result = zeros_like(detach(out)) + bias_tangent
    return out, result


@push("convolution", "convolution_input_grad")
def with_bias(primitive, primals, tangents, attributes):
    out = miss(primitive, tuple(primals), attributes)
    result = _with_each(primitive, tuple(primals[:2]), (None,), attributes, tangents[:2])
    bias = tangents[2]
    if bias is not None:
        result = (zeros_like(detach(out)) if result is None else result) + bias.reshape(-1, *(1,) * (out.layout.ndim - 2))
    return out, result


@push("softmax")
def softmax(primitive, primals, tangents, attributes):
    """Its Jacobian is symmetric: the gradient's op is the tangent's."""
    out = miss(primitive, tuple(primals), attributes)
    return out, miss(registry["softmax_grad"], (tangents[0], out), attributes)


@push("log_softmax")
def log_softmax(primitive, primals, tangents, attributes):
    out, tangent = miss(primitive, tuple(primals), attributes), tangents[0]
    return out, arithmetic.sub(tangent, SUM.run(arithmetic.mul(elementary.exp(out), tangent), attributes[0], True))


@push("logcumsumexp")
def logcumsumexp(primitive, primals, tangents, attributes):
    x, out = primals[0], miss(primitive, tuple(primals), attributes)
    return out, sums_of_exponentials(tangents[0], x, -out, *attributes)


@push("embedding")
def embedding(primitive, primals, tangents, attributes):
    """The rows of the tangent, that of the padding index too, which has no gradient."""
    return miss(primitive, tuple(primals), attributes), miss(primitive, (tangents[0], primals[1]), attributes)


# ---------------------------------------------------------------- factorisations
def _without_diagonal(x, share):
    """x less a share of its diagonal."""
    return x - diag_embed(x.diagonal(0, -2, -1)) * share


@push("linalg_cholesky")
def cholesky(primitive, primals, tangents, attributes):
    """L times the lower half of L^-1 dA L^-H. Of a tangent that is not Hermitian this takes what it reads, as PyTorch's does, where
    the gradient turned around would take the Hermitian part."""
    lower = miss(primitive, tuple(primals), attributes)
    inner = solve_triangular(lower.mH, solve_triangular(lower, tangents[0], upper=False), upper=True, left=False)
    return lower, lower @ _without_diagonal(inner.tril(), 0.5)


@push("linalg_eigh")
def eigh(primitive, primals, tangents, attributes):
    values, vectors = result = miss(primitive, tuple(primals), attributes)
    inner = vectors.mH @ tangents[0] @ vectors
    diagonal = inner.diagonal(0, -2, -1)
    rates = diagonal.real if diagonal.layout.dtype.is_complex else diagonal
    return result, (rates, vectors @ (_without_diagonal(inner, 1) / gaps(values)))


# ---------------------------------------------------------------- values of factorisations whose vectors the derivative needs
@push("linalg_svdvals")
def singular_values(primitive, primals, tangents, attributes):
    (_, values, _), (_, tangent, _) = by_gradient(registry["linalg_svd"], primals, tangents, (False,))
    return values, tangent


@push("linalg_eigvals", "linalg_eigvalsh")
def eigenvalues(primitive, primals, tangents, attributes):
    (values, _), (tangent, _) = by_gradient(registry[primitive.name.replace("vals", "")], primals, tangents, attributes)
    return values, tangent
