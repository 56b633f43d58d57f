"""Groups of other servers that announce what their members do (FEP-1b12), as Lemmy, PieFed and NodeBB have them."""

from __future__ import annotations

from typing import Any

import pytest

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, act, create, take
from .finding import followed
from .peer import ForeignServer


@pytest.fixture
async def group(stage: Stage, ada: Person, peer: ForeignServer) -> dict[str, Any]:
    """A group that ada follows."""
    made = peer.person("group", type="Group")
    await followed(ada, peer, "group")
    await take(stage, act(made, "Accept", {"type": "Follow", "actor": f"{HOME}/users/ada", "object": made["id"]}))
    return made


@pytest.fixture
async def page(stage: Stage, group: dict[str, Any], peer: ForeignServer) -> dict[str, Any]:
    """A post of oscar, on another server, that the group has boosted."""
    oscar = peer.person("oscar", "other.test")
    made = peer.note(oscar, "/post/1", type="Page", name="A title", audience=group["id"])
    await take(stage, act(group, "Announce", made["id"], to=[PUBLIC]))
    return made


async def announced(stage: Stage, group: dict[str, Any], activity: dict[str, Any]) -> None:
    await take(stage, act(group, "Announce", activity, activity["id"], to=[PUBLIC]))


async def titles(ada: Person) -> list[str]:
    """Return the titles of the posts that the group has boosted."""
    shown = (await ada.get("/api/v1/timelines/home")).json
    return [one["reblog"]["content"].partition("</p>")[0].removeprefix("<p>") for one in shown]


async def test_an_edit_is_read_where_the_post_is(
    stage: Stage, ada: Person, peer: ForeignServer, group: dict[str, Any], page: dict[str, Any]
) -> None:
    edited = page | {"name": "Another title", "updated": "2026-05-01T10:00:00Z"}
    update = act({"id": page["attributedTo"]}, "Update", edited | {"name": "A forged title"})
    await announced(stage, group, update)
    assert await titles(ada) == ["A title"]
    peer.serve(page["id"], edited)
    await announced(stage, group, update | {"id": f"{update['id']}/2"})
    assert await titles(ada) == ["Another title"]


async def test_an_answer_to_a_post_that_is_here_is_fetched(
    stage: Stage, ada: Person, peer: ForeignServer, group: dict[str, Any], page: dict[str, Any]
) -> None:
    nora = peer.person("nora", "third.test")
    answer = peer.note(nora, "/comment/1", "<p>true</p>", inReplyTo=page["id"])
    other = peer.note(nora, "/comment/2", inReplyTo=f"{page['id']}0")
    for comment in (answer, other):
        await announced(stage, group, create(nora, comment | {"content": "<p>false</p>"}))
    rows = "SELECT content FROM statuses WHERE account_id = (SELECT id FROM accounts WHERE username = 'nora')"
    assert await stage.rows(rows) == [["<p>true</p>"]]
    assert await titles(ada) == ["A title"]


@pytest.mark.parametrize("is_gone", [True, False])
async def test_a_deletion_ends_the_boost_and_what_is_gone(
    stage: Stage, ada: Person, peer: ForeignServer, group: dict[str, Any], page: dict[str, Any], *, is_gone: bool
) -> None:
    """A moderator may remove a post from a group; only its own server can say that it is no more."""
    if is_gone:
        peer.fail(page["id"], 410)
    await announced(stage, group, act({"id": page["attributedTo"]}, "Delete", page["id"]))
    assert await titles(ada) == []
    rows = await stage.rows("SELECT deleted_at IS NOT NULL FROM statuses WHERE uri = $1", page["id"])
    assert rows == [[is_gone]]


@pytest.mark.parametrize("kind", ["Like", "Dislike", "Undo", "Lock"])
async def test_what_else_is_announced_changes_nothing(
    stage: Stage, ada: Person, peer: ForeignServer, group: dict[str, Any], page: dict[str, Any], kind: str
) -> None:
    asked = len(peer.peer.asked)
    await announced(stage, group, act({"id": page["attributedTo"]}, kind, page["id"]))
    assert await titles(ada) == ["A title"]
    assert await stage.rows("SELECT FROM favourites") == []
    assert len(peer.peer.asked) == asked


async def test_a_ban_from_a_group_is_no_block_by_the_moderator(
    stage: Stage, ada: Person, peer: ForeignServer, group: dict[str, Any]
) -> None:
    mona = peer.person("mona")
    await take(stage, {"id": f"{mona['id']}#1", "type": "Follow", "actor": mona["id"], "object": f"{HOME}/users/ada"})
    ban = act(mona, "Block", f"{HOME}/users/ada", target=group["id"], summary="spam")
    await take(stage, ban)
    assert await stage.rows("SELECT count(*) FROM follows") == [[2]]
    assert await stage.rows("SELECT FROM blocks") == []
    await take(stage, act(mona, "Block", f"{HOME}/users/ada", 2))
    await take(stage, act(mona, "Undo", ban, 3))
    assert len(await stage.rows("SELECT FROM blocks")) == 1


@pytest.mark.parametrize("announced_by_group", [True, False])
async def test_a_moderator_may_change_the_group(
    stage: Stage, ada: Person, peer: ForeignServer, group: dict[str, Any], announced_by_group: bool
) -> None:
    mona, mallory = peer.person("mona"), peer.person("mallory", "other.test")
    changed = peer.person("group", type="Group", name="Another name")
    update = act(mona, "Update", changed | {"name": "A forged name"})
    await take(stage, act(mallory, "Update", changed))
    await take(stage, act(mallory, "Announce", update, 2))
    names = "SELECT display_name FROM accounts WHERE uri = $1"
    assert await stage.rows(names, group["id"]) == [["Group"]]
    if announced_by_group:
        await announced(stage, group, update)
    else:
        await take(stage, update)
    assert await stage.rows(names, group["id"]) == [["Another name"]]
