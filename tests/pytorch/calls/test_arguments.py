"""What is no tensor is refused where one is expected, by PyTorch's exception, which names the function, the argument and what came."""
import contextlib
import doctest
import inspect
import io

import numpy as np
import pytest

import numtorch as torch
import numtorch.nn.functional as F

X = torch.ones(2, 2)
I = torch.zeros(2, 2, dtype=torch.int64)

# Each is called with a list in place of its first tensor.
FIRST = {
    "add": (X,), "exp": (), "sum": (0,), "mean": (), "var": (), "norm": (), "amax": (0,), "argmax": (), "max": (0,), "median": (0,), "mode": (), "logsumexp": (0,), "cumsum": (0,),
    "cumprod": (0,), "cummax": (0,), "logcumsumexp": (0,), "diff": (), "trapezoid": (), "sort": (), "argsort": (), "topk": (1,), "kthvalue": (1,), "quantile": (0.5,), "unique": (),
    "bincount": (), "histc": (), "searchsorted": (X,), "matmul": (X,), "mm": (X,), "bmm": (X,), "mv": (X,), "dot": (X,), "kron": (X,), "cross": (X,), "cdist": (X,), "tensordot": (X, 1), "combinations": (),
    "vander": (), "reshape": ((2, 2),), "permute": ((1, 0),), "transpose": (0, 1), "squeeze": (), "unsqueeze": (0,), "flatten": (), "unflatten": (0, (1, 2)), "movedim": (0, 1),
    "broadcast_to": ((2, 2),), "flip": (0,), "roll": (1,), "rot90": (), "tile": (2,), "repeat_interleave": (2,), "split": (1,), "chunk": (2,), "tensor_split": (2,), "hsplit": (2,),
    "select": (0, 0), "narrow": (0, 0, 1), "diagonal": (), "diag": (), "diag_embed": (), "tril": (), "trace": (), "gather": (0, I), "index_select": (0, I[0]), "take": (I,),
    "take_along_dim": (I, 0), "masked_select": (X,), "masked_fill": (X > 0, 1), "nonzero": (), "softmax": (0,), "bernoulli": (), "poisson": (), "multinomial": (1,), "clone": (),
    "isclose": (X,), "equal": (X,), "nan_to_num": (), "renorm": (2, 0, 1.0), "cartesian_prod": (X,), "real": (), "view_as_complex": (), "complex": (X,), "polar": (X,), "gradient": (),
    "F.linear": (X,), "F.conv1d": (X[None],), "F.conv2d": (X[None, None],), "F.max_pool2d": (2,), "F.avg_pool2d": (2,), "F.adaptive_avg_pool2d": (1,), "F.adaptive_max_pool1d": (1,),
    "F.batch_norm": (None, None), "F.layer_norm": ((2,),), "F.rms_norm": ((2,),), "F.group_norm": (1,), "F.instance_norm": (), "F.local_response_norm": (2,), "F.normalize": (),
    "F.cross_entropy": (X,), "F.nll_loss": (X,), "F.mse_loss": (X,), "F.l1_loss": (X,), "F.binary_cross_entropy": (X,), "F.binary_cross_entropy_with_logits": (X,), "F.kl_div": (X,),
    "F.cosine_similarity": (X,), "F.triplet_margin_loss": (X, X), "F.multi_margin_loss": (X,), "F.dropout": (), "F.relu": (), "F.glu": (), "F.prelu": (X,), "F.hardtanh": (),
    "F.pad": ((1, 1),), "F.interpolate": (2,), "F.grid_sample": (X,), "F.unfold": (2,), "F.fold": (2, 2), "F.pixel_shuffle": (2,), "F.one_hot": (), "F.embedding_bag": (X,),
}
# ... and each of these in place of its second one.
SECOND = ["matmul", "mm", "mv", "F.linear", "dot", "kron", "cross", "cdist", "isclose", "equal", "take_along_dim", "masked_select", "complex", "polar", "F.mse_loss", "F.cross_entropy", "F.nll_loss",
          "F.binary_cross_entropy", "F.kl_div", "F.cosine_similarity", "F.conv2d", "F.prelu", "F.embedding", "F.grid_sample"]


def function(name):
    *module, name = name.split(".")
    return getattr({"": torch, "F": F, "fft": torch.fft, "linalg": torch.linalg, "Tensor": torch.Tensor}["".join(module)], name)


