"""From a registered app to a token: the pages by hand, as a browser without JavaScript, and the token endpoint."""

import base64
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

import pytest

from troupe.http.intake.request import Request
from troupe.http.oauth.redirects import OUT_OF_BAND, form_target, with_query
from troupe.http.streaming.admission import admit, dismiss
from troupe.http.streaming.frames import WebSocketFrames
from troupe.http.streaming.session import StreamEnd
from troupe.storage import oauth
from troupe.storage.oauth import Application

from ..checklist.rows import rows
from ..clients import PASSWORD, Person, Stage
from .signing_in import (
    CALLBACK,
    CHALLENGE,
    SECRET,
    VERIFIER,
    asked,
    authorize,
    code_in,
    consent,
    consent_page,
    exchange,
    hidden,
    sign_in,
)


async def no_body() -> AsyncIterator[bytes]:
    for chunk in ():
        yield chunk


@pytest.fixture
async def application(stage: Stage) -> Application:
    return await stage.application(SECRET, redirect_uris=(CALLBACK, OUT_OF_BAND, "com.example.app:/cb"))


async def test_the_whole_way(stage: Stage, ada: Person, application: Application) -> None:
    browser, request = stage.anybody(), asked(application, scope="read write:statuses", state="a&b")
    answer = await consent(browser, request)
    assert answer.status == 302
    target = urlsplit(answer.headers["Location"])
    assert f"{target.scheme}://{target.netloc}{target.path}" == CALLBACK
    assert parse_qs(target.query)["state"] == ["a&b"]

    token = await exchange(stage, application, code_in(answer))
    assert token.status == 200
    assert token.headers["Cache-Control"] == "private, no-store"
    body = token.json
    assert (body["token_type"], body["scope"]) == ("Bearer", "read write:statuses")
    assert isinstance(body["created_at"], int)
    assert body.keys() == {"access_token", "token_type", "scope", "created_at"}
    own = await stage.anybody(body["access_token"]).get("/api/v1/accounts/verify_credentials")
    assert own.json["id"] == ada.id


async def test_the_e_mail_address_is_a_login_too(stage: Stage, ada: Person, application: Application) -> None:
    answer = await sign_in(stage.anybody(), asked(application), "ADA@example.org")
    assert answer.status == 302


async def test_out_of_band_shows_the_code_and_carries_it_in_the_address(
    stage: Stage, ada: Person, application: Application
) -> None:
    browser = stage.anybody()
    answer = await consent(browser, asked(application, redirect_uri=OUT_OF_BAND))
    assert answer.headers["Location"].startswith("/oauth/authorize/native?code=")
    page = await browser.get(answer.headers["Location"])
    assert f">{code_in(answer)}</code>" in page.text
    assert (await exchange(stage, application, code_in(answer), redirect_uri=OUT_OF_BAND)).status == 200


async def test_custom_schemes_get_their_code(stage: Stage, ada: Person, application: Application) -> None:
    answer = await consent(stage.anybody(), asked(application, redirect_uri="com.example.app:/cb"))
    assert answer.headers["Location"].startswith("com.example.app:/cb?code=")


@pytest.mark.parametrize(
    ("registered", "uri"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"),
        ("http://127.0.0.1:8080/cb?a=b", "http://127.0.0.1/cb?a=b"),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb"),
        ("http://127.0.0.1", "http://127.0.0.1:80"),
        ("http://127.0.0.5/", "http://127.0.0.5:65535/"),
        ("http://[::1]/cb", "http://[::1]:51004/cb"),
    ],
)
async def test_an_app_on_a_computer_listens_at_any_port(stage: Stage, ada: Person, registered: str, uri: str) -> None:
    application = await stage.application(SECRET, redirect_uris=(CALLBACK, registered))
    answer = await consent(stage.anybody(), asked(application, redirect_uri=uri))
    assert answer.headers["Location"].startswith(f"{uri}{'&' if '?' in uri else '?'}code=")
    for other, status in ((registered, 400), (uri, 200)):  # the code is bound to the address with its port
        assert (await exchange(stage, application, code_in(answer), redirect_uri=other)).status == status


