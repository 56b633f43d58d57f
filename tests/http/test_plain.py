"""The recogniser of plain requests: what it takes, h11 reads in the same way, up to where the next request begins."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troupe.http.server.http1 import StrictConnection
from troupe.http.server.listener import LARGEST_HEAD as LARGEST_ODD_HEAD
from troupe.http.server.plain import (
    BLANK_LINE,
    LARGEST_BODY,
    LARGEST_HEAD,
    MOST_HEADERS,
    PlainRequest,
    Recogniser,
)

from .smuggling import ASK, CORPUS, NEXT, POST

# The entries of the corpus that are plain; all others are hypercorn's.
PLAIN = {
    "plain", "a body", "no body", "an empty body", "a body like a request", "a body like the end of chunks", "head",
    "pipelined", "pipelined, with a body between", "pipelined, plain and chunked", "pipelined, plain and a page",
    "a length with zeros", "a length with an underscore", "an empty value", "escapes", "a broken escape",
    "an escaped slash", "keep-alive", "upgrade without a protocol",
}  # fmt: skip


class Reading(NamedTuple):
    """A request as h11 reads it, and what it leaves for the next one."""

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    rest: bytes


def judge(data: bytes) -> Reading | None:
    """The first request by h11, with the buffer that the server gives it; None if it is refused or not complete."""
    connection = StrictConnection(LARGEST_ODD_HEAD)
    connection.receive_data(data)
    try:
        head, body = connection.next_event(), b""
        if not isinstance(head, h11.Request) or connection.they_are_waiting_for_100_continue:
            return None
        while isinstance(event := connection.next_event(), h11.Data):
            body += event.data
    except h11.RemoteProtocolError:
        return None
    if not isinstance(event, h11.EndOfMessage) or head.http_version != b"1.1":
        return None
    assert connection.their_state is h11.DONE  # and not MUST_CLOSE
    return Reading(head.method.decode(), head.target, list(head.headers), body, connection.trailing_data[0])


def check(data: bytes) -> PlainRequest | None:
    """Hold what the recogniser takes against h11's reading."""
    recogniser = Recogniser()
    found = recogniser.first(data)
    assert recogniser.first(ASK + b"\r\n") is not None  # nothing is left over from the last one
    recogniser._remembered.cache_clear()  # pyright: ignore[reportPrivateUsage]  # it is read once more
    for _ in ("read", "remembered"):
        assert recogniser.first(data) == found
    if found is None:
        return None
    plain, length = found
    reading = judge(data)
    assert reading is not None, data
    path, _, query = reading.target.partition(b"?")
    assert (plain.method, [*plain.headers], plain.body) == (reading.method, reading.headers, reading.body)
    assert (plain.path, plain.query) == (unquote(path.decode()), query)  # as hypercorn reads the target
    assert data[length:] == reading.rest
    return plain


@pytest.mark.parametrize("name", CORPUS)
def test_both_parsers_agree_on_the_corpus(name: str) -> None:
    assert (check(CORPUS[name] + NEXT) is not None) is (name in PLAIN)


def test_a_request_that_is_not_complete_is_not_plain() -> None:
    whole = POST + b"Content-Length: 2\r\n\r\n{}"
    assert all(Recogniser().first(whole[:size]) is None for size in range(len(whole)))
    assert Recogniser().first(whole) is not None


def test_sizes_have_bounds() -> None:
    def padded(size: int) -> bytes:
        return ASK + b"X-Long: " + b"x" * (size - len(ASK) - len(b"X-Long: " + BLANK_LINE)) + BLANK_LINE

    def with_body(size: int) -> bytes:
        return POST + b"Content-Length: %d\r\n\r\n" % size + b"x" * size

    def with_headers(count: int) -> bytes:
        return ASK + b"X-One: 1\r\n" * (count - 1) + b"\r\n"

    for make, most in ((padded, LARGEST_HEAD), (with_body, LARGEST_BODY), (with_headers, MOST_HEADERS)):
        assert check(make(most)) is not None
        assert check(make(most + 1)) is None


# What hypothesis puts requests together from.
METHODS = [b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"get", b""]
TARGETS = [
    b"/",
    b"/api/v1/instance",
    b"/a?b=c",
    b"/%41",
    b"//a",
    b"*",
    b"http://a/",
    b"/a b",
    b"/#",
    b"/\xff",
    b"/\x7f",
]
VERSIONS = [b" HTTP/1.1"] * 6 + [b" HTTP/1.0", b" HTTP/2.0", b"HTTP/1.1", b"  HTTP/1.1", b" HTTP/1.1 ", b""]
NAMES = [
    b"Host", b"Content-Length", b"Transfer-Encoding", b"Connection", b"Upgrade", b"Expect", b"Content-Type", b"X-One",
    b"TE", b"X One", b" X", b"", b"X\0", b"content-length", b"HOST",
]  # fmt: skip
COLONS = [b": "] * 6 + [b":", b" :", b":\t", b"", b"::", b":  "]
VALUES = [
    b"localhost", b"0", b"2", b"5", b"+2", b"2,2", b"2 ", b"chunked", b"close", b"keep-alive", b"upgrade", b"websocket",
    b"100-continue", b"", b" ", b"a\tb", b"\xff", b"\0", b"a, b", b"a\r b", b"a\n b",
]  # fmt: skip
ENDS = [b"\r\n"] * 12 + [b"\n", b"\r", b"\r\n ", b"\r\r\n", b" \r\n", b"\r\n\r\n"]
BODIES = [b"", b"{}", b"0\r\n\r\n", b"2\r\n{}\r\n0\r\n\r\n", NEXT, b"\r\n", b"\0"]

any_of = st.sampled_from
header = st.tuples(any_of(NAMES), any_of(COLONS), any_of(VALUES), any_of(ENDS)).map(b"".join)
likely = any_of([b"Host: localhost\r\n", b"Content-Length: 2\r\n", b"Content-Type: application/json\r\n"])
whole = st.tuples(
    any_of(METHODS), any_of([b" ", b" ", b" ", b"  ", b"\t"]), any_of(TARGETS), any_of(VERSIONS), any_of(ENDS),
    st.lists(header | likely, max_size=6).map(b"".join), any_of(ENDS), any_of(BODIES), any_of(BODIES),
).map(b"".join)  # fmt: skip


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(whole)
def test_both_parsers_agree_on_what_is_put_together(data: bytes) -> None:
    check(data)


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(
    any_of(sorted(PLAIN)).map(CORPUS.__getitem__),
    st.lists(
        st.tuples(st.integers(0, 300), st.integers(0, 3), any_of([*b"\r\n\t :,/%#\0\x0b\x7f\xff", *b"aA02+-"])),
        max_size=3,
    ),
)
def test_both_parsers_agree_on_plain_requests_with_errors(data: bytes, errors: list[tuple[int, int, int]]) -> None:
    for at, removed, added in errors:
        data = data[:at] + bytes([added]) + data[at + removed :]
    check(data)
