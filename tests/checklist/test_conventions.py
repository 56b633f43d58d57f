"""The seed checklist's rows on what holds for every endpoint: ids, bodies, caching, errors, paths."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from troupe.http.router import Endpoint, all_endpoints
from troupe.storage.engine.json_values import is_list, is_object

from ..clients import SCOPES, Person, Reply, Stage
from .rows import rows

REST = re.compile(r"/api/v[12]/")
ID = re.compile(r"[0-9]{1,19}")
REMOVED = ("/api/v1/search", "/api/v1/timelines/direct", "/api/v1/statuses/1/card", "/api/push", "/api/salmon/1")


def endpoints(method: str) -> Iterator[Endpoint]:
    return (
        endpoint
        for endpoint in all_endpoints()
        if endpoint.method == method and REST.match(endpoint.path) and "streaming" not in endpoint.path
    )


def ids_in(value: Any) -> Iterator[Any]:
    """Every value under a key that names an id, wherever it stands."""
    if is_list(value):
        for one in value:
            yield from ids_in(one)
    elif is_object(value):
        for key, one in value.items():
            if key == "id" or key.endswith(("_id", "_ids")):
                yield from one if isinstance(one, list) else [one]
            yield from ids_in(one)


async def filled(stage: Stage, ada: Person, bob: Person) -> dict[str, str]:
    """A server with something in every corner; an id for each kind of path."""
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    poll = {"options": ["yes", "no"], "expires_in": 300}
    status = (await ada.send("POST", "/api/v1/statuses", json={"status": "#cat @bob ?", "poll": poll})).json
    answer = await bob.publish("@ada", in_reply_to_id=status["id"], visibility="direct")
    for what in ("favourite", "bookmark", "reblog"):
        assert (await bob.post(f"/api/v1/statuses/{status['id']}/{what}")).status == 200
    await bob.put(f"/api/v1/statuses/{answer['id']}", {"status": "@ada again"})
    some_list = (await ada.post("/api/v1/lists", {"title": "cats"})).json
    told = (await ada.get("/api/v1/notifications")).json
    assert len(told) == 4
    return {
        "accounts": ada.id, "statuses": status["id"], "polls": status["poll"]["id"], "lists": some_list["id"],
        "notifications": told[0]["id"], "tag": "cat",
    }  # fmt: skip


def address(endpoint: Endpoint, ids: dict[str, str]) -> str:
    kind = endpoint.path.split("<")[0].rstrip("/").rpartition("/")[2]
    return re.sub(r"<\w+>", ids.get(kind, "103"), endpoint.path)


@rows("S025", "S026", "S109", "S112", "S252", "S261")
async def test_every_answer_has_ids_of_digits_and_is_not_to_be_stored(stage: Stage, ada: Person, bob: Person) -> None:
    ids = await filled(stage, ada, bob)
    seen = 0
    for endpoint in endpoints("GET"):
        for person in (ada, bob, stage.anybody()):
            path = address(endpoint, ids)
            reply = await person.get(path)
            assert "no-store" in reply.headers["Cache-Control"], path
            assert reply.headers["Content-Type"].startswith("application/json"), path
            if reply.status >= 400:
                assert isinstance(reply.json["error"], str), path
                continue
            for id in ids_in(reply.json):
                assert id is None or (isinstance(id, str) and ID.fullmatch(id) and int(id) < 2**63), (path, id)
                seen += id is not None
    assert seen > 150


@rows("S027", "S109")
async def test_ids_are_taken_as_text_and_keep_all_their_digits(ada: Person) -> None:
    status = await ada.publish("root")
    answer = await ada.send(
        "POST", "/api/v1/statuses", json={"status": "answer", "in_reply_to_id": status["id"]}
    )  # fmt: skip
    assert answer.json["in_reply_to_id"] == status["id"]
    largest = str(2**63 - 1)
    page = await ada.get(f"/api/v1/accounts/{ada.id}/statuses?max_id={largest}&limit=1")
    assert [one["id"] for one in page.json] == [answer.json["id"]]
    assert f"max_id={answer.json['id']}" in page.headers["Link"]
    assert (await ada.get(f"/api/v1/accounts/{ada.id}/statuses?since_id={largest}")).json == []
    missing = await ada.send("POST", "/api/v1/statuses", json={"status": "x", "in_reply_to_id": largest})
    assert missing.status == 404


@rows("S107")
async def test_every_write_that_takes_parameters_reads_a_json_body_and_answers_with_json(
    stage: Stage, ada: Person, bob: Person
) -> None:
    ids = await filled(stage, ada, bob)
    app = stage.anybody(await stage.token(None))
    owner = await stage.person("owner", (*SCOPES, "admin:read", "admin:write"), role="owner")
    as_json = {"Content-Type": "application/json"}
    reading = 0
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for endpoint in endpoints(method):
            staffed = bob if endpoint.permission is None else owner
            path, client = address(endpoint, ids), app if endpoint.auth == "app" else staffed
            broken = await client.send(method, path, data=b'{"broken', headers=as_json)
            if endpoint.input is not None:
                assert (broken.status, broken.json) == (400, {"error": "The request body is not valid JSON"}), path
                reading += 1
            reply = await client.send(method, path, json={})
            assert reply.status in (200, 202, 400, 403, 404, 410, 422, 503), (method, path, reply.text)
            assert reply.headers["Content-Type"].startswith("application/json"), (method, path)
            assert isinstance(reply.json, dict | list), (method, path)
    assert reading > 25


# A write, its JSON body, and a part of the answer that is so because of the body and would not be without it.
WRITES = """
PUT /api/v1/accounts/update_credentials {"bot": true, "source": {"privacy": "unlisted"}} {"bot": true}
PUT /api/v1/accounts/update_credentials {"fields_attributes": [{"name": "a", "value": "b"}]} \
 {"fields": [{"name": "a", "value": "b", "verified_at": null}]}
