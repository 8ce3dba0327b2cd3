"""What becomes of a captured call that is often replayed: its graph, after passes, as a program in its place.

Each stage is one call of the function, or several:

1. It is replayed some times (`PATIENCE`): what runs rarely is not worth it.
2. One call is traced (tracing.py), on the function's own tensors; then all is put back as it was, and the call is replayed.
3. Passes run, and a thread runs the graph on copies, so that its kernels are compiled. Calls are replayed meanwhile. Where
   convolutions could have channels last there are two graphs, and the faster goes on.
4. The graph is run in the place of the call (executor.py) and captured as any call is. All is put back, the call is replayed,
   and the two are compared: results, gradients, and all memory that the function reaches. Where they differ by more than rounding
   (`snapshots.alike`), or in anything but numbers, the replay stays.
5. The two take turns for a while, and the faster stays; the smaller, where the memory has a budget.

What the caller gets is a replay's, or that of a program which was found equal. A function that reaches tensors is not traced while
there are other threads, which could see them meanwhile; those of progress bars, logs and notebooks do not.
"""
from __future__ import annotations

import threading
from typing import Any

from ...autograd.graph import Leaf
from ...autograd.modes import no_grad
from ...devices import cpu
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...tensor import Tensor, empty
from ...tree import each_tensor_in, map_tensors, tensors_in
from ..capturing.before import Before
from ..capturing.capture import Watch
from ..capturing.complaints import Differs
from ..capturing.contents import unsaid
from ..capturing.replay import NotCaptured, Replay
from ..capturing.snapshots import Snapshot, alike, content, nudge
from ..capturing.steps import Draw
from ..graphs.epilogue import EPILOGUE
from ..graphs.graph import CONSTANT, Graph, Value
from ..graphs.interpreter import Interpreter
from ..graphs.operations import TRUTH, in_order
from ..passes import choices
from ..passes.inplace import is_view
from ..tracing.freezing import tracing
from ..tracing.tracing import Trace
from .deciding import decide
from .executor import Executor
from .timing import fastest, timed

PATIENCE = 16                                            # replays before the call is traced
TURNS = 12                                               # calls that two programs take turns in, after verification
compiling: set = set()                                  # the threads that do
_WITHOUT_TENSORS = {"tqdm", "rich", "tensorboard", "ipykernel", "IPython", "zmq", "tornado"}    # whose threads draw, log and listen


def onlookers() -> list:
    """The other threads of Python that could use tensors."""
    return [thread for thread in threading.enumerate() if thread is not threading.current_thread() and thread not in compiling
            and not {type(thread).__module__.partition(".")[0],
                     str(getattr(getattr(thread, "_target", None), "__module__", "")).partition(".")[0]} & _WITHOUT_TENSORS]


