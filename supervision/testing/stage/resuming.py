"""Clients of a cluster on streams of the API. After an interruption they resume on another node, as apps do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from html import unescape
from re import sub
from typing import Protocol, TypeVar

import orjson
import trio

from ....actors.kernel import NotAnswered
from ....http.streaming.session import NOW, StreamSession
from ....storage.engine.database import StorageError, lone_exception
from ....storage.engine.json_values import JsonObject, is_object
from ..faults import Fault
from ..run import Run
from .api import Dropped, SimulatedApi
from .stream import Stream

T = TypeVar("T")

PING_EVERY = 2.0  # seconds
SILENT_FOR = 3.0  # seconds without an answer to a ping after which a client connects to another node
AGAIN = 0.2  # seconds until a client connects again


class Streamer(Protocol):
    """A node with streams."""

    @property
    def name(self) -> str: ...

    @property
    def api(self) -> SimulatedApi: ...

    async def serve(self, work: Callable[[], Awaitable[T]]) -> T: ...


class SimulatedConnection:
    """A connection of a client to a node. It ends on the side of the client at once, and later on that of the node."""

    def __init__(self) -> None:
        self.life = trio.CancelScope()
        self.is_open = True

    def break_off(self) -> None:
        """Lose the connection, with all that was not read."""
        self.is_open = False
        self.life.cancel("the connection broke")


class ResumingStream(Stream):
    """A client on a stream of the API. It resumes from the id of the last event that it has received.

    Frames are received when the node sends them, so a frame that comes after an acknowledgement was sent after it. The
    client pings its node, and gives up a node that does not answer. If the server says that events are missing, it
    reads a page, and from then on it ignores statuses that it knows. Faults break connections.

    Each status is shown once, in the order of its author. A deletion or an edit may be shown again: that changes
    nothing for a client.
    """

    ignores_repeated = False  # it ignores statuses that it was shown before

    def __init__(
        self, run: Run, name: str, open_at: Callable[[SimulatedApi, str], Awaitable[StreamSession]],
        pick: Callable[[], Streamer], read: Callable[[], Awaitable[dict[int, str]]], nursery: trio.Nursery,
    ) -> None:  # fmt: skip
        super().__init__(run, name)
        self.nodes: list[str] = []  # of its connections, in order
        self.since = NOW  # the id of the last event
        self.gaps = 0
        self.timeline: dict[int, str] = {}  # the statuses that it displays, with their texts
        self.authors: dict[int, int] = {}  # of the statuses that it was shown
        self.events: list[tuple[str, int]] = []  # the kinds of events, and the ids of what they show, in order
        self._open_at = open_at
        self._pick = pick
        self._read = read
        self._nursery = nursery
        self._connection = SimulatedConnection()
        self._away = 0.0  # seconds until it connects again
        self._began = trio.Event()  # it has an id from which it can resume
        self._edited: set[int] = set()
        self._known: set[int] = set()  # before a gap, or from the page after it
        self._reloads = 0  # pages that are being read
        self._since_gap: set[int] = set()  # statuses of events that came while a page is read

    async def connect(self) -> None:
        self._nursery.start_soon(self._listen, name=f"{self.name} client")
        await self._began.wait()

    def hop(self, away: float = 0.0) -> None:
        """Lose the connection, and connect to any node after so many seconds."""
        self._away = away
        self._connection.break_off()

    async def _listen(self) -> None:
        while True:
            connection = self._connection = SimulatedConnection()
            with connection.life:
                await self._stay_connected(connection)
            connection.is_open = self.open = False
            self.cuts += 1
            away, self._away = self._away or AGAIN * self._run.random.random(), 0.0
            await trio.sleep(away)

    async def _stay_connected(self, connection: SimulatedConnection) -> None:
        try:
            node = self._pick()
            self.nodes.append(node.name)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._ping, node, connection, name=f"{self.name} ping")
                with lone_exception():
                    await node.serve(partial(self._receive_from, node.api, connection))
                nursery.cancel_scope.cancel()
        except* (NotAnswered, StorageError, Dropped) as errors:
            self._run.note(f"gets {type(errors.exceptions[0]).__name__}, connects again", self.name)

    async def _ping(self, node: Streamer, connection: SimulatedConnection) -> None:
        while True:
            await trio.sleep(PING_EVERY)
            with trio.move_on_after(SILENT_FOR), suppress(Dropped):
                await node.serve(trio.lowlevel.checkpoint)
                continue
            connection.break_off()

    async def _receive_from(self, api: SimulatedApi, connection: SimulatedConnection) -> None:
        """Send events to the client, in a task of the node: it sends nothing while it is frozen."""
        session = await self._open_at(api, self.since)
        try:
            while connection.is_open and (frames := await session.take()):
                for frame in map(orjson.loads, frames):
                    if not connection.is_open:  # the node does not know yet
                        return
                    if self._run.faults.strikes(Fault.DEAD, self.name):
                        connection.break_off()
                        return
                    self._receive(frame)
        finally:
            api.http_context.streams.remove(session)
            session.close()

    def _receive(self, frame: JsonObject) -> None:
        kind = frame["event"]
        payload = orjson.loads(frame.get("payload") or "0")
        id = int(payload.get("id", 0) if is_object(payload) else payload)
        self._run.note(f"is shown {kind} {id or ''}, and has {frame.get('id')}", self.name)
        self.since = frame.get("id", self.since)
        self.events.append((kind, id))
        match kind:
            case "update" if id in self._known or (self.ignores_repeated and id in self.pushed):
                pass
            case "update":
                self._since_gap.add(id)
                self._update(id, int(payload["account"]["id"]), text_of(payload))
            case "status.update":
                self._since_gap.add(id)
                self._edit(id, text_of(payload))
            case "delete":
                self._since_gap.add(id)
                self._delete(id)
            case "notification":
                self._notify(id)
            case "gap":
                self.gaps += 1
                self._reloads += 1
                self._nursery.start_soon(self._reload, name=f"{self.name} page")
            case _:
                pass
        self._began.set()
        self.open = not self._reloads

    def _update(self, id: int, author: int, text: str) -> None:
        if id in self._edited:
            self._wrong = f"is shown status {id} after its edit"
        super()._update(id, author, text)
        self.timeline[id] = text
        self.authors[id] = author

    def _edit(self, id: int, text: str) -> None:
        super()._edit(id, text)
        self._edited.add(id)
        if id in self.timeline:
            self.timeline[id] = text

    def _delete(self, id: int) -> None:
        self.gone.append(id)
        self.timeline.pop(id, None)

    async def _reload(self) -> None:
        """Display a page of the timeline, with the events that have come since the gap."""
        self._since_gap = set()
        page = await self._read()
        late, latest = self._since_gap, dict(self.said)  # an event is newer than the page, or says the same
        self.timeline = {
            **{id: latest[id] if id in late else text for id, text in page.items() if id not in self.gone},
            **{id: text for id, text in self.timeline.items() if id in late},
        }
        self.seen += [id for id in sorted(page) if id not in self.seen]
        self._known |= {*page, *self.pushed}
        self._reloads -= 1
        self.open = not self._reloads and self._connection.is_open


def text_of(status: JsonObject) -> str:
    """Return the text of a status as the API shows it, without its links."""
    return unescape(sub("<[^>]*>", "", status["content"]))
