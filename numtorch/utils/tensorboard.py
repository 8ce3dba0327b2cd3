"""`torch.utils.tensorboard`: logs that TensorBoard shows. Needs the extra `tensorboard`."""
from __future__ import annotations

import os
import socket
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from ..extras import required
from ..nn.modules.module import Module
from ..ops.shape.join import stack
from ..tensor import Tensor
from . import eventfiles, modelgraph
from .eventfiles import host, proto

__all__ = ["FileWriter", "SummaryWriter"]
__path__: list = []                                      # so that PyTorch's `tensorboard.writer` is a module


class FileWriter:
    """One event file.

    Args:
        log_dir: the folder it is in.
        max_queue, flush_secs: how many events wait, and how long, before they are written.
        filename_suffix: the end of its name.
    """

    def __init__(self, log_dir: str | os.PathLike, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = proto("summary.writer.event_file_writer").EventFileWriter(
            str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Write an `Event`.

        Args:
            event: the protocol buffer.
            step: of the program.
            walltime: seconds since 1970; now by default.
        """
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Write a `Summary`.

        Args:
            summary: the protocol buffer.
            global_step, walltime: as for `add_event`.
        """
        self.add_event(proto("compat.proto.event_pb2").Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Go on in a new file of the same folder, after `close`."""
        self.event_writer.reopen()


class SummaryWriter:
    """Writes what a program logs for TensorBoard: `tensorboard --logdir runs` shows it.

    `global_step` is always the step of the program, and `walltime` the time to note instead of now.

    Args:
        log_dir: the folder; by default one in `runs/` of time and host.
        comment: the end of the default folder's name.
        purge_step: events of this step and later ones, of a run that was cut off, are not shown.
        max_queue, flush_secs: how many events wait, and how long, before they are written.
        filename_suffix: the end of the files' names.

    Raises:
        ImportError: TensorBoard is not installed.

    Example:
        >>> import tempfile
        >>> from numtorch.utils.tensorboard import SummaryWriter
        >>> with SummaryWriter(tempfile.mkdtemp()) as writer:                     # doctest: +SKIP
        ...     writer.add_scalar("loss", 0.5, global_step=1)
    """

    def __init__(self, log_dir: str | os.PathLike | None = None, comment: str = "", purge_step: int | None = None,
                 max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        if not log_dir:
            log_dir = os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}")
        self.log_dir, self.purge_step = os.fspath(log_dir), purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] = {}
        self._projector: list[str] = []
        self._get_file_writer()

    def _get_file_writer(self):
        if self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                made = proto("compat.proto.event_pb2")
                self.file_writer.add_event(made.Event(step=self.purge_step, file_version="brain.Event:2"))
                self.file_writer.add_event(made.Event(step=self.purge_step, session_log=made.SessionLog(
                    status=made.SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def _add(self, summary, global_step, walltime):
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    # ------------------------------------------------------------ numbers
    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None,
                   new_style: bool = False, double_precision: bool = False) -> None:
        """Log a number.

        Args:
            tag: the curve's name.
            scalar_value: a number, or a tensor of one.
            global_step, walltime: see above.
            new_style: as a tensor, which loads faster; `double_precision`: as float64 then.
        """
        self._add(eventfiles.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict, global_step: int | None = None,
                    walltime: float | None = None) -> None:
        """Log several numbers for one picture.

        Args:
            main_tag: the picture's name.
            tag_scalar_dict: numbers by the curves' names.
            global_step, walltime: see above.
        """
        walltime = time.time() if walltime is None else walltime
        base = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(base, f"{main_tag.replace('/', '_')}_{tag}")
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[folder].add_summary(eventfiles.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Tensor, global_step: int | None = None, walltime: float | None = None) -> None:
        """Log all of a tensor.

        Args:
            tag: the name.
            tensor: the tensor.
            global_step, walltime: see above.
        """
        self._add(eventfiles.tensor(tag, tensor), global_step, walltime)

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow",
                      walltime: float | None = None, max_bins: int | None = None) -> None:
        """Log how values are distributed.

        Args:
            tag: the name.
            values: a tensor.
            bins: `"tensorflow"`, a number of bins, or their edges.
            max_bins: join neighbours until there are no more than that.
            global_step, walltime: see above.
        """
        self._add(eventfiles.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(self, tag: str, min: float, max: float, num: int, sum: float, sum_squares: float, bucket_limits: Any,
                          bucket_counts: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Log a histogram that was counted elsewhere.

        Args:
            tag: the name.
            min, max, num, sum, sum_squares: of the values.
            bucket_limits, bucket_counts: each bin's upper limit, and how many values are in it.
            global_step, walltime: see above.
        """
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = eventfiles.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(made, global_step, walltime)

    def add_hparams(self, hparam_dict: dict, metric_dict: dict, hparam_domain_discrete: dict | None = None,
                    run_name: str | None = None, global_step: int | None = None) -> None:
        """Log a run's hyperparameters and how good it is.

        Args:
            hparam_dict: numbers, bools and texts by name.
            metric_dict: numbers by name.
            hparam_domain_discrete: the values that a hyperparameter may have.
            run_name: the folder's name in this one; the time by default.
            global_step: see above.
        """
        summaries = eventfiles.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        with SummaryWriter(os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))) as run:
            for summary in summaries:
                run._add(summary, global_step, None)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    # ------------------------------------------------------------ pictures, sounds, text
    def add_image(self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
                  dataformats: str = "CHW") -> None:
        """Log a picture.

        Args:
            tag: the name.
            img_tensor: float in 0 to 1, or uint8 in 0 to 255; of 1, 3 or 4 channels.
            dataformats: its dimensions: "CHW", "HWC", "HW".
            global_step, walltime: see above.
        """
        self._add(eventfiles.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
                   dataformats: str = "NCHW") -> None:
        """Log pictures side by side, eight in a row.

        Args:
            tag, img_tensor, global_step, walltime: as for `add_image`.
            dataformats: "NCHW", "NHWC", "NHW" and so on.
        """
        self._add(eventfiles.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_image_with_boxes(self, tag: str, img_tensor: Any, box_tensor: Any, global_step: int | None = None,
                             walltime: float | None = None, rescale: float = 1, dataformats: str = "CHW",
                             labels: Any = None) -> None:
        """Log a picture with boxes.

        Args:
            tag, img_tensor, global_step, walltime, dataformats: as for `add_image`.
            box_tensor: (N, 4) of x and y of two corners.
            rescale: how much larger the picture is shown.
            labels: a text, or one for each box.
        """
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != len(box_tensor):
            labels = None
        self._add(eventfiles.image_with_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels), global_step, walltime)

    def add_video(self, tag: str, vid_tensor: Any, global_step: int | None = None, fps: float = 4,
                  walltime: float | None = None) -> None:
        """Log films side by side, as an animated picture.

        Args:
            tag: the name.
            vid_tensor: (N, T, C, H, W), float in 0 to 1, or uint8 in 0 to 255.
            fps: pictures a second.
            global_step, walltime: see above.
        """
        self._add(eventfiles.video(tag, vid_tensor, fps), global_step, walltime)

    def add_figure(self, tag: str, figure: Any, global_step: int | None = None, close: bool = True,
                   walltime: float | None = None) -> None:
        """Log a figure of matplotlib's, or a list of them.

        Args:
            tag: the name.
            figure: the figure.
            close: close it then.
            global_step, walltime: see above.
        """
        figures = figure if isinstance(figure, list) else [figure]
        drawn = [_pixels(each, close) for each in figures]
        if isinstance(figure, list):
            self.add_images(tag, stack(drawn), global_step, walltime, "NHWC")
        else:
            self.add_image(tag, drawn[0], global_step, walltime, "HWC")

    def add_audio(self, tag: str, snd_tensor: Any, global_step: int | None = None, sample_rate: int = 44100,
                  walltime: float | None = None) -> None:
        """Log a sound.

        Args:
            tag: the name.
            snd_tensor: (1, L) or (L), in -1 to 1.
            sample_rate: in Hz.
            global_step, walltime: see above.
        """
        self._add(eventfiles.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None) -> None:
        """Log text, in Markdown.

        Args:
            tag: the name.
            text_string: the text.
            global_step, walltime: see above.
        """
        self._add(eventfiles.text(tag, text_string), global_step, walltime)

    # ------------------------------------------------------------ curves and points
    def add_pr_curve(self, tag: str, labels: Any, predictions: Any, global_step: int | None = None, num_thresholds: int = 127,
                     weights: Any = None, walltime: float | None = None) -> None:
        """Log precision and recall over thresholds.

        Args:
            tag: the name.
            labels: 0 and 1.
            predictions: how likely each is to be 1.
            num_thresholds: up to 127.
            weights: of each.
            global_step, walltime: see above.
        """
        self._add(eventfiles.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(self, tag: str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any,
                         false_negative_counts: Any, precision: Any, recall: Any, global_step: int | None = None,
                         num_thresholds: int = 127, weights: Any = None, walltime: float | None = None) -> None:
        """Log a curve that was counted elsewhere.

        Args:
            tag: the name.
            true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall: at each
                threshold.
            num_thresholds: how many.
            weights: accepted.
            global_step, walltime: see above.
        """
        rows = stack([host(each).double() for each in (true_positive_counts, false_positive_counts, true_negative_counts,
                                                       false_negative_counts, precision, recall)])
        self._add(eventfiles.pr_curve_raw(tag, rows, num_thresholds), global_step, walltime)

    def add_custom_scalars(self, layout: dict) -> None:
        """Say which scalars are shown in one chart.

        Args:
            layout: `{category: {title: ["Multiline", tags]}}`, or "Margin" with three tags: a value, and what is below and above.
        """
        self._add(eventfiles.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags: list, category: str = "default", title: str = "untitled") -> None:
        """A chart of several scalars.

        Args:
            tags: their names.
            category, title: where it stands, and what it is called.
        """
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: list, category: str = "default", title: str = "untitled") -> None:
        """A chart of a scalar between two others.

        Args:
            tags: the names of the value, and of what is below and above.
            category, title: where it stands, and what it is called.
        """
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_embedding(self, mat: Any, metadata: list | None = None, label_img: Any = None, global_step: int | None = None,
                      tag: str = "default", metadata_header: list | None = None) -> None:
        """Log points for the projector.

        Args:
            mat: (N, D), a point a row.
            metadata: a label each, or with `metadata_header` a list of them.
            label_img: (N, C, H, W), a picture each.
            global_step: see above.
            tag: the name.
            metadata_header: the names of the labels' columns.

        Raises:
            AssertionError: another number of labels than of points.
        """
        points = host(mat)
        name = f"{0 if global_step is None else global_step:05d}"
        inside = os.path.join(name, tag.replace("/", "_").replace("\\", "_"))
        folder = Path(self._get_file_writer().get_logdir()) / inside
        folder.mkdir(parents=True, exist_ok=True)
        info = proto("plugins.projector.projector_config_pb2").EmbeddingInfo()
        info.tensor_name, info.tensor_path = f"{tag}:{name}", os.path.join(inside, "tensors.tsv")
        if metadata is not None:
            if len(metadata) != points.shape[0]:
                raise AssertionError("#labels should equal with #data points")
            rows = metadata if not metadata_header else ["\t".join(map(str, row)) for row in [metadata_header, *metadata]]
            (folder / "metadata.tsv").write_text("\n".join(map(str, rows)) + "\n")
            info.metadata_path = os.path.join(inside, "metadata.tsv")
        if label_img is not None:
            pictures = host(label_img)
            if pictures.shape[0] != points.shape[0]:
                raise AssertionError("#images should equal with #data points")
            (folder / "sprite.png").write_bytes(eventfiles.sprite(pictures))
            info.sprite.image_path = os.path.join(inside, "sprite.png")
            info.sprite.single_image_dim.extend([pictures.shape[3], pictures.shape[2]])
        (folder / "tensors.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in points.tolist()))
        config = proto("plugins.projector.projector_config_pb2").ProjectorConfig(embeddings=[info])
        text_format = required("google.protobuf.text_format", "numtorch.utils.tensorboard", "tensorboard")
        self._projector.append(text_format.MessageToString(config))
        (Path(self.log_dir) / "projector_config.pbtxt").write_text("".join(self._projector))

    def add_mesh(self, tag: str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: dict | None = None,
                 global_step: int | None = None, walltime: float | None = None) -> None:
        """Log points in space, or a surface of triangles.

        Args:
            tag: the name.
            vertices: (B, N, 3).
            colors: (B, N, 3), of uint8 in 0 to 255 or float in 0 to 1.
            faces: (B, M, 3), the places of each triangle's corners.
            config_dict: names and options of ThreeJS's classes.
            global_step, walltime: see above.
        """
        self._add(eventfiles.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    # ------------------------------------------------------------ models
    def add_graph(self, model: Module, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """Log the calls that a model makes for an input, in `eval` mode: what a gradient flows through, with shapes, in the
        modules' names. `numtorch.draw(loss)` shows more of it.

        Args:
            model: the module.
            input_to_model: a tensor, a tuple of arguments, or a dict of them by name.
            verbose: print the nodes.
            use_strict_trace: accepted; nothing is traced.

        Raises:
            RuntimeError: no result is computed from parameters, or from an input of floating point.
        """
        made = modelgraph.graph(model, input_to_model, verbose)
        events = proto("compat.proto.event_pb2")
        self._get_file_writer().add_event(events.Event(graph_def=made.SerializeToString()))

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Not there: there is no reader of ONNX's files. `add_graph` writes a model's.

        Args:
            prototxt: as in PyTorch.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("add_onnx_graph: ONNX's files are not read; add_graph(model, input) writes a model's calls")

    # ------------------------------------------------------------ the files
    def flush(self) -> None:
        """Write what waits."""
        for writer in self.all_writers.values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close the files. Logging again opens new ones."""
        for writer in self.all_writers.values():
            writer.flush()
            writer.close()
        self.file_writer, self.all_writers = None, {}

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception) -> None:
        self.close()


def _pixels(figure, close):
    """What a figure looks like, (H, W, 3) of uint8."""
    import numpy as np
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    shown = host(np.array(canvas.buffer_rgba())[..., :3].copy())
    if close:
        pyplot.close(figure)
    return shown


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from ..alias import attribute
    return attribute(__name__, name)
