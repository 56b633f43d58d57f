"""Quotes by other servers: shown if the quoted author's policy, or a document of the author's server, allows it."""

from __future__ import annotations

import json
from typing import Any

from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.effects.registry import QueueWithContext

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, act, create, note, take
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
