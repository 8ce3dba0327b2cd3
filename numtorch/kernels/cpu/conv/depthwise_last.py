"""Depthwise convolution of images whose channels are last, as they lie, and its gradients.

A vector is one place of as many channels as it has lanes. Seven places of a row stay in registers while every tap multiplies them
by its own weights; of the gradient for the weight, up to twelve taps, for seven places. Places whose rows of taps are not all
inside are *kinds* with fewer taps, and so are those that a stride of the gradient for the input leaves others: nothing is
multiplied by zero, nor copied, and memory is read in order. Only of large kernels, which would have many kinds, bands of lines are
copied between zeros first.

float32 and float64, one and two dimensions. The planners here take a `Geometry`; `channels_last.py` chooses.
"""
from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
from numpy import float32, inf, int64

from ... import threads
from ...intrinsics import as_pointer, offset
from ...program import sequence
from .axes import forward_axis, gradient_axis
from .channels import RUN, from_lanes, multiply_channels, to_lanes
from .image import aligned, clear, copy_run, copy_vector, edges, index_table, kernel_for, micro, tile_names

T = float32                                              # these are bound by `tile_names`
WIDTH = 16

# Of which a band is copied: 8 x 768 x 7 x 7 by 7 x 7 takes half the time so, and its weight's gradient too; by 3 x 3 everything is
# slower (16 x 256 x 28 x 28 in steps of 2 takes 1.65 times as long).
LARGE_KERNEL = 25
BAND_BYTES = 256 << 10                                   # of lines, in the second-level cache
MOST_TAPS = 12                                           # whose sums stay in registers
SPLIT_WORK = 100_000                                     # multiply-adds above which two threads win


def _multiply_taps(longest, width, taps, places, image, offsets, step, factors, factors_row, sums):
    """sums[t * width + i] += sum over p of image[offsets[t] + p * step + i] * factors[p * factors_row + i] for t < taps and
    i < width.

    longest and width are literals; taps is at most `longest`, places at least 1.
    """
    for t in range(taps):
        for i in range(width):
            for p in range(places):
                sums[t * width + i] += image[offsets[t] + p * step + i] * factors[p * factors_row + i]


multiply_taps = micro(_multiply_taps, "multiply_taps")

# The descriptor. Bands are of so many lines of the output; of each the table has the first line of the source that its places see,
# and how many. PITCH is that of a copied band, whose lines have BEFORE zeros first, or 0.
FIRST, END, BANDS, HIGH, CHANNELS, TAPS, X_LINES, X_LINE, OUT_LINES, OUT_LINE, KINDS, KIND_TABLE, BAND_TABLE = range(13)
LINE_TABLE, OFFSETS, PITCH, BEFORE, X_PLACE, SCRATCH, SPACE = range(13, 20)
ORDER, PACKED_TAPS, PACKED, CHUNK, HAS_BIAS, RELU_FLAG = range(20, 26)
# A kind's words: its first place in a line, how many, how far apart; the column of the source under the first tap of its class, and
# by how much it differs from place to place; where its taps start, how many are in a row of the kernel.
K_PLACE, K_PLACES, K_APART, K_COLUMN, K_STEP, K_TAP, K_TAPS, K_WORDS = range(8)


def _pack_taps(weight, bias, packed, descriptor):
    """For every vector of channels the weights in the order of the kinds, and behind them what is added to. The last vector
    overlaps the one before."""
    channels, taps = descriptor[CHANNELS], descriptor[TAPS]
    order, count = as_pointer(descriptor[ORDER], descriptor), descriptor[PACKED_TAPS]
    transposed = offset(packed, (channels + WIDTH) * (count + 1))
    for channel in range(0, channels, WIDTH):
        at, to = min(channel, channels - WIDTH), offset(packed, channel * (count + 1))
        to_lanes(offset(weight, at * taps), taps, int64(WIDTH), taps, (channels - at) * taps, transposed)
        for k in range(count):
            copy_vector(WIDTH, offset(transposed, order[k] * WIDTH), offset(to, k * WIDTH))
        for lane in range(WIDTH):
            to[count * WIDTH + lane] = bias[at + lane] if descriptor[HAS_BIAS] != 0 else T(0)


