"""The seed checklist's rows on follows, requests, blocks, mutes, endorsements and what lists of them say."""

from typing import Any

import pytest

from troupe.storage.accounts import Account, NewAccount

from ..clients import Person, Stage, ids
from ..rows import create_account
from .rows import rows

ACCOUNTS = "/api/v1/accounts"
REQUESTS = "/api/v1/follow_requests"
MUTED = "UPDATE accounts SET silenced_at = now() WHERE id = $1"
LOCKED = "UPDATE accounts SET locked = true WHERE id = $1"


async def relation(viewer: Person, other: Person | Account) -> Any:
    return (await viewer.get(f"{ACCOUNTS}/relationships?id[]={other.id}")).json[0]


async def notified(person: Person) -> list[tuple[str, str]]:
    """Return types and senders of a person's notifications, newest first."""
    told = (await person.get("/api/v1/notifications")).json
    return [(one["type"], one["account"]["id"]) for one in told]


async def follow(follower: Person, target: Person | Account, **terms: str) -> Any:
    return await follower.done("POST", f"{ACCOUNTS}/{target.id}/follow", terms)


async def boosted_by(booster: Person, author: Person) -> str:
    """A fresh status of `author`, boosted; the id of the boost."""
    status = await author.publish("worth it")
    return (await booster.post(f"/api/v1/statuses/{status['id']}/reblog")).json["id"]


async def far(stage: Stage, name: str = "rob", **facts: Any) -> Account:
    """A person of another server."""
    id, uri = stage.http_context.ids.next(), f"https://far.example/users/{name}"
    new = NewAccount(id, name, "far.example", uri, uri, **facts)
    return await stage.http_context.database.transact(create_account, new, stage.http_context.clock.now())


@pytest.fixture
async def cyd(stage: Stage) -> Person:
    """Cyd is locked."""
    cyd = await stage.person("cyd")
    await stage.sql(LOCKED, cyd.account.id)
    return cyd


@rows("S012", "S216")
async def test_endorsing(ada: Person, bob: Person, stage: Stage) -> None:
    for pin, unpin in (("pin", "unpin"), ("endorse", "unendorse")):
        refused = await ada.post(f"{ACCOUNTS}/{bob.id}/{pin}")
        text = "Validation failed: You must be already following the person you want to endorse"
        assert (refused.status, refused.json) == (422, {"error": text})
        await follow(ada, bob)
        assert [(await ada.post(f"{ACCOUNTS}/{bob.id}/{pin}")).json["endorsed"] for _ in range(2)] == [True, True]
        assert ids(await ada.get("/api/v1/endorsements")) == [bob.id]
        assert ids(await stage.anybody().get(f"{ACCOUNTS}/{ada.id}/endorsements")) == [bob.id]
        assert (await ada.post(f"{ACCOUNTS}/{bob.id}/{unpin}")).json["endorsed"] is False
        assert ids(await ada.get("/api/v1/endorsements")) == []
        await ada.post(f"{ACCOUNTS}/{bob.id}/{pin}")
        assert (await ada.post(f"{ACCOUNTS}/{bob.id}/unfollow")).json["endorsed"] is False
    assert (await ada.post(f"{ACCOUNTS}/1/endorse")).status == 404


@rows("S013")
async def test_blocks_mutes_and_domain_blocks_are_listed(ada: Person, bob: Person, cyd: Person) -> None:
    await ada.post(f"{ACCOUNTS}/{bob.id}/block")
    await ada.post(f"{ACCOUNTS}/{cyd.id}/mute")
    assert (await ada.post("/api/v1/domain_blocks", {"domain": "Far.Example"})).json == {}
    assert ids(await ada.get("/api/v1/blocks")) == [bob.id]
    assert ids(await ada.get("/api/v1/mutes")) == [cyd.id]
    assert (await ada.get("/api/v1/domain_blocks")).json == ["far.example"]
    assert (await ada.delete("/api/v1/domain_blocks?domain=FAR.example")).json == {}
    assert (await ada.get("/api/v1/domain_blocks")).json == []


