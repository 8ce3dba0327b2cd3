"""`numtorch.alias`: import lines of PyTorch programs, `python -m numtorch run`, and child processes. What is installed stays in
processes of its own."""
from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

import numtorch
from numtorch import alias
from numtorch.alias import attribute
from numtorch.alias.absent import ABSENT, STANDINS
from numtorch.alias.paths import PATHS

IMPORTS = """
import torch
import torch.accelerator
import torch.autograd as autograd
import torch.autograd.profiler as profiler
import torch.backends.cuda
import torch.backends.cudnn as cudnn
import torch.backends.mkldnn
import torch.backends.mps
import torch.backends.openmp
import torch.cuda
import torch.cuda.amp as amp
import torch.distributed as dist
import torch.distributions as D
import torch.fft
import torch.futures
import torch.hub
import torch.jit
import torch.linalg
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
import torch.nn.modules as modules
import torch.nn.parallel
import torch.nn.utils as utils
import torch.onnx
import torch.optim as optim
import torch.optim.lr_scheduler as lr_scheduler
import torch.sparse
import torch.utils.checkpoint as checkpoint
import torch.utils.data as data
import torch.utils.data.distributed
import torch.utils.dlpack
import torch.utils.model_zoo as model_zoo
import torch.version
from torch import Tensor, nn, optim
from torch import distributions, linalg, cuda
from torch.autograd import Function, Variable, grad, gradcheck
from torch.autograd.function import Function, once_differentiable
from torch.autograd.functional import jacobian, hessian
from torch.autograd.grad_mode import no_grad
from torch.autograd.gradcheck import gradcheck, gradgradcheck
from torch.autograd.variable import Variable
from torch.distributions import Categorical, Normal, kl_divergence
from torch.distributions.categorical import Categorical
from torch.distributions.half_normal import HalfNormal
from torch.distributions.kl import kl_divergence, register_kl
from torch.distributions.multivariate_normal import MultivariateNormal
from torch.distributions.studentT import StudentT
from torch.distributions.utils import broadcast_all, probs_to_logits
from torch.func import functional_call
from torch.functional import einsum, norm
from torch.hub import load_state_dict_from_url
from torch.nn import CrossEntropyLoss, Linear, Module, Parameter, Sequential
from torch.nn.common_types import _size_1_t, _size_2_t, _size_3_t
from torch.nn.functional import relu, softmax, cross_entropy
from torch.nn.init import kaiming_normal_, xavier_uniform_
from torch.nn.modules import Module
from torch.nn.modules.activation import MultiheadAttention, ReLU
from torch.nn.modules.batchnorm import BatchNorm2d, LazyBatchNorm1d, _BatchNorm, _NormBase
from torch.nn.modules.container import ModuleList, ParameterList, Sequential
from torch.nn.modules.conv import Conv2d, LazyConv2d, _ConvNd, _ConvTransposeNd
from torch.nn.modules.dropout import Dropout, _DropoutNd
from torch.nn.modules.fold import Fold, Unfold
from torch.nn.modules.instancenorm import InstanceNorm2d, _InstanceNorm
from torch.nn.modules.linear import Identity, LazyLinear, Linear, NonDynamicallyQuantizableLinear
from torch.nn.modules.loss import MSELoss, TripletMarginLoss, _Loss, _WeightedLoss
from torch.nn.modules.module import Module, register_module_forward_hook
from torch.nn.modules.normalization import CrossMapLRN2d, GroupNorm, LayerNorm
from torch.nn.modules.pixelshuffle import PixelShuffle
from torch.nn.modules.pooling import AdaptiveAvgPool2d, MaxPool2d
from torch.nn.modules.rnn import LSTM, LSTMCell
from torch.nn.modules.sparse import Embedding
from torch.nn.modules.transformer import TransformerEncoder, TransformerEncoderLayer
from torch.nn.modules.upsampling import Upsample
from torch.nn.modules.utils import _ntuple, _pair, _single, _triple, consume_prefix_in_state_dict_if_present
from torch.nn.parameter import Buffer, Parameter
from torch.nn.utils import clip_grad_norm_, spectral_norm, weight_norm
from torch.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_
from torch.autograd.function import InplaceFunction
from torch.backends.cuda import enable_flash_sdp, flash_sdp_enabled
from torch.backends.opt_einsum import is_available
from torch.cuda import OutOfMemoryError
from torch.cuda.amp.autocast_mode import autocast
from torch.cuda.amp.grad_scaler import GradScaler
from torch.multiprocessing.queue import Queue
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.init import _calculate_correct_fan, _calculate_fan_in_and_fan_out
from torch.nn.parallel.data_parallel import DataParallel
from torch.nn.parallel.parallel_apply import parallel_apply
from torch.nn.parallel.replicate import replicate
from torch.nn.parallel.scatter_gather import gather, scatter_kwargs
from torch.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter, is_lazy
from torch.utils._pytree import tree_flatten, tree_map, tree_map_only, tree_unflatten
from torch.utils.tensorboard.writer import SummaryWriter
from torch.nn.utils.convert_parameters import parameters_to_vector
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.nn.utils.spectral_norm import spectral_norm
from torch.nn.utils.stateless import functional_call
from torch.nn.utils.weight_norm import weight_norm
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.optim.adadelta import Adadelta
from torch.optim.adam import Adam
from torch.optim.adamw import AdamW
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler, ReduceLROnPlateau, StepLR, _LRScheduler
from torch.optim.optimizer import Optimizer
from torch.optim.rmsprop import RMSprop
from torch.optim.sgd import SGD
from torch.optim.swa_utils import SWALR, AveragedModel
from torch.random import fork_rng, manual_seed
from torch.serialization import add_safe_globals
from torch.testing import assert_close, make_tensor
from torch.types import Device, Number, _TensorOrTensors, _device, _dtype, _size
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split
from torch.utils.data._utils.collate import default_collate
from torch.utils.data.dataloader import DataLoader, default_collate
from torch.utils.data.dataset import ConcatDataset, Dataset, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler
from torch.utils.data.sampler import RandomSampler, Sampler, SubsetRandomSampler
from torch.utils.dlpack import from_dlpack, to_dlpack
from torch.utils.hooks import RemovableHandle
from torch._six import container_abcs, inf, int_classes, string_classes
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.nn import _reduction as _Reduction
from torch.nn.init import _no_grad_fill_, _no_grad_normal_, _no_grad_trunc_normal_, _no_grad_uniform_, _no_grad_zero_
from torch.nn.modules.module import _IncompatibleKeys, _addindent
from torch.nn.modules.padding import _ConstantPadNd, _ReflectionPadNd, _ReplicationPadNd
from torch.nn.modules.pooling import _AdaptiveAvgPoolNd, _AdaptiveMaxPoolNd, _AvgPoolNd, _MaxPoolNd
from torch.nn.modules.transformer import _get_activation_fn, _get_clones
from torch.utils.data._utils.collate import default_collate_err_msg_format, np_str_obj_array_pattern
import functorch
from functorch import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
""".strip().splitlines()


