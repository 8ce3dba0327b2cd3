"""Random calls of layers, whose values and first gradients must be PyTorch's, and which must be refused where PyTorch refuses them.

    python -m tests.layercalls --seconds 60 --seed 1             # every difference as a line that runs it again
    python -m tests.layercalls --call "F.max_pool1d(x(1, (1, 2, 5)), 2)"

A call is a line of Python (`layerdraws.py` draws them), run by a process of numtorch and one of PyTorch, so that a bad memory access
ends a process that is started again, and is known by the call and the library. What differs on purpose is in `SETTLED`.
"""
from __future__ import annotations

import argparse
import ctypes
import importlib.util
import multiprocessing
import re
import sys
import time
import warnings

import numpy as np

if __package__:
    from .layerdraws import ODD_SHARE, draw
else:                                                    # a sibling, as pytest imports it
    from layerdraws import ODD_SHARE, draw

CLASSES = "RuntimeError", "ValueError", "IndexError", "TypeError", "NotImplementedError"         # PyTorch's others are oversights
M_PERTURB = -6                                           # of malloc.h
PATIENCE = 180                                           # seconds for a call: some compile a dozen kernels
TOLERANCE = {"float64": 1e-7, "float32": 1e-3, "float16": 4e-2, "bfloat16": 2e-1, "complex128": 1e-7, "complex64": 1e-3}


# ---------------------------------------------------------------- what a call says
class Names(dict):
    """What the names in a call mean, in one library: x, i and b make tensors of floats, integers and truth values from a seed;
    `put` assigns to a copy, and `run` calls a module with parameters from a seed."""

    def __init__(self, torch):
        super().__init__(torch=torch, nn=torch.nn, F=torch.nn.functional, x=self.x, i=self.i, b=self.b, put=self.put, run=self.run,
                         at=self)
        self.torch, self.leaves = torch, []

    def __getitem__(self, key):
        return super().__getitem__(key) if type(key) is str else key     # at[1:, None] is what stands between brackets

    def leaf(self, values, dtype, grad):
        leaf = self.torch.tensor(values).to(getattr(self.torch, dtype)).requires_grad_(grad)
        if grad:
            self.leaves.append(leaf)
        return leaf

    def x(self, seed, shape, dtype="float32", form="plain", low=None, high=None, grad=True):
        rng, torch = np.random.default_rng(seed), self.torch
        size = {"transposed": shape[::-1], "gapped": (*shape[:-1], 2 * shape[-1] + 1) if shape else (), "offset": (int(np.prod(shape)) + 3,),
                "expanded": (1, *shape[1:]) if shape else ()}.get(form, shape)
        values = rng.standard_normal(size) if low is None else rng.uniform(low, high, size)
        leaf = self.leaf(values, dtype, grad)
        if form == "channels_last" and len(shape) in (4, 5):
            return leaf.contiguous(memory_format=torch.channels_last if len(shape) == 4 else torch.channels_last_3d)
        if not shape:
            return leaf[3] if form == "offset" else leaf
        return {"transposed": lambda: leaf.permute(*range(len(shape) - 1, -1, -1)), "gapped": lambda: leaf[..., 1::2],
                "offset": lambda: leaf[3:].view(shape), "expanded": lambda: leaf.expand(shape)}.get(form, lambda: leaf)()

    def i(self, seed, shape, low, high, dtype="int64"):
        return self.torch.tensor(np.random.default_rng(seed).integers(low, high, shape)).to(getattr(self.torch, dtype))

    def b(self, seed, shape):
        return self.torch.tensor(np.random.default_rng(seed).random(shape) < 0.6)

    def put(self, x, index, value):
        x = x.clone()
        x[index] = value
        return x

    def run(self, module, *inputs, **options):
        rng = np.random.default_rng(0)
        with self.torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(self.torch.tensor(rng.standard_normal(tuple(parameter.shape))))
        first = next(iter(inputs[0])) if isinstance(inputs[0], tuple) else inputs[0]
        module = module.to(first.dtype)
        self.leaves += list(module.parameters())
        return module(*inputs, **options)


