"""Runs a program in both libraries, statement by statement, and compares everything it made and changed.

What agrees within rounding is then made equal: PyTorch's values are written over numtorch's, past its counters of versions. So each statement
starts from the same numbers, its tolerance is that of one operation, and a comparison or a sort that follows cannot turn a rounding into a
difference. Gradients have come a longer way. Where they, or a sum, seem to be off, the same statement in double precision decides: numtorch is
wrong where its error is several times PyTorch's.
"""
from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

import numpy as np
import torch

import numtorch

from .program import namespace

_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7, "complex128": 2.0**-52, "complex64": 2.0**-23}
_WORSE = 8                                               # times PyTorch's error that numtorch's may be

# Where the libraries differ on purpose: what the statement looks like, the exceptions of PyTorch and numtorch ("" is none), and why.
DELIBERATE = [
    (r"must be Tensor, not (int|float)", "TypeError", "", "every elementwise op takes numbers"),
    (r"must be Tensor, not (int|float)", "TypeError", "NotImplementedError", "and then refuses their dtypes"),
    (r"must be Tensor, not (int|float)", "TypeError", "RuntimeError", "or to write what comes of them into integers"),
    (r"expected dtype .* for `(weight|end)`", "RuntimeError", "", "operands of lerp promote like any"),
    (r"F\.(tanhshrink|softsign)|\.(median|argmax|argmin|trace|bincount|cov)\(.*[Bb]ool", "NotImplementedError", "", "bools are numbers there too"),
    (r"log_ndtr.*not implemented for '(Half|BFloat16)'", "NotImplementedError", "", "16-bit floats have it"),
    (r"cdist.*(not implemented for '(Half|BFloat16)'|expected scalar type)", "NotImplementedError", "", "16-bit floats have distances"),
    (r"cdist.*expected (scalar type|m1 and m2)", "RuntimeError", "", "and operands promote"),
    (r"F\.tanhshrink.*bool tensor", "RuntimeError", "", "bools are numbers there too"),
    (r"(autograd|backward).*Subtraction, the `-` operator, with a bool", "RuntimeError", "", "PyTorch's own defect: logaddexp of a float and a bool"),
    (r"(autograd|backward).*Negation, the `-` operator, on a bool", "RuntimeError", "", "PyTorch's own defect: atan2 of a bool and a float"),
    (r"(autograd|backward).*doesn't match the broadcast shape", "RuntimeError", "", "PyTorch's own defect: bounds of clamp that stretch what is clamped"),
    (r"A view was created in no_grad mode", "RuntimeError", "", "PyTorch's gradients may be views that its backward made; programs make none"),
    (r"torch\.einsum.*dtype", "", "RuntimeError", "PyTorch looks at dtypes only where sizes make it a product of matrices"),
    (r"INTERNAL ASSERT FAILED", "RuntimeError", "", "PyTorch's own defect: index_reduce of 16-bit floats"),
    (r"refer to a single memory location", "RuntimeError", "", "what the write would overtake is read from a copy"),
    (r"more than one element of the written-to tensor", "", "RuntimeError", "what overlaps is refused, not only what is expanded"),
    (r"derivative for aten::\w+ is not implemented", "RuntimeError", "", "it is 0 here: heaviside, floor_divide"),
    (r"does not support automatic differentiation for outputs with complex dtype", "RuntimeError", "", "gradients of complex numbers are as of real ones"),
    (r"Autograd not support dtype", "RuntimeError", "", "integers that were assigned numbers with a gradient have none"),
    (r"a leaf Variable that requires grad is being used in an in-place", "RuntimeError", "", "a view whose sibling was written is no leaf, but PyTorch "
                                                                                           "has not looked yet"),
    (r"modified by an inplace operation", "RuntimeError", "", "fewer tensors are saved for backward"),
    (r"modified by an inplace operation.*saved by (Kron|Ldexp|Ndtr|Tanhshrink|L1Loss|KlDiv)", "", "RuntimeError",
     "inputs are saved, where PyTorch's is made of several ops and saves what comes between"),
    (r"modified by an inplace operation.*saved by ScaledDotProductAttention", "", "RuntimeError",
     "its result is saved, as PyTorch's fused kernels do, which take four dimensions"),
    (r"backward through the graph a second time", "RuntimeError", "", "a graph that saved nothing can be walked again"),
    (r"Expected isFloatingType\(grad", "RuntimeError", "", "PyTorch's own defect: complex gradients of what was written to a float"),
    (r"ComplexHalf", "NotImplementedError", "", "complex numbers of 16-bit floats are complex64 here"),
]


