"""Hooks of modules as scripts."""
import copy

import hookprograms as programs
import pytest
from scriptruns import argument, outcome, through_file

import numtorch as torch
from numtorch.jit.scripting import loading
from numtorch.tree import flatten

try:
    import torch as reference
except ImportError:
    reference = None


@pytest.mark.parametrize("name", programs.HOOKED)
def test_hooks_do_in_scripts_what_they_do_in_python_and_in_pytorchs_scripts(name, theirs):
    net = programs.hooked(name)
    script, x = torch.jit.script(net), argument(torch)(2, 3)
    wanted = outcome(net, [x], torch)
    found = outcome(reference.jit.script(theirs.hooked(name)), [argument(reference)(2, 3)], reference)
    assert flatten(wanted)[0] == pytest.approx(flatten(found)[0], rel=1e-5, abs=1e-6)
    for each in (script, copy.deepcopy(script), through_file(script), through_file(through_file(script)),
                 torch.jit.freeze(copy.deepcopy(script).eval())):
        assert outcome(each, [x], torch) == wanted
    assert not any(a is b for a, b in zip(copy.deepcopy(script).parameters(), script.parameters()))


def test_a_method_calls_no_hooks_where_it_calls_forward():
    net, x = programs.hooked("behind"), argument(torch)(2, 3)
    assert torch.equal(torch.jit.script(net).second.forward(x), net.second.forward(x))
    assert torch.equal(torch.jit.script(net).second(x), net.second(x)) and not torch.equal(net.second(x), net.second.forward(x))


def test_hooks_take_and_give_arguments_of_several_types(theirs):
    x = argument(torch)(2, 3)
    for before, behind in (([programs.more], []), ([], [programs.counts]), ([programs.more, programs.more], [programs.counts] * 2)):
        net = programs.powers(before, behind)
        other = theirs.powers([getattr(theirs, each.__name__) for each in before], [getattr(theirs, each.__name__) for each in behind])
        found = reference.jit.script(other)(argument(reference)(2, 3))
        for each in (net, torch.jit.script(net), through_file(torch.jit.script(net))):
            assert each(x).tolist() == [pytest.approx(row) for row in found.tolist()]


def test_a_hook_that_may_give_none_leaves_the_output_then():
    net, x = programs.Layer(), argument(torch)(2, 3)
    net.register_forward_hook(programs.maybe)
    script = torch.jit.script(net)
    for given in (x, -9 * x):
        assert torch.equal(script(given), net(given)) and torch.equal(through_file(script)(given), net(given))


@pytest.mark.parametrize("name", programs.REFUSED)
def test_hooks_that_do_not_fit_are_refused_at_their_line(name, theirs):
    with pytest.raises(RuntimeError, match=programs.REFUSED[name][2]):
        torch.jit.script(programs.refused(name))
    with pytest.raises((RuntimeError, SyntaxError)):     # of a lambda
        reference.jit.script(theirs.refused(name))


def test_calls_that_do_not_fit_hooks_are_refused_at_their_line(theirs):
    for make, message in (("called_by_name", "counts\\(\\), a hook, expected a value of type 'Tuple\\[Tensor, int\\]' for argument 'input' but "
                           "instead found type 'Tuple\\[Tensor\\]': give all arguments by place:\n.* in forward\n"),
                          ("of_another_result", "Expected a value of type 'Tensor' for argument 'x' but instead found type "
                           "'Tuple\\[Tensor, Tensor\\]'")):
        with pytest.raises(RuntimeError, match=message):
            torch.jit.script(getattr(programs, make)())
        with pytest.raises(RuntimeError):
            reference.jit.script(getattr(theirs, make)())


def test_what_no_script_calls_as_a_hook_is_refused():
    def forward(self, input, output):
        return output
    for register, message in ((lambda net: net.register_full_backward_hook(lambda *given: None), "has backward hooks"),
                              (lambda net: net.register_forward_hook(programs.scales, with_kwargs=True), "with keyword arguments"),
                              (lambda net: net.register_forward_hook(programs.scales, always_call=True), "where forward raises"),
                              (lambda net: net.register_forward_hook(forward), "another method or hook that is called forward")):
        net = programs.Layer()
        handle = register(net)
        with pytest.raises(torch.jit.NotSupportedError, match=message):
            torch.jit.script(net)
        handle.remove()
        assert torch.jit.script(net)(torch.ones(2, 3)).shape == (2, 3)


def test_hooks_that_are_python_run_and_are_in_no_file():
    @torch.jit.ignore
    def python(self, input, output):
        return output + 1
    x = torch.ones(2, 3)
    net, later = programs.Layer(), torch.jit.script(programs.Net())
    expected = net(x) + 1
    net.register_forward_hook(python)
    later.second.inner.register_forward_hook(lambda *given: None)
    script = torch.jit.script(net)
    assert torch.equal(script(x), expected) and torch.equal(copy.deepcopy(script)(x), expected)
    for each in (script, later):
        with pytest.raises(RuntimeError, match="Python"):
            through_file(each)


def test_copies_and_the_users_module_have_hooks_of_their_own():
    net, x = programs.hooked("a layer of the package"), torch.ones(2, 3)
    script = torch.jit.script(net)
    other, wanted = copy.deepcopy(script), net(x)
    for each in (net, script):
        for module in each.modules():
            module._forward_hooks.clear()
            module._forward_pre_hooks.clear()
    assert torch.equal(other(x), wanted) and torch.equal(script(x), net(x)) and not torch.equal(net(x), wanted)
    assert torch.equal(through_file(script)(x), net(x))


@pytest.mark.parametrize("name", ["around", "the whole, looking", "a layer of the package"])
def test_traces_keep_what_hooks_decide(name):
    script, x = torch.jit.script(programs.hooked(name)), torch.ones(2, 3)
    traced = torch.jit.trace(script, x)
    for given in (x, -x, 5 * x):
        for each in (traced, through_file(traced), torch.jit.trace(torch.nn.Sequential(script), -x)):
            assert torch.equal(each(given), script(given))


def test_a_file_that_names_no_hook_is_refused():
    content = torch.jit.script(programs.hooked("around")).content()
    assert loading.from_content(content)(torch.ones(2, 3)).shape == (2, 3)
    for kind, name in (("forward", "halves_"), ("backward", "looks"), ("forward_pre", "scales")):
        changed = copy.deepcopy(content)
        next(each for each in changed["modules"] if "hooks" in each)["hooks"][kind] = [name]
        with pytest.raises((KeyError, ValueError, RuntimeError)):
            loading.from_content(changed)
