"""Selective checkpointing: gradients are those without it, chosen ops run once, and the others twice."""
import functools

import numpy as np
import pytest

import numtorch
from numtorch.utils.checkpoint import CheckpointPolicy, checkpoint, checkpoint_sequential, create_selective_checkpoint_contexts

F = numtorch.nn.functional
W = numtorch.from_numpy(np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32))


def network(x, w):
    h = F.linear(x, w).tanh()
    h = numtorch.softmax(numtorch.mm(h, w) * 2 + x, 1)
    first, second = numtorch.split(h.exp() @ w, 2, 1)
    return (first * second).sum() + F.gelu(h).mean()


def gradients(run):
    x, w = numtorch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_(), W.clone().requires_grad_()
    loss = run(x, w)
    loss.backward()
    return loss.item(), x.grad.tolist(), w.grad.tolist()


def selected(chosen):
    return lambda x, w: checkpoint(network, x, w, use_reentrant=False, context_fn=functools.partial(create_selective_checkpoint_contexts, chosen))


def always(policy):
    return lambda context, function, *args, **kwargs: policy


POLICIES = {
    "products": [numtorch.mm, F.linear, numtorch.matmul], "one": [numtorch.mm], "softmax": [numtorch.softmax], "elementwise": [numtorch.tanh, numtorch.exp, numtorch.mul],
    "none": [], "views": [numtorch.split], "all": always(CheckpointPolicy.MUST_SAVE), "prefer": always(CheckpointPolicy.PREFER_SAVE),
    "recompute": always(CheckpointPolicy.MUST_RECOMPUTE), "bool": always(True), "gelu": [F.gelu, numtorch.sum],
}


@pytest.mark.parametrize("name", POLICIES)
def test_gradients_are_those_without(name):
    assert gradients(selected(POLICIES[name])) == gradients(network)


@pytest.mark.parametrize("chosen, again", [([numtorch.erf, numtorch.tanh, numtorch.sin], 0), ([], 3), ([numtorch.tanh], 2)])
def test_chosen_ops_run_once(chosen, again):
    loss = checkpoint(lambda x: x.erf().tanh().sin().exp(), numtorch.ones(3, requires_grad=True), use_reentrant=False,
                      context_fn=functools.partial(create_selective_checkpoint_contexts, chosen)).sum()
    with numtorch.profiler.profile() as profile:
        loss.backward()
    ran = [e for e in profile.events() if e.name in ("erf", "tanh", "sin") and (e.launches or numtorch.kernels.binding.DISABLE_JIT)]
    assert len(ran) == again


def test_a_policy_sees_functions_arguments_and_results():
    seen = []

    def policy(context, function, *args, **kwargs):
        seen.append((function.__name__, context.is_recompute, tuple(context.op_output.shape) if isinstance(context.op_output, numtorch.Tensor) else None, len(args)))
        return function is numtorch.mm
    x = numtorch.ones(2, 2, requires_grad=True)
    checkpoint(lambda x: numtorch.mm(x, x).exp(), x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy)).sum().backward()
    assert ("mm", False, (2, 2), 2) in seen and ("exp", False, (2, 2), 1) in seen and len(seen) == 2


def test_in_place_ops_on_kept_results():
    def run(x, w):
        return F.linear(x, w).relu_().mul(2).sum()
    chosen = functools.partial(create_selective_checkpoint_contexts, [F.linear], allow_cache_entry_mutation=True)
    assert gradients(lambda x, w: checkpoint(run, x, w, use_reentrant=False, context_fn=chosen))[0] == gradients(run)[0]
    strict = functools.partial(create_selective_checkpoint_contexts, [F.linear])
    with pytest.raises(RuntimeError, match="has been mutated"):
        gradients(lambda x, w: checkpoint(run, x, w, use_reentrant=False, context_fn=strict))


def test_only_one_backward():
    x = numtorch.ones(2, 2, requires_grad=True)
    loss = checkpoint(lambda x: x.mm(x).exp().exp(), x, use_reentrant=False,
                      context_fn=functools.partial(create_selective_checkpoint_contexts, [numtorch.mm])).sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="only allowed to backward once"):
        loss.backward()


def test_a_function_that_does_something_else():
    calls = []

    def changing(x):
        calls.append(1)
        return x.mm(x).exp() if len(calls) == 1 else x.mm(x).sin()
    loss = checkpoint(changing, numtorch.ones(2, 2, requires_grad=True), use_reentrant=False,
                      context_fn=functools.partial(create_selective_checkpoint_contexts, [numtorch.mm])).sum()
    with pytest.raises(RuntimeError, match="not in the first run"):
        loss.backward()


def test_in_parts_and_nested():
    contexts = functools.partial(create_selective_checkpoint_contexts, [F.linear])
    layers = numtorch.nn.Sequential(*[numtorch.nn.Sequential(numtorch.nn.Linear(4, 4), numtorch.nn.Tanh()) for _ in range(4)])

    def grads(run):
        layers.zero_grad()
        run(numtorch.linspace(-1, 1, 12).reshape(3, 4)).sum().backward()
        return [p.grad.tolist() for p in layers.parameters()]
    plain = grads(layers)
    assert grads(lambda x: checkpoint_sequential(layers, 2, x, use_reentrant=False, context_fn=contexts)) == plain

    def nested(x):
        x = layers[:2](x)
        return checkpoint(layers[2:], x, use_reentrant=False)
    assert grads(lambda x: checkpoint(nested, x, use_reentrant=False)) == plain


def test_programs_for_either(torch):
    from importlib import import_module
    module = import_module(f"{torch.__name__}.utils.checkpoint")
    op = torch.mm if torch is numtorch else torch.ops.aten.mm.default

    def policy(context, function, *args, **kwargs):
        return module.CheckpointPolicy.MUST_SAVE if function is op else module.CheckpointPolicy.PREFER_RECOMPUTE

    def run(x):
        return torch.mm(torch.sigmoid(x), x).exp()
    x = torch.tensor([[1.0, 2.0], [0.5, -1.0]], requires_grad=True)
    contexts = functools.partial(module.create_selective_checkpoint_contexts, policy)
    found, = torch.autograd.grad(module.checkpoint(run, x, use_reentrant=False, context_fn=contexts).sum(), x)
    wanted, = torch.autograd.grad(run(x).sum(), x)
    assert found.tolist() == wanted.tolist()
    with pytest.raises(TypeError):
        module.create_selective_checkpoint_contexts(3)


def test_importing_checkpoint_changes_no_function():
    import subprocess
    import sys
    code = "import numtorch\nbefore = numtorch.exp.__code__\nimport numtorch.utils.checkpoint\nassert numtorch.exp.__code__ is before"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
