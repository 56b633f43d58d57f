"""What other servers deliver takes effect here, once their signatures hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from json import loads

import pytest
import trio

from troupe.actors.activitypub.keys import public_pem
from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.effects.registry import QueueWithContext
from troupe.actors.federation import reception

from ..clients import Person, Stage
from ..outgoing.peer import Asked, Respond, answer
from ..signing import another_key, private_key
from ..waiting import until_found
from .delivering import HOME, act, applied, create, deliver, follow, note, take
from .finding import followed, until_done
from .peer import BROKEN, ForeignServer

ADA = f"{HOME}/users/ada"
SENT = "SELECT body FROM activities WHERE body::jsonb->>'actor' = $1 AND body::jsonb->>'type' = $2 ORDER BY id"


async def test_a_follow_takes_effect(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await take(stage, follow(eve, "ada"))
    (follower,) = (await ada.get(f"/api/v1/accounts/{ada.id}/followers")).json
    assert follower["uri"] == eve["id"]
    (told,) = (await ada.get("/api/v1/notifications")).json
    assert (told["type"], told["account"]["uri"]) == ("follow", eve["id"])
    assert await stage.rows("SELECT uri, from_domain FROM follows") == [[f"{eve['id']}#follows/1", peer.domain]]


async def test_a_post_of_a_followed_author_is_at_home(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await followed(ada, peer)
    asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}
    await take(stage, {"id": f"{eve['id']}#accepts/1", "type": "Accept", "actor": eve["id"], "object": asked})
    await take(stage, create(eve, note(eve)))
    (shown,) = (await ada.get("/api/v1/timelines/home")).json
    assert (shown["content"], shown["account"]["uri"]) == ("<p>hello 1</p>", eve["id"])


async def test_a_post_that_concerns_nobody_is_not_kept(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await take(stage, create(eve, note(eve)))
    assert await stage.rows("SELECT id FROM statuses") == []


async def test_an_unsigned_delivery_is_refused(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    assert (await deliver(stage, follow(eve, "ada"), headers={"Signature": None})).status == 401
    assert await stage.rows("SELECT id FROM outbox WHERE queue = 'inbox'") == []


async def test_repeats_change_nothing(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    for late in (0, 0, 5):
        await take(stage, follow(eve, "ada"), late=timedelta(minutes=late))
    await take(stage, follow(eve, "ada", 2))
    assert await stage.rows("SELECT uri FROM follows") == [[f"{eve['id']}#follows/2"]]
    assert len((await ada.get("/api/v1/notifications")).json) == 1


async def test_an_undone_follow_ends(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    asked = follow(eve, "ada")
    for number, named in enumerate((asked, asked["id"], [asked])):
        await take(stage, asked, late=timedelta(minutes=number))
        assert len(await stage.rows("SELECT id FROM follows")) == 1
        await take(stage, {"id": f"{eve['id']}#undo/{number}", "type": "Undo", "actor": eve["id"], "object": named})
        assert await stage.rows("SELECT id FROM follows") == []


async def test_a_follow_that_was_undone_before_it_came_is_not_made(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    await take(stage, {"id": f"{eve['id']}#undo", "type": "Undo", "actor": eve["id"], "object": follow(eve, "ada")})
    await take(stage, follow(eve, "ada"))
    assert await stage.rows("SELECT id FROM follows") == []
    await take(stage, follow(eve, "ada", 2))
    assert len(await stage.rows("SELECT id FROM follows")) == 1


async def test_a_follow_that_was_ended_here_and_undone_there_can_be_made_again(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """Takahē unfollows whom it could follow no more, and follows again with the same activity."""
    eve = peer.person("eve")
    asked = follow(eve, "ada") | {"id": f"{eve['id']}follow/647543573464946796/"}
    await take(stage, asked)
    (follower,) = (await ada.get(f"/api/v1/accounts/{ada.id}/followers")).json
    for way in ("block", "unblock"):
        assert (await ada.post(f"/api/v1/accounts/{follower['id']}/{way}")).status == 200
    undo = {"id": f"{asked['id']}#undo", "type": "Undo", "actor": eve["id"], "object": asked}
    await take(stage, undo)
    await take(stage, asked, late=timedelta(minutes=5))
    assert await stage.rows("SELECT uri FROM follows") == [[asked["id"]]]


@pytest.mark.parametrize("scheme", ["cavage", "rfc9421"])
async def test_a_signed_follow_that_is_sent_again_by_somebody_else_is_dropped(
    stage: Stage, ada: Person, peer: ForeignServer, scheme: str
) -> None:
    """Who has seen the request can send it for an hour. The signature has the same time then, whatever is around it."""
    eve = peer.person("eve")
    seen = {"at": datetime.now(UTC) - timedelta(minutes=3), "scheme": scheme}
    await take(stage, follow(eve, "ada"), **seen)
    undo = {"id": f"{eve['id']}#undo", "type": "Undo", "actor": eve["id"], "object": follow(eve, "ada")}
    await take(stage, undo)
    await take(stage, follow(eve, "ada"), **seen, headers={"X-More": "1", "User-Agent": "other"})
    assert await stage.rows("SELECT id FROM follows") == []
    await take(stage, follow(eve, "ada"), scheme=scheme)
    assert len(await stage.rows("SELECT id FROM follows")) == 1


async def test_an_accepted_request_is_a_follow_by_every_shape(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await followed(ada, peer)
    asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}
    for number, named in enumerate((asked, f"{HOME}/users/ada", [asked])):
        await take(stage, {"id": f"{eve['id']}#no/{number}", "type": "Reject", "actor": eve["id"], "object": named})
        assert await stage.rows("SELECT id FROM follow_requests UNION SELECT id FROM follows") == []
        await followed(ada, peer)
        await take(stage, {"id": f"{eve['id']}#yes/{number}", "type": "Accept", "actor": eve["id"], "object": named})
        assert len(await stage.rows("SELECT id FROM follows")) == 1


async def test_an_acceptance_that_nobody_asked_for_opens_nothing(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """CVE class 29."""
    eve, mallory = peer.person("eve"), peer.person("mallory")
    await followed(ada, peer)
    asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}
    for number, named in enumerate((asked, asked | {"object": mallory["id"]})):
        yes = {"id": f"{mallory['id']}#yes/{number}", "type": "Accept", "actor": mallory["id"], "object": named}
        await take(stage, yes)
    assert await stage.rows("SELECT id FROM follows") == []


async def test_a_server_that_accepts_what_it_rejected_before_is_told_that_nobody_follows(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """It got one Follow twice, because its first answer was lost."""
    stage.outbox.add(QueueWithContext(DELIVERIES, None))  # what is to be delivered stays in the rows
    eve = peer.person("eve")
    await followed(ada, peer)
    asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}
    for number, kind in enumerate(("Accept", "Reject", "Accept", "Accept")):
        await take(stage, act(eve, kind, asked, id=f"{eve['id']}#answers/{number}"))
    assert await stage.rows("SELECT id FROM follows UNION SELECT id FROM follow_requests") == []
    undone = [loads(body) for (body,) in await stage.rows(SENT, ADA, "Undo")]
    assert [one["object"]["object"] for one in undone] == [eve["id"], eve["id"]]
    assert undone[0]["id"] != undone[1]["id"], "none is dropped as a repeat"


async def test_a_follow_that_comes_again_stands_also_if_a_new_one_would_be_refused(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    """Its answer was lost, and ada has moved since: a rejection would end at one server what stands at the other."""
    stage.outbox.add(QueueWithContext(DELIVERIES, None))
    eve, dan = peer.person("eve"), peer.person("dan")
    await take(stage, follow(eve, "ada"))
    await stage.sql("UPDATE accounts SET moved_to_id = $1 WHERE id = $2", int(bob.id), int(ada.id))
    await take(stage, follow(eve, "ada"), late=timedelta(minutes=5))
    await take(stage, follow(dan, "ada"))
    assert await stage.rows("SELECT uri FROM follows") == [[f"{eve['id']}#follows/1"]]
    answers = [loads(body) for kind in ("Accept", "Reject") for (body,) in await stage.rows(SENT, ADA, kind)]
    assert [(one["type"], one["object"]["actor"]) for one in answers] == [
        ("Accept", eve["id"]), ("Reject", dan["id"]),
    ]  # fmt: skip


async def test_likes_boosts_and_their_end(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    status = (await ada.post("/api/v1/statuses", json={"status": "hello"})).json
    uri = status["uri"]
    like = {"id": f"{eve['id']}#likes/1", "type": "Like", "actor": eve["id"], "object": uri, "content": "🎉"}
    boost = {
        "id": f"{eve['id']}#boosts/1", "type": "Announce", "actor": eve["id"], "object": [uri],
        "to": ["as:Public"], "cc": [eve["followers"]],
    }  # fmt: skip
    await take(stage, like)
    await take(stage, boost)
    shown = (await ada.get(f"/api/v1/statuses/{status['id']}")).json
    assert (shown["favourites_count"], shown["reblogs_count"]) == (1, 1)
    assert {one["type"] for one in (await ada.get("/api/v1/notifications")).json} == {"favourite", "reblog"}
    await take(stage, {"id": f"{eve['id']}#undo/1", "type": "Undo", "actor": eve["id"], "object": like})
    await take(stage, {"id": f"{eve['id']}#undo/2", "type": "Undo", "actor": eve["id"], "object": boost["id"]})
    shown = (await ada.get(f"/api/v1/statuses/{status['id']}")).json
    assert (shown["favourites_count"], shown["reblogs_count"]) == (0, 0)


async def test_a_repeated_like_is_undone_by_its_latest_id(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, status = peer.person("eve"), await ada.publish("hello")
    for number in (1, 2):
        await take(stage, act(eve, "Like", status["uri"], number))
    for number, favourites in ((1, 1), (2, 0)):
        await take(stage, act(eve, "Undo", f"{eve['id']}#Like/{number}", number))
        assert (await ada.get(f"/api/v1/statuses/{status['id']}")).json["favourites_count"] == favourites


async def test_another_actor_of_the_server_can_not_bring_back_what_was_undone_before_it_came(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, mallory, status = peer.person("eve"), peer.person("mallory"), await ada.publish("hello")
    like, post = act(eve, "Like", status["uri"]), note(eve)
    await take(stage, act(mallory, "Like", status["uri"]))
    for actor in (eve, mallory):
        await take(stage, act(actor, "Undo", like["id"], 2))
        await take(stage, act(actor, "Delete", post["id"], 3))
    await take(stage, like)
    await take(stage, create(eve, post))
    assert (await ada.get(f"/api/v1/statuses/{status['id']}")).json["favourites_count"] == 1, "that of mallory"
    assert await stage.rows("SELECT uri FROM statuses WHERE NOT local AND deleted_at IS NULL") == []


async def test_a_block_ends_both_follows(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await take(stage, follow(eve, "ada"))
    block = {"id": f"{eve['id']}#blocks/1", "type": "Block", "actor": eve["id"], "object": f"{HOME}/users/ada"}
    await take(stage, block)
    assert await stage.rows("SELECT id FROM follows") == []
    assert await stage.rows("SELECT uri FROM blocks") == [[block["id"]]]
    await take(stage, {"id": f"{eve['id']}#undo/1", "type": "Undo", "actor": eve["id"], "object": block["id"]})
    assert await stage.rows("SELECT uri FROM blocks") == []


async def test_a_block_that_was_undone_before_it_came_ends_the_follows(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """Servers block and unblock to remove a follower, and may deliver the two in any order."""
    eve = peer.person("eve")
    await followed(ada, peer)
    await take(stage, act(eve, "Accept", {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}))
    blocking = act(eve, "Block", f"{HOME}/users/ada")
    await take(stage, act(eve, "Undo", blocking))
    assert len(await stage.rows("SELECT FROM follows")) == 1
    await take(stage, blocking)
    assert await stage.rows("SELECT FROM follows") == []
    assert await stage.rows("SELECT FROM blocks") == []


async def test_a_mention_is_told_and_a_deletion_takes_it_away(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    tag = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada@home.test"}
    post = note(eve, to=f"{HOME}/users/ada", cc=None, tag=tag, contentMap={"de": "<p>hello 1</p>"})
    await take(stage, create(eve, post))
    (told,) = (await ada.get("/api/v1/notifications")).json
    assert (told["type"], told["status"]["visibility"], told["status"]["language"]) == ("mention", "direct", "de")
    await take(stage, {"id": f"{eve['id']}#del", "type": "Delete", "actor": eve["id"], "object": post["id"]})
    assert (await ada.get("/api/v1/notifications")).json == []
    await take(stage, create(eve, post) | {"id": f"{eve['id']}#again"})
    assert await stage.rows("SELECT id FROM statuses WHERE deleted_at IS NULL") == []


async def test_an_edit_changes_a_post(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    tag = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada"}
    post = note(eve, cc=[f"{HOME}/users/ada"], tag=[tag], published="2026-01-01T00:00:00Z")
    await take(stage, create(eve, post))
    later = post | {"content": "<p>better<script>x</script></p>", "updated": "2026-01-02T00:00:00Z", "summary": "cw"}
    await take(stage, {"id": f"{eve['id']}#edit", "type": "Update", "actor": eve["id"], "object": later})
    (row,) = await stage.rows("SELECT id, content, spoiler_text, edited_at::text FROM statuses")
    assert row[1:] == ["<p>better</p>", "cw", "2026-01-02 00:00:00+00"]
    older = post | {"content": "<p>worse</p>", "updated": "2026-01-01T12:00:00Z"}
    await take(stage, {"id": f"{eve['id']}#edit", "type": "Update", "actor": eve["id"], "object": older})
    assert (await ada.get(f"/api/v1/statuses/{row[0]}")).json["content"] == "<p>better</p>"
    assert len((await ada.get(f"/api/v1/statuses/{row[0]}/history")).json) == 2


async def test_the_later_edit_stays_if_the_clock_of_its_server_is_ahead(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    post = note(eve, cc=[f"{HOME}/users/ada"])
    await take(stage, create(eve, post))
    ahead = datetime.now(UTC) + timedelta(minutes=5)
    for second in (2, 1):
        updated = (ahead + timedelta(seconds=second)).isoformat()
        await take(stage, act(eve, "Update", post | {"content": f"<p>{second}</p>", "updated": updated}, second))
    assert await stage.rows("SELECT content FROM statuses") == [["<p>2</p>"]]


async def test_a_vote_counts_once(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    poll = {"options": ["tea", "coffee"], "expires_in": 600}
    status = (await ada.post("/api/v1/statuses", json={"status": "which?", "poll": poll})).json
    for number, option in enumerate(("tea", "coffee", "tea", "milk")):
        vote = {
            "id": f"{eve['id']}#votes/{number}", "type": "Note", "attributedTo": eve["id"], "name": option,
            "to": [f"{HOME}/users/ada"], "inReplyTo": status["uri"],
        }  # fmt: skip
        await take(stage, {"id": f"{vote['id']}/activity", "type": "Create", "actor": eve["id"], "object": vote})
    shown = (await ada.get(f"/api/v1/polls/{status['poll']['id']}")).json
    assert ([one["votes_count"] for one in shown["options"]], shown["voters_count"]) == ([1, 0], 1)
    assert len(await stage.rows("SELECT id FROM statuses")) == 1


async def test_a_reply_waits_for_its_unknown_parent(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await followed(ada, peer)
    asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}
    await take(stage, {"id": f"{eve['id']}#accepts/1", "type": "Accept", "actor": eve["id"], "object": asked})
    first = note(eve, 1)
    await take(stage, create(eve, note(eve, 2, inReplyTo=first["id"])))
    await take(stage, create(eve, note(eve, 3, inReplyTo=first["id"])))
    assert (await ada.get("/api/v1/timelines/home")).json == []
    assert (await ada.get("/api/v1/timelines/public?remote=true")).json == []
    await take(stage, create(eve, first))
    (parent,) = await stage.rows("SELECT id FROM statuses WHERE uri = $1", first["id"])
    thread = (await ada.get(f"/api/v1/statuses/{parent[0]}/context")).json
    assert [one["content"] for one in thread["descendants"]] == ["<p>hello 2</p>", "<p>hello 3</p>"]
    assert (await ada.get(f"/api/v1/statuses/{parent[0]}")).json["replies_count"] == 2
    assert len(await stage.rows("SELECT DISTINCT conversation_id FROM statuses")) == 1


async def test_a_delivery_waits_while_its_key_can_not_be_had(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """It is stored, verified later, and applied only then."""
    eve = peer.person("eve")
    served = peer.answers.copy()
    peer.fail(eve["id"], 503)
    assert (await deliver(stage, follow(eve, "ada"))).status == 202
    await applied(stage)
    assert await stage.rows("SELECT id FROM follows") == []
    assert await stage.rows("SELECT kind, attempts FROM outbox WHERE queue = 'inbox'") == [["unverified", 1]]
    peer.answers |= served
    await stage.sql("UPDATE outbox SET due_at = now(), error = NULL")
    await until_found(lambda: stage.rows("SELECT id FROM follows"))


async def page_in_place_of_a_document(stream: trio.abc.Stream, asked: Asked) -> None:
    await stream.send_all(answer(200, b"<html>Back soon</html>", Content_Type="text/html"))


async def status(stream: trio.abc.Stream, asked: Asked, code: int) -> None:
    await stream.send_all(answer(code, b"{}", Content_Type="application/json"))


@pytest.mark.parametrize(
    "respond",
    [*BROKEN, page_in_place_of_a_document, *(partial(status, code=one) for one in (401, 403, 408, 429, 500, 502, 504))],
    ids=lambda one: getattr(one, "__name__", None) or str(one.keywords["code"]),
)
@pytest.mark.parametrize("is_known", [False, True], ids=["a new key", "a key that was replaced"])
async def test_a_delivery_is_applied_though_the_server_of_its_key_was_out_of_order(
    stage: Stage, ada: Person, peer: ForeignServer, respond: Respond, is_known: bool
) -> None:
    """Other servers never send again what was refused with 401."""
    eve = peer.person("eve")
    if is_known:
        await take(stage, act(eve, "Like", f"{HOME}/users/ada"))
        await stage.sql("UPDATE actor_keys SET fetched_at = fetched_at - interval '1 hour'")
        replaced = eve["publicKey"] | {"publicKeyPem": public_pem(another_key())}
        peer.serve(eve["id"], eve | {"publicKey": replaced})
    key = another_key() if is_known else private_key()
    served = peer.answers.copy()
    peer.respond_with(eve["id"], respond)
    reply = await deliver(stage, follow(eve, "ada"), key=key)
    assert (reply.status, reply.body) == (202, b"")
    await applied(stage)
    assert await stage.rows("SELECT id FROM follows") == []
    peer.answers |= served
    await stage.sql("UPDATE outbox SET due_at = now(), error = NULL")
    await until_found(lambda: stage.rows("SELECT id FROM follows"))


@pytest.mark.parametrize("code", [404, 410])
async def test_a_delivery_whose_key_is_not_there_is_refused(
    stage: Stage, ada: Person, peer: ForeignServer, code: int
) -> None:
    eve = peer.person("eve")
    peer.fail(eve["id"], code)
    assert (await deliver(stage, follow(eve, "ada"))).status == 401
    assert await stage.rows("SELECT id FROM outbox WHERE queue = 'inbox'") == []


async def test_deliveries_that_waited_for_their_key_come_before_the_one_by_which_it_is_found(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    served = peer.answers.copy()
    peer.fail(eve["id"], 503)
    first, forged = follow(eve, "ada"), follow(eve, "ada", 7)
    for activity in (first, act(eve, "Undo", first)):
        assert (await deliver(stage, activity)).status == 202
    assert (await deliver(stage, forged, key=another_key())).status == 202
    await until_found(lambda: stage.rows("SELECT id FROM outbox WHERE queue = 'inbox' AND attempts = 1"))
    peer.answers |= served
    await take(stage, follow(eve, "ada", 2))
    assert await stage.rows("SELECT uri FROM follows") == [[f"{eve['id']}#follows/2"]]
    await until_found(lambda: _none(stage, "SELECT id FROM outbox WHERE queue = 'inbox'"))
    assert await stage.rows("SELECT uri FROM follows") == [[f"{eve['id']}#follows/2"]]


async def test_a_forged_delivery_whose_key_comes_later_does_nothing(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    served = peer.answers.copy()
    peer.fail(eve["id"], 429)
    forged = another_key()
    assert (await deliver(stage, follow(eve, "ada"), key=forged)).status == 202
    await applied(stage)
    peer.answers |= served
    await stage.sql("UPDATE outbox SET due_at = now(), error = NULL")
    await until_found(lambda: _none(stage, "SELECT id FROM outbox WHERE queue = 'inbox'"))
    assert await stage.rows("SELECT id FROM follows") == []
    assert [one["error"] for one in stage.told("outbox.given_up")] == ["GivenUp: the signature is not of this key"]


async def test_only_some_deliveries_wait_for_the_keys_of_a_host(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reception, "MOST_UNVERIFIED", 2)
    eve, other = peer.person("eve"), peer.person("oscar", "other.test")
    for someone in (eve, other):
        peer.fail(someone["id"], 503)
    assert [(await deliver(stage, follow(eve, "ada", number))).status for number in range(3)] == [202, 202, 429]
    assert (await deliver(stage, follow(other, "ada"))).status == 202


async def test_a_stranger_who_deletes_itself_is_not_asked_for_its_key(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = {"id": peer.url("/users/gone"), "followers": peer.url("/users/gone/followers")}
    assert (await deliver(stage, act(eve, "Delete", eve["id"]))).status == 202
    assert (await deliver(stage, act(eve, "Update", eve | {"type": "Person"}))).status == 202
    assert peer.peer.asked == []
    assert (await deliver(stage, act(eve, "Delete", eve["id"]), headers={"Signature": None})).status == 401


async def test_a_deleted_account_takes_its_posts_and_follows_along(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    await take(stage, follow(eve, "ada"))
    await take(stage, create(eve, note(eve, cc=[f"{HOME}/users/ada"])))
    await take(stage, act(eve, "Delete", eve))
    await until_found(lambda: _none(stage, "SELECT id FROM follows"))
    await until_found(lambda: _none(stage, "SELECT id FROM statuses WHERE deleted_at IS NULL"))


@pytest.mark.parametrize("status", [410, 200])
async def test_a_deletion_whose_key_is_gone_has_the_account_asked_for(
    stage: Stage, ada: Person, peer: ForeignServer, status: int
) -> None:
    """Servers stop to serve a deleted actor at once, and its key is forgotten here after some weeks."""
    eve = peer.person("eve")
    await followed(ada, peer)
    await until_done(stage)
    await stage.sql("DELETE FROM actor_keys")
    if status == 410:
        peer.fail(eve["id"], 410)
    else:
        peer.serve(eve["id"], {"id": eve["id"], "type": "Tombstone", "formerType": "Person"})
    assert (await deliver(stage, act(eve, "Like", f"{HOME}/users/ada"), key_id=f"{eve['id']}#k")).status == 401
    assert (await deliver(stage, act(eve, "Delete", eve["id"]))).status == 202
    deleted = "SELECT 1 FROM accounts WHERE uri = $1 AND deleted_at IS NOT NULL"
    await until_found(lambda: stage.rows(deleted, eve["id"]))


async def test_an_account_that_is_there_outlives_a_deletion_whose_key_is_gone(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    await followed(ada, peer)
    await until_done(stage)
    peer.fail(f"{eve['id']}/key", 410)
    await deliver(stage, act(eve, "Delete", eve["id"]), key_id=f"{eve['id']}/key")
    await until_done(stage)
    assert await stage.rows("SELECT deleted_at FROM accounts WHERE uri = $1", eve["id"]) == [[None]]


async def test_an_activity_that_fails_does_not_hold_up_those_after_it(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """Its object can't be fetched just now: it is put aside, and tried again."""
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    await followed(ada, peer)
    await take(stage, act(eve, "Accept", {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}))
    boosted = peer.note(oscar, "/notes/1")
    served = peer.answers.copy()
    peer.fail(boosted["id"], 503)
    await take(stage, act(eve, "Announce", boosted["id"], to=["as:Public"]))
    await take(stage, create(eve, note(eve)))
    assert await stage.rows("SELECT uri FROM statuses") == [[note(eve)["id"]]]
    peer.answers |= served
    await stage.sql("UPDATE outbox SET due_at = now(), error = NULL")
    await until_found(lambda: stage.rows("SELECT id FROM statuses WHERE reblog_of_id IS NOT NULL"))


