"""Negative and too large indices: which ops count negative ones from the end, and what the others say of them. One row an op."""
import pytest

import numtorch

ROWS = 3
WRAPS = "negative indices count from the end"
MODULO = "indices are taken modulo the size"
SELF = IndexError, "index out of range in self"
PLAIN = IndexError, r"index {} is out of bounds for dimension 0 with size 3"
RUNTIME = RuntimeError, r"index {} is out of bounds for dimension 0 with size 3"


def table(m):
    return m.arange(6.0).reshape(ROWS, 2)


def vector(m):
    return m.arange(3.0)


def written(m, x, i):
    x[i] = 1.0
    return x


# name: (what a negative index means, the error of a bad one, call with a vector of two indices)
OPS = {
    "embedding": (None, SELF, lambda m, i: m.nn.functional.embedding(i, table(m))),
    "embedding, int32": (None, SELF, lambda m, i: m.nn.functional.embedding(i.to(m.int32), table(m))),
    "embedding of a matrix": (None, SELF, lambda m, i: m.nn.functional.embedding(m.stack([i, i]), table(m))),
    "embedding_bag": (None, (RuntimeError, r"Index 1 of input takes value {} which is not in the valid range \[0, 3\)"),
                      lambda m, i: m.nn.functional.embedding_bag(i.reshape(1, 2), table(m))),
    "index_select": (None, SELF, lambda m, i: m.index_select(table(m), 0, i)),
    "index_select of a vector": (None, SELF, lambda m, i: m.index_select(vector(m), 0, i)),
    "gather": (None, RUNTIME, lambda m, i: m.gather(table(m), 0, m.stack([i, i]))),
    "gather of a vector": (None, RUNTIME, lambda m, i: m.gather(vector(m), 0, i)),
    "scatter": (None, RUNTIME, lambda m, i: m.scatter(table(m), 0, m.stack([i, i]), table(m)[:2])),
    "scatter of a number": (None, RUNTIME, lambda m, i: m.scatter(table(m), 0, m.stack([i, i]), 1.0)),
    "scatter_add": (None, RUNTIME, lambda m, i: m.scatter_add(vector(m), 0, i, m.ones(2))),
    "scatter_reduce": (None, RUNTIME, lambda m, i: m.scatter_reduce(vector(m), 0, i, m.ones(2), "amax")),
    "index_add": (None, RUNTIME, lambda m, i: m.index_add(table(m), 0, i, table(m)[:2])),
    "index_add of a vector": (None, SELF, lambda m, i: m.index_add(vector(m), 0, i, m.ones(2))),
    "index_reduce": (None, SELF, lambda m, i: m.index_reduce(table(m), 0, i, table(m)[:2], "amax")),
    "index_copy": (None, (IndexError, r"index_copy_\(\): index {} is out of bounds for dimension 0 with size 3"),
                   lambda m, i: m.index_copy(table(m), 0, i, table(m)[:2])),
    "index_fill": (WRAPS, PLAIN, lambda m, i: m.index_fill(table(m), 0, i, 1.0)),
    "take": (WRAPS, (IndexError, "out of range: tried to access index {} on a tensor of 3 elements."),
             lambda m, i: m.take(vector(m), i)),
    "put": (WRAPS, (IndexError, "out of range: tried to access index {} on a tensor of 3 elements."),
            lambda m, i: vector(m).put_(i, m.ones(2))),
    "x[i]": (WRAPS, PLAIN, lambda m, i: table(m)[i]),
    "x[i] = v": (WRAPS, PLAIN, lambda m, i: written(m, table(m), i)),
    "index_put": (WRAPS, PLAIN, lambda m, i: table(m).index_put((i,), m.tensor(1.0))),
    "take_along_dim": (MODULO, None, lambda m, i: m.take_along_dim(vector(m), i, 0)),
    "one_hot": (None, (RuntimeError, "Class values must be (non-negative|smaller than num_classes)"),
                lambda m, i: m.nn.functional.one_hot(i, ROWS)),
    "cross_entropy": (None, (IndexError, "Target {} is out of bounds"),
                      lambda m, i: m.nn.functional.cross_entropy(table(m).t().contiguous(), i)),
}


def outcome(m, call, index):
    """The result as a list, or the exception."""
    try:
        return call(m, m.tensor([0, index])).tolist()
    except Exception as error:
        return error


@pytest.mark.parametrize("index", [-1, -4, 3])
@pytest.mark.parametrize("name", OPS)
def test_indices_out_of_bounds(name, index):
    meaning, error, call = OPS[name]
    got = outcome(numtorch, call, index)
    if meaning == MODULO or (meaning == WRAPS and index == -1):
        assert got == outcome(numtorch, call, index % ROWS)
    else:
        with pytest.raises(error[0], match=error[1].format(index)):
            raise got


@pytest.mark.parametrize("index", [-1, -4, 3, 2])
@pytest.mark.parametrize("name", OPS)
@pytest.mark.filterwarnings("ignore:.*is in beta")         # PyTorch's
def test_as_in_pytorch(name, index):
    torch = pytest.importorskip("torch")
    ours, theirs = (outcome(m, OPS[name][2], index) for m in (numtorch, torch))
    assert ours == theirs if isinstance(theirs, list) else type(ours) is type(theirs)


