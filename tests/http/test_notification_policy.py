"""The notification policy, as clients read and change it, and what it keeps from their notifications."""

from typing import Any

import pytest

from ..clients import Person, Stage
from .streaming.conftest import Edge, edge

__all__ = ["edge"]

POLICY = "/api/v2/notifications/policy"
FLAGS = "/api/v1/notifications/policy"
LIST = "/api/v1/notifications"
GROUPS = "/api/v2/notifications"

ACCEPTING = {
    "for_not_following": "accept",
    "for_not_followers": "accept",
    "for_new_accounts": "accept",
    "for_private_mentions": "accept",
    "for_limited_accounts": "filter",
    "for_bots": "accept",
}
NOTHING = {"pending_requests_count": 0, "pending_notifications_count": 0}


async def change(person: Person, **actions: str) -> Any:
    return await person.done("PATCH", POLICY, form=actions)


async def types(person: Person, path: str = LIST) -> list[str]:
    return [one["type"] for one in (await person.get(path)).json]


async def test_a_new_account_accepts_all_but_limited_accounts(ada: Person) -> None:
    assert (await ada.get(POLICY)).json == ACCEPTING | {"summary": NOTHING}


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
async def test_a_policy_is_changed_in_parts(ada: Person, method: str) -> None:
    await change(ada, for_bots="drop")
    changed = await ada.send(method, POLICY, form={"for_new_accounts": "filter", "for_bots": ""})
    assert changed.json == ACCEPTING | {"for_bots": "drop", "for_new_accounts": "filter", "summary": NOTHING}
    assert (await ada.get(POLICY)).json == changed.json


async def test_an_unknown_action_is_refused(ada: Person) -> None:
    refused = await ada.send("PATCH", POLICY, form={"for_bots": "drop", "for_not_following": "hide"})
    assert refused.status == 422
    assert refused.json == {"error": "Validation failed: For not following is not included in the list"}
    assert (await ada.get(POLICY)).json["for_bots"] == "accept"


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
async def test_the_older_form_has_booleans(ada: Person, method: str) -> None:
    changed = await ada.send(method, FLAGS, form={"filter_not_following": "true", "filter_bots": "1"})
    assert changed.json == {
        "filter_not_following": True,
        "filter_not_followers": False,
        "filter_new_accounts": False,
        "filter_private_mentions": False,
        "filter_bots": True,
        "summary": NOTHING,
    }
    await change(ada, for_bots="drop", for_not_followers="drop")
    await ada.send(method, FLAGS, form={"filter_not_following": "false"})
    shown = (await ada.get(FLAGS)).json
    assert (shown["filter_not_following"], shown["filter_not_followers"], shown["filter_bots"]) == (False, True, True)
    assert (await ada.get(POLICY)).json["for_bots"] == "drop"


async def test_a_filtered_notification_is_shown_on_request(ada: Person, bob: Person) -> None:
    await change(ada, for_not_following="filter")
    await bob.publish("@ada hello")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    assert await types(ada) == []
    assert (await ada.get(GROUPS)).json["notification_groups"] == []
    for path in (LIST, GROUPS):
        assert (await ada.get(f"{path}/unread_count")).json == {"count": 0}
    shown = (await ada.get(f"{LIST}?include_filtered=true")).json
    assert [(one["type"], one["filtered"]) for one in shown] == [("follow", True), ("mention", True)]
    groups = (await ada.get(f"{GROUPS}?include_filtered=true")).json["notification_groups"]
    assert [group["type"] for group in groups] == ["follow", "mention"]
    one = (await ada.get(f"{LIST}/{shown[1]['id']}")).json
    assert one["filtered"] is True
    summary = (await ada.get(POLICY)).json["summary"]
    assert summary == {"pending_requests_count": 1, "pending_notifications_count": 2}


