"""`troupe announcements`: what it stores, what it promises to tell, and what it refuses."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from troupe.storage import announcements
from troupe.storage.announcements import Announcement
from troupe.storage.engine.connect import transact_once
from troupe.supervision.commands import troupe

URL = "http://localhost:3000"


@pytest.fixture
def data(folder: tuple[Path, str]) -> Iterator[Path]:
    yield folder[0]
    transact_once(folder[1], lambda db: db.execute("TRUNCATE announcements, outbox CASCADE"))


@pytest.fixture
def dsn(folder: tuple[Path, str]) -> str:
    return folder[1]


def run(data: Path, *words: str) -> Result:
    return CliRunner().invoke(troupe, ["announcements", *words, "--data", str(data)])


def only(dsn: str) -> Announcement:
    (made,) = transact_once(dsn, announcements.find_all)
    return made


def promised(dsn: str) -> list[datetime]:
    query = "SELECT greatest(due_at, created_at) AS at FROM outbox ORDER BY due_at"
    return [row["at"] for row in transact_once(dsn, lambda db: db.fetch(query))]


def test_an_announcement_links_what_it_names_and_is_told_at_once(data: Path, dsn: str) -> None:
    CliRunner().invoke(
        troupe, ["accounts", "create", "ada", "--email", "ada@localhost", "--password", "x", "--data", str(data)]
    )
    transact_once(dsn, lambda db: db.execute("DELETE FROM outbox"))
    before = datetime.now(UTC)
    added = run(data, "add", "Hello @ada & @nobody, see #Tea")
    made = only(dsn)
    assert (added.exit_code, added.stdout) == (0, f"Added announcement {made.id}\n"), added.output
    assert [(one["acct"], one["url"]) for one in made.mentions] == [("ada", f"{URL}/@ada")]
    assert made.tags == ("tea",)
    assert "&amp;" in made.content
    assert f'href="{URL}/@ada"' in made.content
    assert "@nobody" in made.content
    assert made.is_shown(datetime.now(UTC))
    assert [before <= at <= datetime.now(UTC) for at in promised(dsn)] == [True]


def test_a_time_in_the_future_is_promised_for_then(data: Path, dsn: str) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    begins, ends = now + timedelta(days=1), now + timedelta(days=2)
    run(data, "add", "Soon", "--at", begins.isoformat(), "--ends", ends.isoformat())
    assert promised(dsn) == [begins, ends]
    assert "\tscheduled\tSoon\n" in run(data, "list").stdout


def test_whole_days_last_to_their_end_and_local_times_are_understood(data: Path, dsn: str) -> None:
    run(data, "add", "x", "--starts", "2026-12-24", "--ends", "2026-12-26", "--all-day", "--draft")
    made = only(dsn)
    assert made.starts_at == datetime(2026, 12, 24, tzinfo=UTC)
    assert made.ends_at == datetime(2026, 12, 26, 23, 59, 59, 999000, tzinfo=UTC)
    run(data, "remove", str(made.id), "--yes")
    run(data, "add", "x", "--starts", "2026-12-24T18:00:00+01:00", "--draft")
    assert only(dsn).starts_at == datetime(2026, 12, 24, 17, tzinfo=UTC)


def test_an_announcement_is_drafted_published_taken_back_and_removed(data: Path, dsn: str) -> None:
    run(data, "add", "x", "--draft")
    id = str(only(dsn).id)
    assert promised(dsn) == []
    for command, state, promises in (("publish", "shown", 1), ("unpublish", "draft", 2)):
        done = run(data, command, id)
        assert done.exit_code == 0, done.output
        assert run(data, "list").stdout == f"{id}\t{state}\tx\n"
        (listed,) = json.loads(run(data, "list", "--json").stdout)
        assert (listed["id"], listed["state"], listed["text"]) == (id, state, "x")
        assert len(promised(dsn)) == promises
    assert run(data, "remove", id, "--yes").exit_code == 0
    assert transact_once(dsn, announcements.find_all) == []
    assert len(promised(dsn)) == 3
    for words in (("publish", id), ("unpublish", id), ("remove", id, "--yes")):
        refused = run(data, *words)
        assert (refused.exit_code, refused.stderr) == (1, f"Error: there is no announcement {id}.\n")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((" ",), "the text has not 1 to 5000 characters"),
        (("x" * 5001,), "the text has not 1 to 5000 characters"),
        (("x", "--at", "tomorrow"), "'tomorrow' is not a time such as"),
        (("x", "--at", "0001-01-01T00:00:00+14:00"), "is not a time such as"),
        (("x", "--starts", "2026-12-24", "--ends", "2026-12-23"), "it ends before it starts"),
    ],
)
def test_what_cannot_be_announced_is_refused(data: Path, dsn: str, words: tuple[str, ...], reason: str) -> None:
    refused = run(data, "add", *words)
    assert refused.exit_code == 2
    assert reason in refused.stderr
    assert transact_once(dsn, announcements.find_all) == []


def test_each_act_is_in_the_audit_log(data: Path, dsn: str) -> None:
    assert run(data, "add", "Hello", "--draft").exit_code == 0
    id = str(only(dsn).id)
    for words in (("publish", id), ("unpublish", id), ("remove", id), ("remove", id, "--yes"), ("remove", id, "--yes")):
        run(data, *words)  # two are refused
    log = transact_once(
        dsn, lambda db: db.fetch("SELECT actor, action, target FROM audit_log WHERE target = $1 ORDER BY id", id)
    )
    acts = ("add", "publish", "unpublish", "remove")
    assert [tuple(row.values()) for row in log] == [("command line", f"{act}_announcement", id) for act in acts]
