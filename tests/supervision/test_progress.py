"""Long work of commands: a bar for terminals alone, and an end by Ctrl-C that says what was done and how to go on."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from troupe.supervision.commands import account_upkeep, progress, troupe
from troupe.supervision.commands.progress import CommandInterrupted

from .foreign import Rows

Run = Callable[..., Result]
TROUPE = (sys.executable, "-c", "from troupe.supervision.commands import main; main()")
PATIENCE = 60  # seconds
CARD = """
    INSERT INTO preview_cards (id, url, found, image_file, image_size, fetched_at)
    VALUES ($1::bigint, 'https://news.test/' || $1::bigint, true, $1 || '.png', 4, now() - $2::interval)
"""


@pytest.fixture
def rows(made: Rows) -> Rows:
    """Two of each that a command works on."""
    for id, name in ((2, "ann"), (3, "ben")):
        made.account(id, name, "far.example")
        made.run("UPDATE accounts SET fetched_at = now() - interval '25 hours' WHERE id = $1", id)
        made.account(id + 10, name, None)
        made.run("UPDATE accounts SET private_key = 'secret', public_key = 'known' WHERE id = $1", id + 10)
        made.status(id + 20, 12)
        made.run("UPDATE statuses SET deleted_at = now() - interval '31 days' WHERE id = $1", id + 20)
        made.run(CARD, id + 30, timedelta(days=9))
    return made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, dsn: str, tmp_path: Path) -> Run:
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    monkeypatch.setattr(account_upkeep, "AT_ONCE", 1)
    monkeypatch.setattr("troupe.actors.housekeeping.expiry.BATCH", 1)
    monkeypatch.setattr("troupe.supervision.commands.domain_purges.ACCOUNTS_AT_ONCE", 1)
    return lambda *words: CliRunner().invoke(troupe, [*words, "--data", str(tmp_path / "data")])


@contextmanager
def interrupted_bar(label: str, total: int | None, in_bytes: bool) -> Generator[progress.Update]:
    """As if Ctrl-C were pressed after the first batch."""

    def update(more: int) -> None:
        raise KeyboardInterrupt

    yield update


@pytest.mark.parametrize(
    ("words", "told", "left"),
    [
        (
            ("accounts", "refresh", "--all-stale", "--domain", "here.test"),
            "Interrupted after 1 of 2 accounts. The server does these. Run the same command again for the others.",
            "SELECT 2 - count(*) FROM outbox WHERE kind = 'refresh'",
        ),
        (
            ("accounts", "rotate-keys", "--all", "--domain", "here.test"),
            "Interrupted after 1 of 2 accounts. The server does these. Run the same command again for the others.",
            "SELECT 2 - count(*) FROM outbox WHERE kind = 'rotate_key'",
        ),
        (
            ("domains", "purge", "far.example", "--yes", "--domain", "here.test"),
            "Interrupted after 1 of 2 accounts. These are deleted. Run the same command again for the others.",
            "SELECT count(*) FROM accounts WHERE domain = 'far.example' AND deleted_at IS NULL",
        ),
        (
            ("statuses", "vacuum"),
            "Interrupted after 1 of 2 posts. These are erased. Run the same command again for the others.",
            "SELECT count(*) FROM statuses",
        ),
    ],
)
def test_what_is_interrupted_says_what_was_done_and_the_next_run_does_the_rest(
    rows: Rows, run: Run, words: tuple[str, ...], told: str, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(progress, "_bar", interrupted_bar)
        ended = run(*words)
    assert (ended.exit_code, ended.stderr) == (130, f"Error: {told}\n")
    assert rows.run(left) == [(1,)]
    again = run(*words)
    assert (again.exit_code, again.stderr) == (0, "")
    assert rows.run(left) == [(0,)]


def test_media_are_removed_in_batches_and_what_was_done_is_logged(
    rows: Rows, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("troupe.actors.media.cleaning.CLEANED_AT_ONCE", 1)
    with monkeypatch.context() as patch:
        patch.setattr(progress, "_bar", interrupted_at_second)
        ended = run("media", "remove", "--days", "7")
    told = "Error: Interrupted after 1 row. These are removed. Run the same command again for the others.\n"
    assert (ended.exit_code, ended.stderr) == (130, told)
    assert len(rows.run("SELECT FROM preview_cards")) == 1
    assert rows.run("SELECT details->>'cards in no post' FROM audit_log ORDER BY id") == [(None,), ("1",)]
    assert "Removed 1 card in no post" in run("media", "remove", "--days", "7").stdout
    assert rows.run("SELECT FROM preview_cards") == []


@contextmanager
def interrupted_at_second(label: str, total: int | None, in_bytes: bool) -> Generator[progress.Update]:
    """As if Ctrl-C were pressed when something was removed."""

    def update(more: int) -> None:
        if more:
            raise KeyboardInterrupt

    yield update


def test_an_import_that_is_interrupted_makes_no_account(
    rows: Rows, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "people"
    file.write_text(json.dumps({"username": "new", "email": "new@example.org", "password": "x"}))
    monkeypatch.setattr(progress, "_bar", interrupted_bar)
    ended = run("accounts", "import", str(file))
    assert (ended.exit_code, "No account was made." in ended.stderr) == (130, True)
    assert rows.run("SELECT FROM accounts WHERE username = 'new'") == []


def test_a_bar_is_for_terminals_alone_and_leaves_the_output_as_it_is(rows: Rows, dsn: str, tmp_path: Path) -> None:
    words = ("accounts", "refresh", "--all-stale", "--json", "--domain", "here.test")
    plain = command(dsn, tmp_path, *words)
    assert plain.stderr == b""
    rows.run("DELETE FROM outbox")
    terminal, other_end = pty.openpty()
    shown = command(dsn, tmp_path, *words, stderr=other_end)
    os.close(other_end)
    assert json.loads(shown.stdout) == json.loads(plain.stdout)
    assert b"Asking the server to fetch accounts" in os.read(terminal, 10_000)
    os.close(terminal)


def command(dsn: str, folder: Path, *words: str, stderr: int = subprocess.PIPE) -> "subprocess.CompletedProcess[bytes]":
    environment = os.environ | {"TROUPE_DATABASE_URL": dsn, "TERM": "xterm"}
    return subprocess.run(
        [*TROUPE, *words, "--data", str(folder / "data")],
        env=environment, stdout=subprocess.PIPE, stderr=stderr, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_what_is_done_is_known_when_the_text_is_made() -> None:
    def work() -> None:
        done: list[int] = []
        with progress.progress("Posts", 9, lambda: f"Go on after {done[-1]}.", things="posts") as update:
            update(3)
            done.append(3)
            raise KeyboardInterrupt

    with pytest.raises(CommandInterrupted, match=r"^Interrupted after 3 of 9 posts. Go on after 3.$"):
        work()
