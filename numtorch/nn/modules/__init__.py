"""Layers, one family a file, most of them PyTorch's.

module                               `Module`, of what is in base/
linear, conv, embedding, flatten     maps and changes of shape; padding and upsampling of images
activation, softmax, dropout
pooling, adaptivepooling             windows that are alike, and that follow from the size of the result
normalization, responsenorm
rnn, rnncell                         over sequences, and one step
attention, transformer
loss, marginloss, distance           losses of terms, of pairs; adaptive and linear_cross_entropy, of many classes
container, parametercontainer        modules and parameters in lists and dicts
lazy, tuples                         sizes that are seen first, and sizes as tuples
"""
import importlib as _importlib

from .activation import (
                         CELU,
                         ELU,
                         GELU,
                         GLU,
                         SELU,
                         Hardshrink,
                         Hardsigmoid,
                         Hardswish,
                         Hardtanh,
                         LeakyReLU,
                         LogSigmoid,
                         Mish,
                         PReLU,
                         ReLU,
                         ReLU6,
                         RReLU,
                         Sigmoid,
                         SiLU,
                         Softplus,
                         Softshrink,
                         Softsign,
                         Tanh,
                         Tanhshrink,
                         Threshold,
)
from .adaptive import AdaptiveLogSoftmaxWithLoss
from .adaptivepooling import (
                         AdaptiveAvgPool1d,
                         AdaptiveAvgPool2d,
                         AdaptiveAvgPool3d,
                         AdaptiveMaxPool1d,
                         AdaptiveMaxPool2d,
                         AdaptiveMaxPool3d,
                         FractionalMaxPool2d,
                         FractionalMaxPool3d,
)
from .attention import MultiheadAttention
from .container import ModuleDict, ModuleList, Sequential
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .distance import CosineSimilarity, PairwiseDistance
from .dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout
from .embedding import Embedding, EmbeddingBag
from .flatten import (
                         Flatten,
                         Fold,
                         Unflatten,
                         Unfold,
)
from .lazy import (
                         LazyBatchNorm1d,
                         LazyBatchNorm2d,
                         LazyBatchNorm3d,
                         LazyConv1d,
                         LazyConv2d,
                         LazyConv3d,
                         LazyConvTranspose1d,
                         LazyConvTranspose2d,
                         LazyConvTranspose3d,
                         LazyInstanceNorm1d,
                         LazyInstanceNorm2d,
                         LazyInstanceNorm3d,
                         LazyLinear,
                         UninitializedBuffer,
                         UninitializedParameter,
)
from .linear import Bilinear, Identity, Linear
from .linear_cross_entropy import LinearCrossEntropyLoss, LinearCrossEntropyOptions
from .loss import (
                         BCELoss,
                         BCEWithLogitsLoss,
                         CrossEntropyLoss,
                         CTCLoss,
                         GaussianNLLLoss,
                         HuberLoss,
                         KLDivLoss,
                         L1Loss,
                         MSELoss,
                         MultiLabelSoftMarginLoss,
                         NLLLoss,
                         PoissonNLLLoss,
                         SmoothL1Loss,
                         SoftMarginLoss,
)
from .marginloss import (
                         CosineEmbeddingLoss,
                         HingeEmbeddingLoss,
                         MarginRankingLoss,
                         MultiLabelMarginLoss,
                         MultiMarginLoss,
                         TripletMarginLoss,
                         TripletMarginWithDistanceLoss,
)
from .module import Module
from .normalization import (
                         BatchNorm1d,
                         BatchNorm2d,
                         BatchNorm3d,
                         GroupNorm,
                         InstanceNorm1d,
                         InstanceNorm2d,
                         InstanceNorm3d,
                         LayerNorm,
                         RMSNorm,
)
from .padding import (
                         CircularPad1d,
                         CircularPad2d,
                         CircularPad3d,
                         ConstantPad1d,
                         ConstantPad2d,
                         ConstantPad3d,
                         ReflectionPad1d,
                         ReflectionPad2d,
                         ReflectionPad3d,
                         ReplicationPad1d,
                         ReplicationPad2d,
                         ReplicationPad3d,
                         ZeroPad1d,
                         ZeroPad2d,
                         ZeroPad3d,
)
from .parametercontainer import ParameterDict, ParameterList
from .pooling import (
                         AvgPool1d,
                         AvgPool2d,
                         AvgPool3d,
                         LPPool1d,
                         LPPool2d,
                         LPPool3d,
                         MaxPool1d,
                         MaxPool2d,
                         MaxPool3d,
                         MaxUnpool1d,
                         MaxUnpool2d,
                         MaxUnpool3d,
)
from .responsenorm import CrossMapLRN2d, LocalResponseNorm
from .rnn import GRU, LSTM, RNN, RNNBase
from .rnncell import GRUCell, LSTMCell, RNNCell, RNNCellBase
from .softmax import LogSoftmax, Softmax, Softmax2d, Softmin
from .transformer import Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer
from .upsampling import ChannelShuffle, PixelShuffle, PixelUnshuffle, Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

__all__ = [
    "BatchNorm3d", "CrossMapLRN2d", "Dropout3d", "FeatureAlphaDropout", "InstanceNorm3d", "LocalResponseNorm",
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AlphaDropout", "AvgPool1d", "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "Bilinear", "CELU", "ConstantPad1d", "ConstantPad2d",
    "Conv1d", "Conv2d", "Conv3d",
    "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "AdaptiveLogSoftmaxWithLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "Dropout", "Dropout1d", "Dropout2d", "ELU",
    "Embedding", "EmbeddingBag",
    "Flatten", "GELU", "GLU", "GaussianNLLLoss", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss", "Identity", "InstanceNorm1d", "InstanceNorm2d", "KLDivLoss", "L1Loss", "LayerNorm", "LeakyReLU", "Linear",
    "LinearCrossEntropyLoss", "LinearCrossEntropyOptions",
    "LogSigmoid",
    "LogSoftmax", "MSELoss", "MarginRankingLoss", "MaxPool1d", "MaxPool2d", "Mish", "Module", "ModuleDict", "ModuleList",
    "NLLLoss", "PReLU",
    "ParameterDict", "ParameterList", "PoissonNLLLoss", "RMSNorm", "ReLU", "ReLU6", "ReflectionPad1d", "ReflectionPad2d",
    "ReplicationPad1d",
    "ReplicationPad2d", "SELU", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "SoftMarginLoss", "Softmax", "Softmax2d",
    "Softmin",
    "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold", "TripletMarginLoss", "Unflatten", "Unfold",
    "ZeroPad1d",
    "ZeroPad2d",
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad3d", "ReflectionPad3d", "ReplicationPad3d", "ZeroPad3d",
    "GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase",
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
    "AdaptiveAvgPool3d", "AdaptiveMaxPool3d", "AvgPool3d", "ChannelShuffle", "Fold", "LPPool1d", "LPPool2d", "LPPool3d",
    "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "PixelShuffle", "PixelUnshuffle", "Upsample",
    "UpsamplingBilinear2d", "UpsamplingNearest2d",
    "LazyLinear", "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d",
    "UninitializedParameter", "UninitializedBuffer", "CosineSimilarity", "PairwiseDistance", "RReLU", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "TripletMarginWithDistanceLoss",
]


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__)


_importlib.import_module("numtorch.alias").complete(__name__)
