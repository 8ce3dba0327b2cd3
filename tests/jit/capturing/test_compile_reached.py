"""What a compiled function reaches, kind by kind: where something has changed that decides on a call, it is seen."""
from __future__ import annotations

import collections
import enum
import functools
import sys
import types
import weakref

import pytest
from replays import is_replayed, same, why

import numtorch as torch
from numtorch.jit.capturing import unchanged
from numtorch.kernels import compiler, debugmemory

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
config = types.ModuleType("config_of_a_test")
config.inner = types.ModuleType("config_of_a_test.inner")


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    monkeypatch.setitem(sys.modules, config.__name__, config)
    monkeypatch.setitem(sys.modules, config.inner.__name__, config.inner)
    config.scale = config.inner.scale = 2.0


def _function_attribute():
    def f(x):
        return x * f.scale
    f.scale = 2.0
    return f, lambda value: setattr(f, "scale", value)


def _attribute_of_another_function():
    def never_called():
        pass

    def f(x):
        return x * getattr(never_called, "scale", 2.0)
    return f, lambda value: setattr(never_called, "scale", value)


def _module_by_a_name_of_a_string():
    return lambda x: x * getattr(config, "scale"), lambda value: setattr(config, "scale", value)         # noqa: B009


def _module_by_any_name():
    name = "".join(["sc", "ale"])
    return lambda x: x * getattr(config, name), lambda value: setattr(config, "scale", value)


def _dict_of_a_module():
    return lambda x: x * vars(config)["scale"] + config.__dict__["scale"], lambda value: setattr(config, "scale", value)


def _module_within_a_module():
    return lambda x: x * config.inner.scale, lambda value: setattr(config.inner, "scale", value)


def _module_in_an_object():
    holder = types.SimpleNamespace(config=config)
    return lambda x: x * holder.config.scale, lambda value: setattr(config, "scale", value)


def _module_in_a_variable():
    local = config
    return lambda x: x * local.scale, lambda value: setattr(config, "scale", value)


def _module_imported_inside():
    def f(x):
        import config_of_a_test.inner
        return x * config_of_a_test.scale
    return f, lambda value: setattr(config, "scale", value)


class _Options(dict):
    scale = 2.0


def _attribute_of_a_dict():
    options = _Options()
    return lambda x: x * options.scale, lambda value: setattr(options, "scale", value)


def _class_of_a_dict():
    options = type("Options", (dict,), {"scale": 2.0})()
    return lambda x: x * options.scale, lambda value: setattr(type(options), "scale", value)


def _class_of_a_list():
    values = type("Values", (list,), {"scale": lambda self: 2.0})()
    return lambda x: x * values.scale(), lambda value: setattr(type(values), "scale", lambda self: value)


def _class_of_a_tuple():
    pair = type("Pair", (tuple,), {"scale": 2.0})()
    return lambda x: x * pair.scale, lambda value: setattr(type(pair), "scale", value)


def _calls_of_an_object():
    scaling = type("Scaling", (), {"__call__": lambda self, x: x * 2.0})()
    return lambda x: scaling(x), lambda value: setattr(type(scaling), "__call__", lambda self, x: x * value)


def _defaults_of_a_special_method():
    def scaled(self, x, scale=2.0):
        return x * scale
    scaling = type("Scaling", (), {"__call__": scaled})()
    return lambda x: scaling(x), lambda value: setattr(scaled, "__defaults__", (value,))


def _a_method_that_hides_another():
    scaling = type("Below", (type("Above", (), {"scale": 2.0}),), {})()
    return lambda x: x * scaling.scale, lambda value: setattr(type(scaling), "scale", value)


def _class_of_an_object():
    classes = [type("Scale", (), {"scale": value}) for value in (2.0, 3.0, 5.0)]
    scaling = classes[0]()
    return lambda x: x * scaling.scale, lambda value: setattr(scaling, "__class__", classes[(value == 5.0) + 1])


def _bases_of_a_class():
    classes = [type("Scale", (), {"scale": value}) for value in (2.0, 3.0, 5.0)]
    scaling = type("Below", (classes[0],), {})()
    return lambda x: x * scaling.scale, lambda value: setattr(type(scaling), "__bases__", (classes[(value == 5.0) + 1],))


def _class_of_a_class():
    kind = type("Meta", (type,), {"scale": 2.0})("Kind", (), {})
    return lambda x: x * kind.scale, lambda value: setattr(type(kind), "scale", value)


def _slots_that_are_empty():
    holder = type("Holder", (), {"__slots__": ("scale", "more")})()
    holder.scale = 2.0
    return lambda x: x * holder.scale + (holder.more if hasattr(holder, "more") else 0), lambda value: setattr(holder, "more", value)


class _Hidden:
    __slots__ = ("__scale",)

    def __init__(self):
        self.set(2.0)

    def set(self, value):
        self.__scale = value

    def scaled(self, x):
        return x * self.__scale