def python(*arguments, folder=None, more="", **options):
    """Another Python, which finds this package and not what the tests of other processes set, and what is in `more`."""
    root = str(Path(numtorch.__file__).parent.parent)
    return subprocess.run([sys.executable, *arguments], cwd=folder, timeout=240, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, more)))}, **options)


def after_install(code, **options):
    return python("-c", f"import numtorch.alias; numtorch.alias.install()\n{code}", **options)


def test_import_lines():
    code = f"""
wrong = []
for line in {IMPORTS!r}:
    names = {{}}
    try:
        exec(line, names)
    except Exception as error:
        wrong.append(f"{{line}}: {{error}}")
    foreign = [n for n, v in names.items() if "site-packages/torch" in str(getattr(v, "__file__", ""))]
    wrong += [f"{{line}}: {{n}} is PyTorch's" for n in foreign]
print("\\n".join(wrong))
"""
    ran = after_install(code)
    assert ran.stdout.strip() == "" and ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("line", IMPORTS)
def test_pytorch_has_these_lines(line):
    pytest.importorskip("torch")
    if "torch._six" not in line:                         # which PyTorch had until 2.0
        exec(line, {})


OF_2016 = frozenset(path for path in PATHS if path.startswith(("utils.trainer", "_six")))
ASKED = frozenset(("ops.aten", "ops.profiler"))         # what PyTorch makes when it is asked for, and no import line finds
# Beside these functions, modules of their names have no place here.
FUNCTIONS = frozenset(("nn.utils.spectral_norm", "nn.utils.weight_norm", "nn.parallel.data_parallel", "nn.parallel.parallel_apply",
                       "nn.parallel.replicate", "multiprocessing.spawn"))


