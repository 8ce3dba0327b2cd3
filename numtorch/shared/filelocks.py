"""Locks of bytes in a family's file: the family's own, and one of each member for as long as it lives.

Where `/proc` is open each member opens the file once more, and locks belong to what it opened ("open file description"). A forked
child can then be given its lock before it exists. That descriptor is for locks alone: a mapping made with it, or a copy of it in
another process, would keep the lock when the member is gone.

Where `/proc` is closed, and on systems without such locks (macOS), members have one descriptor, which is passed on, and locks
belong to processes. Such a lock cannot be handed to a child, so a parent locks a second byte before it forks, a *promise*, until
the child has locked its own or is dead: a number is somebody's as long as either is locked. These locks go when a process closes
any descriptor of the file, so none does.
"""
from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import struct

from . import system

FAMILY = 0                                               # the byte of the family's own lock
LIFE, PROMISE = 1, 1 << 16                               # the bytes of member 0; those of the others follow
SECONDS = 1.0                                            # for which a parent waits for a forked child to lock its byte


def lock_of(byte: int, kind: int) -> bytes:
    """What `fcntl` takes to lock or unlock a byte of the file."""
    if system.LINUX:
        return struct.pack("hhqqi0q", kind, os.SEEK_SET, byte, 1, 0)
    return struct.pack("qqihh", byte, 1, 0, kind, os.SEEK_SET)


LOCK_FAMILY, UNLOCK_FAMILY = lock_of(FAMILY, fcntl.F_WRLCK), lock_of(FAMILY, fcntl.F_UNLCK)


def is_locked(fd: int, byte: int) -> bool:
    """Whether somebody else, of whatever kind its locks are, has one on a byte."""
    answer = fcntl.fcntl(fd, getattr(fcntl, "F_OFD_GETLK", fcntl.F_GETLK), lock_of(byte, fcntl.F_WRLCK))
    return struct.unpack_from("h", answer, 0 if system.LINUX else 20)[0] != fcntl.F_UNLCK


def lives(fd: int, member: int) -> bool:
    """Whether a member, who is not the caller, is there or promised."""
    return is_locked(fd, LIFE + member) or is_locked(fd, PROMISE + member)


class OpenedLocks:
    """Locks of what a member opened.

    Attributes:
        fd: that, for locks alone.
        wait, set: the commands of `fcntl` that lock or unlock, after waiting and at once.
    """

    wait, set = getattr(fcntl, "F_OFD_SETLKW", None), getattr(fcntl, "F_OFD_SETLK", None)

    def __init__(self, fd: int) -> None:
        self.file, self.fd, self.child = fd, _opened_again(fd), -1

    def take(self, member: int) -> bool:
        """Be a member, unless somebody else is."""
        return self._lock(self.fd, member)

    def _lock(self, fd, member):
        if is_locked(fd, PROMISE + member):
            return False
        with contextlib.suppress(OSError):               # somebody who died while he joined, and something still has his file
            fcntl.fcntl(fd, self.set, lock_of(LIFE + member, fcntl.F_WRLCK))
            return True
        return False

    def promises(self, member: int) -> bool:
        """Whether this process has promised a number to a child that may not have it yet."""
        return False

    def before_fork(self) -> None:
        """Prepare for a child."""
        self.child = _opened_again(self.file)

    def promise(self, member: int) -> bool:
        """Have the child be a member, unless somebody else is."""
        return self._lock(self.child, member)

    def after_fork_in_parent(self) -> None:
        """The child has its lock now."""
        if self.child >= 0:
            os.close(self.child)
        self.child = -1

    def after_fork_in_child(self, member: int | None) -> None:
        """Have the lock that was promised, if any."""
        os.close(self.fd)
        self.fd, self.child = self.child, -1


class ProcessLocks:
    """Locks of a process.

    Attributes:
        fd: the file, which this process never closes.
        wait, set: the commands of `fcntl` that lock or unlock, after waiting and at once.
    """

    wait, set = fcntl.F_SETLKW, fcntl.F_SETLK

    def __init__(self, fd: int) -> None:
        self.fd, self.pipe = fd, ()
        self.promised: dict[int, int] = {}               # a number, and the end of a pipe that says when its child has it

    def take(self, member: int) -> bool:
        """Be a member, unless somebody else is."""
        return self._lock(member, LIFE)

    def _lock(self, member, byte):
        if member in self.promised or lives(self.fd, member):
            return False
        with contextlib.suppress(OSError):               # another process was first
            fcntl.fcntl(self.fd, self.set, lock_of(byte + member, fcntl.F_WRLCK))
            return True
        return False

    def promises(self, member: int) -> bool:
        """Whether this process has promised a number to a child that may not have it yet."""
        return member in self.promised and not self._keep(member, 0)

    def _keep(self, member, timeout):
        """Let go of a promise as soon as the child has its lock or is dead: whether that is so after `timeout` seconds at most."""
        poller = select.poll()
        poller.register(self.promised[member], select.POLLIN)
        if not poller.poll(timeout * 1000):
            return False
        os.close(self.promised.pop(member))
        fcntl.fcntl(self.fd, self.set, lock_of(PROMISE + member, fcntl.F_UNLCK))
        return True

    def before_fork(self) -> None:
        """Prepare for a child."""
        try:
            self.pipe = os.pipe()                        # the child closes it when it has its lock, and so does its death
        except OSError as error:
            raise system.limit(error, 0) from None

    def promise(self, member: int) -> bool:
        """Have the child be a member, unless somebody else is."""
        taken = self._lock(member, PROMISE)
        if taken:
            self.promised[member] = self.pipe[0]
        return taken

    def after_fork_in_parent(self) -> None:
        """Wait for the child to have its lock. One that does not get to that is looked for when the dead are."""
        pipe, self.pipe = self.pipe, ()
        if not pipe:
            return
        os.close(pipe[1])
        member = next((m for m, end in self.promised.items() if end == pipe[0]), None)
        if member is None:                               # there was no number left
            os.close(pipe[0])
        else:
            self._keep(member, SECONDS)

    def after_fork_in_child(self, member: int | None) -> None:
        """Have the lock that was promised, if any."""
        if member is not None:
            fcntl.fcntl(self.fd, self.set, lock_of(LIFE + member, fcntl.F_WRLCK))
        for end in {*self.promised.values(), *self.pipe}:
            os.close(end)
        self.promised, self.pipe = {}, ()


def locks_of(fd: int) -> OpenedLocks | ProcessLocks:
    """Locks of a family's file, of the kind that this process can have."""
    if OpenedLocks.wait is not None:
        with contextlib.suppress(_Closed):
            return OpenedLocks(fd)
    return ProcessLocks(fd)


class _Closed(Exception):
    """`/proc` is not to be read here."""


def _opened_again(fd):
    try:
        return os.open(f"/proc/self/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise system.limit(error, 0) from None
        raise _Closed from None
