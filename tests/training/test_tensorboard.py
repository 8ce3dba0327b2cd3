"""`utils.tensorboard`: what is written is what PyTorch's writer writes, and TensorBoard reads it."""
import subprocess
import sys

import numpy as np
import pytest

import numtorch

pytest.importorskip("tensorboard")


def written(folder):
    """The summaries of a folder's event files, with their steps, below every folder in it."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event
    found = []
    for file in sorted(folder.rglob("events.out.tfevents.*")):
        for raw in RawEventFileLoader(str(file)).Load():
            event = Event.FromString(raw)
            found += [(str(file.parent.relative_to(folder)), event.step, value) for value in event.summary.value]
    return found


def values(torch):
    return torch.from_numpy(np.random.default_rng(0).normal(0, 3, (50, 4)))


CALLS = {
    "scalar": lambda t, w: (w.add_scalar("a/b", 0.25, 3), w.add_scalar("t", t.tensor([1.5]), 4, walltime=5.0), w.add_scalar("n", np.float32(2), 5)),
    "new scalar": lambda t, w: (w.add_scalar("a", 0.1, 1, new_style=True), w.add_scalar("a", 0.1, 1, new_style=True, double_precision=True)),
    "scalars": lambda t, w: w.add_scalars("run/x", {"sin": 0.5, "cos": t.tensor(0.25)}, 2),
    "tensor": lambda t, w: (w.add_tensor("f", values(t)[:2].float()), w.add_tensor("i", t.arange(3)), w.add_tensor("d", values(t)[:1])),
    "histogram": lambda t, w: (w.add_histogram("h", values(t), 1), w.add_histogram("few", values(t), 1, bins=10), w.add_histogram("one", t.ones(3), bins=3),
                               w.add_histogram("edges", values(t), 1, bins=[-3.0, 0.0, 1.0, 3.0]), w.add_histogram("joined", values(t), bins=11, max_bins=3)),
    "raw histogram": lambda t, w: w.add_histogram_raw("h", 0.0, 2.0, 3, 3.0, 5.0, [1.0, 2.0], [1, 2], 7),
    "text": lambda t, w: w.add_text("note", "*hello* \u00fc", 1),
    "pr curve": lambda t, w: (w.add_pr_curve("pr", t.tensor([0, 1, 1, 0]), t.tensor([0.1, 0.9, 1.0, 0.4]), 1),
                              w.add_pr_curve("weighted", t.tensor([0, 1]), t.tensor([0.3, 0.6]), 1, num_thresholds=5, weights=np.array([2.0, 1.0]))),
    "raw pr curve": lambda t, w: w.add_pr_curve_raw("pr", *[t.tensor([1.0, float(i)]) for i in range(6)], 1, num_thresholds=2),
    "custom scalars": lambda t, w: (w.add_custom_scalars({"Taiwan": {"one": ["Multiline", ["a", "b"]], "two": ["Margin", ["c", "d", "e"]]}}),
                                    w.add_custom_scalars_multilinechart(["a"], "cat", "title")),
    "mesh": lambda t, w: (w.add_mesh("points", t.arange(12.0).reshape(1, 4, 3), global_step=2),
                          w.add_mesh("surface", t.arange(12.0).reshape(1, 4, 3), t.full((1, 4, 3), 255), t.tensor([[[0, 1, 2], [1, 2, 3]]]), {"camera": {"cls": "X"}})),
    "hparams": lambda t, w: w.add_hparams({"lr": 0.1, "name": "x", "n": 3, "none": None}, {"accuracy": 0.5}, {"lr": [0.1, 0.2]}, run_name="run", global_step=2),
}


def plain(value):
    """A summary as text, numbers rounded to what two ways of summing agree in."""
    import re
    return re.sub(r"(-?\d+\.\d+(e[+-]\d+)?)", lambda m: f"{float(m[1]):.9g}", str(value))


@pytest.mark.parametrize("name", CALLS)
def test_what_is_written_is_pytorchs(tmp_path, name):
    torch = pytest.importorskip("torch")
    from torch.utils.tensorboard import SummaryWriter as Theirs
    for library, kind, folder in ((numtorch, numtorch.utils.tensorboard.SummaryWriter, "ours"), (torch, Theirs, "theirs")):
        with kind(tmp_path / folder) as writer:
            CALLS[name](library, writer)
    ours, theirs = written(tmp_path / "ours"), written(tmp_path / "theirs")
    assert ours and [(p, s, v.tag, plain(v)) for p, s, v in ours] == [(p, s, v.tag, plain(v)) for p, s, v in theirs]


PICTURES = {
    "CHW": ((3, 5, 4), "CHW", "add_image"), "HWC": ((5, 4, 3), "HWC", "add_image"), "HW": ((5, 4), "HW", "add_image"), "grey": ((1, 5, 4), "CHW", "add_image"),
    "NCHW": ((10, 3, 5, 4), "NCHW", "add_images"), "NHWC": ((3, 5, 4, 3), "NHWC", "add_images"),
}


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("kind", ["float32", "uint8"])
def test_pictures(tmp_path, name, kind):
    torch, pil = pytest.importorskip("torch"), pytest.importorskip("PIL.Image")
    import io

    from torch.utils.tensorboard import SummaryWriter as Theirs
    shape, order, method = PICTURES[name]
    pixels = np.random.default_rng(0).uniform(0, 1.1 if kind == "float32" else 255, shape).astype(kind)
    for library, made, folder in ((numtorch, numtorch.utils.tensorboard.SummaryWriter, "ours"), (torch, Theirs, "theirs")):
        with made(tmp_path / folder) as writer:
            getattr(writer, method)("picture", library.from_numpy(pixels), 1, dataformats=order)
    (_, step, ours), (_, _, theirs) = written(tmp_path / "ours")[0], written(tmp_path / "theirs")[0]
    images = [np.asarray(pil.open(io.BytesIO(v.image.encoded_image_string)).convert("RGB")) for v in (ours, theirs)]
    assert step == 1 and np.array_equal(*images) and (ours.image.height, ours.image.width) == (theirs.image.height, theirs.image.width)


def test_boxes(tmp_path):
    torch, pil = pytest.importorskip("torch"), pytest.importorskip("PIL.Image")
    import io

    from torch.utils.tensorboard import SummaryWriter as Theirs
    pixels = np.random.default_rng(0).uniform(0, 255, (3, 40, 50)).astype("uint8")
    for library, made, folder in ((numtorch, numtorch.utils.tensorboard.SummaryWriter, "ours"), (torch, Theirs, "theirs")):
        boxes = library.tensor([[5.0, 4.0, 30.0, 30.0], [2.0, 2.0, 9.0, 8.0]])
        with made(tmp_path / folder) as writer:
            writer.add_image_with_boxes("plain", library.from_numpy(pixels), boxes, 1, rescale=2)
            writer.add_image_with_boxes("said", library.from_numpy(pixels), boxes, labels=["cat", "dog"])
            writer.add_image_with_boxes("one text for two", library.from_numpy(pixels), boxes, labels="cat")
    ours, theirs = written(tmp_path / "ours"), written(tmp_path / "theirs")
    assert len(ours) == 3
    for (_, _, mine), (_, _, other) in zip(ours, theirs):
        images = [np.asarray(pil.open(io.BytesIO(v.image.encoded_image_string)).convert("RGB")) for v in (mine, other)]
        np.testing.assert_array_equal(*images)
        assert (mine.image.height, mine.image.width) == (other.image.height, other.image.width) == (40, 50)


def test_films(tmp_path):
    """Pictures side by side as PyTorch sets them, frame after frame."""
    pil, utils = pytest.importorskip("PIL.Image"), pytest.importorskip("torch.utils.tensorboard._utils")
    import io
    for n in (1, 2, 3, 4, 5, 8):
        shades = np.random.default_rng(n).integers(0, 2, (n, 3, 1, 4, 6)).astype("uint8") * 255      # two colours: what a GIF keeps exactly
        with numtorch.utils.tensorboard.SummaryWriter(tmp_path / str(n)) as writer:
            writer.add_video("film", numtorch.from_numpy(np.repeat(shades, 3, 2)), 1, fps=10)
        (_, step, value), = written(tmp_path / str(n))
        film = pil.open(io.BytesIO(value.image.encoded_image_string))
        assert step == 1 and film.format == "GIF" and film.info["duration"] == 100
        expected = utils._prepare_video(np.repeat(shades, 3, 2))
        for frame in range(3):
            film.seek(frame)
            shown = np.asarray(film.convert("RGB")).astype(float) / 255
            height, width = shown.shape[:2]
            np.testing.assert_array_equal(shown, expected[frame, :height, :width])
            assert not expected[frame, height:].any()     # PyTorch's grid may have an empty row more
    with numtorch.utils.tensorboard.SummaryWriter(tmp_path / "wrong") as writer, pytest.raises(AssertionError, match="films"):
        writer.add_video("film", numtorch.ones(3, 4, 4))


def network(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.BatchNorm2d(2))
            self.fc = torch.nn.Linear(32, 3)

        def forward(self, x):
            return self.fc(self.body(x).flatten(1))
    return Net()


def graph_of(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    read = EventAccumulator(str(folder))
    read.Reload()
    return read.Graph()


def test_graphs(tmp_path):
    """TensorBoard reads them; modules and parameters have PyTorch's names; each call leads to what it was given."""
    model = network(numtorch)
    model.fc.weight.requires_grad_(False)
    running = model.body[2].running_mean.clone()
    with numtorch.utils.tensorboard.SummaryWriter(tmp_path / "ours") as writer:
        writer.add_graph(model, numtorch.rand(2, 1, 6, 6))
        with pytest.raises(RuntimeError, match="nothing that the model returns"):
            writer.add_graph(numtorch.nn.Identity(), numtorch.tensor([1]))
    nodes = {node.name: node for node in graph_of(tmp_path / "ours").node}
    calls = {name: list(node.input) for name, node in nodes.items() if node.input}
    parameters = {name for name, node in nodes.items() if node.op == "Parameter"}
    net, body = "Net/", "Net/Sequential[body]/"
    assert calls == {
        f"{body}Conv2d[0]/convolution": ["input/input.1", f"{body}Conv2d[0]/weight", f"{body}Conv2d[0]/bias"],
        f"{body}ReLU[1]/relu": [f"{body}Conv2d[0]/convolution"],
        f"{body}BatchNorm2d[2]/batch_norm": [f"{body}ReLU[1]/relu", f"{body}BatchNorm2d[2]/weight", f"{body}BatchNorm2d[2]/bias"],
        f"{net}view": [f"{body}BatchNorm2d[2]/batch_norm"],
        f"{net}Linear[fc]/linear": [f"{net}view", f"{net}Linear[fc]/weight", f"{net}Linear[fc]/bias"],
        "output/output.1": [f"{net}Linear[fc]/linear"]}
    shape = nodes[f"{body}Conv2d[0]/convolution"].attr["_output_shapes"].list.shape[0]
    assert [d.size for d in shape.dim] == [2, 2, 4, 4]
    assert model.training and not model.fc.weight.requires_grad and model.body[2].running_mean.equal(running)
    torch = pytest.importorskip("torch")
    from torch.utils.tensorboard import SummaryWriter as Theirs
    with Theirs(tmp_path / "theirs") as writer:
        writer.add_graph(network(torch), torch.rand(2, 1, 6, 6))
    theirs = {node.name for node in graph_of(tmp_path / "theirs").node}
    assert {each for each in parameters if any(name == each or name.startswith(each + "/") for name in theirs)} == parameters


