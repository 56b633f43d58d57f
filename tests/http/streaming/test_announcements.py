"""Announcements on the streams of all users."""

import json
from datetime import timedelta
from typing import Any

from troupe.actors.facts.announcements import ChangedAnnouncement
from troupe.storage import announcements

from ...clients import Person, Stage
from ..announcing import announce, promise, reaction
from .conftest import Edge

TOLD = "SELECT due_at FROM outbox WHERE kind = 'announcement' ORDER BY due_at"
DUE = "UPDATE outbox SET due_at = now() WHERE kind = 'announcement' AND due_at = $1"


async def test_every_user_stream_is_told(stage: Stage, edge: Edge, ada: Person, bob: Person) -> None:
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()
        id = await announce(stage, told=True)
        frame = await stream.hear()
        assert (frame["stream"], frame["event"]) == (["user"], "announcement")
        told = json.loads(frame["payload"])
        assert (told["id"], told["reactions"], "read" in told) == (id, [], False)
        await bob.put(reaction(id, "👍"))
        frame = await stream.hear()
        assert frame["event"] == "announcement.reaction"
        assert json.loads(frame["payload"]) == {"name": "👍", "count": 1, "announcement_id": id}
        await bob.delete(reaction(id, "👍"))
        assert json.loads((await stream.hear())["payload"])["count"] == 0
        await stage.http_context.database.transact(announcements.delete, int(id))
        await promise(stage, [ChangedAnnouncement(int(id)).promise()])
        assert await stream.hear() == {"stream": ["user"], "event": "announcement.delete", "payload": id}


async def test_an_announcement_is_told_when_its_time_comes_and_taken_back_when_it_ends(
    stage: Stage, edge: Edge, ada: Person
) -> None:
    now = stage.http_context.clock.now()
    begins, ends = now + timedelta(hours=1), now + timedelta(hours=2)
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()
        id = await announce(stage, told=True, published_at=begins, ends_at=ends)
        assert await stage.rows(TOLD) == [[begins], [ends]]
        await come(stage, "published_at", begins)
        assert (await stream.hear())["event"] == "announcement"
        await come(stage, "ends_at", ends)
        assert await stream.hear() == {"stream": ["user"], "event": "announcement.delete", "payload": id}


async def come(stage: Stage, column: str, time: Any) -> None:
    """Let a time come: it is moved to now."""
    await stage.sql(f"UPDATE announcements SET {column} = now()")
    await stage.sql(DUE, time)
    stage.outbox.wake()
