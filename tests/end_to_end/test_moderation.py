"""A day of moderation on a real server: by Mastodon.py as an app for administration, and by the command line."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mastodon import MastodonAPIError, MastodonNotFoundError

from .. import plain_http
from ..mail.mailserver import MailServer
from .browser import Visitor
from .patience import eventually
from .pushing import Mailbox, mailbox
from .server import Person, Server, follow
from .signing_up import signing_up


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with mailbox() as one:
        yield one


@pytest.fixture
def open_server(post: MailServer, prepared: Path) -> Iterator[Server]:
    with signing_up(post, prepared, TROUPE_TEST_HOSTS="localhost", TROUPE_REGISTRATIONS="open") as one:
        yield one


def done(server: Server, *words: str) -> str:
    """What a command of the operator prints."""
    made = server.troupe(*words)
    assert made.returncode == 0, made.stderr
    return made.stdout


def profile(viewer: Person, of: Person) -> int:
    return status_code(viewer, f"/api/v1/accounts/{of.id}")


def status_code(viewer: Person, path: str) -> int:
    return plain_http.get(f"{viewer.url}{path}", headers=viewer.headers).status_code


def stream(person: Person) -> Iterator[str]:
    """The lines of a person's stream until the server ends it."""
    path = f"{person.url}/api/v1/streaming/user"
    with plain_http.stream("GET", path, headers=person.headers, timeout=30) as opened:
        assert opened.status_code == 200
        yield "opened"
        yield from opened.iter_lines()


def ends_by(lines: Iterator[str], time_limit: float) -> bool:
    """True if the stream ends by itself before a time of the clock."""
    return all(time.monotonic() <= time_limit for _ in lines)


def is_barred(person: Person) -> bool:
    with pytest.raises(MastodonAPIError) as refused:
        person.app.account_verify_credentials()
    return (refused.value.args[1], refused.value.args[-1]) == (403, "Your login is currently disabled")


def link_in(post: MailServer, person: Person, count: int) -> str:
    found = re.search(r"^http://\S+/disputes/\S+", post.receive(f"{person.name}@example.org", count).body, re.MULTILINE)
    assert found is not None
    return found[0]


