"""A convolutional network on images of 28 by 28 pixels, trained by the `Trainer` with its plugins.

    python examples/convnet.py [--data folder] [--epochs 12] [--out convnet.png]

Without `--data` it learns from the digits that come with numtorch, enlarged and shifted; with it, from the files of MNIST in that
folder, which are downloaded if they are not there. With `--checkpoint run.pt` it may be stopped by Ctrl-C, and goes on where it was
when it is started again.
"""
import argparse
import time
from functools import partial

import harness
import numpy as np

import numtorch as torch
import numtorch.nn.functional as F
from numtorch import nn, optim


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 5)
        self.conv2 = nn.Conv2d(width, 2 * width, 5)
        self.fc1 = nn.Linear(2 * width * 16, 4 * width)
        self.fc2 = nn.Linear(4 * width, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def images():
    """The digits in 28 by 28 pixels, with a border as MNIST has it: images (N, 1, 28, 28) and classes (N)."""
    pixels, labels = harness.digits()
    pixels = np.pad(harness.enlarged(pixels, 22), ((0, 0), (3, 3), (3, 3)))[:, None]
    return torch.tensor(pixels.astype(np.float32)), torch.tensor(labels)


def main():
    from numtorch import transforms
    from numtorch.data import DataLoader
    from numtorch.datasets import MNIST, ImageDataset
    from numtorch.utils.trainer import Trainer, metrics, plugins

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="the folder of MNIST's files")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--small", action="store_true", help="a tiny model, to see that it runs")
    parser.add_argument("--checkpoint", help="where the run is saved, and resumed from")
    parser.add_argument("--out", default="convnet.png", help="where the curves are drawn")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    start = time.perf_counter()
    shift = partial(transforms.random_crop, size=28, padding=2)
    if arguments.data:
        training = MNIST(arguments.data, download=True, batch_transform=shift)
        test = MNIST(arguments.data, train=False, download=True)
    else:
        pixels, labels = images()
        pixels = (pixels * 255).to(torch.uint8)
        cut = 100 if arguments.small else 1500
        training = ImageDataset(pixels[:cut], labels[:cut], batch_transform=shift)
        test = ImageDataset(pixels[-cut // 5:], labels[-cut // 5:])
    model = Net(2 if arguments.small else 16)
    optimizer = optim.Adam(model.parameters(), 2e-3)
    trainer = Trainer(model, nn.CrossEntropyLoss(), optimizer, DataLoader(training, batch_size=50, shuffle=True))
    for plugin in (plugins.LossMonitor(), plugins.AccuracyMonitor(),
                   plugins.Validation(DataLoader(test, 500), {"accuracy": metrics.accuracy}),
                   plugins.Schedule(optim.lr_scheduler.CosineAnnealingLR(optimizer, arguments.epochs)), plugins.ProgressBar(),
                   plugins.Curves(arguments.out, ["training_loss", "validation_loss", "validation_accuracy"])):
        trainer.register_plugin(plugin)
    if arguments.checkpoint:
        trainer.register_plugin(plugins.Saver(arguments.checkpoint))
        trainer.resume(arguments.checkpoint)
    trainer.run(until=arguments.epochs)
    print(f"{trainer.value('validation_accuracy'):.2%} of {len(test)} test images right after {trainer.epochs} epochs and "
          f"{time.perf_counter() - start:.1f} s; curves: {arguments.out}")


if __name__ == "__main__":
    main()
