"""Preparation of an embedded PostgreSQL: a cluster, the list of users who may connect, a folder for its socket."""

import hashlib
import os
import re
import shlex
import shutil
import signal
from pathlib import Path

from .cluster import NAME, SHORT_FOLDER, SOCKET_NAME, UPGRADED, Cluster, EmbeddedFailed
from .runner import Runner, user_of

#: Linux takes 107 bytes of a socket's path, macOS 103.
LONGEST_SOCKET_PATH = 103

INITDB = (
    *("--username=postgres", "--auth=peer", "--encoding=UTF8", "--locale=C"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"),
)
INITDB_TIMEOUT = 120  # seconds

# The users who may connect, by the user of the process at the other end, as the kernel reports it. Written at each
# start.
AUTHENTICATION = "# Troupe writes this file.\nlocal all postgres peer map=troupe\n"
USER_MAP = "# Troupe writes this file.\n"


def initialise(cluster: Cluster, runner: Runner, door: int) -> None:
    """Make the cluster in a temporary folder: the remains of a killed initdb are never taken for a cluster.

    initdb inherits the door's lock. If this process is killed, no other process can take the door until initdb has
    ended.
    """
    put_upgraded(cluster)
    if (version := cluster.version()) is not None:
        _refuse_other(cluster, version, runner.major)
        return
    half_made = cluster.data / f"{cluster.name}.new"
    shutil.rmtree(half_made, ignore_errors=True)
    half_made.mkdir(mode=0o700)
    runner.give(half_made)
    sync = ("--no-sync",) if runner.settings.get("fsync") == "off" else ()
    runner.run("initdb", *INITDB, *sync, "-D", str(half_made), timeout=INITDB_TIMEOUT, keep=(door,))
    half_made.rename(cluster.folder)


def put_upgraded(cluster: Cluster) -> None:
    """Put a cluster in its place whose upgrade was killed between its last two steps (see `upgrade.py`)."""
    if cluster.name == NAME and not cluster.folder.exists() and (cluster.data / UPGRADED).exists():
        (cluster.data / UPGRADED).rename(cluster.folder)


def _refuse_other(cluster: Cluster, version: int, major: int) -> None:
    """Raise EmbeddedFailed if PostgreSQL of this major can't read the cluster."""
    if version == major:
        return
    if version < major:
        advice = f"run `troupe db upgrade --data {shlex.quote(str(cluster.data))}`, which keeps the old files"
    else:
        advice = f"run a version of Troupe that brings PostgreSQL {version}, or restore a backup into another folder"
    raise EmbeddedFailed(
        f"the database in {cluster.data} was made by PostgreSQL {version}, and this version of Troupe brings"
        f" PostgreSQL {major}: {advice}"
    )


def authenticate(cluster: Cluster, runner: Runner) -> None:
    """Let only the cluster's owner and root connect, also in clusters that once trusted all users."""
    names = {entry.pw_name for uid in (0, cluster.folder.stat().st_uid) if (entry := user_of(uid))}
    quoted = sorted('"' + name.replace('"', '""') + '"' for name in names)
    user_map = USER_MAP + "".join(f"troupe {name} postgres\n" for name in quoted)
    # Both are written, not only the first that differs.
    changed = [
        _rewrite(cluster.folder / "pg_ident.conf", user_map, runner),
        _rewrite(cluster.folder / "pg_hba.conf", AUTHENTICATION, runner),
    ]
    if any(changed) and (pid := cluster.running()) is not None:
        os.kill(pid, signal.SIGHUP)


def _rewrite(path: Path, text: str, runner: Runner) -> bool:
    """Replace a file with other content. True if it did. Never follows a link in its place."""
    if path.is_file() and not path.is_symlink() and path.read_text() == text:
        return False
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    runner.give(new)
    new.replace(path)
    return True


def make_socket_directory(cluster: Cluster, runner: Runner) -> Path:
    """Return the cluster's folder, or a short name below /tmp if its path is too long or unusual for a socket."""
    plain = re.fullmatch(r"[A-Za-z0-9_./+-]+", str(cluster.folder))
    if plain and len(os.fsencode(cluster.folder / SOCKET_NAME)) <= LONGEST_SOCKET_PATH:
        return cluster.folder
    name = hashlib.sha256(os.fsencode(cluster.folder.resolve())).hexdigest()[:12]
    short = Path(SHORT_FOLDER + name)
    short.mkdir(mode=0o700, exist_ok=True)
    if short.is_symlink() or short.stat().st_uid not in (
        os.geteuid(),
        runner.user.pw_uid if runner.user else os.geteuid(),
    ):
        raise EmbeddedFailed(f"{short} belongs to another user: remove it")
    runner.give(short)
    return short
