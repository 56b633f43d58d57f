"""A device gets every notification that it asked for, also after crashes, and none after its app unsubscribed."""

from __future__ import annotations

from functools import partial
from typing import Any

import trio

from troupe.supervision.testing import simulation
from troupe.supervision.testing.run import Eventually
from troupe.supervision.testing.stage import Person, Simulation, stage
from troupe.supervision.testing.stage.people import token_of

with_push = partial(stage, push=True)

PATH = "/api/v1/push/subscription"
KEYS = {
    "p256dh": "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}

MENTIONS = "SELECT id, status_id FROM notifications WHERE account_id = $1 AND type = 'mention' ORDER BY id"


class Device:
    """An app of a person, with a token of its own. It asks again until it knows that it was heard."""

    def __init__(self, sim: Simulation, owner: Person, name: str) -> None:
        self.sim = sim
        self.user = Person(sim, owner.id, f"{owner.name}'s {name}")
        self.endpoint = f"https://push.example/{name}"

    async def subscribe(self) -> int:
        """Subscribe, and return the id of the subscription."""
        subscription = {"endpoint": self.endpoint, "keys": KEYS, "standard": True}
        made = await self._send("POST", {"subscription": subscription, "data": {"alerts": {"mention": True}}})
        return int(made["id"])

    async def unsubscribe(self) -> None:
        await self._send("DELETE", {})

    async def _send(self, method: str, fields: dict[str, Any]) -> Any:
        while True:
            reply = await self.sim.api.send(method, PATH, token_of(self.user), fields)
            if reply.status != 503:
                assert reply.status == 200, reply.json
                return reply.json
            await trio.sleep(1)


async def all_sent(sim: Simulation) -> None:
    """Wait until every message was sent: a claim of a process that died lasts half a minute."""

    def nothing_waits() -> bool:
        return not sim.database.rows("SELECT FROM outbox WHERE kind = 'push'")

    await Eventually(nothing_waits, "every message is sent", within=300).wait_until_true()
    await sim.calm()


def told(sim: Simulation, subscription: int) -> list[int]:
    """The notifications that a device was told of, in the order in which it first heard of each."""
    heard = (one.message["notification_id"] for one in sim.pushed if one.subscription_id == subscription)
    return list(dict.fromkeys(heard))


@simulation(seeds=16, at_most=60, faults=3, pinned=[(19, "pct")], world=with_push)
async def test_a_device_that_stays_hears_of_everything_and_one_that_left_of_nothing_more(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    phone, tablet = Device(sim, ada, "phone"), Device(sim, ada, "tablet")
    sim.sign_in([phone.user, tablet.user])
    on_phone, on_tablet = await phone.subscribe(), await tablet.subscribe()
    after: list[int] = []  # statuses that were begun when the phone knew that it had left

    async def post() -> None:
        for _ in range(3):
            left = gone.is_set()
            status = await bob.publish("@ada")
            if left:
                after.append(status)

    async def leave() -> None:
        await phone.unsubscribe()
        gone.set()

    gone = trio.Event()
    async with sim.together() as go:
        go(post, name="bob")
        go(leave, name="phone")
    after.append(await bob.publish("@ada"))
    await all_sent(sim)

    mentions = {row["id"]: row["status_id"] for row in sim.database.rows(MENTIONS, ada.id)}
    assert told(sim, on_tablet) == [*mentions], "all, and in order"
    assert not {mentions[id] for id in told(sim, on_phone)} & set(after)
    topics = {(one.topic, one.message["notification_id"]) for one in sim.pushed}
    assert len(topics) == len({topic for topic, _ in topics}) == len(mentions), "what is sent twice has one topic"
    sim.sometimes(len(sim.pushed) > len(set(map(str, sim.pushed))), "a message came twice")
    sim.sometimes(bool(told(sim, on_phone)), "the phone heard of some")
    sim.sometimes(len(told(sim, on_phone)) < len(mentions) - len(after), "it missed one that was under way")
    sim.sometimes(sim.logged("outbox.retry", effect="push") > 0, "the push service was away")


@simulation(seeds=14, at_most=40, faults=3, world=with_push)
async def test_a_device_that_subscribes_again_is_one_device(sim: Simulation) -> None:
    """Two requests of one token, as apps send them that ask again too soon."""
    ada, bob = await sim.people("ada", "bob")
    phone = Device(sim, ada, "phone")
    sim.sign_in([phone.user])
    async with sim.together() as go:
        go(phone.subscribe, name="phone")
        go(phone.subscribe, name="phone again")
        go(bob.publish, "@ada", name="bob")
    before = len(sim.pushed)
    await all_sent(sim)
    ((newest, count),) = [row.values() for row in sim.database.rows("SELECT max(id), count(*) FROM push_subscriptions")]
    assert count == 1
    status = await bob.publish("@ada once more")
    await all_sent(sim)
    mentions = {row["status_id"]: row["id"] for row in sim.database.rows(MENTIONS, ada.id)}
    latest = [one for one in sim.pushed if one.message["notification_id"] == mentions[status]]
    assert {one.subscription_id for one in latest} == {newest}
    sim.sometimes(before > 0, "the first message was sent at once")


# The pinned run shows what is rare: a process that dies between sending and knowing.
@simulation(seeds=14, at_most=30, pinned=[(1, "random")], faults=2, world=with_push)
async def test_what_was_promised_is_sent_by_the_process_that_comes_after(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    phone = Device(sim, ada, "phone")
    sim.sign_in([phone.user])
    subscription = await phone.subscribe()

    async def die() -> None:
        await sim.kill()
        await sim.start()

    async with sim.together() as go:
        go(bob.publish, "@ada", name="bob")
        go(die, name="machine")
    await all_sent(sim)
    mentions = [row["id"] for row in sim.database.rows(MENTIONS, ada.id)]
    assert len(mentions) == 1
    assert told(sim, subscription) == mentions
    sim.sometimes(len(sim.pushed) > 1, "it died between sending and knowing")
