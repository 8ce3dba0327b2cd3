"""What `SummaryWriter` puts into event files: TensorBoard's protocol buffers of scalars, histograms, images, sounds and tables."""
from __future__ import annotations

import io
import json
import struct
import wave
import zlib
from typing import Any

import numpy as np

from ..dtypes import float64, uint16
from ..extras import required
from ..ops.creation.data import as_tensor
from ..ops.pointwise.functions import clamp, where
from ..ops.reduce.extremes import max as max_of
from ..ops.reduce.extremes import min as min_of
from ..ops.reduce.reductions import sum as sum_of
from ..ops.shape.join import stack
from ..ops.sort.histograms import histogram as histogram_of
from ..ops.sort.scan import cumsum
from ..tensor import Tensor

DTYPES = {"float32": ("DT_FLOAT", "float_val"), "float64": ("DT_DOUBLE", "double_val"), "int32": ("DT_INT32", "int_val"),
          "int64": ("DT_INT64", "int64_val"), "int16": ("DT_INT16", "int_val"), "int8": ("DT_INT8", "int_val"),
          "uint8": ("DT_UINT8", "int_val"), "bool": ("DT_BOOL", "bool_val"), "float16": ("DT_HALF", "half_val"),
          "bfloat16": ("DT_BFLOAT16", "half_val")}


def proto(name: str) -> Any:
    """A module of TensorBoard's.

    Args:
        name: its path in `tensorboard`.
    """
    return required(f"tensorboard.{name}", "numtorch.utils.tensorboard", "tensorboard")


def _summary(**value):
    module = proto("compat.proto.summary_pb2")
    return module.Summary(value=[module.Summary.Value(**value)])


def _metadata(plugin, content=b""):
    kind = proto("compat.proto.summary_pb2").SummaryMetadata
    return kind(plugin_data=kind.PluginData(plugin_name=plugin, content=content))


def _tensor_proto(kind, field, values, shape):
    shapes = proto("compat.proto.tensor_shape_pb2").TensorShapeProto
    return proto("compat.proto.tensor_pb2").TensorProto(
        dtype=kind, tensor_shape=shapes(dim=[shapes.Dim(size=n) for n in shape]), **{field: values})


def host(value: Any) -> Tensor:
    """Anything that a program logs as a tensor without a graph, on the host: tensors, numbers, NumPy's arrays, lists."""
    result = value if isinstance(value, Tensor) else as_tensor(np.asarray(value))
    return result.detach().cpu()


# ---------------------------------------------------------------- numbers
def scalar(tag: str, value: Any, new_style: bool = False, double_precision: bool = False) -> Any:
    """A number. Raises AssertionError for more than one."""
    value = host(value)
    if value.numel() != 1:
        raise AssertionError(f"Tensor should contain one element (0 dimensions). Was given size: {value.numel()} and {value.ndim} "
                             f"dimensions.")
    number = float(value.item())
    if not new_style:
        return _summary(tag=tag, simple_value=number)
    tensors = proto("compat.proto.tensor_pb2")
    held = tensors.TensorProto(double_val=[number], dtype="DT_DOUBLE") if double_precision else \
        tensors.TensorProto(float_val=[number], dtype="DT_FLOAT")
    return _summary(tag=tag, tensor=held, metadata=_metadata("scalars"))


def tensor(tag: str, value: Tensor) -> Any:
    """All of a tensor. Raises ValueError for a dtype that TensorBoard has not."""
    result = host(value)
    if result.dtype.name not in DTYPES:
        raise ValueError(f"{tag} has unsupported tensor dtype {result.dtype}")
    kind, field = DTYPES[result.dtype.name]
    flat = result.reshape(-1)
    if field == "half_val":                              # 16 bits each, as an integer
        flat = flat.view(uint16).int()
    return _summary(tag=tag, tensor=_tensor_proto(kind, field, flat.tolist(), result.shape), metadata=_metadata("tensor"))


def _default_edges():
    """Edges that grow by a tenth from 1e-12 to 1e20 on both sides of 0, as TensorFlow has them."""
    edges, edge = [], 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [-e for e in reversed(edges)] + [0.0] + edges