@rows("S024")
async def test_the_removed_protocol_cannot_be_followed(stage: Stage, ada: Person) -> None:
    rob = await far(stage)
    await stage.sql("UPDATE accounts SET protocol = 'ostatus' WHERE id = $1", rob.id)
    stage.http_context.accounts.drop(rob.id)
    answer = await ada.post(f"{ACCOUNTS}/{rob.id}/follow")
    assert (answer.status, answer.json) == (403, {"error": "This action is not allowed"})
    assert (await relation(ada, rob))["requested"] is False


@rows("S033")
async def test_requests_are_counted(stage: Stage, ada: Person, bob: Person, cyd: Person) -> None:
    for person in (ada, bob):
        await follow(person, cyd)
    own = (await cyd.get(f"{ACCOUNTS}/verify_credentials")).json
    assert own["follow_requests_count"] == own["source"]["follow_requests_count"] == 2
    await cyd.post(f"{REQUESTS}/{ada.id}/authorize")
    assert (await cyd.get(f"{ACCOUNTS}/verify_credentials")).json["follow_requests_count"] == 1


@rows("S035", "S036")
async def test_following_and_muting_are_true_or_false(ada: Person, bob: Person) -> None:
    assert (await relation(ada, bob))["following"] is False
    await follow(ada, bob)
    assert (await relation(ada, bob))["following"] is True
    assert (await ada.post(f"{ACCOUNTS}/{bob.id}/mute")).json["muting"] is True
    assert (await ada.post(f"{ACCOUNTS}/{bob.id}/unmute")).json["muting"] is False


@rows("S037", "S038", "S039", "S075")
async def test_boosts_are_shown_unless_said_otherwise(stage: Stage, ada: Person, bob: Person, cyd: Person) -> None:
    assert (await follow(ada, bob))["showing_reblogs"] is True
    asked = await follow(ada, cyd)
    assert (asked["requested"], asked["showing_reblogs"]) == (True, True)
    dan = await stage.person("dan")
    assert (await follow(dan, bob, reblogs="false"))["showing_reblogs"] is False
    assert (await follow(dan, cyd, reblogs="false"))["showing_reblogs"] is False


@pytest.mark.parametrize("hides", [True, False])
@rows("S040", "S132")
async def test_mutes_say_whether_they_hide_notifications(ada: Person, bob: Person, hides: bool) -> None:
    answer = (await ada.post(f"{ACCOUNTS}/{bob.id}/mute", {"notifications": str(hides).lower()})).json
    assert (answer["muting"], answer["muting_notifications"]) == (True, hides)


@rows("S041")
async def test_a_block_is_not_shown_to_the_blocked_account(ada: Person, bob: Person) -> None:
    await bob.post(f"{ACCOUNTS}/{ada.id}/block")
    answers = [await relation(ada, bob)]
    for action in ("unfollow", "block", "unblock", "mute", "unmute"):
        answers.append((await ada.post(f"{ACCOUNTS}/{bob.id}/{action}")).json)
    assert not [answer for answer in answers if "blocked_by" in answer]


@rows("S064")
async def test_a_mute_keeps_or_hides_notifications(ada: Person, bob: Person) -> None:
    await ada.post(f"{ACCOUNTS}/{bob.id}/mute", {"notifications": "false"})
    await bob.post(f"/api/v1/statuses/{(await ada.publish())['id']}/favourite")
    assert await notified(ada) == [("favourite", bob.id)]
    await ada.post(f"{ACCOUNTS}/{bob.id}/mute", {"notifications": "true"})
    await bob.post(f"/api/v1/statuses/{(await ada.publish())['id']}/favourite")
    assert await notified(ada) == []


@rows("S065", "S067")
async def test_boosts_reach_home_unless_reblogs_is_off(stage: Stage, ada: Person, bob: Person) -> None:
    cyd = await stage.person("cyd")
    await follow(ada, bob, show_reblogs="false")
    boost = await boosted_by(bob, cyd)
    assert ids(await ada.get("/api/v1/timelines/home")) == [boost]
    await follow(ada, bob, reblogs="false")
    assert ids(await ada.get("/api/v1/timelines/home")) == []


