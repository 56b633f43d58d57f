"""Members of staff in front of their pages, and a server with something to see."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from troupe.http.endpoints import all_endpoints
from troupe.http.router import Endpoint
from troupe.storage import blocked_domains, dead_letters
from troupe.storage.blocked_domains import BlockedDomain
from troupe.storage.dead_letters import DeadLetter

from ...clients import Person, Stage
from ..settling import Browser, signed_in


async def member(stage: Stage, role: str, name: str | None = None) -> Browser:
    """Return a browser in which a new user with this role is signed in."""
    await stage.account(name or role, role=role)
    return await signed_in(stage, name or role)


def pages() -> list[Endpoint]:
    """Every endpoint of the pages for staff."""
    return [one for one in all_endpoints() if one.path == "/admin" or one.path.startswith("/admin/")]


@dataclass(frozen=True, slots=True)
class World:
    """A user who was reported by another one, and a blocked domain."""

    bob: Person
    eve: Person
    status: str
    report: str
    block: str
    letter: str


NOW = datetime(2026, 11, 1, tzinfo=UTC)


async def letter(stage: Stage, person: Person) -> str:
    """Park a message, as it would be after it crashed its actor twice."""
    id, address = stage.http_context.ids.next(), f"account/{person.id}"
    contents = {"of": "WriteNote", "text": "<script>alert(2)</script>"}
    parked = DeadLetter(
        id, address, "DismissAnnouncement", {"id": 1} | contents, "ValueError: no", "r-1", ("one",), NOW
    )
    await stage.http_context.database.transact(dead_letters.insert, parked)
    return str(id)


async def world(stage: Stage) -> World:
    bob, eve = await stage.person("bob"), await stage.person("eve")
    status = (await eve.publish("Buy <b>pills</b>"))["id"]
    form = {"account_id": eve.id, "status_ids": [status], "comment": "<script>alert(1)</script>", "category": "spam"}
    report = await bob.post("/api/v1/reports", json=form)
    assert report.status == 200, report.text
    block = BlockedDomain(
        stage.http_context.ids.next(), "bad.example", "silence", False, False, "Why", None, False, NOW
    )  # fmt: skip
    await stage.http_context.database.transact(blocked_domains.insert, block)
    return World(bob, eve, status, report.json["id"], str(block.id), await letter(stage, eve))


async def log(stage: Stage) -> list[tuple[str, str, str]]:
    """The audit log: who did what to what, the oldest first."""
    return [tuple(row) for row in await stage.rows("SELECT actor, action, target FROM audit_log ORDER BY id")]
