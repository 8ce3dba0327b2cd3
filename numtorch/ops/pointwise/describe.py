"""What a record says of itself: the docstrings of an elementwise op's function, which is its method too, and in-place form.

A person writes the first line, what the record cannot know, and an example. Operands and their dtypes, the result, errors and the
gradient's formula are read off the record. A section that a person wrote (`Args:` of some parameters, `Returns:`, `Raises:`) is
kept, and the record adds what it does not say. `python -m numtorch ops` writes a page of all records.
"""
from __future__ import annotations

import functools
import inspect
import re

from ..core.expression import Apply, Symbol

_SECTIONS = ("Args:", "Returns:", "Raises:", "Gradient:", "Example:")
_KINDS = ("bool", "integer", "float", "complex")
# what PyTorch raises a plain RuntimeError for
RUNTIME = ("Subtraction", "Negation", "The `+`", "Boolean inputs", "maximum not", "minimum not", "fmax not", "fmin not",
           "heaviside is", "kl_div:", "targets of", "isneginf does", "isposinf does")
_PLURALS = dict(zip(_KINDS, ("bools", "integers", "floats", "complex numbers")))

waiting: list | None = []                                # records made before all ops are there, which derivatives may refer to


def describe(op) -> None:
    """Write the docstrings of an op's function and of its in-place form; while ops are being imported, later."""
    if waiting is not None:
        waiting.append(op)
    else:
        _write(op)


def describe_waiting() -> None:
    """Describe what was recorded until now, and from now on each record at once."""
    global waiting
    ops, waiting = dict.fromkeys(waiting or ()), None
    for op in ops:
        _write(op)


# ---------------------------------------------------------------- the record in words
def refused(op) -> tuple:
    """The kinds of dtypes, of "bool", "integer", "float" and "complex", that the record refuses."""
    return tuple([k for k in _KINDS if k in op.refuses or (op.kind == "bitwise" and k in ("float", "complex"))])


@functools.cache
def accepted(refused) -> str:
    """In words, what is not refused."""
    return in_words(tuple([k for k in _KINDS if k not in refused])) if refused else "any"


@functools.cache
def in_words(kinds) -> str:
    words = [_PLURALS[k] for k in kinds]
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def translated(op, text) -> str:
    """A text about the formula with the names that its operands have in public."""
    names = dict(zip(op.operands, op.public))
    return _RENAMED.sub(lambda match: names.get(match[0], match[0]), text)


_RENAMED = re.compile(r"\b[a-z]\b")                      # what formulas call their operands and PyTorch does not


def gradients_of(op) -> dict:
    """The gradient's formula by operand; empty where there is none, or where it refers to what is not there yet."""
    if not op.differentiable or op.derivative_body is None:
        return {}
    try:
        formulas = op.gradients
    except Exception:                                    # a user's, wrong or naming what comes later: it raises when it is needed
        return {}
    names = dict(zip(op.parameters, op.public))
    return dict(zip(op.public, [formula(e, names) for e in formulas]))


# ---------------------------------------------------------------- a formula as text
_INFIX = {"bitwise_or": ("|", 2), "bitwise_and": ("&", 3), "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6), "div": ("/", 6),
          "remainder": ("%", 6), "floor_divide": ("//", 6), "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1),
          "eq": ("==", 1), "ne": ("!=", 1), "pow": ("**", 8)}


def formula(expression, names) -> str:
    """A traced formula as Python would have it, and after it what occurs in it more than once."""
    counts = {}
    _count(expression, counts)
    known = dict(names)
    letters = iter([n for n in "tuvw" if n not in names.values()])
    parts = []
    for part, times in counts.values():                  # the innermost first
        if times > 1 and len(text := _written(part, known)) > 12 and (letter := next(letters, None)):
            known[id(part)] = letter
            parts.append(f", {letter} = {text}")
    return _written(expression, known) + "".join(parts)


def _count(expression, counts):
    """How often each application occurs, as {id: [application, times]}, the innermost first."""
    if isinstance(expression, Apply):
        if id(expression) in counts:
            counts[id(expression)][1] += 1
        else:
            for argument in expression.args:
                _count(argument, counts)
            counts[id(expression)] = [expression, 1]


def _written(expression, names, level=0):
    """With brackets where what is around it binds more closely than it, by `level`."""
    if isinstance(expression, Symbol):
        return names.get(expression.name, expression.name)
    if not isinstance(expression, Apply):
        text = f"{expression:.6g}" if isinstance(expression, float) else str(expression)
        return f"({text})" if text[0] == "-" and level > 7 else text
    if id(expression) in names:
        return names[id(expression)]
    name, args = expression.op.name, expression.args
    if name == "linked":                                 # which says something to the tape alone
        return _written(args[0], names, level)
    if name == "neg":
        text, binds = "-" + _written(args[0], names, 7), 6
    elif name in _INFIX:
        sign, binds = _INFIX[name]
        chains = binds in (1, 8)                         # comparisons, and powers, which bind from the right
        text = f"{_written(args[0], names, binds + chains)} {sign} {_written(args[1], names, binds + 1)}"
    else:
        return f"{name}({', '.join([_written(a, names) for a in args])})"
    return f"({text})" if binds < level else text


