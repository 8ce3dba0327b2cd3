"""Networks that are measured, written against PyTorch's API with `torch` as an argument.

Nothing is imported here: processes whose memory is measured read this file by its path.
"""


def multilayer_perceptron(torch, *sizes, activation="ReLU"):
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(before, after), getattr(torch.nn, activation)()]
    return torch.nn.Sequential(*layers[:-1])


def lenet(torch):
    """LeNet with 20 and 50 feature maps and 500 hidden units, for (N, 1, 28, 28): the one of Caffe's and PyTorch's examples."""
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def residual_block(torch, channels, out_channels=None, stride=1):
    """ResNet-18's basic block (He et al., 2015)."""
    nn, out_channels = torch.nn, out_channels or channels

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, out_channels, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(out_channels)
            self.conv2 = nn.Conv2d(out_channels, out_channels, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(out_channels)
            same = stride == 1 and channels == out_channels
            self.downsample = None if same else nn.Sequential(nn.Conv2d(channels, out_channels, 1, stride, bias=False),
                                                              nn.BatchNorm2d(out_channels))

        def forward(self, x):
            y = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(y)) + (x if self.downsample is None else self.downsample(x)))
    return Block()


def resnet18(torch, classes=1000):
    """ResNet-18 for (N, 3, H, W) (He et al., 2015)."""
    nn = torch.nn
    blocks, channels = [], 64
    for stage, width in enumerate((64, 128, 256, 512)):
        for i in range(2):
            blocks.append(residual_block(torch, channels, width, 2 if stage and not i else 1))
            channels = width
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *blocks,
                         nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(512, classes))


def language_model(torch, words, width, layers=1):
    """Embedding, LSTM and a linear layer for (N, T) word numbers; logits come out as (N * T, words)."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(words, width)
            self.lstm = nn.LSTM(width, width, layers, batch_first=True)
            self.head = nn.Linear(width, words)

        def forward(self, numbers):
            hidden, _ = self.lstm(self.embedding(numbers))
            return self.head(hidden).reshape(-1, words)
    return Model()


def train_by_hand(model, criterion, optimizer, batches):
    """An epoch in the loop that scripts write."""
    for x, y in batches:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
