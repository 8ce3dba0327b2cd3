"""`torch.profiler`: what is recorded, how it nests, what it costs, and what programs written for PyTorch's see of it."""
import gzip
import importlib
import json
import subprocess
import sys
import threading
import timeit
import warnings

import pytest

import numtorch
from numtorch.interposition import operations
from numtorch.kernels.binding import DISABLE_JIT
from numtorch.kernels.debugmemory import MODE
from numtorch.profiler.table import COLUMNS

machine_code = pytest.mark.skipif(DISABLE_JIT, reason="kernels that run as Python are ops' own time")
unwatched = pytest.mark.skipif(bool(MODE), reason="blocks that are watched with NUMTORCH_DEBUG_MEMORY are not counted")


def step(torch, model=None):
    model = model or torch.nn.Linear(4, 3)
    (model(torch.ones(2, 4)).relu() * 2).sum().backward()


def path_of(event):
    return [] if event is None else [*path_of(event.cpu_parent), event.name]


# ---------------------------------------------------------------- what is recorded
def test_ops_nodes_and_kernels_nest():
    step(numtorch)
    with numtorch.profiler.profile() as profile, numtorch.profiler.record_function("mine"):
        step(numtorch)
    paths = [path_of(e) for e in profile.events()]
    for path in (["mine", "linear"], ["mine", "relu"], ["mine", "mul"], ["mine", "sum"], ["mine", "backward", "SumBackward0"],
                 ["mine", "backward", "LinearBackward0"]):
        assert path in paths, path
    if not DISABLE_JIT:
        assert ["mine", "mul", "kernel pointwise"] in paths
        assert any(p[:3] == ["mine", "backward", "LinearBackward0"] and p[-1].startswith("kernel ") for p in paths)
    for event in profile.events():
        assert event.time_range.start <= event.time_range.end
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start <= child.time_range.end <= event.time_range.end
        assert event.self_cpu_time_total >= -1e-6
    top, = [e for e in profile.events() if e.cpu_parent is None]
    assert profile.events().self_cpu_time_total == pytest.approx(top.cpu_time_total)


def test_sums_over_calls():
    x = numtorch.ones(3)
    with numtorch.profiler.profile(record_shapes=True) as profile:
        for _ in range(3):
            x.exp()
        numtorch.ones(2, 2).exp()
    exp, = [e for e in profile.key_averages() if e.key == "exp"]
    assert exp.count == 4 and exp.cpu_time == pytest.approx(exp.cpu_time_total / 4)
    assert exp.launches == (0 if DISABLE_JIT else 4)
    shapes = {str(e.input_shapes): e.count for e in profile.key_averages(group_by_input_shape=True) if e.key == "exp"}
    assert shapes == {"[[3]]": 3, "[[2, 2]]": 1}
    assert profile.events().total_average().count == len(profile.events())


def test_tables_are_sorted_by_any_column():
    x = numtorch.ones(32, 32)
    with numtorch.profiler.profile(profile_memory=True, with_flops=True) as profile:
        for _ in range(3):
            (x @ x).exp()
        numtorch.ones(5)
    sums = profile.key_averages()
    for column in COLUMNS:
        above, _, rule, *lines = sums.table(sort_by=column, row_limit=-1).split("\n")
        assert above == rule
        shown = [line[:len(rule.split()[0])].strip() for line in lines[:lines.index(rule)]]
        assert shown == [event.name for event in sorted(sums, key=lambda event: -getattr(event, column))] and len(shown) == len(sums), column
    assert sums.table(sort_by="count", row_limit=2, time_unit="ms").count("\n") == 7 and "ms" in sums.table(time_unit="ms")
    for wrong in (dict(sort_by="name"), dict(time_unit="minutes")):
        with pytest.raises(ValueError, match="expected"):
            sums.table(**wrong)


@machine_code
def test_threaded_kernels_are_called_by_their_own_names():
    a = numtorch.ones(256, 256)
    a @ a
    with numtorch.profiler.profile() as profile:
        a @ a
    kernels = [e for e in profile.events() if e.kind == "kernel"]
    assert kernels and "kernel launch" not in [e.name for e in kernels]
    assert max(e.parts for e in kernels) == numtorch.get_num_threads()


