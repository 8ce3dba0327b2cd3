"""Transforms of single pictures."""
import functools

import numpy as np
import torch
from PIL import Image


def Compose(steps):
    return lambda image: functools.reduce(lambda value, step: step(value), steps, image)


def Lambda(function):
    return function


def ToTensor():
    return lambda image: torch.from_numpy(np.array(image, np.float32).reshape(image.size[1], image.size[0], -1) / 255).permute(2, 0, 1)


def Normalize(mean, std):
    return lambda image: (image - torch.tensor(mean).view(-1, 1, 1)) / torch.tensor(std).view(-1, 1, 1)


def Resize(size, interpolation=None):
    def resize(image):
        width, height = image.size
        scale = size / min(width, height) if isinstance(size, int) else None
        return image.resize((round(width * scale), round(height * scale)) if scale else tuple(size)[::-1])
    return resize


def _cut(image, size):
    width, height = (size, size) if isinstance(size, int) else tuple(size)[::-1]
    left, top = (image.size[0] - width) // 2, (image.size[1] - height) // 2
    return image.crop((left, top, left + width, top + height))


def CenterCrop(size):
    return lambda image: _cut(image, size)


def RandomResizedCrop(size):
    return lambda image: image.resize((size, size))


def RandomHorizontalFlip():
    return lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
