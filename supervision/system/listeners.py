"""The listening sockets: handed over by systemd or by the server that is taken over from, or else bound here.

A client that connects while a server ends and the next starts waits in the queue of the listening socket. So no
connection is refused as long as the socket stays open, which two processes may have at a time.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path

from ...actors.configuration import ServerSettings, Settings
from ...http.server.listener import bind, bind_path, keep_out
from ..control import answers, ask_for_sockets, ask_to_drain, ask_to_resume
from ..failures import CannotListen

FIRST = 3  # the first file descriptor that systemd hands over (sd_listen_fds(3))
ADVICE = {
    errno.EADDRINUSE: "end the other program, or choose another --host, --port or --socket",
    errno.EACCES: "ports below 1024 need systemd's socket unit or CAP_NET_BIND_SERVICE, and a socket a folder that this"
    " user may write; or choose another --port or --socket",
    errno.EADDRNOTAVAIL: "choose an address of this machine with --host, such as localhost, 0.0.0.0 or ::",
}
OF_SYSTEMD = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")


class Listeners:
    """The sockets that this server listens on, from its start to its end."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held: list[socket.socket] = []
        self._shared = False
        self._asked = False  # another server was asked to serve no more

    def inherit(self, environment: MutableMapping[str, str]) -> None:
        """Take the sockets of systemd, or else of the server that is taken over. Raises CannotListen."""
        self._held = from_systemd(environment)
        if self._held:
            self._shared = True
        elif self._settings.takeover:
            self._held = self._chosen(ask_for_sockets(self._settings.control_socket))
            if self._held:
                # Clients that connect from now on wait for this server. Requests at the other server are answered
                # by it, as long as it has the database.
                self._asked = True
                ask_to_drain(self._settings.control_socket, self._settings.shutdown_grace)

    def give_back(self) -> None:
        """Have the server whose sockets were taken serve again, because this server does not start."""
        if self._asked:
            ask_to_resume(self._settings.control_socket)

    def open(self) -> list[socket.socket]:
        """Return copies of the sockets, which the server closes when it stops. Binds them first. Raises OSError."""
        if not self._held:
            path = self._settings.socket
            self._held = bind(self._settings.listens) if path is None else [bind_path(path)]
        return [listener.dup() for listener in self._held]

    def hand_over(self) -> list[socket.socket]:
        """Return the sockets for the next server."""
        self._shared = True
        return self._held

    @property
    def held(self) -> list[socket.socket]:
        """The sockets themselves, for processes that share them."""
        return self._held

    def keep_out(self) -> bool:
        """Let no more clients connect. Return False if another process has the sockets too, or they are Unix sockets.

        A process that accepts connections on a Unix socket would fail.
        """
        if self._shared or self._settings.socket is not None:
            return False
        for listener in self._held:
            keep_out(listener)
        return True

    def release(self) -> bool:
        """Give the sockets up, because the server takes no more connections; a Unix socket is removed.

        Return False if another process has them too. Then they are kept, as this process could not bind them again.
        """
        if self._shared:
            return False
        for listener in self._held:
            if listener.family == socket.AF_UNIX:
                Path(listener.getsockname()).unlink(missing_ok=True)
            listener.close()
        self._held = []
        return True

    def _chosen(self, offered: Iterable[socket.socket]) -> list[socket.socket]:
        """Return the sockets of the addresses that the settings name, and close the others."""
        wanted = {str(self._settings.socket)} if self._settings.socket else set(self._settings.listens)
        chosen: list[socket.socket] = []
        for listener in offered:
            name = listener.getsockname()
            if (name if isinstance(name, str) else tuple(name[:2])) in wanted:
                chosen.append(listener)
            else:
                listener.close()
        return chosen


def check_free(settings: Settings, environment: Mapping[str, str]) -> None:
    """Look if the addresses are free, before a start that may take minutes. Raises CannotListen.

    A server that runs on the same data has them too. Then the check of the database reports the error.
    """
    if settings.takeover or settings.socket or environment.get("LISTEN_PID") == str(os.getpid()):
        return
    try:
        for listener in bind(settings.listens):
            listener.close()
    except OSError as error:
        if not answers(settings.control_socket):
            raise cannot_listen(settings, error) from error


def cannot_listen(settings: ServerSettings, error: OSError) -> CannotListen:
    """Return the error with its remedy: why the server can't listen."""
    advice = ADVICE.get(error.errno or 0, "choose another --host, --port or --socket")
    if settings.tls_redirect_port is not None:
        advice += ", or another tls_redirect_port"
    return CannotListen(f"can't listen on {settings.listening} ({error.strerror or error}): {advice}")


def from_systemd(environment: MutableMapping[str, str]) -> list[socket.socket]:
    """Return the sockets that systemd has opened for this process, and leave the variables to no child."""
    process, count, _ = (environment.pop(name, "") for name in OF_SYSTEMD)
    if process != str(os.getpid()) or not count.isdecimal():
        return []
    return [_listening(descriptor) for descriptor in range(FIRST, FIRST + int(count))]


def _listening(descriptor: int) -> socket.socket:
    os.set_inheritable(descriptor, False)
    try:
        listener = socket.socket(fileno=descriptor)
        listens = listener.type == socket.SOCK_STREAM and listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise CannotListen(f"file descriptor {descriptor} of LISTEN_FDS is not a socket ({error.strerror})") from error
    if not listens:
        raise CannotListen(f"file descriptor {descriptor} of LISTEN_FDS is not a listening stream socket")
    listener.setblocking(False)
    return listener