@machine_code
def test_compilations_are_children_of_the_op_that_needs_them():
    op = numtorch.pointwise(lambda x: x * 3 + numtorch.exp(x))           # a formula that no store has: its constant is new
    op.op.name = "novel"
    with numtorch.profiler.profile() as profile:
        op(numtorch.ones(3))
    compiled = [e for e in profile.events() if e.kind == "compile"]
    assert compiled and {e.name for e in compiled} & {"compile pointwise", "load pointwise"}
    assert sum(e.compile_time_total for e in profile.key_averages() if e.kind == "compile") > 0


def test_optimisers_and_modules():
    model = numtorch.nn.Sequential(numtorch.nn.Linear(2, 2))
    optimizer = numtorch.optim.SGD(model.parameters(), lr=0.1)
    with numtorch.profiler.profile(with_modules=True) as profile:
        model(numtorch.ones(1, 2)).sum().backward()
        optimizer.step()
    paths = [path_of(e) for e in profile.events()]
    assert ["nn.Module: Sequential", "nn.Module: Linear", "linear"] in paths and ["Optimizer.step#SGD.step"] in paths


@unwatched
def test_memory():
    with numtorch.profiler.profile(profile_memory=True) as profile:
        a = numtorch.ones(1000)
        b = a + 1
        del a, b
        for _ in range(3):
            numtorch.ones(1 << 16)
    ones = [e for e in profile.events() if e.name == "ones"]
    assert [e.cpu_memory_usage for e in ones] == [4000, 1 << 18, 1 << 18, 1 << 18]
    assert next(e for e in profile.events() if e.name == "add").cpu_memory_usage == 4000
    assert profile._memory[-1][2] == 0                   # all of it went again
    assert "CPU Mem" in profile.key_averages().table() and "3.91 KB" in str(profile.events())
    x = numtorch.ones(3)
    assert x + 1 is not None and len({(x + 1).data_ptr() for _ in range(4)}) <= 2          # recycled again


def test_stacks_and_flops(tmp_path):
    with numtorch.profiler.profile(with_stack=True, with_flops=True) as profile:
        step(numtorch)
    linear = next(e for e in profile.events() if e.name == "linear")
    assert linear.flops == 2 * 2 * 4 * 3 and linear.stack[0].startswith(__file__) and "): step" in linear.stack[0]
    assert any(": step" in e.stack[0] for e in profile.key_averages(group_by_stack_n=1) if e.key == "linear")
    assert "FLOPs" in profile.key_averages().table()
    profile.export_stacks(tmp_path / "stacks")
    assert ":_step" in (tmp_path / "stacks").read_text()
    with numtorch.profiler.profile() as profile:
        step(numtorch)
    with pytest.raises(ValueError, match="with_stack=True"):
        profile.export_stacks(tmp_path / "stacks")


def test_other_threads_are_seen():
    with numtorch.profiler.profile() as profile:
        thread = threading.Thread(target=lambda: numtorch.ones(2).exp())
        thread.start()
        thread.join()
        numtorch.ones(2).log()
    threads = {e.name: e.thread for e in profile.events() if e.kind == "op"}
    assert threads["exp"] != threads["log"]


def test_subclasses_defined_meanwhile_are_asked_afterwards():
    with numtorch.profiler.profile() as profile:
        class Asked(numtorch.Tensor):
            seen = []

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                cls.seen.append(func)
                return super().__torch_function__(func, types, args, kwargs)
        x = numtorch.ones(2).as_subclass(Asked)
        numtorch.exp(x)
    assert Asked.seen[-1] is numtorch.exp and "exp" in [e.name for e in profile.events()]
    events = len(profile.events())
    Asked.seen.clear()
    assert type(numtorch.exp(x)) is Asked and Asked.seen == [numtorch.exp] and len(profile.events()) == events


def test_ranges_decorate_functions():
    @numtorch.profiler.record_function("deep")
    def down(n):
        return numtorch.ones(1) if n == 0 else down(n - 1)
    with numtorch.profiler.profile() as profile:
        down(2)
    assert [e.name for e in profile.events() if e.kind != "kernel"] == ["deep", "deep", "deep", "ones"]
    deep, = [e for e in profile.key_averages() if e.key == "deep"]
    assert deep.count == 3 and deep.cpu_time_total == profile.events()[0].cpu_time_total          # the outermost's


def test_an_error_is_an_event_too():
    with numtorch.profiler.profile() as profile, pytest.raises(RuntimeError):
        numtorch.ones(2) @ numtorch.ones(3)
    assert "matmul" in [e.name for e in profile.events()]


