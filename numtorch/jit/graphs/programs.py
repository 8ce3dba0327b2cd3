"""Programs: graphs for the kinds of arguments that a function was traced with, what they hold, and what files hold of them."""
from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable
from typing import Any

from ...func.levels import Wrapping, innermost
from ...layout import Layout
from ...nn.modules.module import Module
from ...ops.core.generator import fork_rng
from ...ops.creation.fill import zeros
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...ops.reduce.query import equal
from ...tensor import Tensor, empty
from ...tree import filled, flatten, map_tensors, tensors_in
from .checking import check_calls
from .decompose import decomposed
from .graph import CONSTANT, Graph, shown
from .interpreter import Interpreter
from .parsing import parse
from .rows import Rows, rows_of
from .scriptcalls import SCRIPTS
from .structures import HOLE, ordered, structure_of, without_names


class Program:
    """Graphs for the kinds of arguments that a function was traced with.

    Args:
        graph: the first.
        structure: what its arguments look like (`structure_of`).
        again: makes the graph for other arguments, where the source is at hand: `again(args, apart=False) -> Graph`. What it writes
            to a module's tensors goes into copies, which with `apart` the graph holds.
        constants: the graph's, by name, or None for those it holds.
        rows: graphs for other numbers of rows, where the source is absent.
    """

    def __init__(self, graph: Graph, structure, again=None, constants=None, rows: Rows | None = None) -> None:
        self.graph, self.structure, self.again, self.constants, self.rows = graph, structure, again, constants, rows
        self.text = repr(without_names(structure))
        graph.handed_out = True
        self.known = {self._key(graph, structure): Interpreter(graph, constants)}

    def copied(self, module: Module, memo: dict) -> Program:
        """The same graph over copies of all tensors. Other arguments are traced with the copies, too.

        Args:
            module: a deep copy of the module that this is the program of.
            memo: of `copy.deepcopy`.
        """
        first, held = self.graph, self.constants
        others = copy.deepcopy(held.others if isinstance(held, Held) else first.constants, memo)
        constants = Held(module, others) if isinstance(held, Held) else None
        graph = first.copy()
        for name in graph.constants:
            graph.constants[name] = others[name] if constants is None else constants[name]
        traced = self.again if constants is None or self.again is None else functools.partial(self.again, module=module)

        def again(*args, **options):
            made = traced(*args, **options)
            for name in made.constants.keys() & others.keys():
                if _same(made.constants[name], first.constants[name]):
                    made.constants[name] = others[name]
            return made
        return Program(graph, self.structure, traced and again, constants, self.rows)

    @staticmethod
    def _key(graph, structure):
        return repr(without_names(structure)), *[value.layout for value in graph.inputs]

    def run(self, args: tuple) -> Any:
        """What the program gives for arguments.

        Args:
            args: as it was traced with.

        Raises:
            RuntimeError: arguments of other types, where the source is absent.
        """
        interpreter, given = self.interpreter(args)
        return interpreter.run(*given)

    def interpreter(self, args: tuple) -> tuple[Interpreter, list[Tensor]]:
        """What runs for arguments, and the tensors that it is given: those of the arguments.

        Args:
            args: as `run` has them.

        Raises:
            RuntimeError: arguments of other types, where the source is absent.
        """
        structure = structure_of(args)
        text = repr(without_names(structure))
        if text != self.text and structure == self.structure:            # but for the order in dicts
            args, structure, text = ordered(args, self.structure), self.structure, self.text
        given = tensors = list(tensors_in(args))
        if any(isinstance(tensor.layout, Wrapping) for tensor in tensors):
            args = map_tensors(own_copy, args)           # the graph of one sample of vmap, or of values, which then runs for all
            tensors = list(tensors_in(args))
        key = text, *[tensor.layout for tensor in tensors]
        interpreter = self.known.get(key)
        if interpreter is None and structure == self.structure and len(tensors) == len(self.graph.inputs):
            interpreter = self.known.get((key[0], *[tensor.layout.dense() for tensor in tensors]))
        if interpreter is None:
            if self.again:
                with fork_rng([]):                       # the call that is traced comes before the one that is made
                    graph = self.again(args)
                interpreter = Interpreter(graph, None if self.constants is None else self.constants.of(graph))
            else:
                graph, others = self._for_rows(tensors, structure)
                held = self.constants
                interpreter = Interpreter(graph, Held(held.module, {**held.others, **others}) if isinstance(held, Held) else None)
            self.known[key] = self.known[self._key(interpreter.graph, structure)] = interpreter
        return interpreter, given

    def placed(self, args: tuple, by_name: dict) -> tuple:
        """All arguments by place. Tensors are called as the graph's inputs are; what is none is as it was traced with.

        Args:
            args, by_name: of a call.

        Raises:
            RuntimeError: a name that no further argument has, or one that is missing, or structures of tensors without a place.
        """
        inputs = iter(self.graph.inputs)
        names: list[str | None] = []                     # of each argument; None for what is no tensor
        for place, each in enumerate(self.structure):
            tensors = [next(inputs).name for leaf in flatten(each)[0] if leaf == HOLE]
            if each != HOLE and tensors and place >= len(args):
                raise RuntimeError("jit: a program with structures of tensors among its arguments takes these by place")
            names.append(tensors[0] if each == HOLE else None)
        left = list(zip(names, self.structure))[len(args):]
        more = [name for name, _ in left if name is not None]
        if set(more) != set(by_name):
            raise RuntimeError(f"jit: expected {'the arguments ' if more[1:] else 'the argument ' if more else 'no arguments'}"
                               f"{', '.join(more)} by name, got {', '.join(by_name)}")
        return (*args, *[each if name is None else by_name[name] for name, each in left])

    def _for_rows(self, tensors, structure):
        """The graph for arguments in other orders, or for as many rows as they have, and those of its constants that are others."""
        fits, dense = structure == self.structure, [tensor.layout.dense() for tensor in tensors]
        if fits and dense == [value.layout.dense() for value in self.graph.inputs]:
            return self.graph, {}
        fits = fits and self.rows is not None and len(tensors) == len(self.graph.inputs)
        count = self.rows.count_in(tensors, self.graph.inputs) if fits else None
        if count is not None:
            held = self.graph.constants if self.constants is None else self.constants
            before = {name: held[name] for name in self.graph.constants}
            graph = self.rows.graph(count, before)
            if dense == [value.layout.dense() for value in graph.inputs]:
                check_calls(graph, graph.constants)
                return graph, {name: tensor for name, tensor in graph.constants.items() if tensor is not before[name]}
        expected = ", ".join(shown(value.layout) for value in self.graph.inputs)
        got = ", ".join(shown(tensor.layout) for tensor in tensors)
        raise RuntimeError(f"jit: this program was traced for ({expected}) and cannot be traced again, as its source is not here; "
                           f"got ({got})")

    def graph_for(self, args: tuple, apart: bool = False) -> Graph:
        """The graph for other arguments.

        Args:
            args: they.
            apart: as `again` has it.

        Raises:
            RuntimeError: the source is absent, and the arguments do not differ by their rows alone.
        """
        if self.again:
            return self.again(args, apart=apart)
        tensors, structure = list(tensors_in(args)), structure_of(args)
        known = self.known.get((repr(without_names(structure)), *[tensor.layout for tensor in tensors]))
        return self._for_rows(tensors, structure)[0] if known is None else known.graph

    def with_rows(self) -> Rows | None:
        """What it does for other numbers of rows: traced where the source is at hand, with copies of what it would write to."""
        if self.again is None or (self.graph.writes and self.constants is None):
            return self.rows
        inputs = self.graph.inputs

        def again(shapes):
            given = iter([zeros(shape, dtype=value.layout.dtype, device=value.layout.device)
                          for shape, value in zip(shapes, inputs)])
            return self.again(filled(self.structure, HOLE, given), apart=True)
        with fork_rng([]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return rows_of(self.graph, again, lambda name: not isinstance(self.constants, Held) or name in self.constants.others)

    # ------------------------------------------------------------ files
    def content(self, held: dict[str, Tensor]) -> dict:
        """What a file holds of it.

        Args:
            held: the module's tensors by name, which the file has beside it.
        """
        graph, rows = decomposed(self.graph), self.with_rows()
        others = {name: each for name, each in graph.constants.items() if name not in held}
        tensors = {name: each.detach() for name, each in others.items() if isinstance(each, Tensor)}
        now = graph.constants if self.constants is None else self.constants
        below = [] if not isinstance(self.constants, Held) else [name for name in others if name not in self.constants.others]
        return {"graph": str(graph), "structure": without_names(self.structure), "constants": tensors,
                "rows": None if rows is None else [rows.least, *rows.texts],
                "scripts": {name: now[name].content() for name in others if name not in tensors and name not in below}}


def program_of(content: dict, held: dict[str, Tensor], script_of: Callable[[dict], Any], module: Module | None = None) -> Program:
    """The program of what a file holds.

    Args:
        content: as `Program.content` gives it.
        held: the module's tensors by name.
        script_of: what makes the scripts that it calls of their contents.
        module: whose method it is.

    Raises:
        KeyError, ValueError, TypeError, AttributeError: it is damaged.
    """
    tensors = {**content["constants"], **held}
    if not all(isinstance(value, Tensor) for value in tensors.values()):
        raise ValueError("a constant is no tensor")
    scripts = {str(name): script_of(each) for name, each in content.get("scripts", {}).items()}
    constants = {**({} if module is None else dict(module.named_modules())), **scripts, **tensors}
    graph = parse(content["graph"], constants)
    if any((node.op == CONSTANT) is not isinstance(constants[node.attributes[0]], Tensor)
           for node in graph.nodes if node.op in (CONSTANT, *SCRIPTS)):
        raise ValueError("a tensor is called, or a script is none")
    check_calls(graph, constants)
    rows = None
    if content.get("rows") is not None:
        least, *texts = content["rows"]
        rows = Rows((str(texts[0]), str(texts[1])), int(least))
    if module is None:
        return Program(graph, content["structure"], rows=rows)
    return Program(graph, content["structure"], None, Held(module, {**content["constants"], **scripts}), rows)


class Held:
    """The constants of a module's graph: its tensors and scripts under their names, and what the graph holds besides.

    Args:
        module: the module.
        others: tensors and scripts by name.
    """

    def __init__(self, module, others) -> None:
        self.module, self.others = module, others

    def of(self, graph: Graph) -> Held:
        """The same for another graph of the module.

        Args:
            graph: it, which holds what it has besides.
        """
        module = self.module
        own = {name for name, _ in (*module.named_parameters(), *module.named_buffers(), *module.named_modules())}
        return Held(module, {name: each for name, each in graph.constants.items() if name not in own})

    def __getitem__(self, name):
        if name in self.others:
            return self.others[name]
        result = self.module
        for part in name.split("."):
            result = getattr(result, part)
        return result


def own_copy(tensor: Tensor) -> Tensor:
    """A copy to trace with: of what takes part in a transform its values, or zeros that lie densely for a sample of `vmap`.

    Args:
        tensor: it.
    """
    layout = tensor.layout
    if isinstance(layout, Wrapping) and not layout.has_values:
        copied = empty(Layout.of(layout.dtype, layout.shape, device=layout.device)).zero_()
    else:
        copied = clone(detach(innermost(tensor)))
    return copied.requires_grad_(tensor.requires_grad)


def _same(a, b):
    return isinstance(a, Tensor) and a.layout is b.layout and (a.memory is b.memory or equal(a, b))
