"""Rows of other accounts, unknown ids, and missing scopes: the contract's refusal, and no row is changed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from troupe.actors.rules import scopes
from troupe.http.router import all_endpoints
from troupe.storage import media
from troupe.storage.media import ProcessedMedia

from ..clients import Person, Stage
from .stored import rows
from .strangers import INVALID, MISSING, OUTSIDE, call, for_users

# Grants nothing of what is asked for, each for itself.
SINGLE = sorted(scope for scope in scopes.ALL if scope not in scopes.CHILDREN)


async def schedule(person: Person) -> Any:
    at = datetime.now(UTC) + timedelta(hours=1)
    return (await person.post("/api/v1/statuses", {"status": "later", "scheduled_at": at.isoformat()})).json


FILTER = {"title": "mine", "context": ["home"], "keywords_attributes": [{"keyword": "mine"}]}

# Ids that belong to no account alone: all users may read, follow and block accounts.
# Those of the earlier web client lead to pages of public statuses alone (test_old_addresses.py).
EVERYBODYS = ("/api/v1/accounts/", "/api/v1/announcements/", "/emojis/", "/statuses/", "/web/", "/deck/")


@pytest.fixture
async def private(stage: Stage, ada: Person, bob: Person) -> dict[str, str]:
    """What is ada's alone, by where its paths begin."""
    await stage.sql("UPDATE accounts SET locked = true WHERE id = $1", ada.account.id)
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    made, upload = ProcessedMedia("image", "a.png", "image/png", 1, None, None, {}), stage.http_context.ids.next()
    await stage.http_context.database.transact(
        media.insert, upload, ada.account.id, made, "mine", None, stage.http_context.clock.now()
    )  # fmt: skip
    poll = {"options": ["a", "b"], "expires_in": 600}
    wanted = {"status": "for followers", "visibility": "private", "poll": poll}
    post = (await ada.post("/api/v1/statuses", json=wanted)).json
    await bob.publish("@ada between us", visibility="direct")
    filtering = await ada.post("/api/v2/filters", json=FILTER)
    keyword = filtering.json["keywords"][0]["id"]
    path = f"/api/v2/filters/{filtering.json['id']}"
    named = await ada.post(f"{path}/statuses", {"status_id": post["id"]})
    return {
        "/api/v1/filters/": keyword,
        "/api/v2/filters/keywords/": keyword,
        "/api/v2/filters/statuses/": named.json["id"],
        "/api/v2/filters/": filtering.json["id"],
        "/api/v1/statuses/": post["id"],
        "/api/v1/polls/": post["poll"]["id"],
        "/api/v1/media/": str(upload),
        "/api/v1/follow_requests/": bob.id,
        "/api/v1/featured_tags/": (await ada.post("/api/v1/featured_tags", {"name": "tea"})).json["id"],
        "/api/v1/scheduled_statuses/": (await schedule(ada))["id"],
        "/api/v1/lists/": (list := (await ada.post("/api/v1/lists", {"title": "mine"})).json["id"]),
        "/api/v1/timelines/list/": list,
        "/api/v1/notifications/": (await ada.get("/api/v1/notifications")).json[0]["id"],
        "/api/v1/conversations/": (await ada.get("/api/v1/conversations")).json[0]["id"],
    }


async def test_rows_of_other_accounts_are_missing(stage: Stage, private: dict[str, str]) -> None:
    eve = await stage.person("eve")
    before = await rows(stage)
    tried = 0
    for endpoint in for_users():
        id = next((id for prefix, id in private.items() if endpoint.path.startswith(prefix)), None)
        if id is None:
            assert endpoint.path.startswith(EVERYBODYS), f"whose is what {endpoint.path} is about?"
            continue
        for token in (eve.token, None):
            answer = await call(stage, endpoint, token, id)
            wanted = INVALID if token is None and endpoint.auth != "none" else MISSING
            assert (answer.status, answer.body) == wanted, f"{endpoint.method} {endpoint.path}"
            tried += 1
    assert tried > 60
    assert await rows(stage) == before


async def test_unknown_ids_are_missing(stage: Stage, ada: Person) -> None:
    before = await rows(stage)
    for endpoint in for_users():
        answer = await call(stage, endpoint, ada.token, "103")
        assert answer.status == 404, f"{endpoint.method} {endpoint.path}: {answer.status} {answer.body!r}"
    assert await rows(stage) == before


async def test_without_a_token_there_is_nothing_to_change(stage: Stage, ada: Person) -> None:
    before = await rows(stage)
    for endpoint in all_endpoints():
        if endpoint.auth != "none":
            answer = await call(stage, endpoint, None, ada.id)
            assert (answer.status, answer.body) == INVALID, f"{endpoint.method} {endpoint.path}"
    assert await rows(stage) == before


async def test_every_wrong_scope_is_refused_everywhere(stage: Stage) -> None:
    account = await stage.account("ada")
    tokens = {scope: await stage.token(account, (scope,)) for scope in SINGLE}
    before = await rows(stage)
    for endpoint in all_endpoints():
        for scope, token in tokens.items():
            if endpoint.scopes and not scopes.granted((scope,), endpoint.scopes):
                answer = await call(stage, endpoint, token, str(account.id))
                assert (answer.status, answer.body) == OUTSIDE, f"{endpoint.method} {endpoint.path} with {scope}"
    assert await rows(stage) == before
