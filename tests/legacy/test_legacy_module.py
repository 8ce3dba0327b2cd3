"""Torch7's modules as objects: the tree, parameters side by side and shared, what backward is of, types, wrong calls."""
import pickle

import numpy as np
import pytest
from test_legacy_nn import MAPS, normal

import numtorch as torch
from bench.runner.networks import lenet, train_by_hand
from numtorch.kernels.binding import DISABLE_JIT
from numtorch.legacy import nn
from numtorch.legacy.nn.module import gradient_name


def net():
    return (nn.Sequential()
            .add(nn.Concat(0).add(nn.Linear(2, 5)).add(nn.Linear(2, 5)))
            .add(nn.ReLU())
            .add(nn.Linear(5, 20)))


def test_tree():
    whole = net()
    concat = whole.get(0)
    assert whole.listModules() == [whole, concat, concat.get(0), concat.get(1), whole.get(1), whole.get(2)]
    seen = []
    whole.apply(seen.append)
    assert seen == whole.listModules()
    found, containers = whole.findModules(nn.Linear)
    assert found == [concat.get(0), concat.get(1), whole.get(2)] and containers == [concat, concat, whole]
    whole.replace(lambda module: nn.Tanh() if isinstance(module, nn.ReLU) else module)
    assert [type(m) for m in whole.modules] == [nn.Concat, nn.Tanh, nn.Linear] and whole.size() == len(whole) == 3
    whole.insert(nn.Abs(), 1)
    whole.remove()
    assert [type(m).__name__ for m in whole.modules] == ["Concat", "Abs", "Tanh"]
    whole.evaluate()
    assert not any(m.train for m in whole.listModules())


def test_shown_as_in_torch7():
    shown = nn.Sequential().add(nn.SpatialConvolution(3, 4, 5, 3, 2, 1, 2, 1)).add(net().get(0)).add(nn.View(-1, 8)).add(
        nn.SpatialMaxPooling(2, 2)).add(nn.Dropout(0.5)).add(nn.SpatialConvolution(3, 4, 5, 3).noBias())
    assert repr(shown) == """\
nn.Sequential {
  [input -> (0) -> (1) -> (2) -> (3) -> (4) -> (5) -> output]
  (0): nn.SpatialConvolution(3 -> 4, 5x3, 2,1, 2,1)
  (1): nn.Concat {
    input
      |`-> (0): nn.Linear(2 -> 5)
      |`-> (1): nn.Linear(2 -> 5)
       ... -> output
  }
  (2): nn.View(-1, 8)
  (3): nn.SpatialMaxPooling(2x2, 2,2)
  (4): nn.Dropout(0.5000)
  (5): nn.SpatialConvolution(3 -> 4, 5x3) without bias
}"""


def test_parameters_side_by_side():
    whole, x = net(), torch.randn(4, 2)
    expected, before = whole.forward(x).clone(), [weight.clone() for weight in whole.parameters()[0]]
    weights, gradients = whole.flattenParameters()
    assert weights.shape == gradients.shape == (2 * 15 + 120,)
    assert all(a.equal(b) for a, b in zip(before, whole.parameters()[0])) and whole.forward(x).equal(expected)
    assert weights.equal(torch.cat([weight.flatten() for weight in before]))
    whole.zeroGradParameters()
    whole.backward(x, torch.ones(8, 20))
    assert gradients.equal(torch.cat([gradient.flatten() for gradient in whole.parameters()[1]])) and gradients.any()
    step = weights - 0.1 * gradients
    whole.updateParameters(0.1)
    assert weights.allclose(step)
    again, more = whole.flattenParameters()              # of what is flat already
    assert again.equal(weights) and more.equal(gradients)
    weights.zero_()
    assert again.any() and nn.Tanh().flattenParameters() is None
    again.zero_()
    assert not whole.get(2).weight.any()
    loaded = pickle.loads(pickle.dumps(whole))
    assert all(a.equal(b) for a, b in zip(loaded.parameters()[0], whole.parameters()[0]))


