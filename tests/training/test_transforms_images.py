"""Transforms of images: tensors, batches and NumPy images alike."""
from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

import numtorch as torch
from numtorch import transforms as T

RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 256, (6, 5, 3)).astype(np.uint8)       # (H, W, C)

# name: (transform, its NumPy twin over channels-last images)
ROWS = {
    "hflip": (T.hflip, lambda x: x[..., ::-1, :]), "vflip": (T.vflip, lambda x: x[..., ::-1, :, :]),
    "crop": (partial(T.crop, top=1, left=2, height=3, width=2), lambda x: x[..., 1:4, 2:4, :]),
    "center": (partial(T.center_crop, size=(4, 3)), lambda x: x[..., 1:5, 1:4, :]),
    "pad": (partial(T.pad, padding=(1, 2), fill=7), lambda x: np.pad(x, [(0, 0)] * (x.ndim - 3) + [(2, 2), (1, 1), (0, 0)], constant_values=7)),
    "pad four": (partial(T.pad, padding=(1, 2, 3, 0)), lambda x: np.pad(x, [(0, 0)] * (x.ndim - 3) + [(2, 0), (1, 3), (0, 0)])),
    "reflect": (partial(T.pad, padding=2, mode="reflect"), lambda x: np.pad(x, [(0, 0)] * (x.ndim - 3) + [(2, 2), (2, 2), (0, 0)], "reflect")),
    "normalize": (partial(T.normalize, mean=(1, 2, 3), std=2.0), lambda x: (x.astype(np.float32) - np.array([1, 2, 3], np.float32)) / 2),
    "certain hflip": (partial(T.random_hflip, p=1.0), lambda x: x[..., ::-1, :]), "no vflip": (partial(T.random_vflip, p=0.0), lambda x: x),
    "whole crop": (partial(T.random_crop, size=(6, 5)), lambda x: x),
}


@pytest.mark.parametrize("name", ROWS)
def test_against_numpy(name):
    transform, twin = ROWS[name]
    picture = PICTURE.astype(np.float32) if name == "reflect" else PICTURE
    expected = twin(picture)
    first = torch.tensor(np.ascontiguousarray(picture.transpose(2, 0, 1)))
    for image, back in ((picture, lambda y: y), (first, lambda y: y.numpy().transpose(1, 2, 0)), (np.stack([picture, picture]), lambda y: y[1]),
                        (torch.stack([first, first]), lambda y: y[1].numpy().transpose(1, 2, 0))):
        result = transform(image)
        assert type(result) is type(image)
        np.testing.assert_allclose(back(result), expected, rtol=1e-6)
        assert back(result).dtype == expected.dtype


def test_grey_images():
    grey = PICTURE[..., 0]
    assert np.array_equal(T.hflip(grey), grey[:, ::-1]) and T.to_tensor(grey).shape == (1, 6, 5)


def test_to_tensor():
    assert torch.allclose(T.to_tensor(PICTURE), torch.tensor(PICTURE.transpose(2, 0, 1).copy()) / 255)
    assert T.to_tensor(np.ones((4, 2, 3, 1), np.float64)).shape == (4, 1, 2, 3) and T.to_tensor(np.full((2, 2), 3.0)).max().item() == 3


def test_random_ones_draw_for_each_image_and_from_the_generator():
    images = torch.arange(64 * 16.0).reshape(64, 1, 4, 4)
    flips = T.random_hflip(images, generator=torch.Generator().manual_seed(1))
    unchanged = (flips == images).flatten(1).all(1)
    assert 16 < unchanged.sum().item() < 48
    assert torch.equal(flips[~unchanged], images.flip(-1)[~unchanged])
    crops = T.random_crop(images, 2, generator=torch.Generator().manual_seed(1))
    starts = (crops[:, 0, 0, 0] - images[:, 0, 0, 0]).tolist()
    assert set(starts) == {0, 1, 2, 4, 5, 6, 8, 9, 10} and torch.equal(crops[:, 0, 1, 1] - crops[:, 0, 0, 0], torch.full((64,), 5.0))
    assert torch.equal(crops, T.random_crop(images, 2, generator=torch.Generator().manual_seed(1)))
    watched = T.random_crop(images.clone().requires_grad_(), 2, generator=torch.Generator().manual_seed(1))
    films = T.random_crop(images.reshape(32, 2, 1, 4, 4), 2, generator=torch.Generator().manual_seed(1))
    assert torch.equal(watched.detach(), crops) and films.shape == (32, 2, 1, 2, 2) and torch.equal(films[:, 1] - films[:, 0], torch.full((32, 1, 2, 2), 16.0))
    padded = T.random_crop(images + 1, 4, padding=1)
    assert padded.shape == images.shape and (padded == 0).any()
    singles = [T.random_hflip(images[0], generator=(g := torch.Generator().manual_seed(s))) for s in range(8)]
    assert 0 < sum(torch.equal(s, images[0]) for s in singles) < 8 and g is not None


def test_a_batch_is_a_few_kernels_however_large_it_is():
    drawn = {"random_hflip": T.random_hflip, "random_vflip": T.random_vflip, "random_crop": partial(T.random_crop, size=4, padding=1)}
    for name, transform in {**{name: row[0] for name, row in ROWS.items()}, **drawn}.items():
        launches = []
        for count in (2, 64):
            images = torch.ones(count, 3, 6, 5)
            transform(images)
            with torch.profiler.profile() as profile:
                transform(images)
            launches.append([event.name for event in profile.events() if event.kind == "kernel"])
        assert launches[0] == launches[1] and len(launches[0]) < 10, name


def test_compose_is_a_value():
    prepare = T.compose(T.to_tensor, partial(T.center_crop, size=4), partial(T.normalize, mean=0.5, std=0.5))
    again = pickle.loads(pickle.dumps(prepare))
    assert torch.equal(prepare(PICTURE), again(PICTURE)) and prepare(PICTURE).shape == (3, 4, 4) and "to_tensor" in repr(prepare)


def test_gradients_pass():
    x = torch.rand(2, 1, 4, 4, requires_grad=True)
    T.normalize(T.random_crop(x, 2, generator=torch.Generator().manual_seed(0)), 0.0, 0.5).sum().backward()
    assert x.grad.sum().item() == 16


@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda: T.hflip([1]), TypeError, "hflip: expected a tensor or a NumPy image, got list"), (lambda: T.hflip(torch.ones(3)), ValueError, "got (3,)"),
    (lambda: T.vflip(np.ones(3)), TypeError, "got (3,)"), (lambda: T.hflip(np.array([["a"]])), TypeError, "of numbers"),
    (lambda: T.to_tensor(torch.ones(1)), TypeError, "NumPy image"), (lambda: T.crop(torch.ones(1, 3, 3), 2, 0, 2, 2), ValueError, "within (3, 3)"),
    (lambda: T.random_crop(torch.ones(1, 3, 3), 4), ValueError, "got (4, 4)"), (lambda: T.center_crop(torch.ones(1, 3, 3), 0), ValueError, "got (0, 0)"),
    (lambda: T.pad(torch.ones(1, 3, 3), (1, 2, 3)), ValueError, "1, 2 or 4"), (lambda: T.normalize(torch.ones(3, 2, 2), (1, 2), 1), ValueError, "3 channels"),
    (lambda: T.normalize(torch.ones(3, 2, 2), 0, 0), ValueError, "not zero")])
def test_mistakes(call, kind, words):
    with pytest.raises(kind) as raised:
        call()
    assert words in str(raised.value)
