"""The seed checklist's rows on who may do what: tokens, scopes, and the page that asks for consent."""

import html
import re

import pytest

from troupe.actors.rules import scopes
from troupe.http.router import all_endpoints
from troupe.storage.oauth import Application

from ..clients import Person, Stage, address
from ..http.signing_in import CALLBACK, SECRET, asked, code_in, consent, exchange, sign_in
from .rows import rows

OUTSIDE = {"error": "This action is outside the authorized scopes"}
USER_REQUIRED = {"error": "This method requires an authenticated user"}
HOME = "/api/v1/timelines/home"
ENDPOINTS = [endpoint for endpoint in all_endpoints() if endpoint.path.startswith("/api/v") and endpoint.scopes]


@pytest.fixture
async def application(stage: Stage) -> Application:
    return await stage.application(SECRET, redirect_uris=(CALLBACK,), scopes=tuple(sorted(scopes.ALL)))


@rows("S220")
async def test_a_code_becomes_a_bearer_token(stage: Stage, ada: Person, application: Application) -> None:
    answer = await consent(stage.anybody(), asked(application))
    token = (await exchange(stage, application, code_in(answer))).json
    assert (token["token_type"], token["scope"]) == ("Bearer", "read")
    assert (await stage.anybody(token["access_token"]).get(HOME)).status == 200
    for wrong in (token["access_token"][:-1], token["access_token"] + "x", "x", ""):
        assert (await stage.anybody(wrong).get(HOME)).status == 401


@rows("S222", "S221")
async def test_an_app_is_no_user(stage: Stage) -> None:
    app = stage.anybody(await stage.token(None, tuple(sorted(scopes.ALL))))
    for endpoint in ENDPOINTS:
        if endpoint.auth == "user":
            refused = await app.send(endpoint.method, address(endpoint, "103"))
            assert (refused.status, refused.json) == (422, USER_REQUIRED), endpoint.path
    assert (await app.post("/api/v1/statuses", {"status": "hi"})).status == 422
    assert await stage.rows("SELECT FROM statuses") == []


@rows("S223")
async def test_read_reads_everything_and_write_and_follow_write(stage: Stage) -> None:
    people = {scope: await stage.person(scope, scopes=(scope,)) for scope in ("read", "write", "follow")}
    for endpoint in ENDPOINTS:
        for scope, person in people.items():
            allowed = any(scopes.covers((scope,), needed) for needed in endpoint.scopes)
            answer = await person.send(endpoint.method, address(endpoint, person.id))
            assert (answer.json == OUTSIDE) != allowed, (endpoint.method, endpoint.path, scope)


@rows("S235")
async def test_a_token_for_reading_writes_nothing(stage: Stage) -> None:
    reader = await stage.person("reader", scopes=("read",))
    for endpoint in ENDPOINTS:
        if endpoint.method != "GET" and not any(scope.startswith("read") for scope in endpoint.scopes):
            refused = await reader.send(endpoint.method, address(endpoint, reader.id))
            assert (refused.status, refused.json) == (403, OUTSIDE), endpoint.path
    assert (await reader.get("/api/v1/accounts/verify_credentials")).json["statuses_count"] == 0


@rows("S227", "S228")
async def test_the_page_says_every_scope_in_words_and_marks_the_dangerous(
    stage: Stage, ada: Person, application: Application
) -> None:
    browser, wanted = stage.anybody(), sorted(scopes.ALL)
    after = await sign_in(browser, asked(application, scope=" ".join(wanted)))
    page = await browser.get(after.headers["Location"])
    rows = re.findall(r"<li>(.*?)</li>", page.text)
    assert [html.unescape(re.findall(r"<code>(.*?)</code>", row)[0]) for row in rows] == wanted
    for scope, row in zip(wanted, rows, strict=True):
        words = re.sub(r"<(mark|code).*?</\1>|<[^>]*>", "", row).strip()
        assert len(words.split()) > 2
        assert ":" not in words
        broad = scope in ("read", "write", "follow")
        assert ('<mark class="broad">' in row) == broad, scope
        assert ('<mark class="dangerous">' in row) == scope.startswith("admin:"), scope
