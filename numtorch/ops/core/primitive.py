"""Primitive: an op that is not composed of others; plan tables; and the one way of a call that finds no plan.

A primitive is one record: its name, how it is planned for the layouts of its tensors and its attributes, what runs a plan, and its
derivative. Everything else that is called an op is a Python function over primitives.

    SOFTMAX = Primitive("softmax", samples="T[2, 3]; 1")     # a valid call: tensors of any dtype, then attributes

    @SOFTMAX.planned
    def _plan(layout, dim): ...                  # layouts, then attributes: checks, the result's layout, the kernel

    @SOFTMAX.run
    def softmax_along(plan, x: Tensor, dim): ... # a known plan, then the tensors and attributes of the call

    @SOFTMAX.derivative
    def _vjp(node, grad, out): ...               # gradients of the tensors, by ops, from what nodes save

`softmax_along(x, dim)` looks its plan up by the identity of the layouts and by the attributes. What is not found goes to `miss`,
which hands layouts that are special to their handler and plans the rest: an ordinary call never asks.
"""
from __future__ import annotations

import functools
import inspect
import weakref

from ...autograd.graph import Recorded
from ...devices import default, on_default_device_change
from ...dtypes import on_default_dtype_change
from ...kernels import ahead
from ...kernels.planning import planning
from ...kernels.threads import on_thread_count_change
from ...layout import Layout
from ...tensor import Tensor, ring_of
from .ahead import expect_backward, expect_callers
from .arguments import CHECKS
from .generate import make

PLAN_LIMIT = 2048                                        # plans a table keeps; then it starts over, so dynamic shapes stay bounded
ALL_PLANS = 16384                                        # plans that all tables keep together

registry: dict[str, Primitive] = {}                      # every primitive by name


def is_ours(module) -> bool:
    """Whether what a module of that name defines belongs to this package."""
    return str(module).startswith("numtorch.")


# ---------------------------------------------------------------- plans
class Plan:
    """What a call must know once its input layouts are known.

    Attributes:
        out: the result's layout; `ring` hands out memory for it.
        call, descriptor: run as `call(*addresses, descriptor)`.
        inputs: the input layouts.
        recipes: for each set of inputs that need gradients, what to record (made on first use).
    """

    __slots__ = ("op", "inputs", "out", "ring", "call", "descriptor", "recipes", "prepared", "extra")

    def __init__(self, op, inputs, out, prepared, extra=None):
        self.op, self.inputs, self.out, self.extra = op, inputs, out, extra
        # what is written in place may have negative strides, and takes no memory
        self.ring = out.ring or (None if out.extent()[0] else ring_of(out))
        self.prepared = prepared
        self.call, self.descriptor = (prepared.call, prepared.descriptor) if prepared is not None else (nothing_to_do, 0)
        self.recipes = {}


def nothing_to_do(*words):
    """The kernel of a call on no elements."""


class PlanTable(dict):
    """Plans by what their inputs look like, bounded.

    Args:
        place: the record and its attribute that are the table's; by these it is pickled.
    """

    __slots__ = ("place",)

    def __init__(self, *place):
        self.place = place

    def __reduce__(self):
        return getattr, self.place

    def keep(self, key, plan):
        _kept[0] += 1
        if _kept[0] > ALL_PLANS:
            forget_plans()
        return self.keep_again(key, plan)

    def keep_again(self, key, plan):
        """Keep a plan that another table keeps, and so counts, too. What is planned without memory does nothing: calls must not
        find it, but those that only name kernels."""
        if planning.does_nothing:
            return plan
        if len(self) >= PLAN_LIMIT:
            self.empty()
        self[key] = plan
        if not _names_tensors(key):
            _by_default_device[0].append((self, key))
        return plan

    def empty(self):
        for dropped in _dropped:
            dropped.append(list(self.values()))
        self.clear()


class Dropped(list):
    """The plans that tables drop while this is there. A capture has one: it knows kernels' descriptions by their addresses, where
    there must not be others meanwhile."""

    __slots__ = ("__weakref__",)
    __hash__ = object.__hash__

    def __init__(self):
        super().__init__()
        _dropped.add(self)


_dropped: weakref.WeakSet = weakref.WeakSet()
_tables: list = []
_kept = [0]                                              # plans that tables have been given since all were emptied


