"""Calls whose results have a graph: a program of forward, and one of backward that the tape runs when it comes there.

    model = torch.compile(model)
    loss = criterion(model(x), y)        # forward's program
    loss.backward()                      # backward's

1. A call is traced with its derivative (joint.py); then all is put back as it was.
2. Passes run over both programs, and a thread runs them on copies, so that their kernels are compiled.
3. Both are captured in the place of a call (replay.py), and compared with what the call and the tape give: results, gradients,
   and all memory that the function reaches. Where they differ by more than rounding, or something on the way did not hold, calls
   run as they are.
4. From then on a call is a replay of forward, and one node of the tape, where that takes less time than the call as it is, or where
   memory has a budget.
"""
from __future__ import annotations

import functools
import threading
from typing import Any

from ...autograd.graph import GraphNode, Leaf, Node, attach_outputs, freed_error, restore
from ...autograd.graph import Recorded as Once
from ...autograd.modes import no_grad
from ...devices import cpu
from ...ops.core.generator import Generator, default_generator
from ...tensor import alias, empty, view_of
from ...tree import each_tensor_in, map_tensors, unflatten
from ..capturing.before import Before
from ..capturing.capture import Watch
from ..capturing.complaints import Again, Differs
from ..capturing.contents import unsaid
from ..capturing.reach import Reach, Unfollowed
from ..capturing.replay import NotCaptured, Replay
from ..capturing.snapshots import Snapshot, alike
from ..graphs.graph import Graph
from ..graphs.operations import in_order, laid_out
from ..passes import optimized
from ..passes.checkpointing import recompute
from .calls import DIFFERING, PROGRAMS, key_of, ran_before, reach_of
from .executor import Executor
from .improving import compiling, onlookers, warm_up
from .joint import divide, joint_graph, sharing
from .repeating import Repetition, apart
from .splitting import code_of
from .trial import Trial

ATTEMPTS = 4                                             # in a row that may fail


class Half:
    """One of the two programs.

    Args:
        graph: it.
        gives: the layouts of what the call gives there.
        passed: how many of its last inputs it may give as they are. Nothing else that it gives is in memory of inputs or constants.
    """

    def __init__(self, graph: Graph, gives: list, passed: int) -> None:
        self.graph, self.gives, self.passed, self.executor = graph, gives, passed, Executor(graph, {}, [])
        self.replay: Any = None
        self.elsewhere = any(value.layout.device is not cpu for value in graph.values())
        self.takes = [value.layout for value in graph.inputs]
        self.layouts: list = []

    def capture(self, tensors: list, reach: Reach) -> None:
        """Run it on tensors, twice, and keep what it launches.

        Args:
            tensors: what it is given.
            reach: what decides on its launches besides.

        Raises:
            NotCaptured: it cannot be replayed.
        """
        self.execute(tensors)                            # so that all is planned
        before = Before(tensors, reach)
        watch = Watch(devices=self.elsewhere, before=before, truths=True)
        result = watch.run(lambda: self.execute(tensors), (), {})
        try:
            if watch.breaks:
                raise NotCaptured(str(watch.breaks[0]))
            self.replay = Replay(watch, before, result, False)
        finally:
            watch.memory.close()
        self.layouts = [tensor.layout for tensor in tensors]
        watch.memory.poison()                            # so that nothing is read that the program did not write

    def execute(self, tensors: list) -> list:
        """What it gives for tensors, call after call.

        Args:
            tensors: what it is given.
        """
        passed = tensors[len(tensors) - self.passed:]
        held = {t.memory for t in (*tensors, *self.graph.constants.values())}
        with no_grad():
            return [laid_out(t, layout) if t.memory in held and not any(t is each for each in passed) else in_order(t, layout)
                    for t, layout in zip(self.executor.run(*tensors), self.gives)]

    def run(self, tensors: list) -> Any:
        """What it gives for tensors; None where something is not as it was captured.

        Args:
            tensors: what it is given.

        Raises:
            Differs: what it decides by is otherwise.
        """
        replay = self.replay
        for tensor, layout in zip(tensors, self.layouts):
            if tensor.layout is not layout:
                return None
        with replay.lock:
            if replay.running or not replay.fits(tensors):
                return None
            replay.running = True
            try:
                results = replay.run(tensors)
            except Differs:
                raise
            except Again:                                # op by op, the error is that of a call
                return None
            finally:
                replay.running = False
        return results and results[0]


