"""The reports of processes to their parent, in the form of systemd (sd_notify(3)).

A process reports that it is ready, and then that its event loop still works.

The socket has no path, so nothing of it is left after a crash. Any program of the machine can send to it: the kernel
says which process has sent a datagram, and others than those of this server are ignored.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Generator
from contextlib import contextmanager

import trio

from ..system.service_manager import READY

CREDENTIALS = struct.Struct("3i")  # the numbers of the process, its user and its group (unix(7))
LONGEST = 4096


class Reports:
    """The socket that processes report to. `take` is called with the process, and whether it says that it is ready."""

    def __init__(self, listening: socket.socket) -> None:
        self._socket = listening

    @property
    def address(self) -> str:
        """The value of NOTIFY_SOCKET for the processes."""
        return "@" + self._socket.getsockname()[1:].decode()

    async def run(self, take: Callable[[int, bool], None]) -> None:
        """Receive reports without end."""
        receiving = trio.socket.from_stdlib_socket(self._socket)
        while True:
            data, attached, _, _ = await receiving.recvmsg(LONGEST, socket.CMSG_SPACE(CREDENTIALS.size))
            for level, kind, content in attached:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                    take(CREDENTIALS.unpack(content)[0], READY in data.decode(errors="replace").split("\n"))


@contextmanager
def reports() -> Generator[Reports]:
    """Open the socket for reports, with an address that the kernel chooses."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        listening.bind("")
        listening.setblocking(False)
        yield Reports(listening)
