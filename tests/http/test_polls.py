"""Polls: asked, answered, ended."""

from typing import Any

import pytest
import trio

from troupe.actors.broadcast.broadcast import account_address, home_address
from troupe.actors.broadcast.events import NotificationShown
from troupe.actors.kernel import Feed

from ..checklist.rows import rows
from ..clients import Person, Stage

FORM = "status=%3F&poll[options][]=yes&poll[options][]=no&poll[expires_in]=300&poll[multiple]=true"

ALREADY, NO_OPTION = "You have already voted on this poll", "The chosen vote option does not exist"


async def ask(person: Person, text: str = "?", **more: Any) -> Any:
    return await person.done("POST", "/api/v1/statuses", json={"status": text, "poll": poll(**more)})


def poll(**more: Any) -> dict[str, Any]:
    return {"options": ["yes", "no"], "expires_in": 300} | more


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ({"options": ["a"]}, "Choices must have more than one item"),
        ({"options": ["a", " "]}, "Choices must have more than one item"),
        ({"options": list("abcde")}, "Choices can't contain more than 4 items"),
        ({"options": ["a", "b" * 51]}, "Choices cannot be longer than 50 characters each"),
        ({"options": ["a", "\x01\ufeff"]}, "Choices must have more than one item"),
        ({"options": ["a", "a "]}, "Choices contain duplicate items"),
        ({"options": []}, "Choices can't be blank, Choices must have more than one item"),
        ({"expires_in": 299}, "Deadline is too soon"),
        ({"expires_in": "x"}, "Deadline is too soon"),
        ({"expires_in": -(10**17)}, "Deadline is too soon"),
        ({"expires_in": 2629747}, "Deadline is too far into the future"),
        ({"expires_in": 10**17}, "Deadline is too far into the future"),
        ({"expires_in": None}, "Deadline can't be blank"),
    ],
)
async def test_what_can_be_no_poll(ada: Person, terms: dict[str, Any], text: str) -> None:
    answer = await ada.send("POST", "/api/v1/statuses", json={"status": "?", "poll": poll(**terms)})
    assert (answer.status, answer.json) == (422, {"error": f"Validation failed: {text}"})


@rows("S005", "S048", "S200", "S202")
async def test_a_poll_is_part_of_its_status(stage: Stage, ada: Person) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    status = (await ada.send("POST", "/api/v1/statuses", data=FORM, headers=form)).json
    asked = status["poll"]
    assert {key: value for key, value in asked.items() if key not in ("id", "expires_at")} == {
        "expired": False, "multiple": True, "votes_count": 0, "voters_count": 0, "emojis": [], "voted": True,
        "own_votes": [], "options": [{"title": "yes", "votes_count": 0}, {"title": "no", "votes_count": 0}],
    }  # fmt: skip
    anybody = (await stage.anybody().get(f"/api/v1/polls/{asked['id']}")).json
    assert anybody == {key: value for key, value in asked.items() if key not in ("voted", "own_votes")}
    assert (await ada.get(f"/api/v1/polls/{asked['id']}")).json == asked
    assert (await ada.publish("no poll"))["poll"] is None
    assert (await ada.publish("no poll", poll=""))["poll"] is None
    deleted = (await ada.delete(f"/api/v1/statuses/{status['id']}")).json
    assert (deleted["poll"]["id"], "content" in deleted) == (asked["id"], False)
    assert (await ada.get(f"/api/v1/polls/{asked['id']}")).status == 404


async def test_options_are_lines_of_plain_text(ada: Person) -> None:
    asked = (await ask(ada, options=[" <b>one\x07\ntwo</b>", "\r\nthree"]))["poll"]
    assert [option["title"] for option in asked["options"]] == ["<b>one two</b>", "three"]


@rows("S054")
async def test_a_vote_counts_and_shows(ada: Person, bob: Person) -> None:
    status = await ask(ada)
    path = f"/api/v1/polls/{status['poll']['id']}"
    answer = (await bob.post(f"{path}/votes", {"choices[]": "1"})).json
    assert (answer["voted"], answer["own_votes"], answer["votes_count"], answer["voters_count"]) == (True, [1], 1, 1)
    assert [option["votes_count"] for option in answer["options"]] == [0, 1]
    seen = (await ada.get(f"/api/v1/statuses/{status['id']}")).json["poll"]
    assert (seen["votes_count"], seen["own_votes"]) == (1, [])
    assert [option["votes_count"] for option in seen["options"]] == [0, 1]
    assert (await bob.get(f"/api/v1/statuses/{status['id']}")).json["poll"] == answer


