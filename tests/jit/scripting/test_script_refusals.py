"""What is not in the subset that scripts are written in is refused, at its line, and so is what a file's text may not reach."""
import pytest

import numtorch as torch
from numtorch.jit.scripting.units import Unit, parsed

try:
    import torch as reference
except ImportError:
    reference = None

REFUSED = [                                              # the body, what is said, and whether PyTorch refuses it as well
    ("try:\n        return x\n    except ValueError:\n        return x", "try/except is not in a script", True),
    ("return (lambda y: y)(x)", "write a function with `def`", True),
    ("import math\n    return x", "import at the top of the file", True),
    ("global G\n    return x", "give the value as an argument", True),
    ("yield x", "append to a list", True),
    ("def g(y):\n        return y\n    return g(x)", "write it beside this one", True),
    ("class A:\n        pass\n    return x", "classes inside of functions", True),
    ("return (y := x)", "assign on a line of its own", True),
    ("return {1, 2}", "use a list, or a dict", True),
    ("if x.sum() > 0:\n        y = x\n    return y", "y is not defined in the false branch", True),
    ("y: int = 1\n    if x.sum() > 0:\n        y = 'a'\n    return y", "previously had type int but is now being assigned to a value of "
     "type str", True),
    ("if x.sum() > 0:\n        return 1\n    return x", "returned a value of type int but this return statement returns a value of type "
     "Tensor", True),
    ("if x.sum() > 0:\n        y = 1\n    else:\n        y = 'a'\n    return y", "in the true branch and type str in the false branch",
     True),
    ("for i in range(3):\n        y = i\n    return y", "defined only in a loop", True),
    ("return x.foo", "has no attribute or method 'foo'", True),
    ("return x.numpy()", "has no attribute or method 'numpy'", True),
    ("return x + 'a'", "operands of this operation are of types Tensor and str", True),
    ("return nothere(x)", "undefined value nothere", True),
    ("return torch.nothere(x)", "has no attribute nothere", True),
    ("y: Optional[Tensor] = None\n    return y + x", "may be None", True),
    ("y: Optional[Tensor] = None\n    if x.sum() > 0:\n        y = x\n    return y.sin()", "may be None", True),
    ("return helper(x, 'a')", "Expected a value of type 'int' for argument 'k'", True),
    ("return helper(k=2)", "missing value for argument 'x'", True),
    ("return helper(x, z=2)", "Unknown keyword argument 'z'", True),
    ("return open('/etc/passwd')", "cannot be used as a value", True),
    ("return CONFIG", "cannot be used as a value", True),
    ("return TENSOR + x", "is a tensor from outside", True),
    ("return f(x)", "f calls itself", True),
    ("while True:\n        x = x + 1\n    else:\n        x = x\n    return x", "`else` of a loop", True),
    ("return helper(**{'x': x})", "in a call is not in a script", True),
    ("y = 1\n    while x.sum() < 3:\n        y = x\n    return y", "previously had type int but is now being assigned", False),
    ("return (x, x)[3]", "out of range", True),
    ("y, *z = x.shape\n    return z[0]", "take a slice, such as", True),
    ("y, *x.data = 1, x\n    return x", "take a slice, such as", True),
    ("y, u, *z = (1,)\n    return z[0]", "Need at least 2 values to unpack, and there are 1", True),
    ("for y, *z in [(1, 2, 3)]:\n        x = x + y\n    return x", "take a slice, such as", False),
    ("return torch.add(x, 'a')", r"torch.add\(\) got a str where a Tensor or a number is expected", True),
    ("return Data(1) + x", "objects of class Data are not in a script", False),
    ("return made(x)", "the source of made is not there", True),
    ("break", "outside of a loop", True),
    ("z: Strange = x\n    return z", "no type of a script", True),
    ("return torch.jit.wait(x)", r"wait\(\) expected a value of type 'Future\[t\]' but instead found type 'Tensor'", True),
    ("return torch.jit.fork(helper, x) + 1", r"are of types Future\[Tensor\] and int", True),
    ("return torch.jit.fork(helper, x).done()", "has no attribute or method 'done'", True),
    ("return torch.jit.fork(helper, x, 'a')", "Expected a value of type 'int' for argument 'k'", True),
    ("return torch.jit.fork()", "takes the function that is called", True),
    ("return torch.jit.fork(len(x))", "a value of type int is called", True),
    ("with open('a') as g:\n        return x", "cannot be used as a value|no_grad", True),
]


@pytest.mark.parametrize(("body", "message", "both"), REFUSED)
def test_what_is_not_in_the_subset_is_refused_at_its_line(body, message, both, tmp_path):
    def made(library):
        path = tmp_path / f"refused_{library}.py"
        path.write_text(f"import {library} as torch\nfrom {library} import Tensor\nfrom typing import "
                        "Optional\n\n\nclass Data(int):\n    pass\n\n\nexec('def made(x):\\n    return x')\nCONFIG = object()\n"
                        "TENSOR = torch.ones(2)\n\n\ndef helper(x, k: int = 2):\n    return x * k\n\n\n"
                        f"def f(x):\n    {body}\n")
        try:
            code = compile(path.read_text(), str(path), "exec")
        except SyntaxError:
            pytest.skip("Python refuses it as well")
        scope = {"__name__": f"refused_{library}"}
        exec(code, scope)
        return path, scope["f"]
    path, function = made("numtorch")
    with pytest.raises(RuntimeError, match=message) as caught:
        torch.jit.script(function)
    assert str(path) in str(caught.value) and "<--- HERE" in str(caught.value)
    if both and reference is not None:
        with pytest.raises(Exception):
            reference.jit.script(made("torch")[1])


TEXTS = ["def f(x):\n    return torch.jit.fork(open('a'))", "def f(x):\n    return torch.jit.fork(x)", "def f(x):\n    return torch.jit.load('a')",
         "def f(x):\n    return torch.jit.fork(x.numpy())", "def f(x):\n    return x.__class__", "def f(x):\n    return ().__class__.__bases__", "def f(x):\n    return __import__('os')",
         "def f(x):\n    return eval('1')", "def f(x):\n    return torch.load('a')", "def f(x):\n    return torch.nn.Linear",
         "def f(x):\n    import os\n    return x", "def f(x, y=print('a')):\n    return x", "def f(x):\n    return x.numpy().tofile('a')",
         "def f(x):\n    return x.register_hook(print)", "def f(x):\n    return '{0.__class__}'.format(x)", "x = 1",
         "def f(x, y: Any):\n    return y.__dict__", "def f(x):\n    return (lambda: x)()", "def f(x):\n    __0 = x\n    return __0",
         "@print\ndef f(x):\n    return x", "def f(x):\n    return torch.compile(x)", "def f(x):\n    return __torch__.g(x)",
         "def f(x):\n    return self.x", "def f(x, y: Any):\n    return y(x)",
         "def f(x):\n    return max([x], key=print)", "def f(x):\n    print(x, file=x)\n    return x",
         "def f(x, m: Module):\n    return m.forward(x)", "def f(x):\n    return torch.hub.load(x)", "class f:\n    pass", "def f(*x):\n    return x", "def f(x: print('a')):\n    return x"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_cannot_reach_what_no_script_can(text):
    """What files hold is refused where it is not of the subset, before any of it runs."""
    with pytest.raises((RuntimeError, ValueError)):
        parsed(Unit(), text, "<script f>").ready()
