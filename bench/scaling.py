"""What a second thread brings where computing is the limit, not memory: cases of other families, on one thread and on all."""
from __future__ import annotations

from dataclasses import replace

from . import conv, gemm, models, norm

LEAST_GAIN = 1.8


def _of(module, *names):
    """The module's cases of these names, for their dtypes."""
    known = {case.name: case for case in reversed(module.CASES)}         # of several of a name, the first
    return [replace(known[name], budget=None, numpy=False, gain=LEAST_GAIN, group="threads") for name in names]


CASES = [
    *_of(gemm, "128³", "256³", "256³, A transposed", "512³", "512³, B transposed", "1024³", "16×16×65536", "linear 64×784→128",
         "bmm 16×(128×64×128), B transposed"),
    *_of(conv, "32×64×28×28 ∗ 64×64×3×3", "ResNet-18: 4×64×56×56 ∗ 64×64×3×3, data gradient",
         "ResNet-18: 4×64×56×56 ∗ 64×64×3×3, weight gradient", "ResNet-18: 4×64×56×56 ∗ 128×64×3×3, stride 2",
         "batch 1: 1×64×56×56 ∗ 64×64×3×3", "speech: 16×80×500 ∗ 256×80×5", "2×16×16×28×28 ∗ 32×16×3×3×3"),
    *_of(norm, "scaled_dot_product_attention, 4×8×256×64", "scaled_dot_product_attention, 4×8×256×64, forward and backward"),
    *_of(models, "training step, LeNet 64×1×28×28", "ResNet-18 block, 8×64×56×56, forward and backward",
         "LSTM(128, 128), 32×64×128, forward", "LSTM(128, 128), 32×64×128, forward and backward",
         "TransformerEncoderLayer(256, 4, 1024), 8×128×256, forward and backward"),
]
