"""Streams, in each of which a device does what it is told in order, and events, which mark places in them.

Every thread has a current stream for each device, its default one at first. Work in another stream waits for nothing in this one
unless it is told to (`wait_stream`, `wait_event`); memory is given back in the order of the stream that it was made in.
"""
from __future__ import annotations

from ..kernels.cuda.capture import note
from .devices import _existing, _index, _machine, current_device
from .devices import device as _on

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]


class Stream:
    """A queue of work for a device, in which all runs in order. Inside `with`, it is the current one, as by `stream`.

    Args:
        device: a device, its index or name; the current one when None.
        priority: lower numbers go before higher ones.

    Attributes:
        handle: the runtime's.
    """

    def __init__(self, device=None, priority: int = 0, _handle=None) -> None:
        self.device_index = _existing(_index(device))
        self.priority = priority
        self.handle = _machine().new_stream(self.device_index, priority) if _handle is None else _handle
        self._entered: list[StreamContext] = []

    @property
    def device(self):
        """The stream's device."""
        from ..devices import device
        return device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """The driver's handle."""
        return int(self.handle)

    def synchronize(self) -> None:
        """Wait until all is done that the stream was told."""
        note("a stream is waited for")
        _machine().finish(self.handle)

    def query(self) -> bool:
        """Whether all is done that the stream was told."""
        note("a stream is asked")
        return _machine().idle(self.handle)

    def record_event(self, event: Event | None = None) -> Event:
        """Mark this place in the stream, and return the event.

        Args:
            event: the event; a new one when None.
        """
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Have what the stream is told from now on wait for an event.

        Args:
            event: which was recorded in another stream.
        """
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Have what the stream is told from now on wait for all that another was told.

        Args:
            stream: the other.
        """
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        self._entered.append(StreamContext(self))
        return self._entered[-1].__enter__()

    def __exit__(self, *error):
        return self._entered.pop().__exit__(*error)

    def __eq__(self, other):
        return isinstance(other, Stream) and self.handle == other.handle

    def __hash__(self):
        return hash((self.device_index, self.handle))

    def __repr__(self):
        return f"<numtorch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"


class Event:
    """A place in a stream: to wait for, and to take the time between two of.

    Attributes:
        device: that of the stream which it was recorded in; None before.

    Args:
        enable_timing: whether `elapsed_time` can be asked for.
        blocking: whether a thread that waits sleeps.
        interprocess: accepted as False; events are of one process.

    Raises:
        NotImplementedError: an event for several processes.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("cuda.Event: events are of one process")
        self.enable_timing, self.blocking, self._recorded, self.device = enable_timing, blocking, None, None

    def record(self, stream: Stream | None = None) -> None:
        """Mark a place in a stream.

        Args:
            stream: the current one when None.
        """
        note("an event is recorded")
        stream = current_stream() if stream is None else stream
        self._recorded, self.device = _machine().record(stream.handle, self.enable_timing, self.blocking), stream.device

    def wait(self, stream: Stream | None = None) -> None:
        """Have what a stream is told from now on wait for this.

        Args:
            stream: the current one when None.
        """
        note("a stream waits for an event")
        stream = current_stream() if stream is None else stream
        if self._recorded is not None:
            _machine().wait(stream.handle, self._recorded)

    def query(self) -> bool:
        """Whether all before this place is done; True for an event that was never recorded."""
        note("an event is asked")
        return self._recorded is None or _machine().reached(self._recorded)

    def synchronize(self) -> None:
        """Wait until all before this place is done."""
        note("an event is waited for")
        if self._recorded is not None:
            _machine().await_event(self._recorded)

    def __repr__(self):
        return "<numtorch.cuda.Event uninitialized>" if self.device is None else f"<numtorch.cuda.Event device={self.device}>"

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this place to another.

        Args:
            end_event: recorded later.

        Raises:
            ValueError: one of the two was made without timing, or not recorded.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded is None or end_event._recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return _machine().milliseconds(self._recorded, end_event._recorded)


def current_stream(device=None) -> Stream:
    """The stream that work for a device goes to in this thread.

    Args:
        device: a device, its index or name; the current one when None.
    """
    index = _existing(_index(device))
    return Stream(index, _handle=_machine().current(index))


def default_stream(device=None) -> Stream:
    """The stream that work for a device goes to at first.

    Args:
        device: a device, its index or name; the current one when None.
    """
    index = _existing(_index(device))
    return Stream(index, _handle=_machine().first_stream(index))


def set_stream(stream: Stream) -> None:
    """Have this thread's work for the stream's device go there; None changes nothing.

    Args:
        stream: the stream.
    """
    if stream is not None:
        note("another stream is used")
        _machine().use(stream.device_index, stream.handle)


class StreamContext:
    """Context manager: a stream and its device are the current ones inside.

    Args:
        stream: the stream; None changes nothing.
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.device = _on(self.stream.device_index)
            self.device.__enter__()
            self.before = current_stream(current_device())
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *error):
        if self.stream is not None:
            set_stream(self.before)
            self.device.__exit__(*error)
        return False


def stream(stream: Stream | None) -> StreamContext:
    """Have work inside `with` go to a stream, whose device is the current one there.

    Args:
        stream: the stream; None changes nothing.
    """
    return StreamContext(stream)
