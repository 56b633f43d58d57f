"""Requests for documents: how they are signed, and what is made of answers other than a document."""

from __future__ import annotations

import pytest
import trio

from troupe.actors.federation.errors import (
    DocumentGone,
    DocumentMissing,
    DocumentUnavailable,
    DocumentUnknown,
    FetchFailed,
    UntrustedDocument,
)

from ..clients import Stage
from ..outgoing.peer import Asked, answer
from .peer import DOCUMENT, ForeignServer


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, DocumentUnknown), (403, DocumentMissing), (410, DocumentGone), (429, DocumentUnavailable),
        (500, DocumentUnavailable), (503, DocumentUnavailable), (408, DocumentUnavailable), (204, DocumentMissing),
    ],
)  # fmt: skip
async def test_an_answer_without_a_document_says_why(
    stage: Stage, peer: ForeignServer, status: int, error: type[FetchFailed]
) -> None:
    with pytest.raises(FetchFailed) as raised:
        await stage.http_context.federation.fetcher.fetch(peer.fail(peer.url("/x"), status))
    assert type(raised.value) is error


async def test_a_server_that_reads_the_other_signature_is_asked_with_it_from_then_on(
    stage: Stage, peer: ForeignServer
) -> None:
    async def strict(stream: trio.abc.Stream, asked: Asked) -> None:
        status = 200 if "signature-input" in asked.headers else 401
        body = b'{"id":"%b"}' % peer.url(asked.path).encode()
        await stream.send_all(answer(status, body, Content_Type=DOCUMENT))

    one, other = (peer.respond_with(peer.url(path), strict) for path in ("/one", "/other"))
    fetcher = stage.http_context.federation.fetcher
    assert (await fetcher.fetch(one))["id"] == one
    assert len(peer.asked(one)) == 2
    assert (await fetcher.fetch(other))["id"] == other
    assert len(peer.asked(other)) == 1
    assert await stage.rows("SELECT host, signature_scheme FROM hosts") == [[peer.domain, "rfc9421"]]


async def test_a_server_that_reads_neither_signature_is_not_remembered(stage: Stage, peer: ForeignServer) -> None:
    url = peer.fail(peer.url("/x"), 401)
    with pytest.raises(DocumentMissing):
        await stage.http_context.federation.fetcher.fetch(url)
    assert len(peer.asked(url)) == 2
    assert await stage.rows("SELECT host FROM hosts") == []


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'"x"', b'{"type":"Note"}', b'{"id":7}', b'{"id":"\xff"}', b'{"id":"\\ud800"}']
)
async def test_a_body_that_is_no_document_is_not_trusted(stage: Stage, peer: ForeignServer, body: bytes) -> None:
    with pytest.raises(UntrustedDocument):
        await stage.http_context.federation.fetcher.fetch(peer.serve(peer.url("/x"), body))


@pytest.mark.parametrize(
    "head",
    [
        '<link rel="alternate" type="application/activity+json" href="/users/eve">',
        "<LINK href='/users/eve' type='application/activity+json' rel='alternate me'>",
        "<link rel=alternate type=application/activity+json href=/users/eve>",
        """<link rel="alternate" href="/users/eve"
           type='application/ld+json; profile="https://www.w3.org/ns/activitystreams"'>""",
    ],
)
async def test_a_page_may_name_its_document(stage: Stage, peer: ForeignServer, head: str) -> None:
    eve = peer.person("eve")
    page = peer.serve(peer.url("/@eve"), f"<html><head>{head}</head>".encode(), "text/html")
    assert (await stage.http_context.federation.fetcher.fetch_resource(page))["id"] == eve["id"]


async def test_a_page_may_name_its_document_in_a_header(stage: Stage, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    link = f'<https://x.example/>; rel="me", <{eve["id"]}>; rel="alternate"; type="application/activity+json"'
    page = peer.serve(peer.url("/@eve"), b"<html>", "text/html", Link=link)
    assert (await stage.http_context.federation.fetcher.fetch_resource(page))["id"] == eve["id"]


async def test_a_page_leads_no_further_than_one_step(stage: Stage, peer: ForeignServer) -> None:
    first, second = peer.url("/first"), peer.url("/second")
    for page, other in ((first, second), (second, first)):
        peer.serve(page, b"<html>", "text/html", Link=f'<{other}>; rel="alternate"; type="{DOCUMENT}"')
    with pytest.raises(UntrustedDocument):
        await stage.http_context.federation.fetcher.fetch_resource(first)
    assert (len(peer.asked(first)), len(peer.asked(second))) == (1, 1)


async def test_a_page_that_names_nothing_is_no_document(stage: Stage, peer: ForeignServer) -> None:
    page = peer.serve(peer.url("/x"), b"<html><link rel=alternate type=text/html href=/y>", "text/html")
    with pytest.raises(UntrustedDocument):
        await stage.http_context.federation.fetcher.fetch_resource(page)
