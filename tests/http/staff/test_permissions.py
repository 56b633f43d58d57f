"""Who may see which page for staff, and send which form: what the same thing needs in the API."""

import re

import pytest

from troupe.actors.rules.roles import ROLES, Permission, may
from troupe.http.router import Endpoint, all_endpoints

from ...clients import PASSWORD, Reply, Stage
from ..settling import Browser, form_token, is_signed_out
from ..stored import rows
from .members import World, member, pages, world

# The permission of each address, by its beginning: the first one that fits.
NEEDED = {
    "/admin/accounts/<id>/delete": Permission.DELETE_USER_DATA,
    "/admin/accounts/<id>/role": Permission.MANAGE_ROLES,
    "/admin/accounts": Permission.MANAGE_USERS,
    "/admin/reports": Permission.MANAGE_REPORTS,
    "/admin/appeals": Permission.MANAGE_APPEALS,
    "/admin/acts": Permission.VIEW_AUDIT_LOG,
    "/admin/settings": Permission.MANAGE_SETTINGS,
    "/admin/announcements": Permission.MANAGE_ANNOUNCEMENTS,
    "/admin/invites": Permission.MANAGE_INVITES,
    "/admin/emoji": Permission.MANAGE_CUSTOM_EMOJIS,
    "/admin/domains": Permission.MANAGE_FEDERATION,
    "/admin/allowed_domains": Permission.MANAGE_FEDERATION,
    "/admin/networks": Permission.MANAGE_BLOCKS,
    "/admin/email_domains": Permission.MANAGE_BLOCKS,
    "/admin/emails": Permission.MANAGE_BLOCKS,
    "/admin/rules": Permission.MANAGE_RULES,
    "/admin/terms": Permission.MANAGE_SETTINGS,
    "/admin/texts": Permission.MANAGE_SETTINGS,
    "/admin/trends": Permission.MANAGE_TAXONOMIES,
    "/admin/tags": Permission.MANAGE_TAXONOMIES,
    "/admin/tree": Permission.VIEW_DEVOPS,
    "/admin/actor": Permission.VIEW_DEVOPS,
    "/admin/log": Permission.VIEW_DEVOPS,
    "/admin/outbox": Permission.VIEW_DEVOPS,
    "/admin/dead_letters": Permission.VIEW_DEVOPS,
    "/admin/live": Permission.VIEW_DASHBOARD,
    "/admin/figures": Permission.VIEW_DASHBOARD,
    "/admin": Permission.VIEW_DASHBOARD,
}

