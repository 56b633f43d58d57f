"""Accounts that a post mentions, and the post that it quotes, if they are not known here: fetched afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from troupe.actors.federation import resolver

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, act, create, note, take
from .finding import until_done
from .peer import ForeignServer

ADA = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada@home.test"}


def mention(person: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Mention", "href": person["id"], "name": f"@{person['preferredUsername']}"}


async def say(stage: Stage, eve: dict[str, Any], number: int = 1, *named: dict[str, Any], **changes: Any) -> str:
    """Deliver a post of eve's that names ada and others, wait for what follows, and return its URI."""
    cc = [f"{HOME}/users/ada", *(one["id"] for one in named)]
    document = note(eve, number, cc=cc, tag=[ADA, *map(mention, named)], **changes)
    await take(stage, create(eve, document))
    await until_done(stage)
    return document["id"]


async def shown(stage: Stage, ada: Person, uri: str) -> dict[str, Any]:
    ((id,),) = await stage.rows("SELECT id FROM statuses WHERE uri = $1", uri)
    return (await ada.get(f"/api/v1/statuses/{id}")).json


async def quote_of(stage: Stage, ada: Person, uri: str) -> tuple[str, str | None] | None:
    """Return the state of a quote, and the quoted post if it is shown."""
    quote = (await shown(stage, ada, uri))["quote"]
    return None if quote is None else (quote["state"], quote["quoted_status"] and quote["quoted_status"]["uri"])


# Mentions -------------------------------------------------------------------------------------------------------------