# ---------------------------------------------------------------- what it costs
def test_without_a_profile_functions_are_what_they_are():
    code, attributes = {f: f.__code__ for f in operations()}, {f: dict(vars(f)) for f in operations()}
    run_backward = numtorch.autograd.engine.run_backward
    before = run_backward.__code__
    with numtorch.profiler.profile(profile_memory=True, with_modules=True):
        assert numtorch.exp.__code__ is not code[numtorch.exp] and run_backward.__code__ is not before
    assert run_backward.__code__ is before
    assert all(function.__code__ == known for function, known in code.items())
    assert all(vars(function) == known for function, known in attributes.items())


def test_a_profile_leaves_a_program_as_it_was():
    """The first one in a process: looking for functions does not import what would stand before all of them from then on."""
    program = """if True:
        import sys
        import numtorch as torch
        before = torch.exp.__code__, torch.Tensor.__add__.__code__
        with torch.profiler.profile():
            torch.exp(torch.ones(2))
        assert (torch.exp.__code__, torch.Tensor.__add__.__code__) == before
        assert not {"numtorch.overrides", "numtorch.masked", "numtorch.distributions", "numtorch.cuda"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_call_under_a_profile_takes_a_microsecond_more():
    x = numtorch.ones(4)

    def fastest():
        return min(timeit.repeat(lambda: x + x, number=500, repeat=60)) / 500

    before = fastest()
    with numtorch.profiler.profile():
        during = fastest()
    assert during - before < (1e-6 if not DISABLE_JIT else 1e-3)


# ---------------------------------------------------------------- schedules
PLANS = [
    dict(wait=1, warmup=1, active=2), dict(wait=1, warmup=1, active=2, repeat=1), dict(wait=0, warmup=1, active=1, repeat=2),
    dict(wait=0, warmup=0, active=2, repeat=2), dict(wait=2, warmup=1, active=3, skip_first=3, repeat=1), dict(wait=0, warmup=0, active=1),
    dict(wait=2, warmup=0, active=1, skip_first=1, skip_first_wait=1),
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_schedules_are_pytorchs(plan):
    theirs = pytest.importorskip("torch.profiler")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, other = numtorch.profiler.schedule(**plan), theirs.schedule(**plan)
    assert [ours(i).name for i in range(20)] == [other(i).name for i in range(20)]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_recordings_of_a_schedule(plan):
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schedule = numtorch.profiler.schedule(**plan)
    with numtorch.profiler.profile(schedule=schedule, on_trace_ready=lambda p: seen.append([e.name for e in p.events()
                                                                                            if e.name.startswith("ProfilerStep")])) as profile:
        for _ in range(14):
            numtorch.ones(2).exp()
            profile.step()
    expected, recording = [], []
    for number in range(15):                             # the last step is the one that `stop` ends
        action = schedule(number).name
        if action.startswith("RECORD"):
            recording.append(f"ProfilerStep#{number}")
        if recording and (action == "RECORD_AND_SAVE" or number == 14):
            expected.append(recording)
            recording = []
    assert seen == expected


def test_bad_schedules():
    with pytest.raises(ValueError, match="active=0"):
        numtorch.profiler.schedule(wait=1, warmup=1, active=0)


def test_misuse():
    profile = numtorch.profiler.profile()
    with pytest.raises(AssertionError):
        profile.stop()
    with pytest.raises(AssertionError):
        profile.key_averages()
    with profile:
        with pytest.raises(RuntimeError, match="inside of a profile"), numtorch.profiler.profile():
            pass
        numtorch.ones(2)
    with pytest.raises(ValueError, match="sort_by"):
        profile.key_averages().table(sort_by="nothing")
    with numtorch.profiler.profile() as again:           # and the next one works
        numtorch.ones(2)
    assert [e.name for e in again.events() if e.kind == "op"] == ["ones"]


# ---------------------------------------------------------------- files
@unwatched
@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_chrome_traces(tmp_path, name):
    with numtorch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as profile:
        with numtorch.profiler.record_function('quotes " and \u00fc', "more"):
            step(numtorch)
    profile.add_metadata("who", "me")
    profile.add_metadata_json("what", '{"a": 1}')
    profile.export_chrome_trace(tmp_path / name)
    with (gzip.open if name.endswith("gz") else open)(tmp_path / name, "rt") as file:
        trace = json.load(file)
    assert trace["who"] == "me" and trace["what"] == {"a": 1}
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(spans) == len(profile.events()) and {"M", "C", "X"} == {e["ph"] for e in trace["traceEvents"]}
    for event in trace["traceEvents"]:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and isinstance(event["name"], str)
    for span in spans:
        assert span["dur"] >= 0 and isinstance(span["ts"], float) and span["cat"]
    assert [s["args"]["args"] for s in spans if s["name"].startswith("quotes")] == ["more"]
    assert next(s for s in spans if s["name"] == "linear")["args"]["Input Dims"][:2] == [[2, 4], [3, 4]]


def test_trace_handler(tmp_path):
    handler = numtorch.profiler.tensorboard_trace_handler(str(tmp_path / "logs"), "me", use_gzip=True)
    with numtorch.profiler.profile(on_trace_ready=handler):
        step(numtorch)
    written, = (tmp_path / "logs").iterdir()
    assert written.name.startswith("me.") and written.name.endswith(".pt.trace.json.gz")


# ---------------------------------------------------------------- as PyTorch's
def test_programs_for_either(torch):
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        with torch.profiler.record_function("mine"):
            step(torch)
    averages = profile.key_averages(group_by_input_shape=True)
    names = [e.key.removeprefix("aten::") for e in averages]
    assert {"mine", "linear", "relu", "mul", "sum", "MulBackward0", "SumBackward0"} <= set(names)
    table = averages.table(sort_by="self_cpu_time_total", row_limit=5)
    for column in ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls", "Input Shapes"):
        assert column in table
    assert "Self CPU time total: " in table
    mine = next(e for e in profile.events() if e.name == "mine")
    assert mine.cpu_time_total >= mine.self_cpu_time_total >= 0 and mine.count == 1 and mine.cpu_children
    assert profile.events().total_average().self_cpu_time_total > 0 and isinstance(mine.cpu_time_total_str, str)


def test_the_older_form(torch, tmp_path):
    with torch.autograd.profiler.profile(record_shapes=True) as profile:
        with torch.autograd.profiler.record_function("mine"):
            step(torch)
    assert "mine" in profile.table(sort_by="cpu_time_total", row_limit=3) and profile.self_cpu_time_total > 0
    assert "mine" in [e.name for e in profile.function_events] and profile.total_average().count > 5
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    with torch.autograd.profiler.profile(enabled=False) as nothing:
        assert nothing is None


# ---------------------------------------------------------------- the command
def test_the_command(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys\nimport torch\nprint(torch.ones(3).exp().sum() > 0, sys.argv[1:])\nif 'fail' in sys.argv: raise KeyError('it')\n")
    command = [sys.executable, "-m", "numtorch", "profile", "--shapes", "--trace", str(tmp_path / "t.json"), "--rows", "5"]
    done = subprocess.run([*command, str(script), "-x", "--rows"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "tensor(True) ['-x', '--rows']" in done.stdout and "exp" in done.stdout and "[[3]]" in done.stdout
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    failed = subprocess.run([*command, str(script), "fail"], capture_output=True, text=True, timeout=120)
    assert failed.returncode == 1 and "KeyError: 'it'" in failed.stderr and "Self CPU time total" in failed.stdout
    assert subprocess.run(command, capture_output=True, timeout=120).returncode == 2


# ---------------------------------------------------------------- PyTorch's names
@pytest.mark.parametrize("place, names, other", [
    ("profiler", "profile record_function schedule supported_activities tensorboard_trace_handler kineto_available ProfilerAction ProfilerActivity",
     "DeviceType ExecutionTraceObserver"),
    ("autograd.profiler", "profile record_function EventList FunctionEvent",
     "EnforceUnique KinetoStepTracker MemRecordsAcc emit_itt emit_nvtx load_nvprof parse_nvprof_trace"),
    ("profiler.itt", "is_available", "mark range range_pop range_push")])
def test_every_name_is_here_or_says_what_to_do(place, names, other):
    module = importlib.import_module(f"numtorch.{place}")
    assert all(callable(getattr(module, name)) for name in names.split())
    for name in other.split():
        with pytest.raises(AttributeError, match=f"numtorch has no torch.{place}.{name}: "):
            getattr(module, name)
    if place != "profiler.itt":                          # of which nothing is here
        with pytest.raises(AttributeError, match="has no attribute"):
            module.nothing_of_this_name
    theirs = pytest.importorskip(f"torch.{place}")
    assert set(theirs.__all__) <= {*names.split(), *other.split()}
