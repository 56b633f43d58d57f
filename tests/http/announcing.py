"""Announcements that tests make, and what their users do with them."""

from typing import Any
from urllib.parse import quote

from troupe.actors.facts.announcements import announcement_promises
from troupe.actors.kernel import NOWHERE
from troupe.actors.promises import Promise
from troupe.storage import announcements
from troupe.storage.announcements import Announcement

from ..clients import Stage

PATH = "/api/v1/announcements"


async def announce(stage: Stage, *, told: bool = False, **fields: Any) -> str:
    """Make an announcement, shown from now on. With `told` the server learns of it, as from the command."""
    context = stage.http_context
    now = context.clock.now()
    defaults: dict[str, Any] = {
        "text": "Hello :cat:", "content": "<p>Hello :cat:</p>", "mentions": (), "statuses": (), "tags": ("tea",),
        "starts_at": None, "ends_at": None, "all_day": False, "published_at": now, "updated_at": now,
    }  # fmt: skip
    made = Announcement(context.ids.next(), **defaults | fields)
    await context.database.transact(announcements.insert, made)
    if told:
        await promise(stage, announcement_promises(made, now))
    return str(made.id)


async def promise(stage: Stage, promises: list[Promise]) -> None:
    await stage.http_context.database.transact(lambda db: stage.outbox.promise(db, promises, NOWHERE))
    stage.outbox.wake()


def reaction(id: str, name: str) -> str:
    return f"{PATH}/{id}/reactions/{quote(name, safe='')}"
