"""What Python tells of calls: all that is not known, nothing of what is."""
import gc
import sys
import threading

import pytest

from numtorch.kernels.compiler import DISABLE_JIT
from numtorch.kernels.events import SILENT_KIND, Events

pytestmark = pytest.mark.skipif(bool(DISABLE_JIT), reason="kernels run as Python: nothing is captured")
KIND = SILENT_KIND + 1


def inner(values):
    return len(values) + max(values)


def outer():
    values = [1]
    values.append(2)
    return inner(values)


def told(events, function):
    """The names of what is told of a function's call."""
    names = []

    def observe(frame, event, function):
        assert event in ("call", "c_call")
        names.append(frame.f_code.co_name if event == "call" else function.__name__)
    events.start(observe)
    try:
        function()
    finally:
        sys.setprofile(None)
    return [name for name in names if name != "setprofile"]


ALL = ["outer", "append", "inner", "len", "max"]


def test_everything_is_told_that_is_not_known():
    assert told(Events(), outer) == ALL


def test_code_is_told_by_its_kind():
    events = Events()
    events.know_code(inner.__code__, SILENT_KIND, True)
    assert told(events, outer) == ["outer", "append"]
    events = Events()
    events.know_code(inner.__code__, KIND, False)
    assert told(events, outer) == ["outer", "append", "len", "max"]
    events.know_code(inner.__code__, KIND, True)
    assert told(events, outer) == ALL


def test_a_method_is_known_of_every_object_and_for_one_kind_of_code():
    events = Events()
    events.know_code(outer.__code__, KIND, True)
    events.know_code(inner.__code__, KIND + 1, True)
    for function in ([].append, len, max):
        events.know_method(function, KIND)
    assert told(events, outer) == ["outer", "inner", "len", "max"]
    events.know_method(max, KIND + 1)
    assert told(events, outer) == ["outer", "inner", "len"]


def test_what_is_known_stays_when_the_table_grows():
    events = Events()
    events.know_code(inner.__code__, SILENT_KIND, True)
    size = len(events.table)
    codes = [outer.__code__.replace(co_firstlineno=line) for line in range(1, size)]
    for code in codes:
        events.know_code(code, SILENT_KIND, False)
    assert len(events.table) > size and told(events, outer) == ["outer", "append"]
    for code in codes[::97]:
        assert told(events, type(outer)(code, globals())) == []


def test_nothing_is_told_within_a_pause():
    events = Events()

    def beside():
        outer()
        with events.paused():
            sorted([2, 1])
            assert sys.getprofile() is None
        return min([1])
    names = told(events, beside)
    assert names[1:6] == ALL and "sorted" not in names and names[-1] == "min"


def test_a_pause_leaves_the_profile_of_someone_else():
    events, seen = Events(), []
    sys.setprofile(lambda frame, event, argument: seen.append(event))
    try:
        with events.paused():
            outer()
    finally:
        sys.setprofile(None)
    assert seen.count("call") >= 2
    told(events, outer)
    with events.paused():
        assert sys.getprofile() is None
    assert sys.getprofile() is None


def test_what_the_observer_raises_goes_through():
    def observe(frame, event, function):
        raise LookupError
    with pytest.raises(LookupError):
        Events().start(observe)
        inner([1])
    assert sys.getprofile() is None


def test_each_thread_has_an_observer_of_its_own():
    events, found = Events(), {}

    def look(number):
        found[number] = [told(events, outer) for _ in range(200)]
    threads = [threading.Thread(target=look, args=(i,)) for i in range(2)]
    gc.disable()                                         # others are told of collections, and would be told of
    try:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        gc.enable()
    assert found[0] == found[1] == [ALL] * 200