@rows("S066", "S079")
async def test_a_request_keeps_its_terms_on_acceptance(stage: Stage, ada: Person, bob: Person, cyd: Person) -> None:
    await follow(ada, cyd)
    await follow(bob, cyd, reblogs="false")
    for person in (ada, bob):
        await cyd.post(f"{REQUESTS}/{person.id}/authorize")
    assert ((await relation(ada, cyd))["showing_reblogs"], (await relation(bob, cyd))["showing_reblogs"]) == (
        True,
        False,
    )
    boost = await boosted_by(cyd, await stage.person("dan"))
    assert ids(await ada.get("/api/v1/timelines/home")) == [boost]
    assert ids(await bob.get("/api/v1/timelines/home")) == []


@rows("S069", "S076")
async def test_the_locked_are_asked(ada: Person, cyd: Person) -> None:
    asked = await follow(ada, cyd)
    assert (asked["following"], asked["requested"], asked["showing_reblogs"]) == (False, True, True)
    assert await notified(cyd) == [("follow_request", ada.id)]
    assert (await relation(cyd, ada.account))["requested_by"] is True
    assert (await ada.post(f"{ACCOUNTS}/{cyd.id}/unfollow")).json["requested"] is False
    assert await notified(cyd) == []


@rows("S074")
async def test_open_target_follows_at_once(ada: Person, bob: Person) -> None:
    made = await follow(ada, bob)
    assert (made["following"], made["requested"]) == (True, False)
    assert await notified(bob) == [("follow", ada.id)]


@rows("S077")
async def test_the_silenced_ask(stage: Stage, ada: Person, bob: Person) -> None:
    await stage.sql(MUTED, ada.account.id)
    assert (await follow(ada, bob))["requested"] is True


@rows("S078")
async def test_the_muted_ask_without_a_hint_of_the_mute(ada: Person, bob: Person, cyd: Person) -> None:
    await bob.post(f"{ACCOUNTS}/{ada.id}/mute")
    muted, locked = await follow(ada, bob), await follow(ada, cyd)
    assert muted | {"id": cyd.id} == locked
    assert (await ada.get(f"{ACCOUNTS}/{bob.id}")).json["locked"] is False


@rows("S080")
async def test_following_again_changes_what_was_sent_alone(ada: Person, bob: Person) -> None:
    await follow(ada, bob, notify="true", **{"languages[]": "de"})
    again = await follow(ada, bob, reblogs="false")
    assert (again["following"], again["showing_reblogs"]) == (True, False)
    assert (again["notifying"], again["languages"]) == (True, ["de"])
    assert (await bob.get(f"{ACCOUNTS}/{bob.id}")).json["followers_count"] == 1
    assert await notified(bob) == [("follow", ada.id)]


@rows("S081")
async def test_unlocking_accepts_who_waits(ada: Person, bob: Person, cyd: Person) -> None:
    for person in (ada, bob):
        await follow(person, cyd)
    assert (await cyd.put(f"{ACCOUNTS}/update_credentials", {"locked": "false"})).json["follow_requests_count"] == 0
    assert (await relation(ada, cyd))["following"] is (await relation(bob, cyd))["following"] is True
    assert ids(await cyd.get(REQUESTS)) == []
    assert (await cyd.get(f"{ACCOUNTS}/{cyd.id}")).json["followers_count"] == 2
    assert await notified(cyd) == [("follow", bob.id), ("follow", ada.id)]


@rows("S082", "S083")
async def test_unlocking_accepts_neither_silenced_nor_muted(
    stage: Stage, ada: Person, bob: Person, cyd: Person
) -> None:
    for person in (ada, bob):
        await follow(person, cyd)
    await stage.sql(MUTED, ada.account.id)
    await cyd.post(f"{ACCOUNTS}/{bob.id}/mute")
    await cyd.put(f"{ACCOUNTS}/update_credentials", {"locked": "false"})
    for person in (ada, bob):
        assert {"following": False, "requested": True}.items() <= (await relation(person, cyd)).items()
    assert ids(await cyd.get(REQUESTS)) == [bob.id, ada.id]


