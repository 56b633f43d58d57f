"""What a hostile server, or anybody who can send a request, could try: each attempt changes nothing that is not its
own, and leaves others their places and their room.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from troupe.actors.activitypub.keys import public_pem
from troupe.actors.activitypub.vocabulary import MOST_VALUES
from troupe.actors.federation import background_jobs, budgets, reception
from troupe.actors.federation.background_jobs import BackgroundJobs

from ..clients import Person, Stage
from ..signing import private_key
from ..waiting import PATIENCE
from .delivering import HOME, act, applied, create, deliver, follow, note, take
from .finding import search
from .peer import ForeignServer


async def mentioned(stage: Stage, eve: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Deliver a post of eve's that names ada, and return its document."""
    tag = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada@home.test"}
    parts: dict[str, Any] = {"to": [eve["followers"]], "cc": [f"{HOME}/users/ada"], "tag": [tag]}
    document = note(eve, **parts | changes)
    await take(stage, create(eve, document))
    return document


# Speaking for others --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_class_5_a_stranger_cannot_have_a_private_post_deleted(
    stage: Stage, ada: Person, peer: ForeignServer, status: int
) -> None:
    """Its server does not show it to this server's own actor, which does not mean that it was deleted."""
    eve, mallory = peer.person("eve"), peer.person("mallory", "other.test")
    document = await mentioned(stage, eve)
    peer.fail(document["id"], status)
    await take(stage, act(eve, "Delete", document["id"]), signer=mallory["id"])
    assert await stage.rows("SELECT uri FROM statuses WHERE deleted_at IS NULL") == [[document["id"]]]
    assert await stage.rows("SELECT uri FROM tombstones") == []


@pytest.mark.parametrize(("status", "left"), [(401, 1), (403, 1), (404, 0), (410, 0), (500, 1)])
async def test_a_deletion_that_is_passed_on_is_believed_if_the_post_is_gone(
    stage: Stage, ada: Person, peer: ForeignServer, status: int, left: int
) -> None:
    eve, mallory = peer.person("eve"), peer.person("mallory", "other.test")
    document = await mentioned(stage, eve, to=["as:Public"])
    peer.fail(document["id"], status)
    await take(stage, act(eve, "Delete", document["id"]), signer=mallory["id"])
    assert len(await stage.rows("SELECT uri FROM statuses WHERE deleted_at IS NULL")) == left


