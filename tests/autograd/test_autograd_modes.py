"""Hooks on tensors and nodes, and the switches of the tape."""
from __future__ import annotations

import threading

import numpy as np
import pytest
from tape import close, leaf, values

import numtorch


# ---------------------------------------------------------------- hooks
def test_hooks_run_in_order_and_replace(torch):
    x = leaf(torch, 2, 3)
    order = []

    def note(name, factor):
        def hook(grad):
            order.append((name, values(grad)))
            return grad * factor if factor else None
        return hook

    first = x.register_hook(note("a", 2))
    x.register_hook(note("b", None))
    x.register_hook(note("c", 10))
    (x * 3).sum().backward()
    assert order == [("a", [3, 3]), ("b", [6, 6]), ("c", [6, 6])]
    close(x.grad, (60, 60))
    first.remove()
    first.remove()
    order.clear()
    (x * 3).sum().backward()
    assert order == [("b", [3, 3]), ("c", [3, 3])]
    close(x.grad, (90, 90))


def test_a_hook_sees_the_whole_sum_once(torch):
    x = leaf(torch, 2, 3)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(values(g)))
    x.register_hook(lambda g: seen.append(values(g)))
    (y * 2 + y * y + y.sum()).sum().backward()
    assert seen == [[2 + 8 + 2, 2 + 12 + 2], [24, 32]]


def test_hooks_run_as_soon_as_the_gradient_exists(torch):
    """A later layer's hook runs before an earlier layer's backward."""
    order = []

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            order.append(f"backward {ctx.name}")
            return grad, None

    x = leaf(torch, 2, 3)
    a = Layer.apply(x, "a")
    b = Layer.apply(a, "b")
    for name, tensor in (("x", x), ("a", a), ("b", b)):
        tensor.register_hook(lambda g, name=name: order.append(f"hook {name}"))
    b.sum().backward()
    assert order == ["hook b", "backward b", "hook a", "backward a", "hook x"]


def test_a_nodes_hook_may_replace_what_it_passes_on(torch):
    x, w = leaf(torch, 2), leaf(torch, 3)
    y = x * w
    y.grad_fn.register_hook(lambda inputs, outputs: tuple(g * 10 for g in inputs))
    y.backward()
    assert (values(x.grad), values(w.grad)) == (30, 20)


def test_hooks_with_grad(torch):
    x = leaf(torch, 2, 3)
    y = x * 2
    y.register_hook(lambda g: g * 5)
    close(torch.autograd.grad(y.sum(), x)[0], (10, 10))


def test_hooks_are_differentiated(torch):
    x = leaf(torch, 2, 3)
    y = x * x
    y.register_hook(lambda g: g * x)
    first, = torch.autograd.grad(y.sum(), x, create_graph=True)
    close(first, (8, 18))
    close(torch.autograd.grad(first.sum(), x)[0], (8, 12))


def test_a_hook_that_removes_itself(torch):
    x = leaf(torch, 2, 3)
    calls = []
    handle = x.register_hook(lambda g: (calls.append(1), handle.remove())[0])
    x.register_hook(lambda g: calls.append(2))
    (x * 1).sum().backward()
    (x * 1).sum().backward()
    assert calls == [1, 2, 2]


def test_post_accumulate_grad_hook(torch):
    x = leaf(torch, 2, 3)
    seen = []

    def step(tensor):
        assert tensor is x
        seen.append(values(tensor.grad))
        with torch.no_grad():
            tensor -= tensor.grad * 0.5
        tensor.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 2 + x).sum().backward()
    assert seen == [[3, 3]] and x.grad is None
    close(x.detach(), (0.5, 1.5))
    torch.autograd.grad((x * 2).sum(), x)
    assert len(seen) == 1
    handle.remove()
    (x * 2).sum().backward()
    close(x.grad, (2, 2))


def test_node_hooks(torch):
    x = leaf(torch, 2, 3)
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    handle = y.grad_fn.register_hook(lambda inputs, outputs: seen.append((values(inputs[0]), values(outputs[0]))))
    y.sum().backward(retain_graph=True)
    assert seen == [([20, 20], [10, 10])]
    handle.remove()
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 0, *inputs[1:]))
    y.sum().backward()
    assert len(seen) == 1
    close(x.grad, (20, 20))