def test_a_day_of_moderation(open_server: Server, post: MailServer, box: Mailbox) -> None:
    server = open_server
    (admin,) = server.people("admin", role="admin")
    (mod,) = server.people("mod", role="moderator")
    ada, bob, spam = server.people("ada", "bob", "spam")
    follow(bob, [spam])

    # A user reports a post. Staff are told, take it on, and warn its author.
    bad = spam.app.status_post(f"Buy, @{bob.name}!")
    made = bob.app.report(spam.id, bad.id, comment="Advertising", category="spam")
    assert not made.action_taken
    told = mod.app.notifications(types=["admin.report"])[0]
    assert told.report.target_account.id == spam.id
    (report,) = mod.app.admin_reports()
    assert ([one.id for one in report.statuses], report.comment) == ([bad.id], "Advertising")
    mod.app.admin_report_assign(report.id)
    mod.app.admin_account_moderate(spam.id, "none", report_id=int(str(report.id)), text="No advertising, please.")
    assert mod.app.admin_report(report.id).action_taken
    warned = spam.app.notifications()[0]
    assert (warned.type, warned.moderation_warning.text) == ("moderation_warning", "No advertising, please.")
    assert "No advertising, please." in post.receive(f"{spam.name}@example.org").body

    # The author goes on, and is silenced. The appeal is approved.
    assert bad.id in [one.id for one in ada.app.timeline_public()]
    mod.app.admin_account_moderate(spam.id, "silence", text="Again.")
    assert bad.id not in [one.id for one in ada.app.timeline_public()]
    assert bad.id in [one.id for one in bob.app.timeline_home()]
    visitor = Visitor()
    visitor.visit(link_in(post, spam, 2))
    assert "have not decided" in visitor.send(text="It was a gift.").text
    (appeal,) = json.loads(done(server, "appeals", "list", "--json"))
    assert appeal["text"] == "It was a gift."
    done(server, "appeals", "approve", appeal["id"])
    eventually(lambda: bad.id in [one.id for one in ada.app.timeline_public()])
    assert "approved" in post.receive(f"{spam.name}@example.org", 3).body

    # It gets worse: the account is suspended. Its stream and its pushes end.
    _, public = spam.app.push_subscription_generate_keys()
    spam.app.push_subscription_set(f"{box.origin}/push/spam", public, mention_events=True)
    bob.app.status_post(f"@{spam.name} stop")
    box.receive("/push/spam")
    lines = stream(spam)
    assert next(lines) == "opened"
    mod.app.admin_account_moderate(spam.id, "suspend", text="Enough.")
    assert ends_by(lines, time.monotonic() + 5)
    assert is_barred(spam)
    assert profile(bob, spam) == 410
    assert bob.app.timeline_home() == [] or bad.id not in [one.id for one in bob.app.timeline_home()]
    bob.app.status_post(f"@{spam.name} still there?")
    shown = mod.app.admin_account(spam.id)
    assert (shown.suspended, shown.email) == (True, f"{spam.name}@example.org")

    # That was too hard: it is undone, by the command line beside the server.
    done(server, "accounts", "unsuspend", spam.name)
    eventually(lambda: profile(bob, spam) == 200)
    assert spam.app.account_verify_credentials().id == spam.id
    eventually(lambda: bad.id in [one.id for one in bob.app.timeline_home()])
    with pytest.raises(MastodonNotFoundError):
        spam.app.push_subscription()
    assert len(box.arrived["/push/spam"]) == 1

    # Another account disturbs, and is disabled by the command line, and enabled by the app.
    done(server, "accounts", "disable", ada.name, "--reason", "Sleep over it.")
    eventually(lambda: is_barred(ada))
    assert profile(bob, ada) == 200
    mod.app.admin_account_enable(ada.id)
    assert ada.app.account_verify_credentials().id == ada.id

    # A post is removed with its media.
    second = spam.app.status_post("Buy again!")
    done(server, "statuses", "remove", str(second.id), "--reason", "Advertising", "--yes")
    eventually(lambda: status_code(bob, f"/api/v1/statuses/{second.id}") == 404)

    # Nobody acts on their equals, and a moderator does not manage blocks.
    for staff, target in ((mod, admin), (mod, mod), (admin, admin)):
        with pytest.raises(MastodonAPIError):
            staff.app.admin_account_moderate(target.id, "silence")
    with pytest.raises(MastodonAPIError):
        mod.app.admin_create_domain_block("spam.example", "suspend")

    # A server and a network are blocked.
    blocked = admin.app.admin_create_domain_block("spam.example", "suspend", public_comment="Advertising")
    assert [one.id for one in admin.app.admin_domain_blocks()] == [blocked.id]
    network = admin.app.admin_create_ip_block("198.51.100.0/24", "sign_up_block", comment="A farm of accounts")
    assert [one.id for one in admin.app.admin_ip_blocks()] == [network.id]

    # In the end the account is suspended and deleted.
    mod.app.admin_account_moderate(spam.id, "suspend")
    with pytest.raises(MastodonAPIError):
        mod.app.admin_account_delete(spam.id)
    admin.app.admin_account_delete(spam.id)
    assert profile(bob, spam) == 410
    assert bob.app.account_search(spam.name) == []

    # The audit log has it all, with names.
    asked = plain_http.get(f"{server.url}/api/v1/admin/audit_log", headers=admin.headers, timeout=30)
    acts = {(one["actor"]["name"], one["action"]) for one in asked.json()}
    assert {
        (mod.name, "none"), (mod.name, "silence"), (mod.name, "suspend"), (mod.name, "enable"),
        ("command line", "approve_appeal"), ("command line", "unsuspend"), ("command line", "disable"),
        ("command line", "delete_statuses"),
    } <= acts  # fmt: skip
