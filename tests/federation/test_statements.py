"""Which statements PostgreSQL gets for what comes from other servers, and for what goes to them."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import pytest
import trio
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from troupe.actors.activitypub.keys import SigningKeys
from troupe.actors.deliveries.followers import FollowerDigests
from troupe.actors.deliveries.hosts import KnownHosts
from troupe.actors.deliveries.sender import DeliveryContext, DeliveryReply, DeliverySender
from troupe.actors.effects.deliveries import DELIVERIES, DeliverActivity
from troupe.actors.effects.registry import QueueWithContext
from troupe.actors.media import queue
from troupe.actors.media.cleaning import Cleaning
from troupe.actors.outbox.outbox import new_effect
from troupe.actors.outbox.relay import Relay
from troupe.actors.promises import Promise
from troupe.storage import outbox, statuses, stream_log
from troupe.storage.engine.database import Connection
from troupe.storage.engine.shards import begin_in, shard_of
from troupe.storage.federation import (
    activities,
    actor_keys,
    received_activities,
    remote_accounts,
    remote_statuses,
    tombstones,
)
from troupe.storage.federation.activities import NewActivity

from ..clients import Person, Stage
from ..counting import note_statements
from ..kept_connections import Loan
from ..signing import a_key
from ..waiting import until_none
from .delivering import act, create, note, take
from .peer import ForeignServer

HOSTS = 20
LEFT = "SELECT FROM activities"
# What relays do from time to time, for all that they find, and how the tests wait for it.
OF_RELAYS = (outbox.DUE, outbox.CLAIM, outbox.RELEASE, stream_log.LOG_PUBLISHED)
TAKE_UP = [actor_keys.FIND, received_activities.TAKE_UP.text]


@pytest.fixture(autouse=True)
def asked(loan: Loan, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements of every connection that is opened from now on."""

    async def rest(self: Cleaning) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(Cleaning, "run", rest)
    monkeypatch.setattr(queue, "LOOK_AGAIN", inf)
    return note_statements(monkeypatch, lambda query: query not in OF_RELAYS and "count(*) FROM outbox" not in query)


async def test_a_request_to_the_inbox(stage: Stage, peer: ForeignServer, asked: list[str]) -> None:
    eve = peer.person("eve")
    await take(stage, act(eve, "Listen", "https://peer.test/1"))
    asked.clear()
    await take(stage, act(eve, "Listen", "https://peer.test/2"))
    assert asked == [*TAKE_UP, outbox.DELETE_CLAIMED]


async def test_a_received_post(stage: Stage, ada: Person, peer: ForeignServer, asked: list[str]) -> None:
    eve = peer.person("eve")
    tag = {"type": "Mention", "href": "https://home.test/users/ada", "name": "@ada@home.test"}
    await take(stage, create(eve, note(eve, cc=[tag["href"]], tag=[tag])))
    await stage.sql(
        "INSERT INTO follows (id, account_id, target_account_id, created_at)"
        " SELECT 1, $1, id, now() FROM accounts WHERE username = 'eve'", int(ada.id),
    )  # fmt: skip
    await take(stage, create(eve, note(eve, number=2)))
    ((author,),) = await stage.rows("SELECT id FROM accounts WHERE username = 'eve'")
    begin = begin_in((shard_of(author), 0))
    asked.clear()
    await take(stage, create(eve, note(eve, number=3)))
    assert asked == [
        *TAKE_UP,
        remote_accounts.FIND,
        *(begin, tombstones.LOCK, remote_statuses.ARRIVING, statuses.INSERT.text, outbox.INSERT_MANY.text, "COMMIT"),
        outbox.DELETE_CLAIMED,
    ]


async def test_a_post_for_followers_elsewhere(
    stage: Stage, ada: Person, peer: ForeignServer, asked: list[str]
) -> None:  # fmt: skip
    """Their inboxes are read, then one statement stores the post with its key and all promises."""
    eve = peer.person("eve")
    await take(stage, act(eve, "Follow", "https://home.test/users/ada"))
    await ada.publish("hello")
    await until_none(lambda: stage.rows("SELECT FROM outbox"))
    asked.clear()
    await ada.publish("hello again", headers={"Idempotency-Key": "again"})
    assert asked[:2] == [activities.OF_FOLLOWERS, statuses.INSERT_ALONE.text]
    assert not {"BEGIN", outbox.INSERT_MANY.text} & {*asked}


async def test_deliveries(stage: Stage, asked: list[str]) -> None:
    """Of one activity to many servers that are known."""
    context, sent, made = stage.http_context, list[str](), list[RSAPrivateKey]()

    async def make_key() -> RSAPrivateKey:
        made.append(await a_key())
        await trio.lowlevel.checkpoint()
        return made[0]

    async def post(inbox: str, headers: Any, body: bytes) -> DeliveryReply:
        sent.append(inbox)
        return DeliveryReply(202)

    async def on_gone(inbox: str, domain: str) -> None: ...

    names = context.federation.names
    shared = DeliveryContext(
        context.database, context.clock, SigningKeys(context.database, names, make_key),
        FollowerDigests(context.database, names), context.blocks,
        KnownHosts(context.database, context.clock, context.record, lambda: 0.5, lambda: None), lambda: 0.5, 1, on_gone,
    )  # fmt: skip
    sender = DeliverySender(shared, post)
    for times in (1, 2):
        await context.database.transact(partial(_promise, stage))
        asked.clear()
        relay = Relay(
            QueueWithContext(DELIVERIES, sender), context.database, context.clock, context.ids, context.record
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(relay.run, trio.Event())
            while relay.done < HOSTS:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        assert len(sent) == times * HOSTS
        assert await stage.rows(LEFT) == []
    assert set(asked) - {LEFT} == {activities.FIND, activities.DELETE_DELIVERIES}
    assert asked.count(activities.FIND) == 1
    assert len(made) == 1, "the first deliveries share the key that one of them makes"
    assert asked.count(activities.DELETE_DELIVERIES) <= 3


async def _promise(stage: Stage, db: Connection) -> None:
    context = stage.http_context
    id = context.ids.next()
    new = [
        new_effect(context.ids.next(), Promise(DeliverActivity(id, f"https://h{number}.test/inbox", f"h{number}.test")))
        for number in range(HOSTS)
    ]
    await activities.insert(db, NewActivity(id, None, '{"type": "Like", "actor": ""}', HOSTS), context.clock.now())
    await outbox.insert_many(db, new, context.clock.now())
