"""Losses, norms and what else layers are made of."""
from __future__ import annotations

from .structure import other

POINTWISE = "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits poisson_nll_loss soft_margin_loss hinge_embedding_loss".split()


def loss(g):
    form = g.rng.choice(g.dialect.some([*POINTWISE, "cross_entropy", "cross_entropy_soft", "nll_loss", "kl_div", "binary_cross_entropy", "gaussian_nll_loss", "margin_ranking_loss",
                                        "triplet_margin_loss", "cosine_embedding_loss", "multi_margin_loss", "multilabel_soft_margin_loss"], 0.2))
    rowwise = form in ("cross_entropy", "cross_entropy_soft", "nll_loss", "triplet_margin_loss", "cosine_embedding_loss", "multi_margin_loss", "multilabel_soft_margin_loss")
    x = g.pick("f", low=2 if rowwise else 0, high=2 if rowwise else 4, most=20_000, where=lambda t: t.numel() > 0)
    if x is None:
        return None
    t = g.value(x)
    y = other(g, x, t.shape)
    if y is None:
        return None
    reduction = f', reduction="{g.rng.choice(["none", "mean", "sum"])}"'
    labels = f"from_numpy(indices({g.number()}, ({t.shape[0]},), {t.shape[-1]}))" if t.dim() == 2 else None
    sign = f"({y}.detach() > 0).to({x}.dtype) * 2 - 1"
    if form in POINTWISE:
        target = y if form not in ("soft_margin_loss", "hinge_embedding_loss", "binary_cross_entropy_with_logits") else f"({sign})" if "margin" in form or "hinge" in form else f"{y}.sigmoid()"
        text = f"F.{form}({x}, {target}{reduction})"
    else:
        text = {
            "cross_entropy": lambda: f"F.cross_entropy({x}, {labels}{reduction}, label_smoothing={g.rng.choice([0.0, 0.0, 0.1])})",
            "cross_entropy_soft": lambda: f"F.cross_entropy({x}, {y}.softmax(1){reduction})",
            "nll_loss": lambda: f"F.nll_loss({x}.log_softmax(1), {labels}{reduction}, ignore_index={g.rng.choice([-100, 0])})",
            "kl_div": lambda: f"F.kl_div({x}, {y}.sigmoid(){reduction})",
            "binary_cross_entropy": lambda: f"F.binary_cross_entropy({x}.sigmoid(), {y}.sigmoid(){reduction})",
            "gaussian_nll_loss": lambda: f"F.gaussian_nll_loss({x}, {y}, {x}.detach().abs() + 0.5{reduction})",
            "margin_ranking_loss": lambda: f"F.margin_ranking_loss({x}, {y}, {sign}, margin=0.1{reduction})",
            "triplet_margin_loss": lambda: f"F.triplet_margin_loss({x}, {y}, {x}.detach().flip(0){reduction})",
            "cosine_embedding_loss": lambda: f"F.cosine_embedding_loss({x}, {y}, ({sign})[:, 0]{reduction})",
            "multi_margin_loss": lambda: f"F.multi_margin_loss({x}, {labels}{reduction})",
            "multilabel_soft_margin_loss": lambda: f"F.multilabel_soft_margin_loss({x}, ({y}.detach() > 0).to({x}.dtype){reduction})",
        }[form]()
    return g.assign(text, "sum")


def layer(g):
    form = g.rng.choice(g.dialect.some("layer_norm group_norm batch_norm normalize attention glu rms_norm softmin prelu dropout cosine pixel cross trapezoid ".split(), 0.25))
    low = 4 if form == "pixel" else 3 if form in ("attention", "group_norm") else 2
    x = g.pick("f", low=low, high=low if form != "layer_norm" else 4, most=20_000, where=lambda t: t.numel() > 0)
    if x is None:
        return None
    t = g.value(x)
    n, c = t.shape[-1], t.shape[1]
    text = None
    if form in ("layer_norm", "rms_norm"):
        w = other(g, x, (n,))
        text = w and n > 2 and (f"F.layer_norm({x}, ({n},), {w}, {w})" if form == "layer_norm" else f"F.rms_norm({x}, ({n},), {w})")
    elif form == "group_norm":
        groups = g.rng.choice([d for d in (1, 2, 3, 4, 8, c) if c % d == 0])
        text = t[0].numel() // groups > 3 and f"F.group_norm({x}, {groups})"
    elif form == "batch_norm" and t.shape[0] > 2:
        w = other(g, x, (c,))
        text = w and f"F.batch_norm({x}, None, None, {w}, {w}, training=True)"
    elif form == "normalize":
        text = f"F.normalize({x}, dim={g.dim(t)})"
    elif form == "attention" and t.shape[1] < 300:
        k = other(g, x, t.shape)
        text = k and f"F.scaled_dot_product_attention({x}, {k}, {k}, is_causal={g.rng.random() < 0.3})"
    elif form == "glu":
        text = n % 2 == 0 and f"F.glu({x}, -1)"
    elif form == "softmin":
        text = f"F.softmin({x}, {g.dim(t)})"
    elif form == "prelu":
        w = other(g, x, (c,))
        text = w and f"F.prelu({x}, {w})"
    elif form == "dropout":
        text = f"F.dropout({x}, 0.5, training=False)"
    elif form == "pixel":
        text = c % 4 == 0 and f"F.pixel_shuffle({x}, 2)"
    elif form == "cross":
        text = f"torch.linalg.cross({x}[:, :3], {x}.flip(0)[:, :3])" if c >= 3 else None
    elif form == "trapezoid":
        text = f"torch.trapezoid({x}, dim={g.dim(t)})"
    return g.assign(text, "sum") if text else None


RULES = [(loss, 4, 0.35), (layer, 3, 0.3)]
