"""What every endpoint shares: tokens, states, scopes, headers, errors, unknown paths."""

from typing import Any, cast

import pytest

from troupe.actors.facts.access import RevokedToken
from troupe.actors.kernel.errors import Busy, Quarantined, Refused
from troupe.http.answers.errors import error_answer, invalid, missing
from troupe.http.intake.request import request_id, request_ids
from troupe.storage import oauth
from troupe.storage.engine.database import Doubtful, Unavailable
from troupe.storage.secrets import hash_of

from ..clients import Person, Stage

HOME = "/api/v1/timelines/home"


@pytest.mark.parametrize("name", ["access_token", "bearer_token"])
async def test_a_token_may_come_in_the_query_or_the_body(stage: Stage, ada: Person, name: str) -> None:
    assert (await stage.anybody().get(f"{HOME}?{name}={ada.token}")).status == 200
    posted = await stage.anybody().post("/api/v1/statuses", {"status": "hi", name: ada.token})
    assert posted.status == 200


async def test_without_a_token_or_with_an_unknown_one(stage: Stage) -> None:
    for client in (stage.anybody(), stage.anybody("unknown")):
        answer = await client.get(HOME)
        assert (answer.status, answer.json) == (401, {"error": "The access token is invalid"})
        assert answer.headers["WWW-Authenticate"].startswith("Bearer ")


async def test_a_bad_token_is_refused_where_a_token_is_optional(stage: Stage) -> None:
    assert (await stage.anybody("unknown").get("/api/v1/timelines/public")).status == 401
    assert (await stage.anybody("unknown").get("/api/v1/instance")).status == 200


async def test_a_revoked_token_says_so_at_once(stage: Stage, ada: Person) -> None:
    assert (await ada.get(HOME)).status == 200
    token = await stage.http_context.tokens.find(stage.http_context.database, ada.token or "")
    assert token is not None
    await stage.http_context.database.transact(
        oauth.revoke, token.token_hash, token.application_id, stage.http_context.clock.now()
    )
    await stage.http_context.facts.apply([RevokedToken(token.token_hash)])
    answer = await ada.get(HOME)
    assert (answer.status, answer.json) == (401, {"error": "The access token was revoked"})


async def test_a_token_read_while_it_was_revoked_is_not_kept(stage: Stage, ada: Person) -> None:
    tokens, secret = stage.http_context.tokens, ada.token or ""

    class Late:
        """A database whose answer is overtaken by a revocation."""

        async def read(self, work: object, token_hash: bytes) -> object:
            row = await stage.http_context.database.read(oauth.find_token, token_hash)
            tokens.forget(hash_of(secret))
            return row

    assert await tokens.find(cast(Any, Late()), secret) is not None
    await stage.http_context.database.transact(
        lambda db: db.execute("UPDATE access_tokens SET revoked_at = now() WHERE token_hash = $1", hash_of(secret))
    )
    found = await tokens.find(stage.http_context.database, secret)
    assert found is not None
    assert found.revoked_at is not None


async def test_an_application_is_no_user(stage: Stage) -> None:
    app = stage.anybody(await stage.token(None))
    answer = await app.get(HOME)
    assert (answer.status, answer.json) == (422, {"error": "This method requires an authenticated user"})
    assert (await app.get("/api/v1/timelines/public")).status == 200


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("UPDATE users SET confirmed_at = NULL", "Your login is missing a confirmed e-mail address"),
        ("UPDATE users SET approved_at = NULL", "Your login is currently pending approval"),
        ("UPDATE users SET disabled_at = now()", "Your login is currently disabled"),
        ("UPDATE accounts SET suspended_at = now()", "Your login is currently disabled"),
        ("UPDATE accounts SET deleted_at = now()", "Your login is currently disabled"),
    ],
)
async def test_a_user_who_may_not_act(stage: Stage, ada: Person, state: str, text: str) -> None:
    await stage.sql(state)
    for path in (HOME, "/api/v1/timelines/public"):
        answer = await ada.get(path)
        assert (answer.status, answer.json) == (403, {"error": text})
    assert (await ada.get("/api/v1/apps/verify_credentials")).status == 200


async def test_a_scope_too_few(stage: Stage) -> None:
    eve = await stage.person("eve", scopes=("read:accounts", "follow"))
    answer = await eve.get(HOME)
    assert (answer.status, answer.json) == (403, {"error": "This action is outside the authorized scopes"})
    assert (await eve.get("/api/v1/timelines/public")).status == 403
    assert (await eve.get("/api/v1/accounts/verify_credentials")).status == 200


async def test_every_answer_has_its_headers(stage: Stage, ada: Person) -> None:
    for answer in (await ada.get(HOME), await ada.get("/api/v1/nothing"), await ada.delete("/api/v1/instance")):
        assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert answer.headers["Vary"] == "Authorization"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert "Link" in answer.headers["Access-Control-Expose-Headers"]
        assert answer.headers["X-Request-Id"]