def _band_of_image(x, number, band, copied, descriptor):
    """What a band of image `number` sees of it, and which line that begins with: all of it, or its lines copied between zeros."""
    columns, channels, place = descriptor[X_LINE], descriptor[CHANNELS], descriptor[X_PLACE]
    image = offset(x, number * descriptor[X_LINES] * columns * channels)
    if descriptor[PITCH] == 0:
        return image, int64(0)
    bands = as_pointer(descriptor[BAND_TABLE], descriptor)
    first = bands[band * 2]
    for y in range(bands[band * 2 + 1]):
        line = offset(image, (first + y) * columns * channels)
        to = offset(copied, (y * descriptor[PITCH] + descriptor[BEFORE]) * place)
        for i in range(columns):
            copy_run(offset(line, i * channels), offset(to, i * place), channels)
    return copied, first


def correlate_last(x, weight, bias, out, workspace, descriptor):
    """Bands first..end of all images. Of each line of places the table has the source's line under the first tap of its class, the
    first row of taps that is inside, and how many are."""
    channels, columns, pitch = descriptor[CHANNELS], descriptor[OUT_LINE], descriptor[X_LINE]
    lines, kinds = as_pointer(descriptor[LINE_TABLE], descriptor), as_pointer(descriptor[KIND_TABLE], descriptor)
    offsets = as_pointer(descriptor[OFFSETS], descriptor)
    copied, packed = offset(workspace, descriptor[SCRATCH]), offset(workspace, descriptor[SCRATCH] + descriptor[PACKED])
    lowest, packed_step = T(0) if descriptor[RELU_FLAG] != 0 else T(-inf), descriptor[PACKED_TAPS] + 1
    _pack_taps(weight, bias, packed, descriptor)
    if descriptor[PITCH] != 0:
        pitch = descriptor[PITCH]
        clear(copied, descriptor[SPACE])
    for unit in range(descriptor[FIRST], descriptor[END]):
        number, band = unit // descriptor[BANDS], unit % descriptor[BANDS]
        source, above = _band_of_image(x, number, band, copied, descriptor)
        for chunk in range(0, channels, descriptor[CHUNK]):
            end = min(chunk + descriptor[CHUNK], channels)
            for y in range(band * descriptor[HIGH], min((band + 1) * descriptor[HIGH], descriptor[OUT_LINES])):
                line, to = offset(lines, y * 3), offset(out, (number * descriptor[OUT_LINES] + y) * columns * channels)
                for k in range(descriptor[KINDS]):
                    kind = offset(kinds, k * K_WORDS)
                    depth, tap = line[2] * kind[K_TAPS], kind[K_TAP] + line[1] * kind[K_TAPS]
                    step, apart = kind[K_STEP] * descriptor[X_PLACE], kind[K_APART] * channels
                    begin = offset(source, ((line[0] - above) * pitch + kind[K_COLUMN]) * descriptor[X_PLACE])
                    places = offset(to, kind[K_PLACE] * channels)
                    for place in range(0, kind[K_PLACES], RUN):
                        run = min(kind[K_PLACES] - place, int64(RUN))
                        for channel in range(chunk, end, WIDTH):
                            at, weights = min(channel, channels - WIDTH), offset(packed, channel * packed_step)
                            start, there = offset(weights, descriptor[PACKED_TAPS] * WIDTH), offset(places, place * apart + at)
                            if depth > 0:
                                multiply_channels(RUN, WIDTH, run, step, depth, offset(begin, place * step + at),
                                                  offset(offsets, tap), offset(weights, tap * WIDTH), start, int64(0),
                                                  lowest, there, apart)
                            else:
                                for i in range(run * WIDTH):
                                    value = start[i % WIDTH]
                                    there[i // WIDTH * apart + i % WIDTH] = lowest if value < lowest else value     # NaN stays


def total_last(grad_out, x, workspace, descriptor):
    """The products' sums (vector of channels, tap of a kind, lane) over bands first..end of all images; the tables are those of
    `correlate_last`."""
    channels, columns, pitch = descriptor[CHANNELS], descriptor[OUT_LINE], descriptor[X_LINE]
    lines, kinds = as_pointer(descriptor[LINE_TABLE], descriptor), as_pointer(descriptor[KIND_TABLE], descriptor)
    offsets = as_pointer(descriptor[OFFSETS], descriptor)
    copied, totals = offset(workspace, descriptor[SCRATCH]), offset(workspace, descriptor[SCRATCH] + descriptor[SPACE])
    clear(copied, descriptor[SPACE] + (channels + WIDTH) * descriptor[PACKED_TAPS])
    if descriptor[PITCH] != 0:
        pitch = descriptor[PITCH]
    for unit in range(descriptor[FIRST], descriptor[END]):
        number, band = unit // descriptor[BANDS], unit % descriptor[BANDS]
        source, above = _band_of_image(x, number, band, copied, descriptor)
        for y in range(band * descriptor[HIGH], min((band + 1) * descriptor[HIGH], descriptor[OUT_LINES])):
            line, grads = offset(lines, y * 3), offset(grad_out, (number * descriptor[OUT_LINES] + y) * columns * channels)
            for k in range(descriptor[KINDS]):
                kind = offset(kinds, k * K_WORDS)
                taps, tap, step = line[2] * kind[K_TAPS], kind[K_TAP] + line[1] * kind[K_TAPS], kind[K_STEP] * descriptor[X_PLACE]
                begin = offset(source, ((line[0] - above) * pitch + kind[K_COLUMN]) * descriptor[X_PLACE])
                factors = offset(grads, kind[K_PLACE] * channels)
                share = (taps + MOST_TAPS - 1) // MOST_TAPS
                share = (taps + share - 1) // max(share, 1)
                for place in range(0, kind[K_PLACES], RUN):      # of 7: memory is read in order; of 14 it takes 1.2 of the time
                    run = min(kind[K_PLACES] - place, int64(RUN))
                    for channel in range(0, channels, WIDTH):
                        at, sums = min(channel, channels - WIDTH), offset(totals, channel * descriptor[PACKED_TAPS] + tap * WIDTH)
                        for t in range(0, taps, share):
                            multiply_taps(MOST_TAPS, WIDTH, min(taps - t, share), run, offset(begin, place * step + at),
                                          offset(offsets, tap + t), step, offset(factors, place * channels + at), channels,
                                          offset(sums, t * WIDTH))


# The descriptor of what adds up the parts' totals.
A_CHANNELS, A_TAPS, A_PACKED_TAPS, A_PARTS, A_PART, A_ORDER = range(6)


def add_last(totals, sums, grad_weight, descriptor):
    """What parts and kinds have for the same tap."""
    channels, taps, order = descriptor[A_CHANNELS], descriptor[A_TAPS], as_pointer(descriptor[A_ORDER], descriptor)
    for channel in range(0, channels, WIDTH):
        clear(sums, taps * WIDTH)
        for part in range(descriptor[A_PARTS]):
            own = offset(totals, part * descriptor[A_PART] + channel * descriptor[A_PACKED_TAPS])
            for k in range(descriptor[A_PACKED_TAPS]):
                for lane in range(WIDTH):
                    sums[order[k] * WIDTH + lane] += own[k * WIDTH + lane]
        from_lanes(sums, int64(WIDTH), taps, offset(grad_weight, min(channel, channels - WIDTH) * taps))


# ---------------------------------------------------------------- planning
def suits(dtype, shape):
    """Whether every channel has one feature, of planes and not of volumes, and there are enough for a vector."""
    return shape.groups == shape.channels == shape.features >= tile_names(dtype)["WIDTH"] \
        and shape.size[0] == shape.kernel[0] == 1 and not shape.padding[0]


def _padded(axis):
    """The axis of copied lines, and how many zeros are before them: every tap is inside."""
    ends = [source + place * axis.step + axis.shifts[tap] for first, number, source in axis.classes
            for tap in range(first, first + number) for place in (0, axis.out // len(axis.classes))]
    before = max(0, -min(ends, default=0))
    return axis._replace(size=before + max(max(ends, default=0) + 1, axis.size),
                         classes=[(first, number, source + before) for first, number, source in axis.classes]), before


def _kinds(axis):
    """Places of a class that find the same taps inside: (first place, how many, how far apart, the column of the source under the
    first tap of the class, step, the first tap, how many)."""
    lines, apart, kinds = axis.lines(), len(axis.classes), []
    for remainder in range(apart):
        for (tap, taps), places in groupby(range(remainder, axis.out, apart), lambda place: lines[place][1:]):
            first, *others = places
            kinds.append((first, 1 + len(others), apart, lines[first][0], axis.step, tap, taps))
    return kinds


class _Bands:
    """What both kernels know of the source: the bands, and whether their lines are copied. `columns` and `rows` are the axes."""

    def __init__(self, dtype, shape, rows, columns):
        self.dtype, self.shape, self.rows, self.parts = dtype, shape, rows, 1
        self.kinds, self.columns, self.pitch, self.before = _kinds(columns), columns, 0, 0
        width, self.place = tile_names(dtype)["WIDTH"], shape.channels
        if shape.taps >= LARGE_KERNEL and shape.stride == (1, 1, 1):
            self.columns, self.before = _padded(columns)
            self.kinds, self.pitch = _kinds(self.columns), self.columns.size
            self.place = (-(-shape.channels // width) | 1) * width       # or places would share a few sets of the cache
        self.line = self.columns.size * self.place
        if shape.multiply_adds > SPLIT_WORK:
            self.parts = threads.get_num_threads()
        size = np.dtype(dtype).itemsize
        self.high = max(1, min(rows.out, BAND_BYTES // (self.line * size * rows.step), -(-rows.out * shape.images // self.parts)))
        self.table = [rows.seen(first, self.high) for first in range(0, rows.out, self.high)]
        self.units = shape.images * len(self.table)
        self.parts = min(self.parts, self.units)
        self.space = aligned(max(count for _, count in self.table) * self.line) if self.pitch else 0

    def tables(self):
        """Taps of the kinds in the order of the weight's; the kinds, the lines, and where taps find the first place of a kind."""
        order, offsets, kinds = [], [], []
        for *words, first, taps in self.kinds:
            kinds.append((*words, len(order), taps))
            for tap_y, down in zip(self.rows.taps, self.rows.shifts):
                for tap in range(first, first + taps):
                    order.append(tap_y * self.shape.kernel[2] + self.columns.taps[tap])
                    offsets.append((down * self.columns.size + self.columns.shifts[tap]) * self.place)
        return [index_table(values) for values in (order, kinds, self.table, self.rows.lines(), offsets)]

    def prepare(self, kernel, source, out, chunk, flags):
        """The launch of all parts; how far apart their memory is, and the table that `add_last` needs."""
        tables, width, channels = self.tables(), tile_names(self.dtype)["WIDTH"], self.shape.channels
        order, addresses = tables[0], [table.ctypes.data for table in tables]
        step = aligned(self.space + (channels + width) * (len(order) + 1) + (self.shape.taps + 2 * width) * width)
        rows = [(first, end, len(self.table), self.high, channels, self.shape.taps, *source, *out, len(self.kinds),
                 *addresses[1:], self.pitch, self.before, self.place, part * step, self.space, addresses[0], len(order), self.space,
                 chunk, *flags) for part, (first, end) in enumerate(pairwise(edges(self.units, self.parts)))]
        prepared = threads.prepare(kernel_for(kernel, self.dtype), rows, release_lock=self.parts > 1)
        return prepared.with_workspace(self.parts * step * np.dtype(self.dtype).itemsize, tables), step, order


def _plan_correlation(dtype, shape, source, out, rows, columns, bias, relu):
    bands, width = _Bands(dtype, shape, rows, columns), tile_names(dtype)["WIDTH"]
    # Whose window of lines and weights fits the first-level cache, where enough taps find them there: float32 8 x 384 x 14 x 14 by
    # 7 x 7 takes 0.8 of the time of all channels at once, 8 x 672 x 14 x 14 by 5 x 5 in steps of 2 too. Else channels follow one
    # another in memory: in chunks, 16 x 256 x 28 x 28 by 3 x 3 in steps of 2 takes 1.3 times as long.
    chunk = shape.channels
    if shape.taps >= LARGE_KERNEL and len(columns.classes) == 1:
        chunk = (2 if bands.pitch else 4) * width
    return bands.prepare(correlate_last, source, out, chunk, (int(bias), int(relu)))[0]


def _axes(kind, shape):
    """Down and across: of the forward pass, or of the gradient for the input."""
    return [kind(*(getattr(shape, name)[axis] for name in ("size", "kernel", "stride", "padding", "dilation", "out")))
            for axis in (1, 2)]


def plan_forward(dtype, shape, bias, relu):
    return _plan_correlation(dtype, shape, shape.size[1:], shape.out[1:], *_axes(forward_axis, shape), bias, relu)


def plan_input_grad(dtype, shape, bias=False):
    return _plan_correlation(dtype, shape, shape.out[1:], shape.size[1:], *_axes(gradient_axis, shape), bias, False)


def plan_weight_grad(dtype, shape):
    bands, item = _Bands(dtype, shape, *_axes(forward_axis, shape)), np.dtype(dtype).itemsize
    total, step, order = bands.prepare(total_last, shape.size[1:], shape.out[1:], shape.channels, (0, 0))
    add = threads.prepare(kernel_for(add_last, dtype), [(shape.channels, shape.taps, len(order), bands.parts, step,
                                                         order.ctypes.data)])
    return sequence("grad_out, x, grad_weight, workspace",
                    [(total, "grad_out, x, workspace"),
                     (add, f"workspace + {bands.space * item}, workspace + {total.workspace}, grad_weight")],
                    total.workspace + (shape.taps + tile_names(dtype)["WIDTH"]) * tile_names(dtype)["WIDTH"] * item)
