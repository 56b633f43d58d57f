"""`troupe accounts refresh` and `rotate-keys`: what they promise, for whom, and what they refuse."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troupe.supervision.commands import account_upkeep, troupe

from .foreign import Rows

Run = Callable[..., Result]


@pytest.fixture
def rows(made: Rows) -> Rows:
    """Bob and eve of this server, of whom bob has a key; ann was fetched long ago, cid just now, ben never."""
    made.account(1, "bob", None)
    made.account(2, "ann", "far.example")
    made.account(3, "ben", "sub.far.example")
    made.account(4, "cid", "notfar.example")
    made.account(5, "eve", None)
    made.run("UPDATE accounts SET fetched_at = now() - interval '25 hours' WHERE id = 2")
    made.run("UPDATE accounts SET fetched_at = now() WHERE id = 4")
    made.run("UPDATE accounts SET private_key = 'secret', public_key = 'known' WHERE id = 1")
    return made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, dsn: str) -> Run:
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    monkeypatch.setattr(account_upkeep, "AT_ONCE", 1)
    return lambda *words: CliRunner().invoke(troupe, ["accounts", *words, "--domain", "here.test"])


def promised(rows: Rows) -> list[tuple[Any, ...]]:
    return rows.run("SELECT queue, kind, payload, group_key FROM outbox ORDER BY id")


def refreshed(rows: Rows) -> list[object]:
    return [
        payload["account"] for queue, kind, payload, _ in promised(rows) if (queue, kind) == ("refreshes", "refresh")
    ]


def test_one_account_is_fetched_again(rows: Rows, run: Run) -> None:
    assert run("refresh", "@cid@notfar.example").stdout == "Fetching 1 account again\n"
    assert promised(rows) == [("refreshes", "refresh", {"account": 4}, "notfar.example")]


def test_the_accounts_of_a_domain_are_fetched_again(rows: Rows, run: Run) -> None:
    done = run("refresh", "--by-domain", "FAR.example", "--json")
    assert json.loads(done.stdout) == {"accounts": ["ann@far.example", "ben@sub.far.example"], "dry_run": False}
    assert refreshed(rows) == [2, 3]
    assert json.loads(run("refresh", "--by-domain", "far.example", "--json").stdout)["accounts"] == [], "they wait"


def test_what_was_not_fetched_for_a_day_is_fetched_again(rows: Rows, run: Run) -> None:
    rows.run("UPDATE accounts SET deleted_at = now() WHERE id = 3")
    assert run("refresh", "--all-stale").exit_code == 0
    assert refreshed(rows) == [2]


def test_a_key_is_replaced_by_the_server_and_the_act_is_logged(rows: Rows, run: Run) -> None:
    assert run("rotate-keys", "bob").stdout == "Giving 1 account a new key\n"
    assert promised(rows) == [("announcements", "rotate_key", {"account": 1}, None)]
    assert rows.run("SELECT action, target FROM audit_log") == [("rotate_key", "bob")]
    again = run("rotate-keys", "bob")
    assert (again.exit_code, "being replaced" in again.stderr) == (1, True)


def test_all_keys_are_those_of_accounts_that_have_one(rows: Rows, run: Run) -> None:
    rows.run("UPDATE accounts SET private_key = 'other', public_key = 'too' WHERE id = 5")
    rows.run("UPDATE accounts SET public_key = 'foreign' WHERE id = 2")
    assert json.loads(run("rotate-keys", "--all", "--json").stdout)["accounts"] == ["bob", "eve"]
    assert [payload["account"] for _, _, payload, _ in promised(rows)] == [1, 5]


@pytest.mark.parametrize("words", [("refresh", "--all-stale"), ("rotate-keys", "--all")])
def test_a_rehearsal_promises_nothing(rows: Rows, run: Run, words: tuple[str, ...]) -> None:
    assert "Would" in run(*words, "--dry-run").stdout
    assert promised(rows) == []
    assert rows.run("SELECT FROM audit_log") == []


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("refresh",), 2, "Give NAME"),
        (("refresh", "bob", "--all-stale"), 2, "Give NAME"),
        (("refresh", "bob"), 1, "@bob is an account of this server"),
        (("refresh", "no@far.example"), 1, "there is no account"),
        (("rotate-keys",), 2, "Give NAME or --all"),
        (("rotate-keys", "eve"), 1, "@eve has no key yet"),
        (("rotate-keys", "ann@far.example"), 1, "another server"),
    ],
)
def test_what_can_not_be_done_is_refused(rows: Rows, run: Run, words: tuple[str, ...], code: int, why: str) -> None:
    refused = run(*words)
    assert (refused.exit_code, why in refused.stderr) == (code, True), refused.output
    assert promised(rows) == []