def ours(path):
    """What a row leads to."""
    return alias._module(path) if path in FUNCTIONS else importlib.import_module(f"numtorch.{path}")


def test_every_row_leads_somewhere():
    for path in [*PATHS, *STANDINS]:
        assert ours(path) is ours(path)
    for path in FUNCTIONS:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"numtorch.{path}")
        assert callable(alias._object(path))
    assert set(STANDINS) <= set(ABSENT)


def test_rows_are_paths_of_pytorch():
    pytest.importorskip("torch")
    for path in [*PATHS, *STANDINS]:
        if path not in OF_2016 | ASKED:
            importlib.import_module(f"torch.{path}")


def test_the_trainer_of_2016_is_where_it_was():
    """The imports of its day, one line a file of `torch/utils/trainer` of version 0.1."""
    ran = after_install("""
from torch.utils.trainer import Trainer
from torch.utils.trainer.trainer import Trainer as same
from torch.utils.trainer.plugins import AccuracyMonitor, Logger, LossMonitor, ProgressMonitor, TimeMonitor
from torch.utils.trainer.plugins.accuracy import AccuracyMonitor as accuracy
from torch.utils.trainer.plugins.constant import ConstantMonitor
from torch.utils.trainer.plugins.logger import Logger as logger
from torch.utils.trainer.plugins.loss import LossMonitor as loss
from torch.utils.trainer.plugins.monitor import Monitor
from torch.utils.trainer.plugins.plugin import Plugin, PluginFactory
from torch.utils.trainer.plugins.progress import ProgressMonitor as progress
from torch.utils.trainer.plugins.saver import Saver
from torch.utils.trainer.plugins.time import TimeMonitor as time
assert same is Trainer and (accuracy, loss, progress, time, logger) == (AccuracyMonitor, LossMonitor, ProgressMonitor, TimeMonitor, Logger)
assert issubclass(accuracy, Monitor) and issubclass(Saver, Plugin)
""")
    assert ran.returncode == 0, ran.stderr


def test_rows_have_what_pytorch_has_there():
    """Every public class and function of PyTorch's module that numtorch has at all is found in ours."""
    pytest.importorskip("torch")
    for path in PATHS.keys() - OF_2016 - ASKED:
        theirs, place = importlib.import_module(f"torch.{path}"), ours(path)
        anywhere = [numtorch, numtorch.nn, numtorch.optim, numtorch.data, numtorch.distributions, numtorch.nn.utils, numtorch.func]
        missing = [n for n in getattr(theirs, "__all__", []) if not hasattr(place, n)
                   and any(not isinstance(vars(m).get(n, sys), ModuleType) for m in anywhere)]
        assert not missing, (path, missing)


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


def test_one_object_a_module():
    ran = after_install("""
import sys, numtorch, torch, torch.nn.functional as F, torch.nn.modules.conv, torch.utils.data, torch.nn.utils.weight_norm
assert torch is numtorch and F is numtorch.nn.functional and torch.nn.modules.conv is sys.modules["numtorch.nn.modules.conv"]
assert torch.__spec__.name == "numtorch" and torch.__name__ == "numtorch" and callable(torch.nn.utils.weight_norm)
torch.backends.cudnn.benchmark = True
import torch.backends.cudnn as cudnn
assert cudnn.benchmark and cudnn is numtorch.backends.cudnn
import torch.nn.modules.batchnorm, numtorch.nn.modules.batchnorm
assert sys.modules["torch.nn.modules.batchnorm"] is sys.modules["numtorch.nn.modules.batchnorm"]
twice = [n for n in sys.modules if n.startswith("torch.") and "numtorch" not in getattr(sys.modules[n], "__name__", "")]
assert set(twice) <= {"torch.backends.cudnn"}, twice
""")
    assert ran.returncode == 0, ran.stderr


