"""Scripts as programs of a library: staged, captured, and every address as what it points into."""
from __future__ import annotations

from typing import Any

from ...autograd.modes import no_grad
from ...tensor import Tensor
from ..capturing.capture import Watch
from ..capturing.places import Spans, alive, version
from ..scripting.kinds import FLOAT
from ..scripting.problems import NotSupportedError, refuse
from ..scripting.units import Script
from .control import Block, If, Load, Loop, Move, Number, Output, Piece, Point, Put, listing, simplified
from .recording import CALLS, Copy, Reader
from .staging import Known, Learnt, Stager
from .words import INPUTS, WORKSPACE, Data, Unknown, Word

MOST_WAYS = 2000                                         # that a script is gone through
TRIES = 2                                                # of a capture that seems to do what none can


def script_of(function: Any) -> tuple[Script, tuple] | None:
    """The script that a function or module runs, with what it is given first; None where it is none.

    Args:
        function: what `jit.script` or `jit.load` returned, or anything.
    """
    own = getattr(function, "__dict__", {})
    script, given = (own["_script"], ()) if "_script" in own else (own.get("_scripts", {}).get("forward"), (function,))
    return (script, given) if isinstance(script, Script) else None


class ScriptProgram:
    """What a library is made of.

    Args:
        script: a function.
        first: what it is given before its arguments: its module.
        args: tensors and numbers.

    Attributes:
        statements: what it does (control.py).
        pieces: the steps of each piece of that.
        inputs, outputs: layouts, and of numbers their kinds.
        numbers: the arguments that are numbers.
        workspace: bytes that a call needs.
        fixed: why the number of rows cannot be another one.
        messages: of the script's own errors.
    """

    fixed = "what loops and conditions do depends on all rows"

    def __init__(self, script: Script, first: tuple, args: tuple) -> None:
        self.data, self.pieces = Data(), []
        wanted = dict(script.arguments)
        given = [float(each) if not isinstance(each, Tensor) and wanted.get(name) == FLOAT else each
                 for name, each in zip(script.places, args)]
        tensor = next((each for each in args if isinstance(each, Tensor) and each.dim()), None)
        self.batch = 1 if tensor is None else tensor.shape[0]
        self.inputs = [each.layout if isinstance(each, Tensor) else type(each).__name__ for each in given]
        self.first_output = INPUTS + len(args)
        with no_grad():
            self._stage(script, first, given)

    def _stage(self, script, first, given):
        known, ways, tries = Known(), 0, 0
        for _ in range(MOST_WAYS):
            watch = Watch() if ways == CALLS - 1 else None
            stager = Stager(known, watch)
            numbers = [each if isinstance(each, Tensor) else stager.new_number(type(each).__name__, each) for each in given]
            versions = {id(s): version(s) for s in alive()} if watch is not None else {}
            try:
                if watch is None:
                    stager.run(script, (*first, *numbers))
                else:
                    watch.run(stager.run, (script, (*first, *numbers)), {})
            except Learnt:
                ways = 0
                continue
            except NotSupportedError:
                if stager.is_stale:
                    ways = 0
                    continue
                if watch is None or tries == TRIES:
                    raise
                tries += 1                               # something that died meanwhile may have run code of its own
                continue
            ways += 1
            if watch is not None:
                break
        else:
            raise RuntimeError("export_native: the script's loops are nested too deeply")
        stager.check_copies()
        watch.memory.close()
        self.numbers = [each for each in numbers if isinstance(each, Number)]
        self.outputs, self.messages, self.pointers = stager.results, stager.messages, stager.pointers
        self._resolve(script, stager, Reader(watch, tuple(given), versions, self.data))

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
        except Unknown as error:
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

    def __str__(self) -> str:
        return listing(self.statements)
