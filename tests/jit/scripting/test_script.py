"""Scripts: what a function in the subset computes, as Python, as a script, from a file and as PyTorch's script."""
import io

import pytest
import scriptprograms as programs
from scriptruns import argument, outcome, through_file

import numtorch as torch
from numtorch.kernels.debugmemory import MODE
from numtorch.tree import flatten

try:
    import torch as reference
except ImportError:
    reference = None

ROWS = [                                                 # the program, its arguments; `t` makes a tensor
    ("early", lambda t: (t(3), 3)), ("early", lambda t: (t(3) * 90, 9)), ("collatz", lambda t: (27,)), ("data_dependent", lambda t: (t(2),)),
    ("lists", lambda t: (t(3, 2),)), ("dicts", lambda t: (t(2),)), ("tuples", lambda t: (t(4, 3),)), ("optional", lambda t: (t(3),)),
    ("starred", lambda t: (t(3),)),
    ("optional", lambda t: (t(3), t(3) * 2, 0.5)), ("strings", lambda t: (t(3),)), ("strings", lambda t: (t(3), "mean")),
    ("booleans", lambda t: (t(2), True, 3)), ("booleans", lambda t: (t(2), False, 3)), ("indexing", lambda t: (t(3, 2),)),
    ("zipped", lambda t: ([t(2), t(2)], [0.5, 2.0])), ("nested", lambda t: (t(4), 4)), ("no_grads", lambda t: (t(3),)),
    ("functional", lambda t: (t(2, 3), t(4, 3), t(4))), ("isinstances", lambda t: (t(2), 3)), ("isinstances", lambda t: (t(2),)),
    ("dtypes", lambda t: (t(3),)), ("newton", lambda t: (t(3),)), ("points", lambda t: (t(3),)), ("later", lambda t: (t(3), 3)), ("fails_later", lambda t: (t(3), True)),
    ("bare_comment", lambda t: (t(3), 2.5)), ("commented_arguments", lambda t: (t(3), [4, 5])), ("flags", lambda t: (t(3), True, False)),
    ("otherwise_unused", lambda t: (t(3), 1)), ("otherwise_unused", lambda t: (t(3), 3)), ("kinds_of_lists", lambda t: ([1, 2],)),
    ("ellipses", lambda t: (t(3, 2),)), ("fractions", lambda t: (-6.75,)), ("refusing", lambda t: (t(2), 1)),
    ("unwrapping", lambda t: (t(2), t(2))), ("gradients", lambda t: (t(3),)),
    ("written_in_a_class", lambda t: (t(3), 11)), ("ranges", lambda t: (t(3),)), ("of_several_kinds", lambda t: (3,)),
    ("tuples_for_lists", lambda t: (t(3),))]
RAISES = [("strings", lambda t: (t(3), "max"), "unknown mode max"), ("strings", lambda t: (t(3, 1),), "expected one dimension, got 2"),
          ("collatz", lambda t: (t(1),), "Expected a value of type 'int' for argument 'n' but instead found type 'Tensor'"),
          ("fails_later", lambda t: (-t(3), True), "negative"), ("refusing", lambda t: (t(2), 4), "not 4"),
          ("refusing", lambda t: (t(2), 5), "five or more"), ("unwrapping", lambda t: (t(2),), "Unwrapping null optional"),
          ("stopping", lambda t: (t(2),), "not in scripts"),
          ("early", lambda t: (t(3),), "missing value for argument 'n'"), ("collatz", lambda t: (1, 2), "at most 1 argument")]


@pytest.mark.parametrize(("name", "args"), ROWS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(ROWS)])
def test_a_script_computes_what_its_function_does(name, args):
    """Values and gradients are those of the function itself, as a script, and from a file."""
    function, make = getattr(programs, name), argument(torch)
    expected = outcome(function, args(make), torch)
    script = torch.jit.script(function)
    assert outcome(script, args(make), torch) == expected
    loaded = through_file(script)
    assert outcome(loaded, args(make), torch) == expected
    assert loaded.code == script.code and str(loaded.graph) == str(script.graph)
    assert torch.jit.script(script) is script


@pytest.mark.parametrize(("name", "args"), ROWS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(ROWS)])
def test_a_script_computes_what_that_of_pytorch_does(name, args, theirs):
    script = reference.jit.script(getattr(theirs, name))
    expected = outcome(script, args(argument(reference)), reference)
    found = outcome(torch.jit.script(getattr(programs, name)), args(argument(torch)), torch)
    assert flatten(found)[1] == flatten(expected)[1]
    for a, b in zip(flatten(found)[0], flatten(expected)[0]):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("name", "args", "message"), RAISES)
def test_a_script_raises_what_its_function_does(name, args, message):
    with pytest.raises(Exception, match=message):
        torch.jit.script(getattr(programs, name))(*args(argument(torch)))


def test_what_a_fork_raises_comes_from_waiting_for_it(theirs):
    """In scripts of both; as Python, fork itself raises."""
    for library, module in ((torch, programs), (reference, theirs)):
        script, x = library.jit.script(module.fails_later), -library.ones(2)
        assert script(x, False).tolist() == [-1, -1]
        for function in (script, module.fails_later):
            with pytest.raises(Exception, match="negative"):
                function(x, True)
        with pytest.raises(ValueError, match="negative"):
            module.fails_later(x, False)


