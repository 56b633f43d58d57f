"""`troupe reports` and `troupe statuses vacuum`, over a real database."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troupe.actors.kernel import Ids, SystemClock
from troupe.storage import deletions, reports, statuses, users
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.reports import NewReport
from troupe.storage.statuses import NewStatus
from troupe.supervision.commands import troupe

NEW = Ids(SystemClock()).next
LONG_AGO = datetime.now(UTC) - timedelta(days=31)


@pytest.fixture(scope="module")
def data(folder: tuple[Path, str]) -> Path:
    for name, role in (("mod", "moderator"), ("ada", "user"), ("bob", "user")):
        words = ("accounts", "create", name, "--email", f"{name}@localhost", "--password", "x", "--role", role)
        run(folder[0], *words, "--confirmed", "--approved")
    return folder[0]


@pytest.fixture
def dsn(folder: tuple[Path, str]) -> str:
    return folder[1]


def run(data: Path, *words: str) -> Result:
    return CliRunner().invoke(troupe, [*words, "--data", str(data)])


def answer(data: Path, *words: str) -> Any:
    result = run(data, *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def account(dsn: str, name: str) -> int:
    user = transact_once(dsn, users.find_user_by_login, f"{name}@localhost")
    assert user is not None
    return user.account_id


@pytest.fixture
def status(dsn: str) -> int:
    """A post of bob, deleted long ago."""
    id, bob = NEW(), account(dsn, "bob")
    new = NewStatus(id, bob, f"s{id}", None, "public", content="<p>look at this</p>")
    transact_once(dsn, statuses.insert, new, LONG_AGO)
    transact_once(dsn, deletions.soft_delete, id, bob, LONG_AGO, NEW)
    return id


@pytest.fixture
def report(dsn: str, status: int) -> str:
    """A report of ada about bob."""
    new = NewReport(NEW(), account(dsn, "ada"), account(dsn, "bob"), (status,), None, "spam", "It\nis spam.")
    transact_once(dsn, reports.insert, new, datetime.now(UTC))
    return str(new.id)


def test_reports_are_listed_and_shown(data: Path, report: str, status: int) -> None:
    assert f"{report}  open  spam  @bob by @ada  It is spam.\n" in run(data, "reports", "list").stdout
    assert [one["id"] for one in answer(data, "reports", "list", "--about", "bob", "--limit", "1")] == [report]
    assert answer(data, "reports", "list", "--by", "bob") == []
    assert answer(data, "reports", "list", "--about", "bob", "--resolved", "--limit", "1") != [report]
    shown = answer(data, "reports", "show", report)
    assert (shown["by"], shown["about"], shown["resolved"]) == ("ada", "bob", False)
    assert shown["posts"][0] | {"url": ""} == {
        "id": str(status), "url": "", "warning": "", "text": "look at this", "deleted": True,
    }  # fmt: skip
    assert f"post {status}  deleted  look at this" in run(data, "reports", "show", report).stdout


def test_a_report_is_handled_at_the_command_line(data: Path, dsn: str, report: str) -> None:
    assert run(data, "reports", "assign", report, "mod").stdout == f"Assigned report {report}\n"
    assert run(data, "reports", "note", report, "Asked ada.").stdout == f"Wrote a note on report {report}\n"
    assert run(data, "reports", "resolve", report).stdout == f"Resolved report {report}\n"
    shown = answer(data, "reports", "show", report)
    assert (shown["assigned_to"], shown["resolved"], shown["resolved_by"]) == ("mod", True, None)
    assert [(one["by"], one["content"]) for one in shown["notes"]] == [("command line", "Asked ada.")]
    assert "Asked ada." in run(data, "reports", "show", report).stdout
    assert answer(data, "reports", "reopen", report)["resolved"] is False
    assert answer(data, "reports", "assign", report)["assigned_to"] is None
    acts = [row["action"] for row in transact_once(dsn, _log, int(report))]
    assert acts == ["assign", "note", "resolve", "reopen", "unassign"]


async def _log(db: Connection, report: int) -> Any:
    return await db.fetch("SELECT action FROM audit_log WHERE target_id = $1 ORDER BY id", report)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("reports", "show", "1"), "there is no report 1"),
        (("reports", "resolve", "1"), "there is no report 1"),
        (("reports", "list", "--by", "nobody"), "there is no account nobody"),
    ],
)
def test_what_is_not_there_is_refused(data: Path, words: tuple[str, ...], text: str) -> None:
    result = run(data, *words)
    assert result.exit_code == 1
    assert text in result.stderr


def test_only_staff_is_assigned_and_notes_have_a_length(data: Path, report: str) -> None:
    refused = run(data, "reports", "assign", report, "ada")
    assert (refused.exit_code, "may not handle reports" in refused.stderr) == (1, True)
    for text, why in (("", "can't be blank"), ("x" * 2001, "is too long (maximum is 2000 characters)")):
        refused = run(data, "reports", "note", report, text)
        assert (refused.exit_code, why in refused.stderr) == (1, True)
    assert answer(data, "reports", "show", report)["notes"] == []


def test_the_vacuum_keeps_what_reports_name(data: Path, dsn: str, report: str, status: int) -> None:
    run(data, "statuses", "vacuum")
    assert list(transact_once(dsn, statuses.find_stored, [status])) == [status]
    run(data, "reports", "resolve", report)
    counted = answer(data, "statuses", "vacuum", "--dry-run")
    assert counted["erased"] >= 1
    assert counted["dry_run"]
    assert list(transact_once(dsn, statuses.find_stored, [status])) == [status]
    assert answer(data, "statuses", "vacuum") == counted | {"dry_run": False}
    assert transact_once(dsn, statuses.find_stored, [status]) == {}
    assert answer(data, "statuses", "vacuum", "--dry-run")["erased"] == 0
