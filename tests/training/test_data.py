"""Datasets, samplers, loaders, and the digits."""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pytest

import numtorch as torch
from numtorch import data
from numtorch.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    digits,
    digits_split,
    random_split,
)


class Squares(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        if not 0 <= index < 5:
            raise IndexError(index)
        return index * index


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(5))

    def __len__(self):
        return 5


def test_pytorchs_names():
    from numtorch.utils import data as there
    assert there.DataLoader is data.DataLoader and set(there.__all__) == set(data.__all__)


# ---------------------------------------------------------------- digits
def test_digits():
    images, labels = digits()
    assert images.shape == (1797, 1, 8, 8) and images.dtype is torch.float32 and labels.dtype is torch.int64
    assert images.min().item() == 0 and images.max().item() == 1
    assert np.bincount(labels.numpy()).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    np.testing.assert_array_equal(images[0, 0, 0].numpy() * 16, [0, 0, 5, 13, 9, 1, 0, 0])


def test_digits_split():
    training, training_labels, test, test_labels = digits_split(0.25, seed=3)
    assert len(training) + len(test) == 1797 and len(test_labels) == len(test) and len(training_labels) == len(training)
    images, _ = digits()

    def rows(x):
        return sorted(map(bytes, x.numpy().reshape(len(x), -1)))

    assert sorted(rows(training) + rows(test)) == rows(images)
    share = np.bincount(test_labels.numpy()) / np.bincount(digits()[1].numpy())
    assert np.all(np.abs(share - 0.25) < 0.01)
    assert torch.equal(digits_split(0.25, seed=3)[0], training) and not torch.equal(digits_split(0.25, seed=4)[0], training)
    with pytest.raises(ValueError, match="test_share"):
        digits_split(1.5)


# ---------------------------------------------------------------- datasets
def test_tensor_dataset():
    dataset = TensorDataset(torch.arange(6).reshape(3, 2), torch.arange(3))
    x, y = dataset[1]
    assert len(dataset) == 3 and x.tolist() == [2, 3] and y.item() == 1
    with pytest.raises(AssertionError, match="Size mismatch"):
        TensorDataset(torch.zeros(3), torch.zeros(4))


def test_sums_and_parts():
    both = Squares() + Squares()
    assert isinstance(both, ConcatDataset) and len(both) == 10 and both[6] == 1 and both[-1] == 16
    assert list(ChainDataset([Stream(), Stream()])) == [0, 1, 2, 3, 4] * 2
    assert [Subset(Squares(), [4, 2])[i] for i in range(2)] == [16, 4]
    assert StackDataset(Squares(), Squares())[3] == (9, 9) and StackDataset(a=Squares())[2] == {"a": 4}
    assert list(both) == [0, 1, 4, 9, 16] * 2            # ended by the IndexError
    with pytest.raises(ValueError, match="absolute value of index"):
        both[-11]
    with pytest.raises(ValueError, match="At least one dataset"):
        StackDataset()


@pytest.mark.parametrize(("lengths", "sizes"), [([3, 2], [3, 2]), ([0.5, 0.5], [3, 2]), ([0.4, 0.2, 0.4], [2, 1, 2]), ([5, 0], [5,
                                                                                                                                0])])
def test_random_split(lengths, sizes):
    parts = random_split(Squares(), lengths, generator=torch.Generator().manual_seed(0))
    assert [len(p) for p in parts] == sizes
    assert sorted(p[i] for p in parts for i in range(len(p))) == [0, 1, 4, 9, 16]


def test_random_split_errors():
    with pytest.raises(ValueError, match="does not equal the length"):
        random_split(Squares(), [3, 3])


