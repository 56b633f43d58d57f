"""Fifty other servers that send signed activities, and the rows by which the server knows them and their keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import count

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from troupe.actors.activitypub.keys import public_pem
from troupe.actors.activitypub.signatures import SigningKey, sign
from troupe.storage.engine.database import EngineConnection

from .fill import Cast

SENDERS = 50  # each on a server of its own
FIRST = 10_000  # the id of the first sender
NUMBERS = count(1)

FILL = """
    INSERT INTO accounts (
        id, username, domain, uri, inbox_url, followers_url, public_key, created_at, updated_at,
        fetched_at
    )
    SELECT {first} + n, 'sender', 's' || n || '.test', uri, uri || '/inbox', uri || '/followers', $1, now(), now(),
        now()
    FROM generate_series(0, {senders} - 1) n, LATERAL (SELECT 'http://s' || n || '.test/users/sender') AS one (uri);
"""
KEYS = """
    INSERT INTO actor_keys (key_id, actor_uri, public_key, fetched_at)
    SELECT uri || '#main-key', uri, public_key, now() FROM accounts WHERE id >= {first} AND id < {first} + {senders};
    INSERT INTO account_counts (account_id, followers)
    SELECT {first} + n, {followed} FROM generate_series(0, {senders} - 1) n;
    INSERT INTO follows (id, account_id, target_account_id, created_at)
    SELECT -100000 - row_number() OVER (), a.id, {first} + n, now()
    FROM accounts a, generate_series(0, {senders} - 1) n
    WHERE a.domain IS NULL AND a.username = ANY (ARRAY[{names}]);
"""


@cache
def _key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


async def fill_senders(db: EngineConnection) -> None:
    """Store the senders with their keys and their followers here."""
    names = ", ".join(f"'person{number}'" for number in Cast.FOLLOWERS)
    await db.execute(FILL.format(first=FIRST, senders=SENDERS), public_pem(_key()))
    await db.execute(KEYS.format(first=FIRST, senders=SENDERS, followed=len(Cast.FOLLOWERS), names=names))


def creates(port: int, number: int) -> Iterator[bytes]:
    """Yield requests that deliver a post each, of one sender after the other."""
    for one in range(number):
        actor, now = f"http://s{one % SENDERS}.test/users/sender", datetime.now(UTC).isoformat()
        id = f"{actor}/statuses/{next(NUMBERS)}"
        to = {"to": ["https://www.w3.org/ns/activitystreams#Public"], "cc": [f"{actor}/followers"]}
        text = "<p>What one person of another server has to say in a day, in so many words</p>"
        note = {"id": id, "type": "Note", "attributedTo": actor, "content": text, "published": now, **to}
        yield _request(port, actor, {"id": f"{id}/activity", "type": "Create", "actor": actor, "object": note, **to})


def ignored(port: int, number: int) -> Iterator[bytes]:
    """Yield requests that deliver an activity each which does nothing here."""
    for one in range(number):
        actor = f"http://s{one % SENDERS}.test/users/sender"
        yield _request(
            port, actor, {"id": f"{actor}#{next(NUMBERS)}", "type": "Listen", "actor": actor, "object": actor}
        )


def _request(port: int, actor: str, activity: dict[str, object]) -> bytes:
    body = json.dumps({"@context": "https://www.w3.org/ns/activitystreams", **activity}).encode()
    signed = sign(
        SigningKey(f"{actor}#main-key", _key()), "POST", f"http://localhost:{port}/inbox", body, datetime.now(UTC)
    )
    headers = {
        "Host": f"localhost:{port}", "Content-Type": "application/activity+json", "Content-Length": f"{len(body)}",
    } | signed  # fmt: skip
    lines = ["POST /inbox HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body
