"""Every way to end a server: what it records, and that no process of its data folder is left, nor in the way."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import pytest

from troupe.storage.engine.cluster import Cluster, locked
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.supervision.system.signals import ECHO_SECONDS

from .. import plain_http
from ..data_folders import copy_data
from ..processes import processes_of, until_gone
from .conftest import made
from .locking import statuses_locked
from .poisoning import database
from .server import Server
from .terminals import a_terminal

PATIENCE = 60.0
GRACE = 300.0  # longer than any of these tests: a server that waits it out fails
POLL = 0.002  # the shortest of the awaited moments takes some 0.1
PAUSE = 2 * ECHO_SECONDS  # between two signals that are not to be taken for one
CODE_WHEN_FORCED = 70

Moment = Callable[[Path], bool]


def initdb_runs(data: Path) -> bool:
    return bool(processes_of(data, "initdb"))


def postgresql_starts(data: Path) -> bool:
    return bool(processes_of(data, "postgres -D"))


def postgresql_is_ready(data: Path) -> bool:
    """The server migrates now, or makes its children."""
    pid_file = data / "postgres" / "postmaster.pid"
    return pid_file.exists() and "ready" in pid_file.read_text()


MOMENTS = [initdb_runs, postgresql_starts, postgresql_is_ready]


def until(moment: Moment, server: Server) -> None:
    give_up_at = time.monotonic() + PATIENCE
    while not moment(server.data):
        assert time.monotonic() < give_up_at, server.log
        assert server.process is not None
        assert server.process.poll() is None, server.log
        time.sleep(POLL)


def ended(server: Server) -> int:
    """The exit code; afterwards nothing of the server is left."""
    code = server.wait()
    until_gone(server.data)
    return code


@pytest.fixture
def starting(moment: Moment, made_cluster: Path) -> Generator[Server]:
    """A server whose schema is yet to be made. Its PostgreSQL is there, unless the moment is the one of initdb."""
    with made() as one:
        if moment is not initdb_runs:
            copy_data(made_cluster, one.data)
        yield one


@pytest.fixture
def terminal(own_server: Server) -> Generator[int]:
    """The server starts in this terminal, which is closed after the test if the test has not done so."""
    with a_terminal(own_server) as kept:
        yield kept


def test_a_closed_terminal_ends_it_in_order(own_server: Server, terminal: int) -> None:
    own_server.start()
    os.close(terminal)
    assert ended(own_server) == 0
    assert own_server.events("shutdown.begun")[0]["decision"] == "SIGHUP"
    assert own_server.record_words()[-1] == "shutdown.done"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order_and_without_a_terminal_sighup_does_not(
    own_server: Server, number: signal.Signals
) -> None:
    own_server.start()
    own_server.send(signal.SIGHUP)
    until(lambda _: bool(own_server.events("hangup.ignored")), own_server)
    own_server.send(number)
    assert ended(own_server) == 0
    assert own_server.events("shutdown.begun")[0]["decision"] == number.name
    assert own_server.record_words()[-1] == "shutdown.done"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT])
def test_after_an_abrupt_end_nothing_is_left_and_the_next_start_says_so(
    own_server: Server, number: signal.Signals
) -> None:
    own_server.start()
    pid = own_server.send(number)
    assert ended(own_server) == -number
    own_server.start()
    (missed,) = own_server.events("shutdown.missed")
    assert f"process {pid} on " in str(missed["node"])
    assert own_server.stop() == 0
    own_server.start()
    assert len(own_server.events("shutdown.missed")) == 1
    assert own_server.stop() == 0


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        *((moment, signal.SIGTERM) for moment in MOMENTS),
        (postgresql_starts, signal.SIGINT),
        (postgresql_starts, signal.SIGHUP),
    ],
)
def test_a_signal_while_it_starts_ends_it_in_order(starting: Server, moment: Moment, number: signal.Signals) -> None:
    with a_terminal(starting):
        starting.fork()
        until(moment, starting)
        starting.send(number)
        assert ended(starting) == 0, starting.log
    assert starting.events("shutdown.begun")[0]["decision"] == number.name
    assert starting.record_words()[-1] == "shutdown.done"
    starting.start()
    assert starting.stop() == 0


@pytest.mark.parametrize(
    ("moment", "number"), [*((moment, signal.SIGKILL) for moment in MOMENTS), (postgresql_starts, signal.SIGQUIT)]
)
def test_an_abrupt_end_while_it_starts_leaves_nothing_in_the_way(
    starting: Server, moment: Moment, number: signal.Signals
) -> None:
    starting.fork()
    until(moment, starting)
    starting.send(number)
    assert ended(starting) == -number
    starting.start()
    assert starting.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_whole_group_that_make_passes_on_is_one_signal(
    own_server: Server, terminal: int, number: signal.Signals, tmp_path: Path
) -> None:
    """As Ctrl-C or the end of a terminal does with `make run`."""
    makefile = tmp_path / "Makefile"
    makefile.write_text("run:\n\t@exec $(command)\n")
    own_server.settings["TROUPE_SHUTDOWN_GRACE"] = str(GRACE)
    own_server.start("make", "-s", "-f", str(makefile), "run", argument=in_make)
    assert own_server.process is not None
    os.killpg(own_server.process.pid, number)
    ended(own_server)
    assert own_server.events("shutdown.begun")
    assert own_server.events("shutdown.hurried") == []
    assert own_server.record_words()[-1] == "shutdown.done"


def in_make(command: list[str]) -> list[str]:
    return ["command=" + " ".join(shlex.quote(word) for word in command)]


def test_a_second_signal_cuts_the_grace_and_everything_still_ends_in_order(own_server: Server) -> None:
    with a_request_that_hangs(own_server) as release:
        send_and_see(own_server, signal.SIGTERM, "shutdown.begun")
        send_and_see(own_server, signal.SIGTERM, "shutdown.hurried")
        until(lambda _: stopped(own_server)[:1] == ["http"], own_server)
        # Without the second signal it would stop in order: when the pool cuts the call of the request.
        assert own_server.events("child.stopped")[0]["decision"] == "cancelled after the grace period"
        release()
        assert ended(own_server) == 0
    assert stopped(own_server)[0] == "http"
    assert stopped(own_server)[-1] == "storage"
    assert own_server.record_words()[-1] == "shutdown.done"


def test_a_third_signal_ends_it_at_once_and_leaves_no_process(own_server: Server) -> None:
    with a_request_that_hangs(own_server):
        with a_postgresql_that_cannot_be_stopped(own_server):
            send_and_see(own_server, signal.SIGINT, "shutdown.begun")
            send_and_see(own_server, signal.SIGINT, "shutdown.hurried")
            own_server.send(signal.SIGINT)
            assert own_server.wait() == CODE_WHEN_FORCED
        until_gone(own_server.data)
    own_server.start()
    assert own_server.events("shutdown.missed")
    assert own_server.stop() == 0


def stopped(server: Server) -> list[str]:
    """The children that have stopped, in order."""
    return [str(record["child"]) for record in server.events("child.stopped")]


def send_and_see(server: Server, number: signal.Signals, event: str) -> None:
    """Send a signal, wait until the server has recorded what it does about it, and let the time for an echo pass."""
    server.send(number)
    until(lambda _: bool(server.events(event)), server)
    time.sleep(PAUSE)


def a_postgresql_that_cannot_be_stopped(server: Server) -> AbstractContextManager[int]:
    """Hold the lock without which no process stops PostgreSQL: the server's end in order waits for it."""
    return locked(Cluster(server.data).door)