@pytest.mark.parametrize("type", ["float", "double"])
def test_the_largest_parameter_begins_a_cache_line(type):
    """Else rows straddle lines, and the product that adds to its gradient takes half as long again."""
    whole = getattr(nn.Sequential().add(nn.Linear(3, 3)).add(nn.Linear(3, 40)).add(nn.Linear(40, 16)), type)()
    before = [weight.clone() for weight in whole.parameters()[0]]
    for _ in range(2):                                   # again, of what is flat already
        weights, gradients = whole.flattenParameters()
        assert whole.get(2).weight.data_ptr() % 64 == whole.get(2).gradWeight.data_ptr() % 64 == 0
        assert weights.is_contiguous() and weights.equal(torch.cat([weight.flatten() for weight in before]))
        assert weights.data_ptr() == whole.get(0).weight.data_ptr() and gradients.data_ptr() == whole.get(0).gradWeight.data_ptr()
    gradients.fill_(1)
    whole.updateParameters(1)
    assert weights.equal(torch.cat([(weight - 1).flatten() for weight in before]))


def test_shared_parameters():
    one, other = nn.Linear(2, 3), nn.Linear(2, 3)
    assert other.share(one, "weight", "gradWeight") is other
    one.weight.fill_(2)
    assert (other.weight == 2).all() and other.bias.data_ptr() != one.bias.data_ptr()
    whole = nn.Sequential().add(one).add(nn.Linear(3, 2)).add(other)
    weights, _ = whole.flattenParameters()
    assert weights.numel() == 6 + 3 + 8 + 3              # what is shared counts once, and is shared afterwards
    weights.fill_(1)
    assert one.weight.data_ptr() == other.weight.data_ptr() and (one.weight == 1).all()
    whole.double()
    one.weight.fill_(5)
    assert (other.weight == 5).all() and one.weight.dtype is torch.float64
    copy = whole.clone("weight", "bias")
    copy.get(1).weight.fill_(7)
    assert (whole.get(1).weight == 7).all() and copy.get(1).gradWeight.data_ptr() != whole.get(1).gradWeight.data_ptr()
    with pytest.raises(RuntimeError, match="gradients that are shared as their parameters are"):
        nn.Sequential().add(nn.Linear(2, 3)).add(nn.Linear(2, 3).share(one.float(), "weight")).add(one).flattenParameters()
    with pytest.raises(RuntimeError, match="one dtype on one device"):
        nn.Sequential().add(nn.Linear(2, 3)).add(nn.Linear(2, 3).double()).flattenParameters()


def test_a_step_without_gradients():
    module = nn.LookupTable(5, 3).accUpdateOnly()
    module.weight.fill_(2)
    indices = torch.tensor([1, 3, 3])
    module.backwardUpdate(indices, module.forward(indices), 0.1)
    np.testing.assert_allclose(module.weight[:, 0].numpy(), [2, 1.8, 2, 1.6, 2], rtol=1e-6)
    plain, shared, x = nn.Linear(3, 2), nn.Linear(3, 2), torch.randn(4, 3)
    for a, b in zip(shared.parameters()[0], plain.parameters()[0]):
        a.copy_(b)
    out = plain.forward(x).clone()
    plain.backwardUpdate(x, out, 0.1)
    shared.sharedAccUpdateGradParameters(x, out, 0.1)
    assert plain.weight.allclose(shared.weight) and plain.bias.allclose(shared.bias) and not plain.gradWeight.any()


