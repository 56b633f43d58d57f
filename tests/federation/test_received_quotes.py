"""Quotes by other servers: shown if the quoted author's policy, or a document of the author's server, allows it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.effects.registry import QueueWithContext

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, act, create, follow, note, take
from .peer import ForeignServer

STATES = "SELECT quote_state FROM statuses WHERE NOT local ORDER BY id"


async def published(ada: Person, policy: str) -> dict[str, Any]:
    asked = {"status": "hello", "quote_approval_policy": policy}
    return (await ada.post("/api/v1/statuses", json=asked)).json


async def test_a_quote_is_shown_if_the_policy_allows_it(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    for number, (policy, spelling, states) in enumerate(
        [("public", "quote", [["accepted"]]), ("public", "quoteUrl", [["accepted"]] * 2), ("nobody", "quote", None)]
    ):
        status = await published(ada, policy)
        post = note(eve, number, cc=[f"{HOME}/users/ada"], **{spelling: status["uri"]})
        await take(stage, create(eve, post))
        assert await stage.rows(STATES) == (states or [["accepted"], ["accepted"], [None]])
        quotes = (await ada.get(f"/api/v1/statuses/{status['id']}/quotes")).json
        assert [one["uri"] for one in quotes] == ([post["id"]] if states else [])


async def test_a_request_to_quote_is_answered_by_the_policy(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    stage.outbox.add(QueueWithContext(DELIVERIES, None))  # what is to be delivered stays in the rows
    eve = peer.person("eve")
    for number, (policy, kind, state) in enumerate((("public", "Accept", "accepted"), ("nobody", "Reject", None))):
        status = await published(ada, policy)
        post = note(eve, number, quote=status["uri"])
        request = act(eve, "QuoteRequest", status["uri"], number, instrument=post)
        await take(stage, request)
        answer = json.loads((await stage.rows("SELECT body FROM activities ORDER BY id DESC LIMIT 1"))[0][0])
        assert (answer["type"], answer["object"]["id"]) == (kind, request["id"])
        ((id, quote_state),) = await stage.rows("SELECT id, quote_state FROM statuses WHERE uri = $1", post["id"])
        assert quote_state == state
        expected = f"{HOME}/users/ada/quote_authorizations/{id}" if state else None
        assert answer.get("result") == expected


async def test_a_quote_among_others_needs_the_authors_document(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    quoted = note(oscar, 1, cc=[f"{HOME}/users/ada"])
    await take(stage, create(oscar, quoted))
    stamp = peer.url("/stamps/1", "other.test")
    allowed = {
        "id": stamp, "type": "QuoteAuthorization", "attributedTo": oscar["id"],
        "interactingObject": f"{eve['id']}/statuses/2", "interactionTarget": quoted["id"],
    }  # fmt: skip
    peer.serve(stamp, allowed)
    forged = peer.serve(peer.url("/stamps/2"), allowed | {"id": peer.url("/stamps/2")})
    for number, authorization in ((2, stamp), (3, stamp), (2, forged)):
        post = note(
            eve, number, cc=[f"{HOME}/users/ada"], quote=quoted["id"], quoteAuthorization=authorization,
            id=f"{eve['id']}/statuses/{number}",
        )  # fmt: skip
        await take(stage, create(eve, post))
    rows = await stage.rows("SELECT uri, quote_state FROM statuses WHERE quote_state IS NOT NULL ORDER BY id")
    assert rows == [[f"{eve['id']}/statuses/2", "accepted"], [f"{eve['id']}/statuses/3", "pending"]]


async def test_an_author_elsewhere_quotes_own_posts_without_a_document(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    first = note(eve, 1, cc=[f"{HOME}/users/ada"])
    second = note(eve, 2, cc=[f"{HOME}/users/ada"], quote=first["id"])
    for post in (first, second):
        await take(stage, create(eve, post))
    rows = await stage.rows("SELECT uri, quote_state FROM statuses WHERE quote_state IS NOT NULL")
    assert rows == [[second["id"], "accepted"]]


async def test_an_answer_shows_or_ends_a_quote_by_this_server(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    oscar, mallory = peer.person("oscar", "other.test"), peer.person("mallory")
    policy = {"canQuote": {"automaticApproval": [], "manualApproval": [PUBLIC]}}
    quoted = note(oscar, 1, cc=[f"{HOME}/users/ada"], interactionPolicy=policy)
    await take(stage, create(oscar, quoted))
    (row,) = await stage.rows("SELECT id FROM statuses")
    quoting: list[dict[str, Any]] = []
    for _ in range(2):
        made = await ada.post("/api/v1/statuses", json={"status": "look", "quoted_status_id": str(row[0])})
        assert made.json["quote"]["state"] == "pending", made.text
        quoting.append(made.json)

    def request(number: int) -> dict[str, Any]:
        name = f"{HOME}/users/ada"
        id = f"{name}#quote_requests/{quoting[number]['id']}"
        return {
            "type": "QuoteRequest", "id": id, "actor": name, "object": quoted["id"],
            "instrument": quoting[number]["uri"],
        }  # fmt: skip

    stamp = peer.url("/stamps/1", "other.test")
    allowed = {
        "id": stamp,
        "type": "QuoteAuthorization",
        "attributedTo": oscar["id"],
        "interactionTarget": quoted["id"],
    }
    peer.serve(stamp, allowed | {"interactingObject": quoting[0]["uri"]})
    states = "SELECT quote_state FROM statuses WHERE local ORDER BY id"
    await take(stage, act(mallory, "Accept", request(0), result=stamp))
    await take(stage, act(oscar, "Accept", request(1), 2, result=stamp))
    assert await stage.rows(states) == [["pending"], ["pending"]]
    await take(stage, act(oscar, "Accept", request(0)["id"], result=stamp))
    await take(stage, act(oscar, "Reject", request(1)))
    assert await stage.rows(states) == [["accepted"], ["rejected"]]
    assert (await ada.get(f"/api/v1/statuses/{quoting[0]['id']}")).json["quote"]["state"] == "accepted"
    await take(stage, act(mallory, "Delete", stamp))
    await take(stage, act(oscar, "Delete", {"type": "Tombstone", "id": stamp}))
    assert await stage.rows(states) == [["revoked"], ["rejected"]]


# Requests to quote, as servers send them ------------------------------------------------------------------------------


ADA = f"{HOME}/users/ada"
BEFORE = ("the post came before, without its quote", "the post came before, with its quote", "the request comes first")


async def answers(stage: Stage) -> list[tuple[str, bool]]:
    """Return the answers that were sent: their types, and if they have a document that allows the quote."""
    sent = await stage.rows(
        "SELECT body FROM activities WHERE body::jsonb->'object'->>'type' = 'QuoteRequest' ORDER BY id"
    )
    return [(answer["type"], "result" in answer) for answer in (json.loads(body) for (body,) in sent)]


def keep_deliveries(stage: Stage) -> None:
    """Have what is to be delivered stay in the rows."""
    stage.outbox.add(QueueWithContext(DELIVERIES, None))


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(
    ("spelling", "instrument", "concern"),
    [
        ("quote", "embedded", "mentioned"), ("quote", "named", "followed"), ("quoteUrl", "embedded", "followed"),
        ("_misskey_quote", "named", "mentioned"), (None, "embedded", "followed"), (None, "named", "mentioned"),
    ],
)  # fmt: skip
async def test_the_request_brings_the_quote(
    stage: Stage, ada: Person, peer: ForeignServer, before: str, spelling: str | None, instrument: str, concern: str
) -> None:
    """Hollo sends a post without its quote, and the whole post in its request; its times don't change."""
    keep_deliveries(stage)
    eve, status = peer.person("eve"), await published(ada, "public")
    if concern == "followed":
        await take(stage, follow(eve, "ada"))
        ((id,),) = await stage.rows("SELECT id FROM accounts WHERE uri = $1", eve["id"])
        assert (await ada.post(f"/api/v1/accounts/{id}/follow")).status == 200
        await take(stage, act(eve, "Accept", {"type": "Follow", "actor": ADA, "object": eve["id"]}))
    at = datetime.now(UTC).replace(microsecond=0).isoformat()
    audience: dict[str, Any] = {"cc": [ADA]} if concern == "mentioned" else {}
    plain = note(eve, published=at, updated=at, **audience)
    post = plain | ({spelling: status["uri"]} if spelling else {})
    peer.serve(post["id"], post)
    if before != BEFORE[2]:
        await take(stage, create(eve, plain if before == BEFORE[0] else post))
    named = post if instrument == "embedded" else post["id"]
    for number in range(2):
        await take(stage, act(eve, "QuoteRequest", {"type": "Note", "id": status["uri"]}, number, instrument=named))
    assert await answers(stage) == [("Accept", True)] * 2, "a repeated request has the same answer"
    (quoting,) = await ada.done("GET", f"/api/v1/statuses/{status['id']}/quotes")
    assert (quoting["uri"], quoting["edited_at"], quoting["quote"]["state"]) == (post["id"], None, "accepted")
    assert (await ada.done("GET", f"/api/v1/statuses/{status['id']}"))["quotes_count"] == 1
    marked = "SELECT words @@ $2::text::tsquery FROM status_words WHERE status_id = $1"
    assert await stage.rows(marked, int(quoting["id"]), "'has:quote'") == [[True]]
    (told,) = await ada.done("GET", "/api/v1/notifications?types[]=quote")
    assert told["status"]["id"] == quoting["id"]
    await take(stage, create(eve, plain), late=timedelta(minutes=1))
    assert (await ada.done("GET", f"/api/v1/statuses/{quoting['id']}"))["quote"]["state"] == "accepted"


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("policy", "follows", "expected"),
    [
        ("public", False, ("Accept", True)),
        ("followers", False, ("Reject", False)),
        ("followers", True, ("Accept", True)),
        ("nobody", True, ("Reject", False)),
    ],
)
async def test_the_policy_answers_a_request(
    stage: Stage,
    ada: Person,
    peer: ForeignServer,
    policy: str,
    expected: tuple[str, bool],
    *,
    follows: bool,
    known: bool,
) -> None:
    keep_deliveries(stage)
    eve, status = peer.person("eve"), await published(ada, policy)
    if follows:
        await take(stage, follow(eve, "ada"))
    post = note(eve, cc=[ADA])
    if known:
        await take(stage, create(eve, post))
    request = act(eve, "QuoteRequest", status["uri"], instrument=post | {"quote": status["uri"]})
    await take(stage, request)
    assert await answers(stage) == [expected]
    quotes = await ada.done("GET", f"/api/v1/statuses/{status['id']}/quotes")
    assert [one["uri"] for one in quotes] == ([post["id"]] if expected[1] else [])


