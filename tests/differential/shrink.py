"""Makes a failing program small: fewer statements, then smaller sizes and simpler inputs."""
from __future__ import annotations

import dataclasses
import re


def shrink(statements, fails):
    """The fewest and simplest statements that still fail.

    Args:
        statements: a program that fails.
        fails: whether a list of statements does, in the same way.
    """
    statements = _fewer(list(statements), fails)
    for pattern, replacements in _SIMPLER:
        statements = _simpler(statements, fails, pattern, replacements)
    statements = _smaller(statements, fails)
    return _fewer(statements, fails)


def _fewer(statements, fails):
    """Delta debugging (Zeller 1999), last statements first: leaves out ever smaller pieces as long as what remains fails."""
    size = max(len(statements) // 2, 1)
    while True:
        end = len(statements)
        removed = False
        while end > 0:
            shorter = statements[:max(end - size, 0)] + statements[end:]
            if shorter and fails(shorter):
                statements, removed = shorter, True
            end -= size
        if size == 1 and not removed:
            return statements
        size = max(size // 2, 1)


_SIMPLER = [
    (r', "(?:F|gapped|reversed)"\)', [")"]),
    (r"\.requires_grad_\(\)", [""]),
    (r', create_graph=True|, retain_graph=True|, allow_unused=True', [""]),
    (r'"(?:float64|float16|complex128|int16|int8|uint8|int32)"', ['"float32"', '"int64"']),
    (r"\.to\(torch\.bfloat16\)", [""]),
    (r"\((\w+)\.abs\(\) \+ 0\.5\)|\((\w+)\)\.clamp\([^)]*\)", [r"\1\2"]),
]


def _simpler(statements, fails, pattern, replacements):
    for index, statement in enumerate(statements):
        for replacement in replacements:
            source = re.sub(pattern, replacement, statement.source)
            if source != statement.source:
                changed = statements[:index] + [dataclasses.replace(statement, source=source)] + statements[index + 1:]
                if fails(changed):
                    statements = changed
                    break
    return statements


def _smaller(statements, fails):
    """Numbers of two digits and more, wherever they stand, become smaller together."""
    for _ in range(3):
        before = statements
        numbers = sorted({int(n) for s in statements for n in re.findall(r"(?<![\w.])\d+(?![\w.])", s.source)}, reverse=True)
        for number in [n for n in numbers if n > 1]:
            for smaller in [n for n in (1, 2, 3, 4, 7, 8, 9, 16, 17, 32, 33, 64, 65, 256) if n < number]:
                changed = [dataclasses.replace(s, source=re.sub(rf"(?<![\w.]){number}(?![\w.])", str(smaller), s.source)) for s in statements]
                if fails(changed):
                    statements = changed
                    break
        if statements == before:
            return statements
    return statements