@dataclass
class Difference:
    """Where two runs part.

    Attributes:
        index: of the statement.
        what: "values", "shape", "dtype", "strides", "requires_grad", "aliases", "raises" or "type".
        message: for people.
    """

    index: int
    what: str
    message: str


class Invalid(Exception):
    """A program, shortened, that misses a name."""


def run(statements):
    """The first difference between the two libraries' runs of a program, or None.

    Raises:
        Invalid: when a statement needs what none has assigned.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _run(statements)


def _run(statements):
    expected, found = namespace(torch), namespace(numtorch)
    torch.set_grad_enabled(True)
    names, sources = [], {}
    # negative strides have a stand-in in PyTorch, a part of an array counts its offset from the array's beginning only here, and the copies
    # of select_scatter and its kin have the whole memory of their inputs only there
    strided = 2 - any("gapped" in s.source or "_scatter(" in s.source for s in statements) if not any("reversed" in s.source for s in statements) else 0
    loose = set()                                        # names of what lies in memory otherwise, where PyTorch promises nothing
    unnoticed = set()                                    # views that were written, or their base, where nothing was recorded
    for index, statement in enumerate(statements):
        operands = [n for n in re.findall(r"\bt\d+\b", statement.source) if n in names]
        checked = bool(strided) and loose.isdisjoint(operands)
        if not checked and "as_strided(" in statement.source:
            return None                                  # other elements lie there
        # an operand that is cast is first copied, in an order of its own
        alike = len({expected[n].dtype for n in operands if isinstance(expected[n], torch.Tensor)}) == 1
        errors = []
        for each in (expected, found):
            try:
                statement.run(each)
                errors.append(None)
            except NameError as error:
                raise Invalid(statement.source) from error
            except Exception as error:
                errors.append(error)
        if statement.kind == "grad" and not unnoticed.isdisjoint(operands):
            return None                                  # to PyTorch they are new views of the base, and have no part in the graph before
        if errors != [None, None]:
            if not loose.isdisjoint(operands) and any("view size is not compatible" in str(e) for e in errors):
                return None
            message = _refusals(statement, *errors)
            if message:
                return Difference(index, "raises", message)
            if None in errors:
                return None                              # on purpose: what follows has nothing to compare
            continue
        if _defects_of_pytorch(statement, expected, operands, sources):
            return None
        names += statement.targets
        sources.update(dict.fromkeys(statement.targets, statement.source))
        changed = list(statement.targets)
        if statement.writes is not None:
            changed += [statement.writes, *_sharing(expected, names, statement.writes)]
            if "no_grad" in statement.source or not expected[statement.writes].requires_grad:
                unnoticed.update(n for n in _views(expected, changed) if expected[n].requires_grad)
        if statement.kind == "grad" and not statement.targets:
            changed += [f"{n}.grad" for n in names if ".requires_grad_()" in sources[n] and expected[n].grad is not None]
        for name in changed:
            one, other = _look(expected, name), _look(found, name)
            if isinstance(one, torch.Tensor) and one.requires_grad and not (one.is_floating_point() or one.is_complex()):
                one = expected[name] = one.detach()      # integers that were assigned numbers with a gradient
            if statement.kind == "grad" and isinstance(one, torch.Tensor) and one.requires_grad and not other.requires_grad \
                    and _is_constant(one):
                one = expected[name] = one.detach()      # the graph of a second derivative of 0, which numtorch does not record
            difference = _differ(statement, name, one, other, strided if checked and (alike or statement.kind == "view") and name not in loose else 0)
            if difference is None and name in statement.targets and isinstance(one, torch.Tensor):
                shared = [_sharing(each, names, name) for each in (expected, found)]
                if shared[0] != shared[1] and not checked:
                    return None                          # reshape copies what it cannot view
                if shared[0] != shared[1] and statement.kind == "grad" and set(shared[0]) ^ set(shared[1]) <= {*operands, *statement.targets}:
                    return None                          # whether a gradient that passes unchanged is copied is not promised
                if shared[0] != shared[1]:
                    difference = "aliases", f"{name} shares memory with {shared[0]} in PyTorch, with {shared[1]} in numtorch"
            if statement.kind == "grad" and (one is None) != (other is None) and _views(expected, operands) != _views(found, operands):
                return None                              # writes through a view go past what is a view of something nobody has
            if difference is not None and difference[0] == "requires_grad" and name not in statement.targets and "autograd.grad" in sources[name]:
                return None                              # PyTorch's gradients may be views of what they were computed from, written here
            if difference is not None and difference[0] == "values" and statement.kind != "exact":
                difference = difference if _judge(statements, index, name, one, other) else None
            if difference is not None:
                return Difference(index, *difference)
            _synchronise(one, other)
            if name in statement.targets and isinstance(one, torch.Tensor) and (
                    _steps(one) != _steps(other) or not loose.isdisjoint(_sharing(expected, names, name))):
                loose.add(name)
    return None


def _defects_of_pytorch(statement, values, operands, sources):
    """Whether what PyTorch gives cannot be compared with, nor what follows from it."""
    tensors = [values[n] for n in operands if isinstance(values[n], torch.Tensor)]
    if any(getattr(values[n], "dtype", None) == torch.complex32 for n in statement.targets):
        return True                                      # complex64 here
    if "soft_margin_loss" in statement.source and not all(torch.isfinite(values[n]).all() for n in statement.targets):
        return True                                      # it takes the exponential as it is, which overflows
    if "median(" in statement.source and any(n > 1 and step == 0 for t in tensors for n, step in zip(t.shape, t.stride())):
        return True                                      # it reads what was never written where a tensor is expanded
    if re.search(r"\b(var|std)_mean\(", statement.source) and not all(torch.isfinite(t).all() for t in tensors if t.is_floating_point()):
        return True                                      # a mean of what is infinite is not a number there
    if statement.kind == "grad" and any("hypot(" in source for source in sources.values()) and any(
            values[n] is not None and values[n].isnan().any() for n in statement.targets):
        return True                                      # the gradient of a length of 0, which is 0 here
    if statement.kind == "grad" and any("hardsigmoid(" in source for source in sources.values()) and any(
            t.dtype == torch.float64 for t in tensors):
        return True                                      # its backward multiplies by a sixth in single precision
    # two gradients that are one tensor: by each other they have a derivative
    return statement.kind == "grad" and len({id(t) for t in tensors}) < len(tensors)


def _views(values, names):
    return [n for n in names if getattr(values[n], "_is_view", bool)()]


def _look(values, name):
    return values[name[:-5]].grad if name.endswith(".grad") else values[name]


def _refusals(statement, expected, found):
    """Why two outcomes, of which one at least is an exception, are not alike; None when they are."""
    classes = ["" if e is None else type(e).__name__ for e in (expected, found)]
    if expected is not None and any(each.__name__ == classes[0] for each in type(found).__mro__):
        return None                                      # what catches PyTorch's catches a class below it
    for pattern, *pair, reason in DELIBERATE:
        if pair == classes and re.search(pattern, f"{statement.source} | {expected} | {found}", re.DOTALL):
            return None
    return "\n".join(f"{who}: {'accepts' if e is None else f'{type(e).__name__}: {str(e)[:300]}'}" for who, e in (("PyTorch", expected), ("numtorch", found)))


def _is_constant(t):
    """Whether nothing in the graph of a tensor moves it."""
    leaves, nodes, known = [], [t.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is not None and node not in known:
            known.add(node)
            leaves += [node.variable] if hasattr(node, "variable") else []
            nodes += [n for n, _ in node.next_functions]
    weights = torch.arange(1, t.numel() + 1).reshape(t.shape).to(t.dtype)
    try:
        gradients = torch.autograd.grad(t, leaves, weights, retain_graph=True, allow_unused=True) if leaves else ()
    except RuntimeError:                                 # a second derivative that PyTorch has not
        return False
    return not any(g is not None and g.any() for g in gradients)


def _steps(t):
    """The strides that matter."""
    return [t.stride(i) for i, n in enumerate(t.shape) if n > 1] if t.numel() else []


def _start(t):
    """Where a tensor's memory begins, as both libraries tell it."""
    return t.data_ptr() - t.storage_offset() * t.element_size()


