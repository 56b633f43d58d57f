"""`troupe db`: psql, the way to an external PostgreSQL and back, and the upgrade of the embedded one."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troupe.storage.engine import programs, upgrade
from troupe.storage.engine.clients import DatabaseAddress, RunningPsql
from troupe.storage.engine.cluster import Cluster
from troupe.storage.engine.connect import LoneConnection, transact_once
from troupe.storage.engine.embedded import Embedded, embedded, enter_cluster
from troupe.storage.engine.runner import Runner
from troupe.storage.engine.term import COPYING_NAME, begin_alone
from troupe.storage.engine.term import upgrade as migrate_schema
from troupe.supervision.commands import db, troupe

from ..data_folders import copy_data, passable_folder
from ..processes import until_gone
from .foreign import Rows

OLD = 16
Run = Callable[..., Result]


@pytest.fixture(scope="module", autouse=True)
def clusters_made_once() -> Iterator[None]:
    """Have initdb make each kind of cluster once, and copy it then: these tests are about what is put into clusters."""
    run, made = Runner.run, dict[tuple[object, ...], Path]()

    def run_once(runner: Runner, program: str, *arguments: str, **how: Any) -> None:
        kind = (runner.programs, *arguments[:-1])
        if program != "initdb" or kind not in made:
            run(runner, program, *arguments, **how)
        folder = Path(arguments[-1])
        if program == "initdb" and kind in made:
            copy_data(made[kind], folder)
        elif program == "initdb":
            made[kind] = stack.enter_context(passable_folder())
            copy_data(folder, made[kind])

    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runner, "run", run_once)
        yield


@pytest.fixture(scope="module")
def with_bob(prepared: Path) -> Iterator[Path]:
    """A data folder with a database that has a row, whose PostgreSQL does not run. Tests copy it."""
    with passable_folder() as folder:
        copy_data(prepared, folder)
        with embedded(folder, durable=False) as server:
            Rows(server.dsn).account(1, "bob", None)
        yield folder


@pytest.fixture(scope="module")
def old_with_bob(with_bob: Path) -> Iterator[Path]:
    """The same, as the older PostgreSQL of the wheel would have made it."""
    with passable_folder() as folder:
        copy_data(with_bob, folder)
        shutil.rmtree(folder / "postgres")
        with older_server(folder) as server:
            migrate_schema(server.dsn)
            Rows(server.dsn).account(1, "bob", None)
        until_gone(folder)
        yield folder


@pytest.fixture
def data(with_bob: Path, data: Path) -> Path:
    """A data folder of the test's own with a database that has a row, whose PostgreSQL does not run."""
    copy_data(with_bob, data)
    return data


@pytest.fixture
def old_data(old_with_bob: Path) -> Iterator[Path]:
    """The same, as the older PostgreSQL of the wheel would have made it."""
    with passable_folder() as data:
        copy_data(old_with_bob, data)
        yield data
        until_gone(data)


@pytest.fixture
def older_dsn() -> Iterator[str]:
    """An empty database of an older server, as Debian has one."""
    with passable_folder() as folder, older_server(folder) as server:
        yield server.dsn


@contextmanager
def older_server(data: Path) -> Generator[Embedded]:
    older = programs.find_major(OLD)
    assert older is not None
    cluster = Cluster(data)
    runner = Runner.choose(cluster, {}, older, OLD)
    cluster.folder.mkdir(mode=0o700)
    runner.give(cluster.folder)
    arguments = ("--username=postgres", "--auth=peer", "--encoding=UTF8", "--locale=C", "--no-sync")
    runner.run("initdb", *arguments, "-D", str(cluster.folder), timeout=60)
    server = enter_cluster(cluster, older=older, major=OLD, durable=False)
    try:
        yield server
    finally:
        server.leave()


def run(data: Path, *words: str, url: str | None = None) -> Result:
    return CliRunner(env={"TROUPE_DATABASE_URL": url}).invoke(troupe, [*words[:2], "--data", str(data), *words[2:]])


def names_in(dsn: str) -> list[str]:
    async def read(db: Any) -> list[str]:
        return [row[0] for row in await db.fetch("SELECT username FROM accounts")]

    return transact_once(dsn, read)


def embedded_names(data: Path) -> list[str]:
    with embedded(data, durable=False) as server:
        return names_in(server.dsn)