@torch.jit.script
def waits(future: torch.jit.Future[torch.Tensor]):
    return future.wait() + 1


def test_futures_are_given_and_returned():
    assert waits(torch.jit.fork(torch.neg, torch.ones(1))).tolist() == [0] and waits.code.startswith("def waits(future: Future[Tensor])")
    with pytest.raises(RuntimeError, match=r"Future\[Tensor\]"):
        waits(torch.ones(1))


def wrong_field(p: programs.Point):
    return p.z


def too_few():
    return programs.Point(torch.ones(1))


def another_type():
    return programs.Point(torch.ones(1), torch.ones(1), "3")


def test_named_tuples_of_a_user_are_types():
    script = torch.jit.script(programs.shifted)
    found = script(programs.Point(torch.zeros(2), torch.zeros(2)), 1.0)
    assert type(found) is programs.Point and found.scale == 3.0 and "__torch__.Point" in script.code
    loaded = through_file(script)(programs.Point(torch.zeros(2), torch.zeros(2)), 1.0)
    assert loaded._fields == programs.Point._fields and torch.equal(loaded.x, found.x)
    for given in (torch.zeros(2), (torch.zeros(2), torch.zeros(2), 1.0), programs.Line(torch.zeros(2), torch.zeros(2))):
        with pytest.raises(RuntimeError, match=r"Expected a value of type '__torch__\.Point'"):
            script(given, 1.0)
    for function, message in ((wrong_field, "no attribute or method 'z'"), (too_few, "missing value for argument 'y'"),
                              (another_type, "Expected a value of type 'float' for argument 'scale'")):
        with pytest.raises(RuntimeError, match=message):
            torch.jit.script(function)


def test_scripts_traces_and_python_call_each_other():
    traced = torch.jit.trace(lambda x: x.sin() * 2, torch.rand(3))
    globals()["_traced"] = traced
    globals()["_scripted"] = torch.jit.script(programs.newton)
    script = torch.jit.script(mixed)
    x = torch.rand(3) + 0.5
    assert torch.equal(script(x), traced(x) + programs.newton(x))
    assert torch.equal(through_file(script)(x), script(x))
    again = torch.jit.trace(lambda y: script(y) + 1, x)
    assert torch.equal(again(x), script(x) + 1)
    ignoring = torch.jit.script(with_python)
    assert torch.equal(ignoring(x), x + 3) and torch.equal(with_python(x), x + 3)
    with pytest.raises(RuntimeError, match="is Python"):
        torch.jit.save(ignoring, io.BytesIO())
    pair = torch.jit.script(torch.nn.Sequential(programs.Block(3), torch.jit.trace(torch.nn.Linear(3, 2), x)))
    assert torch.equal(through_file(pair)(x), pair(x))


def mixed(x):
    return _traced(x) + _scripted(x)  # noqa: F821


@torch.jit.ignore
def python(x):
    return eval("x + 2")


@torch.jit.unused
def never(x):
    return eval("x")


def with_python(x):
    if x.numel() > 100:
        return never(x)
    if torch.jit.is_scripting():
        return python(x) + 1
    else:
        return max({x.numel(): x + 3}.values(), key=len)


def test_a_trace_freezes_what_a_script_keeps():
    """The promise of 2017: the trace re-executes the operations it recorded, the script decides anew."""
    rising, falling = torch.tensor([3.0, 20.0]), torch.tensor([20.0, 3.0])
    with pytest.warns(torch.jit.TracerWarning):
        traced = torch.jit.trace(programs.data_dependent, rising, check_trace=False)
    script = torch.jit.script(programs.data_dependent)
    assert torch.equal(script(falling), programs.data_dependent(falling)) and torch.equal(script(rising), traced(rising))
    assert not torch.equal(traced(falling), script(falling))
    assert torch.equal(traced(falling), falling.sin())


@pytest.mark.skipif(bool(MODE), reason="nothing is captured with NUMTORCH_DEBUG_MEMORY: a replay's memory would not be watched")
def test_a_script_is_replayed():
    """`compile` captures what a script launches; one whose conditions ask tensors runs as it is."""
    script, x = torch.jit.script(programs.functional), (torch.rand(2, 3), torch.rand(4, 3), torch.rand(4))
    compiled = torch.compile(script)
    assert all(torch.equal(compiled(*x), script(*x)) for _ in range(4)) and torch.compile.explain(script)(*x).launches > 0
    asking = torch.compile(torch.jit.script(programs.data_dependent))
    for given in (torch.tensor([3.0, 20.0]), torch.tensor([20.0, 3.0])) * 3:
        assert torch.equal(asking(given), programs.data_dependent(given))


def test_the_graph_of_a_script_has_blocks():
    text = str(torch.jit.script(programs.Net()).graph)
    assert text.startswith("graph(%self : Net, %x : Tensor") and "prim::Loop(" in text and "block0(%i, %block):" in text
    assert 'prim::CallMethod[name="forward"](%block, %x)' in text and "prim::If(" in text