class Improvement:
    """What is made of a replay.

    Args:
        replay: it; its `better` is this, as long as something can be done.
        begin: `begin(args, kwargs, tensors)` gives what the function reaches now (reach.py).
        function: what is called.
        reuse: as `Replay` has it.
        memory_budget: as `compile` has it.

    Attributes:
        passes: how often each pass did something.
        reason: why the replay stays, once that is known.
    """

    def __init__(self, replay: Replay, begin, function, reuse: bool, memory_budget: float = 1.0) -> None:
        self.replay, self.begin, self.function, self.reuse = replay, begin, function, reuse
        self.memory_budget = memory_budget
        self.stage: Any = self._wait
        self.calls, self.passes, self.reason = 0, {}, None
        self.devices: set = set()

    def run(self, tensors, args, kwargs):
        """The result of a call on tensors that fit, as `Replay.run` gives it."""
        return self.stage(tensors, args, kwargs)

    def _stay(self, reason) -> None:
        self.reason = self.replay.stays = reason
        self.replay.better = None
        self.executor = self.candidate = self.begin = None
        self.stage = self._done

    # ------------------------------------------------------------ the stages
    def _done(self, tensors, args, kwargs):
        return self.replay.run(tensors)

    def _wait(self, tensors, args, kwargs):
        self.calls += 1
        if self.calls >= PATIENCE and list(map(id, each_tensor_in((args, kwargs)))) != list(map(id, tensors)):
            self._stay("its arguments come in another order")
        elif self.calls >= PATIENCE:
            reach = self.begin(args, kwargs, tensors)
            if not reach.tensors or not onlookers():
                self._trace(tensors, args, kwargs, reach)
        return self.replay.run(tensors)

    def _snapshot(self, tensors, reach):
        leaves = dict.fromkeys(t.node for _, t in reach.tensors.values() if type(t.node) is Leaf)
        return Snapshot([*[t.memory for t in tensors], *self.replay.used.values()], [t for _, t in reach.tensors.values()], leaves,
                        [update.optimizer for update in self.replay.updates],
                        {step.generator: None for step in self.replay.steps if type(step) is Draw})

    def _trace(self, tensors, args, kwargs, reach):
        self.devices = {tensor.layout.device for tensor in (*tensors, *[t for _, t in reach.tensors.values()])}
        before = self._snapshot(tensors, reach)
        try:
            with unsaid(self.devices):
                graph, optimizers, dropped = traced_call(self.function, args, kwargs, reach,
                                                         [update.optimizer for update in self.replay.updates],
                                                         {leaf for leaf, _, _ in self.replay.new_gradients})
        except Exception as error:
            before.restore()
            return self._stay(f"it is not traced: {error}")
        before.restore()
        try:
            made = [(each, passes, Executor(each, optimizers, dropped))
                    for each, passes in choices(graph, memory_budget=self.memory_budget)]
        except Exception as error:
            return self._stay(f"its graph does not run: {error}")
        self.graph, self.passes, self.executor = made[0]
        if all(set(passes) <= {"dead code", "subexpressions"} and _computed(each) == _computed(graph) for each, passes, _ in made):
            return self._stay("there is nothing for passes to do")
        for _, passes, executor in made:
            counts = {"in place": sum(map(len, executor.in_place.values())), "steps": len(executor.steps)}
            passes.update((name, count) for name, count in counts.items() if count)
        self.failure = None
        runs = [warm_up(each, tensors) for each, _, _ in made]
        self.thread = threading.Thread(target=self._compile, args=(made, runs), name="numtorch compiles")
        compiling.add(self.thread)
        self.thread.start()
        self.stage = self._compiled

    def _compile(self, made, runs):
        try:
            with unsaid(self.devices):
                for run in runs:
                    run()
                self.graph, self.passes, self.executor = made[fastest(runs, self.devices)]
        except Exception as error:
            self.failure = error
        finally:
            compiling.discard(threading.current_thread())

    def _compiled(self, tensors, args, kwargs):
        if not self.thread.is_alive():
            if self.failure is not None:
                self._stay(f"its graph does not run: {self.failure}")
            else:
                return self._verify(tensors, args, kwargs)
        return self.replay.run(tensors)

    def _verify(self, tensors, args, kwargs):
        reach = self.begin(args, kwargs, tensors)
        if reach.tensors and onlookers():                # whose writes would be put back
            return self.replay.run(tensors)
        elsewhere = self.devices != {cpu}
        before, watch = self._snapshot(tensors, reach), Watch(devices=elsewhere, truths=True)
        leaves = [leaf for leaf, _ in before.gradients]
        held = [*tensors, *[t for _, t in reach.tensors.values()]]
        candidate: Any = None

        def after(program):
            result = program.run(tensors)
            return result, result and [content(t) for t in (*held, *tensors_in(result[0]), *[leaf.grad for leaf in leaves])]
        try:
            for attempt in range(2):                     # a plan may have been dropped: the second time it is there
                result = None
                if attempt:
                    watch.memory.close()
                    before.restore()
                    watch = Watch(devices=elsewhere, truths=True)
                watch.before = beginning = Before(tensors, reach)
                result = watch.run(lambda: self._in_order(self.executor.run(*tensors)), (), {})
                if not watch.breaks:
                    break
            if watch.breaks:
                raise NotCaptured(str(watch.breaks[0]))
            candidate = Replay(watch, beginning, result, self.reuse)
            if [each[:2] for each in candidate.results] != [each[:2] for each in self.replay.results] or \
                    _orders(candidate) != _orders(self.replay):
                raise NotCaptured("it returns or leaves something else")
            candidate.give_as(self.replay)
            candidate.passes = self.passes
            candidate.memory.before = self.replay.memory.nbytes
        except Differs:                                  # as it does in the replay
            watch.memory.close()
            before.restore()
            return self.replay.run(tensors)
        except Exception as error:
            self._stay(f"its graph is not captured: {error}")
        watch.memory.close()
        result = None
        before.restore()
        replayed = nudged = there = None
        if self.reason is None and candidate.fits(tensors):
            watch.memory.poison()                        # so that nothing is read that the program did not write
            replayed, there = after(candidate)[1], before.positions()
            before.restore()
            nudge(held)
            try:
                nudged = after(self.replay)[1]
            except Exception as error:
                self._stay(f"what it {'decides' if isinstance(error, Differs) else 'refuses'} may hang on last places")
            before.restore()
        exact, wanted = after(self.replay)
        contents = replayed, wanted, nudged
        if self.reason is None and (not all(contents) or there != before.positions() or not all(map(alike, *contents))):
            self._stay("its graph gives something else")
        if self.reason is not None:
            return exact
        self.candidate, self.times, self.stage, self.calls = candidate, ([], []), self._contest, 0
        return exact

    def _in_order(self, result):
        """A result of the graph, with copies of those tensors that lie in another memory order than the replay's."""
        entries = iter([each for each in self.replay.results if each[0] != "given" and (
            each[0] != "object" or isinstance(each[1], Tensor))])
        ordered: dict = {}

        def order(tensor):
            kind, _, _, layout, _ = next(entries, (None,) * 5)
            if kind == "own":
                ordered[id(tensor)] = in_order(tensor, layout)
            return ordered.get(id(tensor), tensor)
        return map_tensors(order, result)

    def _contest(self, tensors, args, kwargs):
        which = self.calls % 2
        self.calls += 1
        program = (self.replay, self.candidate)[which]
        if which and not program.fits(tensors):
            program, which = self.replay, 0
        result, seconds = timed(lambda: program.run(tensors), self.devices)
        self.times[which].append(seconds)
        if self.calls >= TURNS and all(self.times):
            smaller = self.memory_budget < 1 and self.candidate.memory.nbytes < self.replay.memory.nbytes
            if smaller or min(self.times[1]) < min(self.times[0]):
                self.replay.successor, candidate = self.candidate, self.candidate
                self._stay("it was replaced")
                candidate.better = None
            else:
                self._stay("it is faster than its graph")
        return result