def new_plan_table(*place) -> PlanTable:
    """A plan table that is emptied when the number of threads changes, since plans hold their split."""
    table = PlanTable(*place)
    _tables.append(table)
    return table


def forget_plans() -> None:
    """Drop every plan. They are made again when needed."""
    _kept[0] = 0
    for table in _tables:
        table.empty()
    for dropped in _dropped:
        dropped.append(list(_elsewhere.values()))
    _elsewhere.clear()
    _by_default_device[0] = []


on_thread_count_change(forget_plans)


# ---------------------------------------------------------------- calls without tensors, whose plans hold the default device
_by_default_device: list = [[], default[0]]              # where such plans are, as (table, key), and for which device
_elsewhere: dict = {}                                    # those of other default devices, as (table, key, plan)


def _names_tensors(key):
    """Whether a plan's key has a layout in it."""
    return isinstance(key, Layout) or (isinstance(key, tuple) and any(map(_names_tensors, key)))


def _exchange_plans():
    """Put aside what was planned without tensors for one default device, and bring back what was for the other."""
    places, device = _by_default_device
    _elsewhere[device] = [(table, key, table.pop(key)) for table, key in places if key in table]
    _by_default_device[:] = [], default[0]
    for table, key, plan in _elsewhere.pop(default[0], ()):
        table[key] = plan
        _by_default_device[0].append((table, key))


on_default_device_change(_exchange_plans)
on_default_dtype_change(forget_plans)                    # integers become the default dtype in many ops


