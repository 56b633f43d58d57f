"""Streaming: whether a WebSocket gets through the proxy."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from ...actors.configuration import AccessSettings
from .findings import Examination, Finding
from .proxy import not_asked, unreachable
from .public_address import PublicAnswer, connected, exchange, public_address, upgrade_headers

SUBJECT = "streaming"
PATH = "/api/v1/streaming"
PING = b"\x89\x80\x00\x00\x00\x00"  # RFC 6455, section 5.5.2: final, masked with zeros, without content
PONG = b"\x8a\x00"
MOST_BEFORE = 4096  # bytes that are read until the pong
CURE = (
    "nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection"
    " $connection_option; as `troupe help proxy` says. Caddy does it by itself."
)


def check_websocket(examination: Examination) -> Iterator[Finding]:
    """Open a WebSocket at the public address, send a ping, and wait for its answer."""
    if not_asked(examination) is not None:
        return  # the check of the proxy says so
    settings = examination.sources.settings
    address = public_address(settings)
    headers, accept = upgrade_headers()
    try:
        with connected(address) as line:
            answer = exchange(line, address, PATH, headers)
            if answer.status != 101:
                yield _refused(answer, settings)
                return
            if answer.headers.get("sec-websocket-accept") != accept:
                yield Finding(SUBJECT, "wrong", "something else than Troupe opens WebSockets", CURE)
                return
            line.sendall(PING)
            if not _answered(line):
                yield Finding(SUBJECT, "wrong", "a WebSocket opens, but sent messages do not arrive", CURE)
                return
    except OSError as error:
        yield unreachable(SUBJECT, settings, error)
        return
    yield Finding(SUBJECT, "good", f"WebSockets get through to {settings.streaming_url}")


def _answered(line: socket.socket) -> bool:
    """True if a pong comes, maybe after frames that the server sends by itself."""
    received = b""
    while len(received) < MOST_BEFORE and (more := line.recv(MOST_BEFORE)):
        received += more
        if PONG in received:
            return True
    return False


def _refused(answer: PublicAnswer, settings: AccessSettings) -> Finding:
    # Without previews for strangers the handshake needs a token. The same path without an upgrade is no page (404).
    if answer.status == 401 and not settings.shows_previews:
        return Finding(SUBJECT, "good", "the handshake of a WebSocket gets through; without a token it is refused")
    return Finding(
        SUBJECT, "wrong", f"the proxy does not let WebSockets through: {answer.status} in place of 101", CURE
    )
