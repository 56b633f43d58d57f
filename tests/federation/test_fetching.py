"""Requests for documents: how they are signed, and what is made of answers other than a document."""

from __future__ import annotations

import pytest
import trio

from troupe.actors.federation.errors import (
    DocumentGone,
    DocumentMissing,
    DocumentRefused,
    DocumentUnavailable,
    DocumentUnknown,
    FetchFailed,
    UnreadableDocument,
    UntrustedDocument,
)

from ..clients import Stage
from ..outgoing.peer import Asked, Respond, answer
from .peer import BROKEN, DOCUMENT, ForeignServer


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, DocumentUnknown), (403, DocumentRefused), (410, DocumentGone), (429, DocumentUnavailable),
        (500, DocumentUnavailable), (503, DocumentUnavailable), (408, DocumentUnavailable), (204, DocumentRefused),
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


@pytest.mark.parametrize(
    "link",
    [
        '<https://x.example/>; rel="me", <EVE>; rel="alternate"; type="application/activity+json"',
        r'<EVE>; rel="alternate"; type="application/ld+json; profile=\"https://www.w3.org/ns/activitystreams\""',
        r'<EVE>;TYPE="application/ld+json;profile=\"https://x.example/p https://www.w3.org/ns/activitystreams\"";'
        r"Rel=Alternate",
        "<EVE>;rel=alternate;type=application/activity+json",
        '<EVE>; title="a, <https://x.example/>; b"; rel="me ALTERNATE" ; type = "Application/Activity+JSON"',
        '</users/eve>; rel="alternate"; type="application/activity+json; charset=utf-8"',
        '<https://[x>; rel="me", <EVE>; rel="alternate"; type="application/activity+json"',
        '<https://x.example/>; rel="me"\r\nLink: <EVE>; rel="alternate"; type="application/activity+json"',
    ],
)
async def test_a_page_may_name_its_document_in_a_header(stage: Stage, peer: ForeignServer, link: str) -> None:
    eve = peer.person("eve")
    page = peer.serve(peer.url("/@eve"), b"<html>", "text/html", Link=link.replace("EVE", eve["id"]))
    assert (await stage.http_context.federation.fetcher.fetch_resource(page))["id"] == eve["id"]


async def test_a_page_with_other_alternates_in_its_header_may_name_its_document_in_its_head(
    stage: Stage, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    feed = f'<{peer.url("/feed")}>; rel="alternate"; type="application/rss+xml"'
    head = f'<link rel="alternate" type="application/atom+xml" href="/x"><link type="{DOCUMENT}" rel="alternate" '
    page = peer.serve(peer.url("/@eve"), f"{head} href='{eve['id']}'>".encode(), "text/html", Link=feed)
    assert (await stage.http_context.federation.fetcher.fetch_resource(page))["id"] == eve["id"]


@pytest.mark.parametrize("path", ["/users/https%3A%2F%2Fa.test%2Factor", "/a%2fb", "/x?y=%26&z=%3D", "/~una", "/a;b=c"])
async def test_what_is_encoded_in_a_path_is_asked_for_as_it_is(stage: Stage, peer: ForeignServer, path: str) -> None:
    url = peer.serve(peer.url(path), {"id": peer.url(path)})
    assert (await stage.http_context.federation.fetcher.fetch(url))["id"] == url
    assert [one.path for one in peer.peer.asked] == [path]


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


@pytest.mark.parametrize("address", ["https://[x", "javascript:alert(1)", "", "https://x.example:99999/"])
async def test_a_page_that_names_no_address_is_no_document(stage: Stage, peer: ForeignServer, address: str) -> None:
    link = f'<{address or "#"}>; rel="alternate"; type="{DOCUMENT}"'
    page = peer.serve(peer.url("/x"), b"<html>", "text/html", Link=link)
    with pytest.raises(FetchFailed):
        await stage.http_context.federation.fetcher.fetch_resource(page)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/activity+json", "Application/Activity+JSON ; charset=UTF-8",
        'application/ld+json;profile="https://www.w3.org/ns/activitystreams"',
        "application/ld+json; profile=https://www.w3.org/ns/activitystreams; charset=utf-8",
        'APPLICATION/LD+JSON; charset=utf-8; Profile="https://w3id.org/x https://www.w3.org/ns/activitystreams"',
    ],
)  # fmt: skip
async def test_a_document_has_one_of_two_content_types(stage: Stage, peer: ForeignServer, content_type: str) -> None:
    url = peer.url("/x")
    assert (await stage.http_context.federation.fetcher.fetch(peer.serve(url, {"id": url}, content_type)))["id"] == url


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json", "application/ld+json", "text/plain; x=application/activity+json",
        'application/ld+json; profile="https://example.test/"',
        "application/octet-stream; profile=https://www.w3.org/ns/activitystreams",
        'application/ld+json; x="; profile=https://www.w3.org/ns/activitystreams"',
    ],
)  # fmt: skip
async def test_a_document_of_another_content_type_may_be_an_upload(
    stage: Stage, peer: ForeignServer, content_type: str
) -> None:
    url = peer.url("/x")
    with pytest.raises(UntrustedDocument) as raised:
        await stage.http_context.federation.fetcher.fetch(peer.serve(url, {"id": url}, content_type))
    assert type(raised.value) is UntrustedDocument


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"<html>", "text/html; charset=utf-8"), (b'{"id": ', DOCUMENT), (b"", DOCUMENT), (b"x" * 2_000_000, DOCUMENT)],
)
async def test_an_answer_that_is_no_document_is_told_from_one_that_proves_nothing(
    stage: Stage, peer: ForeignServer, body: bytes, content_type: str
) -> None:
    with pytest.raises(UnreadableDocument):
        await stage.http_context.federation.fetcher.fetch(peer.serve(peer.url("/x"), body, content_type))


@pytest.mark.parametrize("respond", BROKEN)
async def test_a_server_that_answers_with_no_http_may_do_so_another_time(
    stage: Stage, peer: ForeignServer, respond: Respond
) -> None:
    with pytest.raises(DocumentUnavailable):
        await stage.http_context.federation.fetcher.fetch(peer.respond_with(peer.url("/x"), respond))