def _orders(replay):
    """How what a replay returns and leaves lies in memory."""
    def order(layout):
        return [stride for size, stride in zip(layout.shape, layout.strides) if size != 1]
    return [order(layout) for kind, _, _, layout, _ in replay.results if kind == "own"], \
        {leaf: order(grad.layout) for leaf, _, grad in replay.new_gradients}


def _computed(graph):
    """How many calls of a graph compute something: views that nobody uses are nothing to be spared."""
    return sum(node.op != CONSTANT and not is_view(node) for node in graph.nodes)


# ---------------------------------------------------------------- the graph of a call
def traced_call(function, args, kwargs, reach, optimizers, fresh):
    """The graph of a call on what the function reaches, and what an `Executor` needs besides.

    Args:
        function, args, kwargs: the call. It is made, with all its effects.
        reach: what the function reaches.
        optimizers: those that step in it.
        fresh: the leaves of the tape that get another gradient; others' are added to where they lie.
    """
    counts = {id(state[name]) for o in optimizers for state in o.state.values() for name in o.counts if name in state}
    held = {name: tensor for name, tensor in reach.named().items() if id(tensor) not in counts}
    leaves = {t.node: t.node.grad for t in held.values() if type(t.node) is Leaf}
    names = {id(tensor): name for name, tensor in held.items()}
    for name, tensor in list(held.items()):
        grad = tensor.node.grad if type(tensor.node) is Leaf else None
        if grad is not None and id(grad) not in names:
            held[f"{name}.grad"], names[id(grad)] = grad, f"{name}.grad"
    trace = Trace(names, decide, final=True)
    with tracing(), trace:
        given = trace.arguments((args, kwargs))
        trace.adopt(*held.values())
        graph = trace.finish(function(*given[0], **given[1]))
        changed = {leaf: leaf.grad is None for leaf, grad in leaves.items() if leaf.grad is not grad}
    ended, graph.gradients = graph.gradients, []
    for target, value in ended:
        leaf = held[target.node.attributes[0]].node
        if leaf in fresh:
            graph.gradients.append((target, value))
        elif leaf in changed:
            graph.writes.append((trace.cells[id(leaves[leaf].memory)].first, value))
    graph.verify()
    known = {id(tensor): optimizer for tensor, optimizer in trace.coefficients.values()}
    stepping = {name: known[id(tensor)] for name, tensor in graph.constants.items() if id(tensor) in known}
    return graph, stepping, [leaf for leaf, gone in changed.items() if gone]


def warm_up(graph: Graph, tensors):
    """A function that runs a graph on copies of its inputs and constants, so that its kernels are compiled.

    Args:
        graph: it.
        tensors: arguments.
    """
    with no_grad():
        constants = {name: clone(detach(tensor)) for name, tensor in graph.constants.items()}
        inputs = [clone(detach(tensor)) for tensor in tensors]

    class Warming(Interpreter):
        def call(self, node, inputs):
            if node.op == TRUTH:                         # what it is of zeros, drawn, says nothing
                return []
            if node.draws:                               # the stream must not move on
                if node.op == EPILOGUE.name:             # the kernels of others are there
                    EPILOGUE.planned_for([v.layout if isinstance(v, Value) else v for v in node.inputs], node.attributes)
                return [empty(value.layout).zero_() for value in node.outputs]
            return super().call(node, inputs)

    def run():
        with no_grad():
            warming = Warming(graph.copy(), constants)
            warming.graph.gradients = []
            warming.run(*inputs)
    return run


