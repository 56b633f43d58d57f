"""Web Push, from what somebody does to what a device reads; the push service is one of the tests' own."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from troupe.actors.effects.push import PUSH, SendPush
from troupe.actors.outbox.outbox import new_effect
from troupe.actors.promises import Promise
from troupe.storage import outbox

from ..checklist.rows import rows
from ..clients import Client, Person, Stage
from ..push.service import RESET, PushService, push_service, refusal
from ..waiting import until_found, until_none
from .separating import SeparableOthers

PATH = "/api/v1/push/subscription"


@pytest.fixture
def options() -> dict[str, Any]:
    return {"rate_limits": False, "test_hosts": ("push.test", "slow.test"), "contact_email": "ops@t.example"}


@pytest.fixture
def other_nodes() -> SeparableOthers:
    return SeparableOthers()


@pytest.fixture
async def service() -> AsyncIterator[PushService]:
    async with push_service() as one:
        yield one


async def subscribe(client: Client, service: PushService, path: str, *alerts: str, **how: Any) -> Any:
    service.add(path, standard=how.pop("standard", True))
    return await client.done("POST", PATH, json=service.wishes(path, *alerts, **how))


async def subscribed(client: Client) -> bool:
    return (await client.get(PATH)).status == 200


async def tried(stage: Stage, count: int = 1) -> list[list[Any]]:
    """Wait for pushes that wait for another try: the tries, why the last one failed, and seconds until the next."""
    query = """
        SELECT attempts, error, extract(epoch FROM due_at - now())::integer FROM outbox
        WHERE kind = 'push' AND error IS NOT NULL
    """

    async def enough() -> list[list[Any]]:
        waiting = await stage.rows(query)
        return waiting if len(waiting) >= count else []

    return await until_found(enough)


async def all_sent(stage: Stage) -> None:
    await until_none(lambda: stage.rows("SELECT FROM outbox WHERE kind = 'push'"))


# What a device gets


@rows("S242")
@pytest.mark.parametrize("standard", [True, False])
async def test_a_mention_is_sent_to_the_device(
    stage: Stage, ada: Person, bob: Person, service: PushService, standard: bool
) -> None:
    made = await subscribe(ada, service, "/ada", "mention", standard=standard)
    status = await bob.publish("@ada tea?")
    (message,) = await service.messages("/ada")
    (notification,) = (await ada.get("/api/v1/notifications")).json
    assert message == {
        "access_token": ada.token, "preferred_locale": "en", "notification_id": int(notification["id"]),
        "notification_type": "mention", "icon": status["account"]["avatar_static"], "title": "Bob mentioned you",
        "body": "@ada tea?",
    }  # fmt: skip
    (asked,) = await service.received()
    assert asked.method == "POST"
    sent = {name: asked.headers[name] for name in ("ttl", "urgency", "topic", "content-type", "content-encoding")}
    assert sent == {
        "ttl": "172800", "urgency": "normal", "topic": f"n{notification['id']}",
        "content-type": "application/octet-stream", "content-encoding": "aes128gcm" if standard else "aesgcm",
    }  # fmt: skip
    claims = service.devices["/ada"].claims(asked.headers, made["server_key"])
    assert (claims["aud"], claims["sub"]) == (service.origin, "mailto:ops@t.example")
    assert 12 * 3600 < claims["exp"] - time.time() < 24 * 3600


async def boost(person: Person, status: Any) -> None:
    assert (await person.post(f"/api/v1/statuses/{status['id']}/reblog")).status == 200


async def favourite(person: Person, status: Any) -> None:
    assert (await person.post(f"/api/v1/statuses/{status['id']}/favourite")).status == 200


async def follow(person: Person, other: Person, **terms: Any) -> None:
    assert (await person.post(f"/api/v1/accounts/{other.id}/follow", terms)).status == 200


async def mention(stage: Stage, ada: Person, bob: Person) -> None:
    await bob.publish("@ada hi")


async def post(stage: Stage, ada: Person, bob: Person) -> None:
    await follow(ada, bob, notify="true")
    await bob.publish("news")


async def reblog(stage: Stage, ada: Person, bob: Person) -> None:
    await boost(bob, await ada.publish())


async def like(stage: Stage, ada: Person, bob: Person) -> None:
    await favourite(bob, await ada.publish())


async def begin_to_follow(stage: Stage, ada: Person, bob: Person) -> None:
    await follow(bob, ada)


async def ask_to_follow(stage: Stage, ada: Person, bob: Person) -> None:
    assert (await ada.send("PATCH", "/api/v1/accounts/update_credentials", form={"locked": "true"})).status == 200
    await follow(bob, ada)


async def end_poll(stage: Stage, ada: Person, bob: Person) -> None:
    poll = {"options": ["tea", "cake"], "expires_in": 3600}
    status = (await bob.post("/api/v1/statuses", json={"status": "choose", "poll": poll})).json
    assert (await ada.post(f"/api/v1/polls/{status['poll']['id']}/votes", {"choices[]": "0"})).status == 200
    await stage.sql("UPDATE polls SET expires_at = now()")
    await stage.sql("UPDATE outbox SET due_at = now() WHERE kind = 'poll'")
    stage.outbox.wake()


async def edit(stage: Stage, ada: Person, bob: Person) -> None:
    status = await bob.publish("one")
    await boost(ada, status)
    assert (await bob.put(f"/api/v1/statuses/{status['id']}", {"status": "two"})).status == 200


async def quote(stage: Stage, ada: Person, bob: Person) -> None:
    await bob.publish("look", quoted_status_id=(await ada.publish("one"))["id"])


async def edit_quoted(stage: Stage, ada: Person, bob: Person) -> None:
    status = await bob.publish("one")
    await ada.publish("look", quoted_status_id=status["id"])
    assert (await bob.put(f"/api/v1/statuses/{status['id']}", {"status": "two"})).status == 200


Happening = Callable[[Stage, Person, Person], Awaitable[None]]
HAPPENINGS: dict[str, tuple[Happening, str, str]] = {
    "mention": (mention, "Bob mentioned you", "@ada hi"),
    "status": (post, "Bob posted something new", "news"),
    "reblog": (reblog, "Bob boosted your post", "hello"),
    "favourite": (like, "Bob likes your post", "hello"),
    "follow": (begin_to_follow, "Bob follows you now", ""),
    "follow_request": (ask_to_follow, "Bob asks to follow you", ""),
    "poll": (end_poll, "A poll by Bob has ended", "choose"),
    "update": (edit, "Bob edited a post", "two"),
    "quote": (quote, "Bob quoted your post", "look"),
    "quoted_update": (edit_quoted, "Bob edited a post that you quoted", "look"),
}


@rows("S243", "S244")
@pytest.mark.parametrize("type", HAPPENINGS)
async def test_every_type_that_happens_is_sent_to_who_asked_for_it(
    stage: Stage, ada: Person, bob: Person, service: PushService, type: str
) -> None:
    happen, title, body = HAPPENINGS[type]
    await subscribe(ada, service, "/ada", type)
    await happen(stage, ada, bob)
    (message,) = await service.messages("/ada")
    assert (message["notification_type"], message["title"], message["body"]) == (type, title, body)


@rows("S245")
@pytest.mark.parametrize("type", HAPPENINGS)
async def test_what_was_not_asked_for_is_not_sent(
    stage: Stage, ada: Person, bob: Person, service: PushService, type: str
) -> None:
    happen, _, _ = HAPPENINGS[type]
    eve = await stage.person("eve")
    other = "favourite" if type != "favourite" else "mention"
    await subscribe(ada, service, "/ada", other)
    await happen(stage, ada, bob)
    await (eve.publish("@ada hi") if other == "mention" else like(stage, ada, eve))
    await service.received()
    await all_sent(stage)
    assert [message["notification_type"] for message in await service.messages("/ada")] == [other]


@rows("S246")
async def test_after_leaving_nothing_more_is_sent(stage: Stage, ada: Person, bob: Person, service: PushService) -> None:
    tablet = Client(stage, await stage.token(ada.account))
    await subscribe(ada, service, "/phone", "mention")
    await subscribe(tablet, service, "/tablet", "mention")
    await bob.publish("@ada one")
    await service.messages("/phone")
    await ada.delete(PATH)
    await bob.publish("@ada two")
    assert [one["body"] for one in await service.messages("/tablet", 2)] == ["@ada one", "@ada two"]
    await all_sent(stage)
    assert len(service.to("/phone")) == 1


async def test_each_device_is_told_with_its_own_token(
    stage: Stage, ada: Person, bob: Person, service: PushService
) -> None:
    tablet = Client(stage, await stage.token(ada.account))
    await subscribe(ada, service, "/phone", "mention", standard=False)
    await subscribe(tablet, service, "/tablet", "mention")
    await bob.publish("@ada hi")
    (phone,), (other,) = await service.messages("/phone"), await service.messages("/tablet")
    assert (phone["access_token"], other["access_token"]) == (ada.token, tablet.token)


@pytest.mark.parametrize(
    ("policy", "reached_by"),
    [("all", ["bob", "eve", "zoe"]), ("followed", ["bob"]), ("follower", ["eve"]), ("none", [])],
)
async def test_the_policy_says_who_may_reach_a_device(
    stage: Stage, ada: Person, bob: Person, service: PushService, policy: str, reached_by: list[str]
) -> None:
    eve, zoe = await stage.person("eve"), await stage.person("zoe")
    await follow(ada, bob)
    await follow(eve, ada)
    tablet = Client(stage, await stage.token(ada.account))
    await subscribe(ada, service, "/phone", "mention", policy=policy)
    await subscribe(tablet, service, "/tablet", "mention")
    for person in (bob, eve, zoe):
        await person.publish("@ada hi")
    await service.messages("/tablet", 3)
    await all_sent(stage)
    titles = [one["title"] for one in await service.messages("/phone", 0)]
    assert titles == [f"{name.capitalize()} mentioned you" for name in reached_by]


async def test_the_end_of_ones_own_poll_is_sent_whatever_the_policy_but_none(
    stage: Stage, ada: Person, service: PushService
) -> None:
    await subscribe(ada, service, "/ada", "poll", policy="followed")
    await end_poll(stage, await stage.person("eve"), ada)
    assert [one["title"] for one in await service.messages("/ada")] == ["A poll by Ada has ended"]


# Push services that misbehave


@pytest.mark.parametrize("status", [404, 410, 400, 403, 413])
async def test_a_device_that_is_gone_is_forgotten(
    stage: Stage, ada: Person, bob: Person, service: PushService, status: int
) -> None:
    await subscribe(ada, service, "/ada", "mention")
    service.replies["/ada"] = [refusal(status)]
    await bob.publish("@ada hi")
    await service.received()
    await all_sent(stage)
    assert (await ada.get(PATH)).status == 404
    assert [facts["error"] for facts in stage.told("push.ended")] == [f"the push service answered {status}"]


@pytest.mark.parametrize(
    ("reply", "error", "waits"),
    [
        (refusal(500), "PushFailed: the push service answered 500", 5),
        (refusal(302, {"Location": "https://elsewhere.example/"}), "PushFailed: the push service answered 302", 5),
        (refusal(408), "PushFailed: the push service answered 408", 5),
        (refusal(429), "PushFailed: the push service answered 429", 5),
        (refusal(429, {"Retry_After": "900"}), "Later: the push service answered 429", 900),
        (refusal(503, {"Retry_After": "900"}), "Later: the push service answered 503", 900),
        (RESET, "PushFailed: the answer is not HTTP, or there was none", 5),
    ],
)
async def test_what_a_service_did_not_take_is_sent_again_later(
    stage: Stage, ada: Person, bob: Person, service: PushService, reply: bytes, error: str, waits: int
) -> None:
    await subscribe(ada, service, "/ada", "mention")
    service.replies["/ada"] = [reply]
    await bob.publish("@ada hi")
    ((attempts, told, seconds),) = await tried(stage)
    assert (attempts, told) == (1, error)
    assert waits - 5 <= seconds <= waits
    await stage.sql("UPDATE outbox SET due_at = now()")
    if "503" in error:  # it asked to be left alone, whatever its rows say
        return
    first, second = await service.messages("/ada", 2)
    assert first == second
    assert len({asked.headers["topic"] for asked in await service.received(2)}) == 1
    assert (await ada.get(PATH)).status == 200


async def test_a_service_that_asked_for_time_is_left_alone_for_all_devices(
    stage: Stage, ada: Person, bob: Person, service: PushService
) -> None:
    await subscribe(ada, service, "/ada", "mention")
    await subscribe(bob, service, "/bob", "mention")
    service.replies["/ada"] = [refusal(503, {"Retry_After": "900"})]
    await bob.publish("@ada hi")
    await tried(stage)
    await ada.publish("@bob hi")
    waiting = await tried(stage, 2)
    assert {attempts for attempts, error, _ in waiting if "are paused" in error} == {0}, "no try of its own"
    assert {error for _, error, _ in waiting} == {
        "Later: the push service answered 503", "NotTried: messages to this push service are paused",
    }  # fmt: skip
    assert len(service.peer.asked) == 1


async def test_a_service_that_never_answers_delays_no_other(
    stage: Stage, ada: Person, bob: Person, service: PushService
) -> None:
    """More messages wait for it than there are workers."""
    context, tablet = stage.http_context, Client(stage, await stage.token(ada.account))
    async with push_service("slow.test") as slow:
        slow.asleep = True
        made = await subscribe(tablet, slow, "/tablet", "mention")
        await bob.publish("@ada one")
        await slow.received()
        (notification,) = (await ada.get("/api/v1/notifications")).json
        effect = SendPush(int(notification["id"]), int(made["id"]))
        waiting = [Promise(effect, f"waiting/{number}", group="slow.test") for number in range(2 * PUSH.workers)]
        rows = [new_effect(context.ids.next(), promise) for promise in waiting]
        await context.database.transact(outbox.insert_many, rows, context.clock.now())
        stage.outbox.wake(PUSH)
        await slow.received(PUSH.workers_per_group)
        await tablet.delete(PATH)
        await subscribe(ada, service, "/ada", "mention")
        await bob.publish("@ada two")
        assert [one["body"] for one in await service.messages("/ada")] == ["@ada two"]
        assert len(slow.peer.asked) == PUSH.workers_per_group
        assert await stage.rows("SELECT FROM outbox WHERE attempts > 0") == [], "nothing else had to end before"


async def test_a_post_that_its_reader_may_not_see_any_more_is_not_sent(
    stage: Stage, ada: Person, bob: Person, service: PushService
) -> None:
    await follow(ada, bob, notify="true")
    await subscribe(ada, service, "/ada", "status")
    service.replies["/ada"] = [refusal(500)]
    await bob.publish("for followers", visibility="private")
    await tried(stage)
    assert (await bob.post(f"/api/v1/accounts/{ada.id}/remove_from_followers")).status == 200
    await stage.sql("UPDATE outbox SET due_at = now() WHERE kind = 'push'")
    await all_sent(stage)
    assert len(service.peer.asked) == 1


async def test_an_endpoint_that_comes_to_lead_inwards_is_never_connected_to(
    stage: Stage, ada: Person, bob: Person, service: PushService
) -> None:
    await subscribe(ada, service, "/ada", "mention")
    query = "UPDATE push_subscriptions SET endpoint = $1"
    await stage.sql(query, f"https://inside.example:{service.peer.port}/ada")
    await bob.publish("@ada hi")
    await until_none(lambda: subscribed(ada))
    await all_sent(stage)
    await subscribe(ada, service, "/ada", "mention")
    await stage.sql(query, "https://inside.example/ada")
    await bob.publish("@ada hi")
    await all_sent(stage)
    assert (await ada.get(PATH)).status == 404
    assert service.peer.connections == 0


# The end of subscriptions


@pytest.mark.parametrize(
    "end",
    [
        "UPDATE access_tokens SET revoked_at = now() WHERE account_id = $1",
        "DELETE FROM access_tokens WHERE account_id = $1",
        "DELETE FROM applications WHERE id IN (SELECT application_id FROM access_tokens WHERE account_id = $1)",
        "UPDATE users SET disabled_at = now() WHERE account_id = $1",
        "UPDATE accounts SET suspended_at = now() WHERE id = $1",
        "UPDATE accounts SET deleted_at = now() WHERE id = $1",
    ],
)
async def test_who_may_not_sign_in_any_more_gets_nothing(
    stage: Stage, ada: Person, bob: Person, service: PushService, end: str
) -> None:
    """Neither what was promised before, nor what happens later."""
    await subscribe(ada, service, "/ada", "mention")
    service.replies["/ada"] = [refusal(500)]
    await bob.publish("@ada hi")
    await tried(stage)
    await stage.sql(end, ada.account.id)
    await stage.sql("UPDATE outbox SET due_at = now() WHERE kind = 'push'")
    await bob.publish("@ada again")
    await all_sent(stage)
    assert len(service.peer.asked) == 1


@pytest.mark.parametrize("how", ["dismissed", "deleted", "blocked"])
async def test_what_is_hidden_from_its_reader_meanwhile_is_not_sent(
    stage: Stage, ada: Person, bob: Person, service: PushService, how: str
) -> None:
    mine = await ada.publish("mine")
    await subscribe(ada, service, "/ada", "favourite")
    service.replies["/ada"] = [refusal(500)]
    await favourite(bob, mine)
    await tried(stage)
    (notification,) = (await ada.get("/api/v1/notifications")).json
    if how == "dismissed":
        assert (await ada.post(f"/api/v1/notifications/{notification['id']}/dismiss")).status == 200
    elif how == "deleted":
        assert (await ada.delete(f"/api/v1/statuses/{mine['id']}")).status == 200
    else:
        assert (await ada.post(f"/api/v1/accounts/{bob.id}/block")).status == 200
    await stage.sql("UPDATE outbox SET due_at = now() WHERE kind = 'push'")
    await all_sent(stage)
    assert len(service.peer.asked) == 1


async def test_nothing_is_sent_while_the_server_may_have_missed_a_block_on_another_node(
    stage: Stage, ada: Person, bob: Person, service: PushService, other_nodes: SeparableOthers
) -> None:
    mine = await ada.publish("mine")
    await subscribe(ada, service, "/ada", "favourite")
    service.replies["/ada"] = [refusal(500)]
    await favourite(bob, mine)
    ((attempts, _, _),) = await tried(stage)
    other_nodes.separate()
    await stage.sql("UPDATE outbox SET due_at = now() WHERE kind = 'push'")
    separated = "SELECT attempts FROM outbox WHERE error = 'NotTried: this server does not hear from its cluster'"
    assert await until_found(lambda: stage.rows(separated)) == [[attempts]], "it was no try"
    assert len(service.peer.asked) == 1
    other_nodes.rejoin()
    await all_sent(stage)
    assert len(service.peer.asked) == 2


async def test_a_mention_that_a_filter_hides_in_notifications_is_not_sent(
    stage: Stage, ada: Person, bob: Person, service: PushService
) -> None:
    await subscribe(ada, service, "/ada", "mention")
    for word, contexts, action in (("spoiler", ["notifications"], "hide"), ("tea", ["home"], "hide")):
        made = await ada.post("/api/v2/filters", json={
            "title": word, "context": contexts, "filter_action": action,
            "keywords_attributes": [{"keyword": word, "whole_word": True}],
        })  # fmt: skip
        assert made.status == 200, made.text
    await bob.publish("@ada a spoiler")
    await all_sent(stage)
    await bob.publish("@ada tea and spoilers?")
    (message,) = await service.messages("/ada")
    assert message["body"] == "@ada tea and spoilers?"


async def test_a_device_that_subscribed_anew_does_not_get_what_was_promised_to_the_old_one(
    stage: Stage, ada: Person, bob: Person, service: PushService
) -> None:
    await subscribe(ada, service, "/old", "mention")
    service.replies["/old"] = [refusal(500)]
    await bob.publish("@ada one")
    await tried(stage)
    await subscribe(ada, service, "/new", "mention")
    await stage.sql("UPDATE outbox SET due_at = now() WHERE kind = 'push'")
    await bob.publish("@ada two")
    assert [one["body"] for one in await service.messages("/new")] == ["@ada two"]
    await all_sent(stage)
    assert len(service.to("/old")) == 1


async def test_a_notification_that_is_not_there_is_no_trouble(stage: Stage, ada: Person, service: PushService) -> None:
    made = await subscribe(ada, service, "/ada", "mention")
    context = stage.http_context
    for subscription in (int(made["id"]), 2**31 - 1):
        effect = new_effect(context.ids.next(), Promise(SendPush(1, subscription)))
        await context.database.transact(outbox.insert_many, [effect], context.clock.now())
    await all_sent(stage)
    assert service.peer.asked == []