async def test_a_request_keeps_the_id_it_came_with(stage: Stage) -> None:
    client = stage.anybody()
    assert (await client.get(HOME, headers={"X-Request-Id": "a.b_c-1"})).headers["X-Request-Id"] == "a.b_c-1"
    for id in ("a b", "a" * 65, "<script>", "-a", "--json"):
        assert (await client.get(HOME, headers={"X-Request-Id": id})).headers["X-Request-Id"] != id
    assert request_id("", lambda: "made") == "made"


def test_an_id_of_a_request_is_no_option_of_a_command() -> None:
    make = request_ids("-o73O1LFGDS-HU87Esk_GM-and-more")
    assert [make(), make()] == ["_o73O1LFGDS_HU87Esk_GM-1", "_o73O1LFGDS_HU87Esk_GM-2"]


async def test_unknown_paths(stage: Stage) -> None:
    client = stage.anybody()
    answer = await client.get("/api/v1/search")
    assert (answer.status, answer.json) == (404, {"error": "Not Found"})
    assert (await client.get("/nothing")).json == {"error": "Not Found"}
    assert "<h1>There is nothing here</h1>" in (await client.get("/nothing", headers={"Accept": "text/html"})).text
    assert (await client.get("/api//v1/nothing")).status == 404
    assert (await client.get("/api//v1/instance")).status == 200  # as apps join an address and a path
    assert (await client.get("/api/v1/accounts/abc")).json == {"error": "Record not found"}


async def test_another_method(stage: Stage) -> None:
    answer = await stage.anybody().delete("/api/v1/instance")
    assert (answer.status, answer.json, answer.headers["Allow"]) == (405, {"error": "Method Not Allowed"}, "GET, HEAD")


async def test_head_is_get_without_its_body(stage: Stage) -> None:
    answer = await stage.anybody().send("HEAD", "/api/v1/instance")
    assert answer.status == 200
    assert int(answer.headers["Content-Length"]) > 100


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/api/v1/statuses", "GET, POST, PUT, PATCH, DELETE, OPTIONS"),
        ("/api/v1/nothing", "GET, POST, PUT, PATCH, DELETE, OPTIONS"),
        ("/oauth/token", "POST, OPTIONS"),
        ("/oauth/revoke", "POST, OPTIONS"),
        ("/.well-known/oauth-authorization-server", "GET, OPTIONS"),
    ],
)
async def test_browsers_of_other_origins_may_ask_first(stage: Stage, path: str, methods: str) -> None:
    asked = {"Origin": "https://app.example", "Access-Control-Request-Headers": "authorization, idempotency-key"}
    answer = await stage.anybody().send("OPTIONS", path, headers=asked)
    assert answer.status == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Access-Control-Allow-Methods"] == methods
    assert answer.headers["Access-Control-Allow-Headers"] == "authorization, idempotency-key"


async def test_pages_cannot_be_framed_or_scripted_by_other_sites(stage: Stage) -> None:
    answer = await stage.anybody().get("/oauth/authorize?client_id=x&redirect_uri=y")
    assert answer.status == 400
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert (await stage.anybody().send("OPTIONS", "/oauth/authorize")).status == 405


async def test_a_bug_is_500_with_the_request_id_and_a_record(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(stage.http_context.kept), "get", None)
    answer = await stage.anybody().get("/api/v1/instance")
    assert answer.status == 500
    assert answer.headers["X-Request-Id"] in answer.json["error"]
    assert [(f["request_id"], f["decision"]) for f in stage.failures] == [(answer.headers["X-Request-Id"], "500")]


@pytest.mark.parametrize(
    ("error", "status", "text", "retry_after"),
    [
        (Refused(409, "no"), 409, "no", None),
        (Busy(), 503, "There was a temporary problem serving your request, please try again", "1"),
        (Quarantined(), 503, "There was a temporary problem serving your request, please try again", "5"),
        (Unavailable(), 503, "There was a temporary problem serving your request, please try again", "3"),
        (Doubtful(), 503, "There was a temporary problem serving your request, please try again", "3"),
        (missing("q"), 400, "param is missing or the value is empty: q", None),
        (invalid("A", "B"), 422, "Validation failed: A, B", None),
        (RuntimeError("secret"), 500, "Something went wrong on our side; its number is r1", None),
    ],
)
def test_errors(error: Exception, status: int, text: str, retry_after: str | None) -> None:
    answer = error_answer(error, "r1")
    assert answer.status == status
    assert answer.body.decode() == f'{{"error":"{text}"}}'
    assert dict(answer.headers).get("Retry-After") == retry_after