@pytest.mark.parametrize("name", FIRST)
def test_what_is_no_tensor(name):
    with pytest.raises(TypeError, match=r"must be Tensor, not list|Tensor or a number, not list"):
        function(name)([1.0, 2.0], *FIRST[name])


@pytest.mark.parametrize("name", ["softmax", "logsumexp", "F.linear", "F.layer_norm", "F.cross_entropy", "F.conv2d", "F.max_pool2d", "F.normalize", "F.local_response_norm", "F.one_hot"])
def test_none_is_no_tensor(name):
    """Only what may be left out may be None."""
    with pytest.raises(TypeError, match="must be Tensor, not NoneType"):
        function(name)(None, *FIRST[name])


@pytest.mark.parametrize("name", SECOND)
def test_what_is_no_second_tensor(name):
    with pytest.raises(TypeError, match=r"\(position 2\) must be Tensor, not list"):
        function(name)(X, [1.0, 2.0])


@pytest.mark.parametrize("call", [
    lambda x: x.sum(True), lambda x: x.mean(True), lambda x: x.softmax(True), lambda x: x.transpose(False, True), lambda x: x.select(True, 0),
    lambda x: x.view(True, 4), lambda x: torch.zeros(True, 2), lambda x: torch.cat([x, x], True), lambda x: torch.roll(x, True, 0),
    lambda x: F.max_pool2d(x[None], True), lambda x: F.avg_pool2d(x[None], 2, True), lambda x: F.unfold(x[None], (True, 2)),
    lambda x: F.conv2d(x[None], x[None, None], None, True), lambda x: F.pad(x, (True, 1)), lambda x: F.adaptive_avg_pool2d(x[None], True),
])
def test_what_is_true_is_no_number(call):
    """Where a dimension or a size is expected, a truth value is an option that slipped: `x.sum(True)` is no sum over dim 1."""
    with pytest.raises(TypeError, match="bool"):
        call(torch.ones(2, 2))


# Optional tensors, and those at other places: the list stands where the None does.
OTHERS = [
    ("F.linear", "bias", (X, X)), ("F.conv1d", "bias", (X, X[None])), ("F.conv2d", "bias", (X[None, None], X[None, None])), ("F.conv_transpose2d", "bias", (X[None, None], X[None, None])),
    ("F.layer_norm", "weight", (X, (2,))), ("F.rms_norm", "weight", (X, (2,))), ("F.group_norm", "bias", (X, 1)), ("F.instance_norm", "weight", (X[None],)), ("F.instance_norm", "running_mean", (X[None],)),
    ("F.batch_norm", "running_var", (X, X[0])), ("F.batch_norm", "weight", (X, None, None)), ("F.cross_entropy", "weight", (X, I[0])), ("F.nll_loss", "weight", (X, I[0])), ("F.mse_loss", "weight", (X, X)),
    ("F.embedding_bag", "per_sample_weights", (I, X, None, None, 2.0, False, "sum")), ("F.scaled_dot_product_attention", "attn_mask", (X, X, X)), ("F.fractional_max_pool2d", "_random_samples", (X[None], 1, 1)),
    ("bincount", "weights", (I[0],)), ("histogram", "weight", (X, 2)), ("cov", "fweights", (X,)), ("searchsorted", "sorter", (X, X)), ("trapezoid", "x", (X,)), ("index_add", "source", (X, 0, I[0])),
    ("index_copy", "source", (X, 0, I[0])), ("masked_scatter", "source", (X, X > 0)), ("inner", "other", (X,)), ("Tensor.view_as", "other", (X,)), ("Tensor.type_as", "other", (X,)), ("stft", "window", (X, 2)),
    ("linalg.solve_ex", "B", (X,)), ("linalg.lu_solve", "pivots", (X,)), ("cholesky_solve", "input2", (X,)), ("ormqr", "other", (X, X[0])), ("linalg.tensorsolve", "B", (X,)), ("gru_cell", "w_hh", (X, X, X)),
]
MORE = ["zeros_like", "rand_like", "view_as_real", "conj_physical", "lu_unpack", "as_strided_scatter", "diagonal_scatter", "cholesky_inverse", "max_pool1d", "broadcast_tensors", "istft", "F.avg_pool3d",
        "F.softmin", "F.gumbel_softmax", "fft.fftshift", "fft.hfft", "linalg.matrix_norm", "linalg.vander", "linalg.eigvals", "linalg.svdvals", "linalg.tensorinv", "linalg.vecdot"]


