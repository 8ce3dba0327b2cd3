"""A script for arguments of some layouts: staged, captured, and every address as what it points into."""
from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..capturing.capture import Watch
from ..capturing.places import Spans, alive, version
from ..graphs.scriptcalls import calls_scripts
from ..scripting.hooks import scripts_of
from ..scripting.kinds import ANY, UNIT
from ..scripting.problems import NotSupportedError, refuse
from ..scripting.units import Script, TracedFunction, Unit, parsed
from .control import Block, If, Load, Loop, Move, Output, Piece, Point, Put, simplified
from .recording import CALLS, CaptureReader, Copy
from .staging import Findings, Learnt, Stager
from .words import INPUTS, WORKSPACE, Data, NotExportable, Word

MOST_WAYS = 2000                                         # that a script is gone through
TRIES = 2                                                # of a capture that seems to do what none can


def script_of(function: Any) -> tuple[Script, tuple] | None:
    """The script that a function or module runs, with what it is given first; None where it is none. For a trace that calls
    scripts, and a module that has hooks, it is one that calls these.

    Args:
        function: what `jit.script` or `jit.load` returned, or anything.
    """
    own = getattr(function, "__dict__", {})
    program = own.get("_program")
    if program is not None and calls_scripts(program.graph):
        return _calling(function, len(program.structure)), ()
    script, given = (own["_script"], ()) if "_script" in own else (own.get("_scripts", {}).get("forward"), (function,))
    if not isinstance(script, Script):
        return None
    return (_calling(function, len(script.places)), ()) if given and scripts_of(function) else (script, given)


def _calling(function, count):
    """A script that calls a function or module with so many arguments."""
    unit, names = Unit(), ", ".join(f"x{i}: Any" for i in range(count))
    given = ", ".join(f"x{i}" for i in range(count))
    unit.functions["called"] = TracedFunction("called", function, ANY)
    return parsed(unit, f"def call({names}):\n    return {UNIT}.called({given})\n", "<call>").ready()


def gone_through(script: Script, first: tuple, given: tuple, known: Findings, watch: Any = None,
                 held: list | None = None) -> Stager | None:
    """A script, gone through once; None where something turned out that has to be known from the beginning.

    Args:
        script: a function.
        first: what it is given before its arguments: its module.
        given: tensors and numbers.
        known: what earlier ways through it found out, to which this one adds.
        watch: a capture.
        held: what the variables hold wherever ways end is added to it (Stager).
    """
    stager = Stager(known, watch, held)
    stager.numbers_given = [stager.new_number(type(each).__name__, each) for each in given if not isinstance(each, Tensor)]
    numbers = iter(stager.numbers_given)
    args = (*first, *[each if isinstance(each, Tensor) else next(numbers) for each in given])
    try:
        if watch is None:
            stager.run(script, args)
        else:
            watch.run(stager.run, (script, args), {})
    except Learnt:
        return None
    except NotSupportedError:
        if stager.is_stale:
            return None
        raise
    return stager


class Staged:
    """A script, gone through and captured for arguments of some layouts.

    Args:
        script: a function.
        first: what it is given before its arguments: its module.
        given: tensors and numbers.
        data: what the library holds; what the script needs is added.
        pieces: the steps of each piece of the library; those of the script are added.

    Attributes:
        statements: what it does (control.py).
        numbers: the arguments that are numbers.
        outputs: layouts of results, and of numbers their kinds.
        workspace: bytes that a call needs.
        pointers: how many are set at run time.
        messages: of the script's own errors.
        known: what was found out of it.
        element_read_at: where it first reads an element of a tensor: (script, node); None where it reads none.
    """

    def __init__(self, script: Script, first: tuple, given: tuple, data: Data, pieces: list) -> None:
        self.pieces, self.known = pieces, Findings()
        self.first_output = INPUTS + len(given)
        ways = tries = 0
        for _ in range(MOST_WAYS):
            watch = Watch() if ways == CALLS - 1 else None
            versions = {id(s): version(s) for s in alive()} if watch is not None else {}
            try:
                stager = gone_through(script, first, given, self.known, watch)
            except NotSupportedError:
                if watch is None or tries == TRIES:
                    raise
                tries += 1                               # something that died meanwhile may have run code of its own
                continue
            ways = 0 if stager is None else ways + 1
            if stager is not None and watch is not None:
                break
        else:
            raise RuntimeError("export_native: the script's loops are nested too deeply")
        stager.check_copies()
        watch.memory.close()
        self.numbers, self.element_read_at = stager.numbers_given, stager.element_read_at
        self.outputs, self.messages, self.pointers = stager.results, stager.messages, stager.pointers
        self._resolve(script, stager, CaptureReader(watch, given, versions, data))

    def _resolve(self, script, stager, reader):
        """Find what all addresses point into."""
        memory = self.memory = reader.memory
        first_pointer = self.first_output + len(self.outputs)
        memory.places = Spans([(address, size, Word(first_pointer + what, 0) if isinstance(what, int) else
                                Word(WORKSPACE, memory.reserve(size))) for address, size, what, _ in stager.places])
        self.script, self.reader, self.node = script, reader, None
        try:
            statements = self._resolved(simplified(stager.program))
            if memory.copies:
                self.pieces.append([Copy(*each) for each in memory.copies])
                statements.insert(0, Piece(len(self.pieces) - 1))
        except NotExportable as error:
            own, node = self.node or (script, script.tree)
            refuse(own.source, node, f"export_native: {error}", NotSupportedError)
        self.statements = simplified(statements)
        self.workspace = memory.workspace
        del self.memory, self.reader

    def _resolved(self, statements):
        made: list = []
        for each in statements:
            if isinstance(each, Piece):
                steps = []
                for item, self.node in each.content:
                    steps += self.reader.read([item])
                self.pieces.append(steps)
                each = Piece(len(self.pieces) - 1)
            elif isinstance(each, (Load, Put, Point)):
                each = each._replace(place=self._word(each.place))
            elif isinstance(each, Move):
                each = Move(self._word(each.target), self._word(each.source), each.size)
            elif isinstance(each, If):
                each = If(each.test, self._resolved(each.then), self._resolved(each.otherwise))
            elif isinstance(each, (Loop, Block)):
                each = each._replace(body=self._resolved(each.body))
            made.append(each)
        return made

    def _word(self, place):
        return Word(self.first_output + place.number, 0) if isinstance(place, Output) else self.memory.locate(place)