def test_paths_of_our_own_need_no_alias():
    ran = python("-c", """
import numtorch as torch
import sys
assert "numtorch.alias" not in sys.modules
assert torch.nn.modules.batchnorm._BatchNorm and torch.optim.lr_scheduler._LRScheduler and torch.nn.modules.utils._pair(2) == (2, 2)
from numtorch.nn.utils.clip_grad import clip_grad_norm_
assert "torch" not in sys.modules
""")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("code, error, words", [
    ("torch.compiler.set_stance", AttributeError, "numtorch has no torch.compiler.set_stance: disable, reset"),
    ("torch.nn.SyncBatchNorm", AttributeError, "drop the wrapper"),
    ("torch.distributed.init_process_group", AttributeError, "groups of processes"),
    ("from torch.distributed import init_process_group", ImportError, "numtorch has no torch.distributed.init_process_group"),
    ("from torch import classes", ImportError, "no torch.classes"),
    ("from torch.nn.parallel import DistributedDataParallel", ImportError, "drop the wrapper"),
    ("from functorch import make_functional", ImportError, "numtorch has no torch.func.make_functional: parameters are given by name"),
    ("from torch.nn.functional import _canonical_mask", ImportError, "no torch.nn.functional._canonical_mask: names that begin with an underscore"),
    ("torch._VF.lstm", AttributeError, "names that begin with an underscore are PyTorch's own"),
    ("import torch.__foo", ModuleNotFoundError, "No module named 'torch.__foo'"),
    ("torch.tensr", AttributeError, "module 'numtorch' has no attribute 'tensr'"),
    ("torch.nn.Liner", AttributeError, "module 'numtorch.nn' has no attribute 'Liner'"),
    ("import torch.foo", ModuleNotFoundError, "No module named 'torch.foo'"),
    ("from torch import foo", ImportError, "cannot import name 'foo'"),
])
def test_absent_names(code, error, words):
    ran = after_install(f"""
import torch
try:
    exec({code!r})
except {error.__name__} as error:
    assert type(error) is {error.__name__} and {words!r} in str(error), repr(error)
else:
    raise SystemExit("nothing was raised")
""")
    assert ran.returncode == 0, ran.stdout + ran.stderr


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


def test_absent_modules_say_no():
    for path, question in [(p, q) for p in STANDINS for q in STANDINS[p].split()]:
        assert getattr(importlib.import_module(f"numtorch.{path}"), question)() is False
    assert not hasattr(numtorch, "classes") and not hasattr(numtorch, "tensr")
    with pytest.raises(AttributeError, match="groups of processes"):
        attribute("numtorch.nn", "SyncBatchNorm")


def test_install_comes_first():
    pytest.importorskip("torch")
    ran = python("-c", "import torch, numtorch.alias; numtorch.alias.install()")
    assert ran.returncode == 1 and "PyTorch is already imported" in ran.stderr


# ---------------------------------------------------------------- run
PROGRAM = """
import sys, os, json
import torch, helper
print(json.dumps([sys.argv, __name__, os.path.basename(__file__), sys.path[0], torch.__name__, helper.NAME, __spec__ is None]))
"""


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def test_run_is_what_python_does(tmp_path):
    write(tmp_path, helper="import torch; NAME = torch.__name__", program=PROGRAM, torch="__name__ = 'numtorch'")
    theirs = python("program.py", "-x", "3", folder=tmp_path)        # with a module of that name beside it, which run hides
    ours = python("-m", "numtorch", "run", "program.py", "-x", "3", folder=tmp_path)
    assert ours.stdout == theirs.stdout and ours.returncode == 0, ours.stderr
    theirs = python("-m", "program", "-x", folder=tmp_path)
    ours = python("-m", "numtorch", "run", "-m", "program", "-x", folder=tmp_path)
    assert ours.stdout.replace("numtorch", "torch") == theirs.stdout.replace("numtorch", "torch"), ours.stderr


@pytest.mark.parametrize("code", ["import sys; sys.exit(3)", "import sys; sys.exit('why')", "def f():\n    raise ValueError('bad')\nf()",
                                  "x = (", "raise KeyboardInterrupt", "import nothing_of_that_name"])
def test_run_ends_as_python_does(tmp_path, code):
    write(tmp_path, program=code)
    theirs, ours = python("program.py", folder=tmp_path), python("-m", "numtorch", "run", "program.py", folder=tmp_path)
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)


def test_run_without_a_program(tmp_path):
    ours, theirs = python("-m", "numtorch", "run", "none.py", folder=tmp_path), python("none.py", folder=tmp_path)
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)
    assert python("-m", "numtorch", "run").returncode == 2


