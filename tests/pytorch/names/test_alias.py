"""`numtorch.alias`: import lines of PyTorch programs, and one module a path. What is installed stays in processes of its own."""
from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest
from aliased import after_install, python

import numtorch
from numtorch import alias
from numtorch.alias import attribute
from numtorch.alias.absent import DEFERRED, STANDINS
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
from torch.serialization import MAP_LOCATION, FileLike
from torch.hub import HASH_REGEX, download_url_to_file, get_dir
from torch.nn.init import _no_grad_fill_, _no_grad_normal_, _no_grad_trunc_normal_, _no_grad_uniform_, _no_grad_zero_
from torch.nn.modules.module import _IncompatibleKeys, _addindent
from torch.nn.modules.padding import _ConstantPadNd, _ReflectionPadNd, _ReplicationPadNd
from torch.nn.modules.pooling import _AdaptiveAvgPoolNd, _AdaptiveMaxPoolNd, _AvgPoolNd, _MaxPoolNd
from torch.nn.modules.transformer import _get_activation_fn, _get_clones
from torch.utils.data._utils.collate import default_collate_err_msg_format, np_str_obj_array_pattern
from torch import library
from torch.library import Library, custom_op, register_autograd, register_fake
from torch.hub import _get_torch_home
from torch.utils.model_zoo import load_url, tqdm
from torch._C import DisableTorchFunctionSubclass, _disabled_torch_function_impl, _get_tracing_state, _log_api_usage_once
from torch.jit.annotations import BroadcastingList2
from torch.onnx import symbolic_opset11
from torch.onnx.symbolic_helper import parse_args
from torch.optim.optimizer import Optimizer, ParamsT
from torch._dynamo import assume_constant_result, mark_static_address
from torch._dynamo.utils import is_compile_supported
from torch._higher_order_ops.associative_scan import associative_scan
from torch.fx.graph_module import GraphModule, _CodeOnlyModule, _copy_attr
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch.utils._pytree import Context, _dict_flatten, register_pytree_node
import functorch
from functorch import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
""".strip().splitlines()


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
    assert all(alias.instead(path) for path in [*STANDINS, *(f"{place}.{name}" for place in DEFERRED for name in DEFERRED[place].split())])


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


def test_functions_stay_what_they_are_beside_modules_of_their_names():
    ran = python("-c", """
import numtorch.alias
numtorch.alias.install()
import torch
from torch.autograd.gradcheck import GradcheckError
assert torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64, requires_grad=True))
""")
    assert ran.returncode == 0, ran.stderr


def test_absent_modules_say_no():
    for path, question in [(p, q) for p in STANDINS for q in STANDINS[p].split()]:
        assert getattr(importlib.import_module(f"numtorch.{path}"), question)() is False
    assert not hasattr(numtorch, "classes") and not hasattr(numtorch, "tensr")
    with pytest.raises(AttributeError, match="groups of processes"):
        attribute("numtorch.cuda", "nccl")


def test_what_is_named_and_not_called_is_no_obstacle():
    """First lines and questions of training scripts, torchvision, timm and transformers."""
    ran = after_install("""
import torch
from torch import nn
from torch.ao.quantization import DeQuantStub, QuantStub
from torch.nn.attention.flex_attention import BlockMask
from torch.nn.parallel import DistributedDataParallel as DDP
assert not isinstance(nn.Linear(2, 3), (DDP, nn.SyncBatchNorm)) and not isinstance(torch.ones(2), (BlockMask, int))
class Norm(nn.SyncBatchNorm):
    pass
@torch.jit._overload
def double(x):
    pass
@torch.jit._script_if_tracing
def double(x):
    return x * 2
assert double(torch.ones(2)).tolist() == [2, 2]
class Plain(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
assert type(torch.ones(2).as_subclass(Plain) + 1) is torch.Tensor and torch._C._get_tracing_state() is None
""")
    assert ran.returncode == 0, ran.stderr


def test_install_comes_first():
    pytest.importorskip("torch")
    ran = python("-c", "import torch, numtorch.alias; numtorch.alias.install()")
    assert ran.returncode == 1 and "PyTorch is already imported" in ran.stderr
