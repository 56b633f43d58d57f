"""Deliveries of foreign servers: signed with the key that all actors of the tests have, or forged."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from troupe.actors.activitypub.signatures import SigningKey, sign
from troupe.actors.effects.received_activities import INBOX

from ..clients import Reply, Stage
from ..signing import private_key
from ..waiting import until_found

HOME = "https://home.test"
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
DOCUMENT = "application/activity+json"


async def deliver(
    stage: Stage,
    activity: dict[str, Any],
    *,
    signer: str | None = None,
    path: str = "/inbox",
    late: timedelta = timedelta(),
    scheme: Any = "cavage",
    body: bytes | None = None,
    headers: dict[str, str | None] | None = None,
) -> Reply:
    """Deliver an activity as its actor signs it, or as `signer` does.

    `body` is sent in place of the signed one, and `headers` in place of the signed ones; None leaves one out.
    """
    signed = json.dumps(activity).encode()
    key = SigningKey(f"{signer or activity['actor']}#main-key", private_key())
    sent: dict[str, str | None] = {"Host": HOME.partition("://")[2], "Content-Type": DOCUMENT}
    sent |= sign(key, "POST", f"{HOME}{path}", signed, datetime.now(UTC) - late, scheme)
    sent |= headers or {}
    given = {name: value for name, value in sent.items() if value is not None}
    return await stage.anybody().send("POST", path, headers=given, data=signed if body is None else body)


async def applied(stage: Stage) -> None:
    """Wait until everything that was delivered is applied, or waits for another try."""

    async def done() -> bool:
        query = "SELECT count(*) FROM outbox WHERE queue = $1 AND due_at <= now() AND error IS NULL"
        return (await stage.rows(query, INBOX.name))[0][0] == 0

    await until_found(done)


async def take(stage: Stage, activity: dict[str, Any], **how: Any) -> None:
    """Deliver an activity that is taken, and wait until it is applied."""
    reply = await deliver(stage, activity, **how)
    assert reply.status == 202, reply.text
    assert reply.body == b""
    await applied(stage)
