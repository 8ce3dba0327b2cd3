"""Whole training steps of small networks of every kind, written as their authors would, and single answers of some of them.

Each class is one network; what a name does not say (width, depth) is in its case below.
"""
from __future__ import annotations

from .runner.case import Case, integers, module_case, normal, step_case, uniform

_OTHERS = "series, points, graphs, tables and decisions"


def _adamw(torch, parameters):
    return torch.optim.AdamW(parameters, lr=1e-3)


def _classes(torch, logits, target):
    return torch.nn.functional.cross_entropy(logits, target)


def _words(torch, logits, target):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())


def _square(torch, result, target):
    return torch.nn.functional.mse_loss(result, target)


def _itself(torch, result, target):
    """The loss of networks that return it."""
    return result


# ---------------------------------------------------------------- text
def gpt(torch, words, width, heads, layers, length):
    """A decoder of pre-norm transformer blocks (Radford et al., 2019); logits of every place."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            n, t, _ = x.shape
            q, k, v = [y.view(n, t, heads, width // heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(width, 2)]
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(n, t, width))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.word, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, numbers):
            x = self.word(numbers) + self.place(torch.arange(numbers.shape[1], device=numbers.device))
            return self.head(self.norm(self.blocks(x)))
    return GPT()


def translator(torch, words, width):
    """A GRU that reads both ways, and a GRU cell that attends to it at each word it writes (Bahdanau et al., 2014)."""
    nn = torch.nn

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(words, width)
            self.reader = nn.GRU(width, width, batch_first=True, bidirectional=True)
            self.writer, self.score = nn.GRUCell(3 * width, width), nn.Linear(width, 2 * width)
            self.head = nn.Linear(width, words)

        def forward(self, source, so_far):
            read, _ = self.reader(self.embedding(source))
            state, written = torch.zeros(len(source), width), []
            for word in self.embedding(so_far).unbind(1):
                weights = torch.softmax(torch.bmm(read, self.score(state).unsqueeze(2)), 1)
                state = self.writer(torch.cat([word, (weights * read).sum(1)], 1), state)
                written.append(self.head(state))
            return torch.stack(written, 1)
    return Translator()


# ---------------------------------------------------------------- images
def vision_transformer(torch, patch, width, heads, layers):
    """Dosovitskiy et al., 2020, for 3 x 32 x 32 and 10 classes, without dropout."""
    nn = torch.nn

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, width, patch, patch)
            self.token = nn.Parameter(torch.zeros(1, 1, width))
            self.place = nn.Parameter(torch.zeros(1, (32 // patch) ** 2 + 1, width))
            layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, activation="gelu", batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
            self.head = nn.Linear(width, 10)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.place
            return self.head(self.encoder(x)[:, 0])
    return ViT()


def mlp_mixer(torch, width, layers):
    """Tolstikhin et al., 2021, for 3 x 32 x 32 in 64 patches."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.places = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
            self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            x = x + self.places(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.channels(self.norm2(x))

    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, width, 4, 4)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.head = nn.Linear(width, 10)

        def forward(self, x):
            return self.head(self.blocks(self.patches(x).flatten(2).transpose(1, 2)).mean(1))
    return Mixer()


def unet(torch, channels, classes):
    """Ronneberger et al., 2015, of three levels, with batch norm."""
    nn = torch.nn

    def twice(before, after):
        return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
                             nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            c = channels
            self.down1, self.down2, self.bottom = twice(1, c), twice(c, 2 * c), twice(2 * c, 4 * c)
            self.up2, self.left2 = nn.ConvTranspose2d(4 * c, 2 * c, 2, 2), twice(4 * c, 2 * c)
            self.up1, self.left1 = nn.ConvTranspose2d(2 * c, c, 2, 2), twice(2 * c, c)
            self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(c, classes, 1)

        def forward(self, x):
            first = self.down1(x)
            second = self.down2(self.pool(first))
            x = self.left2(torch.cat([self.up2(self.bottom(self.pool(second))), second], 1))
            return self.head(self.left1(torch.cat([self.up1(x), first], 1)))
    return UNet()