def histogram(tag: str, values: Any, bins: Any = "tensorflow", max_bins: int | None = None) -> Any:
    """How values are distributed.

    Args:
        tag: the name.
        values: of any shape.
        bins: `"tensorflow"`, a number of bins, or their edges.
        max_bins: join neighbours until there are no more than that.

    Raises:
        ValueError: there are no values, or bins of another kind.
    """
    result = host(values).double().reshape(-1)
    if not result.numel():
        raise ValueError("The input has no element.")
    if isinstance(bins, str):
        if bins != "tensorflow":
            raise ValueError(f"add_histogram: expected bins to be 'tensorflow', a number or edges, got '{bins}'")
        bins = _default_edges()
    low, high = min_of(result).item(), max_of(result).item()
    if isinstance(bins, int):
        spread = (low, high) if low < high else (low - 0.5, high + 0.5)
        counted, edges = histogram_of(result, bins, range=spread)
    else:
        counted, edges = histogram_of(result, as_tensor([float(e) for e in bins], dtype=float64))
    counts, limits = counted.tolist(), edges.tolist()
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        counts = [sum(counts[i:i + step]) for i in range(0, len(counts), step)]
        limits = [*limits[:-1:step], limits[-1]]
    filled = [i for i, n in enumerate(counts) if n]
    first, last = (filled[0], filled[-1] + 1) if filled else (0, 1)
    # a bin is named by its upper limit: an empty one before the first says where that begins
    shown = counts[first - 1:last] if first else [0, *counts[:last]]
    return histogram_raw(tag, low, high, result.numel(), sum_of(result).item(), sum_of(result * result).item(),
                         limits[first:last + 1], shown)


def histogram_raw(tag: str, low: float, high: float, num: int, total: float, sum_squares: float, bucket_limits: Any,
                  bucket_counts: Any) -> Any:
    """A histogram that was counted elsewhere."""
    held = proto("compat.proto.summary_pb2").HistogramProto(
        min=low, max=high, num=num, sum=total, sum_squares=sum_squares, bucket_limit=[float(e) for e in bucket_limits],
        bucket=[float(n) for n in bucket_counts])
    return _summary(tag=tag, histo=held)


# ---------------------------------------------------------------- pictures and sounds
def _rows_of(value, dataformats):
    """An image, or several side by side, as (H, W, C) of uint8."""
    result = host(value)
    order = dataformats.upper()
    if result.ndim != len(order) or set(order) - set("NCHW") or len(set(order)) != len(order):
        raise AssertionError(f"size of input tensor and input format are different: {tuple(result.shape)} and {dataformats}")
    scale = 1.0 if result.dtype.name == "uint8" else 255.0
    if "C" not in order:
        result, order = result.unsqueeze(-1), order + "C"
    if "N" in order:
        result = _grid(result.permute(*[order.index(axis) for axis in "NHWC"]))
    else:
        result = result.permute(*[order.index(axis) for axis in "HWC"])
    if result.shape[-1] == 1:
        result = result.expand(*result.shape[:2], 3)
    return clamp(result.float() * scale, 0, 255).byte().contiguous()


