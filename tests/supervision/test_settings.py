"""`troupe settings`: what is printed, stored and refused."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from troupe.storage.engine import cluster, lock_waits
from troupe.storage.engine.connect import LoneConnection, transact_once
from troupe.storage.engine.database import Connection
from troupe.supervision.commands import rows, troupe


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


def settings(data: Path, *words: str) -> Result:
    return CliRunner().invoke(troupe, ["settings", *words, "--data", str(data)])


def listed(data: Path, name: str) -> str:
    """The value and the source of a setting, as the list has them."""
    return next(line for line in settings(data, "list").stdout.splitlines() if line.startswith(f"{name}\t"))[
        len(name) + 1 :
    ]


def test_the_last_choice_comes_before_the_configuration(folder: tuple[Path, str], data: Path) -> None:
    assert listed(data, "registrations") == "open\tthe configuration says so"
    assert settings(data, "set", "registrations", "closed").stdout == "Changed registrations from 'open' to 'closed'\n"
    assert listed(data, "registrations") == "closed\tchosen by staff"
    settings(data, "set", "registrations", "approval")
    assert listed(data, "registrations") == "approval\tchosen by staff"
    assert transact_once(folder[1], logged)[-2:] == [
        ("command line", "change_setting", "registrations", {"before": before, "after": after})
        for before, after in (("open", "closed"), ("closed", "approval"))
    ]


def test_the_configuration_holds_again_after_a_reset(folder: tuple[Path, str], data: Path) -> None:
    before = len(transact_once(folder[1], logged))
    settings(data, "set", "registrations", "closed")
    assert settings(data, "reset", "registrations").stdout == "Changed registrations from 'closed' to 'open'\n"
    assert listed(data, "registrations") == "open\tthe configuration says so"
    assert [row[3] for row in transact_once(folder[1], logged)[before:]] == [
        {"before": "open", "after": "closed"},
        {"before": "closed", "after": "open"},
    ]


def test_sign_ups_stay_closed_where_no_mail_is_sent(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TROUPE_SMTP_HOST")
    said = "Sign-ups stay closed: there is no `smtp_host`, so no address can be confirmed."
    assert listed(data, "registrations") == f"open\tthe configuration says so; {said}"
    for words in (("approval", "--dry-run"), ("approval",)):
        assert settings(data, "set", "registrations", *words).stdout.splitlines()[1:] == [f"  {said}"]
    assert listed(data, "registrations") == f"approval\tchosen by staff; {said}"
    assert settings(data, "set", "registrations", "closed").stdout.count("\n") == 1
    assert listed(data, "registrations") == "closed\tchosen by staff"


@pytest.mark.parametrize(("name", "value"), [("registrations", "sometimes"), ("log_level", "loud")])
def test_a_value_that_a_setting_cannot_have_is_refused(data: Path, name: str, value: str) -> None:
    before = settings(data, "list").stdout
    assert settings(data, "set", name, value).exit_code == 2
    assert settings(data, "list").stdout == before


def test_the_level_of_the_log_is_chosen_and_logged_like_other_settings(folder: tuple[Path, str], data: Path) -> None:
    before = len(transact_once(folder[1], logged))
    assert settings(data, "set", "log-level", "error").stdout == "Changed log_level from 'info' to 'error'\n"
    assert settings(data, "reset", "log_level").stdout == "Changed log_level from 'error' to 'info'\n"
    assert [row[3] for row in transact_once(folder[1], logged)[before:]] == [
        {"before": "info", "after": "error"},
        {"before": "error", "after": "info"},
    ]


def test_a_dry_run_says_what_a_change_will_affect_and_changes_nothing(folder: tuple[Path, str], data: Path) -> None:
    before = transact_once(folder[1], logged)
    said = settings(data, "set", "registrations", "closed", "--dry-run")
    assert said.stdout.splitlines()[:2] == [
        "Would change registrations from 'open' to 'closed'",
        "  People sign up with an invite alone. Sign-up pages say so at once.",
    ]
    same = settings(data, "set", "registrations", "open", "--dry-run")
    assert "Nothing: it is so already." in same.stdout
    assert transact_once(folder[1], logged) == before
    assert listed(data, "registrations") == "open\tthe configuration says so"


def test_settings_are_set_listed_and_reset(data: Path) -> None:
    assert settings(data, "set", "search-results", "25").stdout == "Changed search_results from '40' to '25'\n"
    assert "search_results\t25\tchosen by staff" in settings(data, "list").stdout
    assert "title\tTroupe\tthe configuration says so" in settings(data, "list").stdout
    assert settings(data, "reset", "search_results").stdout == "Changed search_results from '25' to '40'\n"
    assert "search_results\t40\tthe configuration says so" in settings(data, "list").stdout
    lines = settings(data, "history", "search_results").stdout.splitlines()
    assert [line.split("\t")[1:] for line in lines[:2]] == [
        ["command line", "search_results", "25 -> 40"],
        ["command line", "search_results", "40 -> 25"],
    ]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("search_results", "0", "search_results is a number from 1 to 200."),
        ("search_results", "9" * 30, "search_results is a number from 1 to 200."),
        ("title", "", "title is a text of 1 to 200 characters."),
        ("title", "a\nb", "title is a text of 1 to 200 characters."),
        ("public_preview", "perhaps", "public_preview is true or false."),
        ("contact_email", "nobody", "contact_email is an e-mail address, or empty."),
        ("contact_account", "@ada", "contact_account is the name of an account of this server, or empty."),
        ("port", "80", "port can't change while the server runs. Those that can: registrations,"),
    ],
)
def test_what_a_setting_can_not_be_is_refused(data: Path, name: str, value: str, text: str) -> None:
    refused = settings(data, "set", name, value)
    assert refused.exit_code != 0
    assert text in refused.stderr


def test_a_command_that_waits_for_a_lock_says_for_whose(
    folder: tuple[Path, str], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_waits, "REPORT_AFTER", 0.0)
    monkeypatch.setattr(lock_waits, "LOOK_EVERY", 0.05)
    with LoneConnection(folder[1]) as other, held_until_said(other, monkeypatch) as said:
        assert settings(data, "set", "search_results", "30").exit_code == 0
    assert said[0].startswith("Waiting for another command, which holds a lock of the database (process ")
    assert len(said) == 1


@contextmanager
def held_until_said(other: LoneConnection, monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """Hold the turn of the commands until one has said that it waits."""
    said, is_said = list[str](), threading.Event()

    def hear(text: str) -> None:
        said.append(text)
        is_said.set()

    monkeypatch.setattr(lock_waits, "say", hear)
    other(take_turn)

    def let_go() -> None:
        is_said.wait(20)
        other(give_up_turn)

    thread = threading.Thread(target=let_go)
    thread.start()
    yield said
    thread.join(20)


async def take_turn(db: Connection) -> None:
    await db.execute(rows.ALL_TURNS)


async def give_up_turn(db: Connection) -> None:
    await db.execute("SELECT pg_advisory_unlock_all()")


def test_a_program_that_waits_for_a_lock_file_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lock_waits, "REPORT_AFTER", 0.0)
    is_said, real = threading.Event(), lock_waits.say

    def say(text: str) -> None:
        real(text)
        is_said.set()

    monkeypatch.setattr(lock_waits, "say", say)
    with cluster.locked(tmp_path / "lock"):
        thread = threading.Thread(target=take_and_leave, args=(tmp_path / "lock",))
        thread.start()
        assert is_said.wait(20)
    thread.join(20)
    assert capsys.readouterr().err == f"Waiting for another program, which starts or stops PostgreSQL in {tmp_path}.\n"


def take_and_leave(lock: Path) -> None:
    with cluster.locked(lock):
        pass
