"""Listening sockets: they are bound, and closed when all clients that have connected are served."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Callable, Generator, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import trio

from . import deadlines

BACKLOG = 1024  # connections that wait to be accepted
# A machine without IPv4 or without IPv6, or an address of another machine.
NO_SUCH_ADDRESS = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
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


def bind(addresses: Sequence[tuple[str, int]]) -> list[socket.socket]:
    """Return listening sockets for all addresses. Raises OSError.

    Of a port, those addresses may be missing that the machine can't have: of IPv4, or of IPv6.
    """
    bound: list[socket.socket] = []
    missing: dict[int, OSError] = {}
    served: set[int] = set()
    try:
        for host, port in addresses:
            try:
                bound.append(_bind_one(host, port))
                served.add(port)
            except OSError as error:
                if error.errno not in NO_SUCH_ADDRESS:
                    raise
                missing.setdefault(port, error)
        for port in missing.keys() - served:
            raise missing[port]
    except OSError:
        for one in bound:
            one.close()
        raise
    return bound


def _bind_one(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # IPv4 and IPv6 have separate sockets, so that an IPv6 address in the settings does not listen on IPv4 too.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def bind_path(path: Path) -> socket.socket:
    """Return a listening Unix socket, in place of one that a server has left behind. Raises OSError."""
    if path.exists() and not path.is_socket():
        raise FileExistsError(errno.EEXIST, "this is not a socket")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        if listener.connect_ex(str(path)) not in (errno.ENOENT, errno.ECONNREFUSED):
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        path.unlink(missing_ok=True)
        mask = os.umask(0o117)
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
    except OSError:
        listener.close()
        raise
    listener.listen(BACKLOG)
    return listener


@contextmanager
def copies_of(listeners: Sequence[socket.socket]) -> Generator[list[socket.socket]]:
    """Return copies of the listening sockets. Trio closes the originals, and connections may still wait in them."""
    with ExitStack() as opened:
        yield [opened.enter_context(listener.dup()) for listener in listeners]


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
