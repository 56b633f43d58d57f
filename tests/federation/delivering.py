"""Deliveries of foreign servers: signed with the key that all actors of the tests have, or forged."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from troupe.actors.activitypub.requests import digest_of
from troupe.actors.activitypub.signatures import SigningKey, sign
from troupe.actors.effects.received_activities import INBOX
from troupe.storage.engine.json_values import is_object

from ..clients import Reply, Stage
from ..signing import private_key
from ..waiting import until_found

HOME = "https://home.test"
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
DOCUMENT = "application/activity+json"


async def deliver(
    stage: Stage,
    activity: object,
    *,
    signer: str | None = None,
    key_id: str | None = None,
    key: RSAPrivateKey | None = None,
    path: str = "/inbox",
    signed_path: str | None = None,
    method: str = "POST",
    at: datetime | None = None,
    late: timedelta = timedelta(),
    scheme: Any = "cavage",
    body: bytes | None = None,
    headers: dict[str, str | None] | None = None,
) -> Reply:
    """Deliver an activity as its actor signs it, or as `signer` or the key `key_id` does.

    `body` is sent in place of the signed one, and `headers` in place of the signed ones; None leaves one out.
    """
    signed = activity if isinstance(activity, bytes) else json.dumps(activity).encode()
    actor = signer or (activity["actor"] if is_object(activity) else "")
    by = SigningKey(key_id or f"{actor}#main-key", key or private_key())
    sent: dict[str, str | None] = {"Host": HOME.partition("://")[2], "Content-Type": DOCUMENT}
    sent |= sign(by, method, f"{HOME}{signed_path or path}", signed, (at or datetime.now(UTC)) - late, scheme)
    return await _send(stage, path, sent | (headers or {}), signed if body is None else body)


async def deliver_signed_in_part(stage: Stage, activity: dict[str, Any], parts: Sequence[str], **changes: str) -> Reply:
    """Deliver an activity whose signature covers these headers alone."""
    body = json.dumps(activity).encode()
    headers = {
        "host": HOME.partition("://")[2],
        "date": format_datetime(datetime.now(UTC), usegmt=True),
        "digest": f"SHA-256={digest_of(body)}",
        "content-type": DOCUMENT,
    } | changes
    values = headers | {"(request-target)": "post /inbox"}
    base = "\n".join(f"{name}: {values[name]}" for name in parts).encode()
    signature = base64.b64encode(private_key().sign(base, PKCS1v15(), SHA256())).decode()
    headers["signature"] = (
        f'keyId="{activity["actor"]}#main-key",algorithm="rsa-sha256",headers="{" ".join(parts)}",'
        f'signature="{signature}"'
    )
    return await _send(stage, "/inbox", headers, body)


async def _send(stage: Stage, path: str, headers: dict[str, Any], body: bytes) -> Reply:
    given = {name: value for name, value in headers.items() if value is not None}
    return await stage.anybody().send("POST", path, headers=given, data=body)


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


# Activities of foreign actors -----------------------------------------------------------------------------------------


def follow(eve: dict[str, Any], who: str, number: int = 1) -> dict[str, Any]:
    target = f"{HOME}/users/{who}"
    return {"id": f"{eve['id']}#follows/{number}", "type": "Follow", "actor": eve["id"], "object": target}


def act(eve: dict[str, Any], type: str, named: object, number: object = 1, **more: Any) -> dict[str, Any]:
    return {"id": f"{eve['id']}#{type}/{number}", "type": type, "actor": eve["id"], "object": named, **more}


def note(eve: dict[str, Any], number: int = 1, **changes: Any) -> dict[str, Any]:
    """A public note of this moment. A change to None leaves out."""
    document = {
        "id": f"{eve['id']}/statuses/{number}", "type": "Note", "attributedTo": eve["id"], "to": [PUBLIC],
        "cc": [eve["followers"]], "published": datetime.now(UTC).isoformat(), "content": f"<p>hello {number}</p>",
    } | changes  # fmt: skip
    return {key: value for key, value in document.items() if value is not None}


def create(eve: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"{document.get('id')}/activity", "type": "Create", "actor": eve["id"], "object": document}


def vote(eve: dict[str, Any], poll: str, option: str, number: int = 1, **changes: Any) -> dict[str, Any]:
    document = {
        "id": f"{eve['id']}#votes/{number}", "type": "Note", "attributedTo": eve["id"], "name": option,
        "to": [f"{HOME}/users/ada"], "inReplyTo": poll,
    } | changes  # fmt: skip
    return {"id": f"{document['id']}/activity", "type": "Create", "actor": eve["id"], "object": document}
