"""Votes of other servers: a note is a vote if its name is an option of the poll that it answers."""

from __future__ import annotations

from typing import Any

import pytest

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, act, take, vote
from .peer import ForeignServer

COUNTS = "SELECT votes FROM poll_options ORDER BY position"


async def poll(ada: Person, *options: str, multiple: bool = False) -> dict[str, Any]:
    terms = {"options": list(options or ("tea", "coffee")), "expires_in": 3600, "multiple": multiple}
    return await ada.done("POST", "/api/v1/statuses", json={"status": "which?", "poll": terms})


async def counts(stage: Stage) -> list[int]:
    return [votes for (votes,) in await stage.rows(COUNTS)]


async def told(ada: Person) -> list[str]:
    return [one["status"]["content"] for one in await ada.done("GET", "/api/v1/notifications?types[]=mention")]


ADDRESSED: dict[str, Any] = {"tag": [{"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada"}]}
VOTES: dict[str, dict[str, Any]] = {
    "a name alone": {},
    "an empty line": {"content": "<br>"},
    "an empty paragraph": {"content": "<p></p>"},
    "a space": {"content": "<p>&nbsp;</p>\n"},
    "an empty text by language": {"contentMap": {"en": "<br/>"}},
    "no text": {"content": None},
    "its name as a text": {"content": "coffee"},
    "another text": {"content": "<p>I prefer coffee</p>"},
    "an empty list of files": {"attachment": []},
}


@pytest.mark.parametrize("changes", VOTES.values(), ids=list(VOTES))
async def test_a_note_with_the_name_of_an_option_is_a_vote(
    stage: Stage, ada: Person, peer: ForeignServer, changes: dict[str, Any]
) -> None:
    eve, status = peer.person("eve"), await poll(ada)
    for number in range(2):
        await take(stage, vote(eve, status["uri"], "coffee", number, **ADDRESSED, **changes))
        assert await counts(stage) == [0, 1], "once, also if it comes twice"
    assert (await told(ada), await stage.rows("SELECT id FROM statuses WHERE NOT local")) == ([], [])


ANSWERS: dict[str, dict[str, Any]] = {
    "no name": {"name": None, "content": "<p>neither</p>"},
    "another name": {"name": "An answer", "content": "<p>neither</p>"},
    "an empty name": {"name": "", "content": "<p>neither</p>"},
    "a name by language": {"name": None, "nameMap": {"en": "An answer"}, "content": "<p>neither</p>"},
}


@pytest.mark.parametrize("changes", ANSWERS.values(), ids=list(ANSWERS))
async def test_what_has_a_text_of_its_own_and_no_such_name_is_an_answer(
    stage: Stage, ada: Person, peer: ForeignServer, changes: dict[str, Any]
) -> None:
    eve, status = peer.person("eve"), await poll(ada)
    await take(stage, vote(eve, status["uri"], "x", to=[PUBLIC, f"{HOME}/users/ada"], **ADDRESSED | changes))
    assert (await counts(stage), await told(ada)) == ([0, 0], ["<p>neither</p>"])
    (answer,) = (await ada.done("GET", f"/api/v1/statuses/{status['id']}/context"))["descendants"]
    assert answer["in_reply_to_id"] == status["id"]


@pytest.mark.parametrize(
    ("titles", "named", "expected"),
    [
        (("tea", "coffee"), "milk", [0, 0]),
        (("tea", "coffee"), " coffee\n", [0, 1]),
        (("tea", "coffee"), "Coffee", [0, 0]),
        (("the\u0301", "cafe\u0301"), "caf\u00e9", [0, 1]),
        (("th\u00e9", "caf\u00e9"), "cafe\u0301", [0, 1]),
        (("green tea", "coffee"), "green  tea", [1, 0]),
        (("th\u00e9", "the\u0301"), "the\u0301", [0, 1]),
        (("th\u00e9", "the\u0301"), " th\u00e9", [1, 0]),
        (("<b>", "&amp;"), "&amp;", [0, 1]),
        (("R&D", "<tea>"), "&lt;tea&gt;", [0, 1]),
        (("R&D", "R&amp;D"), "R&amp;D", [0, 1]),
        (("R&D", "tea"), "R&#38;D", [1, 0]),
    ],
)
async def test_the_same_spelling_counts_first_and_then_the_same_text(
    stage: Stage, ada: Person, peer: ForeignServer, titles: tuple[str, ...], named: str, expected: list[int]
) -> None:
    eve, status = peer.person("eve"), await poll(ada, *titles)
    await take(stage, vote(eve, status["uri"], named, content="<br>", **ADDRESSED))
    assert (await counts(stage), await told(ada)) == (expected, [])


async def test_votes_are_counted_by_the_rules_of_the_poll(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """A vote that does not count is no post either."""
    eve, fay = peer.person("eve"), peer.person("fay")
    single = await poll(ada)
    for number, option in enumerate(("tea", "coffee", "tea")):
        await take(stage, vote(eve, single["uri"], option, number, content="<br>", **ADDRESSED))
    assert await counts(stage) == [1, 0]
    await take(stage, act(fay, "Follow", f"{HOME}/users/ada"))
    ((fays,),) = await stage.rows("SELECT id FROM accounts WHERE uri = $1", fay["id"])
    assert (await ada.post(f"/api/v1/accounts/{fays}/block")).status == 200
    await take(stage, vote(fay, single["uri"], "coffee", content="<br>", **ADDRESSED))
    assert await counts(stage) == [1, 0], "ada has blocked fay"
    await stage.sql("UPDATE polls SET expires_at = now() - interval '1 minute'")
    gus = peer.person("gus")
    await take(stage, vote(gus, single["uri"], "coffee", content="<br>", **ADDRESSED))
    assert await counts(stage) == [1, 0], "it has ended"
    assert (await told(ada), await stage.rows("SELECT id FROM statuses WHERE NOT local")) == ([], [])


async def test_each_choice_of_several_comes_by_itself(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, status = peer.person("eve"), await poll(ada, "tea", "coffee", "milk", multiple=True)
    for number, option in enumerate(("tea", "milk", "tea")):
        await take(stage, vote(eve, status["uri"], option, number, content="<br>"))
    assert await counts(stage) == [1, 0, 1]
    assert await stage.rows("SELECT voters_count FROM polls") == [[1]]