async def test_unlocking_accepts_hundreds_at_once(stage: Stage, ada: Person, cyd: Person) -> None:
    await stage.sql("""
        INSERT INTO accounts (id, username, uri, created_at, updated_at)
        SELECT n, 'u' || n, 'https://x.example/' || n, now(), now() FROM generate_series(1, 250) n
    """)
    await stage.sql("INSERT INTO account_counts (account_id) SELECT generate_series(1, 250)")
    await stage.sql(
        "INSERT INTO follow_requests (id, account_id, target_account_id, created_at) "
        "SELECT n, n, $1, now() FROM generate_series(1, 250) n", cyd.account.id
    )  # fmt: skip
    await stage.sql(
        "INSERT INTO mutes (id, account_id, target_account_id, created_at) VALUES (1, $1, 7, now())", cyd.account.id
    )
    await cyd.put(f"{ACCOUNTS}/update_credentials", {"locked": "false"})
    assert ids(await cyd.get(REQUESTS)) == ["7"]
    assert (await cyd.get(f"{ACCOUNTS}/{cyd.id}")).json["followers_count"] == 249
    assert (await cyd.get(f"{ACCOUNTS}/8")).json["following_count"] == 1
    assert await stage.rows("SELECT count(*) FROM follows") == [[249]]


@rows("S084", "S085")
async def test_accepting_answers_the_relationship(ada: Person, cyd: Person) -> None:
    await follow(ada, cyd)
    answer = await cyd.post(f"{REQUESTS}/{ada.id}/authorize")
    assert (answer.json["id"], answer.json["followed_by"], answer.json["requested_by"]) == (ada.id, True, False)
    assert (await relation(ada, cyd))["following"] is True
    assert await notified(cyd) == [("follow", ada.id)]
    assert (await cyd.post(f"{REQUESTS}/{ada.id}/authorize")).status == 404


@rows("S086")
async def test_rejecting_answers_the_relationship(ada: Person, cyd: Person) -> None:
    await follow(ada, cyd)
    answer = await cyd.post(f"{REQUESTS}/{ada.id}/reject")
    assert (answer.json["id"], answer.json["followed_by"]) == (ada.id, False)
    assert {"following": False, "requested": False}.items() <= (await relation(ada, cyd)).items()
    assert await notified(cyd) == []
    assert (await cyd.post(f"{REQUESTS}/{ada.id}/reject")).status == 404


@rows("S087")
async def test_open_accounts_elsewhere_count_as_followed_at_once(stage: Stage, ada: Person) -> None:
    rob, locked = await far(stage), await far(stage, "lou", locked=True)
    made = await follow(ada, rob)
    assert (made["following"], made["requested"]) == (True, False)
    asked = await follow(ada, locked)
    assert (asked["following"], asked["requested"], asked["showing_reblogs"]) == (False, True, True)


@rows("S133")
async def test_muting_again_changes_the_one_mute(stage: Stage, ada: Person, bob: Person) -> None:
    for hides in ("false", "true"):
        answer = (await ada.post(f"{ACCOUNTS}/{bob.id}/mute", {"notifications": hides})).json
    assert answer["muting_notifications"] is True
    assert await stage.rows("SELECT count(*) FROM mutes") == [[1]]


@pytest.mark.parametrize("uri", ["bob", "@bob", "bob@localhost:3000", "BOB@LOCALHOST:3000"])
@rows("S135", "S136")
async def test_following_by_handle_answers_the_account(ada: Person, bob: Person, uri: str) -> None:
    for _ in range(2):
        answer = await ada.post("/api/v1/follows", {"uri": uri})
        assert (answer.status, answer.json["id"]) == (200, bob.id)
    assert (await relation(ada, bob))["following"] is True


@rows("S135")
async def test_following_by_handle_refuses_as_by_id(stage: Stage, ada: Person, bob: Person) -> None:
    rob = await far(stage)
    assert (await ada.post("/api/v1/follows", {"uri": "rob@far.example"})).json["acct"] == rob.acct
    for uri in ("", "nobody", "rob@elsewhere.example", "not a handle"):
        assert (await ada.post("/api/v1/follows", {"uri": uri})).status == 404
    await bob.post(f"{ACCOUNTS}/{ada.id}/block")
    assert (await ada.post("/api/v1/follows", {"uri": "bob"})).status == 403