CHILDREN = """
import multiprocessing, subprocess, sys
import torch

def child(_):
    import torch.nn as nn
    return torch.__name__ + nn.__name__

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(child, [0]))
    code = "import sys; assert 'numtorch' not in sys.modules; import torch.nn; print(torch.__name__, torch.nn.__name__)"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True))
"""


def test_children_find_it_too(tmp_path):
    write(tmp_path, program=CHILDREN)
    ran = python("-m", "numtorch", "run", "program.py", folder=tmp_path)
    assert "numtorchnumtorch.nn" in ran.stdout and "numtorch numtorch.nn\\n" in ran.stdout, ran.stdout + ran.stderr


def test_children_run_their_own_sitecustomize(tmp_path):
    write(tmp_path, sitecustomize="print('mine')")
    ran = after_install(f"""
import os, subprocess, sys
env = dict(os.environ, PYTHONPATH=os.environ["PYTHONPATH"] + os.pathsep + {str(tmp_path)!r})
print(subprocess.run([sys.executable, "-c", "import torch; print(torch.__name__)"], env=env, capture_output=True, text=True))
""")
    assert "mine\\nnumtorch\\n" in ran.stdout, ran.stdout + ran.stderr


def test_a_program_trains(tmp_path):
    write(tmp_path, program="""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR
from torch.utils.data.dataloader import DataLoader
from torch.utils.data.dataset import TensorDataset
torch.manual_seed(0)
device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
model = nn.Linear(2, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = StepLR(optimizer, 1)
for x, in DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2):
    loss = F.mse_loss(model(x), torch.zeros(2, 1))
    optimizer.zero_grad(); loss.backward(); optimizer.step()
scheduler.step()
assert isinstance(loss, torch.Tensor) and type(loss).__module__ == "numtorch.tensor"
""")
    ran = python("-m", "numtorch", "run", "program.py", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr


PACKAGES = {
    "safetensors": """
import safetensors.torch
file = os.path.join(folder, "file.safetensors")
safetensors.torch.save_file({"a": torch.arange(3.0), "b": torch.ones(2, dtype=torch.bfloat16)}, file)
loaded = safetensors.torch.load_file(file)
assert type(loaded["a"]) is torch.Tensor and loaded["a"].tolist() == [0, 1, 2] and loaded["b"].dtype is torch.bfloat16
assert safetensors.torch.load(safetensors.torch.save({"c": torch.ones(2)}))["c"].sum() == 2
""",
    "tensorboard": """
from torch.utils.tensorboard import SummaryWriter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
with SummaryWriter(folder) as writer:
    writer.add_scalar("loss", torch.tensor(0.5), 3)
events = EventAccumulator(folder)
events.Reload()
assert [(e.step, e.value) for e in events.Scalars("loss")] == [(3, 0.5)]
""",
    "einops": """
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange
x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
assert rearrange(x, "b c w -> c (b w)").shape == Rearrange("b c w -> c (b w)")(x).shape == (3, 8)
reduce(repeat(x, "b c w -> b c w n", n=2), "b c w n -> b", "mean").sum().backward()
assert x.grad.sum().isclose(torch.tensor(2.0))
""",
    "torchinfo": """
import torchinfo
found = torchinfo.summary(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()), input_size=(2, 3), verbose=0)
assert found.total_params == 16 and found.summary_list[1].output_size == [2, 4]
""",
}


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_that_look_for_torch_see_this_one(package, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    ran = python("-c", f"import numtorch.alias; numtorch.alias.install()\nimport os, torch\nfolder = {str(tmp_path)!r}\n{PACKAGES[package]}",
                 more=os.environ.get("PYTHONPATH", ""))
    assert ran.returncode == 0, ran.stderr


# ---------------------------------------------------------------- two libraries in one process
@pytest.mark.parametrize("call", [
    lambda t, x: numtorch.exp(x), lambda t, x: t + x, lambda t, x: numtorch.matmul(t, x), lambda t, x: numtorch.sum(x), lambda t, x: numtorch.relu(x),
    lambda t, x: numtorch.nn.Linear(2, 2)(x), lambda t, x: numtorch.nn.functional.cross_entropy(x, t), lambda t, x: numtorch.cat([x, x]),
])
def test_the_other_librarys_tensors_are_named(call):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"torch\.Tensor of the installed PyTorch; convert it with numtorch\.from_dlpack\(x\)"):
        call(numtorch.ones(2, 2), torch.ones(2, 2))
