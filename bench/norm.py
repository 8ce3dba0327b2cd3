"""Softmax and its losses, normalisation, and attention: forward, and with their gradients."""
from __future__ import annotations

from .runner.case import BOTH, Case, backward, integers, module_case, normal, uniform, with_backward


def _numpy_softmax(np, x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _row(name, shape, expression, dtypes=BOTH, **more):
    return with_backward(Case(f"{name}, {'×'.join(map(str, shape))}", (normal(*shape),), expression, dtypes=dtypes, group="softmax",
                              **more))


def _loss(batch, classes):
    return with_backward(Case(f"cross_entropy, {batch}×{classes}", (normal(batch, classes), integers(batch, high=classes)),
                              lambda torch, x, target: torch.nn.functional.cross_entropy(x, target), group="losses"))


def _layer(name, make, shape):
    name = f"{name}, {'×'.join(map(str, shape))}"
    return [module_case(name, make, (normal(*shape),), trained=trained, group="normalisation", tolerance=1e-3)
            for trained in (False, True)]


def _attention(heads, length, width, causal, batch=4):
    inputs = (normal(batch, heads, length, width),) * 3
    case = Case(f"scaled_dot_product_attention, {batch}×{heads}×{length}×{width}" + (", causal" if causal else ""), inputs,
                lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
                flops=4.0 * batch * heads * length * length * width * (0.5 if causal else 1.0), tolerance=1e-3, group="attention")
    return with_backward(case)


def _self_attention(trained):
    def make(torch):
        attention = torch.nn.MultiheadAttention(256, 4, batch_first=True)

        class Itself(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = attention

            def forward(self, x):
                return self.attention(x, x, x, need_weights=False)[0]
        return Itself()
    return module_case("MultiheadAttention(256, 4), 8×128×256", make, (normal(8, 128, 256),), trained=trained, group="attention",
                       tolerance=1e-3)


MODEL = 768

CASES = [
    *_row("softmax", (2048, 1024), lambda torch, x: torch.softmax(x, 1), numpy=_numpy_softmax),
    *_row("softmax", (4096, 128), lambda torch, x: torch.softmax(x, 1), numpy=_numpy_softmax),
    *_row("log_softmax", (4096, 128), lambda torch, x: torch.log_softmax(x, 1)),
    *_row("log_softmax", (2048, 1024), lambda torch, x: torch.log_softmax(x, 1), ("float32",)),
    *_row("softmax(0)", (1024, 512), lambda torch, x: torch.softmax(x, 0), ("float32",)),
    *_loss(64, 10), *_loss(256, 1000), *_loss(512, 10_000),
    backward(Case("binary_cross_entropy_with_logits, 2¹⁸", (normal(1 << 18), uniform(1 << 18)),
                  lambda torch, x, t: torch.nn.functional.binary_cross_entropy_with_logits(x, t), group="losses")),
    backward(Case("mse_loss, 2²⁰", (normal(1 << 20), normal(1 << 20)), lambda torch, x, t: torch.nn.functional.mse_loss(x, t),
                  group="losses")),
    *_layer("LayerNorm(768)", lambda torch: torch.nn.LayerNorm(MODEL), (32, 128, MODEL)),
    *_layer("LayerNorm(64)", lambda torch: torch.nn.LayerNorm(64), (4096, 64)),
    *_layer("RMSNorm(768)", lambda torch: torch.nn.RMSNorm(MODEL), (32, 128, MODEL)),
    *_layer("BatchNorm2d(64)", lambda torch: torch.nn.BatchNorm2d(64), (32, 64, 28, 28)),
    *_layer("BatchNorm1d(512)", lambda torch: torch.nn.BatchNorm1d(512), (128, 512)),
    *_layer("GroupNorm(8, 64)", lambda torch: torch.nn.GroupNorm(8, 64), (32, 64, 28, 28)),
    *_layer("InstanceNorm2d(64)", lambda torch: torch.nn.InstanceNorm2d(64, affine=True), (32, 64, 28, 28)),
    *_attention(8, 256, 64, False), *_attention(8, 256, 64, True), *_attention(4, 1024, 64, False, batch=1),
    _self_attention(False), _self_attention(True),
]