def _sharing(values, names, name):
    """The names of tensors that share memory with one."""
    if not hasattr(values[name], "data_ptr") or values[name].numel() == 0:
        return []
    start = _start(values[name])
    return [n for n in names if n != name and hasattr(values[n], "data_ptr") and values[n].numel() and _start(values[n]) == start]


def _differ(statement, name, expected, found, strided):
    """What differs and a message, or None."""
    if not isinstance(expected, torch.Tensor):
        if expected is None and statement.kind == "grad" and isinstance(found, numtorch.Tensor) and not found.any():
            return None                                  # 0 said in another way
        if isinstance(found, numtorch.Tensor) or (expected != found and str(expected) != str(found)):
            return "type", f"{name}: PyTorch {expected!r}, numtorch {str(found)[:100]}"
        return None
    if not isinstance(found, numtorch.Tensor):
        return "type", f"{name}: PyTorch's is a tensor of shape {tuple(expected.shape)}, numtorch's {found!r}"
    facts = [("shape", tuple(expected.shape), tuple(found.shape)), ("dtype", str(expected.dtype)[6:], str(found.dtype).rpartition(".")[2]),
             ("requires_grad", expected.requires_grad, found.requires_grad)]
    if statement.kind == "grad" and found.requires_grad:
        facts.pop()                                      # where the second derivative is 0, PyTorch records none
    if statement.kind in ("view", "point") and strided and expected.numel():
        facts.append(("strides", _steps(expected), _steps(found)))
        if statement.kind == "view" and strided == 2:
            facts.append(("offset", expected.storage_offset(), found.storage_offset()))
    for what, wanted, got in facts:
        if wanted != got:
            return what, f"{what} of {name}: PyTorch {wanted}, numtorch {got}"
    wanted, got = values(expected), values(found)
    error = distance(got, wanted)
    dtype = str(expected.dtype)[6:]
    wrong = error > _tolerance(statement.kind, dtype, wanted)
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return "values", f"{name}[{', '.join(map(str, place))}]: PyTorch {wanted[place]!r}, numtorch {got[place]!r} ({int(wrong.sum())} of {wrong.size} differ)"


