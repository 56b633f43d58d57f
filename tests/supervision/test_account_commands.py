"""`troupe accounts`, `tokens`, `sessions` and `audit`: what an operator finds, changes, ends and deletes."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troupe.actors.rules.passwords import matches
from troupe.storage import users, visits
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.users import User
from troupe.storage.visits import Visit
from troupe.supervision.commands import troupe

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, dsn: str) -> Run:
    """Runs a command on a database with the accounts ada, an owner, and bob."""
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)

    def invoke(*words: str, text: str | None = None) -> Result:
        return CliRunner().invoke(troupe, list(words), input=text)

    for name, role in (("ada", "owner"), ("bob", "user")):
        words = ("accounts", "create", name, "--email", f"{name}@localhost", "--password", "x", "--role", role)
        assert invoke(*words, "--confirmed", "--approved").exit_code == 0
    return invoke


def user(dsn: str, name: str) -> User:
    found = transact_once(dsn, users.find_user_by_login, name)
    assert found is not None
    return found


def rows(dsn: str, query: str) -> list[tuple[Any, ...]]:
    async def fetch(db: Connection) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in await db.fetch(query)]

    return transact_once(dsn, fetch)


def acts(run: Run, *words: str) -> list[tuple[str, str]]:
    found = json.loads(run("audit", "--json", *words).stdout)
    return [(entry["action"], entry["target"]) for entry in found]


def names(run: Run, *words: str) -> list[str]:
    return [one["account"] for one in json.loads(run("accounts", "list", "--json", *words).stdout)]


def test_accounts_are_listed_by_filters(run: Run) -> None:
    run("accounts", "create", "new", "--email", "new@localhost", "--password", "x")
    run("accounts", "silence", "bob")
    assert names(run) == ["new", "bob", "ada"]
    assert names(run, "--role", "owner") == ["ada"]
    assert names(run, "--status", "pending") == ["new"]
    assert names(run, "--status", "silenced", "--local") == ["bob"]
    assert names(run, "--email", "BOB@") == ["bob"]
    assert names(run, "--email", "*@LOCALHOST") == names(run, "--email", "@localhost") == ["new", "bob", "ada"]
    assert names(run, "--email", "@local") == names(run, "--email", "b%@localhost") == []
    assert names(run, "--username", "n", "--limit", "1") == ["new"]
    assert names(run, "--remote") == names(run, "--by-domain", "far.test") == []
    lines = run("accounts", "list").stdout.splitlines()
    assert [line.split("\t")[1:] for line in lines] == [
        ["@new", "user", "new@localhost", "unconfirmed, unapproved"],
        ["@bob", "user", "bob@localhost", "silenced"],
        ["@ada", "owner", "ada@localhost", ""],
    ]


def test_an_account_is_shown(run: Run) -> None:
    shown = json.loads(run("accounts", "show", "@bob", "--json").stdout)
    assert (shown["account"], shown["email"], shown["role"], shown["states"]) == ("bob", "bob@localhost", "user", [])
    lines = run("accounts", "show", "bob").stdout
    assert "email\tbob@localhost\n" in lines
    assert "last_status_at\t-\n" in lines
    assert "ips\t-\nlocale\t-\ninvite_request\t-\n" in lines
    assert "None" not in lines
    missing = run("accounts", "show", "nobody")
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "there is no account nobody." in missing.stderr


def test_the_addresses_that_a_user_came_from_are_shown(run: Run, dsn: str) -> None:
    at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    transact_once(dsn, visits.insert_many, [Visit(user(dsn, "bob").account_id, at.date(), "192.0.2.1", at)])
    shown = json.loads(run("accounts", "show", "@bob", "--json").stdout)
    assert (shown["ip"], shown["ips"]) == ("192.0.2.1", ["192.0.2.1 2026-11-21T12:00:00+00:00"])
    assert "ips\t192.0.2.1 2026-11-21T12:00:00+00:00\n" in run("accounts", "show", "bob").stdout


def test_all_that_is_asked_for_is_changed(run: Run, dsn: str) -> None:
    run("accounts", "create", "new", "--email", "new@localhost", "--password", "x")
    done = run("accounts", "modify", "new", "--role", "admin", "--email", "a@x.test", "--confirm", "--approve")
    assert (done.exit_code, done.stdout) == (0, "Changed @new\n")
    changed = user(dsn, "new")
    assert (changed.role, changed.email) == ("admin", "a@x.test")
    assert changed.confirmed_at is not None
    assert changed.approved_at is not None
    assert sorted(acts(run)) == [(act, "new") for act in ("approve", "change_email", "change_role", "confirm")]


def test_a_change_that_is_refused_leaves_the_others_undone(run: Run, dsn: str) -> None:
    refused = run("accounts", "modify", "bob", "--role", "admin", "--email", "ADA@localhost")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "the e-mail address ADA@localhost is taken." in refused.stderr
    assert (user(dsn, "bob").role, acts(run)) == ("user", [])
    assert run("accounts", "modify", "bob").exit_code == 2


def test_a_new_password_ends_all_access_by_the_old_one(run: Run, dsn: str) -> None:
    run("tokens", "create", "bob")
    done = run("accounts", "modify", "bob", "--reset-password", "--yes")
    found = re.fullmatch(r"Changed @bob, new password: (\S{16})\n", done.stdout)
    assert found is not None
    assert matches(user(dsn, "bob").password_hash, found[1])
    assert not matches(user(dsn, "bob").password_hash, "x")
    assert json.loads(run("tokens", "list", "bob", "--json").stdout) == []
    assert "access" in [kind for (kind,) in rows(dsn, "SELECT kind FROM outbox")]
    assert found[1] not in run("audit", "--json").stdout


def test_two_factor_authentication_is_turned_off(run: Run, dsn: str) -> None:
    insert = "INSERT INTO two_factor (account_id, secret, created_at, enabled_at)"
    rows(dsn, f"{insert} SELECT account_id, repeat('A', 32), now(), now() FROM users RETURNING 1")
    assert run("accounts", "modify", "bob", "--disable-2fa").exit_code == 0
    assert len(rows(dsn, "SELECT FROM two_factor")) == 1
    assert acts(run) == [("disable_2fa", "bob")]


@pytest.mark.parametrize(
    "words",
    [
        ("accounts", "modify", "ada", "--role", "admin"),
        ("accounts", "disable", "ada"),
        ("accounts", "suspend", "ada"),
        ("accounts", "delete", "ada", "--yes"),
    ],
)
def test_the_last_owner_stays(run: Run, dsn: str, words: tuple[str, ...]) -> None:
    refused = run(*words)
    assert refused.exit_code == 1
    assert "the last owner of the server" in refused.stderr
    assert (user(dsn, "ada").role, user(dsn, "ada").disabled_at, user(dsn, "ada").suspended_at) == ("owner", None, None)
    assert acts(run) == []
    assert run("accounts", "modify", "bob", "--role", "owner").exit_code == 0
    assert run(*words).exit_code == 0


@pytest.mark.parametrize(("options", "words"), [((), ("reject", "--yes")), (("--approved",), ("delete", "--yes"))])
def test_the_name_of_a_sign_up_that_was_never_active_is_free_again(
    run: Run, dsn: str, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    create = ("accounts", "create", "new", "--email", "new@localhost", "--password", "x")
    assert run(*create, *options).exit_code == 0
    assert run("accounts", words[0], "new", *words[1:]).exit_code == 0
    assert rows(dsn, "SELECT username FROM accounts WHERE username = 'new'") == []
    assert run(*create).exit_code == 0
    assert run("accounts", "delete", "bob", "--yes").exit_code == 0
    taken = run("accounts", "create", "bob", "--email", "bob@localhost", "--password", "x")
    assert (taken.exit_code, "taken" in taken.stderr) == (1, True), taken.stderr


def test_an_account_is_deleted_as_its_user_would(run: Run, dsn: str) -> None:
    rehearsed = run("accounts", "delete", "bob", "--dry-run")
    assert (rehearsed.exit_code, rehearsed.stdout) == (0, "Would delete @bob with 0 posts and 0 followers.\n")
    assert run("accounts", "delete", "bob", text="yes\n").exit_code == 1
    assert user(dsn, "bob").deleted_at is None
    assert acts(run) == []
    done = run("accounts", "delete", "bob", "--yes")
    assert (done.exit_code, "Deleted @bob." in done.stdout) == (0, True)
    assert transact_once(dsn, users.find_user_by_login, "bob") is None
    assert rows(dsn, "SELECT count(*) FROM outbox WHERE kind = 'erase'") == [(1,)]
    assert acts(run) == [("delete", "bob")]
    assert run("accounts", "delete", "bob", "--yes").exit_code == 1


def test_tokens_are_listed_and_revoked(run: Run, dsn: str) -> None:
    secrets = [run("tokens", "create", "bob", "--scopes", scope).stdout.strip() for scope in ("read", "write")]
    listed = run("tokens", "list", "bob", "--json").stdout
    write, read = json.loads(listed)
    assert (read["scopes"], write["scopes"]) == (["read"], ["write"])
    assert not any(secret in listed for secret in secrets)
    assert "\tread\tnever\n" in run("tokens", "list", "bob").stdout
    assert run("tokens", "revoke", "bob").exit_code == run("tokens", "revoke", "bob", "1", "--all").exit_code == 2
    missing = run("tokens", "revoke", "bob", read["id"], "1")
    assert (missing.exit_code, "@bob has no valid token 1." in missing.stderr) == (1, True)
    assert run("tokens", "revoke", "ada", read["id"]).exit_code == 1, "of another account"
    assert run("tokens", "revoke", "@bob", read["id"]).stdout == "Revoked 1 token of @bob\n"
    assert [one["id"] for one in json.loads(run("tokens", "list", "bob", "--json").stdout)] == [write["id"]]
    assert run("tokens", "revoke", "bob", "--all").exit_code == 1
    assert run("tokens", "revoke", "bob", "--all", "--dry-run").stdout == "Would revoke 1 token of @bob\n"
    assert [one["id"] for one in json.loads(run("tokens", "list", "bob", "--json").stdout)] == [write["id"]]
    assert run("tokens", "revoke", "bob", "--all", "--yes").stdout == "Revoked 1 token of @bob\n"
    assert acts(run) == [("revoke_tokens", "bob")] * 2


def test_a_user_is_signed_out_of_all_browsers(run: Run, dsn: str) -> None:
    insert = "INSERT INTO web_sessions (token_hash, account_id, created_at, expires_at)"
    rows(dsn, f"{insert} SELECT sha256(email::bytea), account_id, now(), now() FROM users RETURNING 1")
    assert run("sessions", "revoke", "bob", "--dry-run").stdout == "Would sign @bob out of 1 browser\n"
    assert len(rows(dsn, "SELECT FROM web_sessions")) == 2
    assert run("sessions", "revoke", "bob", "--yes").stdout == "Signed @bob out of 1 browser\n"
    assert rows(dsn, "SELECT username FROM web_sessions JOIN accounts ON id = account_id") == [("ada",)]
    assert acts(run) == [("revoke_sessions", "bob")]


def test_the_audit_log_is_read_by_account_and_time(run: Run) -> None:
    run("accounts", "silence", "ada", "--reason", "noise")
    run("accounts", "silence", "bob")
    assert acts(run) == [("silence", "bob"), ("silence", "ada")]
    assert acts(run, "--account", "@ada") == [("silence", "ada")]
    assert acts(run, "--limit", "1") == [("silence", "bob")]
    today = datetime.now(UTC)
    assert acts(run, "--since", f"{today - timedelta(days=1):%Y-%m-%d}") == acts(run)
    assert acts(run, "--since", f"{today + timedelta(days=2):%Y-%m-%d}") == []
    line = run("audit", "--account", "ada").stdout.rstrip("\n").split("\t")
    assert line[1:] == ["command line", "silence", "ada", "noise"]