def _grid(images, most=8):
    """Images (N, H, W, C) in rows of up to so many."""
    n, height, width, channels = images.shape
    columns = min(n, most)
    rows = -(-n // columns)
    grid = images.new_zeros(rows * height, columns * width, channels)
    for i in range(n):
        top, left = i // columns * height, i % columns * width
        grid[top:top + height, left:left + width] = images[i]
    return grid


def sprite(images: Tensor) -> bytes:
    """Pictures (N, C, H, W) in a square, as the projector wants them."""
    columns = next(n for n in range(1, images.shape[0] + 1) if n * n >= images.shape[0])
    grid = _grid(images.permute(0, 2, 3, 1), columns)
    return png(_rows_of(grid, "HWC"))


def png(pixels: Tensor) -> bytes:
    """A picture's file.

    Args:
        pixels: (H, W, 3) or (H, W, 4) of uint8.
    """
    height, width, channels = pixels.shape
    rows = pixels.numpy()
    packed = zlib.compress(b"".join(b"\0" + rows[i].tobytes() for i in range(height)))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def image(tag: str, value: Any, dataformats: str = "CHW") -> Any:
    """A picture: of float in 0 to 1, or of uint8 in 0 to 255.

    Raises:
        AssertionError: a tensor of other dimensions than `dataformats` says.
    """
    pixels = _rows_of(value, dataformats)
    height, width, channels = pixels.shape
    held = proto("compat.proto.summary_pb2").Summary.Image(height=height, width=width, colorspace=channels,
                                                           encoded_image_string=png(pixels))
    return _summary(tag=tag, image=held)


def image_with_boxes(tag: str, value: Any, boxes: Any, rescale: float = 1, dataformats: str = "CHW",
                       labels: list | None = None) -> Any:
    """A picture with red boxes (N, 4) of x and y of two corners, and a label at each."""
    pixels = _rows_of(value, dataformats)
    height, width, channels = pixels.shape
    drawn = _pillow("Image").fromarray(pixels.numpy())
    pen = _pillow("ImageDraw").Draw(drawn)
    font = _pillow("ImageFont").load_default()
    for i, (left, top, right, bottom) in enumerate(host(boxes).tolist()):
        pen.line([(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], width=2, fill="Red")
        if labels:
            first, above, last, below = font.getbbox(labels[i])
            margin = -(-(below - above) // 20)           # a twentieth, rounded up
            pen.rectangle([(left, bottom - (below - above) - 2 * margin), (left + last - first, bottom)], fill="Red")
            pen.text((left + margin, bottom - (below - above) - margin), labels[i], fill="black", font=font)
    file = io.BytesIO()
    drawn.resize((int(width * rescale), int(height * rescale)), _pillow("Image").Resampling.LANCZOS).save(file, format="PNG")
    held = proto("compat.proto.summary_pb2").Summary.Image(height=height, width=width, colorspace=channels,
                                                           encoded_image_string=file.getvalue())
    return _summary(tag=tag, image=held)


def _pillow(module):
    return required(f"PIL.{module}", "numtorch.utils.tensorboard", "tensorboard")


def video(tag: str, value: Any, fps: float = 4) -> Any:
    """Films (N, T, C, H, W) side by side, as an animated picture: of float in 0 to 1, or of uint8 in 0 to 255.

    Raises:
        AssertionError: a tensor of other dimensions.
    """
    films = host(value)
    if films.ndim != 5:
        raise AssertionError(f"add_video: expected films (N, T, C, H, W), got {tuple(films.shape)}")
    columns = 1 << (films.shape[0] - 1).bit_length() - ((films.shape[0].bit_length() - 1) // 2)
    frames = [_rows_of(_grid(frame, columns), "HWC") for frame in films.permute(1, 0, 3, 4, 2)]
    first, *others = [_pillow("Image").fromarray(frame.numpy()) for frame in frames]
    file = io.BytesIO()
    first.save(file, format="GIF", save_all=True, append_images=others, duration=1000 / fps, loop=0)
    height, width, channels = frames[0].shape
    held = proto("compat.proto.summary_pb2").Summary.Image(height=height, width=width, colorspace=channels,
                                                           encoded_image_string=file.getvalue())
    return _summary(tag=tag, image=held)


def audio(tag: str, value: Any, sample_rate: int = 44100) -> Any:
    """A sound in -1 to 1, of one channel."""
    samples = clamp(host(value).double().reshape(-1), -1, 1)
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(sample_rate)
        written.writeframes((samples * 32767.0).short().numpy().tobytes())
    held = proto("compat.proto.summary_pb2").Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=samples.numel(), encoded_audio_string=file.getvalue(),
        content_type="audio/wav")
    return _summary(tag=tag, audio=held)


# ---------------------------------------------------------------- what plugins show
def text(tag: str, value: str) -> Any:
    """Markdown."""
    content = proto("plugins.text.plugin_data_pb2").TextPluginData(version=0).SerializeToString()
    held = _tensor_proto("DT_STRING", "string_val", [value.encode()], (1,))
    return _summary(tag=tag + "/text_summary", tensor=held, metadata=_metadata("text", content))


def pr_curve_raw(tag: str, rows: Any, num_thresholds: int = 127) -> Any:
    """A curve of precision and recall: (6, thresholds) of true and false positives and negatives, precision and recall."""
    table, count = host(rows).double(), min(num_thresholds, 127)
    kind = proto("plugins.pr_curve.plugin_data_pb2").PrCurvePluginData
    content = kind(version=0, num_thresholds=count).SerializeToString()
    held = _tensor_proto("DT_FLOAT", "float_val", table.reshape(-1).tolist(), table.shape)
    return _summary(tag=tag, tensor=held, metadata=_metadata("pr_curves", content))


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Any:
    """The same, of labels 0 and 1 and predictions in 0 to 1."""
    count = min(num_thresholds, 127)
    positive = host(labels).double().reshape(-1)
    weight = 1.0 if weights is None else host(weights).double().reshape(-1)
    place = (host(predictions).double().reshape(-1) * (count - 1)).floor().long().clamp(0, count - 1)
    empty = positive.new_zeros(count)
    right, wrong = empty.index_add(0, place, positive * weight), empty.index_add(0, place, (1.0 - positive) * weight)
    tp, fp = (cumsum(each.flip(0), 0).flip(0) for each in (right, wrong))
    tn, fn = fp[0] - fp, tp[0] - tp
    least = 1e-7
    precision, recall = (tp / where(total < least, least, total) for total in (tp + fp, tp + fn))
    return pr_curve_raw(tag, stack([tp, fp, tn, fn, precision, recall]), count)


def mesh(tag: str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: dict | None = None) -> Any:
    """Points (B, N, 3) in space, or a surface of triangles between them."""
    metadata, kind = proto("plugins.mesh.metadata"), proto("plugins.mesh.plugin_data_pb2").MeshPluginData
    parts = [(host(each), part) for each, part in ((vertices, kind.VERTEX), (faces, kind.FACE), (colors, kind.COLOR))
             if each is not None]
    components = metadata.get_components_bitmask([part for _, part in parts])
    options = json.dumps(config_dict or {}, sort_keys=True)
    summaries = proto("compat.proto.summary_pb2").Summary
    return summaries(value=[summaries.Value(
        tag=metadata.get_instance_name(tag, part),
        tensor=_tensor_proto("DT_FLOAT", "float_val", each.reshape(-1).tolist(), each.shape),
        metadata=metadata.create_summary_metadata(tag, None, part, components, list(each.shape), None, json_config=options))
        for each, part in parts])


def custom_scalars(layout: dict) -> Any:
    """Charts of several scalars: `{category: {title: ["Multiline" or "Margin", tags]}}`."""
    made = proto("plugins.custom_scalar.layout_pb2")
    categories = []
    for name, charts in layout.items():
        shown = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"add_custom_scalars: a margin chart has three tags, got {len(tags)}")
                series = [made.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])]
                shown.append(made.Chart(title=title, margin=made.MarginChartContent(series=series)))
            else:
                shown.append(made.Chart(title=title, multiline=made.MultilineChartContent(tag=list(tags))))
        categories.append(made.Category(title=name, chart=shown))
    content = made.Layout(category=categories).SerializeToString()
    held = _tensor_proto("DT_STRING", "string_val", [content], ())
    return _summary(tag="custom_scalars__config__", tensor=held, metadata=_metadata("custom_scalars"))


