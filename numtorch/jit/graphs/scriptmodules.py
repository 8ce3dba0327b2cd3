"""What `jit.trace` returns: functions and modules that run graphs."""
from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...ops.core.late import later
from ...ops.core.primitive import is_ours
from ...serialization import save as save_file
from .graph import Graph
from .listing import code_of
from .programs import Program, program_of

FORMAT = "numtorch graph 1"


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
        return {"format": FORMAT, "kind": "function", "name": self.__name__, **self._program.content({})}

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
        name: its own.
        program: what it runs.
    """

    def __init__(self, name: str, program: Program) -> None:
        self.__name__, self._program = name, program

    graph = property(lambda self: self._program.graph)
    code = property(lambda self: code_of(self.graph, self.__name__, method=True))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._program.run(self._program.placed(args, kwargs) if kwargs else args)


class listed_method:
    """Decorates a method which then has a graph and code, as in `module.forward.code`.

    Args:
        function: what is called of a module that has none.
    """

    def __init__(self, function: Callable) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __get__(self, module, kind=None):
        if module is None:
            return self.function
        listed = module._listed(self.function.__name__)
        return types.MethodType(self.function, module) if listed is None else listed


class ScriptModule(Module):
    """A module that runs a graph, with the parameters, buffers and submodules' names of the one that was traced.

    Attributes:
        graph: what `forward` runs.
        code: the same as Python.
    """

    def __init__(self) -> None:
        super().__init__()
        self._program: Any = None
        self._methods: dict[str, Program] = {}
        self._original_name = "Module"
        self._preserved: tuple[str, ...] = ()            # what `jit.freeze` was told to leave

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if is_ours(cls.__module__):
            return
        begin: Any = cls.__init__

        @functools.wraps(begin)
        def made(self, *args, **kwargs):
            begin(self, *args, **kwargs)
            if type(self) is cls and "finish_script" in later:            # else no method is under a decorator of scripts
                later["finish_script"](self)
        cls.__init__ = made  # type: ignore[method-assign]

    @property
    def original_name(self) -> str:
        """The class of the module that was traced."""
        return self._original_name

    @property
    def graph(self) -> Graph:
        return self.forward.graph

    @property
    def code(self) -> str:
        methods = [*([] if self._program is None else [self.forward]), *map(self._method, self._methods)]
        return "\n".join(each.code for each in methods)

    def _listed(self, name):
        """What is called as a method, and has its graph and code; None where there is none."""
        return None if self._program is None or name != "forward" else Method("forward", self._program)

    def _method(self, name):
        return Method(name, self._methods[name])

    @listed_method
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{self._original_name} has no forward")

    def __getattr__(self, name):
        return self._method(name) if name in self.__dict__.get("_methods", ()) else super().__getattr__(name)

    def content(self) -> dict:
        """What a file holds of it."""
        parameters, buffers = dict(self.named_parameters()), dict(self.named_buffers())
        held = {**parameters, **buffers}
        others = [path for path, each in self.named_modules() if each.training is not self.training]
        return {"format": FORMAT, "kind": "module", "name": self._original_name, "training": bool(self.training), "others": others,
                "parameters": {name: value.detach() for name, value in parameters.items()}, "buffers": buffers,
                "trained": [name for name, value in parameters.items() if value.requires_grad],
                **({} if self._program is None else self._program.content(held)),
                "methods": {name: program.content(held) for name, program in self._methods.items()},
                "modules": {path: each.content() for path, each in scripts_below(self).items()}}

    def save(self, f: Any, _extra_files: Mapping[str, str | bytes] | None = None) -> None:
        """Write it to a file, which `jit.load` reads.

        Args:
            f: the file's name, or a file open for writing.
            _extra_files: texts or bytes by name, which are written beside it.
        """
        save_file({**self.content(), **extra_files(_extra_files)}, f)

    def _apply(self, fn, recurse=True):
        if "forward" in vars(self):                      # of a frozen script, whose graphs have the tensors that it had
            vars(self)["forward"].made = None
        return super()._apply(fn, recurse)

    def _has_graphs(self) -> bool:
        """Whether graphs say all that calls do, whatever values they are given."""
        return False

    def _may_write(self, names: Iterable[str]) -> bool:
        """Whether methods may write to tensors of this module.

        Args:
            names: theirs, or of anything else.
        """
        return False

    def _frozen(self, kept: Iterable[str] = ()) -> ScriptModule:
        """A copy whose tensors are neither trained nor part of a state.

        Args:
            kept: the names of those that stay what they are.
        """
        new = copy.deepcopy(self)
        for path, module in new.named_modules():
            for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
                if tensor is None or f"{path}.{name}".lstrip(".") in kept:
                    continue
                module._parameters.pop(name, None)
                module._buffers[name] = tensor.detach()
                module._non_persistent_buffers_set.add(name)
        return new

    def _get_name(self):
        return f"ScriptModule(original_name={self._original_name})"

    def __copy__(self):
        new = type(self).__new__(type(self))
        vars(new).update(vars(self))
        return new

    def __deepcopy__(self, memo):
        new = memo[id(self)] = type(self).__new__(type(self))
        for name, value in vars(self).items():
            vars(new)[name] = value if name in ("_program", "_methods") else copy.deepcopy(value, memo)
        new._copy_programs(memo)
        return new

    def _copy_programs(self, memo):
        """Have a deep copy, which has the programs of the other, run them over its own tensors."""
        self._program = None if self._program is None else self._program.copied(self, memo)
        self._methods = {name: program.copied(self, memo) for name, program in self._methods.items()}

    def __reduce__(self):
        raise RuntimeError("jit: a traced module is written by its `save` and read by `jit.load`, not pickled")


def module_of(tensors: dict, name: str, scripts: Mapping[str, ScriptModule] | None = None) -> ScriptModule:
    """A module without a program, with parameters and buffers under the names that are given.

    Args:
        tensors: by name, with dots for submodules: parameters, and tensors that become buffers.
        name: the class it says it was.
        scripts: submodules of which it has copies over the same tensors.
    """
    module, scripts = ScriptModule(), scripts or {}
    module._original_name = name

    def below(path):
        owner: Module = module
        for i, part in enumerate(path):
            if part not in owner._modules:
                script = scripts.get(".".join(path[:i + 1]))
                owner.add_module(part, Module() if script is None else over_the_same(script))
            owner = owner._modules[part]
        return owner
    for path, tensor in tensors.items():
        *parents, last = path.split(".")
        owner = below(parents)
        if isinstance(tensor, Parameter):
            owner.register_parameter(last, tensor)
        else:
            owner.register_buffer(last, tensor)
    for path in scripts:                                 # without tensors
        below(path.split("."))
    return module


def scripts_below(module: Module) -> dict[str, ScriptModule]:
    """The scripts among the modules below one, by path: the outermost ones.

    Args:
        module: it.
    """
    found: dict[str, ScriptModule] = {}
    for path, each in module.named_modules():
        if path and "_scripts" in vars(each) and not any(path.startswith(f"{one}.") for one in found):
            found[path] = each
    return found


def over_the_same(script: ScriptModule) -> ScriptModule:
    """A copy of a module over the same tensors, which has a mode of its own, for training or not.

    Args:
        script: the module.
    """
    return copy.deepcopy(script, {id(tensor): tensor for tensor in (*script.parameters(), *script.buffers())})


# ---------------------------------------------------------------- files
def from_content(content: dict, script_of: Callable[[dict], Any]) -> Any:
    """The function or module of what a file holds.

    Args:
        content: as `content()` of one gives it.
        script_of: the same for the scripts that it calls.

    Raises:
        KeyError, ValueError, TypeError, AttributeError: it is damaged.
    """
    kind, name = content["kind"], str(content["name"])
    if kind == "function":
        return ScriptFunction(program_of(content, {}, script_of), name)
    parameters = {key: Parameter(value, requires_grad=key in content["trained"]) for key, value in content["parameters"].items()}
    held = {**parameters, **content["buffers"]}
    module = module_of(held, name, {str(path): script_of(each) for path, each in content.get("modules", {}).items()})
    if "graph" in content:
        module._program = program_of(content, held, script_of, module)
    for method, each in content.get("methods", {}).items():
        module._methods[str(method)] = program_of(each, held, script_of, module)
    module.train(bool(content["training"]))
    for path in content.get("others", ()):               # which have the other mode
        module.get_submodule(path).training = not module.training
    return module