@pytest.mark.parametrize(
    ("registered", "uri"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb/"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:51004/other"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb?next=x"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:51004@evil.example/cb"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:51004.evil.example/cb"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:99999/cb"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:/cb"),
        ("http://127.0.0.1/cb", "https://127.0.0.1:51004/cb"),
        ("http://127.0.0.1/cb", "http://127.0.0.2:51004/cb"),
        ("http://127.0.0.1/cb", "http://[::1]:51004/cb"),
        ("http://127.0.0.1/cb", "http://localhost:51004/cb"),
        ("http://localhost/cb", "http://localhost:51004/cb"),
        ("http://192.0.2.1/cb", "http://192.0.2.1:51004/cb"),
        ("https://app.example/cb", "https://app.example:8443/cb"),
        ("https://app.example/cb", "https://app.example/cb/"),
        ("com.example.app:/cb", "com.example.app://cb"),
    ],
)
async def test_other_redirect_addresses_are_those_that_were_registered(stage: Stage, registered: str, uri: str) -> None:
    application = await stage.application(SECRET, redirect_uris=(registered,))
    page = await stage.anybody().get(authorize(asked(application, redirect_uri=uri)))
    assert (page.status, "not one that the app was registered with" in page.text) == (400, True)


async def test_deny_goes_back_without_a_code(stage: Stage, ada: Person, application: Application) -> None:
    answer = await consent(stage.anybody(), asked(application, state="s"), "deny")
    query = dict(parse_qsl(urlsplit(answer.headers["Location"]).query))
    assert query == {
        "error": "access_denied",
        "error_description": "The resource owner or authorization server denied the request.",
        "state": "s",
    }


async def test_delete_denies_as_the_button_does(stage: Stage, ada: Person, application: Application) -> None:
    browser, request = stage.anybody(), asked(application, state="s")
    page = await consent_page(browser, request)
    answer = await browser.delete("/oauth/authorize", form=hidden(page) | {"decision": "allow"})
    assert answer.status == 302
    query = dict(parse_qsl(urlsplit(answer.headers["Location"]).query))
    assert query.keys() == {"error", "error_description", "state"}
    assert (query["error"], query["state"]) == ("access_denied", "s")
    assert await stage.rows("SELECT 1 FROM oauth_grants") == []


async def test_delete_is_for_the_page_of_the_browser_alone(stage: Stage, ada: Person, application: Application) -> None:
    browser, request = stage.anybody(), asked(application)
    page = await consent_page(browser, request)
    planted = await browser.delete("/oauth/authorize", form=hidden(page) | {"form_token": "planted"})
    assert (planted.status, "open for too long" in planted.text) == (200, True)
    elsewhere = await browser.delete("/oauth/authorize", form=hidden(page) | {"redirect_uri": "https://evil.example/"})
    assert (elsewhere.status, "Location" in elsewhere.headers) == (400, False)


@rows("S227", "S228")
async def test_the_consent_page_says_what_is_asked_and_marks_what_is_broad(
    stage: Stage, ada: Person, application: Application
) -> None:
    page = await consent_page(stage.anybody(), asked(application, scope="read write:media read:statuses"))
    rows = re.findall(r"<li>(.*?)</li>", page.text)
    assert "read all of your account" in rows[0]
    assert '<mark class="broad">' in rows[0]
    assert "change your media files" in rows[1]
    assert "see your posts" in rows[2]
    assert not any("<mark" in row for row in rows[1:])
    assert "@ada" in page.text
    assert f"form-action 'self' {form_target(CALLBACK)}" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("scope", "warned"),
    [
        ("read write follow push", False),
        ("read:statuses write:statuses", False),
        ("read admin:read:accounts", True),
        ("admin:write", True),
    ],
)
async def test_the_consent_page_warns_only_of_other_peoples_data(
    stage: Stage, ada: Person, scope: str, warned: bool
) -> None:
    application = await stage.application(redirect_uris=(CALLBACK,), scopes=tuple(scope.split()))
    page = await consent_page(stage.anybody(), asked(application, scope=scope))
    assert ('role="note"' in page.text, "far-reaching" in page.text) == (warned, warned)


