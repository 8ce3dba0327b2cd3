"""`torch.utils._pytree` in both libraries: classes of a program's own, leaves that could be taken apart, and the keys that lead to leaves."""
from __future__ import annotations

import collections
import importlib

import pytest

import numtorch

torch = pytest.importorskip("torch")
NESTED = {"a": [1, (2, 3)], "b": collections.OrderedDict(c=4), "d": collections.deque([5, [6]]), "e": collections.defaultdict(list, f=7)}


class Output(collections.OrderedDict):
    """A dict with attributes, such as language models return."""

    __getattr__ = collections.OrderedDict.__getitem__


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right

    def __eq__(self, other):
        return type(other) is Pair and (self.left, self.right) == (other.left, other.right)

    __hash__ = None


@pytest.fixture(params=[numtorch, torch], ids=["ours", "theirs"])
def t(request):
    return request.param


@pytest.fixture
def pytree(t):
    """The module, with two classes of ours."""
    module = importlib.import_module(f"{t.__name__}.utils._pytree")
    for kind, *functions in [(Pair, lambda pair: ([pair.left, pair.right], None), lambda parts, rest: Pair(*parts)),
                             (Output, module._dict_flatten, lambda parts, rest: Output(module._dict_unflatten(parts, rest)))]:
        try:
            module.register_pytree_node(kind, *functions, flatten_with_keys_fn=module._dict_flatten_with_keys if kind is Output else None)
        except ValueError as error:
            assert "already registered as pytree node" in str(error)
    return module


def test_classes_of_a_program_are_taken_apart(pytree):
    given = [Pair(1, {"x": Pair(2, 3)}), Output(logits=4, states=(5, 6))]
    leaves, spec = pytree.tree_flatten(given)
    assert leaves == [1, 2, 3, 4, 5, 6] and pytree.tree_unflatten(leaves, spec) == given
    doubled = pytree.tree_map(lambda n: n * 2, given)
    assert doubled[0] == Pair(2, {"x": Pair(4, 6)}) and type(doubled[1]) is Output and doubled[1].states == (10, 12)
    with pytest.raises(ValueError, match="already registered as pytree node"):
        pytree.register_pytree_node(Pair, lambda pair: ([], None), lambda parts, rest: None)


def test_what_python_has_is_taken_apart(pytree):
    leaves, spec = pytree.tree_flatten(NESTED)
    assert leaves == [1, 2, 3, 4, 5, 6, 7]
    again = pytree.tree_unflatten([n + 1 for n in leaves], spec)
    assert again["d"] == collections.deque([6, [7]]) and again["e"] == {"f": 8} and again["e"].default_factory is list


def test_keys_lead_to_leaves(pytree):
    pairs, spec = pytree.tree_flatten_with_path([NESTED, Output(logits=8)])
    assert [pytree.keystr(path) for path, leaf in pairs] == [
        "[0]['a'][0]", "[0]['a'][1][0]", "[0]['a'][1][1]", "[0]['b']['c']", "[0]['d'][0]", "[0]['d'][1][0]", "[0]['e']['f']", "[1]['logits']"]
    assert [leaf for path, leaf in pairs] == list(range(1, 9))
    assert pytree.tree_map_with_path(lambda path, a, b: (len(path), a + b), [1, [2]], [3, [4]]) == [(1, 4), [(2, 6)]]
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        pytree.tree_flatten_with_path(Pair(1, 2))


def test_a_function_says_what_is_a_leaf(pytree):
    def short(part):
        return isinstance(part, list) and len(part) < 2
    assert pytree.tree_leaves([[1], [2, [3]]], is_leaf=short) == [[1], 2, [3]]
    assert pytree.tree_map(len, ["ab", ["c"]], is_leaf=short) == [2, 1]
    assert pytree.tree_all(lambda part: part == [1], [[1]], is_leaf=lambda part: part == [1])


def test_functions_of_func_take_and_return_such_classes(t, pytree):
    x = t.arange(6.).reshape(2, 3)
    mapped = t.func.vmap(lambda pair: Output(total=pair.left.sum() + pair.right))(Pair(x, t.ones(2)))
    assert type(mapped) is Output and mapped.total.tolist() == [4., 13.]
    parted = t.func.vmap(lambda pair: pair.left + pair.right, in_dims=(Pair(0, None),))(Pair(x, t.ones(3)))
    assert parted.tolist() == (x + 1).tolist()
    slopes = t.func.grad(lambda pair: (pair.left * pair.right).sum())(Pair(x[0], x[1]))
    assert slopes.left.tolist() == [3., 4., 5.]
