"""`troupe settings`: what is printed, stored and refused."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.supervision.commands import troupe


@pytest.fixture
def data(folder: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder in which no setting was changed, of a server that sends mail and whose sign-ups are open."""
    path, dsn = folder
    transact_once(dsn, clear)
    monkeypatch.setenv("TROUPE_REGISTRATIONS", "open")
    monkeypatch.setenv("TROUPE_SMTP_HOST", "localhost")
    return path


async def clear(db: Connection) -> None:
    await db.execute("DELETE FROM changed_settings")


async def logged(db: Connection) -> list[tuple[object, ...]]:
    rows = await db.fetch("SELECT actor, action, target, details FROM audit_log ORDER BY id")
    return [tuple(row.values()) for row in rows]


def registrations(data: Path, *words: str) -> Result:
    return CliRunner().invoke(troupe, ["settings", "registrations", "--data", str(data), *words])


def test_the_last_choice_comes_before_the_configuration(folder: tuple[Path, str], data: Path) -> None:
    assert registrations(data).stdout == "open: the configuration says so\n"
    assert registrations(data, "closed").stdout == "closed: chosen by staff\n"
    assert registrations(data, "approval").stdout == "approval: chosen by staff\n"
    assert registrations(data).stdout == "approval: chosen by staff\n"
    assert transact_once(folder[1], logged)[-2:] == [
        ("command line", "change_setting", "registrations", {"value": value}) for value in ("closed", "approval")
    ]


def test_the_configuration_holds_again_after_a_reset(folder: tuple[Path, str], data: Path) -> None:
    before = len(transact_once(folder[1], logged))
    registrations(data, "closed")
    assert registrations(data, "--reset").stdout == "open: the configuration says so\n"
    assert registrations(data).stdout == "open: the configuration says so\n"
    assert [row[3] for row in transact_once(folder[1], logged)[before:]] == [{"value": "closed"}, {"value": None}]
    assert registrations(data, "closed", "--reset").exit_code == 2


def test_sign_ups_stay_closed_where_no_mail_is_sent(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TROUPE_SMTP_HOST")
    said = "closed: there is no `smtp_host`, so no address can be confirmed"
    assert registrations(data).stdout == f"{said} (open: the configuration says so)\n"
    assert registrations(data, "approval").stdout == f"{said} (approval: chosen by staff)\n"
    assert registrations(data, "closed").stdout == "closed: chosen by staff\n"
    assert registrations(data, "open").stdout == f"{said} (open: chosen by staff)\n"
    monkeypatch.setenv("TROUPE_SMTP_HOST", "localhost")
    assert registrations(data).stdout == "open: chosen by staff\n"


def test_another_rule_is_refused(data: Path) -> None:
    assert registrations(data, "sometimes").exit_code == 2
    assert registrations(data).stdout == "open: the configuration says so\n"


def log_level(data: Path, *words: str) -> Result:
    return CliRunner().invoke(troupe, ["settings", "log-level", "--data", str(data), *words])


def test_the_level_of_the_log_is_chosen_and_logged_like_other_settings(folder: tuple[Path, str], data: Path) -> None:
    before = len(transact_once(folder[1], logged))
    assert log_level(data).stdout == "info: the configuration says so\n"
    assert log_level(data, "error").stdout == "error: chosen by staff\n"
    assert log_level(data, "--reset").stdout == "info: the configuration says so\n"
    assert [row[3] for row in transact_once(folder[1], logged)[before:]] == [{"value": "error"}, {"value": None}]
    assert log_level(data, "error", "--reset").exit_code == 2
    assert log_level(data, "loud").exit_code == 2