async def test_not_you_signs_out_and_asks_again_for_the_same_request(
    stage: Stage, ada: Person, bob: Person, application: Application
) -> None:
    browser, elsewhere = stage.anybody(), stage.anybody()
    challenge = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    request = asked(application, scope="read write", state="a&b", **challenge)
    await consent_page(elsewhere, request)
    page = await consent_page(browser, request)
    assert "Not you?" in page.text
    left = await browser.post("/oauth/authorize", hidden(page) | {"decision": "leave"})
    assert left.status == 302
    assert await stage.rows("SELECT count(*) FROM web_sessions") == [[1]]
    again = await browser.get(left.headers["Location"])
    assert 'name="password"' in again.text
    signed_in = await browser.post("/oauth/authorize", hidden(again) | {"username": "bob", "password": PASSWORD})
    page = await browser.get(signed_in.headers["Location"])
    assert "@bob" in page.text
    answer = await browser.post("/oauth/authorize", hidden(page) | {"decision": "allow"})
    assert parse_qs(urlsplit(answer.headers["Location"]).query)["state"] == ["a&b"]
    token = (await exchange(stage, application, code_in(answer), code_verifier=VERIFIER)).json
    assert token["scope"] == "read write"
    own = await stage.anybody(token["access_token"]).get("/api/v1/accounts/verify_credentials")
    assert own.json["id"] == bob.id
    assert "@ada" in (await elsewhere.get(authorize(request))).text


async def test_no_other_site_signs_a_user_out(stage: Stage, ada: Person, application: Application) -> None:
    browser, request = stage.anybody(), asked(application)
    await consent_page(browser, request)
    await browser.post("/oauth/authorize", request | {"decision": "leave", "form_token": "planted"})
    assert "@ada" in (await browser.get(authorize(request))).text


async def test_names_of_apps_are_text(stage: Stage, ada: Person) -> None:
    application = await stage.application(SECRET, name='<script>"', redirect_uris=(CALLBACK,))
    page = await stage.anybody().get(authorize(asked(application)))
    assert "<script>" not in page.text
    assert "&lt;script&gt;" in page.text


@pytest.mark.parametrize(("login", "password"), [("ada", "wrong"), ("nobody", PASSWORD), ("", ""), ("@", "x")])
async def test_a_wrong_sign_in_says_so_and_asks_again(
    stage: Stage, ada: Person, application: Application, login: str, password: str
) -> None:
    page = await sign_in(stage.anybody(), asked(application), login, password)
    assert page.status == 200
    assert "That name and password do not belong together." in page.text
    assert 'name="password"' in page.text
    assert PASSWORD not in page.text


@pytest.mark.parametrize(
    ("state", "text"),
    [("disabled_at = now()", "currently disabled"), ("confirmed_at = NULL", "missing a confirmed e-mail address")],
)
async def test_who_may_not_sign_in_is_told_why(
    stage: Stage, ada: Person, application: Application, state: str, text: str
) -> None:
    await stage.sql(f"UPDATE users SET {state}")
    page = await sign_in(stage.anybody(), asked(application))
    assert (page.status, text in page.text) == (403, True)
    wrong = await sign_in(stage.anybody(), asked(application), password="wrong")
    assert text not in wrong.text


async def test_a_form_of_another_session_changes_nothing(stage: Stage, ada: Person, application: Application) -> None:
    request, victim, attacker = asked(application), stage.anybody(), stage.anybody()
    page = await victim.get((await sign_in(victim, request)).headers["Location"])
    planted = hidden(await attacker.get(authorize(request)))
    answer = await victim.post("/oauth/authorize", planted | {"decision": "allow"})
    assert (answer.status, "open for too long" in answer.text) == (200, True)
    without = await victim.post("/oauth/authorize", request | {"decision": "allow"})
    assert without.status == 200
    assert (await victim.post("/oauth/authorize", hidden(page) | {"decision": "allow"})).status == 302


@pytest.mark.parametrize("token", ["größe", "\u202e", "x" * 10_000, "\U0001f511"])
async def test_a_form_token_in_any_script_is_only_a_wrong_one(
    stage: Stage, ada: Person, application: Application, token: str
) -> None:
    browser, request = stage.anybody(), asked(application)
    await browser.get(authorize(request))
    for path in ("/oauth/authorize", "/auth/confirmation/new"):
        answer = await browser.post(path, request | {"form_token": token})
        assert (answer.status, "open for too long" in answer.text) == (200, True)


