"""`troupe ips`, `emails`, `email-domains` and `invites`: what is printed, stored and refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from troupe.storage import users
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.supervision.commands import troupe


@pytest.fixture
def data(folder: tuple[Path, str]) -> Path:
    path, dsn = folder
    transact_once(dsn, clear)
    return path


async def clear(db: Connection) -> None:
    await db.execute("SET LOCAL session_replication_role = replica")  # a trigger keeps the audit log
    for table in ("blocked_networks", "blocked_emails", "blocked_email_domains", "invites", "audit_log"):
        await db.execute(f"DELETE FROM {table}")


async def logged(db: Connection) -> list[tuple[str, str]]:
    rows = await db.fetch("SELECT actor, action FROM audit_log ORDER BY id")
    return [(row["actor"], row["action"]) for row in rows]


def run(data: Path, *words: str) -> Result:
    return CliRunner().invoke(troupe, [words[0], words[1], "--data", str(data), *words[2:]])


def test_a_network_is_blocked_changed_and_unblocked(folder: tuple[Path, str], data: Path) -> None:
    made = run(data, "ips", "block", "192.0.2.7/24", "--comment", "bots", "--days", "2")
    assert (made.exit_code, made.stdout) == (0, "Blocked 192.0.2.0/24\n")
    (block,) = json.loads(run(data, "ips", "list", "--json").stdout)
    assert (block["ip"], block["severity"], block["comment"]) == ("192.0.2.0/24", "no_access", "bots")
    assert block["expires_at"] is not None
    run(data, "ips", "block", "192.0.2.0/24", "--severity", "sign_up_block", "--days", "0")
    assert run(data, "ips", "list").stdout == "192.0.2.0/24\tsign_up_block\tnever\tbots\n"
    assert run(data, "ips", "unblock", "192.0.2.0/24").stdout == "Unblocked 192.0.2.0/24\n"
    assert json.loads(run(data, "ips", "list", "--json").stdout) == []
    actions = ("block_network", "change_network_block", "unblock_network")
    assert transact_once(folder[1], logged) == [("command line", action) for action in actions]


@pytest.mark.parametrize("written", ["192.0.2.7", "192.0.2.0/24", "0.0.0.0/0", "::ffff:192.0.2.7", "2001:db8::/32"])
def test_the_own_proxies_keep_their_access(data: Path, monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("TROUPE_TRUSTED_PROXIES", "127.0.0.1, 192.0.2.7, 2001:db8::7")
    refused = run(data, "ips", "block", written)
    assert (refused.exit_code, refused.stderr) == (1, "Error: Ip is that of a trusted proxy of this server.\n")
    assert run(data, "ips", "block", written, "--severity", "sign_up_block").exit_code == 0
    assert run(data, "ips", "block", written, "--severity", "no_access").exit_code == 1
    assert run(data, "ips", "block", "192.0.2.8").exit_code == 0


def test_an_address_is_blocked_in_all_spellings(data: Path) -> None:
    assert run(data, "emails", "test", "eve@example.org").stdout == "not blocked\n"
    assert run(data, "emails", "block", "E.ve+x@Example.org").exit_code == 0
    assert run(data, "emails", "test", "eve@example.org").stdout == "blocked\n"
    assert run(data, "emails", "unblock", "eve@example.org").exit_code == 0
    assert run(data, "emails", "test", "e.ve+x@example.org").stdout == "not blocked\n"


def test_an_email_domain_is_blocked(data: Path) -> None:
    assert run(data, "email-domains", "block", "Bad.example").stdout == "Blocked bad.example\n"
    run(data, "email-domains", "block", "odd.example", "--with-approval")
    assert run(data, "email-domains", "list").stdout == "bad.example\trefused\nodd.example\tapproval\n"
    assert run(data, "email-domains", "unblock", "bad.example").exit_code == 0
    found = json.loads(run(data, "email-domains", "list", "--json").stdout)
    assert [one["domain"] for one in found] == ["odd.example"]


@pytest.mark.parametrize(
    "written",
    ["*.bad.example", "@bad.example", "*@bad.example", "%@bad.example", "https://bad.example/", "BAD.example."],
)
def test_an_email_domain_is_read_as_people_paste_it(data: Path, written: str) -> None:
    assert run(data, "email-domains", "block", written).stdout == "Blocked bad.example\n"


def test_an_invite_is_made_listed_and_ended(folder: tuple[Path, str], data: Path) -> None:
    made = run(data, "invites", "create", "--uses", "3", "--days", "7", "--comment", "for kim")
    assert made.exit_code == 0
    address, _, code = made.stdout.strip().partition("?invite=")
    assert address == "http://localhost:3000/auth/sign_up"
    (listed,) = json.loads(run(data, "invites", "list", "--json").stdout)
    assert (listed["code"], listed["valid"], listed["max_uses"]) == (code, True, 3)
    assert run(data, "invites", "expire", "--", code).exit_code == 0
    assert run(data, "invites", "list").stdout == f"{code}\tended\t0/3\tfor kim\n"
    assert run(data, "invites", "expire", "--", code).exit_code == 1
    assert transact_once(folder[1], logged) == [
        ("command line", "create_invite"), ("command line", "expire_invite"),
    ]  # fmt: skip


def test_an_invite_is_made_in_the_name_of_an_account(folder: tuple[Path, str], data: Path) -> None:
    made = run(data, "accounts", "create", "host", "--email", "host@localhost", "--password", "x")
    assert made.exit_code == 0, made.output
    assert run(data, "invites", "create", "--by", "@host").exit_code == 0
    host = transact_once(folder[1], users.find_user_by_login, "host")
    assert host is not None
    (listed,) = json.loads(run(data, "invites", "list", "--json").stdout)
    assert listed["account_id"] == str(host.account_id)
    refused = run(data, "invites", "create", "--by", "nobody")
    assert (refused.exit_code, refused.stderr) == (1, "Error: there is no account nobody.\n")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("ips", "block", "192.0.2.300"), "Error: '192.0.2.300' is not an address or a network.\n"),
        (("ips", "unblock", "192.0.2.3"), "Error: 192.0.2.3/32 is not blocked.\n"),
        (("ips", "block", "127.0.0.1"), "Error: Ip is of this machine, which is never blocked.\n"),
        (
            ("ips", "block", "::1", "--severity", "sign_up_block"),
            "Error: Ip is of this machine, which is never blocked.\n",
        ),
        (("emails", "block", "eve"), "Error: 'eve' is not an e-mail address.\n"),
        (("emails", "block", "Eve <eve@x.org>"), "Error: 'Eve <eve@x.org>' is not an e-mail address.\n"),
        (("emails", "unblock", "eve@x.org"), "Error: eve@x.org is not blocked.\n"),
        (("email-domains", "block", "a b"), "Error: 'a b' is not a domain.\n"),
        (("email-domains", "block", "eve@big.example"), "Error: 'eve@big.example' is not a domain.\n"),
        (("email-domains", "unblock", "good.example"), "Error: good.example is not blocked.\n"),
    ],
)
def test_what_can_not_be_done_is_said(data: Path, words: tuple[str, ...], error: str) -> None:
    refused = run(data, *words)
    assert (refused.exit_code, refused.stderr) == (2 if "is not a" in error else 1, error)
