"""Which class is of which: programs ask `isinstance(module, nn.Dropout)`, and get PyTorch's answer. What a layer is made of, and says of itself,
is PyTorch's, too."""
from __future__ import annotations

import importlib
import inspect
import warnings

import pytest

import numtorch

pytorch = pytest.importorskip("torch")

PLACES = [".", "nn", "nn.parameter", "nn.utils.parametrizations", "optim", "optim.lr_scheduler", "optim.swa_utils", "autograd", "utils.data", "distributions",
          "distributions.transforms", "distributions.constraints"]
# PyTorch's metaclass says of its objects that they are buffers, and of TypedStorages that they are of these types, as ours do. What is
# not here says so when it is called.
OF_OBJECTS = {("UninitializedBuffer", "Buffer"), ("SyncBatchNorm", "Module"),
              *[(f"{kind}Storage", "TypedStorage") for kind in """BFloat16 Bool Byte Char ComplexDouble ComplexFloat Double Float Half Int Long Short""".split()]}


@pytest.mark.parametrize("place", PLACES)
def test_classes_are_of_those_that_they_are_of_in_pytorch(place):
    theirs = pytorch if place == "." else importlib.import_module(f"torch.{place}")
    ours = numtorch if place == "." else importlib.import_module(f"numtorch.{place}")
    names = [name for name in dir(theirs) if not name.startswith("_") and inspect.isclass(getattr(theirs, name)) and
             inspect.isclass(getattr(ours, name, None))]
    differ = [(one, other, issubclass(getattr(theirs, one), getattr(theirs, other))) for one in names for other in names
              if (one, other) not in OF_OBJECTS and
              issubclass(getattr(theirs, one), getattr(theirs, other)) is not issubclass(getattr(ours, one), getattr(ours, other))]
    assert not differ and len(names) > 1


@pytest.mark.parametrize(("module", "base", "classes"), [
    ("pooling", "_AvgPoolNd", "AvgPool1d AvgPool2d AvgPool3d"), ("pooling", "_MaxPoolNd", "MaxPool1d MaxPool2d MaxPool3d"),
    ("pooling", "_LPPoolNd", "LPPool1d LPPool2d LPPool3d"), ("pooling", "_MaxUnpoolNd", "MaxUnpool1d MaxUnpool2d MaxUnpool3d"),
    ("pooling", "_AdaptiveAvgPoolNd", "AdaptiveAvgPool1d AdaptiveAvgPool3d"), ("pooling", "_AdaptiveMaxPoolNd", "AdaptiveMaxPool2d"),
    ("padding", "_ConstantPadNd", "ConstantPad1d ZeroPad2d"), ("padding", "_ReflectionPadNd", "ReflectionPad3d"),
    ("padding", "_ReplicationPadNd", "ReplicationPad1d"), ("padding", "_CircularPadNd", "CircularPad2d"),
    ("dropout", "_DropoutNd", "Dropout Dropout2d AlphaDropout FeatureAlphaDropout"), ("conv", "_ConvNd", "Conv1d ConvTranspose3d LazyConv2d"),
    ("batchnorm", "_BatchNorm", "BatchNorm1d LazyBatchNorm3d"), ("instancenorm", "_InstanceNorm", "InstanceNorm2d"),
])
def test_bases_of_layers_are_where_programs_look_for_them(module, base, classes):
    for name, nn in (("numtorch", numtorch.nn), ("torch", pytorch.nn)):
        kind = getattr(importlib.import_module(f"{name}.nn.modules.{module}"), base)
        assert {each for each in dir(nn) if inspect.isclass(getattr(nn, each)) and issubclass(getattr(nn, each), kind)} >= set(classes.split())


