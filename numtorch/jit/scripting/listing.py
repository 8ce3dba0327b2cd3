"""A script as a graph with blocks, for people to read: each call gives a value, loops and conditions hold blocks."""
from __future__ import annotations

import ast

from . import vocabulary

_OPERATIONS = {
    ast.Add: "aten::add",
    ast.Sub: "aten::sub",
    ast.Mult: "aten::mul",
    ast.Div: "aten::div",
    ast.FloorDiv: "aten::floordiv",
    ast.Mod: "aten::remainder",
    ast.Pow: "aten::pow",
    ast.MatMult: "aten::matmul",
    ast.Eq: "aten::eq",
    ast.NotEq: "aten::ne",
    ast.Lt: "aten::lt",
    ast.LtE: "aten::le",
    ast.Gt: "aten::gt",
    ast.GtE: "aten::ge",
    ast.Is: "aten::__is__",
    ast.IsNot: "aten::__isnot__",
    ast.In: "aten::__contains__",
    ast.USub: "aten::neg",
    ast.Not: "aten::__not__",
    ast.Invert: "aten::bitwise_not",
    ast.BitAnd: "aten::__and__",
    ast.BitOr: "aten::__or__",
    ast.BitXor: "aten::__xor__",
    ast.LShift: "aten::__lshift__",
    ast.RShift: "aten::__rshift__",
    ast.And: "aten::__and__",
    ast.Or: "aten::__or__",
}


class Listing:
    """The lines of one function.

    Args:
        script: it.
    """

    def __init__(self, script) -> None:
        self.lines: list[str] = []
        self.depth, self.count = 1, 0
        kinds = dict(script.arguments)
        itself = "" if script.owner is None else vars(script.owner).get("_original_name", script.owner)
        given = [f"%{each.arg} : {kinds.get(each.arg, itself)}" for each in [*script.tree.args.args, *script.tree.args.kwonlyargs]]
        self.head = f"graph({', '.join(given)}):"
        self.block(script.tree.body)

    def __str__(self) -> str:
        return "\n".join([self.head, *self.lines]) + "\n"

    __repr__ = __str__

    def line(self, text):
        self.lines.append("  " * self.depth + text)

    def value(self, text):
        """A line that gives a value, and its name."""
        self.count += 1
        self.line(f"%{self.count} = {text}")
        return f"%{self.count}"

    def block(self, statements):
        for statement in statements:
            self.statement(statement)

    def blocks(self, *parts):
        self.depth += 1
        for number, (names, statements) in enumerate(parts):
            self.line(f"block{number}({names}):")
            self.depth += 1
            self.block(statements)
            self.depth -= 1
        self.depth -= 1

    def statement(self, node):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            if node.value is not None:
                value = self.of(node.value)
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self.line(f"{self.target(target)} = {value}")
        elif isinstance(node, ast.AugAssign):
            target = self.target(node.target)
            self.line(f"{target} = {_OPERATIONS.get(type(node.op), type(node.op).__name__)}_({target}, {self.of(node.value)})")
        elif isinstance(node, ast.If):
            self.line(f"prim::If({self.of(node.test)})")
            self.blocks(("", node.body), *([("", node.orelse)] if node.orelse else []))
        elif isinstance(node, ast.For):
            self.line(f"prim::Loop({self.of(node.iter)})")
            self.blocks((self.target(node.target), node.body))
        elif isinstance(node, ast.While):
            self.line(f"prim::Loop({ast.unparse(node.test)})")
            self.blocks(("", node.body))
        elif isinstance(node, ast.With):
            self.line(f"prim::With({', '.join(self.of(item.context_expr) for item in node.items)})")
            self.blocks(("", node.body))
        elif isinstance(node, ast.Return):
            self.line(f"return ({'' if node.value is None else self.of(node.value)})")
        elif isinstance(node, ast.Raise):
            self.line(f"prim::RaiseException({self.of(node.exc)})")
        elif isinstance(node, ast.Assert):
            self.line(f"prim::Assert({self.of(node.test)}{'' if node.msg is None else ', ' + ast.unparse(node.msg)})")
        elif isinstance(node, ast.Expr):
            self.of(node.value)
        else:
            self.line(f"prim::{type(node).__name__}()")

    def target(self, node):
        if isinstance(node, (ast.Tuple, ast.List)):
            return ", ".join(map(self.target, node.elts))
        if isinstance(node, ast.Starred):
            return f"*{self.target(node.value)}"
        if isinstance(node, ast.Name):
            return f"%{node.id}"
        return f"{self.of(node.value)}[{self.of(node.slice)}]" if isinstance(node, ast.Subscript) else f"%{ast.unparse(node)}"

    def of(self, node) -> str:
        """The name of an expression's value."""
        if isinstance(node, ast.Name):
            return f"%{node.id}"
        if isinstance(node, ast.Constant):
            return repr(node.value)
        if isinstance(node, ast.BinOp):
            return self.value(f"{_OPERATIONS[type(node.op)]}({self.of(node.left)}, {self.of(node.right)})")
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.operand, ast.Constant):
                return ast.unparse(node)
            return self.value(f"{_OPERATIONS.get(type(node.op), 'prim::Plus')}({self.of(node.operand)})")
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self.value(
                f"{_OPERATIONS.get(type(node.ops[0]), 'aten::not_in')}({self.of(node.left)}, {self.of(node.comparators[0])})"
            )
        if isinstance(node, ast.Tuple):
            return self.value(f"prim::TupleConstruct({', '.join(map(self.of, node.elts))})")
        if isinstance(node, ast.List):
            return self.value(f"prim::ListConstruct({', '.join(map(self.of, node.elts))})")
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Subscript):
            return self.value(f"aten::__getitem__({self.of(node.value)}, {self.of(node.slice)})")
        if isinstance(node, ast.Attribute):
            root = node
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in ("torch", "math"):
                return ast.unparse(node)
            return self.value(f'prim::GetAttr[name="{node.attr}"]({self.of(node.value)})')
        return ast.unparse(node)

    def call(self, node):
        given = [self.of(each) for each in node.args] + [f"{each.arg}={self.of(each.value)}" for each in node.keywords]
        path = ast.unparse(node.func)
        if path.startswith("torch."):
            return self.value(f"aten::{path.removeprefix('torch.').removeprefix('nn.functional.')}({', '.join(given)})")
        if path.startswith("__torch__."):
            return self.value(f'prim::CallFunction[name="{path.removeprefix("__torch__.")}"]({", ".join(given)})')
        if isinstance(node.func, ast.Name):
            if path == "getattr":
                return self.value(f'prim::GetAttr[name="{node.args[1].value}"]({given[0]})')
            if path in vocabulary.BUILTINS or path in ("isinstance", "hasattr", "annotate"):
                return self.value(f"prim::{path}({', '.join(given)})")
            return self.value(f'prim::CallMethod[name="forward"]({", ".join([f"%{path}", *given])})')
        if isinstance(node.func, ast.Attribute):
            root = node.func
            while isinstance(root, ast.Attribute):
                root = root.value
            owner = self.of(node.func.value)
            if isinstance(root, ast.Name) and root.id == "self":
                return self.value(f'prim::CallMethod[name="{node.func.attr}"]({", ".join([owner, *given])})')
            return self.value(f"aten::{node.func.attr}({', '.join([owner, *given])})")
        return self.value(f"prim::Call({', '.join([self.of(node.func), *given])})")


def listed(script) -> Listing:
    """The listing of a script.

    Args:
        script: it, checked.
    """
    return Listing(script)
