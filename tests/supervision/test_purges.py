"""`troupe domains purge`: which accounts and emoji it deletes, what it promises and what it refuses."""

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from troupe.storage import account_deletions
from troupe.storage.engine.connect import transact_once
from troupe.supervision.commands import domain_purges, troupe

from .foreign import Rows

Run = Callable[..., Result]


@pytest.fixture
def rows(made: Rows) -> Rows:
    """Two accounts of far.example, one of a subdomain, one of another domain, and bob of this server."""
    made.account(1, "bob", None)
    made.account(2, "ann", "far.example", f"{'a' * 32}.png")
    made.account(3, "ben", "far.example")
    made.account(4, "cid", "sub.far.example")
    made.account(5, "dan", "notfar.example")
    for id, author in ((11, 2), (12, 2), (13, 4), (14, 5)):
        made.status(id, author)
    made.emoji(21, "cat", "far.example", f"{'e' * 32}.png")
    made.emoji(22, "dog", "far.example")
    made.emoji(23, "cat", "notfar.example")
    return made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, dsn: str) -> Run:
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    monkeypatch.setattr(domain_purges, "ACCOUNTS_AT_ONCE", 2)
    return lambda *words: CliRunner().invoke(troupe, ["domains", "purge", *words, "--domain", "social.far.test"])


def left(rows: Rows) -> list[str]:
    """The accounts that are not deleted."""
    return [name for (name,) in rows.run("SELECT username FROM accounts WHERE deleted_at IS NULL ORDER BY id")]


def promised(rows: Rows, kind: str) -> list[dict[str, object]]:
    return [value for (value,) in rows.run("SELECT payload FROM outbox WHERE kind = $1 ORDER BY id", kind)]


def test_all_of_a_domain_and_its_subdomains_is_deleted_in_batches(rows: Rows, run: Run) -> None:
    done = run("FAR.example", "--yes")
    assert (done.exit_code, done.stdout) == (
        0,
        "Deleted 2 accounts with 2 posts, and 2 emoji, of far.example\n"
        "Deleted 1 account with 1 post, and 0 emoji, of sub.far.example\n",
    )
    assert left(rows) == ["bob", "dan"]
    assert rows.run("SELECT domain FROM custom_emojis") == [("notfar.example",)]
    erased = [(one["account"], one.get("with_row", False)) for one in promised(rows, "erase")]
    assert sorted(erased) == [(id, with_row) for id in (2, 3, 4) for with_row in (False, True)]
    assert [one["names"] for one in promised(rows, "files")] == [[f"{'e' * 32}.png"], [f"{'a' * 32}.png"]]
    ((action, target, details),) = rows.run("SELECT action, target, details FROM audit_log")
    assert (action, target, details["accounts"], details["statuses"]) == ("purge_domain", "far.example", 3, 3)


def test_the_rows_of_accounts_that_were_deleted_before_go_too(rows: Rows, run: Run) -> None:
    rows.run("UPDATE accounts SET deleted_at = now() WHERE id = 3")
    assert run("far.example", "--yes").exit_code == 0
    assert [one["account"] for one in promised(rows, "erase") if one.get("with_row")] == [2, 3, 4]


def test_a_rehearsal_counts_and_deletes_nothing(rows: Rows, run: Run) -> None:
    counted = json.loads(run("far.example", "--dry-run", "--json").stdout)
    assert (counted["accounts"], counted["statuses"], counted["emojis"], counted["dry_run"]) == (3, 3, 2, True)
    assert [one["domain"] for one in counted["domains"]] == ["far.example", "sub.far.example"]
    assert left(rows) == ["bob", "ann", "ben", "cid", "dan"]
    assert rows.run("SELECT FROM outbox") == rows.run("SELECT FROM audit_log") == []


@pytest.mark.parametrize(
    ("domain", "error"),
    [
        ("social.far.test", "social.far.test is the domain of this server."),
        ("far.test", "far.test is the domain of this server."),
        ("no domain", "'no domain' is not a domain."),
        ("other.example", "Nothing is kept of other.example."),
    ],
)
def test_another_domain_is_refused(rows: Rows, run: Run, domain: str, error: str) -> None:
    refused = run(domain, "--yes")
    assert (refused.exit_code, refused.stderr) == (2 if "is not a domain" in error else 1, f"Error: {error}\n")
    assert len(left(rows)) == 5
    assert rows.run("SELECT FROM audit_log") == []


def test_only_rows_of_deleted_accounts_of_other_servers_are_erased(rows: Rows, dsn: str) -> None:
    rows.run("UPDATE accounts SET deleted_at = now() WHERE id IN (1, 2)")
    erasable = [id for id in (1, 2, 3, 99) if transact_once(dsn, account_deletions.is_erasable, id)]
    assert erasable == [2]
