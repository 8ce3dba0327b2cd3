"""What the examples share: arguments, a progress bar, the picture at the end, and data that is there without a network.

An example has `build(small, seed)`, which makes its model, optimizer and data; `step(task)`, which trains once and returns the
loss; and `draw(task, axes)`, which shows what was learned. Random choices come from NumPy (`task.rng`), so that the same program
gives the same numbers on other libraries.
"""
import argparse
import sys
import time
from pathlib import Path

import numpy as np


def digits():
    """1797 handwritten digits: images (N, 8, 8) from 0 to 1, and classes (N)."""
    from numtorch.data import digits
    images, labels = digits()
    return images.numpy()[:, 0], labels.numpy()


def enlarged(images, size):
    """Images (N, 8, 8) as (N, size, size), between whose pixels lie straight lines."""
    places = np.linspace(0, 7, size)
    low = np.minimum(places.astype(int), 6)
    share = (places - low).astype(np.float32)
    rows = images[:, low] * (1 - share)[:, None] + images[:, low + 1] * share[:, None]
    return rows[:, :, low] * (1 - share) + rows[:, :, low + 1] * share


def python_reference(length):
    """The beginning of a text that comes with Python: the topics of `help()`, from its language reference."""
    from pydoc_data.topics import topics
    return "\n".join(text for _, text in sorted(topics.items()))[:length]


def batch_of(task, *tensors):
    """Random rows of tensors, chosen by `task.rng`."""
    rows = task.rng.integers(len(tensors[0]), size=task.batch_size)
    return [tensor[rows.tolist()] for tensor in tensors]


def windows(task, length):
    """`task.batch_size` pieces of `task.ids`, chosen by `task.rng`: so many numbers in a row and the one after them."""
    starts = task.rng.integers(len(task.ids) - length, size=task.batch_size)
    return task.ids[starts[:, None] + np.arange(length + 1)]


def smoothed(losses, width):
    """Means of neighbours, and where they are."""
    width = max(1, min(width, len(losses) // 4))
    return np.arange(width - 1, len(losses)) + 1, np.convolve(losses, np.ones(width) / width, mode="valid")


def run(title, build, step, draw, steps, panels=1, label="loss", log=True):
    """An example from its arguments to its picture."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="a tiny model, to see that it runs")
    parser.add_argument("--out", default=Path(sys.argv[0]).stem + ".png", help="where the picture goes")
    arguments = parser.parse_args()
    task, losses, start = build(small=arguments.small, seed=arguments.seed), [], time.perf_counter()
    with progress(arguments.steps, title) as bar:
        for _ in range(arguments.steps):
            losses.append(step(task))
            bar.set_postfix_str(f"{label} {losses[-1]:.4g}", refresh=False)
            bar.update()
    tenth = max(1, len(losses) // 10)
    print(f"{title}: {label} {np.mean(losses[:tenth]):.4g} at first, {np.mean(losses[-tenth:]):.4g} after {len(losses)} steps and "
          f"{time.perf_counter() - start:.1f} s")
    figure = new_figure(panels + 1)
    axes = figure.axes
    axes[0].plot(*smoothed(losses, 20), linewidth=1)
    axes[0].set(xlabel="step", title=label, yscale="log" if log and min(losses) > 0 else "linear")
    axes[0].spines[["top", "right"]].set_visible(False)
    draw(task, axes[1] if panels == 1 else axes[1:])
    figure.savefig(arguments.out, dpi=70)
    print(f"picture: {arguments.out}")


def progress(total, title):
    """A bar on terminals."""
    from tqdm.auto import tqdm
    return tqdm(total=total, desc=title, disable=not sys.stderr.isatty(), leave=False)


def new_figure(columns):
    """A wide picture with some axes side by side."""
    from matplotlib.figure import Figure
    figure = Figure(figsize=(3.2 * columns, 2.8), layout="constrained")
    figure.subplots(1, columns)
    return figure


def grid(axes, images, columns, title=""):
    """Images (N, H, W) from 0 to 1, in rows."""
    rows = len(images) // columns
    height, width = images.shape[1:]
    whole = images[:rows * columns].reshape(rows, columns, height, width).transpose(0, 2, 1, 3)
    axes.imshow(whole.reshape(rows * height, columns * width), cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
    axes.set_title(title, fontsize=9)
    axes.axis("off")


def points(axes, values, title=""):
    """A number of each step, and their running mean."""
    axes.plot(values, ".", markersize=2, color="C1")
    axes.plot(*smoothed(values, 20), color="C1")
    axes.set_title(title, fontsize=9)


def lines(axes, text, title=""):
    """A text as the picture."""
    folded = "\n".join(line[i:i + 52] for line in text.split("\n") for i in range(0, len(line) or 1, 52))
    axes.text(0, 1, folded, family="monospace", fontsize=6, va="top", transform=axes.transAxes)
    axes.set_title(title, fontsize=9)
    axes.axis("off")
