"""The embedded PostgreSQL: shared, stopped by the last to leave, and up again whatever killed it."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from troupe.storage.connect import run
from troupe.storage.embedded import Embedded, EmbeddedFailed, embedded, enter

from .conftest import session

OTHER_PROCESS = """
import sys
from pathlib import Path
from troupe.storage.embedded import enter
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


def test_the_last_to_leave_stops_it(data: Path) -> None:
    with embedded(data, durable=False) as first:
        with embedded(data, durable=False) as second:
            assert second.dsn == first.dsn
        assert value(first) == 1
    assert not (data / "postgres" / "postmaster.pid").exists()
    with pytest.raises(EmbeddedFailed, match="does not run"):
        assert first.dsn


def test_another_process_keeps_it_up(data: Path) -> None:
    other = other_process(data)
    with embedded(data, durable=False) as server:
        assert value(server) == 1
    assert (data / "postgres" / "postmaster.pid").exists()
    other.communicate("")
    assert other.returncode == 0
    assert not (data / "postgres" / "postmaster.pid").exists()


def test_a_killed_process_does_not_count(data: Path) -> None:
    """Its PostgreSQL is taken over as it runs, and stopped by the next that leaves."""
    other = other_process(data)
    running = postmaster(data)
    other.send_signal(signal.SIGKILL)
    other.communicate()
    with embedded(data, durable=False) as server:
        assert postmaster(data) == running
        assert value(server) == 1
    assert not (data / "postgres" / "postmaster.pid").exists()


def test_a_killed_postgresql_comes_up_again_with_its_data(data: Path) -> None:
    with embedded(data) as server:
        value(server, "CREATE TABLE kept (id int)")
        kill(postmaster(data))
        server.start()
        assert value(server, "SELECT count(*) FROM kept") == 0


def test_a_process_number_that_is_somebody_elses_by_now_is_no_obstacle(data: Path) -> None:
    with embedded(data, durable=False):
        kept = (data / "postgres" / "postmaster.pid").read_text()
    lines = kept.split("\n")
    (data / "postgres" / "postmaster.pid").write_text("\n".join([str(os.getpid()), *lines[1:]]))
    with embedded(data, durable=False) as server:
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


def test_it_is_durable_unless_told_otherwise(data: Path) -> None:
    with embedded(data) as server:
        assert value(server, "SHOW fsync") == "on"
        assert value(server, "SHOW synchronous_commit") == "on"
        assert value(server, "SHOW listen_addresses") == ""


def test_leaving_twice_is_leaving_once(data: Path) -> None:
    server = enter(data, durable=False)
    server.leave()
    server.leave()


def test_the_log_keeps_no_statement_and_no_value(data: Path) -> None:
    with embedded(data, durable=False) as server:
        value(server, "CREATE TABLE person (email text UNIQUE)")
        value(server, "INSERT INTO person VALUES ('ada@troupe.test')")
        with pytest.raises(Exception, match="duplicate"):
            value(server, "INSERT INTO person VALUES ('ada@troupe.test')")
        assert "ada" not in (data / "postgres" / "troupe.log").read_text()


def test_letters_of_every_script_have_their_lower_case(server: Embedded) -> None:
    assert value(server, "SELECT lower('ÄÉЖΩ')") == "äéжω"
