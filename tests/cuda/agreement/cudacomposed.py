"""Cases of test_cuda.py that are made of other ops, which must make what they need on the device of what they are given: ops of batched
tensors and of sparse ones, windows of integers, gradients of gradients, memory that grows."""
from __future__ import annotations

from cudacases import numbers, table


def over(function, *shapes, dtype="float64"):
    """A case of tensors of normal numbers and of an index, (3, 2), that is within 4."""
    def body(torch, device):
        tensors = [numbers(torch, device, *s, seed=i, dtype=dtype) for i, s in enumerate(shapes)]
        result = function(torch, *tensors, torch.tensor([[0, 1], [2, 3], [1, 1]], device=device))
        return tuple(result) if isinstance(result, (tuple, list)) else result
    return body


def batched(function, *shapes):
    """The same of a function of samples."""
    return over(lambda torch, *tensors: torch.func.vmap(lambda *samples: function(torch, *samples))(*tensors), *shapes)


def sparse(function):
    """A case of a sparse matrix, (5, 6)."""
    def body(torch, device):
        x = torch.zeros(5, 6, dtype=torch.float64, device=device)
        x[1, 2], x[4, 0], x[1, 5] = 3, -1, 2
        result = function(torch, x.to_sparse())
        return result if result.layout == torch.strided else result.to_dense()
    return body


def _ctc_twice(torch, scores, _):
    scores = scores.log_softmax(-1).requires_grad_()
    labels = torch.tensor([[1, 2]], device=scores.device)
    slope, = torch.autograd.grad(torch.nn.functional.ctc_loss(scores, labels, (5,), (2,)), scores, create_graph=True)
    return slope, torch.autograd.grad(slope.square().sum(), scores)[0]


def _grown(torch, x, _):
    x = x.clone().resize_(4, 3)
    x[2:] = 1
    return x


table(
    batched_index=batched(lambda torch, x, i: x[i], (3, 4)),
    batched_index_put=batched(lambda torch, x, i: x.index_put((i,), x[:2] * 0 + 1, accumulate=True), (3, 4)),
    batched_index_fill=batched(lambda torch, x, i: x.index_fill(0, i, 1.0), (3, 4)),
    batched_embedding=batched(lambda torch, x, i: torch.nn.functional.embedding(i, x), (3, 4, 2)),
    batched_bags=batched(lambda torch, x, i: torch.nn.functional.embedding_bag(i[None], x), (3, 4, 2)),
    batched_bincount=batched(lambda torch, i: i.bincount(minlength=5)),
    batched_histogram=batched(lambda torch, x, i: x.histc(4, -1, 1), (3, 4)),
    batched_places=batched(lambda torch, x, i: (x > 0).nonzero_static(size=3), (3, 4)),
    jacobian_forwards=over(lambda torch, x, _: torch.func.jacfwd(lambda x: (x * x).sum(0))(x), (3, 4)),
    jacobian_of_two=over(lambda torch, x, y, _: torch.func.jacfwd(lambda x, y: x @ y, (0, 1))(x, y), (2, 3), (3,)),
    gradients_of_alignments=over(_ctc_twice, (5, 1, 4)),
    sparse_sums=sparse(lambda torch, x: torch.sparse.sum(x, 0)),
    sparse_sums_kept=sparse(lambda torch, x: x.sum(1, keepdim=True)),
    sparse_softmax=sparse(lambda torch, x: torch.sparse.softmax(x, 1)),
    sparse_products=sparse(lambda torch, x: torch.sparse.mm(x, x.t())),
    sparse_unsqueezed=sparse(lambda torch, x: x.unsqueeze(1)),
    sparse_joined=sparse(lambda torch, x: torch.cat([x, x], 1)),
    sparse_rows=sparse(lambda torch, x: x.index_select(0, torch.tensor([1, 1, 4], device=x.device))),
    sparse_places_of_none=sparse(lambda torch, x: (x * 0).coalesce() * x),
    means_of_integers=over(lambda torch, i: torch.nn.functional.avg_pool1d(i[None], 2, padding=1)),
    maxima_of_integers=over(lambda torch, i: torch.nn.functional.max_pool2d(i[None], 2, padding=1, return_indices=True)),
    truths_that_are_finite=over(lambda torch, i: ((i > 0).isfinite(), (i > 0).isinf(), (i > 0).isposinf())),
    most_frequent_of_many_rows=over(lambda torch, i: (i.T[None] * torch.arange(25, device=i.device)[:, None, None]).mode(1)),
    rolled_rows=over(lambda torch, x, _: (x.roll(3, 1), x.roll((-1, 2), (0, 1))), (9, 10, 8)),
    memory_that_grows=over(_grown, (2, 3)),
)