def test_leaf_node_hooks(torch):
    x = leaf(torch, 2, 3)
    node = (x * 2).grad_fn.next_functions[0][0]
    assert node.variable is x
    seen = []
    node.register_hook(lambda inputs, outputs: seen.append((inputs, values(outputs[0]), values(x.grad))))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert seen == [((), [2, 2], [2, 2]), ((), [3, 3], [5, 5])]


def test_graph_can_be_walked(torch):
    x = leaf(torch, 2, 3)
    node = (x.exp() * x).sum().grad_fn
    names = []
    while node is not None:
        names.append(node.name() if torch is numtorch else type(node).__name__)
        node = node.next_functions[0][0] if node.next_functions else None
    assert names[:3] == ["SumBackward0", "MulBackward0", "ExpBackward0"] and len(names) == 4


# ---------------------------------------------------------------- modes
def recorded(torch):
    return (torch.ones(2, requires_grad=True) * 2).requires_grad


def test_context_managers(torch):
    assert recorded(torch)
    with torch.no_grad():
        assert not recorded(torch) and not torch.is_grad_enabled()
        with torch.enable_grad():
            assert recorded(torch)
            with torch.set_grad_enabled(False):
                assert not recorded(torch)
            assert recorded(torch)
        assert not recorded(torch)
        with torch.set_grad_enabled(True):
            assert recorded(torch)
        assert not recorded(torch)
        assert torch.ones(2, requires_grad=True).requires_grad
    assert recorded(torch)
    with torch.inference_mode():
        assert not recorded(torch) and torch.is_inference_mode_enabled()
        with torch.inference_mode(False):
            assert not torch.is_inference_mode_enabled()
    assert recorded(torch) and not torch.is_inference_mode_enabled()


# ---------------------------------------------------------------- torch.autograd.graph
def test_saved_tensors_kept_on_the_host(torch):
    x = leaf(torch, 1, 2)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    close(x.grad, (2, 4))


