"""`troupe migrate`: its plan, its end by a kill, and databases that a newer version has migrated."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troupe.storage.engine.connect import LoneConnection, transact_once
from troupe.storage.engine.migrate import migrations
from troupe.supervision.commands import troupe

Run = Callable[..., Result]
PATIENCE = 60  # seconds
LAST = migrations()[-1]

# `troupe migrate` of a version that has one more step.
ONE_MORE = """
import sys
from troupe.storage.engine import migrate
from troupe.storage.engine.migrate import Migration
from troupe.supervision.commands import main

real, sql = migrate.migrations, sys.argv[1]
migrate.migrations = lambda: [*real(), Migration(len(real()) + 1, "one_more", sql)]
sys.argv = ["troupe", "migrate"]
main()
"""
QUICK = "CREATE TABLE half_made ();"
# Longer than the test. PostgreSQL looks whether its client is still there, as the embedded one does every 5 seconds.
SLOW = f"SET LOCAL client_connection_check_interval = '50ms'; {QUICK} SELECT pg_sleep(600);"
SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, bare_dsn: str, tmp_path: Path) -> Run:
    monkeypatch.setenv("TROUPE_DATABASE_URL", bare_dsn)
    return lambda *words: invoke(tmp_path, *words)


def invoke(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(troupe, [*words, "--data", str(folder / "data")])


def value(dsn: str, query: str) -> Any:
    return transact_once(dsn, fetch_value, query)


async def fetch_value(db: Any, query: str) -> Any:
    return await db.fetchval(query)


def test_a_plan_names_the_steps_and_changes_nothing(run: Run, bare_dsn: str) -> None:
    plan = json.loads(run("migrate", "--plan", "--json").stdout)
    assert [step["number"] for step in plan] == [step.number for step in migrations()]
    assert plan[-1] == {"number": LAST.number, "name": LAST.name, "meaning": LAST.meaning}
    assert value(bare_dsn, "SELECT to_regclass('schema_migrations')") is None
    assert run("migrate").exit_code == 0
    value(bare_dsn, "DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations)")
    assert run("migrate", "--plan").stdout == f"Would apply {LAST.number:04} {LAST.name}: {LAST.meaning}\n"


def test_without_a_database_the_plan_makes_none(monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path) -> None:
    monkeypatch.delenv("TROUPE_DATABASE_URL")
    assert run("migrate", "--plan").stdout.count("\n") == len(migrations())
    assert not (tmp_path / "data").exists()


def test_a_migration_that_is_killed_is_taken_back_and_the_next_run_goes_on(run: Run, bare_dsn: str) -> None:
    command = [sys.executable, "-c", ONE_MORE, SLOW]
    with (
        LoneConnection(bare_dsn, "test") as session,
        subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as killed,
    ):
        give_up_at = time.monotonic() + PATIENCE
        while not session(fetch_value, SLEEPING):
            assert killed.poll() is None, killed.communicate()
            assert time.monotonic() < give_up_at
            time.sleep(0.02)
        killed.kill()
    assert value(bare_dsn, "SELECT max(number) FROM schema_migrations") == LAST.number, "the steps before it stay"
    again = subprocess.run(
        [sys.executable, "-c", ONE_MORE, QUICK], env=os.environ, capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert again.stdout == f"Applied {LAST.number + 1:04} one_more\nThe schema is up to date.\n", again.stderr
    assert value(bare_dsn, "SELECT count(*) FROM half_made") == 0


@pytest.mark.parametrize(
    "words", [("serve", "--port", "1"), ("migrate",), ("migrate", "--plan"), ("accounts", "list"), ("backup",)]
)
def test_a_database_of_a_newer_version_is_refused(
    dsn: str, tmp_path: Path, words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    number = len(migrations()) + 1
    value(dsn, f"INSERT INTO schema_migrations (number, name, checksum) VALUES ({number}, 'later', 'x')")
    refused = invoke(tmp_path, *words, *([str(tmp_path / "backups")] if words == ("backup",) else []))
    assert refused.exit_code == 1
    told = refused.stderr + capfd.readouterr().err
    assert f"the database is at schema {number} (later), newer than the {number - 1} of this version of Troupe" in told
    assert "run the newer version, or restore a backup made before it" in told