def _slots_of_two_underscores():
    hidden = _Hidden()
    return lambda x: hidden.scaled(x), hidden.set


def _weak_reference():
    holder = types.SimpleNamespace(scale=2.0)
    holder.itself = weakref.ref(type("Holder", (), {})())
    held = type("Held", (), {"scale": 2.0})()
    reference = weakref.ref(held)
    return lambda x: x * reference().scale, lambda value, held=held: setattr(held, "scale", value)


def _method_of_a_dict():
    options = {"scale": 2.0}
    get = options.get
    return lambda x: x * get("scale"), lambda value: options.update(scale=value)


def _kept_results():
    options = {"scale": 2.0}
    scale = functools.cache(lambda: options["scale"])

    def change(value):
        options["scale"] = value
        scale.cache_clear()
    return lambda x: x * scale(), change


def _kinds_of_calls():
    kind = type("Kind", (), {})()
    scale = functools.singledispatch(lambda kind: 2.0)
    return lambda x: x * scale(kind), lambda value: scale.register(type(kind), lambda kind: value)


def _attribute_of_a_tensor():
    held = torch.ones(3)
    held.scale = 2.0
    return lambda x: x * held * getattr(held, "scale", 2.0), lambda value: setattr(held, "scale", value)


def _value_of_an_enum():
    Scale = enum.Enum("Scale", ["ONE"])
    Scale.ONE.factor = 2.0
    return lambda x: x * Scale.ONE.factor, lambda value: setattr(Scale.ONE, "factor", value)


def _deque():
    scales = collections.deque([2.0], maxlen=2)
    return lambda x: x * scales[-1], scales.append


KINDS = [_function_attribute, _attribute_of_another_function, _module_by_a_name_of_a_string, _module_by_any_name, _dict_of_a_module,
         _module_within_a_module, _module_in_an_object, _module_in_a_variable, _module_imported_inside, _attribute_of_a_dict,
         _class_of_a_dict, _class_of_a_list, _class_of_a_tuple, _calls_of_an_object, _defaults_of_a_special_method,
         _a_method_that_hides_another, _class_of_an_object, _bases_of_a_class, _class_of_a_class, _slots_that_are_empty,
         _slots_of_two_underscores, _weak_reference, _method_of_a_dict, _kept_results, _kinds_of_calls, _attribute_of_a_tensor,
         _value_of_an_enum, _deque]
NOT_CAPTURED = {_kept_results, _kinds_of_calls}          # what cannot be compared


@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__[1:])
def test_each_kind_of_thing_that_changes_is_seen(kind, words, monkeypatch):
    if not words:
        monkeypatch.setattr(unchanged.guards, "is_known", lambda: False)
    f, change = kind()
    function = torch.compile(f, mode="replay")

    def check():
        for i in range(5):
            x = torch.tensor([i + 1.0, -2.0, 0.5])
            assert same(function(x), f(x))
    check()
    assert is_replayed(function) is (kind not in NOT_CAPTURED), why(function)
    for value in (3.0, 5.0):
        change(value)
        check()


def test_effects_by_a_method_that_was_taken_of_a_list():
    seen: list = []
    append = seen.append

    @torch.compile
    def f(x):
        append(1)
        return x * 2
    for i in range(6):
        f(torch.ones(2))
        assert len(seen) == i + 1


def _by_attribute(x):
    return x * getattr(x, "scale", 2.0)


def _by_offset(x):
    return x * x.storage_offset()


def _by_address(x):
    return x * (x.data_ptr() % 64)


def _by_memory(x):
    return x * x.untyped_storage().nbytes()


def _by_version(x):
    return x * x._version


def _by_what_it_is_a_view_of(x):
    return x * (2.0 if x._base is None else 3.0)


def _by_gradient(x):
    return x * 2 if x.grad is None else x * x.grad


def _by_place_on_the_tape(x):
    return (x * (2.0 if x.is_leaf else 3.0)).detach()


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("f", [_by_attribute, _by_offset, _by_address, _by_memory, _by_version, _by_what_it_is_a_view_of, _by_gradient,
                               _by_place_on_the_tape], ids=lambda f: f.__name__[1:])
def test_what_tells_arguments_apart_beside_their_layouts(f, recorded):
    function, whole, scaled = torch.compile(f, mode="replay"), torch.arange(40.0), torch.ones(4)
    written, graded = torch.ones(4).add_(1), torch.ones(4, requires_grad=recorded)
    scaled.scale = 7.0
    graded.grad = torch.full((4,), 3.0)
    others = [whole[4:8], whole[8:12], scaled, written, torch.ones(3, 4)[1]]
    for x in (*[torch.full((4,), i + 1.0) for i in range(8)], *others, *others, torch.ones(4)):
        x = x.requires_grad_() if recorded and x is not written else x
        assert same(function(x), f(x))
        assert not recorded or f is _by_version or same(function(x * 2), f(x * 2))         # of a result, any number
    assert same(function(graded), f(graded))