def test_every_method_of_pytorchs():
    theirs = pytest.importorskip("torch.utils.tensorboard").SummaryWriter
    import inspect
    for name, method in inspect.getmembers(theirs, inspect.isfunction):
        if not name.startswith("_"):
            ours = inspect.signature(getattr(numtorch.utils.tensorboard.SummaryWriter, name))
            assert list(ours.parameters) == list(inspect.signature(method).parameters), name


def test_sounds_figures_and_points(tmp_path):
    figures = pytest.importorskip("matplotlib.figure")
    with numtorch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_audio("sound", numtorch.sin(numtorch.arange(100.0)).reshape(1, -1), 1, sample_rate=8000)
        figure = figures.Figure(figsize=(2, 1), dpi=50)
        figure.add_subplot().plot([1, 2])
        writer.add_figure("figure", figure)
        writer.add_figure("figures", [figure, figure])
        writer.add_embedding(numtorch.eye(3), ["a", "b", "c"], numtorch.rand(3, 3, 2, 2), 4, "points")
        writer.add_embedding(numtorch.eye(2), [["a", 1], ["b", 2]], tag="more", metadata_header=["letter", "number"])
        with pytest.raises(AssertionError, match="#labels"):
            writer.add_embedding(numtorch.eye(3), ["a"])
        with pytest.raises(NotImplementedError, match="add_graph"):
            writer.add_onnx_graph("model.onnx")
    sound, picture, pictures = [v for _, _, v in written(tmp_path)]
    assert sound.audio.sample_rate == 8000 and sound.audio.length_frames == 100 and sound.audio.encoded_audio_string[:4] == b"RIFF"
    assert (picture.image.height, picture.image.width) == (50, 100) and pictures.image.width == 200
    assert (tmp_path / "00004/points/metadata.tsv").read_text() == "a\nb\nc\n" and (tmp_path / "00000/more/metadata.tsv").read_text() == "letter\tnumber\na\t1\nb\t2\n"
    assert (tmp_path / "00004/points/sprite.png").read_bytes().startswith(b"\x89PNG") and (tmp_path / "projector_config.pbtxt").read_text().count("embeddings") == 2


