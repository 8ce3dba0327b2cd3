"""Every optimiser of PyTorch's own table, with the options that stand there: steps, states and options as PyTorch's, what it refuses,
and the gradients of steps that are differentiated."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from pytorchtables import pytorch

import numtorch

torch = pytorch()

from tests.opdb import array, ours  # noqa: E402

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

INFOS = {info.optim_cls.__name__: info for info in optim_db}
TOLERANCES = {torch.float32: 1e-4, torch.float64: 1e-8, torch.complex64: 1e-4}
SHAPES = [(3, 4), (5,), (2, 3, 2), ()]
STEPS = 6
LENIENT = ("lr as a Tensor is not supported", "betas must be either both", "betas\\[0\\] as a Tensor is not supported")       # as kernels take numbers


def converted(value):
    """Arguments of an optimiser as numtorch has them: a tensor that is there twice is one tensor."""
    known: dict = {}

    def of(value):
        if isinstance(value, torch.Tensor):
            if id(value) not in known:
                made = known[id(value)] = ours(value.detach().clone()).requires_grad_(value.requires_grad)
                if value.grad is not None:
                    made.grad = ours(value.grad)
            return known[id(value)]
        if isinstance(value, (list, tuple)):
            return type(value)(map(of, value))
        return {key: of(each) for key, each in value.items()} if isinstance(value, dict) else ours(value)
    return of(value)


def numbers(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return torch.tensor(np.asarray(x + 1j * rng.standard_normal(shape) if dtype.is_complex else x), dtype=dtype)


def trained(library, name, dtype, options):
    """What some steps leave: parameters, states by name, and the options of groups."""
    own = {torch: lambda x: x, numtorch: converted}[library]
    parameters = [library.nn.Parameter(own(numbers(shape, dtype, seed)))
                  for seed, shape in enumerate(SHAPES) if name != "Muon" or len(shape) == 2]
    optimizer = getattr(library.optim, name)(parameters, **own(options))

    def closure():
        optimizer.zero_grad()
        loss = sum(((p * p.conj()).real.sum() if dtype.is_complex else (p * p + p).sum()) for p in parameters)
        loss.backward()
        if name == "SparseAdam":
            for p in parameters:
                p.grad = p.grad.to_sparse()
        return loss

    for _ in range(STEPS):
        if name == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    state = optimizer.state_dict()
    return ([array(p) for p in parameters], [{k: array(v) for k, v in each.items() if isinstance(v, library.Tensor)} for each in state["state"].values()],
            [sorted(each) for each in state["state"].values()], [list(group) for group in state["param_groups"]])


def steps():
    for name, info in INFOS.items():
        for number, each in enumerate(info.optim_inputs_func(device="cpu")):
            yield name, number, {key: value for key, value in each.kwargs.items() if key not in ("capturable", "fused")}


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("name, number, options", list(steps()), ids=lambda v: "" if isinstance(v, dict) else str(v))
def test_steps(name, number, options, dtype):
    if dtype.is_complex and name in ("Muon", "SparseAdam", "Adafactor"):
        pytest.skip("refuses complex parameters")
    found = []
    for library in (torch, numtorch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found.append(trained(library, name, dtype, options))
            except Exception as error:
                found.append(type(error))
    theirs, mine = found
    if isinstance(theirs, type):
        assert mine is theirs
        return
    tolerance = TOLERANCES[dtype] if name != "Muon" else 2e-2             # its iteration is in bfloat16
    assert mine[2:] == theirs[2:]
    states = [(s[key], t[key]) for s, t in zip(mine[1], theirs[1], strict=True) for key in s.keys() & t.keys()]
    for one, other in (*zip(mine[0], theirs[0], strict=True), *states):
        np.testing.assert_allclose(one, other, tolerance, tolerance)


def errors():
    for name, info in INFOS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, each in enumerate(info.optim_error_inputs_func(device="cpu", dtype=torch.float32)):
                if not any(each.error_regex.startswith(words) for words in LENIENT):
                    yield pytest.param(name, each, id=f"{name} {number} {each.optimizer_error_input.desc}")


@pytest.mark.parametrize("name, wrong", list(errors()))
def test_what_it_refuses(name, wrong):
    given = wrong.optimizer_error_input
    arguments, options = converted((given.params, given.kwargs))
    with (pytest.warns if issubclass(wrong.error_type, Warning) else pytest.raises)(wrong.error_type, match=wrong.error_regex):
        optimizer = getattr(numtorch.optim, name)(arguments, **options)
        if wrong.error_on is OptimizerErrorEnum.STEP_ERROR:
            optimizer.step()


DIFFERENTIABLE = {                                       # options, of which tensors are differentiated by
    "SGD": dict(lr=0.1, weight_decay=0.2), "Adam": dict(lr=0.1, weight_decay=0.2), "AdamW": dict(lr=0.1, weight_decay=0.2),
    "Adamax": dict(lr=0.1, weight_decay=0.2), "NAdam": dict(lr=0.1), "RAdam": dict(lr=0.1), "RMSprop": dict(lr=0.1, centered=True, momentum=0.3),
    "Adagrad": dict(lr=0.1), "Adadelta": dict(lr=0.5), "ASGD": dict(lr=0.1), "amsgrad": dict(lr=0.1, amsgrad=True),
    "decoupled": dict(lr=0.1, decoupled_weight_decay=True, weight_decay=0.1), "maximize": dict(lr=0.1, maximize=True, momentum=0.5),
    "nesterov": dict(lr=0.1, momentum=0.5, nesterov=True), "beta": dict(lr=0.1, betas=(0.8, 0.9)),
}
ONCE = ("Adamax", "RMSprop", "amsgrad")                  # of two steps PyTorch itself has written to what it kept
CLASSES = {"amsgrad": "Adam", "decoupled": "NAdam", "maximize": "SGD", "nesterov": "SGD", "beta": "Adam"}
BY_TENSORS = {"SGD": ("lr", "weight_decay"), "Adam": ("lr", "weight_decay"), "AdamW": ("lr", "weight_decay"), "amsgrad": ("lr",), "nesterov": ("lr",)}


def differentiated(library, case, dtype, by):
    """Parameters after steps by a function's gradients, and the gradients of what they give by the first parameters and `by`."""
    own = {torch: lambda x: x, numtorch: converted}[library]
    name, options = CLASSES.get(case, case), dict(DIFFERENTIABLE[case])
    start = [own(numbers(shape, dtype, seed)).requires_grad_() for seed, shape in enumerate(SHAPES)]
    tensors = []
    for option in by:
        options[option] = own(torch.tensor(options[option], dtype=torch.float64)).requires_grad_()
        tensors.append(options[option])
    parameters = [p.clone() for p in start]
    optimizer = getattr(library.optim, name)(parameters, differentiable=True, **options)
    if name == "SGD" and options.get("momentum"):        # PyTorch detaches the first gradient
        for p in parameters:
            optimizer.state[p]["momentum_buffer"] = library.zeros_like(p)
    scales = [own(numbers(shape, dtype, seed + 9)) for seed, shape in enumerate(SHAPES)]
    for _ in range(1 if case in ONCE else 3):
        for p, q, scale in zip(parameters, start, scales):
            p.grad = (p.detach().clone() * scale + q * scale * scale * 0.5)
        with library.no_grad():
            optimizer.step()
    loss = sum(((p * p.conj()).real if dtype.is_complex else p * p).sum() for p in parameters)
    gradients = library.autograd.grad(loss, [*start, *tensors])
    return [array(t) for t in (*parameters, *gradients)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("case, by", [(case, by) for case in DIFFERENTIABLE for by in dict.fromkeys(((), BY_TENSORS.get(case, ())))], ids=str)
def test_differentiable_steps(case, by, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                  # gradients of tensors that are no leaves
        for one, other in zip(differentiated(numtorch, case, dtype, by), differentiated(torch, case, dtype, by), strict=True):
            np.testing.assert_allclose(one, other, 1e-4, 1e-5)         # PyTorch counts steps in float32


@pytest.mark.parametrize("library", [torch, numtorch], ids=lambda library: library.__name__)
def test_rates_that_are_kept_as_numbers_have_no_gradient(library):
    start, rate = library.ones(3, requires_grad=True), library.tensor(0.1, requires_grad=True)
    p = start.clone()
    optimizer = library.optim.ASGD([p], lr=rate, differentiable=True)
    for _ in range(2):
        p.grad = p.detach() * 2
        optimizer.step()
    by_start, by_rate = library.autograd.grad(p.sum(), [start, rate], allow_unused=True)
    assert by_rate is None and abs(by_start.sum().item() - 3) < 1e-3


def test_a_leaf_takes_no_differentiable_step():
    p = numtorch.nn.Parameter(numtorch.ones(2))
    p.grad = numtorch.ones(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        numtorch.optim.SGD([p], lr=0.1, differentiable=True).step()
