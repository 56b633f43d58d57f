"""The seed checklist's rows on signing up."""

from typing import Any

import pytest

from troupe.storage import users

from ..clients import Stage
from ..http.registering import ACCOUNTS, OPEN, app_client, codes, form, newest_link, registered
from .rows import rows

OWN = "/api/v1/accounts/verify_credentials"
UNCONFIRMED = (403, {"error": "Your login is missing a confirmed e-mail address"})
PENDING = (403, {"error": "Your login is currently pending approval"})
STATE = """
    SELECT confirmed_at IS NOT NULL, approved_at IS NOT NULL
    FROM users JOIN accounts ON id = account_id WHERE username = $1
"""


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN


@rows("S088", "S089", "S221")
async def test_an_apps_token_makes_an_unconfirmed_user_and_a_token_of_the_app(stage: Stage) -> None:
    application = await stage.application(name="Tusk", scopes=("read", "write", "push"))
    app = await app_client(stage, application)
    answer = await app.done("POST", ACCOUNTS, form())
    assert answer.keys() == {"access_token", "token_type", "scope", "created_at"}
    assert (answer["token_type"], answer["scope"]) == ("Bearer", "read write push")
    assert await stage.rows(STATE, "eve") == [[False, True]]
    shown = await stage.anybody(answer["access_token"]).get("/api/v1/apps/verify_credentials")
    assert (shown.status, shown.json["name"]) == (200, "Tusk")


@rows("S090")
async def test_one_mail_with_a_link_is_sent(stage: Stage) -> None:
    await registered(stage)
    (letter,) = await stage.letterbox.receive()
    assert letter.to == "eve@example.org"
    assert letter.body.count("/auth/confirmation?confirmation_token=") == 1
    assert await stage.rows("SELECT FROM outbox WHERE kind = 'mail' AND attempts > 0") == []


@rows("S091", "S092")
async def test_opening_the_link_confirms_and_goes_back_to_the_app(stage: Stage) -> None:
    application = await stage.application(redirect_uris=("com.example.app:/cb", "https://app.example/cb"))
    eve = await registered(stage, app=await app_client(stage, application))
    assert (await eve.get(OWN)).status == 403
    answer = await stage.anybody().get(await newest_link(stage))
    assert (answer.status, answer.headers["Location"]) == (302, "com.example.app:/cb")
    assert (await eve.get(OWN)).json["username"] == "eve"


@rows("S093")
async def test_who_came_without_an_app_ends_on_a_page_of_the_server(stage: Stage) -> None:
    browser = stage.anybody()
    page = await browser.get("/auth/sign_up")
    token = page.text.partition('name="form_token" value="')[2].partition('"')[0]
    sent = await browser.post("/auth/sign_up", form() | {"agreement": "1", "form_token": token})
    assert (sent.status, sent.headers["Location"]) == (302, "/auth/confirmation/sent")
    answer = await stage.anybody().get(await newest_link(stage))
    assert (answer.status, "Your address is confirmed" in answer.text) == (200, True)
    assert await stage.rows(STATE, "eve") == [[True, True]]


@rows("S094", "S095", "S234")
async def test_the_unconfirmed_have_no_rest_api_and_stay_so(stage: Stage) -> None:
    eve = await registered(stage)
    asked = [
        await eve.get("/api/v1/timelines/home"),
        await eve.get("/api/v1/timelines/public"),
        await eve.get(OWN),
        await eve.post("/api/v1/statuses", {"status": "hello"}),
        await eve.get("/api/v1/streaming/user"),
        await eve.get("/api/v1/streaming/public"),
    ]
    assert [(answer.status, answer.json) for answer in asked] == [UNCONFIRMED] * len(asked)
    assert await stage.rows(STATE, "eve") == [[False, True]]
    assert (await eve.get("/api/v1/emails/check_confirmation")).json is False


@pytest.mark.parametrize("agreement", ["false", "0", "", "no", "yes", None])
@rows("S096")
async def test_the_agreement_must_be_true(stage: Stage, agreement: str | None) -> None:
    sent = form(agreement=agreement)
    answer = await (await app_client(stage)).post(ACCOUNTS, {name: v for name, v in sent.items() if v is not None})
    assert codes(answer) == {"agreement": ["ERR_ACCEPTED"]}
    assert answer.json["error"] == "Validation failed: Agreement must be accepted"
    assert await stage.rows("SELECT FROM users") == []


@pytest.mark.parametrize("agreement", [True, 1, "true", "1"])
@rows("S096")
async def test_counts_however_true_is_written(stage: Stage, agreement: object) -> None:
    answer = await (await app_client(stage)).send("POST", ACCOUNTS, json=form(agreement=agreement))
    assert answer.status == 200