# ---------------------------------------------------------------- primitives
class Primitive(Recorded):
    """One op that is not composed of others.

    Args:
        name: as the graph shows it, such as `"softmax"`.
        doc: a line on what it does, where no function of its name says so.
        parameters: the names of its arguments, where these are not read from what runs it.
        module: where it is written; by default where it is made.
        samples: valid calls of it, each a text that `ops/samples.py` reads. Tests and docs/ops.md are made of them.

    Attributes:
        key: what `registry` has it by: its name, with a number behind it where a user's op has the name of another.
        plans: by the layouts of its tensors, then its attributes; `exact_plans`: by the types of these too.
        function: what users call, where that is the primitive itself.
        required: the places of arguments that must be tensors, not None.
        mixes_devices: whether its tensors may be on several devices, of which its plan then says what goes together.
        checks: what attributes are checked by, by their places.
        counts: whether the first extent of its results depends on values.
        taken: what gives the handler of a draw whose tensors are ordinary, or None, while a trace is made (func/randomness.py).
        vjp: `vjp(node, grad, *saved) -> gradients`, by ops; None where results have no gradient.
    """

    function = plan = execute = None
    required: frozenset[int] = frozenset()
    mixes_devices = counts = False
    checks: dict = {}
    taken = None

    def __init__(self, name: str, doc: str | None = None, parameters=(), module: str | None = None, samples=()):
        super().__init__(name)
        self.doc, self.parameters, self.samples = doc, tuple(parameters), (samples,) if type(samples) is str else samples
        self.module = module or _caller(self)
        self.arity = len(self.parameters)
        self.plans, self.exact_plans = new_plan_table(self, "plans"), new_plan_table(self, "exact_plans")
        number = 1
        while not is_ours(self.module) and self.key in registry:         # graphs find by it what was traced, whatever came since
            number += 1
            self.key = f"{name}_{number}"
        registry[self.key] = self

    def __repr__(self):
        return f"<primitive {self.name}({', '.join(self.parameters)})>"

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def planned(self, plan):
        """Decorator: `plan(*layouts, *attributes)`, which makes a plan or raises what is wrong with the call."""
        self.plan = plan
        return plan

    def planned_for(self, layouts, attributes):
        """The plan for layouts and attributes. It is in the table from then on, and may be before: a handler of special layouts
        calls what it makes of a call without looking there. What only equals an int (0.0, False) is planned, which may refuse it:
        the plan is found here by the types of the attributes too."""
        everything = (*layouts, *attributes)
        key = self.key_of(*everything)
        exact = everything, _types(attributes)
        try:
            plan = self.exact_plans.get(exact)
        except TypeError:                                # of what cannot be hashed
            plan = exact = None
        if plan is None:
            if not self.mixes_devices:
                check_one_device(self.name, layouts)
            plan = self.plan(*everything)                # which says what is wrong with what cannot be hashed
            if exact is None:
                return plan
            plan = self.exact_plans.keep_again(exact, plan)
        if self.plans.get(key) is not plan:
            self.plans.keep(key, plan)                   # where calls look for it
        return plan

    def key_of(self, *key):
        """What calls look a plan up by: the layouts and the attributes, or what is alone."""
        return key if len(key) > 1 else key[0]

    def plan_at(self, key):
        """The plan of a key that a node holds. It may have been forgotten since."""
        plan = self.plans.get(key)
        return self.plans.keep(key, self.plan(*key) if type(key) is tuple else self.plan(key)) if plan is None else plan

    def result_layout(self, node):
        key = node.attributes
        is_key = type(key[0] if type(key) is tuple and key else key) is Layout
        return getattr(self.plans.get(key), "out", None) if is_key else None

    def run(self, execute):
        """Decorator: what runs a plan, `execute(plan, *tensors, *attributes)`. Becomes the primitive's call, without the plan.

        Its arguments that are annotated as tensors are looked at by layout; the others are attributes, which must be hashable.
        What is annotated `int`, `float`, `complex` or `bool` must be one (`arguments.py`), where a call is planned; of an int or a
        truth value, what is equal and is none (0.0, 1) does not find the plan of another call either.
        """
        _, *arguments = inspect.signature(execute).parameters.values()
        names = [a.name for a in arguments]
        kinds = {a.name: str(a.annotation) for a in arguments}
        tensors = [n for n in names if kinds[n].startswith("Tensor")]
        if names[:len(tensors)] != tensors:
            raise TypeError(f"{self.name}: expected tensors before attributes, got {names}")
        key = [f"None if {n} is None else {n}.layout" if n in tensors and "None" in kinds[n] else
               f"{n}.layout" if n in tensors else n for n in names]
        exact = [f" or {n}.__class__ is not int" + (f" and {n} is not None" if "None" in kinds[n] else "")
                 for n in names if kinds[n].startswith("int")]
        exact += [f" or {n} is not True and {n} is not False" for n in names if kinds[n] == "bool"]
        source = f"""
def call({', '.join(names)}):
    try:
        plan = plans.get({key[0] if len(key) == 1 else '(' + ', '.join(key) + ')'})
    except (AttributeError, TypeError):
        plan = None
    if plan is None{''.join(exact)}:
        return miss(primitive, ({''.join(n + ', ' for n in tensors)}), ({''.join(n + ', ' for n in names if n not in tensors)}))
    return execute(plan, {', '.join(names)})
"""
        self.execute, self.parameters, self.arity = execute, self.parameters or tuple(names), len(names)
        self.required = frozenset(i for i, n in enumerate(tensors) if "None" not in kinds[n])
        attributes = [n for n in names if n not in tensors]
        self.checks = {i: (CHECKS[kind], n, "None" in kinds[n]) for i, n in enumerate(attributes)
                       if (kind := kinds[n].partition(" ")[0]) in CHECKS}
        scope = dict(plans=self.plans, primitive=self, miss=miss, execute=execute)
        call = make(source, scope, execute.__name__, tuple(a.default for a in arguments if a.default is not a.empty) or None)
        call.__doc__, call.__module__, call.primitive = execute.__doc__, execute.__module__, self
        self.function = self.function or call
        return call

    def checked(self, attributes):
        """Attributes as plans are found by them. Raises TypeError for what is not of the annotated kind."""
        values = [a if type(a) in _PLAIN or not hasattr(a, "__index__") or i in self.checks else a.__index__()
                  for i, a in enumerate(attributes)]
        for i, (check, name, may_miss) in self.checks.items():
            if values[i] is not None or not may_miss:
                values[i] = check(self.name, name, values[i])
        return tuple(values)

    def call(self, function):
        """Decorator: a call that is written by hand, `function(*tensors, *attributes)`, because it is hot.

        It looks its plan up itself, and what it does not find it returns `miss` of: after that the plan is in the table.
        """
        self.execute = lambda plan, *arguments: function(*arguments)
        names = list(inspect.signature(function).parameters)
        self.parameters, self.arity = self.parameters or tuple(names), len(names)
        return function

    def composed(self, function):
        """Decorator: what is made of other ops and has a derivative of its own, which special layouts are handed over whole.

        Its arguments that are annotated as tensors come first.
        """
        names = list(inspect.signature(function).parameters.values())
        count = sum(str(a.annotation).startswith("Tensor") for a in names)

        @functools.wraps(function)
        def call(*arguments):
            handler = handler_of(arguments[:count])
            if handler is not None:
                return handler(self, arguments[:count], arguments[count:])
            return function(*arguments)
        self.execute, self.planned_for = (lambda plan, *arguments: function(*arguments)), (lambda layouts, attributes: None)
        self.parameters, self.function = tuple([a.name for a in names]), call
        return call