def mobilenet(torch):
    """Inverted residuals with depthwise convolutions (Sandler et al., 2018) of 16 to 32 channels."""
    nn = torch.nn

    class Inverted(nn.Module):
        def __init__(self, before, after, stride, wider=4):
            super().__init__()
            hidden = before * wider
            self.adds = stride == 1 and before == after
            self.body = nn.Sequential(
                nn.Conv2d(before, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(),
                nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(),
                nn.Conv2d(hidden, after, 1, bias=False), nn.BatchNorm2d(after))

        def forward(self, x):
            return x + self.body(x) if self.adds else self.body(x)
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(),
                         Inverted(16, 16, 1), Inverted(16, 24, 2), Inverted(24, 24, 1), Inverted(24, 32, 2), Inverted(32, 32, 1),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def small_vgg(torch):
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(4096, 64), nn.ReLU(),
                         nn.Linear(64, 10))


def volumes(torch):
    """3-d convolutions, as of scans."""
    nn = torch.nn
    return nn.Sequential(nn.Conv3d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(8, 16, 3, padding=1), nn.ReLU(),
                         nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 3))


# ---------------------------------------------------------------- what generates
def dcgan_generator(torch):
    """64 numbers to 3 x 32 x 32 (Radford et al., 2015)."""
    nn = torch.nn
    return nn.Sequential(
        nn.ConvTranspose2d(64, 128, 4, 1, 0, bias=False), nn.BatchNorm2d(128), nn.ReLU(),
        nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 3, 4, 2, 1, bias=False), nn.Tanh())


def dcgan_discriminator(torch):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 32, 4, 2, 1, bias=False), nn.LeakyReLU(0.2),
        nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.2),
        nn.Conv2d(64, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.LeakyReLU(0.2),
        nn.Conv2d(128, 1, 4, 1, 0, bias=False), nn.Flatten())


def variational_autoencoder(torch):
    """784 pixels through 20 numbers (Kingma and Welling, 2013), given its noise; returns the loss."""
    nn, functional = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen, self.mean, self.spread = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
            self.hidden, self.shown = nn.Linear(20, 400), nn.Linear(400, 784)

        def forward(self, x, noise):
            h = torch.relu(self.seen(x))
            mean, spread = self.mean(h), self.spread(h)
            shown = torch.sigmoid(self.shown(torch.relu(self.hidden(mean + torch.exp(0.5 * spread) * noise))))
            divergence = -0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum()
            return (functional.binary_cross_entropy(shown, x, reduction="sum") + divergence) / len(x)
    return VAE()


def critic(torch):
    """A Wasserstein critic with its gradient penalty (Gulrajani et al., 2017), a gradient of a gradient; returns the loss."""
    nn = torch.nn

    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(16, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2),
                                      nn.Linear(128, 1))

        def forward(self, real, made, share):
            between = (share * real + (1 - share) * made).requires_grad_()
            slope, = torch.autograd.grad(self.body(between).sum(), between, create_graph=True)
            return self.body(made).mean() - self.body(real).mean() + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()
    return Critic()


def radiance_field(torch):
    """Colours along rays (Mildenhall et al., 2020): places as waves, a perceptron, light that gets through."""
    nn = torch.nn

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(39, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4))

        def forward(self, places):
            waves = [wave(2.0 ** i * places) for i in range(6) for wave in (torch.sin, torch.cos)]
            seen = self.body(torch.cat([places, *waves], -1))
            opaque = 1 - torch.exp(-torch.nn.functional.softplus(seen[..., 3]) * 0.1)
            through = torch.cumprod(torch.cat([torch.ones(len(places), 1), 1 - opaque], 1), 1)[:, :-1]
            return ((opaque * through).unsqueeze(2) * torch.sigmoid(seen[..., :3])).sum(1)
    return Field()


