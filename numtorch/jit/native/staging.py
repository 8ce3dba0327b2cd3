"""A script as a program of launches, numbers, loops and conditions (control.py), made by going through its tree once.

That is partial evaluation. What is known beforehand (layouts, lists, strings, modules, numbers that depend on no elements) is done
here and now; calls of ops are made on tensors of the right layouts, so that a capture writes down their launches; and what depends
on elements becomes statements. Both ends of such a condition are gone through, and the body of such a loop once.

Going through happens several times before it is captured: every plan is then made, as for any capture. It begins anew whenever a
loop turns out to change something, which then is a variable of the loop (*carried*); and where the body of a loop with known turns
needs to know what a carried number is, the loop is written out turn by turn.
"""
from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ...tree import flatten
from ..graphs.graph import shown
from ..scripting.problems import NotSupportedError, refuse
from ..scripting.units import Script
from . import arithmetic
from .arithmetic import OPERATIONS, PLACEHOLDER, Arithmetic, is_number
from .control import FIRST_MESSAGE, Block, Fail, Finish, Give, If, Leave, Let, Move, Number, Output, Piece
from .evaluating import Ended, Evaluating
from .loops import Around, Learnt, Loops
from .merging import Merging, State, Unmerged, said


class Frame:
    """A call of a function of the script.

    Args:
        script: the function.
        env: its variables.
        label: of the block that a `return` leaves.
    """

    def __init__(self, script: Script, env: dict, label: int | None) -> None:
        self.script, self.env, self.label = script, env, label
        self.names = script.function.__globals__
        self.returns: list[State] = []
        self.loops: list[Around] = []


class Findings:
    """What is known of a script before it is gone through.

    Attributes:
        carried: what a loop changes, by the loop: places of variables, with what becomes of each.
        unrolled: loops that are written out, with what is wrong where they are not.
        constants: tensors of known numbers, which the script makes.
    """

    def __init__(self) -> None:
        self.carried: dict[tuple, dict[tuple, str]] = {}
        self.unrolled: dict[tuple, Exception] = {}
        self.constants: dict[tuple, Tensor] = {}


