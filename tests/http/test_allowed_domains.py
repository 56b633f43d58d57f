"""A server with limited federation: what it closes, and the domains that it allows."""

from typing import Any

import pytest

from troupe.actors.commands.blocked_domains import NOT_ALLOWED_DOMAIN
from troupe.http.router import all_endpoints

from ..checklist.rows import rows
from ..clients import Person, Stage, address
from .moderating import remote, states
from .registering import ACCOUNTS, OPEN, app_client, codes, form

ALLOWS = "/api/v1/admin/domain_allows"
CLOSED = (401, {"error": "This method requires an authenticated user"})
# All else that is read below these beginnings is closed.
OPEN_PATHS = {
    "/api/v1/instance", "/api/v2/instance", "/api/openapi.json", "/api/v1/streaming/health",
    *(f"/api/v1/instance/{part}" for part in ("rules", "extended_description", "privacy_policy")),
    *(f"/api/v1/instance/terms_of_service{date}" for date in ("", "/<date>")),
}  # fmt: skip
OF_USERS = ("/api/", "/@", "/users/", "/tags/", "/web/", "/deck/", "/statuses/")


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN | {"limited_federation": True}


@rows("S184", "S233")
async def test_the_description_stays_open(stage: Stage) -> None:
    for path in ("/api/v1/instance", "/api/v2/instance", "/health", "/about", "/api", "/privacy", "/auth/sign_in", "/"):
        assert (await stage.anybody().get(path)).status == 200, path
    described = (await stage.anybody().get("/api/v2/instance")).json
    assert described["configuration"]["limited_federation"] is True


async def test_what_people_agree_to_when_they_sign_up_stays_open(stage: Stage) -> None:
    """Apps show it to people who have no account yet."""
    for path, status in (
        ("rules", 200), ("extended_description", 200), ("privacy_policy", 200),
        ("terms_of_service", 404), ("terms_of_service/2026-01-01", 404),  # this server has none
    ):  # fmt: skip
        assert (await stage.anybody().get(f"/api/v1/instance/{path}")).status == status, path


@rows("S185")
async def test_other_reads_need_a_user(stage: Stage, ada: Person) -> None:
    status = (await ada.publish("#tea"))["id"]
    paths = (
        "/api/v1/timelines/public", f"/api/v1/accounts/{ada.id}", f"/api/v1/statuses/{status}",
        "/api/v1/instance/activity", "/api/v1/instance/peers", "/api/v1/custom_emojis", "/api/v1/trends/tags",
    )  # fmt: skip
    for path in paths:
        answer = await stage.anybody().get(path)
        assert (answer.status, answer.json) == CLOSED, path
        assert (await ada.get(path)).status == 200, path
    wanted = await ada.get(f"/api/v1/accounts/{ada.id}?access_token={ada.token}", headers={"Authorization": ""})
    assert wanted.status == 200, "a token in the query is one too"


async def test_nothing_of_users_is_read_without_a_user(stage: Stage, ada: Person) -> None:
    status = (await ada.publish("#tea"))["id"]
    for endpoint in all_endpoints():
        if endpoint.method == "GET" and endpoint.path.startswith(OF_USERS) and endpoint.path not in OPEN_PATHS:
            answer = await stage.anybody().get(address(endpoint, status))
            assert answer.status == 401, endpoint.path
    app = await app_client(stage)
    assert (await app.get("/api/v1/timelines/public")).status == 422, "an app is no user"


async def test_streams_and_pages_are_closed(stage: Stage, ada: Person) -> None:
    status = (await ada.publish("a secret #tea"))["id"]
    for path in ("/@ada", f"/@ada/{status}", "/@ada.rss", "/tags/tea", "/tags/tea.rss", f"/@ada/{status}/embed"):
        answer = await stage.anybody().get(path, headers={"Accept": "text/html"})
        assert answer.status == 401, path
        assert "a secret" not in answer.text
    assert "a secret" not in (await stage.anybody().get("/")).text
    assert (await stage.anybody().get("/api/v1/streaming/public")).status == 401


async def test_people_still_sign_up_and_their_apps_are_registered(stage: Stage, adm: Person) -> None:
    made = await stage.anybody().post("/api/v1/apps", {"client_name": "app", "redirect_uris": "app://back"})
    assert made.status == 200
    app = await app_client(stage)
    answer = await app.post(ACCOUNTS, form("eve"))
    assert codes(answer) == {"email": ["ERR_BLOCKED"]}, "example.org is not allowed"
    await adm.post(ALLOWS, {"domain": "example.org"})
    assert (await app.post(ACCOUNTS, form("eve"))).status == 200


