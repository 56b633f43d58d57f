"""`troupe accounts merge`: what becomes the other account's, what is dropped, and what is refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troupe.supervision.commands import troupe

from .foreign import Rows

Run = Callable[..., Result]

OLD, NEW, BOB, EVE, FAR = 2, 3, 1, 4, 5


@pytest.fixture
def rows(made: Rows) -> Rows:
    """Two accounts of one person, `old` and `new`, another one of their server, and bob and eve of this one."""
    made.account(BOB, "bob", None)
    made.account(OLD, "old", "far.example", f"{'a' * 32}.png")
    made.account(NEW, "new", "far.example")
    made.account(EVE, "eve", None)
    made.account(FAR, "far", "far.example")
    return made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, dsn: str) -> Run:
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    return lambda *words: CliRunner().invoke(troupe, ["accounts", "merge", *words])


def merged(run: Run) -> dict[str, Any]:
    done = run("old@far.example", "@new@far.example", "--yes", "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def counts(rows: Rows, account: int) -> tuple[int, int, int]:
    ((statuses, followers, following),) = rows.run(
        "SELECT statuses, followers, following FROM account_counts WHERE account_id = $1", account
    )
    return statuses, followers, following


def insert(rows: Rows, table: str, **values: object) -> None:
    names, numbers = ", ".join(values), ", ".join(f"${number}" for number in range(1, len(values) + 1))
    rows.run(f"INSERT INTO {table} ({names}, created_at) VALUES ({numbers}, now())", *values.values())


def test_posts_and_follows_become_the_others(rows: Rows, run: Run) -> None:
    rows.status(11, OLD)
    rows.status(12, BOB, reply_to=11)
    rows.status(13, NEW)
    rows.follow(21, BOB, OLD)
    rows.follow(22, OLD, EVE)
    rows.favourite(31, BOB, 11)
    answer = merged(run)
    assert answer["moved"] == {"follows": 2, "statuses": 2}, "one of the statuses is an answer"
    assert (answer["from"], answer["to"], answer["dropped"]) == ("old@far.example", "new@far.example", {})
    assert rows.run("SELECT id FROM accounts WHERE id = $1", OLD) == []
    assert rows.run("SELECT id, account_id FROM statuses ORDER BY id") == [(11, NEW), (12, BOB), (13, NEW)]
    assert rows.run("SELECT in_reply_to_account_id FROM statuses WHERE id = 12") == [(NEW,)]
    assert rows.run("SELECT account_id, target_account_id, from_domain FROM follows ORDER BY id") == [
        (BOB, NEW, None), (NEW, EVE, "far.example"),
    ]  # fmt: skip
    assert (counts(rows, NEW), counts(rows, BOB), counts(rows, EVE)) == ((2, 1, 1), (1, 0, 1), (0, 1, 0))
    assert rows.run("SELECT favourites FROM status_counts WHERE status_id = 11") == [(1,)]


def test_what_the_other_has_already_is_dropped_and_counted_once(rows: Rows, run: Run) -> None:
    rows.status(11, BOB)
    for id, account in ((21, OLD), (22, NEW)):
        rows.follow(id, BOB, account)
        rows.follow(id + 10, account, EVE)
        rows.favourite(id + 20, account, 11)
        rows.status(id + 30, account, reblog_of=11)
        insert(rows, "lists", id=id + 40, account_id=BOB, title="x")
        insert(rows, "list_accounts", id=id + 50, list_id=61, account_id=account)
        rows.run("INSERT INTO mentions (status_id, account_id) VALUES (11, $1)", account)
        insert(rows, "notifications", id=id + 60, account_id=BOB, from_account_id=account, type="follow")
        rows.run("INSERT INTO notification_requests VALUES ($1, $2, $3, now(), now())", id + 70, BOB, account)
    rows.run("UPDATE statuses SET mentioned_ids = ARRAY[2, 3]::bigint[] WHERE id = 11")
    rows.run(
        "INSERT INTO users (account_id, email, accepted_sender_ids, created_at) VALUES (1, 'b@x', '{2, 4}', now())"
    )
    rows.run("INSERT INTO status_words SELECT 11, array_to_tsvector(ARRAY['@1', '~2', '~3', 'tea'])")
    rows.run("INSERT INTO status_words SELECT 52, array_to_tsvector(ARRAY['@2'])")
    assert merged(run)["dropped"] == {
        "favourites": 1, "follows": 2, "list_accounts": 1, "mentions": 1, "notification_requests": 1,
        "notifications": 1, "statuses": 1,
    }  # fmt: skip
    assert (counts(rows, NEW), counts(rows, BOB), counts(rows, EVE)) == ((1, 1, 1), (1, 0, 1), (0, 1, 0))
    assert rows.run("SELECT favourites, reblogs FROM status_counts WHERE status_id = 11") == [(1, 1)]
    assert rows.run("SELECT id, mentioned_ids FROM statuses ORDER BY id") == [(11, [NEW]), (52, [])]
    assert rows.run("SELECT accepted_sender_ids FROM users") == [([NEW, EVE],)]
    assert rows.run("SELECT words::text FROM status_words WHERE status_id = 11") == [("'@1' 'tea' '~3'",)]
    for table in ("follows WHERE account_id = 1", "favourites", "list_accounts", "mentions", "notifications"):
        assert len(rows.run(f"SELECT FROM {table}")) == 1, table


def test_nobody_follows_themselves_afterwards_or_an_account_that_they_block(rows: Rows, run: Run) -> None:
    rows.follow(21, OLD, NEW)
    rows.follow(22, NEW, OLD)
    rows.follow(23, BOB, NEW)
    insert(rows, "blocks", id=24, account_id=BOB, target_account_id=OLD)
    rows.follow(25, EVE, NEW)
    insert(rows, "follow_requests", id=26, account_id=EVE, target_account_id=OLD)
    merged(run)
    assert rows.run("SELECT id FROM follows") == [(25,)]
    assert rows.run("SELECT account_id, target_account_id FROM blocks") == [(BOB, NEW)]
    assert rows.run("SELECT FROM follow_requests") == []
    assert (counts(rows, NEW), counts(rows, BOB), counts(rows, EVE)) == ((0, 1, 0), (0, 0, 0), (0, 0, 1))


def test_a_decision_about_both_as_authors_of_trends_is_kept_once(rows: Rows, run: Run) -> None:
    for account in (OLD, NEW):
        rows.run("INSERT INTO author_reviews VALUES ($1, $2, now())", account, account == NEW)
    assert merged(run)["dropped"] == {"author_reviews": 1}
    assert rows.run("SELECT account_id, trendable FROM author_reviews") == [(NEW, True)]


def test_a_person_votes_once(rows: Rows, run: Run) -> None:
    for poll in (41, 51):
        insert(rows, "polls", id=poll, account_id=BOB, voters_count=2 if poll == 41 else 1)
        for position in (0, 1):
            rows.run("INSERT INTO poll_options VALUES ($1, $2, 'x', 1)", poll, position)
    for id, poll, position, account in ((42, 41, 0, OLD), (43, 41, 1, NEW), (52, 51, 0, OLD), (53, 51, 1, OLD)):
        insert(rows, "poll_votes", id=id, poll_id=poll, position=position, account_id=account)
    merged(run)
    assert rows.run("SELECT id, voters_count FROM polls ORDER BY id") == [(41, 1), (51, 1)]
    assert rows.run("SELECT poll_id, position, votes FROM poll_options ORDER BY poll_id, position") == [
        (41, 0, 0), (41, 1, 1), (51, 0, 1), (51, 1, 1),
    ]  # fmt: skip
    assert rows.run("SELECT id, account_id FROM poll_votes ORDER BY id") == [(43, NEW), (52, NEW), (53, NEW)]


def test_conversations_with_both_are_joined(rows: Rows, run: Run) -> None:
    for status in (11, 12, 13):
        rows.status(status, BOB)
    columns = "(id, account_id, conversation_id, participant_ids, last_status_id, first_status_id, unread)"
    for id, conversation, people, last in (
        (1, 7, [OLD], 12),
        (2, 7, [NEW], 11),
        (3, 7, [OLD, NEW], 13),
        (4, 8, [OLD], 11),
    ):
        rows.run(f"INSERT INTO account_conversations {columns} VALUES ($1, 1, $2, $3, $4, 11, $5)",
                 id, conversation, people, last, id == 3)  # fmt: skip
    merged(run)
    assert rows.run(
        "SELECT id, conversation_id, participant_ids, last_status_id, unread FROM account_conversations ORDER BY id"
    ) == [(2, 7, [NEW], 13, True), (4, 8, [NEW], 11, False)]


def test_the_act_is_logged_and_the_server_is_told(rows: Rows, run: Run) -> None:
    rows.follow(21, BOB, OLD)
    insert(rows, "mutes", id=22, account_id=EVE, target_account_id=OLD)
    rows.follow(23, FAR, OLD)
    merged(run)
    ((action, target, details),) = rows.run("SELECT action, target, details FROM audit_log")
    assert (action, target, details["into"]) == ("merge_account", "old@far.example", "new@far.example")
    promised = dict(rows.run("SELECT kind, payload FROM outbox"))
    assert promised["relation"]["accounts"] == [NEW, BOB, EVE]
    assert promised["moderated_domain"]["domain"] == "far.example"
    assert promised["files"]["names"] == [f"{'a' * 32}.png"]


def test_a_rehearsal_counts_and_changes_nothing(rows: Rows, run: Run) -> None:
    rows.status(11, OLD)
    done = run("old@far.example", "new@far.example", "--dry-run")
    assert done.stdout == "Would merge @old@far.example into @new@far.example\nstatuses\t1 moved\t0 dropped\n"
    assert rows.run("SELECT account_id FROM statuses") == [(OLD,)]
    assert rows.run("SELECT FROM audit_log") == rows.run("SELECT FROM outbox") == []


@pytest.mark.parametrize(
    ("names", "error"),
    [
        (("bob", "new@far.example"), "@bob is an account of this server."),
        (("old@far.example", "bob"), "@bob is an account of this server."),
        (("old@far.example", "OLD@far.example"), "@old@far.example and @old@far.example are one account already."),
        (("none@far.example", "new@far.example"), "there is no account none@far.example."),
    ],
)
def test_other_accounts_are_refused(rows: Rows, run: Run, names: tuple[str, str], error: str) -> None:
    refused = run(*names, "--yes")
    assert (refused.exit_code, refused.stderr) == (1, f"Error: {error}\n")
    assert len(rows.run("SELECT FROM accounts")) == 5
