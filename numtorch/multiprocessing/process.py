"""Processes whose targets and arguments travel by our pickler, and which belong to the family."""
from __future__ import annotations

import multiprocessing.context as contexts
import pickle
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd

from ..shared import heap as heaps
from ..shared.channel import Channel, Letter
from .transfer import write


def _launched(fd, number):
    """The process that is described by the one letter in a channel. Runs in the new process."""
    descriptor = fd.detach()
    heaps.join(descriptor)
    home = heaps.heap()
    channel = Channel.__new__(Channel)
    channel.heap, channel.record, channel.bell, channel.room = home, number * 8, None, None
    letter = Letter(home)
    if not home.critical(channel._pop, letter):
        raise RuntimeError("a process was started without its description")
    kind, state = pickle.loads(letter.bytes)
    self = kind.__new__(kind)
    self.__dict__.update(state)
    return self


class _Sent(BaseProcess):
    """What all our processes are, however they are started."""

    def __reduce__(self):
        if contexts.get_spawning_popen() is None:
            raise RuntimeError("process objects should only be pickled while they are started")
        state = {k: v for k, v in self.__dict__.items() if k not in ("_launch", "_popen")}
        self._launch = channel = Channel()
        letter, kept = write(channel, (type(self), state))
        channel.send(letter)
        del kept
        return _launched, (DupFd(channel.heap.fd), channel.hold.number)


class SpawnProcess(_Sent, contexts.SpawnProcess):
    """A process that starts as a new interpreter."""


class ForkServerProcess(_Sent, contexts.ForkServerProcess):
    """A process forked from a server that has nothing but Python in it."""


class ForkProcess(_Sent, contexts.ForkProcess):
    """A process that starts as a copy of this one."""

    def start(self):
        heaps.heap()                                     # the child belongs to this process's family
        super().start()