def _tolerance(kind, dtype, wanted):
    if dtype not in _EPSILON or kind == "exact" or wanted.size == 0:
        return 0.0
    size = np.abs(np.where(np.isfinite(wanted), wanted, 0))
    slack = {"view": 0, "point": 4, "sum": 16, "grad": 32}[kind] * _EPSILON[dtype]
    return slack * (size + (0 if kind in ("point", "view") else max(size.max(), 1) if kind == "grad" else size.max()))


def distance(one, other):
    """|one - other|, 0 where both are the same infinity or both NaN, infinite where one of them is not finite."""
    with np.errstate(all="ignore"):
        if one.dtype.kind in "iub":
            return (one != other).astype(np.float64)
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        gap = np.abs(one.astype(np.result_type(one.dtype, np.float64)) - other)
    return np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))


def values(t):
    """A tensor's numbers in NumPy; bfloat16 as float32."""
    t = t.detach().resolve_conj().resolve_neg()
    if str(t.dtype).endswith("bfloat16"):
        return (memory(t).astype(np.uint32) << 16).view(np.float32)
    return t.numpy(force=True)


def memory(t):
    """A tensor's own memory as a NumPy array that can be written; of bfloat16 as integers."""
    if t.numel() and not t.data_ptr():                   # PyTorch's gradients may be zeros without memory
        t = torch.zeros(t.shape, dtype=t.dtype)
    name = str(t.dtype).rpartition(".")[2]
    return np.asarray(_Memory(t, np.dtype("uint16" if name == "bfloat16" else name)))


class _Memory:
    def __init__(self, t, dtype):
        self.__array_interface__ = {"version": 3, "typestr": dtype.str, "shape": tuple(t.shape), "strides": tuple(s * dtype.itemsize for s in t.stride()),
                                    "data": (t.data_ptr(), False)}