# What does the same thing by the API.
ALIKE = {
    ("GET", "/admin"): ("POST", "/api/v1/admin/measures"),
    ("GET", "/admin/figures"): ("POST", "/api/v1/admin/retention"),
    ("GET", "/admin/accounts"): ("GET", "/api/v2/admin/accounts"),
    ("GET", "/admin/accounts/<id>"): ("GET", "/api/v1/admin/accounts/<id>"),
    ("POST", "/admin/accounts/<id>/act"): ("POST", "/api/v1/admin/accounts/<id>/action"),
    ("POST", "/admin/accounts/<id>/undo"): ("POST", "/api/v1/admin/accounts/<id>/unsuspend"),
    ("POST", "/admin/accounts/<id>/approve"): ("POST", "/api/v1/admin/accounts/<id>/approve"),
    ("POST", "/admin/accounts/<id>/reject"): ("POST", "/api/v1/admin/accounts/<id>/reject"),
    ("POST", "/admin/accounts/<id>/delete"): ("DELETE", "/api/v1/admin/accounts/<id>"),
    ("GET", "/admin/reports"): ("GET", "/api/v1/admin/reports"),
    ("GET", "/admin/reports/<id>"): ("GET", "/api/v1/admin/reports/<id>"),
    ("POST", "/admin/reports/<id>/assign"): ("POST", "/api/v1/admin/reports/<id>/assign_to_self"),
    ("POST", "/admin/reports/<id>/resolve"): ("POST", "/api/v1/admin/reports/<id>/resolve"),
    ("POST", "/admin/reports/<id>/change"): ("PUT", "/api/v1/admin/reports/<id>"),
    ("GET", "/admin/appeals"): ("GET", "/api/v1/admin/appeals"),
    ("POST", "/admin/appeals/<id>"): ("POST", "/api/v1/admin/appeals/<id>/approve"),
    ("GET", "/admin/emoji"): ("GET", "/api/v1/admin/custom_emojis"),
    ("POST", "/admin/emoji"): ("POST", "/api/v1/admin/custom_emojis"),
    ("POST", "/admin/emoji/<id>/change"): ("PUT", "/api/v1/admin/custom_emojis/<id>"),
    ("POST", "/admin/emoji/<id>/remove"): ("DELETE", "/api/v1/admin/custom_emojis/<id>"),
    ("GET", "/admin/domains"): ("GET", "/api/v1/admin/domain_blocks"),
    ("POST", "/admin/domains"): ("POST", "/api/v1/admin/domain_blocks"),
    ("POST", "/admin/domains/<id>/unblock"): ("DELETE", "/api/v1/admin/domain_blocks/<id>"),
    ("GET", "/admin/allowed_domains"): ("GET", "/api/v1/admin/domain_allows"),
    ("POST", "/admin/allowed_domains"): ("POST", "/api/v1/admin/domain_allows"),
    ("POST", "/admin/allowed_domains/<id>/disallow"): ("DELETE", "/api/v1/admin/domain_allows/<id>"),
    ("GET", "/admin/networks"): ("GET", "/api/v1/admin/ip_blocks"),
    ("POST", "/admin/networks"): ("POST", "/api/v1/admin/ip_blocks"),
    ("GET", "/admin/networks/<id>"): ("GET", "/api/v1/admin/ip_blocks/<id>"),
    ("POST", "/admin/networks/<id>"): ("PUT", "/api/v1/admin/ip_blocks/<id>"),
    ("POST", "/admin/networks/<id>/unblock"): ("DELETE", "/api/v1/admin/ip_blocks/<id>"),
    ("GET", "/admin/email_domains"): ("GET", "/api/v1/admin/email_domain_blocks"),
    ("POST", "/admin/email_domains"): ("POST", "/api/v1/admin/email_domain_blocks"),
    ("POST", "/admin/email_domains/<id>/unblock"): ("DELETE", "/api/v1/admin/email_domain_blocks/<id>"),
    ("GET", "/admin/emails"): ("GET", "/api/v1/admin/canonical_email_blocks"),
    ("POST", "/admin/emails"): ("POST", "/api/v1/admin/canonical_email_blocks"),
    ("POST", "/admin/emails/test"): ("POST", "/api/v1/admin/canonical_email_blocks/test"),
    ("POST", "/admin/emails/<id>/unblock"): ("DELETE", "/api/v1/admin/canonical_email_blocks/<id>"),
    ("GET", "/admin/trends"): ("GET", "/api/v1/admin/trends/links"),
    ("POST", "/admin/trends"): ("POST", "/api/v1/admin/trends/links/<id>/approve"),
    ("GET", "/admin/tags"): ("GET", "/api/v1/admin/tags"),
    ("GET", "/admin/tags/<id>"): ("GET", "/api/v1/admin/tags/<id>"),
    ("POST", "/admin/tags/<id>"): ("PUT", "/api/v1/admin/tags/<id>"),
    ("GET", "/admin/acts"): ("GET", "/api/v1/admin/audit_log"),
}


def needed(path: str) -> Permission:
    return next(
        found for start, found in NEEDED.items() if path == start or (start != "/admin" and path.startswith(start))
    )


def address(endpoint: Endpoint, made: World) -> str:
    id = next((id for start, id in made.ids.items() if endpoint.path.startswith(start)), made.eve.id)
    path = endpoint.path.replace("<id>", id).replace("<name>", "search_results")
    return f"{path}?address=account/{made.eve.id}" if path.startswith("/admin/actor") else path


async def opened(browser: Browser, endpoint: Endpoint, path: str) -> Reply:
    """Open a page. One that is kept current has no end, so its head is asked for."""
    method = "HEAD" if endpoint.path.endswith("/live") else "GET"
    return await browser.send_as(method, path)


def form(endpoint: Endpoint, token: str) -> dict[str, str]:
    """A form that fits, so that it would change something if it were taken."""
    severity = {"severity": "no_access"} if endpoint.path.startswith("/admin/networks") else {}
    return FITS | severity | {"form_token": token}


async def test_each_page_is_shown_to_the_roles_of_the_table_alone(stage: Stage) -> None:
    made = await world(stage)
    browsers = {role: await member(stage, role) for role in ROLES}
    for endpoint in pages():
        if endpoint.method == "GET":
            for role, browser in browsers.items():
                page = await opened(browser, endpoint, address(endpoint, made))
                assert page.status == (200 if may(role, needed(endpoint.path)) else 404), f"{role}: {endpoint.path}"
                assert "<script>alert" not in page.text or endpoint.path.endswith(".csv"), endpoint.path


async def test_what_a_role_may_not_see_is_as_an_address_where_nothing_is(stage: Stage) -> None:
    browser = await member(stage, "user")
    nothing = await browser.send_as("GET", "/admin/nothing", {"Accept": "text/html"})
    for path in ("/admin", "/admin/accounts", "/admin/reports/1"):
        page = await browser.get(path)
        assert (page.status, page.text) == (404, nothing.text)


