"""Convolutions of one to three dimensions and transposed ones, pooling, and resampling: forward, and each gradient."""
from __future__ import annotations

from .runner.case import BOTH, Case, backward, gradient, normal


def _outputs(extent, kernel, stride, padding, dilation):
    return (extent + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _convolution(name, x, w, *, stride=1, padding=0, dilation=1, groups=1, dtypes=("float32",), gradients=True, group=""):
    """Forward, data gradient and weight gradient of an input (N, C, ...) and weights (K, C / groups, ...)."""
    dims = len(x) - 2
    spatial = 1
    for extent, kernel in zip(x[2:], w[2:]):
        spatial *= _outputs(extent, kernel, stride, padding, dilation)
    flops = 2.0 * x[0] * spatial * w[0] * w[1]
    for kernel in w[2:]:
        flops *= kernel
    text = f"{name}{'×'.join(map(str, x))} ∗ {'×'.join(map(str, w))}" + (f", stride {stride}" if stride > 1 else "") \
        + (f", dilation {dilation}" if dilation > 1 else "") + (f", {groups} groups" if groups > 1 else "")

    def forward(torch, x, w, b):
        return getattr(torch.nn.functional, f"conv{dims}d")(x, w, b, stride, padding, dilation, groups)
    case = Case(text, (normal(*x), normal(*w, scale=0.1), normal(w[0])), forward, dtypes=dtypes, flops=flops, tolerance=1e-3,
                group=group or f"conv{dims}d")
    return [case, gradient(case, 0, "data gradient"), gradient(case, 1, "weight gradient")] if gradients else [case]


def _transposed(x, w, stride, padding, dims):
    def forward(torch, x, w):
        return getattr(torch.nn.functional, f"conv_transpose{dims}d")(x, w, None, stride, padding)
    case = Case(f"{'×'.join(map(str, x))} ∗ {'×'.join(map(str, w))}, stride {stride}", (normal(*x), normal(*w, scale=0.1)), forward,
                tolerance=1e-3, group=f"conv_transpose{dims}d")
    return [case, backward(case)]


def _window(name, expression, shape=(32, 64, 28, 28), group="pooling"):
    case = Case(f"{name}, {'×'.join(map(str, shape))}", (normal(*shape),), expression, group=group)
    return [case, backward(case)]


CASES = [
    # the four shapes of the first experiments: a middle layer, LeNet's two, and a first layer of large images
    *_convolution("", (32, 64, 28, 28), (64, 64, 3, 3), padding=1, dtypes=BOTH),
    *_convolution("", (64, 1, 28, 28), (10, 1, 5, 5)),
    *_convolution("", (64, 10, 12, 12), (20, 10, 5, 5)),
    *_convolution("", (8, 3, 112, 112), (64, 3, 7, 7), stride=2, padding=3),
    *_convolution("ResNet-18: ", (4, 64, 56, 56), (64, 64, 3, 3), padding=1),
    *_convolution("ResNet-18: ", (4, 64, 56, 56), (128, 64, 3, 3), stride=2, padding=1),
    *_convolution("ResNet-18: ", (4, 64, 56, 56), (128, 64, 1, 1), stride=2),
    *_convolution("ResNet-18: ", (4, 256, 14, 14), (256, 256, 3, 3), padding=1),
    *_convolution("ResNet-18: ", (4, 512, 7, 7), (512, 512, 3, 3), padding=1),
    *_convolution("batch 1: ", (1, 64, 56, 56), (64, 64, 3, 3), padding=1, gradients=False),
    *_convolution("dilated: ", (8, 32, 32, 32), (32, 32, 3, 3), padding=2, dilation=2),
    *_convolution("MobileNet depthwise: ", (8, 144, 56, 56), (144, 1, 3, 3), padding=1, groups=144),
    *_convolution("ConvNeXt depthwise: ", (8, 96, 28, 28), (96, 1, 7, 7), padding=3, groups=96),
    *_convolution("ResNet-50: ", (8, 256, 28, 28), (512, 256, 1, 1), stride=2, dtypes=BOTH),
    *_convolution("MobileNet pointwise: ", (8, 144, 28, 28), (32, 144, 1, 1)),
    *_convolution("grouped: ", (8, 64, 28, 28), (64, 16, 3, 3), padding=1, groups=4, gradients=False),
    *_convolution("speech: ", (16, 80, 500), (256, 80, 5), padding=2),
    *_convolution("dilated: ", (8, 64, 1000), (64, 64, 3), padding=4, dilation=4, gradients=False),
    *_convolution("", (2, 16, 16, 28, 28), (32, 16, 3, 3, 3), padding=1),

    *_transposed((16, 64, 14, 14), (64, 32, 4, 4), 2, 1, 2),
    *_transposed((16, 64, 200), (64, 32, 4), 2, 1, 1),
    *_transposed((2, 16, 8, 14, 14), (16, 8, 4, 4, 4), 2, 1, 3),

    *_window("max_pool2d(2)", lambda torch, x: torch.nn.functional.max_pool2d(x, 2)),
    *_window("max_pool2d(3, 2, 1)", lambda torch, x: torch.nn.functional.max_pool2d(x, 3, 2, 1)),
    *_window("avg_pool2d(2)", lambda torch, x: torch.nn.functional.avg_pool2d(x, 2)),
    *_window("avg_pool2d(3, 1, 1)", lambda torch, x: torch.nn.functional.avg_pool2d(x, 3, 1, 1)),
    *_window("adaptive_avg_pool2d(2)", lambda torch, x: torch.nn.functional.adaptive_avg_pool2d(x, 2)),
    *_window("adaptive_max_pool2d(3)", lambda torch, x: torch.nn.functional.adaptive_max_pool2d(x, 3)),
    *_window("max_pool3d(2)", lambda torch, x: torch.nn.functional.max_pool3d(x, 2), (4, 16, 16, 28, 28)),
    *_window("adaptive_avg_pool2d(1)", lambda torch, x: torch.nn.functional.adaptive_avg_pool2d(x, 1)),
    *_window("interpolate(scale_factor=2), nearest",
             lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2), (8, 32, 28, 28), "resampling"),
    *_window("interpolate(scale_factor=2), bilinear",
             lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
             (8, 32, 28, 28), "resampling"),
]
