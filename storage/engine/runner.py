"""Runs PostgreSQL's programs. Under root they run as another user, because PostgreSQL refuses to run as root."""

import os
import pwd
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from . import guardian, programs
from .cluster import Cluster, EmbeddedFailed, reason
from .programs import MAJOR, closed_folder

# The users that PostgreSQL may run as under root: the first that exists, otherwise the first is created.
USERS = ("troupe", "postgres", "pgserver")


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs PostgreSQL's programs, under root as another user."""

    programs: Path
    user: pwd.struct_passwd | None
    settings: dict[str, str]
    major: int = MAJOR

    @classmethod
    def choose(
        cls, cluster: Cluster, settings: dict[str, str], older: Path | None = None, major: int = MAJOR
    ) -> "Runner":
        """Return the runner of a cluster. `older` is the directory of another major's programs."""
        if os.geteuid() != 0:
            return cls(older or programs.find(), None, settings, major)
        user = _owner(cluster.folder) or _owner(cluster.data) or _existing_user() or _make_user()
        _refuse_if_closed(cluster.data, user)
        # The folder is closed to all but its owner, and PostgreSQL must enter it. Root can enter it in any case.
        if cluster.data.stat().st_uid != user.pw_uid:
            os.chown(cluster.data, user.pw_uid, user.pw_gid)
        return cls(programs.find_for(user, older), user, settings, major)

    def run(self, program: str, *arguments: str, timeout: float, keep: tuple[int, ...] = ()) -> None:
        """Run a program to its end. It and what it starts inherit the descriptors in `keep`."""
        # A file and not a pipe: a server that the program starts would keep the pipe open.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(  # noqa: S603 - a program from our own wheel, no shell
                [str(self.programs / program), *arguments],
                user=None if self.user is None else self.user.pw_uid,
                group=None if self.user is None else self.user.pw_gid,
                extra_groups=None if self.user is None else [],
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
                raise EmbeddedFailed(f"{program} failed: {reason(output.read())}")

    def guard(
        self, cluster: Cluster, settings: dict[str, str], output: IO[str], lock: int
    ) -> "subprocess.Popen[bytes]":
        """Start the guardian, which starts PostgreSQL. It inherits its lock."""
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        uid, gid = (self.user.pw_uid, self.user.pw_gid) if self.user else (os.geteuid(), os.getegid())
        return subprocess.Popen(  # noqa: S603 - our own script and a program from our own wheel, no shell
            [
                *(sys.executable, "-I", "-S", guardian.__file__),
                *(str(cluster.users), str(cluster.door), str(cluster.log), str(uid), str(gid)),
                *(str(self.programs / "postgres"), "-D", str(cluster.folder), *options),
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
        """Make PostgreSQL's user the owner of a file or directory."""
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid, follow_symlinks=False)


def user_of(uid: int) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


def name_of_us() -> str:
    user = user_of(os.geteuid())
    return user.pw_name if user else str(os.geteuid())


def _environment() -> dict[str, str]:
    """Return the environment without the variables that change how PostgreSQL's programs work."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def _owner(path: Path) -> pwd.struct_passwd | None:
    """Return the user who owns it already, so that it stays theirs. None for root and for unknown users."""
    return user_of(path.stat().st_uid) if path.exists() and path.stat().st_uid != 0 else None


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
