"""Members of staff in front of their pages, and a server with something to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import trio

from troupe.http.router import Endpoint, all_endpoints
from troupe.http.web import old_addresses
from troupe.storage import dead_letters, server_blocks
from troupe.storage.blocked_domains import AllowedDomain, BlockedDomain
from troupe.storage.blocked_emails import BlockedEmail, BlockedEmailDomain
from troupe.storage.blocked_networks import BlockedNetwork
from troupe.storage.dead_letters import DeadLetter
from troupe.storage.operator_texts import Rule, RuleText, write_rules

from ...clients import Person, Stage
from ..settling import Browser, signed_in


async def member(stage: Stage, role: str, name: str | None = None) -> Browser:
    """Return a browser in which a new user with this role is signed in."""
    await stage.account(name or role, role=role)
    return await signed_in(stage, name or role)


def pages() -> list[Endpoint]:
    """Every endpoint of the pages for staff."""
    return [
        one
        for one in all_endpoints()
        if one.path == "/admin" or one.path.startswith("/admin/")
        if one.function.__module__ != old_addresses.__name__  # which leads to one of them
    ]


@dataclass(frozen=True, slots=True)
class World:
    """A user who was reported by another one, and one of each thing that has a page. `ids` are by their paths."""

    bob: Person
    eve: Person
    status: str
    report: str
    ids: Mapping[str, str]


HOSTILE = "<script>alert(3)</script>"
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
    report = await bob.done("POST", "/api/v1/reports", json=form)
    rule = Rule(1, RuleText(HOSTILE, HOSTILE), {"de": RuleText(HOSTILE)})
    await trio.to_thread.run_sync(write_rules, stage.http_context.settings.data / "texts", [rule])
    ids = {"/admin/rules": "1", "/admin/reports": report["id"], "/admin/dead_letters": await letter(stage, eve)}
    return World(bob, eve, status, report["id"], ids | await blocks(stage) | await hashtag(stage, eve))


async def blocks(stage: Stage) -> dict[str, str]:
    """Store a block of each kind. Return their ids by the paths of their pages."""
    next_id, transact = stage.http_context.ids.next, stage.http_context.database.transact
    domain = BlockedDomain(next_id(), "bad.example", "silence", False, False, HOSTILE, None, False, NOW)
    network = BlockedNetwork(next_id(), "192.0.2.0/24", "no_access", HOSTILE, NOW, None)
    email_domain = BlockedEmailDomain(next_id(), "throwaway.example", False, NOW)
    email = BlockedEmail(next_id(), b"x" * 32, NOW)
    allowed = AllowedDomain(next_id(), "good.example", NOW)
    for block in (domain, network, email_domain, email, allowed):
        await transact(server_blocks.insert, block)
    return {
        "/admin/domains": str(domain.id), "/admin/networks": str(network.id),
        "/admin/email_domains": str(email_domain.id), "/admin/emails": str(email.id),
        "/admin/allowed_domains": str(allowed.id),
    }  # fmt: skip


async def hashtag(stage: Stage, person: Person) -> dict[str, str]:
    await person.publish("#tea")
    return {"/admin/tags": str((await stage.rows("SELECT id FROM tags"))[0][0])}


async def log(stage: Stage) -> list[tuple[str, str, str]]:
    """The audit log: who did what to what, the oldest first."""
    return [tuple(row) for row in await stage.rows("SELECT actor, action, target FROM audit_log ORDER BY id")]
