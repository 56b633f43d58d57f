"""The server's own public address, as the settings name it, and plain requests to it.

The client for other servers is not used here: it hides errors of the network and of TLS, which are the subject here.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11

from ...actors.configuration import LOOPBACK, RequestSettings
from ...actors.outgoing.addresses import named_hosts

PATIENCE = 10.0  # seconds for each step, and for a whole answer
LARGEST = 64 * 1024
WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3


@dataclass(frozen=True, slots=True)
class PublicAddress:
    """The target of requests to the server's own name: name and port of the URL, and the place that is connected to."""

    secure: bool
    host: str
    port: int
    place: tuple[str, int]
    online: bool  # True if the way leads over the network

    @property
    def authority(self) -> str:
        """The value of a `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class PublicAnswer:
    """An answer, as far as it was read. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def public_address(settings: RequestSettings) -> PublicAddress:
    """Return the address of the server's own name. A test host may say where it is."""
    parts = urlsplit(settings.base_url)
    host, port = parts.hostname or "", parts.port or (443 if settings.secure else 80)
    place = named_hosts(settings.test_hosts).get(host)
    return PublicAddress(settings.secure, host, port, place or (host, port), place is None and host not in LOOPBACK)


def ask(address: PublicAddress, path: str, headers: Mapping[str, str]) -> PublicAnswer:
    """Return the answer to a GET. Raises OSError with the error of the network or of TLS."""
    with connected(address) as line:
        return exchange(line, address, path, headers)


def connected(address: PublicAddress) -> socket.socket:
    """Return a connection to the address, with TLS if its URL is https."""
    line = socket.create_connection(address.place, PATIENCE)
    if not address.secure:
        return line
    try:
        return ssl.create_default_context().wrap_socket(line, server_hostname=address.host)
    except BaseException:
        line.close()
        raise


def exchange(line: socket.socket, address: PublicAddress, path: str, headers: Mapping[str, str]) -> PublicAnswer:
    """Send a GET on an open connection, and return the answer; that of an upgrade has no body."""
    client = h11.Connection(h11.CLIENT)
    all_headers = {"Host": address.authority, "User-Agent": "troupe-doctor", **headers}
    request = h11.Request(method="GET", target=path, headers=list(all_headers.items()))
    try:
        line.sendall((client.send(request) or b"") + (client.send(h11.EndOfMessage()) or b""))
        return _answer(client, line)
    except h11.ProtocolError as error:
        raise OSError(f"the answer is not HTTP: {error}") from error


def _answer(client: h11.Connection, line: socket.socket) -> PublicAnswer:
    head: h11.Response | h11.InformationalResponse | None = None
    body, latest = b"", time.monotonic() + PATIENCE
    while len(body) < LARGEST:
        if time.monotonic() > latest:
            raise TimeoutError("the answer comes too slowly")
        event = client.next_event()
        if event is h11.NEED_DATA:
            client.receive_data(line.recv(LARGEST))
        elif isinstance(event, h11.InformationalResponse) and event.status_code == 101:
            head = event
            break
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed) or event is h11.PAUSED:
            break
    if head is None:
        raise OSError("the connection was closed without an answer")
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in head.headers}
    return PublicAnswer(head.status_code, headers, body)


def upgrade_headers() -> tuple[Mapping[str, str], str]:
    """Return the headers of a WebSocket's handshake, and the answer to its key that a server must give."""
    key = base64.b64encode(secrets.token_bytes(16)).decode()
    accept = base64.b64encode(hashlib.sha1((key + WEBSOCKET_GUID).encode(), usedforsecurity=False).digest()).decode()
    headers = {
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13",
    }  # fmt: skip
    return headers, accept