def test_backward_of_what_is_given():
    """Of another input than the last, of one that was written to, after a step, and without `forward`."""
    module, x, y, ones = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh()), torch.randn(4, 3), torch.randn(4, 3), torch.ones(4, 2)
    linear, tanh = module.modules
    expected = ones @ linear.weight
    linear.forward(y)
    assert linear.updateGradInput(x, ones).allclose(expected)
    linear.zeroGradParameters()
    linear.accGradParameters(x, ones)
    assert linear.gradWeight.allclose(ones.t() @ x)
    linear.weight.mul_(2)
    assert linear.updateGradInput(x, ones).allclose(2 * expected)
    z = torch.tensor([1.0])
    tanh.forward(z)
    z.zero_()
    assert tanh.updateGradInput(z, torch.ones(1)).item() == 1
    assert nn.Square().backward(torch.tensor([3.0]), torch.ones(1)).item() == 6
    linear.gradInput = None                              # the first layer need not compute it
    module.forward(x)
    before = linear.gradWeight.clone()
    assert module.backward(x, ones) is None and not linear.gradWeight.equal(before)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        tanh.backward(x, ones)
    with pytest.raises(RuntimeError, match="a gradOutput for each of 2 outputs, got 1"):
        nn.SplitTable(0).backward(torch.ones(2, 3), [torch.ones(3)])


def test_gradients_are_not_aliases():
    """What a module hands on may be written to: the branches of a sum do not share one gradient."""
    first, second = nn.MulConstant(2), nn.Identity()
    whole = nn.Sequential().add(nn.ConcatTable().add(first).add(second)).add(nn.CAddTable()).add(nn.View(-1))
    ones = torch.ones(3)
    whole.forward(torch.ones(3))
    gradient = whole.backward(torch.ones(3), ones)
    assert gradient.tolist() == [3, 3, 3] and ones.tolist() == [1, 1, 1]
    places = {t.data_ptr() for t in [ones, gradient, *whole.get(1).gradInput, first.gradInput, second.gradInput]}
    assert len(places) == 6
    summed = nn.Sum(0)
    summed.forward(torch.ones(4, 3))
    assert summed.backward(torch.ones(4, 3), ones).add_(torch.arange(4.)[:, None])[:, 0].tolist() == [1, 2, 3, 4]


def test_a_weights_gradient_is_added_to_by_its_product():
    """A linear layer's gradient is as large as all others together: there is no second pass over it, and none for what a layer's
    single op hands on."""
    module, x = nn.Sequential().add(nn.Linear(5, 4)).add(nn.ReLU()), torch.randn(3, 5)
    for _ in range(2):
        ones = torch.ones_like(module.forward(x))
        module.zeroGradParameters()
        with torch.profiler.profile() as profile:
            module.backward(x, ones)
    calls = {event.key: event.count for event in profile.key_averages()}
    assert calls["addmm_"] == 1 and calls["add_"] == 1 and "clone" not in calls and "backward" not in calls
    module.zeroGradParameters()
    for scale in (1, 0.5):
        module.backward(x, ones, scale)
    masked = (module.get(0).output > 0).float()
    assert module.get(0).gradWeight.allclose(1.5 * masked.t() @ x) and module.get(0).gradBias.allclose(1.5 * masked.sum(0))
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        module.get(0).accGradParameters(x, torch.ones(4, 3))


def test_modes_reach_all_modules():
    whole = nn.Sequential().add(nn.Concat(1).add(nn.Dropout(0.5)).add(nn.Identity()))
    x = torch.ones(4, 50)
    for switch, train in ((whole.evaluate, False), (whole.training, True)):
        switch()
        assert {module.train for module in whole.listModules()} == {train}
        assert bool((whole.forward(x) != 1).any()) is train


def test_no_gradient_of_an_input_that_nobody_asks_for():
    """The first layer of a network without `gradInput`: nothing as large as its input is made."""
    module, x = nn.SpatialConvolution(1, 2, 3, 3), torch.randn(2, 1, 5, 5)
    module.gradInput = None
    for _ in range(2):
        ones = torch.ones_like(module.forward(x))
        with torch.profiler.profile() as profile:
            assert module.backward(x, ones) is None
    calls = {event.key for event in profile.key_averages()}
    assert not calls & {"clone", "zero_", "conv2d", "backward"} and module.gradWeight.any()


