"""Elementwise ops of users (`@torch.pointwise`) as functions that scripts call. A file has the calls that their formulas are made
of, as files of traces do (graphs/decompose.py), and runs where their source is absent."""
from __future__ import annotations

import inspect
from typing import Any

from ...ops.core.primitive import is_ours
from ...ops.pointwise.pointwise import PointwiseOp
from ..graphs.decompose import calls_of
from ..graphs.fused import check_calls, run_calls
from .kinds import ANY, TENSOR, tuple_of


def ops_of(function: Any) -> tuple:
    """The ops of a function that `torch.pointwise` made for a user, one for each of its results; none of any other.

    Args:
        function: it.
    """
    ops = getattr(function, "ops", None) or (getattr(function, "op", None),)
    return ops if all(isinstance(op, PointwiseOp) and not is_ours(op.module) for op in ops) else ()


class Formula:
    """A function of users' elementwise ops.

    Args:
        name: under which a unit's scripts have it.
        function: it.
        parameters: (name, default) of each argument, with `inspect.Parameter.empty` for no default.
        count: of its results.

    Attributes:
        arguments, places, with_default: as a script has them.
        result: the type of what it returns.
    """

    def __init__(self, name: str, function: Any, parameters: list[tuple[str, Any]], count: int) -> None:
        self.name, self.__name__, self.run, self.parameters = name, name, function, parameters
        self.function = self                             # by which a library (native/stagedcalls.py) knows it
        self.arguments = [(each, ANY) for each, _ in parameters]
        self.places = [each for each, _ in parameters]
        self.with_default = {each for each, default in parameters if default is not inspect.Parameter.empty}
        self.result = TENSOR if count == 1 else tuple_of(*[TENSOR] * count)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)

    def content(self) -> dict:
        """What a file holds of it.

        Raises:
            NotImplementedError: a formula cannot be read, or does not say of which dtype its results are.
        """
        given, needed = dict(self.parameters), len(self.places) - len(self.with_default)
        return {"formulas": self.calls(), "arguments": self.places, "defaults": [given[each] for each in self.places[needed:]]}

    def calls(self) -> list[tuple]:
        """The calls of this package's ops that give each result."""
        for op in ops_of(self.run):
            if op.kind != "expression" or op.overloads:
                raise NotImplementedError(f"jit.save: the dtype of what {op.name} gives is not said by its formula, but by "
                                          f"{'an overload' if op.overloads else f'kind={op.kind!r}'}, which no script's file has")
        return [calls_of(op) for op in ops_of(self.run)]


class _Loaded(Formula):
    """One from a file: its calls, op by op."""

    def __init__(self, name: str, formulas: list[tuple], parameters: list[tuple[str, Any]]) -> None:
        super().__init__(name, self._run, parameters, len(formulas))
        self.formulas = formulas
        self.signature = inspect.Signature([inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
                                            for each, default in parameters])

    def _run(self, *args, **kwargs):
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        results = [run_calls(calls, [*bound.arguments.values()])[-1] for calls in self.formulas]
        return results[0] if len(results) == 1 else tuple(results)

    def calls(self):
        return self.formulas


def formula(name: str, function: Any) -> Formula:
    """A user's function of elementwise ops.

    Args:
        name: under which a unit's scripts have it.
        function: it.
    """
    ops = ops_of(function)
    empty = inspect.Parameter.empty
    return Formula(name, function, [*[(each, empty) for each in ops[0].operands], *ops[0].numbers.items()], len(ops))


def from_content(name: str, content: dict) -> Formula:
    """One that a file holds.

    Args:
        name: its own.
        content: as `Formula.content` gives it.

    Raises:
        ValueError: it is damaged.
    """
    places, defaults = list(content["arguments"]), list(content["defaults"])
    formulas = [tuple(map(tuple, calls)) for calls in content["formulas"]]
    if not formulas or not all(formulas) or not all(type(each) in (bool, int, float) for each in defaults):
        raise ValueError(f"{name} is no formula")
    for calls in formulas:
        check_calls(calls, len(places))
    empty = inspect.Parameter.empty
    return _Loaded(name, formulas, [*zip(places, [*[empty] * (len(places) - len(defaults)), *defaults])])
