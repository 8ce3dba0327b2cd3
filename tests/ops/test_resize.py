"""Tensors that take on another shape or memory, and results that go into `out`: PyTorch's rules, each with what it must not do."""
import warnings

import numpy as np
import pytest

import numtorch as torch

PAIR = torch.tensor([[3.0, 1.0], [2.0, 4.0]])
INDEX = torch.tensor([1, 0])

# functions of an `out`, of which each gives a result of two rows
INTO = {
    "add": lambda out: torch.add(PAIR, 1, out=out), "sum": lambda out: torch.sum(PAIR, 1, out=out),
    "mm": lambda out: torch.mm(PAIR, PAIR, out=out), "addmm": lambda out: torch.addmm(PAIR, PAIR, PAIR, out=out),
    "cat": lambda out: torch.cat([PAIR, PAIR], 1, out=out), "stack": lambda out: torch.stack([PAIR[0], PAIR[1]], out=out),
    "cumsum": lambda out: torch.cumsum(PAIR, 1, out=out), "index_select": lambda out: torch.index_select(PAIR, 0, INDEX, out=out),
    "gather": lambda out: torch.gather(PAIR, 1, INDEX[:, None], out=out), "zeros": lambda out: torch.zeros(2, out=out),
    "arange": lambda out: torch.arange(2, out=out), "kron": lambda out: torch.kron(PAIR, torch.ones(1), out=out),
    "tril": lambda out: torch.tril(PAIR, out=out), "var": lambda out: torch.var(PAIR, 1, out=out),
    "bernoulli": lambda out: torch.bernoulli(PAIR * 0, out=out), "round": lambda out: torch.round(PAIR / 7, decimals=1, out=out),
}


@pytest.mark.parametrize("name", INTO)
def test_an_out_takes_on_the_shape_of_the_result(name):
    wanted = INTO[name](None) if name not in ("zeros", "arange") else INTO[name](None).float()
    with warnings.catch_warnings():
        warnings.simplefilter("error")                   # without elements it is resized silently
        empty = torch.empty(0)
        assert INTO[name](empty) is empty and torch.equal(empty, wanted)
    with pytest.warns(UserWarning, match=r"was resized since it had shape \[7\]"):
        other = torch.empty(7)
        assert INTO[name](other) is other and torch.equal(other, wanted)


def test_pairs_go_into_pairs():
    for function in (torch.max, torch.sort, torch.cummax, torch.median, torch.mode, torch.kthvalue):
        args = (PAIR, 1) if function is not torch.kthvalue else (PAIR, 1, 1)
        values, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
        found = function(*args, out=(values, places))
        wanted = function(*args)
        assert found[0] is values and torch.equal(values, wanted[0]) and torch.equal(places, wanted[1])


def test_resize_keeps_the_first_elements():
    x = torch.arange(6)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_(3, 2).tolist() == [[0, 1], [2, 3], [4, 5]]          # the same memory, seen as before
    kept = torch.arange(4.0)
    view = kept[1:]
    assert view.resize_(2, 1).tolist() == [[1], [2]] and view.data_ptr() == kept.data_ptr() + 4
    large = torch.arange(3.0).resize_(100, 100)
    large.fill_(2)
    assert large.sum().item() == 20000 and torch.empty(0).resize_as_(PAIR).shape == (2, 2)
    grown = torch.arange(3.0)
    grown.resize_(40000)[3:].zero_()
    assert grown.sum().item() == 3


def test_resize_leaves_a_tensor_of_that_shape_as_it_is():
    x = torch.arange(6).view(2, 3).t()
    assert x.resize_as_(x).stride() == (1, 3) and x.resize_(3, 2).tolist() == [[0, 3], [1, 4], [2, 5]]
    template = torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)
    assert torch.zeros(120).resize_as_(template, memory_format=torch.preserve_format).stride() == template.stride()
    assert torch.zeros(120).resize_as_(template).stride() == (60, 20, 5, 1)


def test_resize_refuses_what_has_a_gradient():
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.ones(2, requires_grad=True).resize_(3)
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.ones(2).resize_(-3)


def test_a_tensor_that_was_saved_and_resized_is_noticed():
    w, x = torch.ones(2, requires_grad=True), torch.ones(2)
    y = (w * x).sum()
    x.resize_(50000)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_set_takes_the_memory_of_another():
    x, source = torch.empty(0, dtype=torch.int64), torch.arange(6)
    assert x.set_(source) is x and x.data_ptr() == source.data_ptr()
    assert x.set_(source.untyped_storage(), 1, (2, 2), (2, 1)).tolist() == [[1, 2], [3, 4]]
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        x.set_(torch.arange(8).untyped_storage(), 2, (100,))
    with pytest.raises(RuntimeError, match="Could not set tensor"):
        x.set_(torch.ones(2))
    assert torch.arange(6).as_strided_((2, 2), (3, 1), 1).tolist() == [[1, 2], [4, 5]]


