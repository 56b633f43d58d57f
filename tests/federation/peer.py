"""A server of another software, on loopback: it serves what it is given, by host and path, and misbehaves on command.

All its hosts are one listener, in plain http: `test_hosts` allows that for names that a test gives.
"""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

import trio

from troupe.actors.activitypub.keys import public_pem

from ..outgoing.peer import Asked, Peer, Respond, always, answer, answered_by
from ..signing import private_key

DOCUMENT = "application/activity+json"
CONTEXT = ["https://www.w3.org/ns/activitystreams", "https://w3id.org/security/v1"]
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"


@dataclass
class ForeignServer:
    """Answers by host and path; other paths get 404. A path can be held back until it is let go."""

    peer: Peer
    name: str = "peer.test"
    answers: dict[tuple[str, str], Respond] = field(default_factory=dict[tuple[str, str], Respond])
    _held: dict[tuple[str, str], trio.Event] = field(default_factory=dict[tuple[str, str], trio.Event])

    @property
    def domain(self) -> str:
        return self.domain_of(self.name)

    def domain_of(self, name: str) -> str:
        """Return one of the hosts as handles have it, with the port."""
        return f"{name}:{self.peer.port}"

    def url(self, path: str, host: str | None = None) -> str:
        return f"http://{self.domain_of(host or self.name)}{path}"

    # What it serves -------------------------------------------------------------------------------------------------

    def serve(self, url: str, document: object, content_type: str = DOCUMENT, status: int = 200, **headers: str) -> str:
        """Have an address answer with a document, or with bytes, and return the address."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        return self.respond_with(url, always(answer(status, body, Content_Type=content_type, **headers)))

    def respond_with(self, url: str, respond: Respond) -> str:
        """Have an address answer byte by byte, and return the address."""
        self.answers[_place(url)] = respond
        return url

    def redirect(self, url: str, to: str) -> str:
        return self.serve(url, b"", status=302, Location=to)

    def fail(self, url: str, status: int) -> str:
        return self.serve(url, b"", "text/html", status)

    def person(self, username: str, host: str | None = None, **changes: Any) -> dict[str, Any]:
        """Serve an actor with its collections and its handle, and return its document. A change to None leaves out."""
        uri = self.url(f"/users/{username}", host)
        document = {
            "@context": CONTEXT, "id": uri, "type": "Person", "preferredUsername": username,
            "name": username.capitalize(), "summary": f"<p>{username} writes</p>",
            "url": self.url(f"/@{username}", host),
            "inbox": f"{uri}/inbox", "outbox": f"{uri}/outbox", "followers": f"{uri}/followers",
            "following": f"{uri}/following", "featured": f"{uri}/featured",
            "endpoints": {"sharedInbox": self.url("/inbox", host)}, "published": "2024-02-03T04:05:06Z",
            "publicKey": {"id": f"{uri}#main-key", "owner": uri, "publicKeyPem": public_pem(private_key())},
        } | changes  # fmt: skip
        document = {key: value for key, value in document.items() if value is not None}
        self.serve(uri, document)
        for number, part in enumerate(("outbox", "followers", "following"), 1):
            self.collection(f"{uri}/{part}", total=number)
        self.handle(username, host, uri)
        return document

    def collection(self, url: str, items: list[object] | None = None, total: int | None = None, **more: Any) -> str:
        document: dict[str, Any] = {"@context": CONTEXT, "id": url, "type": "OrderedCollection", **more}
        if items is not None:
            document["orderedItems"] = items
        return self.serve(url, document | ({} if total is None else {"totalItems": total}))

    def note(self, author: dict[str, Any], path: str, content: str = "<p>hello</p>", **changes: Any) -> dict[str, Any]:
        """Serve a public note on its author's host, and return its document."""
        parts = urlsplit(str(author["id"]))
        uri = f"{parts.scheme}://{parts.netloc}{path}"
        document = {
            "@context": CONTEXT, "id": uri, "type": "Note", "attributedTo": author["id"], "to": [PUBLIC],
            "cc": [author["followers"]], "published": "2024-03-04T05:06:07Z", "content": content, "url": uri,
        } | changes  # fmt: skip
        document = {key: value for key, value in document.items() if value is not None}
        self.serve(uri, document)
        return document

    def handle(
        self, username: str, host: str | None, uri: str | None, subject: str | None = None, **changes: Any
    ) -> None:
        """Answer to WebFinger for a handle: with the actor, if it has a URI, and about another handle if `subject`."""
        asked = f"{username}@{self.domain_of(host or self.name)}"
        links = [] if uri is None else [{"rel": "self", "type": DOCUMENT, "href": uri}]
        document = {"subject": f"acct:{subject or asked}", "links": links} | changes
        self.serve(self.webfinger_url(asked, host), document, "application/jrd+json")

    def webfinger_url(self, handle: str, host: str | None = None) -> str:
        return self.url(f"/.well-known/webfinger?resource={quote(f'acct:{handle}', safe='')}", host)

    # What it was asked ----------------------------------------------------------------------------------------------

    def asked(self, url: str) -> list[Asked]:
        """Return the requests for an address."""
        return [one for one in self.peer.asked if _place_of(one) == _place(url)]

    async def was_asked(self, url: str, times: int = 1) -> None:
        """Wait until an address was asked for so many times."""
        await self.peer.until(lambda: len(self.asked(url)) >= times)

    def hold(self, url: str) -> trio.Event:
        """Have an address answered only when the event is set."""
        return self._held.setdefault(_place(url), trio.Event())

    async def respond(self, stream: trio.abc.Stream, asked: Asked) -> None:
        place = _place_of(asked)
        if (held := self._held.get(place)) is not None:
            await held.wait()
        respond = self.answers.get(place) or always(answer(404, b"nothing here", Content_Type="text/html"))
        await respond(stream, asked)


def _place(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.netloc, f"{parts.path}?{parts.query}" if parts.query else parts.path


def _place_of(asked: Asked) -> tuple[str, str]:
    return asked.headers.get("host", ""), asked.path


def foreign_server(name: str = "peer.test") -> AbstractAsyncContextManager[ForeignServer]:
    return answered_by(partial(ForeignServer, name=name))


# Answers that are none ----------------------------------------------------------------------------------------------


async def no_answer(stream: trio.abc.Stream, asked: Asked) -> None:
    await stream.aclose()


async def half_an_answer(stream: trio.abc.Stream, asked: Asked) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/activity+json\r\nContent-Length: 99\r\n\r\n{")
    await stream.aclose()


async def no_http(stream: trio.abc.Stream, asked: Asked) -> None:
    await stream.send_all(b"SSH-2.0-OpenSSH_9.6\r\n")
    await stream.aclose()


async def no_gzip(stream: trio.abc.Stream, asked: Asked) -> None:
    await stream.send_all(answer(200, b'{"id":1}', Content_Type=DOCUMENT, Content_Encoding="gzip"))


BROKEN = (no_answer, half_an_answer, no_http, no_gzip)