LAYERS = """Linear(3, 4)|Linear(3, 4, bias=False)|Bilinear(2, 3, 4)|Conv1d(2, 4, 3, padding="same")|Conv2d(2, 4, (3, 1), 2, 1, groups=2, bias=False)
Conv2d(2, 2, 3, padding=1, padding_mode="reflect")|Conv3d(1, 2, 3)|ConvTranspose1d(2, 4, 3)|ConvTranspose2d(2, 4, 3, 2, 1, 1)|BatchNorm1d(3)
BatchNorm2d(3, affine=False, track_running_stats=False)|InstanceNorm2d(3)|LayerNorm((2, 3))|GroupNorm(2, 4)|RMSNorm(3)|GRU(3, 4)|LSTM(3, 4, proj_size=2)
LSTM(3, 4, 2, bidirectional=True, dropout=0.1, batch_first=True)|RNN(3, 4, nonlinearity="relu")|LSTMCell(3, 4)|GRUCell(3, 4)|RNNCell(3, 4)
Embedding(5, 3, padding_idx=1)|EmbeddingBag(5, 3, mode="max")|MultiheadAttention(4, 2)|MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True)
TransformerEncoderLayer(4, 2)|TransformerDecoderLayer(4, 2)|TransformerEncoder(TransformerEncoderLayer(4, 2, batch_first=True), 2)|Transformer(4, 2, 1, 1)
MaxPool2d(2, return_indices=True)|AvgPool1d(2)|AvgPool2d(2, ceil_mode=True)|AvgPool3d(2)|AdaptiveAvgPool2d((1, None))|AdaptiveMaxPool1d(2)|LPPool2d(2, 3)
MaxUnpool2d(2)|FractionalMaxPool2d(2, output_size=3)|Dropout(0.3)|Dropout2d(inplace=True)|AlphaDropout()|ReLU(inplace=True)|LeakyReLU(0.1)|PReLU(3)|ELU(2.)
GELU("tanh")|Softmax(1)|LogSoftmax(dim=-1)|Hardtanh(-2, 2)|Softplus(2)|Softshrink()|Hardshrink(0.2)|Threshold(1, 2)|RReLU()|GLU()|CELU()|ReLU6()|Softmax2d()
AdaptiveLogSoftmaxWithLoss(4, 6, [2])|ZeroPad2d(1)|ConstantPad1d(2, 1.5)|ReflectionPad2d(1)|ReplicationPad3d(1)|CircularPad1d(1)|Upsample(scale_factor=2)
UpsamplingNearest2d(scale_factor=2)|PixelShuffle(2)|PixelUnshuffle(2)|Flatten()|Unflatten(1, (2, 2))|Fold((4, 4), 2)|Unfold(2)|ChannelShuffle(2)|Identity()
CosineSimilarity()|PairwiseDistance()|LocalResponseNorm(2)|CrossMapLRN2d(2)|CrossEntropyLoss(label_smoothing=.1)|NLLLoss()|MSELoss(reduction="sum")
SmoothL1Loss(beta=.5)|HuberLoss(delta=.5)|KLDivLoss(log_target=True)|CTCLoss(blank=1)|CosineEmbeddingLoss(.1)|MarginRankingLoss(.1)|TripletMarginLoss(swap=True)
MultiMarginLoss(p=2)|PoissonNLLLoss()|GaussianNLLLoss()|HingeEmbeddingLoss()|SoftMarginLoss()|TripletMarginWithDistanceLoss()|Sequential(Linear(1, 2), ReLU())
ModuleList([Linear(1, 1), Linear(1, 1)])|ModuleDict({"a": Linear(1, 1)})""".replace("\n", "|").split("|")
# How PyTorch remembers which of its kernels may be taken.
OF_KERNELS = {"activation_relu_or_gelu", "use_nested_tensor"}


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_have_pytorchs_attributes_parts_and_text(layer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = [eval(layer, {name: getattr(nn, name) for name in dir(nn)}) for nn in (numtorch.nn, pytorch.nn)]
    assert repr(ours) == repr(theirs)
    assert {k: tuple(v.shape) for k, v in ours.state_dict().items()} == {k: tuple(v.shape) for k, v in theirs.state_dict().items()}
    for names in ("named_parameters", "named_modules"):
        assert [name for name, _ in getattr(ours, names)()] == [name for name, _ in getattr(theirs, names)()]
    for name in vars(theirs).keys() - OF_KERNELS:
        value = getattr(theirs, name)
        if not name.startswith("_"):
            assert hasattr(ours, name), name
            if isinstance(value, (int, float, str, tuple, list, type(None))):
                assert getattr(ours, name) == value, name