class Draw(Primitive):
    """A primitive that draws random numbers: its last attribute is the generator, on which plans do not depend."""

    def planned_for(self, layouts, attributes):
        return super().planned_for(layouts, attributes[:-1])

    def draw(self, tensors, attributes, generator):
        """The call."""
        key = (*[t.layout for t in tensors], *attributes)
        plan = self.plans.get(key[0] if len(key) == 1 else key)
        if plan is None:
            return miss(self, tensors, (*attributes, generator))
        return self.execute(plan, *tensors, *attributes, generator)


def _caller(primitive):
    """The module in which a primitive is made, by whatever class of it."""
    frame = inspect.currentframe().f_back
    while frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is primitive:
        frame = frame.f_back
    return frame.f_globals["__name__"]


def check_one_device(name, layouts):
    """Raise RuntimeError for layouts of two devices: kernels of one would be given addresses of the other."""
    devices = list(dict.fromkeys([each.device for each in layouts if each is not None]))
    if len(devices) > 1:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {devices[0]} and "
                           f"{devices[1]}! (when checking arguments for {name})")


def _types(value):
    return tuple([_types(v) for v in value]) if type(value) is tuple else type(value)


def primitives(*names, samples=()) -> dict:
    """Primitives of one kind, by name."""
    module = inspect.currentframe().f_back.f_globals["__name__"]
    return {name: Primitive(name, module=module, samples=samples) for name in names}


def derivative_of(*each):
    """Decorator: the derivative of several primitives."""
    def add(vjp):
        for primitive in each:
            primitive.derivative(vjp)
        return vjp
    return add


_PLAIN = frozenset((int, bool, float, str, tuple, type(None)))


def miss(primitive, tensors, attributes=()):
    """A call whose plan is not known: planned, unless one of its layouts is special.

    Args:
        primitive: what is called.
        tensors: its tensors, None for one that is left out.
        attributes: its other arguments.

    Returns:
        What the call returns.

    Raises:
        TypeError: what should be a tensor is none.
    """
    handler = handler_of(tensors)
    if handler is None and primitive.taken is not None:
        handler = primitive.taken()
    if handler is not None:
        return handler(primitive, tensors, attributes)
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor) and (tensor is not None or place in primitive.required):
            raise not_a_tensor(primitive.name, tensor, primitive.parameters[place], place + 1)
    attributes = primitive.checked(attributes)
    if ahead.is_cold():
        expect_callers()
    plan = primitive.planned_for([None if t is None else t.layout for t in tensors], attributes)
    result = primitive.execute(plan, *tensors, *attributes)
    if ahead.is_cold():
        expect_backward(result)
    return result


def handler_of(tensors):
    """What takes over a call on these tensors: of special layouts among them, the handler of the highest rank; None as a rule."""
    result = None
    for tensor in tensors:
        handler = getattr(getattr(tensor, "layout", None), "handler", None)
        if handler is not None and (result is None or handler.rank > result.rank):
            result = handler
    return result


def not_a_tensor(name, value, argument="input", position=1) -> TypeError:
    """What to raise where an argument should be a tensor."""
    return TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {class_of(value)}")


def class_of(value) -> str:
    """The name of an argument's class, for messages. A tensor of PyTorch's says which library it is from."""
    kind = type(value)
    if any(c.__name__ == "Tensor" and c.__module__.partition(".")[0] == "torch" for c in kind.__mro__):
        return f"torch.{kind.__name__} of the installed PyTorch; convert it with numtorch.from_dlpack(x)"
    return kind.__name__
