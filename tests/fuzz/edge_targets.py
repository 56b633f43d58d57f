"""The parsers of requests, documents and files, each with the largest input that reaches it at once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

from troupe.actors.activitypub import cavage, rfc9421
from troupe.actors.activitypub.follower_lists import LONGEST_HEADER, read_header
from troupe.actors.activitypub.names import LocalNames
from troupe.actors.activitypub.normalization import read_document
from troupe.actors.activitypub.public_keys import LONGEST_PEM, public_key
from troupe.actors.activitypub.requests import ReceivedRequest, SignatureRefused, UnusableKey
from troupe.actors.activitypub.vocabulary import (
    LARGEST_DOCUMENT,
    LONGEST_URI,
    MOST_ELEMENTS,
    MalformedDocument,
    uris_of,
)
from troupe.actors.cluster.nats.handshake import READ_AT_ONCE as READ_OF_NATS
from troupe.actors.cluster.nats.protocol import LONGEST_LINE, Parser, ProtocolError
from troupe.actors.federation.errors import UntrustedDocument
from troupe.actors.federation.fetching import HEAD_BYTES, alternate_of, is_document
from troupe.actors.federation.webfinger import LARGEST_XRD, resource_of
from troupe.actors.rules.identity import LONGEST_SOUGHT
from troupe.http.answers.errors import HttpError
from troupe.http.app import normalized
from troupe.http.federation.webfinger import RESOURCE, local_name
from troupe.http.intake.decoding import nest, read_json, read_urlencoded
from troupe.http.intake.multipart import read_multipart
from troupe.http.intake.negotiation import asks_for_document
from troupe.http.intake.parameters import LONGEST_QUERY, Input, MaybeUpload, as_time
from troupe.http.intake.request import LARGE_FORM, LARGEST_BODY, Request
from troupe.http.server.addresses import client_address
from troupe.http.server.listener import LARGEST_HEAD
from troupe.http.server.plain import Recogniser
from troupe.http.server.stream_sockets import READ_AT_ONCE
from troupe.http.streaming.client_frames import ClientFrames, WrongFrame
from troupe.http.views.resolving import web_address_of

from .fuzz import Target

NOW = datetime(2026, 11, 1, tzinfo=UTC)
REFUSALS = (HttpError, MalformedDocument, ProtocolError, SignatureRefused, UnusableKey, UntrustedDocument, WrongFrame)
NAMES = LocalNames("https://troupe.test")
MASK = bytes(4)
CHUNK = 64 * 1024  # of a body, at most: what one read of a connection brings
LARGEST_FRAMES = 64 * 1024


def refusing(read: Callable[[Any], object]) -> Callable[[Any], object]:
    """Return a reader whose refusal is an answer too."""

    def run(given: Any) -> object:
        try:
            return read(given)
        except REFUSALS as refusal:
            return refusal

    return run


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def within(before: bytes, after: bytes, largest: int) -> Callable[[str], bytes]:
    """Return what puts a text between two others. The whole has at most `largest` bytes."""
    return lambda text: before + as_bytes(text)[: largest - len(before) - len(after)] + after


def request_with(name: str) -> Callable[[str], ReceivedRequest]:
    def request(text: str) -> ReceivedRequest:
        headers = {"host": "troupe.test", "date": "Sun, 01 Nov 2026 00:00:00 GMT", "digest": "SHA-256=x"}
        return ReceivedRequest("POST", "https://troupe.test", "/inbox", headers | {name: text}, b"{}")

    return request


def answer_with(header: str) -> Callable[[str], Any]:
    kind = {"content-type": "application/ld+json"}
    return lambda text: SimpleNamespace(url="https://far.example/", headers=kind | {header: text}, body=b"")


def page_of(text: str) -> Any:
    return SimpleNamespace(url="https://far.example/", headers={"content-type": "text/html"}, body=as_bytes(text))


def odd_document(text: str) -> bytes:
    """Return a document of as many objects as are let in, all of them spelled in a way that costs work."""
    pieces = [text[at : at + 8] for at in range(0, 2_400 * 8, 8)]
    things = [
        {"@type": piece, "content": {"en": piece, "de": [piece]}, f"as:{piece}{number}": {"@value": piece}}
        for number, piece in enumerate(pieces)
    ]
    return json.dumps({"tag": things[:1_200], "object": things[1_200:]}).encode()


def read_operations(data: bytes) -> object:
    """Read what a message broker sends."""
    return Parser().feed(data)


def read_accept(text: str) -> bool:
    async def nothing() -> AsyncIterator[bytes]:
        return
        yield b""

    lines = [(b"accept", text.encode("latin-1", "replace"))]
    return asks_for_document(Request("GET", "/users/ada", b"", lines, "127.0.0.1", nothing()))


def read_resource(text: str) -> object:
    return RESOURCE.fullmatch(unquote(text).strip()), local_name(text, NAMES)


class Picture(Input):
    avatar: MaybeUpload = None


def in_data_url(before: str, after: str) -> Callable[[str], dict[str, object]]:
    """Return what makes a form of a picture that is a text, with a text between two others."""
    return lambda text: {"avatar": (before + text)[: LARGEST_BODY - len(after)] + after}


def uris_in(text: str) -> list[str]:
    """Return as many different URIs as a document has room for, each as long as it may be."""
    rest = text[: LONGEST_URI // 2]
    number = min(MOST_ELEMENTS, LARGEST_DOCUMENT // (len(as_bytes(rest)) + 30))
    return [f"https://peer.test/{at}/{rest}" for at in range(number)]


def read_form(raw: bytes) -> object:
    return nest(read_urlencoded(raw))


def read_parts(raw: bytes) -> object:
    """Read a multipart body that has arrived at once, by hand: the reader waits for nothing but chunks."""

    class Chunks:
        def __init__(self) -> None:
            self.left = [raw]

        def __aiter__(self) -> Chunks:
            return self

        async def __anext__(self) -> bytes:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    try:
        read_multipart("multipart/form-data; boundary=b", Chunks()).send(None)
    except StopIteration as end:
        return end.value
    return None


def read_frames(data: bytes) -> object:
    return list(ClientFrames(LARGEST_FRAMES).receive(data))


def frames_of(text: str) -> bytes:
    """Return as many of the smallest frames as one read takes, their first bytes as the text says."""
    kinds = as_bytes(text)[: READ_AT_ONCE // 6]
    return b"".join(bytes((0x80 | (0x9 if kind % 2 else 0x1), 0x80)) + MASK for kind in kinds)


PART = b'--b\r\nContent-Disposition: form-data; name="a"'
EDGE = (
    Target("query", LARGEST_HEAD, refusing(read_form), as_bytes),
    Target("form, on the loop", LARGE_FORM, refusing(read_form), within(b"a[]=", b"", LARGE_FORM)),
    Target("JSON", LARGEST_BODY, refusing(read_json), within(b"", b"", LARGEST_BODY)),
    Target("JSON, a list", LARGEST_BODY, refusing(read_json), within(b'{"a":[', b"0]}", LARGEST_BODY)),
    Target("JSON, a text", LARGEST_BODY, refusing(read_json), within(b'{"a":"', b'"}', LARGEST_BODY)),
    Target("multipart, a chunk", CHUNK, refusing(read_parts), within(PART + b"\r\n\r\n", b"\r\n--b--", CHUNK)),
    Target("multipart, a head", CHUNK, refusing(read_parts), within(PART, b"\r\n\r\nx\r\n--b--", 16 * 1024)),
    Target("document", LARGEST_DOCUMENT, refusing(read_document), within(b"", b"", LARGEST_DOCUMENT)),
    Target("document, a list", LARGEST_DOCUMENT, refusing(read_document), within(b'{"a":[', b"0]}", LARGEST_DOCUMENT)),
    Target("document, spelled oddly", 2_400 * 8, refusing(read_document), odd_document),
    Target(
        "plain request", 16 * 1024, Recogniser().first,
        within(b"GET / HTTP/1.1\r\nHost: a\r\nX-A: ", b"\r\n\r\n", 16 * 1024),
    ),
    Target("X-Forwarded-For", LARGEST_HEAD, lambda text: client_address("127.0.0.1", text, ())),
    Target(
        "Signature", cavage.LONGEST_HEADER, refusing(lambda one: cavage.claim_of(one, NOW)), request_with("signature")
    ),
    Target(
        "Signature-Input", rfc9421.LONGEST_HEADER, refusing(lambda one: rfc9421.claim_of(one, NOW)),
        request_with("signature-input"),
    ),
    Target("Collection-Synchronization", LONGEST_HEADER, lambda text: read_header(text, "https://far.example/")),
    Target("Digest", LARGEST_HEAD, refusing(lambda one: cavage.claim_of(one, NOW)), request_with("digest")),
    Target("Accept", LARGEST_HEAD, read_accept, str),
    Target("key in PEM", LONGEST_PEM, refusing(public_key.__wrapped__), str),
    Target("WebFinger in XML", LARGEST_XRD, refusing(resource_of), within(b"<XRD><Link ", b"", LARGEST_XRD)),
    Target("URIs of a document", LARGEST_DOCUMENT, uris_of, uris_in),
    Target("path", LARGEST_HEAD, normalized),
    Target("resource of a WebFinger request", LONGEST_QUERY, read_resource),
    Target("address without a scheme", LONGEST_SOUGHT, web_address_of),
    Target("time", LARGEST_BODY, as_time),
    Target("data: URL, its type", LARGEST_BODY, refusing(Picture.read), in_data_url("data:", "")),
    Target("data: URL, its parameters", LARGEST_BODY, refusing(Picture.read), in_data_url("data:a/b;a=", ";base64,")),
    Target("data: URL, its data", LARGEST_BODY, refusing(Picture.read), in_data_url("data:;base64,", "")),
    Target("Link", LARGEST_HEAD, alternate_of, answer_with("link")),
    Target("Content-Type of an answer", LARGEST_HEAD, is_document, answer_with("content-type")),
    Target("page with a link to a document", HEAD_BYTES, alternate_of, page_of),
    Target("operations of NATS", READ_OF_NATS, refusing(read_operations), within(b"", b"\r\n", READ_OF_NATS)),
    Target("message of NATS", READ_OF_NATS, refusing(read_operations), within(b"MSG a 1 ", b"\r\n", READ_OF_NATS)),
    Target("INFO of NATS", LONGEST_LINE, refusing(read_operations), within(b'INFO {"a":', b"}\r\n", LONGEST_LINE)),
    Target("frames of a WebSocket", READ_AT_ONCE, refusing(read_frames), frames_of),
)  # fmt: skip