async def test_unknown_accounts_that_a_post_mentions_are_fetched(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, oscar, pat = peer.person("eve"), peer.person("oscar", "other.test"), peer.person("pat", "third.test")
    peer.fail(pat["id"], 404)
    uri = await say(stage, eve, 1, oscar, pat)
    mentions = (await shown(stage, ada, uri))["mentions"]
    assert sorted(one["acct"] for one in mentions) == ["ada", f"oscar@{peer.domain_of('other.test')}"]
    asked = len(peer.asked(pat["id"]))
    await say(stage, eve, 2, oscar, pat)
    assert (len(peer.asked(oscar["id"])), len(peer.asked(pat["id"]))) == (1, asked), "none is asked for again"


async def test_so_many_accounts_of_one_post_are_fetched(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "MENTIONS", 2)
    eve, *others = [peer.person(name) for name in ("eve", "fay", "gus", "hal", "ivy")]
    uri = await say(stage, eve, 1, *others)
    assert len((await shown(stage, ada, uri))["mentions"]) == 3


async def test_a_mention_that_was_taken_back_meanwhile_is_not_added(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    held = peer.hold(oscar["id"])
    document = note(eve, cc=[f"{HOME}/users/ada", oscar["id"]], tag=[ADA, mention(oscar)])
    await take(stage, create(eve, document))
    await peer.was_asked(oscar["id"])
    later = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    await take(stage, act(eve, "Update", document | {"tag": [ADA], "updated": later}))
    held.set()
    await until_done(stage)
    assert [one["acct"] for one in (await shown(stage, ada, document["id"]))["mentions"]] == ["ada"]


# Quotes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "state"), [("quote", "pending"), ("quoteUrl", "accepted"), ("_misskey_quote", "accepted")]
)
async def test_an_unknown_post_that_a_post_quotes_is_fetched(
    stage: Stage, ada: Person, peer: ForeignServer, spelling: str, state: str
) -> None:
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    quoted = peer.note(oscar, "/notes/1")
    uri = await say(stage, eve, **{spelling: quoted["id"]})
    assert await quote_of(stage, ada, uri) == (state, quoted["id"] if state == "accepted" else None)
    counts = "SELECT quotes FROM status_counts c JOIN statuses s ON s.id = c.status_id WHERE s.uri = $1"
    assert await stage.rows(counts, quoted["id"]) == [[1 if state == "accepted" else 0]]


@pytest.mark.parametrize("changes", [{}, {"interactingObject": "https://other.test/x"}, {"id": "x"}])
async def test_the_document_of_an_unknown_post_says_if_it_may_be_quoted(
    stage: Stage, ada: Person, peer: ForeignServer, changes: dict[str, str]
) -> None:
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    quoted = peer.note(oscar, "/notes/1")
    stamp = peer.url("/stamps/1", "other.test")
    document = {
        "id": stamp, "type": "QuoteAuthorization", "attributedTo": oscar["id"],
        "interactingObject": f"{eve['id']}/statuses/1", "interactionTarget": quoted["id"],
    }  # fmt: skip
    peer.serve(stamp, document | changes)
    uri = await say(stage, eve, quote=quoted["id"], quoteAuthorization=stamp)
    assert await quote_of(stage, ada, uri) == (("pending", None) if changes else ("accepted", quoted["id"]))
    await take(stage, act(oscar, "Delete", {"type": "Tombstone", "id": stamp}))
    assert await quote_of(stage, ada, uri) == (("pending", None) if changes else ("revoked", None))


async def test_a_quoted_post_that_is_not_there_leaves_the_post_without_a_quote(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, mallory = peer.person("eve"), peer.person("mallory", "other.test")
    forged = peer.note(mallory, "/notes/1", attributedTo=peer.person("pat", "third.test")["id"])
    for number, quoted in enumerate((peer.url("/none"), forged["id"]), 1):
        uri = await say(stage, eve, number, quoteUrl=quoted)
        assert await quote_of(stage, ada, uri) is None


async def test_class_18_posts_that_quote_each_other_without_end_are_not_all_fetched(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    posts = [peer.note(eve, f"/notes/{number}", quoteUrl=peer.url(f"/notes/{number + 1}")) for number in range(30)]
    await say(stage, eve, quoteUrl=posts[0]["id"])
    assert 2 <= len(await stage.rows("SELECT id FROM statuses")) <= 8


# Edits ----------------------------------------------------------------------------------------------------------------


def edited(document: dict[str, Any], minutes: int, **changes: Any) -> dict[str, Any]:
    at = datetime.now(UTC) - timedelta(hours=1) + timedelta(minutes=minutes)
    return {key: value for key, value in (document | {"updated": at.isoformat()} | changes).items() if value}


async def test_an_edit_changes_what_a_post_quotes(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    mine = (await ada.post("/api/v1/statuses", json={"status": "hello", "quote_approval_policy": "public"})).json
    his = peer.note(oscar, "/notes/1")
    published = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    document = note(eve, cc=[f"{HOME}/users/ada"], published=published)
    await take(stage, create(eve, document))
    states: list[Any] = []
    for minutes, changes in enumerate(({"quote": mine["uri"]}, {"quoteUrl": his["id"]}, {}), 1):
        await take(stage, act(eve, "Update", edited(document, minutes, **changes), minutes))
        await until_done(stage)
        counts = (await ada.get(f"/api/v1/statuses/{mine['id']}")).json["quotes_count"]
        states.append((await quote_of(stage, ada, document["id"]), counts))
    assert states == [(("accepted", mine["uri"]), 1), (("accepted", his["id"]), 0), (None, 0)]
    told = (await ada.get("/api/v1/notifications?types[]=quote")).json
    assert [one["status"]["uri"] for one in told] == [document["id"]]


async def test_a_quote_that_its_author_has_ended_does_not_come_back_by_edits(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    mine = (await ada.post("/api/v1/statuses", json={"status": "hello", "quote_approval_policy": "public"})).json
    published = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    document = note(eve, cc=[f"{HOME}/users/ada"], published=published, quote=mine["uri"])
    await take(stage, create(eve, document))
    ((id,),) = await stage.rows("SELECT id FROM statuses WHERE NOT local")
    assert (await ada.post(f"/api/v1/statuses/{mine['id']}/quotes/{id}/revoke")).status == 200
    for minutes, changes in enumerate(({}, {"quote": None}, {}, {"updated": None}), 1):
        await take(stage, act(eve, "Update", edited(document, minutes, **changes), minutes))
        assert await quote_of(stage, ada, document["id"]) == ("revoked", None)


async def test_an_edit_to_another_quote_needs_a_document_for_that_one(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    first, second = peer.note(oscar, "/notes/1"), peer.note(oscar, "/notes/2")
    stamp = peer.url("/stamps/1", "other.test")
    allowed = {
        "id": stamp, "type": "QuoteAuthorization", "attributedTo": oscar["id"],
        "interactingObject": f"{eve['id']}/statuses/1", "interactionTarget": first["id"],
    }  # fmt: skip
    published = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    document = note(eve, cc=[f"{HOME}/users/ada"], published=published, quote=first["id"], quoteAuthorization=stamp)
    await take(stage, create(eve, document))
    await until_done(stage)
    assert await quote_of(stage, ada, document["id"]) == ("pending", None)
    peer.serve(stamp, allowed)
    await take(stage, act(eve, "Update", document))
    assert await quote_of(stage, ada, document["id"]) == ("accepted", first["id"]), "the document may come later"
    await take(stage, act(eve, "Update", edited(document, 1), 1))
    assert len(peer.asked(stamp)) == 2, "it is not asked for again"
    for minutes in (2, 3):
        await take(stage, act(eve, "Update", edited(document, minutes, quote=second["id"]), minutes))
        await until_done(stage)
        assert await quote_of(stage, ada, document["id"]) == ("pending", None)


async def test_an_update_changes_who_may_quote(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    def policy(automatic: list[str], manual: list[str]) -> dict[str, Any]:
        return {"canQuote": {"automaticApproval": automatic, "manualApproval": manual}}

    eve = peer.person("eve")
    published = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    document = note(eve, cc=[f"{HOME}/users/ada"], published=published)
    await take(stage, create(eve, document))
    approvals: list[tuple[list[str], list[str]]] = []
    public, followers = "https://www.w3.org/ns/activitystreams#Public", eve["followers"]
    updates = [
        document | {"interactionPolicy": policy([public], [])},
        edited(document, 5, interactionPolicy=policy([followers], [public])),
        edited(document, 4, interactionPolicy=policy([public], [public])),  # an older one that comes late
        edited(document, 6),
    ]
    for number, update in enumerate(updates):
        await take(stage, act(eve, "Update", update, number))
        approval = (await shown(stage, ada, document["id"]))["quote_approval"]
        approvals.append((approval["automatic"], approval["manual"]))
    assert approvals == [(["public"], []), (["followers"], ["public"]), (["followers"], ["public"]), ([], [])]
    assert await stage.rows("SELECT id FROM status_edits") == [], "a policy alone is no edit"


@pytest.mark.parametrize("leads", ["redirect", "document"])
async def test_a_reply_that_names_a_page_answers_the_post_of_the_page(
    stage: Stage, ada: Person, peer: ForeignServer, leads: str
) -> None:
    """Blogs and bridges have the address that people see, and not the id of the post."""
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    page = peer.url("/@oscar/1", "other.test")
    post = peer.note(oscar, "/notes/1", url=page)
    if leads == "redirect":
        peer.redirect(page, post["id"])
    else:
        peer.serve(page, post)
    replies = [peer.note(eve, f"/notes/{n}", inReplyTo=page, cc=[f"{HOME}/users/ada"], published=None) for n in (1, 2)]
    for reply in replies:  # the post is not here yet, and then it is
        await take(stage, create(eve, reply))
        await until_done(stage)
    answered = "SELECT p.uri FROM statuses s LEFT JOIN statuses p ON p.id = s.in_reply_to_id WHERE s.uri = $1"
    assert [await stage.rows(answered, reply["id"]) for reply in replies] == [[[post["id"]]], [[post["id"]]]]
    (row,) = await stage.rows("SELECT id FROM statuses WHERE uri = $1", post["id"])
    assert len((await ada.get(f"/api/v1/statuses/{row[0]}/context")).json["descendants"]) == 2


async def test_a_quote_may_name_the_page_of_a_post(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    page = peer.url("/@oscar/1", "other.test")
    post = peer.note(oscar, "/notes/1", url=page)
    peer.redirect(page, post["id"])
    quoting = note(eve, quoteUrl=page, cc=[f"{HOME}/users/ada"], tag=[ADA])
    await take(stage, create(eve, quoting))
    await until_done(stage)
    assert await quote_of(stage, ada, quoting["id"]) == ("accepted", post["id"])
    await take(stage, act(eve, "Update", quoting))
    await until_done(stage)
    assert await quote_of(stage, ada, quoting["id"]) == ("accepted", post["id"])
    assert (await shown(stage, ada, quoting["id"]))["edited_at"] is None


async def test_a_reply_to_a_boost_answers_the_boosted_post(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, own = peer.person("eve"), await ada.publish("a post of ada")
    boost = act(eve, "Announce", own["uri"], to=[PUBLIC])
    await take(stage, boost)
    await take(stage, create(eve, note(eve, inReplyTo=boost["id"])))
    (answer,) = (await ada.get(f"/api/v1/statuses/{own['id']}/context")).json["descendants"]
    assert answer["in_reply_to_id"] == own["id"]