def test_a_database_is_moved_out_and_back(data: Path, bare_dsn: str) -> None:
    moved = run(data, "db", "move", bare_dsn)
    assert moved.exit_code == 0, moved.output
    assert "Set TROUPE_DATABASE_URL" in moved.stdout
    assert names_in(bare_dsn) == ["bob"]
    refused = run(data, "accounts", "list")
    assert (refused.exit_code, "this database was moved to" in refused.stderr) == (1, True), refused.output
    assert run(data, "accounts", "list", url=bare_dsn).exit_code == 0
    there = run(data, "db", "move", "embedded", url=bare_dsn)
    assert (there.exit_code, "There is a database in" in there.stderr) == (1, True)
    shutil.rmtree(data / "postgres")
    back = run(data, "db", "move", "embedded", url=bare_dsn)
    assert back.exit_code == 0, back.output
    assert embedded_names(data) == ["bob"]
    assert run(data, "accounts", "list").exit_code == 0
    assert run(data, "accounts", "list", url=bare_dsn).exit_code == 1


def test_an_external_server_may_be_older(data: Path, older_dsn: str, tmp_path: Path) -> None:
    moved = run(data, "db", "move", older_dsn)
    assert moved.exit_code == 0, moved.output
    assert names_in(older_dsn) == ["bob"]
    shutil.rmtree(data / "postgres")
    made = CliRunner(env={"TROUPE_DATABASE_URL": older_dsn}).invoke(
        troupe, ["backup", str(tmp_path / "backups"), "--data", str(data)]
    )
    assert made.exit_code == 0, made.output
    assert run(data, "db", "move", "embedded", url=older_dsn).exit_code == 0
    assert embedded_names(data) == ["bob"]


def test_a_server_that_runs_keeps_its_database(data: Path, bare_dsn: str) -> None:
    lease = "troupe/lease 7 2026-11-23T10:00:00Z here"
    with embedded(data, durable=False) as server, LoneConnection(server.dsn, lease) as running:
        running(begin_alone)
        refused = run(data, "db", "move", bare_dsn)
    assert (refused.exit_code, "another server runs on this database (process 7 on here" in refused.stderr) == (1, True)
    assert transact_once(bare_dsn, _tables) == 0


