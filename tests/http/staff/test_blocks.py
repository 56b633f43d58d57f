"""Blocked networks, e-mail domains and e-mails, and allowed domains, on the pages for staff."""

import re
from typing import Any

import pytest

from ...clients import PASSWORD, Stage
from .members import log, member

NETWORKS, EMAIL_DOMAINS, EMAILS = "/admin/networks", "/admin/email_domains", "/admin/emails"
ALLOWED = "/admin/allowed_domains"
HOSTILE = "<i>noisy</i>"


async def networks(stage: Stage) -> list[list[Any]]:
    return await stage.rows(
        "SELECT network::text, severity, comment, expires_at IS NULL FROM blocked_networks ORDER BY id"
    )


def only(text: str, path: str) -> str:
    """The path of the only block on a page."""
    (id,) = set(re.findall(rf"{path}/(\d+)", text))
    return f"{path}/{id}"


async def test_a_network_is_blocked_changed_and_unblocked(stage: Stage) -> None:
    admin = await member(stage, "admin", "adm")
    form = {"ip": "192.0.2.9/24", "severity": "sign_up_block", "ends": "week", "comment": HOSTILE}
    answer = await admin.send(NETWORKS, **form)
    assert answer.headers["Location"] == f"{NETWORKS}?done=blocked"
    assert await networks(stage) == [["192.0.2.0/24", "sign_up_block", HOSTILE, False]]
    page = (await admin.get(NETWORKS)).text
    assert "&lt;i&gt;noisy&lt;/i&gt;" in page
    one = only(page, NETWORKS)
    await admin.send(one, severity="no_access", comment="")
    assert await networks(stage) == [["192.0.2.0/24", "no_access", "", False]]
    await admin.send(one, ip="192.0.2.7", severity="no_access", ends="never")
    assert await networks(stage) == [["192.0.2.7/32", "no_access", "", True]]
    await admin.send(f"{one}/unblock", one)
    assert await networks(stage) == []
    assert await log(stage) == [
        ("adm", "block_network", "192.0.2.0/24"),
        ("adm", "change_network_block", "192.0.2.0/24"),
        ("adm", "change_network_block", "192.0.2.7/32"),
        ("adm", "unblock_network", "192.0.2.7/32"),
    ]


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"ip": ""}, "Name an address or a network."),
        ({"ip": "<script>"}, "The network is invalid."),
        ({"ip": "192.0.2.0/24", "comment": "x" * 5001}, "Comment is too long"),
    ],
)
async def test_what_is_no_network_is_refused(stage: Stage, form: dict[str, str], problem: str) -> None:
    admin = await member(stage, "admin")
    page = await admin.send(NETWORKS, severity="no_access", **form)
    assert (page.status, problem in page.text) == (422, True), page.text
    assert "<script>" not in page.text.replace("<script src=", "")
    assert await networks(stage) == []


async def test_a_network_is_blocked_once(stage: Stage) -> None:
    admin = await member(stage, "admin")
    for status in (302, 422):
        answer = await admin.send(NETWORKS, ip="192.0.2.0/24", severity="no_access")
        assert answer.status == status
    assert "The network has already been taken." in answer.text


async def test_an_email_domain_is_blocked_and_unblocked(stage: Stage) -> None:
    admin = await member(stage, "admin", "adm")
    await admin.send(EMAIL_DOMAINS, domain="Throwaway.example", allow_with_approval="true")
    assert await stage.rows("SELECT domain, allow_with_approval FROM blocked_email_domains") == [
        ["throwaway.example", True]
    ]
    again = await admin.send(EMAIL_DOMAINS, domain="throwaway.example")
    assert (again.status, "Domain has already been taken." in again.text) == (422, True)
    await stage.sql(
        "INSERT INTO email_domain_attempts (block_id, day, network, uses)"
        " SELECT id, current_date, '192.0.2.0/24', 17 FROM blocked_email_domains"
    )
    page = (await admin.get(EMAIL_DOMAINS)).text
    assert '<td data-label="Tries in 7 days" class="number">17</td>' in page
    await admin.send(f"{only(page, EMAIL_DOMAINS)}/unblock", EMAIL_DOMAINS)
    assert await stage.rows("SELECT domain FROM blocked_email_domains") == []
    assert [act for _, act, _ in await log(stage)] == ["block_email_domain", "unblock_email_domain"]


async def test_an_email_is_blocked_looked_for_and_unblocked(stage: Stage) -> None:
    admin = await member(stage, "admin", "adm")
    await admin.send(EMAILS, email="Some.Body+spam@example.com")
    page = (await admin.get(EMAILS)).text
    assert "example.com" not in page
    again = await admin.send(EMAILS, email="somebody@example.com")
    assert (again.status, "This address is blocked already." in again.text) == (422, True)
    found = await admin.send(f"{EMAILS}/test", EMAILS, email="s.omebody@example.com")
    assert "This address is blocked." in found.text
    other = await admin.send(f"{EMAILS}/test", EMAILS, email="other@example.com")
    assert "This address is not blocked." in other.text
    for path in (EMAILS, f"{EMAILS}/test"):
        assert "Email is invalid." in (await admin.send(path, EMAILS, email="nobody")).text
    await admin.send(f"{only(page, EMAILS)}/unblock", EMAILS)
    (hashed,) = re.findall(r'<code class="hash">(\w{64})', page)
    await admin.send(EMAILS, email=hashed)
    found = await admin.send(f"{EMAILS}/test", EMAILS, email="somebody@example.com")
    assert "This address is blocked." in found.text
    assert [act for _, act, _ in await log(stage)] == ["block_email", "unblock_email", "block_email"]


async def test_a_domain_is_allowed_and_disallowed_with_the_password(stage: Stage) -> None:
    admin = await member(stage, "admin", "adm")
    await admin.send(ALLOWED, domain="GOOD.example")
    page = (await admin.get(ALLOWED)).text
    assert "Federation is not limited" in page
    one = only(page, ALLOWED)
    assert "password" in (await admin.send(f"{one}/disallow", ALLOWED)).text
    assert await stage.rows("SELECT domain FROM allowed_domains") == [["good.example"]]
    await admin.send(f"{one}/disallow", ALLOWED, password=PASSWORD)
    assert await stage.rows("SELECT domain FROM allowed_domains") == []
    assert await log(stage) == [("adm", "allow_domain", "good.example"), ("adm", "disallow_domain", "good.example")]
    refused = await admin.send(ALLOWED, domain="no domain")
    assert (refused.status, "Domain is not a valid domain name." in refused.text) == (422, True)
