"""What `jit.trace` returns: functions and modules that run a graph, and what files hold of them."""
from __future__ import annotations

import copy
import functools
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ...func.levels import Wrapping, innermost
from ...layout import Layout
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...ops.core.generator import fork_rng
from ...ops.core.primitive import is_ours
from ...ops.creation.fill import zeros
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...ops.reduce.query import equal
from ...serialization import save as save_file
from ...tensor import Tensor, empty
from ...tree import filled, map_tensors, tensors_in
from .checking import check_calls
from .decompose import decomposed
from .graph import Graph, shown
from .interpreter import Interpreter
from .listing import code_of
from .parsing import parse
from .rows import Rows, rows_of

FORMAT = "numtorch graph 1"
_HOLE = "%tensor"                                        # where a tensor stands in the arguments that a program is for


def structure_of(args: Any) -> Any:
    """Arguments with a mark for each tensor.

    Args:
        args: tensors in tuples, lists and dicts.
    """
    return map_tensors(lambda tensor: _HOLE, args)


def _without_names(structure):
    """A structure with tuples in the places of named ones, of which a file knows no class."""
    if isinstance(structure, (tuple, list)):
        parts = map(_without_names, structure)
        return list(parts) if isinstance(structure, list) else tuple(parts)
    return {key: _without_names(value) for key, value in structure.items()} if isinstance(structure, dict) else structure


def _ordered(args, structure):
    """Arguments with their dicts in the order of a structure's, which is equal."""
    if isinstance(structure, dict):
        return {key: _ordered(args[key], value) for key, value in structure.items()}
    if isinstance(structure, (tuple, list)):
        parts = map(_ordered, args, structure)
        return type(args)(*parts) if hasattr(args, "_fields") else type(args)(parts)
    return args


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
        self.text = repr(_without_names(structure))
        graph.handed_out = True
        self.known = {self._key(graph, structure): Interpreter(graph, constants)}

    def copied(self, module: ScriptModule, memo: dict) -> Program:
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
        return repr(_without_names(structure)), *[value.layout for value in graph.inputs]

    def run(self, args: tuple) -> Any:
        """What the program gives for arguments.

        Args:
            args: as it was traced with.

        Raises:
            RuntimeError: arguments of other types, where the source is absent.
        """
        structure = structure_of(args)
        text = repr(_without_names(structure))
        if text != self.text and structure == self.structure:            # but for the order in dicts
            args, structure, text = _ordered(args, self.structure), self.structure, self.text
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
        return interpreter.run(*given)

    def placed(self, args: tuple, by_name: dict) -> tuple:
        """All arguments by place. They are called as the graph's inputs are, where each is a tensor.

        Args:
            args, by_name: of a call.

        Raises:
            RuntimeError: a name that no further argument has, or one that is missing.
        """
        if not all(isinstance(each, str) for each in self.structure):
            raise RuntimeError("jit: a program with arguments that are no tensors takes all of them by place")
        more = [value.name for value in self.graph.inputs][len(args):]
        if set(more) != set(by_name):
            raise RuntimeError(f"jit: expected {'the arguments ' if more[1:] else 'the argument ' if more else 'no arguments'}"
                               f"{', '.join(more)} by name, got {', '.join(by_name)}")
        return (*args, *[by_name[name] for name in more])

    def _for_rows(self, tensors, structure):
        """The graph for as many rows as arguments have, and those of its constants that are others."""
        fits = self.rows is not None and structure == self.structure and len(tensors) == len(self.graph.inputs)
        count = self.rows.count_in(tensors, self.graph.inputs) if fits else None
        if count is not None:
            held = self.graph.constants if self.constants is None else self.constants
            before = {name: held[name] for name in self.graph.constants}
            graph = self.rows.graph(count, before)
            if [tensor.layout.dense() for tensor in tensors] == [value.layout.dense() for value in graph.inputs]:
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
        known = self.known.get((repr(_without_names(structure)), *[tensor.layout for tensor in tensors]))
        return self._for_rows(tensors, structure)[0] if known is None else known.graph

    def with_rows(self) -> Rows | None:
        """What it does for other numbers of rows: traced where the source is at hand, with copies of what it would write to."""
        if self.again is None or (self.graph.writes and self.constants is None):
            return self.rows
        inputs = self.graph.inputs

        def again(shapes):
            given = iter([zeros(shape, dtype=value.layout.dtype, device=value.layout.device)
                          for shape, value in zip(shapes, inputs)])
            return self.again(filled(self.structure, _HOLE, given), apart=True)
        with fork_rng([]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return rows_of(self.graph, again, lambda name: not isinstance(self.constants, Held) or name in self.constants.others)


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
    return a.layout is b.layout and (a.memory is b.memory or equal(a, b))


class ScriptFunction:
    """A function that runs a graph. `jit.trace` makes it of a function, `jit.load` of a file.

    Attributes:
        graph: what it runs.
        code: the same as Python.
    """

    def __init__(self, program: Program, name: str = "traced") -> None:
        self._program, self.__name__ = program, name

    @property
    def graph(self) -> Graph:
        return self._program.graph

    @property
    def code(self) -> str:
        return code_of(self.graph, self.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._program.run(self._program.placed(args, kwargs) if kwargs else args)

    def content(self) -> dict:
        """What a file holds of it."""
        return content_of(self._program, "function", self.__name__, {}, [])

    def save(self, f: Any, _extra_files: Mapping[str, str | bytes] | None = None) -> None:
        """Write it to a file, which `jit.load` reads.

        Args:
            f: the file's name, or a file open for writing.
            _extra_files: texts or bytes by name, which are written beside it.
        """
        save_file({**self.content(), **extra_files(_extra_files)}, f)

    def __repr__(self):
        return f"<traced {self.__name__}>"


def extra_files(given: Mapping[str, str | bytes] | None) -> dict:
    """What a file holds of what users give to be written beside a program.

    Args:
        given: texts or bytes by name.

    Raises:
        TypeError: it is something else.
    """
    if not given:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) and isinstance(data, (str, bytes, bytearray))
                                                 for name, data in given.items()):
        raise TypeError("jit.save: expected _extra_files to be a dict of texts or bytes by their names")
    written = {name: data.encode() if isinstance(data, str) else bytes(data) for name, data in given.items()}
    return {"extra": {name: data.decode("latin-1") for name, data in written.items()}}       # pickled bytes would ask for a class


