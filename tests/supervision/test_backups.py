"""`troupe backup` and `troupe restore`, between databases: what is in a backup, what is refused, what goes on."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troupe.actors.kernel.clock import BELOW_MILLISECONDS
from troupe.storage.engine import transfer
from troupe.storage.engine.clients import ClientFailed, RunningPsql
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.migrate import migrations
from troupe.storage.upkeep import copies
from troupe.storage.upkeep.highest import highest_id
from troupe.supervision.backups import making, restoring
from troupe.supervision.backups.folder import BackupFolder
from troupe.supervision.commands import troupe

from ..buckets import new_bucket
from ..small_disks import fill, small_disk
from .foreign import Rows

Run = Callable[..., Result]

ATTACHMENT = """
    INSERT INTO media_attachments (id, account_id, type, state, file, file_size, node, created_at, updated_at)
    VALUES ($1, $2, 'image', $3::text, $4, 1, CASE WHEN $3::text = 'waiting' THEN 'main' END, now(), now())
"""
COPY = """
    INSERT INTO remote_files (url, made, file, size, fetched_at, used_at) VALUES ($1, 'image', $2, 5, now(), now())
"""
PATIENCE = 60  # seconds

# Kills the command while pg_dump writes: its statements are as long as the test wants.
KILLED = """
import os, signal, sys
from troupe.supervision.backups import making
from troupe.supervision.commands import main

def copied(source, target, update):
    target.write(source.read(1000))
    target.flush()
    os.kill(os.getpid(), signal.SIGKILL)

making.copied = copied
sys.argv = ["troupe", *sys.argv[1:]]
main()
"""

KILLED_BEFORE_COMMIT = """
import os, signal, sys
from troupe.storage.engine.clients import RunningPsql
from troupe.supervision.commands import main

put = RunningPsql.put

def put_or_die(self, piece):
    if b"COMMIT" in piece[-100:]:
        self._input.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    put(self, piece)

RunningPsql.put = put_or_die
sys.argv = ["troupe", *sys.argv[1:]]
main()
"""


def name(letter: str) -> str:
    return f"{letter * 32}.png"


def write(data: Path, path: str, text: str = "x") -> str:
    (data / path).parent.mkdir(parents=True, exist_ok=True)
    (data / path).write_text(text)
    return path


def media(letter: str) -> str:
    return f"media/{letter * 2}/{name(letter)}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder of a server with one of each kind of file."""
    data = tmp_path / "data"
    for letter in "abcdef":
        write(data, media(letter), letter * 100)
    write(data, f"media/withheld/99/{name('9')}", "withheld")
    write(data, "media/waiting/14", "a film")
    write(data, "media/incoming/main/abc/source", "unfinished")
    write(data, media("8"), "no row names it")
    write(data, "vapid.pem", "a key")
    write(data, "base_url", "https://here.test\n")
    write(data, "texts/terms/2026-12-01.md", "Terms")
    write(data, "running-main", "a process")
    write(data, "postgres.lock", "")
    return data


@pytest.fixture
def rows(made: Rows, data: Path) -> Rows:
    """Rows that name those files."""
    made.account(1, "bob", None, name("a"))
    made.account(2, "eve", None)
    made.account(3, "far", "far.example")
    made.run("UPDATE accounts SET suspended_at = now(), header_file = $1 WHERE id = 2", name("9"))
    made.run(ATTACHMENT, 11, 1, "ready", name("b"))
    made.run(ATTACHMENT, 14, 1, "waiting", None)
    made.run(
        "INSERT INTO preview_cards (id, url, found, image_file, image_size, fetched_at)"
        " VALUES (15, 'https://news.test/', true, $1, 4, now())",
        name("c"),
    )
    made.emoji(16, "cat", "far.example", name("d"))
    made.run(COPY, "https://far.example/a", name("e"))
    made.run(COPY, "https://far.example/b", name("f"))
    made.run("SELECT setval('relation_stamp', 7)")
    return made