POST /api/v1/accounts/<accounts>/follow {"reblogs": false, "languages": ["de"]} \
 {"showing_reblogs": false, "languages": ["de"]}
POST /api/v1/accounts/<accounts>/mute {"notifications": false} {"muting": true, "muting_notifications": false}
POST /api/v1/accounts/<accounts>/note {"comment": "so"} {"note": "so"}
POST /api/v1/statuses {"status": "so", "sensitive": true, "visibility": "unlisted"} \
 {"content": "<p>so</p>", "sensitive": true, "visibility": "unlisted"}
PUT /api/v1/statuses/<own> {"status": "else", "spoiler_text": "why"} {"content": "<p>else</p>", "spoiler_text": "why"}
POST /api/v1/statuses/<statuses>/reblog {"visibility": "unlisted"} {"visibility": "unlisted"}
POST /api/v1/polls/<polls>/votes {"choices": [1]} {"voted": true, "own_votes": [1]}
POST /api/v1/lists {"title": "so", "exclusive": true} {"title": "so", "exclusive": true}
POST /api/v1/featured_tags {"name": "so"} {"name": "so"}
POST /api/v1/apps {"client_name": "so", "redirect_uris": ["a://b"]} {"name": "so", "redirect_uris": ["a://b"]}
"""


@rows("S107")
async def test_what_a_json_body_says_is_done(stage: Stage, ada: Person, bob: Person) -> None:
    ids = await filled(stage, ada, bob)
    await bob.post(f"/api/v1/statuses/{ids['statuses']}/unreblog")
    ids["own"] = (await bob.publish("mine"))["id"]
    for line in WRITES.strip().splitlines():
        method, path, rest = line.split(maxsplit=2)
        body, length = json.JSONDecoder().raw_decode(rest)
        path = re.sub(r"<(\w+)>", lambda kind: ids[kind[1]], path)
        reply = await bob.send(method, path, json=body)
        assert reply.status == 200, (path, reply.text)
        due = json.loads(rest[length:])
        assert {key: reply.json.get(key) for key in due} == due, path


@rows("S223", "S224", "S235")
async def test_coarse_scopes_take_in_the_fine_ones(stage: Stage, ada: Person) -> None:
    coarse = stage.anybody(await stage.token(ada.account, ("read",)))
    fine = stage.anybody(await stage.token(ada.account, ("read:lists",)))
    for path in ("lists", "timelines/home", "blocks", "mutes", "favourites", "bookmarks", "notifications"):
        assert (await coarse.get(f"/api/v1/{path}")).status == 200, path
        assert (await fine.get(f"/api/v1/{path}")).status == (200 if path == "lists" else 403), path
    for reply in (
        await coarse.post("/api/v1/statuses", {"status": "hi"}),
        await coarse.post("/api/v1/lists", {"title": "cats"}),
    ):
        assert (reply.status, reply.json) == (403, {"error": "This action is outside the authorized scopes"})


@pytest.mark.parametrize("path", REMOVED)
@rows("S023", "S161", "S193", "S209", "S259", "S262", "S263", "S264", "S265", "S266")
async def test_what_was_removed_is_nowhere(stage: Stage, ada: Person, path: str) -> None:
    for person in (ada, stage.anybody(), stage.anybody("nonsense")):
        for method in ("GET", "POST", "DELETE"):
            reply: Reply = await person.send(method, path)
            assert (reply.status, isinstance(reply.json["error"], str)) == (404, True), (method, path)


@rows("S257")
async def test_statuses_have_500_characters_and_the_configuration_says_so(stage: Stage, ada: Person) -> None:
    configured = (await stage.anybody().get("/api/v2/instance")).json["configuration"]["statuses"]
    assert (configured["max_characters"], configured["characters_reserved_per_url"]) == (500, 23)
    assert (await ada.post("/api/v1/statuses", {"status": "x" * 500})).status == 200
    refused = await ada.post("/api/v1/statuses", {"status": "x" * 501})
    assert (refused.status, refused.json["error"]) == (422, "Validation failed: Text character limit of 500 exceeded")
