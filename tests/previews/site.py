"""A web site on loopback: pages by their paths, which misbehave on command, and what was asked of it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial

import trio

from ..outgoing.peer import Asked, Peer, Respond, always, answer, answered_by


@dataclass
class Site:
    """Answers by path; others get 404. A page can be held back until it is let go."""

    host: str
    peer: Peer
    answers: dict[str, Respond] = field(default_factory=dict[str, Respond])
    _held: dict[str, trio.Event] = field(default_factory=dict[str, trio.Event])

    def url(self, path: str, host: str | None = None) -> str:
        return f"http://{host or self.host}:{self.peer.port}{path}"

    def page(self, path: str, head: str, body: str = "", content_type: str = "text/html; charset=utf-8") -> str:
        """Have a page with this head, and return its address."""
        html = f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"
        return self.file(path, html.encode(), content_type)

    def file(self, path: str, data: bytes, content_type: str, status: int = 200, **headers: str) -> str:
        self.answers[path] = always(answer(status, data, Content_Type=content_type, **headers))
        return self.url(path)

    def asked(self, path: str) -> int:
        """How often a path was asked for."""
        return sum(one.path == path for one in self.peer.asked)

    async def was_asked(self, path: str, times: int = 1) -> None:
        """Wait until a path was asked for so many times."""
        await self.peer.until(lambda: self.asked(path) >= times)

    def hold(self, path: str) -> trio.Event:
        """Have a path answered only when the event is set."""
        return self._held.setdefault(path, trio.Event())

    async def respond(self, stream: trio.abc.Stream, asked: Asked) -> None:
        if (held := self._held.get(asked.path)) is not None:
            await held.wait()
        respond = self.answers.get(asked.path) or always(answer(404, b"nothing here", Content_Type="text/html"))
        await respond(stream, asked)


def site(host: str = "site.test") -> AbstractAsyncContextManager[Site]:
    return answered_by(partial(Site, host))