async def test_a_domain_is_allowed_and_disallowed(stage: Stage, adm: Person) -> None:
    made = (await adm.post(ALLOWS, {"domain": "Friend.Example"})).json
    assert made == {"id": made["id"], "domain": "friend.example", "created_at": made["created_at"]}
    assert (await adm.post(ALLOWS, {"domain": "friend.example"})).json == made
    assert (await adm.get(ALLOWS)).json == [made]
    assert (await adm.get(f"{ALLOWS}/{made['id']}")).json == made
    blocks = stage.http_context.blocks
    assert not blocks.domains.standing_of("sub.friend.example").suspended
    assert blocks.domains.standing_of("other.example").suspended
    assert (await adm.delete(f"{ALLOWS}/{made['id']}")).json == made
    assert blocks.domains.standing_of("friend.example").suspended
    assert (await adm.get(f"{ALLOWS}/{made['id']}")).status == 404
    assert (await adm.post(ALLOWS, {})).json == {"error": "Validation failed: Domain can't be blank"}
    log = await stage.rows("SELECT action, target FROM audit_log ORDER BY id")
    assert log == [["allow_domain", "friend.example"], ["disallow_domain", "friend.example"]]


async def test_accounts_that_are_known_are_suspended_until_their_domain_is_allowed(
    stage: Stage, adm: Person, ada: Person
) -> None:
    """They may be known from before, or their domain may have been allowed."""
    for domain in ("friend.example", "sub.friend.example", "silent.example", "other.example"):
        await remote(stage, domain)
    await adm.post("/api/v1/admin/domain_blocks", {"domain": "silent.example", "severity": "silence"})
    find = "/api/v1/accounts/lookup?acct=far@sub.friend.example"
    friend = (await adm.post(ALLOWS, {"domain": "friend.example"})).json
    assert await states(stage, "friend.example") == await states(stage, "sub.friend.example") == [False, False]
    assert await states(stage, "other.example") == [False, True]
    found = (await ada.get(find)).json
    assert "suspended" not in found
    path = f"/api/v1/accounts/{found['id']}"
    assert (await ada.get(path)).status == 200
    await adm.delete(f"{ALLOWS}/{friend['id']}")
    assert (await ada.get(path)).status == 410, "in the caches too, before the answer"
    assert (await ada.get(find)).json["suspended"] is True
    assert await states(stage, "sub.friend.example") == [False, True]
    for domain in ("friend.example", "silent.example"):
        await adm.post(ALLOWS, {"domain": domain})
    assert await states(stage, "sub.friend.example") == [False, False]
    assert await states(stage, "silent.example") == [True, False]
    assert "suspended" not in (await ada.get(find)).json


async def test_a_blocked_domain_stays_suspended_when_it_is_allowed(stage: Stage, adm: Person) -> None:
    await remote(stage, "bad.example")
    await adm.post(ALLOWS, {"domain": "friend.example"})
    await adm.post("/api/v1/admin/domain_blocks", {"domain": "bad.example", "severity": "suspend"})
    await adm.post(ALLOWS, {"domain": "bad.example"})
    assert await states(stage, "bad.example") == [False, True]


async def test_an_account_that_staff_have_suspended_stays_so(stage: Stage, adm: Person) -> None:
    await remote(stage, "friend.example")
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE domain = 'friend.example'")
    friend = (await adm.post(ALLOWS, {"domain": "friend.example"})).json
    await adm.delete(f"{ALLOWS}/{friend['id']}")
    await adm.post(ALLOWS, {"domain": "friend.example"})
    assert await states(stage, "friend.example") == [False, True]


class TestUnlimitedFederation:
    @pytest.fixture
    def options(self) -> dict[str, Any]:
        return OPEN | {"limited_federation": False}

    async def test_a_list_of_domains_changes_nothing_and_frees_those_of_before(self, stage: Stage, adm: Person) -> None:
        for domain in ("friend.example", "other.example"):
            await remote(stage, domain)
        stamp = NOT_ALLOWED_DOMAIN.created_at
        await stage.sql("UPDATE accounts SET suspended_at = $1 WHERE domain = 'other.example'", stamp)
        friend = (await adm.post(ALLOWS, {"domain": "friend.example"})).json
        assert await states(stage, "other.example") == [False, False]
        await adm.delete(f"{ALLOWS}/{friend['id']}")
        assert await states(stage, "friend.example") == [False, False]