WRITES = {
    "scatter_": lambda x, i: x.scatter_(0, i, numtorch.ones(len(i))),
    "scatter_add_": lambda x, i: x.scatter_add_(0, i, numtorch.ones(len(i))),
    "scatter_reduce_": lambda x, i: x.scatter_reduce_(0, i, numtorch.ones(len(i)), "amax"),
    "scatter_ of a matrix": lambda x, i: x.view(-1, 1).scatter_(0, i.view(-1, 1), numtorch.ones(len(i), 1)),
    "index_add_": lambda x, i: x.index_add_(0, i, numtorch.ones(len(i))),
    "index_copy_": lambda x, i: x.index_copy_(0, i, numtorch.ones(len(i))),
    "index_fill_": lambda x, i: x.index_fill_(0, i, 1.0),
    "index_reduce_": lambda x, i: x.index_reduce_(0, i, numtorch.ones(len(i)), "amax"),
    "index_add_ of columns": lambda x, i: x.view(1, -1).index_add_(1, i, numtorch.ones(1, len(i))),
    "put_": lambda x, i: x.put_(i, numtorch.ones(len(i))),
    "x[i] = v": lambda x, i: written(numtorch, x, i),
    "x[i, j] = v": lambda x, i: x.view(-1, 1).index_put_((i, numtorch.zeros_like(i)), numtorch.tensor(1.0)),
    "x[i] += v": lambda x, i: x.index_put_((i,), numtorch.tensor(1.0), accumulate=True),
}


@pytest.mark.parametrize("count", [5, 2000, 70_000])
@pytest.mark.parametrize("name", WRITES)
def test_a_bad_index_leaves_what_it_would_have_written(name, count):
    index = numtorch.arange(count)
    index[-1] = count
    target = numtorch.full((count,), -7.0)
    version = target._version
    with pytest.raises((IndexError, RuntimeError)):
        WRITES[name](target, index)
    assert (target == -7).all() and target._version == version


def test_negative_rows_of_an_embedding_have_no_gradient():
    """A table is not written through an index that forward refuses."""
    weight = table(numtorch).requires_grad_()
    with pytest.raises(IndexError):
        numtorch.nn.functional.embedding(numtorch.tensor([-1]), weight).sum().backward()
    assert weight.grad is None


@pytest.mark.parametrize("count", [7, 400, 3000])
def test_a_bad_index_leaves_what_was_there(count):
    """The last of few, of several blocks and of more indices than are looked at in the call that writes."""
    bad = numtorch.zeros(count, dtype=numtorch.int64)
    bad[-1] = 9
    x, values = numtorch.zeros(3, 4), numtorch.ones(count, 4)
    writes = [lambda: x.__setitem__(bad, 1.0), lambda: x.index_add_(0, bad, values), lambda: x.t().__setitem__((slice(None), bad), 1.0),
              lambda: x.__setitem__((bad, bad), 1.0), lambda: x.scatter_(0, bad[:, None].expand(count, 4), values)]
    for write in writes:
        with pytest.raises((IndexError, RuntimeError), match=r"index 9 is out of|index out of range"):
            write()
        assert not x.any()


WALKS = {                                                # by how the kernel goes through the indices
    "shared by all rows": lambda x, i: x[:, i], "shared, written": lambda x, i: x.scatter(1, i.expand(3, 3), 1.0),
    "of each row": lambda x, i: x.gather(1, numtorch.stack([i, i, i])),
    "with a step": lambda x, i: x.gather(1, numtorch.stack([i, i, i], 1).t()),
    "with a step, written": lambda x, i: x.scatter(1, numtorch.stack([i, i, i], 1).t(), 1.0),
    "of a vector, with a step": lambda x, i: x[0].gather(0, numtorch.stack([i, i], 1)[:, 0]),
    "of rows": lambda x, i: x.t()[i],
}


@pytest.mark.parametrize("name", WALKS)
def test_a_bad_index_is_found_wherever_it_stands(name):
    for place in range(3):
        index = [1, 0, 2]
        index[place] = 9
        with pytest.raises((IndexError, RuntimeError), match="index 9 is out of bounds"):
            WALKS[name](numtorch.arange(12.0).reshape(3, 4), numtorch.tensor(index))


@pytest.mark.parametrize("name, write", [("scatter_add", lambda x, i, v: x.scatter_add_(0, i, v)),
                                         ("index_add", lambda x, i, v: x.index_add_(1, i[:, 0], v)),
                                         ("x[:, i] = v", lambda x, i, v: x.index_put_((numtorch.arange(90), i[0]), v[0]))])
def test_the_first_of_several_bad_indices_is_named_and_nothing_is_written(name, write):
    """Whichever thread has found which."""
    before = numtorch.get_num_threads()
    try:
        for number in (1, 2, 3):
            numtorch.set_num_threads(number)
            for places in ((0, 89), (31, 32), (60, 1)):
                x, index = numtorch.zeros(90, 90), numtorch.zeros(90, 90, dtype=numtorch.int64)
                for value, place in zip((1000, 2000), sorted(places)):
                    index[0, place] = index[place, 0] = value
                with pytest.raises((IndexError, RuntimeError), match="index 1000 is out of bounds"):
                    write(x, index, numtorch.ones(90, 90))
                assert not x.any()
    finally:
        numtorch.set_num_threads(before)
