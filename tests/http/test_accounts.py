"""Accounts shown, looked up, followed, blocked and muted."""

import pytest

from ..checklist.rows import rows
from ..clients import Person, Stage

ACCOUNTS = "/api/v1/accounts"


@pytest.mark.parametrize("acct", ["ada", "@ada", "ADA", "ada@localhost:3000", "@ada@LOCALHOST:3000"])
async def test_looked_up_by_any_form_of_the_handle(stage: Stage, ada: Person, acct: str) -> None:
    assert (await stage.anybody().get(f"{ACCOUNTS}/lookup", query_string={"acct": acct})).json["id"] == ada.id


async def test_looking_up_what_is_not_there(stage: Stage, ada: Person) -> None:
    for acct in ("eve", "ada@elsewhere.example"):
        answer = await stage.anybody().get(f"{ACCOUNTS}/lookup", query_string={"acct": acct})
        assert (answer.status, answer.json) == (404, {"error": "Record not found"})
    assert (await stage.anybody().get(f"{ACCOUNTS}/lookup")).status == 400


@pytest.mark.parametrize("state", ["UPDATE users SET confirmed_at = NULL", "UPDATE users SET approved_at = NULL"])
async def test_users_who_are_not_in_yet_do_not_exist_for_others(stage: Stage, ada: Person, state: str) -> None:
    await stage.sql(state)
    assert (await stage.anybody().get(f"{ACCOUNTS}/{ada.id}")).status == 404
    assert (await stage.anybody().get(f"{ACCOUNTS}/lookup?acct=ada")).status == 404


@rows("S134")
async def test_follow_and_unfollow(ada: Person, bob: Person) -> None:
    answer = await ada.post(f"{ACCOUNTS}/{bob.id}/follow", {"reblogs": "false", "languages[]": "de"})
    made = {"id": bob.id, "following": True, "showing_reblogs": False, "languages": ["de"]}
    assert made.items() <= answer.json.items()
    again = (await ada.post(f"{ACCOUNTS}/{bob.id}/follow", {"notify": "true"})).json
    assert {"showing_reblogs": False, "notifying": True, "languages": ["de"]}.items() <= again.items()
    assert (await bob.get(f"{ACCOUNTS}/{bob.id}")).json["followers_count"] == 1
    assert (await bob.get(f"{ACCOUNTS}/relationships?id={ada.id}")).json[0]["followed_by"] is True
    assert (await ada.post(f"{ACCOUNTS}/{bob.id}/unfollow")).json["following"] is False
    assert (await bob.get(f"{ACCOUNTS}/{bob.id}")).json["followers_count"] == 0


async def test_accounts_that_cannot_be_followed(ada: Person, bob: Person) -> None:
    own = await ada.post(f"{ACCOUNTS}/{ada.id}/follow")
    assert (own.status, own.json) == (403, {"error": "Following your own account is not allowed"})
    assert (await ada.post(f"{ACCOUNTS}/1/follow")).status == 404
    assert (await bob.post(f"{ACCOUNTS}/{ada.id}/block")).json["blocking"] is True
    answer = await ada.post(f"{ACCOUNTS}/{bob.id}/follow")
    assert (answer.status, answer.json) == (403, {"error": "This action is not allowed"})


async def test_block_and_mute_and_back(ada: Person, bob: Person) -> None:
    path = f"{ACCOUNTS}/{bob.id}"
    assert (await ada.post(f"{path}/block")).json["blocking"] is True
    assert "blocked_by" not in (await bob.get(f"{ACCOUNTS}/relationships?id[]={ada.id}")).json[0]
    assert (await ada.post(f"{path}/unblock")).json["blocking"] is False
    muted = (await ada.post(f"{path}/mute", {"notifications": "false", "duration": "60"})).json
    assert (muted["muting"], muted["muting_notifications"]) == (True, False)
    assert muted["muting_expires_at"] is not None
    assert (await ada.post(f"{path}/unmute")).json["muting"] is False


async def test_direct_statuses_leave_no_trace_on_the_profile(stage: Stage, ada: Person) -> None:
    await ada.publish("psst", visibility="direct")
    profile = (await stage.anybody().get(f"{ACCOUNTS}/{ada.id}")).json
    assert (profile["statuses_count"], profile["last_status_at"]) == (0, None)
    await ada.publish("hi", visibility="private")
    profile = (await stage.anybody().get(f"{ACCOUNTS}/{ada.id}")).json
    assert (profile["statuses_count"], profile["last_status_at"] is None) == (1, False)


async def test_relationships_with_a_whole_page_of_people(ada: Person, bob: Person) -> None:
    ids = "&".join(f"id[]={id}" for id in [*range(1, 201), bob.id])
    assert [one["id"] for one in (await ada.get(f"{ACCOUNTS}/relationships?{ids}")).json] == [bob.id]


@rows("S137")
async def test_relationships_in_the_order_asked_for(stage: Stage, ada: Person, bob: Person) -> None:
    cyd = await stage.person("cyd")
    ids = [cyd.id, "1", bob.id, ada.id, cyd.id]
    answer = await ada.get(f"{ACCOUNTS}/relationships?" + "&".join(f"id[]={id}" for id in ids))
    assert [one["id"] for one in answer.json] == [cyd.id, bob.id, ada.id]


@pytest.mark.parametrize("action", ["follow", "block", "mute"])
async def test_legacy_follow_scope_is_enough(stage: Stage, ada: Person, action: str) -> None:
    eve = await stage.person("eve", scopes=("follow",))
    assert (await eve.post(f"{ACCOUNTS}/{ada.id}/{action}")).status == 200