async def test_a_group_does_not_count_what_was_filtered(stage: Stage, ada: Person, bob: Person) -> None:
    liked = await ada.publish("like me")
    await bob.post(f"/api/v1/statuses/{liked['id']}/favourite")
    await change(ada, for_not_following="filter")
    eve = await stage.person("eve")
    await eve.post(f"/api/v1/statuses/{liked['id']}/favourite")
    told = (await ada.get(GROUPS)).json
    (group,) = told["notification_groups"]
    assert (group["notifications_count"], group["sample_account_ids"]) == (1, [bob.id])
    assert [account["id"] for account in told["accounts"]] == [bob.id]
    key = group["group_key"]
    assert [one["id"] for one in (await ada.get(f"{GROUPS}/{key}/accounts")).json] == [bob.id]
    (all_,) = (await ada.get(f"{GROUPS}?include_filtered=true")).json["notification_groups"]
    assert all_["notifications_count"] == 2
    await ada.post(f"{GROUPS}/{key}/dismiss")
    (left,) = (await ada.get(f"{LIST}?include_filtered=true")).json
    assert (left["account"]["id"], left["filtered"]) == (eve.id, True)


async def test_a_dropped_notification_is_nowhere(ada: Person, bob: Person) -> None:
    await change(ada, for_not_following="drop")
    await bob.publish("@ada hello")
    assert await types(ada, f"{LIST}?include_filtered=true") == []
    assert (await ada.get("/api/v1/notifications/requests")).json == []
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    await bob.publish("@ada again")
    assert await types(ada) == ["mention"]


async def test_a_filtered_private_mention_is_no_conversation(ada: Person, bob: Person) -> None:
    await change(ada, for_private_mentions="filter")
    await bob.publish("@ada psst", visibility="direct")
    assert (await ada.get("/api/v1/conversations")).json == []
    assert len((await bob.get("/api/v1/conversations")).json) == 1
    # The answer to a private mention arrives.
    asked = await ada.publish("@bob well?", visibility="direct")
    await bob.publish("@ada this", visibility="direct", in_reply_to_id=asked["id"])
    assert await types(ada) == ["mention"]
    assert len((await ada.get("/api/v1/conversations")).json) == 1


@pytest.mark.parametrize("action", ["filter", "drop"])
async def test_an_edit_of_a_filtered_mention_reaches_no_stream(
    edge: Edge, ada: Person, bob: Person, action: str
) -> None:
    shown = await bob.publish("@ada hello")
    await change(ada, for_not_following=action)
    hidden = await bob.publish("@ada are you there?")
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.subscribe("user:notification")
        for status in (hidden, shown):
            await bob.put(f"/api/v1/statuses/{status['id']}", {"status": "@ada edited"})
        heard = [await stream.hear() for _ in range(2)]
        assert sorted(frame["stream"] for frame in heard) == [["user"], ["user:notification"]]
        assert {(frame["event"], frame["payload"]["id"]) for frame in heard} == {("status.update", shown["id"])}
        await stream.settle()


async def test_a_filtered_mention_in_a_status_at_home_is_edited_there_alone(
    edge: Edge, ada: Person, bob: Person
) -> None:
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    await change(ada, for_not_followers="filter")
    status = await bob.publish("@ada hello")
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.subscribe("user:notification")
        await bob.put(f"/api/v1/statuses/{status['id']}", {"status": "@ada edited"})
        frame = await stream.hear()
        assert (frame["stream"], frame["event"]) == (["user"], "status.update")
        await stream.settle()


async def test_an_accepted_mention_is_edited_on_streams(edge: Edge, ada: Person, bob: Person) -> None:
    await change(ada, for_not_following="filter")
    status = await bob.publish("@ada hello")
    (request,) = (await ada.get(f"{LIST}/requests")).json
    await ada.post(f"{LIST}/requests/{request['id']}/accept")
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()
        await bob.put(f"/api/v1/statuses/{status['id']}", {"status": "@ada edited"})
        assert (await stream.hear())["event"] == "status.update"
