"""What people mistype: the class of the error is PyTorch's, and its words are, or they say more.

The same tables run on PyTorch where that is installed: the one below, of what takes some lines, and mistakes.tsv, of expressions.
"""
from __future__ import annotations

import copy
import csv
import operator
import re
import warnings
from pathlib import Path

import numpy as np
import pytest


class Other:
    """An operand that knows what to do with tensors."""

    def __radd__(self, other):
        return "radd"

    __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = __rmatmul__ = __rand__ = __rlshift__ = __gt__ = __eq__ = __radd__


def module_without_init(t):
    class Net(t.nn.Module):
        def __init__(self):
            self.layer = t.nn.Linear(2, 2)
    return Net()


def backward_twice(t):
    loss = (t.ones(2, requires_grad=True) ** 2).sum()
    loss.backward()
    loss.backward()


def weight(t):
    return t.ones(2, requires_grad=True)


# by name: what is typed, the class of the error, words of PyTorch's message
MISTAKES = {
    # data
    "a text": (lambda t: t.tensor("a"), TypeError, "new(): invalid data type 'str'"),
    "texts": (lambda t: t.tensor(["a"]), ValueError, "too many dimensions 'str'"),
    "texts among numbers": (lambda t: t.tensor([1, "a"]), TypeError, "invalid data type 'str'"),
    "uneven lists": (lambda t: t.tensor([[1, 2], [3]]), ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
    "uneven lists inside": (lambda t: t.tensor([[[1], [2]], [[1], [2, 3]]]), ValueError, "expected sequence of length 1 at dim 2 (got 2)"),
    "an empty list among lists": (lambda t: t.tensor([[1, 2], []]), ValueError, "expected sequence of length 2 at dim 1 (got 0)"),
    "a number among lists": (lambda t: t.tensor([[1, 2], 3]), TypeError, "not a sequence"),
    "a list among numbers": (lambda t: t.tensor([1, [2]]), TypeError, "'list' object cannot be interpreted as a"),
    "nothing": (lambda t: t.tensor(None), RuntimeError, "Could not infer dtype of NoneType"),
    "nothing among numbers": (lambda t: t.tensor([1, None]), RuntimeError, "Could not infer dtype of NoneType"),
    "a dict": (lambda t: t.tensor({}), RuntimeError, "Could not infer dtype of dict"),
    "an object": (lambda t: t.tensor(object()), RuntimeError, "Could not infer dtype of object"),
    "a large int": (lambda t: t.tensor([2 ** 70]), ValueError, "Overflow when unpacking long long"),
    "a text as dtype": (lambda t: t.ones(2, dtype="float32"), TypeError, "dtype"),
    "a text as size": (lambda t: t.ones("2"), TypeError, "ints|integers"),
    "an unknown device": (lambda t: t.ones(2, device="gpu"), RuntimeError, "device type at start of device string: gpu"),
    "a negative size": (lambda t: t.zeros(-1), RuntimeError, "(?i)dimension"),
    # shapes
    "view": (lambda t: t.ones(2, 3).view(4), RuntimeError, "shape '[4]' is invalid for input of size 6"),
    "reshape": (lambda t: t.ones(6).reshape(4, -1), RuntimeError, "shape '[4, -1]' is invalid for input of size 6"),
    "cat": (lambda t: t.cat([t.ones(2, 3), t.ones(3, 2)]), RuntimeError, "Sizes of tensors must match except in dimension 0"),
    "stack": (lambda t: t.stack([t.ones(2), t.ones(3)]), RuntimeError, "stack expects each tensor to be equal size"),
    "a product": (lambda t: t.ones(2, 3) @ t.ones(2, 3), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    "a sum": (lambda t: t.ones(2) + t.ones(3), RuntimeError, "must match the size of tensor b (3) at non-singleton dimension 0"),
    "a dimension": (lambda t: t.ones(2).sum(3), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 3)"),
    "expand": (lambda t: t.ones(2).expand(3), RuntimeError, "must match the existing size (2) at non-singleton dimension 0"),
    "split": (lambda t: t.ones(3).split([1, 1]), RuntimeError, "split_with_sizes expects split_sizes to sum exactly to 3"),
    "topk": (lambda t: t.ones(2).topk(3), RuntimeError, "selected index k out of range"),
    "einsum, an operand less": (lambda t: t.einsum("ij,jk", t.ones(2, 2)), RuntimeError, "einsum(): fewer operands were provided than"),
    "einsum, an operand more": (lambda t: t.einsum("ij", t.ones(2, 2), t.ones(2)), RuntimeError, "einsum(): more operands were provided"),
    "einsum, a letter": (lambda t: t.einsum("ij->k", t.ones(2, 2)), RuntimeError, "output subscript k"),
    # elements
    "an index": (lambda t: t.ones(2)[5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    "indices": (lambda t: t.ones(2)[0, 0], IndexError, "too many indices for tensor of dimension 1"),
    "a mask": (lambda t: t.ones(2)[t.ones(3) > 0], IndexError, "shape of the mask [3] at index 0 does not match"),
    "gather": (lambda t: t.ones(2).gather(0, t.tensor([3])), RuntimeError, "index 3 is out of bounds for dimension 0 with size 2"),
    "item": (lambda t: t.ones(2).item(), RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"),
    "a truth value": (lambda t: bool(t.ones(2)), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
    "a length": (lambda t: len(t.tensor(1)), TypeError, "len() of a 0-d tensor"),
    "a loop": (lambda t: list(t.tensor(1)), TypeError, "iteration over a 0-d tensor"),
    # operators
    "a text as operand": (lambda t: t.ones(2) + "a", TypeError, r"unsupported operand type\(s\) for \+: 'Tensor' and 'str'"),
    "nothing as operand": (lambda t: t.ones(2) * None, TypeError, r"unsupported operand type\(s\) for \*: 'Tensor' and 'NoneType'"),
    "nothing in a power": (lambda t: t.ones(2) ** None, TypeError, r"unsupported operand type\(s\) for \*\*"),
    "a text added in place": (lambda t: t.ones(2).__iadd__("a") is NotImplemented and t.foo, AttributeError, "foo"),
    "a comparison": (lambda t: t.ones(2) < "a", TypeError, "'<' not supported between instances of 'Tensor' and 'str'"),
    "after a text": (lambda t: "a" - t.ones(2), TypeError, "unsupported|must be Tensor, not str"),
    # gradients
    "backward of several": (lambda t: (weight(t) * 2).backward(), RuntimeError, "grad can be implicitly created only for scalar outputs"),
    "backward of numbers": (lambda t: t.ones(2).sum().backward(), RuntimeError, "does not require grad and does not have a grad_fn"),
    "backward twice": (backward_twice, RuntimeError, "Trying to backward through the graph a second time"),
    "numpy": (lambda t: weight(t).numpy(), RuntimeError, "Use tensor.detach().numpy() instead"),
    "integers": (lambda t: t.ones(2).long().requires_grad_(), RuntimeError, "only Tensors of floating point"),
    "a leaf in place": (lambda t: weight(t).add_(1), RuntimeError, "a leaf Variable that requires grad is being used in an in-place"),
    # layers and losses
    "linear": (lambda t: t.nn.Linear(3, 4)(t.ones(2, 5)), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x5 and 3x4)"),
    "convolution": (lambda t: t.nn.Conv2d(3, 4, 3)(t.ones(1, 1, 8, 8)), RuntimeError, "expected input[1, 1, 8, 8] to have 3 channels"),
    "classes out of range": (lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 3])), IndexError, "Target 3 is out of bounds."),
    "float classes": (lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.ones(2)), RuntimeError, "to be Long or Byte, but got Float"),
    "embedding of floats": (lambda t: t.nn.Embedding(3, 2)(t.ones(2)), RuntimeError, "embedding"),
    "attention": (lambda t: t.nn.MultiheadAttention(5, 2), AssertionError, "embed_dim must be divisible by num_heads"),
    "one value a channel": (lambda t: t.nn.BatchNorm1d(3)(t.ones(1, 3)), ValueError, "Expected more than 1 value per channel when training"),
    "dropout": (lambda t: t.nn.Dropout(2.0), ValueError, "dropout probability has to be between 0 and 1, but got 2.0"),
    "no super().__init__()": (module_without_init, AttributeError, "cannot assign module before Module.__init__() call"),
    "a tensor for a parameter": (lambda t: setattr(t.nn.Linear(2, 2), "weight", t.ones(2, 2)), TypeError, "cannot assign"),
    "no such attribute": (lambda t: t.nn.Linear(2, 2).foo, AttributeError, "'Linear' object has no attribute 'foo'"),
    "a state of another shape": (lambda t: t.nn.Linear(2, 2).load_state_dict({"weight": t.ones(3, 2)}), RuntimeError, "loading state_dict"),
    # draws and optimisers
    "no probability": (lambda t: t.multinomial(t.zeros(3), 1), RuntimeError, "invalid multinomial distribution (sum of probabilities <= 0)"),
    "a negative probability": (lambda t: t.multinomial(t.tensor([-1.0, 2.0]), 1), RuntimeError, "`inf`, `nan` or element < 0"),
    "an empty range": (lambda t: t.randint(5, 5, (2,)), RuntimeError, "random_ expects 'from' to be less than 'to', but got from=5 >= to=5"),
    "no parameters": (lambda t: t.optim.SGD([], lr=0.1), ValueError, "optimizer got an empty parameter list"),
    "a tensor of parameters": (lambda t: t.optim.SGD(weight(t), lr=0.1), TypeError, "params argument given to the optimizer should be"),
    "a result as parameter": (lambda t: t.optim.SGD([weight(t) * 2], lr=0.1), ValueError, "can't optimize a non-leaf Tensor"),
    "a negative rate": (lambda t: t.optim.SGD([weight(t)], lr=-1.0), ValueError, "Invalid learning rate: -1.0"),
}
IS_PATTERN = re.compile(r"\\|\(\?|\|")


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(torch, name):
    typed, kind, words = MISTAKES[name]
    with pytest.raises(kind, match=words if IS_PATTERN.search(words) else re.escape(words)) as caught:
        typed(torch)
    error = caught.value
    assert torch.__name__ == "torch" or (error.__cause__ is None and (error.__context__ is None or error.__suppress_context__))


with open(Path(__file__).with_name("mistakes.tsv"), newline="") as _file:
    EXPRESSIONS = list(csv.DictReader(_file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_the_table_of_expressions_is_whole():
    """At least as many as were typed beside PyTorch when this table was begun, each once, and most of them with PyTorch's words."""
    assert len({row["expression"] for row in EXPRESSIONS}) == len(EXPRESSIONS) >= 368
    assert sum(row["PyTorch has them"] == "yes" for row in EXPRESSIONS) > 300


@pytest.mark.parametrize("section", dict.fromkeys(row["section"] for row in EXPRESSIONS))
def test_mistaken_expressions(torch, section):
    theirs, wrong = torch.__name__ == "torch", {}
    for row in [row for row in EXPRESSIONS if row["section"] == section]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wrong[row["expression"]] = eval(row["expression"], {"torch": torch, "numpy": np, "copy": copy})
            except Exception as error:
                words = row["words"] if not theirs or row["PyTorch has them"] == "yes" else ""
                if type(error).__name__.lstrip("_") != row["class"] or words not in str(error):
                    wrong[row["expression"]] = f"{type(error).__name__}: {error}"
    assert wrong == {}


@pytest.mark.parametrize("typed", [
    lambda x, o: x + o, lambda x, o: x - o, lambda x, o: x * o, lambda x, o: x / o, lambda x, o: x ** o, lambda x, o: x @ o,
    lambda x, o: x & o, lambda x, o: x << o, lambda x, o: x < o, lambda x, o: x == o,
], ids=["+", "-", "*", "/", "**", "@", "&", "<<", "<", "=="])
def test_the_other_operand_is_asked(torch, typed):
    assert typed(torch.ones(2, dtype=torch.int64), Other()) == "radd"


def test_the_other_operand_is_asked_in_place(torch):
    x = torch.ones(2)
    x += Other()
    assert x == "radd"


# What an array on the left does with a tensor, in place or not: all are TypeErrors but the quotient, which is a new tensor.
ON_THE_LEFT = ("add", "sub", "mul", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift", "truediv")


@pytest.mark.parametrize("name", [each for name in ON_THE_LEFT for each in (name, "i" + name.strip("_"))])
@pytest.mark.parametrize("shape", [(2, 2), ()])
def test_arrays_on_the_left(torch, name, shape):
    typed = getattr(operator, name)
    for kind in (np.float32, np.int64):
        array = np.full(shape, 3, kind)
        for dtype in (torch.float32, torch.int64):
            tensor = torch.full((2, 2), 2, dtype=dtype)
            if name.endswith("truediv"):
                found = typed(array, tensor)
                assert isinstance(found, torch.Tensor) and found.tolist() == [[1.5, 1.5]] * 2
            else:
                with pytest.raises(TypeError) as caught:
                    typed(array, tensor)
                assert torch.__name__ == "torch" or "matmul" in name or re.search(r"expected a tensor.*from_numpy\(array\)", str(caught.value))
            assert (array == 3).all() and (tensor == 2).all()
    assert isinstance(typed(np.int64(3), torch.ones(2, dtype=torch.int64)) if "matmul" not in name else torch.ones(1), torch.Tensor)


def test_images_are_not_guessed():
    import numtorch
    image = pytest.importorskip("PIL.Image").new("RGB", (3, 2))
    with pytest.raises(RuntimeError, match=r"Could not infer dtype of Image.*from_numpy\(numpy.array\(x\)\)"):
        numtorch.tensor(image)


@pytest.mark.parametrize("mode, states, words", [
    ("LSTM", lambda t: t.zeros(1, 2, 4), r"LSTM: expected hx to be a pair \(h_0, c_0\) of tensors, got Tensor"),
    ("GRU", lambda t: (t.zeros(1, 2, 4), t.zeros(1, 2, 4)), "GRU: expected hx to be one tensor h_0, got tuple of 2"),
])
def test_states_of_recurrent_layers(mode, states, words):
    """PyTorch speaks of an index out of bounds, or of a missing attribute."""
    import numtorch
    with pytest.raises(TypeError, match=words):
        getattr(numtorch.nn, mode)(3, 4)(numtorch.ones(5, 2, 3), states(numtorch))