def test_gradients_of_a_flattened_network_become_zero_at_once():
    def calls(module):
        with torch.profiler.profile() as profile:
            module.zeroGradParameters()
        return sum(event.count for event in profile.key_averages() if event.key == "zero_")

    whole = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Sequential().add(nn.ReLU()).add(nn.Linear(4, 2)))
    _, gradients = whole.flattenParameters()
    gradients.fill_(1)
    assert calls(whole) == 1 and not gradients.any()
    replaced, added = torch.ones(4, 3), nn.Linear(2, 2)
    added.gradWeight.fill_(1)
    for change in (lambda: setattr(whole.get(0), "gradWeight", replaced), lambda: whole.get(1).add(added)):
        gradients.fill_(1)
        change()
        assert calls(whole) > 1 and not any(gradient.any() for gradient in whole.parameters()[1])
    assert not replaced.any() and not added.gradWeight.any()
    whole.flattenParameters()
    for copy in (whole.clone(), pickle.loads(pickle.dumps(whole)), whole.double()):
        copy.parameters()[1][0].fill_(1)
        copy.zeroGradParameters()
        assert not copy.parameters()[1][0].any()

    class Keeping(nn.Linear):
        def zeroGradParameters(self):
            pass

    kept = nn.Sequential().add(Keeping(2, 2)).add(nn.Linear(2, 2))
    _, gradients = kept.flattenParameters()
    gradients.fill_(1)
    kept.zeroGradParameters()
    assert kept.get(0).gradWeight.all() and not kept.get(1).gradWeight.any()


@pytest.mark.skipif(DISABLE_JIT, reason="counts machine code's calls")
def test_a_step_launches_what_that_of_nn_does():
    """And beside it one addition for each gradient that is not its product's own, the zeros, and a copy where a view is handed on."""
    x, y = torch.randn(2, 1, 28, 28), torch.tensor([3, 7])
    model, net = lenet(torch), nn.Sequential()
    for module in (nn.SpatialConvolution(1, 20, 5, 5), nn.ReLU(), nn.SpatialMaxPooling(2, 2), nn.SpatialConvolution(20, 50, 5, 5),
                   nn.ReLU(), nn.SpatialMaxPooling(2, 2), nn.View(-1, 800), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10)):
        net.add(module)
    net.get(0).gradInput = None
    optimizer, criterion = torch.optim.SGD(model.parameters(), 0.01), nn.CrossEntropyCriterion()
    weights, gradients = net.flattenParameters()

    def evaluate(weights):
        net.zeroGradParameters()
        loss = criterion.forward(net.forward(x), y)
        net.backward(x, criterion.backward(net.output, y))
        return loss, gradients

    def launches(run):
        run()
        with torch.profiler.profile() as profile:
            run()
        return sum(event.kind == "kernel" for event in profile.events())

    ours = launches(lambda: torch.legacy.optim.sgd(evaluate, weights, {"learningRate": 0.01}))
    assert ours <= launches(lambda: train_by_hand(model, torch.nn.CrossEntropyLoss(), optimizer, [(x, y)])) + 6 + 1 + 1


def test_hooks_of_a_formula():
    seen = []

    class Watched(nn.Layer):
        def formula(self, input):
            input.register_hook(lambda grad: seen.append("input"))
            output = input.exp()
            output.register_hook(lambda grad: seen.append("output"))
            return output
    module, x = Watched(), torch.zeros(2)
    module.forward(x)
    assert module.backward(x, torch.ones(2)).tolist() == [1, 1] and sorted(seen) == ["input", "output"]


def test_nothing_is_recorded_outside():
    module, x = nn.Linear(2, 2), torch.ones(1, 2, requires_grad=True)
    assert not module.forward(x).requires_grad and not module.backward(x, torch.ones(1, 2)).requires_grad and x.grad is None
    with torch.no_grad():
        module.forward(x)
    assert module.backward(x, torch.ones(1, 2)).any()


