"""What the arguments of modules and criterions mean. Torch7 gave them the same names everywhere, so they are explained once: the
`Args` of a class's docstring are put together from here when it is defined, and so is the first line of its example."""
from __future__ import annotations

from inspect import cleandoc

ARGUMENTS = {
    "nInputPlane": "planes of the input.",
    "nOutputPlane": "planes of the output.",
    "kT": "how many frames a window takes in.",
    "kW": "a window's width.",
    "kH": "a window's height.",
    "dT": "how many frames apart windows begin.",
    "dW": "how far apart windows begin, sideways.",
    "dH": "how far apart windows begin, downwards.",
    "padT": "zeros before the first frame and after the last.",
    "padW": "zeros to the left and to the right.",
    "padH": "zeros above and below; None for as many as to the sides.",
    "adjT": "frames to add to the output, one of the sizes that its input may have had.",
    "adjW": "columns to add to the output, one of the sizes that its input may have had.",
    "adjH": "rows to add to the output, one of the sizes that its input may have had.",
    "dilationH": "how far apart the taps of a window are, downwards.",
    "dilationW": "how far apart the taps of a window are, sideways; None for as far as downwards.",
    "iW": "the input's width.",
    "iH": "the input's height.",
    "conMatrix": "(K, 2): the input plane and the output plane of each of K kernels, counted from 0.",
    "w": "the output's width.",
    "h": "the output's height.",
    "poolSizeW": "a window's width, at least 2.",
    "poolSizeH": "a window's height, at least 2.",
    "arg1": "the output's width, or, below 1, its ratio to the input's.",
    "arg2": "the output's height, or, below 1, its ratio to the input's.",
    "pnorm": "the order of the norm.",
    "poolingModule": "the pooling module whose places are used; it must have gone forward before.",
    "scale": "how many times larger, a whole number.",
    "pad_l": "columns to add on the left; fewer where negative.",
    "pad_r": "columns to add on the right; as many as on the left when None.",
    "pad_t": "rows to add above; as many as on the left when None.",
    "pad_b": "rows to add below; as many as on the left when None.",
    "pleft": "columns to add on the left.",
    "pright": "columns to add on the right; as many as on the left when None.",
    "ptop": "rows to add above; as many as on the left when None.",
    "pbottom": "rows to add below; as many as on the left when None.",
    "pfront": "frames to add before the first; as many as columns on the left when None.",
    "pback": "frames to add after the last; as many as columns on the left when None.",
    "inputFrameSize": "elements of an input frame.",
    "outputFrameSize": "elements of an output frame.",
    "inputSize": "elements of an input vector.",
    "outputSize": "elements of an output vector.",
    "inputSize1": "elements of a vector of the first input.",
    "inputSize2": "elements of a vector of the second input.",
    "inputsize": "elements of an input vector.",
    "outputsize": "elements of an output vector, of which a partition may be computed.",
    "bias": "whether something is added.",
    "nIndex": "how many rows the table has.",
    "nOutput": "elements of a row; of batch normalisation, features.",
    "paddingValue": "a row that receives no gradient; -1 for none.",
    "maxNorm": "rows of a larger norm are scaled down to it before they are used; None for any.",
    "normType": "the order of that norm; 2 when None.",
    "eps": "keeps the denominator away from 0.",
    "momentum": "the share of a batch in the running statistics.",
    "affine": "whether there are a weight and a bias.",
    "size": "how many planes take part, half of them on each side.",
    "alpha": "a factor of the formula: of the exponential, or of the sum of squares.",
    "beta": "a number of the formula: the power, or how sharp the bend is.",
    "k": "a constant of the formula.",
    "kernel": "weights of a window of odd extents, (H, W), or (H) for both directions; 9 by 9 ones when None.",
    "threshold": "where the input is at most this, the value stands instead.",
    "thresval": "what stands there instead; the threshold itself when None.",
    "value": "what stands elsewhere: below the threshold, or in the padding.",
    "p": "the order of the norm or power; of dropout, the share that is dropped.",
    "inplace": "write the result into the input.",
    "constant_scalar": "the number.",
    "min_value": "the smallest output.",
    "max_value": "the largest output.",
    "negval": "the slope below 0.",
    "lower": "the smallest slope below 0.",
    "upper": "the largest slope below 0.",
    "lambd": "the number of the formula.",
    "b": "nothing; Torch7 had it.",
    "scalar": "whether one number is added everywhere.",
    "dimension": "which dimension, counted from 0; negative from the end.",
    "dim": "which dimension, counted from 0.",
    "offset": "the first that is taken, counted from 0.",
    "length": "how many; negative for all but so many at the end, less one.",
    "index": "which one, counted from 0; of padding, how far from the end it is put.",
    "nf": "how many times.",
    "pad": "how many to add, at the end where positive and at the beginning where negative.",
    "trans": "whether the matrices are transposed first.",
    "transA": "whether the first matrix is transposed first.",
    "transB": "whether the second matrix is transposed first.",
    "intype": "the input's tensor type.",
    "outtype": "the output's tensor type.",
    "dontCast": "stay with these types when the module is converted.",
    "l1weight": "the factor of the penalty.",
    "provideOutput": "whether the output's gradient is added to that of the penalty.",
    "criterion": "which to compute.",
    "inputDimension": "the input's dimension that is shared among the modules.",
    "outputDimension": "the dimension in which their outputs are joined.",
    "sizeAverage": "give the mean instead of the sum.",
    "weights": "a factor for each class, (C); None for 1.",
    "weight": "a factor for each element of the target.",
    "margin": "how far apart things should be.",
    "repeatTarget": "whether all criterions are given the same target.",
    "nClasses": "how many classes.",
}


class Described:
    """Base of what is documented from the glossary: modules and criterions of this package."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if cls.__module__.startswith(__package__) and cls.__doc__:
            cls.__doc__ = _completed(cleandoc(cls.__doc__), getattr(cls.__init__, "__code__", None))


def _completed(text, code):
    head, mark, example = text.partition("Example:\n")
    names = code.co_varnames[1:code.co_argcount] if code else ()
    if names:
        head += "\n".join(["Args:", *[f"    {name}: {ARGUMENTS[name]}" for name in names], "", ""])
    imports = "    >>> import numtorch as torch\n    >>> from numtorch.legacy import nn\n"
    return head + mark + imports + example if mark else head
