"""Torch7's modules: each against another way to compute it, its gradients against finite differences, and what all of them promise."""
import pickle

import numpy as np
import pytest

import numtorch as torch
import numtorch.nn.functional as F
from numtorch.legacy import nn
from numtorch.tree import map_tensors, tensors_in

RANDOM = np.random.default_rng(0)


def normal(*shape):
    return torch.from_numpy(RANDOM.standard_normal(shape))


def positive(*shape):
    return torch.from_numpy(RANDOM.uniform(0.1, 1, shape))


def spread(*shape):
    """Numbers far from each other, so that a difference changes no order."""
    count = int(np.prod(shape))
    return torch.from_numpy(RANDOM.permutation(np.linspace(-3, 3.1, count)).reshape(shape))


def pairs(*shape):
    return [normal(*shape), normal(*shape)]


def unpooled(kind, *numbers):
    pooling = getattr(nn, kind + "MaxPooling")(*numbers)
    return nn.Sequential().add(pooling).add(getattr(nn, kind + "MaxUnpooling")(pooling))


def chosen(module, *indices):
    return module.setPartition(torch.tensor(indices))


def connected(table, weight, bias, stride, x):
    """Convolution by a table of connections, one connection after another."""
    out = [bias[o] + sum(F.conv2d(x[:, int(i):int(i) + 1], k[None, None], stride=stride)[:, 0] for (i, to), k in zip(table.tolist(), weight) if int(to) == o)
           for o in range(len(bias))]
    return torch.stack(out, 1)


def local(m, x):
    """Convolution with weights for each place, one place after another."""
    x = F.pad(x, (m.padW, m.padW, m.padH, m.padH))
    out = torch.zeros(len(x), m.nOutputPlane, m.oH, m.oW, dtype=x.dtype)
    for i in range(m.oH):
        for j in range(m.oW):
            seen = x[:, :, i * m.dH:i * m.dH + m.kH, j * m.dW:j * m.dW + m.kW]
            out[:, :, i, j] = (seen[:, None] * m.weight[i, j]).sum((2, 3, 4)) + m.bias[:, i, j]
    return out


