"""Every public name of PyTorch is in numtorch, or says what to do: by import lines under the alias, and as an attribute without it."""
from __future__ import annotations

import importlib
import importlib.util
import json
import warnings
from types import ModuleType

import pytest
from aliased import after_install, python

import numtorch

# PyTorch's modules for other devices and other programs, of which one row says all, and what no script asks for.
ASIDE = """ao bin contrib distributed export fx.experimental fx.passes include lib mps mtia nn.quantized onnx package quantization testing.
    utils.benchmark utils.hipify xpu backends.""".split()
NAMES_OF_PYTORCH = f"""
import contextlib, importlib, io, json, pkgutil, warnings
from types import ModuleType
warnings.simplefilter("ignore")
import torch
names = {{"": [n for n in torch.__all__ if not isinstance(getattr(torch, n), ModuleType)]}}
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    for found in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        path = found.name.removeprefix("torch.")
        if path.startswith({tuple(ASIDE)!r}) or "._" in found.name:
            continue
        try:
            module = importlib.import_module(found.name)
        except Exception:
            continue
        if isinstance(module, ModuleType):               # the others are names of functions too
            names[path] = [n for n in getattr(module, "__all__", ()) if not isinstance(getattr(module, n, None), ModuleType)]
print(json.dumps(names))
"""
# Hidden by functions of their modules' names, which come first.
HIDDEN = {"nn.utils.spectral_norm", "nn.utils.weight_norm", "nn.parallel.parallel_apply", "multiprocessing.spawn"}


def test_every_public_name_is_here_or_says_what_to_do():
    """Modules of PyTorch and the names in their `__all__`, by import lines: what fails says why by the name."""
    pytest.importorskip("torch")
    listed = python("-c", NAMES_OF_PYTORCH)
    assert listed.returncode == 0, listed.stderr[-800:]
    ran = after_install(f"""
import json
wrong, count = [], 0
for path, names in json.loads({listed.stdout.strip()!r}).items():
    place = f"torch.{{path}}".rstrip(".")
    for line in (f"import {{place}}", *[f"from {{place}} import {{name}}" for name in names if not name.startswith("_") and name != "Tensor"]):
        count += 1
        try:
            exec(line, {{}})
        except ImportError as error:
            if "numtorch has no torch." not in str(error):
                wrong.append(f"{{line}}: {{error}}")
            elif line.startswith("import"):
                break                                    # one sentence for the whole module
print(json.dumps([count, [line for line in wrong if line.split()[1].removeprefix("torch.") not in {HIDDEN!r}]]))
""")
    assert ran.returncode == 0, ran.stderr[-800:]
    count, wrong = json.loads(ran.stdout)
    assert not wrong and count > 2000, (count, wrong)


PLACES = """. Tensor nn nn.functional nn.init nn.modules nn.parameter nn.utils nn.utils.rnn nn.utils.parametrize nn.attention linalg special fft
    optim optim.lr_scheduler optim.swa_utils sparse autograd autograd.functional autograd.graph autograd.function autograd.forward_ad
    autograd.profiler jit cuda cuda.amp cuda.sparse utils utils.data utils.checkpoint utils.dlpack utils.tensorboard distributions
    distributions.constraints distributions.transforms distributions.kl amp func cpu accelerator masked signal signal.windows random
    testing profiler futures fx hub overrides compiler multiprocessing types backends serialization storage functional version""".split()
# What a module of PyTorch's has for its own use and does not list.
OF_ITS_OWN = {"fft": "Tensor", "distributions.transforms": "softplus", "futures": "S T", "serialization": "T", "storage": "T"}


def public_names(place, theirs):
    """What a module has that PyTorch lists, or that is defined there; modules are those within it. Of Tensor everything."""
    listed = getattr(theirs, "__all__", ())
    if place == "Tensor":
        yield from (name for name in dir(theirs) if not name.startswith("_"))
        return
    for name in dir(theirs):
        value = getattr(theirs, name, None)
        home = getattr(value, "__module__", None)
        if name.startswith("_"):
            continue
        if isinstance(value, ModuleType):
            belongs = value.__name__ == f"torch.{place}.{name}".replace("...", ".")
        elif isinstance(home, str):
            belongs = home == f"torch.{place}" or home.startswith((f"torch.{place}._", "torch._C")) or (place == "." and home == "torch")
        else:
            belongs = callable(value)
        if belongs or name in listed:
            yield name