async def test_nobody_who_is_not_signed_in_learns_what_there_is(stage: Stage) -> None:
    made, nobody = await world(stage), Browser(stage)
    for endpoint in pages():
        if endpoint.method == "GET":
            known = await nobody.get(address(endpoint, made))
            unknown = await nobody.get(endpoint.path.replace("<id>", "1"))
            assert is_signed_out(known), endpoint.path
            assert is_signed_out(unknown), endpoint.path
            assert known.text == unknown.text


async def test_a_form_of_a_role_that_may_not_send_it_changes_nothing(stage: Stage) -> None:
    made = await world(stage)
    browsers = {role: await member(stage, role) for role in ROLES}
    token = {role: form_token(await browser.get("/settings")) for role, browser in browsers.items()}
    before = await rows(stage)
    for endpoint in pages():
        if endpoint.method == "POST":
            for role, browser in browsers.items():
                if not may(role, needed(endpoint.path)):
                    answer = await browser.post(address(endpoint, made), form(endpoint, token[role]))
                    assert answer.status == 404, f"{role}: {endpoint.path}"
    assert await rows(stage) == before


@pytest.mark.parametrize("token", ["", "x" * 64, "é"])
async def test_a_form_of_another_site_changes_nothing(stage: Stage, token: str) -> None:
    made, owner = await world(stage), await member(stage, "owner")
    before = await rows(stage)
    for endpoint in pages():
        if endpoint.method == "POST":
            answer = await owner.post(address(endpoint, made), form(endpoint, token))
            assert answer.status == 403, endpoint.path
    assert await rows(stage) == before


async def test_a_role_learns_nothing_of_the_parameters_of_a_page_that_it_may_not_see(stage: Stage) -> None:
    made = await world(stage)
    browser, visitor = await member(stage, "user"), Browser(stage)
    for endpoint in pages():
        wrong = f"{address(endpoint, made).partition('?')[0]}?max_id=x&limit=x&q=%ff"
        if endpoint.method == "POST":
            known, unknown = await browser.post(wrong, {}), await visitor.post(wrong, {})
        else:
            known, unknown = await opened(browser, endpoint, wrong), await opened(visitor, endpoint, wrong)
        assert known.status == 404, endpoint.path
        assert is_signed_out(unknown), endpoint.path


async def test_who_is_signed_out_sends_no_form(stage: Stage) -> None:
    made = await world(stage)
    before = await rows(stage)
    for endpoint in pages():
        if endpoint.method == "POST":
            assert is_signed_out(await Browser(stage).post(address(endpoint, made), form(endpoint, ""))), endpoint.path
    assert await rows(stage) == before


async def test_who_lost_the_role_sees_nothing_from_the_next_request_on(stage: Stage) -> None:
    browser = await member(stage, "moderator")
    assert (await browser.get("/admin/reports")).status == 200
    await stage.sql("UPDATE users SET role = 'user'")
    assert (await browser.get("/admin/reports")).status == 404


async def test_who_has_moved_sees_nothing(stage: Stage) -> None:
    browser, other = await member(stage, "owner"), await stage.account("other")
    await stage.sql("UPDATE accounts SET moved_to_id = $1 WHERE username = 'owner'", other.id)
    assert (await browser.get("/admin")).status == 404


async def test_a_sign_in_leads_back_to_the_page(stage: Stage) -> None:
    await stage.account("owner", role="owner")
    browser = Browser(stage)
    asked = await browser.get("/admin/reports")
    assert asked.headers["Location"].endswith("to=%2Fadmin%2Freports")
    answer = await browser.send("/auth/sign_in", username="owner", password=PASSWORD, to="/admin/reports")
    assert answer.headers["Location"] == "/admin/reports"


def test_the_permissions_are_those_of_the_api() -> None:
    declared = {(one.method, one.path): one for one in all_endpoints()}
    for page, call in ALIKE.items():
        assert page in declared
        assert declared[call].permission == needed(page[1]), page


async def test_the_navigation_has_the_pages_of_the_role(stage: Stage) -> None:
    for role in ("moderator", "admin", "owner"):
        text = (await (await member(stage, role)).get("/admin")).text
        shown = set(re.findall(r'<li><a href="(/admin[a-z_/]*)"', text))
        exist = {one.path for one in pages() if one.method == "GET" and "<" not in one.path}
        exist = {one for one in exist if not one.endswith(("/live", ".csv"))} - {"/admin/actor"}  # by its address
        assert shown == {path for path in exist if may(role, needed(path))}, role


# Fits every form, so that a form that is taken would change something.
FITS = {
    "type": "silence", "state": "silence", "role": "admin", "content": "A note", "category": "other",
    "approved": "true", "value": "7", "sure": "true", "text": "Hello",
    "comment": "A friend", "domain": "other.example", "severity": "silence",
    "name": "privacy", "day": "2027-01-01",
    "ip": "198.51.100.0/24", "email": "a@other.example", "kind": "tag", "key": "tea", "trendable": "true",
}  # fmt: skip