class CompiledFunctionBackward(Node):
    """A compiled call on the tape.

    Args:
        program: what was run.
        tensors: the call's arguments that are tensors.
        beginning: what it began with, for gradients that are differentiated.
        outs: what forward's program gave.

    Attributes:
        layouts: of the results that have gradients.
        versions: of the memory of what is kept.
    """

    __slots__ = ("program", "arguments", "beginning", "layouts", "versions", "outputs")

    def __init__(self, program, tensors, beginning, outs) -> None:
        halves, count = program.halves, len(program.kinds)
        self.arguments = {i: tensors[i] for i in program.arguments}
        self.program, self.beginning, self.extras = program, beginning, None
        self.edges = tuple([tensor.node for tensor in (*self.arguments.values(), *program.reached)])
        self.saved = [alias(outs[i]) if i < count else outs[i] for i in halves.own]        # of a result, without its node
        self.saved += [tensors[i] for i in halves.arguments]
        self.saved += halves.reached
        self.versions = [tensor.memory.version for tensor in self.saved]
        results = [out for out, kind in zip(outs, program.kinds) if kind]
        self.outputs, self.layouts = len(results), [out.layout for out in results]
        if self.outputs == 1:
            results[0].node = self
        else:
            attach_outputs(self, results)

    def _begin(self, grad):
        if self.saved is None:
            raise freed_error()
        return [empty(layout).zero_() if each is None else each
                for each, layout in zip(grad if self.outputs > 1 else (grad,), self.layouts)]

    def _to_edges(self, gradients, grad):
        """Gradients of the edges; None of those that only results without gradients depend on, as in the call as it is."""
        if self.outputs > 1:
            depends, begun = self.program.halves.depends, {i for i, each in enumerate(grad) if each is not None}
            gradients = [None if place is None or (depends[place] and begun.isdisjoint(depends[place])) else gradient
                         for gradient, place in zip(gradients, self.program.given)]
        return tuple([None if edge is None else gradient for edge, gradient in zip(self.edges, gradients)])

    def backward(self, grad):
        begin = self._begin(grad)
        given = [restore(tensor, version, self) for tensor, version in zip(self.saved, self.versions)]
        gradients = self.program.differentiate(given + begin)
        return self._to_edges([None if i is None else gradients[i] for i in self.program.given], grad)

    def differentiable_backward(self, grad):
        begin, program = self._begin(grad), self.program
        if program.repetition is not None and self.beginning.is_unchanged():
            return self._to_edges(program.repetition.gradients(self.beginning, self.arguments, begin), grad)
        edges = (*[each.node for each in begin], *self.edges)
        with no_grad():
            gradients = self.backward(grad)
        return tuple([None if each is None else view_of(each, each.layout, 0, GraphNode(_ONCE, edges, ())) for each in gradients])


_ONCE = Once("compiled_function")                        # what gradients of calls that cannot be made once more are recorded for


@_ONCE.derivative
def _refuse(node, grad):
    raise RuntimeError("compile: a gradient of a compiled call that writes to what has a graph, or read what has been written to "
                       "since, cannot be differentiated; call the function without compile")


