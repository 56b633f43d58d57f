"""The embedded PostgreSQL: shared, stopped when its last process ends, and started again after every kind of end."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from troupe.storage.engine.cluster import EmbeddedFailed
from troupe.storage.engine.connect import run
from troupe.storage.engine.embedded import Embedded, embedded, enter

from ..data_folders import copy_data
from ..processes import processes_of, until_gone
from .conftest import session

OTHER_PROCESS = """
import sys
from pathlib import Path
from troupe.storage.engine.embedded import enter
server = enter(Path(sys.argv[1]), durable=False)
print(server.dsn, flush=True)
sys.stdin.read()
server.leave()
"""


def value(server: Embedded, query: str = "SELECT 1") -> object:
    async def main() -> object:
        async with session(server.dsn) as db:
            return await db.fetchval(query)

    return run(main)


def postmaster(data: Path) -> int:
    return int((data / "postgres" / "postmaster.pid").read_text().split("\n")[0])


def kill(pid: int) -> None:
    """Kill a process and wait for its end."""
    descriptor = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([descriptor], [], [])
    os.close(descriptor)


def other_process(data: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER_PROCESS, str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("postgresql://")
    return process


def test_the_last_to_leave_stops_it(cluster_data: Path) -> None:
    begun: list[str] = []
    with embedded(cluster_data, durable=False, meanwhile=partial(begun.append, "first")) as first:
        with embedded(cluster_data, durable=False, meanwhile=partial(begun.append, "second")) as second:
            assert begun == ["first"], "it was started once, and something else was done meanwhile"
            assert second.dsn == first.dsn
        assert value(first) == 1
    assert not (cluster_data / "postgres" / "postmaster.pid").exists()
    with pytest.raises(EmbeddedFailed, match="does not run"):
        assert first.dsn


def test_another_process_keeps_it_up(cluster_data: Path) -> None:
    other = other_process(cluster_data)
    with embedded(cluster_data, durable=False) as server:
        assert value(server) == 1
    assert (cluster_data / "postgres" / "postmaster.pid").exists()
    other.communicate("")
    assert other.returncode == 0
    assert not (cluster_data / "postgres" / "postmaster.pid").exists()


def test_postgresql_stops_in_order_when_the_last_that_uses_it_is_killed(cluster_data: Path) -> None:
    other = other_process(cluster_data)
    other.kill()
    other.communicate()
    until_gone(cluster_data)
    assert "database system is shut down" in (cluster_data / "postgres" / "troupe.log").read_text().splitlines()[-1]
    with embedded(cluster_data, durable=False) as server:
        assert value(server) == 1


def test_a_killed_process_takes_nothing_from_the_others(cluster_data: Path) -> None:
    other = other_process(cluster_data)
    running = postmaster(cluster_data)
    with embedded(cluster_data, durable=False) as server:
        other.kill()
        other.communicate()
        assert value(server, "SELECT 1 FROM pg_sleep(0.5)") == 1
        assert postmaster(cluster_data) == running
    until_gone(cluster_data)


def test_a_killed_guardian_takes_postgresql_with_it_and_both_come_again(cluster_data: Path) -> None:
    with embedded(cluster_data, durable=False) as server:
        (guardian,) = processes_of(cluster_data, "guardian")
        kill(guardian)
        until_gone(cluster_data)
        assert "database system is shut down" in (cluster_data / "postgres" / "troupe.log").read_text().splitlines()[-1]
        server.start()
        assert value(server) == 1
    until_gone(cluster_data)


def initdb_runs(data: Path) -> bool:
    return bool(processes_of(data, "initdb"))


def postgresql_starts(data: Path) -> bool:
    return bool(processes_of(data, "postgres -D")) or (data / "postgres" / "postmaster.pid").exists()


@pytest.mark.parametrize("moment", [initdb_runs, postgresql_starts])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT, signal.SIGTERM, signal.SIGINT])
def test_a_process_that_ends_while_it_starts_postgresql_leaves_nothing_in_the_way(
    data: Path, made_cluster: Path, moment: Callable[[Path], bool], number: signal.Signals
) -> None:
    if moment is postgresql_starts:
        copy_data(made_cluster, data)
    command = [sys.executable, "-c", OTHER_PROCESS, str(data)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        give_up_at = time.monotonic() + 30
        while not moment(data):
            assert time.monotonic() < give_up_at
            assert process.poll() is None
            time.sleep(0.005)  # to look through all processes takes the CPU that the other process needs
        process.send_signal(number)
        process.communicate()
    with embedded(data, durable=False) as server:  # at once, while what was begun may still run
        assert value(server) == 1
    until_gone(data)


def test_why_postgresql_does_not_start_is_told_in_one_line(cluster_data: Path) -> None:
    (cluster_data / "postgres" / "postgresql.auto.conf").write_text("no_setting = 1\n")
    with pytest.raises(EmbeddedFailed) as failed:
        enter(cluster_data, durable=False)
    told = str(failed.value)
    assert told.startswith("PostgreSQL does not start: ")
    assert "configuration file" in told
    assert str(cluster_data / "postgres" / "troupe.log") in told
    assert "\n" not in told
    until_gone(cluster_data)


@pytest.mark.parametrize(("major", "advice"), [("16", "run `troupe db upgrade --data"), ("99", "run a version of")])
def test_files_of_another_major_version_are_refused_with_what_to_do(
    cluster_data: Path, major: str, advice: str
) -> None:
    (cluster_data / "postgres" / "PG_VERSION").write_text(f"{major}\n")
    with pytest.raises(EmbeddedFailed) as failed:
        enter(cluster_data, durable=False)
    assert f"was made by PostgreSQL {major}, and this version of Troupe brings PostgreSQL" in str(failed.value)
    assert advice in str(failed.value)
    until_gone(cluster_data)


def test_a_killed_postgresql_comes_up_again_with_its_data(cluster_data: Path) -> None:
    with embedded(cluster_data) as server:
        value(server, "CREATE TABLE kept (id int)")
        kill(postmaster(cluster_data))
        server.start()
        assert value(server, "SELECT count(*) FROM kept") == 0


def test_a_process_number_of_another_process_is_no_obstacle(cluster_data: Path) -> None:
    with embedded(cluster_data, durable=False):
        kept = (cluster_data / "postgres" / "postmaster.pid").read_text()
    lines = kept.split("\n")
    (cluster_data / "postgres" / "postmaster.pid").write_text("\n".join([str(os.getpid()), *lines[1:]]))
    with embedded(cluster_data, durable=False) as server:
        assert value(server) == 1


def test_what_a_killed_initdb_left_is_thrown_away(data: Path) -> None:
    (data / "postgres.new").mkdir()
    (data / "postgres.new" / "PG_VERSION").write_text("18")
    with embedded(data, durable=False) as server:
        assert value(server) == 1


@pytest.mark.parametrize("name", ["d" * 100, "with a space, and a 'quote'"])
def test_a_long_or_odd_path_is_no_obstacle(data: Path, name: str) -> None:
    with embedded(data / name, durable=False) as server:
        assert value(server) == 1


def test_it_is_durable_unless_told_otherwise(cluster_data: Path) -> None:
    with embedded(cluster_data) as server:
        assert value(server, "SHOW fsync") == "on"
        assert value(server, "SHOW synchronous_commit") == "on"
        assert value(server, "SHOW listen_addresses") == ""


def test_leaving_twice_is_leaving_once(cluster_data: Path) -> None:
    server = enter(cluster_data, durable=False)
    server.leave()
    server.leave()


def test_the_log_keeps_no_statement_and_no_value(cluster_data: Path) -> None:
    with embedded(cluster_data, durable=False) as server:
        value(server, "CREATE TABLE person (email text UNIQUE)")
        value(server, "INSERT INTO person VALUES ('ada@troupe.test')")
        with pytest.raises(Exception, match="duplicate"):
            value(server, "INSERT INTO person VALUES ('ada@troupe.test')")
        assert "ada" not in (cluster_data / "postgres" / "troupe.log").read_text()


def test_letters_of_every_script_have_their_lower_case(server: Embedded) -> None:
    assert value(server, "SELECT lower('ÄÉЖΩ')") == "äéжω"
