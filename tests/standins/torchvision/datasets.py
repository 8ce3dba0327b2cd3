"""Data sets of random images."""
import numpy as np
import torch
from PIL import Image


class _Images(torch.utils.data.Dataset):
    def __init__(self, count, shape, classes, transform=None, target_transform=None):
        random = np.random.default_rng(0)
        self.data = torch.from_numpy(random.integers(0, 256, (min(count, 512), *shape), dtype=np.uint8))
        self.targets = torch.arange(len(self.data)) % classes
        self.transform, self.count = transform, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        image = Image.fromarray(self.data[index % len(self.data)].numpy())
        return image if self.transform is None else self.transform(image), int(self.targets[index % len(self.data)])


class MNIST(_Images):
    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(512 if train else 128, (28, 28), 10, transform)


class FakeData(_Images):
    def __init__(self, size=1000, image_size=(3, 224, 224), num_classes=10, transform=None, target_transform=None):
        super().__init__(size, (*image_size[1:], 3), num_classes, transform)


class ImageFolder(_Images):
    def __init__(self, root, transform=None, target_transform=None):
        super().__init__(64, (256, 256, 3), 2, transform)
        self.classes = ["one", "another"]
