"""Torch7's modules and criterions.

module          what every module is asked; a layer whose output is a formula of ops
container       modules one after another and side by side
elementwise     functions of each element, softmax
dropout         elements and planes set to 0 at random
linear          layers of weights, rows of a table
table           arithmetic and choice among tensors of a table
shape           the same elements in another shape
reduce          sums, extremes, norms and distances
conv            convolution
pooling         pooling, and maxima put back
padding         borders
normalization   batches, planes and surroundings
criterion       losses
record          how a formula is run, and its gradients
convert         types, copies, parameters side by side
glossary        what the arguments mean
"""
from .container import Concat, ConcatTable, Container, DepthConcat, Parallel, ParallelTable, Sequential
from .conv import (
    SpatialConvolution,
    SpatialConvolutionLocal,
    SpatialConvolutionMap,
    SpatialDilatedConvolution,
    SpatialFullConvolution,
    SpatialFullConvolutionMap,
    SpatialSubSampling,
    TemporalConvolution,
    TemporalSubSampling,
    VolumetricConvolution,
    VolumetricFullConvolution,
)
from .criterion import (
    AbsCriterion,
    BCECriterion,
    ClassNLLCriterion,
    ClassSimplexCriterion,
    CosineEmbeddingCriterion,
    Criterion,
    CrossEntropyCriterion,
    DistKLDivCriterion,
    HingeEmbeddingCriterion,
    L1Cost,
    L1HingeEmbeddingCriterion,
    MarginCriterion,
    MarginRankingCriterion,
    MSECriterion,
    MultiCriterion,
    MultiLabelMarginCriterion,
    MultiLabelSoftMarginCriterion,
    MultiMarginCriterion,
    ParallelCriterion,
    SmoothL1Criterion,
    SoftMarginCriterion,
    SpatialClassNLLCriterion,
    WeightedMSECriterion,
)
from .dropout import Dropout, SpatialDropout, VolumetricDropout
from .elementwise import (
    ELU,
    Abs,
    AddConstant,
    Clamp,
    Exp,
    GradientReversal,
    HardShrink,
    HardTanh,
    Identity,
    L1Penalty,
    LeakyReLU,
    Log,
    LogSigmoid,
    LogSoftMax,
    MulConstant,
    Power,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Sigmoid,
    SoftMax,
    SoftMin,
    SoftPlus,
    SoftShrink,
    SoftSign,
    SpatialSoftMax,
    Sqrt,
    Square,
    Tanh,
    TanhShrink,
    Threshold,
)
from .linear import MM, MV, Add, Bilinear, CMul, Cosine, Euclidean, Linear, LookupTable, Mul, PartialLinear, WeightedEuclidean
from .module import Layer, Module
from .normalization import (
    BatchNormalization,
    SpatialBatchNormalization,
    SpatialContrastiveNormalization,
    SpatialCrossMapLRN,
    SpatialDivisiveNormalization,
    SpatialSubtractiveNormalization,
    VolumetricBatchNormalization,
)
from .padding import SpatialReflectionPadding, SpatialReplicationPadding, SpatialZeroPadding, VolumetricReplicationPadding
from .pooling import (
    SpatialAdaptiveMaxPooling,
    SpatialAveragePooling,
    SpatialFractionalMaxPooling,
    SpatialLPPooling,
    SpatialMaxPooling,
    SpatialMaxUnpooling,
    SpatialUpSamplingNearest,
    TemporalMaxPooling,
    VolumetricAveragePooling,
    VolumetricMaxPooling,
    VolumetricMaxUnpooling,
)
from .reduce import CosineDistance, DotProduct, Max, Mean, Min, Normalize, PairwiseDistance, Sum
from .shape import Contiguous, Narrow, Padding, Replicate, Reshape, Select, Squeeze, Transpose, Unsqueeze, View
from .table import (
    CAddTable,
    CDivTable,
    CMulTable,
    Copy,
    CriterionTable,
    CSubTable,
    FlattenTable,
    Index,
    JoinTable,
    MaskedSelect,
    MixtureTable,
    NarrowTable,
    SelectTable,
    SplitTable,
)

__all__ = ["Abs", "AbsCriterion", "Add", "AddConstant", "BCECriterion", "BatchNormalization", "Bilinear", "CAddTable",
           "CDivTable", "CMul", "CMulTable", "CSubTable", "Clamp", "ClassNLLCriterion", "ClassSimplexCriterion", "Concat",
           "ConcatTable", "Container", "Contiguous", "Copy", "Cosine", "CosineDistance", "CosineEmbeddingCriterion", "Criterion",
           "CriterionTable", "CrossEntropyCriterion", "DepthConcat", "DistKLDivCriterion", "DotProduct", "Dropout", "ELU",
           "Euclidean", "Exp", "FlattenTable", "GradientReversal", "HardShrink", "HardTanh", "HingeEmbeddingCriterion",
           "Identity", "Index", "JoinTable", "L1Cost", "L1HingeEmbeddingCriterion", "L1Penalty", "Layer", "LeakyReLU", "Linear",
           "Log", "LogSigmoid", "LogSoftMax", "LookupTable", "MM", "MSECriterion", "MV", "MarginCriterion",
           "MarginRankingCriterion", "MaskedSelect", "Max", "Mean", "Min", "MixtureTable", "Module", "Mul", "MulConstant",
           "MultiCriterion", "MultiLabelMarginCriterion", "MultiLabelSoftMarginCriterion", "MultiMarginCriterion", "Narrow",
           "NarrowTable", "Normalize", "PReLU", "Padding", "PairwiseDistance", "Parallel", "ParallelCriterion", "ParallelTable",
           "PartialLinear", "Power", "RReLU", "ReLU", "ReLU6", "Replicate", "Reshape", "Select", "SelectTable", "Sequential",
           "Sigmoid", "SmoothL1Criterion", "SoftMarginCriterion", "SoftMax", "SoftMin", "SoftPlus", "SoftShrink", "SoftSign",
           "SpatialAdaptiveMaxPooling", "SpatialAveragePooling", "SpatialBatchNormalization", "SpatialClassNLLCriterion",
           "SpatialContrastiveNormalization", "SpatialConvolution", "SpatialConvolutionLocal", "SpatialConvolutionMap",
           "SpatialCrossMapLRN", "SpatialDilatedConvolution", "SpatialDivisiveNormalization", "SpatialDropout",
           "SpatialFractionalMaxPooling", "SpatialFullConvolution", "SpatialFullConvolutionMap", "SpatialLPPooling",
           "SpatialMaxPooling", "SpatialMaxUnpooling", "SpatialReflectionPadding", "SpatialReplicationPadding", "SpatialSoftMax",
           "SpatialSubSampling", "SpatialSubtractiveNormalization", "SpatialUpSamplingNearest", "SpatialZeroPadding",
           "SplitTable", "Sqrt", "Square", "Squeeze", "Sum", "Tanh", "TanhShrink", "TemporalConvolution", "TemporalMaxPooling",
           "TemporalSubSampling", "Threshold", "Transpose", "Unsqueeze", "View", "VolumetricAveragePooling",
           "VolumetricBatchNormalization", "VolumetricConvolution", "VolumetricDropout", "VolumetricFullConvolution",
           "VolumetricMaxPooling", "VolumetricMaxUnpooling", "VolumetricReplicationPadding", "WeightedEuclidean",
           "WeightedMSECriterion"]