async def test_signing_in_gives_the_browser_a_new_session(stage: Stage, ada: Person, application: Application) -> None:
    browser = stage.anybody()
    first = (await browser.get(authorize(asked(application)))).headers["Set-Cookie"]
    second = (await sign_in(browser, asked(application))).headers["Set-Cookie"]
    assert first.partition(";")[0] != second.partition(";")[0]
    for cookie in (first, second):
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie


async def test_who_allowed_before_is_sent_on_at_once(stage: Stage, ada: Person, application: Application) -> None:
    browser, request = stage.anybody(), asked(application)
    await exchange(stage, application, code_in(await consent(browser, request)))
    assert (await browser.get(authorize(request))).headers["Location"].startswith(CALLBACK)
    more = await browser.get(authorize(request | {"scope": "read write"}))
    assert (more.status, "Allow Test app?" in more.text) == (200, True)


async def test_a_forced_login_asks_for_the_password_and_then_for_consent(
    stage: Stage, ada: Person, application: Application
) -> None:
    browser, request = stage.anybody(), asked(application)
    await exchange(stage, application, code_in(await consent(browser, request)))
    again = await sign_in(browser, request | {"force_login": "true"})
    page = await browser.get(again.headers["Location"])
    assert (page.status, "Allow Test app?" in page.text) == (200, True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"client_id": "unknown"},
        {"redirect_uri": "https://evil.example/cb"},
        {"redirect_uri": CALLBACK + "/"},
        {"response_type": "token"},
        {"scope": "read admin:read"},
        {"scope": "everything"},
        {"code_challenge": VERIFIER, "code_challenge_method": "plain"},
        {"code_challenge": "short", "code_challenge_method": "S256"},
        {"code_challenge": "ö" * 43, "code_challenge_method": "S256"},
        {"code_challenge": "+" * 43, "code_challenge_method": "S256"},
        {"state": "s" * 5000},
        {"client_id": ""},
    ],
)
async def test_a_wrong_request_is_shown_and_never_sent_on(
    stage: Stage, application: Application, wrong: dict[str, str]
) -> None:
    page = await stage.anybody().get(authorize(asked(application) | wrong))
    assert page.status == 400
    assert page.headers["Content-Type"].startswith("text/html")
    assert "Location" not in page.headers


@pytest.mark.parametrize("uri", ["file:///tmp/x", "view-source:https://app.example/", "Blob:x", "about:blank"])
async def test_an_address_that_was_registered_before_it_was_forbidden_is_not_gone_to(
    stage: Stage, ada: Person, uri: str
) -> None:
    application = await stage.application(SECRET, redirect_uris=(uri, CALLBACK))
    page = await stage.anybody().get(authorize(asked(application, redirect_uri=uri)))
    assert (page.status, "Location" in page.headers) == (400, False)
    assert "leads to no app" in page.text
    assert (await stage.anybody().get(authorize(asked(application)))).status == 200