# ---------------------------------------------------------------- samplers
def test_samplers():
    assert list(SequentialSampler(Squares())) == [0, 1, 2, 3, 4]
    assert sorted(RandomSampler(Squares())) == [0, 1, 2, 3, 4]
    assert len(list(RandomSampler(Squares(), num_samples=12))) == 12
    endless = iter(RandomSampler(Squares(), replacement=True, num_samples=10 ** 10))
    assert {next(endless) for _ in range(2000)} == {0, 1, 2, 3, 4}
    assert len(list(RandomSampler(Squares(), replacement=True, num_samples=1025))) == 1025
    drawn = list(RandomSampler(Squares(), replacement=True, num_samples=100))
    assert len(drawn) == 100 and set(drawn) == {0, 1, 2, 3, 4}
    assert sorted(SubsetRandomSampler([7, 3, 5])) == [3, 5, 7]
    assert set(WeightedRandomSampler([0.0, 1.0, 0.0, 2.0], 50)) == {1, 3}
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]] and len(BatchSampler(range(5), 2, False)) == 3
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]] and len(BatchSampler(range(5), 2, True)) == 2


def test_the_generator_decides():
    def order(seed):
        return list(RandomSampler(range(50), generator=torch.Generator().manual_seed(seed)))
    assert order(1) == order(1) != order(2)


# ---------------------------------------------------------------- batches
Pair = namedtuple("Pair", ["x", "y"])


def test_what_examples_are_is_said_in_brackets():
    class Named(Dataset[list[int]]):
        pass

    class Stream(IterableDataset["torch.Tensor"]):
        pass
    for kind in (DataLoader, Subset, ConcatDataset, StackDataset, data.Sampler, Dataset, IterableDataset):
        assert kind[int].__origin__ is kind
    assert issubclass(Named, Dataset) and issubclass(Stream, IterableDataset)