def test_running_statistics_see_each_forward_once():
    module, x = nn.BatchNormalization(2, momentum=1.0), torch.tensor([[0., 2.], [2., 6.]])
    module.forward(x)
    module.weight.fill_(3)                               # so that backward runs the formula again
    module.backward(x, torch.ones(2, 2))
    assert module.running_mean.tolist() == [1, 4]
    module.momentum = 0.5
    module.forward(x * 0)
    assert module.running_mean.tolist() == [0.5, 2]


def test_penalty():
    x = torch.tensor([[-2., 0., 1.]])
    for averaged, added, expected in ((False, False, [-0.5, 0, 0.5]), (False, True, [0.5, 1, 1.5]), (True, False, [-1 / 6, 0, 1 / 6])):
        module = nn.L1Penalty(0.5, averaged, added)
        assert module.forward(x).equal(x) and module.loss == pytest.approx(0.5 if averaged else 1.5)
        np.testing.assert_allclose(module.backward(x, torch.ones(1, 3)).numpy(), [expected], rtol=1e-6)


def test_root_at_zero():
    module, x = nn.Sqrt(), torch.tensor([0., 4.])
    module.forward(x)
    assert module.backward(x, torch.ones(2)).tolist() == [0, 0.25]


def test_types():
    module = nn.Copy(torch.DoubleTensor, torch.FloatTensor)
    x = normal(2)
    assert module.forward(x).type() == "torch.FloatTensor" and module.backward(x, torch.ones(2)).type() == "torch.DoubleTensor"
    fixed = nn.Copy(torch.DoubleTensor, torch.FloatTensor, True)
    assert fixed.double().forward(x).dtype is torch.float32 and module.double().forward(x).dtype is torch.float64
    with pytest.raises(ValueError, match="invalid type"):
        nn.Linear(2, 2).type("torch.OddTensor")
    with pytest.raises(NotImplementedError, match="formula"):
        nn.Layer().forward(x)


def test_lookups():
    module = nn.LookupTable(3, 2, 1).setMaxNorm(1.0).setNormType(1).scaleGradByFreq()
    module.weight.copy_(torch.tensor([[3., 1.], [0.25, 0.25], [9., 9.]]))
    indices = torch.tensor([0, 0, 1])
    np.testing.assert_allclose(module.forward(indices).numpy(), [[0.75, 0.25], [0.75, 0.25], [0.25, 0.25]], rtol=1e-5)
    assert module.weight[2].tolist() == [9, 9]
    module.backward(indices, torch.ones(3, 2))
    assert module.gradWeight.tolist() == [[1, 1], [0, 0], [0, 0]]
    with pytest.raises(RuntimeError, match="a vector or a matrix"):
        module.forward(torch.zeros(1, 1, 1, dtype=torch.int64))


def test_tables_of_connections():
    assert MAPS.full(2, 2).tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]] and MAPS.oneToOne(2).tolist() == [[0, 0], [1, 1]]
    drawn = MAPS.random(6, 4, 3)
    assert drawn.shape == (12, 2) and drawn[:, 1].tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    assert np.bincount(drawn[:, 0].long().numpy()).tolist() == [2] * 6
    torch.manual_seed(0)
    module = nn.SpatialConvolutionMap(MAPS.full(4, 1), 5, 5)
    assert 0.9 / 10 < module.weight.abs().max().item() <= 1 / 10


