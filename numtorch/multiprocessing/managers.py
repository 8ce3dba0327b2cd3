"""Managers: Python's, whose server is of the family. Tensors are sent to it and come from it as handles.

A connection to the server carries names of channels; what is sent lies in those, which hold what it refers to.
"""
from __future__ import annotations

import struct
from multiprocessing import connection, managers

from ..shared.channel import Channel, NoBell
from .transfer import read, write


class _Connection(connection.Connection):
    """A connection of the system's between processes of a family. It has a channel for what it sends, and one for what it receives,
    which is the other side's."""

    _sending: Channel | None = None
    _receiving: Channel | None = None

    def send(self, obj):
        """Send a value; tensors move to shared memory and are sent as handles."""
        if self._sending is None:
            self._sending = Channel(bell=NoBell())
        channel = self._sending
        letter, kept = write(channel, obj)
        channel.send(letter)
        del kept
        self.send_bytes(struct.pack("qq", *channel.name()))

    def recv(self):
        """The next value.

        Raises:
            EOFError: the other side is gone, and what it sent with it.
        """
        name = struct.unpack("qq", self.recv_bytes(16))
        if self._receiving is None:
            self._receiving = Channel.named(name, NoBell())
        letter = None if self._receiving is None else self._receiving.receive(0)
        if letter is None:
            raise EOFError
        return read(letter)


class _Listener(connection.Listener):
    def accept(self):
        accepted = super().accept()
        accepted.__class__ = _Connection
        return accepted


def _client(*arguments, **options):
    made = connection.Client(*arguments, **options)
    made.__class__ = _Connection
    return made


class _Serializer(str):
    """The name by which proxies find connections. Where it arrives this module is imported, and they are there."""

    def __reduce__(self):
        return _serializer, ()


def _serializer():
    return _SERIALIZER


_SERIALIZER = _Serializer("numtorch")
managers.listener_client[_SERIALIZER] = _Listener, _client


class Manager(managers.SyncManager):
    """A process with objects that others use by proxies."""

    def __init__(self, *, ctx):
        super().__init__(serializer=_SERIALIZER, ctx=ctx)
