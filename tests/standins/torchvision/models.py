"""Networks of torchvision, without weights: residual networks of 18 layers, and VGG of 16."""
from torch import nn


class _Block(nn.Module):
    def __init__(self, before, features, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, features, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(features)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(features, features, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(features)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(before, features, 1, stride, bias=False), nn.BatchNorm2d(features))

    def forward(self, x):
        kept = x if self.downsample is None else self.downsample(x)
        return self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))) + kept)


class ResNet(nn.Module):
    """Of 18 layers."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1, self.relu, self.maxpool = nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        for i, (before, features) in enumerate([(64, 64), (64, 128), (128, 256), (256, 512)], 1):
            setattr(self, f"layer{i}", nn.Sequential(_Block(before, features, 1 + (i > 1)), _Block(features, features, 1)))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(512, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.avgpool(self.layer4(self.layer3(self.layer2(self.layer1(x)))))
        return self.fc(x.flatten(1))


class VGG(nn.Module):
    """Of 16 layers; only its features."""

    def __init__(self):
        super().__init__()
        layers, before = [], 3
        for features in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
            layers += [nn.Conv2d(before, features, 3, padding=1), nn.ReLU(inplace=True)] if features else [nn.MaxPool2d(2, 2)]
            before = features or before
        self.features = nn.Sequential(*layers)


class _Weights:
    IMAGENET1K_V1 = None


ResNet18_Weights = VGG16_Weights = _Weights


def resnet18(weights=None, pretrained=False):
    """A residual network of 18 layers."""
    return ResNet()


resnet50 = resnet18


def vgg16(weights=None):
    """VGG's 16 layers."""
    return VGG()
