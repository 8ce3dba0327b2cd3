"""Makes programs: keeps what PyTorch has computed so far, and adds statements whose operands fit.

What statements there are stands in tables: `elementwise.py`, `views.py`, `structure.py` (reductions, products, indexing, joins, order) and
`losses.py`. A rule is a function of the `Generator` that emits statements, or returns None where nothing fits.
"""
from __future__ import annotations

import math
import random
import warnings

import torch

from .program import Statement, namespace

SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 64, 65, 255, 256, 257)
LARGE = (2047, 2048, 2049)
LIMIT = 40_000                                           # elements of a result; of one program in twenty, eight times as many
REAL, HALF, INTEGER, COMPLEX = ("float32", "float64"), ("float16", "bfloat16"), ("int64", "int32", "int16", "int8", "uint8"), ("complex64", "complex128")
PER_DIALECT = 400                                        # programs


class Dialect:
    """The dtypes and ops of a run of programs. Each new one of either compiles kernels, so a few at a time are used thoroughly."""

    def __init__(self, seed, number, rules):
        rng = random.Random(f"dialect {seed} {number}")
        self.floating = ["float32" if rng.random() < 0.75 else "float64"] + ([rng.choice(REAL + HALF)] if rng.random() < 0.3 else [])
        self.integer = ["int64" if rng.random() < 0.5 else rng.choice(INTEGER)]
        self.complex = [rng.choice(COMPLEX)] if rng.random() < 0.2 else []
        self.dtypes = self.floating * 4 + self.integer * 2 + ["bool"] + self.complex * 2
        self.rules, self.weights = zip(*[(rule, weight) for rule, weight, share in rules if rng.random() < share])
        self._seed, self._number = seed, number

    def some(self, names, share=0.15):
        """The names of a table that this dialect uses: always the same ones."""
        names = sorted(names)
        return random.Random(f"{self._seed} {self._number} {names}").sample(names, max(2, math.ceil(share * len(names))))


def kind(t):
    """One letter for a dtype: f, i, b or c."""
    return "f" if t.is_floating_point() else "c" if t.is_complex() else "b" if t.dtype is torch.bool else "i"