def _synchronise(expected, found):
    """Writes PyTorch's numbers over numtorch's."""
    if not isinstance(expected, torch.Tensor) or expected.numel() == 0 or not (expected.is_floating_point() or expected.is_complex()):
        return
    if found.is_conj() or expected.is_conj() or found.is_neg() or expected.is_neg():
        return
    target, source = memory(found), memory(expected)
    if target.tobytes() != source.tobytes():
        target[...] = source


# ---------------------------------------------------------------- the judge
def _judge(statements, index, name, expected, found):
    """Whether numtorch's result is farther from the one in double precision than PyTorch's roundings explain."""
    statement = statements[index]
    exact = namespace(torch)
    plain = exact["from_numpy"]
    try:
        if statement.kind == "grad":
            exact["from_numpy"] = lambda a: _double(plain(a))
            for each in statements[:index]:
                try:
                    exec(_doubled(each.source), exact)
                except Exception:
                    continue                             # refused by both
        else:
            for each in statements[:index]:
                try:
                    each.run(exact)
                except Exception:
                    continue
            _double_all(exact)
        torch.set_default_dtype(torch.float64)           # which functions of integers give
        exec(_doubled(statement.source), exact)
    except Exception:
        return True
    finally:
        torch.set_default_dtype(torch.float32)
    try:
        truth = values(_look(exact, name))
    except Exception:
        return True
    if truth.shape != tuple(expected.shape):
        return True
    wanted, got = values(expected), values(found)
    dtype = str(expected.dtype)[6:]
    if dtype not in _EPSILON:
        return True
    with np.errstate(all="ignore"):
        size = np.abs(np.where(np.isfinite(truth), truth, 0))
        ours, theirs = distance(got, truth.astype(got.dtype)), distance(wanted, truth.astype(got.dtype))
        least = 64 if truth.dtype == wanted.dtype else 1    # then the truth is only another rounding
        bound = least * _tolerance(statement.kind, dtype, truth) + _WORSE * _EPSILON[dtype] * size.max(initial=0) + _WORSE * theirs[np.isfinite(theirs)].max(initial=0)
        if statement.kind == "sum" or re.search("gelu|ndtr|tanhshrink", statement.source):
            bound = bound + 4 * _EPSILON[dtype] * max(_largest(statement, exact), 1)     # of what cancels in the sum, in 1 + erf(x) or x - tanh(x)
        if statement.kind == "grad" and any("digamma" in each.source for each in statements[:index]):
            bound = bound + 1e-9 * size.max(initial=0)   # PyTorch's trigamma is no more precise
        if got.dtype.kind in "fc":
            bound = bound + np.finfo(got.dtype).smallest_subnormal               # there are no roundings between 0 and it
        return bool((ours > bound).any())


def _largest(statement, names):
    """The largest finite number among a statement's operands."""
    operands = [names[n] for n in set(re.findall(r"\bt\d+\b", statement.source)) - set(statement.targets)]
    sizes = [np.abs(values(t)) for t in operands if isinstance(t, torch.Tensor) and (t.is_floating_point() or t.is_complex())]
    return max([s[np.isfinite(s)].max(initial=0) for s in sizes], default=0)


def _double(t):
    return t.double() if t.is_floating_point() else t.to(torch.complex128) if t.is_complex() else t


def _double_all(names):
    """Makes all tensors double, those that share memory together."""
    wide = {}
    for name, t in names.items():
        if isinstance(t, torch.Tensor) and (t.is_floating_point() or t.is_complex()):
            t = t.detach().resolve_conj().resolve_neg()
            storage = t.untyped_storage()
            key = storage.data_ptr(), t.dtype
            if key not in wide:
                wide[key] = _double(t.as_strided((storage.nbytes() // t.element_size(),), (1,), 0))
            names[name] = wide[key].as_strided(t.shape, t.stride(), t.storage_offset())


def _doubled(source):
    """A statement in double precision. What it rounds to a smaller dtype is rounded, and widened again."""
    source = re.sub(r"\.to\(torch\.(bfloat16|float16|float32)\)", r".to(torch.\1).double()", source)
    source = re.sub(r"dtype=torch\.(bfloat16|float16|float32)", "dtype=torch.float64", source)
    return re.sub(r"torch\.complex64\b", "torch.complex128", source)