@pytest.mark.parametrize("name, argument, given", OTHERS, ids=[f"{name}-{argument}" for name, argument, _ in OTHERS])
def test_what_is_no_tensor_elsewhere(name, argument, given):
    more = {"B": X} if name.endswith("lu_solve") else {}
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        function(name)(*given, **{argument: [1.0, 2.0]}, **more)


@pytest.mark.parametrize("name", MORE)
def test_what_is_no_first_tensor(name):
    more = {"as_strided_scatter": (X[0], (2,), (1,)), "diagonal_scatter": (X[0],), "lu_unpack": (I[0],), "max_pool1d": (1,), "F.avg_pool3d": (1,), "istft": (2,), "linalg.tensorinv": (1,), "linalg.vecdot": (X,)}
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        function(name)([1.0, 2.0], *more.get(name, ()))


@pytest.mark.parametrize("call, kind, words", [
    (lambda: torch.topk(X, 1.5), TypeError, "topk.*'k' must be int, not float"), (lambda: F.max_pool2d(X[None], "a"), TypeError, "max_pool2d: kernel_size: expected an int or a tuple of ints, got str"), (lambda: torch.kthvalue(X, 1.5), TypeError, "'k' must be int"),
    (lambda: torch.tensordot(X, X, -1), RuntimeError, "dims >= 0"), (lambda: torch.tensordot(X, X, 1.5), RuntimeError, "a pair of lists"),
    (lambda: torch.tensordot(X, X, ([2], [0])), IndexError, "out of range"), (lambda: torch.tensordot(X, X, 3), RuntimeError, "dims=3 for 2 and 2"),
    (lambda: F.batch_norm(X, X[0], None, training=True), ValueError, "neither be None"), (lambda: F.batch_norm(X, None, None, training=True, eps=0), ValueError, "must be positive"),
    (lambda: torch.tensor_split(X[0, 0], 2), RuntimeError, "at least a 1-dimensional"), (lambda: F.embedding_bag(I, X[0, 0]), ValueError, "2D Tensor"),
    (lambda: F.local_response_norm(X[None], 0), RuntimeError, "size=0"), (lambda: F.max_unpool2d(X[None], I[None], -1), ValueError, "negative extents"),
    (lambda: torch.tensor([1, None]), RuntimeError, "Could not infer dtype of NoneType"), (lambda: torch.Generator("nowhere"), RuntimeError, "nowhere"),
    (lambda: torch.nn.utils.clip_grad_norm_([X], "far"), ValueError, "far"), (lambda: torch.chunk(X, 1.5), TypeError, "integer"), (lambda: torch.rot90(X, 1.5), TypeError, "integer"), (lambda: torch.histc(X, 1.5), TypeError, "integer"),
    (lambda: F.embedding(I, X[0]), RuntimeError, "'weight' must be 2-D"),
    (lambda: F.batch_norm(I, None, None, training=True), NotImplementedError, "'Long'"), (lambda: F.cross_entropy(I, I[0]), NotImplementedError, "floating point scores"),
    (lambda: X.index_add(0, I[0], torch.ones(2, 3)), RuntimeError, "same slice shapes"), (lambda: X.index_copy(0, I[0], torch.ones(2, 3)), RuntimeError, "same slice shapes"),
    (lambda: X.index_copy(0, I[0], torch.ones(3, 2)), IndexError, "same slice shapes"), (lambda: torch.kthvalue(X + 0j, 1), NotImplementedError, "complex"),
])
def test_numbers_dimensions_and_dtypes(call, kind, words):
    with pytest.raises(kind, match=words) as error:
        call()
    assert error.type is kind


def test_places_among_another_dtype():
    assert torch.searchsorted(torch.tensor([1, 2, 3]), torch.tensor([2.5, 3.0])).tolist() == [2, 2]
    assert torch.bucketize(torch.tensor([2, 3]), torch.tensor([1.0, 2.5, 3.0])).tolist() == [1, 2]