class Recorded:
    """A call's two programs, made.

    Args:
        reach: what the function reaches.
        joint: a traced call.
        arguments: how many tensors are arguments.
        passes: whether passes run over the programs.
        memory_budget: as `compile` has it.

    Attributes:
        repetition: for gradients that are differentiated; None where those of the call would be others.
    """

    def __init__(self, reach, joint, arguments: int, passes: bool, memory_budget: float = 1.0) -> None:
        self.reach = reach
        self.passes: dict[str, int] = {}
        if passes and memory_budget < 1:                 # what is computed again in backward is not kept for it
            self.passes["computed again"] = recompute(joint.graph, memory_budget)
        self.halves = divide(joint, arguments)
        self.repetition: Repetition | None = Repetition(joint, self.halves)
        self.results, self.form = joint.results, joint.form
        self.single = isinstance(unflatten(joint.results, joint.form), bool)
        self.kinds = [kind for kind in joint.results if type(kind) is bool]
        self.arguments, self.reached, self.given = joint.arguments, joint.reached, joint.given
        halves = []
        for graph in (self.halves.forward, self.halves.backward):
            made, done = optimized(graph) if passes else (graph, {})
            if sharing(made) != sharing(graph):          # two results became one, and a caller may write to either
                made, done = graph, {}
            halves.append(Half(made, [value.layout for value in graph.results], len(halves) * sum(self.kinds)))
            self.passes = {name: self.passes.get(name, 0) + done.get(name, 0) for name in {**self.passes, **done}}
        self.forward, self.backward = halves

    def call(self, tensors: list) -> Any:
        """What the call returns, in a tuple; None where something has changed.

        Args:
            tensors: its arguments that are tensors.
        """
        beginning = None if self.repetition is None else self.repetition.begin(tensors)
        results = self.forward.run(tensors)
        if results is None:
            return None
        CompiledFunctionBackward(self, tensors, beginning, results)
        if self.single:
            return results[0],
        outs = iter(results)
        return unflatten([next(outs) if type(kind) is bool else kind for kind in self.results], self.form),

    def repeated(self, tensors: list, begin: list) -> list | None:
        """Gradients as they are made to be differentiated; None where the graph is not run op by op.

        Args:
            tensors: the call's arguments.
            begin: gradients of the results.
        """
        repetition = self.repetition
        try:
            return None if repetition is None else repetition.gradients(
                repetition.begin(tensors), {i: tensors[i] for i in self.arguments}, begin)
        except (NotImplementedError, RuntimeError, TypeError, ValueError):
            return None

    def differentiate(self, given: list) -> list:
        """Gradients.

        Args:
            given: what backward's program is given.
        """
        given = list(map(in_order, given, self.backward.takes))
        gradients = self.backward.run(given)
        return self.backward.execute(given) if gradients is None else gradients