WRONG = {
    "HardTanh": (lambda: nn.HardTanh(1, 1), ValueError), "Threshold": (lambda: nn.Threshold(0, 1, True), RuntimeError),
    "RReLU": (lambda: nn.RReLU(0.5, 0.1), ValueError), "Add": (lambda: nn.Add(2, True), ValueError),
    "Normalize": (lambda: nn.Normalize(0), ValueError), "unpooling": (lambda: nn.SpatialMaxUnpooling(nn.SpatialMaxPooling(3, 3, 2, 2)), ValueError),
    "adjustment": (lambda: nn.SpatialFullConvolution(1, 1, 2, 2, adjW=1), ValueError), "local": (lambda: nn.SpatialConvolutionLocal(1, 1, 2, 2, 3, 3), RuntimeError),
    "kernel": (lambda: nn.SpatialSubtractiveNormalization(1, torch.ones(4)), ValueError), "upsampling": (lambda: nn.SpatialUpSamplingNearest(1.5), ValueError),
    "Linear": (lambda: nn.Linear(2, 2).forward(torch.ones(1, 3)), RuntimeError), "Bilinear": (lambda: nn.Bilinear(2, 2, 2).forward(torch.ones(2)), RuntimeError),
    "BatchNormalization": (lambda: nn.BatchNormalization(2).forward(torch.ones(2, 2, 2)), RuntimeError), "features": (lambda: nn.BatchNormalization(2).forward(torch.ones(2, 3)), RuntimeError),
    "Parallel": (lambda: nn.Parallel(0, 0).add(nn.Tanh()).forward(torch.ones(2, 2)), RuntimeError), "ParallelTable": (lambda: nn.ParallelTable().forward([torch.ones(1)]), RuntimeError),
    "NarrowTable": (lambda: nn.NarrowTable(1, 2).forward([torch.ones(1)] * 2), RuntimeError), "MixtureTable": (lambda: nn.MixtureTable().forward([torch.ones(1, 2), [torch.ones(1)]]), RuntimeError),
    "images": (lambda: nn.SpatialZeroPadding(1).forward(torch.ones(2, 2)), RuntimeError), "planes": (lambda: nn.SpatialDropout().forward(torch.ones(2, 2)), RuntimeError),
    "fractional": (lambda: nn.SpatialFractionalMaxPooling(2, 2, 0.5, 4), ValueError), "places": (lambda: nn.SpatialMaxPooling(2, 2).indices, RuntimeError),
    "index": (lambda: nn.LookupTable(2, 2).forward(torch.tensor([2])), IndexError), "rows": (lambda: nn.Normalize(2).forward(torch.ones(2)), RuntimeError),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name):
    call, kind = WRONG[name]
    with pytest.raises(kind):
        call()


def test_a_module_of_ones_own():
    """Torch7's way: updateOutput, updateGradInput and accGradParameters by hand."""
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.gradWeight = torch.full((1,), 3.0), torch.zeros(1)

        def updateOutput(self, input):
            return self.output.set_(input * self.weight)

        def updateGradInput(self, input, gradOutput):
            return self.gradInput.set_(gradOutput * self.weight)

        def accGradParameters(self, input, gradOutput, scale=1):
            self.gradWeight.add_((input * gradOutput).sum(), alpha=scale)

    module, x = nn.Sequential().add(Scale()).add(nn.Square()), torch.tensor([1., 2.])
    assert module.forward(x).tolist() == [9, 36] and module.backward(x, torch.ones(2)).tolist() == [18, 36]
    assert module.parameters()[1][0].item() == 6 * 1 + 12 * 2
    module.accUpdateGradParameters(x, torch.ones(2), 0.1)
    assert module.get(0).weight.item() == pytest.approx(0, abs=1e-6) and gradient_name("diagCov") == "gradDiagCov"


def test_files(tmp_path):
    """What shares memory shares it in a file of `save` too."""
    whole, x = net(), torch.randn(4, 2)
    whole.flattenParameters()
    expected = whole.forward(x).clone()
    torch.save(whole, tmp_path / "net.t7")
    loaded = torch.load(tmp_path / "net.t7", weights_only=False)
    assert loaded.forward(x).equal(expected) and repr(loaded) == repr(whole)
    places = [weight.data_ptr() for weight in loaded.parameters()[0]]
    assert max(places) - min(places) == (150 - 20) * 4