async def test_an_activity_waits_for_an_earlier_one_about_the_same_post(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    await followed(ada, peer)
    await take(stage, act(eve, "Accept", {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}))
    boosted = peer.note(oscar, "/notes/1")
    served = peer.answers.copy()
    peer.fail(boosted["id"], 503)
    boost = act(eve, "Announce", boosted["id"], to=["as:Public"])
    for activity in (boost, act(eve, "Undo", boost), act(eve, "Announce", boosted["id"], 2, to=["as:Public"])):
        assert (await deliver(stage, activity)).status == 202
    waiting = "SELECT id FROM outbox WHERE queue = 'inbox'"
    await until_found(lambda: stage.rows(f"{waiting} AND partition_key LIKE 'aside/%' OFFSET 2"))
    peer.answers |= served
    await stage.sql("UPDATE outbox SET due_at = now(), error = NULL")
    await until_found(lambda: _none(stage, waiting))
    boosts = await stage.rows("SELECT uri FROM statuses WHERE reblog_of_id IS NOT NULL AND deleted_at IS NULL")
    assert boosts == [[f"{eve['id']}#Announce/2"]]


async def test_a_forwarded_answer_is_fetched_from_its_own_server(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, oscar = peer.person("eve"), peer.person("oscar", "other.test")
    status = (await ada.post("/api/v1/statuses", json={"status": "hello"})).json
    answer = peer.note(oscar, "/notes/1", "<p>true</p>", inReplyTo=status["uri"])
    passed_on = create(oscar, answer | {"content": "<p>false</p>"})
    await take(stage, passed_on, signer=eve["id"])
    assert await stage.rows("SELECT content FROM statuses WHERE uri = $1", answer["id"]) == [["<p>true</p>"]]
    peer.fail(answer["id"], 410)
    await take(stage, act(oscar, "Delete", answer["id"]), signer=eve["id"])
    assert await stage.rows("SELECT id FROM statuses WHERE uri = $1 AND deleted_at IS NULL", answer["id"]) == []


@pytest.mark.parametrize("kind", ["Update", "Delete", "forwarded"])
async def test_a_tombstone_is_a_deletion(stage: Stage, ada: Person, peer: ForeignServer, kind: str) -> None:
    """NodeBB tells of one by an Update, and answers with it as with any document."""
    eve = peer.person("eve")
    post = note(eve, cc=[f"{HOME}/users/ada"])
    await take(stage, create(eve, post))
    tombstone = {"id": post["id"], "type": "Tombstone", "formerType": "Note", "deleted": "2026-01-01T00:00:00Z"}
    peer.serve(post["id"], tombstone)
    if kind == "forwarded":
        await take(stage, act(eve, "Delete", post["id"]), signer=peer.person("oscar", "other.test")["id"])
    else:
        await take(stage, act(eve, kind, tombstone))
    assert await stage.rows("SELECT FROM statuses WHERE deleted_at IS NULL") == []


async def test_what_comes_to_a_personal_inbox_is_for_its_owner(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await take(stage, create(eve, note(eve, to=[], cc=[])), path="/users/ada/inbox")
    (row,) = await stage.rows("SELECT id, visibility, mentioned_ids FROM statuses")
    assert row[1:] == ["direct", [int(ada.id)]]
    assert (await ada.get(f"/api/v1/statuses/{row[0]}")).status == 200
    assert (await ada.get("/api/v1/notifications")).json == []


async def test_a_late_post_is_in_its_place_and_no_news(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await followed(ada, peer)
    await take(stage, act(eve, "Accept", {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}))
    await take(stage, create(eve, note(eve, 1)))
    await take(stage, create(eve, note(eve, 2, published="2026-01-02T03:04:05Z")))
    await take(stage, create(eve, note(eve, 3, published="2999-01-02T03:04:05Z")))
    shown = (await ada.get("/api/v1/timelines/home")).json
    assert [one["content"] for one in shown] == ["<p>hello 3</p>", "<p>hello 1</p>", "<p>hello 2</p>"]
    assert shown[2]["created_at"] == "2026-01-02T03:04:05.000Z"
    assert shown[0]["created_at"] < "2999"


async def test_a_report_reaches_staff(stage: Stage, ada: Person, bob: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    status = (await ada.post("/api/v1/statuses", json={"status": "hello"})).json
    hidden = (await ada.post("/api/v1/statuses", json={"status": "psst", "visibility": "private"})).json
    named = [f"{HOME}/users/ada", status["uri"], hidden["uri"], eve["id"]]
    for number in (1, 2):
        await take(stage, act(eve, "Flag", named, content="spam") | {"extra": number})
    rows = await stage.rows("SELECT target_account_id, status_ids, comment, uri FROM reports")
    assert rows == [[int(ada.id), [int(status["id"])], "spam", f"{eve['id']}#Flag/1"]]
    await take(stage, act(eve, "Flag", f"{HOME}/users/bob", 3, summary="rude"))  # as Lemmy tells the reason
    assert await stage.rows("SELECT comment FROM reports WHERE target_account_id = $1", int(bob.id)) == [["rude"]]


async def test_pins_come_and_go(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    post = note(eve, cc=[f"{HOME}/users/ada"])
    await take(stage, create(eve, post))
    await take(stage, act(eve, "Add", post, target=eve["featured"]))
    assert len(await stage.rows("SELECT id FROM pins")) == 1
    await take(stage, act(eve, "Remove", post["id"], target=[eve["featured"]]))
    assert await stage.rows("SELECT id FROM pins") == []


async def test_followers_go_along_with_a_move(stage: Stage, ada: Person, bob: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    new = peer.person("new", "other.test", alsoKnownAs=[eve["id"]])
    for person, name in ((ada, "ada"), (bob, "bob")):
        await followed(person, peer)
        await take(stage, act(eve, "Accept", {"type": "Follow", "actor": f"{HOME}/users/{name}", "object": eve["id"]}))
    await take(stage, act(eve, "Move", eve["id"], target=new["id"]))
    await until_found(lambda: _none(stage, "SELECT id FROM follows"))
    rows = await stage.rows(
        "SELECT r.account_id, a.uri FROM follow_requests r JOIN accounts a ON a.id = r.target_account_id ORDER BY 1"
    )
    assert rows == [[id, new["id"]] for id in sorted((int(ada.id), int(bob.id)))]
    other = peer.person("third", "other.test", alsoKnownAs=[eve["id"]])
    await take(stage, act(eve, "Move", eve["id"], 2, target=other["id"]))
    (moved,) = await stage.rows(
        "SELECT n.uri FROM accounts a JOIN accounts n ON n.id = a.moved_to_id WHERE a.uri = $1", eve["id"]
    )
    assert moved == [new["id"]]


@pytest.mark.parametrize("alias", ["{id}", "{id}/", "{url}", "acct:Eve@{domain}", "{capitals}", "{secure}"])
async def test_an_alias_may_be_written_in_any_way(stage: Stage, ada: Person, peer: ForeignServer, alias: str) -> None:
    eve = peer.person("eve")
    capitals, secure = eve["id"].replace("http://peer", "http://PEER"), eve["id"].replace("http:", "https:")
    written = alias.format(id=eve["id"], url=eve["url"], domain=peer.domain, capitals=capitals, secure=secure)
    new = peer.person("new", "other.test", alsoKnownAs=[written])
    await followed(ada, peer)
    await take(stage, act(eve, "Accept", {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}))
    await take(stage, act(eve, "Move", eve["id"], target=new["id"]))
    await until_found(lambda: _none(stage, "SELECT id FROM follows"))


@pytest.mark.parametrize("alias", ["{id}x", "{id}/statuses", "acct:evelyn@{domain}", "acct:eve@other.test", "{other}"])
async def test_an_alias_names_one_account(stage: Stage, ada: Person, peer: ForeignServer, alias: str) -> None:
    eve, mallory = peer.person("eve"), peer.person("mallory")
    written = alias.format(id=eve["id"], domain=peer.domain, other=mallory["id"])
    new = peer.person("new", "other.test", alsoKnownAs=[written])
    await followed(ada, peer)
    await take(stage, act(eve, "Move", eve["id"], target=new["id"]))
    assert await stage.rows("SELECT id FROM accounts WHERE moved_to_id IS NOT NULL") == []


async def _none(stage: Stage, query: str) -> bool:
    return await stage.rows(query) == []
