"""The guardian: a small process that runs the embedded PostgreSQL as long as at least one program uses it.

    python -I -S guardian.py USERS DOOR LOG UID GID POSTGRES ARGUMENT…

Each program that uses PostgreSQL holds a shared lock on the file USERS. The kernel releases the lock when the program
ends, also when the program is killed. The guardian waits for an exclusive lock on USERS, and then stops PostgreSQL with
a fast shutdown. When the guardian itself is killed, the kernel sends PostgreSQL the same signal.

The guardian has a session of its own, so that Ctrl-C and a closed terminal do not reach it. It is a script without
imports from this package: it must run with any working directory and without site-packages, and stay small.
"""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

#: PostgreSQL's signals for a fast shutdown (clients are cut, data is written) and an immediate shutdown (the next start
#: recovers).
FAST = signal.SIGINT
IMMEDIATE = signal.SIGQUIT

#: Seconds that a fast shutdown may take.
PATIENCE = 60.0

#: As in `embedded.py`.
LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW

LINUX = sys.platform == "linux"

#: Option of Linux's prctl: the signal that a process gets when the thread that started it ends.
PARENT_DEATH_SIGNAL = 1


def main(users: str, door: str, log: str, uid: str, gid: str, *command: str) -> int:
    """Run the command until it ends; return its exit code."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    # PostgreSQL's user differs from this process's only under root.
    root = os.geteuid() == 0
    # This thread lives as long as the process: the kernel sends the signal when the thread ends.
    postmaster = subprocess.Popen(  # noqa: S603
        command,
        user=int(uid) if root else None,
        group=int(gid) if root else None,
        extra_groups=[] if root else None,
        umask=0o077,
        preexec_fn=_prepare(log),
    )
    threading.Thread(target=_stop_when_unused, args=(users, door, postmaster), daemon=True).start()
    return postmaster.wait()


def _prepare(log: str) -> Callable[[], None]:
    """Return the function that runs in the new process, already as PostgreSQL's user."""
    guardian = os.getpid()
    prctl = ctypes.CDLL(None).prctl if LINUX else None

    def prepare() -> None:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        if prctl is not None:
            prctl(PARENT_DEATH_SIGNAL, FAST, 0, 0, 0)
        if os.getppid() != guardian:
            os._exit(1)  # the guardian ended before the kernel knew about the signal
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)

    return prepare


def _stop_when_unused(users: str, door: str, postmaster: "subprocess.Popen[bytes]") -> None:
    """Wait until no program uses PostgreSQL, and stop it. The process then ends, and with it the locks."""
    using = os.open(users, LOCK_FILE, 0o600)
    while True:
        fcntl.flock(using, fcntl.LOCK_EX)
        # A program takes the door first and then this lock. Waiting for the door while holding the lock could deadlock.
        fcntl.flock(using, fcntl.LOCK_UN)
        starting = os.open(door, LOCK_FILE, 0o600)
        fcntl.flock(starting, fcntl.LOCK_EX)
        try:
            fcntl.flock(using, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(starting)  # another program has begun to use it
            continue
        postmaster.send_signal(FAST)
        threading.Event().wait(PATIENCE)
        postmaster.send_signal(IMMEDIATE)
        threading.Event().wait()


if __name__ == "__main__":
    # At once: the other thread waits for a lock, and there is no clean-up to do.
    os._exit(main(*sys.argv[1:]))