# ---------------------------------------------------------------- every tensor of every example
SPACES = {"": torch, "F": F, "linalg": torch.linalg, "special": torch.special, "fft": torch.fft, "Tensor": torch.Tensor}
STATEFUL = {"set_default_dtype", "set_default_device", "set_num_threads", "set_printoptions", "set_default_tensor_type", "seed", "manual_seed", "set_rng_state", "backward"}
OF_ANOTHER_CLASS = {("", "cond"): RuntimeError}          # as PyTorch's are
ANYTHING = {"is_tensor", "is_storage", "typename", "as_tensor", "asarray", "tensor", "allclose"}


def calls_in_examples(space, name):
    """The calls of a function in its own example, as (args, kwargs)."""
    function, found = vars(SPACES[space]).get(name) or getattr(SPACES[space], name), []

    def recorder(*args, **kwargs):
        found.append((args, kwargs))
        return function(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        patch.setattr(SPACES[space], name, recorder)
        doctest_globals: dict = {}
        for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
            exec(compile(example.source, "example", "exec"), doctest_globals)
    return function, found[:3]


def with_one_replaced(args, kwargs, first):
    """The arguments with an object in the place of one tensor, or of one in a list of tensors, each in turn."""
    for place, value in [*enumerate(args[first:], first), *kwargs.items()]:
        several = isinstance(value, (list, tuple)) and bool(value) and all(isinstance(t, torch.Tensor) for t in value)
        others = [[*value[:i], object(), *value[i + 1:]] for i in range(len(value))] if several else [object()] if isinstance(value, torch.Tensor) else []
        for other in others:
            yield place, [other if i == place else a for i, a in enumerate(args)], {k: other if k == place else a for k, a in kwargs.items()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", SPACES)
def test_an_object_in_the_place_of_each_tensor_of_every_example(space):
    """Whatever is called with what is no tensor says so by a TypeError, and never by an AttributeError from inside."""
    wrong, tried = {}, 0
    for name in dir(SPACES[space]):
        value = vars(SPACES[space]).get(name) or getattr(SPACES[space], name)
        if name[0] == "_" or not inspect.isroutine(value) or name in STATEFUL | ANYTHING or str(value.__module__).startswith("numtorch.autograd"):
            continue
        function, calls = calls_in_examples(space, name)
        for args, kwargs in calls:
            for place, changed, named in with_one_replaced(args, kwargs, space == "Tensor"):
                tried += 1
                try:
                    function(*[a.clone() if isinstance(a, torch.Tensor) and a.node is None else a for a in changed], **named)
                except OF_ANOTHER_CLASS.get((space, name), TypeError):
                    continue
                except Exception as error:
                    wrong[f"{name} {place}"] = repr(error)
                else:
                    wrong[f"{name} {place}"] = "accepted"
    assert not wrong and tried > 15


@pytest.mark.parametrize("call, kind, words", [
    (lambda: X.clone(memory_format="rows"), TypeError, "memory_format.*rows"), (lambda: torch.fft.fft(X, norm=2), TypeError, "'norm' must be str, not int"), (lambda: torch.fft.fft2(X, "ab"), TypeError, "s: expected integers"),
    (lambda: torch.hann_window(3, dtype="float"), TypeError, "'dtype' must be torch.dtype, not str"), (lambda: torch.roll(X, "a"), TypeError, "shifts: expected integers"), (lambda: torch.roll(X, 1, "a"), TypeError, "dims: expected integers"),
    (lambda: torch.repeat_interleave(X, 2.0), TypeError, "repeats: expected integers"), (lambda: torch.isin(1, 2), TypeError, "'elements'"), (lambda: torch.median(X, out=X), TypeError, "'dim'"), (lambda: F.rms_norm(X, (2,), eps="a"), TypeError, "'eps' must be float, not str"),
    (lambda: torch.var(X, correction="a"), TypeError, "'correction' must be float"), (lambda: F.scaled_dot_product_attention(X, X, X, scale="a"), TypeError, "'scale' must be float"), (lambda: F.avg_pool2d(X[None], 1, divisor_override="a"), TypeError, "divisor_override"),
    (lambda: X.nonzero(as_tuple=True, out=X), RuntimeError, "as_tuple"), (lambda: F.embedding_bag(I[0], X, "a"), TypeError, "'offsets'"), (lambda: torch.bucketize([1.0], X[0]), TypeError, "Tensor or a number, not list"),
    (lambda: torch.lstm(X[None], (X[None], None), [X] * 4, True, 1, 0.0, False, False, False), TypeError, "None in it"), (lambda: torch.lstm(X[None], (X, X, X), [X] * 4, True, 1, 0.0, False, False, False), RuntimeError, "two hidden states"),
    (lambda: torch.lstm(X[None], X, [X] * 4, True, 1, 0.0, False, False, False), TypeError, "'hx' .position 2. must be tuple of Tensors"),
])
def test_options_of_another_type(call, kind, words):
    with pytest.raises(kind, match=words) as error:
        call()
    assert error.type is kind


@pytest.mark.parametrize("function", [torch.median, torch.nanmedian])
def test_the_median_of_nothing(function):
    x = torch.empty(2, 0, requires_grad=True)
    function(x).backward()
    assert x.grad.shape == (2, 0) and function(x).isnan().item()
    assert function(torch.empty(0, dtype=torch.int64)).item() == -1 << 63 and function(torch.empty(0, dtype=torch.uint8)).item() == 0


@pytest.mark.parametrize("value", ["a", 1, 0, None])
def test_requires_grad_is_a_bool(value):
    x = torch.ones(2)
    with pytest.raises(TypeError, match="must be bool"):
        x.requires_grad_(value)
    with pytest.raises(RuntimeError, match="must be a bool"):
        x.requires_grad = value
    assert not x.requires_grad


@pytest.mark.parametrize("condition", [False, 0, torch.tensor(False), torch.tensor([0.0])])
def test_assert(condition):
    torch._assert(not condition, "unsaid")
    with pytest.raises(AssertionError, match="said"):
        torch._assert(condition, "said")


def test_assert_async():
    assert torch._assert_async(torch.tensor([True])) is None
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value, but got zero"):
        torch._assert_async(torch.tensor(0.0))
    with pytest.raises(RuntimeError, match="said"):
        torch._assert_async(torch.tensor(False), "said")
    with pytest.raises(RuntimeError, match="ambiguous"):
        torch._assert_async(torch.ones(2))
    with pytest.raises(TypeError, match="must be Tensor"):
        torch._assert_async(True)


def test_adaptive_max_pool1d_gives_places_where_it_is_no_layers():
    x = torch.tensor([[1.0, 3.0, 2.0, 4.0, 6.0]])
    values, places = torch.adaptive_max_pool1d(x, 2)
    assert torch.equal(values, F.adaptive_max_pool1d(x, 2)) and places.tolist() == [[1, 4]]


# Of a dimension, or a number of places: what is equal to an int and is none (0.0, False) must not find the plan of the int.
PLACES = torch.tensor([[0, 1, 1], [1, 0, 0], [0, 0, 1]])
OF_INTS = {
    **{name: lambda x, d, name=name: getattr(x, name)(d) for name in (
        "softmax", "log_softmax", "logsumexp", "sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "max", "min", "median", "nanmedian", "mode",
        "nansum", "nanmean", "all", "any", "count_nonzero", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "unbind", "squeeze",
        "unsqueeze", "flip", "diagonal", "tril", "triu", "diag", "diag_embed", "argsort", "sort", "size", "stride", "flatten", "roll", "tile", "tril_")},
    "topk": lambda x, d: x.topk(1, d), "kthvalue": lambda x, d: x.kthvalue(1, d), "gather": lambda x, d: x.gather(d, PLACES),
    "scatter": lambda x, d: x.scatter(d, PLACES, 0.0), "scatter_": lambda x, d: x.scatter_(d, PLACES, x.clone()),
    "scatter_add": lambda x, d: x.scatter_add(d, PLACES, x), "scatter_reduce": lambda x, d: x.scatter_reduce(d, PLACES, x, "sum"),
    "index_select": lambda x, d: x.index_select(d, PLACES[0]), "index_add": lambda x, d: x.index_add(d, PLACES[0], x),
    "index_copy": lambda x, d: x.index_copy(d, torch.tensor([0, 2, 1]), x), "index_fill": lambda x, d: x.index_fill(d, PLACES[0], 1.0),
    "index_reduce": lambda x, d: x.index_reduce(d, PLACES[0], x, "amax"), "take_along_dim": lambda x, d: x.take_along_dim(PLACES, d),
    "cat": lambda x, d: torch.cat([x, x], d), "stack": lambda x, d: torch.stack([x, x], d), "select": lambda x, d: x.select(d, 0),
    "select's index": lambda x, d: x.select(0, d), "narrow": lambda x, d: x.narrow(d, 0, 1), "narrow's start": lambda x, d: x.narrow(0, d, 1),
    "transpose": lambda x, d: x.transpose(1, d), "movedim": lambda x, d: x.movedim(d, 1), "unfold": lambda x, d: x.unfold(d, 2, 1),
    "unflatten": lambda x, d: x.unflatten(d, (3, 1)), "chunk": lambda x, d: x.chunk(2, d), "split": lambda x, d: x.split(2, d),
    "tensor_split": lambda x, d: x.tensor_split(2, d), "repeat": lambda x, d: x.repeat(1, d), "repeat_interleave": lambda x, d: x.repeat_interleave(2, d),
    "as_strided": lambda x, d: x.as_strided((2,), (1,), d), "diagonal's dim": lambda x, d: x.diagonal(0, d, 1 - d),
    "diag_embed's dim": lambda x, d: x.diag_embed(0, d, 1 - d), "roll's dim": lambda x, d: x.roll(1, d), "pad": lambda x, d: F.pad(x, (1, d)),
    "cross": lambda x, d: torch.linalg.cross(x, x, dim=d), "norm": lambda x, d: x.norm(2, d), "normalize": lambda x, d: F.normalize(x, 2.0, d),
    "fft": lambda x, d: torch.fft.fft(x, 3, d), "unique": lambda x, d: x.unique(dim=d), "quantile": lambda x, d: x.quantile(0.5, d),
    "tril_indices": lambda x, d: torch.tril_indices(3, 3, d), "randperm": lambda x, d: torch.randperm(d), "rand": lambda x, d: torch.rand(2, d),
    "zeros": lambda x, d: torch.zeros(2, d), "full": lambda x, d: torch.full((2, d), 1.0),
    **{f"{name} of several": lambda x, d, name=name: getattr(x, name)((d,)) for name in (
        "sum", "mean", "amax", "any", "std", "logsumexp", "flip", "squeeze", "nansum")},
    "permute": lambda x, d: x.permute((d, 1 - d)), "roll of several": lambda x, d: x.roll((1,), (d,)), "fft of several": lambda x, d: torch.fft.fftn(x, (3,), (d,)),
    "movedim of several": lambda x, d: x.movedim((d,), (1,)),
}


@pytest.mark.parametrize("name", OF_INTS)
def test_what_is_equal_to_an_int_is_none(name):
    call, x = OF_INTS[name], torch.tensor([[1.0, 2.0, 3.0], [4.0, 0.5, 6.0], [7.0, 8.0, 9.5]])
    for place in (0, 1):
        call(x.clone(), place)                           # the plan is known from here on
        for wrong in (float(place), bool(place)):
            with pytest.raises(TypeError):
                call(x.clone(), wrong)
        call(x.clone(), np.int64(place))                 # what has an index is one


# Of a truth value: what equals one and is none must find no plan of it either.
IMAGE, MATRIX = torch.arange(16.0).reshape(1, 4, 4), torch.tensor([[4.0, 1.0], [1.0, 3.0]])
OF_TRUTHS = {
    **{f"{name} keepdim": lambda t, name=name: getattr(MATRIX, name)(0, keepdim=t) for name in (
        "sum", "mean", "prod", "amax", "amin", "all", "any", "argmax", "argmin", "max", "min", "median", "nanmedian", "mode", "logsumexp", "var", "std", "nansum")},
    **{f"{name} of all": lambda t, name=name: getattr(MATRIX, name)(keepdim=t) for name in ("sum", "mean", "amax", "argmax")},
    "kthvalue": lambda t: MATRIX.kthvalue(1, 0, t), "quantile": lambda t: MATRIX.quantile(0.5, 0, t), "unbiased": lambda t: MATRIX.var(0, t),
    "sort": lambda t: MATRIX.sort(0, t), "argsort": lambda t: MATRIX.argsort(descending=t), "stable": lambda t: MATRIX.sort(stable=t),
    "topk largest": lambda t: MATRIX.topk(1, largest=t), "topk sorted": lambda t: MATRIX.topk(1, sorted=t), "isin": lambda t: torch.isin(X, X, invert=t),
    "unique": lambda t: I.unique(return_counts=t), "unique_consecutive": lambda t: I.unique_consecutive(t), "searchsorted": lambda t: torch.searchsorted(X[0], X, right=t),
    "bucketize": lambda t: torch.bucketize(X, X[0], out_int32=t), "isclose": lambda t: X.isclose(X, equal_nan=t), "combinations": lambda t: torch.combinations(X[0], 1, t),
    "vander": lambda t: torch.vander(X[0], increasing=t), "nonzero": lambda t: I.nonzero(as_tuple=t), "put": lambda t: X.put(I[0], X[0], t),
    "index_put": lambda t: X.index_put((I[0],), X, t), "scatter_reduce": lambda t: X.scatter_reduce(0, I, X, "sum", include_self=t),
    "index_reduce": lambda t: X.clone().index_reduce_(0, I[0], X, "amax", include_self=t), "multinomial": lambda t: X.multinomial(1, t), "lu_unpack": lambda t: torch.lu_unpack(X, I[0].int() + 1, t),
    "cholesky": lambda t: torch.linalg.cholesky(MATRIX, upper=t), "solve_triangular": lambda t: torch.linalg.solve_triangular(MATRIX, X, upper=t), "svd": lambda t: torch.linalg.svd(MATRIX, t),
    "solve": lambda t: torch.linalg.solve(MATRIX, X, left=t), "ldl_factor": lambda t: torch.linalg.ldl_factor(MATRIX, hermitian=t), "pinv": lambda t: torch.linalg.pinv(MATRIX, hermitian=t),
    "dropout": lambda t: F.dropout(X, 0.5, t), "batch_norm": lambda t: F.batch_norm(X, X[0].clone(), X[0].clone(), training=t), "hann_window": lambda t: torch.hann_window(3, t),
    "attention": lambda t: F.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, is_causal=t), "interpolate": lambda t: F.interpolate(IMAGE, 3, mode="linear", align_corners=t),
}


@pytest.mark.parametrize("name", OF_TRUTHS)
def test_what_is_equal_to_a_truth_value_is_none(name):
    call = OF_TRUTHS[name]
    for right in (True, False):
        call(right)                                      # the plan is known from here on
        for wrong in (int(right), float(right), np.bool_(right), str(right), torch.tensor(right)):
            with pytest.raises(TypeError, match="must be bool"):
                call(wrong)


@pytest.mark.parametrize("name, call", [("max_pool2d", lambda t: F.max_pool2d(IMAGE, 3, ceil_mode=t)), ("avg_pool1d", lambda t: F.avg_pool1d(IMAGE, 3, ceil_mode=t)),
                                        ("avg_pool2d", lambda t: F.avg_pool2d(IMAGE, 3, count_include_pad=t)), ("max_pool3d", lambda t: F.max_pool3d(IMAGE[None], 3, ceil_mode=t)), ("avg_pool3d", lambda t: F.avg_pool3d(IMAGE[None], 1, count_include_pad=t)),
                                        ("rrelu", lambda t: F.rrelu(X, training=t)), ("triplet_margin_loss", lambda t: F.triplet_margin_loss(X, X, X, swap=t)),
                                        ("requires_grad", lambda t: torch.linspace(0, 1, 3, requires_grad=t) if t is not None else torch.zeros(2).requires_grad_(t))])
def test_other_truth_values(name, call):
    for wrong in ("True", None, [True], 3):
        with pytest.raises(TypeError, match="must be bool"):
            call(wrong)


OF_NUMBERS = {                                           # by name: the call, whether fractions are taken
    "matrix_power": (lambda n: MATRIX.matrix_power(n), False), "diff": (lambda n: X.diff(n), False), "cov": (lambda n: X.cov(correction=n), False),
    "bincount": (lambda n: I[0].bincount(minlength=n), False), "vander": (lambda n: torch.vander(X[0], n), False), "polygamma": (lambda n: torch.polygamma(n, X), False),
    "cross_entropy": (lambda n: F.cross_entropy(X, I[0], ignore_index=n), False), "nll_loss": (lambda n: F.nll_loss(X, I[0], ignore_index=n), False),
    "conv1d": (lambda n: F.conv1d(IMAGE, torch.ones(1, 4, 1), groups=n), False), "gradient": (lambda n: torch.gradient(IMAGE[0], edge_order=n), False),
    "topk": (lambda n: X.topk(n), False), "kthvalue": (lambda n: X.kthvalue(n), False), "round": (lambda n: X.round(decimals=n), False),
    "nonzero_static": (lambda n: torch.nonzero_static(X, size=n), False), "add": (lambda n: torch.add(X, X, alpha=n), True), "addmm": (lambda n: torch.addmm(X, X, X, beta=n), True),
    "baddbmm": (lambda n: torch.baddbmm(X[None], X[None], X[None], alpha=n), True), "cdist": (lambda n: torch.cdist(X, X, n), True), "norm": (lambda n: X.norm(n), True),
    "layer_norm": (lambda n: F.layer_norm(X, (2,), eps=n), True), "batch_norm": (lambda n: F.batch_norm(X, X[0], X[0], momentum=n), True), "normalize": (lambda n: F.normalize(X, n), True),
    "local_response_norm": (lambda n: F.local_response_norm(IMAGE, 2, beta=n), True), "var": (lambda n: X.var(correction=n), True), "attention": (lambda n: F.scaled_dot_product_attention(X, X, X, scale=n), True),
}


def _tensors(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_what_is_no_number(name):
    call, fractions = OF_NUMBERS[name]
    wanted = [t.tolist() for t in _tensors(call(1))]
    for same in (np.int64(1), np.uint8(1), torch.tensor(1), *((np.float32(1), torch.tensor(1.0)) if fractions else ())):
        assert [t.tolist() for t in _tensors(call(same))] == wanted
    for wrong in ("1", [1], X, *(() if fractions else (1.0, True, np.float64(1), torch.tensor(1.0)))):
        with pytest.raises((TypeError, RuntimeError) if wrong is X else TypeError):
            call(wrong)


def test_a_factor_of_few_bits_is_a_number():
    x = torch.tensor([1.0, 2.0])
    assert torch.sub(x, x, alpha=np.uint8(2)).tolist() == [-1.0, -2.0]
    with pytest.raises(RuntimeError, match="must not be a complex number"):
        torch.add(x, x, alpha=2j)


@pytest.mark.parametrize("call", [
    lambda: F.avg_pool3d(IMAGE[None], 1.0), lambda: F.avg_pool3d(IMAGE[None], 1, divisor_override=1.5), lambda: F.interpolate(IMAGE, (3.0,)), lambda: F.interpolate(IMAGE, "3"),
    lambda: F.layer_norm(X, (2.0,)), lambda: F.rms_norm(X, (2.0,)), lambda: X.slice_scatter(X, 0, 0.0), lambda: X.slice_scatter(X, 0, 0, 2.0), lambda: X.tensor_split((1.0,)),
    lambda: torch.zeros(2).normal_("0"), lambda: torch.zeros(2).log_normal_("0"), lambda: torch.zeros(2).exponential_("1"), lambda: torch.linspace("0", 1, 3), lambda: torch.logspace(0, 1, 3, "2"),
    lambda: X.diff(prepend=1), lambda: X.diff(append=[1.0]),
])
def test_numbers_that_only_look_like_it(call):
    """Nor may they find what was planned for a number of their value."""
    F.layer_norm(X, (2,)), F.rms_norm(X, (2,))
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("function", [torch.argmax, torch.argmin])
def test_truth_values_have_no_largest_place(function):
    for dim in (None, 0):
        with pytest.raises(RuntimeError, match="does not support bool input"):
            function(X > 0, dim)


def test_the_gradient_of_a_copy_is_summed_in_the_wider_dtype():
    """Also where a complex number of two narrow parts is as large as a wide real one."""
    for kind in (torch.complex64, torch.float32):
        weight, target = torch.ones((), dtype=torch.float64, requires_grad=True), torch.zeros(3, dtype=kind)
        target.copy_(weight)
        target.backward(torch.tensor([1e8, 1.0, -1e8], dtype=kind))
        assert weight.grad.dtype is torch.float64 and weight.grad.item() == 1.0