class Method:
    """A traced module's method, with the graph and the code of what it runs.

    Args:
        function: what is called with the module.
        module: it.
    """

    def __init__(self, function: Callable, module: ScriptModule) -> None:
        self.function, self.module, self.__name__ = function, module, function.__name__

    graph = property(lambda self: self.module.graph)
    code = property(lambda self: self.module.code)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class listed_method:
    """Decorates a method which then has a graph and code, as in `module.forward.code`.

    Args:
        function: the method.
    """

    def __init__(self, function: Callable) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __get__(self, module, kind=None):
        return self.function if module is None else types.MethodType(module._listed(self.function), module)


finishing: list = []                                     # what is done with objects of users' subclasses (scripting/subclasses.py)


class ScriptModule(Module):
    """A module that runs a graph, with the parameters, buffers and submodules' names of the one that was traced.

    Attributes:
        graph: what `forward` runs.
        code: the same as Python.
    """

    def __init__(self) -> None:
        super().__init__()
        self._program: Any = None
        self._original_name = "Module"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if is_ours(cls.__module__):
            return
        begin: Any = cls.__init__

        @functools.wraps(begin)
        def made(self, *args, **kwargs):
            begin(self, *args, **kwargs)
            if type(self) is cls:
                for finish in finishing:
                    finish(self)
        cls.__init__ = made  # type: ignore[method-assign]

    @property
    def original_name(self) -> str:
        """The class of the module that was traced."""
        return self._original_name

    @property
    def graph(self) -> Graph:
        return self._program.graph

    @property
    def code(self) -> str:
        return code_of(self.graph, "forward", method=True)

    def _listed(self, function):
        """What is called with the module in the place of one of its methods, and has its graph and code."""
        return Method(function, self)

    @listed_method
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._program.run(self._program.placed(args, kwargs) if kwargs else args)

    def content(self) -> dict:
        """What a file holds of it."""
        held = {name: ("parameter" if isinstance(value, Parameter) else "buffer", value)
                for name, value in (*self.named_parameters(), *self.named_buffers())}
        return content_of(self._program, "module", self._original_name, held, self.training)

    def save(self, f: Any, _extra_files: Mapping[str, str | bytes] | None = None) -> None:
        """Write it to a file, which `jit.load` reads.

        Args:
            f: the file's name, or a file open for writing.
            _extra_files: texts or bytes by name, which are written beside it.
        """
        save_file({**self.content(), **extra_files(_extra_files)}, f)

    def _frozen(self) -> ScriptModule:
        """A copy whose tensors are neither trained nor part of a state."""
        new = copy.deepcopy(self)
        for module in new.modules():
            for name, tensor in [(name, each) for name, each in module._parameters.items() if each is not None]:
                del module._parameters[name]
                module._buffers[name] = tensor.detach()
            module._non_persistent_buffers_set.update(module._buffers)
        return new

    def _get_name(self):
        return f"ScriptModule(original_name={self._original_name})"

    def __deepcopy__(self, memo):
        new = memo[id(self)] = type(self).__new__(type(self))
        for name, value in vars(self).items():
            vars(new)[name] = None if name == "_program" else copy.deepcopy(value, memo)
        if self._program is not None:
            vars(new)["_program"] = self._program.copied(new, memo)
        return new

    def __reduce__(self):
        raise RuntimeError("jit: a traced module is written by its `save` and read by `jit.load`, not pickled")


