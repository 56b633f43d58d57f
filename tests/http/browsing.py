"""Public pages and feeds, as a browser without an account reads them."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

from ..clients import Reply, Stage


class Page(HTMLParser):
    """The elements of a page, each with its attributes, and its text."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(reply.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        return [one for name, one in self.elements if name == tag and wanted.items() <= one.items()]

    def link(self, rel: str, **wanted: str) -> str:
        (found,) = self.all("link", rel=rel, **wanted)
        return found["href"]

    def meta(self, name: str) -> str | None:
        found = [one["content"] for one in self.all("meta") if name in (one.get("name"), one.get("property"))]
        return found[0] if found else None

    @property
    def noindex(self) -> bool:
        return self.meta("robots") == "noindex"


async def page(stage: Stage, path: str, status: int = 200) -> Page:
    reply = await stage.anybody().get(path)
    assert reply.status == status, reply.text
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    return Page(reply)


async def feed(stage: Stage, path: str) -> ElementTree.Element:
    reply = await stage.anybody().get(path)
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/rss+xml; charset=utf-8")
    channel = ElementTree.fromstring(reply.text).find("channel")
    assert channel is not None
    return channel
