"""The loops of a script, as staging has them: those that the library runs, and those that are written out turn by turn."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...tensor import Tensor
from ..scripting.problems import NotSupportedError
from . import arithmetic
from .arithmetic import is_number
from .control import Block, Loop, Number, Set
from .merging import Unmerged, alike, is_container, said, same, unmerged
from .stagedcalls import Range

FEW_TURNS = 8                                            # a range of so many known turns, with those around it, is written out
MOST_TURNS = 1000                                        # one of more is a loop, or refused


class Learnt(Exception):
    """Something that has to be known from the beginning on: go through the script anew."""


class Around(NamedTuple):
    """A loop around a statement: the blocks that `break` and `continue` leave, and how things stood where they did."""

    exit: int
    again: int
    breaks: list
    continues: list


class Loops:
    """What staging knows of loops."""

    known: Any
    path: list
    frames: list
    copies: int                                          # of the body of the innermost loop, in loops that are written out

    if TYPE_CHECKING:                                    # what stands in the other files of staging
        def __getattr__(self, name: str) -> Any: ...

    # ------------------------------------------------------------ loops
    def _do_While(self, node):
        key = (*self.path, id(node))

        def test(around):
            holds = self.condition(node.test)
            if holds is False:
                self.leave(around.breaks, around.exit)
                return False
            if holds is not True:
                self.branch(holds, lambda: True, lambda: self.leave(around.breaks, around.exit))
            return True

        def turns():
            for _ in range(MOST_TURNS + 1):
                holds = self.condition(node.test)
                if not isinstance(holds, bool):
                    raise self.known.unrolled[key]
                if not holds:
                    return
                yield lambda: None
            raise self.known.unrolled[key]
        if key in self.known.unrolled:
            return self.written_out(node, turns())
        return self.loop(key, node, test, lambda: None, not isinstance(node.test, ast.Constant))

    def _do_For(self, node):
        key = (*self.path, id(node))
        iterated = self.evaluate(node.iter)
        rows, item = iterated, lambda i: i
        if isinstance(rows, Tensor):
            iterated, item = Range(0, self.apply(len, rows), 1), lambda i: self.element(rows, i)
        if isinstance(iterated, Range) and not (iterated.is_known() and (len(iterated.known()) * self.copies <= FEW_TURNS or
                                                                         key in self.known.unrolled)):
            return self._counted(key, node, iterated, item)
        items, before = self.parts(iterated), self.copies
        self.copies *= max(len(items), 1)
        goes_on = self.written_out(node, (lambda each=each: self.store(node.target, item(each)) for each in items))
        self.copies = before
        return goes_on

    def _counted(self, key, node, steps, item):
        """A loop over a range, with a counter that the script does not see."""
        length = len(steps.known()) if steps.is_known() else self.let("range.length", steps.start, steps.stop, steps.step)
        counter = self.new_number("int", 0)
        self.emit(Set(counter, 0))

        def test(around):
            self.branch(self.let("int.lt", counter, length), lambda: True, lambda: self.leave(around.breaks, around.exit))
            if (steps.start, steps.step) == (0, 1) if steps.is_known() else False:
                number = self.let("int.add", counter, 0)
            else:
                number = self.let("int.add", steps.start, self.let("int.mul", counter, steps.step))
            self.store(node.target, item(number))
            return True

        def again():
            self.emit(Set(counter, self.let("int.add", counter, 1)))
        return self.loop(key, node, test, again, steps.is_known() and len(steps.known()) <= MOST_TURNS)

    def loop(self, key: tuple, node: ast.stmt, test: Callable, again: Callable, is_counted: bool) -> bool:
        """A loop that the library runs.

        Args:
            key: what is known of it stands there.
            node: the statement.
            test: leaves the loop where it ends, at the beginning of a turn; says whether a turn is reached at all.
            again: done at the end of a turn.
            is_counted: whether it could be written out.
        """
        frame = self.frames[-1]
        around = Around(self.label(), self.label(), [], [])
        carried = self.known.carried.setdefault(key, {})
        slots = self._begin(carried)
        block, loop = Block(around.exit, []), Loop([])
        self.emit(block)
        block.body.append(loop)
        head = self.held()
        versions = {id(root): (root, self.writes(root)) for root in map(self.root, self.leaves(head))}
        self.path.append(id(node))
        frame.loops.append(around)

        def turn():
            if not test(around):
                return
            inside = Block(around.again, [])
            self.emit(inside)

            def once():
                if self.body(node.body):  # type: ignore[attr-defined]
                    self.leave(around.continues, around.again)
            self.into(inside.body, once)
            if around.continues:
                self.merge(around.continues)
                self._end(key, head, slots, versions)
                again()
        try:
            self.into(loop.body, turn)
        except NotSupportedError as error:
            if not self.is_stale and (not is_counted or key in self.known.unrolled):
                raise
            if not self.is_stale:
                self.known.unrolled[key] = error
            raise Learnt from None
        finally:
            frame.loops.pop()
            self.path.pop()
        self.merge(around.breaks)
        return bool(around.breaks)

    def written_out(self, node: ast.stmt, turns: Any) -> bool:
        """A loop, turn by turn.

        Args:
            node: the statement.
            turns: what is done at the beginning of each.
        """
        frame, exit, breaks = self.frames[-1], self.label(), []
        block, goes_on = Block(exit, []), True
        self.emit(block)

        def run():
            nonlocal goes_on
            for number, begin in enumerate(turns):
                around = Around(exit, self.label(), breaks, [])
                inside = Block(around.again, [])
                frame.loops.append(around)
                self.path += id(node), number
                begin()
                self.emit(inside)

                def once(around=around):
                    if self.body(node.body):
                        self.leave(around.continues, around.again)
                self.into(inside.body, once)
                self.merge(around.continues)
                del self.path[-2:]
                frame.loops.pop()
                if not around.continues:
                    goes_on = False
                    return
            self.leave(breaks, exit)
        self.into(block.body, run)
        self.merge(breaks)
        return bool(breaks)

    def _begin(self, carried):
        """Have what a loop changes stand in variables of the loop. Returns these by place."""
        held, slots = self.held(), {}

        def made(value, place):
            how = carried.get(place)
            if how == "other":
                return Unmerged(carried[place, "why"])  # type: ignore[index]
            if how == "carried" and isinstance(value, Tensor):
                slot = slots[place] = self.memory(value.layout, "slot")
                moves: list = []
                self.copy(slot, value, moves)
                self.emit(moves)
                self.note(slot, value, held, self.writes(self.root(value)))
                return slot
            if how == "carried" and is_number(value):
                number = slots[place] = self.new_number(arithmetic.kind_of(value), getattr(value, "value", value))
                self.emit(Set(number, value))
                return number
            if isinstance(value, tuple):
                parts = [made(each, (*place, i)) for i, each in enumerate(value)]
                return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
            if is_container(value):
                result = value.copy() if how == "container" else value
                for name, each in list(value.items() if isinstance(value, dict) else enumerate(value)):
                    result[name] = made(each, (*place, name))
                return result
            return value
        for depth, frame in enumerate(self.frames):
            for name in list(frame.env):
                frame.env[name] = made(frame.env[name], (depth, name))
        return slots

    def _end(self, key, head, slots, versions):
        """The end of a turn: what the next one begins with goes where it finds it."""
        carried = self.known.carried[key]
        changes: dict[tuple, Any] = {}
        tensors: list = []
        numbers: list = []

        def look(was, now, place):
            if place in slots:
                slot = slots[place]
                if isinstance(now, Unmerged):
                    changes[place] = "other", now.reason
                elif isinstance(slot, Tensor) and isinstance(now, Tensor) and alike(slot.layout, now.layout):
                    if not same(slot, now):
                        tensors.append((slot, now))
                elif isinstance(slot, Number) and is_number(now) and arithmetic.kind_of(now) == slot.kind:
                    if now is not slot:
                        numbers.append((slot, now))
                else:
                    changes[place] = "other", f"{said(was)} before a turn of a loop and {said(now)} after it"
            elif isinstance(was, Unmerged):
                return
            elif is_container(was) and type(was) is type(now):
                contents = head[id(was)][1]
                if (list(contents) if isinstance(contents, dict) else len(contents)) != (
                        list(now) if isinstance(now, dict) else len(now)):
                    changes[place] = "other", f"a {type(was).__name__} that grows or shrinks in a loop"
                    return
                if was is not now and carried.get(place) != "container":
                    changes[place] = "container", None
                for name in contents if isinstance(contents, dict) else range(len(contents)):
                    look(contents[name], now[name], (*place, name))
            elif isinstance(was, tuple) and type(was) is type(now) and len(was) == len(now):
                for i, (a, b) in enumerate(zip(was, now)):
                    look(a, b, (*place, i))
            elif not same(was, now):
                can = (isinstance(was, Tensor) and isinstance(now, Tensor)) or (is_number(was) and is_number(now))
                changes[place] = ("carried", None) if can else ("other", unmerged([was, now]).reason)
        for depth, frame in enumerate(self.frames):
            contents = head[id(frame.env)][1]
            for name, was in contents.items():
                if name in frame.env:
                    look(was, frame.env[name], (depth, name))
        for place, (how, why) in changes.items():
            if carried.get(place) != how:
                carried[place] = how
                carried[place, "why"] = why  # type: ignore[index]
        if changes:
            self.is_stale = True
        else:
            self._carry(tensors, numbers, slots, versions)

    def _carry(self, tensors, numbers, slots, versions):
        moves: list = []
        memories = {id(slot.memory) for slot in slots.values() if isinstance(slot, Tensor)}
        held = self.held()
        late = []
        for slot, now in tensors:
            root = self.root(now)
            self.note(slot, now, held, versions.get(id(root), (root, self.writes(root)))[1])
            if id(root) in memories:                     # another variable's, which may be written before this one is read
                between = self.memory(slot.layout, "slot")
                self.copy(between, now, moves)
                now = between
            late.append((slot, now))
        for slot, now in late:
            self.copy(slot, now, moves)
        between = [(slot, now, self.new_number(slot.kind, slot.value)) for slot, now in numbers]
        moves += [Set(number, now) for _, now, number in between] + [Set(slot, number) for slot, _, number in between]
        self.emit(moves)