@rows("S114")
async def test_it_needs_the_token_of_a_client(stage: Stage) -> None:
    assert (await stage.anybody().post(ACCOUNTS, form())).status == 401
    narrow = await app_client(stage, await stage.application(scopes=("read",)))
    assert (await narrow.post(ACCOUNTS, form())).status == 403
    assert (await (await app_client(stage)).post(ACCOUNTS, form())).status == 200


@pytest.mark.parametrize(
    ("locale", "stored", "subject"),
    [
        ("de", "de", "Bestätige deine E-Mail-Adresse für Troupe"),
        ("de-AT", "de", "Bestätige deine E-Mail-Adresse für Troupe"),
        ("fr", "fr", "Confirm your e-mail address for Troupe"),
        ("", None, "Confirm your e-mail address for Troupe"),
    ],
)
@rows("S116")
async def test_the_locale_is_taken(stage: Stage, locale: str, stored: str | None, subject: str) -> None:
    await registered(stage, locale=locale)
    (letter,) = await stage.letterbox.receive()
    assert letter.subject == subject
    assert await stage.rows("SELECT locale FROM users") == [[stored]]


@rows("S116")
async def test_an_unknown_locale_is_refused(stage: Stage) -> None:
    answer = await (await app_client(stage)).post(ACCOUNTS, form(locale="xx"))
    assert codes(answer) == {"locale": ["ERR_INCLUSION"]}
    assert answer.json["error"] == "Validation failed: Locale is not included in the list"


class TestByApproval:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"registrations": "approval"}

    @rows("S115")
    async def test_the_reason_is_stored(self, stage: Stage) -> None:
        answer = await (await app_client(stage)).send("POST", ACCOUNTS, json=form(reason="  I like it here\n"))
        assert answer.status == 200, answer.text
        assert (await stage.anybody().get(await newest_link(stage))).status == 302
        eve = await stage.http_context.database.read(users.find_user_by_login, "eve@example.org")
        assert eve is not None
        assert eve.invite_request == "I like it here"
        await stage.sql("UPDATE users SET approved_at = now()")
        shown = await stage.anybody().get("/api/v1/accounts/lookup?acct=eve")
        assert shown.status == 200
        assert "I like it here" not in shown.text

    async def test_who_is_confirmed_waits_for_a_moderator(self, stage: Stage) -> None:
        eve = await registered(stage, reason="because")
        answer = await eve.get(OWN)
        assert (answer.status, answer.json) == UNCONFIRMED
        assert (await stage.anybody().get(await newest_link(stage))).status == 302
        for path in (OWN, "/api/v1/timelines/home", "/api/v1/streaming/user"):
            answer = await eve.get(path)
            assert (answer.status, answer.json) == PENDING
        assert (await eve.get("/api/v1/emails/check_confirmation")).json is True
        assert (await stage.anybody().get("/api/v1/accounts/lookup?acct=eve")).status == 404
        assert (await stage.anybody().get("/api/v2/instance")).json["registrations"] == {
            "enabled": True, "approval_required": True, "reason_required": False,
            "message": None, "min_age": None, "url": None,
        }  # fmt: skip


@pytest.mark.parametrize("settings", [{"registrations": "closed", "smtp_host": "localhost"}, {"registrations": "open"}])
class TestClosed:
    """By the operator's word, or because there is no mail to confirm an address by."""

    @pytest.fixture
    def options(self, settings: dict[str, Any]) -> dict[str, Any]:
        return {"rate_limits": False} | settings

    @rows("S117", "S248")
    async def test_sign_ups_are_refused(self, stage: Stage) -> None:
        for sent in (form(), {}):
            answer = await (await app_client(stage)).post(ACCOUNTS, sent)
            assert (answer.status, answer.json) == (403, {"error": "This action is not allowed"})
        assert (await stage.anybody().post("/auth/sign_up", form())).status == 403
        assert "Sign-ups are closed at the moment" in (await stage.anybody().get("/auth/sign_up")).text
        assert await stage.rows("SELECT FROM users") == []

    async def test_the_server_says_so(self, stage: Stage) -> None:
        first, second = [(await stage.anybody().get(f"/api/v{number}/instance")).json for number in (1, 2)]
        assert (first["registrations"], first["approval_required"]) == (False, False)
        assert (second["registrations"]["enabled"], second["registrations"]["approval_required"]) == (False, False)
        assert (await stage.anybody().get("/nodeinfo/2.0")).json["openRegistrations"] is False
        assert "Create an account" not in (await stage.anybody().get("/about")).text
