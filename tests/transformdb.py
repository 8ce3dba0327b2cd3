"""PyTorch's own table of operations under `torch.func`: what `tests/func/test_transform_db.py` tries a part of, and all of it by hand.

    python -m tests.transformdb                          # every entry, every aspect, all samples
    python -m tests.transformdb --entries add,cumsum --aspects vmap,nested,jvp,gradients,vjp --samples 20

The oracle of `vmap` is PyTorch's operation in a loop over the samples, not its `vmap`: rules of that differ from it here and there.
That is asked only where ours raises: what it refuses too may be refused. `ASPECTS` says what is compared of an entry.
"""
from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Iterator

import torch

import numtorch
from numtorch.func import batching

from .opdb import (
    ENTRIES,
    call,
    compare,
    detached,
    differentiable,
    is_drawn,
    kind_of,
    operation,
    ours,
    parts,
    rebound,
    samples_of,
    theirs,
)

SIZE = 3                                                 # samples of a map
INNER = 2                                                # and of a map in another


class NoRule(AssertionError):
    """A call was made sample by sample."""


# ---------------------------------------------------------------- samples of samples
def tensors_in(value):
    return [t for t in parts(value) if isinstance(t, torch.Tensor)]


def replaced(value, tensors, kind=torch.Tensor):
    """Arguments with their tensors replaced by those that an iterator gives."""
    if isinstance(value, kind):
        return next(tensors)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        made = [replaced(v, tensors, kind) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return {k: replaced(v, tensors, kind) for k, v in value.items()}
    return value


def changed(x, i):
    """The i-th sample made of a tensor: nearer to 0, so that it stays where an operation is defined; integers in another order."""
    if i == 0 or not x.numel():
        return x
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return x * (1 - 0.0625 * i)
    return x.reshape(-1).roll(i).reshape(x.shape)


def placements(tensors):
    """Which tensors have samples, and where: each subset in front (each one and all, of many), all behind."""
    count = len(tensors)
    subsets = list(itertools.product((0, None), repeat=count)) if count <= 3 else \
        [(0,) * count, *[tuple([0 if i == j else None for i in range(count)]) for j in range(count)]]
    behind = tuple([t.ndim for t in tensors])
    return [dims for dims in dict.fromkeys([*subsets, behind]) if any(d is not None for d in dims)]


def stacked(tensors, dims, size):
    """For each tensor that has samples their stack; and the tensors of each sample."""
    whole = [t if d is None else torch.stack([changed(t, i) for i in range(size)], d) for t, d in zip(tensors, dims)]
    apart = [t.clone() for t in whole]
    return whole, [[t if d is None else t.select(d, i) for t, d in zip(apart, dims)] for i in range(size)]


def answers(op, sample, each, processed):
    """What PyTorch's operation gives for each sample; None where it gives nothing for one, or results of different shapes."""
    given = detached((sample.input, sample.args, sample.kwargs))
    found = []
    for tensors in each:
        args = replaced(given, iter(tensors))
        try:
            found.append(parts(processed(theirs(op)(args[0], *args[1], **args[2]))))
        except Exception:
            return None
    if any(not isinstance(t, torch.Tensor) or t.layout is not torch.strided for t in found[0]):
        return None
    if len({tuple([(t.shape, t.dtype) for t in one]) for one in found}) > 1:
        return None
    return [torch.stack(column) for column in zip(*found)]


def on_tensors(op, function, given, processed, kind):
    """The operation as a function of the tensors among its arguments, that returns a tuple of tensors."""
    def run(*tensors):
        args = replaced(given, iter(tensors), kind)
        return tuple(parts(processed(function(args[0], *args[1], **args[2]))))
    return run


def both(op, function, sample, drawn=False, wrapped=False):
    """The operation as functions of its tensors: ours and PyTorch's; and the tensors. `wrapped`: of what op_db makes of these, such
    as a Hermitian matrix, where only that has a derivative."""
    given = detached((sample.input, sample.args, sample.kwargs))
    processed = (lambda result: result) if drawn else sample.output_process_fn_grad
    if wrapped and not op.name.startswith("masked."):
        wrap, their_function = op.gradcheck_wrapper, theirs(op)
        our_wrap, our_function = rebound(wrap), function
        function = lambda *args, **kwargs: our_wrap(our_function, *args, **kwargs)
        return on_tensors(op, function, ours(given), rebound(processed), numtorch.Tensor), \
            on_tensors(op, lambda *args, **kwargs: wrap(their_function, *args, **kwargs), given, processed, torch.Tensor), \
            tensors_in(given), processed
    return on_tensors(op, function, ours(given), rebound(processed), numtorch.Tensor), \
        on_tensors(op, theirs(op), given, processed, torch.Tensor), tensors_in(given), processed


def with_rules(function, tensors, what):
    """A call in which nothing may be made sample by sample."""
    batching._warned.clear()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = function(*tensors)
    for w in seen:
        if "batching rule" in str(w.message):
            raise NoRule(f"{what}: {str(w.message).split('rule for ')[1].split('.')[0]} has no rule")
    return found


def refused_by_both(our_function, their_function, tensors, what):
    """What a mapped function of ours gives for tensors; None where it raises, and PyTorch's does too."""
    try:
        return with_rules(our_function, ours(tensors), what)
    except NoRule:
        raise
    except Exception as error:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                their_function(*tensors)
        except Exception:
            return None
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


def where_memory_begins(their_function, tensors):
    """What PyTorch's vmap says of `as_strided`, where a sample's memory begins and ends; None where that refuses."""
    try:
        return their_function(*tensors)
    except RuntimeError:
        return None


def refused(our_function, tensors, what):
    """A call that has to raise RuntimeError."""
    try:
        our_function(*ours(tensors))
    except RuntimeError:
        return
    raise AssertionError(f"{what}: nothing was raised")


def compared(found, wanted, what, drawn):
    assert len(found) == len(wanted), f"{what}: {len(found)} results instead of {len(wanted)}"
    for place, (one, other) in enumerate(zip(found, wanted)):
        compare(one.detach(), other, f"{what}, result {place}", not drawn)


# ---------------------------------------------------------------- what is compared
def check_vmap(op, function, sample, what):
    """vmap over each choice of arguments."""
    drawn = is_drawn(op, sample)
    our_run, their_run, tensors, processed = both(op, function, sample, drawn)
    if any(t.layout is not torch.strided for t in tensors):
        return
    for dims in placements(tensors):
        whole, each = stacked(tensors, dims, SIZE)
        wanted = answers(op, sample, each, processed)
        if wanted is None:
            continue
        if "as_strided" in op.name and (wanted := where_memory_begins(torch.func.vmap(their_run, dims), whole)) is None:
            refused(numtorch.func.vmap(our_run, dims), whole, f"{what} in_dims={dims}")
            continue
        title, options = f"{what} in_dims={dims}", {"randomness": "different"} if drawn else {}
        found = refused_by_both(numtorch.func.vmap(our_run, dims, **options), torch.func.vmap(their_run, dims, **options), whole, title)
        if found is not None:
            compared(found, wanted, title, drawn)


def check_nested(op, function, sample, what):
    """A vmap in another: all arguments have samples of both, and each argument of one of them."""
    if is_drawn(op, sample):
        return
    our_run, their_run, tensors, processed = both(op, function, sample)
    if any(t.layout is not torch.strided for t in tensors) or not tensors:
        return
    count = len(tensors)
    for outer, inner in dict.fromkeys([((0,) * count, tuple([t.ndim for t in tensors])),
                                       (tuple([None if i % 2 else 0 for i in range(count)]), (*[0 if i % 2 else None for i in range(count)],)),
                                       (tuple([0 if i % 2 else None for i in range(count)]), (*[None if i % 2 else 0 for i in range(count)],))]):
        if all(d is None for d in outer) or all(d is None for d in inner):
            continue
        inside, _ = stacked(tensors, inner, INNER)
        whole, each = stacked(inside, outer, SIZE)
        wanted = answers(op, sample, [[t if d is None else t.select(d, j) for t, d in zip(one, inner)]
                                      for one in each for j in range(INNER)], processed)
        if wanted is None:
            continue
        wanted = [w.unflatten(0, (SIZE, INNER)) for w in wanted]
        if "as_strided" in op.name and (wanted := where_memory_begins(
                torch.func.vmap(torch.func.vmap(their_run, inner), outer), whole)) is None:
            refused(numtorch.func.vmap(numtorch.func.vmap(our_run, inner), outer), whole, f"{what} in_dims={outer} around {inner}")
            continue
        title = f"{what} in_dims={outer} around {inner}"
        found = refused_by_both(numtorch.func.vmap(numtorch.func.vmap(our_run, inner), outer),
                                torch.func.vmap(torch.func.vmap(their_run, inner), outer), whole, title)
        if found is not None:
            compared(found, wanted, title, False)


def moving(op, sample):
    """The places of the tensors that derivatives are taken by."""
    return [i for i, t in enumerate(tensors_in((sample.input, sample.args, sample.kwargs))) if t.requires_grad]


def of_places(run, tensors, places):
    """A function of the tensors at places, the others held."""
    def held(*moved):
        given = list(tensors)
        for place, t in zip(places, moved):
            given[place] = t
        return tuple([t for t in run(*given) if t.dtype.is_floating_point or t.dtype.is_complex])
    return held


def check_jvp(op, function, sample, what):
    """The derivative along a direction, forward. Where PyTorch has none forward, its own by two runs backward."""
    places = moving(op, sample)
    if is_drawn(op, sample) or not places:
        return
    our_run, their_run, tensors, _ = both(op, function, sample, wrapped=True)
    if any(t.layout is not torch.strided for t in tensors):
        return
    primals = tuple([tensors[i] for i in places])
    torch.manual_seed(1)
    tangents = tuple([torch.randn(t.shape, dtype=t.dtype) for t in primals])
    held = of_places(their_run, tensors, places)
    try:
        values, wanted = torch.func.jvp(held, primals, tangents)
    except Exception:
        try:
            values, wanted = torch.autograd.functional.jvp(held, primals, tangents)
        except Exception:
            return
    our_held = of_places(our_run, ours(tensors), places)
    values_found, found = numtorch.func.jvp(our_held, tuple(ours(primals)), tuple(ours(tangents)))
    compared(values_found, [v.detach() for v in values], f"{what}, value", False)
    compared(found, [w.detach() for w in wanted], f"{what}, tangent", False)


def check_gradients(op, function, sample, what):
    """The gradients of each sample at once: vmap of grad."""
    places = moving(op, sample)
    if is_drawn(op, sample) or not places:
        return
    our_run, their_run, tensors, processed = both(op, function, sample, wrapped=True)
    if any(t.layout is not torch.strided for t in tensors):
        return
    dims = tuple([0 if i in places else None for i in range(len(tensors))])
    whole, each = stacked(tensors, dims, SIZE)
    wanted = []
    weights = None
    for one in each:
        leaves = [t.detach().clone().requires_grad_() if i in places else t for i, t in enumerate(one)]
        try:
            results = [r for r in their_run(*leaves) if differentiable(r, torch.Tensor)]
        except Exception:
            return
        if not results or any(r.dtype.is_complex for r in results):
            return
        torch.manual_seed(1)
        weights = [torch.randn(r.shape, dtype=r.dtype) for r in results]
        total = sum([(r * w).sum() for r, w in zip(results, weights)])
        wanted.append(torch.autograd.grad(total, [leaves[i] for i in places], materialize_grads=True))

    def loss(library, run, weights):
        def number(*arguments):
            results = [r for r in run(*arguments) if differentiable(r, library.Tensor)]
            return sum([(r * w).sum() for r, w in zip(results, weights)])
        return library.func.vmap(library.func.grad(number, tuple(places)), dims)
    title = f"{what}, gradient of each sample"
    found = refused_by_both(loss(numtorch, our_run, ours(weights)), loss(torch, their_run, weights), whole, title)
    if found is not None:
        compared(found, [torch.stack(column) for column in zip(*wanted)], title, False)


def check_vjp(op, function, sample, what):
    """A vector of each sample times one Jacobian: vmap of what vjp returns."""
    places = moving(op, sample)
    if is_drawn(op, sample) or not places:
        return
    our_run, their_run, tensors, _ = both(op, function, sample, wrapped=True)
    if any(t.layout is not torch.strided for t in tensors):
        return
    primals = [tensors[i].detach().clone().requires_grad_() for i in places]
    try:
        results = of_places(their_run, tensors, places)(*primals)
    except Exception:
        return
    if not results or any(not r.requires_grad for r in results):
        return
    torch.manual_seed(1)
    vectors = [torch.randn(SIZE, *r.shape, dtype=r.dtype) for r in results]
    try:
        each = [torch.autograd.grad(results, primals, [v[i] for v in vectors], retain_graph=True, materialize_grads=True) for i in range(SIZE)]
    except Exception:
        return

    def mapped(library, run, given, at):
        _, product = library.func.vjp(of_places(run, given, places), *at)
        return lambda *vectors: library.func.vmap(lambda *one: product(one))(*vectors)
    title, at = f"{what}, vjp of each vector", [p.detach() for p in primals]
    found = refused_by_both(mapped(numtorch, our_run, ours(tensors), ours(at)),
                            lambda *vectors: mapped(torch, their_run, tensors, at)(*vectors), vectors, title)
    if found is not None:
        compared(found, [torch.stack(column) for column in zip(*each)], title, False)


# ---------------------------------------------------------------- what does not pass
_SIZE = "the result's size depends on the sample: PyTorch gives it where all happen to agree"
_LOOP = "the range of bins is of the sample's values: sample by sample, as in PyTorch"
_READ = "a number of Python is made of the sample's value"
_DIFFERS = "a known difference of the operation itself, see KNOWN in tests/opdb.py"
_BESSEL = "PyTorch's is less exact"
KNOWN = {                                                # by (entry, aspect), or the entry for all aspects
    **dict.fromkeys(("gather", "cov", "special.bessel_j0", "special.bessel_y1", "linalg.matrix_power", "linalg.pinv.hermitian",
                     "nn.functional.batch_norm", "as_strided_scatter", "cholesky_solve"), _DIFFERS),
    **dict.fromkeys(("special.bessel_j1", "special.airy_ai"), _BESSEL),
    **dict.fromkeys(("argwhere", "bincount", "repeat_interleave", "unique", "unique_consecutive", "nonzero", "masked_select"), _SIZE),
    **dict.fromkeys(("histc", "histogram"), _LOOP),
    **dict.fromkeys(("linspace.tensor_overload", "logspace.tensor_overload"), _READ),
    **dict.fromkeys(("resize_", "resize_as_"), "a sample's memory cannot grow"),
    "_upsample_bilinear2d_aa": "factors that do not give the size beside them are refused",
    "max_pool2d_with_indices_backward": "what does not depend on the input's values records no gradient for it",
    ("nn.functional.ctc_loss", "vmap"): "lengths are numbers of Python",
    ("nn.functional.ctc_loss", "nested"): "lengths are numbers of Python",
    ("nn.functional.embedding_bag", "vmap"): "how many indices are no padding depends on the sample",
    ("nn.functional.embedding_bag", "nested"): "how many indices are no padding depends on the sample",
    ("nn.functional.linear_cross_entropy.chunked", "jvp"): "the gradient of a checkpointed function inside a derivative",
    ("nn.functional.linear_cross_entropy.chunked_none", "jvp"): "the gradient of a checkpointed function inside a derivative",
    # beside finite differences, ours are right
    ("cholesky_inverse", "jvp"): "PyTorch's has an error of 1e-5",
    ("cholesky_inverse", "gradients"): "PyTorch gives a gradient to the triangle that is not read",
    ("nn.functional.multi_head_attention_forward", "vmap"): "dropout of weights that are the same for all samples is refused",
    ("logcumsumexp", "jvp"): "PyTorch's has an error of 2e-6",
    ("to_sparse", "jvp"): "sparse tensors of dual numbers are refused, by PyTorch too: its own is by two runs backward",
    ("scatter_reduce.prod", "jvp"): "PyTorch's is that of a sum",
    ("masked.logaddexp", "jvp"): "PyTorch's is NaN where both are masked",
}

ASPECTS = {"vmap": check_vmap, "nested": check_nested, "jvp": check_jvp, "gradients": check_gradients, "vjp": check_vjp}


def failures(name, aspects, most) -> Iterator[tuple[str, Exception]]:
    """What an entry fails: the aspect and the first exception of each."""
    op = ENTRIES[name]
    function, kind = operation(op), kind_of(op)
    if function is None or kind is None:
        return
    recorded = op.supports_autograd and kind is torch.float64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for aspect in aspects:
            for sample in samples_of(op, kind, most, recorded):
                try:
                    ASPECTS[aspect](op, function, sample, f"{name}({call(sample)})")
                except Exception as error:
                    yield aspect, error
                    break


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.transformdb")
    parser.add_argument("--entries", default="", help="names, or beginnings of names, with commas between; all by default")
    parser.add_argument("--aspects", default=",".join(ASPECTS))
    parser.add_argument("--samples", type=int, default=1 << 20, help="of an entry at most")
    options = parser.parse_args()
    wanted = tuple(filter(None, options.entries.split(",")))
    names = [name for name in sorted(ENTRIES) if not wanted or name.startswith(wanted)]
    failed, known = set(), set()
    for name in names:
        for aspect, error in failures(name, options.aspects.split(","), options.samples):
            if name in KNOWN or (name, aspect) in KNOWN:
                known.add(name)
                continue
            failed.add(name)
            print(f"{name} [{aspect}] {type(error).__name__}: {' '.join(str(error).split())[:400]}", flush=True)
    print(f"{len(names) - len(failed | known)} of {len(names)} entries pass, {len(known)} are known not to")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