async def test_contract_11_a_blocked_domain_loses_its_follows(stage: Stage, ada: Person, bob: Person) -> None:
    rob = await far(stage)
    await stage.sql(
        "INSERT INTO follows (id, account_id, target_account_id, created_at) VALUES (1, $1, $2, now())",
        rob.id,
        ada.account.id,
    )
    await stage.sql(
        "INSERT INTO follows (id, account_id, target_account_id, created_at) VALUES (2, $2, $1, now())",
        rob.id,
        ada.account.id,
    )
    await stage.sql("UPDATE account_counts SET followers = 1, following = 1")
    assert (await relation(ada, rob))["followed_by"] is True
    await ada.post("/api/v1/domain_blocks", {"domain": "far.example"})
    now = await relation(ada, rob)
    assert (now["followed_by"], now["following"], now["domain_blocking"]) == (False, True, True)
    assert (await ada.get(f"{ACCOUNTS}/{ada.id}")).json["followers_count"] == 0
    await ada.post(f"{ACCOUNTS}/{rob.id}/unfollow")
    assert (await ada.post(f"{ACCOUNTS}/{rob.id}/follow")).status == 403
    await ada.delete("/api/v1/domain_blocks", form={"domain": "far.example"})
    assert (await ada.post(f"{ACCOUNTS}/{rob.id}/follow")).status == 200


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        ("", "Validation failed: Domain can't be blank"),
        (" ", "Validation failed: Domain can't be blank"),
        ("a b", "Validation failed: Domain is not a valid domain name"),
        ("nodots", "Validation failed: Domain is not a valid domain name"),
        ("x" * 300 + ".example", "Validation failed: Domain is not a valid domain name"),
    ],
)
async def test_what_is_no_domain(ada: Person, domain: str, text: str) -> None:
    answer = await ada.post("/api/v1/domain_blocks", {"domain": domain})
    assert (answer.status, answer.json) == (422, {"error": text})


async def test_a_follower_is_removed(ada: Person, bob: Person) -> None:
    await follow(ada, bob)
    answer = await bob.post(f"{ACCOUNTS}/{ada.id}/remove_from_followers")
    assert (answer.status, answer.json["followed_by"]) == (200, False)
    assert (await relation(ada, bob))["following"] is False
    assert (await bob.post(f"{ACCOUNTS}/{ada.id}/remove_from_followers")).status == 200
    assert (await bob.post(f"{ACCOUNTS}/1/remove_from_followers")).status == 404


async def test_a_note_is_private_and_struck_out_by_an_empty_one(ada: Person, bob: Person) -> None:
    assert (await ada.post(f"{ACCOUNTS}/{bob.id}/note", {"comment": "met at PyCon"})).json["note"] == "met at PyCon"
    assert (await relation(bob, ada.account))["note"] == ""
    assert (await ada.post(f"{ACCOUNTS}/{bob.id}/note", {"comment": "x" * 2001})).status == 422
    assert (await ada.post(f"{ACCOUNTS}/{bob.id}/note", {"comment": ""})).json["note"] == ""
    assert (await ada.post(f"{ACCOUNTS}/1/note", {"comment": "who?"})).status == 404


async def test_familiar_followers_are_those_one_follows(stage: Stage, ada: Person, bob: Person) -> None:
    dan, eve = await stage.person("dan"), await stage.person("eve")
    for follower, target in ((ada, bob), (ada, dan), (bob, eve), (dan, eve)):
        await follow(follower, target)
    await dan.put(f"{ACCOUNTS}/update_credentials", {"hide_collections": "true"})
    answer = (await ada.get(f"{ACCOUNTS}/familiar_followers?id[]={eve.id}&id[]=1")).json
    assert [(one["id"], [account["id"] for account in one["accounts"]]) for one in answer] == [(eve.id, [bob.id])]


async def test_mutes_say_when_they_end_and_absurd_times_are_cut(ada: Person, bob: Person, cyd: Person) -> None:
    await ada.post(f"{ACCOUNTS}/{bob.id}/mute", {"duration": "9" * 17})
    await ada.post(f"{ACCOUNTS}/{cyd.id}/mute", {"duration": "-60"})
    forever, long = (await ada.get("/api/v1/mutes")).json
    assert (forever["mute_expires_at"], long["mute_expires_at"] > "2100") == (None, True)


