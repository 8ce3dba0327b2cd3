"""A kernel without its op's body, which Numba types and lowers once for all ops. Imported only when something must be compiled.

Loops are written for any op: what differs between `add` and `mul` of the same dtypes and strides is the scalar body that is called.
Numba's part of the work, some 40 % of what a kernel takes to compile, is that of the loops. So a kernel is compiled around calls of
functions that are only declared, kept as LLVM bitcode, and the bodies are linked in: LLVM inlines them as it does any other.

Pointwise loops have templates, and their totals; of other families hardly two kernels differ in bodies alone.

Where a body's result has another type than that of the body the template was made with, another template is made. A kernel whose
bodies can be called in several ways (defaults, any number of arguments) has none, and is compiled whole.
"""
from __future__ import annotations

import inspect
from collections import OrderedDict

import llvmlite.binding as llvm
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..binding import ScalarBody, compiled_body
from ..sources import compile_source

MOST = 256                                               # kinds of templates kept, each of some 40 kB
_templates: OrderedDict[str, list] = OrderedDict()
_made = [0]


class _Placeholder:
    """What a body's name stands for in the fingerprint of a template."""

    __slots__ = ("text",)

    def __init__(self, body):
        self.text = f"<a body of {body.function.__code__.co_argcount} numbers in {body.compute}>"

    def __repr__(self):
        return self.text


class Unfit(Exception):
    """A kernel that has no template."""


def bodies_of(function, names) -> dict:
    """The scalar bodies that a kernel calls by names of its own; none of a kernel that names are bound to, as reductions are, whose
    ops differ in more than bodies."""
    if names:
        return {}
    bodies = {n: v for n, v in function.__globals__.items() if type(v) is ScalarBody and n in function.__code__.co_names}
    for body in bodies.values():
        code = body.function.__code__
        if body.function.__defaults__ or code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            return {}
    return bodies


class _Call:
    """A body called with some types: the symbol that it is declared by."""

    __slots__ = ("name", "arguments", "result", "symbol")

    def __init__(self, name, arguments, result, symbol):
        self.name, self.arguments, self.result, self.symbol = name, arguments, result, symbol


class Template:
    """The module of a kernel whose bodies are declared, and their calls.

    Args:
        bodies: by name those it is typed with.
    """

    def __init__(self, bodies):
        self.bodies, self.calls = bodies, {}
        _made[0] += 1
        self.number = _made[0]
        self.code, self.inner = b"", ""

    def names(self):
        """What the bodies' names are bound to."""
        return {name: _declared(self, name, body.function.__code__.co_argcount) for name, body in self.bodies.items()}

    def call(self, name, arguments):
        """The call of a body with arguments of these types."""
        arguments = tuple(map(types.unliteral, arguments))
        call = self.calls.get((name, arguments))
        if call is None:
            result = _compiled(self.bodies[name], arguments).signature.return_type
            if isinstance(result, types.Optional):
                raise Unfit
            symbol = f"body.{len(self.calls)}"
            call = self.calls[name, arguments] = _Call(name, arguments, result, symbol)
        return call

    def finish(self, compiled):
        """Keep what Numba made."""
        self.code, self.inner = compiled.library._final_module.as_bitcode(), compiled.fndesc.llvm_func_name
        self.bodies = {}

    def module_with(self, bodies):
        """The kernel's module with bodies linked in; None where their results have other types."""
        parts = []
        for call in self.calls.values():
            made = _compiled(bodies[call.name], call.arguments)
            if made.signature.return_type != call.result:
                return None
            parts.append((call.symbol, made))
        module = llvm.parse_bitcode(self.code)
        for symbol, made in parts:
            part = llvm.parse_bitcode(made.library._get_module_for_linking().as_bitcode())
            part.get_function(made.fndesc.llvm_func_name).name = symbol
            module.link_in(part)
        return module


def _compiled(body, arguments):
    """What Numba made of a body for arguments of these types."""
    dispatcher = compiled_body(body)
    dispatcher.compile(arguments)
    return dispatcher.overloads[arguments]


def _declared(template, name, arity):
    """Numba's intrinsic that calls a body of the template, whichever is linked in."""
    def typed(arguments):
        call = template.call(name, arguments)

        def codegen(context, builder, signature, values):
            convention = context.call_conv
            kind = convention.get_function_type(call.result, call.arguments)
            declared = cgutils.get_or_insert_function(builder.module, kind, call.symbol)
            status, result = convention.call_function(builder, declared, call.result, call.arguments, values)
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return result
        return call.result(*call.arguments), codegen

    letters = ", ".join(f"x{i}" for i in range(arity))
    scope = dict(typed=typed)
    text = f"def body_{template.number}_{name}(typing_context, {letters}):\n    return typed(({letters},))"
    compile_source(text, "body", scope)
    return intrinsic(scope[f"body_{template.number}_{name}"])


def find(key, bodies):
    """The module of a kernel and its function's name, of a template that is there; None without one."""
    for template in _templates.get(key, ()):
        module = template.module_with(bodies)
        if module is not None:
            _templates.move_to_end(key)
            return module, template.inner
    return None


def keep(key, template):
    """Keep a finished template for others of its kind."""
    _templates.setdefault(key, []).append(template)
    if len(_templates) > MOST:
        _templates.popitem(last=False)


def placeholders(bodies) -> dict:
    """What the bodies' names stand for in the text that says what a template is made of."""
    return {name: _Placeholder(body) for name, body in bodies.items()}