class Recording:
    """Calls of one kind, whose results have a graph.

    Args:
        function: what is called.
        codes: the user's code objects that run, with their globals.
        passes: whether passes run over the programs.
        memory_budget: as `compile` has it.

    Attributes:
        programs: those that there are, the one used last first.
        reason: why there are none, once that is known; `breaks` say so by lines.
        stays: why calls run as they are, though there are programs.
    """

    def __init__(self, function, codes: dict, passes: bool, memory_budget: float = 1.0) -> None:
        self.function, self.codes, self.passes, self.memory_budget = function, dict(codes), passes, memory_budget
        self.programs: list[Recorded] = []
        self.breaks: list = []
        self.pending: Any = None                         # a program, and the thread that compiles its kernels
        self.attempts, self.made, self.differed, self.reason, self.stays = 0, 0, 0, None, None

    def call(self, tensors: list, args, kwargs) -> Any:
        """What a call returns.

        Args:
            tensors, args, kwargs: its arguments, and those among them that are tensors.
        """
        for program in self.programs if self.stays is None else ():
            try:
                returned = program.call(tensors)
            except Differs:                              # another program may have this case
                returned, self.differed = None, self.differed + 1
                if self.differed > DIFFERING:
                    break
            if returned is not None:
                if program is not self.programs[0]:
                    self.programs = [program, *[each for each in self.programs if each is not program]]
                return returned[0]
        compiling_it = self.pending is not None and self.pending[1] is not None and self.pending[1].is_alive()
        if self.stays is not None or self.reason is not None or compiling_it:
            return self.function(*args, **kwargs)
        if self.differed and (self.differed > DIFFERING or len(self.programs) == PROGRAMS):
            self.reason, self.programs = "it decides by truth values that change from call to call", []
            return self.function(*args, **kwargs)
        if self.pending is None:
            done, result = self._begin(tensors, args, kwargs)
            if done:
                return result
        else:
            self._finish(tensors, args, kwargs)
        return self.function(*args, **kwargs)

    def _failed(self, why) -> None:
        self.pending, self.attempts = None, self.attempts + 1
        if self.attempts >= ATTEMPTS or self.made >= PROGRAMS * ATTEMPTS:
            self.reason = str(why)

    def _snapshot(self, tensors, reach, args, kwargs):
        held = [tensor for _, tensor in reach.tensors.values()]
        objects: list = []
        key_of((args, kwargs), [], objects)
        streams = {each for _, _, before, _, _ in reach.held for each in before if isinstance(each, Generator)}
        streams |= {each for each in objects if isinstance(each, Generator)}
        leaves = dict.fromkeys(t.node for t in held if type(t.node) is Leaf)
        return Snapshot([t.memory for t in tensors], held, leaves, [], {default_generator, *streams})

    # ------------------------------------------------------------ making one
    def _begin(self, tensors, args, kwargs):
        """Trace a call. Returns whether it has been made already, and its result."""
        function = self.function
        if list(map(id, each_tensor_in((args, kwargs)))) != list(map(id, tensors)):
            self._failed("its arguments come in another order")
            return False, None
        try:
            objects: list = []
            key_of((args, kwargs), [], objects)
            reach = reach_of(function, objects, self.codes)
        except Unfollowed as error:                      # what ran last time may be more, where kernels were compiled
            watch = Watch(capturing=False)
            result, self.codes = watch.run(function, args, kwargs), watch.codes
            self._failed(error)
            return True, result
        if reach.tensors and onlookers():
            return False, None
        places = Before(tensors, reach, False)
        watch = Watch(False, code_of(function), before=places, truths=True)
        result = watch.run(function, args, kwargs)
        if not ran_before(watch.codes, self.codes) or watch.breaks or reach.difference() is not None or places.moved() is not None:
            self.codes.update(watch.codes)
            self.breaks = watch.breaks
            self._failed(watch.breaks[0] if watch.breaks else "what it does changes from call to call")
            return True, result
        before, program = self._snapshot(tensors, reach, args, kwargs), None
        devices = {tensor.layout.device for tensor in (*tensors, *[t for _, t in reach.tensors.values()])}
        try:
            with unsaid(devices):
                joint = joint_graph(function, args, kwargs, reach, not self.passes)
            program = Recorded(reach, joint, len(tensors), self.passes, self.memory_budget)
        except Exception as error:
            self._failed(f"it is not traced: {error}")
        before.restore()
        if program is not None:
            thread = None
            if self.passes:
                runs = [warm_up(program.forward.graph, tensors),
                        warm_up(program.backward.graph, [empty(v.layout).zero_() for v in program.backward.graph.inputs])]
                thread = threading.Thread(target=functools.partial(self._compile, runs, devices), name="numtorch compiles")
                compiling.add(thread)
                thread.start()
            self.pending = program, thread
        return True, result

    def _compile(self, runs, devices):
        try:
            with unsaid(devices):
                for run in runs:
                    run()
        except Exception as error:
            self.reason = f"its programs do not run: {error}"
        finally:
            compiling.discard(threading.current_thread())

    def _finish(self, tensors, args, kwargs):
        """Capture a program's halves, and compare them with what a call gives."""
        program, _ = self.pending
        if program.reach.tensors and onlookers():        # whose writes would be put back
            return
        if program.reach.difference() is not None:
            self._failed("what it reaches changes from call to call")
            return
        own = {id(tensor): apart(tensor) for tensor in tensors}          # else hooks of arguments would see these gradients
        tensors, call = [own[id(tensor)] for tensor in tensors], (args, kwargs)
        args, kwargs = map_tensors(lambda tensor: own[id(tensor)], call)
        trial = Trial(self.function, program, tensors, (args, kwargs), self._snapshot(tensors, program.reach, args, kwargs))
        try:
            made = trial.of_the_programs()
        except Exception as error:
            self._failed(f"it is not captured: {error}")
            return
        repeated, (wanted, nudged) = trial.of_the_repetition(), trial.as_it_is()
        if not trial.draws_alike or not all(map(alike, made, wanted, nudged)):
            self._failed("its programs give something else")
            return
        count = len(program.kinds)
        if repeated is None or not all(map(alike, repeated, wanted[count:], nudged[count:])):
            program.repetition = None
        self.programs = [program, *self.programs[:PROGRAMS - 1]]
        self.pending, self.attempts, self.made = None, 0, self.made + 1
        if self.passes and self.memory_budget == 1 and not trial.is_faster():
            self.stays = "as it is, it takes less time"