def test_taking_on_its_own_memory_counts_as_a_write():
    """As in PyTorch, where only the tensor that changes is written: what it takes memory from is as before."""
    pytorch = pytest.importorskip("torch")
    changes = (lambda t, x, y: x.set_(x), lambda t, x, y: x.set_(x.untyped_storage(), 0, (1,)), lambda t, x, y: x.detach().set_(x),
               lambda t, x, y: t.zeros(1).set_(x), lambda t, x, y: y.set_(x))
    for change in changes:
        versions, read = [], []
        for library in (pytorch, torch):
            x, w = library.ones(2), library.ones(2, requires_grad=True)
            saved = (w * x).sum()
            change(library, x, library.ones(2))
            versions.append(x._version)
            try:
                saved.backward()
                read.append(True)
            except RuntimeError:
                read.append(False)
        assert versions[0] == versions[1] and read[0] == read[1]


# ---------------------------------------------------------------- parts that are several views of one tensor
PARTS = {"unbind": lambda x: x.unbind(), "split": lambda x: x.split(1), "sections": lambda x: x.split([1, 1]),
         "chunk": lambda x: x.chunk(2), "rows": list}


@pytest.mark.parametrize("name", PARTS)
def test_one_of_several_views_cannot_be_written_to(name):
    x = torch.ones(2, 3, requires_grad=True) * 1
    for part in (PARTS[name](x)[0], PARTS[name](x)[0][:1]):
        with pytest.raises(RuntimeError, match=r"Output 0 of \w+ is a view and is being modified inplace. This view is the output of "
                                               r"a function that returns multiple views"):
            part.mul_(2)
    with torch.no_grad():
        PARTS[name](x)[0].mul_(2)
    assert x.detach().sum().item() == 9
    plain = torch.ones(2, 3)
    PARTS[name](plain)[0].mul_(2)                        # nothing to record: as in PyTorch
    assert plain.sum().item() == 9


def test_unsafe_parts_may_be_written_to():
    x = torch.ones(2, 3, requires_grad=True)
    for parts in (torch.unsafe_split(x * 3, 1), torch.unsafe_chunk(x * 3, 2), torch.unsafe_split_with_sizes(x * 3, [1, 1])):
        grad, = torch.autograd.grad(parts[0].mul_(2).sum() + parts[1].sum(), x)
        assert grad.tolist() == [[6] * 3, [3] * 3]


# ---------------------------------------------------------------- calls as PyTorch names and refuses them
def test_operands_go_by_pytorch_names():
    x = torch.tensor([1.0, 4.0])
    assert torch.sqrt(input=x).tolist() == [1, 2] and torch.mul(input=x, other=2).tolist() == [2, 8]
    assert x.mul(other=x).tolist() == [1, 16] and x.clone().mul_(other=2).tolist() == [2, 8]


@pytest.mark.parametrize("call, message", [
    (lambda: torch.exp(1.0), r"exp\(\): argument 'input' \(position 1\) must be Tensor, not float"),
    (lambda: torch.exp(), r"exp\(\) missing 1 required"), (lambda: torch.exp(PAIR, PAIR), r"exp\(\) takes 1 positional"),
    (lambda: torch.relu(input=PAIR, foo=1), r"relu\(\) got an unexpected keyword argument 'foo'"),
    (lambda: torch.exp([1.0]), "must be Tensor, not list"), (lambda: torch.mul(PAIR, "a"), "expected a Tensor or a number, not str"),
])
def test_wrong_calls_name_the_op(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_numpy_functions_give_tensors():
    x = torch.tensor([0.0, 1.0])
    assert isinstance(np.sin(x), torch.Tensor) and torch.allclose(np.sin(x), torch.sin(x))
    assert np.add(np.ones(2), x).dtype is torch.float64 and np.equal(x, 1).dtype is torch.uint8


def test_nodes_have_pytorch_names():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.exp(x)
    z = y * x
    assert type(z.grad_fn).__name__ == "MulBackward0" and type(y.grad_fn).__name__ == "ExpBackward0"
    assert z.grad_fn._saved_self is y and z.grad_fn._saved_other is x and torch.equal(y.grad_fn._saved_result, y)
    with pytest.raises(AttributeError, match="_saved_weight"):
        z.grad_fn._saved_weight
    z.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.grad_fn._saved_self


def test_set_where_gradients_are_wanted():
    x, source = torch.ones(2, requires_grad=True), torch.zeros(3)
    for target in (x, x * 2):
        with pytest.raises(RuntimeError, match=r"in-place operation|a history"):
            target.set_(source)
    with torch.no_grad():
        assert x.set_(source) is x and x.shape == (3,) and x.requires_grad
        with pytest.raises(RuntimeError, match="without a history"):
            torch.enable_grad()(lambda: x * 2)().set_(source)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