async def test_class_18_a_post_of_another_host_than_its_author_has_nobody_asked(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    victim = peer.url("/users/victim", "other.test")
    post = peer.note(peer.person("eve"), "/notes/1", attributedTo=victim)
    found = await ada.get("/api/v2/search", query_string={"q": post["id"], "resolve": "true"})
    assert found.json["statuses"] == []
    assert peer.asked(victim) == []


async def test_a_vote_is_never_shown_as_a_post(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    asked = {"status": "which?", "poll": {"options": ["tea", "coffee"], "expires_in": 600}}
    poll = (await ada.post("/api/v1/statuses", json=asked)).json
    ballot = note(eve, to=[f"{HOME}/users/ada"], content=None, name="milk", inReplyTo=poll["uri"])
    peer.serve(ballot["id"], ballot)
    await take(stage, act(eve, "Update", ballot | {"updated": "2099-01-01T00:00:00Z"}))
    found = await ada.get("/api/v2/search", query_string={"q": ballot["id"], "resolve": "true"})
    assert found.json["statuses"] == []
    assert await stage.rows("SELECT uri FROM statuses WHERE NOT local") == []
    assert (await ada.get(f"/api/v1/polls/{poll['poll']['id']}")).json["votes_count"] == 0


# Keys that no row can hold --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["x" * 3000, "ä" * 2000, "\x7f"], ids=["long", "not ASCII", "not printable"])
async def test_class_20_a_key_with_an_odd_name_is_refused(
    stage: Stage, ada: Person, peer: ForeignServer, ending: str
) -> None:
    key_id = peer.url(f"/users/eve#{ending}")
    eve = peer.person("eve")
    key = eve["publicKey"] | {"id": key_id}
    peer.serve(eve["id"], eve | {"publicKey": [key, key | {"id": key_id.encode().decode("latin-1")}]})
    assert (await deliver(stage, follow(eve, "ada"), key_id=key_id)).status == 401
    assert stage.failures == []


async def test_a_key_with_something_around_it_is_refused(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    for trailing in ("\0", "\n\0\n", "ä"):
        key = eve["publicKey"] | {"publicKeyPem": public_pem(private_key()) + trailing}
        fay = peer.person(f"fay{ord(trailing[-1])}", publicKey=key)
        key |= {"id": f"{fay['id']}#main-key", "owner": fay["id"]}
        peer.serve(fay["id"], fay | {"publicKey": key})
        assert (await deliver(stage, follow(fay, "ada"))).status == 401
        assert len(await search(ada, fay["id"])) == 1
    assert stage.failures == []


@pytest.mark.parametrize(
    "date", ["Mon, 99999999999999999999 Nov 2026 12:00:00 GMT", "Mon, 23 Nov 2026 12:00:00 +9999999999999999"]
)
async def test_a_date_that_no_calendar_has_is_refused(
    stage: Stage, ada: Person, peer: ForeignServer, date: str
) -> None:
    reply = await deliver(stage, follow(peer.person("eve"), "ada"), headers={"Date": date})
    assert reply.status == 401
    assert stage.failures == []


# Filling the server, and slowing others -------------------------------------------------------------------------------


async def test_class_34_requests_with_unknown_keys_fill_no_table(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can name keys of any number of hosts that do not answer."""
    monkeypatch.setattr(reception, "MOST_UNVERIFIED", 3)
    monkeypatch.setattr(reception, "MOST_UNVERIFIED_OF_ALL", 5)
    eve = peer.person("eve")
    hosts = [f"host{number}.peer.test" for number in range(5)] + ["other.test"] * 2 + ["third.test"] * 2
    answers: list[int] = []
    for number, host in enumerate(hosts):
        key_id = peer.url(f"/users/{number}", host)
        peer.fail(key_id, 503)
        answers.append((await deliver(stage, follow(eve, "ada", number), key_id=key_id)).status)
    assert answers == [202] * 3 + [429] * 2 + [202] * 2 + [429] * 2
    waiting = await stage.rows("SELECT DISTINCT group_key FROM outbox WHERE kind = 'unverified' ORDER BY group_key")
    assert waiting == [["unverified other.test"], ["unverified peer.test"]]


async def test_class_34_a_large_request_with_an_unknown_key_is_not_kept(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    peer.fail(eve["id"], 503)
    wordy = follow(eve, "ada") | {"content": "x" * reception.LARGEST_UNVERIFIED}
    assert (await deliver(stage, wordy)).status == 429
    assert (await deliver(stage, follow(eve, "ada"))).status == 202


async def test_a_sender_does_not_wait_for_its_slow_key(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reception, "SECONDS_FOR_KEY", 0.1)
    eve = peer.person("eve")
    let_go = peer.hold(eve["id"])
    with trio.fail_after(PATIENCE):
        assert (await deliver(stage, follow(eve, "ada"))).status == 202
    assert await stage.rows("SELECT count(*) FROM outbox WHERE kind = 'unverified'") == [[1]]
    let_go.set()


async def test_slow_keys_of_one_domain_leave_others_their_places(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can name forty keys of a server that never answers."""
    monkeypatch.setattr(reception, "SECONDS_FOR_KEY", 2 * PATIENCE)
    slow, fay = peer.person("eve"), peer.person("fay", "other.test")
    keys = [peer.url(f"/slow/{number}") for number in range(40)]
    held = [peer.hold(key) for key in keys]

    async def ask(number: int, key_id: str) -> None:
        await deliver(stage, follow(slow, "ada", number), key_id=key_id)

    async with trio.open_nursery() as nursery:
        for number, key_id in enumerate(keys):
            nursery.start_soon(ask, number, key_id)
        with trio.fail_after(PATIENCE):
            while len(peer.peer.asked) < budgets.OF_ONE_DOMAIN:
                await peer.peer.was_asked()
        with trio.fail_after(PATIENCE):
            assert (await deliver(stage, follow(fay, "ada"))).status == 202
        for event in held:
            event.set()
    await applied(stage)
    assert await stage.rows("SELECT uri FROM follows") == [[f"{fay['id']}#follows/1"]]


async def test_jobs_for_slow_servers_leave_others_their_workers() -> None:
    done, never, stopping = trio.Event(), trio.Event(), trio.Event()
    jobs = BackgroundJobs(lambda event, **facts: None)
    for number in range(3000):
        jobs.add("thread", f"https://host{number}.slow.test/x", never.wait)
    assert len(jobs) == background_jobs.MOST_OF_ONE_DOMAIN

    async def work() -> None:
        done.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(jobs.run, stopping)
        jobs.add("thread", "https://quick.test/x", work)
        with trio.fail_after(PATIENCE):
            await done.wait()
        await trio.testing.wait_all_tasks_blocked()
        assert len(jobs) == background_jobs.MOST_OF_ONE_DOMAIN
        never.set()
        await trio.testing.wait_all_tasks_blocked()
        assert len(jobs) == 0
        stopping.set()


async def test_only_so_many_jobs_are_done_at_the_same_time() -> None:
    busy, most, go_on, stopping = 0, 0, trio.Event(), trio.Event()
    jobs = BackgroundJobs(lambda event, **facts: None)

    async def work() -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await go_on.wait()
        busy -= 1

    for number in range(background_jobs.AT_ONCE + 5):
        jobs.add("thread", f"https://host{number}.test/x", work)
    async with trio.open_nursery() as nursery:
        await nursery.start(jobs.run, stopping)
        await trio.testing.wait_all_tasks_blocked()
        assert busy == background_jobs.AT_ONCE
        go_on.set()
        await trio.testing.wait_all_tasks_blocked()
        assert (len(jobs), most) == (0, background_jobs.AT_ONCE)
        stopping.set()


async def test_a_document_of_too_many_values_is_refused(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    body = b'{"actor": "' + eve["id"].encode() + b'", "type": "Create", "object": [' + b"[]," * MOST_VALUES + b"1]}"
    assert (await deliver(stage, body, signer=eve["id"])).status == 400
    assert (await deliver(stage, body, signer=eve["id"], headers={"Signature": None})).status == 401


# Pictures -------------------------------------------------------------------------------------------------------------


BLOCK = """
    INSERT INTO blocked_domains (id, domain, severity, reject_media, reject_reports, obfuscate, created_at)
    VALUES (1, $1, $2, $3, false, false, now())
"""


@pytest.mark.parametrize(("severity", "rejects_media"), [("suspend", False), ("noop", True)])
async def test_class_28_a_picture_of_a_blocked_server_is_not_fetched_for_another_one(
    stage: Stage, ada: Person, peer: ForeignServer, severity: str, rejects_media: bool
) -> None:
    picture = peer.url("/a.png", "third.test")
    peer.person("eve", icon={"type": "Image", "url": picture})
    (eve,) = await search(ada, peer.url("/users/eve"))
    await stage.sql(BLOCK, "third.test", severity, rejects_media)
    await stage.http_context.blocks.reload()
    path = eve["avatar"].removeprefix(HOME)
    assert path.startswith("/media_proxy/")
    assert (await stage.anybody().get(path)).status == 404
    assert peer.asked(picture) == []


async def test_a_picture_at_this_server_is_not_fetched(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """A server that asks itself for pictures can be kept busy with itself."""
    peer.person("eve", icon={"type": "Image", "url": f"{HOME}/media_proxy/avatar/1/x"})
    (eve,) = await search(ada, peer.url("/users/eve"))
    asked: list[str] = []

    class Client:
        async def send(self, request: Any, limits: Any) -> Any:
            asked.append(request.url)
            raise AssertionError

    stage.http_context.remote_files._client = Client()  # type: ignore[assignment]
    assert (await stage.anybody().get(eve["avatar"].removeprefix(HOME))).status == 404
    assert asked == []


async def test_an_inbox_with_an_odd_name_is_not_there(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    for name in ("%00", "a%00b", "%ff", "a%2Fb", "x" * 3000, "%F0%9F%8E%89"):
        for path in (f"/users/{name}/inbox", f"/users/{name}", f"/users/{name}/outbox", f"/users/{name}/statuses/1"):
            reply = await stage.anybody().get(path, headers={"Accept": "application/activity+json"})
            assert reply.status < 500, path
        assert (await deliver(stage, follow(eve, "ada"), path=f"/users/{name}/inbox")).status in (400, 401, 404, 414)
    assert stage.failures == []