def test_no_server_starts_on_a_database_that_is_being_moved(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with embedded(data, durable=False) as server, LoneConnection(server.dsn, COPYING_NAME) as session:
        session(begin_alone)
        for words in ((), ("--takeover",)):
            refused = CliRunner().invoke(troupe, ["serve", "--data", str(data), "--port", "1", *words])
            assert refused.exit_code == 1
            assert "`troupe db` is copying this database to another place" in capfd.readouterr().err


def test_a_database_with_something_in_it_is_not_moved_into(data: Path, dsn: str) -> None:
    refused = run(data, "db", "move", dsn)
    assert (refused.exit_code, "has tables already" in refused.stderr) == (1, True), refused.output
    assert embedded_names(data) == ["bob"]
    assert run(data, "accounts", "list").exit_code == 0


def interrupt(*args: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["external", "embedded"])
def test_a_move_that_is_interrupted_changes_nothing(
    data: Path, dsn: str, bare_dsn: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def go() -> Result:
        if where == "external":
            return run(data, "db", "move", bare_dsn)
        return run(data, "db", "move", "embedded", url=dsn)

    if where == "embedded":
        shutil.rmtree(data / "postgres")
        Rows(dsn).account(1, "bob", None)
    with monkeypatch.context() as patch:
        patch.setattr("troupe.storage.engine.clients.RunningPsql.end", interrupt)
        ended = go()
    assert (ended.exit_code, "Nothing was changed" in ended.stderr) == (130, True), ended.output
    assert transact_once(bare_dsn, _tables) == 0
    assert (data / "postgres").exists() is (where == "external")
    assert go().exit_code == 0
    assert (names_in(bare_dsn) if where == "external" else embedded_names(data)) == ["bob"]


def test_a_move_that_is_interrupted_after_the_copy_goes_on(
    data: Path, bare_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("troupe.storage.engine.transfer.analyze", interrupt)
        assert run(data, "db", "move", bare_dsn).exit_code == 130
    assert run(data, "accounts", "list").exit_code == 0, "the old one is still in use"
    again = run(data, "db", "move", bare_dsn)
    assert again.exit_code == 0, again.output
    assert names_in(bare_dsn) == ["bob"]
    assert run(data, "accounts", "list").exit_code == 1


def test_a_copy_that_differs_is_not_used(data: Path, bare_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = RunningPsql.put

    def put(psql: RunningPsql, piece: bytes) -> None:
        real(psql, piece.replace(b"\tbob\t", b"\tbib\t"))

    monkeypatch.setattr(RunningPsql, "put", put)
    refused = run(data, "db", "move", bare_dsn)
    assert (refused.exit_code, "differs from the database in the tables: accounts" in refused.stderr) == (1, True)
    assert run(data, "accounts", "list").exit_code == 0, "the old one is still in use"


def test_a_password_is_in_no_argument_and_in_no_text(data: Path, bare_dsn: str) -> None:
    address = DatabaseAddress.of("postgresql://ada:se%3Acret@db.example:5432/troupe?sslmode=require", own=False)
    assert (address.url, address.environment["PGPASSWORD"]) == (
        "postgresql://ada@db.example:5432/troupe?sslmode=require", "se:cret",
    )  # fmt: skip
    assert db.shown("postgresql://ada:secret@db.example/troupe", data) == "db.example/troupe"


def test_a_url_with_a_password_is_read_from_standard_input(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def move(_: object, target: str, *__: object) -> int:
        given.append(target)
        return 1

    monkeypatch.setattr(db, "_move", move)
    url = "postgresql://ada:secret@db.example/troupe"
    call = ["db", "move", "--data", str(data)]
    told = CliRunner().invoke(troupe, [*call, "-"], input=f"{url}\n")
    warned = CliRunner().invoke(troupe, [*call, url])
    without = CliRunner().invoke(troupe, [*call, "postgresql://ada@db.example/troupe"])
    assert given == [url, url, "postgresql://ada@db.example/troupe"]
    assert ("can read the password" in warned.stderr, told.stderr, without.stderr) == (True, "", "")
    assert "secret" not in warned.output + told.output
    assert CliRunner().invoke(troupe, [*call, "-"], input="").exit_code == 2


def test_an_address_may_name_a_socket_and_no_host() -> None:
    for url in ("postgresql:///troupe?host=/var/run/postgresql", "postgresql:///troupe", "postgresql://ada@/troupe"):
        assert DatabaseAddress.of(url, own=False).url == url


def test_the_shell_is_psql_on_the_database(data: Path) -> None:
    """In a process of its own, because psql writes to the standard output of the process."""
    words = ("-c", "from troupe.supervision.commands import main; main()", "db", "shell", "--data", str(data), "--")
    done = subprocess.run(
        [sys.executable, *words, "-AtXc", "SELECT username FROM accounts"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "bob\n"), done.stderr
    wrong = subprocess.run(
        [sys.executable, *words, "-Xc", "SELECT nothing"], capture_output=True, timeout=60, check=False
    )
    assert wrong.returncode == 1


def test_the_files_of_an_older_postgresql_are_upgraded(old_data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    refused = CliRunner().invoke(troupe, ["serve", "--data", str(old_data), "--port", "1"])
    assert refused.exit_code == 69
    assert f"was made by PostgreSQL {OLD}" in (told := capfd.readouterr().err)
    assert f"run `troupe db upgrade --data {old_data}`" in told
    done = run(old_data, "db", "upgrade")
    assert done.exit_code == 0, done.output
    assert f"Upgraded PostgreSQL {OLD} to {programs.MAJOR}." in done.stdout
    assert embedded_names(old_data) == ["bob"]
    assert (Cluster(old_data).version(), Cluster(old_data, f"postgres-{OLD}").version()) == (programs.MAJOR, OLD)
    assert run(old_data, "accounts", "list").exit_code == 0
    assert run(old_data, "db", "upgrade").stdout == "There is nothing to upgrade.\n"
    assert {path.name for path in old_data.glob("postgres-*")} == {f"postgres-{OLD}"}


@pytest.mark.parametrize("step", range(4))
def test_an_upgrade_that_is_killed_is_done_again_or_finished(
    old_data: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step that changes a name, and before the copy is whole."""

    class Killed(BaseException):
        pass

    def killed(*args: object) -> None:
        raise Killed

    names = [
        ("troupe.storage.engine.clients.RunningPsql.end", killed),
        ("troupe.storage.engine.upgrade.put_in_place", killed),
        ("troupe.storage.engine.upgrade.locked_now", killed),
    ]
    with monkeypatch.context() as patch:
        if step < len(names):
            patch.setattr(*names[step])
        else:
            real, calls = upgrade.put_upgraded, list[Cluster]()

            def put(cluster: Cluster) -> None:
                calls.append(cluster)
                if len(calls) > 1:
                    raise Killed
                real(cluster)

            patch.setattr(upgrade, "put_upgraded", put)
        with pytest.raises(Killed):
            upgrade.upgrade_cluster(old_data, None, lambda size: None)
    if step < len(names):
        assert Cluster(old_data).version() == OLD
        assert run(old_data, "db", "upgrade").exit_code == 0
    assert embedded_names(old_data) == ["bob"]
    assert Cluster(old_data).version() == programs.MAJOR


def test_without_the_old_programs_the_upgrade_says_what_to_install(
    old_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (old_data / "postgres" / "PG_VERSION").write_text("11\n")
    refused = run(old_data, "db", "upgrade")
    assert (refused.exit_code, "`apt install postgresql-11`" in refused.stderr) == (1, True), refused.output
    wrong = run(old_data, "db", "upgrade", "--programs", str(programs.find()))
    assert (wrong.exit_code, "and the files of 11" in wrong.stderr) == (1, True)
    (old_data / "postgres" / "PG_VERSION").write_text(f"{OLD}\n")


async def _tables(db: Any) -> int:
    return await db.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