async def test_own_votes_are_in_the_order_of_voting(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ask(ada, options=["a", "b", "c", "d"], multiple=True)
    path = f"/api/v1/polls/{status['poll']['id']}"
    await bob.post(f"{path}/votes", {"choices[]": "3"})
    answer = await bob.send("POST", f"{path}/votes", json={"choices": [2, 0]})
    assert answer.json["own_votes"] == [3, 2, 0]
    stage.http_context.runtime.resync(account_address(bob.account.id))
    assert (await bob.get(path)).json["own_votes"] == [3, 2, 0]


@pytest.mark.parametrize(
    ("multiple", "calls"),
    [
        (False, [([0, 1], ALREADY), ([0], None), ([1], ALREADY)]),
        (True, [([0, 0], ALREADY), ([0], None), ([1, 0], ALREADY), ([1], None)]),
        (True, [([2], NO_OPTION), (["x"], NO_OPTION), ([-1], NO_OPTION), ([0, 1], None)]),
    ],
)
async def test_votes_are_final_and_whole(ada: Person, bob: Person, multiple: bool, calls: list[Any]) -> None:
    status = await ask(ada, multiple=multiple)
    path, votes = f"/api/v1/polls/{status['poll']['id']}", set[int]()
    for choices, text in calls:
        answer = await bob.send("POST", f"{path}/votes", json={"choices": choices})
        assert answer.status == (422 if text else 200)
        if text:
            assert answer.json == {"error": f"Validation failed: {text}"}
        else:
            votes |= set(choices)
        now = (await bob.get(path)).json
        assert (set(now["own_votes"]), now["votes_count"], now["voters_count"]) == (votes, len(votes), bool(votes))


async def test_voters_that_a_poll_refuses(stage: Stage, ada: Person, bob: Person) -> None:
    path = f"/api/v1/polls/{(await ask(ada))['poll']['id']}/votes"
    own = await ada.post(path, {"choices[]": "0"})
    assert (own.status, own.json) == (422, {"error": "Validation failed: You cannot vote in your own polls"})
    empty = await bob.post(path)
    assert (empty.status, empty.json) == (400, {"error": "param is missing or the value is empty: choices"})
    assert (await stage.anybody().post(path, {"choices[]": "0"})).status == 401
    assert (await bob.post("/api/v1/polls/1/votes", {"choices[]": "0"})).status == 404


async def test_votes_across_a_block_are_refused(ada: Person, bob: Person) -> None:
    """Whether the one who asks is blocked, or blocks and has named the other in private."""
    named = {"status": "@bob ?", "visibility": "private", "poll": poll()}
    status = (await ada.send("POST", "/api/v1/statuses", json=named)).json
    path = f"/api/v1/polls/{status['poll']['id']}/votes"
    for one, other in ((bob, ada), (ada, bob)):
        await one.post(f"/api/v1/accounts/{other.id}/block")
        refused = await bob.post(path, {"choices[]": "0"})
        assert (refused.status, refused.json) == (403, {"error": "This action is not allowed"})
        await one.post(f"/api/v1/accounts/{other.id}/unblock")
    assert (await bob.post(path, {"choices[]": "0"})).status == 200


@rows("S202")
async def test_totals_stay_hidden_until_the_end(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ask(ada, hide_totals=True)
    assert [option["votes_count"] for option in status["poll"]["options"]] == [None, None]
    path = f"/api/v1/polls/{status['poll']['id']}"
    await bob.post(f"{path}/votes", {"choices[]": "0"})
    assert [option["votes_count"] for option in (await bob.get(path)).json["options"]] == [None, None]
    await end(stage, status)
    ended = (await bob.get(path)).json
    assert (ended["expired"], [option["votes_count"] for option in ended["options"]]) == (True, [1, 0])


async def test_an_ended_poll_tells_its_author_and_voters_once(stage: Stage, ada: Person, bob: Person) -> None:
    cyd = await stage.person("cyd")
    status = await ask(ada)
    path = f"/api/v1/polls/{status['poll']['id']}/votes"
    await bob.post(path, {"choices[]": "0"})
    ears = [await Ear.at(stage, ada), await Ear.at(stage, bob)]
    await end(stage, status)
    late = await cyd.post(path, {"choices[]": "0"})
    assert (late.status, late.json) == (422, {"error": "Validation failed: The poll has already ended"})
    for ear in ears:
        with trio.fail_after(30):
            assert await ear.hears() == "poll"
    told = await stage.rows("SELECT account_id, from_account_id, type FROM notifications")
    assert sorted(told) == sorted([person.account.id, ada.account.id, "poll"] for person in (ada, bob))


class Ear:
    """A subscriber of a person's streams, for one notification."""

    def __init__(self) -> None:
        self.room = 0
        self.blocked_since: float | None = None
        self._heard = trio.Event()
        self._type = ""

    @classmethod
    async def at(cls, stage: Stage, person: Person) -> "Ear":
        ear = cls()
        await stage.http_context.runtime.subscribe(home_address(person.account.id), ear)
        return ear

    def wake(self, feed: Feed) -> None:
        for logged in feed.read(self, 1):
            event = logged.event
            assert isinstance(event, NotificationShown)
            self._type = event.notification.notification.type
            self._heard.set()

    def cut(self) -> None:
        self._heard.set()

    async def hears(self) -> str:
        await self._heard.wait()
        return self._type


async def end(stage: Stage, status: Any) -> None:
    """Let the poll's time be over."""
    over = "now() - interval '1 second'"
    await stage.sql(f"UPDATE polls SET expires_at = {over} WHERE id = $1", int(status["poll"]["id"]))
    await stage.sql(f"UPDATE outbox SET due_at = {over} WHERE kind = 'poll'")
    stage.http_context.statuses.clear()