NAMED = {*(media(letter) for letter in "abcdef"), f"media/withheld/99/{name('9')}", "media/waiting/14"}
OTHERS = {"vapid.pem", "base_url", "texts/terms/2026-12-01.md"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the backups are."""
    return tmp_path / "backups"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, dsn: str, data: Path) -> Run:
    """A command on the server."""
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    return lambda *words: CliRunner().invoke(troupe, [*map(str, words), "--data", str(data)])


@pytest.fixture
def restore(monkeypatch: pytest.MonkeyPatch, bare_dsn: str, place: Path, tmp_path: Path) -> Run:
    """`troupe restore` into the folder `new` and a database with nothing in it."""

    def call(*words: str) -> Result:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TROUPE_DATABASE_URL", bare_dsn)
            return CliRunner().invoke(troupe, ["restore", str(place), *words, "--data", str(tmp_path / "new")])

    return call


def ok(result: Result) -> Result:
    assert result.exit_code == 0, result.output
    return result


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def table_rows(dsn: str) -> dict[str, list[str]]:
    """Every row of every table as text, but those of `node`."""

    async def read(db: Any) -> dict[str, list[str]]:
        tables = [row[0] for row in await db.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        return {
            table: sorted(row[0] for row in await db.fetch(f'SELECT whole::text FROM "{table}" whole'))
            for table in tables
            if table != "node"
        }

    return transact_once(dsn, read)


def test_a_restored_server_has_every_row_and_every_file_that_a_row_names(
    rows: Rows, run: Run, restore: Run, place: Path, data: Path, dsn: str, bare_dsn: str
) -> None:
    made = json.loads(ok(run("backup", place, "--json")).stdout)
    assert (made["files"], made["new_files"], made["missing"]) == (len(NAMED | OTHERS), len(NAMED | OTHERS), [])
    before = files_below(data)
    expected = {path: content for path, content in before.items() if path in NAMED | OTHERS}
    ok(restore())
    assert files_below(place.parent / "new") == expected
    assert table_rows(bare_dsn) == table_rows(dsn)
    assert {path.stat().st_mode & 0o077 for path in (place.parent / "new").rglob("*")} == {0}


def test_a_backup_has_the_files_of_a_bucket(
    rows: Rows, run: Run, restore: Run, place: Path, data: Path, s3_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are restored into the data folder, from which `troupe media move` brings them to a bucket."""
    for field, value in new_bucket(s3_endpoint).items():
        monkeypatch.setenv(f"TROUPE_{field.upper()}", value)
    expected = {path: content for path, content in files_below(data).items() if path in NAMED | OTHERS}
    ok(run("media", "move", "s3"))
    assert files_below(data).keys() & NAMED == {"media/waiting/14"}
    made = json.loads(ok(run("backup", place, "--json")).stdout)
    assert (made["files"], made["missing"]) == (len(expected), [])
    ok(restore())
    assert files_below(place.parent / "new") == expected


def test_a_repeated_backup_stores_only_what_is_new(rows: Rows, run: Run, place: Path, data: Path) -> None:
    ok(run("backup", place))
    rows.run(ATTACHMENT, 12, 1, "ready", name("8"))
    times = {path: path.stat().st_mtime_ns for path in (place / "files").rglob("*")}
    again = json.loads(ok(run("backup", place, "--json")).stdout)
    assert (again["new_files"], again["new_bytes"]) == (1, len("no row names it"))
    assert all(path.stat().st_mtime_ns == time for path, time in times.items() if path.is_file())
    assert len(json.loads(ok(run("backup", place, "--verify", "--json")).stdout)) == 2


def test_old_backups_go_with_what_they_alone_have(rows: Rows, run: Run, place: Path) -> None:
    ok(run("backup", place))
    rows.run("DELETE FROM remote_files")
    ok(run("backup", place, "--keep", "1"))
    kept = {path.name for path in (place / "files").rglob("*") if path.is_file()}
    assert (len(list(place.glob("*.manifest"))), len(list(place.glob("*.dump")))) == (1, 1)
    assert len(kept) == len(NAMED | OTHERS) - 2
    ok(run("backup", place, "--verify"))


def test_a_file_that_comes_and_goes_around_the_snapshot_is_in_no_backup_that_names_it(
    rows: Rows, run: Run, restore: Run, place: Path, data: Path, bare_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server deletes a post after its file was copied, and another one between a snapshot and the copying."""
    real, calls = making.named_files, 0

    def go_on() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:  # before the first snapshot, and after the first copying
            rows.run(ATTACHMENT, 21, 1, "ready", name("8"))
        elif calls == 2:  # after the first snapshot, before the copying of what it names
            rows.run("DELETE FROM media_attachments WHERE id = 21")
            (data / media("8")).unlink()
            rows.run("DELETE FROM remote_files WHERE file = $1", name("f"))
            (data / media("f")).unlink()

    async def named_files(db: Any) -> Any:
        found = await real(db)
        with ThreadPoolExecutor(1) as other:  # which may have an event loop of its own
            other.submit(go_on).result(PATIENCE)
        return found

    monkeypatch.setattr(making, "named_files", named_files)
    monkeypatch.setattr(making, "FEW", 1000)
    made = json.loads(ok(run("backup", place, "--json")).stdout)
    assert (made["missing"], calls) == ([], 3), "a second snapshot was taken"
    ok(restore())
    named = {one.name for one in transact_once(bare_dsn, copies.named_files)}
    there = {path.name for path in (place.parent / "new" / "media").rglob("*")}
    assert {one.rpartition("/")[2] for one in named} <= there
    assert name("8") not in named


def test_a_file_that_was_lost_before_does_not_keep_a_backup_from_being_made(
    rows: Rows, run: Run, restore: Run, place: Path, data: Path
) -> None:
    (data / media("b")).unlink()
    made = run("backup", place)
    assert "Not on the server's disk, although rows name them: 1 file, such as " + name("b") in ok(made).stderr
    assert name("b") in ok(restore()).stderr


def test_files_are_where_the_rows_say(rows: Rows, run: Run, restore: Run, place: Path, data: Path) -> None:
    """An effect may be about to move them when the snapshot is taken."""
    (data / f"media/withheld/99/{name('9')}").rename(data / write(data, media("9")))
    ok(run("backup", place))
    ok(restore())
    assert files_below(place.parent / "new")[f"media/withheld/99/{name('9')}"] == b"withheld"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_backup_is_none_and_the_next_one_goes_on(
    rows: Rows, run: Run, place: Path, data: Path, number: signal.Signals
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", KILLED.replace("SIGKILL", number.name), "backup", str(place), "--data", str(data)],
        env=os.environ | {"PYTHONUNBUFFERED": "1"}, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    if number != signal.SIGKILL:
        assert (ended.returncode, ended.stderr) == (
            130,
            "Error: Interrupted. What is stored stays. Run the same command again: it goes on there.\n",
        )
    else:
        assert ended.returncode == -signal.SIGKILL
    assert list(place.glob("*.manifest")) == []
    assert run("backup", place, "--verify").exit_code == 1
    (data / media("a")).unlink()
    again = json.loads(ok(run("backup", place, "--json")).stdout)
    assert (again["new_files"], again["missing"]) == (0, []), "all files were stored by the first one, and are known"
    assert len(list(place.glob("*.part")) + list(place.glob("*.dump"))) == 1
    ok(run("backup", place, "--verify"))


def test_a_full_disk_is_named_and_the_next_backup_goes_on(rows: Rows, run: Run, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        fill(disk / "lost+found-filler")
        (disk / "lost+found-filler").rename(tmp_path / "disk" / "filler")
        place = disk / "backups"
        full = run("backup", place)
        assert (full.exit_code, f"The disk of {place} is full. Free some space there." in full.stderr) == (1, True)
        assert not list(place.glob("*.manifest"))
        (disk / "filler").unlink()
        ok(run("backup", place))
        ok(run("backup", place, "--verify"))


@pytest.mark.parametrize("what", ["manifest", "dump", "content", "size", "gone"])
def test_what_is_damaged_is_found_and_not_restored(
    rows: Rows, run: Run, restore: Run, place: Path, bare_dsn: str, what: str
) -> None:
    ok(run("backup", place))
    content = place / "files" / (digest := sha256(b"a" * 100).hexdigest())[:2] / digest
    path = content if what in ("content", "size", "gone") else next(place.glob(f"*.{what}"))
    damage(path, what)
    verified = run("backup", place, "--verify")
    assert (verified.exit_code, str(path) in verified.stderr) == (1, True), verified.output
    refused = restore()
    assert (refused.exit_code, "damaged" in refused.stderr) == (1, True), refused.output
    assert table_rows(bare_dsn) == {}
    # Contents of the right size are compared when they are copied; the mark then keeps servers away.
    assert (place.parent / "new" / "restoring").exists() is (what == "content")


def follow(advice: str) -> None:
    """Run the commands that a message names."""
    for command in re.findall(r"rm -f \S+\.\*", advice):
        subprocess.run(command.removesuffix(","), shell=True, check=True)


@pytest.mark.parametrize("what", ["manifest", "dump", "lost dump", "content", "size", "gone"])
@pytest.mark.parametrize("server_has_it", [True, False])
def test_the_advice_for_what_is_damaged_cures_it(
    rows: Rows, run: Run, place: Path, data: Path, what: str, server_has_it: bool
) -> None:
    ok(run("backup", place))
    content = place / "files" / (digest := sha256(b"a" * 100).hexdigest())[:2] / digest
    path = content if what in ("content", "size", "gone") else next(place.glob(f"*.{what.split()[-1]}"))
    damage(path, "gone" if what == "lost dump" else what)
    if not server_has_it:
        (data / media("a")).unlink()
    advice = run("backup", place, "--verify").stderr
    if "Remove the damaged files" in advice:
        content.unlink(missing_ok=True)
        ok(run("backup", place))
        again = run("backup", place, "--verify")
        assert (again.exit_code == 0) is server_has_it
        follow(again.stderr)
    else:
        follow(advice)
        ok(run("backup", place))
    ok(run("backup", place, "--verify"))


def test_what_can_not_be_read_is_in_no_whole_backup(
    rows: Rows, run: Run, place: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(path: object) -> Any:
        if str(path).endswith("terms"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    scandir: Any = os.scandir
    monkeypatch.setattr(os, "scandir", closed)
    refused = run("backup", place)
    assert (refused.exit_code, refused.stderr) == (1, f"Error: {data}/texts/terms: Permission denied\n")
    assert list(place.glob("*.manifest")) == []


def damage(path: Path, what: str) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    if what == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-1] if what == "size" else data)


def test_nothing_is_written_over(rows: Rows, run: Run, restore: Run, place: Path, dsn: str, tmp_path: Path) -> None:
    ok(run("backup", place))
    (tmp_path / "new").mkdir()
    write(tmp_path / "new", "mine")
    refused = restore()
    assert (refused.exit_code, "has files in it" in refused.stderr) == (1, True)
    assert files_below(tmp_path / "new") == {"mine": b"x"}
    full = CliRunner().invoke(troupe, ["restore", str(place), "--data", str(tmp_path / "other")])
    assert (full.exit_code, "has tables already" in full.stderr) == (1, True), "the server's own database"


def test_an_interrupted_restore_keeps_servers_away_and_is_finished(
    rows: Rows, run: Run, restore: Run, place: Path, dsn: str, bare_dsn: str,
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    ok(run("backup", place))

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(transfer, "load", interrupt)
        assert (restore().exit_code, table_rows(bare_dsn)) == (130, {})
    new = place.parent / "new"
    times = {path: path.stat().st_ctime_ns for path in (new / "media").rglob("*") if path.is_file()}
    refused = CliRunner().invoke(troupe, ["serve", "--data", str(new), "--port", "1"])
    assert (refused.exit_code, "a backup is being restored" in capfd.readouterr().err) == (1, True)
    ok(restore())
    assert {path: path.stat().st_ctime_ns for path in times} == times
    assert table_rows(bare_dsn) == table_rows(dsn)
    assert not (new / "restoring").exists()


def test_a_restore_that_was_killed_after_its_last_step_is_finished(
    rows: Rows, run: Run, restore: Run, place: Path, dsn: str, bare_dsn: str
) -> None:
    ok(run("backup", place))
    ok(restore())
    backup = next(place.glob("*.manifest")).stem
    write(place.parent / "new", "restoring", backup)
    ok(restore())
    assert table_rows(bare_dsn) == table_rows(dsn)


def test_a_loading_that_ends_early_leaves_nothing(
    rows: Rows, run: Run, restore: Run, place: Path, bare_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(run("backup", place))

    real = RunningPsql.put

    def put(self: RunningPsql, piece: bytes) -> None:
        if b"COMMIT" in piece[-100:]:
            raise ClientFailed("pg_restore failed")
        real(self, piece)

    monkeypatch.setattr(RunningPsql, "put", put)
    assert restore().exit_code == 1
    assert table_rows(bare_dsn) == {}


def test_a_restore_that_is_killed_leaves_no_rows_and_is_finished(
    rows: Rows, run: Run, restore: Run, place: Path, dsn: str, bare_dsn: str
) -> None:
    """psql would commit what it has got when its input ends, if the last statement were its own."""
    ok(run("backup", place))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE_COMMIT, "restore", str(place), "--data", str(place.parent / "new")],
        env=os.environ | {"TROUPE_DATABASE_URL": bare_dsn}, capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    give_up_at = time.monotonic() + PATIENCE
    while transact_once(bare_dsn, _others):
        assert time.monotonic() < give_up_at
        time.sleep(0.02)  # each look is a process of PostgreSQL
    assert table_rows(bare_dsn) == {}
    ok(restore())
    assert table_rows(bare_dsn) == table_rows(dsn)


async def _others(db: Any) -> int:
    return await db.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'psql'"
    )


def test_rows_that_are_not_those_of_the_backup_are_found(
    rows: Rows, run: Run, restore: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(run("backup", place))
    real = restoring.last_statements

    def last_statements(name: str, lowest_id: int, gap: int) -> str:
        return real(name, lowest_id, gap) + "UPDATE public.accounts SET username = 'mallory' WHERE id = 1;"

    monkeypatch.setattr(restoring, "last_statements", last_statements)
    refused = restore()
    assert (refused.exit_code, "differ from the backup in the tables: accounts." in refused.stderr) == (1, True)
    assert (place.parent / "new" / "restoring").exists()


def test_ids_of_the_first_server_are_not_handed_out_again(
    rows: Rows, run: Run, restore: Run, place: Path, bare_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its clock is two hours ahead, and it goes on for an hour after the backup."""
    ahead = datetime.now(UTC) + timedelta(hours=2)
    highest = int(ahead.timestamp() * 1000) << BELOW_MILLISECONDS
    rows.account(highest, "late", None)
    ok(run("backup", place))
    monkeypatch.setattr(restoring, "datetime", _Later)
    ok(restore())
    handed_out = int((ahead + timedelta(hours=1)).timestamp() * 1000) << BELOW_MILLISECONDS
    assert transact_once(bare_dsn, highest_id) > handed_out

    async def stamp(db: Any) -> int:
        return await db.fetchval("SELECT nextval('relation_stamp')")

    assert transact_once(bare_dsn, stamp) > 100_000


class _Later(datetime):
    """A clock, an hour later."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz) + timedelta(hours=1, seconds=1)


def test_a_clock_that_is_behind_the_backup_is_refused(
    rows: Rows, run: Run, restore: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(run("backup", place))

    class Earlier(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) - timedelta(hours=1)

    monkeypatch.setattr(restoring, "datetime", Earlier)
    refused = restore()
    assert (refused.exit_code, "Correct the clock" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("version", "wanted"),
    [("0.2.0", "version 0.2.0 or a newer version"), ("0.2.0+dev", "a version newer than 0.2.0")],
)
def test_a_backup_of_a_newer_version_is_refused_and_names_the_version_that_restores_it(
    version: str, wanted: str, rows: Rows, run: Run, restore: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "__version__", version)
    ok(run("backup", place))
    monkeypatch.setattr(restoring, "migrations", lambda: migrations()[:-1])
    refused = restore()
    assert (refused.exit_code, f"schema {len(migrations())}" in refused.stderr) == (1, True)
    assert f"restore it with {wanted}." in refused.stderr
    assert not (place.parent / "new").exists()


def test_before_an_upgrade_the_older_version_makes_the_backup(rows: Rows, run: Run, place: Path) -> None:
    newest = len(migrations())
    rows.run("DELETE FROM schema_migrations WHERE number = $1", newest)
    refused = run("backup", place)
    assert (refused.exit_code, list(place.glob("*.manifest"))) == (1, [])
    assert f"at schema {newest - 1}, and this version of Troupe needs {newest}" in refused.stderr
    assert "install that version again, make the backup, and upgrade then" in refused.stderr
    assert "troupe migrate" not in refused.stderr


def test_a_server_that_is_newer_than_the_programs_is_refused(rows: Rows, run: Run, place: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "pg_dump").write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 14.9'\n")
    (old / "pg_dump").chmod(0o755)
    refused = run("backup", place, "--programs", old)
    assert (refused.exit_code, "which reads no newer server" in refused.stderr) == (1, True), refused.output


@pytest.mark.parametrize("where", ["data", "other"])
def test_a_backup_is_not_made_in_a_folder_with_other_things(rows: Rows, run: Run, data: Path, where: str) -> None:
    place = data / "backups" if where == "data" else data.parent
    assert run("backup", place).exit_code == 1


def test_an_empty_path_is_not_the_working_directory(rows: Rows, run: Run) -> None:
    for command in ("backup", "restore"):
        refused = run(command, "")
        assert (refused.exit_code, "The path is empty." in refused.stderr) == (2, True), refused.output


def test_a_backup_starts_without_the_actor_kernel() -> None:
    """A backup makes no ids and runs no actors."""
    names = ("commands.backup", "commands.rows", "backups.making", "backups.checking")
    program = f"import sys, {', '.join(f'troupe.supervision.{name}' for name in names)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=True, text=True)
    assert "troupe.supervision.backups.making" in loaded.stdout.split()
    assert "troupe.actors.kernel" not in loaded.stdout.split()


def test_two_commands_do_not_work_on_one_folder(rows: Rows, run: Run, place: Path) -> None:
    with BackupFolder(place).held():
        refused = run("backup", place)
    assert (refused.exit_code, "Another command works on the backups" in refused.stderr) == (1, True)


def test_every_column_with_names_of_files_is_looked_at(dsn: str) -> None:
    """A file of a column that is not among them would be in no backup."""

    async def columns(db: Any) -> list[tuple[str, str]]:
        return [
            tuple(row)
            for row in await db.fetch(
                "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
                " AND column_name ~ 'file' AND column_name !~ 'file_(type|size)' ORDER BY 1, 2"
            )
        ]

    queries = " ".join([*copies.PAGES, copies.COPIES])
    assert [one for one in transact_once(dsn, columns) if not (one[0] in queries and one[1] in queries)] == []