@pytest.mark.parametrize("workers", [{}, {"num_workers": 1}, {"num_workers": 2, "persistent_workers": True}], ids=str)
def test_a_pass_goes_on_behind_an_example_that_raises(workers):
    class Broken(Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            return 1 // (index - 2) if index == 2 else index
    for batch_size, wanted in ((1, [[0], [1], "error", [3], [4], [5]]), (2, [[0, 1], "error", [4, 5]]), (None, [0, 1, "error", 3, 4, 5])):
        loader = DataLoader(Broken(), batch_size, **workers)
        for _ in range(2):
            batches, seen = iter(loader), []
            assert len(batches) == len(wanted)
            for _ in wanted:
                try:
                    batch = next(batches)
                    seen.append(batch if batch_size is None else batch.tolist())
                except ZeroDivisionError:
                    seen.append("error")
            assert seen == wanted
            with pytest.raises(StopIteration):
                next(batches)


class Rows(list):
    pass


@pytest.mark.parametrize("batch, wanted", [
    ([range(2), range(2, 4)], [[0, 2], [1, 3]]), ([Rows([1, 2]), Rows([3, 4])], Rows([[1, 3], [2, 4]])),
    ([deque([1, 2]), deque([3, 4])], deque([[1, 3], [2, 4]])), ([MappingProxyType({"a": 1})], {"a": [1]}),
    ([defaultdict(int, a=1), defaultdict(int, a=2)], defaultdict(int, a=[1, 2])), ([np.str_("a"), np.str_("b")], ["a", "b"]),
    ([OrderedDict(b=1, a=2)], OrderedDict(b=[1], a=[2])),
], ids=lambda v: type(v[0]).__name__ if isinstance(v, list) and v else "")
def test_collate_keeps_the_kind_of_containers(batch, wanted):
    found = default_collate(batch)
    items = {k: v.tolist() for k, v in found.items()} if isinstance(found, Mapping) else \
        [v.tolist() if isinstance(v, torch.Tensor) else v for v in found]
    assert items == (dict(wanted) if isinstance(wanted, Mapping) else list(wanted))
    assert type(found) is (MappingProxyType if isinstance(batch[0], MappingProxyType) else type(wanted))
    assert getattr(found, "default_factory", None) is getattr(wanted, "default_factory", None)
    assert type(default_convert(batch[0])) is (list if isinstance(batch[0], range) else type(batch[0]))


def test_collate():
    assert default_collate([1, 2]).dtype is torch.int64 and default_collate([1.5, 2.5]).dtype is torch.float64
    assert default_collate([True, False]).tolist() == [True, False]
    assert default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate([torch.ones(2), torch.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    assert default_collate([np.ones(2), np.zeros(2)]).shape == (2, 2)
    assert default_collate([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])["a"].tolist() == [1, 2]
    first, second = default_collate([(1, 2.0), (3, 4.0)])
    assert first.tolist() == [1, 3] and second.tolist() == [2.0, 4.0]
    assert default_collate([Pair(1, 2), Pair(3, 4)]).y.tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([(1,), (1, 2)])
    with pytest.raises(TypeError, match="must contain"):
        default_collate([object()])
    assert isinstance(default_convert({"a": [np.ones(2)]})["a"][0], torch.Tensor)


@pytest.mark.parametrize("make", [lambda x, y: TensorDataset(x, y),
                                  lambda x, y: Subset(TensorDataset(x.flip(0), y.flip(0)), list(range(6, -1, -1))),
                                  lambda x, y: list(zip(x, y))])
def test_loader(make):
    x, y = torch.arange(14.0).reshape(7, 2), torch.arange(7)
    loader = DataLoader(make(x, y), batch_size=3)
    batches = list(loader)
    assert len(loader) == len(batches) == 3 and [len(b[0]) for b in batches] == [3, 3, 1]
    assert torch.equal(torch.cat([b[0] for b in batches]), x) and torch.equal(torch.cat([b[1] for b in batches]), y)
    assert len(list(DataLoader(make(x, y), batch_size=3, drop_last=True))) == 2


def test_loader_shuffles_anew():
    loader = DataLoader(TensorDataset(torch.arange(64)), batch_size=64, shuffle=True)
    (first,), (second,) = next(iter(loader)), next(iter(loader))
    assert sorted(first.tolist()) == list(range(64)) and first.tolist() != second.tolist()


def test_loader_variants():
    assert [b.tolist() for b in DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert list(DataLoader(Stream(), batch_size=None)) == [0, 1, 2, 3, 4]
    for options in (dict(batch_size=2), dict(batch_size=2, drop_last=True), dict(batch_size=None)):
        loader = DataLoader(Stream(), **options)
        assert len(loader) == len(list(loader))
    assert list(DataLoader(Squares(), batch_size=None)) == [0, 1, 4, 9, 16]
    assert list(DataLoader(Squares(), batch_sampler=[[4, 0]], collate_fn=sum)) == [16]
    assert [b.tolist() for b in DataLoader(Squares(), batch_size=2, sampler=[3, 1])] == [[9, 1]]


def test_no_worker_in_this_process():
    assert torch.utils.data.get_worker_info() is None


def test_batch_gradients_do_not_leak_into_the_dataset():
    x = torch.ones(4, 2)
    for batch, in DataLoader(TensorDataset(x), batch_size=2):
        batch.mul_(0)
    assert x.sum().item() == 8


@pytest.mark.parametrize(("options", "message"), [
    (dict(shuffle=True, sampler=[0]), "mutually exclusive"), (dict(batch_sampler=[[0]], batch_size=2), "mutually exclusive"),
    (dict(batch_size=None, drop_last=True), "mutually exclusive"), (dict(batch_size=0), "positive integer"),
    (dict(num_workers=-1), "non-negative"), (dict(timeout=-1), "timeout option"), (dict(prefetch_factor=2), "prefetch_factor"),
    (dict(persistent_workers=True), "num_workers > 0")])
def test_loader_errors(options, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(Squares(), **options)


@pytest.mark.parametrize(("make", "kind", "message"), [
    (lambda: RandomSampler([]), ValueError, "num_samples=0"), (lambda: RandomSampler([1], replacement=3), TypeError, "boolean"),
    (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, "1d sequence"),
    (lambda: WeightedRandomSampler([1.0], 1, 2), ValueError, "boolean")])
def test_sampler_errors(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


# ---------------------------------------------------------------- where a pass is
def seeded():
    return torch.Generator().manual_seed(3)


STATEFUL = {                                             # what makes a loader over twenty numbers
    "in order": lambda: DataLoader(range(20), 3), "shuffled": lambda: DataLoader(range(20), 3, shuffle=True),
    "of a generator": lambda: DataLoader(range(20), 3, shuffle=True, generator=seeded()),
    "longer": lambda: DataLoader(range(20), 3, sampler=RandomSampler(range(20), num_samples=50, generator=seeded())),
    "replaced": lambda: DataLoader(range(20), 3, sampler=RandomSampler(range(20), replacement=True)),
    "subset": lambda: DataLoader(range(20), 3, sampler=SubsetRandomSampler(list(range(12)))),
    "weighted": lambda: DataLoader(range(20), 3, sampler=WeightedRandomSampler(np.arange(20.0), 17)),
    "batch sampler": lambda: DataLoader(range(20), batch_sampler=BatchSampler(RandomSampler(range(20)), 3, True)),
    "single": lambda: DataLoader(range(20), None, shuffle=True), "iterable": lambda: DataLoader(Stream(), 1),
    "distributed": lambda: DataLoader(range(20), 3, sampler=data.DistributedSampler(range(20), 2, 1)),
    "tensors": lambda: DataLoader(TensorDataset(torch.arange(20)), 3, shuffle=True),
}


@pytest.mark.parametrize("name", STATEFUL)
@pytest.mark.parametrize("taken", [0, 1, 4])
def test_a_pass_goes_on_elsewhere(name, taken):
    """From the state of one loader, another goes on with the same batches, in this pass and, with a generator, in the next."""
    def values(batches):
        return [np.asarray(batch[0] if isinstance(batch, list) else batch).tolist() for batch in batches]

    torch.manual_seed(1)
    first, second = STATEFUL[name](), STATEFUL[name]()
    list(second), list(first)                            # passes before do not matter
    pass_ = iter(first)
    for _ in range(taken):
        next(pass_)
        torch.rand(5)                                    # nor what else is drawn
    state, stream = first.state_dict(), torch.get_rng_state()
    rest = values(pass_) + values(first)
    second.load_state_dict(state)
    torch.set_rng_state(stream)
    assert values(second) + values(second) == rest and len(rest) > 3


def test_orders_do_not_hang_on_what_is_drawn_between():
    def order(draws):
        torch.manual_seed(0)
        numbers = []
        for number in RandomSampler(range(10), num_samples=30):
            numbers.append(number)
            torch.rand(draws)
        return numbers
    assert order(0) == order(7)


class Ragged(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, number):
        if number == 4:
            raise KeyError("gone")
        return torch.zeros(2 + (number == 1))


@pytest.mark.skipif(not hasattr(BaseException, "add_note"), reason="notes came with Python 3.11")
@pytest.mark.parametrize(("options", "kind", "note"), [
    (dict(batch_size=3), RuntimeError, "these were examples [0, 1, 2] of Ragged"), (dict(sampler=[0, 4], batch_size=2), KeyError, "this was example 4 of Ragged"),
    (dict(batch_size=None, sampler=[4]), KeyError, "this was example 4 of Ragged")])
def test_errors_name_the_example(options, kind, note):
    with pytest.raises(kind) as raised:
        list(DataLoader(Ragged(), **options))
    assert raised.value.__notes__ == [f"DataLoader: {note}"]


class Torn(IterableDataset):
    def __iter__(self):
        yield from [torch.zeros(2), torch.zeros(2), torch.zeros(3)]
        raise OSError("cannot read on")


@pytest.mark.skipif(not hasattr(BaseException, "add_note"), reason="notes came with Python 3.11")
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(("batch_size", "kind", "taken"), [(None, OSError, 3), (2, OSError, 3), (3, RuntimeError, 3), (1, OSError, 3)])
def test_errors_say_how_far_a_stream_was_read(batch_size, kind, taken, workers):
    with pytest.raises(kind) as raised:
        list(DataLoader(Torn(), batch_size=batch_size, num_workers=workers))
    assert f"DataLoader: this was after {taken} examples of Torn" in raised.value.__notes__
