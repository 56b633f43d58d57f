"""The seed checklist's rows on scheduled statuses, and what the contract says of them beside the rows."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ..clients import Person, Reply, Stage, link
from ..http.uploading import try_to_attach, uploaded
from .rows import rows

STATUSES = "/api/v1/statuses"
SCHEDULED = "/api/v1/scheduled_statuses"
URLENCODED = "application/x-www-form-urlencoded"
HOUR = timedelta(hours=1)
TOO_SOON = "Scheduled at date must be in the future"


def ahead(more: timedelta = HOUR) -> str:
    return (datetime.now(UTC) + more).isoformat()


async def try_to_schedule(person: Person, text: str = "later", *, key: str | None = None, **more: Any) -> Reply:
    headers = {"Idempotency-Key": key} if key else {}
    wanted = {"status": text, "scheduled_at": ahead()} | more
    return await person.send("POST", STATUSES, json=wanted, headers=headers)


async def schedule(person: Person, text: str = "later", **more: Any) -> Any:
    answer = await try_to_schedule(person, text, **more)
    assert answer.status == 200, answer.text
    assert "params" in answer.json
    return answer.json


async def scheduled_by(person: Person) -> list[Any]:
    return await person.done("GET", SCHEDULED)


async def time_comes(stage: Stage, scheduled: Any) -> None:
    """The moment it was scheduled for is over, and everything that follows is done."""
    over = datetime.now(UTC) - timedelta(seconds=1)
    id = int(scheduled["id"])
    await stage.sql("UPDATE scheduled_statuses SET scheduled_at = $2 WHERE id = $1", id, over)
    moved = "UPDATE outbox SET due_at = $2, payload = jsonb_set(payload, '{with,at}', $3) WHERE partition_key = $1"
    await stage.sql(moved, f"scheduled/{id}", over, over.isoformat())
    stage.outbox.wake()
    await stage.until_gone("SELECT id FROM outbox WHERE due_at <= now()")


async def test_a_form_may_leave_the_plus_of_an_offset_as_it_is(ada: Person) -> None:
    form = "status=x&scheduled_at=2999-01-01T10:00:00+02:00"
    made = await ada.post(STATUSES, data=form, headers={"Content-Type": URLENCODED})
    assert (made.status, made.json["scheduled_at"]) == (200, "2999-01-01T08:00:00.000Z")


@pytest.mark.parametrize(
    "text",
    [
        "2999-01-01t08:00:00z",
        "2999-01-01 08:00:00 UTC",
        "2999-01-01 10:00:00 +0200",
        "2999-01-01 08:00:00 +0000 UTC",
        "Tue, 01 Jan 2999 08:00:00 GMT",
        "Tue, 1 Jan 2999 10:00:00 +0200",
        "Tue Jan 01 2999 09:00:00 GMT+0100 (CET)",
    ],
)
async def test_a_time_may_be_written_as_programs_print_it(ada: Person, text: str) -> None:
    assert (await schedule(ada, scheduled_at=text))["scheduled_at"] == "2999-01-01T08:00:00.000Z"


@pytest.mark.parametrize(
    "text",
    [
        "tomorrow",
        "Tue, 01 Jan 2999 08:00:00 BST",
        "Tue Jan 01 2999 08:00:00 GMT (CET)",
        "Tue, 99 Jan 2999 08:00 GMT",
    ],
)
async def test_a_time_that_may_mean_several_is_refused(ada: Person, text: str) -> None:
    answer = await ada.post(STATUSES, {"status": "x", "scheduled_at": text})
    assert (answer.status, answer.json["error"]) == (422, "Record invalid")


async def posts(person: Person) -> list[Any]:
    return (await person.get(f"/api/v1/accounts/{person.id}/statuses")).json


@rows("S014", "S202", "S210")
async def test_a_status_is_scheduled_listed_moved_and_cancelled(stage: Stage, ada: Person) -> None:
    at = datetime.now(UTC).replace(microsecond=250_000) + HOUR
    made = await schedule(ada, scheduled_at=at.isoformat())
    moment = f"{at:%Y-%m-%dT%H:%M:%S}.250Z"
    (application,) = (await stage.rows("SELECT application_id FROM access_tokens WHERE account_id = $1", int(ada.id)))[
        0
    ]
    assert made == {
        "id": made["id"], "scheduled_at": moment, "media_attachments": [],
        "params": {
            "text": "later", "poll": None, "media_ids": None, "sensitive": None, "spoiler_text": None,
            "visibility": "public", "in_reply_to_id": None, "quoted_status_id": None, "quote_approval_policy": None,
            "language": None, "application_id": str(application), "scheduled_at": None, "idempotency": None,
            "with_rate_limit": False,
        },
    }  # fmt: skip
    assert await scheduled_by(ada) == [made]
    assert (await ada.get(f"{SCHEDULED}/{made['id']}")).json == made
    for method in ("PUT", "PATCH"):
        at += HOUR
        moved = await ada.send(method, f"{SCHEDULED}/{made['id']}", json={"scheduled_at": at.isoformat()})
        assert (moved.status, moved.json) == (200, made | {"scheduled_at": f"{at:%Y-%m-%dT%H:%M:%S}.250Z"})
    assert (await ada.put(f"{SCHEDULED}/{made['id']}")).json == moved.json
    assert await posts(ada) == []
    cancelled = await ada.delete(f"{SCHEDULED}/{made['id']}")
    assert (cancelled.status, cancelled.json) == (200, {})
    assert await scheduled_by(ada) == []
    for method in ("GET", "PUT", "DELETE"):
        assert (await ada.send(method, f"{SCHEDULED}/{made['id']}", json={"scheduled_at": ahead()})).status == 404
    assert await stage.rows("SELECT FROM outbox") == []


async def test_one_that_was_stored_before_there_were_quotes_quotes_nothing(stage: Stage, ada: Person) -> None:
    made = await schedule(ada)
    await stage.sql("UPDATE scheduled_statuses SET params = params - 'quoted_status_id'")
    assert await scheduled_by(ada) == [made]
    await time_comes(stage, made)
    assert [one["quote"] for one in await posts(ada)] == [None]


@rows("S202")
async def test_everything_asked_for_is_kept_and_published(stage: Stage, ada: Person, bob: Person) -> None:
    root = await bob.publish("root")
    boost = (await ada.post(f"{STATUSES}/{root['id']}/reblog")).json
    poll = {"options": ["yes", "no"], "expires_in": 600, "multiple": True, "hide_totals": True}
    asked = {
        "spoiler_text": "careful", "visibility": "unlisted", "language": "de", "content_type": "text/markdown",
        "quote_approval_policy": "nobody", "in_reply_to_id": boost["id"], "poll": poll,
    }  # fmt: skip
    made = await schedule(ada, "*hi* @bob #trio", **asked)
    kept = {key: made["params"][key] for key in asked if key != "content_type"}
    assert kept == {key: asked[key] for key in kept} | {"in_reply_to_id": root["id"]}
    await time_comes(stage, made)
    (status,) = [one for one in await posts(ada) if one["reblog"] is None]
    assert status["id"] != made["id"]
    assert int(status["id"]) >> 16 > int(made["id"]) >> 16, "the id is of the moment it is published"
    assert [status[key] for key in ("spoiler_text", "visibility", "language", "sensitive")] == [
        "careful", "unlisted", "de", True,
    ]  # fmt: skip
    assert "<em>hi</em>" in status["content"]
    assert (status["in_reply_to_id"], status["mentions"][0]["acct"]) == (root["id"], "bob")
    assert (status["tags"][0]["name"], status["application"]["name"]) == ("trio", "Test app")
    assert (status["poll"]["multiple"], status["poll"]["expired"]) == (True, False)
    assert [one["type"] for one in (await bob.get("/api/v1/notifications")).json] == ["mention", "reblog"]
    assert await scheduled_by(ada) == []
    assert (await ada.delete(f"{SCHEDULED}/{made['id']}")).status == 404


@pytest.mark.parametrize("more", [timedelta(0), timedelta(seconds=100), timedelta(minutes=5)])
async def test_it_must_be_more_than_five_minutes_ahead(ada: Person, more: timedelta) -> None:
    made = await schedule(ada)
    near = ahead(more + timedelta(milliseconds=-200 if more else 200))
    for answer in (
        await try_to_schedule(ada, scheduled_at=near),
        await ada.put(f"{SCHEDULED}/{made['id']}", {"scheduled_at": near}),
    ):
        assert (answer.status, answer.json) == (422, {"error": f"Validation failed: {TOO_SOON}"})
    assert await scheduled_by(ada) == [made]
    assert await posts(ada) == []


async def test_the_past_means_now_when_it_is_made_and_nothing_when_it_is_moved(ada: Person) -> None:
    answer = await try_to_schedule(ada, "now", scheduled_at=ahead(-HOUR))
    assert (answer.status, answer.json["content"]) == (200, "<p>now</p>")
    assert (await try_to_schedule(ada, "now", scheduled_at="")).json["content"] == "<p>now</p>"
    made = await schedule(ada)
    moved = await ada.put(f"{SCHEDULED}/{made['id']}", {"scheduled_at": ahead(-HOUR)})
    assert (moved.status, moved.json) == (422, {"error": f"Validation failed: {TOO_SOON}"})


@pytest.mark.parametrize(
    "written",
    [
        *("tomorrow", "2026-13-45", "7", "true", "0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-14:00"),
        # The database would keep these as infinities.
        *("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999"),
    ],
)
async def test_an_unreadable_time_is_refused(ada: Person, written: str) -> None:
    made = await schedule(ada)
    for answer in (
        await try_to_schedule(ada, scheduled_at=written),
        await ada.put(f"{SCHEDULED}/{made['id']}", {"scheduled_at": written}),
    ):
        assert (answer.status, answer.json) == (422, {"error": "Record invalid"})
    assert await scheduled_by(ada) == [made]


@pytest.mark.parametrize("written", ["9999-12-31T23:59:59Z", "2100-01-02T03:04:05", "2100-01-02T05:04:05.5+02:00"])
async def test_times_are_read_as_clients_write_them(ada: Person, written: str) -> None:
    made = (await schedule(ada, scheduled_at=written))["scheduled_at"]
    assert made[:19] == ("2100-01-02T03:04:05" if written.startswith("2100") else written[:19])


@pytest.mark.parametrize(
    ("more", "status", "text"),
    [
        ({"status": " "}, 422, "Validation failed: Text can't be blank"),
        ({"status": "x" * 501}, 422, "Validation failed: Text character limit of 500 exceeded"),
        ({"media_ids": ["7"]}, 422, "Media 7 not found or already attached to another post"),
        ({"in_reply_to_id": "7"}, 404, "The post you are trying to reply to does not appear to exist."),
        (
            {"poll": {"options": ["one"], "expires_in": 600}},
            422,
            "Validation failed: Choices must have more than one item",
        ),
    ],
)
async def test_what_could_not_be_published_is_not_scheduled(
    ada: Person, more: dict[str, Any], status: int, text: str
) -> None:
    answer = await try_to_schedule(ada, **more)
    assert (answer.status, answer.json) == (status, {"error": text})
    assert await scheduled_by(ada) == []


async def test_twenty_five_a_day_and_three_hundred_in_all(stage: Stage, ada: Person) -> None:
    """Of twelve days each has its fill."""
    days = [f"2100-01-{number:02}T{{}}Z" for number in range(1, 13)]
    edges = ("00:00:00", "23:59:59.999")
    made = [await schedule(ada, scheduled_at=days[0].format(edges[number % 2])) for number in range(25)]
    today = "You have exceeded the limit of 25 scheduled posts for today"
    full = "You have exceeded the limit of 300 scheduled posts"
    for edge in edges:
        refused = await try_to_schedule(ada, scheduled_at=days[0].format(edge))
        assert (refused.status, refused.json) == (422, {"error": f"Validation failed: {today}"})
    other = await schedule(ada, scheduled_at=days[1].format("00:00:00"))
    there = await ada.put(f"{SCHEDULED}/{other['id']}", {"scheduled_at": days[0].format("12:00:00")})
    assert (there.status, there.json) == (422, {"error": f"Validation failed: {today}"})
    within = await ada.put(f"{SCHEDULED}/{made[0]['id']}", {"scheduled_at": days[0].format("12:00:00")})
    assert within.status == 200
    await stage.sql(
        "INSERT INTO scheduled_statuses (id, account_id, scheduled_at, params, created_at)"
        " SELECT n, $1, '2101-01-01', '{}', now() FROM generate_series(1, 274) n",
        ada.account.id,
    )
    refused = await try_to_schedule(ada)
    assert (refused.status, refused.json) == (422, {"error": f"Validation failed: {full}"})
    both = await try_to_schedule(ada, scheduled_at=days[0].format("12:00:00"))
    assert both.json == {"error": f"Validation failed: {full}, {today}"}
    assert (await ada.delete(f"{SCHEDULED}/{other['id']}")).status == 200
    await schedule(ada)


async def test_the_list_leads_through_all_both_ways(ada: Person, bob: Person) -> None:
    made = [(await schedule(ada, str(number)))["id"] for number in range(5)][::-1]
    await schedule(bob)
    page = await ada.get(f"{SCHEDULED}?limit=2")
    assert [one["id"] for one in page.json] == made[:2]
    page = await ada.get(link(page, "next"))
    assert [one["id"] for one in page.json] == made[2:4]
    assert [one["id"] for one in (await ada.get(link(page, "prev"))).json] == made[:2]
    last = await ada.get(link(page, "next"))
    assert [one["id"] for one in last.json] == made[4:]
    assert 'rel="next"' not in last.headers["Link"]


async def test_its_media_are_reserved_until_it_is_cancelled(stage: Stage, ada: Person) -> None:
    first, second = await uploaded(ada), await uploaded(ada)
    made = await schedule(ada, "", media_ids=[second["id"], first["id"]])
    assert made["media_attachments"] == [second, first]
    assert made["params"]["media_ids"] == [second["id"], first["id"]]
    taken = f"Media {first['id']} not found or already attached to another post"
    for refused in (
        await try_to_attach(ada, first["id"]),
        await try_to_schedule(ada, media_ids=[first["id"]]),
        await ada.put(f"{STATUSES}/{(await ada.publish())['id']}", {"status": "x", "media_ids[]": first["id"]}),
    ):
        assert (refused.status, refused.json) == (422, {"error": taken})
    path = f"/api/v1/media/{first['id']}"
    assert (await ada.delete(path)).json == {"error": "Media attachment is currently used by a status"}
    await stage.sql("UPDATE media_attachments SET updated_at = now() - interval '2 days'")
    await stage.http_context.media.cleaning.clean()
    assert (await scheduled_by(ada))[0]["media_attachments"] == [second, first]
    await ada.delete(f"{SCHEDULED}/{made['id']}")
    await stage.http_context.media.cleaning.clean()
    assert (await ada.send("PUT", path, form={"description": "x"})).status == 200
    assert (await try_to_attach(ada, first["id"], second["id"])).status == 200


async def test_its_media_are_described_until_it_is_published(stage: Stage, ada: Person, bob: Person) -> None:
    medium = await uploaded(ada)
    path = f"/api/v1/media/{medium['id']}"
    made = await schedule(ada, media_ids=[medium["id"]])
    described = await ada.done("PUT", path, {"description": "a gull"})
    assert described == medium | {"description": "a gull"} == await ada.done("GET", path)
    assert (await scheduled_by(ada))[0]["media_attachments"] == [described]
    assert (await bob.put(path, {"description": "mine"})).status == 404
    await time_comes(stage, made)
    assert (await posts(ada))[0]["media_attachments"] == [described]
    for method in ("GET", "PUT"):
        assert (await ada.send(method, path, form={"description": "late"})).status == 404


async def test_its_media_are_published_with_it(stage: Stage, ada: Person) -> None:
    medium = await uploaded(ada)
    await time_comes(stage, await schedule(ada, media_ids=[medium["id"]]))
    assert (await posts(ada))[0]["media_attachments"] == [medium]


async def test_a_repeated_key_gives_the_same_and_never_a_second(stage: Stage, ada: Person) -> None:
    made = await schedule(ada, key="once")
    assert await schedule(ada, key="once") == made
    soon = await try_to_schedule(ada, key="once", scheduled_at=ahead(timedelta(minutes=1)))
    assert (soon.status, soon.json) == (200, made), "by the time of a repeat it may be soon"
    late = await try_to_schedule(ada, key="once", scheduled_at=ahead(-HOUR))
    assert (late.status, late.json) == (200, made)
    await time_comes(stage, made)
    (status,) = await posts(ada)
    for more in (HOUR, -HOUR):
        assert (await try_to_schedule(ada, key="once", scheduled_at=ahead(more))).json["id"] == status["id"]
    assert (await schedule(ada, key="twice"))["id"] != made["id"]
    gone = await schedule(ada, key="gone")
    await ada.delete(f"{SCHEDULED}/{gone['id']}")
    assert (await schedule(ada, key="gone"))["id"] != gone["id"]
    refused = await try_to_schedule(ada, "", key="failed")
    assert refused.status == 422
    await schedule(ada, key="failed")
    assert len(await posts(ada)) == 1


async def test_others_see_nothing_of_it(ada: Person, bob: Person) -> None:
    made = await schedule(ada)
    for method in ("GET", "PUT", "DELETE"):
        answer = await bob.send(method, f"{SCHEDULED}/{made['id']}", json={"scheduled_at": ahead()})
        assert (answer.status, answer.json) == (404, {"error": "Record not found"})
    assert await scheduled_by(bob) == []
    assert await scheduled_by(ada) == [made]


@pytest.mark.parametrize("state", ["users SET disabled_at", "accounts SET suspended_at"])
async def test_who_may_not_post_any_more_finds_it_in_the_list_afterwards(stage: Stage, ada: Person, state: str) -> None:
    made = await schedule(ada)
    key = "account_id" if state.startswith("users") else "id"
    await stage.sql(f"UPDATE {state} = now() WHERE {key} = $1", ada.account.id)
    await time_comes(stage, made)
    await stage.sql(f"UPDATE {state} = NULL WHERE {key} = $1", ada.account.id)
    assert await posts(ada) == []
    assert [one["id"] for one in await scheduled_by(ada)] == [made["id"]]
    assert (await ada.put(f"{SCHEDULED}/{made['id']}", {"scheduled_at": ahead()})).status == 200
    await time_comes(stage, made)
    assert [one["content"] for one in await posts(ada)] == ["<p>later</p>"]
    assert await scheduled_by(ada) == []


async def test_who_has_moved_finds_it_in_the_list_when_back(stage: Stage, ada: Person, bob: Person) -> None:
    made = await schedule(ada)
    await stage.sql("UPDATE accounts SET moved_to_id = $2 WHERE id = $1", ada.account.id, bob.account.id)
    await time_comes(stage, made)
    await stage.sql("UPDATE accounts SET moved_to_id = NULL WHERE id = $1", ada.account.id)
    assert await posts(ada) == []
    assert [one["id"] for one in await scheduled_by(ada)] == [made["id"]]


async def test_an_answer_to_what_is_gone_stays_in_the_list(stage: Stage, ada: Person, bob: Person) -> None:
    root = await bob.publish("root")
    made = await schedule(ada, "I agree", in_reply_to_id=root["id"], key="once")
    await bob.delete(f"{STATUSES}/{root['id']}")
    assert await schedule(ada, "I agree", in_reply_to_id=root["id"], key="once") == made
    await time_comes(stage, made)
    assert await posts(ada) == []
    assert [one["params"]["text"] for one in await scheduled_by(ada)] == ["I agree"]
    assert (await ada.delete(f"{SCHEDULED}/{made['id']}")).status == 200


async def test_what_has_lost_its_media_stays_in_the_list(stage: Stage, ada: Person) -> None:
    first, second = await uploaded(ada), await uploaded(ada)
    made = await schedule(ada, "look", media_ids=[first["id"], second["id"]])
    await stage.sql("DELETE FROM media_attachments WHERE id = $1", int(first["id"]))
    await time_comes(stage, made)
    assert await posts(ada) == []
    (kept,) = await scheduled_by(ada)
    assert kept["media_attachments"] == [second]


async def test_what_is_scheduled_goes_with_its_account_and_outlives_its_app(stage: Stage, ada: Person) -> None:
    made = await schedule(ada)
    await stage.sql("UPDATE scheduled_statuses SET application_id = NULL")  # as its deletion does
    assert (await scheduled_by(ada))[0]["params"]["application_id"] is None
    await stage.sql("DELETE FROM accounts WHERE id = $1", ada.account.id)
    assert await stage.rows("SELECT FROM scheduled_statuses") == []
    await time_comes(stage, made)
    assert await stage.rows("SELECT FROM statuses") == []


async def test_a_silenced_authors_becomes_unlisted(stage: Stage, ada: Person) -> None:
    made = await schedule(ada, visibility="public")
    await stage.sql("UPDATE accounts SET silenced_at = now() WHERE id = $1", ada.account.id)
    await time_comes(stage, made)
    assert (await posts(ada))[0]["visibility"] == "unlisted"


async def test_no_account_is_mentioned_by_accident(stage: Stage, ada: Person, bob: Person) -> None:
    refused = await try_to_schedule(ada, "@bob", allowed_mentions=[])
    assert (refused.status, refused.json["error"]) == (422, "Post would be sent to unexpected accounts")
    assert [account["id"] for account in refused.json["unexpected_accounts"]] == [bob.id]
    assert await scheduled_by(ada) == []

    await time_comes(stage, await schedule(ada, "@bob", allowed_mentions=[bob.id]))
    assert len(await posts(ada)) == 1


async def test_an_account_that_is_new_at_the_time_is_not_mentioned_by_accident(stage: Stage, ada: Person) -> None:
    scheduled = await schedule(ada, "@carol", allowed_mentions=[])
    await stage.person("carol")
    await time_comes(stage, scheduled)
    assert ([one["id"] for one in await scheduled_by(ada)], await posts(ada)) == ([scheduled["id"]], [])


@pytest.mark.parametrize("change", ["none", "policy", "deletion", "block"])
async def test_a_scheduled_quote_is_published_if_it_may_be_then(
    stage: Stage, ada: Person, bob: Person, change: str
) -> None:
    post = await ada.publish("a needle")
    made = await schedule(bob, quoted_status_id=post["id"])
    assert made["params"]["quoted_status_id"] == post["id"]
    assert await scheduled_by(bob) == [made]
    if change == "policy":
        path = f"{STATUSES}/{post['id']}/interaction_policy"
        assert (await ada.put(path, {"quote_approval_policy": "nobody"})).status == 200
    elif change == "deletion":
        await ada.delete(f"{STATUSES}/{post['id']}")
    elif change == "block":
        await ada.post(f"/api/v1/accounts/{bob.id}/block")
    await time_comes(stage, made)
    published = await posts(bob)
    assert [one["quote"]["quoted_status"]["id"] for one in published] == ([post["id"]] if change == "none" else [])
    left = [] if change == "none" else [made["id"]]
    assert [one["id"] for one in (await bob.get("/api/v1/scheduled_statuses")).json] == left


async def test_what_may_not_be_quoted_is_not_scheduled(ada: Person, bob: Person) -> None:
    closed = await ada.publish(quote_approval_policy="nobody")
    for id in (closed["id"], "7"):
        answer = await try_to_schedule(bob, quoted_status_id=id)
        assert (answer.status, answer.json) == (
            404,
            {"error": "The post you are trying to quote does not appear to exist."},
        )
    answer = await try_to_schedule(bob, quoted_status_id=closed["id"], media_ids=["7"])
    assert (answer.status, answer.json) == (
        422,
        {"error": "Validation failed: A post with a quote can't have media or a poll"},
    )
    await bob.post(f"/api/v1/accounts/{ada.id}/block")
    answer = await try_to_schedule(bob, quoted_status_id=(await ada.publish())["id"])
    assert (answer.status, answer.json) == (403, {"error": "This action is not allowed"})


async def test_a_key_whose_scheduled_status_is_gone_makes_another_one(stage: Stage, ada: Person) -> None:
    first = await schedule(ada, key="once")
    assert (await schedule(ada, key="once"))["id"] == first["id"]
    assert (await ada.delete(f"{SCHEDULED}/{first['id']}")).status == 200
    second = await schedule(ada, key="once")
    assert second["id"] != first["id"]
    await time_comes(stage, second)
    (published,) = await posts(ada)
    assert (await try_to_schedule(ada, key="once")).json["id"] == published["id"]
    assert (await ada.delete(f"{STATUSES}/{published['id']}")).status == 200
    assert (await schedule(ada, key="once"))["id"] not in (first["id"], second["id"])