def test_tensorboard_reads_the_file(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    writer = numtorch.utils.tensorboard.SummaryWriter(tmp_path, purge_step=2)
    for step in range(3):
        writer.add_scalar("loss", 1 / (step + 1), step)
    writer.flush()
    writer.close()
    writer.add_scalar("loss", 5.0, 3)                    # opens a new file
    writer.close()
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    assert {e.step: round(e.value, 3) for e in read.Scalars("loss")}[3] == 5.0
    assert writer.get_logdir() == str(tmp_path)


def test_bad_calls(tmp_path):
    with numtorch.utils.tensorboard.SummaryWriter(tmp_path) as writer:
        for error, call in ((AssertionError, lambda: writer.add_scalar("a", numtorch.ones(2))), (ValueError, lambda: writer.add_histogram("a", numtorch.ones(0))),
                            (AssertionError, lambda: writer.add_image("a", numtorch.ones(2, 2))), (TypeError, lambda: writer.add_hparams([], {})),
                            (ValueError, lambda: writer.add_hparams({"a": []}, {})), (ValueError, lambda: writer.add_histogram("a", numtorch.ones(2), bins="fd"))):
            with pytest.raises(error):
                call()


def test_without_the_library():
    code = "import sys; sys.modules['tensorboard'] = None\nfrom numtorch.utils.tensorboard import SummaryWriter\nSummaryWriter('x')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "ImportError: numtorch.utils.tensorboard needs tensorboard" in done.stderr and "numtorch[tensorboard]" in done.stderr
