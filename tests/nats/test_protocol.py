"""The text protocol of NATS: cut at every byte, with hostile sizes, and junk."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troupe.actors.cluster.nats.protocol import (
    LARGEST_PAYLOAD,
    LONGEST_LINE,
    Connect,
    Info,
    NatsMessage,
    Operation,
    Oversized,
    Parser,
    ProtocolError,
    ServerError,
    Signal,
    log_in,
    publication,
    publish,
    publish_with_headers,
    subscribe,
    unsubscribe,
)

HEADERS = b"NATS/1.0\r\nName: value\r\n\r\n"
STREAM = (
    b'INFO {"server_id":"A","version":"2.15.1","max_payload":1048576,"headers":true,"nonce":"abc","new":[1],'
    b'"connect_urls":["10.0.0.1:4222"]}\r\n'
    b"PING\r\nPONG\r\n+OK\r\n\r\n"
    b"MSG a.b 1 5\r\nhello\r\n"
    b"MSG a.b 1 reply 0\r\n\r\n"
    b"MSG  a.b\t1  reply   4\r\n\r\n\r\n\r\n"
    b"HMSG a.b 1 25 30\r\n" + HEADERS + b"hello\r\n"
    b"HMSG a.b 1 reply 25 25\r\n" + HEADERS + b"\r\n"
    b"-ERR 'Authorization Violation'\r\n"
)
OPERATIONS: list[Operation] = [
    Info("A", "2.15.1", headers=True, nonce="abc", connect_urls=("10.0.0.1:4222",)),
    Signal.PING,
    Signal.PONG,
    Signal.OK,
    NatsMessage(b"a.b", b"", b"hello"),
    NatsMessage(b"a.b", b"reply", b""),
    NatsMessage(b"a.b", b"reply", b"\r\n\r\n"),
    NatsMessage(b"a.b", b"", b"hello", HEADERS),
    NatsMessage(b"a.b", b"reply", b"", HEADERS),
    ServerError("Authorization Violation"),
]


def parse(*pieces: bytes) -> list[Operation]:
    parser = Parser()
    return [operation for piece in pieces for operation in parser.feed(piece)]


def test_all_operations_are_read_at_once() -> None:
    assert parse(STREAM) == OPERATIONS


def test_a_cut_at_any_byte_changes_nothing() -> None:
    for at in range(len(STREAM) + 1):
        assert parse(STREAM[:at], STREAM[at:]) == OPERATIONS, at


def test_single_bytes_are_read() -> None:
    assert parse(*(bytes([byte]) for byte in STREAM)) == OPERATIONS


def written(message: NatsMessage) -> bytes:
    """Return the message as a server writes it."""
    subject, reply, payload, headers = message
    to = b"%b 1 %b" % (subject, reply + b" " if reply else b"")
    if headers:
        return b"HMSG %b%d %d\r\n%b%b\r\n" % (to, len(headers), len(headers) + len(payload), headers, payload)
    return b"MSG %b%d\r\n%b\r\n" % (to, len(payload), payload)


SUBJECTS = st.from_regex(rb"[a-z]{1,5}(\.[a-z%0-9]{1,5}){0,3}", fullmatch=True)
NOTHING = st.just(b"")
PAYLOADS = st.one_of(st.binary(max_size=50), st.binary(min_size=3, max_size=3).map(lambda text: text * 3000))
SOME_HEADERS = st.binary(max_size=20).map(lambda text: b"NATS/1.0\r\n" + text)
MESSAGES = st.builds(NatsMessage, SUBJECTS, st.one_of(NOTHING, SUBJECTS), PAYLOADS, st.one_of(NOTHING, SOME_HEADERS))
WORDS = [b"MSG ", b"HMSG ", b"INFO ", b"-ERR ", b"\r\n", b" ", b"a.b", b"1", b"999999999", b"-1", b"{}", b"PING"]
JUNK = st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(WORDS)), max_size=30)


@given(st.lists(MESSAGES, max_size=5), st.lists(st.integers(0, 20_000), max_size=10))
@settings(max_examples=150, deadline=None)
def test_messages_of_any_content_survive_any_cuts(sent: list[NatsMessage], cuts: list[int]) -> None:
    data = b"".join(map(written, sent))
    at = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    assert parse(*(data[start:end] for start, end in pairwise(at))) == sent


@given(JUNK)
@settings(max_examples=500, deadline=None)
def test_junk_is_read_or_refused(pieces: list[bytes]) -> None:
    try:
        at_once: object = parse(b"".join(pieces))
    except ProtocolError as error:
        at_once = str(error)
    try:
        in_pieces: object = parse(*pieces)
    except ProtocolError as error:
        in_pieces = str(error)
    assert in_pieces == at_once


@pytest.mark.parametrize(
    "junk",
    [
        b"MSG a.b 1\r\n",
        b"MSG a.b 1 r 5 5 5\r\n",
        b"MSG \r\n",
        b"MSG a.b 1 -5\r\n",
        b"MSG a.b 1 5x\r\n",
        b"MSG a.b 1 99999999999999999999\r\n",
        b"MSG a.b 1 100000000\r\n",
        "MSG a.b 1 \N{ARABIC-INDIC DIGIT FIVE}\r\n".encode(),
        b"MSG a.b 1 5\r\nhello world\r\n",
        b"HMSG a.b 1 9 5\r\nhello\r\n",
        b"INFO {\r\n",
        b'INFO {"max_payload":"much"}\r\n',
        b"INFO " + b"[" * 5000 + b"\r\n",
        b"HTTP/1.1 400 Bad Request\r\n",
        b"ping\r\n",
        b"x" * LONGEST_LINE,
    ],
)
def test_what_no_server_sends_is_refused(junk: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse(junk)


def test_a_payload_that_is_too_large_is_skipped_without_being_kept() -> None:
    size = LARGEST_PAYLOAD + 1
    whole = b"MSG a.b 1 %d\r\n" % size + bytes(size) + b"\r\nPING\r\n"
    skipped = [Oversized(b"a.b", size), Signal.PING]
    assert parse(whole) == skipped
    assert parse(whole[:100], whole[100:-9], whole[-9:]) == skipped


def test_the_largest_payload_is_read_in_small_pieces_and_is_not_copied_at_each() -> None:
    whole = b"MSG a.b 1 %d\r\n" % LARGEST_PAYLOAD + bytes(LARGEST_PAYLOAD) + b"\r\n"
    pieces = [whole[at : at + 50] for at in range(0, len(whole), 50)]
    before = time.process_time()
    assert parse(*pieces) == [NatsMessage(b"a.b", b"", bytes(LARGEST_PAYLOAD))]
    assert time.process_time() - before < 0.1  # seconds; 0.003, and 0.3 with a copy for each piece


def test_between_two_operations_nothing_is_left() -> None:
    parser = Parser()
    seen: list[Operation] = []
    assert parser.is_between
    for byte in b"MSG a.b 1 2\r\nhi\r\n":
        seen += parser.feed(bytes([byte]))
        assert parser.is_between == bool(seen)


def test_what_a_client_writes() -> None:
    options = Connect(
        verbose=False, pedantic=False, echo=False, protocol=1, headers=True, lang="python", version="1", name="n1",
        user="ada", password='"',
    )  # fmt: skip
    assert log_in(options) == (
        b'CONNECT {"verbose":false,"pedantic":false,"echo":false,"protocol":1,"headers":true,"lang":"python",'
        b'"version":"1","name":"n1","user":"ada","pass":"\\""}\r\n'
    )
    assert subscribe(b"a.b", 1) == b"SUB a.b 1\r\n"
    assert unsubscribe(1) == b"UNSUB 1\r\n"
    assert b"".join(publish(publication(b"a.b", b"a.c"), b"hello")) == b"PUB a.b a.c 5\r\nhello\r\n"
    assert b"".join(publish_with_headers(b"a.b", b"a.c", HEADERS, b"hello")) == (
        b"HPUB a.b a.c 25 30\r\n" + HEADERS + b"hello\r\n"
    )