async def test_a_request_is_accepted_once_the_policy_allows_it(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    keep_deliveries(stage)
    eve, status = peer.person("eve"), await published(ada, "nobody")
    post = note(eve, quote=status["uri"])
    await take(stage, act(eve, "QuoteRequest", status["uri"], instrument=post))
    path = f"/api/v1/statuses/{status['id']}/interaction_policy"
    assert (await ada.put(path, {"quote_approval_policy": "public"})).status == 200
    await take(stage, act(eve, "QuoteRequest", status["uri"], 2, instrument=post))
    assert await answers(stage) == [("Reject", False), ("Accept", True)]


async def test_what_is_not_to_be_quoted_is_refused(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """A deleted post, one that eve may not see, and one that never was: she learns nothing by the answers."""
    keep_deliveries(stage)
    eve = peer.person("eve")
    private = await ada.publish("hush", visibility="private", quote_approval_policy="public")
    deleted = await published(ada, "public")
    assert (await ada.delete(f"/api/v1/statuses/{deleted['id']}")).status == 200
    uris = [private["uri"], deleted["uri"], f"{ADA}/statuses/1"]
    for number, uri in enumerate(map(str, uris)):
        await take(stage, act(eve, "QuoteRequest", uri, number, instrument=note(eve, number, quote=uri)))
    assert await answers(stage) == [("Reject", False)] * 3
    await take(stage, act(eve, "QuoteRequest", f"{HOME}/users/nobody/statuses/1", 9, instrument=note(eve, 9)))
    assert len(await answers(stage)) == 3, "there is no account that could answer"


async def test_a_post_that_can_not_be_had_or_is_of_somebody_else_quotes_nothing(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    keep_deliveries(stage)
    eve, fay, status = peer.person("eve"), peer.person("fay"), await published(ada, "public")
    await take(stage, act(eve, "QuoteRequest", status["uri"], instrument=f"{eve['id']}/statuses/404"))
    await take(stage, act(eve, "QuoteRequest", status["uri"], 2, instrument=note(fay, 2, quote=status["uri"])))
    other = peer.person("oscar", "other.test")
    await take(stage, act(eve, "QuoteRequest", status["uri"], 3, instrument=note(other, 3, quote=status["uri"])))
    assert await answers(stage) == [("Reject", False)] * 2, "the third is on another server, which may ask itself"
    assert await ada.done("GET", f"/api/v1/statuses/{status['id']}/quotes") == []