# ---------------------------------------------------------------- series, points, graphs, tables and decisions
def dilated_series(torch):
    """1-d convolutions of growing dilation (Bai et al., 2018)."""
    nn, layers = torch.nn, []
    for i in range(4):
        layers += [nn.Conv1d(32 if i else 8, 32, 3, padding=2 ** i, dilation=2 ** i), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 5))


def point_cloud(torch):
    """The same perceptron for every point, and the largest of each feature (Qi et al., 2016)."""
    nn = torch.nn

    class Points(nn.Module):
        def __init__(self):
            super().__init__()
            self.each = nn.Sequential(nn.Linear(3, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 128))
            self.all = nn.Sequential(nn.Linear(128, 64), nn.ELU(), nn.Linear(64, 10))

        def forward(self, x):
            return self.all(self.each(x.flatten(0, 1)).view(*x.shape[:2], -1).max(1)[0])
    return Points()


def graph_convolution(torch):
    """Two layers that add up what neighbours have (Kipf and Welling, 2016)."""
    nn = torch.nn

    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(64, 32), nn.Linear(32, 7)

        def forward(self, x, source, target):
            gather = lambda h: torch.zeros(len(x), h.shape[1]).index_add(0, target, h[source])
            return self.second(gather(torch.relu(self.first(gather(x)))))
    return Graph()


def factors(torch, users, items, width):
    """Ratings as products of what is known of users and items (Koren et al., 2009)."""
    nn = torch.nn

    class Factors(nn.Module):
        def __init__(self):
            super().__init__()
            self.user, self.item = nn.Embedding(users, width), nn.Embedding(items, width)
            self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)

        def forward(self, user, item):
            return (self.user(user) * self.item(item)).sum(1) + self.user_bias(user)[:, 0] + self.item_bias(item)[:, 0]
    return Factors()


def contrast(torch):
    """Two views of each sample, told from those of others (Radford et al., 2021); returns the loss."""
    nn, functional = torch.nn, torch.nn.functional

    class Contrast(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(100, 128), nn.ReLU(), nn.Linear(128, 32))

        def forward(self, one, other):
            a, b = (functional.normalize(self.body(x), dim=1) for x in (one, other))
            alike, same = a @ b.t() / 0.1, torch.arange(len(a))
            return (functional.cross_entropy(alike, same) + functional.cross_entropy(alike.t(), same)) / 2
    return Contrast()


def values(torch):
    """What actions are worth, learnt from the next state (Mnih et al., 2013); returns the loss."""
    nn = torch.nn

    class Values(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))

        def forward(self, state, action, after, reward):
            target = reward + 0.99 * self.body(after).max(1)[0].detach()
            return torch.nn.functional.smooth_l1_loss(self.body(state).gather(1, action)[:, 0], target)
    return Values()


def _step(name, make, inputs, loss=_classes, group="images", **fields):
    return step_case(name, make, inputs, loss=loss, optimizer=_adamw, tolerance=1e-3, group=group, **fields)