@pytest.mark.parametrize("place", PLACES)
def test_every_attribute_is_here_or_says_what_to_do(place):
    """Without the alias, as `import numtorch as torch` has it: a plain AttributeError is for typing errors."""
    pytorch = pytest.importorskip("torch")
    if place == "Tensor":
        theirs, mine = pytorch.ones(1, 1), numtorch.ones(1, 1)
    else:
        theirs = pytorch if place == "." else importlib.import_module(f"torch.{place}")
        mine = numtorch if place == "." else importlib.import_module(f"numtorch.{place}")
    silent, count = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in public_names(place, theirs):
            count += 1
            try:
                getattr(mine, name)
            except AttributeError as error:
                if "numtorch has no torch." not in str(error):
                    silent.append(name)
            except RuntimeError:                         # a property that refuses this tensor
                pass
    assert silent == OF_ITS_OWN.get(place, "").split() and count


ABSENT = [
    ("torch.compiler.set_stance", AttributeError, "numtorch has no torch.compiler.set_stance: disable, reset"),
    ("torch.nn.SyncBatchNorm(3)", NotImplementedError, "drop the wrapper"),
    ("torch.nn.SyncBatchNorm.convert_sync_batchnorm", AttributeError, "drop the wrapper"),
    ("type('Own', (torch.nn.SyncBatchNorm,), {})()", NotImplementedError, "drop the wrapper"),
    ("torch.distributed.init_process_group", AttributeError, "groups of processes"),
    ("from torch.distributed import init_process_group", ImportError, "numtorch has no torch.distributed.init_process_group"),
    ("from torch import classes", ImportError, "no torch.classes"),
    ("torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 3))", NotImplementedError, "drop the wrapper"),
    ("from functorch import make_fx", ImportError, "numtorch has no torch.func.make_fx: fx.symbolic_trace gives the graph"),
    ("from torch.nn.functional import _canonical_mask", ImportError, "no torch.nn.functional._canonical_mask: names that begin with an underscore"),
    ("torch._VF.lstm", AttributeError, "names that begin with an underscore are PyTorch's own"),
    ("import torch.__foo", ModuleNotFoundError, "No module named 'torch.__foo'"),
    ("torch.tensr", AttributeError, "module 'numtorch' has no attribute 'tensr'"),
    ("torch.nn.Liner", AttributeError, "module 'numtorch.nn' has no attribute 'Liner'"),
    ("import torch.foo", ModuleNotFoundError, "No module named 'torch.foo'"),
    ("from torch import foo", ImportError, "cannot import name 'foo'"),
]
ASK = """
import json, sys
import torch
found = []
for code in json.loads(sys.argv[1]):
    try:
        exec(code)
    except Exception as error:
        found.append([type(error).__name__, str(error)])
    else:
        found.append(["nothing", ""])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def said():
    """What each code raises, all in one process."""
    codes = [code for code, *_ in ABSENT]
    ran = python("-c", f"import numtorch.alias; numtorch.alias.install()\n{ASK}", json.dumps(codes))
    assert ran.returncode == 0, ran.stderr
    return dict(zip(codes, json.loads(ran.stdout), strict=True))


@pytest.mark.parametrize("code, error, words", ABSENT)
def test_absent_names(code, error, words, said):
    kind, text = said[code]
    assert kind == error.__name__ and words in text, (kind, text)


def test_what_pytorch_keeps_to_itself_and_programs_import():
    """Each in both libraries, where PyTorch still has it."""
    ran = []
    for prefix, name in ((after_install, "ours"), (lambda code: python("-W", "ignore", "-c", code), "theirs")):
        if name == "theirs" and importlib.util.find_spec("torch") is None:
            continue
        ran.append(prefix("""
import torch
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.nn.modules.module import _addindent
from torch.nn.modules.transformer import _get_activation_fn, _get_clones
from torch.nn import _reduction
from torch.nn.init import _no_grad_fill_, _no_grad_zero_
from functorch import grad, vmap
tensors = [torch.arange(6.0).view(2, 3).t(), torch.tensor(7.0), torch.ones(0)]
flat = _flatten_dense_tensors(tensors)
parts = _unflatten_dense_tensors(flat, tensors)
print(flat.tolist(), [p.tolist() for p in parts], parts[0].data_ptr() == flat.data_ptr(), type(parts).__name__)
print(_addindent("a\\nb\\n  c", 2), _addindent("a", 2), _get_activation_fn("gelu") is torch.nn.functional.gelu)
print([_reduction.legacy_get_string(a, b) for a in (None, True, False) for b in (True, False)], _reduction.legacy_get_string(None, None))
print(_get_clones(torch.nn.Linear(1, 1), 2), _no_grad_fill_(torch.ones(2), 3.0), _no_grad_zero_(torch.ones(1)))
print(vmap(grad(lambda x: x ** 3))(torch.tensor([1.0, 2.0])).tolist())
"""))
    assert all(each.returncode == 0 for each in ran), ran
    assert len({each.stdout for each in ran}) == 1 and ran[0].stdout, ran
