"""Becomes a program that the kernel ends when the process that started it has died.

    python -I -S attached.py PARENT LISTENERS PROGRAM ARGUMENT…

PARENT is the number of the process that starts it. LISTENERS are descriptors of listening sockets with commas between,
which the program gets as systemd would pass them: from descriptor 3 on, with LISTEN_PID and LISTEN_FDS.

It is a script without imports from this package, so that it takes 20 ms. A `preexec_fn` was turned down: in a process
with threads it can block for ever.
"""

import ctypes
import fcntl
import os
import signal
import sys

#: Option of Linux's prctl: the signal that a process gets when the thread that started it ends. `exec` does not change
#: it.
PARENT_DEATH_SIGNAL = 1

FIRST = 3  # the first descriptor that systemd passes
BEYOND = 256  # above the descriptors that are passed


def main(parent: str, listeners: str, *command: str) -> None:
    """Replace this process by the program."""
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        return  # the parent ended before the kernel knew about the signal
    if listeners:
        # First out of the way, because a listener may have the number that another listener gets.
        away = [fcntl.fcntl(int(number), fcntl.F_DUPFD_CLOEXEC, BEYOND) for number in listeners.split(",")]
        for number, listener in enumerate(away, FIRST):
            os.dup2(listener, number)
        os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(away))}
    os.execv(command[0], command)  # noqa: S606 - the parent has named it


if __name__ == "__main__":
    main(*sys.argv[1:])