async def test_unknown_languages_of_a_follow_are_left_out(ada: Person, bob: Person) -> None:
    terms = {"languages": ["de", "xx-nonsense", "DE", "fr", *["en"] * 300]}
    assert (await ada.send("POST", f"{ACCOUNTS}/{bob.id}/follow", json=terms)).json["languages"] == ["de", "fr", "en"]


async def test_suspended_accounts_have_no_relationship_unless_asked_for(stage: Stage, ada: Person, bob: Person) -> None:
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", bob.account.id)
    assert (await ada.get(f"{ACCOUNTS}/relationships?id[]={bob.id}")).json == []
    assert len((await ada.get(f"{ACCOUNTS}/relationships?id[]={bob.id}&with_suspended=true")).json) == 1
    assert (await ada.post(f"{ACCOUNTS}/{bob.id}/follow")).status == 404
    for path in ("followers", "following", "lists", "statuses"):
        assert (await ada.get(f"{ACCOUNTS}/{bob.id}/{path}")).status == 410


async def test_users_who_may_not_come_in_yet_do_not_exist_for_others(stage: Stage, ada: Person) -> None:
    newcomer = await stage.account("newcomer", confirmed_at=None)
    for action in ("follow", "unfollow", "block", "unblock", "mute", "unmute", "endorse", "unendorse", "note"):
        answer = await ada.post(f"{ACCOUNTS}/{newcomer.id}/{action}")
        assert (answer.status, answer.json) == (404, {"error": "Record not found"}), action
    assert (await ada.get(f"{ACCOUNTS}/relationships?id[]={newcomer.id}")).json == []
    assert await stage.rows("SELECT FROM blocks UNION ALL SELECT FROM mutes UNION ALL SELECT FROM account_notes") == []


@pytest.mark.parametrize(
    ("following", "followers", "status"), [(7499, 0, 200), (7500, 6818, 422), (7500, 6819, 200), (8800, 8000, 422)]
)
async def test_contract_12_beyond_7500_one_follows_a_tenth_more_than_follow(
    stage: Stage, ada: Person, bob: Person, cyd: Person, following: int, followers: int, status: int
) -> None:
    await follow(ada, cyd)
    await stage.sql(
        "UPDATE account_counts SET following = $2, followers = $3 WHERE account_id = $1",
        ada.account.id, following, followers,
    )  # fmt: skip
    answer = await ada.post(f"{ACCOUNTS}/{bob.id}/follow")
    assert answer.status == status
    if status == 422:
        assert answer.json == {"error": "Validation failed: You cannot follow more than 7500 people"}
    assert (await follow(ada, cyd, reblogs="false"))["requested"] is True


async def test_contract_11_a_blocked_domain_is_not_at_home(stage: Stage, ada: Person) -> None:
    rob = await far(stage)
    await stage.sql(
        "INSERT INTO follows (id, account_id, target_account_id, created_at) VALUES (1, $1, $2, now())",
        ada.account.id, rob.id,
    )  # fmt: skip
    await stage.sql(
        "INSERT INTO statuses (id, account_id, uri, local, visibility, conversation_id, created_at) "
        "VALUES (7, $1, 'https://far.example/7', false, 'public', 7, now())", rob.id
    )  # fmt: skip
    await stage.sql("INSERT INTO status_counts (status_id) VALUES (7)")
    assert ids(await ada.get("/api/v1/timelines/home")) == ["7"]
    assert ids(await ada.get("/api/v1/timelines/public")) == ["7"]
    await ada.post("/api/v1/domain_blocks", {"domain": "far.example"})
    assert ids(await ada.get("/api/v1/timelines/home")) == []
    assert ids(await ada.get("/api/v1/timelines/public")) == []
    assert ids(await ada.get(f"{ACCOUNTS}/{rob.id}/statuses")) == ["7"]
    await ada.delete("/api/v1/domain_blocks?domain=far.example")
    assert ids(await ada.get("/api/v1/timelines/home")) == ["7"]