class Stager(Loops, Evaluating, Merging):
    """Goes through a script once.

    Args:
        known: what earlier ways through it found out.
        watch: the capture, or None.
        held_at_ends: where it is a list, the tensors that all variables hold are added to it, as a list of copies wherever a way
            through the script ends.

    Attributes:
        program: the statements.
        numbers_given: the arguments that are numbers.
        element_read_at: where an element of a tensor is first read: (script, node), or None.
        results: of what kind each result is, as the first `return` has it.
        messages: of the script's own errors, from the code FIRST_MESSAGE on.
        is_stale: whether a loop turned out to change what was not known to change: the way through is gone to its end, to find out
            more, and is not the last.
    """

    def __init__(self, known: Findings, watch: Any = None, held_at_ends: list | None = None) -> None:
        super().__init__()
        self.known, self.watch, self.held_at_ends = known, watch, held_at_ends
        self.numbers_given: list[Number] = []
        self.element_read_at: tuple | None = None
        self.program: list = []
        self.block = self.program
        self.frames: list[Frame] = []
        self.nodes: list = []
        self.path: list = []
        self.labels = self.pointers = self.done = self.evaluated = 0
        self.is_stale, self.copies = False, 1
        self.lines: list = []
        self.results: Any = None
        self.messages: list[str] = []
        self.arithmetic = Arithmetic(self.let)

    # ------------------------------------------------------------ errors
    def refuse(self, message: str, node: Any = None) -> Any:
        """Refuse what stands at a node, by default the one that is being looked at."""
        script, at = self.nodes[-1]
        refuse(script.source, node or at, f"export_native: {message}", NotSupportedError)

    # ------------------------------------------------------------ statements of the program
    def flush(self) -> None:
        """Put what was captured since the last statement behind it."""
        if self.watch is not None:
            items = self.watch.items[self.done:]
            if items:
                self.block.append(Piece([(item, self.nodes[-1] if self.nodes else None) for item in items]))
            self.done = len(self.watch.items)

    def emit(self, statement: Any) -> None:
        self.flush()
        self.block.append(statement)

    def let(self, operation: str, *operands: Any) -> Number:
        """A number that an operation gives.

        Args:
            operation: of `arithmetic.OPERATIONS`.
            operands: numbers.
        """
        known = OPERATIONS[operation]
        try:
            value = known.python(*[each.value if isinstance(each, Number) else each for each in operands])
            if type(value).__name__ != known.kind or (known.kind == "int" and not -1 << 63 <= value < 1 << 63):
                value = PLACEHOLDER[known.kind]
        except (ArithmeticError, ValueError, IndexError):
            value = PLACEHOLDER[known.kind]
        made = self.new_number(known.kind, value)
        self.emit(Let(made, operation, operands))
        return made

    def constant(self, text: str, make: Callable) -> Tensor:
        """A tensor that the script makes of known numbers, made on the first way through it.

        Args:
            text: what it is made of.
            make: makes it.
        """
        key = (*self.path, id(self.nodes[-1][1]), text)
        if key not in self.known.constants:
            if self.watch is not None:
                raise Learnt
            self.known.constants[key] = self.apply(make)
        return self.known.constants[key]

    def label(self) -> int:
        self.labels += 1
        return self.labels

    def into(self, block: list, run: Callable) -> Any:
        """Run something whose statements go into a block.

        Args:
            block: it.
            run: a function.
        """
        self.flush()
        before, self.block = self.block, block
        try:
            return run()
        finally:
            self.flush()
            self.block = before

    def leave(self, states: list, label: int) -> None:
        """Leave a block, with how things stand.

        Args:
            states: how they stood wherever it was left so far.
            label: of the block.
        """
        states.append(self.state())
        self.emit(Leave(label))

    def branch(self, test: Number, then: Callable, otherwise: Callable) -> bool:
        """A condition that the library decides.

        Args:
            test: a bool.
            then, otherwise: what is done; each says whether what follows is reached.

        Returns:
            Whether what follows is reached.
        """
        statement = If(test, [], [])
        self.emit(statement)
        before, states = self.held(), []
        for block, run in ((statement.then, then), (statement.otherwise, otherwise)):
            self.restore(before)

            def end(run=run):
                if run():
                    states.append(self.state())
            self.into(block, end)
        self.merge(states)
        return bool(states)

    def state(self) -> State:
        made = super().state()
        self.look_at(self.leaves(made.held))
        return made

    def look_at(self, tensors: list) -> None:
        """Keep copies of tensors, where these are wanted."""
        if self.held_at_ends is not None:
            self.held_at_ends.append([each.clone() for each in tensors])

    # ------------------------------------------------------------ functions
    def call_script(self, script: Script, args: tuple, kwargs: dict) -> Any:
        """What a function of the script returns."""
        label = self.label()
        frame = Frame(script, self.bound(script, args, kwargs), label)
        node = self.nodes[-1][1]
        self.frames.append(frame)
        self.path.append(id(node))
        block = Block(label, [])
        self.emit(block)

        def run():
            if self.body(script.made.body):
                frame.env["return"] = None
                self.leave(frame.returns, label)
        self.into(block.body, run)
        self.merge(frame.returns)
        self.path.pop()
        self.frames.pop()
        if not frame.returns:
            raise Ended
        return self.usable(frame.env["return"], "what it returns")

    def run(self, script: Script, args: tuple) -> None:
        """Go through the whole script.

        Args:
            script: the function.
            args: tensors, and numbers that may be known or not.
        """
        self.arguments = [(each, self.writes(each.memory)) for each in args if isinstance(each, Tensor)]
        self.observe = sys.getprofile()
        sys.setprofile(None)
        self.nodes.append((script, script.tree))
        self.frames.append(Frame(script, self.bound(script, args, {}), None))
        if self.body(script.made.body):
            self.refuse("the script returns nothing")
        self.flush()
        if self.is_stale:
            raise Learnt
        if self.results is None:
            self.refuse("the script never returns for arguments of these layouts")

    def body(self, statements: list) -> bool:
        """Go through statements. Returns whether what follows them is reached."""
        script = self.frames[-1].script
        for statement in statements:
            self.nodes.append((script, statement))
            try:
                goes_on = getattr(self, f"_do_{type(statement).__name__}")(statement)
                if any(self.writes(tensor.memory) != writes for tensor, writes in self.arguments):
                    self.refuse("this writes to an argument: clone() it first")
                if not goes_on:
                    return False
            except Ended:
                return False
            finally:
                self.flush()
                self.nodes.pop()
        return True

    # ------------------------------------------------------------ statements of the script
    def _do_Pass(self, node):
        return True

    def _do_Expr(self, node):
        self.evaluate(node.value)
        return True

    def _do_Return(self, node):
        frame = self.frames[-1]
        value = None if node.value is None else self.evaluate(node.value)
        if frame.label is None:
            self.finish(value)
            self.emit(Finish())
        else:
            frame.env["return"] = value
            self.leave(frame.returns, frame.label)
        return False

    def _do_Break(self, node):
        around = self.frames[-1].loops[-1]
        self.leave(around.breaks, around.exit)
        return False

    def _do_Continue(self, node):
        around = self.frames[-1].loops[-1]
        self.leave(around.continues, around.again)
        return False

    def _do_Assign(self, node):
        value = self.evaluate(node.value)
        for target in node.targets:
            self.store(target, value)
        return True

    def _do_AugAssign(self, node):
        symbol, target = node.op, node.target
        if isinstance(target, ast.Name):
            read: Callable = lambda: self.evaluate(ast.Name(target.id, ast.Load()))
            write: Callable = lambda value: self.store(target, value)
        elif isinstance(target, ast.Subscript):
            owner, index = self.evaluate(target.value), self.evaluate(target.slice)
            read, write = lambda: self.element(owner, index), lambda value: self.set_element(owner, index, value)
        else:
            owner = self.evaluate(target.value)
            read, write = lambda: self.attribute(owner, target.attr), lambda value: self.set_attribute(owner, target.attr, value)
        before = read()
        write(self.binary(symbol, before, self.evaluate(node.value), in_place=True))
        return True

    def store(self, target: ast.expr, value: Any) -> None:
        """Assign a value."""
        if isinstance(target, ast.Name):
            self.frames[-1].env[target.id] = value
        elif isinstance(target, ast.Tuple):
            parts = self.parts(value)
            for place, each in enumerate(target.elts):
                if isinstance(each, ast.Starred):        # of a tuple, whose length the checker knows
                    end = len(parts) - (len(target.elts) - place - 1)
                    parts[place:end] = [parts[place:end]]
            if len(parts) != len(target.elts):
                self.refuse(f"{len(target.elts)} values are wanted, and there are {len(parts)}")
            for each, part in zip(target.elts, parts):
                self.store(each, part)
        elif isinstance(target, ast.Starred):
            self.store(target.value, value)
        elif isinstance(target, ast.Subscript):
            self.set_element(self.evaluate(target.value), self.evaluate(target.slice), value)
        else:
            self.set_attribute(self.evaluate(target.value), target.attr, value)  # type: ignore[attr-defined]

    def _do_Delete(self, node):
        for target in node.targets:
            if isinstance(target, ast.Name):             # nothing reads it any more
                self.frames[-1].env.pop(target.id, None)
            else:
                self.apply(operator.delitem, self.evaluate(target.value), self.evaluate(target.slice))
        return True

    def _do_With(self, node):
        if any(self.turns_on(item.context_expr) for item in node.items):
            self.refuse("gradients are not computed in a library: `with torch.no_grad()` may stand in it, and has no effect")
        return self.body(node.body)

    def turns_on(self, call):
        """Whether a `with` turns gradients on."""
        return self.frames[-1].names[call.func.id].__name__ not in ("no_grad", "record_function")

    def _do_Assert(self, node):
        test = self.condition(node.test)
        if test is True:
            return True
        message = f"AssertionError: {self.message(node.msg)}" if node.msg is not None else "AssertionError"
        if test is False:
            return self.fail(message)
        self.branch(test, lambda: True, lambda: self.fail(message))
        return True

    def _do_Raise(self, node):
        call = node.exc
        name = self.frames[-1].names[(call.func if isinstance(call, ast.Call) else call).id].__name__
        given = [self.message(each) for each in (call.args if isinstance(call, ast.Call) else [])]
        return self.fail(f"{name}: {', '.join(given)}" if given else name)

    def fail(self, message: str) -> bool:
        """End with an error of the script's own."""
        script, node = self.nodes[-1]
        line = f"line {node.lineno} of {script.name}: {message}"
        if line not in self.messages:
            self.messages.append(line)
        self.emit(Fail(FIRST_MESSAGE + self.messages.index(line)))
        return False

    def _do_If(self, node):
        test = self.condition(node.test)
        if isinstance(test, bool):
            return self.body(node.body if test else node.orelse)
        return self.branch(test, lambda: self.body(node.body), lambda: self.body(node.orelse))

    # ------------------------------------------------------------ results
    def finish(self, value: Any) -> None:
        """Write the results: tensors, and numbers.

        Args:
            value: what the script returns.
        """
        leaves, form = flatten(value)
        kinds: list = []
        for each in leaves:
            self.usable(each, "a result")
            if not isinstance(each, Tensor) and not is_number(each):
                self.refuse(f"a result is {said(each)}: a library returns tensors and numbers")
            kinds.append(each.layout.dense() if isinstance(each, Tensor) else arithmetic.kind_of(each))
        if not kinds:
            self.refuse("the script returns nothing")
        if self.results is None:
            self.results, self.form = kinds, form
        elif (kinds, form) != (self.results, self.form):
            self.refuse(f"results are {_listed(kinds)} here, and {_listed(self.results)} at another `return`")
        self.look_at([each for each in leaves if isinstance(each, Tensor)])
        for number, each in enumerate(leaves):
            if not isinstance(each, Tensor):
                self.emit(Give(number, each))
                continue
            if not each.layout.contiguous:
                each = self.apply(each.contiguous)
            if each.layout.nbytes:
                self.emit(Move(Output(number), each.address, each.layout.nbytes))

    # ------------------------------------------------------------ variables
    def usable(self, value: Any, what: str) -> Any:
        """A value, unless it is none on some way."""
        if isinstance(value, Unmerged):
            self.refuse(f"{what} is {value.reason}: have it be of one type and one shape")
        return value

    def is_outer(self, storage: Any) -> bool:
        """Whether a storage was there before the program: an argument's, a weight's."""
        return self.watch is not None and not hasattr(storage, "life") and id(storage) not in self.own

    def check_copies(self) -> None:
        """Refuse writes in place to what was copied into a slot and lives on as something else."""
        for each in self.copied:
            if self.writes(each.slot) != each.writes or self.writes(each.source) != each.source_writes:
                self.nodes.append(each.place)
                self.refuse("a loop or condition gives a tensor to a variable and keeps it under another name too, and one "
                            "of them is written in place: clone() it first")


def _listed(kinds):
    return ", ".join(each if isinstance(each, str) else shown(each) for each in kinds)
