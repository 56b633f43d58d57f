"""The files of an embedded PostgreSQL, their information about its server, and the locks of processes on them."""

import fcntl
import os
import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from .lock_waits import report_wait

SOCKET_NAME = ".s.PGSQL.5432"

# The folders, below the data folder, of the cluster and of a cluster that is not complete yet.
NAME = "postgres"
UNFINISHED = "postgres-unfinished"
# A complete cluster that an upgrade is about to put in the place of the old cluster.
UPGRADED = "postgres-upgraded"

# Folders for sockets, in place of a cluster's folder whose path is too long or unusual for a socket.
SHORT_FOLDER = "/tmp/troupe-"  # noqa: S108 - its owner is checked, and TMPDIR may be as long as the path was
OWN_URL = "postgresql://postgres@/postgres?host="

# Higher than every process number.
NO_PROCESS = str(2**31 - 1)

# PostgreSQL's user may own the data folder, so root follows no link there.
LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW


class EmbeddedFailed(Exception):
    """Raised when the embedded PostgreSQL cannot be used. The text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The files of a cluster below a data folder, and their information about its server."""

    data: Path
    # A name other than `NAME` is of a cluster in the making; `embedded.put_in_place` renames it.
    name: str = NAME

    @property
    def folder(self) -> Path:
        return self.data / self.name

    @property
    def pid_file(self) -> Path:
        return self.folder / "postmaster.pid"

    @property
    def log(self) -> Path:
        return self.folder / "troupe.log"

    @property
    def users(self) -> Path:
        """The lock that every process which uses PostgreSQL holds shared."""
        return self.data / f"{self.name}.users"

    @property
    def guarded(self) -> Path:
        """The lock that the guardian holds as long as it lives."""
        return self.data / f"{self.name}.guardian"

    @property
    def door(self) -> Path:
        """The lock of the process that starts or stops PostgreSQL."""
        return self.data / f"{self.name}.lock"

    def version(self) -> int | None:
        """Return the major version of PostgreSQL that made the cluster. None if there is no cluster."""
        try:
            written = (self.folder / "PG_VERSION").read_text()
        except (FileNotFoundError, NotADirectoryError):
            return None
        # Before 10 a major version had two numbers, as in 9.6.
        return int(found[0]) if (found := re.match(r"\d+", written)) else 0

    def running(self) -> int | None:
        """Return the number of the server's process, if the process in its file really is a PostgreSQL."""
        try:
            pid = int(self.pid_file.read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return None
        return pid if "postgres" in _command_of(pid) else None

    def state(self) -> str:
        """Return the server's state from its file: starting, ready or stopping."""
        try:
            return self.pid_file.read_text().split("\n")[7].strip()
        except (FileNotFoundError, IndexError):
            return ""

    def invalidate_pid(self) -> None:
        """Put a number that no process can have into a file left behind.

        Another process may have the file's number by now. The rest of the file stays: PostgreSQL needs it to see if
        children of a killed server still use its shared memory.
        """
        try:
            lines = self.pid_file.read_text().split("\n")
        except FileNotFoundError:
            return
        self.pid_file.write_text("\n".join([NO_PROCESS, *lines[1:]]))
        if len(lines) > 4 and lines[4]:
            (Path(lines[4]) / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)

    def socket_directory(self) -> Path:
        """Return the folder with the socket of the running server."""
        try:
            return Path(self.pid_file.read_text().split("\n")[4])
        except (FileNotFoundError, IndexError) as error:
            raise EmbeddedFailed("PostgreSQL does not run") from error

    def log_size(self) -> int:
        """Return the number of bytes in the log."""
        return self.log.stat().st_size if self.log.exists() else 0

    def end_of_log(self, start: int = 0) -> str:
        """Return the last lines of the log, at most 8,000 bytes and none before the byte `start`."""
        try:
            with self.log.open("rb") as lines:
                lines.seek(max(start, self.log_size() - 8000))
                return lines.read().decode(errors="replace")
        except OSError:
            return ""


def url_of(cluster: Cluster) -> str:
    """Return the URL to connect to the running server of a cluster."""
    return OWN_URL + quote(str(cluster.socket_directory()), safe="/")


def is_own(url: str) -> bool:
    """True if a URL is that of an embedded PostgreSQL."""
    folder = unquote(url.removeprefix(OWN_URL))
    names = (NAME, UNFINISHED, UPGRADED)
    return url.startswith(OWN_URL) and (folder.startswith(SHORT_FOLDER) or folder.rpartition("/")[2] in names)


@contextmanager
def locked(path: Path) -> Generator[int]:
    """Hold a lock file alone; waits for it, and says so."""
    descriptor = os.open(path, LOCK_FILE, 0o600)
    try:
        if not try_lock(descriptor):
            with report_wait(f"another program, which starts or stops PostgreSQL in {path.parent}"):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def locked_now(path: Path) -> Generator[None]:
    """Hold a lock file alone. Raises EmbeddedFailed if another program holds it."""
    descriptor = os.open(path, LOCK_FILE, 0o600)
    try:
        if not try_lock(descriptor):
            raise EmbeddedFailed(f"another program uses the database in {path.parent}: stop it first")
        yield
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Take an open lock file alone; False if another process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def reason(output: str) -> str:
    """Return the line of a program's output that says why it ended: its last error, without time and process."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    grave = [line for line in lines if re.search(r"\b(FATAL|PANIC|error|Error):", line)]
    last = (grave or lines or ["it says nothing"])[-1]
    parts = [last]
    if last.endswith("contains errors") and (place := lines.index(last)):  # the line before names the setting
        parts.append(lines[place - 1])
    return ": ".join(re.sub(r"^.*?\b(FATAL|PANIC|LOG|error):\s*", "", line) for line in parts)[:500]


def _command_of(pid: int) -> str:
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0", 1)[0].decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return ""
    command = ["ps", "-o", "command=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 - a number, no shell
