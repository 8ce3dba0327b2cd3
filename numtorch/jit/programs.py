"""What `jit.trace` and `jit.load` return: functions and modules that run a graph."""
from __future__ import annotations

from typing import Any

from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..serialization import load as load_file
from ..serialization import save as save_file
from ..tensor import Tensor
from ..tree import map_tensors, tensors_in
from .decompose import decomposed
from .graph import Graph, shown
from .interpreter import Interpreter
from .listing import code_of
from .parsing import parse

_FORMAT = "numtorch graph 1"
_HOLE = "%tensor"                                        # where a tensor stands in the arguments that a program is for


def structure_of(args: Any) -> Any:
    """Arguments with a mark for each tensor.

    Args:
        args: tensors in tuples, lists and dicts.
    """
    return map_tensors(lambda tensor: _HOLE, args)


class Program:
    """Graphs for the kinds of arguments that a function was traced with.

    Args:
        graph: the first.
        structure: what its arguments look like (`structure_of`).
        again: makes the graph for other arguments, where the source is at hand: `again(args) -> Graph`.
        constants: the graph's, by name, or None for those it holds.
    """

    def __init__(self, graph: Graph, structure, again=None, constants=None) -> None:
        self.graph, self.structure, self.again, self.constants = graph, structure, again, constants
        self.known = {self._key(graph, structure): Interpreter(graph, constants)}

    @staticmethod
    def _key(graph, structure):
        return repr(structure), *[value.layout for value in graph.inputs]

    def run(self, args: tuple) -> Any:
        """What the program gives for arguments.

        Args:
            args: as it was traced with.

        Raises:
            RuntimeError: arguments of other types, where the source is absent.
        """
        tensors, structure = list(tensors_in(args)), structure_of(args)
        key = repr(structure), *[tensor.layout for tensor in tensors]
        interpreter = self.known.get(key)
        if interpreter is None and structure == self.structure and len(tensors) == len(self.graph.inputs):
            key = repr(structure), *[tensor.layout.dense() for tensor in tensors]
            interpreter = self.known.get(key)
            if interpreter is not None:
                tensors = [tensor.contiguous() for tensor in tensors]
        if interpreter is None:
            if self.again is None:
                expected = ", ".join(shown(value.layout) for value in self.graph.inputs)
                got = ", ".join(shown(tensor.layout) for tensor in tensors)
                raise RuntimeError(f"jit: this program was traced for ({expected}) and cannot be traced again, as its source is "
                                   f"not here; got ({got})")
            graph = self.again(args)
            interpreter = self.known[key] = Interpreter(graph, self.constants)
        return interpreter.run(*tensors)


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

    def __call__(self, *args: Any) -> Any:
        return self._program.run(args)

    def save(self, f: Any) -> None:
        """Write it to a file, which `jit.load` reads.

        Args:
            f: the file's name, or a file open for writing.
        """
        save_file(_content(self._program, "function", self.__name__, {}, []), f)

    def __repr__(self):
        return f"<traced {self.__name__}>"


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

    def forward(self, *args: Any) -> Any:
        return self._program.run(args)

    def save(self, f: Any) -> None:
        """Write it to a file, which `jit.load` reads.

        Args:
            f: the file's name, or a file open for writing.
        """
        held = {name: ("parameter" if isinstance(value, Parameter) else "buffer", value)
                for name, value in (*self.named_parameters(), *self.named_buffers())}
        save_file(_content(self._program, "module", self._original_name, held, self.training), f)

    def _get_name(self):
        return f"ScriptModule(original_name={self._original_name})"

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
def _content(program, kind, name, held, training):
    graph = decomposed(program.graph)
    others = {key: tensor for key, tensor in graph.constants.items() if key not in held and tensor is not None}
    return {"format": _FORMAT, "kind": kind, "name": name, "graph": str(graph), "structure": program.structure,
            "parameters": {key: value.detach() for key, (what, value) in held.items() if what == "parameter"},
            "trained": [key for key, (what, value) in held.items() if what == "parameter" and value.requires_grad],
            "buffers": {key: value for key, (what, value) in held.items() if what == "buffer"},
            "constants": {key: value.detach() for key, value in others.items()}, "training": bool(training)}


def save(m: Any, f: Any) -> None:
    """Write a traced function or module to a file: the text of its graph, and its tensors. Nothing of its source is in it.

    Args:
        m: what `jit.trace` returned.
        f: the file's name, or a file open for writing.

    Raises:
        TypeError: `m` is neither.

    Example:
        >>> import io, numtorch as torch
        >>> file = io.BytesIO()
        >>> torch.jit.save(torch.jit.trace(torch.sin, torch.zeros(2)), file)
        >>> _ = file.seek(0)
        >>> torch.jit.load(file)(torch.zeros(2))
        tensor([0., 0.])
    """
    if not isinstance(m, (ScriptFunction, ScriptModule)):
        raise TypeError(f"jit.save: expected what jit.trace returns, got {type(m).__name__}")
    m.save(f)


def load(f: Any, map_location: Any = None) -> Any:
    """Read what `jit.save` has written. The file holds a graph and tensors; no code of it is run.

    Args:
        f: the file's name, or a file open for reading.
        map_location: where its tensors go, as for `torch.load`.

    Returns:
        A function or a module.

    Raises:
        RuntimeError: the file is none of `jit.save`.

    Example:
        >>> import io, numtorch as torch
        >>> file = io.BytesIO()
        >>> torch.jit.trace(torch.nn.Linear(2, 1), torch.zeros(1, 2)).save(file)
        >>> _ = file.seek(0)
        >>> torch.jit.load(file).original_name
        'Linear'
    """
    content = load_file(f, map_location=map_location, weights_only=True)
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise RuntimeError("jit.load: the file was not written by jit.save of numtorch")
    try:
        parameters = {key: Parameter(value, requires_grad=key in content["trained"])
                      for key, value in content["parameters"].items()}
        held = {**parameters, **content["buffers"]}
        given = {**content["constants"], **held}
        if not all(isinstance(value, Tensor) for value in given.values()):
            raise ValueError("a constant is no tensor")
        graph = parse(content["graph"], given)
        structure, kind, name = content["structure"], content["kind"], str(content["name"])
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise RuntimeError(f"jit.load: the file is damaged: {error}") from None
    if kind == "function":
        return ScriptFunction(Program(graph, structure), name)
    module = module_of(held, name)
    module._program = Program(graph, structure, None, Held(module, content["constants"]))
    return module.train(bool(content["training"]))