@contextmanager
def a_request_that_hangs(server: Server) -> Generator[Callable[[], None]]:
    """A running server with a long grace, and a post that waits for a lock. It yields what ends the lock."""
    server.settings["TROUPE_SHUTDOWN_GRACE"] = str(GRACE)
    server.start()
    (ada,) = server.people("ada")
    with ThreadPoolExecutor(1) as threads, statuses_locked(server) as release:
        dsn = database(server)
        post = partial(plain_http.post, data={"status": "x"}, headers=ada.headers, timeout=GRACE)
        posted = threads.submit(post, f"{server.url}/api/v1/statuses")
        until(lambda _: transact_once(dsn, waits_for_a_lock), server)
        assert not posted.done()
        yield release


async def waits_for_a_lock(db: Connection) -> bool:
    """True if a transaction waits for a lock that another one has."""
    return await db.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")


def test_a_server_started_with_nohup_outlives_its_terminal(own_server: Server, terminal: int) -> None:
    own_server.start("nohup")
    pid = own_server.send(signal.SIGHUP)
    assert signal.SIGHUP in ignored_by(pid)
    assert own_server.stop() == 0
    assert [record["decision"] for record in own_server.events("shutdown.begun")] == ["SIGTERM"]


def ignored_by(pid: int) -> set[signal.Signals]:
    """The signals that a process ignores: the kernel drops them."""
    status = Path(f"/proc/{pid}/status").read_text()
    (mask,) = (int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigIgn:"))
    return {number for number in signal.Signals if mask >> (number - 1) & 1}