def test_hooks_on_saved_tensors_may_be_forbidden(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        with torch.autograd.graph.save_on_cpu():
            pass
    with torch.autograd.graph.save_on_cpu():
        pass


@pytest.mark.parametrize("mode, wanted", [("all", 1), ("any", 1)])
def test_a_hook_on_several_gradients(torch, mode, wanted):
    x, y, calls = leaf(torch, 2), leaf(torch, 3), []
    handle = torch.autograd.graph.register_multi_grad_hook([x, y], calls.append, mode=mode)
    (x * y).backward()
    assert len(calls) == wanted
    if mode == "all":
        assert [g.item() for g in calls[0]] == [3, 2]
    (x * y).backward()
    assert len(calls) == 2 * wanted
    handle.remove()
    (x * y).backward()
    assert len(calls) == 2 * wanted


def test_a_hook_on_several_gradients_of_which_some_are_reached(torch):
    """It is called at the end of such a backward, and nothing of that is left for the next; one inside another has its own."""
    x, y, calls = leaf(torch, 2), leaf(torch, 3), []
    torch.autograd.graph.register_multi_grad_hook([x, y], lambda grads: calls.append([g is not None for g in grads]))
    (x * 2).backward()
    (x * y).backward()
    inner = x * 2
    handle = y.register_hook(lambda grad: inner.backward())
    (x * y).backward()
    handle.remove()
    assert calls[:2] == [[True, False], [True, True]] and sorted(calls[2:]) == [[True, False], [True, True]]


def test_recording_stays_off_in_inference_mode(torch):
    x = leaf(torch, 2)
    with torch.inference_mode():
        with torch.enable_grad():
            assert not (x * 2).requires_grad
        with torch.inference_mode(False):
            assert (x * 2).requires_grad
    assert (x * 2).requires_grad


def _two(torch):
    return torch.tensor([3.0, 1.0], requires_grad=True)


def _edges(torch, call):
    """What a call gives for (x, x * x and the edge there, the sum, both parts of x and the second's edge)."""
    x, edge = _two(torch), torch.autograd.graph.get_gradient_edge
    y = x * x
    return [each.tolist() for each in call(torch, edge, x, y, y.sum(), x.unbind())]


@pytest.mark.parametrize("call, expected", [
    (lambda t, edge, x, y, z, parts: t.autograd.grad(edge(y), x, t.ones(2)), lambda x: [2 * x]),
    (lambda t, edge, x, y, z, parts: t.autograd.grad(edge(z), x), lambda x: [2 * x]),
    (lambda t, edge, x, y, z, parts: t.autograd.grad(z, edge(y)), lambda x: [x / x]),
    (lambda t, edge, x, y, z, parts: t.autograd.grad([edge(y), z], [edge(x), y], [t.ones(2), None]), lambda x: [4 * x, x / x * 2]),
    (lambda t, edge, x, y, z, parts: t.autograd.grad(edge(parts[1]), x, t.tensor(2.0)), lambda x: [[0, 2]]),
    (lambda t, edge, x, y, z, parts: t.autograd.grad(parts[0] * parts[1], [edge(parts[1]), edge(parts[0]), x]),
     lambda x: [x[0], x[1], x[::-1]]),
    (lambda t, edge, x, y, z, parts: t.autograd.grad(edge(y), x, t.eye(2), is_grads_batched=True), lambda x: [[[2 * x[0], 0], [0, 2 * x[1]]]]),
    (lambda t, edge, x, y, z, parts: t.autograd.grad(t.autograd.graph.GradientEdge(y.grad_fn, 0), x, t.ones(2)), lambda x: [2 * x]),
    (lambda t, edge, x, y, z, parts: t.autograd.grad(t.autograd.graph.GradientEdge(parts[1].grad_fn, 1), x, t.tensor(1.0)), lambda x: [[0, 1]]),
    (lambda t, edge, x, y, z, parts: t.autograd.grad(t.autograd.grad(edge(y), x, t.ones(2), create_graph=True)[0].sum(), x), lambda x: [2 + 0 * x]),
    (lambda t, edge, x, y, z, parts: (t.autograd.backward(edge(z)), [x.grad])[1], lambda x: [2 * x]),
    (lambda t, edge, x, y, z, parts: (t.autograd.backward([edge(y)], [t.ones(2)]), [x.grad])[1], lambda x: [2 * x]),
    (lambda t, edge, x, y, z, parts: (t.autograd.backward(z, inputs=[edge(x)]), [x.grad])[1], lambda x: [2 * x]),
    (lambda t, edge, x, y, z, parts: (t.autograd.backward(z, inputs=edge(y)), [t.tensor([x.grad is None, y.grad is None])])[1],
     lambda x: [[True, True]]),
    (lambda t, edge, x, y, z, parts: (y.retain_grad(), t.autograd.backward(edge(y), t.ones(2)), [y.grad])[2], lambda x: [x / x])])
def test_edges_in_place_of_tensors(torch, call, expected):
    x = np.array(_two(torch).tolist())
    assert _edges(torch, call) == [np.asarray(each).tolist() for each in expected(x)]


@pytest.mark.parametrize("call, message", [
    (lambda t, edge, x, y: t.autograd.grad(edge(y), x), "implicitly created only for scalar outputs"),
    (lambda t, edge, x, y: t.autograd.backward(edge(y)), "implicitly created only for scalar outputs"),
    (lambda t, edge, x, y: t.autograd.grad(edge(y), x, t.ones(3)), r"output\[0\] has a shape of torch.Size\(\[2\]\)"),
    (lambda t, edge, x, y: t.autograd.grad(y.sum(), edge(_two(t))), "index 0 appears to not have been used"),
    (lambda t, edge, x, y: t.autograd.grad(y.sum(), edge(_two(t)), materialize_grads=True), "materialize_grads cannot be used")])
def test_edges_that_give_no_gradient(torch, call, message):
    x = _two(torch)
    with pytest.raises(RuntimeError, match=message):
        call(torch, torch.autograd.graph.get_gradient_edge, x, x * x)
    x = _two(torch)
    edge = torch.autograd.graph.get_gradient_edge(x * x)                   # the product itself is gone
    assert torch.autograd.grad(edge, x, torch.ones(2))[0].tolist() == (2 * x).tolist()


def test_places_in_the_graph_and_versions(torch):
    x = leaf(torch, 2, 3)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn and edge.output_nr == 0
    with pytest.raises(RuntimeError, match="gradient edge"):
        torch.autograd.graph.get_gradient_edge(torch.ones(2))
    plain = torch.ones(2)
    torch.autograd.graph.increment_version(plain)
    assert plain._version == 1 and isinstance(plain, torch.autograd.Variable)


def test_gradients_of_rows_at_once(torch):
    x = leaf(torch, 1, 2, 3)
    weights = torch.tensor([[1.0, 0, 0], [0, 2.0, 0]])
    found, = torch.autograd.grad(x * x, x, weights, is_grads_batched=True)
    close(found, [[2, 0, 0], [0, 8, 0]])


# ---------------------------------------------------------------- inference tensors
def inferred(torch):
    with torch.inference_mode():
        return torch.ones(2)


def test_what_inference_mode_makes_is_marked(torch):
    normal = torch.zeros(3)
    with torch.inference_mode():
        made = [torch.ones(2), normal + 1, torch.ones(2) + 1, torch.randn(2), torch.ones(1 << 15), normal.clone(), normal @ normal,
                torch.tensor([1.0]), torch.from_numpy(np.ones(2)), normal.double(), normal.sum(), torch.cat([normal, normal]),
                torch.ones(2)[0], torch.ones(2, 2).t()]
        assert [x.is_inference() for x in made] == [True] * len(made)
        assert not normal.is_inference() and not normal[0].is_inference()
        normal.add_(1)
        made[0].mul_(5)
        with torch.inference_mode(False):
            assert not torch.ones(2).is_inference()
    assert [x.is_inference() for x in made] == [True] * len(made)
    assert made[0].tolist() == [5, 5] and normal.tolist() == [1, 1, 1] and normal._version == 1
    assert not torch.ones(2).is_inference() and made[0][:1].is_inference()
    assert not (made[0] + 1).is_inference() and not made[0].clone().is_inference()


@pytest.mark.parametrize("use, message", [
    (lambda torch, x, w: w * x, "Inference tensors cannot be saved for backward"),
    (lambda torch, x, w: (w.reshape(1, 2) @ x), "Inference tensors cannot be saved for backward"),
    (lambda torch, x, w: torch.nn.functional.mse_loss(w, x), "Inference tensors cannot be saved for backward"),
    (lambda torch, x, w: x.add_(1), "Inplace update to inference tensor outside InferenceMode"),
    (lambda torch, x, w: x.zero_(), "Inplace update to inference tensor outside InferenceMode"),
    (lambda torch, x, w: x.requires_grad_(), "Setting requires_grad=True on inference tensor outside InferenceMode"),
    (lambda torch, x, w: x._version, "Inference tensors do not track version counter"),
])
def test_inference_tensors_stay_out_of_the_graph(torch, use, message):
    with pytest.raises(RuntimeError, match=message):
        use(torch, inferred(torch), torch.ones(2, requires_grad=True))


def test_inference_tensors_compute_where_nothing_is_saved(torch):
    x, w = inferred(torch), torch.ones(2, requires_grad=True)
    (w + x).sum().backward()
    assert w.grad.tolist() == [1, 1]
    (w * x.clone()).sum().backward()
    assert w.grad.tolist() == [2, 2]
    x.clone().add_(1)


@pytest.mark.parametrize("write", [
    lambda x: x.add_(1), lambda x: x.mul_(x), lambda x: x.zero_(), lambda x: x.fill_(3), lambda x: x.copy_(numtorch.ones(3)),
    lambda x: x.copy_(numtorch.ones(3, requires_grad=True)), lambda x: x.__setitem__(0, 5.0),
    lambda x: x.__setitem__(numtorch.tensor([0]), 5.0), lambda x: x.index_add_(0, numtorch.tensor([0]), numtorch.ones(1)),
    lambda x: x.scatter_(0, numtorch.tensor([0]), 5.0), lambda x: x.uniform_(), lambda x: numtorch.exp(numtorch.ones(3), out=x),
    lambda x: x.masked_fill_(numtorch.tensor([True, False, True]), 5.0), lambda x: x.t_().add_(1), lambda x: x[1:].sub_(1),
    lambda x: numtorch.nn.init.normal_(x),
])
def test_what_inference_mode_made_is_not_written_to_outside(write):
    with numtorch.inference_mode():
        x = numtorch.tensor([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        write(x)
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_inference_mode_is_of_its_thread():
    found = []
    with numtorch.inference_mode():
        thread = threading.Thread(target=lambda: found.append(numtorch.ones(2).is_inference()))
        thread.start()
        thread.join()
    assert found == [False]


def test_numbers_and_plans_first_met_in_inference_mode_serve_outside():
    with numtorch.inference_mode():
        numtorch.nn.functional.mse_loss(numtorch.ones(3, 7), numtorch.zeros(3, 7)) * 1234.5
    x = numtorch.ones(3, 7, requires_grad=True)
    slope, = numtorch.autograd.grad(numtorch.nn.functional.mse_loss(x, numtorch.zeros(3, 7)) * 1234.5, x, create_graph=True)
    slope.sum().backward()
    close(x.grad[0, 0], 2 / 21 * 1234.5)


def test_one_switch_may_be_nested():
    switch = numtorch.no_grad()
    with switch:
        with switch:
            assert not recorded(numtorch)
        assert not recorded(numtorch)
    assert recorded(numtorch)


def test_as_functions(torch):
    try:
        torch.set_grad_enabled(False)
        assert not recorded(torch)
        torch.set_grad_enabled(True)
        assert recorded(torch)
    finally:
        torch.set_grad_enabled(True)


def test_modes_end_with_exceptions(torch):
    for switch in (torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)):
        with pytest.raises(ZeroDivisionError), switch():
            1 / 0
        assert recorded(torch)


def test_one_switch_may_be_used_again(torch):
    switch = torch.no_grad()
    for _ in range(2):
        with switch:
            assert not recorded(torch)
        assert recorded(torch)
    flag = torch.set_grad_enabled(False)
    with flag:
        assert not recorded(torch)
    with flag:
        pass
    assert recorded(torch)


@pytest.mark.parametrize("make, expected", [
    (lambda torch: torch.no_grad(), False), (lambda torch: torch.no_grad, False), (lambda torch: torch.enable_grad(), True),
    (lambda torch: torch.enable_grad, True), (lambda torch: torch.set_grad_enabled(False), False),
    (lambda torch: torch.set_grad_enabled(True), True), (lambda torch: torch.inference_mode(), False),
    (lambda torch: torch.inference_mode, False),
])
def test_decorators(torch, make, expected):
    @make(torch)
    def function(x, *, scale=1):
        """Documented."""
        return (x * scale).requires_grad

    @make(torch)
    def generator(count):
        for _ in range(count):
            got = yield recorded(torch)
            assert got in (None, "sent")
            assert recorded(torch) is expected
        return "done"

    for outside in (True, False):
        with torch.set_grad_enabled(outside):
            assert function(torch.ones(2, requires_grad=True), scale=2) is expected
            assert torch.is_grad_enabled() is outside
            running = generator(2)
            assert next(running) is expected and torch.is_grad_enabled() is outside
            assert running.send("sent") is expected and torch.is_grad_enabled() is outside
            with pytest.raises(StopIteration) as stop:
                next(running)
            assert stop.value.value == "done" and torch.is_grad_enabled() is outside
    assert function.__name__ == "function" and function.__doc__ == "Documented."


def test_a_decorated_generator_passes_exceptions_on(torch):
    closed = []

    @torch.no_grad()
    def generator():
        try:
            yield 1
        except KeyError:
            yield 2
        finally:
            closed.append(torch.is_grad_enabled())

    running = generator()
    assert next(running) == 1 and running.throw(KeyError) == 2
    running.close()
    assert closed == [False]


def test_modes_belong_to_a_thread(torch):
    seen = {}

    def look():
        seen["start"] = torch.is_grad_enabled()
        with torch.no_grad():
            inside.set()
            done.wait(5)
            seen["inside"] = recorded(torch)

    inside, done = threading.Event(), threading.Event()
    with torch.no_grad():
        thread = threading.Thread(target=look)
        thread.start()
        inside.wait(5)
    seen["other"] = recorded(torch)
    done.set()
    thread.join()
    assert seen == {"start": True, "inside": False, "other": True}


def test_backward_inside_no_grad(torch):
    x = leaf(torch, 2, 3)
    y = (x * x).sum()
    with torch.no_grad():
        y.backward()
        assert not torch.is_grad_enabled()
    close(x.grad, (4, 6))
    y = (x * x).sum()
    with torch.no_grad():
        first, = torch.autograd.grad(y, x, create_graph=True)
        assert not torch.is_grad_enabled()
    close(torch.autograd.grad(first.sum(), x)[0], (2, 2))


def test_no_backward_inside_inference_mode():
    x = leaf(numtorch, 2, 3)
    y = (x * x).sum()
    with numtorch.inference_mode(), pytest.raises(RuntimeError, match="inference"):
        y.backward()


def test_backward_functions_run_unrecorded(torch):
    seen = []
    x = leaf(torch, 2, 3)
    x.register_hook(lambda g: seen.append((torch.is_grad_enabled(), g.requires_grad)))
    (x * x).sum().backward()
    torch.autograd.grad((x * x).sum(), x, create_graph=True)
    assert seen == [(False, False), (True, True)]