def surroundings(x, kernel):
    weight = (kernel / kernel.sum() / x.size(1)).expand(1, x.size(1), *kernel.shape)
    pad = (kernel.size(1) // 2,) * 2 + (kernel.size(0) // 2,) * 2
    return F.conv2d(F.pad(x, pad), weight) / F.conv2d(F.pad(torch.ones_like(x), pad), weight), F.conv2d(F.pad(torch.ones_like(x), pad), weight)


KERNEL, LINE, MAPS = positive(3, 5), positive(3), nn.SpatialConvolutionMap.maps
TABLE = torch.tensor([[0., 0.], [2., 0.], [1., 1.], [2., 1.], [0., 2.]])

# name: (module, input, reference(module, input))
MODULES = {
    "Abs": (lambda: nn.Abs(), spread(3, 4), lambda m, x: x.abs()),
    "Exp": (lambda: nn.Exp(), normal(3, 4), lambda m, x: x.exp()),
    "Log": (lambda: nn.Log(), positive(3, 4), lambda m, x: x.log()),
    "Square": (lambda: nn.Square(), normal(3, 4), lambda m, x: x * x),
    "Sqrt": (lambda: nn.Sqrt(), positive(3, 4), lambda m, x: x.sqrt()),
    "Power": (lambda: nn.Power(1.5), positive(3, 4), lambda m, x: x * x.sqrt()),
    "Sigmoid": (lambda: nn.Sigmoid(), normal(3, 4), lambda m, x: 1 / (1 + (-x).exp())),
    "LogSigmoid": (lambda: nn.LogSigmoid(), normal(3, 4), lambda m, x: -(1 + (-x).exp()).log()),
    "Tanh": (lambda: nn.Tanh(), normal(3, 4), lambda m, x: x.tanh()),
    "TanhShrink": (lambda: nn.TanhShrink(), normal(3, 4), lambda m, x: x - x.tanh()),
    "SoftSign": (lambda: nn.SoftSign(), spread(3, 4), lambda m, x: x / (1 + x.abs())),
    "SoftMax vector": (lambda: nn.SoftMax(), normal(4), lambda m, x: x.exp() / x.exp().sum()),
    "SoftMax": (lambda: nn.SoftMax(), normal(3, 4), lambda m, x: x.exp() / x.exp().sum(1, True)),
    "SpatialSoftMax": (lambda: nn.SpatialSoftMax(), normal(2, 3, 2, 2), lambda m, x: x.exp() / x.exp().sum(1, True)),
    "SoftMin": (lambda: nn.SoftMin(), normal(3, 4), lambda m, x: (-x).exp() / (-x).exp().sum(1, True)),
    "LogSoftMax": (lambda: nn.LogSoftMax(), normal(3, 4), lambda m, x: x - x.exp().sum(1, True).log()),
    "LogSoftMax planes": (lambda: nn.LogSoftMax(), normal(3, 2, 2), lambda m, x: x - x.exp().sum(0, True).log()),
    "Identity": (lambda: nn.Identity(), normal(3, 4), lambda m, x: x),
    "Identity of a table": (lambda: nn.Identity(), [normal(3), [normal(2)]], lambda m, x: x),
    "AddConstant": (lambda: nn.AddConstant(3.5), normal(3, 4), lambda m, x: x + 3.5),
    "MulConstant": (lambda: nn.MulConstant(4), normal(3, 4), lambda m, x: x * 4),
    "HardTanh": (lambda: nn.HardTanh(), spread(3, 4), lambda m, x: x.clamp(-1, 1)),
    "Clamp": (lambda: nn.Clamp(-2., 2.5), spread(3, 4), lambda m, x: x.clamp(-2, 2.5)),
    "ReLU6": (lambda: nn.ReLU6(), spread(3, 4) * 4, lambda m, x: x.clamp(0, 6)),
    "Threshold": (lambda: nn.Threshold(1, -2), spread(3, 4), lambda m, x: torch.where(x > 1, x, -2)),
    "ReLU": (lambda: nn.ReLU(), spread(3, 4), lambda m, x: x.clamp(min=0)),
    "LeakyReLU": (lambda: nn.LeakyReLU(0.5), spread(3, 4), lambda m, x: torch.where(x > 0, x, x / 2)),
    "ELU": (lambda: nn.ELU(2.), spread(3, 4), lambda m, x: torch.where(x > 0, x, 2 * (x.exp() - 1))),
    "RReLU": (lambda: nn.RReLU(0.1, 0.9), spread(3, 4), lambda m, x: torch.where(x > 0, x, x * (m.noise if m.train else 0.5))),
    "PReLU": (lambda: nn.PReLU(), spread(2, 3, 4), lambda m, x: torch.where(x > 0, x, x * m.weight)),
    "PReLU of planes": (lambda: nn.PReLU(3), spread(2, 3, 4), lambda m, x: torch.where(x > 0, x, x * m.weight[:, None])),
    "SoftPlus": (lambda: nn.SoftPlus(2), normal(3, 4), lambda m, x: (1 + (2 * x).exp()).log() / 2),
    "SoftShrink": (lambda: nn.SoftShrink(1), spread(3, 4), lambda m, x: x - x.clamp(-1, 1)),
    "HardShrink": (lambda: nn.HardShrink(1.), spread(3, 4), lambda m, x: torch.where(x.abs() > 1, x, 0)),
    "GradientReversal": (lambda: nn.Sequential().add(nn.GradientReversal(2)).add(nn.GradientReversal(0.5)), normal(3, 4), lambda m, x: x),
    "Dropout": (lambda: nn.Dropout(0.4), normal(3, 4), lambda m, x: x * m.noise if m.train else x),
    "SpatialDropout": (lambda: nn.SpatialDropout(0.4), normal(2, 3, 2, 2), lambda m, x: x * m.noise if m.train else x * 0.6),
    "VolumetricDropout": (lambda: nn.VolumetricDropout(0.4), normal(2, 3, 2, 2, 1), lambda m, x: x * m.noise if m.train else x * 0.6),
    "Linear": (lambda: nn.Linear(5, 3), normal(4, 5), lambda m, x: x @ m.weight.t() + m.bias),
    "Linear without bias": (lambda: nn.Linear(5, 3).noBias(), normal(4, 5), lambda m, x: x @ m.weight.t()),
    "PartialLinear": (lambda: nn.PartialLinear(5, 3), normal(4, 5), lambda m, x: x @ m.weight.t() + m.bias),
    "PartialLinear chosen": (lambda: chosen(nn.PartialLinear(5, 6), 2, 4), normal(4, 5), lambda m, x: (x @ m.weight.t() + m.bias)[:, [2, 4]]),
    "Bilinear": (lambda: nn.Bilinear(2, 3, 4), [normal(4, 2), normal(4, 3)], lambda m, x: torch.einsum("ni,kij,nj->nk", x[0], m.weight, x[1]) + m.bias),
    "Add": (lambda: nn.Add(torch.Size([5, 4])), normal(3, 5, 4), lambda m, x: x + m.bias),
    "Add scalar": (lambda: nn.Add(1, True), normal(3, 1, 4), lambda m, x: x + m.bias[0]),
    "Mul": (lambda: nn.Mul(), normal(3, 4), lambda m, x: x * m.weight[0]),
    "CMul": (lambda: nn.CMul(5, 6), normal(3, 5, 6), lambda m, x: x * m.weight),
    "CMul of a slice": (lambda: nn.CMul(1, 5), normal(10, 3, 5)[:, 1], lambda m, x: x * m.weight),
    "Euclidean": (lambda: nn.Euclidean(5, 7), normal(3, 5), lambda m, x: ((x[:, :, None] - m.weight) ** 2).sum(1).sqrt()),
    "WeightedEuclidean": (lambda: nn.WeightedEuclidean(5, 7), normal(3, 5), lambda m, x: (((x[:, :, None] - m.weight) * m.diagCov) ** 2).sum(1).sqrt()),
    "Cosine": (lambda: nn.Cosine(5, 7), normal(3, 5), lambda m, x: F.cosine_similarity(x[:, None], m.weight[None], 2)),
    "LookupTable": (lambda: nn.LookupTable(4, 3), torch.tensor([[1, 0, 1], [3, 3, 1]]), lambda m, x: m.weight[x]),
    "MM": (lambda: nn.MM(), [normal(4, 5, 3), normal(4, 3, 2)], lambda m, x: x[0] @ x[1]),
    "MM transposed": (lambda: nn.MM(True, True), [normal(3, 5), normal(2, 3)], lambda m, x: x[0].t() @ x[1].t()),
    "MV": (lambda: nn.MV(), [normal(4, 5, 3), normal(4, 3)], lambda m, x: torch.einsum("nij,nj->ni", *x)),
    "MV transposed": (lambda: nn.MV(True), [normal(3, 5), normal(3)], lambda m, x: x[0].t() @ x[1]),
    "CAddTable": (lambda: nn.CAddTable(), [normal(2, 3), normal(2, 3), normal(2, 3)], lambda m, x: x[0] + x[1] + x[2]),
    "CSubTable": (lambda: nn.CSubTable(), pairs(2, 3), lambda m, x: x[0] - x[1]),
    "CMulTable": (lambda: nn.CMulTable(), [normal(2, 3), normal(2, 3), normal(2, 3)], lambda m, x: x[0] * x[1] * x[2]),
    "CDivTable": (lambda: nn.CDivTable(), [normal(2, 3), positive(2, 3)], lambda m, x: x[0] / x[1]),
    "JoinTable": (lambda: nn.JoinTable(-1), [normal(2, 3), normal(2, 4)], lambda m, x: torch.cat(x, 1)),
    "SplitTable": (lambda: nn.SplitTable(1), normal(2, 3, 2), lambda m, x: [x[:, 0], x[:, 1], x[:, 2]]),
    "SelectTable": (lambda: nn.SelectTable(1), [normal(1), normal(2), normal(3)], lambda m, x: x[1]),
    "SelectTable of a table": (lambda: nn.SelectTable(-1), [normal(1), [normal(2), normal(3)]], lambda m, x: x[1]),
    "NarrowTable": (lambda: nn.NarrowTable(1, 2), [normal(1), normal(2), normal(3), normal(4)], lambda m, x: x[1:3]),
    "FlattenTable": (lambda: nn.FlattenTable(), [normal(1), [normal(2), [normal(3)]], normal(4)], lambda m, x: [x[0], x[1][0], x[1][1][0], x[2]]),
    "MixtureTable": (lambda: nn.MixtureTable(), [normal(5, 3), normal(5, 3, 6)], lambda m, x: (x[0][:, :, None] * x[1]).sum(1)),
    "MixtureTable of a table": (lambda: nn.MixtureTable(), [normal(5, 2), pairs(5, 6)], lambda m, x: x[0][:, :1] * x[1][0] + x[0][:, 1:] * x[1][1]),
    "MixtureTable along 2": (lambda: nn.MixtureTable(2), [normal(5, 3), normal(5, 6, 3)], lambda m, x: (x[0][:, None] * x[1]).sum(2)),
    "Index": (lambda: nn.Index(0), [normal(3, 2), torch.tensor([0, 2, 2])], lambda m, x: x[0][x[1]]),
    "MaskedSelect": (lambda: nn.MaskedSelect(), [normal(2, 2), torch.tensor([[1, 0], [0, 1]], dtype=torch.uint8)], lambda m, x: x[0].diagonal()),
    "Copy": (lambda: nn.Copy(torch.DoubleTensor, torch.DoubleTensor), normal(3, 4), lambda m, x: x),
    "Reshape": (lambda: nn.Reshape(4, 5), normal(3, 20), lambda m, x: x.view(3, 4, 5)),
    "View": (lambda: nn.View(2, -1, 2, 5), normal(2, 4, 5), lambda m, x: x.view(2, 2, 2, 5)),
    "Contiguous": (lambda: nn.Contiguous(), normal(3, 4).t(), lambda m, x: x),
    "Squeeze": (lambda: nn.Squeeze(), normal(2, 1, 1, 4), lambda m, x: x.view(2, 4)),
    "Squeeze one": (lambda: nn.Squeeze(1), normal(2, 1, 1, 4), lambda m, x: x.view(2, 1, 4)),
    "Unsqueeze": (lambda: nn.Unsqueeze(2), normal(2, 4), lambda m, x: x.view(2, 4, 1)),
    "Transpose": (lambda: nn.Transpose((1, 2), (1, 3)), normal(2, 3, 4, 5), lambda m, x: x.transpose(1, 2).transpose(1, 3)),
    "Select": (lambda: nn.Select(1, -2), normal(3, 4, 5), lambda m, x: x[:, 2]),
    "Narrow": (lambda: nn.Narrow(1, 1, 2), normal(2, 4), lambda m, x: x[:, 1:3]),
    "Narrow to the end": (lambda: nn.Narrow(1, 1, -2), normal(2, 4), lambda m, x: x[:, 1:3]),
    "Replicate": (lambda: nn.Replicate(2, 1), normal(3, 4), lambda m, x: torch.stack([x, x], 1)),
    "Padding": (lambda: nn.Padding(1, 2, -10), normal(2, 3), lambda m, x: F.pad(x, (0, 2), value=-10)),
    "Padding inside": (lambda: nn.Padding(1, 2, -10, 1), normal(2, 3), lambda m, x: torch.cat([x[:, :2], torch.full((2, 2), -10.).double(), x[:, 2:]], 1)),
    "Padding before": (lambda: nn.Padding(1, -2, -10), normal(2, 3), lambda m, x: F.pad(x, (2, 0), value=-10)),
    "Sum": (lambda: nn.Sum(-2), normal(2, 4, 5), lambda m, x: x.sum(1)),
    "Sum of a vector": (lambda: nn.Sum(), normal(4), lambda m, x: x.sum().view(1)),
    "Sum averaged": (lambda: nn.Sum(1, True), normal(2, 4, 5), lambda m, x: x.sum(1) / 4),
    "Mean": (lambda: nn.Mean(1), normal(2, 4, 5), lambda m, x: x.mean(1)),
    "Max": (lambda: nn.Max(1), spread(2, 4, 3), lambda m, x: x.amax(1)),
    "Min": (lambda: nn.Min(), spread(2, 4, 3), lambda m, x: x.amin(0)),
    "Normalize 1": (lambda: nn.Normalize(1), spread(4, 5), lambda m, x: x / x.abs().sum(1, True)),
    "Normalize 1.5": (lambda: nn.Normalize(1.5), spread(4, 5), lambda m, x: x / x.norm(1.5, 1, True)),
    "Normalize 2": (lambda: nn.Normalize(2), normal(4, 5), lambda m, x: x / x.norm(2, 1, True)),
    "Normalize inf": (lambda: nn.Normalize(float("inf")), spread(4, 5), lambda m, x: x / x.abs().amax(1, True)),
    "DotProduct": (lambda: nn.DotProduct(), pairs(3, 4), lambda m, x: (x[0] * x[1]).sum(1)),
    "CosineDistance": (lambda: nn.CosineDistance(), pairs(3, 4), lambda m, x: F.cosine_similarity(*x)),
    "PairwiseDistance 1": (lambda: nn.PairwiseDistance(1), pairs(3, 4), lambda m, x: (x[0] - x[1]).abs().sum(1)),
    "PairwiseDistance 3": (lambda: nn.PairwiseDistance(3), pairs(3, 4), lambda m, x: ((x[0] - x[1]).abs() ** 3).sum(1) ** (1 / 3)),
    "SpatialConvolution": (lambda: nn.SpatialConvolution(3, 4, 3, 2, 2, 1, 1), normal(2, 3, 6, 5), lambda m, x: F.conv2d(x, m.weight, m.bias, (1, 2), (1, 1))),
    "SpatialConvolution of one image": (lambda: nn.SpatialConvolution(3, 4, 3, 3).noBias(), normal(3, 6, 5), lambda m, x: F.conv2d(x[None], m.weight)[0]),
    "SpatialDilatedConvolution": (lambda: nn.SpatialDilatedConvolution(3, 2, 3, 3, 2, 2, 1, 1, 2, 1), normal(2, 3, 8, 8), lambda m, x: F.conv2d(x, m.weight, m.bias, 2, 1, (2, 1))),
    "SpatialFullConvolution": (lambda: nn.SpatialFullConvolution(3, 4, 3, 3, 2, 2, 1, 1, 1, 0), normal(1, 3, 4, 5), lambda m, x: F.conv_transpose2d(x, m.weight, m.bias, 2, 1, (0, 1))),
    "SpatialFullConvolution to a size": (lambda: nn.SpatialFullConvolution(3, 4, 3, 3, 2, 2, 1), [normal(1, 3, 4, 5), normal(1, 1, 8, 9)], lambda m, x: F.conv_transpose2d(x[0], m.weight, m.bias, 2, 1, (1, 0))),
    "SpatialConvolutionLocal": (lambda: nn.SpatialConvolutionLocal(3, 2, 5, 6, 2, 3, 1, 2, 1), normal(2, 3, 6, 5), local),
    "SpatialConvolutionMap": (lambda: nn.SpatialConvolutionMap(TABLE, 3, 2, 2, 1), normal(2, 3, 5, 5), lambda m, x: connected(TABLE, m.weight, m.bias, (1, 2), x)),
    "SpatialFullConvolutionMap": (lambda: nn.SpatialFullConvolutionMap(MAPS.full(3, 2), 3, 3, 2, 2), normal(2, 3, 4, 4), lambda m, x: F.conv_transpose2d(x, m.weight.view(2, 3, 3, 3).transpose(0, 1), m.bias, 2)),
    "SpatialSubSampling": (lambda: nn.SpatialSubSampling(3, 3, 2, 2, 2), normal(1, 3, 6, 7), lambda m, x: F.avg_pool2d(x, (2, 3), 2) * 6 * m.weight[:, None, None] + m.bias[:, None, None]),
    "TemporalConvolution": (lambda: nn.TemporalConvolution(4, 5, 3, 2), normal(2, 10, 4), lambda m, x: F.conv1d(x.transpose(1, 2), m.weight.view(5, 3, 4).transpose(1, 2), m.bias, 2).transpose(1, 2)),
    "TemporalSubSampling": (lambda: nn.TemporalSubSampling(4, 3, 2), normal(10, 4), lambda m, x: torch.stack([x[i:i + 3].sum(0) * m.weight + m.bias for i in (0, 2, 4, 6)])),
    "TemporalMaxPooling": (lambda: nn.TemporalMaxPooling(2), spread(2, 4, 3), lambda m, x: torch.maximum(x[:, ::2], x[:, 1::2])),
    "VolumetricConvolution": (lambda: nn.VolumetricConvolution(3, 2, 1, 3, 2, 1, 2, 1, 0, 1), normal(1, 3, 2, 4, 5), lambda m, x: F.conv3d(x, m.weight, m.bias, (1, 1, 2), (0, 1, 1))),
    "VolumetricFullConvolution": (lambda: nn.VolumetricFullConvolution(2, 3, 2, 2, 2, 2, 1, 1, adjT=1), normal(1, 2, 2, 3, 3), lambda m, x: F.conv_transpose3d(x, m.weight, m.bias, (2, 1, 1), 0, (1, 0, 0))),
    "SpatialMaxPooling": (lambda: nn.SpatialMaxPooling(3, 2, 2, 2, 1, 0).ceil(), spread(1, 3, 7, 6), lambda m, x: F.max_pool2d(x, (2, 3), 2, (0, 1), ceil_mode=True)),
    "SpatialMaxUnpooling": (lambda: unpooled("Spatial", 2, 2), spread(1, 3, 6, 5), lambda m, x: x * F.pad(F.interpolate(F.max_pool2d(x, 2), (6, 4)) == x[..., :4], (0, 1))),
    "VolumetricMaxUnpooling": (lambda: unpooled("Volumetric", 2, 2, 2), spread(1, 2, 4, 4, 4), lambda m, x: x * (F.interpolate(F.max_pool3d(x, 2), scale_factor=2) == x)),
    "VolumetricMaxPooling": (lambda: nn.VolumetricMaxPooling(2, 3, 2, 1, 2, 2, 0, 1, 0), spread(1, 2, 4, 5, 5), lambda m, x: F.max_pool3d(x, (2, 2, 3), (1, 2, 2), (0, 0, 1))),
    "SpatialAveragePooling": (lambda: nn.SpatialAveragePooling(3, 2, 2, 2, 1, 0).setCountExcludePad(), normal(1, 3, 7, 6), lambda m, x: F.avg_pool2d(x, (2, 3), 2, (0, 1), count_include_pad=False)),
    "VolumetricAveragePooling": (lambda: nn.VolumetricAveragePooling(2, 3, 2), normal(1, 2, 4, 5, 6), lambda m, x: F.avg_pool3d(x, (2, 2, 3))),
    "SpatialLPPooling": (lambda: nn.SpatialLPPooling(3, 2, 2, 2), normal(1, 3, 4, 4), lambda m, x: (F.avg_pool2d(x * x, 2) * 4).sqrt()),
    "SpatialAdaptiveMaxPooling": (lambda: nn.SpatialAdaptiveMaxPooling(4, 3), spread(1, 3, 7, 9), lambda m, x: F.adaptive_max_pool2d(x, (3, 4))),
    "SpatialFractionalMaxPooling": (lambda: nn.SpatialFractionalMaxPooling(2, 2, 0.5, 0.5).fixPoolingRegions(), spread(1, 3, 7, 7), lambda m, x: F.fractional_max_pool2d(x, 2, 3, _random_samples=m.randomSamples)),
    "SpatialUpSamplingNearest": (lambda: nn.SpatialUpSamplingNearest(2), normal(1, 2, 3, 3), lambda m, x: x.repeat_interleave(2, 2).repeat_interleave(2, 3)),
    "SpatialZeroPadding": (lambda: nn.SpatialZeroPadding(1, -1, 2, 0), normal(2, 3, 4, 4), lambda m, x: F.pad(x[..., :3], (1, 0, 2, 0))),
    "SpatialReflectionPadding": (lambda: nn.SpatialReflectionPadding(1, 2, 3, 0), normal(2, 3, 4, 4), lambda m, x: F.pad(x, (1, 2, 3, 0), "reflect")),
    "SpatialReplicationPadding": (lambda: nn.SpatialReplicationPadding(1, 2, 3, 4), normal(2, 3, 4, 4), lambda m, x: F.pad(x, (1, 2, 3, 4), "replicate")),
    "VolumetricReplicationPadding": (lambda: nn.VolumetricReplicationPadding(1, 2, 0, 1, 2, 1), normal(1, 2, 3, 3, 3), lambda m, x: F.pad(x, (1, 2, 0, 1, 2, 1), "replicate")),
    "BatchNormalization": (lambda: nn.BatchNormalization(5), normal(4, 5), lambda m, x: F.batch_norm(x, None if m.train else m.running_mean, None if m.train else m.running_var, m.weight, m.bias, m.train)),
    "SpatialBatchNormalization": (lambda: nn.SpatialBatchNormalization(3, 1e-3, 0.8, False), normal(2, 3, 2, 2), lambda m, x: F.batch_norm(x, None if m.train else m.running_mean, None if m.train else m.running_var, training=m.train, eps=1e-3)),
    "VolumetricBatchNormalization": (lambda: nn.VolumetricBatchNormalization(3), normal(2, 3, 2, 2, 2), lambda m, x: F.batch_norm(x, None if m.train else m.running_mean, None if m.train else m.running_var, m.weight, m.bias, m.train)),
    "SpatialCrossMapLRN": (lambda: nn.SpatialCrossMapLRN(3, 0.5, 0.75, 2), normal(1, 4, 2, 2), lambda m, x: x / (2 + 0.5 * F.avg_pool2d((x * x).permute(0, 2, 3, 1), (1, 3), 1, (0, 1)).permute(0, 3, 1, 2)) ** 0.75),
    "SpatialSubtractiveNormalization": (lambda: nn.SpatialSubtractiveNormalization(2, KERNEL), normal(1, 2, 4, 6), lambda m, x: x - surroundings(x, KERNEL)[0]),
    "SpatialSubtractiveNormalization line": (lambda: nn.SpatialSubtractiveNormalization(2, LINE), normal(1, 2, 4, 6), lambda m, x: x - surroundings(x, LINE[:, None] * LINE)[0]),
    "SpatialDivisiveNormalization": (lambda: nn.SpatialDivisiveNormalization(2, KERNEL, 0.5), normal(1, 2, 4, 6), lambda m, x: x / F.threshold((surroundings(x * x, KERNEL)[0] / surroundings(x, KERNEL)[1]).sqrt(), 0.5, 0.5)),
    "SpatialContrastiveNormalization": (lambda: nn.SpatialContrastiveNormalization(2, KERNEL), normal(1, 2, 4, 6), lambda m, x: nn.SpatialDivisiveNormalization(2, KERNEL).forward(nn.SpatialSubtractiveNormalization(2, KERNEL).forward(x))),
    "Sequential": (lambda: nn.Sequential().add(nn.Linear(4, 3)).add(nn.Tanh()).add(nn.Linear(3, 2)), normal(5, 4), lambda m, x: m.get(2).forward(m.get(0).forward(x).tanh())),
    "Concat": (lambda: nn.Concat(1).add(nn.Linear(4, 3)).add(nn.Tanh()), normal(5, 4), lambda m, x: torch.cat([m.get(0).forward(x), x.tanh()], 1)),
    "DepthConcat": (lambda: nn.DepthConcat(1).add(nn.SpatialConvolution(2, 1, 1, 1)).add(nn.SpatialConvolution(2, 2, 3, 2)), normal(1, 2, 4, 4), lambda m, x: torch.cat([m.get(0).forward(x), F.pad(m.get(1).forward(x), (1, 1, 0, 1))], 1)),
    "Parallel": (lambda: nn.Parallel(1, 1).add(nn.Linear(4, 3)).add(nn.Tanh()), normal(5, 2, 4), lambda m, x: torch.cat([m.get(0).forward(x[:, 0]), x[:, 1].tanh()], 1)),
    "ConcatTable": (lambda: nn.ConcatTable().add(nn.Identity()).add(nn.Linear(4, 3)), normal(5, 4), lambda m, x: [x, m.get(1).forward(x)]),
    "ConcatTable of a table": (lambda: nn.ConcatTable().add(nn.Identity()).add(nn.Identity()), [normal(3), [normal(2)]], lambda m, x: [x, x]),
    "ParallelTable": (lambda: nn.ParallelTable().add(nn.Identity()).add(nn.Linear(4, 3)), [normal(2), normal(5, 4)], lambda m, x: [x[0], m.get(1).forward(x[1])]),
}
NOT_IN_TABLE = {"Module", "Layer", "Container", "CriterionTable", "L1Penalty"}          # looked at one by one below


def close(a, b, tolerance=1e-9):
    for x, y in zip(tensors_in(a), tensors_in(b), strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=tolerance, atol=tolerance)


def frozen(module, input):
    """`forward` with the same random numbers every time, and without effect on running statistics."""
    torch.manual_seed(1)
    statistics = [(m, m.momentum) for m in module.listModules() if isinstance(m, nn.BatchNormalization)]
    for m, _ in statistics:
        m.momentum = 0
    out = module.forward(input)
    for m, momentum in statistics:
        m.momentum = momentum
    return out


def copied(value):
    return map_tensors(lambda x: x.clone(), value)


def made(name):
    torch.manual_seed(0)
    make, input, reference = MODULES[name]
    return make().double(), copied(input), reference


def slope(module, input, moved, direction, gradOutput, eps=1e-6):
    """How fast <output, gradOutput> changes along a direction of one tensor, by a central difference."""
    found = []
    before = moved.clone()
    for sign in (1, -1):
        moved.copy_(before + sign * eps * direction)
        found.append(sum((a * b).sum().item() for a, b in zip(tensors_in(frozen(module, input)), tensors_in(gradOutput))))
    moved.copy_(before)
    return (found[0] - found[1]) / (2 * eps)


@pytest.mark.parametrize("name", MODULES)
def test_forward(name):
    module, input, reference = made(name)
    for mode in (module.training, module.evaluate):
        mode()
        out = copied(frozen(module, input))
        close(out, reference(module, input))
        close(input, MODULES[name][1])


@pytest.mark.parametrize("name", MODULES)
def test_gradients(name):
    """Of the input and of the parameters, along a random direction; in one go and one by one; twice and scaled."""
    module, input, _ = made(name)
    random = np.random.default_rng(1)
    for mode in (module.training, module.evaluate):
        mode()
        module.zeroGradParameters()
        out = frozen(module, input)
        gradOutput = map_tensors(lambda x: torch.from_numpy(random.standard_normal(tuple(x.shape))), out)
        given = copied(gradOutput)
        gradInput = copied(module.backward(input, gradOutput))
        close(gradOutput, given)
        weights, gradients = module.parameters() or ((), ())
        gradients = copied(list(gradients))
        close(module.updateGradInput(input, gradOutput), gradInput)
        module.accGradParameters(input, gradOutput, 0.5)
        close(list((module.parameters() or ((), ()))[1]), [gradient * 1.5 for gradient in gradients])
        for tensor, gradient in zip([*tensors_in(input), *weights], [*tensors_in(gradInput), *gradients], strict=True):
            assert tensor.shape == gradient.shape
            if tensor.is_floating_point():
                direction = torch.from_numpy(random.standard_normal(tuple(tensor.shape)))
                expected = slope(module, input, tensor, direction, gradOutput)
                assert (gradient * direction).sum().item() == pytest.approx(expected, rel=1e-5, abs=1e-6)
            else:
                assert not gradient.any()


@pytest.mark.parametrize("name", MODULES)
def test_objects(name):
    """Buffers stay the same objects; a module is shown, pickled, cloned, cleared and converted."""
    module, input, _ = made(name)
    out = frozen(module, input)
    first = copied(out)
    gradInput = module.backward(input, map_tensors(torch.ones_like, out))
    kept = copied(gradInput)
    again = frozen(module, input)
    for one, other in zip(tensors_in(again), tensors_in(out)):
        assert one is other
    for one, other in zip(tensors_in(module.backward(input, map_tensors(torch.ones_like, again))), tensors_in(gradInput), strict=True):
        assert one is other
    assert repr(module).startswith(f"nn.{type(module).__name__}") and str(module) == repr(module)
    for copy in (pickle.loads(pickle.dumps(module)), module.clone()):
        assert repr(copy) == repr(module)
        close(frozen(copy, input), first)
        close(copy.backward(input, map_tensors(torch.ones_like, first)), kept)
    module.clearState()
    assert not any(x.numel() for x in tensors_in([module.output, module.gradInput]))
    close(frozen(module, input), first)
    assert module.float().type() == "torch.FloatTensor" and module.double() is module and module.type() == "torch.DoubleTensor"
    close(list(module.parameters() or ())[:1], list(copy.parameters() or ())[:1], 1e-6)
    assert all(x.dtype is torch.float64 for x in tensors_in(frozen(module, input)) if x.is_floating_point())


# the files of PyTorch's torch/legacy/nn in 2017
NAMES_OF_2017 = """
    Abs AbsCriterion Add AddConstant BCECriterion BatchNormalization Bilinear CAddTable CDivTable CMul CMulTable CSubTable Clamp
    ClassNLLCriterion ClassSimplexCriterion Concat ConcatTable Container Contiguous Copy Cosine CosineDistance
    CosineEmbeddingCriterion Criterion CriterionTable CrossEntropyCriterion DepthConcat DistKLDivCriterion DotProduct Dropout ELU
    Euclidean Exp FlattenTable GradientReversal HardShrink HardTanh HingeEmbeddingCriterion Identity Index JoinTable L1Cost
    L1HingeEmbeddingCriterion L1Penalty LeakyReLU Linear Log LogSigmoid LogSoftMax LookupTable MM MSECriterion MV MarginCriterion
    MarginRankingCriterion MaskedSelect Max Mean Min MixtureTable Module Mul MulConstant MultiCriterion MultiLabelMarginCriterion
    MultiLabelSoftMarginCriterion MultiMarginCriterion Narrow NarrowTable Normalize PReLU Padding PairwiseDistance Parallel
    ParallelCriterion ParallelTable PartialLinear Power RReLU ReLU6 ReLU Replicate Reshape Select SelectTable Sequential Sigmoid
    SmoothL1Criterion SoftMarginCriterion SoftMax SoftMin SoftPlus SoftShrink SoftSign SpatialAdaptiveMaxPooling
    SpatialAveragePooling SpatialBatchNormalization SpatialClassNLLCriterion SpatialContrastiveNormalization SpatialConvolution
    SpatialConvolutionLocal SpatialConvolutionMap SpatialCrossMapLRN SpatialDilatedConvolution SpatialDivisiveNormalization
    SpatialDropout SpatialFractionalMaxPooling SpatialFullConvolution SpatialFullConvolutionMap SpatialLPPooling SpatialMaxPooling
    SpatialMaxUnpooling SpatialReflectionPadding SpatialReplicationPadding SpatialSoftMax SpatialSubSampling
    SpatialSubtractiveNormalization SpatialUpSamplingNearest SpatialZeroPadding SplitTable Sqrt Square Squeeze Sum Tanh TanhShrink
    TemporalConvolution TemporalMaxPooling TemporalSubSampling Threshold Transpose Unsqueeze View VolumetricAveragePooling
    VolumetricBatchNormalization VolumetricConvolution VolumetricDropout VolumetricFullConvolution VolumetricMaxPooling
    VolumetricMaxUnpooling VolumetricReplicationPadding WeightedEuclidean WeightedMSECriterion""".split()


def test_every_name_of_2017_is_there():
    assert [name for name in NAMES_OF_2017 if not isinstance(getattr(nn, name, None), type)] == []


def test_every_module_is_in_the_table():
    named = {name.split()[0] for name in MODULES} | NOT_IN_TABLE
    modules = {name for name in nn.__all__ if issubclass(getattr(nn, name), nn.Module)}
    assert modules - named == set() and len(modules) > 115


INPLACE = {
    "Threshold": lambda inplace: nn.Threshold(1, -2, inplace), "ReLU": lambda inplace: nn.ReLU(inplace),
    "ReLU6": lambda inplace: nn.ReLU6(inplace), "HardTanh": lambda inplace: nn.HardTanh(inplace=inplace),
    "LeakyReLU": lambda inplace: nn.LeakyReLU(0.5, inplace), "ELU": lambda inplace: nn.ELU(2., inplace),
    "RReLU": lambda inplace: nn.RReLU(inplace=inplace), "AddConstant": lambda inplace: nn.AddConstant(3, inplace),
    "MulConstant": lambda inplace: nn.MulConstant(3, inplace), "Dropout": lambda inplace: nn.Dropout(0.4, inplace),
    "CAddTable": lambda inplace: nn.CAddTable(inplace),
}


@pytest.mark.parametrize("name", INPLACE)
def test_in_place(name):
    """The result lies where the input was, and the gradient is the same."""
    plain, inside = INPLACE[name](False), INPLACE[name](True)
    input = [spread(3, 4), normal(3, 4)] if name == "CAddTable" else spread(3, 4)
    given = copied(input)
    out, gradOutput = frozen(plain, input), normal(3, 4)
    assert frozen(inside, given).data_ptr() == next(tensors_in(given)).data_ptr() and inside.output.shape == (3, 4)
    close(inside.output, out)
    close(inside.backward(given, gradOutput), plain.backward(input, gradOutput))
