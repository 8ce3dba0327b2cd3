"""`out=` and in-place calls across devices: no result goes to another device than its arguments' but by `copy_`, for each op of PyTorch's
own table, in both directions. The other device is `meta`, which no kernel runs on; on GPUs nothing here is otherwise.
"""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
pytest.importorskip("expecttest", reason="PyTorch's table of operations needs expecttest")

import numtorch  # noqa: E402
from tests.opdb import ENTRIES, detached, operation, ours, outcome, parts, samples_of  # noqa: E402
from tests.outdtypes import called, chosen, first_input  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")        # PyTorch says which of its functions it will drop

# Of `out=`: what takes none, or has no sample whose results PyTorch writes.
WITHOUT_OUT = {"_batch_norm_with_update", "equal", "histogramdd", "sparse.sampled_addmm"}
# What looks at the values of its arguments first, which meta does not have.
READS_FIRST = {"histogram", "masked_select", "nonzero", "linspace.tensor_overload", "logspace.tensor_overload"}
# In place: what takes a shape or a number from another tensor, and nothing else.
TAKES_NUMBERS = {"resize_as_", "index_fill", "masked_fill"}


def on(device, value):
    """Arguments with all tensors on a device."""
    if isinstance(value, numtorch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: on(device, each) for key, each in value.items()}
    return value if not isinstance(value, (list, tuple)) else (list if isinstance(value, list) else tuple)([on(device, each) for each in value])


def check_refused(result, what):
    assert isinstance(result, RuntimeError) and "cpu" in str(result) and "meta" in str(result), f"{what}: {result!r}"


def tensors_of(value):
    return [part for part in parts(value) if isinstance(part, numtorch.Tensor)]


@pytest.mark.parametrize("name", sorted(name for name, op in ENTRIES.items() if op.supports_out and name not in WITHOUT_OUT and operation(op)))
def test_results_stay_on_the_device_of_the_arguments(name):
    found = chosen(ENTRIES[name], *first_input(name))
    assert found, "no sample; say so in WITHOUT_OUT"
    _, given, wanted = found
    given, out = ours(given), ours(wanted)
    if not tensors_of(given):                            # a creation function
        given = *given[:2], {**given[2], "device": "meta"}
    if name in READS_FIRST:
        out = on("meta", out)
    else:
        given = on("meta", given)
    before = [t.clone() for t in tensors_of(out)]
    check_refused(called(operation(ENTRIES[name]), given, out), name)
    assert all(t.is_meta or numtorch.equal(t.nan_to_num(), old.nan_to_num()) for t, old in zip(tensors_of(out), before))


@pytest.mark.parametrize("name", ["add", "sum", "mm", "cat", "gather", "linalg.inv", "fft.fft", "sort", "cumsum", "where", "zeros", "arange"])
def test_results_do_not_go_to_another_device(name):
    """The other direction: `into` and the elementwise `out=` are the same code for both."""
    _, given, wanted = chosen(ENTRIES[name], *first_input(name))
    given = ours(given)
    if not tensors_of(given):
        given = *given[:2], {**given[2], "device": "cpu"}
    check_refused(called(operation(ENTRIES[name]), given, on("meta", ours(wanted))), name)


# What the table has no entry with `out=` for.
x = numtorch.tensor([0.25, 0.75])
OTHERS = {
    "bernoulli": lambda t, out: t.bernoulli(x, out=out), "bernoulli of one": lambda t, out: t.bernoulli(x, 0.5, out=out),
    "multinomial": lambda t, out: t.multinomial(x, 2, True, out=out.long()), "drawn without replacement": lambda t, out: t.multinomial(x, 2, out=out.long()),
    "normal": lambda t, out: t.normal(x, x, out=out), "normal of numbers": lambda t, out: t.normal(0.0, 1.0, (2,), out=out, device="cpu"),
    "rand": lambda t, out: t.rand(2, out=out, device="cpu"), "randint": lambda t, out: t.randint(3, (2,), out=out.long(), device="cpu"),
    "randperm": lambda t, out: t.randperm(2, out=out.long(), device="cpu"), "range": lambda t, out: t.range(0, 1, out=out, device="cpu"),
    "sum": lambda t, out: t.sum(x, 0, out=out), "prod": lambda t, out: t.prod(x, 0, out=out), "median": lambda t, out: t.median(x, 0, out=(out, out.long())),
    "gelu": lambda t, out: t.nn.functional.gelu(x, out=out), "threshold": lambda t, out: t.threshold(x, 0.5, 0.0, out=out),
    "inverse": lambda t, out: t.inverse(x.diag(), out=out), "slogdet": lambda t, out: t.slogdet(x.diag(), out=(out, out)),
    "slice_copy": lambda t, out: t.slice_copy(x, 0, 0, 1, out=out), "split_copy": lambda t, out: t.split_copy(x, 1, out=[out, out]),
    "frequencies": lambda t, out: t.fft.fftfreq(2, out=out, device="cpu"), "chain_matmul": lambda t, out: t.chain_matmul(x.diag(), x.diag(), out=out),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_results_stay_too(name):
    with pytest.raises(RuntimeError, match=r"(cpu.*meta)|(meta.*cpu)"):
        OTHERS[name](numtorch, numtorch.empty(2, device="meta"))


@pytest.mark.parametrize("name", ["empty", "zeros", "ones", "rand", "randn"])
def test_a_new_tensor_is_made_where_out_is(name):
    out = numtorch.empty(0, device="meta")
    assert getattr(numtorch, name)(2, out=out) is out and out.shape == (2,)


def written(op, kind):
    """Calls in place, on tensors that others are given with: the tensor, and the other arguments."""
    function = getattr(numtorch.Tensor, op.inplace_variant.__name__, None)
    for sample in samples_of(op, kind, 6, False):
        x, args, kwargs = ours(detached((sample.input, sample.args, sample.kwargs)))
        others = tensors_of((args, kwargs))
        fine = isinstance(x, numtorch.Tensor) and others and not isinstance(outcome(function, (x.clone(), args, kwargs), numtorch.Tensor), Exception)
        if fine:
            yield function, x, args, kwargs, all(t.ndim == 0 for t in others)


IN_PLACE = sorted(name for name, op in ENTRIES.items() if first_input(name) and name not in TAKES_NUMBERS
                  and hasattr(numtorch.Tensor, getattr(op.inplace_variant, "__name__", "-")))


@pytest.mark.parametrize("name", IN_PLACE)
def test_what_is_written_in_place_stays_where_it_is(name):
    """Tensors of no dimensions on the CPU are numbers for any device, but never what is written."""
    for function, x, args, kwargs, numbers in written(ENTRIES[name], *first_input(name)):
        check_refused(outcome(function, (x, on("meta", args), on("meta", kwargs)), numtorch.Tensor), name)
        if not numbers and name not in READS_FIRST | {"index_put"}:
            check_refused(outcome(function, (x.to("meta"), args, kwargs), numtorch.Tensor), name)