def hparams(given: dict, metrics: dict, domain: dict | None = None) -> list:
    """A run's hyperparameters and the names of what it is judged by: how the experiment looks, how the run starts and ends.

    Raises:
        TypeError: no dicts.
        ValueError: a value that is no number, text, bool or tensor of one number.
    """
    if not isinstance(given, dict) or not isinstance(metrics, dict):
        raise TypeError("parameter: hparam_dict and metric_dict should be dictionaries, nothing logged.")
    api, data, names = (proto(f"plugins.hparams.{m}") for m in ("api_pb2", "plugin_data_pb2", "metadata"))
    values = required("google.protobuf.struct_pb2", "numtorch.utils.tensorboard", "tensorboard")
    started, infos = data.SessionStartInfo(), []
    for name, value in given.items():
        if value is None:
            continue
        value = value.item() if isinstance(value, Tensor) else value
        field, kind = {bool: ("bool_value", "BOOL"), str: ("string_value", "STRING")}.get(type(value), ("number_value", "FLOAT64"))
        if field == "number_value" and not isinstance(value, (int, float)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        setattr(started.hparams[name], field, value)
        allowed = (domain or {}).get(name)
        if allowed is not None and not (isinstance(allowed, list) and all(isinstance(v, type(given[name])) for v in allowed)):
            raise TypeError(f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}].")
        listed = None if allowed is None else values.ListValue(values=[values.Value(**{field: v}) for v in allowed])
        infos.append(api.HParamInfo(name=name, type=api.DataType.Value(f"DATA_TYPE_{kind}"), domain_discrete=listed))
    experiment = api.Experiment(hparam_infos=infos, metric_infos=[api.MetricInfo(name=api.MetricName(tag=m)) for m in metrics])
    ended = data.SessionEndInfo(status=api.Status.Value("STATUS_SUCCESS"))
    parts = ((names.EXPERIMENT_TAG, dict(experiment=experiment)), (names.SESSION_START_INFO_TAG, dict(session_start_info=started)),
             (names.SESSION_END_INFO_TAG, dict(session_end_info=ended)))
    return [_summary(tag=tag, metadata=_metadata(names.PLUGIN_NAME, data.HParamsPluginData(
        version=names.PLUGIN_DATA_VERSION, **part).SerializeToString())) for tag, part in parts]