class TestCodes:
    """A code is for one client, one address, one verifier, once, for ten minutes."""

    @pytest.fixture
    async def code(self, stage: Stage, ada: Person, application: Application) -> str:
        request = asked(application, code_challenge=CHALLENGE, code_challenge_method="S256")
        return code_in(await consent(stage.anybody(), request))

    async def test_once(self, stage: Stage, application: Application, code: str) -> None:
        assert (await exchange(stage, application, code, code_verifier=VERIFIER)).status == 200
        again = await exchange(stage, application, code, code_verifier=VERIFIER)
        assert (again.status, again.json["error"]) == (400, "invalid_grant")
        assert "was issued to another client" in again.json["error_description"]

    async def test_what_is_pasted_may_have_white_space_around_it(
        self, stage: Stage, application: Application, code: str
    ) -> None:
        ids = {"client_id": f" {application.client_id}", "client_secret": f"{SECRET}\r\n"}
        made = await exchange(stage, application, f"\u00a0{code} \n", code_verifier=VERIFIER, **ids)
        assert made.status == 200, made.text
        token = quote(f"{made.json['access_token']}\n")
        assert (await stage.anybody().get(f"/api/v1/timelines/home?access_token={token}")).status == 200
        ended = await stage.anybody().post("/oauth/revoke", ids | {"token": f"{made.json['access_token']} "})
        assert ended.status == 200
        assert (await stage.anybody().get(f"/api/v1/timelines/home?access_token={token}")).status == 401

    async def test_a_challenge_in_another_script_is_only_a_wrong_one(
        self, stage: Stage, application: Application, code: str
    ) -> None:
        await stage.sql("UPDATE oauth_grants SET code_challenge = $1", "ö" * 43)
        refused = await exchange(stage, application, code, code_verifier=VERIFIER)
        assert (refused.status, refused.json["error"]) == (400, "invalid_grant")

    async def test_a_code_that_comes_again_revokes_the_token_that_it_made(
        self, stage: Stage, application: Application, code: str
    ) -> None:
        token = (await exchange(stage, application, code, code_verifier=VERIFIER)).json["access_token"]
        holder = stage.anybody(token)
        assert (await holder.get("/api/v1/timelines/home")).status == 200
        again = await exchange(stage, application, code, code_verifier=VERIFIER)
        assert again.json["error"] == "invalid_grant"
        assert (await holder.get("/api/v1/timelines/home")).json == {"error": "The access token was revoked"}

    @pytest.mark.parametrize("wrong", [{"code_verifier": "stolen"}, {"redirect_uri": OUT_OF_BAND}])
    async def test_a_code_that_comes_again_with_something_wrong_revokes_as_well(
        self, stage: Stage, application: Application, code: str, wrong: dict[str, str]
    ) -> None:
        token = (await exchange(stage, application, code, code_verifier=VERIFIER)).json["access_token"]
        await exchange(stage, application, code, **({"code_verifier": VERIFIER} | wrong))
        assert (await stage.anybody(token).get("/api/v1/timelines/home")).status == 401

    async def test_a_code_that_comes_again_an_hour_later_revokes_as_well(
        self, stage: Stage, application: Application, code: str
    ) -> None:
        token = (await exchange(stage, application, code, code_verifier=VERIFIER)).json["access_token"]
        await stage.sql("UPDATE oauth_grants SET expires_at = now() - interval '50 minutes'")
        await exchange(stage, application, code, code_verifier=VERIFIER)
        assert (await stage.anybody(token).get("/api/v1/timelines/home")).status == 401

    async def test_another_client_revokes_nothing_by_a_code_that_is_not_its_own(
        self, stage: Stage, application: Application, code: str
    ) -> None:
        token = (await exchange(stage, application, code, code_verifier=VERIFIER)).json["access_token"]
        refused = await exchange(stage, await stage.application(SECRET), code, code_verifier=VERIFIER)
        assert refused.json["error"] == "invalid_grant"
        assert (await stage.anybody(token).get("/api/v1/timelines/home")).status == 200

    async def test_streams_of_a_token_end_when_its_code_comes_again(
        self, stage: Stage, application: Application, code: str
    ) -> None:
        token = (await exchange(stage, application, code, code_verifier=VERIFIER)).json["access_token"]
        head = [(b"authorization", f"Bearer {token}".encode())]
        request = Request("GET", "/api/v1/streaming", b"", head, "127.0.0.1", no_body())
        frames = WebSocketFrames(stage.http_context.rendered, stage.http_context.settings.base_url)
        session = await admit(stage.http_context, request, frames)
        await exchange(stage, application, code, code_verifier=VERIFIER)
        assert session.ended is StreamEnd.REVOKED
        dismiss(stage.http_context, session)

    @pytest.mark.parametrize(
        "wrong", [{"code_verifier": ""}, {"code_verifier": CHALLENGE}, {"redirect_uri": OUT_OF_BAND}, {"code": "other"}]
    )
    async def test_not_otherwise(
        self, stage: Stage, application: Application, code: str, wrong: dict[str, str]
    ) -> None:
        refused = await exchange(stage, application, **({"code": code, "code_verifier": VERIFIER} | wrong))
        assert (refused.status, refused.json["error"]) == (400, "invalid_grant")
        assert (await exchange(stage, application, code, code_verifier=VERIFIER)).status == 200

    async def test_not_for_another_client(self, stage: Stage, code: str) -> None:
        other = await stage.application(SECRET)
        refused = await exchange(stage, other, code, code_verifier=VERIFIER)
        assert refused.json["error"] == "invalid_grant"

    async def test_a_challenge_that_was_taken_off_is_missed(
        self, stage: Stage, ada: Person, application: Application
    ) -> None:
        code = code_in(await consent(stage.anybody(), asked(application)))
        refused = await exchange(stage, application, code, code_verifier=VERIFIER)
        assert (refused.status, refused.json["error"]) == (400, "invalid_grant")
        assert (await exchange(stage, application, code)).status == 200

    async def test_not_after_ten_minutes(self, stage: Stage, application: Application, code: str) -> None:
        await stage.sql("UPDATE oauth_grants SET expires_at = now() - interval '1 second'")
        assert (await exchange(stage, application, code, code_verifier=VERIFIER)).json["error"] == "invalid_grant"