def tensors_of(torch, value):
    """The tensors in a result, or in tuples and lists in it; numbers too."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors_of(torch, v)]
    return [] if value is None else [torch.tensor(value)]


def as_array(tensor):
    """(dtype, NumPy array in double precision)."""
    tensor = tensor.detach()
    name = str(tensor.dtype).removeprefix("torch.").removeprefix("numtorch.")
    return name, np.array(tensor.double().tolist()).reshape(tuple(tensor.shape)) if tensor.is_floating_point() else \
        np.array(tensor.tolist()).reshape(tuple(tensor.shape))


def outcome(torch, call):
    """(results, gradients) as arrays, or (exception's class, its message)."""
    names = Names(torch)
    try:
        results = tensors_of(torch, eval(call, {}, names))
    except Exception as error:
        return type(error).__name__, str(error)
    arrays = [as_array(t) for t in results]
    tracked = [t for t in results if t.requires_grad]
    if not tracked or not names.leaves:
        return arrays, []
    try:
        weights = [torch.tensor(np.cos(np.arange(t.numel())).reshape(tuple(t.shape))).to(t.dtype) for t in tracked]
        gradients = torch.autograd.grad(tracked, names.leaves, weights, allow_unused=True)
    except Exception as error:
        return arrays, (type(error).__name__, str(error))
    return arrays, [None if g is None else as_array(g) for g in gradients]


# ---------------------------------------------------------------- processes
def serve(library, threads, pipe):
    """Answer calls until the pipe is closed."""
    warnings.simplefilter("ignore")
    if sys.platform.startswith("linux"):                 # fresh memory is filled with a pattern: what is never written shows
        ctypes.CDLL(None).mallopt(M_PERTURB, 165)
    torch = importlib.import_module("numtorch" if library == "numtorch" else "torch")
    torch.set_num_threads(threads)
    while True:
        try:
            call = pipe.recv()
        except EOFError:
            return
        pipe.send(outcome(torch, call))


class Library:
    """A process that runs calls, started again when it is killed."""

    def __init__(self, name, threads=1):
        self.name, self.threads, self.process = name, threads, None

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(self.name, self.threads, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def run(self, call):
        """The outcome, or a sentence about how the process ended."""
        if self.process is None:
            self.start()
        try:
            self.pipe.send(call)
            if self.pipe.poll(PATIENCE):
                return self.pipe.recv()
            self.process.kill()
            self.process.join()
            end = f"no answer within {PATIENCE} s"
        except (EOFError, OSError):
            self.process.join()
            end = f"ended the process with exit code {self.process.exitcode}"
        self.process = None
        return end

    def close(self):
        if self.process is not None:
            self.pipe.close()
            self.process.join()


# ---------------------------------------------------------------- comparing
SETTLED = [                                              # (pattern of the call, pattern of the difference, why)
    ("", "PyTorch: .*not differentiable with respect to argument|PyTorch: .*derivative for '.*' is not implemented",
     "more can be differentiated"),
    ("pad", "Padding size .* is not supported|Only 2D, 3D, 4D, 5D padding", "any number of dimensions is padded in every mode"),
    ("'circular'", "refused: RuntimeError: Padding size should be less",
     "where negative widths leave less than goes round, PyTorch reads what it has not written"),
    ("shuffle", r"backward: passed.*invalid gradient|Unsupported memory format|shape \(0, .*expected \(0,", "of nothing and in any memory order too"),
    ("max_unpool", "accepted.*tuple index out of range", "a list of one number stands for all dimensions, as it does in pooling"),
    ("", "PyTorch: NotImplementedError: .* not implemented for '(Half|BFloat16)'", "16-bit floats have every op"),
    ("", "must be bool, not", "whatever is true or false may stand for a truth value"),
    ("conv_transpose", "refused: .*Output size is too small", "PyTorch's backends disagree about results of nothing"),
    ("fractional_max_pool3d", "accepted.* too large relative to input", "windows may reach the end of volumes, as they do of planes"),
    ("(batch|instance)_norm.*(gapped|expanded)", "gradient 0", "PyTorch's backward reads a weight of any strides as if its elements were neighbours"),
    ("lp_pool", "accepted.*'other' .position 1. must be Tensor, not tuple", "a kernel of one number in a tuple, as in other pooling"),
    ("", "Boolean value of Tensor", "a tensor where an option stands"),
    (r"\[2\]", "accepted", "a list of one number stands for all dimensions, everywhere"),
    ("adaptive.*None", "accepted", "None keeps every extent"),
    ("cross_entropy", "expected probabilities.*to match target batch_size", "floats are probabilities, whatever their shape"),
    ("(avg|lp)_pool3d", "accepted.*smaller than kernel size", "a kernel that fits with its padding fits, as in planes"),
    ("", "expected TypeError: .*must be (tuple of ints|int|Tensor)", "refused all the same"),
    ("", "accepted.*must be (tuple of ints|int), not (bool|Tensor)", "what counts as a number"),
    ("unfold", "Dimension specified as -1 but", "numbers are refused as other dimensions are"),
    ("", "accepted.*(possibly|optional) 0.* batch size", "of nothing comes nothing"),
    ("adaptive", "expected . output sizes.*Input dimension should be at least", "refused all the same"),
    ("adaptive", "backward: passed.*Expected grad_output to have non-zero size", "of nothing comes nothing"),
    ("max_unpool", "TypeError, expected IndexError.*tuple index out of range", "refused all the same"),
    ("grid_sample.*float16", "gradient 1", "positions in 16 bits lie on either side of a pixel"),
    ("F.pad", "accepted.*narrow.*length must be non-negative", "what one end cuts off beyond the other end is made up for there"),
    ("nll_loss|cross_entropy", "backward: passed.*grad_input must be contiguous", "gradients of any strides"),
    ("embedding|norm", "refused.*more than one element of the written-to tensor", "weights and statistics that are written are not expanded"),
    ("local_response_norm", "accepted.*view size is not compatible", "any strides"),
    ("adaptive", "accepted.*Expected input to have non-zero size.*dimension 1 being empty", "no channels are fine"),
    ("fractional", "refused.*pool size 0", "a window of nothing has no maximum"),
    ("pairwise_distance", "accepted.*must be Tensor, not int", "a number is broadcast"),
    ("", r"got \[tensor\(", "refused all the same"),
    ("conv", "accepted.*Only zero batch or zero channel", "of nothing comes nothing"),
    ("F.pad", "accepted.*is too small. Calculated output", "extents of 0 in every mode"),
    ("max_unpool", r"refused.*Found an invalid max index.*of size .*\b0\b", "into nothing nothing fits"),
    ("group_norm", "backward: passed.*tensor does not have a device", "a bias without a weight has a gradient"),
    ("interpolate.*nearest", "gradient", "for factors PyTorch's nearest elements differ between forward and backward"),
    ("interpolate.*bicubic", "gradient", "and where no extent changes, a factor moves bicubic elements forward, but not backward"),
]


def differs(ours, theirs):
    """What differs between two arrays with their dtypes, or None."""
    if (ours is None) != (theirs is None):
        present, absent = (ours, "PyTorch") if theirs is None else (theirs, "numtorch")
        return f"{absent} has none" if present[1].any() else None
    if ours is None:
        return None
    (kind, a), (other, b) = ours, theirs
    if kind != other:
        return f"dtype {kind}, expected {other}"
    if a.shape != b.shape:
        return f"shape {a.shape}, expected {b.shape}"
    if not a.size:
        return None
    with np.errstate(all="ignore"):
        scale = max(1.0, np.abs(b[np.isfinite(b)]).max(initial=0)) if b.dtype.kind in "fc" else 0
        close = (a == b) | ((a != a) & (b != b)) | (np.abs(a - b) <= TOLERANCE[kind] * scale if scale else False)
    if close.all():
        return None
    at = tuple(int(k) for k in np.argwhere(~close)[0])
    return f"{(~close).sum()} of {a.size}, at {at} {a[at]}, expected {b[at]}"


def difference(ours, theirs):
    """A sentence about what differs between two outcomes, or None."""
    if isinstance(ours, str):
        return ours
    if type(ours[0]) is str or type(theirs[0]) is str:
        if type(ours[0]) is not str:
            return f"accepted; PyTorch: {theirs[0]}: {first_line(theirs[1])}"
        if type(theirs[0]) is not str:
            return f"refused: {ours[0]}: {first_line(ours[1])}"
        if ours[0] == theirs[0] or theirs[0] not in CLASSES:
            return None
        return f"{ours[0]}, expected {theirs[0]}: {first_line(ours[1])} | {first_line(theirs[1])}"
    if len(ours[0]) != len(theirs[0]):
        return f"{len(ours[0])} results, expected {len(theirs[0])}"
    for k, pair in enumerate(zip(ours[0], theirs[0])):
        found = differs(*pair)
        if found:
            return f"result {k}: {found}"
    if type(ours[1]) is tuple or type(theirs[1]) is tuple:
        if type(ours[1]) is not type(theirs[1]) or ours[1][0] != theirs[1][0]:
            return f"backward: {ours[1] if type(ours[1]) is tuple else 'passed'}, expected {theirs[1] if type(theirs[1]) is tuple else 'none'}"
        return None
    if len(ours[1]) != len(theirs[1]):
        return f"{len(ours[1])} gradients, expected {len(theirs[1])}"
    nothing = ours[0] and not any(values.size for _, values in ours[0])      # then PyTorch may return gradients it never wrote
    for k, (mine, other) in enumerate(zip(ours[1], theirs[1])):
        found = differs(mine, None if nothing else other)
        if found:
            return f"gradient {k}: {found}"
    return None


def first_line(message):
    return message.strip().splitlines()[0][:200] if message.strip() else ""


def is_hollow(call, ours):
    """Whether a window of maxima lies in the padding: PyTorch then reads and writes outside of the plane."""
    return "max_pool" in call and "dilation" in call and type(ours) is tuple and type(ours[0]) is list and any(
        np.isinf(a).any() for _, a in ours[0] if a.dtype.kind == "f")


def check(call, numtorch, pytorch):
    """What differs between the libraries, or None."""
    ours = numtorch.run(call)
    if is_hollow(call, ours):
        return None
    theirs = pytorch.run(call)
    if isinstance(theirs, str):                          # PyTorch was killed, which says nothing about numtorch
        return ours if isinstance(ours, str) else None
    found = difference(ours, theirs)
    if found and any(re.search(pattern, call) and re.search(words, found) for pattern, words, _ in SETTLED):
        return None
    return found


def search(seed, seconds, calls=None, family=None, threads=1, odd=ODD_SHARE, report=print) -> tuple[int, int]:
    """Run calls of a seed for some seconds, or some number of them. Returns how many ran and how many differ."""
    numtorch, pytorch = Library("numtorch", threads), Library("pytorch")
    start, ran, failed = time.monotonic(), 0, 0
    recent = []
    while time.monotonic() - start < seconds and (calls is None or ran < calls):
        call = draw(f"{seed}/{ran}", family, odd)
        recent = [*recent[-9:], call]
        found = check(call, numtorch, pytorch)
        ran += 1
        if found:
            failed += 1
            report(f"python -m tests.layercalls --call {shell(call)}\n    {found}")
            if "exit code" in found:                     # the damage may be an earlier call's
                report("    before it:\n" + "\n".join(f"        {shell(each)}" for each in recent[:-1]))
    for library in (numtorch, pytorch):
        library.close()
    return ran, failed


def shell(call):
    return '"' + call + '"'


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.layercalls", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--calls", type=int, help="at most so many")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--family", help="only this one, a function of layerdraws.py")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--odd", type=float, default=ODD_SHARE, help="share of calls with an argument that has no place there")
    parser.add_argument("--call", help="run one call")
    options = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        sys.exit("PyTorch is not installed: there is nothing to compare with")
    if options.call:
        libraries = Library("numtorch", options.threads), Library("pytorch")
        print("\n".join(f"{library.name}: {library.run(options.call)}" for library in libraries))
        sys.exit(check(options.call, *libraries))
    ran, failed = search(options.seed, options.seconds, options.calls, options.family, options.threads, options.odd,
                         lambda line: print(line, flush=True))
    print(f"{ran} calls of seed {options.seed}, {failed} differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
