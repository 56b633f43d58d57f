"""Canaries: the names inside hypercorn and h11 that `http/server/http1.py` and `http2.py` depend on."""

from __future__ import annotations

import inspect
from typing import Any

import h11
import pytest
from h11._receivebuffer import ReceiveBuffer
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.protocol.h11 import H11Protocol, H11WSConnection
from hypercorn.protocol.ws_stream import Handshake, WSStream

from troupe.http.server.http1 import Http1, WebSocket
from troupe.http.server.http2 import Http2

WHAT_TO_DO = "the library has changed here: read what it does now before you raise its version"

OVERRIDDEN: list[tuple[type, type, list[str]]] = [
    (
        Http1,
        H11Protocol,
        ["stream_send", "_check_protocol", "_create_stream", "_send_error_response", "_maybe_recycle"],
    ),
    (Http2, H2Protocol, ["_handle_events", "stream_send", "_create_stream", "_close_stream"]),
    (WebSocket, WSStream, ["handle", "_accept", "_handle_events", "_send_error_response"]),
]


@pytest.mark.parametrize(("ours", "theirs", "names"), OVERRIDDEN)
def test_what_is_overridden_exists_and_takes_the_same(ours: type, theirs: type, names: list[str]) -> None:
    for name in names:
        assert name in vars(ours), name
        assert parameters(getattr(ours, name)) == parameters(getattr(theirs, name)), f"{name}: {WHAT_TO_DO}"


@pytest.mark.parametrize(("ours", "theirs", "names"), OVERRIDDEN)
def test_nothing_else_of_theirs_is_overridden_by_chance(ours: type, theirs: type, names: list[str]) -> None:
    shared = {name for name in vars(ours) if name in vars(theirs) and not name.startswith("__")}
    assert shared == set(names)


def test_h11_keeps_what_it_receives_in_the_buffer_that_is_replaced() -> None:
    connection: Any = h11.Connection(h11.SERVER)
    assert type(connection._receive_buffer) is ReceiveBuffer, WHAT_TO_DO
    used = set(vars(ReceiveBuffer())) | set(vars(ReceiveBuffer))
    overridden = {"maybe_extract_lines", "maybe_extract_next_line"}
    assert {"_data", "_multiple_lines_search", "_extract", *overridden} <= used, WHAT_TO_DO


def test_h11_is_idle_between_two_requests_and_its_buffer_is_true_when_it_holds_something() -> None:
    connection: Any = h11.Connection(h11.SERVER)
    assert (connection.their_state, bool(connection._receive_buffer)) == (h11.IDLE, False), WHAT_TO_DO
    connection.receive_data(b"GET / HTTP/1.1\r\nHost: ")
    assert connection.next_event() is h11.NEED_DATA
    assert (connection.their_state, bool(connection._receive_buffer)) == (h11.IDLE, True), WHAT_TO_DO
    connection.receive_data(b"a\r\n\r\n")
    connection.next_event()
    assert connection.their_state is not h11.IDLE, WHAT_TO_DO


def test_h11_reads_heads_and_trailers_by_the_method_that_is_overridden() -> None:
    from h11 import _readers

    for reader in (_readers.maybe_read_from_IDLE_client, _readers.ChunkedReader.__call__):
        assert "buf.maybe_extract_lines()" in inspect.getsource(reader), WHAT_TO_DO
    chunks = inspect.getsource(_readers.ChunkedReader.__call__)
    assert chunks.count("buf.maybe_extract_next_line()") == 1, WHAT_TO_DO


def test_h11_must_close_after_a_last_request_and_takes_what_follows_for_an_error() -> None:
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nx")
    for _ in range(2):
        connection.next_event()
    assert connection.their_state is h11.MUST_CLOSE, WHAT_TO_DO
    with pytest.raises(h11.RemoteProtocolError):
        connection.next_event()


def test_hypercorn_waits_where_h11_is_paused() -> None:
    source = inspect.getsource(H11Protocol._handle_events)  # pyright: ignore[reportPrivateUsage]  # it is looked at
    assert "event is h11.PAUSED:\n                    await self.can_read.clear()\n" in source, WHAT_TO_DO


def test_hypercorn_asks_for_a_change_of_protocol_in_one_place() -> None:
    source = inspect.getsource(H11Protocol)
    assert source.count("raise H2CProtocolRequiredError") == source.count("raise H2ProtocolAssumedError") == 1
    check = inspect.getsource(H11Protocol._check_protocol)  # pyright: ignore[reportPrivateUsage]  # it is looked at
    assert "raise H2CProtocolRequiredError" in check, WHAT_TO_DO
    assert "raise H2ProtocolAssumedError" in check, WHAT_TO_DO


def test_hypercorns_protocols_hold_what_is_read_of_them() -> None:
    for name in ("keep_alive_requests", "can_read", "connection", "connection_state", "stream"):
        assert f"self.{name}" in inspect.getsource(H11Protocol.__init__), WHAT_TO_DO
    for name in ("streams", "has_data", "connection"):
        assert f"self.{name}" in inspect.getsource(H2Protocol.__init__), WHAT_TO_DO
    assert "self.h11_connection" in inspect.getsource(H11WSConnection.__init__), WHAT_TO_DO
    assert "self.extensions" in inspect.getsource(Handshake.accept), WHAT_TO_DO


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)