async def test_an_application_gets_a_token_of_its_own(stage: Stage, application: Application) -> None:
    basic = base64.b64encode(f"{application.client_id}:{SECRET}".encode()).decode()
    form = {"grant_type": "client_credentials", "scope": "read write"}
    answer = await stage.anybody().post("/oauth/token", form, headers={"Authorization": f"Basic {basic}"})
    assert (answer.status, answer.json["scope"]) == (200, "read write")
    app = stage.anybody(answer.json["access_token"])
    assert (await app.get("/api/v1/apps/verify_credentials")).json["id"] == str(application.id)


@pytest.mark.parametrize("scope", ["read write", "read,write", ["read", "write"], ["read write"]])
async def test_apps_send_their_scopes_as_a_text_or_as_a_list(
    stage: Stage, ada: Person, application: Application, scope: str | list[str]
) -> None:
    client = {"client_id": application.client_id, "client_secret": SECRET, "scope": scope}
    own = await stage.anybody().post("/oauth/token", json={"grant_type": "client_credentials"} | client)
    assert (own.status, own.json["scope"]) == (200, "read write")
    way = asked(application, scope="read")  # a token has the scopes of its code (superseriousbusiness/gotosocial#553)
    code = code_in(await consent(stage.anybody(), way))
    grant = {"grant_type": "authorization_code", "redirect_uri": CALLBACK, "code": code}
    token = await stage.anybody().post("/oauth/token", json=grant | client)
    assert (token.status, token.json["scope"]) == (200, "read")


async def test_scopes_in_a_list_are_asked_for_and_kept_by_the_forms(
    stage: Stage, ada: Person, application: Application
) -> None:
    way = asked(application)
    del way["scope"]
    answer = await consent(stage.anybody(), way | {"scope[0]": "read:accounts", "scope[1]": "write:statuses"})
    token = await exchange(stage, application, code_in(answer))
    assert (token.status, token.json["scope"]) == (200, "read:accounts write:statuses")


@pytest.mark.parametrize("credentials", ["\xff", "!", base64.b64encode(b"\xff:x").decode(), "AGE6eA=="])
async def test_impossible_basic_credentials_are_no_client(stage: Stage, credentials: str) -> None:
    basic = {"Authorization": f"Basic {credentials}"}
    answer = await stage.anybody().post("/oauth/token", {"grant_type": "client_credentials"}, headers=basic)
    assert (answer.status, answer.json["error"]) == (401, "invalid_client")


@pytest.mark.parametrize(
    ("change", "status", "error", "description"),
    [
        ({"client_secret": "wrong"}, 401, "invalid_client", "Client authentication failed"),
        ({"client_id": "unknown"}, 401, "invalid_client", "Client authentication failed"),
        ({"client_id": ""}, 401, "invalid_client", "Client authentication failed"),
        ({"scope": "admin:read"}, 400, "invalid_scope", "The requested scope is invalid, unknown, or malformed."),
        ({"grant_type": "password"}, 400, "unsupported_grant_type", "The authorization grant type is not supported"),
        ({"grant_type": ""}, 400, "invalid_request", "Missing required parameter: grant_type."),
        ({"grant_type": "authorization_code"}, 400, "invalid_request", "Missing required parameter: code."),
        ({"code[]": "read"}, 400, "invalid_request", "Validation failed: Code is invalid"),
    ],
)
async def test_what_the_token_endpoint_refuses(
    stage: Stage, application: Application, change: dict[str, str], status: int, error: str, description: str
) -> None:
    form = {"grant_type": "client_credentials", "client_id": application.client_id, "client_secret": SECRET}
    answer = await stage.anybody().post("/oauth/token", form | change)
    assert (answer.status, answer.json["error"]) == (status, error)
    assert description in answer.json["error_description"]
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)


