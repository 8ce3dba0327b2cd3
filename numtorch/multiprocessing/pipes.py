"""Pipes: two connections, each with a channel to the other. The end of the other side is the end of a pipe of the system's."""
from __future__ import annotations

import os
import time
from multiprocessing import BufferTooShort
from multiprocessing.reduction import DupFd

from ..shared import system
from ..shared.channel import Bell, Channel
from .transfer import read, write


class Connection:
    """One end of a pipe, with the methods of `multiprocessing.connection.Connection`."""

    def __init__(self, incoming: Channel | None, outgoing: Channel | None) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    @property
    def closed(self):
        """Whether `close` was called."""
        return self._incoming is None and self._outgoing is None

    @property
    def readable(self):
        """Whether values come out here."""
        return self._incoming is not None

    @property
    def writable(self):
        """Whether values go in here."""
        return self._outgoing is not None

    def _end(self, which, what):
        if which is None:
            raise OSError("handle is closed" if self.closed else f"connection is {what}")
        return which

    def fileno(self):
        """The descriptor that can be read while values wait."""
        return self._end(self._incoming or self._outgoing, "").bell.ends[0]

    def close(self):
        """Be done: the other side is told."""
        self._incoming = self._outgoing = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def send(self, obj):
        """Send a value; tensors move to shared memory and are sent as handles.

        Raises:
            BrokenPipeError: nobody is there to receive it.
        """
        outgoing = self._end(self._outgoing, "read-only")
        letter, kept = write(outgoing, obj)
        outgoing.send(letter)
        del kept

    def send_bytes(self, buf, offset=0, size=None):
        """Send bytes, or a part of them."""
        outgoing, view = self._end(self._outgoing, "read-only"), memoryview(buf).cast("B")
        if offset < 0 or offset > len(view) or (size is not None and not 0 <= size <= len(view) - offset):
            raise ValueError("offset or size out of the buffer's bounds")
        outgoing.send(outgoing.write([bytes(view[offset:] if size is None else view[offset:offset + size])]))

    def _next(self, timeout=None):
        incoming = self._end(self._incoming, "write-only")
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            letter = incoming.receive(0)
            if letter is not None:
                return letter
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            if incoming.bell.over(left):
                letter = incoming.receive(0)             # what came between the look and the end
                if letter is None:
                    raise EOFError
                return letter

    def recv(self):
        """The next value.

        Raises:
            EOFError: none is left, and the other side is closed.
        """
        return read(self._next())

    def recv_bytes(self, maxlength=None):
        """The next bytes."""
        if maxlength is not None and maxlength < 0:
            raise ValueError("negative maxlength")
        letter = self._next()
        if maxlength is not None and len(letter.bytes) > maxlength:
            raise OSError("got more bytes than maxlength")
        return bytes(letter.bytes)

    def recv_bytes_into(self, buf, offset=0):
        """The next bytes, into a buffer. Returns how many they are."""
        letter, view = self._next(), memoryview(buf).cast("B")
        if len(letter.bytes) > len(view) - offset:
            raise BufferTooShort(bytes(letter.bytes))
        view[offset:offset + len(letter.bytes)] = letter.bytes
        return len(letter.bytes)

    def poll(self, timeout=0.0):
        """Whether something waits, or the other side is closed, after `timeout` seconds at most."""
        incoming = self._end(self._incoming, "write-only")
        return not incoming.empty() or incoming.bell.wait(timeout)

    def _reduce_shared(self, pickler):
        parts = []
        for channel in (self._incoming, self._outgoing):
            if channel is not None:
                pickler.channels.append(channel)
            parts.append(None if channel is None else (channel.hold.number, DupFd(channel.bell.ends[0])))
        return _rebuild, (type(self), *parts)

    def __reduce__(self):
        raise RuntimeError("connections are sent by numtorch.multiprocessing's queues, connections and processes only")


def _rebuild(kind, *parts):
    return kind(*[None if part is None else Channel.existing(part[0], Bell((part[1].detach(),)), None) for part in parts])


def _one_way():
    """(the end where values come out, the end where they go in)."""
    try:
        out, into = os.pipe()
    except OSError as error:
        raise system.limit(error, 0) from None
    channel = Channel(bell=Bell((out,)))
    return channel, channel.beside(Bell((into,)))


def Pipe(duplex=True):
    """Two connections: what is sent into one comes out of the other.

    Args:
        duplex: whether both ways; else what is sent into the second comes out of the first.
    """
    there_out, there_in = _one_way()
    if not duplex:
        return Connection(there_out, None), Connection(None, there_in)
    back_out, back_in = _one_way()
    return Connection(there_out, back_in), Connection(back_out, there_in)