def _linear_regression():
    """The first program of many: ten features, plain gradient descent written out."""
    def setup(torch, x, y, weight, bias):
        weight.requires_grad_(), bias.requires_grad_()

        def run():
            loss = ((x @ weight + bias - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for parameter in (weight, bias):
                    parameter -= 1e-3 * parameter.grad
                    parameter.grad = None
            return loss
        return run
    return Case("linear regression by hand, 100×10", (normal(100, 10), normal(100), normal(10), normal(1)), setup=setup, moved=0.0,
                tolerance=1e-3, group=_OTHERS)


CASES = [
    _step("GPT, 2 layers of 128, 8×64 of 500 words", lambda torch: gpt(torch, 500, 128, 4, 2, 64),
          (integers(8, 64, high=500), integers(8, 64, high=500)), _words, "text"),
    _step("GPT, 4 layers of 256, 4×128 of 1000 words", lambda torch: gpt(torch, 1000, 256, 8, 4, 128),
          (integers(4, 128, high=1000), integers(4, 128, high=1000)), _words, "text"),
    _step("GRU translator with attention, 16×12 of 200 words", lambda torch: translator(torch, 200, 64),
          (integers(16, 12, high=200), integers(16, 12, high=200), integers(16, 12, high=200)), _words, "text"),
    module_case("GPT, 2 layers of 128, 1×16", lambda torch: gpt(torch, 500, 128, 4, 2, 64), (integers(1, 16, high=500),),
                tolerance=1e-3, group="text"),
    _step("ViT, 2 layers of 64, 32×3×32×32", lambda torch: vision_transformer(torch, 4, 64, 4, 2),
          (normal(32, 3, 32, 32), integers(32, high=10))),
    _step("MLP-Mixer, 2 layers of 64, 16×3×32×32", lambda torch: mlp_mixer(torch, 64, 2),
          (normal(16, 3, 32, 32), integers(16, high=10))),
    _step("U-Net of 16 channels, 4×1×64×64", lambda torch: unet(torch, 16, 2), (normal(4, 1, 64, 64), integers(4, 64, 64, high=2))),
    _step("small VGG, 32×3×32×32", small_vgg, (normal(32, 3, 32, 32), integers(32, high=10))),
    _step("MobileNetV2 of 16 to 32 channels, 8×3×64×64", mobilenet, (normal(8, 3, 64, 64), integers(8, high=10))),
    _step("3-d CNN, 4×1×16×32×32", volumes, (normal(4, 1, 16, 32, 32), integers(4, high=3))),
    module_case("MobileNetV2 of 16 to 32 channels, 1×3×128×128", mobilenet, (normal(1, 3, 128, 128),), tolerance=1e-3,
                group="images"),
    _step("DCGAN generator, 16×3×32×32", dcgan_generator, (normal(16, 64, 1, 1), normal(16, 3, 32, 32)), _square, "what generates"),
    _step("DCGAN discriminator, 16×3×32×32", dcgan_discriminator, (normal(16, 3, 32, 32), uniform(16, 1)),
          lambda torch, y, target: torch.nn.functional.binary_cross_entropy_with_logits(y, target), "what generates"),
    _step("VAE, 128×784", variational_autoencoder, (uniform(128, 784), normal(128, 20), normal(1)), _itself, "what generates"),
    _step("WGAN critic with gradient penalty, 32×16", critic, (normal(32, 16), normal(32, 16), uniform(32, 1), normal(1)), _itself,
          "what generates"),
    _step("NeRF, 256 rays of 32 places", radiance_field, (normal(256, 32, 3), uniform(256, 3)), _square, "what generates"),
    _step("dilated 1-d CNN, 16×8×256", dilated_series, (normal(16, 8, 256), integers(16, high=5)), group=_OTHERS),
    _step("PointNet, 16×256 points", point_cloud, (normal(16, 256, 3), integers(16, high=10)), group=_OTHERS),
    _step("graph convolution, 2000 nodes, 10000 edges", graph_convolution,
          (normal(2000, 64), integers(10_000, high=2000), integers(10_000, high=2000), integers(2000, high=7)), group=_OTHERS),
    _step("matrix factorisation, 512 of 2000×3000", lambda torch: factors(torch, 2000, 3000, 32),
          (integers(512, high=2000), integers(512, high=3000), normal(512)), _square, _OTHERS),
    _step("contrastive pairs, 64×100", contrast, (normal(64, 100), normal(64, 100), normal(1)), _itself, _OTHERS),
    _step("Q-learning, 32×8", values, (normal(32, 8), integers(32, 1, high=4), normal(32, 8), normal(32), normal(1)), _itself,
          _OTHERS),
    _linear_regression(),
]
