"""The control flow of a script (control.py) as C: numbers are variables, conditions and loops C's, and `run_piece` runs pieces."""
from __future__ import annotations

import math
from typing import Any

from .arithmetic import C_TYPES, ELEMENTS, OPERATIONS
from .control import Fail, Finish, Give, If, Leave, Let, Load, Loop, Move, Number, Piece, Point, Put, Set, inner, left


def literal(value: Any) -> str:
    """A number, known or not, in C."""
    if isinstance(value, Number):
        return value.name
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return "INT64_MIN" if value == -1 << 63 else f"INT64_C({value})"
    return "NAN" if math.isnan(value) else ("INFINITY" if value > 0 else "-INFINITY") if math.isinf(value) else f"({value.hex()})"


class _Writer:
    def __init__(self, plan: Any) -> None:
        self.first_output, self.first_pointer = plan.first_output, plan.first_output + len(plan.outputs)
        self.lines: list[str] = []
        self.numbers: dict[str, str] = {}
        self.left = left(plan.statements)

    def block(self, statements, depth):
        margin = "  " * depth
        for each in statements:
            self.lines += [margin + line for line in self.statement(each)]
            if isinstance(each, If):
                self.block(each.then, depth + 1)
                if each.otherwise:
                    self.lines.append(f"{margin}}} else {{")
                    self.block(each.otherwise, depth + 1)
                self.lines.append(margin + "}")
            elif inner(each):
                self.block(each.body, depth + isinstance(each, Loop))
                self.lines.append(margin + ("}" if isinstance(each, Loop) else f"end{each.label}: ;"))

    def declare(self, number):
        self.numbers[number.name] = C_TYPES[number.kind]
        return number.name

    def word(self, word, kind="char"):
        return f"(({kind} *)((intptr_t)run->base[{word.base}] + {word.offset}))"

    def statement(self, each) -> list[str]:
        """The lines of a statement, without those of its blocks."""
        if isinstance(each, Piece):
            return [f"if ((error = run_piece(run, &pieces[{each.content}])) != 0) return error;"]
        if isinstance(each, Let):
            operation, out = OPERATIONS[each.operation], self.declare(each.target)
            text = operation.text.format(*map(literal, each.operands), out=out)
            if operation.fails is None:
                return [f"{out} = {text};"]
            return [f"if ((error = {text}) != 0) return error;" if operation.fails == "" else
                    f"if ({text}) return NAME_{operation.fails};"]
        if isinstance(each, Set):
            return [f"{self.declare(each.target)} = {literal(each.source)};"]
        if isinstance(each, Load):
            out, value = self.declare(each.target), f"*{self.word(each.place, 'const ' + ELEMENTS[each.dtype])}"
            check = [f"if ({value} > INT64_MAX) return NAME_OVERFLOW;"] if each.dtype == "uint64" else []
            return [*check, f"{out} = {value}{' != 0' if each.dtype == 'bool' else ''};"]
        if isinstance(each, Put):
            return [f"*{self.word(each.place, ELEMENTS[each.dtype])} = {literal(each.source)};"]
        if isinstance(each, Give):
            kind = {"bool": "uint8_t", "int": "int64_t", "float": "double"}[
                each.source.kind if isinstance(each.source, Number) else type(each.source).__name__]
            return [f"*({kind} *)(intptr_t)run->base[{self.first_output + each.output}] = {literal(each.source)};"]
        if isinstance(each, Point):
            target = f"run->base[{self.first_pointer + each.pointer}]"
            return [f"{target} = {self.word(each.place)} + {literal(each.index)} * {each.stride};"]
        if isinstance(each, Move):
            return [f"memcpy({self.word(each.target)}, {self.word(each.source, 'const char')}, {each.size});"]
        if isinstance(each, If):
            return [f"if ({each.test.name}) {{"]
        if isinstance(each, Leave):
            return [f"goto end{each.label};"]
        if isinstance(each, Fail):
            return [f"return {each.code};"]
        if isinstance(each, Finish):
            return ["return NAME_OK;"]
        return ["for (;;) {"] if isinstance(each, Loop) else []


def control_of(plan: Any, given: list[str], name: str) -> str:
    """The function that goes through a script.

    Args:
        plan: the script, staged.
        given: C of its arguments that are numbers, in order.
        name: the function's.
    """
    writer = _Writer(plan)
    for number, source in zip(plan.numbers, given):
        writer.lines.append(f"  {writer.declare(number)} = {source}{' != 0' if number.kind == 'bool' else ''};")
    writer.block(plan.statements, 1)
    numbers = "".join(f"  {kind} {name} = 0;\n" for name, kind in writer.numbers.items())
    return f"\nstatic int {name}(struct run *run) {{\n  int error;\n{numbers}" + "\n".join(writer.lines) + \
        "\n  (void)error;\n  return NAME_OK;\n}\n"