class Generator:
    """One program in the making.

    Attributes:
        rng: of every choice.
        statements: those so far.
        names: what they assigned, by name; `values` of these are PyTorch's.
    """

    def __init__(self, seed, index, dialect, length):
        self.rng = random.Random(f"program {seed} {index}")
        self.dialect = dialect
        self.statements = []
        self.namespace = namespace(torch)
        self.names = []
        self.leaves = []
        self._count = 0
        self.large = self.rng.random() < 0.05
        self.sizes = self.rng.sample(SIZES, 3) + ([self.rng.choice(LARGE)] if self.rng.random() < 0.08 else [])
        self.gradients = self.rng.random() < 0.7
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(self.rng.randint(1, 3)):
                self.source(self.shape())
            misses = 0
            while len(self.statements) < length and misses < 60:
                rule, = self.rng.choices(dialect.rules, dialect.weights)
                misses += rule(self) is None

    # ------------------------------------------------------------ operands
    def value(self, name):
        return self.namespace[name]

    def shape(self, low=0, high=4):
        """A random shape of few elements."""
        limit = 8 * LIMIT if self.large else LIMIT
        while True:
            dims = self.rng.choice([n for n in (0, 1, 1, 2, 2, 2, 3, 3, 4) if low <= n <= high])
            shape = tuple(self.rng.choice(self.sizes) for _ in range(dims))
            if self.rng.random() < 0.02 and dims:
                shape = shape[:-1] + (0,)
            if math.prod(shape) <= limit // 4:
                return shape

    def fresh(self):
        self._count += 1
        return f"t{self._count}"

    def number(self):
        return self.rng.randrange(100)

    def source(self, shape, dtype=None, leaf=None):
        """Emits a tensor of a shape in a random memory order; returns its name."""
        dtype = dtype or self.rng.choice(self.dialect.dtypes)
        order = self.rng.choices(("C", "F", "gapped", "reversed"), (6, 2, 1, 1))[0]
        if math.prod(shape) > 4000 and order == "gapped":
            order = "C"
        made = dtype if dtype != "bfloat16" else "float32"
        text = f'from_numpy(array({self.number()}, {tuple(shape)}, "{made}"' + (f', "{order}"))' if order != "C" and len(shape) else "))")
        if dtype == "bfloat16":
            text += ".to(torch.bfloat16)"
        differentiable = dtype in REAL + HALF + COMPLEX
        leaf = (self.gradients and self.rng.random() < 0.6) if leaf is None else leaf
        if leaf and differentiable:
            text += ".requires_grad_()"
        name = self.assign(text, "view")
        if leaf and differentiable and name is not None:
            self.leaves.append(name)
        return name

    def pick(self, kinds="fibc", low=0, high=9, where=None, most=None):
        """The name of a tensor that fits, made if there is none; recent ones are likelier."""
        for _ in range(6):
            if not self.names:
                break
            name = self.names[-1 - min(int(self.rng.expovariate(0.25)), len(self.names) - 1)]
            t = self.value(name)
            if kind(t) in kinds and low <= t.dim() <= high and (most is None or t.numel() <= most) and (where is None or where(t)):
                return name
        dtypes = [d for d in self.dialect.dtypes if ("c" if d[0] == "c" else "b" if d == "bool" else "i" if "int" in d else "f") in kinds]
        if not dtypes or low > 4:
            return None
        for _ in range(4):
            shape = self.shape(low, min(high, 4))
            if most is None or math.prod(shape) <= most:
                name = self.source(shape, self.rng.choice(dtypes))
                if name is not None and (where is None or where(self.value(name))):
                    return name
        return None

    def partner(self, name, kinds=None, writing=False):
        """The name of a tensor that broadcasts with another (into it, when it is to be written), or a number."""
        t = self.value(name)
        kinds = kinds or ("fibc" if kind(t) == "c" else "fib")
        choice = self.rng.random()
        if choice < 0.15 and ("f" in kinds or kind(t) in "ib"):
            return self.literal(t)
        if choice < 0.6:
            def fits(other):
                try:
                    together = torch.broadcast_shapes(t.shape, other.shape)
                except RuntimeError:
                    return False
                return math.prod(together) <= max(LIMIT, t.numel()) and (not writing or together == t.shape)
            for _ in range(4):
                other = self.names[-1 - min(int(self.rng.expovariate(0.2)), len(self.names) - 1)]
                if kind(self.value(other)) in kinds and fits(self.value(other)) and not (writing and overlapping(self.value(other), t)):
                    return other
        shape = list(t.shape)
        if self.rng.random() < 0.4:
            shape = [1 if self.rng.random() < 0.4 else n for n in shape][self.rng.randint(0, len(shape)):]
        same = str(t.dtype)[6:]
        dtypes = [d for d in self.dialect.dtypes if ("c" if d[0] == "c" else "b" if d == "bool" else "i" if "int" in d else "f") in kinds]
        return self.source(shape, same if (kind(t) in kinds and self.rng.random() < 0.7) or not dtypes else self.rng.choice(dtypes))

    def literal(self, t):
        if kind(t) in "ib":
            return repr(self.rng.choice([2, 3, -1, 5, 7]) if t.dtype is not torch.uint8 else self.rng.choice([2, 3, 5]))
        return repr(self.rng.choice([2, 0.5, -1.5, 3, 1.25]))

    def dim(self, t):
        """A dimension, from the end at times."""
        n = max(t.dim(), 1)
        d = self.rng.randrange(n)
        return d - n if self.rng.random() < 0.3 else d

    # ------------------------------------------------------------ statements
    def assign(self, text, how="exact", count=1):
        """Emits `t1, t2 = text`; returns the first name, or None where PyTorch refuses it."""
        targets = tuple(self.fresh() for _ in range(count))
        return self.emit(Statement(f"{', '.join(targets)}{',' if count == 1 and how == 'grad' else ''} = {text}", targets, how))

    def write(self, text, name=None, how="exact"):
        """Emits a statement that changes `name` in place, or gradients."""
        return self.emit(Statement(text, (), how, name))

    def emit(self, statement):
        try:
            statement.run(self.namespace)
        except Exception:
            if self.rng.random() < 0.3:
                self.statements.append(statement)
            return None
        values = [self.namespace[n] for n in statement.targets]
        if any(isinstance(v, torch.Tensor) and v.numel() > 16 * LIMIT for v in values):
            for n in statement.targets:
                del self.namespace[n]
            return None
        self.statements.append(statement)
        for n, v in zip(statement.targets, values):
            if isinstance(v, torch.Tensor) and (tame(v) or self.rng.random() < 0.05):
                self.names.append(n)
        if statement.writes is not None:
            self.names = [n for n in self.names if tame(self.value(n))] or [self.source((8,))]
        return statement.targets[0] if statement.targets else statement.source

    def wanted(self, low=0):
        """The name of a tensor through which gradients flow, made if there is none."""
        found = [n for n in self.names if self.value(n).requires_grad and self.value(n).dim() >= low]
        return self.rng.choice(found[-6:]) if found else None


def overlapping(t, written):
    """Whether a tensor lies in memory that is to be written and is not the written one itself: PyTorch reads what is half done."""
    return t.untyped_storage().data_ptr() == written.untyped_storage().data_ptr() and (t.data_ptr(), t.stride(), t.shape) != (
        written.data_ptr(), written.stride(), written.shape)


def tame(t):
    """Whether a tensor's numbers are worth computing with: neither NaN nor infinite nor huge."""
    try:
        t.is_leaf
    except RuntimeError:                                 # one of several views whose base was written
        return False
    if t.numel() == 0 or kind(t) == "b":
        return True
    t = t.detach()
    return bool(t.abs().max() < 1e4) if kind(t) != "i" else bool((t.to(torch.int64).abs() < 10**6).all())