class Held:
    """The constants of a module's graph: its tensors under their names, and what the graph holds besides.

    Args:
        module: the module.
        others: tensors by name.
    """

    def __init__(self, module, others) -> None:
        self.module, self.others = module, others

    def of(self, graph: Graph) -> Held:
        """The same for another graph of the module.

        Args:
            graph: it, which holds what it has besides.
        """
        own = {name for name, _ in (*self.module.named_parameters(), *self.module.named_buffers())}
        return Held(self.module, {name: tensor for name, tensor in graph.constants.items() if name not in own})

    def __getitem__(self, name):
        if name in self.others:
            return self.others[name]
        result = self.module
        for part in name.split("."):
            result = getattr(result, part)
        return result


def module_of(tensors: dict, name: str) -> ScriptModule:
    """A module without a program, with parameters and buffers under the names that are given.

    Args:
        tensors: by name, with dots for submodules: parameters, and tensors that become buffers.
        name: the class it says it was.
    """
    module = ScriptModule()
    module._original_name = name
    for path, tensor in tensors.items():
        *parents, last = path.split(".")
        owner: Module = module
        for parent in parents:
            if parent not in owner._modules:
                owner.add_module(parent, Module())
            owner = owner._modules[parent]
        if isinstance(tensor, Parameter):
            owner.register_parameter(last, tensor)
        else:
            owner.register_buffer(last, tensor)
    return module


# ---------------------------------------------------------------- files
def content_of(program, kind, name, held, training):
    """What a file holds of a program.

    Args:
        program: it.
        kind: `"function"` or `"module"`.
        name: its own.
        held: the module's tensors by name, each with `"parameter"` or `"buffer"`.
        training: whether the module is.
    """
    graph, rows = decomposed(program.graph), program.with_rows()
    others = {key: tensor for key, tensor in graph.constants.items() if key not in held and tensor is not None}
    return {"format": FORMAT, "kind": kind, "name": name, "graph": str(graph), "structure": _without_names(program.structure),
            "parameters": {key: value.detach() for key, (what, value) in held.items() if what == "parameter"},
            "trained": [key for key, (what, value) in held.items() if what == "parameter" and value.requires_grad],
            "buffers": {key: value for key, (what, value) in held.items() if what == "buffer"},
            "constants": {key: value.detach() for key, value in others.items()}, "training": bool(training),
            "rows": None if rows is None else [rows.least, *rows.texts]}


def from_content(content: dict) -> Any:
    """The function or module of what a file holds.

    Args:
        content: as `content_of` gives it.

    Raises:
        KeyError, ValueError, TypeError, AttributeError: it is damaged.
    """
    parameters = {key: Parameter(value, requires_grad=key in content["trained"]) for key, value in content["parameters"].items()}
    held = {**parameters, **content["buffers"]}
    given = {**content["constants"], **held}
    if not all(isinstance(value, Tensor) for value in given.values()):
        raise ValueError("a constant is no tensor")
    graph = parse(content["graph"], given)
    check_calls(graph, given)
    structure, kind, name = content["structure"], content["kind"], str(content["name"])
    rows = None
    if content.get("rows") is not None:
        least, *texts = content["rows"]
        rows = Rows((str(texts[0]), str(texts[1])), int(least))
    if kind == "function":
        return ScriptFunction(Program(graph, structure, rows=rows), name)
    module = module_of(held, name)
    module._program = Program(graph, structure, None, Held(module, content["constants"]), rows)
    return module.train(bool(content["training"]))
