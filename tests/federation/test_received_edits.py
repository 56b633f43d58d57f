"""An Update with another content is an edit, whatever its times say, unless a newer one is known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ..clients import Person, Stage
from .delivering import HOME, act, create, note, take
from .peer import ForeignServer

ADA = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada@home.test"}
AT = "2026-11-01T10:00:00Z"


def post(eve: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A post that names ada, published at a whole second."""
    return note(eve, cc=[ADA["href"]], tag=[ADA], published=AT, content="<p>first</p>") | changes


async def shown(stage: Stage, ada: Person) -> dict[str, Any]:
    ((id,),) = await stage.rows("SELECT id FROM statuses WHERE NOT local")
    return await ada.done("GET", f"/api/v1/statuses/{id}")


async def texts(stage: Stage, ada: Person) -> list[str]:
    """Return the text of each state."""
    ((id,),) = await stage.rows("SELECT id FROM statuses WHERE NOT local")
    return [one["content"] for one in await ada.done("GET", f"/api/v1/statuses/{id}/history")]


TIMES = {
    "equal to the time of publication": {"updated": AT},
    "missing": {},
    "before the publication": {"updated": "2026-10-31T10:00:00Z"},
    "no time": {"updated": "yesterday"},
    "a number": {"updated": 1761991200},
    "both set anew": {"published": "2026-11-01T10:00:07Z", "updated": "2026-11-01T10:00:07Z"},
    "later": {"updated": "2026-11-01T10:00:01Z"},
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("before", [{}, {"updated": AT}], ids=["without a time", "with one"])
async def test_another_content_is_an_edit_whatever_its_times_say(
    stage: Stage, ada: Person, peer: ForeignServer, before: dict[str, Any], times: dict[str, Any]
) -> None:
    eve = peer.person("eve")
    await take(stage, create(eve, post(eve, **before)))
    assert (await shown(stage, ada))["edited_at"] is None
    begun = datetime.now(UTC)
    await take(stage, act(eve, "Update", post(eve, content="<p>second</p>", **times)))
    edited = await shown(stage, ada)
    assert edited["content"] == "<p>second</p>"
    later = times.get("updated") in ("2026-11-01T10:00:07Z", "2026-11-01T10:00:01Z")
    at = datetime.fromisoformat(edited["edited_at"])
    assert at == datetime.fromisoformat(str(times["updated"])) if later else begun - timedelta(milliseconds=1) <= at
    assert edited["created_at"] == "2026-11-01T10:00:00.000Z"
    assert await texts(stage, ada) == ["<p>first</p>", "<p>second</p>"]


@pytest.mark.parametrize("times", [{"updated": AT}, {}, {"updated": "2026-11-01T10:00:01Z"}])
async def test_edits_of_one_second_all_apply_in_their_order(
    stage: Stage, ada: Person, peer: ForeignServer, times: dict[str, Any]
) -> None:
    """GoToSocial writes whole seconds, and its author has corrected the post twice, and taken that back."""
    eve = peer.person("eve")
    await take(stage, create(eve, post(eve)))
    seen: list[str] = []
    for number, text in enumerate(("<p>second</p>", "<p>third</p>", "<p>first</p>")):
        await take(stage, act(eve, "Update", post(eve, content=text, **times), number))
        seen.append((await shown(stage, ada))["edited_at"])
    assert await texts(stage, ada) == ["<p>first</p>", "<p>second</p>", "<p>third</p>", "<p>first</p>"]
    assert seen == sorted(set(seen)), "each has a later time"


async def test_an_edit_that_reads_as_older_than_the_arrival_of_the_one_before_is_applied(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """What is shown of the first edit is the time of its arrival. The second one was made a second after the first."""
    eve = peer.person("eve")
    await take(stage, create(eve, post(eve)))
    await take(stage, act(eve, "Update", post(eve, content="<p>second</p>", updated=AT)))
    first = (await shown(stage, ada))["edited_at"]
    await take(stage, act(eve, "Update", post(eve, content="<p>third</p>", updated="2026-11-01T10:00:01Z"), 2))
    edited = await shown(stage, ada)
    assert (edited["content"], edited["edited_at"] > first) == ("<p>third</p>", True)


@pytest.mark.parametrize("newer", ["2026-11-01T10:00:05Z", "2026-11-01T10:00:02Z"])
async def test_an_older_edit_that_comes_again_undoes_nothing(
    stage: Stage, ada: Person, peer: ForeignServer, newer: str
) -> None:
    eve = peer.person("eve")
    await take(stage, create(eve, post(eve)))
    older = act(eve, "Update", post(eve, content="<p>second</p>", updated="2026-11-01T10:00:01Z"))
    await take(stage, older)
    await take(stage, act(eve, "Update", post(eve, content="<p>third</p>", updated=newer), 2))
    await take(stage, older, late=timedelta(minutes=2))
    assert await texts(stage, ada) == ["<p>first</p>", "<p>second</p>", "<p>third</p>"]


async def test_an_older_edit_is_known_by_a_later_one_with_the_same_content(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """It was edited and edited back, and the two activities come in the other order."""
    eve = peer.person("eve")
    await take(stage, create(eve, post(eve)))
    await take(stage, act(eve, "Update", post(eve, updated="2026-11-01T10:00:02Z"), 2))
    await take(stage, act(eve, "Update", post(eve, content="<p>second</p>", updated="2026-11-01T10:00:01Z")))
    assert ((await shown(stage, ada))["content"], (await shown(stage, ada))["edited_at"]) == ("<p>first</p>", None)


def file(number: int, **more: Any) -> dict[str, Any]:
    return {"type": "Image", "mediaType": "image/png", "url": f"https://peer.test/{number}.png", **more}


CONTENTS: dict[str, dict[str, Any]] = {
    "text": {"content": "<p>first!</p>"},
    "a link behind the same text": {"content": '<p><a href="https://example.com/">first</a></p>'},
    "warning": {"summary": "cw", "sensitive": True},
    "language": {"contentMap": {"pt": "<p>first</p>"}},
    "sensitive": {"sensitive": True},
    "a file more": {"attachment": [file(1, name="a cat"), file(2)]},
    "no files": {"attachment": []},
    "another file": {"attachment": [file(2, name="a cat")]},
    "its description": {"attachment": [file(1, name="a dog")]},
    "its focus": {"attachment": [file(1, name="a cat", focalPoint=[0.5, -0.5])]},
    "a hashtag": {"tag": [ADA, {"type": "Hashtag", "name": "#tea"}]},
    "no quote": {"quote": None},
}


@pytest.mark.parametrize("changes", CONTENTS.values(), ids=CONTENTS)
async def test_what_is_content(stage: Stage, ada: Person, peer: ForeignServer, changes: dict[str, Any]) -> None:
    eve = peer.person("eve")
    mine = (await ada.post("/api/v1/statuses", json={"status": "hello", "quote_approval_policy": "public"})).json
    document = post(eve, attachment=[file(1, name="a cat")], quote=mine["uri"], updated=AT)
    await take(stage, create(eve, document))
    await take(stage, act(eve, "Update", document))
    assert ((await shown(stage, ada))["edited_at"], await texts(stage, ada)) == (None, ["<p>first</p>"])
    await take(stage, act(eve, "Update", document | changes, 2))
    assert (await shown(stage, ada))["edited_at"] is not None
    assert len(await texts(stage, ada)) == 2


@pytest.mark.parametrize(
    "same",
    [{}, {"updated": "2026-11-01T10:00:09Z"}, {"updated": AT, "published": "2026-11-01T10:00:09Z"}, {"likes": {}}],
)
async def test_the_same_content_is_no_edit(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer, same: dict[str, Any]
) -> None:
    """A booster is told of edits."""
    eve = peer.person("eve")
    document = post(
        eve, type="Question", attachment=[file(1, name="a cat")], summary="cw", contentMap={"en": "<p>first</p>"},
        oneOf=[choice("tea", 1), choice("coffee", 2)], endTime="2099-01-01T00:00:00Z",
    )  # fmt: skip
    await take(stage, create(eve, document))
    status = await shown(stage, ada)
    assert (await bob.post(f"/api/v1/statuses/{status['id']}/reblog")).status == 200
    counts = {"oneOf": [choice("tea", 0), choice("coffee", 3)]}
    await take(stage, act(eve, "Update", document | same | counts, 2))
    now = await shown(stage, ada)
    assert (now["edited_at"], await texts(stage, ada)) == (None, ["<p>first</p>"])
    assert [one["votes_count"] for one in now["poll"]["options"]] == [0, 3], "counts may also go down"
    assert (await bob.get("/api/v1/notifications?types[]=update")).json == []


def choice(name: str, votes: int) -> dict[str, Any]:
    return {"type": "Note", "name": name, "replies": {"type": "Collection", "totalItems": votes}}


@pytest.mark.parametrize("closed", ["2026-11-01T12:00:00Z", True])
async def test_a_poll_that_is_closed_early_has_ended_until_it_is_edited(
    stage: Stage, ada: Person, peer: ForeignServer, closed: object
) -> None:
    eve = peer.person("eve")
    document = post(eve, type="Question", oneOf=[choice("tea", 5)], endTime="2099-01-01T00:00:00Z", updated=AT)
    await take(stage, create(eve, document))
    poll = (await shown(stage, ada))["poll"]
    assert (poll["expired"], poll["expires_at"]) == (False, "2099-01-01T00:00:00.000Z")
    for number, votes in enumerate((6, 7)):
        await take(stage, act(eve, "Update", document | {"closed": closed, "oneOf": [choice("tea", votes)]}, number))
        poll = (await shown(stage, ada))["poll"]
        assert (poll["expired"], poll["votes_count"]) == (True, votes)
    vote = await ada.post(f"/api/v1/polls/{poll['id']}/votes", json={"choices": ["0"]})
    assert (vote.status, vote.json["error"]) == (422, "Validation failed: The poll has already ended")
    ends = poll["expires_at"]
    await take(stage, act(eve, "Update", document | {"content": "<p>once more</p>"}, 3))
    poll = (await shown(stage, ada))["poll"]
    assert (poll["expired"], poll["expires_at"], ends < poll["expires_at"]) == (False, "2099-01-01T00:00:00.000Z", True)


@pytest.mark.parametrize(
    "other", [{"oneOf": [choice("tea", 0), choice("milk", 0)]}, {"oneOf": None, "anyOf": [choice("tea", 0)]}]
)
async def test_other_options_are_another_poll_also_within_the_same_second(
    stage: Stage, ada: Person, peer: ForeignServer, other: dict[str, Any]
) -> None:
    eve = peer.person("eve")
    document = post(eve, type="Question", oneOf=[choice("tea", 5)], endTime="2099-01-01T00:00:00Z", updated=AT)
    await take(stage, create(eve, document))
    await take(stage, act(eve, "Update", document | other))
    edited = await shown(stage, ada)
    assert (edited["edited_at"] is not None, edited["poll"]["votes_count"]) == (True, 0)


async def test_what_staff_have_marked_is_no_edit_of_its_author(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    document = post(eve, type="Question", oneOf=[choice("tea", 5)], updated=AT)
    await take(stage, create(eve, document))
    ((id, account_id),) = await stage.rows("UPDATE statuses SET sensitive = true RETURNING id, account_id")
    await stage.sql(
        "INSERT INTO strikes (id, target_account_id, action, status_ids, created_at) VALUES (1, $1, $2, $3, now())",
        account_id, "mark_statuses_as_sensitive", [id],
    )  # fmt: skip
    await take(stage, act(eve, "Update", document | {"oneOf": [choice("tea", 6)]}))
    now = await shown(stage, ada)
    assert (now["sensitive"], now["edited_at"], now["poll"]["votes_count"]) == (True, None, 6)
