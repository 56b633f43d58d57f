"""A new connection to a server of NATS, up to its INFO: TCP, and TLS before or after INFO.

Most servers send INFO in the clear and then expect TLS. With `handshake_first` they expect TLS at once, and are silent
until then. A server of `tls://` that is silent is taken for one of these, so that operators need not say which it is.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar, TypeVarTuple, Unpack

import trio

from .parts import SMALLEST_PAYLOAD
from .protocol import Info, Operation, Parser, ProtocolError, ServerError
from .servers import BrokerServer

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]

READ_AT_ONCE = 64 * 1024
PATIENCE = 2.0  # seconds from the first packet to INFO. A frozen server accepts connections and says nothing.
SILENCE_BEFORE_TLS = 0.4  # seconds without INFO, after which the client begins with TLS

# What operators do about errors after which the server closes the connection.
REMEDIES = {
    "authorization violation": "correct the user and the password in bus_url, or in its configuration",
    "user authentication": "renew the user's password or key",
    "authentication timeout": "it got no login in time: one of the machines may be overloaded",
    "slow consumer": "this node reads too slowly, because it has too much to do or the network is slow",
    "maximum connections": "raise max_connections in its configuration",
    "maximum account": "raise the limit of connections of the account",
}


class ConnectionLost(Exception):
    """Raised when a connection failed, or can't be opened. The text is for the operator, and contains no secret."""


class Greeting(NamedTuple):
    """A connection on which the server has introduced itself."""

    stream: Stream
    info: Info

    @property
    def is_encrypted(self) -> bool:
        return isinstance(self.stream, trio.SSLStream)


async def greet(server: BrokerServer) -> Greeting:
    """Connect to a server. Raises ConnectionLost."""
    with trio.move_on_after(PATIENCE):
        stream: Stream = await io(trio.open_tcp_stream, server.host, server.port)
        try:
            return await _greet(stream, server)
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
    raise ConnectionLost(f"it does not answer within {PATIENCE:g} s")


async def io(operation: Callable[[Unpack[Ts]], Awaitable[T]], *args: *Ts) -> T:
    """Call a method of a connection. Raises ConnectionLost in place of the errors of the network."""
    try:
        return await operation(*args)
    except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
        raise ConnectionLost(_text_of(_cause_of(error))) from error


def explained(error: str) -> str:
    """Return an error of the server with the remedy."""
    remedy = next((remedy for beginning, remedy in REMEDIES.items() if error.lower().startswith(beginning)), "")
    return f"it says {error!r}{remedy and f': {remedy}'}"


def check(info: Info) -> Info:
    """Return an INFO with limits that a node can keep. Raises ConnectionLost for others."""
    if info.max_payload < SMALLEST_PAYLOAD:
        raise ConnectionLost(f"its max_payload is too small: raise it to {SMALLEST_PAYLOAD} or more")
    return info


async def _greet(stream: trio.SocketStream, server: BrokerServer) -> Greeting:
    first = b""
    with trio.move_on_after(SILENCE_BEFORE_TLS if server.demands_tls else PATIENCE):
        first = await _receive(stream)
    if not first:
        encrypted = await _encrypt(stream, server)
        return Greeting(encrypted, await _read_info(encrypted, await _receive(encrypted)))
    info = await _read_info(stream, first)
    if server.demands_tls and not (info.tls_required or info.tls_available):
        raise ConnectionLost("bus_url demands TLS, and this server has no certificate: write nats://, or give it one")
    if server.demands_tls or info.tls_required:
        return Greeting(await _encrypt(stream, server), info)
    return Greeting(stream, info)


async def _receive(stream: Stream) -> bytes:
    data = await io(stream.receive_some, READ_AT_ONCE)
    if not data:
        raise ConnectionLost("it closes new connections at once: the connections or the address may be limited")
    return bytes(data)


async def _read_info(stream: Stream, data: bytes) -> Info:
    """Read the first operation, which is INFO. Nothing may follow it: in the clear it could be of a third party."""
    parser = Parser()
    try:
        while not (operations := parser.feed(data)):
            data = await _receive(stream)
    except ProtocolError as error:
        raise ConnectionLost(
            f"it is no server of NATS, or its address is one for other nodes or for HTTP: {error}"
        ) from error
    return _checked(operations, parser)


def _checked(operations: list[Operation], parser: Parser) -> Info:
    match operations:
        case [Info() as info] if parser.is_between:
            return check(info)
        case [Info(), ServerError(text)]:
            raise ConnectionLost(explained(text))
        case _:
            raise ConnectionLost("it does not begin with INFO, and nothing else: it is no server of NATS")


async def _encrypt(stream: trio.SocketStream, server: BrokerServer) -> trio.SSLStream[trio.SocketStream]:
    context = ssl.create_default_context()  # 10 ms; new, so that a certificate that was added is trusted
    encrypted = trio.SSLStream(stream, context, server_hostname=server.certified, https_compatible=True)
    await io(encrypted.do_handshake)
    return encrypted


def _cause_of(error: BaseException) -> BaseException:
    """Return the innermost error. A name with several addresses has an error for each: the first counts."""
    while (cause := error.__cause__) is not None:
        match cause:
            case BaseExceptionGroup(exceptions=[BaseException() as first, *_]):
                error = first
            case _:
                error = cause
    return error


def _text_of(error: BaseException) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return (
                f"its certificate is not trusted: {error.verify_message}. Add its authority to those of the system, or"
                " name its file in SSL_CERT_FILE"
            )
        case ssl.SSLError():
            return f"TLS fails: {error.reason or error}"
        case ConnectionRefusedError():
            return "it does not run, or does not listen there"
        case OSError():
            return error.strerror or str(error) or type(error).__name__
        case _:
            return "the connection was cut"