async def test_revoking_ends_a_token_and_may_be_repeated(stage: Stage, ada: Person, application: Application) -> None:
    token = (await exchange(stage, application, code_in(await consent(stage.anybody(), asked(application))))).json
    holder = stage.anybody(token["access_token"])
    assert (await holder.get("/api/v1/timelines/home")).status == 200
    form = {"client_id": application.client_id, "client_secret": SECRET, "token": token["access_token"]}
    for _ in range(2):
        answer = await stage.anybody().post("/oauth/revoke", form)
        assert (answer.status, answer.json) == (200, {})
    assert (await holder.get("/api/v1/timelines/home")).json == {"error": "The access token was revoked"}


async def test_revoking_is_for_the_client_of_the_token(stage: Stage, ada: Person, application: Application) -> None:
    form: dict[str, Any] = {"client_id": application.client_id, "client_secret": SECRET}
    assert (await stage.anybody().post("/oauth/revoke", form | {"token": "unknown"})).status == 200
    for change in ({"token": ada.token}, {"token": ada.token, "client_secret": "wrong"}, {"client_id": ""}):
        answer = await stage.anybody().post("/oauth/revoke", form | change)
        assert (answer.status, answer.json["error"]) == (403, "unauthorized_client")
    assert (await ada.get("/api/v1/timelines/home")).status == 200


async def test_secrets_are_not_in_the_rows(stage: Stage, ada: Person) -> None:
    dump = await stage.http_context.database.read(
        lambda db: db.fetchval("SELECT string_agg(t::text, ' ') FROM (SELECT * FROM access_tokens) t")
    )
    assert ada.token not in dump


async def test_metadata(stage: Stage) -> None:
    facts = (await stage.anybody().get("/.well-known/oauth-authorization-server")).json
    assert facts["issuer"] == "http://localhost:3000/"
    assert facts["token_endpoint"] == "http://localhost:3000/oauth/token"
    assert facts["code_challenge_methods_supported"] == ["S256"]
    assert {"read", "profile", "write:statuses", "admin:read:reports"} <= set(facts["scopes_supported"])


async def test_userinfo(stage: Stage) -> None:
    ada = await stage.person("ada", scopes=("profile",))
    for method in ("GET", "POST"):
        facts = (await ada.send(method, "/oauth/userinfo")).json
        assert facts.keys() == {"iss", "sub", "name", "preferred_username", "profile", "picture"}
        assert facts["preferred_username"] == "ada"
    eve = await stage.person("eve", scopes=("read",))
    assert (await eve.get("/oauth/userinfo")).status == 403


@pytest.mark.parametrize(
    ("uri", "whole"),
    [
        ("https://app.example/cb", "https://app.example/cb?code=1"),
        ("https://app.example/cb?x=y", "https://app.example/cb?x=y&code=1"),
        ("com.example.app:/cb", "com.example.app:/cb?code=1"),
        ("myapp://", "myapp://?code=1"),
    ],
)
def test_answers_travel_in_the_address(uri: str, whole: str) -> None:
    assert with_query(uri, code="1", state=None) == whole


class TestLimited:
    @pytest.fixture
    def options(self) -> dict[str, object]:
        return {"rate_limits": True}

    async def test_guessing_passwords_comes_to_an_end(
        self, stage: Stage, ada: Person, application: Application
    ) -> None:
        browser, request = stage.anybody(), asked(application)
        form = hidden(await browser.get(authorize(request))) | {"username": "ada", "password": "wrong"}
        answers = [(await browser.post("/oauth/authorize", form)).status for _ in range(26)]
        assert answers == [200] * 25 + [429]
        assert (await stage.http_context.database.read(oauth.find_client, application.client_id)) is not None
