"""Listening sockets of a server that stops: new clients are kept out, and those that have connected are served."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from ipaddress import ip_address

import trio

from . import deadlines

SO_ATTACH_FILTER = 26  # Linux (asm-generic/socket.h)
# A program for the kernel's packet filter (linux/filter.h) that drops the packets of TCP with the flag SYN, and so the
# first one of each connection.
DROP_SYN = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # load the byte with the flags
        (0x45, 0, 1, 0x02),  # if SYN is not set, skip the next one
        (0x06, 0, 0, 0),  # drop the packet
        (0x06, 0, 0, 0xFFFFFFFF),  # take all of it
    )
)
LOOKS = 10  # for clients, in the time that a stopping server waits for them


class ClosingListeners:
    """Listening sockets of a server that stops. Each client that has connected is served; new ones can't connect.

    A client that connects between the last `accept` and the close of the socket would be reset.
    """

    def __init__(self, listeners: Sequence[socket.socket]) -> None:
        self._listeners = listeners
        self._is_local = all(map(_is_local, listeners))
        for listener in listeners:
            _keep_out(listener)

    async def empty(self, serve: Callable[[trio.SocketStream], None], connections: Set[object]) -> None:
        """Serve all clients that wait, and close the sockets.

        Wait until no client came for a moment, in which the handshakes that have begun should end, and open connections
        may bring another request. A client on this machine has no handshake that goes on, and needs no wait.
        """
        try:
            looks_left = LOOKS
            if not self._accept(serve) and self._is_local and not connections:
                return
            while looks_left:
                await trio.sleep(deadlines.LINGER / LOOKS)
                looks_left = LOOKS if self._accept(serve) else looks_left - 1
        finally:
            for listener in self._listeners:
                listener.close()

    def _accept(self, serve: Callable[[trio.SocketStream], None]) -> bool:
        """Serve the clients that wait now. Return True if there are any."""
        found = False
        for listener in self._listeners:
            with suppress(OSError):  # none is left, or there are no more file descriptors
                while True:
                    waiting, _ = listener.accept()
                    serve(trio.SocketStream(trio.socket.from_stdlib_socket(waiting)))
                    found = True
        return found


def _keep_out(listener: socket.socket) -> None:
    """Let no more clients connect to a listening socket. Those that have, also those not yet accepted, stay.

    To shut a TCP socket down was turned down, because that resets those that wait; `listen(0)` still takes one. Packets
    that begin a connection are dropped by a filter. The client repeats them after a second: then it is refused, or
    reaches the next server.
    """
    if listener.family == socket.AF_UNIX:
        listener.shutdown(socket.SHUT_RD)
        return
    program = ctypes.create_string_buffer(DROP_SYN)
    with suppress(OSError):  # Without a filter those are cut that connect in the instant before the socket is closed.
        listener.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", len(DROP_SYN) // 8, ctypes.addressof(program))
        )


def _is_local(listener: socket.socket) -> bool:
    """True if only clients on this machine reach a listening socket."""
    return listener.family == socket.AF_UNIX or ip_address(listener.getsockname()[0]).is_loopback