# ---------------------------------------------------------------- docstrings
def _sections(doc):
    """The lines of a docstring by section, the opening ones under ""."""
    lines = []
    result = {"": lines}
    for line in inspect.cleandoc(doc or "").split("\n"):
        if line in _SECTIONS:
            lines = result[line] = []
        else:
            lines.append(line)
    return {title: lines[:-1] if lines and not lines[-1] else lines for title, lines in result.items()}


def _arguments(op, refused, said):
    """The operands that a person says nothing about, what he says, and the other numbers."""
    named = {n.strip() for line in said if line[4:5].strip() for n in line.split(":")[0].split(",")}
    operands = [p for p, n in zip(op.public, op.operands) if p not in named and n not in op.bool_operands]
    lines = []
    if operands:
        what = "tensor of any shape" if len(op.operands) == 1 else "tensors or numbers, broadcast with each other" \
            if len(operands) > 1 else "tensor or number, broadcast with the others"
        dtypes = f"; {accepted(refused)}" if refused else " and dtype" if len(op.operands) == 1 else ", of any dtype"
        lines.append(f"    {', '.join(operands)}: {what}{dtypes}.")
    for condition in op.bool_operands:
        if condition not in named:
            lines.append(f"    {condition}: bools, broadcast with the others.")
    lines += [line for line in said if line]
    numbers = [n for n in op.numbers if n not in named]
    if numbers:
        lines.append(f"    {', '.join(numbers)}: {'numbers' if len(numbers) > 1 else 'a number'} of the formula.")
    return lines


def _result(op, refused):
    """What comes out: its shape and dtype."""
    one = len(op.operands) == 1
    if op.kind in ("comparison", "logical"):
        return "    Bools, " + (f"of the shape of `{op.public[0]}`." if one else "of the shape the operands broadcast to.")
    if op.kind == "expression":
        shape = f"of `{op.public[0]}`" if one else "the operands broadcast to"
        return f"    Of the shape {shape} and the dtype that the formula has as an expression of tensors."
    text = f"Of the shape and dtype of `{op.public[0]}`" if one else \
        "Of the shape the operands broadcast to and the dtype they promote to"
    if op.kind == "float" and "integer" not in refused:
        text += "; integers give the default dtype" if "bool" in refused else "; integers and bools give the default dtype"
    elif op.kind == "real" and "complex" not in refused:
        text += "; complex numbers give the dtype of their parts"
    return f"    {text}."


def _errors(op, refused):
    """What the function and the in-place form raise."""
    unordinary = tuple([k for k in refused if op.refuses.get(k, "").startswith(RUNTIME)])
    ordinary = tuple([k for k in refused if k not in unordinary])
    runtime = [in_words(unordinary)] if unordinary else []
    if len(op.operands) > 1:
        runtime.append("shapes that do not broadcast")
    if op.divisor:
        runtime.append(f"integers divided by a 0 in `{op.public[op.operands.index(op.divisor)]}`")
    return [f"    NotImplementedError: {in_words(ordinary)}."] if ordinary else [], runtime


def _document(head, *sections):
    return "\n".join([head, *[f"\n{title}\n" + "\n".join(lines) for title, lines in sections if lines], ""])


def _write(op):
    said = _sections(op.doc)
    kinds = refused(op)
    arguments = _arguments(op, kinds, said.get("Args:", ()))
    errors, runtime = _errors(op, kinds)
    errors = [line for line in said.get("Raises:", ()) if line] + errors
    to_out = runtime if op.kind in ("comparison", "logical") else [*runtime, "`out` cannot hold the result's dtype"]
    in_place = [*runtime, "the result does not fit into the tensor, or the tensor is a leaf that requires a gradient"]
    op.function.__doc__ = _document(
        translated(op, "\n".join(said[""]).strip()) or f"{op.name}({', '.join(op.public)}), elementwise.",
        ("Args:", [*arguments, "    out: a tensor to write the result into."]),
        ("Returns:", said.get("Returns:") or [_result(op, kinds)]),
        ("Raises:", errors + [f"    RuntimeError: {'; '.join(to_out)}."] if to_out else errors),
        ("Gradient:", [f"    {operand}: {text}" for operand, text in gradients_of(op).items()]),
        ("Example:", said.get("Example:")))
    op.inplace.__doc__ = _document(
        f"In-place form of `{op.name}`: writes the result into this tensor and returns it.", ("Args:", arguments),
        ("Raises:", errors + [f"    RuntimeError: {'; '.join(in_place)}."]))
